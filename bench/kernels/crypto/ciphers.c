/* Ciphers in counter mode. Native ChaCha20 works on vectors of counters. Native AES is by tables,
 * too: the row is about reads of tables, and not about the CPU's instructions for AES. */
#include "native.h"
#include "row.h"

enum { BLOCK = 128, ROUND_KEYS = 44 };

static void make_chacha(struct bench_problem *p)
{
    bench_add_ints(p, 8, -2000000000, 2000000000);
    bench_add_ints(p, (size_t)p->n * 16, -2000000000, 2000000000);
    bench_add(p, BENCH_INT, (size_t)p->n * 16, BENCH_OUTPUT);
}

static void device_chacha(struct bench_queue *q, const struct bench_problem *p)
{
    BENCH_LAUNCH(q, "chacha", bench_blocks(p->n, BLOCK), 1, BLOCK, 1, ARRAY(0), ARRAY(1), ARRAY(2),
                 INT(p->n));
}

typedef unsigned vword __attribute__((vector_size(LANES * 4)));

static inline vword rotated(vword x, int by) { return x << by | x >> (32 - by); }

#define QUARTER(a, b, c, d)                                                                        \
    a += b, d = rotated(d ^ a, 16), c += d, b = rotated(b ^ c, 12), a += b, d = rotated(d ^ a, 8), \
            c += d, b = rotated(b ^ c, 7)

static void native_chacha(const struct bench_problem *p)
{
    const unsigned *key = DATA(p, 0), *text = DATA(p, 1);
    unsigned *out = DATA(p, 2);
#pragma omp parallel for schedule(static)
    for (int i = 0; i < p->n; i += LANES) {
        unsigned first[16] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
        for (int k = 0; k < 8; k++)
            first[4 + k] = key[k];
        first[13] = first[14] = first[15] = 7;
        vword x[16], start[16];
        for (int k = 0; k < 16; k++)
            x[k] = start[k] = first[k] - (vword){0};
        for (int lane = 0; lane < LANES; lane++)
            start[12][lane] = (unsigned)(i + lane);
        x[12] = start[12];
        for (int round = 0; round < 10; round++) {
            QUARTER(x[0], x[4], x[8], x[12]);
            QUARTER(x[1], x[5], x[9], x[13]);
            QUARTER(x[2], x[6], x[10], x[14]);
            QUARTER(x[3], x[7], x[11], x[15]);
            QUARTER(x[0], x[5], x[10], x[15]);
            QUARTER(x[1], x[6], x[11], x[12]);
            QUARTER(x[2], x[7], x[8], x[13]);
            QUARTER(x[3], x[4], x[9], x[14]);
        }
        _Alignas(64) unsigned stream[16][LANES];
        for (int k = 0; k < 16; k++)
            *(vword *)stream[k] = x[k] + start[k];
        for (int lane = 0; lane < LANES && i + lane < p->n; lane++)
            for (int k = 0; k < 16; k++)
                out[(i + lane) * 16 + k] = text[(i + lane) * 16 + k] ^ stream[k][lane];
    }
}

static unsigned times_two(unsigned x) { return (x << 1 ^ (x & 0x80 ? 0x1b : 0)) & 255; }

/* The substitution of AES: inverses in the field, then an affine map. */
static void substitutes(unsigned char *box)
{
    unsigned x = 1, inverse = 1;
    do {
        x ^= times_two(x);
        inverse ^= inverse << 1;
        inverse ^= inverse << 2;
        inverse ^= inverse << 4;
        inverse &= 255;
        if (inverse & 0x80)
            inverse ^= 9;
        unsigned y = inverse | inverse << 8;
        box[x] = (unsigned char)((y ^ y >> 4 ^ y >> 5 ^ y >> 6 ^ y >> 7 ^ 0x63) & 255);
    } while (x != 1);
    box[0] = 0x63;
}

static void make_aes(struct bench_problem *p)
{
    unsigned char box[256];
    substitutes(box);
    unsigned *keys = bench_add(p, BENCH_INT, ROUND_KEYS, BENCH_INPUT), constant = 1;
    for (unsigned k = 0; k < ROUND_KEYS; k++) {
        unsigned word = k ? keys[k - 1] : 0;
        if (k < 4) {
            keys[k] = k * 0x01234567u + 0x89abcdefu;
            continue;
        }
        if (k % 4 == 0) {
            word = word >> 8 | word << 24;
            word = (unsigned)(box[word & 255] | box[word >> 8 & 255] << 8 |
                              box[word >> 16 & 255] << 16) |
                   (unsigned)box[word >> 24] << 24;
            word ^= constant;
            constant = times_two(constant);
        }
        keys[k] = keys[k - 4] ^ word;
    }
    unsigned *table = bench_add(p, BENCH_INT, 1024, BENCH_INPUT);
    for (unsigned b = 0; b < 256; b++) {
        unsigned s = box[b], two = times_two(s);
        unsigned word = two | s << 8 | s << 16 | (two ^ s) << 24;
        for (int k = 0; k < 4; k++) {
            table[256 * k + (int)b] = word;
            word = word << 8 | word >> 24;
        }
    }
    bench_add_ints(p, (size_t)p->n * 4, -2000000000, 2000000000);
    bench_add(p, BENCH_INT, (size_t)p->n * 4, BENCH_OUTPUT);
}

static void device_aes(struct bench_queue *q, const struct bench_problem *p)
{
    BENCH_LAUNCH(q, "aes", bench_blocks(p->n, BLOCK), 1, BLOCK, 1, ARRAY(0), ARRAY(1), ARRAY(2),
                 ARRAY(3), INT(p->n));
}

static void native_aes(const struct bench_problem *p)
{
    const unsigned *table = DATA(p, 1), *text = DATA(p, 2);
    unsigned *out = DATA(p, 3);
#pragma omp parallel for schedule(static)
    for (int i = 0; i < p->n; i++) {
        const unsigned *key = DATA(p, 0);
        unsigned s[4] = {(unsigned)i ^ key[0], key[1], key[2], 7 ^ key[3]}, t[4];
        for (int r = 1; r < 10; r++) {
            key += 4;
            for (int c = 0; c < 4; c++)
                t[c] = table[s[c] & 255] ^ table[256 + (s[(c + 1) & 3] >> 8 & 255)] ^
                       table[512 + (s[(c + 2) & 3] >> 16 & 255)] ^
                       table[768 + (s[(c + 3) & 3] >> 24)] ^ key[c];
            for (int c = 0; c < 4; c++)
                s[c] = t[c];
        }
        key += 4;
        for (int c = 0; c < 4; c++)
            out[i * 4 + c] = text[i * 4 + c] ^ (table[s[c] & 255] >> 8 & 255) ^
                             (table[s[(c + 1) & 3] >> 8 & 255] & 0xff00) ^
                             (table[s[(c + 2) & 3] >> 16 & 255] << 8 & 0xff0000) ^
                             (table[s[(c + 3) & 3] >> 24] << 16 & 0xff000000) ^ key[c];
    }
}

const struct bench bench_chacha = {
    .name = "chacha",
    .title = "ChaCha20, 2^18 blocks of 64 bytes",
    .n = 1 << 18,
    .quick_n = 1003,
    .make = make_chacha,
    .device = device_chacha,
    .native = native_chacha,
    .spelling = {"shifts", "funnel shifts", "vectors of four words"},
};
const struct bench bench_aes = {
    .name = "aes",
    .title = "AES-128 by tables, 2^19 blocks",
    .n = 1 << 19,
    .quick_n = 1003,
    .make = make_aes,
    .device = device_aes,
    .native = native_aes,
    .spelling = {"tables shared", "tables in global memory", "one table, turned"},
};
