/* Work of uneven size: forces within a cut-off, rays against spheres, rows from a queue. */
#include "row.h"

#include <math.h>

enum { CELL = 16, SPHERES = 64 };

/* n³ cells of edge 1, in the order of cells; the fourth number is the strength. */
static void make_cutoff(struct bench_problem *p)
{
    uint32_t seed = 5;
    size_t cells = (size_t)p->n * (size_t)p->n * (size_t)p->n;
    float *b = bench_add(p, BENCH_FLOAT, cells * CELL * 4, BENCH_INPUT);
    for (size_t i = 0; i < cells * CELL; i++) {
        int cell = (int)(i / CELL);
        b[4 * i] = (float)(cell % p->n) + bench_random(&seed, 0, 1);
        b[4 * i + 1] = (float)(cell / p->n % p->n) + bench_random(&seed, 0, 1);
        b[4 * i + 2] = (float)(cell / p->n / p->n) + bench_random(&seed, 0, 1);
        b[4 * i + 3] = bench_random(&seed, 0.5f, 1);
    }
    bench_add(p, BENCH_FLOAT, cells * CELL * 4, BENCH_OUTPUT);
}
static void device_cutoff(struct bench_queue *q, const struct bench_problem *p)
{
    unsigned block = q->spelling == 2 ? CELL : 4 * CELL;
    BENCH_LAUNCH(q, "cutoff", p->n * p->n * p->n * CELL / (int)block, 1, block, 1, ARRAY(0),
                 ARRAY(1), INT(p->n), FLOAT(0.9f));
}
static void native_cutoff(const struct bench_problem *p)
{
    int side = p->n, cells = side * side * side;
    const float *all = DATA(p, 0);
#pragma omp parallel for schedule(static)
    for (int cell = 0; cell < cells; cell++) {
        float near[4][27 * CELL];
        int cx = cell % side, cy = cell / side % side, cz = cell / side / side, at = 0;
        for (int d = 0; d < 27; d++) {
            int x = (cx + d % 3 - 1 + side) % side, y = (cy + d / 3 % 3 - 1 + side) % side;
            int z = (cz + d / 9 - 1 + side) % side;
            const float *other = all + (size_t)((z * side + y) * side + x) * CELL * 4;
            for (int k = 0; k < CELL; k++, at++)
                for (int c = 0; c < 4; c++)
                    near[c][at] = other[4 * k + c];
        }
        for (int me = 0; me < CELL; me++) {
            const float *b = all + ((size_t)cell * CELL + (size_t)me) * 4;
            float fx = 0, fy = 0, fz = 0;
            for (int k = 0; k < 27 * CELL; k++) {
                float rx = near[0][k] - b[0], ry = near[1][k] - b[1], rz = near[2][k] - b[2];
                float square = rx * rx + ry * ry + rz * rz + 1e-3f;
                float inverse = 1 / square, six = inverse * inverse * inverse;
                float f = near[3][k] * six * (six - 0.5f) * inverse * 1e-9f;
                f = square < 0.81f ? f : 0;
                fx += f * rx, fy += f * ry, fz += f * rz;
            }
            float *force = (float *)DATA(p, 1) + ((size_t)cell * CELL + (size_t)me) * 4;
            force[0] = fx, force[1] = fy, force[2] = fz, force[3] = 0;
        }
    }
}

static void make_rays(struct bench_problem *p)
{
    uint32_t seed = 6;
    float *s = bench_add(p, BENCH_FLOAT, (size_t)SPHERES * 4, BENCH_INPUT);
    for (int i = 0; i < SPHERES; i++) {
        s[4 * i] = bench_random(&seed, -2, 2);
        s[4 * i + 1] = bench_random(&seed, -2, 2);
        s[4 * i + 2] = bench_random(&seed, 3, 8);
        s[4 * i + 3] = bench_random(&seed, 0.1f, 0.6f);
    }
    bench_add(p, BENCH_FLOAT, (size_t)p->n * (size_t)p->n, BENCH_OUTPUT);
}
static void device_rays(struct bench_queue *q, const struct bench_problem *p)
{
    unsigned x = q->spelling == 2 ? 8 : 16, y = q->spelling == 2 ? 8 : 16;
    BENCH_LAUNCH(q, "rays", p->n / (int)x, p->n / (int)y, x, y, ARRAY(0), ARRAY(1), INT(p->n),
                 INT(SPHERES));
}
/* Eight to sixteen rays beside each other. */
static void native_rays(const struct bench_problem *p)
{
    enum { SIDE = 16 };
    const float *s = DATA(p, 0);
    int width = p->n;
#pragma omp parallel for schedule(dynamic, 4)
    for (int y = 0; y < width; y++)
        for (int x = 0; x < width; x += SIDE) {
            float d[3][SIDE], o[3][SIDE] = {{0}}, light[SIDE] = {0}, share[SIDE];
            for (int i = 0; i < SIDE; i++) {
                float dx = ((float)(x + i) + 0.5f) / (float)width - 0.5f;
                float dy = ((float)y + 0.5f) / (float)width - 0.5f;
                float inverse = 1 / sqrtf(dx * dx + dy * dy + 1);
                d[0][i] = dx * inverse, d[1][i] = dy * inverse, d[2][i] = inverse;
                share[i] = 1;
            }
            for (int bounce = 0; bounce < 2; bounce++) {
                float best[SIDE];
                int which[SIDE];
                for (int i = 0; i < SIDE; i++) {
                    best[i] = 1e30f;
                    which[i] = -1;
                }
                for (int k = 0; k < SPHERES; k++)
                    for (int i = 0; i < SIDE; i++) {
                        float lx = s[4 * k] - o[0][i], ly = s[4 * k + 1] - o[1][i];
                        float lz = s[4 * k + 2] - o[2][i];
                        float along = lx * d[0][i] + ly * d[1][i] + lz * d[2][i];
                        float rest = s[4 * k + 3] * s[4 * k + 3] -
                                     (lx * lx + ly * ly + lz * lz - along * along);
                        float t = along - sqrtf(rest > 0 ? rest : 0);
                        int nearer = along > 0 && rest > 0 && t > 1e-3f && t < best[i];
                        best[i] = nearer ? t : best[i];
                        which[i] = nearer ? k : which[i];
                    }
                for (int i = 0; i < SIDE; i++) {
                    int hit = which[i] >= 0, k = hit ? which[i] : 0;
                    float far = hit ? best[i] : 0, n[3], facing = 0;
                    for (int c = 0; c < 3; c++) {
                        o[c][i] += far * d[c][i];
                        n[c] = (o[c][i] - s[4 * k + c]) / s[4 * k + 3];
                        facing += 2 * d[c][i] * n[c];
                    }
                    float lit = 0.6f * n[0] - 0.48f * n[1] - 0.64f * n[2];
                    share[i] = hit ? share[i] : 0;
                    light[i] += share[i] * (lit > 0 ? lit : 0);
                    for (int c = 0; c < 3; c++)
                        d[c][i] -= facing * n[c];
                    share[i] *= 0.5f;
                }
            }
            for (int i = 0; i < SIDE; i++)
                ((float *)DATA(p, 1))[y * width + x + i] = light[i];
        }
}

static void make_queue(struct bench_problem *p)
{
    bench_add_floats(p, (size_t)p->n * (size_t)(p->n + 1) / 2, 0, 1);
    bench_add(p, BENCH_FLOAT, (size_t)p->n, BENCH_OUTPUT);
    bench_add(p, BENCH_INT, 1, BENCH_INPUT);
}
static void device_queue(struct bench_queue *q, const struct bench_problem *p)
{
    q->zero(q, 2);
    BENCH_LAUNCH(q, "queue_rows", 64, 1, 256, 1, ARRAY(0), ARRAY(1), ARRAY(2), INT(p->n));
}
static void native_queue(const struct bench_problem *p)
{
    const float *in = DATA(p, 0);
    float *sums = DATA(p, 1);
#pragma omp parallel for schedule(dynamic, 16)
    for (int row = 0; row < p->n; row++) {
        const float *from = in + (size_t)row * (size_t)(row + 1) / 2;
        float sum = 0;
        for (int i = 0; i <= row; i++)
            sum += from[i] * from[i];
        sums[row] = sum;
    }
}

/* Outliers: a ray that just misses, a pair at the cut-off. */
#define ROW(row, text, size, quick, how_near, file, other, ...)                                    \
    BENCH_ROW_OUTLIERS(row, text, size, quick, how_near, 5e-3, file, other, other, __VA_ARGS__)
ROW(cutoff, "bodies within a cut-off, 16³ cells of 16", 16, 4, 1e-4, NULL, cutoff,
    "cells by shared memory", "cells from memory", "blocks of 16");
ROW(rays, "rays against 64 spheres, 1024², a mirror", 1024, 48, 1e-3, "warps/work", rays,
    "count as parameter", "count constant", "8×8 blocks");
ROW(queue_rows, "rows of a triangle of 4096 from a queue", 4096, 100, 1e-5, NULL, queue,
    "a warp a row", "a block a row", "no queue");
