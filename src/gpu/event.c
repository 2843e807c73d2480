/* event: events of the program: what each says about order, from the call that recorded it to those
 * that wait for it.
 *
 * Only events that the runtime has made are followed, and not those that something else may record:
 * another process, a graph, the end of a launch. What a recording says is published once the driver
 * has made it, and counts for who waits only if no other recording came between. */
#include "gpu/internal.h"

struct event {
    struct node node;    /* the key is the handle */
    _Atomic bool taken;  /* the lock of what follows */
    struct vector *says; /* NULL: nothing */
    uint64_t version;    /* of the recording; goes on where the record is used again */
};

static struct table events = {.bytes = sizeof(struct event)};

/* It says nothing any more, and what is being recorded will not count. */
static void silence(struct event *e)
{
    short_lock(&e->taken);
    struct vector *said = e->says;
    e->says = NULL;
    e->version++;
    short_unlock(&e->taken);
    vector_unref(said);
}

static void forget(CUevent h)
{
    if (followed()) { /* before that, none says anything */
        struct event *e = (struct event *)table_find(&events, h);
        if (e != NULL)
            silence(e);
    }
    table_drop(&events, h);
}

void event_is_recorded_by_others(CUevent h) { forget(h); }

/* Programs make and end events all the time: without pools, that is one lock each. */
CUresult gpu_cuEventCreate(CUevent *out, unsigned flags)
{
    CUresult r = driver.cuEventCreate(out, flags);
    if (r != CUDA_SUCCESS)
        return r;
    bool there = false;
    if ((flags & CU_EVENT_INTERPROCESS) != 0) {
        forget(*out);
        return r;
    }
    struct event *e = (struct event *)table_keep(&events, *out, &there);
    if (WEIR_UNLIKELY(there)) /* the driver has ended one of that handle and told nobody */
        silence(e);
    return r;
}

CUresult gpu_cuEventDestroy_v2(CUevent h)
{
    forget(h);
    return driver.cuEventDestroy_v2(h);
}

CUresult gpu_cuIpcGetEventHandle(CUipcEventHandle *out, CUevent h)
{
    event_is_recorded_by_others(h);
    return driver.cuIpcGetEventHandle(out, h);
}

/* ---- recording ---- */

/* What it said is over: takes that out, to be renewed. */
static struct vector *record_begins(struct event *e, uint64_t *version)
{
    short_lock(&e->taken);
    struct vector *v = e->says;
    e->says = NULL;
    *version = ++e->version;
    short_unlock(&e->taken);
    return v;
}

static void record_ends(struct event *e, struct vector *v, uint64_t version, bool done)
{
    short_lock(&e->taken);
    if (done && e->version == version) {
        e->says = v;
        v = NULL;
    }
    short_unlock(&e->taken);
    vector_unref(v);
}

/* A recording that a capture takes down is none. */
static struct vector *say(struct stream *s, uint64_t at, struct vector *old)
{
    if (s != NULL && !(WEIR_UNLIKELY(atomic_load(&closer) > 0) && stream_is_captured(s)))
        return stream_snapshot(s, at, old);
    vector_unref(old);
    return NULL;
}

static __attribute__((noinline)) CUresult record_followed(CUevent h, CUstream stream)
{
    struct event *e = (struct event *)table_find(&events, h);
    if (e == NULL)
        return driver.cuEventRecord(h, stream);
    IN_CALL;
    uint64_t version, at = tick();
    struct stream *s = stream_find(in_call, stream);
    struct vector *v = say(s, at, record_begins(e, &version));
    CUresult r = driver.cuEventRecord(h, stream);
    record_ends(e, v, version, r == CUDA_SUCCESS);
    device_failed(r);
    return r;
}

CUresult gpu_cuEventRecord(CUevent h, CUstream stream)
{
    return followed() ? record_followed(h, stream) : driver.cuEventRecord(h, stream);
}

CUresult gpu_cuEventRecordWithFlags(CUevent h, CUstream stream, unsigned flags)
{
    event_is_recorded_by_others(h); /* by a graph, later */
    return driver.cuEventRecordWithFlags(h, stream, flags);
}

/* ---- waiting ---- */

/* What the event says, as long as nobody records it. */
struct heard {
    struct event *event;
    struct vector *says;
    uint64_t version;
};

static struct heard listen(CUevent h)
{
    struct heard w = {0};
    if (!followed() || (w.event = (struct event *)table_find(&events, h)) == NULL)
        return w;
    short_lock(&w.event->taken);
    w.says = vector_ref(w.event->says);
    w.version = w.event->version;
    short_unlock(&w.event->taken);
    return w;
}

/* Whether what was heard is what the driver's call was about. */
static bool still_says(const struct heard *w)
{
    if (w->says == NULL)
        return false;
    short_lock(&w->event->taken);
    bool same = w->event->version == w->version;
    short_unlock(&w->event->taken);
    return same;
}

CUresult gpu_cuStreamWaitEvent(CUstream stream, CUevent h, unsigned flags)
{
    struct heard w = listen(h);
    if (w.says == NULL)
        return driver.cuStreamWaitEvent(stream, h, flags);
    IN_CALL;
    struct stream *s = stream_find(in_call, stream);
    bool captured = atomic_load(&closer) > 0 && s != NULL && stream_is_captured(s);
    uint64_t at = tick();
    CUresult r = driver.cuStreamWaitEvent(stream, h, flags);
    if (r == CUDA_SUCCESS && s != NULL && !captured && still_says(&w)) {
        stream_join(s, w.says);
        if (s->legacy)
            raise_to(&s->context->legacy_tick, at);
    }
    vector_unref(w.says);
    return r;
}

CUresult gpu_cuEventSynchronize(CUevent h)
{
    struct heard w = listen(h);
    CUresult r = driver.cuEventSynchronize(h);
    device_failed(r);
    if (r == CUDA_SUCCESS && still_says(&w)) {
        vector_prove(w.says);
        pool_synchronized();
    }
    vector_unref(w.says);
    return r;
}

CUresult gpu_cuEventQuery(CUevent h)
{
    struct heard w = listen(h);
    CUresult r = driver.cuEventQuery(h);
    if (WEIR_UNLIKELY(r != CUDA_SUCCESS && r != CUDA_ERROR_NOT_READY))
        device_failed(r);
    if (r == CUDA_SUCCESS && still_says(&w))
        vector_pass(w.says);
    vector_unref(w.says);
    return r;
}

/* ---- the same of streams ---- */

/* What comes before the end of all that is in the stream; NULL: it is not known. */
static struct vector *before_the_end(CUstream h)
{
    IN_CALL;
    struct stream *s = stream_find(in_call, h);
    if (s == NULL)
        return NULL;
    stream_settle(s);
    return stream_snapshot(s, tick(), NULL);
}

CUresult gpu_cuStreamSynchronize(CUstream h)
{
    struct vector *v = followed() ? before_the_end(h) : NULL;
    CUresult r = driver.cuStreamSynchronize(h);
    device_failed(r);
    if (r == CUDA_SUCCESS && v != NULL) {
        vector_prove(v);
        pool_synchronized();
    }
    vector_unref(v);
    return r;
}

static __attribute__((noinline)) CUresult query_followed(CUstream h)
{
    IN_CALL;
    struct stream *s = stream_find(in_call, h);
    uint64_t at = s != NULL ? tick() : 0;
    CUresult r = driver.cuStreamQuery(h);
    if (r == CUDA_SUCCESS && s != NULL)
        stream_found_idle(s, at);
    return r;
}

CUresult gpu_cuStreamQuery(CUstream h)
{
    CUresult r = followed() ? query_followed(h) : driver.cuStreamQuery(h);
    if (WEIR_UNLIKELY(r != CUDA_SUCCESS && r != CUDA_ERROR_NOT_READY))
        device_failed(r);
    return r;
}
