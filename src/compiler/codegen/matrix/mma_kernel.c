/* mma_kernel.c: the function for a kind of matrix multiplication, D = A B + C.
 *
 * Its registers are passed by pointers, which keeps them in memory: the compile time of a kernel
 * that unrolls thousands of products then grows with their number only. A fragment's register, 32
 * lanes in memory, is eight rows of four lanes side by side, and each row has the elements of a row
 * of the matrix (of the right factor: a column) in order. So the factors are first widened to
 * numbers that the machine multiplies: A row by row, B transposed so that all eight columns of one
 * k are a vector; with registers of 512 bits, those of two tiles side by side. Then eight rows of
 * the accumulator, or sixteen, stay in registers, a vector each, over all of k: every step
 * broadcasts one number of A and multiplies it with a vector of B.
 *
 * Integers of at most 8 bits are multiplied in pairs of 16-bit numbers by the machine's
 * multiply-add of pairs, single bits by words. The columns of an accumulator of 32 or 64 bits are
 * in the order 0 2 4 6 1 3 5 7, as its two registers have them. */
#include <stdio.h>

#include "compiler/codegen/matrix/mma.h"
#include "compiler/codegen/values.h"

/* Elements that a row of a factor's register (four lanes) holds, as they are multiplied. */
unsigned mma_row_elements(unsigned type)
{
    switch (type) {
    case PTX_F16:
    case PTX_BF16: return 8;
    case PTX_S8:
    case PTX_U8: return 8; /* pairs */
    case PTX_S4:
    case PTX_U4: return 16; /* pairs */
    case PTX_E4M3:
    case PTX_E5M2: return 16;
    default: return 4;
    }
}

LLVMTypeRef mma_element(struct codegen *cg, unsigned type)
{
    switch (type) {
    case PTX_F64: return cg->f64;
    case PTX_S8:
    case PTX_U8:
    case PTX_S4:
    case PTX_U4:
    case PTX_B1: return cg->i32;
    default: return cg->f32;
    }
}

static LLVMValueRef load_vector(struct codegen *cg, LLVMTypeRef elem, unsigned n, LLVMValueRef p)
{
    LLVMValueRef v = LLVMBuildLoad2(cg->alu.b, n > 1 ? LLVMVectorType(elem, n) : elem, p, "");
    LLVMSetAlignment(v, LLVMGetTypeKind(elem) == LLVMDoubleTypeKind ? 8 : n > 1 ? 16 : 4);
    return v;
}

static void store_vector(struct codegen *cg, LLVMValueRef v, LLVMValueRef p)
{
    LLVMSetAlignment(LLVMBuildStore(cg->alu.b, v, p), 16);
}

static LLVMValueRef offset_pointer(struct codegen *cg, LLVMValueRef p, unsigned bytes)
{
    return byte_offset(cg, p, c64(cg, bytes));
}

/* ---- rows of a factor as numbers ---- */

static LLVMValueRef constant(LLVMTypeRef elem, uint64_t v, unsigned n)
{
    LLVMValueRef c[32];
    for (unsigned l = 0; l < n; l++)
        c[l] = LLVMConstInt(elem, v, false);
    return LLVMConstVector(c, n);
}

/* Sixteen bytes of e4m3: a half's fraction one bit lower, a bias of 7, no infinities. */
static LLVMValueRef e4m3(struct codegen *cg, LLVMValueRef bytes)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMTypeRef v16 = LLVMVectorType(cg->i16, 16);
    LLVMValueRef w = LLVMBuildZExt(b, bytes, v16, "");
    LLVMValueRef low = LLVMBuildAnd(b, w, constant(cg->i16, 0x7f, 16), "");
    LLVMValueRef sign = LLVMBuildAnd(b, w, constant(cg->i16, 0x80, 16), "");
    sign = LLVMBuildShl(b, sign, constant(cg->i16, 8, 16), "");
    LLVMValueRef half =
        LLVMBuildOr(b, sign, LLVMBuildShl(b, low, constant(cg->i16, 7, 16), ""), "");
    LLVMValueRef f = alu_f16_to_f32(&cg->alu, half);
    f = LLVMBuildFMul(b, f, splat(cg, LLVMConstReal(cg->f32, 256), 16), "");
    LLVMValueRef is_nan = LLVMBuildICmp(b, LLVMIntEQ, low, constant(cg->i16, 0x7f, 16), "");
    LLVMValueRef nan = LLVMConstBitCast(constant(cg->i32, 0x7fffffff, 16), LLVMTypeOf(f));
    return LLVMBuildSelect(b, is_nan, nan, f, "");
}

/* Sixteen bytes of nibbles as 32 numbers of 16 bits. */
static LLVMValueRef nibbles(struct codegen *cg, LLVMValueRef bytes, bool is_signed)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef part[2] = {LLVMBuildAnd(b, bytes, constant(cg->i8, 15, 16), ""),
                            LLVMBuildLShr(b, bytes, constant(cg->i8, 4, 16), "")};
    unsigned idx[32];
    for (unsigned n = 0; n < 2 && is_signed; n++) {
        part[n] = LLVMBuildXor(b, part[n], constant(cg->i8, 8, 16), "");
        part[n] = LLVMBuildSub(b, part[n], constant(cg->i8, 8, 16), "");
    }
    for (unsigned l = 0; l < 32; l++)
        idx[l] = (l & 1) * 16 + l / 2;
    LLVMValueRef v = shuffle(cg, part[0], part[1], idx, 32);
    LLVMTypeRef wide = LLVMVectorType(cg->i16, 32);
    return is_signed ? LLVMBuildSExt(b, v, wide, "") : LLVMBuildZExt(b, v, wide, "");
}

LLVMValueRef mma_row(struct codegen *cg, unsigned type, LLVMValueRef p)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef v;
    switch (type) {
    case PTX_F64: return load_vector(cg, cg->f64, 4, p);
    case PTX_F16: return alu_f16_to_f32(&cg->alu, load_vector(cg, cg->i16, 8, p));
    case PTX_BF16: return alu_bf16_to_f32(&cg->alu, load_vector(cg, cg->i16, 8, p));
    case PTX_TF32: /* the lower 13 bits are ignored */
        v = LLVMBuildAnd(b, load_vector(cg, cg->i32, 4, p), constant(cg->i32, 0xffffe000u, 4), "");
        return LLVMBuildBitCast(b, v, LLVMVectorType(cg->f32, 4), "");
    case PTX_S8:
    case PTX_U8: {
        LLVMTypeRef wide = LLVMVectorType(cg->i16, 16);
        v = load_vector(cg, cg->i8, 16, p);
        v = type == PTX_S8 ? LLVMBuildSExt(b, v, wide, "") : LLVMBuildZExt(b, v, wide, "");
        return LLVMBuildBitCast(b, v, LLVMVectorType(cg->i32, 8), "");
    }
    case PTX_S4:
    case PTX_U4:
        v = nibbles(cg, load_vector(cg, cg->i8, 16, p), type == PTX_S4);
        return LLVMBuildBitCast(b, v, LLVMVectorType(cg->i32, 16), "");
    case PTX_E4M3: return e4m3(cg, load_vector(cg, cg->i8, 16, p));
    case PTX_E5M2: /* a half's upper byte */
        v = LLVMBuildZExt(b, load_vector(cg, cg->i8, 16, p), LLVMVectorType(cg->i16, 16), "");
        return alu_f16_to_f32(&cg->alu, LLVMBuildShl(b, v, constant(cg->i16, 8, 16), ""));
    default: return load_vector(cg, cg->i32, 4, p); /* b1 */
    }
}

/* ---- turning B around ---- */

/* Shuffles of two vectors with the same pattern of four in every four lanes; picks of 4 and more
 * are from the second. */
static LLVMValueRef each_four(struct codegen *cg, LLVMValueRef x, LLVMValueRef y,
                              const unsigned *pick)
{
    unsigned n = LLVMGetVectorSize(LLVMTypeOf(x)), idx[16];
    for (unsigned l = 0; l < n; l++) {
        unsigned p = pick[l & 3];
        idx[l] = (l & ~3u) + (p & 3) + (p >= 4 ? n : 0);
    }
    return shuffle(cg, x, y, idx, n);
}

/* 4x4 in every four lanes of four vectors. */
static void transpose_fours(struct codegen *cg, LLVMValueRef *v)
{
    static const unsigned low[4] = {0, 4, 1, 5}, high[4] = {2, 6, 3, 7};
    static const unsigned front[4] = {0, 1, 4, 5}, back[4] = {2, 3, 6, 7};
    LLVMValueRef a = each_four(cg, v[0], v[1], low), b = each_four(cg, v[0], v[1], high);
    LLVMValueRef c = each_four(cg, v[2], v[3], low), d = each_four(cg, v[2], v[3], high);
    v[0] = each_four(cg, a, c, front);
    v[1] = each_four(cg, a, c, back);
    v[2] = each_four(cg, b, d, front);
    v[3] = each_four(cg, b, d, back);
}

static LLVMValueRef subvector(struct codegen *cg, LLVMValueRef v, unsigned first, unsigned n)
{
    unsigned idx[16];
    for (unsigned l = 0; l < n; l++)
        idx[l] = first + l;
    return shuffle(cg, v, NULL, idx, n);
}

static LLVMValueRef join(struct codegen *cg, LLVMValueRef x, LLVMValueRef y)
{
    unsigned n = LLVMGetVectorSize(LLVMTypeOf(x)), idx[16];
    for (unsigned l = 0; l < 2 * n; l++)
        idx[l] = l;
    return shuffle(cg, x, y, idx, 2 * n);
}

/* row[n]: the w elements along k of column n; out[k]: the eight columns' elements. */
static void transpose(struct codegen *cg, LLVMValueRef *row, unsigned w, LLVMValueRef *out)
{
    for (unsigned k = 0; k < w; k += 4) {
        LLVMValueRef v[4];
        for (unsigned n = 0; n < 4; n++) /* columns n and n + 4 side by side */
            v[n] = w == 4 ? join(cg, row[n], row[n + 4])
                          : join(cg, subvector(cg, row[n], k, 4), subvector(cg, row[n + 4], k, 4));
        transpose_fours(cg, v);
        for (unsigned n = 0; n < 4; n++)
            out[k + n] = v[n];
    }
}

/* Of vectors of 16-bit elements, units of `unit` of them: the lower or the upper half of x's and
 * y's by turns, in every eight elements. */
static LLVMValueRef unpack(struct codegen *cg, LLVMValueRef x, LLVMValueRef y, unsigned unit,
                           bool upper)
{
    unsigned n = LLVMGetVectorSize(LLVMTypeOf(x)), idx[16];
    for (unsigned l = 0; l < n; l++) {
        unsigned u = l % 8 / unit, from = u / 2 + (upper ? 4 / unit : 0);
        idx[l] = l / 8 * 8 + from * unit + l % unit + (u % 2 ? n : 0);
    }
    return shuffle(cg, x, y, idx, n);
}

/* 8x8 in every eight 16-bit elements of eight vectors: at each step vectors at a distance of `unit`
 * are joined, and the two that this makes are neighbours. */
static void transpose_eights(struct codegen *cg, LLVMValueRef *v)
{
    for (unsigned unit = 1; unit < 8; unit *= 2) {
        LLVMValueRef from[8];
        for (unsigned n = 0; n < 8; n++)
            from[n] = v[n];
        for (unsigned n = 0; n < 8; n++) {
            unsigned low = n / 2 % unit, first = n / (2 * unit) * 2 * unit + low;
            v[n] = unpack(cg, from[first], from[first + unit], unit, n % 2);
        }
    }
}

/* ---- the product ---- */

enum { MAX_ACCUMULATORS = 16 };

/* What the function works with. */
struct mma_kernel {
    struct codegen *cg;
    const struct mma *m;
    struct mma_layout p;
    unsigned steps_k; /* elements along k, in all */
    unsigned width;   /* columns in a vector: 4, 8 or 16 */
    unsigned tiles;   /* ... of so many tiles side by side */
    bool wide;        /* registers have 512 bits */
    unsigned bytes;   /* of an element */
    LLVMTypeRef elem;
    LLVMValueRef a_buffer, b_buffer; /* A by rows, B by k */
    LLVMValueRef *a, *b, *c, *d;     /* pointers to registers */
};

/* Column of the accumulator at index i of its vectors. */
static unsigned accumulator_column(const struct mma *m, unsigned i)
{
    return m->d == PTX_F16 ? i : i < 4 ? 2 * i : 2 * (i - 4) + 1;
}

static bool is_half(unsigned type) { return type == PTX_F16 || type == PTX_BF16; }

static LLVMValueRef widen_halves(struct codegen *cg, unsigned type, LLVMValueRef v)
{
    return type == PTX_F16 ? alu_f16_to_f32(&cg->alu, v) : alu_bf16_to_f32(&cg->alu, v);
}

/* Where A's element of a row and a k is in the buffer. A sparse one lies by rows, others as their
 * registers do: the elements of eight rows that a register has, row by row. */
static LLVMValueRef a_pointer(struct mma_kernel *x, unsigned row, unsigned k)
{
    unsigned w = mma_row_elements(x->m->a);
    unsigned at = x->m->sparse ? row * x->steps_k + k
                               : (row / 8 * x->p.steps + k / w) * 8 * w + row % 8 * w + k % w;
    return offset_pointer(x->cg, x->a_buffer, at * x->bytes);
}

static void widen_a(struct mma_kernel *x)
{
    struct codegen *cg = x->cg;
    unsigned type = x->m->a, w = mma_row_elements(type), at_once = x->wide && is_half(type) ? 2 : 1;
    for (unsigned g = 0; g < x->p.groups; g++)
        for (unsigned s = 0; s < x->p.steps; s++)
            for (unsigned r = 0; r < 8; r += at_once) {
                unsigned reg = mma_a_index(x->m, x->p.steps, g, s);
                LLVMValueRef p = offset_pointer(cg, x->a[reg], r * (type == PTX_F64 ? 32 : 16));
                LLVMValueRef v = at_once == 1
                                     ? mma_row(cg, type, p)
                                     : widen_halves(cg, type, load_vector(cg, cg->i16, 2 * w, p));
                store_vector(cg, v, a_pointer(x, 8 * g + r, s * w));
            }
}

/* B's registers of column group c and step s. */
static LLVMValueRef b_row(struct mma_kernel *x, unsigned c, unsigned s, unsigned n)
{
    return offset_pointer(x->cg, x->b[c * x->p.steps + s],
                          accumulator_column(x->m, n) * (x->m->b == PTX_F64 ? 32 : 16));
}

static LLVMValueRef b_pointer(struct mma_kernel *x, unsigned c, unsigned k)
{
    unsigned line = c / x->tiles * x->steps_k + k;
    return offset_pointer(x->cg, x->b_buffer, (line * x->tiles + c % x->tiles) * 8 * x->bytes);
}

/* Numbers of 16 bits are turned around before they are widened. */
static void widen_b_halves(struct mma_kernel *x)
{
    struct codegen *cg = x->cg;
    for (unsigned c = 0; c < x->p.columns; c += x->tiles)
        for (unsigned s = 0; s < x->p.steps; s++) {
            LLVMValueRef v[8];
            for (unsigned n = 0; n < 8; n++) {
                v[n] = load_vector(cg, cg->i16, 8, b_row(x, c, s, n));
                if (x->tiles == 2)
                    v[n] = join(cg, v[n], load_vector(cg, cg->i16, 8, b_row(x, c + 1, s, n)));
            }
            transpose_eights(cg, v);
            for (unsigned k = 0; k < 8; k++)
                store_vector(cg, widen_halves(cg, x->m->b, v[k]), b_pointer(x, c, s * 8 + k));
        }
}

static void widen_b(struct mma_kernel *x)
{
    struct codegen *cg = x->cg;
    unsigned w = mma_row_elements(x->m->b);
    LLVMValueRef row[8], out[16];
    for (unsigned c = 0; c < x->p.columns; c++)
        for (unsigned s = 0; s < x->p.steps; s++) {
            for (unsigned n = 0; n < 8; n++)
                row[n] = mma_row(cg, x->m->b, b_row(x, c, s, n));
            transpose(cg, row, w, out);
            for (unsigned k = 0; k < w; k++)
                store_vector(cg, out[k], b_pointer(x, c, s * w + k));
        }
}

/* Pairs of 16-bit numbers multiplied, both products added. */
static LLVMValueRef dot_pairs(struct codegen *cg, LLVMValueRef x, LLVMValueRef y)
{
    LLVMBuilderRef b = cg->alu.b;
    unsigned n = LLVMGetVectorSize(LLVMTypeOf(x));
    LLVMTypeRef halves = LLVMVectorType(cg->i16, 2 * n);
    LLVMValueRef args[2] = {LLVMBuildBitCast(b, x, halves, ""), LLVMBuildBitCast(b, y, halves, "")};
    if (n == 16)
        return intrinsic(cg, "llvm.x86.avx512.pmaddw.d.512", NULL, 0, args, 2);
    if (cg->alu.has_avx2)
        return intrinsic(cg, "llvm.x86.avx2.pmadd.wd", NULL, 0, args, 2);
    LLVMValueRef half = constant(cg->i32, 16, 8), sum = NULL;
    for (unsigned h = 0; h < 2; h++) {
        LLVMValueRef p = h ? x : LLVMBuildShl(b, x, half, ""),
                     q = h ? y : LLVMBuildShl(b, y, half, "");
        p = LLVMBuildMul(b, LLVMBuildAShr(b, p, half, ""), LLVMBuildAShr(b, q, half, ""), "");
        sum = h ? LLVMBuildAdd(b, sum, p, "") : p;
    }
    return sum;
}

/* A function for a vector of fused multiply-adds in another rounding than to nearest: where the
 * machine has no instruction for that, they are calls with memory for arguments, of which there
 * would be as many as there are products. */
static LLVMValueRef fma_rounded(struct mma_kernel *x, const LLVMValueRef args[3])
{
    struct codegen *cg = x->cg;
    const unsigned m = x->m->rounding;
    LLVMTypeRef v = LLVMTypeOf(args[0]), params[3] = {v, v, v};
    LLVMTypeRef type = LLVMFunctionType(v, params, 3, false);
    char name[32];
    snprintf(name, sizeof name, "weir_fma_%s_%u", ptx_mod_name((enum ptx_mod)m), x->width);
    LLVMValueRef fn = LLVMGetNamedFunction(cg->alu.module, name);
    if (fn == NULL) {
        LLVMBasicBlockRef back = LLVMGetInsertBlock(cg->alu.b);
        LLVMValueRef mask = cg->alu.mask, s[3];
        fn = LLVMAddFunction(cg->alu.module, name, type);
        LLVMSetLinkage(fn, LLVMInternalLinkage);
        unsigned kind = LLVMGetEnumAttributeKindForName("noinline", 8);
        LLVMAddAttributeAtIndex(fn, LLVMAttributeFunctionIndex,
                                LLVMCreateEnumAttribute(cg->alu.ctx, kind, 0));
        LLVMPositionBuilderAtEnd(cg->alu.b, LLVMAppendBasicBlockInContext(cg->alu.ctx, fn, ""));
        for (unsigned n = 0; n < 3; n++)
            s[n] = LLVMGetParam(fn, n);
        cg->alu.mask = NULL; /* all of them */
        LLVMBuildRet(cg->alu.b, alu_fma_rounded(&cg->alu, s, (enum ptx_mod)m));
        cg->alu.mask = mask;
        LLVMPositionBuilderAtEnd(cg->alu.b, back);
    }
    return LLVMBuildCall2(cg->alu.b, type, fn, (LLVMValueRef *)args, 3, "");
}

static LLVMValueRef accumulate(struct mma_kernel *x, LLVMValueRef acc, LLVMValueRef a,
                               LLVMValueRef b)
{
    struct codegen *cg = x->cg;
    LLVMTypeRef t = LLVMTypeOf(acc);
    if (x->elem != cg->i32) {
        LLVMValueRef args[3] = {a, b, acc};
        if (x->m->rounding != 0)
            return fma_rounded(x, args);
        return intrinsic(cg, "llvm.fma", &t, 1, args, 3);
    }
    LLVMValueRef p;
    if (x->m->a == PTX_B1) {
        p = x->m->bit_and ? LLVMBuildAnd(cg->alu.b, a, b, "") : LLVMBuildXor(cg->alu.b, a, b, "");
        p = intrinsic(cg, "llvm.ctpop", &t, 1, &p, 1);
    } else {
        p = dot_pairs(cg, a, b);
    }
    return LLVMBuildAdd(cg->alu.b, acc, p, "");
}

/* Row r of a tile of C. The tile's first register is `reg`. */
static LLVMValueRef load_row(struct mma_kernel *x, unsigned tile, unsigned r)
{
    static const unsigned to_pairs[8] = {0, 2, 4, 6, 1, 3, 5, 7};
    static const unsigned to_order[8] = {0, 4, 1, 5, 2, 6, 3, 7};
    struct codegen *cg = x->cg;
    if (x->m->c == PTX_F16) {
        LLVMValueRef v = alu_f16_to_f32(
            &cg->alu, load_vector(cg, cg->i16, 8, offset_pointer(cg, x->c[tile], 16 * r)));
        return x->m->d == PTX_F16 ? v : shuffle(cg, v, NULL, to_pairs, 8);
    }
    LLVMTypeRef t = x->m->c == PTX_F64 ? cg->f64 : x->m->c == PTX_S32 ? cg->i32 : cg->f32;
    unsigned at = r * 4 * x->bytes;
    LLVMValueRef v = join(cg, load_vector(cg, t, 4, offset_pointer(cg, x->c[2 * tile], at)),
                          load_vector(cg, t, 4, offset_pointer(cg, x->c[2 * tile + 1], at)));
    return x->m->d == PTX_F16 ? shuffle(cg, v, NULL, to_order, 8) : v;
}

/* Row r of C in row group g, the vector from column `column` on. */
static LLVMValueRef load_c(struct mma_kernel *x, unsigned g, unsigned r, unsigned column)
{
    unsigned tile = column / 8 * x->p.groups + g;
    if (x->width < 8)
        return load_vector(
            x->cg, x->elem, x->width,
            offset_pointer(x->cg, x->c[2 * tile + column % 8 / x->width], r * x->width * x->bytes));
    LLVMValueRef v = load_row(x, tile, r);
    return x->tiles == 1 ? v : join(x->cg, v, load_row(x, tile + x->p.groups, r));
}

static void store_row(struct mma_kernel *x, unsigned tile, unsigned r, LLVMValueRef v)
{
    struct codegen *cg = x->cg;
    if (x->m->d == PTX_F16) {
        store_vector(cg, alu_f32_to_f16_nearest(&cg->alu, v),
                     offset_pointer(cg, x->d[tile], 16 * r));
        return;
    }
    for (unsigned h = 0; h < 2; h++)
        store_vector(cg, subvector(cg, v, 4 * h, 4),
                     offset_pointer(cg, x->d[2 * tile + h], r * 4 * x->bytes));
}

static void store_d(struct mma_kernel *x, unsigned g, unsigned r, unsigned column, LLVMValueRef v)
{
    unsigned tile = column / 8 * x->p.groups + g;
    if (x->width < 8)
        store_vector(
            x->cg, v,
            offset_pointer(x->cg, x->d[2 * tile + column % 8 / x->width], r * x->width * x->bytes));
    else
        for (unsigned t = 0; t < x->tiles; t++)
            store_row(x, tile + t * x->p.groups, r,
                      x->tiles == 1 ? v : subvector(x->cg, v, 8 * t, 8));
}

/* Sums of integers start at zero and meet C at the end: that is where they may saturate. */
static LLVMValueRef finish(struct mma_kernel *x, unsigned g, unsigned r, unsigned column,
                           LLVMValueRef v)
{
    struct codegen *cg = x->cg;
    if (x->m->d != PTX_S32)
        return v;
    LLVMTypeRef t = LLVMTypeOf(v);
    LLVMValueRef args[2] = {load_c(x, g, r, column), v};
    return x->m->saturate ? intrinsic(cg, "llvm.sadd.sat", &t, 1, args, 2)
                          : LLVMBuildAdd(cg->alu.b, args[0], v, "");
}

/* Rows first .. first + count - 1 of D, the columns of `parts` vectors from `column` on. */
static void multiply_rows(struct mma_kernel *x, unsigned first, unsigned count, unsigned column,
                          unsigned parts)
{
    struct codegen *cg = x->cg;
    LLVMTypeRef t = LLVMVectorType(x->elem, x->width);
    LLVMValueRef acc[MAX_ACCUMULATORS], b[2];
    for (unsigned q = 0; q < count * parts; q++) {
        unsigned row = first + q / parts, from = column + q % parts * x->width;
        acc[q] = x->m->d == PTX_S32 ? LLVMConstNull(t) : load_c(x, row / 8, row % 8, from);
    }
    for (unsigned k = 0; k < x->steps_k; k++) {
        for (unsigned n = 0; n < parts; n++) {
            LLVMValueRef p = b_pointer(x, column / 8, k);
            b[n] =
                load_vector(cg, x->elem, x->width, offset_pointer(cg, p, n * x->width * x->bytes));
        }
        for (unsigned r = 0; r < count; r++) {
            LLVMValueRef a = load_vector(cg, x->elem, 1, a_pointer(x, first + r, k));
            a = splat(cg, a, x->width);
            for (unsigned n = 0; n < parts; n++)
                acc[r * parts + n] = accumulate(x, acc[r * parts + n], a, b[n]);
        }
    }
    for (unsigned q = 0; q < count * parts; q++) {
        unsigned row = first + q / parts, to = column + q % parts * x->width;
        store_d(x, row / 8, row % 8, to, finish(x, row / 8, row % 8, to, acc[q]));
    }
}

void mma_body(struct codegen *cg, LLVMValueRef fn, const void *arg)
{
    const struct mma *m = arg;
    struct mma_kernel x = {.cg = cg, .m = m, .p = mma_layout_of(m), .elem = mma_element(cg, m->a)};
    LLVMValueRef regs[MAX_MMA_REGS];
    unsigned all = x.p.na + x.p.nb + x.p.nc + x.p.nd;
    for (unsigned n = 0; n < all; n++)
        regs[n] = LLVMGetParam(fn, n + 1);
    x.a = regs;
    x.b = x.a + x.p.na;
    x.c = x.b + x.p.nb;
    x.d = x.c + x.p.nc;
    x.bytes = x.elem == cg->f64 ? 8 : 4;
    x.wide = cg->alu.simd_bits == 512;
    x.width = (x.wide ? 64 : 32) / x.bytes;
    if (x.width > 8 * x.p.columns)
        x.width = 8;
    x.tiles = x.width > 8 ? 2 : 1;
    x.steps_k = x.p.steps * mma_row_elements(m->b);
    x.a_buffer = LLVMGetParam(fn, 0);
    x.b_buffer = offset_pointer(cg, x.a_buffer, m->m * x.steps_k * x.bytes);
    if (m->sparse)
        mma_sparse_rows(cg, fn, m, &x.p, x.a, LLVMGetParam(fn, all + 1), x.a_buffer, x.steps_k);
    else
        widen_a(&x);
    if (is_half(m->b))
        widen_b_halves(&x);
    else
        widen_b(&x);
    /* what was stored as vectors is to be loaded, not extracted from them element by element */
    LLVMBuildFence(cg->alu.b, LLVMAtomicOrderingSequentiallyConsistent, true, "");
    unsigned parts = x.width < 8 ? 8 / x.width : 1, columns = x.tiles * 8;
    unsigned rows = 8 * x.p.groups, most = (x.wide ? MAX_ACCUMULATORS : 8) / parts,
             at_once = rows % most == 0 ? most : 8 / parts;
    for (unsigned c = 0; c < 8 * x.p.columns; c += columns)
        for (unsigned r = 0; r < rows; r += at_once)
            multiply_rows(&x, r, at_once, c, parts);
}
