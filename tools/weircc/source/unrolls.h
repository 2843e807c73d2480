/* unrolls: lines of #pragma unroll and #pragma nounroll that nvcc ignores, with a warning, and
 * clang refuses: before something that is no loop, with a number that is not positive or too large
 * (which may depend on a template's parameters), before another such line. */
#ifndef WEIRCC_SOURCE_UNROLLS_H
#define WEIRCC_SOURCE_UNROLLS_H

#include "base/base.h"

/* Whether clang's messages (not coloured) may be about that. */
bool unrolls_are_why(const char *messages);

/* Writes preprocessed text without these lines and numbers; appends the result. Returns the number
 * of changes. */
int unrolls_write(const char *text, struct strbuf *out);

#endif
