/* ranges: bounds an index by the instructions that compute it.
 *
 * Uniformity knows the ranges of what follows from the thread's index. This is about the others: a
 * byte that was loaded, some bits of a hash. Only registers that are written once are followed. */
#include "compiler/kernel.h"

enum { MAX_DEPTH = 12 };

static bool follow(const struct jkernel *k, const struct ptx_operand *o, int depth, int64_t *lo,
                   int64_t *hi);

/* Results must be numbers of 31 bits: no sum or product has wrapped around then. */
static bool fits(int64_t lo, int64_t hi) { return lo >= 0 && hi <= INT32_MAX && lo <= hi; }

static bool ranges_is_unsigned(const struct ptx_instr *i)
{
    return i->ntypes > 0 && !ptx_type_is_signed((enum ptx_type)i->types[0]) &&
           !ptx_type_is_float((enum ptx_type)i->types[0]);
}

/* Is a number of 31 bits one of this type? */
static bool holds(enum ptx_type t, int64_t v)
{
    unsigned bits = ptx_type_bits(t) - ptx_type_is_signed(t);
    return !ptx_type_is_float(t) && (bits >= 31 || v < (int64_t)1 << bits);
}

/* `bits` of a number. */
static bool low_bits(uint64_t bits, int64_t *lo, int64_t *hi)
{
    if (bits > 31)
        return false;
    *lo = 0;
    *hi = ((int64_t)1 << bits) - 1;
    return true;
}

static bool ranges_made(const struct jkernel *k, const struct ptx_instr *i, int depth, int64_t *lo,
                        int64_t *hi)
{
    const struct ptx_operand *x = &i->operands[1], *y = &i->operands[2];
    unsigned bits = i->ntypes > 0 ? ptx_type_bits((enum ptx_type)i->types[0]) : 0;
    int64_t a = 0, b = 0;
    switch (i->op) {
    case PTX_OP_ld:
    case PTX_OP_ldu: return i->vec <= 1 && ranges_is_unsigned(i) && low_bits(bits, lo, hi);
    case PTX_OP_mov:
    case PTX_OP_cvt:
        if (!follow(k, x, depth, lo, hi))
            return false;
        for (int n = 0; n < i->ntypes; n++)
            if (!holds((enum ptx_type)i->types[n], *hi))
                return false;
        return true;
    case PTX_OP_and:
        if (y->kind != PTX_OPR_IMM || y->imm > INT32_MAX)
            return false;
        *lo = 0;
        *hi = (int64_t)y->imm;
        return true;
    case PTX_OP_shr:
        if (!ranges_is_unsigned(i) || y->kind != PTX_OPR_IMM || y->imm >= bits)
            return false;
        if (!follow(k, x, depth, lo, hi))
            return low_bits(bits - y->imm, lo, hi);
        *lo >>= y->imm;
        *hi >>= y->imm;
        return true;
    case PTX_OP_bfe:
        y = &i->operands[3];
        return ranges_is_unsigned(i) && y->kind == PTX_OPR_IMM && low_bits(y->imm & 255, lo, hi);
    case PTX_OP_shl:
        if (y->kind != PTX_OPR_IMM || y->imm > 31 || !follow(k, x, depth, lo, hi))
            return false;
        *lo <<= y->imm;
        *hi <<= y->imm;
        return fits(*lo, *hi) && bits >= 32;
    case PTX_OP_mul:
        if (ptx_has(i, PTX_M_hi) || y->kind != PTX_OPR_IMM || y->imm > INT32_MAX ||
            !follow(k, x, depth, lo, hi))
            return false;
        *lo *= (int64_t)y->imm;
        *hi *= (int64_t)y->imm;
        return fits(*lo, *hi) && bits >= 32;
    case PTX_OP_add:
        if (bits < 32 || !follow(k, x, depth, lo, hi) || !follow(k, y, depth, &a, &b))
            return false;
        *lo += a;
        *hi += b;
        return fits(*lo, *hi);
    default: return false;
    }
}

static bool follow(const struct jkernel *k, const struct ptx_operand *o, int depth, int64_t *lo,
                   int64_t *hi)
{
    if (o->kind == PTX_OPR_IMM) {
        *lo = *hi = (int64_t)o->imm;
        return fits(*lo, *hi);
    }
    if (o->kind == PTX_OPR_SYM && o->var != NULL) {
        *lo = *hi = jkernel_shared_offset(k, o->var) + o->offset;
        return o->var->space == PTX_SPACE_SHARED && jkernel_shared_offset(k, o->var) >= 0 &&
               fits(*lo, *hi);
    }
    if (o->kind != PTX_OPR_REG || o->neg || depth == 0 || k->regs[o->reg].ndefs != 1)
        return false;
    const struct ptx_instr *i = &k->instrs[k->regs[o->reg].def];
    return jit_ndst(i) == 1 && i->guard < 0 && ranges_made(k, i, depth - 1, lo, hi);
}

bool jit_range(const struct jkernel *k, int32_t reg, int64_t *lo, int64_t *hi)
{
    struct ptx_operand o = {.kind = PTX_OPR_REG, .reg = reg};
    return follow(k, &o, MAX_DEPTH, lo, hi);
}
