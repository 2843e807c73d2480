// A hash table with open addressing: threads claim places by compare-and-swap, others look up.
#include "harness.h"

enum { EMPTY = 0 };

static __device__ unsigned mixed(unsigned k)
{
    k ^= k >> 16;
    k *= 0x85ebca6bu;
    k ^= k >> 13;
    k *= 0xc2b2ae35u;
    return k ^ k >> 16;
}

template <unsigned MASK>
__global__ void hash_insert(const int *keys, int *table, int *counts, int n, int slots)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    int key = keys[i];
    unsigned mask = MASK ? MASK : slots - 1;
    for (unsigned at = mixed(key) & mask;; at = (at + 1) & mask) {
        int was = atomicCAS(&table[at], EMPTY, key);
        if (was == EMPTY || was == key) {
            atomicAdd(&counts[0], was == EMPTY);
            return;
        }
    }
}
// Looks before it claims.
static __global__ void hash_insert_look(const int *keys, int *table, int *counts, int n, int slots)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    int key = keys[i];
    unsigned at = mixed(key) & (slots - 1);
    for (;;) {
        int there = *(volatile int *)&table[at];
        if (there == EMPTY)
            there = atomicCAS(&table[at], EMPTY, key);
        if (there == EMPTY)
            atomicAdd(&counts[0], 1);
        if (there == EMPTY || there == key)
            return;
        at = (at + 1) & (slots - 1);
    }
}
BENCH_SPELLING(hash_insert, 0, hash_insert<0>);
BENCH_SPELLING(hash_insert, 1, hash_insert<(1 << 21) - 1>);
BENCH_SPELLING(hash_insert, 2, hash_insert_look);

template <class I>
__global__ void hash_lookup(const int *keys, const int *table, const int *values, int *out, I n,
                            I slots)
{
    I i = blockIdx.x * (I)blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    int key = keys[i], found = -1;
    for (I at = mixed(key) & (slots - 1); table[at] != EMPTY; at = (at + 1) & (slots - 1))
        if (table[at] == key) {
            found = values[at];
            break;
        }
    out[i] = found;
}
static __global__ void hash_lookup_stride(const int *__restrict__ keys,
                                          const int *__restrict__ table,
                                          const int *__restrict__ values, int *__restrict__ out,
                                          int n, int slots)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        int key = keys[i], found = -1, at = mixed(key) & (slots - 1), there;
        while ((there = table[at]) != key && there != EMPTY)
            at = (at + 1) & (slots - 1);
        if (there == key)
            found = values[at];
        out[i] = found;
    }
}
BENCH_SPELLING(hash_lookup, 0, hash_lookup<int>);
BENCH_SPELLING(hash_lookup, 1, hash_lookup<long long>);
BENCH_SPELLING(hash_lookup, 2, hash_lookup_stride);
