/* kept_constants: const variables of the device that host code names.
 *
 * clang leaves a const variable out of device code, or keeps it to the file, where device code
 * alone decides: it does not count what the host does with one (cudaMemcpyFromSymbol), as it does
 * with variables that are not const. A file of which that is known is compiled with
 * -fkeep-static-consts. In its LLVM text the variables that are asked for become visible, by the
 * names that the host registers; all others that are there for this option alone are let go. */
#ifndef WEIRCC_KEPT_CONSTANTS_H
#define WEIRCC_KEPT_CONSTANTS_H

#include "weircc/options/options.h"

/* Appends the LLVM text, rewritten. `names` are those that the host registers, with SHADOW_SUFFIX
 * and what follows it where they have that (shadows.h). The text is that of clang's front end,
 * before any pass. */
void kept_constants_rewrite(const char *llvm, const struct strlist *names, struct strbuf *out);

#endif
