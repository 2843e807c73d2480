/* warp_order: regions of a block that its last warp runs first.
 *
 * Many programs return a block's sum as in
 *
 *     __syncthreads();
 *     sum = shared[0];              // by all threads
 *     ...
 *     if (lane == 0)
 *         shared[warp] = another;   // without a barrier between: a race
 *
 * On a GPU all warps have read the place long before one writes another value to it, so that such
 * programs give what their authors meant. Here a warp runs to the next barrier before another one
 * begins: were the first warp the first, the others would read what it has written. If it is the
 * last, what the others write are places of their own, which nobody reads before the barrier.
 *
 * The order is the other one where only some warps read (`if (threadIdx.x == 0) *out =
 * shared[0];`): those are the first ones, as a rule, and what the others write next would be read
 * by them. */
#include "compiler/passes.h"

enum { FEW = 32 }; /* a bound that only the first warp's threads are below */

static bool is_shared(const struct ptx_instr *i)
{
    return i->nspaces > 0 && i->spaces[0] == PTX_SPACE_SHARED;
}

/* Do all warps of the block read the same place, or the same row? */
static bool reads_one_place(const struct jkernel *k, const struct ptx_instr *i)
{
    if (i->op != PTX_OP_ld || !is_shared(i))
        return false;
    const struct ptx_operand *at = &i->operands[jit_ndst(i)];
    return at->kind == PTX_OPR_MEM && (at->reg < 0 || (k->lockstep && k->regs[at->reg].same));
}

static bool writes_shared(const struct ptx_instr *i)
{
    return (i->op == PTX_OP_st || i->op == PTX_OP_atom || i->op == PTX_OP_red) && is_shared(i);
}

/* The successor of a branch to which one thread or the first few go: 0 or 1; -1: it has none. */
static int side_of_few(const struct jkernel *k, const struct jblock *b)
{
    if (b->term != TERM_BRANCH || k->regs[b->cond].ndefs != 1 ||
        (!b->diverges && k->lockstep && k->regs[b->cond].same))
        return -1;
    const struct ptx_instr *test = &k->instrs[k->regs[b->cond].def];
    if (test->op != PTX_OP_setp || test->noperands != 3)
        return -1;
    const struct ptx_operand *bound = &test->operands[2];
    bool small = bound->kind == PTX_OPR_IMM && bound->imm <= FEW;
    bool below = ptx_has(test, PTX_M_lt) || ptx_has(test, PTX_M_le) || ptx_has(test, PTX_M_lo) ||
                 ptx_has(test, PTX_M_ls);
    bool above = ptx_has(test, PTX_M_gt) || ptx_has(test, PTX_M_ge) || ptx_has(test, PTX_M_hi) ||
                 ptx_has(test, PTX_M_hs);
    if (ptx_has(test, PTX_M_eq) || (below && small))
        return b->cond_neg;
    if (ptx_has(test, PTX_M_ne) || (above && small))
        return !b->cond_neg;
    return -1;
}

/* Whether the block reads the one place, and whether it writes shared memory after that. */
static bool block_reads(const struct jkernel *k, const struct jblock *b, bool *writes)
{
    bool reads = false;
    *writes = false;
    for (int32_t n = 0; n < b->count; n++) {
        const struct ptx_instr *i = &k->instrs[b->first + n];
        reads = reads || reads_one_place(k, i);
        *writes = *writes || (reads && writes_shared(i));
    }
    return reads;
}

/* Do any of these blocks write shared memory? */
static bool blocks_write(const struct jkernel *k, const uint64_t *blocks)
{
    EACH_BIT (b, blocks, k->nblocks)
        for (int32_t n = 0; n < k->blocks[b].count; n++)
            if (writes_shared(&k->instrs[k->blocks[b].first + n]))
                return true;
    return false;
}

bool jit_last_warp_first(struct jkernel *k, const struct graph *region, const uint64_t *starts,
                         int32_t n)
{
    uint64_t *seen = arena_alloc(&k->arena, bit_bytes(k->nblocks)),
             *after = arena_alloc(&k->arena, bit_bytes(k->nblocks));
    bit_copy(seen, starts, n);
    /* In the order of blocks. Not by ways back, beyond which another iteration begins. */
    EACH_BIT (b, seen, k->nblocks) {
        const struct jblock *blk = &k->blocks[b];
        bool writes;
        if (block_reads(k, blk, &writes)) {
            graph_reach(region, b, GRAPH_ALL, after);
            return writes || blocks_write(k, after);
        }
        for (int s = 0; s < blk->nsucc && blk->suspend != SUSPEND_BARRIER; s++)
            if (s != side_of_few(k, blk))
                bit_set(seen, blk->succ[s]);
    }
    return false;
}
