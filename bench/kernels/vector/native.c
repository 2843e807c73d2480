/* Vector add and saxpy: nothing but memory bandwidth. */
#include "harness.h"

enum { BLOCK = 256 };

static void make_add(struct bench_problem *p)
{
    uint32_t seed = 1;
    float *a = bench_add(p, BENCH_FLOAT, (size_t)p->n, 0);
    float *b = bench_add(p, BENCH_FLOAT, (size_t)p->n, 0);
    for (int i = 0; i < p->n; i++) {
        a[i] = bench_random(&seed, -1, 1);
        b[i] = bench_random(&seed, -1, 1);
    }
    bench_add(p, BENCH_FLOAT, (size_t)p->n, 1);
}

static void device_add(struct bench_queue *q, const struct bench_problem *p)
{
    BENCH_LAUNCH(q, "vector_add", (p->n + BLOCK - 1) / BLOCK, 1, BLOCK, 1, BENCH_ARRAY(0),
                 BENCH_ARRAY(1), BENCH_ARRAY(2), BENCH_INT_ARG(p->n));
}

static void native_add(const struct bench_problem *p)
{
    const float *restrict a = p->array[0].data, *restrict b = p->array[1].data;
    float *restrict c = p->array[2].data;
#pragma omp parallel for simd schedule(static)
    for (int i = 0; i < p->n; i++)
        c[i] = a[i] + b[i];
}

static void make_saxpy(struct bench_problem *p)
{
    uint32_t seed = 2;
    float *x = bench_add(p, BENCH_FLOAT, (size_t)p->n, 0);
    float *y = bench_add(p, BENCH_FLOAT, (size_t)p->n, 1);
    for (int i = 0; i < p->n; i++) {
        x[i] = bench_random(&seed, -1, 1);
        y[i] = bench_random(&seed, -1, 1);
    }
}

static void device_saxpy(struct bench_queue *q, const struct bench_problem *p)
{
    BENCH_LAUNCH(q, "saxpy", (p->n + BLOCK - 1) / BLOCK, 1, BLOCK, 1, BENCH_ARRAY(0),
                 BENCH_ARRAY(1), BENCH_FLOAT_ARG(1.5f), BENCH_INT_ARG(p->n));
}

static void native_saxpy(const struct bench_problem *p)
{
    const float *restrict x = p->array[0].data;
    float *restrict y = p->array[1].data;
#pragma omp parallel for simd schedule(static)
    for (int i = 0; i < p->n; i++)
        y[i] = 1.5f * x[i] + y[i];
}

const struct bench bench_vector_add = {
    .name = "vector_add",
    .title = "vector add, 2^24 floats",
    .cl = "vector/kernel",
    .n = 1 << 24,
    .quick_n = 100003,
    .make = make_add,
    .device = device_add,
    .native = native_add,
};
const struct bench bench_saxpy = {
    .name = "saxpy",
    .title = "saxpy, 2^24 floats",
    .cl = "vector/kernel",
    .n = 1 << 24,
    .quick_n = 100003,
    .tolerance = 1e-6,
    .make = make_saxpy,
    .device = device_saxpy,
    .native = native_saxpy,
};
