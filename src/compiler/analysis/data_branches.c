/* data_branches: which branches nobody predicts, and what is cheaper than such a branch.
 *
 * Guards of indices go one way in nearly all warps. Where what is read decides, whether all of a
 * warp's lanes go one way, none or some is different in each; code generation then executes what
 * some lanes skip without a branch, under a mask that may be empty (codegen/control/
 * if_conversion.c, idle_blocks.c). With an empty mask such code must have no effect: a vector
 * access reaches no memory, and one of a single address is redirected to safe memory. */
#include "compiler/arithmetic/arithmetic.h"
#include "compiler/passes.h"

enum {
    LOAD_COST = 3, /* of a load, in operations */
    MOST_DEPTH = 4 /* of logic that a condition is made by */
};

int jit_masked_cost(const struct jkernel *k, const struct ptx_instr *i)
{
    struct diag ignored = {0};
    struct uniformity a;
    switch (i->op) {
    case PTX_OP_ld:
        if (i->nspaces > 0 && i->spaces[0] == PTX_SPACE_PARAM)
            return 0;
        a = address_uniformity(k, &i->operands[1]);
        return jit_is_polling_load(i) || i->vec > 1 || a.seg == SEG_NONE ||
                       (i->nspaces > 0 && (i->spaces[0] == PTX_SPACE_SHARED_CLUSTER ||
                                           i->spaces[0] == PTX_SPACE_LOCAL))
                   ? JIT_NEVER_MASKED
                   : LOAD_COST;
    case PTX_OP_mov:
        return i->operands[1].kind == PTX_OPR_REG || i->operands[1].kind == PTX_OPR_IMM ||
                       i->operands[1].kind == PTX_OPR_FIMM
                   ? 0
                   : JIT_NEVER_MASKED;
    case PTX_OP_call: return JIT_NEVER_MASKED;
    default: return alu_supported(i, &ignored) && !jit_is_long(i) ? 1 : JIT_NEVER_MASKED;
    }
}

int jit_masked_block_cost(const struct jkernel *k, const struct jblock *blk)
{
    int cost = 1;
    for (int32_t n = 0; n < blk->count && cost < JIT_NEVER_MASKED; n++) {
        const struct ptx_instr *i = &k->instrs[blk->first + n];
        int one = jit_masked_cost(k, i);
        bool scalar = jit_ndst(i) == 1 && i->operands[0].kind == PTX_OPR_REG &&
                      k->regs[i->operands[0].reg].uniformity.seg != SEG_NONE;
        cost += one == 1 && scalar ? 0 : one;
    }
    return cost;
}

static bool data_decides(const struct jkernel *k, const struct jblock *blk, int32_t before,
                         int32_t reg, int depth)
{
    int32_t at = depth > 0 ? last_write(k, blk, before, reg) : -1;
    if (at < 0)
        return false;
    const struct ptx_instr *i = &k->instrs[at];
    for (int n = jit_ndst(i); n < i->noperands; n++) {
        const struct ptx_operand *o = &i->operands[n];
        if (o->kind != PTX_OPR_REG)
            continue;
        const struct jreg *from = &k->regs[o->reg];
        if (from->type == PTX_PRED ? data_decides(k, blk, at, o->reg, depth - 1)
                                   : i->op == PTX_OP_setp && from->uniformity.seg == SEG_NONE &&
                                         from->uniformity.hint_seg == SEG_NONE)
            return true;
    }
    return false;
}

bool jit_data_decides(const struct jkernel *k, const struct jblock *blk)
{
    return blk->term == TERM_BRANCH && blk->diverges &&
           data_decides(k, blk, blk->first + blk->count, blk->cond, MOST_DEPTH);
}
