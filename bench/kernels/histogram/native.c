/* Histogram of bytes: each thread counts into four tables, so that equal neighbours do not wait for
 * each other. */
#include "harness.h"

#include <string.h>

enum { BLOCK = 256, GRID = 256 };

static void make(struct bench_problem *p)
{
    uint32_t seed = 7;
    unsigned char *bytes = bench_add(p, BENCH_BYTE, (size_t)p->n, 0);
    for (int i = 0; i < p->n; i++)
        bytes[i] = (unsigned char)(bench_random(&seed, 0, 16) * bench_random(&seed, 0, 16));
    bench_add(p, BENCH_INT, 256, 1);
}

static void device(struct bench_queue *q, const struct bench_problem *p)
{
    q->zero(q, 1);
    BENCH_LAUNCH(q, "histogram", GRID, 1, BLOCK, 1, BENCH_ARRAY(0), BENCH_ARRAY(1),
                 BENCH_INT_ARG(p->n));
}

static void native(const struct bench_problem *p)
{
    const unsigned char *bytes = p->array[0].data;
    int *counts = p->array[1].data, n4 = p->n & ~3;
    memset(counts, 0, 256 * sizeof *counts);
#pragma omp parallel
    {
        int mine[4][256] = {{0}};
#pragma omp for schedule(static)
        for (int i = 0; i < n4; i += 4)
            for (int k = 0; k < 4; k++)
                mine[k][bytes[i + k]]++;
#pragma omp critical
        for (int b = 0; b < 256; b++)
            counts[b] += mine[0][b] + mine[1][b] + mine[2][b] + mine[3][b];
    }
    for (int i = n4; i < p->n; i++)
        counts[bytes[i]]++;
}

const struct bench bench_histogram = {
    .name = "histogram",
    .title = "histogram with shared atomics, 2^24 bytes",
    .cl = "histogram/kernel",
    .n = 1 << 24,
    .quick_n = 200003,
    .make = make,
    .device = device,
    .native = native,
    .spelling = {"bytes", "vectors of 4 bytes", "64-bit index, loops over the table"},
};
