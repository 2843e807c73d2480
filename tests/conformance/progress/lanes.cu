// RUN workers-1: WEIR_WORKERS=1
// RUN workers-2: WEIR_WORKERS=2
/* S8: forward progress of the lanes of one warp: a lane may wait for another one that has left the
 * loop already, or has not come to it: locks taken by every thread, tickets, hand-over from lane to
 * lane. GPUs promise this since they schedule threads independently (compute capability 7.0). */
#include <cstring>

#include "check.h"

#define OK(call) CHECK_STR(cudaGetErrorName(call), "cudaSuccess")

/* Each thread waits for the one after it: the last one goes first. */
__global__ void chain(volatile int *flag)
{
    int i = threadIdx.x;
    if (i + 1 < (int)blockDim.x)
        while (flag[i + 1] == 0)
            ;
    __threadfence();
    flag[i] = 1;
}

/* A lock taken the simple way, by all threads. */
__global__ void lock(int *mutex, volatile int *sum, int rounds)
{
    for (int k = 0; k < rounds; k++) {
        while (atomicCAS(mutex, 0, 1) != 0)
            ;
        __threadfence();
        *sum = *sum + (int)threadIdx.x;
        __threadfence();
        atomicExch(mutex, 0);
    }
}

/* Who spins has the critical section after the loop, and a barrier after that. */
__global__ void ticket(unsigned *next, volatile unsigned *serving, volatile int *value, int *wrong)
{
    unsigned mine = atomicAdd(next, 1);
    while (*serving != mine)
        ;
    __threadfence();
    *value = *value * 3 % 1000003 + 1;
    __threadfence();
    *serving = mine + 1;
    __syncthreads();
    /* All of the block have been served, and the warp is together again. */
    if (*serving < blockDim.x)
        atomicAdd(wrong, 1);
    if (__ballot_sync(0xffffffff, 1) != 0xffffffff)
        atomicAdd(wrong, 1);
    if (__shfl_sync(0xffffffff, (int)threadIdx.x, 31) % 32 != 31)
        atomicAdd(wrong, 1);
}

/* Neighbours in a warp hand numbers to each other. */
__global__ void hand_over(volatile int *slots, int *sums, int n)
{
    volatile int *slot = slots + threadIdx.x / 2;
    int sum = 0;
    for (int k = 1; k <= n; k++) {
        if (threadIdx.x % 2 == 0) {
            while (*slot != 0)
                ;
            *slot = k;
        } else {
            int v;
            while ((v = *slot) == 0)
                ;
            sum += v;
            *slot = 0;
        }
    }
    if (threadIdx.x % 2 == 1)
        sums[threadIdx.x / 2] = sum;
}

int main()
{
    enum { BYTES = 4096 * 4 };
    int *p, *q;
    OK(cudaMallocManaged(&p, BYTES));
    OK(cudaMallocManaged(&q, BYTES));
    for (int threads : {2, 32, 256, 1000}) {
        memset(p, 0, BYTES);
        chain<<<1, threads>>>(p);
        OK(cudaDeviceSynchronize());
        CHECK_EQ_INT(p[0], 1);
    }
    for (int threads : {1, 32, 100})
        for (int blocks : {1, 5}) {
            memset(p, 0, BYTES);
            lock<<<blocks, threads>>>(p, p + 1, 3);
            OK(cudaDeviceSynchronize());
            CHECK_EQ_INT(p[1], 3 * blocks * threads * (threads - 1) / 2);
        }
    memset(p, 0, BYTES);
    ticket<<<4, 64>>>((unsigned *)p, (unsigned *)p + 1, p + 2, p + 3);
    OK(cudaDeviceSynchronize());
    long long value = 0;
    for (int i = 0; i < 4 * 64; i++)
        value = value * 3 % 1000003 + 1;
    CHECK_EQ_INT(p[2], value);
    CHECK_EQ_INT(p[3], 0);
    memset(p, 0, BYTES);
    hand_over<<<1, 64>>>(p, q, 20);
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < 32; i++)
        CHECK_EQ_INT(q[i], 20 * 21 / 2);
    OK(cudaFree(p));
    OK(cudaFree(q));
    return check_done();
}
