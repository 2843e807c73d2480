/* named_constants: a file whose host code names const variables of the device (kept_constants.h).
 *
 * Only its object tells. Few files have such, so both halves are made again then. Left out is host
 * code of another compiler, and what has no host half. */
#ifndef WEIRCC_NAMED_CONSTANTS_H
#define WEIRCC_NAMED_CONSTANTS_H

#include "weircc/driver/compilation.h"

/* Whether the object registers variables that the PTX does not have. If so the compilation has the
 * names of all that it registers; false where it had them before. */
bool named_constants_find(struct compilation *c, const char *ptx, const char *object);

/* Puts those into the LLVM text of the device. Exit status. */
int named_constants_keep(struct compilation *c, const char *llvm);

#endif
