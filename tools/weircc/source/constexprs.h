/* constexprs: what gcc and nvcc take in constexpr functions and constant expressions of templates,
 * and clang refuses:
 *
 * - variables of types that are not literal in a constexpr function, which is then none (C++23 lets
 *   it be one): the word is left out;
 * - a static member as this->member in the condition of an if constexpr: it is named by its class;
 * - the word template left out in a type, `typename A::rebind<T>`. */
#ifndef WEIRCC_SOURCE_CONSTEXPRS_H
#define WEIRCC_SOURCE_CONSTEXPRS_H

#include "base/base.h"
#include "weircc/options/options.h"

struct constexpr_places {
    struct strlist variables;  /* "line:file" of each such variable */
    struct strlist conditions; /* and of each such condition */
    struct strlist types;      /* names of templates that are types */
    bool operators;            /* the word template is missing before operator()<...> */
};

/* Adds what clang's messages (not coloured) say. True when there was something new. */
bool constexprs_learn(const char *messages, struct constexpr_places *places);

/* Mends preprocessed text; appends the result. Returns the number of changes. */
int constexprs_write(const char *text, const struct constexpr_places *places, struct strbuf *out);

#endif
