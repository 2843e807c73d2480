/* Grids in three dimensions, a lattice Boltzmann step, relaxations by a persistent kernel. */
#include "row.h"

enum { W = 128, R = 4, LATTICE = 512, STEPS = 20 };

static void make_stencil3d(struct bench_problem *p)
{
    size_t count = (size_t)W * W * (size_t)p->n;
    bench_add_floats(p, count, 0, 1);
    bench_add(p, BENCH_FLOAT, count, BENCH_OUTPUT);
}
static void device_stencil3d(struct bench_queue *q, const struct bench_problem *p)
{
    unsigned x = q->spelling == 2 ? 16 : 32, y = q->spelling == 2 ? 16 : 8;
    BENCH_LAUNCH(q, "stencil3d", bench_blocks(W - 2 * R, (int)x), bench_blocks(W - 2 * R, (int)y),
                 x, y, ARRAY(0), ARRAY(1), INT(W), INT(p->n));
}
static void native_stencil3d(const struct bench_problem *p)
{
    static const float weight[R + 1] = {0.4f, 0.06f, 0.03f, 0.015f, 0.005f};
    const float *restrict in = DATA(p, 0);
    float *restrict out = DATA(p, 1);
#pragma omp parallel for schedule(static) collapse(2)
    for (int z = R; z < p->n - R; z++)
        for (int y = R; y < W - R; y++)
#pragma omp simd
            for (int x = R; x < W - R; x++) {
                int i = (z * W + y) * W + x;
                float sum = weight[0] * in[i];
                for (int k = 1; k <= R; k++)
                    sum += weight[k] * (in[i - k] + in[i + k] + in[i - k * W] + in[i + k * W] +
                                        in[i - k * W * W] + in[i + k * W * W]);
                out[i] = sum;
            }
}

static void make_lattice(struct bench_problem *p)
{
    size_t count = (size_t)9 * LATTICE * (size_t)p->n;
    bench_add_floats(p, count, 0.9f, 1.1f);
    bench_add(p, BENCH_FLOAT, count, BENCH_OUTPUT);
}
static void device_lattice(struct bench_queue *q, const struct bench_problem *p)
{
    BENCH_LAUNCH(q, "lattice", LATTICE / 64, p->n / 4, 64, 4, ARRAY(0), ARRAY(1), INT(LATTICE),
                 INT(p->n));
}
static void native_lattice(const struct bench_problem *p)
{
    static const int cx[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1}, cy[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
    static const float w[9] = {4 / 9.f,  1 / 9.f,  1 / 9.f,  1 / 9.f, 1 / 9.f,
                               1 / 36.f, 1 / 36.f, 1 / 36.f, 1 / 36.f};
    int height = p->n;
#pragma omp parallel for schedule(static)
    for (int y = 0; y < height; y++) {
        /* The row of each direction, moved by what it streams. */
        float f[9][LATTICE];
        for (int k = 0; k < 9; k++) {
            const float *row =
                (const float *)DATA(p, 0) + (k * height + (y - cy[k] + height) % height) * LATTICE;
            for (int x = 1; x < LATTICE - 1; x++)
                f[k][x] = row[x - cx[k]];
            f[k][0] = row[(LATTICE - cx[k]) % LATTICE];
            f[k][LATTICE - 1] = row[(LATTICE - 1 - cx[k]) % LATTICE];
        }
        float *restrict to = (float *)DATA(p, 1) + y * LATTICE;
        for (int x = 0; x < LATTICE; x++) {
            float rho = 0, u = 0, v = 0;
            for (int k = 0; k < 9; k++) {
                rho += f[k][x];
                u += (float)cx[k] * f[k][x];
                v += (float)cy[k] * f[k][x];
            }
            u /= rho;
            v /= rho;
            float square = 1.5f * (u * u + v * v);
            for (int k = 0; k < 9; k++) {
                float along = 3 * ((float)cx[k] * u + (float)cy[k] * v);
                float rest = w[k] * rho * (1 + along + 0.5f * along * along - square);
                to[k * height * LATTICE + x] = f[k][x] + 0.6f * (rest - f[k][x]);
            }
        }
    }
}

static void make_persistent(struct bench_problem *p)
{
    size_t count = (size_t)p->n * (size_t)p->n;
    float *a = bench_add(p, BENCH_FLOAT, count, BENCH_OUTPUT);
    float *b = bench_add(p, BENCH_FLOAT, count, BENCH_INPUT);
    uint32_t seed = 3;
    for (size_t i = 0; i < count; i++)
        a[i] = b[i] = bench_random(&seed, 0, 1);
}
/* The grid is as large as the device can run at once. */
static void device_persistent(struct bench_queue *q, const struct bench_problem *p)
{
    BENCH_LAUNCH(q, "persistent", 0, 1, q->spelling == 2 ? 128 : 256, 1, ARRAY(0), ARRAY(1),
                 INT(p->n), INT(STEPS));
}
static void native_persistent(const struct bench_problem *p)
{
    int n = p->n;
#pragma omp parallel
    for (int step = 0; step < STEPS; step++) {
        const float *restrict in = DATA(p, step % 2);
        float *restrict out = DATA(p, 1 - step % 2);
#pragma omp for schedule(static)
        for (int y = 1; y < n - 1; y++)
#pragma omp simd
            for (int i = y * n + 1; i < y * n + n - 1; i++)
                out[i] = 0.25f * (in[i - 1] + in[i + 1] + in[i - n] + in[i + n]);
    }
}

#define ROW(row, text, size, quick, file, ...)                                                     \
    BENCH_ROW(row, text, size, quick, 1e-5, file, row, row, __VA_ARGS__)
ROW(stencil3d, "25-point stencil, registers along z, 128³", 128, 12, "grid/steps",
    "width as parameter", "width constant", "16×16 blocks");
ROW(lattice, "lattice Boltzmann D2Q9, 512², a step", 512, 16, "grid/steps", "wraps by and",
    "wraps by remainder", "64-bit index");
ROW(persistent, "persistent kernel, 20 steps, barriers, 1024²", 1024, 66, NULL, "rows by block",
    "grid-stride loop", "128 threads");
