// Work of networks and of images in small types: gradients of pooling, a stencil of bytes over a
// tile with its surroundings, conversions to eight bits, complex numbers made by each thread.
#include <cuComplex.h>
#include <cuda_fp8.h>

#include "harness.h"

enum { WIDTH = 64, POOLED = 32, WINDOW = 3, STEP = 2, REACH = 2, ROUNDS = 16 };

// What each pixel hands on of the gradients of the means that it is in.
template <int FIXED>
__global__ void pool_gradient(const float *top, float *bottom, int n, int given_width,
                              int given_pooled, int window, int step)
{
    int width = FIXED ? (int)WIDTH : given_width, pooled = FIXED ? (int)POOLED : given_pooled;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        int x = i % width, y = i / width % width, plane = i / width / width;
        int px0 = x < window ? 0 : (x - window) / step + 1, px1 = min(x / step + 1, pooled);
        int py0 = y < window ? 0 : (y - window) / step + 1, py1 = min(y / step + 1, pooled);
        const float *from = top + plane * pooled * pooled;
        float gradient = 0;
        for (int py = py0; py < py1; py++)
            for (int px = px0; px < px1; px++) {
                int high = min(py * step + window, width) - py * step;
                int wide = min(px * step + window, width) - px * step;
                gradient += from[py * pooled + px] / (high * wide);
            }
        bottom[i] = gradient;
    }
}
BENCH_SPELLING(pool_gradient, 0, pool_gradient<0>);
BENCH_SPELLING(pool_gradient, 1, pool_gradient<1>);

// Weights 1 4 6 4 1 down and across, of a tile of bytes and two around it.
template <int BX, int BY>
__global__ void apron(const unsigned char *in, unsigned char *out, int width, int height)
{
    __shared__ unsigned char tile[BY + 2 * REACH][BX + 2 * REACH];
    int x0 = blockIdx.x * BX - REACH, y0 = blockIdx.y * BY - REACH;
    for (int ty = threadIdx.y; ty < BY + 2 * REACH; ty += BY)
        for (int tx = threadIdx.x; tx < BX + 2 * REACH; tx += BX) {
            int x = min(max(x0 + tx, 0), width - 1), y = min(max(y0 + ty, 0), height - 1);
            tile[ty][tx] = in[y * width + x];
        }
    __syncthreads();
    const int weight[5] = {1, 4, 6, 4, 1};
    int sum = 128, x = blockIdx.x * BX + threadIdx.x, y = blockIdx.y * BY + threadIdx.y;
    for (int dy = 0; dy < 5; dy++)
        for (int dx = 0; dx < 5; dx++)
            sum += weight[dy] * weight[dx] * tile[threadIdx.y + dy][threadIdx.x + dx];
    if (x < width && y < height)
        out[y * width + x] = sum >> 8;
}
BENCH_SPELLING(apron, 0, apron<16, 16>);
BENCH_SPELLING(apron, 1, apron<32, 8>);

// To four bits of exponent and three of fraction, saturating.
static __global__ void to_fp8(const float *in, unsigned char *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = __nv_fp8_e4m3(in[i]).__x;
}
static __global__ void to_fp8_pairs(const float2 *in, unsigned short *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n / 2)
        out[i] = __nv_cvt_float2_to_fp8x2(in[i], __NV_SATFINITE, __NV_E4M3);
}
static __global__ void to_fp8_fours(const float4 *in, __nv_fp8x4_e4m3 *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n / 4)
        out[i] = __nv_fp8x4_e4m3(in[i]);
}
BENCH_KERNEL(to_fp8);
BENCH_SPELLING(to_fp8, 1, to_fp8_pairs);
BENCH_SPELLING(to_fp8, 2, to_fp8_fours);

// Products and quotients of complex numbers from a generator in each thread.
static __device__ float drawn(unsigned &state)
{
    state = state * 1664525u + 1013904223u;
    return (int)(state >> 8) * 0x1p-24f + 0.5f;
}
static __global__ void complex_drawn(float *out)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned state = t * 2654435761u + 99;
    float sum = 0;
    for (int i = 0; i < ROUNDS; i++) {
        float ar = drawn(state), ai = drawn(state), br = drawn(state), bi = drawn(state);
        float scale = 1 / (br * br + bi * bi);
        float r = ar * br - ai * bi + (ar * br + ai * bi) * scale;
        float m = ar * bi + ai * br + (ai * br - ar * bi) * scale;
        sum += sqrtf(r * r + m * m);
    }
    out[t] = sum;
}
static __global__ void complex_library(float *out)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned state = t * 2654435761u + 99;
    float sum = 0;
    for (int i = 0; i < ROUNDS; i++) {
        cuFloatComplex a, b;
        a.x = drawn(state), a.y = drawn(state), b.x = drawn(state), b.y = drawn(state);
        sum += cuCabsf(cuCaddf(cuCmulf(a, b), cuCdivf(a, b)));
    }
    out[t] = sum;
}
BENCH_KERNEL(complex_drawn);
BENCH_SPELLING(complex_drawn, 1, complex_library);
