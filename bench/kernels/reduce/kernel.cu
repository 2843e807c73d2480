// Sum of an array, 256 elements per block and pass: by a tree in shared memory, and by shuffles in
// each warp.
#include "harness.h"

extern "C" __global__ void reduce_tree(const float *in, float *out, int n)
{
    __shared__ float part[256];
    unsigned t = threadIdx.x, i = blockIdx.x * 256 + t;
    part[t] = i < n ? in[i] : 0;
    __syncthreads();
    for (unsigned width = 128; width > 0; width /= 2) {
        if (t < width)
            part[t] += part[t + width];
        __syncthreads();
    }
    if (t == 0)
        out[blockIdx.x] = part[0];
}

static __device__ float warp_sum(float value)
{
    for (int distance = 16; distance > 0; distance /= 2)
        value += __shfl_down_sync(0xffffffff, value, distance);
    return value;
}

extern "C" __global__ void reduce_shuffle(const float *in, float *out, int n)
{
    __shared__ float part[8];
    unsigned t = threadIdx.x, i = blockIdx.x * 256 + t;
    float sum = warp_sum(i < n ? in[i] : 0);
    if (t % 32 == 0)
        part[t / 32] = sum;
    __syncthreads();
    if (t < 32) {
        sum = warp_sum(t < 8 ? part[t] : 0);
        if (t == 0)
            out[blockIdx.x] = sum;
    }
}

BENCH_KERNEL(reduce_tree);
BENCH_KERNEL(reduce_shuffle);
