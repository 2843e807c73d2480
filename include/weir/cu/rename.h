/* weir/cu/rename.h: which exported symbol each call's plain name means.
 *
 * A call whose signature changed in the past keeps its old symbol for old binaries; programs
 * compiled now get the newest. Part of cuda.h; the calls that also exist once per default stream
 * are in per_thread.h. */
#ifndef WEIR_CU_RENAME_H
#define WEIR_CU_RENAME_H

#define cuDeviceTotalMem                   cuDeviceTotalMem_v2
#define cuDeviceGetUuid                    cuDeviceGetUuid_v2
#define cuDevicePrimaryCtxRelease          cuDevicePrimaryCtxRelease_v2
#define cuDevicePrimaryCtxReset            cuDevicePrimaryCtxReset_v2
#define cuDevicePrimaryCtxSetFlags         cuDevicePrimaryCtxSetFlags_v2
#define cuCtxCreate                        cuCtxCreate_v4
#define cuCtxDestroy                       cuCtxDestroy_v2
#define cuCtxPopCurrent                    cuCtxPopCurrent_v2
#define cuCtxPushCurrent                   cuCtxPushCurrent_v2
#define cuModuleGetGlobal                  cuModuleGetGlobal_v2
#define cuLinkCreate                       cuLinkCreate_v2
#define cuLinkAddData                      cuLinkAddData_v2
#define cuLinkAddFile                      cuLinkAddFile_v2
#define cuMemGetInfo                       cuMemGetInfo_v2
#define cuMemAlloc                         cuMemAlloc_v2
#define cuMemAllocPitch                    cuMemAllocPitch_v2
#define cuMemFree                          cuMemFree_v2
#define cuMemGetAddressRange               cuMemGetAddressRange_v2
#define cuMemAllocHost                     cuMemAllocHost_v2
#define cuMemHostGetDevicePointer          cuMemHostGetDevicePointer_v2
#define cuMemHostRegister                  cuMemHostRegister_v2
#define cuMemAdvise                        cuMemAdvise_v2
#define cuIpcOpenMemHandle                 cuIpcOpenMemHandle_v2
#define cuStreamDestroy                    cuStreamDestroy_v2
#define cuEventDestroy                     cuEventDestroy_v2
#define cuEventElapsedTime                 cuEventElapsedTime_v2
#define cuArrayCreate                      cuArrayCreate_v2
#define cuArrayGetDescriptor               cuArrayGetDescriptor_v2
#define cuArray3DCreate                    cuArray3DCreate_v2
#define cuArray3DGetDescriptor             cuArray3DGetDescriptor_v2
#define cuTexRefSetAddress                 cuTexRefSetAddress_v2
#define cuTexRefSetAddress2D               cuTexRefSetAddress2D_v3
#define cuTexRefGetAddress                 cuTexRefGetAddress_v2
#define cuGraphicsResourceGetMappedPointer cuGraphicsResourceGetMappedPointer_v2
#define cuGraphicsResourceSetMapFlags      cuGraphicsResourceSetMapFlags_v2
#define cuGraphInstantiate                 cuGraphInstantiateWithFlags
#define cuGraphExecUpdate                  cuGraphExecUpdate_v2
#define cuGraphAddKernelNode               cuGraphAddKernelNode_v2
#define cuGraphKernelNodeGetParams         cuGraphKernelNodeGetParams_v2
#define cuGraphKernelNodeSetParams         cuGraphKernelNodeSetParams_v2
#define cuGraphExecKernelNodeSetParams     cuGraphExecKernelNodeSetParams_v2
#define cuGraphAddNode                     cuGraphAddNode_v2
#define cuGraphAddDependencies             cuGraphAddDependencies_v2
#define cuGraphRemoveDependencies          cuGraphRemoveDependencies_v2
#define cuGraphGetEdges                    cuGraphGetEdges_v2
#define cuGraphNodeGetDependencies         cuGraphNodeGetDependencies_v2
#define cuGraphNodeGetDependentNodes       cuGraphNodeGetDependentNodes_v2

#endif
