/* mended_messages: what is said of a file that clang refuses with its slips mended, too (mend.h).
 *
 * The messages about the source as it stands hold every slip that nvcc lets pass, and clang may
 * have stopped before the one that counts. So what is shown is what clang says of the mended text.
 * Where it said the same of the source, that message is shown, with its columns and macros; of the
 * others the lines are those of the user's file. */
#ifndef WEIRCC_MENDED_MESSAGES_H
#define WEIRCC_MENDED_MESSAGES_H

#include "base/base.h"

/* Whether messages of clang's hold an error. */
bool mended_messages_any(const struct strbuf *messages);

/* Puts the messages to show into `source`, which holds those about the source as it stands. */
void mended_messages_choose(const struct strbuf *mended, struct strbuf *source);

#endif
