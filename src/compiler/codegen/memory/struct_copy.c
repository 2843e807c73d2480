/* emit_copy: structures that each lane copies into its window of local memory, from another place
 * of it or from the kernel's parameters (flatten_copies.c): a call of a function of the module,
 * which goes from lane to lane. */
#include "compiler/codegen/matrix/matrix.h"
#include "compiler/codegen/memory/memory.h"

enum { FEW = 16, MANY = 64 }; /* bytes that are moved at once */

enum { TO, TO_STEP, FROM, FROM_STEP, BYTES, LANES, PARAMS }; /* of the function */

static LLVMBasicBlockRef struct_copy_block(struct emit *e, LLVMValueRef fn, const char *name)
{
    return LLVMAppendBasicBlockInContext(e->alu.ctx, fn, name);
}

static LLVMValueRef lane_at(struct emit *e, LLVMValueRef fn, unsigned param, LLVMValueRef lane)
{
    LLVMValueRef by = LLVMBuildMul(e->alu.b, lane, LLVMGetParam(fn, param + 1), "");
    return byte_offset(e, LLVMGetParam(fn, param), by);
}

static void struct_copy_move(struct emit *e, LLVMValueRef to, LLVMValueRef from, LLVMValueRef at,
                             unsigned n)
{
    LLVMBuilderRef b = e->alu.b;
    LLVMTypeRef t = LLVMVectorType(e->i8, n);
    LLVMValueRef v = LLVMBuildLoad2(b, t, byte_offset(e, from, at), "");
    LLVMSetAlignment(v, 1);
    LLVMSetAlignment(LLVMBuildStore(b, v, byte_offset(e, to, at)), 1);
}

/* Moves n bytes at a time while as many are left, from `start` on; returns where it ended. */
static LLVMValueRef stretch(struct emit *e, LLVMValueRef fn, LLVMValueRef to, LLVMValueRef from,
                            LLVMValueRef start, unsigned n)
{
    LLVMBuilderRef b = e->alu.b;
    LLVMBasicBlockRef before = LLVMGetInsertBlock(b), look = struct_copy_block(e, fn, "look"),
                      move = struct_copy_block(e, fn, "move"),
                      over = struct_copy_block(e, fn, "over");
    LLVMBuildBr(b, look);
    LLVMPositionBuilderAtEnd(b, look);
    LLVMValueRef at = LLVMBuildPhi(b, e->i64, "");
    LLVMValueRef next = LLVMBuildAdd(b, at, c64(e, n), "");
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntULE, next, LLVMGetParam(fn, BYTES), ""), move, over);
    LLVMPositionBuilderAtEnd(b, move);
    struct_copy_move(e, to, from, at, n);
    LLVMBuildBr(b, look);
    LLVMAddIncoming(at, (LLVMValueRef[]){start, next}, (LLVMBasicBlockRef[]){before, move}, 2);
    LLVMPositionBuilderAtEnd(b, over);
    return at;
}

/* At least FEW bytes of different variables: the last ones may be moved twice. */
static void struct_copy_body(struct emit *e, LLVMValueRef fn, const void *arg)
{
    (void)arg;
    LLVMBuilderRef b = e->alu.b;
    LLVMValueRef lanes = LLVMGetParam(fn, LANES);
    LLVMBasicBlockRef before = LLVMGetInsertBlock(b), loop = struct_copy_block(e, fn, "lane"),
                      done = struct_copy_block(e, fn, "done");
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntNE, lanes, c32(e, 0), ""), loop, done);
    LLVMPositionBuilderAtEnd(b, loop);
    LLVMValueRef left = LLVMBuildPhi(b, e->i32, "");
    LLVMValueRef args[2] = {left, LLVMConstInt(e->i1, 1, false)};
    LLVMValueRef lane = intrinsic(e, "llvm.cttz", &e->i32, 1, args, 2);
    lane = LLVMBuildZExt(b, lane, e->i64, "");
    LLVMValueRef to = lane_at(e, fn, TO, lane), from = lane_at(e, fn, FROM, lane);
    LLVMValueRef at = stretch(e, fn, to, from, c64(e, 0), MANY);
    stretch(e, fn, to, from, at, FEW);
    struct_copy_move(e, to, from, LLVMBuildSub(b, LLVMGetParam(fn, BYTES), c64(e, FEW), ""), FEW);
    LLVMValueRef rest = LLVMBuildAnd(b, left, LLVMBuildSub(b, left, c32(e, 1), ""), "");
    LLVMAddIncoming(left, (LLVMValueRef[]){lanes, rest},
                    (LLVMBasicBlockRef[]){before, LLVMGetInsertBlock(b)}, 2);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntNE, rest, c32(e, 0), ""), loop, done);
    LLVMPositionBuilderAtEnd(b, done);
}

bool emit_copy(struct emit *e, const struct ptx_instr *i)
{
    bool local = i->spaces[1] == PTX_SPACE_LOCAL;
    struct access to = {.i = i, .at = &i->operands[0], .space = PTX_SPACE_LOCAL, .windowed = true};
    struct access from = {.i = i, .at = &i->operands[1], .space = i->spaces[1], .windowed = local};
    LLVMTypeRef params[PARAMS] = {e->ptr, e->i64, e->ptr, e->i64, e->i64, e->i32};
    LLVMValueRef args[PARAMS] = {
        mem_pointer(e, &to, SEG_WARP, 0),   e->local_stride,
        mem_pointer(e, &from, SEG_WARP, 0), local ? e->local_stride : c64(e, 0),
        c64(e, i->operands[2].imm),         mask_bits(e)};
    LLVMValueRef fn = mma_function(e, "weir_copy", params, PARAMS, struct_copy_body, NULL);
    LLVMBuildCall2(e->alu.b, LLVMGlobalGetValueType(fn), fn, args, PARAMS, "");
    return true;
}
