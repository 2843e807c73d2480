// Graphs in compressed rows: rank by pulling from neighbours, shortest paths by relaxing with
// atomics, components by the least label around.
#include "harness.h"

template <class I>
__global__ void rank_pull(const int *start, const int *neighbour, const float *share, float *out,
                          I n)
{
    I v = blockIdx.x * (I)blockDim.x + threadIdx.x;
    if (v >= n)
        return;
    float sum = 0;
    for (I e = start[v]; e < start[v + 1]; e++)
        sum += share[neighbour[e]];
    out[v] = (0.15f + 0.85f * sum) / (start[v + 1] - start[v]);
}
static __global__ void rank_pull_stride(const int *__restrict__ start,
                                        const int *__restrict__ neighbour,
                                        const float *__restrict__ share, float *__restrict__ out,
                                        int n)
{
    for (int v = blockIdx.x * blockDim.x + threadIdx.x; v < n; v += gridDim.x * blockDim.x) {
        int from = start[v], to = start[v + 1];
        float sum = 0;
        for (int e = from; e < to; e++)
            sum += share[neighbour[e]];
        out[v] = (0.15f + 0.85f * sum) / (to - from);
    }
}
BENCH_SPELLING(rank_pull, 0, rank_pull<int>);
BENCH_SPELLING(rank_pull, 1, rank_pull<long long>);
BENCH_SPELLING(rank_pull, 2, rank_pull_stride);

template <bool ASK>
__global__ void relax(const int *start, const int *neighbour, const int *weight, int *distance,
                      int n)
{
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= n)
        return;
    int mine = distance[v];
    if (mine == 0x7fffffff)
        return;
    for (int e = start[v]; e < start[v + 1]; e++) {
        int far = mine + weight[e];
        if (!ASK || far < distance[neighbour[e]])
            atomicMin(&distance[neighbour[e]], far);
    }
}
// A warp's lanes take the edges of a vertex together.
static __global__ void relax_warp(const int *start, const int *neighbour, const int *weight,
                                  int *distance, int n)
{
    int v = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (v >= n || distance[v] == 0x7fffffff)
        return;
    int mine = distance[v];
    for (int e = start[v] + threadIdx.x % 32; e < start[v + 1]; e += 32)
        if (mine + weight[e] < distance[neighbour[e]])
            atomicMin(&distance[neighbour[e]], mine + weight[e]);
}
BENCH_SPELLING(relax, 0, relax<true>);
BENCH_SPELLING(relax, 1, relax<false>);
BENCH_SPELLING(relax, 2, relax_warp);
