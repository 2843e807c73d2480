/* event: a recording is a count of a stream, and for timing the moment that count was reached.
 *
 * Recording costs a command only when something must happen at that point of the stream: a time to
 * be taken later, or a wait that no command of the stream has made yet. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/schedule.h"
#include "device/internal.h"

struct device_event {
    struct device_context *ctx; /* holds a reference */
    unsigned flags;
    _Atomic uint32_t refs;        /* the handle, stamps under way */
    pthread_mutex_t lock;         /* of all below */
    struct device_stream *stream; /* of the recording, with a reference; NULL: never recorded */
    uint64_t count;               /* reached: the recording is complete */
    uint64_t recording;           /* 1, 2, 3 …: which recording this is */
    uint64_t time_ns;             /* when it was complete */
    struct shared_event *shared;  /* of an interprocess event; else NULL */
    uint64_t shared_number;       /* which of its recordings `stream` and `count` are */
    struct vector_clock *after;   /* what the recording comes after, or NULL */
    uint64_t number;              /* for observers; 0: there were none when it was made */
};

static struct device_event *event_make(struct device_context *ctx, unsigned flags,
                                       struct shared_event *shared)
{
    struct device_event *e = xcalloc(1, sizeof *e);
    e->ctx = ctx;
    e->shared = shared;
    e->flags = flags;
    if (observed())
        e->number = observe_serial();
    atomic_init(&e->refs, 1);
    atomic_fetch_add_explicit(&ctx->refs, 1, memory_order_relaxed);
    pthread_mutex_init(&e->lock, NULL);
    return e;
}

struct device_event *device_event_new(struct device_context *ctx, unsigned flags)
{
    struct shared_event *shared = NULL;
    if ((flags & DEVICE_EVENT_INTERPROCESS) != 0 &&
        (shared = shared_event_new(ctx->dev->ordinal)) == NULL)
        return NULL;
    return event_make(ctx, flags, shared);
}

enum file_status device_event_open(struct device_context *ctx, const struct share_handle *h,
                                   struct device_event **out)
{
    struct shared_event *shared;
    enum file_status status = shared_event_open(h, &shared);
    if (status == FILE_OK)
        *out = event_make(ctx, DEVICE_EVENT_INTERPROCESS | DEVICE_EVENT_NO_TIMING, shared);
    return status;
}

void device_event_export(const struct device_event *e, struct share_handle *out)
{
    shared_event_handle(e->shared, out);
}

struct shared_event *event_shared(const struct device_event *e) { return e->shared; }
uint64_t device_event_observed_id(const struct device_event *e) { return e->number; }

void event_unref(struct device_event *e)
{
    if (atomic_fetch_sub_explicit(&e->refs, 1, memory_order_acq_rel) != 1)
        return;
    if (e->stream != NULL)
        stream_unref(e->stream);
    if (e->shared != NULL)
        shared_event_close(e->shared);
    vector_clock_unref(e->after);
    context_unref(e->ctx);
    pthread_mutex_destroy(&e->lock);
    free(e);
}

void event_ref(struct device_event *e)
{
    atomic_fetch_add_explicit(&e->refs, 1, memory_order_relaxed);
}

void device_event_free(struct device_event *e) { event_unref(e); }

bool device_event_recorded(struct device_event *e)
{
    pthread_mutex_lock(&e->lock);
    bool recorded = e->stream != NULL || e->shared != NULL;
    pthread_mutex_unlock(&e->lock);
    return recorded;
}

uint64_t device_event_recording(struct device_event *e)
{
    pthread_mutex_lock(&e->lock);
    uint64_t recording = e->recording;
    pthread_mutex_unlock(&e->lock);
    return recording;
}

void event_stamp(struct device_event *e, uint64_t recording, uint64_t now)
{
    pthread_mutex_lock(&e->lock);
    if (e->recording == recording)
        e->time_ns = now;
    pthread_mutex_unlock(&e->lock);
    event_unref(e);
}

void event_reach(struct device_event *e, struct device_stream *clock, uint64_t recording,
                 uint64_t count)
{
    pthread_mutex_lock(&e->lock);
    if (e->recording == recording && (e->flags & DEVICE_EVENT_NO_TIMING) == 0)
        e->time_ns = clock_ns();
    pthread_mutex_unlock(&e->lock);
    stream_announce(clock, count);
}

/* Whether the stream's last command is all that a recording now has to wait for. */
static bool nothing_else_pending(struct device_stream *s)
{
    struct device_context *ctx = s->ctx;
    if ((s->flags & DEVICE_STREAM_NONBLOCKING) != 0)
        return true;
    if (s != ctx->legacy)
        return stream_completed(ctx->legacy) >= stream_enqueued(ctx->legacy);
    return atomic_load_explicit(&ctx->blocking, memory_order_acquire) == 0;
}

/* Makes it a recording of that stream. Returns the one that it was of, if it is another, to be
 * dropped when the event is unlocked. */
static struct device_stream *set_stream(struct device_event *e, struct device_stream *s)
{
    if (WEIR_LIKELY(e->stream == s))
        return NULL;
    struct device_stream *before = e->stream;
    e->stream = stream_ref(s);
    return before;
}

static void drop_stream(struct device_stream *before)
{
    if (before != NULL)
        stream_unref(before);
}

uint64_t event_promise(struct device_event *e, struct device_stream *s, struct device_stream *clock,
                       uint64_t *count)
{
    pthread_mutex_lock(&e->lock);
    e->after = order_snapshot(s, e->after);
    struct device_stream *before = set_stream(e, clock);
    e->time_ns = 0;
    *count = e->count = atomic_fetch_add(&clock->enqueued, 1) + 1;
    uint64_t recording = ++e->recording;
    pthread_mutex_unlock(&e->lock);
    drop_stream(before);
    return recording;
}

/* A command for a recording that other processes see; it keeps the event. */
static uint64_t enqueue_shared(struct device_stream *s, enum command_kind kind,
                               struct device_event *e, struct recording r)
{
    struct command *c = stream_begin(s, kind);
    c->await.event = e;
    c->await.recording = r;
    atomic_fetch_add_explicit(&e->refs, 1, memory_order_relaxed);
    return stream_enqueue(s, c);
}

/* Recording an interprocess event: others must be told when it is complete. */
static enum device_error record_shared(struct device_event *e, struct device_stream *s)
{
    struct recording r;
    if (!shared_event_begin(e->shared, &r))
        return DEVICE_OUT_OF_MEMORY;
    pthread_mutex_lock(&e->lock);
    e->after = order_snapshot(s, e->after);
    struct device_stream *before = set_stream(e, s);
    e->count = enqueue_shared(s, COMMAND_SIGNAL, e, r);
    e->shared_number = r.number;
    shared_event_publish(e->shared, r);
    pthread_mutex_unlock(&e->lock);
    drop_stream(before);
    return DEVICE_OK;
}

/* `always`: a recording is a command, whether it must be or not. */
static inline __attribute__((always_inline)) enum device_error
record(struct device_event *e, struct device_stream *s, bool always)
{
    if (e->shared != NULL)
        return record_shared(e, s);
    bool timing = (e->flags & DEVICE_EVENT_NO_TIMING) == 0;
    pthread_mutex_lock(&e->lock);
    e->after = order_snapshot(s, e->after);
    struct device_stream *before = set_stream(e, s);
    e->recording++;
    e->count = stream_enqueued(s);
    bool idle = stream_completed(s) >= e->count;
    if (!always && nothing_else_pending(s) && (idle || !timing)) {
        e->time_ns = timing ? clock_ns() : 0;
    } else {
        struct command *c = stream_begin(s, timing ? COMMAND_STAMP : COMMAND_NOTHING);
        if (timing) {
            c->stamp.event = e;
            c->stamp.recording = e->recording;
            atomic_fetch_add_explicit(&e->refs, 1, memory_order_relaxed);
        } else {
            c->nothing.kind = OBSERVE_RECORD;
            c->nothing.event = e->number;
        }
        /* The event stays locked: no one may see the recording without its count. */
        bool done = false;
        e->count = always ? stream_enqueue_nothing(s, c, &done) : stream_enqueue(s, c);
        if (done && timing) { /* as where no command is needed */
            e->time_ns = clock_ns();
            atomic_fetch_sub_explicit(&e->refs, 1, memory_order_relaxed); /* the stamp's */
        }
    }
    pthread_mutex_unlock(&e->lock);
    drop_stream(before);
    return DEVICE_OK;
}

static __attribute__((noinline)) enum device_error record_slowly(struct device_event *e,
                                                                 struct device_stream *s)
{
    return device_forked() ? DEVICE_FORKED : record(e, s, observed());
}

enum device_error device_event_record(struct device_event *e, struct device_stream *s)
{
    if (WEIR_UNLIKELY(slow_path(SLOW_PATH_FORKED | SLOW_PATH_OBSERVED) != 0))
        return record_slowly(e, s);
    return record(e, s, false);
}

/* The latest recording of an interprocess event, if it is none of this process's streams here. */
static bool recorded_elsewhere(struct device_event *e, struct recording *r)
{
    if (e->shared == NULL)
        return false;
    pthread_mutex_lock(&e->lock);
    *r = shared_event_latest(e->shared);
    bool here = e->shared_number == r->number;
    pthread_mutex_unlock(&e->lock);
    return !here;
}

/* The recording's stream, count and what it comes after, with references; NULL when there is none.
 */
struct device_stream *event_recording(struct device_event *e, uint64_t *count,
                                      struct vector_clock **after)
{
    pthread_mutex_lock(&e->lock);
    struct device_stream *s = e->stream != NULL ? stream_ref(e->stream) : NULL;
    *count = e->count;
    *after = vector_clock_ref(e->after);
    pthread_mutex_unlock(&e->lock);
    return s;
}

/* Asks whether the other process still lives, but not at every query. */
static bool reap_seldom(struct device_event *e, struct recording r)
{
    static const uint64_t SELDOM_NS = 10000000;
    uint64_t now = clock_ns();
    pthread_mutex_lock(&e->lock);
    bool ask = now - e->time_ns >= SELDOM_NS; /* the field is free: there is no timing */
    if (ask)
        e->time_ns = now;
    pthread_mutex_unlock(&e->lock);
    return ask && shared_event_reap(e->shared, r);
}

enum device_error device_event_query(struct device_event *e)
{
    enum device_error status = device_context_status(e->ctx);
    struct recording r;
    if (status != DEVICE_OK)
        return status;
    if (recorded_elsewhere(e, &r)) {
        bool done = shared_event_done(e->shared, r) || reap_seldom(e, r);
        if (observed() && done)
            observed_foreign(e->number, 0);
        return done ? DEVICE_OK : DEVICE_NOT_READY;
    }
    pthread_mutex_lock(&e->lock);
    bool complete = e->stream == NULL || stream_completed(e->stream) >= e->count;
    if (observed() && complete && e->stream != NULL)
        observed_host(OBSERVE_EVENT_QUERY, e->stream, e->count, e->number, 0);
    struct device_stream *pending = !complete && schedule_on() ? stream_ref(e->stream) : NULL;
    pthread_mutex_unlock(&e->lock);
    if (pending != NULL) {
        if (!device_in_host_function())
            turns_asked(pending);
        stream_unref(pending);
    }
    return complete ? DEVICE_OK : DEVICE_NOT_READY;
}

enum device_error device_event_sync(struct device_event *e)
{
    if (device_forked())
        return DEVICE_FORKED;
    if (device_in_host_function()) { /* it may look, not wait */
        enum device_error status = device_event_query(e);
        return status == DEVICE_NOT_READY ? DEVICE_NOT_PERMITTED : status;
    }
    uint64_t count;
    struct recording r;
    if (recorded_elsewhere(e, &r)) {
        uint64_t since = observed() ? clock_ns() : 0;
        event_ref(e);
        uint32_t calls = hold_pause();
        shared_event_wait(e->shared, r);
        hold_resume(calls);
        if (observed())
            observed_foreign(e->number, since);
        enum device_error status = device_context_status(e->ctx);
        event_unref(e);
        return status;
    }
    struct vector_clock *after;
    event_ref(e);
    struct device_stream *s = event_recording(e, &count, &after);
    if (s != NULL) {
        uint64_t begun = observed() ? clock_ns() : 0;
        if ((e->flags & DEVICE_EVENT_BLOCKING_SYNC) != 0)
            wait_count_by(s, count, false, DEVICE_WAIT_BLOCK);
        else
            wait_count(s, count, false);
        if (observed())
            observed_host(OBSERVE_EVENT, s, count, e->number, begun);
        stream_unref(s);
    }
    order_prove(after);
    grid_flush(e->ctx->env);
    enum device_error status = device_context_status(e->ctx);
    event_unref(e);
    return status;
}

/* The time of a complete recording. */
static enum device_error time_of(struct device_event *e, uint64_t *time_ns)
{
    pthread_mutex_lock(&e->lock);
    enum device_error status = DEVICE_OK;
    if (e->stream == NULL || (e->flags & DEVICE_EVENT_NO_TIMING) != 0)
        status = DEVICE_NOT_RECORDED;
    else if (stream_completed(e->stream) < e->count)
        status = DEVICE_NOT_READY;
    else if (observed()) /* it says "done" as a query does */
        observed_host(OBSERVE_EVENT_QUERY, e->stream, e->count, e->number, 0);
    *time_ns = e->time_ns;
    pthread_mutex_unlock(&e->lock);
    return status;
}

enum device_error device_event_elapsed(struct device_event *a, struct device_event *b, float *ms)
{
    uint64_t from, to;
    enum device_error first = time_of(a, &from), second = time_of(b, &to);
    if (first == DEVICE_NOT_RECORDED || second == DEVICE_NOT_RECORDED)
        return DEVICE_NOT_RECORDED;
    if (first != DEVICE_OK || second != DEVICE_OK)
        return DEVICE_NOT_READY;
    *ms = (float)((double)(int64_t)(to - from) * 1e-6);
    return DEVICE_OK;
}

enum device_error device_stream_wait_event(struct device_stream *s, struct device_event *e)
{
    if (device_forked())
        return DEVICE_FORKED;
    uint64_t count;
    struct recording r;
    if (recorded_elsewhere(e, &r)) {
        if (!await_open())
            return DEVICE_OUT_OF_MEMORY;
        if (!shared_event_done(e->shared, r))
            enqueue_shared(s, COMMAND_AWAIT, e, r);
        return DEVICE_OK;
    }
    struct vector_clock *after;
    struct device_stream *on = event_recording(e, &count, &after);
    if (on == NULL)
        return DEVICE_OK;
    if (on != s && (stream_completed(on) < count || observed()))
        stream_enqueue_wait(s, on, count, e->number);
    else if (s == s->ctx->legacy)
        stream_settle(s); /* any action there comes after the blocking streams and before them */
    /* Now that it does: a snapshot of the stream may be taken at any time. */
    if (on != s)
        order_wait(s, after);
    vector_clock_unref(after);
    stream_unref(on);
    return DEVICE_OK;
}
