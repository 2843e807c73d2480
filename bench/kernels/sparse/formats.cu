// Sparse matrices times a vector in other formats than rows: ELLPACK by columns of the padded
// matrix, coordinates with atomics, blocks of 4×4; and a segmented scan.
#include "harness.h"

template <class I, int WIDTH>
__global__ void ell(const int *column, const float *value, const float *x, float *y, I rows,
                    I width)
{
    I row = blockIdx.x * (I)blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    float sum = 0;
    for (I k = 0; k < (WIDTH ? WIDTH : width); k++) {
        int at = column[k * rows + row];
        if (at >= 0)
            sum += value[k * rows + row] * x[at];
    }
    y[row] = sum;
}
BENCH_SPELLING(ell, 0, ell<int, 0>);
BENCH_SPELLING(ell, 1, ell<int, 16>);
BENCH_SPELLING(ell, 2, ell<size_t, 0>);

static __global__ void coo(const int *row, const int *column, const float *value, const float *x,
                           float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        atomicAdd(&y[row[i]], value[i] * x[column[i]]);
}
static __global__ void coo_stride(const int *row, const int *column, const float *value,
                                  const float *x, float *y, size_t n)
{
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&y[row[i]], value[i] * x[column[i]]);
}
// A warp adds up the rows it holds before it asks for atomics.
static __global__ void coo_warp(const int *row, const int *column, const float *value,
                                const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    int mine = i < n ? row[i] : -1;
    float sum = i < n ? value[i] * x[column[i]] : 0;
    for (int distance = 1; distance < 32; distance *= 2) {
        float left = __shfl_up_sync(~0u, sum, distance);
        int other = __shfl_up_sync(~0u, mine, distance);
        if (lane >= distance && other == mine)
            sum += left;
    }
    int next = __shfl_down_sync(~0u, mine, 1);
    if (mine >= 0 && (lane == 31 || next != mine))
        atomicAdd(&y[mine], sum);
}
BENCH_KERNEL(coo);
BENCH_SPELLING(coo, 1, coo_stride);
BENCH_SPELLING(coo, 2, coo_warp);

enum { B = 4 };
// A thread a row of a block row.
static __global__ void bsr(const int *start, const int *column, const float *value, const float *x,
                           float *y, int rows)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    int block = row / B, r = row % B;
    float sum = 0;
    for (int i = start[block]; i < start[block + 1]; i++)
        for (int c = 0; c < B; c++)
            sum += value[(i * B + r) * B + c] * x[column[i] * B + c];
    y[row] = sum;
}
static __global__ void bsr_vectors(const int *start, const int *column, const float4 *value,
                                   const float4 *x, float *y, int rows)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    int end = start[row / B + 1];
    float sum = 0;
    for (int i = start[row / B]; i < end; i++) {
        float4 v = value[i * B + row % B], w = x[column[i]];
        sum += v.x * w.x + v.y * w.y + v.z * w.z + v.w * w.w;
    }
    y[row] = sum;
}
// Blocks of 8 by 32 threads.
static __global__ void bsr_square(const int *start, const int *column, const float *value,
                                  const float *x, float *y, int rows)
{
    int block = blockIdx.x * blockDim.y + threadIdx.y, r = threadIdx.x;
    if (block >= rows / B)
        return;
    float sum = 0;
    for (int i = start[block]; i < start[block + 1]; i++)
#pragma unroll
        for (int c = 0; c < B; c++)
            sum += value[(i * B + r) * B + c] * x[column[i] * B + c];
    y[block * B + r] = sum;
}
BENCH_KERNEL(bsr);
BENCH_SPELLING(bsr, 1, bsr_vectors);
BENCH_SPELLING(bsr, 2, bsr_square);

// Sums up to each element within its segment; a block has PART elements, and segments are no
// longer than that, so that what a block begins with comes from the one before it.
template <int PART> __global__ void segments(const unsigned char *head, const float *in, float *out,
                                             int n)
{
    __shared__ float s[2 * PART];
    __shared__ unsigned char h[2 * PART];
    int t = threadIdx.x, first = (int)blockIdx.x * PART - PART;
    for (int k = t; k < 2 * PART; k += PART) {
        int i = first + k;
        s[k] = i >= 0 && i < n ? in[i] : 0;
        h[k] = i >= 0 && i < n ? head[i] : 1;
    }
    __syncthreads();
    for (int distance = 1; distance < PART; distance *= 2) {
        float add[2];
        bool stop[2];
        for (int p = 0; p < 2; p++) {
            int k = t + p * PART;
            bool use = k >= distance && !h[k];
            add[p] = use ? s[k - distance] : 0;
            stop[p] = use && h[k - distance];
        }
        __syncthreads();
        for (int p = 0; p < 2; p++) {
            s[t + p * PART] += add[p];
            h[t + p * PART] |= stop[p];
        }
        __syncthreads();
    }
    if (first + PART + t < n)
        out[first + PART + t] = s[PART + t];
}
BENCH_SPELLING(segments, 0, segments<256>);
BENCH_SPELLING(segments, 1, segments<128>);
BENCH_SPELLING(segments, 2, segments<512>);
