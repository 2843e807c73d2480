/* float: sums, products, signs, minima and maxima of all float types. */
#include "compiler/arithmetic/table.h"

/* ---- sums and products ---- */

/* Clamps of a result: .sat to [0, 1], .relu below at 0 with NaN canonical. */
static val clamp_result(struct builder *b, val r)
{
    struct alu *a = b->a;
    if (has(b, PTX_M_sat))
        return ir_saturate(a, r);
    if (!has(b, PTX_M_relu))
        return r;
    val positive = ir_fcmp(a, LLVMRealUGT, r, ir_kf(r, 0)); /* or NaN */
    return ir_canonical_nan(a, ir_select(a, positive, r, ir_kf(r, 0)));
}

static void binary(struct builder *b, enum round_op op)
{
    struct alu *a = b->a;
    bool ftz = has(b, PTX_M_ftz);
    /* .f32.f16: the first source is narrower, and is converted without an error */
    enum ptx_type first = b->u != PTX_NONE ? b->u : b->t;
    val s[] = {alu_float_load(a, first, b->s[0], ftz), alu_float_load(a, b->t, b->s[1], ftz)};
    val r = alu_float_op(a, op, s, alu_rounding(b->i));
    b->d[0] = alu_float_store(a, b->t, clamp_result(b, r), ftz);
}

static void emit_add(struct builder *b) { binary(b, OP_ADD); }
static void emit_sub(struct builder *b) { binary(b, OP_SUB); }
static void emit_mul(struct builder *b) { binary(b, OP_MUL); }

/* f16 and bf16 without modifiers, of a warp: a call. NULL: not that. */
static val fma_called(struct builder *b)
{
    struct alu *a = b->a;
    if (!alu_is_half(b->t) || has(b, PTX_M_ftz) || has(b, PTX_M_sat) || has(b, PTX_M_relu) ||
        has(b, PTX_M_oob) || alu_rounding(b->i) != ROUND_RN)
        return NULL;
    val s[3];
    for (int k = 0; k < 3; k++)
        s[k] = alu_i16(a, b->t, b->s[k]);
    val r = alu_fma_small(a, s, alu_is_bf16(b->t));
    return r != NULL ? alu_from_i16(a, b->t, r) : NULL;
}

/* A factor that stands for an element outside of a tensor (the NaN 0x7ff7 or 0xfff7, which is what
 * an H100 takes for it in f16 and bf16 alike) makes the result zero, whatever is added. */
static val zero_outside(struct builder *b, val r)
{
    struct alu *a = b->a;
    val is_outside = NULL;
    for (int k = 0; k < 2; k++) {
        val v = alu_i16(a, b->t, b->s[k]), size = ir_and(a, v, ir_k(v, 0x7fff));
        val is = ir_icmp(a, LLVMIntEQ, size, ir_k(v, 0x7ff7));
        is_outside = k == 0 ? is : ir_or(a, is_outside, is);
    }
    val bits = alu_i16(a, b->t, r);
    return alu_from_i16(a, b->t, ir_select(a, is_outside, ir_k(bits, 0), bits));
}

static void emit_fma(struct builder *b)
{
    struct alu *a = b->a;
    bool ftz = has(b, PTX_M_ftz);
    val s[3], r = fma_called(b);
    if (r != NULL) {
        b->d[0] = r;
        return;
    }
    for (int k = 0; k < 3; k++) /* .f32.f16: the factors are narrower */
        s[k] = alu_float_load(a, k < 2 && b->u != PTX_NONE ? b->u : b->t, b->s[k], ftz);
    if (alu_is_bf16(b->t))
        r = alu_float_op(a, OP_FMA, s, ROUND_ODD);
    else if (alu_is_half(b->t))
        r = alu_fma_f16_odd(a, s);
    else {
        /* x86 puts the sum in a factor's register. For a sum that goes round in a loop LLVM needs a
         * copy each time if that is the factor which was loaded first, as programs mostly name it.
         */
        bool scalar = ir_lanes(s[0]) == 1;
        val factors[2] = {s[0], s[1]};
        s[0] = factors[scalar];
        s[1] = factors[!scalar];
        r = alu_float_op(a, OP_FMA, s, alu_rounding(b->i));
    }
    r = alu_float_store(a, b->t, clamp_result(b, r), ftz);
    b->d[0] = has(b, PTX_M_oob) ? zero_outside(b, r) : r;
}

/* ---- signs ---- */

/* abs and neg of 16-bit floats work on the bits. */
static void half_sign(struct builder *b, bool negate)
{
    struct alu *a = b->a;
    val v = alu_i16(a, b->t, b->s[0]), sign = ir_k(v, 0x8000);
    if (has(b, PTX_M_ftz)) {
        val subnormal = ir_icmp(a, LLVMIntEQ, ir_and(a, v, ir_k(v, 0x7c00)), ir_k(v, 0));
        v = ir_select(a, subnormal, ir_and(a, v, sign), v);
    }
    v = negate ? ir_xor(a, v, sign) : ir_and(a, v, ir_k(v, 0x7fff));
    b->d[0] = alu_from_i16(a, b->t, v);
}

static void emit_abs(struct builder *b)
{
    if (alu_is_half(b->t))
        half_sign(b, false);
    else
        b->d[0] = ir_fabs(b->a, alu_float_load(b->a, b->t, b->s[0], has(b, PTX_M_ftz)));
}

static void emit_neg(struct builder *b)
{
    if (alu_is_half(b->t))
        half_sign(b, true);
    else
        b->d[0] = ir_fneg(b->a, alu_float_load(b->a, b->t, b->s[0], has(b, PTX_M_ftz)));
}

static void emit_copysign(struct builder *b)
{
    b->d[0] = ir_intr2(b->a, "llvm.copysign", b->s[1], b->s[0]);
}

static void emit_testp(struct builder *b)
{
    struct alu *a = b->a;
    val x = b->s[0], bits = ir_as_int(a, x), r;
    unsigned width = ir_bits(x);
    uint64_t infinity = width == 32 ? 0x7f800000 : 0x7ff0000000000000;
    uint64_t least = width == 32 ? 0x00800000 : 0x0010000000000000;
    val magnitude = ir_and(a, bits, ir_k(bits, (1ull << (width - 1)) - 1)),
        inf = ir_k(bits, infinity);
    if (has(b, PTX_M_finite))
        r = ir_icmp(a, LLVMIntULT, magnitude, inf);
    else if (has(b, PTX_M_infinite))
        r = ir_icmp(a, LLVMIntEQ, magnitude, inf);
    else if (has(b, PTX_M_number))
        r = ir_icmp(a, LLVMIntULE, magnitude, inf);
    else if (has(b, PTX_M_notanumber))
        r = ir_icmp(a, LLVMIntUGT, magnitude, inf);
    else if (has(b, PTX_M_subnormal))
        r = ir_icmp(a, LLVMIntULT, ir_sub(a, magnitude, ir_k(bits, 1)), ir_k(bits, least - 1));
    else { /* normal; zeros count as such */
        val in_range = ir_icmp(a, LLVMIntULT, ir_sub(a, magnitude, ir_k(bits, least)),
                               ir_k(bits, infinity - least));
        r = ir_or(a, in_range, ir_icmp(a, LLVMIntEQ, magnitude, ir_k(bits, 0)));
    }
    b->d[0] = r;
}

/* ---- minima and maxima ---- */

/* The one constant of all lanes, if v is that. */
static bool float_const(val v, double *out)
{
    unsigned n = ir_lanes(v);
    LLVMBool loses;
    if (!LLVMIsConstant(v))
        return false;
    for (unsigned k = 0; k < n; k++) {
        val x = n == 1 ? v : LLVMGetAggregateElement(v, k);
        if (x == NULL || LLVMIsAConstantFP(x) == NULL)
            return false;
        double c = LLVMConstRealGetDouble(x, &loses);
        if (k && (c != *out || __builtin_signbit(c) != __builtin_signbit(*out)))
            return false;
        *out = c;
    }
    return true;
}

/* Of r, which is y where x and y are equal: the lesser of both zeros, or the greater. Where masks
 * are vectors, logic is cheaper than a choice. */
static val join_zeros(struct alu *a, val x, val y, val r, bool is_max)
{
    val xi = ir_as_int(a, x), yi = ir_as_int(a, y), same = ir_fcmp(a, LLVMRealOEQ, x, y);
    if (ir_lanes(x) == 1 || a->has_avx512) {
        val both = ir_as_float(a, is_max ? ir_and(a, xi, yi) : ir_or(a, xi, yi));
        return ir_select(a, same, both, r);
    }
    val of = ir_sext(a, same, ir_bits(xi)), ri = ir_as_int(a, r);
    if (!is_max)
        return ir_as_float(a, ir_or(a, ri, ir_and(a, of, xi)));
    return ir_as_float(a, ir_and(a, ri, ir_not(a, ir_and(a, of, ir_not(a, xi)))));
}

/* select(x < y, x, y) is what minps does: it gives y when they are equal or when one is NaN. So
 * zeros of different signs and a NaN y want a second look, unless y is a constant that needs none.
 */
/* Of floats, by PTX's rules. */
static val float_min_max(struct alu *a, val x, val y, bool is_max, bool nan)
{
    double c = 0;
    if (float_const(x, &c)) {
        val t = x;
        x = y;
        y = t;
    }
    bool known = float_const(y, &c) && c == c;
    bool zero_is_right = known && (c != 0 || is_max == !__builtin_signbit(c));
    val r = ir_select(a, ir_fcmp(a, is_max ? LLVMRealOGT : LLVMRealOLT, x, y), x, y);
    if (!zero_is_right) /* equal values have equal bits but for zeros */
        r = join_zeros(a, x, y, r, is_max);
    if (nan) {
        uint64_t canonical = ir_bits(x) == 32 ? 0x7fffffff : 0x7fffffffffffffff;
        return ir_select(a, ir_fcmp(a, LLVMRealUNO, x, y), ir_kbits(a, r, canonical), r);
    }
    return known ? r : ir_select(a, ir_isnan(a, y), x, r);
}

static void emit_min_max(struct builder *b)
{
    struct alu *a = b->a;
    bool ftz = has(b, PTX_M_ftz), is_max = b->i->op == PTX_OP_max, nan = has(b, PTX_M_NaN);
    unsigned n = b->i->noperands > 3 ? 3 : 2;
    val s[3], sign = NULL;
    for (unsigned k = 0; k < n; k++)
        s[k] = alu_float_load(a, b->t, b->s[k], ftz);
    if (has(b, PTX_M_xorsign)) {
        val both = ir_xor(a, ir_as_int(a, s[0]), ir_as_int(a, s[1]));
        sign = ir_and(a, both, ir_k(both, 1ull << (ir_bits(both) - 1)));
    }
    if (has(b, PTX_M_abs))
        for (unsigned k = 0; k < n; k++)
            s[k] = ir_fabs(a, s[k]);
    val r = float_min_max(a, s[0], s[1], is_max, nan);
    if (n == 3)
        r = float_min_max(a, r, s[2], is_max, nan);
    if (sign != NULL) {
        val bits = ir_as_int(a, r), magnitude = ir_k(bits, (1ull << (ir_bits(bits) - 1)) - 1);
        val signed_r = ir_as_float(a, ir_or(a, ir_and(a, bits, magnitude), sign));
        r = ir_select(a, ir_isnan(a, r), r, signed_r);
    }
    b->d[0] = alu_float_store(a, b->t, r, false);
}

#define M_RND PTX_M_rn, PTX_M_rz, PTX_M_rm, PTX_M_rp
#define M_MIN MODS(PTX_M_ftz, PTX_M_NaN, PTX_M_xorsign, PTX_M_abs)

#define SUM_FORMS(op, emit)                                                                        \
    {op, T(F32), 0, MODS(M_RND, PTX_M_ftz, PTX_M_sat), "t:tt", emit},                              \
        {op, T(F64), 0, MODS(M_RND), "t:tt", emit},                                                \
        {op, T(F32X2), 0, MODS(M_RND, PTX_M_ftz), "t:tt", emit},                                   \
        {op, T_F16, 0, MODS(PTX_M_rn, PTX_M_ftz, PTX_M_sat), "t:tt", emit},                        \
    {                                                                                              \
        op, T_BF16, 0, MODS(PTX_M_rn), "t:tt", emit                                                \
    }
#define MIN_FORMS(op)                                                                              \
    {op, T(F32), 0, M_MIN, "t:tt?t", emit_min_max}, {op, T(F64), 0, MODS(), "t:tt", emit_min_max}, \
        {op, T_F16, 0, M_MIN, "t:tt", emit_min_max},                                               \
    {                                                                                              \
        op, T_BF16, 0, MODS(PTX_M_NaN, PTX_M_xorsign, PTX_M_abs), "t:tt", emit_min_max             \
    }
#define SIGN_FORMS(op, emit)                                                                       \
    {op, T(F32) | T_F16, 0, MODS(PTX_M_ftz), "t:t", emit},                                         \
    {                                                                                              \
        op, T(F64) | T_BF16, 0, MODS(), "t:t", emit                                                \
    }

#define MIXED_FORM(op, operands, emit)                                                             \
    {op, T(F32), T(F16) | T(BF16), MODS(M_RND, PTX_M_sat), operands, emit}

FORMS(float, MIXED_FORM(PTX_OP_add, "t:ut", emit_add), MIXED_FORM(PTX_OP_sub, "t:ut", emit_sub),
      MIXED_FORM(PTX_OP_fma, "t:uut", emit_fma), SUM_FORMS(PTX_OP_add, emit_add),
      SUM_FORMS(PTX_OP_sub, emit_sub), SUM_FORMS(PTX_OP_mul, emit_mul),
      {PTX_OP_fma, T(F32), 0, MODS(M_RND, PTX_M_ftz, PTX_M_sat), "t:ttt", emit_fma},
      {PTX_OP_fma, T(F64), 0, MODS(M_RND), "t:ttt", emit_fma},
      {PTX_OP_fma, T(F32X2), 0, MODS(M_RND, PTX_M_ftz), "t:ttt", emit_fma},
      {PTX_OP_fma, T_F16, 0, MODS(PTX_M_rn, PTX_M_ftz, PTX_M_sat, PTX_M_relu, PTX_M_oob), "t:ttt",
       emit_fma},
      {PTX_OP_fma, T_BF16, 0, MODS(PTX_M_rn, PTX_M_relu, PTX_M_oob), "t:ttt", emit_fma},
      {PTX_OP_mad, T(F32), 0, MODS(M_RND, PTX_M_ftz, PTX_M_sat), "t:ttt", emit_fma},
      {PTX_OP_mad, T(F64), 0, MODS(M_RND), "t:ttt", emit_fma}, SIGN_FORMS(PTX_OP_abs, emit_abs),
      SIGN_FORMS(PTX_OP_neg, emit_neg), MIN_FORMS(PTX_OP_min), MIN_FORMS(PTX_OP_max),
      {PTX_OP_copysign, T_FLOAT, 0, MODS(), "t:tt", emit_copysign},
      {PTX_OP_testp, T_FLOAT, 0,
       MODS(PTX_M_finite, PTX_M_infinite, PTX_M_number, PTX_M_notanumber, PTX_M_normal,
            PTX_M_subnormal),
       "p:t", emit_testp})
