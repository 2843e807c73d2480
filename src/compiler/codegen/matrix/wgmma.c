/* wgmma.c: products of a warp group. A warp makes its own 16 rows of D when the instruction is
 * issued, by a helper of the exec module that finds the registers in memory (abi/wgmma.h), so
 * fences and commits are nothing to do. A wait is a barrier of the group (front/lower.c): after it
 * a program may write what the other warps have yet to read. */
#include "abi/wgmma.h"
#include "compiler/codegen/frame.h"
#include "compiler/codegen/instructions.h"
#include "compiler/codegen/matrix/matrix.h"
#include "compiler/codegen/matrix/mma.h"
#include "compiler/codegen/values.h"

/* What an instruction asks for. */
struct group_product {
    unsigned columns, k, nd;
    unsigned a, b, d; /* element types */
    bool registers;   /* A is in registers */
    bool sparse;
    const struct ptx_operand *metadata, *selector; /* of a sparse product */
    const struct ptx_operand *adds, *c;
    uint32_t kind;
};

static const struct {
    unsigned type;
    enum wgmma_type code;
    unsigned k; /* elements of a factor that one instruction has along k */
} factors[] = {{PTX_F16, WGMMA_F16, 16},   {PTX_BF16, WGMMA_BF16, 16}, {PTX_TF32, WGMMA_TF32, 8},
               {PTX_E4M3, WGMMA_E4M3, 32}, {PTX_E5M2, WGMMA_E5M2, 32}, {PTX_S8, WGMMA_S8, 32},
               {PTX_U8, WGMMA_U8, 32},     {PTX_B1, WGMMA_B1, 256}};

static int factor(unsigned type)
{
    for (size_t n = 0; n < WEIR_COUNT(factors); n++)
        if (factors[n].type == type)
            return (int)n;
    return -1;
}

static bool is_product(const struct ptx_instr *i) { return ptx_has(i, PTX_M_mma_async); }

/* Constant operand n: -1 and 1 of a scale, 0 and 1 of a transposition. */
static int64_t constant_operand(const struct ptx_instr *i, int n)
{
    return n < i->noperands && i->operands[n].kind == PTX_OPR_IMM ? (int64_t)i->operands[n].imm : 0;
}

/* Operands: d, a, b, metadata and selector (of sparse products), whether D is added, scales of A
 * and B, transpositions of A (where it is in shared memory) and of B; and D once more, as it is
 * read, in what lowering leaves. */
static bool describe(const struct ptx_instr *i, bool lowered, struct group_product *p)
{
    struct mma shape;
    bool sparse = ptx_has(i, PTX_M_sp);
    int at = sparse ? 5 : 3, next = at + 3, operands = i->noperands - lowered;
    *p = (struct group_product){.sparse = sparse};
    if (!mma_shape(i, &shape) || i->ntypes != 3 || operands <= at)
        return false;
    p->columns = shape.n;
    p->k = shape.k;
    p->d = i->types[0];
    p->a = i->types[1];
    p->b = i->types[2];
    p->registers = i->operands[1].kind == PTX_OPR_VEC;
    p->adds = &i->operands[at];
    if (sparse) {
        p->metadata = &i->operands[3];
        p->selector = &i->operands[4];
    }
    p->c = &i->operands[i->noperands - 1];
    p->nd = p->columns / (p->d == PTX_F16 ? 4 : 2);
    int a = factor(p->a), b = factor(p->b);
    unsigned k = sparse ? p->k / 2 : p->k;
    if (a < 0 || b < 0 || factors[a].k != k || factors[b].k != k || shape.m != 64)
        return false;
    uint32_t result = p->d == PTX_F32   ? WGMMA_TO_F32
                      : p->d == PTX_F16 ? WGMMA_TO_F16
                                        : WGMMA_TO_S32;
    p->kind = (uint32_t)factors[a].code << WGMMA_A_TYPE |
              (uint32_t)factors[b].code << WGMMA_B_TYPE | result << WGMMA_D_TYPE;
    if (p->registers)
        p->kind |= WGMMA_A_REGISTERS;
    if (sparse)
        p->kind |= WGMMA_SPARSE | (p->selector->imm == 1 ? WGMMA_SELECTOR : 0);
    if (ptx_has(i, PTX_M_satfinite))
        p->kind |= WGMMA_SATURATES;
    if (operands > at + 2 &&
        (constant_operand(i, at + 1) == -1) != (constant_operand(i, at + 2) == -1))
        p->kind |= WGMMA_NEGATES;
    if (operands > next && !p->registers && constant_operand(i, next++) == 1)
        p->kind |= WGMMA_A_ROWS;
    if (operands > next && constant_operand(i, next) == 1)
        p->kind |= WGMMA_B_ROWS;
    return true;
}

/* Do the types of factors and result go together? */
static bool types_fit(const struct group_product *p)
{
    switch (p->a) {
    case PTX_F16: return p->b == p->a && (p->d == PTX_F32 || p->d == PTX_F16);
    case PTX_BF16:
    case PTX_TF32: return p->b == p->a && p->d == PTX_F32;
    case PTX_E4M3:
    case PTX_E5M2:
        return (p->b == PTX_E4M3 || p->b == PTX_E5M2) && (p->d == PTX_F32 || p->d == PTX_F16);
    case PTX_B1: return p->b == p->a && p->d == PTX_S32;
    default: return (p->b == PTX_S8 || p->b == PTX_U8) && p->d == PTX_S32;
    }
}

bool wgmma_supported(const struct ptx_instr *i, struct diag *d)
{
    struct group_product p;
    if (!is_product(i))
        return true;
    if (!describe(i, false, &p) || !types_fit(&p) || p.columns == 0 || p.columns % 8 != 0 ||
        p.columns > WGMMA_COLUMNS || mma_items(&i->operands[0]) != p.nd ||
        (p.registers && mma_items(&i->operands[1]) != WGMMA_MAX_A))
        return diag_set(d, i->line, i->column,
                        "wgmma.mma_async of this shape and these types is not supported");
    bool eight_bits = p.a != PTX_F16 && p.a != PTX_BF16 && p.a != PTX_TF32;
    if (p.sparse &&
        (p.selector->kind != PTX_OPR_IMM || p.selector->imm > !eight_bits || p.a == PTX_B1))
        return diag_set(d, i->line, i->column,
                        "wgmma.mma_async.sp of these types has no such selector");
    bool turned = (p.kind & (WGMMA_A_ROWS | WGMMA_B_ROWS)) != 0;
    if (turned && p.a != PTX_F16 && p.a != PTX_BF16)
        return diag_set(d, i->line, i->column,
                        "wgmma.mma_async transposes factors of 16-bit types only");
    return true;
}

/* ---- the call ---- */

enum { POINTERS = WGMMA_MAX_D + WGMMA_MAX_A + 1, POINTER_BYTES = 2048, REGISTER_BYTES = 256 };

/* Pointers to registers, and after them registers that do not lie in memory by themselves. */
static LLVMValueRef group_memory(struct codegen *cg)
{
    LLVMTypeRef type = LLVMArrayType2(cg->i8, POINTER_BYTES + POINTERS * REGISTER_BYTES);
    return shared_slot(cg, SLOT_WGMMA, type, 256, "group");
}

static LLVMValueRef spare(struct codegen *cg, unsigned n)
{
    return byte_offset(cg, group_memory(cg), c64(cg, POINTER_BYTES + (uint64_t)n * REGISTER_BYTES));
}

/* Register n of the call is where `o` is, if that can be used; else it is copied, if it is read. */
static LLVMValueRef pass(struct codegen *cg, const struct ptx_operand *o, unsigned n,
                         const struct tile *t, bool in_place, bool read)
{
    LLVMValueRef at = in_place ? register_pointer(cg, o->reg) : spare(cg, n);
    LLVMValueRef slot = byte_offset(cg, group_memory(cg), c64(cg, (uint64_t)n * sizeof(void *)));
    if (!in_place && read)
        LLVMSetAlignment(LLVMBuildStore(cg->alu.b, mma_read(cg, o, t), at), 64);
    LLVMBuildStore(cg->alu.b, at, slot);
    return at;
}

/* A number that all lanes have. */
static LLVMValueRef shared_value(struct codegen *cg, const struct ptx_operand *o, unsigned type)
{
    struct uniformity s = operand_uniformity(cg->k, o);
    if (o->kind == PTX_OPR_IMM || is_uniform(&s))
        return operand_scalar(cg, o, type, SEG_WARP, 0);
    return first_active(cg, operand_vector(cg, o, type));
}

static LLVMValueRef adds_d(struct codegen *cg, const struct ptx_operand *o)
{
    if (o->kind == PTX_OPR_IMM)
        return c32(cg, o->imm != 0);
    struct uniformity s = operand_uniformity(cg->k, o);
    if (is_uniform(&s))
        return LLVMBuildZExt(cg->alu.b, operand_scalar(cg, o, PTX_PRED, SEG_WARP, 0), cg->i32, "");
    LLVMValueRef bits =
        LLVMBuildAnd(cg->alu.b, bits_of(cg, operand_vector(cg, o, PTX_PRED)), mask_bits(cg), "");
    return LLVMBuildZExt(cg->alu.b, LLVMBuildICmp(cg->alu.b, LLVMIntNE, bits, c32(cg, 0), ""),
                         cg->i32, "");
}

static void emit_product(struct codegen *cg, const struct ptx_instr *i)
{
    static const struct tile word = {32, 1, 1, 1, PTX_B32};
    struct tile td = word;
    struct group_product p;
    describe(i, true, &p);
    td.reg_type = p.d == PTX_F32 ? PTX_F32 : PTX_B32;
    LLVMValueRef at[WGMMA_MAX_D];
    for (unsigned n = 0; n < p.nd; n++) {
        const struct ptx_operand *d = mma_item(&i->operands[0], n);
        at[n] = pass(cg, d, n, &td, mma_in_place(cg, d, &td), true);
    }
    for (unsigned n = 0; n < WGMMA_MAX_A && p.registers; n++) {
        const struct ptx_operand *a = mma_item(&i->operands[1], n);
        pass(cg, a, p.nd + n, &word, mma_in_memory(cg, a, &word), true);
    }
    if (p.sparse)
        pass(cg, p.metadata, p.nd + (p.registers ? WGMMA_MAX_A : 0), &word, false, true);
    LLVMValueRef args[7] = {cg->block.ptr,
                            c32(cg, p.kind),
                            c32(cg, p.columns),
                            adds_d(cg, p.adds),
                            p.registers ? c64(cg, 0) : shared_value(cg, &i->operands[1], PTX_U64),
                            shared_value(cg, &i->operands[2], PTX_U64),
                            group_memory(cg)};
    call_helper(cg, "weir_rt_wgmma", LLVMVoidTypeInContext(cg->alu.ctx), args, 7);
    for (unsigned n = 0; n < p.nd; n++)
        mma_written(cg, mma_item(&i->operands[0], n), at[n], &td);
}

bool emit_wgmma(struct codegen *cg, const struct ptx_instr *i)
{
    if (is_product(i))
        emit_product(cg, i);
    return true;
}
