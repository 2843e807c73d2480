/* copy_array: copies in three dimensions and with CUDA arrays, in the order of the API's own
 * history: boxes (cudaMemcpy3D), rectangles to and from arrays, and runs of bytes that wrap at an
 * array's width.
 */
#include "runtime/internal.h"

/* An array's description, and the bytes of one element and one row. */
struct array_shape {
    CUDA_ARRAY3D_DESCRIPTOR d;
    size_t element, row;
};

static cudaError_t shape_of(cudaArray_const_t array, struct array_shape *out)
{
    RT_CHECK(array, cudaErrorInvalidResourceHandle);
    RT_TRY(rt_array_describe(array, &out->d));
    out->element = rt_format_bytes(out->d.Format, out->d.NumChannels);
    RT_CHECK(out->element, cudaErrorInvalidValue);
    out->row = out->d.Width * out->element;
    return cudaSuccess;
}

/* ---- boxes ---- */

/* Whether pitch and rows of a slice are enough for an extent, as far as a GPU's runtime looks: it
 * compares numbers, whatever they count and wherever the box starts. The rest is the driver's. */
static bool pitch_fits(const struct cudaPitchedPtr *p, struct cudaExtent extent)
{
    return p->ptr == NULL || ((extent.width <= p->pitch || extent.height * extent.depth <= 1) &&
                              (extent.height <= p->ysize || extent.depth <= 1));
}

cudaError_t rt_box(const struct cudaMemcpy3DParms *p, CUDA_MEMCPY3D *copy)
{
    struct array_shape src = {.element = 1}, dst = {.element = 1};
    size_t unit;

    RT_CHECK(p != NULL && rt_kind_valid(p->kind),
             p != NULL ? cudaErrorInvalidMemcpyDirection : cudaErrorInvalidValue);
    RT_CHECK((p->srcArray == NULL) != (p->srcPtr.ptr == NULL) &&
                 (p->dstArray == NULL) != (p->dstPtr.ptr == NULL),
             cudaErrorInvalidValue);
    RT_CHECK(pitch_fits(&p->srcPtr, p->extent) && pitch_fits(&p->dstPtr, p->extent),
             cudaErrorInvalidPitchValue);
    if (p->srcArray != NULL)
        RT_TRY(shape_of(p->srcArray, &src));
    if (p->dstArray != NULL)
        RT_TRY(shape_of(p->dstArray, &dst));
    RT_CHECK(p->srcArray == NULL || p->dstArray == NULL || src.element == dst.element,
             cudaErrorInvalidValue);
    unit = p->srcArray != NULL ? src.element : dst.element;
    *copy = (CUDA_MEMCPY3D){
        .Height = p->extent.height,
        .Depth = p->extent.depth,
        .srcY = p->srcPos.y,
        .srcZ = p->srcPos.z,
        .dstY = p->dstPos.y,
        .dstZ = p->dstPos.z,
    };
    RT_CHECK(!__builtin_mul_overflow(p->extent.width, unit, &copy->WidthInBytes) &&
                 !__builtin_mul_overflow(p->srcPos.x, src.element, &copy->srcXInBytes) &&
                 !__builtin_mul_overflow(p->dstPos.x, dst.element, &copy->dstXInBytes),
             cudaErrorInvalidValue);
    if (p->srcArray != NULL) {
        RT_CHECK(p->kind != cudaMemcpyHostToDevice && p->kind != cudaMemcpyHostToHost,
                 cudaErrorInvalidValue);
        copy->srcMemoryType = CU_MEMORYTYPE_ARRAY;
        copy->srcArray = (CUarray)p->srcArray;
    } else {
        rt_copy_source(copy, p->srcPtr.ptr, p->srcPtr.pitch, p->srcPtr.ysize, p->kind);
    }
    if (p->dstArray != NULL) {
        RT_CHECK(p->kind != cudaMemcpyDeviceToHost && p->kind != cudaMemcpyHostToHost,
                 cudaErrorInvalidValue);
        copy->dstMemoryType = CU_MEMORYTYPE_ARRAY;
        copy->dstArray = (CUarray)p->dstArray;
    } else {
        rt_copy_target(copy, p->dstPtr.ptr, p->dstPtr.pitch, p->dstPtr.ysize, p->kind);
    }
    return cudaSuccess;
}

/* One side of the driver's description as a pitched pointer. Bytes of a row are all that is known
 * of its width. */
static struct cudaPitchedPtr pitched(CUmemorytype type, const void *host, CUdeviceptr device,
                                     size_t pitch, size_t height)
{
    void *ptr = type == CU_MEMORYTYPE_HOST ? (void *)host : (void *)device;
    return (struct cudaPitchedPtr){ptr, pitch, pitch, height};
}

static enum cudaMemcpyKind kind_of(const CUDA_MEMCPY3D *c)
{
    bool from_host = c->srcMemoryType == CU_MEMORYTYPE_HOST;
    bool to_host = c->dstMemoryType == CU_MEMORYTYPE_HOST;

    if (c->srcMemoryType == CU_MEMORYTYPE_UNIFIED || c->dstMemoryType == CU_MEMORYTYPE_UNIFIED)
        return cudaMemcpyDefault;
    return from_host ? to_host ? cudaMemcpyHostToHost : cudaMemcpyHostToDevice
           : to_host ? cudaMemcpyDeviceToHost
                     : cudaMemcpyDeviceToDevice;
}

cudaError_t rt_unbox(const CUDA_MEMCPY3D *c, struct cudaMemcpy3DParms *p)
{
    struct array_shape src = {.element = 1}, dst = {.element = 1};
    bool from_array = c->srcMemoryType == CU_MEMORYTYPE_ARRAY;
    bool to_array = c->dstMemoryType == CU_MEMORYTYPE_ARRAY;
    size_t unit;

    if (from_array)
        RT_TRY(shape_of((cudaArray_const_t)c->srcArray, &src));
    if (to_array)
        RT_TRY(shape_of((cudaArray_const_t)c->dstArray, &dst));
    unit = from_array ? src.element : dst.element;
    *p = (struct cudaMemcpy3DParms){
        .srcPos = {c->srcXInBytes / src.element, c->srcY, c->srcZ},
        .dstPos = {c->dstXInBytes / dst.element, c->dstY, c->dstZ},
        .extent = {c->WidthInBytes / unit, c->Height, c->Depth},
        .kind = kind_of(c),
    };
    if (from_array)
        p->srcArray = (cudaArray_t)c->srcArray;
    else
        p->srcPtr = pitched(c->srcMemoryType, c->srcHost, c->srcDevice, c->srcPitch, c->srcHeight);
    if (to_array)
        p->dstArray = (cudaArray_t)c->dstArray;
    else
        p->dstPtr = pitched(c->dstMemoryType, c->dstHost, c->dstDevice, c->dstPitch, c->dstHeight);
    return cudaSuccess;
}

static cudaError_t copy_box(const struct cudaMemcpy3DParms *p, cudaStream_t stream,
                            enum rt_wait wait)
{
    CUDA_MEMCPY3D copy;

    RT_CHECK(p, cudaErrorInvalidValue);
    RT_TRY(rt_context());
    if (!p->extent.width || !p->extent.height || !p->extent.depth)
        return cudaSuccess; /* then nothing else is looked at */
    RT_TRY(rt_box(p, &copy));
    return rt_copy_3d(&copy, stream, wait);
}

DEFAULT_STREAM_API(cudaMemcpy3D, (const struct cudaMemcpy3DParms *p), copy_box(p, stream, RT_SYNC))
STREAM_API(cudaMemcpy3DAsync, (const struct cudaMemcpy3DParms *p, cudaStream_t stream),
           copy_box(p, stream, RT_ASYNC))

static cudaError_t copy_box_peer(const struct cudaMemcpy3DPeerParms *p, cudaStream_t stream,
                                 enum rt_wait wait)
{
    struct cudaMemcpy3DParms plain;
    CUcontext src_context, dst_context;
    CUDA_MEMCPY3D c;

    RT_CHECK(p, cudaErrorInvalidValue);
    RT_TRY(rt_context());
    plain = (struct cudaMemcpy3DParms){p->srcArray, p->srcPos, p->srcPtr, p->dstArray,
                                       p->dstPos,   p->dstPtr, p->extent, cudaMemcpyDeviceToDevice};
    RT_TRY(rt_box(&plain, &c));
    RT_TRY(rt_primary(p->srcDevice, &src_context));
    RT_TRY(rt_primary(p->dstDevice, &dst_context));
    CUDA_MEMCPY3D_PEER peer = {
        .srcXInBytes = c.srcXInBytes,
        .srcY = c.srcY,
        .srcZ = c.srcZ,
        .srcMemoryType = c.srcMemoryType,
        .srcDevice = c.srcDevice,
        .srcArray = c.srcArray,
        .srcContext = src_context,
        .srcPitch = c.srcPitch,
        .srcHeight = c.srcHeight,
        .dstXInBytes = c.dstXInBytes,
        .dstY = c.dstY,
        .dstZ = c.dstZ,
        .dstMemoryType = c.dstMemoryType,
        .dstDevice = c.dstDevice,
        .dstArray = c.dstArray,
        .dstContext = dst_context,
        .dstPitch = c.dstPitch,
        .dstHeight = c.dstHeight,
        .WidthInBytes = c.WidthInBytes,
        .Height = c.Height,
        .Depth = c.Depth,
    };
    if (wait == RT_SYNC && stream == NULL)
        CU_TRY(CU(cuMemcpy3DPeer, &peer));
    else
        CU_TRY(CU(cuMemcpy3DPeerAsync, &peer, stream));
    return cudaSuccess;
}

DEFAULT_STREAM_API(cudaMemcpy3DPeer, (const struct cudaMemcpy3DPeerParms *p),
                   copy_box_peer(p, stream, RT_SYNC))
STREAM_API(cudaMemcpy3DPeerAsync, (const struct cudaMemcpy3DPeerParms *p, cudaStream_t stream),
           copy_box_peer(p, stream, RT_ASYNC))

/* ---- rectangles ---- */

static cudaError_t to_array(cudaArray_t dst, size_t x, size_t y, const void *src, size_t pitch,
                            size_t width, size_t height, enum cudaMemcpyKind kind,
                            cudaStream_t stream, enum rt_wait wait)
{
    CUDA_MEMCPY3D copy = {.WidthInBytes = width, .Height = height, .Depth = 1};

    RT_CHECK(rt_kind_valid(kind) && kind != cudaMemcpyDeviceToHost && kind != cudaMemcpyHostToHost,
             cudaErrorInvalidMemcpyDirection);
    RT_CHECK(dst, cudaErrorInvalidResourceHandle);
    RT_TRY(rt_context());
    if (width == 0 || height == 0)
        return cudaSuccess;
    RT_CHECK(src, cudaErrorInvalidValue);
    RT_CHECK(height == 1 || width <= pitch, cudaErrorInvalidPitchValue);
    rt_copy_source(&copy, src, pitch, height, kind);
    copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.dstArray = (CUarray)dst;
    copy.dstXInBytes = x;
    copy.dstY = y;
    return rt_copy_3d(&copy, stream, wait);
}

static cudaError_t from_array(void *dst, size_t pitch, cudaArray_const_t src, size_t x, size_t y,
                              size_t width, size_t height, enum cudaMemcpyKind kind,
                              cudaStream_t stream, enum rt_wait wait)
{
    CUDA_MEMCPY3D copy = {.WidthInBytes = width, .Height = height, .Depth = 1};

    RT_CHECK(rt_kind_valid(kind) && kind != cudaMemcpyHostToDevice && kind != cudaMemcpyHostToHost,
             cudaErrorInvalidMemcpyDirection);
    RT_CHECK(src, cudaErrorInvalidResourceHandle);
    RT_TRY(rt_context());
    if (width == 0 || height == 0)
        return cudaSuccess;
    RT_CHECK(dst, cudaErrorInvalidValue);
    RT_CHECK(height == 1 || width <= pitch, cudaErrorInvalidPitchValue);
    rt_copy_target(&copy, dst, pitch, height, kind);
    copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.srcArray = (CUarray)src;
    copy.srcXInBytes = x;
    copy.srcY = y;
    return rt_copy_3d(&copy, stream, wait);
}

static cudaError_t array_to_array(cudaArray_t dst, size_t dx, size_t dy, cudaArray_const_t src,
                                  size_t sx, size_t sy, size_t width, size_t height,
                                  enum cudaMemcpyKind kind, cudaStream_t stream)
{
    CUDA_MEMCPY3D copy = {
        .WidthInBytes = width,
        .Height = height,
        .Depth = 1,
        .srcMemoryType = CU_MEMORYTYPE_ARRAY,
        .srcArray = (CUarray)src,
        .srcXInBytes = sx,
        .srcY = sy,
        .dstMemoryType = CU_MEMORYTYPE_ARRAY,
        .dstArray = (CUarray)dst,
        .dstXInBytes = dx,
        .dstY = dy,
    };

    RT_CHECK(kind == cudaMemcpyDeviceToDevice || kind == cudaMemcpyDefault,
             cudaErrorInvalidMemcpyDirection);
    RT_CHECK(dst, cudaErrorInvalidValue);
    RT_CHECK(src, cudaErrorInvalidResourceHandle);
    return rt_copy_3d(&copy, stream, RT_SYNC);
}

DEFAULT_STREAM_API(cudaMemcpy2DToArray,
                   (cudaArray_t dst, size_t wOffset, size_t hOffset, const void *src, size_t spitch,
                    size_t width, size_t height, enum cudaMemcpyKind kind),
                   to_array(dst, wOffset, hOffset, src, spitch, width, height, kind, stream,
                            RT_SYNC))
STREAM_API(cudaMemcpy2DToArrayAsync,
           (cudaArray_t dst, size_t wOffset, size_t hOffset, const void *src, size_t spitch,
            size_t width, size_t height, enum cudaMemcpyKind kind, cudaStream_t stream),
           to_array(dst, wOffset, hOffset, src, spitch, width, height, kind, stream, RT_ASYNC))
DEFAULT_STREAM_API(cudaMemcpy2DFromArray,
                   (void *dst, size_t dpitch, cudaArray_const_t src, size_t wOffset, size_t hOffset,
                    size_t width, size_t height, enum cudaMemcpyKind kind),
                   from_array(dst, dpitch, src, wOffset, hOffset, width, height, kind, stream,
                              RT_SYNC))
STREAM_API(cudaMemcpy2DFromArrayAsync,
           (void *dst, size_t dpitch, cudaArray_const_t src, size_t wOffset, size_t hOffset,
            size_t width, size_t height, enum cudaMemcpyKind kind, cudaStream_t stream),
           from_array(dst, dpitch, src, wOffset, hOffset, width, height, kind, stream, RT_ASYNC))
DEFAULT_STREAM_API(cudaMemcpy2DArrayToArray,
                   (cudaArray_t dst, size_t wOffsetDst, size_t hOffsetDst, cudaArray_const_t src,
                    size_t wOffsetSrc, size_t hOffsetSrc, size_t width, size_t height,
                    enum cudaMemcpyKind kind),
                   array_to_array(dst, wOffsetDst, hOffsetDst, src, wOffsetSrc, hOffsetSrc, width,
                                  height, kind, stream))

/* ---- runs of bytes ---- */

/* The next part of a run that is a rectangle: the rest of a row, or whole rows. */
static void next_part(size_t row, size_t x, size_t left, size_t *width, size_t *height)
{
    if (x == 0 && left >= row) {
        *width = row;
        *height = left / row;
    } else {
        *width = left < row - x ? left : row - x;
        *height = 1;
    }
}

/* A run may begin beyond its row: it then begins in a later one. */
static void wrap(const struct array_shape *shape, size_t *x, size_t *y)
{
    *y += *x / shape->row;
    *x %= shape->row;
}

static cudaError_t run_to_array(cudaArray_t dst, size_t x, size_t y, const void *src, size_t count,
                                enum cudaMemcpyKind kind, cudaStream_t stream, enum rt_wait wait)
{
    struct array_shape shape;
    const char *from = src;

    RT_TRY(rt_context());
    RT_TRY(shape_of(dst, &shape));
    wrap(&shape, &x, &y);
    while (count) {
        size_t width, height;
        next_part(shape.row, x, count, &width, &height);
        RT_TRY(to_array(dst, x, y, from, width, width, height, kind, stream, wait));
        from += width * height;
        count -= width * height;
        y += height;
        x = 0;
    }
    return cudaSuccess;
}

static cudaError_t run_from_array(void *dst, cudaArray_const_t src, size_t x, size_t y,
                                  size_t count, enum cudaMemcpyKind kind, cudaStream_t stream,
                                  enum rt_wait wait)
{
    struct array_shape shape;
    char *to = dst;

    RT_TRY(rt_context());
    RT_TRY(shape_of(src, &shape));
    wrap(&shape, &x, &y);
    while (count) {
        size_t width, height;
        next_part(shape.row, x, count, &width, &height);
        RT_TRY(from_array(to, width, src, x, y, width, height, kind, stream, wait));
        to += width * height;
        count -= width * height;
        y += height;
        x = 0;
    }
    return cudaSuccess;
}

/* Both sides wrap, each at its own width. */
static cudaError_t run_between_arrays(cudaArray_t dst, size_t dx, size_t dy, cudaArray_const_t src,
                                      size_t sx, size_t sy, size_t count, enum cudaMemcpyKind kind,
                                      cudaStream_t stream)
{
    struct array_shape d, s;

    RT_TRY(rt_context());
    RT_TRY(shape_of(dst, &d));
    RT_TRY(shape_of(src, &s));
    wrap(&d, &dx, &dy);
    wrap(&s, &sx, &sy);
    while (count) {
        size_t width = count;
        width = width < d.row - dx ? width : d.row - dx;
        width = width < s.row - sx ? width : s.row - sx;
        RT_TRY(array_to_array(dst, dx, dy, src, sx, sy, width, 1, kind, stream));
        count -= width;
        dx += width;
        sx += width;
        if (dx == d.row)
            dx = 0, dy++;
        if (sx == s.row)
            sx = 0, sy++;
    }
    return cudaSuccess;
}

DEFAULT_STREAM_API(cudaMemcpyToArray,
                   (cudaArray_t dst, size_t wOffset, size_t hOffset, const void *src, size_t count,
                    enum cudaMemcpyKind kind),
                   run_to_array(dst, wOffset, hOffset, src, count, kind, stream, RT_SYNC))
STREAM_API(cudaMemcpyToArrayAsync,
           (cudaArray_t dst, size_t wOffset, size_t hOffset, const void *src, size_t count,
            enum cudaMemcpyKind kind, cudaStream_t stream),
           run_to_array(dst, wOffset, hOffset, src, count, kind, stream, RT_ASYNC))
DEFAULT_STREAM_API(cudaMemcpyFromArray,
                   (void *dst, cudaArray_const_t src, size_t wOffset, size_t hOffset, size_t count,
                    enum cudaMemcpyKind kind),
                   run_from_array(dst, src, wOffset, hOffset, count, kind, stream, RT_SYNC))
STREAM_API(cudaMemcpyFromArrayAsync,
           (void *dst, cudaArray_const_t src, size_t wOffset, size_t hOffset, size_t count,
            enum cudaMemcpyKind kind, cudaStream_t stream),
           run_from_array(dst, src, wOffset, hOffset, count, kind, stream, RT_ASYNC))
DEFAULT_STREAM_API(cudaMemcpyArrayToArray,
                   (cudaArray_t dst, size_t wOffsetDst, size_t hOffsetDst, cudaArray_const_t src,
                    size_t wOffsetSrc, size_t hOffsetSrc, size_t count, enum cudaMemcpyKind kind),
                   run_between_arrays(dst, wOffsetDst, hOffsetDst, src, wOffsetSrc, hOffsetSrc,
                                      count, kind, stream))
