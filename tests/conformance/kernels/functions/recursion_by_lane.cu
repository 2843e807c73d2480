/* Functions that call themselves, by as few lanes and as many: such that one lane may run alone
 * (arguments of all sizes, memory of all kinds, loops) and such that it may not. The host runs the
 * same functions. */
#include <cstdlib>
#include <cstring>

#include "check.h"

#define BOTH __host__ __device__ __noinline__ static

enum { THREADS = 96, WORDS = 64 };

BOTH int ways(unsigned columns, unsigned left, unsigned right, unsigned all)
{
    if (columns == all)
        return 1;
    int n = 0;
    for (unsigned open = all & ~(columns | left | right); open; open &= open - 1) {
        unsigned bit = open & -open;
        n += ways(columns | bit, (left | bit) << 1, (right | bit) >> 1, all);
    }
    return n;
}

BOTH long long mixed(char a, short b, int c, long long d, float e, double f)
{
    if (b <= 0)
        return d + (long long)e - (long long)f + a * c;
    if ((a ^ b) & 1)
        return mixed(a + 7, b - 1, c * 3, d ^ c, e + 0.5f, f) * 3 + a;
    return mixed(a - 3, b - 2, c + 1, d << 1, e, f - 2.5) - b;
}

BOTH unsigned char bytes(unsigned char n) { return n < 3 ? n : bytes(n - 1) * 5 + bytes(n - 3); }

/* A loop without calls: for few lanes only does it run by lane. */
BOTH unsigned looped(const unsigned *words, unsigned at, int depth)
{
    unsigned sum = depth;
    for (unsigned i = 0; i <= at % 7; i++)
        sum = sum * 31 + words[(at + i) % WORDS];
    return depth == 0 ? sum : looped(words, sum, depth - 1) ^ looped(words, sum >> 3, depth / 2);
}

/* Local arrays of each level, and of the level above by their address. */
BOTH int arrays(int depth, int seed)
{
    int mine[6];
    for (int i = 0; i < 6; i++)
        mine[i] = seed * (i + 1) + depth;
    if (depth > 0)
        mine[seed & 3] += arrays(depth - 1, mine[(seed >> 1) & 3] & 1023);
    return mine[seed % 6] + mine[(seed & 3) + 2];
}

BOTH void above(int *out, int depth)
{
    int two[2] = {depth, depth * depth};
    if (depth > 0)
        above(two, depth - 1 - (depth & *out & 1));
    out[0] += two[0] * 3 + two[1];
    out[1] ^= two[1] + out[0];
}

BOTH void written(unsigned *words, unsigned at, int depth)
{
    words[at] += depth;
    if (depth == 0)
        return;
    written(words, (at * 5 + 1) % WORDS, depth - 1);
    if (words[at] & 1)
        written(words, (at + depth) % WORDS, depth / 3);
}

BOTH int odd(int n, int x);
BOTH int even(int n, int x) { return n <= 0 ? x : odd(n - 1 - (x & 1), x * 3 + 1); }
BOTH int odd(int n, int x) { return n <= 0 ? -x : even(n - 1, (x >> 1) + n); }

BOTH int cases(int n, int x)
{
    switch (n > 0 ? x & 7 : 9) {
    case 0: return cases(n - 1, x + 3) + 1;
    case 1: return cases(n - 2, x * 5) ^ 2;
    case 2: return cases(n - 1, x >> 1) - 3;
    case 3: return cases(n - 3, x + n) * 4;
    case 4: return cases(n - 1, ~x) + 5;
    case 5: return x;
    case 6: return cases(n - 1, x ^ 1) | 6;
    case 7: return cases(n - 2, x / 3) + cases(n - 4, x + 1);
    default: return n + x;
    }
}

struct pair {
    float a, b;
};
BOTH pair halved(pair p, int depth)
{
    float m = (p.a + p.b) * 0.5f;
    if (depth == 0 || p.a == p.b)
        return {m * m, p.b - p.a};
    pair l = halved({p.a, m}, depth - 1), r = halved({m, p.b}, (int)m % 2 ? depth - 1 : 0);
    return {l.a + r.a, l.b + r.b};
}

typedef int (*function)(int n, int x);
__device__ function of_device[2] = {even, cases};

/* What a thread finds, into eight words; `own` is memory of its own. */
BOTH void all(int t, unsigned *own, const unsigned *words, function f, long long *out)
{
    out[0] = ways(0, 0, 0, (1u << (3 + t % 5)) - 1);
    out[1] = mixed(t, t % 23, t * t, -t, t * 0.25f, t * 1.5);
    out[2] = bytes(t % 14);
    out[3] = looped(words, t, t % 7);
    int two[2] = {t, 1};
    above(two, t % 9);
    out[4] = arrays(t % 11, t) + ((long long)two[0] << 20) + two[1];
    written(own, t % WORDS, t % 12);
    out[5] = even(t % 17, t) + cases(t % 13, t * 7);
    pair p = halved({(float)t, (float)(t + t % 3)}, t % 6);
    out[6] = (long long)(p.a * 4) + (long long)(p.b * 64);
    out[7] = f(t % 10, t);
}

__global__ void run(int lanes, int step, unsigned *own, const unsigned *words, long long *out)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t % 32 * step % 32 < lanes)
        all(t, own + t * WORDS, words, of_device[t % 2], out + t * 8);
}

/* These need the lane, or others: they run together. */
__device__ __noinline__ int by_thread(int n)
{
    return n <= 0 ? threadIdx.x : by_thread(n - 1 - (threadIdx.x & 1)) + 2;
}
__device__ __noinline__ unsigned by_votes(int n)
{
    unsigned here = __ballot_sync(__activemask(), n & 1);
    return n <= 0 ? here : by_votes(n - 1) + __popc(here);
}
__device__ __noinline__ int by_sums(int *sum, int n)
{
    if (n <= 0)
        return 1;
    atomicAdd(sum, n);
    return by_sums(sum, n - 1) + by_sums(sum, n - 2);
}
__global__ void together(int *out, unsigned *votes, int *sum)
{
    int t = threadIdx.x;
    out[t] = by_thread(t % 6);
    votes[t] = by_votes(5);
    out[t] += 1000 * by_sums(sum, t % 8);
}

static int host_sums(int *sum, int n)
{
    *sum += n > 0 ? n : 0;
    return n <= 0 ? 1 : host_sums(sum, n - 1) + host_sums(sum, n - 2);
}

static void masks()
{
    static unsigned start[THREADS * WORDS], own[THREADS * WORDS], words[WORDS];
    static long long out[THREADS * 8];
    unsigned *d_own, *d_words;
    long long *d_out;
    for (int i = 0; i < THREADS * WORDS; i++)
        start[i] = i * 2654435761u >> 7;
    for (int i = 0; i < WORDS; i++)
        words[i] = i * 2246822519u >> 3;
    cudaMalloc(&d_own, sizeof own);
    cudaMalloc(&d_words, sizeof words);
    cudaMalloc(&d_out, sizeof out);
    cudaMemcpy(d_words, words, sizeof words, cudaMemcpyHostToDevice);
    for (int lanes : {1, 2, 7, 8, 9, 20, 31, 32})
        for (int step : {1, 5, 13}) {
            cudaMemcpy(d_own, start, sizeof own, cudaMemcpyHostToDevice);
            cudaMemset(d_out, 0x55, sizeof out);
            run<<<2, THREADS / 2>>>(lanes, step, d_own, d_words, d_out);
            cudaMemcpy(own, d_own, sizeof own, cudaMemcpyDeviceToHost);
            CHECK_EQ_INT(cudaMemcpy(out, d_out, sizeof out, cudaMemcpyDeviceToHost), cudaSuccess);
            int bad = 0;
            for (int t = 0; t < THREADS; t++) {
                unsigned mine[WORDS];
                long long want[8];
                memcpy(mine, start + t * WORDS, sizeof mine);
                memset(want, 0x55, sizeof want);
                if (t % (THREADS / 2) % 32 >= 0 && t % 32 * step % 32 < lanes)
                    all(t, mine, words, t % 2 ? cases : even, want);
                for (int n = 0; n < 8; n++)
                    bad += out[t * 8 + n] != want[n];
                bad += memcmp(mine, own + t * WORDS, sizeof mine) != 0;
            }
            CHECK_EQ_INT(bad, 0);
        }
    cudaFree(d_own);
    cudaFree(d_words);
    cudaFree(d_out);
}

static void lanes_together()
{
    int out[32], *d_out, sum, *d_sum, want = 0;
    unsigned votes[32], *d_votes;
    cudaMalloc(&d_out, sizeof out);
    cudaMalloc(&d_votes, sizeof votes);
    cudaMalloc(&d_sum, sizeof sum);
    cudaMemset(d_sum, 0, sizeof sum);
    together<<<1, 32>>>(d_out, d_votes, d_sum);
    cudaMemcpy(out, d_out, sizeof out, cudaMemcpyDeviceToHost);
    cudaMemcpy(votes, d_votes, sizeof votes, cudaMemcpyDeviceToHost);
    CHECK_EQ_INT(cudaMemcpy(&sum, d_sum, sizeof sum, cudaMemcpyDeviceToHost), cudaSuccess);
    for (int t = 0; t < 32; t++) {
        int n = t % 6, rounds = t & 1 ? (n + 1) / 2 : n;
        CHECK_EQ_INT(out[t], t + 2 * rounds + 1000 * host_sums(&want, t % 8));
        CHECK_EQ_INT(votes[t], 3 * 32);
    }
    CHECK_EQ_INT(sum, want);
    cudaFree(d_out);
    cudaFree(d_votes);
    cudaFree(d_sum);
}

/* As deep as the stack is: a fault for a lane as for a warp. */
__device__ __noinline__ int endless(int n, int *at)
{
    if (atomicMax(at, n) == -1)
        return n;
    return endless(n + 1, at) / 3;
}
__global__ void deep(int *at)
{
    if (threadIdx.x == 3)
        *at = endless(1, at);
}

int main()
{
    cudaDeviceSetLimit(cudaLimitStackSize, 16384);
    masks();
    lanes_together();
    int *at;
    cudaMalloc(&at, sizeof *at);
    cudaMemset(at, 0, sizeof *at);
    deep<<<1, 32>>>(at);
    CHECK(cudaDeviceSynchronize() != cudaSuccess);
    return check_done();
}
