/* Sparse matrix times vector: rows of 4 to 28 elements, columns within 4096 of the diagonal. */
#include "harness.h"

enum { BLOCK = 256, BAND = 4096, MOST = 28 };

static void make(struct bench_problem *p)
{
    uint32_t seed = 11;
    int *start = bench_add(p, BENCH_INT, (size_t)p->n + 1, 0);
    for (int row = 0; row < p->n; row++)
        start[row + 1] = start[row] + (int)bench_random(&seed, 4, MOST + 1);
    size_t count = (size_t)start[p->n];
    int *column = bench_add(p, BENCH_INT, count, 0);
    float *value = bench_add(p, BENCH_FLOAT, count, 0);
    for (int row = 0; row < p->n; row++)
        for (int i = start[row]; i < start[row + 1]; i++) {
            int near = row + (int)bench_random(&seed, -BAND, BAND);
            column[i] = near < 0 ? 0 : near >= p->n ? p->n - 1 : near;
            value[i] = bench_random(&seed, 0, 1);
        }
    float *x = bench_add(p, BENCH_FLOAT, (size_t)p->n, 0);
    for (int i = 0; i < p->n; i++)
        x[i] = bench_random(&seed, 0, 1);
    bench_add(p, BENCH_FLOAT, (size_t)p->n, 1);
}

static void device(struct bench_queue *q, const struct bench_problem *p)
{
    BENCH_LAUNCH(q, "spmv", (p->n + BLOCK - 1) / BLOCK, 1, BLOCK, 1, BENCH_ARRAY(0), BENCH_ARRAY(1),
                 BENCH_ARRAY(2), BENCH_ARRAY(3), BENCH_ARRAY(4), BENCH_INT_ARG(p->n));
}

static void device_warp(struct bench_queue *q, const struct bench_problem *p)
{
    BENCH_LAUNCH(q, "spmv_warp", (p->n * 32 + BLOCK - 1) / BLOCK, 1, BLOCK, 1, BENCH_ARRAY(0),
                 BENCH_ARRAY(1), BENCH_ARRAY(2), BENCH_ARRAY(3), BENCH_ARRAY(4),
                 BENCH_INT_ARG(p->n));
}

static void native(const struct bench_problem *p)
{
    const int *restrict start = p->array[0].data, *restrict column = p->array[1].data;
    const float *restrict value = p->array[2].data, *restrict x = p->array[3].data;
    float *restrict y = p->array[4].data;
#pragma omp parallel for schedule(static)
    for (int row = 0; row < p->n; row++) {
        float sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int i = start[row]; i < start[row + 1]; i++)
            sum += value[i] * x[column[i]];
        y[row] = sum;
    }
}

const struct bench bench_spmv = {
    .name = "spmv",
    .title = "CSR matrix-vector by thread, 2^19 rows, 8 Mi",
    .cl = "spmv/kernel",
    .n = 1 << 19,
    .quick_n = 5000,
    .tolerance = 1e-5,
    .make = make,
    .device = device,
    .native = native,
};

const struct bench bench_spmv_warp = {
    .name = "spmv_warp",
    .title = "CSR matrix-vector by warp, 2^19 rows, 8 Mi",
    .cl = "spmv/kernel",
    .n = 1 << 19,
    .quick_n = 5000,
    .tolerance = 1e-5,
    .needs_shuffle = 1,
    .make = make,
    .device = device_warp,
    .native = native,
};
