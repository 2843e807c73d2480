/* bits: logic, shifts, bit fields, counts and permutations of bytes. */
#include "compiler/arithmetic/table.h"

/* ---- logic ---- */

static void emit_and(struct builder *b) { b->d[0] = ir_and(b->a, b->s[0], b->s[1]); }
static void emit_or(struct builder *b) { b->d[0] = ir_or(b->a, b->s[0], b->s[1]); }
static void emit_xor(struct builder *b) { b->d[0] = ir_xor(b->a, b->s[0], b->s[1]); }
static void emit_not(struct builder *b) { b->d[0] = ir_not(b->a, b->s[0]); }

static void emit_cnot(struct builder *b)
{
    struct alu *a = b->a;
    val zero = ir_icmp(a, LLVMIntEQ, b->s[0], ir_k(b->s[0], 0));
    b->d[0] = ir_zext(a, zero, ir_bits(b->s[0]));
}

/* A logical function of v[0..n-1] given by its table: the half where v[0] is 0, changed where v[0]
 * is 1 by the difference of the halves. LLVM makes one vpternlog of what comes out. */
static val lut_function(struct alu *a, const val *v, unsigned n, unsigned lut)
{
    unsigned half = 1u << (n - 1), low = lut & ((1u << half) - 1), diff = low ^ (lut >> half);
    if (n == 1) {
        val base = ir_k(v[0], low ? ~0ull : 0);
        return diff ? ir_xor(a, base, v[0]) : base;
    }
    val base = lut_function(a, v + 1, n - 1, low);
    if (!diff)
        return base;
    return ir_xor(a, base, ir_and(a, v[0], lut_function(a, v + 1, n - 1, diff)));
}

/* The same when the table is a run-time value: each of the eight minterms under its bit. */
static val lut_variable(struct alu *a, const val *v, val lut)
{
    val r = ir_k(lut, 0);
    for (unsigned k = 0; k < 8; k++) {
        val term = ir_k(lut, ~0ull);
        for (unsigned j = 0; j < 3; j++)
            term = ir_and(a, term, k >> (2 - j) & 1 ? v[j] : ir_not(a, v[j]));
        val bit = ir_and(a, ir_lshr(a, lut, ir_k(lut, k)), ir_k(lut, 1));
        r = ir_or(a, r, ir_and(a, term, ir_neg(a, bit)));
    }
    return r;
}

static void emit_lop3(struct builder *b)
{
    struct alu *a = b->a;
    uint64_t lut;
    b->d[0] = ir_const(b->s[3], &lut) ? lut_function(a, b->s, 3, (unsigned)lut & 255)
                                      : lut_variable(a, b->s, b->s[3]);
    if (!has(b, PTX_M_and) && !has(b, PTX_M_or))
        return;
    val some = ir_icmp(a, LLVMIntNE, b->d[0], ir_k(b->d[0], 0));
    b->d[1] = has(b, PTX_M_and) ? ir_and(a, some, b->s[4]) : ir_or(a, some, b->s[4]);
}

/* ---- shifts ---- */

/* The u32 count in the width of x. A 16-bit count is cut only after clamping. */
static val shift_count(struct alu *a, val x, val n)
{
    if (ir_bits(x) == 16)
        n = ir_min_u(a, n, ir_k(n, 16));
    return ir_zext(a, n, ir_bits(x));
}

static void emit_shl(struct builder *b)
{
    b->d[0] = ir_shl_clamp(b->a, b->s[0], shift_count(b->a, b->s[0], b->s[1]));
}

static void emit_shr(struct builder *b)
{
    val n = shift_count(b->a, b->s[0], b->s[1]);
    b->d[0] = ptx_type_is_signed(b->t) ? ir_ashr_clamp(b->a, b->s[0], n)
                                       : ir_lshr_clamp(b->a, b->s[0], n);
}

/* LLVM's funnel shifts wrap the count; a clamped count of 32 moves one whole word. */
static void emit_shf(struct builder *b)
{
    struct alu *a = b->a;
    bool left = has(b, PTX_M_l);
    val lo = b->s[0], hi = b->s[1], n = b->s[2];
    val r = ir_intr3(a, left ? "llvm.fshl" : "llvm.fshr", hi, lo, n);
    if (!has(b, PTX_M_wrap)) {
        val all = ir_icmp(a, LLVMIntUGE, n, ir_k(n, 32));
        r = ir_select(a, all, left ? lo : hi, r);
    }
    b->d[0] = r;
}

/* ---- counts ---- */

static val leading_zeros(struct alu *a, val x)
{
    val poison = LLVMConstInt(ir_int(a, 1), 0, false);
    return ir_intr2(a, "llvm.ctlz", x, poison);
}

static void emit_popc(struct builder *b)
{
    b->d[0] = ir_zext(b->a, ir_intr1(b->a, "llvm.ctpop", b->s[0]), 32);
}

static void emit_clz(struct builder *b)
{
    b->d[0] = ir_zext(b->a, leading_zeros(b->a, b->s[0]), 32);
}

static void emit_brev(struct builder *b) { b->d[0] = ir_intr1(b->a, "llvm.bitreverse", b->s[0]); }

static void emit_bfind(struct builder *b)
{
    struct alu *a = b->a;
    val x = b->s[0];
    if (ptx_type_is_signed(b->t)) /* negative ones are complemented */
        x = ir_xor(a, x, ir_ashr(a, x, ir_k(x, ir_bits(x) - 1)));
    val n = leading_zeros(a, x);
    if (has(b, PTX_M_shiftamt))
        n = ir_select(a, ir_icmp(a, LLVMIntEQ, x, ir_k(x, 0)), ir_k(n, ~0ull), n);
    else /* of nothing: width - 1 - width, that is all ones */
        n = ir_sub(a, ir_k(n, ir_bits(x) - 1), n);
    b->d[0] = ir_zext(a, n, 32);
}

static void emit_fns(struct builder *b)
{
    val r = ir_k(b->s[0], 0);
    ir_call_lanes(b->a, "weir_alu_fns", NULL, b->s, 3, &r, 1);
    b->d[0] = r;
}

/* ---- bit fields ---- */

/* A position or length in a field of `bits`: of 32 bits GPUs look at the low byte only, as the ISA
 * says, of 64 bits at the whole number. */
static val amount_of(struct alu *a, val x, unsigned bits)
{
    return bits == 64 ? ir_zext(a, x, 64) : ir_and(a, x, ir_k(x, 255));
}

/* The field goes to the top of the word by a left shift, then down by an arithmetic or logical one
 * that repeats its sign. A field that reaches beyond the word needs no left shift. */
static void emit_bfe(struct builder *b)
{
    struct alu *a = b->a;
    val x = b->s[0];
    unsigned bits = ir_bits(x);
    val pos = amount_of(a, b->s[1], bits), len = amount_of(a, b->s[2], bits), width = ir_k(x, bits);
    val end = ir_min_u(a, ir_add(a, pos, len), width), up = ir_sub(a, width, end);
    val top = ir_shl_clamp(a, x, up), down = ir_add(a, pos, up);
    val r = ptx_type_is_signed(b->t) ? ir_ashr_clamp(a, top, down) : ir_lshr_clamp(a, top, down);
    b->d[0] = ir_select(a, ir_icmp(a, LLVMIntEQ, len, ir_k(x, 0)), ir_k(x, 0), r);
}

static void emit_bfi(struct builder *b)
{
    struct alu *a = b->a;
    val into = b->s[1];
    unsigned bits = ir_bits(into);
    val pos = amount_of(a, b->s[2], bits), len = amount_of(a, b->s[3], bits),
        ones = ir_k(into, ~0ull);
    val field = ir_not(a, ir_shl_clamp(a, ones, len));
    val mask = ir_shl_clamp(a, field, pos), moved = ir_shl_clamp(a, b->s[0], pos);
    b->d[0] = ir_or(a, ir_and(a, into, ir_not(a, mask)), ir_and(a, moved, mask));
}

static void emit_szext(struct builder *b)
{
    struct alu *a = b->a;
    val x = b->s[0], n = b->s[1], width = ir_k(x, 32);
    if (has(b, PTX_M_wrap))
        n = ir_and(a, n, ir_k(n, 31));
    val up = ir_sub(a, width, ir_min_u(a, n, width)), top = ir_shl_clamp(a, x, up);
    /* n == 0 shifts everything out, so that both kinds of shift leave 0. */
    b->d[0] = b->t == PTX_S32 ? ir_ashr_clamp(a, top, up) : ir_lshr_clamp(a, top, up);
}

/* Ones at and above a1, less those at and above a1 + b1. */
static void emit_bmsk(struct builder *b)
{
    struct alu *a = b->a;
    val pos = b->s[0], width = b->s[1], ones = ir_k(pos, ~0ull);
    if (has(b, PTX_M_wrap)) {
        pos = ir_and(a, pos, ir_k(pos, 31));
        width = ir_and(a, width, ir_k(width, 31));
    }
    val field = ir_not(a, ir_shl_clamp(a, ones, width));
    b->d[0] = ir_shl_clamp(a, field, pos);
}

/* ---- prmt ---- */

/* Selector nibbles of each mode for the low two bits of the control, 0 first. */
static const struct {
    uint16_t mod, select[4];
} prmt_modes[] = {
    {PTX_M_f4e, {0x3210, 0x4321, 0x5432, 0x6543}}, {PTX_M_b4e, {0x5670, 0x6701, 0x7012, 0x0123}},
    {PTX_M_rc8, {0x0000, 0x1111, 0x2222, 0x3333}}, {PTX_M_ecl, {0x3210, 0x3211, 0x3222, 0x3333}},
    {PTX_M_ecr, {0x0000, 0x1110, 0x2210, 0x3210}}, {PTX_M_rc16, {0x1010, 0x3232, 0x1010, 0x3232}},
};

/* A known selector is a shuffle of bytes. */
static val prmt_constant(struct alu *a, val x, val y, unsigned select)
{
    unsigned lanes = ir_lanes(x), n = 4 * lanes;
    val mask[128], bytes[2] = {ir_split(a, x, 8), ir_split(a, y, 8)};
    for (unsigned k = 0; k < n; k++) {
        unsigned from = select >> 4 * (k % 4) & 7;
        mask[k] = LLVMConstInt(ir_int(a, 32), (k & ~3u) + (from & 3) + (from >= 4 ? n : 0), false);
    }
    val r = LLVMBuildShuffleVector(a->b, bytes[0], bytes[1], LLVMConstVector(mask, n), "");
    if (select & 0x8888) { /* bytes that repeat the sign instead */
        val sign = ir_ashr(a, r, ir_k(r, 7));
        for (unsigned k = 0; k < n; k++)
            mask[k] = LLVMConstInt(ir_int(a, 32), select >> 4 * (k % 4) & 8 ? k + n : k, false);
        r = LLVMBuildShuffleVector(a->b, r, sign, LLVMConstVector(mask, n), "");
    }
    return ir_join(a, r, 32);
}

static val prmt_variable(struct alu *a, val x, val y, val select, bool with_sign)
{
    val wide = ir_or(a, ir_shl(a, ir_zext(a, y, 64), ir_kn(a, x, 64, 32)), ir_zext(a, x, 64));
    val r = ir_k(x, 0);
    for (unsigned k = 0; k < 4; k++) {
        val nibble = ir_lshr(a, select, ir_k(select, 4 * k));
        val shift = ir_shl(a, ir_and(a, nibble, ir_k(nibble, 7)), ir_k(nibble, 3));
        val byte = ir_zext(a, ir_lshr(a, wide, ir_zext(a, shift, 64)), 32);
        byte = ir_and(a, byte, ir_k(byte, 255));
        if (with_sign) {
            val sign = ir_sub(a, ir_k(byte, 0), ir_lshr(a, byte, ir_k(byte, 7)));
            val repeat = ir_and(a, nibble, ir_k(nibble, 8));
            byte = ir_select(a, ir_icmp(a, LLVMIntEQ, repeat, ir_k(nibble, 0)), byte,
                             ir_and(a, sign, ir_k(sign, 255)));
        }
        r = ir_or(a, r, ir_shl(a, byte, ir_k(byte, 8 * k)));
    }
    return r;
}

static void emit_prmt(struct builder *b)
{
    struct alu *a = b->a;
    val control = b->s[2];
    uint64_t c;
    bool known = ir_const(control, &c), generic = true;
    for (size_t m = 0; m < WEIR_COUNT(prmt_modes); m++) {
        if (!has(b, prmt_modes[m].mod))
            continue;
        const uint16_t *select = prmt_modes[m].select;
        generic = false;
        if (known) {
            c = select[c & 3];
            break;
        }
        val low = ir_and(a, control, ir_k(control, 3)), r = ir_k(control, select[3]);
        for (unsigned k = 0; k < 3; k++)
            r = ir_select(a, ir_icmp(a, LLVMIntEQ, low, ir_k(low, k)), ir_k(r, select[k]), r);
        control = r;
        break;
    }
    b->d[0] = known ? prmt_constant(a, b->s[0], b->s[1], (unsigned)c & 0xffff)
                    : prmt_variable(a, b->s[0], b->s[1], control, generic);
}

#define T_B3264 (T(B32) | T(B64))

FORMS(bit, {PTX_OP_and, T_B | T(PRED), 0, MODS(), "t:tt", emit_and},
      {PTX_OP_or, T_B | T(PRED), 0, MODS(), "t:tt", emit_or},
      {PTX_OP_xor, T_B | T(PRED), 0, MODS(), "t:tt", emit_xor},
      {PTX_OP_not, T_B | T(PRED), 0, MODS(), "t:t", emit_not},
      {PTX_OP_cnot, T_B, 0, MODS(), "t:t", emit_cnot},
      {PTX_OP_lop3, T(B32), 0, MODS(), "t:tttb", emit_lop3},
      {PTX_OP_lop3, T(B32), 0, MODS(PTX_M_and, PTX_M_or), "tp:tttbp", emit_lop3},
      {PTX_OP_shl, T_B, 0, MODS(), "t:ti", emit_shl},
      {PTX_OP_shr, T_B | T_INT, 0, MODS(), "t:ti", emit_shr},
      {PTX_OP_shf, T(B32), 0, MODS(PTX_M_l, PTX_M_r, PTX_M_clamp, PTX_M_wrap), "t:tti", emit_shf},
      {PTX_OP_popc, T_B3264, 0, MODS(), "i:t", emit_popc},
      {PTX_OP_clz, T_B3264, 0, MODS(), "i:t", emit_clz},
      {PTX_OP_brev, T_B3264, 0, MODS(), "t:t", emit_brev},
      {PTX_OP_bfind, T_I3264, 0, MODS(PTX_M_shiftamt), "i:t", emit_bfind},
      {PTX_OP_fns, T(B32), 0, MODS(), "b:bbs", emit_fns},
      {PTX_OP_bfe, T_I3264, 0, MODS(), "t:tii", emit_bfe},
      {PTX_OP_bfi, T_B3264, 0, MODS(), "t:ttii", emit_bfi},
      {PTX_OP_szext, T_I32, 0, MODS(PTX_M_clamp, PTX_M_wrap), "t:ti", emit_szext},
      {PTX_OP_bmsk, T(B32), 0, MODS(PTX_M_clamp, PTX_M_wrap), "t:bb", emit_bmsk},
      {PTX_OP_prmt, T(B32), 0,
       MODS(PTX_M_f4e, PTX_M_b4e, PTX_M_rc8, PTX_M_ecl, PTX_M_ecr, PTX_M_rc16), "b:bbb", emit_prmt})
