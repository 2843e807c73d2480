// S7.5: a launch is the program's first call of the runtime, in a context that the driver API has
// made.
#include <cuda.h>
#include <cuda_runtime.h>

#include "check.h"

__global__ void answer(int *to) { *to = 42; }

int main()
{
    CUdevice device;
    CUcontext context;
    CUdeviceptr memory;
    int found = 0;
    CHECK_EQ_INT(cuInit(0), CUDA_SUCCESS);
    CHECK_EQ_INT(cuDeviceGet(&device, 0), CUDA_SUCCESS);
#if CUDA_VERSION >= 13000
    CHECK_EQ_INT(cuCtxCreate(&context, nullptr, 0, device), CUDA_SUCCESS);
#else
    CHECK_EQ_INT(cuCtxCreate(&context, 0, device), CUDA_SUCCESS);
#endif
    CHECK_EQ_INT(cuMemAlloc(&memory, sizeof found), CUDA_SUCCESS);
    answer<<<1, 1>>>((int *)memory);
    CHECK_STR(cudaGetErrorName(cudaGetLastError()), "cudaSuccess");
    CHECK_EQ_INT(cuMemcpyDtoH(&found, memory, sizeof found), CUDA_SUCCESS);
    CHECK_EQ_INT(found, 42);
    return check_done();
}
