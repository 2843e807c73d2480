/* weir/cu/typedefs_forms.h: types of pointers to further forms of the driver API's functions: those
 * for streams of each thread, which have the same type as the others, and earlier ones. Part of
 * cudaTypedefs.h. */
#ifndef WEIR_CU_TYPEDEFS_FORMS_H
#define WEIR_CU_TYPEDEFS_FORMS_H

#include "../../cuda.h"

/* The form of a function that a version brought, of the type that it has now. */
#define WEIR_PFN_OF(name, version) typedef __typeof__(name) *PFN_##name##_v##version
/* The form for each thread's own default stream. */
#define WEIR_PFN_PTSZ(form) typedef PFN_##form PFN_##form##_ptsz
#define WEIR_PFN_PTDS(form) typedef PFN_##form PFN_##form##_ptds

WEIR_PFN_OF(cuCheckpointProcessCheckpoint, 12080);
WEIR_PFN_OF(cuCheckpointProcessGetRestoreThreadId, 12080);
WEIR_PFN_OF(cuCheckpointProcessGetState, 12080);
WEIR_PFN_OF(cuCheckpointProcessLock, 12080);
WEIR_PFN_OF(cuCheckpointProcessRestore, 12080);
WEIR_PFN_OF(cuCheckpointProcessUnlock, 12080);
WEIR_PFN_OF(cuCtxFromGreenCtx, 12040);
typedef __typeof__(cuCtxGetDevice_v2) *PFN_cuCtxGetDevice_v13000;
WEIR_PFN_OF(cuCtxRecordEvent, 12050);
typedef __typeof__(cuCtxSynchronize_v2) *PFN_cuCtxSynchronize_v13000;
WEIR_PFN_OF(cuCtxWaitEvent, 12050);
WEIR_PFN_OF(cuDevResourceGenerateDesc, 12040);
WEIR_PFN_OF(cuDevSmResourceSplitByCount, 12040);
WEIR_PFN_OF(cuDeviceGetHostAtomicCapabilities, 13000);
WEIR_PFN_OF(cuDeviceGetP2PAtomicCapabilities, 13000);
typedef PFN_cuDevicePrimaryCtxRelease_v7000 PFN_cuDevicePrimaryCtxRelease_v11000;
typedef PFN_cuDevicePrimaryCtxReset_v7000 PFN_cuDevicePrimaryCtxReset_v11000;
typedef PFN_cuDevicePrimaryCtxSetFlags_v7000 PFN_cuDevicePrimaryCtxSetFlags_v11000;
WEIR_PFN_OF(cuDeviceRegisterAsyncNotification, 12040);
WEIR_PFN_OF(cuDeviceUnregisterAsyncNotification, 12040);
WEIR_PFN_OF(cuGraphAddBatchMemOpNode, 11070);
WEIR_PFN_OF(cuGraphBatchMemOpNodeGetParams, 11070);
WEIR_PFN_OF(cuGraphBatchMemOpNodeSetParams, 11070);
WEIR_PFN_OF(cuGraphExecBatchMemOpNodeSetParams, 11070);
WEIR_PFN_OF(cuGreenCtxCreate, 12040);
WEIR_PFN_OF(cuGreenCtxDestroy, 12040);
WEIR_PFN_OF(cuGreenCtxGetId, 12090);
WEIR_PFN_OF(cuGreenCtxRecordEvent, 12040);
WEIR_PFN_OF(cuGreenCtxStreamCreate, 12050);
WEIR_PFN_OF(cuGreenCtxWaitEvent, 12040);
typedef PFN_cuIpcOpenMemHandle_v4010 PFN_cuIpcOpenMemHandle_v11000;
WEIR_PFN_OF(cuKernelGetLibrary, 12050);
WEIR_PFN_OF(cuLaunchCooperativeKernelMultiDevice, 9000);
WEIR_PFN_OF(cuLibraryEnumerateKernels, 12040);
WEIR_PFN_OF(cuLibraryGetKernelCount, 12040);
typedef PFN_cuLinkAddData_v5050 PFN_cuLinkAddData_v6050;
typedef PFN_cuLinkAddFile_v5050 PFN_cuLinkAddFile_v6050;
typedef PFN_cuLinkCreate_v5050 PFN_cuLinkCreate_v6050;
WEIR_PFN_OF(cuLogsCurrent, 12090);
WEIR_PFN_OF(cuLogsDumpToFile, 12090);
WEIR_PFN_OF(cuLogsDumpToMemory, 12090);
WEIR_PFN_OF(cuLogsRegisterCallback, 12090);
WEIR_PFN_OF(cuLogsUnregisterCallback, 12090);
WEIR_PFN_OF(cuMemBatchDecompressAsync, 12060);
WEIR_PFN_OF(cuMemDiscardAndPrefetchBatchAsync, 13000);
WEIR_PFN_OF(cuMemDiscardBatchAsync, 13000);
WEIR_PFN_OF(cuMemGetDefaultMemPool, 13000);
WEIR_PFN_OF(cuMemGetMemPool, 13000);
typedef PFN_cuMemHostRegister_v4000 PFN_cuMemHostRegister_v6050;
WEIR_PFN_OF(cuMemPrefetchBatchAsync, 13000);
WEIR_PFN_OF(cuMemSetMemPool, 13000);
WEIR_PFN_OF(cuOccupancyAvailableDynamicSMemPerBlock, 10020);
WEIR_PFN_OF(cuOccupancyMaxActiveClusters, 11070);
WEIR_PFN_OF(cuOccupancyMaxPotentialClusterSize, 11070);
typedef PFN_cuStreamBatchMemOp_v8000 PFN_cuStreamBatchMemOp_v11070;
WEIR_PFN_OF(cuStreamGetDevice, 12080);
WEIR_PFN_OF(cuStreamGetGreenCtx, 12040);
typedef PFN_cuStreamWaitValue32_v8000 PFN_cuStreamWaitValue32_v11070;
typedef PFN_cuStreamWaitValue64_v9000 PFN_cuStreamWaitValue64_v11070;
typedef PFN_cuStreamWriteValue32_v8000 PFN_cuStreamWriteValue32_v11070;
typedef PFN_cuStreamWriteValue64_v9000 PFN_cuStreamWriteValue64_v11070;
WEIR_PFN_OF(cuTensorMapEncodeIm2colWide, 12080);
WEIR_PFN_OF(cuCtxGetDevResource, 12040);
WEIR_PFN_OF(cuDeviceGetDevResource, 12040);
WEIR_PFN_OF(cuGreenCtxGetDevResource, 12040);

/* ---- earlier forms of other types ---- */

typedef CUresult(CUDAAPI *PFN_cuGraphAddDependencies_v10000)(CUgraph hGraph,
                                                             const CUgraphNode *from,
                                                             const CUgraphNode *to,
                                                             size_t numDependencies);
typedef PFN_cuGraphAddDependencies_v10000 PFN_cuGraphRemoveDependencies_v10000;
typedef CUresult(CUDAAPI *PFN_cuGraphAddNode_v12020)(CUgraphNode *phGraphNode, CUgraph hGraph,
                                                     const CUgraphNode *dependencies,
                                                     size_t numDependencies,
                                                     CUgraphNodeParams *nodeParams);
typedef CUresult(CUDAAPI *PFN_cuGraphKernelNodeGetParams_v10000)(
    CUgraphNode hNode, CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams);
typedef CUresult(CUDAAPI *PFN_cuGraphKernelNodeSetParams_v10000)(
    CUgraphNode hNode, const CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams);
typedef CUresult(CUDAAPI *PFN_cuGraphExecKernelNodeSetParams_v10010)(
    CUgraphExec hGraphExec, CUgraphNode hNode, const CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams);
typedef CUresult(CUDAAPI *PFN_cuGraphGetEdges_v10000)(CUgraph hGraph, CUgraphNode *from,
                                                      CUgraphNode *to, size_t *numEdges);
typedef CUresult(CUDAAPI *PFN_cuGraphNodeGetDependencies_v10000)(CUgraphNode hNode,
                                                                 CUgraphNode *dependencies,
                                                                 size_t *numDependencies);
typedef PFN_cuGraphNodeGetDependencies_v10000 PFN_cuGraphNodeGetDependentNodes_v10000;
typedef CUresult(CUDAAPI *PFN_cuMemcpyBatchAsync_v12080)(CUdeviceptr *dsts, CUdeviceptr *srcs,
                                                         size_t *sizes, size_t count,
                                                         CUmemcpyAttributes *attrs,
                                                         size_t *attrsIdxs, size_t numAttrs,
                                                         size_t *failIdx, CUstream hStream);
typedef CUresult(CUDAAPI *PFN_cuMemcpy3DBatchAsync_v12080)(size_t numOps,
                                                           CUDA_MEMCPY3D_BATCH_OP *opList,
                                                           size_t *failIdx,
                                                           unsigned long long flags,
                                                           CUstream hStream);
typedef CUresult(CUDAAPI *PFN_cuStreamGetCaptureInfo_v10010)(CUstream hStream,
                                                             CUstreamCaptureStatus *captureStatus,
                                                             cuuint64_t *id);
typedef CUresult(CUDAAPI *PFN_cuStreamGetCaptureInfo_v11030)(CUstream hStream,
                                                             CUstreamCaptureStatus *captureStatus,
                                                             cuuint64_t *id, CUgraph *graph,
                                                             const CUgraphNode **dependencies,
                                                             size_t *numDependencies);
typedef CUresult(CUDAAPI *PFN_cuStreamUpdateCaptureDependencies_v11030)(CUstream hStream,
                                                                        CUgraphNode *dependencies,
                                                                        size_t numDependencies,
                                                                        unsigned int flags);

/* ---- for streams of each thread ---- */

WEIR_PFN_PTSZ(cuEventRecordWithFlags_v11010);
typedef PFN_cuEventRecord_v2000 PFN_cuEventRecord_v7000_ptsz;
WEIR_PFN_PTSZ(cuGraphInstantiateWithParams_v12000);
WEIR_PFN_PTSZ(cuGraphLaunch_v10000);
WEIR_PFN_PTSZ(cuGraphUpload_v11010);
typedef PFN_cuGraphicsMapResources_v3000 PFN_cuGraphicsMapResources_v7000_ptsz;
typedef PFN_cuGraphicsUnmapResources_v3000 PFN_cuGraphicsUnmapResources_v7000_ptsz;
WEIR_PFN_PTSZ(cuLaunchCooperativeKernel_v9000);
WEIR_PFN_PTSZ(cuLaunchHostFunc_v10000);
WEIR_PFN_PTSZ(cuLaunchKernelEx_v11060);
typedef PFN_cuLaunchKernel_v4000 PFN_cuLaunchKernel_v7000_ptsz;
WEIR_PFN_PTSZ(cuMemAllocAsync_v11020);
WEIR_PFN_PTSZ(cuMemAllocFromPoolAsync_v11020);
WEIR_PFN_PTSZ(cuMemBatchDecompressAsync_v12060);
WEIR_PFN_PTSZ(cuMemDiscardAndPrefetchBatchAsync_v13000);
WEIR_PFN_PTSZ(cuMemDiscardBatchAsync_v13000);
WEIR_PFN_PTSZ(cuMemFreeAsync_v11020);
WEIR_PFN_PTSZ(cuMemMapArrayAsync_v11010);
WEIR_PFN_PTSZ(cuMemPrefetchAsync_v12020);
WEIR_PFN_PTSZ(cuMemPrefetchAsync_v8000);
WEIR_PFN_PTSZ(cuMemPrefetchBatchAsync_v13000);
typedef PFN_cuMemcpy2DAsync_v3020 PFN_cuMemcpy2DAsync_v7000_ptsz;
typedef PFN_cuMemcpy2DUnaligned_v3020 PFN_cuMemcpy2DUnaligned_v7000_ptds;
typedef PFN_cuMemcpy2D_v3020 PFN_cuMemcpy2D_v7000_ptds;
typedef PFN_cuMemcpy3DAsync_v3020 PFN_cuMemcpy3DAsync_v7000_ptsz;
WEIR_PFN_PTSZ(cuMemcpy3DBatchAsync_v13000);
typedef PFN_cuMemcpy3DPeerAsync_v4000 PFN_cuMemcpy3DPeerAsync_v7000_ptsz;
typedef PFN_cuMemcpy3DPeer_v4000 PFN_cuMemcpy3DPeer_v7000_ptds;
typedef PFN_cuMemcpy3D_v3020 PFN_cuMemcpy3D_v7000_ptds;
typedef PFN_cuMemcpyAsync_v4000 PFN_cuMemcpyAsync_v7000_ptsz;
typedef PFN_cuMemcpyAtoA_v3020 PFN_cuMemcpyAtoA_v7000_ptds;
typedef PFN_cuMemcpyAtoD_v3020 PFN_cuMemcpyAtoD_v7000_ptds;
typedef PFN_cuMemcpyAtoHAsync_v3020 PFN_cuMemcpyAtoHAsync_v7000_ptsz;
typedef PFN_cuMemcpyAtoH_v3020 PFN_cuMemcpyAtoH_v7000_ptds;
WEIR_PFN_PTSZ(cuMemcpyBatchAsync_v13000);
typedef PFN_cuMemcpyDtoA_v3020 PFN_cuMemcpyDtoA_v7000_ptds;
typedef PFN_cuMemcpyDtoDAsync_v3020 PFN_cuMemcpyDtoDAsync_v7000_ptsz;
typedef PFN_cuMemcpyDtoD_v3020 PFN_cuMemcpyDtoD_v7000_ptds;
typedef PFN_cuMemcpyDtoHAsync_v3020 PFN_cuMemcpyDtoHAsync_v7000_ptsz;
typedef PFN_cuMemcpyDtoH_v3020 PFN_cuMemcpyDtoH_v7000_ptds;
typedef PFN_cuMemcpyHtoAAsync_v3020 PFN_cuMemcpyHtoAAsync_v7000_ptsz;
typedef PFN_cuMemcpyHtoA_v3020 PFN_cuMemcpyHtoA_v7000_ptds;
typedef PFN_cuMemcpyHtoDAsync_v3020 PFN_cuMemcpyHtoDAsync_v7000_ptsz;
typedef PFN_cuMemcpyHtoD_v3020 PFN_cuMemcpyHtoD_v7000_ptds;
typedef PFN_cuMemcpyPeerAsync_v4000 PFN_cuMemcpyPeerAsync_v7000_ptsz;
typedef PFN_cuMemcpyPeer_v4000 PFN_cuMemcpyPeer_v7000_ptds;
typedef PFN_cuMemcpy_v4000 PFN_cuMemcpy_v7000_ptds;
typedef PFN_cuMemsetD16Async_v3020 PFN_cuMemsetD16Async_v7000_ptsz;
typedef PFN_cuMemsetD16_v3020 PFN_cuMemsetD16_v7000_ptds;
typedef PFN_cuMemsetD2D16Async_v3020 PFN_cuMemsetD2D16Async_v7000_ptsz;
typedef PFN_cuMemsetD2D16_v3020 PFN_cuMemsetD2D16_v7000_ptds;
typedef PFN_cuMemsetD2D32Async_v3020 PFN_cuMemsetD2D32Async_v7000_ptsz;
typedef PFN_cuMemsetD2D32_v3020 PFN_cuMemsetD2D32_v7000_ptds;
typedef PFN_cuMemsetD2D8Async_v3020 PFN_cuMemsetD2D8Async_v7000_ptsz;
typedef PFN_cuMemsetD2D8_v3020 PFN_cuMemsetD2D8_v7000_ptds;
typedef PFN_cuMemsetD32Async_v3020 PFN_cuMemsetD32Async_v7000_ptsz;
typedef PFN_cuMemsetD32_v3020 PFN_cuMemsetD32_v7000_ptds;
typedef PFN_cuMemsetD8Async_v3020 PFN_cuMemsetD8Async_v7000_ptsz;
typedef PFN_cuMemsetD8_v3020 PFN_cuMemsetD8_v7000_ptds;
WEIR_PFN_PTSZ(cuSignalExternalSemaphoresAsync_v10000);
typedef PFN_cuStreamAddCallback_v5000 PFN_cuStreamAddCallback_v7000_ptsz;
typedef PFN_cuStreamAttachMemAsync_v6000 PFN_cuStreamAttachMemAsync_v7000_ptsz;
WEIR_PFN_PTSZ(cuStreamBatchMemOp_v11070);
WEIR_PFN_PTSZ(cuStreamBatchMemOp_v8000);
WEIR_PFN_PTSZ(cuStreamBeginCaptureToGraph_v12030);
WEIR_PFN_PTSZ(cuStreamBeginCapture_v10010);
WEIR_PFN_PTSZ(cuStreamCopyAttributes_v11000);
WEIR_PFN_PTSZ(cuStreamEndCapture_v10000);
WEIR_PFN_PTSZ(cuStreamGetAttribute_v11000);
WEIR_PFN_PTSZ(cuStreamGetCaptureInfo_v12030);
WEIR_PFN_PTSZ(cuStreamGetCtx_v12050);
WEIR_PFN_PTSZ(cuStreamGetCtx_v9020);
WEIR_PFN_PTSZ(cuStreamGetDevice_v12080);
typedef PFN_cuStreamGetFlags_v5050 PFN_cuStreamGetFlags_v7000_ptsz;
WEIR_PFN_PTSZ(cuStreamGetId_v12000);
typedef PFN_cuStreamGetPriority_v5050 PFN_cuStreamGetPriority_v7000_ptsz;
WEIR_PFN_PTSZ(cuStreamIsCapturing_v10000);
typedef PFN_cuStreamQuery_v2000 PFN_cuStreamQuery_v7000_ptsz;
WEIR_PFN_PTSZ(cuStreamSetAttribute_v11000);
typedef PFN_cuStreamSynchronize_v2000 PFN_cuStreamSynchronize_v7000_ptsz;
WEIR_PFN_PTSZ(cuStreamUpdateCaptureDependencies_v12030);
typedef PFN_cuStreamWaitEvent_v3020 PFN_cuStreamWaitEvent_v7000_ptsz;
WEIR_PFN_PTSZ(cuStreamWaitValue32_v11070);
WEIR_PFN_PTSZ(cuStreamWaitValue32_v8000);
WEIR_PFN_PTSZ(cuStreamWaitValue64_v11070);
WEIR_PFN_PTSZ(cuStreamWaitValue64_v9000);
WEIR_PFN_PTSZ(cuStreamWriteValue32_v11070);
WEIR_PFN_PTSZ(cuStreamWriteValue32_v8000);
WEIR_PFN_PTSZ(cuStreamWriteValue64_v11070);
WEIR_PFN_PTSZ(cuStreamWriteValue64_v9000);
WEIR_PFN_PTSZ(cuWaitExternalSemaphoresAsync_v10000);
WEIR_PFN_PTSZ(cuMemcpy3DBatchAsync_v12080);
WEIR_PFN_PTSZ(cuMemcpyBatchAsync_v12080);
WEIR_PFN_PTSZ(cuStreamGetCaptureInfo_v10010);
WEIR_PFN_PTSZ(cuStreamGetCaptureInfo_v11030);
WEIR_PFN_PTSZ(cuStreamUpdateCaptureDependencies_v11030);

#undef WEIR_PFN_OF
#undef WEIR_PFN_PTSZ
#undef WEIR_PFN_PTDS

#endif
