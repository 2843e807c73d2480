/* constant_memory: which variables are in constant memory: those that are marked __constant__.
 *
 * clang puts whatever is const and has a constant initial value there, too: variables of the
 * device, static members and statics of functions. nvcc leaves these in global memory, of which
 * there is more than 64 KiB, and programs rely on that (__ldg, __isGlobal, cp.async). Our headers
 * make __constant__ an annotation as well, by which the text of clang's front end distinguishes
 * them: what it defines in constant memory without one moves to global memory. What it only
 * declares there is marked: clang moves no variable whose initial value it does not see. */
#ifndef WEIRCC_CONSTANT_MEMORY_H
#define WEIRCC_CONSTANT_MEMORY_H

#include "base/base.h"

/* As include/host_defines.h has it. */
#define CONSTANT_ANNOTATION "weir.constant"

/* Appends the LLVM text, rewritten. The text is that of clang's front end, before any pass. */
void constant_memory_rewrite(const char *llvm, struct strbuf *out);

#endif
