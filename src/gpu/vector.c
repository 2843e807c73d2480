/* vector: vectors of ticks: what something comes after, one entry for each stream. */
#include <stdlib.h>

#include "gpu/internal.h"

struct time_word time_word = {.now = 1};

struct clock *clock_new(void)
{
    struct clock *c = xcalloc(1, sizeof *c);
    atomic_init(&c->refs, 1);
    return c;
}

void clock_unref(struct clock *c)
{
    if (atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) == 1)
        free(c);
}

static struct entry *find(const struct vector *v, const struct clock *c)
{
    for (uint32_t i = 0; v != NULL && i < v->count; i++)
        if (v->entries[i].clock == c)
            return (struct entry *)&v->entries[i];
    return NULL;
}

uint64_t vector_get(const struct vector *v, const struct clock *c)
{
    const struct entry *e = find(v, c);
    return e != NULL ? e->tick : 0;
}

/* Makes space for another entry, from those that are of no use any more if there are many: nobody
 * asks about the clock, or the host knows more than the entry says. */
static struct vector *grow(struct vector *v)
{
    uint32_t kept = 0, capacity = v != NULL ? v->capacity : 2;
    for (uint32_t i = 0; v != NULL && i < v->count; i++) {
        struct entry e = v->entries[i];
        bool first = i == 0 && v->owner == e.clock;
        if (!first && (atomic_load(&e.clock->gone) || atomic_load(&e.clock->proven) >= e.tick))
            clock_unref(e.clock);
        else
            v->entries[kept++] = e;
    }
    if (v != NULL) {
        v->count = kept;
        if (2 * kept <= v->capacity)
            return v;
        capacity = 2 * v->capacity;
    }
    struct vector *more = xrealloc(v, sizeof *v + capacity * sizeof *v->entries);
    if (v == NULL) {
        *more = (struct vector){0};
        atomic_init(&more->refs, 1);
    }
    more->capacity = capacity;
    return more;
}

struct vector *vector_raise(struct vector *v, struct clock *c, uint64_t at)
{
    struct entry *e = find(v, c);
    if (e != NULL) {
        e->tick = later(e->tick, at);
        return v;
    }
    if (at == 0)
        return v;
    if (v == NULL || v->count == v->capacity)
        v = grow(v);
    atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
    v->entries[v->count++] = (struct entry){c, at};
    return v;
}

struct vector *vector_join(struct vector *v, const struct vector *with)
{
    for (uint32_t i = 0; with != NULL && i < with->count; i++)
        v = vector_raise(v, with->entries[i].clock, with->entries[i].tick);
    return v;
}

void vector_clear(struct vector *v)
{
    for (uint32_t i = 0; i < v->count; i++)
        clock_unref(v->entries[i].clock);
    v->count = 0;
    v->owner = NULL;
}

struct vector *vector_ref(struct vector *v)
{
    if (v != NULL)
        atomic_fetch_add_explicit(&v->refs, 1, memory_order_relaxed);
    return v;
}

void vector_unref(struct vector *v)
{
    if (v == NULL || atomic_fetch_sub_explicit(&v->refs, 1, memory_order_acq_rel) != 1)
        return;
    vector_clear(v);
    free(v);
}

void vector_pass(const struct vector *v)
{
    for (uint32_t i = 0; v != NULL && i < v->count; i++)
        raise_to(&v->entries[i].clock->passed, v->entries[i].tick);
}

void vector_prove(const struct vector *v)
{
    for (uint32_t i = 0; v != NULL && i < v->count; i++)
        raise_to(&v->entries[i].clock->proven, v->entries[i].tick);
    vector_pass(v);
}
