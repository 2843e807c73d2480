/* clock: vectors of what something comes after, and the places where they are handed over. */
#include <stdlib.h>
#include <string.h>

#include "hazards/internal.h"

struct hazard_order *vector_ref(struct hazard_order *v)
{
    if (v != NULL)
        atomic_fetch_add_explicit(&v->refs, 1, memory_order_relaxed);
    return v;
}

void vector_unref(struct hazard_order *v)
{
    if (v != NULL && atomic_fetch_sub_explicit(&v->refs, 1, memory_order_acq_rel) == 1)
        free(v);
}

static struct hazard_order *vector_new(uint32_t entries, uint32_t over)
{
    struct hazard_order *v =
        xmalloc(sizeof *v + entries * sizeof *v->entries + over * sizeof *v->over);
    atomic_init(&v->refs, 1);
    v->count = v->over_count = 0;
    v->over = (struct blocks_over *)(void *)&v->entries[entries];
    return v;
}

struct hazard_order *vector_of(const struct vector_entry *entries, uint32_t count)
{
    struct hazard_order *v = vector_new(count, 0);
    memcpy(v->entries, entries, count * sizeof *entries);
    v->count = count;
    return v;
}

struct hazard_order *vector_of_blocks(uint32_t first, uint32_t end)
{
    struct hazard_order *v = vector_new(0, 1);
    v->over[v->over_count++] = (struct blocks_over){first, end};
    return v;
}

bool vector_has_block(const struct hazard_order *v, uint32_t block)
{
    if (v == NULL || v->over_count == 0)
        return false;
    uint32_t low = 0, high = v->over_count;
    while (low < high) { /* the first that ends after it */
        uint32_t middle = (low + high) / 2;
        if (v->over[middle].end <= block)
            low = middle + 1;
        else
            high = middle;
    }
    return low < v->over_count && v->over[low].first <= block;
}

static int compare(const struct vector_entry *a, const struct vector_entry *b)
{
    if (a->block != b->block)
        return a->block < b->block ? -1 : 1;
    if (a->warp != b->warp)
        return a->warp < b->warp ? -1 : 1;
    return (a->lanes > b->lanes) - (a->lanes < b->lanes);
}

/* Adds an entry that is not less than the last one, unless all of its block is over. */
static void append(struct hazard_order *v, const struct vector_entry *e)
{
    struct vector_entry *last = v->count > 0 ? &v->entries[v->count - 1] : NULL;
    if (last != NULL && compare(last, e) == 0)
        last->clock = last->clock > e->clock ? last->clock : e->clock;
    else if (!vector_has_block(v, e->block))
        v->entries[v->count++] = *e;
}

/* Adds blocks that do not begin before the last ones. */
static void append_over(struct hazard_order *v, const struct blocks_over *o)
{
    struct blocks_over *last = v->over_count > 0 ? &v->over[v->over_count - 1] : NULL;
    if (last == NULL || o->first > last->end)
        v->over[v->over_count++] = *o;
    else if (o->end > last->end)
        last->end = o->end;
}

struct hazard_order *vector_join(struct hazard_order *v, const struct hazard_order *other)
{
    if (other == NULL || v == other)
        return v;
    if (v == NULL)
        return vector_ref((struct hazard_order *)other);
    uint32_t i = 0, k = 0;
    struct hazard_order *both =
        vector_new(v->count + other->count, v->over_count + other->over_count);
    while (i < v->over_count || k < other->over_count) {
        bool first = k == other->over_count ||
                     (i < v->over_count && v->over[i].first <= other->over[k].first);
        append_over(both, first ? &v->over[i++] : &other->over[k++]);
    }
    for (i = k = 0; i < v->count || k < other->count;) {
        bool first =
            k == other->count || (i < v->count && compare(&v->entries[i], &other->entries[k]) <= 0);
        append(both, first ? &v->entries[i++] : &other->entries[k++]);
    }
    vector_unref(v);
    return both;
}

static uint32_t first_of(const struct hazard_order *v, uint32_t block)
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

bool vector_has_lanes(const struct hazard_order *v, uint32_t block, uint32_t warp, uint32_t mask,
                      uint32_t clock)
{
    if (v == NULL)
        return false;
    if (vector_has_block(v, block))
        return true;
    for (uint32_t i = first_of(v, block); i < v->count && v->entries[i].block == block; i++) {
        const struct vector_entry *e = &v->entries[i];
        if (e->clock > clock && (e->warp == warp || (e->warp == ALL_WARPS && warp < ASYNC_WARPS)))
            mask &= ~e->lanes;
        if (mask == 0)
            return true;
    }
    return mask == 0;
}

bool vector_has(const struct hazard_order *v, uint32_t block, uint32_t warp, uint32_t lane,
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
                  struct hazard_order *const what[LEVELS])
{
    const uint32_t of[LEVELS] = {b->number, b->cluster, 0};
    for (uint32_t n = 0; n <= level && n < LEVELS; n++) {
        if (what[n] == NULL)
            continue;
        struct released *r = released_at(s, n, of[n]);
        r->what = vector_join(r->what, what[n]);
    }
}
