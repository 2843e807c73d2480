/* memory_registers.c: registers that lie in memory, and are no values to LLVM.
 *
 * The functions of matrix instructions find their registers in memory. Each such register lies
 *
 *   in the warp's frame, if it outlives a resume point; it is not saved and restored then
 *   in one of a few slots on the stack, if it lives within a block: compilers give the result of
 * every product a register of its own, thousands in an unrolled kernel, of which few are live at a
 * time in a slot of its own otherwise
 *
 * Other registers that outlive a resume point are restored and saved by each region that they live
 * through. A few of them are values in between. Hundreds (the accumulators and addresses of an
 * unrolled product, as CUTLASS has them) would only be spilled to the stack by LLVM, and take it
 * minutes: instruction selection and scheduling are quadratic in the number of loads in a row. They
 * stay in the frame, too, and each is loaded where it is used. So do vectors and masks of a kernel
 * with so many resume points and registers that outlive them that most of its code would save and
 * restore. */
#include <stdlib.h>

#include "compiler/codegen/frame.h"
#include "compiler/codegen/values.h"

enum { FRAGMENT_BYTES = 256 };
/* Vectors that outlive a resume point are values if they are no more bytes than this, which is four
 * times the registers of a CPU with AVX-512. */
enum { MAX_LIVE_BYTES = 8192 };
/* Transfers to and from frames that a kernel may have: in all, and for each instruction. */
enum { MAX_TRANSFERS = 8000, MAX_TRANSFERS_EACH = 4 };

/* Registers that matrix instructions read or write, as a bit set. */
static uint64_t *fragments(struct codegen *cg)
{
    struct jkernel *k = cg->k;
    uint64_t *set = arena_alloc(&k->arena, bit_bytes((int32_t)k->nregs));
    for (int32_t b = 0; b < k->nblocks; b++)
        for (int32_t n = 0; n < k->blocks[b].count; n++) {
            const struct ptx_instr *i = &k->instrs[k->blocks[b].first + n];
            struct jroles r;
            if (i->op != PTX_OP_mma && i->op != PTX_OP_wmma && i->op != PTX_OP_wgmma)
                continue;
            jit_roles(i, &r);
            for (int d = 0; d < r.ndef; d++)
                bit_set(set, r.def[d]);
            for (int u = 0; u < r.nuse; u++)
                bit_set(set, r.use[u]);
        }
    EACH_BIT (r, set, (int32_t)k->nregs)
        if (k->regs[r].uniformity.seg != SEG_NONE ||
            ptx_type_bits((enum ptx_type)k->regs[r].type) < 32 ||
            ptx_type_bits((enum ptx_type)k->regs[r].type) > 64)
            bit_clear(set, r);
    return set;
}

/* The slots on the stack, and which of them are free. */
struct fragment_slots {
    LLVMValueRef *items;
    size_t count, cap;
    struct {
        LLVMValueRef *items;
        size_t count, cap;
    } free;
};

static LLVMValueRef take_slot(struct codegen *cg, struct fragment_slots *p)
{
    if (p->free.count > 0)
        return p->free.items[--p->free.count];
    LLVMValueRef v = new_slot(cg, LLVMArrayType2(cg->i8, FRAGMENT_BYTES), "fragment");
    LLVMSetAlignment(v, FRAGMENT_BYTES);
    vec_push(p, v);
    return v;
}

/* Assigns slots to the registers of `set` that live within block b. */
static void assign_block(struct codegen *cg, const struct jblock *b, const uint64_t *set,
                         int32_t *last, LLVMValueRef *held, struct fragment_slots *fragment_slots)
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
    fragment_slots->free.count = 0;
    for (size_t n = 0; n < fragment_slots->count; n++)
        vec_push(&fragment_slots->free, fragment_slots->items[n]);
    for (int32_t n = 0; n < b->count; n++) {
        jit_roles(&k->instrs[b->first + n], &r);
        for (int d = 0; d < r.ndef; d++) {
            int32_t reg = r.def[d];
            bool local = bit_get(set, reg) && k->regs[reg].ndefs == 1 && !bit_get(b->live_out, reg);
            if (local && !cg->regs[reg].framed)
                cg->regs[reg].slot[0] = held[reg] = take_slot(cg, fragment_slots);
        }
        /* results first: they never share a slot with what is read */
        for (int u = 0; u < r.ndef + r.nuse; u++) {
            int32_t reg = u < r.ndef ? r.def[u] : r.use[u - r.ndef];
            if (held[reg] != NULL && last[reg] == n) {
                vec_push(&fragment_slots->free, held[reg]);
                held[reg] = NULL;
            }
        }
    }
}

static void choose_fragments(struct codegen *cg)
{
    struct jkernel *k = cg->k;
    const uint64_t *set = fragments(cg);
    struct fragment_slots fragment_slots = {0};
    if (bit_empty(set, (int32_t)k->nregs))
        return;
    EACH_BIT (r, set, (int32_t)k->nregs)
        cg->regs[r].framed =
            cg->regs[r].frame_offset != UINT32_MAX && cg->regs[r].ignored_bits == 0;
    int32_t *last = xcalloc(k->nregs, sizeof *last);
    LLVMValueRef *held = xcalloc(k->nregs, sizeof(LLVMValueRef)); /* by register: its slot */
    for (int32_t b = 0; b < k->nblocks; b++)
        assign_block(cg, &k->blocks[b], set, last, held, &fragment_slots);
    free(last);
    free(held);
    free(fragment_slots.items);
    free(fragment_slots.free.items);
}

/* Bytes of a register for which the frame could have the only copy; 0: it could not. */
static uint32_t frame_vector_bytes(const struct codegen *cg, int32_t reg)
{
    const struct jreg *r = &cg->k->regs[reg];
    unsigned bits = ptx_type_bits((enum ptx_type)r->type);
    if (r->uniformity.seg != SEG_NONE || cg->regs[reg].frame_offset == UINT32_MAX ||
        cg->regs[reg].ignored_bits != 0)
        return 0;
    if (r->type == PTX_PRED)
        return JIT_WARP / 8;
    return bits < 16 || bits > 64 ? 0 : bits / 8 * JIT_WARP;
}

/* Where more vectors outlive a resume point than any CPU has registers for, all that do so stay in
 * the frame; where they outlive so many that they would mostly be moved, masks as well. */
static void choose_framed(struct codegen *cg)
{
    struct jkernel *k = cg->k;
    uint32_t most = 0;
    size_t transfers = 0;
    for (int32_t r = 1; r < k->nresume; r++) {
        uint32_t sum = 0;
        EACH_BIT (reg, cg->frame->resume_live[r], (int32_t)k->nregs) {
            uint32_t bytes = frame_vector_bytes(cg, reg);
            sum += bytes;
            transfers += bytes > 0 ? 2 : 0;
        }
        most = sum > most ? sum : most;
    }
    bool many = transfers > MAX_TRANSFERS && transfers > MAX_TRANSFERS_EACH * (size_t)k->ninstrs;
    if (most <= MAX_LIVE_BYTES && !many)
        return;
    for (size_t reg = 0; reg < k->nregs; reg++)
        if (frame_vector_bytes(cg, (int32_t)reg) > 0 && !cg->regs[reg].framed &&
            (many || k->regs[reg].type != PTX_PRED))
            cg->regs[reg].framed = cg->regs[reg].no_function = true;
}

void memory_registers_choose(struct codegen *cg)
{
    choose_fragments(cg);
    choose_framed(cg);
}

void memory_registers_region(struct codegen *cg)
{
    for (size_t r = 0; r < cg->k->nregs; r++)
        if (cg->regs[r].framed)
            cg->regs[r].slot[0] = NULL;
}

LLVMValueRef read_framed(struct codegen *cg, int32_t reg)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMTypeRef t = LLVMVectorType(scalar_type(cg, cg->k->regs[reg].type), JIT_WARP);
    bool mask = cg->k->regs[reg].type == PTX_PRED; /* in memory: a word */
    LLVMValueRef v = LLVMBuildLoad2(b, mask ? cg->i32 : t, register_pointer(cg, reg), "");
    LLVMSetAlignment(v, mask ? 4 : 64);
    if (cg->regs[reg].no_function)
        tag_frame(cg, v);
    return mask ? LLVMBuildBitCast(b, v, t, "") : v;
}

void write_framed(struct codegen *cg, int32_t reg, LLVMValueRef v)
{
    LLVMBuilderRef b = cg->alu.b;
    bool mask = cg->k->regs[reg].type == PTX_PRED;
    if (mask)
        v = LLVMBuildBitCast(b, v, cg->i32, "");
    LLVMValueRef store = LLVMBuildStore(b, v, register_pointer(cg, reg));
    LLVMSetAlignment(store, mask ? 4 : 64);
    if (cg->regs[reg].no_function)
        tag_frame(cg, store);
}

LLVMValueRef register_pointer(struct codegen *cg, int32_t reg)
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
