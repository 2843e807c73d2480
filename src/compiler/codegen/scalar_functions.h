/* scalar_functions.h: functions that are compiled for one lane, too; scalar_functions.c says why.
 */
#ifndef WEIR_COMPILER_SCALAR_FUNCTIONS_H
#define WEIR_COMPILER_SCALAR_FUNCTIONS_H

#include "compiler/codegen/codegen.h"

/* What was found of functions. */
struct scalar_functions {
    struct scalar_candidate {
        const struct ptx_func *func;
        int lanes; /* calls for so many at most run them one after the other; 0: none do */
    } *items;
    size_t count, cap;
};

/* For how many lanes at most a call runs one after the other; 0: the function is compiled for warps
 * only, 32: for one lane only, as far as it is called by name. */
int scalar_function_lanes(struct codegen *cg, const struct ptx_func *f);
/* The LLVM function: result (block, i32 thread, i64 frame start, arguments). */
LLVMValueRef scalar_function(struct codegen *cg, const struct ptx_func *f);
/* Its beginning, after the prologue; returns the lane as a mask. And its return. */
LLVMValueRef scalar_function_begin(struct codegen *cg);
void scalar_function_return(struct codegen *cg);
/* Calls it for each lane of `mask`, for a warp. `at`: where its frame starts in their windows. */
void call_scalars(struct codegen *cg, const struct ptx_func *f, LLVMValueRef mask, LLVMValueRef at);
/* In such a function, a call of itself. */
void call_scalar(struct codegen *cg, const struct ptx_func *f);
/* There, memory of arguments and results that only this lane's registers are; NULL: other memory.
 */
LLVMValueRef scalar_area(struct codegen *cg, const struct ptx_operand *o);
/* There, where the lane's window of local memory starts. */
LLVMValueRef scalar_window(struct codegen *cg);

#endif
