/* Calls that are wrong in one argument: no pointer, wrong flags, sizes and kinds, pointers inside
 * of memory, freed or of another kind, handles that are none or destroyed. The codes are those of
 * tests/conformance/errors, which hold on a GPU. None of them may change anything. */
#include <stdlib.h>
#include <string.h>

#include "sequences.h"

static char not_a_handle[4096] __attribute__((aligned(16)));
static int not_a_symbol;
enum {
    VALUE = cudaErrorInvalidValue,
    HANDLE = cudaErrorInvalidResourceHandle,
    DIRECTION = cudaErrorInvalidMemcpyDirection,
    PITCH = cudaErrorInvalidPitchValue,
    DEVICE_WRONG = cudaErrorInvalidDevice,
};

static void CUDART_CB nothing(void *data) { (void)data; }

static void wrong_streams(struct thread *t)
{
    cudaStream_t h = t->stream[any_stream(t)].h, out;
    struct event *e = &t->event[any_event(t) > 0 ? any_event(t) : LINK];

    switch (below(t, 16)) {
    case 0: RT(VALUE, cudaStreamCreate(NULL)); break;
    case 1: RT(VALUE, cudaStreamCreateWithFlags(&out, 2 + below(t, 100))); break;
    case 2: RT(VALUE, cudaStreamCreateWithPriority(&out, 2, 0)); break;
    case 3: RT(HANDLE, cudaStreamDestroy(below(t, 2) ? NULL : cudaStreamPerThread)); break;
    case 4: RT(VALUE, cudaStreamGetFlags(h, NULL)); break;
    case 5: RT(VALUE, cudaStreamGetPriority(h, NULL)); break;
    case 6: RT(HANDLE, cudaStreamWaitEvent(h, NULL, 0)); break;
    case 7: RT(VALUE, cudaStreamWaitEvent(h, e->h, 8)); break;
    case 8: RT(VALUE, cudaLaunchHostFunc(h, NULL, NULL)); break;
    case 9: RT(VALUE, cudaStreamAddCallback(h, NULL, NULL, 0)); break;
    case 10: CU(CUDA_ERROR_INVALID_VALUE, cuStreamCreate((CUstream *)&out, 2)); break;
    case 11: CU(CUDA_ERROR_INVALID_HANDLE, cuStreamDestroy(CU_STREAM_LEGACY)); break;
    case 12: CU(CUDA_ERROR_INVALID_HANDLE, cuStreamWaitEvent((CUstream)h, NULL, 0)); break;
    case 13: CU(CUDA_ERROR_INVALID_VALUE, cuLaunchHostFunc((CUstream)h, NULL, NULL)); break;
    case 14:
        CU(CUDA_ERROR_INVALID_VALUE,
           cuStreamWaitValue32((CUstream)h, (CUdeviceptr)t->flag + 1, 1, 0));
        break;
    default:
        if (settings.ours)
            RT(HANDLE, cudaLaunchHostFunc((cudaStream_t)not_a_handle, nothing, NULL));
        break;
    }
}

static void wrong_events(struct thread *t)
{
    cudaStream_t h = t->stream[any_stream(t)].h;
    cudaEvent_t e = t->event[any_event(t) > 0 ? any_event(t) : LINK].h, out;
    float ms;

    switch (below(t, 14)) {
    case 0: RT(VALUE, cudaEventCreate(NULL)); break;
    case 1: RT(VALUE, cudaEventCreateWithFlags(&out, 8u << below(t, 20))); break;
    case 2: RT(VALUE, cudaEventCreateWithFlags(&out, cudaEventInterprocess)); break;
    case 3: RT(HANDLE, cudaEventDestroy(NULL)); break;
    case 4: RT(HANDLE, cudaEventRecord(NULL, h)); break;
    case 5: RT(VALUE, cudaEventRecordWithFlags(e, h, 8)); break;
    case 6: RT(HANDLE, cudaEventQuery(NULL)); break;
    case 7: RT(HANDLE, cudaEventSynchronize(NULL)); break;
    case 8: RT(VALUE, cudaEventElapsedTime(NULL, e, e)); break;
    case 9: RT(HANDLE, cudaEventElapsedTime(&ms, e, NULL)); break;
    case 10: CU(CUDA_ERROR_INVALID_VALUE, cuEventCreate((CUevent *)&out, 8)); break;
    case 11: CU(CUDA_ERROR_INVALID_HANDLE, cuEventDestroy(NULL)); break;
    case 12: CU(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime(&ms, (CUevent)e, NULL)); break;
    default:
        if (settings.ours)
            RT(HANDLE, cudaEventQuery((cudaEvent_t)not_a_handle));
        break;
    }
}

static void wrong_allocations(struct thread *t)
{
    void *p = not_a_handle;
    size_t pitch;
    CUdeviceptr d;

    enqueued_alone(t, PER_THREAD); /* for all we know */
    switch (below(t, 18)) {
    case 0: RT(VALUE, cudaMalloc(NULL, 4)); break;
    case 1: RT(cudaErrorMemoryAllocation, cudaMalloc(&p, ~(size_t)0 >> below(t, 12))); break;
    case 2: RT(VALUE, cudaMallocPitch(&p, NULL, 4, 4)); break;
    case 3: RT(VALUE, cudaMallocHost(NULL, 4)); break;
    case 4: RT(cudaErrorMemoryAllocation, cudaMallocHost(&p, (size_t)1 << 50)); break;
    case 5: RT(VALUE, cudaHostAlloc(&p, 4, 8u << below(t, 20))); break;
    case 6: RT(VALUE, cudaMallocManaged(&p, 4, below(t, 2) ? 0 : 3)); break;
    case 7: RT(VALUE, cudaHostRegister(NULL, 4, 0)); break;
    case 8: RT(VALUE, cudaHostRegister(not_a_handle, 0, 0)); break;
    case 9: /* may wait for the device */
        if (t->gate == OPEN)
            RT(cudaErrorHostMemoryNotRegistered, cudaHostUnregister(not_a_handle));
        break;
    case 10: CU(CUDA_ERROR_INVALID_VALUE, cuMemAlloc(&d, 0)); break;
    case 11: CU(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&d, (size_t)1 << 60)); break;
    case 12: CU(CUDA_ERROR_INVALID_VALUE, cuMemAllocPitch(&d, &pitch, 4, 4, 3)); break;
    case 13: RT(VALUE, cudaMallocAsync(NULL, 4, t->stream[PER_THREAD].h)); break;
    case 14:
        RT(cudaErrorMemoryAllocation,
           cudaMallocAsync(&p, (size_t)1 << 50, t->stream[PER_THREAD].h));
        break;
    case 15: RT(VALUE, cudaMallocFromPoolAsync(&p, 16, NULL, t->stream[PER_THREAD].h)); break;
    case 16: RT(VALUE, cudaPointerGetAttributes(NULL, not_a_handle)); break;
    default:
        p = not_a_handle;
        OK_RT(cudaMalloc(&p, 0));
        MUST(p == NULL);
    }
}

/* Frees of what cannot be freed so, while it lives. */
static void wrong_frees(struct thread *t)
{
    int k = any_buffer(t);

    if (k < 0 || t->buffer[k].size < 2)
        return;
    struct buffer *b = &t->buffer[k];
    void *inside = b->p + 1 + below(t, (unsigned)b->size - 1);
    bool host = b->kind == PINNED || b->kind == MAPPED || b->kind == REGISTERED;
    NOTE(k, b->kind, (char *)inside - b->p, 0);
    enqueued_alone(t, PER_THREAD); /* for all we know */
    switch (below(t, 8)) {
    case 0: RT(VALUE, cudaFree(inside)); break;
    case 1: RT(VALUE, cudaFreeHost(inside)); break;
    case 2:
        if (host)
            RT(VALUE, cudaFree(b->p));
        else
            RT(VALUE, cudaFreeHost(b->p));
        break;
    case 3: RT(VALUE, cudaFreeAsync(inside, t->stream[PER_THREAD].h)); break;
    case 4: CU(CUDA_ERROR_INVALID_VALUE, cuMemFree((CUdeviceptr)inside)); break;
    case 5:
        if (b->kind == PINNED || b->kind == MAPPED || b->kind == DEVICE)
            RT(VALUE, cudaHostUnregister(b->p));
        else if (b->kind == REGISTERED && b->size > 1)
            RT(VALUE, cudaHostUnregister(b->p + 1));
        break;
    case 6:
        if (b->kind == IN_SYMBOL || b->kind == REGISTERED)
            RT(VALUE, b->kind == IN_SYMBOL ? cudaFree(b->p) : cudaFreeHost(b->p));
        else if (b->kind == MANAGED)
            RT(cudaErrorNotSupported, cudaFreeAsync(b->p, t->stream[PER_THREAD].h));
        break;
    default: OK_RT(below(t, 2) ? cudaFree(NULL) : cudaFreeHost(NULL)); break;
    }
}

static void wrong_copies(struct thread *t)
{
    int k = any_buffer(t);

    if (k < 0)
        return;
    struct buffer *b = &t->buffer[k];
    cudaStream_t h = t->stream[any_stream(t)].h;
    unsigned char *stage = t->stage[0];
    const enum cudaMemcpyKind up = cudaMemcpyHostToDevice, unknown = (enum cudaMemcpyKind)5;
    NOTE(k, b->kind, b->size, 0);
    /* Small buffers share pages with others, but no copy may run past one. */
    bool bounded = !on_host(b) && b->kind != IN_SYMBOL;
    size_t beyond = b->kind == ORDERED || b->kind == PITCHED || b->kind == VIRTUAL
                        ? (size_t)1 << 40
                        : b->size + 1 + below(t, 1000);
    switch (below(t, 18)) {
    case 0: RT(DIRECTION, cudaMemcpyAsync(b->p, stage, 1, unknown, h)); break;
    case 1: RT(VALUE, cudaMemcpyAsync(b->p, NULL, 1, up, h)); break;
    case 2: RT(VALUE, cudaMemcpyAsync(NULL, b->p, 1, cudaMemcpyDefault, h)); break;
    case 3: OK_RT(cudaMemcpyAsync(NULL, NULL, 0, up, h)); break;
    case 4:
        if (bounded)
            RT(VALUE, cudaMemcpyAsync(b->p, stage, beyond, cudaMemcpyDefault, h));
        break;
    case 5:
        if (bounded)
            RT(VALUE, cudaMemsetAsync(b->p, 0, beyond, h));
        break;
    case 6: RT(VALUE, cudaMemsetAsync(NULL, 0, 4, h)); break;
    case 7: RT(PITCH, cudaMemcpy2DAsync(b->p, 4, stage, 8, 8, 2, up, h)); break;
    case 8: RT(PITCH, cudaMemcpy2DAsync(b->p, 8, stage, 4, 8, 2, up, h)); break;
    case 9: RT(VALUE, cudaMemset2DAsync(b->p, 4, 0, 8, 2, h)); break;
    case 10: RT(VALUE, cudaMemcpy3DAsync(NULL, h)); break;
    case 11:
        RT(VALUE, cudaMemcpyToSymbolAsync(settings.symbol_handle, stage, 2,
                                          settings.symbol_size - 1, up, h));
        break;
    case 12: RT(cudaErrorInvalidSymbol, cudaMemcpyToSymbol(&not_a_symbol, stage, 4, 0, up)); break;
    case 13:
        RT(DIRECTION,
           cudaMemcpyToSymbolAsync(settings.symbol_handle, stage, 4, 0, cudaMemcpyDeviceToHost, h));
        break;
    case 14: CU(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD((CUdeviceptr)b->p, NULL, 4)); break;
    case 15: CU(CUDA_ERROR_INVALID_VALUE, cuMemcpy2D(NULL)); break;
    case 16: RT(DEVICE_WRONG, cudaMemcpyPeerAsync(b->p, 77, b->p, 0, 1, h)); break;
    default:
        if (b->size > 8)
            CU(CUDA_ERROR_INVALID_VALUE,
               cuMemsetD32Async((CUdeviceptr)b->p + 2, 0, 1, (CUstream)h));
        break;
    }
}

static void wrong_launches(struct thread *t)
{
    unsigned char *p = NULL;
    unsigned n = 0;
    void *args[] = {&p, &n, &n};
    cudaStream_t h = t->stream[any_stream(t)].h;
    const void *f = kernel_handle(KERNEL_MIX), *small = kernel_handle(KERNEL_SMALL);
    const dim3 one = {1, 1, 1};
    struct cudaFuncAttributes attributes;
    int blocks;

    switch (below(t, 16)) {
    case 0: RT(VALUE, cudaLaunchKernel(f, (dim3){0, 1, 1}, one, args, 0, h)); break;
    case 1: RT(VALUE, cudaLaunchKernel(f, one, (dim3){1025, 1, 1}, args, 0, h)); break;
    case 2: RT(VALUE, cudaLaunchKernel(f, one, (dim3){32, 33, 1}, args, 0, h)); break;
    case 3: RT(VALUE, cudaLaunchKernel(small, one, (dim3){65, 1, 1}, args, 0, h)); break;
    case 4: RT(VALUE, cudaLaunchKernel(f, one, one, args, 49153 + below(t, 99999), h)); break;
    case 5: RT(cudaErrorInvalidDeviceFunction, cudaLaunchKernel(NULL, one, one, args, 0, h)); break;
    case 6: RT(HANDLE, cudaLaunchKernel(&not_a_symbol, one, one, args, 0, h)); break;
    case 7: RT(VALUE, cudaLaunchKernel(f, (dim3){1, 65536, 1}, one, args, 0, h)); break;
    case 8:
        RT(cudaErrorCooperativeLaunchTooLarge,
           cudaLaunchCooperativeKernel(f, (dim3){1 << 20, 1, 1}, one, args, 0, h));
        break;
    case 9: RT(cudaErrorInvalidDeviceFunction, cudaFuncGetAttributes(&attributes, NULL)); break;
    case 10: RT(VALUE, cudaFuncGetAttributes(NULL, f)); break;
    case 11: RT(VALUE, cudaFuncSetAttribute(f, (enum cudaFuncAttribute)99, 1)); break;
    case 12:
        RT(VALUE, cudaFuncSetAttribute(f, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 30));
        break;
    case 13: RT(VALUE, cudaOccupancyMaxActiveBlocksPerMultiprocessor(NULL, f, 32, 0)); break;
    case 14: RT(VALUE, cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, 0, 0)); break;
    default:
        CU(CUDA_ERROR_INVALID_HANDLE,
           cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, (CUstream)h, args, NULL));
        break;
    }
}

static void wrong_pools(struct thread *t)
{
    struct pool *p = &t->pool[below(t, POOLS)];
    unsigned long long value = 7;
    cudaMemPool_t out;
    struct cudaMemPoolProps props;

    memset(&props, 0, sizeof props);
    switch (below(t, 10)) {
    case 0: RT(VALUE, cudaMemPoolCreate(NULL, &props)); break;
    case 1: RT(VALUE, cudaMemPoolCreate(&out, NULL)); break;
    case 2: RT(VALUE, cudaMemPoolCreate(&out, &props)); break;
    case 3: RT(VALUE, cudaMemPoolDestroy(NULL)); break;
    case 4: RT(VALUE, cudaMemPoolTrimTo(NULL, 0)); break;
    case 5: RT(DEVICE_WRONG, cudaDeviceGetDefaultMemPool(&out, 77)); break;
    case 6: RT(VALUE, cudaDeviceSetMemPool(0, NULL)); break;
    case 7:
        if (p->live)
            RT(VALUE, cudaMemPoolSetAttribute(p->h, cudaMemPoolAttrUsedMemHigh, &value));
        break;
    case 8:
        if (p->live)
            RT(VALUE,
               cudaMemPoolGetAttribute(p->h, (enum cudaMemPoolAttr)(20 + below(t, 99)), &value));
        break;
    default: RT(VALUE, cudaMemPoolGetAttribute(NULL, cudaMemPoolAttrUsedMemHigh, &value)); break;
    }
}

static void wrong_devices(struct thread *t)
{
    int n = 0, value;
    size_t bytes;
    CUdevice device;

    switch (below(t, 14)) {
    case 0: RT(DEVICE_WRONG, cudaSetDevice(-1 - (int)below(t, 9))); break;
    case 1: RT(DEVICE_WRONG, cudaSetDevice(77)); break;
    case 2: RT(VALUE, cudaGetDevice(NULL)); break;
    case 3: RT(VALUE, cudaGetDeviceCount(NULL)); break;
    case 4: RT(DEVICE_WRONG, cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 77)); break;
    case 5: RT(VALUE, cudaDeviceGetAttribute(&value, (enum cudaDeviceAttr)100000, 0)); break;
    case 6: RT(VALUE, cudaDeviceGetLimit(&bytes, (enum cudaLimit)100)); break;
    case 7: RT(VALUE, cudaDeviceSetLimit((enum cudaLimit)100, 1)); break;
    case 8: CU(CUDA_ERROR_INVALID_DEVICE, cuDeviceGet(&device, 99)); break;
    case 9: CU(CUDA_ERROR_INVALID_VALUE, cuCtxGetCurrent(NULL)); break;
    case 10: CU(CUDA_ERROR_INVALID_VALUE, cuCtxPushCurrent(NULL)); break;
    case 11:
        CU(CUDA_ERROR_INVALID_VALUE, cuDeviceGetAttribute(&n, (CUdevice_attribute)0, 0));
        break;
    case 12: RT(cudaErrorPeerAccessUnsupported, cudaDeviceEnablePeerAccess(t->device, 0)); break;
    default: CU(CUDA_ERROR_INVALID_VALUE, cuCtxDestroy(NULL)); break;
    }
}

/* A handle that this thread has just destroyed. Others may make no handle meanwhile, which might be
 * given the same place. */
static void stale_handles(struct thread *t)
{
    cudaStream_t s;
    cudaEvent_t e;
    float ms;

    if (!settings.ours)
        return;
    pthread_rwlock_unlock(&handles);
    pthread_rwlock_wrlock(&handles);
    switch (below(t, 2)) {
    case 0:
        OK_RT(cudaStreamCreateWithFlags(&s, below(t, 2)));
        OK_RT(cudaStreamDestroy(s));
        switch (below(t, 7)) {
        case 0: RT(HANDLE, cudaStreamDestroy(s)); break;
        case 1: RT(HANDLE, cudaStreamSynchronize(s)); break;
        case 2: RT(HANDLE, cudaStreamQuery(s)); break;
        case 3: RT(HANDLE, cudaEventRecord(t->event[LINK].h, s)); break;
        case 4: RT(HANDLE, cudaLaunchHostFunc(s, nothing, NULL)); break;
        case 5: CU(CUDA_ERROR_INVALID_HANDLE, cuStreamDestroy((CUstream)s)); break;
        default: RT(HANDLE, cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed)); break;
        }
        break;
    default:
        OK_RT(cudaEventCreateWithFlags(&e, below(t, 4)));
        OK_RT(cudaEventDestroy(e));
        switch (below(t, 6)) {
        case 0: RT(HANDLE, cudaEventDestroy(e)); break;
        case 1: RT(HANDLE, cudaEventQuery(e)); break;
        case 2: RT(HANDLE, cudaEventSynchronize(e)); break;
        case 3: RT(HANDLE, cudaEventRecord(e, t->stream[PER_THREAD].h)); break;
        case 4: RT(HANDLE, cudaStreamWaitEvent(t->stream[PER_THREAD].h, e, 0)); break;
        default: RT(HANDLE, cudaEventElapsedTime(&ms, e, e)); break;
        }
    }
    pthread_rwlock_unlock(&handles);
    pthread_rwlock_rdlock(&handles);
}

/* Memory that this thread has just freed. */
static void stale_memory(struct thread *t)
{
    void *p;
    size_t size = 1 + below(t, 100000);

    int what = (int)below(t, 3);
    pthread_rwlock_unlock(&handles);
    pthread_rwlock_wrlock(&handles);
    /* Frees wait for the device, and other threads open no gates while this one has the lock. */
    switch (__atomic_load_n(&closed_gates, __ATOMIC_SEQ_CST) == 0 ? what : 2) {
    case 0:
        OK_RT(cudaMalloc(&p, size));
        OK_RT(cudaFree(p));
        RT(VALUE, cudaFree(p));
        break;
    case 1:
        OK_RT(cudaMallocHost(&p, size));
        OK_RT(cudaFreeHost(p));
        RT(VALUE, cudaFreeHost(p));
        break;
    default: {
        cudaStream_t h = t->stream[PER_THREAD].h;
        OK_RT(cudaMallocAsync(&p, size, h));
        OK_RT(cudaFreeAsync(p, h));
        RT(VALUE, cudaFreeAsync(p, h));
        enqueued_alone(t, PER_THREAD);
    }
    }
    pthread_rwlock_unlock(&handles);
    pthread_rwlock_rdlock(&handles);
}

const struct op ops_errors[] = {
    {"errors", "wrong streams", wrong_streams, 20, false},
    {"errors", "wrong events", wrong_events, 20, false},
    {"errors", "wrong allocations", wrong_allocations, 20, false},
    {"errors", "wrong frees", wrong_frees, 20, true},
    {"errors", "wrong copies", wrong_copies, 20, false},
    {"errors", "wrong launches", wrong_launches, 20, false},
    {"errors", "wrong pools", wrong_pools, 12, false},
    {"errors", "wrong devices", wrong_devices, 12, false},
    {"errors", "stale handles", stale_handles, 3, true},
    {"errors", "stale memory", stale_memory, 2, true},
    {NULL, NULL, NULL, 0, false},
};
