/* severities: warnings that nvcc has numbers for, left out or made errors by these numbers.
 *
 * clang's warnings have names. Those that say what one of nvcc's says go by its number as well, or
 * by its tag, on the command line (-diag-suppress, -diag-error, cudafe's --diag_suppress=) and in
 * source:
 *
 *     #pragma nv_diag_suppress 177, set_but_not_used    nv_diag_error, nv_diag_warning,
 *                                                       nv_diag_remark, nv_diag_default
 *     #pragma nv_diagnostic push                        pop
 *
 * Such lines hold for the text that follows them. Words that nvcc does not know (diag_suppress, of
 * before CUDA 11.5) do nothing, as with nvcc. */
#ifndef WEIRCC_SEVERITIES_H
#define WEIRCC_SEVERITIES_H

#include "weircc/options/options.h"

/* Whether one of the messages (of clang's, or in its form) has a number. */
bool severities_concern(const struct strbuf *messages);

/* Gives warnings the severity that the command line and the source, preprocessed, say. `source`
 * NULL: it says nothing. With -Werror all-warnings those that are left are errors. */
void severities_apply(struct strbuf *messages, const char *source, const struct cmdline *options);

#endif
