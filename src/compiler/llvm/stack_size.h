/* stack_size: how much of the machine's stack compiled code takes.
 *
 * Values that are not in registers are in a function's frame, and a value is a vector of all lanes
 * of a warp. In baseline code of large kernels, where each value has a place of its own, the frame
 * is tens of megabytes: more than a thread's stack. Who runs the code must know (exec/run.c). */
#ifndef WEIR_COMPILER_STACK_SIZE_H
#define WEIR_COMPILER_STACK_SIZE_H

#include <stdint.h>

#include <llvm-c/Core.h>

struct stack_size {
    uint64_t frames;  /* bytes of the large ones, added up */
    char failed[200]; /* why there is no code; empty: nothing was said */
};

/* Lets code generation tell of the module's functions; *size stays there for as long as the context
 * is used. */
void stack_size_watch(LLVMModuleRef m, LLVMContextRef ctx, struct stack_size *size);

/* What to ask for of a stack, with what the code calls; 0: a usual one will do. */
uint64_t stack_size_wanted(const struct stack_size *size);

#endif
