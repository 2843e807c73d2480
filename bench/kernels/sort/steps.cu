// Steps of sorting: a radix pass (counts, places, scatter), merging of sorted runs by their
// diagonal, and odd-even merge sort of small rows in shared memory.
#include "harness.h"

enum { RADIX = 16, BLOCK = 256 };

// Counts of digits by block, one block's beside each other for a digit.
static __global__ void radix_count(const int *keys, int *counts, int n, int shift)
{
    __shared__ int mine[RADIX];
    if (threadIdx.x < RADIX)
        mine[threadIdx.x] = 0;
    __syncthreads();
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < n)
        atomicAdd(&mine[keys[i] >> shift & (RADIX - 1)], 1);
    __syncthreads();
    if (threadIdx.x < RADIX)
        counts[threadIdx.x * gridDim.x + blockIdx.x] = mine[threadIdx.x];
}
static __global__ void radix_count_match(const int *keys, int *counts, int n, int shift)
{
    __shared__ int mine[RADIX];
    if (threadIdx.x < RADIX)
        mine[threadIdx.x] = 0;
    __syncthreads();
    int i = blockIdx.x * BLOCK + threadIdx.x;
    int digit = i < n ? keys[i] >> shift & (RADIX - 1) : RADIX;
    unsigned same = __match_any_sync(~0u, digit);
    if (digit < RADIX && __ffs(same) - 1 == threadIdx.x % 32)
        atomicAdd(&mine[digit], __popc(same));
    __syncthreads();
    if (threadIdx.x < RADIX)
        counts[threadIdx.x * gridDim.x + blockIdx.x] = mine[threadIdx.x];
}
// One block makes of all counts where each begins.
static __global__ void radix_scan(int *counts, int total)
{
    __shared__ int part[BLOCK];
    int each = (total + BLOCK - 1) / BLOCK, from = threadIdx.x * each,
        to = min(from + each, total), sum = 0;
    for (int i = from; i < to; i++)
        sum += counts[i];
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int distance = 1; distance < BLOCK; distance *= 2) {
        int left = threadIdx.x >= distance ? part[threadIdx.x - distance] : 0;
        __syncthreads();
        part[threadIdx.x] += left;
        __syncthreads();
    }
    sum = part[threadIdx.x] - sum;
    for (int i = from; i < to; i++) {
        int here = counts[i];
        counts[i] = sum;
        sum += here;
    }
}
// A key's place: where its digit begins for the block, and how many of the digit are before it.
static __global__ void radix_scatter(const int *keys, int *out, const int *starts, int n, int shift)
{
    __shared__ int before[BLOCK / 32][RADIX];
    int i = blockIdx.x * BLOCK + threadIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int key = i < n ? keys[i] : 0, digit = i < n ? key >> shift & (RADIX - 1) : RADIX;
    unsigned same = 0;
    for (int d = 0; d < RADIX; d++) {
        unsigned mask = __ballot_sync(~0u, digit == d);
        if (digit == d)
            same = mask;
        if (lane == 0)
            before[warp][d] = __popc(mask);
    }
    __syncthreads();
    if (i >= n)
        return;
    int place = starts[digit * gridDim.x + blockIdx.x] + __popc(same & ((1u << lane) - 1));
    for (int w = 0; w < warp; w++)
        place += before[w][digit];
    out[place] = key;
}
static __global__ void radix_scatter_match(const int *keys, int *out, const int *starts, int n,
                                           int shift)
{
    __shared__ int before[RADIX + 1][BLOCK / 32];
    int i = blockIdx.x * BLOCK + threadIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int k = threadIdx.x; k < RADIX * BLOCK / 32; k += BLOCK)
        (&before[0][0])[k] = 0;
    __syncthreads();
    int key = i < n ? keys[i] : 0, digit = i < n ? key >> shift & (RADIX - 1) : RADIX;
    unsigned same = __match_any_sync(~0u, digit);
    int rank = __popc(same & ((1u << lane) - 1));
    if (rank == 0)
        before[digit][warp] = __popc(same);
    __syncthreads();
    if (i >= n)
        return;
    int place = starts[digit * gridDim.x + blockIdx.x] + rank;
    for (int w = 0; w < warp; w++)
        place += before[digit][w];
    out[place] = key;
}
BENCH_KERNEL(radix_count);
BENCH_KERNEL(radix_scan);
BENCH_KERNEL(radix_scatter);
BENCH_SPELLING(radix_count, 1, radix_count_match);
BENCH_SPELLING(radix_scatter, 1, radix_scatter_match);

// Pairs of sorted runs: a thread finds by bisection where its part begins in both, and merges EACH.
template <int EACH, int RUN>
__global__ void merge_runs(const int *in, int *out, int n, int run_given)
{
    int run = RUN ? RUN : run_given;
    int start = (blockIdx.x * blockDim.x + threadIdx.x) * EACH;
    if (start >= n)
        return;
    int base = start / (2 * run) * (2 * run), diagonal = start - base;
    const int *a = in + base, *b = a + run;
    int low = max(0, diagonal - run), high = min(diagonal, run);
    while (low < high) {
        int middle = (low + high) / 2;
        if (a[middle] <= b[diagonal - 1 - middle])
            low = middle + 1;
        else
            high = middle;
    }
    int i = low, j = diagonal - low;
    for (int k = 0; k < EACH; k++) {
        bool left = j >= run || (i < run && a[i] <= b[j]);
        out[start + k] = left ? a[i++] : b[j++];
    }
}
BENCH_SPELLING(merge_runs, 0, merge_runs<16, 0>);
BENCH_SPELLING(merge_runs, 1, merge_runs<16, 4096>);
BENCH_SPELLING(merge_runs, 2, merge_runs<64, 0>);

// Rows of ROW keys, odd-even merge sort.
template <int ROW, int THREADS> __global__ void sort_rows(const int *in, int *out)
{
    __shared__ int s[ROW];
    for (int k = threadIdx.x; k < ROW; k += THREADS)
        s[k] = in[blockIdx.x * ROW + k];
    for (int p = 1; p < ROW; p *= 2)
        for (int k = p; k > 0; k /= 2) {
            __syncthreads();
            for (int t = threadIdx.x; t < ROW; t += THREADS) {
                int from = k % p;
                if (t < from || t + k >= ROW || (t - from) / k % 2 != 0)
                    continue;
                if (t / (2 * p) != (t + k) / (2 * p))
                    continue;
                int a = s[t], b = s[t + k];
                s[t] = min(a, b);
                s[t + k] = max(a, b);
            }
        }
    __syncthreads();
    for (int k = threadIdx.x; k < ROW; k += THREADS)
        out[blockIdx.x * ROW + k] = s[k];
}
BENCH_SPELLING(sort_rows, 0, sort_rows<512, 256>);
BENCH_SPELLING(sort_rows, 1, sort_rows<512, 512>);
BENCH_SPELLING(sort_rows, 2, sort_rows<512, 128>);
