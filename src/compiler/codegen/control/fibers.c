/* fibers.c: kernels on fibers, whose functions wait at barriers (exec/warps.c).
 *
 * Such a kernel is a function like those that it calls; the function that runs a block only passes
 * it to a helper, which runs it for each warp. It keeps its state on the stack, so it has neither
 * regions nor frames. Barriers have become arrivals, questions and results (front/lower.c). */
#include "compiler/codegen/control/control.h"
#include "compiler/codegen/frame.h"
#include "compiler/codegen/instructions.h"
#include "compiler/codegen/values.h"

bool emit_fiber_kernel(struct codegen *cg)
{
    LLVMBuilderRef b = cg->alu.b;
    cg->block.ptr = LLVMGetParam(cg->fn, 0);
    cg->frame = arena_alloc(&cg->k->arena, sizeof *cg->frame);
    LLVMPositionBuilderAtEnd(b, new_bb(cg, "entry"));
    LLVMSetCurrentDebugLocation2(b, NULL);
    debug_function(cg);
    LLVMValueRef args[2] = {cg->block.ptr, callee_function(cg, cg->k->entry)};
    LLVMBuildRet(b, call_helper(cg, "weir_rt_warps", cg->i32, args, 2));
    return true;
}

/* ---- barriers ---- */

/* A number or count of threads goes to a row of the helper's. */
static void store_row(struct codegen *cg, unsigned row, const struct ptx_operand *o)
{
    helper_row_store(cg, row,
                     LLVMBuildZExt(cg->alu.b, operand_vector(cg, o, PTX_U32), cg->v32i64, ""));
}

static void emit_arrival(struct codegen *cg, const struct ptx_instr *i)
{
    bool votes = i->noperands > 2;
    LLVMValueRef yes = c32(cg, 0);
    if (votes)
        yes = bits_of(cg, operand_vector(cg, &i->operands[2], PTX_PRED));
    store_row(cg, 0, &i->operands[0]);
    store_row(cg, 1, &i->operands[1]);
    unsigned what =
        (ptx_has(i, PTX_M_sync) ? JIT_ARRIVE_WAITS : 0u) | (votes ? JIT_ARRIVE_VOTES : 0u);
    LLVMValueRef args[7] = {
        cg->block.ptr,      cg->w, mask_bits(cg), c32(cg, what), helper_rows(cg, 0),
        helper_rows(cg, 1), yes};
    call_helper(cg, "weir_rt_lanes_arrive", LLVMVoidTypeInContext(cg->alu.ctx), args, 7);
}

/* Which lanes may go on? */
static void emit_question(struct codegen *cg, const struct ptx_instr *i)
{
    LLVMValueRef args[3] = {cg->block.ptr, cg->w, mask_bits(cg)};
    LLVMValueRef pass = call_helper(cg, "weir_rt_lanes_pass", cg->i32, args, 3);
    int32_t reg = i->operands[0].reg;
    if (cg->k->regs[reg].uniformity.seg == SEG_NONE)
        write_vector(cg, reg, lanes_of(cg, pass), PTX_PRED);
    else
        write_uniform(cg, reg, LLVMBuildICmp(cg->alu.b, LLVMIntEQ, pass, args[2], ""), PTX_PRED);
}

static void emit_result(struct codegen *cg, const struct ptx_instr *i)
{
    LLVMBuilderRef b = cg->alu.b;
    if (i->operands[0].kind != PTX_OPR_REG)
        return;
    LLVMValueRef args[4] = {cg->block.ptr, cg->w, mask_bits(cg), helper_rows(cg, 0)};
    call_helper(cg, "weir_rt_lanes_votes", LLVMVoidTypeInContext(cg->alu.ctx), args, 4);
    LLVMValueRef votes = helper_row_load(cg, 0);
    LLVMValueRef yes = LLVMBuildTrunc(b, votes, cg->v32i32, "");
    LLVMValueRef no = LLVMBuildLShr(b, votes, splat(cg, c64(cg, 32), JIT_WARP), "");
    unsigned type = ptx_has(i, PTX_M_popc) ? PTX_U32 : PTX_PRED;
    LLVMValueRef r = yes;
    if (ptx_has(i, PTX_M_and))
        r = LLVMBuildICmp(b, LLVMIntEQ, no, LLVMConstNull(cg->v32i64), "");
    else if (type == PTX_PRED)
        r = LLVMBuildICmp(b, LLVMIntNE, yes, LLVMConstNull(cg->v32i32), "");
    int32_t reg = i->operands[0].reg;
    if (cg->k->regs[reg].uniformity.seg == SEG_NONE)
        write_vector(cg, reg, r, type);
    else
        write_uniform(cg, reg, first_active(cg, r), type);
}

void emit_lane_barrier(struct codegen *cg, const struct ptx_instr *i)
{
    if (ptx_has(i, PTX_M_arrive))
        emit_arrival(cg, i);
    else if (ptx_has(i, PTX_M_red))
        emit_result(cg, i);
    else
        emit_question(cg, i);
}

void emit_lanes_end(struct codegen *cg)
{
    LLVMValueRef args[3] = {cg->block.ptr, cg->w, mask_bits(cg)};
    call_helper(cg, "weir_rt_lanes_end", LLVMVoidTypeInContext(cg->alu.ctx), args, 3);
}

/* ---- polls ---- */

void emit_lane_poll(struct codegen *cg, const struct jblock *blk)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMBasicBlockRef out = new_bb(cg, "spun"), on = new_bb(cg, "spin");
    spend_poll(cg, out, on);
    LLVMPositionBuilderAtEnd(b, out);
    LLVMValueRef others = LLVMBuildLoad2(b, cg->i32, cg->live_slot, "");
    others = LLVMBuildAnd(b, others, LLVMBuildNot(b, mask_bits(cg), ""), "");
    LLVMValueRef args[3] = {cg->block.ptr, cg->w, others};
    LLVMValueRef may = call_helper(cg, "weir_rt_yield", cg->i32, args, 3);
    if (blk->spin_yields != NULL)
        flow_offer(cg, blk, may);
    LLVMBuildBr(b, on);
    LLVMPositionBuilderAtEnd(b, on);
}
