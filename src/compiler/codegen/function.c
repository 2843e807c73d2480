/* emit: the frame around the instructions: regions, masks, suspension and the order in which warps
 * run. See emit.h for the shape of the function and kernel.h for how divergence works. */
#include "compiler/codegen/codegen.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define FIELD(name) offsetof(struct jit_block, name)

/* pc[w]: resume point * 2 + parity of the barrier phase in which the warp runs on, or PC_EXITED. */
enum { PC_EXITED = JIT_PC_EXITED };
/* Kernels up to this many instructions, all regions counted, get whole copies of their blocks. */
enum { MAX_WHOLE = 1200 };
/* scratch[0..3]: votes of reducing barriers, {true, all} for either parity. */

static void store_pc(struct emit *e, LLVMValueRef v)
{
    LLVMValueRef p = LLVMBuildGEP2(e->alu.b, e->i32, e->pc, &e->w, 1, "");
    tag_frame(e, LLVMBuildStore(e->alu.b, v, p));
}

/* Number of a barrier, and how many threads it is for (all of the block's warps unless it says). */
static LLVMValueRef barrier_id(struct emit *e, const struct ptx_instr *i)
{
    const struct ptx_operand *o = &i->operands[ptx_has(i, PTX_M_red)]; /* a result comes first */
    struct shape s = shape_operand(e->k, o);
    LLVMValueRef v = shape_uniform(&s) ? operand_scalar(e, o, PTX_U32, SEG_WARP, 0)
                                       : first_active(e, operand_vector(e, o, PTX_U32));
    return LLVMBuildAnd(e->alu.b, v, c32(e, 15), "");
}

static LLVMValueRef function_barrier_count(struct emit *e, const struct ptx_instr *i)
{
    bool reduces = ptx_has(i, PTX_M_red); /* result, number, count, predicate */
    const struct ptx_operand *o = &i->operands[reduces ? 2 : 1];
    if (i->noperands < (reduces ? 4 : 2))
        return LLVMBuildShl(e->alu.b, e->nwarps, c32(e, 5), "");
    struct shape s = shape_operand(e->k, o);
    return shape_uniform(&s) ? operand_scalar(e, o, PTX_U32, SEG_WARP, 0)
                             : first_active(e, operand_vector(e, o, PTX_U32));
}

static LLVMValueRef call_barrier(struct emit *e, const char *name, LLVMValueRef *args, unsigned n)
{
    LLVMTypeRef params[4] = {e->ptr, e->i32, e->i32, e->i32};
    LLVMTypeRef t = LLVMFunctionType(e->i32, params, n, false);
    LLVMValueRef f = LLVMGetNamedFunction(e->alu.module, name);
    if (f == NULL)
        f = LLVMAddFunction(e->alu.module, name, t);
    return LLVMBuildCall2(e->alu.b, t, f, args, n, "");
}

/* Counts this warp's votes for a reducing barrier. */
static void count_votes(struct emit *e, const struct ptx_instr *i)
{
    LLVMBuilderRef b = e->alu.b;
    /* bar.red.op d, a {, b}, {!}c: the predicate comes last */
    const struct ptx_operand *p = &i->operands[i->noperands - 1];
    struct shape s = shape_operand(e->k, p);
    LLVMValueRef yes = mask_bits(e);
    if (shape_uniform(&s))
        yes = LLVMBuildSelect(b, operand_scalar(e, p, PTX_PRED, SEG_WARP, 0), yes, c32(e, 0), "");
    else
        yes = LLVMBuildAnd(b, bits_of(e, operand_vector(e, p, PTX_PRED)), yes, "");
    if (e->k->has_partial) {
        LLVMValueRef no = LLVMBuildXor(b, mask_bits(e), yes, "");
        LLVMValueRef args[4] = {e->blk, barrier_id(e, i),
                                intrinsic(e, "llvm.ctpop", &e->i32, 1, &yes, 1),
                                intrinsic(e, "llvm.ctpop", &e->i32, 1, &no, 1)};
        call_barrier(e, "weir_rt_barrier_vote", args, 4);
        return;
    }
    LLVMValueRef phase = LLVMBuildLoad2(b, e->i32, e->phase_slot, "");
    LLVMValueRef at = LLVMBuildShl(b, LLVMBuildZExt(b, phase, e->i64, ""), c64(e, 4), "");
    LLVMValueRef base = byte_offset(e, byte_offset(e, e->blk, c64(e, FIELD(scratch))), at);
    LLVMValueRef add[2] = {yes, mask_bits(e)};
    for (int n = 0; n < 2; n++) {
        LLVMValueRef count = intrinsic(e, "llvm.ctpop", &e->i32, 1, &add[n], 1);
        LLVMValueRef slot = byte_offset(e, base, c64(e, (uint64_t)n * 8));
        LLVMValueRef old = LLVMBuildLoad2(b, e->i32, slot, "");
        LLVMBuildStore(b, LLVMBuildAdd(b, old, count, ""), slot);
    }
}

/* Writes what a reducing barrier gives. */
static void votes_result(struct emit *e, const struct ptx_instr *i, LLVMValueRef yes,
                         LLVMValueRef all)
{
    LLVMBuilderRef b = e->alu.b;
    unsigned type = PTX_PRED;
    LLVMValueRef r;
    if (ptx_has(i, PTX_M_popc)) {
        r = yes;
        type = PTX_U32;
    } else if (ptx_has(i, PTX_M_and)) {
        r = LLVMBuildICmp(b, LLVMIntEQ, yes, all, "");
    } else {
        r = LLVMBuildICmp(b, LLVMIntNE, yes, c32(e, 0), "");
    }
    write_uniform(e, i->operands[0].reg, r, type);
}

/* The result of the reducing barrier just passed: votes were counted in the other phase. */
static void read_votes(struct emit *e, const struct ptx_instr *i)
{
    LLVMBuilderRef b = e->alu.b;
    LLVMValueRef yes, all;
    if (e->k->has_partial) {
        LLVMValueRef args[2] = {e->blk, e->w};
        LLVMValueRef votes = call_barrier(e, "weir_rt_barrier_votes", args, 2);
        yes = LLVMBuildAnd(b, votes, c32(e, 0xffff), "");
        all = LLVMBuildAdd(b, yes, LLVMBuildLShr(b, votes, c32(e, 16), ""), "");
        votes_result(e, i, yes, all);
        return;
    }
    LLVMValueRef phase = LLVMBuildLoad2(b, e->i32, e->phase_slot, "");
    phase = LLVMBuildXor(b, phase, c32(e, 1), "");
    LLVMValueRef at = LLVMBuildShl(b, LLVMBuildZExt(b, phase, e->i64, ""), c64(e, 4), "");
    LLVMValueRef base = byte_offset(e, byte_offset(e, e->blk, c64(e, FIELD(scratch))), at);
    yes = LLVMBuildLoad2(b, e->i32, base, "");
    all = LLVMBuildLoad2(b, e->i32, byte_offset(e, base, c64(e, 8)), "");
    votes_result(e, i, yes, all);
}
void emit_arrive(struct emit *e, const struct ptx_instr *i)
{
    LLVMValueRef args[3] = {e->blk, barrier_id(e, i), function_barrier_count(e, i)};
    call_barrier(e, "weir_rt_barrier_arrive", args, 3);
}

/* The warp waits at a numbered barrier: pc holds the number, too, until the barrier opens. */
static void wait_numbered(struct emit *e, const struct jblock *blk)
{
    LLVMBuilderRef b = e->alu.b;
    if (ptx_has(blk->term_instr, PTX_M_red))
        count_votes(e, blk->term_instr);
    LLVMValueRef id = barrier_id(e, blk->term_instr),
                 count = function_barrier_count(e, blk->term_instr);
    flow_wait(e, blk);
    frame_move(e, blk->resume, true);
    LLVMValueRef pc = LLVMBuildShl(b, id, c32(e, JIT_PC_BARRIER_SHIFT), "");
    store_pc(e, LLVMBuildOr(b, pc, c32(e, (uint64_t)blk->resume * 2 + JIT_PC_WAITING), ""));
    LLVMValueRef args[3] = {e->blk, id, count};
    call_barrier(e, "weir_rt_barrier_arrive", args, 3);
    LLVMBuildBr(b, e->suspend);
}

/* The warp leaves: its state goes to the frame. */
static void function_leave(struct emit *e, const struct jblock *blk, bool next_phase)
{
    LLVMBuilderRef b = e->alu.b;
    flow_wait(e, blk);
    frame_move(e, blk->resume, true);
    if (e->k->lockstep) {
        bit_set(e->next_set, blk->resume);
        LLVMBuildStore(b, c32(e, (uint64_t)blk->resume), e->next_slot);
        LLVMBuildBr(b, e->suspend);
        return;
    }
    LLVMValueRef phase = LLVMBuildLoad2(b, e->i32, e->phase_slot, "");
    if (next_phase)
        phase = LLVMBuildXor(b, phase, c32(e, 1), "");
    store_pc(e, LLVMBuildOr(b, phase, c32(e, (uint64_t)blk->resume * 2), ""));
    LLVMBuildBr(b, e->suspend);
}

enum { YIELDS = 1000 }; /* how often lanes elsewhere in the warp go before the warp leaves */

/* One poll of a spinning loop: out when the budget is spent. Returns what is left of it. */
static LLVMValueRef spend_poll(struct emit *e, LLVMBasicBlockRef out, LLVMBasicBlockRef on)
{
    LLVMBuilderRef b = e->alu.b;
    LLVMValueRef p = byte_offset(e, e->blk, c64(e, FIELD(budget)));
    LLVMValueRef left = LLVMBuildSub(b, LLVMBuildLoad2(b, e->i32, p, ""), c32(e, 1), "");
    LLVMBuildStore(b, left, p);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntSLE, left, c32(e, 0), ""), out, on);
    return left;
}

/* A poll in a function: the thread gives way and comes back. */
void emit_spin(struct emit *e)
{
    LLVMBasicBlockRef out = new_bb(e, "spun"), on = new_bb(e, "spin");
    spend_poll(e, out, on);
    LLVMPositionBuilderAtEnd(e->alu.b, out);
    emit_helper(e, "weir_rt_spin", LLVMVoidTypeInContext(e->alu.ctx), &e->blk, 1);
    LLVMBuildBr(e->alu.b, on);
    LLVMPositionBuilderAtEnd(e->alu.b, on);
}

void emit_suspend(struct emit *e, const struct jblock *blk)
{
    LLVMBuilderRef b = e->alu.b;
    if (blk->suspend == SUSPEND_BARRIER && e->k->has_partial) {
        wait_numbered(e, blk);
        return;
    }
    if (blk->suspend == SUSPEND_BARRIER) {
        if (ptx_has(blk->term_instr, PTX_M_red))
            count_votes(e, blk->term_instr);
        function_leave(e, blk, true);
        return;
    }
    if (blk->suspend == SUSPEND_RELAY) {
        relay_hand_over(e, blk);
        return;
    }
    LLVMBasicBlockRef out = new_bb(e, "spun"), on = new_bb(e, "spin");
    LLVMValueRef left = NULL;
    if (blk->suspend == SUSPEND_SYNC) {
        LLVMValueRef wait =
            LLVMBuildLoad2(b, e->i32, byte_offset(e, e->blk, c64(e, FIELD(waiting))), "");
        LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntNE, wait, c32(e, 0), ""), out, on);
    } else {
        left = spend_poll(e, out, on);
    }
    LLVMPositionBuilderAtEnd(b, out);
    if (left != NULL && blk->yields != NULL && !e->in_whole) {
        LLVMBasicBlockRef yield = new_bb(e, "yield"), leave = new_bb(e, "leave");
        LLVMValueRef more = LLVMBuildICmp(b, LLVMIntSGT, left, c32(e, (uint64_t)-YIELDS), "");
        LLVMBuildCondBr(b, more, yield, leave);
        LLVMPositionBuilderAtEnd(b, yield);
        flow_yield(e, blk);
        LLVMBuildBr(b, leave);
        LLVMPositionBuilderAtEnd(b, leave);
    }
    LLVMValueRef spun = LLVMBuildLoad2(b, e->i32, e->spun_slot, "");
    spun = LLVMBuildAdd(b, spun, c32(e, 1), "");
    /* who waits for launched grids does not look again: the block rests until they are complete */
    LLVMBuildStore(b, blk->suspend == SUSPEND_SYNC ? e->nwarps : spun, e->spun_slot);
    function_leave(e, blk, false);
    LLVMPositionBuilderAtEnd(b, on);
    flow_goto(e, blk->succ[0]);
}

/* ---- regions ---- */

void enter_region(struct emit *e, int32_t r)
{
    LLVMBuilderRef b = e->alu.b;
    struct jkernel *k = e->k;
    e->mask = NULL;
    e->mask_vec = NULL;
    e->waiting = NULL;
    memset(e->remat_done, 0, k->nregs);
    if (r == 0) {
        if (!e->always_full) {
            LLVMValueRef all = c32(e, 0xffffffffu);
            if (!k->full_warps) {
                /* the last warp may have fewer threads */
                LLVMValueRef left =
                    LLVMBuildSub(b, e->nthreads, LLVMBuildShl(b, e->w, c32(e, 5), ""), "");
                LLVMValueRef part = LLVMBuildSub(
                    b, LLVMBuildShl(b, c32(e, 1), LLVMBuildAnd(b, left, c32(e, 31), ""), ""),
                    c32(e, 1), "");
                LLVMValueRef full = LLVMBuildICmp(b, LLVMIntUGE, left, c32(e, 32), "");
                all = LLVMBuildSelect(b, full, all, part, "");
            }
            LLVMBuildStore(b, all, e->live_slot);
        }
        flow_start(e, 0,
                   e->always_full ? c32(e, 0xffffffffu)
                                  : LLVMBuildLoad2(b, e->i32, e->live_slot, ""));
        return;
    }
    const struct jblock *from = &k->blocks[k->resume_block[r]];
    frame_move(e, r, false);
    frame_recompute(e, r);
    if (from->suspend == SUSPEND_BARRIER && ptx_has(from->term_instr, PTX_M_red))
        read_votes(e, from->term_instr);
    const struct jblock *to = &k->blocks[from->succ[0]];
    LLVMValueRef lanes = NULL;
    if (!to->alone)
        lanes = LLVMBuildLoad2(b, e->i32, e->pending_slot[from->succ[0]], "");
    else if (!e->always_full)
        lanes = LLVMBuildLoad2(b, e->i32, e->live_slot, "");
    if (!flow_whole(e, from->succ[0], lanes))
        return;
    if (from->yields != NULL)
        flow_resume(e, from, e->resume_cand[r]);
    else
        flow_chain(e, e->resume_cand[r], from->succ[0]);
}

/* All warps have passed a barrier: its votes are to be read, the next one's begin. */
static void function_next_phase(struct emit *e)
{
    LLVMBuilderRef b = e->alu.b;
    LLVMValueRef votes = byte_offset(e, e->blk, c64(e, FIELD(scratch)));
    LLVMValueRef other = LLVMBuildLoad2(b, e->i32, e->phase_slot, "");
    other = LLVMBuildXor(b, other, c32(e, 1), "");
    LLVMBuildStore(b, other, e->phase_slot);
    LLVMValueRef at = LLVMBuildShl(b, LLVMBuildZExt(b, other, e->i64, ""), c64(e, 4), "");
    LLVMBuildStore(b, c64(e, 0), byte_offset(e, votes, at));
    LLVMBuildStore(b, c64(e, 0), byte_offset(e, byte_offset(e, votes, at), c64(e, 8)));
}

/* Where a block goes on without a dispatcher: at the barrier that its warps wait at, if any. */
static void next_region(struct emit *e, LLVMBasicBlockRef *regions)
{
    LLVMBuilderRef b = e->alu.b;
    struct jkernel *k = e->k;
    LLVMBasicBlockRef done = new_bb(e, "done");
    if (!k->lockstep) {
        LLVMBuildBr(b, done);
    } else {
        LLVMValueRef next = LLVMBuildLoad2(b, e->i32, e->next_slot, "");
        LLVMValueRef sw = LLVMBuildSwitch(b, next, done, (unsigned)k->nresume);
        for (int32_t r = bit_next(e->next_set, k->nresume, 0); r >= 0;
             r = bit_next(e->next_set, k->nresume, r + 1)) {
            LLVMBasicBlockRef to = new_bb(e, "passed");
            LLVMAddCase(sw, c32(e, (uint64_t)r), to);
            LLVMPositionBuilderAtEnd(b, to);
            if (ptx_has(k->blocks[k->resume_block[r]].term_instr, PTX_M_red))
                function_next_phase(e);
            for (int32_t reg = bit_next(e->resume_live[r], (int32_t)k->nregs, 0); reg >= 0;
                 reg = bit_next(e->resume_live[r], (int32_t)k->nregs, reg + 1))
                if (frame_once(e, reg)) {
                    LLVMTypeRef t = scalar_type(e, k->regs[reg].type);
                    LLVMValueRef v = LLVMBuildLoad2(b, t, e->regs[reg].out, "");
                    LLVMBuildStore(b, v, e->regs[reg].in);
                }
            move_passed(e, r);
            LLVMBuildBr(b, regions[r]);
        }
    }
    LLVMPositionBuilderAtEnd(b, done);
    LLVMBuildRet(b, c32(e, JIT_DONE));
}

static bool emit_region(struct emit *e, int32_t r, LLVMBasicBlockRef *regions)
{
    LLVMBuilderRef b = e->alu.b;
    struct jkernel *k = e->k;
    LLVMBasicBlockRef at = regions[r];
    bool many = k->nresume > 1 && !k->lockstep;
    LLVMBasicBlockRef head = new_bb(e, "warps"), run = new_bb(e, "run"), step = new_bb(e, "step");
    LLVMBasicBlockRef over = new_bb(e, "over"), done = new_bb(e, "warp_done");
    e->region = r;
    e->reads = r > 0 ? frame_reads(e, r) : NULL;
    flow_open(e);
    memset(e->next_set, 0, (size_t)bit_words(k->nresume) * 8);
    e->next_warp = done;
    e->suspend = step;
    LLVMPositionBuilderAtEnd(b, at);
    LLVMBasicBlockRef before = at;
    LLVMValueRef phase = many ? LLVMBuildLoad2(b, e->i32, e->phase_slot, "") : c32(e, 0);
    LLVMValueRef here = LLVMBuildOr(b, phase, c32(e, (uint64_t)r * 2), "");
    LLVMBuildBr(b, head);
    LLVMPositionBuilderAtEnd(b, head);
    e->w = LLVMBuildPhi(b, e->i32, "w");
    LLVMAddIncoming(e->w, (LLVMValueRef[]){c32(e, 0)}, (LLVMBasicBlockRef[]){before}, 1);
    LLVMValueRef off =
        LLVMBuildMul(b, LLVMBuildZExt(b, e->w, e->i64, ""), c64(e, e->frame_bytes), "");
    e->frame_w = byte_offset(e, e->frame, off);
    place_region(e);
    if (many) {
        LLVMValueRef p = LLVMBuildGEP2(b, e->i32, e->pc, &e->w, 1, "");
        LLVMValueRef pc = LLVMBuildLoad2(b, e->i32, p, "");
        tag_frame(e, pc);
        LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntEQ, pc, here, ""), run, step);
    } else if (relay_point(e, r)) {
        LLVMBuildCondBr(b, relay_waits(e, r), run, step);
    } else {
        LLVMBuildBr(b, run);
    }
    LLVMPositionBuilderAtEnd(b, run);
    relay_begin(e);
    emit_note_region(e, r);
    enter_region(e, r);
    bool ok = flow_emit(e);
    LLVMPositionBuilderAtEnd(b, done);
    if (many)
        store_pc(e, c32(e, (uint64_t)PC_EXITED));
    else if (k->lockstep)
        LLVMBuildStore(b, c32(e, 0), e->next_slot);
    LLVMBuildBr(b, step);
    LLVMPositionBuilderAtEnd(b, step);
    LLVMValueRef next = LLVMBuildAdd(b, e->w, c32(e, 1), "");
    LLVMAddIncoming(e->w, &next, &step, 1);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntULT, next, e->nwarps, ""), head, over);
    LLVMPositionBuilderAtEnd(b, over);
    if (many) {
        move_dispatch(e);
    } else {
        relay_go_on(e, regions);
        next_region(e, regions);
    }
    return ok;
}

/* Instructions that copies of their own for every region would come to, and the kernel's. */
static size_t function_copied(struct emit *e, size_t *once)
{
    struct jkernel *k = e->k;
    size_t sum = 0;
    uint8_t *seen = xmalloc((size_t)k->nblocks);
    *once = 0;
    for (int32_t b = 0; b < k->nblocks; b++)
        *once += (size_t)k->blocks[b].count + 4;
    for (int32_t r = 0; r < k->nresume; r++) {
        memset(seen, 0, (size_t)k->nblocks);
        int32_t n = 0;
        for (int32_t c = 0; c < k->nblocks; c++)
            if (r == 0 ? c == 0 : bit_get(e->resume_cand[r], c)) {
                seen[c] = 1;
                e->work[n++] = c;
            }
        while (n > 0) {
            const struct jblock *blk = &k->blocks[e->work[--n]];
            sum += (size_t)blk->count + 4;
            for (int s = 0; s < blk->nsucc && blk->suspend != SUSPEND_BARRIER; s++)
                if (!seen[blk->succ[s]]) {
                    seen[blk->succ[s]] = 1;
                    e->work[n++] = blk->succ[s];
                }
        }
    }
    free(seen);
    return sum;
}

/* One region for all resume points, for kernels whose regions overlap so much that copies would
 * multiply: each warp that can run goes in where it waits. */
static bool emit_shared(struct emit *e, LLVMBasicBlockRef at)
{
    LLVMBuilderRef b = e->alu.b;
    struct jkernel *k = e->k;
    LLVMBasicBlockRef head = new_bb(e, "warps"), run = new_bb(e, "run"), step = new_bb(e, "step");
    LLVMBasicBlockRef over = new_bb(e, "over"), done = new_bb(e, "warp_done"),
                      bad = new_bb(e, "bad");
    flow_open(e);
    e->next_warp = done;
    e->suspend = step;
    LLVMPositionBuilderAtEnd(b, at);
    LLVMValueRef phase = LLVMBuildLoad2(b, e->i32, e->phase_slot, "");
    LLVMBuildBr(b, head);
    LLVMPositionBuilderAtEnd(b, head);
    e->w = LLVMBuildPhi(b, e->i32, "w");
    LLVMAddIncoming(e->w, (LLVMValueRef[]){c32(e, 0)}, &at, 1);
    LLVMValueRef off = LLVMBuildZExt(b, e->w, e->i64, "");
    e->frame_w = byte_offset(e, e->frame, LLVMBuildMul(b, off, c64(e, e->frame_bytes), ""));
    place_region(e);
    LLVMValueRef pc = LLVMBuildLoad2(b, e->i32, LLVMBuildGEP2(b, e->i32, e->pc, &e->w, 1, ""), "");
    tag_frame(e, pc);
    LLVMValueRef ready = LLVMBuildICmp(b, LLVMIntEQ, LLVMBuildAnd(b, pc, c32(e, 1), ""), phase, "");
    LLVMValueRef ended = LLVMBuildICmp(b, LLVMIntEQ, pc, c32(e, (uint64_t)PC_EXITED), "");
    ready = LLVMBuildAnd(b, ready, LLVMBuildNot(b, ended, ""), "");
    LLVMBuildCondBr(b, ready, run, step);
    LLVMPositionBuilderAtEnd(b, run);
    memset(e->notes, 0, (size_t)k->nblocks);
    emit_note_warp(e);
    LLVMValueRef sw =
        LLVMBuildSwitch(b, LLVMBuildLShr(b, pc, c32(e, 1), ""), bad, (unsigned)k->nresume);
    LLVMPositionBuilderAtEnd(b, bad);
    LLVMBuildUnreachable(b);
    for (int32_t r = 0; r < k->nresume; r++) {
        LLVMBasicBlockRef in = new_bb(e, "enter");
        LLVMAddCase(sw, c32(e, (uint64_t)r), in);
        LLVMPositionBuilderAtEnd(b, in);
        enter_region(e, r);
    }
    bool ok = flow_emit(e);
    LLVMPositionBuilderAtEnd(b, done);
    store_pc(e, c32(e, (uint64_t)PC_EXITED));
    LLVMBuildBr(b, step);
    LLVMPositionBuilderAtEnd(b, step);
    LLVMValueRef next = LLVMBuildAdd(b, e->w, c32(e, 1), "");
    LLVMAddIncoming(e->w, &next, &step, 1);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntULT, next, e->nwarps, ""), head, over);
    LLVMPositionBuilderAtEnd(b, over);
    move_dispatch(e);
    return ok;
}

/* Picks where to go on: a warp of this phase that has not run yet; else the next phase, which the
 * barrier opens; else the block is done. The scan starts behind the last warp picked, so that
 * spinning warps cannot starve others. */
static void emit_dispatch(struct emit *e, LLVMBasicBlockRef *regions)
{
    LLVMBuilderRef b = e->alu.b;
    struct jkernel *k = e->k;
    LLVMBasicBlockRef scan = new_bb(e, "scan"), look = new_bb(e, "look"), more = new_bb(e, "more");
    LLVMBasicBlockRef found = new_bb(e, "found"), none = new_bb(e, "none"),
                      flip = new_bb(e, "flip");
    LLVMBasicBlockRef finished = new_bb(e, "finished"), bad = new_bb(e, "bad"),
                      pick = new_bb(e, "pick");
    LLVMPositionBuilderAtEnd(b, e->dispatch);
    LLVMValueRef state = byte_offset(e, e->blk, c64(e, FIELD(state)));
    LLVMValueRef votes = byte_offset(e, e->blk, c64(e, FIELD(scratch)));
    if (k->has_poll) {
        LLVMBasicBlockRef out = new_bb(e, "yield");
        /* once as many have spun in vain as there are warps, waiting here is no use */
        LLVMValueRef spun = LLVMBuildLoad2(b, e->i32, e->spun_slot, "");
        LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntUGE, spun, e->nwarps, ""), out, scan);
        LLVMPositionBuilderAtEnd(b, out);
        LLVMBuildRet(b, c32(e, JIT_SUSPENDED));
    } else {
        LLVMBuildBr(b, scan);
    }
    /* state: phase in bit 0, the warp to start the scan at above it */
    LLVMPositionBuilderAtEnd(b, scan);
    LLVMValueRef st = LLVMBuildLoad2(b, e->i32, state, "");
    LLVMValueRef phase = LLVMBuildAnd(b, st, c32(e, 1), "");
    LLVMBuildStore(b, phase, e->phase_slot);
    LLVMValueRef start = LLVMBuildLShr(b, st, c32(e, 1), "");
    LLVMBuildBr(b, look);
    LLVMPositionBuilderAtEnd(b, look);
    LLVMValueRef n = LLVMBuildPhi(b, e->i32, ""), w = LLVMBuildPhi(b, e->i32, "");
    LLVMValueRef live = LLVMBuildPhi(b, e->i32, "");
    LLVMValueRef p = LLVMBuildGEP2(b, e->i32, e->pc, &w, 1, "");
    LLVMValueRef pc = LLVMBuildLoad2(b, e->i32, p, "");
    tag_frame(e, pc);
    LLVMValueRef exited = LLVMBuildICmp(b, LLVMIntEQ, pc, c32(e, (uint64_t)PC_EXITED), "");
    LLVMValueRef same = LLVMBuildICmp(b, LLVMIntEQ, LLVMBuildAnd(b, pc, c32(e, 1), ""), phase, "");
    LLVMValueRef ready = LLVMBuildAnd(b, same, LLVMBuildNot(b, exited, ""), "");
    LLVMValueRef live2 = LLVMBuildSelect(b, exited, live, c32(e, 1), "");
    LLVMBuildCondBr(b, ready, found, more);
    LLVMPositionBuilderAtEnd(b, more);
    LLVMValueRef n2 = LLVMBuildAdd(b, n, c32(e, 1), "");
    LLVMValueRef w2 = LLVMBuildAdd(b, w, c32(e, 1), "");
    w2 = LLVMBuildSelect(b, LLVMBuildICmp(b, LLVMIntUGE, w2, e->nwarps, ""), c32(e, 0), w2, "");
    LLVMAddIncoming(n, (LLVMValueRef[]){c32(e, 0), n2}, (LLVMBasicBlockRef[]){scan, more}, 2);
    LLVMAddIncoming(w, (LLVMValueRef[]){start, w2}, (LLVMBasicBlockRef[]){scan, more}, 2);
    LLVMAddIncoming(live, (LLVMValueRef[]){c32(e, 0), live2}, (LLVMBasicBlockRef[]){scan, more}, 2);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntULT, n2, e->nwarps, ""), look, none);
    LLVMPositionBuilderAtEnd(b, none);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntNE, live2, c32(e, 0), ""), flip, finished);
    LLVMPositionBuilderAtEnd(b, flip);
    if (k->has_partial) {
        /* nobody can go on: barriers for all may open because the other warps have ended */
        LLVMValueRef opened = call_barrier(e, "weir_rt_barrier_open", &e->blk, 1);
        LLVMBasicBlockRef stuck = new_bb(e, "stuck");
        LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntNE, opened, c32(e, 0), ""), scan, stuck);
        LLVMPositionBuilderAtEnd(b, stuck);
        emit_fault(e, JIT_FAULT_ILLEGAL, c32(e, 0xffffffffu), NULL);
        LLVMBuildRet(b, c32(e, JIT_DONE));
        flip = new_bb(e, "never");
        LLVMPositionBuilderAtEnd(b, flip);
    }
    LLVMValueRef other = LLVMBuildXor(b, phase, c32(e, 1), "");
    LLVMBuildStore(b, other, state);
    LLVMValueRef at = LLVMBuildShl(b, LLVMBuildZExt(b, other, e->i64, ""), c64(e, 4), "");
    LLVMBuildStore(b, c64(e, 0), byte_offset(e, votes, at));
    LLVMBuildStore(b, c64(e, 0), byte_offset(e, byte_offset(e, votes, at), c64(e, 8)));
    LLVMBuildBr(b, scan);
    LLVMPositionBuilderAtEnd(b, finished);
    LLVMBuildRet(b, c32(e, JIT_DONE));
    LLVMPositionBuilderAtEnd(b, found);
    LLVMValueRef after = LLVMBuildAdd(b, w, c32(e, 1), "");
    after = LLVMBuildSelect(b, LLVMBuildICmp(b, LLVMIntUGE, after, e->nwarps, ""), c32(e, 0), after,
                            "");
    after = LLVMBuildOr(b, LLVMBuildShl(b, after, c32(e, 1), ""), phase, "");
    LLVMBuildStore(b, after, state);
    LLVMBuildBr(b, pick);
    LLVMPositionBuilderAtEnd(b, pick);
    LLVMValueRef sw =
        LLVMBuildSwitch(b, LLVMBuildLShr(b, pc, c32(e, 1), ""), bad, (unsigned)k->nresume);
    for (int32_t r = 0; r < k->nresume; r++)
        LLVMAddCase(sw, c32(e, (uint64_t)r), regions[r]);
    LLVMPositionBuilderAtEnd(b, bad);
    LLVMBuildUnreachable(b);
}

/* ---- the function ---- */

static void function_metadata(struct emit *e)
{
    LLVMContextRef c = e->alu.ctx;
    e->md_invariant = LLVMGetMDKindIDInContext(c, "invariant.load", 14);
    e->md_unpredictable = LLVMGetMDKindIDInContext(c, "unpredictable", 13);
    e->md_scope = LLVMGetMDKindIDInContext(c, "alias.scope", 11);
    e->md_noalias = LLVMGetMDKindIDInContext(c, "noalias", 7);
    e->md_empty = LLVMMetadataAsValue(c, LLVMMDNodeInContext2(c, NULL, 0));
    LLVMMetadataRef domain = LLVMMDStringInContext2(c, "weir", 4);
    domain = LLVMMDNodeInContext2(c, &domain, 1);
    LLVMMetadataRef scopes[SCOPES];
    for (int n = 0; n < SCOPES; n++) {
        static const char *const names[] = {"frame", "shared", "global", "local", "any"};
        LLVMMetadataRef parts[] = {LLVMMDStringInContext2(c, names[n], strlen(names[n])), domain};
        scopes[n] = LLVMMDNodeInContext2(c, parts, 2);
        e->scope_of[n] = LLVMMetadataAsValue(c, LLVMMDNodeInContext2(c, &scopes[n], 1));
    }
    /* what is no other's: a generic address may lead everywhere but into a frame */
    for (int n = 0; n < SCOPES; n++) {
        LLVMMetadataRef others[SCOPES];
        size_t count = 0;
        for (int m = 0; m < SCOPES; m++)
            if (m != n &&
                (n == SCOPE_FRAME || m == SCOPE_FRAME || (n != SCOPE_ANY && m != SCOPE_ANY)))
                others[count++] = scopes[m];
        e->scope_not[n] = LLVMMetadataAsValue(c, LLVMMDNodeInContext2(c, others, count));
    }
    e->scope_all = LLVMMetadataAsValue(c, LLVMMDNodeInContext2(c, scopes, SCOPES));
}

static void function_types(struct emit *e)
{
    LLVMContextRef c = e->alu.ctx;
    e->i1 = LLVMInt1TypeInContext(c);
    e->i8 = LLVMInt8TypeInContext(c);
    e->i16 = LLVMInt16TypeInContext(c);
    e->i32 = LLVMInt32TypeInContext(c);
    e->i64 = LLVMInt64TypeInContext(c);
    e->f32 = LLVMFloatTypeInContext(c);
    e->f64 = LLVMDoubleTypeInContext(c);
    e->ptr = LLVMPointerTypeInContext(c, 0);
    e->v32i1 = LLVMVectorType(e->i1, JIT_WARP);
    e->v32i32 = LLVMVectorType(e->i32, JIT_WARP);
    e->v32i64 = LLVMVectorType(e->i64, JIT_WARP);
}

/* Parameters can be read before it is known that they are needed. */
static LLVMValueRef params_pointer(struct emit *e)
{
    LLVMValueRef v = block_field(e, FIELD(params), e->ptr, true);
    static const char *const keys[] = {"dereferenceable", "align"};
    uint64_t facts[] = {jit_param_bytes(e->k->entry), sizeof(uint64_t)};
    for (int n = 0; n < 2 && facts[0] > 0 && !e->k->is_function; n++) {
        LLVMMetadataRef fact = LLVMValueAsMetadata(c64(e, facts[n]));
        unsigned kind = LLVMGetMDKindIDInContext(e->alu.ctx, keys[n], (unsigned)strlen(keys[n]));
        fact = LLVMMDNodeInContext2(e->alu.ctx, &fact, 1);
        LLVMSetMetadata(v, kind, LLVMMetadataAsValue(e->alu.ctx, fact));
    }
    return v;
}

static void prologue(struct emit *e)
{
    LLVMBuilderRef b = e->alu.b;
    struct jkernel *k = e->k;
    e->params = params_pointer(e);
    e->shared = block_field(e, FIELD(shared), e->ptr, true);
    e->local = block_field(e, FIELD(local), e->ptr, true);
    e->frame = block_field(e, FIELD(frame), e->ptr, true);
    e->pc = block_field(e, FIELD(pc), e->ptr, true);
    e->local_stride = block_field(e, FIELD(local_stride), e->i64, true);
    for (unsigned d = 0; d < 3; d++) {
        e->ctaid[d] = block_field(e, FIELD(ctaid) + d * 4, e->i32, true);
        e->nctaid[d] = block_field(e, FIELD(nctaid) + d * 4, e->i32, true);
    }
    e->nwarps =
        k->nwarps ? c32(e, (uint64_t)k->nwarps) : block_field(e, FIELD(nwarps), e->i32, true);
    e->nthreads = block_field(e, FIELD(nthreads), e->i32, true);
    e->safe = new_slot(e, LLVMArrayType2(e->i64, 16), "safe");
    LLVMSetAlignment(e->safe, 16); /* vectors that are moved in one piece may go there */
    e->elsewhere = opaque(e, e->safe);
    e->phase_slot = new_slot(e, e->i32, "phase");
    e->spun_slot = new_slot(e, e->i32, "spun");
    e->live_slot = new_slot(e, e->i32, "live");
    e->next_slot = new_slot(e, e->i32, "next");
    LLVMBuildStore(b, c32(e, 0), e->spun_slot);
    LLVMBuildStore(b, c32(e, 0), e->phase_slot);
    LLVMBuildStore(b, c32(e, 0xffffffffu), e->live_slot);
    for (int32_t n = 0; n < k->nblocks; n++)
        if (!k->blocks[n].alone)
            e->pending_slot[n] = new_slot(e, e->i32, "pending");
    for (size_t r = 0; r < k->nregs; r++) {
        const struct jreg *reg = &k->regs[r];
        LLVMTypeRef t = scalar_type(e, reg->type);
        e->regs[r].frame_offset = UINT32_MAX;
        if (reg->ndefs == 0 && !reg->read) /* of what is copied otherwise (flatten_copies.c) */
            continue;
        if (reg->shape.seg == SEG_NONE)
            e->regs[r].slot[0] = new_slot(e, LLVMVectorType(t, JIT_WARP), reg->name);
        else
            for (int s = 0; s < nsegs(reg->shape.seg); s++) {
                struct storage *st = &e->regs[r];
                bool other = s > 0 && reg->repeats; /* the first one's will do */
                st->slot[s] = other ? st->slot[0] : new_slot(e, t, reg->name);
                if (reg->shape.brk != 0)
                    st->brk[s] = other ? st->brk[0] : new_slot(e, e->i32, "break");
            }
    }
}

/* Registers that lanes pending in a block's frontier still read. */
static void find_waiting(struct emit *e)
{
    struct jkernel *k = e->k;
    size_t words = (size_t)bit_words((int32_t)k->nregs);
    e->waiting_of = arena_alloc(&k->arena, sizeof(uint64_t *) * (size_t)k->nblocks);
    for (int32_t b = 0; b < k->nblocks; b++) {
        const struct jblock *blk = &k->blocks[b];
        if (blk->alone)
            continue;
        e->waiting_of[b] = arena_alloc(&k->arena, words * 8);
        for (int32_t c = bit_next(blk->frontier, k->nblocks, 0); c >= 0;
             c = bit_next(blk->frontier, k->nblocks, c + 1))
            for (size_t w = 0; w < words && !k->blocks[c].inside; w++)
                e->waiting_of[b][w] |= k->blocks[c].live_in[w];
    }
}

/* What kernels and functions share: types, tables, storage. The builder ends up behind the
 * prologue, in the entry block. */
static void function_open(struct emit *e)
{
    struct jkernel *k = e->k;
    e->blk = LLVMGetParam(e->fn, 0);
    e->entry = new_bb(e, "entry");
    e->alu.lanes = 1;
    LLVMPositionBuilderAtEnd(e->alu.b, e->entry);
    LLVMSetCurrentDebugLocation2(e->alu.b, NULL);
    debug_function(e);
    e->regs = arena_alloc(&k->arena, sizeof *e->regs * (k->nregs + 1));
    e->pending_slot = arena_alloc(&k->arena, sizeof(LLVMValueRef) * (size_t)k->nblocks);
    e->bb = arena_alloc(&k->arena, sizeof(LLVMBasicBlockRef) * (size_t)k->nblocks);
    e->whole_bb = arena_alloc(&k->arena, sizeof(LLVMBasicBlockRef) * (size_t)k->nblocks);
    e->split = arena_alloc(&k->arena, sizeof(LLVMBasicBlockRef) * (k->ninstrs + 1));
    e->work = arena_alloc(&k->arena, sizeof(int32_t) * (size_t)(2 * k->nblocks + 1));
    e->remat_done = arena_alloc(&k->arena, k->nregs + 1);
    e->notes = arena_alloc(&k->arena, (size_t)k->nblocks);
    bool early = false;
    for (int32_t b = 0; b < k->nblocks; b++)
        early |= k->blocks[b].term == TERM_EXIT && !k->blocks[b].alone;
    e->always_full = k->full_warps && !early && !k->is_function;
    prologue(e);
    frame_resume_points(e);
    find_waiting(e);
}

/* Are there blocks that may go before a loop? Then every region leads everywhere, by more ways. */
static bool function_yields(const struct jkernel *k)
{
    for (int32_t b = 0; b < k->nblocks; b++)
        for (int32_t w = 0; k->blocks[b].yields != NULL && w < bit_words(k->nblocks); w++)
            if ((k->blocks[b].frontier[w] & k->blocks[b].yields[w]) != 0)
                return true;
    return false;
}

bool emit_kernel(struct emit *e)
{
    struct jkernel *k = e->k;
    function_types(e);
    function_metadata(e);
    e->fn =
        LLVMAddFunction(e->alu.module, "weir_block", LLVMFunctionType(e->i32, &e->ptr, 1, false));
    function_open(e);
    LLVMBasicBlockRef begin = NULL;
    LLVMBasicBlockRef *regions =
        arena_alloc(&k->arena, sizeof(LLVMBasicBlockRef) * (size_t)k->nresume);
    size_t once, copied = function_copied(e, &once);
    bool shared = copied > (function_yields(k) ? 2 * once : 3 * once + 2000);
    e->wholes = (shared ? once : copied) <= MAX_WHOLE;
    k->lockstep &= !shared;
    e->next_set = arena_alloc(&k->arena, (size_t)bit_words(k->nresume) * 8);
    relay_plan(e);
    again_plan(e);
    frame_plan(e);
    move_plan(e);
    place_plan(e);
    row_plan(e);
    for (int32_t r = 0; r < k->nresume; r++)
        regions[r] = shared && r > 0 ? regions[0] : new_bb(e, "region");
    if (k->nresume > 1 && !k->lockstep) {
        e->dispatch = new_bb(e, "dispatch");
        LLVMBuildBr(e->alu.b, e->dispatch);
        emit_dispatch(e, regions);
    } else {
        begin = new_bb(e, "begin");
        LLVMBuildBr(e->alu.b, begin);
    }
    bool ok = true;
    if (shared)
        ok = emit_shared(e, regions[0]);
    else if (e->row_warps > 0)
        ok = emit_row(e, regions[0]);
    else
        for (int32_t r = 0; ok && r < k->nresume; r++)
            ok = emit_region(e, r, regions);
    if (begin != NULL)
        move_begin(e, begin, regions);
    return ok;
}

bool emit_function(struct emit *e)
{
    LLVMBuilderRef b = e->alu.b;
    function_types(e);
    function_metadata(e);
    e->fn = callee_function(e, e->k->entry);
    e->w = LLVMGetParam(e->fn, 1);
    e->sp = LLVMGetParam(e->fn, 3);
    function_open(e);
    LLVMBuildStore(b, LLVMGetParam(e->fn, 2), e->live_slot);
    /* the frame must fit into the thread's local window */
    LLVMValueRef end = LLVMBuildAdd(b, e->sp, c64(e, e->k->local_bytes), "");
    LLVMBasicBlockRef over = new_bb(e, "overflow"), fits = new_bb(e, "fits");
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntUGT, end, e->local_stride, ""), over, fits);
    LLVMPositionBuilderAtEnd(b, over);
    e->mask = LLVMGetParam(e->fn, 2);
    emit_fault(e, JIT_FAULT_STACK, e->mask, NULL);
    LLVMBuildUnreachable(b);
    e->next_warp = new_bb(e, "return");
    LLVMPositionBuilderAtEnd(b, fits);
    flow_start(e, 0, LLVMGetParam(e->fn, 2));
    if (!flow_emit(e))
        return false;
    LLVMPositionBuilderAtEnd(b, e->next_warp);
    LLVMBuildRetVoid(b);
    return !e->failed;
}
