/* link_messages: what the linker of host code says, in the user's words. Device functions have host
 * symbols (objects/rdc_asm.h), and text that was rewritten a file name of its own; neither is in
 * the source. */
#ifndef WEIRCC_LINK_MESSAGES_H
#define WEIRCC_LINK_MESSAGES_H

#include "base/base.h"

/* Appends the linker's messages with the names that the source has. */
void link_messages(const char *text, struct strbuf *out);

#endif
