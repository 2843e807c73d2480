/* The OpenCL side, on PoCL: the same launches on a command queue, times from the first enqueue to
 * the end of clFinish. Without OpenCL's headers at build time, or PoCL at run time, the column of
 * the table says so. */
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef BENCH_OPENCL
double bench_run_opencl(const struct bench *bench, struct bench_problem *problem, int spelling,
                        double budget_ms, void *result)
{
    bench_stop("not installed");
}
#else
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>

enum { MAX_KERNELS = 8 };

struct cl_queue {
    struct bench_queue base;
    const struct bench *bench;
    struct bench_problem *problem;
    cl_context context;
    cl_device_id device;
    cl_command_queue commands;
    cl_program program;
    cl_mem array[BENCH_MAX_ARRAYS];
    struct {
        const char *name;
        cl_kernel kernel;
    } kernel[MAX_KERNELS]; /* those met so far */
    int kernels;
};

static void must(cl_int error, const char *what)
{
    if (error)
        bench_stop("%s: error %d", what, error);
}

static void find_device(struct cl_queue *queue)
{
    cl_platform_id platforms[16];
    cl_uint count = 0;
    char name[256];
    clGetPlatformIDs(16, platforms, &count); /* no platform at all is an error: none found */
    for (cl_uint i = 0; i < count && i < 16; i++) {
        clGetPlatformInfo(platforms[i], CL_PLATFORM_NAME, sizeof name, name, NULL);
        if (strcmp(name, "Portable Computing Language"))
            continue;
        must(clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_CPU, 1, &queue->device, NULL), "device");
        return;
    }
    bench_stop("not installed");
}

static void build(struct cl_queue *queue)
{
    char path[4096], *text = NULL;
    size_t length = 0;
    snprintf(path, sizeof path, "%s/kernels/%s.cl", BENCH_SOURCE_DIR, queue->bench->cl);
    FILE *file = fopen(path, "r");
    if (!file || getdelim(&text, &length, '\0', file) < 0)
        bench_stop("cannot read %s", path);
    fclose(file);
    cl_int error;
    queue->program =
        clCreateProgramWithSource(queue->context, 1, (const char **)&text, NULL, &error);
    must(error, "program");
    /* Multiplies and adds may fuse, as CUDA compilers do by default. */
    if (clBuildProgram(queue->program, 1, &queue->device, "-cl-std=CL3.0 -cl-mad-enable", NULL,
                       NULL)) {
        static char log[8192];
        clGetProgramBuildInfo(queue->program, queue->device, CL_PROGRAM_BUILD_LOG, sizeof log - 1,
                              log, NULL);
        fprintf(stderr, "%s\n", log);
        bench_stop("does not compile");
    }
    free(text);
}

static cl_kernel kernel_by_name(struct cl_queue *queue, const char *name)
{
    for (int i = 0; i < queue->kernels; i++)
        if (!strcmp(queue->kernel[i].name, name))
            return queue->kernel[i].kernel;
    if (queue->kernels == MAX_KERNELS)
        bench_stop("too many kernels");
    cl_int error;
    cl_kernel kernel = clCreateKernel(queue->program, name, &error);
    must(error, name);
    queue->kernel[queue->kernels].name = name;
    queue->kernel[queue->kernels++].kernel = kernel;
    return kernel;
}

static void launch(struct bench_queue *base, const struct bench_launch *l)
{
    struct cl_queue *queue = (struct cl_queue *)base;
    cl_kernel kernel = kernel_by_name(queue, l->kernel);
    for (int i = 0; i < l->args; i++) {
        const struct bench_arg *arg = &l->arg[i];
        if (arg->kind == BENCH_ARG_ARRAY)
            must(clSetKernelArg(kernel, (cl_uint)i, sizeof(cl_mem), &queue->array[arg->i]),
                 l->kernel);
        else
            must(clSetKernelArg(kernel, (cl_uint)i, 4,
                                arg->kind == BENCH_ARG_INT ? (const void *)&arg->i : &arg->f),
                 l->kernel);
    }
    size_t local[2] = {l->block_x, l->block_y};
    size_t global[2] = {(size_t)l->grid_x * l->block_x, (size_t)l->grid_y * l->block_y};
    must(clEnqueueNDRangeKernel(queue->commands, kernel, 2, NULL, global, local, 0, NULL, NULL),
         l->kernel);
}

static void zero(struct bench_queue *base, int array)
{
    struct cl_queue *queue = (struct cl_queue *)base;
    cl_int nothing = 0;
    must(clEnqueueFillBuffer(queue->commands, queue->array[array], &nothing, sizeof nothing, 0,
                             bench_bytes(&queue->problem->array[array]), 0, NULL, NULL),
         "clEnqueueFillBuffer");
}

static void run(void *context)
{
    struct cl_queue *queue = context;
    queue->bench->device(&queue->base, queue->problem);
    must(clFinish(queue->commands), "clFinish");
}

static void upload(struct cl_queue *queue)
{
    for (int i = 0; i < queue->problem->arrays; i++) {
        const struct bench_array *a = &queue->problem->array[i];
        must(clEnqueueWriteBuffer(queue->commands, queue->array[i], CL_TRUE, 0, bench_bytes(a),
                                  a->data, 0, NULL, NULL),
             "upload");
    }
}

double bench_run_opencl(const struct bench *bench, struct bench_problem *problem, int spelling,
                        double budget_ms, void *result)
{
    struct cl_queue queue = {.base = {launch, zero, spelling}, .bench = bench, .problem = problem};
    cl_int error;
    if (!bench->cl)
        bench_stop("not said");
    find_device(&queue);
    if (bench->needs_shuffle) {
        static char extensions[8192];
        clGetDeviceInfo(queue.device, CL_DEVICE_EXTENSIONS, sizeof extensions - 1, extensions,
                        NULL);
        if (!strstr(extensions, "cl_khr_subgroup_shuffle"))
            bench_stop("no shuffles");
    }
    queue.context = clCreateContext(NULL, 1, &queue.device, NULL, NULL, &error);
    must(error, "context");
    queue.commands = clCreateCommandQueueWithProperties(queue.context, queue.device, NULL, &error);
    must(error, "queue");
    build(&queue);
    for (int i = 0; i < problem->arrays; i++) {
        queue.array[i] = clCreateBuffer(queue.context, CL_MEM_READ_WRITE,
                                        bench_bytes(&problem->array[i]), NULL, &error);
        must(error, "buffer");
    }
    upload(&queue);
    double best = bench_best(budget_ms, run, &queue);
    if (!result)
        return best;
    upload(&queue);
    run(&queue);
    char *to = result;
    for (int i = 0; i < problem->arrays; i++) {
        const struct bench_array *a = &problem->array[i];
        if (!a->output)
            continue;
        must(clEnqueueReadBuffer(queue.commands, queue.array[i], CL_TRUE, 0, bench_bytes(a), to, 0,
                                 NULL, NULL),
             "download");
        to += bench_bytes(a);
    }
    return best;
}
#endif
