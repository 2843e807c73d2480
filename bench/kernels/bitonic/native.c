/* Sorting: the same network, whose steps within 4096 keys are done while they are in the cache. */
#include "harness.h"

enum { PART = 1024, NEAR = 4096 };

static void make(struct bench_problem *p)
{
    uint32_t seed = 21;
    int *keys = bench_add(p, BENCH_INT, (size_t)p->n, 1);
    for (int i = 0; i < p->n; i++) {
        seed = seed * 1664525u + 1013904223u;
        keys[i] = (int)(seed >> 1);
    }
}

static void device(struct bench_queue *q, const struct bench_problem *p)
{
    BENCH_LAUNCH(q, "bitonic_parts", p->n / PART, 1, PART / 2, 1, BENCH_ARRAY(0));
    for (int size = 2 * PART; size <= p->n; size *= 2) {
        for (int step = size / 2; step >= PART; step /= 2)
            BENCH_LAUNCH(q, "bitonic_step", p->n / 2 / 256, 1, 256, 1, BENCH_ARRAY(0),
                         BENCH_INT_ARG(size), BENCH_INT_ARG(step));
        BENCH_LAUNCH(q, "bitonic_merge", p->n / PART, 1, PART / 2, 1, BENCH_ARRAY(0),
                     BENCH_INT_ARG(size));
    }
}

/* One step over keys[0..n), n a multiple of 2 * step, all in one direction. */
static void step_one_way(uint32_t *restrict keys, int n, int step, int up)
{
    for (int at = 0; at < n; at += 2 * step) {
        uint32_t *restrict a = keys + at, *restrict b = keys + at + step;
#pragma omp simd
        for (int i = 0; i < step; i++) {
            uint32_t low = a[i] < b[i] ? a[i] : b[i], high = a[i] < b[i] ? b[i] : a[i];
            a[i] = up ? low : high;
            b[i] = up ? high : low;
        }
    }
}

static void merge(uint32_t *keys, int n, int up)
{
    for (int step = n / 2; step > 0; step /= 2)
        step_one_way(keys, n, step, up);
}

static void native(const struct bench_problem *p)
{
    uint32_t *keys = p->array[0].data;
    int n = p->n, near = n < NEAR ? n : NEAR;
#pragma omp parallel
    {
#pragma omp for
        for (int first = 0; first < n; first += near)
            for (int size = 2; size <= near; size *= 2)
                for (int at = first; at < first + near; at += size)
                    merge(keys + at, size, (at & size) == 0);
        for (int size = 2 * near; size <= n; size *= 2) {
            for (int step = size / 2; step >= near; step /= 2) {
#pragma omp for
                for (int part = 0; part < n / 2; part += near / 2) {
                    int at = 2 * part - (part & (step - 1)), up = (at & size) == 0;
                    uint32_t *restrict a = keys + at, *restrict b = keys + at + step;
#pragma omp simd
                    for (int i = 0; i < near / 2; i++) {
                        uint32_t low = a[i] < b[i] ? a[i] : b[i], high = a[i] < b[i] ? b[i] : a[i];
                        a[i] = up ? low : high;
                        b[i] = up ? high : low;
                    }
                }
            }
#pragma omp for
            for (int first = 0; first < n; first += near)
                merge(keys + first, near, (first & size) == 0);
        }
    }
}

const struct bench bench_bitonic = {
    .name = "bitonic",
    .title = "bitonic sort, 2^20 keys",
    .cl = "bitonic/kernel",
    .n = 1 << 20,
    .quick_n = 1 << 13,
    .make = make,
    .device = device,
    .native = native,
};
