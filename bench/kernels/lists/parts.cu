// Lists that parts of warps go over (sums of rows, intersections of sorted lists), scatters by
// loops of compare-and-swap, walks whose paths are in shared memory.
#include <cooperative_groups.h>

#include "harness.h"

enum { PART = 8, STEPS = 16, WALKERS = 128 };

// Rows of a matrix in compressed rows, by PART lanes each.
static __global__ void row_parts(const int *start, const int *column, const float *value,
                                 const float *x, float *out, int n)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / PART, lane = threadIdx.x % PART;
    float sum = 0;
    if (row < n)
        for (int e = start[row] + lane; e < start[row + 1]; e += PART)
            sum += value[e] * x[column[e]];
    for (int distance = PART / 2; distance > 0; distance /= 2)
        sum += __shfl_down_sync(~0u, sum, distance, PART);
    if (row < n && lane == 0)
        out[row] = sum;
}
static __global__ void row_parts_tiles(const int *start, const int *column, const float *value,
                                       const float *x, float *out, int n)
{
    auto part = cooperative_groups::tiled_partition<PART>(cooperative_groups::this_thread_block());
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / PART;
    if (row >= n)
        return;
    float sum = 0;
    for (int e = start[row] + part.thread_rank(); e < start[row + 1]; e += PART)
        sum += value[e] * x[column[e]];
    for (int distance = PART / 2; distance > 0; distance /= 2)
        sum += part.shfl_down(sum, distance);
    if (part.thread_rank() == 0)
        out[row] = sum;
}
BENCH_KERNEL(row_parts);
BENCH_SPELLING(row_parts, 1, row_parts_tiles);

// How alike two sorted lists are: the lanes of a part look up the elements of one in the other.
template <int LANES> __global__ void intersect(const int *start, const int *item, float *out, int n)
{
    int p = (blockIdx.x * blockDim.x + threadIdx.x) / LANES, lane = threadIdx.x % LANES, common = 0;
    int a = min(p, n - 1), b = (int)((a * 7ll + 1) % n);
    for (int e = start[a] + lane; e < start[a + 1]; e += LANES) {
        int low = start[b], high = start[b + 1];
        while (low < high) {
            int middle = (low + high) / 2;
            if (item[middle] < item[e])
                low = middle + 1;
            else
                high = middle;
        }
        common += low < start[b + 1] && item[low] == item[e];
    }
    for (int distance = LANES / 2; distance > 0; distance /= 2)
        common += __shfl_down_sync(~0u, common, distance, LANES);
    if (p < n && lane == 0)
        out[p] = (float)common / (start[a + 1] - start[a] + start[b + 1] - start[b] - common);
}
BENCH_SPELLING(intersect, 0, intersect<PART>);
BENCH_SPELLING(intersect, 1, intersect<32>);
BENCH_SPELLING(intersect, 2, intersect<1>);

// Minimum, maximum and product of what is scattered to each place.
struct least {
    __device__ float operator()(float a, float b) const { return fminf(a, b); }
};
struct greatest {
    __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};
struct product {
    __device__ float operator()(float a, float b) const { return a * b; }
};
template <class Op> static __device__ void change(float *to, float value, Op op)
{
    int *word = (int *)to, seen = *word, before;
    do {
        before = seen;
        seen = atomicCAS(word, before, __float_as_int(op(value, __int_as_float(before))));
    } while (seen != before);
}
static __global__ void scatter_start(float *low, float *high, float *all, int places)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < places)
        low[i] = high[i] = all[i] = 1;
}
static __global__ void scatter_cas(const int *place, const float *value, float *low, float *high,
                                   float *all, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    int to = place[i];
    change(&low[to], value[i], least());
    change(&high[to], value[i], greatest());
    change(&all[to], value[i], product());
}
static __global__ void scatter_stride(const int *place, const float *value, float *low, float *high,
                                      float *all, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        change(&low[place[i]], value[i], least());
        change(&high[place[i]], value[i], greatest());
        change(&all[place[i]], value[i], product());
    }
}
BENCH_KERNEL(scatter_start);
BENCH_KERNEL(scatter_cas);
BENCH_SPELLING(scatter_cas, 2, scatter_stride);

// Walks that visit no vertex twice: the next neighbour of four that the path has not, from one
// chosen at random. The path of a thread is a column, or a row, in shared memory.
template <bool ROWS> __global__ void walks(const int *neighbour, int *out, int vertices)
{
    __shared__ int path[STEPS * WALKERS];
    int me = threadIdx.x, walker = blockIdx.x * WALKERS + me;
    int first = ROWS ? me * STEPS : me, step = ROWS ? 1 : WALKERS;
    unsigned state = walker * 2654435761u + 12345;
    int at = walker % vertices, length = 0, sum = 0;
    for (;;) {
        path[first + length++ * step] = at;
        sum = sum * 31 + at;
        if (length == STEPS)
            break;
        state = state * 1664525u + 1013904223u;
        int next = -1, way = state >> 30;
        for (int tried = 0; tried < 4 && next < 0; tried++) {
            int to = neighbour[at * 4 + (way + tried) % 4];
            bool visited = false;
            for (int k = 0; k < length; k++)
                visited |= path[first + k * step] == to;
            if (!visited)
                next = to;
        }
        if (next < 0)
            break;
        at = next;
    }
    out[walker] = sum;
}
BENCH_SPELLING(walks, 0, walks<false>);
BENCH_SPELLING(walks, 1, walks<true>);
