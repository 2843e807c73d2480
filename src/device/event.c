/* Events: a recording is a count of a stream, and for timing the moment that count was reached.
 *
 * Recording costs a command only when something must happen at that point of the stream: a time to
 * be taken later, or a wait that no command of the stream has made yet. */
#include <stdlib.h>

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
};

struct device_event *device_event_new(struct device_context *ctx, unsigned flags)
{
    struct device_event *e = xcalloc(1, sizeof *e);
    e->ctx = ctx;
    e->flags = flags;
    atomic_init(&e->refs, 1);
    atomic_fetch_add_explicit(&ctx->refs, 1, memory_order_relaxed);
    pthread_mutex_init(&e->lock, NULL);
    return e;
}

static void event_unref(struct device_event *e)
{
    if (atomic_fetch_sub_explicit(&e->refs, 1, memory_order_acq_rel) != 1)
        return;
    if (e->stream != NULL)
        stream_unref(e->stream);
    context_unref(e->ctx);
    pthread_mutex_destroy(&e->lock);
    free(e);
}

void device_event_free(struct device_event *e) { event_unref(e); }
unsigned device_event_flags(const struct device_event *e) { return e->flags; }
struct device_context *device_event_context(const struct device_event *e) { return e->ctx; }

void event_stamp(struct device_event *e, uint64_t recording, uint64_t now)
{
    pthread_mutex_lock(&e->lock);
    if (e->recording == recording)
        e->time_ns = now;
    pthread_mutex_unlock(&e->lock);
    event_unref(e);
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

enum device_error device_event_record(struct device_event *e, struct device_stream *s)
{
    if (device_forked())
        return DEVICE_FORKED;
    bool timing = (e->flags & DEVICE_EVENT_NO_TIMING) == 0;
    struct device_stream *before = NULL;
    pthread_mutex_lock(&e->lock);
    if (e->stream != s) {
        before = e->stream;
        e->stream = stream_ref(s);
    }
    e->recording++;
    e->count = stream_enqueued(s);
    bool idle = stream_completed(s) >= e->count;
    if (nothing_else_pending(s) && (idle || !timing)) {
        e->time_ns = timing ? sched_now() : 0;
    } else {
        struct command *c = stream_begin(s, timing ? COMMAND_STAMP : COMMAND_NOTHING);
        if (timing) {
            c->stamp.event = e;
            c->stamp.recording = e->recording;
            atomic_fetch_add_explicit(&e->refs, 1, memory_order_relaxed);
        }
        /* The event stays locked: no one may see the recording without its count. */
        e->count = stream_enqueue(s, c);
    }
    pthread_mutex_unlock(&e->lock);
    if (before != NULL)
        stream_unref(before);
    return DEVICE_OK;
}

/* The recording's stream, with a reference, and count; NULL when there is none. */
static struct device_stream *recording_of(struct device_event *e, uint64_t *count)
{
    pthread_mutex_lock(&e->lock);
    struct device_stream *s = e->stream != NULL ? stream_ref(e->stream) : NULL;
    *count = e->count;
    pthread_mutex_unlock(&e->lock);
    return s;
}

enum device_error device_event_query(struct device_event *e)
{
    enum device_error status = device_context_status(e->ctx);
    if (status != DEVICE_OK)
        return status;
    pthread_mutex_lock(&e->lock);
    bool complete = e->stream == NULL || stream_completed(e->stream) >= e->count;
    pthread_mutex_unlock(&e->lock);
    return complete ? DEVICE_OK : DEVICE_NOT_READY;
}

enum device_error device_event_sync(struct device_event *e)
{
    if (device_forked())
        return DEVICE_FORKED;
    if (device_in_host_function())
        return DEVICE_NOT_PERMITTED;
    uint64_t count;
    struct device_stream *s = recording_of(e, &count);
    if (s != NULL) {
        if ((e->flags & DEVICE_EVENT_BLOCKING_SYNC) != 0)
            wait_count_by(s, count, false, DEVICE_WAIT_BLOCK);
        else
            wait_count(s, count, false);
        stream_unref(s);
    }
    grid_flush(e->ctx->env);
    return device_context_status(e->ctx);
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
    struct device_stream *on = recording_of(e, &count);
    if (on == NULL)
        return DEVICE_OK;
    if (on != s && stream_completed(on) < count) {
        struct command *c = stream_begin(s, COMMAND_NOTHING);
        command_depend(c, on, count);
        stream_enqueue(s, c);
    }
    stream_unref(on);
    return DEVICE_OK;
}
