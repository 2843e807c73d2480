/* baseline: kernels made small for the code generator. Private to compile.c and baseline.c. */
#ifndef WEIR_COMPILER_BASELINE_H
#define WEIR_COMPILER_BASELINE_H

#include <llvm-c/Core.h>
#include <llvm-c/Target.h>

/* Passes, in this order: BASELINE_PASSES, or BASELINE_MEDIUM_PASSES for kernels above a size, for
 * which those take nearly as long as all that comes after, or BASELINE_LARGE_PASSES above another,
 * from which on these, too, take more than linear time; baseline_prepare; BASELINE_SECOND_PASSES,
 * not for large kernels; baseline_demote; baseline_calls. In large kernels, registers stay the
 * variables that they are when they are emitted. */
#define BASELINE_PASSES                                                                            \
    "function(sroa,early-cse<memssa>,simplifycfg,instcombine<no-verify-fixpoint>,"                 \
    "early-cse<memssa>,adce,simplifycfg)"
#define BASELINE_MEDIUM_PASSES "function(sroa,instsimplify,simplifycfg,early-cse,adce,simplifycfg)"
#define BASELINE_LARGE_PASSES  "function(instsimplify)"
#define BASELINE_SECOND_PASSES "function(adce)"

/* An attribute of functions that access no memory but what they are given pointers to, in the
 * memory of their caller and its frames. */
#define REGISTERS_ONLY "weir-registers-only"

/* Masks made from the bits of an integer become casts of it; what baseline_demote would hide is
 * sunk to its use. */
void baseline_prepare(LLVMModuleRef m);

/* Values that outlive their block become variables, and so do phis. */
void baseline_demote(LLVMModuleRef m);

/* Turns operations on vectors, in large functions, into calls of functions that are made for them,
 * each kind once. */
void baseline_calls(LLVMModuleRef m, LLVMTargetDataRef data);

#endif
