/* cluster: blocks that run together and reach each other's shared memory.
 *
 * A cluster is handed out, parked and resumed as a whole, and one thread of the machine runs its
 * blocks in turn, each until it must wait. So shared memory of a cluster is touched by one thread
 * at a time, like that of a single block, and no block can wait for one that does not run. */
#include <string.h>

#include "exec/run.h"
#include "exec/threads.h"

/* The first block of the cluster stands for it. */
static struct grid_block *leader_of(struct grid_block *b)
{
    return b->leader != NULL ? b->leader : b;
}

/* ---- contexts ---- */

struct grid_block *cluster_take(struct grid_worker *w, struct grid_run *run)
{
    struct grid_block *lead = block_take(w, run);
    if (lead == NULL)
        return NULL;
    lead->members[0] = lead;
    lead->nmembers = 1;
    while (lead->nmembers < run->cluster_size) {
        struct grid_block *b = block_take(w, run);
        if (b == NULL) {
            cluster_drop(w, lead);
            return NULL;
        }
        lead->members[lead->nmembers++] = b;
    }
    for (uint32_t r = 0; r < run->cluster_size; r++) {
        struct grid_block *b = lead->members[r];
        b->leader = lead;
        b->nmembers = r == 0 ? lead->nmembers : 1;
        b->jit.cluster_rank = r;
        for (uint32_t o = 0; o < run->cluster_size; o++)
            b->windows[1 + o] = (uint64_t)lead->members[o]->jit.shared;
    }
    return lead;
}

void cluster_drop(struct grid_worker *w, struct grid_block *any)
{
    struct grid_block *lead = leader_of(any);
    uint32_t n = lead->nmembers;
    for (uint32_t r = n; r-- > 0;) {
        struct grid_block *b = lead->members[r];
        b->leader = NULL;
        block_drop(w, b);
    }
}

void cluster_set_index(struct grid_run *run, struct grid_block *lead, uint64_t index)
{
    const uint32_t *c = run->launch.cluster, *g = run->launch.grid;
    uint32_t nx = g[0] / c[0], ny = g[1] / c[1];
    uint32_t at[3] = {(uint32_t)(index % nx), (uint32_t)(index / nx % ny),
                      (uint32_t)(index / nx / ny)};
    for (uint32_t r = 0; r < lead->nmembers; r++) {
        struct jit_block *j = &lead->members[r]->jit;
        uint32_t in[3] = {r % c[0], r / c[0] % c[1], r / c[0] / c[1]};
        for (int d = 0; d < 3; d++)
            j->ctaid[d] = at[d] * c[d] + in[d];
        lead->members[r]->ended = false;
    }
}

uint32_t cluster_go(struct grid_worker *w, struct grid_block *lead)
{
    for (;;) {
        bool moved = false, left = false;
        for (uint32_t r = 0; r < lead->nmembers; r++) {
            struct grid_block *b = lead->members[r];
            if (b->ended)
                continue;
            if (b->jit.waiting != 0 && !cdp_idle(b)) {
                left = true;
                continue;
            }
            b->jit.waiting = 0;
            uint64_t before = block_position(b);
            w->current = b;
            b->ended = block_go(w) == JIT_DONE;
            left |= !b->ended;
            moved |= b->ended || block_position(b) != before;
        }
        w->current = lead;
        if (!left)
            return JIT_DONE;
        if (!moved)
            return JIT_SUSPENDED;
    }
}

/* ---- the barrier ---- */

void cluster_forget(struct grid_block *b)
{
    memset(b->arrivals, 0, sizeof b->arrivals);
    b->cluster_phase = 0;
    b->cluster_touched = false;
}

/* The cluster's barrier is an object of its first block's, at an address that nothing has. */
enum { BARRIER_OBJECT = 1 };

/* Have all threads that have not ended arrived? */
static bool complete(const struct grid_block *lead)
{
    for (uint32_t r = 0; r < lead->nmembers; r++) {
        const struct grid_block *b = lead->members[r];
        for (uint32_t i = 0; i < b->jit.nwarps && !b->ended; i++) {
            const struct arrival *a = &b->arrivals[i];
            if (b->jit.pc[i] != (uint32_t)JIT_PC_EXITED &&
                (a->arrived == 0 || (a->live & ~a->arrived) != 0))
                return false;
        }
    }
    return true;
}

static void open_if_complete(struct grid_block *lead)
{
    if (!complete(lead))
        return;
    lead->cluster_phase++;
    if (threads_compared(lead))
        hazard_object_phase_ends(threads_of(lead), BARRIER_OBJECT);
    for (uint32_t r = 0; r < lead->nmembers; r++)
        for (uint32_t i = 0; i < JIT_MAX_WARPS; i++)
            lead->members[r]->arrivals[i].arrived = 0;
}

uint32_t weir_rt_cluster_arrive(struct jit_block *j, uint32_t mask, uint32_t live)
{
    struct grid_block *b = j->grid, *lead = leader_of(b);
    struct arrival *a = &b->arrivals[j->warp];
    if (threads_compared(b))
        hazard_object_arrive(threads_of(b), threads_of(lead), BARRIER_OBJECT, j->warp, mask);
    b->cluster_touched = lead->cluster_touched = true;
    a->arrived |= mask;
    a->live = live;
    a->phase = lead->cluster_phase;
    block_event(b);
    open_if_complete(lead);
    return 0;
}

uint32_t weir_rt_cluster_wait(struct jit_block *j, uint32_t live)
{
    struct grid_block *b = j->grid, *lead = leader_of(b);
    struct arrival *a = &b->arrivals[j->warp];
    a->live = live;
    if (a->phase == lead->cluster_phase)
        open_if_complete(lead); /* threads may have ended since */
    if (a->phase != lead->cluster_phase) {
        if (threads_compared(b))
            hazard_object_passed(threads_of(b), threads_of(lead), BARRIER_OBJECT, j->warp, live);
        return 1;
    }
    if (j->budget > 1)
        j->budget = 1;
    return 0;
}

/* ---- addresses ---- */

/* Rank of the block whose shared memory the address is in, -1: none's. */
static int rank_of(const struct jit_block *j, uint64_t address)
{
    for (uint32_t r = 0; r < j->cluster_size; r++)
        if (address - j->windows[1 + r] < (uint64_t)j->total_shared)
            return (int)r;
    return -1;
}

uint64_t cluster_map(const struct jit_block *j, uint64_t address, uint32_t rank)
{
    int from = rank_of(j, address);
    if (from < 0 || rank >= j->cluster_size)
        return 0; /* an access there faults */
    return address - j->windows[1 + from] + j->windows[1 + rank];
}

void weir_rt_cluster_map(struct jit_block *j, uint32_t op, uint32_t mask,
                         const uint64_t address[JIT_WARP], const uint64_t rank[JIT_WARP],
                         uint64_t out[JIT_WARP])
{
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(left);
        int from = rank_of(j, address[lane]);
        switch (op) {
        case JIT_MAP_GENERIC:
            out[lane] = cluster_map(j, address[lane], (uint32_t)rank[lane]);
            break;
        case JIT_MAP_RANK: out[lane] = (uint64_t)(int64_t)from; break;
        case JIT_MAP_INSIDE: out[lane] = from >= 0; break;
        default: /* JIT_MAP_OFFSET */
            out[lane] = from < 0 ? address[lane] - (uint64_t)j->shared
                        : from == (int)j->cluster_rank
                            ? address[lane] - j->windows[0]
                            : (address[lane] - j->windows[1 + from]) | (uint64_t)(from + 1)
                                                                           << JIT_CLUSTER_SHIFT;
        }
    }
}
