/* Transpose: squares of 32 columns are gathered in a buffer that stays in the first cache, so that
 * both arrays are touched by whole cache lines. */
#include "harness.h"

enum { SQUARE = 32 };

static void make(struct bench_problem *p)
{
    uint32_t seed = 9;
    size_t count = (size_t)p->n * (size_t)p->n;
    float *in = bench_add(p, BENCH_FLOAT, count, 0);
    for (size_t i = 0; i < count; i++)
        in[i] = bench_random(&seed, 0, 1);
    bench_add(p, BENCH_FLOAT, count, 1);
}

static void device(struct bench_queue *q, const struct bench_problem *p)
{
    BENCH_LAUNCH(q, "transpose", p->n / 32, p->n / 32, 32, 8, BENCH_ARRAY(0), BENCH_ARRAY(1),
                 BENCH_INT_ARG(p->n));
}

static void native(const struct bench_problem *p)
{
    int n = p->n;
    const float *restrict in = p->array[0].data;
    float *restrict out = p->array[1].data;
#pragma omp parallel for collapse(2) schedule(static)
    for (int row = 0; row < n; row += SQUARE)
        for (int column = 0; column < n; column += SQUARE) {
            float square[SQUARE][SQUARE];
            for (int y = 0; y < SQUARE; y++)
                for (int x = 0; x < SQUARE; x++)
                    square[y][x] = in[(row + y) * n + column + x];
            for (int x = 0; x < SQUARE; x++)
#pragma omp simd
                for (int y = 0; y < SQUARE; y++)
                    out[(column + x) * n + row + y] = square[y][x];
        }
}

const struct bench bench_transpose = {
    .name = "transpose",
    .title = "transpose through shared tiles, 4096²",
    .cl = "transpose/kernel",
    .n = 4096,
    .quick_n = 256,
    .make = make,
    .device = device,
    .native = native,
};
