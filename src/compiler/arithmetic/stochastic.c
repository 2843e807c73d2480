/* stochastic: cvt.rs, which rounds up as often as random bits say.
 *
 * What is cut off is a part of the last place that is kept. The random bits, as another such part
 * of 16 bits, are added before the cut, so that a magnitude is rounded up with the probability of
 * what is cut. Values of the destination stay what they are. */
#include "compiler/arithmetic/table.h"

/* The format that is rounded to. */
struct target {
    unsigned exponent, fraction; /* bits */
    int bias;
    double max;
    unsigned nan;
};

static const struct target *target_of(enum ptx_type t)
{
    static const struct target f16 = {5, 10, 15, 65504, 0x7fff},
                               bf16 = {8, 7, 127, 0x1.fep127, 0x7fff}, e4m3 = {4, 3, 7, 448, 0x7f},
                               e5m2 = {5, 2, 15, 57344, 0x7f}, e2m3 = {2, 3, 1, 7.5, 0x1f},
                               e3m2 = {3, 2, 3, 28, 0x1f}, e2m1 = {2, 1, 1, 6, 0x7};
    switch (t) {
    case PTX_F16X2: return &f16;
    case PTX_BF16X2: return &bf16;
    case PTX_E4M3X4: return &e4m3;
    case PTX_E5M2X4: return &e5m2;
    case PTX_E2M3X4: return &e2m3;
    case PTX_E3M2X4: return &e3m2;
    default: return &e2m1;
    }
}

/* The code of x, in the low bits of words; random: 16 bits. */
static val rounded(struct builder *b, val x, val random, const struct target *f)
{
    enum { RANDOM_BITS = 16, MOST_CUT = 40 };
    struct alu *a = b->a;
    x = alu_clamp_float(b, x, f->max);
    val w = ir_as_int(a, x), magnitude = ir_and(a, w, ir_k(w, 0x7fffffff));
    val exponent = ir_lshr(a, magnitude, ir_k(w, 23));
    val normal = ir_icmp(a, LLVMIntNE, exponent, ir_k(w, 0));
    val significand = ir_and(a, w, ir_k(w, 0x7fffff));
    significand = ir_or(a, significand, ir_select(a, normal, ir_k(w, 0x800000), ir_k(w, 0)));
    exponent = ir_select(a, normal, exponent, ir_k(w, 1));
    /* biased exponent of the result, and how many bits are cut off: more of what becomes
     * subnormal */
    val scale = ir_sub(a, exponent, ir_k(w, (uint32_t)(127 - f->bias)));
    val least = ir_k(w, 1), place = ir_max_s(a, scale, least);
    val cut = ir_add(a, ir_sub(a, place, scale), ir_k(w, 23 - f->fraction));
    cut = ir_zext(a, ir_min_u(a, cut, ir_k(w, MOST_CUT)), 64);
    val sum = ir_zext(a, significand, 64);
    sum = ir_shl(a, sum, ir_k(sum, RANDOM_BITS));
    sum = ir_add(a, sum, ir_shl(a, ir_zext(a, random, 64), cut));
    val kept = ir_zext(a, ir_lshr(a, sum, ir_add(a, cut, ir_k(cut, RANDOM_BITS))), 32);
    val code = ir_shl(a, ir_sub(a, place, least), ir_k(w, f->fraction));
    code = ir_add(a, kept, code);
    unsigned sign_at = f->exponent + f->fraction;
    if (sign_at == 15) /* the others are saturated */
        code = ir_min_u(a, code, ir_k(w, ((1u << f->exponent) - 1) << f->fraction));
    val sign = ir_and(a, ir_lshr(a, w, ir_k(w, 31 - sign_at)), ir_k(w, 1u << sign_at));
    return ir_select(a, ir_isnan(a, x), ir_k(w, f->nan), ir_or(a, code, sign));
}

/* The 16 bits for one of two halves, of which f16 has 13, or for one of four smaller floats: two
 * of them share theirs. */
static val random_for(struct builder *b, val bits, bool upper)
{
    struct alu *a = b->a;
    if (b->t == PTX_E2M1X4) { /* the lower or the upper bytes of both halves */
        val v = upper ? ir_lshr(a, bits, ir_k(bits, 8)) : bits;
        val high = ir_and(a, ir_lshr(a, v, ir_k(v, 8)), ir_k(v, 0xff00));
        return ir_or(a, high, ir_and(a, v, ir_k(v, 0xff)));
    }
    val v = upper ? ir_lshr(a, bits, ir_k(bits, 16)) : ir_and(a, bits, ir_k(bits, 0xffff));
    return b->t == PTX_F16X2 ? ir_shl(a, ir_and(a, v, ir_k(v, 0x1fff)), ir_k(v, 3)) : v;
}

void alu_emit_stochastic(struct builder *b)
{
    struct alu *a = b->a;
    const struct target *f = target_of(b->t);
    unsigned total = ptx_type_bits(b->t), count = f->exponent + f->fraction == 15 ? 2 : 4;
    unsigned each = total / count;
    val packed = NULL;
    for (unsigned n = 0; n < count; n++) { /* the first source is the highest */
        val code = rounded(b, b->s[n], random_for(b, b->s[count], n < count / 2), f);
        packed = packed == NULL ? code : ir_or(a, ir_shl(a, packed, ir_k(packed, each)), code);
    }
    b->d[0] = ir_zext(a, packed, total);
}
