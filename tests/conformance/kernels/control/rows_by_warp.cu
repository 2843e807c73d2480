/* K2: rows of every length, each read by a warp whose lanes go on by 32: few of them are active at
 * the end, or from the start. Places read are anywhere, or neighbours after all; indices count up
 * or down, with and without a sign, in 32 and 64 bits, near the ends of their types, too. */
#include <climits>
#include <cstdio>
#include <cstring>
#include <vector>

#include "check.h"

#define BOTH __host__ __device__

enum { ROWS = 80, PLACES = 1000, WAYS = 6 };

struct data {
    int link[PLACES + 64], value[PLACES];
    float weight[PLACES];
    double precise[PLACES];
    long long wide[PLACES];
    short small[PLACES];
};

/* What one lane finds in a row of `length` places from `first` on, counted the way that `way` says.
 */
BOTH static long long lane_sum(const data *d, int way, int first, int length, int lane, int far)
{
    long long sum = 0;
    float weight = 0;
    double precise = 0;
    unsigned base = (unsigned)far ^ 0x80000000u;
    switch (way) {
    case 0:
        for (int i = first + lane; i < first + length; i += 32)
            weight += d->weight[d->link[i]];
        break;
    case 1:
        for (int i = first + length - 1 - lane; i >= first; i -= 32)
            sum = sum * 3 + d->wide[d->link[i]];
        break;
    case 2: /* the index is `base` less */
        for (unsigned i = base + lane; i < base + length; i += 32)
            sum = sum * 5 + d->small[d->link[i - base + first]];
        break;
    case 3:
        for (int i = far + lane; i <= far + length - 1; i += 32)
            precise += d->precise[d->link[i - far + first]];
        break;
    case 4:
        for (long long i = (1ll << 40) + length - lane; i > 1ll << 40; i -= 32)
            sum = sum * 7 + d->value[d->link[first + (int)(i - (1ll << 40)) - 1]];
        break;
    default: /* some lanes only, and a second look */
        for (int i = first + lane; i < first + length; i += 32)
            if (d->link[i] & 1)
                sum += d->value[d->link[i]] * 2ll + d->value[d->link[d->link[i] % PLACES]];
    }
    return sum + (long long)(weight * 16) + (long long)(precise * 4);
}

/* A block for each row, a warp for each way. */
__global__ void sums(const data *d, long long *out, int far)
{
    int lane = threadIdx.x % 32, way = threadIdx.x / 32, length = blockIdx.x;
    long long sum = 0;
    /* each its own code, which a warp goes through together */
    if (way == 0)
        sum = lane_sum(d, 0, 3, length, lane, far);
    else if (way == 1)
        sum = lane_sum(d, 1, 3, length, lane, far);
    else if (way == 2)
        sum = lane_sum(d, 2, 3, length, lane, far);
    else if (way == 3)
        sum = lane_sum(d, 3, 3, length, lane, far);
    else if (way == 4)
        sum = lane_sum(d, 4, 3, length, lane, far);
    else
        sum = lane_sum(d, 5, 3, length, lane, far);
    for (int distance = 16; distance > 0; distance /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, distance);
    if (lane == 0)
        out[length * WAYS + way] = sum;
}

static void check(data *d, long long *out, int far)
{
    memset(out, 0xff, ROWS * WAYS * sizeof *out);
    sums<<<ROWS, WAYS * 32>>>(d, out, far);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    int wrong = 0;
    for (int length = 0; length < ROWS; length++)
        for (int way = 0; way < WAYS; way++) {
            long long sum = 0;
            for (int lane = 0; lane < 32; lane++)
                sum += lane_sum(d, way, 3, length, lane, far);
            if (sum != out[length * WAYS + way] && wrong++ == 0)
                printf("far %d, way %d, length %d: %lld for %lld\n", far, way, length,
                       out[length * WAYS + way], sum);
        }
    CHECK_EQ_INT(wrong, 0);
}

int main()
{
    data *d;
    long long *out;
    CHECK(cudaMallocManaged(&d, sizeof *d) == cudaSuccess);
    CHECK(cudaMallocManaged(&out, ROWS * WAYS * sizeof *out) == cudaSuccess);
    unsigned state = 7;
    for (int i = 0; i < PLACES; i++) {
        state = state * 1664525u + 1013904223u;
        d->value[i] = (int)(state >> 16) - 30000;
        d->small[i] = (short)(state >> 9);
        d->weight[i] = (float)(state >> 24);
        d->precise[i] = (state >> 20) * 0.25;
        d->wide[i] = (long long)state * 12345;
    }
    /* anywhere; neighbours; neighbours but for a few */
    for (int kind = 0; kind < 3; kind++) {
        for (int i = 0; i < PLACES + 64; i++) {
            state = state * 1664525u + 1013904223u;
            bool scattered = kind == 0 || (kind == 2 && i % 11 == 5);
            d->link[i] = scattered ? (int)((state >> 8) % PLACES) : i % PLACES;
        }
        for (int far : {0, 100, INT_MAX - 200, INT_MIN + 5, -20})
            check(d, out, far);
    }
    return check_done();
}
