/* Inclusive prefix sums: each thread sums its part, then scans it from the sum of those before. */
#include "harness.h"

#include <omp.h>

enum { BLOCK = 256, MAX_THREADS = 1024 };

static int blocks_of(int n) { return (n + BLOCK - 1) / BLOCK; }

/* Arrays: input, output, then for each level its sums and their scan. */
static void make(struct bench_problem *p)
{
    uint32_t seed = 10;
    int *in = bench_add(p, BENCH_INT, (size_t)p->n, 0);
    for (int i = 0; i < p->n; i++)
        in[i] = (int)bench_random(&seed, 0, 100);
    bench_add(p, BENCH_INT, (size_t)p->n, 1);
    for (int n = blocks_of(p->n), level = 0; level < 2; level++, n = blocks_of(n)) {
        bench_add(p, BENCH_INT, (size_t)n, 0);
        bench_add(p, BENCH_INT, (size_t)n, 0);
    }
    bench_add(p, BENCH_INT, 1, 0); /* the last sum, which nobody reads */
}

static void device(struct bench_queue *q, const struct bench_problem *p)
{
    int n[3] = {p->n, blocks_of(p->n), blocks_of(blocks_of(p->n))};
    for (int level = 0; level < 3; level++)
        BENCH_LAUNCH(q, "scan_blocks", blocks_of(n[level]), 1, BLOCK, 1, BENCH_ARRAY(2 * level),
                     BENCH_ARRAY(2 * level + 1), BENCH_ARRAY(2 * level + 2),
                     BENCH_INT_ARG(n[level]));
    for (int level = 1; level >= 0; level--)
        BENCH_LAUNCH(q, "scan_add", blocks_of(n[level]), 1, BLOCK, 1, BENCH_ARRAY(2 * level + 1),
                     BENCH_ARRAY(2 * level + 3), BENCH_INT_ARG(n[level]));
}

static void native(const struct bench_problem *p)
{
    const int *restrict in = p->array[0].data;
    int *restrict out = p->array[1].data;
    static int sums[MAX_THREADS];
#pragma omp parallel
    {
        int me = omp_get_thread_num(), threads = omp_get_num_threads(), sum = 0;
        int first = (int)((long)p->n * me / threads), end = (int)((long)p->n * (me + 1) / threads);
#pragma omp simd reduction(+ : sum)
        for (int i = first; i < end; i++)
            sum += in[i];
        sums[me] = sum;
#pragma omp barrier
        sum = 0;
        for (int t = 0; t < me; t++)
            sum += sums[t];
        for (int i = first; i < end; i++)
            out[i] = sum += in[i];
    }
}

const struct bench bench_scan = {
    .name = "scan",
    .title = "inclusive scan, 2^24 integers",
    .cl = "scan/kernel",
    .n = 1 << 24,
    .quick_n = 100003,
    .make = make,
    .device = device,
    .native = native,
};
