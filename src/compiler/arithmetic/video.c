/* video: the video instructions. The scalar ones take a byte, half or word of each source,
 * compute in 64 bits, and saturate, combine or merge the result; the SIMD ones do two halves or
 * four bytes, selected from both sources, at once.
 *
 * How the parser keeps the selections (ptx_operand): a single part in `select`, 1 to 6; a list of
 * parts (`.b3210`, `.h10`) as its digits, one per hexadecimal digit of imm, with select 7 or 8. */
#include "compiler/arithmetic/table.h"

enum { SELECT_LIST = 7 /* and above */ };

/* ---- scalar ---- */

/* The selected part of a source, extended to 64 bits. */
static val part_of(struct alu *a, const struct ptx_operand *o, val v, bool is_signed)
{
    unsigned bits = o->select == 0 ? 32 : o->select <= 4 ? 8 : 16;
    unsigned at = bits == 32 ? 0 : bits == 8 ? 8 * (o->select - 1u) : 16 * (o->select - 5u);
    if (at)
        v = ir_lshr(a, v, ir_k(v, at));
    return ir_resize(a, ir_zext(a, v, bits), 64, is_signed);
}

static val clamp_to(struct alu *a, val x, unsigned bits, bool is_signed)
{
    uint64_t max = is_signed ? (1ull << (bits - 1)) - 1 : (1ull << bits) - 1;
    val low = is_signed ? LLVMConstSub(ir_neg(a, ir_k(x, max)), ir_k(x, 1)) : ir_k(x, 0);
    return ir_max_s(a, ir_min_s(a, x, ir_k(x, max)), low);
}

/* Saturation, secondary operation and merge of a 64-bit intermediate result. */
static val finish(struct builder *b, val t, bool is_signed)
{
    struct alu *a = b->a;
    unsigned dsel = b->i->operands[0].select, bits = dsel == 0 ? 32 : dsel <= 4 ? 8 : 16;
    if (has(b, PTX_M_sat))
        t = clamp_to(a, t, bits, is_signed);
    if (dsel) {
        unsigned at = bits == 8 ? 8 * (dsel - 1) : 16 * (dsel - 5);
        uint32_t mask = (bits == 8 ? 0xffu : 0xffffu) << at;
        val moved = ir_shl(a, ir_zext(a, t, 32), ir_kn(a, t, 32, at));
        return ir_or(a, ir_and(a, moved, ir_kn(a, t, 32, mask)),
                     ir_and(a, b->s[2], ir_kn(a, t, 32, ~mask)));
    }
    if (has(b, PTX_M_add))
        t = ir_add(a, t, ir_resize(a, b->s[2], 64, is_signed));
    else if (has(b, PTX_M_min))
        t = ir_min_s(a, t, ir_resize(a, b->s[2], 64, is_signed));
    else if (has(b, PTX_M_max))
        t = ir_max_s(a, t, ir_resize(a, b->s[2], 64, is_signed));
    return ir_zext(a, t, 32);
}

static val abs_diff(struct alu *a, val x, val y)
{
    return ir_sub(a, ir_max_s(a, x, y), ir_min_s(a, x, y));
}

static void emit_video(struct builder *b)
{
    struct alu *a = b->a;
    val x = part_of(a, &b->i->operands[1], b->s[0], b->u == PTX_S32);
    val y = part_of(a, &b->i->operands[2], b->s[1], b->i->types[2] == PTX_S32);
    switch (b->i->op) {
    case PTX_OP_vadd: x = ir_add(a, x, y); break;
    case PTX_OP_vsub: x = ir_sub(a, x, y); break;
    case PTX_OP_vabsdiff: x = abs_diff(a, x, y); break;
    case PTX_OP_vmin: x = ir_min_s(a, x, y); break;
    case PTX_OP_vmax: x = ir_max_s(a, x, y); break;
    default: /* shifts */
        y = has(b, PTX_M_wrap) ? ir_and(a, y, ir_k(y, 31)) : ir_min_u(a, y, ir_k(y, 32));
        if (b->i->op == PTX_OP_vshr)
            x = ir_ashr(a, x, y);
        else /* 33 bits by 32 need 65: what does not fit saturates here already */
            x = has(b, PTX_M_sat) ? ir_intr2(a, "llvm.sshl.sat", x, y) : ir_shl(a, x, y);
        break;
    }
    b->d[0] = finish(b, x, b->t == PTX_S32);
}

static void emit_vset(struct builder *b)
{
    struct alu *a = b->a;
    val x = part_of(a, &b->i->operands[1], b->s[0], b->t == PTX_S32);
    val y = part_of(a, &b->i->operands[2], b->s[1], b->u == PTX_S32);
    val t = alu_compare(a, alu_comparison(b->i), x, y, false, true);
    b->d[0] = finish(b, ir_zext(a, t, 64), false);
}

static void emit_vmad(struct builder *b)
{
    struct alu *a = b->a;
    const struct ptx_operand *o = b->i->operands;
    bool sx = b->u == PTX_S32, sy = b->i->types[2] == PTX_S32, po = has(b, PTX_M_po);
    bool minus_product = o[1].neg != o[2].neg, minus_c = o[3].neg;
    bool is_signed = sx || sy || minus_product || minus_c;
    val x = ir_resize(a, part_of(a, &o[1], b->s[0], sx), 128, sx);
    val y = ir_resize(a, part_of(a, &o[2], b->s[1], sy), 128, sy), c = b->s[2];
    val t = ir_mul(a, x, y);
    if (minus_product && !po)
        t = ir_not(a, t);
    else if (minus_c && !po)
        c = ir_not(a, c);
    t = ir_add(a, t, ir_resize(a, c, 128, is_signed));
    if (po || minus_product || minus_c)
        t = ir_add(a, t, ir_k(t, 1));
    if (has(b, PTX_M_shr7) || has(b, PTX_M_shr15)) {
        val n = ir_k(t, has(b, PTX_M_shr7) ? 7 : 15);
        t = is_signed ? ir_ashr(a, t, n) : ir_lshr(a, t, n);
    }
    if (has(b, PTX_M_sat))
        t = clamp_to(a, t, 32, is_signed);
    b->d[0] = ir_zext(a, t, 32);
}

/* ---- SIMD ---- */

/* Parts n-1..0 that a source selects from the 2n parts of both sources. */
static void source_list(const struct ptx_operand *o, unsigned n, bool second, unsigned out[4])
{
    for (unsigned k = 0; k < n; k++)
        out[k] = o->select >= SELECT_LIST ? (unsigned)(o->imm >> 4 * k) & 15 : second ? n + k : k;
}

/* Bit k: part k of the destination is written. Digits fall, so a 0 can only be the last one. */
static unsigned destination_mask(const struct ptx_operand *o, unsigned n)
{
    if (o->select == 0)
        return (1u << n) - 1;
    if (o->select < SELECT_LIST)
        return 1u << (o->select <= 4 ? o->select - 1 : o->select - 5);
    unsigned mask = 0;
    uint64_t digits = o->imm;
    do
        mask |= 1u << (digits & 15);
    while (digits >>= 4);
    return mask;
}

/* The selected parts as i32 elements, n for each lane. */
static val select_parts(struct builder *b, const struct ptx_operand *o, unsigned n, bool second,
                        bool is_signed)
{
    struct alu *a = b->a;
    unsigned bits = 32 / n, from[4];
    val x = ir_split(a, b->s[0], bits), y = ir_split(a, b->s[1], bits), mask[128];
    unsigned count = ir_lanes(x);
    source_list(o, n, second, from);
    for (unsigned k = 0; k < count; k++) {
        unsigned f = from[k % n];
        mask[k] = LLVMConstInt(ir_int(a, 32), k - k % n + f % n + (f >= n ? count : 0), false);
    }
    val r = LLVMBuildShuffleVector(a->b, x, y, LLVMConstVector(mask, count), "");
    return ir_resize(a, r, 32, is_signed);
}

/* Part k of each lane's n. */
static val pick(struct alu *a, val v, unsigned n, unsigned k)
{
    unsigned lanes = ir_lanes(v) / n;
    if (lanes == 1)
        return ir_extract(a, v, k, 1);
    val mask[32];
    for (unsigned l = 0; l < lanes; l++)
        mask[l] = LLVMConstInt(ir_int(a, 32), l * n + k, false);
    return LLVMBuildShuffleVector(a->b, v, LLVMGetPoison(LLVMTypeOf(v)),
                                  LLVMConstVector(mask, lanes), "");
}

/* Adds the written parts to c, or replaces c's parts by them. */
static val finish_simd(struct builder *b, val t, unsigned n)
{
    struct alu *a = b->a;
    unsigned written = destination_mask(&b->i->operands[0], n), count = ir_lanes(t);
    if (has(b, PTX_M_add)) {
        val sum = b->s[2];
        for (unsigned k = 0; k < n; k++)
            if (written >> k & 1)
                sum = ir_add(a, sum, pick(a, t, n, k));
        return sum;
    }
    val old = ir_split(a, b->s[2], 32 / n), mask[128];
    for (unsigned k = 0; k < count; k++)
        mask[k] = LLVMConstInt(ir_int(a, 32), written >> k % n & 1 ? k : k + count, false);
    val r =
        LLVMBuildShuffleVector(a->b, ir_zext(a, t, 32 / n), old, LLVMConstVector(mask, count), "");
    return ir_join(a, r, 32);
}

static void video_simd(struct builder *b, unsigned n)
{
    struct alu *a = b->a;
    val x = select_parts(b, &b->i->operands[1], n, false, b->u == PTX_S32);
    val y = select_parts(b, &b->i->operands[2], n, true, b->i->types[2] == PTX_S32);
    switch (b->i->op) {
    case PTX_OP_vadd2:
    case PTX_OP_vadd4: x = ir_add(a, x, y); break;
    case PTX_OP_vsub2:
    case PTX_OP_vsub4: x = ir_sub(a, x, y); break;
    case PTX_OP_vabsdiff2:
    case PTX_OP_vabsdiff4: x = abs_diff(a, x, y); break;
    case PTX_OP_vmin2:
    case PTX_OP_vmin4: x = ir_min_s(a, x, y); break;
    case PTX_OP_vmax2:
    case PTX_OP_vmax4: x = ir_max_s(a, x, y); break;
    default: { /* average, halves away from zero for what is not negative */
        val sum = ir_add(a, x, y), one = ir_k(sum, 1);
        val up = ir_select(a, ir_icmp(a, LLVMIntSGE, sum, ir_k(sum, 0)), one, ir_k(sum, 0));
        x = ir_ashr(a, ir_add(a, sum, up), one);
        break;
    }
    }
    if (has(b, PTX_M_sat))
        x = clamp_to(a, x, 32 / n, b->t == PTX_S32);
    b->d[0] = finish_simd(b, x, n);
}

static void emit_video2(struct builder *b) { video_simd(b, 2); }
static void emit_video4(struct builder *b) { video_simd(b, 4); }

static void vset_simd(struct builder *b, unsigned n)
{
    struct alu *a = b->a;
    val x = select_parts(b, &b->i->operands[1], n, false, b->t == PTX_S32);
    val y = select_parts(b, &b->i->operands[2], n, true, b->u == PTX_S32);
    val t = alu_compare(a, alu_comparison(b->i), x, y, false, true);
    b->d[0] = finish_simd(b, ir_zext(a, t, 32), n);
}

static void emit_vset2(struct builder *b) { vset_simd(b, 2); }
static void emit_vset4(struct builder *b) { vset_simd(b, 4); }

#define M_SECOND  PTX_M_add, PTX_M_min, PTX_M_max
#define M_CMP     PTX_M_eq, PTX_M_ne, PTX_M_lt, PTX_M_le, PTX_M_gt, PTX_M_ge
#define VIDEO(op) {op, T_I32, T_I32, MODS(PTX_M_sat, M_SECOND), "b:bb?b", emit_video}
#define VSHIFT(op)                                                                                 \
    {op, T_I32, T_I32, MODS(PTX_M_sat, PTX_M_clamp, PTX_M_wrap, M_SECOND), "b:bb?b", emit_video}
#define VIDEO2(op) {op, T_I32, T_I32, MODS(PTX_M_sat, PTX_M_add), "b:bbb", emit_video2}
#define VIDEO4(op) {op, T_I32, T_I32, MODS(PTX_M_sat, PTX_M_add), "b:bbb", emit_video4}

FORMS(video, VIDEO(PTX_OP_vadd), VIDEO(PTX_OP_vsub), VIDEO(PTX_OP_vabsdiff), VIDEO(PTX_OP_vmin),
      VIDEO(PTX_OP_vmax), VSHIFT(PTX_OP_vshl), VSHIFT(PTX_OP_vshr),
      {PTX_OP_vset, T_I32, T_I32, MODS(M_CMP, M_SECOND), "b:bb?b", emit_vset},
      {PTX_OP_vmad, T_I32, T_I32, MODS(PTX_M_sat, PTX_M_po, PTX_M_shr7, PTX_M_shr15), "b:bbb",
       emit_vmad},
      VIDEO2(PTX_OP_vadd2), VIDEO2(PTX_OP_vsub2), VIDEO2(PTX_OP_vavrg2), VIDEO2(PTX_OP_vabsdiff2),
      VIDEO2(PTX_OP_vmin2), VIDEO2(PTX_OP_vmax2), VIDEO4(PTX_OP_vadd4), VIDEO4(PTX_OP_vsub4),
      VIDEO4(PTX_OP_vavrg4), VIDEO4(PTX_OP_vabsdiff4), VIDEO4(PTX_OP_vmin4), VIDEO4(PTX_OP_vmax4),
      {PTX_OP_vset2, T_I32, T_I32, MODS(M_CMP, PTX_M_add), "b:bbb", emit_vset2},
      {PTX_OP_vset4, T_I32, T_I32, MODS(M_CMP, PTX_M_add), "b:bbb", emit_vset4})
