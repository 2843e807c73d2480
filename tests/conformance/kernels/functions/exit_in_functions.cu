// SANITIZERS: exits of threads (src/exec/run.c)
/* K2: `exit` in functions that recurse or are called through pointers ends the thread: the kernel's
 * other threads go on, pass barriers, vote and shuffle without it. */
#include <cstdio>
#include <cstring>
#include <vector>

#include "check.h"

enum { THREADS = 96 };

__device__ __noinline__ int recurse(int depth, int stop)
{
    if (depth == stop)
        asm volatile("exit;");
    if (depth <= 0)
        return 1;
    return recurse(depth - 1, stop) + depth;
}

/* Thread t ends at depth t % 7, if its own recursion comes so far; half never do. */
__global__ void recursive(int *out, int depth)
{
    int t = threadIdx.x;
    out[t] = -1;
    out[t] = recurse(depth, t % 2 ? t % 7 : -5);
}

struct base {
    __device__ virtual int f(int x) { return x + 1; }
};
struct ends : base {
    __device__ int f(int x) override
    {
        if (x % 3 == 0)
            asm volatile("exit;");
        return x * 2;
    }
};
struct twice : base {
    base *inner;
    __device__ int f(int x) override { return inner->f(inner->f(x)); }
};

__global__ void virtuals(int *out, int *votes)
{
    __shared__ int live;
    int t = threadIdx.x;
    base plain;
    ends ending;
    twice two;
    two.inner = &ending;
    base *which = t % 4 == 0 ? &plain : t % 4 == 1 ? (base *)&ending : (base *)&two;
    if (t == 0)
        live = 0;
    __syncthreads();
    out[t] = -1;
    int v = which->f(t);
    atomicAdd(&live, 1);
    __syncthreads(); /* of those that are left */
    unsigned mask = __activemask();
    votes[t] = __popc(__ballot_sync(mask, 1)) * 1000 + live;
    out[t] = v;
}

/* Ends in a loop of calls through a table, at another turn for each thread. */
typedef int (*step)(int);
__device__ __noinline__ int step_on(int x) { return x + 1; }
__device__ __noinline__ int step_end(int x)
{
    if (x >= 20)
        asm volatile("exit;");
    return x + 3;
}
__device__ step steps[2] = {step_on, step_end};

__global__ void loops(int *out)
{
    int t = threadIdx.x, x = t % 5;
    for (int n = 0; n < 40; n++) {
        x = steps[(n + t) & 1](x);
        out[t] = x;
        __syncwarp(__activemask());
    }
    out[t] = 1000 + x;
}

static int *out, *votes, host[THREADS], host_votes[THREADS];

static void fetch()
{
    CHECK_EQ_INT(cudaDeviceSynchronize(), 0);
    cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
    cudaMemcpy(host_votes, votes, sizeof host_votes, cudaMemcpyDeviceToHost);
}

static int model_recurse(int depth, int stop, bool *ended)
{
    if (depth == stop)
        *ended = true;
    if (depth <= 0 || *ended)
        return 1;
    return model_recurse(depth - 1, stop, ended) + depth;
}

static void test_recursion()
{
    for (int depth : {0, 1, 5, 9}) {
        recursive<<<1, THREADS>>>(out, depth);
        fetch();
        for (int t = 0; t < THREADS; t++) {
            bool ended = false;
            int v = model_recurse(depth, t % 2 ? t % 7 : -5, &ended);
            CHECK_EQ_INT(host[t], ended ? -1 : v);
        }
    }
}

static void test_virtuals()
{
    int left[THREADS / 32] = {0}, all = 0, want[THREADS];
    for (int t = 0; t < THREADS; t++) {
        int kind = t % 4;
        bool ends = kind != 0 && t % 3 == 0;
        want[t] = kind == 0 ? t + 1 : kind == 1 ? t * 2 : t * 4;
        if (ends)
            want[t] = -1;
        else
            left[t / 32]++, all++;
    }
    virtuals<<<1, THREADS>>>(out, votes);
    fetch();
    for (int t = 0; t < THREADS; t++) {
        CHECK_EQ_INT(host[t], want[t]);
        if (want[t] != -1)
            CHECK_EQ_INT(host_votes[t], left[t / 32] * 1000 + all);
    }
}

static void test_loops()
{
    loops<<<1, THREADS>>>(out);
    fetch();
    for (int t = 0; t < THREADS; t++) {
        int x = t % 5, last = 0;
        bool ended = false;
        for (int n = 0; n < 40 && !ended; n++) {
            if (((n + t) & 1) != 0 && x >= 20)
                ended = true;
            else
                last = x = x + (((n + t) & 1) != 0 ? 3 : 1);
        }
        CHECK_EQ_INT(host[t], ended ? last : 1000 + x);
    }
}

int main()
{
    cudaMalloc(&out, sizeof host);
    cudaMalloc(&votes, sizeof host);
    test_recursion();
    test_virtuals();
    test_loops();
    return check_done();
}
