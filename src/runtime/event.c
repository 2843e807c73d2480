/* event: marks in streams that can be waited for and timed. */
#include "runtime/internal.h"

static cudaError_t create(cudaEvent_t *event, unsigned flags)
{
    const unsigned known = cudaEventBlockingSync | cudaEventDisableTiming | cudaEventInterprocess;

    RT_CHECK(event != NULL && !(flags & ~known), cudaErrorInvalidValue);
    WITH_CONTEXT(CU(cuEventCreate, event, flags));
}

PUBLIC cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    return done(create(event, cudaEventDefault));
}

PUBLIC cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags)
{
    return done(create(event, flags));
}

static cudaError_t destroy(cudaEvent_t event)
{
    RT_CHECK(event, cudaErrorInvalidResourceHandle);
    WITH_CONTEXT(CU(cuEventDestroy_v2, event));
}

PUBLIC cudaError_t cudaEventDestroy(cudaEvent_t event) { return done(destroy(event)); }

static cudaError_t record(cudaEvent_t event, cudaStream_t stream)
{
    RT_CHECK(event, cudaErrorInvalidResourceHandle);
    RT_TRY(rt_permitted());
    WITH_CONTEXT(CU(cuEventRecord, event, stream));
}

static cudaError_t record_with_flags(cudaEvent_t event, cudaStream_t stream, unsigned flags)
{
    RT_CHECK(event, cudaErrorInvalidResourceHandle);
    RT_CHECK(!(flags & ~(unsigned)cudaEventRecordExternal), cudaErrorInvalidValue);
    if (flags == cudaEventRecordDefault)
        return record(event, stream);
    RT_TRY(rt_context());
    CU_TRY(CU(cuEventRecordWithFlags, event, stream, flags));
    return cudaSuccess;
}

STREAM_API(cudaEventRecord, (cudaEvent_t event, cudaStream_t stream), record(event, stream))
STREAM_API(cudaEventRecordWithFlags, (cudaEvent_t event, cudaStream_t stream, unsigned flags),
           record_with_flags(event, stream, flags))

/* Looking at events is what a host function may do, although it has no context (as on GPUs). */
static cudaError_t look_context(void)
{
    cudaError_t error = rt_context();

    return error == cudaErrorNotPermitted ? cudaSuccess : error;
}

static cudaError_t query(cudaEvent_t event)
{
    RT_CHECK(event, cudaErrorInvalidResourceHandle);
    WITH_CONTEXT(CU(cuEventQuery, event));
}

PUBLIC cudaError_t cudaEventQuery(cudaEvent_t event) { return done(query(event)); }

static cudaError_t synchronize(cudaEvent_t event)
{
    RT_CHECK(event, cudaErrorInvalidResourceHandle);
    WITH_CONTEXT(CU(cuEventSynchronize, event));
}

PUBLIC cudaError_t cudaEventSynchronize(cudaEvent_t event) { return done(synchronize(event)); }

static cudaError_t elapsed(float *ms, cudaEvent_t start, cudaEvent_t end)
{
    RT_CHECK(ms, cudaErrorInvalidValue);
    RT_CHECK(start != NULL && end != NULL, cudaErrorInvalidResourceHandle);
    RT_TRY(look_context());
    CU_TRY(CU(cuEventElapsedTime_v2, ms, start, end));
    return cudaSuccess;
}

PUBLIC cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end)
{
    return done(elapsed(ms, start, end));
}
