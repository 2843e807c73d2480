/* copy: copies and sets that the runtime makes: in the legacy stream they are what all blocking
 * streams wait for. Memory that is kept (kept.c) is none that the program has, nor is what it has
 * freed of a pool, or what is past an allocation there: the driver sees mappings alone. */
#include "gpu/internal.h"

/* Whether so many bytes are the program's, as far as this layer has them. */
static __attribute__((noinline)) bool is_in_pool(CUdeviceptr at, uint64_t bytes)
{
    struct pool_info info;
    return !range_holds(at) ||
           (pool_find((void *)(uintptr_t)at, &info) && bytes <= info.size - (at - info.base));
}

static inline bool reaches(CUdeviceptr at, uint64_t bytes)
{
    return !kept_holds(at) && (!followed() || bytes == 0 || is_in_pool(at, bytes));
}

/* Bytes from the first to the last of rows. */
static uint64_t span(uint64_t pitch, uint64_t width, uint64_t height)
{
    return width == 0 || height == 0 ? 0 : (height - 1) * pitch + width;
}

/* One side of a box, of which the driver has checked nothing yet. */
static bool box_reaches(CUdeviceptr base, CUmemorytype type, size_t x, size_t y, size_t z,
                        size_t pitch, size_t rows, const size_t size[3])
{
    if ((type != CU_MEMORYTYPE_DEVICE && type != CU_MEMORYTYPE_UNIFIED) || size[2] == 0)
        return true;
    pitch = pitch != 0 ? pitch : size[0] + x;
    uint64_t slice = (uint64_t)pitch * (rows != 0 ? rows : size[1] + y);
    uint64_t bytes = span(pitch, size[0], size[1]);
    return reaches(base + z * slice + y * pitch + x,
                   bytes == 0 ? 0 : (size[2] - 1) * slice + bytes);
}

#define BOX_REACHES(c)                                                                             \
    (box_reaches((c)->dstDevice, (c)->dstMemoryType, (c)->dstXInBytes, (c)->dstY, (c)->dstZ,       \
                 (c)->dstPitch, (c)->dstHeight,                                                    \
                 (const size_t[]){(c)->WidthInBytes, (c)->Height, (c)->Depth}) &&                  \
     box_reaches((c)->srcDevice, (c)->srcMemoryType, (c)->srcXInBytes, (c)->srcY, (c)->srcZ,       \
                 (c)->srcPitch, (c)->srcHeight,                                                    \
                 (const size_t[]){(c)->WidthInBytes, (c)->Height, (c)->Depth}))

/* `good`: what the call names is the program's. */
#define COMMAND(name, parameters, good, stream, ...)                                               \
    CUresult gpu_##name parameters                                                                 \
    {                                                                                              \
        uint64_t at = 0;                                                                           \
        struct context *c;                                                                         \
        if (!WEIR_LIKELY(good))                                                                    \
            return CUDA_ERROR_INVALID_VALUE;                                                       \
        c = legacy_begins(stream, &at);                                                            \
        return legacy_ends(c, at, driver.name(__VA_ARGS__));                                       \
    }

/* One that waits in the legacy stream: what is done then needs no notes. */
#define WAITING(name, parameters, good, ...)                                                       \
    CUresult gpu_##name parameters                                                                 \
    {                                                                                              \
        return WEIR_LIKELY(good) ? driver.name(__VA_ARGS__) : CUDA_ERROR_INVALID_VALUE;            \
    }

COMMAND(cuMemcpyAsync, (CUdeviceptr to, CUdeviceptr from, size_t n, CUstream s),
        reaches(to, n) && reaches(from, n), s, to, from, n, s)
COMMAND(cuMemcpyHtoDAsync_v2, (CUdeviceptr to, const void *from, size_t n, CUstream s),
        reaches(to, n), s, to, from, n, s)
COMMAND(cuMemcpyDtoHAsync_v2, (void *to, CUdeviceptr from, size_t n, CUstream s), reaches(from, n),
        s, to, from, n, s)
COMMAND(cuMemcpyDtoDAsync_v2, (CUdeviceptr to, CUdeviceptr from, size_t n, CUstream s),
        reaches(to, n) && reaches(from, n), s, to, from, n, s)
COMMAND(cuMemcpyPeerAsync,
        (CUdeviceptr to, CUcontext there, CUdeviceptr from, CUcontext here, size_t n, CUstream s),
        reaches(to, n) && reaches(from, n), s, to, there, from, here, n, s)
COMMAND(cuMemsetD8Async, (CUdeviceptr to, unsigned char value, size_t n, CUstream s),
        reaches(to, n), s, to, value, n, s)
COMMAND(cuMemsetD2D8Async,
        (CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height,
         CUstream s),
        reaches(to, span(pitch, width, height)), s, to, pitch, value, width, height, s)
COMMAND(cuMemcpy3DAsync_v2, (const CUDA_MEMCPY3D *copy, CUstream s), BOX_REACHES(copy), s, copy, s)
COMMAND(cuMemcpy3DPeerAsync, (const CUDA_MEMCPY3D_PEER *copy, CUstream s), BOX_REACHES(copy), s,
        copy, s)

CUresult gpu_cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t n)
{
    CUresult r;
    if (staging_copy(true, (char *)from, to, n, &r)) /* it is read */
        return r;
    return reaches(to, n) ? driver.cuMemcpyHtoD_v2(to, from, n) : CUDA_ERROR_INVALID_VALUE;
}

CUresult gpu_cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t n)
{
    CUresult r;
    if (staging_copy(false, to, from, n, &r))
        return r;
    return reaches(from, n) ? driver.cuMemcpyDtoH_v2(to, from, n) : CUDA_ERROR_INVALID_VALUE;
}

/* One side may be pageable memory. */
CUresult gpu_cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t n)
{
    CUresult r;
    if (staging_copy(true, (char *)(uintptr_t)from, to, n, &r) ||
        staging_copy(false, (char *)(uintptr_t)to, from, n, &r))
        return r;
    return reaches(to, n) && reaches(from, n) ? driver.cuMemcpy(to, from, n)
                                              : CUDA_ERROR_INVALID_VALUE;
}

WAITING(cuMemcpyDtoD_v2, (CUdeviceptr to, CUdeviceptr from, size_t n),
        reaches(to, n) && reaches(from, n), to, from, n)
WAITING(cuMemcpyPeer, (CUdeviceptr to, CUcontext there, CUdeviceptr from, CUcontext here, size_t n),
        reaches(to, n) && reaches(from, n), to, there, from, here, n)
WAITING(cuMemcpy3D_v2, (const CUDA_MEMCPY3D *copy), BOX_REACHES(copy), copy)
WAITING(cuMemcpy3DPeer, (const CUDA_MEMCPY3D_PEER *copy), BOX_REACHES(copy), copy)
WAITING(cuMemsetD8_v2, (CUdeviceptr to, unsigned char value, size_t n), reaches(to, n), to, value,
        n)
WAITING(cuMemsetD2D8_v2,
        (CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height),
        reaches(to, span(pitch, width, height)), to, pitch, value, width, height)

/* ---- batches ---- */

/* They may not go into the legacy stream: nothing is noted of order. */
CUresult gpu_cuMemcpyBatchAsync_v2(CUdeviceptr *to, CUdeviceptr *from, size_t *sizes, size_t count,
                                   CUmemcpyAttributes *attributes, size_t *first,
                                   size_t attribute_count, CUstream s)
{
    for (size_t i = 0; i < count; i++)
        if (!reaches(to[i], sizes[i]) || !reaches(from[i], sizes[i]))
            return CUDA_ERROR_INVALID_VALUE;
    return driver.cuMemcpyBatchAsync_v2(to, from, sizes, count, attributes, first, attribute_count,
                                        s);
}

/* Beside an array, rows have its elements, whose size the driver knows: then where it begins is
 * looked at alone. */
static bool operand_reaches(const CUmemcpy3DOperand *o, const CUmemcpy3DOperand *other,
                            const CUextent3D *e)
{
    if (o->type != CU_MEMCPY_OPERAND_TYPE_POINTER)
        return true;
    if (other->type != CU_MEMCPY_OPERAND_TYPE_POINTER)
        return reaches(o->op.ptr.ptr, 1);
    return box_reaches(o->op.ptr.ptr, CU_MEMORYTYPE_UNIFIED, 0, 0, 0, o->op.ptr.rowLength,
                       o->op.ptr.layerHeight, (const size_t[]){e->width, e->height, e->depth});
}

CUresult gpu_cuMemcpy3DBatchAsync_v2(size_t count, CUDA_MEMCPY3D_BATCH_OP *ops,
                                     unsigned long long flags, CUstream s)
{
    for (size_t i = 0; i < count; i++)
        if (!operand_reaches(&ops[i].dst, &ops[i].src, &ops[i].extent) ||
            !operand_reaches(&ops[i].src, &ops[i].dst, &ops[i].extent))
            return CUDA_ERROR_INVALID_VALUE;
    return driver.cuMemcpy3DBatchAsync_v2(count, ops, flags, s);
}
