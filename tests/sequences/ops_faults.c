/* Faults: a kernel that does what it must not, in a context of its own on any device. The code
 * sticks to that context, whatever is called in it, and to no other; the context is then destroyed,
 * and what was in it is used once more. */
#include <string.h>

#include "sequences.h"

static const char faulty_text[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry trap()\n{\ntrap;\n}\n"
    ".visible .entry store(.param .u64 p)\n{\n.reg .u64 %p;\nld.param.u64 %p, [p];\n"
    "st.global.u32 [%p], 1;\nret;\n}\n";

/* What there is in the context that faults. */
struct faulty {
    int device;
    CUcontext context;
    CUmodule module;
    CUfunction trap, store;
    CUstream s, other;
    CUevent e;
    CUdeviceptr p;
};

static void make(struct thread *t, struct faulty *f)
{
    OK_CU(cuCtxCreate(&f->context, NULL, 0, f->device));
    OK_CU(cuModuleLoadData(&f->module, faulty_text));
    OK_CU(cuModuleGetFunction(&f->trap, f->module, "trap"));
    OK_CU(cuModuleGetFunction(&f->store, f->module, "store"));
    OK_CU(cuStreamCreate(&f->s, CU_STREAM_NON_BLOCKING));
    OK_CU(cuStreamCreate(&f->other, below(t, 2)));
    OK_CU(cuEventCreate(&f->e, 0));
    OK_CU(cuMemAlloc(&f->p, 4096));
    OK_CU(cuMemsetD8Async(f->p, 3, 4096, f->s));
}

static CUresult fault(struct thread *t, struct faulty *f)
{
    /* Addresses that are nobody's, and memory of another device that no peer has been opened to. */
    CUdeviceptr p = 16 * (1 + below(t, 100)), far = (CUdeviceptr)t->abroad.p;
    void *args[] = {&p};

    if (t->abroad.live && f->device != t->abroad.device && one_in(t, 2))
        p = far;
    if (one_in(t, 2)) {
        OK_CU(cuLaunchKernel(f->trap, 1 + below(t, 4), 1, 1, 32, 1, 1, 0, f->s, NULL, NULL));
        return CUDA_ERROR_LAUNCH_FAILED;
    }
    OK_CU(cuLaunchKernel(f->store, 1 + below(t, 4), 1, 1, 32, 1, 1, 0, f->s, args, NULL));
    return CUDA_ERROR_ILLEGAL_ADDRESS;
}

/* A call in the context, which would be fine without the fault. */
static void sticks(struct thread *t, struct faulty *f, CUresult code)
{
    CUdeviceptr p = 0;
    CUstream s = NULL;
    CUevent e = NULL;
    CUfunction g = NULL;
    CUmodule m = NULL;
    size_t a, b;
    unsigned char got[16];
    void *h = NULL;

    switch (below(t, 18)) {
    case 0: CU(code, cuCtxSynchronize()); break;
    case 1: CU(code, cuStreamSynchronize(f->other)); break;
    case 2: CU(code, cuStreamQuery(f->s)); break;
    case 3: CU(code, cuStreamCreate(&s, 0)); break;
    case 4: CU(code, cuEventCreate(&e, 0)); break;
    case 5: CU(code, cuEventRecord(f->e, f->other)); break;
    case 6: CU(code, cuMemAlloc(&p, 100)); break;
    case 7: CU(code, cuMemAllocHost(&h, 100)); break;
    case 8: CU(code, cuMemFree(f->p)); break;
    case 9: CU(code, cuMemcpyDtoH(got, f->p, sizeof got)); break;
    case 10: CU(code, cuMemsetD8Async(f->p, 1, 16, f->other)); break;
    case 11: CU(code, cuLaunchKernel(f->trap, 1, 1, 1, 1, 1, 1, 0, f->other, NULL, NULL)); break;
    case 12: CU(code, cuModuleGetFunction(&g, f->module, "store")); break;
    case 13: CU(code, cuModuleLoadData(&m, faulty_text)); break;
    case 14: CU(code, cuModuleUnload(f->module)); break;
    case 15: CU(code, cuMemGetInfo(&a, &b)); break;
    case 16: CU(code, cuMemAllocAsync(&p, 64, f->other)); break;
    default: CU(code, cuEventSynchronize(f->e)); break;
    }
}

/* Nobody else knows of it. */
static void others_go_on(struct thread *t)
{
    CUcontext popped = NULL;
    int device = (int)below(t, (unsigned)settings.devices);
    CUdeviceptr p = 0;
    unsigned char got[8];

    OK_CU(cuCtxPushCurrent(places[device].primary));
    OK_CU(cuMemAlloc(&p, sizeof got));
    OK_CU(cuMemsetD8Async(p, 9, sizeof got, CU_STREAM_PER_THREAD));
    OK_CU(cuStreamSynchronize(CU_STREAM_PER_THREAD));
    OK_CU(cuMemcpyDtoH(got, p, sizeof got));
    for (size_t i = 0; i < sizeof got; i++)
        MUST_EQ(got[i], 9);
    OK_CU(cuMemFree(p));
    OK_CU(cuCtxPopCurrent(&popped));
    MUST(popped == places[device].primary);
    enqueued_alone(t, PER_THREAD);
    if (device == t->device)
        stream_done(t, PER_THREAD);
}

/* What was in a context that is gone. Nobody makes a handle meanwhile. */
static void gone(struct thread *t, struct faulty *f)
{
    CUfunction g = NULL;

    switch (below(t, 9)) {
    case 0: CU(CUDA_ERROR_INVALID_HANDLE, cuStreamSynchronize(f->s)); break;
    case 1: CU(CUDA_ERROR_INVALID_HANDLE, cuStreamDestroy(f->s)); break;
    case 2: CU(CUDA_ERROR_INVALID_HANDLE, cuEventQuery(f->e)); break;
    case 3: CU(CUDA_ERROR_INVALID_HANDLE, cuEventDestroy(f->e)); break;
    case 4: CU(CUDA_ERROR_INVALID_VALUE, cuMemFree(f->p)); break;
    case 5:
        CU(CUDA_ERROR_INVALID_HANDLE,
           cuLaunchKernel(f->trap, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
        break;
    case 6: CU(CUDA_ERROR_INVALID_HANDLE, cuModuleGetFunction(&g, f->module, "trap")); break;
    case 7: CU(CUDA_ERROR_INVALID_HANDLE, cuModuleUnload(f->module)); break;
    default: CU(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuCtxDestroy(f->context)); break;
    }
}

static void faults(struct thread *t)
{
    struct faulty f = {.device = (int)below(t, (unsigned)settings.devices)};
    CUcontext popped = NULL;
    bool stale = settings.ours && one_in(t, 3);

    NOTE(f.device, t->abroad.live, t->abroad.device, 0);
    make(t, &f);
    if (stale) {
        pthread_rwlock_unlock(&handles);
        pthread_rwlock_wrlock(&handles);
    }
    CUresult code = fault(t, &f);
    if (!stale || __atomic_load_n(&closed_gates, __ATOMIC_SEQ_CST) == 0)
        CU(code, cuCtxSynchronize());
    else
        CU(code, cuStreamSynchronize(f.s));
    for (unsigned left = below(t, 6); left > 0; left--)
        sticks(t, &f, code);
    if (!stale)
        others_go_on(t);
    if (one_in(t, 2)) {
        OK_CU(cuCtxPopCurrent(&popped));
        MUST(popped == f.context);
    }
    OK_CU(cuCtxDestroy(f.context));
    if (popped == NULL) {
        CUcontext now = NULL;
        OK_CU(cuCtxGetCurrent(&now));
        MUST(now == t->primary);
    }
    for (unsigned left = below(t, 4); stale && left > 0; left--)
        gone(t, &f);
    if (stale) {
        pthread_rwlock_unlock(&handles);
        pthread_rwlock_rdlock(&handles);
    }
}

const struct op ops_faults[] = {
    {"faults", "fault in a context", faults, 1, true},
    {NULL, NULL, NULL, 0, false},
};
