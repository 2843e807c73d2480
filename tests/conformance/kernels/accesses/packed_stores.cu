/* K2: some lanes of a warp store to elements that follow each other without gaps, as filters do,
 * and to ones that nearly do: backwards, with a gap, with two swapped. What lies beside them stays
 * as it is.
 */
#include <cstdint>

#include "check.h"

enum { CASES = 3000, WARP = 32, PLACES = 80, EMPTY = -7 };
enum way { PACKED, BACKWARDS, GAP, SWAPPED, WAYS };

struct warp {
    uint32_t mask; /* the lanes that store */
    int start, way, at;
};

__host__ __device__ static int place_of(const warp &w, int rank)
{
    switch (w.way) {
    case PACKED: return w.start + rank;
    case BACKWARDS: return w.start + WARP - rank;
    case GAP: return w.start + rank + (rank >= w.at);
    default: return w.start + (rank == w.at ? w.at + 1 : rank == w.at + 1 ? w.at : rank);
    }
}

/* Several warps a block, and the last one cut off. */
template <class T, class I> __global__ void store(const warp *w, const T *value, T *list, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = i % WARP;
    if (i >= n)
        return;
    warp mine = w[i / WARP];
    if ((mine.mask >> lane & 1) == 0)
        return;
    I to = place_of(mine, __popc(mine.mask & ((1u << lane) - 1))) + i / WARP * PLACES;
    list[to] = value[i];
}

static uint32_t state = 1;
static uint32_t next(uint32_t n)
{
    state = state * 1664525 + 1013904223;
    return (state >> 8) % n;
}

static void make(warp *w)
{
    for (int n = 0; n < CASES; n++) {
        uint32_t some = next(1 << 16) << 16 | next(1 << 16), more = next(1 << 16) * 65537;
        switch (n % 6) {
        case 0: w[n].mask = some; break;
        case 1: w[n].mask = some & more; break;
        case 2: w[n].mask = 1u << next(WARP); break;
        case 3: w[n].mask = n % 4 ? ~0u : 0; break;
        case 4: w[n].mask = some << next(WARP); break;
        default: w[n].mask = some >> next(WARP); break;
        }
        w[n].start = (int)next(PLACES - WARP - 8);
        w[n].way = next(2) ? PACKED : (int)next(WAYS);
        w[n].at = (int)next(12);
    }
}

template <class T, class I> static void check(const warp *w, int block, int n)
{
    T *value, *list;
    CHECK_EQ_INT(cudaMallocManaged(&value, CASES * WARP * sizeof *value), cudaSuccess);
    CHECK_EQ_INT(cudaMallocManaged(&list, CASES * PLACES * sizeof *list), cudaSuccess);
    for (int i = 0; i < CASES * WARP; i++)
        value[i] = (T)(i % 1000 + 1);
    for (int i = 0; i < CASES * PLACES; i++)
        list[i] = (T)EMPTY;
    store<T, I><<<(n + block - 1) / block, block>>>(w, value, list, n);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    int wrong = 0;
    for (int c = 0; c < CASES; c++) {
        T want[PLACES];
        for (int p = 0; p < PLACES; p++)
            want[p] = (T)EMPTY;
        for (int lane = 0, rank = 0; lane < WARP; lane++)
            if ((w[c].mask >> lane & 1) != 0) {
                int to = place_of(w[c], rank++);
                if (c * WARP + lane < n)
                    want[to] = value[c * WARP + lane];
            }
        for (int p = 0; p < PLACES; p++)
            wrong += list[c * PLACES + p] != want[p];
    }
    CHECK_EQ_INT(wrong, 0);
    cudaFree(value);
    cudaFree(list);
}

int main()
{
    warp *w;
    CHECK_EQ_INT(cudaMallocManaged(&w, CASES * sizeof *w), cudaSuccess);
    make(w);
    check<int, int>(w, 256, CASES * WARP);
    check<float, unsigned>(w, 96, CASES * WARP - 13);
    check<float, int>(w, 40, CASES * WARP - 100);
    check<int, size_t>(w, 128, CASES * WARP);
    check<short, int>(w, 256, CASES * WARP);
    check<double, int>(w, 64, CASES * WARP - 1);
    cudaFree(w);
    return check_done();
}
