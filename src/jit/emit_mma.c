/* emit_mma: matrix multiplication, mma and wmma.mma.
 *
 * The product is computed in the layout of the accumulator. For every step along k each lane needs
 * one element of its row of A, which some lane of its quad holds (a shuffle inside 128 bits), and
 * one of its column of B (four values, the same for every quad); then all 32 lanes multiply and
 * add at once. Products of halves are exact in float; bytes and nibbles go as pairs of 16-bit
 * numbers through the machine's multiply-add of pairs.
 *
 * The code for one shape is a few hundred vector operations, and kernels unroll many of them: each
 * kind is a function of its own, once a module, which gets its registers in memory. */
#include <stdio.h>
#include <string.h>

#include "jit/emit_mma.h"

/* The most registers that A, B, C and D have together (wmma on halves: 8 + 8 + 8 + 8). */
enum { MAX_MMA_REGS = 32 };

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

LLVMValueRef mma_shuffle(struct emit *e, LLVMValueRef a, LLVMValueRef b, const unsigned *idx,
                         unsigned n)
{
    LLVMValueRef c[512];
    for (unsigned l = 0; l < n; l++)
        c[l] = c32(e, idx[l]);
    return LLVMBuildShuffleVector(e->alu.b, a, b ? b : LLVMGetPoison(LLVMTypeOf(a)),
                                  LLVMConstVector(c, n), "");
}

LLVMValueRef mma_read(struct emit *e, const struct ptx_operand *o, const struct tile *t)
{
    LLVMValueRef v = operand_vector(e, o, t->reg_type);
    return LLVMBuildBitCast(e->alu.b, v, t->reg_type == PTX_F64 ? e->v32i64 : e->v32i32, "");
}

void mma_write(struct emit *e, const struct ptx_operand *o, LLVMValueRef v, const struct tile *t)
{
    if (o->kind == PTX_OPR_REG)
        write_vector(e, o->reg, v, t->reg_type == PTX_F64 ? PTX_B64 : PTX_B32);
}

/* ---- halves ---------------------------------------------------------------------------------- */

/* cvt of 32 lanes; v and the result are of alu.h's canonical types. */
static LLVMValueRef convert_(struct emit *e, LLVMValueRef v, unsigned from, unsigned to)
{
    struct ptx_operand operands[2] = {{.kind = PTX_OPR_REG, .reg = -1},
                                      {.kind = PTX_OPR_REG, .reg = -1}};
    struct ptx_instr i = {.op = PTX_OP_cvt,
                          .ntypes = 2,
                          .types = {(uint8_t)to, (uint8_t)from},
                          .noperands = 2,
                          .operands = operands};
    struct alu a = e->alu;
    LLVMValueRef out = NULL;
    a.lanes = JIT_WARP;
    a.mask = NULL;
    if (to == PTX_F16) {
        i.nmods = 1;
        i.mods[0] = PTX_M_rn;
    }
    if (!alu_emit(&a, &i, &v, &out))
        e->failed = true;
    return out;
}

/* The lower halves of <32 x i32> as floats. */
static LLVMValueRef half_to_float_(struct emit *e, LLVMValueRef v)
{
    LLVMTypeRef half = LLVMHalfTypeInContext(e->alu.ctx);
    v = LLVMBuildTrunc(e->alu.b, v, LLVMVectorType(e->i16, JIT_WARP), "");
    v = LLVMBuildBitCast(e->alu.b, v, LLVMVectorType(half, JIT_WARP), "");
    return convert_(e, v, PTX_F16, PTX_F32);
}

/* Floats rounded to halves, in the lower halves of <32 x i32>. */
static LLVMValueRef float_to_half_(struct emit *e, LLVMValueRef v)
{
    v = convert_(e, v, PTX_F32, PTX_F16);
    v = LLVMBuildBitCast(e->alu.b, v, LLVMVectorType(e->i16, JIT_WARP), "");
    return LLVMBuildZExt(e->alu.b, v, e->v32i32, "");
}

/* ---- an element of each lane as a number to multiply ----------------------------------------- */

static LLVMValueRef vec_(struct emit *e, uint32_t v) { return splat(e, c32(e, v), JIT_WARP); }

/* How many numbers a register of a factor gives: integers of at most 8 bits go in pairs. */
static unsigned parts_(const struct emit *e, unsigned type)
{
    switch (type) {
    case PTX_F16:
    case PTX_BF16: return 2;
    case PTX_E4M3:
    case PTX_E5M2: return 4;
    case PTX_S8:
    case PTX_U8: return e->alu.has_avx2 ? 2 : 4;
    case PTX_S4:
    case PTX_U4: return e->alu.has_avx2 ? 4 : 8;
    default: return 1;
    }
}

/* Field `n` of 8 or 4 bits out of every 16 (in pairs) or 32, extended. */
static LLVMValueRef field_(struct emit *e, LLVMValueRef v, unsigned type, unsigned n)
{
    LLVMBuilderRef b = e->alu.b;
    unsigned from = e->alu.has_avx2 ? 16 : 32;
    unsigned bits = type == PTX_S8 || type == PTX_U8 ? 8 : 4;
    LLVMTypeRef elem = LLVMIntTypeInContext(e->alu.ctx, from);
    unsigned lanes = 1024 / from;
    v = LLVMBuildBitCast(b, v, LLVMVectorType(elem, lanes), "");
    LLVMValueRef up = splat(e, LLVMConstInt(elem, from - bits - bits * n, false), lanes);
    LLVMValueRef down = splat(e, LLVMConstInt(elem, from - bits, false), lanes);
    v = LLVMBuildShl(b, v, up, "");
    v = type == PTX_S8 || type == PTX_S4 ? LLVMBuildAShr(b, v, down, "")
                                         : LLVMBuildLShr(b, v, down, "");
    return LLVMBuildBitCast(b, v, e->v32i32, "");
}

/* e5m2 is a half's upper byte; e4m3 has its fraction one place lower, a bias of 7, and no
 * infinities. */
static LLVMValueRef fp8_(struct emit *e, LLVMValueRef v, unsigned type, unsigned n)
{
    LLVMBuilderRef b = e->alu.b;
    v = LLVMBuildAnd(b, LLVMBuildLShr(b, v, vec_(e, 8 * n), ""), vec_(e, 0xff), "");
    if (type == PTX_E5M2)
        return half_to_float_(e, LLVMBuildShl(b, v, vec_(e, 8), ""));
    LLVMValueRef low = LLVMBuildAnd(b, v, vec_(e, 0x7f), "");
    LLVMValueRef sign = LLVMBuildShl(b, LLVMBuildAnd(b, v, vec_(e, 0x80), ""), vec_(e, 8), "");
    LLVMValueRef half = LLVMBuildOr(b, sign, LLVMBuildShl(b, low, vec_(e, 7), ""), "");
    LLVMValueRef f = half_to_float_(e, half);
    LLVMTypeRef vf = LLVMTypeOf(f);
    f = LLVMBuildFMul(b, f, splat(e, LLVMConstReal(e->f32, 256), JIT_WARP), "");
    LLVMValueRef nan = LLVMBuildBitCast(b, vec_(e, 0x7fffffff), vf, "");
    return LLVMBuildSelect(b, LLVMBuildICmp(b, LLVMIntEQ, low, vec_(e, 0x7f), ""), nan, f, "");
}

/* Number `n` that a factor's register holds in each lane. */
static LLVMValueRef part_(struct emit *e, LLVMValueRef v, unsigned type, unsigned n)
{
    LLVMBuilderRef b = e->alu.b;
    LLVMTypeRef vf = LLVMVectorType(e->f32, JIT_WARP);
    switch (type) {
    case PTX_F16:
        if (n != 0)
            v = LLVMBuildLShr(b, v, vec_(e, 16), "");
        return half_to_float_(e, v);
    case PTX_BF16:
        v = n ? LLVMBuildAnd(b, v, vec_(e, 0xffff0000u), "") : LLVMBuildShl(b, v, vec_(e, 16), "");
        return LLVMBuildBitCast(b, v, vf, "");
    case PTX_TF32: /* the lower 13 bits are not looked at */
        return LLVMBuildBitCast(b, LLVMBuildAnd(b, v, vec_(e, 0xffffe000u), ""), vf, "");
    case PTX_F64: return LLVMBuildBitCast(b, v, LLVMVectorType(e->f64, JIT_WARP), "");
    case PTX_E4M3:
    case PTX_E5M2: return fp8_(e, v, type, n);
    case PTX_B1: return v;
    default: return field_(e, v, type, n);
    }
}

/* ---- the product ----------------------------------------------------------------------------- */

/* Pairs of 16-bit numbers multiplied, both products added: <32 x i32>. */
static LLVMValueRef dot_pairs_(struct emit *e, LLVMValueRef x, LLVMValueRef y)
{
    LLVMBuilderRef b = e->alu.b;
    unsigned words = e->alu.has_avx512 ? 16 : 8, idx[JIT_WARP];
    LLVMValueRef part[4];
    LLVMTypeRef halves = LLVMVectorType(e->i16, words * 2);
    for (unsigned h = 0; h < JIT_WARP / words; h++) {
        for (unsigned l = 0; l < words; l++)
            idx[l] = h * words + l;
        LLVMValueRef args[2] = {
            LLVMBuildBitCast(b, mma_shuffle(e, x, NULL, idx, words), halves, ""),
            LLVMBuildBitCast(b, mma_shuffle(e, y, NULL, idx, words), halves, "")};
        part[h] =
            intrinsic(e, words == 16 ? "llvm.x86.avx512.pmaddw.d.512" : "llvm.x86.avx2.pmadd.wd",
                      NULL, 0, args, 2);
    }
    for (unsigned l = 0; l < JIT_WARP; l++)
        idx[l] = l;
    for (unsigned n = JIT_WARP / words; n > 1; n /= 2, words *= 2)
        for (unsigned h = 0; h < n / 2; h++)
            part[h] = mma_shuffle(e, part[2 * h], part[2 * h + 1], idx, words * 2);
    return part[0];
}

static LLVMValueRef accumulate_(struct emit *e, const struct mma *m, LLVMValueRef acc,
                                LLVMValueRef x, LLVMValueRef y)
{
    LLVMBuilderRef b = e->alu.b;
    LLVMTypeRef t = LLVMTypeOf(acc);
    if (LLVMGetTypeKind(LLVMGetElementType(t)) != LLVMIntegerTypeKind) {
        LLVMValueRef args[3] = {x, y, acc};
        return intrinsic(e, "llvm.fma", &t, 1, args, 3);
    }
    LLVMValueRef p;
    if (m->a == PTX_B1) {
        p = m->bit_and ? LLVMBuildAnd(b, x, y, "") : LLVMBuildXor(b, x, y, "");
        p = intrinsic(e, "llvm.ctpop", &t, 1, &p, 1);
    } else {
        p = e->alu.has_avx2 ? dot_pairs_(e, x, y) : LLVMBuildMul(b, x, y, "");
    }
    return LLVMBuildAdd(b, acc, p, "");
}

/* The element of A's row that lane t of every quad holds, for the whole quad. */
static LLVMValueRef from_quad_(struct emit *e, LLVMValueRef v, unsigned t)
{
    unsigned idx[JIT_WARP];
    for (unsigned l = 0; l < JIT_WARP; l++)
        idx[l] = (l & ~3u) + t;
    return mma_shuffle(e, v, NULL, idx, JIT_WARP);
}

/* For each lane the element of B for its accumulator's column 2 (l % 4) + p. */
static LLVMValueRef from_column_(struct emit *e, LLVMValueRef v, unsigned t, unsigned p)
{
    unsigned idx[JIT_WARP];
    for (unsigned l = 0; l < 16; l++)
        idx[l] = (2 * (l & 3) + p) * 4 + t;
    v = mma_shuffle(e, v, NULL, idx, 16);
    for (unsigned l = 0; l < JIT_WARP; l++)
        idx[l] = l & 15;
    return mma_shuffle(e, v, NULL, idx, JIT_WARP);
}

/* Registers in the memory that the function gets. */
struct file {
    LLVMValueRef base;
    unsigned bytes; /* of a register */
    LLVMTypeRef type;
};

static LLVMValueRef file_at_(struct emit *e, const struct file *f, unsigned n)
{
    return byte_offset(e, f->base, c64(e, (uint64_t)n * f->bytes));
}

static LLVMValueRef file_load_(struct emit *e, const struct file *f, unsigned n)
{
    return LLVMBuildLoad2(e->alu.b, f->type, file_at_(e, f, n), "");
}

/* Where the operands start in the file. */
struct plan {
    struct tile ta, tb, tc, td;
    unsigned groups, columns; /* of eight rows of A, of eight columns of B */
    unsigned steps;           /* tiles along k */
    unsigned na, nb, nc, nd;  /* registers of each, without repetitions */
};

static struct plan plan_(const struct mma *m)
{
    struct plan p = {.ta = mma_tile(m->a, false),
                     .tb = mma_tile(m->b, false),
                     .tc = mma_tile(m->c, true),
                     .td = mma_tile(m->d, true),
                     .groups = m->m / 8,
                     .columns = m->n / 8};
    p.steps = mma_steps(m, &p.ta);
    p.na = p.groups * p.steps;
    p.nb = p.columns * p.steps;
    p.nc = p.groups * p.columns * p.tc.regs;
    p.nd = p.groups * p.columns * p.td.regs;
    return p;
}

enum { MAX_ACC = 8 };

/* The accumulators of C as numbers: two a tile. */
static void load_acc_(struct emit *e, const struct mma *m, const struct plan *p,
                      const struct file *f, LLVMValueRef acc[MAX_ACC])
{
    LLVMTypeRef t = m->d == PTX_F64   ? LLVMVectorType(e->f64, JIT_WARP)
                    : m->d == PTX_S32 ? e->v32i32
                                      : LLVMVectorType(e->f32, JIT_WARP);
    for (unsigned q = 0; q < 2 * p->groups * p->columns; q++) {
        if (m->d == PTX_S32) /* sums first, C at the end: that is where it may saturate */
            acc[q] = LLVMConstNull(t);
        else if (m->c == PTX_F16)
            acc[q] = part_(e, file_load_(e, f, p->na + p->nb + q / 2), PTX_F16, q & 1);
        else
            acc[q] = LLVMBuildBitCast(e->alu.b, file_load_(e, f, p->na + p->nb + q), t, "");
    }
}

static void store_acc_(struct emit *e, const struct mma *m, const struct plan *p,
                       const struct file *f, LLVMValueRef acc[MAX_ACC])
{
    LLVMBuilderRef b = e->alu.b;
    unsigned c = p->na + p->nb, d = c + p->nc;
    for (unsigned q = 0; q < 2 * p->groups * p->columns; q++) {
        LLVMValueRef v = acc[q];
        if (m->d == PTX_F16) {
            LLVMValueRef h = float_to_half_(e, v);
            if ((q & 1) == 0) {
                acc[q] = h;
                continue;
            }
            v = LLVMBuildOr(b, acc[q - 1], LLVMBuildShl(b, h, vec_(e, 16), ""), "");
            LLVMBuildStore(b, v, file_at_(e, f, d + q / 2));
            continue;
        }
        if (m->d == PTX_S32) {
            LLVMValueRef args[2] = {file_load_(e, f, c + q), v};
            v = m->saturate ? intrinsic(e, "llvm.sadd.sat", &e->v32i32, 1, args, 2)
                            : LLVMBuildAdd(b, args[0], v, "");
        }
        LLVMBuildStore(b, v, file_at_(e, f, d + q));
    }
}

static void product_(struct emit *e, const struct mma *m, const struct file *f)
{
    struct plan p = plan_(m);
    LLVMValueRef acc[2 * MAX_ACC], x[4], y[4];
    load_acc_(e, m, &p, f, acc);
    unsigned parts = parts_(e, m->a);
    for (unsigned step = 0; step < p.steps; step++)
        for (unsigned s = 0; s < parts; s++) {
            for (unsigned g = 0; g < p.groups; g++)
                x[g] = part_(e, file_load_(e, f, mma_a_index(m, p.steps, g, step)), m->a, s);
            for (unsigned c = 0; c < p.columns; c++)
                y[c] = part_(e, file_load_(e, f, p.na + c * p.steps + step), m->b, s);
            for (unsigned t = 0; t < 4; t++) {
                LLVMValueRef row[4];
                for (unsigned g = 0; g < p.groups; g++)
                    row[g] = from_quad_(e, x[g], t);
                for (unsigned c = 0; c < p.columns; c++)
                    for (unsigned half = 0; half < 2; half++) {
                        LLVMValueRef column = from_column_(e, y[c], t, half);
                        for (unsigned g = 0; g < p.groups; g++) {
                            unsigned q = 2 * (c * p.groups + g) + half;
                            acc[q] = accumulate_(e, m, acc[q], row[g], column);
                        }
                    }
            }
        }
    store_acc_(e, m, &p, f, acc);
}

/* ---- the function ---------------------------------------------------------------------------- */

static void attribute_(struct emit *e, LLVMValueRef fn, const char *key, const char *value)
{
    LLVMAddAttributeAtIndex(fn, LLVMAttributeFunctionIndex,
                            LLVMCreateStringAttribute(e->alu.ctx, key, (unsigned)strlen(key), value,
                                                      (unsigned)strlen(value)));
}

LLVMValueRef mma_function(struct emit *e, const char *name, LLVMTypeRef *params, unsigned nparams,
                          void (*body)(struct emit *e, LLVMValueRef fn, const void *arg),
                          const void *arg)
{
    LLVMValueRef fn = LLVMGetNamedFunction(e->alu.module, name);
    if (fn != NULL)
        return fn;
    LLVMBuilderRef b = e->alu.b;
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(e->alu.ctx), params, nparams, false);
    fn = LLVMAddFunction(e->alu.module, name, type);
    LLVMSetLinkage(fn, LLVMInternalLinkage);
    attribute_(e, fn, "prefer-vector-width", "512");
    attribute_(e, fn, "min-legal-vector-width", "512");
    const char *const flags[] = {"noinline", "nounwind"};
    for (unsigned n = 0; n < 2; n++) {
        unsigned kind = LLVMGetEnumAttributeKindForName(flags[n], strlen(flags[n]));
        LLVMAddAttributeAtIndex(fn, LLVMAttributeFunctionIndex,
                                LLVMCreateEnumAttribute(e->alu.ctx, kind, 0));
    }
    LLVMBasicBlockRef back = LLVMGetInsertBlock(b);
    LLVMMetadataRef line = LLVMGetCurrentDebugLocation2(b);
    LLVMSetCurrentDebugLocation2(b, NULL);
    LLVMPositionBuilderAtEnd(b, LLVMAppendBasicBlockInContext(e->alu.ctx, fn, "entry"));
    body(e, fn, arg);
    LLVMBuildRetVoid(b);
    LLVMPositionBuilderAtEnd(b, back);
    LLVMSetCurrentDebugLocation2(b, line);
    return fn;
}

LLVMValueRef mma_file(struct emit *e)
{
    if (e->mma_file == NULL) {
        e->mma_file = new_slot(e, LLVMArrayType2(e->v32i32, MAX_MMA_REGS + 8), "matrices");
        LLVMSetAlignment(e->mma_file, 128);
    }
    return e->mma_file;
}

static struct file file_(struct emit *e, const struct mma *m, LLVMValueRef base)
{
    bool wide = m->d == PTX_F64;
    return (struct file){base, wide ? 256 : 128, wide ? e->v32i64 : e->v32i32};
}

static void product_body_(struct emit *e, LLVMValueRef fn, const void *arg)
{
    const struct mma *m = arg;
    struct file f = file_(e, m, LLVMGetParam(fn, 0));
    product_(e, m, &f);
}

/* void (ptr registers) */
static LLVMValueRef product_function_(struct emit *e, const struct mma *m)
{
    char name[96];
    snprintf(name, sizeof name, "weir_mma_m%un%uk%u_%s_%s_%s_%s%s%s", m->m, m->n, m->k,
             ptx_type_name((enum ptx_type)m->d), ptx_type_name((enum ptx_type)m->a),
             ptx_type_name((enum ptx_type)m->b), ptx_type_name((enum ptx_type)m->c),
             m->saturate ? "_sat" : "", m->bit_and ? "_and" : "");
    return mma_function(e, name, &e->ptr, 1, product_body_, m);
}

/* ---- the instruction ------------------------------------------------------------------------- */

/* wmma names the types of halves' results only. */
static bool describe_(const struct ptx_instr *i, struct mma *m)
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
    return true;
}

static bool product_supported_(const struct ptx_instr *i, struct diag *d)
{
    struct mma m;
    const char *op = ptx_op_name(i->op);
    if (ptx_has(i, PTX_M_sp) || ptx_has(i, PTX_M_sp__ordered_metadata))
        return diag_set(d, i->line, i->column, "%s.sp is not supported", op);
    if (!describe_(i, &m) || i->noperands != 4)
        return diag_set(d, i->line, i->column, "%s of this shape is not supported", op);
    bool wmma = i->op == PTX_OP_wmma, halves = wmma && m.a == PTX_F16;
    if (!wmma && m.m == 8 && m.k == 4 && m.a == PTX_F16)
        return diag_set(d, i->line, i->column, "mma.m8n8k4 of f16 is not supported");
    if (m.saturate && m.d != PTX_S32)
        return diag_set(d, i->line, i->column,
                        "%s.satfinite of floating-point numbers is not "
                        "supported",
                        op);
    if (ptx_has(i, PTX_M_rz) || ptx_has(i, PTX_M_rm) || ptx_has(i, PTX_M_rp))
        return diag_set(d, i->line, i->column, "%s with a rounding mode is not supported", op);
    struct plan p = plan_(&m);
    unsigned na = mma_items(&i->operands[1]), nb = mma_items(&i->operands[2]);
    bool fits = p.steps > 0 && p.steps == mma_steps(&m, &p.tb) &&
                2 * p.groups * p.columns <= MAX_ACC && p.groups > 0 && p.columns > 0 &&
                na == (halves ? 8 : p.na) && nb == (halves ? 8 : p.nb) &&
                mma_items(&i->operands[3]) == p.nc && mma_items(&i->operands[0]) == p.nd;
    if (!fits)
        return diag_set(d, i->line, i->column, "%s of this shape and these types is not supported",
                        op);
    return true;
}

static void emit_product_(struct emit *e, const struct ptx_instr *i)
{
    struct mma m;
    describe_(i, &m);
    struct plan p = plan_(&m);
    LLVMValueRef fn = product_function_(e, &m);
    struct file f = file_(e, &m, mma_file(e));
    unsigned at = 0;
    const struct tile *const tiles[3] = {&p.ta, &p.tb, &p.tc};
    const unsigned counts[3] = {p.na, p.nb, p.nc};
    for (unsigned o = 0; o < 3; o++)
        for (unsigned n = 0; n < counts[o]; n++)
            LLVMBuildStore(e->alu.b, mma_read(e, mma_item(&i->operands[o + 1], n), tiles[o]),
                           file_at_(e, &f, at++));
    LLVMBuildCall2(e->alu.b, LLVMGlobalGetValueType(fn), fn, &f.base, 1, "");
    for (unsigned n = 0; n < p.nd; n++)
        mma_write(e, mma_item(&i->operands[0], n), file_load_(e, &f, at + n), &p.td);
}

bool emit_mma(struct emit *e, const struct ptx_instr *i)
{
    if (i->op == PTX_OP_wmma && ptx_has(i, PTX_M_load))
        return emit_wmma_load(e, i);
    if (i->op == PTX_OP_wmma && ptx_has(i, PTX_M_store))
        return emit_wmma_store(e, i);
    emit_product_(e, i);
    return true;
}

bool mma_supported(const struct ptx_instr *i, struct diag *d)
{
    if (i->op == PTX_OP_wmma && (ptx_has(i, PTX_M_load) || ptx_has(i, PTX_M_store)))
        return wmma_move_supported(i, d);
    return product_supported_(i, d);
}
