/* if_conversion.c: short blocks that a branch skips for some lanes are executed under a mask,
 * without a branch.
 *
 * `use ? s[k] : 0` is a branch around a load. Where lanes disagree on it, and differently each
 * time, no predictor knows whether all of a warp's lanes take it, none or some; and a warp that has
 * diverged keeps masks of who waits where. The load under the mask of those that take it costs less
 * than either. It is done for loads of neighbours and of one address, and for cheap arithmetic.
 * With no lane that takes it such code has no effect: a vector access under an empty mask reaches
 * no memory, and one of a single address is redirected to safe memory.
 *
 * Branches whose outcome follows from a warp's first lane and its last, as guards of indices do,
 * stay branches while the warp is together: nearly all warps go one way. But a further trip through
 * a loop over the threads' own indices (front/thread_loops.c) is always one for part of the lanes.
 * It is executed under a mask, too, which is a constant, and so its accesses may be of any kind.
 * Where no lane of the warp makes the trip it is skipped. */
#include "compiler/codegen/control/control.h"
#include "compiler/codegen/instructions.h"
#include "compiler/codegen/values.h"
#include "compiler/passes.h"

/* Blocks in a row, and what they may cost. */
enum { MAX_BLOCKS = 4, MAX_COST = 10 };

static bool is_trip(const struct jkernel *k, int32_t b)
{
    return k->blocks[b].count > 0 && k->instrs[k->blocks[b].first].trip;
}

bool if_trip(const struct jkernel *k, const struct jblock *blk)
{
    return is_trip(k, blk->succ[0]) || is_trip(k, blk->succ[1]);
}

/* The blocks from `side` on that lead to `join` and nowhere else, and are reached in no other way:
 * how many there are, 0: they cannot be executed under a mask. Not where they lead back to the head
 * of a loop: lanes at the head would have gone first, so that what those blocks write was found not
 * to be theirs. */
static int blocks_aside(const struct jkernel *k, int32_t side, int32_t join, int32_t *blocks)
{
    int count = 0, cost = 0;
    for (int32_t b = side; b != join; b = k->blocks[b].succ[0]) {
        const struct jblock *blk = &k->blocks[b];
        if (b > join || count == MAX_BLOCKS || blk->npred != 1 || blk->term != TERM_JUMP ||
            blk->suspend != 0 || blk->waits || blk->serial_end != 0 || blk->serialized)
            return 0;
        for (int32_t n = 0; n < blk->count && !is_trip(k, side); n++)
            cost += jit_masked_cost(k, &k->instrs[blk->first + n]);
        if (cost > MAX_COST)
            return 0;
        blocks[count++] = b;
    }
    return count;
}

static bool emit_under_mask(struct codegen *cg, const int32_t *blocks, int count)
{
    bool ok = true;
    for (int s = 0; s < count && ok; s++) {
        const struct jblock *blk = &cg->k->blocks[blocks[s]];
        cg->cur = blk;
        cg->waiting = cg->flow->waiting_of[blocks[s]];
        if (warp_index_missing(cg, blocks[s]))
            store_warp_index(cg);
        for (int32_t n = 0; n < blk->count && ok; n++)
            ok = emit_instr(cg, &cg->k->instrs[blk->first + n]);
    }
    return ok;
}

bool if_convert(struct codegen *cg, const struct jblock *blk, bool *ok)
{
    LLVMBuilderRef b = cg->alu.b;
    const struct jkernel *k = cg->k;
    int32_t blocks[MAX_BLOCKS];
    int aside = 0, count = 0;
    if (k->opt->checked != 0 || k->fibers || cg->serialized->active)
        return false;
    while (aside < 2 && count == 0) {
        count = blocks_aside(k, blk->succ[aside], blk->succ[1 - aside], blocks);
        aside += count == 0;
    }
    if (count == 0)
        return false;
    LLVMValueRef mask = cg->mask, mask_vec = cg->mask_vec, bits = branch_condition_bits(cg, blk);
    const uint64_t *waiting = cg->waiting;
    bool converged = cg->in_converged_copy;
    bits = aside == 0 ? bits : LLVMBuildNot(b, bits, "");
    cg->mask = LLVMBuildAnd(b, bits, mask_bits(cg), "");
    cg->mask_vec = NULL;
    cg->in_converged_copy = false;
    LLVMValueRef some = LLVMBuildICmp(b, LLVMIntNE, cg->mask, c32(cg, 0), "");
    if (is_trip(k, blocks[0])) {
        LLVMBasicBlockRef trip = new_bb(cg, "trip"), done = new_bb(cg, "trips");
        LLVMBuildCondBr(b, some, trip, done);
        LLVMPositionBuilderAtEnd(b, trip);
        *ok = emit_under_mask(cg, blocks, count);
        LLVMBuildBr(b, done);
        LLVMPositionBuilderAtEnd(b, done);
    } else {
        cg->serialized->executes = some;
        *ok = emit_under_mask(cg, blocks, count);
        cg->serialized->executes = NULL;
    }
    cg->cur = blk;
    cg->waiting = waiting;
    cg->mask = mask;
    cg->mask_vec = mask_vec;
    cg->in_converged_copy = converged;
    flow_goto(cg, blk->succ[1 - aside]);
    return true;
}
