/* Gravity, all pairs: coordinates in arrays of their own, four bodies against a vector of others.
 */
#include "harness.h"

#include <math.h>
#include <stdlib.h>

enum { TILE = 256 };
static const float softening = 0.01f;

static void make(struct bench_problem *p)
{
    uint32_t seed = 6;
    float *bodies = bench_add(p, BENCH_FLOAT, (size_t)p->n * 4, 0);
    for (int i = 0; i < p->n * 4; i++)
        bodies[i] = i % 4 == 3 ? bench_random(&seed, 0.5f, 1) : bench_random(&seed, -1, 1);
    bench_add(p, BENCH_FLOAT, (size_t)p->n * 4, 1);
}

static void device(struct bench_queue *q, const struct bench_problem *p)
{
    BENCH_LAUNCH(q, "nbody", p->n / TILE, 1, TILE, 1, BENCH_ARRAY(0), BENCH_ARRAY(1),
                 BENCH_FLOAT_ARG(softening), BENCH_INT_ARG(p->n));
}

enum { AT_ONCE = 4 };

static void pull(const float *restrict x, const float *restrict y, const float *restrict z,
                 const float *restrict mass, float *restrict out, int first, int n)
{
    float ax[AT_ONCE] = {0}, ay[AT_ONCE] = {0}, az[AT_ONCE] = {0};
#pragma omp simd reduction(+ : ax, ay, az)
    for (int j = 0; j < n; j++)
#pragma unroll
        for (int b = 0; b < AT_ONCE; b++) {
            float dx = x[j] - x[first + b], dy = y[j] - y[first + b], dz = z[j] - z[first + b];
            float inverse = 1 / sqrtf(dx * dx + dy * dy + dz * dz + softening);
            float scale = mass[j] * inverse * inverse * inverse;
            ax[b] += dx * scale;
            ay[b] += dy * scale;
            az[b] += dz * scale;
        }
    for (int b = 0; b < AT_ONCE; b++) {
        out[4 * (first + b)] = ax[b];
        out[4 * (first + b) + 1] = ay[b];
        out[4 * (first + b) + 2] = az[b];
        out[4 * (first + b) + 3] = 0;
    }
}

static void native(const struct bench_problem *p)
{
    int n = p->n;
    const float *bodies = p->array[0].data;
    float *split = aligned_alloc(64, (size_t)n * 4 * sizeof(float));
    if (split == NULL)
        bench_stop("no memory");
    float *x = split, *y = x + n, *z = y + n, *mass = z + n;
    for (int i = 0; i < n; i++) {
        x[i] = bodies[4 * i];
        y[i] = bodies[4 * i + 1];
        z[i] = bodies[4 * i + 2];
        mass[i] = bodies[4 * i + 3];
    }
#pragma omp parallel for schedule(static)
    for (int i = 0; i < n; i += AT_ONCE)
        pull(x, y, z, mass, p->array[1].data, i, n);
    free(split);
}

const struct bench bench_nbody = {
    .name = "nbody",
    .title = "nbody, 8192 bodies, all pairs",
    .cl = "nbody/kernel",
    .n = 8192,
    .quick_n = 512,
    .tolerance = 1e-4,
    .make = make,
    .device = device,
    .native = native,
};
