/* quick: kernels made small for the code generator. Private to compile.c and quick.c. */
#ifndef WEIR_JIT_QUICK_H
#define WEIR_JIT_QUICK_H

#include <llvm-c/Core.h>
#include <llvm-c/Target.h>

/* Passes, in this order: QUICK_PASSES, quick_prepare, QUICK_LATER, quick_calls. */
#define QUICK_PASSES                                                                               \
    "function(sroa,early-cse<memssa>,simplifycfg,instcombine<no-verify-fixpoint>,"                 \
    "early-cse<memssa>,adce,simplifycfg)"
#define QUICK_LATER "function(adce,reg2mem)"

/* Masks made from the bits of an integer become casts of it; what reg2mem would hide is put where
 * it is used. */
void quick_prepare(LLVMModuleRef m);

/* Turns operations on vectors, in large functions, into calls of functions that are made for them,
 * each kind once. */
void quick_calls(LLVMModuleRef m, LLVMTargetDataRef data);

#endif
