/* statistics: the switches of a pool, and what it counts. */
#include <string.h>

#include "pool/internal.h"

void pool_set_switch(struct pool *p, enum pool_switch which, bool on)
{
    atomic_store(&p->switches[which], on);
}

bool pool_get_switch(const struct pool *p, enum pool_switch which)
{
    return atomic_load(&p->switches[which]);
}

void pool_set_threshold(struct pool *p, uint64_t bytes)
{
    atomic_store(&p->threshold, bytes);
    atomic_store(&pool_freed, true); /* what was kept may be too much now */
}

uint64_t pool_get_threshold(const struct pool *p) { return atomic_load(&p->threshold); }

static void usage(struct pool *p, struct pool_statistics *out)
{
    memset(out, 0, sizeof *out);
    out->reserved = p->reserved;
    out->reserved_high = p->reserved_high;
    out->used = (uint64_t)pool_used(p);
    out->used_high = (uint64_t)p->used_high;
}

void pool_get_usage(struct pool *p, struct pool_statistics *out)
{
    pool_lock_all(p);
    usage(p, out);
    pool_unlock_all(p);
}

static void count_block(const struct block *b, struct pool_statistics *f)
{
    uint64_t granules = get(&b->granules), bytes = granules << GRANULE_SHIFT;
    unsigned class = granules > 1 ? 64 - (unsigned)__builtin_clzll(granules - 1) : 0;
    f->free_blocks[class < POOL_SIZES ? class : POOL_SIZES - 1]++;
    f->free_bytes += bytes;
    if (bytes > f->largest_free)
        f->largest_free = bytes;
}

static bool count_free(void *self, struct pool_shard *s, struct block *b)
{
    count_block(b, self);
    return true;
}

void pool_get_statistics(struct pool *p, struct pool_statistics *out)
{
    pool_lock_all(p);
    usage(p, out);
    out->max_bytes = p->config.max_bytes;
    out->threshold = atomic_load(&p->threshold);
    out->live = (uint64_t)pool_live(p);
    out->taken = p->taken;
    out->released = p->released;
    out->streams = p->shard_count - 1;
    out->fresh = p->fresh;
    out->gathered = p->gathered;
    memcpy(out->reused, p->reused, sizeof out->reused);
    for (size_t i = 0; i < p->shard_count; i++) {
        struct pool_shard *s = p->shards[i];
        out->reused[POOL_RULE_SAME_STREAM] += s->made - s->fresh - s->others;
        out->fresh += s->fresh;
        bins_visit(s, 1, count_free, out);
        for (int q = 0; q < QUICK_SLOTS; q++)
            for (struct block *b = s->quick[q].head; b != NULL; b = b->next)
                count_block(b, out);
    }
    pool_unlock_all(p);
}

void pool_reset_used_high(struct pool *p)
{
    pool_lock_all(p);
    p->used_high = pool_used(p);
    for (size_t i = 0; i < p->shard_count; i++)
        p->shards[i]->claim = p->shards[i]->used;
    pool_unlock_all(p);
}

void pool_reset_reserved_high(struct pool *p)
{
    pool_lock_all(p);
    p->reserved_high = p->reserved;
    pool_unlock_all(p);
}
