/* pool: the stream-ordered allocator: passed on to the driver, whose layouts and numbers are the
 * same. */
#include "runtime/internal.h"

_Static_assert(sizeof(struct cudaMemPoolProps) == sizeof(CUmemPoolProps), "same layout");
_Static_assert(sizeof(struct cudaMemAccessDesc) == sizeof(CUmemAccessDesc), "same layout");
_Static_assert(sizeof(struct cudaMemPoolPtrExportData) == sizeof(CUmemPoolPtrExportData),
               "same layout");

/* Allocates from the pool, or the current one when it is NULL. */
static CUresult alloc_plain(void **ptr, size_t size, cudaMemPool_t pool, cudaStream_t stream)
{
    return pool != NULL ? CU(cuMemAllocFromPoolAsync, (CUdeviceptr *)ptr, size, pool, stream)
                        : CU(cuMemAllocAsync, (CUdeviceptr *)ptr, size, stream);
}

/* Weir's driver is told who calls, for fault reports (see RT_CALLED); others just called.
 */
static __attribute__((noinline)) cudaError_t alloc_again(void **ptr, size_t size,
                                                         cudaMemPool_t pool, cudaStream_t stream,
                                                         enum weir_call call, const void *caller,
                                                         CUresult first)
{
    if (first == CUDA_ERROR_INVALID_CONTEXT || first == CUDA_ERROR_NOT_INITIALIZED) {
        RT_TRY(rt_context());
        first =
            (CUresult)CU(weir_alloc_async, (CUdeviceptr *)ptr, size, pool, stream, call, caller);
    }
    if (!RT_HAS(weir_alloc_async))
        WITH_CONTEXT(alloc_plain(ptr, size, pool, stream));
    CU_TRY(first);
    return cudaSuccess;
}

static inline cudaError_t alloc(void **ptr, size_t size, cudaMemPool_t pool, cudaStream_t stream,
                                enum weir_call call, const void *caller)
{
    RT_CHECK(ptr, cudaErrorInvalidValue);
    if (__builtin_expect(rt_was_reset(), 0)) /* the device may not have come back */
        RT_TRY(rt_context());
    CUresult first =
        (CUresult)CU(weir_alloc_async, (CUdeviceptr *)ptr, size, pool, stream, call, caller);
    return LIKELY(first == CUDA_SUCCESS)
               ? cudaSuccess
               : alloc_again(ptr, size, pool, stream, call, caller, first);
}

static inline cudaError_t alloc_from_pool(void **ptr, size_t size, cudaMemPool_t pool,
                                          cudaStream_t stream, const void *caller)
{
    if (pool == NULL && ptr != NULL)
        *ptr = NULL;
    RT_CHECK(pool, cudaErrorInvalidValue);
    return alloc(ptr, size, pool, stream, WEIR_CALL_cudaMallocFromPoolAsync, caller);
}

static __attribute__((noinline)) cudaError_t free_again(void *ptr, cudaStream_t stream,
                                                        const void *caller, CUresult first)
{
    if (first == CUDA_ERROR_INVALID_CONTEXT || first == CUDA_ERROR_NOT_INITIALIZED) {
        RT_TRY(rt_context());
        first = (CUresult)CU(weir_free_async, (CUdeviceptr)ptr, stream, WEIR_CALL_cudaFreeAsync,
                             caller);
    }
    if (!RT_HAS(weir_free_async))
        WITH_CONTEXT(CU(cuMemFreeAsync, (CUdeviceptr)ptr, stream));
    CU_TRY(first);
    return cudaSuccess;
}

static inline cudaError_t free_async(void *ptr, cudaStream_t stream, const void *caller)
{
    if (ptr == NULL)
        return rt_context();
    CUresult first =
        (CUresult)CU(weir_free_async, (CUdeviceptr)ptr, stream, WEIR_CALL_cudaFreeAsync, caller);
    return LIKELY(first == CUDA_SUCCESS) ? cudaSuccess : free_again(ptr, stream, caller, first);
}

STREAM_API(cudaMallocAsync, (void **devPtr, size_t size, cudaStream_t stream),
           alloc(devPtr, size, NULL, stream, WEIR_CALL_cudaMallocAsync,
                 __builtin_return_address(0)))
STREAM_API(cudaMallocFromPoolAsync,
           (void **ptr, size_t size, cudaMemPool_t memPool, cudaStream_t stream),
           alloc_from_pool(ptr, size, memPool, stream, __builtin_return_address(0)))
STREAM_API(cudaFreeAsync, (void *devPtr, cudaStream_t stream),
           free_async(devPtr, stream, __builtin_return_address(0)))

static cudaError_t default_pool(cudaMemPool_t *pool, int device)
{
    CUdevice handle;

    RT_CHECK(pool, cudaErrorInvalidValue);
    RT_TRY(rt_check_device(device, &handle));
    CU_TRY(CU(cuDeviceGetDefaultMemPool, pool, handle));
    return cudaSuccess;
}

PUBLIC cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *memPool, int device)
{
    return done(default_pool(memPool, device));
}

static cudaError_t set_pool(int device, cudaMemPool_t pool)
{
    CUdevice handle;

    RT_CHECK(rt_check_device(device, &handle) == cudaSuccess, cudaErrorInvalidValue);
    CU_TRY(CU(cuDeviceSetMemPool, handle, pool));
    return cudaSuccess;
}

PUBLIC cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t memPool)
{
    return done(set_pool(device, memPool));
}

static cudaError_t get_pool(cudaMemPool_t *pool, int device)
{
    CUdevice handle;
    cudaError_t found;

    RT_CHECK(pool, cudaErrorInvalidValue);
    found = rt_check_device(device, &handle);
    RT_CHECK(found != cudaErrorInvalidDevice, cudaErrorInvalidValue); /* as on a GPU */
    RT_TRY(found);
    CU_TRY(CU(cuDeviceGetMemPool, pool, handle));
    return cudaSuccess;
}

PUBLIC cudaError_t cudaDeviceGetMemPool(cudaMemPool_t *memPool, int device)
{
    return done(get_pool(memPool, device));
}

/* A pool function: arguments checked, the driver ready, the driver's answer. */
#define POOL_API(name, parameters, check, call)                                                    \
    static cudaError_t name##_checked parameters                                                   \
    {                                                                                              \
        RT_CHECK(check, cudaErrorInvalidValue);                                                    \
        RT_TRY(rt_init());                                                                         \
        CU_TRY(call);                                                                              \
        return cudaSuccess;                                                                        \
    }                                                                                              \
    PUBLIC cudaError_t name parameters

/* The pools of locations; the two APIs describe locations alike. */
static CUmemLocation *driver_location(struct cudaMemLocation *location)
{
    return (CUmemLocation *)(void *)location;
}

POOL_API(cudaMemGetDefaultMemPool,
         (cudaMemPool_t * memPool, struct cudaMemLocation *location,
          enum cudaMemAllocationType type),
         memPool != NULL && location != NULL,
         CU(cuMemGetDefaultMemPool, memPool, driver_location(location), (CUmemAllocationType)type))
{
    return done(cudaMemGetDefaultMemPool_checked(memPool, location, type));
}

POOL_API(cudaMemGetMemPool,
         (cudaMemPool_t * memPool, struct cudaMemLocation *location,
          enum cudaMemAllocationType type),
         memPool != NULL && location != NULL,
         CU(cuMemGetMemPool, memPool, driver_location(location), (CUmemAllocationType)type))
{
    return done(cudaMemGetMemPool_checked(memPool, location, type));
}

POOL_API(cudaMemSetMemPool,
         (struct cudaMemLocation * location, enum cudaMemAllocationType type,
          cudaMemPool_t memPool),
         memPool != NULL && location != NULL,
         CU(cuMemSetMemPool, driver_location(location), (CUmemAllocationType)type, memPool))
{
    return done(cudaMemSetMemPool_checked(location, type, memPool));
}

POOL_API(cudaMemPoolCreate, (cudaMemPool_t * memPool, const struct cudaMemPoolProps *poolProps),
         memPool != NULL && poolProps != NULL,
         CU(cuMemPoolCreate, memPool, (const CUmemPoolProps *)poolProps))
{
    return done(cudaMemPoolCreate_checked(memPool, poolProps));
}

POOL_API(cudaMemPoolDestroy, (cudaMemPool_t memPool), memPool, CU(cuMemPoolDestroy, memPool))
{
    return done(cudaMemPoolDestroy_checked(memPool));
}

POOL_API(cudaMemPoolTrimTo, (cudaMemPool_t memPool, size_t minBytesToKeep), memPool,
         CU(cuMemPoolTrimTo, memPool, minBytesToKeep))
{
    return done(cudaMemPoolTrimTo_checked(memPool, minBytesToKeep));
}

POOL_API(cudaMemPoolSetAttribute, (cudaMemPool_t memPool, enum cudaMemPoolAttr attr, void *value),
         memPool != NULL && value != NULL,
         CU(cuMemPoolSetAttribute, memPool, (CUmemPool_attribute)attr, value))
{
    return done(cudaMemPoolSetAttribute_checked(memPool, attr, value));
}

POOL_API(cudaMemPoolGetAttribute, (cudaMemPool_t memPool, enum cudaMemPoolAttr attr, void *value),
         memPool != NULL && value != NULL,
         CU(cuMemPoolGetAttribute, memPool, (CUmemPool_attribute)attr, value))
{
    return done(cudaMemPoolGetAttribute_checked(memPool, attr, value));
}

/* None may be given without a list, which the driver refuses. */
static const CUmemAccessDesc no_access;

POOL_API(cudaMemPoolSetAccess,
         (cudaMemPool_t memPool, const struct cudaMemAccessDesc *descList, size_t count),
         memPool != NULL && (descList != NULL || !count),
         CU(cuMemPoolSetAccess, memPool,
            descList != NULL ? (const CUmemAccessDesc *)descList : &no_access, count))
{
    return done(cudaMemPoolSetAccess_checked(memPool, descList, count));
}

POOL_API(cudaMemPoolGetAccess,
         (enum cudaMemAccessFlags * flags, cudaMemPool_t memPool, struct cudaMemLocation *location),
         flags != NULL && memPool != NULL && location != NULL,
         CU(cuMemPoolGetAccess, (CUmemAccess_flags *)flags, memPool, (CUmemLocation *)location))
{
    return done(cudaMemPoolGetAccess_checked(flags, memPool, location));
}

POOL_API(cudaMemPoolExportToShareableHandle,
         (void *shareableHandle, cudaMemPool_t memPool, enum cudaMemAllocationHandleType handleType,
          unsigned flags),
         shareableHandle != NULL && memPool != NULL,
         CU(cuMemPoolExportToShareableHandle, shareableHandle, memPool,
            (CUmemAllocationHandleType)handleType, flags))
{
    return done(
        cudaMemPoolExportToShareableHandle_checked(shareableHandle, memPool, handleType, flags));
}

POOL_API(cudaMemPoolImportFromShareableHandle,
         (cudaMemPool_t * memPool, void *shareableHandle,
          enum cudaMemAllocationHandleType handleType, unsigned flags),
         memPool,
         CU(cuMemPoolImportFromShareableHandle, memPool, shareableHandle,
            (CUmemAllocationHandleType)handleType, flags))
{
    return done(
        cudaMemPoolImportFromShareableHandle_checked(memPool, shareableHandle, handleType, flags));
}

POOL_API(cudaMemPoolExportPointer, (struct cudaMemPoolPtrExportData * exportData, void *ptr),
         exportData != NULL && ptr != NULL,
         CU(cuMemPoolExportPointer, (CUmemPoolPtrExportData *)exportData, (CUdeviceptr)ptr))
{
    return done(cudaMemPoolExportPointer_checked(exportData, ptr));
}

POOL_API(cudaMemPoolImportPointer,
         (void **ptr, cudaMemPool_t memPool, struct cudaMemPoolPtrExportData *exportData),
         ptr != NULL && memPool != NULL && exportData != NULL,
         CU(cuMemPoolImportPointer, (CUdeviceptr *)ptr, memPool,
            (CUmemPoolPtrExportData *)exportData))
{
    return done(cudaMemPoolImportPointer_checked(ptr, memPool, exportData));
}
