/* lockstep: do all warps of a block take the same path from barrier to barrier?
 *
 * In most kernels they do: a barrier must be met by all threads, and what decides how often comes
 * from parameters and loop counters. Then what follows a barrier is known when the code is made:
 * nobody needs to look where each warp has got to, and what is the same for the whole block (such
 * counters, and addresses made of them) is kept once instead of in every warp's frame.
 *
 * A register is the *same* for the block if it is computed from such ones only, by instructions
 * that all warps reach. Those are the ones outside the reach of branches whose condition is not the
 * same: from the branch to its immediate post-dominator. A kernel is in lockstep when no
 * barrier lies within such a reach. Solved from "all are the same" downwards.
 *
 * A row of memory that all warps read has addresses that differ between lanes, and not between
 * warps. Such registers are *alike*; those that keep one scalar are kept once, too. */
#include "compiler/analysis/graph.h"
#include "compiler/arithmetic/arithmetic.h"
#include "compiler/passes.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_BLOCKS = 4000 };

struct paths {
    struct jkernel *k;
    int32_t *ipdom;    /* per block: its immediate post-dominator; nblocks: the kernel's end; -1:
                          the end cannot be reached */
    uint64_t *partial; /* blocks that only some of the block's warps may reach */
    bool lanes;        /* what differs between lanes, but not between warps, is the same, too */
    bool columns;      /* of warps that have one part of the rows of a block in common */
};

/* Immediate post-dominators: dominators of the reversed graph from its end, which is block
 * `nblocks`. */
static void find_post_dominators(struct paths *w)
{
    const struct jkernel *k = w->k;
    int32_t n = k->nblocks;
    struct graph g;
    graph_init(&g, n + 1);
    for (int32_t b = 0; b < n; b++) {
        if (k->blocks[b].term == TERM_EXIT)
            graph_edge(&g, n, b);
        for (int s = 0; s < k->blocks[b].nsucc; s++)
            graph_edge(&g, k->blocks[b].succ[s], b);
    }
    graph_close(&g);
    int32_t *order = xmalloc(sizeof *order * ((size_t)n + 1));
    int32_t *number = xmalloc(sizeof *number * ((size_t)n + 1));
    int32_t count = graph_reverse_postorder(&g, n, order, number);
    graph_dominators(&g, order, number, count, w->ipdom);
    free(order);
    free(number);
    graph_free(&g);
}

/* ---- what is the same ---- */

static bool same_operand(const struct paths *w, const struct ptx_operand *o)
{
    const struct jkernel *k = w->k;
    switch (o->kind) {
    case PTX_OPR_REG: return k->regs[o->reg].same;
    case PTX_OPR_SREG:
        switch (o->sreg) {
        case PTX_SR_ntid:
        case PTX_SR_ctaid:
        case PTX_SR_nctaid:
        case PTX_SR_WARP_SZ: return true;
        case PTX_SR_laneid: return w->lanes;
        case PTX_SR_tid: /* each warp has the same of the rows of a block */
            return w->lanes && o->component == 0 && k->opt->ntid[0] != 0 &&
                   (JIT_WARP % k->opt->ntid[0] == 0 ||
                    (w->columns && k->opt->ntid[0] % JIT_WARP == 0));
        default: return false;
        }
    case PTX_OPR_VEC:
        for (int n = 0; n < o->nitems; n++)
            if (!same_operand(w, &o->items[n]))
                return false;
        return true;
    case PTX_OPR_MEM: return o->reg < 0 || k->regs[o->reg].same;
    default: return true;
    }
}

/* Does instruction i give the same result to all threads that execute it? */
static bool same_result(const struct paths *w, const struct ptx_instr *i)
{
    struct diag ignored = {0};
    switch (i->op) {
    case PTX_OP_mov:
    case PTX_OP_selp:
    case PTX_OP_setp: break;
    case PTX_OP_cvta:
        if (i->nspaces > 0 && i->spaces[0] == PTX_SPACE_LOCAL)
            return false;
        break;
    case PTX_OP_ld: /* what no kernel writes */
        if (i->nspaces == 0 || (i->spaces[0] != PTX_SPACE_PARAM && i->spaces[0] != PTX_SPACE_CONST))
            return false;
        break;
    case PTX_OP_bar:
    case PTX_OP_barrier: return ptx_has(i, PTX_M_red);
    default:
        if (i->op == PTX_OP_call || !alu_supported(i, &ignored))
            return false;
    }
    for (int n = jit_ndst(i); n < i->noperands; n++)
        if (!same_operand(w, &i->operands[n]))
            return false;
    return true;
}

/* Marks the blocks between a branch and its immediate post-dominator. */
static bool mark_partial(struct paths *w, int32_t branch)
{
    int32_t n = w->k->nblocks;
    uint64_t *reached = xcalloc(bit_bytes(n), 1);
    graph_reach(&w->k->graph, branch, (struct graph_limits){.without = w->ipdom[branch]}, reached);
    bool changed = bit_union(w->partial, reached, n);
    free(reached);
    return changed;
}

static bool forget(const struct paths *w, const struct ptx_instr *i, bool partial)
{
    struct jkernel *k = w->k;
    struct jroles r;
    bool changed = false;
    jit_roles(i, &r);
    for (int d = 0; d < r.ndef; d++) {
        struct jreg *reg = &k->regs[r.def[d]];
        if (reg->same && (partial || !same_result(w, i))) {
            reg->same = false;
            changed = true;
        }
    }
    return changed;
}

static bool lockstep_round(struct paths *w)
{
    struct jkernel *k = w->k;
    bool changed = false;
    for (int32_t b = 0; b < k->nblocks; b++) {
        const struct jblock *blk = &k->blocks[b];
        bool partial = bit_get(w->partial, b);
        for (int32_t n = 0; n < blk->count; n++)
            changed |= forget(w, &k->instrs[blk->first + n], partial);
        if (blk->term == TERM_SUSPEND && blk->term_instr != NULL)
            changed |= forget(w, blk->term_instr, partial);
        if (blk->term == TERM_GATE || (blk->cond >= 0 && !k->regs[blk->cond].same))
            changed |= mark_partial(w, b);
    }
    return changed;
}

/* Solves it: leaves the answer in `same` of the registers and in w->partial. */
static void solve(struct paths *w, struct jkernel *k, bool lanes, bool columns)
{
    *w =
        (struct paths){.k = k,
                       .ipdom = arena_alloc(&k->arena, sizeof *w->ipdom * ((size_t)k->nblocks + 1)),
                       .partial = arena_alloc(&k->arena, bit_bytes(k->nblocks)),
                       .lanes = lanes,
                       .columns = columns};
    find_post_dominators(w);
    for (size_t r = 0; r < k->nregs; r++)
        k->regs[r].same = true;
    while (lockstep_round(w)) {
    }
}

const uint64_t *jit_same_by_lane(struct jkernel *k, bool columns)
{
    struct paths w;
    solve(&w, k, true, columns);
    return w.partial;
}

/* Does a register that differs between lanes keep one scalar, from which all lanes' values follow?
 */
static bool one_scalar(const struct jreg *r)
{
    const struct uniformity *s = &r->uniformity;
    return !is_uniform(s) && s->brk == 0 && (s->seg == SEG_WARP || r->repeats);
}

/* Finds what is the same in every warp, lane by lane, after what is the same for all lanes. Where
 * it is one scalar it need not be in each warp's frame either. */
static void find_alike(struct jkernel *k)
{
    if (!k->full_warps) /* the last warp lacks lanes */
        return;
    bool *same = xcalloc(k->nregs, sizeof *same);
    for (size_t r = 0; r < k->nregs; r++)
        same[r] = k->regs[r].same;
    struct paths w;
    solve(&w, k, true, false);
    for (size_t r = 0; r < k->nregs; r++) {
        struct jreg *reg = &k->regs[r];
        reg->alike = reg->same;
        reg->same = same[r] || (reg->alike && one_scalar(reg));
    }
    free(same);
}

bool pass_lockstep(struct jkernel *k)
{
    bool barriers = false;
    for (int32_t b = 0; b < k->nblocks; b++)
        barriers |= k->blocks[b].term == TERM_SUSPEND;
    if (!barriers || k->has_poll || k->has_partial || k->is_function || k->nblocks > MAX_BLOCKS)
        return true;
    struct paths w;
    solve(&w, k, false, false);
    find_alike(k);
    k->lockstep = true;
    for (int32_t b = 0; b < k->nblocks; b++)
        if (k->blocks[b].term == TERM_SUSPEND && k->blocks[b].suspend != SUSPEND_YIELD &&
            k->blocks[b].suspend != SUSPEND_COUNT && bit_get(w.partial, b))
            k->lockstep = false;
    return true;
}
