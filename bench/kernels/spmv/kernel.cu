// Sparse matrix (compressed rows) times vector: one row per thread, and one per warp.
#include "harness.h"

extern "C" __global__ void spmv(const int *start, const int *column, const float *value,
                                const float *x, float *y, int rows)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    float sum = 0;
    for (int i = start[row]; i < start[row + 1]; i++)
        sum += value[i] * x[column[i]];
    y[row] = sum;
}

BENCH_KERNEL(spmv);

extern "C" __global__ void spmv_warp(const int *start, const int *column, const float *value,
                                     const float *x, float *y, int rows)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= rows)
        return;
    float sum = 0;
    for (int i = start[row] + lane; i < start[row + 1]; i += 32)
        sum += value[i] * x[column[i]];
    for (int distance = 16; distance > 0; distance /= 2)
        sum += __shfl_xor_sync(0xffffffff, sum, distance);
    if (lane == 0)
        y[row] = sum;
}

BENCH_KERNEL(spmv_warp);
