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

// The table's size as a constant (the small size is a parameter), and 64-bit indices.
template <int TILE> __global__ void matmul_constant(const float *a, const float *b, float *c, int n)
{
    if (n == 1024)
        tiled<TILE>(a, b, c, 1024);
    else
        tiled<TILE>(a, b, c, n);
}
template <int TILE>
__global__ void matmul_long(const float *__restrict__ a, const float *__restrict__ b,
                            float *__restrict__ c, size_t n)
{
    __shared__ float tile_a[TILE][TILE + 1], tile_b[TILE][TILE + 1];
    size_t column = blockIdx.x * TILE + threadIdx.x, row = blockIdx.y * TILE + threadIdx.y;
    float sum = 0;
    for (size_t at = 0; at < n; at += TILE) {
        tile_a[threadIdx.y][threadIdx.x] = a[row * n + at + threadIdx.x];
        tile_b[threadIdx.y][threadIdx.x] = b[(at + threadIdx.y) * n + column];
        __syncthreads();
        for (size_t k = 0; k < TILE; k++)
            sum += tile_a[threadIdx.y][k] * tile_b[k][threadIdx.x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}
static __global__ void matmul_naive_constant(const float *a, const float *b, float *c, int given)
{
    int n = given == 1024 ? 1024 : given;
    unsigned column = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
    float sum = 0;
#pragma unroll 4
    for (unsigned k = 0; k < n; k++)
        sum += a[row * n + k] * b[k * n + column];
    c[row * n + column] = sum;
}
static __global__ void matmul_naive_long(const float *__restrict__ a, const float *__restrict__ b,
                                         float *__restrict__ c, size_t n)
{
    size_t column = blockIdx.x * blockDim.x + threadIdx.x;
    size_t row = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0;
    for (size_t k = 0; k < n; k++)
        sum += a[row * n + k] * b[k * n + column];
    c[row * n + column] = sum;
}
BENCH_SPELLING(matmul_naive, 1, matmul_naive_constant);
BENCH_SPELLING(matmul_naive, 2, matmul_naive_long);
BENCH_SPELLING(matmul_16, 1, matmul_constant<16>);
BENCH_SPELLING(matmul_16, 2, matmul_long<16>);
BENCH_SPELLING(matmul_32, 1, matmul_constant<32>);
BENCH_SPELLING(matmul_32, 2, matmul_long<32>);
