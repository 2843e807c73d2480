/* K2: lanes that come to a warp operation or a barrier in different iterations of a loop, since
 * each skips it in others. It waits for the lanes that its mask names, as far as they have not
 * exited. The host runs one lane after the other up to the operation. */
#include <cstdlib>
#include <cstring>

#include "check.h"

#define ALL 0xffffffffu

enum { THREADS = 64, TURNS = 5 };

/* How a lane's loop begins an iteration, on the host and on the device: false if it skips. */
static __host__ __device__ bool turn(unsigned *v, unsigned a, int t, int i, int every)
{
    *v = *v * 5 + (*v >> 9) + i + a;
    return (t / (every - 1) + i) % every == 0;
}

__global__ void in_pairs(const unsigned *m, unsigned *o)
{
    int t = threadIdx.x;
    unsigned a = m[t], v = t;
#pragma unroll 1 /* so that there is one place where lanes meet */
    for (int i = 0; i < 2 * TURNS; i++) {
        if (!turn(&v, a, t, i, 2))
            continue;
        v += __shfl_xor_sync(ALL, v, 1);
    }
    o[t] = v;
}

/* Four sets of lanes, which do not wait for each other. */
__global__ void in_sets(const unsigned *m, unsigned *o)
{
    int t = threadIdx.x;
    unsigned a = m[t], v = t, set = 0x11111111u << (t & 3);
#pragma unroll 1 /* so that there is one place where lanes meet */
    for (int i = 0; i < 3 * TURNS; i++) {
        if (!turn(&v, a, t, i, 3))
            continue;
        v += __shfl_xor_sync(set, v, 4);
        __syncwarp(set);
    }
    o[t] = v;
}

/* The mask names lanes that have exited, each in another iteration. */
__global__ void after_exits(const unsigned *m, unsigned *o)
{
    int t = threadIdx.x;
    unsigned a = m[t], v = t;
#pragma unroll 1 /* so that there is one place where lanes meet */
    for (int i = 0; i < 2 * TURNS; i++) {
        if (t % 4 == 3 && i == t % 7) {
            o[t] = i;
            return;
        }
        if (t % 4 == 3 || !turn(&v, a, t, i, 2))
            continue;
        v += __ballot_sync(ALL, v >> 3 & 1);
    }
    o[t] = v;
}

/* A barrier that the threads of a warp need not come to together. */
static __device__ void barrier() { asm volatile("barrier.sync 0;" ::: "memory"); }

__global__ void by_barrier(const unsigned *m, unsigned *o)
{
    __shared__ volatile unsigned shared[THREADS];
    int t = threadIdx.x;
    unsigned a = m[t], v = t;
#pragma unroll 1 /* so that there is one place where lanes meet */
    for (int i = 0; i < 2 * TURNS; i++) {
        if (!turn(&v, a, t, i, 2))
            continue;
        shared[t] = v;
        barrier();
        unsigned other = shared[t ^ 1];
        barrier();
        v += other;
    }
    o[t] = v;
}

/* What threads do before they exit is done before a barrier that the others pass. */
template <bool ODD> __global__ void exits_before_barrier(const unsigned *m, unsigned *o)
{
    __shared__ volatile unsigned shared[THREADS];
    int t = threadIdx.x;
    if (((t & 1) != 0) == ODD) {
        shared[t] = m[t];
        o[t] = 0;
        return;
    }
    __syncthreads();
    o[t] = shared[t ^ 1];
}

typedef void kernel(const unsigned *, unsigned *);

/* The exchange of the lanes that have come; `with` is the other lane's bit, 0: a ballot. */
static void on_host(const unsigned *m, unsigned *o, int every, int with)
{
    int at[THREADS] = {0};
    for (int t = 0; t < THREADS; t++)
        o[t] = with == 0 && t % 4 == 3 ? t % 7 : t;
    for (int round = 0; round < TURNS; round++) {
        unsigned was[THREADS], votes[2] = {0, 0};
        for (int t = 0; t < THREADS; t++) {
            if (with == 0 && t % 4 == 3)
                continue;
            while (!turn(&o[t], m[t], t, at[t]++, every)) {
            }
            was[t] = o[t];
            votes[t / 32] |= (o[t] >> 3 & 1) << t % 32;
        }
        for (int t = 0; t < THREADS; t++)
            if (with != 0 || t % 4 != 3)
                o[t] += with != 0 ? was[t ^ with] : votes[t / 32];
    }
    for (int t = 0; t < THREADS; t++)
        while ((with != 0 || t % 4 != 3) && at[t] < every * TURNS)
            turn(&o[t], m[t], t, at[t]++, every);
}

static void check_kernel(kernel *k, const unsigned *m, const unsigned *expected,
                         const unsigned *device_m, unsigned *device_o)
{
    unsigned o[THREADS];
    k<<<1, THREADS>>>(device_m, device_o);
    CHECK_EQ_INT(cudaMemcpy(o, device_o, sizeof o, cudaMemcpyDeviceToHost), cudaSuccess);
    for (int t = 0; t < THREADS; t++)
        CHECK_EQ_INT(o[t], expected[t]);
}

int main()
{
    unsigned m[THREADS], expected[THREADS], *device_m, *device_o;
    CHECK_EQ_INT(cudaMalloc((void **)&device_m, sizeof m), cudaSuccess);
    CHECK_EQ_INT(cudaMalloc((void **)&device_o, sizeof m), cudaSuccess);
    for (int round = 0; round < 20; round++) {
        for (int t = 0; t < THREADS; t++)
            m[t] = rand() >> 4 & 0xffff;
        CHECK_EQ_INT(cudaMemcpy(device_m, m, sizeof m, cudaMemcpyHostToDevice), cudaSuccess);
        on_host(m, expected, 2, 1);
        check_kernel(in_pairs, m, expected, device_m, device_o);
        check_kernel(by_barrier, m, expected, device_m, device_o);
        on_host(m, expected, 3, 4);
        check_kernel(in_sets, m, expected, device_m, device_o);
        on_host(m, expected, 2, 0);
        check_kernel(after_exits, m, expected, device_m, device_o);
        for (int t = 0; t < THREADS; t++)
            expected[t] = (t & 1) != 0 ? 0 : m[t ^ 1];
        check_kernel(exits_before_barrier<true>, m, expected, device_m, device_o);
        for (int t = 0; t < THREADS; t++)
            expected[t] = (t & 1) == 0 ? 0 : m[t ^ 1];
        check_kernel(exits_before_barrier<false>, m, expected, device_m, device_o);
    }
    return check_done();
}
