/* array: CUDA arrays: memory laid out for textures, described by a channel format. */
#include "runtime/internal.h"

/* ---- formats ---- */

static const struct {
    enum cudaChannelFormatKind kind;
    int bits; /* of a channel */
    CUarray_format format;
} formats[] = {
    {cudaChannelFormatKindUnsigned, 8, CU_AD_FORMAT_UNSIGNED_INT8},
    {cudaChannelFormatKindUnsigned, 16, CU_AD_FORMAT_UNSIGNED_INT16},
    {cudaChannelFormatKindUnsigned, 32, CU_AD_FORMAT_UNSIGNED_INT32},
    {cudaChannelFormatKindSigned, 8, CU_AD_FORMAT_SIGNED_INT8},
    {cudaChannelFormatKindSigned, 16, CU_AD_FORMAT_SIGNED_INT16},
    {cudaChannelFormatKindSigned, 32, CU_AD_FORMAT_SIGNED_INT32},
    {cudaChannelFormatKindFloat, 16, CU_AD_FORMAT_HALF},
    {cudaChannelFormatKindFloat, 32, CU_AD_FORMAT_FLOAT},
};

cudaError_t rt_format_from_desc(const struct cudaChannelFormatDesc *desc, CUarray_format *format,
                                unsigned *channels)
{
    const int bits[4] = {desc->x, desc->y, desc->z, desc->w};
    unsigned n = 0;

    while (n < 4 && bits[n] == bits[0] && bits[n] > 0)
        n++;
    for (unsigned i = n; i < 4; i++)
        RT_CHECK(bits[i] == 0, cudaErrorInvalidChannelDescriptor);
    RT_CHECK(n == 1 || n == 2 || n == 4, cudaErrorInvalidChannelDescriptor);
    for (size_t i = 0; i < COUNT(formats); i++)
        if (formats[i].kind == desc->f && formats[i].bits == bits[0]) {
            *format = formats[i].format;
            *channels = n;
            return cudaSuccess;
        }
    return cudaErrorInvalidChannelDescriptor;
}

cudaError_t rt_desc_from_format(CUarray_format format, unsigned channels,
                                struct cudaChannelFormatDesc *desc)
{
    for (size_t i = 0; i < COUNT(formats); i++)
        if (formats[i].format == format) {
            int bits = formats[i].bits;
            *desc = (struct cudaChannelFormatDesc){bits, channels > 1 ? bits : 0,
                                                   channels > 2 ? bits : 0, channels > 3 ? bits : 0,
                                                   formats[i].kind};
            return cudaSuccess;
        }
    return cudaErrorInvalidChannelDescriptor;
}

size_t rt_format_bytes(CUarray_format format, unsigned channels)
{
    for (size_t i = 0; i < COUNT(formats); i++)
        if (formats[i].format == format)
            return (size_t)formats[i].bits / 8 * channels;
    return 0;
}

PUBLIC struct cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w,
                                                          enum cudaChannelFormatKind f)
{
    return (struct cudaChannelFormatDesc){x, y, z, w, f};
}

/* ---- arrays ---- */

cudaError_t rt_array_describe(cudaArray_const_t array, CUDA_ARRAY3D_DESCRIPTOR *out)
{
    RT_TRY(rt_context());
    CU_TRY(CU(cuArray3DGetDescriptor_v2, out, (CUarray)array));
    return cudaSuccess;
}

static cudaError_t fill_descriptor(CUDA_ARRAY3D_DESCRIPTOR *d,
                                   const struct cudaChannelFormatDesc *desc,
                                   struct cudaExtent extent, unsigned flags)
{
    unsigned channels;

    RT_TRY(rt_format_from_desc(desc, &d->Format, &channels));
    d->NumChannels = channels;
    d->Width = extent.width;
    d->Height = extent.height;
    d->Depth = extent.depth;
    d->Flags = flags;
    return cudaSuccess;
}

static cudaError_t create(cudaArray_t *array, const struct cudaChannelFormatDesc *desc,
                          struct cudaExtent extent, unsigned flags)
{
    CUDA_ARRAY3D_DESCRIPTOR d = {0};

    RT_CHECK(array != NULL && desc != NULL, cudaErrorInvalidValue);
    *array = NULL; /* and stays so when the array is refused */
    RT_TRY(fill_descriptor(&d, desc, extent, flags));
    RT_TRY(rt_context());
    CU_TRY(CU(cuArray3DCreate_v2, (CUarray *)array, &d));
    return cudaSuccess;
}

PUBLIC cudaError_t cudaMallocArray(cudaArray_t *array, const struct cudaChannelFormatDesc *desc,
                                   size_t width, size_t height, unsigned int flags)
{
    RT_CALLED(cudaMallocArray);
    return done(create(array, desc, (struct cudaExtent){width, height, 0}, flags));
}

PUBLIC cudaError_t cudaMalloc3DArray(cudaArray_t *array, const struct cudaChannelFormatDesc *desc,
                                     struct cudaExtent extent, unsigned int flags)
{
    RT_CALLED(cudaMalloc3DArray);
    return done(create(array, desc, extent, flags));
}

static cudaError_t destroy(cudaArray_t array)
{
    RT_TRY(rt_context());
    if (array != NULL)
        CU_TRY(CU(cuArrayDestroy, (CUarray)array));
    return cudaSuccess;
}

PUBLIC cudaError_t cudaFreeArray(cudaArray_t array)
{
    RT_CALLED(cudaFreeArray);
    return done(destroy(array));
}

static cudaError_t get_info(struct cudaChannelFormatDesc *desc, struct cudaExtent *extent,
                            unsigned *flags, cudaArray_t array)
{
    CUDA_ARRAY3D_DESCRIPTOR d;

    RT_CHECK(array, cudaErrorInvalidResourceHandle);
    RT_TRY(rt_array_describe(array, &d));
    if (desc != NULL)
        RT_TRY(rt_desc_from_format(d.Format, d.NumChannels, desc));
    if (extent != NULL)
        *extent = (struct cudaExtent){d.Width, d.Height, d.Depth};
    if (flags != NULL)
        *flags = d.Flags;
    return cudaSuccess;
}

PUBLIC cudaError_t cudaArrayGetInfo(struct cudaChannelFormatDesc *desc, struct cudaExtent *extent,
                                    unsigned int *flags, cudaArray_t array)
{
    return done(get_info(desc, extent, flags, array));
}

PUBLIC cudaError_t cudaGetChannelDesc(struct cudaChannelFormatDesc *desc, cudaArray_const_t array)
{
    if (desc == NULL)
        return done(cudaErrorInvalidValue);
    return done(get_info(desc, NULL, NULL, (cudaArray_t)array));
}

/* The driver's structures have the same layouts. */
_Static_assert(sizeof(struct cudaArrayMemoryRequirements) == sizeof(CUDA_ARRAY_MEMORY_REQUIREMENTS),
               "same layout");
_Static_assert(sizeof(struct cudaArraySparseProperties) == sizeof(CUDA_ARRAY_SPARSE_PROPERTIES),
               "same layout");

static cudaError_t memory_requirements(struct cudaArrayMemoryRequirements *out, cudaArray_t array,
                                       int device)
{
    CUdevice handle;

    RT_CHECK(out != NULL && array != NULL, cudaErrorInvalidValue);
    RT_CHECK(rt_check_device(device, &handle) == cudaSuccess, cudaErrorInvalidValue);
    RT_TRY(rt_context());
    CU_TRY(CU(cuArrayGetMemoryRequirements, (CUDA_ARRAY_MEMORY_REQUIREMENTS *)out, (CUarray)array,
              handle));
    return cudaSuccess;
}

PUBLIC cudaError_t cudaArrayGetMemoryRequirements(
    struct cudaArrayMemoryRequirements *memoryRequirements, cudaArray_t array, int device)
{
    return done(memory_requirements(memoryRequirements, array, device));
}

static cudaError_t sparse_properties(struct cudaArraySparseProperties *out, cudaArray_t array)
{
    RT_CHECK(out != NULL && array != NULL, cudaErrorInvalidValue);
    RT_TRY(rt_context());
    CU_TRY(CU(cuArrayGetSparseProperties, (CUDA_ARRAY_SPARSE_PROPERTIES *)out, (CUarray)array));
    return cudaSuccess;
}

PUBLIC cudaError_t cudaArrayGetSparseProperties(struct cudaArraySparseProperties *sparseProperties,
                                                cudaArray_t array)
{
    return done(sparse_properties(sparseProperties, array));
}

static cudaError_t get_plane(cudaArray_t *plane, cudaArray_t array, unsigned index)
{
    RT_CHECK(plane, cudaErrorInvalidValue);
    RT_CHECK(array, cudaErrorInvalidResourceHandle);
    RT_TRY(rt_context());
    CU_TRY(CU(cuArrayGetPlane, (CUarray *)plane, (CUarray)array, index));
    return cudaSuccess;
}

PUBLIC cudaError_t cudaArrayGetPlane(cudaArray_t *pPlaneArray, cudaArray_t hArray,
                                     unsigned int planeIdx)
{
    return done(get_plane(pPlaneArray, hArray, planeIdx));
}

/* ---- mipmaps ---- */

static cudaError_t create_mipmap(cudaMipmappedArray_t *array,
                                 const struct cudaChannelFormatDesc *desc, struct cudaExtent extent,
                                 unsigned levels, unsigned flags)
{
    CUDA_ARRAY3D_DESCRIPTOR d = {0};

    RT_CHECK(array != NULL && desc != NULL && extent.width, cudaErrorInvalidValue);
    RT_TRY(fill_descriptor(&d, desc, extent, flags));
    RT_TRY(rt_context());
    CU_TRY(CU(cuMipmappedArrayCreate, (CUmipmappedArray *)array, &d, levels));
    return cudaSuccess;
}

PUBLIC cudaError_t cudaMallocMipmappedArray(cudaMipmappedArray_t *mipmappedArray,
                                            const struct cudaChannelFormatDesc *desc,
                                            struct cudaExtent extent, unsigned int numLevels,
                                            unsigned int flags)
{
    RT_CALLED(cudaMallocMipmappedArray);
    return done(create_mipmap(mipmappedArray, desc, extent, numLevels, flags));
}

static cudaError_t get_level(cudaArray_t *level, cudaMipmappedArray_const_t array, unsigned index)
{
    RT_CHECK(level, cudaErrorInvalidValue);
    RT_CHECK(array, cudaErrorInvalidResourceHandle);
    RT_TRY(rt_context());
    CU_TRY(CU(cuMipmappedArrayGetLevel, (CUarray *)level, (CUmipmappedArray)array, index));
    return cudaSuccess;
}

PUBLIC cudaError_t cudaGetMipmappedArrayLevel(cudaArray_t *levelArray,
                                              cudaMipmappedArray_const_t mipmappedArray,
                                              unsigned int level)
{
    return done(get_level(levelArray, mipmappedArray, level));
}

static cudaError_t destroy_mipmap(cudaMipmappedArray_t array)
{
    RT_TRY(rt_context());
    if (array != NULL)
        CU_TRY(CU(cuMipmappedArrayDestroy, (CUmipmappedArray)array));
    return cudaSuccess;
}

PUBLIC cudaError_t cudaFreeMipmappedArray(cudaMipmappedArray_t mipmappedArray)
{
    RT_CALLED(cudaFreeMipmappedArray);
    return done(destroy_mipmap(mipmappedArray));
}

static cudaError_t mipmap_requirements(struct cudaArrayMemoryRequirements *out,
                                       cudaMipmappedArray_t array, int device)
{
    CUdevice handle;

    RT_CHECK(out != NULL && array != NULL, cudaErrorInvalidValue);
    RT_CHECK(rt_check_device(device, &handle) == cudaSuccess, cudaErrorInvalidValue);
    RT_TRY(rt_context());
    CU_TRY(CU(cuMipmappedArrayGetMemoryRequirements, (CUDA_ARRAY_MEMORY_REQUIREMENTS *)out,
              (CUmipmappedArray)array, handle));
    return cudaSuccess;
}

PUBLIC cudaError_t cudaMipmappedArrayGetMemoryRequirements(
    struct cudaArrayMemoryRequirements *memoryRequirements, cudaMipmappedArray_t mipmap, int device)
{
    return done(mipmap_requirements(memoryRequirements, mipmap, device));
}

static cudaError_t mipmap_sparse(struct cudaArraySparseProperties *out, cudaMipmappedArray_t array)
{
    RT_CHECK(out != NULL && array != NULL, cudaErrorInvalidValue);
    RT_TRY(rt_context());
    CU_TRY(CU(cuMipmappedArrayGetSparseProperties, (CUDA_ARRAY_SPARSE_PROPERTIES *)out,
              (CUmipmappedArray)array));
    return cudaSuccess;
}

PUBLIC cudaError_t cudaMipmappedArrayGetSparseProperties(
    struct cudaArraySparseProperties *sparseProperties, cudaMipmappedArray_t mipmap)
{
    return done(mipmap_sparse(sparseProperties, mipmap));
}
