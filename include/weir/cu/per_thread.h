/* weir/cu/per_thread.h: names of the calls that use the default stream.
 *
 * Each of them is exported twice: under its own name, where stream 0 is the legacy default stream,
 * and with a suffix, where stream 0 is the calling thread's own. CUDA_API_PER_THREAD_DEFAULT_STREAM
 * picks the second. Part of cuda.h. */
#ifndef WEIR_CU_PER_THREAD_H
#define WEIR_CU_PER_THREAD_H

/* _ptds: calls without a stream argument; _ptsz: calls with one. */
#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define WEIR_CU_PTDS(call) call##_ptds
#define WEIR_CU_PTSZ(call) call##_ptsz
#else
#define WEIR_CU_PTDS(call) call
#define WEIR_CU_PTSZ(call) call
#endif

#define cuMemcpyHtoD        WEIR_CU_PTDS(cuMemcpyHtoD_v2)
#define cuMemcpyDtoH        WEIR_CU_PTDS(cuMemcpyDtoH_v2)
#define cuMemcpyDtoD        WEIR_CU_PTDS(cuMemcpyDtoD_v2)
#define cuMemcpyDtoA        WEIR_CU_PTDS(cuMemcpyDtoA_v2)
#define cuMemcpyAtoD        WEIR_CU_PTDS(cuMemcpyAtoD_v2)
#define cuMemcpyHtoA        WEIR_CU_PTDS(cuMemcpyHtoA_v2)
#define cuMemcpyAtoH        WEIR_CU_PTDS(cuMemcpyAtoH_v2)
#define cuMemcpyAtoA        WEIR_CU_PTDS(cuMemcpyAtoA_v2)
#define cuMemcpy2D          WEIR_CU_PTDS(cuMemcpy2D_v2)
#define cuMemcpy2DUnaligned WEIR_CU_PTDS(cuMemcpy2DUnaligned_v2)
#define cuMemcpy3D          WEIR_CU_PTDS(cuMemcpy3D_v2)
#define cuMemsetD8          WEIR_CU_PTDS(cuMemsetD8_v2)
#define cuMemsetD16         WEIR_CU_PTDS(cuMemsetD16_v2)
#define cuMemsetD32         WEIR_CU_PTDS(cuMemsetD32_v2)
#define cuMemsetD2D8        WEIR_CU_PTDS(cuMemsetD2D8_v2)
#define cuMemsetD2D16       WEIR_CU_PTDS(cuMemsetD2D16_v2)
#define cuMemsetD2D32       WEIR_CU_PTDS(cuMemsetD2D32_v2)

#define cuMemcpyHtoDAsync                 WEIR_CU_PTSZ(cuMemcpyHtoDAsync_v2)
#define cuMemcpyDtoHAsync                 WEIR_CU_PTSZ(cuMemcpyDtoHAsync_v2)
#define cuMemcpyDtoDAsync                 WEIR_CU_PTSZ(cuMemcpyDtoDAsync_v2)
#define cuMemcpyHtoAAsync                 WEIR_CU_PTSZ(cuMemcpyHtoAAsync_v2)
#define cuMemcpyAtoHAsync                 WEIR_CU_PTSZ(cuMemcpyAtoHAsync_v2)
#define cuMemcpy2DAsync                   WEIR_CU_PTSZ(cuMemcpy2DAsync_v2)
#define cuMemcpy3DAsync                   WEIR_CU_PTSZ(cuMemcpy3DAsync_v2)
#define cuMemcpyBatchAsync                WEIR_CU_PTSZ(cuMemcpyBatchAsync_v2)
#define cuMemcpy3DBatchAsync              WEIR_CU_PTSZ(cuMemcpy3DBatchAsync_v2)
#define cuMemPrefetchAsync                WEIR_CU_PTSZ(cuMemPrefetchAsync_v2)
#define cuStreamWriteValue32              WEIR_CU_PTSZ(cuStreamWriteValue32_v2)
#define cuStreamWaitValue32               WEIR_CU_PTSZ(cuStreamWaitValue32_v2)
#define cuStreamWriteValue64              WEIR_CU_PTSZ(cuStreamWriteValue64_v2)
#define cuStreamWaitValue64               WEIR_CU_PTSZ(cuStreamWaitValue64_v2)
#define cuStreamBatchMemOp                WEIR_CU_PTSZ(cuStreamBatchMemOp_v2)
#define cuStreamBeginCapture              WEIR_CU_PTSZ(cuStreamBeginCapture_v2)
#define cuStreamUpdateCaptureDependencies WEIR_CU_PTSZ(cuStreamUpdateCaptureDependencies_v2)
#define cuGetProcAddress                  WEIR_CU_PTSZ(cuGetProcAddress_v2)
#define cuStreamGetCaptureInfo            WEIR_CU_PTSZ(cuStreamGetCaptureInfo_v3)

#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define cuMemcpy                          WEIR_CU_PTDS(cuMemcpy)
#define cuMemcpyPeer                      WEIR_CU_PTDS(cuMemcpyPeer)
#define cuMemcpy3DPeer                    WEIR_CU_PTDS(cuMemcpy3DPeer)
#define cuMemcpyAsync                     WEIR_CU_PTSZ(cuMemcpyAsync)
#define cuMemcpyPeerAsync                 WEIR_CU_PTSZ(cuMemcpyPeerAsync)
#define cuMemcpy3DPeerAsync               WEIR_CU_PTSZ(cuMemcpy3DPeerAsync)
#define cuMemsetD8Async                   WEIR_CU_PTSZ(cuMemsetD8Async)
#define cuMemsetD16Async                  WEIR_CU_PTSZ(cuMemsetD16Async)
#define cuMemsetD32Async                  WEIR_CU_PTSZ(cuMemsetD32Async)
#define cuMemsetD2D8Async                 WEIR_CU_PTSZ(cuMemsetD2D8Async)
#define cuMemsetD2D16Async                WEIR_CU_PTSZ(cuMemsetD2D16Async)
#define cuMemsetD2D32Async                WEIR_CU_PTSZ(cuMemsetD2D32Async)
#define cuMemPrefetchBatchAsync           WEIR_CU_PTSZ(cuMemPrefetchBatchAsync)
#define cuMemDiscardBatchAsync            WEIR_CU_PTSZ(cuMemDiscardBatchAsync)
#define cuMemDiscardAndPrefetchBatchAsync WEIR_CU_PTSZ(cuMemDiscardAndPrefetchBatchAsync)
#define cuMemAllocAsync                   WEIR_CU_PTSZ(cuMemAllocAsync)
#define cuMemFreeAsync                    WEIR_CU_PTSZ(cuMemFreeAsync)
#define cuMemAllocFromPoolAsync           WEIR_CU_PTSZ(cuMemAllocFromPoolAsync)
#define cuMemMapArrayAsync                WEIR_CU_PTSZ(cuMemMapArrayAsync)
#define cuMemBatchDecompressAsync         WEIR_CU_PTSZ(cuMemBatchDecompressAsync)
#define cuStreamGetPriority               WEIR_CU_PTSZ(cuStreamGetPriority)
#define cuStreamGetId                     WEIR_CU_PTSZ(cuStreamGetId)
#define cuStreamGetFlags                  WEIR_CU_PTSZ(cuStreamGetFlags)
#define cuStreamGetDevice                 WEIR_CU_PTSZ(cuStreamGetDevice)
#define cuStreamGetCtx                    WEIR_CU_PTSZ(cuStreamGetCtx)
#define cuStreamGetCtx_v2                 WEIR_CU_PTSZ(cuStreamGetCtx_v2)
#define cuStreamWaitEvent                 WEIR_CU_PTSZ(cuStreamWaitEvent)
#define cuStreamAddCallback               WEIR_CU_PTSZ(cuStreamAddCallback)
#define cuStreamAttachMemAsync            WEIR_CU_PTSZ(cuStreamAttachMemAsync)
#define cuStreamQuery                     WEIR_CU_PTSZ(cuStreamQuery)
#define cuStreamSynchronize               WEIR_CU_PTSZ(cuStreamSynchronize)
#define cuStreamBeginCaptureToGraph       WEIR_CU_PTSZ(cuStreamBeginCaptureToGraph)
#define cuStreamEndCapture                WEIR_CU_PTSZ(cuStreamEndCapture)
#define cuStreamIsCapturing               WEIR_CU_PTSZ(cuStreamIsCapturing)
#define cuStreamCopyAttributes            WEIR_CU_PTSZ(cuStreamCopyAttributes)
#define cuStreamGetAttribute              WEIR_CU_PTSZ(cuStreamGetAttribute)
#define cuStreamSetAttribute              WEIR_CU_PTSZ(cuStreamSetAttribute)
#define cuEventRecord                     WEIR_CU_PTSZ(cuEventRecord)
#define cuEventRecordWithFlags            WEIR_CU_PTSZ(cuEventRecordWithFlags)
#define cuLaunchKernel                    WEIR_CU_PTSZ(cuLaunchKernel)
#define cuLaunchKernelEx                  WEIR_CU_PTSZ(cuLaunchKernelEx)
#define cuLaunchCooperativeKernel         WEIR_CU_PTSZ(cuLaunchCooperativeKernel)
#define cuLaunchHostFunc                  WEIR_CU_PTSZ(cuLaunchHostFunc)
#define cuGraphicsMapResources            WEIR_CU_PTSZ(cuGraphicsMapResources)
#define cuGraphicsUnmapResources          WEIR_CU_PTSZ(cuGraphicsUnmapResources)
#define cuSignalExternalSemaphoresAsync   WEIR_CU_PTSZ(cuSignalExternalSemaphoresAsync)
#define cuWaitExternalSemaphoresAsync     WEIR_CU_PTSZ(cuWaitExternalSemaphoresAsync)
#define cuGraphInstantiateWithParams      WEIR_CU_PTSZ(cuGraphInstantiateWithParams)
#define cuGraphUpload                     WEIR_CU_PTSZ(cuGraphUpload)
#define cuGraphLaunch                     WEIR_CU_PTSZ(cuGraphLaunch)
#endif

#endif
