/* The CUDA side: device arrays, launches through the runtime API, times from launch to the end of
 * cudaDeviceSynchronize. */
#include "harness.h"

#include <cuda_runtime_api.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_KERNELS = 512 };
struct kernel {
    const char *name;
    int spelling;
    const void *function;
    bench_host_launch *host; /* or this */
};
static struct kernel kernels[MAX_KERNELS];
static int kernel_count;

struct cuda_queue {
    struct bench_queue base;
    const struct bench *bench;
    struct bench_problem *problem;
    void *array[BENCH_MAX_ARRAYS]; /* device memory */
};

static void known(struct kernel kernel)
{
    if (kernel_count == MAX_KERNELS)
        abort();
    kernels[kernel_count++] = kernel;
}

void bench_register_kernel(const char *name, int spelling, const void *function)
{
    known((struct kernel){name, spelling, function, NULL});
}

void bench_register_host(const char *name, int spelling, bench_host_launch *function)
{
    known((struct kernel){name, spelling, NULL, function});
}

static void must(cudaError_t error, const char *what)
{
    if (error != cudaSuccess)
        bench_stop("%s: %s", what, cudaGetErrorName(error));
}

static const struct kernel *kernel_by_name(const char *name, int spelling)
{
    const struct kernel *found = NULL;
    for (int i = 0; i < kernel_count; i++)
        if (!strcmp(kernels[i].name, name)) {
            if (kernels[i].spelling == spelling)
                return &kernels[i];
            if (kernels[i].spelling == 0)
                found = &kernels[i];
        }
    if (found == NULL)
        bench_stop("no kernel %s", name);
    return found;
}

static void launch(struct bench_queue *base, const struct bench_launch *l)
{
    struct cuda_queue *queue = (struct cuda_queue *)base;
    long long numbers[BENCH_MAX_ARGS]; /* for kernels that take 32 bits of them, and 64 */
    float floats[BENCH_MAX_ARGS];
    void *args[BENCH_MAX_ARGS];
    for (int i = 0; i < l->args; i++) {
        numbers[i] = l->arg[i].i;
        floats[i] = l->arg[i].f;
        if (l->arg[i].kind == BENCH_ARG_ARRAY)
            args[i] = &queue->array[l->arg[i].i];
        else
            args[i] = l->arg[i].kind == BENCH_ARG_INT ? (void *)&numbers[i] : (void *)&floats[i];
    }
    const struct kernel *kernel = kernel_by_name(l->kernel, base->spelling);
    if (kernel->host != NULL) {
        kernel->host(l, args);
        must(cudaGetLastError(), l->kernel);
        return;
    }
    dim3 grid = {l->grid_x, l->grid_y, 1}, block = {l->block_x, l->block_y, 1};
    must(cudaLaunchKernel(kernel->function, grid, block, args, 0, NULL), l->kernel);
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

double bench_run_weir(const struct bench *bench, struct bench_problem *problem, int spelling,
                      double budget_ms, void *result)
{
    struct cuda_queue queue = {{launch, zero, spelling}, bench, problem, {NULL}};
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
