/* Steps of sorting: a radix pass of four bits, merging of sorted runs, rows sorted by a network. */
#include "row.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK = 256, RADIX = 16, SHIFT = 8, RUN = 4096, ROW_KEYS = 512, CHUNK = 1 << 14 };

static void make_radix(struct bench_problem *p)
{
    bench_add_ints(p, (size_t)p->n, 0, 1 << 30);
    bench_add(p, BENCH_INT, (size_t)p->n, BENCH_OUTPUT);
    bench_add(p, BENCH_INT, (size_t)bench_blocks(p->n, BLOCK) * RADIX, BENCH_INPUT);
}

static void device_radix(struct bench_queue *q, const struct bench_problem *p)
{
    int blocks = bench_blocks(p->n, BLOCK);
    BENCH_LAUNCH(q, "radix_count", blocks, 1, BLOCK, 1, ARRAY(0), ARRAY(2), INT(p->n), INT(SHIFT));
    BENCH_LAUNCH(q, "radix_scan", 1, 1, BLOCK, 1, ARRAY(2), INT(blocks * RADIX));
    BENCH_LAUNCH(q, "radix_scatter", blocks, 1, BLOCK, 1, ARRAY(0), ARRAY(1), ARRAY(2), INT(p->n),
                 INT(SHIFT));
}

static void native_radix(const struct bench_problem *p)
{
    const int *keys = DATA(p, 0);
    int *out = DATA(p, 1), chunks = bench_blocks(p->n, CHUNK);
    int(*counts)[RADIX] = calloc((size_t)chunks, sizeof *counts);
    if (counts == NULL)
        bench_stop("no memory");
#pragma omp parallel
    {
#pragma omp for schedule(static)
        for (int c = 0; c < chunks; c++) {
            int mine[4][RADIX] = {{0}};
            for (int i = c * CHUNK; i < (c + 1) * CHUNK && i < p->n; i++)
                mine[i & 3][keys[i] >> SHIFT & (RADIX - 1)]++;
            for (int d = 0; d < RADIX; d++)
                counts[c][d] = mine[0][d] + mine[1][d] + mine[2][d] + mine[3][d];
        }
#pragma omp single
        for (int d = 0, sum = 0; d < RADIX; d++)
            for (int c = 0; c < chunks; c++) {
                int here = counts[c][d];
                counts[c][d] = sum;
                sum += here;
            }
#pragma omp for schedule(static)
        for (int c = 0; c < chunks; c++) {
            int next[RADIX];
            memcpy(next, counts[c], sizeof next);
            for (int i = c * CHUNK; i < (c + 1) * CHUNK && i < p->n; i++)
                out[next[keys[i] >> SHIFT & (RADIX - 1)]++] = keys[i];
        }
    }
    free(counts);
}

static int by_value(const void *a, const void *b)
{
    const int *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static void make_merge(struct bench_problem *p)
{
    int *keys = bench_add_ints(p, (size_t)p->n, 0, 1 << 30);
    for (int i = 0; i < p->n; i += RUN)
        qsort(keys + i, RUN, sizeof *keys, by_value);
    bench_add(p, BENCH_INT, (size_t)p->n, BENCH_OUTPUT);
}

static void device_merge(struct bench_queue *q, const struct bench_problem *p)
{
    int each = q->spelling == 2 ? 64 : 16;
    BENCH_LAUNCH(q, "merge_runs", bench_blocks(p->n / each, 128), 1, 128, 1, ARRAY(0), ARRAY(1),
                 INT(p->n), INT(RUN));
}

static void native_merge(const struct bench_problem *p)
{
    const int *in = DATA(p, 0);
    int *out = DATA(p, 1);
#pragma omp parallel for schedule(static)
    for (int base = 0; base < p->n; base += 2 * RUN) {
        const int *a = in + base, *b = a + RUN, *a_end = b, *b_end = b + RUN;
        int *to = out + base;
        while (a < a_end && b < b_end) {
            int left = *a <= *b;
            *to++ = left ? *a : *b;
            a += left;
            b += !left;
        }
        memcpy(to, a, (size_t)(a_end - a) * sizeof *a);
        memcpy(to + (a_end - a), b, (size_t)(b_end - b) * sizeof *b);
    }
}

static void make_rows(struct bench_problem *p)
{
    bench_add_ints(p, (size_t)p->n * ROW_KEYS, 0, 1 << 30);
    bench_add(p, BENCH_INT, (size_t)p->n * ROW_KEYS, BENCH_OUTPUT);
}

static void device_rows(struct bench_queue *q, const struct bench_problem *p)
{
    static const unsigned threads[] = {256, 512, 128};
    BENCH_LAUNCH(q, "sort_rows", p->n, 1, threads[q->spelling], 1, ARRAY(0), ARRAY(1));
}

/* Compares keys at a distance of `by`, `by` of them, where both are in one part. */
static void exchange(int *restrict s, int from, int by, int part)
{
    int end = from + by < ROW_KEYS - by ? from + by : ROW_KEYS - by;
    for (int i = from; i < end;) {
        int stop = (i / part + 1) * part - by; /* up to here both are in one part */
        int until = stop < end ? stop : end;
#pragma clang loop vectorize(assume_safety)
        for (int k = i; k < until; k++) {
            int a = s[k], b = s[k + by];
            s[k] = a < b ? a : b;
            s[k + by] = a < b ? b : a;
        }
        i = stop + by > i ? stop + by : end;
    }
}

/* The network of each row, its comparisons by vectors. */
static void native_rows(const struct bench_problem *p)
{
#pragma omp parallel for schedule(static)
    for (int row = 0; row < p->n; row++) {
        int *restrict s = (int *)DATA(p, 1) + row * ROW_KEYS;
        memcpy(s, (const int *)DATA(p, 0) + row * ROW_KEYS, ROW_KEYS * sizeof *s);
        for (int k = 1; k < ROW_KEYS; k *= 2)
            for (int j = k; j > 0; j /= 2)
                for (int from = j % k; from + j < ROW_KEYS; from += 2 * j)
                    exchange(s, from, j, 2 * k);
    }
}

const struct bench bench_radix_pass = {
    .name = "radix_pass",
    .title = "radix pass of 4 bits, 2^21 keys",
    .n = 1 << 21,
    .quick_n = 5001,
    .make = make_radix,
    .device = device_radix,
    .native = native_radix,
    .spelling = {"ballots", "match", NULL},
};
const struct bench bench_merge_runs = {
    .name = "merge_runs",
    .title = "merging of sorted runs of 4096, 2^21 keys",
    .cl = "sort/steps",
    .n = 1 << 21,
    .quick_n = 1 << 14,
    .make = make_merge,
    .device = device_merge,
    .native = native_merge,
    .spelling = {"16 a thread", "runs constant", "64 a thread"},
};
const struct bench bench_sort_rows = {
    .name = "sort_rows",
    .title = "odd-even merge sort of 1024 rows of 512 keys",
    .cl = "sort/steps",
    .n = 1024,
    .quick_n = 7,
    .make = make_rows,
    .device = device_rows,
    .native = native_rows,
    .spelling = {"256 threads", "512 threads", "128 threads"},
};
