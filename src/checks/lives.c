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
#include <string.h>

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
    struct finding_site made_at, freed_at;
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

/* What a copy or a set does that it must not. */
struct misuse {
    const char *how; /* "reads" */
    uint64_t address;
    struct life life; /* as it was then */
    bool early;
};

/* Whether there was memory of a pool at the address that is none for what runs now. Of several
 * rows, the first one tells: calls refuse what leaves an allocation. */
static bool is_dead(const void *address, const char *how, struct misuse *out)
{
    const struct life *other;
    if (alive_at((uint64_t)(uintptr_t)address, &other) != NULL || other == NULL)
        return false;
    *out = (struct misuse){how, (uint64_t)(uintptr_t)address, *other, !passed(&other->made)};
    return true;
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

/* Places that were told of: a loop is one finding. The lock is held for writing. */
static bool is_new(const struct finding_site *site, bool early)
{
    static struct {
        struct told {
            const void *frames[FINDING_FRAMES];
            bool early;
        } *items;
        size_t count, cap;
    } told;
    for (size_t i = 0; i < told.count; i++)
        if (told.items[i].early == early &&
            memcmp(told.items[i].frames, site->frames, sizeof site->frames) == 0)
            return false;
    struct told t = {.early = early};
    memcpy(t.frames, site->frames, sizeof t.frames);
    vec_push(&told, t);
    return true;
}

/* ", allocated at app.cu:137 (cudaMallocAsync)". */
static void put_site(struct strbuf *text, struct strbuf *members, const char *what,
                     const struct finding_site *site)
{
    struct finding_place place;
    const char *call;
    finding_resolve(site, &place, &call, NULL);
    sb_printf(text, ", %s at ", what);
    finding_put_place(text, &place);
    finding_put_call(text, call);
    finding_put_json_place(members, what, &place);
}

static void tell(const struct observe_work *w, const struct finding_site *site,
                 const struct misuse *m)
{
    struct strbuf text = {0}, members = {0};
    struct finding_place place;
    const char *call;
    bool early = m->early;
    finding_resolve(site, &place, &call, NULL);
    sb_printf(&text, "weir: use %s: a %s, enqueued at ", early ? "before allocation" : "after free",
              w->kind == OBSERVE_COPY ? "copy" : "set");
    finding_put_place(&text, &place);
    finding_put_call(&text, call);
    sb_printf(&text,
              ", %s stream-ordered memory that %s in the order of streams: 0x%llx is byte %llu of "
              "%llu bytes",
              m->how, early ? "is not allocated yet" : "is freed already",
              (unsigned long long)m->address, (unsigned long long)(m->address - m->life.base),
              (unsigned long long)(m->life.end - m->life.base));
    sb_printf(&members, "\"what\": \"use %s\"", early ? "before allocation" : "after free");
    finding_put_json_place(&members, "enqueued", &place);
    finding_put_json_call(&members, call);
    put_site(&text, &members, "allocated", &m->life.made_at);
    if (m->life.is_freed)
        put_site(&text, &members, "freed", &m->life.freed_at);
    sb_printf(&text, "\n");
    sb_printf(&members, ", \"address\": %llu", (unsigned long long)m->address);
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
    struct misuse m;
    bool found = false;
    if (w->kind != OBSERVE_COPY && w->kind != OBSERVE_SET)
        return;
    pthread_rwlock_wrlock(&lock);
    bool known = take_site(&w->id, &site);
    if (known && w->kind == OBSERVE_COPY)
        found = is_dead(w->copy.src, "reads", &m);
    if (known && !found)
        found = is_dead(w->kind == OBSERVE_COPY ? w->copy.dst : w->set.dst, "writes", &m);
    found = found && is_new(&site, m.early);
    pthread_rwlock_unlock(&lock);
    if (found)
        tell(w, &site, &m);
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

/* Lives that are over go, and those whose addresses others have now: a reset took their memory, or,
 * `plain`, the pool gave it back and it is none of a pool's. */
static void sweep(struct chunk *c, const struct observe_memory *made, bool plain)
{
    for (size_t i = 0; i < c->lives.count;) {
        struct life *l = c->lives.items[i];
        bool replaced = (plain || !l->is_freed) && l->base < made->address + made->bytes &&
                        made->address < l->end;
        if ((!plain && is_over(l)) || replaced)
            leave(l);
        else
            i++;
    }
}

static void on_plain_memory_made(const struct observe_memory *m)
{
    pthread_rwlock_wrlock(&lock);
    for (uint64_t n = m->address >> CHUNK_SHIFT; n <= (m->address + m->bytes - 1) >> CHUNK_SHIFT;
         n++) {
        struct chunk *c = chunk_find(n);
        if (c != NULL)
            sweep(c, m, true);
    }
    pthread_rwlock_unlock(&lock);
}

static void on_memory_made(const struct observe_memory *m)
{
    if (m->bytes == 0)
        return;
    if (m->kind != OBSERVE_POOL || m->pool == 0) {
        on_plain_memory_made(m);
        return;
    }
    pthread_rwlock_wrlock(&lock);
    struct life *l = xcalloc(1, sizeof *l);
    *l = (struct life){.base = m->address, .end = m->address + m->bytes, .made = moment_now(m)};
    finding_site_here(&l->made_at);
    for (uint64_t n = l->base >> CHUNK_SHIFT; n <= (l->end - 1) >> CHUNK_SHIFT; n++)
        sweep(chunk_make(n), m, false);
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
            finding_site_here(&l->freed_at);
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
