/* repeated_segments: values that are the same in each row of a block that a warp has.
 *
 * In a block of 16 by 16 threads tid.x is 0..15 twice in each warp, and so is what is made of it
 * and of uniform values. Such a register, where it is affine, keeps one scalar instead of one for
 * each segment, and LLVM sees by itself that what it addresses is the same for all of them: two
 * rows of a warp that read the same row of memory read it once. Where it is divergent, a column of
 * a matrix say, a gather by it is one for the first segment. That holds if all lanes have it from
 * the same instruction, hence where no block that writes it can run for a part of them.
 *
 * A register *repeats* after 2^p lanes if lane l's value depends on l mod 2^p only. Solved from
 * "nothing depends on the lane" upwards. */
#include "compiler/arithmetic/arithmetic.h"
#include "compiler/passes.h"

#include <stdlib.h>

/* log2 of the lanes after which an operand repeats; SEG_WARP: it does not. */
static uint8_t repeated_segments_operand(const struct jkernel *k, const uint8_t *period,
                                         const struct ptx_operand *o)
{
    struct uniformity s = operand_uniformity(k, o);
    if (is_uniform(&s))
        return 0;
    if (o->kind == PTX_OPR_REG)
        return period[o->reg];
    /* (Lanes after the only row of a small block count on instead.) */
    if (o->kind == PTX_OPR_SREG && o->sreg == PTX_SR_tid && o->component == 0 && s.seg < SEG_WARP &&
        k->opt->ntid[0] == 1u << s.seg)
        return (uint8_t)s.seg;
    return SEG_WARP;
}

static uint8_t repeated_segments_result(const struct jkernel *k, const uint8_t *period,
                                        const struct ptx_instr *i)
{
    struct diag ignored = {0};
    if (i->op != PTX_OP_mov && (i->op == PTX_OP_call || !alu_supported(i, &ignored)))
        return SEG_WARP;
    uint8_t most = 0;
    for (int n = jit_ndst(i); n < i->noperands; n++) {
        uint8_t p = repeated_segments_operand(k, period, &i->operands[n]);
        most = p > most ? p : most;
    }
    return most;
}

/* The period of each register; 0 at the start. `together`: of what lanes may not write together,
 * SEG_WARP. */
static void find_periods(const struct jkernel *k, uint8_t *period, bool together)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (int32_t b = 0; b < k->nblocks; b++)
            for (int32_t n = 0; n < k->blocks[b].count; n++) {
                const struct ptx_instr *i = &k->instrs[k->blocks[b].first + n];
                struct jroles r;
                jit_roles(i, &r);
                uint8_t p = r.ndef > 0 ? repeated_segments_result(k, period, i) : 0;
                if (together && !k->blocks[b].converged)
                    p = SEG_WARP;
                for (int d = 0; d < r.ndef; d++)
                    if (period[r.def[d]] < p) {
                        period[r.def[d]] = p;
                        changed = true;
                    }
            }
    }
}

bool pass_repeated_segments(struct jkernel *k)
{
    if (k->opt->ntid[0] == 0 || k->opt->ntid[0] >= JIT_WARP)
        return true;
    uint8_t *period = xcalloc(k->nregs, 1), *together = xcalloc(k->nregs, 1);
    find_periods(k, period, false);
    find_periods(k, together, true);
    for (size_t r = 0; r < k->nregs; r++) {
        const struct uniformity *s = &k->regs[r].uniformity;
        k->regs[r].repeats = s->seg >= SEG_MIN && s->seg < SEG_WARP && period[r] <= s->seg;
        if (together[r] < SEG_WARP)
            k->regs[r].repeats_after = (uint8_t)(together[r] < SEG_KEPT ? 8 : 1u << together[r]);
    }
    free(period);
    free(together);
    return true;
}
