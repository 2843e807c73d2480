/* half: 16-bit floats (f16, bf16), alone and packed.
 *
 * They are computed with as f32: for sums, products, quotients and roots, rounding to 24 bits and
 * then to 11 or 8 gives what one rounding gives. A fused multiply-add does not have that property
 * and rounds to odd in between. */
#include "compiler/arithmetic/build.h"

/* ---- views of 16-bit values ---- */

val alu_i16(struct alu *a, enum ptx_type t, val v)
{
    return t == PTX_F16 ? ir_as_int(a, v) : ir_bits(v) == 32 ? ir_split(a, v, 16) : v;
}

val alu_from_i16(struct alu *a, enum ptx_type t, val v)
{
    return t == PTX_F16 ? ir_as_float(a, v) : t == PTX_BF16 ? v : ir_join(a, v, 32);
}

val alu_bf16_to_f32(struct alu *a, val bits)
{
    return ir_as_float(a, ir_shl(a, ir_zext(a, bits, 32), ir_kn(a, bits, 32, 16)));
}

/* f16's exponent and fraction moved to f32's bits are the value times 2^-112; infinities and NaNs
 * need f32's largest exponent. */
static val f16_to_f32_by_hand(struct alu *a, val bits)
{
    val w = ir_zext(a, bits, 32);
    val sign = ir_shl(a, ir_and(a, w, ir_k(w, 0x8000)), ir_k(w, 16));
    val magnitude = ir_shl(a, ir_and(a, w, ir_k(w, 0x7fff)), ir_k(w, 13));
    val f = ir_as_float(a, magnitude);
    val r = ir_as_int(a, ir_fmul(a, f, ir_kf(f, 0x1p112)));
    val special = ir_icmp(a, LLVMIntUGE, magnitude, ir_k(w, 0x1f << 23));
    r = ir_select(a, special, ir_or(a, magnitude, ir_k(w, 0x7f800000)), r);
    return ir_as_float(a, ir_or(a, r, sign));
}

val alu_f16_to_f32(struct alu *a, val bits)
{
    return a->has_f16c ? ir_ftof(a, ir_as_float(a, bits), 32) : f16_to_f32_by_hand(a, bits);
}

static val f32_to_f16_by_hand(struct alu *a, val x)
{
    val w = ir_as_int(a, x), magnitude = ir_and(a, w, ir_k(w, 0x7fffffff));
    val sign = ir_and(a, ir_lshr(a, w, ir_k(w, 16)), ir_k(w, 0x8000));
    /* normal: round at bit 13, ties to even, and move the exponent's bias; too large is infinity */
    val odd = ir_and(a, ir_lshr(a, magnitude, ir_k(w, 13)), ir_k(w, 1));
    val r = ir_add(a, ir_add(a, magnitude, ir_k(w, 0xfff)), odd);
    r = ir_lshr(a, ir_sub(a, r, ir_k(w, 112u << 23)), ir_k(w, 13));
    r = ir_select(a, ir_icmp(a, LLVMIntUGE, magnitude, ir_k(w, 0x47800000)), ir_k(w, 0x7c00), r);
    /* subnormal: added to 0.5, whose last place is 2^-24, the machine rounds */
    val f = ir_as_float(a, magnitude);
    val tiny = ir_sub(a, ir_as_int(a, ir_fadd(a, f, ir_kf(f, 0.5))), ir_k(w, 0x3f000000));
    r = ir_select(a, ir_icmp(a, LLVMIntULT, magnitude, ir_k(w, 0x38800000)), tiny, r);
    r = ir_select(a, ir_isnan(a, x), ir_k(w, 0x7fff), r);
    return ir_zext(a, ir_or(a, r, sign), 16);
}

val alu_f32_to_f16(struct alu *a, val x, enum rounding mode)
{
    val r = a->has_f16c ? ir_as_int(a, LLVMBuildFPTrunc(a->b, x, ir_like(x, ir_float(a, 16)), ""))
                        : f32_to_f16_by_hand(a, x);
    if (mode == ROUND_RN)
        return r;
    val back = alu_f16_to_f32(a, r);
    struct exact e = {.r = r,
                      .below = ir_fcmp(a, LLVMRealOLT, back, x),
                      .above = ir_fcmp(a, LLVMRealOGT, back, x)};
    return alu_round_exact(a, &e, mode);
}

val alu_f32_to_f16_nearest(struct alu *a, val x) { return alu_f32_to_f16(a, x, ROUND_RN); }

val alu_f32_to_bf16(struct alu *a, val x, enum rounding mode)
{
    val w = ir_as_int(a, x), sixteen = ir_k(w, 16);
    val odd = ir_and(a, ir_lshr(a, w, sixteen), ir_k(w, 1));
    val r = ir_add(a, ir_add(a, w, ir_k(w, 0x7fff)), odd);
    if (mode == ROUND_RZ)
        r = w;
    r = ir_zext(a, ir_lshr(a, r, sixteen), 16);
    if (mode != ROUND_RN && mode != ROUND_RZ) {
        val back = alu_bf16_to_f32(a, r);
        struct exact e = {.r = r,
                          .below = ir_fcmp(a, LLVMRealOLT, back, x),
                          .above = ir_fcmp(a, LLVMRealOGT, back, x)};
        r = alu_round_exact(a, &e, mode);
    }
    return ir_select(a, ir_isnan(a, x), ir_k(r, 0x7fff), r);
}

/* ---- computing with any float type ---- */

static val flush_below(struct alu *a, val x, double smallest)
{
    val normal = ir_fcmp(a, LLVMRealUGE, ir_fabs(a, x), ir_kf(x, smallest));
    val zero = ir_intr2(a, "llvm.copysign", ir_kf(x, 0), x);
    return ir_select(a, normal, x, zero);
}

val alu_float_load(struct alu *a, enum ptx_type t, val v, bool ftz)
{
    if (t == PTX_F32X2)
        v = ir_as_float(a, ir_split(a, v, 32));
    if (!alu_is_half(t))
        return ftz ? ir_flush(a, v) : v;
    val bits = alu_i16(a, t, v);
    val x = alu_is_bf16(t) ? alu_bf16_to_f32(a, bits) : alu_f16_to_f32(a, bits);
    return ftz ? flush_below(a, x, alu_is_bf16(t) ? 0x1p-126 : 0x1p-14) : x;
}

val alu_float_store(struct alu *a, enum ptx_type t, val v, bool ftz)
{
    if (t == PTX_F32X2)
        return ir_join(a, ir_as_int(a, ftz ? ir_flush(a, v) : v), 64);
    if (!alu_is_half(t))
        return ftz ? ir_flush(a, v) : v;
    val bits = alu_is_bf16(t) ? alu_f32_to_bf16(a, v, ROUND_RN) : alu_f32_to_f16(a, v, ROUND_RN);
    if (ftz) {
        uint64_t exponent = alu_is_bf16(t) ? 0x7f80 : 0x7c00;
        val subnormal = ir_icmp(a, LLVMIntEQ, ir_and(a, bits, ir_k(bits, exponent)), ir_k(bits, 0));
        bits = ir_select(a, subnormal, ir_and(a, bits, ir_k(bits, 0x8000)), bits);
    }
    return alu_from_i16(a, t, bits);
}
