/* The runtime API that CUDA 12 and 13 dropped, for --legacy-api: functions of texture and surface
 * references, symbols by name, devices by number where there are locations now, and graphs without
 * data of edges. What the library must do itself has a name of its own there, so that the library
 * exports what CUDA 13's does. Compiles as C and C++. */
#ifndef WEIR_LEGACY_API_H
#define WEIR_LEGACY_API_H

#include "types.h"

/* Grids over several devices are no more: no device has them. */
#define cudaDevAttrCooperativeMultiDeviceLaunch ((enum cudaDeviceAttr)96)

#define WEIR_IS(name) __asm__("__cudaWeir" name)

#if defined(__cplusplus)
extern "C" {
#endif

/* Kernels read what is bound by the launches that follow. */
cudaError_t cudaBindTexture(size_t *offset, const struct textureReference *texref,
                            const void *devPtr, const struct cudaChannelFormatDesc *desc,
                            size_t size) WEIR_IS("BindTexture");
cudaError_t cudaBindTexture2D(size_t *offset, const struct textureReference *texref,
                              const void *devPtr, const struct cudaChannelFormatDesc *desc,
                              size_t width, size_t height, size_t pitch) WEIR_IS("BindTexture2D");
cudaError_t cudaBindTextureToArray(const struct textureReference *texref, cudaArray_const_t array,
                                   const struct cudaChannelFormatDesc *desc)
    WEIR_IS("BindTextureToArray");
cudaError_t cudaBindTextureToMipmappedArray(const struct textureReference *texref,
                                            cudaMipmappedArray_const_t mipmappedArray,
                                            const struct cudaChannelFormatDesc *desc)
    WEIR_IS("BindTextureToMipmappedArray");
cudaError_t cudaUnbindTexture(const struct textureReference *texref) WEIR_IS("UnbindTexture");
cudaError_t cudaGetTextureAlignmentOffset(size_t *offset, const struct textureReference *texref)
    WEIR_IS("GetTextureAlignmentOffset");
cudaError_t cudaGetTextureReference(const struct textureReference **texref, const void *symbol)
    WEIR_IS("GetTextureReference");
cudaError_t cudaBindSurfaceToArray(const struct surfaceReference *surfref, cudaArray_const_t array,
                                   const struct cudaChannelFormatDesc *desc)
    WEIR_IS("BindSurfaceToArray");
cudaError_t cudaGetSurfaceReference(const struct surfaceReference **surfref, const void *symbol)
    WEIR_IS("GetSurfaceReference");

/* A launch in steps: configuration, arguments at their offsets, kernel. */
cudaError_t cudaConfigureCall(dim3 gridDim, dim3 blockDim, size_t sharedMem, cudaStream_t stream)
    WEIR_IS("ConfigureCall");
cudaError_t cudaSetupArgument(const void *arg, size_t size, size_t offset) WEIR_IS("SetupArgument");
#if defined(__CUDART_API_PER_THREAD_DEFAULT_STREAM)
cudaError_t cudaLaunch(const void *func) WEIR_IS("Launch_ptsz");
#else
cudaError_t cudaLaunch(const void *func) WEIR_IS("Launch");
#endif

/* The variable that `*symbol` is, points to, or names. */
const void *weir_symbol_named(const char *const *symbol) WEIR_IS("SymbolNamed");

/* Doubles of devices that have none: no device of today. */
static __inline__ cudaError_t cudaSetDoubleForDevice(double *d)
{
    (void)d;
    return cudaSuccess;
}
static __inline__ cudaError_t cudaSetDoubleForHost(double *d)
{
    (void)d;
    return cudaSuccess;
}

/* A device by its number, or cudaCpuDeviceId. */
static __inline__ struct cudaMemLocation weir_location(int device)
{
    struct cudaMemLocation location;
    location.type = device == cudaCpuDeviceId ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice;
    location.id = device == cudaCpuDeviceId ? 0 : device;
    return location;
}

#if defined(__cplusplus)
}
#else
/* C has one function of a name, so it is the old one. */
static __inline__ cudaError_t weir_advise(const void *devPtr, size_t count,
                                          enum cudaMemoryAdvise advice, int device)
{
    return cudaMemAdvise(devPtr, count, advice, weir_location(device));
}
static __inline__ cudaError_t weir_prefetch(const void *devPtr, size_t count, int dstDevice,
                                            cudaStream_t stream)
{
    return cudaMemPrefetchAsync(devPtr, count, weir_location(dstDevice), 0, stream);
}
#undef cudaMemPrefetchAsync
#define cudaMemAdvise        weir_advise
#define cudaMemPrefetchAsync weir_prefetch
#endif

#undef WEIR_IS
#endif
