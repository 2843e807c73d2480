# Programs that link CUDA::cudart find Weir's shared runtime when they run, whatever links them (CMake links by g++),
# in the build tree and installed. One that finds another's runtime says so.
. "$(dirname "$0")/lib.sh"
export WEIR_CACHE_DIR="$scratch/cache"
unset LD_LIBRARY_PATH CMAKE_PREFIX_PATH CUDACXX
mkdir project
cat >project/kernel.cu <<'END_OF_FILE'
#include <cstdio>
__device__ int six();
__managed__ int result;
__global__ void kernel() { result = six() * 7; }
void compute()
{
    kernel<<<1, 1>>>();
    cudaDeviceSynchronize();
    printf("result %d\n", result);
}
END_OF_FILE
echo 'int main() { return 0; }' >project/none.cu
echo '__device__ int six() { return 6; }' >project/six.cu
echo 'void compute(); int main() { compute(); }' >project/main.cpp
cp project/main.cpp project/main.cu
cat >project/CMakeLists.txt <<'END_OF_FILE'
cmake_minimum_required(VERSION 3.20)
project(shared LANGUAGES CXX CUDA)
find_package(CUDAToolkit REQUIRED)
add_executable(mixed main.cpp kernel.cu six.cu)
add_executable(alone main.cu kernel.cu six.cu)
add_library(part SHARED kernel.cu six.cu)
set_target_properties(mixed alone part PROPERTIES CUDA_RUNTIME_LIBRARY Shared CUDA_SEPARABLE_COMPILATION ON)
foreach(target mixed alone part)
  target_link_libraries(${target} PRIVATE CUDA::cudart)
endforeach()
add_executable(user main.cpp)
target_link_libraries(user part)
add_executable(no_cuda no_cuda.cpp)
target_link_libraries(no_cuda CUDA::cudart_static)
END_OF_FILE
# A program without any CUDA file, which g++ links with the static runtime.
cat >project/no_cuda.cpp <<'END_OF_FILE'
#include <cstdio>
#include <cuda_runtime_api.h>
int main()
{
    int from = 42, to = 0;
    void *p;
    if (cudaMalloc(&p, 4) || cudaMemcpy(p, &from, 4, cudaMemcpyHostToDevice) ||
        cudaMemcpy(&to, p, 4, cudaMemcpyDeviceToHost))
        return 1;
    printf("result %d\n", to);
}
END_OF_FILE
run cmake --install "$build" --prefix "$scratch/installed"
ok
for root in "$build" "$scratch/installed"; do
    toolkit=$root/lib/weir/cuda
    rm -rf made
    run cmake -G Ninja -S project -B made -DCMAKE_CUDA_COMPILER="$toolkit/bin/nvcc" -DCUDAToolkit_ROOT="$toolkit"
    ok
    run cmake --build made
    ok
    for program in mixed alone user; do
        run made/$program
        ok
        says 'result 42'
        run ldd made/$program
        says "libcudart.so.13 => $(cd "$root" && pwd)/lib/"
    done
    run made/no_cuda
    ok
    says 'result 42'
done
# All that programs are linked with is in the directory that build systems see.
for library in "$scratch"/installed/lib/lib*.so "$scratch"/installed/lib/lib*.a; do
    exists "$scratch/installed/lib/weir/link/${library##*/}"
done
# weircc finds libraries in the directory that it shows, and those that are asked for by a file's name.
echo 'int main() { return 0; }' >plain.cu
run weircc plain.cu -lcuda -l:libcudart.so.13 -cudart none -o plain
ok

# Another libcudart.so.13 that has CUDA's functions, and none of Weir's.
for what in 'relocatable device code:project/six.cu' 'managed variables:one.cu'; do
    echo '__managed__ int one; __global__ void add() { one++; } ' >one.cu
    run weircc -cudart shared $([ "${what#*:}" = one.cu ] || echo -rdc=true) "${what#*:}" project/none.cu -o foreign
    ok
    nm -D -u foreign | sed -n 's/^ *[Uw] \(_*cuda[A-Za-z0-9]*\)@libcudart.*/\1/p' | grep -v Weir |
        sed 's/.*/int &(int *v) { *v = 12080; return 0; }/' >other.c
    echo 'libcudart.so.13 { *; };' >other.map
    mkdir -p elsewhere
    run gcc -w -shared -fPIC -Wl,-soname,libcudart.so.13,--version-script,other.map other.c \
        -o elsewhere/libcudart.so.13
    ok
    run env LD_LIBRARY_PATH="$PWD/elsewhere" ./foreign
    [ "$status" = 127 ]
    note $? "exit status $status, wanted 127"
    says "weir: this program's ${what%:*} must have Weir's libcudart.so.13, but '$PWD/elsewhere/libcudart.so.13' (CUDA 12.8)"
    says_not 'undefined symbol'
    run ./foreign
    ok
done
done_
