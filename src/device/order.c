/* Order: which moments of other streams a stream comes after, and which the host has seen pass.
 *
 * Each stream has a clock that is advanced whenever someone takes note of the stream: an event is
 * recorded, the legacy stream begins a command, the host begins to wait. A label taken from the
 * clock is before all notes taken later, and only those: who has note n comes after the labels
 * below n. Notes are passed on by events: each stream has a view, the notes it comes after, and an
 * event carries the one that its stream had when it was recorded. A view changes only while one
 * party has it; a recording that finds its event's view to be its own, and nothing but clocks to
 * have moved, writes the new notes into it.
 *
 * Whoever takes note of a stream does so before reading how many commands it has, and a stream that
 * is made to wait is told so after the waiting command is in: then no note ever says more than the
 * count that goes with it, whatever other threads do meanwhile.
 *
 * This says what is ordered, not what is done: done is what the stream's count of commands says.
 * Nothing is noted before device_follow_order, and streams that gave no labels are left out. */
#include <stddef.h>
#include <stdlib.h>

#include "device/internal.h"

static _Atomic bool following;
static void (*stream_end)(struct device_stream *s);

void device_follow_order(void (*end)(struct device_stream *s))
{
    stream_end = end;
    atomic_store(&following, true);
}

bool order_followed(void) { return atomic_load_explicit(&following, memory_order_relaxed); }

void order_stream_ends(struct device_stream *s)
{
    if (order_followed() && atomic_exchange(&s->ended, true) == false)
        stream_end(s);
}

/* ---- clocks and views ---- */

struct order_clock {
    _Atomic uint32_t refs;   /* the stream, notes */
    _Atomic bool labelled;   /* a label was taken */
    _Atomic bool gone;       /* the stream is: notes of it are of no use */
    uint64_t serial;         /* that no other clock has */
    _Atomic uint64_t now;    /* starts at 1: the label 0 is before everything */
    _Atomic uint64_t proven; /* the host has seen the labels below pass */
};

/* The notes of a moment. Those of the streams whose moment it is come first: when they alone have
 * moved on, the view can be made the present moment's in place. */
struct order_view {
    _Atomic uint32_t refs;
    uint32_t count, room;
    uint32_t own;    /* notes that come first */
    uint64_t serial; /* of the clock of the stream whose moment it is; 0: no stream's */
    uint64_t stamp;  /* of the latest change of what it and those it follows came after */
    struct note {
        struct order_clock *clock;
        uint64_t now;
    } notes[];
};

/* Serials and stamps are counted together, from 1. */
static _Atomic uint64_t counted;

static uint64_t count_on(void)
{
    return atomic_fetch_add_explicit(&counted, 1, memory_order_relaxed) + 1;
}

struct order_clock *order_clock_new(void)
{
    struct order_clock *c = xcalloc(1, sizeof *c);
    atomic_init(&c->refs, 1);
    atomic_init(&c->now, 1);
    atomic_init(&c->proven, 1);
    c->serial = count_on();
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

static void view_clear(struct order_view *v)
{
    for (uint32_t i = 0; i < v->count; i++)
        clock_unref(v->notes[i].clock);
    v->count = v->own = 0;
}

void order_view_unref(struct order_view *v)
{
    if (v == NULL || atomic_fetch_sub_explicit(&v->refs, 1, memory_order_acq_rel) != 1)
        return;
    view_clear(v);
    free(v);
}

static struct order_view *view_ref(struct order_view *v)
{
    if (v != NULL)
        atomic_fetch_add_explicit(&v->refs, 1, memory_order_relaxed);
    return v;
}

/* Whether nobody but the caller has the view, who may change it then. */
static bool view_is_alone(const struct order_view *v)
{
    return v != NULL && atomic_load_explicit(&v->refs, memory_order_acquire) == 1;
}

static struct note *view_find(struct order_view *v, const struct order_clock *c)
{
    for (uint32_t i = 0; v != NULL && i < v->count; i++)
        if (v->notes[i].clock == c)
            return &v->notes[i];
    return NULL;
}

static uint64_t view_of(struct order_view *v, const struct order_clock *c)
{
    const struct note *n = view_find(v, c);
    return n != NULL ? n->now : 1;
}

/* Makes room for another note, from those of streams that are gone if there are many. The view is
 * the caller's alone, NULL: none yet, and may be at another place afterwards. */
static struct order_view *view_grow(struct order_view *v)
{
    uint32_t kept = 0, room = 2;
    for (uint32_t i = 0; v != NULL && i < v->count; i++) {
        struct note n = v->notes[i];
        if (atomic_load_explicit(&n.clock->gone, memory_order_relaxed))
            clock_unref(n.clock);
        else
            v->notes[kept++] = n;
    }
    if (v != NULL)
        v->count = kept;
    if (v != NULL && 2 * kept <= v->room)
        return v;
    if (v != NULL)
        room = 2 * v->room;
    struct order_view *more = xrealloc(v, sizeof *v + room * sizeof *v->notes);
    if (v == NULL) {
        *more = (struct order_view){0};
        atomic_init(&more->refs, 1);
    }
    more->room = room;
    return more;
}

/* Adds a note to such a view. */
static struct order_view *view_note(struct order_view *v, struct order_clock *c, uint64_t now)
{
    struct note *known = view_find(v, c);
    if (known != NULL) {
        known->now = known->now > now ? known->now : now;
        return v;
    }
    if (now <= 1 || atomic_load_explicit(&c->gone, memory_order_relaxed))
        return v;
    if (v == NULL || v->count == v->room)
        v = view_grow(v);
    atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
    v->notes[v->count++] = (struct note){c, now};
    return v;
}

/* Adds all notes of the other, which may be NULL. */
static struct order_view *view_join(struct order_view *v, const struct order_view *other)
{
    for (uint32_t i = 0; other != NULL && i < other->count; i++)
        v = view_note(v, other->notes[i].clock, other->notes[i].now);
    return v;
}

static struct order_view *view_of_stream(struct device_stream *s)
{
    if (atomic_load_explicit(&s->view_stamp, memory_order_acquire) == 0)
        return NULL; /* it never had one */
    pthread_mutex_lock(&s->view_lock);
    struct order_view *v = view_ref(s->view);
    pthread_mutex_unlock(&s->view_lock);
    return v;
}

/* ---- taking note ---- */

/* The clock's note of the moment, and the clock moves on; 0: nobody would ask. */
static inline uint64_t take_note(struct device_stream *s)
{
    if (!atomic_load_explicit(&s->clock->labelled, memory_order_relaxed))
        return 0;
    return atomic_fetch_add(&s->clock->now, 1) + 1;
}

/* A view that is made, or made anew. */
struct noting {
    struct order_view *view;
    uint32_t own;   /* notes taken of streams whose moment it is */
    uint64_t stamp; /* the latest of theirs */
    bool same;      /* so far the view has these notes already */
};

static inline void note_stamp(struct noting *n, struct device_stream *s)
{
    uint64_t stamp = atomic_load_explicit(&s->view_stamp, memory_order_acquire);
    n->stamp = n->stamp > stamp ? n->stamp : stamp;
}

static inline void note_renewed(struct noting *n, struct device_stream *s)
{
    note_stamp(n, s);
    uint64_t now = take_note(s);
    if (now == 0)
        return;
    n->same = n->same && n->own < n->view->own && n->view->notes[n->own].clock == s->clock;
    if (n->same)
        n->view->notes[n->own].now = now;
    n->own++;
}

static inline void note_own(struct noting *n, struct device_stream *s)
{
    note_stamp(n, s);
    uint64_t now = take_note(s);
    if (now == 0)
        return;
    n->view = view_note(n->view, s->clock, now);
    n->own++;
}

static inline void note_known(struct noting *n, struct device_stream *s)
{
    struct order_view *known = view_of_stream(s);
    n->view = view_join(n->view, known);
    order_view_unref(known);
}

/* For the stream and those that it is in order with by the default stream's rule. */
static inline __attribute__((always_inline)) void
each_of_moment(struct device_stream *s, void (*note)(struct noting *, struct device_stream *),
               struct noting *n)
{
    struct device_context *ctx = s->ctx;
    note(n, s);
    if ((s->flags & DEVICE_STREAM_NONBLOCKING) != 0)
        return;
    if (s != ctx->legacy) {
        note(n, ctx->legacy);
        return;
    }
    if (atomic_load_explicit(&ctx->blocking, memory_order_acquire) == 0)
        return;
    pthread_mutex_lock(&ctx->lock);
    for (struct device_stream *b = ctx->streams; b != NULL; b = b->next)
        if ((b->flags & DEVICE_STREAM_NONBLOCKING) == 0)
            note(n, b);
    pthread_mutex_unlock(&ctx->lock);
}

/* Takes note in a view of the caller's alone, or NULL, whose notes are dropped. */
static __attribute__((noinline)) struct order_view *note_anew(struct device_stream *s,
                                                              struct order_view *v)
{
    struct noting n = {.view = v};
    if (v != NULL)
        view_clear(v);
    each_of_moment(s, note_own, &n);
    each_of_moment(s, note_known, &n);
    if (n.view == NULL)
        return NULL;
    n.view->own = n.own;
    n.view->serial = s->clock->serial;
    n.view->stamp = n.stamp; /* read before what it is the stamp of */
    return n.view;
}

struct order_view *order_note(struct device_stream *s, struct order_view *old)
{
    if (!order_followed())
        return old;
    if (!view_is_alone(old)) {
        order_view_unref(old);
        return note_anew(s, NULL);
    }
    struct noting n = {.view = old, .same = old->serial == s->clock->serial};
    if (n.same)
        each_of_moment(s, note_renewed, &n);
    if (WEIR_LIKELY(n.same && n.own == old->own && n.stamp == old->stamp))
        return old;
    return note_anew(s, old);
}

void order_await(struct order_awaited *a, struct device_stream *s)
{
    *a = (struct order_awaited){0};
    if (!order_followed())
        return;
    if (s == s->ctx->legacy && atomic_load_explicit(&s->ctx->blocking, memory_order_acquire) > 0) {
        a->noted = order_note(s, NULL);
        return;
    }
    a->clock = s->clock;
    a->now = take_note(s);
    a->noted = view_of_stream(s);
}

struct order_view *order_note_all(struct device_stream *const *streams, size_t count)
{
    struct noting n = {0};
    for (size_t i = 0; order_followed() && i < count; i++) {
        note_own(&n, streams[i]);
        note_known(&n, streams[i]);
    }
    return n.view;
}

/* Whether what was noted is known already. */
static bool view_has(struct order_view *v, const struct order_view *noted)
{
    for (uint32_t i = 0; i < noted->count; i++)
        if (view_of(v, noted->notes[i].clock) < noted->notes[i].now &&
            !atomic_load_explicit(&noted->notes[i].clock->gone, memory_order_relaxed))
            return false;
    return true;
}

void order_wait(struct device_stream *s, const struct order_view *v)
{
    if (v == NULL)
        return;
    struct order_view *before = NULL;
    pthread_mutex_lock(&s->view_lock);
    if (!view_has(s->view, v)) {
        if (s->view != NULL && !view_is_alone(s->view)) { /* who has it keeps it as it is */
            before = s->view;
            s->view = view_join(NULL, before);
        }
        s->view = view_join(s->view, v);
        atomic_store_explicit(&s->view_stamp, count_on(), memory_order_release);
    }
    pthread_mutex_unlock(&s->view_lock);
    order_view_unref(before);
}

void order_legacy_follows(struct device_stream *b)
{
    if (order_followed() && atomic_load_explicit(&b->clock->labelled, memory_order_relaxed))
        atomic_store(&b->noted_by_legacy, atomic_fetch_add(&b->clock->now, 1) + 1);
}

static void prove(struct order_clock *c, uint64_t now)
{
    uint64_t was = atomic_load(&c->proven);
    while (was < now && !atomic_compare_exchange_weak(&c->proven, &was, now))
        ;
}

void order_prove(struct order_view *v)
{
    for (uint32_t i = 0; v != NULL && i < v->count; i++)
        prove(v->notes[i].clock, v->notes[i].now);
    order_view_unref(v);
}

void order_seen(const struct order_awaited *a)
{
    if (a->now != 0)
        prove(a->clock, a->now);
    order_prove(a->noted);
}

struct order_view *order_view_keep(struct order_view *v) { return view_ref(v); }

/* ---- asking ---- */

/* Sees to it that the stream's count stands for all that comes before this moment: a stream of the
 * default stream's rule may have to wait for others by its next command only. */
static void settle(struct device_stream *s)
{
    struct device_context *ctx = s->ctx;
    bool behind = false;
    if (s != ctx->legacy) {
        uint64_t count = stream_enqueued(ctx->legacy);
        behind = stream_completed(ctx->legacy) < count && count > s->legacy_seen;
    } else if (atomic_load_explicit(&ctx->blocking, memory_order_acquire) > 0) {
        behind = !stream_idle(s);
    }
    if (WEIR_UNLIKELY(behind))
        stream_enqueue(s, stream_begin(s, COMMAND_NOTHING));
}

static inline struct device_point mark(struct device_stream *s)
{
    struct order_clock *c = s->clock;
    if (WEIR_UNLIKELY(!atomic_load_explicit(&c->labelled, memory_order_relaxed)))
        atomic_store_explicit(&c->labelled, true, memory_order_relaxed);
    struct device_point p = {.count = stream_enqueued(s)};
    p.label = atomic_load(&c->now); /* after the count: a note beyond the label counts as much */
    return p;
}

static __attribute__((noinline)) struct device_point settle_and_mark(struct device_stream *s)
{
    settle(s);
    return mark(s);
}

struct device_point device_stream_mark(struct device_stream *s)
{
    struct device_stream *legacy = s->ctx->legacy;
    if (WEIR_LIKELY((s->flags & DEVICE_STREAM_NONBLOCKING) != 0 ||
                    (s != legacy && stream_enqueued(legacy) <= s->legacy_seen)))
        return mark(s);
    return settle_and_mark(s);
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

static uint64_t noted(struct device_stream *s, const struct order_clock *c)
{
    pthread_mutex_lock(&s->view_lock);
    uint64_t now = view_of(s->view, c);
    pthread_mutex_unlock(&s->view_lock);
    return now;
}

/* The note that a command of the legacy stream took of the blocking stream. It is taken while the
 * legacy stream is locked: once that is over, the command is one that other streams wait for. */
static uint64_t noted_by_legacy(struct device_stream *legacy, struct device_stream *on)
{
    uint64_t now = atomic_load(&on->noted_by_legacy);
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
    uint64_t now = noted(s, on->clock);
    if (!blocking(s))
        return now;
    if (s != ctx->legacy) {
        if (on == ctx->legacy)
            return UINT64_MAX;
        now = larger(now, noted(ctx->legacy, on->clock));
        if (on->ctx == ctx && blocking(on))
            now = larger(now, noted_by_legacy(ctx->legacy, on));
        return now;
    }
    if (on->ctx == ctx && blocking(on))
        return UINT64_MAX;
    pthread_mutex_lock(&ctx->lock);
    for (struct device_stream *b = ctx->streams; b != NULL; b = b->next)
        if (blocking(b))
            now = larger(now, noted(b, on->clock));
    pthread_mutex_unlock(&ctx->lock);
    return now;
}

void device_stream_wait_count(struct device_stream *s, struct device_stream *on, uint64_t count)
{
    if (s == on || stream_completed(on) >= count)
        return;
    struct command *c = stream_begin(s, COMMAND_NOTHING);
    command_depend(c, on, count);
    stream_enqueue(s, c);
}

struct device_stream *device_stream_keep(struct device_stream *s) { return stream_ref(s); }
void device_stream_release(struct device_stream *s) { stream_unref(s); }
const size_t device_stream_slot = offsetof(struct device_stream, slot);
