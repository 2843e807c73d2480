/* The same of the driver API, which a program links with, or looks up by name. */
// CHECK: calls
#include "checks.h"

#include <cstdlib>
#include <cuda.h>
#include <dlfcn.h>

__global__ void add(int *p, int a, int b) { p[threadIdx.x] += a * b; }

static CUcontext context_of_device()
{
    CUdevice device;
    CUcontext context;
    DO(cuInit(0));
    DO(cuDeviceGet(&device, 0));
    DO(cuDevicePrimaryCtxRetain(&context, device));
    DO(cuCtxSetCurrent(context));
    return context;
}

CASE(looked_at)
{
    CUdeviceptr p;
    const char *name;
    context_of_device();
    if (cuMemAlloc(&p, ~size_t(0) / 2) != CUDA_SUCCESS)
        printf("no memory\n");
    CUresult refused = cuMemcpyDtoD(0, 1, 10);
    DO(cuGetErrorName(refused, &name));
    printf("%s\n", name);
}

CASE(unseen)
{
    CUdeviceptr p;
    context_of_device();
    cuMemAlloc(&p, ~size_t(0) / 2); // EXPECT unchecked error: cuMemAlloc at \S*LINE failed with 2 \(CUDA_ERROR_OUT_OF_MEMORY: out of memory\), and nothing looked at the error
    cuMemFree(16);                  // EXPECT unchecked error: cuMemFree at \S*LINE failed with 1 \(CUDA_ERROR_INVALID_VALUE: invalid argument\)
    cuStreamCreate(nullptr, 0);     // EXPECT unchecked error: cuStreamCreate at \S*LINE failed with 1
}

CASE(before_anything_was_opened)
{
    CUdevice device;
    cuDeviceGet(&device, 0); // EXPECT unchecked error: cuDeviceGet at \S*LINE failed with 3 \(CUDA_ERROR_NOT_INITIALIZED: initialization error\)
}

CASE(by_name)
{
    CUdeviceptr p;
    void *found;
    CUdriverProcAddressQueryResult status;
    context_of_device();
    auto alloc = (CUresult(*)(CUdeviceptr *, size_t))dlsym(RTLD_DEFAULT, "cuMemAlloc_v2");
    alloc(&p, ~size_t(0) / 2); // EXPECT unchecked error: cuMemAlloc at \S*LINE failed with 2
    DO(cuGetProcAddress("cuMemFree", &found, 12000, CU_GET_PROC_ADDRESS_DEFAULT, &status));
    ((CUresult(*)(CUdeviceptr))found)(16); // EXPECT unchecked error: cuMemFree at \S*LINE failed with 1
}

static CUfunction function_of_add()
{
    cudaFunction_t f;
    DO(cudaGetFuncBySymbol(&f, (const void *)add));
    return (CUfunction)f;
}

CASE(many_arguments)
{
    int *p, two = 2, three = 3;
    context_of_device();
    DO(cudaMallocManaged(&p, 64 * sizeof *p));
    void *arguments[] = {&p, &two, &three};
    DO(cuLaunchKernel(function_of_add(), 1, 1, 1, 64, 1, 1, 16, nullptr, arguments, nullptr));
    DO(cuCtxSynchronize());
    if (p[0] != 6 || p[63] != 6)
        abort();
    cuLaunchKernel(function_of_add(), 1, 1, 1, 4096, 1, 1, 0, nullptr, arguments, nullptr); // EXPECT unchecked error: a kernel never ran: its launch at \S*LINE failed with 1 \(CUDA_ERROR_INVALID_VALUE
    DO(cudaFree(p));
}

CASE(not_of_the_runtime)
{
    void *p;
    cudaMalloc(&p, ~size_t(0) / 2); // EXPECT unchecked error: cudaMalloc at \S*LINE failed with 2
}

CASE(wrong_side)
{
    CUdeviceptr p;
    int *h = (int *)malloc(64);
    context_of_device();
    DO(cuMemAlloc(&p, 64));
    DO(cuMemcpyHtoD(p, h, 64));
    DO(cuMemcpyHtoD(p, (void *)p, 64)); // EXPECT not portable: at \S*LINE: a copy says that its source is host memory, which is device memory
    DO(cuMemFree(p));
    free(h);
}
