// S7.12: a primary context that is released through the driver more often than it was retained there has
// ended; the next call of the runtime begins it anew, in any thread, before and after cudaDeviceReset.
#include <cuda.h>
#include <thread>

#include "check.h"

#define OK(call) CHECK_STR(cudaGetErrorName(call), "cudaSuccess")

static __device__ int counter = 5;

static __global__ void add(int *p) { *p = counter++; }

// What lives in a context is new: memory, the module and its variables.
static void use()
{
    int *p = nullptr, got = 0;
    cudaStream_t s;

    OK(cudaMalloc(&p, sizeof *p));
    OK(cudaStreamCreate(&s));
    add<<<1, 1, 0, s>>>(p);
    OK(cudaGetLastError());
    OK(cudaMemcpyAsync(&got, p, sizeof got, cudaMemcpyDeviceToHost, s));
    OK(cudaStreamSynchronize(s));
    CHECK_EQ_INT(got, 5);
    OK(cudaStreamDestroy(s));
    OK(cudaFree(p));
    OK(cudaDeviceSynchronize());
    OK(cudaPeekAtLastError());
}

static int active()
{
    unsigned flags;
    int is = -1;

    CHECK_EQ_INT(cuDevicePrimaryCtxGetState(0, &flags, &is), CUDA_SUCCESS);
    return is;
}

// The runtime holds it once; `own` times the program has retained it.
static void release(int own)
{
    CHECK_EQ_INT(active(), 1);
    for (int n = 0; n <= own; n++)
        CHECK_EQ_INT(cuDevicePrimaryCtxRelease(0), CUDA_SUCCESS);
    CHECK_EQ_INT(active(), 0);
    CHECK_EQ_INT(cuDevicePrimaryCtxRelease(0), CUDA_ERROR_INVALID_CONTEXT);
    CHECK_EQ_INT(cuCtxSynchronize(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
}

int main()
{
    CUcontext c;

    OK(cudaFree(nullptr));
    use();
    release(0); // calls of every kind are the next one
    use();
    release(0);
    OK(cudaDeviceSynchronize());
    release(0);
    OK(cudaSetDevice(0));
    use();
    CHECK_EQ_INT(cuDevicePrimaryCtxRetain(&c, 0), CUDA_SUCCESS);
    release(1);
    std::thread(use).join(); // which has no context yet
    OK(cudaDeviceSynchronize());
    release(0);
    OK(cudaDeviceReset());
    use();
    std::thread([] { CHECK_EQ_INT(cuDevicePrimaryCtxRelease(0), CUDA_SUCCESS); }).join();
    add<<<1, 1>>>(nullptr); // a launch comes next, and runs: it faults
    OK(cudaGetLastError());
    CHECK_STR(cudaGetErrorName(cudaDeviceSynchronize()), "cudaErrorIllegalAddress");
    return check_done();
}
