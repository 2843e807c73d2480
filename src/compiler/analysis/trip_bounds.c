/* trip_bounds: how often a loop is run at most, where its counter begins with a few bits.
 *
 * Compilers that unroll a loop by four run what is left, `n & 3` elements, in a loop of its own. It
 * is as short as it looks, and no estimate should take it for a loop like others. */
#include "compiler/passes.h"

/* Does the instruction set the register to no more than so many, other than by counting down?
 * 0: it does not. */
static int64_t most_of(const struct jkernel *k, const struct ptx_instr *i)
{
    int64_t lo, hi;
    if (i->op == PTX_OP_and && i->noperands == 3 && i->operands[2].kind == PTX_OPR_IMM &&
        i->operands[2].imm <= INT32_MAX)
        return (int64_t)i->operands[2].imm;
    if (i->op == PTX_OP_mov && i->noperands == 2 && i->operands[1].kind == PTX_OPR_REG &&
        jit_range(k, i->operands[1].reg, &lo, &hi))
        return hi;
    return 0;
}

static bool steps_by_one(const struct ptx_instr *i, int32_t reg)
{
    if (i->op != PTX_OP_add || i->noperands != 3)
        return false;
    const struct ptx_operand *x = &i->operands[1], *y = &i->operands[2];
    return x->kind == PTX_OPR_REG && x->reg == reg && y->kind == PTX_OPR_IMM &&
           ((uint32_t)y->imm == UINT32_MAX || y->imm == 1);
}

int64_t jit_trip_bound(const struct jkernel *k, int32_t b)
{
    const struct jblock *blk = &k->blocks[b];
    int32_t last = blk->first + blk->count;
    if (blk->term != TERM_BRANCH || (blk->succ[0] != b && blk->succ[1] != b))
        return 0;
    int32_t test = last_write(k, blk, last, blk->cond);
    if (test < 0 || k->instrs[test].op != PTX_OP_setp || k->instrs[test].noperands != 3)
        return 0;
    const struct ptx_operand *counter = &k->instrs[test].operands[1],
                             *end = &k->instrs[test].operands[2];
    if (counter->kind != PTX_OPR_REG || end->kind != PTX_OPR_IMM || end->imm != 0)
        return 0;
    int64_t most = 0;
    for (int32_t n = 0; n < (int32_t)k->ninstrs; n++) {
        struct jroles r;
        jit_roles(&k->instrs[n], &r);
        if (r.ndef != 1 || r.def[0] != counter->reg)
            continue;
        int64_t here = n >= blk->first && n < last && steps_by_one(&k->instrs[n], counter->reg)
                           ? 1
                           : most_of(k, &k->instrs[n]);
        if (here == 0)
            return 0;
        most = here > most ? here : most;
    }
    return most;
}
