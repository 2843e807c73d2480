// Sparse matrix (compressed rows) times vector: one row per thread.
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
