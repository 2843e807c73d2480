/* spin_yield: which lanes go first when a loop that waits for memory makes no progress.
 *
 * Lanes of a warp that spin may wait for lanes of the same warp that are pending elsewhere: after
 * the loop with a lock in their hands, say. The order of blocks runs the loop first for as long as
 * lanes are in it, so that the others would never get there. Therefore, when a warp goes on after
 * the polls of a divergent loop have run out, lanes that are pending elsewhere may go first, for
 * one block; then the loop looks again.
 *
 * Only where nobody can tell that the warp diverged: a block with a warp operation (barrier,
 * shuffle, vote, matrix) must wait for the lanes in the loop, and so must a block from which one is
 * reached while they are still there: those that come before the loop in the order.
 *
 * On fibers (exec/warps.c) these are tried early, and all others when no warp can go on. */
#include <stdlib.h>

#include "compiler/passes.h"

bool jit_is_warp_operation(const struct ptx_instr *i)
{
    switch (i->op) {
    case PTX_OP_bar:
    case PTX_OP_barrier:
    case PTX_OP_shfl:
    case PTX_OP_vote:
    case PTX_OP_match:
    case PTX_OP_activemask:
    case PTX_OP_elect:
    case PTX_OP_redux:
    case PTX_OP_mma:
    case PTX_OP_wmma:
    case PTX_OP_wgmma:
    case PTX_OP_ldmatrix:
    case PTX_OP_stmatrix:
    case PTX_OP_movmatrix:
    case PTX_OP_call: return true;
    default: return false;
    }
}

bool jit_is_joint(const struct jkernel *k, const struct jblock *b)
{
    if (b->term == TERM_SUSPEND && b->suspend != SUSPEND_POLL)
        return true;
    for (int32_t n = 0; n < b->count; n++)
        if (jit_is_warp_operation(&k->instrs[b->first + n]))
            return true;
    return false;
}

/* The blocks before the loop that are joint or lead to such a one there: those that are reached
 * backwards from a node that all joint ones lead to. */
static void lead_to_joint(const struct jkernel *k, const uint64_t *joint, int32_t loop,
                          uint64_t *set)
{
    struct graph g;
    graph_init(&g, loop + 1);
    for (int32_t b = 0; b < loop; b++) {
        if (bit_get(joint, b))
            graph_edge(&g, loop, b);
        for (int s = 0; s < k->blocks[b].nsucc; s++)
            if (k->blocks[b].succ[s] < loop)
                graph_edge(&g, k->blocks[b].succ[s], b);
    }
    graph_close(&g);
    graph_reach(&g, loop, GRAPH_ALL, set);
    graph_free(&g);
}

static bool is_poll(const struct jkernel *k, const struct jblock *b)
{
    return b->suspend == SUSPEND_POLL && (b->term == TERM_SUSPEND || k->fibers);
}

/* Is one of the block's successors before the loop in the set? */
static bool leads_to(const struct jblock *blk, const uint64_t *set, int32_t loop)
{
    for (int s = 0; s < blk->nsucc; s++)
        if (blk->succ[s] < loop && bit_get(set, blk->succ[s]))
            return true;
    return false;
}

void jit_find_spin_yields(struct jkernel *k)
{
    size_t bytes = bit_bytes(k->nblocks);
    uint64_t *joint = NULL; /* blocks where lanes act together */
    int32_t most = k->fibers ? JIT_FIBER_YIELD_BLOCKS : JIT_SPIN_YIELD_BLOCKS;
    for (int32_t p = 0; p < k->nblocks && k->nblocks <= most; p++) {
        struct jblock *poll = &k->blocks[p];
        if (!is_poll(k, poll))
            continue;
        if (joint == NULL) {
            joint = xcalloc(bytes, 1);
            for (int32_t b = 0; b < k->nblocks; b++)
                if (jit_is_joint(k, &k->blocks[b]))
                    bit_set(joint, b);
        }
        int32_t loop = poll->succ[0];
        uint64_t *reach = xcalloc(bytes, 1);
        lead_to_joint(k, joint, loop, reach);
        poll->spin_yields = arena_alloc(&k->arena, bytes);
        for (int32_t b = 0; b < k->nblocks; b++)
            if (b != loop && !k->blocks[b].waits && !bit_get(joint, b) &&
                !leads_to(&k->blocks[b], reach, loop))
                bit_set(poll->spin_yields, b);
        free(reach);
        if (!k->fibers)
            continue;
        poll->spin_early = poll->spin_yields;
        poll->spin_yields = arena_alloc(&k->arena, bytes);
        for (int32_t b = 0; b < k->nblocks; b++)
            if (b != loop)
                bit_set(poll->spin_yields, b);
    }
    free(joint);
}
