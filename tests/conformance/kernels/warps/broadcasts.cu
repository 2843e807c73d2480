// K2: shuffles by which a warp learns what one of its lanes knows: rows that a lane takes from a
// queue, in loops that lanes go through at different speeds and leave at different times; from
// lanes that are not there; from lanes that a register names.
#include <algorithm>
#include <vector>

#include "check.h"

enum { ROWS = 300, WARPS = 8 };

// A warp a row. What comes after the row's number is different for each lane.
__global__ void take(int *next, const int *lengths, const int *values, unsigned *sums, int *ends)
{
    int lane = threadIdx.x % 32;
    for (;;) {
        int row = 0;
        if (lane == 0)
            row = atomicAdd(next, 1);
        row = __shfl_sync(~0u, row, 0);
        if (row >= ROWS)
            return;
        unsigned sum = 0;
        for (int i = lane; i < lengths[row]; i += 32)
            sum += values[row * 7 + i] ^ row;
        for (int distance = 16; distance > 0; distance /= 2)
            sum += __shfl_down_sync(~0u, sum, distance);
        if (lane == 0)
            sums[row] = sum;
        if (lane == row % 32)
            ends[row] = row * 3 + lane;
    }
}

// Lanes leave one after the other, the last one in turn says how far it got; those that are left
// read from one that may be gone, which gives 0.
__global__ void leave(unsigned *out)
{
    unsigned lane = threadIdx.x % 32, sum = 0;
    for (unsigned turn = 0; turn < 32; turn++) {
        unsigned there = ~0u << turn;
        unsigned from = __shfl_sync(there, lane * 100 + turn, 31);
        sum = sum * 3 + from;
        if (lane == turn)
            break;
    }
    out[threadIdx.x] = sum;
}

// Two values at once, from a lane that moves, whose number all lanes know; and by halves of the
// warp, which know two.
__global__ void named(const int *from, const long long *in, long long *out, unsigned *halves,
                      int count)
{
    unsigned t = threadIdx.x;
    long long mine = in[t], sum = 0;
    for (int k = 0; k < count; k++) {
        long long v = __shfl_sync(~0u, mine, from[k]);
        sum += v * (k + 1);
        mine += v ^ (long long)t;
    }
    out[t] = sum;
    halves[t] = __shfl_sync(~0u, t * 5, from[0], 16) + 1000 * __shfl_sync(~0u, t, from[1], 8);
}

// A branch that only some lanes take has a broadcast of its own.
__global__ void parts(unsigned *out)
{
    unsigned t = threadIdx.x, lane = t % 32, v = t * 7;
    if (lane >= 20)
        v += __shfl_sync(0xfff00000u, v, 25);
    else
        v -= __shfl_sync(0x000fffffu, v, 3);
    out[t] = v;
}

static void check_take()
{
    std::vector<int> lengths(ROWS), values(ROWS * 7 + 200);
    for (int r = 0; r < ROWS; r++)
        lengths[r] = r * 37 % 193;
    for (size_t i = 0; i < values.size(); i++)
        values[i] = (int)(i * 2654435761u >> 7);
    int *next, *l, *v, *ends;
    unsigned *sums;
    CHECK_EQ_INT(cudaMallocManaged(&next, 4), cudaSuccess);
    CHECK_EQ_INT(cudaMallocManaged(&l, ROWS * 4), cudaSuccess);
    CHECK_EQ_INT(cudaMallocManaged(&v, values.size() * 4), cudaSuccess);
    CHECK_EQ_INT(cudaMallocManaged(&sums, ROWS * 4), cudaSuccess);
    CHECK_EQ_INT(cudaMallocManaged(&ends, ROWS * 4), cudaSuccess);
    *next = 0;
    std::copy(lengths.begin(), lengths.end(), l);
    std::copy(values.begin(), values.end(), v);
    take<<<3, 32 * WARPS>>>(next, l, v, sums, ends);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    for (int r = 0; r < ROWS; r++) {
        unsigned sum = 0;
        for (int i = 0; i < lengths[r]; i++)
            sum += values[r * 7 + i] ^ r;
        CHECK(sums[r] == sum && ends[r] == r * 3 + r % 32);
    }
    CHECK(*next == ROWS + 3 * WARPS);
    for (void *p : {(void *)next, (void *)l, (void *)v, (void *)sums, (void *)ends})
        CHECK_EQ_INT(cudaFree(p), cudaSuccess);
}

static void check_leave()
{
    unsigned *out;
    CHECK_EQ_INT(cudaMallocManaged(&out, 64 * 4), cudaSuccess);
    leave<<<1, 64>>>(out);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    for (unsigned t = 0; t < 64; t++) {
        unsigned sum = 0;
        for (unsigned turn = 0; turn <= t % 32; turn++)
            sum = sum * 3 + 3100 + turn;
        CHECK(out[t] == sum);
    }
    CHECK_EQ_INT(cudaFree(out), cudaSuccess);
}

static void check_named()
{
    enum { COUNT = 12 };
    int *from;
    long long *in, *out;
    unsigned *halves;
    CHECK_EQ_INT(cudaMallocManaged(&from, COUNT * 4), cudaSuccess);
    CHECK_EQ_INT(cudaMallocManaged(&in, 64 * 8), cudaSuccess);
    CHECK_EQ_INT(cudaMallocManaged(&out, 64 * 8), cudaSuccess);
    CHECK_EQ_INT(cudaMallocManaged(&halves, 64 * 4), cudaSuccess);
    for (int k = 0; k < COUNT; k++)
        from[k] = k * 13 % 41; // some beyond 31: the number modulo 32 counts
    for (int t = 0; t < 64; t++)
        in[t] = t * 0x123456789abLL;
    named<<<1, 64>>>(from, in, out, halves, COUNT);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    for (int w = 0; w < 64; w += 32) {
        long long mine[32], sum[32] = {0};
        std::copy(in + w, in + w + 32, mine);
        for (int k = 0; k < COUNT; k++) {
            long long v = mine[from[k] % 32];
            for (int l = 0; l < 32; l++) {
                sum[l] += v * (k + 1);
                mine[l] += v ^ (long long)(w + l);
            }
        }
        for (int l = 0; l < 32; l++) {
            unsigned a = w + l / 16 * 16 + from[0] % 16, b = w + l / 8 * 8 + from[1] % 8;
            CHECK(out[w + l] == sum[l] && halves[w + l] == a * 5 + 1000 * b);
        }
    }
    for (void *p : {(void *)from, (void *)in, (void *)out, (void *)halves})
        CHECK_EQ_INT(cudaFree(p), cudaSuccess);
}

static void check_parts()
{
    unsigned *out;
    CHECK_EQ_INT(cudaMallocManaged(&out, 96 * 4), cudaSuccess);
    parts<<<1, 96>>>(out);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    for (unsigned t = 0; t < 96; t++) {
        unsigned w = t / 32 * 32;
        CHECK(out[t] == (t % 32 >= 20 ? t * 7 + (w + 25) * 7 : t * 7 - (w + 3) * 7));
    }
    CHECK_EQ_INT(cudaFree(out), cudaSuccess);
}

int main()
{
    check_take();
    check_leave();
    check_named();
    check_parts();
    return check_done();
}
