/* stream: records of streams and contexts, found by their handles; what each stream comes after. */
#include <stdlib.h>
#include <string.h>

#include "gpu/internal.h"

_Atomic uint64_t generation = 1;

/* ---- contexts ---- */

static struct {
    pthread_mutex_t lock; /* of what follows, and of records of streams that are not open */
    struct context *contexts;
    struct table streams;
    _Atomic uint64_t numbers;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER, .streams = {.bytes = sizeof(struct stream)}};

static bool is_legacy(CUstream h) { return h == NULL || h == CU_STREAM_LEGACY; }

static void stream_init(struct stream *s, struct context *c, CUstream h)
{
    s->handle = h;
    s->context = c;
    s->number = atomic_fetch_add(&all.numbers, 1) + 1;
    s->clock = clock_new();
    atomic_store(&s->version, 1);
    pthread_mutex_init(&s->lock, NULL);
    pthread_mutex_init(&s->marks_lock, NULL);
    atomic_store(&s->refs, 1);
    s->open = true;
}

/* Whether the handle is still of that context, which may be NULL. */
static bool same_context(const struct context *c, CUcontext h)
{
    unsigned long long id = 0;
    return c != NULL && !atomic_load(&c->gone) && driver.cuCtxGetId(h, &id) == CUDA_SUCCESS &&
           c->id == id;
}

/* The lock is held. */
static struct context *context_find(CUcontext h)
{
    unsigned long long id = 0;
    CUdevice device = -1;
    driver.cuCtxGetId(h, &id);
    for (struct context *c = all.contexts; c != NULL; c = c->next)
        if (c->handle == h && c->id == id && !atomic_load(&c->gone))
            return c;
    CUcontext before = NULL;
    driver.cuCtxGetCurrent(&before);
    if (before != h)
        driver.cuCtxSetCurrent(h);
    CUresult r = driver.cuCtxGetDevice(&device);
    if (before != h)
        driver.cuCtxSetCurrent(before);
    if (r != CUDA_SUCCESS || device < 0 || device >= MEM_MAX_DEVICES)
        return NULL;
    struct context *c = xcalloc(1, sizeof *c);
    c->handle = h;
    c->id = id;
    c->device = device;
    c->blocking = clock_new();
    c->staging = staging_new();
    pthread_mutex_init(&c->events_lock, NULL);
    c->legacy = xcalloc(1, sizeof *c->legacy);
    stream_init(c->legacy, c, CU_STREAM_LEGACY);
    c->legacy->legacy = c->legacy->blocking = true;
    c->next = all.contexts;
    all.contexts = c;
    return c;
}

struct context *context_current(void)
{
    struct gpu_thread *t = gpu_thread();
    uint64_t now = atomic_load_explicit(&generation, memory_order_acquire);
    CUcontext h = NULL;
    driver.cuCtxGetCurrent(&h);
    if (WEIR_UNLIKELY(h == NULL || t == NULL))
        return NULL;
    if (WEIR_LIKELY(t->current == h && t->current_generation == now))
        return t->current_found;
    if (t->runs_host_functions)
        return NULL;
    struct context *c = t->current_found;
    if (t->current != h || !same_context(c, h)) {
        pthread_mutex_lock(&all.lock);
        c = context_find(h);
        pthread_mutex_unlock(&all.lock);
    }
    t->current = h;
    t->current_generation = now;
    t->current_found = c;
    return c;
}

/* ---- streams ---- */

/* What the driver says of a handle that the runtime has not made. The lock is held. While the
 * stream is captured the questions would spoil the capture. */
static bool describe(struct stream *s, CUstream h)
{
    CUcontext of = NULL;
    unsigned flags = 0;
    if (stream_is_captured(s) || driver.cuStreamGetCtx(h, &of) != CUDA_SUCCESS || of == NULL ||
        driver.cuStreamGetFlags(h, &flags) != CUDA_SUCCESS)
        return false;
    struct context *c = context_find(of);
    if (c == NULL)
        return false;
    s->blocking = (flags & CU_STREAM_NON_BLOCKING) == 0;
    s->context = c;
    return true;
}

/* Whether the record is still that of the handle. */
static bool same_stream(struct stream *s)
{
    unsigned long long id = 0;
    return !s->foreign || (driver.cuStreamGetId(s->handle, &id) == CUDA_SUCCESS && id == s->id);
}

static struct stream *find_made(CUstream h)
{
    pthread_mutex_lock(&all.lock);
    struct stream *s = (struct stream *)table_find(&all.streams, h);
    if (s != NULL && !s->open)
        stream_init(s, s->context, h);
    bool ended =
        s != NULL && s->context != NULL && (atomic_load(&s->context->gone) || !same_stream(s));
    if (s == NULL || ended) {
        unsigned long long id = 0;
        bool good = driver.cuStreamGetId(h, &id) == CUDA_SUCCESS;
        if (ended)
            table_remove(&all.streams, h);
        struct stream *old = s;
        s = NULL;
        if (good) {
            s = (struct stream *)table_take(&all.streams);
            stream_init(s, NULL, h);
            s->foreign = true;
            s->id = id;
            table_put(&all.streams, &s->node, h);
        }
        if (ended) {
            pthread_mutex_unlock(&all.lock);
            stream_end(old);
            pthread_mutex_lock(&all.lock);
        }
    }
    if (s != NULL && s->context == NULL && !describe(s, h))
        s = NULL;
    pthread_mutex_unlock(&all.lock);
    return s;
}

static struct stream *find_own(struct gpu_thread *t, struct context *c)
{
    struct stream *s = t->own;
    while (s != NULL && (s->context != c || atomic_load(&s->ended)))
        s = s->next_own;
    if (s != NULL)
        return s;
    s = xcalloc(1, sizeof *s);
    pthread_mutex_lock(&all.lock);
    stream_init(s, c, CU_STREAM_PER_THREAD);
    pthread_mutex_unlock(&all.lock);
    s->own = s->blocking = true;
    s->next_own = t->own;
    t->own = s;
    return s;
}

struct stream *stream_find(struct gpu_thread *t, CUstream h)
{
    bool standard = is_legacy(h) || h == CU_STREAM_PER_THREAD;
    struct context *c = standard ? context_current() : NULL;
    if (WEIR_UNLIKELY(t == NULL || (standard && c == NULL)))
        return NULL;
    if (is_legacy(h))
        return c->legacy;
    uint64_t now = atomic_load_explicit(&generation, memory_order_acquire);
    struct found *f = &t->streams[((uintptr_t)h >> 6 ^ (uintptr_t)h >> 12) % THREAD_STREAMS];
    CUcontext of = c != NULL ? c->handle : NULL;
    if (WEIR_LIKELY(f->handle == h && f->generation == now && f->context == of) &&
        WEIR_LIKELY(!f->stream->foreign || same_stream(f->stream)))
        return f->stream;
    if (t->runs_host_functions)
        return NULL;
    struct stream *s = standard ? find_own(t, c) : find_made(h);
    if (s != NULL)
        *f = (struct found){h, of, now, s};
    return s;
}

void stream_ref(struct stream *s) { atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed); }

void stream_unref(struct stream *s)
{
    if (atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) != 1)
        return;
    stream_drop_marks(s);
    vector_unref(s->vector);
    atomic_store(&s->clock->gone, true);
    clock_unref(s->clock);
    pthread_mutex_destroy(&s->lock);
    pthread_mutex_destroy(&s->marks_lock);
    if (s->own) {
        free(s);
    } else if (!s->legacy) {
        memset((char *)s + sizeof s->node, 0, sizeof *s - sizeof s->node);
        table_spare(&all.streams, &s->node);
    }
}

/* Ended streams are let go of many at a time: seeing that no call has them costs. */
enum { ENDED_MAX = 16 };
static struct {
    pthread_mutex_t lock;
    struct stream *first;
    size_t count, enough; /* so many, and how many to wait for */
} ended = {.lock = PTHREAD_MUTEX_INITIALIZER, .enough = ENDED_MAX};

static void drop(struct stream *list)
{
    for (struct stream *s = list, *next; s != NULL; s = next) {
        next = s->next_ended;
        if (atomic_load(&s->slot) != NULL)
            pool_stream_gone(s);
        stream_unref(s);
    }
}

/* The list is taken first: what comes to it later may be in a call's hands. */
static void drop_ended(struct stream *list)
{
    if (calls_are_over(gpu_thread())) {
        drop(list);
        return;
    }
    size_t count = 1;
    struct stream *last = list;
    for (; last->next_ended != NULL; last = last->next_ended)
        count++;
    pthread_mutex_lock(&ended.lock);
    last->next_ended = ended.first;
    ended.first = list;
    ended.count += count;
    ended.enough = ended.count + ENDED_MAX;
    pthread_mutex_unlock(&ended.lock);
}

void stream_end(struct stream *s)
{
    if (atomic_exchange(&s->ended, true))
        return;
    atomic_fetch_add(&generation, 1);
    if (atomic_load(&s->slot) != NULL)
        pool_stream_ended(s);
    struct stream *list = NULL;
    pthread_mutex_lock(&ended.lock);
    s->next_ended = ended.first;
    ended.first = s;
    if (++ended.count >= ended.enough) {
        list = ended.first;
        ended.first = NULL;
        ended.count = 0;
        ended.enough = ENDED_MAX;
    }
    pthread_mutex_unlock(&ended.lock);
    if (list != NULL)
        drop_ended(list);
}

/* Programs make and end streams that no pool has to do with: the record keeps what cannot be asked
 * later, and is opened by the stream's first use here. */
static void stream_made(CUstream h, unsigned flags)
{
    struct context *c = context_current();
    bool there = false;
    pthread_mutex_lock(&all.lock);
    struct stream *s = (struct stream *)table_keep(&all.streams, h, &there), *old = NULL;
    if (WEIR_UNLIKELY(there && s->open)) { /* the driver ended it, who told nobody */
        old = (struct stream *)table_remove(&all.streams, h);
        s = (struct stream *)table_keep(&all.streams, h, &there);
    }
    s->context = c;
    s->blocking = (flags & CU_STREAM_NON_BLOCKING) == 0;
    pthread_mutex_unlock(&all.lock);
    if (old != NULL)
        stream_end(old);
}

/* Whether the stream had a record that was never opened, which nobody can have then: it is gone. */
static bool forget_unused(CUstream h)
{
    pthread_mutex_lock(&all.lock);
    const struct stream *s = (const struct stream *)table_find(&all.streams, h);
    bool unused = s != NULL && !s->open;
    if (unused)
        table_drop(&all.streams, h);
    pthread_mutex_unlock(&all.lock);
    return unused;
}

CUresult gpu_cuStreamCreate(CUstream *out, unsigned flags)
{
    CUresult r = driver.cuStreamCreate(out, flags);
    if (r == CUDA_SUCCESS)
        stream_made(*out, flags);
    return r;
}

CUresult gpu_cuStreamCreateWithPriority(CUstream *out, unsigned flags, int priority)
{
    CUresult r = driver.cuStreamCreateWithPriority(out, flags, priority);
    if (r == CUDA_SUCCESS)
        stream_made(*out, flags);
    return r;
}

static CUresult destroy_used(CUstream h)
{
    IN_CALL;
    struct stream *s = (struct stream *)table_find(&all.streams, h);
    if (s != NULL && s->context != NULL && stream_has_pending_frees(s))
        stream_leave_mark(s);
    s = (struct stream *)table_remove(&all.streams, h);
    atomic_fetch_add(&generation, 1); /* now: it may be another's as soon as the driver has it */
    CUresult r = driver.cuStreamDestroy_v2(h);
    if (s != NULL)
        stream_end(s);
    if (r == CUDA_SUCCESS && followed())
        pool_synchronized();
    return r;
}

/* Where the driver refuses it, the next use finds it anew, as a foreign one. */
CUresult gpu_cuStreamDestroy_v2(CUstream h)
{
    return forget_unused(h) ? driver.cuStreamDestroy_v2(h) : destroy_used(h);
}

/* ---- order ---- */

/* Of what `s` has waited for. */
static uint64_t seen(struct stream *s, struct stream *on)
{
    if (atomic_load_explicit(&s->version, memory_order_acquire) == 1)
        return 0;
    pthread_mutex_lock(&s->lock);
    uint64_t t = vector_get(s->vector, on->clock);
    if (on->blocking)
        t = later(t, vector_get(s->vector, on->context->blocking));
    pthread_mutex_unlock(&s->lock);
    return t;
}

/* What was freed in the legacy stream after its latest command waits, in the legacy stream, for
 * what blocking streams had to do then: a command makes that so. */
static uint64_t follow_legacy(struct stream *s, struct stream *legacy)
{
    uint64_t at;
    if (!stream_follow(s, legacy, &at))
        return 0;
    pthread_mutex_lock(&s->lock);
    s->vector = vector_raise(s->vector, legacy->clock, at);
    atomic_store(&s->version, at);
    pthread_mutex_unlock(&s->lock);
    return at;
}

uint64_t stream_ordered(struct stream *s, struct stream *on)
{
    struct context *c = s->context;
    if (s == on || atomic_load(&on->context->gone))
        return UINT64_MAX;
    uint64_t t = seen(s, on);
    if (!s->blocking)
        return t;
    if (!s->legacy)
        t = later(t, seen(c->legacy, on));
    if (on->context != c || !on->blocking)
        return t;
    if (s->legacy)
        return UINT64_MAX;
    t = later(t, atomic_load(&c->legacy_tick));
    if (on->legacy && t <= atomic_load(&on->marked) && !atomic_load(&closer))
        t = later(t, follow_legacy(s, on));
    return t;
}

void stream_join(struct stream *s, const struct vector *v)
{
    if (v == NULL)
        return;
    pthread_mutex_lock(&s->lock);
    s->vector = vector_join(s->vector, v);
    atomic_store_explicit(&s->version, tick(), memory_order_release);
    pthread_mutex_unlock(&s->lock);
}

/* Takes over what a stream has waited for. */
static struct vector *join_seen(struct vector *v, struct stream *s)
{
    pthread_mutex_lock(&s->lock);
    v = vector_join(v, s->vector);
    pthread_mutex_unlock(&s->lock);
    return v;
}

/* Entries: its own, or for the legacy stream that of all blocking ones; then what it comes after.
 */
struct vector *stream_snapshot(struct stream *s, uint64_t at, struct vector *old)
{
    struct context *c = s->context;
    struct clock *own = s->legacy ? c->blocking : s->clock;
    uint64_t version = atomic_load_explicit(&s->version, memory_order_acquire);
    uint64_t legacy = s->blocking ? atomic_load(&c->legacy_tick) : 0;
    if (!vector_is_unshared(old)) {
        vector_unref(old);
        old = NULL;
    }
    if (old != NULL && old->owner == own && old->version == version && old->legacy == legacy) {
        old->entries[0].tick = at;
        return old;
    }
    if (old != NULL)
        vector_clear(old);
    old = vector_raise(old, own, at);
    old->owner = own;
    old->version = version;
    old->legacy = legacy;
    if (version > 1)
        old = join_seen(old, s);
    if (s->blocking && !s->legacy) {
        old = vector_raise(old, c->blocking, legacy);
        old = join_seen(old, c->legacy);
    }
    return old;
}

/* ---- whole contexts ---- */

CUresult gpu_cuCtxSynchronize(void)
{
    struct context *c = followed() ? context_current() : NULL;
    uint64_t at = tick();
    CUresult r = driver.cuCtxSynchronize();
    device_failed(r);
    if (r == CUDA_SUCCESS && c != NULL) {
        raise_to(&c->all_proven, at);
        pool_synchronized();
    }
    return r;
}

/* Of the streams of a device that is reset nothing is left, nor of what they had to do. */
static void forget_streams(int device)
{
    pthread_mutex_lock(&all.lock);
    for (struct context *c = all.contexts; c != NULL; c = c->next)
        if (c->device == device) {
            atomic_store(&c->gone, true);
            atomic_store(&c->all_proven, UINT64_MAX);
        }
    pthread_mutex_unlock(&all.lock);
    atomic_fetch_add(&generation, 1);
}

CUresult gpu_cuDevicePrimaryCtxReset_v2(CUdevice device)
{
    CUresult r = driver.cuDevicePrimaryCtxReset_v2(device);
    if (r == CUDA_SUCCESS) {
        forget_streams(device);
        device_works_again();
        pools_forget(device);
    }
    return r;
}
