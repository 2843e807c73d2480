/* short_segments: whether values whose segments are 2 or 4 lanes long are kept as scalars.
 *
 * Steps of a bitonic sort, butterflies and their kin exchange values between lanes whose numbers
 * differ by 1, 2 or 4: `2 * t - (t & 3)` counts in each four lanes. As 8 or 16 scalars such an
 * address makes 8 or 16 short loads, which are better than gathers, and stores, whose alternative
 * may be one store for each lane: the sort took half the time. But a value that is only computed
 * with is better off as a vector, and an address whose lanes are no neighbours gains nothing.
 *
 * So accesses of neighbours are counted against all that must first make vectors of such scalars.
 * If these are as many, the kernel is analysed again without (jkernel.seg_min). Stretches that
 * groups of lanes run one after the other (lane_groups.c) have scalars of everything, and are found
 * by such segments: each of their instructions counts for them. */
#include "compiler/passes.h"

#include <stdlib.h>

static bool narrow(const struct uniformity *s) { return s->seg != SEG_NONE && s->seg < SEG_KEPT; }

/* The operand that is the address of a load or store of neighbours, -1: it is none. */
static int short_segments_access(const struct jkernel *k, const struct ptx_instr *i)
{
    if (i->op != PTX_OP_ld && i->op != PTX_OP_st)
        return -1;
    int at = i->op == PTX_OP_ld ? jit_ndst(i) : 0;
    if (i->nspaces > 0 && (i->spaces[0] == PTX_SPACE_LOCAL || i->spaces[0] == PTX_SPACE_PARAM))
        return -1;
    unsigned bytes = ptx_type_bits((enum ptx_type)i->types[i->ntypes - 1]) / 8;
    struct uniformity s = address_uniformity(k, &i->operands[at]);
    return s.stride == (int64_t)bytes * (i->vec ? i->vec : 1) ? at : -1;
}

/* Is what the instruction makes kept in scalars, or nothing? */
static bool short_segments_scalars(const struct jkernel *k, const struct jroles *r)
{
    for (int d = 0; d < r->ndef; d++)
        if (k->regs[r->def[d]].uniformity.seg == SEG_NONE)
            return false;
    return r->ndef > 0;
}

bool jit_short_segments_pay(struct jkernel *k)
{
    int32_t gain = 0, loss = 0;
    uint64_t *grouped = xcalloc(bit_bytes(k->nblocks), 1);
    jit_find_grouped_blocks(k, grouped);
    EACH_BIT (b, grouped, k->nblocks)
        gain += k->blocks[b].count;
    for (int32_t b = 0; b < k->nblocks; b++)
        for (int32_t n = 0; n < k->blocks[b].count && !bit_get(grouped, b); n++) {
            const struct ptx_instr *i = &k->instrs[k->blocks[b].first + n];
            struct jroles r;
            jit_roles(i, &r);
            int at = short_segments_access(k, i);
            int32_t base = at < 0 ? -1 : i->operands[at].reg;
            bool scalars = short_segments_scalars(k, &r);
            for (int u = 0; u < r.nuse; u++) {
                if (!narrow(&k->regs[r.use[u]].uniformity))
                    continue;
                if (r.use[u] == base)
                    gain++;
                else if (!scalars)
                    loss++;
            }
        }
    free(grouped);
    return gain > loss || loss == 0;
}
