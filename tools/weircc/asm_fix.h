/* asm_fix: inline assembly as nvcc takes it, made into what clang takes.
 *
 * nvcc lets pass two slips in asm statements with operands that clang refuses: a register written
 * with a single % ("mov.u32 %0, %smid;") and a missing comma between operands; and it takes alignas
 * after other attributes (`__shared__ alignas(16) float tile[16];`). Programs have them, so a file
 * that clang refuses for one of these is compiled again from its preprocessed text, in which they
 * are mended. Nothing else is changed, and no line moves. */
#ifndef WEIRCC_ASM_FIX_H
#define WEIRCC_ASM_FIX_H

#include "base/base.h"

/* Whether clang's messages are of the kind that asm_fix may cure. */
bool asm_fix_may_help(const char *messages);

/* Mends preprocessed text; appends the result. Returns the number of changes. */
int asm_fix_text(const char *text, struct strbuf *out);

/* Mends a file in place. False when there was nothing to mend or on an error (then a message). */
bool asm_fix_file(const char *path, struct diag *d);

#endif
