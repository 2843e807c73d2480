/* modifiers: instructions in forms that clang 19 writes and PTX does not have.
 *
 * Where denormals of single precision are flushed to zero (-ftz=true, -use_fast_math), clang 19
 * writes add.ftz.bf16x2 and the like. PTX has no such form: instructions of bfloat16 keep
 * denormals, and nvcc writes them without the modifier (but for ex2, which has it always). And what
 * alloca takes from the stack is to be aligned to 0 bytes, where clang means that the default will
 * do (8, which is what alloca without an operand for it has); NVIDIA's assembler and driver refuse
 * that. */
#ifndef WEIRCC_MODIFIERS_H
#define WEIRCC_MODIFIERS_H

#include "base/base.h"

/* Append the PTX, rewritten: without .ftz; without such alignments. */
void modifiers_rewrite(const char *ptx, struct strbuf *out);
void stack_alignments_rewrite(const char *ptx, struct strbuf *out);

#endif
