/* copy: copies and sets of every shape. Every exported function comes down to one box of rows. */
#include <string.h>

#include "driver/objects.h"
#include "memory/view.h"
#include "pool/pool.h"

/* Each exported name in the version for the legacy default stream and the per-thread one. */
#define SYNC(name, params, ...)                                                                    \
    WEIR_API CUresult name params;                                                                 \
    WEIR_API CUresult name##_ptds params;                                                          \
    WEIR_API CUresult name params                                                                  \
    {                                                                                              \
        HOLD;                                                                                      \
        return name##_impl(NULL, false, DEVICE_COPY_SYNC, __VA_ARGS__);                            \
    }                                                                                              \
    WEIR_API CUresult name##_ptds params                                                           \
    {                                                                                              \
        HOLD;                                                                                      \
        return name##_impl(NULL, true, DEVICE_COPY_SYNC, __VA_ARGS__);                             \
    }
#define ASYNC(name, impl, params, ...)                                                             \
    WEIR_API CUresult name params;                                                                 \
    WEIR_API CUresult name##_ptsz params;                                                          \
    WEIR_API CUresult name params                                                                  \
    {                                                                                              \
        HOLD;                                                                                      \
        return impl##_impl(stream, false, DEVICE_COPY_ASYNC, __VA_ARGS__);                         \
    }                                                                                              \
    WEIR_API CUresult name##_ptsz params                                                           \
    {                                                                                              \
        HOLD;                                                                                      \
        return impl##_impl(stream, true, DEVICE_COPY_ASYNC, __VA_ARGS__);                          \
    }

#define WHERE COPY_WHERE

CUDA_MEMCPY3D copy_describe(void *dst, const void *src, size_t bytes)
{
    return (CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_UNIFIED,
                           .srcDevice = (CUdeviceptr)(uintptr_t)src,
                           .srcPitch = bytes,
                           .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
                           .dstDevice = (CUdeviceptr)(uintptr_t)dst,
                           .dstPitch = bytes,
                           .WidthInBytes = bytes,
                           .Height = 1,
                           .Depth = 1};
}

/* Memory of pools is for the devices that have access to it, also for copying, unless the call
 * names both sides' contexts; all other memory can be copied from device to device. */
static bool may_copy(CUcontext c, const void *p)
{
    return driver_device_count() < 2 || mem_kind_of(p, NULL) != MEM_POOL || driver_sees(c, p);
}

static __attribute__((noinline)) CUresult refuse_hidden(const char *what)
{
    return driver_error(CUDA_ERROR_INVALID_VALUE,
                        "a %s of memory of a graph that is not allocated now", what);
}

/* Whether memory is what only a device reads and writes. */
static bool only_devices(const void *p)
{
    enum mem_kind kind = mem_kind_of(p, NULL);
    return kind == MEM_DEVICE || kind == MEM_ARRAY || kind == MEM_MODULE ||
           (kind == MEM_POOL && mem_in_device_range(p));
}

/* Tells observers of a side that is not what the call says it is. */
static void observe_direction(const void *dst, bool dst_host, const void *src, bool src_host)
{
    if (src_host && only_devices(src))
        observe_tolerated("a copy says that its source is host memory, which is device memory: "
                          "undefined in CUDA, and mostly refused");
    if (dst_host && only_devices(dst))
        observe_tolerated("a copy says that its target is host memory, which is device memory: "
                          "undefined in CUDA, and mostly refused");
}

/* The same for a side that the call says is the device's. */
static void observe_device_side(const void *p)
{
    struct mem_place place;
    if (mem_kind_of(p, NULL) != MEM_PAGEABLE)
        return;
    mem_place_of(p, &place);
    if (place.relation == MEM_NOWHERE) /* else it is memory that was freed, and the call fails */
        observe_tolerated("a copy says that one side is device memory, which is pageable memory "
                          "of the host: undefined in CUDA, and refused where a GPU has no access "
                          "to pageable memory");
}

/* The legacy stream of another device, if the memory is that one's; else NULL. */
static struct device_stream *legacy_of_memory(CUcontext c, const void *p)
{
    int device;
    struct mem_info info;
    if ((mem_kind_of(p, &device) & MEM_ON_DEVICE) == 0 || device < 0 || device == c->memory)
        return NULL;
    CUdevice number = driver_device_number(device);
    CUcontext other = mem_find(p, &info) ? driver_context_of(info.owner) : NULL;
    if (other == NULL || other->memory != device) /* memory of pools has no owner */
        other = number >= 0 ? driver_primary(number) : NULL;
    if (other == NULL)
        return NULL;
    struct device_context *active = other->device;
    return active != NULL ? device_stream_legacy(active) : NULL;
}

/* A copy in a legacy stream is ordered with each device whose memory it touches: it comes after
 * what was issued to the device and before what will be (spec A8). */
static enum device_error copy_between(CUcontext c, struct device_stream *s,
                                      const struct device_copy *copy, enum device_copy_mode mode)
{
    struct device_stream *others[2] = {legacy_of_memory(c, copy->src),
                                       legacy_of_memory(c, copy->dst)};
    if (others[1] == others[0])
        others[1] = NULL;
    for (size_t i = 0; i < WEIR_COUNT(others); i++)
        if (others[i] != NULL)
            device_stream_wait_stream(s, device_stream_keep(others[i]));
    device_stream_keep(s); /* the copy may wait */
    enum device_error e = device_copy(s, copy, mode);
    for (size_t i = 0; i < WEIR_COUNT(others); i++)
        if (others[i] != NULL) {
            device_stream_wait_stream(others[i], s);
            device_stream_release(others[i]);
        }
    device_stream_release(s);
    return e;
}

static CUresult enqueue(CUcontext c, struct device_stream *s, const struct device_copy *copy,
                        enum device_copy_mode mode)
{
    bool alone = driver_device_count() < 2 || s != device_stream_legacy(c->device);
    return driver_from_device(c, WEIR_LIKELY(alone) ? device_copy(s, copy, mode)
                                                    : copy_between(c, s, copy, mode));
}

/* `src_host`, `dst_host`: the name of the call says that the side is the host's. */
static CUresult linear_of_copy(WHERE, void *dst, bool dst_host, const void *src, bool src_host,
                               size_t bytes, bool peers)
{
    CUcontext c;
    struct device_stream *s;
    CUresult r = driver_find_stream(h, pt, &s, &c);
    if (r == CUDA_SUCCESS && WEIR_UNLIKELY(capture_running())) {
        bool captured;
        CUDA_MEMCPY3D m = copy_describe(dst, src, bytes);
        CU_TRY(capture_copy(s, c, &m, mode == DEVICE_COPY_SYNC, &captured));
        if (captured)
            return CUDA_SUCCESS;
    }
    if (r != CUDA_SUCCESS || bytes == 0)
        return r;
    if (dst == NULL || src == NULL || !mem_reaches(dst, bytes, MEM_READ_WRITE) ||
        !mem_reaches(src, bytes, MEM_READ))
        return driver_error(CUDA_ERROR_INVALID_VALUE,
                            "a copy of %zu bytes from %p to %p leaves an allocation", bytes, src,
                            dst);
    if (!peers && (!may_copy(c, dst) || !may_copy(c, src)))
        return driver_error(CUDA_ERROR_INVALID_VALUE,
                            "a copy from %p to %p: the device has no access to the pool", src, dst);
    if (graph_memory_hidden(src) || graph_memory_hidden(dst))
        return refuse_hidden("copy");
    if (observed())
        observe_direction(dst, dst_host, src, src_host);
    struct device_copy copy = {.dst = dst,
                               .src = src,
                               .width = bytes,
                               .height = 1,
                               .depth = 1,
                               .src_host = src_host,
                               .dst_host = dst_host};
    return enqueue(c, s, &copy, mode);
}

CUresult copy_linear(WHERE, void *dst, const void *src, size_t bytes)
{
    return linear_of_copy(h, pt, mode, dst, false, src, false, bytes, false);
}

static void *copy_ptr(CUdeviceptr p) { return (void *)(uintptr_t)p; }

/* A CUdeviceptr argument must be memory that a device can reach by it: pageable memory, too, unless
 * the device says that it cannot (checked mode). */
static bool device_reaches(const void *p, size_t bytes)
{
    if (p == NULL)
        return false;
    if (WEIR_LIKELY(!mem_checked() && mem_in_device_range(p))) /* which takes no lock */
        return true;
    return mem_kind_of(p, NULL) != MEM_PAGEABLE || (!mem_checked() && mem_is_mapped(p, bytes));
}

static CUresult refuse_unreached(const void *p)
{
    struct strbuf what = {0};
    mem_describe(p, &what);
    CUresult r =
        driver_error(CUDA_ERROR_INVALID_VALUE,
                     "a device's side of a copy or a set is no memory: %p is %s", p, what.items);
    sb_free(&what);
    return r;
}

static CUresult device_side(CUdeviceptr p, size_t bytes)
{
    return WEIR_LIKELY(device_reaches(copy_ptr(p), bytes)) ? CUDA_SUCCESS
                                                           : refuse_unreached(copy_ptr(p));
}

/* The same in a call that says which side is the device's: page-locked memory of a pool is none,
 * even where it is open to the device; other such memory is. */
static CUresult check_named(CUdeviceptr p, size_t bytes)
{
    struct pool_info info;
    if (!mem_in_device_range(copy_ptr(p)) && mem_kind_of(copy_ptr(p), NULL) == MEM_PINNED &&
        pool_find(copy_ptr(p), &info))
        return driver_error(CUDA_ERROR_INVALID_VALUE,
                            "a copy names 0x%llx as a device's: it is memory of a host's pool",
                            (unsigned long long)p);
    if (observed() && p != 0)
        observe_device_side(copy_ptr(p));
    return device_side(p, bytes);
}

/* The stream is the first thing that may be wrong. */
static CUresult device_named(CUstream h, bool pt, CUdeviceptr p, size_t bytes)
{
    CUcontext c;
    struct device_stream *s;
    CUresult r = bytes > 0 ? check_named(p, bytes) : CUDA_SUCCESS;
    if (WEIR_UNLIKELY(r != CUDA_SUCCESS))
        CU_TRY(driver_find_stream(h, pt, &s, &c));
    return r;
}

static CUresult both_devices(CUstream h, bool pt, CUdeviceptr dst, CUdeviceptr src, size_t n)
{
    CU_TRY(device_named(h, pt, dst, n));
    return device_named(h, pt, src, n);
}

static CUresult cuMemcpy_impl(WHERE, CUdeviceptr dst, CUdeviceptr src, size_t n)
{
    return copy_linear(h, pt, mode, copy_ptr(dst), copy_ptr(src), n);
}
SYNC(cuMemcpy, (CUdeviceptr dst, CUdeviceptr src, size_t n), dst, src, n)
ASYNC(cuMemcpyAsync, cuMemcpy, (CUdeviceptr dst, CUdeviceptr src, size_t n, CUstream stream), dst,
      src, n)

static CUresult cuMemcpyHtoD_v2_impl(WHERE, CUdeviceptr dst, const void *src, size_t n)
{
    CU_TRY(device_named(h, pt, dst, n));
    return linear_of_copy(h, pt, mode, copy_ptr(dst), false, src, true, n, false);
}
SYNC(cuMemcpyHtoD_v2, (CUdeviceptr dst, const void *src, size_t n), dst, src, n)
ASYNC(cuMemcpyHtoDAsync_v2, cuMemcpyHtoD_v2,
      (CUdeviceptr dst, const void *src, size_t n, CUstream stream), dst, src, n)

static CUresult cuMemcpyDtoH_v2_impl(WHERE, void *dst, CUdeviceptr src, size_t n)
{
    CU_TRY(device_named(h, pt, src, n));
    return linear_of_copy(h, pt, mode, dst, true, copy_ptr(src), false, n, false);
}
SYNC(cuMemcpyDtoH_v2, (void *dst, CUdeviceptr src, size_t n), dst, src, n)
ASYNC(cuMemcpyDtoHAsync_v2, cuMemcpyDtoH_v2,
      (void *dst, CUdeviceptr src, size_t n, CUstream stream), dst, src, n)

static CUresult cuMemcpyDtoD_v2_impl(WHERE, CUdeviceptr dst, CUdeviceptr src, size_t n)
{
    CU_TRY(both_devices(h, pt, dst, src, n));
    return copy_linear(h, pt, mode, copy_ptr(dst), copy_ptr(src), n);
}
SYNC(cuMemcpyDtoD_v2, (CUdeviceptr dst, CUdeviceptr src, size_t n), dst, src, n)
ASYNC(cuMemcpyDtoDAsync_v2, cuMemcpyDtoD_v2,
      (CUdeviceptr dst, CUdeviceptr src, size_t n, CUstream stream), dst, src, n)

static CUresult cuMemcpyPeer_impl(WHERE, CUdeviceptr dst, CUcontext dc, CUdeviceptr src,
                                  CUcontext sc, size_t n)
{
    if (context_check(dc) != CUDA_SUCCESS || context_check(sc) != CUDA_SUCCESS)
        return CUDA_ERROR_INVALID_CONTEXT;
    CUresult r = both_devices(h, pt, dst, src, n);
    if (r == CUDA_SUCCESS && WEIR_UNLIKELY(capture_running())) {
        CUcontext c;
        struct device_stream *s;
        r = driver_find_stream(h, pt, &s, &c);
        if (r == CUDA_SUCCESS)
            r = capture_forbid(s, c);
    }
    return r != CUDA_SUCCESS
               ? r
               : linear_of_copy(h, pt, mode, copy_ptr(dst), false, copy_ptr(src), false, n, true);
}
SYNC(cuMemcpyPeer, (CUdeviceptr dst, CUcontext dc, CUdeviceptr src, CUcontext sc, size_t n), dst,
     dc, src, sc, n)
ASYNC(cuMemcpyPeerAsync, cuMemcpyPeer,
      (CUdeviceptr dst, CUcontext dc, CUdeviceptr src, CUcontext sc, size_t n, CUstream stream),
      dst, dc, src, sc, n)

/* ---- boxes ---- */

/* Whether products and sums of these stay far from wrapping. */
static bool sane(size_t a, size_t b, size_t c)
{
    static const size_t top = (size_t)1 << 47;
    return a < top && b < top && c < top && (b == 0 || a < top / b) && (c == 0 || a * b < top / c);
}

/* First byte of the box on one side, and its pitches. */
static CUresult locate(const struct copy_side *s, size_t width, size_t rows, size_t slices,
                       char **at, uint64_t *pitch, uint64_t *slice)
{
    char *base;
    size_t p = s->pitch, rows_per_slice = s->height;
    switch (s->type) {
    case CU_MEMORYTYPE_HOST: base = (char *)s->host; break;
    case CU_MEMORYTYPE_DEVICE:
    case CU_MEMORYTYPE_UNIFIED: base = copy_ptr(s->device); break;
    case CU_MEMORYTYPE_ARRAY: {
        CUresult r = array_locate(s->array, s->x, s->y, s->z, width, rows, slices, at);
        *pitch = r == CUDA_SUCCESS ? s->array->pitch : 0;
        *slice = r == CUDA_SUCCESS ? s->array->slice : 0;
        return r;
    }
    default: return CUDA_ERROR_INVALID_VALUE;
    }
    if (p == 0)
        p = width + s->x;
    if (rows_per_slice == 0)
        rows_per_slice = rows + s->y;
    if (base == NULL || p < width + s->x || rows_per_slice < rows + s->y ||
        !sane(p, rows_per_slice, slices + s->z))
        return CUDA_ERROR_INVALID_VALUE;
    *pitch = p;
    *slice = (uint64_t)p * rows_per_slice;
    *at = base + s->z * *slice + s->y * p + s->x;
    return CUDA_SUCCESS;
}

/* A box of linear memory must be in one allocation; arrays have been asked already. */
static CUresult box_inside(const struct copy_side *s, const char *at, uint64_t pitch,
                           uint64_t slice, const struct device_copy *c, enum mem_rights rights)
{
    uint64_t bytes = (c->depth - 1) * slice + (c->height - 1) * pitch + c->width;
    if (s->type == CU_MEMORYTYPE_ARRAY)
        return CUDA_SUCCESS;
    if (s->type == CU_MEMORYTYPE_DEVICE)
        CU_TRY(device_side((CUdeviceptr)(uintptr_t)at, bytes));
    return mem_reaches(at, bytes, rights)
               ? CUDA_SUCCESS
               : driver_error(CUDA_ERROR_INVALID_VALUE,
                              "a copy of %zu x %zu x %zu bytes leaves an allocation",
                              (size_t)c->width, (size_t)c->height, (size_t)c->depth);
}

/* The checked box of rows that a copy comes down to; width 0: there is nothing to do. */
static CUresult resolve(const struct copy_side *src, const struct copy_side *dst, size_t width,
                        size_t height, size_t depth, struct device_copy *out)
{
    *out = (struct device_copy){0};
    if (width == 0 || height == 0 || depth == 0)
        return CUDA_SUCCESS;
    if (!sane(width, height, depth) || !sane(src->x, src->y + 1, src->z + 1) ||
        !sane(dst->x, dst->y + 1, dst->z + 1))
        return CUDA_ERROR_INVALID_VALUE;
    struct device_copy copy = {.width = width,
                               .height = height,
                               .depth = depth,
                               .src_host = src->type == CU_MEMORYTYPE_HOST,
                               .dst_host = dst->type == CU_MEMORYTYPE_HOST};
    char *from, *to;
    CU_TRY(locate(src, width, height, depth, &from, &copy.src_pitch, &copy.src_slice));
    CU_TRY(locate(dst, width, height, depth, &to, &copy.dst_pitch, &copy.dst_slice));
    copy.src = from;
    copy.dst = to;
    CU_TRY(box_inside(src, from, copy.src_pitch, copy.src_slice, &copy, MEM_READ));
    CU_TRY(box_inside(dst, to, copy.dst_pitch, copy.dst_slice, &copy, MEM_READ_WRITE));
    if (observed())
        observe_direction(to, copy.dst_host, from, copy.src_host);
    *out = copy;
    return CUDA_SUCCESS;
}

/* The two sides of the driver's description of a copy. */
static void sides(const CUDA_MEMCPY3D *m, struct copy_side *src, struct copy_side *dst)
{
    *src =
        (struct copy_side){m->srcMemoryType, m->srcHost, m->srcDevice, m->srcArray, m->srcXInBytes,
                           m->srcY,          m->srcZ,    m->srcPitch,  m->srcHeight};
    *dst =
        (struct copy_side){m->dstMemoryType, m->dstHost, m->dstDevice, m->dstArray, m->dstXInBytes,
                           m->dstY,          m->dstZ,    m->dstPitch,  m->dstHeight};
}

CUresult copy_resolve(const CUDA_MEMCPY3D *m, struct device_copy *out)
{
    struct copy_side src, dst;
    sides(m, &src, &dst);
    return resolve(&src, &dst, m->WidthInBytes, m->Height, m->Depth, out);
}

/* The opposite of sides. */
static CUDA_MEMCPY3D describe(const struct copy_side *src, const struct copy_side *dst,
                              size_t width, size_t height, size_t depth)
{
    return (CUDA_MEMCPY3D){.srcMemoryType = src->type,
                           .srcHost = src->host,
                           .srcDevice = src->device,
                           .srcArray = src->array,
                           .srcXInBytes = src->x,
                           .srcY = src->y,
                           .srcZ = src->z,
                           .srcPitch = src->pitch,
                           .srcHeight = src->height,
                           .dstMemoryType = dst->type,
                           .dstHost = (void *)dst->host,
                           .dstDevice = dst->device,
                           .dstArray = dst->array,
                           .dstXInBytes = dst->x,
                           .dstY = dst->y,
                           .dstZ = dst->z,
                           .dstPitch = dst->pitch,
                           .dstHeight = dst->height,
                           .WidthInBytes = width,
                           .Height = height,
                           .Depth = depth};
}

static CUresult box(WHERE, const struct copy_side *src, const struct copy_side *dst, size_t width,
                    size_t height, size_t depth, bool peers)
{
    CUcontext c;
    struct device_stream *s;
    struct device_copy copy;
    CUresult r = driver_find_stream(h, pt, &s, &c);
    if (r == CUDA_SUCCESS && WEIR_UNLIKELY(capture_running())) {
        bool captured;
        CUDA_MEMCPY3D m = describe(src, dst, width, height, depth);
        CU_TRY(capture_copy(s, c, &m, mode == DEVICE_COPY_SYNC, &captured));
        if (captured)
            return CUDA_SUCCESS;
    }
    if (r == CUDA_SUCCESS)
        r = resolve(src, dst, width, height, depth, &copy);
    if (r != CUDA_SUCCESS || copy.width == 0)
        return r;
    if (!peers && (!may_copy(c, copy.dst) || !may_copy(c, copy.src)))
        return driver_error(CUDA_ERROR_INVALID_VALUE,
                            "a copy from %p to %p: the device has no access to the pool", copy.src,
                            copy.dst);
    if (graph_memory_hidden(copy.src) || graph_memory_hidden(copy.dst))
        return refuse_hidden("copy");
    return enqueue(c, s, &copy, mode);
}

CUresult copy_box(WHERE, const struct copy_side *src, const struct copy_side *dst, size_t width,
                  size_t height, size_t depth)
{
    return box(h, pt, mode, src, dst, width, height, depth, false);
}

static CUresult cuMemcpy2D_v2_impl(WHERE, const CUDA_MEMCPY2D *m)
{
    if (m == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    struct copy_side src = {
        m->srcMemoryType, m->srcHost, m->srcDevice, m->srcArray, m->srcXInBytes, m->srcY, 0,
        m->srcPitch,      0};
    struct copy_side dst = {
        m->dstMemoryType, m->dstHost, m->dstDevice, m->dstArray, m->dstXInBytes, m->dstY, 0,
        m->dstPitch,      0};
    return copy_box(h, pt, mode, &src, &dst, m->WidthInBytes, m->Height, 1);
}
SYNC(cuMemcpy2D_v2, (const CUDA_MEMCPY2D *m), m)
ASYNC(cuMemcpy2DAsync_v2, cuMemcpy2D_v2, (const CUDA_MEMCPY2D *m, CUstream stream), m)

static CUresult cuMemcpy2DUnaligned_v2_impl(WHERE, const CUDA_MEMCPY2D *m)
{
    return cuMemcpy2D_v2_impl(h, pt, mode, m);
}
SYNC(cuMemcpy2DUnaligned_v2, (const CUDA_MEMCPY2D *m), m)

static CUresult cuMemcpy3D_v2_impl(WHERE, const CUDA_MEMCPY3D *m)
{
    if (m == NULL) /* on a GPU, what is reserved may have any value */
        return CUDA_ERROR_INVALID_VALUE;
    struct copy_side src, dst;
    sides(m, &src, &dst);
    return copy_box(h, pt, mode, &src, &dst, m->WidthInBytes, m->Height, m->Depth);
}
SYNC(cuMemcpy3D_v2, (const CUDA_MEMCPY3D *m), m)
ASYNC(cuMemcpy3DAsync_v2, cuMemcpy3D_v2, (const CUDA_MEMCPY3D *m, CUstream stream), m)

/* Contexts say whose arrays and pointers these are; the addresses do, too. */
static CUresult cuMemcpy3DPeer_impl(WHERE, const CUDA_MEMCPY3D_PEER *m)
{
    if (m == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    struct copy_side src = {m->srcMemoryType, m->srcHost, m->srcDevice, m->srcArray, m->srcXInBytes,
                            m->srcY,          m->srcZ,    m->srcPitch,  m->srcHeight};
    struct copy_side dst = {m->dstMemoryType, m->dstHost, m->dstDevice, m->dstArray, m->dstXInBytes,
                            m->dstY,          m->dstZ,    m->dstPitch,  m->dstHeight};
    return box(h, pt, mode, &src, &dst, m->WidthInBytes, m->Height, m->Depth, true);
}
SYNC(cuMemcpy3DPeer, (const CUDA_MEMCPY3D_PEER *m), m)
ASYNC(cuMemcpy3DPeerAsync, cuMemcpy3DPeer, (const CUDA_MEMCPY3D_PEER *m, CUstream stream), m)

/* ---- arrays of one dimension ---- */

static struct copy_side array_side(CUarray a, size_t offset)
{
    return (struct copy_side){.type = CU_MEMORYTYPE_ARRAY, .array = a, .x = offset};
}

static struct copy_side host_side(const void *p)
{
    return (struct copy_side){.type = CU_MEMORYTYPE_HOST, .host = p};
}

static struct copy_side pointer_side(CUdeviceptr p)
{
    return (struct copy_side){.type = CU_MEMORYTYPE_DEVICE, .device = p};
}

#define ROW(name, from, to, params)                                                                \
    static CUresult name##_impl params                                                             \
    {                                                                                              \
        struct copy_side src = (from), dst = (to);                                                 \
        return copy_box(h, pt, mode, &src, &dst, n, 1, 1);                                         \
    }
ROW(cuMemcpyHtoA_v2, host_side(src_at), array_side(a, at),
    (WHERE, CUarray a, size_t at, const void *src_at, size_t n))
SYNC(cuMemcpyHtoA_v2, (CUarray a, size_t at, const void *src, size_t n), a, at, src, n)
ASYNC(cuMemcpyHtoAAsync_v2, cuMemcpyHtoA_v2,
      (CUarray a, size_t at, const void *src, size_t n, CUstream stream), a, at, src, n)
ROW(cuMemcpyAtoH_v2, array_side(a, at), host_side(dst_at),
    (WHERE, void *dst_at, CUarray a, size_t at, size_t n))
SYNC(cuMemcpyAtoH_v2, (void *dst, CUarray a, size_t at, size_t n), dst, a, at, n)
ASYNC(cuMemcpyAtoHAsync_v2, cuMemcpyAtoH_v2,
      (void *dst, CUarray a, size_t at, size_t n, CUstream stream), dst, a, at, n)
ROW(cuMemcpyDtoA_v2, pointer_side(src_at), array_side(a, at),
    (WHERE, CUarray a, size_t at, CUdeviceptr src_at, size_t n))
SYNC(cuMemcpyDtoA_v2, (CUarray a, size_t at, CUdeviceptr src, size_t n), a, at, src, n)
ROW(cuMemcpyAtoD_v2, array_side(a, at), pointer_side(dst_at),
    (WHERE, CUdeviceptr dst_at, CUarray a, size_t at, size_t n))
SYNC(cuMemcpyAtoD_v2, (CUdeviceptr dst, CUarray a, size_t at, size_t n), dst, a, at, n)
ROW(cuMemcpyAtoA_v2, array_side(b, from_at), array_side(a, at),
    (WHERE, CUarray a, size_t at, CUarray b, size_t from_at, size_t n))
SYNC(cuMemcpyAtoA_v2, (CUarray a, size_t at, CUarray b, size_t from_at, size_t n), a, at, b,
     from_at, n)

/* ---- sets ---- */

CUresult set_resolve(const CUDA_MEMSET_NODE_PARAMS *p, struct device_set *out)
{
    *out = (struct device_set){0};
    if (p->width == 0 || p->height == 0)
        return CUDA_SUCCESS;
    if (p->elementSize != 1 && p->elementSize != 2 && p->elementSize != 4)
        return CUDA_ERROR_INVALID_VALUE;
    size_t bytes = (p->height - 1) * p->pitch + p->width * p->elementSize;
    if (p->dst % p->elementSize != 0 || !sane(p->width * p->elementSize, p->height, 1) ||
        (p->height > 1 && p->pitch < p->width * p->elementSize) ||
        !mem_reaches(copy_ptr(p->dst), bytes, MEM_READ_WRITE))
        return driver_error(CUDA_ERROR_INVALID_VALUE,
                            "a set of %zu x %zu elements leaves an allocation or is misaligned",
                            p->width, p->height);
    CU_TRY(device_side(p->dst, bytes));
    *out = (struct device_set){.dst = copy_ptr(p->dst),
                               .pitch = p->pitch,
                               .width = p->width,
                               .height = p->height,
                               .depth = 1,
                               .element = p->elementSize,
                               .value = p->value};
    return CUDA_SUCCESS;
}

static CUresult copy_set(WHERE, CUdeviceptr at, size_t pitch, uint32_t element, uint32_t value,
                         size_t width, size_t height)
{
    CUcontext c;
    struct device_stream *s;
    struct device_set set;
    CUDA_MEMSET_NODE_PARAMS p = {.dst = at,
                                 .pitch = pitch,
                                 .value = value,
                                 .elementSize = element,
                                 .width = width,
                                 .height = height};
    CUresult r = driver_find_stream(h, pt, &s, &c);
    if (r == CUDA_SUCCESS && WEIR_UNLIKELY(capture_running())) {
        bool captured;
        CU_TRY(capture_set(s, c, &p, mode == DEVICE_COPY_SYNC, &captured));
        if (captured)
            return CUDA_SUCCESS;
    }
    if (r == CUDA_SUCCESS)
        r = set_resolve(&p, &set);
    if (r != CUDA_SUCCESS || set.width == 0)
        return r;
    bool foreign = driver_device_count() > 1 || !mem_in_device_range(set.dst);
    if (foreign && !driver_sees(c, set.dst))
        return driver_error(CUDA_ERROR_INVALID_VALUE,
                            "a set at %p: the device has no access to this memory", set.dst);
    if (graph_memory_hidden(set.dst))
        return refuse_hidden("set");
    return driver_from_device(c, device_set(s, &set, mode == DEVICE_COPY_SYNC));
}

#define SETS(bits, type)                                                                           \
    static CUresult cuMemsetD##bits##_v2_impl(WHERE, CUdeviceptr at, type value, size_t n)         \
    {                                                                                              \
        return copy_set(h, pt, mode, at, 0, (bits) / 8, value, n, 1);                              \
    }                                                                                              \
    SYNC(cuMemsetD##bits##_v2, (CUdeviceptr at, type value, size_t n), at, value, n)               \
    ASYNC(cuMemsetD##bits##Async, cuMemsetD##bits##_v2,                                            \
          (CUdeviceptr at, type value, size_t n, CUstream stream), at, value, n)                   \
    static CUresult cuMemsetD2D##bits##_v2_impl(WHERE, CUdeviceptr at, size_t pitch, type value,   \
                                                size_t width, size_t height)                       \
    {                                                                                              \
        return copy_set(h, pt, mode, at, pitch, (bits) / 8, value, width, height);                 \
    }                                                                                              \
    SYNC(cuMemsetD2D##bits##_v2,                                                                   \
         (CUdeviceptr at, size_t pitch, type value, size_t width, size_t height), at, pitch,       \
         value, width, height)                                                                     \
    ASYNC(                                                                                         \
        cuMemsetD2D##bits##Async, cuMemsetD2D##bits##_v2,                                          \
        (CUdeviceptr at, size_t pitch, type value, size_t width, size_t height, CUstream stream),  \
        at, pitch, value, width, height)

SETS(8, unsigned char)
SETS(16, unsigned short)
SETS(32, unsigned int)
