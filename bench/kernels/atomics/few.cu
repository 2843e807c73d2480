// Atomics that many threads aim at few places: counts by key in global memory, the least and the
// greatest by integer atomics, and a list that threads append to.
#include <cooperative_groups.h>

#include "harness.h"

template <class I> __global__ void count_few(const int *key, int *counts, I n)
{
    I i = blockIdx.x * (I)blockDim.x + threadIdx.x;
    if (i < n)
        atomicAdd(&counts[key[i] & 15], 1);
}
static __global__ void count_few_stride(const int *key, int *counts, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&counts[key[i] & 15], 1);
}
BENCH_SPELLING(count_few, 0, count_few<int>);
BENCH_SPELLING(count_few, 1, count_few_stride);
BENCH_SPELLING(count_few, 2, count_few<size_t>);

static __global__ void range_few(const int *value, int *range, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    atomicMin(&range[0], value[i]);
    atomicMax(&range[1], value[i]);
}
static __global__ void range_few_shared(const int *value, int *range, int n)
{
    __shared__ int low, high;
    if (threadIdx.x == 0)
        low = 0, high = 0;
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        atomicMin(&low, value[i]);
        atomicMax(&high, value[i]);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicMin(&range[0], low);
        atomicMax(&range[1], high);
    }
}
static __global__ void range_few_reduce(const int *value, int *range, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int low = __reduce_min_sync(~0u, i < n ? value[i] : 0);
    int high = __reduce_max_sync(~0u, i < n ? value[i] : 0);
    if (threadIdx.x % 32 == 0) {
        atomicMin(&range[0], low);
        atomicMax(&range[1], high);
    }
}
BENCH_KERNEL(range_few);
BENCH_SPELLING(range_few, 1, range_few_shared);
BENCH_SPELLING(range_few, 2, range_few_reduce);

// What is above a limit is appended; a warp takes its places by one atomic.
static __global__ void append_warp(const int *value, int *list, int *length, int n, int limit)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    bool wanted = i < n && value[i] >= limit;
    unsigned mask = __ballot_sync(~0u, wanted), lane = threadIdx.x % 32;
    int start = 0;
    if (lane == 0 && mask)
        start = atomicAdd(length, __popc(mask));
    start = __shfl_sync(~0u, start, 0);
    if (wanted)
        list[start + __popc(mask & ((1u << lane) - 1))] = value[i];
}
static __global__ void append_thread(const int *value, int *list, int *length, int n, int limit)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && value[i] >= limit)
        list[atomicAdd(length, 1)] = value[i];
}
static __global__ void append_group(const int *value, int *list, int *length, int n, int limit)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || value[i] < limit)
        return;
    auto group = cooperative_groups::coalesced_threads();
    int start = 0;
    if (group.thread_rank() == 0)
        start = atomicAdd(length, group.size());
    list[group.shfl(start, 0) + group.thread_rank()] = value[i];
}
BENCH_KERNEL(append_warp);
BENCH_SPELLING(append_warp, 1, append_thread);
BENCH_SPELLING(append_warp, 2, append_group);

// Sums of floats by keys with long runs, into a table that fits in the cache.
static __global__ void sum_keys(const int *key, const float *value, float *sums, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        atomicAdd(&sums[key[i]], value[i]);
}
static __global__ void sum_keys_four(const int4 *key, const float4 *value, float *sums, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n / 4)
        return;
    int4 k = key[i];
    float4 v = value[i];
    atomicAdd(&sums[k.x], v.x);
    atomicAdd(&sums[k.y], v.y);
    atomicAdd(&sums[k.z], v.z);
    atomicAdd(&sums[k.w], v.w);
}
static __global__ void sum_keys_stride(const int *key, const float *value, float *sums, size_t n)
{
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&sums[key[i]], value[i]);
}
BENCH_KERNEL(sum_keys);
BENCH_SPELLING(sum_keys, 1, sum_keys_four);
BENCH_SPELLING(sum_keys, 2, sum_keys_stride);
