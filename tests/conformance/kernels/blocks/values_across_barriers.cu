/* K2: what threads have before a barrier they have after it: values that follow from others in one
 * step, with others that change meanwhile or not; sums after butterflies of shuffles in any order,
 * which some lanes share; and what one state space holds is not what another is written. */
#include <cstdio>
#include <vector>

#include "check.h"

enum { THREADS = 128, ROUNDS = 5 };

/* Differences made before barriers and read after them, while what they were made of goes on. */
__global__ void steps(const int *in, int *out)
{
    __shared__ int part[THREADS];
    int t = threadIdx.x, v = in[t], sum = 0;
    for (int round = 0; round < ROUNDS; round++) {
        int less = v - round, twice = v * 2, bits = v ^ 0x55;
        part[t] = less;
        __syncthreads();
        sum += less + part[(t + 1) % THREADS];
        v = v * 5 + 1; /* `less` and the others are of the old one */
        __syncthreads();
        part[t] = twice ^ v;
        __syncthreads();
        sum = sum * 3 + less + bits + part[(t + 7) % THREADS];
        __syncthreads();
    }
    out[t] = sum + v;
}

/* Sums of partners whose lanes differ in the bits of `mask`, from the lowest bit on or from the
 * highest; every thread reads its own after the barrier. */
template <int MASK, bool UP> static __device__ int butterfly(int v)
{
#pragma unroll
    for (int n = 0; n < 5; n++) {
        int bit = UP ? 1 << n : 16 >> n;
        if (MASK & bit)
            v += __shfl_xor_sync(0xffffffff, v, bit);
    }
    return v;
}

template <int MASK, bool UP> __global__ void sums(const int *in, int *out)
{
    __shared__ int part[THREADS];
    int t = threadIdx.x, v = butterfly<MASK, UP>(in[t]);
    int most = max(v, __shfl_xor_sync(0xffffffff, v, 1)), last = v * 3 - most;
    part[t] = v;
    __syncthreads();
    int other = part[t ^ 33];
    __syncthreads();
    out[t] = v * 7 + most * 5 + last * 2 + other;
}

template <int MASK, bool UP>
static void check_sums(const std::vector<int> &in, const int *from, int *to)
{
    sums<MASK, UP><<<1, THREADS>>>(from, to);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    int v[THREADS] = {};
    for (int t = 0; t < THREADS; t++)
        for (int l = 0; l < 32; l++)
            if (((l ^ t) & 31 & ~MASK) == 0)
                v[t] += in[t / 32 * 32 + l];
    int wrong = 0;
    for (int t = 0; t < THREADS; t++) {
        int most = v[t] > v[t ^ 1] ? v[t] : v[t ^ 1];
        wrong += to[t] != v[t] * 7 + most * 5 + (v[t] * 3 - most) * 2 + v[t ^ 33];
    }
    CHECK_EQ_INT(wrong, 0);
}

/* Shared memory read by its name, written by name and by generic pointers, between writes to global
 * memory and to local arrays. */
__global__ void spaces(int *out, int *where, int n)
{
    __shared__ int box[4];
    int own[4] = {1, 2, 3, 4};
    int *generic = n > 0 ? &box[n] : where;
    if (threadIdx.x == 0)
        box[n] = 5;
    __syncthreads();
    int sum = box[1];
    if (threadIdx.x == 0)
        *generic = 6; /* box[1], which only this thread knows */
    where[threadIdx.x] = 9;
    own[n] = box[1];
    __syncthreads();
    sum = sum * 10 + box[1];
    if (threadIdx.x == 1)
        own[n + 1] = where[threadIdx.x];
    int *mine = n > 1 ? where : own;
    mine[n] += 3;
    out[threadIdx.x] = sum * 100 + own[n] * 10 + own[n + 1];
}

int main()
{
    std::vector<int> in(THREADS);
    unsigned seed = 1;
    for (int &v : in)
        v = (int)((seed = seed * 1664525 + 1013904223) >> 16) % 1000 - 500;
    int *from, *to, *where;
    CHECK(cudaMallocManaged(&from, THREADS * sizeof(int)) == cudaSuccess);
    CHECK(cudaMallocManaged(&to, THREADS * sizeof(int)) == cudaSuccess);
    CHECK(cudaMallocManaged(&where, THREADS * sizeof(int)) == cudaSuccess);
    for (int t = 0; t < THREADS; t++)
        from[t] = in[t];

    steps<<<1, THREADS>>>(from, to);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    std::vector<unsigned> v(in.begin(), in.end()), sum(THREADS, 0);
    for (int round = 0; round < ROUNDS; round++) {
        std::vector<unsigned> old = v;
        for (int t = 0; t < THREADS; t++)
            sum[t] += old[t] - round + old[(t + 1) % THREADS] - round;
        for (int t = 0; t < THREADS; t++)
            v[t] = v[t] * 5 + 1;
        for (int t = 0; t < THREADS; t++) {
            int o = (t + 7) % THREADS;
            sum[t] = sum[t] * 3 + (old[t] - round) + (old[t] ^ 0x55) + ((old[o] * 2) ^ v[o]);
        }
    }
    int wrong = 0;
    for (int t = 0; t < THREADS; t++)
        wrong += (unsigned)to[t] != sum[t] + v[t];
    CHECK_EQ_INT(wrong, 0);

    check_sums<31, false>(in, from, to);
    check_sums<31, true>(in, from, to);
    check_sums<30, false>(in, from, to);
    check_sums<15, true>(in, from, to);
    check_sums<20, false>(in, from, to);
    check_sums<2, true>(in, from, to);

    spaces<<<1, 2>>>(to, where, 1);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    CHECK_EQ_INT(to[0], 56 * 100 + (6 + 3) * 10 + 3);
    return check_done();
}
