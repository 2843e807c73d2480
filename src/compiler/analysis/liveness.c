/* liveness: which registers are live into and out of every block, as bit sets.
 *
 * A barrier's own operands are read at the end of its block; the result of a reducing barrier is
 * written when the warp goes on, so it counts as defined at the end of the block too. */
#include "compiler/passes.h"

#include <stdlib.h>
#include <string.h>

static void add_instr(const struct ptx_instr *i, uint64_t *read, uint64_t *written)
{
    struct jroles r;
    jit_roles(i, &r);
    for (int u = 0; u < r.nuse; u++)
        if (!bit_get(written, r.use[u]))
            bit_set(read, r.use[u]);
    for (int d = 0; d < r.ndef; d++)
        bit_set(written, r.def[d]);
}

static void count_defs(struct jkernel *k)
{
    for (size_t r = 0; r < k->nregs; r++) {
        k->regs[r].ndefs = 0;
        k->regs[r].read = false;
        k->regs[r].def = -1;
    }
    for (int32_t b = 0; b < k->nblocks; b++) {
        const struct jblock *blk = &k->blocks[b];
        if (blk->cond >= 0)
            k->regs[blk->cond].read = true;
        for (int32_t n = 0; n <= blk->count; n++) {
            const struct ptx_instr *i =
                n < blk->count ? &k->instrs[blk->first + n] : blk->term_instr;
            struct jroles r;
            if (i == NULL)
                continue;
            jit_roles(i, &r);
            for (int u = 0; u < r.nuse; u++)
                k->regs[r.use[u]].read = true;
            for (int d = 0; d < r.ndef; d++) {
                struct jreg *reg = &k->regs[r.def[d]];
                reg->ndefs++;
                reg->def = n < blk->count ? blk->first + n : -1;
            }
        }
    }
}

bool pass_liveness(struct jkernel *k)
{
    int32_t nregs = (int32_t)k->nregs;
    size_t words = (size_t)bit_words(nregs);
    for (int32_t b = 0; b < k->nblocks; b++) {
        struct jblock *blk = &k->blocks[b];
        blk->written = arena_alloc(&k->arena, words * 8);
        blk->live_in = arena_alloc(&k->arena, words * 8);
        blk->live_out = arena_alloc(&k->arena, words * 8);
        for (int32_t n = 0; n < blk->count; n++)
            add_instr(&k->instrs[blk->first + n], blk->live_in, blk->written);
        if (blk->cond >= 0 && !bit_get(blk->written, blk->cond))
            bit_set(blk->live_in, blk->cond);
        if (blk->term == TERM_SUSPEND && blk->term_instr != NULL)
            add_instr(blk->term_instr, blk->live_in, blk->written);
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (int32_t b = k->nblocks - 1; b >= 0; b--) {
            struct jblock *blk = &k->blocks[b];
            for (int s = 0; s < blk->nsucc; s++)
                bit_union(blk->live_out, k->blocks[blk->succ[s]].live_in, nregs);
            changed |= bit_union_except(blk->live_in, blk->live_out, blk->written, nregs);
        }
    }
    count_defs(k);
    return true;
}
