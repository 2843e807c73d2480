/* Sum of an array. */
#include "harness.h"

enum { BLOCK = 256 };

static int blocks_of(int n) { return (n + BLOCK - 1) / BLOCK; }

static void make(struct bench_problem *p)
{
    uint32_t seed = 4;
    float *in = bench_add(p, BENCH_FLOAT, (size_t)p->n, 0);
    for (int i = 0; i < p->n; i++)
        in[i] = bench_random(&seed, 0, 1);
    bench_add(p, BENCH_FLOAT, (size_t)blocks_of(p->n), 0);
    bench_add(p, BENCH_FLOAT, (size_t)blocks_of(blocks_of(p->n)), 0);
    bench_add(p, BENCH_FLOAT, 1, 1);
}

static void device(struct bench_queue *q, const struct bench_problem *p, const char *kernel)
{
    int n = p->n;
    for (int pass = 0; pass < 3; pass++, n = blocks_of(n))
        BENCH_LAUNCH(q, kernel, blocks_of(n), 1, BLOCK, 1, BENCH_ARRAY(pass), BENCH_ARRAY(pass + 1),
                     BENCH_INT_ARG(n));
}

static void device_tree(struct bench_queue *q, const struct bench_problem *p)
{
    device(q, p, "reduce_tree");
}
static void device_shuffle(struct bench_queue *q, const struct bench_problem *p)
{
    device(q, p, "reduce_shuffle");
}

static void native(const struct bench_problem *p)
{
    const float *in = p->array[0].data;
    float *out = p->array[3].data, sum = 0;
#pragma omp parallel for simd schedule(static) reduction(+ : sum)
    for (int i = 0; i < p->n; i++)
        sum += in[i];
    *out = sum;
}

const struct bench bench_reduce_tree = {
    .name = "reduce_tree",
    .title = "reduction by a shared-memory tree, 2^24 floats",
    .cl = "reduce/kernel",
    .n = 1 << 24,
    .quick_n = 100003,
    .tolerance = 1e-4,
    .make = make,
    .device = device_tree,
    .native = native,
};
const struct bench bench_reduce_shuffle = {
    .name = "reduce_shuffle",
    .title = "reduction by warp shuffles, 2^24 floats",
    .cl = "reduce/kernel",
    .n = 1 << 24,
    .quick_n = 100003,
    .tolerance = 1e-4,
    .make = make,
    .device = device_shuffle,
    .native = native,
    .needs_shuffle = 1,
};
