/* Breadth-first search from vertex 0 of a random graph with 8 edges a vertex. */
#include "harness.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK = 256, DEGREE = 8, LEVELS = 16 };

/* Levels count from 1, 0 is "not reached". */
static void make(struct bench_problem *p)
{
    uint32_t seed = 51;
    int *start = bench_add(p, BENCH_INT, (size_t)p->n + 1, 0);
    int *neighbour = bench_add(p, BENCH_INT, (size_t)p->n * DEGREE, 0);
    for (int v = 0; v <= p->n; v++)
        start[v] = v * DEGREE;
    for (int i = 0; i < p->n * DEGREE; i++)
        neighbour[i] = (int)bench_random(&seed, 0, (float)p->n) % p->n;
    bench_add(p, BENCH_INT, (size_t)p->n, 1);
}

static void device(struct bench_queue *q, const struct bench_problem *p)
{
    q->zero(q, 2);
    BENCH_LAUNCH(q, "bfs_start", 1, 1, 1, 1, BENCH_ARRAY(2));
    for (int now = 1; now < LEVELS; now++)
        BENCH_LAUNCH(q, "bfs", (p->n + BLOCK - 1) / BLOCK, 1, BLOCK, 1, BENCH_ARRAY(0),
                     BENCH_ARRAY(1), BENCH_ARRAY(2), BENCH_INT_ARG(now), BENCH_INT_ARG(p->n));
}

/* By lists: each thread collects what it reaches first. */
static void native(const struct bench_problem *p)
{
    const int *start = p->array[0].data, *neighbour = p->array[1].data;
    int *level = p->array[2].data, n = p->n;
    int *list = malloc(sizeof(int) * (size_t)n), *next = malloc(sizeof(int) * (size_t)n);
    if (list == NULL || next == NULL)
        bench_stop("no memory");
    memset(level, 0, sizeof(int) * (size_t)n);
    level[0] = 1;
    list[0] = 0;
    int count = 1;
    for (int now = 1; count > 0 && now < LEVELS; now++) {
        int found = 0;
#pragma omp parallel
        {
            int mine[1024], held = 0;
#pragma omp for schedule(dynamic, 256)
            for (int k = 0; k < count; k++)
                for (int i = start[list[k]]; i < start[list[k] + 1]; i++) {
                    int to = neighbour[i], unseen = 0;
                    if (__atomic_load_n(&level[to], __ATOMIC_RELAXED) != 0 ||
                        !__atomic_compare_exchange_n(&level[to], &unseen, now + 1, 0,
                                                     __ATOMIC_RELAXED, __ATOMIC_RELAXED))
                        continue;
                    mine[held++] = to;
                    if (held == 1024) {
                        int at = __atomic_fetch_add(&found, held, __ATOMIC_RELAXED);
                        memcpy(next + at, mine, sizeof mine);
                        held = 0;
                    }
                }
            int at = __atomic_fetch_add(&found, held, __ATOMIC_RELAXED);
            memcpy(next + at, mine, sizeof(int) * (size_t)held);
        }
        int *t = list;
        list = next;
        next = t;
        count = found;
    }
    free(list);
    free(next);
}

const struct bench bench_bfs = {
    .name = "bfs",
    .title = "breadth-first search, 2^20 vertices, 8 Mi edges",
    .cl = "bfs/kernel",
    .n = 1 << 20,
    .quick_n = 5000,
    .make = make,
    .device = device,
    .native = native,
};
