/* likely_strides: where a divergent value is likely to be affine all the same.
 *
 * Programs bound what would be neighbours: `min(x + 1, w - 1)`, `(x + 1) & 511`, `x == 0 ? w - 1 :
 * x - 1`, `i % 512`, a row `|` a column. Nearly all warps lie where none of this makes a
 * difference. Such a value is divergent with a hint (kernel.h): which stride it has, in segments of
 * how many lanes, when the bound is not met within the segment. An access by it tests at run time
 * whether its lanes are neighbours. A hint that is wrong costs time only. */
#include "compiler/kernel.h"
#include "compiler/passes.h"

#include <stdlib.h>

/* Strides above this are of no memory that lanes share. */
static const int64_t MOST = (int64_t)1 << 40;

/* A stride within segments; seg is SEG_NONE where there is none. */
struct likely_stride {
    unsigned seg;
    int64_t stride;
};

static const struct likely_stride NO_STRIDE = {.seg = SEG_NONE};

/* What is known or likely of a value. */
static struct likely_stride stride_of(const struct uniformity *s)
{
    struct likely_stride l = {.seg = s->seg != SEG_NONE ? s->seg : s->hint_seg,
                              .stride = s->stride};
    return l.seg != SEG_NONE && llabs(l.stride) < MOST ? l : NO_STRIDE;
}

static struct likely_stride with_stride(struct likely_stride a, struct likely_stride b,
                                        int64_t stride)
{
    if (a.seg == SEG_NONE || b.seg == SEG_NONE)
        return NO_STRIDE;
    a.seg = a.seg < b.seg ? a.seg : b.seg;
    a.stride = stride;
    return a;
}

/* Do all lanes of a segment lie within 2^bits, if the first one is at the start? */
static bool spans(struct likely_stride a, unsigned bits)
{
    return bits >= 62 || llabs(a.stride) << a.seg <= (int64_t)1 << bits;
}

/* Is the stride a multiple of 2^bits? */
static bool steps_over(struct likely_stride a, unsigned bits)
{
    return bits < 62 && (a.stride & (((int64_t)1 << bits) - 1)) == 0;
}

static struct likely_stride shifted_right(struct likely_stride a, uint64_t by)
{
    if (a.seg == SEG_NONE || by > 63)
        return NO_STRIDE;
    if (spans(a, (unsigned)by))
        return with_stride(a, a, 0);
    return steps_over(a, (unsigned)by) ? with_stride(a, a, a.stride / ((int64_t)1 << by))
                                       : NO_STRIDE;
}

/* Some bits in a row. */
static struct likely_stride masked(struct likely_stride a, uint64_t mask)
{
    if (a.seg == SEG_NONE || mask == 0)
        return NO_STRIDE;
    unsigned low = (unsigned)__builtin_ctzll(mask);
    mask >>= low;
    if (spans(a, low))
        return with_stride(a, a, 0);
    bool in_a_row = (mask & (mask + 1)) == 0;
    unsigned high = low + (unsigned)__builtin_popcountll(mask);
    return in_a_row && steps_over(a, low) && spans(a, high) ? a : NO_STRIDE;
}

/* `a | bits`, `a ^ bits`: bits above all that differ between the lanes. */
static struct likely_stride with_bits(struct likely_stride a, uint64_t bits)
{
    return a.seg != SEG_NONE && (bits == 0 || spans(a, (unsigned)__builtin_ctzll(bits)))
               ? a
               : NO_STRIDE;
}

/* One of two values: where one is the same in all lanes, it is a bound that few lanes meet. */
static struct likely_stride either(struct likely_stride a, struct likely_stride b)
{
    if (a.stride != b.stride && a.stride != 0 && b.stride != 0)
        return NO_STRIDE;
    struct likely_stride l = with_stride(a, b, a.stride != 0 ? a.stride : b.stride);
    return l.stride != 0 ? l : NO_STRIDE; /* a search, say, whose lanes go their own ways */
}

/* The upper half of a product with a constant, shifted right: a quotient, as compilers divide. Is
 * it the same in all lanes, if the first one is at the start of a row? */
static struct likely_stride quotient(const struct ptx_instr *mul, struct likely_stride a,
                                     uint64_t by)
{
    __extension__ typedef unsigned __int128 u128;
    unsigned bits = ptx_type_bits((enum ptx_type)mul->types[0]);
    uint64_t factor = mul->operands[2].imm;
    if (a.seg == SEG_NONE || mul->operands[2].kind != PTX_OPR_IMM)
        return NO_STRIDE;
    if (ptx_type_is_signed((enum ptx_type)mul->types[0]) && (int64_t)factor < 0)
        factor = -factor;
    if (bits < 64)
        factor &= (1ull << bits) - 1;
    u128 span = (u128)(uint64_t)(llabs(a.stride) << a.seg) * factor;
    return by < 64 && span >> bits >> by == 0 ? with_stride(a, a, 0) : NO_STRIDE;
}

/* The instruction that alone makes a register. */
static const struct ptx_instr *maker(const struct jkernel *k, const struct ptx_operand *o)
{
    return o->kind == PTX_OPR_REG && k->regs[o->reg].ndefs == 1 ? &k->instrs[k->regs[o->reg].def]
                                                                : NULL;
}

/* `x >> by`. */
static struct likely_stride shifted(const struct jkernel *k, const struct ptx_instr *i,
                                    struct likely_stride a)
{
    uint64_t by = i->operands[2].imm;
    const struct ptx_instr *made = maker(k, &i->operands[1]);
    if (a.seg != SEG_NONE || made == NULL || made->op != PTX_OP_mul || !ptx_has(made, PTX_M_hi))
        return shifted_right(a, by);
    struct uniformity from = operand_uniformity(k, &made->operands[1]);
    return quotient(made, stride_of(&from), by);
}

/* Is the predicate made of values that are the same in each segment? It is so itself then, though
 * no predicate is kept like that. */
static bool is_of_segments(const struct jkernel *k, const struct ptx_operand *p)
{
    const struct ptx_instr *made = maker(k, p);
    if (made == NULL || made->op != PTX_OP_setp || made->noperands - jit_ndst(made) != 2)
        return false;
    for (int o = jit_ndst(made); o < made->noperands; o++) {
        struct uniformity s = operand_uniformity(k, &made->operands[o]);
        if (s.seg == SEG_NONE || s.stride != 0)
            return false;
    }
    return true;
}

/* `p ? a : b`. */
static struct likely_stride selected(const struct jkernel *k, const struct ptx_instr *i,
                                     const struct likely_stride *l)
{
    if (l[0].stride == 0 && l[1].stride == 0 && is_of_segments(k, &i->operands[3]))
        return with_stride(l[0], l[1], 0);
    return either(l[0], l[1]);
}

static struct likely_stride product(const struct ptx_instr *i, const struct likely_stride *l)
{
    const struct ptx_operand *y = &i->operands[2];
    bool exact = y->kind == PTX_OPR_IMM;
    if (ptx_has(i, PTX_M_hi))
        return quotient(i, l[0], 0);
    if (l[0].stride == 0 && l[1].stride == 0)
        return with_stride(l[0], l[1], 0);
    int64_t factor = exact ? (int64_t)y->imm : 0;
    return exact && llabs(factor) < 1 << 20 ? with_stride(l[0], l[1], l[0].stride * factor)
                                            : NO_STRIDE;
}

/* `min(a, b)`, `max(a, b)`. What is likely one value, bounded by one that is, stays so. */
static struct likely_stride bounded(const struct likely_stride *l)
{
    return l[0].stride == 0 && l[1].stride == 0 ? with_stride(l[0], l[1], 0) : either(l[0], l[1]);
}

static struct likely_stride likely_of(const struct jkernel *k, const struct ptx_instr *i,
                                      const struct likely_stride *l)
{
    bool exact = i->noperands > 2 && i->operands[2].kind == PTX_OPR_IMM;
    unsigned bits = ptx_type_bits((enum ptx_type)i->types[0]);
    uint64_t imm = exact ? i->operands[2].imm : 0;
    uint64_t value = bits >= 64 ? imm : imm & ((1ull << bits) - 1);
    switch (i->op) {
    case PTX_OP_shr: return exact ? shifted(k, i, l[0]) : NO_STRIDE;
    case PTX_OP_and: return exact ? masked(l[0], value) : NO_STRIDE;
    case PTX_OP_xor: return exact ? with_bits(l[0], value) : NO_STRIDE;
    case PTX_OP_or:
        if (exact)
            return with_bits(l[0], value);
        return l[0].stride == 0 || l[1].stride == 0
                   ? with_stride(l[0], l[1], l[0].stride + l[1].stride)
                   : NO_STRIDE;
    case PTX_OP_min:
    case PTX_OP_max: return bounded(l);
    case PTX_OP_selp: return selected(k, i, l);
    case PTX_OP_rem: return l[1].stride == 0 ? with_stride(l[0], l[1], l[0].stride) : NO_STRIDE;
    case PTX_OP_div: return l[1].stride == 0 ? with_stride(l[0], l[1], 0) : NO_STRIDE;
    case PTX_OP_abs: return l[0];
    case PTX_OP_mul: return product(i, l);
    case PTX_OP_mad: {
        struct likely_stride p = product(i, l);
        return with_stride(p, l[2], p.stride + l[2].stride);
    }
    default: return NO_STRIDE;
    }
}

struct uniformity uniformity_likely(const struct jkernel *k, const struct ptx_instr *i,
                                    const struct uniformity *s, int n)
{
    struct uniformity v = {.seg = SEG_NONE, .known = 1};
    struct likely_stride l[3] = {NO_STRIDE, NO_STRIDE, NO_STRIDE};
    if (i->ntypes == 0 || ptx_type_is_float((enum ptx_type)i->types[0]) ||
        i->types[0] == PTX_PRED || ptx_type_bits((enum ptx_type)i->types[0]) < 16)
        return v;
    for (int e = 0; e < n && e < 3; e++)
        l[e] = stride_of(&s[e]);
    struct likely_stride found = likely_of(k, i, l);
    if (found.seg >= SEG_KEPT && llabs(found.stride) < MOST) {
        v.hint_seg = (uint8_t)found.seg;
        v.stride = found.stride;
    }
    return v;
}
