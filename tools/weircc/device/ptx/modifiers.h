/* modifiers: instructions of bfloat16 without .ftz.
 *
 * Where denormals of single precision are flushed to zero (-ftz=true, -use_fast_math), clang 19
 * writes add.ftz.bf16x2 and the like. PTX has no such form: instructions of bfloat16 keep
 * denormals, and nvcc writes them without the modifier. */
#ifndef WEIRCC_MODIFIERS_H
#define WEIRCC_MODIFIERS_H

#include "base/base.h"

/* Appends the PTX, rewritten. */
void modifiers_rewrite(const char *ptx, struct strbuf *out);

#endif
