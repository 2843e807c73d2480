/* alignments: __builtin_assume_aligned with an alignment that a function computes
 * (`__builtin_assume_aligned(p, least(16, sizeof(T)))`), by which clang 19 dies. nvcc takes any
 * constant expression. As the size of an array it is a number to clang.
 *
 * Where more commas are in the parentheses than those of two arguments, nobody can tell a
 * template's from the builtin's without names: there the pointer is taken as it is. */
#ifndef WEIRCC_SOURCE_ALIGNMENTS_H
#define WEIRCC_SOURCE_ALIGNMENTS_H

#include "base/base.h"

/* Whether clang's messages may be about that: that it has died. */
bool alignments_are_why(const char *messages);

/* Writes preprocessed text with such alignments; appends the result. Returns the number of changes.
 */
int alignments_write(const char *text, struct strbuf *out);

/* The same of two arguments of which the alignment holds a call, for text that is mended anyway:
 * clang would die of them, or take what is no number for one. */
int alignments_write_calls(const char *text, struct strbuf *out);

#endif
