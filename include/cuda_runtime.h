/* cuda_runtime.h: the runtime API for C++: the C functions, and typed forms of those that take a
 * pointer to anything, a kernel or a symbol. In a CUDA translation unit also everything that device
 * code may use. */
#ifndef __CUDA_RUNTIME_H__
#define __CUDA_RUNTIME_H__

#include "host_config.h"

#include "builtin_types.h"
#include "channel_descriptor.h"
#include "cuda_runtime_api.h"
#include "driver_functions.h"
#include "library_types.h"
#include "vector_functions.h"

#if defined(__cplusplus)

#if __cplusplus >= 201103L
#include <utility>
#endif

#if defined(__CUDACC__)
/* What `kernel<<<grid, block, shared, stream>>>` leaves for the launch that follows it. */
extern "C" unsigned int __cudaPushCallConfiguration(dim3 gridDim, dim3 blockDim,
                                                    size_t sharedMem = 0,
                                                    struct CUstream_st *stream = 0);
extern "C" cudaError_t __cudaPopCallConfiguration(dim3 *gridDim, dim3 *blockDim, size_t *sharedMem,
                                                  void *stream);
#endif

/* Functions that are not there for a debugger: what they call is called by their caller. */
#if defined(__clang__)
#define __weir_inline__ static __inline__ __attribute__((always_inline, nodebug))
#else
#define __weir_inline__ static __inline__ __attribute__((always_inline, artificial))
#endif

/* ---- launches ------------------------------------------------------------------------------ */

template <class T>
static __inline__ __host__ cudaError_t cudaLaunchKernel(T *func, dim3 gridDim, dim3 blockDim,
                                                        void **args, size_t sharedMem = 0,
                                                        cudaStream_t stream = 0)
{
    return ::cudaLaunchKernel((const void *)func, gridDim, blockDim, args, sharedMem, stream);
}

template <class T>
static __inline__ __host__ cudaError_t cudaLaunchCooperativeKernel(T *func, dim3 gridDim,
                                                                   dim3 blockDim, void **args,
                                                                   size_t sharedMem = 0,
                                                                   cudaStream_t stream = 0)
{
    return ::cudaLaunchCooperativeKernel((const void *)func, gridDim, blockDim, args, sharedMem,
                                         stream);
}

#if __cplusplus >= 201103L
/* Launches with typed arguments: each is converted to its parameter's type first. */
template <typename... ExpTypes, typename... ActTypes>
static __inline__ __host__ cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *config,
                                                          void (*kernel)(ExpTypes...),
                                                          ActTypes &&...args)
{
    return [&](ExpTypes... coercedArgs) {
        void *pArgs[sizeof...(coercedArgs) + 1] = {(void *)(&coercedArgs)...};
        return ::cudaLaunchKernelExC(config, (const void *)kernel, pArgs);
    }(std::forward<ActTypes>(args)...);
}

template <typename... ExpTypes, typename... ActTypes>
static __inline__ __host__ cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *config,
                                                          const cudaKernel_t kernel,
                                                          ActTypes &&...args)
{
    void *pArgs[sizeof...(args) + 1] = {(void *)(&args)...};

    return ::cudaLaunchKernelExC(config, (const void *)kernel, pArgs);
}
#endif

/* ---- functions ----------------------------------------------------------------------------- */

template <class T>
static __inline__ __host__ cudaError_t cudaFuncSetCacheConfig(T *func, enum cudaFuncCache config)
{
    return ::cudaFuncSetCacheConfig((const void *)func, config);
}

template <class T>
static __inline__ __host__ cudaError_t cudaFuncSetSharedMemConfig(T *func,
                                                                  enum cudaSharedMemConfig config)
{
    return ::cudaFuncSetSharedMemConfig((const void *)func, config);
}

template <class T>
static __inline__ __host__ cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attr,
                                                             T *entry)
{
    return ::cudaFuncGetAttributes(attr, (const void *)entry);
}

template <class T>
static __inline__ __host__ cudaError_t cudaFuncSetAttribute(T *func, enum cudaFuncAttribute attr,
                                                            int value)
{
    return ::cudaFuncSetAttribute((const void *)func, attr, value);
}

template <class T>
static __inline__ __host__ cudaError_t cudaFuncGetName(const char **name, T *func)
{
    return ::cudaFuncGetName(name, (const void *)func);
}

template <class T>
static __inline__ __host__ cudaError_t cudaGetKernel(cudaKernel_t *kernelPtr, T *func)
{
    return ::cudaGetKernel(kernelPtr, (const void *)func);
}

/* ---- occupancy ----------------------------------------------------------------------------- */

template <class T>
static __inline__ __host__ cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(
    int *numBlocks, T func, int blockSize, size_t dynamicSMemSize)
{
    return ::cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        numBlocks, (const void *)func, blockSize, dynamicSMemSize, cudaOccupancyDefault);
}

template <class T>
static __inline__ __host__ cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int *numBlocks, T func, int blockSize, size_t dynamicSMemSize, unsigned int flags)
{
    return ::cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        numBlocks, (const void *)func, blockSize, dynamicSMemSize, flags);
}

template <class T>
static __inline__ __host__ cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(
    size_t *dynamicSmemSize, T *func, int numBlocks, int blockSize)
{
    return ::cudaOccupancyAvailableDynamicSMemPerBlock(dynamicSmemSize, (const void *)func,
                                                       numBlocks, blockSize);
}

template <class T>
static __inline__ __host__ cudaError_t
cudaOccupancyMaxPotentialClusterSize(int *clusterSize, T *func, const cudaLaunchConfig_t *config)
{
    return ::cudaOccupancyMaxPotentialClusterSize(clusterSize, (const void *)func, config);
}

template <class T>
static __inline__ __host__ cudaError_t
cudaOccupancyMaxActiveClusters(int *numClusters, T *func, const cudaLaunchConfig_t *config)
{
    return ::cudaOccupancyMaxActiveClusters(numClusters, (const void *)func, config);
}

/* The block size, a multiple of the warp, that keeps most threads of a multiprocessor busy (the
 * largest of equals), when a block of n threads needs sizes(n) bytes of dynamic shared memory; and
 * the smallest grid that fills the device with it. blockSizeLimit 0 means none. */
template <typename UnaryFunction, class T>
static __inline__ __host__ cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMemWithFlags(
    int *minGridSize, int *blockSize, T func, UnaryFunction blockSizeToDynamicSMemSize,
    int blockSizeLimit = 0, unsigned int flags = 0)
{
    cudaError_t status;
    int device, multiprocessors, threads, granularity, limit, best = 0, bestBlock = 0,
                                                              bestBlocks = 0;
    struct cudaFuncAttributes attributes;

    if (!minGridSize || !blockSize || !func)
        return cudaErrorInvalidValue;
    if ((status = ::cudaGetDevice(&device)) != cudaSuccess ||
        (status = ::cudaDeviceGetAttribute(&threads, cudaDevAttrMaxThreadsPerMultiProcessor,
                                           device)) != cudaSuccess ||
        (status = ::cudaDeviceGetAttribute(&limit, cudaDevAttrMaxThreadsPerBlock, device)) !=
            cudaSuccess ||
        (status = ::cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount,
                                           device)) != cudaSuccess ||
        (status = ::cudaDeviceGetAttribute(&granularity, cudaDevAttrWarpSize, device)) !=
            cudaSuccess ||
        (status = ::cudaFuncGetAttributes(&attributes, (const void *)func)) != cudaSuccess)
        return status;
    if (attributes.maxThreadsPerBlock < limit)
        limit = attributes.maxThreadsPerBlock;
    if (blockSizeLimit > 0 && blockSizeLimit < limit)
        limit = blockSizeLimit;
    for (int size = (limit + granularity - 1) / granularity * granularity; size > 0;
         size -= granularity) {
        int candidate = size < limit ? size : limit, blocks;

        status = ::cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
            &blocks, (const void *)func, candidate, blockSizeToDynamicSMemSize(candidate), flags);
        if (status != cudaSuccess)
            return status;
        if (candidate * blocks > best) {
            best = candidate * blocks;
            bestBlock = candidate;
            bestBlocks = blocks;
        }
        if (best == threads)
            break;
    }
    *minGridSize = bestBlocks * multiprocessors;
    *blockSize = bestBlock;
    return cudaSuccess;
}

template <typename UnaryFunction, class T>
static __inline__ __host__ cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMem(
    int *minGridSize, int *blockSize, T func, UnaryFunction blockSizeToDynamicSMemSize,
    int blockSizeLimit = 0)
{
    return cudaOccupancyMaxPotentialBlockSizeVariableSMemWithFlags(
        minGridSize, blockSize, func, blockSizeToDynamicSMemSize, blockSizeLimit,
        cudaOccupancyDefault);
}

/* The same number of bytes whatever the block size. */
class __cudaOccupancyB2DHelper
{
    size_t n;

  public:
    __inline__ __host__ __cudaOccupancyB2DHelper(size_t bytes) : n(bytes) {}
    __inline__ __host__ size_t operator()(int) { return n; }
};

template <class T>
static __inline__ __host__ cudaError_t cudaOccupancyMaxPotentialBlockSizeWithFlags(
    int *minGridSize, int *blockSize, T func, size_t dynamicSMemSize = 0, int blockSizeLimit = 0,
    unsigned int flags = 0)
{
    return cudaOccupancyMaxPotentialBlockSizeVariableSMemWithFlags(
        minGridSize, blockSize, func, __cudaOccupancyB2DHelper(dynamicSMemSize), blockSizeLimit,
        flags);
}

template <class T>
static __inline__ __host__ cudaError_t cudaOccupancyMaxPotentialBlockSize(
    int *minGridSize, int *blockSize, T func, size_t dynamicSMemSize = 0, int blockSizeLimit = 0)
{
    return cudaOccupancyMaxPotentialBlockSizeVariableSMemWithFlags(
        minGridSize, blockSize, func, __cudaOccupancyB2DHelper(dynamicSMemSize), blockSizeLimit,
        cudaOccupancyDefault);
}

/* ---- memory -------------------------------------------------------------------------------- */

template <class T> __weir_inline__ __host__ cudaError_t cudaMalloc(T **devPtr, size_t size)
{
    return ::cudaMalloc((void **)(void *)devPtr, size);
}

/* Unlike the C function of this name, takes the flags of cudaHostAlloc. */
__weir_inline__ __host__ cudaError_t cudaMallocHost(void **ptr, size_t size, unsigned int flags)
{
    return ::cudaHostAlloc(ptr, size, flags);
}

template <class T>
__weir_inline__ __host__ cudaError_t cudaMallocHost(T **ptr, size_t size, unsigned int flags = 0)
{
    return ::cudaHostAlloc((void **)(void *)ptr, size, flags);
}

template <class T>
__weir_inline__ __host__ cudaError_t cudaHostAlloc(T **ptr, size_t size, unsigned int flags)
{
    return ::cudaHostAlloc((void **)(void *)ptr, size, flags);
}

template <class T>
static __inline__ __host__ cudaError_t cudaHostGetDevicePointer(T **pDevice, void *pHost,
                                                                unsigned int flags)
{
    return ::cudaHostGetDevicePointer((void **)(void *)pDevice, pHost, flags);
}

template <class T>
__weir_inline__ __host__ cudaError_t cudaMallocManaged(T **devPtr, size_t size,
                                                       unsigned int flags = cudaMemAttachGlobal)
{
    return ::cudaMallocManaged((void **)(void *)devPtr, size, flags);
}

template <class T>
__weir_inline__ __host__ cudaError_t cudaMallocPitch(T **devPtr, size_t *pitch, size_t width,
                                                     size_t height)
{
    return ::cudaMallocPitch((void **)(void *)devPtr, pitch, width, height);
}

__weir_inline__ __host__ cudaError_t cudaMallocAsync(void **ptr, size_t size, cudaMemPool_t memPool,
                                                     cudaStream_t stream)
{
    return ::cudaMallocFromPoolAsync(ptr, size, memPool, stream);
}

template <class T>
__weir_inline__ __host__ cudaError_t cudaMallocAsync(T **ptr, size_t size, cudaStream_t stream)
{
    return ::cudaMallocAsync((void **)(void *)ptr, size, stream);
}

template <class T>
__weir_inline__ __host__ cudaError_t cudaMallocAsync(T **ptr, size_t size, cudaMemPool_t memPool,
                                                     cudaStream_t stream)
{
    return ::cudaMallocFromPoolAsync((void **)(void *)ptr, size, memPool, stream);
}

template <class T>
__weir_inline__ __host__ cudaError_t cudaMallocFromPoolAsync(T **ptr, size_t size,
                                                             cudaMemPool_t memPool,
                                                             cudaStream_t stream)
{
    return ::cudaMallocFromPoolAsync((void **)(void *)ptr, size, memPool, stream);
}

template <class T>
static __inline__ __host__ cudaError_t cudaStreamAttachMemAsync(
    cudaStream_t stream, T *devPtr, size_t length = 0, unsigned int flags = cudaMemAttachSingle)
{
    return ::cudaStreamAttachMemAsync(stream, (void *)devPtr, length, flags);
}

/* ---- symbols ------------------------------------------------------------------------------- */

template <class T>
static __inline__ __host__ cudaError_t
cudaMemcpyToSymbol(const T &symbol, const void *src, size_t count, size_t offset = 0,
                   enum cudaMemcpyKind kind = cudaMemcpyHostToDevice)
{
    return ::cudaMemcpyToSymbol((const void *)&symbol, src, count, offset, kind);
}

template <class T>
static __inline__ __host__ cudaError_t
cudaMemcpyToSymbolAsync(const T &symbol, const void *src, size_t count, size_t offset = 0,
                        enum cudaMemcpyKind kind = cudaMemcpyHostToDevice, cudaStream_t stream = 0)
{
    return ::cudaMemcpyToSymbolAsync((const void *)&symbol, src, count, offset, kind, stream);
}

template <class T>
static __inline__ __host__ cudaError_t
cudaMemcpyFromSymbol(void *dst, const T &symbol, size_t count, size_t offset = 0,
                     enum cudaMemcpyKind kind = cudaMemcpyDeviceToHost)
{
    return ::cudaMemcpyFromSymbol(dst, (const void *)&symbol, count, offset, kind);
}

template <class T>
static __inline__ __host__ cudaError_t cudaMemcpyFromSymbolAsync(
    void *dst, const T &symbol, size_t count, size_t offset = 0,
    enum cudaMemcpyKind kind = cudaMemcpyDeviceToHost, cudaStream_t stream = 0)
{
    return ::cudaMemcpyFromSymbolAsync(dst, (const void *)&symbol, count, offset, kind, stream);
}

template <class T>
static __inline__ __host__ cudaError_t cudaGetSymbolAddress(void **devPtr, const T &symbol)
{
    return ::cudaGetSymbolAddress(devPtr, (const void *)&symbol);
}

template <class T>
static __inline__ __host__ cudaError_t cudaGetSymbolSize(size_t *size, const T &symbol)
{
    return ::cudaGetSymbolSize(size, (const void *)&symbol);
}

/* ---- events, textures, graphs -------------------------------------------------------------- */

static __inline__ __host__ cudaError_t cudaEventCreate(cudaEvent_t *event, unsigned int flags)
{
    return ::cudaEventCreateWithFlags(event, flags);
}

template <class T>
static __inline__ __host__ cudaError_t cudaGraphAddMemcpyNodeToSymbol(
    cudaGraphNode_t *pGraphNode, cudaGraph_t graph, const cudaGraphNode_t *pDependencies,
    size_t numDependencies, const T &symbol, const void *src, size_t count, size_t offset = 0,
    enum cudaMemcpyKind kind = cudaMemcpyHostToDevice)
{
    return ::cudaGraphAddMemcpyNodeToSymbol(pGraphNode, graph, pDependencies, numDependencies,
                                            (const void *)&symbol, src, count, offset, kind);
}

template <class T>
static __inline__ __host__ cudaError_t cudaGraphAddMemcpyNodeFromSymbol(
    cudaGraphNode_t *pGraphNode, cudaGraph_t graph, const cudaGraphNode_t *pDependencies,
    size_t numDependencies, void *dst, const T &symbol, size_t count, size_t offset = 0,
    enum cudaMemcpyKind kind = cudaMemcpyDeviceToHost)
{
    return ::cudaGraphAddMemcpyNodeFromSymbol(pGraphNode, graph, pDependencies, numDependencies,
                                              dst, (const void *)&symbol, count, offset, kind);
}

/* The forms of before CUDA 12. No log is written: errors are explained elsewhere. */
static __inline__ __host__ cudaError_t cudaGraphInstantiate(cudaGraphExec_t *pGraphExec,
                                                            cudaGraph_t graph,
                                                            cudaGraphNode_t *pErrorNode,
                                                            char *pLogBuffer, size_t bufferSize)
{
    cudaGraphInstantiateParams params = {};
    cudaError_t error = ::cudaGraphInstantiateWithParams(pGraphExec, graph, &params);
    if (pErrorNode)
        *pErrorNode = params.errNode_out;
    if (pLogBuffer && bufferSize > 0)
        pLogBuffer[0] = 0;
    return error;
}

static __inline__ __host__ cudaError_t cudaGraphExecUpdate(cudaGraphExec_t hGraphExec,
                                                           cudaGraph_t hGraph,
                                                           cudaGraphNode_t *hErrorNode_out,
                                                           enum cudaGraphExecUpdateResult *result)
{
    cudaGraphExecUpdateResultInfo info = {};
    cudaError_t error = ::cudaGraphExecUpdate(hGraphExec, hGraph, &info);
    if (hErrorNode_out)
        *hErrorNode_out = info.errorNode;
    if (result)
        *result = info.result;
    return error;
}

template <class T>
static __inline__ __host__ cudaError_t cudaGraphMemcpyNodeSetParamsToSymbol(
    cudaGraphNode_t node, const T &symbol, const void *src, size_t count, size_t offset = 0,
    enum cudaMemcpyKind kind = cudaMemcpyHostToDevice)
{
    return ::cudaGraphMemcpyNodeSetParamsToSymbol(node, (const void *)&symbol, src, count, offset,
                                                  kind);
}

template <class T>
static __inline__ __host__ cudaError_t cudaGraphMemcpyNodeSetParamsFromSymbol(
    cudaGraphNode_t node, void *dst, const T &symbol, size_t count, size_t offset = 0,
    enum cudaMemcpyKind kind = cudaMemcpyDeviceToHost)
{
    return ::cudaGraphMemcpyNodeSetParamsFromSymbol(node, dst, (const void *)&symbol, count, offset,
                                                    kind);
}

template <class T>
static __inline__ __host__ cudaError_t cudaGraphExecMemcpyNodeSetParamsToSymbol(
    cudaGraphExec_t hGraphExec, cudaGraphNode_t node, const T &symbol, const void *src,
    size_t count, size_t offset = 0, enum cudaMemcpyKind kind = cudaMemcpyHostToDevice)
{
    return ::cudaGraphExecMemcpyNodeSetParamsToSymbol(hGraphExec, node, (const void *)&symbol, src,
                                                      count, offset, kind);
}

template <class T>
static __inline__ __host__ cudaError_t cudaGraphExecMemcpyNodeSetParamsFromSymbol(
    cudaGraphExec_t hGraphExec, cudaGraphNode_t node, void *dst, const T &symbol, size_t count,
    size_t offset = 0, enum cudaMemcpyKind kind = cudaMemcpyDeviceToHost)
{
    return ::cudaGraphExecMemcpyNodeSetParamsFromSymbol(hGraphExec, node, dst,
                                                        (const void *)&symbol, count, offset, kind);
}

/* An object that the graph owns and destroys with the last reference to it. */
template <class T>
static __inline__ __host__ cudaError_t cudaUserObjectCreate(cudaUserObject_t *object_out,
                                                            T *objectToWrap,
                                                            unsigned int initialRefcount,
                                                            unsigned int flags)
{
    return ::cudaUserObjectCreate(
        object_out, objectToWrap, [](void *p) { delete reinterpret_cast<T *>(p); }, initialRefcount,
        flags);
}

#endif

#if defined(WEIR_LEGACY_API) && defined(__cplusplus)
#include "weir/legacy/api.hpp"
#endif

#if defined(__CUDACC__) && defined(__cplusplus)
#include "weir/device.h"
#endif

#endif
