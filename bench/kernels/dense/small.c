/* Dense linear algebra on small things: LU and Cholesky of many matrices, products of bytes, half
 * precision, attention, complex numbers, Fourier transforms. */
#include "row.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 16, M = 32, K4 = 64, HEAD = 64, POINTS = 1024, BITS = 10 };

/* Matrices lie interleaved: element by element, that of all matrices. */
static void make_cholesky(struct bench_problem *p)
{
    bench_add_floats(p, (size_t)p->n * N * N, 0, 1);
    bench_add(p, BENCH_FLOAT, (size_t)p->n * N * N, BENCH_OUTPUT);
    float *a = DATA(p, 0);
    for (int m = 0; m < p->n; m++)
        for (int r = 0; r < N; r++)
            a[(r * N + r) * p->n + m] += 2 * N;
}
/* Works on a copy, so that each run has the same input. */
static void device_cholesky(struct bench_queue *q, const struct bench_problem *p)
{
    unsigned block = q->spelling == 2 ? 32 : 128;
    BENCH_LAUNCH(q, "copy_floats", bench_blocks((long)p->n * N * N, 256), 1, 256, 1, ARRAY(0),
                 ARRAY(1), INT(p->n * N * N));
    BENCH_LAUNCH(q, "cholesky", bench_blocks(p->n, (int)block), 1, block, 1, ARRAY(1), INT(p->n));
}
static void native_cholesky(const struct bench_problem *p)
{
    enum { SIDE = 16 };
    int count = p->n;
#pragma omp parallel for schedule(static)
    for (int from = 0; from < count; from += SIDE) {
        float a[N][N][SIDE];
        int here = count - from < SIDE ? count - from : SIDE;
        for (int e = 0; e < N * N; e++)
            memcpy(a[e / N][e % N], (const float *)DATA(p, 0) + e * count + from,
                   (size_t)here * sizeof(float));
        for (int k = 0; k < N; k++) {
            for (int j = 0; j < k; j++)
                for (int m = 0; m < SIDE; m++)
                    a[k][k][m] -= a[k][j][m] * a[k][j][m];
            for (int m = 0; m < SIDE; m++)
                a[k][k][m] = sqrtf(a[k][k][m]);
            for (int r = k + 1; r < N; r++) {
                for (int j = 0; j < k; j++)
                    for (int m = 0; m < SIDE; m++)
                        a[r][k][m] -= a[r][j][m] * a[k][j][m];
                for (int m = 0; m < SIDE; m++)
                    a[r][k][m] /= a[k][k][m];
            }
        }
        for (int e = 0; e < N * N; e++)
            memcpy((float *)DATA(p, 1) + e * count + from, a[e / N][e % N],
                   (size_t)here * sizeof(float));
    }
}

static void make_lu(struct bench_problem *p)
{
    float *a = bench_add_floats(p, (size_t)p->n * M * M, 0, 1);
    bench_add(p, BENCH_FLOAT, (size_t)p->n * M * M, BENCH_OUTPUT);
    for (int m = 0; m < p->n; m++)
        for (int r = 0; r < M; r++)
            a[(m * M + r) * M + r] += M;
}
static void device_lu(struct bench_queue *q, const struct bench_problem *p)
{
    static const unsigned y[] = {16, 8, 4};
    BENCH_LAUNCH(q, "copy_floats", bench_blocks((long)p->n * M * M, 256), 1, 256, 1, ARRAY(0),
                 ARRAY(1), INT(p->n * M * M));
    BENCH_LAUNCH(q, "lu", p->n, 1, q->spelling ? 32 : 16, y[q->spelling], ARRAY(1));
}
static void native_lu(const struct bench_problem *p)
{
#pragma omp parallel for schedule(static)
    for (int m = 0; m < p->n; m++) {
        float a[M][M];
        memcpy(a, (const float *)DATA(p, 0) + (size_t)m * M * M, sizeof a);
        for (int k = 0; k < M - 1; k++)
            for (int r = k + 1; r < M; r++) {
                float f = a[r][k] /= a[k][k];
                for (int c = k + 1; c < M; c++)
                    a[r][c] -= f * a[k][c];
            }
        memcpy((float *)DATA(p, 1) + (size_t)m * M * M, a, sizeof a);
    }
}

static void make_bytes(struct bench_problem *p)
{
    bench_add_ints(p, (size_t)p->n * K4, -2000000000, 2000000000);
    bench_add_ints(p, (size_t)p->n * K4, -2000000000, 2000000000);
    bench_add(p, BENCH_INT, (size_t)p->n * (size_t)p->n, BENCH_OUTPUT);
}
static void device_bytes(struct bench_queue *q, const struct bench_problem *p)
{
    BENCH_LAUNCH(q, "bytes_product", p->n / 16, p->n / 16, 16, 16, ARRAY(0), ARRAY(1), ARRAY(2),
                 INT(p->n), INT(K4));
}
static void native_bytes(const struct bench_problem *p)
{
    const signed char *a = DATA(p, 0), *b = DATA(p, 1);
    int *c = DATA(p, 2);
#pragma omp parallel for schedule(static)
    for (int row = 0; row < p->n; row++)
        for (int column = 0; column < p->n; column++) {
            int sum = 0;
            for (int k = 0; k < 4 * K4; k++)
                sum += a[row * 4 * K4 + k] * b[column * 4 * K4 + k];
            c[row * p->n + column] = sum;
        }
}

static void make_halves(struct bench_problem *p)
{
    uint32_t seed = 4;
    _Float16 *x = bench_add(p, BENCH_HALF, (size_t)p->n, BENCH_INPUT);
    _Float16 *y = bench_add(p, BENCH_HALF, (size_t)p->n, BENCH_OUTPUT);
    for (int i = 0; i < p->n; i++) {
        x[i] = (_Float16)bench_random(&seed, 0, 0.3f);
        y[i] = (_Float16)bench_random(&seed, 0, 0.3f);
    }
}
static void device_halves(struct bench_queue *q, const struct bench_problem *p)
{
    int grid = q->spelling == 0   ? bench_blocks(p->n / 2, 256)
               : q->spelling == 1 ? bench_blocks(p->n, 256)
                                  : 512;
    BENCH_LAUNCH(q, "halves", grid, 1, 256, 1, ARRAY(0), ARRAY(1), INT(p->n), FLOAT(0.5f));
}
static void native_halves(const struct bench_problem *p)
{
    const _Float16 *restrict x = DATA(p, 0);
    _Float16 *restrict y = DATA(p, 1);
#pragma omp parallel for schedule(static)
    for (int i = 0; i < p->n; i++) {
        float v = 0.5f * (float)x[i] + (float)y[i];
        y[i] = (_Float16)((v * v + 0.5f) * v + (float)x[i]);
    }
}

static void make_attention(struct bench_problem *p)
{
    for (int i = 0; i < 3; i++)
        bench_add_floats(p, (size_t)p->n * HEAD, -1, 1);
    bench_add(p, BENCH_FLOAT, (size_t)p->n * HEAD, BENCH_OUTPUT);
}
static void device_attention(struct bench_queue *q, const struct bench_problem *p)
{
    unsigned tile = q->spelling == 1 ? 32 : 64;
    BENCH_LAUNCH(q, "attention", p->n / (int)tile, 1, tile, 1, ARRAY(0), ARRAY(1), ARRAY(2),
                 ARRAY(3), INT(p->n));
}
/* A few queries at a time over all keys, so that each key is read once for them. */
static void native_attention(const struct bench_problem *p)
{
    enum { QUERIES = 8 };
    const float *q = DATA(p, 0), *k = DATA(p, 1), *v = DATA(p, 2);
#pragma omp parallel for schedule(static)
    for (int row = 0; row < p->n; row += QUERIES) {
        float *score = malloc((size_t)p->n * QUERIES * sizeof *score);
        if (score == NULL)
            bench_stop("no memory");
        float high[QUERIES], total[QUERIES] = {0}, sum[QUERIES][HEAD] = {{0}};
        for (int i = 0; i < QUERIES; i++)
            high[i] = -1e30f;
        for (int j = 0; j < p->n; j++)
            for (int i = 0; i < QUERIES; i++) {
                float s = 0;
                for (int d = 0; d < HEAD; d++)
                    s += q[(row + i) * HEAD + d] * k[j * HEAD + d];
                score[i * p->n + j] = s *= 0.125f;
                high[i] = s > high[i] ? s : high[i];
            }
        for (int i = 0; i < QUERIES; i++)
            for (int j = 0; j < p->n; j++)
                total[i] += score[i * p->n + j] = expf(score[i * p->n + j] - high[i]);
        for (int j = 0; j < p->n; j++)
            for (int i = 0; i < QUERIES; i++)
                for (int d = 0; d < HEAD; d++)
                    sum[i][d] += score[i * p->n + j] * v[j * HEAD + d];
        for (int i = 0; i < QUERIES; i++)
            for (int d = 0; d < HEAD; d++)
                ((float *)DATA(p, 3))[(row + i) * HEAD + d] = sum[i][d] / total[i];
        free(score);
    }
}

static void make_fft(struct bench_problem *p)
{
    bench_add_floats(p, (size_t)p->n * POINTS * 2, -1, 1);
    bench_add(p, BENCH_FLOAT, (size_t)p->n * POINTS * 2, BENCH_OUTPUT);
}
static void device_fft(struct bench_queue *q, const struct bench_problem *p)
{
    static const unsigned threads[] = {256, 512, 128};
    BENCH_LAUNCH(q, "fft", p->n, 1, threads[q->spelling], 1, ARRAY(0), ARRAY(1));
}
/* Stockham's order, real and imaginary parts in arrays of their own, factors from a table. */
static void native_fft(const struct bench_problem *p)
{
    static float cosine[POINTS / 2], sine[POINTS / 2];
    for (int k = 0; k < POINTS / 2; k++) {
        cosine[k] = cosf(-6.2831853f * (float)k / POINTS);
        sine[k] = sinf(-6.2831853f * (float)k / POINTS);
    }
#pragma omp parallel for schedule(static)
    for (int t = 0; t < p->n; t++) {
        float part[2][2][POINTS]; /* which array, real or imaginary */
        const float *in = (const float *)DATA(p, 0) + (size_t)t * POINTS * 2;
        float *out = (float *)DATA(p, 1) + (size_t)t * POINTS * 2;
        for (int i = 0; i < POINTS; i++) {
            part[0][0][i] = in[2 * i];
            part[0][1][i] = in[2 * i + 1];
        }
        int from = 0;
        for (int half = POINTS / 2, stride = 1; half >= 1; half /= 2, stride *= 2, from ^= 1) {
            float *restrict xr = part[from][0], *restrict xi = part[from][1];
            float *restrict yr = part[!from][0], *restrict yi = part[!from][1];
            for (int k = 0; k < half; k++) {
                float c = cosine[k * stride], s = sine[k * stride];
                for (int j = 0; j < stride; j++) {
                    int a = j + stride * k, b = a + stride * half, to = j + stride * 2 * k;
                    float dr = xr[a] - xr[b], di = xi[a] - xi[b];
                    yr[to] = xr[a] + xr[b];
                    yi[to] = xi[a] + xi[b];
                    yr[to + stride] = dr * c - di * s;
                    yi[to + stride] = dr * s + di * c;
                }
            }
        }
        for (int i = 0; i < POINTS; i++) {
            out[2 * i] = part[from][0][i];
            out[2 * i + 1] = part[from][1][i];
        }
    }
}

static void make_complex(struct bench_problem *p)
{
    size_t count = (size_t)p->n * (size_t)p->n * 2;
    bench_add_floats(p, count, -1, 1);
    bench_add_floats(p, count, -1, 1);
    bench_add(p, BENCH_FLOAT, count, BENCH_OUTPUT);
}
static void device_complex(struct bench_queue *q, const struct bench_problem *p)
{
    unsigned x = q->spelling == 2 ? 32 : 16, y = q->spelling == 2 ? 8 : 16;
    BENCH_LAUNCH(q, "complex_product", p->n / (int)x, p->n / (int)y, x, y, ARRAY(0), ARRAY(1),
                 ARRAY(2), INT(p->n));
}
static void native_complex(const struct bench_problem *p)
{
    int n = p->n;
#pragma omp parallel for schedule(static)
    for (int row = 0; row < n; row++) {
        float *restrict c = (float *)DATA(p, 2) + row * n * 2;
        memset(c, 0, (size_t)n * 2 * sizeof *c);
        for (int k = 0; k < n; k++) {
            const float *a = (const float *)DATA(p, 0) + (row * n + k) * 2;
            const float *restrict b = (const float *)DATA(p, 1) + k * n * 2;
            for (int j = 0; j < n; j++) {
                c[2 * j] += a[0] * b[2 * j] - a[1] * b[2 * j + 1];
                c[2 * j + 1] += a[0] * b[2 * j + 1] + a[1] * b[2 * j];
            }
        }
    }
}

#define ROW(row, text, size, quick, how_near, file, other, ...)                                    \
    BENCH_ROW(row, text, size, quick, how_near, file, other, other, __VA_ARGS__)
ROW(cholesky, "Cholesky of 8192 matrices 16×16, a thread each", 8192, 70, 1e-4, "dense/small",
    cholesky, "in memory", "in registers", "blocks of a warp");
ROW(lu, "LU of 2048 matrices 32×32, a block each", 2048, 5, 1e-4, "dense/small", lu,
    "16×16 threads", "32×8 threads", "32×4 threads");
ROW(bytes_product, "product of signed bytes by dp4a, 1024², depth 256", 1024, 64, 0, NULL, bytes,
    "16×16 shared tiles", "from global memory", "depth constant");
ROW(halves, "polynomial in half precision, 2^22", 1 << 22, 5000, 2e-3, NULL, halves, "half2",
    "half", "float between");
ROW(attention, "attention, 1024 positions, a head of 64", 1024, 128, 1e-4, "dense/small", attention,
    "tiles of 64", "tiles of 32", NULL);
ROW(fft, "Fourier transforms, 1024 of 1024 points", 1024, 5, 1e-3, "dense/small", fft,
    "256 threads", "512 threads", "128 threads");
ROW(complex_product, "complex matrix product, 256²", 256, 32, 1e-4, "dense/small", complex,
    "size as parameter", "size constant", "32×8 blocks");
