/* passed: whether what was freed in a stream has passed, where no call of the program has told.
 *
 * The stream is asked. When it is idle, all of it has passed. When it is busy, an event of the
 * driver is recorded in it, a mark: the next time that is asked. A stream whose handle is good in
 * its own thread alone (a thread's default stream), or that may end without the runtime being told,
 * is never touched later: there each free leaves a mark at once.
 *
 * None of this happens for memory that is used again in the stream that it was freed in. */
#include <stdlib.h>

#include "gpu/internal.h"

_Atomic uint32_t closer;
pthread_rwlock_t capturing = PTHREAD_RWLOCK_INITIALIZER;
static _Atomic bool failed;

/* Codes that a device gives for every call once one of its kernels has failed, or once it is lost.
 */
void device_failed(CUresult r)
{
    bool sticky =
        (r >= 700 && r < 720 && r != CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED &&
         r != CUDA_ERROR_PEER_ACCESS_NOT_ENABLED && r != CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE &&
         r != CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED &&
         r != CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED) ||
        r == CUDA_ERROR_ECC_UNCORRECTABLE || r == CUDA_ERROR_EXTERNAL_DEVICE ||
        r == CUDA_ERROR_DEVICE_UNAVAILABLE || r == CUDA_ERROR_UNKNOWN;
    if (WEIR_UNLIKELY(sticky) && !atomic_exchange(&failed, true))
        atomic_fetch_add(&closer, 1);
}

/* ---- driver calls in the right surroundings ---- */

/* The stream's context is current, looking at streams breaks no capture of the thread, and none
 * begins. */
struct visit {
    CUcontext before;
    CUstreamCaptureMode mode;
    bool changed, relaxed;
};

static struct visit visit_begin(const struct context *c)
{
    struct visit v = {.mode = CU_STREAM_CAPTURE_MODE_RELAXED};
    pthread_rwlock_rdlock(&capturing);
    driver.cuCtxGetCurrent(&v.before);
    v.changed = v.before != c->handle;
    if (v.changed)
        driver.cuCtxSetCurrent(c->handle);
    v.relaxed = atomic_load(&closer) > 0 &&
                driver.cuThreadExchangeStreamCaptureMode(&v.mode) == CUDA_SUCCESS;
    return v;
}

static void visit_end(struct visit *v)
{
    if (v->relaxed)
        driver.cuThreadExchangeStreamCaptureMode(&v->mode);
    if (v->changed)
        driver.cuCtxSetCurrent(v->before);
    pthread_rwlock_unlock(&capturing);
}

bool stream_is_captured(const struct stream *s)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    return driver.cuStreamIsCapturing(s->handle, &status) != CUDA_SUCCESS ||
           status != CU_STREAM_CAPTURE_STATUS_NONE;
}

/* ---- events ---- */

static CUevent event_take(struct context *c)
{
    CUevent e = NULL;
    pthread_mutex_lock(&c->events_lock);
    if (c->event_count > 0)
        e = c->events[--c->event_count];
    pthread_mutex_unlock(&c->events_lock);
    if (e == NULL && driver.cuEventCreate(&e, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS)
        return NULL;
    return e;
}

static void event_put(struct context *c, CUevent e)
{
    if (atomic_load(&c->gone))
        return; /* it went with its context */
    pthread_mutex_lock(&c->events_lock);
    if (c->event_count == c->event_capacity) {
        c->event_capacity = c->event_capacity > 0 ? 2 * c->event_capacity : 16;
        c->events = xrealloc(c->events, c->event_capacity * sizeof(CUevent));
    }
    c->events[c->event_count++] = e;
    pthread_mutex_unlock(&c->events_lock);
}

void stream_drop_marks(struct stream *s)
{
    for (unsigned i = 0; i < s->mark_count; i++)
        event_put(s->context, s->marks[i].event);
    s->mark_count = 0;
}

/* ---- marks; the lock of marks is held, and the visit begun ---- */

/* Takes in what has passed; returns the latest tick that is known to have. */
static uint64_t look_at_marks(struct stream *s)
{
    unsigned done = 0;
    while (done < s->mark_count && driver.cuEventQuery(s->marks[done].event) == CUDA_SUCCESS)
        done++;
    if (done > 0)
        raise_to(&(s->legacy ? s->context->blocking : s->clock)->passed, s->marks[done - 1].tick);
    for (unsigned i = 0; i < done; i++)
        event_put(s->context, s->marks[i].event);
    for (unsigned i = done; i < s->mark_count; i++)
        s->marks[i - done] = s->marks[i];
    s->mark_count -= done;
    return stream_known(s, false);
}

/* A mark after all that is in the stream. The latest is recorded again when there are many. */
static struct mark *leave_mark(struct stream *s)
{
    bool again = s->mark_count == MARKS;
    struct mark *m = &s->marks[again ? MARKS - 1 : s->mark_count];
    uint64_t at = tick();
    if (!again)
        m->event = event_take(s->context);
    if (m->event == NULL)
        return NULL;
    if (driver.cuEventRecord(m->event, s->legacy ? NULL : s->handle) != CUDA_SUCCESS) {
        if (!again)
            event_put(s->context, m->event);
        return NULL;
    }
    m->tick = at;
    s->mark_count += !again;
    return m;
}

/* Whether this thread may use the handle. While captures run nobody's streams are touched: each may
 * become part of one at any time, and be spoilt. */
static bool can_touch(const struct stream *s)
{
    return !s->own && !s->foreign && !atomic_load(&s->ended) && atomic_load(&closer) == 0 &&
           !stream_is_captured(s);
}

static uint64_t latest_mark(const struct stream *s)
{
    return s->mark_count > 0 ? s->marks[s->mark_count - 1].tick : 0;
}

/* ---- idle streams ---- */

/* Of the legacy stream it is not said whether blocking streams are asked as well. */
static bool is_idle(const struct stream *s)
{
    return !s->legacy && driver.cuStreamQuery(s->handle) == CUDA_SUCCESS;
}

/* The context is current. What was freed in a blocking stream may be in use by the legacy stream,
 * for which the next command of the blocking one would wait. */
static bool legacy_is_idle(const struct stream *s)
{
    return !s->blocking || (atomic_load(&closer) == 0 && !stream_is_captured(s->context->legacy) &&
                            driver.cuStreamQuery(NULL) == CUDA_SUCCESS);
}

static bool found_idle(struct stream *s, uint64_t at)
{
    bool passed = legacy_is_idle(s);
    if (passed)
        raise_to(&s->clock->passed, at);
    return passed;
}

bool stream_has_pending_frees(const struct stream *s)
{
    return atomic_load(&s->slot) != NULL && stream_known(s, false) <= atomic_load(&s->marked);
}

void stream_found_idle(struct stream *s, uint64_t at)
{
    if (s->legacy || (s->blocking && !stream_has_pending_frees(s)))
        return;
    struct visit v = visit_begin(s->context);
    found_idle(s, at);
    visit_end(&v);
}

void stream_settle(struct stream *s)
{
    if (!s->blocking || s->legacy || s->own || !stream_has_pending_frees(s))
        return;
    struct visit v = visit_begin(s->context);
    bool idle = legacy_is_idle(s);
    visit_end(&v);
    if (!idle)
        stream_leave_mark(s);
}

/* ---- what is asked ---- */

bool stream_leave_mark(struct stream *s)
{
    pthread_mutex_lock(&s->marks_lock);
    struct visit v = visit_begin(s->context);
    bool captured = atomic_load(&closer) > 0 && stream_is_captured(s);
    if (s->mark_count == MARKS)
        look_at_marks(s);
    bool left = !captured && leave_mark(s) != NULL;
    visit_end(&v);
    pthread_mutex_unlock(&s->marks_lock);
    return left;
}

uint64_t stream_completed(struct stream *s)
{
    uint64_t wanted = atomic_load(&s->marked), t = stream_known(s, false);
    if (t > wanted)
        return t - 1;
    pthread_mutex_lock(&s->marks_lock);
    struct visit v = visit_begin(s->context);
    t = look_at_marks(s);
    if (t <= wanted && latest_mark(s) <= wanted && can_touch(s)) {
        uint64_t at = tick();
        if (!is_idle(s) || !found_idle(s, at))
            leave_mark(s);
        t = look_at_marks(s);
    }
    visit_end(&v);
    pthread_mutex_unlock(&s->marks_lock);
    return t > 0 ? t - 1 : 0;
}

/* Has `s` wait for the mark. Its handle is the caller's, whose context is current. */
static bool wait_for_mark(struct stream *s, const struct mark *m)
{
    CUstream h = s->legacy ? NULL : s->handle;
    return m != NULL && driver.cuStreamWaitEvent(h, m->event, 0) == CUDA_SUCCESS;
}

bool stream_wait_for(struct stream *s, struct stream *on, uint64_t time)
{
    if (s == on || stream_known(on, false) > time)
        return true;
    pthread_mutex_lock(&on->marks_lock);
    struct visit v = visit_begin(on->context);
    struct mark *m = NULL;
    for (unsigned i = 0; i < on->mark_count && m == NULL; i++)
        if (on->marks[i].tick > time)
            m = &on->marks[i];
    if (m == NULL && can_touch(on))
        m = leave_mark(on);
    visit_end(&v);
    bool waits = wait_for_mark(s, m);
    pthread_mutex_unlock(&on->marks_lock);
    return waits;
}

bool stream_follow(struct stream *s, struct stream *on, uint64_t *at)
{
    pthread_mutex_lock(&on->marks_lock);
    struct visit v = visit_begin(on->context);
    struct mark *m = can_touch(on) ? leave_mark(on) : NULL;
    *at = m != NULL ? m->tick : 0;
    visit_end(&v);
    bool waits = wait_for_mark(s, m);
    pthread_mutex_unlock(&on->marks_lock);
    return waits;
}

/* ---- as src/pool asks ---- */

static struct pool_point order_mark(void *s) { return stream_mark(s); }
static uint64_t order_completed(void *s) { return stream_completed(s); }
static uint64_t order_proven(void *s) { return stream_known(s, true); }
static uint64_t order_ordered(void *s, void *on) { return stream_ordered(s, on); }
static bool order_wait(void *s, void *on, uint64_t time) { return stream_wait_for(s, on, time); }
static void order_keep(void *s)
{
    atomic_store_explicit(&following, true, memory_order_relaxed);
    stream_ref(s);
}
static void order_release(void *s) { stream_unref(s); }
static uint64_t order_id(void *s) { return ((struct stream *)s)->number; }

const struct pool_order stream_order = {
    .mark = order_mark,
    .completed = order_completed,
    .proven = order_proven,
    .ordered = order_ordered,
    .wait = order_wait,
    .keep = order_keep,
    .release = order_release,
    .id = order_id,
    .slot = offsetof(struct stream, slot),
};

void device_works_again(void)
{
    if (atomic_exchange(&failed, false))
        atomic_fetch_sub(&closer, 1);
}
