/* emit_flow: control flow between the blocks of a region: masks, who waits where, who runs next.
 *
 * Most warps of most kernels never diverge although they could: a guard like `if (i < n)` holds for
 * all lanes but those of the last warp. So a block may be emitted twice. Its *whole* copy is for a
 * warp all of whose 32 lanes are there: it needs no mask, and accesses of neighbours are plain
 * vector accesses. A branch on which the lanes disagree leaves the whole copies for the general
 * ones, and general copies of blocks where ways meet go back once the warp is whole again. The same
 * way out is taken where an index wraps around within a warp (struct shape, `brk`), which whole
 * copies therefore need not look for at every access. */
#include "compiler/codegen/codegen.h"

#include <stdlib.h>
#include <string.h>

/* Block b's general or whole copy, which is put on the list of those to be emitted when first asked
 * for. */
static LLVMBasicBlockRef control_flow_copy(struct emit *e, int32_t b, bool whole)
{
    LLVMBasicBlockRef *bb = whole ? &e->whole_bb[b] : &e->bb[b];
    if (*bb == NULL) {
        *bb = new_bb(e, whole ? "whole" : "b");
        e->work[e->nwork++] = whole ? b + e->k->nblocks : b;
    }
    return *bb;
}

static LLVMValueRef control_flow_pending(struct emit *e, int32_t b)
{
    return LLVMBuildLoad2(e->alu.b, e->i32, e->pending_slot[b], "");
}

/* Lanes go to wait at block b, which joins the candidates. Masks are written where lanes come to
 * wait and nowhere else: a slot that lived from the start would cost a phi at every join. */
static void add_pending(struct emit *e, uint64_t *cand, int32_t b, LLVMValueRef lanes)
{
    bool waiting = bit_get(cand, b);
    bit_set(cand, b);
    if (e->k->blocks[b].alone)
        return; /* everybody is there, or nobody */
    if (waiting)
        lanes = LLVMBuildOr(e->alu.b, control_flow_pending(e, b), lanes, "");
    LLVMBuildStore(e->alu.b, lanes, e->pending_slot[b]);
}

/* Nobody waits at the blocks of `set` that are not in `cand`. */
static void clear_waiting(struct emit *e, const uint64_t *set, const uint64_t *cand)
{
    struct jkernel *k = e->k;
    for (int32_t c = bit_next(set, k->nblocks, 0); c >= 0; c = bit_next(set, k->nblocks, c + 1))
        if (!k->blocks[c].alone && !k->blocks[c].inside && !bit_get(cand, c))
            LLVMBuildStore(e->alu.b, c32(e, 0), e->pending_slot[c]);
}

/* The candidates' frontiers may name blocks at which, on this path, nobody waits. */
static void clear_others(struct emit *e, const uint64_t *cand)
{
    struct jkernel *k = e->k;
    size_t words = (size_t)bit_words(k->nblocks);
    uint64_t *others = xcalloc(words, 8);
    for (int32_t c = bit_next(cand, k->nblocks, 0); c >= 0; c = bit_next(cand, k->nblocks, c + 1))
        for (size_t w = 0; w < words; w++)
            others[w] |= k->blocks[c].frontier[w];
    clear_waiting(e, others, cand);
    free(others);
}

/* The blocks at which lanes may wait while the current one runs, as a set of its own. */
static uint64_t *control_flow_candidates(struct emit *e)
{
    size_t words = (size_t)bit_words(e->k->nblocks);
    uint64_t *cand = xcalloc(words, 8);
    if (!e->in_whole)
        memcpy(cand, e->cur->frontier, words * 8);
    return cand;
}

/* Runs the first of the candidate blocks that has lanes waiting; `last` is where to go when none
 * before it has: a candidate that then must have some, or -1 for "the warp is done". */
static void chain(struct emit *e, const uint64_t *cand, int32_t last)
{
    LLVMBuilderRef b = e->alu.b;
    int32_t n = e->k->nblocks;
    for (int32_t c = bit_next(cand, n, 0); c >= 0; c = bit_next(cand, n, c + 1)) {
        if (e->k->blocks[c].inside)
            continue; /* nobody ever waits where lanes take turns */
        if (c == last || (last >= 0 && e->k->blocks[c].alone)) {
            LLVMBuildBr(b, control_flow_copy(e, c, false));
            return;
        }
        LLVMBasicBlockRef next = new_bb(e, "skip");
        LLVMValueRef lanes = e->k->blocks[c].alone ? LLVMBuildLoad2(b, e->i32, e->live_slot, "")
                                                   : control_flow_pending(e, c);
        LLVMValueRef any = LLVMBuildICmp(b, LLVMIntNE, lanes, c32(e, 0), "");
        LLVMBuildCondBr(b, any, control_flow_copy(e, c, false), next);
        LLVMPositionBuilderAtEnd(b, next);
    }
    LLVMBuildBr(b, e->next_warp);
}

void flow_chain(struct emit *e, const uint64_t *cand, int32_t last)
{
    clear_others(e, cand);
    chain(e, cand, last);
}

/* Goes to the next block with lanes waiting that may go before the poll's loop; the builder goes on
 * where there is none. The search begins behind the loop and comes round to what lies before it:
 * several loops that wait take turns then, and nobody who waits elsewhere is passed over. */
static void yield(struct emit *e, const struct jblock *poll)
{
    LLVMBuilderRef b = e->alu.b;
    int32_t n = e->k->nblocks, loop = poll->succ[0];
    for (int32_t step = 1; step < n; step++) {
        int32_t c = (loop + step) % n;
        if (!bit_get(poll->frontier, c) || !bit_get(poll->yields, c) || e->k->blocks[c].inside)
            continue;
        LLVMBasicBlockRef next = new_bb(e, "skip");
        LLVMValueRef any = LLVMBuildICmp(b, LLVMIntNE, control_flow_pending(e, c), c32(e, 0), "");
        LLVMBuildCondBr(b, any, control_flow_copy(e, c, false), next);
        LLVMPositionBuilderAtEnd(b, next);
    }
}

void flow_resume(struct emit *e, const struct jblock *poll, const uint64_t *cand)
{
    clear_others(e, cand);
    yield(e, poll);
    chain(e, cand, poll->succ[0]);
}

void flow_yield(struct emit *e, const struct jblock *poll)
{
    uint64_t *cand = control_flow_candidates(e);
    add_pending(e, cand, poll->succ[0], mask_bits(e));
    clear_others(e, cand);
    free(cand);
    yield(e, poll);
}

/* All active lanes go on at block `to`. */
void flow_goto(struct emit *e, int32_t to)
{
    if (e->in_whole) {
        LLVMBuildBr(e->alu.b, control_flow_copy(e, to, true));
        return;
    }
    uint64_t *cand = control_flow_candidates(e);
    add_pending(e, cand, to, mask_bits(e));
    flow_chain(e, cand, to);
    free(cand);
}

void flow_wait(struct emit *e, const struct jblock *blk)
{
    uint64_t *cand = control_flow_candidates(e);
    add_pending(e, cand, blk->succ[0], mask_bits(e));
    if (e->in_whole) /* the frame has a place for all who might wait */
        clear_waiting(e, e->resume_cand[blk->resume], cand);
    free(cand);
}

/* i1: no value that block b may read is broken; NULL: none can be. */
static LLVMValueRef control_flow_unbroken(struct emit *e, int32_t b)
{
    const struct jkernel *k = e->k;
    LLVMValueRef all = NULL;
    for (int32_t r = bit_next(k->blocks[b].live_in, (int32_t)k->nregs, 0); r >= 0;
         r = bit_next(k->blocks[b].live_in, (int32_t)k->nregs, r + 1)) {
        const struct shape *s = &k->regs[r].shape;
        if (k->regs[r].remat && e->reads != NULL && !bit_get(e->reads, r))
            continue; /* it is not computed in this region */
        for (int n = 0; s->brk != 0 && n < nsegs(s->seg); n++) {
            LLVMValueRef v = LLVMBuildLoad2(e->alu.b, e->i32, e->regs[r].brk[n], "");
            v = LLVMBuildICmp(e->alu.b, LLVMIntEQ, v, c32(e, 1u << s->seg), "");
            all = all ? LLVMBuildAnd(e->alu.b, all, v, "") : v;
        }
    }
    return all;
}

bool flow_whole(struct emit *e, int32_t b, LLVMValueRef lanes)
{
    LLVMBuilderRef ir = e->alu.b;
    if (!e->wholes)
        return true;
    LLVMValueRef ok = control_flow_unbroken(e, b);
    if (lanes != NULL) {
        LLVMValueRef all = LLVMBuildICmp(ir, LLVMIntEQ, lanes, c32(e, 0xffffffffu), "");
        ok = ok ? LLVMBuildAnd(ir, all, ok, "") : all;
    }
    if (ok == NULL) {
        LLVMBuildBr(ir, control_flow_copy(e, b, true));
        return false;
    }
    LLVMBasicBlockRef no = new_bb(e, "partial");
    branch_likely(e, ok, control_flow_copy(e, b, true), no);
    LLVMPositionBuilderAtEnd(ir, no);
    return true;
}

/* A branch of a whole warp: the ways on which all lanes go together. Code goes on behind for lanes
 * that part. Returns those that branch, NULL: they were not needed so far. */
static LLVMValueRef control_flow_together(struct emit *e, const struct jblock *blk)
{
    LLVMBuilderRef b = e->alu.b;
    LLVMValueRef all, none, taken = NULL;
    if (!emit_ends(e, blk, &all, &none)) {
        taken = emit_condition(e, blk);
        all = LLVMBuildICmp(b, LLVMIntEQ, taken, c32(e, 0xffffffffu), "");
        none = LLVMBuildICmp(b, LLVMIntEQ, taken, c32(e, 0), "");
    }
    LLVMBasicBlockRef differ = new_bb(e, "differ"), mixed = new_bb(e, "mixed");
    LLVMBuildCondBr(b, all, control_flow_copy(e, blk->succ[0], true), differ);
    LLVMPositionBuilderAtEnd(b, differ);
    branch_likely(e, none, control_flow_copy(e, blk->succ[1], true), mixed);
    LLVMPositionBuilderAtEnd(b, mixed);
    return taken;
}

static void control_flow_branch(struct emit *e, const struct jblock *blk)
{
    LLVMBuilderRef b = e->alu.b;
    struct ptx_operand cond = {.kind = PTX_OPR_REG, .reg = blk->cond, .neg = blk->cond_neg};
    if (!blk->diverges) {
        LLVMValueRef c = operand_scalar(e, &cond, PTX_PRED, SEG_WARP, 0);
        LLVMBasicBlockRef yes = new_bb(e, "yes"), no = new_bb(e, "no");
        LLVMBuildCondBr(b, c, yes, no);
        LLVMPositionBuilderAtEnd(b, yes);
        flow_goto(e, blk->succ[0]);
        LLVMPositionBuilderAtEnd(b, no);
        flow_goto(e, blk->succ[1]);
        return;
    }
    LLVMValueRef taken = e->in_whole ? control_flow_together(e, blk) : NULL;
    taken = LLVMBuildAnd(b, taken ? taken : emit_condition(e, blk), mask_bits(e), "");
    LLVMValueRef other = LLVMBuildXor(b, mask_bits(e), taken, "");
    uint64_t *cand = control_flow_candidates(e);
    add_pending(e, cand, blk->succ[0], taken);
    add_pending(e, cand, blk->succ[1], other);
    int32_t last = blk->succ[0] > blk->succ[1] ? blk->succ[0] : blk->succ[1];
    flow_chain(e, cand, last);
    free(cand);
}

static void control_flow_switch(struct emit *e, const struct jblock *blk)
{
    LLVMBuilderRef b = e->alu.b;
    struct ptx_operand index = {.kind = PTX_OPR_REG, .reg = blk->cond};
    if (!blk->diverges) {
        LLVMBasicBlockRef other = new_bb(e, "case");
        LLVMValueRef v = operand_scalar(e, &index, PTX_B32, SEG_WARP, 0);
        LLVMValueRef sw = LLVMBuildSwitch(b, v, other, (unsigned)blk->nsucc);
        LLVMPositionBuilderAtEnd(b, other);
        flow_goto(e, blk->succ[blk->nsucc - 1]);
        for (int n = 0; n + 1 < blk->nsucc; n++) {
            LLVMBasicBlockRef to = new_bb(e, "case");
            LLVMAddCase(sw, c32(e, (uint64_t)n), to);
            LLVMPositionBuilderAtEnd(b, to);
            flow_goto(e, blk->succ[n]);
        }
        return;
    }
    LLVMValueRef v = operand_vector(e, &index, PTX_B32), left = mask_bits(e);
    uint64_t *cand = control_flow_candidates(e);
    int32_t last = -1;
    for (int n = 0; n < blk->nsucc; n++) {
        LLVMValueRef here = left;
        if (n + 1 < blk->nsucc) {
            LLVMValueRef eq =
                LLVMBuildICmp(b, LLVMIntEQ, v, splat(e, c32(e, (uint64_t)n), JIT_WARP), "");
            here = LLVMBuildAnd(b, left, bits_of(e, eq), "");
            left = LLVMBuildXor(b, left, here, "");
        }
        add_pending(e, cand, blk->succ[n], here);
        last = blk->succ[n] > last ? blk->succ[n] : last;
    }
    flow_chain(e, cand, last);
    free(cand);
}

static void control_flow_exit(struct emit *e, const struct jblock *blk)
{
    LLVMBuilderRef b = e->alu.b;
    if (blk->alone || e->in_whole) {
        LLVMBuildBr(b, e->next_warp);
        return;
    }
    /* in a function `exit` is its return: the lanes that have reached it wait for the others */
    LLVMValueRef live = LLVMBuildLoad2(b, e->i32, e->live_slot, "");
    live = LLVMBuildAnd(b, live, LLVMBuildNot(b, mask_bits(e), ""), "");
    LLVMBuildStore(b, live, e->live_slot);
    flow_chain(e, blk->frontier, -1);
}

/* The lanes that the general copy of the current block runs for. */
static void take_mask(struct emit *e)
{
    const struct jblock *blk = e->cur;
    e->mask_vec = NULL;
    if (!blk->alone)
        e->mask = control_flow_pending(e, (int32_t)(blk - e->k->blocks));
    else
        e->mask = e->always_full ? NULL : LLVMBuildLoad2(e->alu.b, e->i32, e->live_slot, "");
}

/* Does instruction i widen an index that may wrap around? */
static bool may_break(struct emit *e, const struct ptx_instr *i)
{
    int ndst = jit_ndst(i);
    if (ndst != 1 || i->op == PTX_OP_call || shape_of(e->k, i, 0).brk == 0)
        return false;
    for (int n = ndst; n < i->noperands; n++)
        if (shape_operand(e->k, &i->operands[n]).brk != 0)
            return false;
    return true;
}

/* Where the general copies go on at instruction i. */
static LLVMBasicBlockRef control_flow_split(struct emit *e, const struct ptx_instr *i)
{
    LLVMBasicBlockRef *at = &e->split[i - e->k->instrs];
    if (*at == NULL)
        *at = new_bb(e, "again");
    return *at;
}

void flow_keep_whole(struct emit *e, const struct ptx_instr *i, LLVMValueRef unbroken)
{
    LLVMBuilderRef b = e->alu.b;
    int32_t cur = (int32_t)(e->cur - e->k->blocks);
    LLVMBasicBlockRef on = new_bb(e, "unbroken"), out = new_bb(e, "broken");
    branch_likely(e, unbroken, on, out);
    LLVMPositionBuilderAtEnd(b, out);
    uint64_t *cand = control_flow_candidates(e);
    add_pending(e, cand, cur, c32(e, 0xffffffffu));
    clear_waiting(e, e->cur->frontier, cand);
    free(cand);
    LLVMBuildBr(b, control_flow_split(e, i));
    control_flow_copy(e, cur, false);
    LLVMPositionBuilderAtEnd(b, on);
}

static bool emit_instrs(struct emit *e, const struct jblock *blk, int32_t from, int32_t to)
{
    for (int32_t n = from; n < to; n++) {
        const struct ptx_instr *i = &e->k->instrs[blk->first + n];
        if (e->wholes && !e->in_whole && may_break(e, i)) {
            LLVMBuildBr(e->alu.b, control_flow_split(e, i));
            LLVMPositionBuilderAtEnd(e->alu.b, control_flow_split(e, i));
            take_mask(e);
        }
        if (!emit_instr(e, i))
            return false;
    }
    return true;
}

/* In the middle of a block: lanes take turns from here on unless they are neighbours, for whom code
 * goes on behind. */
static bool control_flow_fork(struct emit *e, const struct jblock *blk)
{
    LLVMBuilderRef b = e->alu.b;
    LLVMBasicBlockRef near = new_bb(e, "together"), apart = new_bb(e, "apart");
    mask_vector(e); /* made here, so that both sides may use it */
    branch_likely(e, likely_near(e, &e->k->instrs[blk->first + blk->fork - 1]), near, apart);
    LLVMPositionBuilderAtEnd(b, apart);
    bool ok = emit_turns(e, blk);
    flow_goto(e, blk->until);
    LLVMPositionBuilderAtEnd(b, near);
    return ok;
}

/* Have all that would be apart places that are known now? Then they stay together. */
static bool in_windows(struct emit *e, const struct jblock *blk)
{
    for (int s = -1; s < 2; s++) {
        const struct jblock *x = s < 0 ? blk : &e->k->blocks[blk->succ[s]];
        if (x - e->k->blocks == blk->until)
            continue;
        for (int32_t n = s < 0 ? blk->fork - 1 : 0; n < x->count; n++) {
            const struct ptx_instr *i = &e->k->instrs[x->first + n];
            if ((i->op == PTX_OP_ld || i->op == PTX_OP_st) && !mem_in_window(e, i))
                return false;
        }
    }
    return true;
}

static bool emit_block(struct emit *e, int32_t index)
{
    bool whole = index >= e->k->nblocks;
    index -= whole ? e->k->nblocks : 0;
    const struct jblock *blk = &e->k->blocks[index];
    LLVMPositionBuilderAtEnd(e->alu.b, control_flow_copy(e, index, whole));
    e->cur = blk;
    e->in_whole = whole;
    e->waiting = blk->alone || whole ? NULL : e->waiting_of[index];
    e->mask = e->mask_vec = NULL;
    if (!whole) {
        take_mask(e);
        if (blk->npred > 1 && !flow_whole(e, index, e->mask)) {
            /* what follows serves those who leave the whole copy half way */
            LLVMPositionBuilderAtEnd(e->alu.b, new_bb(e, "never"));
            take_mask(e);
        }
    }
    int32_t note = e->notes[index] == 1 && blk->until == 0 ? note_at(e->k, blk) : 0;
    if (e->notes[index] == 1 && note == 0)
        emit_note_warp(e);
    if (blk->until != 0 && blk->fork == 0) {
        bool done = emit_turns(e, blk);
        flow_goto(e, blk->until);
        e->in_whole = false;
        return done;
    }
    int32_t fork = blk->fork != 0 && !e->alu.has_avx512 && !in_windows(e, blk) ? blk->fork - 1 : 0;
    bool ok = true;
    if (note > 0) {
        ok = emit_instrs(e, blk, 0, note);
        emit_note_warp(e);
    }
    ok = ok && emit_instrs(e, blk, note, fork) && (fork == 0 || control_flow_fork(e, blk)) &&
         emit_instrs(e, blk, fork > note ? fork : note, blk->count);
    if (ok) {
        switch (blk->term) {
        case TERM_JUMP:
            if (blk->suspend == SUSPEND_POLL)
                emit_spin(e);
            else if (blk->suspend == SUSPEND_SYNC)
                emit_helper(e, "weir_rt_wait_here", LLVMVoidTypeInContext(e->alu.ctx), &e->blk, 1);
            flow_goto(e, blk->succ[0]);
            break;
        case TERM_BRANCH: control_flow_branch(e, blk); break;
        case TERM_SWITCH: control_flow_switch(e, blk); break;
        case TERM_EXIT: control_flow_exit(e, blk); break;
        default: emit_suspend(e, blk); break;
        }
    }
    e->in_whole = false;
    return ok;
}

bool flow_emit(struct emit *e)
{
    bool ok = !e->failed;
    while (ok && e->nwork > 0)
        ok = emit_block(e, e->work[--e->nwork]) && !e->failed;
    return ok;
}

void flow_open(struct emit *e)
{
    struct jkernel *k = e->k;
    memset(e->bb, 0, sizeof *e->bb * (size_t)k->nblocks);
    memset(e->whole_bb, 0, sizeof *e->whole_bb * (size_t)k->nblocks);
    memset(e->split, 0, sizeof *e->split * k->ninstrs);
    e->nwork = 0;
}

void flow_start(struct emit *e, int32_t block, LLVMValueRef lanes)
{
    if (!flow_whole(e, block, e->always_full ? NULL : lanes))
        return;
    uint64_t *cand = xcalloc((size_t)bit_words(e->k->nblocks), 8);
    add_pending(e, cand, block, lanes);
    flow_chain(e, cand, block);
    free(cand);
}
