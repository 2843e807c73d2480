/* Kernels by every kind of launch, host functions that work on memory, what is asked of kernels. */
#include <stdlib.h>
#include <string.h>

#include "sequences.h"

static dim3 any_grid(struct thread *t) { return (dim3){1 + below(t, 3), 1, 1}; }
static dim3 any_block(struct thread *t)
{
    static const unsigned sizes[] = {32, 64, 128};
    return (dim3){sizes[below(t, 3)], 1, 1};
}

static void launch(struct thread *t, int kernel, void **args, int s)
{
    const void *f = kernel_handle(kernel);
    dim3 grid = any_grid(t), block = any_block(t);
    cudaStream_t h = t->stream[s].h;

    switch (below(t, 5)) {
    case 0: {
        cudaLaunchConfig_t c;
        memset(&c, 0, sizeof c);
        c.gridDim = grid;
        c.blockDim = block;
        c.stream = h;
        OK_RT(cudaLaunchKernelExC(&c, f, args));
        break;
    }
    case 1: {
        cudaFunction_t function;
        OK_RT(cudaGetFuncBySymbol(&function, f));
        OK_CU(cuLaunchKernel((CUfunction)function, grid.x, 1, 1, block.x, 1, 1, 0, (CUstream)h,
                             args, NULL));
        break;
    }
    case 2: OK_RT(cudaLaunchCooperativeKernel(f, grid, block, args, 0, h)); break;
    default: OK_RT(cudaLaunchKernel(f, grid, block, args, below(t, 3) * 512, h)); break;
    }
}

static void mixes(struct thread *t)
{
    struct action a;
    int s = any_stream(t);

    if (!any_action(t, &a, false))
        return;
    a.kind = MIX;
    if (!action_may(t, s, &a))
        return;
    char *p = t->buffer[a.dst].p + a.to;
    unsigned n = (unsigned)a.n;
    void *args[] = {&p, &n, &a.value};
    NOTE(a.dst, a.to, a.n, s);
    launch(t, KERNEL_MIX, args, s);
    enqueued(t, s);
    action_done(t, s, &a);
    act(t, &a);
}

static void copies(struct thread *t)
{
    struct action a;
    int s = any_stream(t);

    if (!any_action(t, &a, false) || a.kind != COPY || a.rows > 1 || !action_may(t, s, &a))
        return;
    char *to = t->buffer[a.dst].p + a.to, *from = t->buffer[a.src].p + a.from;
    unsigned n = (unsigned)a.n, flip = 0;
    void *args[] = {&to, &from, &n, &flip};
    NOTE(a.dst, a.src, a.n, s);
    launch(t, KERNEL_COPY, args, s);
    enqueued(t, s);
    action_done(t, s, &a);
    act(t, &a);
}

/* Adds to what all threads count (shared.c checks the sum). */
static void counts(struct thread *t)
{
    int s = any_stream(t);
    void *args[] = {&places[t->device].counter};

    OK_RT(cudaLaunchKernel(kernel_handle(KERNEL_COUNT), (dim3){1, 1, 1}, (dim3){1, 1, 1}, args, 0,
                           t->stream[s].h));
    enqueued(t, s);
    t->counted++;
}

/* A host function that does what the mixing kernel does. */
struct host_mix {
    unsigned char *p;
    size_t n;
    unsigned value;
};

static void CUDART_CB mix_on_host(void *data)
{
    struct host_mix *m = data;

    for (size_t i = 0; i < m->n; i++)
        m->p[i] = (unsigned char)(m->p[i] * 5 + m->value + i);
    free(m);
}

static void host_mixes(struct thread *t)
{
    struct action a;
    int s = any_stream(t);

    if (!any_action(t, &a, false) || !on_host(&t->buffer[a.dst]))
        return;
    a.kind = HOST;
    if (!action_may(t, s, &a))
        return;
    struct host_mix *m = malloc(sizeof *m);
    m->p = (unsigned char *)t->buffer[a.dst].p + a.to;
    m->n = a.n;
    m->value = a.value;
    NOTE(a.dst, a.to, a.n, s);
    OK_RT(cudaLaunchHostFunc(t->stream[s].h, mix_on_host, m));
    enqueued(t, s);
    action_done(t, s, &a);
    act(t, &a);
}

static void ask_kernel(struct thread *t)
{
    const void *f = kernel_handle((int)below(t, KERNELS)), *small = kernel_handle(KERNEL_SMALL);
    struct cudaFuncAttributes a;
    const char *name = NULL;
    size_t offset, size, bytes;
    int n = -1, m = -1;

    switch (below(t, 6)) {
    case 0:
        OK_RT(cudaFuncGetAttributes(&a, f));
        MUST_EQ(a.maxThreadsPerBlock, f == small ? 64 : 1024);
        MUST_EQ(a.sharedSizeBytes, 0);
        break;
    case 1:
        OK_RT(cudaFuncGetName(&name, f));
        MUST(name != NULL && name[0] != 0);
        break;
    case 2:
        OK_RT(cudaFuncGetParamInfo(kernel_handle(KERNEL_MIX), below(t, 3), &offset, &size));
        MUST(size == 8 || size == 4);
        RT(cudaErrorInvalidValue,
           cudaFuncGetParamInfo(kernel_handle(KERNEL_MIX), 3 + below(t, 9), &offset, &size));
        break;
    case 3:
        OK_RT(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&n, f, 64, 0));
        OK_RT(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&m, f, 64, 100000));
        MUST(n >= 1 && n <= 64 && m >= 0 && m <= n);
        break;
    case 4:
        OK_RT(cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, f, 1, 32));
        MUST_EQ(bytes, 48 << 10);
        break;
    default: {
        cudaFunction_t function;
        OK_RT(cudaGetFuncBySymbol(&function, f));
        OK_CU(
            cuFuncGetAttribute(&n, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, (CUfunction)function));
        MUST_EQ(n, f == small ? 64 : 1024);
        OK_CU(cuOccupancyMaxPotentialBlockSize(&m, &n, (CUfunction)function, NULL, 0, 0));
        MUST(m >= 1 && n >= 32);
    }
    }
}

const struct op ops_launches[] = {
    {"launches", "mix", mixes, 60, false},
    {"launches", "copy by kernel", copies, 30, false},
    {"launches", "count", counts, 10, false},
    {"host", "mix on host", host_mixes, 10, false},
    {"launches", "ask kernel", ask_kernel, 10, false},
    {NULL, NULL, NULL, 0, false},
};
