/* mbarrier.c: barrier objects in shared memory. The exec module's helpers keep them
 * (abi/kernel_abi.h); a wait that fails there ends the warp's poll budget, so that the loop around
 * it lets the next warp run. */
#include "compiler/codegen/instructions.h"
#include "compiler/codegen/memory/memory.h"
#include "compiler/codegen/values.h"
#include "compiler/codegen/warp/warp.h"

/* ---- mbarrier ---- */

static bool mbarrier_waits(const struct ptx_instr *i)
{
    return ptx_has(i, PTX_M_test_wait) || ptx_has(i, PTX_M_try_wait);
}

static bool arrives(const struct ptx_instr *i)
{
    return ptx_has(i, PTX_M_arrive) || ptx_has(i, PTX_M_arrive_drop);
}

/* The helper works on one object after the other for the active lanes. `arg`: a constant or operand
 * of the given type. */
static void mbarrier_call(struct codegen *cg, const struct ptx_instr *i,
                          const struct ptx_operand *at, enum jit_mbarrier op, LLVMValueRef arg)
{
    helper_row_store(cg, 0, address_vector(cg, at, mem_space(i)));
    helper_row_store(cg, 1, arg);
    LLVMValueRef args[6] = {cg->block.ptr,      c32(cg, op),        mask_bits(cg),
                            helper_rows(cg, 0), helper_rows(cg, 1), helper_rows(cg, 2)};
    call_helper(cg, "weir_rt_mbarrier", LLVMVoidTypeInContext(cg->alu.ctx), args, 6);
}

static LLVMValueRef lane_constant(struct codegen *cg, uint64_t v)
{
    return splat(cg, c64(cg, v), JIT_WARP);
}

/* A count operand: signed, as expect_tx takes negative numbers of bytes, too. */
static LLVMValueRef mbarrier_count(struct codegen *cg, const struct ptx_operand *o)
{
    return LLVMBuildSExt(cg->alu.b, operand_vector(cg, o, PTX_U32), cg->v32i64, "");
}

static void mbarrier_arrive(struct codegen *cg, const struct ptx_instr *i)
{
    const struct ptx_operand *o = i->operands;
    bool drop = ptx_has(i, PTX_M_arrive_drop), tx = ptx_has(i, PTX_M_expect_tx);
    LLVMValueRef count = lane_constant(cg, 1);
    if (tx)
        mbarrier_call(cg, i, &o[1], JIT_MBARRIER_EXPECT_TX, mbarrier_count(cg, &o[2]));
    else if (i->noperands > 2)
        count = mbarrier_count(cg, &o[2]);
    mbarrier_call(cg, i, &o[1], drop ? JIT_MBARRIER_DROP : JIT_MBARRIER_ARRIVE, count);
    helper_row_result(cg, &o[0], 2, PTX_B64);
}

bool emit_mbarrier(struct codegen *cg, const struct ptx_instr *i)
{
    const struct ptx_operand *o = i->operands;
    if (ptx_has(i, PTX_M_pending_count)) {
        struct uniformity sh = uniformity_of(cg->k, i, 0);
        if (sh.seg == SEG_NONE) {
            LLVMValueRef v = operand_vector(cg, &o[1], PTX_B64);
            v = LLVMBuildAnd(cg->alu.b, v, lane_constant(cg, 0xfffff), "");
            write_vector(cg, o[0].reg, v, PTX_B64);
        } else {
            LLVMValueRef v = operand_scalar(cg, &o[1], PTX_B64, SEG_WARP, 0);
            write_uniform(cg, o[0].reg, LLVMBuildAnd(cg->alu.b, v, c64(cg, 0xfffff), ""), PTX_B64);
        }
        return true;
    }
    if (arrives(i)) {
        mbarrier_arrive(cg, i);
    } else if (mbarrier_waits(i)) {
        bool parity = ptx_has(i, PTX_M_parity);
        LLVMValueRef arg = parity ? mbarrier_count(cg, &o[2]) : operand_vector(cg, &o[2], PTX_B64);
        mbarrier_call(cg, i, &o[1], parity ? JIT_MBARRIER_TEST_PARITY : JIT_MBARRIER_TEST, arg);
        helper_row_result(cg, &o[0], 2, PTX_PRED);
    } else if (ptx_has(i, PTX_M_init)) {
        mbarrier_call(cg, i, &o[0], JIT_MBARRIER_INIT, mbarrier_count(cg, &o[1]));
    } else if (ptx_has(i, PTX_M_inval)) {
        mbarrier_call(cg, i, &o[0], JIT_MBARRIER_INVAL, lane_constant(cg, 0));
    } else {
        bool expect = ptx_has(i, PTX_M_expect_tx);
        mbarrier_call(cg, i, &o[0], expect ? JIT_MBARRIER_EXPECT_TX : JIT_MBARRIER_COMPLETE_TX,
                      mbarrier_count(cg, &o[1]));
    }
    return true;
}
