/* approximations: division, reciprocals and roots, and the fast approximations sin, cos, lg2, ex2
 * and tanh.
 *
 * The approximations are inline polynomials, within the errors that the PTX ISA states for each
 * (the polynomials are minimax fits made for this file; tests/arithmetic measures the errors).
 * Operations that cost much anyway also give GPUs' canonical NaN. */
#include "compiler/arithmetic/table.h"

/* ---- one AVX-512 instruction ---- */

static val rcp14_piece(struct alu *a, const val *x, void *name)
{
    val args[] = {x[0], LLVMGetUndef(LLVMTypeOf(x[0])), LLVMConstInt(ir_int(a, 16), 0xffff, false)};
    return ir_intr0(a, name, args, 3);
}

static val rcp14(struct alu *a, val x)
{
    return ir_pieces(a, 16, &x, 1, rcp14_piece, "llvm.x86.avx512.rcp14.ps.512");
}

static val rsqrt14(struct alu *a, val x)
{
    return ir_pieces(a, 16, &x, 1, rcp14_piece, "llvm.x86.avx512.rsqrt14.ps.512");
}

static val scalef_piece(struct alu *a, const val *x, void *arg)
{
    (void)arg;
    val args[] = {x[0], x[1], LLVMGetUndef(LLVMTypeOf(x[0])),
                  LLVMConstInt(ir_int(a, 16), 0xffff, 0), LLVMConstInt(ir_int(a, 32), 4, false)};
    return ir_intr0(a, "llvm.x86.avx512.mask.scalef.ps.512", args, 5);
}

/* ---- reciprocals and roots ---- */

/* One Newton step doubles the 14 bits. Where the step makes no sense (zeros, infinities, NaN) the
 * first value is already the result. */
static val refined(struct alu *a, val y, val err, val step)
{
    val sensible = ir_fcmp(a, LLVMRealOLT, ir_fabs(a, err), ir_kf(err, 1));
    return ir_select(a, sensible, ir_fma(a, step, err, y), y);
}

static val rcp_approx(struct alu *a, val x)
{
    val one = ir_kf(x, 1);
    if (!a->has_avx512)
        return ir_fdiv(a, one, x);
    val y = rcp14(a, x);
    return refined(a, y, ir_fma(a, ir_fneg(a, x), y, one), y);
}

static val rsqrt_approx(struct alu *a, val x)
{
    val one = ir_kf(x, 1);
    if (!a->has_avx512)
        return ir_canonical_nan(a, ir_fdiv(a, one, ir_sqrt(a, x)));
    val y = rsqrt14(a, x), err = ir_fma(a, ir_fneg(a, ir_fmul(a, x, y)), y, one);
    return ir_canonical_nan(a, refined(a, y, err, ir_fmul(a, y, ir_kf(y, 0.5))));
}

val alu_div_approx(struct alu *a, val x, val y)
{
    val r = rcp_approx(a, y), zero = ir_intr2(a, "llvm.copysign", ir_kf(y, 0), y);
    val huge = ir_fcmp(a, LLVMRealOGT, ir_fabs(a, y), ir_kf(y, 0x1p126));
    return ir_fmul(a, x, ir_select(a, huge, zero, r));
}

static void emit_div(struct builder *b)
{
    struct alu *a = b->a;
    bool ftz = has(b, PTX_M_ftz);
    val s[] = {alu_float_load(a, b->t, b->s[0], ftz), alu_float_load(a, b->t, b->s[1], ftz)};
    val r = has(b, PTX_M_approx) ? alu_div_approx(a, s[0], s[1])
                                 : alu_float_op(a, OP_DIV, s, alu_rounding(b->i));
    b->d[0] = alu_float_store(a, b->t, ir_canonical_nan(a, r), ftz);
}

/* rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64: the upper words alone count. */
static void upper_word(struct builder *b)
{
    struct alu *a = b->a;
    val bits = ir_as_int(a, b->s[0]), upper = ir_k(bits, 0xffffffff00000000);
    val x = ir_flush(a, ir_as_float(a, ir_and(a, bits, upper))), one = ir_kf(x, 1);
    val r = ir_fdiv(a, one, b->i->op == PTX_OP_rsqrt ? ir_sqrt(a, x) : x);
    r = ir_canonical_nan(a, ir_flush(a, r));
    b->d[0] = ir_as_float(a, ir_and(a, ir_as_int(a, r), upper));
}

static void emit_rcp(struct builder *b)
{
    struct alu *a = b->a;
    bool ftz = has(b, PTX_M_ftz) && b->t == PTX_F32; /* of doubles a GPU flushes nothing */
    val x = alu_float_load(a, b->t, b->s[0], ftz), s[] = {ir_kf(x, 1), x};
    val r =
        has(b, PTX_M_approx) ? rcp_approx(a, x) : alu_float_op(a, OP_DIV, s, alu_rounding(b->i));
    b->d[0] = alu_float_store(a, b->t, r, ftz);
}

static void emit_sqrt(struct builder *b)
{
    struct alu *a = b->a;
    bool ftz = has(b, PTX_M_ftz);
    val x = alu_float_load(a, b->t, b->s[0], ftz);
    val r = alu_float_op(a, OP_SQRT, &x, alu_rounding(b->i));
    b->d[0] = alu_float_store(a, b->t, ir_canonical_nan(a, r), ftz);
}

/* Root and quotient, each rounded, miss by up to 1.02 units; a Newton step from the exact residual
 * 1 - x y y brings that near the half unit. That takes fused
 * multiplications; without them, long double does it. */
static val rsqrt_64(struct alu *a, val x)
{
    val one = ir_kf(x, 1), y = x;
    if (!a->has_fma) {
        ir_call_lanes(a, "weir_alu_rsqrt", NULL, &x, 1, &y, 1);
        return ir_canonical_nan(a, y);
    }
    y = ir_fdiv(a, one, ir_sqrt(a, x));
    val h = ir_fmul(a, x, y), rest = ir_fma(a, x, y, ir_fneg(a, h));
    val err = ir_fsub(a, ir_fma(a, ir_fneg(a, h), y, one), ir_fmul(a, rest, y));
    return ir_canonical_nan(a, refined(a, y, err, ir_fmul(a, y, ir_kf(y, 0.5))));
}

static void emit_rsqrt(struct builder *b)
{
    struct alu *a = b->a;
    bool ftz = has(b, PTX_M_ftz);
    val x = alu_float_load(a, b->t, b->s[0], ftz);
    val r = b->t == PTX_F32 ? rsqrt_approx(a, x) : rsqrt_64(a, x);
    b->d[0] = alu_float_store(a, b->t, r, ftz);
}

/* ---- ex2 ---- */

val alu_nearest(struct alu *a, val x, double factor, double rounding, val *t)
{
    val magic = ir_kf(x, rounding);
    *t = ir_fma(a, x, ir_kf(x, factor), magic);
    return ir_fsub(a, *t, magic);
}

val alu_scale(struct alu *a, val p, val k, val t)
{
    if (a->has_avx512) {
        val args[] = {p, k};
        return ir_pieces(a, 16, args, 2, scalef_piece, NULL);
    }
    /* Two steps, so that a subnormal result is rounded once, by the second. The low bits of t, k
     * and twice the bias, are the sum of two exponents; what is above them is shifted out. */
    val both = ir_as_int(a, t), twenty_three = ir_k(both, 23);
    val first = ir_lshr(a, both, ir_k(both, 1)), second = ir_sub(a, both, first);
    p = ir_fmul(a, p, ir_as_float(a, ir_shl(a, first, twenty_three)));
    return ir_fmul(a, p, ir_as_float(a, ir_shl(a, second, twenty_three)));
}

val alu_ex2(struct alu *a, val x)
{
    static const double c[] = {
        1, 0.693147182, 0.240226507, 0.0555035695, 0.00961808302, 0.00133908633, 0.000154531634};
    val high = ir_kf(x, 200), low = ir_kf(x, -200), magic = ir_kf(x, ALU_ROUNDING_EXPONENT);
    x = ir_select(a, ir_fcmp(a, LLVMRealOGT, x, high), high, x); /* a NaN stays */
    x = ir_select(a, ir_fcmp(a, LLVMRealOLT, x, low), low, x);
    val t = ir_fadd(a, x, magic), k = ir_fsub(a, t, magic), f = ir_fsub(a, x, k);
    return alu_scale(a, alu_poly(a, f, c, WEIR_COUNT(c)), k, t);
}

static void emit_ex2(struct builder *b)
{
    struct alu *a = b->a;
    bool ftz = has(b, PTX_M_ftz);
    b->d[0] = alu_float_store(a, b->t, alu_ex2(a, alu_float_load(a, b->t, b->s[0], ftz)), ftz);
}

/* ---- lg2 ---- */

val alu_log_split(struct alu *a, val x, val *k)
{
    val subnormal = ir_fcmp(a, LLVMRealOLT, x, ir_kf(x, 0x1p-126));
    val bits = ir_as_int(a, ir_select(a, subnormal, ir_fmul(a, x, ir_kf(x, 0x1p23)), x));
    val two_thirds = ir_k(bits, 0x3f2aaaab), twenty_three = ir_k(bits, 23);
    val e = ir_ashr(a, ir_sub(a, bits, two_thirds), twenty_three);
    val m = ir_as_float(a, ir_sub(a, bits, ir_shl(a, e, twenty_three)));
    e = ir_sub(a, e, ir_select(a, subnormal, twenty_three, ir_k(e, 0)));
    *k = ir_itof(a, e, 32, true);
    return ir_fsub(a, m, ir_kf(m, 1));
}

val alu_log_special(struct alu *a, val x, val r)
{
    val zero = ir_kf(x, 0), inf = ir_kf(x, __builtin_inf());
    r = ir_select(a, ir_fcmp(a, LLVMRealOEQ, x, inf), inf, r);
    r = ir_select(a, ir_fcmp(a, LLVMRealOEQ, x, zero), ir_fneg(a, inf), r);
    return ir_select(a, ir_fcmp(a, LLVMRealULT, x, zero), ir_kbits(a, x, 0x7fffffff), r);
}

/* log2(m) is a polynomial in m - 1 without a constant term, so that the error is relative near 1.
 */
val alu_lg2(struct alu *a, val x)
{
    static const double c[] = {1.44269502,  -0.721346557, 0.480894089,  -0.360789567, 0.28879565,
                               -0.23678647, 0.200584739,  -0.222221524, 0.208251894};
    val k, f = alu_log_split(a, x, &k), p = alu_poly(a, f, c, WEIR_COUNT(c));
    val r = a->has_fma ? ir_fma(a, f, p, k) : ir_fadd(a, ir_fmul(a, f, p), k);
    return alu_log_special(a, x, r);
}

static void emit_lg2(struct builder *b)
{
    struct alu *a = b->a;
    bool ftz = has(b, PTX_M_ftz);
    b->d[0] = alu_float_store(a, b->t, alu_lg2(a, alu_float_load(a, b->t, b->s[0], ftz)), ftz);
}

/* ---- sin and cos ---- */

/* x = q pi + r with |r| <= pi/2, q integral for the sine and integral + 1/2 for the cosine; the
 * result is the sine of r but for the sign, which alternates with q.
 *
 * The coefficients are such that the result is never beyond 1, and 1 at pi/2, with fma and without:
 * programs take square roots of 1 - cos(x). Adding the higher terms to r last keeps the rounding
 * errors small enough for that; it gives -0 the wrong sign, which r has. */
val alu_sin_cos(struct alu *a, val x, bool cosine)
{
    static const double c[] = {-0.166666433, 0.00833284017, -0.000197987785, 2.58803084e-06};
    /* pi in pieces, none negative, which would make 0 of -0 */
    static const double with_fma[] = {0x1.921fb4p+1, 0x1.4442d2p-23, 0};
    /* of few bits: their products with small integers are exact without fma */
    static const double without[] = {0x1.92p+1, 0x1.fbp-11, 0x1.5110b4p-21};
    const double *pi = a->has_fma ? with_fma : without;
    val magic = ir_kf(x, ALU_ROUNDING), t = ir_fmul(a, x, ir_kf(x, 0x1.45f306p-2));
    if (cosine)
        t = ir_fsub(a, t, ir_kf(x, 0.5));
    t = ir_fadd(a, t, magic);
    val q = ir_fsub(a, t, magic), sign = ir_shl(a, ir_as_int(a, t), ir_kn(a, x, 32, 31));
    if (cosine) {
        q = ir_fadd(a, q, ir_kf(q, 0.5));
        sign = ir_xor(a, sign, ir_k(sign, 0x80000000));
    }
    val r = x;
    for (int k = 0; k < 3 && pi[k] != 0; k++)
        r = a->has_fma ? ir_fma(a, q, ir_kf(q, -pi[k]), r)
                       : ir_fsub(a, r, ir_fmul(a, q, ir_kf(q, pi[k])));
    /* beyond the reduction's range the result is still a sine of something */
    val limit = ir_kf(r, 0x1.921fb6p0), least = ir_fneg(a, limit);
    r = ir_select(a, ir_fcmp(a, LLVMRealOGT, r, limit), limit, r);
    r = ir_select(a, ir_fcmp(a, LLVMRealOLT, r, least), least, r);
    val square = ir_fmul(a, r, r), cube = ir_fmul(a, r, square);
    val p = alu_poly(a, square, c, WEIR_COUNT(c));
    p = a->has_fma ? ir_fma(a, cube, p, r) : ir_fadd(a, ir_fmul(a, cube, p), r);
    val minus = ir_and(a, ir_as_int(a, r), ir_k(sign, 0x80000000));
    p = ir_as_float(a, ir_xor(a, ir_or(a, ir_as_int(a, p), minus), sign));
    val finite = ir_fcmp(a, LLVMRealOLT, ir_fabs(a, x), ir_kf(x, __builtin_inf()));
    return ir_select(a, finite, p, ir_kbits(a, x, 0x7fffffff));
}

static void emit_sin_cos(struct builder *b)
{
    struct alu *a = b->a;
    bool ftz = has(b, PTX_M_ftz);
    val x = alu_float_load(a, b->t, b->s[0], ftz);
    b->d[0] = alu_float_store(a, b->t, alu_sin_cos(a, x, b->i->op == PTX_OP_cos), ftz);
}

/* ---- tanh ---- */

/* 1 - 2 / (e^2x + 1); near 0, where that cancels, the first terms of the series. */
static val tanh_approx(struct alu *a, val x)
{
    static const double c[] = {1, -1.0 / 3, 2.0 / 15};
    val m = ir_fabs(a, x), one = ir_kf(x, 1);
    val t = alu_ex2(a, ir_fmul(a, m, ir_kf(x, 2.88539008)));
    val two = ir_kf(x, 2), q = ir_fmul(a, two, rcp_approx(a, ir_fadd(a, t, one)));
    val big = ir_intr2(a, "llvm.copysign", ir_fsub(a, one, q), x);
    val small = ir_fmul(a, x, alu_poly(a, ir_fmul(a, x, x), c, WEIR_COUNT(c)));
    return ir_select(a, ir_fcmp(a, LLVMRealOLT, m, ir_kf(x, 0.1)), small, big);
}

static void emit_tanh(struct builder *b)
{
    struct alu *a = b->a;
    val x = alu_float_load(a, b->t, b->s[0], false);
    b->d[0] = alu_float_store(a, b->t, tanh_approx(a, x), false);
}

#define M_RND  PTX_M_rn, PTX_M_rz, PTX_M_rm, PTX_M_rp
#define M_FAST MODS(PTX_M_approx, PTX_M_ftz)

FORMS(approx,
      {PTX_OP_div, T(F32), 0, MODS(PTX_M_approx, PTX_M_full, M_RND, PTX_M_ftz), "t:tt", emit_div},
      {PTX_OP_div, T(F64), 0, MODS(M_RND), "t:tt", emit_div},
      {PTX_OP_rcp, T(F32), 0, MODS(PTX_M_approx, M_RND, PTX_M_ftz), "t:t", emit_rcp},
      {PTX_OP_rcp, T(F64), 0, MODS(M_RND, PTX_M_ftz), "t:t", emit_rcp},
      {PTX_OP_rcp, T(F64), 0, M_FAST, "t:t", upper_word},
      {PTX_OP_sqrt, T(F32), 0, MODS(PTX_M_approx, M_RND, PTX_M_ftz), "t:t", emit_sqrt},
      {PTX_OP_sqrt, T(F64), 0, MODS(M_RND), "t:t", emit_sqrt},
      {PTX_OP_rsqrt, T(F32), 0, M_FAST, "t:t", emit_rsqrt},
      {PTX_OP_rsqrt, T(F64), 0, MODS(PTX_M_approx), "t:t", emit_rsqrt},
      {PTX_OP_rsqrt, T(F64), 0, M_FAST, "t:t", upper_word},
      {PTX_OP_sin, T(F32), 0, M_FAST, "t:t", emit_sin_cos},
      {PTX_OP_cos, T(F32), 0, M_FAST, "t:t", emit_sin_cos},
      {PTX_OP_lg2, T(F32), 0, M_FAST, "t:t", emit_lg2},
      {PTX_OP_ex2, T(F32) | T_HALF, 0, M_FAST, "t:t", emit_ex2},
      {PTX_OP_tanh, T(F32) | T_HALF, 0, MODS(PTX_M_approx), "t:t", emit_tanh})
