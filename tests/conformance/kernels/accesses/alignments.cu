/* K2.25: variables in shared and local memory are aligned as they ask, to more than a line of a
 * cache, in local memory to more than a page, and in frames of functions that call themselves, too.
 * A GPU keeps no more than 1024 bytes in shared memory. */
// SANITIZERS: where the windows lie in a block's memory
#include "check.h"

#include <cstdint>

enum { THREADS = 96, BLOCKS = 3 };

template <int N> struct alignas(N) aligned {
    int value;
};

__device__ bool misaligned(const volatile void *p, uintptr_t n) { return (uintptr_t)p % n != 0; }

template <int N> __global__ void in_shared(int *bad)
{
    __shared__ char before[3];
    __shared__ aligned<N> s;
    before[threadIdx.x % 3] = 1;
    if (threadIdx.x == 0)
        s.value = 5;
    __syncthreads();
    if (misaligned(&s, N) || s.value != 5 || before[0] != 1)
        atomicAdd(bad, 1);
}

extern __shared__ __align__(1024) char dynamic[];

__global__ void in_dynamic_shared(int *bad, int bytes)
{
    dynamic[threadIdx.x % bytes] = 7;
    __syncthreads();
    if (misaligned(dynamic, 1024) || dynamic[0] != 7)
        atomicAdd(bad, 1);
}

template <int N> __global__ void in_local(int *bad, int *at)
{
    volatile char before[5];
    volatile aligned<N> v[2];
    before[threadIdx.x % 5] = 1;
    v[*at].value = (int)threadIdx.x;
    v[*at ^ 1].value = -1;
    if (misaligned(v, N) || v[*at].value != (int)threadIdx.x || before[threadIdx.x % 5] != 1)
        atomicAdd(bad, 1);
}

/* Not inlined, for it calls itself; frames of other sizes lie before its own. */
__device__ __noinline__ int descend(int depth, int *at, int *bad)
{
    volatile aligned<256> v[2];
    v[*at].value = depth;
    if (misaligned(v, 256))
        atomicAdd(bad, 1);
    int below = depth > 0 ? descend(depth - 1, at, bad) : 0;
    return below + v[*at].value;
}

__global__ void in_frames(int *bad, int *at)
{
    volatile char before[40];
    before[threadIdx.x % 40] = 2;
    int depth = (int)threadIdx.x % 5;
    if (descend(depth, at, bad) != depth * (depth + 1) / 2 || before[threadIdx.x % 40] != 2)
        atomicAdd(bad, 1);
}

static int *bad, *at;

static int found(void)
{
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    int n = *bad;
    *bad = 0;
    return n;
}

template <int N> static void both(void)
{
    in_shared<(N < 1024 ? N : 1024)><<<BLOCKS, THREADS>>>(bad);
    CHECK_EQ_INT(found(), 0);
    in_local<N><<<BLOCKS, THREADS>>>(bad, at);
    CHECK_EQ_INT(found(), 0);
}

int main()
{
    CHECK_EQ_INT(cudaMallocManaged(&bad, sizeof *bad), cudaSuccess);
    CHECK_EQ_INT(cudaMallocManaged(&at, sizeof *at), cudaSuccess);
    *bad = *at = 0;
    both<16>();
    both<256>();
    both<1024>();
    both<8192>();
    both<64>();
    for (int bytes = 100; bytes < 10000; bytes += 3000) {
        in_dynamic_shared<<<BLOCKS, THREADS, bytes>>>(bad, bytes);
        CHECK_EQ_INT(found(), 0);
    }
    CHECK_EQ_INT(cudaDeviceSetLimit(cudaLimitStackSize, 16384), cudaSuccess);
    in_frames<<<BLOCKS, THREADS>>>(bad, at);
    CHECK_EQ_INT(found(), 0);
    cudaFree(bad);
    cudaFree(at);
    return check_done();
}
