/* emit_relay: the warps of a block go through a loop side by side (relay.c).
 *
 * A warp that comes to the loop is saved like at a barrier, notes in its frame that it waits here,
 * and the next warp runs. When all have run those that wait go on, in a region of their own, which
 * alone has the loop: each for a few turns, until nobody waits any more. Then all have come to the
 * same barrier, or to the end. */
#include "compiler/codegen/codegen.h"

/* Turns of a loop before the warp hands over. What is read and what is asked for meanwhile must
 * stay in the first cache, and steps of the grid often are such that it all shares a set of it,
 * which has eight places. */
enum { TURNS = 4, LINE = 64 };

bool relay_point(const struct emit *e, int32_t r)
{
    return e->k->lockstep && r > 0 && e->k->blocks[e->k->resume_block[r]].suspend == SUSPEND_RELAY;
}

static LLVMValueRef waits_word(struct emit *e)
{
    return byte_offset(e, e->frame_w, c64(e, e->relay_offset));
}

void relay_plan(struct emit *e)
{
    bool any = false;
    for (int32_t r = 1; r < e->k->nresume; r++)
        any |= relay_point(e, r);
    if (!any)
        return;
    e->relay_offset = e->frame_bytes;
    e->frame_bytes += 4;
    e->relay_left = new_slot(e, e->i32, "turns");
    e->relay_next = new_slot(e, e->i32, "relay");
    LLVMBuildStore(e->alu.b, c32(e, 0), e->relay_next);
}

bool relay_needs(const struct emit *e, int32_t reg)
{
    for (int32_t r = 1; r < e->k->nresume; r++)
        if (relay_point(e, r) && bit_get(e->resume_live[r], reg))
            return true;
    return false;
}

LLVMValueRef relay_waits(struct emit *e, int32_t r)
{
    LLVMValueRef at = LLVMBuildLoad2(e->alu.b, e->i32, waits_word(e), "");
    tag_frame(e, at);
    return LLVMBuildICmp(e->alu.b, LLVMIntEQ, at, c32(e, (uint64_t)r), "");
}

void relay_begin(struct emit *e)
{
    if (e->relay_left == NULL)
        return;
    bool always = e->k->entry->forms & PTX_FORM_RELAY;
    LLVMBuildStore(e->alu.b, c32(e, always ? 1 : TURNS), e->relay_left);
    tag_frame(e, LLVMBuildStore(e->alu.b, c32(e, 0), waits_word(e)));
}

void relay_hand_over(struct emit *e, const struct jblock *blk)
{
    LLVMBuilderRef b = e->alu.b;
    if (!e->k->lockstep) {
        flow_goto(e, blk->succ[0]);
        return;
    }
    if (e->region == blk->resume) {
        LLVMBasicBlockRef out = new_bb(e, "hand_over"), on = new_bb(e, "turn");
        LLVMValueRef left = LLVMBuildLoad2(b, e->i32, e->relay_left, "");
        left = LLVMBuildSub(b, left, c32(e, 1), "");
        LLVMBuildStore(b, left, e->relay_left);
        LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntEQ, left, c32(e, 0), ""), out, on);
        LLVMPositionBuilderAtEnd(b, on);
        flow_goto(e, blk->succ[0]);
        LLVMPositionBuilderAtEnd(b, out);
    }
    flow_wait(e, blk);
    frame_move(e, blk->resume, true);
    LLVMValueRef r = c32(e, (uint64_t)blk->resume);
    tag_frame(e, LLVMBuildStore(b, r, waits_word(e)));
    LLVMBuildStore(b, r, e->relay_next);
    LLVMBuildBr(b, e->suspend);
}

void relay_go_on(struct emit *e, LLVMBasicBlockRef *regions)
{
    LLVMBuilderRef b = e->alu.b;
    if (e->relay_left == NULL)
        return;
    LLVMBasicBlockRef none = new_bb(e, "through");
    LLVMValueRef next = LLVMBuildLoad2(b, e->i32, e->relay_next, "");
    LLVMBuildStore(b, c32(e, 0), e->relay_next);
    LLVMValueRef sw = LLVMBuildSwitch(b, next, none, 1);
    for (int32_t r = 1; r < e->k->nresume; r++)
        if (relay_point(e, r))
            LLVMAddCase(sw, c32(e, (uint64_t)r), regions[r]);
    LLVMPositionBuilderAtEnd(b, none);
}

void relay_ahead(struct emit *e, const struct ptx_operand *at, unsigned space,
                 const LLVMValueRef *p, int n, uint64_t bytes)
{
    const struct jkernel *k = e->k;
    LLVMBuilderRef b = e->alu.b;
    struct jgrowth g;
    if (e->relay_left == NULL || !e->in_whole || e->cur == NULL || e->cur->loop < 0 ||
        k->blocks[e->cur->loop].first != k->relay - 1 ||
        (space != PTX_SPACE_GLOBAL && space != PTX_SPACE_GENERIC) || at->reg < 0 ||
        !jit_grid_growth(k, e->cur->loop, at->reg, &g))
        return;
    struct ptx_operand o = {.kind = PTX_OPR_REG, .reg = g.step};
    bool wide = ptx_type_bits((enum ptx_type)k->regs[g.step].type) == 64;
    LLVMValueRef step = operand_scalar(e, &o, wide ? PTX_S64 : PTX_S32, SEG_WARP, 0);
    if (!wide)
        step = LLVMBuildSExt(b, step, e->i64, "");
    step = LLVMBuildMul(b, step, c64(e, (uint64_t)(g.times * TURNS)), "");
    for (int s = 0; s < n; s++)
        for (uint64_t line = 0; line < bytes; line += LINE) {
            LLVMValueRef args[4] = {byte_offset(e, byte_offset(e, p[s], step), c64(e, line)),
                                    c32(e, 0) /* to be read */,
                                    c32(e, 3) /* into the first cache */, c32(e, 1) /* data */};
            intrinsic(e, "llvm.prefetch", &e->ptr, 1, args, 4);
        }
}
