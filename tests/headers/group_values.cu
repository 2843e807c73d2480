/* K2.5, K2.6, headers: cooperative groups by value: what each operation gives in every thread,
 * against the host's arithmetic. Run on the software device; with SEVERAL_WARPS defined, the tiles
 * of more than one warp, which meet at named barriers, else everything else. */
#include <stdio.h>
#include <string.h>

#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

#include "check.h"

namespace cg = cooperative_groups;

enum { THREADS = 256, RESULTS = 24 };

static int value_of(int thread) { return thread * 37 % 101 - 20; }

template <typename Tile> __device__ void collect(Tile tile, int v, int *out)
{
    int r = tile.thread_rank(), n = 0;
    out[n++] = r;
    out[n++] = tile.size();
    out[n++] = tile.meta_group_rank();
    out[n++] = tile.meta_group_size();
    out[n++] = cg::reduce(tile, v, cg::plus<int>());
    out[n++] = cg::reduce(tile, v, cg::less<int>());
    out[n++] = cg::reduce(tile, v, cg::greater<int>());
    out[n++] = cg::reduce(tile, v, [](int a, int b) { return a ^ b; });
    out[n++] = cg::inclusive_scan(tile, v);
    out[n++] = cg::exclusive_scan(tile, v);
    out[n++] = cg::inclusive_scan(tile, v, cg::greater<int>());
    out[n++] = tile.shfl(v, tile.size() - 1);
    out[n++] = tile.any(v == 80);
    out[n++] = tile.all(v < 100);
    out[n++] = (int)cg::reduce(tile, (double)v, cg::plus<double>());
}
template <typename Tile> __device__ void collect_lanes(Tile tile, int v, int *out)
{
    collect(tile, v, out);
    out[15] = tile.ballot(v & 1);
    out[16] = tile.match_any(v & 3);
    int all;
    out[17] = tile.match_all(v & 3, all);
    out[18] = all;
    out[19] = tile.shfl_down(v, 1);
    out[20] = tile.shfl_up(v, 2);
}

template <unsigned Size> __global__ void tiles(const int *values, int *out)
{
    cg::thread_block block = cg::this_thread_block();
    int i = block.thread_rank();
    if constexpr (Size <= 32)
        collect_lanes(cg::tiled_partition<Size>(block), values[i], out + i * RESULTS);
    else
        collect(cg::tiled_partition<Size>(block), values[i], out + i * RESULTS);
}

static int *values, *out;

/* What the group of the `size` threads `members` must have given thread number `rank` of it. */
static void check_member(const int *members, int size, int rank, int meta_rank, int meta_size,
                         bool lanes)
{
    const int *r = out + members[rank] * RESULTS;
    int sum = 0, least = 1000, most = -1000, x = 0, before = 0, most_so_far = -1000, any = 0;
    unsigned odd = 0, match = 0, all = 1;
    for (int k = 0; k < size; k++) {
        int v = values[members[k]];
        sum += v;
        least = v < least ? v : least;
        most = v > most ? v : most;
        x ^= v;
        before += k < rank ? v : 0;
        most_so_far = k <= rank && v > most_so_far ? v : most_so_far;
        any |= v == 80;
        if (lanes) {
            odd |= (unsigned)(v & 1) << k;
            match |= (unsigned)((v & 3) == (values[members[rank]] & 3)) << k;
            all &= (v & 3) == (values[members[0]] & 3);
        }
    }
    int v = values[members[rank]];
    CHECK_EQ_INT(r[0], rank);
    CHECK_EQ_INT(r[1], size);
    CHECK_EQ_INT(r[2], meta_rank);
    CHECK_EQ_INT(r[3], meta_size);
    CHECK_EQ_INT(r[4], sum);
    CHECK_EQ_INT(r[5], least);
    CHECK_EQ_INT(r[6], most);
    CHECK_EQ_INT(r[7], x);
    CHECK_EQ_INT(r[8], before + v);
    CHECK_EQ_INT(r[9], before);
    CHECK_EQ_INT(r[10], most_so_far);
    CHECK_EQ_INT(r[11], values[members[size - 1]]);
    CHECK_EQ_INT(r[12], any);
    CHECK_EQ_INT(r[13], 1);
    CHECK_EQ_INT(r[14], sum);
    if (!lanes)
        return;
    CHECK_EQ_INT((unsigned)r[15], odd);
    CHECK_EQ_INT((unsigned)r[16], match);
    CHECK_EQ_INT((unsigned)r[17], all ? match : 0);
    CHECK_EQ_INT(r[18], all);
    CHECK_EQ_INT(r[19], rank + 1 < size ? values[members[rank + 1]] : v);
    CHECK_EQ_INT(r[20], rank >= 2 ? values[members[rank - 2]] : v);
}

template <unsigned Size> static void run_tiles(dim3 shape)
{
    const int size = (int)Size;
    memset(out, 0xee, THREADS * RESULTS * sizeof(int));
    tiles<Size><<<1, shape>>>(values, out);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    int members[THREADS];
    for (int first = 0; first < THREADS; first += size) {
        for (int k = 0; k < size; k++)
            members[k] = first + k;
        for (int k = 0; k < size; k++)
            check_member(members, size, k, first / size, THREADS / size, size <= 32);
    }
}
template <unsigned Size> static void run_tiles(void)
{
    run_tiles<Size>(dim3(THREADS));
    run_tiles<Size>(dim3(8, 4, 8));
}

#ifdef SEVERAL_WARPS

__global__ void many_tiles(int *sums)
{
    auto block = cg::this_thread_block();
    auto tile = cg::tiled_partition<64>(block);
    int total = 0;
    for (int round = 0; round < 5; round++) {
        total += cg::reduce(tile, (int)block.thread_rank() + round, cg::plus<int>());
        if (tile.meta_group_rank() % 2)
            tile.sync(); /* tiles go at their own speed */
    }
    block.sync();
    if (tile.thread_rank() == 0)
        sums[tile.meta_group_rank()] = total;
}
static void run_all(void)
{
    run_tiles<64>();
    run_tiles<128>();
    run_tiles<256>();
    int *sums;
    CHECK_EQ_INT(cudaMallocManaged(&sums, 64), cudaSuccess);
    many_tiles<<<1, 1024>>>(sums); /* sixteen: one more than there are named barriers for */
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    for (int t = 0; t < 16; t++)
        CHECK_EQ_INT(sums[t], 5 * (64 * (64 * t) + 63 * 32) + 64 * 10);
    cudaFree(sums);
}

#else

/* ---- groups by what threads do and hold ---- */

__global__ void coalesced(const int *values, int *out)
{
    int i = threadIdx.x, v = values[i];
    if (i % 3 == 0)
        collect_lanes(cg::coalesced_threads(), v, out + i * RESULTS);
}
__global__ void labelled(const int *values, int *out)
{
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    int i = threadIdx.x, v = values[i];
    collect_lanes(cg::labeled_partition(warp, i % 5), v, out + i * RESULTS);
}
__global__ void halved(const int *values, int *out)
{
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    int i = threadIdx.x, v = values[i];
    collect_lanes(cg::binary_partition(warp, i % 4 == 1), v, out + i * RESULTS);
}
__global__ void recoalesced(const int *values, int *out)
{
    int i = threadIdx.x, v = values[i];
    if (i % 32 < 20)
        collect_lanes(cg::tiled_partition(cg::coalesced_threads(), 8), v, out + i * RESULTS);
}

/* Group number of a thread within its warp by `kind`, -1: in none; and how many groups there are.
 */
static int group_of(int kind, int lane, int *groups)
{
    switch (kind) {
    case 0: *groups = 1; return lane; /* decided by the caller: every third thread of the block */
    case 1: *groups = 5; return lane;
    case 2: *groups = 2; return lane;
    default: *groups = 3; return lane < 20 ? lane / 8 : -1;
    }
}

static void run_lanes(int kind)
{
    memset(out, 0xee, THREADS * RESULTS * sizeof(int));
    switch (kind) {
    case 0: coalesced<<<1, THREADS>>>(values, out); break;
    case 1: labelled<<<1, THREADS>>>(values, out); break;
    case 2: halved<<<1, THREADS>>>(values, out); break;
    default: recoalesced<<<1, THREADS>>>(values, out); break;
    }
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    for (int warp = 0; warp < THREADS; warp += 32) {
        int key[32], order[32], groups, count = 0;
        for (int lane = 0; lane < 32; lane++) {
            int i = warp + lane;
            group_of(kind, lane, &groups);
            key[lane] = kind == 0   ? (i % 3 == 0 ? 0 : -1)
                        : kind == 1 ? i % 5
                        : kind == 2 ? (i % 4 == 1 ? 1 : 0)
                                    : group_of(kind, lane, &groups);
            /* labels are numbered in the order of their first threads */
            bool seen = key[lane] < 0;
            for (int k = 0; k < count; k++)
                seen = seen || order[k] == key[lane];
            if (!seen)
                order[count++] = key[lane];
        }
        for (int g = 0; g < count; g++) {
            int members[32], size = 0;
            for (int lane = 0; lane < 32; lane++)
                if (key[lane] == order[g])
                    members[size++] = warp + lane;
            int meta = kind == 1 ? g : order[g];
            for (int k = 0; k < size; k++)
                check_member(members, size, k, meta, groups, true);
        }
    }
}

/* ---- the grid, the block's copies ---- */

__global__ void whole_grid(int *cells, int rounds)
{
    cg::grid_group grid = cg::this_grid();
    int i = (int)grid.thread_rank(), n = (int)grid.size();
    for (int r = 0; r < rounds; r++) {
        int other = cells[(i + 1) % n];
        grid.sync();
        cells[i] = other + 1;
        grid.sync();
    }
}
static void run_grid(void)
{
    int n = 4 * 64, *cells, rounds = 10;
    CHECK_EQ_INT(cudaMallocManaged(&cells, n * sizeof(int)), cudaSuccess);
    for (int i = 0; i < n; i++)
        cells[i] = i;
    void *args[] = {&cells, &rounds};
    CHECK_EQ_INT(cudaLaunchCooperativeKernel((void *)whole_grid, 4, 64, args, 0, 0), cudaSuccess);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    for (int i = 0; i < n; i++)
        CHECK_EQ_INT(cells[i], (i + rounds) % n + rounds);
    cudaFree(cells);
}

__global__ void copies(const int *from, int *to, int bytes, int skew)
{
    extern __shared__ char buffer[];
    auto block = cg::this_thread_block();
    cg::memcpy_async(block, buffer + skew, (const char *)from + skew, (size_t)bytes);
    cg::wait(block);
    for (int i = block.thread_rank(); i < bytes; i += block.size())
        ((char *)to)[bytes - 1 - i] = buffer[skew + i];
}
static void run_copies(void)
{
    int *a, *b;
    CHECK_EQ_INT(cudaMallocManaged(&a, 4096), cudaSuccess);
    CHECK_EQ_INT(cudaMallocManaged(&b, 4096), cudaSuccess);
    for (int i = 0; i < 4096; i++)
        ((unsigned char *)a)[i] = (unsigned char)(i * 7);
    for (int bytes = 1; bytes < 2000; bytes = bytes * 3 + 1)
        for (int skew = 0; skew < 16; skew += 5) {
            copies<<<1, 96, 2100>>>(a, b, bytes, skew);
            CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
            int wrong = 0;
            for (int i = 0; i < bytes; i++)
                wrong += ((unsigned char *)b)[bytes - 1 - i] != (unsigned char)((skew + i) * 7);
            CHECK_EQ_INT(wrong, 0);
        }
    cudaFree(a);
    cudaFree(b);
}

static void run_all(void)
{
    run_tiles<1>();
    run_tiles<4>();
    run_tiles<16>();
    run_tiles<32>();
    for (int kind = 0; kind < 4; kind++)
        run_lanes(kind);
    run_grid();
    run_copies();
}

#endif

int main()
{
    CHECK_EQ_INT(cudaMallocManaged(&values, THREADS * sizeof(int)), cudaSuccess);
    CHECK_EQ_INT(cudaMallocManaged(&out, THREADS * RESULTS * sizeof(int)), cudaSuccess);
    for (int i = 0; i < THREADS; i++)
        values[i] = value_of(i);
    run_all();
    return check_done();
}
