/* warp_index.c: the store of the index of the warp that runs.
 *
 * Helpers and the fault handler read it from the block; LLVM sees no reason for the store. In
 * kernels in lockstep it is made late: warps that have nothing to do after a barrier, as in a tree
 * reduction, then cost next to nothing. */
#include <string.h>

#include "compiler/codegen/control/control.h"
#include "compiler/codegen/frame.h"
#include "compiler/codegen/memory/memory.h"
#include "compiler/codegen/values.h"

void store_warp_index(struct codegen *cg)
{
    LLVMValueRef at = byte_offset(cg, cg->block.ptr, c64(cg, BLOCK_FIELD(warp)));
    LLVMValueRef store = LLVMBuildStore(cg->alu.b, cg->w, at);
    LLVMSetVolatile(store, true);
    /* it is neither in a frame nor in the program's memory: LLVM may remove loads from a frame
     * whose values are stored back unchanged */
    LLVMSetMetadata(store, cg->md.noalias, cg->md.scope_all);
}

struct warp_index {
    uint8_t *stores; /* per block: does it store the index? */
};

enum { UNSEEN, STORES, PASSES };

/* A plain load from a static shared variable: it cannot fault. */
static bool loads_shared_variable(const struct jkernel *k, const struct ptx_instr *i)
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
static bool needs_warp_index(const struct jkernel *k, const struct ptx_instr *i)
{
    struct diag ignored = {0};
    if (i->op == PTX_OP_mov || i->op == PTX_OP_cvta || i->op == PTX_OP_shfl)
        return false;
    if (i->op == PTX_OP_ld && i->nspaces > 0 && i->spaces[0] == PTX_SPACE_PARAM)
        return false;
    return !loads_shared_variable(k, i) && !alu_supported(i, &ignored);
}

int32_t warp_index_position(const struct jkernel *k, const struct jblock *b)
{
    for (int32_t n = 0; n < b->count; n++)
        if (needs_warp_index(k, &k->instrs[b->first + n]))
            return n;
    return b->count;
}

/* Decides which blocks store the index, on the paths from block b on: the first that may fault,
 * call or loop. */
static void mark_stores(struct codegen *cg, int32_t b, int32_t depth)
{
    const struct jblock *blk = &cg->k->blocks[b];
    bool here = warp_index_position(cg->k, blk) < blk->count || blk->term == TERM_SWITCH,
         last = blk->suspend == SUSPEND_BARRIER;
    for (int s = 0; s < blk->nsucc && !last; s++)
        here |= cg->k->blocks[blk->succ[s]].depth > depth || blk->succ[s] <= b;
    if (cg->warp_index->stores[b])
        return;
    cg->warp_index->stores[b] = here ? STORES : PASSES;
    for (int s = 0; s < blk->nsucc && !here && !last; s++)
        mark_stores(cg, blk->succ[s], depth);
}

void warp_index_region(struct codegen *cg, int32_t r)
{
    struct jkernel *k = cg->k;
    if (cg->warp_index == NULL) {
        cg->warp_index = arena_alloc(&k->arena, sizeof *cg->warp_index);
        cg->warp_index->stores = arena_alloc(&k->arena, (size_t)k->nblocks);
    }
    memset(cg->warp_index->stores, UNSEEN, (size_t)k->nblocks);
    /* Of barriers, or of each access. */
    uint32_t telling = JIT_CHECKS_THREADS | JIT_CHECKS_SYNC | JIT_CHECKS_DEFINED;
    bool tells = (k->opt->checked & telling) != 0;
    if (!k->lockstep || tells) {
        store_warp_index(cg);
        return;
    }
    int32_t from = r == 0 ? 0 : k->blocks[k->resume_block[r]].succ[0];
    mark_stores(cg, from, k->blocks[from].depth);
    for (int32_t c = 0; r > 0 && c < k->nblocks; c++)
        if (bit_get(cg->frame->resume_blocks[r], c))
            mark_stores(cg, c, k->blocks[c].depth);
}

bool warp_index_missing(const struct codegen *cg, int32_t b)
{
    return cg->warp_index != NULL && cg->warp_index->stores[b] == STORES;
}
