/* integer: integer arithmetic, with and without the carry flag, and its packed forms. Division is
 * in division.c, bits are in bits.c. */
#include "compiler/arithmetic/division.h"
#include "compiler/arithmetic/table.h"

/* ---- the carry flag ---- */

/* x + y + carry-in, carry-out. The sum wraps when it is below x, and again when the carry-in makes
 * it wrap; both cannot happen. */
static void add_carry(struct builder *b, val x, val y, val carry_in)
{
    struct alu *a = b->a;
    val sum = ir_add(a, x, y), out = ir_icmp(a, LLVMIntULT, sum, x);
    if (carry_in != NULL) {
        val with = ir_add(a, sum, ir_zext(a, carry_in, ir_bits(sum)));
        out = ir_or(a, out, ir_icmp(a, LLVMIntULT, with, sum));
        sum = with;
    }
    b->d[0] = sum;
    if (has(b, PTX_M_cc))
        b->d[1] = out;
}

static void sub_borrow(struct builder *builder, val x, val y, val borrow_in)
{
    struct alu *a = builder->a;
    val diff = ir_sub(a, x, y), out = ir_icmp(a, LLVMIntULT, x, y);
    if (borrow_in != NULL) {
        val b = ir_zext(a, borrow_in, ir_bits(x)), with = ir_sub(a, diff, b);
        out = ir_or(a, out, ir_icmp(a, LLVMIntULT, diff, b));
        diff = with;
    }
    builder->d[0] = diff;
    if (has(builder, PTX_M_cc))
        builder->d[1] = out;
}

static void emit_addc(struct builder *b) { add_carry(b, b->s[0], b->s[1], b->s[2]); }
static void emit_subc(struct builder *b) { sub_borrow(b, b->s[0], b->s[1], b->s[2]); }

/* ---- sums ---- */

static bool is_packed(enum ptx_type t) { return t == PTX_U16X2 || t == PTX_S16X2; }

static void emit_add(struct builder *b)
{
    struct alu *a = b->a;
    if (has(b, PTX_M_cc))
        add_carry(b, b->s[0], b->s[1], NULL);
    else if (has(b, PTX_M_sat))
        b->d[0] = ir_intr2(a, "llvm.sadd.sat", b->s[0], b->s[1]);
    else if (is_packed(b->t))
        b->d[0] = ir_join(a, ir_add(a, ir_split(a, b->s[0], 16), ir_split(a, b->s[1], 16)), 32);
    else
        b->d[0] = ir_add(a, b->s[0], b->s[1]);
}

static void emit_sub(struct builder *b)
{
    struct alu *a = b->a;
    if (has(b, PTX_M_cc))
        sub_borrow(b, b->s[0], b->s[1], NULL);
    else if (has(b, PTX_M_sat))
        b->d[0] = ir_intr2(a, "llvm.ssub.sat", b->s[0], b->s[1]);
    else
        b->d[0] = ir_sub(a, b->s[0], b->s[1]);
}

/* ---- products ---- */

static val mul_hi_64(struct alu *a, val x, val y, bool is_signed)
{
    val hi = alu_mul_hi_64(a, x, y);
    if (!is_signed)
        return hi;
    val top = ir_k(x, 63);
    hi = ir_sub(a, hi, ir_and(a, ir_ashr(a, x, top), y));
    return ir_sub(a, hi, ir_and(a, ir_ashr(a, y, top), x));
}

static val mul_hi(struct alu *a, val x, val y, bool is_signed)
{
    unsigned bits = ir_bits(x);
    if (bits == 64 && ir_lanes(x) > 1)
        return mul_hi_64(a, x, y, is_signed);
    val p = ir_mul(a, ir_resize(a, x, 2 * bits, is_signed), ir_resize(a, y, 2 * bits, is_signed));
    return ir_zext(a, ir_lshr(a, p, ir_k(p, bits)), bits);
}

static val product(struct builder *b)
{
    struct alu *a = b->a;
    bool is_signed = ptx_type_is_signed(b->t);
    if (has(b, PTX_M_hi))
        return mul_hi(a, b->s[0], b->s[1], is_signed);
    if (!has(b, PTX_M_wide))
        return ir_mul(a, b->s[0], b->s[1]);
    unsigned bits = 2 * ir_bits(b->s[0]);
    return ir_mul(a, ir_resize(a, b->s[0], bits, is_signed),
                  ir_resize(a, b->s[1], bits, is_signed));
}

static void emit_mul(struct builder *b) { b->d[0] = product(b); }

static void emit_mad(struct builder *b)
{
    val p = product(b);
    if (has(b, PTX_M_cc))
        add_carry(b, p, b->s[2], NULL);
    else if (has(b, PTX_M_sat))
        b->d[0] = ir_intr2(b->a, "llvm.sadd.sat", p, b->s[2]);
    else
        b->d[0] = ir_add(b->a, p, b->s[2]);
}

static void emit_madc(struct builder *b) { add_carry(b, product(b), b->s[2], b->s[3]); }

/* Bits 47..16 or 31..0 of a product of 24-bit integers. */
static val product_24(struct builder *b)
{
    struct alu *a = b->a;
    bool is_signed = b->t == PTX_S32;
    val x[2];
    for (int k = 0; k < 2; k++) {
        if (is_signed) {
            val shift = ir_k(b->s[k], 8);
            x[k] = ir_ashr(a, ir_shl(a, b->s[k], shift), shift);
        } else {
            x[k] = ir_and(a, b->s[k], ir_k(b->s[k], 0xffffff));
        }
    }
    if (!has(b, PTX_M_hi))
        return ir_mul(a, x[0], x[1]);
    val p = ir_mul(a, ir_resize(a, x[0], 64, is_signed), ir_resize(a, x[1], 64, is_signed));
    return ir_zext(a, ir_lshr(a, p, ir_k(p, 16)), 32);
}

static void emit_mul24(struct builder *b) { b->d[0] = product_24(b); }

static void emit_mad24(struct builder *b)
{
    val p = product_24(b);
    b->d[0] =
        has(b, PTX_M_sat) ? ir_intr2(b->a, "llvm.sadd.sat", p, b->s[2]) : ir_add(b->a, p, b->s[2]);
}

/* Part k of x, `bits` wide, extended to 32 bits. */
static val part(struct alu *a, val x, unsigned bits, unsigned k, bool is_signed)
{
    if (is_signed)
        return ir_ashr(a, ir_shl(a, x, ir_k(x, 32 - bits * (k + 1))), ir_k(x, 32 - bits));
    val r = ir_lshr(a, x, ir_k(x, bits * k));
    return bits * (k + 1) == 32 ? r : ir_and(a, r, ir_k(x, (1u << bits) - 1));
}

/* The four products of bytes and their sum, by the instruction for products of 16 bits that adds
 * them in pairs: even bytes and odd bytes. None of its sums leaves 32 bits. */
static val dp4a_piece(struct alu *a, const val *s, void *arg)
{
    const struct builder *b = arg;
    val half[2][2]; /* bytes 0 and 2, 1 and 3; of each source */
    unsigned lanes = ir_lanes(s[0]);
    for (int k = 0; k < 2; k++) {
        bool is_signed = (k == 0 ? b->t : b->u) == PTX_S32;
        val x = LLVMBuildBitCast(a->b, s[k], ir_vec(ir_int(a, 16), 2 * lanes), "");
        val eight = ir_k(x, 8);
        half[0][k] =
            is_signed ? ir_ashr(a, ir_shl(a, x, eight), eight) : ir_and(a, x, ir_k(x, 0xff));
        half[1][k] = is_signed ? ir_ashr(a, x, eight) : ir_lshr(a, x, eight);
    }
    const char *name = lanes == 16 ? "llvm.x86.avx512.pmaddw.d.512" : "llvm.x86.avx2.pmadd.wd";
    return ir_add(a, ir_intr0(a, name, half[0], 2), ir_intr0(a, name, half[1], 2));
}

static void emit_dp4a(struct builder *b)
{
    struct alu *a = b->a;
    unsigned width = a->has_avx512 ? 16 : 8;
    val sum = b->s[2];
    if (a->has_avx2 && ir_lanes(sum) >= width) {
        b->d[0] = ir_add(a, sum, ir_pieces(a, width, b->s, 2, dp4a_piece, b));
        return;
    }
    for (unsigned k = 0; k < 4; k++)
        sum = ir_add(a, sum,
                     ir_mul(a, part(a, b->s[0], 8, k, b->t == PTX_S32),
                            part(a, b->s[1], 8, k, b->u == PTX_S32)));
    b->d[0] = sum;
}

static void emit_dp2a(struct builder *b)
{
    struct alu *a = b->a;
    unsigned first = has(b, PTX_M_hi) ? 2 : 0;
    val sum = b->s[2];
    for (unsigned k = 0; k < 2; k++)
        sum = ir_add(a, sum,
                     ir_mul(a, part(a, b->s[0], 16, k, b->t == PTX_S32),
                            part(a, b->s[1], 8, first + k, b->u == PTX_S32)));
    b->d[0] = sum;
}

/* ---- the rest ---- */

static void emit_abs(struct builder *b)
{
    val wraps = LLVMConstInt(ir_int(b->a, 1), 0, false);
    b->d[0] = ir_intr2(b->a, "llvm.abs", b->s[0], wraps);
}

static void emit_neg(struct builder *b) { b->d[0] = ir_neg(b->a, b->s[0]); }

static void emit_min_max(struct builder *b)
{
    struct alu *a = b->a;
    bool max = b->i->op == PTX_OP_max, is_signed = ptx_type_is_signed(b->t),
         packed = is_packed(b->t);
    val x = packed ? ir_split(a, b->s[0], 16) : b->s[0];
    val y = packed ? ir_split(a, b->s[1], 16) : b->s[1];
    val r = ir_intr2(
        a, is_signed ? (max ? "llvm.smax" : "llvm.smin") : (max ? "llvm.umax" : "llvm.umin"), x, y);
    if (has(b, PTX_M_relu))
        r = ir_max_s(a, r, ir_k(r, 0));
    b->d[0] = packed ? ir_join(a, r, 32) : r;
}

static void emit_sad(struct builder *b)
{
    struct alu *a = b->a;
    bool is_signed = ptx_type_is_signed(b->t);
    val max = ir_intr2(a, is_signed ? "llvm.smax" : "llvm.umax", b->s[0], b->s[1]);
    val min = ir_intr2(a, is_signed ? "llvm.smin" : "llvm.umin", b->s[0], b->s[1]);
    b->d[0] = ir_add(a, b->s[2], ir_sub(a, max, min));
}

static void emit_div(struct builder *b)
{
    b->d[0] = alu_int_div(b->a, b->s[0], b->s[1], ptx_type_is_signed(b->t), false);
}

static void emit_rem(struct builder *b)
{
    b->d[0] = alu_int_div(b->a, b->s[0], b->s[1], ptx_type_is_signed(b->t), true);
}

#define T_X2 (T(U16X2) | T(S16X2))

FORMS(int, {PTX_OP_add, T(S32), 0, MODS(PTX_M_sat, PTX_M_cc), "t:tt", emit_add},
      {PTX_OP_add, T_I3264, 0, MODS(PTX_M_cc), "t:tt", emit_add},
      {PTX_OP_add, T_INT | T_X2, 0, MODS(), "t:tt", emit_add},
      {PTX_OP_sub, T(S32), 0, MODS(PTX_M_sat, PTX_M_cc), "t:tt", emit_sub},
      {PTX_OP_sub, T_I3264, 0, MODS(PTX_M_cc), "t:tt", emit_sub},
      {PTX_OP_sub, T_INT, 0, MODS(), "t:tt", emit_sub},
      {PTX_OP_addc, T_I3264, 0, MODS(PTX_M_cc), "t:tt", emit_addc},
      {PTX_OP_addc, T_I16, 0, MODS(), "t:tt", emit_addc},
      {PTX_OP_subc, T_I3264, 0, MODS(PTX_M_cc), "t:tt", emit_subc},
      {PTX_OP_subc, T_I16, 0, MODS(), "t:tt", emit_subc},
      {PTX_OP_mul, T_INT, 0, MODS(PTX_M_lo, PTX_M_hi), "t:tt", emit_mul},
      {PTX_OP_mul, T_I32 | T_I16, 0, MODS(PTX_M_wide), "w:tt", emit_mul},
      {PTX_OP_mad, T(S32), 0, MODS(PTX_M_hi, PTX_M_sat), "t:ttt", emit_mad},
      {PTX_OP_mad, T_I3264, 0, MODS(PTX_M_lo, PTX_M_hi, PTX_M_cc), "t:ttt", emit_mad},
      {PTX_OP_mad, T_INT, 0, MODS(PTX_M_lo, PTX_M_hi), "t:ttt", emit_mad},
      {PTX_OP_mad, T_I32 | T_I16, 0, MODS(PTX_M_wide), "w:ttw", emit_mad},
      {PTX_OP_madc, T_I3264, 0, MODS(PTX_M_lo, PTX_M_hi, PTX_M_cc), "t:ttt", emit_madc},
      {PTX_OP_madc, T_I16, 0, MODS(PTX_M_lo), "t:ttt", emit_madc},
      {PTX_OP_mul24, T_I32, 0, MODS(PTX_M_lo, PTX_M_hi), "t:tt", emit_mul24},
      {PTX_OP_mad24, T(S32), 0, MODS(PTX_M_hi, PTX_M_sat), "t:ttt", emit_mad24},
      {PTX_OP_mad24, T_I32, 0, MODS(PTX_M_lo, PTX_M_hi), "t:ttt", emit_mad24},
      {PTX_OP_sad, T_INT, 0, MODS(), "t:ttt", emit_sad},
      {PTX_OP_div, T_INT, 0, MODS(), "t:tt", emit_div},
      {PTX_OP_rem, T_INT, 0, MODS(), "t:tt", emit_rem},
      {PTX_OP_abs, T_S, 0, MODS(), "t:t", emit_abs}, {PTX_OP_neg, T_S, 0, MODS(), "t:t", emit_neg},
      {PTX_OP_min, T(S32) | T(S16X2), 0, MODS(PTX_M_relu), "t:tt", emit_min_max},
      {PTX_OP_min, T_INT | T_X2, 0, MODS(), "t:tt", emit_min_max},
      {PTX_OP_max, T(S32) | T(S16X2), 0, MODS(PTX_M_relu), "t:tt", emit_min_max},
      {PTX_OP_max, T_INT | T_X2, 0, MODS(), "t:tt", emit_min_max},
      {PTX_OP_dp4a, T_I32, T_I32, MODS(), "b:bbb", emit_dp4a},
      {PTX_OP_dp2a, T_I32, T_I32, MODS(PTX_M_lo, PTX_M_hi), "b:bbb", emit_dp2a})
