// A plugin: a library with kernels and the static runtime, opened by hosts of several languages.
#include <cuda_runtime.h>

static __device__ int calls;

static __global__ void add(int *sum, int n)
{
    atomicAdd(&calls, 1);
    atomicAdd(sum, n);
}

// Every thread of a host may call it. 0, or what went wrong.
extern "C" __attribute__((visibility("default"))) int plugin_run(int n)
{
    int *sum, result = 0;
    cudaError_t error = cudaMalloc(&sum, sizeof *sum);
    if (error == cudaSuccess)
        error = cudaMemset(sum, 0, sizeof *sum);
    if (error == cudaSuccess) {
        add<<<4, 64>>>(sum, n);
        error = cudaGetLastError();
    }
    if (error == cudaSuccess)
        error = cudaMemcpy(&result, sum, sizeof result, cudaMemcpyDeviceToHost);
    if (error == cudaSuccess)
        error = cudaFree(sum);
    if (error != cudaSuccess)
        return error;
    return result == 4 * 64 * n ? 0 : -1;
}

// As plugin_run, and leaves an error with the thread.
extern "C" __attribute__((visibility("default"))) int plugin_fail(void)
{
    cudaSetDevice(-1);
    return cudaPeekAtLastError() == cudaErrorInvalidDevice ? 0 : -1;
}

// For Java: Host.run(int)
extern "C" __attribute__((visibility("default"))) int Java_Host_run(void *, void *, int n)
{
    return plugin_run(n);
}
