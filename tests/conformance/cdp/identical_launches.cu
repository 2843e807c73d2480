// FLAGS: -rdc=true -lcudadevrt
// RUN workers-1: WEIR_WORKERS=1
// RUN workers-2: WEIR_WORKERS=2
/* D1: threads of a warp that launch the same short kernel in the same way: each launch has its own
 * arguments, none waits for another of them, and what they launch themselves belongs to each. */
#include <string.h>

#include "check.h"

#define OK(call) CHECK_STR(cudaGetErrorName(call), "cudaSuccess")

enum { THREADS = 96 };
__device__ int results[4 * THREADS];
static int got[4 * THREADS];

/* Runs to its end and takes the results out of `results`. */
static void finish()
{
    static const int zeros[4 * THREADS] = {};
    OK(cudaGetLastError());
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpyFromSymbol(got, results, sizeof results));
    OK(cudaMemcpyToSymbol(results, zeros, sizeof results));
}

static void all_are(int from, int first, int step)
{
    for (int t = 0; t < THREADS; t++)
        CHECK_EQ_INT(got[from + t], first + t * step);
}

/* ---- arguments of any size ---- */

template <int N> struct words {
    int value[N];
};
template <int N> __global__ void put_words(words<N> w, int at)
{
    int sum = 0;
    for (int k = 0; k < N; k++)
        sum += w.value[k];
    atomicAdd(&results[at], sum);
}
__global__ void put(int at, int value) { atomicAdd(&results[at], value); }
__global__ void count_one() { atomicAdd(&results[0], 1); }
__global__ void wide(int at) { atomicAdd(&results[at], (int)threadIdx.x + 10 * (int)blockIdx.x); }

template <int N> __global__ void launch_words(unsigned mask, cudaStream_t stream)
{
    int t = (int)(threadIdx.x + blockIdx.x * blockDim.x);
    words<N> w;
    for (int k = 0; k < N; k++)
        w.value[k] = k == 0 || k == N - 1 ? t : 1;
    if ((mask >> threadIdx.x % 32 & 1) != 0)
        put_words<N><<<1, 1, 0, stream>>>(w, t);
}

template <int N> static void arguments()
{
    for (int round = 0; round < 3; round++)
        for (cudaStream_t s : {(cudaStream_t)0, cudaStreamFireAndForget, cudaStreamTailLaunch}) {
            launch_words<N><<<2, THREADS / 2>>>(0xffffffff, s);
            finish();
            all_are(0, N > 1 ? N - 2 : 0, N > 1 ? 2 : 1);
        }
    launch_words<N><<<1, THREADS>>>(0x80010ff1, cudaStreamFireAndForget);
    finish();
    for (int t = 0; t < THREADS; t++)
        CHECK_EQ_INT(got[t], (0x80010ff1 >> t % 32 & 1) == 0 ? 0 : N > 1 ? N - 2 + 2 * t : t);
}

/* ---- some are alike, others not ---- */

__global__ void launch_mixed(int times)
{
    int t = (int)threadIdx.x;
    for (int n = 0; n < times; n++) {
        if (t % 5 == 0)
            put<<<1, 1>>>(t, 1);
        else
            wide<<<1 + t % 3, 1 + t % 2>>>(t);
        count_one<<<1, 1, 0, t % 2 ? cudaStreamFireAndForget : 0>>>();
    }
}

static void mixed()
{
    const int times = 8;
    for (int round = 0; round < 2; round++) {
        launch_mixed<<<1, THREADS>>>(times);
        finish();
        CHECK_EQ_INT(got[0], times + THREADS * times);
        for (int t = 1; t < THREADS; t++) {
            int blocks = 1 + t % 3, threads = 1 + t % 2, sum = 0;
            for (int b = 0; b < blocks; b++)
                for (int k = 0; k < threads; k++)
                    sum += k + 10 * b;
            CHECK_EQ_INT(got[t], times * (t % 5 == 0 ? 1 : sum));
        }
    }
}

/* ---- the order of a block's stream ---- */

__device__ int last[THREADS];
__global__ void follow(int t, int n)
{
    if (last[t] == n)
        last[t] = n + 1;
    else
        atomicAdd(&results[t], 1);
}
__global__ void launch_ordered(int times)
{
    last[threadIdx.x] = 0;
    for (int n = 0; n < times; n++)
        follow<<<1, 1>>>((int)threadIdx.x, n);
}

static void ordered()
{
    for (int round = 0; round < 3; round++) {
        launch_ordered<<<1, THREADS>>>(16);
        finish();
        all_are(0, 0, 0);
        int ends[THREADS];
        OK(cudaMemcpyFromSymbol(ends, last, sizeof ends));
        for (int t = 0; t < THREADS; t++)
            CHECK_EQ_INT(ends[t], 16);
    }
}

/* ---- children of children ---- */

__global__ void below(int at, int depth)
{
    atomicAdd(&results[at], 1);
    if (depth > 0 && threadIdx.x < 4)
        below<<<1, 4>>>(at, depth - 1);
}
__global__ void after(int at) { results[THREADS + at] = results[at]; }
__global__ void launch_below(int depth)
{
    below<<<1, 4>>>((int)threadIdx.x, depth);
    after<<<1, 1, 0, cudaStreamTailLaunch>>>((int)threadIdx.x);
}

static void nested()
{
    for (int depth : {0, 0, 1, 3}) {
        int sum = 0, threads = depth < 2 ? THREADS : 8; // no more than may be pending on a GPU
        for (int level = 0, n = 4; level <= depth; level++, n *= 4)
            sum += n;
        launch_below<<<1, threads>>>(depth);
        finish();
        for (int t = 0; t < threads; t++) {
            CHECK_EQ_INT(got[t], sum);
            CHECK_EQ_INT(got[THREADS + t], sum);
        }
    }
}

/* ---- children that wait for each other ---- */

__device__ int met;
static __device__ __noinline__ void wait_for(int n)
{
    while (atomicAdd(&met, 0) < n)
        continue;
}
/* In a function that is called, as in one that is not. */
__global__ void meet(int n, int at)
{
    atomicAdd(&met, 1);
    wait_for(n);
    results[at] = 1;
}
__global__ void meet_inline(int n, int at)
{
    atomicAdd(&met, 1);
    while (atomicAdd(&met, 0) < n)
        continue;
    results[at] = 1;
}
__global__ void launch_meeting(int n, bool called)
{
    if (called)
        meet<<<1, 1, 0, cudaStreamFireAndForget>>>(n, (int)threadIdx.x);
    else
        meet_inline<<<1, 1, 0, cudaStreamFireAndForget>>>(n, (int)threadIdx.x);
}

static void meeting()
{
    const int zero = 0;
    for (int n : {0, 0, 32})
        for (bool called : {true, false}) {
            OK(cudaMemcpyToSymbol(met, &zero, sizeof met));
            launch_meeting<<<1, 32>>>(n, called);
            finish();
            for (int t = 0; t < 32; t++)
                CHECK_EQ_INT(got[t], 1);
        }
}

int main()
{
    arguments<1>();
    arguments<20>();
    mixed();
    ordered();
    nested();
    meeting();
    return check_done();
}
