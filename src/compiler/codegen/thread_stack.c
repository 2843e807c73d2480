/* thread_stack.c: alloca, which takes memory from the end of a thread's window of local memory,
 * downwards.
 *
 * The frames of functions that are not inlined follow upon each other from the start of the window,
 * at offsets that all lanes of a call share. What alloca has taken differs from lane to lane, so it
 * is at the other end. How much it is, is in a register of each function; a function that is called
 * learns it from the last word of the window (front/flatten.c). */
#include "compiler/codegen/instructions.h"
#include "compiler/codegen/module_function.h"
#include "compiler/codegen/values.h"

/* The end of the window, where that word is. */
enum { END_BYTES = 16 };

static LLVMValueRef splat64(struct codegen *cg, LLVMValueRef v) { return splat(cg, v, JIT_WARP); }

/* Where alloca begins. */
static LLVMValueRef top_of_window(struct codegen *cg)
{
    return LLVMBuildSub(cg->alu.b, cg->block.local_stride, c64(cg, END_BYTES), "");
}

/* Where the frame ends. */
static LLVMValueRef end_of_frame(struct codegen *cg)
{
    LLVMValueRef bytes = c64(cg, cg->k->local_bytes);
    return cg->sp != NULL ? LLVMBuildAdd(cg->alu.b, cg->sp, bytes, "") : bytes;
}

/* A fault of those active lanes of which `over` is true. */
static void emit_overflow(struct codegen *cg, LLVMValueRef over)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef lanes = LLVMBuildAnd(b, bits_of(cg, over), mask_bits(cg), "");
    LLVMBasicBlockRef bad = new_bb(cg, "overflow"), fits = new_bb(cg, "fits");
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntNE, lanes, c32(cg, 0), ""), bad, fits);
    LLVMPositionBuilderAtEnd(b, bad);
    emit_fault(cg, JIT_FAULT_STACK, lanes, NULL);
    LLVMBuildUnreachable(b);
    LLVMPositionBuilderAtEnd(b, fits);
}

/* alloca d, taken, size, align, taken (front/lower.c): an address of the local window. */
bool emit_alloca(struct codegen *cg, const struct ptx_instr *i)
{
    LLVMBuilderRef b = cg->alu.b;
    const struct ptx_operand *o = i->operands;
    uint64_t align = o[3].imm != 0 ? o[3].imm : 1;
    LLVMValueRef top = splat64(cg, top_of_window(cg)), low = splat64(cg, end_of_frame(cg));
    LLVMValueRef taken = operand_vector(cg, &o[4], PTX_U64);
    LLVMValueRef size = operand_vector(cg, &o[2], PTX_U64);
    if (ptx_type_bits((enum ptx_type)i->types[0]) == 32)
        size = LLVMBuildAnd(b, size, splat64(cg, c64(cg, 0xffffffff)), "");
    LLVMValueRef left = LLVMBuildSub(b, top, taken, "");
    LLVMValueRef at = LLVMBuildSub(b, left, size, "");
    at = LLVMBuildAnd(b, at, splat64(cg, c64(cg, ~(align - 1))), "");
    LLVMValueRef over = LLVMBuildOr(b, LLVMBuildICmp(b, LLVMIntUGT, size, left, ""),
                                    LLVMBuildICmp(b, LLVMIntULT, at, low, ""), "");
    over = LLVMBuildOr(b, over, LLVMBuildICmp(b, LLVMIntUGT, taken, top, ""), "");
    emit_overflow(cg, over);
    write_vector(cg, o[0].reg, at, PTX_B64);
    write_vector(cg, o[1].reg, LLVMBuildSub(b, top, at, ""), PTX_B64);
    return true;
}

/* The last word of a lane's window. */
static LLVMValueRef last_word(struct codegen *cg, LLVMValueRef lane)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef thread = LLVMBuildOr(b, LLVMBuildShl(b, cg->w, c32(cg, SEG_WARP), ""), lane, "");
    LLVMValueRef window =
        LLVMBuildMul(b, LLVMBuildZExt(b, thread, cg->i64, ""), cg->block.local_stride, "");
    return byte_offset(cg, cg->block.local, LLVMBuildAdd(b, window, top_of_window(cg), ""));
}

/* What is loaded or stored for each lane: a row of 32 words. */
static LLVMValueRef word_of_row(struct codegen *cg, LLVMValueRef row, LLVMValueRef lane)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef offset = LLVMBuildShl(b, LLVMBuildZExt(b, lane, cg->i64, ""), c64(cg, 3), "");
    return byte_offset(cg, row, offset);
}

static void load_lane(struct codegen *cg, LLVMValueRef lane, void *row)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef v = LLVMBuildLoad2(b, cg->i64, last_word(cg, lane), "");
    LLVMBuildStore(b, v, word_of_row(cg, row, lane));
}

static void store_lane(struct codegen *cg, LLVMValueRef lane, void *row)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef v = LLVMBuildLoad2(b, cg->i64, word_of_row(cg, row, lane), "");
    LLVMBuildStore(b, v, last_word(cg, lane));
}

/* At the start of a function: what its callers' alloca has taken, which its frame must leave. The
 * caller may have overwritten the word by arguments; then the frame does not fit anyway. */
bool emit_stacksave(struct codegen *cg, const struct ptx_instr *i)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef row = new_slot(cg, cg->v32i64, "taken");
    LLVMBuildStore(b, LLVMConstNull(cg->v32i64), row);
    for_active_lanes(cg, mask_bits(cg), load_lane, row);
    LLVMValueRef taken = LLVMBuildLoad2(b, cg->v32i64, row, "");
    LLVMValueRef top = splat64(cg, top_of_window(cg));
    LLVMValueRef over = LLVMBuildICmp(b, LLVMIntUGT, splat64(cg, end_of_frame(cg)),
                                      LLVMBuildSub(b, top, taken, ""), "");
    over = LLVMBuildOr(b, over, LLVMBuildICmp(b, LLVMIntUGT, taken, top, ""), "");
    emit_overflow(cg, over);
    write_vector(cg, i->operands[0].reg, taken, PTX_B64);
    return true;
}

/* Before a call: what this function and its callers have taken. */
bool emit_stackrestore(struct codegen *cg, const struct ptx_instr *i)
{
    LLVMValueRef row = new_slot(cg, cg->v32i64, "taken");
    LLVMBuildStore(cg->alu.b, operand_vector(cg, &i->operands[0], PTX_U64), row);
    for_active_lanes(cg, mask_bits(cg), store_lane, row);
    return true;
}
