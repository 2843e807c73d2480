// Product of half-precision matrices with float sums by tensor cores: a warp makes 32 × 32 of C
// from fragments in global memory.
#include <mma.h>

#include "harness.h"

using namespace nvcuda;

enum { T = 16, EACH = 2 };

extern "C" __global__ void gemm_tensor(const half *a, const half *b, float *c, int n)
{
    int warp = threadIdx.x / 32, row = blockIdx.y * EACH * T,
        column = (blockIdx.x * (blockDim.x / 32) + warp) * EACH * T;
    wmma::fragment<wmma::accumulator, T, T, T, float> sum[EACH][EACH];
    for (int i = 0; i < EACH; i++)
        for (int j = 0; j < EACH; j++)
            wmma::fill_fragment(sum[i][j], 0.0f);
    for (int k = 0; k < n; k += T) {
        wmma::fragment<wmma::matrix_a, T, T, T, half, wmma::row_major> left[EACH];
        wmma::fragment<wmma::matrix_b, T, T, T, half, wmma::row_major> right[EACH];
        for (int i = 0; i < EACH; i++) {
            wmma::load_matrix_sync(left[i], a + (row + i * T) * n + k, n);
            wmma::load_matrix_sync(right[i], b + k * n + column + i * T, n);
        }
        for (int i = 0; i < EACH; i++)
            for (int j = 0; j < EACH; j++)
                wmma::mma_sync(sum[i][j], left[i], right[j], sum[i][j]);
    }
    for (int i = 0; i < EACH; i++)
        for (int j = 0; j < EACH; j++)
            wmma::store_matrix_sync(c + (row + i * T) * n + column + j * T, sum[i][j], n,
                                    wmma::mem_row_major);
}

BENCH_KERNEL(gemm_tensor);
