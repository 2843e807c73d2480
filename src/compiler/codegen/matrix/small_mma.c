/* small_mma.c: mma of elements of four and six bits, and mma with scales for blocks of elements. A
 * helper of the exec module multiplies (abi/small_mma.h); it finds the registers in memory. */
#include "abi/small_mma.h"
#include "compiler/codegen/instructions.h"
#include "compiler/codegen/matrix/mma.h"
#include "compiler/codegen/values.h"

/* Positions of operands. */
enum { FACTOR_A = 1, FACTOR_B = 2, SUM = 3, METADATA = 4 };

static bool is_sparse(const struct ptx_instr *i) { return ptx_has(i, PTX_M_sp__ordered_metadata); }

static unsigned small_type(unsigned type)
{
    switch (type) {
    case PTX_E4M3: return SMALL_E4M3;
    case PTX_E5M2: return SMALL_E5M2;
    case PTX_E3M2: return SMALL_E3M2;
    case PTX_E2M3: return SMALL_E2M3;
    case PTX_E2M1: return SMALL_E2M1;
    case PTX_UE8M0: return SMALL_UE8M0;
    case PTX_UE4M3: return SMALL_UE4M3;
    default: return SMALL_TYPES;
    }
}

/* How many scales there are along k; each kind has its own number where none is written. */
static unsigned block_count(const struct ptx_instr *i)
{
    if (!ptx_has(i, PTX_M_block_scale))
        return 0;
    if (ptx_has(i, PTX_M_kind__mxf8f6f4))
        return 1;
    return ptx_has(i, PTX_M_scale_vec__4X) ? 4 : 2;
}

bool is_small_mma(const struct ptx_instr *i)
{
    if (i->op != PTX_OP_mma)
        return false;
    if (ptx_has(i, PTX_M_block_scale))
        return true;
    return i->ntypes == 4 &&
           (small_type(i->types[1]) > SMALL_E5M2 || small_type(i->types[2]) > SMALL_E5M2) &&
           ptx_has(i, PTX_M_kind__f8f6f4);
}

static uint32_t kind_of(const struct ptx_instr *i)
{
    uint32_t kind = small_type(i->types[1]) << SMALL_MMA_A |
                    small_type(i->types[2]) << SMALL_MMA_B | block_count(i) << SMALL_MMA_BLOCKS;
    if (ptx_has(i, PTX_M_block_scale))
        kind |= small_type(i->types[4]) << SMALL_MMA_SCALE;
    if (ptx_has(i, PTX_M_kind__mxf4) || ptx_has(i, PTX_M_kind__mxf4nvf4))
        kind |= SMALL_MMA_PACKED;
    return kind | (is_sparse(i) ? SMALL_MMA_SPARSE : 0) |
           (i->types[0] == PTX_F16 ? SMALL_MMA_HALVES : 0);
}

/* The first of the four operands with scales: a word, {byte, thread}, both again for B. */
static int scales_at(const struct ptx_instr *i) { return METADATA + (is_sparse(i) ? 2 : 0); }

/* Is a selector, if it is a constant, a multiple of `step` up to `most`? */
static bool selects(const struct ptx_operand *o, uint64_t step, uint64_t most)
{
    return o->kind != PTX_OPR_IMM || (o->imm <= most && o->imm % step == 0);
}

bool small_mma_supported(const struct ptx_instr *i, struct diag *d)
{
    unsigned halves = i->types[0] == PTX_F16, blocks = block_count(i), sums = halves ? 2 : 4;
    const struct ptx_operand *o = i->operands;
    if (i->types[3] != i->types[0] || mma_items(&o[0]) != sums || mma_items(&o[SUM]) != sums ||
        mma_items(&o[FACTOR_A]) != 4 || mma_items(&o[FACTOR_B]) != (is_sparse(i) ? 4 : 2))
        return diag_set(d, i->line, i->column,
                        "mma of this shape and these types has other numbers of registers");
    if (is_sparse(i) && o[METADATA + 1].imm != 0)
        return diag_set(d, i->line, i->column, "mma.sp of this shape has no such selector");
    for (int side = 0; blocks != 0 && side < 2; side++) {
        const struct ptx_operand *pair = &o[scales_at(i) + 1 + 2 * side];
        if (mma_items(pair) != 2 || pair->kind != PTX_OPR_VEC ||
            !selects(&pair->items[0], blocks, 4 - blocks) ||
            !selects(&pair->items[1], 1, side == 0 ? 1 : 3))
            return diag_set(d, i->line, i->column,
                            "mma with scale_vec::%uX has no such byte and thread of scales",
                            blocks);
    }
    return true;
}

/* {byte, thread} as the two lower bytes of a word. */
static LLVMValueRef selectors(struct codegen *cg, const struct ptx_operand *pair)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef v[2];
    for (unsigned n = 0; n < 2; n++) {
        v[n] = LLVMBuildZExt(b, mma_uniform(cg, &pair->items[n], PTX_U16), cg->i32, "");
        v[n] = LLVMBuildAnd(b, v[n], c32(cg, 3), "");
    }
    return LLVMBuildOr(b, v[0], LLVMBuildShl(b, v[1], c32(cg, 8), ""), "");
}

static void pass(struct codegen *cg, LLVMValueRef at, unsigned n)
{
    LLVMValueRef slot = byte_offset(cg, mma_memory(cg), c64(cg, (uint64_t)n * sizeof(void *)));
    LLVMBuildStore(cg->alu.b, at, slot);
}

bool emit_small_mma(struct codegen *cg, const struct ptx_instr *i)
{
    static const struct tile word = {32, 1, 1, 1, PTX_B32};
    const struct tile sum = {32, 1, 1, 1, i->types[0] == PTX_F32 ? PTX_F32 : PTX_B32};
    const struct ptx_operand *o = i->operands;
    LLVMValueRef at[4], chosen = c32(cg, 0);
    unsigned n = 0, nd = mma_items(&o[0]);
    for (; n < nd; n++)
        pass(cg, at[n] = mma_target(cg, mma_item(&o[0], n), n, &sum), n);
    for (int f = FACTOR_A; f <= SUM; f++)
        for (unsigned r = 0; r < mma_items(&o[f]); r++, n++)
            pass(cg, mma_source(cg, mma_item(&o[f], r), n, f == SUM ? &sum : &word), n);
    if (is_sparse(i)) {
        pass(cg, mma_source(cg, &o[METADATA], n, &word), n);
        n++;
    }
    for (int side = 0; block_count(i) != 0 && side < 2; side++, n++) {
        const struct ptx_operand *scale = &o[scales_at(i) + 2 * side];
        pass(cg, mma_source(cg, scale, n, &word), n);
        LLVMValueRef s = LLVMBuildShl(cg->alu.b, selectors(cg, scale + 1),
                                      c32(cg, side == 0 ? SMALL_MMA_BYTE_A : SMALL_MMA_BYTE_B), "");
        chosen = LLVMBuildOr(cg->alu.b, chosen, s, "");
    }
    LLVMValueRef args[3] = {c32(cg, kind_of(i)), chosen, mma_memory(cg)};
    call_helper(cg, "weir_rt_small_mma", LLVMVoidTypeInContext(cg->alu.ctx), args, 3);
    for (unsigned r = 0; r < nd; r++)
        mma_written(cg, mma_item(&o[0], r), at[r], &sum);
    return true;
}
