/* The table: weir | native | PoCL for each problem. Every side runs in a process of its own, so
 * that a side that crashes or hangs costs one cell, and idle threads of one never disturb another.
 * The sides alternate, round by round, since the machine is not quiet; the best time counts.
 * Results are compared with the native version's. */
#include "harness.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BENCHES(X)                                                                                 \
    X(vector_add)                                                                                  \
    X(saxpy)                                                                                       \
    X(matmul_naive)                                                                                \
    X(matmul_16)                                                                                   \
    X(matmul_32)                                                                                   \
    X(reduce_tree)                                                                                 \
    X(reduce_shuffle)                                                                              \
    X(black_scholes)                                                                               \
    X(nbody)                                                                                       \
    X(histogram)                                                                                   \
    X(stencil)                                                                                     \
    X(mandelbrot)                                                                                  \
    X(transpose)                                                                                   \
    X(scan)                                                                                        \
    X(spmv)                                                                                        \
    X(spmv_warp)                                                                                   \
    X(bitonic)                                                                                     \
    X(gemm_tensor)                                                                                 \
    X(softmax)                                                                                     \
    X(layer_norm)                                                                                  \
    X(sha256)                                                                                      \
    X(bfs)                                                                                         \
    X(gemm_blas)
#define DECLARE(name) extern const struct bench bench_##name;
#define ADDRESS(name) &bench_##name,
BENCHES(DECLARE)
static const struct bench *const benches[] = {BENCHES(ADDRESS)};
enum {
    BENCH_COUNT = sizeof benches / sizeof benches[0],
    ROUNDS = 4,
    BUDGET_MS = 200, /* a side's time in a round */
    LONG_MS = 300,   /* what takes so long is measured in one round only */
};

enum side { WEIR, NATIVE, POCL, SIDES };
static const char *const side_names[SIDES] = {"weir", "native", "PoCL"};
static double (*const side_runs[SIDES])(const struct bench *, struct bench_problem *, double,
                                        void *) = {bench_run_weir, bench_run_native,
                                                   bench_run_opencl};

/* What a side leaves for the process that started it. */
struct outcome {
    double ms;        /* best so far; 0 before the first */
    char trouble[96]; /* why there is no time, or empty */
    void *result;     /* its outputs */
};

struct options {
    int quick;             /* small sizes, results only */
    const char *only;      /* one row, or NULL for all */
    unsigned skipped;      /* bit per side left out */
    unsigned long limit_s; /* of one side's process */
};

static struct outcome *current; /* of the side this process runs */

void bench_stop(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (current != NULL)
        vsnprintf(current->trouble, sizeof current->trouble, format, args);
    va_end(args);
    _exit(1);
}

double bench_now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

double bench_best(double budget_ms, void (*run)(void *), void *context)
{
    run(context);
    double best = INFINITY, start = bench_now_ms(), now = start;
    for (int i = 0; i == 0 || now - start < budget_ms; i++) {
        double before = now;
        run(context);
        now = bench_now_ms();
        best = fmin(best, now - before);
    }
    return best;
}

float bench_random(uint32_t *state, float low, float high)
{
    *state = *state * 1664525u + 1013904223u;
    return low + (high - low) * (float)(*state >> 8) * 0x1p-24f;
}

size_t bench_bytes(const struct bench_array *array)
{
    return array->count * (array->type == BENCH_BYTE ? 1 : 4);
}

static void *pages(size_t bytes, int sharing)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, sharing | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) {
        fprintf(stderr, "bench: no memory for %zu bytes\n", bytes);
        exit(1);
    }
    return p;
}

void *bench_add(struct bench_problem *problem, enum bench_type type, size_t count, int output)
{
    struct bench_array *array = &problem->array[problem->arrays++];
    *array = (struct bench_array){type, count, output, NULL};
    array->data = pages(bench_bytes(array), MAP_PRIVATE);
    return array->data;
}

static size_t output_bytes(const struct bench_problem *problem)
{
    size_t bytes = 1;
    for (int i = 0; i < problem->arrays; i++)
        if (problem->array[i].output)
            bytes += bench_bytes(&problem->array[i]);
    return bytes;
}

/* One side once, in a child; its outputs are taken in the first round only. */
static void run_side(enum side side, const struct bench *bench, struct bench_problem *problem,
                     struct outcome *outcome, int round, const struct options *options)
{
    fflush(stdout);
    pid_t child = fork();
    if (child < 0) {
        snprintf(outcome->trouble, sizeof outcome->trouble, "fork: %s", strerror(errno));
        return;
    }
    if (child == 0) {
        current = outcome;
        alarm((unsigned)options->limit_s);
        double ms = side_runs[side](bench, problem, options->quick ? 0 : BUDGET_MS,
                                    round == 0 ? outcome->result : NULL);
        if (outcome->ms == 0 || ms < outcome->ms)
            outcome->ms = ms;
        exit(0); /* and not _exit(): a kernel's optimized code is stored at the latest here */
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        snprintf(outcome->trouble, sizeof outcome->trouble, "longer than %lu s", options->limit_s);
    else if (WIFSIGNALED(status))
        snprintf(outcome->trouble, sizeof outcome->trouble, "%s", strsignal(WTERMSIG(status)));
    else if (status && !outcome->trouble[0])
        snprintf(outcome->trouble, sizeof outcome->trouble, "exit status %d", WEXITSTATUS(status));
}

static double element(const struct bench_array *array, const void *data, size_t i)
{
    switch (array->type) {
    case BENCH_FLOAT: return ((const float *)data)[i];
    case BENCH_INT: return ((const int *)data)[i];
    case BENCH_BYTE: return ((const unsigned char *)data)[i];
    }
    return NAN;
}

/* Writes to outcome->trouble if one array differs from the expected by more than is allowed. */
static void compare_array(const struct bench *bench, const struct bench_array *array,
                          const void *got, const void *expected, struct outcome *outcome)
{
    double scale = 0;
    for (size_t i = 0; i < array->count; i++)
        scale = fmax(scale, fabs(element(array, expected, i)));
    size_t wrong = 0, first = 0;
    for (size_t i = 0; i < array->count; i++) {
        double difference = fabs(element(array, got, i) - element(array, expected, i));
        if (!(difference <= bench->tolerance * scale) && !wrong++)
            first = i;
    }
    if ((double)wrong > bench->outliers * (double)array->count)
        snprintf(outcome->trouble, sizeof outcome->trouble, "wrong: %zu, first [%zu] %.9g for %.9g",
                 wrong, first, element(array, got, first), element(array, expected, first));
}

static void compare(const struct bench *bench, const struct bench_problem *problem,
                    struct outcome *outcome, const struct outcome *native)
{
    size_t at = 0;
    for (int i = 0; i < problem->arrays; i++) {
        const struct bench_array *array = &problem->array[i];
        if (!array->output)
            continue;
        if (!outcome->trouble[0])
            compare_array(bench, array, (const char *)outcome->result + at,
                          (const char *)native->result + at, outcome);
        at += bench_bytes(array);
    }
}

static void cell(const struct outcome *outcome, const struct options *options)
{
    if (outcome->trouble[0])
        printf(" %9s |", "-");
    else if (options->quick)
        printf(" %9s |", "right");
    else
        printf(" %9.*f |", outcome->ms < 100 ? 2 : 0, outcome->ms);
}

static void ratio_cell(const struct outcome *over, const struct outcome *weir, double *logs,
                       int *count)
{
    if (over->trouble[0] || weir->trouble[0]) {
        printf(" %11s |", "-");
        return;
    }
    printf(" %11.2f |", over->ms / weir->ms);
    *logs += log(over->ms / weir->ms);
    ++*count;
}

/* Without times, when only results are compared. */
static void head(const struct options *options)
{
    printf("| %-50s | %9s | %9s | %9s |",
           options->quick ? "small sizes, results only" : "best of several runs", "weir ms",
           "native ms", "PoCL ms");
    printf(options->quick ? "\n" : " native/weir |   PoCL/weir |\n");
    printf("| --- | ---: | ---: | ---: |%s\n", options->quick ? "" : " ---: | ---: |");
}

/* Sums for the geometric means. */
struct means {
    double logs[2];
    int count[2];
};

static void foot(const struct means *means)
{
    printf("| %-50s | %9s | %9s | %9s |", "geometric mean", "", "", "");
    for (int i = 0; i < 2; i++)
        printf(" %11.2f |", means->count[i] ? exp(means->logs[i] / means->count[i]) : 0.0);
    printf("\n");
}

/* One row; returns whether weir and native are right (PoCL may be missing). */
static int run_bench(const struct bench *bench, const struct options *options, struct means *means)
{
    struct bench_problem problem = {.n = options->quick ? bench->quick_n : bench->n};
    bench->make(&problem);
    size_t bytes = output_bytes(&problem);
    struct outcome *outcomes = pages(sizeof *outcomes * SIDES, MAP_SHARED);
    for (int side = 0; side < SIDES; side++) {
        outcomes[side].result = pages(bytes, MAP_SHARED);
        if (options->skipped >> side & 1)
            snprintf(outcomes[side].trouble, sizeof outcomes->trouble, "left out");
    }
    for (int round = 0; round < (options->quick ? 1 : ROUNDS); round++)
        for (int side = 0; side < SIDES; side++)
            if (!outcomes[side].trouble[0] && outcomes[side].ms < LONG_MS)
                run_side(side, bench, &problem, &outcomes[side], round, options);
    for (int side = 0; side < SIDES; side++)
        if (side != NATIVE && !outcomes[side].trouble[0] && !outcomes[NATIVE].trouble[0])
            compare(bench, &problem, &outcomes[side], &outcomes[NATIVE]);

    int wide = 0; /* bytes of UTF-8 that are no column of their own */
    for (const char *c = bench->title; *c; c++)
        wide += (*c & 0xc0) == 0x80;
    printf("| %-*s |", 50 + wide, bench->title);
    for (int side = 0; side < SIDES; side++)
        cell(&outcomes[side], options);
    struct means unused;
    if (bench->separate)
        means = &unused;
    if (!options->quick) {
        ratio_cell(&outcomes[NATIVE], &outcomes[WEIR], &means->logs[0], &means->count[0]);
        ratio_cell(&outcomes[POCL], &outcomes[WEIR], &means->logs[1], &means->count[1]);
    }
    printf("\n");
    fflush(stdout);

    for (int side = 0; side < SIDES; side++)
        if (outcomes[side].trouble[0] && !(options->skipped >> side & 1))
            fprintf(stderr, "%s: %s: %s\n", bench->name, side_names[side], outcomes[side].trouble);

    int right =
        (options->skipped & 1 || !outcomes[WEIR].trouble[0]) && !outcomes[NATIVE].trouble[0];
    if (!strncmp(outcomes[POCL].trouble, "wrong", 5))
        right = 0;
    for (int side = 0; side < SIDES; side++)
        munmap(outcomes[side].result, bytes);
    munmap(outcomes, sizeof *outcomes * SIDES);
    for (int i = 0; i < problem.arrays; i++)
        munmap(problem.array[i].data, bench_bytes(&problem.array[i]));
    return right;
}

/* The rows of the table, or those that are listed below it. */
static void run_rows(const struct options *options, int separate, struct means *means, int *rows,
                     int *right)
{
    for (int i = 0; i < BENCH_COUNT; i++)
        if (benches[i]->separate == separate &&
            (options->only == NULL || !strcmp(options->only, benches[i]->name))) {
            ++*rows;
            *right += run_bench(benches[i], options, means);
        }
}

/* Weir's side of one row, in this process and without a result, for bench/checks.py: prints its
 * time. */
static int run_alone(const char *name)
{
    for (int i = 0; i < BENCH_COUNT; i++)
        if (!strcmp(name, benches[i]->name)) {
            struct bench_problem problem = {.n = benches[i]->n};
            benches[i]->make(&problem);
            printf("%.4f\n", bench_run_weir(benches[i], &problem, BUDGET_MS, NULL));
            return 0;
        }
    return 2;
}

static int usage(void)
{
    fprintf(stderr, "usage: weir-bench [--quick] [--kernel ROW] [--without weir|PoCL]\n"
                    "       weir-bench --alone ROW\nrows:");
    for (int i = 0; i < BENCH_COUNT; i++)
        fprintf(stderr, " %s", benches[i]->name);
    fprintf(stderr, "\n");
    return 2;
}

int main(int argc, char **argv)
{
    struct options options = {.limit_s = 60};
    if (argc == 3 && !strcmp(argv[1], "--alone"))
        return run_alone(argv[2]);
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--quick"))
            options.quick = 1;
        else if (!strcmp(argv[i], "--kernel") && i + 1 < argc)
            options.only = argv[++i];
        else if (!strcmp(argv[i], "--without") && i + 1 < argc && !strcasecmp(argv[i + 1], "weir"))
            options.skipped |= 1u << WEIR, i++;
        else if (!strcmp(argv[i], "--without") && i + 1 < argc && !strcasecmp(argv[i + 1], "pocl"))
            options.skipped |= 1u << POCL, i++;
        else
            return usage();
    }
    struct means means = {{0}, {0}};
    int rows = 0, right = 0;
    head(&options);
    run_rows(&options, 0, &means, &rows, &right);
    if (!options.quick && rows)
        foot(&means);
    if (!options.quick)
        run_rows(&options, 1, &means, &rows, &right);
    if (!rows)
        return usage();
    if (right < rows)
        fprintf(stderr, "bench: %d of %d rows are not right\n", rows - right, rows);
    return right < rows;
}
