/* idle_blocks.c: blocks that run whether lanes have come to them or not.
 *
 * `while (k < n && text[i + k] == word[k]) k++`: how long some lane goes on differs from warp to
 * warp, and no predictor knows it, so that of the branches after each comparison, which ask whether
 * any lane is left, one is mispredicted in nearly every warp. Where the block that comes next costs
 * less than that, it runs in any case: without active lanes it changes nothing, since vectors are
 * written under the mask, accesses under an empty mask reach no memory, and those of one address
 * are redirected to safe memory. Whether lanes are left is asked after a few such blocks.
 *
 * What is uniform is written even so. But lanes that are pending elsewhere do not read it, or it
 * would be a vector: that is so wherever lanes may be pending while a block runs (analysis/
 * uniformity_solver.c), and all are pending at such blocks here. */
#include "compiler/codegen/control/control.h"
#include "compiler/codegen/instructions.h"
#include "compiler/codegen/values.h"
#include "compiler/passes.h"

enum {
    MOST_COST = 32, /* of idle blocks in a row, in the terms of jit_masked_block_cost */
    KEPT_COST = 8   /* of a predicate that other lanes keep, where masks have no registers */
};

/* Do lanes that leave block p for block b go first, whoever else is pending? */
static bool goes_first(const struct jkernel *k, const struct jblock *p, int32_t b)
{
    for (int s = 0; s < p->nsucc && p->diverges; s++)
        if (p->succ[s] < b)
            return false;
    int32_t first = bit_next(p->frontier, k->nblocks, 0);
    return first < 0 || first >= b;
}

/* How many predicates the block writes of which lanes that are pending elsewhere keep theirs. */
static int kept_predicates(const struct codegen *cg, const struct jblock *blk)
{
    const struct jkernel *k = cg->k;
    const uint64_t *waiting = cg->flow->waiting_of[blk - k->blocks];
    int count = 0;
    for (int32_t n = 0; n < blk->count; n++) {
        struct jroles r;
        jit_roles(&k->instrs[blk->first + n], &r);
        for (int d = 0; d < r.ndef; d++)
            count += k->regs[r.def[d]].type == PTX_PRED && bit_get(waiting, r.def[d]);
    }
    return count;
}

/* What the block costs if it may run for no lane, 0: it must not. */
static int idle_cost(const struct codegen *cg, const struct jblock *blk)
{
    if ((blk->term != TERM_JUMP && blk->term != TERM_BRANCH) || blk->suspend != 0 || blk->waits ||
        blk->serial_end != 0 || blk->serial_from != 0 || blk->serialized || blk->strips_end != 0 ||
        blk->converged || blk->resume != 0)
        return 0;
    int cost = jit_masked_block_cost(cg->k, blk);
    if (!cg->alu.has_avx512)
        cost += KEPT_COST * kept_predicates(cg, blk);
    return cost <= MOST_COST ? cost : 0;
}

/* May block b run when no lane has come from the only block that leads to it? */
static bool may_follow(const struct jkernel *k, int32_t b, const uint64_t *idle)
{
    const struct jblock *blk = &k->blocks[b];
    if (blk->npred != 1 || blk->pred[0] >= b)
        return false;
    const struct jblock *p = &k->blocks[blk->pred[0]];
    if (p->serial_end != 0 || p->serial_from != 0 || p->serialized || p->strips_end != 0 ||
        p->suspend != 0 || !goes_first(k, p, b))
        return false;
    if (p->term == TERM_BRANCH && p->diverges)
        return jit_data_decides(k, p);
    return bit_get(idle, blk->pred[0]);
}

/* Keeps those after which a question less is asked: lanes leave them, or one that follows. */
static bool keep_useful(const struct jkernel *k, uint64_t *idle)
{
    bool some = false;
    for (int32_t b = k->nblocks - 1; b >= 0; b--) {
        const struct jblock *blk = &k->blocks[b];
        bool useful = blk->diverges;
        for (int s = 0; s < blk->nsucc && !useful; s++)
            useful = blk->succ[s] > b && bit_get(idle, blk->succ[s]) &&
                     k->blocks[blk->succ[s]].npred == 1;
        if (!useful)
            bit_clear(idle, b);
        some |= bit_get(idle, b);
    }
    return some;
}

void idle_blocks_choose(struct codegen *cg)
{
    struct jkernel *k = cg->k;
    if (k->opt->checked != 0 || k->fibers || k->one_lane || k->has_poll ||
        cg->flow->pending_set != NULL)
        return;
    uint64_t *idle = arena_alloc(&k->arena, bit_bytes(k->nblocks));
    int *cost = arena_alloc(&k->arena, sizeof *cost * (size_t)k->nblocks);
    for (int32_t b = 1; b < k->nblocks; b++) {
        if (!may_follow(k, b, idle))
            continue;
        int32_t p = k->blocks[b].pred[0];
        int own = idle_cost(cg, &k->blocks[b]), all = own + (bit_get(idle, p) ? cost[p] : 0);
        if (own == 0 || all > MOST_COST)
            continue;
        cost[b] = all;
        bit_set(idle, b);
    }
    if (keep_useful(k, idle))
        cg->flow->idle = idle;
}

bool is_idle_block(const struct codegen *cg, int32_t b)
{
    return cg->flow->idle != NULL && bit_get(cg->flow->idle, b);
}

bool may_be_idle(const struct codegen *cg)
{
    return cg->cur != NULL && !cg->in_converged_copy &&
           is_idle_block(cg, (int32_t)(cg->cur - cg->k->blocks));
}

bool follows_idly(const struct codegen *cg, int32_t b)
{
    return cg->cur != NULL && is_idle_block(cg, b) &&
           cg->k->blocks[b].pred[0] == (int32_t)(cg->cur - cg->k->blocks);
}
