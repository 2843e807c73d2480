/* What a benchmark is made of. Each problem under kernels/ has three versions: X.cu for Weir, X.cl
 * for OpenCL where OpenCL can say it, and X.c, native code, which also makes the inputs and says
 * which launches solve the problem. The launches are written once, so that Weir and OpenCL run the
 * same algorithm with the same grid. main.c runs the versions in turn and compares their results.
 *
 * A kernel may be spelled up to three ways (sizes as parameters or as constants, other block
 * shapes, other types of indices): the same work, so that the speed should be the same. Launches
 * ask queue->spelling where the block differs; a kernel that differs is registered for its
 * spelling.
 */
#ifndef BENCH_HARNESS_H
#define BENCH_HARNESS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { BENCH_MAX_ARRAYS = 10, BENCH_MAX_ARGS = 14, BENCH_SPELLINGS = 3 };

enum bench_type { BENCH_FLOAT, BENCH_INT, BENCH_BYTE, BENCH_HALF, BENCH_LONG };

/* What an array is for. */
enum bench_use {
    BENCH_INPUT,
    BENCH_OUTPUT,   /* compared between the versions */
    BENCH_UNORDERED /* compared as a set of numbers, since threads append to it in any order */
};

/* An array that the problem reads or writes. */
struct bench_array {
    enum bench_type type;
    size_t count; /* elements */
    int output;   /* enum bench_use */
    void *data;   /* its content at the start */
};

/* A problem of a certain size. */
struct bench_problem {
    int n; /* what the row calls its size */
    int arrays;
    struct bench_array array[BENCH_MAX_ARRAYS];
};

enum bench_arg_kind { BENCH_ARG_ARRAY, BENCH_ARG_INT, BENCH_ARG_FLOAT };

/* One argument of a kernel. */
struct bench_arg {
    enum bench_arg_kind kind;
    int i; /* the number, or which array */
    float f;
};

/* One launch: kernel, grid and block as in CUDA. */
struct bench_launch {
    const char *kernel;
    unsigned grid_x, grid_y, block_x, block_y;
    int args;
    struct bench_arg arg[BENCH_MAX_ARGS];
};

/* Where launches go; each device side has its own. */
struct bench_queue {
    void (*launch)(struct bench_queue *queue, const struct bench_launch *launch);
    void (*zero)(struct bench_queue *queue, int array); /* fills an array with zero bytes */
    int spelling;                                       /* which of the row's */
};

#define BENCH_ARRAY(which)     ((struct bench_arg){BENCH_ARG_ARRAY, (which), 0})
#define BENCH_INT_ARG(value)   ((struct bench_arg){BENCH_ARG_INT, (value), 0})
#define BENCH_FLOAT_ARG(value) ((struct bench_arg){BENCH_ARG_FLOAT, 0, (value)})
/* BENCH_LAUNCH(queue, "kernel", grid_x, grid_y, block_x, block_y, arguments...) */
#define BENCH_LAUNCH(queue, name, gx, gy, bx, by, ...)                                             \
    (queue)->launch((queue),                                                                       \
                    &(struct bench_launch){name,                                                   \
                                           (unsigned)(gx),                                         \
                                           (unsigned)(gy),                                         \
                                           (bx),                                                   \
                                           (by),                                                   \
                                           (int)(sizeof((struct bench_arg[]){__VA_ARGS__}) /       \
                                                 sizeof(struct bench_arg)),                        \
                                           {__VA_ARGS__}})

/* One row of the table. */
struct bench {
    const char *name;  /* of the row */
    const char *title; /* what it is, with its size */
    const char *cl;    /* its OpenCL file under kernels/, NULL: OpenCL has no such thing */
    int n, quick_n;    /* size in the table, size when only results are checked */
    double tolerance;  /* of a result, relative to the largest of its array */
    double
        outliers; /* fraction of elements that may be outside of it (counts decided by rounding) */
    void (*make)(struct bench_problem *problem);
    void (*device)(struct bench_queue *queue, const struct bench_problem *problem);
    void (*native)(const struct bench_problem *problem);
    int needs_shuffle;                     /* OpenCL must have sub-groups of 32 with shuffles */
    const char *spelling[BENCH_SPELLINGS]; /* what each is, the first one first; NULL: no such */
    int separate; /* below the table, in no mean: native is a library that may be missing */
};

/* Adds an array of `count` elements to the problem, zeroed; returns its data. */
void *bench_add(struct bench_problem *problem, enum bench_type type, size_t count, int output);
/* The same, filled with a fixed sequence of numbers in [low, high). */
float *bench_add_floats(struct bench_problem *problem, size_t count, float low, float high);
int *bench_add_ints(struct bench_problem *problem, size_t count, int low, int high);
unsigned char *bench_add_bytes(struct bench_problem *problem, size_t count, int low, int high);
/* The next of a fixed sequence of numbers in [low, high). */
float bench_random(uint32_t *state, float low, float high);
size_t bench_bytes(const struct bench_array *array);
double bench_now_ms(void);
/* Calls run(context) once to warm up, then again until the budget is spent, at least
 * once; returns the shortest, in ms. */
double bench_best(double budget_ms, void (*run)(void *context), void *context);
/* Ends this side's process with a reason that the table shows. */
void bench_stop(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* The sides: measure, return the best time in ms, and, unless `result` is NULL, solve the problem
 * once more from its inputs and store the outputs there, one after another. Each runs in a process
 * of its own. */
double bench_run_weir(const struct bench *bench, struct bench_problem *problem, int spelling,
                      double budget_ms, void *result);
double bench_run_native(const struct bench *bench, struct bench_problem *problem, int spelling,
                        double budget_ms, void *result);
double bench_run_opencl(const struct bench *bench, struct bench_problem *problem, int spelling,
                        double budget_ms, void *result);

/* Kernels of CUDA files make themselves known by name, and by spelling where they differ (the
 * others have the first). */
void bench_register_kernel(const char *name, int spelling, const void *function);
/* A launch that is more than grid, block and arguments (a texture, a cooperative launch, constant
 * memory) is a function of the CUDA file, called in the kernel's place with the launch and
 * pointers to its arguments. */
typedef void bench_host_launch(const struct bench_launch *launch, void **args);
void bench_register_host(const char *name, int spelling, bench_host_launch *function);
/* Device memory of an argument, for such a function. */
#define BENCH_POINTER(type, argument) (*(type **)(argument))

#ifdef __cplusplus
}
struct bench_kernel_name {
    bench_kernel_name(const char *name, int spelling, const void *function)
    {
        bench_register_kernel(name, spelling, function);
    }
};
struct bench_host_name {
    bench_host_name(const char *name, int spelling, bench_host_launch *function)
    {
        bench_register_host(name, spelling, function);
    }
};
#define BENCH_KERNEL(name) BENCH_SPELLING(name, 0, name)
/* BENCH_SPELLING(name, spelling, function): the function may have template arguments. */
#define BENCH_SPELLING(name, spelling, ...)                                                        \
    static const bench_kernel_name name##_known_##spelling(                                        \
        #name, spelling, reinterpret_cast<const void *>(__VA_ARGS__))
#define BENCH_HOST(name, spelling, ...)                                                            \
    static const bench_host_name name##_host_##spelling(#name, spelling, __VA_ARGS__)
#endif

#endif
