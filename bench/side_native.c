/* The native side: arrays in huge pages, first touched by the threads that will use them. */
#include "harness.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct native {
    const struct bench *bench;
    struct bench_problem *problem;
};

static void run(void *context)
{
    struct native *native = context;
    native->bench->native(native->problem);
}

static void copy_in_parallel(char *to, const char *from, size_t bytes)
{
    enum { CHUNK = 1 << 16 };
#pragma omp parallel for schedule(static)
    for (size_t at = 0; at < bytes; at += CHUNK)
        memcpy(to + at, from + at, bytes - at < CHUNK ? bytes - at : CHUNK);
}

double bench_run_native(const struct bench *bench, struct bench_problem *problem, int spelling,
                        double budget_ms, void *result)
{
    (void)spelling; /* there is one */
    struct bench_problem own = *problem;
    struct native native = {bench, &own};
    for (int i = 0; i < own.arrays; i++) {
        size_t bytes = bench_bytes(&own.array[i]), rounded = (bytes + (2u << 20) - 1) & -(2u << 20);
        own.array[i].data = aligned_alloc(2u << 20, rounded);
        if (own.array[i].data == NULL)
            bench_stop("no memory");
        madvise(own.array[i].data, rounded, MADV_HUGEPAGE);
        copy_in_parallel(own.array[i].data, problem->array[i].data, bytes);
    }
    double best = bench_best(budget_ms, run, &native);
    if (result == NULL)
        return best;
    for (int i = 0; i < own.arrays; i++)
        copy_in_parallel(own.array[i].data, problem->array[i].data, bench_bytes(&own.array[i]));
    run(&native);
    char *to = result;
    for (int i = 0; i < own.arrays; i++) {
        if (!own.array[i].output)
            continue;
        memcpy(to, own.array[i].data, bench_bytes(&own.array[i]));
        to += bench_bytes(&own.array[i]);
    }
    return best;
}
