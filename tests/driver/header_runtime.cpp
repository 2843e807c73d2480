/* C1: header_runtime.cpp: cuda.h beside the runtime API's header, in either order: they agree where
 * one is the other's. */
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <type_traits>

#include "check.h"

#ifndef WEIR_CU_BASE_H
#error "another cuda.h was found first"
#endif

#define SAME_TYPE(driver, runtime)  static_assert(std::is_same<driver, runtime>::value, #runtime)
#define SAME_VALUE(driver, runtime) static_assert((int)(driver) == (int)(runtime), #runtime)
#define SAME_LAYOUT(driver, runtime)                                                               \
    static_assert(sizeof(driver) == sizeof(runtime) && alignof(driver) == alignof(runtime),        \
                  #runtime)

SAME_TYPE(CUstream, cudaStream_t);
SAME_TYPE(CUevent, cudaEvent_t);
SAME_TYPE(CUfunction, cudaFunction_t);
SAME_TYPE(CUkernel, cudaKernel_t);
SAME_TYPE(CUlibrary, cudaLibrary_t);
SAME_TYPE(CUgraph, cudaGraph_t);
SAME_TYPE(CUgraphNode, cudaGraphNode_t);
SAME_TYPE(CUgraphExec, cudaGraphExec_t);
SAME_TYPE(CUmemoryPool, cudaMemPool_t);
SAME_TYPE(CUuserObject, cudaUserObject_t);
SAME_TYPE(CUuuid, cudaUUID_t);

SAME_VALUE(CUDA_VERSION, CUDART_VERSION);
SAME_VALUE(CUDA_ERROR_ILLEGAL_ADDRESS, cudaErrorIllegalAddress);
SAME_VALUE(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION, cudaErrorInvalidResourceConfiguration);
SAME_VALUE(CUDA_ERROR_NOT_SUPPORTED, cudaErrorNotSupported);
SAME_VALUE(CU_DEVICE_ATTRIBUTE_ONLY_PARTIAL_HOST_NATIVE_ATOMIC_SUPPORTED,
           cudaDevAttrOnlyPartialHostNativeAtomicSupported);
SAME_VALUE(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, cudaDevAttrComputeCapabilityMajor);
SAME_VALUE(CU_DEVICE_ATTRIBUTE_MAX, cudaDevAttrMax);
SAME_VALUE(CU_FUNC_ATTRIBUTE_MAX, cudaFuncAttributeMax);
SAME_VALUE(CU_LIMIT_PERSISTING_L2_CACHE_SIZE, cudaLimitPersistingL2CacheSize);
SAME_VALUE(CU_RES_VIEW_FORMAT_UNSIGNED_BC7, cudaResViewFormatUnsignedBlockCompressed7);
SAME_VALUE(CU_GRAPH_NODE_TYPE_CONDITIONAL, cudaGraphNodeTypeConditional);
SAME_VALUE(CU_JIT_OVERRIDE_DIRECTIVE_VALUES, cudaJitOverrideDirectiveValues);

SAME_LAYOUT(CUlaunchAttribute, cudaLaunchAttribute);
SAME_LAYOUT(CUmemPoolProps, cudaMemPoolProps);
SAME_LAYOUT(CUmemLocation, cudaMemLocation);
SAME_LAYOUT(CUgraphEdgeData, cudaGraphEdgeData);
SAME_LAYOUT(CUgraphNodeParams, cudaGraphNodeParams);
SAME_LAYOUT(CUgraphExecUpdateResultInfo, cudaGraphExecUpdateResultInfo);
SAME_LAYOUT(CUDA_GRAPH_INSTANTIATE_PARAMS, cudaGraphInstantiateParams);
SAME_LAYOUT(CUipcMemHandle, cudaIpcMemHandle_t);
SAME_LAYOUT(CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS, cudaExternalSemaphoreWaitParams);

int main()
{
    CHECK_EQ_INT(CUDA_VERSION, CUDART_VERSION);
    return check_done();
}
