/* texture: texture and surface objects: the runtime's descriptions in the driver's words, and back.
 */
#include "runtime/internal.h"

#include <string.h>

static cudaError_t resource_to_driver(const struct cudaResourceDesc *in, CUDA_RESOURCE_DESC *out)
{
    unsigned channels;

    memset(out, 0, sizeof *out);
    out->flags = in->flags;
    switch (in->resType) {
    case cudaResourceTypeArray:
        out->resType = CU_RESOURCE_TYPE_ARRAY;
        out->res.array.hArray = (CUarray)in->res.array.array;
        return cudaSuccess;
    case cudaResourceTypeMipmappedArray:
        out->resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
        out->res.mipmap.hMipmappedArray = (CUmipmappedArray)in->res.mipmap.mipmap;
        return cudaSuccess;
    case cudaResourceTypeLinear:
        out->resType = CU_RESOURCE_TYPE_LINEAR;
        out->res.linear.devPtr = (CUdeviceptr)in->res.linear.devPtr;
        out->res.linear.sizeInBytes = in->res.linear.sizeInBytes;
        RT_TRY(rt_format_from_desc(&in->res.linear.desc, &out->res.linear.format, &channels));
        out->res.linear.numChannels = channels;
        return cudaSuccess;
    case cudaResourceTypePitch2D:
        out->resType = CU_RESOURCE_TYPE_PITCH2D;
        out->res.pitch2D.devPtr = (CUdeviceptr)in->res.pitch2D.devPtr;
        out->res.pitch2D.width = in->res.pitch2D.width;
        out->res.pitch2D.height = in->res.pitch2D.height;
        out->res.pitch2D.pitchInBytes = in->res.pitch2D.pitchInBytes;
        RT_TRY(rt_format_from_desc(&in->res.pitch2D.desc, &out->res.pitch2D.format, &channels));
        out->res.pitch2D.numChannels = channels;
        return cudaSuccess;
    default: return cudaErrorInvalidValue;
    }
}

static cudaError_t resource_from_driver(const CUDA_RESOURCE_DESC *in, struct cudaResourceDesc *out)
{
    memset(out, 0, sizeof *out);
    out->flags = in->flags;
    switch (in->resType) {
    case CU_RESOURCE_TYPE_ARRAY:
        out->resType = cudaResourceTypeArray;
        out->res.array.array = (cudaArray_t)in->res.array.hArray;
        return cudaSuccess;
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
        out->resType = cudaResourceTypeMipmappedArray;
        out->res.mipmap.mipmap = (cudaMipmappedArray_t)in->res.mipmap.hMipmappedArray;
        return cudaSuccess;
    case CU_RESOURCE_TYPE_LINEAR:
        out->resType = cudaResourceTypeLinear;
        out->res.linear.devPtr = (void *)in->res.linear.devPtr;
        out->res.linear.sizeInBytes = in->res.linear.sizeInBytes;
        return rt_desc_from_format(in->res.linear.format, in->res.linear.numChannels,
                                   &out->res.linear.desc);
    case CU_RESOURCE_TYPE_PITCH2D:
        out->resType = cudaResourceTypePitch2D;
        out->res.pitch2D.devPtr = (void *)in->res.pitch2D.devPtr;
        out->res.pitch2D.width = in->res.pitch2D.width;
        out->res.pitch2D.height = in->res.pitch2D.height;
        out->res.pitch2D.pitchInBytes = in->res.pitch2D.pitchInBytes;
        return rt_desc_from_format(in->res.pitch2D.format, in->res.pitch2D.numChannels,
                                   &out->res.pitch2D.desc);
    default: return cudaErrorUnknown;
    }
}

static void texture_to_driver(const struct cudaTextureDesc *in, CUDA_TEXTURE_DESC *out)
{
    memset(out, 0, sizeof *out);
    for (int i = 0; i < 3; i++)
        out->addressMode[i] = (CUaddress_mode)in->addressMode[i];
    out->filterMode = (CUfilter_mode)in->filterMode;
    if (in->readMode == cudaReadModeElementType)
        out->flags |= CU_TRSF_READ_AS_INTEGER;
    if (in->normalizedCoords)
        out->flags |= CU_TRSF_NORMALIZED_COORDINATES;
    if (in->sRGB)
        out->flags |= CU_TRSF_SRGB;
    if (in->disableTrilinearOptimization)
        out->flags |= CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION;
    if (in->seamlessCubemap)
        out->flags |= CU_TRSF_SEAMLESS_CUBEMAP;
    out->maxAnisotropy = in->maxAnisotropy;
    out->mipmapFilterMode = (CUfilter_mode)in->mipmapFilterMode;
    out->mipmapLevelBias = in->mipmapLevelBias;
    out->minMipmapLevelClamp = in->minMipmapLevelClamp;
    out->maxMipmapLevelClamp = in->maxMipmapLevelClamp;
    memcpy(out->borderColor, in->borderColor, sizeof out->borderColor);
}

static void texture_from_driver(const CUDA_TEXTURE_DESC *in, struct cudaTextureDesc *out)
{
    memset(out, 0, sizeof *out);
    for (int i = 0; i < 3; i++)
        out->addressMode[i] = (enum cudaTextureAddressMode)in->addressMode[i];
    out->filterMode = (enum cudaTextureFilterMode)in->filterMode;
    out->readMode =
        in->flags & CU_TRSF_READ_AS_INTEGER ? cudaReadModeElementType : cudaReadModeNormalizedFloat;
    out->normalizedCoords = !!(in->flags & CU_TRSF_NORMALIZED_COORDINATES);
    out->sRGB = !!(in->flags & CU_TRSF_SRGB);
    out->disableTrilinearOptimization = !!(in->flags & CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION);
    out->seamlessCubemap = !!(in->flags & CU_TRSF_SEAMLESS_CUBEMAP);
    out->maxAnisotropy = in->maxAnisotropy;
    out->mipmapFilterMode = (enum cudaTextureFilterMode)in->mipmapFilterMode;
    out->mipmapLevelBias = in->mipmapLevelBias;
    out->minMipmapLevelClamp = in->minMipmapLevelClamp;
    out->maxMipmapLevelClamp = in->maxMipmapLevelClamp;
    memcpy(out->borderColor, in->borderColor, sizeof out->borderColor);
}

/* The two view descriptions have the same fields in the same order. */
_Static_assert(sizeof(struct cudaResourceViewDesc) == sizeof(CUDA_RESOURCE_VIEW_DESC),
               "same layout");

/* ---- textures ---- */

static cudaError_t describe_first_level(cudaMipmappedArray_const_t array,
                                        CUDA_ARRAY3D_DESCRIPTOR *out)
{
    CUarray level;

    RT_TRY(rt_context());
    CU_TRY(CU(cuMipmappedArrayGetLevel, &level, (CUmipmappedArray)array, 0));
    return rt_array_describe((cudaArray_const_t)level, out);
}

/* The channels of a resource's elements; none where there is no such resource. */
static struct cudaChannelFormatDesc channels_of(const struct cudaResourceDesc *resource)
{
    struct cudaChannelFormatDesc none = {0}, found;
    CUDA_ARRAY3D_DESCRIPTOR d;

    switch (resource->resType) {
    case cudaResourceTypeArray:
        return resource->res.array.array != NULL &&
                       rt_array_describe(resource->res.array.array, &d) == cudaSuccess &&
                       rt_desc_from_format(d.Format, d.NumChannels, &found) == cudaSuccess
                   ? found
                   : none;
    case cudaResourceTypeMipmappedArray:
        return describe_first_level(resource->res.mipmap.mipmap, &d) == cudaSuccess &&
                       rt_desc_from_format(d.Format, d.NumChannels, &found) == cudaSuccess
                   ? found
                   : none;
    case cudaResourceTypeLinear: return resource->res.linear.desc;
    case cudaResourceTypePitch2D: return resource->res.pitch2D.desc;
    default: return none;
    }
}

/* Only integers of 8 and 16 bits can be read as fractions, and only what is read as floats can be
 * filtered. */
static cudaError_t check_reads(const struct cudaResourceDesc *resource,
                               const struct cudaTextureDesc *texture)
{
    struct cudaChannelFormatDesc c = channels_of(resource);
    bool integers = c.f == cudaChannelFormatKindSigned || c.f == cudaChannelFormatKindUnsigned;
    bool fractions = texture->readMode == cudaReadModeNormalizedFloat;

    RT_CHECK(c.x == 0 || !fractions || (integers && c.x <= 16), cudaErrorInvalidNormSetting);
    RT_CHECK(c.x == 0 || texture->filterMode != cudaFilterModeLinear || fractions || !integers ||
                 resource->resType == cudaResourceTypeLinear,
             cudaErrorInvalidFilterSetting);
    return cudaSuccess;
}

/* The driver calls a missing array an invalid value. */
static cudaError_t check_array(const struct cudaResourceDesc *r)
{
    RT_CHECK(r->resType != cudaResourceTypeArray || r->res.array.array != NULL,
             cudaErrorInvalidResourceHandle);
    RT_CHECK(r->resType != cudaResourceTypeMipmappedArray || r->res.mipmap.mipmap != NULL,
             cudaErrorInvalidResourceHandle);
    return cudaSuccess;
}

static cudaError_t create_texture(cudaTextureObject_t *object,
                                  const struct cudaResourceDesc *resource,
                                  const struct cudaTextureDesc *texture,
                                  const struct cudaResourceViewDesc *view)
{
    CUDA_RESOURCE_DESC r;
    CUDA_TEXTURE_DESC t;

    RT_CHECK(resource, cudaErrorInvalidValue);
    RT_CHECK(texture, cudaErrorInvalidResourceHandle);
    RT_TRY(check_array(resource));
    RT_CHECK(object, cudaErrorInvalidValue);
    RT_TRY(resource_to_driver(resource, &r));
    RT_TRY(check_reads(resource, texture));
    texture_to_driver(texture, &t);
    RT_TRY(rt_context());
    CU_TRY(CU(cuTexObjectCreate, object, &r, &t, (const CUDA_RESOURCE_VIEW_DESC *)view));
    return cudaSuccess;
}

PUBLIC cudaError_t cudaCreateTextureObject(cudaTextureObject_t *pTexObject,
                                           const struct cudaResourceDesc *pResDesc,
                                           const struct cudaTextureDesc *pTexDesc,
                                           const struct cudaResourceViewDesc *pResViewDesc)
{
    return done(create_texture(pTexObject, pResDesc, pTexDesc, pResViewDesc));
}

static cudaError_t destroy_texture(cudaTextureObject_t object)
{
    RT_TRY(rt_context());
    if (object)
        CU_TRY(CU(cuTexObjectDestroy, object));
    return cudaSuccess;
}

PUBLIC cudaError_t cudaDestroyTextureObject(cudaTextureObject_t texObject)
{
    return done(destroy_texture(texObject));
}

static cudaError_t texture_resource(struct cudaResourceDesc *out, cudaTextureObject_t object)
{
    CUDA_RESOURCE_DESC r;

    RT_CHECK(out, cudaErrorInvalidValue);
    RT_TRY(rt_context());
    CU_TRY(CU(cuTexObjectGetResourceDesc, &r, object));
    return resource_from_driver(&r, out);
}

PUBLIC cudaError_t cudaGetTextureObjectResourceDesc(struct cudaResourceDesc *pResDesc,
                                                    cudaTextureObject_t texObject)
{
    return done(texture_resource(pResDesc, texObject));
}

static cudaError_t texture_desc(struct cudaTextureDesc *out, cudaTextureObject_t object)
{
    CUDA_TEXTURE_DESC t;

    RT_CHECK(out, cudaErrorInvalidResourceHandle);
    RT_TRY(rt_context());
    CU_TRY(CU(cuTexObjectGetTextureDesc, &t, object));
    texture_from_driver(&t, out);
    return cudaSuccess;
}

PUBLIC cudaError_t cudaGetTextureObjectTextureDesc(struct cudaTextureDesc *pTexDesc,
                                                   cudaTextureObject_t texObject)
{
    return done(texture_desc(pTexDesc, texObject));
}

static cudaError_t texture_view(struct cudaResourceViewDesc *out, cudaTextureObject_t object)
{
    RT_TRY(rt_context());
    if (out != NULL)
        CU_TRY(CU(cuTexObjectGetResourceViewDesc, (CUDA_RESOURCE_VIEW_DESC *)out, object));
    return cudaSuccess;
}

PUBLIC cudaError_t cudaGetTextureObjectResourceViewDesc(struct cudaResourceViewDesc *pResViewDesc,
                                                        cudaTextureObject_t texObject)
{
    return done(texture_view(pResViewDesc, texObject));
}

/* ---- surfaces ---- */

static cudaError_t create_surface(cudaSurfaceObject_t *object,
                                  const struct cudaResourceDesc *resource)
{
    CUDA_RESOURCE_DESC r;

    RT_CHECK(object != NULL && resource != NULL, cudaErrorInvalidValue);
    RT_TRY(check_array(resource));
    RT_TRY(resource_to_driver(resource, &r));
    RT_TRY(rt_context());
    CU_TRY(CU(cuSurfObjectCreate, object, &r));
    return cudaSuccess;
}

PUBLIC cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t *pSurfObject,
                                           const struct cudaResourceDesc *pResDesc)
{
    return done(create_surface(pSurfObject, pResDesc));
}

static cudaError_t destroy_surface(cudaSurfaceObject_t object)
{
    RT_TRY(rt_context());
    if (object)
        CU_TRY(CU(cuSurfObjectDestroy, object));
    return cudaSuccess;
}

PUBLIC cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t surfObject)
{
    return done(destroy_surface(surfObject));
}

static cudaError_t surface_resource(struct cudaResourceDesc *out, cudaSurfaceObject_t object)
{
    CUDA_RESOURCE_DESC r;

    RT_CHECK(out, cudaErrorInvalidDevice); /* sic */
    RT_TRY(rt_context());
    CU_TRY(CU(cuSurfObjectGetResourceDesc, &r, object));
    return resource_from_driver(&r, out);
}

PUBLIC cudaError_t cudaGetSurfaceObjectResourceDesc(struct cudaResourceDesc *pResDesc,
                                                    cudaSurfaceObject_t surfObject)
{
    return done(surface_resource(pResDesc, surfObject));
}
