/* Monte Carlo: the area of a circle, the price of an option on a mean. Native code has a generator
 * of its own in every lane of a vector. */
#include "row.h"

#include <math.h>

enum { BLOCK = 256, DRAWS = 256, STEPS = 16, PATHS = 8, SIDE = 64 };

static uint32_t mixed(uint32_t k)
{
    k = (k ^ k >> 16) * 0x85ebca6bu;
    k = (k ^ k >> 13) * 0xc2b2ae35u;
    return (k ^ k >> 16) | 1;
}
static inline uint32_t next(uint32_t *s)
{
    *s ^= *s << 13;
    *s ^= *s >> 17;
    return *s ^= *s << 5;
}

static void make_circle(struct bench_problem *p) { bench_add(p, BENCH_INT, 1, BENCH_OUTPUT); }
static void device_circle(struct bench_queue *q, const struct bench_problem *p)
{
    q->zero(q, 0);
    BENCH_LAUNCH(q, "circle", p->n / BLOCK, 1, BLOCK, 1, ARRAY(0), INT(7));
}
static void native_circle(const struct bench_problem *p)
{
    int total = 0;
#pragma omp parallel for schedule(static) reduction(+ : total)
    for (int t = 0; t < p->n; t += SIDE) {
        uint32_t state[SIDE];
        int inside[SIDE] = {0};
        for (int i = 0; i < SIDE; i++)
            state[i] = mixed((uint32_t)(t + i));
        for (int k = 0; k < DRAWS; k++)
            for (int i = 0; i < SIDE; i++) {
                float x = (float)(int)(next(&state[i]) >> 8) * 0x1p-24f;
                float y = (float)(int)(next(&state[i]) >> 8) * 0x1p-24f;
                inside[i] += x * x + y * y <= 1;
            }
        for (int i = 0; i < SIDE; i++)
            total += inside[i];
    }
    *(int *)DATA(p, 0) = total;
}

static void make_asian(struct bench_problem *p) { bench_add(p, BENCH_FLOAT, 1, BENCH_OUTPUT); }
static void device_asian(struct bench_queue *q, const struct bench_problem *p)
{
    q->zero(q, 0);
    BENCH_LAUNCH(q, "asian", p->n / BLOCK, 1, BLOCK, 1, ARRAY(0), FLOAT(0.001f), FLOAT(0.05f),
                 FLOAT(100));
}
/* Box and Muller: two normal numbers of two. */
static void native_asian(const struct bench_problem *p)
{
    double total = 0;
#pragma omp parallel for schedule(static) reduction(+ : total)
    for (int t = 0; t < p->n * PATHS; t += SIDE) {
        uint32_t state[SIDE];
        float price[SIDE], mean[SIDE] = {0};
        for (int i = 0; i < SIDE; i++) {
            state[i] = mixed((uint32_t)(t + i));
            price[i] = 100;
        }
        for (int step = 0; step < STEPS; step += 2)
            for (int i = 0; i < SIDE; i++) {
                float u = (float)(int)((next(&state[i]) >> 8) + 1) * 0x1p-24f;
                float angle = (float)(int)(next(&state[i]) >> 8) * (6.2831853f * 0x1p-24f);
                float r = sqrtf(-2 * logf(u));
                price[i] *= expf(0.001f + 0.05f * r * cosf(angle));
                mean[i] += price[i];
                price[i] *= expf(0.001f + 0.05f * r * sinf(angle));
                mean[i] += price[i];
            }
        float sum = 0;
        for (int i = 0; i < SIDE; i++)
            sum += fmaxf(mean[i] / STEPS - 100, 0);
        total += (double)sum;
    }
    *(float *)DATA(p, 0) = (float)(total / p->n / PATHS);
}

#define ROW(row, text, size, quick, how_near, ...)                                                 \
    BENCH_ROW(row, text, size, quick, how_near, NULL, row, row, __VA_ARGS__)
ROW(circle, "area of a circle by curand, 2^15 × 256 points", 1 << 15, 2048, 4e-3, "Philox",
    "XORWOW", "Philox, four at a time");
ROW(asian, "option on a mean by curand, 2^16 paths", 1 << 13, 2048, 0.08, "Philox", "XORWOW",
    "MRG32k3a");
