/* texture/reference: texture and surface references: variables of a module (.texref, .surfref) that
 * the program binds to arrays and memory by name, as was done before there were objects.
 *
 * A reference holds what the program said of it, piece by piece and in any order, and the
 * description that kernels read, made of these pieces again whenever one changes. A kernel sees the
 * binding of its launch: a change waits for what the context was given before. What is not bound,
 * or bound to elements of another format, gives zeros, as on a GPU. */
#include <stdlib.h>
#include <string.h>

#include "driver/objects.h"
#include "texture/texture.h"

enum bound { BOUND_NOT, BOUND_ARRAY, BOUND_MIPMAP, BOUND_LINEAR, BOUND_PITCHED };

/* A texture reference; a surface reference uses the first fields only. */
struct reference {
    uint32_t tag;           /* TAG_TEXTURE_REF, TAG_SURFACE_REF */
    CUcontext ctx;          /* in which it was made */
    bool of_module;         /* whose kernels read it; or else nobody's (cuTexRefCreate) */
    struct texture texture; /* what kernels read: its address is the variable's */
    enum bound bound;
    CUarray array;              /* BOUND_ARRAY */
    CUmipmappedArray mipmap;    /* BOUND_MIPMAP */
    CUdeviceptr memory;         /* BOUND_LINEAR, BOUND_PITCHED: aligned for textures */
    size_t bytes;               /* BOUND_LINEAR */
    size_t width, height;       /* BOUND_PITCHED: elements and rows */
    size_t pitch;               /* likewise: bytes */
    CUarray_format format;      /* of elements, */
    int channels;               /* and how many of it each has */
    CUDA_TEXTURE_DESC sampling; /* addressing, filters, flags, border */
};

struct CUtexref_st {
    struct reference r;
};
struct CUsurfref_st {
    struct reference r;
};

/* ---- what kernels read ---- */

static const float zeros[4];

/* A texture of one element, 0; a surface without any. */
static struct texture nothing(bool surface)
{
    uint32_t n = surface ? 0 : 1;
    return (struct texture){.tag = surface ? SURFACE_TAG : TEXTURE_TAG,
                            .type = TEXEL_F32,
                            .channels = 4,
                            .element = sizeof zeros,
                            .base = (const uint8_t *)zeros,
                            .width = n,
                            .height = n,
                            .depth = n,
                            .dimensions = 1,
                            .as_float = true,
                            .address = {ADDRESS_CLAMP, ADDRESS_CLAMP, ADDRESS_CLAMP},
                            .pitch = sizeof zeros,
                            .slice = sizeof zeros};
}

static CUDA_RESOURCE_DESC reference_resource(const struct reference *r)
{
    CUDA_RESOURCE_DESC d = {.resType = CU_RESOURCE_TYPE_ARRAY};
    d.res.array.hArray = r->array;
    if (r->bound == BOUND_MIPMAP) {
        d.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
        d.res.mipmap.hMipmappedArray = r->mipmap;
    } else if (r->bound == BOUND_LINEAR) {
        d.resType = CU_RESOURCE_TYPE_LINEAR;
        d.res.linear.devPtr = r->memory;
        d.res.linear.format = r->format;
        d.res.linear.numChannels = (unsigned)r->channels;
        d.res.linear.sizeInBytes = r->bytes;
    } else if (r->bound == BOUND_PITCHED) {
        d.resType = CU_RESOURCE_TYPE_PITCH2D;
        d.res.pitch2D.devPtr = r->memory;
        d.res.pitch2D.format = r->format;
        d.res.pitch2D.numChannels = (unsigned)r->channels;
        d.res.pitch2D.width = r->width;
        d.res.pitch2D.height = r->height;
        d.res.pitch2D.pitchInBytes = r->pitch;
    }
    return d;
}

/* What the reference, as it is described by now, is for kernels. */
static struct texture describe(const struct reference *r)
{
    bool surface = r->tag == TAG_SURFACE_REF;
    struct texture t = {.tag = surface ? SURFACE_TAG : TEXTURE_TAG};
    CUDA_RESOURCE_DESC d = reference_resource(r);
    CUDA_TEXTURE_DESC sampling = r->sampling;
    if (sampling.filterMode != CU_TR_FILTER_MODE_LINEAR) /* kept as it was given */
        sampling.filterMode = CU_TR_FILTER_MODE_POINT;
    CUarray a = r->bound == BOUND_ARRAY && handle_live(r->array, TAG_ARRAY) ? r->array
                : r->bound == BOUND_MIPMAP && handle_live(r->mipmap, TAG_MIPMAP)
                    ? r->mipmap->level[0]
                    : NULL;
    bool other = a != NULL && !surface &&
                 (a->desc.Format != r->format || a->desc.NumChannels != (unsigned)r->channels);
    if (r->bound == BOUND_NOT || other || texture_describe(&d, &t) != CUDA_SUCCESS ||
        (!surface && texture_sample(&sampling, &t) != CUDA_SUCCESS))
        return nothing(surface);
    return t;
}

/* Takes over a changed reference: kernels that were launched before have ended by then. */
static CUresult change(struct reference *r, const struct reference *to)
{
    struct reference made = *to;
    made.texture = describe(&made);
    if (r->of_module && memcmp(&made.texture, &r->texture, sizeof made.texture) != 0) {
        if (device_in_host_function())
            return driver_error(CUDA_ERROR_NOT_PERMITTED,
                                "a texture reference cannot be changed by a host function");
        if (context_wait(r->ctx) == CUDA_ERROR_CONTEXT_IS_DESTROYED)
            return CUDA_ERROR_CONTEXT_IS_DESTROYED; /* and the reference with it */
    }
    *r = made;
    return CUDA_SUCCESS;
}

/* ---- life ---- */

static struct reference *make_of_reference(uint32_t tag, CUcontext c, bool of_module)
{
    struct reference *r = handle_new(tag, sizeof *r);
    r->ctx = c;
    r->of_module = of_module;
    r->format = CU_AD_FORMAT_FLOAT;
    r->channels = 1;
    for (int n = 0; n < 3; n++)
        r->sampling.addressMode[n] = CU_TR_ADDRESS_MODE_CLAMP;
    r->texture = describe(r);
    return r;
}

static struct reference *of_variable(uint64_t address)
{
    return (struct reference *)(uintptr_t)(address - offsetof(struct reference, texture));
}

CUresult reference_make(CUcontext c, const struct ptx_var *v, uint64_t *address)
{
    if (v->type == PTX_SAMPLERREF)
        return driver_error(CUDA_ERROR_NOT_SUPPORTED,
                            "line %d: %s: variables of type .samplerref are not supported", v->line,
                            v->name);
    if (v->size != 8)
        return driver_error(CUDA_ERROR_NOT_SUPPORTED,
                            "line %d: %s: arrays of texture references are not supported", v->line,
                            v->name);
    uint32_t tag = v->type == PTX_TEXREF ? TAG_TEXTURE_REF : TAG_SURFACE_REF;
    *address = (uint64_t)(uintptr_t)&make_of_reference(tag, c, true)->texture;
    return CUDA_SUCCESS;
}

void reference_free(uint64_t address) { handle_free(of_variable(address)); }

/* The module's reference of that name and type. */
static CUresult reference_find(CUmodule m, const char *name, unsigned type, struct reference **out)
{
    CUcontext c;
    CU_TRY(HANDLE_CONTEXT(m, TAG_MODULE, &c));
    if (name == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    const struct ptx_var *v = ptx_find_var(m->ptx, name);
    if (v == NULL || v->type != type || m->var_address[v->index] == 0)
        return driver_error(CUDA_ERROR_NOT_FOUND, "the module has no %s named %s",
                            type == PTX_TEXREF ? "texture reference" : "surface reference", name);
    *out = of_variable(m->var_address[v->index]);
    return CUDA_SUCCESS;
}

WEIR_API CUresult cuModuleGetTexRef(CUtexref *out, CUmodule m, const char *name)
{
    HOLD;
    struct reference *ref;
    CUresult r = out != NULL ? reference_find(m, name, PTX_TEXREF, &ref) : CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        *out = (CUtexref)ref;
    return r;
}

WEIR_API CUresult cuModuleGetSurfRef(CUsurfref *out, CUmodule m, const char *name)
{
    HOLD;
    struct reference *ref;
    CUresult r =
        out != NULL ? reference_find(m, name, PTX_SURFREF, &ref) : CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        *out = (CUsurfref)ref;
    return r;
}

WEIR_API CUresult cuTexRefCreate(CUtexref *out)
{
    HOLD;
    CUcontext c;
    CUresult r = driver_current(&c);
    if (r == CUDA_SUCCESS && out == NULL)
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        *out = (CUtexref)make_of_reference(TAG_TEXTURE_REF, c, false);
    return r;
}

/* A reference that is one. */
static CUresult reference_check(const struct reference *r, uint32_t tag)
{
    return handle_live(r, tag) ? driver_context(r->ctx) : driver_no_handle();
}

static CUresult check_texture(CUtexref t)
{
    return t != NULL ? reference_check(&t->r, TAG_TEXTURE_REF) : driver_no_handle();
}

static CUresult check_surface(CUsurfref s)
{
    return s != NULL ? reference_check(&s->r, TAG_SURFACE_REF) : driver_no_handle();
}

WEIR_API CUresult cuTexRefDestroy(CUtexref t)
{
    HOLD;
    CUresult r = check_texture(t);
    if (r != CUDA_SUCCESS)
        return r;
    if (t->r.of_module)
        return driver_error(CUDA_ERROR_INVALID_VALUE, "a module's texture reference ends with it");
    handle_free(t);
    return CUDA_SUCCESS;
}

/* The reference is the module's from the start: there is nothing to hand to the kernel. */
WEIR_API CUresult cuParamSetTexRef(CUfunction f, int unit, CUtexref t)
{
    HOLD;
    CUresult r = check_texture(t);
    if (r == CUDA_SUCCESS && !handle_live(f, TAG_FUNCTION))
        r = CUDA_ERROR_INVALID_HANDLE;
    if (r == CUDA_SUCCESS && unit != CU_PARAM_TR_DEFAULT)
        r = CUDA_ERROR_INVALID_VALUE;
    return r;
}

/* ---- binding ---- */

static size_t reference_limit(CUdevice_attribute which)
{
    int value = 0;
    cuDeviceGetAttribute(&value, which, 0);
    return (size_t)value;
}

/* With `format` the reference's elements become what the array's are; else they must be already. */
static CUresult bind_array(struct reference *ref, CUarray a, bool format)
{
    CU_TRY(array_check(a));
    struct reference to = *ref;
    to.bound = BOUND_ARRAY;
    to.array = a;
    if (format) {
        to.format = a->desc.Format;
        to.channels = (int)a->desc.NumChannels;
    }
    return change(ref, &to);
}

WEIR_API CUresult cuTexRefSetArray(CUtexref t, CUarray a, unsigned int flags)
{
    HOLD;
    CUresult r = check_texture(t);
    if (r == CUDA_SUCCESS && (flags & ~(unsigned)CU_TRSA_OVERRIDE_FORMAT) != 0)
        r = CUDA_ERROR_INVALID_VALUE;
    return r == CUDA_SUCCESS ? bind_array(&t->r, a, flags != 0) : r;
}

WEIR_API CUresult cuTexRefSetMipmappedArray(CUtexref t, CUmipmappedArray a, unsigned int flags)
{
    HOLD;
    CU_TRY(check_texture(t));
    if ((flags & ~(unsigned)CU_TRSA_OVERRIDE_FORMAT) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    CU_TRY(mipmap_check(a));
    struct reference to = t->r;
    to.bound = BOUND_MIPMAP;
    to.mipmap = a;
    if (flags != 0) {
        to.format = a->level[0]->desc.Format;
        to.channels = (int)a->level[0]->desc.NumChannels;
    }
    return change(&t->r, &to);
}

/* Memory starts at the aligned address at or below `at`, and `offset` is how far `at` is from it;
 * without `offset` it must be aligned itself. */
WEIR_API CUresult cuTexRefSetAddress_v2(size_t *offset, CUtexref t, CUdeviceptr at, size_t bytes)
{
    HOLD;
    CUresult r = check_texture(t);
    if (r != CUDA_SUCCESS)
        return r;
    size_t past = at % reference_limit(CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT);
    size_t elements = reference_limit(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH);
    if ((offset == NULL && past != 0) || bytes > elements * 16)
        return CUDA_ERROR_INVALID_VALUE;
    struct reference to = t->r;
    to.bound = at != 0 ? BOUND_LINEAR : BOUND_NOT;
    to.memory = at - past;
    to.bytes = bytes + past;
    r = change(&t->r, &to);
    if (r == CUDA_SUCCESS && offset != NULL)
        *offset = past;
    return r;
}

WEIR_API CUresult cuTexRefSetAddress2D_v3(CUtexref t, const CUDA_ARRAY_DESCRIPTOR *d,
                                          CUdeviceptr at, size_t pitch)
{
    HOLD;
    CUresult r = check_texture(t);
    if (r != CUDA_SUCCESS)
        return r;
    if (d == NULL || at % reference_limit(CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT) != 0 ||
        pitch % reference_limit(CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    struct reference to = t->r;
    to.bound = at != 0 ? BOUND_PITCHED : BOUND_NOT;
    to.memory = at;
    to.width = d->Width;
    to.height = d->Height;
    to.pitch = pitch;
    to.format = d->Format;
    to.channels = (int)d->NumChannels;
    return change(&t->r, &to);
}

WEIR_API CUresult cuSurfRefSetArray(CUsurfref s, CUarray a, unsigned int flags)
{
    HOLD;
    CUresult r = check_surface(s);
    if (r == CUDA_SUCCESS)
        r = array_check(a);
    if (r == CUDA_SUCCESS && (flags != 0 || !(a->desc.Flags & CUDA_ARRAY3D_SURFACE_LDST)))
        r = CUDA_ERROR_INVALID_VALUE;
    return r == CUDA_SUCCESS ? bind_array(&s->r, a, true) : r;
}

/* ---- how it is read ---- */

/* A setting of a texture reference: `cond` is what it must be, `...` what it does to `to`. */
#define SET(name, params, cond, ...)                                                               \
    WEIR_API CUresult name params                                                                  \
    {                                                                                              \
        HOLD;                                                                                      \
        CUresult r = check_texture(t);                                                             \
        if (r != CUDA_SUCCESS)                                                                     \
            return r;                                                                              \
        if (!(cond))                                                                               \
            return CUDA_ERROR_INVALID_VALUE;                                                       \
        struct reference to = t->r;                                                                \
        __VA_ARGS__;                                                                               \
        return change(&t->r, &to);                                                                 \
    }

enum {
    FLAGS_KNOWN = CU_TRSF_READ_AS_INTEGER | CU_TRSF_NORMALIZED_COORDINATES | CU_TRSF_SRGB |
                  CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION,
};

SET(cuTexRefSetFormat, (CUtexref t, CUarray_format format, int channels),
    channels == 0 || channels == 1 || channels == 2 || channels == 4, to.format = format;
    to.channels = channels)
SET(cuTexRefSetAddressMode, (CUtexref t, int dim, CUaddress_mode mode), dim >= 0 && dim < 3,
    to.sampling.addressMode[dim] = mode <= CU_TR_ADDRESS_MODE_BORDER ? mode
                                                                     : CU_TR_ADDRESS_MODE_CLAMP)
SET(cuTexRefSetFilterMode, (CUtexref t, CUfilter_mode mode), true, to.sampling.filterMode = mode)
SET(cuTexRefSetFlags, (CUtexref t, unsigned int flags), (flags & ~(unsigned)FLAGS_KNOWN) == 0,
    to.sampling.flags = flags)
SET(cuTexRefSetBorderColor, (CUtexref t, float *color), color != NULL,
    memcpy(to.sampling.borderColor, color, sizeof to.sampling.borderColor))
/* Of mipmapped arrays. */
SET(cuTexRefSetMaxAnisotropy, (CUtexref t, unsigned int n), true, to.sampling.maxAnisotropy = n)
SET(cuTexRefSetMipmapFilterMode, (CUtexref t, CUfilter_mode mode), true,
    to.sampling.mipmapFilterMode = mode)
SET(cuTexRefSetMipmapLevelBias, (CUtexref t, float bias), true, to.sampling.mipmapLevelBias = bias)
SET(cuTexRefSetMipmapLevelClamp, (CUtexref t, float least, float most), true,
    to.sampling.minMipmapLevelClamp = least;
    to.sampling.maxMipmapLevelClamp = most)

/* Reads it back: `cond` is what must be, `...` what is written. */
#define GET(name, params, cond, ...)                                                               \
    WEIR_API CUresult name params                                                                  \
    {                                                                                              \
        HOLD;                                                                                      \
        CUresult r = check_texture(t);                                                             \
        if (r == CUDA_SUCCESS && !(cond))                                                          \
            r = CUDA_ERROR_INVALID_VALUE;                                                          \
        if (r == CUDA_SUCCESS) {                                                                   \
            __VA_ARGS__;                                                                           \
        }                                                                                          \
        return r;                                                                                  \
    }

GET(cuTexRefGetFormat, (CUarray_format * format, int *channels, CUtexref t), true,
    if (format != NULL) *format = t->r.format;
    if (channels != NULL) *channels = t->r.channels)
GET(cuTexRefGetAddressMode, (CUaddress_mode * mode, CUtexref t, int dim),
    mode != NULL && dim >= 0 && dim < 3, *mode = t->r.sampling.addressMode[dim])
GET(cuTexRefGetFilterMode, (CUfilter_mode * mode, CUtexref t), mode != NULL,
    *mode = t->r.sampling.filterMode)
GET(cuTexRefGetFlags, (unsigned int *flags, CUtexref t), flags != NULL,
    *flags = t->r.sampling.flags)
GET(cuTexRefGetBorderColor, (float *color, CUtexref t), color != NULL,
    memcpy(color, t->r.sampling.borderColor, sizeof t->r.sampling.borderColor))
GET(cuTexRefGetMaxAnisotropy, (int *n, CUtexref t), n != NULL,
    *n = (int)t->r.sampling.maxAnisotropy)
GET(cuTexRefGetMipmapFilterMode, (CUfilter_mode * mode, CUtexref t), mode != NULL,
    *mode = t->r.sampling.mipmapFilterMode)
GET(cuTexRefGetMipmapLevelBias, (float *bias, CUtexref t), bias != NULL,
    *bias = t->r.sampling.mipmapLevelBias)
GET(cuTexRefGetMipmapLevelClamp, (float *least, float *most, CUtexref t),
    least != NULL && most != NULL, *least = t->r.sampling.minMipmapLevelClamp;
    *most = t->r.sampling.maxMipmapLevelClamp)
GET(cuTexRefGetAddress_v2, (CUdeviceptr * at, CUtexref t),
    at != NULL && (t->r.bound == BOUND_LINEAR || t->r.bound == BOUND_PITCHED), *at = t->r.memory)
GET(cuTexRefGetArray, (CUarray * a, CUtexref t), a != NULL && t->r.bound == BOUND_ARRAY,
    *a = t->r.array)

GET(cuTexRefGetMipmappedArray, (CUmipmappedArray * a, CUtexref t),
    a != NULL && t->r.bound == BOUND_MIPMAP, *a = t->r.mipmap)

WEIR_API CUresult cuSurfRefGetArray(CUarray *a, CUsurfref s)
{
    HOLD;
    CUresult r = check_surface(s);
    if (r == CUDA_SUCCESS && (a == NULL || s->r.bound != BOUND_ARRAY))
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        *a = s->r.array;
    return r;
}
