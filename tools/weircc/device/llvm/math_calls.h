/* math_calls: compilers' own mathematical functions in device code (__builtin_exp, __builtin_erff).
 *
 * nvcc takes them for CUDA's functions; libraries that serve several compilers call them (libcu++).
 * clang 19 makes intrinsics of LLVM of some, for which its backend for PTX has no code, and calls
 * of the C library of others, which nothing defines on a device; its code for a remainder (frem) is
 * inexact. In the LLVM text these become calls of the device library. */
#ifndef WEIRCC_MATH_CALLS_H
#define WEIRCC_MATH_CALLS_H

#include "base/base.h"

/* Appends the LLVM text of clang's front end, rewritten. Returns how many calls and declarations
 * were. */
int math_calls_rewrite(const char *llvm, struct strbuf *out);

/* Whether functions are called that the device library defines in bitcode. */
bool math_calls_found_library(const char *llvm);

#endif
