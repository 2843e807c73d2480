/* copy: copies and sets that the runtime makes: in the legacy stream they are what all blocking
 * streams wait for; memory that is kept (kept.c) is none that the program has. */
#include "gpu/internal.h"

/* The call, of which `a` and `b` are addresses of the program's. */
#define REACHES(a, b, call)                                                                        \
    WEIR_UNLIKELY(kept_holds((CUdeviceptr)(a)) || kept_holds((CUdeviceptr)(b)))                    \
    ? CUDA_ERROR_INVALID_VALUE : (call)

#define COMMAND(name, parameters, a, b, stream, ...)                                               \
    CUresult gpu_##name parameters                                                                 \
    {                                                                                              \
        uint64_t at = 0;                                                                           \
        struct context *c = legacy_begins(stream, &at);                                            \
        return legacy_ends(c, at, REACHES(a, b, driver.name(__VA_ARGS__)));                        \
    }

/* One that waits in the legacy stream: what is done then needs no notes. */
#define WAITING(name, parameters, a, b, ...)                                                       \
    CUresult gpu_##name parameters { return REACHES(a, b, driver.name(__VA_ARGS__)); }

COMMAND(cuMemcpyAsync, (CUdeviceptr to, CUdeviceptr from, size_t n, CUstream s), to, from, s, to,
        from, n, s)
COMMAND(cuMemcpyHtoDAsync_v2, (CUdeviceptr to, const void *from, size_t n, CUstream s), to, 0, s,
        to, from, n, s)
COMMAND(cuMemcpyDtoHAsync_v2, (void *to, CUdeviceptr from, size_t n, CUstream s), 0, from, s, to,
        from, n, s)
COMMAND(cuMemcpyDtoDAsync_v2, (CUdeviceptr to, CUdeviceptr from, size_t n, CUstream s), to, from, s,
        to, from, n, s)
COMMAND(cuMemsetD8Async, (CUdeviceptr to, unsigned char value, size_t n, CUstream s), to, 0, s, to,
        value, n, s)
COMMAND(cuMemsetD2D8Async,
        (CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height,
         CUstream s),
        to, 0, s, to, pitch, value, width, height, s)
COMMAND(cuMemcpy3DAsync_v2, (const CUDA_MEMCPY3D *copy, CUstream s), copy->dstDevice,
        copy->srcDevice, s, copy, s)

CUresult gpu_cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t n)
{
    CUresult r;
    if (staging_copy(true, (char *)from, to, n, &r)) /* it is read */
        return r;
    return REACHES(to, 0, driver.cuMemcpyHtoD_v2(to, from, n));
}

CUresult gpu_cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t n)
{
    CUresult r;
    if (staging_copy(false, to, from, n, &r))
        return r;
    return REACHES(from, 0, driver.cuMemcpyDtoH_v2(to, from, n));
}

/* One side may be pageable memory. */
CUresult gpu_cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t n)
{
    CUresult r;
    if (staging_copy(true, (char *)(uintptr_t)from, to, n, &r) ||
        staging_copy(false, (char *)(uintptr_t)to, from, n, &r))
        return r;
    return REACHES(to, from, driver.cuMemcpy(to, from, n));
}

WAITING(cuMemcpyDtoD_v2, (CUdeviceptr to, CUdeviceptr from, size_t n), to, from, to, from, n)
WAITING(cuMemcpy3D_v2, (const CUDA_MEMCPY3D *copy), copy->dstDevice, copy->srcDevice, copy)
WAITING(cuMemsetD8_v2, (CUdeviceptr to, unsigned char value, size_t n), to, 0, to, value, n)
WAITING(cuMemsetD2D8_v2,
        (CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height), to, 0, to,
        pitch, value, width, height)
