/* lane_barriers: arrivals, votes and waits, by lane (lane_barriers.h). abi/kernel_abi.h has the
 * protocol. A block runs on one thread at a time, so nothing here is atomic.
 *
 * PTX counts a barrier with a number of threads in whole warps. A warp of which all live lanes have
 * arrived counts as JIT_WARP threads, one of which only some have arrived as so many. */
#include "exec/lane_barriers.h"

#include <string.h>

#include "exec/threads.h"

void lanes_begin(struct lane_barriers *l, const struct jit_block *j)
{
    memset(l, 0, sizeof *l);
    l->nwarps = j->nwarps;
    for (uint32_t w = 0; w < j->nwarps; w++) {
        uint32_t threads = j->nthreads - w * JIT_WARP;
        l->live[w] = threads >= JIT_WARP ? 0xffffffffu : ((uint32_t)1 << threads) - 1;
    }
}

/* Have as many arrived as the barrier is for? */
static bool complete(const struct lane_barriers *l, const struct lane_barrier *at)
{
    uint32_t threads = at->again;
    bool all = true;
    for (uint32_t w = 0; w < l->nwarps; w++) {
        bool whole = (l->live[w] & ~at->arrived[w]) == 0;
        all = all && whole;
        if (at->arrived[w] != 0)
            threads += whole ? JIT_WARP : (uint32_t)__builtin_popcount(at->arrived[w]);
    }
    return at->count == 0 ? all : threads >= at->count;
}

static void tell_open(struct grid_block *b, const struct lane_barrier *at)
{
    const struct lane_barriers *l = b->lanes;
    bool all = true;
    for (uint32_t w = 0; w < l->nwarps; w++)
        all = all && (l->live[w] & ~at->waiting[w]) == 0;
    threads_go_on(b, (uint32_t)(at - l->at), at->waiting, all);
}

static void open_if_complete(struct grid_block *b, struct lane_barrier *at)
{
    struct lane_barriers *l = b->lanes;
    if (!at->used || !complete(l, at))
        return;
    if (threads_compared(b))
        tell_open(b, at);
    for (uint32_t w = 0; w < l->nwarps; w++) {
        l->waiting[w] &= ~at->waiting[w];
        EACH_LANE(lane, at->waiting[w])
        l->met[w][lane] = at->votes;
    }
    *at = (struct lane_barrier){0};
    l->opened++;
    block_event(b);
}

void lanes_end(struct grid_block *b, uint32_t warp, uint32_t mask)
{
    struct lane_barriers *l = b->lanes;
    l->live[warp] &= ~mask;
    b->arrivals[warp].live &= ~mask;
    block_event(b);
    for (size_t n = 0; n < WEIR_COUNT(l->at); n++)
        open_if_complete(b, &l->at[n]);
}

/* Lanes that arrive at the same barrier, for the same number of threads. */
static void arrive(struct grid_block *b, uint32_t warp, uint32_t mask, uint32_t id, uint32_t count,
                   uint32_t what, uint32_t yes)
{
    struct lane_barriers *l = b->lanes;
    struct lane_barrier *at = &l->at[id];
    uint32_t again = at->arrived[warp] & mask;
    if (threads_compared(b))
        threads_arrive(b, id, warp, mask);
    at->used = true;
    at->count = count;
    at->again += again == 0               ? 0
                 : again == l->live[warp] ? JIT_WARP
                                          : (uint32_t)__builtin_popcount(again);
    at->arrived[warp] |= mask;
    if (what & JIT_ARRIVE_VOTES) {
        uint32_t n = (uint32_t)__builtin_popcount(yes & mask);
        at->votes.yes = (uint16_t)(at->votes.yes + n);
        at->votes.no = (uint16_t)(at->votes.no + (uint32_t)__builtin_popcount(mask) - n);
    }
    if (what & JIT_ARRIVE_WAITS) {
        at->waiting[warp] |= mask;
        l->waiting[warp] |= mask;
    }
    block_event(b);
    open_if_complete(b, at);
}

void weir_rt_lanes_arrive(struct jit_block *j, uint32_t warp, uint32_t mask, uint32_t what,
                          const uint64_t id[JIT_WARP], const uint64_t count[JIT_WARP], uint32_t yes)
{
    for (uint32_t left = mask, same; left != 0; left &= ~same) {
        uint32_t first = (uint32_t)__builtin_ctz(left);
        same = 0;
        EACH_LANE(lane, left)
        if (id[lane] == id[first] && count[lane] == count[first])
            same |= (uint32_t)1 << lane;
        arrive(j->grid, warp, same, (uint32_t)id[first] & 15, (uint32_t)count[first], what, yes);
    }
}

uint32_t weir_rt_lanes_pass(struct jit_block *j, uint32_t warp, uint32_t mask)
{
    struct grid_block *b = j->grid;
    uint32_t pass = mask & ~b->lanes->waiting[warp];
    if (pass != mask) {
        b->blocked = true;
        if (j->budget > 1)
            j->budget = 1;
    }
    return pass;
}

void weir_rt_lanes_votes(struct jit_block *j, uint32_t warp, uint32_t mask, uint64_t out[JIT_WARP])
{
    const struct grid_block *b = j->grid;
    EACH_LANE(lane, mask)
    {
        struct votes v = b->lanes->met[warp][lane];
        out[lane] = v.yes | (uint64_t)v.no << 32;
    }
}

void weir_rt_lanes_end(struct jit_block *j, uint32_t warp, uint32_t mask)
{
    lanes_end(j->grid, warp, mask);
}

uint32_t weir_rt_lanes_live(struct jit_block *j, uint32_t warp)
{
    const struct grid_block *b = j->grid;
    return b->lanes->live[warp];
}
