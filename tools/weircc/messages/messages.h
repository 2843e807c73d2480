/* messages: what clang says, made fit for the user of one compiler.
 *
 * The device pass and the host pass read the same source, so most messages come twice; each is
 * shown once. What clang says about things that are special to CUDA here is put into words that
 * tell what to do. */
#ifndef WEIRCC_MESSAGES_H
#define WEIRCC_MESSAGES_H

#include "weircc/options/arch.h"

/* The messages shown for one input file so far. */
struct messages {
    struct strlist shown; /* their text */
    int errors;           /* how many of them are errors */
    struct arch arch;     /* that device code is compiled for */
    bool legacy;          /* --legacy-api holds */
};

/* Prints the messages in `text` (the standard error of a clang) that were not shown before. */
void messages_show(struct messages *m, const char *text);

/* Adds each message of `text`, with its notes and excerpts, to the list; summaries are left out. */
void messages_split(const char *text, struct strlist *list);

/* Leaves `limit` errors of clang's messages, and says so as clang does where there are more. */
void messages_limit(struct strbuf *messages, int limit);

#endif
