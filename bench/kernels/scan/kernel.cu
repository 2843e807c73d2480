// Inclusive prefix sums: in each block of 256 (Hillis and Steele), then of the blocks' sums by the
// same kernel, then added back.
#include "harness.h"

extern "C" __global__ void scan_blocks(const int *in, int *out, int *sums, int n)
{
    __shared__ int row[2][256];
    int t = threadIdx.x, i = blockIdx.x * 256 + t, from = 0;
    row[0][t] = i < n ? in[i] : 0;
    __syncthreads();
    for (int distance = 1; distance < 256; distance *= 2, from = 1 - from) {
        row[1 - from][t] = row[from][t] + (t >= distance ? row[from][t - distance] : 0);
        __syncthreads();
    }
    if (i < n)
        out[i] = row[from][t];
    if (t == 255)
        sums[blockIdx.x] = row[from][t];
}

extern "C" __global__ void scan_add(int *out, const int *sums, int n)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (blockIdx.x > 0 && i < n)
        out[i] += sums[blockIdx.x - 1];
}

BENCH_KERNEL(scan_blocks);
BENCH_KERNEL(scan_add);
