/* function.c: the function that runs a block: regions, the dispatcher, suspension, and the order in
 * which warps run. codegen.h has an outline; kernel.h explains divergence. */
#include <stdlib.h>
#include <string.h>

#include "compiler/codegen/control/control.h"
#include "compiler/codegen/frame.h"
#include "compiler/codegen/instructions.h"
#include "compiler/codegen/memory/deferred.h"
#include "compiler/codegen/memory/defined.h"
#include "compiler/codegen/memory/memory.h"
#include "compiler/codegen/scalar_functions.h"
#include "compiler/codegen/values.h"
#include "compiler/codegen/warp/warp.h"
#include "compiler/llvm/llvm_passes.h"
#include "compiler/passes.h"

/* pc[w]: resume point * 2 + parity of the barrier phase in which the warp runs on, or PC_EXITED. */
enum { PC_EXITED = JIT_PC_EXITED };
/* Kernels of up to this many instructions, all regions counted, get converged copies of their
 * blocks. */
enum { MAX_CONVERGED = 1200 };

void store_pc(struct codegen *cg, LLVMValueRef v)
{
    LLVMValueRef p = LLVMBuildGEP2(cg->alu.b, cg->i32, cg->block.pc, &cg->w, 1, "");
    tag_frame(cg, LLVMBuildStore(cg->alu.b, v, p));
}

void suspend_warp(struct codegen *cg, const struct jblock *blk, bool next_phase)
{
    LLVMBuilderRef b = cg->alu.b;
    flow_wait(cg, blk);
    frame_transfer(cg, blk->resume, true);
    if (cg->k->lockstep) {
        bit_set(cg->regions->next_set, blk->resume);
        LLVMBuildStore(b, c32(cg, (uint64_t)blk->resume), cg->regions->next_slot);
        LLVMBuildBr(b, cg->regions->suspend);
        return;
    }
    LLVMValueRef phase = LLVMBuildLoad2(b, cg->i32, cg->regions->phase_slot, "");
    if (next_phase)
        phase = LLVMBuildXor(b, phase, c32(cg, 1), "");
    store_pc(cg, LLVMBuildOr(b, phase, c32(cg, (uint64_t)blk->resume * 2), ""));
    LLVMBuildBr(b, cg->regions->suspend);
}

enum { MAX_YIELDS = 1000 }; /* how often lanes elsewhere in the warp run before the warp suspends */

LLVMValueRef spend_poll(struct codegen *cg, LLVMBasicBlockRef out, LLVMBasicBlockRef on)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef p = byte_offset(cg, cg->block.ptr, c64(cg, BLOCK_FIELD(budget)));
    LLVMValueRef left = LLVMBuildSub(b, LLVMBuildLoad2(b, cg->i32, p, ""), c32(cg, 1), "");
    LLVMBuildStore(b, left, p);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntSLE, left, c32(cg, 0), ""), out, on);
    return left;
}

/* A poll in a function: the thread yields and comes back. */
void emit_spin(struct codegen *cg)
{
    LLVMBasicBlockRef out = new_bb(cg, "spun"), on = new_bb(cg, "spin");
    spend_poll(cg, out, on);
    LLVMPositionBuilderAtEnd(cg->alu.b, out);
    call_helper(cg, "weir_rt_spin", LLVMVoidTypeInContext(cg->alu.ctx), &cg->block.ptr, 1);
    LLVMBuildBr(cg->alu.b, on);
    LLVMPositionBuilderAtEnd(cg->alu.b, on);
}

void emit_suspend(struct codegen *cg, const struct jblock *blk)
{
    LLVMBuilderRef b = cg->alu.b;
    if (blk->suspend == SUSPEND_BARRIER && cg->k->has_partial) {
        barrier_wait_numbered(cg, blk);
        return;
    }
    if (blk->suspend == SUSPEND_BARRIER) {
        if (ptx_has(blk->term_instr, PTX_M_red))
            barrier_count_votes(cg, blk->term_instr);
        check_order(cg, JIT_ORDER_BLOCK, mask_bits(cg), c32(cg, 0), NULL);
        sync_barrier(cg, blk->term_instr);
        suspend_warp(cg, blk, true);
        return;
    }
    if (blk->suspend == SUSPEND_YIELD) {
        interleave_yield(cg, blk);
        return;
    }
    if (blk->suspend == SUSPEND_COUNT) {
        if (batch_abreast(cg))
            counter_wait(cg, blk);
        else
            flow_goto(cg, blk->succ[0]);
        return;
    }
    LLVMBasicBlockRef out = new_bb(cg, "spun"), on = new_bb(cg, "spin");
    LLVMValueRef left = NULL;
    if (blk->suspend == SUSPEND_SYNC) {
        LLVMValueRef wait = LLVMBuildLoad2(
            b, cg->i32, byte_offset(cg, cg->block.ptr, c64(cg, BLOCK_FIELD(waiting))), "");
        LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntNE, wait, c32(cg, 0), ""), out, on);
    } else {
        left = spend_poll(cg, out, on);
    }
    LLVMPositionBuilderAtEnd(b, out);
    if (left != NULL && blk->spin_yields != NULL && !cg->in_converged_copy) {
        LLVMBasicBlockRef yield = new_bb(cg, "yield"), leave = new_bb(cg, "leave");
        LLVMValueRef more = LLVMBuildICmp(b, LLVMIntSGT, left, c32(cg, (uint64_t)-MAX_YIELDS), "");
        LLVMBuildCondBr(b, more, yield, leave);
        LLVMPositionBuilderAtEnd(b, yield);
        flow_yield(cg, blk);
        LLVMBuildBr(b, leave);
        LLVMPositionBuilderAtEnd(b, leave);
    }
    LLVMValueRef spun = LLVMBuildLoad2(b, cg->i32, cg->regions->spun_slot, "");
    spun = LLVMBuildAdd(b, spun, c32(cg, 1), "");
    /* a warp that waits for launched grids need not run again: the block sleeps until they are
     * complete */
    LLVMBuildStore(b, blk->suspend == SUSPEND_SYNC ? cg->block.nwarps : spun,
                   cg->regions->spun_slot);
    suspend_warp(cg, blk, false);
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
    memset(cg->frame->remat_done, 0, k->nregs);
    sync_enter_region(cg);
    if (r == 0) {
        if (!cg->always_full) {
            LLVMValueRef all = c32(cg, k->lanes);
            if (!k->full_warps && k->lanes == UINT32_MAX) {
                /* the last warp may have fewer threads */
                LLVMValueRef left =
                    LLVMBuildSub(b, cg->block.nthreads, LLVMBuildShl(b, cg->w, c32(cg, 5), ""), "");
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
    frame_transfer(cg, r, false);
    pending_set_resume(cg, cg->frame->resume_blocks[r]);
    frame_rematerialize(cg, r);
    if (from->suspend == SUSPEND_BARRIER && ptx_has(from->term_instr, PTX_M_red))
        barrier_read_votes(cg, from->term_instr);
    const struct jblock *to = &k->blocks[from->succ[0]];
    LLVMValueRef lanes = NULL;
    if (!to->converged)
        lanes = LLVMBuildLoad2(b, cg->i32, pending_pointer(cg, from->succ[0]), "");
    else if (!cg->always_full)
        lanes = LLVMBuildLoad2(b, cg->i32, cg->live_slot, "");
    if (!flow_enter_converged(cg, from->succ[0], lanes))
        return;
    if (from->spin_yields != NULL)
        flow_resume(cg, from, cg->frame->resume_blocks[r]);
    else
        flow_chain(cg, cg->frame->resume_blocks[r], from->succ[0]);
}

/* Where a block continues without a dispatcher: at the barrier that its warps wait at, if any. */
static void next_region(struct codegen *cg, LLVMBasicBlockRef *regions)
{
    LLVMBuilderRef b = cg->alu.b;
    struct jkernel *k = cg->k;
    LLVMBasicBlockRef done = new_bb(cg, "done");
    if (!k->lockstep) {
        LLVMBuildBr(b, done);
    } else {
        LLVMValueRef next = LLVMBuildLoad2(b, cg->i32, cg->regions->next_slot, "");
        LLVMValueRef sw = LLVMBuildSwitch(b, next, done, (unsigned)k->nresume);
        EACH_BIT (r, cg->regions->next_set, k->nresume) {
            LLVMBasicBlockRef to = new_bb(cg, "passed");
            LLVMAddCase(sw, c32(cg, (uint64_t)r), to);
            LLVMPositionBuilderAtEnd(b, to);
            if (ptx_has(k->blocks[k->resume_block[r]].term_instr, PTX_M_red))
                barrier_next_phase(cg);
            EACH_BIT (reg, cg->frame->resume_live[r], (int32_t)k->nregs)
                if (frame_once(cg, reg)) {
                    LLVMTypeRef t = scalar_type(cg, k->regs[reg].type);
                    LLVMValueRef v = LLVMBuildLoad2(b, t, cg->regs[reg].out, "");
                    LLVMBuildStore(b, v, cg->regs[reg].in);
                }
            osr_barrier(cg, r);
            LLVMBuildBr(b, regions[r]);
        }
    }
    LLVMPositionBuilderAtEnd(b, done);
    LLVMBuildRet(b, c32(cg, JIT_DONE));
}

/* The warp that runs at a turn of the loop over a region's warps. */
static LLVMValueRef warp_of_turn(struct codegen *cg, LLVMValueRef turn, bool last_first)
{
    LLVMBuilderRef b = cg->alu.b;
    uint32_t order = cg->k->opt->order;
    if (cg->k->nwarps == 1)
        return turn;
    if ((order & JIT_ORDER_TURNED) != 0) {
        turn = LLVMBuildAdd(b, turn, LLVMBuildAdd(b, cg->block.ctaid[0], c32(cg, 1), ""), "");
        turn = LLVMBuildURem(b, turn, cg->block.nwarps, "");
    }
    if (((order & JIT_ORDER_WARPS) != 0) == last_first)
        return turn;
    LLVMValueRef last = LLVMBuildSub(b, cg->block.nwarps, c32(cg, 1), "");
    return LLVMBuildSub(b, last, turn, "w");
}

static bool emit_region(struct codegen *cg, int32_t r, LLVMBasicBlockRef *regions)
{
    LLVMBuilderRef b = cg->alu.b;
    struct jkernel *k = cg->k;
    LLVMBasicBlockRef at = regions[r];
    bool many = k->nresume > 1 && !k->lockstep, last_first = bit_get(cg->regions->last_first, r);
    LLVMBasicBlockRef head = new_bb(cg, "warps"), run = new_bb(cg, "run"),
                      step = new_bb(cg, "step");
    LLVMBasicBlockRef over = new_bb(cg, "over"), done = new_bb(cg, "warp_done");
    cg->regions->current = r;
    cg->frame->reads = r > 0 ? frame_reads(cg, r) : NULL;
    flow_open(cg);
    bit_clear_all(cg->regions->next_set, k->nresume);
    cg->flow->next_warp = done;
    cg->regions->suspend = step;
    LLVMPositionBuilderAtEnd(b, at);
    LLVMBasicBlockRef before = at;
    LLVMValueRef phase =
        many ? LLVMBuildLoad2(b, cg->i32, cg->regions->phase_slot, "") : c32(cg, 0);
    LLVMValueRef here = LLVMBuildOr(b, phase, c32(cg, (uint64_t)r * 2), "");
    LLVMBuildBr(b, head);
    LLVMPositionBuilderAtEnd(b, head);
    LLVMValueRef turn = LLVMBuildPhi(b, cg->i32, "turn");
    LLVMAddIncoming(turn, (LLVMValueRef[]){c32(cg, 0)}, (LLVMBasicBlockRef[]){before}, 1);
    cg->w = warp_of_turn(cg, turn, last_first);
    LLVMValueRef off =
        LLVMBuildMul(b, LLVMBuildZExt(b, cg->w, cg->i64, ""), c64(cg, cg->frame->bytes), "");
    cg->frame_w = byte_offset(cg, cg->block.frames, off);
    memory_registers_region(cg);
    if (many) {
        LLVMValueRef p = LLVMBuildGEP2(b, cg->i32, cg->block.pc, &cg->w, 1, "");
        LLVMValueRef pc = LLVMBuildLoad2(b, cg->i32, p, "");
        tag_frame(cg, pc);
        LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntEQ, pc, here, ""), run, step);
    } else if (interleave_point(cg, r)) {
        LLVMBuildCondBr(b, interleave_waits(cg, r), run, step);
    } else {
        LLVMBuildBr(b, run);
    }
    LLVMPositionBuilderAtEnd(b, run);
    interleave_begin(cg);
    warp_index_region(cg, r);
    enter_region(cg, r);
    bool ok = flow_emit(cg);
    LLVMPositionBuilderAtEnd(b, done);
    if (many)
        store_pc(cg, c32(cg, (uint64_t)PC_EXITED));
    else if (k->lockstep)
        LLVMBuildStore(b, c32(cg, 0), cg->regions->next_slot);
    LLVMBuildBr(b, step);
    LLVMPositionBuilderAtEnd(b, step);
    LLVMValueRef next = LLVMBuildAdd(b, turn, c32(cg, 1), "");
    LLVMAddIncoming(turn, &next, &step, 1);
    LLVMValueRef more = LLVMBuildICmp(b, LLVMIntULT, next, cg->block.nwarps, "");
    LLVMValueRef again = LLVMBuildCondBr(b, more, head, over);
    if (!many && !last_first && k->opt->order == 0 &&
        jit_only_loads_and_stores(k, cg->regions->blocks[r]))
        warp_jam_mark(again);
    LLVMPositionBuilderAtEnd(b, over);
    if (many) {
        osr_dispatch(cg);
    } else {
        interleave_resume(cg, regions);
        next_region(cg, regions);
    }
    return ok;
}

/* Finds the blocks of each region: those that a warp may run from its resume point, 0 being the
 * kernel's start, to a barrier. */
static void find_region_blocks(struct codegen *cg)
{
    struct jkernel *k = cg->k;
    struct graph g; /* without the edges that lead from barriers to the next region */
    graph_init(&g, k->nblocks);
    for (int32_t b = 0; b < k->nblocks; b++)
        for (int s = 0; s < k->blocks[b].nsucc && k->blocks[b].suspend != SUSPEND_BARRIER; s++)
            graph_edge(&g, b, k->blocks[b].succ[s]);
    graph_close(&g);
    cg->regions->blocks = arena_alloc(&k->arena, sizeof(uint64_t *) * (size_t)k->nresume);
    cg->regions->last_first = arena_alloc(&k->arena, bit_bytes(k->nresume));
    for (int32_t r = 0; r < k->nresume; r++) {
        uint64_t *set = arena_alloc(&k->arena, bit_bytes(k->nblocks));
        const uint64_t *starts = r > 0 ? cg->frame->resume_blocks[r] : (const uint64_t[]){1};
        int32_t n = r > 0 ? k->nblocks : 1;
        bit_copy(set, starts, n);
        EACH_BIT (b, starts, n)
            graph_reach(&g, b, GRAPH_ALL, set);
        cg->regions->blocks[r] = set;
        if (r > 0 && jit_last_warp_first(k, &g, starts, n))
            bit_set(cg->regions->last_first, r);
    }
    graph_free(&g);
}

/* The number of instructions with a copy of the blocks for every region, and without. */
static size_t duplicated_instrs(const struct codegen *cg, size_t *once)
{
    const struct jkernel *k = cg->k;
    size_t sum = 0;
    *once = 0;
    for (int32_t b = 0; b < k->nblocks; b++)
        *once += (size_t)k->blocks[b].count + 4;
    for (int32_t r = 0; r < k->nresume; r++)
        EACH_BIT (b, cg->regions->blocks[r], k->nblocks)
            sum += (size_t)k->blocks[b].count + 4;
    return sum;
}

/* One region for all resume points, for kernels whose regions overlap so much that copies would
 * multiply: each warp that can run enters where it waits. */
static bool emit_merged_region(struct codegen *cg, LLVMBasicBlockRef at)
{
    LLVMBuilderRef b = cg->alu.b;
    struct jkernel *k = cg->k;
    LLVMBasicBlockRef head = new_bb(cg, "warps"), run = new_bb(cg, "run"),
                      step = new_bb(cg, "step");
    LLVMBasicBlockRef over = new_bb(cg, "over"), done = new_bb(cg, "warp_done"),
                      bad = new_bb(cg, "bad");
    flow_open(cg);
    cg->flow->next_warp = done;
    cg->regions->suspend = step;
    LLVMPositionBuilderAtEnd(b, at);
    LLVMValueRef phase = LLVMBuildLoad2(b, cg->i32, cg->regions->phase_slot, "");
    LLVMBuildBr(b, head);
    LLVMPositionBuilderAtEnd(b, head);
    LLVMValueRef turn = LLVMBuildPhi(b, cg->i32, "turn");
    LLVMAddIncoming(turn, (LLVMValueRef[]){c32(cg, 0)}, &at, 1);
    cg->w = warp_of_turn(cg, turn, false);
    LLVMValueRef off = LLVMBuildZExt(b, cg->w, cg->i64, "");
    cg->frame_w =
        byte_offset(cg, cg->block.frames, LLVMBuildMul(b, off, c64(cg, cg->frame->bytes), ""));
    memory_registers_region(cg);
    LLVMValueRef pc =
        LLVMBuildLoad2(b, cg->i32, LLVMBuildGEP2(b, cg->i32, cg->block.pc, &cg->w, 1, ""), "");
    tag_frame(cg, pc);
    LLVMValueRef ready =
        LLVMBuildICmp(b, LLVMIntEQ, LLVMBuildAnd(b, pc, c32(cg, 1), ""), phase, "");
    LLVMValueRef ended = LLVMBuildICmp(b, LLVMIntEQ, pc, c32(cg, (uint64_t)PC_EXITED), "");
    ready = LLVMBuildAnd(b, ready, LLVMBuildNot(b, ended, ""), "");
    LLVMBuildCondBr(b, ready, run, step);
    LLVMPositionBuilderAtEnd(b, run);
    interleave_begin(cg);
    warp_index_region(cg, 0);
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
    LLVMValueRef next = LLVMBuildAdd(b, turn, c32(cg, 1), "");
    LLVMAddIncoming(turn, &next, &step, 1);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntULT, next, cg->block.nwarps, ""), head, over);
    LLVMPositionBuilderAtEnd(b, over);
    osr_dispatch(cg);
    return ok;
}

/* Picks where to continue: a warp of this phase that has not run yet; else the next phase, which
 * the barrier opens; else the block is done. The scan starts after the last warp picked, so that
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
    LLVMPositionBuilderAtEnd(b, cg->regions->dispatch);
    LLVMValueRef state = byte_offset(cg, cg->block.ptr, c64(cg, BLOCK_FIELD(state)));
    LLVMValueRef votes = byte_offset(cg, cg->block.ptr, c64(cg, BLOCK_FIELD(scratch)));
    if (k->has_poll) {
        LLVMBasicBlockRef out = new_bb(cg, "yield");
        /* once as many have spun in vain as there are warps, waiting here is of no use */
        LLVMValueRef spun = LLVMBuildLoad2(b, cg->i32, cg->regions->spun_slot, "");
        LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntUGE, spun, cg->block.nwarps, ""), out, scan);
        LLVMPositionBuilderAtEnd(b, out);
        LLVMBuildRet(b, c32(cg, JIT_SUSPENDED));
    } else {
        LLVMBuildBr(b, scan);
    }
    /* state: phase in bit 0, the warp to start the scan at above it */
    LLVMPositionBuilderAtEnd(b, scan);
    LLVMValueRef st = LLVMBuildLoad2(b, cg->i32, state, "");
    LLVMValueRef phase = LLVMBuildAnd(b, st, c32(cg, 1), "");
    LLVMBuildStore(b, phase, cg->regions->phase_slot);
    LLVMValueRef start = LLVMBuildLShr(b, st, c32(cg, 1), "");
    LLVMBuildBr(b, look);
    LLVMPositionBuilderAtEnd(b, look);
    LLVMValueRef n = LLVMBuildPhi(b, cg->i32, ""), w = LLVMBuildPhi(b, cg->i32, "");
    LLVMValueRef live = LLVMBuildPhi(b, cg->i32, "");
    LLVMValueRef p = LLVMBuildGEP2(b, cg->i32, cg->block.pc, &w, 1, "");
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
    w2 = LLVMBuildSelect(b, LLVMBuildICmp(b, LLVMIntUGE, w2, cg->block.nwarps, ""), c32(cg, 0), w2,
                         "");
    LLVMAddIncoming(n, (LLVMValueRef[]){c32(cg, 0), n2}, (LLVMBasicBlockRef[]){scan, more}, 2);
    LLVMAddIncoming(w, (LLVMValueRef[]){start, w2}, (LLVMBasicBlockRef[]){scan, more}, 2);
    LLVMAddIncoming(live, (LLVMValueRef[]){c32(cg, 0), live2}, (LLVMBasicBlockRef[]){scan, more},
                    2);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntULT, n2, cg->block.nwarps, ""), look, none);
    LLVMPositionBuilderAtEnd(b, none);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntNE, live2, c32(cg, 0), ""), flip, finished);
    LLVMPositionBuilderAtEnd(b, flip);
    if (k->has_partial) {
        /* no warp can run: barriers for all may open because the other warps have ended */
        LLVMValueRef opened = call_helper(cg, "weir_rt_barrier_open", cg->i32, &cg->block.ptr, 1);
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
    after = LLVMBuildSelect(b, LLVMBuildICmp(b, LLVMIntUGE, after, cg->block.nwarps, ""),
                            c32(cg, 0), after, "");
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

static void init_metadata(struct codegen *cg)
{
    LLVMContextRef c = cg->alu.ctx;
    cg->md.invariant = LLVMGetMDKindIDInContext(c, "invariant.load", 14);
    cg->md.unpredictable = LLVMGetMDKindIDInContext(c, "unpredictable", 13);
    cg->md.scope = LLVMGetMDKindIDInContext(c, "alias.scope", 11);
    cg->md.noalias = LLVMGetMDKindIDInContext(c, "noalias", 7);
    cg->md.empty = LLVMMetadataAsValue(c, LLVMMDNodeInContext2(c, NULL, 0));
    LLVMMetadataRef domain = LLVMMDStringInContext2(c, "weir", 4);
    domain = LLVMMDNodeInContext2(c, &domain, 1);
    LLVMMetadataRef scopes[SCOPES];
    for (int n = 0; n < SCOPES; n++) {
        static const char *const names[] = {"frame", "shared", "global", "local", "any"};
        LLVMMetadataRef parts[] = {LLVMMDStringInContext2(c, names[n], strlen(names[n])), domain};
        scopes[n] = LLVMMDNodeInContext2(c, parts, 2);
        cg->md.scope_of[n] = LLVMMetadataAsValue(c, LLVMMDNodeInContext2(c, &scopes[n], 1));
    }
    /* what the scope does not alias: a generic address may point anywhere but into a frame */
    for (int n = 0; n < SCOPES; n++) {
        LLVMMetadataRef others[SCOPES];
        size_t count = 0;
        for (int m = 0; m < SCOPES; m++)
            if (m != n &&
                (n == SCOPE_FRAME || m == SCOPE_FRAME || (n != SCOPE_ANY && m != SCOPE_ANY)))
                others[count++] = scopes[m];
        cg->md.scope_not[n] = LLVMMetadataAsValue(c, LLVMMDNodeInContext2(c, others, count));
    }
    cg->md.scope_all = LLVMMetadataAsValue(c, LLVMMDNodeInContext2(c, scopes, SCOPES));
}

static void init_types(struct codegen *cg)
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

/* Parameters may be loaded speculatively. */
static LLVMValueRef params_pointer(struct codegen *cg)
{
    LLVMValueRef v = block_field(cg, BLOCK_FIELD(params), cg->ptr, true);
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

/* On fibers: may polls be followed by so many other blocks that LLVM would take long over vectors
 * that live from any to any? Then they are not promoted. */
static bool offers_many(const struct jkernel *k)
{
    enum { MANY = 16 };
    int32_t n = 0;
    for (int32_t b = 0; b < k->nblocks; b++)
        if (k->blocks[b].spin_yields != NULL)
            n += bit_count(k->blocks[b].frontier, k->nblocks);
    return n > MANY;
}

static void prologue(struct codegen *cg)
{
    LLVMBuilderRef b = cg->alu.b;
    struct jkernel *k = cg->k;
    cg->block.params = params_pointer(cg);
    cg->block.shared = block_field(cg, BLOCK_FIELD(shared), cg->ptr, true);
    cg->block.local = block_field(cg, BLOCK_FIELD(local), cg->ptr, true);
    cg->block.frames = block_field(cg, BLOCK_FIELD(frame), cg->ptr, true);
    cg->block.pc = block_field(cg, BLOCK_FIELD(pc), cg->ptr, true);
    cg->block.local_stride = block_field(cg, BLOCK_FIELD(local_stride), cg->i64, true);
    for (unsigned d = 0; d < 3; d++) {
        cg->block.ctaid[d] = block_field(cg, BLOCK_FIELD(ctaid) + d * 4, cg->i32, true);
        cg->block.nctaid[d] = block_field(cg, BLOCK_FIELD(nctaid) + d * 4, cg->i32, true);
    }
    cg->block.nwarps = k->nwarps ? c32(cg, (uint64_t)k->nwarps)
                                 : block_field(cg, BLOCK_FIELD(nwarps), cg->i32, true);
    cg->block.nthreads = block_field(cg, BLOCK_FIELD(nthreads), cg->i32, true);
    check_begin(cg);
    cg->safe = new_slot(cg, LLVMArrayType2(cg->i8, SAFE_BYTES), "safe");
    LLVMSetAlignment(cg->safe, 64);
    LLVMTypeRef zeros = LLVMVectorType(cg->i32, SAFE_BYTES / 4);
    LLVMSetAlignment(LLVMBuildStore(b, LLVMConstNull(zeros), cg->safe), 16);
    cg->safe_opaque = k->one_lane ? cg->safe : opaque(cg, cg->safe);
    cg->sink = new_slot(cg, cg->i64, "sink");
    cg->regions->phase_slot = new_slot(cg, cg->i32, "phase");
    cg->regions->spun_slot = new_slot(cg, cg->i32, "spun");
    cg->live_slot = new_slot(cg, cg->i32, "live");
    cg->regions->next_slot = new_slot(cg, cg->i32, "next");
    LLVMBuildStore(b, c32(cg, 0), cg->regions->spun_slot);
    LLVMBuildStore(b, c32(cg, 0), cg->regions->phase_slot);
    LLVMBuildStore(b, c32(cg, 0xffffffffu), cg->live_slot);
    bool in_memory = k->fibers && offers_many(k);
    pending_set_plan(cg);
    for (int32_t n = 0; n < k->nblocks && cg->flow->pending_set == NULL; n++)
        if (!k->blocks[n].converged) {
            LLVMValueRef slot = new_slot(cg, cg->i32, "pending");
            cg->flow->pending_slot[n] = in_memory ? opaque(cg, slot) : slot;
        }
    for (size_t r = 0; r < k->nregs; r++) {
        const struct jreg *reg = &k->regs[r];
        LLVMTypeRef t = scalar_type(cg, reg->type);
        cg->regs[r].frame_offset = UINT32_MAX;
        if (reg->ndefs == 0 && !reg->read) /* parts of structures that are copied as a whole
                                              (front/struct_copies.c) */
            continue;
        if (reg->uniformity.seg == SEG_NONE) {
            LLVMValueRef slot = new_slot(cg, LLVMVectorType(t, JIT_WARP), reg->name);
            cg->regs[r].slot[0] = in_memory ? opaque(cg, slot) : slot;
        } else
            for (int s = 0; s < nsegs(reg->uniformity.seg); s++) {
                struct storage *st = &cg->regs[r];
                bool other = s > 0 && reg->repeats; /* all segments share the first one's */
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
    cg->flow->waiting_of = arena_alloc(&k->arena, sizeof(uint64_t *) * (size_t)k->nblocks);
    for (int32_t b = 0; b < k->nblocks; b++) {
        const struct jblock *blk = &k->blocks[b];
        if (blk->converged)
            continue;
        cg->flow->waiting_of[b] = arena_alloc(&k->arena, bit_bytes((int32_t)k->nregs));
        EACH_BIT (c, blk->frontier, k->nblocks)
            if (!k->blocks[c].serialized)
                bit_union(cg->flow->waiting_of[b], k->blocks[c].live_in, (int32_t)k->nregs);
    }
}

/* What kernels and functions share: types, tables, storage. Leaves the builder after the prologue,
 * in the entry block. */
static void open_function(struct codegen *cg)
{
    struct jkernel *k = cg->k;
    cg->block.ptr = LLVMGetParam(cg->fn, 0);
    cg->entry = new_bb(cg, "entry");
    cg->alu.lanes = 1;
    LLVMPositionBuilderAtEnd(cg->alu.b, cg->entry);
    LLVMSetCurrentDebugLocation2(cg->alu.b, NULL);
    debug_function(cg);
    cg->frame = arena_alloc(&k->arena, sizeof *cg->frame);
    cg->regions = arena_alloc(&k->arena, sizeof *cg->regions);
    cg->flow = arena_alloc(&k->arena, sizeof *cg->flow);
    cg->serialized = arena_alloc(&k->arena, sizeof *cg->serialized);
    cg->regs = arena_alloc(&k->arena, sizeof *cg->regs * (k->nregs + 1));
    cg->flow->pending_slot = arena_alloc(&k->arena, sizeof(LLVMValueRef) * (size_t)k->nblocks);
    cg->flow->divergent_bb = arena_alloc(&k->arena, sizeof(LLVMBasicBlockRef) * (size_t)k->nblocks);
    cg->flow->converged_bb = arena_alloc(&k->arena, sizeof(LLVMBasicBlockRef) * (size_t)k->nblocks);
    cg->flow->split = arena_alloc(&k->arena, sizeof(LLVMBasicBlockRef) * (k->ninstrs + 1));
    cg->flow->work = arena_alloc(&k->arena, sizeof(int32_t) * (size_t)(2 * k->nblocks + 1));
    cg->frame->remat_done = arena_alloc(&k->arena, k->nregs + 1);
    bool early = false;
    for (int32_t b = 0; b < k->nblocks; b++)
        early |= k->blocks[b].term == TERM_EXIT && !k->blocks[b].converged;
    cg->always_full = k->full_warps && !early && !k->is_function;
    prologue(cg);
    frame_resume_points(cg);
    find_waiting(cg);
    idle_blocks_choose(cg);
}

/* Are there blocks that may run before a loop goes on? Then every region reaches all others, on
 * more paths. */
static bool has_yields(const struct jkernel *k)
{
    for (int32_t b = 0; b < k->nblocks; b++)
        if (k->blocks[b].spin_yields != NULL &&
            bit_intersects(k->blocks[b].frontier, k->blocks[b].spin_yields, k->nblocks))
            return true;
    return false;
}

bool emit_kernel(struct codegen *cg)
{
    struct jkernel *k = cg->k;
    init_types(cg);
    init_metadata(cg);
    cg->fn = LLVMAddFunction(cg->alu.module, "weir_block",
                             LLVMFunctionType(cg->i32, &cg->ptr, 1, false));
    if (k->fibers)
        return emit_fiber_kernel(cg);
    open_function(cg);
    LLVMBasicBlockRef begin = NULL;
    LLVMBasicBlockRef *regions =
        arena_alloc(&k->arena, sizeof(LLVMBasicBlockRef) * (size_t)k->nresume);
    find_region_blocks(cg);
    size_t once, copied = duplicated_instrs(cg, &once);
    /* all lanes are never active in a block of fewer threads; where they may be pending nearly
     * anywhere, copies gain nothing, and each has its search */
    bool tangled = has_yields(k) || cg->flow->pending_set != NULL;
    bool merged = copied > (tangled ? 2 * once : 3 * once + 2000);
    cg->flow->has_converged = k->lanes == UINT32_MAX && (merged ? once : copied) <= MAX_CONVERGED &&
                              cg->flow->pending_set == NULL;
    k->lockstep &= !merged;
    cg->regions->next_set = arena_alloc(&k->arena, bit_bytes(k->nresume));
    interleave_init(cg);
    counter_init(cg);
    remat_choose(cg);
    frame_choose(cg);
    memory_registers_choose(cg);
    frame_allocate(cg);
    osr_init(cg);
    batch_init(cg);
    deferred_init(cg);
    for (int32_t r = 0; r < k->nresume; r++)
        regions[r] = merged && r > 0 ? regions[0] : new_bb(cg, "region");
    if (k->nresume > 1 && !k->lockstep) {
        cg->regions->dispatch = new_bb(cg, "dispatch");
        LLVMBuildBr(cg->alu.b, cg->regions->dispatch);
        emit_dispatch(cg, regions);
    } else {
        begin = new_bb(cg, "begin");
        LLVMBuildBr(cg->alu.b, begin);
    }
    bool ok = true;
    if (merged)
        ok = emit_merged_region(cg, regions[0]);
    else if (cg->batch != NULL)
        ok = emit_batch(cg, regions);
    else
        for (int32_t r = 0; ok && r < k->nresume; r++)
            ok = emit_region(cg, r, regions);
    if (begin != NULL)
        osr_entry(cg, begin, regions);
    return ok;
}

bool emit_function(struct codegen *cg)
{
    LLVMBuilderRef b = cg->alu.b;
    init_types(cg);
    init_metadata(cg);
    bool scalar = cg->k->one_lane;
    cg->fn = scalar ? scalar_function(cg, cg->k->entry) : callee_function(cg, cg->k->entry);
    cg->w = scalar ? NULL : LLVMGetParam(cg->fn, 1);
    cg->sp = LLVMGetParam(cg->fn, scalar ? 2 : 3);
    open_function(cg);
    LLVMValueRef lanes = scalar ? scalar_function_begin(cg) : LLVMGetParam(cg->fn, 2);
    LLVMBuildStore(b, lanes, cg->live_slot);
    cg->ended = new_slot(cg, cg->i32, "ended");
    LLVMBuildStore(b, c32(cg, 0), cg->ended);
    /* the frame must fit into the thread's window of local memory */
    LLVMValueRef end = LLVMBuildAdd(b, cg->sp, c64(cg, cg->k->local_bytes), "");
    LLVMBasicBlockRef over = new_bb(cg, "overflow"), fits = new_bb(cg, "fits");
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntUGT, end, cg->block.local_stride, ""), over, fits);
    LLVMPositionBuilderAtEnd(b, over);
    cg->mask = lanes;
    emit_fault(cg, JIT_FAULT_STACK, cg->mask, NULL);
    LLVMBuildUnreachable(b);
    cg->flow->next_warp = new_bb(cg, "return");
    LLVMPositionBuilderAtEnd(b, fits);
    flow_start(cg, 0, lanes);
    if (!flow_emit(cg))
        return false;
    LLVMPositionBuilderAtEnd(b, cg->flow->next_warp);
    if (scalar)
        scalar_function_return(cg);
    else
        LLVMBuildRet(b, LLVMBuildLoad2(b, cg->i32, cg->ended, ""));
    return !cg->failed;
}
