/* emit_place: registers that lie in memory: fragments of matrices, and what a crowd of registers is
 * that outlives resume points.
 *
 * The functions behind matrix instructions find their registers in memory, so each such register
 * has one place there, and LLVM never sees it as a value:
 *
 *   in the warp's frame, if it outlives a resume point; it is not moved then
 *   in one of a few places on the stack, if it lives within a block: compilers give every product's
 *   result a register of its own, thousands in an unrolled kernel, of which few live at a time
 *   in a place of its own otherwise
 *
 * Registers that outlive a resume point are moved into the frame and back by each region that they
 * live through. A few are values in between. Hundreds (the accumulators and addresses of an
 * unrolled product, as CUTLASS has them) would only be moved to the stack by LLVM, which takes it
 * minutes: its selection of instructions and its scheduling take time with the square of the loads
 * in a row. They stay in the frame, too, and each is read where it is used. */
#include <stdlib.h>

#include "compiler/codegen/codegen.h"

enum { PLACE_BYTES = 256 };
/* Vectors that outlive a resume point are values if they are no more bytes than this, which is four
 * times the registers of a processor with AVX-512. */
enum { CROWD_BYTES = 8192 };

/* Registers that matrix instructions read or write, as a bit set. */
static uint64_t *fragments(struct codegen *cg)
{
    struct jkernel *k = cg->k;
    uint64_t *set = arena_alloc(&k->arena, (size_t)bit_words((int32_t)k->nregs) * 8);
    for (int32_t b = 0; b < k->nblocks; b++)
        for (int32_t n = 0; n < k->blocks[b].count; n++) {
            const struct ptx_instr *i = &k->instrs[k->blocks[b].first + n];
            struct jroles r;
            if (i->op != PTX_OP_mma && i->op != PTX_OP_wmma)
                continue;
            jit_roles(i, &r);
            for (int d = 0; d < r.ndef; d++)
                bit_set(set, r.def[d]);
            for (int u = 0; u < r.nuse; u++)
                bit_set(set, r.use[u]);
        }
    for (int32_t r = bit_next(set, (int32_t)k->nregs, 0); r >= 0;
         r = bit_next(set, (int32_t)k->nregs, r + 1))
        if (k->regs[r].uniformity.seg != SEG_NONE ||
            ptx_type_bits((enum ptx_type)k->regs[r].type) < 32 ||
            ptx_type_bits((enum ptx_type)k->regs[r].type) > 64)
            bit_clear(set, r);
    return set;
}

/* The places on the stack, and which of them are free. */
struct pool {
    LLVMValueRef *items;
    size_t count, cap;
    struct {
        LLVMValueRef *items;
        size_t count, cap;
    } free;
};

static LLVMValueRef take(struct codegen *cg, struct pool *p)
{
    if (p->free.count > 0)
        return p->free.items[--p->free.count];
    LLVMValueRef v = new_slot(cg, LLVMArrayType2(cg->i8, PLACE_BYTES), "fragment");
    LLVMSetAlignment(v, PLACE_BYTES);
    vec_push(p, v);
    return v;
}

/* Gives the registers of `set` that live within block b places of the pool. */
static void place_block(struct codegen *cg, const struct jblock *b, const uint64_t *set,
                        int32_t *last, struct pool *pool)
{
    struct jkernel *k = cg->k;
    struct jroles r;
    for (int32_t n = 0; n < b->count; n++) {
        jit_roles(&k->instrs[b->first + n], &r);
        for (int d = 0; d < r.ndef; d++)
            last[r.def[d]] = n;
        for (int u = 0; u < r.nuse; u++)
            last[r.use[u]] = n;
    }
    pool->free.count = 0;
    for (size_t n = 0; n < pool->count; n++)
        vec_push(&pool->free, pool->items[n]);
    for (int32_t n = 0; n < b->count; n++) {
        jit_roles(&k->instrs[b->first + n], &r);
        for (int d = 0; d < r.ndef; d++) {
            int32_t reg = r.def[d];
            bool local = bit_get(set, reg) && k->regs[reg].ndefs == 1 && !bit_get(b->live_out, reg);
            if (local && !cg->regs[reg].framed)
                cg->regs[reg].slot[0] = cg->regs[reg].pooled = take(cg, pool);
        }
        /* results first: they never share a place with what is read */
        for (int u = 0; u < r.ndef + r.nuse; u++) {
            struct storage *s = &cg->regs[u < r.ndef ? r.def[u] : r.use[u - r.ndef]];
            if (s->pooled != NULL && last[s - cg->regs] == n) {
                vec_push(&pool->free, s->pooled);
                s->pooled = NULL;
            }
        }
    }
}

static void fragments_plan(struct codegen *cg)
{
    struct jkernel *k = cg->k;
    const uint64_t *set = fragments(cg);
    struct pool pool = {0};
    if (bit_next(set, (int32_t)k->nregs, 0) < 0)
        return;
    for (int32_t r = bit_next(set, (int32_t)k->nregs, 0); r >= 0;
         r = bit_next(set, (int32_t)k->nregs, r + 1))
        cg->regs[r].framed = cg->regs[r].frame_offset != UINT32_MAX && cg->regs[r].alike == 0;
    int32_t *last = xcalloc(k->nregs, sizeof *last);
    for (int32_t b = 0; b < k->nblocks; b++)
        place_block(cg, &k->blocks[b], set, last, &pool);
    free(last);
    free(pool.items);
    free(pool.free.items);
}

/* Bytes of a register in the frame that could be its only place; 0: it could not. */
static uint32_t homely(const struct codegen *cg, int32_t reg)
{
    const struct jreg *r = &cg->k->regs[reg];
    unsigned bits = ptx_type_bits((enum ptx_type)r->type);
    if (r->uniformity.seg != SEG_NONE || r->type == PTX_PRED || bits < 16 || bits > 64 ||
        cg->regs[reg].frame_offset == UINT32_MAX || cg->regs[reg].alike != 0)
        return 0;
    return bits / 8 * JIT_WARP;
}

/* Where more vectors outlive a resume point than any processor has registers for, all that do so
 * are kept in the frame. */
static void crowd_plan(struct codegen *cg)
{
    struct jkernel *k = cg->k;
    uint32_t most = 0;
    for (int32_t r = 1; r < k->nresume; r++) {
        uint32_t sum = 0;
        for (int32_t reg = bit_next(cg->resume_live[r], (int32_t)k->nregs, 0); reg >= 0;
             reg = bit_next(cg->resume_live[r], (int32_t)k->nregs, reg + 1))
            sum += homely(cg, reg);
        most = sum > most ? sum : most;
    }
    if (most <= CROWD_BYTES)
        return;
    for (size_t reg = 0; reg < k->nregs; reg++)
        if (homely(cg, (int32_t)reg) > 0 && !cg->regs[reg].framed)
            cg->regs[reg].framed = cg->regs[reg].crowd = true;
}

void place_plan(struct codegen *cg)
{
    fragments_plan(cg);
    crowd_plan(cg);
}

void place_region(struct codegen *cg)
{
    for (size_t r = 0; r < cg->k->nregs; r++)
        if (cg->regs[r].framed)
            cg->regs[r].slot[0] = NULL;
}

LLVMValueRef place_of(struct codegen *cg, int32_t reg)
{
    struct storage *s = &cg->regs[reg];
    if (s->slot[0] == NULL) {
        LLVMBuilderRef b = LLVMCreateBuilderInContext(cg->alu.ctx);
        LLVMPositionBuilderBefore(b, LLVMGetNextInstruction(cg->frame_w));
        LLVMValueRef offset = c64(cg, s->frame_offset);
        s->slot[0] = LLVMBuildGEP2(b, cg->i8, cg->frame_w, &offset, 1, "");
        LLVMDisposeBuilder(b);
    }
    return s->slot[0];
}
