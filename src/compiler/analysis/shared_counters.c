/* shared_counters: finds the counter from which each warp takes places: `at = atomicAdd(&length,
 * n)`.
 *
 * Where many CPUs append to one list, they take the line of its length from each other for each
 * warp. In kernels without barriers a call runs many warps (codegen/control/block_batch.c): all of
 * some blocks run to such an atomic, wait there as at a barrier, and one addition takes the places
 * of all of them. Then each goes on with its part (codegen/control/shared_counters.c).
 *
 * Nobody can tell. It is as if the warps had executed the atomic one right after the other at that
 * time: after all that each did before, and before all that it does next. Nothing in the kernel
 * orders memory, waits for other threads, or belongs to a block alone. */
#include "compiler/arithmetic/arithmetic.h"
#include "compiler/passes.h"

enum {
    MAX_INSTRUCTIONS = 400, /* a kernel is copied for each resume point */
    MAX_DEPTH = 8,          /* of an address's expression */
    MAX_VECTORS = 1024      /* bytes of vectors that a warp keeps while it waits */
};

static bool orders(const struct ptx_instr *i)
{
    static const enum ptx_mod mods[] = {PTX_M_acquire,  PTX_M_release, PTX_M_acq_rel, PTX_M_sc,
                                        PTX_M_volatile, PTX_M_mmio,    PTX_M_sys};
    for (size_t n = 0; n < WEIR_COUNT(mods); n++)
        if (ptx_has(i, mods[n]))
            return true;
    return false;
}

/* May a kernel have it in which warps wait for each other at the counter? */
static bool harmless(const struct ptx_instr *i)
{
    struct diag ignored = {0};
    switch (i->op) {
    case PTX_OP_ld:
    case PTX_OP_ldu:
    case PTX_OP_st: return !orders(i) && !ptx_has(i, PTX_M_relaxed);
    case PTX_OP_atom:
    case PTX_OP_red: return !orders(i);
    case PTX_OP_mov:
    case PTX_OP_cvta:
    case PTX_OP_shfl:
    case PTX_OP_vote:
    case PTX_OP_match:
    case PTX_OP_redux:
    case PTX_OP_activemask: return true;
    default: return alu_supported(i, &ignored);
    }
}

/* Does a value follow from parameters alone? */
static bool from_parameters(const struct jkernel *k, const struct ptx_operand *o, int depth)
{
    if (o->kind == PTX_OPR_IMM)
        return true;
    if (depth == 0 || (o->kind != PTX_OPR_REG && o->kind != PTX_OPR_MEM) || o->reg < 0 ||
        k->regs[o->reg].ndefs != 1)
        return false;
    const struct ptx_instr *i = &k->instrs[k->regs[o->reg].def];
    if (i->op == PTX_OP_ld)
        return i->nspaces > 0 && i->spaces[0] == PTX_SPACE_PARAM && i->operands[1].reg < 0;
    if (i->op != PTX_OP_mov && i->op != PTX_OP_cvta && i->op != PTX_OP_add)
        return false;
    for (int n = 1; n < i->noperands; n++)
        if (!from_parameters(k, &i->operands[n], depth - 1))
            return false;
    return true;
}

/* Does it add integers at one address, and is what was there read? */
static bool takes_places(const struct jkernel *k, const struct ptx_instr *i)
{
    if (i->op != PTX_OP_atom || !ptx_has(i, PTX_M_add) || i->vec > 1 || i->noperands != 3)
        return false;
    unsigned type = i->types[i->ntypes - 1],
             space = i->nspaces > 0 ? i->spaces[0] : PTX_SPACE_GENERIC;
    const struct ptx_operand *d = &i->operands[0], *at = &i->operands[1];
    return (type == PTX_U32 || type == PTX_S32 || type == PTX_U64 || type == PTX_S64) &&
           (space == PTX_SPACE_GLOBAL || space == PTX_SPACE_GENERIC) && d->kind == PTX_OPR_REG &&
           k->regs[d->reg].read && at->kind == PTX_OPR_MEM && from_parameters(k, at, MAX_DEPTH);
}

int32_t jit_find_counter(const struct jkernel *k)
{
    int32_t found = 0;
    if (k->is_function || k->has_poll || k->has_partial || k->has_calls || k->fibers ||
        k->nwarps == 0 || k->ninstrs > MAX_INSTRUCTIONS || !jit_blocks_interleave(k))
        return 0;
    for (int32_t b = 0; b < k->nblocks; b++) {
        const struct jblock *blk = &k->blocks[b];
        if (blk->term == TERM_SUSPEND || blk->term == TERM_GATE)
            return 0;
        for (int32_t n = 0; n < blk->count; n++) {
            const struct ptx_instr *i = &k->instrs[blk->first + n];
            if (!harmless(i))
                return 0;
            if (!takes_places(k, i))
                continue;
            if (found != 0 || blk->depth > 0 || (b == 0 && n == 0))
                return 0;
            found = blk->first + n + 1;
        }
    }
    return found;
}

/* Is block b the one that begins with the counter's atomic, for all lanes together? */
static bool begins_with_counter(const struct jkernel *k, int32_t b)
{
    const struct jblock *blk = &k->blocks[b];
    return blk->count > 0 && blk->first == k->counter - 1 &&
           takes_places(k, &k->instrs[blk->first]) && blk->depth == 0 && !blk->serialized &&
           blk->serial_end == 0;
}

bool jit_counter_pays(const struct jkernel *k)
{
    uint32_t bytes = 0;
    int points = 0;
    for (int32_t b = 0; b < k->nblocks; b++) {
        const struct jblock *blk = &k->blocks[b];
        if (blk->term != TERM_SUSPEND)
            continue;
        if (blk->suspend != SUSPEND_COUNT || blk->succ[0] != b + 1 ||
            !begins_with_counter(k, b + 1))
            return false; /* nothing may run between */
        points++;
        EACH_BIT (r, k->blocks[b + 1].live_in, (int32_t)k->nregs)
            if (!k->regs[r].remat && k->regs[r].uniformity.seg == SEG_NONE)
                bytes += ptx_type_bits((enum ptx_type)k->regs[r].type) / 8 * JIT_WARP;
    }
    return points == 1 && k->lockstep && bytes <= MAX_VECTORS;
}
