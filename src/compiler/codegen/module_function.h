/* module_function.h: functions of the generated module, made once for all that call them,
 * and loops over lanes, which most of them are. */
#ifndef WEIR_COMPILER_MODULE_FUNCTION_H
#define WEIR_COMPILER_MODULE_FUNCTION_H

#include "compiler/codegen/codegen.h"

/* The internal void function `name` of this module, made by `body` when it is first asked for. */
LLVMValueRef module_function(struct codegen *cg, const char *name, LLVMTypeRef *params,
                             unsigned nparams,
                             void (*body)(struct codegen *cg, LLVMValueRef fn, const void *arg),
                             const void *arg);
/* A new basic block at the end of a function. */
LLVMBasicBlockRef append_bb(struct codegen *cg, LLVMValueRef fn, const char *name);

/* A loop over the lanes of a set, lowest first. */
struct lane_loop {
    LLVMBasicBlockRef before, body, done;
    LLVMValueRef bits, left; /* the set (i32), and what is left of it */
    LLVMValueRef lane;       /* i32 */
};
/* Between these the body is emitted; not run at all where the set is empty. */
struct lane_loop lane_loop_open(struct codegen *cg, LLVMValueRef bits, LLVMBasicBlockRef body,
                                LLVMBasicBlockRef done);
void lane_loop_close(struct codegen *cg, const struct lane_loop *l);
/* The same with the body as a function: body(cg, lane, arg) is called once. */
void for_active_lanes(struct codegen *cg, LLVMValueRef bits,
                      void (*body)(struct codegen *cg, LLVMValueRef lane, void *arg), void *arg);

#endif
