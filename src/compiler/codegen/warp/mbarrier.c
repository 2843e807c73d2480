/* emit_barrier: barrier objects in shared memory (mbarrier) and the barrier of a cluster. Both are
 * kept by the grid room's helpers (abi.h); a wait that fails there takes the warp's polls away, so
 * that the loop around it lets the next warp run. */
#include <string.h>

#include "compiler/codegen/codegen.h"

LLVMValueRef emit_rows(struct codegen *cg, unsigned first)
{
    if (cg->rows == NULL) {
        cg->rows = new_slot(cg, LLVMArrayType2(cg->v32i64, HELPER_ROWS), "rows");
        LLVMSetAlignment(cg->rows, 128);
    }
    return byte_offset(cg, cg->rows, c64(cg, (uint64_t)first * sizeof(uint64_t) * JIT_WARP));
}

void emit_row_store(struct codegen *cg, unsigned row, LLVMValueRef v)
{
    LLVMBuildStore(cg->alu.b, v, emit_rows(cg, row));
}

LLVMValueRef emit_row_load(struct codegen *cg, unsigned row)
{
    return LLVMBuildLoad2(cg->alu.b, cg->v32i64, emit_rows(cg, row), "");
}

LLVMValueRef emit_helper(struct codegen *cg, const char *name, LLVMTypeRef result,
                         LLVMValueRef *args, unsigned n)
{
    LLVMTypeRef params[8];
    for (unsigned k = 0; k < n; k++)
        params[k] = LLVMTypeOf(args[k]);
    LLVMTypeRef t = LLVMFunctionType(result, params, n, false);
    LLVMValueRef f = LLVMGetNamedFunction(cg->alu.module, name);
    if (f == NULL)
        f = LLVMAddFunction(cg->alu.module, name, t);
    return LLVMBuildCall2(cg->alu.b, t, f, args, n, "");
}

void emit_row_result(struct codegen *cg, const struct ptx_operand *d, unsigned row, unsigned type)
{
    if (d->kind != PTX_OPR_REG)
        return;
    LLVMValueRef v = emit_row_load(cg, row);
    if (type == PTX_PRED)
        v = LLVMBuildICmp(cg->alu.b, LLVMIntNE, v, LLVMConstNull(cg->v32i64), "");
    if (cg->k->regs[d->reg].uniformity.seg == SEG_NONE)
        write_vector(cg, d->reg, v, type == PTX_PRED ? PTX_PRED : PTX_B64);
    else
        write_uniform(cg, d->reg, first_active(cg, v), type == PTX_PRED ? PTX_PRED : PTX_B64);
}

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
    emit_row_store(cg, 0, address_vector(cg, at, mem_space(i)));
    emit_row_store(cg, 1, arg);
    LLVMValueRef args[6] = {cg->blk,          c32(cg, op),      mask_bits(cg),
                            emit_rows(cg, 0), emit_rows(cg, 1), emit_rows(cg, 2)};
    emit_helper(cg, "weir_rt_mbarrier", LLVMVoidTypeInContext(cg->alu.ctx), args, 6);
}

static LLVMValueRef mbarrier_number(struct codegen *cg, uint64_t v)
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
    LLVMValueRef count = mbarrier_number(cg, 1);
    if (tx)
        mbarrier_call(cg, i, &o[1], JIT_MBARRIER_EXPECT_TX, mbarrier_count(cg, &o[2]));
    else if (i->noperands > 2)
        count = mbarrier_count(cg, &o[2]);
    mbarrier_call(cg, i, &o[1], drop ? JIT_MBARRIER_DROP : JIT_MBARRIER_ARRIVE, count);
    emit_row_result(cg, &o[0], 2, PTX_B64);
}

bool emit_mbarrier(struct codegen *cg, const struct ptx_instr *i)
{
    const struct ptx_operand *o = i->operands;
    if (ptx_has(i, PTX_M_pending_count)) {
        struct uniformity sh = uniformity_of(cg->k, i, 0);
        if (sh.seg == SEG_NONE) {
            LLVMValueRef v = operand_vector(cg, &o[1], PTX_B64);
            v = LLVMBuildAnd(cg->alu.b, v, mbarrier_number(cg, 0xfffff), "");
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
        emit_row_result(cg, &o[0], 2, PTX_PRED);
    } else if (ptx_has(i, PTX_M_init)) {
        mbarrier_call(cg, i, &o[0], JIT_MBARRIER_INIT, mbarrier_count(cg, &o[1]));
    } else if (ptx_has(i, PTX_M_inval)) {
        mbarrier_call(cg, i, &o[0], JIT_MBARRIER_INVAL, mbarrier_number(cg, 0));
    } else {
        bool expect = ptx_has(i, PTX_M_expect_tx);
        mbarrier_call(cg, i, &o[0], expect ? JIT_MBARRIER_EXPECT_TX : JIT_MBARRIER_COMPLETE_TX,
                      mbarrier_count(cg, &o[1]));
    }
    return true;
}

/* ---- the cluster's barrier ---- */

static LLVMValueRef mbarrier_live(struct codegen *cg)
{
    return cg->always_full ? c32(cg, 0xffffffffu)
                           : LLVMBuildLoad2(cg->alu.b, cg->i32, cg->live_slot, "");
}

void emit_cluster_barrier(struct codegen *cg, const struct ptx_instr *i)
{
    if (ptx_has(i, PTX_M_arrive)) {
        LLVMValueRef args[3] = {cg->blk, mask_bits(cg), mbarrier_live(cg)};
        emit_helper(cg, "weir_rt_cluster_arrive", cg->i32, args, 3);
        return;
    }
    LLVMValueRef args[2] = {cg->blk, mbarrier_live(cg)};
    LLVMValueRef r = emit_helper(cg, "weir_rt_cluster_wait", cg->i32, args, 2);
    write_uniform(cg, i->operands[0].reg, LLVMBuildICmp(cg->alu.b, LLVMIntNE, r, c32(cg, 0), ""),
                  PTX_PRED);
}
