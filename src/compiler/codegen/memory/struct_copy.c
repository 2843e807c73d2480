/* struct_copy.c: structures that each lane copies into its window of local memory, from elsewhere
 * in it or from the kernel's parameters (front/struct_copies.c): a call of a function of the
 * module, which loops over lanes. */
#include "compiler/codegen/memory/access.h"
#include "compiler/codegen/memory/memory.h"
#include "compiler/codegen/module_function.h"
#include "compiler/codegen/values.h"

enum { FEW = 16, MANY = 64 }; /* bytes that are moved at once */

enum { TO, TO_STEP, FROM, FROM_STEP, BYTES, LANES, PARAMS }; /* of the function */

static LLVMValueRef lane_pointer(struct codegen *cg, LLVMValueRef fn, unsigned param,
                                 LLVMValueRef lane)
{
    LLVMValueRef by = LLVMBuildMul(cg->alu.b, lane, LLVMGetParam(fn, param + 1), "");
    return byte_offset(cg, LLVMGetParam(fn, param), by);
}

static void copy_bytes(struct codegen *cg, LLVMValueRef to, LLVMValueRef from, LLVMValueRef at,
                       unsigned n)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMTypeRef t = LLVMVectorType(cg->i8, n);
    LLVMValueRef v = LLVMBuildLoad2(b, t, byte_offset(cg, from, at), "");
    LLVMSetAlignment(v, 1);
    LLVMSetAlignment(LLVMBuildStore(b, v, byte_offset(cg, to, at)), 1);
}

/* Moves n bytes at a time while as many are left, from `start` on; returns where it ended. */
static LLVMValueRef copy_chunks(struct codegen *cg, LLVMValueRef fn, LLVMValueRef to,
                                LLVMValueRef from, LLVMValueRef start, unsigned n)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMBasicBlockRef before = LLVMGetInsertBlock(b), look = append_bb(cg, fn, "look"),
                      copy = append_bb(cg, fn, "copy"), over = append_bb(cg, fn, "over");
    LLVMBuildBr(b, look);
    LLVMPositionBuilderAtEnd(b, look);
    LLVMValueRef at = LLVMBuildPhi(b, cg->i64, "");
    LLVMValueRef next = LLVMBuildAdd(b, at, c64(cg, n), "");
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntULE, next, LLVMGetParam(fn, BYTES), ""), copy, over);
    LLVMPositionBuilderAtEnd(b, copy);
    copy_bytes(cg, to, from, at, n);
    LLVMBuildBr(b, look);
    LLVMAddIncoming(at, (LLVMValueRef[]){start, next}, (LLVMBasicBlockRef[]){before, copy}, 2);
    LLVMPositionBuilderAtEnd(b, over);
    return at;
}

/* At least FEW bytes of different variables: the last ones may be moved twice. */
static void struct_copy_body(struct codegen *cg, LLVMValueRef fn, const void *arg)
{
    (void)arg;
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef lanes = LLVMGetParam(fn, LANES);
    LLVMBasicBlockRef loop = append_bb(cg, fn, "lane"), done = append_bb(cg, fn, "done");
    struct lane_loop l = lane_loop_open(cg, lanes, loop, done);
    LLVMValueRef lane = LLVMBuildZExt(b, l.lane, cg->i64, "");
    LLVMValueRef to = lane_pointer(cg, fn, TO, lane), from = lane_pointer(cg, fn, FROM, lane);
    LLVMValueRef at = copy_chunks(cg, fn, to, from, c64(cg, 0), MANY);
    copy_chunks(cg, fn, to, from, at, FEW);
    copy_bytes(cg, to, from, LLVMBuildSub(b, LLVMGetParam(fn, BYTES), c64(cg, FEW), ""), FEW);
    lane_loop_close(cg, &l);
}

bool emit_struct_copy(struct codegen *cg, const struct ptx_instr *i)
{
    bool local = i->spaces[1] == PTX_SPACE_LOCAL;
    struct access to = {.i = i, .at = &i->operands[0], .space = PTX_SPACE_LOCAL, .windowed = true};
    struct access from = {.i = i, .at = &i->operands[1], .space = i->spaces[1], .windowed = local};
    LLVMTypeRef params[PARAMS] = {cg->ptr, cg->i64, cg->ptr, cg->i64, cg->i64, cg->i32};
    LLVMValueRef args[PARAMS] = {
        mem_pointer(cg, &to, SEG_WARP, 0),   cg->block.local_stride,
        mem_pointer(cg, &from, SEG_WARP, 0), local ? cg->block.local_stride : c64(cg, 0),
        c64(cg, i->operands[2].imm),         mask_bits(cg)};
    LLVMValueRef fn = module_function(cg, "weir_copy", params, PARAMS, struct_copy_body, NULL);
    LLVMBuildCall2(cg->alu.b, LLVMGlobalGetValueType(fn), fn, args, PARAMS, "");
    return true;
}
