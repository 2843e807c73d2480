# linked.sh BUILD: programs that are linked with -lnvrtc or CUDA::nvrtc compile a kernel, load what came out
# and launch it. First over a library that stands for NVIDIA's (vendor.c), which takes PTX for a source,
# wherever it may be, then over NVIDIA's own, where the machine has it.
. "$(dirname "$0")/../weircc/lib.sh"
export WEIR_CACHE_DIR="$scratch/cache"
unset VIRTUAL_ENV CONDA_PREFIX CUDA_HOME CUDA_PATH LD_LIBRARY_PATH WEIR_NVRTC_13
toolkit=$build/lib/weir/cuda

cat >compile.cpp <<'END'
#include <cuda.h>
#include <nvrtc.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

int main(int, char **argv)
{
    std::ifstream file(argv[1]);
    std::string source((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    nvrtcProgram program;
    nvrtcResult result = nvrtcCreateProgram(&program, source.c_str(), argv[1], 0, NULL, NULL);
    if (result != NVRTC_SUCCESS) {
        printf("not created: %s\n", nvrtcGetErrorString(result));
        return 1;
    }
    const char *options[] = {"--gpu-architecture=sm_80", "--std=c++17", "-Ialone"};
    result = nvrtcCompileProgram(program, 3, options);
    size_t size = 0;
    nvrtcGetProgramLogSize(program, &size);
    std::string log(size + 1, '\0');
    nvrtcGetProgramLog(program, &log[0]);
    if (result != NVRTC_SUCCESS) {
        printf("not compiled: %s: %s\n", nvrtcGetErrorString(result), log.c_str());
        return 1;
    }
    nvrtcGetCUBINSize(program, &size);
    std::string image(size, '\0');
    nvrtcGetCUBIN(program, &image[0]);
    nvrtcDestroyProgram(&program);
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction kernel;
    CUdeviceptr out;
    int value = 6;
    void *arguments[] = {&out};
    if (cuInit(0) || cuDeviceGet(&device, 0) || cuDevicePrimaryCtxRetain(&context, device) ||
        cuCtxSetCurrent(context) || cuModuleLoadData(&module, image.data()) ||
        cuModuleGetFunction(&kernel, module, "times_seven") || cuMemAlloc(&out, sizeof value) ||
        cuMemcpyHtoD(out, &value, sizeof value) ||
        cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL) ||
        cuMemcpyDtoH(&value, out, sizeof value)) {
        printf("not launched\n");
        return 1;
    }
    printf("result %d\n", value);
    return 0;
}
END
cat >times_seven.cu <<'END'
extern "C" __global__ void times_seven(int *p) { *p *= 7; }
END
run weircc -arch=sm_80 -ptx times_seven.cu -o times_seven.ptx
ok

# By weircc, by another compiler, by CMake with either package.
run weircc compile.cpp -o by_weircc -lnvrtc -lcuda
ok
run g++ -I "$toolkit/include" compile.cpp -o by_another -L "$toolkit/lib64" -lnvrtc -lcuda \
    -Wl,-rpath,"$toolkit/lib64"
ok
mkdir project
cp compile.cpp project
cat >project/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.20)
project(compile LANGUAGES C CXX)
find_package(${PACKAGE} REQUIRED)
add_executable(compile compile.cpp)
target_link_libraries(compile CUDA::nvrtc CUDA::cuda_driver)
END
run cmake -S project -B by_cmake -DPACKAGE=CUDAToolkit -DCUDAToolkit_ROOT="$toolkit"
ok
run cmake --build by_cmake
ok
run cmake -S project -B by_package -DPACKAGE=Weir -DCMAKE_PREFIX_PATH="$build"
ok
run cmake --build by_package
ok
for program in by_weircc by_another by_cmake/compile by_package/compile; do
    WEIR_NVRTC_13=$build/lib/libtest_nvrtc_vendor.so run ./$program times_seven.ptx
    ok
    says 'result 42'
done

# Where NVIDIA's is found, and what is said when it is not there.
stand_in() {
    mkdir -p "$1"
    cp "$build/lib/libtest_nvrtc_vendor.so" "$1/libnvrtc.so.13"
}
stand_in toolkit/lib64
stand_in venv/lib/python3.11/site-packages/nvidia/cu13/lib
stand_in home/.local/lib/python3.12/site-packages/nvidia/cu13/lib
stand_in path
for setting in CUDA_HOME="$PWD/toolkit" CUDA_PATH="$PWD/toolkit" VIRTUAL_ENV="$PWD/venv" HOME="$PWD/home" \
    LD_LIBRARY_PATH="$toolkit/nvrtc:$PWD/path"; do
    run env "$setting" ./by_weircc times_seven.ptx
    ok
    says 'result 42'
done
WEIR_NVRTC_13=$PWD/none run ./by_weircc times_seven.ptx
fails
says "not created: WEIR_NVRTC_13 names no libnvrtc.so.13 of NVIDIA's that can be opened"

# The names of types, for name expressions.
cat >types.cpp <<'END'
#define NVRTC_GET_TYPE_NAME 1
#include <nvrtc.h>

#include <cstdio>

namespace mine {
template <typename T, int N> struct pair {};
}

template <typename T> static void print()
{
    std::string name;
    nvrtcResult result = nvrtcGetTypeName<T>(&name);
    printf("%d [%s]\n", result, name.c_str());
}

int main()
{
    print<float>();
    print<const int &>();
    print<mine::pair<mine::pair<unsigned, 2>, 3>>();
    return 0;
}
END
run weircc -std=c++11 types.cpp -o types
ok
run ./types
says '0 [float]'
says '0 [int const&]'
says '0 [mine::pair<mine::pair<unsigned int, 2>, 3>]'

# NVIDIA's own.
run ./by_weircc times_seven.cu
if grep -q 'pip install nvidia-cuda-nvrtc' out; then
    echo "not tried: NVIDIA's libnvrtc.so.13, which is not on this machine"
    done_
fi
ok
says 'result 42'
# cooperative_groups.h and its directory without the rest, as programs copy them.
mkdir alone
cp -r "$toolkit/include/cooperative_groups.h" "$toolkit/include/cooperative_groups" alone
cat >alone/groups.cu <<'END'
#include "cooperative_groups.h"
#include "cooperative_groups/reduce.h"
namespace cg = cooperative_groups;
extern "C" __global__ void times_seven(int *p)
{
    auto tile = cg::tiled_partition<32>(cg::this_thread_block());
    int sum = cg::reduce(tile, 7, cg::plus<int>());
    *p *= tile.shfl(sum, 0);
}
END
run ./by_weircc alone/groups.cu
ok
says 'result 42'
echo 'extern "C" __global__ void times_seven(int *p) { *p *= seven; }' >wrong.cu
run ./by_weircc wrong.cu
fails
says 'not compiled: NVRTC_ERROR_COMPILATION'
says 'identifier "seven" is undefined'
done_
