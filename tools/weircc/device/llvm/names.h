/* names: what the device's functions and variables may be called.
 *
 * PTX has ASCII names only. C++ allows other letters, and nvcc refuses them for what is compiled
 * for the device; clang's PTX backend ends with a report of a crash. */
#ifndef WEIRCC_NAMES_H
#define WEIRCC_NAMES_H

#include "base/base.h"

/* Appends an error message, as clang would word it, for each name in the LLVM text of the file
 * `source` that PTX does not allow. How many there are. */
int names_check(const char *llvm, const char *source, struct strbuf *errors);

#endif
