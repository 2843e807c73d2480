/* control_flow.c: control flow between the blocks of a region: masks, pending lanes, and which
 * block runs next.
 *
 * Most warps of most kernels never diverge although they could: a guard like `if (i < n)` holds for
 * all lanes but those of the last warp. So a block may be emitted twice. Its converged copy is for
 * a warp all of whose 32 lanes are active: it needs no mask, and accesses of neighbours are plain
 * vector accesses. A branch on which lanes disagree leaves the converged copies for the divergent
 * ones, and divergent copies of blocks with several predecessors return once the warp has
 * reconverged. Code leaves the same way where an index wraps around within a warp (struct
 * uniformity, `brk`), so converged copies need no test for that at every access. */
#include <stdlib.h>
#include <string.h>

#include "compiler/codegen/control/control.h"
#include "compiler/codegen/frame.h"
#include "compiler/codegen/instructions.h"
#include "compiler/codegen/memory/defined.h"
#include "compiler/codegen/memory/memory.h"
#include "compiler/codegen/values.h"

/* Block b's divergent or converged copy, which is put on the worklist when first asked for. */
static LLVMBasicBlockRef block_copy(struct codegen *cg, int32_t b, bool converged)
{
    LLVMBasicBlockRef *bb = converged ? &cg->flow->converged_bb[b] : &cg->flow->divergent_bb[b];
    if (*bb == NULL) {
        *bb = new_bb(cg, converged ? "converged" : "divergent");
        cg->flow->work[cg->flow->nwork++] = converged ? b + cg->k->nblocks : b;
    }
    return *bb;
}

LLVMBasicBlockRef flow_block(struct codegen *cg, int32_t b) { return block_copy(cg, b, false); }

static LLVMValueRef pending_lanes(struct codegen *cg, int32_t b)
{
    return LLVMBuildLoad2(cg->alu.b, cg->i32, pending_pointer(cg, b), "");
}

/* Lanes are recorded as waiting at block b, which becomes a candidate. Masks are written where
 * lanes come to wait and nowhere else: a slot that lived from the start would cost a phi at every
 * join. */
static void record_waiting(struct codegen *cg, uint64_t *cand, int32_t b, LLVMValueRef lanes)
{
    sync_leave(cg, b, lanes);
    bool waiting = bit_get(cand, b);
    bit_set(cand, b);
    if (cg->k->blocks[b].converged)
        return; /* all lanes are there, or none */
    if (waiting)
        lanes = LLVMBuildOr(cg->alu.b, pending_lanes(cg, b), lanes, "");
    LLVMBuildStore(cg->alu.b, lanes, pending_pointer(cg, b));
}

/* Lanes go to wait at block b, which runs in this region. */
static void add_pending(struct codegen *cg, uint64_t *cand, int32_t b, LLVMValueRef lanes)
{
    if (cg->flow->pending_set != NULL)
        pending_set_add(cg, b, lanes);
    record_waiting(cg, cand, b, lanes);
}

/* No lane waits at the blocks of `set` that are not in `cand`. */
static void clear_waiting(struct codegen *cg, const uint64_t *set, const uint64_t *cand)
{
    struct jkernel *k = cg->k;
    EACH_BIT (c, set, k->nblocks)
        if (!k->blocks[c].converged && !k->blocks[c].serialized && !bit_get(cand, c))
            LLVMBuildStore(cg->alu.b, c32(cg, 0), pending_pointer(cg, c));
}

/* The candidates' frontiers may name blocks at which, on this path, no lane waits. */
static void clear_others(struct codegen *cg, const uint64_t *cand)
{
    struct jkernel *k = cg->k;
    uint64_t *others = xcalloc(bit_bytes(k->nblocks), 1);
    EACH_BIT (c, cand, k->nblocks)
        bit_union(others, k->blocks[c].frontier, k->nblocks);
    clear_waiting(cg, others, cand);
    free(others);
}

/* The current block ends: the blocks at which lanes may wait meanwhile, as a set of its own. */
static uint64_t *candidates(struct codegen *cg)
{
    pending_set_leave(cg);
    uint64_t *cand = xcalloc(bit_bytes(cg->k->nblocks), 1);
    if (!cg->in_converged_copy)
        bit_copy(cand, cg->cur->frontier, cg->k->nblocks);
    return cand;
}

/* Runs the first of the candidate blocks that has lanes waiting, or one that runs without; `last`
 * is where to go when none before it has: a candidate that then must have some, or -1 for "the warp
 * is done". */
static void run_first_waiting(struct codegen *cg, const uint64_t *cand, int32_t last)
{
    LLVMBuilderRef b = cg->alu.b;
    int32_t n = cg->k->nblocks;
    if (may_be_idle(cg))
        last = -1; /* no lane may have come to where these lead */
    EACH_BIT (c, cand, n) {
        if (cg->k->blocks[c].serialized)
            continue; /* no lane ever waits where lanes are serialized */
        if (c == last || follows_idly(cg, c) || (last >= 0 && cg->k->blocks[c].converged)) {
            LLVMBuildBr(b, block_copy(cg, c, false));
            return;
        }
        LLVMBasicBlockRef next = new_bb(cg, "skip");
        LLVMValueRef lanes = cg->k->blocks[c].converged
                                 ? LLVMBuildLoad2(b, cg->i32, cg->live_slot, "")
                                 : pending_lanes(cg, c);
        LLVMValueRef any = LLVMBuildICmp(b, LLVMIntNE, lanes, c32(cg, 0), "");
        LLVMBuildCondBr(b, any, block_copy(cg, c, false), next);
        LLVMPositionBuilderAtEnd(b, next);
    }
    LLVMBuildBr(b, cg->flow->next_warp);
}

/* The first block of a set at which lanes may wait, -1: there is none. */
static int32_t first_candidate(const struct jkernel *k, const uint64_t *cand)
{
    int32_t c = bit_next(cand, k->nblocks, 0);
    while (c >= 0 && k->blocks[c].serialized)
        c = bit_next(cand, k->nblocks, c + 1);
    return c;
}

void flow_chain(struct codegen *cg, const uint64_t *cand, int32_t last)
{
    if (cg->flow->pending_set != NULL) {
        int32_t first = first_candidate(cg->k, cand);
        if (first >= 0)
            pending_set_search(cg, first);
        else
            LLVMBuildBr(cg->alu.b, cg->flow->next_warp);
        return;
    }
    clear_others(cg, cand);
    run_first_waiting(cg, cand, last);
}

/* Goes to the next block with lanes waiting that may run before the poll's loop; the builder goes
 * on where there is none. The search begins after the loop and wraps around to what lies before it:
 * several loops that wait alternate then, and no lane that waits elsewhere is passed over. */
static void run_yield_targets(struct codegen *cg, const struct jblock *poll)
{
    LLVMBuilderRef b = cg->alu.b;
    int32_t n = cg->k->nblocks, loop = poll->succ[0];
    for (int32_t step = 1; step < n; step++) {
        int32_t c = (loop + step) % n;
        if (!bit_get(poll->frontier, c) || !bit_get(poll->spin_yields, c) ||
            cg->k->blocks[c].serialized)
            continue;
        LLVMBasicBlockRef next = new_bb(cg, "skip");
        LLVMValueRef any = LLVMBuildICmp(b, LLVMIntNE, pending_lanes(cg, c), c32(cg, 0), "");
        LLVMBuildCondBr(b, any, block_copy(cg, c, false), next);
        LLVMPositionBuilderAtEnd(b, next);
    }
}

void flow_resume(struct codegen *cg, const struct jblock *poll, const uint64_t *cand)
{
    clear_others(cg, cand);
    run_yield_targets(cg, poll);
    run_first_waiting(cg, cand, poll->succ[0]);
}

void flow_yield(struct codegen *cg, const struct jblock *poll)
{
    uint64_t *cand = candidates(cg);
    add_pending(cg, cand, poll->succ[0], mask_bits(cg));
    clear_others(cg, cand);
    free(cand);
    run_yield_targets(cg, poll);
}

/* With a set of blocks at which lanes wait: one search for all polls. */
static void offer_by_search(struct codegen *cg, const struct jblock *poll, LLVMValueRef may)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMBasicBlockRef first = new_bb(cg, "others_first"), stay = new_bb(cg, "stay");
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntNE, may, c32(cg, 0), ""), first, stay);
    LLVMPositionBuilderAtEnd(b, first);
    uint64_t *cand = candidates(cg);
    add_pending(cg, cand, poll->succ[0], mask_bits(cg));
    free(cand);
    pending_set_offer(cg, poll, may);
    LLVMPositionBuilderAtEnd(b, stay);
}

void flow_offer(struct codegen *cg, const struct jblock *poll, LLVMValueRef may)
{
    LLVMBuilderRef b = cg->alu.b;
    int32_t n = cg->k->nblocks, loop = poll->succ[0];
    if (cg->flow->pending_set != NULL) {
        offer_by_search(cg, poll, may);
        return;
    }
    uint64_t *cand = candidates(cg);
    add_pending(cg, cand, loop, mask_bits(cg));
    clear_others(cg, cand);
    free(cand);
    for (int32_t step = 1; step < n; step++) {
        int32_t c = (loop + step) % n;
        if (!bit_get(poll->frontier, c) || !bit_get(poll->spin_yields, c) ||
            cg->k->blocks[c].serialized)
            continue;
        LLVMBasicBlockRef next = new_bb(cg, "skip");
        bool early = bit_get(poll->spin_early, c);
        LLVMValueRef any = LLVMBuildICmp(b, LLVMIntNE, pending_lanes(cg, c), c32(cg, 0), "");
        LLVMValueRef ok = LLVMBuildICmp(b, LLVMIntUGE, may, c32(cg, early ? 1 : 2), "");
        LLVMBuildCondBr(b, LLVMBuildAnd(b, any, ok, ""), block_copy(cg, c, false), next);
        LLVMPositionBuilderAtEnd(b, next);
    }
}

/* With a set of blocks at which lanes wait: goes to block `to` if no lanes can wait before it. */
static bool go_first(struct codegen *cg, const uint64_t *cand, int32_t to, LLVMValueRef lanes)
{
    int32_t first = first_candidate(cg->k, cand);
    if (cg->flow->pending_set == NULL || (first >= 0 && first < to))
        return false;
    if (first == to) { /* some may wait there already */
        pending_set_remove(cg, to);
        if (!cg->k->blocks[to].converged)
            lanes = LLVMBuildOr(cg->alu.b, pending_lanes(cg, to), lanes, "");
    }
    if (!cg->k->blocks[to].converged)
        LLVMBuildStore(cg->alu.b, lanes, pending_pointer(cg, to));
    LLVMBuildBr(cg->alu.b, block_copy(cg, to, false));
    return true;
}

/* All active lanes go on at block `to`. */
void flow_goto(struct codegen *cg, int32_t to)
{
    if (cg->in_converged_copy) {
        LLVMBuildBr(cg->alu.b, block_copy(cg, to, true));
        return;
    }
    LLVMValueRef lanes = mask_bits(cg);
    uint64_t *cand = candidates(cg);
    if (!go_first(cg, cand, to, lanes)) {
        add_pending(cg, cand, to, lanes);
        flow_chain(cg, cand, to);
    }
    free(cand);
}

void flow_wait(struct codegen *cg, const struct jblock *blk)
{
    uint64_t *cand = candidates(cg);
    LLVMValueRef lanes = mask_bits(cg);
    if (cg->flow->pending_set != NULL)
        pending_set_mark(cg, blk->succ[0], lanes);
    record_waiting(cg, cand, blk->succ[0], lanes); /* runs in the next region */
    if (cg->in_converged_copy)                     /* the frame has masks for all who might wait */
        clear_waiting(cg, cg->frame->resume_blocks[blk->resume], cand);
    free(cand);
}

/* i1: no value that block b may read is broken; NULL: none can be. */
static LLVMValueRef unbroken_values(struct codegen *cg, int32_t b)
{
    const struct jkernel *k = cg->k;
    LLVMValueRef all = NULL;
    EACH_BIT (r, k->blocks[b].live_in, (int32_t)k->nregs) {
        const struct uniformity *s = &k->regs[r].uniformity;
        if (k->regs[r].remat && cg->frame->reads != NULL && !bit_get(cg->frame->reads, r))
            continue; /* it is not computed in this region */
        for (int n = 0; s->brk != 0 && n < nsegs(s->seg); n++) {
            LLVMValueRef v = LLVMBuildLoad2(cg->alu.b, cg->i32, cg->regs[r].brk[n], "");
            v = LLVMBuildICmp(cg->alu.b, LLVMIntEQ, v, c32(cg, 1u << s->seg), "");
            all = all != NULL ? LLVMBuildAnd(cg->alu.b, all, v, "") : v;
        }
    }
    return all;
}

bool flow_enter_converged(struct codegen *cg, int32_t b, LLVMValueRef lanes)
{
    LLVMBuilderRef ir = cg->alu.b;
    if (!cg->flow->has_converged)
        return true;
    LLVMValueRef ok = unbroken_values(cg, b);
    if (lanes != NULL) {
        LLVMValueRef all = LLVMBuildICmp(ir, LLVMIntEQ, lanes, c32(cg, 0xffffffffu), "");
        ok = ok != NULL ? LLVMBuildAnd(ir, all, ok, "") : all;
    }
    if (ok == NULL) {
        LLVMBuildBr(ir, block_copy(cg, b, true));
        return false;
    }
    LLVMBasicBlockRef no = new_bb(cg, "partial");
    branch_likely(cg, ok, block_copy(cg, b, true), no);
    LLVMPositionBuilderAtEnd(ir, no);
    return true;
}

/* A branch in a converged copy: the edges on which all lanes stay together. Code goes on for lanes
 * that diverge. Returns those that branch, NULL: they have not been computed. `all` and `none` are
 * those of branch_from_bounds, or NULL. */
static LLVMValueRef converged_branch(struct codegen *cg, const struct jblock *blk, LLVMValueRef all,
                                     LLVMValueRef none)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef taken = NULL;
    if (all == NULL) {
        taken = branch_condition_bits(cg, blk);
        all = LLVMBuildICmp(b, LLVMIntEQ, taken, c32(cg, 0xffffffffu), "");
        none = LLVMBuildICmp(b, LLVMIntEQ, taken, c32(cg, 0), "");
    }
    LLVMBasicBlockRef differ = new_bb(cg, "differ"), mixed = new_bb(cg, "mixed");
    LLVMBuildCondBr(b, all, block_copy(cg, blk->succ[0], true), differ);
    LLVMPositionBuilderAtEnd(b, differ);
    branch_likely(cg, none, block_copy(cg, blk->succ[1], true), mixed);
    LLVMPositionBuilderAtEnd(b, mixed);
    return taken;
}

/* The active lanes go on at one of two successors. */
static void diverge(struct codegen *cg, const struct jblock *blk, LLVMValueRef taken)
{
    LLVMValueRef other = LLVMBuildXor(cg->alu.b, mask_bits(cg), taken, "");
    uint64_t *cand = candidates(cg);
    add_pending(cg, cand, blk->succ[0], taken);
    add_pending(cg, cand, blk->succ[1], other);
    int32_t last = blk->succ[0] > blk->succ[1] ? blk->succ[0] : blk->succ[1];
    flow_chain(cg, cand, last);
    free(cand);
}

static void emit_gate(struct codegen *cg, const struct jblock *blk)
{
    if (cg->in_converged_copy || blk->converged)
        flow_goto(cg, blk->succ[0]);
    else
        diverge(cg, blk, gate_ready_lanes(cg, blk));
}

static bool emit_branch(struct codegen *cg, const struct jblock *blk)
{
    LLVMBuilderRef b = cg->alu.b;
    struct ptx_operand cond = {.kind = PTX_OPR_REG, .reg = blk->cond, .neg = blk->cond_neg};
    if (!blk->diverges) {
        LLVMValueRef c = operand_scalar(cg, &cond, PTX_PRED, SEG_WARP, 0);
        LLVMBasicBlockRef yes = new_bb(cg, "yes"), no = new_bb(cg, "no");
        LLVMBuildCondBr(b, c, yes, no);
        LLVMPositionBuilderAtEnd(b, yes);
        flow_goto(cg, blk->succ[0]);
        LLVMPositionBuilderAtEnd(b, no);
        flow_goto(cg, blk->succ[1]);
        return true;
    }
    LLVMValueRef all = NULL, none = NULL, taken = NULL;
    bool bounds = cg->in_converged_copy && !if_trip(cg->k, blk) &&
                  branch_from_bounds(cg, blk, &all, &none),
         ok = true;
    if (!bounds && if_convert(cg, blk, &ok))
        return ok;
    if (cg->in_converged_copy)
        taken = converged_branch(cg, blk, all, none);
    taken =
        LLVMBuildAnd(b, taken != NULL ? taken : branch_condition_bits(cg, blk), mask_bits(cg), "");
    diverge(cg, blk, taken);
    return true;
}

static void emit_switch(struct codegen *cg, const struct jblock *blk)
{
    LLVMBuilderRef b = cg->alu.b;
    struct ptx_operand index = {.kind = PTX_OPR_REG, .reg = blk->cond};
    if (!blk->diverges) {
        LLVMBasicBlockRef other = new_bb(cg, "case");
        LLVMValueRef v = operand_scalar(cg, &index, PTX_B32, SEG_WARP, 0);
        LLVMValueRef sw = LLVMBuildSwitch(b, v, other, (unsigned)blk->nsucc);
        LLVMPositionBuilderAtEnd(b, other);
        flow_goto(cg, blk->succ[blk->nsucc - 1]);
        for (int n = 0; n + 1 < blk->nsucc; n++) {
            LLVMBasicBlockRef to = new_bb(cg, "case");
            LLVMAddCase(sw, c32(cg, (uint64_t)n), to);
            LLVMPositionBuilderAtEnd(b, to);
            flow_goto(cg, blk->succ[n]);
        }
        return;
    }
    LLVMValueRef v = operand_vector(cg, &index, PTX_B32), left = mask_bits(cg);
    uint64_t *cand = candidates(cg);
    int32_t last = -1;
    for (int n = 0; n < blk->nsucc; n++) {
        LLVMValueRef here = left;
        if (n + 1 < blk->nsucc) {
            LLVMValueRef eq =
                LLVMBuildICmp(b, LLVMIntEQ, v, splat(cg, c32(cg, (uint64_t)n), JIT_WARP), "");
            here = LLVMBuildAnd(b, left, bits_of(cg, eq), "");
            left = LLVMBuildXor(b, left, here, "");
        }
        add_pending(cg, cand, blk->succ[n], here);
        last = blk->succ[n] > last ? blk->succ[n] : last;
    }
    flow_chain(cg, cand, last);
    free(cand);
}

static void emit_exit(struct codegen *cg, const struct jblock *blk)
{
    LLVMBuilderRef b = cg->alu.b;
    bool end = blk->term_instr->noperands == 0; /* no return: threads end */
    if (cg->k->is_function && end) {
        LLVMValueRef ended = LLVMBuildLoad2(b, cg->i32, cg->ended, "");
        LLVMBuildStore(b, LLVMBuildOr(b, ended, mask_bits(cg), ""), cg->ended);
    }
    if (cg->k->fibers && (end || cg->k->entry->is_entry))
        emit_lanes_end(cg);
    if (blk->converged || cg->in_converged_copy) {
        LLVMBuildBr(b, cg->flow->next_warp);
        return;
    }
    /* in a function `exit` is its return: the lanes that have reached it wait for the others */
    LLVMValueRef live = LLVMBuildLoad2(b, cg->i32, cg->live_slot, "");
    live = LLVMBuildAnd(b, live, LLVMBuildNot(b, mask_bits(cg), ""), "");
    LLVMBuildStore(b, live, cg->live_slot);
    pending_set_leave(cg);
    flow_chain(cg, blk->frontier, -1);
}

/* The lanes that the divergent copy of the current block runs for. */
static void take_mask(struct codegen *cg)
{
    const struct jblock *blk = cg->cur;
    cg->mask_vec = NULL;
    if (!blk->converged)
        cg->mask = pending_lanes(cg, (int32_t)(blk - cg->k->blocks));
    else
        cg->mask = cg->always_full ? NULL : LLVMBuildLoad2(cg->alu.b, cg->i32, cg->live_slot, "");
}

/* Does instruction i widen an index that may wrap around? */
static bool may_break(struct codegen *cg, const struct ptx_instr *i)
{
    int ndst = jit_ndst(i);
    if (ndst != 1 || i->op == PTX_OP_call || uniformity_of(cg->k, i, 0).brk == 0)
        return false;
    for (int n = ndst; n < i->noperands; n++)
        if (operand_uniformity(cg->k, &i->operands[n]).brk != 0)
            return false;
    return true;
}

/* Where the divergent copies resume at instruction i. */
static LLVMBasicBlockRef split_point(struct codegen *cg, const struct ptx_instr *i)
{
    LLVMBasicBlockRef *at = &cg->flow->split[i - cg->k->instrs];
    if (*at == NULL)
        *at = new_bb(cg, "resume");
    return *at;
}

void flow_stay_converged(struct codegen *cg, const struct ptx_instr *i, LLVMValueRef unbroken)
{
    LLVMBuilderRef b = cg->alu.b;
    int32_t cur = (int32_t)(cg->cur - cg->k->blocks);
    LLVMBasicBlockRef on = new_bb(cg, "unbroken"), out = new_bb(cg, "broken");
    branch_likely(cg, unbroken, on, out);
    LLVMPositionBuilderAtEnd(b, out);
    uint64_t *cand = candidates(cg);
    add_pending(cg, cand, cur, c32(cg, 0xffffffffu));
    clear_waiting(cg, cg->cur->frontier, cand);
    free(cand);
    LLVMBuildBr(b, split_point(cg, i));
    block_copy(cg, cur, false);
    LLVMPositionBuilderAtEnd(b, on);
}

/* In a block that may run without lanes: accesses of one address are made if there are some. */
static void begin_idle(struct codegen *cg)
{
    if (may_be_idle(cg))
        cg->serialized->executes =
            LLVMBuildICmp(cg->alu.b, LLVMIntNE, mask_bits(cg), c32(cg, 0), "");
}

static bool emit_instrs(struct codegen *cg, const struct jblock *blk, int32_t from, int32_t to)
{
    for (int32_t n = from; n < to; n++) {
        const struct ptx_instr *i = &cg->k->instrs[blk->first + n];
        if (cg->flow->has_converged && !cg->in_converged_copy && may_break(cg, i)) {
            LLVMBuildBr(cg->alu.b, split_point(cg, i));
            LLVMPositionBuilderAtEnd(cg->alu.b, split_point(cg, i));
            take_mask(cg);
            begin_idle(cg);
        }
        if (!emit_instr(cg, i))
            return false;
    }
    return true;
}

/* In the middle of a block: lanes are serialized from here on unless they are neighbours, for whom
 * code goes on. */
static bool emit_fork(struct codegen *cg, const struct jblock *blk)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMBasicBlockRef adjacent = new_bb(cg, "adjacent"), serial = new_bb(cg, "serial");
    mask_vector(cg); /* made here, so that both sides may use it */
    branch_likely(cg, likely_adjacent(cg, &cg->k->instrs[blk->first + blk->serial_from - 1]),
                  adjacent, serial);
    LLVMPositionBuilderAtEnd(b, serial);
    bool ok = serialize_lanes(cg, blk);
    flow_goto(cg, blk->serial_end);
    LLVMPositionBuilderAtEnd(b, adjacent);
    return ok;
}

/* Do all accesses that would need gathers have patterns that are known at compile time? Then lanes
 * stay together. */
static bool all_permute(struct codegen *cg, const struct jblock *blk)
{
    for (int s = -1; s < 2; s++) {
        const struct jblock *x = s < 0 ? blk : &cg->k->blocks[blk->succ[s]];
        if (x - cg->k->blocks == blk->serial_end)
            continue;
        for (int32_t n = s < 0 ? blk->serial_from - 1 : 0; n < x->count; n++) {
            const struct ptx_instr *i = &cg->k->instrs[x->first + n];
            if ((i->op == PTX_OP_ld || i->op == PTX_OP_st) && !mem_permutes(cg, i))
                return false;
        }
    }
    return true;
}

static bool emit_block(struct codegen *cg, int32_t index)
{
    bool converged = index >= cg->k->nblocks;
    index -= converged ? cg->k->nblocks : 0;
    const struct jblock *blk = &cg->k->blocks[index];
    LLVMPositionBuilderAtEnd(cg->alu.b, block_copy(cg, index, converged));
    cg->cur = blk;
    cg->in_converged_copy = converged;
    cg->waiting = blk->converged || converged ? NULL : cg->flow->waiting_of[index];
    cg->mask = cg->mask_vec = NULL;
    if (!converged) {
        if (blk->term == TERM_GATE)
            gate_collect(cg, blk);
        take_mask(cg);
        if (blk->npred > 1 && !flow_enter_converged(cg, index, cg->mask)) {
            /* what follows serves warps that leave the converged copy within the block */
            LLVMPositionBuilderAtEnd(cg->alu.b, new_bb(cg, "never"));
            take_mask(cg);
        }
    }
    int32_t index_at = warp_index_missing(cg, index) && blk->serial_end == 0 && blk->strips_end == 0
                           ? warp_index_position(cg->k, blk)
                           : 0;
    if (warp_index_missing(cg, index) && index_at == 0)
        store_warp_index(cg);
    if (blk->serial_end != 0 && blk->serial_from == 0) {
        bool done = serialize_lanes(cg, blk);
        flow_goto(cg, blk->serial_end);
        cg->in_converged_copy = false;
        return done;
    }
    if (strips_pay(cg, blk)) {
        bool done = serialize_strips(cg, blk);
        flow_goto(cg, blk->strips_end);
        cg->in_converged_copy = false;
        return done;
    }
    begin_idle(cg);
    int32_t fork = blk->serial_from != 0 && !cg->alu.has_avx512 && !all_permute(cg, blk)
                       ? blk->serial_from - 1
                       : 0;
    bool ok = true;
    if (index_at > 0) {
        ok = emit_instrs(cg, blk, 0, index_at);
        store_warp_index(cg);
    }
    ok = ok && emit_instrs(cg, blk, index_at, fork) && (fork == 0 || emit_fork(cg, blk)) &&
         emit_instrs(cg, blk, fork > index_at ? fork : index_at, blk->count);
    cg->serialized->executes = NULL;
    if (ok) {
        switch (blk->term) {
        case TERM_JUMP:
            if (blk->suspend == SUSPEND_POLL && cg->k->fibers)
                emit_lane_poll(cg, blk);
            else if (blk->suspend == SUSPEND_POLL)
                emit_spin(cg);
            else if (blk->suspend == SUSPEND_SYNC)
                call_helper(cg, "weir_rt_wait_here", LLVMVoidTypeInContext(cg->alu.ctx),
                            &cg->block.ptr, 1);
            flow_goto(cg, blk->succ[0]);
            break;
        case TERM_BRANCH: ok = emit_branch(cg, blk); break;
        case TERM_SWITCH: emit_switch(cg, blk); break;
        case TERM_GATE: emit_gate(cg, blk); break;
        case TERM_EXIT: emit_exit(cg, blk); break;
        default: emit_suspend(cg, blk); break;
        }
    }
    cg->in_converged_copy = false;
    return ok;
}

bool flow_emit(struct codegen *cg)
{
    bool ok = !cg->failed;
    while (ok && cg->flow->nwork > 0)
        ok = emit_block(cg, cg->flow->work[--cg->flow->nwork]) && !cg->failed;
    pending_set_emit_search(cg);
    return ok;
}

void flow_open(struct codegen *cg)
{
    struct jkernel *k = cg->k;
    memset(cg->flow->divergent_bb, 0, sizeof *cg->flow->divergent_bb * (size_t)k->nblocks);
    memset(cg->flow->converged_bb, 0, sizeof *cg->flow->converged_bb * (size_t)k->nblocks);
    memset(cg->flow->split, 0, sizeof *cg->flow->split * k->ninstrs);
    cg->flow->nwork = 0;
    pending_set_open(cg);
}

void flow_start(struct codegen *cg, int32_t block, LLVMValueRef lanes)
{
    cg->cur = NULL; /* none leads there */
    if (!flow_enter_converged(cg, block, cg->always_full ? NULL : lanes))
        return;
    uint64_t *cand = xcalloc(bit_bytes(cg->k->nblocks), 1);
    pending_set_clear(cg);
    if (!go_first(cg, cand, block, lanes)) {
        add_pending(cg, cand, block, lanes);
        flow_chain(cg, cand, block);
    }
    free(cand);
}
