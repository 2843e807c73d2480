/* excerpts: the source text in clang's messages.
 *
 * For the device, clang is given text in which launches stand in another form (launches.h), and
 * shows that text, with its columns. What the user wrote replaces it: the token that the
 * message points at is looked up in the user's file. */
#ifndef WEIRCC_EXCERPTS_H
#define WEIRCC_EXCERPTS_H

#include "base/base.h"

/* `message` is one message of clang's with its notes and excerpts, colours or not. */
void excerpts_restore(struct strbuf *message);

/* The same of a message about mended text (mend.h): each line that differs from the user's. */
void excerpts_restore_mended(struct strbuf *message);

/* A copy of `n` bytes of clang's messages without colours; the caller frees it. */
char *excerpts_plain(const char *text, size_t n);

#endif
