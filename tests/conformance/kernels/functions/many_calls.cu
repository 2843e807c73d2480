/* Functions that call functions from many places, in kernels of a million instructions if all calls
 * were inlined: their arguments, results and local arrays, shared variables, warp operations, lanes
 * that have diverged, and a block's barrier in one of them. The host runs the same functions. */
// RUN baseline: WEIR_JIT=baseline
#include <cstdlib>
#include <cstring>

#include "check.h"

#define BOTH       __host__ __device__ __noinline__ static
#define FOUR(x)    x x x x
#define SIXTEEN(x) FOUR(FOUR(x))

enum { THREADS = 160 };

/* Some 300 instructions. */
BOTH void leaf(unsigned *s)
{
#pragma unroll
    for (int i = 0; i < 32; i++) {
        unsigned t = ((s[1] & s[2]) | (~s[1] & s[3])) + s[0] + i * 0x9e3779b9u;
        s[0] = s[3];
        s[3] = s[2];
        s[2] = s[1];
        s[1] += t << 7 | t >> 25;
    }
}

/* More of a frame than the stack of a thread has at first. */
BOTH unsigned wide(unsigned seed, int at)
{
    unsigned mine[512];
    for (int i = 0; i < 512; i++)
        mine[i] = seed * (i + 1);
    leaf(mine + (at & 255));
    leaf(mine + (seed & 255));
    return mine[seed % 512] ^ mine[(at * 37u) % 512];
}

BOTH void middle(unsigned *s)
{
    SIXTEEN(leaf(s); s[2] ^= s[0];)
    s[3] += wide(s[1], s[0] & 1023);
}

BOTH double mixed(char a, short b, long long c, float d, double e, const unsigned *s)
{
    unsigned t[4] = {s[0], s[1], s[2], s[3]};
    FOUR(leaf(t); t[0] += a;)
    return (double)((long long)(t[0] & 1023) * c) + d * e - b;
}

BOTH unsigned by_branch(unsigned *s, unsigned n)
{
    for (unsigned i = 0; i < n % 3; i++) {
        if ((s[0] + i) & 1)
            middle(s);
        else
            SIXTEEN(leaf(s); if (s[3] & 64) s[0]++;)
    }
    return s[0] ^ s[3];
}

BOTH unsigned all(unsigned n)
{
    unsigned s[4] = {n, 1, 2, 3};
    SIXTEEN(middle(s); s[1] ^= by_branch(s, s[0]);)
    double d = 0;
    SIXTEEN(d += mixed((char)s[0], (short)s[1], s[2], 0.5f * (s[3] & 255), 0.25 * n, s); s[0]++;)
    return s[0] ^ s[1] ^ (unsigned)(long long)(d * 8);
}

/* Frames of a kilobyte, ten deep, without recursion. */
template <int DEPTH> BOTH unsigned deep(unsigned x)
{
    unsigned mine[256];
    for (int i = 0; i < 256; i++)
        mine[i] = x * (i + DEPTH);
    unsigned sum = deep<DEPTH - 1>(x + 1) ^ mine[x & 255];
    sum = sum * 31 + deep<DEPTH - 1>(sum & 1023);
    return sum + mine[sum & 255];
}
template <> __host__ __device__ __noinline__ unsigned deep<0>(unsigned x)
{
    unsigned s[4] = {x, 1, 2, 3};
    leaf(s);
    return s[0];
}

static __global__ void frames(unsigned *out) { out[threadIdx.x] = deep<10>(threadIdx.x); }

static __global__ void compute(unsigned *out)
{
    out[blockIdx.x * THREADS + threadIdx.x] = all(blockIdx.x * THREADS + threadIdx.x);
}

/* What a block has, from functions: a shared sum, the sum of a warp, and a barrier. */
__device__ __noinline__ static unsigned of_warp(unsigned v)
{
    for (int d = 16; d > 0; d /= 2)
        v += __shfl_xor_sync(~0u, v, d);
    return v;
}

__device__ __noinline__ static unsigned *of_block(unsigned v)
{
    __shared__ unsigned sum;
    atomicAdd(&sum, v);
    return &sum;
}

__device__ __noinline__ static void meet() { __syncthreads(); }

static __global__ void together(unsigned *out)
{
    unsigned s[4] = {threadIdx.x, 1, 2, 3}, *sum = of_block(0);
    if (threadIdx.x == 0)
        *sum = 0;
    meet();
    FOUR(SIXTEEN(middle(s);) of_block(of_warp(s[0])); meet(); s[1] ^= *sum; meet();)
    out[threadIdx.x] = s[0] ^ s[1];
}

static void together_on_host(unsigned *out)
{
    static unsigned s[THREADS][4];
    unsigned sum = 0;
    for (unsigned t = 0; t < THREADS; t++)
        s[t][0] = t, s[t][1] = 1, s[t][2] = 2, s[t][3] = 3;
    for (int k = 0; k < 4; k++) {
        for (unsigned t = 0; t < THREADS; t++) {
            SIXTEEN(middle(s[t]);)
            sum += 32 * s[t][0]; /* by each lane of its warp */
        }
        for (unsigned t = 0; t < THREADS; t++)
            s[t][1] ^= sum;
    }
    for (unsigned t = 0; t < THREADS; t++)
        out[t] = s[t][0] ^ s[t][1];
}

int main()
{
    enum { BLOCKS = 3 };
    unsigned *out, expected[THREADS];
    CHECK(cudaMallocManaged((void **)&out, BLOCKS * THREADS * sizeof *out) == cudaSuccess);
    compute<<<BLOCKS, THREADS>>>(out);
    CHECK(cudaGetLastError() == cudaSuccess);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    for (unsigned n = 0; n < BLOCKS * THREADS; n++)
        CHECK(out[n] == all(n));
    frames<<<1, THREADS>>>(out);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    for (unsigned n = 0; n < THREADS; n++)
        CHECK(out[n] == deep<10>(n));
    together<<<1, THREADS>>>(out);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    together_on_host(expected);
    CHECK(memcmp(out, expected, sizeof expected) == 0);
    return check_done();
}
