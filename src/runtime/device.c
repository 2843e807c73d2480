/* device: what a device is: attributes, properties, limits, position on the bus, peers. */
#define WEIR_LEGACY_API 1 /* all fields of the properties */
#include "runtime/internal.h"

#include <string.h>

static cudaError_t attribute(int *value, enum cudaDeviceAttr attr, int device)
{
    CUdevice handle;

    RT_CHECK(value, cudaErrorInvalidValue);
    RT_TRY(rt_check_device(device, &handle));
    CU_TRY(CU(cuDeviceGetAttribute, value, (CUdevice_attribute)attr, handle));
    return cudaSuccess;
}

PUBLIC cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attr, int device)
{
    return done(attribute(value, attr, device));
}

/* Properties that are attributes: where each goes. Those of size_t are marked. */
static const struct {
    size_t offset;
    enum cudaDeviceAttr attr;
    bool wide;
} property_table[] = {
#define INT(field, attr)  {offsetof(struct cudaDeviceProp, field), cudaDevAttr##attr, false}
#define SIZE(field, attr) {offsetof(struct cudaDeviceProp, field), cudaDevAttr##attr, true}
    SIZE(sharedMemPerBlock, MaxSharedMemoryPerBlock),
    INT(regsPerBlock, MaxRegistersPerBlock),
    INT(warpSize, WarpSize),
    SIZE(memPitch, MaxPitch),
    INT(maxThreadsPerBlock, MaxThreadsPerBlock),
    INT(maxThreadsDim[0], MaxBlockDimX),
    INT(maxThreadsDim[1], MaxBlockDimY),
    INT(maxThreadsDim[2], MaxBlockDimZ),
    INT(maxGridSize[0], MaxGridDimX),
    INT(maxGridSize[1], MaxGridDimY),
    INT(maxGridSize[2], MaxGridDimZ),
    SIZE(totalConstMem, TotalConstantMemory),
    INT(major, ComputeCapabilityMajor),
    INT(minor, ComputeCapabilityMinor),
    SIZE(textureAlignment, TextureAlignment),
    SIZE(texturePitchAlignment, TexturePitchAlignment),
    INT(multiProcessorCount, MultiProcessorCount),
    INT(integrated, Integrated),
    INT(canMapHostMemory, CanMapHostMemory),
    INT(maxTexture1D, MaxTexture1DWidth),
    INT(maxTexture1DMipmap, MaxTexture1DMipmappedWidth),
    INT(maxTexture2D[0], MaxTexture2DWidth),
    INT(maxTexture2D[1], MaxTexture2DHeight),
    INT(maxTexture2DMipmap[0], MaxTexture2DMipmappedWidth),
    INT(maxTexture2DMipmap[1], MaxTexture2DMipmappedHeight),
    INT(maxTexture2DLinear[0], MaxTexture2DLinearWidth),
    INT(maxTexture2DLinear[1], MaxTexture2DLinearHeight),
    INT(maxTexture2DLinear[2], MaxTexture2DLinearPitch),
    INT(maxTexture2DGather[0], MaxTexture2DGatherWidth),
    INT(maxTexture2DGather[1], MaxTexture2DGatherHeight),
    INT(maxTexture3D[0], MaxTexture3DWidth),
    INT(maxTexture3D[1], MaxTexture3DHeight),
    INT(maxTexture3D[2], MaxTexture3DDepth),
    INT(maxTexture3DAlt[0], MaxTexture3DWidthAlt),
    INT(maxTexture3DAlt[1], MaxTexture3DHeightAlt),
    INT(maxTexture3DAlt[2], MaxTexture3DDepthAlt),
    INT(maxTextureCubemap, MaxTextureCubemapWidth),
    INT(maxTexture1DLayered[0], MaxTexture1DLayeredWidth),
    INT(maxTexture1DLayered[1], MaxTexture1DLayeredLayers),
    INT(maxTexture2DLayered[0], MaxTexture2DLayeredWidth),
    INT(maxTexture2DLayered[1], MaxTexture2DLayeredHeight),
    INT(maxTexture2DLayered[2], MaxTexture2DLayeredLayers),
    INT(maxTextureCubemapLayered[0], MaxTextureCubemapLayeredWidth),
    INT(maxTextureCubemapLayered[1], MaxTextureCubemapLayeredLayers),
    INT(maxSurface1D, MaxSurface1DWidth),
    INT(maxSurface2D[0], MaxSurface2DWidth),
    INT(maxSurface2D[1], MaxSurface2DHeight),
    INT(maxSurface3D[0], MaxSurface3DWidth),
    INT(maxSurface3D[1], MaxSurface3DHeight),
    INT(maxSurface3D[2], MaxSurface3DDepth),
    INT(maxSurface1DLayered[0], MaxSurface1DLayeredWidth),
    INT(maxSurface1DLayered[1], MaxSurface1DLayeredLayers),
    INT(maxSurface2DLayered[0], MaxSurface2DLayeredWidth),
    INT(maxSurface2DLayered[1], MaxSurface2DLayeredHeight),
    INT(maxSurface2DLayered[2], MaxSurface2DLayeredLayers),
    INT(maxSurfaceCubemap, MaxSurfaceCubemapWidth),
    INT(maxSurfaceCubemapLayered[0], MaxSurfaceCubemapLayeredWidth),
    INT(maxSurfaceCubemapLayered[1], MaxSurfaceCubemapLayeredLayers),
    SIZE(surfaceAlignment, SurfaceAlignment),
    INT(concurrentKernels, ConcurrentKernels),
    INT(ECCEnabled, EccEnabled),
    INT(pciBusID, PciBusId),
    INT(pciDeviceID, PciDeviceId),
    INT(pciDomainID, PciDomainId),
    INT(tccDriver, TccDriver),
    INT(asyncEngineCount, AsyncEngineCount),
    INT(unifiedAddressing, UnifiedAddressing),
    INT(memoryBusWidth, GlobalMemoryBusWidth),
    INT(l2CacheSize, L2CacheSize),
    INT(persistingL2CacheMaxSize, MaxPersistingL2CacheSize),
    INT(maxThreadsPerMultiProcessor, MaxThreadsPerMultiProcessor),
    INT(streamPrioritiesSupported, StreamPrioritiesSupported),
    INT(globalL1CacheSupported, GlobalL1CacheSupported),
    INT(localL1CacheSupported, LocalL1CacheSupported),
    SIZE(sharedMemPerMultiprocessor, MaxSharedMemoryPerMultiprocessor),
    INT(regsPerMultiprocessor, MaxRegistersPerMultiprocessor),
    INT(managedMemory, ManagedMemory),
    INT(isMultiGpuBoard, IsMultiGpuBoard),
    INT(multiGpuBoardGroupID, MultiGpuBoardGroupID),
    INT(hostNativeAtomicSupported, HostNativeAtomicSupported),
    INT(pageableMemoryAccess, PageableMemoryAccess),
    INT(concurrentManagedAccess, ConcurrentManagedAccess),
    INT(computePreemptionSupported, ComputePreemptionSupported),
    INT(canUseHostPointerForRegisteredMem, CanUseHostPointerForRegisteredMem),
    INT(cooperativeLaunch, CooperativeLaunch),
    SIZE(sharedMemPerBlockOptin, MaxSharedMemoryPerBlockOptin),
    INT(pageableMemoryAccessUsesHostPageTables, PageableMemoryAccessUsesHostPageTables),
    INT(directManagedMemAccessFromHost, DirectManagedMemAccessFromHost),
    INT(maxBlocksPerMultiProcessor, MaxBlocksPerMultiprocessor),
    INT(accessPolicyMaxWindowSize, MaxAccessPolicyWindowSize),
    SIZE(reservedSharedMemPerBlock, ReservedSharedMemoryPerBlock),
    INT(hostRegisterSupported, HostRegisterSupported),
    INT(sparseCudaArraySupported, SparseCudaArraySupported),
    INT(hostRegisterReadOnlySupported, HostRegisterReadOnlySupported),
    INT(timelineSemaphoreInteropSupported, TimelineSemaphoreInteropSupported),
    INT(memoryPoolsSupported, MemoryPoolsSupported),
    INT(gpuDirectRDMASupported, GPUDirectRDMASupported),
    INT(gpuDirectRDMAFlushWritesOptions, GPUDirectRDMAFlushWritesOptions),
    INT(gpuDirectRDMAWritesOrdering, GPUDirectRDMAWritesOrdering),
    INT(memoryPoolSupportedHandleTypes, MemoryPoolSupportedHandleTypes),
    INT(deferredMappingCudaArraySupported, DeferredMappingCudaArraySupported),
    INT(ipcEventSupported, IpcEventSupport),
    INT(clusterLaunch, ClusterLaunch),
    INT(deviceNumaConfig, NumaConfig),
    INT(deviceNumaId, NumaId),
    INT(mpsEnabled, MpsEnabled),
    INT(hostNumaId, HostNumaId),
    INT(gpuPciDeviceID, GpuPciDeviceId),
    INT(gpuPciSubsystemID, GpuPciSubsystemId),
    INT(hostNumaMultinodeIpcSupported, HostNumaMultinodeIpcSupported),
    INT(clockRate, ClockRate),
    INT(deviceOverlap, GpuOverlap),
    INT(kernelExecTimeoutEnabled, KernelExecTimeout),
    INT(computeMode, ComputeMode),
    INT(maxTexture1DLinear, MaxTexture1DLinearWidth),
    INT(memoryClockRate, MemoryClockRate),
    INT(singleToDoublePrecisionPerfRatio, SingleToDoublePrecisionPerfRatio),
#undef INT
#undef SIZE
};

static cudaError_t properties(struct cudaDeviceProp *prop, int device)
{
    CUdevice handle;
    CUuuid uuid;

    RT_CHECK(prop, cudaErrorInvalidValue);
    RT_TRY(rt_check_device(device, &handle));
    memset(prop, 0, sizeof *prop);
    CU_TRY(CU(cuDeviceGetName, prop->name, sizeof prop->name, handle));
    CU_TRY(CU(cuDeviceTotalMem_v2, &prop->totalGlobalMem, handle));
    CU_TRY(CU(cuDeviceGetUuid_v2, &uuid, handle));
    memcpy(&prop->uuid, &uuid, sizeof prop->uuid);
    for (size_t i = 0; i < COUNT(property_table); i++) {
        char *field = (char *)prop + property_table[i].offset;
        int value = 0;
        CUresult result =
            CU(cuDeviceGetAttribute, &value, (CUdevice_attribute)property_table[i].attr, handle);

        /* One that an older driver does not know stays 0. */
        if (result != CUDA_SUCCESS && result != CUDA_ERROR_INVALID_VALUE)
            return rt_error(result);
        if (property_table[i].wide)
            *(size_t *)field = (size_t)value;
        else
            *(int *)field = value;
    }
    return cudaSuccess;
}

PUBLIC cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device)
{
    return done(properties(prop, device));
}

/* How many of the wishes (fields that are not zero) a device grants. */
static int score(const struct cudaDeviceProp *wish, const struct cudaDeviceProp *have)
{
    int points = 0;

    points += wish->name[0] && strcmp(wish->name, have->name) == 0;
    points += wish->major && (have->major > wish->major ||
                              (have->major == wish->major && have->minor >= wish->minor));
    points += wish->totalGlobalMem && have->totalGlobalMem >= wish->totalGlobalMem;
    points += wish->multiProcessorCount && have->multiProcessorCount >= wish->multiProcessorCount;
    points += wish->sharedMemPerBlock && have->sharedMemPerBlock >= wish->sharedMemPerBlock;
    points += wish->maxThreadsPerBlock && have->maxThreadsPerBlock >= wish->maxThreadsPerBlock;
    points += wish->regsPerBlock && have->regsPerBlock >= wish->regsPerBlock;
    points += wish->warpSize && have->warpSize == wish->warpSize;
    points += wish->concurrentKernels && have->concurrentKernels;
    points += wish->managedMemory && have->managedMemory;
    return points;
}

static cudaError_t choose(int *device, const struct cudaDeviceProp *wish)
{
    int count, best = -1;

    RT_CHECK(device != NULL && wish != NULL, cudaErrorInvalidValue);
    RT_TRY(rt_device_count(&count));
    for (int i = 0; i < count; i++) {
        struct cudaDeviceProp have;
        int points;
        RT_TRY(properties(&have, i));
        points = score(wish, &have);
        if (points > best) {
            best = points;
            *device = i;
        }
    }
    return cudaSuccess;
}

PUBLIC cudaError_t cudaChooseDevice(int *device, const struct cudaDeviceProp *prop)
{
    return done(choose(device, prop));
}

/* ---- limits and preferences ---- */

static cudaError_t set_limit(enum cudaLimit limit, size_t value)
{
    RT_TRY(rt_context());
    CU_TRY(CU(cuCtxSetLimit, (CUlimit)limit, value));
    return cudaSuccess;
}

PUBLIC cudaError_t cudaDeviceSetLimit(enum cudaLimit limit, size_t value)
{
    return done(set_limit(limit, value));
}

static cudaError_t get_limit(size_t *value, enum cudaLimit limit)
{
    RT_CHECK(value, cudaErrorInvalidValue);
    RT_TRY(rt_context());
    CU_TRY(CU(cuCtxGetLimit, value, (CUlimit)limit));
    return cudaSuccess;
}

PUBLIC cudaError_t cudaDeviceGetLimit(size_t *pValue, enum cudaLimit limit)
{
    return done(get_limit(pValue, limit));
}

static cudaError_t get_cache_config(enum cudaFuncCache *config)
{
    CUfunc_cache value;

    RT_CHECK(config, cudaErrorInvalidValue);
    RT_TRY(rt_context());
    CU_TRY(CU(cuCtxGetCacheConfig, &value));
    *config = (enum cudaFuncCache)value;
    return cudaSuccess;
}

PUBLIC cudaError_t cudaDeviceGetCacheConfig(enum cudaFuncCache *pCacheConfig)
{
    return done(get_cache_config(pCacheConfig));
}

static cudaError_t set_cache_config(enum cudaFuncCache config)
{
    RT_TRY(rt_context());
    CU_TRY(CU(cuCtxSetCacheConfig, (CUfunc_cache)config));
    return cudaSuccess;
}

PUBLIC cudaError_t cudaDeviceSetCacheConfig(enum cudaFuncCache cacheConfig)
{
    return done(set_cache_config(cacheConfig));
}

/* The width of shared memory banks is fixed on every device since compute capability 5. */
PUBLIC cudaError_t cudaDeviceGetSharedMemConfig(enum cudaSharedMemConfig *pConfig)
{
    if (pConfig == NULL)
        return done(cudaErrorInvalidValue);
    *pConfig = cudaSharedMemBankSizeFourByte;
    return done(rt_healthy());
}

PUBLIC cudaError_t cudaDeviceSetSharedMemConfig(enum cudaSharedMemConfig config)
{
    if (config > cudaSharedMemBankSizeEightByte)
        return done(cudaErrorInvalidValue);
    return done(rt_healthy());
}

static cudaError_t priority_range(int *least, int *greatest)
{
    RT_TRY(rt_context());
    CU_TRY(CU(cuCtxGetStreamPriorityRange, least, greatest));
    return cudaSuccess;
}

PUBLIC cudaError_t cudaDeviceGetStreamPriorityRange(int *leastPriority, int *greatestPriority)
{
    return done(priority_range(leastPriority, greatestPriority));
}

static cudaError_t reset_l2(void)
{
    RT_TRY(rt_context());
    CU_TRY(CU(cuCtxResetPersistingL2Cache));
    return cudaSuccess;
}

PUBLIC cudaError_t cudaCtxResetPersistingL2Cache(void) { return done(reset_l2()); }

static cudaError_t linear_width(size_t *width, const struct cudaChannelFormatDesc *desc, int device)
{
    CUarray_format format;
    unsigned channels;
    CUdevice handle;

    RT_CHECK(width != NULL && desc != NULL, cudaErrorInvalidValue);
    RT_TRY(rt_check_device(device, &handle));
    RT_TRY(rt_format_from_desc(desc, &format, &channels));
    CU_TRY(CU(cuDeviceGetTexture1DLinearMaxWidth, width, format, channels, handle));
    return cudaSuccess;
}

PUBLIC cudaError_t cudaDeviceGetTexture1DLinearMaxWidth(size_t *maxWidthInElements,
                                                        const struct cudaChannelFormatDesc *fmtDesc,
                                                        int device)
{
    return done(linear_width(maxWidthInElements, fmtDesc, device));
}

/* ---- position on the bus ---- */

static cudaError_t by_bus_id(int *device, const char *id)
{
    CUdevice handle;
    int count;

    RT_CHECK(device != NULL && id != NULL, cudaErrorInvalidValue);
    RT_TRY(rt_device_count(&count));
    CU_TRY(CU(cuDeviceGetByPCIBusId, &handle, id));
    *device = (int)handle;
    return cudaSuccess;
}

PUBLIC cudaError_t cudaDeviceGetByPCIBusId(int *device, const char *pciBusId)
{
    return done(by_bus_id(device, pciBusId));
}

static cudaError_t bus_id(char *id, int len, int device)
{
    CUdevice handle;

    /* "0000:00:00.0" and its end must fit */
    RT_CHECK(id != NULL && len >= 13, cudaErrorInvalidValue);
    RT_TRY(rt_check_device(device, &handle));
    CU_TRY(CU(cuDeviceGetPCIBusId, id, len, handle));
    return cudaSuccess;
}

PUBLIC cudaError_t cudaDeviceGetPCIBusId(char *pciBusId, int len, int device)
{
    return done(bus_id(pciBusId, len, device));
}

/* ---- peers ---- */

static cudaError_t p2p_attribute(int *value, enum cudaDeviceP2PAttr attr, int src, int dst)
{
    CUdevice from, to;

    RT_CHECK(value, cudaErrorInvalidValue);
    RT_TRY(rt_check_device(src, &from));
    RT_TRY(rt_check_device(dst, &to));
    CU_TRY(CU(cuDeviceGetP2PAttribute, value, (CUdevice_P2PAttribute)attr, from, to));
    return cudaSuccess;
}

PUBLIC cudaError_t cudaDeviceGetP2PAttribute(int *value, enum cudaDeviceP2PAttr attr, int srcDevice,
                                             int dstDevice)
{
    return done(p2p_attribute(value, attr, srcDevice, dstDevice));
}

static cudaError_t can_access_peer(int *can, int device, int peer)
{
    CUdevice from, to;

    RT_CHECK(can, cudaErrorInvalidValue);
    RT_TRY(rt_check_device(device, &from));
    RT_TRY(rt_check_device(peer, &to));
    CU_TRY(CU(cuDeviceCanAccessPeer, can, from, to));
    return cudaSuccess;
}

PUBLIC cudaError_t cudaDeviceCanAccessPeer(int *canAccessPeer, int device, int peerDevice)
{
    return done(can_access_peer(canAccessPeer, device, peerDevice));
}

static cudaError_t enable_peer(int peer, unsigned flags)
{
    CUcontext context;
    int own;

    RT_CHECK(flags == cudaPeerAccessDefault, cudaErrorInvalidValue);
    RT_TRY(rt_context());
    RT_TRY(rt_primary(peer, &context));
    RT_TRY(rt_device(&own));
    RT_CHECK(peer != own, cudaErrorPeerAccessUnsupported);
    CU_TRY(CU(cuCtxEnablePeerAccess, context, 0));
    return cudaSuccess;
}

PUBLIC cudaError_t cudaDeviceEnablePeerAccess(int peerDevice, unsigned int flags)
{
    return done(enable_peer(peerDevice, flags));
}

static cudaError_t disable_peer(int peer)
{
    CUcontext context;

    RT_TRY(rt_context());
    RT_TRY(rt_primary(peer, &context));
    CU_TRY(CU(cuCtxDisablePeerAccess, context));
    return cudaSuccess;
}

PUBLIC cudaError_t cudaDeviceDisablePeerAccess(int peerDevice)
{
    return done(disable_peer(peerDevice));
}
