/* copied_constants: registers that are given a constant by way of another register. Compilers write
 *
 *   mov.b32 %a, 0;  mov.u32 %b, %a;
 *
 * where a loop begins with several zeros. The analyses know one uniformity for each register, from
 * all that is ever written to it: with %a a sum that each lane makes, %b would be taken for one,
 * too, though it counts iterations or says how many numbers of a generator are left. So %b is given
 * the constant itself, where nothing but that constant can be in %a. */
#include <stdlib.h>

#include "compiler/front/flatten.h"

/* What straight-line code has last written to a register. */
struct written {
    int32_t stretch; /* in which it was a constant; 0: in none */
    int32_t at;      /* the instruction */
};

static struct ptx_operand *register_written(const struct ptx_instr *i)
{
    bool plain = i->op == PTX_OP_mov && i->guard < 0 && i->ntypes == 1 && i->noperands == 2 &&
                 i->operands[0].kind == PTX_OPR_REG;
    return plain ? &i->operands[0] : NULL;
}

/* Is a move from one register to another of the same bits as that of a constant to the first? */
static bool same_type(const struct ptx_instr *a, const struct ptx_instr *b)
{
    enum ptx_type t = (enum ptx_type)a->types[0], u = (enum ptx_type)b->types[0];
    return ptx_type_bits(t) == ptx_type_bits(u) && ptx_type_is_float(t) == ptx_type_is_float(u);
}

static uint8_t *find_targets(const struct jkernel *k)
{
    uint8_t *targets = xcalloc(k->ninstrs + 1, 1);
    for (size_t n = 0; n < k->ninstrs; n++) {
        const struct ptx_instr *i = &k->instrs[n];
        if (i->op == PTX_OP_bra)
            targets[i->operands[0].target] = 1;
        for (int t = 0; i->op == PTX_OP_brx && i->targets != NULL && t < i->targets->count; t++)
            targets[i->targets->index[t]] = 1;
    }
    return targets;
}

/* A copy of a register that holds a constant becomes a move of the constant. */
static void forward(struct jkernel *k, const struct written *written, int32_t stretch,
                    struct ptx_instr *i)
{
    if (register_written(i) == NULL || i->operands[1].kind != PTX_OPR_REG || i->operands[1].neg)
        return;
    const struct written *w = &written[i->operands[1].reg];
    if (w->stretch != stretch || !same_type(i, &k->instrs[w->at]))
        return;
    struct ptx_operand *operands = arena_alloc(&k->arena, 2 * sizeof *operands);
    operands[0] = i->operands[0];
    operands[1] = k->instrs[w->at].operands[1];
    i->operands = operands;
}

void flat_copied_constants(struct jkernel *k)
{
    struct written *written = xcalloc(k->nregs + 1, sizeof *written);
    uint8_t *targets = find_targets(k);
    int32_t stretch = 1;
    for (size_t n = 0; n < k->ninstrs; n++) {
        struct ptx_instr *i = &k->instrs[n];
        stretch += targets[n];
        forward(k, written, stretch, i);
        struct jroles r;
        jit_roles(i, &r);
        for (int d = 0; d < r.ndef; d++)
            written[r.def[d]].stretch = 0;
        struct ptx_operand *to = register_written(i);
        bool constant = to != NULL &&
                        (i->operands[1].kind == PTX_OPR_IMM || i->operands[1].kind == PTX_OPR_FIMM);
        if (constant)
            written[to->reg] = (struct written){.stretch = stretch, .at = (int32_t)n};
    }
    free(targets);
    free(written);
}
