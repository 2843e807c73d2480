/* serialized_strips.c: loops that strips of eight lanes run one after the other;
 * lane_serialization.c chooses them and says why.
 *
 * A strip is run with all other lanes inactive. What it writes has storage of its own meanwhile,
 * which holds what the strip's lanes have and nothing else: a vector of eight elements, or one
 * scalar, that of the segment which the strip is a part of. The ordinary emitters make the code; to
 * them, the other lanes seem to have what the strip has, and what they compute for other segments,
 * from values that the loop does not write, goes nowhere. As these are not active, nothing comes of
 * that but operations whose results nobody reads, which LLVM does not translate. */
#include <stdlib.h>

#include "compiler/codegen/control/control.h"
#include "compiler/codegen/instructions.h"
#include "compiler/codegen/values.h"

/* A register that the loop writes. */
struct strip_reg {
    int32_t reg;
    bool live_in, live_out;
    struct storage outside, own; /* of all lanes, and the strip's */
};

struct strip_loop {
    const struct jblock *block;
    bool loops_if; /* the condition under which lanes go on */
    struct strip_reg *items;
    size_t count, cap;
    LLVMValueRef lanes; /* a variable: those of the strip that are in the loop */
};

bool strips_pay(const struct codegen *cg, const struct jblock *blk)
{
    return blk->strips_end != 0 && cg->alu.has_avx2 && !cg->alu.has_avx512 && !cg->k->is_function;
}

static void find_written(struct codegen *cg, struct strip_loop *s)
{
    const struct jkernel *k = cg->k;
    uint64_t *seen = xcalloc(bit_bytes((int32_t)k->nregs), 1);
    for (int32_t n = 0; n < s->block->count; n++) {
        struct jroles r;
        jit_roles(&k->instrs[s->block->first + n], &r);
        for (int d = 0; d < r.ndef; d++) {
            struct strip_reg t = {.reg = r.def[d], .outside = cg->regs[r.def[d]]};
            if (bit_get(seen, t.reg))
                continue;
            bit_set(seen, t.reg);
            t.live_in = bit_get(s->block->live_in, t.reg);
            t.live_out = bit_get(k->blocks[s->block->strips_end].live_in, t.reg);
            vec_push(s, t);
        }
    }
    free(seen);
}

/* Storage for what the strip has of a register, with what it has at first. Lanes that are not in
 * the loop, or leave it first, keep that, though the loop itself may never read it. */
static void give_storage(struct codegen *cg, struct strip_reg *t, int strip)
{
    LLVMBuilderRef b = cg->alu.b;
    const struct jreg *r = &cg->k->regs[t->reg];
    LLVMTypeRef type = scalar_type(cg, r->type);
    int segment = r->uniformity.seg == SEG_NONE ? 0 : strip * STRIP_LANES >> r->uniformity.seg;
    bool kept = t->live_in || t->live_out;
    LLVMValueRef v = kept ? read_slot(cg, t->reg, segment) : NULL;
    t->own = (struct storage){.frame_offset = UINT32_MAX};
    if (r->uniformity.seg == SEG_NONE) {
        t->own.strip = (uint8_t)(strip + 1);
        type = LLVMVectorType(type, STRIP_LANES);
        v = v != NULL ? strip_lanes(cg, v, strip) : NULL;
    } else {
        t->own.segment = (uint8_t)(segment + 1);
    }
    LLVMValueRef slot = new_slot(cg, type, r->name), brk = NULL;
    if (v != NULL)
        LLVMBuildStore(b, v, slot);
    if (r->uniformity.brk != 0)
        brk = new_slot(cg, cg->i32, r->name);
    if (brk != NULL && kept)
        LLVMBuildStore(b, LLVMBuildLoad2(b, cg->i32, t->outside.brk[segment], ""), brk);
    for (int n = 0; n < (r->uniformity.seg == SEG_NONE ? 1 : nsegs(r->uniformity.seg)); n++) {
        t->own.slot[n] = slot;
        t->own.brk[n] = brk;
    }
}

/* The lanes of the strip get what they have after the loop. */
static void write_back(struct codegen *cg, const struct strip_reg *t, int strip)
{
    LLVMValueRef v = read_slot(cg, t->reg, 0);
    unsigned idx[JIT_WARP];
    cg->regs[t->reg] = t->outside;
    if (!t->live_out)
        return;
    for (unsigned l = 0; l < JIT_WARP; l++)
        idx[l] = l / STRIP_LANES == (unsigned)strip ? JIT_WARP + l : l;
    v = shuffle(cg, read_slot(cg, t->reg, 0), v, idx, JIT_WARP);
    write_vector(cg, t->reg, v, cg->k->regs[t->reg].type);
}

/* i32: the lanes that go on, if they are in the loop. */
static LLVMValueRef lanes_on(struct codegen *cg, const struct strip_loop *s)
{
    LLVMBuilderRef b = cg->alu.b;
    const struct storage *t = &cg->regs[s->block->cond];
    bool neg = s->block->cond_neg == s->loops_if;
    struct ptx_operand cond = {.kind = PTX_OPR_REG, .reg = s->block->cond, .neg = neg};
    if (t->strip == 0)
        return bits_of(cg, operand_vector(cg, &cond, PTX_PRED));
    LLVMTypeRef byte = LLVMVectorType(cg->i1, STRIP_LANES);
    LLVMValueRef v = LLVMBuildLoad2(b, byte, t->slot[0], "");
    v = LLVMBuildZExt(b, LLVMBuildBitCast(b, v, cg->i8, ""), cg->i32, "");
    v = LLVMBuildShl(b, v, c32(cg, (t->strip - 1u) * STRIP_LANES), "");
    return neg ? LLVMBuildNot(b, v, "") : v;
}

static bool emit_turn(struct codegen *cg, const struct strip_loop *s, uint32_t all,
                      LLVMBasicBlockRef loop, LLVMBasicBlockRef over)
{
    LLVMBuilderRef b = cg->alu.b;
    const struct jblock *blk = s->block;
    LLVMPositionBuilderAtEnd(b, loop);
    LLVMValueRef lanes = LLVMBuildLoad2(b, cg->i32, s->lanes, "");
    cg->mask = LLVMBuildAnd(b, lanes, c32(cg, all), "");
    cg->mask_vec = NULL;
    for (int32_t n = 0; n < blk->count; n++)
        if (!emit_instr(cg, &cg->k->instrs[blk->first + n]))
            return false;
    LLVMValueRef on = LLVMBuildAnd(b, cg->mask, lanes_on(cg, s), "");
    LLVMBuildStore(b, on, s->lanes);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntNE, on, c32(cg, 0), ""), loop, over);
    return true;
}

static bool emit_strip(struct codegen *cg, struct strip_loop *s, LLVMValueRef active, int strip,
                       const uint64_t *waiting)
{
    LLVMBuilderRef b = cg->alu.b;
    uint32_t all = 0xffu << strip * STRIP_LANES;
    LLVMBasicBlockRef some = new_bb(cg, "strip_some"), loop = new_bb(cg, "strip_loop"),
                      over = new_bb(cg, "strip_end"), next = new_bb(cg, "strip_next");
    LLVMValueRef lanes = LLVMBuildAnd(b, active, c32(cg, all), "");
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntNE, lanes, c32(cg, 0), ""), some, next);
    LLVMPositionBuilderAtEnd(b, some);
    LLVMBuildStore(b, lanes, s->lanes);
    for (size_t n = 0; n < s->count; n++)
        give_storage(cg, &s->items[n], strip);
    for (size_t n = 0; n < s->count; n++)
        cg->regs[s->items[n].reg] = s->items[n].own;
    LLVMBuildBr(b, loop);
    cg->waiting = waiting;
    bool ok = emit_turn(cg, s, all, loop, over);
    LLVMPositionBuilderAtEnd(b, over);
    cg->waiting = NULL;
    cg->mask = cg->mask_vec = NULL;
    for (size_t n = 0; n < s->count; n++)
        write_back(cg, &s->items[n], strip);
    LLVMBuildBr(b, next);
    LLVMPositionBuilderAtEnd(b, next);
    return ok;
}

bool serialize_strips(struct codegen *cg, const struct jblock *blk)
{
    struct strip_loop s = {.block = blk};
    int32_t index = (int32_t)(blk - cg->k->blocks);
    LLVMValueRef mask = cg->mask, mask_vec = cg->mask_vec, active = mask_bits(cg);
    const uint64_t *waiting = cg->waiting;
    bool converged = cg->in_converged_copy, ok = true;
    s.loops_if = blk->succ[0] == index;
    s.lanes = new_slot(cg, cg->i32, "strip_lanes");
    find_written(cg, &s);
    cg->in_converged_copy = false;
    for (int strip = 0; strip < JIT_WARP / STRIP_LANES; strip++)
        ok = ok && emit_strip(cg, &s, active, strip, cg->flow->waiting_of[index]);
    cg->mask = mask;
    cg->mask_vec = mask_vec;
    cg->waiting = waiting;
    cg->in_converged_copy = converged;
    cg->cur = blk;
    free(s.items);
    return ok;
}
