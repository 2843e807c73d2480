/* casts: what clang's text says of casts in device code, as nvcc means it.
 *
 * What a cast of floating point to an integer gives for a value out of range is for a compiler to
 * choose. nvcc's saturates, and one to 8 or 16 bits converts to 32 bits, with saturation, and cuts:
 * (unsigned char)300.0f is 44. Programs that make images depend on it. clang 19 makes an instruction
 * of 16 bits whose result need not even fit the type. So the LLVM text is rewritten, which has all
 * casts as calls of llvm.fptosi.sat and llvm.fptoui.sat (-fno-strict-float-cast-overflow):
 *
 * - before LLVM's passes a cast to 8 or 16 bits becomes one to 32 bits that is cut, and one from
 *   double or to 64 bits a call of a function that LLVM does not know: its own gives 0 for a NaN,
 *   PTX there the integer of the highest bit alone;
 * - after them one to 32 or 64 bits becomes the instruction, for which PTX has one that saturates,
 *   while the call would be made into several, or of a constant the result. Not sooner: of the
 *   instruction LLVM thinks that a constant out of range, which a call may turn out to be given,
 *   cannot come.
 *
 * Casts between floating point and 128 bits, which PTX has no instruction for and the backend no
 * code, become calls of the device library (src/devlib/wide.cpp), which is linked once more for them.
 *
 * Beside this, clang passes the table of a class's virtual bases, which lies in global memory, by a
 * bitcast from generic to global memory, which is none. */
#ifndef WEIRCC_CASTS_H
#define WEIRCC_CASTS_H

#include "base/base.h"

/* Appends the LLVM text, rewritten. The text is that of clang's front end, before any pass. */
void casts_rewrite(const char *llvm, struct strbuf *out);

/* The same for text that LLVM's passes are done with. */
void casts_lower(const char *llvm, struct strbuf *out);

/* Whether there is anything to lower in the text. */
bool casts_found(const char *llvm);

/* Whether functions of the device library are called for casts from or to 128 bits. */
bool casts_found_wide(const char *llvm);

#endif
