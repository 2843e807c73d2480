/* convert: cvt between all types; stochastic rounding (.rs) is in stochastic.c.
 *
 * Floats go through f32 (f64 where it is the wider side). A conversion in two steps is exact or
 * rounds to odd first, so that the last rounding is the only one that shows. */
#include "compiler/arithmetic/table.h"

/* ---- integers ---- */

static bool is_int(enum ptx_type t) { return t >= PTX_U8 && t <= PTX_S64; }

static uint64_t ones(unsigned bits) { return ~0ull >> (64 - bits); }

/* Clamps x, of one integer type, to the range of another. */
static val clamp_int(struct alu *a, val x, bool from_signed, unsigned bits, bool to_signed)
{
    unsigned from = ir_bits(x);
    uint64_t max = to_signed ? ones(bits) >> 1 : ones(bits);
    if (!from_signed)
        return max < ones(from) ? ir_min_u(a, x, ir_k(x, max)) : x;
    if (max < ones(from) >> 1)
        x = ir_min_s(a, x, ir_k(x, max));
    if (!to_signed)
        return ir_max_s(a, x, ir_k(x, 0));
    return bits < from ? ir_max_s(a, x, ir_k(x, ~max)) : x;
}

/* Truncates and saturates; NaN gives 0, or only the top bit set. */
val alu_float_to_int(struct alu *a, val x, unsigned bits, bool is_signed, bool nan_is_min)
{
    val nan = ir_isnan(a, x), r;
    if (bits < 32) {
        r = alu_float_to_int(a, x, 32, true, false);
        r = ir_zext(a, clamp_int(a, r, true, bits, is_signed), bits);
    } else {
        double limit = is_signed ? (bits == 32 ? 0x1p31 : 0x1p63) : (bits == 32 ? 0x1p32 : 0x1p64);
        double least = is_signed ? -limit : 0;
        uint64_t max = is_signed ? ones(bits) >> 1 : ones(bits), min = is_signed ? max + 1 : 0;
        LLVMTypeRef t = ir_like(x, ir_int(a, bits));
        r = is_signed ? LLVMBuildFPToSI(a->b, x, t, "") : LLVMBuildFPToUI(a->b, x, t, "");
        r = ir_select(a, ir_fcmp(a, LLVMRealOLT, x, ir_kf(x, least)), ir_k(r, min), r);
        r = ir_select(a, ir_fcmp(a, LLVMRealOGE, x, ir_kf(x, limit)), ir_k(r, max), r);
    }
    return ir_select(a, nan, ir_k(r, nan_is_min ? 1ull << (bits - 1) : 0), r);
}

/* ---- between floats ---- */

static val round_to_integral(struct builder *b, val x)
{
    struct alu *a = b->a;
    if (has(b, PTX_M_rni))
        return ir_intr1(a, "llvm.rint", x);
    if (has(b, PTX_M_rmi))
        return ir_intr1(a, "llvm.floor", x);
    return ir_intr1(a, has(b, PTX_M_rpi) ? "llvm.ceil" : "llvm.trunc", x);
}

static bool rounds_to_integral(struct builder *b)
{
    return has(b, PTX_M_rni) || has(b, PTX_M_rzi) || has(b, PTX_M_rmi) || has(b, PTX_M_rpi);
}

val alu_clamp_float(struct builder *b, val x, double max)
{
    struct alu *a = b->a;
    if (has(b, PTX_M_sat))
        return ir_saturate(a, x);
    if (has(b, PTX_M_relu))
        x = ir_select(a, ir_fcmp(a, LLVMRealOLE, x, ir_kf(x, 0)), ir_kf(x, 0), x);
    if (has(b, PTX_M_satfinite)) {
        val high = ir_kf(x, max), low = ir_kf(x, -max);
        x = ir_select(a, ir_fcmp(a, LLVMRealOGT, x, high), high, x);
        x = ir_select(a, ir_fcmp(a, LLVMRealOLT, x, low), low, x);
    }
    return x;
}

static const double max_f16 = 65504, max_bf16 = 0x1.fep127, max_tf32 = 0x1.ffcp127;

/* f32 or f64 to f16 or bf16 bits. */
static val to_half(struct builder *b, val x, bool bf16, enum rounding mode)
{
    struct alu *a = b->a;
    x = alu_clamp_float(b, x, bf16 ? max_bf16 : max_f16);
    if (ir_bits(x) == 64)
        x = alu_narrow(a, x, ROUND_ODD);
    val r = bf16 ? alu_f32_to_bf16(a, x, mode) : alu_f32_to_f16(a, x, mode);
    if (has(b, PTX_M_relu) && !bf16) /* bf16's NaN is canonical already */
        r = ir_select(a, ir_isnan(a, x), ir_k(r, 0x7fff), r);
    return r;
}

/* f32 to tf32, which is an f32 whose low 13 bits are 0. What becomes of a NaN is what GPUs make of
 * it: .rna cuts its low bits off (which may leave an infinity), the others have one NaN. */
static val to_tf32(struct builder *b, val x, enum rounding mode)
{
    struct alu *a = b->a;
    x = alu_clamp_float(b, x, max_tf32);
    val w = ir_as_int(a, x), r = w, kept = ir_k(w, 0xffffe000), nan = ir_isnan(a, x);
    if (mode == ROUND_RNA) /* not "nan ? this : that" of the results: an operation less */
        return ir_and(a, ir_add(a, w, ir_select(a, nan, ir_k(w, 0), ir_k(w, 0x1000))), kept);
    if (mode == ROUND_RN)
        r = ir_add(a, ir_add(a, w, ir_k(w, 0xfff)),
                   ir_and(a, ir_lshr(a, w, ir_k(w, 13)), ir_k(w, 1)));
    return ir_select(a, nan, ir_k(w, 0x7fffe000), ir_and(a, r, kept));
}

/* Integer to f16 or bf16 bits. For f16, integers beyond 2^17 are as infinite as 2^17 itself. */
static val int_to_half(struct builder *b, val x, bool is_signed, enum rounding mode)
{
    struct alu *a = b->a;
    bool bf16 = b->t == PTX_BF16;
    if (!bf16 && ir_bits(x) > 16) {
        val most = ir_k(x, 1 << 17);
        x = is_signed ? ir_max_s(a, ir_min_s(a, x, most), ir_neg(a, most)) : ir_min_u(a, x, most);
        x = ir_zext(a, x, 32);
    }
    return to_half(b, alu_int_to_float(a, x, is_signed, 32, bf16 ? ROUND_ODD : ROUND_RN), bf16,
                   mode);
}

static void int_to_float(struct builder *b)
{
    struct alu *a = b->a;
    bool is_signed = ptx_type_is_signed(b->u);
    enum rounding mode = alu_rounding(b->i);
    if (alu_is_half(b->t)) {
        b->d[0] = alu_from_i16(a, b->t, int_to_half(b, b->s[0], is_signed, mode));
        return;
    }
    b->d[0] =
        alu_clamp_float(b, alu_int_to_float(a, b->s[0], is_signed, ptx_type_bits(b->t), mode), 0);
}

static void float_to_float(struct builder *b)
{
    struct alu *a = b->a;
    bool ftz = has(b, PTX_M_ftz);
    enum rounding mode = alu_rounding(b->i);
    val x = alu_float_load(a, b->u, b->s[0], ftz && b->u == PTX_F32);
    if (rounds_to_integral(b))
        x = round_to_integral(b, x);
    if (alu_is_half(b->t)) {
        b->d[0] = alu_from_i16(a, b->t, to_half(b, x, b->t == PTX_BF16, mode));
        return;
    }
    if (b->t == PTX_F64)
        x = ir_ftof(a, x, 64);
    else if (ir_bits(x) == 64)
        x = alu_narrow(a, x, mode);
    x = alu_clamp_float(b, x, 0);
    b->d[0] = ftz && b->t == PTX_F32 ? ir_flush(a, x) : x;
}

/* ---- floats of eight bits and less ---- */

struct tiny {
    unsigned exponent, fraction; /* bits */
    int bias;
    double max;
    unsigned nan; /* what a NaN becomes */
};
static const struct tiny e4m3 = {4, 3, 7, 448, 0x7f}, e5m2 = {5, 2, 15, 57344, 0x7f};
/* these have no NaN, which becomes the largest */
static const struct tiny e2m3 = {2, 3, 1, 7.5, 0x1f}, e3m2 = {3, 2, 3, 28, 0x1f},
                         e2m1 = {2, 1, 1, 6, 0x7};

static unsigned sign_at(const struct tiny *f) { return f->exponent + f->fraction; }

/* Saturating, nearest even, as 32-bit words with the code in the low bits. */
static val to_tiny(struct builder *b, val x, const struct tiny *f)
{
    struct alu *a = b->a;
    x = alu_clamp_float(b, x, f->max);
    unsigned drop = 23 - f->fraction;
    val w = ir_as_int(a, x), magnitude = ir_and(a, w, ir_k(w, 0x7fffffff));
    val sign = ir_and(a, ir_lshr(a, w, ir_k(w, 31 - sign_at(f))), ir_k(w, 1u << sign_at(f)));
    val odd = ir_and(a, ir_lshr(a, magnitude, ir_k(w, drop)), ir_k(w, 1));
    val r = ir_add(a, ir_add(a, magnitude, ir_k(w, (1u << (drop - 1)) - 1)), odd);
    r = ir_lshr(a, ir_sub(a, r, ir_k(w, (uint32_t)(127 - f->bias) << 23)), ir_k(w, drop));
    /* subnormal: added to a power of two whose last place is theirs, the machine rounds */
    val m = ir_as_float(a, magnitude);
    val anchor = ir_kf(m, __builtin_ldexp(1, 1 - f->bias - (int)f->fraction + 23));
    val tiny = ir_sub(a, ir_as_int(a, ir_fadd(a, m, anchor)), ir_as_int(a, anchor));
    val is_tiny = ir_icmp(a, LLVMIntULT, magnitude, ir_k(w, (uint32_t)(128 - f->bias) << 23));
    r = ir_or(a, ir_select(a, is_tiny, tiny, r), sign);
    return ir_select(a, ir_isnan(a, x), ir_k(w, f->nan), r);
}

/* The upper byte of an f16. */
static val from_e5m2(struct alu *a, val w)
{
    val r = ir_shl(a, ir_and(a, w, ir_k(w, 0xff)), ir_k(w, 8));
    val nan = ir_icmp(a, LLVMIntUGT, ir_and(a, r, ir_k(w, 0x7fff)), ir_k(w, 0x7c00));
    return ir_select(a, nan, ir_k(w, 0x7fff), r);
}

/* One code in the low bits of words, to f16 bits in the low half of words. Exact. */
static val from_tiny(struct builder *b, val w, const struct tiny *f)
{
    struct alu *a = b->a;
    val r;
    if (f == &e5m2) {
        r = from_e5m2(a, w);
    } else {
        val magnitude = ir_and(a, w, ir_k(w, (1u << sign_at(f)) - 1));
        val m = ir_as_float(a, ir_shl(a, magnitude, ir_k(w, 23 - f->fraction)));
        m = ir_fmul(a, m, ir_kf(m, __builtin_ldexp(1, 127 - f->bias)));
        val h = ir_zext(a, alu_f32_to_f16(a, m, ROUND_RN), 32);
        val sign = ir_and(a, w, ir_k(w, 1u << sign_at(f)));
        r = ir_or(a, h, ir_shl(a, sign, ir_k(w, 15 - sign_at(f))));
        if (f == &e4m3)
            r = ir_select(a, ir_icmp(a, LLVMIntEQ, magnitude, ir_k(w, 0x7f)), ir_k(w, 0x7fff), r);
    }
    if (has(b, PTX_M_relu)) {
        val negative = ir_icmp(a, LLVMIntUGE, r, ir_k(w, 0x8000));
        r = ir_select(a, negative, ir_k(w, 0), r);
    }
    return r;
}

static const struct tiny *tiny_of(enum ptx_type t)
{
    switch (t) {
    case PTX_E4M3X2: return &e4m3;
    case PTX_E5M2X2: return &e5m2;
    case PTX_E2M3X2: return &e2m3;
    case PTX_E3M2X2: return &e3m2;
    case PTX_E2M1X2: return &e2m1;
    default: return NULL;
    }
}

/* The exponent alone, ue8m0: of a magnitude toward zero, or up unless it is 2^-127 or less, which
 * is the least. An infinity is the NaN 0xff, or with .satfinite the largest. In words. */
static val to_exponent(struct builder *b, val x)
{
    struct alu *a = b->a;
    val w = ir_and(a, ir_as_int(a, x), ir_k(ir_as_int(a, x), 0x7fffffff));
    val r = ir_lshr(a, w, ir_k(w, 23)), infinity = ir_k(w, 0x7f800000);
    if (has(b, PTX_M_rp)) {
        val up = ir_icmp(a, LLVMIntNE, ir_and(a, w, ir_k(w, 0x7fffff)), ir_k(w, 0));
        up = ir_and(a, up, ir_icmp(a, LLVMIntUGT, w, ir_k(w, 0x400000)));
        up = ir_and(a, up, ir_icmp(a, LLVMIntULT, w, infinity));
        r = ir_select(a, up, ir_add(a, r, ir_k(w, 1)), r);
    }
    if (has(b, PTX_M_satfinite)) {
        val large = ir_icmp(a, LLVMIntEQ, r, ir_k(w, 0xff));
        large = ir_and(a, large, ir_icmp(a, LLVMIntULE, w, infinity));
        r = ir_select(a, large, ir_k(w, 0xfe), r);
    }
    return r;
}

/* A code of ue8m0 in the low byte of words, to bf16 bits in the low half. */
static val from_exponent(struct alu *a, val w)
{
    w = ir_and(a, w, ir_k(w, 0xff));
    val r = ir_shl(a, w, ir_k(w, 7));
    r = ir_select(a, ir_icmp(a, LLVMIntEQ, w, ir_k(w, 0)), ir_k(w, 0x40), r);
    return ir_select(a, ir_icmp(a, LLVMIntEQ, w, ir_k(w, 0xff)), ir_k(w, 0x7fff), r);
}

/* ---- packed conversions ---- */

/* hi and lo, each in the low bits of a word, side by side. */
static val pack(struct alu *a, val hi, val lo, unsigned bits)
{
    return ir_or(a, ir_shl(a, hi, ir_k(hi, bits)), lo);
}

/* Source k of the two, the high one first, as f32. */
static val packed_source(struct builder *b, unsigned k)
{
    struct alu *a = b->a;
    if (b->u == PTX_F32)
        return b->s[k];
    val x = k ? b->s[0] : ir_lshr(a, b->s[0], ir_k(b->s[0], 16));
    x = ir_zext(a, x, 16);
    return b->u == PTX_BF16X2 ? alu_bf16_to_f32(a, x) : alu_f16_to_f32(a, x);
}

static void to_packed(struct builder *b)
{
    struct alu *a = b->a;
    const struct tiny *f = tiny_of(b->t);
    unsigned bits = ptx_type_bits(b->t);
    val part[2]; /* high, low */
    for (unsigned k = 0; k < 2; k++) {
        val x = packed_source(b, k);
        part[k] = f != NULL ? to_tiny(b, x, f)
                  : b->t == PTX_UE8M0X2
                      ? to_exponent(b, x)
                      : ir_zext(a, to_half(b, x, b->t == PTX_BF16X2, alu_rounding(b->i)), 32);
    }
    b->d[0] = ir_zext(a, pack(a, part[0], part[1], bits / 2), bits);
}

static void from_packed(struct builder *b)
{
    struct alu *a = b->a;
    const struct tiny *f = tiny_of(b->u);
    val w = ir_zext(a, b->s[0], 32);
    val upper = ir_lshr(a, w, ir_k(w, ptx_type_bits(b->u) / 2));
    b->d[0] = f == NULL ? pack(a, from_exponent(a, upper), from_exponent(a, w), 16)
                        : pack(a, from_tiny(b, upper, f), from_tiny(b, w, f), 16);
}

/* cvt.pack: two integers, saturated, in the low bits; above them the low bits of the third source.
 */
static void emit_pack(struct builder *b)
{
    struct alu *a = b->a;
    unsigned bits = ptx_type_bits(b->t);
    val part[2];
    for (unsigned k = 0; k < 2; k++) {
        part[k] = clamp_int(a, b->s[k], true, bits, ptx_type_is_signed(b->t));
        part[k] = ir_and(a, part[k], ir_k(part[k], ones(bits)));
    }
    val r = pack(a, part[0], part[1], bits);
    b->d[0] = bits == 16 ? r : ir_or(a, r, ir_shl(a, b->s[2], ir_k(r, 2 * bits)));
}

/* ---- cvt ---- */

#define T_INT8   (T_INT | T(U8) | T(S8))
#define T_SCALAR (T_INT8 | T(F16) | T(BF16) | T_FLOAT)
#define T_SMALL  (T(E2M3X2) | T(E3M2X2) | T(E2M1X2)) /* from sm_100 on */
#define T_TINY   (T(E4M3X2) | T(E5M2X2) | T_SMALL)
#define T_TINY4  (T(E4M3X4) | T(E5M2X4) | T(E2M3X4) | T(E3M2X4) | T(E2M1X4)) /* .rs alone */
#define T_PACKED (T(F16X2) | T(BF16X2) | T(UE8M0X2))

static void emit_cvt(struct builder *b)
{
    struct alu *a = b->a;
    unsigned bits = ptx_type_bits(b->t);
    if (tiny_of(b->u) != NULL || b->u == PTX_UE8M0X2) {
        from_packed(b);
    } else if ((T_PACKED | T_TINY) >> b->t & 1) {
        to_packed(b);
    } else if (b->t == PTX_TF32) {
        b->d[0] = to_tf32(b, b->s[0], alu_rounding(b->i));
    } else if (is_int(b->t) && is_int(b->u)) {
        bool from_signed = ptx_type_is_signed(b->u);
        val x = b->s[0];
        if (has(b, PTX_M_sat))
            x = clamp_int(a, x, from_signed, bits, ptx_type_is_signed(b->t));
        b->d[0] = ir_resize(a, x, bits, from_signed);
    } else if (is_int(b->t)) {
        val x = alu_float_load(a, b->u, b->s[0], has(b, PTX_M_ftz) && b->u == PTX_F32);
        if (!has(b, PTX_M_rzi)) /* the conversion itself goes to zero */
            x = round_to_integral(b, x);
        b->d[0] =
            alu_float_to_int(a, x, bits, ptx_type_is_signed(b->t), b->u == PTX_F64 || bits == 64);
    } else if (is_int(b->u)) {
        int_to_float(b);
    } else {
        float_to_float(b);
    }
}

bool alu_cvt_signature(const struct ptx_instr *i, struct alu_sig *sig, const char **why)
{
    enum ptx_type t = i->types[0], u = i->types[1];
    *why = "has the wrong number of operands";
    if (ptx_has(i, PTX_M_pack)) {
        *sig = (struct alu_sig){.ndst = 1,
                                .nsrc = ptx_type_bits(t) == 16 ? 2 : 3,
                                .dst = {PTX_B32},
                                .src = {u, u, PTX_B32},
                                .pointer_first = 1};
        return i->noperands == 1 + sig->nsrc;
    }
    if ((T(U4) | T(S4) | T(U2) | T(S2)) >> t & 1)
        return *why = "has types of cvt.pack only", false;
    if (ptx_has(i, PTX_M_rs)) { /* of four floats in braces until lowering takes them out */
        bool four = ((T(F16X2) | T(BF16X2)) >> t & 1) == 0,
             braces = i->operands[1].kind == PTX_OPR_VEC;
        *sig = (struct alu_sig){.ndst = 1,
                                .nsrc = four ? 5 : 3,
                                .dst = {t},
                                .src = {u, u, four ? u : PTX_B32, u, PTX_B32},
                                .pointer_first = 1};
        return braces ? four && i->operands[1].nitems == 4 : i->noperands == 1 + sig->nsrc;
    }
    bool two = u == PTX_F32 && (T_PACKED | T_TINY) >> t & 1;
    *sig = (struct alu_sig){
        .ndst = 1, .nsrc = two ? 2 : 1, .dst = {t}, .src = {u, u}, .pointer_first = 1};
    return i->noperands == 1 + sig->nsrc;
}

#define M_RND      PTX_M_rn, PTX_M_rz, PTX_M_rm, PTX_M_rp
#define M_INTEGRAL PTX_M_rni, PTX_M_rzi, PTX_M_rmi, PTX_M_rpi

FORMS(cvt, {PTX_OP_cvt, T_INT8, T_INT8, MODS(PTX_M_sat), "t:u", emit_cvt},
      {PTX_OP_cvt, T(U16) | T(S16) | T(U8) | T(S8) | T(U4) | T(S4) | T(U2) | T(S2), T(S32),
       MODS(PTX_M_pack, PTX_M_sat), "b:ss", emit_pack},
      {PTX_OP_cvt, T_INT8, T_SCALAR, MODS(M_INTEGRAL, PTX_M_ftz, PTX_M_sat), "t:u", emit_cvt},
      {PTX_OP_cvt, T_SCALAR, T_SCALAR,
       MODS(M_RND, M_INTEGRAL, PTX_M_ftz, PTX_M_sat, PTX_M_relu, PTX_M_satfinite), "t:u", emit_cvt},
      {PTX_OP_cvt, T(F16X2) | T(BF16X2), T(F32),
       MODS(PTX_M_rn, PTX_M_rz, PTX_M_relu, PTX_M_satfinite), "t:uu", emit_cvt},
      {PTX_OP_cvt, T(F16X2) | T(BF16X2) | T_TINY4, T(F32),
       MODS(PTX_M_rs, PTX_M_relu, PTX_M_satfinite), "t:u", alu_emit_stochastic},
      {PTX_OP_cvt, T(TF32), T(F32),
       MODS(PTX_M_rna, PTX_M_rn, PTX_M_rz, PTX_M_relu, PTX_M_satfinite), "t:u", emit_cvt},
      {PTX_OP_cvt, T_TINY, T(F32) | T(F16X2), MODS(PTX_M_rn, PTX_M_satfinite, PTX_M_relu), "t:u",
       emit_cvt},
      {PTX_OP_cvt, T(F16X2), T_TINY, MODS(PTX_M_rn, PTX_M_relu), "t:u", emit_cvt},
      {PTX_OP_cvt, T(UE8M0X2), T(F32) | T(BF16X2), MODS(PTX_M_rz, PTX_M_rp, PTX_M_satfinite), "t:u",
       emit_cvt},
      {PTX_OP_cvt, T(BF16X2), T(UE8M0X2), MODS(PTX_M_rn), "t:u", emit_cvt})
