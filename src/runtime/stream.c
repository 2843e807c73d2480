/* stream: queues of work, and what the host may enqueue in or ask of them. */
#include "runtime/internal.h"

/* Handles that every device has; they are never created or destroyed. */
static bool is_default(cudaStream_t stream)
{
    return stream == NULL || stream == cudaStreamLegacy || stream == cudaStreamPerThread;
}

static cudaError_t create(cudaStream_t *stream, unsigned flags)
{
    RT_CHECK(stream, cudaErrorInvalidValue);
    RT_CHECK(!(flags & ~(unsigned)cudaStreamNonBlocking), cudaErrorInvalidValue);
    WITH_CONTEXT(CU(cuStreamCreate, stream, flags));
}

static cudaError_t create_with_priority(cudaStream_t *stream, unsigned flags, int priority)
{
    RT_CHECK(stream, cudaErrorInvalidValue);
    RT_CHECK(!(flags & ~(unsigned)cudaStreamNonBlocking), cudaErrorInvalidValue);
    WITH_CONTEXT(CU(cuStreamCreateWithPriority, stream, flags, priority));
}

PUBLIC cudaError_t cudaStreamCreate(cudaStream_t *pStream)
{
    return done(create(pStream, cudaStreamDefault));
}

PUBLIC cudaError_t cudaStreamCreateWithFlags(cudaStream_t *pStream, unsigned int flags)
{
    return done(create(pStream, flags));
}

PUBLIC cudaError_t cudaStreamCreateWithPriority(cudaStream_t *pStream, unsigned int flags,
                                                int priority)
{
    return done(create_with_priority(pStream, flags, priority));
}

static cudaError_t destroy(cudaStream_t stream)
{
    RT_CHECK(!is_default(stream), cudaErrorInvalidResourceHandle);
    RT_TRY(rt_permitted());
    WITH_CONTEXT(CU(cuStreamDestroy_v2, stream));
}

PUBLIC cudaError_t cudaStreamDestroy(cudaStream_t stream) { return done(destroy(stream)); }

static cudaError_t synchronize(cudaStream_t stream)
{
    RT_TRY(rt_permitted());
    WITH_CONTEXT(CU(cuStreamSynchronize, stream));
}

static cudaError_t query(cudaStream_t stream)
{
    RT_TRY(rt_permitted());
    WITH_CONTEXT(CU(cuStreamQuery, stream));
}

static cudaError_t get_flags(cudaStream_t stream, unsigned *flags)
{
    RT_CHECK(flags, cudaErrorInvalidValue);
    RT_TRY(rt_context());
    CU_TRY(CU(cuStreamGetFlags, stream, flags));
    return cudaSuccess;
}

static cudaError_t get_priority(cudaStream_t stream, int *priority)
{
    RT_CHECK(priority, cudaErrorInvalidValue);
    RT_TRY(rt_context());
    CU_TRY(CU(cuStreamGetPriority, stream, priority));
    return cudaSuccess;
}

static cudaError_t get_id(cudaStream_t stream, unsigned long long *id)
{
    RT_CHECK(id, cudaErrorInvalidValue);
    RT_TRY(rt_context());
    CU_TRY(CU(cuStreamGetId, stream, id));
    return cudaSuccess;
}

static cudaError_t get_device(cudaStream_t stream, int *device)
{
    CUdevice handle;

    RT_CHECK(device, cudaErrorInvalidValue);
    RT_TRY(rt_context());
    CU_TRY(CU(cuStreamGetDevice, stream, &handle));
    *device = (int)handle;
    return cudaSuccess;
}

static cudaError_t wait_event(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
    RT_CHECK(event, cudaErrorInvalidResourceHandle);
    RT_CHECK(!(flags & ~(unsigned)cudaEventWaitExternal), cudaErrorInvalidValue);
    RT_TRY(rt_context());
    CU_TRY(CU(cuStreamWaitEvent, stream, event, flags));
    return cudaSuccess;
}

/* The driver's callback has the same shape: a handle, a code, a pointer. */
static cudaError_t add_callback(cudaStream_t stream, cudaStreamCallback_t callback, void *userData,
                                unsigned flags)
{
    RT_CHECK(callback != NULL && flags == 0, cudaErrorInvalidValue);
    RT_TRY(rt_context());
    CU_TRY(CU(cuStreamAddCallback, stream, (CUstreamCallback)(void *)callback, userData, 0));
    return cudaSuccess;
}

static cudaError_t launch_host(cudaStream_t stream, cudaHostFn_t fn, void *userData)
{
    RT_CHECK(fn, cudaErrorInvalidValue);
    RT_TRY(rt_context());
    CU_TRY(CU(cuLaunchHostFunc, stream, fn, userData));
    return cudaSuccess;
}

static cudaError_t attach(cudaStream_t stream, void *devPtr, size_t length, unsigned flags)
{
    RT_CHECK(devPtr, cudaErrorInvalidValue);
    RT_TRY(rt_context());
    CU_TRY(CU(cuStreamAttachMemAsync, stream, (CUdeviceptr)devPtr, length, flags));
    return cudaSuccess;
}

_Static_assert(sizeof(cudaLaunchAttributeValue) == sizeof(CUstreamAttrValue), "same layout");

static cudaError_t copy_attributes(cudaStream_t dst, cudaStream_t src)
{
    RT_TRY(rt_context());
    CU_TRY(CU(cuStreamCopyAttributes, dst, src));
    return cudaSuccess;
}

static cudaError_t get_attribute(cudaStream_t stream, cudaLaunchAttributeID attr,
                                 cudaLaunchAttributeValue *value)
{
    RT_CHECK(value, cudaErrorInvalidValue);
    RT_TRY(rt_context());
    CU_TRY(CU(cuStreamGetAttribute, stream, (CUstreamAttrID)attr, (CUstreamAttrValue *)value));
    return cudaSuccess;
}

static cudaError_t set_attribute(cudaStream_t stream, cudaLaunchAttributeID attr,
                                 const cudaLaunchAttributeValue *value)
{
    RT_CHECK(value, cudaErrorInvalidValue);
    RT_TRY(rt_context());
    CU_TRY(
        CU(cuStreamSetAttribute, stream, (CUstreamAttrID)attr, (const CUstreamAttrValue *)value));
    return cudaSuccess;
}

static cudaError_t is_capturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status)
{
    CUstreamCaptureStatus value;

    RT_CHECK(status, cudaErrorInvalidValue);
    RT_TRY(rt_context());
    CU_TRY(CU(cuStreamIsCapturing, stream, &value));
    *status = (enum cudaStreamCaptureStatus)value;
    return cudaSuccess;
}

_Static_assert(sizeof(cudaGraphEdgeData) == sizeof(CUgraphEdgeData), "same layout");

static cudaError_t capture_info(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                                unsigned long long *id, cudaGraph_t *graph,
                                const cudaGraphNode_t **nodes, const cudaGraphEdgeData **edges,
                                size_t *count)
{
    CUstreamCaptureStatus value;
    cuuint64_t number = 0;

    RT_CHECK(status, cudaErrorInvalidValue);
    RT_TRY(rt_context());
    CU_TRY(CU(cuStreamGetCaptureInfo_v3, stream, &value, &number, (CUgraph *)graph,
              (const CUgraphNode **)nodes, (const CUgraphEdgeData **)edges, count));
    *status = (enum cudaStreamCaptureStatus)value;
    if (id != NULL && value == CU_STREAM_CAPTURE_STATUS_ACTIVE)
        *id = number;
    return cudaSuccess;
}

static cudaError_t exchange_mode(enum cudaStreamCaptureMode *mode)
{
    CUstreamCaptureMode value;

    RT_CHECK(mode != NULL && (unsigned)*mode <= cudaStreamCaptureModeRelaxed,
             cudaErrorInvalidValue);
    RT_TRY(rt_init());
    value = (CUstreamCaptureMode)*mode;
    CU_TRY(CU(cuThreadExchangeStreamCaptureMode, &value));
    *mode = (enum cudaStreamCaptureMode)value;
    return cudaSuccess;
}

PUBLIC cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode)
{
    return done(exchange_mode(mode));
}

STREAM_API(cudaStreamSynchronize, (cudaStream_t stream), synchronize(stream))
STREAM_API(cudaStreamQuery, (cudaStream_t stream), query(stream))
STREAM_API(cudaStreamGetFlags, (cudaStream_t stream, unsigned *flags), get_flags(stream, flags))
STREAM_API(cudaStreamGetPriority, (cudaStream_t stream, int *priority),
           get_priority(stream, priority))
STREAM_API(cudaStreamGetId, (cudaStream_t stream, unsigned long long *id), get_id(stream, id))
STREAM_API(cudaStreamGetDevice, (cudaStream_t stream, int *device), get_device(stream, device))
STREAM_API(cudaStreamWaitEvent, (cudaStream_t stream, cudaEvent_t event, unsigned flags),
           wait_event(stream, event, flags))
STREAM_API(cudaStreamAddCallback,
           (cudaStream_t stream, cudaStreamCallback_t callback, void *userData, unsigned flags),
           add_callback(stream, callback, userData, flags))
STREAM_API(cudaLaunchHostFunc, (cudaStream_t stream, cudaHostFn_t fn, void *userData),
           launch_host(stream, fn, userData))
STREAM_API(cudaStreamAttachMemAsync,
           (cudaStream_t stream, void *devPtr, size_t length, unsigned flags),
           attach(stream, devPtr, length, flags))
STREAM_API(cudaStreamGetAttribute,
           (cudaStream_t stream, cudaLaunchAttributeID attr, cudaLaunchAttributeValue *value),
           get_attribute(stream, attr, value))
STREAM_API(cudaStreamSetAttribute,
           (cudaStream_t stream, cudaLaunchAttributeID attr, const cudaLaunchAttributeValue *value),
           set_attribute(stream, attr, value))
STREAM_API(cudaStreamIsCapturing,
           (cudaStream_t stream, enum cudaStreamCaptureStatus *pCaptureStatus),
           is_capturing(stream, pCaptureStatus))

STREAM_API(cudaStreamGetCaptureInfo,
           (cudaStream_t stream, enum cudaStreamCaptureStatus *captureStatus_out,
            unsigned long long *id_out, cudaGraph_t *graph_out,
            const cudaGraphNode_t **dependencies_out, const cudaGraphEdgeData **edgeData_out,
            size_t *numDependencies_out),
           capture_info(stream, captureStatus_out, id_out, graph_out, dependencies_out,
                        edgeData_out, numDependencies_out))

PUBLIC cudaError_t cudaStreamCopyAttributes(cudaStream_t dst, cudaStream_t src)
{
    return done(copy_attributes(dst, src));
}

PUBLIC cudaError_t cudaStreamCopyAttributes_ptsz(cudaStream_t dst, cudaStream_t src)
{
    return done(copy_attributes(dst != NULL ? dst : cudaStreamPerThread,
                                src != NULL ? src : cudaStreamPerThread));
}
