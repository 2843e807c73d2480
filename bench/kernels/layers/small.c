/* Work of networks and of images in small types: gradients of pooling, a stencil of bytes over a
 * tile with its surroundings, conversions to eight bits, complex numbers made by each thread. */
#include "row.h"

#include <math.h>
#include <string.h>

enum {
    BLOCK = 256,
    WIDTH = 64,
    POOLED = 32,
    WINDOW = 3,
    STEP = 2,
    IMAGE = 1024,
    ROUNDS = 16,
    SIDE = 64,
    CHUNK = 4096
};

static void make_pool_gradient(struct bench_problem *p)
{
    bench_add_floats(p, (size_t)p->n * POOLED * POOLED, -1, 1);
    bench_add(p, BENCH_FLOAT, (size_t)p->n * WIDTH * WIDTH, BENCH_OUTPUT);
}
static void device_pool_gradient(struct bench_queue *q, const struct bench_problem *p)
{
    int n = p->n * WIDTH * WIDTH;
    BENCH_LAUNCH(q, "pool_gradient", q->spelling == 2 ? bench_blocks(n, BLOCK) : 512, 1, BLOCK, 1,
                 ARRAY(0), ARRAY(1), INT(n), INT(WIDTH), INT(POOLED), INT(WINDOW), INT(STEP));
}
/* By windows, each of which adds its share to its pixels. */
static void native_pool_gradient(const struct bench_problem *p)
{
#pragma omp parallel for schedule(static)
    for (int plane = 0; plane < p->n; plane++) {
        const float *top = (const float *)DATA(p, 0) + (size_t)plane * POOLED * POOLED;
        float *bottom = (float *)DATA(p, 1) + (size_t)plane * WIDTH * WIDTH;
        memset(bottom, 0, sizeof(float) * WIDTH * WIDTH);
        for (int py = 0; py < POOLED; py++) {
            int high = WIDTH - py * STEP < WINDOW ? WIDTH - py * STEP : WINDOW;
            for (int px = 0; px < POOLED; px++) {
                int wide = WIDTH - px * STEP < WINDOW ? WIDTH - px * STEP : WINDOW;
                float share = top[py * POOLED + px] / (float)(high * wide);
                for (int y = 0; y < high; y++)
                    for (int x = 0; x < wide; x++)
                        bottom[(py * STEP + y) * WIDTH + px * STEP + x] += share;
            }
        }
    }
}

static void make_apron(struct bench_problem *p)
{
    bench_add_bytes(p, (size_t)p->n * IMAGE, 0, 256);
    bench_add(p, BENCH_BYTE, (size_t)p->n * IMAGE, BENCH_OUTPUT);
}
static void device_apron(struct bench_queue *q, const struct bench_problem *p)
{
    int bx = q->spelling == 1 ? 32 : 16, by = q->spelling == 1 ? 8 : 16;
    BENCH_LAUNCH(q, "apron", IMAGE / bx, bench_blocks(p->n, by), bx, by, ARRAY(0), ARRAY(1),
                 INT(IMAGE), INT(p->n));
}
/* Down into a row of sums, then across it. */
static void native_apron(const struct bench_problem *p)
{
    const unsigned char *in = DATA(p, 0);
#pragma omp parallel for schedule(static)
    for (int y = 0; y < p->n; y++) {
        const unsigned char *row[5];
        unsigned short sums[IMAGE + 4];
        unsigned char *restrict out = (unsigned char *)DATA(p, 1) + (size_t)y * IMAGE;
        for (int k = 0; k < 5; k++) {
            int at = y + k - 2 < 0 ? 0 : y + k - 2 >= p->n ? p->n - 1 : y + k - 2;
            row[k] = in + (size_t)at * IMAGE;
        }
        for (int x = 0; x < IMAGE; x++)
            sums[x + 2] = (unsigned short)(row[0][x] + 4 * row[1][x] + 6 * row[2][x] +
                                           4 * row[3][x] + row[4][x]);
        sums[0] = sums[1] = sums[2];
        sums[IMAGE + 2] = sums[IMAGE + 3] = sums[IMAGE + 1];
        for (int x = 0; x < IMAGE; x++)
            out[x] = (unsigned char)((sums[x] + 4 * sums[x + 1] + 6 * sums[x + 2] +
                                      4 * sums[x + 3] + sums[x + 4] + 128) >>
                                     8);
    }
}

static void make_to_fp8(struct bench_problem *p)
{
    uint32_t seed = 4;
    float *in = bench_add_floats(p, (size_t)p->n, -1, 1);
    for (int i = 0; i < p->n; i++) /* of all sizes, past both ends of the format */
        in[i] = ldexpf(in[i], (int)bench_random(&seed, -12, 12));
    bench_add(p, BENCH_BYTE, (size_t)p->n, BENCH_OUTPUT);
}
static void device_to_fp8(struct bench_queue *q, const struct bench_problem *p)
{
    int each = q->spelling == 0 ? 1 : q->spelling * 2;
    BENCH_LAUNCH(q, "to_fp8", bench_blocks(p->n / each, BLOCK), 1, BLOCK, 1, ARRAY(0), ARRAY(1),
                 INT(p->n));
}
/* Subnormal numbers are rounded by an addition that leaves no more bits, the others by adding half
 * of what is cut. */
static void native_to_fp8(const struct bench_problem *p)
{
    const uint32_t *restrict in = DATA(p, 0);
    unsigned char *restrict out = DATA(p, 1);
#pragma omp parallel for schedule(static)
    for (int at = 0; at < p->n; at += CHUNK) {
        const uint32_t *restrict from = in + at;
        unsigned char *restrict to = out + at;
        int count = p->n - at < CHUNK ? p->n - at : CHUNK;
        for (int i = 0; i < count; i++) {
            uint32_t sign = from[i] >> 24 & 0x80, size = from[i] & 0x7fffffff;
            union {
                uint32_t bits;
                float f;
            } small = {.bits = size};
            small.f += 0x1p14f; /* whose last bit is 2^-9 */
            uint32_t large = ((size + 0x7ffff + (size >> 20 & 1)) >> 20) - (120 << 3);
            large = large > 0x7e ? 0x7e : large;
            to[i] = (unsigned char)(sign | (size < 121u << 23 ? small.bits & 0xff : large));
        }
    }
}

static void make_complex_drawn(struct bench_problem *p)
{
    bench_add(p, BENCH_FLOAT, (size_t)p->n, BENCH_OUTPUT);
}
static void device_complex_drawn(struct bench_queue *q, const struct bench_problem *p)
{
    BENCH_LAUNCH(q, "complex_drawn", p->n / BLOCK, 1, BLOCK, 1, ARRAY(0));
}
static inline float drawn(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (float)(int)(*state >> 8) * 0x1p-24f + 0.5f;
}
static void native_complex_drawn(const struct bench_problem *p)
{
    float *restrict out = DATA(p, 0);
#pragma omp parallel for schedule(static)
    for (int t = 0; t < p->n; t += SIDE) {
        uint32_t state[SIDE];
        float sum[SIDE] = {0};
        for (int s = 0; s < SIDE; s++)
            state[s] = (uint32_t)(t + s) * 2654435761u + 99;
        for (int i = 0; i < ROUNDS; i++)
            for (int s = 0; s < SIDE; s++) {
                float ar = drawn(&state[s]), ai = drawn(&state[s]);
                float br = drawn(&state[s]), bi = drawn(&state[s]);
                float scale = 1 / (br * br + bi * bi);
                float r = ar * br - ai * bi + (ar * br + ai * bi) * scale;
                float m = ar * bi + ai * br + (ai * br - ar * bi) * scale;
                sum[s] += sqrtf(r * r + m * m);
            }
        for (int s = 0; s < SIDE; s++)
            out[t + s] = sum[s];
    }
}

BENCH_ROW(pool_gradient, "gradients of pooling 3×3, 512 planes of 64×64", 512, 3, 1e-5,
          "layers/small", pool_gradient, pool_gradient, "grid-stride loop", "sizes as constants",
          "a thread each");
BENCH_ROW(apron, "5×5 stencil of bytes by a tile, 2^22 pixels", 1 << 12, 33, 0, "layers/small",
          apron, apron, "16×16 threads", "32×8 threads");
BENCH_ROW(to_fp8, "conversion of 2^22 floats to 8 bits", 1 << 22, 4000, 0, NULL, to_fp8, to_fp8,
          "one each", "two each", "four each");
BENCH_ROW(complex_drawn, "products, quotients of 2^18 × 16 complex numbers", 1 << 18, 1024, 1e-5,
          "layers/small", complex_drawn, complex_drawn, "written out", "cuComplex.h");
