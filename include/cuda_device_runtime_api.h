/* cuda_device_runtime_api.h: the part of the runtime API that device code may call.
 *
 * Each function has the same name and meaning as on the host, applied to the device in use. They
 * are the device's own definitions: clang tells them from the host's by where the caller runs. What
 * is not here is the host's alone, and a call of it in device code does not compile. */
#ifndef __CUDA_DEVICE_RUNTIME_API_H__
#define __CUDA_DEVICE_RUNTIME_API_H__

#include "driver_types.h"
#include "host_defines.h"

#if defined(__CUDACC__) && defined(__cplusplus)

/* Programmatic dependent launch: waits for the grids that this one depends on, and lets those that
 * depend on it begin. */
static __inline__ __attribute__((always_inline, device)) void cudaGridDependencySynchronize(void)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    __asm__ volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
static __inline__ __attribute__((always_inline, device)) void
cudaTriggerProgrammaticLaunchCompletion(void)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    __asm__ volatile("griddepcontrol.launch_dependents;" :::);
#endif
}

/* Streams that only device code has: after the parent, and with nobody waiting. */
#define cudaStreamTailLaunch                  ((cudaStream_t)0x3)
#define cudaStreamFireAndForget               ((cudaStream_t)0x4)
#define cudaStreamGraphTailLaunch             ((cudaStream_t)0x0100000000000000)
#define cudaStreamGraphFireAndForget          ((cudaStream_t)0x0200000000000000)
#define cudaStreamGraphFireAndForgetAsSibling ((cudaStream_t)0x0300000000000000)

/* A compiler that knows no CUDA cannot tell them from the host's. */
#if !defined(WEIR_HOST_FRONTEND)

extern "C" {
__device__ cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attr, int device);
__device__ cudaError_t cudaDeviceGetLimit(size_t *pValue, enum cudaLimit limit);
__device__ cudaError_t cudaDeviceGetCacheConfig(enum cudaFuncCache *pCacheConfig);
__device__ cudaError_t cudaDeviceGetSharedMemConfig(enum cudaSharedMemConfig *pConfig);
/* Waits for all that the calling block has launched so far. GPUs lost it with sm_90, and programs
 * for those before have to ask for it, as in the "CUDA C++ Programming Guide" (dynamic parallelism,
 * first generation). */
#if defined(CUDA_FORCE_CDP1_IF_SUPPORTED) && (!defined(__CUDA_ARCH__) || __CUDA_ARCH__ < 900)
#define __WEIR_NEWER(name)
/* In the bytes of shared memory of a launch: it is one of the first generation. */
#define __WEIR_GENERATION ((size_t)1 << 63)
__device__ cudaError_t cudaDeviceSynchronize(void);
/* The name by which CUB calls it. */
static __inline__ __attribute__((always_inline, nodebug, device)) cudaError_t
__cudaDeviceSynchronizeDeprecationAvoidance(void)
{
    return cudaDeviceSynchronize();
}
#else
#define __WEIR_GENERATION  ((size_t)0)
/* Streams and events are the grid's in the newer generation, the block's in the first: their names
 * in PTX tell which is meant. */
#define __WEIR_NEWER(name) __asm__("__cudaCDP2" name)
/* Declared for the host, so that templates which mention it compile as long as no kernel calls it.
 */
__host__ cudaError_t __cudaDeviceSynchronizeDeprecationAvoidance(void);
#endif
__device__ cudaError_t cudaGetLastError(void);
__device__ cudaError_t cudaPeekAtLastError(void);
__device__ const char *cudaGetErrorString(cudaError_t error);
__device__ const char *cudaGetErrorName(cudaError_t error);
__device__ cudaError_t cudaGetDeviceCount(int *count);
__device__ cudaError_t cudaGetDevice(int *device);
__device__ cudaError_t cudaStreamCreateWithFlags(cudaStream_t *pStream, unsigned int flags)
    __WEIR_NEWER("StreamCreateWithFlags");
__device__ cudaError_t cudaStreamDestroy(cudaStream_t stream);
__device__ cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event,
                                           unsigned int flags = 0);
__device__ cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags)
    __WEIR_NEWER("EventCreateWithFlags");
__device__ cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = 0);
__device__ cudaError_t cudaEventDestroy(cudaEvent_t event);
__device__ cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attr, const void *func);
__device__ cudaError_t cudaFree(void *devPtr);
__device__ cudaError_t cudaMalloc(void **devPtr, size_t size);
__device__ cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t count,
                                       enum cudaMemcpyKind kind, cudaStream_t stream = 0);
__device__ cudaError_t cudaMemcpy2DAsync(void *dst, size_t dpitch, const void *src, size_t spitch,
                                         size_t width, size_t height, enum cudaMemcpyKind kind,
                                         cudaStream_t stream = 0);
__device__ cudaError_t cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *p,
                                         cudaStream_t stream = 0);
__device__ cudaError_t cudaMemsetAsync(void *devPtr, int value, size_t count,
                                       cudaStream_t stream = 0);
__device__ cudaError_t cudaMemset2DAsync(void *devPtr, size_t pitch, int value, size_t width,
                                         size_t height, cudaStream_t stream = 0);
__device__ cudaError_t cudaMemset3DAsync(struct cudaPitchedPtr pitchedDevPtr, int value,
                                         struct cudaExtent extent, cudaStream_t stream = 0);
__device__ cudaError_t cudaRuntimeGetVersion(int *runtimeVersion);
__device__ cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *numBlocks,
                                                                     const void *func,
                                                                     int blockSize,
                                                                     size_t dynamicSmemSize);
__device__ cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int *numBlocks, const void *func, int blockSize, size_t dynamicSmemSize, unsigned int flags);
/* Decides what a conditional node of the graph that runs will do. */
__device__ void cudaGraphSetConditional(cudaGraphConditionalHandle handle, unsigned int value);
/* Launches a graph, instantiated for launches from the device, from a kernel of a graph: in one of
 * the streams for graphs. */
__device__ cudaError_t cudaGraphLaunch(cudaGraphExec_t graphExec, cudaStream_t stream);
/* Space for a launch's arguments, and the launch: what a compiler makes of <<<>>> in device code.
 */
__device__ void *cudaGetParameterBuffer(size_t alignment, size_t size);
__device__ void *cudaGetParameterBufferV2(void *func, dim3 gridDimension, dim3 blockDimension,
                                          unsigned int sharedMemSize);
__device__ cudaError_t cudaLaunchDevice(void *func, void *parameterBuffer, dim3 gridDimension,
                                        dim3 blockDimension, unsigned int sharedMemSize,
                                        cudaStream_t stream);
__device__ cudaError_t cudaLaunchDeviceV2(void *parameterBuffer, cudaStream_t stream);

/* The configuration of the calling thread's next launch, which is its next call of a kernel
 * (tools/weircc/source/launches.h). Here and below both sides are named, since these are also in
 * host functions, which the device pass reads and makes no code of. */
__host__ __device__ void __weir_launch_configure(unsigned gridX, unsigned gridY, unsigned gridZ,
                                                 unsigned blockX, unsigned blockY, unsigned blockZ,
                                                 size_t sharedMem, cudaStream_t stream);
}

/* The graph that the calling kernel is a node of, NULL: none. */
static __inline__ __attribute__((always_inline, nodebug, device)) cudaGraphExec_t
cudaGetCurrentGraphExec(void)
{
    unsigned long long exec;
    __asm__("mov.u64 %0, %%current_graph_exec;" : "=l"(exec));
    return (cudaGraphExec_t)exec;
}

/* What <<<>>> in device code becomes for clang. */
static __inline__ __attribute__((always_inline, host, device)) void
__weir_launch(dim3 gridDim, dim3 blockDim, size_t sharedMem = 0, cudaStream_t stream = 0)
{
    __weir_launch_configure(gridDim.x, gridDim.y, gridDim.z, blockDim.x, blockDim.y, blockDim.z,
                            sharedMem | __WEIR_GENERATION, stream);
}

/* After the call of the kernel: by this, code for GPUs tells that call from those that its
 * arguments make. */
static __inline__ __attribute__((always_inline, host, device)) void __weir_launched(void) {}

/* Typed forms. */
template <typename T>
static __inline__ __attribute__((always_inline, nodebug, device)) cudaError_t cudaMalloc(T **devPtr,
                                                                                size_t size)
{
    return ::cudaMalloc((void **)(void *)devPtr, size);
}

template <typename T>
static __inline__ __attribute__((always_inline, nodebug, device)) cudaError_t
cudaFuncGetAttributes(struct cudaFuncAttributes *attr, T *entry)
{
    return ::cudaFuncGetAttributes(attr, (const void *)entry);
}

template <typename T>
static __inline__ __attribute__((always_inline, nodebug, device)) cudaError_t
cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *numBlocks, T func, int blockSize,
                                              size_t dynamicSmemSize)
{
    return ::cudaOccupancyMaxActiveBlocksPerMultiprocessor(numBlocks, (const void *)func, blockSize,
                                                           dynamicSmemSize);
}

template <typename T>
static __inline__ __attribute__((always_inline, nodebug, device)) cudaError_t
cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *numBlocks, T func, int blockSize,
                                                       size_t dynamicSmemSize, unsigned int flags)
{
    return ::cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        numBlocks, (const void *)func, blockSize, dynamicSmemSize, flags);
}

#endif

#endif

#endif
