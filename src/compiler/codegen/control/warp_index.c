/* emit_note: which warp runs. The block says so in memory, where helpers and the handler of faults
 * look, and LLVM sees no reason for it. In kernels in lockstep it is said late: warps for which
 * there is nothing to do behind a barrier, as in a reduction by a tree, then cost next to nothing.
 */
#include <stddef.h>
#include <string.h>

#include "compiler/codegen/codegen.h"

void emit_note_warp(struct codegen *cg)
{
    LLVMValueRef at = byte_offset(cg, cg->blk, c64(cg, offsetof(struct jit_block, warp)));
    LLVMValueRef store = LLVMBuildStore(cg->alu.b, cg->w, at);
    LLVMSetVolatile(store, true);
    /* it lies neither in a frame nor in the program's memory: what is only read from a frame and
     * put back need not be, then */
    LLVMSetMetadata(store, cg->md_noalias, cg->scope_all);
}

/* A plain load at a place in a static shared variable: it cannot fault. */
static bool loads_variable(const struct jkernel *k, const struct ptx_instr *i)
{
    if (i->op != PTX_OP_ld || mem_space(i) != PTX_SPACE_SHARED)
        return false;
    const struct ptx_operand *at = &i->operands[jit_ndst(i)];
    if (at->kind != PTX_OPR_MEM || at->reg >= 0 || at->var == NULL)
        return false;
    int64_t start = jkernel_shared_offset(k, at->var);
    uint64_t element = ptx_type_bits((enum ptx_type)i->types[i->ntypes - 1]) / 8;
    uint64_t bytes = element * (i->vec ? i->vec : 1), from = (uint64_t)at->offset;
    return start >= 0 && ((uint64_t)start + from) % bytes == 0 && at->var->size >= bytes &&
           from <= at->var->size - bytes;
}

/* Can it fault, or call a helper? */
static bool needs_note(const struct jkernel *k, const struct ptx_instr *i)
{
    struct diag ignored = {0};
    if (i->op == PTX_OP_mov || i->op == PTX_OP_cvta || i->op == PTX_OP_shfl)
        return false;
    if (i->op == PTX_OP_ld && i->nspaces > 0 && i->spaces[0] == PTX_SPACE_PARAM)
        return false;
    return !loads_variable(k, i) && !alu_supported(i, &ignored);
}

int32_t note_at(const struct jkernel *k, const struct jblock *b)
{
    for (int32_t n = 0; n < b->count; n++)
        if (needs_note(k, &k->instrs[b->first + n]))
            return n;
    return b->count;
}

/* Which blocks say that their warp runs, on the ways from block b on: the first that have something
 * to say it for. Warps that a barrier's other side has no work for then cost next to nothing. */
static void plan_notes(struct codegen *cg, int32_t b, int32_t depth)
{
    const struct jblock *blk = &cg->k->blocks[b];
    bool here = note_at(cg->k, blk) < blk->count || blk->term == TERM_SWITCH,
         last = blk->suspend == SUSPEND_BARRIER;
    for (int s = 0; s < blk->nsucc && !last; s++)
        here |= cg->k->blocks[blk->succ[s]].depth > depth || blk->succ[s] <= b;
    if (cg->notes[b])
        return;
    cg->notes[b] = here ? 1 : 2; /* 2: has been here */
    for (int s = 0; s < blk->nsucc && !here && !last; s++)
        plan_notes(cg, blk->succ[s], depth);
}

void emit_note_region(struct codegen *cg, int32_t r)
{
    struct jkernel *k = cg->k;
    memset(cg->notes, 0, (size_t)k->nblocks);
    if (!k->lockstep) {
        emit_note_warp(cg);
        return;
    }
    int32_t from = r == 0 ? 0 : k->blocks[k->resume_block[r]].succ[0];
    plan_notes(cg, from, k->blocks[from].depth);
    for (int32_t c = 0; r > 0 && c < k->nblocks; c++)
        if (bit_get(cg->resume_cand[r], c))
            plan_notes(cg, c, k->blocks[c].depth);
}
