/* Integer work: 64-bit mixing, greatest common divisors, distances of bit strings, CRC by table. */
#include "row.h"

enum { BLOCK = 128, ROUNDS = 8, OTHERS = 1024, MESSAGE = 256, INTERLEAVED = 8 };

static void make_mix(struct bench_problem *p)
{
    int64_t *in = bench_add(p, BENCH_LONG, (size_t)p->n, BENCH_INPUT);
    for (int i = 0; i < p->n; i++)
        in[i] = (int64_t)i * 1234567891011;
    bench_add(p, BENCH_LONG, (size_t)p->n, BENCH_OUTPUT);
}

static void device_mix(struct bench_queue *q, const struct bench_problem *p)
{
    BENCH_LAUNCH(q, "mix64", bench_blocks(p->n, BLOCK), 1, BLOCK, 1, ARRAY(0), ARRAY(1), INT(p->n),
                 INT(ROUNDS));
}

static void native_mix(const struct bench_problem *p)
{
    const uint64_t *in = DATA(p, 0);
    uint64_t *out = DATA(p, 1);
#pragma omp parallel for simd schedule(static)
    for (int i = 0; i < p->n; i++) {
        uint64_t x = in[i];
        for (int r = 0; r < ROUNDS; r++) {
            x += 0x9e3779b97f4a7c15u;
            x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
            x = (x ^ x >> 27) * 0x94d049bb133111ebu;
            x ^= x >> 31;
        }
        out[i] = x;
    }
}

static void make_gcd(struct bench_problem *p)
{
    bench_add_ints(p, (size_t)p->n, 1, 1 << 30);
    bench_add_ints(p, (size_t)p->n, 1, 1 << 30);
    bench_add(p, BENCH_INT, (size_t)p->n, BENCH_OUTPUT);
}

static void device_gcd(struct bench_queue *q, const struct bench_problem *p)
{
    BENCH_LAUNCH(q, "gcd", bench_blocks(p->n, BLOCK), 1, BLOCK, 1, ARRAY(0), ARRAY(1), ARRAY(2),
                 INT(p->n));
}

static void native_gcd(const struct bench_problem *p)
{
    const int *a = DATA(p, 0), *b = DATA(p, 1);
    int *out = DATA(p, 2);
#pragma omp parallel for schedule(static)
    for (int i = 0; i < p->n; i++) {
        unsigned x = (unsigned)a[i], y = (unsigned)b[i];
        int shift = __builtin_ctz(x | y);
        x >>= __builtin_ctz(x);
        while (y != 0) {
            y >>= __builtin_ctz(y);
            unsigned least = x < y ? x : y;
            y = x < y ? y - x : x - y;
            x = least;
        }
        out[i] = (int)(x << shift);
    }
}

static void make_hamming(struct bench_problem *p)
{
    bench_add_ints(p, 4 * (size_t)p->n, -2000000000, 2000000000);
    bench_add_ints(p, (size_t)4 * OTHERS, -2000000000, 2000000000);
    bench_add(p, BENCH_INT, (size_t)p->n, BENCH_OUTPUT);
}

static void device_hamming(struct bench_queue *q, const struct bench_problem *p)
{
    BENCH_LAUNCH(q, "hamming", bench_blocks(p->n, BLOCK), 1, BLOCK, 1, ARRAY(0), ARRAY(1), ARRAY(2),
                 INT(p->n), INT(OTHERS));
}

static void native_hamming(const struct bench_problem *p)
{
    const uint64_t *query = DATA(p, 0), *all = DATA(p, 1);
    int *nearest = DATA(p, 2);
#pragma omp parallel for schedule(static)
    for (int i = 0; i < p->n; i++) {
        uint64_t low = query[2 * i], high = query[2 * i + 1];
        int best = 1 << 30;
#pragma omp simd reduction(min : best)
        for (int k = 0; k < OTHERS; k++) {
            int distance = __builtin_popcountll(low ^ all[2 * k]) +
                           __builtin_popcountll(high ^ all[2 * k + 1]);
            int mine = distance << 16 | k;
            best = mine < best ? mine : best;
        }
        nearest[i] = best;
    }
}

static void make_crc(struct bench_problem *p)
{
    bench_add_bytes(p, (size_t)p->n * MESSAGE, 0, 256);
    uint32_t *table = bench_add(p, BENCH_INT, 256, BENCH_INPUT);
    for (uint32_t b = 0; b < 256; b++) {
        table[b] = b;
        for (int k = 0; k < 8; k++)
            table[b] = table[b] >> 1 ^ (table[b] & 1 ? 0xedb88320u : 0);
    }
    bench_add(p, BENCH_INT, (size_t)p->n, BENCH_OUTPUT);
}

static void device_crc(struct bench_queue *q, const struct bench_problem *p)
{
    BENCH_LAUNCH(q, "crc", bench_blocks(p->n, BLOCK), 1, BLOCK, 1, ARRAY(0), ARRAY(1), ARRAY(2),
                 INT(p->n));
}

/* Several messages in turn, since each is a chain of loads. */
static void native_crc(const struct bench_problem *p)
{
    const unsigned char *text = DATA(p, 0);
    const uint32_t *table = DATA(p, 1);
    uint32_t *sums = DATA(p, 2);
#pragma omp parallel for schedule(static)
    for (int i = 0; i < p->n; i += INTERLEAVED) {
        uint32_t sum[INTERLEAVED];
        int most = p->n - i < INTERLEAVED ? p->n - i : INTERLEAVED;
        for (int m = 0; m < INTERLEAVED; m++)
            sum[m] = ~0u;
        for (int k = 0; k < MESSAGE; k++)
            for (int m = 0; m < INTERLEAVED; m++) {
                int message = i + (m < most ? m : 0);
                sum[m] = sum[m] >> 8 ^ table[(sum[m] ^ text[message * MESSAGE + k]) & 255];
            }
        for (int m = 0; m < most; m++)
            sums[i + m] = ~sum[m];
    }
}

#define ROW(row, text, size, quick, other, third, ...)                                             \
    BENCH_ROW(row, text, size, quick, 0, "integers/words", other, other, third, __VA_ARGS__)
ROW(mix64, "mixing of 64-bit integers, 2^20, 8 rounds", 1 << 20, 5001, mix, "rounds as parameter",
    "rounds constant", "64-bit index");
ROW(gcd, "greatest common divisors, 2^20 pairs", 1 << 20, 5001, gcd, "int, remainders",
    "unsigned, remainders", "binary");
ROW(hamming, "nearest of 1024 strings of 128 bits, 2^15", 1 << 15, 300, hamming, "32-bit words",
    "64-bit words", "shared tiles");
ROW(crc, "CRC-32 by table, 2^16 messages of 256 bytes", 1 << 16, 300, crc, "table in global memory",
    "table in shared memory", "words of 16 bytes");
