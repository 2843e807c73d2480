/* event: events as handles: making, recording, waiting for and timing them. */
#include "base/list.h"
#include "driver/objects.h"

CUresult driver_event(CUevent h, struct device_event **e)
{
    if (!handle_live(h, TAG_EVENT))
        return CUDA_ERROR_INVALID_HANDLE;
    *e = h->device;
    return CUDA_SUCCESS;
}

CUevent event_make(CUcontext c, struct device_event *d, unsigned flags)
{
    CUevent e = handle_begin(TAG_EVENT, sizeof *e);
    e->ctx = c;
    e->flags = flags;
    e->device = d;
    pthread_mutex_lock(&c->lock);
    LIST_INSERT(c->events, e);
    handle_publish(e, TAG_EVENT);
    pthread_mutex_unlock(&c->lock);
    if (observed())
        observe_object_made(OBSERVE_EVENT_OBJECT, e);
    return e;
}

WEIR_API CUresult cuEventCreate(CUevent *out, unsigned int flags)
{
    HOLD;
    CUcontext c;
    CU_TRY(driver_current(&c));
    bool interprocess = (flags & CU_EVENT_INTERPROCESS) != 0;
    if (out == NULL || (flags & ~7u) != 0 ||
        (interprocess && (flags & CU_EVENT_DISABLE_TIMING) == 0))
        return CUDA_ERROR_INVALID_VALUE;
    struct device_event *d = device_event_new(c->device, flags);
    if (d == NULL)
        return driver_error(CUDA_ERROR_OUT_OF_MEMORY,
                            "cuEventCreate: no descriptor is left for an interprocess event");
    *out = event_make(c, d, flags);
    return CUDA_SUCCESS;
}

static void event_free(struct retired *r)
{
    CUevent e = (CUevent)(void *)((char *)r - offsetof(struct CUevent_st, retired));
    if (e->captured != NULL)
        capture_forget_event(e); /* of a call that was under way */
    device_event_free(e->device);
    handle_recycle(e);
}

void event_end(CUevent e)
{
    if (e->captured != NULL)
        capture_forget_event(e);
    bool interprocess = e->foreign || (e->flags & CU_EVENT_INTERPROCESS) != 0;
    e->retired.free = event_free;
    retire(&e->retired);
    if (interprocess) /* it has descriptors */
        retire_sweep();
}

WEIR_API CUresult cuEventDestroy_v2(CUevent e)
{
    HOLD;
    CUcontext c;
    CU_TRY(HANDLE_CONTEXT_FREEING(e, TAG_EVENT, &c));
    if (!handle_wipe(e))
        return CUDA_ERROR_INVALID_HANDLE;
    pthread_mutex_lock(&c->lock);
    LIST_REMOVE(e);
    pthread_mutex_unlock(&c->lock);
    event_end(e);
    return CUDA_SUCCESS;
}

static CUresult cuEventRecordWithFlags_impl(bool pt, CUevent h, CUstream stream, unsigned int flags)
{
    HOLD;
    CUcontext c;
    struct device_stream *s;
    struct device_event *e;
    CU_TRY(stream_find(stream, pt, &s, &c));
    CU_TRY(driver_event(h, &e));
    if ((flags & ~1u) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (h->ctx != c)
        return driver_error(CUDA_ERROR_INVALID_HANDLE,
                            "cuEventRecord: event and stream belong to different contexts");
    if (WEIR_UNLIKELY(capture_running() || h->captured != NULL)) {
        bool captured;
        CU_TRY(capture_event_record(s, c, h, (flags & CU_EVENT_RECORD_EXTERNAL) != 0, &captured));
        if (captured)
            return CUDA_SUCCESS;
    }
    if (flags != 0) /* external: for streams that are being captured */
        return CUDA_ERROR_ILLEGAL_STATE;
    return driver_from_device(c, device_event_record(e, s));
}
BOTH(cuEventRecordWithFlags, (CUevent h, CUstream s, unsigned int flags), h, s, flags)

static CUresult cuEventRecord_impl(bool pt, CUevent h, CUstream s)
{
    return cuEventRecordWithFlags_impl(pt, h, s, 0);
}
BOTH(cuEventRecord, (CUevent h, CUstream s), h, s)

static CUresult cuStreamWaitEvent_impl(bool pt, CUstream stream, CUevent h, unsigned int flags)
{
    HOLD;
    CUcontext c;
    struct device_stream *s;
    struct device_event *e;
    CU_TRY(stream_find(stream, pt, &s, &c));
    CU_TRY(driver_event(h, &e));
    if ((flags & ~1u) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (WEIR_UNLIKELY(capture_running() || h->captured != NULL)) {
        bool captured;
        CU_TRY(capture_event_wait(s, c, h, (flags & CU_EVENT_WAIT_EXTERNAL) != 0, &captured));
        if (captured)
            return CUDA_SUCCESS;
    }
    if (flags != 0) /* external: for streams that are being captured */
        return CUDA_ERROR_ILLEGAL_STATE;
    return driver_from_device(c, device_stream_wait_event(s, e));
}
BOTH(cuStreamWaitEvent, (CUstream s, CUevent h, unsigned int flags), s, h, flags)

/* Looking at an event is permitted in host functions, too. */
static inline CUresult look(CUevent h, CUcontext *c, struct device_event **e)
{
    CUresult r = HANDLE_CONTEXT(h, TAG_EVENT, c);
    if (WEIR_LIKELY(r == CUDA_SUCCESS)) {
        *e = h->device;
        return r;
    }
    return r == CUDA_ERROR_NOT_PERMITTED ? driver_event(h, e) : r;
}

WEIR_API CUresult cuEventQuery(CUevent h)
{
    HOLD;
    CUcontext c;
    struct device_event *e;
    CU_TRY(look(h, &c, &e));
    if (WEIR_UNLIKELY(capture_running() || h->captured != NULL))
        CU_TRY(capture_forbid_event(h));
    return driver_from_device(c, device_event_query(e));
}

WEIR_API CUresult cuEventSynchronize(CUevent h)
{
    HOLD;
    CUcontext c;
    struct device_event *e;
    CU_TRY(look(h, &c, &e));
    if (WEIR_UNLIKELY(capture_running() || h->captured != NULL))
        CU_TRY(capture_forbid_event(h));
    CUresult r = driver_from_device(c, device_event_sync(e));
    pool_synchronized();
    return r;
}

WEIR_API CUresult cuEventElapsedTime_v2(float *ms, CUevent from, CUevent to)
{
    HOLD;
    CUcontext c;
    struct device_event *a, *b;
    CU_TRY(look(from, &c, &a));
    CU_TRY(look(to, &c, &b));
    if (ms == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if (from->ctx->ordinal != to->ctx->ordinal)
        return driver_error(CUDA_ERROR_INVALID_HANDLE,
                            "the events are of two devices, %d and %d, whose times do not compare",
                            from->ctx->ordinal, to->ctx->ordinal);
    if (WEIR_UNLIKELY(from->captured != NULL || to->captured != NULL)) {
        CU_TRY(capture_elapsed(from));
        return capture_elapsed(to);
    }
    return driver_from_device(from->ctx, device_event_elapsed(a, b, ms));
}

/* The older name, for programs compiled with older headers. */
#undef cuEventElapsedTime
WEIR_API CUresult cuEventElapsedTime(float *ms, CUevent from, CUevent to);
WEIR_API CUresult cuEventElapsedTime(float *ms, CUevent from, CUevent to)
{
    HOLD;
    return cuEventElapsedTime_v2(ms, from, to);
}
