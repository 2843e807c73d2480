/* Threads that use whatever handles there are, made by any of them, live, destroyed or of another
 * device, with any device or context current, while one of them resets devices and destroys
 * contexts. What a call returns is not asked here, only that each comes back, that nothing crashes,
 * and that afterwards the devices work. The host never touches the memory, which may be gone. */
#include <string.h>

#include "sequences.h"

enum { SLOTS = 24 }; /* of each kind */

/* Of all threads; each slot is read and written at once. */
static struct {
    cudaStream_t stream[SLOTS];
    cudaEvent_t event[SLOTS];
    void *memory[SLOTS]; /* of devices */
    void *host[SLOTS]; /* which nothing names but what asks and frees: once it is gone, that may be
                        * the program's own memory */
    cudaMemPool_t pool[SLOTS];
    cudaGraphExec_t exec[SLOTS];
    cudaArray_t array[SLOTS];
    CUmodule module[SLOTS];
    CUfunction function[SLOTS];
    CUcontext context[SLOTS];
} wild;

#define PICK(kind) __atomic_load_n(&wild.kind[below(t, SLOTS)], __ATOMIC_ACQUIRE)
/* Whose place it takes is the caller's. */
#define PUT(kind, it) __atomic_exchange_n(&wild.kind[below(t, SLOTS)], it, __ATOMIC_ACQ_REL)
#define ANY_RT(call)  RT(ANY_CODE, call)
#define ANY_CU(call)  CU(ANY_CODE, call)
/* A handle that was made goes into a slot. */
#define KEEP(kind, call)                                                                           \
    do {                                                                                           \
        if ((call) == 0)                                                                           \
            (void)PUT(kind, made);                                                                 \
    } while (0)

static void CUDART_CB nothing(void *data) { (void)data; }

static int any_device(struct thread *t) { return (int)below(t, (unsigned)settings.devices); }

static void make_stream(struct thread *t)
{
    cudaStream_t made;

    KEEP(stream, ANY_RT(cudaStreamCreateWithFlags(&made, below(t, 2))));
}

static void make_event(struct thread *t)
{
    cudaEvent_t made;

    KEEP(event, ANY_RT(cudaEventCreateWithFlags(&made, below(t, 4))));
}

static void make_memory(struct thread *t)
{
    void *made = NULL;
    size_t size = 1 + below(t, 1 << 18);

    switch (below(t, 6)) {
    case 0: KEEP(memory, ANY_RT(cudaMalloc(&made, size))); break;
    case 1: KEEP(host, ANY_RT(cudaMallocHost(&made, size))); break;
    case 2: KEEP(host, ANY_RT(cudaMallocManaged(&made, size, cudaMemAttachGlobal))); break;
    case 3:
        KEEP(memory, ANY_RT(cudaMallocFromPoolAsync(&made, size, PICK(pool), PICK(stream))));
        break;
    case 4: KEEP(memory, ANY_RT(cudaMallocAsync(&made, size, cudaStreamPerThread))); break;
    default: KEEP(memory, ANY_RT(cudaMallocAsync(&made, size, PICK(stream)))); break;
    }
}

static void make_pool(struct thread *t)
{
    cudaMemPool_t made;
    struct cudaMemPoolProps props;

    memset(&props, 0, sizeof props);
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    props.location.id = any_device(t);
    KEEP(pool, ANY_RT(cudaMemPoolCreate(&made, &props)));
}

static void make_module(struct thread *t)
{
    CUmodule m = NULL;
    CUfunction made = NULL;

    if (ANY_CU(cuModuleLoadData(&m, module_text)) != 0)
        return;
    (void)PUT(module, m);
    KEEP(function, ANY_CU(cuModuleGetFunction(&made, m, "put")));
}

/* Graphs may not be used by two threads at once, nor after their end: who takes one has it. */
static cudaGraphExec_t take_exec(struct thread *t)
{
    return __atomic_exchange_n(&wild.exec[below(t, SLOTS)], NULL, __ATOMIC_ACQ_REL);
}

static void keep_exec(struct thread *t, cudaGraphExec_t x)
{
    x = PUT(exec, x);
    if (x != NULL)
        ANY_RT(cudaGraphExecDestroy(x));
}

static void make_exec_of(struct thread *t, cudaGraph_t g)
{
    cudaGraphExec_t x;

    if (ANY_RT(cudaGraphInstantiate(&x, g, 0)) == 0)
        keep_exec(t, x);
    ANY_RT(cudaGraphDestroy(g));
}

static void make_exec(struct thread *t)
{
    cudaGraph_t g;
    cudaGraphNode_t node;
    struct cudaMemsetParams set;

    if (ANY_RT(cudaGraphCreate(&g, 0)) != 0)
        return;
    memset(&set, 0, sizeof set);
    set.dst = PICK(memory);
    set.elementSize = 1;
    set.width = 16;
    set.height = 1;
    ANY_RT(cudaGraphAddEmptyNode(&node, g, NULL, 0));
    ANY_RT(cudaGraphAddMemsetNode(&node, g, NULL, 0, &set));
    make_exec_of(t, g);
}

static void launch_exec(struct thread *t)
{
    cudaGraphExec_t x = take_exec(t);

    if (x == NULL)
        return;
    ANY_RT(cudaGraphLaunch(x, PICK(stream)));
    keep_exec(t, x);
}

static void make_array(struct thread *t)
{
    static const struct cudaChannelFormatDesc floats = {32, 0, 0, 0, cudaChannelFormatKindFloat};
    cudaArray_t made;

    KEEP(array, ANY_RT(cudaMallocArray(&made, &floats, 1 + below(t, 64), below(t, 16), 0)));
}

static void make_context(struct thread *t)
{
    CUcontext made;

    if (ANY_CU(cuCtxCreate(&made, NULL, 0, any_device(t))) != 0)
        return;
    made = PUT(context, made);
    if (made != NULL)
        ANY_CU(cuCtxDestroy(made));
}

static void (*const makers[])(struct thread *t) = {
    make_stream, make_stream, make_event, make_event, make_memory,
    make_memory, make_memory, make_pool,  make_exec,  make_array};

static void end(struct thread *t)
{
    switch (below(t, 12)) {
    case 0: ANY_RT(cudaStreamDestroy(PICK(stream))); break;
    case 1: ANY_RT(cudaEventDestroy(PICK(event))); break;
    case 2: ANY_RT(cudaFree(one_in(t, 3) ? PICK(host) : PICK(memory))); break;
    case 3: ANY_RT(cudaFreeHost(PICK(host))); break;
    case 4:
    case 5: ANY_RT(cudaFreeAsync(PICK(memory), PICK(stream))); break;
    case 6: ANY_RT(cudaMemPoolDestroy(PICK(pool))); break;
    case 7:
    case 8: keep_exec(t, NULL); break;
    case 9: ANY_RT(cudaFreeArray(PICK(array))); break;
    case 10: ANY_CU(cuModuleUnload(PICK(module))); break;
    default: ANY_RT(cudaMemPoolTrimTo(PICK(pool), 0)); break;
    }
}

static void work(struct thread *t)
{
    unsigned char *p = PICK(memory);
    unsigned n = 1 + below(t, 256), value = 1;
    void *args[] = {&p, &n, &value};
    const dim3 one = {1, 1, 1}, warp = {32, 1, 1};
    cudaStream_t s = one_in(t, 4) ? NULL : PICK(stream);

    switch (below(t, 12)) {
    case 0:
    case 1: ANY_RT(cudaLaunchKernel(kernel_handle(KERNEL_MIX), one, warp, args, 0, s)); break;
    case 2: {
        /* The handle may be another function's by now: enough for each. */
        size_t words[4] = {(size_t)p, 1, 1, 1};
        void *four[] = {words, words + 1, words + 2, words + 3};
        ANY_CU(cuLaunchKernel(PICK(function), 1, 1, 1, 1, 1, 1, 0, s, four, NULL));
        break;
    }
    case 3:
    case 4: ANY_RT(cudaMemsetAsync(p, 1, n, s)); break;
    case 5: ANY_RT(cudaMemcpyAsync(p, PICK(memory), n, cudaMemcpyDefault, s)); break;
    case 6: ANY_RT(cudaMemcpyPeerAsync(p, any_device(t), PICK(memory), any_device(t), n, s)); break;
    case 7: ANY_RT(cudaMemcpy(t->stage[0], p, n, cudaMemcpyDefault)); break;
    case 8: launch_exec(t); break;
    case 9: ANY_RT(cudaLaunchHostFunc(s, nothing, NULL)); break;
    case 10:
        ANY_RT(cudaMemcpy2DToArray(PICK(array), 0, 0, t->stage[0], 64, 4, 1, cudaMemcpyDefault));
        break;
    default: ANY_CU(cuMemcpyDtoDAsync((CUdeviceptr)p, (CUdeviceptr)PICK(memory), n, s)); break;
    }
}

static void order_and_ask(struct thread *t)
{
    struct cudaPointerAttributes attributes;
    enum cudaStreamCaptureStatus status;
    cudaGraph_t g = NULL;
    CUcontext context;
    float ms;
    int n;
    size_t a, b;

    switch (below(t, 18)) {
    case 0: ANY_RT(cudaEventRecord(PICK(event), PICK(stream))); break;
    case 1: ANY_RT(cudaStreamWaitEvent(PICK(stream), PICK(event), 0)); break;
    case 2: ANY_RT(cudaEventSynchronize(PICK(event))); break;
    case 3: ANY_RT(cudaStreamSynchronize(PICK(stream))); break;
    case 4: ANY_RT(cudaStreamQuery(PICK(stream))); break;
    case 5: ANY_RT(cudaEventQuery(PICK(event))); break;
    case 6: ANY_RT(cudaEventElapsedTime(&ms, PICK(event), PICK(event))); break;
    case 7: ANY_RT(cudaDeviceSynchronize()); break;
    case 8: ANY_RT(cudaPointerGetAttributes(&attributes, PICK(host))); break;
    case 9: ANY_RT(cudaMemGetInfo(&a, &b)); break;
    case 10: ANY_RT(cudaStreamGetDevice(PICK(stream), &n)); break;
    case 11: ANY_CU(cuStreamGetCtx((CUstream)PICK(stream), &context)); break;
    case 12: ANY_RT(cudaDeviceEnablePeerAccess(any_device(t), 0)); break;
    case 13: ANY_RT(cudaDeviceDisablePeerAccess(any_device(t))); break;
    case 14: ANY_RT(cudaStreamIsCapturing(PICK(stream), &status)); break;
    case 15:
        if (one_in(t, 4))
            ANY_RT(cudaStreamBeginCapture(PICK(stream), (enum cudaStreamCaptureMode)below(t, 3)));
        break;
    case 16:
        if (ANY_RT(cudaStreamEndCapture(PICK(stream), &g)) == 0 && g != NULL)
            make_exec_of(t, g);
        break;
    default: ANY_RT(cudaGetLastError()); break;
    }
}

static void change_current(struct thread *t)
{
    CUcontext context = PICK(context), popped;

    switch (below(t, 6)) {
    case 0:
        if (context != NULL)
            ANY_CU(cuCtxSetCurrent(context));
        break;
    case 1:
        if (context != NULL)
            ANY_CU(cuCtxPushCurrent(context));
        break;
    case 2: ANY_CU(cuCtxPopCurrent(&popped)); break;
    default: ANY_RT(cudaSetDevice(any_device(t))); break;
    }
}

static void seldom(struct thread *t)
{
    switch (below(t, 6)) {
    case 0: make_module(t); break;
    case 1: make_context(t); break;
    case 2: {
        CUcontext context = PICK(context);
        if (context != NULL)
            ANY_CU(cuCtxDestroy(context));
        break;
    }
    case 3: ANY_CU(cuDevicePrimaryCtxReset(any_device(t))); break;
    default: ANY_RT(cudaDeviceReset()); break;
    }
}

void storm_step(struct thread *t)
{
    switch (below(t, 10)) {
    case 0:
    case 1:
    case 2: makers[below(t, sizeof makers / sizeof *makers)](t); break;
    case 3: end(t); break;
    case 4:
    case 5:
    case 6: work(t); break;
    case 7:
    case 8: order_and_ask(t); break;
    default:
        if (!one_in(t, 4))
            change_current(t);
        else if (t->number == 0 || one_in(t, 8))
            seldom(t);
    }
}

/* Everything there was is gone: what a context, graph or pool of its own keeps, too. */
void storm_ends(struct thread *t)
{
    for (int i = 0; i < SLOTS; i++) {
        if (wild.context[i] != NULL)
            ANY_CU(cuCtxDestroy(wild.context[i]));
        if (wild.exec[i] != NULL)
            ANY_RT(cudaGraphExecDestroy(wild.exec[i]));
    }
    for (int d = 0; d < settings.devices; d++) {
        OK_RT(cudaSetDevice(d));
        OK_RT(cudaDeviceReset());
    }
    memset(&wild, 0, sizeof wild);
    (void)cudaGetLastError();
    for (int d = 0; d < settings.devices; d++) {
        MUST(place_begins(d));
        peers_forgotten(t, d);
    }
}
