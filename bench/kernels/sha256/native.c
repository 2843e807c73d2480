/* SHA-256 of messages of 1,024 bytes: as many at once as a register has lanes. */
#include "native.h"
#include "harness.h"

enum { BLOCK = 128, WORDS = 256 };

typedef uint32_t vword __attribute__((vector_size(LANES * 4)));
typedef uint32_t vword_unaligned __attribute__((vector_size(LANES * 4), aligned(4)));

static const uint32_t round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static void make(struct bench_problem *p)
{
    uint32_t seed = 41;
    size_t count = (size_t)p->n * WORDS;
    uint32_t *words = bench_add(p, BENCH_INT, count, 0);
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        words[i] = seed ^ seed >> 15;
    }
    bench_add(p, BENCH_INT, (size_t)p->n * 8, 1);
}

static void device(struct bench_queue *q, const struct bench_problem *p)
{
    BENCH_LAUNCH(q, "sha256", (p->n + BLOCK - 1) / BLOCK, 1, BLOCK, 1, BENCH_ARRAY(0),
                 BENCH_ARRAY(1), BENCH_INT_ARG(p->n));
}

static inline vword turn(vword v, int by) { return v >> by | v << (32 - by); }

static inline void block(vword *h, vword *w)
{
    vword s[8];
    for (int k = 0; k < 8; k++)
        s[k] = h[k];
#pragma unroll
    for (int r = 0; r < 64; r++) {
        if (r >= 16) {
            vword a = w[(r + 1) % 16], b = w[(r + 14) % 16];
            w[r % 16] += (turn(a, 7) ^ turn(a, 18) ^ a >> 3) + w[(r + 9) % 16] +
                         (turn(b, 17) ^ turn(b, 19) ^ b >> 10);
        }
        vword t1 = s[7] + (turn(s[4], 6) ^ turn(s[4], 11) ^ turn(s[4], 25)) +
                   ((s[4] & s[5]) ^ (~s[4] & s[6])) + round_constants[r] + w[r % 16];
        vword t2 = (turn(s[0], 2) ^ turn(s[0], 13) ^ turn(s[0], 22)) +
                   ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
        for (int k = 7; k > 0; k--)
            s[k] = s[k - 1];
        s[4] += t1;
        s[0] = t1 + t2;
    }
    for (int k = 0; k < 8; k++)
        h[k] += s[k];
}

static void native(const struct bench_problem *p)
{
    static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    const uint32_t *words = p->array[0].data;
    uint32_t *digests = p->array[1].data;
#pragma omp parallel for schedule(static)
    for (int m = 0; m < p->n; m += LANES) {
        vword h[8], w[16];
        for (int k = 0; k < 8; k++)
            h[k] = (vword){0} + start[k];
        for (int b = 0; b < WORDS / 16; b++) {
            for (int k = 0; k < 16; k++)
                w[k] = *(const vword_unaligned *)(words + (size_t)(b * 16 + k) * (size_t)p->n + m);
            block(h, w);
        }
        for (int k = 0; k < 16; k++)
            w[k] = (vword){0} + (k == 0 ? 0x80000000u : k == 15 ? WORDS * 32 : 0);
        block(h, w);
        for (int k = 0; k < 8; k++)
            *(vword_unaligned *)(digests + (size_t)k * (size_t)p->n + m) = h[k];
    }
}

const struct bench bench_sha256 = {
    .name = "sha256",
    .title = "SHA-256, 64 MiB in messages of 1 KiB",
    .cl = "sha256/kernel",
    .n = 1 << 16,
    .quick_n = 512,
    .make = make,
    .device = device,
    .native = native,
};
