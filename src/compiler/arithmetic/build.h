/* build: short names for building LLVM IR, with which the files of this directory are written, and
 * the record of the instruction that is being built.
 *
 * Every helper takes its shape (scalar or vector, and of how many lanes) from the values it gets,
 * so one piece of code serves scalars, warps of 32 and packed types, which are seen as vectors of
 * twice or four times as many lanes. Private to this directory. */
#ifndef WEIR_COMPILER_BUILD_H
#define WEIR_COMPILER_BUILD_H

#include "compiler/arithmetic/arithmetic.h"

typedef LLVMValueRef val;

/* One instruction being emitted. */
struct builder {
    struct alu *a;
    const struct ptx_instr *i;
    const val *s;    /* sources, as the signature says */
    val *d;          /* results */
    enum ptx_type t; /* i->types[0] */
    enum ptx_type u; /* i->types[1], or PTX_NONE */
};

static inline bool has(const struct builder *b, enum ptx_mod m) { return ptx_has(b->i, m); }

/* Rounding of a result. */
enum rounding { ROUND_RN, ROUND_RZ, ROUND_RM, ROUND_RP, ROUND_ODD, ROUND_RNA };
enum rounding alu_rounding(const struct ptx_instr *i); /* from rn rz rm rp rna; RN when none */

/* ---- shapes and constants ---- */

unsigned ir_lanes(val v);                             /* 1 for a scalar */
LLVMTypeRef ir_elem(val v);                           /* element type, or the type itself */
unsigned ir_bits(val v);                              /* width of an element */
LLVMTypeRef ir_like(val shape, LLVMTypeRef elem);     /* elem with the shape of a value */
LLVMTypeRef ir_int(struct alu *a, unsigned bits);     /* scalar iN */
LLVMTypeRef ir_float(struct alu *a, unsigned bits);   /* scalar half, float, double */
LLVMTypeRef ir_vec(LLVMTypeRef elem, unsigned lanes); /* elem itself when lanes == 1 */

val ir_k(val like, uint64_t v); /* integer constant of like's type */
val ir_kn(struct alu *a, val shape, unsigned bits, uint64_t v); /* iN constant of like's shape */
val ir_kf(val like, double v);                                  /* float constant of like's type */
val ir_kbits(struct alu *a, val like, uint64_t bits); /* float constant given by its bits */
bool ir_const(val v, uint64_t *out);                  /* is it one known integer in all lanes? */

/* ---- operations ---- */

#define IR_BINARY(name, Name)                                                                      \
    static inline val ir_##name(struct alu *a, val x, val y)                                       \
    {                                                                                              \
        return LLVMBuild##Name(a->b, x, y, "");                                                    \
    }
IR_BINARY(add, Add)
IR_BINARY(sub, Sub)
IR_BINARY(mul, Mul)
IR_BINARY(and, And)
IR_BINARY(or, Or)
IR_BINARY(xor, Xor)
IR_BINARY(shl, Shl)
IR_BINARY(lshr, LShr)
IR_BINARY(ashr, AShr)
IR_BINARY(udiv, UDiv)
IR_BINARY(sdiv, SDiv)
IR_BINARY(urem, URem)
IR_BINARY(srem, SRem)
IR_BINARY(fadd, FAdd)
IR_BINARY(fsub, FSub)
IR_BINARY(fmul, FMul)
IR_BINARY(fdiv, FDiv)
#undef IR_BINARY

static inline val ir_not(struct alu *a, val x) { return LLVMBuildNot(a->b, x, ""); }
static inline val ir_neg(struct alu *a, val x) { return LLVMBuildNeg(a->b, x, ""); }
static inline val ir_fneg(struct alu *a, val x) { return LLVMBuildFNeg(a->b, x, ""); }
static inline val ir_icmp(struct alu *a, LLVMIntPredicate p, val x, val y)
{
    return LLVMBuildICmp(a->b, p, x, y, "");
}
static inline val ir_fcmp(struct alu *a, LLVMRealPredicate p, val x, val y)
{
    return LLVMBuildFCmp(a->b, p, x, y, "");
}
static inline val ir_select(struct alu *a, val c, val x, val y)
{
    return LLVMBuildSelect(a->b, c, x, y, "");
}
/* Integer to another width: zero- or sign-extended, or truncated; same width gives v itself. */
val ir_resize(struct alu *a, val v, unsigned bits, bool is_signed);
static inline val ir_zext(struct alu *a, val v, unsigned bits)
{
    return ir_resize(a, v, bits, false);
}
static inline val ir_sext(struct alu *a, val v, unsigned bits)
{
    return ir_resize(a, v, bits, true);
}
val ir_bitcast(struct alu *a, val v, LLVMTypeRef elem); /* elementwise, same element width */
val ir_as_int(struct alu *a, val v);                    /* float elements as iN */
val ir_as_float(struct alu *a, val v);                  /* iN elements as half, float, double */
val ir_ftof(struct alu *a, val v, unsigned bits);       /* float to float, 32 and 64 bits only */
val ir_itof(struct alu *a, val v, unsigned bits, bool is_signed); /* nearest even */

/* Sees each element as several smaller ones (<n x i32> as <2n x i16>), and back. */
val ir_split(struct alu *a, val v, unsigned bits);
val ir_join(struct alu *a, val v, unsigned bits);

/* An LLVM intrinsic overloaded on the type of its first argument, or (intr0) not overloaded. */
val ir_intr1(struct alu *a, const char *name, val x);
val ir_intr2(struct alu *a, const char *name, val x, val y);
val ir_intr3(struct alu *a, const char *name, val x, val y, val z);
val ir_intr0(struct alu *a, const char *name, const val *args, unsigned nargs);

val ir_fabs(struct alu *a, val x);
val ir_fma(struct alu *a, val x, val y, val z);
val ir_sqrt(struct alu *a, val x);
val ir_isnan(struct alu *a, val x);
val ir_min_s(struct alu *a, val x, val y);
val ir_max_s(struct alu *a, val x, val y);
val ir_min_u(struct alu *a, val x, val y);
/* Shifts that give 0 (or the sign) for counts of the width and more. */
val ir_shl_clamp(struct alu *a, val x, val n);
val ir_lshr_clamp(struct alu *a, val x, val n);
val ir_ashr_clamp(struct alu *a, val x, val n);

/* ---- pieces of a fixed width, and calls ---- */

/* Applies fn to pieces of `width` lanes of all arguments and joins its results; scalars and
 * narrow vectors travel in the low lanes of a piece, the others being zero. */
val ir_pieces(struct alu *a, unsigned width, const val *args, unsigned nargs,
              val (*fn)(struct alu *a, const val *args, void *arg), void *arg);
val ir_extract(struct alu *a, val v, unsigned first, unsigned count);
val ir_concat(struct alu *a, val lo, val hi);
val ir_splat_source(val v); /* the scalar that was broadcast to make v, or NULL */
val ir_splat(struct alu *a, val scalar, unsigned lanes);

/* Calls a pure function of the run time: same arguments, same result, no memory. */
val ir_call_pure(struct alu *a, const char *symbol, LLVMTypeRef ret, const val *args,
                 unsigned nargs);

/* Calls a per-lane C function of loader/lane_math.c: void f(uint32_t mask, const void *x, const
 * void *y, const void *z, void *r0, void *r1). dst[k] on entry is the value that lanes outside the
 * mask keep (it also gives the type). mask NULL: the active lanes. */
void ir_call_lanes(struct alu *a, const char *symbol, val mask, const val *src, unsigned nsrc,
                   val *dst, unsigned ndst);

/* Where some lane of `rare` is set, replaces that lane of d by what the C function gives. Ends the
 * builder's block. */
void ir_patch(struct alu *a, const char *symbol, val rare, const val *s, unsigned nargs, val *d,
              unsigned ndst);

/* The f32/f64 subnormal flush of .ftz: sign-preserving zero. Does not flush twice. */
val ir_flush(struct alu *a, val x);
/* [0, 1], NaN to +0. */
val ir_saturate(struct alu *a, val x);
/* 0x7fffffff in f32 lanes that are NaN (other types alike). */
val ir_canonical_nan(struct alu *a, val x);

/* ---- rounding (rounding.c) ---- */

/* A float (or its bits) rounded to nearest, and where the exact value lies. */
struct exact {
    val r;     /* nearest float, as float or integer bits */
    val below; /* i1: r < the exact value */
    val above; /* i1: r > the exact value */
};
/* Steps r to the neighbour that the rounding asks for. r's type is kept (float or integer). */
val alu_round_exact(struct alu *a, const struct exact *x, enum rounding mode);

enum round_op { OP_ADD, OP_SUB, OP_MUL, OP_DIV, OP_FMA, OP_SQRT };
/* f32 or f64 operation in any rounding but RNA; n sources in s. */
val alu_float_op(struct alu *a, enum round_op op, const val *s, enum rounding mode);
/* f64 -> f32, i64/i32 -> f32/f64 in any rounding. */
val alu_narrow(struct alu *a, val x, enum rounding mode);
val alu_int_to_float(struct alu *a, val x, bool is_signed, unsigned bits, enum rounding mode);

/* ---- small floats (half.c) ---- */

/* f32 to f16/bf16 bits (i16); ROUND_RN and the directed ones. The other way: arithmetic.h. */
val alu_f32_to_f16(struct alu *a, val x, enum rounding mode);
val alu_f32_to_bf16(struct alu *a, val x, enum rounding mode);

/* Views sources of any float type (packed ones too) as float or double vectors to compute in, and
 * rounds a computed value back to that type. ftz flushes in the type's own subnormal range. */
val alu_float_load(struct alu *a, enum ptx_type t, val v, bool ftz);
val alu_float_store(struct alu *a, enum ptx_type t, val v, bool ftz);
val alu_i16(struct alu *a, enum ptx_type t, val v); /* a 16-bit (packed) value as i16 elements */
val alu_from_i16(struct alu *a, enum ptx_type t, val v);
static inline bool alu_is_half(enum ptx_type t)
{
    return t == PTX_F16 || t == PTX_F16X2 || t == PTX_BF16 || t == PTX_BF16X2;
}
static inline bool alu_is_bf16(enum ptx_type t) { return t == PTX_BF16 || t == PTX_BF16X2; }

/* ---- small floats' fused multiply-add (half_fma.c) ---- */

/* s[0] * s[1] + s[2] of f16 or bf16 bits (i16), rounded to nearest, by a function; NULL: not by
 * one, where lanes are few or the machine has no such instruction for f32. */
val alu_fma_small(struct alu *a, const val *s, bool bf16);
/* The same of f16 values as f32, in line: an f32 that rounds to f16 as the exact value does. */
val alu_fma_f16_odd(struct alu *a, const val *s);

/* ---- functions that others share ---- */

val alu_compare(struct alu *a, enum ptx_mod cmp, val x, val y, bool is_float, bool is_signed);
enum ptx_mod alu_comparison(const struct ptx_instr *i); /* eq ne lt ... nan, or PTX_M_NONE */
val alu_ex2(struct alu *a, val x);
/* Adding it to a float below 2^22 rounds that to an integer, found in the low bits. */
#define ALU_ROUNDING 0x1.8p23
/* The same, which adds twice the bias of an f32's exponent to the integer, for alu_scale. */
#define ALU_ROUNDING_EXPONENT (ALU_ROUNDING + 254)
/* The integer nearest to x * factor, as a float; *t: that plus one of these. */
val alu_nearest(struct alu *a, val x, double factor, double rounding, val *t);
val alu_lg2(struct alu *a, val x);
/* p * 2^k for an integral f32 k, |k| <= 252; t is k + ALU_ROUNDING_EXPONENT. */
val alu_scale(struct alu *a, val p, val k, val t);
/* f32 x = (1 + f) * 2^k with 1 + f in [2/3, 4/3): returns f, and k as a float. */
val alu_log_split(struct alu *a, val x, val *k);
/* The logarithm r of x, put right where x is not positive and finite. */
val alu_log_special(struct alu *a, val x, val r);
val alu_sin_cos(struct alu *a, val x, bool cosine);
val alu_div_approx(struct alu *a, val x, val y);
val alu_float_to_int(struct alu *a, val x, unsigned bits, bool is_signed, bool nan_is_min);
val alu_poly(struct alu *a, val x, const double *c, unsigned n); /* c[0] + c[1] x + ... */

#endif
