/* externs: variables of the device that are declared extern, where nvcc takes that for something
 * else than clang does.
 *
 * - Without -rdc, `extern __device__ T x;` (__constant__, __managed__ alike) in a file that does
 * not define x is a definition.
 * - `extern __shared__ T x[4];` and, in a function, `extern __shared__ T x;` are dynamic shared
 *   memory, whose size the launch gives, as `extern __shared__ T x[];` is. */
#ifndef WEIRCC_SOURCE_EXTERNS_H
#define WEIRCC_SOURCE_EXTERNS_H

#include "base/base.h"
#include "weircc/options/options.h"

/* Write preprocessed text with the one or the other; append the result. Return the number of
 * changes. `names`: of the variables, without namespaces. */
int externs_write_variables(const char *text, const struct strlist *names, struct strbuf *out);
int externs_write_shared(const char *text, struct strbuf *out);

#endif
