/* emit_frame: what a warp keeps while it is suspended: which registers and masks, where in its
 * frame, and the code that moves them there and back. */
#include "compiler/codegen/codegen.h"

#include <stdlib.h>
#include <string.h>

/* Registers that must be in the frame at resume point r: those live into any block that may run
 * next, not cheap to compute again and not the same for all warps. */
void frame_resume_points(struct emit *e)
{
    struct jkernel *k = e->k;
    size_t words = (size_t)bit_words((int32_t)k->nregs);
    k->nresume = 1;
    k->resume_block = arena_alloc(&k->arena, sizeof(int32_t) * ((size_t)k->nblocks + 1));
    for (int32_t b = 0; b < k->nblocks; b++)
        if (k->blocks[b].term == TERM_SUSPEND) {
            k->blocks[b].resume = k->nresume;
            k->resume_block[k->nresume++] = b;
        }
    e->resume_live = arena_alloc(&k->arena, sizeof(uint64_t *) * (size_t)k->nresume);
    e->resume_cand = arena_alloc(&k->arena, sizeof(uint64_t *) * (size_t)k->nresume);
    e->pending_offset = arena_alloc(&k->arena, sizeof(uint32_t) * (size_t)k->nblocks);
    uint32_t at = 0;
    e->live_offset = at;
    at += 4;
    for (int32_t b = 0; b < k->nblocks; b++)
        e->pending_offset[b] = UINT32_MAX;
    for (int32_t r = 1; r < k->nresume; r++) {
        const struct jblock *blk = &k->blocks[k->resume_block[r]];
        uint64_t *cand = arena_alloc(&k->arena, (size_t)bit_words(k->nblocks) * 8);
        uint64_t *live = arena_alloc(&k->arena, words * 8);
        memcpy(cand, blk->frontier, (size_t)bit_words(k->nblocks) * 8);
        bit_set(cand, blk->succ[0]);
        for (int32_t c = bit_next(cand, k->nblocks, 0); c >= 0;
             c = bit_next(cand, k->nblocks, c + 1)) {
            for (size_t w = 0; w < words; w++)
                live[w] |= k->blocks[c].live_in[w];
            if (!k->blocks[c].alone && e->pending_offset[c] == UINT32_MAX) {
                e->pending_offset[c] = at;
                at += 4;
            }
        }
        e->resume_live[r] = live;
        e->resume_cand[r] = cand;
    }
    e->frame_bytes = at;
}

static void add_reads(const struct ptx_instr *i, uint64_t *set)
{
    struct jroles r;
    jit_roles(i, &r);
    for (int u = 0; u < r.nuse; u++)
        bit_set(set, r.use[u]);
}

/* Registers that a block reads, as a bit set. */
static const uint64_t *frame_block_reads(struct emit *e, int32_t b)
{
    struct jkernel *k = e->k;
    const struct jblock *blk = &k->blocks[b];
    if (e->block_reads == NULL)
        e->block_reads = arena_alloc(&k->arena, sizeof(uint64_t *) * (size_t)k->nblocks);
    if (e->block_reads[b] != NULL)
        return e->block_reads[b];
    uint64_t *set = arena_alloc(&k->arena, (size_t)bit_words((int32_t)k->nregs) * 8);
    for (int32_t n = 0; n < blk->count; n++)
        add_reads(&k->instrs[blk->first + n], set);
    if (blk->term_instr != NULL)
        add_reads(blk->term_instr, set);
    if (blk->cond >= 0)
        bit_set(set, blk->cond);
    return e->block_reads[b] = set;
}

const uint64_t *frame_reads(struct emit *e, int32_t r)
{
    struct jkernel *k = e->k;
    size_t words = (size_t)bit_words((int32_t)k->nregs);
    uint64_t *set = arena_alloc(&k->arena, words * 8);
    uint64_t *seen = xcalloc((size_t)bit_words(k->nblocks), 8);
    int32_t n = 0, *work = xmalloc(sizeof *work * (size_t)k->nblocks);
    for (int32_t c = bit_next(e->resume_cand[r], k->nblocks, 0); c >= 0;
         c = bit_next(e->resume_cand[r], k->nblocks, c + 1)) {
        bit_set(seen, c);
        work[n++] = c;
    }
    while (n > 0) {
        const struct jblock *blk = &k->blocks[work[--n]];
        const uint64_t *reads = frame_block_reads(e, (int32_t)(blk - k->blocks));
        for (size_t w = 0; w < words; w++)
            set[w] |= reads[w];
        for (int s = 0; s < blk->nsucc && blk->suspend != SUSPEND_BARRIER; s++)
            if (!bit_get(seen, blk->succ[s])) {
                bit_set(seen, blk->succ[s]);
                work[n++] = blk->succ[s];
            }
    }
    free(work);
    free(seen);
    return set;
}

bool frame_once(const struct emit *e, int32_t reg)
{
    const struct jreg *r = &e->k->regs[reg];
    return e->k->lockstep && r->same && !r->remat && shape_uniform(&r->shape) && r->shape.brk == 0;
}

/* Lanes of a vector that the frame has: those whose numbers have none of the bits that make no
 * difference. Their numbers go to at[], if that is wanted. */
static unsigned kept_lanes(const struct emit *e, int32_t reg, LLVMValueRef *at)
{
    unsigned n = 0;
    for (unsigned lane = 0; lane < JIT_WARP; lane++)
        if ((lane & e->regs[reg].alike) == 0) {
            if (at != NULL)
                at[n] = LLVMConstInt(e->i32, lane, false);
            n++;
        }
    return n;
}

void frame_plan(struct emit *e)
{
    struct jkernel *k = e->k;
    size_t words = (size_t)bit_words((int32_t)k->nregs);
    uint64_t *any = arena_alloc(&k->arena, words * 8);
    uint32_t at = e->frame_bytes;
    for (int32_t r = 1; r < k->nresume; r++)
        for (size_t w = 0; w < words; w++)
            any[w] |= e->resume_live[r][w];
    /* what is small first, then vectors on lines of their own */
    for (int pass = 0; pass < 2; pass++) {
        for (int32_t r = bit_next(any, (int32_t)k->nregs, 0); r >= 0;
             r = bit_next(any, (int32_t)k->nregs, r + 1)) {
            const struct jreg *reg = &k->regs[r];
            bool vec = reg->shape.seg == SEG_NONE;
            uint32_t bytes = (ptx_type_bits((enum ptx_type)reg->type) + 7) / 8;
            if (vec && reg->type == PTX_PRED)
                bytes = 4;
            else if (vec)
                bytes *= kept_lanes(e, r, NULL);
            if (reg->remat || (vec && bytes >= 64) != (pass == 1) ||
                (frame_once(e, r) && !relay_needs(e, r)))
                continue;
            uint32_t align = vec && bytes >= 64 ? 64 : bytes;
            at = (at + align - 1) / align * align;
            e->regs[r].frame_offset = at;
            at += vec ? bytes : bytes * (uint32_t)nsegs(reg->shape.seg);
            if (reg->shape.brk != 0)
                at += 4 * (uint32_t)nsegs(reg->shape.seg);
        }
    }
    e->frame_bytes = (at + 63) & ~63u;
}

static void frame_word(struct emit *e, LLVMValueRef slot, uint32_t offset, bool save)
{
    LLVMBuilderRef b = e->alu.b;
    LLVMValueRef p = byte_offset(e, e->frame_w, c64(e, offset)), v;
    if (save) {
        v = LLVMBuildLoad2(b, e->i32, slot, "");
        v = LLVMBuildStore(b, v, p);
        tag_frame(e, v);
    } else {
        v = LLVMBuildLoad2(b, e->i32, p, "");
        tag_frame(e, v);
        LLVMBuildStore(b, v, slot);
    }
}

/* Moves a vector of which the frame has some lanes. */
static void frame_lanes(struct emit *e, int32_t reg, bool save)
{
    LLVMBuilderRef b = e->alu.b;
    struct storage *s = &e->regs[reg];
    LLVMTypeRef t = scalar_type(e, e->k->regs[reg].type), all = LLVMVectorType(t, JIT_WARP);
    LLVMValueRef at[JIT_WARP], place[JIT_WARP], p, v;
    unsigned n = kept_lanes(e, reg, at);
    LLVMTypeRef some = LLVMVectorType(t, n);
    for (unsigned lane = 0, next = 0; lane < JIT_WARP; lane++)
        place[lane] = (lane & s->alike) == 0 ? c32(e, next++) : place[lane & ~s->alike];
    p = byte_offset(e, e->frame_w, c64(e, s->frame_offset));
    if (save) {
        v = LLVMBuildLoad2(b, all, s->slot[0], "");
        v = LLVMBuildShuffleVector(b, v, LLVMGetPoison(all), LLVMConstVector(at, n), "");
        v = LLVMBuildStore(b, v, p);
    } else {
        v = LLVMBuildLoad2(b, some, p, "");
    }
    uint32_t bytes = n * ptx_type_bits((enum ptx_type)e->k->regs[reg].type) / 8;
    LLVMSetAlignment(v, bytes < 64 ? bytes : 64);
    tag_frame(e, v);
    if (save)
        return;
    v = LLVMBuildShuffleVector(b, v, LLVMGetPoison(some), LLVMConstVector(place, JIT_WARP), "");
    LLVMBuildStore(b, v, s->slot[0]);
}

/* Moves one register between its slots and the frame. */
static void frame_register(struct emit *e, int32_t reg, bool save)
{
    LLVMBuilderRef b = e->alu.b;
    const struct jreg *r = &e->k->regs[reg];
    struct storage *s = &e->regs[reg];
    LLVMTypeRef t = scalar_type(e, r->type);
    uint32_t bytes = (ptx_type_bits((enum ptx_type)r->type) + 7) / 8;
    bool vec = r->shape.seg == SEG_NONE;
    if (s->framed)
        return;
    if (s->alike != 0) {
        frame_lanes(e, reg, save);
        return;
    }
    LLVMTypeRef held = vec ? LLVMVectorType(t, JIT_WARP) : t;
    LLVMTypeRef stored = r->type != PTX_PRED ? held : vec ? e->i32 : e->i8;
    for (int n = 0; n < (vec ? 1 : nsegs(r->shape.seg)); n++) {
        LLVMValueRef p = byte_offset(e, e->frame_w, c64(e, s->frame_offset + (uint64_t)n * bytes)),
                     v;
        if (save) {
            v = LLVMBuildLoad2(b, held, s->slot[n], "");
            if (stored != held)
                v = vec ? LLVMBuildBitCast(b, v, stored, "") : LLVMBuildZExt(b, v, stored, "");
            v = LLVMBuildStore(b, v, p);
        } else {
            v = LLVMBuildLoad2(b, stored, p, "");
        }
        LLVMSetAlignment(v, vec && bytes * JIT_WARP >= 64 && r->type != PTX_PRED ? 64
                            : r->type == PTX_PRED                                ? (vec ? 4 : 1)
                                                                                 : bytes);
        tag_frame(e, v);
        if (!save) {
            if (stored != held)
                v = vec ? LLVMBuildBitCast(b, v, held, "") : LLVMBuildTrunc(b, v, held, "");
            LLVMBuildStore(b, v, s->slot[n]);
        }
    }
    for (int n = 0; r->shape.brk != 0 && n < nsegs(r->shape.seg); n++)
        frame_word(e, s->brk[n],
                   s->frame_offset + (uint32_t)nsegs(r->shape.seg) * bytes + 4 * (uint32_t)n, save);
}

/* Moves a register that is kept once: all warps find what the block had when the region began, and
 * leave the same behind. */
static void once_of_frame(struct emit *e, int32_t reg, bool save)
{
    struct storage *s = &e->regs[reg];
    LLVMTypeRef t = scalar_type(e, e->k->regs[reg].type);
    if (s->in == NULL) {
        s->in = new_slot(e, t, "in");
        s->out = new_slot(e, t, "out");
    }
    LLVMValueRef v = LLVMBuildLoad2(e->alu.b, t, save ? s->slot[0] : s->in, "");
    LLVMBuildStore(e->alu.b, v, save ? s->out : s->slot[0]);
}

/* Saves or restores all that resume point r needs. */
void frame_move(struct emit *e, int32_t r, bool save)
{
    struct jkernel *k = e->k;
    if (!e->always_full)
        frame_word(e, e->live_slot, e->live_offset, save);
    for (int32_t c = bit_next(e->resume_cand[r], k->nblocks, 0); c >= 0;
         c = bit_next(e->resume_cand[r], k->nblocks, c + 1))
        if (!k->blocks[c].alone)
            frame_word(e, e->pending_slot[c], e->pending_offset[c], save);
    for (int32_t reg = bit_next(e->resume_live[r], (int32_t)k->nregs, 0); reg >= 0;
         reg = bit_next(e->resume_live[r], (int32_t)k->nregs, reg + 1))
        if (frame_once(e, reg) && !relay_point(e, r))
            once_of_frame(e, reg, save);
        else if (!k->regs[reg].remat)
            frame_register(e, reg, save);
}

/* Computes a register again, after those it comes from that were not restored. */
static void frame_remat(struct emit *e, int32_t reg, bool restored)
{
    const struct jreg *r = &e->k->regs[reg];
    if (e->remat_done[reg] || (restored && !r->remat))
        return;
    e->remat_done[reg] = 1;
    const struct ptx_instr *i = &e->k->instrs[r->def];
    struct jroles roles;
    jit_roles(i, &roles);
    for (int u = 0; u < roles.nuse; u++)
        frame_remat(e, roles.use[u], true);
    if (!emit_instr(e, i))
        e->failed = true;
}

void frame_recompute(struct emit *e, int32_t r)
{
    struct jkernel *k = e->k;
    const uint64_t *read = e->reads != NULL ? e->reads : frame_reads(e, r);
    for (int32_t reg = bit_next(e->resume_live[r], (int32_t)k->nregs, 0); reg >= 0;
         reg = bit_next(e->resume_live[r], (int32_t)k->nregs, reg + 1))
        if (k->regs[reg].remat &&
            (bit_get(read, reg) || (e->reads == NULL && k->regs[reg].shape.brk != 0)))
            frame_remat(e, reg, false);
    for (int32_t reg = bit_next(e->resume_again[r], (int32_t)k->nregs, 0); reg >= 0;
         reg = bit_next(e->resume_again[r], (int32_t)k->nregs, reg + 1))
        if (bit_get(read, reg))
            frame_remat(e, reg, false);
}
