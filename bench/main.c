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

#define DECLARE(name) extern const struct bench bench_##name;
#define ADDRESS(name) &bench_##name,
#define X(name)       DECLARE(name)
#include "rows.def"
#undef X
#define X(name) ADDRESS(name)
static const struct bench *const benches[] = {
#include "rows.def"
};
#undef X
enum {
    BENCH_COUNT = sizeof benches / sizeof benches[0],
    BUDGET_MS = 200, /* a side's time in a round */
    LONG_MS = 300,   /* what takes so long is measured in one round only */
};

/* Weir is a side for each of the row's spellings. */
enum side { WEIR, WEIR_LAST = WEIR + BENCH_SPELLINGS - 1, NATIVE, POCL, SIDES };
static const char *const side_names[SIDES] = {"weir", "weir, second spelling",
                                              "weir, third spelling", "native", "PoCL"};
typedef double side_run(const struct bench *, struct bench_problem *, int, double, void *);
static side_run *const side_runs[SIDES] = {bench_run_weir, bench_run_weir, bench_run_weir,
                                           bench_run_native, bench_run_opencl};

/* What a side leaves for the process that started it. */
struct outcome {
    double ms;        /* best so far; 0 before the first */
    char trouble[96]; /* why there is no time, or empty */
    void *result;     /* its outputs */
};

struct options {
    int quick;             /* small sizes, results only */
    const char *only;      /* one row, or NULL for all */
    int rounds;            /* how often each side has its turn */
    int spellings;         /* how many of each row */
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

static clockid_t clock_of_runs = CLOCK_MONOTONIC;

/* On a machine that other programs use: one thread a side, and CPU time counts. */
static void measure_cpu_time(void)
{
    clock_of_runs = CLOCK_PROCESS_CPUTIME_ID;
    setenv("WEIR_WORKERS", "1", 1);
    setenv("OMP_NUM_THREADS", "1", 1);
    setenv("POCL_MAX_PTHREAD_COUNT", "1", 1);
}

double bench_now_ms(void)
{
    struct timespec t;
    /* The time of a thread that runs on another CPU is counted when it sleeps, or at a tick. */
    if (clock_of_runs == CLOCK_PROCESS_CPUTIME_ID)
        nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
    clock_gettime(clock_of_runs, &t);
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
    static const size_t bytes[] = {
        [BENCH_FLOAT] = 4, [BENCH_INT] = 4, [BENCH_BYTE] = 1, [BENCH_HALF] = 2, [BENCH_LONG] = 8};
    return array->count * bytes[array->type];
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

float *bench_add_floats(struct bench_problem *problem, size_t count, float low, float high)
{
    uint32_t seed = 1 + (uint32_t)problem->arrays;
    float *data = bench_add(problem, BENCH_FLOAT, count, BENCH_INPUT);
    for (size_t i = 0; i < count; i++)
        data[i] = bench_random(&seed, low, high);
    return data;
}

int *bench_add_ints(struct bench_problem *problem, size_t count, int low, int high)
{
    uint32_t seed = 1 + (uint32_t)problem->arrays;
    int *data = bench_add(problem, BENCH_INT, count, BENCH_INPUT);
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        data[i] = low + (int)((uint64_t)seed * (uint64_t)(high - low) >> 32);
    }
    return data;
}

unsigned char *bench_add_bytes(struct bench_problem *problem, size_t count, int low, int high)
{
    uint32_t seed = 1 + (uint32_t)problem->arrays;
    unsigned char *data = bench_add(problem, BENCH_BYTE, count, BENCH_INPUT);
    for (size_t i = 0; i < count; i++)
        data[i] = (unsigned char)bench_random(&seed, (float)low, (float)high);
    return data;
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
    int spelling = side <= WEIR_LAST ? (int)side : 0;
    pid_t child = fork();
    if (child < 0) {
        snprintf(outcome->trouble, sizeof outcome->trouble, "fork: %s", strerror(errno));
        return;
    }
    if (child == 0) {
        current = outcome;
        alarm((unsigned)options->limit_s);
        double ms = side_runs[side](bench, problem, spelling, options->quick ? 0 : BUDGET_MS,
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

static long double element(const struct bench_array *array, const void *data, size_t i)
{
    switch (array->type) {
    case BENCH_FLOAT: return ((const float *)data)[i];
    case BENCH_INT: return ((const int *)data)[i];
    case BENCH_BYTE: return ((const unsigned char *)data)[i];
    case BENCH_HALF: return (float)((const _Float16 *)data)[i];
    case BENCH_LONG: return ((const int64_t *)data)[i];
    }
    return NAN;
}

static int by_number(const void *a, const void *b)
{
    const int *left = a, *right = b;
    return (*left > *right) - (*left < *right);
}

/* Writes to outcome->trouble if one array differs from the expected by more than is allowed. */
static void compare_array(const struct bench *bench, const struct bench_array *array, void *got,
                          void *expected, struct outcome *outcome)
{
    if (array->output == BENCH_UNORDERED) {
        qsort(got, array->count, sizeof(int), by_number);
        qsort(expected, array->count, sizeof(int), by_number);
    }
    long double scale = 0;
    for (size_t i = 0; i < array->count; i++)
        scale = fmaxl(scale, fabsl(element(array, expected, i)));
    size_t wrong = 0, first = 0;
    for (size_t i = 0; i < array->count; i++) {
        long double difference = fabsl(element(array, got, i) - element(array, expected, i));
        if (!(difference <= bench->tolerance * scale) && !wrong++)
            first = i;
    }
    if ((double)wrong > bench->outliers * (double)array->count)
        snprintf(outcome->trouble, sizeof outcome->trouble,
                 "wrong: %zu, first [%zu] %.9Lg for %.9Lg", wrong, first,
                 element(array, got, first), element(array, expected, first));
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
            compare_array(bench, array, (char *)outcome->result + at, (char *)native->result + at,
                          outcome);
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

/* Columns of ratios: of native code to the first spelling, to the best and to the worst, of PoCL to
 * the first. */
enum { PLAIN, BEST, WORST, OF_POCL, RATIOS };

/* Sums for the geometric means. */
struct means {
    double logs[RATIOS];
    int count[RATIOS];
};

static void ratio_cell(const struct outcome *over, double ms, struct means *means, int column)
{
    if (over->trouble[0] || ms <= 0) {
        printf(" %11s |", "-");
        return;
    }
    printf(" %11.2f |", over->ms / ms);
    means->logs[column] += log(over->ms / ms);
    means->count[column]++;
}

/* Without times, when only results are compared. */
static void head(const struct options *options)
{
    printf("| %-50s | %9s | %9s | %9s |",
           options->quick ? "small sizes, results only" : "best of several runs", "weir ms",
           "native ms", "PoCL ms");
    printf(options->quick ? "\n"
                          : " native/weir | of the best | of the worst | PoCL/weir | worst |\n");
    printf("| --- | ---: | ---: | ---: |%s\n",
           options->quick ? "" : " ---: | ---: | ---: | ---: | --- |");
}

static void foot(const struct means *means)
{
    printf("| %-50s | %9s | %9s | %9s |", "geometric mean", "", "", "");
    for (int i = 0; i < RATIOS; i++)
        printf(" %11.2f |", means->count[i] ? exp(means->logs[i] / means->count[i]) : 0.0);
    printf(" |\n");
}

/* The ratios of a row, and which of its spellings is the slowest where that is more than noise. */
static void ratios(const struct bench *bench, const struct outcome *outcomes, struct means *means)
{
    double plain = 0, best = 0, worst = 0;
    int slowest = 0;
    for (int i = 0; i < BENCH_SPELLINGS; i++) {
        double ms = outcomes[WEIR + i].trouble[0] ? 0 : outcomes[WEIR + i].ms;
        if (i == 0)
            plain = ms;
        if (ms > 0 && (best <= 0 || ms < best))
            best = ms;
        if (ms > worst) {
            worst = ms;
            slowest = i;
        }
    }
    ratio_cell(&outcomes[NATIVE], plain, means, PLAIN);
    ratio_cell(&outcomes[NATIVE], best, means, BEST);
    ratio_cell(&outcomes[NATIVE], worst, means, WORST);
    ratio_cell(&outcomes[POCL], plain, means, OF_POCL);
    printf(" %s |",
           worst > 1.1 * best && bench->spelling[slowest] != NULL ? bench->spelling[slowest] : "");
}

/* Why a side has no part in a row, or NULL. */
static const char *left_out(const struct bench *bench, int side, const struct options *options)
{
    if (options->skipped >> (side <= WEIR_LAST ? WEIR : side) & 1)
        return "left out";
    if (side > WEIR && side <= WEIR_LAST &&
        (bench->spelling[side] == NULL || side >= options->spellings))
        return "no such spelling";
    return NULL;
}

/* All sides of a row, in turn. */
static void measure(const struct bench *bench, struct bench_problem *problem,
                    struct outcome *outcomes, const struct options *options)
{
    for (int round = 0; round < (options->quick ? 1 : options->rounds); round++)
        for (int side = 0; side < SIDES; side++)
            if (!outcomes[side].trouble[0] && outcomes[side].ms < LONG_MS)
                run_side(side, bench, problem, &outcomes[side], round, options);
    for (int side = 0; side < SIDES; side++)
        if (side != NATIVE && !outcomes[side].trouble[0] && !outcomes[NATIVE].trouble[0])
            compare(bench, problem, &outcomes[side], &outcomes[NATIVE]);
}

/* Says what went wrong; returns whether weir and native are right (PoCL may be missing). */
static int judge(const struct bench *bench, const struct outcome *outcomes,
                 const struct options *options)
{
    int right = 1;
    for (int side = 0; side < SIDES; side++) {
        if (!outcomes[side].trouble[0] || left_out(bench, side, options))
            continue;
        fprintf(stderr, "%s: %s: %s\n", bench->name, side_names[side], outcomes[side].trouble);
        right &= side == POCL && strncmp(outcomes[side].trouble, "wrong", 5) != 0;
    }
    return right;
}

/* One row; returns whether it is right. */
static int run_bench(const struct bench *bench, const struct options *options, struct means *means)
{
    struct bench_problem problem = {.n = options->quick ? bench->quick_n : bench->n};
    bench->make(&problem);
    size_t bytes = output_bytes(&problem);
    struct outcome *outcomes = pages(sizeof *outcomes * SIDES, MAP_SHARED);
    for (int side = 0; side < SIDES; side++) {
        outcomes[side].result = pages(bytes, MAP_SHARED);
        if (left_out(bench, side, options))
            snprintf(outcomes[side].trouble, sizeof outcomes->trouble, "left out");
    }
    measure(bench, &problem, outcomes, options);

    int wide = 0; /* bytes of UTF-8 that are no column of their own */
    for (const char *c = bench->title; *c; c++)
        wide += (*c & 0xc0) == 0x80;
    printf("| %-*s |", 50 + wide, bench->title);
    cell(&outcomes[WEIR], options);
    cell(&outcomes[NATIVE], options);
    cell(&outcomes[POCL], options);
    struct means unused = {{0}, {0}};
    if (!options->quick)
        ratios(bench, outcomes, bench->separate ? &unused : means);
    printf("\n");
    fflush(stdout);

    int right = judge(bench, outcomes, options);
    for (int side = 0; side < SIDES; side++)
        munmap(outcomes[side].result, bytes);
    munmap(outcomes, sizeof *outcomes * SIDES);
    for (int i = 0; i < problem.arrays; i++)
        munmap(problem.array[i].data, bench_bytes(&problem.array[i]));
    return right;
}

static int asked(const struct bench *bench, const struct options *options, int separate)
{
    return bench->separate == separate &&
           (options->only == NULL || !strcmp(options->only, bench->name));
}

/* The rows of the table, or those that are listed below it. */
static void run_rows(const struct options *options, int separate, struct means *means, int *rows,
                     int *right)
{
    for (int i = 0; i < BENCH_COUNT; i++)
        if (asked(benches[i], options, separate)) {
            if (isatty(STDERR_FILENO))
                fprintf(stderr, "%d of %d: %s ...\r", i + 1, (int)BENCH_COUNT, benches[i]->name);
            ++*rows;
            *right += run_bench(benches[i], options, means);
        }
}

/* Where only results are compared, rows run beside each other, as many as there are CPUs;
 * each line is printed when its row has ended. */
static void compare_rows(const struct options *options, int *rows, int *right)
{
    long most = sysconf(_SC_NPROCESSORS_ONLN), running = 0;
    for (int i = 0; i < BENCH_COUNT || running > 0;) {
        int status;
        if (running >= most || i == BENCH_COUNT) {
            if (wait(&status) < 0)
                break;
            running--;
            *right += status == 0;
            continue;
        }
        const struct bench *bench = benches[i++];
        if (!asked(bench, options, 0))
            continue;
        ++*rows;
        running++;
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            struct means unused = {{0}, {0}};
            int result = run_bench(bench, options, &unused);
            fflush(stdout);
            _exit(!result);
        }
        if (child < 0) {
            fprintf(stderr, "bench: fork: %s\n", strerror(errno));
            break;
        }
    }
}

/* One side of one row, in this process and without a result: prints its time. `name` may end in
 * @2 or @3, the spelling. */
static int run_alone(const char *name, enum side side)
{
    size_t length = strcspn(name, "@");
    int spelling = name[length] != '\0' ? atoi(name + length + 1) - 1 : 0;
    for (int i = 0; i < BENCH_COUNT; i++)
        if (strlen(benches[i]->name) == length && !strncmp(name, benches[i]->name, length)) {
            struct bench_problem problem = {.n = benches[i]->n};
            benches[i]->make(&problem);
            printf("%.4f\n", side_runs[side](benches[i], &problem, spelling, BUDGET_MS, NULL));
            return 0;
        }
    return 2;
}

static int usage(void)
{
    fprintf(
        stderr,
        "usage: weir-bench [--quick] [--busy] [--kernel ROW] [--without weir|PoCL] [--rounds N] "
        "[--spellings N]\n"
        "       weir-bench --alone|--native|--pocl ROW[@SPELLING]\nrows:");
    for (int i = 0; i < BENCH_COUNT; i++)
        fprintf(stderr, " %s", benches[i]->name);
    fprintf(stderr, "\n");
    return 2;
}

/* Whether the arguments could be read. */
static int read_options(int argc, char **argv, struct options *options)
{
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (!strcmp(argv[i], "--quick"))
            options->quick = 1;
        else if (!strcmp(argv[i], "--busy"))
            measure_cpu_time();
        else if (value == NULL)
            return 0;
        else if (!strcmp(argv[i], "--kernel"))
            options->only = argv[++i];
        else if (!strcmp(argv[i], "--rounds"))
            options->rounds = atoi(argv[++i]);
        else if (!strcmp(argv[i], "--spellings"))
            options->spellings = atoi(argv[++i]);
        else if (!strcmp(argv[i], "--without") && !strcasecmp(value, "weir"))
            options->skipped |= 1u << WEIR, i++;
        else if (!strcmp(argv[i], "--without") && !strcasecmp(value, "pocl"))
            options->skipped |= 1u << POCL, i++;
        else
            return 0;
    }
    return options->rounds > 0;
}

int main(int argc, char **argv)
{
    struct options options = {.limit_s = 60, .rounds = 4, .spellings = BENCH_SPELLINGS};
    if (argc == 3 && !strcmp(argv[1], "--alone"))
        return run_alone(argv[2], WEIR);
    if (argc == 3 && !strcmp(argv[1], "--native"))
        return run_alone(argv[2], NATIVE);
    if (argc == 3 && !strcmp(argv[1], "--pocl"))
        return run_alone(argv[2], POCL);
    if (!read_options(argc, argv, &options))
        return usage();
    struct means means = {{0}, {0}};
    int rows = 0, right = 0;
    head(&options);
    if (options.quick)
        compare_rows(&options, &rows, &right);
    else
        run_rows(&options, 0, &means, &rows, &right);
    if (!options.quick && rows > 1)
        foot(&means);
    if (!options.quick)
        run_rows(&options, 1, &means, &rows, &right);
    if (!rows)
        return usage();
    if (right < rows)
        fprintf(stderr, "bench: %d of %d rows are not right\n", rows - right, rows);
    return right < rows;
}
