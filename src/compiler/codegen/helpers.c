/* helpers.c: calls of the exec module's helpers (abi/kernel_abi.h). What differs between lanes is
 * passed in memory, by rows of 32 numbers. */
#include "compiler/codegen/instructions.h"
#include "compiler/codegen/values.h"

LLVMValueRef helper_rows(struct codegen *cg, unsigned first)
{
    LLVMTypeRef type = LLVMArrayType2(cg->v32i64, HELPER_ROWS);
    LLVMValueRef rows = shared_slot(cg, SLOT_HELPER_ROWS, type, 128, "rows");
    return byte_offset(cg, rows, c64(cg, (uint64_t)first * sizeof(uint64_t) * JIT_WARP));
}

void helper_row_store(struct codegen *cg, unsigned row, LLVMValueRef v)
{
    LLVMBuildStore(cg->alu.b, v, helper_rows(cg, row));
}

LLVMValueRef helper_row_load(struct codegen *cg, unsigned row)
{
    return LLVMBuildLoad2(cg->alu.b, cg->v32i64, helper_rows(cg, row), "");
}

LLVMValueRef call_helper(struct codegen *cg, const char *name, LLVMTypeRef result,
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

void helper_row_result(struct codegen *cg, const struct ptx_operand *d, unsigned row, unsigned type)
{
    if (d->kind != PTX_OPR_REG)
        return;
    LLVMValueRef v = helper_row_load(cg, row);
    if (type == PTX_PRED)
        v = LLVMBuildICmp(cg->alu.b, LLVMIntNE, v, LLVMConstNull(cg->v32i64), "");
    if (cg->k->regs[d->reg].uniformity.seg == SEG_NONE)
        write_vector(cg, d->reg, v, type == PTX_PRED ? PTX_PRED : PTX_B64);
    else
        write_uniform(cg, d->reg, first_active(cg, v), type == PTX_PRED ? PTX_PRED : PTX_B64);
}
