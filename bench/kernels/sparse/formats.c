/* Sparse matrices times a vector in formats other than rows, and a segmented scan. */
#include "row.h"

#include <string.h>

enum { BLOCK = 128, WIDTH = 16, BAND = 4096, B = 4, PER_ROW = 8, LONGEST = 100 };

static int near(uint32_t *seed, int row, int rows)
{
    int column = row + (int)bench_random(seed, -BAND, BAND);
    return column < 0 ? 0 : column >= rows ? rows - 1 : column;
}

static void make_ell(struct bench_problem *p)
{
    uint32_t seed = 5;
    size_t count = (size_t)p->n * WIDTH;
    int *column = bench_add(p, BENCH_INT, count, BENCH_INPUT);
    for (int row = 0; row < p->n; row++) {
        int length = (int)bench_random(&seed, WIDTH / 2, WIDTH + 1);
        for (int k = 0; k < WIDTH; k++)
            column[k * p->n + row] = k < length ? near(&seed, row, p->n) : -1;
    }
    bench_add_floats(p, count, 0, 1);
    bench_add_floats(p, (size_t)p->n, 0, 1);
    bench_add(p, BENCH_FLOAT, (size_t)p->n, BENCH_OUTPUT);
}

static void device_ell(struct bench_queue *q, const struct bench_problem *p)
{
    BENCH_LAUNCH(q, "ell", bench_blocks(p->n, BLOCK), 1, BLOCK, 1, ARRAY(0), ARRAY(1), ARRAY(2),
                 ARRAY(3), INT(p->n), INT(WIDTH));
}

static void native_ell(const struct bench_problem *p)
{
    const int *restrict column = DATA(p, 0);
    const float *restrict value = DATA(p, 1), *restrict x = DATA(p, 2);
    float *restrict y = DATA(p, 3);
#pragma omp parallel for schedule(static)
    for (int from = 0; from < p->n; from += BLOCK) {
        float sum[BLOCK] = {0};
        int rows = p->n - from < BLOCK ? p->n - from : BLOCK;
        for (int k = 0; k < WIDTH; k++)
            for (int r = 0; r < rows; r++) {
                int at = column[k * p->n + from + r];
                float v = value[k * p->n + from + r] * x[at < 0 ? 0 : at];
                sum[r] += at < 0 ? 0 : v;
            }
        memcpy(y + from, sum, (size_t)rows * sizeof *y);
    }
}

static void make_coo(struct bench_problem *p)
{
    uint32_t seed = 6;
    int rows = p->n / PER_ROW;
    int *row = bench_add(p, BENCH_INT, (size_t)p->n, BENCH_INPUT);
    int *column = bench_add(p, BENCH_INT, (size_t)p->n, BENCH_INPUT);
    for (int i = 0; i < p->n; i++) {
        row[i] = i / PER_ROW;
        column[i] = near(&seed, row[i], rows);
    }
    bench_add_floats(p, (size_t)p->n, 0, 1);
    bench_add_floats(p, (size_t)rows, 0, 1);
    bench_add(p, BENCH_FLOAT, (size_t)rows, BENCH_OUTPUT);
}

static void device_coo(struct bench_queue *q, const struct bench_problem *p)
{
    q->zero(q, 4);
    int grid = q->spelling == 1 ? 512 : bench_blocks(p->n, BLOCK);
    BENCH_LAUNCH(q, "coo", grid, 1, BLOCK, 1, ARRAY(0), ARRAY(1), ARRAY(2), ARRAY(3), ARRAY(4),
                 INT(p->n));
}

/* Elements are in the order of rows: threads part them where a row begins. */
static void native_coo(const struct bench_problem *p)
{
    enum { CHUNK = 1 << 14 };
    const int *row = DATA(p, 0), *column = DATA(p, 1);
    const float *value = DATA(p, 2), *x = DATA(p, 3);
    float *y = DATA(p, 4);
    memset(y, 0, bench_bytes(&p->array[4]));
#pragma omp parallel for schedule(static)
    for (int at = 0; at < p->n; at += CHUNK) {
        int i = at, end = at + CHUNK < p->n ? at + CHUNK : p->n;
        while (i > 0 && i < end && row[i] == row[i - 1])
            i++;
        while (i < p->n && (i < end || row[i] == row[i - 1])) {
            int mine = row[i];
            float sum = 0;
            for (; i < p->n && row[i] == mine; i++)
                sum += value[i] * x[column[i]];
            y[mine] = sum;
        }
    }
}

static void make_bsr(struct bench_problem *p)
{
    uint32_t seed = 7;
    int blocks = p->n / B, *start = bench_add(p, BENCH_INT, (size_t)blocks + 1, BENCH_INPUT);
    for (int i = 0; i < blocks; i++)
        start[i + 1] = start[i] + (int)bench_random(&seed, 2, 9);
    size_t count = (size_t)start[blocks];
    int *column = bench_add(p, BENCH_INT, count, BENCH_INPUT);
    for (int i = 0; i < blocks; i++)
        for (int k = start[i]; k < start[i + 1]; k++)
            column[k] = near(&seed, i, blocks);
    bench_add_floats(p, count * B * B, 0, 1);
    bench_add_floats(p, (size_t)p->n, 0, 1);
    bench_add(p, BENCH_FLOAT, (size_t)p->n, BENCH_OUTPUT);
}

static void device_bsr(struct bench_queue *q, const struct bench_problem *p)
{
    unsigned x = q->spelling == 2 ? B : BLOCK, y = q->spelling == 2 ? BLOCK / B : 1;
    BENCH_LAUNCH(q, "bsr", bench_blocks(p->n, BLOCK), 1, x, y, ARRAY(0), ARRAY(1), ARRAY(2),
                 ARRAY(3), ARRAY(4), INT(p->n));
}

static void native_bsr(const struct bench_problem *p)
{
    typedef float four __attribute__((vector_size(16)));
    const int *start = DATA(p, 0), *column = DATA(p, 1);
    const four *value = DATA(p, 2), *x = DATA(p, 3);
    float *y = DATA(p, 4);
#pragma omp parallel for schedule(static)
    for (int block = 0; block < p->n / B; block++) {
        four sum[B] = {{0}};
        for (int i = start[block]; i < start[block + 1]; i++)
            for (int r = 0; r < B; r++)
                sum[r] += value[i * B + r] * x[column[i]];
        for (int r = 0; r < B; r++)
            y[block * B + r] = sum[r][0] + sum[r][1] + sum[r][2] + sum[r][3];
    }
}

static void make_segments(struct bench_problem *p)
{
    uint32_t seed = 8;
    unsigned char *head = bench_add(p, BENCH_BYTE, (size_t)p->n, BENCH_INPUT);
    for (int i = 0; i < p->n; i += (int)bench_random(&seed, 1, LONGEST))
        head[i] = 1;
    bench_add_floats(p, (size_t)p->n, 0, 1);
    bench_add(p, BENCH_FLOAT, (size_t)p->n, BENCH_OUTPUT);
}

static void device_segments(struct bench_queue *q, const struct bench_problem *p)
{
    static const int part[] = {256, 128, 512};
    BENCH_LAUNCH(q, "segments", bench_blocks(p->n, part[q->spelling]), 1,
                 (unsigned)part[q->spelling], 1, ARRAY(0), ARRAY(1), ARRAY(2), INT(p->n));
}

static void native_segments(const struct bench_problem *p)
{
    enum { CHUNK = 1 << 14 };
    const unsigned char *head = DATA(p, 0);
    const float *in = DATA(p, 1);
    float *out = DATA(p, 2);
#pragma omp parallel for schedule(static)
    for (int at = 0; at < p->n; at += CHUNK) {
        int i = at;
        float sum = 0;
        while (i > 0 && !head[i]) /* what the segment had before */
            sum += in[--i];
        sum = head[at] ? 0 : sum;
        for (i = at; i < at + CHUNK && i < p->n; i++)
            out[i] = sum = (head[i] ? 0 : sum) + in[i];
    }
}

#define ROW(row, text, size, quick, file, ...)                                                     \
    BENCH_ROW(row, text, size, quick, 1e-5, file, row, row, __VA_ARGS__)
ROW(ell, "ELLPACK matrix-vector, 2^18 rows of up to 16", 1 << 18, 3001, "sparse/formats",
    "width as parameter", "width constant", "64-bit index");
ROW(coo, "coordinates matrix-vector, atomics, 2^21", 1 << 21, 8000, NULL, "a thread each",
    "grid-stride loop", "warps first");
ROW(bsr, "matrix-vector of 4×4 blocks, 2^18 rows", 1 << 18, 3004, "sparse/formats", "by elements",
    "by vectors of four", "blocks of 4×32 threads");
ROW(segments, "segmented scan, 2^21 floats", 1 << 21, 5003, "sparse/formats", "256 threads",
    "128 threads", "512 threads");
