// Dense linear algebra on small things: LU and Cholesky of many matrices, products of bytes with
// dp4a, half precision, attention, complex numbers and a Fourier transform in shared memory.
#include <cuda_fp16.h>

#include "harness.h"

enum { N = 16 };
// A thread a matrix in memory, matrices interleaved or one after another.
template <bool INTERLEAVED> __global__ void cholesky(float *all, int count)
{
    int m = blockIdx.x * blockDim.x + threadIdx.x;
    if (m >= count)
        return;
    auto a = [&](int r, int c) -> float & {
        return INTERLEAVED ? all[(r * N + c) * count + m] : all[m * N * N + r * N + c];
    };
    for (int k = 0; k < N; k++) {
        float d = a(k, k);
        for (int j = 0; j < k; j++)
            d -= a(k, j) * a(k, j);
        d = sqrtf(d);
        a(k, k) = d;
        for (int r = k + 1; r < N; r++) {
            float s = a(r, k);
            for (int j = 0; j < k; j++)
                s -= a(r, j) * a(k, j);
            a(r, k) = s / d;
        }
    }
}
BENCH_SPELLING(cholesky, 0, cholesky<true>);
static __global__ void cholesky_unrolled(float *all, int count)
{
    int m = blockIdx.x * blockDim.x + threadIdx.x;
    if (m >= count)
        return;
    float a[N][N];
    for (int r = 0; r < N; r++)
        for (int c = 0; c <= r; c++)
            a[r][c] = all[(r * N + c) * count + m];
#pragma unroll
    for (int k = 0; k < N; k++) {
#pragma unroll
        for (int j = 0; j < k; j++)
            a[k][k] -= a[k][j] * a[k][j];
        a[k][k] = sqrtf(a[k][k]);
#pragma unroll
        for (int r = k + 1; r < N; r++) {
#pragma unroll
            for (int j = 0; j < k; j++)
                a[r][k] -= a[r][j] * a[k][j];
            a[r][k] /= a[k][k];
        }
    }
    for (int r = 0; r < N; r++)
        for (int c = 0; c <= r; c++)
            all[(r * N + c) * count + m] = a[r][c];
}
BENCH_SPELLING(cholesky, 1, cholesky_unrolled);

// LU without pivots, a block of 16×16 threads a matrix of 32×32 in shared memory.
template <int M, int X, int Y> __global__ void lu(float *all)
{
    __shared__ float a[M][M + 1];
    float *mine = all + (size_t)blockIdx.x * M * M;
    for (int r = threadIdx.y; r < M; r += Y)
        for (int c = threadIdx.x; c < M; c += X)
            a[r][c] = mine[r * M + c];
    __syncthreads();
    for (int k = 0; k < M - 1; k++) {
        for (int r = k + 1 + threadIdx.y * X + threadIdx.x; r < M; r += X * Y)
            a[r][k] /= a[k][k];
        __syncthreads();
        for (int r = k + 1 + threadIdx.y; r < M; r += Y)
            for (int c = k + 1 + threadIdx.x; c < M; c += X)
                a[r][c] -= a[r][k] * a[k][c];
        __syncthreads();
    }
    for (int r = threadIdx.y; r < M; r += Y)
        for (int c = threadIdx.x; c < M; c += X)
            mine[r * M + c] = a[r][c];
}
BENCH_SPELLING(lu, 0, lu<32, 16, 16>);
BENCH_SPELLING(lu, 1, lu<32, 32, 8>);
BENCH_SPELLING(lu, 2, lu<32, 32, 4>);

// Rows of signed bytes times columns of them (stored as rows), four at a time.
template <int K> __global__ void bytes_product(const int *a, const int *b, int *c, int n, int k4)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    int words = K ? K : k4, sum = 0;
    for (int k = 0; k < words; k++)
        sum = __dp4a(a[row * words + k], b[column * words + k], sum);
    c[row * n + column] = sum;
}
static __global__ void bytes_tiled(const int *a, const int *b, int *c, int n, int k4)
{
    __shared__ int ta[16][17], tb[16][17];
    int x = threadIdx.x, y = threadIdx.y, sum = 0;
    int column = blockIdx.x * 16 + x, row = blockIdx.y * 16 + y;
    for (int at = 0; at < k4; at += 16) {
        ta[y][x] = a[row * k4 + at + x];
        tb[y][x] = b[(blockIdx.x * 16 + y) * k4 + at + x];
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 16; k++)
            sum = __dp4a(ta[y][k], tb[x][k], sum);
        __syncthreads();
    }
    c[row * n + column] = sum;
}
BENCH_SPELLING(bytes_product, 0, bytes_tiled);
BENCH_SPELLING(bytes_product, 1, bytes_product<0>);
BENCH_SPELLING(bytes_product, 2, bytes_product<64>);

// y = a x + y, and a polynomial of it, in half precision.
static __global__ void halves(const half2 *x, half2 *y, int n, float a)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n / 2)
        return;
    half2 f = __float2half2_rn(a), v = __hfma2(f, x[i], y[i]);
    y[i] = __hfma2(__hfma2(v, v, f), v, x[i]);
}
static __global__ void halves_single(const half *x, half *y, int n, float a)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    half f = __float2half(a), v = __hfma(f, x[i], y[i]);
    y[i] = __hfma(__hfma(v, v, f), v, x[i]);
}
static __global__ void halves_float(const half *x, half *y, int n, float a)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float v = fmaf(a, __half2float(x[i]), __half2float(y[i]));
        y[i] = __float2half(fmaf(fmaf(v, v, a), v, __half2float(x[i])));
    }
}
BENCH_KERNEL(halves);
BENCH_SPELLING(halves, 1, halves_single);
BENCH_SPELLING(halves, 2, halves_float);

// Attention of one head of 64: a block a tile of queries, keys and values pass through shared
// memory, the softmax is kept up to date.
template <int TILE, int D>
__global__ void attention(const float *q, const float *k, const float *v, float *o, int n)
{
    __shared__ float ks[TILE][D], vs[TILE][D];
    int row = blockIdx.x * TILE + threadIdx.x;
    float mine[D], sum[D] = {}, high = -1e30f, total = 0;
    for (int d = 0; d < D; d++)
        mine[d] = q[row * D + d] * 0.125f;
    for (int at = 0; at < n; at += TILE) {
        __syncthreads();
        for (int i = threadIdx.x; i < TILE * D; i += TILE) {
            (&ks[0][0])[i] = k[at * D + i];
            (&vs[0][0])[i] = v[at * D + i];
        }
        __syncthreads();
        for (int j = 0; j < TILE; j++) {
            float s = 0;
#pragma unroll
            for (int d = 0; d < D; d++)
                s += mine[d] * ks[j][d];
            float now = fmaxf(high, s), old = __expf(high - now), e = __expf(s - now);
            total = total * old + e;
#pragma unroll
            for (int d = 0; d < D; d++)
                sum[d] = sum[d] * old + e * vs[j][d];
            high = now;
        }
    }
    for (int d = 0; d < D; d++)
        o[row * D + d] = sum[d] / total;
}
BENCH_SPELLING(attention, 0, attention<64, 64>);
BENCH_SPELLING(attention, 1, attention<32, 64>);

// Complex transforms of 1024 points, radix 2 in shared memory after the bits are reversed.
template <int POINTS, int THREADS> __global__ void fft(const float2 *in, float2 *out)
{
    __shared__ float2 s[POINTS];
    int bits = 31 - __clz(POINTS);
    for (int i = threadIdx.x; i < POINTS; i += THREADS)
        s[__brev(i) >> (32 - bits)] = in[blockIdx.x * POINTS + i];
    for (int half = 1; half < POINTS; half *= 2) {
        __syncthreads();
        for (int t = threadIdx.x; t < POINTS / 2; t += THREADS) {
            int k = t & (half - 1), i = 2 * (t - k) + k;
            float c, d;
            __sincosf(-3.14159265f * k / half, &d, &c);
            float2 a = s[i], b = s[i + half];
            float2 w = make_float2(b.x * c - b.y * d, b.x * d + b.y * c);
            s[i] = make_float2(a.x + w.x, a.y + w.y);
            s[i + half] = make_float2(a.x - w.x, a.y - w.y);
        }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < POINTS; i += THREADS)
        out[blockIdx.x * POINTS + i] = s[i];
}
BENCH_SPELLING(fft, 0, fft<1024, 256>);
BENCH_SPELLING(fft, 1, fft<1024, 512>);
BENCH_SPELLING(fft, 2, fft<1024, 128>);

// Products of complex matrices by global memory.
template <int SIZE>
__global__ void complex_product(const float2 *a, const float2 *b, float2 *c, int given)
{
    int n = SIZE ? SIZE : given;
    int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    float2 sum = make_float2(0, 0);
    for (int k = 0; k < n; k++) {
        float2 x = a[row * n + k], y = b[k * n + column];
        sum.x += x.x * y.x - x.y * y.y;
        sum.y += x.x * y.y + x.y * y.x;
    }
    c[row * n + column] = sum;
}
BENCH_SPELLING(complex_product, 0, complex_product<0>);
static void complex_constant(const bench_launch *l, void **args)
{
    auto kernel = *(int *)args[3] == 256 ? complex_product<256> : complex_product<32>;
    kernel<<<dim3(l->grid_x, l->grid_y), dim3(l->block_x, l->block_y)>>>(
        BENCH_POINTER(float2, args[0]), BENCH_POINTER(float2, args[1]),
        BENCH_POINTER(float2, args[2]), 0);
}
BENCH_HOST(complex_product, 1, complex_constant);

static __global__ void copy_floats(const float *in, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = in[i];
}
BENCH_KERNEL(copy_floats);
