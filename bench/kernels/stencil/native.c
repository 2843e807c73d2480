/* Heat in a square plate: 50 steps, back and forth between two arrays. */
#include "harness.h"

enum { STEPS = 50, BLOCK_X = 32, BLOCK_Y = 8 };

static void make(struct bench_problem *p)
{
    uint32_t seed = 8;
    size_t count = (size_t)p->n * (size_t)p->n;
    float *a = bench_add(p, BENCH_FLOAT, count, 1), *b = bench_add(p, BENCH_FLOAT, count, 0);
    for (size_t i = 0; i < count; i++)
        a[i] = b[i] = bench_random(&seed, 0, 1);
}

static void device(struct bench_queue *q, const struct bench_problem *p)
{
    int bx = q->spelling == 2 ? 16 : BLOCK_X, by = q->spelling == 2 ? 16 : BLOCK_Y;
    int gx = (p->n + bx - 1) / bx, gy = (p->n + by - 1) / by;
    for (int step = 0; step < STEPS; step++)
        BENCH_LAUNCH(q, "stencil", gx, gy, (unsigned)bx, (unsigned)by, BENCH_ARRAY(step % 2),
                     BENCH_ARRAY(1 - step % 2), BENCH_INT_ARG(p->n));
}

static void native(const struct bench_problem *p)
{
    int n = p->n;
#pragma omp parallel
    for (int step = 0; step < STEPS; step++) {
        const float *restrict in = p->array[step % 2].data;
        float *restrict out = p->array[1 - step % 2].data;
#pragma omp for schedule(static)
        for (int y = 1; y < n - 1; y++)
#pragma omp simd
            for (int i = y * n + 1; i < y * n + n - 1; i++)
                out[i] = 0.6f * in[i] + 0.1f * (in[i - 1] + in[i + 1] + in[i - n] + in[i + n]);
    }
}

const struct bench bench_stencil = {
    .name = "stencil",
    .title = "5-point stencil, 2048², 50 steps",
    .cl = "stencil/kernel",
    .n = 2048,
    .quick_n = 201,
    .tolerance = 1e-5,
    .make = make,
    .device = device,
    .native = native,
    .spelling = {"size as parameter", "size constant", "64-bit index, 16×16 blocks"},
};
