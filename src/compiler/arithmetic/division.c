/* division: integer division. Vector units have none, and the scalar instruction faults, so each
 * width has its own method:
 *   16 bits    float division: 24 bits of quotient are more than enough
 *   32 bits    double division
 *   64 bits    as 32 bits where both are small; a C loop over the other lanes
 *   constants  LLVM's multiplication by the inverse; vectors of 64 bits, of which LLVM would divide
 *              lane by lane, by the same from products of 32 bits
 * The first two are exact: for integers x, y below 2^p, x / y is a multiple of 1/y away from the
 * next integer, that is by more than the rounding error of a quotient computed with more than p
 * bits, so truncation gives the true quotient. */
#include "compiler/arithmetic/division.h"

/* A divisor that the machine's instruction accepts, and the result put right afterwards. */
static val scalar_div(struct alu *a, val x, val y, bool is_signed, bool remainder)
{
    val zero = ir_icmp(a, LLVMIntEQ, y, ir_k(y, 0)), one = ir_k(y, 1);
    if (!is_signed) {
        val safe = ir_select(a, zero, one, y);
        return remainder ? ir_select(a, zero, ir_k(x, ~0ull), ir_urem(a, x, safe))
                         : ir_select(a, zero, ir_k(x, ~0ull), ir_udiv(a, x, safe));
    }
    val minus_one = ir_icmp(a, LLVMIntEQ, y, ir_k(y, ~0ull));
    val safe = ir_select(a, ir_or(a, zero, minus_one), one, y);
    if (remainder) /* x % 1 is what x % -1 is, 0 */
        return ir_select(a, zero, ir_k(x, ~0ull), ir_srem(a, x, safe));
    val q = ir_select(a, minus_one, ir_neg(a, x), ir_sdiv(a, x, safe));
    return ir_select(a, zero, ir_k(x, ~0ull), q);
}

/* Truncates a quotient of integers of x's type. */
static val float_to_quotient(struct alu *a, val x, val q, bool is_signed)
{
    LLVMTypeRef t = LLVMTypeOf(x);
    if (ir_bits(x) == 16) /* 32 bits hold every quotient, -32768 / -1 too */
        q = ir_zext(a, LLVMBuildFPToSI(a->b, q, ir_like(x, ir_int(a, 32)), ""), 16);
    else if (!is_signed)
        q = LLVMBuildFPToUI(a->b, q, t, "");
    else if (a->has_avx512) /* 2^31 is the one quotient that does not fit; it wraps in 64 bits */
        q = ir_zext(a, LLVMBuildFPToSI(a->b, q, ir_like(x, ir_int(a, 64)), ""), 32);
    else { /* the same through the conversion's own saturation, as no 64-bit conversion exists */
        val overflow = ir_fcmp(a, LLVMRealOGE, q, ir_kf(q, 0x1p31));
        q = ir_select(a, overflow, ir_kf(q, -0x1p31), q);
        q = LLVMBuildFPToSI(a->b, q, t, "");
    }
    return q;
}

/* Quotient by way of floats with more bits than the integers have. */
static val float_div(struct alu *a, val x, val y, bool is_signed)
{
    unsigned wide = ir_bits(x) == 16 ? 32 : 64;
    val zero = ir_icmp(a, LLVMIntEQ, y, ir_k(y, 0));
    val safe = ir_select(a, zero, ir_k(y, 1), y);
    val q = ir_fdiv(a, ir_itof(a, x, wide, is_signed), ir_itof(a, safe, wide, is_signed));
    q = float_to_quotient(a, x, q, is_signed);
    return ir_select(a, zero, ir_k(x, ~0ull), q);
}

/* Truncates a quotient that fits in 32 bits. */
static val fitting_quotient(struct alu *a, val x, val q, bool is_signed)
{
    if (ir_bits(x) == 16 || is_signed || a->has_avx512)
        return ir_bits(x) == 16 ? float_to_quotient(a, x, q, is_signed)
               : is_signed      ? LLVMBuildFPToSI(a->b, q, LLVMTypeOf(x), "")
                                : LLVMBuildFPToUI(a->b, q, LLVMTypeOf(x), "");
    /* without an instruction for it: by the bits of a sum whose last bit is 1 */
    q = ir_fadd(a, ir_intr1(a, "llvm.trunc", q), ir_kf(q, 0x1p52));
    return ir_zext(a, LLVMBuildBitCast(a->b, q, ir_like(x, ir_int(a, 64)), ""), 32);
}

/* Quotient by one divisor for all lanes: a product with its inverse, which is made greater by a
 * part of 2^-42. So quotients that are integers do not fall below them, as that is more than the
 * error of two roundings; and others do not reach the next one, from which they are at least 1/y
 * away, as the dividend is less than 2^42. The one quotient that does not fit, of -2^31 and -1, is
 * that of 1 negated. */
static val splat_div(struct alu *a, val x, val divisor, bool is_signed)
{
    int lanes = ir_lanes(x);
    val one = ir_k(divisor, 1), none = ir_icmp(a, LLVMIntEQ, divisor, ir_k(divisor, 0));
    val minus = ir_icmp(a, LLVMIntEQ, divisor, ir_k(divisor, ~0ull));
    val safe = ir_select(a, none, one, divisor);
    if (is_signed)
        safe = ir_select(a, minus, one, safe);
    val y = ir_itof(a, safe, 64, is_signed);
    val inverse = ir_splat(a, ir_fdiv(a, ir_kf(y, 1 + 0x1p-42), y), lanes);
    val q = ir_fmul(a, ir_itof(a, x, 64, is_signed), inverse);
    q = fitting_quotient(a, x, q, is_signed);
    if (is_signed) {
        val sign = ir_splat(a, ir_select(a, minus, ir_k(divisor, ~0ull), ir_k(divisor, 0)), lanes);
        q = ir_sub(a, ir_xor(a, q, sign), sign);
    }
    return ir_select(a, ir_splat(a, none, lanes), ir_k(x, ~0ull), q);
}

static val lanes_div(struct alu *a, val x, val y, bool is_signed, bool remainder)
{
    val src[] = {x, y}, splat = ir_splat_source(y);
    const char *symbol = is_signed ? (remainder ? "weir_alu_srem64" : "weir_alu_sdiv64")
                                   : (remainder ? "weir_alu_urem64" : "weir_alu_udiv64");
    /* mostly the operands are small: those lanes divide as 32-bit integers */
    val large = ir_lshr(a, ir_or(a, x, y), ir_k(x, 32));
    val rare =
        ir_or(a, ir_icmp(a, LLVMIntNE, large, ir_k(x, 0)), ir_icmp(a, LLVMIntEQ, y, ir_k(y, 0)));
    val low_x = ir_zext(a, x, 32), low_y = ir_zext(a, y, 32);
    val q = splat != NULL ? splat_div(a, low_x, ir_zext(a, splat, 32), false)
                          : float_div(a, low_x, low_y, false);
    val r = ir_zext(a, remainder ? ir_sub(a, low_x, ir_mul(a, q, low_y)) : q, 64);
    ir_patch(a, symbol, rare, src, 2, &r, 1);
    return r;
}

val alu_mul_hi_64(struct alu *a, val x, val y)
{
    val low = ir_k(x, 0xffffffff), half = ir_k(x, 32);
    val xl = ir_and(a, x, low), xh = ir_lshr(a, x, half);
    val yl = ir_and(a, y, low), yh = ir_lshr(a, y, half);
    /* neither sum is 2^64: (2^32 - 1)^2 and 2^32 - 1 */
    val mid = ir_add(a, ir_mul(a, xh, yl), ir_lshr(a, ir_mul(a, xl, yl), half));
    val other = ir_add(a, ir_mul(a, xl, yh), ir_and(a, mid, low));
    val hi = ir_add(a, ir_mul(a, xh, yh), ir_lshr(a, mid, half));
    return ir_add(a, hi, ir_lshr(a, other, half));
}

/* x / d, of any x, or of x up to 2^63; d lies between powers of two, 2^s and 2^(s + 1). With m of
 * (2^(64 + s) + e) / d, e from 1 to d, x * m / 2^(64 + s) is more than x / d by x * e / 2^(64 + s)
 * / d. That does not reach the next integer, at least 1 / d away, where x * e is below 2^(64 + s):
 * for x up to 2^63, and for all x if e is at most 2^s. Else m has one bit more, the first, of 2^64,
 * and an error that is small enough. */
static val inverse_div_64(struct alu *a, val x, uint64_t d, bool is_large)
{
    int s = 63 - __builtin_clzll(d);
    unsigned __int128 power = (unsigned __int128)1 << (64 + s);
    unsigned __int128 m = power / d + 1;
    if (!is_large || m * d - power <= (unsigned __int128)1 << s)
        return ir_lshr(a, alu_mul_hi_64(a, x, ir_k(x, (uint64_t)m)), ir_k(x, (uint64_t)s));
    /* by 2^(65 + s) / d, between 2^64 and 2^65 */
    unsigned __int128 twice = power % d * 2; /* of the remainder, so that nothing overflows */
    m = power / d * 2 + twice / d + 1;
    val t = alu_mul_hi_64(a, x, ir_k(x, (uint64_t)m)), one = ir_k(x, 1);
    t = ir_add(a, t, ir_lshr(a, ir_sub(a, x, t), one)); /* (x + t) / 2, which may have 65 bits */
    return ir_lshr(a, t, ir_k(x, (uint64_t)s));
}

/* Is it a divisor for that? Powers of two are shifts. */
static bool has_inverse(val x, uint64_t c, bool is_signed)
{
    return ir_bits(x) == 64 && ir_lanes(x) > 1 && (c & (c - 1)) != 0 && !(is_signed && c >> 63);
}

static val constant_div_64(struct alu *a, val x, uint64_t d, bool is_signed, bool remainder)
{
    val q, size = x, sign = NULL;
    if (is_signed) {
        sign = ir_ashr(a, x, ir_k(x, 63));
        size = ir_sub(a, ir_xor(a, x, sign), sign);
    }
    q = inverse_div_64(a, size, d, !is_signed);
    if (is_signed)
        q = ir_sub(a, ir_xor(a, q, sign), sign);
    return remainder ? ir_sub(a, x, ir_mul(a, q, ir_k(x, d))) : q;
}

val alu_int_div(struct alu *a, val x, val y, bool is_signed, bool remainder)
{
    uint64_t c;
    if (ir_const(y, &c) && c != 0 && (!is_signed || c != ~0ull >> (64 - ir_bits(y)))) {
        if (has_inverse(x, c, is_signed))
            return constant_div_64(a, x, c, is_signed, remainder);
        if (is_signed)
            return remainder ? ir_srem(a, x, y) : ir_sdiv(a, x, y);
        return remainder ? ir_urem(a, x, y) : ir_udiv(a, x, y);
    }
    if (ir_lanes(x) == 1)
        return scalar_div(a, x, y, is_signed, remainder);
    if (ir_bits(x) == 64)
        return lanes_div(a, x, y, is_signed, remainder);
    val splat = ir_splat_source(y);
    val q = splat != NULL ? splat_div(a, x, splat, is_signed) : float_div(a, x, y, is_signed);
    if (!remainder)
        return q;
    val zero = ir_icmp(a, LLVMIntEQ, y, ir_k(y, 0));
    return ir_select(a, zero, ir_k(x, ~0ull), ir_sub(a, x, ir_mul(a, q, y)));
}
