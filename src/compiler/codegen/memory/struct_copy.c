/* emit_copy: structures that each lane copies into its window of local memory, from another place
 * of it or from the kernel's parameters (flatten_copies.c): a call of a function of the module,
 * which goes from lane to lane. */
#include "compiler/codegen/matrix/matrix.h"
#include "compiler/codegen/memory/memory.h"

enum { FEW = 16, MANY = 64 }; /* bytes that are moved at once */

enum { TO, TO_STEP, FROM, FROM_STEP, BYTES, LANES, PARAMS }; /* of the function */

static LLVMBasicBlockRef struct_copy_block(struct codegen *cg, LLVMValueRef fn, const char *name)
{
    return LLVMAppendBasicBlockInContext(cg->alu.ctx, fn, name);
}

static LLVMValueRef lane_at(struct codegen *cg, LLVMValueRef fn, unsigned param, LLVMValueRef lane)
{
    LLVMValueRef by = LLVMBuildMul(cg->alu.b, lane, LLVMGetParam(fn, param + 1), "");
    return byte_offset(cg, LLVMGetParam(fn, param), by);
}

static void struct_copy_move(struct codegen *cg, LLVMValueRef to, LLVMValueRef from,
                             LLVMValueRef at, unsigned n)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMTypeRef t = LLVMVectorType(cg->i8, n);
    LLVMValueRef v = LLVMBuildLoad2(b, t, byte_offset(cg, from, at), "");
    LLVMSetAlignment(v, 1);
    LLVMSetAlignment(LLVMBuildStore(b, v, byte_offset(cg, to, at)), 1);
}

/* Moves n bytes at a time while as many are left, from `start` on; returns where it ended. */
static LLVMValueRef stretch(struct codegen *cg, LLVMValueRef fn, LLVMValueRef to, LLVMValueRef from,
                            LLVMValueRef start, unsigned n)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMBasicBlockRef before = LLVMGetInsertBlock(b), look = struct_copy_block(cg, fn, "look"),
                      move = struct_copy_block(cg, fn, "move"),
                      over = struct_copy_block(cg, fn, "over");
    LLVMBuildBr(b, look);
    LLVMPositionBuilderAtEnd(b, look);
    LLVMValueRef at = LLVMBuildPhi(b, cg->i64, "");
    LLVMValueRef next = LLVMBuildAdd(b, at, c64(cg, n), "");
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntULE, next, LLVMGetParam(fn, BYTES), ""), move, over);
    LLVMPositionBuilderAtEnd(b, move);
    struct_copy_move(cg, to, from, at, n);
    LLVMBuildBr(b, look);
    LLVMAddIncoming(at, (LLVMValueRef[]){start, next}, (LLVMBasicBlockRef[]){before, move}, 2);
    LLVMPositionBuilderAtEnd(b, over);
    return at;
}

/* At least FEW bytes of different variables: the last ones may be moved twice. */
static void struct_copy_body(struct codegen *cg, LLVMValueRef fn, const void *arg)
{
    (void)arg;
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef lanes = LLVMGetParam(fn, LANES);
    LLVMBasicBlockRef before = LLVMGetInsertBlock(b), loop = struct_copy_block(cg, fn, "lane"),
                      done = struct_copy_block(cg, fn, "done");
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntNE, lanes, c32(cg, 0), ""), loop, done);
    LLVMPositionBuilderAtEnd(b, loop);
    LLVMValueRef left = LLVMBuildPhi(b, cg->i32, "");
    LLVMValueRef args[2] = {left, LLVMConstInt(cg->i1, 1, false)};
    LLVMValueRef lane = intrinsic(cg, "llvm.cttz", &cg->i32, 1, args, 2);
    lane = LLVMBuildZExt(b, lane, cg->i64, "");
    LLVMValueRef to = lane_at(cg, fn, TO, lane), from = lane_at(cg, fn, FROM, lane);
    LLVMValueRef at = stretch(cg, fn, to, from, c64(cg, 0), MANY);
    stretch(cg, fn, to, from, at, FEW);
    struct_copy_move(cg, to, from, LLVMBuildSub(b, LLVMGetParam(fn, BYTES), c64(cg, FEW), ""), FEW);
    LLVMValueRef rest = LLVMBuildAnd(b, left, LLVMBuildSub(b, left, c32(cg, 1), ""), "");
    LLVMAddIncoming(left, (LLVMValueRef[]){lanes, rest},
                    (LLVMBasicBlockRef[]){before, LLVMGetInsertBlock(b)}, 2);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntNE, rest, c32(cg, 0), ""), loop, done);
    LLVMPositionBuilderAtEnd(b, done);
}

bool emit_copy(struct codegen *cg, const struct ptx_instr *i)
{
    bool local = i->spaces[1] == PTX_SPACE_LOCAL;
    struct access to = {.i = i, .at = &i->operands[0], .space = PTX_SPACE_LOCAL, .windowed = true};
    struct access from = {.i = i, .at = &i->operands[1], .space = i->spaces[1], .windowed = local};
    LLVMTypeRef params[PARAMS] = {cg->ptr, cg->i64, cg->ptr, cg->i64, cg->i64, cg->i32};
    LLVMValueRef args[PARAMS] = {
        mem_pointer(cg, &to, SEG_WARP, 0),   cg->local_stride,
        mem_pointer(cg, &from, SEG_WARP, 0), local ? cg->local_stride : c64(cg, 0),
        c64(cg, i->operands[2].imm),         mask_bits(cg)};
    LLVMValueRef fn = mma_function(cg, "weir_copy", params, PARAMS, struct_copy_body, NULL);
    LLVMBuildCall2(cg->alu.b, LLVMGlobalGetValueType(fn), fn, args, PARAMS, "");
    return true;
}
