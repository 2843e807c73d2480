/* frame.c: what a warp keeps while it is suspended.
 *
 * Decides which registers and masks outlive each resume point and where in the warp's frame they
 * lie, and emits the code that saves and restores them. */
#include <stdlib.h>
#include <string.h>

#include "compiler/codegen/control/control.h"
#include "compiler/codegen/frame.h"
#include "compiler/codegen/instructions.h"
#include "compiler/codegen/values.h"

/* Registers that must be in the frame at resume point r: those live into any block that may run
 * next, unless they are cheap to compute again or the same for all warps. */
void frame_resume_points(struct codegen *cg)
{
    struct jkernel *k = cg->k;
    k->nresume = 1;
    k->resume_block = arena_alloc(&k->arena, sizeof(int32_t) * ((size_t)k->nblocks + 1));
    for (int32_t b = 0; b < k->nblocks; b++)
        if (k->blocks[b].term == TERM_SUSPEND) {
            k->blocks[b].resume = k->nresume;
            k->resume_block[k->nresume++] = b;
        }
    cg->frame->resume_live = arena_alloc(&k->arena, sizeof(uint64_t *) * (size_t)k->nresume);
    cg->frame->resume_blocks = arena_alloc(&k->arena, sizeof(uint64_t *) * (size_t)k->nresume);
    cg->frame->pending_offset = arena_alloc(&k->arena, sizeof(uint32_t) * (size_t)k->nblocks);
    uint32_t at = 0;
    cg->frame->live_offset = at;
    at += 4;
    for (int32_t b = 0; b < k->nblocks; b++)
        cg->frame->pending_offset[b] = UINT32_MAX;
    for (int32_t r = 1; r < k->nresume; r++) {
        const struct jblock *blk = &k->blocks[k->resume_block[r]];
        uint64_t *cand = arena_alloc(&k->arena, bit_bytes(k->nblocks));
        uint64_t *live = arena_alloc(&k->arena, bit_bytes((int32_t)k->nregs));
        bit_copy(cand, blk->frontier, k->nblocks);
        bit_set(cand, blk->succ[0]);
        EACH_BIT (c, cand, k->nblocks) {
            bit_union(live, k->blocks[c].live_in, (int32_t)k->nregs);
            if (!k->blocks[c].converged && cg->frame->pending_offset[c] == UINT32_MAX &&
                cg->flow->pending_set == NULL) {
                cg->frame->pending_offset[c] = at;
                at += 4;
            }
        }
        cg->frame->resume_live[r] = live;
        cg->frame->resume_blocks[r] = cand;
    }
    cg->frame->bytes = pending_set_allocate(cg, at);
}

static void add_reads(const struct ptx_instr *i, uint64_t *set)
{
    struct jroles r;
    jit_roles(i, &r);
    for (int u = 0; u < r.nuse; u++)
        bit_set(set, r.use[u]);
}

/* Registers that a block reads, as a bit set. */
static const uint64_t *block_reads(struct codegen *cg, int32_t b)
{
    struct jkernel *k = cg->k;
    const struct jblock *blk = &k->blocks[b];
    if (cg->frame->block_reads == NULL)
        cg->frame->block_reads = arena_alloc(&k->arena, sizeof(uint64_t *) * (size_t)k->nblocks);
    if (cg->frame->block_reads[b] != NULL)
        return cg->frame->block_reads[b];
    uint64_t *set = arena_alloc(&k->arena, bit_bytes((int32_t)k->nregs));
    for (int32_t n = 0; n < blk->count; n++)
        add_reads(&k->instrs[blk->first + n], set);
    if (blk->term_instr != NULL)
        add_reads(blk->term_instr, set);
    if (blk->cond >= 0)
        bit_set(set, blk->cond);
    return cg->frame->block_reads[b] = set;
}

const uint64_t *frame_reads(struct codegen *cg, int32_t r)
{
    struct jkernel *k = cg->k;
    uint64_t *set = arena_alloc(&k->arena, bit_bytes((int32_t)k->nregs));
    EACH_BIT (b, cg->regions->blocks[r], k->nblocks)
        bit_union(set, block_reads(cg, b), (int32_t)k->nregs);
    return set;
}

bool frame_once(const struct codegen *cg, int32_t reg)
{
    const struct jreg *r = &cg->k->regs[reg];
    return cg->k->lockstep && r->same && !r->remat && r->uniformity.brk == 0 &&
           (r->uniformity.seg == SEG_WARP || r->repeats);
}

/* Lanes of a vector that the frame has: those whose numbers have none of the ignored bits. Their
 * numbers go to at[], if that is wanted. */
static unsigned stored_lanes(const struct codegen *cg, int32_t reg, LLVMValueRef *at)
{
    unsigned n = 0;
    for (unsigned lane = 0; lane < JIT_WARP; lane++)
        if ((lane & cg->regs[reg].ignored_bits) == 0) {
            if (at != NULL)
                at[n] = LLVMConstInt(cg->i32, lane, false);
            n++;
        }
    return n;
}

void frame_choose(struct codegen *cg)
{
    struct jkernel *k = cg->k;
    for (int32_t r = 1; r < k->nresume; r++)
        EACH_BIT (reg, cg->frame->resume_live[r], (int32_t)k->nregs)
            if (!k->regs[reg].remat && (!frame_once(cg, reg) || interleave_needs(cg, reg)))
                cg->regs[reg].frame_offset = 0; /* until frame_allocate */
}

/* A place in the frame, and the registers that lie there. They have the same type and the same
 * lanes: code that takes a few lanes at a time may write one's before it has read all of
 * another's. */
struct frame_place {
    uint32_t offset;
    int32_t first;    /* one of them */
    uint64_t *points; /* resume points that one of them outlives */
};
struct frame_places {
    struct frame_place *items;
    size_t count, cap;
};

/* Is a value of 16 bits a byte, as those that are loaded from bytes are? The frame has it as one.
 */
static bool is_byte(const struct codegen *cg, int32_t reg)
{
    const struct jkernel *k = cg->k;
    const struct jreg *r = &k->regs[reg];
    int64_t lo, hi;
    if (r->uniformity.seg != SEG_NONE || r->type == PTX_PRED || r->type == PTX_F16 ||
        ptx_type_bits((enum ptx_type)r->type) != 16 || r->ndefs != 1 || r->def < 0 ||
        cg->regs[reg].framed || cg->regs[reg].ignored_bits != 0)
        return false;
    const struct ptx_instr *i = &k->instrs[r->def];
    if (i->op == PTX_OP_selp && i->guard < 0)
        return i->operands[1].kind == PTX_OPR_IMM && i->operands[1].imm <= UINT8_MAX &&
               i->operands[2].kind == PTX_OPR_IMM && i->operands[2].imm <= UINT8_MAX;
    return jit_range(k, reg, &lo, &hi) && hi <= UINT8_MAX;
}

/* Bytes of a register in the frame. */
static uint32_t register_bytes(const struct codegen *cg, int32_t reg)
{
    const struct jreg *r = &cg->k->regs[reg];
    bool vec = r->uniformity.seg == SEG_NONE;
    uint32_t bytes = (ptx_type_bits((enum ptx_type)r->type) + 7) / 8;
    if (vec && is_byte(cg, reg))
        return JIT_WARP;
    if (vec)
        return r->type == PTX_PRED ? 4 : bytes * stored_lanes(cg, reg, NULL);
    uint32_t n = (uint32_t)nsegs(r->uniformity.seg);
    return bytes * n + (r->uniformity.brk != 0 ? 4 * n : 0);
}

static bool same_shape(const struct codegen *cg, int32_t a, int32_t b)
{
    const struct jreg *ra = &cg->k->regs[a], *rb = &cg->k->regs[b];
    return ra->uniformity.seg == rb->uniformity.seg &&
           (ra->uniformity.brk != 0) == (rb->uniformity.brk != 0) &&
           (ra->type == PTX_PRED) == (rb->type == PTX_PRED) && is_byte(cg, a) == is_byte(cg, b) &&
           ptx_type_bits((enum ptx_type)ra->type) == ptx_type_bits((enum ptx_type)rb->type) &&
           cg->regs[a].ignored_bits == cg->regs[b].ignored_bits;
}

/* Resume points that a register outlives, as a bit set. */
static void outlived(const struct codegen *cg, int32_t reg, uint64_t *points)
{
    bit_clear_all(points, cg->k->nresume);
    for (int32_t r = 1; r < cg->k->nresume; r++)
        if (bit_get(cg->frame->resume_live[r], reg))
            bit_set(points, r);
}

/* A place for a register: with others that outlive other resume points, or a new one at the end
 * (*end). Registers that lie in the frame all the time have one of their own. */
static void take_place(struct codegen *cg, int32_t reg, struct frame_places *places,
                       uint64_t *points, uint32_t *end)
{
    struct jkernel *k = cg->k;
    outlived(cg, reg, points);
    for (size_t n = 0; n < places->count && !cg->regs[reg].framed; n++) {
        struct frame_place *p = &places->items[n];
        if (!same_shape(cg, p->first, reg) || bit_intersects(p->points, points, k->nresume))
            continue;
        bit_union(p->points, points, k->nresume);
        cg->regs[reg].frame_offset = p->offset;
        return;
    }
    uint32_t bytes = register_bytes(cg, reg);
    bool vec = k->regs[reg].uniformity.seg == SEG_NONE;
    uint32_t element = (ptx_type_bits((enum ptx_type)k->regs[reg].type) + 7) / 8;
    uint32_t align = !vec ? element : bytes >= 64 ? 64 : bytes;
    uint32_t at = (*end + align - 1) / align * align;
    cg->regs[reg].frame_offset = at;
    *end = at + bytes;
    if (cg->regs[reg].framed)
        return;
    struct frame_place own = {at, reg, arena_alloc(&k->arena, bit_bytes(k->nresume))};
    bit_copy(own.points, points, k->nresume);
    vec_push(places, own);
}

void frame_allocate(struct codegen *cg)
{
    struct jkernel *k = cg->k;
    struct frame_places places = {0};
    uint64_t *points = arena_alloc(&k->arena, bit_bytes(k->nresume));
    bool vectors = false;
    /* small registers first, then vectors on cache lines of their own */
    for (int pass = 0; pass < 2; pass++) {
        places.count = 0;
        for (int32_t reg = 0; reg < (int32_t)k->nregs; reg++) {
            bool vec = k->regs[reg].uniformity.seg == SEG_NONE;
            if (cg->regs[reg].frame_offset == UINT32_MAX ||
                (vec && register_bytes(cg, reg) >= 64) != (pass == 1))
                continue;
            vectors |= vec;
            take_place(cg, reg, &places, points, &cg->frame->bytes);
        }
    }
    free(places.items);
    cg->frame->scalars = vectors ? 0 : (cg->frame->bytes + 7) & ~7u;
    cg->frame->bytes = (cg->frame->bytes + 63) & ~63u;
}

/* Saves or restores a word. Bits that are not among `lanes` are known to be 0. */
static void transfer_word(struct codegen *cg, LLVMValueRef slot, uint32_t offset, uint32_t lanes,
                          bool save)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef p = byte_offset(cg, cg->frame_w, c64(cg, offset)), v;
    if (save) {
        v = LLVMBuildLoad2(b, cg->i32, slot, "");
        v = LLVMBuildStore(b, v, p);
        tag_frame(cg, v);
    } else {
        v = LLVMBuildLoad2(b, cg->i32, p, "");
        tag_frame(cg, v);
        if (lanes != UINT32_MAX)
            v = LLVMBuildAnd(b, v, c32(cg, lanes), "");
        LLVMBuildStore(b, v, slot);
    }
}

/* Saves or restores a vector of which the frame has some lanes. */
static void transfer_lanes(struct codegen *cg, int32_t reg, bool save)
{
    LLVMBuilderRef b = cg->alu.b;
    struct storage *s = &cg->regs[reg];
    LLVMTypeRef t = scalar_type(cg, cg->k->regs[reg].type), all = LLVMVectorType(t, JIT_WARP);
    LLVMValueRef at[JIT_WARP], index[JIT_WARP], p, v;
    unsigned n = stored_lanes(cg, reg, at);
    LLVMTypeRef some = LLVMVectorType(t, n);
    for (unsigned lane = 0, next = 0; lane < JIT_WARP; lane++)
        index[lane] =
            (lane & s->ignored_bits) == 0 ? c32(cg, next++) : index[lane & ~s->ignored_bits];
    p = byte_offset(cg, cg->frame_w, c64(cg, s->frame_offset));
    if (save) {
        v = LLVMBuildLoad2(b, all, s->slot[0], "");
        v = LLVMBuildShuffleVector(b, v, LLVMGetPoison(all), LLVMConstVector(at, n), "");
        v = LLVMBuildStore(b, v, p);
    } else {
        v = LLVMBuildLoad2(b, some, p, "");
    }
    uint32_t bytes = n * ptx_type_bits((enum ptx_type)cg->k->regs[reg].type) / 8;
    LLVMSetAlignment(v, bytes < 64 ? bytes : 64);
    tag_frame(cg, v);
    if (save)
        return;
    v = LLVMBuildShuffleVector(b, v, LLVMGetPoison(some), LLVMConstVector(index, JIT_WARP), "");
    LLVMBuildStore(b, v, s->slot[0]);
}

/* Saves or restores a vector of bytes. */
static void transfer_bytes(struct codegen *cg, int32_t reg, bool save)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMTypeRef all = LLVMVectorType(scalar_type(cg, cg->k->regs[reg].type), JIT_WARP);
    LLVMTypeRef bytes = LLVMVectorType(cg->i8, JIT_WARP);
    LLVMValueRef slot = cg->regs[reg].slot[0];
    LLVMValueRef p = byte_offset(cg, cg->frame_w, c64(cg, cg->regs[reg].frame_offset));
    LLVMValueRef access =
        save ? LLVMBuildStore(b, LLVMBuildTrunc(b, LLVMBuildLoad2(b, all, slot, ""), bytes, ""), p)
             : LLVMBuildLoad2(b, bytes, p, "");
    LLVMSetAlignment(access, JIT_WARP);
    tag_frame(cg, access);
    if (!save)
        LLVMBuildStore(b, LLVMBuildZExt(b, access, all, ""), slot);
}

/* Saves or restores one register. */
static void transfer_register(struct codegen *cg, int32_t reg, bool save)
{
    LLVMBuilderRef b = cg->alu.b;
    const struct jreg *r = &cg->k->regs[reg];
    struct storage *s = &cg->regs[reg];
    LLVMTypeRef t = scalar_type(cg, r->type);
    uint32_t bytes = (ptx_type_bits((enum ptx_type)r->type) + 7) / 8;
    bool vec = r->uniformity.seg == SEG_NONE;
    if (s->framed)
        return;
    if (s->ignored_bits != 0) {
        transfer_lanes(cg, reg, save);
        return;
    }
    if (is_byte(cg, reg)) {
        transfer_bytes(cg, reg, save);
        return;
    }
    LLVMTypeRef held = vec ? LLVMVectorType(t, JIT_WARP) : t;
    LLVMTypeRef stored = r->type != PTX_PRED ? held : vec ? cg->i32 : cg->i8;
    for (int n = 0; n < (vec ? 1 : nsegs(r->uniformity.seg)); n++) {
        LLVMValueRef p = byte_offset(cg, cg->frame_w,
                                     c64(cg, s->frame_offset + (uint64_t)n * bytes)),
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
        tag_frame(cg, v);
        if (!save) {
            if (stored != held)
                v = vec ? LLVMBuildBitCast(b, v, held, "") : LLVMBuildTrunc(b, v, held, "");
            LLVMBuildStore(b, v, s->slot[n]);
        }
    }
    for (int n = 0; r->uniformity.brk != 0 && n < nsegs(r->uniformity.seg); n++)
        transfer_word(cg, s->brk[n],
                      s->frame_offset + (uint32_t)nsegs(r->uniformity.seg) * bytes +
                          4 * (uint32_t)n,
                      UINT32_MAX, save);
}

/* Saves or restores a register that is kept once: all warps find what the block had when the region
 * began, and leave the same value. */
static void transfer_once(struct codegen *cg, int32_t reg, bool save)
{
    struct storage *s = &cg->regs[reg];
    LLVMTypeRef t = scalar_type(cg, cg->k->regs[reg].type);
    if (s->in == NULL) {
        s->in = new_slot(cg, t, "in");
        s->out = new_slot(cg, t, "out");
    }
    LLVMValueRef v = LLVMBuildLoad2(cg->alu.b, t, save ? s->slot[0] : s->in, "");
    LLVMBuildStore(cg->alu.b, v, save ? s->out : s->slot[0]);
}

/* Saves or restores all that resume point r needs. */
void frame_transfer(struct codegen *cg, int32_t r, bool save)
{
    struct jkernel *k = cg->k;
    if (!cg->always_full)
        transfer_word(cg, cg->live_slot, cg->frame->live_offset, k->lanes, save);
    EACH_BIT (c, cg->frame->resume_blocks[r], k->nblocks)
        if (cg->frame->pending_offset[c] != UINT32_MAX)
            transfer_word(cg, pending_pointer(cg, c), cg->frame->pending_offset[c], k->lanes, save);
    EACH_BIT (reg, cg->frame->resume_live[r], (int32_t)k->nregs)
        if (frame_once(cg, reg) && !interleave_point(cg, r))
            transfer_once(cg, reg, save);
        else if (!k->regs[reg].remat)
            transfer_register(cg, reg, save);
}

/* Rematerializes a register, after those that it is computed from and that were not restored. */
static void rematerialize(struct codegen *cg, int32_t reg, bool restored)
{
    const struct jreg *r = &cg->k->regs[reg];
    if (cg->frame->remat_done[reg] || (restored && !r->remat))
        return;
    cg->frame->remat_done[reg] = 1;
    const struct ptx_instr *i = &cg->k->instrs[r->def];
    struct jroles roles;
    jit_roles(i, &roles);
    for (int u = 0; u < roles.nuse; u++)
        rematerialize(cg, roles.use[u], true);
    if (!emit_instr(cg, i))
        cg->failed = true;
}

void frame_rematerialize(struct codegen *cg, int32_t r)
{
    struct jkernel *k = cg->k;
    const uint64_t *read = cg->frame->reads != NULL ? cg->frame->reads : frame_reads(cg, r);
    EACH_BIT (reg, cg->frame->resume_live[r], (int32_t)k->nregs)
        if (k->regs[reg].remat &&
            (bit_get(read, reg) || (cg->frame->reads == NULL && k->regs[reg].uniformity.brk != 0)))
            rematerialize(cg, reg, false);
    EACH_BIT (reg, cg->frame->resume_remat[r], (int32_t)k->nregs)
        if (bit_get(read, reg))
            rematerialize(cg, reg, false);
}
