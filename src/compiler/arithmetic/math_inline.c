/* math_inline: device math functions emitted inline: the plain ones (bits, rounding, halves), and
 * the f32 functions that programs spend their time in. Their polynomials are minimax fits made for
 * this file; tests/arithmetic measures their errors. */
#include "compiler/arithmetic/math_table.h"

/* ---- views of bits ---- */

static void emit_as_int(struct alu *a, const val *s, val *d) { d[0] = ir_as_int(a, s[0]); }
static void emit_as_float(struct alu *a, const val *s, val *d) { d[0] = ir_as_float(a, s[0]); }

static void emit_hi_int(struct alu *a, const val *s, val *d)
{
    val bits = ir_as_int(a, s[0]);
    d[0] = ir_zext(a, ir_lshr(a, bits, ir_k(bits, 32)), 32);
}

static void emit_lo_int(struct alu *a, const val *s, val *d)
{
    d[0] = ir_zext(a, ir_as_int(a, s[0]), 32);
}

static void emit_hi_lo(struct alu *a, const val *s, val *d)
{
    val hi = ir_zext(a, s[0], 64);
    d[0] = ir_as_float(a, ir_or(a, ir_shl(a, hi, ir_k(hi, 32)), ir_zext(a, s[1], 64)));
}

static void emit_half2float(struct alu *a, const val *s, val *d) { d[0] = alu_f16_to_f32(a, s[0]); }

static void emit_float2half(struct alu *a, const val *s, val *d)
{
    d[0] = alu_f32_to_f16(a, s[0], ROUND_RN);
}

static void emit_copysign(struct alu *a, const val *s, val *d)
{
    d[0] = ir_intr2(a, "llvm.copysign", s[0], s[1]);
}

/* ---- tests ---- */

static val infinity(val like) { return ir_kf(like, __builtin_inf()); }

static void emit_isnan(struct alu *a, const val *s, val *d)
{
    d[0] = ir_zext(a, ir_isnan(a, s[0]), 32);
}

static void emit_isinf(struct alu *a, const val *s, val *d)
{
    d[0] = ir_zext(a, ir_fcmp(a, LLVMRealOEQ, ir_fabs(a, s[0]), infinity(s[0])), 32);
}

static void emit_isfinite(struct alu *a, const val *s, val *d)
{
    d[0] = ir_zext(a, ir_fcmp(a, LLVMRealOLT, ir_fabs(a, s[0]), infinity(s[0])), 32);
}

static void emit_signbit(struct alu *a, const val *s, val *d)
{
    val bits = ir_as_int(a, s[0]);
    d[0] = ir_zext(a, ir_icmp(a, LLVMIntSLT, bits, ir_k(bits, 0)), 32);
}

/* ---- integers ---- */

static void emit_ffs(struct alu *a, const val *s, val *d)
{
    val poison = LLVMConstInt(ir_int(a, 1), 0, false);
    val n = ir_add(a, ir_intr2(a, "llvm.cttz", s[0], poison), ir_k(s[0], 1));
    n = ir_select(a, ir_icmp(a, LLVMIntEQ, s[0], ir_k(s[0], 0)), ir_k(n, 0), n);
    d[0] = ir_zext(a, n, 32);
}

/* Averages: what both have, and half of what one has. Rounding up takes the other way round. */
static val average(struct alu *a, const val *s, bool is_signed, bool up)
{
    val differ = ir_xor(a, s[0], s[1]), one = ir_k(differ, 1);
    val half = is_signed ? ir_ashr(a, differ, one) : ir_lshr(a, differ, one);
    return up ? ir_sub(a, ir_or(a, s[0], s[1]), half) : ir_add(a, ir_and(a, s[0], s[1]), half);
}

static void emit_hadd(struct alu *a, const val *s, val *d) { d[0] = average(a, s, true, false); }
static void emit_rhadd(struct alu *a, const val *s, val *d) { d[0] = average(a, s, true, true); }
static void emit_uhadd(struct alu *a, const val *s, val *d) { d[0] = average(a, s, false, false); }
static void emit_urhadd(struct alu *a, const val *s, val *d) { d[0] = average(a, s, false, true); }

/* ---- parts of floats ---- */

static void emit_fdim(struct alu *a, const val *s, val *d)
{
    val no = ir_fcmp(a, LLVMRealOLE, s[0], s[1]);
    d[0] = ir_select(a, no, ir_kf(s[0], 0), ir_fsub(a, s[0], s[1]));
}

static void emit_round(struct alu *a, const val *s, val *d)
{
    d[0] = ir_intr1(a, "llvm.round", s[0]);
}

static void emit_llround(struct alu *a, const val *s, val *d)
{
    d[0] = alu_float_to_int(a, ir_intr1(a, "llvm.round", s[0]), 64, true, true);
}

static void emit_modf(struct alu *a, const val *s, val *d)
{
    val whole = ir_intr1(a, "llvm.trunc", s[0]), rest = ir_fsub(a, s[0], whole);
    val inf = ir_fcmp(a, LLVMRealOEQ, ir_fabs(a, s[0]), infinity(s[0]));
    rest = ir_select(a, inf, ir_kf(rest, 0), rest);
    d[0] = ir_intr2(a, "llvm.copysign", rest, s[0]);
    d[1] = whole;
}

static void emit_powi(struct alu *a, const val *s, val *d)
{
    val args[] = {s[0], ir_itof(a, s[1], ir_bits(s[0]), true)};
    d[0] = math_sleef(a, "pow u10", args, 2);
}

/* Both are multiplied by the power of two that brings the larger one between 1 and 2 (the largest
 * numbers to no more than 4, subnormal ones to less than 1), exactly but for parts of the smaller
 * one that do not count: no square overflows, and none that counts vanishes. The error is less than
 * three halves of a unit in the last place. A minimum and a maximum take their second argument
 * where one is NaN, so that the factor is a number in any case. */
static val length_of_two(struct alu *a, const val *s)
{
    val x = ir_fabs(a, s[0]), y = ir_fabs(a, s[1]), inf = infinity(x);
    bool wide = ir_bits(x) == 64;
    unsigned digits = wide ? 52 : 23;
    uint64_t exponents = wide ? 0x7ff : 0xff; /* all bits of the exponent */
    val least = ir_kf(x, wide ? 0x1p-1022 : 0x1p-126), most = ir_kf(x, wide ? 0x1p1022 : 0x1p126);
    val large = ir_select(a, ir_fcmp(a, LLVMRealOGT, x, y), x, y);
    large = ir_select(a, ir_fcmp(a, LLVMRealOLT, large, most), large, most);
    large = ir_select(a, ir_fcmp(a, LLVMRealOGT, large, least), large, least);
    val exponent = ir_as_int(a, large);
    exponent = ir_and(a, exponent, ir_k(exponent, exponents << digits));
    val both = ir_k(exponent, (exponents - 1) << digits);
    val down = ir_as_float(a, ir_sub(a, both, exponent)), up = ir_as_float(a, exponent);
    x = ir_fmul(a, x, down), y = ir_fmul(a, y, down);
    val r = ir_fmul(a, ir_sqrt(a, ir_fma(a, x, x, ir_fmul(a, y, y))), up);
    val any = ir_or(a, ir_fcmp(a, LLVMRealOEQ, x, inf), ir_fcmp(a, LLVMRealOEQ, y, inf));
    return ir_select(a, any, inf, r);
}

static void emit_hypot(struct alu *a, const val *s, val *d)
{
    d[0] = a->has_fma ? length_of_two(a, s) : math_sleef(a, "hypot u05", s, 2);
}

/* Euclidean norm of four. f32 squares neither overflow nor vanish in f64; f64 goes by pairs. */
static val norm_4(struct alu *a, const val *s)
{
    if (ir_bits(s[0]) == 64) {
        val pairs[] = {math_sleef(a, "hypot u05", s, 2), math_sleef(a, "hypot u05", s + 2, 2)};
        return math_sleef(a, "hypot u05", pairs, 2);
    }
    val sum = NULL, any_inf = NULL;
    for (unsigned k = 0; k < 4; k++) {
        val x = ir_ftof(a, s[k], 64), inf = ir_fcmp(a, LLVMRealOEQ, ir_fabs(a, x), infinity(x));
        sum = sum != NULL ? ir_fadd(a, sum, ir_fmul(a, x, x)) : ir_fmul(a, x, x);
        any_inf = any_inf != NULL ? ir_or(a, any_inf, inf) : inf;
    }
    return ir_select(a, any_inf, infinity(sum), ir_sqrt(a, sum));
}

/* A root in f64 takes a CPU three to four times as long as one in f32. (SLEEF's function takes
 * twice the time of that with AVX2, and is rounded less well.) */
static void emit_hypotf(struct alu *a, const val *s, val *d)
{
    if (a->has_fma) {
        d[0] = length_of_two(a, s);
        return;
    }
    val x = ir_ftof(a, s[0], 64), y = ir_ftof(a, s[1], 64), inf = infinity(s[0]);
    val r = ir_ftof(a, ir_sqrt(a, ir_fadd(a, ir_fmul(a, x, x), ir_fmul(a, y, y))), 32);
    val any_inf = ir_or(a, ir_fcmp(a, LLVMRealOEQ, ir_fabs(a, s[0]), inf),
                        ir_fcmp(a, LLVMRealOEQ, ir_fabs(a, s[1]), inf));
    d[0] = ir_select(a, any_inf, inf, r);
}

static void emit_norm4(struct alu *a, const val *s, val *d)
{
    d[0] = ir_ftof(a, norm_4(a, s), ir_bits(s[0]));
}

static void emit_rnorm4(struct alu *a, const val *s, val *d)
{
    val n = norm_4(a, s);
    d[0] = ir_ftof(a, ir_fdiv(a, ir_kf(n, 1), n), ir_bits(s[0]));
}

/* ---- f32 sine, cosine, tangent ---- */

/* Below this magnitude three parts of pi/2 reduce an argument to the last bit; above it, where
 * programs rarely are, the C library does it lane by lane. */
static const double trig_limit = 105615;

struct trig {
    val sine, cosine; /* of the reduced argument */
    val quadrant;     /* i32: its low two bits count */
    val rare;         /* i1: beyond the limit, infinite or NaN */
};

static struct trig reduce(struct alu *a, val x)
{
    static const double s[] = {-0.166666642, 0.00833273679, -0.000195853732};
    static const double c[] = {0.0416666642, -0.00138882909, 2.45454194e-05};
    val t, q = alu_nearest(a, x, 0x1.45f306p-1, ALU_ROUNDING, &t);
    val r = ir_fma(a, q, ir_kf(q, -0x1.921fb6p+0), x);
    r = ir_fma(a, q, ir_kf(q, 0x1.777a5cp-25), r);
    r = ir_fma(a, q, ir_kf(q, 0x1.ee59dap-50), r);
    val z = ir_fmul(a, r, r), one = ir_kf(r, 1);
    val sine = ir_fma(a, ir_fmul(a, r, z), alu_poly(a, z, s, WEIR_COUNT(s)), r);
    val cosine = ir_fma(a, ir_fmul(a, z, z), alu_poly(a, z, c, WEIR_COUNT(c)),
                        ir_fma(a, z, ir_kf(z, -0.5), one));
    return (struct trig){.sine = sine,
                         .cosine = cosine,
                         .quadrant = ir_as_int(a, t),
                         .rare = ir_fcmp(a, LLVMRealUGE, ir_fabs(a, x), ir_kf(x, trig_limit))};
}

/* Bit `bit` of the quadrant number plus `more`, as i1. */
static val quadrant_bit(struct alu *a, val q, unsigned more, unsigned bit)
{
    q = ir_and(a, ir_add(a, q, ir_k(q, more)), ir_k(q, 1u << bit));
    return ir_icmp(a, LLVMIntNE, q, ir_k(q, 0));
}

/* The sine of quadrant `more` further on: 0 the sine, 1 the cosine. */
static val unfold(struct alu *a, const struct trig *t, val x, unsigned more)
{
    val r = ir_select(a, quadrant_bit(a, t->quadrant, more, 0), t->cosine, t->sine);
    r = ir_select(a, quadrant_bit(a, t->quadrant, more, 1), ir_fneg(a, r), r);
    if (more)
        return r;
    return ir_select(a, ir_fcmp(a, LLVMRealOEQ, x, ir_kf(x, 0)), x, r); /* keeps -0 */
}

static void emit_sinf(struct alu *a, const val *s, val *d)
{
    if (!a->has_fma) {
        d[0] = math_sleef(a, "sin u10", s, 1);
        return;
    }
    struct trig t = reduce(a, s[0]);
    d[0] = unfold(a, &t, s[0], 0);
    ir_patch(a, "weir_alu_sinf", t.rare, s, 1, d, 1);
}

static void emit_cosf(struct alu *a, const val *s, val *d)
{
    if (!a->has_fma) {
        d[0] = math_sleef(a, "cos u10", s, 1);
        return;
    }
    struct trig t = reduce(a, s[0]);
    d[0] = unfold(a, &t, s[0], 1);
    ir_patch(a, "weir_alu_cosf", t.rare, s, 1, d, 1);
}

static void emit_sincosf(struct alu *a, const val *s, val *d)
{
    if (!a->has_fma) {
        d[0] = math_sleef(a, "sin u10", s, 1);
        d[1] = math_sleef(a, "cos u10", s, 1);
        return;
    }
    struct trig t = reduce(a, s[0]);
    d[0] = unfold(a, &t, s[0], 0);
    d[1] = unfold(a, &t, s[0], 1);
    ir_patch(a, "weir_alu_sincosf", t.rare, s, 1, d, 2);
}

static void emit_tanf(struct alu *a, const val *s, val *d)
{
    if (!a->has_fma) {
        d[0] = math_sleef(a, "tan u10", s, 1);
        return;
    }
    struct trig t = reduce(a, s[0]);
    val odd = quadrant_bit(a, t.quadrant, 0, 0);
    val top = ir_select(a, odd, ir_fneg(a, t.cosine), t.sine);
    val r = ir_fdiv(a, top, ir_select(a, odd, t.sine, t.cosine));
    d[0] = ir_select(a, ir_fcmp(a, LLVMRealOEQ, s[0], ir_kf(r, 0)), s[0], r);
    ir_patch(a, "weir_alu_tanf", t.rare, s, 1, d, 1);
}

static void emit_sincos(struct alu *a, const val *s, val *d)
{
    d[0] = math_sleef(a, "sin u10", s, 1);
    d[1] = math_sleef(a, "cos u10", s, 1);
}

/* x less the nearest even integer, exactly: SLEEF's own reduction ends early. */
static val reduce_pi(struct alu *a, val x)
{
    val half = ir_intr1(a, "llvm.rint", ir_fmul(a, x, ir_kf(x, 0.5)));
    val r = ir_fsub(a, x, ir_fmul(a, half, ir_kf(x, 2)));
    val zero = ir_intr2(a, "llvm.copysign", ir_kf(x, 0), x);
    return ir_select(a, ir_fcmp(a, LLVMRealOEQ, r, ir_kf(x, 0)), zero, r);
}

static void emit_sinpi(struct alu *a, const val *s, val *d)
{
    val r = reduce_pi(a, s[0]);
    d[0] = math_sleef(a, "sinpi u05", &r, 1);
}

static void emit_cospi(struct alu *a, const val *s, val *d)
{
    val r = reduce_pi(a, s[0]);
    d[0] = math_sleef(a, "cospi u05", &r, 1);
}

static void emit_sincospi(struct alu *a, const val *s, val *d)
{
    emit_sinpi(a, s, &d[0]);
    emit_cospi(a, s, &d[1]);
}

#define INLINE2(name, sf, sd, emit) INLINE(name "f", sf, emit), INLINE(name, sd, emit)

const struct math_fn math_inline_table[] = {
    INLINE("float_as_int", "s:f", emit_as_int),
    INLINE("float_as_uint", "u:f", emit_as_int),
    INLINE("int_as_float", "f:s", emit_as_float),
    INLINE("uint_as_float", "f:u", emit_as_float),
    INLINE("double_as_longlong", "l:d", emit_as_int),
    INLINE("longlong_as_double", "d:l", emit_as_float),
    INLINE("double2hiint", "s:d", emit_hi_int),
    INLINE("double2loint", "s:d", emit_lo_int),
    INLINE("hiloint2double", "d:ss", emit_hi_lo),
    INLINE("half2float", "f:h", emit_half2float),
    INLINE("float2half_rn", "h:f", emit_float2half),
    INLINE2("copysign", "f:ff", "d:dd", emit_copysign),
    INLINE("isnanf", "s:f", emit_isnan),
    INLINE("isnand", "s:d", emit_isnan),
    INLINE("isinff", "s:f", emit_isinf),
    INLINE("isinfd", "s:d", emit_isinf),
    INLINE("finitef", "s:f", emit_isfinite),
    INLINE("isfinited", "s:d", emit_isfinite),
    INLINE("signbitf", "s:f", emit_signbit),
    INLINE("signbitd", "s:d", emit_signbit),
    INLINE("ffs", "s:s", emit_ffs),
    INLINE("ffsll", "s:l", emit_ffs),
    INLINE("hadd", "s:ss", emit_hadd),
    INLINE("rhadd", "s:ss", emit_rhadd),
    INLINE("uhadd", "u:uu", emit_uhadd),
    INLINE("urhadd", "u:uu", emit_urhadd),
    INLINE2("fdim", "f:ff", "d:dd", emit_fdim),
    INLINE2("round", "f:f", "d:d", emit_round),
    INLINE2("llround", "l:f", "l:d", emit_llround),
    INLINE2("modf", "f|f:f", "d|d:d", emit_modf),
    INLINE2("powi", "f:fs", "d:ds", emit_powi),
    INLINE("hypotf", "f:ff", emit_hypotf),
    INLINE("hypot", "d:dd", emit_hypot),
    INLINE2("norm4d", "f:ffff", "d:dddd", emit_norm4),
    INLINE2("rnorm4d", "f:ffff", "d:dddd", emit_rnorm4),
    INLINE("sinf", "f:f", emit_sinf),
    INLINE("cosf", "f:f", emit_cosf),
    INLINE("tanf", "f:f", emit_tanf),
    INLINE("sincosf", "|ff:f", emit_sincosf),
    INLINE("sincos", "|dd:d", emit_sincos),
    INLINE2("sinpi", "f:f", "d:d", emit_sinpi),
    INLINE2("cospi", "f:f", "d:d", emit_cospi),
    INLINE2("sincospi", "|ff:f", "|dd:d", emit_sincospi),
};
const size_t math_inline_count = WEIR_COUNT(math_inline_table);

/* ---- fast functions: the approximate instructions and a factor ---- */

static val times(struct alu *a, val x, double c) { return ir_fmul(a, x, ir_kf(x, c)); }

static void fast_exp(struct alu *a, const val *s, val *d)
{
    d[0] = alu_ex2(a, times(a, s[0], 0x1.715476p0));
}
static void fast_exp10(struct alu *a, const val *s, val *d)
{
    d[0] = alu_ex2(a, times(a, s[0], 0x1.a934fp1));
}
static void fast_log(struct alu *a, const val *s, val *d)
{
    d[0] = times(a, alu_lg2(a, s[0]), 0x1.62e43p-1);
}
static void fast_log10(struct alu *a, const val *s, val *d)
{
    d[0] = times(a, alu_lg2(a, s[0]), 0x1.344136p-2);
}

static void fast_pow(struct alu *a, const val *s, val *d)
{
    d[0] = alu_ex2(a, ir_fmul(a, s[1], alu_lg2(a, s[0])));
}

static void fast_tan(struct alu *a, const val *s, val *d)
{
    d[0] = alu_div_approx(a, alu_sin_cos(a, s[0], false), alu_sin_cos(a, s[0], true));
}

static void fast_sincos(struct alu *a, const val *s, val *d)
{
    d[0] = alu_sin_cos(a, s[0], false);
    d[1] = alu_sin_cos(a, s[0], true);
}

const struct math_fn math_fast_table[] = {
    INLINE("fast_expf", "f:f", fast_exp),         INLINE("fast_exp10f", "f:f", fast_exp10),
    INLINE("fast_logf", "f:f", fast_log),         INLINE("fast_log10f", "f:f", fast_log10),
    INLINE("fast_powf", "f:ff", fast_pow),        INLINE("fast_tanf", "f:f", fast_tan),
    INLINE("fast_sincosf", "|ff:f", fast_sincos),
};
const size_t math_fast_count = WEIR_COUNT(math_fast_table);
