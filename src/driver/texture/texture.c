/* texture: texture and surface objects: descriptions of arrays and linear memory, made once and
 * read by kernels. The handle that a kernel gets is the address of the description.
 *
 * Programs destroy an object while kernels that were launched with it still wait: destroying one
 * ends the handle for the API only, and the description stays as it is until everything launched
 * before has run. The memory of descriptions is never given back: a stale handle meets a wiped tag
 * or another description, not memory of something else. */
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/list.h"
#include "driver/objects.h"
#include "texture/texture.h"

/* A texture or surface object. */
struct object {
    struct texture texture; /* first: its address is the handle */
    CUcontext ctx;
    CUDA_RESOURCE_DESC resource; /* as the program described it */
    CUDA_TEXTURE_DESC sampling;
    CUDA_RESOURCE_VIEW_DESC view;
    bool viewed;
    bool live;            /* made and not destroyed */
    struct object *next;  /* in one of the lists below, */
    struct object **link; /* and what points to it there */
};

/* Memory of descriptions. */
struct slab {
    struct object *items;
    size_t count;
};

enum {
    SLAB_FIRST = 64, /* objects of the first slab; each one has twice as many as the one before */
    SLABS = 32,
    RETIRED_MAX = 4096, /* destroyed objects of a context that may wait for its work to end */
};

static struct {
    pthread_mutex_t lock;
    struct object *live;
    struct object *retired; /* destroyed, but kernels may still read them */
    struct object *free;
    unsigned retirements; /* since kernels were last known to have ended */
    struct slab slabs[SLABS];
    unsigned slab_count;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- life ---- */

static void texture_free(struct object *o)
{
    o->texture.tag = 0;
    o->live = false;
    if (observed())
        observe_object_ended(o);
    LIST_INSERT(all.free, o);
}

/* Takes the context's objects off a list. What comes back is to be walked along, not unlinked from.
 */
static struct object *extract(struct object **list, CUcontext c)
{
    struct object *found = NULL;
    for (struct object *o = *list, *next; o != NULL; o = next) {
        next = o->next;
        if (o->ctx != c)
            continue;
        LIST_REMOVE(o);
        LIST_INSERT(found, o);
    }
    return found;
}

static void free_all(struct object *list)
{
    for (struct object *o = list, *next; o != NULL; o = next) {
        next = o->next;
        texture_free(o);
    }
}

void textures_destroy(CUcontext c)
{
    pthread_mutex_lock(&all.lock);
    free_all(extract(&all.live, c));
    free_all(extract(&all.retired, c));
    pthread_mutex_unlock(&all.lock);
}

/* Once in a long while waits for the context's work, after which the descriptions of what was
 * destroyed before can be used again. */
static void reclaim(CUcontext c)
{
    pthread_mutex_lock(&all.lock);
    struct object *done = NULL;
    if (all.retirements >= RETIRED_MAX && !device_in_host_function()) {
        done = extract(&all.retired, c);
        all.retirements = 0;
    }
    pthread_mutex_unlock(&all.lock);
    if (done == NULL)
        return;
    context_wait(c);
    pthread_mutex_lock(&all.lock);
    free_all(done);
    pthread_mutex_unlock(&all.lock);
}

/* More free objects. Slabs double, so that there are few to look a handle up in. */
static void grow(void)
{
    struct slab *slab = &all.slabs[all.slab_count];
    slab->count = (size_t)SLAB_FIRST << all.slab_count;
    slab->items = xcalloc(slab->count, sizeof *slab->items);
    all.slab_count++;
    for (size_t n = 0; n < slab->count; n++)
        texture_free(&slab->items[n]);
}

/* A live copy of `made`. */
static uint64_t publish(const struct object *made)
{
    reclaim(made->ctx);
    pthread_mutex_lock(&all.lock);
    if (all.free == NULL)
        grow();
    struct object *o = all.free;
    LIST_REMOVE(o);
    *o = *made;
    o->live = true;
    LIST_INSERT(all.live, o);
    pthread_mutex_unlock(&all.lock);
    if (observed())
        observe_object_made(o->texture.tag == SURFACE_TAG ? OBSERVE_SURFACE : OBSERVE_TEXTURE, o);
    return (uint64_t)(uintptr_t)o;
}

/* The live object with this handle, NULL when there is none: the handle may be any number. The lock
 * is held. */
static struct object *texture_find(uint64_t handle, uint32_t tag)
{
    for (unsigned n = 0; n < all.slab_count; n++) {
        const struct slab *slab = &all.slabs[n];
        uint64_t offset = handle - (uint64_t)(uintptr_t)slab->items;
        if (offset >= slab->count * sizeof *slab->items || offset % sizeof *slab->items != 0)
            continue;
        struct object *o = &slab->items[offset / sizeof *slab->items];
        return o->live && o->texture.tag == tag ? o : NULL;
    }
    return NULL;
}

/* Copies the object with this handle, which the current context has; or, without `copy`, ends it,
 * whose ever it is: as on a GPU. */
static CUresult with(uint64_t handle, uint32_t tag, struct object *copy)
{
    CUcontext c;
    CU_TRY(driver_current(&c));
    pthread_mutex_lock(&all.lock);
    struct object *o = texture_find(handle, tag);
    if (o != NULL && copy != NULL && o->ctx != c) {
        o = NULL;
    } else if (o != NULL && copy != NULL) {
        *copy = *o;
    } else if (o != NULL) {
        LIST_REMOVE(o);
        o->live = false;
        if (observed())
            observe_object_ended(o);
        LIST_INSERT(all.retired, o);
        all.retirements++;
    }
    pthread_mutex_unlock(&all.lock);
    return o != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* ---- resources ---- */

static bool texel_of(CUarray_format format, unsigned channels, struct texture *t)
{
    switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8: t->type = TEXEL_U8; break;
    case CU_AD_FORMAT_SIGNED_INT8: t->type = TEXEL_S8; break;
    case CU_AD_FORMAT_UNSIGNED_INT16: t->type = TEXEL_U16; break;
    case CU_AD_FORMAT_SIGNED_INT16: t->type = TEXEL_S16; break;
    case CU_AD_FORMAT_UNSIGNED_INT32: t->type = TEXEL_U32; break;
    case CU_AD_FORMAT_SIGNED_INT32: t->type = TEXEL_S32; break;
    case CU_AD_FORMAT_HALF: t->type = TEXEL_F16; break;
    case CU_AD_FORMAT_FLOAT: t->type = TEXEL_F32; break;
    default: return false;
    }
    t->channels = (uint8_t)channels;
    t->element = (uint8_t)(texel_type_bytes((enum texel_type)t->type) * channels);
    return channels == 1 || channels == 2 || channels == 4;
}

static CUresult describe_array(CUarray a, struct texture *t)
{
    CU_TRY(array_check(a));
    const CUDA_ARRAY3D_DESCRIPTOR *d = &a->desc;
    if (!texel_of(d->Format, d->NumChannels, t))
        return CUDA_ERROR_INVALID_VALUE;
    t->base = (const uint8_t *)a->base;
    t->pitch = a->pitch;
    t->slice = a->slice;
    t->width = (uint32_t)d->Width;
    t->height = (uint32_t)at_least_one(d->Height);
    t->depth = (uint32_t)at_least_one(d->Depth);
    t->layered = (d->Flags & CUDA_ARRAY3D_LAYERED) != 0;
    t->cube = (d->Flags & CUDA_ARRAY3D_CUBEMAP) != 0;
    bool flat = t->layered || d->Depth == 0 || (d->Flags & CUDA_ARRAY3D_CUBEMAP);
    t->dimensions = d->Height == 0 ? 1 : flat ? 2 : 3;
    return CUDA_SUCCESS;
}

static CUresult describe_mipmap(CUmipmappedArray m, struct texture *t)
{
    CU_TRY(mipmap_check(m));
    CU_TRY(describe_array(m->level[0], t));
    t->mipmapped = true;
    t->levels = (uint8_t)m->levels;
    t->slices = t->depth;
    return CUDA_SUCCESS;
}

static size_t texture_limit(CUdevice_attribute which)
{
    int value = 0;
    cuDeviceGetAttribute(&value, which, 0);
    return (size_t)value;
}

static CUresult describe_linear(const CUDA_RESOURCE_DESC *d, struct texture *t)
{
    if (!texel_of(d->res.linear.format, d->res.linear.numChannels, t) ||
        d->res.linear.devPtr == 0 || d->res.linear.sizeInBytes < t->element)
        return CUDA_ERROR_INVALID_VALUE;
    if (d->res.linear.devPtr % texture_limit(CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT) != 0)
        return driver_error(CUDA_ERROR_INVALID_VALUE,
                            "a texture's memory must be aligned to %zu bytes",
                            texture_limit(CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT));
    size_t width = d->res.linear.sizeInBytes / t->element;
    if (width > texture_limit(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH))
        return CUDA_ERROR_INVALID_VALUE;
    t->base = (const uint8_t *)(uintptr_t)d->res.linear.devPtr;
    t->pitch = t->slice = width * t->element;
    t->width = (uint32_t)width;
    t->height = t->depth = t->dimensions = 1;
    t->buffer = true;
    return CUDA_SUCCESS;
}

static CUresult describe_pitched(const CUDA_RESOURCE_DESC *d, struct texture *t)
{
    size_t width = d->res.pitch2D.width, height = d->res.pitch2D.height;
    size_t pitch = d->res.pitch2D.pitchInBytes;
    if (!texel_of(d->res.pitch2D.format, d->res.pitch2D.numChannels, t) ||
        d->res.pitch2D.devPtr == 0 || width == 0 || height == 0 ||
        width > texture_limit(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_WIDTH) ||
        height > texture_limit(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_HEIGHT) ||
        pitch > texture_limit(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_PITCH))
        return CUDA_ERROR_INVALID_VALUE;
    if (d->res.pitch2D.devPtr % texture_limit(CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT) != 0 ||
        pitch % texture_limit(CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT) != 0)
        return driver_error(CUDA_ERROR_INVALID_VALUE,
                            "a texture's memory must be aligned to %zu bytes, its pitch to %zu",
                            texture_limit(CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT),
                            texture_limit(CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT));
    t->base = (const uint8_t *)(uintptr_t)d->res.pitch2D.devPtr;
    t->pitch = pitch;
    t->slice = pitch * height;
    t->width = (uint32_t)width;
    t->height = (uint32_t)height;
    t->depth = 1;
    t->dimensions = 2;
    t->pitched = true;
    return CUDA_SUCCESS;
}

CUresult texture_describe(const CUDA_RESOURCE_DESC *d, struct texture *t)
{
    if (d->flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    switch (d->resType) {
    case CU_RESOURCE_TYPE_ARRAY: return describe_array(d->res.array.hArray, t);
    case CU_RESOURCE_TYPE_LINEAR: return describe_linear(d, t);
    case CU_RESOURCE_TYPE_PITCH2D: return describe_pitched(d, t);
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY: return describe_mipmap(d->res.mipmap.hMipmappedArray, t);
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

/* ---- views ---- */

/* Formats of a view come in order: type by type, 1, 2 and 4 channels of each. */
static bool view_texel(CUresourceViewFormat format, struct texture *t)
{
    static const uint8_t type[] = {TEXEL_U8,  TEXEL_S8,  TEXEL_U16, TEXEL_S16,
                                   TEXEL_U32, TEXEL_S32, TEXEL_F16, TEXEL_F32};
    unsigned n = (unsigned)format - CU_RES_VIEW_FORMAT_UINT_1X8;
    unsigned channels = 1u << n % 3,
             bytes = texel_type_bytes((enum texel_type)type[n / 3]) * channels;
    t->type = type[n / 3];
    t->channels = (uint8_t)channels;
    return bytes == t->element;
}

/* The levels of a view; a texture of an array has one. */
static CUresult view_levels(const CUDA_RESOURCE_VIEW_DESC *v, struct texture *t)
{
    unsigned first = v->firstMipmapLevel, last = v->lastMipmapLevel, levels = t->levels;
    if (first > last || last > (t->mipmapped ? levels : 0)) /* one too many is taken for the last */
        return CUDA_ERROR_INVALID_VALUE;
    if (!t->mipmapped)
        return CUDA_SUCCESS;
    first = first < levels ? first : levels - 1;
    last = last < levels ? last : levels - 1;
    *t = texture_level(t, first);
    t->mipmapped = true;
    t->levels = (uint8_t)(last - first + 1);
    return CUDA_SUCCESS;
}

/* `a` is the array, or the first level. */
static CUresult apply_view(const CUDA_RESOURCE_VIEW_DESC *v, CUarray a, struct texture *t)
{
    if (v->format >= CU_RES_VIEW_FORMAT_UNSIGNED_BC1 &&
        v->format <= CU_RES_VIEW_FORMAT_UNSIGNED_BC7)
        return driver_error(CUDA_ERROR_NOT_SUPPORTED,
                            "block-compressed textures are not supported");
    if ((unsigned)v->format > CU_RES_VIEW_FORMAT_FLOAT_4X32)
        return CUDA_ERROR_INVALID_VALUE;
    if (v->format != CU_RES_VIEW_FORMAT_NONE && !view_texel(v->format, t))
        return CUDA_ERROR_INVALID_VALUE;
    if (v->width != a->desc.Width || v->height != a->desc.Height || v->depth != a->desc.Depth ||
        v->firstLayer > v->lastLayer)
        return CUDA_ERROR_INVALID_VALUE;
    CU_TRY(view_levels(v, t));
    if (v->lastLayer == 0)
        return CUDA_SUCCESS;
    if (!t->layered || v->lastLayer >= t->depth)
        return CUDA_ERROR_INVALID_VALUE;
    if (t->mipmapped)
        t->layer = v->firstLayer;
    else
        t->base += v->firstLayer * t->slice;
    t->depth = v->lastLayer - v->firstLayer + 1;
    return CUDA_SUCCESS;
}

/* ---- sampling ---- */

/* A clamp in 256ths of a level, cut off: what is no number is the highest. */
static int32_t clamp_of(float levels)
{
    float most = 16 - 1.0f / 256;
    return levels <= 0 ? 0 : (int32_t)((levels < most ? levels : most) * 256);
}

/* The bias likewise. */
static int32_t bias_of(float levels) { return levels < 0 ? -clamp_of(-levels) : clamp_of(levels); }

/* Coordinates are normalized, whether that is asked for, as documents want it, or not. */
static CUresult sample_levels(const CUDA_TEXTURE_DESC *d, struct texture *t)
{
    t->normalized = true;
    if ((unsigned)d->mipmapFilterMode > CU_TR_FILTER_MODE_LINEAR)
        return CUDA_ERROR_INVALID_VALUE;
    t->between_levels = d->mipmapFilterMode == CU_TR_FILTER_MODE_LINEAR;
    t->bias = bias_of(d->mipmapLevelBias);
    t->least = clamp_of(d->minMipmapLevelClamp);
    t->most = clamp_of(d->maxMipmapLevelClamp);
    t->anisotropy = (uint8_t)(d->maxAnisotropy < 1    ? 1
                              : d->maxAnisotropy > 16 ? 16
                                                      : d->maxAnisotropy);
    return CUDA_SUCCESS;
}

CUresult texture_sample(const CUDA_TEXTURE_DESC *d, struct texture *t)
{
    static const unsigned known = CU_TRSF_READ_AS_INTEGER | CU_TRSF_NORMALIZED_COORDINATES |
                                  CU_TRSF_SRGB | CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION |
                                  CU_TRSF_SEAMLESS_CUBEMAP;
    if ((d->flags & ~known) != 0 || (unsigned)d->filterMode > CU_TR_FILTER_MODE_LINEAR)
        return CUDA_ERROR_INVALID_VALUE;
    if (d->flags & CU_TRSF_SEAMLESS_CUBEMAP)
        return driver_error(CUDA_ERROR_NOT_SUPPORTED, "seamless cube maps are not supported");
    for (int n = 0; n < 3; n++) {
        if ((unsigned)d->addressMode[n] > CU_TR_ADDRESS_MODE_BORDER)
            return CUDA_ERROR_INVALID_VALUE;
        t->address[n] = (uint8_t)d->addressMode[n];
    }
    t->normalized = (d->flags & CU_TRSF_NORMALIZED_COORDINATES) != 0;
    t->linear = d->filterMode == CU_TR_FILTER_MODE_LINEAR;
    t->as_float = (d->flags & CU_TRSF_READ_AS_INTEGER) == 0;
    t->srgb = (d->flags & CU_TRSF_SRGB) != 0;
    texture_set_border(t, d->borderColor);
    if (t->mipmapped && t->linear && !texel_is_float(t))
        return driver_error(CUDA_ERROR_NOT_SUPPORTED,
                            "linear filtering of integers in mipmapped arrays is not supported");
    return t->mipmapped ? sample_levels(d, t) : CUDA_SUCCESS;
}

/* The array of a resource that was described, or the first level; NULL: linear memory. */
static CUarray array_of_resource(const CUDA_RESOURCE_DESC *d)
{
    return d->resType == CU_RESOURCE_TYPE_ARRAY ? d->res.array.hArray
           : d->resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY
               ? d->res.mipmap.hMipmappedArray->level[0]
               : NULL;
}

/* An array of another context is a peer's, of the same device, too: as on a GPU. */
static CUresult check_reach(CUcontext c, const CUDA_RESOURCE_DESC *d)
{
    CUarray a = array_of_resource(d);
    bool reached = a == NULL || a->ctx == c || (atomic_load(&c->peers) >> a->ctx->ordinal & 1) != 0;
    return reached ? CUDA_SUCCESS : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
}

WEIR_API CUresult cuTexObjectCreate(CUtexObject *out, const CUDA_RESOURCE_DESC *resource,
                                    const CUDA_TEXTURE_DESC *sampling,
                                    const CUDA_RESOURCE_VIEW_DESC *view)
{
    HOLD;
    CUcontext c;
    CU_TRY(driver_current(&c));
    if (out == NULL || resource == NULL || sampling == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    struct object o = {.texture = {.tag = TEXTURE_TAG},
                       .ctx = c,
                       .resource = *resource,
                       .sampling = *sampling,
                       .viewed = view != NULL};
    CUresult r = texture_describe(resource, &o.texture);
    if (r == CUDA_SUCCESS)
        r = check_reach(c, resource);
    if (r == CUDA_SUCCESS && view != NULL) {
        CUarray a = array_of_resource(resource);
        o.view = *view;
        r = a != NULL ? apply_view(view, a, &o.texture) : CUDA_ERROR_INVALID_VALUE;
    }
    if (r == CUDA_SUCCESS)
        r = texture_sample(sampling, &o.texture);
    if (r == CUDA_SUCCESS)
        *out = publish(&o);
    return r;
}

WEIR_API CUresult cuTexObjectDestroy(CUtexObject handle)
{
    HOLD;
    return with(handle, TEXTURE_TAG, NULL);
}

WEIR_API CUresult cuTexObjectGetResourceDesc(CUDA_RESOURCE_DESC *out, CUtexObject handle)
{
    HOLD;
    struct object o;
    CUresult r = out != NULL ? with(handle, TEXTURE_TAG, &o) : CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        *out = o.resource;
    return r;
}

WEIR_API CUresult cuTexObjectGetTextureDesc(CUDA_TEXTURE_DESC *out, CUtexObject handle)
{
    HOLD;
    struct object o;
    CUresult r = out != NULL ? with(handle, TEXTURE_TAG, &o) : CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        *out = o.sampling;
    return r;
}

WEIR_API CUresult cuTexObjectGetResourceViewDesc(CUDA_RESOURCE_VIEW_DESC *out, CUtexObject handle)
{
    HOLD;
    struct object o;
    CUresult r = out != NULL ? with(handle, TEXTURE_TAG, &o) : CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        *out = o.view; /* all zero when it was made without one */
    return r;
}

/* ---- surfaces ---- */

WEIR_API CUresult cuSurfObjectCreate(CUsurfObject *out, const CUDA_RESOURCE_DESC *resource)
{
    HOLD;
    CUcontext c;
    CU_TRY(driver_current(&c));
    if (out == NULL || resource == NULL || resource->resType != CU_RESOURCE_TYPE_ARRAY)
        return CUDA_ERROR_INVALID_VALUE;
    struct object o = {.texture = {.tag = SURFACE_TAG}, .ctx = c, .resource = *resource};
    CU_TRY(texture_describe(resource, &o.texture));
    CU_TRY(check_reach(c, resource));
    *out = publish(&o);
    return CUDA_SUCCESS;
}

WEIR_API CUresult cuSurfObjectDestroy(CUsurfObject handle)
{
    HOLD;
    return with(handle, SURFACE_TAG, NULL);
}

WEIR_API CUresult cuSurfObjectGetResourceDesc(CUDA_RESOURCE_DESC *out, CUsurfObject handle)
{
    HOLD;
    struct object o;
    CUresult r = out != NULL ? with(handle, SURFACE_TAG, &o) : CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        *out = o.resource;
    return r;
}
