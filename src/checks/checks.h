/* checks: the observers (observe/observe.h) that find what needs no look into kernels: what is
 * alive at the end (leaks.c), and calls that fail unseen or that a GPU may refuse (calls.c). */
#ifndef WEIR_CHECKS_CHECKS_H
#define WEIR_CHECKS_CHECKS_H

#include "findings/findings.h"

/* Begin, before the first device is opened, once, when findings are open. */
bool leaks_open(struct diag *d);

struct calls_names {
    /* "cudaErrorInvalidValue" and its sentence, as the call's API says them. */
    void (*error)(int code, bool runtime, const char **name, const char **text);
    /* What the driver said to the calling thread during its call; NULL: nothing. */
    const char *(*message)(void);
};
bool calls_open(const struct calls_names *names, struct diag *d);

/* Whether the code that a call returns to looks at what the call returned, as far as its
 * instructions tell (returned.c). `frames`: return addresses, innermost first, up to NULL. Where
 * that cannot be told, true. */
bool returned_is_read(const void *const *frames, int count);

#endif
