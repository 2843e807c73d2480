/* tokens: preprocessed C++ cut into tokens, as far as a rewriter of source text needs it.
 *
 * Words, numbers, literals (raw ones too) and the operators that a launch is written with
 * (<<< >>> << >> -> ::) are one token each, every other character is one by itself. Line markers
 * and #pragma lines count as white space, so text that is copied with its blanks keeps its lines.
 */
#ifndef WEIRCC_TOKENS_H
#define WEIRCC_TOKENS_H

#include "base/base.h"

struct token {
    const char *p; /* in the text */
    size_t n;      /* its length */
};

struct tokens {
    struct token *items; /* in the order of the text */
    size_t count, cap;
    const char *end; /* of the text, after what follows the last token */
};

/* The length of the token at p: a word, a number, a literal, or one character. */
size_t token_length(const char *p);

/* True when the character may be part of a word. */
bool token_is_word(char c);

/* Cuts preprocessed text. The tokens point into it; the items are freed by the caller. */
void tokens_read(struct tokens *out, const char *text);

/* True when the token is this very text. */
bool token_is(const struct token *t, const char *text);

#endif
