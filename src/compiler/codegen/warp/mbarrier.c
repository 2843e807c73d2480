/* emit_barrier: barrier objects in shared memory (mbarrier) and the barrier of a cluster. Both are
 * kept by the grid room's helpers (abi.h); a wait that fails there takes the warp's polls away, so
 * that the loop around it lets the next warp run. */
#include <string.h>

#include "compiler/codegen/codegen.h"

LLVMValueRef emit_rows(struct emit *e, unsigned first)
{
    if (e->rows == NULL) {
        e->rows = new_slot(e, LLVMArrayType2(e->v32i64, HELPER_ROWS), "rows");
        LLVMSetAlignment(e->rows, 128);
    }
    return byte_offset(e, e->rows, c64(e, (uint64_t)first * sizeof(uint64_t) * JIT_WARP));
}

void emit_row_store(struct emit *e, unsigned row, LLVMValueRef v)
{
    LLVMBuildStore(e->alu.b, v, emit_rows(e, row));
}

LLVMValueRef emit_row_load(struct emit *e, unsigned row)
{
    return LLVMBuildLoad2(e->alu.b, e->v32i64, emit_rows(e, row), "");
}

LLVMValueRef emit_helper(struct emit *e, const char *name, LLVMTypeRef result, LLVMValueRef *args,
                         unsigned n)
{
    LLVMTypeRef params[8];
    for (unsigned k = 0; k < n; k++)
        params[k] = LLVMTypeOf(args[k]);
    LLVMTypeRef t = LLVMFunctionType(result, params, n, false);
    LLVMValueRef f = LLVMGetNamedFunction(e->alu.module, name);
    if (f == NULL)
        f = LLVMAddFunction(e->alu.module, name, t);
    return LLVMBuildCall2(e->alu.b, t, f, args, n, "");
}

void emit_row_result(struct emit *e, const struct ptx_operand *d, unsigned row, unsigned type)
{
    if (d->kind != PTX_OPR_REG)
        return;
    LLVMValueRef v = emit_row_load(e, row);
    if (type == PTX_PRED)
        v = LLVMBuildICmp(e->alu.b, LLVMIntNE, v, LLVMConstNull(e->v32i64), "");
    if (e->k->regs[d->reg].shape.seg == SEG_NONE)
        write_vector(e, d->reg, v, type == PTX_PRED ? PTX_PRED : PTX_B64);
    else
        write_uniform(e, d->reg, first_active(e, v), type == PTX_PRED ? PTX_PRED : PTX_B64);
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
static void mbarrier_call(struct emit *e, const struct ptx_instr *i, const struct ptx_operand *at,
                          enum jit_mbarrier op, LLVMValueRef arg)
{
    emit_row_store(e, 0, address_vector(e, at, mem_space(i)));
    emit_row_store(e, 1, arg);
    LLVMValueRef args[6] = {e->blk,          c32(e, op),      mask_bits(e),
                            emit_rows(e, 0), emit_rows(e, 1), emit_rows(e, 2)};
    emit_helper(e, "weir_rt_mbarrier", LLVMVoidTypeInContext(e->alu.ctx), args, 6);
}

static LLVMValueRef mbarrier_number(struct emit *e, uint64_t v)
{
    return splat(e, c64(e, v), JIT_WARP);
}

/* A count operand: signed, as expect_tx takes negative numbers of bytes, too. */
static LLVMValueRef mbarrier_count(struct emit *e, const struct ptx_operand *o)
{
    return LLVMBuildSExt(e->alu.b, operand_vector(e, o, PTX_U32), e->v32i64, "");
}

static void mbarrier_arrive(struct emit *e, const struct ptx_instr *i)
{
    const struct ptx_operand *o = i->operands;
    bool drop = ptx_has(i, PTX_M_arrive_drop), tx = ptx_has(i, PTX_M_expect_tx);
    LLVMValueRef count = mbarrier_number(e, 1);
    if (tx)
        mbarrier_call(e, i, &o[1], JIT_MBARRIER_EXPECT_TX, mbarrier_count(e, &o[2]));
    else if (i->noperands > 2)
        count = mbarrier_count(e, &o[2]);
    mbarrier_call(e, i, &o[1], drop ? JIT_MBARRIER_DROP : JIT_MBARRIER_ARRIVE, count);
    emit_row_result(e, &o[0], 2, PTX_B64);
}

bool emit_mbarrier(struct emit *e, const struct ptx_instr *i)
{
    const struct ptx_operand *o = i->operands;
    if (ptx_has(i, PTX_M_pending_count)) {
        struct shape sh = shape_of(e->k, i, 0);
        if (sh.seg == SEG_NONE) {
            LLVMValueRef v = operand_vector(e, &o[1], PTX_B64);
            v = LLVMBuildAnd(e->alu.b, v, mbarrier_number(e, 0xfffff), "");
            write_vector(e, o[0].reg, v, PTX_B64);
        } else {
            LLVMValueRef v = operand_scalar(e, &o[1], PTX_B64, SEG_WARP, 0);
            write_uniform(e, o[0].reg, LLVMBuildAnd(e->alu.b, v, c64(e, 0xfffff), ""), PTX_B64);
        }
        return true;
    }
    if (arrives(i)) {
        mbarrier_arrive(e, i);
    } else if (mbarrier_waits(i)) {
        bool parity = ptx_has(i, PTX_M_parity);
        LLVMValueRef arg = parity ? mbarrier_count(e, &o[2]) : operand_vector(e, &o[2], PTX_B64);
        mbarrier_call(e, i, &o[1], parity ? JIT_MBARRIER_TEST_PARITY : JIT_MBARRIER_TEST, arg);
        emit_row_result(e, &o[0], 2, PTX_PRED);
    } else if (ptx_has(i, PTX_M_init)) {
        mbarrier_call(e, i, &o[0], JIT_MBARRIER_INIT, mbarrier_count(e, &o[1]));
    } else if (ptx_has(i, PTX_M_inval)) {
        mbarrier_call(e, i, &o[0], JIT_MBARRIER_INVAL, mbarrier_number(e, 0));
    } else {
        bool expect = ptx_has(i, PTX_M_expect_tx);
        mbarrier_call(e, i, &o[0], expect ? JIT_MBARRIER_EXPECT_TX : JIT_MBARRIER_COMPLETE_TX,
                      mbarrier_count(e, &o[1]));
    }
    return true;
}

/* ---- the cluster's barrier ---- */

static LLVMValueRef mbarrier_live(struct emit *e)
{
    return e->always_full ? c32(e, 0xffffffffu)
                          : LLVMBuildLoad2(e->alu.b, e->i32, e->live_slot, "");
}

void emit_cluster_barrier(struct emit *e, const struct ptx_instr *i)
{
    if (ptx_has(i, PTX_M_arrive)) {
        LLVMValueRef args[3] = {e->blk, mask_bits(e), mbarrier_live(e)};
        emit_helper(e, "weir_rt_cluster_arrive", e->i32, args, 3);
        return;
    }
    LLVMValueRef args[2] = {e->blk, mbarrier_live(e)};
    LLVMValueRef r = emit_helper(e, "weir_rt_cluster_wait", e->i32, args, 2);
    write_uniform(e, i->operands[0].reg, LLVMBuildICmp(e->alu.b, LLVMIntNE, r, c32(e, 0), ""),
                  PTX_PRED);
}
