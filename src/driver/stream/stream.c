/* stream: streams and events as handles. */
#include <stdlib.h>

#include "driver/objects.h"

/* ---- streams ---- */

CUresult driver_stream_special(CUstream h, bool per_thread, struct device_stream **s,
                               CUcontext *ctx)
{
    if (h == NULL)
        h = per_thread ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
    if (h == CU_STREAM_LEGACY) {
        *s = device_stream_legacy((*ctx)->device);
        return CUDA_SUCCESS;
    }
    if (h == CU_STREAM_PER_THREAD) {
        *s = device_stream_per_thread((*ctx)->device);
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_HANDLE;
}

static __attribute__((noinline)) CUresult find_any(CUstream h, bool per_thread,
                                                   struct device_stream **s, CUcontext *ctx)
{
    return driver_find_stream(h, per_thread, s, ctx);
}

/* Context and stream of a call that needs both. */
static inline CUresult stream_find(CUstream h, bool per_thread, struct device_stream **s,
                                   CUcontext *ctx)
{
    if (WEIR_UNLIKELY(!driver_plain(h)))
        return find_any(h, per_thread, s, ctx);
    *s = h->device;
    *ctx = h->ctx;
    return CUDA_SUCCESS;
}

WEIR_API CUresult cuStreamCreateWithPriority(CUstream *out, unsigned int flags, int priority)
{
    CUcontext c;
    CUresult r = driver_current(&c);
    if (r != CUDA_SUCCESS)
        return r;
    if (out == NULL || (flags & ~1u) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    CUstream s = handle_new(TAG_STREAM, sizeof *s);
    s->ctx = c;
    s->device = device_stream_new(c->device, flags, priority);
    if (s->device == NULL) {
        handle_free(s);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    pthread_mutex_lock(&c->lock);
    s->next = c->streams;
    s->link = &c->streams;
    if (s->next != NULL)
        s->next->link = &s->next;
    c->streams = s;
    pthread_mutex_unlock(&c->lock);
    *out = s;
    return CUDA_SUCCESS;
}

WEIR_API CUresult cuStreamCreate(CUstream *out, unsigned int flags)
{
    return cuStreamCreateWithPriority(out, flags, 0);
}

void stream_destroy(CUstream s)
{
    pthread_mutex_lock(&s->ctx->lock);
    *s->link = s->next;
    if (s->next != NULL)
        s->next->link = s->link;
    pthread_mutex_unlock(&s->ctx->lock);
    if (WEIR_UNLIKELY(capture_running()))
        capture_forget_stream(s->device);
    device_stream_free(s->device);
    handle_free(s);
}

WEIR_API CUresult cuStreamDestroy_v2(CUstream s)
{
    CUcontext c;
    CUresult r = driver_current(&c);
    if (r != CUDA_SUCCESS)
        return r;
    if (!handle_live(s, TAG_STREAM))
        return CUDA_ERROR_INVALID_HANDLE;
    stream_destroy(s);
    pool_synchronized(); /* nobody can synchronize with it any more */
    return CUDA_SUCCESS;
}

static CUresult cuStreamSynchronize_(bool pt, CUstream h)
{
    CUcontext c;
    struct device_stream *s;
    CUresult r = stream_find(h, pt, &s, &c);
    if (r == CUDA_SUCCESS && WEIR_UNLIKELY(capture_running()))
        r = capture_wait(s, c);
    if (r != CUDA_SUCCESS)
        return r;
    r = driver_from_device(c, device_stream_sync(s));
    pool_synchronized();
    return r;
}
BOTH(cuStreamSynchronize, (CUstream h), h)

static CUresult cuStreamQuery_(bool pt, CUstream h)
{
    CUcontext c;
    struct device_stream *s;
    CUresult r = stream_find(h, pt, &s, &c);
    if (r == CUDA_SUCCESS && WEIR_UNLIKELY(capture_running()))
        r = capture_wait(s, c);
    return r != CUDA_SUCCESS ? r : driver_from_device(c, device_stream_query(s));
}
BOTH(cuStreamQuery, (CUstream h), h)

static CUresult cuStreamGetPriority_(bool pt, CUstream h, int *priority)
{
    CUcontext c;
    struct device_stream *s;
    CUresult r = stream_find(h, pt, &s, &c);
    if (r != CUDA_SUCCESS)
        return r;
    if (priority == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *priority = device_stream_priority(s);
    return CUDA_SUCCESS;
}
BOTH(cuStreamGetPriority, (CUstream h, int *priority), h, priority)

static CUresult cuStreamGetFlags_(bool pt, CUstream h, unsigned int *flags)
{
    CUcontext c;
    struct device_stream *s;
    CUresult r = stream_find(h, pt, &s, &c);
    if (r == CUDA_SUCCESS && WEIR_UNLIKELY(capture_running()))
        r = capture_forbid(s, c);
    if (r != CUDA_SUCCESS)
        return r;
    if (flags == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *flags = device_stream_flags(s);
    return CUDA_SUCCESS;
}
BOTH(cuStreamGetFlags, (CUstream h, unsigned int *flags), h, flags)

static CUresult cuStreamGetId_(bool pt, CUstream h, unsigned long long *id)
{
    CUcontext c;
    struct device_stream *s;
    CUresult r = stream_find(h, pt, &s, &c);
    if (r == CUDA_SUCCESS && WEIR_UNLIKELY(capture_running()))
        r = capture_forbid(s, c);
    if (r != CUDA_SUCCESS)
        return r;
    if (id == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *id = device_stream_id(s);
    return CUDA_SUCCESS;
}
BOTH(cuStreamGetId, (CUstream h, unsigned long long *id), h, id)

static CUresult cuStreamGetCtx_(bool pt, CUstream h, CUcontext *out)
{
    CUcontext c;
    struct device_stream *s;
    CUresult r = stream_find(h, pt, &s, &c);
    if (r != CUDA_SUCCESS)
        return r;
    if (out == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *out = c;
    return CUDA_SUCCESS;
}
BOTH(cuStreamGetCtx, (CUstream h, CUcontext *out), h, out)

static CUresult cuStreamGetDevice_(bool pt, CUstream h, CUdevice *out)
{
    CUcontext c;
    CUresult r = cuStreamGetCtx_(pt, h, &c);
    if (r == CUDA_SUCCESS && out == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        *out = c->ordinal;
    return r;
}
BOTH(cuStreamGetDevice, (CUstream h, CUdevice *out), h, out)

/* ---- events ---- */

CUresult driver_event(CUevent h, struct device_event **e)
{
    if (!handle_live(h, TAG_EVENT))
        return CUDA_ERROR_INVALID_HANDLE;
    *e = h->device;
    return CUDA_SUCCESS;
}

CUevent event_make(CUcontext c, struct device_event *d, unsigned flags)
{
    CUevent e = handle_new(TAG_EVENT, sizeof *e);
    e->ctx = c;
    e->flags = flags;
    e->device = d;
    pthread_mutex_lock(&c->lock);
    e->next = c->events;
    e->link = &c->events;
    if (e->next != NULL)
        e->next->link = &e->next;
    c->events = e;
    pthread_mutex_unlock(&c->lock);
    return e;
}

WEIR_API CUresult cuEventCreate(CUevent *out, unsigned int flags)
{
    CUcontext c;
    CUresult r = driver_current(&c);
    if (r != CUDA_SUCCESS)
        return r;
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

void event_destroy(CUevent e)
{
    pthread_mutex_lock(&e->ctx->lock);
    *e->link = e->next;
    if (e->next != NULL)
        e->next->link = e->link;
    pthread_mutex_unlock(&e->ctx->lock);
    if (e->captured != NULL)
        capture_forget_event(e);
    device_event_free(e->device);
    handle_free(e);
}

WEIR_API CUresult cuEventDestroy_v2(CUevent e)
{
    CUcontext c;
    struct device_event *d;
    CUresult r = driver_current(&c);
    if (r == CUDA_SUCCESS)
        r = driver_event(e, &d);
    if (r == CUDA_SUCCESS)
        event_destroy(e);
    return r;
}

static CUresult cuEventRecordWithFlags_(bool pt, CUevent h, CUstream stream, unsigned int flags)
{
    CUcontext c;
    struct device_stream *s;
    struct device_event *e;
    CUresult r = stream_find(stream, pt, &s, &c);
    if (r == CUDA_SUCCESS)
        r = driver_event(h, &e);
    if (r != CUDA_SUCCESS)
        return r;
    if ((flags & ~1u) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (h->ctx != c)
        return driver_error(CUDA_ERROR_INVALID_HANDLE,
                            "cuEventRecord: event and stream belong to different contexts");
    if (WEIR_UNLIKELY(capture_running() || h->captured != NULL)) {
        bool captured;
        r = capture_event_record(s, c, h, (flags & CU_EVENT_RECORD_EXTERNAL) != 0, &captured);
        if (r != CUDA_SUCCESS || captured)
            return r;
    }
    if (flags != 0) /* external: for streams that are being captured */
        return CUDA_ERROR_ILLEGAL_STATE;
    return driver_from_device(c, device_event_record(e, s));
}
BOTH(cuEventRecordWithFlags, (CUevent h, CUstream s, unsigned int flags), h, s, flags)

static CUresult cuEventRecord_(bool pt, CUevent h, CUstream s)
{
    return cuEventRecordWithFlags_(pt, h, s, 0);
}
BOTH(cuEventRecord, (CUevent h, CUstream s), h, s)

static CUresult cuStreamWaitEvent_(bool pt, CUstream stream, CUevent h, unsigned int flags)
{
    CUcontext c;
    struct device_stream *s;
    struct device_event *e;
    CUresult r = stream_find(stream, pt, &s, &c);
    if (r == CUDA_SUCCESS)
        r = driver_event(h, &e);
    if (r != CUDA_SUCCESS)
        return r;
    if ((flags & ~1u) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (WEIR_UNLIKELY(capture_running() || h->captured != NULL)) {
        bool captured;
        r = capture_event_wait(s, c, h, (flags & CU_EVENT_WAIT_EXTERNAL) != 0, &captured);
        if (r != CUDA_SUCCESS || captured)
            return r;
    }
    if (flags != 0) /* external: for streams that are being captured */
        return CUDA_ERROR_ILLEGAL_STATE;
    return driver_from_device(c, device_stream_wait_event(s, e));
}
BOTH(cuStreamWaitEvent, (CUstream s, CUevent h, unsigned int flags), s, h, flags)

/* Looking at an event is permitted in host functions, which have no context. */
static CUresult look_current(CUcontext *c)
{
    CUresult r = driver_current(c);
    return r == CUDA_ERROR_NOT_PERMITTED ? CUDA_SUCCESS : r;
}

WEIR_API CUresult cuEventQuery(CUevent h)
{
    CUcontext c;
    struct device_event *e;
    CUresult r = look_current(&c);
    if (r == CUDA_SUCCESS)
        r = driver_event(h, &e);
    if (r == CUDA_SUCCESS && WEIR_UNLIKELY(capture_running() || h->captured != NULL))
        r = capture_forbid_event(h);
    return r != CUDA_SUCCESS ? r : driver_from_device(h->ctx, device_event_query(e));
}

WEIR_API CUresult cuEventSynchronize(CUevent h)
{
    CUcontext c;
    struct device_event *e;
    CUresult r = look_current(&c);
    if (r == CUDA_SUCCESS)
        r = driver_event(h, &e);
    if (r == CUDA_SUCCESS && WEIR_UNLIKELY(capture_running() || h->captured != NULL))
        r = capture_forbid_event(h);
    if (r != CUDA_SUCCESS)
        return r;
    r = driver_from_device(h->ctx, device_event_sync(e));
    pool_synchronized();
    return r;
}

WEIR_API CUresult cuEventElapsedTime_v2(float *ms, CUevent from, CUevent to)
{
    CUcontext c;
    struct device_event *a, *b;
    CUresult r = look_current(&c);
    if (r == CUDA_SUCCESS)
        r = driver_event(from, &a);
    if (r == CUDA_SUCCESS)
        r = driver_event(to, &b);
    if (r != CUDA_SUCCESS)
        return r;
    if (ms == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if (WEIR_UNLIKELY(from->captured != NULL || to->captured != NULL)) {
        r = capture_elapsed(from);
        return r != CUDA_SUCCESS ? r : capture_elapsed(to);
    }
    return driver_from_device(from->ctx, device_event_elapsed(a, b, ms));
}

/* The older name, for programs compiled with older headers. */
#undef cuEventElapsedTime
WEIR_API CUresult cuEventElapsedTime(float *ms, CUevent from, CUevent to);
WEIR_API CUresult cuEventElapsedTime(float *ms, CUevent from, CUevent to)
{
    return cuEventElapsedTime_v2(ms, from, to);
}
