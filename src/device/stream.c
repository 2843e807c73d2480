/* stream: queues of commands with a clock.
 *
 * The default stream's rule (spec S3) is a matter of dependencies found when a command is enqueued:
 * a legacy-stream command waits for what is in all blocking streams at that moment, a blocking
 * stream's command for what is in the legacy stream. Each side reads the other's clock before it
 * advances its own, so two commands enqueued at once may miss each other, but can never wait for
 * each other. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/schedule.h"
#include "device/internal.h"

enum {
    FREE_MAX = 1024, /* free commands that a stream keeps */
    RECYCLE_AT = 32  /* done commands before the lock is taken to recycle them */
};

static _Atomic uint64_t stream_ids = 16; /* below: the default streams' */

static struct command *next_of(struct command *c)
{
    return atomic_load_explicit(&c->next, memory_order_acquire);
}

/* Has the lines of a command that is needed soon come from whoever had them last. */
static inline void command_fetch(const struct command *c)
{
    if (c == NULL)
        return;
    __builtin_prefetch(c, 1);
    __builtin_prefetch(&c->run.launch, 1);
    __builtin_prefetch(c->inline_params, 1);
}

static void set_next(struct command *c, struct command *next)
{
    atomic_store_explicit(&c->next, next, memory_order_release);
}

struct device_stream *stream_new(struct device_context *ctx, unsigned flags, int priority,
                                 uint64_t id)
{
    struct device_stream *s = xaligned_alloc(_Alignof(struct device_stream), sizeof *s);
    *s = (struct device_stream){.ctx = ctx, .flags = flags, .id = id};
    priority = priority > DEVICE_PRIORITY_LOWEST    ? DEVICE_PRIORITY_LOWEST
               : priority < DEVICE_PRIORITY_HIGHEST ? DEVICE_PRIORITY_HIGHEST
                                                    : priority;
    s->priority = priority;
    s->level = priority - DEVICE_PRIORITY_HIGHEST;
    if (id == 0)
        s->id = atomic_fetch_add_explicit(&stream_ids, 1, memory_order_relaxed);
    atomic_init(&s->refs, 1);
    mutex_init(&s->lock);
    mutex_init(&s->vector_lock);
    s->clock = order_clock_new();
    atomic_fetch_add_explicit(&ctx->refs, 1, memory_order_relaxed);
    if (observed() && id == 1)
        observed_stream_made(s, false);
    if (id == 1 || id == STREAM_UNLISTED) { /* the legacy stream, and what only we know of */
        s->unlisted = true;
        return s;
    }
    pthread_mutex_lock(&ctx->lock);
    s->next = ctx->streams;
    if (s->next != NULL)
        s->next->prev = s;
    ctx->streams = s;
    if ((flags & DEVICE_STREAM_NONBLOCKING) == 0)
        atomic_fetch_add(&ctx->blocking, 1);
    pthread_mutex_unlock(&ctx->lock);
    return s;
}

void stream_unref(struct device_stream *s)
{
    if (atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) != 1)
        return;
    context_unlist(s);
    struct device_context *ctx = s->ctx;
    for (struct command *c = s->free_commands, *next; c != NULL; c = next) {
        next = next_of(c);
        free(c);
    }
    order_clock_free(s->clock);
    vector_clock_unref(s->vector);
    pthread_mutex_destroy(&s->vector_lock);
    pthread_mutex_destroy(&s->lock);
    free(s);
    context_unref(ctx);
}

struct device_stream *device_stream_new(struct device_context *ctx, unsigned flags, int priority)
{
    struct device_stream *s = stream_new(ctx, flags & DEVICE_STREAM_NONBLOCKING, priority, 0);
    if (observed())
        observed_stream_made(s, false);
    return s;
}

void device_stream_end(struct device_stream *s)
{
    if (atomic_exchange(&s->ended, true))
        return;
    order_stream_ends(s, false);
    if (observed())
        observe_stream_ended(device_stream_observed_id(s));
}

void device_stream_free(struct device_stream *s)
{
    device_stream_end(s);
    pthread_mutex_lock(&s->lock);
    s->freed = true;
    bool active = s->active;
    pthread_mutex_unlock(&s->lock);
    if (!active) /* else when its last command is done */
        context_unlist(s);
    order_stream_ends(s, true);
    stream_unref(s);
}

struct device_stream *device_stream_legacy(struct device_context *ctx) { return ctx->legacy; }

/* ---- per-thread default streams ---- */

/* The calling thread's streams, one for each context it used them in. */
struct own_streams {
    struct own_stream {
        uint64_t context; /* its id: addresses may be used again */
        struct device_stream *stream;
    } *items;
    size_t count, cap;
};

static pthread_key_t own_key;
static pthread_once_t own_once = PTHREAD_ONCE_INIT;

static void own_free(void *arg)
{
    struct own_streams *own = arg;
    for (size_t i = 0; i < own->count; i++)
        device_stream_free(own->items[i].stream);
    free(own->items);
    free(own);
}

static void make_own_key(void) { pthread_key_create(&own_key, own_free); }

struct device_stream *device_stream_per_thread(struct device_context *ctx)
{
    pthread_once(&own_once, make_own_key);
    struct own_streams *own = pthread_getspecific(own_key);
    if (own == NULL) {
        own = xcalloc(1, sizeof *own);
        pthread_setspecific(own_key, own);
    }
    for (size_t i = 0; i < own->count; i++)
        if (own->items[i].context == ctx->id)
            return own->items[i].stream;
    struct own_stream mine = {ctx->id,
                              stream_new(ctx, DEVICE_STREAM_BLOCKING, DEVICE_PRIORITY_LOWEST, 0)};
    vec_push(own, mine);
    if (observed())
        observed_stream_made(mine.stream, true);
    return mine.stream;
}

unsigned device_stream_flags(const struct device_stream *s) { return s->flags; }
int device_stream_priority(const struct device_stream *s) { return s->priority; }
uint64_t device_stream_id(const struct device_stream *s) { return s->id; }

/* ---- enqueueing ---- */

struct command *stream_begin(struct device_stream *s, enum command_kind kind)
{
    pthread_mutex_lock(&s->lock);
    struct command *c = s->free_commands;
    if (c != NULL) {
        struct command *after = next_of(c);
        s->free_commands = after;
        s->free_count--;
        command_fetch(after);
    } else {
        c = xaligned_alloc(_Alignof(struct command), sizeof *c);
        c->deps = c->few;
    }
    set_next(c, NULL);
    c->stream = s;
    c->kind = kind;
    c->dep_count = c->dep_next = 0;
    c->listed = c->published = c->told = false;
    return c;
}

/* Puts commands into the free list that follow each other, so many. The stream is locked. */
static void free_list_return(struct device_stream *s, struct command *first, struct command *last,
                             uint32_t n)
{
    set_next(last, s->free_commands);
    s->free_commands = first;
    s->free_count += n;
    while (WEIR_UNLIKELY(s->free_count > FREE_MAX)) {
        struct command *c = s->free_commands;
        s->free_commands = next_of(c);
        s->free_count--;
        free(c);
    }
}

void stream_cancel(struct device_stream *s, struct command *c)
{
    free_list_return(s, c, c, 1);
    pthread_mutex_unlock(&s->lock);
}

void command_depend(struct command *c, struct device_stream *on, uint64_t count)
{
    if (on == c->stream || (stream_completed(on) >= count && !observed()))
        return;
    uint32_t n = c->dep_count;
    if (n >= INLINE_DEPS && (n & (n - 1)) == 0) { /* full: INLINE_DEPS, and then powers of two */
        struct dep *more = xmalloc(2 * (size_t)n * sizeof *more);
        for (uint32_t i = 0; i < n; i++)
            more[i] = c->deps[i];
        if (c->deps != c->few)
            free(c->deps);
        c->deps = more;
    }
    c->deps[c->dep_count++] = (struct dep){stream_ref(on), count};
}

/* The default stream's rule. The stream is locked. */
static void depend_by_default_stream(struct device_stream *s, struct command *c)
{
    struct device_context *ctx = s->ctx;
    if ((s->flags & DEVICE_STREAM_NONBLOCKING) != 0)
        return;
    if (s != ctx->legacy) {
        uint64_t count = stream_enqueued(ctx->legacy);
        if (count > s->legacy_seen) {
            s->legacy_seen = count;
            command_depend(c, ctx->legacy, count);
        }
        return;
    }
    if (atomic_load_explicit(&ctx->blocking, memory_order_acquire) == 0)
        return;
    pthread_mutex_lock(&ctx->lock);
    for (struct device_stream *b = ctx->streams; b != NULL; b = b->next) {
        if ((b->flags & DEVICE_STREAM_NONBLOCKING) != 0)
            continue;
        order_legacy_follows(b);
        uint64_t count = stream_enqueued(b); /* after that was recorded */
        if (count <= b->seen_by_legacy)
            continue;
        b->seen_by_legacy = count;
        command_depend(c, b, count);
    }
    pthread_mutex_unlock(&ctx->lock);
}

/* Whether the caller is to see to it that it begins. */
static bool enqueue(struct device_stream *s, struct command *c, uint64_t *number)
{
    depend_by_default_stream(s, c);
    uint64_t count = atomic_load_explicit(&s->enqueued, memory_order_relaxed) + 1;
    c->count = count;
    if (observed())
        observed_enqueue(c); /* before anyone finds the command and begins it */
    bool first = !s->active;
    if (first) {
        s->head = s->current = c;
        s->unrecycled = 0;
        s->active = true;
        stream_ref(s);
    } else {
        set_next(s->tail, c);
        if (atomic_load_explicit(&s->host_runs, memory_order_relaxed))
            atomic_store_explicit(&s->host_runs, false, memory_order_relaxed);
    }
    s->tail = c;
    atomic_store_explicit(&s->enqueued, count, memory_order_seq_cst);
    pthread_mutex_unlock(&s->lock);
    *number = count;
    return first && command_ready(c);
}

uint64_t stream_enqueue(struct device_stream *s, struct command *c)
{
    uint64_t count;
    if (enqueue(s, c, &count))
        sched_push(s);
    return count;
}

uint64_t stream_enqueue_short(struct device_stream *s, struct command *c)
{
    uint64_t count;
    if (enqueue(s, c, &count))
        run_short(s, count);
    return count;
}

static bool deps_met(const struct command *c)
{
    for (uint32_t i = 0; i < c->dep_count; i++)
        if (stream_completed(c->deps[i].stream) < c->deps[i].count)
            return false;
    return true;
}

uint64_t stream_enqueue_nothing(struct device_stream *s, struct command *c, bool *done)
{
    depend_by_default_stream(s, c);
    *done = !s->active && deps_met(c);
    if (!*done)
        return stream_enqueue(s, c);
    uint64_t count = c->count = atomic_load_explicit(&s->enqueued, memory_order_relaxed) + 1;
    observed_enqueue(c);
    observed_begin(c);
    observed_end(c);
    command_release(c);
    free_list_return(s, c, c, 1);
    atomic_store_explicit(&s->enqueued, count, memory_order_seq_cst);
    atomic_store_explicit(&s->completed, count, memory_order_seq_cst);
    pthread_mutex_unlock(&s->lock);
    return count;
}

void stream_enqueue_wait(struct device_stream *s, struct device_stream *on, uint64_t count,
                         uint64_t event)
{
    struct command *c = stream_begin(s, COMMAND_NOTHING);
    c->nothing.kind = OBSERVE_WAIT;
    c->nothing.event = event;
    command_depend(c, on, count);
    bool done;
    if (observed())
        stream_enqueue_nothing(s, c, &done);
    else
        stream_enqueue(s, c);
}

bool command_ready(struct command *c)
{
    for (; c->dep_next < c->dep_count; c->dep_next++) {
        struct dep *d = &c->deps[c->dep_next];
        if (stream_completed(d->stream) >= d->count)
            continue;
        if (observed() && c->kind == COMMAND_NOTHING)
            observed_begin(c);
        pthread_mutex_lock(&d->stream->lock);
        /* Said before looking again: who completes looks here after having said so. */
        atomic_store_explicit(&d->stream->has_waiters, true, memory_order_seq_cst);
        if (atomic_load_explicit(&d->stream->completed, memory_order_seq_cst) < d->count) {
            c->waiter_next = d->stream->waiters;
            d->stream->waiters = c;
            pthread_mutex_unlock(&d->stream->lock);
            return false;
        }
        pthread_mutex_unlock(&d->stream->lock);
    }
    return true;
}

/* ---- taking commands off ---- */

void stream_wake(struct device_stream *s)
{
    if (atomic_load_explicit(&s->host_waiters, memory_order_seq_cst) == 0)
        return;
    atomic_fetch_add_explicit(&s->wake, 1, memory_order_seq_cst);
    futex_wake(&s->wake, INT32_MAX);
}

/* Takes the waiters off whose count is reached. The stream is locked. */
static struct command *take_waiters(struct device_stream *s, uint64_t completed)
{
    struct command *met = NULL;
    for (struct command **at = &s->waiters, *c; (c = *at) != NULL;) {
        if (c->deps[c->dep_next].count > completed) {
            at = &c->waiter_next;
            continue;
        }
        *at = c->waiter_next;
        c->waiter_next = met;
        met = c;
    }
    atomic_store_explicit(&s->has_waiters, s->waiters != NULL, memory_order_relaxed);
    return met;
}

static void release_waiters(struct command *met)
{
    for (struct command *after; met != NULL; met = after) {
        after = met->waiter_next;
        struct device_stream *other = met->stream;
        if (command_ready(met))
            sched_push(other);
    }
}

void stream_announce(struct device_stream *s, uint64_t count)
{
    atomic_store_explicit(&s->completed, count, memory_order_seq_cst);
    if (atomic_load_explicit(&s->has_waiters, memory_order_seq_cst)) {
        pthread_mutex_lock(&s->lock);
        struct command *met = take_waiters(s, count);
        pthread_mutex_unlock(&s->lock);
        release_waiters(met);
    }
    stream_wake(s);
}

/* Puts the done commands, of which `last` is the last, into the free list and goes on to `next`.
 * The stream is locked, so that is done in one go: who puts commands in waits for it. */
static void recycle(struct device_stream *s, struct command *last, struct command *next)
{
    free_list_return(s, s->head, last, s->unrecycled + 1);
    s->head = s->current = next;
    s->unrecycled = 0;
}

struct command *stream_complete(struct device_stream *s, struct command *c)
{
    uint64_t count = c->count;
    if (observed())
        observed_end(c);
    command_release(c);
    struct command *next = next_of(c);
    if (next != NULL && s->unrecycled < RECYCLE_AT) {
        s->current = next;
        s->unrecycled++;
        stream_announce(s, count);
        return next;
    }
    pthread_mutex_lock(&s->lock);
    next = next_of(c); /* one may have come */
    recycle(s, c, next);
    if (next == NULL) {
        s->tail = NULL;
        s->active = false;
    }
    bool gone = next == NULL && s->freed;
    /* While locked: once it is not, another thread may run, and count, what is enqueued next. */
    atomic_store_explicit(&s->completed, count, memory_order_seq_cst);
    struct command *met = s->waiters != NULL ? take_waiters(s, count) : NULL;
    pthread_mutex_unlock(&s->lock);
    release_waiters(met);
    stream_wake(s); /* the reference of being active keeps it until the end */
    if (gone)
        context_unlist(s);
    if (next == NULL)
        stream_unref(s);
    return next;
}

void stream_run(struct device_stream *s, struct grid_worker *w, uint64_t stop)
{
    struct command *c = s->current;
    uint64_t end = 0;
    for (uint32_t n = 0;; n++) {
        if (!command_ready(c))
            return;
        bool yields = c->count > stop || sched_paused();
        if (!yields && sched_wanted(n)) {
            uint64_t now = clock_ns();
            end = end == 0 ? now + SLICE_NS : end;
            yields = now > end;
        }
        if (yields) {
            sched_push(s);
            return;
        }
        command_fetch(next_of(c));
        if (!command_execute(c, w))
            return;
        c = stream_complete(s, c);
        if (c == NULL)
            return;
    }
}

/* ---- asking ---- */

static bool done(struct device_stream *s) { return stream_completed(s) >= stream_enqueued(s); }

/* Whether nothing is left to do in the blocking streams. */
static bool blocking_done(struct device_context *ctx)
{
    if (atomic_load_explicit(&ctx->blocking, memory_order_acquire) == 0)
        return true;
    bool idle = true;
    pthread_mutex_lock(&ctx->lock);
    for (struct device_stream *b = ctx->streams; b != NULL && idle; b = b->next)
        idle = (b->flags & DEVICE_STREAM_NONBLOCKING) != 0 || done(b);
    pthread_mutex_unlock(&ctx->lock);
    return idle;
}

bool stream_idle(struct device_stream *s)
{
    return done(s) && (s != s->ctx->legacy || blocking_done(s->ctx));
}

static enum device_error not_ready(struct device_stream *s)
{
    if (schedule_on() && !device_in_host_function())
        turns_asked(s);
    return DEVICE_NOT_READY;
}

static __attribute__((noinline)) enum device_error query_slowly(struct device_stream *s)
{
    enum device_error status = device_context_trouble(s->ctx);
    struct observed_host seen = {0};
    if (status != DEVICE_OK)
        return status;
    if (observed())
        observed_sync_begin(&seen, s); /* before the look */
    status = stream_idle(s) ? DEVICE_OK : not_ready(s);
    if (status == DEVICE_OK && observed())
        observed_host_end(&seen, OBSERVE_STREAM_QUERY, s);
    free(seen.work);
    return status;
}

enum device_error device_stream_query(struct device_stream *s)
{
    if (WEIR_UNLIKELY(slow_path(SLOW_PATH_FAULT | SLOW_PATH_FORKED | SLOW_PATH_OBSERVED) != 0))
        return query_slowly(s);
    return stream_idle(s) ? DEVICE_OK : not_ready(s);
}

/* The legacy stream's synchronization includes the blocking streams. */
static void wait_blocking(struct device_context *ctx)
{
    size_t count;
    struct device_stream **streams = context_streams(ctx, &count);
    for (size_t i = 0; i < count; i++) {
        if ((streams[i]->flags & DEVICE_STREAM_NONBLOCKING) == 0)
            wait_count(streams[i], stream_enqueued(streams[i]), false);
        stream_unref(streams[i]);
    }
    free(streams);
}

/* Whether the stream was idle; else the caller is given a reference to it. What is proven is noted
 * first: work that comes after the look has not been waited for. */
static bool sync_wait(struct device_stream *s)
{
    struct order_awaited awaited;
    order_await(&awaited, s);
    bool idle = stream_idle(s);
    if (!idle) {
        stream_ref(s);
        if (s == s->ctx->legacy && !blocking_done(s->ctx))
            wait_blocking(s->ctx);
        else
            wait_count(s, stream_enqueued(s), false);
    }
    order_seen(&awaited);
    return idle;
}

static __attribute__((noinline)) enum device_error sync_slowly(struct device_stream *s)
{
    if (device_forked())
        return DEVICE_FORKED;
    if (device_in_host_function())
        return DEVICE_NOT_PERMITTED;
    struct observed_host seen = {0};
    stream_ref(s);
    if (observed())
        observed_sync_begin(&seen, s);
    if (!sync_wait(s))
        stream_unref(s);
    if (observed())
        observed_host_end(&seen, OBSERVE_STREAM, s);
    free(seen.work);
    grid_flush(s->ctx->env);
    enum device_error status = device_context_status(s->ctx);
    stream_unref(s);
    return status;
}

enum device_error device_stream_sync(struct device_stream *s)
{
    if (WEIR_UNLIKELY(slow_path(SLOW_PATH_FORKED | SLOW_PATH_HOST_FUNCTION | SLOW_PATH_OBSERVED) !=
                      0))
        return sync_slowly(s);
    bool idle = sync_wait(s);
    grid_flush(s->ctx->env);
    enum device_error status = device_context_status(s->ctx);
    if (!idle)
        stream_unref(s);
    return status;
}
