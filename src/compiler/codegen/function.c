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

static void store_pc(struct codegen *cg, LLVMValueRef v)
{
    LLVMValueRef p = LLVMBuildGEP2(cg->alu.b, cg->i32, cg->pc, &cg->w, 1, "");
    tag_frame(cg, LLVMBuildStore(cg->alu.b, v, p));
}

/* Number of a barrier, and how many threads it is for (all of the block's warps unless it says). */
static LLVMValueRef barrier_id(struct codegen *cg, const struct ptx_instr *i)
{
    const struct ptx_operand *o = &i->operands[ptx_has(i, PTX_M_red)]; /* a result comes first */
    struct uniformity s = operand_uniformity(cg->k, o);
    LLVMValueRef v = is_uniform(&s) ? operand_scalar(cg, o, PTX_U32, SEG_WARP, 0)
                                    : first_active(cg, operand_vector(cg, o, PTX_U32));
    return LLVMBuildAnd(cg->alu.b, v, c32(cg, 15), "");
}

static LLVMValueRef function_barrier_count(struct codegen *cg, const struct ptx_instr *i)
{
    bool reduces = ptx_has(i, PTX_M_red); /* result, number, count, predicate */
    const struct ptx_operand *o = &i->operands[reduces ? 2 : 1];
    if (i->noperands < (reduces ? 4 : 2))
        return LLVMBuildShl(cg->alu.b, cg->nwarps, c32(cg, 5), "");
    struct uniformity s = operand_uniformity(cg->k, o);
    return is_uniform(&s) ? operand_scalar(cg, o, PTX_U32, SEG_WARP, 0)
                          : first_active(cg, operand_vector(cg, o, PTX_U32));
}

static LLVMValueRef call_barrier(struct codegen *cg, const char *name, LLVMValueRef *args,
                                 unsigned n)
{
    LLVMTypeRef params[4] = {cg->ptr, cg->i32, cg->i32, cg->i32};
    LLVMTypeRef t = LLVMFunctionType(cg->i32, params, n, false);
    LLVMValueRef f = LLVMGetNamedFunction(cg->alu.module, name);
    if (f == NULL)
        f = LLVMAddFunction(cg->alu.module, name, t);
    return LLVMBuildCall2(cg->alu.b, t, f, args, n, "");
}

/* Counts this warp's votes for a reducing barrier. */
static void count_votes(struct codegen *cg, const struct ptx_instr *i)
{
    LLVMBuilderRef b = cg->alu.b;
    /* bar.red.op d, a {, b}, {!}c: the predicate comes last */
    const struct ptx_operand *p = &i->operands[i->noperands - 1];
    struct uniformity s = operand_uniformity(cg->k, p);
    LLVMValueRef yes = mask_bits(cg);
    if (is_uniform(&s))
        yes = LLVMBuildSelect(b, operand_scalar(cg, p, PTX_PRED, SEG_WARP, 0), yes, c32(cg, 0), "");
    else
        yes = LLVMBuildAnd(b, bits_of(cg, operand_vector(cg, p, PTX_PRED)), yes, "");
    if (cg->k->has_partial) {
        LLVMValueRef no = LLVMBuildXor(b, mask_bits(cg), yes, "");
        LLVMValueRef args[4] = {cg->blk, barrier_id(cg, i),
                                intrinsic(cg, "llvm.ctpop", &cg->i32, 1, &yes, 1),
                                intrinsic(cg, "llvm.ctpop", &cg->i32, 1, &no, 1)};
        call_barrier(cg, "weir_rt_barrier_vote", args, 4);
        return;
    }
    LLVMValueRef phase = LLVMBuildLoad2(b, cg->i32, cg->phase_slot, "");
    LLVMValueRef at = LLVMBuildShl(b, LLVMBuildZExt(b, phase, cg->i64, ""), c64(cg, 4), "");
    LLVMValueRef base = byte_offset(cg, byte_offset(cg, cg->blk, c64(cg, FIELD(scratch))), at);
    LLVMValueRef add[2] = {yes, mask_bits(cg)};
    for (int n = 0; n < 2; n++) {
        LLVMValueRef count = intrinsic(cg, "llvm.ctpop", &cg->i32, 1, &add[n], 1);
        LLVMValueRef slot = byte_offset(cg, base, c64(cg, (uint64_t)n * 8));
        LLVMValueRef old = LLVMBuildLoad2(b, cg->i32, slot, "");
        LLVMBuildStore(b, LLVMBuildAdd(b, old, count, ""), slot);
    }
}

/* Writes what a reducing barrier gives. */
static void votes_result(struct codegen *cg, const struct ptx_instr *i, LLVMValueRef yes,
                         LLVMValueRef all)
{
    LLVMBuilderRef b = cg->alu.b;
    unsigned type = PTX_PRED;
    LLVMValueRef r;
    if (ptx_has(i, PTX_M_popc)) {
        r = yes;
        type = PTX_U32;
    } else if (ptx_has(i, PTX_M_and)) {
        r = LLVMBuildICmp(b, LLVMIntEQ, yes, all, "");
    } else {
        r = LLVMBuildICmp(b, LLVMIntNE, yes, c32(cg, 0), "");
    }
    write_uniform(cg, i->operands[0].reg, r, type);
}

/* The result of the reducing barrier just passed: votes were counted in the other phase. */
static void read_votes(struct codegen *cg, const struct ptx_instr *i)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef yes, all;
    if (cg->k->has_partial) {
        LLVMValueRef args[2] = {cg->blk, cg->w};
        LLVMValueRef votes = call_barrier(cg, "weir_rt_barrier_votes", args, 2);
        yes = LLVMBuildAnd(b, votes, c32(cg, 0xffff), "");
        all = LLVMBuildAdd(b, yes, LLVMBuildLShr(b, votes, c32(cg, 16), ""), "");
        votes_result(cg, i, yes, all);
        return;
    }
    LLVMValueRef phase = LLVMBuildLoad2(b, cg->i32, cg->phase_slot, "");
    phase = LLVMBuildXor(b, phase, c32(cg, 1), "");
    LLVMValueRef at = LLVMBuildShl(b, LLVMBuildZExt(b, phase, cg->i64, ""), c64(cg, 4), "");
    LLVMValueRef base = byte_offset(cg, byte_offset(cg, cg->blk, c64(cg, FIELD(scratch))), at);
    yes = LLVMBuildLoad2(b, cg->i32, base, "");
    all = LLVMBuildLoad2(b, cg->i32, byte_offset(cg, base, c64(cg, 8)), "");
    votes_result(cg, i, yes, all);
}
void emit_arrive(struct codegen *cg, const struct ptx_instr *i)
{
    LLVMValueRef args[3] = {cg->blk, barrier_id(cg, i), function_barrier_count(cg, i)};
    call_barrier(cg, "weir_rt_barrier_arrive", args, 3);
}

/* The warp waits at a numbered barrier: pc holds the number, too, until the barrier opens. */
static void wait_numbered(struct codegen *cg, const struct jblock *blk)
{
    LLVMBuilderRef b = cg->alu.b;
    if (ptx_has(blk->term_instr, PTX_M_red))
        count_votes(cg, blk->term_instr);
    LLVMValueRef id = barrier_id(cg, blk->term_instr),
                 count = function_barrier_count(cg, blk->term_instr);
    flow_wait(cg, blk);
    frame_move(cg, blk->resume, true);
    LLVMValueRef pc = LLVMBuildShl(b, id, c32(cg, JIT_PC_BARRIER_SHIFT), "");
    store_pc(cg, LLVMBuildOr(b, pc, c32(cg, (uint64_t)blk->resume * 2 + JIT_PC_WAITING), ""));
    LLVMValueRef args[3] = {cg->blk, id, count};
    call_barrier(cg, "weir_rt_barrier_arrive", args, 3);
    LLVMBuildBr(b, cg->suspend);
}

/* The warp leaves: its state goes to the frame. */
static void function_leave(struct codegen *cg, const struct jblock *blk, bool next_phase)
{
    LLVMBuilderRef b = cg->alu.b;
    flow_wait(cg, blk);
    frame_move(cg, blk->resume, true);
    if (cg->k->lockstep) {
        bit_set(cg->next_set, blk->resume);
        LLVMBuildStore(b, c32(cg, (uint64_t)blk->resume), cg->next_slot);
        LLVMBuildBr(b, cg->suspend);
        return;
    }
    LLVMValueRef phase = LLVMBuildLoad2(b, cg->i32, cg->phase_slot, "");
    if (next_phase)
        phase = LLVMBuildXor(b, phase, c32(cg, 1), "");
    store_pc(cg, LLVMBuildOr(b, phase, c32(cg, (uint64_t)blk->resume * 2), ""));
    LLVMBuildBr(b, cg->suspend);
}

enum { YIELDS = 1000 }; /* how often lanes elsewhere in the warp go before the warp leaves */

/* One poll of a spinning loop: out when the budget is spent. Returns what is left of it. */
static LLVMValueRef spend_poll(struct codegen *cg, LLVMBasicBlockRef out, LLVMBasicBlockRef on)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef p = byte_offset(cg, cg->blk, c64(cg, FIELD(budget)));
    LLVMValueRef left = LLVMBuildSub(b, LLVMBuildLoad2(b, cg->i32, p, ""), c32(cg, 1), "");
    LLVMBuildStore(b, left, p);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntSLE, left, c32(cg, 0), ""), out, on);
    return left;
}

/* A poll in a function: the thread gives way and comes back. */
void emit_spin(struct codegen *cg)
{
    LLVMBasicBlockRef out = new_bb(cg, "spun"), on = new_bb(cg, "spin");
    spend_poll(cg, out, on);
    LLVMPositionBuilderAtEnd(cg->alu.b, out);
    emit_helper(cg, "weir_rt_spin", LLVMVoidTypeInContext(cg->alu.ctx), &cg->blk, 1);
    LLVMBuildBr(cg->alu.b, on);
    LLVMPositionBuilderAtEnd(cg->alu.b, on);
}

void emit_suspend(struct codegen *cg, const struct jblock *blk)
{
    LLVMBuilderRef b = cg->alu.b;
    if (blk->suspend == SUSPEND_BARRIER && cg->k->has_partial) {
        wait_numbered(cg, blk);
        return;
    }
    if (blk->suspend == SUSPEND_BARRIER) {
        if (ptx_has(blk->term_instr, PTX_M_red))
            count_votes(cg, blk->term_instr);
        function_leave(cg, blk, true);
        return;
    }
    if (blk->suspend == SUSPEND_YIELD) {
        relay_hand_over(cg, blk);
        return;
    }
    LLVMBasicBlockRef out = new_bb(cg, "spun"), on = new_bb(cg, "spin");
    LLVMValueRef left = NULL;
    if (blk->suspend == SUSPEND_SYNC) {
        LLVMValueRef wait =
            LLVMBuildLoad2(b, cg->i32, byte_offset(cg, cg->blk, c64(cg, FIELD(waiting))), "");
        LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntNE, wait, c32(cg, 0), ""), out, on);
    } else {
        left = spend_poll(cg, out, on);
    }
    LLVMPositionBuilderAtEnd(b, out);
    if (left != NULL && blk->spin_yields != NULL && !cg->in_whole) {
        LLVMBasicBlockRef yield = new_bb(cg, "yield"), leave = new_bb(cg, "leave");
        LLVMValueRef more = LLVMBuildICmp(b, LLVMIntSGT, left, c32(cg, (uint64_t)-YIELDS), "");
        LLVMBuildCondBr(b, more, yield, leave);
        LLVMPositionBuilderAtEnd(b, yield);
        flow_yield(cg, blk);
        LLVMBuildBr(b, leave);
        LLVMPositionBuilderAtEnd(b, leave);
    }
    LLVMValueRef spun = LLVMBuildLoad2(b, cg->i32, cg->spun_slot, "");
    spun = LLVMBuildAdd(b, spun, c32(cg, 1), "");
    /* who waits for launched grids does not look again: the block rests until they are complete */
    LLVMBuildStore(b, blk->suspend == SUSPEND_SYNC ? cg->nwarps : spun, cg->spun_slot);
    function_leave(cg, blk, false);
    LLVMPositionBuilderAtEnd(b, on);
    flow_goto(cg, blk->succ[0]);
}

/* ---- regions ---- */

void enter_region(struct codegen *cg, int32_t r)
{
    LLVMBuilderRef b = cg->alu.b;
    struct jkernel *k = cg->k;
    cg->mask = NULL;
    cg->mask_vec = NULL;
    cg->waiting = NULL;
    memset(cg->remat_done, 0, k->nregs);
    if (r == 0) {
        if (!cg->always_full) {
            LLVMValueRef all = c32(cg, 0xffffffffu);
            if (!k->full_warps) {
                /* the last warp may have fewer threads */
                LLVMValueRef left =
                    LLVMBuildSub(b, cg->nthreads, LLVMBuildShl(b, cg->w, c32(cg, 5), ""), "");
                LLVMValueRef part = LLVMBuildSub(
                    b, LLVMBuildShl(b, c32(cg, 1), LLVMBuildAnd(b, left, c32(cg, 31), ""), ""),
                    c32(cg, 1), "");
                LLVMValueRef full = LLVMBuildICmp(b, LLVMIntUGE, left, c32(cg, 32), "");
                all = LLVMBuildSelect(b, full, all, part, "");
            }
            LLVMBuildStore(b, all, cg->live_slot);
        }
        flow_start(cg, 0,
                   cg->always_full ? c32(cg, 0xffffffffu)
                                   : LLVMBuildLoad2(b, cg->i32, cg->live_slot, ""));
        return;
    }
    const struct jblock *from = &k->blocks[k->resume_block[r]];
    frame_move(cg, r, false);
    frame_recompute(cg, r);
    if (from->suspend == SUSPEND_BARRIER && ptx_has(from->term_instr, PTX_M_red))
        read_votes(cg, from->term_instr);
    const struct jblock *to = &k->blocks[from->succ[0]];
    LLVMValueRef lanes = NULL;
    if (!to->converged)
        lanes = LLVMBuildLoad2(b, cg->i32, cg->pending_slot[from->succ[0]], "");
    else if (!cg->always_full)
        lanes = LLVMBuildLoad2(b, cg->i32, cg->live_slot, "");
    if (!flow_whole(cg, from->succ[0], lanes))
        return;
    if (from->spin_yields != NULL)
        flow_resume(cg, from, cg->resume_cand[r]);
    else
        flow_chain(cg, cg->resume_cand[r], from->succ[0]);
}

/* All warps have passed a barrier: its votes are to be read, the next one's begin. */
static void function_next_phase(struct codegen *cg)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef votes = byte_offset(cg, cg->blk, c64(cg, FIELD(scratch)));
    LLVMValueRef other = LLVMBuildLoad2(b, cg->i32, cg->phase_slot, "");
    other = LLVMBuildXor(b, other, c32(cg, 1), "");
    LLVMBuildStore(b, other, cg->phase_slot);
    LLVMValueRef at = LLVMBuildShl(b, LLVMBuildZExt(b, other, cg->i64, ""), c64(cg, 4), "");
    LLVMBuildStore(b, c64(cg, 0), byte_offset(cg, votes, at));
    LLVMBuildStore(b, c64(cg, 0), byte_offset(cg, byte_offset(cg, votes, at), c64(cg, 8)));
}

/* Where a block goes on without a dispatcher: at the barrier that its warps wait at, if any. */
static void next_region(struct codegen *cg, LLVMBasicBlockRef *regions)
{
    LLVMBuilderRef b = cg->alu.b;
    struct jkernel *k = cg->k;
    LLVMBasicBlockRef done = new_bb(cg, "done");
    if (!k->lockstep) {
        LLVMBuildBr(b, done);
    } else {
        LLVMValueRef next = LLVMBuildLoad2(b, cg->i32, cg->next_slot, "");
        LLVMValueRef sw = LLVMBuildSwitch(b, next, done, (unsigned)k->nresume);
        for (int32_t r = bit_next(cg->next_set, k->nresume, 0); r >= 0;
             r = bit_next(cg->next_set, k->nresume, r + 1)) {
            LLVMBasicBlockRef to = new_bb(cg, "passed");
            LLVMAddCase(sw, c32(cg, (uint64_t)r), to);
            LLVMPositionBuilderAtEnd(b, to);
            if (ptx_has(k->blocks[k->resume_block[r]].term_instr, PTX_M_red))
                function_next_phase(cg);
            for (int32_t reg = bit_next(cg->resume_live[r], (int32_t)k->nregs, 0); reg >= 0;
                 reg = bit_next(cg->resume_live[r], (int32_t)k->nregs, reg + 1))
                if (frame_once(cg, reg)) {
                    LLVMTypeRef t = scalar_type(cg, k->regs[reg].type);
                    LLVMValueRef v = LLVMBuildLoad2(b, t, cg->regs[reg].out, "");
                    LLVMBuildStore(b, v, cg->regs[reg].in);
                }
            move_passed(cg, r);
            LLVMBuildBr(b, regions[r]);
        }
    }
    LLVMPositionBuilderAtEnd(b, done);
    LLVMBuildRet(b, c32(cg, JIT_DONE));
}

static bool emit_region(struct codegen *cg, int32_t r, LLVMBasicBlockRef *regions)
{
    LLVMBuilderRef b = cg->alu.b;
    struct jkernel *k = cg->k;
    LLVMBasicBlockRef at = regions[r];
    bool many = k->nresume > 1 && !k->lockstep;
    LLVMBasicBlockRef head = new_bb(cg, "warps"), run = new_bb(cg, "run"),
                      step = new_bb(cg, "step");
    LLVMBasicBlockRef over = new_bb(cg, "over"), done = new_bb(cg, "warp_done");
    cg->region = r;
    cg->reads = r > 0 ? frame_reads(cg, r) : NULL;
    flow_open(cg);
    memset(cg->next_set, 0, (size_t)bit_words(k->nresume) * 8);
    cg->next_warp = done;
    cg->suspend = step;
    LLVMPositionBuilderAtEnd(b, at);
    LLVMBasicBlockRef before = at;
    LLVMValueRef phase = many ? LLVMBuildLoad2(b, cg->i32, cg->phase_slot, "") : c32(cg, 0);
    LLVMValueRef here = LLVMBuildOr(b, phase, c32(cg, (uint64_t)r * 2), "");
    LLVMBuildBr(b, head);
    LLVMPositionBuilderAtEnd(b, head);
    cg->w = LLVMBuildPhi(b, cg->i32, "w");
    LLVMAddIncoming(cg->w, (LLVMValueRef[]){c32(cg, 0)}, (LLVMBasicBlockRef[]){before}, 1);
    LLVMValueRef off =
        LLVMBuildMul(b, LLVMBuildZExt(b, cg->w, cg->i64, ""), c64(cg, cg->frame_bytes), "");
    cg->frame_w = byte_offset(cg, cg->frame, off);
    place_region(cg);
    if (many) {
        LLVMValueRef p = LLVMBuildGEP2(b, cg->i32, cg->pc, &cg->w, 1, "");
        LLVMValueRef pc = LLVMBuildLoad2(b, cg->i32, p, "");
        tag_frame(cg, pc);
        LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntEQ, pc, here, ""), run, step);
    } else if (relay_point(cg, r)) {
        LLVMBuildCondBr(b, relay_waits(cg, r), run, step);
    } else {
        LLVMBuildBr(b, run);
    }
    LLVMPositionBuilderAtEnd(b, run);
    relay_begin(cg);
    emit_note_region(cg, r);
    enter_region(cg, r);
    bool ok = flow_emit(cg);
    LLVMPositionBuilderAtEnd(b, done);
    if (many)
        store_pc(cg, c32(cg, (uint64_t)PC_EXITED));
    else if (k->lockstep)
        LLVMBuildStore(b, c32(cg, 0), cg->next_slot);
    LLVMBuildBr(b, step);
    LLVMPositionBuilderAtEnd(b, step);
    LLVMValueRef next = LLVMBuildAdd(b, cg->w, c32(cg, 1), "");
    LLVMAddIncoming(cg->w, &next, &step, 1);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntULT, next, cg->nwarps, ""), head, over);
    LLVMPositionBuilderAtEnd(b, over);
    if (many) {
        move_dispatch(cg);
    } else {
        relay_go_on(cg, regions);
        next_region(cg, regions);
    }
    return ok;
}

/* Instructions that copies of their own for every region would come to, and the kernel's. */
static size_t function_copied(struct codegen *cg, size_t *once)
{
    struct jkernel *k = cg->k;
    size_t sum = 0;
    uint8_t *seen = xmalloc((size_t)k->nblocks);
    *once = 0;
    for (int32_t b = 0; b < k->nblocks; b++)
        *once += (size_t)k->blocks[b].count + 4;
    for (int32_t r = 0; r < k->nresume; r++) {
        memset(seen, 0, (size_t)k->nblocks);
        int32_t n = 0;
        for (int32_t c = 0; c < k->nblocks; c++)
            if (r == 0 ? c == 0 : bit_get(cg->resume_cand[r], c)) {
                seen[c] = 1;
                cg->work[n++] = c;
            }
        while (n > 0) {
            const struct jblock *blk = &k->blocks[cg->work[--n]];
            sum += (size_t)blk->count + 4;
            for (int s = 0; s < blk->nsucc && blk->suspend != SUSPEND_BARRIER; s++)
                if (!seen[blk->succ[s]]) {
                    seen[blk->succ[s]] = 1;
                    cg->work[n++] = blk->succ[s];
                }
        }
    }
    free(seen);
    return sum;
}

/* One region for all resume points, for kernels whose regions overlap so much that copies would
 * multiply: each warp that can run goes in where it waits. */
static bool emit_shared(struct codegen *cg, LLVMBasicBlockRef at)
{
    LLVMBuilderRef b = cg->alu.b;
    struct jkernel *k = cg->k;
    LLVMBasicBlockRef head = new_bb(cg, "warps"), run = new_bb(cg, "run"),
                      step = new_bb(cg, "step");
    LLVMBasicBlockRef over = new_bb(cg, "over"), done = new_bb(cg, "warp_done"),
                      bad = new_bb(cg, "bad");
    flow_open(cg);
    cg->next_warp = done;
    cg->suspend = step;
    LLVMPositionBuilderAtEnd(b, at);
    LLVMValueRef phase = LLVMBuildLoad2(b, cg->i32, cg->phase_slot, "");
    LLVMBuildBr(b, head);
    LLVMPositionBuilderAtEnd(b, head);
    cg->w = LLVMBuildPhi(b, cg->i32, "w");
    LLVMAddIncoming(cg->w, (LLVMValueRef[]){c32(cg, 0)}, &at, 1);
    LLVMValueRef off = LLVMBuildZExt(b, cg->w, cg->i64, "");
    cg->frame_w = byte_offset(cg, cg->frame, LLVMBuildMul(b, off, c64(cg, cg->frame_bytes), ""));
    place_region(cg);
    LLVMValueRef pc =
        LLVMBuildLoad2(b, cg->i32, LLVMBuildGEP2(b, cg->i32, cg->pc, &cg->w, 1, ""), "");
    tag_frame(cg, pc);
    LLVMValueRef ready =
        LLVMBuildICmp(b, LLVMIntEQ, LLVMBuildAnd(b, pc, c32(cg, 1), ""), phase, "");
    LLVMValueRef ended = LLVMBuildICmp(b, LLVMIntEQ, pc, c32(cg, (uint64_t)PC_EXITED), "");
    ready = LLVMBuildAnd(b, ready, LLVMBuildNot(b, ended, ""), "");
    LLVMBuildCondBr(b, ready, run, step);
    LLVMPositionBuilderAtEnd(b, run);
    memset(cg->notes, 0, (size_t)k->nblocks);
    emit_note_warp(cg);
    LLVMValueRef sw =
        LLVMBuildSwitch(b, LLVMBuildLShr(b, pc, c32(cg, 1), ""), bad, (unsigned)k->nresume);
    LLVMPositionBuilderAtEnd(b, bad);
    LLVMBuildUnreachable(b);
    for (int32_t r = 0; r < k->nresume; r++) {
        LLVMBasicBlockRef in = new_bb(cg, "enter");
        LLVMAddCase(sw, c32(cg, (uint64_t)r), in);
        LLVMPositionBuilderAtEnd(b, in);
        enter_region(cg, r);
    }
    bool ok = flow_emit(cg);
    LLVMPositionBuilderAtEnd(b, done);
    store_pc(cg, c32(cg, (uint64_t)PC_EXITED));
    LLVMBuildBr(b, step);
    LLVMPositionBuilderAtEnd(b, step);
    LLVMValueRef next = LLVMBuildAdd(b, cg->w, c32(cg, 1), "");
    LLVMAddIncoming(cg->w, &next, &step, 1);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntULT, next, cg->nwarps, ""), head, over);
    LLVMPositionBuilderAtEnd(b, over);
    move_dispatch(cg);
    return ok;
}

/* Picks where to go on: a warp of this phase that has not run yet; else the next phase, which the
 * barrier opens; else the block is done. The scan starts behind the last warp picked, so that
 * spinning warps cannot starve others. */
static void emit_dispatch(struct codegen *cg, LLVMBasicBlockRef *regions)
{
    LLVMBuilderRef b = cg->alu.b;
    struct jkernel *k = cg->k;
    LLVMBasicBlockRef scan = new_bb(cg, "scan"), look = new_bb(cg, "look"),
                      more = new_bb(cg, "more");
    LLVMBasicBlockRef found = new_bb(cg, "found"), none = new_bb(cg, "none"),
                      flip = new_bb(cg, "flip");
    LLVMBasicBlockRef finished = new_bb(cg, "finished"), bad = new_bb(cg, "bad"),
                      pick = new_bb(cg, "pick");
    LLVMPositionBuilderAtEnd(b, cg->dispatch);
    LLVMValueRef state = byte_offset(cg, cg->blk, c64(cg, FIELD(state)));
    LLVMValueRef votes = byte_offset(cg, cg->blk, c64(cg, FIELD(scratch)));
    if (k->has_poll) {
        LLVMBasicBlockRef out = new_bb(cg, "yield");
        /* once as many have spun in vain as there are warps, waiting here is no use */
        LLVMValueRef spun = LLVMBuildLoad2(b, cg->i32, cg->spun_slot, "");
        LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntUGE, spun, cg->nwarps, ""), out, scan);
        LLVMPositionBuilderAtEnd(b, out);
        LLVMBuildRet(b, c32(cg, JIT_SUSPENDED));
    } else {
        LLVMBuildBr(b, scan);
    }
    /* state: phase in bit 0, the warp to start the scan at above it */
    LLVMPositionBuilderAtEnd(b, scan);
    LLVMValueRef st = LLVMBuildLoad2(b, cg->i32, state, "");
    LLVMValueRef phase = LLVMBuildAnd(b, st, c32(cg, 1), "");
    LLVMBuildStore(b, phase, cg->phase_slot);
    LLVMValueRef start = LLVMBuildLShr(b, st, c32(cg, 1), "");
    LLVMBuildBr(b, look);
    LLVMPositionBuilderAtEnd(b, look);
    LLVMValueRef n = LLVMBuildPhi(b, cg->i32, ""), w = LLVMBuildPhi(b, cg->i32, "");
    LLVMValueRef live = LLVMBuildPhi(b, cg->i32, "");
    LLVMValueRef p = LLVMBuildGEP2(b, cg->i32, cg->pc, &w, 1, "");
    LLVMValueRef pc = LLVMBuildLoad2(b, cg->i32, p, "");
    tag_frame(cg, pc);
    LLVMValueRef exited = LLVMBuildICmp(b, LLVMIntEQ, pc, c32(cg, (uint64_t)PC_EXITED), "");
    LLVMValueRef same = LLVMBuildICmp(b, LLVMIntEQ, LLVMBuildAnd(b, pc, c32(cg, 1), ""), phase, "");
    LLVMValueRef ready = LLVMBuildAnd(b, same, LLVMBuildNot(b, exited, ""), "");
    LLVMValueRef live2 = LLVMBuildSelect(b, exited, live, c32(cg, 1), "");
    LLVMBuildCondBr(b, ready, found, more);
    LLVMPositionBuilderAtEnd(b, more);
    LLVMValueRef n2 = LLVMBuildAdd(b, n, c32(cg, 1), "");
    LLVMValueRef w2 = LLVMBuildAdd(b, w, c32(cg, 1), "");
    w2 = LLVMBuildSelect(b, LLVMBuildICmp(b, LLVMIntUGE, w2, cg->nwarps, ""), c32(cg, 0), w2, "");
    LLVMAddIncoming(n, (LLVMValueRef[]){c32(cg, 0), n2}, (LLVMBasicBlockRef[]){scan, more}, 2);
    LLVMAddIncoming(w, (LLVMValueRef[]){start, w2}, (LLVMBasicBlockRef[]){scan, more}, 2);
    LLVMAddIncoming(live, (LLVMValueRef[]){c32(cg, 0), live2}, (LLVMBasicBlockRef[]){scan, more},
                    2);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntULT, n2, cg->nwarps, ""), look, none);
    LLVMPositionBuilderAtEnd(b, none);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntNE, live2, c32(cg, 0), ""), flip, finished);
    LLVMPositionBuilderAtEnd(b, flip);
    if (k->has_partial) {
        /* nobody can go on: barriers for all may open because the other warps have ended */
        LLVMValueRef opened = call_barrier(cg, "weir_rt_barrier_open", &cg->blk, 1);
        LLVMBasicBlockRef stuck = new_bb(cg, "stuck");
        LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntNE, opened, c32(cg, 0), ""), scan, stuck);
        LLVMPositionBuilderAtEnd(b, stuck);
        emit_fault(cg, JIT_FAULT_ILLEGAL, c32(cg, 0xffffffffu), NULL);
        LLVMBuildRet(b, c32(cg, JIT_DONE));
        flip = new_bb(cg, "never");
        LLVMPositionBuilderAtEnd(b, flip);
    }
    LLVMValueRef other = LLVMBuildXor(b, phase, c32(cg, 1), "");
    LLVMBuildStore(b, other, state);
    LLVMValueRef at = LLVMBuildShl(b, LLVMBuildZExt(b, other, cg->i64, ""), c64(cg, 4), "");
    LLVMBuildStore(b, c64(cg, 0), byte_offset(cg, votes, at));
    LLVMBuildStore(b, c64(cg, 0), byte_offset(cg, byte_offset(cg, votes, at), c64(cg, 8)));
    LLVMBuildBr(b, scan);
    LLVMPositionBuilderAtEnd(b, finished);
    LLVMBuildRet(b, c32(cg, JIT_DONE));
    LLVMPositionBuilderAtEnd(b, found);
    LLVMValueRef after = LLVMBuildAdd(b, w, c32(cg, 1), "");
    after = LLVMBuildSelect(b, LLVMBuildICmp(b, LLVMIntUGE, after, cg->nwarps, ""), c32(cg, 0),
                            after, "");
    after = LLVMBuildOr(b, LLVMBuildShl(b, after, c32(cg, 1), ""), phase, "");
    LLVMBuildStore(b, after, state);
    LLVMBuildBr(b, pick);
    LLVMPositionBuilderAtEnd(b, pick);
    LLVMValueRef sw =
        LLVMBuildSwitch(b, LLVMBuildLShr(b, pc, c32(cg, 1), ""), bad, (unsigned)k->nresume);
    for (int32_t r = 0; r < k->nresume; r++)
        LLVMAddCase(sw, c32(cg, (uint64_t)r), regions[r]);
    LLVMPositionBuilderAtEnd(b, bad);
    LLVMBuildUnreachable(b);
}

/* ---- the function ---- */

static void function_metadata(struct codegen *cg)
{
    LLVMContextRef c = cg->alu.ctx;
    cg->md_invariant = LLVMGetMDKindIDInContext(c, "invariant.load", 14);
    cg->md_unpredictable = LLVMGetMDKindIDInContext(c, "unpredictable", 13);
    cg->md_scope = LLVMGetMDKindIDInContext(c, "alias.scope", 11);
    cg->md_noalias = LLVMGetMDKindIDInContext(c, "noalias", 7);
    cg->md_empty = LLVMMetadataAsValue(c, LLVMMDNodeInContext2(c, NULL, 0));
    LLVMMetadataRef domain = LLVMMDStringInContext2(c, "weir", 4);
    domain = LLVMMDNodeInContext2(c, &domain, 1);
    LLVMMetadataRef scopes[SCOPES];
    for (int n = 0; n < SCOPES; n++) {
        static const char *const names[] = {"frame", "shared", "global", "local", "any"};
        LLVMMetadataRef parts[] = {LLVMMDStringInContext2(c, names[n], strlen(names[n])), domain};
        scopes[n] = LLVMMDNodeInContext2(c, parts, 2);
        cg->scope_of[n] = LLVMMetadataAsValue(c, LLVMMDNodeInContext2(c, &scopes[n], 1));
    }
    /* what is no other's: a generic address may lead everywhere but into a frame */
    for (int n = 0; n < SCOPES; n++) {
        LLVMMetadataRef others[SCOPES];
        size_t count = 0;
        for (int m = 0; m < SCOPES; m++)
            if (m != n &&
                (n == SCOPE_FRAME || m == SCOPE_FRAME || (n != SCOPE_ANY && m != SCOPE_ANY)))
                others[count++] = scopes[m];
        cg->scope_not[n] = LLVMMetadataAsValue(c, LLVMMDNodeInContext2(c, others, count));
    }
    cg->scope_all = LLVMMetadataAsValue(c, LLVMMDNodeInContext2(c, scopes, SCOPES));
}

static void function_types(struct codegen *cg)
{
    LLVMContextRef c = cg->alu.ctx;
    cg->i1 = LLVMInt1TypeInContext(c);
    cg->i8 = LLVMInt8TypeInContext(c);
    cg->i16 = LLVMInt16TypeInContext(c);
    cg->i32 = LLVMInt32TypeInContext(c);
    cg->i64 = LLVMInt64TypeInContext(c);
    cg->f32 = LLVMFloatTypeInContext(c);
    cg->f64 = LLVMDoubleTypeInContext(c);
    cg->ptr = LLVMPointerTypeInContext(c, 0);
    cg->v32i1 = LLVMVectorType(cg->i1, JIT_WARP);
    cg->v32i32 = LLVMVectorType(cg->i32, JIT_WARP);
    cg->v32i64 = LLVMVectorType(cg->i64, JIT_WARP);
}

/* Parameters can be read before it is known that they are needed. */
static LLVMValueRef params_pointer(struct codegen *cg)
{
    LLVMValueRef v = block_field(cg, FIELD(params), cg->ptr, true);
    static const char *const keys[] = {"dereferenceable", "align"};
    uint64_t facts[] = {jit_param_bytes(cg->k->entry), sizeof(uint64_t)};
    for (int n = 0; n < 2 && facts[0] > 0 && !cg->k->is_function; n++) {
        LLVMMetadataRef fact = LLVMValueAsMetadata(c64(cg, facts[n]));
        unsigned kind = LLVMGetMDKindIDInContext(cg->alu.ctx, keys[n], (unsigned)strlen(keys[n]));
        fact = LLVMMDNodeInContext2(cg->alu.ctx, &fact, 1);
        LLVMSetMetadata(v, kind, LLVMMetadataAsValue(cg->alu.ctx, fact));
    }
    return v;
}

static void prologue(struct codegen *cg)
{
    LLVMBuilderRef b = cg->alu.b;
    struct jkernel *k = cg->k;
    cg->params = params_pointer(cg);
    cg->shared = block_field(cg, FIELD(shared), cg->ptr, true);
    cg->local = block_field(cg, FIELD(local), cg->ptr, true);
    cg->frame = block_field(cg, FIELD(frame), cg->ptr, true);
    cg->pc = block_field(cg, FIELD(pc), cg->ptr, true);
    cg->local_stride = block_field(cg, FIELD(local_stride), cg->i64, true);
    for (unsigned d = 0; d < 3; d++) {
        cg->ctaid[d] = block_field(cg, FIELD(ctaid) + d * 4, cg->i32, true);
        cg->nctaid[d] = block_field(cg, FIELD(nctaid) + d * 4, cg->i32, true);
    }
    cg->nwarps =
        k->nwarps ? c32(cg, (uint64_t)k->nwarps) : block_field(cg, FIELD(nwarps), cg->i32, true);
    cg->nthreads = block_field(cg, FIELD(nthreads), cg->i32, true);
    check_begin(cg);
    cg->safe = new_slot(cg, LLVMArrayType2(cg->i64, 16), "safe");
    LLVMSetAlignment(cg->safe, 16); /* vectors that are moved in one piece may go there */
    cg->elsewhere = opaque(cg, cg->safe);
    cg->phase_slot = new_slot(cg, cg->i32, "phase");
    cg->spun_slot = new_slot(cg, cg->i32, "spun");
    cg->live_slot = new_slot(cg, cg->i32, "live");
    cg->next_slot = new_slot(cg, cg->i32, "next");
    LLVMBuildStore(b, c32(cg, 0), cg->spun_slot);
    LLVMBuildStore(b, c32(cg, 0), cg->phase_slot);
    LLVMBuildStore(b, c32(cg, 0xffffffffu), cg->live_slot);
    for (int32_t n = 0; n < k->nblocks; n++)
        if (!k->blocks[n].converged)
            cg->pending_slot[n] = new_slot(cg, cg->i32, "pending");
    for (size_t r = 0; r < k->nregs; r++) {
        const struct jreg *reg = &k->regs[r];
        LLVMTypeRef t = scalar_type(cg, reg->type);
        cg->regs[r].frame_offset = UINT32_MAX;
        if (reg->ndefs == 0 && !reg->read) /* of what is copied otherwise (flatten_copies.c) */
            continue;
        if (reg->uniformity.seg == SEG_NONE)
            cg->regs[r].slot[0] = new_slot(cg, LLVMVectorType(t, JIT_WARP), reg->name);
        else
            for (int s = 0; s < nsegs(reg->uniformity.seg); s++) {
                struct storage *st = &cg->regs[r];
                bool other = s > 0 && reg->repeats; /* the first one's will do */
                st->slot[s] = other ? st->slot[0] : new_slot(cg, t, reg->name);
                if (reg->uniformity.brk != 0)
                    st->brk[s] = other ? st->brk[0] : new_slot(cg, cg->i32, "break");
            }
    }
}

/* Registers that lanes pending in a block's frontier still read. */
static void find_waiting(struct codegen *cg)
{
    struct jkernel *k = cg->k;
    size_t words = (size_t)bit_words((int32_t)k->nregs);
    cg->waiting_of = arena_alloc(&k->arena, sizeof(uint64_t *) * (size_t)k->nblocks);
    for (int32_t b = 0; b < k->nblocks; b++) {
        const struct jblock *blk = &k->blocks[b];
        if (blk->converged)
            continue;
        cg->waiting_of[b] = arena_alloc(&k->arena, words * 8);
        for (int32_t c = bit_next(blk->frontier, k->nblocks, 0); c >= 0;
             c = bit_next(blk->frontier, k->nblocks, c + 1))
            for (size_t w = 0; w < words && !k->blocks[c].serialized; w++)
                cg->waiting_of[b][w] |= k->blocks[c].live_in[w];
    }
}

/* What kernels and functions share: types, tables, storage. The builder ends up behind the
 * prologue, in the entry block. */
static void function_open(struct codegen *cg)
{
    struct jkernel *k = cg->k;
    cg->blk = LLVMGetParam(cg->fn, 0);
    cg->entry = new_bb(cg, "entry");
    cg->alu.lanes = 1;
    LLVMPositionBuilderAtEnd(cg->alu.b, cg->entry);
    LLVMSetCurrentDebugLocation2(cg->alu.b, NULL);
    debug_function(cg);
    cg->regs = arena_alloc(&k->arena, sizeof *cg->regs * (k->nregs + 1));
    cg->pending_slot = arena_alloc(&k->arena, sizeof(LLVMValueRef) * (size_t)k->nblocks);
    cg->bb = arena_alloc(&k->arena, sizeof(LLVMBasicBlockRef) * (size_t)k->nblocks);
    cg->whole_bb = arena_alloc(&k->arena, sizeof(LLVMBasicBlockRef) * (size_t)k->nblocks);
    cg->split = arena_alloc(&k->arena, sizeof(LLVMBasicBlockRef) * (k->ninstrs + 1));
    cg->work = arena_alloc(&k->arena, sizeof(int32_t) * (size_t)(2 * k->nblocks + 1));
    cg->remat_done = arena_alloc(&k->arena, k->nregs + 1);
    cg->notes = arena_alloc(&k->arena, (size_t)k->nblocks);
    bool early = false;
    for (int32_t b = 0; b < k->nblocks; b++)
        early |= k->blocks[b].term == TERM_EXIT && !k->blocks[b].converged;
    cg->always_full = k->full_warps && !early && !k->is_function;
    prologue(cg);
    frame_resume_points(cg);
    find_waiting(cg);
}

/* Are there blocks that may go before a loop? Then every region leads everywhere, by more ways. */
static bool function_yields(const struct jkernel *k)
{
    for (int32_t b = 0; b < k->nblocks; b++)
        for (int32_t w = 0; k->blocks[b].spin_yields != NULL && w < bit_words(k->nblocks); w++)
            if ((k->blocks[b].frontier[w] & k->blocks[b].spin_yields[w]) != 0)
                return true;
    return false;
}

bool emit_kernel(struct codegen *cg)
{
    struct jkernel *k = cg->k;
    function_types(cg);
    function_metadata(cg);
    cg->fn = LLVMAddFunction(cg->alu.module, "weir_block",
                             LLVMFunctionType(cg->i32, &cg->ptr, 1, false));
    function_open(cg);
    LLVMBasicBlockRef begin = NULL;
    LLVMBasicBlockRef *regions =
        arena_alloc(&k->arena, sizeof(LLVMBasicBlockRef) * (size_t)k->nresume);
    size_t once, copied = function_copied(cg, &once);
    bool shared = copied > (function_yields(k) ? 2 * once : 3 * once + 2000);
    cg->wholes = (shared ? once : copied) <= MAX_WHOLE;
    k->lockstep &= !shared;
    cg->next_set = arena_alloc(&k->arena, (size_t)bit_words(k->nresume) * 8);
    relay_plan(cg);
    again_plan(cg);
    frame_plan(cg);
    move_plan(cg);
    place_plan(cg);
    row_plan(cg);
    for (int32_t r = 0; r < k->nresume; r++)
        regions[r] = shared && r > 0 ? regions[0] : new_bb(cg, "region");
    if (k->nresume > 1 && !k->lockstep) {
        cg->dispatch = new_bb(cg, "dispatch");
        LLVMBuildBr(cg->alu.b, cg->dispatch);
        emit_dispatch(cg, regions);
    } else {
        begin = new_bb(cg, "begin");
        LLVMBuildBr(cg->alu.b, begin);
    }
    bool ok = true;
    if (shared)
        ok = emit_shared(cg, regions[0]);
    else if (cg->row_warps > 0)
        ok = emit_row(cg, regions[0]);
    else
        for (int32_t r = 0; ok && r < k->nresume; r++)
            ok = emit_region(cg, r, regions);
    if (begin != NULL)
        move_begin(cg, begin, regions);
    return ok;
}

bool emit_function(struct codegen *cg)
{
    LLVMBuilderRef b = cg->alu.b;
    function_types(cg);
    function_metadata(cg);
    cg->fn = callee_function(cg, cg->k->entry);
    cg->w = LLVMGetParam(cg->fn, 1);
    cg->sp = LLVMGetParam(cg->fn, 3);
    function_open(cg);
    LLVMBuildStore(b, LLVMGetParam(cg->fn, 2), cg->live_slot);
    cg->ended = new_slot(cg, cg->i32, "ended");
    LLVMBuildStore(b, c32(cg, 0), cg->ended);
    /* the frame must fit into the thread's local window */
    LLVMValueRef end = LLVMBuildAdd(b, cg->sp, c64(cg, cg->k->local_bytes), "");
    LLVMBasicBlockRef over = new_bb(cg, "overflow"), fits = new_bb(cg, "fits");
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntUGT, end, cg->local_stride, ""), over, fits);
    LLVMPositionBuilderAtEnd(b, over);
    cg->mask = LLVMGetParam(cg->fn, 2);
    emit_fault(cg, JIT_FAULT_STACK, cg->mask, NULL);
    LLVMBuildUnreachable(b);
    cg->next_warp = new_bb(cg, "return");
    LLVMPositionBuilderAtEnd(b, fits);
    flow_start(cg, 0, LLVMGetParam(cg->fn, 2));
    if (!flow_emit(cg))
        return false;
    LLVMPositionBuilderAtEnd(b, cg->next_warp);
    LLVMBuildRet(b, LLVMBuildLoad2(b, cg->i32, cg->ended, ""));
    return !cg->failed;
}
