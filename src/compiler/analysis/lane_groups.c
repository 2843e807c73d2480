/* lane_groups: lanes that go together through a stretch that lanes run one after the other.
 *
 * Rows are often shared by a few neighbours: each of four threads has a row of a 4×4 block of a
 * sparse matrix, and the four go through the same list of blocks. They branch alike, and so may run
 * the stretch side by side as one thread with four sets of registers: what they have in common, the
 * list's ends and its elements, is computed once, and the end of a loop is mispredicted once.
 *
 * A register is the same in a group if its segments are as long as that and have no stride, or if
 * all instructions of the stretch that write it make it of such registers. The latter holds of
 * predicates, for which no segments are kept. */
#include "compiler/passes.h"

#include <stdlib.h>

/* The most instructions of a stretch: they are emitted for each lane of a group. */
enum { MAX_GROUPED = 64 };

static bool is_same(const struct uniformity *s, unsigned seg)
{
    return s->seg != SEG_NONE && s->seg >= seg && s->stride == 0;
}

/* Does the instruction give the lanes of a group one result? */
static bool gives_same(const struct jkernel *k, const struct ptx_instr *i, const struct jroles *r,
                       const uint64_t *same)
{
    if (i->op == PTX_OP_atom || i->op == PTX_OP_red ||
        (i->nspaces > 0 && i->spaces[0] == PTX_SPACE_LOCAL))
        return false;
    for (int u = 0; u < r->nuse; u++)
        if (!bit_get(same, r->use[u]))
            return false;
    return jit_lane_may_run(k, i);
}

static void add_if_same(const struct jkernel *k, int32_t reg, unsigned seg, uint64_t *same)
{
    if (reg >= 0 && is_same(&k->regs[reg].uniformity, seg))
        bit_set(same, reg);
}

/* Adds the registers of the stretch, of which there are few, that have such segments. */
static void add_uniform(const struct jkernel *k, const uint64_t *inside, unsigned seg,
                        uint64_t *same)
{
    EACH_BIT (b, inside, k->nblocks) {
        add_if_same(k, k->blocks[b].cond, seg, same);
        for (int32_t n = 0; n < k->blocks[b].count; n++) {
            struct jroles r;
            jit_roles(&k->instrs[k->blocks[b].first + n], &r);
            for (int d = 0; d < r.ndef; d++)
                add_if_same(k, r.def[d], seg, same);
            for (int u = 0; u < r.nuse; u++)
                add_if_same(k, r.use[u], seg, same);
        }
    }
}

/* Adds the registers that the stretch writes before it reads them. */
static void add_written(const struct jkernel *k, const uint64_t *inside, int32_t first,
                        uint64_t *same)
{
    EACH_BIT (b, inside, k->nblocks)
        for (int32_t n = 0; n < k->blocks[b].count; n++) {
            struct jroles r;
            jit_roles(&k->instrs[k->blocks[b].first + n], &r);
            for (int d = 0; d < r.ndef; d++)
                if (!bit_get(k->blocks[first].live_in, r.def[d]))
                    bit_set(same, r.def[d]);
        }
}

/* Takes away what an instruction makes of other registers; true when there was some. */
static bool remove_differing(const struct jkernel *k, const uint64_t *inside, unsigned seg,
                             uint64_t *same)
{
    bool removed = false;
    EACH_BIT (b, inside, k->nblocks)
        for (int32_t n = 0; n < k->blocks[b].count; n++) {
            const struct ptx_instr *i = &k->instrs[k->blocks[b].first + n];
            struct jroles r;
            jit_roles(i, &r);
            if (gives_same(k, i, &r, same))
                continue;
            for (int d = 0; d < r.ndef; d++)
                if (bit_get(same, r.def[d]) && !is_same(&k->regs[r.def[d]].uniformity, seg)) {
                    bit_clear(same, r.def[d]);
                    removed = true;
                }
        }
    return removed;
}

void jit_find_same_in_groups(const struct jkernel *k, const uint64_t *inside, int32_t first,
                             unsigned seg, uint64_t *same)
{
    bit_clear_all(same, (int32_t)k->nregs);
    add_uniform(k, inside, seg, same);
    add_written(k, inside, first, same);
    while (remove_differing(k, inside, seg, same))
        ;
}

/* Do all lanes of each segment branch alike? */
static bool branch_alike(const struct jkernel *k, const uint64_t *inside, int32_t first,
                         unsigned seg)
{
    uint64_t *same = xcalloc(bit_bytes((int32_t)k->nregs), 1);
    jit_find_same_in_groups(k, inside, first, seg, same);
    bool alike = true;
    EACH_BIT (b, inside, k->nblocks)
        alike &= !k->blocks[b].diverges || bit_get(same, k->blocks[b].cond);
    free(same);
    return alike;
}

/* Do the loops of the stretch access rows of as many lanes as a vector has? */
static bool has_rows(const struct jkernel *k, const uint64_t *inside, int32_t until)
{
    EACH_BIT (b, inside, k->nblocks)
        for (int32_t n = 0; k->blocks[b].depth > k->blocks[until].depth && n < k->blocks[b].count;
             n++) {
            const struct ptx_instr *i = &k->instrs[k->blocks[b].first + n];
            bool load = i->op == PTX_OP_ld || i->op == PTX_OP_ldu;
            if (!load && i->op != PTX_OP_st)
                continue;
            struct uniformity a = address_uniformity(k, &i->operands[load ? 1 : 0]);
            unsigned bytes = ptx_type_bits((enum ptx_type)i->types[i->ntypes - 1]) / 8;
            if (a.seg >= SEG_KEPT && a.stride == (int64_t)bytes * (i->vec ? i->vec : 1))
                return true;
        }
    return false;
}

unsigned jit_lane_group(const struct jkernel *k, const uint64_t *inside, int32_t first,
                        int32_t until)
{
    int32_t count = 0;
    EACH_BIT (b, inside, k->nblocks)
        count += k->blocks[b].count;
    if (count > MAX_GROUPED || has_rows(k, inside, until) ||
        branch_alike(k, inside, first, SEG_KEPT))
        return 0;
    for (unsigned seg = SEG_KEPT - 1; seg >= SEG_MIN; seg--)
        if (branch_alike(k, inside, first, seg))
            return seg;
    return 0;
}
