/* vector_clock: happens-before between streams, by vector clocks; and what the host has seen pass.
 *
 * Each stream has a logical clock that ticks whenever someone looks at the stream: an event is
 * recorded, the legacy stream begins a command, the host begins to wait. A **timestamp** is read
 * from the clock without a tick. A tick comes after all timestamps read before it, and after no
 * other: who has seen tick n of a stream comes after that stream's timestamps below n.
 *
 * A **vector clock** holds the latest tick of each stream that something comes after, as entries
 * (clock, tick). Each stream has one, and an event carries a snapshot of its stream's, taken when
 * it was recorded; a stream that waits for the event joins the snapshot to its own. A vector
 * changes only while one party holds it. A recording that finds the event's vector to be from the
 * same stream, with nothing but ticks to renew, renews them in place.
 *
 * A tick is taken before the stream's count of commands is read, and a waiting stream's vector is
 * raised after the waiting command is enqueued. So no tick ever says more than the count that goes
 * with it, whatever other threads do meanwhile.
 *
 * All of this says what is ordered, not what is done: the stream's count of completed commands says
 * what is done. Nothing is tracked before device_follow_order, and streams of which no timestamp
 * was taken are left out. */
#include <stddef.h>
#include <stdlib.h>

#include "device/internal.h"

static _Atomic bool following;
static void (*stream_end)(struct device_stream *s, bool gone);

void device_follow_order(void (*end)(struct device_stream *s, bool gone))
{
    stream_end = end;
    atomic_store(&following, true);
}

bool order_followed(void) { return atomic_load_explicit(&following, memory_order_relaxed); }

void order_stream_ends(struct device_stream *s, bool gone)
{
    if (order_followed())
        stream_end(s, gone);
}

/* ---- clocks and views ---- */

struct order_clock {
    _Atomic uint32_t refs;   /* the stream, entries */
    _Atomic bool observed;   /* a timestamp was taken */
    _Atomic bool gone;       /* the stream is: entries of it are of no use */
    uint64_t serial;         /* that no other clock has */
    _Atomic uint64_t now;    /* starts at 1: timestamp 0 is before everything */
    _Atomic uint64_t proven; /* the host has seen the timestamps below pass */
};

/* Entries of the streams that the snapshot was taken of come first: when they alone have moved on,
 * the vector is renewed in place. */
struct vector_clock {
    _Atomic uint32_t refs;
    uint32_t count, capacity;
    uint32_t own;     /* entries that come first */
    uint64_t serial;  /* of the clock of the stream that it was taken of; 0: of none */
    uint64_t version; /* of the latest change of the vectors that it was made from */
    struct entry {
        struct order_clock *clock;
        uint64_t now;
    } entries[];
};

/* Serials and versions are counted together, from 1. */
static _Atomic uint64_t counted;

static uint64_t count_up(void)
{
    return atomic_fetch_add_explicit(&counted, 1, memory_order_relaxed) + 1;
}

struct order_clock *order_clock_new(void)
{
    struct order_clock *c = xcalloc(1, sizeof *c);
    atomic_init(&c->refs, 1);
    atomic_init(&c->now, 1);
    atomic_init(&c->proven, 1);
    c->serial = count_up();
    return c;
}

static void clock_unref(struct order_clock *c)
{
    if (atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) == 1)
        free(c);
}

void order_clock_free(struct order_clock *c)
{
    atomic_store_explicit(&c->gone, true, memory_order_relaxed);
    clock_unref(c);
}

static void vector_clear(struct vector_clock *v)
{
    for (uint32_t i = 0; i < v->count; i++)
        clock_unref(v->entries[i].clock);
    v->count = v->own = 0;
}

void vector_clock_unref(struct vector_clock *v)
{
    if (v == NULL || atomic_fetch_sub_explicit(&v->refs, 1, memory_order_acq_rel) != 1)
        return;
    vector_clear(v);
    free(v);
}

static struct vector_clock *vector_ref(struct vector_clock *v)
{
    if (v != NULL)
        atomic_fetch_add_explicit(&v->refs, 1, memory_order_relaxed);
    return v;
}

/* Whether nobody but the caller has the vector: then the caller may change it. */
static bool vector_is_unshared(const struct vector_clock *v)
{
    return v != NULL && atomic_load_explicit(&v->refs, memory_order_acquire) == 1;
}

static struct entry *vector_find(struct vector_clock *v, const struct order_clock *c)
{
    for (uint32_t i = 0; v != NULL && i < v->count; i++)
        if (v->entries[i].clock == c)
            return &v->entries[i];
    return NULL;
}

static uint64_t vector_get(struct vector_clock *v, const struct order_clock *c)
{
    const struct entry *n = vector_find(v, c);
    return n != NULL ? n->now : 1;
}

/* Makes space for another entry, from those of streams that are gone if there are many. The vector
 * is the caller's alone, or NULL, and may be at another address afterwards. */
static struct vector_clock *vector_grow(struct vector_clock *v)
{
    uint32_t kept = 0, capacity = 2;
    for (uint32_t i = 0; v != NULL && i < v->count; i++) {
        struct entry n = v->entries[i];
        if (atomic_load_explicit(&n.clock->gone, memory_order_relaxed))
            clock_unref(n.clock);
        else
            v->entries[kept++] = n;
    }
    if (v != NULL)
        v->count = kept;
    if (v != NULL && 2 * kept <= v->capacity)
        return v;
    if (v != NULL)
        capacity = 2 * v->capacity;
    struct vector_clock *more = xrealloc(v, sizeof *v + capacity * sizeof *v->entries);
    if (v == NULL) {
        *more = (struct vector_clock){0};
        atomic_init(&more->refs, 1);
    }
    more->capacity = capacity;
    return more;
}

/* Raises the entry of the clock in such a vector to the tick. */
static struct vector_clock *vector_raise(struct vector_clock *v, struct order_clock *c,
                                         uint64_t now)
{
    struct entry *known = vector_find(v, c);
    if (known != NULL) {
        known->now = known->now > now ? known->now : now;
        return v;
    }
    if (now <= 1 || atomic_load_explicit(&c->gone, memory_order_relaxed))
        return v;
    if (v == NULL || v->count == v->capacity)
        v = vector_grow(v);
    atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
    v->entries[v->count++] = (struct entry){c, now};
    return v;
}

/* Raises all entries to those of the other, which may be NULL. */
static struct vector_clock *vector_join(struct vector_clock *v, const struct vector_clock *other)
{
    for (uint32_t i = 0; other != NULL && i < other->count; i++)
        v = vector_raise(v, other->entries[i].clock, other->entries[i].now);
    return v;
}

static struct vector_clock *vector_of_stream(struct device_stream *s)
{
    if (atomic_load_explicit(&s->vector_version, memory_order_acquire) == 0)
        return NULL; /* it never had one */
    pthread_mutex_lock(&s->vector_lock);
    struct vector_clock *v = vector_ref(s->vector);
    pthread_mutex_unlock(&s->vector_lock);
    return v;
}

/* ---- snapshots ---- */

/* Advances the clock and returns the tick; 0: no timestamp was ever taken, nobody would ask. */
static inline uint64_t clock_tick(struct device_stream *s)
{
    if (!atomic_load_explicit(&s->clock->observed, memory_order_relaxed))
        return 0;
    return atomic_fetch_add(&s->clock->now, 1) + 1;
}

/* A vector that is made, or renewed. */
struct snapshot {
    struct vector_clock *vector;
    uint32_t own;     /* ticks taken of the streams that it is a snapshot of */
    uint64_t version; /* the latest of their vectors */
    bool same;        /* so far the vector has the same entries, in order */
};

static inline void snapshot_version(struct snapshot *n, struct device_stream *s)
{
    uint64_t version = atomic_load_explicit(&s->vector_version, memory_order_acquire);
    n->version = n->version > version ? n->version : version;
}

static inline void snapshot_renew(struct snapshot *n, struct device_stream *s)
{
    snapshot_version(n, s);
    uint64_t now = clock_tick(s);
    if (now == 0)
        return;
    n->same = n->same && n->own < n->vector->own && n->vector->entries[n->own].clock == s->clock;
    if (n->same)
        n->vector->entries[n->own].now = now;
    n->own++;
}

static inline void snapshot_own(struct snapshot *n, struct device_stream *s)
{
    snapshot_version(n, s);
    uint64_t now = clock_tick(s);
    if (now == 0)
        return;
    n->vector = vector_raise(n->vector, s->clock, now);
    n->own++;
}

static inline void snapshot_known(struct snapshot *n, struct device_stream *s)
{
    struct vector_clock *known = vector_of_stream(s);
    n->vector = vector_join(n->vector, known);
    vector_clock_unref(known);
}

/* For the stream and those that it is in order with by the default stream's rule. */
static inline __attribute__((always_inline)) void
each_in_snapshot(struct device_stream *s, void (*visit)(struct snapshot *, struct device_stream *),
                 struct snapshot *n)
{
    struct device_context *ctx = s->ctx;
    visit(n, s);
    if ((s->flags & DEVICE_STREAM_NONBLOCKING) != 0)
        return;
    if (s != ctx->legacy) {
        visit(n, ctx->legacy);
        return;
    }
    if (atomic_load_explicit(&ctx->blocking, memory_order_acquire) == 0)
        return;
    pthread_mutex_lock(&ctx->lock);
    for (struct device_stream *b = ctx->streams; b != NULL; b = b->next)
        if ((b->flags & DEVICE_STREAM_NONBLOCKING) == 0)
            visit(n, b);
    pthread_mutex_unlock(&ctx->lock);
}

/* Takes a snapshot in a vector of the caller's alone, or NULL, whose entries are dropped. */
static __attribute__((noinline)) struct vector_clock *snapshot_new(struct device_stream *s,
                                                                   struct vector_clock *v)
{
    struct snapshot n = {.vector = v};
    if (v != NULL)
        vector_clear(v);
    each_in_snapshot(s, snapshot_own, &n);
    each_in_snapshot(s, snapshot_known, &n);
    if (n.vector == NULL)
        return NULL;
    n.vector->own = n.own;
    n.vector->serial = s->clock->serial;
    n.vector->version = n.version; /* read before the vectors that it is the version of */
    return n.vector;
}

struct vector_clock *order_snapshot(struct device_stream *s, struct vector_clock *old)
{
    if (!order_followed())
        return old;
    if (!vector_is_unshared(old)) {
        vector_clock_unref(old);
        return snapshot_new(s, NULL);
    }
    struct snapshot n = {.vector = old, .same = old->serial == s->clock->serial};
    if (n.same)
        each_in_snapshot(s, snapshot_renew, &n);
    if (WEIR_LIKELY(n.same && n.own == old->own && n.version == old->version))
        return old;
    return snapshot_new(s, old);
}

void order_await(struct order_awaited *a, struct device_stream *s)
{
    *a = (struct order_awaited){0};
    if (!order_followed())
        return;
    if (s == s->ctx->legacy && atomic_load_explicit(&s->ctx->blocking, memory_order_acquire) > 0) {
        a->after = order_snapshot(s, NULL);
        return;
    }
    a->clock = s->clock;
    a->now = clock_tick(s);
    a->after = vector_of_stream(s);
}

struct vector_clock *order_snapshot_all(struct device_stream *const *streams, size_t count)
{
    struct snapshot n = {0};
    for (size_t i = 0; order_followed() && i < count; i++) {
        snapshot_own(&n, streams[i]);
        snapshot_known(&n, streams[i]);
    }
    return n.vector;
}

/* Whether the vector has no entry less than the other's. */
static bool vector_covers(struct vector_clock *v, const struct vector_clock *other)
{
    for (uint32_t i = 0; i < other->count; i++)
        if (vector_get(v, other->entries[i].clock) < other->entries[i].now &&
            !atomic_load_explicit(&other->entries[i].clock->gone, memory_order_relaxed))
            return false;
    return true;
}

void order_wait(struct device_stream *s, const struct vector_clock *v)
{
    if (v == NULL)
        return;
    struct vector_clock *before = NULL;
    pthread_mutex_lock(&s->vector_lock);
    if (!vector_covers(s->vector, v)) {
        if (s->vector != NULL &&
            !vector_is_unshared(s->vector)) { /* who holds it keeps it as it is */
            before = s->vector;
            s->vector = vector_join(NULL, before);
        }
        s->vector = vector_join(s->vector, v);
        atomic_store_explicit(&s->vector_version, count_up(), memory_order_release);
    }
    pthread_mutex_unlock(&s->vector_lock);
    vector_clock_unref(before);
}

void order_legacy_follows(struct device_stream *b)
{
    if (order_followed() && atomic_load_explicit(&b->clock->observed, memory_order_relaxed))
        atomic_store(&b->tick_of_legacy, atomic_fetch_add(&b->clock->now, 1) + 1);
}

static void prove(struct order_clock *c, uint64_t now)
{
    uint64_t was = atomic_load(&c->proven);
    while (was < now && !atomic_compare_exchange_weak(&c->proven, &was, now))
        ;
}

void order_prove(struct vector_clock *v)
{
    for (uint32_t i = 0; v != NULL && i < v->count; i++)
        prove(v->entries[i].clock, v->entries[i].now);
    vector_clock_unref(v);
}

void order_seen(const struct order_awaited *a)
{
    if (a->now != 0)
        prove(a->clock, a->now);
    order_prove(a->after);
}

struct vector_clock *vector_clock_ref(struct vector_clock *v) { return vector_ref(v); }

/* ---- asking ---- */

void stream_settle(struct device_stream *s)
{
    struct device_context *ctx = s->ctx;
    bool must_wait = false;
    if (s != ctx->legacy) {
        uint64_t count = stream_enqueued(ctx->legacy);
        must_wait = stream_completed(ctx->legacy) < count && count > s->legacy_seen;
    } else if (atomic_load_explicit(&ctx->blocking, memory_order_acquire) > 0) {
        must_wait = !stream_idle(s);
    }
    if (WEIR_UNLIKELY(must_wait)) {
        struct command *c = stream_begin(s, COMMAND_NOTHING);
        c->nothing.kind = OBSERVE_WAIT;
        c->nothing.event = 0;
        stream_enqueue(s, c);
    }
}

static inline struct device_point timestamp_now(struct device_stream *s)
{
    struct order_clock *c = s->clock;
    if (WEIR_UNLIKELY(!atomic_load_explicit(&c->observed, memory_order_relaxed)))
        atomic_store_explicit(&c->observed, true, memory_order_relaxed);
    struct device_point p = {.count = stream_enqueued(s)};
    p.timestamp =
        atomic_load(&c->now); /* after the count: a tick beyond the timestamp has seen that count */
    return p;
}

static __attribute__((noinline)) struct device_point settle_and_timestamp(struct device_stream *s)
{
    stream_settle(s);
    return timestamp_now(s);
}

struct device_point device_stream_mark(struct device_stream *s)
{
    struct device_stream *legacy = s->ctx->legacy;
    if (WEIR_LIKELY((s->flags & DEVICE_STREAM_NONBLOCKING) != 0 ||
                    (s != legacy && stream_enqueued(legacy) <= s->legacy_seen)))
        return timestamp_now(s);
    return settle_and_timestamp(s);
}

uint64_t device_stream_completed(struct device_stream *s) { return stream_completed(s); }

uint64_t device_stream_proven(struct device_stream *s)
{
    return atomic_load_explicit(&s->clock->proven, memory_order_acquire);
}

static bool blocking(const struct device_stream *s)
{
    return (s->flags & DEVICE_STREAM_NONBLOCKING) == 0;
}

static uint64_t larger(uint64_t a, uint64_t b) { return a > b ? a : b; }

static uint64_t ticks_seen(struct device_stream *s, const struct order_clock *c)
{
    pthread_mutex_lock(&s->vector_lock);
    uint64_t now = vector_get(s->vector, c);
    pthread_mutex_unlock(&s->vector_lock);
    return now;
}

/* The tick that a command of the legacy stream took of the blocking stream. It is taken while the
 * legacy stream is locked: once that is over, the command is one that other streams wait for. */
static uint64_t tick_of_legacy(struct device_stream *legacy, struct device_stream *on)
{
    uint64_t now = atomic_load(&on->tick_of_legacy);
    if (now == 0)
        return 0;
    pthread_mutex_lock(&legacy->lock);
    pthread_mutex_unlock(&legacy->lock);
    return now;
}

uint64_t device_stream_ordered(struct device_stream *s, struct device_stream *on)
{
    struct device_context *ctx = s->ctx;
    if (s == on)
        return UINT64_MAX;
    uint64_t now = ticks_seen(s, on->clock);
    if (!blocking(s))
        return now;
    if (s != ctx->legacy) {
        if (on == ctx->legacy)
            return UINT64_MAX;
        now = larger(now, ticks_seen(ctx->legacy, on->clock));
        if (on->ctx == ctx && blocking(on))
            now = larger(now, tick_of_legacy(ctx->legacy, on));
        return now;
    }
    if (on->ctx == ctx && blocking(on))
        return UINT64_MAX;
    pthread_mutex_lock(&ctx->lock);
    for (struct device_stream *b = ctx->streams; b != NULL; b = b->next)
        if (blocking(b))
            now = larger(now, ticks_seen(b, on->clock));
    pthread_mutex_unlock(&ctx->lock);
    return now;
}

void device_stream_wait_count(struct device_stream *s, struct device_stream *on, uint64_t count)
{
    if (s != on && stream_completed(on) < count)
        stream_enqueue_wait(s, on, count, 0);
}

/* The count of a stream that stands for all that its next command would come after. */
static uint64_t present_count(struct device_stream *s)
{
    if (WEIR_LIKELY(!observed())) {
        stream_settle(s);
        return stream_enqueued(s);
    }
    struct command *c = stream_begin(s, COMMAND_NOTHING);
    c->nothing.kind = OBSERVE_WAIT;
    c->nothing.event = 0;
    bool done;
    return stream_enqueue_nothing(s, c, &done);
}

void device_stream_wait_stream(struct device_stream *s, struct device_stream *on)
{
    if (s == on || device_forked())
        return;
    struct vector_clock *after = order_snapshot(on, NULL);
    uint64_t count = present_count(on);
    if (stream_completed(on) < count || observed())
        stream_enqueue_wait(s, on, count, 0);
    order_wait(s, after);
    vector_clock_unref(after);
}

struct device_stream *device_stream_keep(struct device_stream *s) { return stream_ref(s); }
void device_stream_release(struct device_stream *s) { stream_unref(s); }
const size_t device_stream_slot = offsetof(struct device_stream, slot);
