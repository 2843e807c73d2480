/* Matrix product: panels of B packed once per thread, tiles of C in registers. */
#include "native.h"
#include "harness.h"

#include <dlfcn.h>
#include <stdlib.h>

static void make(struct bench_problem *p)
{
    uint32_t seed = 3;
    size_t count = (size_t)p->n * (size_t)p->n;
    for (int i = 0; i < 2; i++) {
        float *m = bench_add(p, BENCH_FLOAT, count, 0);
        for (size_t j = 0; j < count; j++)
            m[j] = bench_random(&seed, 0, 1);
    }
    bench_add(p, BENCH_FLOAT, count, 1);
}

static void device(struct bench_queue *q, const struct bench_problem *p, const char *kernel,
                   int tile)
{
    BENCH_LAUNCH(q, kernel, p->n / tile, p->n / tile, (unsigned)tile, (unsigned)tile,
                 BENCH_ARRAY(0), BENCH_ARRAY(1), BENCH_ARRAY(2), BENCH_INT_ARG(p->n));
}

static void device_naive(struct bench_queue *q, const struct bench_problem *p)
{
    device(q, p, "matmul_naive", 16);
}
static void device_16(struct bench_queue *q, const struct bench_problem *p)
{
    device(q, p, "matmul_16", 16);
}
static void device_32(struct bench_queue *q, const struct bench_problem *p)
{
    device(q, p, "matmul_32", 32);
}

enum { ROWS = 8, COLUMNS = 2 * LANES };

/* ROWS rows of C below a packed panel of B. */
static void micro_tile(const float *restrict a, const float *restrict panel, float *restrict c,
                       int n)
{
    vfloat sum[ROWS][2] = {{{0}}};
    for (int k = 0; k < n; k++) {
        vfloat left = vload(panel + k * COLUMNS), right = vload(panel + k * COLUMNS + LANES);
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            sum[r][0] += a[r * n + k] * left;
            sum[r][1] += a[r * n + k] * right;
        }
    }
    for (int r = 0; r < ROWS; r++) {
        vstore(c + r * n, sum[r][0]);
        vstore(c + r * n + LANES, sum[r][1]);
    }
}

static void multiply(const float *a, const float *b, float *c, int n)
{
#pragma omp parallel
    {
        float *panel = aligned_alloc(64, (size_t)n * COLUMNS * sizeof(float));
        if (panel == NULL)
            bench_stop("no memory");
#pragma omp for schedule(dynamic)
        for (int column = 0; column < n; column += COLUMNS) {
            for (int k = 0; k < n; k++) {
                vstore(panel + k * COLUMNS, vload(b + k * n + column));
                vstore(panel + k * COLUMNS + LANES, vload(b + k * n + column + LANES));
            }
            for (int row = 0; row < n; row += ROWS)
                micro_tile(a + row * n, panel, c + row * n + column, n);
        }
        free(panel);
    }
}

static void native(const struct bench_problem *p)
{
    multiply(p->array[0].data, p->array[1].data, p->array[2].data, p->n);
}

/* The same of matrices of half precision, which are two in an int. */
static void make_half(struct bench_problem *p)
{
    uint32_t seed = 3;
    size_t count = (size_t)p->n * (size_t)p->n;
    for (int i = 0; i < 2; i++) {
        _Float16 *m = bench_add(p, BENCH_INT, count / 2, 0);
        for (size_t j = 0; j < count; j++)
            m[j] = (_Float16)bench_random(&seed, 0, 1);
    }
    bench_add(p, BENCH_FLOAT, count, 1);
}

static void device_tensor(struct bench_queue *q, const struct bench_problem *p)
{
    BENCH_LAUNCH(q, "gemm_tensor", p->n / 128, p->n / 32, 128, 1, BENCH_ARRAY(0), BENCH_ARRAY(1),
                 BENCH_ARRAY(2), BENCH_INT_ARG(p->n));
}

static void native_half(const struct bench_problem *p)
{
    size_t count = (size_t)p->n * (size_t)p->n;
    float *wide = aligned_alloc(64, 2 * count * sizeof(float));
    if (wide == NULL)
        bench_stop("no memory");
    for (int i = 0; i < 2; i++) {
        const _Float16 *m = p->array[i].data;
#pragma omp parallel for simd
        for (size_t j = 0; j < count; j++)
            wide[(size_t)i * count + j] = (float)m[j];
    }
    multiply(wide, wide + count, p->array[2].data, p->n);
    free(wide);
}

const struct bench bench_gemm_tensor = {
    .name = "gemm_tensor",
    .title = "matrix product by tensor cores, 1024², half inputs",
    .n = 1024,
    .quick_n = 128,
    .tolerance = 1e-5,
    .make = make_half,
    .device = device_tensor,
    .native = native_half,
};

/* Against a library of single precision, whose inputs are widened in two more arrays. */
static void make_widened(struct bench_problem *p)
{
    make_half(p);
    size_t count = (size_t)p->n * (size_t)p->n;
    for (int i = 0; i < 2; i++) {
        const _Float16 *m = p->array[i].data;
        float *wide = bench_add(p, BENCH_FLOAT, count, 0);
        for (size_t j = 0; j < count; j++)
            wide[j] = (float)m[j];
    }
}

/* BLAS counts by columns: the product of the transposed, in the other order. */
static void native_blas(const struct bench_problem *p)
{
    typedef void sgemm(const char *, const char *, const int *, const int *, const int *,
                       const float *, const float *, const int *, const float *, const int *,
                       const float *, float *, const int *);
    static sgemm *function;
    if (function == NULL) {
        void *library = dlopen("libopenblas.so.0", RTLD_NOW);
        function = library != NULL ? (sgemm *)dlsym(library, "sgemm_") : NULL;
        if (function == NULL)
            bench_stop("no OpenBLAS: make bench-deps");
    }
    const float one = 1, zero = 0;
    function("N", "N", &p->n, &p->n, &p->n, &one, p->array[4].data, &p->n, p->array[3].data, &p->n,
             &zero, p->array[2].data, &p->n);
}

const struct bench bench_gemm_blas = {
    .name = "gemm_blas",
    .title = "matrix product by tensor cores against OpenBLAS sgemm, 1024²",
    .n = 1024,
    .quick_n = 128,
    .tolerance = 1e-5,
    .make = make_widened,
    .device = device_tensor,
    .native = native_blas,
    .separate = 1,
};

#define ROW(row, text, launches)                                                                   \
    const struct bench bench_##row = {                                                             \
        .name = #row,                                                                              \
        .title = text,                                                                             \
        .cl = "matmul/kernel",                                                                     \
        .n = 1024,                                                                                 \
        .quick_n = 96,                                                                             \
        .tolerance = 1e-5,                                                                         \
        .make = make,                                                                              \
        .device = launches,                                                                        \
        .native = native,                                                                          \
        .spelling = {"size as parameter", "size constant", "64-bit index, padded tiles"},          \
    }
ROW(matmul_naive, "matmul 1024², global memory, 16×16 blocks", device_naive);
ROW(matmul_16, "matmul 1024², 16×16 shared tiles", device_16);
ROW(matmul_32, "matmul 1024², 32×32 shared tiles", device_32);
