/* affine_division.c: quotients and remainders of neighbours.
 *
 * `i / width` and `i % width` of one index that runs over a grid are divergent, but nearly all
 * warps lie in one row: the quotient is the same in all lanes then, and the remainders follow from
 * each other. One division of scalars tells whether that is so; machines have no division of
 * vectors of integers, which is a hundred instructions. */
#include "compiler/codegen/control/control.h"
#include "compiler/codegen/instructions.h"
#include "compiler/codegen/values.h"

/* Strides above this are of no index along a row. */
enum { MAX_STRIDE = 1024 };

bool affine_division_fits(const struct codegen *cg, const struct ptx_instr *i)
{
    if ((i->op != PTX_OP_div && i->op != PTX_OP_rem) || i->noperands != 3 || i->ntypes != 1 ||
        i->operands[0].kind != PTX_OPR_REG || cg->serialized->active)
        return false;
    unsigned type = i->types[0], bits = ptx_type_bits((enum ptx_type)type);
    struct uniformity n = operand_uniformity(cg->k, &i->operands[1]),
                      d = operand_uniformity(cg->k, &i->operands[2]);
    return !ptx_type_is_float((enum ptx_type)type) && (bits == 32 || bits == 64) &&
           n.seg == SEG_WARP && n.brk == 0 && n.stride > 0 && n.stride <= MAX_STRIDE &&
           is_uniform(&d);
}

/* i1: is the first lane's value that of a row's element, so that no lane's wraps around, and the
 * divisor the length of one? */
static LLVMValueRef has_rows(struct codegen *cg, LLVMValueRef first, LLVMValueRef by,
                             bool is_signed, uint64_t span)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMTypeRef t = LLVMTypeOf(first);
    unsigned bits = LLVMGetIntTypeWidth(t);
    uint64_t most = (~UINT64_C(0) >> (64 - bits) >> is_signed) - span;
    LLVMValueRef zero = LLVMConstNull(t);
    LLVMValueRef fits = LLVMBuildICmp(b, LLVMIntULE, first, LLVMConstInt(t, most, false), "");
    LLVMValueRef some = LLVMBuildICmp(b, is_signed ? LLVMIntSGT : LLVMIntNE, by, zero, "");
    return LLVMBuildAnd(b, fits, some, "");
}

bool emit_affine_division(struct codegen *cg, const struct ptx_instr *i)
{
    LLVMBuilderRef b = cg->alu.b;
    unsigned type = i->types[0];
    int64_t stride = operand_uniformity(cg->k, &i->operands[1]).stride;
    uint64_t span = (uint64_t)stride * (JIT_WARP - 1);
    LLVMValueRef first = operand_scalar(cg, &i->operands[1], type, SEG_WARP, 0);
    LLVMValueRef by = operand_scalar(cg, &i->operands[2], type, SEG_WARP, 0);
    LLVMTypeRef t = LLVMTypeOf(first);
    LLVMValueRef rows = has_rows(cg, first, by, ptx_type_is_signed((enum ptx_type)type), span);
    first = LLVMBuildSelect(b, rows, first, LLVMConstNull(t), "");
    by = LLVMBuildSelect(b, rows, by, LLVMConstInt(t, 1, false), "");
    LLVMValueRef quotient = LLVMBuildUDiv(b, first, by, "");
    LLVMValueRef rest = LLVMBuildSub(b, first, LLVMBuildMul(b, quotient, by, ""), "");
    LLVMValueRef one = LLVMBuildICmp(b, LLVMIntULT, LLVMConstInt(t, span, false),
                                     LLVMBuildSub(b, by, rest, ""), "");
    LLVMBasicBlockRef row = new_bb(cg, "one_row"), other = new_bb(cg, "rows"),
                      join = new_bb(cg, "divided");
    branch_likely(cg, LLVMBuildAnd(b, rows, one, ""), row, other);

    LLVMPositionBuilderAtEnd(b, row);
    LLVMValueRef v[2], src[ALU_MAX_SRC], dst[ALU_MAX_DST];
    v[0] = i->op == PTX_OP_div ? splat(cg, quotient, JIT_WARP)
                               : from_segments(cg, &rest, SEG_WARP, stride);
    LLVMBuildBr(b, join);

    LLVMPositionBuilderAtEnd(b, other);
    for (int n = 0; n < 2; n++)
        src[n] = operand_vector(cg, &i->operands[1 + n], type);
    cg->alu.lanes = JIT_WARP;
    cg->alu.mask = NULL;
    bool ok = alu_emit(&cg->alu, i, src, dst);
    v[1] = dst[0];
    other = LLVMGetInsertBlock(b);
    LLVMBuildBr(b, join);
    LLVMPositionBuilderAtEnd(b, join);
    if (!ok)
        return diag_set(cg->k->diag, i->line, i->column, "%s is not supported", ptx_op_name(i->op));
    LLVMValueRef phi = LLVMBuildPhi(b, LLVMTypeOf(v[1]), "");
    LLVMAddIncoming(phi, v, (LLVMBasicBlockRef[]){row, other}, 2);
    write_vector(cg, i->operands[0].reg, phi, type);
    return true;
}
