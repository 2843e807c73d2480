/* internal: what the files of the pool layer share: blocks and the map they are found by, shards,
 * pools.
 *
 * Locks, outermost first: that of the list of pools, a pool's, its shards', a map's. Who has a
 * pool's lock may take any number of its shards'; everyone else takes one and nothing under it but
 * the map's. */
#ifndef WEIR_POOL_INTERNAL_H
#define WEIR_POOL_INTERNAL_H

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "base/slow_path.h"
#include "pool/pool.h"

enum {
    GRANULE_SHIFT = 9, /* of POOL_GRANULE */
    CHUNK_GRANULES = MEM_CHUNK / POOL_GRANULE,
    BIN_STEPS = 32,   /* classes of a doubling; below 64 granules each size has its own */
    SMALL_MAX = 4096, /* granules: up to here sizes are rounded up to a class's */
    SMALL_CLASSES = 8 * BIN_STEPS + 1, /* as many as that makes */
    LARGE_SLOTS = 64,                  /* larger sizes that a shard has at hand */
    QUICK_SLOTS = SMALL_CLASSES + LARGE_SLOTS,
    BIN_DOUBLINGS = 34, /* enough for any range */
    DROPPED_MAX = 16,   /* shards of streams that are gone that are put up with */
    FREED_KEPT = 64,    /* freed allocations that a shard remembers */
};

/* ---- blocks ---- */

/* A run of granules that is allocated or free as a whole. Blocks are in an array that never moves
 * and are used again, never freed: one can be looked at by whoever has its number, and its word
 * then says whether what was looked at holds. */

enum block_state {
    BLOCK_NONE,  /* a spare one */
    BLOCK_FREE,  /* in a shard's bins, as large as it can be */
    BLOCK_QUICK, /* in a shard's quick slots, not yet joined with its neighbours */
    BLOCK_USED,
};

struct block {
    /* State in the low 8 bits; above, the number of the shard that it is free in, or of the
     * allocation. A free block is its shard's: only who holds that lock changes it. */
    _Atomic uint64_t word;
    _Atomic uint64_t first;    /* granule of the range */
    _Atomic uint64_t granules; /* how many */
    _Atomic uint64_t asked;    /* bytes, of the allocation that is or was last */
    uint64_t timestamp, count; /* free: the moment of the shard's stream; timestamp 0: never used
                              since it was free for everyone */
    struct block *next;        /* in its bin or slot, or among the spare ones */
    union {
        struct block *prev; /* in its bin */
        struct pool *pool;  /* of a used one, and of one in a slot */
    };
    /* For people, but for the slot. */
    _Alignas(64) uint32_t slot; /* of its shard, where one of this size goes when it is freed */
    struct mem_site made;       /* by which call */
    struct pool_by freed;       /* free: by which, */
    uint64_t serial;            /* and which allocation it was */
};

static inline uint64_t get(const _Atomic uint64_t *field)
{
    return atomic_load_explicit(field, memory_order_relaxed);
}

static inline void set(_Atomic uint64_t *field, uint64_t value)
{
    atomic_store_explicit(field, value, memory_order_relaxed);
}

/* ---- the map of a device's range (map.c) ---- */

struct map {
    uint64_t base, granules;         /* of the range; granules 0: not made yet */
    _Atomic uint32_t *edges;         /* number of the block that begins or ends in a granule; what
                                        is between may be stale */
    _Atomic uint32_t *covers;        /* number of the used block that reaches into a chunk from
                                        before; may be stale */
    _Atomic(struct pool *) *owners;  /* the pool of each chunk */
    struct block *blocks;            /* by number; 0 is none */
    uint32_t block_max, block_count; /* allocated / were ever used */
    struct block *spare;
    pthread_mutex_t lock; /* of the last two lines */
};

extern WEIR_OWN struct map maps[MEM_MAX_DEVICES + 1]; /* the last is the host's */

static inline struct map *map_of(int device)
{
    return &maps[device >= 0 ? device : MEM_MAX_DEVICES];
}

bool map_open(int device, struct diag *d);
/* A list of that many spare blocks, fewer only when there are no more. */
struct block *map_take_spares(struct map *m, int n);
void map_put_spares(struct map *m, struct block *list);
/* The map of the range that holds the address; NULL: none. */
struct map *map_far(uint64_t address);
static inline struct map *map_at(uint64_t address)
{
    return WEIR_LIKELY(address - maps[0].base < maps[0].granules * POOL_GRANULE) ? &maps[0]
                                                                                 : map_far(address);
}

static inline uint32_t block_number(const struct map *m, const struct block *b)
{
    return (uint32_t)(b - m->blocks);
}

/* The block that begins or ends in the granule, if any does: maybe stale. */
static inline struct block *map_edge(const struct map *m, uint64_t granule)
{
    uint32_t n =
        granule < m->granules ? atomic_load_explicit(&m->edges[granule], memory_order_relaxed) : 0;
    return n != 0 ? &m->blocks[n] : NULL;
}

static inline void map_set_edges(struct map *m, const struct block *b)
{
    uint32_t n = block_number(m, b);
    uint64_t first = get(&b->first);
    atomic_store_explicit(&m->edges[first], n, memory_order_relaxed);
    atomic_store_explicit(&m->edges[first + get(&b->granules) - 1], n, memory_order_relaxed);
}

/* The used block that holds the address; NULL when there is none. */
struct block *map_find_used(struct map *m, uint64_t address);

/* ---- shards ---- */

/* A freed allocation, for fault reports. */
struct freed_block {
    uint64_t first, asked, serial; /* granule, bytes, number */
    struct mem_site made, freed;
};

/* Free blocks by size: a bit for each bin that has some. */
struct bins {
    uint64_t doublings;
    uint32_t steps[BIN_DOUBLINGS];
    struct block *heads[BIN_DOUBLINGS][BIN_STEPS];
};

/* Blocks of one size. Each small class has a slot of its own; larger sizes share those after them.
 */
struct quick_slot {
    struct block *head; /* the latest first */
    uint64_t granules;  /* of each block in it */
};

/* ---- classes of sizes ---- */

/* Below 2 * BIN_STEPS granules each size is a class, above there are BIN_STEPS to a doubling. A
 * class's own size is its smallest. */

static inline unsigned class_shift(uint64_t granules)
{
    return 58 - (unsigned)__builtin_clzll(granules | (2 * BIN_STEPS - 1));
}

/* The class that the size is in. */
static inline unsigned class_of(uint64_t granules)
{
    unsigned shift = class_shift(granules);
    return shift * BIN_STEPS + (unsigned)(granules >> shift);
}

/* The smallest size of a class's own that is as large: at most a 32nd more. */
static inline uint64_t class_up(uint64_t granules)
{
    uint64_t step = ((uint64_t)1 << class_shift(granules)) - 1;
    return (granules + step) & ~step;
}

/* A pool's memory that is free in the order of one stream, or, in its common shard, for everyone.
 *
 * `used` counts the bytes allocated on the stream less those freed on it: only the sum over all
 * shards is the pool's. `claim` bounds it, and the claims of all shards together are never more
 * than the pool's high-water mark: so a call that stays within its shard's claim cannot raise the
 * mark, and need not look at other shards. */
struct pool_shard {
    /* Others look at these while the shard gets another pool. */
    _Atomic uint8_t lock;
    _Atomic(struct pool *) pool; /* NULL: of no pool any more */
    struct pool_shard *next;     /* of the same stream */
    /* All below is made anew then. */
    void *stream;           /* NULL in the common one */
    uint64_t id;            /* unique in the process */
    int64_t used, claim;    /* bytes asked for */
    uint64_t made, freed;   /* allocations made on the stream, and freed on it */
    uint64_t fresh, others; /* of those made: in memory never used before; by other
                               rules than the same stream's */
    uint64_t quick_blocks;  /* in the slots */
    uint64_t base;          /* address of the pool's range */
    struct block *spare;    /* blocks at hand */
    struct map *map;        /* of the pool's device */
    struct quick_slot quick[QUICK_SLOTS];
    struct bins bins;
    struct freed_block recently_freed[FREED_KEPT];
    uint64_t freed_ever;  /* how many there ever were */
    uint64_t stream_id;   /* for people */
    uint64_t observed_id; /* for observers */
    _Atomic bool ended;   /* the stream's handle is gone */
    _Atomic bool dropped; /* and no call has the stream: the shard goes when it is empty */
};

void shard_await(struct pool_shard *s); /* until it is locked by the caller */
static inline void shard_lock(struct pool_shard *s)
{
    if (WEIR_UNLIKELY(atomic_exchange_explicit(&s->lock, 1, memory_order_acquire) != 0))
        shard_await(s);
}

static inline void shard_unlock(struct pool_shard *s)
{
    atomic_store_explicit(&s->lock, 0, memory_order_release);
}

/* ---- bins and slots of a shard, whose lock is held (bins.c) ---- */

/* Makes a block free in the shard, joined with neighbours that are, too. */
void bins_add(struct pool_shard *s, struct block *b);
void bins_remove(struct pool_shard *s, struct block *b);
/* A block of at least that size, about as small as there is; it stays where it is. */
struct block *bins_fit(struct pool_shard *s, uint64_t granules);
/* Takes that many granules off a block that is out of the bins; the rest, if any, is added to the
 * shard's bins. NULL (and the block is back in the bins) when there are no blocks left. */
struct block *bins_cut(struct pool_shard *s, struct block *b, uint64_t granules);
/* Calls visit for each block in the bins that is at least that large, the smaller sizes first or
 * last, until it returns false. It may remove the block that it is shown. */
typedef bool bins_visitor(void *self, struct pool_shard *s, struct block *b);
void bins_visit(struct pool_shard *s, uint64_t granules, bins_visitor *visit, void *self);
void bins_visit_down(struct pool_shard *s, uint64_t granules, bins_visitor *visit, void *self);
/* Remembers the allocation that was last in the block, before its bounds change. */
void remember_freed(struct pool_shard *s, const struct block *b);
void slot_flush(struct pool_shard *s, struct quick_slot *slot);

static inline uint32_t slot_of(uint64_t granules)
{
    return granules <= SMALL_MAX ? class_of(granules)
                                 : SMALL_CLASSES + (uint32_t)(granules * 0x9e3779b97f4a7c15u >> 58);
}

/* Puts a block into its slot, which has blocks of that size, */
static inline void quick_put(struct pool_shard *s, struct block *b)
{
    struct quick_slot *slot = &s->quick[b->slot];
    b->next = slot->head;
    slot->head = b;
    s->quick_blocks++;
}

/* or may have others. */
static inline void quick_add(struct pool_shard *s, struct block *b)
{
    struct quick_slot *slot = &s->quick[b->slot];
    uint64_t granules = get(&b->granules);
    if (WEIR_UNLIKELY(slot->granules != granules)) {
        slot_flush(s, slot);
        slot->granules = granules;
    }
    quick_put(s, b);
}

static inline struct block *quick_take(struct pool_shard *s, uint32_t index, uint64_t granules)
{
    struct quick_slot *slot = &s->quick[index];
    struct block *b = slot->head;
    if (WEIR_UNLIKELY(b == NULL || slot->granules != granules))
        return NULL;
    slot->head = b->next;
    s->quick_blocks--;
    return b;
}

/* Empties the slots into the bins. */
void quick_flush(struct pool_shard *s);
/* Empties slots, those of large sizes first, until a block of that size is in the bins; small ones
 * join to little, and what comes next may want them. NULL: there is none. */
struct block *quick_join(struct pool_shard *s, uint64_t granules);
/* Makes a block out of nothing, neither in the bins nor in the map. NULL: none left. */
struct block *spare_take(struct pool_shard *s);
void spare_put(struct pool_shard *s, struct block *b);

/* ---- pools ---- */

struct pool {
    struct pool_config config;
    void *_Atomic user;        /* as configured; NULL from the pool's destruction on */
    uint64_t number;           /* for people */
    enum pool_rule took;       /* by which rule the long way found its last block */
    struct pool_shard *common; /* as long as the pool lives */
    struct map *map;
    struct mem_file *shared;    /* of a pool that other processes can import; else NULL */
    int file;                   /* of a shared pool, else -1 */
    pthread_mutex_t lock;       /* of what follows, but for the atomic ones */
    struct pool_shard **shards; /* [0] is the common one */
    size_t shard_count, shard_cap;
    uint64_t reserved, reserved_high; /* bytes */
    int64_t used_high;                /* bytes asked for */
    uint64_t low, high;               /* chunks ever taken are from low on and below high */
    uint64_t end;                     /* address after the chunks taken last; 0: not known */
    uint64_t reused[POOL_RULES], fresh, gathered;
    uint64_t taken, released;
    _Atomic uint32_t devices; /* whose kernels may touch the memory; changed under the lock */
    _Atomic uint64_t threshold;
    _Atomic bool switches[POOL_SWITCHES];
    _Atomic bool destroyed;
    bool gone;                /* it has ended, and is only looked at; under the list's lock */
    _Atomic uint32_t dropped; /* shards that go when they are empty */
    struct pool *next;        /* younger, or the next one that is gone; under the list's lock */
    struct pool **link;       /* what points to it in the list of all */
};

/* ---- watching (watch.c) ---- */

static inline bool watched(void)
{
    return WEIR_UNLIKELY(slow_path(SLOW_PATH_WATCHED | SLOW_PATH_OBSERVED) != 0);
}
void watch_tell(const struct pool_event *e);
/* Of a block that was handed out or taken back; its shard is locked. */
void watch_block(enum pool_event_kind kind, const struct pool *p, const struct pool_shard *s,
                 const struct block *b, enum pool_rule rule);
/* Of chunks; all shards are locked. */
void watch_chunks(enum pool_event_kind kind, const struct pool *p, uint64_t address,
                  uint64_t bytes);

extern WEIR_OWN struct pool_order pool_order;
extern WEIR_OWN struct pool_source pool_source;
/* Something was freed since the last synchronization. */
extern WEIR_OWN _Atomic bool pool_freed;

/* NULL: the pool is gone. */
struct pool_shard *shard_new(struct pool *p, void *stream);

static inline _Atomic(void *) *stream_slot(void *stream)
{
    return (_Atomic(void *) *)((char *)stream + pool_order.slot);
}

static inline struct pool_shard *shard_of(struct pool *p, void *stream)
{
    struct pool_shard *s = atomic_load_explicit(stream_slot(stream), memory_order_acquire);
    for (; s != NULL; s = s->next)
        if (WEIR_LIKELY(atomic_load_explicit(&s->pool, memory_order_acquire) == p))
            return s;
    return shard_new(p, stream);
}

/* The same, locked. A pool can end, and its shard become another pool's, before the lock is had. */
static inline struct pool_shard *shard_locked(struct pool *p, void *stream)
{
    for (;;) {
        struct pool_shard *s = shard_of(p, stream);
        if (WEIR_UNLIKELY(s == NULL))
            return NULL;
        shard_lock(s);
        if (WEIR_LIKELY(atomic_load_explicit(&s->pool, memory_order_relaxed) == p))
            return s;
        shard_unlock(s);
    }
}

/* The stream's newest shard, locked, when it is the pool's and nobody has locked it; else NULL. */
static inline struct pool_shard *shard_if_free(struct pool *p, void *stream)
{
    struct pool_shard *s = atomic_load_explicit(stream_slot(stream), memory_order_acquire);
    if (WEIR_UNLIKELY(s == NULL) ||
        WEIR_UNLIKELY(atomic_exchange_explicit(&s->lock, 1, memory_order_acquire) != 0))
        return NULL;
    if (WEIR_LIKELY(atomic_load_explicit(&s->pool, memory_order_relaxed) == p))
        return s;
    shard_unlock(s);
    return NULL;
}

void pool_lock_all(struct pool *p);
void pool_unlock_all(struct pool *p);
/* Sums over the shards; all are locked. */
int64_t pool_used(const struct pool *p);
int64_t pool_live(const struct pool *p);

/* ---- the long way of an allocation (reuse.c); all shards are locked ---- */

/* A block for the shard by any rule, cut to size, out of all bins; NULL: out of memory. */
struct block *reuse_or_grow(struct pool *p, struct pool_shard *s, uint64_t granules);
/* Puts what the host knows to be free into the common shard; drops shards of ended streams. */
void reuse_sweep(struct pool *p);

/* ---- chunks (reserve.c); all shards are locked ---- */

/* Whether a block of that size could be had at all, were everything else at its best. */
bool reserve_possible(struct pool *p, uint64_t granules);
/* By how many bytes such a block's chunks would make the pool larger than it should be. */
uint64_t reserve_excess(struct pool *p, uint64_t granules);
/* Takes chunks for a block of that size into the common shard. */
bool reserve_grow(struct pool *p, uint64_t granules);
/* Gives that many chunks back, as far as they are free for everyone or, if not `proven`, their
 * frees have passed; returns the bytes. */
uint64_t reserve_release(struct pool *p, uint64_t chunks, bool proven);
/* Gives all back, used or not. */
void reserve_clear(struct pool *p);
/* Lets these devices' kernels touch the chunks. */
void reserve_allow(struct pool *p, uint32_t devices);

#endif
