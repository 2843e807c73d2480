/* reserve: chunks, from the system and back to it. All shards of the pool are locked.
 *
 * A pool does not let holes make it grow: once it holds an eighth more than was ever in use at
 * once, chunks that are free and passed are given back before new ones are taken, so that memory in
 * pieces becomes memory in one piece at the price of new pages. */
#include "base/round.h"
#include "pool/internal.h"

static const uint64_t LIMIT_UNIT = (uint64_t)32 << 20; /* sizes of pools are rounded up to it */
static const uint64_t SLACK = (uint64_t)8 << 20;       /* what a small pool may hold besides */
static const uint64_t STEP_MAX = (uint64_t)32 << 20;   /* taken ahead at once */

static uint64_t whole_chunks(uint64_t bytes) { return round_up(bytes, MEM_CHUNK); }

static uint64_t chunk_of(const struct map *m, uint64_t address)
{
    return (address - m->base) / MEM_CHUNK;
}

static uint64_t limit(const struct pool *p)
{
    uint64_t units = (p->config.max_bytes + LIMIT_UNIT - 1) / LIMIT_UNIT;
    return units > 0 ? units * LIMIT_UNIT : UINT64_MAX;
}

bool reserve_possible(struct pool *p, uint64_t granules)
{
    uint64_t unused, total, bytes = (uint64_t)pool_used(p) + (granules << GRANULE_SHIFT);
    pool_source.usage(p->config.device, &unused, &total);
    return bytes <= total && bytes <= limit(p);
}

/* Takes chunks, at `at` if that is not 0, as a free block of the common shard. */
static bool take(struct pool *p, uint64_t bytes, uint64_t at)
{
    struct map *m = p->map;
    struct pool_shard *common = p->common;
    struct block *b = spare_take(common);
    uint64_t base;
    if (b == NULL)
        return false;
    if (bytes > limit(p) - p->reserved ||
        pool_source.take(p->config.device, p->config.kind, p, bytes, at, p->file,
                         atomic_load(&p->devices), &base) != MEM_OK) {
        spare_put(common, b);
        return false;
    }
    uint64_t first = chunk_of(m, base), n = bytes / MEM_CHUNK;
    for (uint64_t i = first; i < first + n; i++)
        atomic_store_explicit(&m->owners[i], p, memory_order_relaxed);
    p->low = first < p->low ? first : p->low;
    p->high = first + n > p->high ? first + n : p->high;
    p->end = base + bytes;
    p->reserved += bytes;
    p->taken += bytes;
    if (p->reserved > p->reserved_high)
        p->reserved_high = p->reserved;
    set(&b->first, (base - m->base) >> GRANULE_SHIFT);
    set(&b->granules, bytes >> GRANULE_SHIFT);
    set(&b->asked, 0);
    b->timestamp = b->count = 0;
    bins_add(common, b);
    if (watched())
        watch_chunks(POOL_MAPPED, p, base, bytes);
    return true;
}

/* Free bytes at the very end of the chunks taken last, which new ones can prolong. */
static uint64_t tail(struct pool *p)
{
    struct map *m = p->map;
    if (p->end == 0)
        return 0;
    struct block *b = map_edge(m, ((p->end - m->base) >> GRANULE_SHIFT) - 1);
    uint64_t word = p->common->id << 8 | BLOCK_FREE;
    if (b == NULL || get(&b->word) != word ||
        m->base + ((get(&b->first) + get(&b->granules)) << GRANULE_SHIFT) != p->end)
        return 0;
    return get(&b->granules) << GRANULE_SHIFT;
}

/* What the pool may hold with that much more in use. */
static uint64_t bound(struct pool *p, uint64_t bytes)
{
    uint64_t most = (uint64_t)pool_used(p) + bytes, high = (uint64_t)p->used_high;
    return (most > high ? most : high) / 8 * 9 + SLACK + MEM_CHUNK * p->shard_count;
}

uint64_t reserve_excess(struct pool *p, uint64_t granules)
{
    uint64_t bytes = granules << GRANULE_SHIFT, most = bound(p, bytes);
    uint64_t after = p->reserved + whole_chunks(bytes - (tail(p) < bytes ? tail(p) : 0));
    return after > most ? after - most : 0;
}

/* ---- giving back ---- */

/* Forgets what was in the chunks and gives them back. */
static void give_back(struct pool *p, uint64_t first, uint64_t n)
{
    struct map *m = p->map;
    for (uint64_t i = first; i < first + n; i++)
        atomic_store_explicit(&m->owners[i], NULL, memory_order_relaxed);
    /* Numbers in the middle are stale as ever; these two would be looked at. */
    atomic_store_explicit(&m->edges[first * CHUNK_GRANULES], 0, memory_order_relaxed);
    atomic_store_explicit(&m->edges[(first + n) * CHUNK_GRANULES - 1], 0, memory_order_relaxed);
    if (p->end == m->base + (first + n) * MEM_CHUNK)
        p->end = 0;
    p->reserved -= n * MEM_CHUNK;
    p->released += n * MEM_CHUNK;
    if (watched())
        watch_chunks(POOL_UNMAPPED, p, m->base + first * MEM_CHUNK, n * MEM_CHUNK);
    pool_source.drop(p->config.device, m->base + first * MEM_CHUNK, n * MEM_CHUNK, p->file);
}

struct release {
    struct pool *pool;
    uint64_t chunks; /* still to be given back */
    uint64_t spared; /* the block that ends there is not given; 0: none */
    uint64_t passed; /* counts of the shard's stream up to this */
    uint64_t given;
};

/* What of a free block is outside of the chunks given back stays free. */
static void keep_part(struct pool_shard *s, const struct block *of, struct block *part,
                      uint64_t first, uint64_t granules)
{
    part->timestamp = of->timestamp;
    part->count = of->count;
    set(&part->first, first);
    set(&part->granules, granules);
    set(&part->asked, 0);
    bins_add(s, part);
}

static bool release_block(void *self, struct pool_shard *s, struct block *b)
{
    struct release *r = self;
    uint64_t first = get(&b->first), end = first + get(&b->granules);
    uint64_t from = (first + CHUNK_GRANULES - 1) / CHUNK_GRANULES, to = end / CHUNK_GRANULES;
    if (to <= from || end == r->spared || (s->stream != NULL && b->count > r->passed))
        return true;
    if (to - from > r->chunks)
        from = to - r->chunks;
    struct block *before = spare_take(s), *after = spare_take(s);
    if (before == NULL || after == NULL) {
        if (before != NULL)
            spare_put(s, before);
        return false;
    }
    bins_remove(s, b);
    atomic_store_explicit(&b->word, BLOCK_NONE, memory_order_relaxed);
    give_back(r->pool, from, to - from);
    if (first < from * CHUNK_GRANULES)
        keep_part(s, b, before, first, from * CHUNK_GRANULES - first);
    else
        spare_put(s, before);
    if (end > to * CHUNK_GRANULES)
        keep_part(s, b, after, to * CHUNK_GRANULES, end - to * CHUNK_GRANULES);
    else
        spare_put(s, after);
    spare_put(s, b);
    r->chunks -= to - from;
    r->given += (to - from) * MEM_CHUNK;
    return r->chunks > 0;
}

static uint64_t release(struct pool *p, uint64_t chunks, bool proven, uint64_t spared)
{
    struct release r = {.pool = p, .chunks = chunks, .spared = spared};
    /* The common one comes first; of others, what may be used again without further order. */
    size_t shards = proven || !pool_get_switch(p, POOL_OPPORTUNISTIC) ? 1 : p->shard_count;
    for (size_t i = 0; i < shards && r.chunks > 0; i++) {
        struct pool_shard *s = p->shards[i];
        quick_flush(s);
        r.passed = s->stream != NULL ? pool_order.completed(s->stream) : 0;
        bins_visit_down(s, CHUNK_GRANULES, release_block, &r); /* in as few pieces as can be */
    }
    return r.given;
}

uint64_t reserve_release(struct pool *p, uint64_t chunks, bool proven)
{
    return release(p, chunks, proven, 0);
}

/* ---- growing ---- */

/* Gives back what the pool would hold too much with that request: of all but the end that the new
 * chunks prolong, which would have to be taken again; if there is nothing else, of that. */
static void keep_bound(struct pool *p, uint64_t granules)
{
    uint64_t excess, given = 1;
    while ((excess = reserve_excess(p, granules)) > 0 && given > 0) {
        uint64_t chunks = (excess + MEM_CHUNK - 1) / MEM_CHUNK;
        uint64_t end = tail(p) > 0 ? (p->end - p->map->base) >> GRANULE_SHIFT : 0;
        given = release(p, chunks, false, end);
        if (given == 0)
            given = release(p, chunks, false, 0);
    }
}

bool reserve_grow(struct pool *p, uint64_t granules)
{
    uint64_t bytes = granules << GRANULE_SHIFT, most = bound(p, bytes);
    keep_bound(p, granules);
    uint64_t step = whole_chunks(p->reserved / 16 < STEP_MAX ? p->reserved / 16 : STEP_MAX);
    bool step_fits = p->reserved + step <= most;
    uint64_t joins = tail(p), need = whole_chunks(bytes - (joins < bytes ? joins : 0));
    if (joins > 0 && ((step_fits && step > need && take(p, step, p->end)) || take(p, need, p->end)))
        return true;
    need = whole_chunks(bytes);
    if (step_fits && step > need && take(p, step, 0))
        return true;
    /* After those taken last, so that what is freed there joins. */
    return (p->end != 0 && take(p, need, p->end)) || take(p, need, 0);
}

/* ---- all at once ---- */

/* Makes the blocks of a run of chunks spare again. */
static void forget_blocks(struct pool *p, uint64_t first, uint64_t end)
{
    struct block *list = NULL;
    for (uint64_t g = first; g < end;) {
        struct block *b = map_edge(p->map, g);
        g += get(&b->granules);
        atomic_store_explicit(&b->word, BLOCK_NONE, memory_order_relaxed);
        b->next = list;
        list = b;
    }
    map_put_spares(p->map, list);
}

/* The first run of the pool's chunks from one on; 0: no more. */
static uint64_t next_run(struct pool *p, uint64_t from, uint64_t *first)
{
    struct map *m = p->map;
    uint64_t c = from, n = 0;
    while (c < p->high && atomic_load(&m->owners[c]) != p)
        c++;
    while (c + n < p->high && atomic_load(&m->owners[c + n]) == p)
        n++;
    *first = c;
    return n;
}

void reserve_clear(struct pool *p)
{
    for (uint64_t c = p->low, n; (n = next_run(p, c, &c)) > 0; c += n) {
        forget_blocks(p, c * CHUNK_GRANULES, (c + n) * CHUNK_GRANULES);
        give_back(p, c, n);
    }
    p->low = UINT64_MAX;
    p->high = 0;
}

void reserve_allow(struct pool *p, uint32_t devices)
{
    atomic_store(&p->devices, devices);
    for (uint64_t c = p->low, n; (n = next_run(p, c, &c)) > 0; c += n)
        pool_source.allow(p->config.device, p->map->base + c * MEM_CHUNK, n * MEM_CHUNK, devices);
}
