/* arch_hints: which architecture a function of CUDA needs that clang has just said is not there. */
#ifndef WEIRCC_ARCH_HINTS_H
#define WEIRCC_ARCH_HINTS_H

#include "weircc/options/arch.h"

/* The head line of a message, plain, with what architecture would have what it misses; NULL where
 * that is not why. The caller's to free. */
char *arch_hint(const char *plain, const struct arch *arch);

#endif
