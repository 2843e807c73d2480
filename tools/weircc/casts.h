/* casts: floating point to 8 and 16 bits, in device code.
 *
 * What such a cast gives for a value out of range is for a compiler to choose. nvcc converts to 32
 * bits, with saturation, and cuts: (unsigned char)300.0f is 44. Programs that make images depend on
 * it. clang 19 makes an instruction of 16 bits whose result need not even fit the type. So the LLVM
 * text that clang's front end makes (with -fno-strict-float-cast-overflow: all casts are calls of
 * llvm.fptosi.sat and llvm.fptoui.sat) is rewritten before it is optimized:
 *
 * - a cast to 8 or 16 bits becomes one to 32 bits that is cut;
 * - one to 32 or 64 bits becomes the instruction, for which PTX has one that saturates, while the
 *   call would be made into several. A constant keeps the call, which is worked out at once. */
#ifndef WEIRCC_CASTS_H
#define WEIRCC_CASTS_H

#include "base/base.h"

/* Appends the LLVM text, rewritten. The text is that of clang's front end, before any pass. */
void casts_rewrite(const char *llvm, struct strbuf *out);

/* Rewrites a file in place. False and a message when it cannot be read or written. */
bool casts_rewrite_file(const char *path, struct diag *d);

#endif
