/* affine_division.c: quotients and remainders of neighbours.
 *
 * `i / width` and `i % width` of one index that runs over a grid are divergent, but nearly all
 * warps lie in one row: the quotient is the same in all lanes then, and the remainders follow from
 * each other. One division of scalars tells whether that is so; machines have no division of
 * vectors of integers, which is a hundred instructions. What is made of such a quotient is likely
 * the same in all lanes, too, and so divided once (`i / width % height`). */
#include "compiler/codegen/control/control.h"
#include "compiler/codegen/instructions.h"
#include "compiler/codegen/values.h"

/* Strides above this are of no index along a row. */
enum { MAX_STRIDE = 1024 };

/* Is the dividend one value that is likely the same in all lanes? */
static bool is_likely_one(const struct uniformity *n)
{
    return n->seg == SEG_NONE && n->hint_seg == SEG_WARP && n->stride == 0;
}

bool affine_division_fits(const struct codegen *cg, const struct ptx_instr *i)
{
    if ((i->op != PTX_OP_div && i->op != PTX_OP_rem) || i->noperands != 3 || i->ntypes != 1 ||
        i->operands[0].kind != PTX_OPR_REG || cg->serialized->active)
        return false;
    unsigned type = i->types[0], bits = ptx_type_bits((enum ptx_type)type);
    struct uniformity n = operand_uniformity(cg->k, &i->operands[1]),
                      d = operand_uniformity(cg->k, &i->operands[2]);
    return !ptx_type_is_float((enum ptx_type)type) && (bits == 32 || bits == 64) &&
           is_uniform(&d) &&
           ((is_likely_one(&n) && i->operands[2].kind != PTX_OPR_IMM) ||
            (n.seg == SEG_WARP && n.brk == 0 && n.stride > 0 && n.stride <= MAX_STRIDE));
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

/* A quotient or remainder that there may be in two ways. */
struct ways {
    LLVMBasicBlockRef fast, slow, join; /* `slow` divides all lanes by themselves */
    LLVMValueRef v;                     /* the fast way's */
};

/* Operands of `lanes` lanes, divided as the instruction says. */
static LLVMValueRef divided(struct codegen *cg, const struct ptx_instr *i, LLVMValueRef *src,
                            int lanes)
{
    LLVMValueRef dst[ALU_MAX_DST];
    cg->alu.lanes = lanes;
    cg->alu.mask = NULL;
    if (alu_emit(&cg->alu, i, src, dst))
        return dst[0];
    diag_set(cg->k->diag, i->line, i->column, "%s is not supported", ptx_op_name(i->op));
    return NULL;
}

static bool join_ways(struct codegen *cg, const struct ptx_instr *i, struct ways *w)
{
    LLVMBuilderRef b = cg->alu.b;
    unsigned type = i->types[0];
    w->fast = LLVMGetInsertBlock(b);
    LLVMBuildBr(b, w->join);
    LLVMPositionBuilderAtEnd(b, w->slow);
    LLVMValueRef src[ALU_MAX_SRC], v[2] = {w->v, NULL};
    for (int n = 0; n < 2; n++)
        src[n] = operand_vector(cg, &i->operands[1 + n], type);
    v[1] = divided(cg, i, src, JIT_WARP);
    LLVMBasicBlockRef from[2] = {w->fast, LLVMGetInsertBlock(b)};
    LLVMBuildBr(b, w->join);
    LLVMPositionBuilderAtEnd(b, w->join);
    if (v[0] == NULL || v[1] == NULL)
        return false;
    LLVMValueRef phi = LLVMBuildPhi(b, LLVMTypeOf(v[1]), "");
    LLVMAddIncoming(phi, v, from, 2);
    write_vector(cg, i->operands[0].reg, phi, type);
    return true;
}

/* The dividend is likely one. */
static bool emit_likely_one(struct codegen *cg, const struct ptx_instr *i, struct ways *w)
{
    LLVMBuilderRef b = cg->alu.b;
    unsigned type = i->types[0];
    LLVMValueRef all = operand_vector(cg, &i->operands[1], type);
    LLVMValueRef first = LLVMBuildExtractElement(b, all, c32(cg, 0), "");
    LLVMValueRef same =
        bits_of(cg, LLVMBuildICmp(b, LLVMIntEQ, all, splat(cg, first, JIT_WARP), ""));
    if (cg->mask != NULL)
        same = LLVMBuildOr(b, same, LLVMBuildNot(b, cg->mask, ""), "");
    branch_likely(cg, LLVMBuildICmp(b, LLVMIntEQ, same, c32(cg, UINT32_MAX), ""), w->fast, w->slow);
    LLVMPositionBuilderAtEnd(b, w->fast);
    LLVMValueRef src[ALU_MAX_SRC] = {first, operand_scalar(cg, &i->operands[2], type, SEG_WARP, 0)};
    w->v = divided(cg, i, src, 1);
    w->v = w->v != NULL ? splat(cg, w->v, JIT_WARP) : NULL;
    return join_ways(cg, i, w);
}

bool emit_affine_division(struct codegen *cg, const struct ptx_instr *i)
{
    LLVMBuilderRef b = cg->alu.b;
    unsigned type = i->types[0];
    struct uniformity n = operand_uniformity(cg->k, &i->operands[1]);
    struct ways w = {
        .fast = new_bb(cg, "one"), .slow = new_bb(cg, "each"), .join = new_bb(cg, "divided")};
    if (is_likely_one(&n))
        return emit_likely_one(cg, i, &w);
    uint64_t span = (uint64_t)n.stride * (JIT_WARP - 1);
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
    branch_likely(cg, LLVMBuildAnd(b, rows, one, ""), w.fast, w.slow);
    LLVMPositionBuilderAtEnd(b, w.fast);
    w.v = i->op == PTX_OP_div ? splat(cg, quotient, JIT_WARP)
                              : from_segments(cg, &rest, SEG_WARP, n.stride);
    return join_ways(cg, i, &w);
}
