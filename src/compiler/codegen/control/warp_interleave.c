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

bool relay_point(const struct codegen *cg, int32_t r)
{
    return cg->k->lockstep && r > 0 &&
           cg->k->blocks[cg->k->resume_block[r]].suspend == SUSPEND_YIELD;
}

static LLVMValueRef waits_word(struct codegen *cg)
{
    return byte_offset(cg, cg->frame_w, c64(cg, cg->relay_offset));
}

void relay_plan(struct codegen *cg)
{
    bool any = false;
    for (int32_t r = 1; r < cg->k->nresume; r++)
        any |= relay_point(cg, r);
    if (!any)
        return;
    cg->relay_offset = cg->frame_bytes;
    cg->frame_bytes += 4;
    cg->relay_left = new_slot(cg, cg->i32, "turns");
    cg->relay_next = new_slot(cg, cg->i32, "relay");
    LLVMBuildStore(cg->alu.b, c32(cg, 0), cg->relay_next);
}

bool relay_needs(const struct codegen *cg, int32_t reg)
{
    for (int32_t r = 1; r < cg->k->nresume; r++)
        if (relay_point(cg, r) && bit_get(cg->resume_live[r], reg))
            return true;
    return false;
}

LLVMValueRef relay_waits(struct codegen *cg, int32_t r)
{
    LLVMValueRef at = LLVMBuildLoad2(cg->alu.b, cg->i32, waits_word(cg), "");
    tag_frame(cg, at);
    return LLVMBuildICmp(cg->alu.b, LLVMIntEQ, at, c32(cg, (uint64_t)r), "");
}

void relay_begin(struct codegen *cg)
{
    if (cg->relay_left == NULL)
        return;
    bool always = cg->k->entry->forms & PTX_FORM_RELAY;
    LLVMBuildStore(cg->alu.b, c32(cg, always ? 1 : TURNS), cg->relay_left);
    tag_frame(cg, LLVMBuildStore(cg->alu.b, c32(cg, 0), waits_word(cg)));
}

void relay_hand_over(struct codegen *cg, const struct jblock *blk)
{
    LLVMBuilderRef b = cg->alu.b;
    if (!cg->k->lockstep) {
        flow_goto(cg, blk->succ[0]);
        return;
    }
    if (cg->region == blk->resume) {
        LLVMBasicBlockRef out = new_bb(cg, "hand_over"), on = new_bb(cg, "turn");
        LLVMValueRef left = LLVMBuildLoad2(b, cg->i32, cg->relay_left, "");
        left = LLVMBuildSub(b, left, c32(cg, 1), "");
        LLVMBuildStore(b, left, cg->relay_left);
        LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntEQ, left, c32(cg, 0), ""), out, on);
        LLVMPositionBuilderAtEnd(b, on);
        flow_goto(cg, blk->succ[0]);
        LLVMPositionBuilderAtEnd(b, out);
    }
    flow_wait(cg, blk);
    frame_move(cg, blk->resume, true);
    LLVMValueRef r = c32(cg, (uint64_t)blk->resume);
    tag_frame(cg, LLVMBuildStore(b, r, waits_word(cg)));
    LLVMBuildStore(b, r, cg->relay_next);
    LLVMBuildBr(b, cg->suspend);
}

void relay_go_on(struct codegen *cg, LLVMBasicBlockRef *regions)
{
    LLVMBuilderRef b = cg->alu.b;
    if (cg->relay_left == NULL)
        return;
    LLVMBasicBlockRef none = new_bb(cg, "through");
    LLVMValueRef next = LLVMBuildLoad2(b, cg->i32, cg->relay_next, "");
    LLVMBuildStore(b, c32(cg, 0), cg->relay_next);
    LLVMValueRef sw = LLVMBuildSwitch(b, next, none, 1);
    for (int32_t r = 1; r < cg->k->nresume; r++)
        if (relay_point(cg, r))
            LLVMAddCase(sw, c32(cg, (uint64_t)r), regions[r]);
    LLVMPositionBuilderAtEnd(b, none);
}

void relay_ahead(struct codegen *cg, const struct ptx_operand *at, unsigned space,
                 const LLVMValueRef *p, int n, uint64_t bytes)
{
    const struct jkernel *k = cg->k;
    LLVMBuilderRef b = cg->alu.b;
    struct jgrowth g;
    if (cg->relay_left == NULL || !cg->in_whole || cg->cur == NULL || cg->cur->loop < 0 ||
        k->blocks[cg->cur->loop].first != k->yield_loop - 1 ||
        (space != PTX_SPACE_GLOBAL && space != PTX_SPACE_GENERIC) || at->reg < 0 ||
        !jit_grid_growth(k, cg->cur->loop, at->reg, &g))
        return;
    struct ptx_operand o = {.kind = PTX_OPR_REG, .reg = g.step};
    bool wide = ptx_type_bits((enum ptx_type)k->regs[g.step].type) == 64;
    LLVMValueRef step = operand_scalar(cg, &o, wide ? PTX_S64 : PTX_S32, SEG_WARP, 0);
    if (!wide)
        step = LLVMBuildSExt(b, step, cg->i64, "");
    step = LLVMBuildMul(b, step, c64(cg, (uint64_t)(g.times * TURNS)), "");
    for (int s = 0; s < n; s++)
        for (uint64_t line = 0; line < bytes; line += LINE) {
            LLVMValueRef args[4] = {byte_offset(cg, byte_offset(cg, p[s], step), c64(cg, line)),
                                    c32(cg, 0) /* to be read */,
                                    c32(cg, 3) /* into the first cache */, c32(cg, 1) /* data */};
            intrinsic(cg, "llvm.prefetch", &cg->ptr, 1, args, 4);
        }
}
