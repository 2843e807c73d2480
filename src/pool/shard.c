/* The short way: an allocation that finds memory of its own stream, and every free. */
#include "pool/internal.h"

struct pool_order pool_order;
_Atomic bool pool_freed;

void pool_set_order(const struct pool_order *order) { pool_order = *order; }

/* ---- figures that are exact ------------------------------------------------------------------ */

/* Counts bytes as used that are more than the shard may claim: the high mark rises, or other
 * shards give of what they may claim and do not use. All shards are locked. */
static void count_used(struct pool *p, struct pool_shard *s, uint64_t bytes)
{
    s->used += (int64_t)bytes;
    int64_t used = pool_used(p);
    if (used > p->used_high)
        p->used_high = used;
    int64_t idle = p->used_high - used, mine = idle / 2, rest = idle - mine;
    for (size_t i = 0; i < p->shard_count; i++) {
        struct pool_shard *other = p->shards[i];
        int64_t spare = other->claim - other->used;
        spare = spare < 0 ? 0 : spare > rest ? rest : spare;
        if (other != s) {
            other->claim = other->used + spare;
            rest -= spare;
        }
    }
    s->claim = s->used + mine;
}

static void count_used_alone(struct pool *p, struct pool_shard *s, uint64_t bytes)
{
    pool_lock_all(p);
    count_used(p, s, bytes);
    pool_unlock_all(p);
}

/* ---- allocating ------------------------------------------------------------------------------ */

/* The block is the program's now. Its number is unique: it is the shard's and which one of its. */
static void hand_out(struct pool_shard *s, struct block *b, uint64_t bytes, struct pool *p,
                     struct pool_by by)
{
    set(&b->asked, bytes);
    b->pool = p;
    s->live++;
    uint64_t serial = s->id << 36 | ++s->serial;
    b->made = (struct mem_site){by.at, (uint32_t)by.call, s->stream_id};
    atomic_store_explicit(&b->word, serial << 8 | BLOCK_USED, memory_order_release);
}

static void *address_of(const struct pool_shard *s, const struct block *b)
{
    return (void *)(s->map->base + (get(&b->first) << GRANULE_SHIFT));
}

/* A block of the shard's own. */
static struct block *take_own(struct pool_shard *s, uint64_t granules)
{
    struct block *b = quick_take(s, granules);
    if (WEIR_UNLIKELY(b == NULL)) {
        b = bins_fit(s, granules);
        if (b == NULL && s->quick_blocks > 0)
            b = quick_join(s, granules);
        if (b == NULL)
            return NULL;
        bins_remove(s, b);
        b = bins_cut(s, b, granules);
        if (b == NULL)
            return NULL;
    }
    if (b->label == 0)
        s->fresh++;
    else
        s->reused++;
    return b;
}

static enum pool_rule own_rule(const struct block *b)
{
    return b->label == 0 ? (enum pool_rule)POOL_FRESH : POOL_RULE_SAME_STREAM;
}

static enum pool_status alloc_slowly(struct pool *p, struct pool_shard *s, uint64_t granules,
                                     uint64_t bytes, struct pool_by by, void **out)
{
    pool_lock_all(p);
    struct block *b = take_own(s, granules); /* another thread may have freed some */
    bool own = b != NULL;
    if (!own)
        b = reuse_or_grow(p, s, granules);
    if (b != NULL) {
        enum pool_rule rule = own ? own_rule(b) : p->took;
        hand_out(s, b, bytes, p, by);
        count_used(p, s, bytes);
        if (watched())
            watch_block(POOL_ALLOCATED, p, s, b, rule);
        *out = address_of(s, b);
    }
    pool_unlock_all(p);
    return b != NULL ? POOL_OK : POOL_OUT_OF_MEMORY;
}

enum pool_status pool_alloc(struct pool_shard *s, uint64_t bytes, struct pool_by by, void **out)
{
    struct pool *p = atomic_load_explicit(&s->pool, memory_order_relaxed);
    uint64_t granules = (bytes - 1) / POOL_GRANULE + 1;
    if (granules > s->map->granules)
        return POOL_OUT_OF_MEMORY;
    if (WEIR_LIKELY(granules <= SMALL_MAX))
        granules = class_up(granules);
    shard_lock(s);
    struct block *b = take_own(s, granules);
    if (WEIR_UNLIKELY(b == NULL)) {
        shard_unlock(s);
        return alloc_slowly(p, s, granules, bytes, by, out);
    }
    hand_out(s, b, bytes, p, by);
    *out = address_of(s, b);
    if (watched())
        watch_block(POOL_ALLOCATED, p, s, b, own_rule(b));
    bool within = s->used + (int64_t)bytes <= s->claim;
    if (within)
        s->used += (int64_t)bytes;
    shard_unlock(s);
    if (WEIR_UNLIKELY(!within))
        count_used_alone(p, s, bytes);
    return POOL_OK;
}

/* ---- freeing --------------------------------------------------------------------------------- */

/* The used block that starts at the address, and its word. */
static struct block *used_at(uint64_t address, uint64_t *word)
{
    struct map *m = map_at(address);
    uint64_t granule = m != NULL ? (address - m->base) >> GRANULE_SHIFT : 0;
    if (m == NULL || address % POOL_GRANULE != m->base % POOL_GRANULE)
        return NULL;
    struct block *b = map_edge(m, granule);
    if (b == NULL)
        return NULL;
    *word = atomic_load_explicit(&b->word, memory_order_acquire);
    return (*word & 0xff) == BLOCK_USED && get(&b->first) == granule ? b : NULL;
}

/* Takes the block from the program, unless someone was faster. The shard is locked. */
static bool take_back(struct pool_shard *s, struct block *b, uint64_t word, enum block_state state)
{
    if (!atomic_compare_exchange_strong(&b->word, &word, s->id << 8 | state))
        return false;
    s->used -= (int64_t)get(&b->asked);
    s->live--;
    return true;
}

/* What a free means for the next synchronization. The shard is locked: later the pool may be gone.
 */
static bool note_free(struct pool *p)
{
    if (!atomic_load_explicit(&pool_freed, memory_order_relaxed))
        atomic_store_explicit(&pool_freed, true, memory_order_relaxed);
    return atomic_load_explicit(&p->destroyed, memory_order_relaxed);
}

enum pool_status pool_free(void *address, void *stream, struct pool_by by)
{
    uint64_t word;
    struct block *b = used_at((uint64_t)address, &word);
    if (b == NULL)
        return POOL_INVALID;
    struct pool *p = b->pool;
    struct pool_shard *s = shard_of(p, stream);
    struct pool_point point = pool_order.mark(stream);
    shard_lock(s);
    bool mine = take_back(s, b, word, BLOCK_QUICK);
    if (mine) {
        b->label = point.label;
        b->count = point.count;
        b->serial = word >> 8;
        b->freed = by;
        if (watched())
            watch_block(POOL_FREED, p, s, b, POOL_RULE_SAME_STREAM);
        quick_add(s, b);
    }
    bool ending = mine && note_free(p);
    shard_unlock(s);
    if (WEIR_UNLIKELY(ending))
        pool_synchronized(); /* it may have been the last */
    return mine ? POOL_OK : POOL_INVALID;
}

enum pool_status pool_free_now(void *address, struct pool_by by)
{
    uint64_t word;
    struct block *b = used_at((uint64_t)address, &word);
    if (b == NULL)
        return POOL_INVALID;
    struct pool *p = b->pool;
    struct pool_shard *s = p->common;
    shard_lock(s);
    bool mine = take_back(s, b, word, BLOCK_QUICK);
    if (mine) {
        b->label = 0;
        b->count = 1;
        b->serial = word >> 8;
        b->freed = by;
        if (watched())
            watch_block(POOL_FREED, p, s, b, POOL_RULE_SYNCHRONIZED);
        bury(s, b);
        bins_add(s, b);
    }
    bool ending = mine && note_free(p);
    shard_unlock(s);
    if (WEIR_UNLIKELY(ending))
        pool_synchronized();
    return mine ? POOL_OK : POOL_INVALID;
}
