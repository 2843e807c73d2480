/* copy: copies of linear memory: one row, boxes, between devices. Batches are in memory_batch.c,
 * those with an array on either side are in copy_array.c.
 *
 * A synchronous copy in the thread's own default stream is an asynchronous one and a wait for the
 * stream; between device memories nobody waits (spec Y1). */
#include "runtime/internal.h"

#include <string.h>

bool rt_kind_valid(enum cudaMemcpyKind kind) { return (unsigned)kind <= cudaMemcpyDefault; }

/* Waits after a synchronous copy in the stream, unless both sides are the device's. */
static cudaError_t settle(cudaStream_t stream, enum cudaMemcpyKind kind)
{
    if (kind != cudaMemcpyDeviceToDevice)
        CU_TRY(CU(cuStreamSynchronize, stream));
    return cudaSuccess;
}

/* A row whose sides are both said to be the host's: managed memory then counts as such. */
static CUresult copy_host(void *dst, const void *src, size_t count, cudaStream_t stream)
{
    CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                          .srcHost = src,
                          .srcPitch = count,
                          .dstMemoryType = CU_MEMORYTYPE_HOST,
                          .dstHost = dst,
                          .dstPitch = count,
                          .WidthInBytes = count,
                          .Height = 1,
                          .Depth = 1};

    return CU(cuMemcpy3DAsync_v2, &copy, stream);
}

static CUresult copy_async(CUdeviceptr dst, CUdeviceptr src, size_t count, enum cudaMemcpyKind kind,
                           cudaStream_t stream)
{
    switch (kind) {
    case cudaMemcpyHostToDevice:
        return CU(cuMemcpyHtoDAsync_v2, dst, (const void *)src, count, stream);
    case cudaMemcpyDeviceToHost: return CU(cuMemcpyDtoHAsync_v2, (void *)dst, src, count, stream);
    case cudaMemcpyDeviceToDevice: return CU(cuMemcpyDtoDAsync_v2, dst, src, count, stream);
    case cudaMemcpyHostToHost: return copy_host((void *)dst, (const void *)src, count, stream);
    default: return CU(cuMemcpyAsync, dst, src, count, stream);
    }
}

static CUresult copy_sync(CUdeviceptr dst, CUdeviceptr src, size_t count, enum cudaMemcpyKind kind)
{
    switch (kind) {
    case cudaMemcpyHostToDevice: return CU(cuMemcpyHtoD_v2, dst, (const void *)src, count);
    case cudaMemcpyDeviceToHost: return CU(cuMemcpyDtoH_v2, (void *)dst, src, count);
    case cudaMemcpyDeviceToDevice: return CU(cuMemcpyDtoD_v2, dst, src, count);
    default: return CU(cuMemcpy, dst, src, count);
    }
}

cudaError_t rt_copy_1d(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind,
                       cudaStream_t stream, enum rt_wait wait)
{
    CUdeviceptr to = (CUdeviceptr)dst, from = (CUdeviceptr)src;

    RT_TRY(rt_context());
    if (count == 0)
        return cudaSuccess;
    RT_CHECK(rt_kind_valid(kind), cudaErrorInvalidMemcpyDirection);
    RT_CHECK(dst != NULL && src != NULL, cudaErrorInvalidValue);
    if (wait == RT_SYNC && stream == NULL) {
        CU_TRY(copy_sync(to, from, count, kind));
        return cudaSuccess;
    }
    CU_TRY(copy_async(to, from, count, kind, stream));
    return wait == RT_SYNC ? settle(stream, kind) : cudaSuccess;
}

cudaError_t rt_copy_3d(const CUDA_MEMCPY3D *copy, cudaStream_t stream, enum rt_wait wait)
{
    bool device =
        copy->srcMemoryType == CU_MEMORYTYPE_DEVICE && copy->dstMemoryType == CU_MEMORYTYPE_DEVICE;

    RT_TRY(rt_context());
    if (copy->WidthInBytes == 0 || copy->Height == 0 || copy->Depth == 0)
        return cudaSuccess;
    if (wait == RT_SYNC && stream == NULL) {
        CU_TRY(CU(cuMemcpy3D_v2, copy));
        return cudaSuccess;
    }
    CU_TRY(CU(cuMemcpy3DAsync_v2, copy, stream));
    if (wait == RT_SYNC)
        return settle(stream, device ? cudaMemcpyDeviceToDevice : cudaMemcpyDefault);
    return cudaSuccess;
}

DEFAULT_STREAM_API(cudaMemcpy, (void *dst, const void *src, size_t count, enum cudaMemcpyKind kind),
                   rt_copy_1d(dst, src, count, kind, stream, RT_SYNC))
STREAM_API(cudaMemcpyAsync,
           (void *dst, const void *src, size_t count, enum cudaMemcpyKind kind,
            cudaStream_t stream),
           rt_copy_1d(dst, src, count, kind, stream, RT_ASYNC))

/* ---- two dimensions ---- */

static cudaError_t copy_2d(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width,
                           size_t height, enum cudaMemcpyKind kind, cudaStream_t stream,
                           enum rt_wait wait)
{
    CUDA_MEMCPY3D copy = {.WidthInBytes = width, .Height = height, .Depth = 1};

    RT_CHECK(rt_kind_valid(kind), cudaErrorInvalidMemcpyDirection);
    RT_TRY(rt_context());
    if (width == 0 || height == 0)
        return cudaSuccess;
    RT_CHECK(dst != NULL && src != NULL, cudaErrorInvalidValue);
    RT_CHECK(height == 1 || (width <= dpitch && width <= spitch), cudaErrorInvalidPitchValue);
    /* one row needs no pitch */
    RT_CHECK((!dpitch || width <= dpitch) && (!spitch || width <= spitch), cudaErrorInvalidValue);
    rt_copy_source(&copy, src, spitch, height, kind);
    rt_copy_target(&copy, dst, dpitch, height, kind);
    return rt_copy_3d(&copy, stream, wait);
}

DEFAULT_STREAM_API(cudaMemcpy2D,
                   (void *dst, size_t dpitch, const void *src, size_t spitch, size_t width,
                    size_t height, enum cudaMemcpyKind kind),
                   copy_2d(dst, dpitch, src, spitch, width, height, kind, stream, RT_SYNC))
STREAM_API(cudaMemcpy2DAsync,
           (void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
            enum cudaMemcpyKind kind, cudaStream_t stream),
           copy_2d(dst, dpitch, src, spitch, width, height, kind, stream, RT_ASYNC))

void rt_copy_source(CUDA_MEMCPY3D *copy, const void *ptr, size_t pitch, size_t rows,
                    enum cudaMemcpyKind kind)
{
    bool host = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyHostToHost;

    copy->srcMemoryType = host                        ? CU_MEMORYTYPE_HOST
                          : kind == cudaMemcpyDefault ? CU_MEMORYTYPE_UNIFIED
                                                      : CU_MEMORYTYPE_DEVICE;
    copy->srcHost = host ? ptr : NULL;
    copy->srcDevice = host ? 0 : (CUdeviceptr)ptr;
    copy->srcPitch = pitch;
    copy->srcHeight = rows;
}

void rt_copy_target(CUDA_MEMCPY3D *copy, void *ptr, size_t pitch, size_t rows,
                    enum cudaMemcpyKind kind)
{
    bool host = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyHostToHost;

    copy->dstMemoryType = host                        ? CU_MEMORYTYPE_HOST
                          : kind == cudaMemcpyDefault ? CU_MEMORYTYPE_UNIFIED
                                                      : CU_MEMORYTYPE_DEVICE;
    copy->dstHost = host ? ptr : NULL;
    copy->dstDevice = host ? 0 : (CUdeviceptr)ptr;
    copy->dstPitch = pitch;
    copy->dstHeight = rows;
}

/* ---- between devices ---- */

static cudaError_t copy_peer(void *dst, int dst_device, const void *src, int src_device,
                             size_t count, cudaStream_t stream, enum rt_wait wait)
{
    CUcontext to, from;

    RT_TRY(rt_context());
    if (count == 0)
        return cudaSuccess;
    RT_TRY(rt_primary(dst_device, &to));
    RT_TRY(rt_primary(src_device, &from));
    RT_CHECK(dst != NULL && src != NULL, cudaErrorInvalidValue);
    if (wait == RT_SYNC)
        CU_TRY(CU(cuMemcpyPeer, (CUdeviceptr)dst, to, (CUdeviceptr)src, from, count));
    else
        CU_TRY(CU(cuMemcpyPeerAsync, (CUdeviceptr)dst, to, (CUdeviceptr)src, from, count, stream));
    return cudaSuccess;
}

PUBLIC cudaError_t cudaMemcpyPeer(void *dst, int dstDevice, const void *src, int srcDevice,
                                  size_t count)
{
    return done(copy_peer(dst, dstDevice, src, srcDevice, count, 0, RT_SYNC));
}

PUBLIC cudaError_t cudaMemcpyPeerAsync(void *dst, int dstDevice, const void *src, int srcDevice,
                                       size_t count, cudaStream_t stream)
{
    return done(copy_peer(dst, dstDevice, src, srcDevice, count, stream, RT_ASYNC));
}
