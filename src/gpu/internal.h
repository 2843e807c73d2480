/* internal: what the files of the gpu layer share.
 *
 * Time is one counter for all streams. A free carries the time at which it was made, read without a
 * change: its timestamp. A *tick* is a new value of the counter, taken before a call that puts
 * something into a stream or waits for one: what was freed in that stream with a smaller timestamp
 * comes before it, since the work that used the memory was enqueued before the free.
 *
 * Locks, outermost first: those of src/pool, a stream's list of marks, that of captures, everything
 * else. */
#ifndef WEIR_GPU_INTERNAL_H
#define WEIR_GPU_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "gpu/pools.h"
#include "pool/pool.h"

extern WEIR_OWN struct gpu_driver driver; /* the functions */
/* What stands before the driver's functions. */
#define GPU_DRIVER(name)
#define GPU_BEFORE(name) __typeof__(name) gpu_##name;
#include "gpu/driver.def"
#undef GPU_DRIVER
#undef GPU_BEFORE

/* Some stream has a part in a pool: from then on order is followed. */
extern WEIR_OWN _Atomic bool following;
static inline bool followed(void)
{
    return WEIR_UNLIKELY(atomic_load_explicit(&following, memory_order_relaxed));
}

/* Captures that run, and whether a device has failed: then calls look more closely. */
extern WEIR_OWN _Atomic uint32_t closer;
/* Taken for writing where a capture begins, for reading where streams are looked at. */
extern WEIR_OWN pthread_rwlock_t capturing;
void device_failed(CUresult r); /* looks whether that code says so */
void device_works_again(void);

/* ---- time (vector.c) ---- */

extern WEIR_OWN struct time_word {
    _Alignas(64) _Atomic uint64_t now;
} time_word;

static inline uint64_t tick(void) { return atomic_fetch_add(&time_word.now, 1) + 1; }

static inline void raise_to(_Atomic uint64_t *field, uint64_t value)
{
    uint64_t was = atomic_load_explicit(field, memory_order_relaxed);
    while (was < value && !atomic_compare_exchange_weak(field, &was, value))
        ;
}

static inline uint64_t later(uint64_t a, uint64_t b) { return a > b ? a : b; }

/* What the host knows of a stream, or of all blocking streams of a context together. */
struct clock {
    _Atomic uint32_t refs;
    _Atomic bool gone;       /* nobody will ask again */
    _Atomic uint64_t proven; /* timestamps below have passed: the host has waited for them */
    _Atomic uint64_t passed; /* the same, by whatever means */
};
struct clock *clock_new(void);
void clock_unref(struct clock *c);

/* Ticks of clocks that something comes after. Shared ones do not change. */
struct vector {
    _Atomic uint32_t refs;
    uint32_t count, capacity;
    struct clock *owner;      /* of the stream that it was taken of, whose entry comes first */
    uint64_t version, legacy; /* of that stream and its context then */
    struct entry {
        struct clock *clock;
        uint64_t tick;
    } entries[];
};
struct vector *vector_raise(struct vector *v, struct clock *c, uint64_t at); /* v may be NULL */
struct vector *vector_join(struct vector *v, const struct vector *with);
uint64_t vector_get(const struct vector *v, const struct clock *c);
void vector_clear(struct vector *v);
struct vector *vector_ref(struct vector *v);
void vector_unref(struct vector *v);
static inline bool vector_is_unshared(const struct vector *v)
{
    return v != NULL && atomic_load_explicit(&v->refs, memory_order_acquire) == 1;
}
/* The host has waited for all of it / knows that it has passed. */
void vector_prove(const struct vector *v);
void vector_pass(const struct vector *v);

/* ---- locks that are held for some instructions (table.c) ---- */

void short_lock_await(_Atomic bool *taken);
static inline void short_lock(_Atomic bool *taken)
{
    if (WEIR_UNLIKELY(atomic_exchange_explicit(taken, true, memory_order_acquire)))
        short_lock_await(taken);
}
static inline void short_unlock(_Atomic bool *taken)
{
    atomic_store_explicit(taken, false, memory_order_release);
}

/* ---- tables of handles (table.c) ---- */

/* Nodes are used again, never freed: a stale pointer to one can be looked at. */
struct node {
    _Atomic(void *) key;
    _Atomic(struct node *) next;
};
enum { TABLE_BUCKETS = 2048 };
struct table {
    _Atomic bool taken; /* the lock */
    _Atomic(struct node *) buckets[TABLE_BUCKETS];
    struct node *spare;
    size_t bytes; /* of a node */
};
struct node *table_find(struct table *t, void *key);
/* A node that is in no table, all zero but for its key and next. */
struct node *table_take(struct table *t);
/* Puts it there in place of what has that key, which is the caller's then; NULL: nothing had. */
struct node *table_put(struct table *t, struct node *n, void *key);
/* Takes one out; NULL: there is none. It is the caller's until table_spare. */
struct node *table_remove(struct table *t, void *key);
void table_spare(struct table *t, struct node *n);
/* The node of that key if it is there, else one that is put there: zero, but for what its last user
 * has left in it. */
struct node *table_keep(struct table *t, void *key, bool *there);
/* Takes one out if there is one; what is in it stays for the next user. */
void table_drop(struct table *t, void *key);

/* ---- streams (stream.c) ---- */

struct gpu_thread;

struct context {
    CUcontext handle;
    unsigned long long id;
    int device;
    struct stream *legacy;
    struct clock *blocking;       /* all its blocking streams, the legacy one included */
    _Atomic uint64_t legacy_tick; /* of the latest command of the legacy stream that was seen */
    _Atomic uint64_t all_proven;  /* the host has waited for the whole context */
    _Atomic bool gone;            /* the device was reset */
    struct staging *staging;
    pthread_mutex_t events_lock;
    CUevent *events; /* spare ones */
    size_t event_count, event_capacity;
    struct context *next;
};

/* An event of the driver that was recorded here in a stream. */
struct mark {
    CUevent event;
    uint64_t tick;
};
enum { MARKS = 4 };

struct stream {
    struct node node; /* the key is the handle */
    _Atomic(void *) slot;
    CUstream handle;
    struct context *context; /* NULL: not looked at yet */
    uint64_t number;
    bool open;                           /* else only context and blocking are filled, or nothing */
    bool legacy, own, blocking, foreign; /* own: a thread's default stream; foreign: the runtime has
                                            not made it, and does not hear of its end */
    unsigned long long id;               /* the driver's, of a foreign one */
    _Atomic uint32_t refs;
    _Atomic bool ended; /* the handle is gone */
    struct clock *clock;
    _Atomic uint64_t marked;  /* the latest timestamp given out */
    pthread_mutex_t lock;     /* of the vector */
    struct vector *vector;    /* of other streams */
    _Atomic uint64_t version; /* of the vector */
    pthread_mutex_t marks_lock;
    struct mark marks[MARKS]; /* the oldest first */
    unsigned mark_count;
    struct stream *next_own; /* of the same thread */
    struct stream *next_ended;
};

/* The record of a handle, made when there is none; NULL: the handle is none, or there is no
 * context. `t` is the caller's own, which is IN_CALL: so the record is not freed; or NULL. */
struct stream *stream_find(struct gpu_thread *t, CUstream h);
void stream_ref(struct stream *s);
void stream_unref(struct stream *s);
/* The handle is gone, or is of the driver no longer. Calls under way may still use the record. */
void stream_end(struct stream *s);
/* What is enqueued in `s` comes after what `v` says. */
void stream_join(struct stream *s, const struct vector *v);
/* All that is enqueued in the stream now, as of the tick; in `old`, which is the caller's, if it
 * can. */
struct vector *stream_snapshot(struct stream *s, uint64_t at, struct vector *old);
/* Timestamps of `on` below this come before what is enqueued in `s` from now on. */
uint64_t stream_ordered(struct stream *s, struct stream *on);
struct context *context_current(void);
/* Changes whenever a handle may have come to mean something else. */
extern WEIR_OWN _Atomic uint64_t generation;

static inline struct pool_point stream_mark(struct stream *s)
{
    uint64_t now = atomic_load_explicit(&time_word.now, memory_order_seq_cst);
    if (atomic_load_explicit(&s->marked, memory_order_relaxed) < now)
        raise_to(&s->marked, now);
    return (struct pool_point){now, now};
}

static inline uint64_t stream_known(const struct stream *s, bool proven)
{
    const struct context *c = s->context;
    uint64_t t = atomic_load(proven ? &s->clock->proven : &s->clock->passed);
    if (s->blocking)
        t = later(t, atomic_load(proven ? &c->blocking->proven : &c->blocking->passed));
    return later(t, atomic_load(&c->all_proven));
}

/* ---- what has passed (passed.c) ---- */

uint64_t stream_completed(struct stream *s);
/* Makes later work of `s` wait for what was freed in `on` up to that time. */
bool stream_wait_for(struct stream *s, struct stream *on, uint64_t time);
/* The same for all that is in `on` now, of which *at is the tick. */
bool stream_follow(struct stream *s, struct stream *on, uint64_t *at);
/* Records an event in the stream for what was freed in it, which must be its thread's or one whose
 * handle is good. */
bool stream_leave_mark(struct stream *s);
void stream_drop_marks(struct stream *s);
/* Something was freed in it of which it is not known that it has passed. */
bool stream_has_pending_frees(const struct stream *s);
/* The stream was asked after the tick, and has nothing to do. */
void stream_found_idle(struct stream *s, uint64_t at);
/* A blocking stream's frees come after what the legacy stream had to do before them, which who
 * waits for the stream alone need not see: makes it a command of the stream that does. */
void stream_settle(struct stream *s);
/* Whether it, or any other, is in a capture that makes looking at it an error. */
bool stream_is_captured(const struct stream *s);

/* ---- commands of the legacy stream ---- */

/* The context when the stream is the legacy one and order is followed; NULL: the call is like any
 * other. */
static inline struct context *legacy_begins(CUstream h, uint64_t *at)
{
    if (!followed() || (h != NULL && h != CU_STREAM_LEGACY))
        return NULL;
    *at = tick();
    return context_current();
}

static inline CUresult legacy_ends(struct context *c, uint64_t at, CUresult r)
{
    if (c != NULL && r == CUDA_SUCCESS)
        raise_to(&c->legacy_tick, at);
    return r;
}

/* ---- threads (thread.c) ---- */

enum { THREAD_STREAMS = 8 };

struct pool_handle;
struct gpu_thread {
    struct found {
        CUstream handle;
        CUcontext context; /* of a default stream */
        uint64_t generation;
        struct stream *stream;
    } streams[THREAD_STREAMS];
    CUmemoryPool pool;
    uint64_t pool_generation;
    struct pool_handle *pool_found;
    CUcontext current;
    uint64_t current_generation;
    struct context *current_found;
    struct stream *own;       /* its default streams, one for each context */
    bool runs_host_functions; /* of streams: then the driver answers, which permits nothing */
    /* For calls.c. */
    _Atomic uint32_t calls; /* that it is in, one inside another */
    struct gpu_thread *next, **link;
};
/* NULL: there is no memory for it. */
struct gpu_thread *gpu_thread(void);
extern WEIR_OWN gpu_thread_word thread_word;

/* ---- calls under way (calls.c) ---- */

extern WEIR_OWN bool calls_fence; /* a call needs a fence of its own */
void calls_open(void);
void calls_thread_begins(struct gpu_thread *t);
void calls_thread_ends(struct gpu_thread *t);
/* Whether each call of another thread that was under way is over: what could no longer be found
 * before this is called is in no call's hands then. Does not wait for calls that take long. */
bool calls_are_over(const struct gpu_thread *self);

static inline struct gpu_thread *call_begins(void)
{
    struct gpu_thread *t = gpu_thread();
    if (WEIR_UNLIKELY(t == NULL))
        return NULL;
    uint32_t calls = atomic_load_explicit(&t->calls, memory_order_relaxed) + 1;
    atomic_store_explicit(&t->calls, calls, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    if (WEIR_UNLIKELY(calls_fence))
        atomic_thread_fence(memory_order_seq_cst);
    return t;
}

static inline void call_ends(struct gpu_thread *const *t)
{
    if (WEIR_UNLIKELY(*t == NULL))
        return;
    uint32_t calls = atomic_load_explicit(&(*t)->calls, memory_order_relaxed);
    atomic_store_explicit(&(*t)->calls, calls - 1, memory_order_release);
}

/* Until the scope is left, what is found is not freed. */
#define IN_CALL                                                                                    \
    struct gpu_thread *const in_call __attribute__((cleanup(call_ends), unused)) = call_begins()

/* ---- memory (range.c) ---- */

extern const struct pool_source range_source;
/* Whether the device's memory can be had by chunk. */
bool range_possible(int device);
/* Bytes that are kept mapped though no pool has them. */
uint64_t range_kept(int device);
/* Gives them back; false: there were none. */
bool range_give_back(int device);
/* Whether the address is in a range of ours. */
bool range_holds(uint64_t address);

/* ---- memory of cudaMalloc (kept.c) ---- */

/* Memory of that size that is kept; false: there is none. */
bool kept_alloc(CUdeviceptr *out, size_t bytes);
/* The driver has made an allocation in the current context. */
void kept_made(CUdeviceptr at, size_t bytes);
CUresult kept_free(CUdeviceptr at);
uint64_t kept_bytes(int device);
/* Whether the address is in memory that is kept: to the program it is free. */
extern WEIR_OWN _Atomic size_t kept_count;
bool kept_holds_any(CUdeviceptr at);
static inline bool kept_holds(CUdeviceptr at)
{
    return WEIR_UNLIKELY(atomic_load_explicit(&kept_count, memory_order_relaxed) > 0) &&
           kept_holds_any(at);
}
/* Gives it back to the driver; false: there was none. */
bool kept_give_back(int device);
/* So many bytes are more than the device has: giving back, which waits for its work, is of no use.
 */
bool kept_too_little(int device, uint64_t bytes);
void kept_forget(int device); /* the device is reset */

/* ---- copies of pageable memory (staging.c) ---- */

struct staging;
struct staging *staging_new(void); /* of a context */
/* Makes a large copy between pageable memory of the host and the device, and waits for it. False:
 * it is for the driver to make. */
bool staging_copy(bool to_device, char *host, CUdeviceptr device, size_t size, CUresult *r);

/* ---- pools (pool.c) ---- */

extern const struct pool_order stream_order;
/* All pools of the device give back what they hold unused; false: nothing. */
bool pools_give_back(int device);
void pools_forget(int device); /* the device is reset */
/* False: the devices cannot do what is needed. */
bool pools_begin(int device_count);

/* ---- events (event.c) ---- */

/* Something that this layer does not see may record it from now on. */
void event_is_recorded_by_others(CUevent h);

#endif
