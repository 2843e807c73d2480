/* cudaTypedefs.h: types of pointers to the driver API's functions, for programs that get them from
 * cuGetProcAddress or cudaGetDriverEntryPoint instead of linking libcuda.
 *
 * PFN_cuX is a pointer to the newest form of cuX, which a query for CUDA_VERSION gives;
 * PFN_cuX_v11020 one to the form that CUDA 11.2 brought, which a query for versions from then until
 * the next form gives (CUDA programming guide, "Driver Entry Point Access"). The types follow from
 * the declarations in cuda.h. Compiles as C and C++. */
#ifndef CUDATYPEDEFS_H
#define CUDATYPEDEFS_H

#include "cuda.h"

/* The newest form of a function, and the version that brought it. */
#define WEIR_PFN(name, version)                                                                    \
    typedef __typeof__(name) *PFN_##name##_v##version;                                             \
    typedef PFN_##name##_v##version PFN_##name
/* The only form of a function, where the documentation does not tell since when. */
#define WEIR_PFN_NEWEST(name) typedef __typeof__(name) *PFN_##name

WEIR_PFN(cuArrayDestroy, 2000);
WEIR_PFN(cuCtxAttach, 2000);
WEIR_PFN(cuCtxDetach, 2000);
WEIR_PFN(cuCtxGetDevice, 2000);
WEIR_PFN(cuCtxSynchronize, 2000);
WEIR_PFN(cuDeviceComputeCapability, 2000);
WEIR_PFN(cuDeviceGet, 2000);
WEIR_PFN(cuDeviceGetAttribute, 2000);
WEIR_PFN(cuDeviceGetCount, 2000);
WEIR_PFN(cuDeviceGetName, 2000);
WEIR_PFN(cuDeviceGetProperties, 2000);
WEIR_PFN(cuEventCreate, 2000);
WEIR_PFN(cuEventQuery, 2000);
WEIR_PFN(cuEventRecord, 2000);
WEIR_PFN(cuEventSynchronize, 2000);
WEIR_PFN(cuFuncSetBlockShape, 2000);
WEIR_PFN(cuFuncSetSharedSize, 2000);
WEIR_PFN(cuInit, 2000);
WEIR_PFN(cuLaunch, 2000);
WEIR_PFN(cuLaunchGrid, 2000);
WEIR_PFN(cuLaunchGridAsync, 2000);
WEIR_PFN(cuMemFreeHost, 2000);
WEIR_PFN(cuModuleGetFunction, 2000);
WEIR_PFN(cuModuleGetTexRef, 2000);
WEIR_PFN(cuModuleLoad, 2000);
WEIR_PFN(cuModuleLoadData, 2000);
WEIR_PFN(cuModuleLoadFatBinary, 2000);
WEIR_PFN(cuModuleUnload, 2000);
WEIR_PFN(cuParamSetSize, 2000);
WEIR_PFN(cuParamSetTexRef, 2000);
WEIR_PFN(cuParamSetf, 2000);
WEIR_PFN(cuParamSeti, 2000);
WEIR_PFN(cuParamSetv, 2000);
WEIR_PFN(cuStreamCreate, 2000);
WEIR_PFN(cuStreamQuery, 2000);
WEIR_PFN(cuStreamSynchronize, 2000);
WEIR_PFN(cuTexRefCreate, 2000);
WEIR_PFN(cuTexRefDestroy, 2000);
WEIR_PFN(cuTexRefGetAddressMode, 2000);
WEIR_PFN(cuTexRefGetArray, 2000);
WEIR_PFN(cuTexRefGetFilterMode, 2000);
WEIR_PFN(cuTexRefGetFlags, 2000);
WEIR_PFN(cuTexRefGetFormat, 2000);
WEIR_PFN(cuTexRefSetAddressMode, 2000);
WEIR_PFN(cuTexRefSetArray, 2000);
WEIR_PFN(cuTexRefSetFilterMode, 2000);
WEIR_PFN(cuTexRefSetFlags, 2000);
WEIR_PFN(cuTexRefSetFormat, 2000);

WEIR_PFN(cuModuleLoadDataEx, 2010);

WEIR_PFN(cuDriverGetVersion, 2020);
WEIR_PFN(cuFuncGetAttribute, 2020);
WEIR_PFN(cuMemHostAlloc, 2020);

WEIR_PFN(cuMemHostGetFlags, 2030);

WEIR_PFN(cuFuncSetCacheConfig, 3000);
WEIR_PFN(cuGetExportTable, 3000);
WEIR_PFN(cuGraphicsMapResources, 3000);
WEIR_PFN(cuGraphicsSubResourceGetMappedArray, 3000);
WEIR_PFN(cuGraphicsUnmapResources, 3000);
WEIR_PFN(cuGraphicsUnregisterResource, 3000);
WEIR_PFN(cuModuleGetSurfRef, 3000);
WEIR_PFN(cuSurfRefGetArray, 3000);
WEIR_PFN(cuSurfRefSetArray, 3000);

WEIR_PFN(cuCtxGetLimit, 3010);
WEIR_PFN(cuCtxSetLimit, 3010);

WEIR_PFN(cuArray3DCreate, 3020);
WEIR_PFN(cuArray3DGetDescriptor, 3020);
WEIR_PFN(cuArrayCreate, 3020);
WEIR_PFN(cuArrayGetDescriptor, 3020);
WEIR_PFN(cuCtxGetApiVersion, 3020);
WEIR_PFN(cuCtxGetCacheConfig, 3020);
WEIR_PFN(cuCtxSetCacheConfig, 3020);
WEIR_PFN(cuDeviceTotalMem, 3020);
WEIR_PFN(cuGraphicsResourceGetMappedPointer, 3020);
WEIR_PFN(cuMemAlloc, 3020);
WEIR_PFN(cuMemAllocHost, 3020);
WEIR_PFN(cuMemAllocPitch, 3020);
WEIR_PFN(cuMemFree, 3020);
WEIR_PFN(cuMemGetAddressRange, 3020);
WEIR_PFN(cuMemGetInfo, 3020);
WEIR_PFN(cuMemHostGetDevicePointer, 3020);
WEIR_PFN(cuMemcpy2D, 3020);
WEIR_PFN(cuMemcpy2DAsync, 3020);
WEIR_PFN(cuMemcpy2DUnaligned, 3020);
WEIR_PFN(cuMemcpy3D, 3020);
WEIR_PFN(cuMemcpy3DAsync, 3020);
WEIR_PFN(cuMemcpyAtoA, 3020);
WEIR_PFN(cuMemcpyAtoD, 3020);
WEIR_PFN(cuMemcpyAtoH, 3020);
WEIR_PFN(cuMemcpyAtoHAsync, 3020);
WEIR_PFN(cuMemcpyDtoA, 3020);
WEIR_PFN(cuMemcpyDtoD, 3020);
WEIR_PFN(cuMemcpyDtoDAsync, 3020);
WEIR_PFN(cuMemcpyDtoH, 3020);
WEIR_PFN(cuMemcpyDtoHAsync, 3020);
WEIR_PFN(cuMemcpyHtoA, 3020);
WEIR_PFN(cuMemcpyHtoAAsync, 3020);
WEIR_PFN(cuMemcpyHtoD, 3020);
WEIR_PFN(cuMemcpyHtoDAsync, 3020);
WEIR_PFN(cuMemsetD16, 3020);
WEIR_PFN(cuMemsetD16Async, 3020);
WEIR_PFN(cuMemsetD2D16, 3020);
WEIR_PFN(cuMemsetD2D16Async, 3020);
WEIR_PFN(cuMemsetD2D32, 3020);
WEIR_PFN(cuMemsetD2D32Async, 3020);
WEIR_PFN(cuMemsetD2D8, 3020);
WEIR_PFN(cuMemsetD2D8Async, 3020);
WEIR_PFN(cuMemsetD32, 3020);
WEIR_PFN(cuMemsetD32Async, 3020);
WEIR_PFN(cuMemsetD8, 3020);
WEIR_PFN(cuMemsetD8Async, 3020);
WEIR_PFN(cuModuleGetGlobal, 3020);
WEIR_PFN(cuStreamWaitEvent, 3020);
WEIR_PFN(cuTexRefGetAddress, 3020);
WEIR_PFN(cuTexRefSetAddress, 3020);

WEIR_PFN(cuCtxDestroy, 4000);
WEIR_PFN(cuCtxDisablePeerAccess, 4000);
WEIR_PFN(cuCtxEnablePeerAccess, 4000);
WEIR_PFN(cuCtxGetCurrent, 4000);
WEIR_PFN(cuCtxPopCurrent, 4000);
WEIR_PFN(cuCtxPushCurrent, 4000);
WEIR_PFN(cuCtxSetCurrent, 4000);
WEIR_PFN(cuDeviceCanAccessPeer, 4000);
WEIR_PFN(cuEventDestroy, 4000);
WEIR_PFN(cuLaunchKernel, 4000);
WEIR_PFN(cuMemHostRegister, 4000);
WEIR_PFN(cuMemHostUnregister, 4000);
WEIR_PFN(cuMemcpy, 4000);
WEIR_PFN(cuMemcpy3DPeer, 4000);
WEIR_PFN(cuMemcpy3DPeerAsync, 4000);
WEIR_PFN(cuMemcpyAsync, 4000);
WEIR_PFN(cuMemcpyPeer, 4000);
WEIR_PFN(cuMemcpyPeerAsync, 4000);
WEIR_PFN(cuPointerGetAttribute, 4000);
WEIR_PFN(cuStreamDestroy, 4000);

WEIR_PFN(cuDeviceGetByPCIBusId, 4010);
WEIR_PFN(cuDeviceGetPCIBusId, 4010);
WEIR_PFN(cuIpcCloseMemHandle, 4010);
WEIR_PFN(cuIpcGetEventHandle, 4010);
WEIR_PFN(cuIpcGetMemHandle, 4010);
WEIR_PFN(cuIpcOpenEventHandle, 4010);
WEIR_PFN(cuIpcOpenMemHandle, 4010);
WEIR_PFN(cuTexRefSetAddress2D, 4010);

WEIR_PFN(cuCtxGetSharedMemConfig, 4020);
WEIR_PFN(cuCtxSetSharedMemConfig, 4020);
WEIR_PFN(cuFuncSetSharedMemConfig, 4020);

WEIR_PFN(cuGraphicsResourceGetMappedMipmappedArray, 5000);
WEIR_PFN(cuMipmappedArrayCreate, 5000);
WEIR_PFN(cuMipmappedArrayDestroy, 5000);
WEIR_PFN(cuMipmappedArrayGetLevel, 5000);
WEIR_PFN(cuStreamAddCallback, 5000);
WEIR_PFN(cuSurfObjectCreate, 5000);
WEIR_PFN(cuSurfObjectDestroy, 5000);
WEIR_PFN(cuSurfObjectGetResourceDesc, 5000);
WEIR_PFN(cuTexObjectCreate, 5000);
WEIR_PFN(cuTexObjectDestroy, 5000);
WEIR_PFN(cuTexObjectGetResourceDesc, 5000);
WEIR_PFN(cuTexObjectGetResourceViewDesc, 5000);
WEIR_PFN(cuTexObjectGetTextureDesc, 5000);
WEIR_PFN(cuTexRefGetMaxAnisotropy, 5000);
WEIR_PFN(cuTexRefGetMipmapFilterMode, 5000);
WEIR_PFN(cuTexRefGetMipmapLevelBias, 5000);
WEIR_PFN(cuTexRefGetMipmapLevelClamp, 5000);
WEIR_PFN(cuTexRefGetMipmappedArray, 5000);
WEIR_PFN(cuTexRefSetMaxAnisotropy, 5000);
WEIR_PFN(cuTexRefSetMipmapFilterMode, 5000);
WEIR_PFN(cuTexRefSetMipmapLevelBias, 5000);
WEIR_PFN(cuTexRefSetMipmapLevelClamp, 5000);
WEIR_PFN(cuTexRefSetMipmappedArray, 5000);

WEIR_PFN(cuCtxGetStreamPriorityRange, 5050);
WEIR_PFN(cuLinkAddData, 5050);
WEIR_PFN(cuLinkAddFile, 5050);
WEIR_PFN(cuLinkComplete, 5050);
WEIR_PFN(cuLinkCreate, 5050);
WEIR_PFN(cuLinkDestroy, 5050);
WEIR_PFN(cuStreamCreateWithPriority, 5050);
WEIR_PFN(cuStreamGetFlags, 5050);
WEIR_PFN(cuStreamGetPriority, 5050);

WEIR_PFN(cuGetErrorName, 6000);
WEIR_PFN(cuGetErrorString, 6000);
WEIR_PFN(cuMemAllocManaged, 6000);
WEIR_PFN(cuPointerSetAttribute, 6000);
WEIR_PFN(cuStreamAttachMemAsync, 6000);

WEIR_PFN(cuGraphicsResourceSetMapFlags, 6050);
WEIR_PFN(cuOccupancyMaxActiveBlocksPerMultiprocessor, 6050);
WEIR_PFN(cuOccupancyMaxPotentialBlockSize, 6050);

WEIR_PFN(cuCtxGetFlags, 7000);
WEIR_PFN(cuDevicePrimaryCtxGetState, 7000);
WEIR_PFN(cuDevicePrimaryCtxRelease, 7000);
WEIR_PFN(cuDevicePrimaryCtxReset, 7000);
WEIR_PFN(cuDevicePrimaryCtxRetain, 7000);
WEIR_PFN(cuDevicePrimaryCtxSetFlags, 7000);
WEIR_PFN(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, 7000);
WEIR_PFN(cuOccupancyMaxPotentialBlockSizeWithFlags, 7000);
WEIR_PFN(cuPointerGetAttributes, 7000);

WEIR_PFN(cuDeviceGetP2PAttribute, 8000);
WEIR_PFN(cuMemRangeGetAttribute, 8000);
WEIR_PFN(cuMemRangeGetAttributes, 8000);
WEIR_PFN(cuStreamBatchMemOp, 8000);
WEIR_PFN(cuStreamWaitValue32, 8000);
WEIR_PFN(cuStreamWriteValue32, 8000);
WEIR_PFN(cuTexRefGetBorderColor, 8000);
WEIR_PFN(cuTexRefSetBorderColor, 8000);

WEIR_PFN(cuFuncSetAttribute, 9000);
WEIR_PFN(cuLaunchCooperativeKernel, 9000);
WEIR_PFN(cuStreamWaitValue64, 9000);
WEIR_PFN(cuStreamWriteValue64, 9000);

WEIR_PFN(cuDestroyExternalMemory, 10000);
WEIR_PFN(cuDestroyExternalSemaphore, 10000);
WEIR_PFN(cuDeviceGetLuid, 10000);
WEIR_PFN(cuExternalMemoryGetMappedBuffer, 10000);
WEIR_PFN(cuExternalMemoryGetMappedMipmappedArray, 10000);
WEIR_PFN(cuGraphAddChildGraphNode, 10000);
WEIR_PFN(cuGraphAddEmptyNode, 10000);
WEIR_PFN(cuGraphAddHostNode, 10000);
WEIR_PFN(cuGraphAddMemcpyNode, 10000);
WEIR_PFN(cuGraphAddMemsetNode, 10000);
WEIR_PFN(cuGraphChildGraphNodeGetGraph, 10000);
WEIR_PFN(cuGraphClone, 10000);
WEIR_PFN(cuGraphCreate, 10000);
WEIR_PFN(cuGraphDestroy, 10000);
WEIR_PFN(cuGraphDestroyNode, 10000);
WEIR_PFN(cuGraphExecDestroy, 10000);
WEIR_PFN(cuGraphGetNodes, 10000);
WEIR_PFN(cuGraphGetRootNodes, 10000);
WEIR_PFN(cuGraphHostNodeGetParams, 10000);
WEIR_PFN(cuGraphHostNodeSetParams, 10000);
WEIR_PFN(cuGraphLaunch, 10000);
WEIR_PFN(cuGraphMemcpyNodeGetParams, 10000);
WEIR_PFN(cuGraphMemcpyNodeSetParams, 10000);
WEIR_PFN(cuGraphMemsetNodeGetParams, 10000);
WEIR_PFN(cuGraphMemsetNodeSetParams, 10000);
WEIR_PFN(cuGraphNodeFindInClone, 10000);
WEIR_PFN(cuGraphNodeGetType, 10000);
WEIR_PFN(cuImportExternalMemory, 10000);
WEIR_PFN(cuImportExternalSemaphore, 10000);
WEIR_PFN(cuLaunchHostFunc, 10000);
WEIR_PFN(cuSignalExternalSemaphoresAsync, 10000);
WEIR_PFN(cuStreamEndCapture, 10000);
WEIR_PFN(cuStreamIsCapturing, 10000);
WEIR_PFN(cuWaitExternalSemaphoresAsync, 10000);

WEIR_PFN(cuStreamBeginCapture, 10010);
WEIR_PFN(cuThreadExchangeStreamCaptureMode, 10010);

WEIR_PFN(cuDeviceGetNvSciSyncAttributes, 10020);
WEIR_PFN(cuGraphExecHostNodeSetParams, 10020);
WEIR_PFN(cuGraphExecMemcpyNodeSetParams, 10020);
WEIR_PFN(cuGraphExecMemsetNodeSetParams, 10020);
WEIR_PFN(cuMemAddressFree, 10020);
WEIR_PFN(cuMemAddressReserve, 10020);
WEIR_PFN(cuMemCreate, 10020);
WEIR_PFN(cuMemExportToShareableHandle, 10020);
WEIR_PFN(cuMemGetAccess, 10020);
WEIR_PFN(cuMemGetAllocationGranularity, 10020);
WEIR_PFN(cuMemGetAllocationPropertiesFromHandle, 10020);
WEIR_PFN(cuMemImportFromShareableHandle, 10020);
WEIR_PFN(cuMemMap, 10020);
WEIR_PFN(cuMemRelease, 10020);
WEIR_PFN(cuMemSetAccess, 10020);
WEIR_PFN(cuMemUnmap, 10020);

WEIR_PFN(cuCtxResetPersistingL2Cache, 11000);
WEIR_PFN(cuFuncGetModule, 11000);
WEIR_PFN(cuGraphKernelNodeCopyAttributes, 11000);
WEIR_PFN(cuGraphKernelNodeGetAttribute, 11000);
WEIR_PFN(cuGraphKernelNodeSetAttribute, 11000);
WEIR_PFN(cuMemRetainAllocationHandle, 11000);
WEIR_PFN(cuStreamCopyAttributes, 11000);
WEIR_PFN(cuStreamGetAttribute, 11000);
WEIR_PFN(cuStreamSetAttribute, 11000);

WEIR_PFN(cuArrayGetSparseProperties, 11010);
WEIR_PFN(cuDeviceGetTexture1DLinearMaxWidth, 11010);
WEIR_PFN(cuEventRecordWithFlags, 11010);
WEIR_PFN(cuGraphAddEventRecordNode, 11010);
WEIR_PFN(cuGraphAddEventWaitNode, 11010);
WEIR_PFN(cuGraphEventRecordNodeGetEvent, 11010);
WEIR_PFN(cuGraphEventRecordNodeSetEvent, 11010);
WEIR_PFN(cuGraphEventWaitNodeGetEvent, 11010);
WEIR_PFN(cuGraphEventWaitNodeSetEvent, 11010);
WEIR_PFN(cuGraphExecChildGraphNodeSetParams, 11010);
WEIR_PFN(cuGraphExecEventRecordNodeSetEvent, 11010);
WEIR_PFN(cuGraphExecEventWaitNodeSetEvent, 11010);
WEIR_PFN(cuGraphUpload, 11010);
WEIR_PFN(cuMemMapArrayAsync, 11010);
WEIR_PFN(cuMipmappedArrayGetSparseProperties, 11010);

WEIR_PFN(cuArrayGetPlane, 11020);
WEIR_PFN(cuDeviceGetDefaultMemPool, 11020);
WEIR_PFN(cuDeviceGetMemPool, 11020);
WEIR_PFN(cuDeviceSetMemPool, 11020);
WEIR_PFN(cuGraphAddExternalSemaphoresSignalNode, 11020);
WEIR_PFN(cuGraphAddExternalSemaphoresWaitNode, 11020);
WEIR_PFN(cuGraphExecExternalSemaphoresSignalNodeSetParams, 11020);
WEIR_PFN(cuGraphExecExternalSemaphoresWaitNodeSetParams, 11020);
WEIR_PFN(cuGraphExternalSemaphoresSignalNodeGetParams, 11020);
WEIR_PFN(cuGraphExternalSemaphoresSignalNodeSetParams, 11020);
WEIR_PFN(cuGraphExternalSemaphoresWaitNodeGetParams, 11020);
WEIR_PFN(cuGraphExternalSemaphoresWaitNodeSetParams, 11020);
WEIR_PFN(cuMemAllocAsync, 11020);
WEIR_PFN(cuMemAllocFromPoolAsync, 11020);
WEIR_PFN(cuMemFreeAsync, 11020);
WEIR_PFN(cuMemPoolCreate, 11020);
WEIR_PFN(cuMemPoolDestroy, 11020);
WEIR_PFN(cuMemPoolExportPointer, 11020);
WEIR_PFN(cuMemPoolExportToShareableHandle, 11020);
WEIR_PFN(cuMemPoolGetAccess, 11020);
WEIR_PFN(cuMemPoolGetAttribute, 11020);
WEIR_PFN(cuMemPoolImportFromShareableHandle, 11020);
WEIR_PFN(cuMemPoolImportPointer, 11020);
WEIR_PFN(cuMemPoolSetAccess, 11020);
WEIR_PFN(cuMemPoolSetAttribute, 11020);
WEIR_PFN(cuMemPoolTrimTo, 11020);

WEIR_PFN(cuFlushGPUDirectRDMAWrites, 11030);
WEIR_PFN(cuGraphDebugDotPrint, 11030);
WEIR_PFN(cuGraphReleaseUserObject, 11030);
WEIR_PFN(cuGraphRetainUserObject, 11030);
WEIR_PFN(cuUserObjectCreate, 11030);
WEIR_PFN(cuUserObjectRelease, 11030);
WEIR_PFN(cuUserObjectRetain, 11030);

WEIR_PFN(cuCtxGetExecAffinity, 11040);
WEIR_PFN(cuDeviceGetExecAffinitySupport, 11040);
WEIR_PFN(cuDeviceGetGraphMemAttribute, 11040);
WEIR_PFN(cuDeviceGetUuid, 11040);
WEIR_PFN(cuDeviceGraphMemTrim, 11040);
WEIR_PFN(cuDeviceSetGraphMemAttribute, 11040);
WEIR_PFN(cuGraphAddMemAllocNode, 11040);
WEIR_PFN(cuGraphAddMemFreeNode, 11040);
WEIR_PFN(cuGraphMemAllocNodeGetParams, 11040);
WEIR_PFN(cuGraphMemFreeNodeGetParams, 11040);

WEIR_PFN(cuArrayGetMemoryRequirements, 11060);
WEIR_PFN(cuGraphNodeGetEnabled, 11060);
WEIR_PFN(cuGraphNodeSetEnabled, 11060);
WEIR_PFN(cuLaunchKernelEx, 11060);
WEIR_PFN(cuMipmappedArrayGetMemoryRequirements, 11060);

WEIR_PFN(cuMemGetHandleForAddressRange, 11070);
WEIR_PFN(cuModuleGetLoadingMode, 11070);

WEIR_PFN(cuCtxGetId, 12000);
WEIR_PFN(cuGetProcAddress, 12000);
WEIR_PFN(cuGraphAddKernelNode, 12000);
WEIR_PFN(cuGraphExecGetFlags, 12000);
WEIR_PFN(cuGraphExecKernelNodeSetParams, 12000);
WEIR_PFN(cuGraphExecUpdate, 12000);
WEIR_PFN(cuGraphInstantiateWithParams, 12000);
WEIR_PFN(cuGraphKernelNodeGetParams, 12000);
WEIR_PFN(cuGraphKernelNodeSetParams, 12000);
WEIR_PFN(cuKernelGetAttribute, 12000);
WEIR_PFN(cuKernelGetFunction, 12000);
WEIR_PFN(cuKernelSetAttribute, 12000);
WEIR_PFN(cuKernelSetCacheConfig, 12000);
WEIR_PFN(cuLibraryGetGlobal, 12000);
WEIR_PFN(cuLibraryGetKernel, 12000);
WEIR_PFN(cuLibraryGetManaged, 12000);
WEIR_PFN(cuLibraryGetModule, 12000);
WEIR_PFN(cuLibraryGetUnifiedFunction, 12000);
WEIR_PFN(cuLibraryLoadData, 12000);
WEIR_PFN(cuLibraryLoadFromFile, 12000);
WEIR_PFN(cuLibraryUnload, 12000);
WEIR_PFN(cuStreamGetId, 12000);
WEIR_PFN(cuTensorMapEncodeIm2col, 12000);
WEIR_PFN(cuTensorMapEncodeTiled, 12000);
WEIR_PFN(cuTensorMapReplaceAddress, 12000);

WEIR_PFN(cuCoredumpGetAttribute, 12010);
WEIR_PFN(cuCoredumpGetAttributeGlobal, 12010);
WEIR_PFN(cuCoredumpSetAttribute, 12010);
WEIR_PFN(cuCoredumpSetAttributeGlobal, 12010);
WEIR_PFN(cuCtxSetFlags, 12010);
WEIR_PFN(cuMulticastAddDevice, 12010);
WEIR_PFN(cuMulticastBindAddr, 12010);
WEIR_PFN(cuMulticastBindMem, 12010);
WEIR_PFN(cuMulticastCreate, 12010);
WEIR_PFN(cuMulticastGetGranularity, 12010);
WEIR_PFN(cuMulticastUnbind, 12010);

WEIR_PFN(cuGraphExecNodeSetParams, 12020);
WEIR_PFN(cuGraphNodeSetParams, 12020);
WEIR_PFN(cuMemAdvise, 12020);
WEIR_PFN(cuMemPrefetchAsync, 12020);

WEIR_PFN(cuFuncGetName, 12030);
WEIR_PFN(cuGraphAddDependencies, 12030);
WEIR_PFN(cuGraphAddNode, 12030);
WEIR_PFN(cuGraphConditionalHandleCreate, 12030);
WEIR_PFN(cuGraphGetEdges, 12030);
WEIR_PFN(cuGraphNodeGetDependencies, 12030);
WEIR_PFN(cuGraphNodeGetDependentNodes, 12030);
WEIR_PFN(cuGraphRemoveDependencies, 12030);
WEIR_PFN(cuKernelGetName, 12030);
WEIR_PFN(cuStreamBeginCaptureToGraph, 12030);
WEIR_PFN(cuStreamGetCaptureInfo, 12030);
WEIR_PFN(cuStreamUpdateCaptureDependencies, 12030);

WEIR_PFN(cuFuncGetParamInfo, 12040);
WEIR_PFN(cuFuncIsLoaded, 12040);
WEIR_PFN(cuFuncLoad, 12040);
WEIR_PFN(cuKernelGetParamInfo, 12040);
WEIR_PFN(cuModuleEnumerateFunctions, 12040);
WEIR_PFN(cuModuleGetFunctionCount, 12040);

WEIR_PFN(cuEventElapsedTime, 12080);

WEIR_PFN(cuMemcpy3DBatchAsync, 13000);
WEIR_PFN(cuMemcpyBatchAsync, 13000);

WEIR_PFN_NEWEST(cuCheckpointProcessCheckpoint);
WEIR_PFN_NEWEST(cuCheckpointProcessGetRestoreThreadId);
WEIR_PFN_NEWEST(cuCheckpointProcessGetState);
WEIR_PFN_NEWEST(cuCheckpointProcessLock);
WEIR_PFN_NEWEST(cuCheckpointProcessRestore);
WEIR_PFN_NEWEST(cuCheckpointProcessUnlock);
WEIR_PFN_NEWEST(cuCtxRecordEvent);
WEIR_PFN_NEWEST(cuCtxWaitEvent);
WEIR_PFN_NEWEST(cuDeviceGetHostAtomicCapabilities);
WEIR_PFN_NEWEST(cuDeviceGetP2PAtomicCapabilities);
WEIR_PFN_NEWEST(cuDeviceRegisterAsyncNotification);
WEIR_PFN_NEWEST(cuDeviceUnregisterAsyncNotification);
WEIR_PFN_NEWEST(cuGraphAddBatchMemOpNode);
WEIR_PFN_NEWEST(cuGraphBatchMemOpNodeGetParams);
WEIR_PFN_NEWEST(cuGraphBatchMemOpNodeSetParams);
WEIR_PFN_NEWEST(cuGraphExecBatchMemOpNodeSetParams);
WEIR_PFN_NEWEST(cuKernelGetLibrary);
WEIR_PFN_NEWEST(cuLibraryEnumerateKernels);
WEIR_PFN_NEWEST(cuLibraryGetKernelCount);
WEIR_PFN_NEWEST(cuLogsCurrent);
WEIR_PFN_NEWEST(cuLogsDumpToFile);
WEIR_PFN_NEWEST(cuLogsDumpToMemory);
WEIR_PFN_NEWEST(cuLogsRegisterCallback);
WEIR_PFN_NEWEST(cuLogsUnregisterCallback);
WEIR_PFN_NEWEST(cuMemBatchDecompressAsync);
WEIR_PFN_NEWEST(cuMemDiscardAndPrefetchBatchAsync);
WEIR_PFN_NEWEST(cuMemDiscardBatchAsync);
WEIR_PFN_NEWEST(cuMemGetDefaultMemPool);
WEIR_PFN_NEWEST(cuMemGetMemPool);
WEIR_PFN_NEWEST(cuMemPrefetchBatchAsync);
WEIR_PFN_NEWEST(cuMemSetMemPool);
WEIR_PFN_NEWEST(cuOccupancyAvailableDynamicSMemPerBlock);
WEIR_PFN_NEWEST(cuOccupancyMaxActiveClusters);
WEIR_PFN_NEWEST(cuOccupancyMaxPotentialClusterSize);
WEIR_PFN_NEWEST(cuStreamGetDevice);
WEIR_PFN_NEWEST(cuTensorMapEncodeIm2colWide);

/* ---- what has several forms that programs may still ask for ------------------------------------
 */

typedef CUresult(CUDAAPI *PFN_cuCtxCreate_v3020)(CUcontext *pctx, unsigned int flags, CUdevice dev);
typedef CUresult(CUDAAPI *PFN_cuCtxCreate_v11040)(CUcontext *pctx, CUexecAffinityParam *paramsArray,
                                                  int numParams, unsigned int flags, CUdevice dev);
WEIR_PFN(cuCtxCreate, 12050);

typedef __typeof__(cuDeviceGetUuid) *PFN_cuDeviceGetUuid_v9020;
typedef CUresult(CUDAAPI *PFN_cuGraphInstantiate_v10000)(CUgraphExec *phGraphExec, CUgraph hGraph,
                                                         CUgraphNode *phErrorNode, char *logBuffer,
                                                         size_t bufferSize);
typedef PFN_cuGraphInstantiate_v10000 PFN_cuGraphInstantiate_v11000;
typedef __typeof__(cuGraphInstantiateWithFlags) *PFN_cuGraphInstantiateWithFlags_v11040;
typedef PFN_cuGraphInstantiateWithFlags_v11040 PFN_cuGraphInstantiateWithFlags;
typedef CUresult(CUDAAPI *PFN_cuGraphAddKernelNode_v10000)(
    CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
    size_t numDependencies, const CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams);
typedef CUresult(CUDAAPI *PFN_cuGraphExecUpdate_v10020)(CUgraphExec hGraphExec, CUgraph hGraph,
                                                        CUgraphNode *hErrorNode_out,
                                                        CUgraphExecUpdateResult *updateResult_out);
typedef __typeof__(cuEventElapsedTime) *PFN_cuEventElapsedTime_v2000;
typedef CUresult(CUDAAPI *PFN_cuGetProcAddress_v11030)(const char *symbol, void **pfn,
                                                       int cudaVersion, cuuint64_t flags);
typedef CUresult(CUDAAPI *PFN_cuMemAdvise_v8000)(CUdeviceptr devPtr, size_t count,
                                                 CUmem_advise advice, CUdevice device);
typedef CUresult(CUDAAPI *PFN_cuMemPrefetchAsync_v8000)(CUdeviceptr devPtr, size_t count,
                                                        CUdevice dstDevice, CUstream hStream);
typedef __typeof__(cuStreamGetCtx) *PFN_cuStreamGetCtx_v9020;
typedef __typeof__(cuStreamGetCtx_v2) *PFN_cuStreamGetCtx_v12050;
typedef PFN_cuStreamGetCtx_v12050 PFN_cuStreamGetCtx;

#undef WEIR_PFN
#undef WEIR_PFN_NEWEST

#include "weir/cu/typedefs_forms.h"

#endif
