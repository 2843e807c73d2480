/* lives: which stream-ordered memory is alive for what runs now, to the byte.
 *
 * An allocation lives from a moment of one stream to a moment of one stream: after so many of its
 * works. A moment has passed when these works have ended. What is in order after an allocation
 * runs after that moment has passed, and what is in order before a free runs before its moment can
 * pass. So whoever touches memory before the one or after the other is wrong whatever else happens;
 * what is merely in no order, and happens to come at a good time, is the check of races' to find.
 *
 * A block of a pool may be handed out again by the host long before the work that used it last has
 * run: an address may have several lives at once, of which one is alive. */
#include <pthread.h>
#include <stdlib.h>

#include "checks/checks.h"
#include "observe/observe.h"

struct moment {
    uint64_t stream; /* 0: passed from the start */
    uint64_t count;
};

struct life {
    uint64_t base, end;
    struct moment made, freed;
    bool is_freed;
    struct life *next; /* of the same chunk */
};

enum { CHUNK_SHIFT = 21, BUCKETS = 1 << 12, STREAM_BUCKETS = 1 << 8 };

/* A life is in the list of each chunk that it touches. */
struct chunk {
    uint64_t number;
    struct lives {
        struct life **items;
        size_t count, cap;
    } lives;
    struct chunk *next;
};

struct stream {
    uint64_t id, enqueued;
    _Atomic uint64_t ended;
    struct stream *next;
};

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static struct chunk *chunks[BUCKETS];
static struct stream *streams[STREAM_BUCKETS];

/* ---- streams ---- */

static struct stream *stream_find(uint64_t id)
{
    struct stream *s = streams[id * 0x9e3779b97f4a7c15u >> 56];
    while (s != NULL && s->id != id)
        s = s->next;
    return s;
}

/* The lock is held for writing. */
static struct stream *stream_make(uint64_t id)
{
    struct stream *s = stream_find(id);
    if (s != NULL)
        return s;
    struct stream **head = &streams[id * 0x9e3779b97f4a7c15u >> 56];
    s = xcalloc(1, sizeof *s);
    s->id = id;
    s->next = *head;
    *head = s;
    return s;
}

static bool passed(const struct moment *m)
{
    const struct stream *s = m->stream != 0 ? stream_find(m->stream) : NULL;
    return s == NULL || atomic_load_explicit(&s->ended, memory_order_acquire) >= m->count;
}

static struct moment moment_now(const struct observe_memory *m)
{
    if (!m->ordered)
        return (struct moment){0};
    return (struct moment){m->stream, stream_make(m->stream)->enqueued};
}

/* ---- copies and sets ---- */

/* Which call enqueued those that touch memory of pools. */
static struct {
    struct enqueued {
        struct observe_id id;
        struct finding_site site;
    } *items;
    size_t count, cap;
} enqueued;

static const struct life *alive_at(uint64_t address, const struct life **other);

/* Whether there was memory of a pool at the address that is none for what runs now. Of several
 * rows, the first one tells: calls refuse what leaves an allocation. */
static bool is_dead(const void *address, bool *early)
{
    const struct life *other;
    bool dead = alive_at((uint64_t)(uintptr_t)address, &other) == NULL && other != NULL;
    *early = dead && !passed(&other->made);
    return dead;
}

static bool was_of_pool(const void *address)
{
    const struct life *other;
    return alive_at((uint64_t)(uintptr_t)address, &other) != NULL || other != NULL;
}

/* The lock is held for writing. */
static void keep_site(const struct observe_work *w)
{
    if ((w->kind == OBSERVE_COPY && (was_of_pool(w->copy.src) || was_of_pool(w->copy.dst))) ||
        (w->kind == OBSERVE_SET && was_of_pool(w->set.dst))) {
        struct enqueued e = {.id = w->id};
        finding_site_here(&e.site);
        vec_push(&enqueued, e);
    }
}

static bool take_site(const struct observe_id *id, struct finding_site *out)
{
    for (size_t i = 0; i < enqueued.count; i++)
        if (enqueued.items[i].id.stream == id->stream && enqueued.items[i].id.count == id->count) {
            *out = enqueued.items[i].site;
            enqueued.items[i] = enqueued.items[--enqueued.count];
            return true;
        }
    return false;
}

static void tell(const struct observe_work *w, const struct finding_site *site, const char *how,
                 bool early)
{
    struct strbuf text = {0}, members = {0};
    struct finding_place place;
    const char *call;
    finding_resolve(site, &place, &call, NULL);
    sb_printf(&text, "weir: use %s: a %s, enqueued at ", early ? "before allocation" : "after free",
              w->kind == OBSERVE_COPY ? "copy" : "set");
    finding_put_place(&text, &place);
    finding_put_call(&text, call);
    sb_printf(&text, ", %s stream-ordered memory that %s in the order of streams\n", how,
              early ? "is not allocated yet" : "is freed already");
    sb_printf(&members, "\"what\": \"use %s\"", early ? "before allocation" : "after free");
    finding_put_json_place(&members, "enqueued", &place);
    finding_put_json_call(&members, call);
    findings_tell("memory", text.items, members.items);
    sb_free(&text);
    sb_free(&members);
}

static void on_enqueued(const struct observe_work *w)
{
    pthread_rwlock_wrlock(&lock);
    stream_make(w->id.stream)->enqueued = w->id.count;
    keep_site(w);
    pthread_rwlock_unlock(&lock);
}

static void on_begun(const struct observe_work *w)
{
    struct finding_site site;
    bool early, reads = false, writes = false;
    if (w->kind != OBSERVE_COPY && w->kind != OBSERVE_SET)
        return;
    pthread_rwlock_wrlock(&lock);
    bool known = take_site(&w->id, &site);
    if (known && w->kind == OBSERVE_COPY)
        reads = is_dead(w->copy.src, &early);
    if (known && !reads)
        writes = is_dead(w->kind == OBSERVE_COPY ? w->copy.dst : w->set.dst, &early);
    pthread_rwlock_unlock(&lock);
    if (reads || writes)
        tell(w, &site, reads ? "reads" : "writes", early);
}

static void on_ended(const struct observe_id *id, enum observe_kind kind)
{
    (void)kind;
    if (id->node != 0 || id->stream == OBSERVE_CHILDREN)
        return;
    pthread_rwlock_rdlock(&lock);
    struct stream *s = stream_find(id->stream);
    if (s != NULL)
        atomic_store_explicit(&s->ended, id->count, memory_order_release);
    pthread_rwlock_unlock(&lock);
}

/* ---- lives ---- */

static struct chunk *chunk_find(uint64_t number)
{
    struct chunk *c = chunks[number % BUCKETS];
    while (c != NULL && c->number != number)
        c = c->next;
    return c;
}

static struct chunk *chunk_make(uint64_t number)
{
    struct chunk *c = chunk_find(number);
    if (c != NULL)
        return c;
    c = xcalloc(1, sizeof *c);
    c->number = number;
    c->next = chunks[number % BUCKETS];
    chunks[number % BUCKETS] = c;
    return c;
}

static bool is_over(const struct life *l) { return l->is_freed && passed(&l->freed); }

/* A life of several chunks leaves all of them at once. */
static void leave(struct life *l)
{
    uint64_t first = l->base >> CHUNK_SHIFT, last = (l->end - 1) >> CHUNK_SHIFT;
    for (uint64_t n = first; n <= last; n++) {
        struct chunk *c = chunk_find(n);
        for (size_t i = 0; c != NULL && i < c->lives.count; i++)
            if (c->lives.items[i] == l) {
                c->lives.items[i] = c->lives.items[--c->lives.count];
                break;
            }
    }
    free(l);
}

/* Lives that are over go, and those whose addresses others have now: a reset took their memory. */
static void sweep(struct chunk *c, const struct life *made)
{
    for (size_t i = 0; i < c->lives.count;) {
        struct life *l = c->lives.items[i];
        bool replaced = !l->is_freed && l->base < made->end && made->base < l->end;
        if (is_over(l) || replaced)
            leave(l);
        else
            i++;
    }
}

static void on_memory_made(const struct observe_memory *m)
{
    if (m->kind != OBSERVE_POOL || m->pool == 0 || m->bytes == 0)
        return;
    pthread_rwlock_wrlock(&lock);
    struct life *l = xcalloc(1, sizeof *l);
    *l = (struct life){.base = m->address, .end = m->address + m->bytes, .made = moment_now(m)};
    for (uint64_t n = l->base >> CHUNK_SHIFT; n <= (l->end - 1) >> CHUNK_SHIFT; n++) {
        struct chunk *c = chunk_make(n);
        sweep(c, l);
    }
    for (uint64_t n = l->base >> CHUNK_SHIFT; n <= (l->end - 1) >> CHUNK_SHIFT; n++)
        vec_push(&chunk_find(n)->lives, l);
    pthread_rwlock_unlock(&lock);
}

static void on_memory_freed(const struct observe_memory *m)
{
    if (m->kind != OBSERVE_POOL || m->pool == 0)
        return;
    pthread_rwlock_wrlock(&lock);
    struct chunk *c = chunk_find(m->address >> CHUNK_SHIFT);
    for (size_t i = 0; c != NULL && i < c->lives.count; i++) {
        struct life *l = c->lives.items[i];
        if (l->base == m->address && !l->is_freed) {
            l->is_freed = true;
            l->freed = moment_now(m);
        }
    }
    pthread_rwlock_unlock(&lock);
}

/* ---- questions ---- */

/* The life that holds the address and is alive; else one that is not, in *other. */
static const struct life *alive_at(uint64_t address, const struct life **other)
{
    const struct chunk *c = chunk_find(address >> CHUNK_SHIFT);
    *other = NULL;
    for (size_t i = 0; c != NULL && i < c->lives.count; i++) {
        const struct life *l = c->lives.items[i];
        if (address - l->base >= l->end - l->base)
            continue;
        if (passed(&l->made) && !is_over(l))
            return l;
        *other = l;
    }
    return NULL;
}

bool lives_alive(uint64_t address, uint64_t *base, uint64_t *end)
{
    const struct life *other;
    pthread_rwlock_rdlock(&lock);
    const struct life *l = alive_at(address, &other);
    if (l != NULL) {
        *base = l->base;
        *end = l->end;
    }
    pthread_rwlock_unlock(&lock);
    return l != NULL;
}

bool lives_too_early(uint64_t address)
{
    const struct life *other;
    pthread_rwlock_rdlock(&lock);
    const struct life *l = alive_at(address, &other);
    bool early = l == NULL && other != NULL && !passed(&other->made);
    pthread_rwlock_unlock(&lock);
    return early;
}

static const struct observe_hooks hooks = {
    .enqueued = on_enqueued,
    .begun = on_begun,
    .ended = on_ended,
    .memory_made = on_memory_made,
    .memory_freed = on_memory_freed,
};

bool lives_open(struct diag *d)
{
    return observe_add(&hooks) ||
           diag_set(d, 0, 0, "the check of stream-ordered memory cannot begin");
}
