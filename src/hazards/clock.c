/* clock: vectors of what something comes after, and the places where they are handed over. */
#include <stdlib.h>
#include <string.h>

#include "hazards/internal.h"

struct vector *vector_ref(struct vector *v)
{
    if (v != NULL)
        atomic_fetch_add_explicit(&v->refs, 1, memory_order_relaxed);
    return v;
}

void vector_unref(struct vector *v)
{
    if (v != NULL && atomic_fetch_sub_explicit(&v->refs, 1, memory_order_acq_rel) == 1)
        free(v);
}

static struct vector *vector_new(uint32_t capacity)
{
    struct vector *v = xmalloc(sizeof *v + capacity * sizeof *v->entries);
    atomic_init(&v->refs, 1);
    v->count = 0;
    return v;
}

struct vector *vector_of(const struct vector_entry *entries, uint32_t count)
{
    struct vector *v = vector_new(count);
    memcpy(v->entries, entries, count * sizeof *entries);
    v->count = count;
    return v;
}

static int compare(const struct vector_entry *a, const struct vector_entry *b)
{
    if (a->block != b->block)
        return a->block < b->block ? -1 : 1;
    if (a->warp != b->warp)
        return a->warp < b->warp ? -1 : 1;
    return (a->lanes > b->lanes) - (a->lanes < b->lanes);
}

/* Adds an entry that is not less than the last one. */
static void append(struct vector *v, const struct vector_entry *e)
{
    struct vector_entry *last = v->count > 0 ? &v->entries[v->count - 1] : NULL;
    if (last != NULL && compare(last, e) == 0) {
        last->clock = last->clock > e->clock ? last->clock : e->clock;
        return;
    }
    v->entries[v->count++] = *e;
}

struct vector *vector_join(struct vector *v, const struct vector *other)
{
    if (other == NULL || v == other)
        return v;
    uint32_t mine = v != NULL ? v->count : 0, i = 0, k = 0;
    struct vector *both = vector_new(mine + other->count);
    while (i < mine || k < other->count) {
        bool first =
            k == other->count || (i < mine && compare(&v->entries[i], &other->entries[k]) <= 0);
        append(both, first ? &v->entries[i++] : &other->entries[k++]);
    }
    vector_unref(v);
    return both;
}

static uint32_t first_of(const struct vector *v, uint32_t block)
{
    uint32_t low = 0, high = v->count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (v->entries[middle].block < block)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool vector_has_lanes(const struct vector *v, uint32_t block, uint32_t warp, uint32_t mask,
                      uint32_t clock)
{
    if (v == NULL)
        return false;
    for (uint32_t i = first_of(v, block); i < v->count && v->entries[i].block == block; i++) {
        const struct vector_entry *e = &v->entries[i];
        if (e->clock > clock && (e->warp == warp || (e->warp == ALL_WARPS && warp < ASYNC_WARPS)))
            mask &= ~e->lanes;
        if (mask == 0)
            return true;
    }
    return mask == 0;
}

bool vector_has(const struct vector *v, uint32_t block, uint32_t warp, uint32_t lane,
                uint32_t clock)
{
    return vector_has_lanes(v, block, warp, (uint32_t)1 << lane, clock);
}

/* ---- places ---- */

static uint32_t bucket_of(const struct sync_table *t, uint64_t key)
{
    return (uint32_t)(key * 0x9e3779b97f4a7c15u >> 40) & (t->capacity - 1);
}

static void table_grow(struct sync_table *t)
{
    struct sync **old = t->buckets;
    uint32_t capacity = t->capacity;
    t->capacity = capacity > 0 ? 4 * capacity : 16;
    t->buckets = xcalloc(t->capacity, sizeof(struct sync *));
    for (uint32_t i = 0; i < capacity; i++)
        for (struct sync *s = old[i], *next; s != NULL; s = next) {
            next = s->next;
            uint32_t at = bucket_of(t, s->key);
            s->next = t->buckets[at];
            t->buckets[at] = s;
        }
    free(old);
}

struct sync *sync_find(struct sync_table *t, uint64_t key, bool make)
{
    struct sync *s = t->capacity > 0 ? t->buckets[bucket_of(t, key)] : NULL;
    while (s != NULL && s->key != key)
        s = s->next;
    if (s != NULL || !make)
        return s;
    uint32_t count = atomic_load_explicit(&t->count, memory_order_relaxed);
    if (count >= t->capacity)
        table_grow(t);
    s = xcalloc(1, sizeof *s);
    s->key = key;
    s->next = t->buckets[bucket_of(t, key)];
    t->buckets[bucket_of(t, key)] = s;
    atomic_store_explicit(&t->count, count + 1, memory_order_release);
    return s;
}

void sync_table_free(struct sync_table *t)
{
    for (uint32_t i = 0; i < t->capacity; i++)
        for (struct sync *s = t->buckets[i], *next; s != NULL; s = next) {
            next = s->next;
            for (uint32_t n = 0; n < s->released_count; n++)
                vector_unref(s->released[n].what);
            vector_unref(s->now);
            vector_unref(s->passed);
            free(s->released);
            free(s);
        }
    free(t->buckets);
    t->buckets = NULL;
    t->capacity = 0;
    atomic_store_explicit(&t->count, 0, memory_order_relaxed);
}

static struct released *released_at(struct sync *s, uint32_t level, uint32_t of)
{
    for (uint32_t i = 0; i < s->released_count; i++)
        if (s->released[i].level == level && s->released[i].of == of)
            return &s->released[i];
    s->released = xrealloc(s->released, (s->released_count + 1) * sizeof *s->released);
    s->released[s->released_count] = (struct released){.level = level, .of = of};
    return &s->released[s->released_count++];
}

void sync_release(struct sync *s, uint32_t level, const struct hazard_block *b,
                  struct vector *const what[LEVELS])
{
    const uint32_t of[LEVELS] = {b->number, b->cluster, 0};
    for (uint32_t n = 0; n <= level && n < LEVELS; n++) {
        if (what[n] == NULL)
            continue;
        struct released *r = released_at(s, n, of[n]);
        r->what = vector_join(r->what, what[n]);
    }
}
