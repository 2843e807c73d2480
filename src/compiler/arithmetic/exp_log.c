/* exp_log: the f32 exponentials and logarithms, inline: programs spend their time in them, and
 * a call would spill every vector register. Their errors (tests/arithmetic measures them) stay
 * within CUDA's 2 units for exp, exp2, exp10 and log10 and 1 unit for log and log2. The polynomials
 * are minimax fits made for this file. Without fused multiply-add SLEEF's functions are called
 * instead.
 */
#include "compiler/arithmetic/math_table.h"

/* e^(r + low) 2^n for |r| <= ln 2 / 2; t is n + ALU_ROUNDING_EXPONENT. */
static val exp_of(struct alu *a, val r, val low, val t)
{
    static const double c[] = {0.5, 0.166665733, 0.0416665487, 0.00836377405, 0.00139269268};
    val n = ir_fsub(a, t, ir_kf(t, ALU_ROUNDING_EXPONENT));
    val p = ir_fma(a, ir_fmul(a, r, r), alu_poly(a, r, c, WEIR_COUNT(c)), low);
    return alu_scale(a, ir_fadd(a, ir_fadd(a, p, r), ir_kf(p, 1)), n, t);
}

/* x y + z, and what its rounding lost; z is the larger term. */
static val fma_with_error(struct alu *a, val x, val y, val z, val *lost)
{
    val r = ir_fma(a, x, y, z);
    *lost = ir_fma(a, x, y, ir_fsub(a, z, r));
    return r;
}

/* Beyond these the result is infinite or 0 anyway; a NaN stays. */
static val clamp(struct alu *a, val x, double limit)
{
    val high = ir_kf(x, limit), low = ir_kf(x, -limit);
    x = ir_select(a, ir_fcmp(a, LLVMRealOGT, x, high), high, x);
    return ir_select(a, ir_fcmp(a, LLVMRealOLT, x, low), low, x);
}

static void emit_expf(struct alu *a, const val *s, val *d)
{
    if (!a->has_fma) {
        d[0] = math_sleef(a, "exp u10", s, 1);
        return;
    }
    val x = clamp(a, s[0], 130), t, n = alu_nearest(a, x, 0x1.715476p+0, ALU_ROUNDING_EXPONENT, &t);
    val low, r = ir_fma(a, n, ir_kf(x, -0x1.62e43p-1), x);
    r = fma_with_error(a, n, ir_kf(x, 0x1.05c61p-29), r, &low);
    d[0] = exp_of(a, r, low, t);
}

static void emit_exp10f(struct alu *a, const val *s, val *d)
{
    if (!a->has_fma) {
        d[0] = math_sleef(a, "exp10 u10", s, 1);
        return;
    }
    val x = clamp(a, s[0], 60), t, n = alu_nearest(a, x, 0x1.a934fp+1, ALU_ROUNDING_EXPONENT, &t);
    val r = ir_fma(a, n, ir_kf(x, -0x1.344136p-2), x);
    r = ir_fma(a, n, ir_kf(x, 0x1.ec10cp-27), r);
    /* times ln 10, whose lower part matters */
    val ln10 = ir_kf(r, 0x1.26bb1cp+1), y = ir_fmul(a, r, ln10);
    val low = ir_fma(a, r, ir_kf(r, -0x1.12aabap-25), ir_fma(a, r, ln10, ir_fneg(a, y)));
    d[0] = exp_of(a, y, low, t);
}

static void emit_exp2f(struct alu *a, const val *s, val *d) { d[0] = alu_ex2(a, s[0]); }

/* A logarithm's constants: log(2) with few bits in its upper part, so that its product with an
 * exponent is exact, and log(e). */
struct base {
    const char *sleef;
    double two_hi, two_lo, e_hi, e_lo;
};

/* log(x) = k log(2) + (f - f^2/2 + f^3 P(f)) log(e). The large terms, k log(2) and f log(e), are
 * added with their rounding errors, which join the small ones. */
static void log_of(struct alu *a, const struct base *b, const val *s, val *d)
{
    static const double c[] = {0.333333343,  -0.249999434, 0.199999481,  -0.166733593, 0.142919064,
                               -0.122877881, 0.109147899,  -0.124278203, 0.113358222};
    if (!a->has_fma) {
        d[0] = math_sleef(a, b->sleef, s, 1);
        return;
    }
    val k, f = alu_log_split(a, s[0], &k), z = ir_fmul(a, f, f);
    val small = ir_fma(a, ir_fmul(a, f, z), alu_poly(a, f, c, WEIR_COUNT(c)),
                       ir_fmul(a, z, ir_kf(z, -0.5)));
    val large = f;
    if (b->e_hi != 1) {
        val e = ir_kf(f, b->e_hi);
        large = ir_fmul(a, f, e);
        val lost = ir_fma(a, f, ir_kf(f, b->e_lo), ir_fma(a, f, e, ir_fneg(a, large)));
        small = ir_fma(a, small, e, lost);
    }
    val exponent = ir_fmul(a, k, ir_kf(k, b->two_hi)), sum = ir_fadd(a, exponent, large);
    val err = ir_fadd(a, ir_fsub(a, exponent, sum), large);
    if (b->two_lo != 0)
        small = ir_fma(a, k, ir_kf(k, b->two_lo), small);
    d[0] = alu_log_special(a, s[0], ir_fadd(a, sum, ir_fadd(a, err, small)));
}

static void emit_logf(struct alu *a, const val *s, val *d)
{
    static const struct base b = {"log u10", 0x1.62ep-1, 0x1.0bfbe8p-15, 1, 0};
    log_of(a, &b, s, d);
}

static void emit_log2f(struct alu *a, const val *s, val *d)
{
    static const struct base b = {"log2 u10", 1, 0, 0x1.715476p+0, 0x1.4ae0cp-26};
    log_of(a, &b, s, d);
}

static void emit_log10f(struct alu *a, const val *s, val *d)
{
    static const struct base b = {"log10 u10", 0x1.344p-2, 0x1.3509f8p-18, 0x1.bcb7b2p-2,
                                  -0x1.5b235ep-27};
    log_of(a, &b, s, d);
}

const struct math_fn math_explog_table[] = {
    INLINE("expf", "f:f", emit_expf),     INLINE("exp2f", "f:f", emit_exp2f),
    INLINE("exp10f", "f:f", emit_exp10f), INLINE("logf", "f:f", emit_logf),
    INLINE("log2f", "f:f", emit_log2f),   INLINE("log10f", "f:f", emit_log10f),
};
const size_t math_explog_count = WEIR_COUNT(math_explog_table);
