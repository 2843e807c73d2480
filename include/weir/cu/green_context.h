/* weir/cu/green_context.h: green contexts: contexts on a part of a device's multiprocessors. Part
 * of cuda.h. */
#ifndef WEIR_CU_GREEN_CONTEXT_H
#define WEIR_CU_GREEN_CONTEXT_H

#include "base.h"
#include "result.h"

typedef enum CUgreenCtxCreate_flags_enum {
    CU_GREEN_CTX_DEFAULT_STREAM = 0x1 /* required */
} CUgreenCtxCreate_flags;

typedef enum CUdevSmResourceSplit_flags_enum {
    CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING = 0x1,
    CU_DEV_SM_RESOURCE_SPLIT_MAX_POTENTIAL_CLUSTER_SIZE = 0x2
} CUdevSmResourceSplit_flags;

typedef enum CUdevResourceType_enum {
    CU_DEV_RESOURCE_TYPE_INVALID = 0,
    CU_DEV_RESOURCE_TYPE_SM = 1
} CUdevResourceType;

typedef struct CUdevSmResource_st {
    unsigned int smCount;
    unsigned int minSmPartitionSize;     /* the fewest a part can have */
    unsigned int smCoscheduledAlignment; /* parts are multiples of it */
} CUdevSmResource;

#define RESOURCE_ABI_VERSION        1
#define RESOURCE_ABI_EXTERNAL_BYTES 48

typedef struct CUdevResource_st {
    CUdevResourceType type;
    unsigned char _internal_padding[92];
    union {
        CUdevSmResource sm;
        unsigned char _oversize[RESOURCE_ABI_EXTERNAL_BYTES];
    };
} CUdevResource_v1;
typedef CUdevResource_v1 CUdevResource;

#ifdef __cplusplus
extern "C" {
#endif

/* What a device, a context, a green context has. */
CUresult CUDAAPI cuDeviceGetDevResource(CUdevice device, CUdevResource *resource,
                                        CUdevResourceType type);
CUresult CUDAAPI cuCtxGetDevResource(CUcontext hCtx, CUdevResource *resource,
                                     CUdevResourceType type);
CUresult CUDAAPI cuGreenCtxGetDevResource(CUgreenCtx hCtx, CUdevResource *resource,
                                          CUdevResourceType type);

/* Groups of at least minCount multiprocessors each, and what is left over. */
CUresult CUDAAPI cuDevSmResourceSplitByCount(CUdevResource *result, unsigned int *nbGroups,
                                             const CUdevResource *input, CUdevResource *remaining,
                                             unsigned int useFlags, unsigned int minCount);
CUresult CUDAAPI cuDevResourceGenerateDesc(CUdevResourceDesc *phDesc, CUdevResource *resources,
                                           unsigned int nbResources);

CUresult CUDAAPI cuGreenCtxCreate(CUgreenCtx *phCtx, CUdevResourceDesc desc, CUdevice dev,
                                  unsigned int flags);
CUresult CUDAAPI cuGreenCtxDestroy(CUgreenCtx hCtx);
CUresult CUDAAPI cuGreenCtxGetId(CUgreenCtx greenCtx, unsigned long long *greenCtxId);
CUresult CUDAAPI cuGreenCtxRecordEvent(CUgreenCtx hCtx, CUevent hEvent);
CUresult CUDAAPI cuGreenCtxWaitEvent(CUgreenCtx hCtx, CUevent hEvent);
CUresult CUDAAPI cuGreenCtxStreamCreate(CUstream *phStream, CUgreenCtx greenCtx, unsigned int flags,
                                        int priority);
CUresult CUDAAPI cuStreamGetGreenCtx(CUstream hStream, CUgreenCtx *phCtx);

/* The context a green context is used through. */
CUresult CUDAAPI cuCtxFromGreenCtx(CUcontext *pContext, CUgreenCtx hCtx);

#ifdef __cplusplus
}
#endif

#endif
