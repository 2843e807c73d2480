/* memory_batch: many copies, prefetches or discards in one call. The driver's descriptions have the
 * same layouts; the legacy default stream is refused, as documented. */
#include "runtime/internal.h"

_Static_assert(sizeof(struct cudaMemcpyAttributes) == sizeof(CUmemcpyAttributes), "same layout");
_Static_assert(sizeof(struct cudaMemcpy3DBatchOp) == sizeof(CUDA_MEMCPY3D_BATCH_OP), "same layout");
_Static_assert(sizeof(struct cudaMemLocation) == sizeof(CUmemLocation), "same layout");

static bool named(cudaStream_t stream) { return stream != NULL && stream != cudaStreamLegacy; }

static cudaError_t copies(void *const *dsts, const void *const *srcs, const size_t *sizes,
                          size_t count, struct cudaMemcpyAttributes *attrs, size_t *first,
                          size_t attr_count, cudaStream_t stream)
{
    RT_CHECK(dsts != NULL && srcs != NULL && sizes != NULL && attrs != NULL && first != NULL &&
                 named(stream),
             cudaErrorInvalidValue);
    RT_TRY(rt_context());
    CU_TRY(CU(cuMemcpyBatchAsync_v2, (CUdeviceptr *)dsts, (CUdeviceptr *)srcs, (size_t *)sizes,
              count, (CUmemcpyAttributes *)attrs, first, attr_count, stream));
    return cudaSuccess;
}

STREAM_API(cudaMemcpyBatchAsync,
           (void *const *dsts, const void *const *srcs, const size_t *sizes, size_t count,
            struct cudaMemcpyAttributes *attrs, size_t *attrsIdxs, size_t numAttrs,
            cudaStream_t stream),
           copies(dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs, stream))

static cudaError_t boxes(size_t count, struct cudaMemcpy3DBatchOp *ops, unsigned long long flags,
                         cudaStream_t stream)
{
    RT_CHECK(ops != NULL && count && named(stream), cudaErrorInvalidValue);
    RT_TRY(rt_context());
    CU_TRY(CU(cuMemcpy3DBatchAsync_v2, count, (CUDA_MEMCPY3D_BATCH_OP *)ops, flags, stream));
    return cudaSuccess;
}

STREAM_API(cudaMemcpy3DBatchAsync,
           (size_t numOps, struct cudaMemcpy3DBatchOp *opList, unsigned long long flags,
            cudaStream_t stream),
           boxes(numOps, opList, flags, stream))

static cudaError_t prefetches(void **ptrs, size_t *sizes, size_t count,
                              struct cudaMemLocation *locations, size_t *first,
                              size_t location_count, unsigned long long flags, cudaStream_t stream)
{
    RT_CHECK(ptrs != NULL && sizes != NULL && locations != NULL && first != NULL && named(stream),
             cudaErrorInvalidValue);
    RT_TRY(rt_context());
    CU_TRY(CU(cuMemPrefetchBatchAsync, (CUdeviceptr *)ptrs, sizes, count,
              (CUmemLocation *)locations, first, location_count, flags, stream));
    return cudaSuccess;
}

STREAM_API(cudaMemPrefetchBatchAsync,
           (void **dptrs, size_t *sizes, size_t count, struct cudaMemLocation *prefetchLocs,
            size_t *prefetchLocIdxs, size_t numPrefetchLocs, unsigned long long flags,
            cudaStream_t stream),
           prefetches(dptrs, sizes, count, prefetchLocs, prefetchLocIdxs, numPrefetchLocs, flags,
                      stream))

static cudaError_t discards(void **ptrs, size_t *sizes, size_t count, unsigned long long flags,
                            cudaStream_t stream)
{
    RT_CHECK(ptrs != NULL && sizes != NULL && named(stream), cudaErrorInvalidValue);
    RT_TRY(rt_context());
    CU_TRY(CU(cuMemDiscardBatchAsync, (CUdeviceptr *)ptrs, sizes, count, flags, stream));
    return cudaSuccess;
}

STREAM_API(cudaMemDiscardBatchAsync,
           (void **dptrs, size_t *sizes, size_t count, unsigned long long flags,
            cudaStream_t stream),
           discards(dptrs, sizes, count, flags, stream))

static cudaError_t discard_prefetches(void **ptrs, size_t *sizes, size_t count,
                                      struct cudaMemLocation *locations, size_t *first,
                                      size_t location_count, unsigned long long flags,
                                      cudaStream_t stream)
{
    RT_CHECK(ptrs != NULL && sizes != NULL && locations != NULL && first != NULL && named(stream),
             cudaErrorInvalidValue);
    RT_TRY(rt_context());
    CU_TRY(CU(cuMemDiscardAndPrefetchBatchAsync, (CUdeviceptr *)ptrs, sizes, count,
              (CUmemLocation *)locations, first, location_count, flags, stream));
    return cudaSuccess;
}

STREAM_API(cudaMemDiscardAndPrefetchBatchAsync,
           (void **dptrs, size_t *sizes, size_t count, struct cudaMemLocation *prefetchLocs,
            size_t *prefetchLocIdxs, size_t numPrefetchLocs, unsigned long long flags,
            cudaStream_t stream),
           discard_prefetches(dptrs, sizes, count, prefetchLocs, prefetchLocIdxs, numPrefetchLocs,
                              flags, stream))
