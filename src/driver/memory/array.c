/* array: CUDA arrays. A GPU keeps their elements in an order of its own; here they are rows and
 * slices of device memory, every row on a boundary of its own, so that copies to and from them are
 * copies of boxes. */
#include <stdlib.h>

#include "base/bits.h"
#include "base/list.h"
#include "driver/error/site.h"
#include "driver/objects.h"
#include "texture/texture.h"

uint32_t format_bytes(CUarray_format format)
{
    switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8: return 1;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF: return 2;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT: return 4;
    default: return 0;
    }
}

/* ---- what may be asked for ---- */

static int array_limit(CUdevice_attribute which)
{
    int value = 0;
    cuDeviceGetAttribute(&value, which, 0);
    return value;
}

enum { UNLIMITED = CU_DEVICE_ATTRIBUTE_MAX }; /* a dimension that has no limit of its own */

static bool within(const CUDA_ARRAY3D_DESCRIPTOR *d, CUdevice_attribute width,
                   CUdevice_attribute height, CUdevice_attribute depth)
{
    return d->Width <= (size_t)array_limit(width) &&
           (height == UNLIMITED || d->Height <= (size_t)array_limit(height)) &&
           (depth == UNLIMITED || d->Depth <= (size_t)array_limit(depth));
}

/* The dimensions against the device's limits for an array of that kind. */
static bool size_valid(const CUDA_ARRAY3D_DESCRIPTOR *d)
{
    bool layered = (d->Flags & CUDA_ARRAY3D_LAYERED) != 0;
    if (d->Width == 0)
        return false;
    if (d->Flags & CUDA_ARRAY3D_CUBEMAP)
        return d->Width == d->Height &&
               (layered ? d->Depth > 0 && d->Depth % 6 == 0 : d->Depth == 6) &&
               within(d, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_WIDTH, UNLIMITED,
                      CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS);
    if (layered && d->Depth == 0)
        return false;
    if (layered && d->Height == 0)
        return within(d, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_WIDTH, UNLIMITED,
                      CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_LAYERS);
    if (layered)
        return within(d, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_WIDTH,
                      CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_HEIGHT,
                      CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_LAYERS);
    if (d->Height == 0)
        return d->Depth == 0 &&
               within(d, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_WIDTH, UNLIMITED, UNLIMITED);
    if (d->Depth == 0)
        return within(d, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_WIDTH,
                      CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_HEIGHT, UNLIMITED);
    return within(d, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH,
                  CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT,
                  CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH) ||
           within(d, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE,
                  CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE,
                  CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE);
}

CUresult array_check_desc(const CUDA_ARRAY3D_DESCRIPTOR *d)
{
    static const unsigned known = CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST |
                                  CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_TEXTURE_GATHER;
    /* depth textures (CUDA_ARRAY3D_DEPTH_TEXTURE) no CUDA device makes: unknown */
    static const unsigned foreign =
        CUDA_ARRAY3D_COLOR_ATTACHMENT | CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING;
    if ((d->Flags & ~(known | foreign)) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (d->Flags & foreign)
        return driver_error(CUDA_ERROR_NOT_SUPPORTED, "arrays with flags 0x%x are not supported",
                            d->Flags & foreign);
    if (format_bytes(d->Format) == 0 && d->Format >= CU_AD_FORMAT_UNORM_INT_101010_2 &&
        d->Format <= CU_AD_FORMAT_SNORM_INT16X4)
        return driver_error(CUDA_ERROR_NOT_SUPPORTED, "arrays of format 0x%x are not supported",
                            (unsigned)d->Format);
    if (format_bytes(d->Format) == 0 ||
        (d->NumChannels != 1 && d->NumChannels != 2 && d->NumChannels != 4))
        return CUDA_ERROR_INVALID_VALUE;
    if ((d->Flags & CUDA_ARRAY3D_TEXTURE_GATHER) && (d->Height == 0 || d->Depth != 0))
        return CUDA_ERROR_INVALID_VALUE;
    return size_valid(d) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* ---- life ---- */

void array_lay_out(CUarray a)
{
    a->element = format_bytes(a->desc.Format) * a->desc.NumChannels;
    a->pitch = texture_array_pitch(a->desc.Width * a->element);
    a->slice = a->pitch * at_least_one(a->desc.Height);
}

static CUresult create(CUcontext c, const CUDA_ARRAY3D_DESCRIPTOR *d, CUarray *out)
{
    CU_TRY(capture_unsafe());
    struct CUarray_st made = {.ctx = c, .desc = *d};
    array_lay_out(&made);
    struct mem_request q = {.device = c->memory,
                            .kind = MEM_ARRAY,
                            .owner = c->device,
                            .bytes = made.slice * at_least_one(d->Depth)};
    void *p;
    CU_TRY(driver_from_mem(memory_alloc(&q, &p)));
    CUarray a = handle_begin(TAG_ARRAY, sizeof *a);
    made.tag = a->tag;
    *a = made;
    a->base = p;
    pthread_mutex_lock(&c->lock);
    LIST_INSERT(c->arrays, a);
    handle_publish(a, TAG_ARRAY);
    pthread_mutex_unlock(&c->lock);
    if (observed())
        observe_object_made(OBSERVE_ARRAY, a);
    *out = a;
    return CUDA_SUCCESS;
}

void array_free(CUarray a, bool memory)
{
    if (memory)
        mem_free(a->base, MEM_ARRAY);
    handle_recycle(a);
}

static CUresult array_destroy(CUarray a)
{
    CUcontext c = a->ctx;
    if (!handle_wipe(a))
        return CUDA_ERROR_INVALID_HANDLE;
    bool memory = context_settle(c);
    pthread_mutex_lock(&c->lock);
    LIST_REMOVE(a);
    pthread_mutex_unlock(&c->lock);
    array_free(a, memory);
    return CUDA_SUCCESS;
}

WEIR_API CUresult cuArray3DCreate_v2(CUarray *out, const CUDA_ARRAY3D_DESCRIPTOR *d)
{
    HOLD;
    CALLED(cuArray3DCreate);
    CUcontext c;
    CU_TRY(driver_current(&c));
    if (out == NULL || d == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult r = array_check_desc(d);
    return r == CUDA_SUCCESS ? create(c, d, out) : r;
}

WEIR_API CUresult cuArrayCreate_v2(CUarray *out, const CUDA_ARRAY_DESCRIPTOR *d)
{
    HOLD;
    CALLED(cuArrayCreate);
    if (d == NULL)
        return cuArray3DCreate_v2(out, NULL);
    CUDA_ARRAY3D_DESCRIPTOR box = {
        .Width = d->Width, .Height = d->Height, .Format = d->Format, .NumChannels = d->NumChannels};
    return cuArray3DCreate_v2(out, &box);
}

/* As cuMemFree: what still uses it is waited for. */
WEIR_API CUresult cuArrayDestroy(CUarray a)
{
    HOLD;
    CALLED(cuArrayDestroy);
    CUcontext c;
    CUresult r = HANDLE_CONTEXT_FREEING(a, TAG_ARRAY, &c);
    if (r == CUDA_SUCCESS && a->whole != NULL)
        return CUDA_SUCCESS; /* as a GPU says: a level stays as long as its mipmapped array */
    if (r == CUDA_SUCCESS)
        r = capture_unsafe();
    if (r == CUDA_SUCCESS)
        r = context_wait(c);
    return r == CUDA_SUCCESS ? array_destroy(a) : r;
}

/* ---- questions ---- */

CUresult array_check(CUarray a)
{
    return handle_live(a, TAG_ARRAY) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

WEIR_API CUresult cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR *out, CUarray a)
{
    HOLD;
    CUcontext c;
    CU_TRY(HANDLE_CONTEXT(a, TAG_ARRAY, &c));
    if (out == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *out = a->desc;
    return CUDA_SUCCESS;
}

WEIR_API CUresult cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR *out, CUarray a)
{
    HOLD;
    CUDA_ARRAY3D_DESCRIPTOR d;
    CU_TRY(cuArray3DGetDescriptor_v2(&d, a));
    if (out == NULL || d.Depth != 0)
        return CUDA_ERROR_INVALID_VALUE;
    *out = (CUDA_ARRAY_DESCRIPTOR){
        .Width = d.Width, .Height = d.Height, .Format = d.Format, .NumChannels = d.NumChannels};
    return CUDA_SUCCESS;
}

/* First byte of the box that starts at byte x of row y of slice z; the box must be in the array.
 */
CUresult array_locate(CUarray a, uint64_t x, uint64_t y, uint64_t z, uint64_t width, uint64_t rows,
                      uint64_t slices, char **at)
{
    CU_TRY(array_check(a));
    uint64_t row = a->desc.Width * a->element, height = at_least_one(a->desc.Height);
    uint64_t depth = at_least_one(a->desc.Depth);
    if (x > row || width > row - x || y > height || rows > height - y || z > depth ||
        slices > depth - z)
        return driver_error(
            CUDA_ERROR_INVALID_VALUE,
            "a copy of %llu x %llu x %llu bytes at %llu, %llu, %llu leaves an array "
            "of %zu x %zu x %zu elements of %u bytes",
            (unsigned long long)width, (unsigned long long)rows, (unsigned long long)slices,
            (unsigned long long)x, (unsigned long long)y, (unsigned long long)z, a->desc.Width,
            a->desc.Height, a->desc.Depth, a->element);
    *at = a->base + z * a->slice + y * a->pitch + x;
    return CUDA_SUCCESS;
}

/* Arrays of several planes (video formats) cannot be made here, and others have none to give. */
WEIR_API CUresult cuArrayGetPlane(CUarray *out, CUarray a, unsigned int plane)
{
    HOLD;
    CUcontext c;
    CU_TRY(HANDLE_CONTEXT(a, TAG_ARRAY, &c));
    return driver_error(CUDA_ERROR_INVALID_VALUE, "the array has no plane %u", plane);
}

/* Arrays that get their memory later, or in tiles, cannot be made here, and others have nothing to
 * say of that. */
static CUresult array_plain(const void *out, CUarray a, const char *what)
{
    CU_TRY(driver_ready());
    CU_TRY(driver_permitted());
    if (out == NULL || array_check(a) != CUDA_SUCCESS)
        return CUDA_ERROR_INVALID_VALUE;
    return driver_error(CUDA_ERROR_INVALID_VALUE, "the array was not made with %s", what);
}

WEIR_API CUresult cuArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS *out, CUarray a,
                                               CUdevice dev)
{
    HOLD;
    (void)dev;
    return array_plain(out, a, "CUDA_ARRAY3D_DEFERRED_MAPPING");
}

WEIR_API CUresult cuArrayGetSparseProperties(CUDA_ARRAY_SPARSE_PROPERTIES *out, CUarray a)
{
    HOLD;
    return array_plain(out, a, "CUDA_ARRAY3D_SPARSE");
}
