/* The CUDA side: device arrays, launches through the runtime API, times from launch to the end of
 * cudaDeviceSynchronize. */
#include "harness.h"

#include <cuda_runtime_api.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_KERNELS = 64 };
static struct {
    const char *name;
    const void *function;
} kernels[MAX_KERNELS];
static int kernel_count;

struct cuda_queue {
    struct bench_queue base;
    const struct bench *bench;
    struct bench_problem *problem;
    void *array[BENCH_MAX_ARRAYS]; /* device memory */
};

void bench_register_kernel(const char *name, const void *function)
{
    if (kernel_count == MAX_KERNELS)
        abort();
    kernels[kernel_count].name = name;
    kernels[kernel_count++].function = function;
}

static void must(cudaError_t error, const char *what)
{
    if (error != cudaSuccess)
        bench_stop("%s: %s", what, cudaGetErrorName(error));
}

static const void *kernel_by_name(const char *name)
{
    for (int i = 0; i < kernel_count; i++)
        if (!strcmp(kernels[i].name, name))
            return kernels[i].function;
    bench_stop("no kernel %s", name);
}

static void launch(struct bench_queue *base, const struct bench_launch *l)
{
    struct cuda_queue *queue = (struct cuda_queue *)base;
    struct bench_arg values[BENCH_MAX_ARGS];
    void *args[BENCH_MAX_ARGS];
    memcpy(values, l->arg, sizeof values);
    for (int i = 0; i < l->args; i++) {
        if (values[i].kind == BENCH_ARG_ARRAY)
            args[i] = &queue->array[values[i].i];
        else
            args[i] = values[i].kind == BENCH_ARG_INT ? (void *)&values[i].i : (void *)&values[i].f;
    }
    dim3 grid = {l->grid_x, l->grid_y, 1}, block = {l->block_x, l->block_y, 1};
    must(cudaLaunchKernel(kernel_by_name(l->kernel), grid, block, args, 0, NULL), l->kernel);
}

static void zero(struct bench_queue *base, int array)
{
    struct cuda_queue *queue = (struct cuda_queue *)base;
    must(cudaMemsetAsync(queue->array[array], 0, bench_bytes(&queue->problem->array[array]), NULL),
         "cudaMemsetAsync");
}

static void run(void *context)
{
    struct cuda_queue *queue = context;
    queue->bench->device(&queue->base, queue->problem);
    must(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

static void upload(struct cuda_queue *queue)
{
    for (int i = 0; i < queue->problem->arrays; i++) {
        const struct bench_array *a = &queue->problem->array[i];
        must(cudaMemcpy(queue->array[i], a->data, bench_bytes(a), cudaMemcpyHostToDevice),
             "upload");
    }
}

double bench_run_weir(const struct bench *bench, struct bench_problem *problem, double budget_ms,
                      void *result)
{
    struct cuda_queue queue = {{launch, zero}, bench, problem, {NULL}};
    for (int i = 0; i < problem->arrays; i++)
        must(cudaMalloc(&queue.array[i], bench_bytes(&problem->array[i])), "cudaMalloc");
    upload(&queue);
    double best = bench_best(budget_ms, run, &queue);
    if (result == NULL)
        return best;
    upload(&queue); /* the result that is compared starts from the given input */
    run(&queue);
    char *to = result;
    for (int i = 0; i < problem->arrays; i++) {
        const struct bench_array *a = &problem->array[i];
        if (!a->output)
            continue;
        must(cudaMemcpy(to, queue.array[i], bench_bytes(a), cudaMemcpyDeviceToHost), "download");
        to += bench_bytes(a);
    }
    return best;
}
