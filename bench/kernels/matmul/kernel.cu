// Matrix product C = A B of square matrices, one element of C per thread: from global memory, and
// from square tiles in shared memory. n is a multiple of the tile.
#include "harness.h"

extern "C" __global__ void matmul_naive(const float *a, const float *b, float *c, int n)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < n; k++)
        sum += a[row * n + k] * b[k * n + column];
    c[row * n + column] = sum;
}

template <int TILE> static __device__ void tiled(const float *a, const float *b, float *c, int n)
{
    __shared__ float tile_a[TILE][TILE], tile_b[TILE][TILE];
    int x = threadIdx.x, y = threadIdx.y;
    int column = blockIdx.x * TILE + x, row = blockIdx.y * TILE + y;
    float sum = 0;
    for (int at = 0; at < n; at += TILE) {
        tile_a[y][x] = a[row * n + at + x];
        tile_b[y][x] = b[(at + y) * n + column];
        __syncthreads();
#pragma unroll
        for (int k = 0; k < TILE; k++)
            sum += tile_a[y][k] * tile_b[k][x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}

extern "C" __global__ void matmul_16(const float *a, const float *b, float *c, int n)
{
    tiled<16>(a, b, c, n);
}

extern "C" __global__ void matmul_32(const float *a, const float *b, float *c, int n)
{
    tiled<32>(a, b, c, n);
}

BENCH_KERNEL(matmul_naive);
BENCH_KERNEL(matmul_16);
BENCH_KERNEL(matmul_32);
