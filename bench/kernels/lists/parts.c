/* Lists that parts of warps go over (sums of rows, intersections of sorted lists), scatters by
 * loops of compare-and-swap, walks whose paths are in shared memory. */
#include "row.h"

#include <math.h>
#include <string.h>

enum { BLOCK = 256, PART = 8, LENGTH = 24, STEPS = 16, WALKERS = 128, VERTICES = 1 << 14 };

/* Where each list starts, of 1 to LENGTH elements. */
static int *make_starts(struct bench_problem *p, uint32_t *seed)
{
    int *start = bench_add(p, BENCH_INT, (size_t)p->n + 1, BENCH_INPUT);
    for (int i = 0; i < p->n; i++)
        start[i + 1] = start[i] + (int)bench_random(seed, 1, LENGTH + 1);
    return start;
}

static void make_row_parts(struct bench_problem *p)
{
    uint32_t seed = 3;
    size_t entries = (size_t)make_starts(p, &seed)[p->n];
    int *column = bench_add(p, BENCH_INT, entries, BENCH_INPUT);
    for (size_t e = 0; e < entries; e++)
        column[e] = (int)bench_random(&seed, 0, (float)p->n);
    bench_add_floats(p, entries, 0, 1);
    bench_add_floats(p, (size_t)p->n, 0, 1);
    bench_add(p, BENCH_FLOAT, (size_t)p->n, BENCH_OUTPUT);
}
static void device_row_parts(struct bench_queue *q, const struct bench_problem *p)
{
    BENCH_LAUNCH(q, "row_parts", bench_blocks((long)p->n * PART, BLOCK), 1, BLOCK, 1, ARRAY(0),
                 ARRAY(1), ARRAY(2), ARRAY(3), ARRAY(4), INT(p->n));
}
static void native_row_parts(const struct bench_problem *p)
{
    const int *restrict start = DATA(p, 0), *restrict column = DATA(p, 1);
    const float *restrict value = DATA(p, 2), *restrict x = DATA(p, 3);
    float *restrict out = DATA(p, 4);
#pragma omp parallel for schedule(static)
    for (int row = 0; row < p->n; row++) {
        float sum = 0;
        for (int e = start[row]; e < start[row + 1]; e++)
            sum += value[e] * x[column[e]];
        out[row] = sum;
    }
}

static void make_intersect(struct bench_problem *p)
{
    uint32_t seed = 5;
    int *start = make_starts(p, &seed);
    int *item = bench_add(p, BENCH_INT, (size_t)start[p->n], BENCH_INPUT);
    for (int i = 0; i < p->n; i++)
        for (int e = start[i], last = 0; e < start[i + 1]; e++)
            item[e] = last += (int)bench_random(&seed, 1, 5);
    bench_add(p, BENCH_FLOAT, (size_t)p->n, BENCH_OUTPUT);
}
static void device_intersect(struct bench_queue *q, const struct bench_problem *p)
{
    int lanes = q->spelling == 0 ? PART : q->spelling == 1 ? 32 : 1;
    BENCH_LAUNCH(q, "intersect", bench_blocks((long)p->n * lanes, BLOCK), 1, BLOCK, 1, ARRAY(0),
                 ARRAY(1), ARRAY(2), INT(p->n));
}
static void native_intersect(const struct bench_problem *p)
{
    const int *restrict start = DATA(p, 0), *restrict item = DATA(p, 1);
    float *restrict out = DATA(p, 2);
#pragma omp parallel for schedule(static)
    for (int a = 0; a < p->n; a++) {
        int b = (int)((a * 7ll + 1) % p->n), i = start[a], k = start[b], common = 0;
        while (i < start[a + 1] && k < start[b + 1]) {
            int x = item[i], y = item[k];
            common += x == y;
            i += x <= y;
            k += y <= x;
        }
        out[a] =
            (float)common / (float)(start[a + 1] - start[a] + start[b + 1] - start[b] - common);
    }
}

static void make_scatter_cas(struct bench_problem *p)
{
    int places = p->n / 16;
    bench_add_ints(p, (size_t)p->n, 0, places);
    bench_add_floats(p, (size_t)p->n, 0.9f, 1.1f);
    for (int k = 0; k < 3; k++)
        bench_add(p, BENCH_FLOAT, (size_t)places, BENCH_OUTPUT);
}
static void device_scatter_cas(struct bench_queue *q, const struct bench_problem *p)
{
    int block = q->spelling == 1 ? 64 : BLOCK;
    BENCH_LAUNCH(q, "scatter_start", bench_blocks(p->n / 16, BLOCK), 1, BLOCK, 1, ARRAY(2),
                 ARRAY(3), ARRAY(4), INT(p->n / 16));
    BENCH_LAUNCH(q, "scatter_cas", q->spelling == 2 ? 512 : bench_blocks(p->n, block), 1, block, 1,
                 ARRAY(0), ARRAY(1), ARRAY(2), ARRAY(3), ARRAY(4), INT(p->n));
}
/* Changes a number that other threads change, too. */
#define CHANGE(to, result)                                                                         \
    do {                                                                                           \
        int *word = (int *)(to), seen = __atomic_load_n(word, __ATOMIC_RELAXED), next;             \
        do {                                                                                       \
            float before, after;                                                                   \
            memcpy(&before, &seen, sizeof seen);                                                   \
            after = (result);                                                                      \
            memcpy(&next, &after, sizeof next);                                                    \
        } while (next != seen && !__atomic_compare_exchange_n(                                     \
                                     word, &seen, next, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED));   \
    } while (0)
static void native_scatter_cas(const struct bench_problem *p)
{
    const int *restrict place = DATA(p, 0);
    const float *restrict value = DATA(p, 1);
    float *low = DATA(p, 2), *high = DATA(p, 3), *all = DATA(p, 4);
    for (int i = 0; i < p->n / 16; i++)
        low[i] = high[i] = all[i] = 1;
#pragma omp parallel for schedule(static)
    for (int i = 0; i < p->n; i++) {
        float v = value[i];
        int to = place[i];
        CHANGE(&low[to], v < before ? v : before);
        CHANGE(&high[to], v > before ? v : before);
        CHANGE(&all[to], v * before);
    }
}

static void make_walks(struct bench_problem *p)
{
    uint32_t seed = 8;
    int *neighbour = bench_add(p, BENCH_INT, (size_t)VERTICES * 4, BENCH_INPUT);
    for (int i = 0; i < VERTICES * 4; i++)
        neighbour[i] = (i / 4 + (int)bench_random(&seed, 0, 64)) % VERTICES;
    bench_add(p, BENCH_INT, (size_t)p->n, BENCH_OUTPUT);
}
static void device_walks(struct bench_queue *q, const struct bench_problem *p)
{
    BENCH_LAUNCH(q, "walks", p->n / WALKERS, 1, WALKERS, 1, ARRAY(0), ARRAY(1), INT(VERTICES));
}
static void native_walks(const struct bench_problem *p)
{
    const int *restrict neighbour = DATA(p, 0);
    int *restrict out = DATA(p, 1);
#pragma omp parallel for schedule(static)
    for (int walker = 0; walker < p->n; walker++) {
        int path[STEPS], length = 0, at = walker % VERTICES;
        uint32_t state = (uint32_t)walker * 2654435761u + 12345, sum = 0;
        memset(path, -1, sizeof path);
        for (;;) {
            path[length++] = at;
            sum = sum * 31 + (uint32_t)at;
            if (length == STEPS)
                break;
            state = state * 1664525u + 1013904223u;
            int next = -1;
            for (uint32_t tried = 0; tried < 4 && next < 0; tried++) {
                int to = neighbour[(uint32_t)at * 4 + ((state >> 30) + tried) % 4], visited = 0;
                for (int k = 0; k < STEPS; k++) /* all of it: one comparison of a vector */
                    visited |= path[k] == to;
                if (!visited)
                    next = to;
            }
            if (next < 0)
                break;
            at = next;
        }
        out[walker] = (int)sum;
    }
}

BENCH_ROW(row_parts, "sums of 2^18 rows by 8 lanes each", 1 << 18, 2001, 1e-5, NULL, row_parts,
          row_parts, "shuffles", "tiles of threads");
BENCH_ROW(intersect, "intersections of 2^16 pairs of sorted lists", 1 << 16, 1003, 1e-6, NULL,
          intersect, intersect, "8 lanes", "32 lanes", "a thread each");
BENCH_ROW(scatter_cas, "minima, maxima, products by compare-and-swap, 2^20", 1 << 20, 4000, 1e-5,
          "lists/parts", scatter_cas, scatter_cas, "256 threads", "64 threads", "grid-stride loop");
BENCH_ROW(walks, "2^16 walks of 16 steps, paths in shared memory", 1 << 16, 1024, 0, "lists/parts",
          walks, walks, "paths by columns", "paths by rows");
