// How often each byte occurs: per block with shared atomics, then added to the whole.
#include "harness.h"

extern "C" __global__ void histogram(const unsigned char *bytes, unsigned *counts, int n)
{
    __shared__ unsigned mine[256];
    mine[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&mine[bytes[i]], 1);
    __syncthreads();
    atomicAdd(&counts[threadIdx.x], mine[threadIdx.x]);
}

BENCH_KERNEL(histogram);
