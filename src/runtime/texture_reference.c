/* texture_reference: texture and surface variables of --legacy-api: what is bound to them, by the
 * driver's references of the same names. The variable on the host says how it is read; kernels see
 * what it said when something was bound. The functions have names of their own, by which
 * weir/legacy/api.h declares CUDA's. */
#include "runtime/program/registry.h"

#include "../../include/weir/legacy/types.h"

#include <stdio.h>
#include <string.h>

PUBLIC void __cudaRegisterTexture(void **fatCubinHandle, const void *hostVar,
                                  const void **deviceAddress, const char *deviceName, int dim,
                                  int norm, int ext)
{
    (void)deviceAddress, (void)dim;
    if (!ext)
        rt_binary_add_reference(rt_binary_of(fatCubinHandle), hostVar, deviceName, RT_TEXTURE,
                                norm != 0);
}

PUBLIC void __cudaRegisterSurface(void **fatCubinHandle, const void *hostVar,
                                  const void **deviceAddress, const char *deviceName, int dim,
                                  int ext)
{
    (void)deviceAddress, (void)dim;
    if (!ext)
        rt_binary_add_reference(rt_binary_of(fatCubinHandle), hostVar, deviceName, RT_SURFACE,
                                false);
}

/* The registered variable and its module. */
static cudaError_t find(const void *host, enum rt_variable_kind kind, struct rt_variable **out,
                        CUmodule *module)
{
    RT_TRY(rt_context());
    *out = rt_variable_find(host);
    RT_CHECK(*out != NULL && (*out)->kind == kind,
             kind == RT_TEXTURE ? cudaErrorInvalidTexture : cudaErrorInvalidSurface);
    return rt_binary_module((*out)->binary, module);
}

/* How a texture variable is read, for what is about to be bound. */
static cudaError_t set_reading(CUtexref ref, const struct rt_variable *v,
                               const struct textureReference *t,
                               const struct cudaChannelFormatDesc *c, bool linear)
{
    bool floats = c->f == cudaChannelFormatKindFloat;
    bool fractions = v->fractions || t->__weirFractions != 0;
    unsigned flags = 0;

    RT_CHECK(!fractions || (!floats && c->x <= 16), cudaErrorInvalidNormSetting);
    RT_CHECK(linear || t->filterMode != cudaFilterModeLinear || fractions || floats,
             cudaErrorInvalidFilterSetting);
    if (!fractions)
        flags |= CU_TRSF_READ_AS_INTEGER;
    if (t->normalized)
        flags |= CU_TRSF_NORMALIZED_COORDINATES;
    if (t->sRGB)
        flags |= CU_TRSF_SRGB;
    for (int i = 0; i < 3; i++)
        CU_TRY(CU(cuTexRefSetAddressMode, ref, i, (CUaddress_mode)t->addressMode[i]));
    CU_TRY(CU(cuTexRefSetFilterMode, ref, (CUfilter_mode)t->filterMode));
    CU_TRY(CU(cuTexRefSetFlags, ref, flags));
    return cudaSuccess;
}

/* The variable's reference in the current context, set to be read as the host says. */
static cudaError_t prepare(const struct textureReference *t,
                           const struct cudaChannelFormatDesc *desc, bool linear,
                           struct rt_variable **v, CUtexref *ref)
{
    CUmodule module;

    RT_CHECK(t != NULL && desc != NULL, cudaErrorInvalidValue);
    RT_TRY(find(t, RT_TEXTURE, v, &module));
    CU_TRY(CU(cuModuleGetTexRef, ref, module, (*v)->name));
    return set_reading(*ref, *v, t, desc, linear);
}

/* Programs that do not say how much is bound mean the allocation from there on. */
static cudaError_t clip(CUdeviceptr at, size_t *size)
{
    CUdeviceptr base;
    size_t whole;

    CU_TRY(CU(cuMemGetAddressRange_v2, &base, &whole, at));
    if (*size > base + whole - at)
        *size = base + whole - at;
    return cudaSuccess;
}

static cudaError_t bind_linear(size_t *offset, const struct textureReference *t, const void *memory,
                               const struct cudaChannelFormatDesc *desc, size_t size)
{
    CUdeviceptr at = (CUdeviceptr)memory;
    struct rt_variable *v;
    CUarray_format format;
    unsigned channels;
    CUtexref ref;

    RT_CHECK(memory != NULL, cudaErrorInvalidValue);
    RT_TRY(prepare(t, desc, true, &v, &ref));
    RT_TRY(rt_format_from_desc(desc, &format, &channels));
    RT_TRY(clip(at, &size));
    CU_TRY(CU(cuTexRefSetFormat, ref, format, (int)channels));
    v->offset = 0;
    CU_TRY(CU(cuTexRefSetAddress_v2, offset != NULL ? &v->offset : NULL, ref, at, size));
    if (offset != NULL)
        *offset = v->offset;
    return cudaSuccess;
}

PUBLIC cudaError_t __cudaWeirBindTexture(size_t *offset, const struct textureReference *texref,
                                         const void *devPtr,
                                         const struct cudaChannelFormatDesc *desc, size_t size)
{
    return done(bind_linear(offset, texref, devPtr, desc, size));
}

static cudaError_t bind_pitched(size_t *offset, const struct textureReference *t,
                                const void *memory, const struct cudaChannelFormatDesc *desc,
                                size_t width, size_t height, size_t pitch)
{
    CUDA_ARRAY_DESCRIPTOR d = {.Width = width, .Height = height};
    CUdeviceptr at = (CUdeviceptr)memory;
    struct rt_variable *v;
    int alignment = 1;
    CUtexref ref;

    RT_CHECK(memory != NULL, cudaErrorInvalidValue);
    RT_TRY(prepare(t, desc, false, &v, &ref));
    RT_TRY(rt_format_from_desc(desc, &d.Format, &d.NumChannels));
    CU_TRY(
        CU(cuDeviceGetAttribute, &alignment, CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, (CUdevice)0));
    v->offset = at % (unsigned)alignment;
    RT_CHECK(v->offset == 0 || offset != NULL, cudaErrorInvalidValue);
    if (v->offset != 0) /* the elements before `memory` are part of the first row */
        d.Width += v->offset / rt_format_bytes(d.Format, d.NumChannels);
    CU_TRY(CU(cuTexRefSetAddress2D_v3, ref, &d, at - v->offset, pitch));
    if (offset != NULL)
        *offset = v->offset;
    return cudaSuccess;
}

PUBLIC cudaError_t __cudaWeirBindTexture2D(size_t *offset, const struct textureReference *texref,
                                           const void *devPtr,
                                           const struct cudaChannelFormatDesc *desc, size_t width,
                                           size_t height, size_t pitch)
{
    return done(bind_pitched(offset, texref, devPtr, desc, width, height, pitch));
}

/* An array is bound as elements of its own kind. */
static cudaError_t check_channels(cudaArray_const_t array, const struct cudaChannelFormatDesc *desc)
{
    struct cudaChannelFormatDesc own;
    CUDA_ARRAY3D_DESCRIPTOR d;

    RT_CHECK(array != NULL, cudaErrorInvalidResourceHandle);
    RT_CHECK(desc != NULL, cudaErrorInvalidValue);
    RT_TRY(rt_array_describe(array, &d));
    RT_TRY(rt_desc_from_format(d.Format, d.NumChannels, &own));
    RT_CHECK(memcmp(&own, desc, sizeof own) == 0, cudaErrorInvalidChannelDescriptor);
    return cudaSuccess;
}

static cudaError_t bind_array(const struct textureReference *t, cudaArray_const_t array,
                              const struct cudaChannelFormatDesc *desc)
{
    struct rt_variable *v;
    CUtexref ref;

    RT_TRY(rt_context());
    RT_TRY(check_channels(array, desc));
    RT_TRY(prepare(t, desc, false, &v, &ref));
    v->offset = 0;
    CU_TRY(CU(cuTexRefSetArray, ref, (CUarray)array, CU_TRSA_OVERRIDE_FORMAT));
    return cudaSuccess;
}

PUBLIC cudaError_t __cudaWeirBindTextureToArray(const struct textureReference *texref,
                                                cudaArray_const_t array,
                                                const struct cudaChannelFormatDesc *desc)
{
    return done(bind_array(texref, array, desc));
}

static cudaError_t bind_mipmapped(const struct textureReference *t,
                                  cudaMipmappedArray_const_t array,
                                  const struct cudaChannelFormatDesc *desc)
{
    struct rt_variable *v;
    CUtexref ref;

    RT_TRY(prepare(t, desc, false, &v, &ref));
    CU_TRY(CU(cuTexRefSetMaxAnisotropy, ref, t->maxAnisotropy));
    CU_TRY(CU(cuTexRefSetMipmapFilterMode, ref, (CUfilter_mode)t->mipmapFilterMode));
    CU_TRY(CU(cuTexRefSetMipmapLevelBias, ref, t->mipmapLevelBias));
    CU_TRY(CU(cuTexRefSetMipmapLevelClamp, ref, t->minMipmapLevelClamp, t->maxMipmapLevelClamp));
    CU_TRY(CU(cuTexRefSetMipmappedArray, ref, (CUmipmappedArray)array, CU_TRSA_OVERRIDE_FORMAT));
    return cudaSuccess;
}

PUBLIC cudaError_t __cudaWeirBindTextureToMipmappedArray(const struct textureReference *texref,
                                                         cudaMipmappedArray_const_t mipmappedArray,
                                                         const struct cudaChannelFormatDesc *desc)
{
    return done(bind_mipmapped(texref, mipmappedArray, desc));
}

static cudaError_t unbind(const struct textureReference *t)
{
    struct rt_variable *v;
    CUmodule module;
    CUtexref ref;
    size_t past;

    RT_TRY(find(t, RT_TEXTURE, &v, &module));
    CU_TRY(CU(cuModuleGetTexRef, &ref, module, v->name));
    CU_TRY(CU(cuTexRefSetAddress_v2, &past, ref, 0, 0));
    v->offset = 0;
    return cudaSuccess;
}

PUBLIC cudaError_t __cudaWeirUnbindTexture(const struct textureReference *texref)
{
    return done(unbind(texref));
}

static cudaError_t alignment_offset(size_t *offset, const struct textureReference *t)
{
    struct rt_variable *v;
    CUmodule module;

    RT_CHECK(offset != NULL, cudaErrorInvalidValue);
    RT_TRY(find(t, RT_TEXTURE, &v, &module));
    *offset = v->offset;
    return cudaSuccess;
}

PUBLIC cudaError_t __cudaWeirGetTextureAlignmentOffset(size_t *offset,
                                                       const struct textureReference *texref)
{
    return done(alignment_offset(offset, texref));
}

/* The variable of that address, or of that name, as programs before CUDA 5 ask. */
static cudaError_t reference_of(const void **out, const void *symbol, enum rt_variable_kind kind)
{
    struct rt_variable *v = rt_variable_find(symbol);

    RT_CHECK(out != NULL, cudaErrorInvalidValue);
    if (v == NULL && symbol != NULL)
        v = rt_variable_named(symbol);
    RT_CHECK(v != NULL && v->kind == kind,
             kind == RT_TEXTURE ? cudaErrorInvalidTexture : cudaErrorInvalidSurface);
    *out = v->host;
    return cudaSuccess;
}

PUBLIC cudaError_t __cudaWeirGetTextureReference(const struct textureReference **texref,
                                                 const void *symbol)
{
    return done(reference_of((const void **)texref, symbol, RT_TEXTURE));
}

PUBLIC cudaError_t __cudaWeirGetSurfaceReference(const struct surfaceReference **surfref,
                                                 const void *symbol)
{
    return done(reference_of((const void **)surfref, symbol, RT_SURFACE));
}

static cudaError_t bind_surface(const struct surfaceReference *s, cudaArray_const_t array,
                                const struct cudaChannelFormatDesc *desc)
{
    struct rt_variable *v;
    CUmodule module;
    CUsurfref ref;

    RT_TRY(find(s, RT_SURFACE, &v, &module));
    RT_TRY(check_channels(array, desc));
    CU_TRY(CU(cuModuleGetSurfRef, &ref, module, v->name));
    CU_TRY(CU(cuSurfRefSetArray, ref, (CUarray)array, 0));
    return cudaSuccess;
}

PUBLIC cudaError_t __cudaWeirBindSurfaceToArray(const struct surfaceReference *surfref,
                                                cudaArray_const_t array,
                                                const struct cudaChannelFormatDesc *desc)
{
    return done(bind_surface(surfref, array, desc));
}

/* What `*symbol` is of: itself a variable of the device, the address of one, or the name. */
PUBLIC const void *__cudaWeirSymbolNamed(const char *const *symbol)
{
    struct rt_variable *v = rt_variable_find(symbol);

    if (v == NULL)
        v = rt_variable_find(*symbol);
    if (v == NULL && *symbol != NULL)
        v = rt_variable_named(*symbol);
    return v != NULL ? v->host : *symbol;
}
