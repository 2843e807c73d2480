// Integer work: 64-bit mixing, greatest common divisors, distances of bit strings, CRC by table.
#include "harness.h"

template <int ROUNDS, class I>
static __device__ void mix(const long long *in, long long *out, I n, int rounds)
{
    I i = blockIdx.x * (I)blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    unsigned long long x = in[i];
    for (int r = 0; r < (ROUNDS ? ROUNDS : rounds); r++) {
        x += 0x9e3779b97f4a7c15ull;
        x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
        x = (x ^ x >> 27) * 0x94d049bb133111ebull;
        x ^= x >> 31;
    }
    out[i] = x;
}
template <int ROUNDS, class I>
__global__ void mix64(const long long *in, long long *out, I n, int rounds)
{
    mix<ROUNDS, I>(in, out, n, rounds);
}
BENCH_SPELLING(mix64, 0, mix64<0, int>);
BENCH_SPELLING(mix64, 1, mix64<8, int>);
BENCH_SPELLING(mix64, 2, mix64<0, long long>);

template <class T, bool BINARY> __global__ void gcd(const int *a, const int *b, int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    T x = a[i], y = b[i];
    if (BINARY) {
        int shift = __ffs(x | y) - 1;
        x >>= __ffs(x) - 1;
        while (y != 0) {
            y >>= __ffs(y) - 1;
            T least = x < y ? x : y;
            y = x < y ? y - x : x - y;
            x = least;
        }
        x <<= shift;
    } else {
        while (y != 0) {
            T rest = x % y;
            x = y;
            y = rest;
        }
    }
    out[i] = x;
}
BENCH_SPELLING(gcd, 0, gcd<int, false>);
BENCH_SPELLING(gcd, 1, gcd<unsigned, false>);
BENCH_SPELLING(gcd, 2, gcd<unsigned, true>);

// The nearest of many strings of 128 bits.
template <class Word, int WORDS>
__global__ void hamming(const int *query, const int *all, int *nearest, int n, int others)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    Word mine[WORDS];
    for (int w = 0; w < WORDS; w++)
        mine[w] = reinterpret_cast<const Word *>(query)[i * WORDS + w];
    int best = 1 << 30;
    for (int k = 0; k < others; k++) {
        int distance = 0;
        for (int w = 0; w < WORDS; w++) {
            Word x = mine[w] ^ reinterpret_cast<const Word *>(all)[k * WORDS + w];
            distance += sizeof(Word) == 8 ? __popcll(x) : __popc(x);
        }
        best = min(best, distance << 16 | k);
    }
    nearest[i] = best;
}
BENCH_SPELLING(hamming, 0, hamming<unsigned, 4>);
BENCH_SPELLING(hamming, 1, hamming<unsigned long long, 2>);

static __global__ void hamming_shared(const uint4 *query, const uint4 *all, int *nearest, int n,
                                      int others)
{
    __shared__ uint4 tile[128];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    uint4 mine = i < n ? query[i] : uint4{};
    int best = 1 << 30;
    for (int at = 0; at < others; at += 128) {
        __syncthreads();
        tile[threadIdx.x] = all[at + threadIdx.x];
        __syncthreads();
        for (int k = 0; k < 128; k++) {
            uint4 x = tile[k];
            int distance = __popc(x.x ^ mine.x) + __popc(x.y ^ mine.y) + __popc(x.z ^ mine.z) +
                           __popc(x.w ^ mine.w);
            best = min(best, distance << 16 | (at + k));
        }
    }
    if (i < n)
        nearest[i] = best;
}
BENCH_SPELLING(hamming, 2, hamming_shared);

// CRC-32 of messages, a thread each, by a table of 256 words.
enum { MESSAGE = 256 };
static __global__ void crc(const unsigned char *text, const int *table, int *sums, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    unsigned sum = ~0u;
    for (int k = 0; k < MESSAGE; k++)
        sum = sum >> 8 ^ table[(sum ^ text[i * MESSAGE + k]) & 255];
    sums[i] = ~sum;
}
static __global__ void crc_shared(const unsigned char *text, const int *table, int *sums, int n)
{
    __shared__ int mine[256];
    for (int k = threadIdx.x; k < 256; k += blockDim.x)
        mine[k] = table[k];
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    unsigned sum = ~0u;
    for (int k = 0; k < MESSAGE; k++)
        sum = sum >> 8 ^ mine[(sum ^ text[i * MESSAGE + k]) & 255];
    sums[i] = ~sum;
}
static __global__ void crc_words(const uint4 *text, const int *__restrict__ table, int *sums, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    unsigned sum = ~0u;
    for (int k = 0; k < MESSAGE / 16; k++) {
        uint4 four = text[i * (MESSAGE / 16) + k];
        unsigned words[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
        for (int w = 0; w < 4; w++)
#pragma unroll
            for (int b = 0; b < 32; b += 8)
                sum = sum >> 8 ^ __ldg(&table[(sum ^ words[w] >> b) & 255]);
    }
    sums[i] = ~sum;
}
BENCH_KERNEL(crc);
BENCH_SPELLING(crc, 1, crc_shared);
BENCH_SPELLING(crc, 2, crc_words);
