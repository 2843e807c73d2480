// Breadth-first search, level by level: every vertex of the last level looks at its neighbours.
#include "harness.h"

extern "C" __global__ void bfs_start(int *level) { level[0] = 1; }

extern "C" __global__ void bfs(const int *start, const int *neighbour, int *level, int now,
                               int vertices)
{
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= vertices || level[v] != now)
        return;
    for (int i = start[v]; i < start[v + 1]; i++)
        if (level[neighbour[i]] == 0)
            level[neighbour[i]] = now + 1;
}

BENCH_KERNEL(bfs_start);
BENCH_KERNEL(bfs);
