/* carry_tests: tests whether a sum has wrapped around compare it with a constant.
 *
 * LLVM writes the condition of a loop whose counter goes up to a step before a power of two, as
 * `c + 16 < 32` of a counter that begins at -16, as `c + 16 < c` without sign: did the addition
 * carry? Both operands go up along the lanes then, and neither bounds nor ranges say anything of
 * it. It is the same as `c + 16 < 16`, a comparison of an index with a constant, which the scalars
 * of the first and the last lane answer (branch_conditions.c). */
#include "compiler/passes.h"

static bool is_unsigned(unsigned type) { return type == PTX_U32 || type == PTX_U64; }

/* Is the value of register `sum` at instruction `at` that of register `from`, as it is there, plus
 * a constant other than 0? */
static bool is_sum(const struct jkernel *k, const struct jblock *blk, int32_t at, int32_t sum,
                   int32_t from, unsigned type, uint64_t *constant)
{
    int32_t made = last_write(k, blk, at, sum);
    if (made < 0 || sum == from || last_write(k, blk, at, from) > made)
        return false;
    const struct ptx_instr *i = &k->instrs[made];
    if (i->op != PTX_OP_add || i->ntypes != 1 || i->nmods != 0 || i->noperands != 3 ||
        i->guard >= 0 ||
        ptx_type_bits((enum ptx_type)i->types[0]) != ptx_type_bits((enum ptx_type)type) ||
        i->types[0] == PTX_F32 || i->types[0] == PTX_F64)
        return false;
    for (int n = 1; n < 3; n++) {
        const struct ptx_operand *x = &i->operands[n], *y = &i->operands[3 - n];
        if (x->kind == PTX_OPR_REG && x->reg == from && !x->neg && y->kind == PTX_OPR_IMM) {
            *constant = type == PTX_U32 ? (uint32_t)y->imm : y->imm;
            return *constant != 0;
        }
    }
    return false;
}

static bool compares(const struct ptx_instr *i, bool *sum_first)
{
    bool less = ptx_has(i, PTX_M_lt) || ptx_has(i, PTX_M_lo) || ptx_has(i, PTX_M_ge) ||
                ptx_has(i, PTX_M_hs);
    bool more = ptx_has(i, PTX_M_gt) || ptx_has(i, PTX_M_hi) || ptx_has(i, PTX_M_le) ||
                ptx_has(i, PTX_M_ls);
    *sum_first = less;
    return i->op == PTX_OP_setp && i->noperands == 3 && i->ntypes == 1 &&
           is_unsigned(i->types[0]) && i->operands[1].kind == PTX_OPR_REG &&
           i->operands[2].kind == PTX_OPR_REG && (less || more);
}

/* c + K < c and c + K >= c, c > c + K and c <= c + K: with K in place of c. */
void pass_carry_tests(struct jkernel *k)
{
    for (int32_t b = 0; b < k->nblocks; b++)
        for (int32_t n = 0; n < k->blocks[b].count; n++) {
            int32_t at = k->blocks[b].first + n;
            struct ptx_instr *i = &k->instrs[at];
            bool sum_first;
            uint64_t constant;
            if (!compares(i, &sum_first))
                continue;
            struct ptx_operand *sum = &i->operands[sum_first ? 1 : 2],
                               *other = &i->operands[sum_first ? 2 : 1];
            if (!sum->neg && !other->neg &&
                is_sum(k, &k->blocks[b], at, sum->reg, other->reg, i->types[0], &constant))
                *other = (struct ptx_operand){.kind = PTX_OPR_IMM, .reg = -1, .imm = constant};
        }
}
