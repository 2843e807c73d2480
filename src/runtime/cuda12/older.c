/* cuda12/older: functions of libcudart.so.12 of which CUDA 13 kept the later form under the old
 * name, or none. The later forms have the names here that CUDA 12 gives them (renames.txt). */
#include "../../../include/driver_types.h"

#include <stdint.h>

#define PUBLIC __attribute__((visibility("default")))

/* A function and its twin for per-thread default streams, by the two forms of what it calls. */
#define TWICE(name, parameters, called, arguments)                                                 \
    PUBLIC cudaError_t name parameters { return called arguments; }                                \
    PUBLIC cudaError_t name##_ptsz parameters { return called##_ptsz arguments; }
#define DECLARE_TWICE(name, parameters)                                                            \
    cudaError_t name parameters;                                                                   \
    cudaError_t name##_ptsz parameters;

/* ---- devices by their numbers ---- */

cudaError_t cudaMemAdvise_v2(const void *devPtr, size_t count, enum cudaMemoryAdvise advice,
                             struct cudaMemLocation location);
DECLARE_TWICE(cudaMemPrefetchAsync_v2,
              (const void *devPtr, size_t count, struct cudaMemLocation location, unsigned flags,
               cudaStream_t stream))

static struct cudaMemLocation location_of(int device)
{
    if (device == cudaCpuDeviceId)
        return (struct cudaMemLocation){.type = cudaMemLocationTypeHost};
    return (struct cudaMemLocation){.type = cudaMemLocationTypeDevice, .id = device};
}

PUBLIC cudaError_t cudaMemAdvise(const void *devPtr, size_t count, enum cudaMemoryAdvise advice,
                                 int device)
{
    return cudaMemAdvise_v2(devPtr, count, advice, location_of(device));
}

TWICE(cudaMemPrefetchAsync, (const void *devPtr, size_t count, int dstDevice, cudaStream_t stream),
      cudaMemPrefetchAsync_v2, (devPtr, count, location_of(dstDevice), 0, stream))

/* ---- batches, which told which copy was wrong where they knew ---- */

DECLARE_TWICE(weir13_cudaMemcpyBatchAsync,
              (void *const *dsts, const void *const *srcs, const size_t *sizes, size_t count,
               struct cudaMemcpyAttributes *attrs, size_t *attrsIdxs, size_t numAttrs,
               cudaStream_t stream))
DECLARE_TWICE(weir13_cudaMemcpy3DBatchAsync, (size_t numOps, struct cudaMemcpy3DBatchOp *opList,
                                              unsigned long long flags, cudaStream_t stream))

static cudaError_t no_place(cudaError_t error, size_t *failIdx)
{
    if (error != cudaSuccess && failIdx != NULL)
        *failIdx = SIZE_MAX;
    return error;
}

#define BATCH(suffix)                                                                              \
    PUBLIC cudaError_t cudaMemcpyBatchAsync##suffix(                                               \
        void **dsts, void **srcs, size_t *sizes, size_t count, struct cudaMemcpyAttributes *attrs, \
        size_t *attrsIdxs, size_t numAttrs, size_t *failIdx, cudaStream_t stream)                  \
    {                                                                                              \
        return no_place(weir13_cudaMemcpyBatchAsync##suffix(dsts, (const void *const *)srcs,       \
                                                            sizes, count, attrs, attrsIdxs,        \
                                                            numAttrs, stream),                     \
                        failIdx);                                                                  \
    }                                                                                              \
    PUBLIC cudaError_t cudaMemcpy3DBatchAsync##suffix(                                             \
        size_t numOps, struct cudaMemcpy3DBatchOp *opList, size_t *failIdx,                        \
        unsigned long long flags, cudaStream_t stream)                                             \
    {                                                                                              \
        return no_place(weir13_cudaMemcpy3DBatchAsync##suffix(numOps, opList, flags, stream),      \
                        failIdx);                                                                  \
    }
BATCH()
BATCH(_ptsz)

/* ---- graphs without data of edges ---- */

cudaError_t cudaGraphAddDependencies_v2(cudaGraph_t graph, const cudaGraphNode_t *from,
                                        const cudaGraphNode_t *to, const cudaGraphEdgeData *data,
                                        size_t count);
cudaError_t cudaGraphRemoveDependencies_v2(cudaGraph_t graph, const cudaGraphNode_t *from,
                                           const cudaGraphNode_t *to, const cudaGraphEdgeData *data,
                                           size_t count);
cudaError_t cudaGraphGetEdges_v2(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to,
                                 cudaGraphEdgeData *data, size_t *count);
cudaError_t cudaGraphNodeGetDependencies_v2(cudaGraphNode_t node, cudaGraphNode_t *nodes,
                                            cudaGraphEdgeData *data, size_t *count);
cudaError_t cudaGraphNodeGetDependentNodes_v2(cudaGraphNode_t node, cudaGraphNode_t *nodes,
                                              cudaGraphEdgeData *data, size_t *count);
cudaError_t cudaGraphAddNode_v2(cudaGraphNode_t *node, cudaGraph_t graph,
                                const cudaGraphNode_t *dependencies, const cudaGraphEdgeData *data,
                                size_t count, struct cudaGraphNodeParams *params);

PUBLIC cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
                                            const cudaGraphNode_t *to, size_t count)
{
    return cudaGraphAddDependencies_v2(graph, from, to, NULL, count);
}

PUBLIC cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
                                               const cudaGraphNode_t *to, size_t count)
{
    return cudaGraphRemoveDependencies_v2(graph, from, to, NULL, count);
}

PUBLIC cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to,
                                     size_t *count)
{
    return cudaGraphGetEdges_v2(graph, from, to, NULL, count);
}

PUBLIC cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t *nodes,
                                                size_t *count)
{
    return cudaGraphNodeGetDependencies_v2(node, nodes, NULL, count);
}

PUBLIC cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t *nodes,
                                                  size_t *count)
{
    return cudaGraphNodeGetDependentNodes_v2(node, nodes, NULL, count);
}

PUBLIC cudaError_t cudaGraphAddNode(cudaGraphNode_t *node, cudaGraph_t graph,
                                    const cudaGraphNode_t *dependencies, size_t count,
                                    struct cudaGraphNodeParams *params)
{
    return cudaGraphAddNode_v2(node, graph, dependencies, NULL, count, params);
}

/* ---- capture ---- */

DECLARE_TWICE(cudaStreamGetCaptureInfo_v3,
              (cudaStream_t stream, enum cudaStreamCaptureStatus *status, unsigned long long *id,
               cudaGraph_t *graph, const cudaGraphNode_t **dependencies,
               const cudaGraphEdgeData **data, size_t *count))
DECLARE_TWICE(cudaStreamUpdateCaptureDependencies_v2,
              (cudaStream_t stream, cudaGraphNode_t *dependencies, const cudaGraphEdgeData *data,
               size_t count, unsigned flags))

TWICE(cudaStreamGetCaptureInfo,
      (cudaStream_t stream, enum cudaStreamCaptureStatus *status, unsigned long long *id),
      cudaStreamGetCaptureInfo_v3, (stream, status, id, NULL, NULL, NULL, NULL))
TWICE(cudaStreamGetCaptureInfo_v2,
      (cudaStream_t stream, enum cudaStreamCaptureStatus *status, unsigned long long *id,
       cudaGraph_t *graph, const cudaGraphNode_t **dependencies, size_t *count),
      cudaStreamGetCaptureInfo_v3, (stream, status, id, graph, dependencies, NULL, count))
TWICE(cudaStreamUpdateCaptureDependencies,
      (cudaStream_t stream, cudaGraphNode_t *dependencies, size_t count, unsigned flags),
      cudaStreamUpdateCaptureDependencies_v2, (stream, dependencies, NULL, count, flags))

/* ---- other names of the same ---- */

cudaError_t cudaDeviceSynchronize(void);
cudaError_t cudaDeviceReset(void);
cudaError_t cudaDeviceSetLimit(enum cudaLimit limit, size_t value);
cudaError_t cudaDeviceGetLimit(size_t *value, enum cudaLimit limit);
cudaError_t cudaDeviceSetCacheConfig(enum cudaFuncCache config);
cudaError_t cudaDeviceGetCacheConfig(enum cudaFuncCache *config);
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end);

PUBLIC cudaError_t cudaThreadSynchronize(void) { return cudaDeviceSynchronize(); }
PUBLIC cudaError_t cudaThreadExit(void) { return cudaDeviceReset(); }
PUBLIC cudaError_t cudaThreadSetLimit(enum cudaLimit limit, size_t value)
{
    return cudaDeviceSetLimit(limit, value);
}
PUBLIC cudaError_t cudaThreadGetLimit(size_t *value, enum cudaLimit limit)
{
    return cudaDeviceGetLimit(value, limit);
}
PUBLIC cudaError_t cudaThreadSetCacheConfig(enum cudaFuncCache config)
{
    return cudaDeviceSetCacheConfig(config);
}
PUBLIC cudaError_t cudaThreadGetCacheConfig(enum cudaFuncCache *config)
{
    return cudaDeviceGetCacheConfig(config);
}
PUBLIC cudaError_t cudaEventElapsedTime_v2(float *ms, cudaEvent_t start, cudaEvent_t end)
{
    return cudaEventElapsedTime(ms, start, end);
}

/* Doubles of devices that have none: no device of today. */
PUBLIC cudaError_t cudaSetDoubleForDevice(double *d)
{
    (void)d;
    return cudaSuccess;
}
PUBLIC cudaError_t cudaSetDoubleForHost(double *d)
{
    (void)d;
    return cudaSuccess;
}

/* ---- what no device here has ---- */

/* Also what cudaGetLastError tells. */
cudaError_t rt_error_keep(cudaError_t error);

#define REFUSED(name)                                                                              \
    PUBLIC cudaError_t name(void) { return rt_error_keep(cudaErrorNotSupported); }
REFUSED(cudaSignalExternalSemaphoresAsync_v2)
REFUSED(cudaSignalExternalSemaphoresAsync_v2_ptsz)
REFUSED(cudaWaitExternalSemaphoresAsync_v2)
REFUSED(cudaWaitExternalSemaphoresAsync_v2_ptsz)
REFUSED(cudaLaunchCooperativeKernelMultiDevice)
