// One of several libraries that have kernels and device variables of the same names, and VALUE in
// all of them.
#include <cuda_runtime.h>

__device__ int state = VALUE;

__global__ void fill(int *out) { out[threadIdx.x] = VALUE; }

template <class T> __global__ void copy_state(T *out) { out[threadIdx.x] = state; }

// What the kernels and the variable hold: VALUE, if all of them are this library's.
extern "C" int same_names_run(void)
{
    enum { N = 32 };
    int host[3][N], *memory, value = 0;
    if (cudaMalloc(&memory, 3 * sizeof host[0]) != cudaSuccess)
        return -1;
    int *third = memory + 2 * N;
    void *arguments[] = {&third};
    fill<<<1, N>>>(memory);
    copy_state<<<1, N>>>(memory + N);
    cudaLaunchKernel((const void *)fill, dim3(1), dim3(N), arguments, 0, 0);
    if (cudaMemcpy(host, memory, sizeof host, cudaMemcpyDeviceToHost) != cudaSuccess ||
        cudaMemcpyFromSymbol(&value, state, sizeof value) != cudaSuccess ||
        cudaFree(memory) != cudaSuccess)
        return -2;
    for (int i = 0; i < 3; i++)
        if (host[i][5] != VALUE)
            return -10 - i;
    return value;
}
