/* names/old_names: symbols of CUDA 2 and 3 that mean what the newer symbols mean: for programs that
 * look the plain names up themselves (dlsym). Other old versions took addresses of 32 bits, where
 * nothing is: of those only what such programs cannot do without is here, and refused. */
#include "driver/driver.h"

#undef cuCtxDestroy
#undef cuCtxPopCurrent
#undef cuCtxPushCurrent
#undef cuStreamDestroy
#undef cuEventDestroy
#undef cuMemHostRegister
#undef cuMemcpyDtoDAsync
#undef cuGraphicsResourceSetMapFlags

WEIR_API CUresult cuCtxDestroy(CUcontext ctx);
WEIR_API CUresult cuCtxDestroy(CUcontext ctx) { return cuCtxDestroy_v2(ctx); }

WEIR_API CUresult cuCtxPopCurrent(CUcontext *out);
WEIR_API CUresult cuCtxPopCurrent(CUcontext *out) { return cuCtxPopCurrent_v2(out); }

WEIR_API CUresult cuCtxPushCurrent(CUcontext ctx);
WEIR_API CUresult cuCtxPushCurrent(CUcontext ctx) { return cuCtxPushCurrent_v2(ctx); }

WEIR_API CUresult cuStreamDestroy(CUstream stream);
WEIR_API CUresult cuStreamDestroy(CUstream stream) { return cuStreamDestroy_v2(stream); }

WEIR_API CUresult cuEventDestroy(CUevent event);
WEIR_API CUresult cuEventDestroy(CUevent event) { return cuEventDestroy_v2(event); }

WEIR_API CUresult cuMemHostRegister(void *p, size_t bytes, unsigned int flags);
WEIR_API CUresult cuMemHostRegister(void *p, size_t bytes, unsigned int flags)
{
    return cuMemHostRegister_v2(p, bytes, flags);
}

static CUresult refuse(const char *name)
{
    return driver_error(CUDA_ERROR_NOT_SUPPORTED, "%s, as it was before CUDA 4, is not supported",
                        name);
}

WEIR_API CUresult cuMemcpyDtoDAsync(unsigned to, unsigned from, unsigned bytes, CUstream stream);
WEIR_API CUresult cuMemcpyDtoDAsync(unsigned to, unsigned from, unsigned bytes, CUstream stream)
{
    (void)to, (void)from, (void)bytes, (void)stream;
    return refuse("cuMemcpyDtoDAsync");
}

WEIR_API CUresult cuGraphicsResourceSetMapFlags(CUgraphicsResource resource, unsigned int flags);
WEIR_API CUresult cuGraphicsResourceSetMapFlags(CUgraphicsResource resource, unsigned int flags)
{
    (void)resource, (void)flags;
    return refuse("cuGraphicsResourceSetMapFlags");
}
