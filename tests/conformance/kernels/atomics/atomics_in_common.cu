/* K2: atomics by lanes that have addresses in common, whose old values nobody reads: all lanes at
 * one, runs of lanes, pairs, a few places at random, each lane at its own; whole warps and parts.
 */
#include <cstdint>
#include <vector>

#include "check.h"

enum { THREADS = 4096, PLACES = 4096 };

struct cell {
    unsigned sum, least, most, all, any, odd, round, down;
    int low, high;
    unsigned long long sum64, most64;
    long long low64;
    float single;
    double twice;
};

#define BOTH __host__ __device__ static inline

enum way { ALL, RUNS, PAIRS, FEW, SOME, OWN, BLOCKED, WAYS };

BOTH int place(int way, unsigned t)
{
    unsigned r = t * 2654435761u >> 8;
    switch (way) {
    case ALL: return 5;
    case RUNS: return (int)(t / 8);
    case PAIRS: return (int)(t % 16 + t / 32 * 32);
    case FEW: return (int)(r % 16);
    case SOME: return (int)(r % 300);
    case OWN: return (int)(t ^ 21);
    default: return (int)(t / 64);
    }
}

/* Who takes part: all, or some, who are different ones in each warp. */
BOTH bool takes_part(int part, unsigned t)
{
    return part == 0 || (part == 1 ? (t * 40503u >> 3) % 3 != 0 : t % 41 == 7);
}

BOTH unsigned value(unsigned t) { return t * 747796405u + 2891336453u; }

__global__ void update(cell *cells, int way, int part)
{
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x, v = value(t);
    if (!takes_part(part, t))
        return;
    cell *c = &cells[place(way, t)];
    atomicAdd(&c->sum, v);
    atomicMin(&c->least, v);
    atomicMax(&c->most, v);
    atomicAnd(&c->all, v | 0xffff0000u);
    atomicOr(&c->any, v & 0x3333u);
    atomicXor(&c->odd, v);
    atomicInc(&c->round, 6);
    atomicDec(&c->down, 9);
    atomicMin(&c->low, (int)v);
    atomicMax(&c->high, (int)v);
    atomicAdd(&c->sum64, (unsigned long long)v << 20);
    atomicMax(&c->most64, (unsigned long long)v << 9);
    atomicMin(&c->low64, -(long long)v);
    atomicAdd(&c->single, (float)(v >> 28));
    atomicAdd(&c->twice, (double)(v >> 24));
}

/* All at one address, and the operand is the same: whole warps, parts, and one lane of each. */
__global__ void update_same(cell *c, int part, unsigned v)
{
    __shared__ unsigned sum, least, odd;
    if (threadIdx.x == 0)
        sum = 0, least = ~0u, odd = 0;
    __syncthreads();
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    if (part == 3 ? threadIdx.x % 32 == 0 : takes_part(part, t)) {
        atomicAdd(&sum, v);
        atomicMin(&least, v);
        atomicXor(&odd, v);
        atomicMin(&c->least, v);
        atomicMax(&c->most, v);
        atomicAnd(&c->all, v | 0xffff0000u);
        atomicOr(&c->any, v & 0x3333u);
        atomicXor(&c->odd, v);
        atomicMin(&c->low, (int)v);
        atomicMax(&c->most64, (unsigned long long)v << 9);
        atomicAdd(&c->sum64, (unsigned long long)v << 20);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd(&c->sum, sum);
        atomicMin(&c->round, least);
        atomicXor(&c->down, odd);
    }
}
/* The same sums where a kernel has nothing else: they may be collected. */
__global__ void add_same(cell *c, int part, unsigned v)
{
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    if (part == 3 ? threadIdx.x % 32 == 0 : takes_part(part, t))
        atomicAdd(&c->sum, v);
}

static void update_host(cell *c, unsigned v)
{
    c->sum += v;
    c->least = v < c->least ? v : c->least;
    c->most = v > c->most ? v : c->most;
    c->all &= v | 0xffff0000u;
    c->any |= v & 0x3333u;
    c->odd ^= v;
    c->round = c->round >= 6 ? 0 : c->round + 1;
    c->down = c->down == 0 || c->down > 9 ? 9 : c->down - 1;
    c->low = (int)v < c->low ? (int)v : c->low;
    c->high = (int)v > c->high ? (int)v : c->high;
    c->sum64 += (unsigned long long)v << 20;
    unsigned long long most64 = (unsigned long long)v << 9;
    c->most64 = most64 > c->most64 ? most64 : c->most64;
    c->low64 = -(long long)v < c->low64 ? -(long long)v : c->low64;
    c->single += (float)(v >> 28);
    c->twice += (double)(v >> 24);
}

static bool same(const cell &a, const cell &b)
{
    return a.sum == b.sum && a.least == b.least && a.most == b.most && a.all == b.all &&
           a.any == b.any && a.odd == b.odd && a.round == b.round && a.down == b.down &&
           a.low == b.low && a.high == b.high && a.sum64 == b.sum64 && a.most64 == b.most64 &&
           a.low64 == b.low64 && a.single == b.single && a.twice == b.twice;
}

static void check_same(cell *c, const cell &start)
{
    for (int part = 0; part < 4; part++)
        for (unsigned v : {0x12345677u, 0x87654321u}) {
            cell want = start;
            want.round = ~0u;
            *c = want;
            for (unsigned t = 0; t < THREADS; t++) {
                if (!(part == 3 ? t % 32 == 0 : takes_part(part, t)))
                    continue;
                want.sum += 2 * v;
                want.least = want.round = v;
                want.most = v;
                want.all &= v | 0xffff0000u;
                want.any |= v & 0x3333u;
                want.odd ^= v;
                want.down ^= v;
                want.low = (int)v < want.low ? (int)v : want.low;
                want.most64 = (unsigned long long)v << 9;
                want.sum64 += (unsigned long long)v << 20;
            }
            update_same<<<THREADS / 128, 128>>>(c, part, v);
            add_same<<<THREADS / 128, 128>>>(c, part, v);
            CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
            CHECK(same(*c, want));
        }
}

int main()
{
    cell *cells, start = {};
    start.least = start.all = ~0u;
    start.low = INT32_MAX;
    start.high = INT32_MIN;
    CHECK_EQ_INT(cudaMallocManaged(&cells, PLACES * sizeof *cells), cudaSuccess);
    for (int way = 0; way < WAYS; way++)
        for (int part = 0; part < 3; part++) {
            std::vector<cell> want(PLACES, start);
            for (int n = 0; n < PLACES; n++)
                cells[n] = start;
            for (unsigned t = 0; t < THREADS; t++)
                if (takes_part(part, t))
                    update_host(&want[place(way, t)], value(t));
            update<<<THREADS / 128, 128>>>(cells, way, part);
            CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
            int wrong = 0;
            for (int n = 0; n < PLACES; n++)
                wrong += !same(cells[n], want[n]);
            if (wrong != 0)
                printf("way %d, part %d: %d places are wrong\n", way, part, wrong);
            CHECK_EQ_INT(wrong, 0);
        }
    check_same(cells, start);
    cudaFree(cells);
    return check_done();
}
