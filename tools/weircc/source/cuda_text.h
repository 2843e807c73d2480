/* cuda_text: preprocessed CUDA C++ as far as a rewriter must understand it: brackets, launches,
 * attributes, bodies of functions.
 *
 * Tokens are spoken of by their number; CUDA_TEXT_NONE is none. Numbers beyond the text are allowed
 * where a token is only asked what it is: it is nothing. */
#ifndef WEIRCC_CUDA_TEXT_H
#define WEIRCC_CUDA_TEXT_H

#include "base/base.h"
#include "weircc/source/tokens.h"

enum { CUDA_TEXT_NONE = -1 };

struct cuda_text {
    const char *text;
    struct tokens t;
    int *match; /* of each bracket the other one, CUDA_TEXT_NONE for all other tokens */
};

/* callee<<<configuration>>>(arguments). */
struct cuda_launch {
    int begin; /* first of the callee */
    int open;  /* <<< */
    int close; /* >>>; the parenthesis of the arguments follows */
    int last;  /* the parenthesis that closes them */
};

/* Cuts text into tokens, which point into it. */
void cuda_text_read(struct cuda_text *x, const char *text);
void cuda_text_free(struct cuda_text *x);

int cuda_text_count(const struct cuda_text *x);
const struct token *cuda_text_token(const struct cuda_text *x, int i);
/* Whether token i is this very text. */
bool cuda_text_is(const struct cuda_text *x, int i, const char *text);
/* Token i if it is a single character, else NUL. */
char cuda_text_one(const struct cuda_text *x, int i);
/* Whether token i is a word that can be (the end of) an operand. */
bool cuda_text_is_name(const struct cuda_text *x, int i);
bool cuda_text_is_ellipsis(const struct cuda_text *x, int i);

/* How many template argument lists token i could close. */
int cuda_text_angles(const struct cuda_text *x, int i);
/* The < that belongs to the template argument list which ends at token i. */
int cuda_text_find_angle(const struct cuda_text *x, int i);
/* The first token of the postfix expression that ends before token i. */
int cuda_text_find_operand(const struct cuda_text *x, int i);

/* The launch whose <<< is token `open`. False when it is none: then a compiler says what is wrong
 * with it. */
bool cuda_text_find_launch(const struct cuda_text *x, int open, struct cuda_launch *l);

/* What the attributes of a declaration say of where it is. */
struct cuda_sides {
    bool host, device, global;
};

/* Reads __attribute__((...)) at token i. Calls `word` for each word in it that has no arguments.
 * Returns the last token. */
int cuda_text_read_attribute(const struct cuda_text *x, int i, void (*word)(void *self, int token),
                             void *self);

/* Adds what one word of an attribute says. */
void cuda_text_add_side(const struct cuda_text *x, int i, struct cuda_sides *s);

/* Whether a function with such attributes is code of the device alone; without any it is what the
 * code around it is. */
bool cuda_text_is_device_only(const struct cuda_sides *s, bool around);

/* The white space before token i, line markers included. */
void cuda_text_write_blank(const struct cuda_text *x, int i, struct strbuf *out);

/* Line ends and markers before the tokens in [from, to): they hold the text's lines in place when
 * the tokens go elsewhere. */
void cuda_text_write_lines(const struct cuda_text *x, int from, int to, struct strbuf *out);

/* The same where the tokens are left out, without the #pragma lines, which are about them. */
void cuda_text_write_places(const struct cuda_text *x, int from, int to, struct strbuf *out);

#endif
