/* debug_data: what the LLVM text of device code says for debuggers, without what none of them
 * shows.
 *
 * For code that is compiled for debuggers (-G) clang describes every using-declaration that it has
 * read, and each brings the function or type that it names: all of <cmath>, which comes before any
 * program. That is most of what it says, many times the code of a small program, and it would be in
 * the PTX, which is parsed whenever the program is loaded. gdb does not see it (the variables that
 * it shows are of functions), so the compile unit's list of them is taken away, and with it what
 * nothing else refers to. */
#ifndef WEIRCC_DEBUG_DATA_H
#define WEIRCC_DEBUG_DATA_H

#include "base/base.h"

/* Appends the LLVM text, rewritten. */
void debug_data_rewrite(const char *llvm, struct strbuf *out);

#endif
