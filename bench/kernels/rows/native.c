/* Softmax and layer norm of the rows of a matrix of 1024 columns: a row at a time, in the cache. */
#include "harness.h"

#include <math.h>

enum { COLUMNS = 1024, THREADS = 256 };

static void fill(float *v, size_t count, uint32_t *seed, float low, float high)
{
    for (size_t i = 0; i < count; i++)
        v[i] = bench_random(seed, low, high);
}

static void make_softmax(struct bench_problem *p)
{
    uint32_t seed = 31;
    size_t count = (size_t)p->n * COLUMNS;
    fill(bench_add(p, BENCH_FLOAT, count, 0), count, &seed, -4, 4);
    bench_add(p, BENCH_FLOAT, count, 1);
}

static void make_layer_norm(struct bench_problem *p)
{
    uint32_t seed = 32;
    size_t count = (size_t)p->n * COLUMNS;
    fill(bench_add(p, BENCH_FLOAT, count, 0), count, &seed, -4, 4);
    fill(bench_add(p, BENCH_FLOAT, COLUMNS, 0), COLUMNS, &seed, 0.5f, 2);
    fill(bench_add(p, BENCH_FLOAT, COLUMNS, 0), COLUMNS, &seed, -1, 1);
    bench_add(p, BENCH_FLOAT, count, 1);
}

static void device_softmax(struct bench_queue *q, const struct bench_problem *p)
{
    BENCH_LAUNCH(q, "softmax", p->n, 1, THREADS, 1, BENCH_ARRAY(0), BENCH_ARRAY(1),
                 BENCH_INT_ARG(COLUMNS));
}

static void device_layer_norm(struct bench_queue *q, const struct bench_problem *p)
{
    BENCH_LAUNCH(q, "layer_norm", p->n, 1, THREADS, 1, BENCH_ARRAY(0), BENCH_ARRAY(1),
                 BENCH_ARRAY(2), BENCH_ARRAY(3), BENCH_INT_ARG(COLUMNS));
}

static void native_softmax(const struct bench_problem *p)
{
#pragma omp parallel for schedule(static)
    for (int r = 0; r < p->n; r++) {
        const float *restrict in = (const float *)p->array[0].data + (size_t)r * COLUMNS;
        float *restrict out = (float *)p->array[1].data + (size_t)r * COLUMNS;
        float high = -1e30f, total = 0;
#pragma omp simd reduction(max : high)
        for (int i = 0; i < COLUMNS; i++)
            high = fmaxf(high, in[i]);
#pragma omp simd reduction(+ : total)
        for (int i = 0; i < COLUMNS; i++) {
            out[i] = expf(in[i] - high);
            total += out[i];
        }
        float inverse = 1 / total;
#pragma omp simd
        for (int i = 0; i < COLUMNS; i++)
            out[i] *= inverse;
    }
}

static void native_layer_norm(const struct bench_problem *p)
{
    const float *restrict scale = p->array[1].data, *restrict shift = p->array[2].data;
#pragma omp parallel for schedule(static)
    for (int r = 0; r < p->n; r++) {
        const float *restrict in = (const float *)p->array[0].data + (size_t)r * COLUMNS;
        float *restrict out = (float *)p->array[3].data + (size_t)r * COLUMNS;
        float total = 0, squares = 0;
#pragma omp simd reduction(+ : total)
        for (int i = 0; i < COLUMNS; i++)
            total += in[i];
        float mean = total / COLUMNS;
#pragma omp simd reduction(+ : squares)
        for (int i = 0; i < COLUMNS; i++)
            squares += (in[i] - mean) * (in[i] - mean);
        float inverse = 1 / sqrtf(squares / COLUMNS + 1e-5f);
#pragma omp simd
        for (int i = 0; i < COLUMNS; i++)
            out[i] = (in[i] - mean) * inverse * scale[i] + shift[i];
    }
}

const struct bench bench_softmax = {
    .name = "softmax",
    .title = "softmax, 4096 × 1024",
    .cl = "rows/kernel",
    .n = 4096,
    .quick_n = 20,
    .tolerance = 1e-5,
    .make = make_softmax,
    .device = device_softmax,
    .native = native_softmax,
};

const struct bench bench_layer_norm = {
    .name = "layer_norm",
    .title = "layer norm, 4096 × 1024",
    .cl = "rows/kernel",
    .n = 4096,
    .quick_n = 20,
    .tolerance = 1e-5,
    .make = make_layer_norm,
    .device = device_layer_norm,
    .native = native_layer_norm,
};
