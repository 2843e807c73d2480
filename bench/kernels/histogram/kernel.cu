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

// Four bytes a load.
static __global__ void histogram_words(const uchar4 *bytes, unsigned *counts, int n)
{
    __shared__ unsigned mine[256];
    mine[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n / 4; i += gridDim.x * blockDim.x) {
        uchar4 four = bytes[i];
        atomicAdd(&mine[four.x], 1);
        atomicAdd(&mine[four.y], 1);
        atomicAdd(&mine[four.z], 1);
        atomicAdd(&mine[four.w], 1);
    }
    if (blockIdx.x == 0 && threadIdx.x < n % 4)
        atomicAdd(&mine[((const unsigned char *)bytes)[n - 1 - threadIdx.x]], 1);
    __syncthreads();
    atomicAdd(&counts[threadIdx.x], mine[threadIdx.x]);
}
static __global__ void histogram_long(const unsigned char *bytes, unsigned *counts, size_t n)
{
    __shared__ unsigned mine[256];
    for (size_t k = threadIdx.x; k < 256; k += blockDim.x)
        mine[k] = 0;
    __syncthreads();
    size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += stride)
        atomicAdd(&mine[bytes[i]], 1u);
    __syncthreads();
    for (size_t k = threadIdx.x; k < 256; k += blockDim.x)
        atomicAdd(&counts[k], mine[k]);
}
BENCH_SPELLING(histogram, 1, histogram_words);
BENCH_SPELLING(histogram, 2, histogram_long);
