/* record: buffers of records. Each thread fills its own; one thread takes from all. A buffer is a
 * list of chunks: the last one's owner fills it and says how far, the first one's taker gives it
 * back. Of a record as much is kept as its type says something with. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "timeline/internal.h"

enum {
    CHUNK_WORDS = 8000, /* of 8 bytes */
    CHUNKS_KEPT =
        64, /* that were given back, for the next: their memory is the process's already */
    TEXT_BUCKETS = 1024,
    TEXTS_NEAR = 64
};

struct chunk {
    _Atomic uint32_t filled; /* words */
    uint32_t taken;
    struct chunk *_Atomic next;
    uint64_t words[CHUNK_WORDS];
};

struct buffer {
    struct chunk *first; /* the taker's */
    struct chunk *last;  /* the owner's */
    uint32_t thread;
    struct buffer *next; /* of all; never taken off */
    _Atomic bool free;   /* its thread is gone: another may have it */
    struct {
        const char *given, *kept;
    } near[TEXTS_NEAR]; /* texts that the owner has asked for, by their addresses */
};

static struct buffer *_Atomic buffers;
static pthread_mutex_t buffers_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic uint64_t chunks_full;

static struct {
    pthread_mutex_t lock;
    struct chunk *chunks[CHUNKS_KEPT];
    uint32_t count;
} kept = {.lock = PTHREAD_MUTEX_INITIALIZER};
static pthread_key_t buffer_key;
static pthread_once_t buffer_once = PTHREAD_ONCE_INIT;

static WEIR_THREAD_FAST struct buffer *buffer_of_thread;

static void buffer_leave(void *buffer)
{
    buffer_of_thread = NULL;
    atomic_store_explicit(&((struct buffer *)buffer)->free, true, memory_order_release);
}

_Static_assert(sizeof(struct record) % sizeof(uint64_t) == 0, "records lie in words");

/* How many words a record of that type and kind has. */
static uint32_t size_of(enum record_type type, unsigned kind)
{
    static const uint8_t sizes[] = {
        [RECORD_WORK] = offsetof(struct record, event) + sizeof(((struct record *)0)->event),
        [RECORD_PART] = offsetof(struct record, kernel),
        [RECORD_CALL] = offsetof(struct record, id),
        [RECORD_WAIT] = offsetof(struct record, event) + sizeof(((struct record *)0)->event),
        [RECORD_STREAM] = offsetof(struct record, kernel),
        [RECORD_NAME] = offsetof(struct record, kernel)};
    bool whole = (type == RECORD_WORK && kind == OBSERVE_KERNEL) || type >= WEIR_COUNT(sizes) ||
                 sizes[type] == 0;
    return (whole ? (uint32_t)sizeof(struct record) : sizes[type]) / sizeof(uint64_t);
}

static struct chunk *chunk_make(void)
{
    struct chunk *c = NULL;
    pthread_mutex_lock(&kept.lock);
    if (kept.count > 0)
        c = kept.chunks[--kept.count];
    pthread_mutex_unlock(&kept.lock);
    if (c == NULL)
        c = xmalloc(sizeof *c);
    atomic_init(&c->filled, 0);
    c->taken = 0;
    atomic_init(&c->next, NULL);
    return c;
}

static void chunk_give_back(struct chunk *c)
{
    pthread_mutex_lock(&kept.lock);
    bool fits = kept.count < CHUNKS_KEPT;
    if (fits)
        kept.chunks[kept.count++] = c;
    pthread_mutex_unlock(&kept.lock);
    if (!fits)
        free(c);
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
        b->first = b->last = chunk_make();
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
    struct chunk *more = chunk_make();
    atomic_store_explicit(&b->last->next, more, memory_order_release);
    b->last = more;
    atomic_fetch_add_explicit(&chunks_full, 1, memory_order_relaxed);
}

struct record *record_new(enum record_type type)
{
    struct buffer *b = buffer_of_thread;
    if (WEIR_UNLIKELY(b == NULL))
        b = buffer_begin();
    uint32_t filled = atomic_load_explicit(&b->last->filled, memory_order_relaxed);
    if (WEIR_UNLIKELY(filled + sizeof(struct record) / sizeof(uint64_t) > CHUNK_WORDS)) {
        buffer_extend(b);
        filled = 0;
    }
    struct record *r = (struct record *)(b->last->words + filled);
    memset(r, 0, sizeof *r);
    r->type = (uint8_t)type;
    r->thread = b->thread;
    return r;
}

void record_done(void)
{
    struct chunk *c = buffer_of_thread->last;
    uint32_t filled = atomic_load_explicit(&c->filled, memory_order_relaxed);
    const struct record *r = (const struct record *)(c->words + filled);
    atomic_store_explicit(&c->filled, filled + size_of((enum record_type)r->type, r->kind),
                          memory_order_release);
}

/* Those of a chunk, as far as it is filled. */
static void chunk_take(struct chunk *c, uint32_t filled, void (*fn)(const struct record *r))
{
    struct record whole = {0};
    while (c->taken < filled) {
        const struct record *r = (const struct record *)(c->words + c->taken);
        uint32_t words = size_of((enum record_type)r->type, r->kind);
        memcpy(&whole, r, words * sizeof(uint64_t));
        fn(&whole);
        c->taken += words;
    }
}

void records_take(void (*fn)(const struct record *r))
{
    for (struct buffer *b = atomic_load(&buffers); b != NULL; b = b->next) {
        for (;;) {
            struct chunk *c = b->first, *next;
            next = atomic_load_explicit(&c->next, memory_order_acquire);
            /* One that another follows is filled no further. */
            chunk_take(c, atomic_load_explicit(&c->filled, memory_order_acquire), fn);
            if (next == NULL)
                break;
            b->first = next;
            chunk_give_back(c);
            atomic_fetch_sub_explicit(&chunks_full, 1, memory_order_relaxed);
        }
    }
}

uint64_t records_waiting(void)
{
    return atomic_load_explicit(&chunks_full, memory_order_relaxed) * sizeof(struct chunk);
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

static const char *text_keep(const char *text)
{
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

const char *record_text(const char *text)
{
    struct buffer *b = buffer_of_thread;
    if (text == NULL || b == NULL)
        return text != NULL ? text_keep(text) : NULL;
    size_t near = ((uintptr_t)text ^ (uintptr_t)text >> 6) % TEXTS_NEAR;
    if (b->near[near].given != text || strcmp(b->near[near].kept, text) != 0) {
        b->near[near].kept = text_keep(text);
        b->near[near].given = text;
    }
    return b->near[near].kept;
}
