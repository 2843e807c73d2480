/* barrier.c: barriers of a block: arrivals, the votes of reducing barriers, and waits at barriers
 * that are known by number.
 *
 * scratch[0..3] of the block has the votes of reducing barriers, {true, all} for either phase.
 * Where barriers may be for a part of the block (has_partial), the exec module's helpers keep them.
 */
#include "compiler/codegen/control/control.h"
#include "compiler/codegen/frame.h"
#include "compiler/codegen/instructions.h"
#include "compiler/codegen/memory/defined.h"
#include "compiler/codegen/values.h"
#include "compiler/codegen/warp/warp.h"

/* Number of a barrier, and how many threads it is for (all of the block's warps unless it says). */
static LLVMValueRef barrier_id(struct codegen *cg, const struct ptx_instr *i)
{
    const struct ptx_operand *o = &i->operands[ptx_has(i, PTX_M_red)]; /* a result comes first */
    if (ptx_has(i, PTX_M_wait_group))                                  /* four warps */
        return LLVMBuildAdd(cg->alu.b, LLVMBuildLShr(cg->alu.b, cg->w, c32(cg, 2), ""),
                            c32(cg, JIT_GROUP_BARRIERS), "");
    struct uniformity s = operand_uniformity(cg->k, o);
    LLVMValueRef v = is_uniform(&s) ? operand_scalar(cg, o, PTX_U32, SEG_WARP, 0)
                                    : first_active(cg, operand_vector(cg, o, PTX_U32));
    return LLVMBuildAnd(cg->alu.b, v, c32(cg, 15), "");
}

static LLVMValueRef barrier_count(struct codegen *cg, const struct ptx_instr *i)
{
    bool reduces = ptx_has(i, PTX_M_red); /* result, number, count, predicate */
    const struct ptx_operand *o = &i->operands[reduces ? 2 : 1];
    if (i->noperands < (reduces ? 4 : 2))
        return LLVMBuildShl(cg->alu.b, cg->block.nwarps, c32(cg, 5), "");
    struct uniformity s = operand_uniformity(cg->k, o);
    return is_uniform(&s) ? operand_scalar(cg, o, PTX_U32, SEG_WARP, 0)
                          : first_active(cg, operand_vector(cg, o, PTX_U32));
}

/* Where the votes of a phase (i32) are counted: a pointer to two words of 64 bits, those for and
 * all. */
static LLVMValueRef vote_counters(struct codegen *cg, LLVMValueRef phase)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef at = LLVMBuildShl(b, LLVMBuildZExt(b, phase, cg->i64, ""), c64(cg, 4), "");
    return byte_offset(cg, byte_offset(cg, cg->block.ptr, c64(cg, BLOCK_FIELD(scratch))), at);
}

/* Counts this warp's votes for a reducing barrier. */
void barrier_count_votes(struct codegen *cg, const struct ptx_instr *i)
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
        LLVMValueRef args[4] = {cg->block.ptr, barrier_id(cg, i),
                                intrinsic(cg, "llvm.ctpop", &cg->i32, 1, &yes, 1),
                                intrinsic(cg, "llvm.ctpop", &cg->i32, 1, &no, 1)};
        call_helper(cg, "weir_rt_barrier_vote", cg->i32, args, 4);
        return;
    }
    LLVMValueRef phase = LLVMBuildLoad2(b, cg->i32, cg->regions->phase_slot, "");
    LLVMValueRef base = vote_counters(cg, phase);
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
void barrier_read_votes(struct codegen *cg, const struct ptx_instr *i)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef yes, all;
    if (cg->k->has_partial) {
        LLVMValueRef args[2] = {cg->block.ptr, cg->w};
        LLVMValueRef votes = call_helper(cg, "weir_rt_barrier_votes", cg->i32, args, 2);
        yes = LLVMBuildAnd(b, votes, c32(cg, 0xffff), "");
        all = LLVMBuildAdd(b, yes, LLVMBuildLShr(b, votes, c32(cg, 16), ""), "");
        votes_result(cg, i, yes, all);
        return;
    }
    LLVMValueRef phase = LLVMBuildLoad2(b, cg->i32, cg->regions->phase_slot, "");
    phase = LLVMBuildXor(b, phase, c32(cg, 1), "");
    LLVMValueRef base = vote_counters(cg, phase);
    yes = LLVMBuildLoad2(b, cg->i32, base, "");
    all = LLVMBuildLoad2(b, cg->i32, byte_offset(cg, base, c64(cg, 8)), "");
    votes_result(cg, i, yes, all);
}

void emit_arrive(struct codegen *cg, const struct ptx_instr *i)
{
    LLVMValueRef args[3] = {cg->block.ptr, barrier_id(cg, i), barrier_count(cg, i)};
    call_helper(cg, "weir_rt_barrier_arrive", cg->i32, args, 3);
}

/* The warp waits at a numbered barrier: pc holds the number, too, until the barrier opens. */
void barrier_wait_numbered(struct codegen *cg, const struct jblock *blk)
{
    LLVMBuilderRef b = cg->alu.b;
    if (ptx_has(blk->term_instr, PTX_M_red))
        barrier_count_votes(cg, blk->term_instr);
    sync_barrier(cg, blk->term_instr);
    LLVMValueRef id = barrier_id(cg, blk->term_instr), count = barrier_count(cg, blk->term_instr);
    flow_wait(cg, blk);
    frame_transfer(cg, blk->resume, true);
    LLVMValueRef pc = LLVMBuildShl(b, id, c32(cg, JIT_PC_BARRIER_SHIFT), "");
    store_pc(cg, LLVMBuildOr(b, pc, c32(cg, (uint64_t)blk->resume * 2 + JIT_PC_WAITING), ""));
    LLVMValueRef args[3] = {cg->block.ptr, id, count};
    call_helper(cg, "weir_rt_barrier_arrive", cg->i32, args, 3);
    LLVMBuildBr(b, cg->regions->suspend);
}

/* All warps have passed a barrier: its votes are to be read, the next one's begin. */
void barrier_next_phase(struct codegen *cg)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef votes = byte_offset(cg, cg->block.ptr, c64(cg, BLOCK_FIELD(scratch)));
    LLVMValueRef other = LLVMBuildLoad2(b, cg->i32, cg->regions->phase_slot, "");
    other = LLVMBuildXor(b, other, c32(cg, 1), "");
    LLVMBuildStore(b, other, cg->regions->phase_slot);
    LLVMValueRef at = LLVMBuildShl(b, LLVMBuildZExt(b, other, cg->i64, ""), c64(cg, 4), "");
    LLVMBuildStore(b, c64(cg, 0), byte_offset(cg, votes, at));
    LLVMBuildStore(b, c64(cg, 0), byte_offset(cg, byte_offset(cg, votes, at), c64(cg, 8)));
}
