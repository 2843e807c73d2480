/* memory: allocating and freeing it on either side, and asking what an address is. */
#include "runtime/driver/gpu.h"
#include "runtime/internal.h"

#include <stdint.h>
#include <string.h>

/* ---- device memory ---- */

static cudaError_t device_alloc(void **ptr, size_t size)
{
    RT_CHECK(ptr, cudaErrorInvalidValue);
    RT_TRY(rt_context());
    if (size == 0)
        *ptr = NULL;
    else
        CU_TRY(CU(cuMemAlloc_v2, (CUdeviceptr *)ptr, size));
    return cudaSuccess;
}

PUBLIC cudaError_t cudaMalloc(void **devPtr, size_t size)
{
    RT_CALLED(cudaMalloc);
    return done(device_alloc(devPtr, size));
}

/* The driver aligns rows for accesses of up to 16 bytes. */
enum { PITCH_ELEMENT = 16 };

static cudaError_t pitch_alloc(void **ptr, size_t *pitch, size_t width, size_t height)
{
    RT_CHECK(ptr != NULL && pitch != NULL, cudaErrorInvalidValue);
    RT_TRY(rt_context());
    if (width == 0 || height == 0) {
        *ptr = NULL;
        *pitch = 0;
        return cudaSuccess;
    }
    CU_TRY(CU(cuMemAllocPitch_v2, (CUdeviceptr *)ptr, pitch, width, height, PITCH_ELEMENT));
    return cudaSuccess;
}

PUBLIC cudaError_t cudaMallocPitch(void **devPtr, size_t *pitch, size_t width, size_t height)
{
    RT_CALLED(cudaMallocPitch);
    return done(pitch_alloc(devPtr, pitch, width, height));
}

static cudaError_t alloc_3d(struct cudaPitchedPtr *out, struct cudaExtent extent)
{
    size_t rows;

    RT_CHECK(out, cudaErrorInvalidValue);
    if (__builtin_mul_overflow(extent.height, extent.depth, &rows))
        rows = SIZE_MAX; /* for which there is no memory */
    RT_TRY(pitch_alloc(&out->ptr, &out->pitch, extent.width, rows));
    out->xsize = extent.width;
    out->ysize = extent.height;
    return cudaSuccess;
}

PUBLIC cudaError_t cudaMalloc3D(struct cudaPitchedPtr *pitchedDevPtr, struct cudaExtent extent)
{
    RT_CALLED(cudaMalloc3D);
    return done(alloc_3d(pitchedDevPtr, extent));
}

static cudaError_t device_free(void *ptr)
{
    RT_TRY(ptr == NULL ? rt_healthy() : rt_context());
    /* nothing is freed like anything else: not while a stream is captured */
    CU_TRY(CU(cuMemFree_v2, (CUdeviceptr)ptr));
    return cudaSuccess;
}

PUBLIC cudaError_t cudaFree(void *devPtr)
{
    RT_CALLED(cudaFree);
    return done(device_free(devPtr));
}

static cudaError_t info(size_t *free, size_t *total)
{
    size_t unused;

    /* either may be NULL, as on a GPU */
    RT_TRY(rt_context());
    CU_TRY(CU(cuMemGetInfo_v2, free != NULL ? free : &unused, total != NULL ? total : &unused));
    return cudaSuccess;
}

PUBLIC cudaError_t cudaMemGetInfo(size_t *free, size_t *total) { return done(info(free, total)); }

/* ---- host memory ---- */

static cudaError_t host_alloc(void **ptr, size_t size, unsigned flags)
{
    const unsigned known = cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined;

    RT_CHECK(ptr, cudaErrorInvalidValue);
    RT_TRY(rt_context());
    *ptr = NULL;
    if (size == 0) /* then flags do not matter */
        return cudaSuccess;
    RT_CHECK(!(flags & ~known), cudaErrorInvalidValue);
    CU_TRY(CU(cuMemHostAlloc, ptr, size, flags));
    return cudaSuccess;
}

PUBLIC cudaError_t cudaMallocHost(void **ptr, size_t size)
{
    RT_CALLED(cudaMallocHost);
    return done(host_alloc(ptr, size, cudaHostAllocDefault));
}

PUBLIC cudaError_t cudaHostAlloc(void **pHost, size_t size, unsigned int flags)
{
    RT_CALLED(cudaHostAlloc);
    return done(host_alloc(pHost, size, flags));
}

static cudaError_t host_free(void *ptr)
{
    if (ptr == NULL)
        return rt_healthy();
    RT_TRY(rt_context());
    CU_TRY(CU(cuMemFreeHost, ptr));
    return cudaSuccess;
}

PUBLIC cudaError_t cudaFreeHost(void *ptr)
{
    RT_CALLED(cudaFreeHost);
    return done(host_free(ptr));
}

static cudaError_t host_register(void *ptr, size_t size, unsigned flags)
{
    const unsigned known = cudaHostRegisterPortable | cudaHostRegisterMapped |
                           cudaHostRegisterIoMemory | cudaHostRegisterReadOnly;

    RT_CHECK(ptr != NULL && size && !(flags & ~known), cudaErrorInvalidValue);
    RT_TRY(rt_context());
    CU_TRY(CU(cuMemHostRegister_v2, ptr, size, flags));
    return cudaSuccess;
}

PUBLIC cudaError_t cudaHostRegister(void *ptr, size_t size, unsigned int flags)
{
    RT_CALLED(cudaHostRegister);
    return done(host_register(ptr, size, flags));
}

static cudaError_t host_unregister(void *ptr)
{
    RT_CHECK(ptr, cudaErrorInvalidValue);
    RT_TRY(rt_context());
    CU_TRY(CU(cuMemHostUnregister, ptr));
    return cudaSuccess;
}

PUBLIC cudaError_t cudaHostUnregister(void *ptr)
{
    RT_CALLED(cudaHostUnregister);
    return done(host_unregister(ptr));
}

static cudaError_t host_device_pointer(void **device, void *host, unsigned flags)
{
    RT_CHECK(device != NULL && host != NULL && flags == 0, cudaErrorInvalidValue);
    RT_TRY(rt_context());
    CU_TRY(CU(cuMemHostGetDevicePointer_v2, (CUdeviceptr *)device, host, 0));
    return cudaSuccess;
}

PUBLIC cudaError_t cudaHostGetDevicePointer(void **pDevice, void *pHost, unsigned int flags)
{
    return done(host_device_pointer(pDevice, pHost, flags));
}

static cudaError_t host_flags(unsigned *flags, void *host)
{
    RT_CHECK(flags != NULL && host != NULL, cudaErrorInvalidValue);
    RT_TRY(rt_context());
    CU_TRY(CU(cuMemHostGetFlags, flags, host));
    return cudaSuccess;
}

PUBLIC cudaError_t cudaHostGetFlags(unsigned int *pFlags, void *pHost)
{
    return done(host_flags(pFlags, pHost));
}

/* ---- managed memory ---- */

static cudaError_t managed_alloc(void **ptr, size_t size, unsigned flags)
{
    RT_CHECK(ptr, cudaErrorInvalidValue);
    *ptr = NULL;
    RT_CHECK(flags == cudaMemAttachGlobal || flags == cudaMemAttachHost, cudaErrorInvalidValue);
    RT_TRY(rt_context());
    if (size == 0) /* nothing is wanted, and nothing is wrong with that */
        return cudaSuccess;
    CU_TRY(CU(cuMemAllocManaged, (CUdeviceptr *)ptr, size, flags));
    return cudaSuccess;
}

PUBLIC cudaError_t cudaMallocManaged(void **devPtr, size_t size, unsigned int flags)
{
    RT_CALLED(cudaMallocManaged);
    return done(managed_alloc(devPtr, size, flags));
}

/* The two APIs say where memory is in the same words. */
_Static_assert(sizeof(struct cudaMemLocation) == sizeof(CUmemLocation), "same layout");

static CUmemLocation driver_location(struct cudaMemLocation location)
{
    CUmemLocation out;

    memcpy(&out, &location, sizeof out);
    return out;
}

static cudaError_t prefetch(const void *ptr, size_t count, struct cudaMemLocation location,
                            unsigned flags, cudaStream_t stream)
{
    RT_CHECK(ptr != NULL && count && flags == 0, cudaErrorInvalidValue);
    RT_TRY(rt_context());
    CU_TRY(
        CU(cuMemPrefetchAsync_v2, (CUdeviceptr)ptr, count, driver_location(location), 0, stream));
    return cudaSuccess;
}

STREAM_API(cudaMemPrefetchAsync,
           (const void *devPtr, size_t count, struct cudaMemLocation location, unsigned flags,
            cudaStream_t stream),
           prefetch(devPtr, count, location, flags, stream))

static cudaError_t advise(const void *ptr, size_t count, enum cudaMemoryAdvise advice,
                          struct cudaMemLocation location)
{
    RT_CHECK(ptr != NULL && count, cudaErrorInvalidValue);
    RT_TRY(rt_context());
    CU_TRY(CU(cuMemAdvise_v2, (CUdeviceptr)ptr, count, (CUmem_advise)advice,
              driver_location(location)));
    return cudaSuccess;
}

PUBLIC cudaError_t cudaMemAdvise(const void *devPtr, size_t count, enum cudaMemoryAdvise advice,
                                 struct cudaMemLocation location)
{
    return done(advise(devPtr, count, advice, location));
}

static cudaError_t range_attribute(void *data, size_t size, enum cudaMemRangeAttribute attribute,
                                   const void *ptr, size_t count)
{
    RT_CHECK(data != NULL && ptr != NULL && count, cudaErrorInvalidValue);
    RT_TRY(rt_context());
    CU_TRY(CU(cuMemRangeGetAttribute, data, size, (CUmem_range_attribute)attribute,
              (CUdeviceptr)ptr, count));
    return cudaSuccess;
}

PUBLIC cudaError_t cudaMemRangeGetAttribute(void *data, size_t dataSize,
                                            enum cudaMemRangeAttribute attribute,
                                            const void *devPtr, size_t count)
{
    return done(range_attribute(data, dataSize, attribute, devPtr, count));
}

static cudaError_t range_attributes(void **data, size_t *sizes,
                                    enum cudaMemRangeAttribute *attributes, size_t n,
                                    const void *ptr, size_t count)
{
    RT_CHECK(data != NULL && sizes != NULL && attributes != NULL && n && ptr != NULL && count,
             cudaErrorInvalidValue);
    RT_TRY(rt_context());
    CU_TRY(CU(cuMemRangeGetAttributes, data, sizes, (CUmem_range_attribute *)attributes, n,
              (CUdeviceptr)ptr, count));
    return cudaSuccess;
}

PUBLIC cudaError_t cudaMemRangeGetAttributes(void **data, size_t *dataSizes,
                                             enum cudaMemRangeAttribute *attributes,
                                             size_t numAttributes, const void *devPtr, size_t count)
{
    return done(range_attributes(data, dataSizes, attributes, numAttributes, devPtr, count));
}

/* ---- what an address is ---- */

static cudaError_t describe(struct cudaPointerAttributes *out, const void *ptr)
{
    CUmemorytype type = 0;
    CUdeviceptr device_pointer = 0;
    void *host_pointer = NULL;
    unsigned managed = 0;
    int ordinal = cudaInvalidDeviceId;
    CUpointer_attribute names[] = {
        CU_POINTER_ATTRIBUTE_MEMORY_TYPE,    CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
        CU_POINTER_ATTRIBUTE_HOST_POINTER,   CU_POINTER_ATTRIBUTE_IS_MANAGED,
        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
    };
    void *values[] = {&type, &device_pointer, &host_pointer, &managed, &ordinal};

    RT_CHECK(out, cudaErrorInvalidValue);
    RT_TRY(rt_context());
    /* Answers for any address: for one that it does not know every value is zero. */
    CU_TRY(CU(cuPointerGetAttributes, COUNT(names), names, values, (CUdeviceptr)ptr));
    managed = managed || (rt_on_gpu() && rt_in_managed_section(ptr));
    memset(out, 0, sizeof *out);
    out->device = cudaInvalidDeviceId;
    if (type == 0) {
        out->type = cudaMemoryTypeUnregistered;
        out->devicePointer = (void *)device_pointer;
        out->hostPointer = (void *)ptr;
        return cudaSuccess;
    }
    out->type = managed                        ? cudaMemoryTypeManaged
                : type == CU_MEMORYTYPE_DEVICE ? cudaMemoryTypeDevice
                                               : cudaMemoryTypeHost;
    out->device = ordinal;
    out->devicePointer = (void *)device_pointer;
    out->hostPointer = host_pointer;
    return cudaSuccess;
}

PUBLIC cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes,
                                            const void *ptr)
{
    return done(describe(attributes, ptr));
}
