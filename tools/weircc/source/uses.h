/* uses: names that are used as nvcc takes them and clang does not.
 *
 * - threadIdx, blockIdx, blockDim and gridDim as values (`auto i = threadIdx;`, arguments of
 *   templates): their types are clang's own and cannot be copied. Where one of them stands on a
 * line that clang complains of, it is converted to uint3 or dim3, which it is with nvcc.
 * - Members of a base class that depends on a template's parameters, without `this->`. nvcc looks
 *   names up when it instantiates a template, and finds them.
 * - Types that depend on a template's parameters without `typename`, as operands of sizeof. */
#ifndef WEIRCC_SOURCE_USES_H
#define WEIRCC_SOURCE_USES_H

#include "base/base.h"
#include "weircc/options/options.h"
#include "weircc/source/specifiers.h"

struct use_places {
    struct strlist values;           /* "line:file" with builtin variables as values */
    struct specifier_places members; /* of base classes */
    struct specifier_places types;   /* without typename */
};

/* Adds what clang's messages (not coloured) say. True when there was something new. */
bool uses_learn(const char *messages, struct use_places *places);

/* Mends preprocessed text; appends the result. Returns the number of changes. */
int uses_write(const char *text, const struct use_places *places, struct strbuf *out);

#endif
