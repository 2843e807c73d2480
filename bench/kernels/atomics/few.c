/* Atomics that many threads aim at few places. Native threads count, sum and collect on their own
 * and join at the end. */
#include "row.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK = 256, STRIDE_GRID = 256, LIMIT = 700, MOST = 1000, KEYS = 4096 };

static void make_count(struct bench_problem *p)
{
    bench_add_ints(p, (size_t)p->n, 0, 1 << 20);
    bench_add(p, BENCH_INT, 16, BENCH_OUTPUT);
}

static void device_count(struct bench_queue *q, const struct bench_problem *p)
{
    int grid = q->spelling == 1 ? STRIDE_GRID : bench_blocks(p->n, BLOCK);
    q->zero(q, 1);
    BENCH_LAUNCH(q, "count_few", grid, 1, BLOCK, 1, ARRAY(0), ARRAY(1), INT(p->n));
}

static void native_count(const struct bench_problem *p)
{
    const int *key = DATA(p, 0);
    int *counts = DATA(p, 1);
    memset(counts, 0, 16 * sizeof *counts);
#pragma omp parallel
    {
        int mine[4][16] = {{0}};
#pragma omp for schedule(static)
        for (int i = 0; i < p->n; i++)
            mine[i & 3][key[i] & 15]++;
#pragma omp critical
        for (int k = 0; k < 16; k++)
            counts[k] += mine[0][k] + mine[1][k] + mine[2][k] + mine[3][k];
    }
}

static void make_range(struct bench_problem *p)
{
    bench_add_ints(p, (size_t)p->n, -1000000, 1000000);
    bench_add(p, BENCH_INT, 2, BENCH_OUTPUT);
}

static void device_range(struct bench_queue *q, const struct bench_problem *p)
{
    q->zero(q, 1);
    BENCH_LAUNCH(q, "range_few", bench_blocks(p->n, BLOCK), 1, BLOCK, 1, ARRAY(0), ARRAY(1),
                 INT(p->n));
}

static void native_range(const struct bench_problem *p)
{
    const int *value = DATA(p, 0);
    int low = 0, high = 0;
#pragma omp parallel for simd reduction(min : low) reduction(max : high)
    for (int i = 0; i < p->n; i++) {
        low = value[i] < low ? value[i] : low;
        high = value[i] > high ? value[i] : high;
    }
    int *range = DATA(p, 1);
    range[0] = low;
    range[1] = high;
}

static void make_append(struct bench_problem *p)
{
    bench_add_ints(p, (size_t)p->n, 0, MOST);
    bench_add(p, BENCH_INT, (size_t)p->n, BENCH_UNORDERED);
    bench_add(p, BENCH_INT, 1, BENCH_OUTPUT);
}

static void device_append(struct bench_queue *q, const struct bench_problem *p)
{
    q->zero(q, 2);
    BENCH_LAUNCH(q, "append_warp", bench_blocks(p->n, BLOCK), 1, BLOCK, 1, ARRAY(0), ARRAY(1),
                 ARRAY(2), INT(p->n), INT(LIMIT));
}

/* Chunks are collected in place and copied together. */
static void native_append(const struct bench_problem *p)
{
    enum { CHUNK = 4096 };
    const int *value = DATA(p, 0);
    int *list = DATA(p, 1), length = 0;
#pragma omp parallel for schedule(static)
    for (int at = 0; at < p->n; at += CHUNK) {
        int mine[CHUNK], found = 0, start, end = at + CHUNK < p->n ? at + CHUNK : p->n;
        for (int i = at; i < end; i++) {
            mine[found] = value[i];
            found += value[i] >= LIMIT;
        }
#pragma omp atomic capture
        {
            start = length;
            length += found;
        }
        memcpy(list + start, mine, (size_t)found * sizeof *mine);
    }
    *(int *)DATA(p, 2) = length;
}

static void make_sums(struct bench_problem *p)
{
    int *key = bench_add_ints(p, (size_t)p->n, 0, KEYS);
    for (int i = 0; i < p->n; i++)
        key[i] = key[i - i % 8];
    bench_add_floats(p, (size_t)p->n, 0, 1);
    bench_add(p, BENCH_FLOAT, KEYS, BENCH_OUTPUT);
}

static void device_sums(struct bench_queue *q, const struct bench_problem *p)
{
    int threads = q->spelling == 1 ? p->n / 4 : p->n;
    int grid = q->spelling == 2 ? STRIDE_GRID : bench_blocks(threads, BLOCK);
    q->zero(q, 2);
    BENCH_LAUNCH(q, "sum_keys", grid, 1, BLOCK, 1, ARRAY(0), ARRAY(1), ARRAY(2), INT(p->n));
}

static void native_sums(const struct bench_problem *p)
{
    const int *key = DATA(p, 0);
    const float *value = DATA(p, 1);
    float *sums = DATA(p, 2);
    memset(sums, 0, KEYS * sizeof *sums);
#pragma omp parallel
    {
        float mine[KEYS] = {0};
#pragma omp for schedule(static)
        for (int i = 0; i < p->n; i++)
            mine[key[i]] += value[i];
#pragma omp critical
        for (int k = 0; k < KEYS; k++)
            sums[k] += mine[k];
    }
}

const struct bench bench_count_few = {
    .name = "count_few",
    .title = "counts of 16 keys by global atomics, 2^22",
    .cl = "atomics/few",
    .n = 1 << 22,
    .quick_n = 10001,
    .make = make_count,
    .device = device_count,
    .native = native_count,
    .spelling = {"a thread each", "grid-stride loop", "64-bit index"},
};
const struct bench bench_range_few = {
    .name = "range_few",
    .title = "least and greatest by atomics, 2^22 integers",
    .cl = "atomics/few",
    .n = 1 << 22,
    .quick_n = 10001,
    .make = make_range,
    .device = device_range,
    .native = native_range,
    .spelling = {"global", "shared first", "warp first"},
};
const struct bench bench_append_warp = {
    .name = "append_warp",
    .title = "filter into a list by warps' atomics, 2^22",
    .cl = NULL,
    .n = 1 << 22,
    .quick_n = 10001,
    .make = make_append,
    .device = device_append,
    .native = native_append,
    .spelling = {"ballot", "an atomic a thread", "coalesced groups"},
};
const struct bench bench_sum_keys = {
    .name = "sum_keys",
    .title = "float sums by 4096 keys, global atomics, 2^22",
    .n = 1 << 22,
    .quick_n = 10000,
    .tolerance = 1e-4,
    .make = make_sums,
    .device = device_sums,
    .native = native_sums,
    .spelling = {"a thread each", "four a thread", "grid-stride loop"},
};
