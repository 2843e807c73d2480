/* Data in tiles: particles in a layout interleaved by hand, spectral elements in doubles, sums of
 * exponentials of distances, a matrix of covariances of which half is computed. */
#include "row.h"

#include <math.h>

enum { BLOCK = 256, LANES = 8, ORDER = 8, NODES = ORDER * ORDER * ORDER, TILE = 128 };
enum { POINTS = 2048, SAMPLES = 256 };

static void make_interleaved(struct bench_problem *p)
{
    bench_add_floats(p, (size_t)p->n * 6, -1, 1);
    bench_add(p, BENCH_FLOAT, (size_t)p->n * 3, BENCH_OUTPUT);
}
static void device_interleaved(struct bench_queue *q, const struct bench_problem *p)
{
    int grid = q->spelling == 2 ? 512 : bench_blocks(p->n, BLOCK);
    BENCH_LAUNCH(q, "interleaved", grid, 1, BLOCK, 1, ARRAY(0), ARRAY(1), FLOAT(0.01f), INT(LANES),
                 INT(p->n));
}
static void native_interleaved(const struct bench_problem *p)
{
#pragma omp parallel for schedule(static)
    for (int tile = 0; tile < p->n / LANES; tile++) {
        const float *restrict in = (const float *)DATA(p, 0) + (size_t)tile * LANES * 6;
        float *restrict out = (float *)DATA(p, 1) + (size_t)tile * LANES * 3;
        for (int l = 0; l < LANES; l++) {
            float x = in[l], y = in[LANES + l], z = in[2 * LANES + l];
            float square = x * x + y * y + z * z + 0.01f;
            float pull = 0.01f / (square * sqrtf(square));
            out[l] = x + 0.01f * (in[3 * LANES + l] - pull * x);
            out[LANES + l] = y + 0.01f * (in[4 * LANES + l] - pull * y);
            out[2 * LANES + l] = z + 0.01f * (in[5 * LANES + l] - pull * z);
        }
    }
}

static void make_spectral(struct bench_problem *p)
{
    bench_add_floats(p, (size_t)p->n * NODES, -1, 1);
    bench_add_floats(p, (size_t)ORDER * ORDER, -1, 1);
    bench_add(p, BENCH_FLOAT, (size_t)p->n * NODES, BENCH_OUTPUT);
}
static void device_spectral(struct bench_queue *q, const struct bench_problem *p)
{
    BENCH_LAUNCH(q, "spectral", p->n, 1, q->spelling == 1 ? NODES : ORDER * ORDER, 1, ARRAY(0),
                 ARRAY(1), ARRAY(2), INT(p->n));
}
static void native_spectral(const struct bench_problem *p)
{
    double d[ORDER][ORDER], turned[ORDER][ORDER];
    const float *derive = DATA(p, 1);
    for (int i = 0; i < ORDER; i++)
        for (int q = 0; q < ORDER; q++)
            d[i][q] = turned[q][i] = (double)derive[i * ORDER + q];
#pragma omp parallel for schedule(static)
    for (int e = 0; e < p->n; e++) {
        const float *in = (const float *)DATA(p, 0) + (size_t)e * NODES;
        float *out = (float *)DATA(p, 2) + (size_t)e * NODES;
        double u[ORDER][ORDER][ORDER];
        for (int i = 0; i < NODES; i++)
            u[0][0][i] = (double)in[i];
        for (int k = 0; k < ORDER; k++)
            for (int j = 0; j < ORDER; j++) {
                double sum[ORDER] = {0};
                for (int q = 0; q < ORDER; q++)
                    for (int i = 0; i < ORDER; i++)
                        sum[i] +=
                            turned[q][i] * u[k][j][q] + d[j][q] * u[k][q][i] + d[k][q] * u[q][j][i];
                for (int i = 0; i < ORDER; i++)
                    out[(k * ORDER + j) * ORDER + i] = (float)sum[i];
            }
    }
}

static void make_distances(struct bench_problem *p)
{
    bench_add_floats(p, (size_t)p->n * 4, 0, 1);
    bench_add_floats(p, (size_t)POINTS * 4, 0, 1);
    bench_add(p, BENCH_FLOAT, (size_t)p->n, BENCH_OUTPUT);
}
static void device_distances(struct bench_queue *q, const struct bench_problem *p)
{
    int tile = q->spelling == 2 ? TILE / 2 : TILE;
    BENCH_LAUNCH(q, "distances", p->n / tile, 1, tile, 1, ARRAY(0), ARRAY(1), ARRAY(2), INT(POINTS),
                 FLOAT(3));
}
static void native_distances(const struct bench_problem *p)
{
    static float x[POINTS], y[POINTS], z[POINTS], w[POINTS];
    const float *queries = DATA(p, 0), *points = DATA(p, 1);
    float *out = DATA(p, 2);
    for (int k = 0; k < POINTS; k++) {
        x[k] = points[k * 4], y[k] = points[k * 4 + 1];
        z[k] = points[k * 4 + 2], w[k] = points[k * 4 + 3];
    }
#pragma omp parallel for schedule(static)
    for (int i = 0; i < p->n; i++) {
        float qx = queries[i * 4], qy = queries[i * 4 + 1], qz = queries[i * 4 + 2], sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int k = 0; k < POINTS; k++) {
            float dx = x[k] - qx, dy = y[k] - qy, dz = z[k] - qz;
            sum += w[k] * expf(-3 * (dx * dx + dy * dy + dz * dz));
        }
        out[i] = sum;
    }
}

static void make_covariance(struct bench_problem *p)
{
    bench_add_floats(p, (size_t)p->n * SAMPLES, -1, 1);
    bench_add(p, BENCH_FLOAT, (size_t)p->n * (size_t)p->n, BENCH_OUTPUT);
}
static void device_covariance(struct bench_queue *q, const struct bench_problem *p)
{
    int bx = q->spelling == 2 ? 32 : 16, by = q->spelling == 2 ? 8 : 16;
    BENCH_LAUNCH(q, "covariance", bench_blocks(p->n, bx), bench_blocks(p->n, by), bx, by, ARRAY(0),
                 ARRAY(1), INT(SAMPLES), INT(p->n));
}
/* Four rows of the result at a time, so that what is read of the samples serves each. */
static void native_covariance(const struct bench_problem *p)
{
    const float *restrict in = DATA(p, 0);
    float *restrict out = DATA(p, 1);
    int n = p->n;
#pragma omp parallel for schedule(dynamic)
    for (int i = 0; i < n; i += 4) {
        for (int j = i; j < n; j += 64) {
            float sum[4][64] = {{0}};
            int width = n - j < 64 ? n - j : 64, high = n - i < 4 ? n - i : 4;
            for (int s = 0; s < SAMPLES; s++)
                for (int r = 0; r < high; r++)
                    for (int c = 0; c < width; c++)
                        sum[r][c] += in[s * n + i + r] * in[s * n + j + c];
            for (int r = 0; r < high; r++)
                for (int c = 0; c < width; c++)
                    if (i + r <= j + c) {
                        out[(size_t)(i + r) * n + j + c] = sum[r][c] / (SAMPLES - 1);
                        out[(size_t)(j + c) * n + i + r] = sum[r][c] / (SAMPLES - 1);
                    }
        }
    }
}

#define ROW(row, text, size, quick, how_near, ...)                                                 \
    BENCH_ROW(row, text, size, quick, how_near, "tiles/shared", row, row, __VA_ARGS__)
ROW(interleaved, "2^20 particles interleaved by eights", 1 << 20, 2000, 1e-5,
    "structures of arrays", "width as parameter", "grid-stride loop");
ROW(spectral, "derivatives in 2^12 elements of 8^3 doubles", 1 << 12, 17, 1e-5, "64 threads",
    "512 threads");
ROW(distances, "sums of exponentials of 2^14 × 2048 distances", 1 << 14, 256, 1e-5, "expf",
    "__expf", "tiles of 64");
ROW(covariance, "covariances of 512 variables, 256 samples", 512, 67, 1e-4, "16×16 threads",
    "64-bit index", "32×8 threads");
