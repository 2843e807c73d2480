/* Graphs in compressed rows: rank by pulling from neighbours, shortest paths by relaxing. */
#include "row.h"

#include <string.h>

enum { BLOCK = 256, DEGREE = 16, RANK_STEPS = 4, RELAX_STEPS = 8, FAR = 0x7fffffff };

/* Each vertex has 1 to DEGREE neighbours, most of them not far in number. */
static void make_graph(struct bench_problem *p)
{
    uint32_t seed = 9;
    int *start = bench_add(p, BENCH_INT, (size_t)p->n + 1, BENCH_INPUT);
    for (int v = 0; v < p->n; v++)
        start[v + 1] = start[v] + (int)bench_random(&seed, 1, DEGREE + 1);
    int *neighbour = bench_add(p, BENCH_INT, (size_t)start[p->n], BENCH_INPUT);
    for (int v = 0; v < p->n; v++)
        for (int e = start[v]; e < start[v + 1]; e++) {
            int step = (int)bench_random(&seed, 0, e % 4 ? 2000 : (float)p->n);
            neighbour[e] = (v + step + 1) % p->n;
        }
}

static void make_rank(struct bench_problem *p)
{
    make_graph(p);
    bench_add_floats(p, (size_t)p->n, 0, 1);
    bench_add(p, BENCH_FLOAT, (size_t)p->n, BENCH_OUTPUT);
}

static void device_rank(struct bench_queue *q, const struct bench_problem *p)
{
    int grid = q->spelling == 2 ? 512 : bench_blocks(p->n, BLOCK);
    for (int step = 0; step < RANK_STEPS; step++)
        BENCH_LAUNCH(q, "rank_pull", grid, 1, BLOCK, 1, ARRAY(0), ARRAY(1), ARRAY(2), ARRAY(3),
                     INT(p->n));
}

static void native_rank(const struct bench_problem *p)
{
    const int *restrict start = DATA(p, 0), *restrict neighbour = DATA(p, 1);
    const float *restrict share = DATA(p, 2);
    float *restrict out = DATA(p, 3);
    for (int step = 0; step < RANK_STEPS; step++)
#pragma omp parallel for schedule(static)
        for (int v = 0; v < p->n; v++) {
            float sum = 0;
            for (int e = start[v]; e < start[v + 1]; e++)
                sum += share[neighbour[e]];
            out[v] = (0.15f + 0.85f * sum) / (float)(start[v + 1] - start[v]);
        }
}

static void make_paths(struct bench_problem *p)
{
    make_graph(p);
    bench_add_ints(p, p->array[1].count, 1, 1000);
    int *distance = bench_add(p, BENCH_INT, (size_t)p->n, BENCH_OUTPUT);
    for (int v = 0; v < p->n; v++)
        distance[v] = v % 1024 ? FAR : 0;
}

/* Steps go on where the last run ended, which is the end: every distance is final after them. */
static void device_paths(struct bench_queue *q, const struct bench_problem *p)
{
    int threads = q->spelling == 2 ? p->n * 32 : p->n;
    for (int step = 0; step < RELAX_STEPS * 4; step++)
        BENCH_LAUNCH(q, "relax", bench_blocks(threads, BLOCK), 1, BLOCK, 1, ARRAY(0), ARRAY(1),
                     ARRAY(2), ARRAY(3), INT(p->n));
}

static void native_paths(const struct bench_problem *p)
{
    const int *start = DATA(p, 0), *neighbour = DATA(p, 1), *weight = DATA(p, 2);
    int *distance = DATA(p, 3);
    for (int step = 0; step < RELAX_STEPS * 4; step++)
#pragma omp parallel for schedule(static)
        for (int v = 0; v < p->n; v++) {
            int mine = __atomic_load_n(&distance[v], __ATOMIC_RELAXED);
            if (mine == FAR)
                continue;
            for (int e = start[v]; e < start[v + 1]; e++) {
                int far = mine + weight[e], *to = &distance[neighbour[e]];
                int there = __atomic_load_n(to, __ATOMIC_RELAXED);
                while (far < there && !__atomic_compare_exchange_n(
                                          to, &there, far, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
                    ;
            }
        }
}

BENCH_ROW(rank_pull, "page rank by pulling, 2^18 vertices, 4 steps", 1 << 18, 2001, 1e-5,
          "graph/steps", rank, rank, "int index", "64-bit index", "grid-stride loop");
BENCH_ROW(relax, "shortest paths, 2^16 vertices, 32 relaxations", 1 << 16, 1001, 0, "graph/steps",
          paths, paths, "looks first", "atomics always", "a warp a vertex");
