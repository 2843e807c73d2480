/* The same in C++: overloads beside the functions of today, and texture and surface variables by
 * reference. */
#ifndef WEIR_LEGACY_API_HPP
#define WEIR_LEGACY_API_HPP

#include "api.h"

#define WEIR_INLINE static __inline__ __host__ cudaError_t

/* ---- devices by their numbers ---- */

WEIR_INLINE cudaMemAdvise(const void *devPtr, size_t count, enum cudaMemoryAdvise advice,
                          int device)
{
    return ::cudaMemAdvise(devPtr, count, advice, weir_location(device));
}
WEIR_INLINE cudaMemPrefetchAsync(const void *devPtr, size_t count, int dstDevice,
                                 cudaStream_t stream = 0)
{
    return ::cudaMemPrefetchAsync(devPtr, count, weir_location(dstDevice), 0, stream);
}

/* ---- launches in steps ---- */

WEIR_INLINE cudaConfigureCall(dim3 gridDim, dim3 blockDim, size_t sharedMem = 0)
{
    return ::cudaConfigureCall(gridDim, blockDim, sharedMem, 0);
}
template <class T> WEIR_INLINE cudaSetupArgument(T arg, size_t offset)
{
    return ::cudaSetupArgument((const void *)&arg, sizeof(T), offset);
}
template <class T> WEIR_INLINE cudaLaunch(T *func) { return ::cudaLaunch((const void *)func); }

/* ---- symbols, which may be strings with their names ---- */

WEIR_INLINE cudaMemcpyToSymbol(const char *const &symbol, const void *src, size_t count,
                               size_t offset = 0, enum cudaMemcpyKind kind = cudaMemcpyHostToDevice)
{
    return ::cudaMemcpyToSymbol(weir_symbol_named(&symbol), src, count, offset, kind);
}
WEIR_INLINE cudaMemcpyToSymbolAsync(const char *const &symbol, const void *src, size_t count,
                                    size_t offset = 0,
                                    enum cudaMemcpyKind kind = cudaMemcpyHostToDevice,
                                    cudaStream_t stream = 0)
{
    return ::cudaMemcpyToSymbolAsync(weir_symbol_named(&symbol), src, count, offset, kind, stream);
}
WEIR_INLINE cudaMemcpyFromSymbol(void *dst, const char *const &symbol, size_t count,
                                 size_t offset = 0,
                                 enum cudaMemcpyKind kind = cudaMemcpyDeviceToHost)
{
    return ::cudaMemcpyFromSymbol(dst, weir_symbol_named(&symbol), count, offset, kind);
}
WEIR_INLINE cudaMemcpyFromSymbolAsync(void *dst, const char *const &symbol, size_t count,
                                      size_t offset = 0,
                                      enum cudaMemcpyKind kind = cudaMemcpyDeviceToHost,
                                      cudaStream_t stream = 0)
{
    return ::cudaMemcpyFromSymbolAsync(dst, weir_symbol_named(&symbol), count, offset, kind,
                                       stream);
}
WEIR_INLINE cudaGetSymbolAddress(void **devPtr, const char *const &symbol)
{
    return ::cudaGetSymbolAddress(devPtr, weir_symbol_named(&symbol));
}
WEIR_INLINE cudaGetSymbolSize(size_t *size, const char *const &symbol)
{
    return ::cudaGetSymbolSize(size, weir_symbol_named(&symbol));
}

/* ---- graphs without data of edges ---- */

WEIR_INLINE cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
                                     const cudaGraphNode_t *to, size_t numDependencies)
{
    return ::cudaGraphAddDependencies(graph, from, to, nullptr, numDependencies);
}
WEIR_INLINE cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
                                        const cudaGraphNode_t *to, size_t numDependencies)
{
    return ::cudaGraphRemoveDependencies(graph, from, to, nullptr, numDependencies);
}
WEIR_INLINE cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to,
                              size_t *numEdges)
{
    return ::cudaGraphGetEdges(graph, from, to, nullptr, numEdges);
}
WEIR_INLINE cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t *pDependencies,
                                         size_t *pNumDependencies)
{
    return ::cudaGraphNodeGetDependencies(node, pDependencies, nullptr, pNumDependencies);
}
WEIR_INLINE cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t *pDependentNodes,
                                           size_t *pNumDependentNodes)
{
    return ::cudaGraphNodeGetDependentNodes(node, pDependentNodes, nullptr, pNumDependentNodes);
}
WEIR_INLINE cudaGraphAddNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                             const cudaGraphNode_t *pDependencies, size_t numDependencies,
                             struct cudaGraphNodeParams *nodeParams)
{
    return ::cudaGraphAddNode(pGraphNode, graph, pDependencies, nullptr, numDependencies,
                              nodeParams);
}
WEIR_INLINE cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t *dependencies,
                                                size_t numDependencies, unsigned int flags = 0)
{
    return ::cudaStreamUpdateCaptureDependencies(stream, dependencies, nullptr, numDependencies,
                                                 flags);
}
WEIR_INLINE cudaStreamGetCaptureInfo(cudaStream_t stream,
                                     enum cudaStreamCaptureStatus *captureStatus_out,
                                     unsigned long long *id_out)
{
    return ::cudaStreamGetCaptureInfo(stream, captureStatus_out, id_out, nullptr, nullptr, nullptr,
                                      nullptr);
}
WEIR_INLINE cudaStreamGetCaptureInfo_v2(cudaStream_t stream,
                                        enum cudaStreamCaptureStatus *captureStatus_out,
                                        unsigned long long *id_out = nullptr,
                                        cudaGraph_t *graph_out = nullptr,
                                        const cudaGraphNode_t **dependencies_out = nullptr,
                                        size_t *numDependencies_out = nullptr)
{
    return ::cudaStreamGetCaptureInfo(stream, captureStatus_out, id_out, graph_out,
                                      dependencies_out, nullptr, numDependencies_out);
}

#if defined(__CUDACC__)

/* ---- texture and surface variables ---- */

#if defined(WEIR_HOST_FRONTEND) /* a compiler that knows no CUDA */
#define WEIR_TEXTURE_TYPE
#define WEIR_SURFACE_TYPE
#else
#define WEIR_TEXTURE_TYPE __attribute__((device_builtin_texture_type))
#define WEIR_SURFACE_TYPE __attribute__((device_builtin_surface_type))
#endif

/* A variable of the device that the host describes: clang makes a texture reference of it there,
 * and a handle where it is passed. */
template <class T, int texType = cudaTextureType1D,
          enum cudaTextureReadMode mode = cudaReadModeElementType>
struct WEIR_TEXTURE_TYPE texture : public textureReference {
    __host__ texture(int norm = 0, enum cudaTextureFilterMode fMode = cudaFilterModePoint,
                     enum cudaTextureAddressMode aMode = cudaAddressModeClamp)
        : texture(norm, fMode, aMode, cudaCreateChannelDesc<T>())
    {
    }
    __host__ texture(int norm, enum cudaTextureFilterMode fMode, enum cudaTextureAddressMode aMode,
                     struct cudaChannelFormatDesc desc)
        : textureReference()
    {
        normalized = norm;
        filterMode = fMode;
        addressMode[0] = addressMode[1] = addressMode[2] = aMode;
        channelDesc = desc;
        __weirFractions = mode == cudaReadModeNormalizedFloat;
    }
};

template <class T, int dim = cudaSurfaceType1D>
struct WEIR_SURFACE_TYPE surface : public surfaceReference {
    __host__ surface() : surfaceReference() { channelDesc = cudaCreateChannelDesc<T>(); }
};
template <int dim>
struct WEIR_SURFACE_TYPE surface<void, dim> : public surfaceReference {
    __host__ surface() : surfaceReference() {}
};

#define WEIR_BIND      template <class T, int D, enum cudaTextureReadMode M> WEIR_INLINE
#define WEIR_BIND_TYPE const struct texture<T, D, M> &tex

WEIR_INLINE cudaBindTexture(size_t *offset, const struct textureReference *texref,
                            const void *devPtr, const struct cudaChannelFormatDesc *desc)
{
    return ::cudaBindTexture(offset, texref, devPtr, desc, 0xFFFFFFFFu);
}
WEIR_BIND cudaBindTexture(size_t *offset, WEIR_BIND_TYPE, const void *devPtr,
                          const struct cudaChannelFormatDesc &desc, size_t size = 0xFFFFFFFFu)
{
    return ::cudaBindTexture(offset, &tex, devPtr, &desc, size);
}
WEIR_BIND cudaBindTexture(size_t *offset, WEIR_BIND_TYPE, const void *devPtr,
                          size_t size = 0xFFFFFFFFu)
{
    return ::cudaBindTexture(offset, &tex, devPtr, &tex.channelDesc, size);
}
WEIR_BIND cudaBindTexture2D(size_t *offset, WEIR_BIND_TYPE, const void *devPtr,
                            const struct cudaChannelFormatDesc &desc, size_t width, size_t height,
                            size_t pitch)
{
    return ::cudaBindTexture2D(offset, &tex, devPtr, &desc, width, height, pitch);
}
WEIR_BIND cudaBindTexture2D(size_t *offset, WEIR_BIND_TYPE, const void *devPtr, size_t width,
                            size_t height, size_t pitch)
{
    return ::cudaBindTexture2D(offset, &tex, devPtr, &tex.channelDesc, width, height, pitch);
}
WEIR_BIND cudaBindTextureToArray(WEIR_BIND_TYPE, cudaArray_const_t array,
                                 const struct cudaChannelFormatDesc &desc)
{
    return ::cudaBindTextureToArray(&tex, array, &desc);
}
WEIR_BIND cudaBindTextureToArray(WEIR_BIND_TYPE, cudaArray_const_t array)
{
    struct cudaChannelFormatDesc desc;
    cudaError_t error = ::cudaGetChannelDesc(&desc, array);
    return error == cudaSuccess ? ::cudaBindTextureToArray(&tex, array, &desc) : error;
}
WEIR_BIND cudaBindTextureToMipmappedArray(WEIR_BIND_TYPE, cudaMipmappedArray_const_t mipmappedArray,
                                          const struct cudaChannelFormatDesc &desc)
{
    return ::cudaBindTextureToMipmappedArray(&tex, mipmappedArray, &desc);
}
WEIR_BIND cudaBindTextureToMipmappedArray(WEIR_BIND_TYPE, cudaMipmappedArray_const_t mipmappedArray)
{
    struct cudaChannelFormatDesc desc;
    cudaArray_t level;
    cudaError_t error = ::cudaGetMipmappedArrayLevel(&level, mipmappedArray, 0);
    if (error == cudaSuccess)
        error = ::cudaGetChannelDesc(&desc, level);
    return error == cudaSuccess ? ::cudaBindTextureToMipmappedArray(&tex, mipmappedArray, &desc)
                                : error;
}
WEIR_BIND cudaUnbindTexture(WEIR_BIND_TYPE) { return ::cudaUnbindTexture(&tex); }
WEIR_BIND cudaGetTextureAlignmentOffset(size_t *offset, WEIR_BIND_TYPE)
{
    return ::cudaGetTextureAlignmentOffset(offset, &tex);
}
template <class T, int D>
WEIR_INLINE cudaBindSurfaceToArray(const struct surface<T, D> &surf, cudaArray_const_t array,
                                   const struct cudaChannelFormatDesc &desc)
{
    return ::cudaBindSurfaceToArray(&surf, array, &desc);
}
template <class T, int D>
WEIR_INLINE cudaBindSurfaceToArray(const struct surface<T, D> &surf, cudaArray_const_t array)
{
    struct cudaChannelFormatDesc desc;
    cudaError_t error = ::cudaGetChannelDesc(&desc, array);
    return error == cudaSuccess ? ::cudaBindSurfaceToArray(&surf, array, &desc) : error;
}

#undef WEIR_TEXTURE_TYPE
#undef WEIR_SURFACE_TYPE
#undef WEIR_BIND
#undef WEIR_BIND_TYPE
#endif

#undef WEIR_INLINE
#endif
