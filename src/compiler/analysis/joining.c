/* joining: which kernels may run neighbouring blocks side by side (front/joined_blocks.c), and
 * where that pays.
 *
 * A kernel may if nothing tells its threads which of them make a block or a warp: no barriers, no
 * shared memory, no warp operations, no order of memory among threads, no functions that stay
 * calls.
 *
 * Blocks of less than a warp gain always, as their warps lack lanes. Of others, what lies in two or
 * four rows of memory lies in one then. They lose where the rows of a warp read the same memory
 * (repeated_segments.c), which is read once for all of them, unless all warps of the block do and
 * go side by side (warp_interleaving.c, llvm/warp_jamming.c), with wide vectors; and where data
 * decides which threads take part: those of a square take the same way more often than those of a
 * row. */
#include "compiler/arithmetic/arithmetic.h"
#include "compiler/passes.h"

enum { MOST_INSTRUCTIONS = 400, DEPTH = 16 };

/* ---- may it? ---- */

/* Special registers that are read by a move of a word, and that are one for all threads or that
 * joined_blocks.c changes. */
static bool reads_known(const struct ptx_instr *i, const struct ptx_operand *o)
{
    unsigned t = i->ntypes == 1 ? i->types[0] : PTX_PRED;
    return o->kind != PTX_OPR_SREG ||
           (i->op == PTX_OP_mov && i->guard < 0 && i->noperands == 2 &&
            i->operands[0].kind == PTX_OPR_REG && (t == PTX_U32 || t == PTX_S32 || t == PTX_B32) &&
            (o->sreg == PTX_SR_tid || o->sreg == PTX_SR_ntid || o->sreg == PTX_SR_ctaid ||
             o->sreg == PTX_SR_nctaid));
}

static bool may_join(const struct ptx_instr *i)
{
    struct diag ignored = {0};
    bool ordered = ptx_has(i, PTX_M_volatile) || ptx_has(i, PTX_M_acquire) ||
                   ptx_has(i, PTX_M_release) || ptx_has(i, PTX_M_relaxed);
    bool access = (i->op == PTX_OP_ld || i->op == PTX_OP_st) && !ordered &&
                  (i->nspaces == 0 || i->spaces[0] != PTX_SPACE_SHARED);
    for (int o = 0; o < i->noperands; o++)
        if (!reads_known(i, &i->operands[o]))
            return false;
    return access || i->op == PTX_OP_mov || i->op == PTX_OP_cvta || i->op == PTX_OP_bra ||
           i->op == PTX_OP_brx || i->op == PTX_OP_exit || i->op == PTX_OP_ret ||
           (i->op == PTX_OP_call
                ? i->call->func != NULL && alu_math_known(i->call->func->name, NULL)
                : alu_supported(i, &ignored));
}

static bool may_join_all(const struct jkernel *k)
{
    if (k->is_function || k->fibers || k->has_calls || k->has_poll || k->has_partial ||
        k->nshared != 0 || k->shared_bytes != 0)
        return false;
    for (size_t n = 0; n < k->ninstrs; n++)
        if (!may_join(&k->instrs[n]))
            return false;
    return true;
}

/* ---- does it pay? ---- */

/* Does a value follow from what is read from memory, or from what a loop makes of it, rather than
 * from indices and parameters alone? */
static bool is_of_data(const struct jkernel *k, int32_t reg, int depth)
{
    const struct jreg *r = &k->regs[reg];
    if (is_uniform(&r->uniformity))
        return false;
    if (r->ndefs != 1 || depth == DEPTH || k->instrs[r->def].op == PTX_OP_ld)
        return true;
    const struct ptx_instr *i = &k->instrs[r->def];
    for (int o = jit_ndst(i); o < i->noperands; o++)
        if (i->operands[o].kind == PTX_OPR_REG && is_of_data(k, i->operands[o].reg, depth + 1))
            return true;
    return false;
}

struct shared_reads {
    bool rows;    /* that the rows of a warp read together in a loop */
    bool gathers; /* of lanes that are no neighbours */
};

static void find_shared_reads(const struct jkernel *k, const struct jblock *blk,
                              struct shared_reads *s)
{
    for (int32_t n = 0; n < blk->count; n++) {
        const struct ptx_instr *i = &k->instrs[blk->first + n];
        if (i->op != PTX_OP_ld)
            continue;
        const struct ptx_operand *at = &i->operands[jit_ndst(i)];
        if (at->kind != PTX_OPR_MEM || at->reg < 0)
            continue;
        const struct jreg *r = &k->regs[at->reg];
        int64_t bytes = ptx_type_bits((enum ptx_type)i->types[i->ntypes - 1]) / 8;
        bytes *= i->vec ? i->vec : 1;
        s->rows |= blk->depth > 0 && r->repeats && !is_uniform(&r->uniformity);
        s->gathers |= (r->uniformity.seg == SEG_NONE && r->uniformity.hint_seg == 0) ||
                      r->uniformity.stride < 0 || r->uniformity.stride > bytes;
    }
}

static uint32_t where_it_pays(const struct jkernel *k)
{
    struct shared_reads s = {0};
    for (int32_t b = 0; b < k->nblocks; b++) {
        const struct jblock *blk = &k->blocks[b];
        if (blk->depth > 0 && blk->diverges && is_of_data(k, blk->cond, 0))
            return JIT_JOINS_TO_FILL;
        find_shared_reads(k, blk, &s);
    }
    if (s.gathers || (s.rows && k->barrier_loop == 0))
        return JIT_JOINS_TO_FILL;
    return s.rows ? JIT_JOINS_512 : JIT_JOINS;
}

uint32_t jit_joining(const struct jkernel *flat)
{
    if (!may_join_all(flat))
        return JIT_JOINS_NEVER;
    if (flat->ninstrs > MOST_INSTRUCTIONS)
        return JIT_JOINS_TO_FILL;
    struct jit_options opt = {.ntid = {16, 16, 1}, .grid_small = 1};
    struct diag ignored = {0};
    struct jkernel k = {0};
    uint32_t where = JIT_JOINS_TO_FILL;
    if (jkernel_build(&k, flat->entry, &opt, &ignored))
        where = where_it_pays(&k);
    jkernel_free(&k);
    return where;
}
