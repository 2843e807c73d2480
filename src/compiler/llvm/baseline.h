/* baseline: kernels made small for the code generator. Private to compile.c and baseline.c. */
#ifndef WEIR_COMPILER_BASELINE_H
#define WEIR_COMPILER_BASELINE_H

#include <llvm-c/Core.h>
#include <llvm-c/Target.h>

/* Passes, in this order: BASELINE_PASSES, baseline_prepare, BASELINE_SECOND_PASSES, baseline_calls.
 */
#define BASELINE_PASSES                                                                            \
    "function(sroa,early-cse<memssa>,simplifycfg,instcombine<no-verify-fixpoint>,"                 \
    "early-cse<memssa>,adce,simplifycfg)"
#define BASELINE_SECOND_PASSES "function(adce,reg2mem)"

/* Masks made from the bits of an integer become casts of it; what reg2mem would hide is sunk to its
 * use. */
void baseline_prepare(LLVMModuleRef m);

/* Turns operations on vectors, in large functions, into calls of functions that are made for them,
 * each kind once. */
void baseline_calls(LLVMModuleRef m, LLVMTargetDataRef data);

#endif
