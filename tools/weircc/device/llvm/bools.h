/* bools: bytes of bool other than 0 and 1, in device code.
 *
 * A bool in memory is a byte. clang takes it for granted that the byte is 0 or 1 (the range
 * metadata of its loads says so) and looks at the lowest bit alone. A program may hold other values
 * all the same: cudaMemset(flags, 0xFF, n) makes such an array. nvcc tests the whole byte, copies
 * it as it is, and widens it as a signed byte. So the LLVM text that clang's front end makes of a
 * file is rewritten before it is optimized:
 *
 * - a load loses its range, and its test becomes a comparison of the byte with 0;
 * - a conversion to another type widens the byte, with its sign;
 * - a copy copies the byte;
 * - bool parameters are passed as bytes, to kernels and to other functions.
 *
 * A bool that a function returns, or that an operator makes, is 0 or 1. */
#ifndef WEIRCC_BOOLS_H
#define WEIRCC_BOOLS_H

#include "base/base.h"

/* Appends the LLVM text, rewritten. The text is that of clang's front end, before any pass. */
void bools_rewrite(const char *llvm, struct strbuf *out);

#endif
