/* reuse: the long way: memory that was freed on other streams, by the rules of spec A7, then new
 * chunks, then memory that has to be waited for. All shards of the pool are locked throughout. */
#include <stdlib.h>

#include "base/schedule.h"
#include "pool/internal.h"

/* Requests smaller than this get their stream a chunk to cut from. */
enum { REFILL_BELOW = CHUNK_GRANULES / 2 };

/* What an allocation looks for in another stream's shard. */
struct search {
    uint64_t granules;
    uint64_t timestamps; /* usable: a timestamp below this, */
    uint64_t count;      /* or this count, or less */
    bool by_count;
    struct block *found;
};

static bool usable(const struct search *q, const struct block *b)
{
    return q->by_count ? b->count <= q->count : b->timestamp < q->timestamps;
}

static bool look_at(void *self, struct pool_shard *s, struct block *b)
{
    struct search *q = self;
    if (usable(q, b))
        q->found = b;
    return q->found == NULL;
}

/* What is free for everyone: what the host knows to have passed, and of a stream whose handle is
 * gone, so that nobody can synchronize with it, what has. */
static void find_proven(struct pool_shard *from, struct search *q)
{
    q->by_count = atomic_load(&from->ended);
    if (q->by_count)
        q->count = pool_order.completed(from->stream);
    else
        q->timestamps = pool_order.proven(from->stream);
}

/* A schedule: what may be reused, but need not be. */
static bool refused(const struct pool_shard *s, const struct pool_shard *from)
{
    uint64_t streams = schedule_mix(pool_order.id(s->stream), pool_order.id(from->stream));
    return schedule_which(SCHEDULE_REUSE, streams, 2) != 0;
}

/* Which blocks of a shard the rule lets this one use. False: none. */
static bool search_by(struct pool *p, struct pool_shard *s, struct pool_shard *from,
                      enum pool_rule rule, struct search *q)
{
    q->by_count = rule == POOL_RULE_OPPORTUNISTIC || rule == POOL_RULE_INTERNAL;
    switch (rule) {
    case POOL_RULE_SYNCHRONIZED: find_proven(from, q); return true;
    case POOL_RULE_EVENT:
        q->timestamps = pool_order.ordered(s->stream, from->stream);
        return pool_get_switch(p, POOL_FOLLOW_EVENTS);
    case POOL_RULE_OPPORTUNISTIC:
        q->count = pool_order.completed(from->stream);
        return pool_get_switch(p, POOL_OPPORTUNISTIC) && !(schedule_on() && refused(s, from));
    case POOL_RULE_INTERNAL: q->count = UINT64_MAX; return pool_get_switch(p, POOL_INTERNAL);
    default: return false;
    }
}

/* A block of that size, out of the bins of `from`; the rest stays there. */
static struct block *cut_from(struct pool_shard *from, struct block *b, uint64_t granules)
{
    bins_remove(from, b);
    return bins_cut(from, b, granules);
}

/* The whole slot would do for an exact size. */
static struct block *search_slot(struct pool_shard *from, const struct search *q)
{
    struct block *b = quick_take(from, slot_of(q->granules), q->granules);
    if (b != NULL && !usable(q, b)) {
        quick_add(from, b);
        return NULL;
    }
    return b;
}

/* For the statistics. What was never used has no moment. */
static void count_take(struct pool *p, const struct block *b, enum pool_rule rule)
{
    bool fresh = b->timestamp == 0 && b->count == 0;
    p->took = fresh ? (enum pool_rule)POOL_FRESH : rule;
    if (fresh)
        p->fresh++;
    else
        p->reused[rule]++;
}

static struct block *take_by(struct pool *p, struct pool_shard *s, struct pool_shard *from,
                             enum pool_rule rule, uint64_t granules)
{
    struct search q = {.granules = granules};
    bool empty = from->quick_blocks == 0 && from->bins.doublings == 0;
    if (empty || from == s || from->stream == NULL || !search_by(p, s, from, rule, &q))
        return NULL;
    struct block *b = search_slot(from, &q);
    if (b == NULL) {
        if (from->quick_blocks > 0)
            quick_flush(from);
        bins_visit(from, granules, look_at, &q);
        if (q.found == NULL)
            return NULL;
        b = cut_from(from, q.found, granules);
    }
    if (b != NULL && rule == POOL_RULE_INTERNAL &&
        !pool_order.wait(s->stream, from->stream, b->count)) {
        bins_add(from, b);
        return NULL;
    }
    return b;
}

static struct block *take_by_rule(struct pool *p, struct pool_shard *s, enum pool_rule rule,
                                  uint64_t granules)
{
    for (size_t i = 1; i < p->shard_count; i++) {
        struct block *b = take_by(p, s, p->shards[i], rule, granules);
        if (b != NULL) {
            count_take(p, b, rule);
            return b;
        }
    }
    return NULL;
}

/* A block of the common shard; small requests get more for their shard to cut from. */
static struct block *take_common(struct pool *p, struct pool_shard *s, uint64_t granules)
{
    struct pool_shard *common = p->common;
    struct block *b = bins_fit(common, granules);
    if (b == NULL)
        return NULL;
    if (granules < REFILL_BELOW && get(&b->granules) > granules) {
        uint64_t size = get(&b->granules);
        b = cut_from(common, b, size < CHUNK_GRANULES ? size : CHUNK_GRANULES);
        if (b != NULL)
            b = bins_cut(s, b, granules);
    } else {
        b = cut_from(common, b, granules);
    }
    if (b != NULL)
        count_take(p, b, POOL_RULE_SYNCHRONIZED);
    return b;
}

/* ---- moving free memory between shards ---- */

struct gather {
    struct search which;
    struct pool_shard *to;
    struct pool_point point; /* of the blocks there; timestamp 0: everyone's */
    uint64_t moved;          /* blocks */
};

static bool move(void *self, struct pool_shard *from, struct block *b)
{
    struct gather *g = self;
    if (usable(&g->which, b)) {
        bins_remove(from, b);
        b->count = g->point.timestamp == 0 ? b->count > 0 : g->point.count;
        b->timestamp = g->point.timestamp;
        /* Out of both lists while it changes hands. */
        atomic_store_explicit(&b->word, BLOCK_NONE, memory_order_relaxed);
        bins_add(g->to, b);
        g->moved++;
    }
    return true;
}

/* Of a stream that no call has any more, and nothing free in it: its counts go to the common one.
 */
static bool retire(struct pool *p, struct pool_shard *s)
{
    if (!atomic_load(&s->dropped) || s->quick_blocks > 0 || s->bins.doublings != 0)
        return false;
    struct pool_shard *common = p->common;
    common->used += s->used;
    common->claim += s->claim;
    common->freed -= s->made - s->freed;
    p->reused[POOL_RULE_SAME_STREAM] += s->made - s->fresh - s->others;
    p->fresh += s->fresh;
    atomic_fetch_sub(&p->dropped, 1);
    map_put_spares(s->map, s->spare);
    pool_order.release(s->stream);
    free(s);
    return true;
}

void reuse_sweep(struct pool *p)
{
    size_t kept = 1;
    for (size_t i = 1; i < p->shard_count; i++) {
        struct pool_shard *s = p->shards[i];
        quick_flush(s);
        struct gather g = {.to = p->common};
        find_proven(s, &g.which);
        bins_visit(s, 1, move, &g);
        if (!retire(p, s))
            p->shards[kept++] = s;
    }
    p->shard_count = kept;
}

static bool find_latest(void *self, struct pool_shard *s, struct block *b)
{
    uint64_t *latest = self;
    *latest = b->count > *latest ? b->count : *latest;
    return true;
}

/* Brings all that the rule lets the shard use together in it. */
static void gather_by_rule(struct pool *p, struct pool_shard *s, enum pool_rule rule)
{
    for (size_t i = 1; i < p->shard_count; i++) {
        struct pool_shard *from = p->shards[i];
        struct gather g = {.to = s};
        if (from == s || !search_by(p, s, from, rule, &g.which))
            continue;
        quick_flush(from);
        if (rule == POOL_RULE_INTERNAL) {
            uint64_t latest = 0;
            bins_visit(from, 1, find_latest, &latest);
            if (!pool_order.wait(s->stream, from->stream, latest))
                continue;
        }
        g.point = pool_order.mark(s->stream); /* the wait comes before it */
        bins_visit(from, 1, move, &g);
        p->gathered += g.moved;
    }
}

/* Adjacent pieces that were freed on different streams, may be large enough together.
 */
static struct block *take_gathered(struct pool *p, struct pool_shard *s, uint64_t granules)
{
    for (enum pool_rule rule = POOL_RULE_EVENT; rule <= POOL_RULE_OPPORTUNISTIC; rule++) {
        gather_by_rule(p, s, rule);
        struct block *b = bins_fit(s, granules);
        if (b != NULL) {
            p->reused[rule]++;
            p->took = rule;
            return cut_from(s, b, granules);
        }
    }
    return NULL;
}

static bool add_free(void *self, struct pool_shard *s, struct block *b)
{
    *(uint64_t *)self += get(&b->granules);
    return true;
}

static uint64_t free_granules(struct pool *p)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < p->shard_count; i++) {
        quick_flush(p->shards[i]);
        bins_visit(p->shards[i], 1, add_free, &sum);
    }
    return sum;
}

/* What is left when the system gives no more: pieces are joined across streams, chunks with holes
 * between them exchanged for others in one piece, at last the stream made to wait. */
static struct block *last_resorts(struct pool *p, struct pool_shard *s, uint64_t granules)
{
    if (free_granules(p) < granules)
        return NULL;
    struct block *b = NULL;
    for (enum pool_rule rule = POOL_RULE_EVENT; rule < POOL_RULES && b == NULL; rule++) {
        if (rule == POOL_RULE_INTERNAL) {
            b = take_by_rule(p, s, rule, granules);
            if (b != NULL)
                return b;
        }
        gather_by_rule(p, s, rule);
        b = bins_fit(s, granules);
        if (b != NULL) {
            p->reused[rule]++;
            p->took = rule;
            return cut_from(s, b, granules);
        }
        if (reserve_release(p, granules / CHUNK_GRANULES + 1, false) > 0 &&
            reserve_grow(p, granules))
            b = take_common(p, s, granules);
    }
    return b;
}

struct block *reuse_or_grow(struct pool *p, struct pool_shard *s, uint64_t granules)
{
    if (!reserve_possible(p, granules)) /* and what is free stays as it is */
        return NULL;
    if (atomic_load(&p->dropped) >= DROPPED_MAX)
        reuse_sweep(p);
    struct block *b = take_common(p, s, granules);
    for (enum pool_rule rule = POOL_RULE_SYNCHRONIZED; rule < POOL_RULE_INTERNAL && b == NULL;
         rule++)
        b = take_by_rule(p, s, rule, granules);
    if (b != NULL)
        return b;
    reuse_sweep(p);
    b = take_common(p, s, granules);
    if (b == NULL && reserve_excess(p, granules) > 0)
        b = take_gathered(p, s, granules);
    if (b == NULL && reserve_grow(p, granules))
        b = take_common(p, s, granules);
    return b != NULL ? b : last_resorts(p, s, granules);
}
