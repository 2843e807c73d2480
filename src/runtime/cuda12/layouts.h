/* cuda12/layouts: the types that CUDA 13 changed, as CUDA 12 has them (and 11 has the properties,
 * up to hostRegisterSupported). All others are the same, and so are enumerations. */
#ifndef WEIR_RUNTIME_CUDA12_LAYOUTS_H
#define WEIR_RUNTIME_CUDA12_LAYOUTS_H

#ifndef WEIR_LEGACY_API
#define WEIR_LEGACY_API 1 /* the fields of the properties that CUDA 13 dropped */
#endif
#include "../../../include/driver_types.h"
#include "../../../include/texture_types.h"

/* The properties in their order: F(type, name), A(type, name, count). */
#define CUDA12_PROPERTIES(F, A)                                                                    \
    A(char, name, 256)                                                                             \
    F(cudaUUID_t, uuid)                                                                            \
    A(char, luid, 8)                                                                               \
    F(unsigned, luidDeviceNodeMask)                                                                \
    F(size_t, totalGlobalMem)                                                                      \
    F(size_t, sharedMemPerBlock)                                                                   \
    F(int, regsPerBlock)                                                                           \
    F(int, warpSize)                                                                               \
    F(size_t, memPitch)                                                                            \
    F(int, maxThreadsPerBlock)                                                                     \
    A(int, maxThreadsDim, 3)                                                                       \
    A(int, maxGridSize, 3)                                                                         \
    F(int, clockRate)                                                                              \
    F(size_t, totalConstMem)                                                                       \
    F(int, major)                                                                                  \
    F(int, minor)                                                                                  \
    F(size_t, textureAlignment)                                                                    \
    F(size_t, texturePitchAlignment)                                                               \
    F(int, deviceOverlap)                                                                          \
    F(int, multiProcessorCount)                                                                    \
    F(int, kernelExecTimeoutEnabled)                                                               \
    F(int, integrated)                                                                             \
    F(int, canMapHostMemory)                                                                       \
    F(int, computeMode)                                                                            \
    F(int, maxTexture1D)                                                                           \
    F(int, maxTexture1DMipmap)                                                                     \
    F(int, maxTexture1DLinear)                                                                     \
    A(int, maxTexture2D, 2)                                                                        \
    A(int, maxTexture2DMipmap, 2)                                                                  \
    A(int, maxTexture2DLinear, 3)                                                                  \
    A(int, maxTexture2DGather, 2)                                                                  \
    A(int, maxTexture3D, 3)                                                                        \
    A(int, maxTexture3DAlt, 3)                                                                     \
    F(int, maxTextureCubemap)                                                                      \
    A(int, maxTexture1DLayered, 2)                                                                 \
    A(int, maxTexture2DLayered, 3)                                                                 \
    A(int, maxTextureCubemapLayered, 2)                                                            \
    F(int, maxSurface1D)                                                                           \
    A(int, maxSurface2D, 2)                                                                        \
    A(int, maxSurface3D, 3)                                                                        \
    A(int, maxSurface1DLayered, 2)                                                                 \
    A(int, maxSurface2DLayered, 3)                                                                 \
    F(int, maxSurfaceCubemap)                                                                      \
    A(int, maxSurfaceCubemapLayered, 2)                                                            \
    F(size_t, surfaceAlignment)                                                                    \
    F(int, concurrentKernels)                                                                      \
    F(int, ECCEnabled)                                                                             \
    F(int, pciBusID)                                                                               \
    F(int, pciDeviceID)                                                                            \
    F(int, pciDomainID)                                                                            \
    F(int, tccDriver)                                                                              \
    F(int, asyncEngineCount)                                                                       \
    F(int, unifiedAddressing)                                                                      \
    F(int, memoryClockRate)                                                                        \
    F(int, memoryBusWidth)                                                                         \
    F(int, l2CacheSize)                                                                            \
    F(int, persistingL2CacheMaxSize)                                                               \
    F(int, maxThreadsPerMultiProcessor)                                                            \
    F(int, streamPrioritiesSupported)                                                              \
    F(int, globalL1CacheSupported)                                                                 \
    F(int, localL1CacheSupported)                                                                  \
    F(size_t, sharedMemPerMultiprocessor)                                                          \
    F(int, regsPerMultiprocessor)                                                                  \
    F(int, managedMemory)                                                                          \
    F(int, isMultiGpuBoard)                                                                        \
    F(int, multiGpuBoardGroupID)                                                                   \
    F(int, hostNativeAtomicSupported)                                                              \
    F(int, singleToDoublePrecisionPerfRatio)                                                       \
    F(int, pageableMemoryAccess)                                                                   \
    F(int, concurrentManagedAccess)                                                                \
    F(int, computePreemptionSupported)                                                             \
    F(int, canUseHostPointerForRegisteredMem)                                                      \
    F(int, cooperativeLaunch)                                                                      \
    F(int, cooperativeMultiDeviceLaunch)                                                           \
    F(size_t, sharedMemPerBlockOptin)                                                              \
    F(int, pageableMemoryAccessUsesHostPageTables)                                                 \
    F(int, directManagedMemAccessFromHost)                                                         \
    F(int, maxBlocksPerMultiProcessor)                                                             \
    F(int, accessPolicyMaxWindowSize)                                                              \
    F(size_t, reservedSharedMemPerBlock)                                                           \
    F(int, hostRegisterSupported)                                                                  \
    F(int, sparseCudaArraySupported)                                                               \
    F(int, hostRegisterReadOnlySupported)                                                          \
    F(int, timelineSemaphoreInteropSupported)                                                      \
    F(int, memoryPoolsSupported)                                                                   \
    F(int, gpuDirectRDMASupported)                                                                 \
    F(unsigned, gpuDirectRDMAFlushWritesOptions)                                                   \
    F(int, gpuDirectRDMAWritesOrdering)                                                            \
    F(unsigned, memoryPoolSupportedHandleTypes)                                                    \
    F(int, deferredMappingCudaArraySupported)                                                      \
    F(int, ipcEventSupported)                                                                      \
    F(int, clusterLaunch)                                                                          \
    F(int, unifiedFunctionPointers)

#define CUDA12_FIELD(type, name)        type name;
#define CUDA12_ARRAY(type, name, count) type name[count];
struct cuda12_properties {
    CUDA12_PROPERTIES(CUDA12_FIELD, CUDA12_ARRAY)
    int reserved[63];
};

struct cuda12_pointer {
    enum cudaMemoryType type;
    int device;
    void *devicePointer;
    void *hostPointer;
};

/* Without flags, and no larger than what it may describe. */
struct cuda12_resource {
    enum cudaResourceType resType;
    union {
        char bytes[56];
        void *aligned;
    } res;
};

/* Without fields that are reserved. */
struct cuda12_view {
    enum cudaResourceViewFormat format;
    size_t width, height, depth;
    unsigned firstMipmapLevel, lastMipmapLevel, firstLayer, lastLayer;
};

#endif
