/* Between rounds, while no other thread makes calls: a device is given objects of each kind,
 * perhaps a kernel that faults, and is reset. What faulted gives its code until then, what was made
 * is refused afterwards, other devices and contexts keep what they have, and the device is as new.
 */
#include <string.h>

#include "sequences.h"

enum {
    VALUE = cudaErrorInvalidValue,
    HANDLE = cudaErrorInvalidResourceHandle,
    FAULT = cudaErrorIllegalAddress,
    BYTES = 1000,
};

/* What the device has before. */
struct had {
    cudaStream_t s;
    cudaEvent_t e;
    unsigned char *p, *host, *managed, *ordered;
    cudaMemPool_t pool;
    cudaArray_t array;
    CUmodule module;
    CUfunction f;
};

static const struct cudaChannelFormatDesc bytes_of = {8, 0, 0, 0, cudaChannelFormatKindUnsigned};

static void make(struct thread *t, int device, struct had *h)
{
    struct cudaMemPoolProps props;

    memset(&props, 0, sizeof props);
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    props.location.id = device;
    OK_RT(cudaStreamCreateWithFlags(&h->s, below(t, 2)));
    OK_RT(cudaEventCreate(&h->e));
    OK_RT(cudaMalloc((void **)&h->p, BYTES));
    OK_RT(cudaMallocHost((void **)&h->host, BYTES));
    OK_RT(cudaMallocManaged((void **)&h->managed, BYTES, cudaMemAttachGlobal));
    OK_RT(cudaMemPoolCreate(&h->pool, &props));
    OK_RT(cudaMallocFromPoolAsync((void **)&h->ordered, BYTES, h->pool, h->s));
    OK_RT(cudaMallocArray(&h->array, &bytes_of, 16, 16, 0));
    OK_CU(cuModuleLoadData(&h->module, module_text));
    OK_CU(cuModuleGetFunction(&h->f, h->module, "put"));
    OK_RT(cudaMemsetAsync(h->p, 1, BYTES, h->s));
    OK_RT(cudaMemsetAsync(h->ordered, 2, BYTES, h->s));
    OK_RT(cudaEventRecord(h->e, h->s));
}

/* Launches what touches memory that is nobody's. */
static void fault(struct thread *t, struct had *h)
{
    unsigned char *p = (unsigned char *)16;
    unsigned n = 1, value = 0;
    void *args[] = {&p, &n, &value};

    OK_RT(cudaLaunchKernel(kernel_handle(KERNEL_MIX), (dim3){1, 1, 1}, (dim3){32, 1, 1}, args, 0,
                           h->s));
    if (one_in(t, 2))
        RT(FAULT, cudaStreamSynchronize(h->s));
    else
        RT(FAULT, cudaDeviceSynchronize());
}

/* A call that would be fine without the fault (tests/conformance/errors/fault_aftermath.cu). */
static void after_fault(struct thread *t, struct had *h)
{
    void *p = NULL;
    size_t a, b;
    cudaStream_t s;
    cudaEvent_t e;
    CUfunction f;
    int n;

    switch (below(t, 20)) {
    case 0: RT(FAULT, cudaDeviceSynchronize()); break;
    case 1: RT(FAULT, cudaStreamQuery(h->s)); break;
    case 2: RT(FAULT, cudaStreamCreate(&s)); break;
    case 3: RT(FAULT, cudaEventCreate(&e)); break;
    case 4: RT(FAULT, cudaEventQuery(h->e)); break;
    case 5: RT(FAULT, cudaMalloc(&p, 64)); break;
    case 6: RT(FAULT, cudaMallocAsync(&p, 64, h->s)); break;
    case 7: RT(FAULT, cudaMallocManaged(&p, 64, cudaMemAttachGlobal)); break;
    case 8: RT(FAULT, cudaMemsetAsync(h->p, 0, 4, h->s)); break;
    case 9: RT(FAULT, cudaMemcpy(h->host, h->p, 4, cudaMemcpyDefault)); break;
    case 10: RT(FAULT, cudaMemGetInfo(&a, &b)); break;
    case 11: RT(FAULT, cudaFree(h->p)); break;
    case 12: RT(FAULT, cudaFreeHost(h->host)); break;
    case 13: RT(FAULT, cudaStreamDestroy(h->s)); break;
    case 14: CU(FAULT, cuModuleUnload(h->module)); break;
    case 15: CU(FAULT, cuModuleGetFunction(&f, h->module, "put")); break;
    case 16: OK_RT(cudaGetDevice(&n)); break;
    case 17: OK_RT(cudaGetDeviceCount(&n)); break;
    case 18: OK_RT(cudaMalloc(&p, 0)); break;
    default: RT(FAULT, cudaFreeAsync(h->ordered, h->s)); break;
    }
}

/* A use of what was there before the reset. */
static void after_reset(struct thread *t, struct had *h)
{
    CUfunction f = NULL;
    struct cudaChannelFormatDesc format;
    void *p = NULL;
    /* The runtime's own pools outlive a reset, as a GPU's do. */
    int gone = settings.own_pools ? (int)ANY_CODE : (int)VALUE;

    switch (below(t, 18)) {
    case 0: RT(HANDLE, cudaStreamSynchronize(h->s)); break;
    case 1: RT(HANDLE, cudaStreamDestroy(h->s)); break;
    case 2: RT(HANDLE, cudaEventRecord(h->e, cudaStreamPerThread)); break;
    case 3: RT(HANDLE, cudaEventQuery(h->e)); break;
    case 4: RT(HANDLE, cudaEventDestroy(h->e)); break;
    case 5: RT(VALUE, cudaFree(h->p)); break;
    case 6: RT(VALUE, cudaFreeHost(h->host)); break;
    case 7: RT(VALUE, cudaFree(h->managed)); break;
    case 8: RT(gone, cudaFreeAsync(h->ordered, cudaStreamPerThread)); break;
    case 9: RT(VALUE, cudaMemsetAsync(h->p, 0, 4, cudaStreamPerThread)); break;
    case 10: RT(gone, cudaMemPoolDestroy(h->pool)); break;
    case 11: RT(gone, cudaMallocFromPoolAsync(&p, 64, h->pool, cudaStreamPerThread)); break;
    case 12: CU(CUDA_ERROR_INVALID_HANDLE, cuModuleUnload(h->module)); break;
    case 13: CU(CUDA_ERROR_INVALID_HANDLE, cuModuleGetFunction(&f, h->module, "put")); break;
    case 14:
        CU(CUDA_ERROR_INVALID_HANDLE, cuLaunchKernel(h->f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
        break;
    case 15: RT(HANDLE, cudaFreeArray(h->array)); break;
    case 16: RT(HANDLE, cudaGetChannelDesc(&format, h->array)); break;
    default: RT(gone, cudaMemset(h->ordered, 0, 4)); break;
    }
}

/* The contents of memory that the reset does not concern. */
static void check(struct thread *t, CUcontext where, CUdeviceptr p, int value)
{
    unsigned char got[BYTES];
    CUcontext popped;

    memset(got, 0, sizeof got);
    OK_CU(cuCtxPushCurrent(where));
    OK_CU(cuMemcpyDtoH(got, p, BYTES));
    for (int i = 0; i < BYTES; i++)
        MUST_EQ(got[i], value);
    OK_CU(cuMemFree(p));
    OK_CU(cuCtxPopCurrent(&popped));
}

static CUdeviceptr leave(struct thread *t, CUcontext where, int value)
{
    CUcontext popped;
    CUdeviceptr p = 0;

    OK_CU(cuCtxPushCurrent(where));
    OK_CU(cuMemAlloc(&p, BYTES));
    OK_CU(cuMemsetD8Async(p, (unsigned char)value, BYTES, NULL)); /* pending, perhaps */
    OK_CU(cuCtxPopCurrent(&popped));
    return p;
}

void resets(struct thread *t)
{
    int device = (int)below(t, (unsigned)settings.devices),
        other = (int)below(t, (unsigned)settings.devices);
    struct had h;
    CUcontext own = NULL;

    t->op = "reset";
    NOTE(device, other, 0, 0);
    OK_RT(cudaSetDevice(other));
    OK_CU(cuCtxCreate(&own, NULL, 0, device));
    OK_CU(cuCtxPopCurrent(NULL));
    CUdeviceptr p = leave(t, own, 5), q = 0;
    if (other != device)
        q = leave(t, places[other].primary, 6);
    OK_RT(cudaSetDevice(device));
    make(t, device, &h);
    if (one_in(t, 2)) {
        fault(t, &h);
        for (int i = 0; i < 8; i++)
            after_fault(t, &h);
    }
    OK_RT(cudaDeviceReset());
    for (int i = 0; i < 12; i++)
        after_reset(t, &h);
    (void)cudaGetLastError();
    peers_forgotten(t, device);
    MUST(place_begins(device));
    check(t, own, p, 5);
    if (other != device)
        check(t, places[other].primary, q, 6);
    OK_CU(cuCtxDestroy(own));
    make(t, device, &h); /* all works again */
    OK_RT(cudaDeviceReset());
    peers_forgotten(t, device);
    MUST(place_begins(device));
}
