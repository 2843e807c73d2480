# After `make install` others can use it: from a new prefix, by the compiler alone, by pkg-config and
# by find_package in CMake. The programs print what a kernel computed.
. "$(dirname "$0")/lib.sh"
export WEIR_CACHE_DIR="$scratch/cache"

run cmake --install "$build" --prefix "$scratch/a prefix"
ok
prefix="$scratch/a prefix"
exists "$prefix/bin/weircc" "$prefix/include/cuda_runtime.h" "$prefix/lib/libcudart.so.13" \
    "$prefix/lib/libcudart.so.12" \
    "$prefix/lib/libcudart_static.a" "$prefix/lib/libcuda.so.1" "$prefix/lib/libcudadevrt.a" \
    "$prefix/lib/pkgconfig/cudart.pc" "$prefix/lib/cmake/Weir/WeirConfig.cmake" \
    "$prefix/lib/cmake/Weir/WeirCCCL.cmake" "$prefix/lib/weir/cuda/lib64/cmake/cccl/cccl-config.cmake" \
    "$prefix/lib/libsyncedmem.so" "$prefix/lib/libsyncedmem.a" "$prefix/include/syncedmem.h" \
    "$prefix/include/syncedmem.hpp" "$prefix/lib/pkgconfig/syncedmem.pc"

cat >twice.cu <<'END'
#include <cstdio>
#include "amount.h"
__global__ void scale(int *p) { *p *= AMOUNT; }
int main()
{
    int *p, value = 21;
    if (cudaMalloc(&p, sizeof value) != cudaSuccess)
        return 1;
    cudaMemcpy(p, &value, sizeof value, cudaMemcpyHostToDevice);
    scale<<<1, 1>>>(p);
    if (cudaMemcpy(&value, p, sizeof value, cudaMemcpyDeviceToHost) != cudaSuccess)
        return 2;
    printf("result %d\n", value);
    return 0;
}
END
echo '#define AMOUNT 2' >amount.h
cat >driver.c <<'END'
#include <cuda.h>
#include <stdio.h>
int main(void)
{
    int version = 0, count = 0;
    if (cuInit(0) != CUDA_SUCCESS || cuDriverGetVersion(&version) != CUDA_SUCCESS ||
        cuDeviceGetCount(&count) != CUDA_SUCCESS)
        return 1;
    printf("driver %d devices %d\n", version, count);
    return 0;
}
END
cat >runtime.c <<'END'
#include <cuda_runtime_api.h>
#include <stdio.h>
int main(void)
{
    int version = 0;
    if (cudaRuntimeGetVersion(&version) != cudaSuccess)
        return 1;
    printf("runtime %d\n", version);
    return 0;
}
END
cat >buffer.c <<'END'
#include <stdio.h>
#include <syncedmem.h>
int main(void)
{
    struct syncedmem *mem;
    const void *data;
    if (syncedmem_create(&mem, 100, SYNCEDMEM_DEFAULT) != cudaSuccess ||
        syncedmem_gpu_data(mem, &data) != cudaSuccess ||
        syncedmem_cpu_data(mem, &data) != cudaSuccess)
        return 1;
    printf("head %d byte %d\n", syncedmem_head(mem), *(const char *)data);
    return syncedmem_destroy(mem) != cudaSuccess;
}
END

for cudart in static shared; do
    run "$prefix/bin/weircc" -cudart $cudart twice.cu -o "twice_$cudart"
    ok
    run "./twice_$cudart"
    ok
    says 'result 42'
done
# The installed toolkit does not lean on the build tree.
readelf -d twice_static >out
says_not "$build"

PKG_CONFIG_PATH="$prefix/lib/pkgconfig"
export PKG_CONFIG_PATH
eval "run gcc runtime.c $(pkg-config --cflags --libs cudart) -o runtime"
ok
run ./runtime
says 'runtime 13000'
eval "run gcc buffer.c $(pkg-config --cflags --libs syncedmem) -o buffer"
ok
run ./buffer
says 'head 3 byte 0'
# By the compiler alone, over the static runtime: the shared library brings the shared one.
run "$prefix/bin/weircc" buffer.c -o buffer_shared -lsyncedmem
ok
run ./buffer_shared
says 'head 3 byte 0'
eval "run gcc driver.c $(pkg-config --cflags --libs weir) -o driver"
ok
run ./driver
says 'devices 1'

# The layout of CUDA's toolkit, as makefiles know it.
printf 'all:\n\t"$(CUDA_PATH)/bin/nvcc" -I"$(CUDA_PATH)/include" -L"$(CUDA_PATH)/lib64" twice.cu -o by_path -lcudart\n' >Makefile
run make CUDA_PATH="$prefix/lib/weir/cuda"
ok
run ./by_path
says 'result 42'

mkdir project
cp twice.cu amount.h driver.c runtime.c buffer.c project
cat >project/part.cpp <<'END'
int part() { return 2; }
END
cat >project/kernels.cu <<'END'
int part();
__global__ void kernel(int *p) { *p = 40; }
int whole()
{
    int *p, value = 0;
    cudaMalloc(&p, sizeof value);
    kernel<<<1, 1>>>(p);
    cudaMemcpy(&value, p, sizeof value, cudaMemcpyDeviceToHost);
    return value + part();
}
END
cat >project/main.cpp <<'END'
#include <cstdio>
int whole();
int main() { printf("result %d\n", whole()); }
END
cat project/kernels.cu project/main.cpp >project/part_of.cu
cat >project/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.20)
project(user LANGUAGES C CXX)
find_package(Weir 0.1 REQUIRED)
add_executable(twice)
weir_add_cuda_sources(twice twice.cu OPTIONS -O2)
# without keywords and with them, before and after
add_library(part STATIC part.cpp)
add_executable(plain_after)
weir_add_cuda_sources(plain_after part_of.cu)
target_link_libraries(plain_after part)
add_executable(plain_before)
target_link_libraries(plain_before part)
weir_add_cuda_sources(plain_before part_of.cu)
add_executable(keyword)
target_link_libraries(keyword PRIVATE part)
weir_add_cuda_sources(keyword part_of.cu)
add_library(kernels STATIC)
weir_add_cuda_sources(kernels kernels.cu)
target_link_libraries(kernels part)
add_executable(over_library main.cpp)
target_link_libraries(over_library kernels)
add_executable(driver driver.c)
target_link_libraries(driver CUDA::cuda_driver)
add_executable(runtime runtime.c)
target_link_libraries(runtime CUDA::cudart_static)
add_executable(buffer buffer.c)
target_link_libraries(buffer Weir::syncedmem)
END
run cmake -G Ninja -S project -B user -DCMAKE_PREFIX_PATH="$prefix"
ok
run cmake --build user
ok
run user/twice
says 'result 42'
for program in plain_after plain_before keyword over_library; do
    run user/$program
    says 'result 42'
done
run user/driver
says 'devices 1'
run user/runtime
says 'runtime 13000'
run user/buffer
says 'head 3 byte 0'
echo '#define AMOUNT 3' >project/amount.h
run cmake --build user
ok
run user/twice
says 'result 63'

# CMake's own CUDA language, with weircc as its compiler, also with device code across files.
mkdir language
cp twice.cu amount.h driver.c language
cat >language/part.cu <<'END'
__device__ int six() { return 6; }
END
cat >language/whole.cu <<'END'
#include <cstdio>
extern __device__ int six();
__global__ void kernel(int *p) { *p = six() * 7; }
int main()
{
    int *p, value = 0;
    cudaMalloc(&p, sizeof value);
    kernel<<<1, 1>>>(p);
    cudaMemcpy(&value, p, sizeof value, cudaMemcpyDeviceToHost);
    printf("result %d\n", value);
    return 0;
}
END
cat >language/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.20)
project(language LANGUAGES C CXX CUDA)
add_executable(twice twice.cu)
add_library(part STATIC part.cu)
add_executable(whole whole.cu)
target_link_libraries(whole part)
set_target_properties(part whole PROPERTIES CUDA_SEPARABLE_COMPILATION ON)
find_package(CUDAToolkit REQUIRED)
message(STATUS "toolkit ${CUDAToolkit_VERSION} ${CUDAToolkit_INCLUDE_DIRS}")
add_executable(driver driver.c)
target_link_libraries(driver CUDA::cuda_driver)
add_executable(runtime runtime.c)
target_link_libraries(runtime CUDA::cudart)
add_executable(shared_runtime twice.cu)
set_target_properties(shared_runtime PROPERTIES CUDA_RUNTIME_LIBRARY Shared)
target_link_libraries(shared_runtime CUDA::cudart)
END
cp runtime.c language
# Another toolkit in the PATH is not taken, whether ours is named or not.
mkdir -p other/bin
printf '#!/bin/sh\necho "#$ TOP=%s/other"\necho "nvcc: NVIDIA (R) Cuda compiler driver"\nexit 1\n' "$PWD" >other/bin/nvcc
chmod +x other/bin/nvcc
PATH=$PWD/other/bin:$PATH
for root in "$prefix/lib/weir/cuda" ''; do
    rm -rf cuda_language
    run cmake -G Ninja -S language -B cuda_language -DCMAKE_CUDA_COMPILER="$prefix/bin/weircc" \
        ${root:+-DCUDAToolkit_ROOT="$root"}
    ok
    says "toolkit 13.0.0 $prefix/"
    run cmake --build cuda_language
    ok
    for program in twice whole shared_runtime; do
        run cuda_language/$program
        says 'result 42'
    done
    run cuda_language/driver
    says 'devices 1'
    run cuda_language/runtime
    says 'runtime 13000'
    run ldd cuda_language/shared_runtime
    says "libcudart.so.13 => $prefix/"
done
done_
