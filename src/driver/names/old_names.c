/* names/old_names: calls about contexts, streams, events and links as earlier versions of CUDA had
 * them, for programs that look the plain names up themselves (dlsym) or ask for an old version
 * (cuGetProcAddress). Most mean what the newer symbols mean. */
#include "driver/driver.h"

#undef cuCtxCreate
#undef cuCtxDestroy
#undef cuCtxPopCurrent
#undef cuCtxPushCurrent
#undef cuDevicePrimaryCtxRelease
#undef cuDevicePrimaryCtxReset
#undef cuDevicePrimaryCtxSetFlags
#undef cuStreamDestroy
#undef cuEventDestroy
#undef cuMemHostRegister
#undef cuLinkCreate
#undef cuLinkAddData
#undef cuLinkAddFile

/* name by name_v2, which has the same arguments. */
#define SAME(name, params, ...)                                                                    \
    WEIR_API CUresult name params;                                                                 \
    WEIR_API CUresult name params { return name##_v2(__VA_ARGS__); }

SAME(cuCtxPopCurrent, (CUcontext * out), out)
SAME(cuCtxPushCurrent, (CUcontext ctx), ctx)
SAME(cuDevicePrimaryCtxRelease, (CUdevice dev), dev)
SAME(cuDevicePrimaryCtxReset, (CUdevice dev), dev)
SAME(cuStreamDestroy, (CUstream stream), stream)
SAME(cuEventDestroy, (CUevent event), event)
SAME(cuMemHostRegister, (void *p, size_t bytes, unsigned int flags), p, bytes, flags)
SAME(cuLinkCreate, (unsigned int count, CUjit_option *options, void **values, CUlinkState *out),
     count, options, values, out)
SAME(cuLinkAddData,
     (CUlinkState state, CUjitInputType type, void *data, size_t size, const char *name,
      unsigned int count, CUjit_option *options, void **values),
     state, type, data, size, name, count, options, values)
SAME(cuLinkAddFile,
     (CUlinkState state, CUjitInputType type, const char *path, unsigned int count,
      CUjit_option *options, void **values),
     state, type, path, count, options, values)

/* Before CUDA 11 the flags of a primary context that is active could not be changed. */
WEIR_API CUresult cuDevicePrimaryCtxSetFlags(CUdevice dev, unsigned int flags);
WEIR_API CUresult cuDevicePrimaryCtxSetFlags(CUdevice dev, unsigned int flags)
{
    unsigned int now;
    int active;
    CU_TRY(cuDevicePrimaryCtxGetState(dev, &now, &active));
    return active != 0 ? CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE
                       : cuDevicePrimaryCtxSetFlags_v2(dev, flags);
}

/* ---- contexts that are counted (CUDA 2 and 3) ---- */

WEIR_API CUresult cuCtxCreate_v2(CUcontext *out, unsigned int flags, CUdevice dev);

/* The context says that it is one of the first version's (cuCtxGetApiVersion). */
WEIR_API CUresult cuCtxCreate(CUcontext *out, unsigned int flags, CUdevice dev);
WEIR_API CUresult cuCtxCreate(CUcontext *out, unsigned int flags, CUdevice dev)
{
    CU_TRY(cuCtxCreate_v2(out, flags, dev));
    (*out)->api_version = 3010;
    return CUDA_SUCCESS;
}

/* A context that is attached to somewhere else is not destroyed. */
WEIR_API CUresult cuCtxDestroy(CUcontext ctx);
WEIR_API CUresult cuCtxDestroy(CUcontext ctx)
{
    CU_TRY(driver_initialized());
    if (handle_live(ctx, TAG_CONTEXT) && atomic_load(&ctx->attached) > 0)
        return driver_error(CUDA_ERROR_INVALID_CONTEXT,
                            "cuCtxDestroy: the context is attached %u more times",
                            atomic_load(&ctx->attached));
    return cuCtxDestroy_v2(ctx);
}

WEIR_API CUresult cuCtxAttach(CUcontext *out, unsigned int flags)
{
    CUcontext c;
    CU_TRY(driver_current(&c));
    if (out == NULL || flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    atomic_fetch_add(&c->attached, 1);
    *out = c;
    return CUDA_SUCCESS;
}

/* The last one destroys the context; a device's primary one is not its to destroy. */
WEIR_API CUresult cuCtxDetach(CUcontext ctx)
{
    CUcontext current = NULL;
    CU_TRY(cuCtxGetCurrent(&current));
    if (ctx == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if (ctx != current || context_check(ctx) != CUDA_SUCCESS)
        return CUDA_ERROR_INVALID_CONTEXT;
    unsigned count = atomic_load(&ctx->attached);
    while (count > 0)
        if (atomic_compare_exchange_weak(&ctx->attached, &count, count - 1))
            return CUDA_SUCCESS;
    return cuCtxDestroy_v2(ctx);
}
