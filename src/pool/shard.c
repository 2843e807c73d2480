/* shard: the short way: an allocation that finds memory of its own stream, and every free. */
#include "pool/internal.h"

/* What is inlined in the straight way and in the rare one. */
#define ALWAYS_INLINE static inline __attribute__((always_inline))

struct pool_order pool_order;
struct pool_source pool_source;
_Atomic bool pool_freed;

void pool_set_order(const struct pool_order *order) { pool_order = *order; }
void pool_set_source(const struct pool_source *source) { pool_source = *source; }

void shard_await(struct pool_shard *s)
{
    int tries = 0;
    do {
        while (atomic_load_explicit(&s->lock, memory_order_relaxed) != 0)
            if (++tries > 100)
                sched_yield(); /* who holds it may need this CPU */
    } while (atomic_exchange_explicit(&s->lock, 1, memory_order_acquire) != 0);
}

/* ---- statistics that are exact ---- */

/* Counts bytes as used that are more than the shard may claim: the high-water mark rises, or other
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

static __attribute__((noinline)) void *count_used_alone(struct pool *p, struct pool_shard *s,
                                                        uint64_t bytes, void *at)
{
    pool_lock_all(p);
    count_used(p, s, bytes);
    pool_unlock_all(p);
    return at;
}

/* ---- allocating ---- */

/* What is asked for. */
struct request {
    uint64_t bytes, granules; /* granules: rounded up to a class's size */
    uint32_t slot;            /* where blocks of that size are */
    struct pool_by by;
};

/* The block is the program's now. Its number is unique: it is the shard's and which one of its. */
static inline void hand_out(struct pool_shard *s, struct block *b, uint64_t bytes,
                            struct pool_by by)
{
    uint64_t serial = s->id << MEM_SERIAL_BITS | ++s->made;
    set(&b->asked, bytes);
    b->made = (struct mem_site){by.at, (uint32_t)by.call, s->stream_id};
    atomic_store_explicit(&b->word, serial << 8 | BLOCK_USED, memory_order_release);
}

static inline void *address_of(const struct pool_shard *s, const struct block *b)
{
    return (void *)(s->base + (get(&b->first) << GRANULE_SHIFT));
}

/* A block out of the shard's bins. */
static struct block *take_bins(struct pool_shard *s, uint64_t granules)
{
    struct block *b = bins_fit(s, granules);
    if (b == NULL && s->quick_blocks > 0)
        b = quick_join(s, granules);
    if (b == NULL)
        return NULL;
    bins_remove(s, b);
    return bins_cut(s, b, granules);
}

static enum pool_rule own_rule(const struct block *b)
{
    return b->timestamp == 0 ? (enum pool_rule)POOL_FRESH : POOL_RULE_SAME_STREAM;
}

/* Counts bytes of the shard, which is locked and is not any more afterwards. */
static inline void *count(struct pool *p, struct pool_shard *s, uint64_t bytes, void *at)
{
    int64_t used = s->used + (int64_t)bytes;
    if (WEIR_UNLIKELY(used > s->claim)) {
        shard_unlock(s);
        return count_used_alone(p, s, bytes, at);
    }
    s->used = used;
    shard_unlock(s);
    return at;
}

/* Hands out a block that was in no slot, by which it got one. */
static void *hand_out_new(struct pool *p, struct pool_shard *s, struct block *b,
                          const struct request *r)
{
    b->slot = r->slot;
    b->pool = p;
    hand_out(s, b, r->bytes, r->by);
    return address_of(s, b);
}

/* From anywhere. Nothing was locked for a moment: the pool may be gone, and the shard another's. */
static void *alloc_slowly(struct pool *p, struct pool_shard *s, const struct request *r)
{
    void *at = NULL;
    pool_lock_all(p);
    if (WEIR_UNLIKELY(atomic_load_explicit(&s->pool, memory_order_relaxed) != p)) {
        pool_unlock_all(p);
        return NULL;
    }
    /* Another thread may have freed some. */
    struct block *b = quick_take(s, r->slot, r->granules);
    if (b == NULL)
        b = take_bins(s, r->granules);
    bool own = b != NULL;
    if (!own)
        b = reuse_or_grow(p, s, r->granules);
    if (b != NULL) {
        enum pool_rule rule = own ? own_rule(b) : p->took;
        s->fresh += own && b->timestamp == 0;
        s->others += !own;
        at = hand_out_new(p, s, b, r);
        count_used(p, s, r->bytes);
        if (watched())
            watch_block(POOL_ALLOCATED, p, s, b, rule);
    }
    pool_unlock_all(p);
    return at;
}

/* When the slot is empty. The shard is locked, and is not any more afterwards. */
static __attribute__((noinline)) void *alloc_bins(struct pool *p, struct pool_shard *s,
                                                  const struct request *r)
{
    bool possible = r->granules <= p->map->granules;
    struct block *b = possible ? take_bins(s, r->granules) : NULL;
    if (b == NULL) {
        shard_unlock(s);
        return possible ? alloc_slowly(p, s, r) : NULL;
    }
    s->fresh += b->timestamp == 0;
    void *at = hand_out_new(p, s, b, r);
    if (watched())
        watch_block(POOL_ALLOCATED, p, s, b, own_rule(b));
    return count(p, s, r->bytes, at);
}

/* Blocks of that many bytes: rounded up, and their slot. */
static inline uint64_t size_up(uint64_t bytes, uint32_t *slot)
{
    uint64_t granules = (bytes - 1) / POOL_GRANULE + 1;
    if (WEIR_UNLIKELY(granules > SMALL_MAX)) {
        *slot = slot_of(granules);
        return granules;
    }
    unsigned shift = class_shift(granules);
    uint64_t steps = (granules + ((uint64_t)1 << shift) - 1) >> shift;
    *slot = shift * BIN_STEPS + (uint32_t)steps; /* also where that is the next doubling's first */
    return steps << shift;
}

static __attribute__((noinline)) void *alloc_watched(struct pool *p, struct pool_shard *s,
                                                     struct block *b, void *at)
{
    watch_block(POOL_ALLOCATED, p, s, b, own_rule(b));
    return count(p, s, get(&b->asked), at);
}

/* The shard is locked, and is not any more afterwards. */
ALWAYS_INLINE void *alloc_locked(struct pool *p, struct pool_shard *s, uint64_t bytes,
                                 uint64_t granules, uint32_t slot, struct pool_by by)
{
    struct block *b = quick_take(s, slot, granules);
    if (WEIR_UNLIKELY(b == NULL))
        return alloc_bins(p, s, &(struct request){bytes, granules, slot, by});
    s->fresh += b->timestamp == 0;
    hand_out(s, b, bytes, by);
    void *at = address_of(s, b);
    if (watched())
        return alloc_watched(p, s, b, at);
    return count(p, s, bytes, at);
}

static __attribute__((noinline)) void *alloc_waiting(struct pool *p, void *stream, uint64_t bytes,
                                                     struct pool_by by)
{
    uint32_t slot;
    uint64_t granules = size_up(bytes, &slot);
    struct pool_shard *s = shard_locked(p, stream);
    if (WEIR_UNLIKELY(s == NULL)) /* the pool is gone: another thread has destroyed it */
        return NULL;
    return alloc_locked(p, s, bytes, granules, slot, by);
}

/* This and pool_free go straight on and leave whatever is rare to others, which they end in: then
 * they need not keep anything for afterwards, which is a good part of what they cost. */
void *pool_alloc(struct pool *p, void *stream, uint64_t bytes, struct pool_by by)
{
    uint32_t slot;
    uint64_t granules = size_up(bytes, &slot);
    struct pool_shard *s = shard_if_free(p, stream);
    if (WEIR_UNLIKELY(s == NULL))
        return alloc_waiting(p, stream, bytes, by);
    return alloc_locked(p, s, bytes, granules, slot, by);
}

void *pool_alloc_spaced(struct pool *p, void *stream, uint64_t bytes, uint64_t space,
                        struct pool_by by)
{
    uint32_t slot;
    uint64_t granules = size_up(bytes + space, &slot);
    struct pool_shard *s = shard_locked(p, stream);
    if (WEIR_UNLIKELY(s == NULL)) /* the pool is gone: another thread has destroyed it */
        return NULL;
    return alloc_locked(p, s, bytes, granules, slot, by);
}

/* ---- freeing ---- */

/* The used block of the map that starts at the address, and its word. */
static inline struct block *used_in(const struct map *m, uint64_t address, uint64_t *word)
{
    uint64_t at = address - m->base, granule = at >> GRANULE_SHIFT;
    if (WEIR_UNLIKELY(granule >= m->granules || at % POOL_GRANULE != 0))
        return NULL;
    struct block *b = &m->blocks[atomic_load_explicit(&m->edges[granule], memory_order_relaxed)];
    *word = atomic_load_explicit(&b->word, memory_order_acquire);
    return WEIR_LIKELY((*word & 0xff) == BLOCK_USED && get(&b->first) == granule) ? b : NULL;
}

/* The same in any map. */
static struct block *used_at(uint64_t address, uint64_t *word)
{
    const struct map *m = map_at(address);
    return m != NULL ? used_in(m, address, word) : NULL;
}

/* Takes the block from the program, unless someone was faster. The shard is locked. */
static inline bool take_back(struct pool_shard *s, struct block *b, uint64_t word,
                             enum block_state state)
{
    if (!atomic_compare_exchange_strong(&b->word, &word, s->id << 8 | state))
        return false;
    s->used -= (int64_t)get(&b->asked);
    s->freed++;
    return true;
}

/* The pool's end may have waited for this free. */
static __attribute__((noinline)) enum pool_status free_last(void)
{
    pool_synchronized();
    return POOL_OK;
}

/* What a free means for the next synchronization. The shard is locked: later the pool may be gone.
 */
static inline bool record_free(struct pool *p)
{
    if (!atomic_load_explicit(&pool_freed, memory_order_relaxed))
        atomic_store_explicit(&pool_freed, true, memory_order_relaxed);
    return atomic_load_explicit(&p->destroyed, memory_order_relaxed);
}

/* The shard is locked, and is not any more afterwards. */
static inline enum pool_status free_end(struct pool *p, struct pool_shard *s)
{
    bool ending = record_free(p);
    shard_unlock(s);
    if (WEIR_UNLIKELY(ending))
        return free_last();
    return POOL_OK;
}

/* Puts a block into its slot when someone watches, or blocks of another size are there. */
static __attribute__((noinline)) enum pool_status free_rarely(struct pool *p, struct pool_shard *s,
                                                              struct block *b)
{
    if (watched())
        watch_block(POOL_FREED, p, s, b, POOL_RULE_SAME_STREAM);
    quick_add(s, b);
    return free_end(p, s);
}

ALWAYS_INLINE enum pool_status free_locked(struct pool *p, struct pool_shard *s, struct block *b,
                                           uint64_t word, struct pool_point now, struct pool_by by)
{
    if (WEIR_UNLIKELY(!take_back(s, b, word, BLOCK_QUICK))) {
        shard_unlock(s);
        return POOL_INVALID;
    }
    b->timestamp = now.timestamp;
    b->count = now.count;
    b->serial = word >> 8;
    b->freed = by;
    if (watched() || WEIR_UNLIKELY(s->quick[b->slot].granules != get(&b->granules)))
        return free_rarely(p, s, b);
    quick_put(s, b);
    return free_end(p, s);
}

static __attribute__((noinline)) enum pool_status free_any(void *address, void *stream,
                                                           struct pool_point now, struct pool_by by)
{
    uint64_t word;
    struct block *b = used_at((uint64_t)address, &word);
    if (b == NULL)
        return POOL_INVALID;
    struct pool *p = b->pool;
    struct pool_shard *s = shard_locked(p, stream);
    if (s == NULL) /* who frees it, too, was faster, and it was the pool's last */
        return POOL_INVALID;
    return free_locked(p, s, b, word, now, by);
}

enum pool_status pool_free(void *address, void *stream, struct pool_point now, struct pool_by by)
{
    uint64_t word;
    struct block *b = used_in(&maps[0], (uint64_t)address, &word);
    if (WEIR_UNLIKELY(b == NULL))
        return free_any(address, stream, now, by);
    struct pool *p = b->pool;
    struct pool_shard *s = shard_if_free(p, stream);
    if (WEIR_UNLIKELY(s == NULL))
        return free_any(address, stream, now, by);
    return free_locked(p, s, b, word, now, by);
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
        b->timestamp = 0;
        b->count = 1;
        b->serial = word >> 8;
        b->freed = by;
        if (watched())
            watch_block(POOL_FREED, p, s, b, POOL_RULE_SYNCHRONIZED);
        remember_freed(s, b);
        bins_add(s, b);
    }
    if (mine)
        return free_end(p, s);
    shard_unlock(s);
    return POOL_INVALID;
}
