# What find_package finds of CCCL in Weir's toolkit: the packages of the CCCL that weircc uses. First with
# stand-ins that say which they are, then with the machine's own, which compiles and runs a program.
. "$(dirname "$0")/lib.sh"
export WEIR_CACHE_DIR="$scratch/cache"
unset CCCL_ROOT CMAKE_PREFIX_PATH
toolkit=$build/lib/weir/cuda

# stand_in PREFIX HEADERS NAME: headers that weircc takes for a CCCL, and its packages
stand_in() {
    mkdir -p "$2/cub" "$2/thrust" "$2/cuda/std"
    : >"$2/cub/cub.cuh"
    : >"$2/thrust/version.h"
    : >"$2/cuda/std/cstddef"
    for package in cccl cub thrust libcudacxx; do
        mkdir -p "$1/lib/cmake/$package"
        echo "message(STATUS \"$package of $3 in \${CMAKE_CURRENT_LIST_DIR}\")" \
            >"$1/lib/cmake/$package/$package-config.cmake"
        printf 'set(PACKAGE_VERSION 3.1.4)\nset(PACKAGE_VERSION_COMPATIBLE TRUE)\n' \
            >"$1/lib/cmake/$package/$package-config-version.cmake"
    done
}
mkdir finder
cat >finder/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.20)
project(finder LANGUAGES NONE)
if(ALONE) # without what the machine has
  set(CMAKE_FIND_USE_SYSTEM_ENVIRONMENT_PATH OFF)
  set(CMAKE_FIND_USE_CMAKE_SYSTEM_PATH OFF)
endif()
foreach(name CCCL Thrust CUB libcudacxx)
  find_package(${name} ${WANTED} REQUIRED CONFIG)
  message(STATUS "${name} is ${${name}_VERSION}")
endforeach()
END
finder() {
    rm -rf found
    run cmake -S finder -B found "$@"
    tr -s '\n ' ' ' <out >words # CMake breaks the lines of messages
    mv words out
}
# By the prefix, by the directory of libraries, by the PATH; as in a CUDA 13 toolkit, as in Python's package
# for CUDA 12, and as `make cccl` leaves it.
stand_in "a toolkit" "a toolkit/include/cccl" thirteen
stand_in python/cuda_cccl python/cuda_cccl/include twelve
stand_in fetched fetched fetched
WEIR_CCCL="$PWD/a toolkit"
finder -DCMAKE_PREFIX_PATH="$toolkit"
ok
for package in cccl cub thrust libcudacxx; do
    says "$package of thirteen in $PWD/a toolkit/lib/cmake/$package"
done
for name in CCCL Thrust CUB libcudacxx; do says "$name is 3.1.4"; done
finder -DCMAKE_PREFIX_PATH="$toolkit/lib64/cmake" -DWANTED=3.1
ok
says 'thrust of thirteen'
WEIR_CCCL=$PWD/python/cuda_cccl/include
path=$PATH
PATH=$toolkit/bin:$path
finder
ok
says 'thrust of twelve'
PATH=$path
WEIR_CCCL=$PWD/fetched
finder -DThrust_DIR="$toolkit/lib64/cmake/thrust" -DCMAKE_PREFIX_PATH="$toolkit"
ok
says 'thrust of fetched'

# None: the reason, and CMake goes on to another, which may be the machine's.
WEIR_CCCL=off
finder -DALONE=ON -DCMAKE_PREFIX_PATH="$toolkit"
fails
says '`pip install nvidia-cuda-cccl` brings it'
finder -DCMAKE_PREFIX_PATH="$toolkit;$PWD/a toolkit"
ok
says 'cub of thirteen'
WEIR_CCCL=$PWD/finder
finder -DALONE=ON -DCMAKE_PREFIX_PATH="$toolkit"
fails
says "WEIR_CCCL names '$PWD/finder'"
rm -r fetched/lib
WEIR_CCCL=$PWD/fetched
finder -DALONE=ON -DCMAKE_PREFIX_PATH="$toolkit"
fails
says 'came without its CMake files'

# The machine's own, by each way that projects link it.
unset WEIR_CCCL
if ! echo '#include <thrust/version.h>' | weircc -E -x cu - >out 2>&1; then
    echo 'not tried: a program, for there is no CCCL on this machine (pip install nvidia-cuda-cccl)'
    done_
fi
mkdir project
cat >project/sum.cu <<'END'
#include <cstdio>
#include <cub/version.cuh>
#include <cuda/std/version>
#include <thrust/device_vector.h>
int main()
{
    thrust::device_vector<int> v(6, 7);
    int sum = 0;
    for (size_t i = 0; i < v.size(); i++)
        sum += v[i];
    printf("sum %d\n", sum);
    return 0;
}
END
cat >project/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.20)
project(sums LANGUAGES CXX CUDA)
set(CMAKE_CUDA_STANDARD 17)
add_executable(whole sum.cu)
find_package(CCCL REQUIRED)
target_link_libraries(whole CCCL::CCCL)
add_executable(parts sum.cu)
find_package(Thrust REQUIRED CONFIG)
find_package(CUB REQUIRED CONFIG)
find_package(libcudacxx REQUIRED CONFIG)
thrust_create_target(Thrust)
target_link_libraries(parts Thrust CUB::CUB libcudacxx::libcudacxx)
END
run cmake -G Ninja -S project -B sums -DCMAKE_CUDA_COMPILER="$toolkit/bin/nvcc" -DCMAKE_PREFIX_PATH="$toolkit"
if grep -q 'without its CMake' out; then
    echo "not tried: a program, for the machine's CCCL came without its CMake files"
    done_
fi
ok
run cmake --build sums
ok
for program in whole parts; do
    run sums/$program
    says 'sum 42'
done
done_
