/* The Mandelbrot set: two vectors of neighbours at a time until the last has escaped. */
#include "native.h"
#include "harness.h"

enum { BLOCK = 16, LIMIT = 256, VECTORS = 2 };

static void make(struct bench_problem *p)
{
    bench_add(p, BENCH_INT, (size_t)p->n * (size_t)p->n, 1);
}

static void device(struct bench_queue *q, const struct bench_problem *p)
{
    int grid = (p->n + BLOCK - 1) / BLOCK;
    BENCH_LAUNCH(q, "mandelbrot", grid, grid, BLOCK, BLOCK, BENCH_ARRAY(0), BENCH_INT_ARG(p->n),
                 BENCH_INT_ARG(LIMIT));
}

static int any(vint v)
{
    int set = 0;
    for (int i = 0; i < LANES; i++)
        set |= v[i];
    return set;
}

/* The VECTORS * LANES points that begin at a column. */
static void strip(int *steps, int column, float cy, int n)
{
    vfloat cx[VECTORS], x[VECTORS] = {{0}}, y[VECTORS] = {{0}};
    vint count[VECTORS] = {{0}}, inside[VECTORS];
    for (int v = 0; v < VECTORS; v++)
        for (int i = 0; i < LANES; i++) {
            cx[v][i] = -2.0f + 2.5f * (float)(column + v * LANES + i) / (float)n;
            inside[v][i] = -1;
        }
    for (int step = 0; step < LIMIT; step++) {
#pragma unroll
        for (int v = 0; v < VECTORS; v++) {
            vfloat xx = x[v] * x[v], yy = y[v] * y[v];
            inside[v] &= xx + yy < 4;
            count[v] -= inside[v];
            y[v] = 2 * x[v] * y[v] + cy;
            x[v] = xx - yy + cx[v];
        }
        if (step % 4 == 3 && !any(inside[0] | inside[1]))
            break;
    }
    for (int v = 0; v < VECTORS; v++)
        for (int i = 0; i < LANES && column + v * LANES + i < n; i++)
            steps[column + v * LANES + i] = count[v][i];
}

static void native(const struct bench_problem *p)
{
    int n = p->n, *steps = p->array[0].data;
#pragma omp parallel for schedule(dynamic, 8)
    for (int row = 0; row < n; row++)
        for (int column = 0; column < n; column += VECTORS * LANES)
            strip(steps + row * n, column, -1.25f + 2.5f * (float)row / (float)n, n);
}

const struct bench bench_mandelbrot = {
    .name = "mandelbrot",
    .title = "mandelbrot, 2048², 256 iterations",
    .cl = "mandelbrot/kernel",
    .n = 2048,
    .quick_n = 130,
    .outliers = 0.01, /* near the edge, rounding decides when a point escapes */
    .make = make,
    .device = device,
    .native = native,
};
