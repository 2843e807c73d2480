/* mend: slips that nvcc lets pass, made into what clang takes.
 *
 * - In asm statements with operands: a register written with a single % ("mov.u32 %0, %smid;"), and
 *   a missing comma between operands.
 * - alignas after other attributes (`__shared__ alignas(16) float tile[16];`).
 * - Shared variables of types whose constructor or destructor does something, such as cuda::barrier
 *   with NVIDIA's CCCL. nvcc leaves both out and warns; clang refuses. They become members of unions.
 * - Blanks within the brackets of a launch (`kernel << < grid, block >> > (x);`).
 *
 * Programs have them, so a file that clang refuses for one of these is compiled again from its
 * preprocessed text, in which they are mended. Nothing else is changed, and no line moves. */
#ifndef WEIRCC_MEND_H
#define WEIRCC_MEND_H

#include "base/base.h"

/* Whether clang's messages are of the kind that mending may cure. */
bool mend_may_help(const char *messages);

/* Whether they are about shared variables with constructors: `unions` is for those. */
bool mend_needs_unions(const char *messages);

/* Mends preprocessed text; appends the result. Returns the number of changes. */
int mend_text(const char *text, bool unions, struct strbuf *out);

/* Mends a file in place. False when there was nothing to mend or on an error (then a message). */
bool mend_file(const char *path, bool unions, struct diag *d);

#endif
