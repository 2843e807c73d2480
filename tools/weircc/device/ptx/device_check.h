/* device_check: what a program's device code must not have, said when it is built.
 *
 * Kernels are compiled when they are launched, and would be refused only then: instructions of asm
 * statements that PTX does not have, functions that are defined nowhere, more static shared memory
 * or constant memory than there may be. What PTX has and the device does not support is no mistake
 * of the program's, and is refused when it is loaded. */
#ifndef WEIRCC_DEVICE_CHECK_H
#define WEIRCC_DEVICE_CHECK_H

#include "base/base.h"
#include "weircc/options/options.h"

/* What was found beside messages. */
struct device_findings {
    bool needs_lines;          /* the messages would say more with lines */
    bool functions;            /* functions that are defined nowhere */
    struct strlist variables;  /* names of extern variables that are not defined */
    struct strbuf definitions; /* what is to be said if these are made definitions */
};

/* Appends messages about the PTX of a source file. `with_lines`: the same code with .loc
 * directives, by which an instruction's line is told, or NULL. `relocatable`: what is not defined
 * may be elsewhere. True when there are no errors. */
bool device_check(const char *ptx, const char *with_lines, const char *source, bool relocatable,
                  struct strbuf *messages, struct device_findings *found);

/* Appends a message about a file of PTX that has what PTX does not have. True when it has nothing
 * of that. */
bool device_check_file(const char *ptx, const char *source, struct strbuf *messages);

#endif
