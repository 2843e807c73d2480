/* module_function.c: functions of the generated module, made once for all that call them,
 * and loops over lanes. */
#include <string.h>

#include "compiler/codegen/module_function.h"
#include "compiler/codegen/values.h"

static void attribute(struct codegen *cg, LLVMValueRef fn, const char *key, const char *value)
{
    LLVMAddAttributeAtIndex(fn, LLVMAttributeFunctionIndex,
                            LLVMCreateStringAttribute(cg->alu.ctx, key, (unsigned)strlen(key),
                                                      value, (unsigned)strlen(value)));
}

LLVMValueRef module_function(struct codegen *cg, const char *name, LLVMTypeRef *params,
                             unsigned nparams,
                             void (*body)(struct codegen *cg, LLVMValueRef fn, const void *arg),
                             const void *arg)
{
    LLVMValueRef fn = LLVMGetNamedFunction(cg->alu.module, name);
    if (fn != NULL)
        return fn;
    LLVMBuilderRef b = cg->alu.b;
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(cg->alu.ctx), params, nparams, false);
    fn = LLVMAddFunction(cg->alu.module, name, type);
    LLVMSetLinkage(fn, LLVMInternalLinkage);
    attribute(cg, fn, "prefer-vector-width", "512");
    attribute(cg, fn, "min-legal-vector-width", "512");
    attribute(cg, fn, "frame-pointer",
              "all"); /* a fault in it is reported at the call (exec/fault.c) */
    const char *const flags[] = {"noinline", "nounwind"};
    for (unsigned n = 0; n < 2; n++) {
        unsigned kind = LLVMGetEnumAttributeKindForName(flags[n], strlen(flags[n]));
        LLVMAddAttributeAtIndex(fn, LLVMAttributeFunctionIndex,
                                LLVMCreateEnumAttribute(cg->alu.ctx, kind, 0));
    }
    LLVMBasicBlockRef back = LLVMGetInsertBlock(b);
    LLVMMetadataRef line = LLVMGetCurrentDebugLocation2(b);
    LLVMSetCurrentDebugLocation2(b, NULL);
    LLVMPositionBuilderAtEnd(b, LLVMAppendBasicBlockInContext(cg->alu.ctx, fn, "entry"));
    body(cg, fn, arg);
    LLVMBuildRetVoid(b);
    LLVMPositionBuilderAtEnd(b, back);
    LLVMSetCurrentDebugLocation2(b, line);
    return fn;
}

LLVMBasicBlockRef append_bb(struct codegen *cg, LLVMValueRef fn, const char *name)
{
    return LLVMAppendBasicBlockInContext(cg->alu.ctx, fn, name);
}

/* ---- loops over lanes ---- */

struct lane_loop lane_loop_open(struct codegen *cg, LLVMValueRef bits, LLVMBasicBlockRef body,
                                LLVMBasicBlockRef done)
{
    LLVMBuilderRef b = cg->alu.b;
    struct lane_loop l = {LLVMGetInsertBlock(b), body, done, bits, NULL, NULL};
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntNE, bits, c32(cg, 0), ""), body, done);
    LLVMPositionBuilderAtEnd(b, body);
    l.left = LLVMBuildPhi(b, cg->i32, "");
    l.lane = lowest_lane(cg, l.left);
    return l;
}

void lane_loop_close(struct codegen *cg, const struct lane_loop *l)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMBasicBlockRef end = LLVMGetInsertBlock(b);
    LLVMValueRef rest = LLVMBuildAnd(b, l->left, LLVMBuildSub(b, l->left, c32(cg, 1), ""), "");
    LLVMAddIncoming(l->left, (LLVMValueRef[]){l->bits, rest}, (LLVMBasicBlockRef[]){l->before, end},
                    2);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntNE, rest, c32(cg, 0), ""), l->body, l->done);
    LLVMPositionBuilderAtEnd(b, l->done);
}

void for_active_lanes(struct codegen *cg, LLVMValueRef bits,
                      void (*body)(struct codegen *cg, LLVMValueRef lane, void *arg), void *arg)
{
    LLVMBasicBlockRef loop = new_bb(cg, "lane"), done = new_bb(cg, "lanes_done");
    struct lane_loop l = lane_loop_open(cg, bits, loop, done);
    body(cg, l.lane, arg);
    lane_loop_close(cg, &l);
}
