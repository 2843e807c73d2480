/* Order: which moments of other streams a stream comes after, and which the host has seen pass.
 *
 * Each stream has a clock that is advanced whenever someone takes note of the stream: an event is
 * recorded, the legacy stream begins a command, the host begins to wait. A label taken from the
 * clock is before all notes taken later, and only those: who has note n comes after the labels
 * below n. Notes are passed on by events: each stream has a view, the notes it comes after, and an
 * event carries the one that its stream had when it was recorded. Views never change once made; a
 * stream gets a new one when it waits for an event.
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

/* ---- clocks and views ---------------------------------------------------------------------------
 */

struct order_clock {
    _Atomic uint32_t refs;   /* the stream, notes */
    _Atomic bool labelled;   /* a label was taken */
    _Atomic bool gone;       /* the stream is: notes of it are of no use */
    _Atomic uint64_t now;    /* starts at 1: the label 0 is before everything */
    _Atomic uint64_t proven; /* the host has seen the labels below pass */
};

struct order_view {
    _Atomic uint32_t refs;
    uint32_t count;
    struct note {
        struct order_clock *clock;
        uint64_t now;
    } notes[];
};

struct order_clock *order_clock_new(void)
{
    struct order_clock *c = xcalloc(1, sizeof *c);
    atomic_init(&c->refs, 1);
    atomic_init(&c->now, 1);
    atomic_init(&c->proven, 1);
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

void order_view_unref(struct order_view *v)
{
    if (v == NULL || atomic_fetch_sub_explicit(&v->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (uint32_t i = 0; i < v->count; i++)
        clock_unref(v->notes[i].clock);
    free(v);
}

static struct order_view *view_ref(struct order_view *v)
{
    if (v != NULL)
        atomic_fetch_add_explicit(&v->refs, 1, memory_order_relaxed);
    return v;
}

static uint64_t view_of(const struct order_view *v, const struct order_clock *c)
{
    for (uint32_t i = 0; v != NULL && i < v->count; i++)
        if (v->notes[i].clock == c)
            return v->notes[i].now;
    return 1;
}

/* A view with room for that many notes. */
static struct order_view *view_new(uint32_t room)
{
    struct order_view *v = xmalloc(sizeof *v + room * sizeof *v->notes);
    atomic_init(&v->refs, 1);
    v->count = 0;
    return v;
}

/* Adds a note to a view that is being made and has room. */
static void view_note(struct order_view *v, struct order_clock *c, uint64_t now)
{
    if (now <= 1 || atomic_load_explicit(&c->gone, memory_order_relaxed))
        return;
    for (uint32_t i = 0; i < v->count; i++)
        if (v->notes[i].clock == c) {
            v->notes[i].now = v->notes[i].now > now ? v->notes[i].now : now;
            return;
        }
    atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
    v->notes[v->count++] = (struct note){c, now};
}

/* Both together, in place of the first, whose reference is used up. */
static struct order_view *view_join(struct order_view *a, const struct order_view *b)
{
    if (b == NULL || b->count == 0)
        return a;
    struct order_view *v = view_new((a != NULL ? a->count : 0) + b->count);
    for (uint32_t i = 0; a != NULL && i < a->count; i++)
        view_note(v, a->notes[i].clock, a->notes[i].now);
    for (uint32_t i = 0; i < b->count; i++)
        view_note(v, b->notes[i].clock, b->notes[i].now);
    order_view_unref(a);
    return v;
}

static struct order_view *view_of_stream(struct device_stream *s)
{
    pthread_mutex_lock(&s->view_lock);
    struct order_view *v = view_ref(s->view);
    pthread_mutex_unlock(&s->view_lock);
    return v;
}

/* ---- taking note --------------------------------------------------------------------------------
 */

/* Advances the stream's clock and adds the note and what the stream comes after. */
static struct order_view *note_stream(struct order_view *v, struct device_stream *s)
{
    struct order_view *known = view_of_stream(s);
    if (v == NULL)
        v = view_ref(known);
    else
        v = view_join(v, known);
    order_view_unref(known);
    if (atomic_load_explicit(&s->clock->labelled, memory_order_relaxed)) {
        struct order_view *own = view_new(1);
        view_note(own, s->clock, atomic_fetch_add(&s->clock->now, 1) + 1);
        v = view_join(v, own);
        order_view_unref(own);
    }
    return v;
}

struct order_view *order_note(struct device_stream *s)
{
    if (!order_followed())
        return NULL;
    struct device_context *ctx = s->ctx;
    struct order_view *v = note_stream(NULL, s);
    if ((s->flags & DEVICE_STREAM_NONBLOCKING) != 0)
        return v;
    if (s != ctx->legacy)
        return note_stream(v, ctx->legacy);
    pthread_mutex_lock(&ctx->lock);
    for (struct device_stream *b = ctx->streams; b != NULL; b = b->next)
        if ((b->flags & DEVICE_STREAM_NONBLOCKING) == 0)
            v = note_stream(v, b);
    pthread_mutex_unlock(&ctx->lock);
    return v;
}

struct order_view *order_note_awaited(struct device_stream *s)
{
    return s == s->ctx->legacy || !order_followed() ? order_note(s) : note_stream(NULL, s);
}

struct order_view *order_note_all(struct device_stream *const *streams, size_t count)
{
    struct order_view *v = NULL;
    for (size_t i = 0; order_followed() && i < count; i++)
        v = note_stream(v, streams[i]);
    return v;
}

void order_wait(struct device_stream *s, const struct order_view *v)
{
    if (v == NULL)
        return;
    pthread_mutex_lock(&s->view_lock);
    s->view = view_join(s->view, v);
    pthread_mutex_unlock(&s->view_lock);
}

void order_legacy_follows(struct device_stream *b)
{
    if (order_followed() && atomic_load_explicit(&b->clock->labelled, memory_order_relaxed))
        atomic_store(&b->noted_by_legacy, atomic_fetch_add(&b->clock->now, 1) + 1);
}

void order_prove(struct order_view *v)
{
    for (uint32_t i = 0; v != NULL && i < v->count; i++) {
        _Atomic uint64_t *proven = &v->notes[i].clock->proven;
        uint64_t now = v->notes[i].now, was = atomic_load(proven);
        while (was < now && !atomic_compare_exchange_weak(proven, &was, now))
            ;
    }
    order_view_unref(v);
}

struct order_view *order_view_keep(struct order_view *v) { return view_ref(v); }

/* ---- asking -------------------------------------------------------------------------------------
 */

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
    return (struct device_point){
        .label = atomic_load_explicit(&c->now, memory_order_acquire),
        .count = stream_enqueued(s),
    };
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
            now = larger(now, atomic_load(&on->noted_by_legacy));
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
