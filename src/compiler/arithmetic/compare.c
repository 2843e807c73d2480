/* compare: comparisons and selections. */
#include "compiler/arithmetic/table.h"

/* ---- comparing ---- */

enum ptx_mod alu_comparison(const struct ptx_instr *i)
{
    for (int k = 0; k < i->nmods; k++) {
        switch (i->mods[k]) {
        case PTX_M_eq:
        case PTX_M_ne:
        case PTX_M_lt:
        case PTX_M_le:
        case PTX_M_gt:
        case PTX_M_ge:
        case PTX_M_lo:
        case PTX_M_ls:
        case PTX_M_hi:
        case PTX_M_hs:
        case PTX_M_equ:
        case PTX_M_neu:
        case PTX_M_ltu:
        case PTX_M_leu:
        case PTX_M_gtu:
        case PTX_M_geu:
        case PTX_M_num:
        case PTX_M_nan: return i->mods[k];
        default: break;
        }
    }
    return PTX_M_NONE;
}

static LLVMRealPredicate float_predicate(enum ptx_mod cmp)
{
    switch (cmp) {
    case PTX_M_eq: return LLVMRealOEQ;
    case PTX_M_ne: return LLVMRealONE;
    case PTX_M_lt: return LLVMRealOLT;
    case PTX_M_le: return LLVMRealOLE;
    case PTX_M_gt: return LLVMRealOGT;
    case PTX_M_ge: return LLVMRealOGE;
    case PTX_M_equ: return LLVMRealUEQ;
    case PTX_M_neu: return LLVMRealUNE;
    case PTX_M_ltu: return LLVMRealULT;
    case PTX_M_leu: return LLVMRealULE;
    case PTX_M_gtu: return LLVMRealUGT;
    case PTX_M_geu: return LLVMRealUGE;
    case PTX_M_num: return LLVMRealORD;
    default: return LLVMRealUNO;
    }
}

static LLVMIntPredicate int_predicate(enum ptx_mod cmp, bool is_signed)
{
    switch (cmp) {
    case PTX_M_eq: return LLVMIntEQ;
    case PTX_M_ne: return LLVMIntNE;
    case PTX_M_lt: return is_signed ? LLVMIntSLT : LLVMIntULT;
    case PTX_M_le: return is_signed ? LLVMIntSLE : LLVMIntULE;
    case PTX_M_gt: return is_signed ? LLVMIntSGT : LLVMIntUGT;
    case PTX_M_ge: return is_signed ? LLVMIntSGE : LLVMIntUGE;
    case PTX_M_lo: return LLVMIntULT;
    case PTX_M_ls: return LLVMIntULE;
    case PTX_M_hi: return LLVMIntUGT;
    default: return LLVMIntUGE; /* hs */
    }
}

val alu_compare(struct alu *a, enum ptx_mod cmp, val x, val y, bool is_float, bool is_signed)
{
    return is_float ? ir_fcmp(a, float_predicate(cmp), x, y)
                    : ir_icmp(a, int_predicate(cmp, is_signed), x, y);
}

/* With the boolean source, which is there only when one of these modifiers is. */
static val combine(struct builder *b, val t)
{
    if (has(b, PTX_M_and))
        return ir_and(b->a, t, b->s[2]);
    if (has(b, PTX_M_or))
        return ir_or(b->a, t, b->s[2]);
    return has(b, PTX_M_xor) ? ir_xor(b->a, t, b->s[2]) : t;
}

/* Half k (0 low, 1 high) of a packed pair, as the unpacked type's canonical value. */
static val half_of(struct alu *a, enum ptx_type t, val v, unsigned k)
{
    val bits = ir_zext(a, k ? ir_lshr(a, v, ir_k(v, 16)) : v, 16);
    return t == PTX_F16X2 ? ir_as_float(a, bits) : bits;
}

static enum ptx_type unpacked(enum ptx_type t)
{
    return t == PTX_F16X2 ? PTX_F16 : t == PTX_BF16X2 ? PTX_BF16 : t;
}

static bool is_pair(enum ptx_type t) { return t == PTX_F16X2 || t == PTX_BF16X2; }

/* The comparison of the first two sources, of half k of packed ones. */
static val compare_sources(struct builder *b, enum ptx_type t, unsigned k)
{
    struct alu *a = b->a;
    val s[2];
    for (int j = 0; j < 2; j++) {
        s[j] = is_pair(t) ? half_of(a, t, b->s[j], k) : b->s[j];
        if (ptx_type_is_float(t))
            s[j] = alu_float_load(a, unpacked(t), s[j], has(b, PTX_M_ftz));
    }
    return alu_compare(a, alu_comparison(b->i), s[0], s[1], ptx_type_is_float(t),
                       ptx_type_is_signed(t));
}

static void emit_setp(struct builder *b)
{
    struct alu *a = b->a;
    bool second =
        b->i->noperands > 3u + (has(b, PTX_M_and) || has(b, PTX_M_or) || has(b, PTX_M_xor));
    val t = compare_sources(b, b->t, 0);
    b->d[0] = combine(b, t);
    if (second)
        b->d[1] = combine(b, is_pair(b->t) ? compare_sources(b, b->t, 1) : ir_not(a, t));
}

/* True and false in the destination type's form, 16 bits of it where it is one of a pair. */
static val truth(struct builder *b, val t, unsigned bits)
{
    struct alu *a = b->a;
    uint64_t yes;
    switch (b->t) {
    case PTX_F32:
        return ir_as_float(a, ir_select(a, t, ir_kn(a, t, 32, 0x3f800000), ir_kn(a, t, 32, 0)));
    case PTX_F16:
    case PTX_F16X2: yes = 0x3c00; break;
    case PTX_BF16:
    case PTX_BF16X2: yes = 0x3f80; break;
    default: return ir_sext(a, t, bits);
    }
    val r = ir_select(a, t, ir_kn(a, t, 16, yes), ir_kn(a, t, 16, 0));
    return b->t == PTX_F16 ? ir_as_float(a, r) : r;
}

static void emit_set(struct builder *b)
{
    struct alu *a = b->a;
    val r[2];
    if (!is_pair(b->u)) {
        b->d[0] = truth(b, combine(b, compare_sources(b, b->u, 0)), ptx_type_bits(b->t));
        return;
    }
    for (unsigned k = 0; k < 2; k++)
        r[k] = ir_zext(a, truth(b, combine(b, compare_sources(b, b->u, k)), 16), 32);
    b->d[0] = ir_or(a, r[0], ir_shl(a, r[1], ir_k(r[1], 16)));
}

/* ---- selecting ---- */

static void emit_selp(struct builder *b) { b->d[0] = ir_select(b->a, b->s[2], b->s[0], b->s[1]); }

static void emit_slct(struct builder *b)
{
    struct alu *a = b->a;
    val c = b->s[2], first;
    if (b->u == PTX_S32)
        first = ir_icmp(a, LLVMIntSGE, c, ir_k(c, 0));
    else
        first = ir_fcmp(a, LLVMRealOGE, has(b, PTX_M_ftz) ? ir_flush(a, c) : c, ir_kf(c, 0));
    b->d[0] = ir_select(a, first, b->s[0], b->s[1]);
}

#define M_ORDERED PTX_M_eq, PTX_M_ne, PTX_M_lt, PTX_M_le, PTX_M_gt, PTX_M_ge
#define M_UNORDERED                                                                                \
    PTX_M_equ, PTX_M_neu, PTX_M_ltu, PTX_M_leu, PTX_M_gtu, PTX_M_geu, PTX_M_num, PTX_M_nan
#define M_BOOL    PTX_M_and, PTX_M_or, PTX_M_xor
#define M_INT     MODS(M_ORDERED, M_BOOL)
#define M_UINT    MODS(M_ORDERED, PTX_M_lo, PTX_M_ls, PTX_M_hi, PTX_M_hs, M_BOOL)
#define M_FLOAT   MODS(M_ORDERED, M_UNORDERED, M_BOOL)
#define M_FTZ     MODS(M_ORDERED, M_UNORDERED, PTX_M_ftz, M_BOOL)
#define T_NUMBERS (T_B | T_INT | T_FLOAT)
#define T_TRUTH   (T_I32 | T(U16) | T(S16) | T(F16) | T(BF16) | T(F32))

FORMS(cmp, {PTX_OP_setp, T_B | T_S, 0, M_INT, "p|p:tt?p", emit_setp},
      {PTX_OP_setp, T_U, 0, M_UINT, "p|p:tt?p", emit_setp},
      {PTX_OP_setp, T(F64) | T_BF16, 0, M_FLOAT, "p|p:tt?p", emit_setp},
      {PTX_OP_setp, T(F32) | T_F16, 0, M_FTZ, "p|p:tt?p", emit_setp},
      {PTX_OP_set, T_TRUTH, T_B | T_S, M_INT, "t:uu?p", emit_set},
      {PTX_OP_set, T_TRUTH, T_U, M_UINT, "t:uu?p", emit_set},
      {PTX_OP_set, T_TRUTH, T(F64) | T(BF16), M_FLOAT, "t:uu?p", emit_set},
      {PTX_OP_set, T_TRUTH, T(F32) | T(F16), M_FTZ, "t:uu?p", emit_set},
      {PTX_OP_set, T_I32 | T(F16X2), T(F16X2), M_FTZ, "t:uu?p", emit_set},
      {PTX_OP_set, T_I32 | T(BF16X2), T(BF16X2), M_FLOAT, "t:uu?p", emit_set},
      {PTX_OP_selp, T_NUMBERS | T(F16) | T(BF16), 0, MODS(), "t:ttp", emit_selp},
      {PTX_OP_slct, T_NUMBERS, T(S32), MODS(), "t:ttu", emit_slct},
      {PTX_OP_slct, T_NUMBERS, T(F32), MODS(PTX_M_ftz), "t:ttu", emit_slct})
