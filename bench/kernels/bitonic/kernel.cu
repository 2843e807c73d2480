// Bitonic sort, ascending: steps that stay within 1024 neighbours in shared memory, wider ones in
// global memory.
#include "harness.h"

enum { PART = 1024, THREADS = PART / 2 };

static __device__ void order(unsigned &a, unsigned &b, bool up)
{
    if (a > b == up) {
        unsigned t = a;
        a = b;
        b = t;
    }
}

// All steps of sizes up to PART.
extern "C" __global__ void bitonic_parts(unsigned *keys)
{
    __shared__ unsigned part[PART];
    unsigned t = threadIdx.x, first = blockIdx.x * PART;
    part[t] = keys[first + t];
    part[t + THREADS] = keys[first + t + THREADS];
    for (unsigned size = 2; size <= PART; size *= 2)
        for (unsigned step = size / 2; step > 0; step /= 2) {
            __syncthreads();
            unsigned at = 2 * t - (t & (step - 1));
            order(part[at], part[at + step], ((first + at) & size) == 0);
        }
    __syncthreads();
    keys[first + t] = part[t];
    keys[first + t + THREADS] = part[t + THREADS];
}

// The steps of one size from PART / 2 down.
extern "C" __global__ void bitonic_merge(unsigned *keys, unsigned size)
{
    __shared__ unsigned part[PART];
    unsigned t = threadIdx.x, first = blockIdx.x * PART;
    bool up = (first & size) == 0;
    part[t] = keys[first + t];
    part[t + THREADS] = keys[first + t + THREADS];
    for (unsigned step = PART / 2; step > 0; step /= 2) {
        __syncthreads();
        unsigned at = 2 * t - (t & (step - 1));
        order(part[at], part[at + step], up);
    }
    __syncthreads();
    keys[first + t] = part[t];
    keys[first + t + THREADS] = part[t + THREADS];
}

extern "C" __global__ void bitonic_step(unsigned *keys, unsigned size, unsigned step)
{
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x, at = 2 * t - (t & (step - 1));
    order(keys[at], keys[at + step], (at & size) == 0);
}

BENCH_KERNEL(bitonic_parts);
BENCH_KERNEL(bitonic_merge);
BENCH_KERNEL(bitonic_step);
