/* Included before all else where the sequences run with the runtime's own pools (WEIR_POOLS=own):
 * what is of streams, events and stream-ordered memory goes by the runtime, which must see it
 * (docs/gpu.md). */
#ifndef BY_RUNTIME_H
#define BY_RUNTIME_H

#include "cuda.h"
#include "cuda_runtime_api.h"

#undef cuStreamDestroy
#undef cuEventDestroy
#undef cuMemFree
#define cuEventRecord(e, s)   ((CUresult)cudaEventRecord((cudaEvent_t)(e), (cudaStream_t)(s)))
#define cuEventCreate(e, f)   ((CUresult)cudaEventCreateWithFlags((cudaEvent_t *)(e), f))
#define cuEventDestroy(e)     ((CUresult)cudaEventDestroy((cudaEvent_t)(e)))
#define cuEventQuery(e)       ((CUresult)cudaEventQuery((cudaEvent_t)(e)))
#define cuEventSynchronize(e) ((CUresult)cudaEventSynchronize((cudaEvent_t)(e)))
#define cuStreamCreate(s, f)  ((CUresult)cudaStreamCreateWithFlags((cudaStream_t *)(s), f))
#define cuStreamDestroy(s)    ((CUresult)cudaStreamDestroy((cudaStream_t)(s)))
#define cuStreamQuery(s)      ((CUresult)cudaStreamQuery((cudaStream_t)(s)))
#define cuStreamWaitEvent(s, e, f)                                                                 \
    ((CUresult)cudaStreamWaitEvent((cudaStream_t)(s), (cudaEvent_t)(e), f))
#define cuStreamSynchronize(s) ((CUresult)cudaStreamSynchronize((cudaStream_t)(s)))
#define cuStreamEndCapture(s, g)                                                                   \
    ((CUresult)cudaStreamEndCapture((cudaStream_t)(s), (cudaGraph_t *)(g)))
#define cuMemAllocAsync(p, n, s) ((CUresult)cudaMallocAsync((void **)(p), n, (cudaStream_t)(s)))
#define cuMemFreeAsync(p, s)     ((CUresult)cudaFreeAsync((void *)(p), (cudaStream_t)(s)))
#define cuMemFree(p)             ((CUresult)cudaFree((void *)(p)))
#define cuMemPoolCreate(p, q)                                                                      \
    ((CUresult)cudaMemPoolCreate((cudaMemPool_t *)(p), (struct cudaMemPoolProps *)(q)))
#define cuMemPoolDestroy(p) ((CUresult)cudaMemPoolDestroy((cudaMemPool_t)(p)))
#define cuMemPoolGetAttribute(p, a, v)                                                             \
    ((CUresult)cudaMemPoolGetAttribute((cudaMemPool_t)(p), (enum cudaMemPoolAttr)(a), v))

#endif
