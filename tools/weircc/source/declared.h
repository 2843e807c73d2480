/* declared: the functions that preprocessed text declares and defines in namespaces and classes, as
 * far as their heads tell. Bodies of functions are not read. */
#ifndef WEIRCC_SOURCE_DECLARED_H
#define WEIRCC_SOURCE_DECLARED_H

#include "weircc/source/cuda_text.h"

/* A namespace or a class. Token numbers; CUDA_TEXT_NONE where there is none. */
struct declared_scope {
    int parent; /* number of the scope around, CUDA_TEXT_NONE: the file */
    int name;
    bool is_class;
    int heads, heads_end;         /* template <...> of a class, one after the other */
    int arguments, arguments_end; /* <...> of a specialization */
};

/* A function. */
struct declared_function {
    int scope; /* in which it is written */
    int heads, heads_end;
    int begin;       /* where specifiers may stand */
    int qualified;   /* the first token of its name with classes before it */
    int name;        /* without these; of operators the word operator */
    int open, close; /* parentheses of the parameters */
    int end;         /* the ; or { or : or = after it */
    bool defined;    /* it has a body here */
    struct cuda_sides sides;
};

struct declared {
    struct {
        struct declared_scope *items;
        size_t count, cap;
    } scopes;
    struct {
        struct declared_function *items;
        size_t count, cap;
    } functions;
};

void declared_read(struct declared *d, const struct cuda_text *x);
void declared_free(struct declared *d);

/* After the template arguments or parameters whose < is token i; CUDA_TEXT_NONE: it is another <.
 */
int declared_skip_angles(const struct cuda_text *x, int i);

/* "a::b::C": names from the outermost scope to this one. */
void declared_path(const struct declared *d, const struct cuda_text *x, int scope,
                   struct strbuf *out);

#endif
