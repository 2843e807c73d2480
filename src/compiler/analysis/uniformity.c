/* uniformity: what an instruction makes of its sources' uniformity. This analysis decides speed.
 *
 * Three things depend on each other and are solved together (uniformity_solver.c), from "everything
 * is uniform" upwards: the uniformity of every register (kernel.h); which branches diverge (their
 * condition is not uniform); and each block's frontier, the blocks where other lanes may be pending
 * while it runs. A write of a register that some pending lane still needs is a partial write: the
 * register must hold a value per lane. That one rule covers values merged after a branch and values
 * that leave a loop in different iterations alike.
 *
 * Indices wrap at 32 bits but addresses are 64 bits wide: widening keeps a value affine only where
 * ranges prove that no lane wraps. Otherwise the value is divergent, with a hint, and the memory
 * access that uses it tests at run time whether the lanes are neighbours after all. */
#include "compiler/arithmetic/arithmetic.h"
#include "compiler/kernel.h"

#include <string.h>

/* Strides below this stay within 31 bits over a whole warp. */
enum { MAX_BREAK_STRIDE = 1 << 26 };

static const struct uniformity DIVERGENT = {.seg = SEG_NONE, .known = 1};

static struct uniformity uniformity_uniform(unsigned align)
{
    return (struct uniformity){
        .seg = SEG_WARP, .known = 1, .align = (uint8_t)(align > 63 ? 63 : align)};
}

static struct uniformity constant(int64_t v)
{
    struct uniformity s = uniformity_uniform(v == 0 ? 63 : (unsigned)__builtin_ctzll((uint64_t)v));
    s.ranged = v >= INT32_MIN && v <= INT32_MAX;
    s.lo = s.hi = v;
    return s;
}

static struct uniformity with_range(struct uniformity s, int64_t lo, int64_t hi)
{
    s.ranged = lo >= INT32_MIN && hi <= INT32_MAX;
    s.lo = lo;
    s.hi = hi;
    if (lo == 0 && hi == 0) /* the sign of an index, say */
        s.align = 63;
    return s;
}

static unsigned min_u(unsigned a, unsigned b) { return a < b ? a : b; }

/* Alignment of the first-lane values once segments are cut down to `seg`. */
static unsigned align_at(const struct uniformity *s, unsigned seg)
{
    if (s->seg == seg || s->stride == 0)
        return s->align;
    return min_u(s->align, (unsigned)__builtin_ctzll((uint64_t)s->stride) + seg);
}

struct uniformity uniformity_join(struct uniformity a, struct uniformity b)
{
    if (!a.known)
        return b;
    if (!b.known)
        return a;
    /* where one has a break and the other none, it is a break after all lanes */
    bool breaks = a.brk != b.brk && a.brk != 0 && b.brk != 0;
    if (a.seg == SEG_NONE || b.seg == SEG_NONE || a.stride != b.stride || breaks) {
        struct uniformity v = DIVERGENT;
        unsigned ha = a.seg ? a.seg : a.hint_seg, hb = b.seg ? b.seg : b.hint_seg;
        /* affine, perhaps wrapped, either way; or a few lanes have a bound instead */
        if (ha && hb && (a.stride == b.stride || a.stride == 0 || b.stride == 0)) {
            v.hint_seg = (uint8_t)min_u(ha, hb);
            v.stride = a.stride != 0 ? a.stride : b.stride;
        }
        return v;
    }
    struct uniformity s = a;
    s.seg = (uint8_t)min_u(a.seg, b.seg);
    s.brk = a.brk != 0 ? a.brk : b.brk;
    s.align = (uint8_t)min_u(align_at(&a, s.seg), align_at(&b, s.seg));
    s.ranged = a.ranged && b.ranged && a.lo == b.lo && a.hi == b.hi;
    return s;
}

/* ---- sources ---- */

/* %tid.x, .y, .z for the block's shape. */
static struct uniformity uniformity_tid(const struct jkernel *k, int component)
{
    const uint32_t *n = k->opt->ntid;
    if (n[component] == 1)
        return constant(0);
    struct uniformity s;
    if (n[0] == 0) {
        return DIVERGENT;
    } else if (component == 0 && n[1] == 1 && n[2] == 1) {
        s = uniformity_uniform(SEG_WARP);
        s.stride = 1;
    } else {
        unsigned g = min_u((unsigned)__builtin_ctz(n[0]), SEG_WARP);
        if (g < SEG_MIN)
            return DIVERGENT;
        s = uniformity_uniform(component == 0 ? (n[0] == 1u << g ? 63 : g) : 0);
        s.seg = (uint8_t)g;
        s.stride = component == 0;
    }
    return with_range(s, 0, n[component] - 1);
}

static struct uniformity uniformity_sreg(const struct jkernel *k, const struct ptx_operand *o)
{
    const uint32_t *n = k->opt->ntid;
    struct uniformity s;
    switch (o->sreg) {
    case PTX_SR_tid: return o->component < 3 ? uniformity_tid(k, o->component) : constant(0);
    case PTX_SR_ntid:
        return o->component < 3 && n[0] != 0 ? constant(n[o->component]) : uniformity_uniform(0);
    case PTX_SR_laneid:
        s = with_range(uniformity_uniform(63), 0, 31);
        s.stride = 1;
        return s;
    case PTX_SR_ctaid: {
        /* with grid_small, nctaid.x * ntid.x fits in 31 bits */
        int64_t hi = o->component != 0 ? 65534 : 2147483646;
        if (o->component == 0 && k->opt->grid_small && n[0] != 0)
            hi = 2147483647 / n[0] - 1;
        return with_range(uniformity_uniform(0), 0, hi < 0 ? 0 : hi);
    }
    case PTX_SR_nctaid: {
        int64_t hi = o->component != 0 ? 65535 : 2147483647;
        if (o->component == 0 && k->opt->grid_small && n[0] != 0)
            hi = 2147483647 / n[0];
        return with_range(uniformity_uniform(0), 1, hi < 1 ? 1 : hi);
    }
    case PTX_SR_warpid: return with_range(uniformity_uniform(0), 0, 31);
    case PTX_SR_WARP_SZ: return constant(32);
    case PTX_SR_lanemask_eq:
    case PTX_SR_lanemask_le:
    case PTX_SR_lanemask_lt:
    case PTX_SR_lanemask_ge:
    case PTX_SR_lanemask_gt: return DIVERGENT;
    default: return uniformity_uniform(0);
    }
}

/* The address of a variable, in its own space. */
static struct uniformity uniformity_var_address(const struct ptx_var *v)
{
    /* a local address is an offset, the same in every lane */
    return uniformity_uniform(v != NULL && v->align ? (unsigned)__builtin_ctz(v->align) : 0);
}

/* A value with segments too short to be kept is divergent. */
static struct uniformity long_enough(const struct jkernel *k, struct uniformity s)
{
    return s.seg != SEG_NONE && s.seg < k->seg_min ? DIVERGENT : s;
}

struct uniformity operand_uniformity(const struct jkernel *k, const struct ptx_operand *o)
{
    switch (o->kind) {
    case PTX_OPR_REG: return k->regs[o->reg].uniformity;
    case PTX_OPR_IMM: return constant((int64_t)o->imm);
    case PTX_OPR_SREG: return long_enough(k, uniformity_sreg(k, o));
    case PTX_OPR_SYM: {
        struct uniformity s = uniformity_var_address(o->var);
        if (o->offset != 0)
            s.align = (uint8_t)min_u(s.align, (unsigned)__builtin_ctzll((uint64_t)o->offset));
        return s;
    }
    case PTX_OPR_VEC: {
        struct uniformity s = {0};
        for (int n = 0; n < o->nitems; n++) {
            struct uniformity e = operand_uniformity(k, &o->items[n]);
            if (e.known && !is_uniform(&e))
                return DIVERGENT;
            s = uniformity_join(s, e);
        }
        return uniformity_uniform(0);
    }
    default: return uniformity_uniform(0);
    }
}

struct uniformity address_uniformity(const struct jkernel *k, const struct ptx_operand *o)
{
    struct uniformity s = o->reg >= 0 && o->kind == PTX_OPR_MEM ? k->regs[o->reg].uniformity
                                                                : uniformity_var_address(o->var);
    s.ranged = false;
    if (o->offset != 0)
        s.align = (uint8_t)min_u(s.align, (unsigned)__builtin_ctzll((uint64_t)o->offset));
    return s;
}

/* ---- transfer of arithmetic ---- */

/* Stride as a signed number of `bits`. */
static int64_t uniformity_wrap(int64_t v, unsigned bits)
{
    return bits >= 64 ? v : (int64_t)((uint64_t)v << (64 - bits)) >> (64 - bits);
}

static bool is_int_type(unsigned t) { return t >= PTX_B8 && t <= PTX_S64 && t != PTX_B128; }

static struct uniformity uniformity_add(struct uniformity a, struct uniformity b, int sign,
                                        unsigned bits)
{
    if (a.seg == SEG_NONE || b.seg == SEG_NONE) {
        /* an affine value moved by an affine one keeps its hint */
        struct uniformity v = DIVERGENT;
        unsigned ha = a.seg ? a.seg : a.hint_seg, hb = b.seg ? b.seg : b.hint_seg;
        if (ha && hb) {
            v.hint_seg = (uint8_t)min_u(ha, hb);
            v.stride = uniformity_wrap(a.stride + sign * b.stride, bits);
        }
        return v;
    }
    struct uniformity s = {.known = 1};
    s.seg = (uint8_t)min_u(a.seg, b.seg);
    s.stride = uniformity_wrap(a.stride + sign * b.stride, bits);
    if (a.brk != 0 || b.brk != 0) {
        /* one break can be followed, two cannot */
        if ((a.brk != 0 && b.brk != 0) || s.stride == 0 || bits < 64)
            return DIVERGENT;
        s.brk = a.brk != 0 ? a.brk : sign * b.brk;
    }
    s.align = (uint8_t)min_u(align_at(&a, s.seg), align_at(&b, s.seg));
    if (a.ranged && b.ranged)
        s = sign > 0 ? with_range(s, a.lo + b.lo, a.hi + b.hi)
                     : with_range(s, a.lo - b.hi, a.hi - b.lo);
    return s;
}

static struct uniformity uniformity_mul(struct uniformity a, struct uniformity b, unsigned bits)
{
    if (is_uniform(&a) && !is_uniform(&b)) {
        struct uniformity t = a;
        a = b;
        b = t;
    }
    struct uniformity s = {.known = 1};
    bool exact = b.ranged && b.lo == b.hi; /* a constant factor */
    if (a.seg == SEG_NONE) {
        s = DIVERGENT;
        if (a.hint_seg && is_uniform(&b) && exact) {
            s.hint_seg = a.hint_seg;
            s.stride = uniformity_wrap(a.stride * b.lo, bits);
        }
        return s;
    }
    if (b.seg == SEG_NONE || b.stride != 0 || (a.stride != 0 && !exact))
        return DIVERGENT;
    s.seg = (uint8_t)min_u(a.seg, b.seg);
    s.stride = a.stride == 0 ? 0 : uniformity_wrap(a.stride * b.lo, bits);
    if (a.brk != 0) {
        if (bits < 64 || s.stride == 0)
            return DIVERGENT;
        s.brk = a.brk * b.lo;
    }
    s.align = (uint8_t)min_u(63, (unsigned)align_at(&a, s.seg) + align_at(&b, s.seg));
    if (a.ranged && b.ranged) {
        __extension__ typedef __int128 i128;
        i128 p[4] = {(i128)a.lo * b.lo, (i128)a.lo * b.hi, (i128)a.hi * b.lo, (i128)a.hi * b.hi};
        i128 lo = p[0], hi = p[0];
        for (int n = 1; n < 4; n++) {
            lo = p[n] < lo ? p[n] : lo;
            hi = p[n] > hi ? p[n] : hi;
        }
        if (lo >= INT32_MIN && hi <= INT32_MAX)
            s = with_range(s, (int64_t)lo, (int64_t)hi);
    }
    return s;
}

/* How many low bits of the lanes' values differ within segments of `seg`: the first lane's are 0,
 * so that no addition carries out of them and no lane wraps around. 0: that is not so. */
static unsigned lane_bits(const struct uniformity *s, unsigned seg)
{
    unsigned align = align_at(s, seg), bits = seg;
    if (s->stride <= 0 || s->brk != 0 || s->stride >= MAX_BREAK_STRIDE)
        return 0;
    while ((int64_t)1 << (bits - seg) < s->stride)
        bits++;
    return bits <= align ? bits : 0;
}

/* Divergent where a lane wraps around, else as affine as `a`. */
static struct uniformity hinted(const struct uniformity *a)
{
    struct uniformity v = DIVERGENT;
    v.hint_seg = a->seg;
    v.stride = a->stride;
    return v;
}

/* A range of values of 16 bits, which counts where it is one of numbers with sign or without. */
static struct uniformity within_16_bits(struct uniformity s)
{
    s.ranged = s.ranged && s.lo >= INT16_MIN && s.hi <= (s.lo < 0 ? INT16_MAX : UINT16_MAX);
    return s;
}

/* From 32 (or fewer) bits to more: exact only where no lane wraps. */
static struct uniformity widen(struct uniformity a, bool is_signed, unsigned from)
{
    /* A range is of the narrow value taken as signed, or of a constant as it is written: what is
     * not a value of the narrow type becomes another number. */
    int64_t least = is_signed ? -((int64_t)1 << (from - 1)) : 0;
    int64_t most = ((int64_t)1 << (is_signed ? from - 1 : from)) - 1;
    if (a.ranged && (a.lo < least || a.hi > most))
        a.ranged = false;
    if (a.seg == SEG_NONE || a.stride == 0)
        return a.seg == SEG_NONE && !a.hint_seg ? DIVERGENT : a;
    bool exact = a.ranged && a.hi - a.lo < (int64_t)1 << 31 && (is_signed || a.lo >= 0);
    if (exact || (from == 32 && lane_bits(&a, a.seg) != 0))
        return a;
    /* within a segment the narrow value can wrap once: the wide one then has a break */
    if (from == 32 && a.brk == 0 && a.stride > -MAX_BREAK_STRIDE && a.stride < MAX_BREAK_STRIDE) {
        a.brk = a.stride > 0 ? 1 : -1;
        a.ranged = false;
        return a;
    }
    return hinted(&a);
}

static struct uniformity shift_right(struct uniformity a, unsigned by)
{
    if (a.seg == SEG_NONE || by >= 32)
        return DIVERGENT;
    if (a.stride == 0) {
        a.align = (uint8_t)(a.align > by ? a.align - by : 0);
    } else if (a.stride == 1 && a.ranged && a.lo >= 0) {
        unsigned g = min_u(by, a.seg); /* lanes that share a result */
        if (g < SEG_MIN || align_at(&a, g) < g)
            return DIVERGENT;
        a.align = 0;
        a.seg = (uint8_t)g;
        a.stride = 0;
    } else {
        return DIVERGENT;
    }
    if (a.ranged && a.lo >= 0)
        return with_range(a, a.lo >> by, a.hi >> by);
    a.ranged = false;
    return a;
}

static struct uniformity and_mask(struct uniformity a, uint64_t mask)
{
    if (a.seg == SEG_NONE) /* not even with mask 0: there is no scalar to take it of */
        return DIVERGENT;
    if (mask == 0)
        return constant(0);
    bool low = (mask & (mask + 1)) == 0; /* 2^k - 1 */
    unsigned bits = (unsigned)__builtin_popcountll(mask);
    if (a.stride == 0) {
        a.ranged = false;
        a.align =
            (uint8_t)(a.align > (unsigned)__builtin_ctzll(mask) ? a.align : __builtin_ctzll(mask));
        return mask <= INT32_MAX ? with_range(a, 0, (int64_t)mask) : a;
    }
    if (!low && a.stride == 1) { /* clears low bits: like a shift right and back */
        unsigned zeros = (unsigned)__builtin_ctzll(mask), g = min_u(zeros, a.seg);
        if (g < SEG_MIN || align_at(&a, g) < g)
            return DIVERGENT;
        a.seg = (uint8_t)g;
        a.stride = 0;
        a.align = (uint8_t)zeros;
        a.ranged = a.ranged && a.lo >= 0;
        a.lo = 0;
        return a;
    }
    if (!low || a.stride != 1)
        return DIVERGENT;
    unsigned g = min_u(bits, a.seg);
    if (g < SEG_MIN || align_at(&a, g) < g)
        return DIVERGENT;
    struct uniformity s = a;
    s.align = (uint8_t)(bits <= g ? 63 : align_at(&a, g));
    s.seg = (uint8_t)g;
    return mask <= INT32_MAX ? with_range(s, 0, (int64_t)mask) : s;
}

/* `a | b` or `a ^ b` of one value in a segment, whose low bits are 0, and of affine ones that
 * differ in these bits only: the result is affine, too. Compilers write `y * 2048 + x` so where
 * they know x to be less than 2048. */
static bool or_is_affine(struct uniformity a, struct uniformity b, struct uniformity *out)
{
    if (a.stride != 0) {
        struct uniformity t = a;
        a = b;
        b = t;
    }
    if (a.seg == SEG_NONE || b.seg == SEG_NONE || a.stride != 0)
        return false;
    unsigned seg = min_u(a.seg, b.seg), bits = lane_bits(&b, seg);
    while (seg > SEG_MIN && (bits == 0 || align_at(&a, seg) < bits))
        bits = lane_bits(&b, --seg); /* shorter segments may differ in fewer bits */
    if (bits == 0 || align_at(&a, seg) < bits)
        return false;
    bool ranged = a.ranged && b.ranged && a.lo >= 0 && b.lo >= 0;
    int64_t most = a.hi > b.hi ? a.hi : b.hi, hi = 1;
    while (ranged && hi <= most)
        hi *= 2;
    b.seg = (uint8_t)seg;
    b.align = (uint8_t)bits;
    b.ranged = false;
    *out = ranged ? with_range(b, 0, hi - 1) : b;
    return true;
}

/* Comparing neighbours whose first lane is a multiple of all that they span: no lane carries into
 * the bits of that multiple, however large it is, so the comparison is one of multiples. With a
 * bound that is a multiple, too, or one less, the whole warp is on one side; and so it is with
 * neighbours of the same stride, as in `i + 256 < i`, which compilers make of the end of a counted
 * loop. */
static bool aligned_compare(const struct ptx_instr *i, struct uniformity a, struct uniformity b)
{
    unsigned type = i->types[i->ntypes - 1], bits = ptx_type_bits((enum ptx_type)type);
    bool integers = type == PTX_S32 || type == PTX_U32 || type == PTX_B32 || type == PTX_S64 ||
                    type == PTX_U64 || type == PTX_B64;
    if (!integers || a.seg != SEG_WARP || b.seg != SEG_WARP || a.brk != 0 || b.brk != 0 ||
        a.stride <= 0)
        return false;
    unsigned spans = SEG_WARP; /* bits */
    while (spans < bits - 1 && (int64_t)1 << (spans - SEG_WARP) < a.stride)
        spans++;
    if (spans >= bits - 1 || a.align < spans)
        return false;
    if (b.stride == a.stride)
        return b.align >= spans;
    if (b.stride != 0)
        return false;
    if (b.align >= spans)
        return ptx_has(i, PTX_M_lt) || ptx_has(i, PTX_M_ge) || ptx_has(i, PTX_M_lo) ||
               ptx_has(i, PTX_M_hs);
    uint64_t ones = ((uint64_t)1 << spans) - 1;
    bool exact = b.ranged && b.lo == b.hi && ((uint64_t)b.lo & ones) == ones;
    return exact && (ptx_has(i, PTX_M_gt) || ptx_has(i, PTX_M_le) || ptx_has(i, PTX_M_hi) ||
                     ptx_has(i, PTX_M_ls));
}

static bool exact_constant(struct uniformity s)
{
    return is_uniform(&s) && s.ranged && s.lo == s.hi;
}

/* Operations through which a break can be followed (kernel.h, struct uniformity). */
static bool follows_break(const struct ptx_instr *i)
{
    switch (i->op) {
    case PTX_OP_mov:
    case PTX_OP_cvta:
    case PTX_OP_add:
    case PTX_OP_sub:
    case PTX_OP_mul:
    case PTX_OP_mad:
    case PTX_OP_shl:
    case PTX_OP_cvt: return true;
    default: return false;
    }
}

static bool uniformity_of_any_integer(const struct ptx_instr *i, const struct uniformity *s,
                                      struct uniformity *out)
{
    if (i->ntypes == 0)
        return false;
    unsigned t = i->types[i->ntypes - 1], bits = ptx_type_bits((enum ptx_type)t);
    if (!is_int_type(t) || bits < 16)
        return false;
    if (!follows_break(i) && (s[0].brk != 0 || (i->noperands > 2 && s[1].brk != 0)))
        return false;
    switch (i->op) {
    case PTX_OP_mov:
    case PTX_OP_cvta: *out = s[0]; return true;
    case PTX_OP_add:
    case PTX_OP_sub:
        if (ptx_has(i, PTX_M_sat) || ptx_has(i, PTX_M_cc))
            return false;
        *out = uniformity_add(s[0], s[1], i->op == PTX_OP_add ? 1 : -1, bits);
        return true;
    case PTX_OP_neg: *out = uniformity_add(constant(0), s[0], -1, bits); return true;
    case PTX_OP_not: *out = uniformity_add(constant(-1), s[0], -1, bits); return true; /* -1 - x */
    case PTX_OP_mul:
    case PTX_OP_mad: {
        bool wide = ptx_has(i, PTX_M_wide);
        if ((!wide && !ptx_has(i, PTX_M_lo)) || ptx_has(i, PTX_M_cc))
            return false;
        struct uniformity a = s[0], b = s[1];
        if (wide) {
            a = widen(a, ptx_type_is_signed((enum ptx_type)t), bits);
            b = widen(b, ptx_type_is_signed((enum ptx_type)t), bits);
        }
        *out = uniformity_mul(a, b, wide ? bits * 2 : bits);
        if (i->op == PTX_OP_mad)
            *out = uniformity_add(*out, s[2], 1, wide ? bits * 2 : bits);
        return true;
    }
    case PTX_OP_shl: {
        if (!exact_constant(s[1]) || s[1].lo < 0 || s[1].lo >= bits)
            return false;
        struct uniformity factor = constant((int64_t)1 << s[1].lo);
        if (s[1].lo >= 31)
            return false;
        *out = uniformity_mul(s[0], factor, bits);
        return true;
    }
    case PTX_OP_shr:
        if (!exact_constant(s[1]) || s[1].lo < 0)
            return false;
        *out = shift_right(s[0], (unsigned)s[1].lo);
        return true;
    case PTX_OP_and:
        if (exact_constant(s[1]))
            *out = and_mask(s[0], (uint64_t)s[1].lo & (bits == 64 ? ~0ull : (1ull << bits) - 1));
        else
            return false;
        return true;
    case PTX_OP_or:
        /* adding where no bits overlap: aligned first lanes, small right side */
        if (s[0].seg != SEG_NONE && s[1].seg != SEG_NONE && s[1].ranged && s[1].lo >= 0 &&
            s[0].stride == 0 && align_at(&s[0], s[0].seg) <= 30 &&
            s[1].hi < (int64_t)1 << align_at(&s[0], s[0].seg)) {
            *out = uniformity_add(s[0], s[1], 1, bits);
            return true;
        }
        return or_is_affine(s[0], s[1], out);
    case PTX_OP_xor: return or_is_affine(s[0], s[1], out);
    case PTX_OP_cvt: {
        unsigned from = ptx_type_bits((enum ptx_type)i->types[1]);
        unsigned to = ptx_type_bits((enum ptx_type)i->types[0]);
        if (!is_int_type(i->types[0]) || !is_int_type(i->types[1]) || ptx_has(i, PTX_M_sat))
            return false;
        if (to > from) {
            *out = widen(s[0], ptx_type_is_signed((enum ptx_type)i->types[1]), from);
        } else {
            *out = s[0];
            if (to == 64 && s[0].brk != 0)
                return true;
            out->brk = 0; /* a break is a multiple of 2^32: gone with the upper half */
            out->stride = uniformity_wrap(s[0].stride, to);
            if (to < 32)
                *out = within_16_bits(*out);
            out->ranged = out->ranged && to >= 16;
        }
        return true;
    }
    default: return false;
    }
}

/* Integer operations that keep or change strides. False: only the general rule applies. */
static bool uniformity_integer(const struct ptx_instr *i, const struct uniformity *s,
                               struct uniformity *out)
{
    if (!uniformity_of_any_integer(i, s, out))
        return false;
    bool wide = ptx_has(i, PTX_M_wide);
    if (ptx_type_bits((enum ptx_type)i->types[0]) == 16 && !wide)
        *out = within_16_bits(*out);
    return true;
}

/* A conversion's result in a register that is wider than its type: extended, so that lanes may wrap
 * around at the type's width. */
static struct uniformity extended(const struct jkernel *k, const struct ptx_instr *i,
                                  struct uniformity s)
{
    if (i->op != PTX_OP_cvt || i->operands[0].kind != PTX_OPR_REG || s.seg == SEG_NONE)
        return s;
    unsigned wide = ptx_type_bits((enum ptx_type)k->regs[i->operands[0].reg].type);
    if (ptx_type_bits((enum ptx_type)i->types[0]) >= wide)
        return s;
    s.ranged = false;
    return s.stride == 0 ? s : DIVERGENT;
}

static struct uniformity general(const struct uniformity *s, int n)
{
    unsigned seg = SEG_WARP;
    for (int e = 0; e < n; e++) {
        if (s[e].seg == SEG_NONE || s[e].stride != 0)
            return DIVERGENT;
        seg = min_u(seg, s[e].seg);
    }
    struct uniformity out = uniformity_uniform(0);
    out.seg = (uint8_t)seg;
    return out;
}

/* The same in the whole warp if all sources are. */
static struct uniformity uniformity_together(const struct uniformity *s, int n)
{
    for (int e = 0; e < n; e++)
        if (!is_uniform(&s[e]))
            return DIVERGENT;
    return uniformity_uniform(0);
}

/* A load's result follows its address: one value per segment of equal addresses. */
static struct uniformity uniformity_loaded(const struct jkernel *k, const struct ptx_instr *i)
{
    struct uniformity a = address_uniformity(k, &i->operands[1]);
    if (!a.known)
        return a;
    bool local = i->nspaces > 0 && i->spaces[0] == PTX_SPACE_LOCAL;
    if (local || a.seg == SEG_NONE || a.stride != 0)
        return DIVERGENT;
    struct uniformity s = uniformity_uniform(0);
    s.seg = a.seg;
    return s;
}

/* All lanes get what one of them has where they name the same one of the whole warp. */
static struct uniformity shuffled(const struct ptx_instr *i, const struct uniformity *s)
{
    const struct ptx_operand *bounds = &i->operands[jit_ndst(i) + 2];
    bool whole = bounds->kind == PTX_OPR_IMM && (bounds->imm & 0x1f1f) == 0x1f;
    return ptx_has(i, PTX_M_idx) && whole && is_uniform(&s[1]) ? uniformity_uniform(0) : DIVERGENT;
}

/* An index's bits as a float: neighbours' floats have no stride. */
static struct uniformity as_register(const struct jkernel *k, const struct ptx_operand *to,
                                     struct uniformity s)
{
    bool is_float =
        to->kind == PTX_OPR_REG && ptx_type_is_float((enum ptx_type)k->regs[to->reg].type);
    return is_float && s.known && s.stride != 0 ? DIVERGENT : s;
}

static struct uniformity any_shape_of(const struct jkernel *k, const struct ptx_instr *i, int which)
{
    struct uniformity s[20];
    int ndst = jit_ndst(i), n = 0;
    if (i->op == PTX_OP_call) {
        struct alu_sig sig;
        struct jroles r;
        if (k->fibers && i->call->unfinished != 0 && jit_roles(i, &r) &&
            r.def[which] == i->call->unfinished - 1)
            return uniformity_uniform(0); /* unless the others come later */
        if (i->call->func == NULL || i->call->func->has_body ||
            !alu_math_known(i->call->func->name, &sig))
            return DIVERGENT;
        for (int a = 0; a < i->call->nargs && n < 16; a++)
            s[n++] = operand_uniformity(k, &i->call->args[a]);
    } else {
        for (int o = ndst; o < i->noperands && n < 16; o++)
            s[n++] = operand_uniformity(k, &i->operands[o]);
    }
    bool any_unknown = false;
    for (int e = 0; e < n; e++)
        any_unknown |= !s[e].known;
    if (any_unknown)
        return (struct uniformity){0};
    switch (i->op) {
    case PTX_OP_ld:
    case PTX_OP_ldu: return uniformity_loaded(k, i);
    case PTX_OP_atom:
    case PTX_OP_match:
    case PTX_OP_elect: /* the leader's number is one for all, where it is asked for */
        return i->op == PTX_OP_elect && which == 0 && i->operands[0].kind == PTX_OPR_REG
                   ? uniformity_uniform(0)
                   : DIVERGENT;
    case PTX_OP_mbarrier:
        if (ptx_has(i, PTX_M_arrive) || ptx_has(i, PTX_M_arrive_drop))
            return DIVERGENT; /* lanes arrive one after the other */
        return uniformity_together(s, n);
    case PTX_OP_mapa:
    case PTX_OP_getctarank: return uniformity_together(s, n);
    case PTX_OP_createpolicy: return uniformity_uniform(0);
    case PTX_OP_isspacep:
        if (i->spaces[0] == PTX_SPACE_SHARED_CLUSTER)
            return uniformity_together(s, n);
        break;
    case PTX_OP_shfl: return shuffled(i, s);
    case PTX_OP_tex:
    case PTX_OP_tld4:
    case PTX_OP_txq:
    case PTX_OP_suld:
    case PTX_OP_suq:
    case PTX_OP_mma:
    case PTX_OP_wmma:
    case PTX_OP_wgmma:
    case PTX_OP_ldmatrix:
    case PTX_OP_movmatrix: return DIVERGENT;
    case PTX_OP_activemask: return uniformity_uniform(0);
    case PTX_OP_vote:
    case PTX_OP_redux: /* groups of lanes may name different member sets */
        if (ptx_has(i, PTX_M_sync) && !is_uniform(&s[n - 1]))
            return DIVERGENT;
        return uniformity_uniform(0);
    case PTX_OP_bar:
    case PTX_OP_barrier: /* on fibers, lanes may be at barriers of different numbers */
        if (jit_depends_on_arrival(i) && !is_uniform(&s[0]))
            return DIVERGENT;
        return uniformity_uniform(0);
    case PTX_OP_alloca:
    case PTX_OP_stacksave: return DIVERGENT;
    case PTX_OP_cvta:
        if (i->nspaces > 0 && i->spaces[0] == PTX_SPACE_SHARED_CLUSTER)
            return uniformity_together(s, n);
        /* the generic address of local memory differs from lane to lane */
        if (i->nspaces > 0 && i->spaces[0] == PTX_SPACE_LOCAL)
            return DIVERGENT;
        s[0].ranged = false;
        return s[0];
    case PTX_OP_setp:
        if (i->noperands - ndst == 2 && aligned_compare(i, s[0], s[1]))
            return uniformity_uniform(0);
        break;
    case PTX_OP_mov:
        if (i->operands[0].kind == PTX_OPR_VEC || i->operands[1].kind == PTX_OPR_VEC)
            return general(s, n);
        if (i->operands[1].kind == PTX_OPR_SYM && i->operands[1].var != NULL)
            return s[0];
        if (ptx_type_bits((enum ptx_type)i->types[0]) >= 32)
            return as_register(k, &i->operands[0], s[0]);
        break;
    case PTX_OP_selp:
        if (is_uniform(&s[2])) {
            struct uniformity j = uniformity_join(s[0], s[1]);
            j.ranged = false;
            return as_register(k, &i->operands[0], j);
        }
        break;
    default: break;
    }
    struct uniformity out;
    if (uniformity_integer(i, s, &out) && out.seg != SEG_NONE)
        return extended(k, i, out);
    struct uniformity same = general(s, n); /* a hint is better than nothing, not than one value */
    if (same.seg != SEG_NONE)
        return same;
    bool hinted = uniformity_integer(i, s, &out) && (out.seg != SEG_NONE || out.hint_seg);
    return hinted ? out : uniformity_likely(k, i, s, n);
}

struct uniformity uniformity_of(const struct jkernel *k, const struct ptx_instr *i, int which)
{
    struct uniformity s = long_enough(k, any_shape_of(k, i, which));
    if (WEIR_UNLIKELY(k->one_lane) && s.known && !is_uniform(&s))
        return uniformity_uniform(0);
    return s;
}
