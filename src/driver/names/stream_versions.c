/* names/stream_versions: calls about streams as CUDA 8 to 12.2 had them: captures without data of
 * edges, values in memory and batches of operations. */
#include "driver/objects.h"

#undef cuStreamBeginCapture
#undef cuStreamGetCaptureInfo
#undef cuStreamUpdateCaptureDependencies
#undef cuStreamWaitValue32
#undef cuStreamWaitValue64
#undef cuStreamWriteValue32
#undef cuStreamWriteValue64
#undef cuStreamBatchMemOp

/* One version by a later one: `given` are the parameters, `passed` what the later one gets. */
#define BY(name, later, given, taken, passed)                                                      \
    WEIR_API CUresult later taken;                                                                 \
    WEIR_API CUresult later##_ptsz taken;                                                          \
    WEIR_API CUresult name given;                                                                  \
    WEIR_API CUresult name##_ptsz given;                                                           \
    WEIR_API CUresult name given { return later passed; }                                          \
    WEIR_API CUresult name##_ptsz given { return later##_ptsz passed; }

/* ---- captures ---- */

/* CUDA 10.0 had one mode. */
BY(cuStreamBeginCapture, cuStreamBeginCapture_v2, (CUstream h),
   (CUstream h, CUstreamCaptureMode mode), (h, CU_STREAM_CAPTURE_MODE_GLOBAL))

#define INFO_V3                                                                                    \
    (CUstream h, CUstreamCaptureStatus * status, cuuint64_t * id, CUgraph * graph,                 \
     const CUgraphNode **nodes, const CUgraphEdgeData **edges, size_t *count)

BY(cuStreamGetCaptureInfo, cuStreamGetCaptureInfo_v3,
   (CUstream h, CUstreamCaptureStatus *status, cuuint64_t *id), INFO_V3,
   (h, status, id, NULL, NULL, NULL, NULL))

/* Data of edges for which there is no place: CUDA_ERROR_LOSSY_QUERY, as the later version says. */
BY(cuStreamGetCaptureInfo_v2, cuStreamGetCaptureInfo_v3,
   (CUstream h, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
    const CUgraphNode **nodes, size_t *count),
   INFO_V3, (h, status, id, graph, nodes, NULL, count))

BY(cuStreamUpdateCaptureDependencies, cuStreamUpdateCaptureDependencies_v2,
   (CUstream h, CUgraphNode *nodes, size_t count, unsigned int flags),
   (CUstream h, CUgraphNode *nodes, const CUgraphEdgeData *data, size_t count, unsigned int flags),
   (h, nodes, NULL, count, flags))

/* ---- values in memory: the same calls, which drivers of CUDA 8 to 11.6 had to be told to allow
 * ---- */

#define VALUE(name, bits)                                                                          \
    BY(name, name##_v2, (CUstream h, CUdeviceptr at, cuuint##bits##_t value, unsigned int flags),  \
       (CUstream h, CUdeviceptr at, cuuint##bits##_t value, unsigned int flags),                   \
       (h, at, value, flags))
VALUE(cuStreamWaitValue32, 32)
VALUE(cuStreamWaitValue64, 64)
VALUE(cuStreamWriteValue32, 32)
VALUE(cuStreamWriteValue64, 64)

#define BATCH (CUstream h, unsigned int count, CUstreamBatchMemOpParams *ops, unsigned int flags)
BY(cuStreamBatchMemOp, cuStreamBatchMemOp_v2, BATCH, BATCH, (h, count, ops, flags))
