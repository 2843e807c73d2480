/* mma.c: matrix multiplication, mma and wmma.mma: which kinds are supported, and the call of the
 * function for its kind (mma_kernel.c), which is made once a module. It is passed its registers in
 * memory, in their own slots as far as possible. */
#include <stdio.h>
#include <string.h>

#include "compiler/codegen/frame.h"
#include "compiler/codegen/matrix/matrix.h"
#include "compiler/codegen/matrix/mma.h"
#include "compiler/codegen/module_function.h"
#include "compiler/codegen/values.h"
#include "compiler/llvm/baseline.h"

struct tile mma_tile(unsigned type, bool accumulator)
{
    switch (type) {
    case PTX_F16:
    case PTX_BF16: return (struct tile){16, 1, 2, 1, PTX_B32};
    case PTX_S8:
    case PTX_U8:
    case PTX_E4M3:
    case PTX_E5M2: return (struct tile){8, 1, 4, 1, PTX_B32};
    case PTX_S4:
    case PTX_U4: return (struct tile){32, 8, 1, 1, PTX_B32};
    case PTX_B1: return (struct tile){32, 32, 1, 1, PTX_B32};
    case PTX_F64: return (struct tile){64, 1, 1, accumulator ? 2 : 1, PTX_F64};
    case PTX_F32: return (struct tile){32, 1, 1, accumulator ? 2 : 1, PTX_F32};
    default: /* s32, tf32 */ return (struct tile){32, 1, 1, accumulator ? 2 : 1, PTX_B32};
    }
}

bool mma_shape(const struct ptx_instr *i, struct mma *m)
{
    for (int n = 0; n < i->nmods; n++)
        if (sscanf(ptx_mod_name((enum ptx_mod)i->mods[n]), "m%un%uk%u", &m->m, &m->n, &m->k) == 3)
            return true;
    return false;
}

const struct ptx_operand *mma_item(const struct ptx_operand *o, unsigned n)
{
    return o->kind == PTX_OPR_VEC ? &o->items[n] : o;
}

LLVMValueRef mma_read(struct codegen *cg, const struct ptx_operand *o, const struct tile *t)
{
    LLVMValueRef v = operand_vector(cg, o, t->reg_type);
    return LLVMBuildBitCast(cg->alu.b, v, t->reg_type == PTX_F64 ? cg->v32i64 : cg->v32i32, "");
}

void mma_write(struct codegen *cg, const struct ptx_operand *o, LLVMValueRef v,
               const struct tile *t)
{
    if (o->kind == PTX_OPR_REG)
        write_vector(cg, o->reg, v, t->reg_type == PTX_F64 ? PTX_B64 : PTX_B32);
}

/* ---- registers in memory ---- */

LLVMValueRef mma_memory(struct codegen *cg)
{
    LLVMTypeRef type = LLVMArrayType2(cg->i8, MMA_SCRATCH + MAX_MMA_REGS * 256);
    return shared_slot(cg, SLOT_MATRIX, type, 256, "matrices");
}

static LLVMValueRef spare_register(struct codegen *cg, unsigned n)
{
    return byte_offset(cg, mma_memory(cg), c64(cg, MMA_SCRATCH + (uint64_t)n * 256));
}

bool mma_in_memory(struct codegen *cg, const struct ptx_operand *o, const struct tile *t)
{
    if (o->kind != PTX_OPR_REG)
        return false;
    const struct jreg *r = &cg->k->regs[o->reg];
    return r->uniformity.seg == SEG_NONE && r->type != PTX_PRED &&
           ptx_type_bits((enum ptx_type)r->type) == ptx_type_bits((enum ptx_type)t->reg_type);
}

bool mma_in_place(struct codegen *cg, const struct ptx_operand *o, const struct tile *t)
{
    bool blends = o->kind == PTX_OPR_REG && cg->mask != NULL && cg->waiting != NULL &&
                  bit_get(cg->waiting, o->reg);
    return mma_in_memory(cg, o, t) && !blends;
}

LLVMValueRef mma_source(struct codegen *cg, const struct ptx_operand *o, unsigned n,
                        const struct tile *t)
{
    if (mma_in_memory(cg, o, t))
        return register_pointer(cg, o->reg);
    LLVMValueRef p = spare_register(cg, n);
    LLVMSetAlignment(LLVMBuildStore(cg->alu.b, mma_read(cg, o, t), p), 64);
    return p;
}

LLVMValueRef mma_target(struct codegen *cg, const struct ptx_operand *o, unsigned n,
                        const struct tile *t)
{
    return mma_in_place(cg, o, t) ? register_pointer(cg, o->reg) : spare_register(cg, n);
}

void mma_written(struct codegen *cg, const struct ptx_operand *o, LLVMValueRef at,
                 const struct tile *t)
{
    if (o->kind != PTX_OPR_REG || at == register_pointer(cg, o->reg))
        return;
    LLVMTypeRef held = t->reg_type == PTX_F64 ? cg->v32i64 : cg->v32i32;
    LLVMValueRef v = LLVMBuildLoad2(cg->alu.b, held, at, "");
    LLVMSetAlignment(v, 64);
    mma_write(cg, o, v, t);
}

/* void (ptr scratch, ptr to each register) */
static LLVMValueRef product_function(struct codegen *cg, const struct mma *m, unsigned nparams)
{
    char name[128];
    LLVMTypeRef params[MAX_MMA_REGS + 2];
    for (unsigned n = 0; n < nparams; n++)
        params[n] = cg->ptr;
    snprintf(name, sizeof name, "weir_mma_m%un%uk%u_%s_%s_%s_%s%s%s", m->m, m->n, m->k,
             ptx_type_name((enum ptx_type)m->d), ptx_type_name((enum ptx_type)m->a),
             ptx_type_name((enum ptx_type)m->b), ptx_type_name((enum ptx_type)m->c),
             m->saturate ? "_sat" : "", m->bit_and ? "_and" : "");
    if (m->sparse)
        snprintf(name + strlen(name), sizeof name - strlen(name), "_sp%u", m->selector);
    if (m->rounding != 0)
        snprintf(name + strlen(name), sizeof name - strlen(name), "_%s",
                 ptx_mod_name((enum ptx_mod)m->rounding));
    if (m->quads)
        snprintf(name + strlen(name), sizeof name - strlen(name), "_%s_%s",
                 m->a_column ? "col" : "row", m->b_row ? "row" : "col");
    LLVMValueRef fn =
        module_function(cg, name, params, nparams, m->quads ? mma_quads_body : mma_body, m);
    LLVMAddAttributeAtIndex(fn, LLVMAttributeFunctionIndex,
                            LLVMCreateStringAttribute(cg->alu.ctx, REGISTERS_ONLY,
                                                      (unsigned)strlen(REGISTERS_ONLY), "", 0));
    return fn;
}

struct mma_layout mma_layout_of(const struct mma *m)
{
    struct mma_layout p = {.ta = mma_tile(m->a, false),
                           .tb = mma_tile(m->b, false),
                           .tc = mma_tile(m->c, true),
                           .td = mma_tile(m->d, true),
                           .groups = m->m / 8,
                           .columns = m->n / 8};
    if (m->quads) {
        p.na = p.nb = 2;
        p.nc = m->c == PTX_F16 ? 4 : 8;
        p.nd = m->d == PTX_F16 ? 4 : 8;
        return p;
    }
    p.steps = mma_steps(m, &p.tb);
    p.a_steps = mma_steps(m, &p.ta) / (m->sparse ? 2 : 1);
    p.na = p.groups * p.a_steps;
    p.nb = p.columns * p.steps;
    p.nc = p.groups * p.columns * p.tc.regs;
    p.nd = p.groups * p.columns * p.td.regs;
    return p;
}

/* ---- the instruction ---- */

/* wmma names the types of halves' results only. */
static bool describe(const struct ptx_instr *i, struct mma *m)
{
    *m = (struct mma){0};
    if (!mma_shape(i, m))
        return false;
    m->d = i->types[0];
    m->a = i->ntypes == 2 ? PTX_F16 : i->types[1];
    m->b = i->ntypes == 2 ? PTX_F16 : i->types[2];
    m->c = i->types[i->ntypes - 1];
    m->saturate = ptx_has(i, PTX_M_satfinite);
    m->bit_and = ptx_has(i, PTX_M_and);
    m->rounding = ptx_has(i, PTX_M_rz)   ? PTX_M_rz
                  : ptx_has(i, PTX_M_rm) ? PTX_M_rm
                  : ptx_has(i, PTX_M_rp) ? PTX_M_rp
                                         : 0;
    m->sparse = ptx_has(i, PTX_M_sp) || ptx_has(i, PTX_M_sp__ordered_metadata);
    m->quads = i->op == PTX_OP_mma && m->m == 8 && m->k == 4 && m->a == PTX_F16;
    for (int n = 0, nth = 0; n < i->nmods; n++)
        if (i->mods[n] == PTX_M_row || i->mods[n] == PTX_M_col) {
            if (nth++ == 0)
                m->a_column = i->mods[n] == PTX_M_col;
            else
                m->b_row = i->mods[n] == PTX_M_row;
        }
    if (m->sparse && i->noperands == 6)
        m->selector = (unsigned)i->operands[5].imm;
    return true;
}

enum { MAX_ACC = 8 };

/* Kinds of factors that may be multiplied with each other: 0 none such. */
static unsigned family(unsigned type)
{
    switch (type) {
    case PTX_S8:
    case PTX_U8: return 1;
    case PTX_S4:
    case PTX_U4: return 2;
    case PTX_E4M3:
    case PTX_E5M2: return 3;
    default: return type;
    }
}

/* Do the types of factors and accumulators go together? */
static bool types_fit(const struct mma *m)
{
    if (family(m->a) != family(m->b))
        return false;
    switch (m->a) {
    case PTX_F16:
        return (m->d == PTX_F16 || m->d == PTX_F32) && (m->c == PTX_F16 || m->c == PTX_F32);
    case PTX_E4M3:
    case PTX_E5M2: return m->d == m->c && (m->d == PTX_F16 || m->d == PTX_F32);
    case PTX_BF16:
    case PTX_TF32: return m->d == PTX_F32 && m->c == PTX_F32;
    case PTX_F64: return m->d == PTX_F64 && m->c == PTX_F64;
    default: return m->d == PTX_S32 && m->c == PTX_S32;
    }
}

static bool product_supported(const struct ptx_instr *i, struct diag *d)
{
    struct mma m;
    const char *op = ptx_op_name(i->op);
    if (!describe(i, &m) || i->noperands != (m.sparse ? 6 : 4))
        return diag_set(d, i->line, i->column, "%s of this shape is not supported", op);
    if (m.sparse &&
        (i->operands[5].kind != PTX_OPR_IMM || i->operands[5].imm >= mma_sparse_selectors(&m)))
        return diag_set(d, i->line, i->column, "%s.sp of this shape has no such selector", op);
    bool wmma = i->op == PTX_OP_wmma, halves = wmma && m.a == PTX_F16;
    if (m.saturate && m.d != PTX_S32)
        return diag_set(d, i->line, i->column,
                        "%s.satfinite of floating-point numbers is not "
                        "supported",
                        op);
    struct mma_layout p = mma_layout_of(&m);
    unsigned na = mma_items(&i->operands[1]), nb = mma_items(&i->operands[2]);
    bool fits = m.quads || (p.steps > 0 && p.a_steps * (m.sparse ? 2 : 1) == mma_steps(&m, &p.ta) &&
                            p.steps * mma_row_elements(m.b) ==
                                p.a_steps * (m.sparse ? 2 : 1) * mma_row_elements(m.a) &&
                            2 * p.groups * p.columns <= MAX_ACC && p.groups > 0 && p.columns > 0);
    fits = fits && types_fit(&m) && na == (halves ? 8 : p.na) && nb == (halves ? 8 : p.nb) &&
           mma_items(&i->operands[3]) == p.nc && mma_items(&i->operands[0]) == p.nd;
    if (!fits)
        return diag_set(d, i->line, i->column, "%s of this shape and these types is not supported",
                        op);
    return true;
}

/* Is register n of D also one of A, B or C, other than the same one of C? */
static bool overlaps(const struct ptx_instr *i, unsigned n)
{
    const struct ptx_operand *d = mma_item(&i->operands[0], n);
    for (int o = 1; o <= 3; o++)
        for (unsigned k = 0; k < mma_items(&i->operands[o]); k++) {
            const struct ptx_operand *x = mma_item(&i->operands[o], k);
            if (x->kind == PTX_OPR_REG && x->reg == d->reg && (o != 3 || k != n))
                return true;
        }
    return false;
}

static void emit_product(struct codegen *cg, const struct ptx_instr *i)
{
    struct mma m;
    describe(i, &m);
    struct mma_layout p = mma_layout_of(&m);
    LLVMValueRef args[MAX_MMA_REGS + 2] = {mma_memory(cg)};
    const struct tile *const tiles[3] = {&p.ta, &p.tb, &p.tc};
    const unsigned counts[3] = {p.na, p.nb, p.nc};
    unsigned at = 0;
    for (unsigned o = 0; o < 3; o++)
        for (unsigned n = 0; n < counts[o]; n++, at++)
            args[1 + at] = mma_source(cg, mma_item(&i->operands[o + 1], n), at, tiles[o]);
    unsigned first = 1 + at;
    for (unsigned n = 0; n < p.nd; n++, at++) {
        struct ptx_operand none = {.kind = PTX_OPR_SINK, .reg = -1};
        const struct ptx_operand *d = mma_item(&i->operands[0], n);
        args[1 + at] = mma_target(cg, overlaps(i, n) ? &none : d, at, &p.td);
    }
    unsigned count = 1 + at;
    if (m.sparse) {
        static const struct tile word = {32, 1, 1, 1, PTX_B32};
        args[count++] = mma_source(cg, &i->operands[4], MAX_MMA_REGS - 1, &word);
    }
    LLVMValueRef fn = product_function(cg, &m, count);
    LLVMBuildCall2(cg->alu.b, LLVMGlobalGetValueType(fn), fn, args, count, "");
    for (unsigned n = 0; n < p.nd; n++)
        mma_written(cg, mma_item(&i->operands[0], n), args[first + n], &p.td);
}

bool emit_mma(struct codegen *cg, const struct ptx_instr *i)
{
    if (is_small_mma(i))
        return emit_small_mma(cg, i);
    if (i->op == PTX_OP_wmma && ptx_has(i, PTX_M_load))
        return emit_wmma_load(cg, i);
    if (i->op == PTX_OP_wmma && ptx_has(i, PTX_M_store))
        return emit_wmma_store(cg, i);
    emit_product(cg, i);
    return true;
}

bool mma_supported(const struct ptx_instr *i, struct diag *d)
{
    if (is_small_mma(i))
        return small_mma_supported(i, d);
    if (i->op == PTX_OP_wmma && (ptx_has(i, PTX_M_load) || ptx_has(i, PTX_M_store)))
        return wmma_move_supported(i, d);
    return product_supported(i, d);
}
