/* row_quotients.c: finds divisions of an index, and what compilers make of those by a power of two.
 *
 * Without a sign `x / 64` is a shift and `x % 64` a mask. With one, 63 is added first where x is
 * negative: `q = (x + (x >> 31 >>> 26)) >> 6`, and `x - (x + (x >> 31 >>> 26) & -64)` is the
 * remainder. Both are the division of x where that is not negative. */
#include "compiler/analysis/row_quotients.h"

#include "base/base.h"

static bool is_constant(const struct ptx_operand *o) { return o->kind == PTX_OPR_IMM; }
static bool is_register(const struct ptx_operand *o)
{
    return o->kind == PTX_OPR_REG && !o->neg && o->reg >= 0;
}

static uint64_t cut(uint64_t v, unsigned bits)
{
    return bits >= 64 ? v : v & (((uint64_t)1 << bits) - 1);
}

/* An instruction of a register and a constant or another register, all of so many bits. */
static bool is_of_register(const struct ptx_instr *i, enum ptx_op op, unsigned bits)
{
    return i->op == (uint16_t)op && i->noperands == 3 && i->ntypes == 1 &&
           i->operands[0].kind == PTX_OPR_REG && is_register(&i->operands[1]) &&
           ptx_type_bits((enum ptx_type)i->types[0]) == bits && i->guard < 0;
}

/* The one instruction that makes a register; NULL: there are several. */
static const struct ptx_instr *maker_of(const struct jkernel *k, const struct ptx_operand *o)
{
    return is_register(o) && k->regs[o->reg].ndefs == 1 ? &k->instrs[k->regs[o->reg].def] : NULL;
}

/* The same, if it shifts a register by a constant; with a sign or without. */
static const struct ptx_instr *shift_of(const struct jkernel *k, const struct ptx_operand *o,
                                        unsigned bits, bool is_signed)
{
    const struct ptx_instr *i = maker_of(k, o);
    return i != NULL && is_of_register(i, PTX_OP_shr, bits) && is_constant(&i->operands[2]) &&
                   ptx_type_is_signed((enum ptx_type)i->types[0]) == is_signed
               ? i
               : NULL;
}

/* Is a register the sum of an index and, where that is negative, 2^log - 1? */
static bool is_biased(const struct jkernel *k, const struct ptx_operand *o, unsigned bits,
                      unsigned log, struct jquotient *q)
{
    const struct ptx_instr *sum = maker_of(k, o);
    if (sum == NULL || !is_of_register(sum, PTX_OP_add, bits) || sum->nmods != 0)
        return false;
    for (int x = 1; x <= 2; x++) {
        const struct ptx_operand *index = &sum->operands[x];
        const struct ptx_instr *bias = shift_of(k, &sum->operands[3 - x], bits, false);
        const struct ptx_instr *sign =
            bias != NULL ? shift_of(k, &bias->operands[1], bits, true) : NULL;
        if (sign == NULL || bias->operands[2].imm != bits - log ||
            sign->operands[2].imm != bits - 1 || !is_register(index) ||
            sign->operands[1].reg != index->reg || sign->operands[1].neg)
            continue;
        const struct ptx_instr *parts[] = {sign, bias, sum};
        q->index = *index;
        for (q->nparts = 0; q->nparts < (int)WEIR_COUNT(parts); q->nparts++)
            q->parts[q->nparts] = (int32_t)(parts[q->nparts] - k->instrs);
        return true;
    }
    return false;
}

static bool power_of_two(uint64_t v, unsigned *log)
{
    *log = 0;
    while (*log < 64 && v >> *log != 1)
        ++*log;
    return *log < 64 && v == (uint64_t)1 << *log && *log > 0;
}

/* A shift to the right: of a biased index, or of one without. */
static bool is_shift(const struct jkernel *k, const struct ptx_instr *i, unsigned bits,
                     struct jquotient *q, unsigned *log)
{
    if (!is_of_register(i, PTX_OP_shr, bits) || !is_constant(&i->operands[2]) ||
        i->operands[2].imm == 0 || i->operands[2].imm >= bits - 1)
        return false;
    *log = (unsigned)i->operands[2].imm;
    bool is_signed = ptx_type_is_signed((enum ptx_type)i->types[0]);
    q->type = is_signed ? (bits == 32 ? PTX_S32 : PTX_S64) : (bits == 32 ? PTX_U32 : PTX_U64);
    if (!is_signed || !is_biased(k, &i->operands[1], bits, *log, q))
        q->index = i->operands[1];
    return true;
}

/* A mask of the index's lower bits, or a difference of the index and its upper ones. */
static bool is_rest(const struct jkernel *k, const struct ptx_instr *i, unsigned bits,
                    struct jquotient *q, unsigned *log)
{
    q->is_rest = true;
    if (is_of_register(i, PTX_OP_and, bits) && is_constant(&i->operands[2])) {
        q->index = i->operands[1];
        q->type = bits == 32 ? PTX_U32 : PTX_U64;
        return power_of_two(cut(i->operands[2].imm, bits) + 1, log) && *log < bits - 1;
    }
    if (!is_of_register(i, PTX_OP_sub, bits) || i->nmods != 0)
        return false;
    const struct ptx_instr *upper = maker_of(k, &i->operands[2]);
    q->type = bits == 32 ? PTX_S32 : PTX_S64;
    return upper != NULL && is_of_register(upper, PTX_OP_and, bits) &&
           is_constant(&upper->operands[2]) &&
           power_of_two(cut(-upper->operands[2].imm, bits), log) && *log < bits - 1 &&
           is_biased(k, &upper->operands[1], bits, *log, q) && q->index.reg == i->operands[1].reg;
}

static bool is_division(const struct ptx_instr *i, struct jquotient *q)
{
    unsigned type = i->types[0], bits = ptx_type_bits((enum ptx_type)type);
    *q = (struct jquotient){.type = (uint8_t)type, .is_rest = i->op == PTX_OP_rem};
    if ((i->op != PTX_OP_div && i->op != PTX_OP_rem) || i->noperands != 3 || i->ntypes != 1 ||
        i->operands[0].kind != PTX_OPR_REG || !is_register(&i->operands[1]) ||
        (!is_register(&i->operands[2]) && !is_constant(&i->operands[2])) || i->operands[2].neg ||
        ptx_type_is_float((enum ptx_type)type) || (bits != 32 && bits != 64))
        return false;
    q->index = i->operands[1];
    q->divisor = i->operands[2];
    return true;
}

bool jit_find_quotient(const struct jkernel *k, int32_t n, struct jquotient *q)
{
    const struct ptx_instr *i = &k->instrs[n];
    if (is_division(i, q))
        return true;
    unsigned bits = i->ntypes == 1 ? ptx_type_bits((enum ptx_type)i->types[0]) : 0, log;
    *q = (struct jquotient){.nparts = 0};
    if ((bits != 32 && bits != 64) ||
        (!is_shift(k, i, bits, q, &log) && !is_rest(k, i, bits, q, &log)))
        return false;
    q->divisor = (struct ptx_operand){.kind = PTX_OPR_IMM, .reg = -1, .imm = (uint64_t)1 << log};
    return true;
}
