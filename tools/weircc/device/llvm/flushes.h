/* flushes: mathematical functions with -ftz=true.
 *
 * Arithmetic has forms that take subnormal numbers for 0 and give 0 in their place; functions of
 * the device library have none. nvcc's are made of arithmetic, so they do the same. In the LLVM
 * text calls of those for which it matters become calls of functions that flush what goes in and
 * what comes out. */
#ifndef WEIRCC_FLUSHES_H
#define WEIRCC_FLUSHES_H

#include "base/base.h"

/* Appends the LLVM text, rewritten: that of clang's front end, once math_calls.h is done. */
void flushes_rewrite(const char *llvm, struct strbuf *out);

#endif
