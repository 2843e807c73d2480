/* record: buffers of records. Each thread fills its own; one thread takes from all. A buffer is a
 * list of chunks: the last one's owner fills it and says how far, the first one's taker frees it.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "timeline/internal.h"

enum { CHUNK_RECORDS = 500, TEXT_BUCKETS = 1024 };

struct chunk {
    _Atomic uint32_t filled;
    uint32_t taken;
    struct chunk *_Atomic next;
    struct record records[CHUNK_RECORDS];
};

struct buffer {
    struct chunk *first; /* the taker's */
    struct chunk *last;  /* the owner's */
    uint32_t thread;
    struct buffer *next; /* of all; never taken off */
    _Atomic bool free;   /* its thread is gone: another may have it */
};

static struct buffer *_Atomic buffers;
static pthread_mutex_t buffers_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic uint64_t chunks_full;
static pthread_key_t buffer_key;
static pthread_once_t buffer_once = PTHREAD_ONCE_INIT;

static WEIR_THREAD_FAST struct buffer *buffer_of_thread;

static void buffer_leave(void *buffer)
{
    buffer_of_thread = NULL;
    atomic_store_explicit(&((struct buffer *)buffer)->free, true, memory_order_release);
}

static void make_buffer_key(void) { pthread_key_create(&buffer_key, buffer_leave); }

/* One that nobody has any more, or a new one. */
static struct buffer *buffer_find(void)
{
    struct buffer *b;
    pthread_mutex_lock(&buffers_lock);
    for (b = atomic_load(&buffers); b != NULL; b = b->next)
        if (atomic_load_explicit(&b->free, memory_order_acquire))
            break;
    if (b == NULL) {
        b = xcalloc(1, sizeof *b);
        b->first = b->last = xcalloc(1, sizeof *b->last);
        b->next = atomic_load(&buffers);
        atomic_store(&buffers, b);
    }
    atomic_store_explicit(&b->free, false, memory_order_relaxed);
    pthread_mutex_unlock(&buffers_lock);
    return b;
}

static __attribute__((noinline)) struct buffer *buffer_begin(void)
{
    pthread_once(&buffer_once, make_buffer_key);
    struct buffer *b = buffer_of_thread = buffer_find();
    b->thread = (uint32_t)gettid();
    pthread_setspecific(buffer_key, b);
    return b;
}

static __attribute__((noinline)) void buffer_extend(struct buffer *b)
{
    struct chunk *more = xmalloc(sizeof *more);
    atomic_init(&more->filled, 0);
    more->taken = 0;
    atomic_init(&more->next, NULL);
    atomic_store_explicit(&b->last->next, more, memory_order_release);
    b->last = more;
    atomic_fetch_add_explicit(&chunks_full, 1, memory_order_relaxed);
}

struct record *record_new(enum record_type type)
{
    struct buffer *b = buffer_of_thread;
    if (WEIR_UNLIKELY(b == NULL))
        b = buffer_begin();
    if (atomic_load_explicit(&b->last->filled, memory_order_relaxed) == CHUNK_RECORDS)
        buffer_extend(b);
    struct record *r =
        &b->last->records[atomic_load_explicit(&b->last->filled, memory_order_relaxed)];
    memset(r, 0, sizeof *r);
    r->type = (uint8_t)type;
    r->thread = b->thread;
    return r;
}

void record_done(void)
{
    struct chunk *c = buffer_of_thread->last;
    atomic_store_explicit(&c->filled, atomic_load_explicit(&c->filled, memory_order_relaxed) + 1,
                          memory_order_release);
}

void records_take(void (*fn)(const struct record *r))
{
    for (struct buffer *b = atomic_load(&buffers); b != NULL; b = b->next) {
        for (;;) {
            struct chunk *c = b->first;
            uint32_t filled = atomic_load_explicit(&c->filled, memory_order_acquire);
            while (c->taken < filled)
                fn(&c->records[c->taken++]);
            struct chunk *next = atomic_load_explicit(&c->next, memory_order_acquire);
            if (filled < CHUNK_RECORDS || next == NULL)
                break;
            b->first = next;
            free(c);
            atomic_fetch_sub_explicit(&chunks_full, 1, memory_order_relaxed);
        }
    }
}

uint64_t records_waiting(void)
{
    return atomic_load_explicit(&chunks_full, memory_order_relaxed) * CHUNK_RECORDS;
}

/* ---- texts ---- */

struct text {
    struct text *next;
    uint64_t hash;
    char bytes[];
};
static struct text *_Atomic texts[TEXT_BUCKETS];
static pthread_mutex_t texts_lock = PTHREAD_MUTEX_INITIALIZER;

/* Eight bytes at a time. */
static uint64_t text_hash(const char *text, size_t n)
{
    uint64_t h = n, word = 0;
    for (; n >= 8; n -= 8, text += 8) {
        memcpy(&word, text, 8);
        h = (h ^ word) * 0x9e3779b97f4a7c15u;
        h ^= h >> 32;
    }
    word = 0;
    memcpy(&word, text, n);
    h = (h ^ word) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 32;
}

static const char *text_find(uint64_t hash, const char *text)
{
    struct text *t = atomic_load_explicit(&texts[hash % TEXT_BUCKETS], memory_order_acquire);
    for (; t != NULL; t = t->next)
        if (t->hash == hash && strcmp(t->bytes, text) == 0)
            return t->bytes;
    return NULL;
}

const char *record_text(const char *text)
{
    if (text == NULL)
        return NULL;
    size_t n = strlen(text);
    uint64_t hash = text_hash(text, n);
    const char *known = text_find(hash, text);
    if (known != NULL)
        return known;
    pthread_mutex_lock(&texts_lock);
    known = text_find(hash, text);
    if (known == NULL) {
        struct text *t = xmalloc(sizeof *t + n + 1);
        memcpy(t->bytes, text, n + 1);
        t->hash = hash;
        t->next = atomic_load_explicit(&texts[hash % TEXT_BUCKETS], memory_order_relaxed);
        atomic_store_explicit(&texts[hash % TEXT_BUCKETS], t, memory_order_release);
        known = t->bytes;
    }
    pthread_mutex_unlock(&texts_lock);
    return known;
}
