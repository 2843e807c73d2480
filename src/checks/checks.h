/* checks: the observers (observe/observe.h) that find what needs no look into kernels: what is
 * alive at the end (leaks.c), calls that fail unseen or that a GPU may refuse (calls.c), and which
 * stream-ordered memory is alive when (lives.c). */
#ifndef WEIR_CHECKS_CHECKS_H
#define WEIR_CHECKS_CHECKS_H

#include "findings/findings.h"

/* Begin, before the first device is opened, once, when findings are open. `faulted`: whether a
 * fault has ended a context of that device (negative: of any), in which nothing can be freed any
 * more. */
bool leaks_open(bool (*faulted)(int device), struct diag *d);

struct calls_names {
    /* "cudaErrorInvalidValue" and its sentence, as the call's API says them. */
    void (*error)(int code, bool runtime, const char **name, const char **text);
    /* What the driver said to the calling thread during its call; NULL: nothing. */
    const char *(*message)(void);
};
bool calls_open(const struct calls_names *names, struct diag *d);

/* What kernels find themselves, and the bits of what was written (memory/defined.h). */
struct kernel_names {
    /* The line of an instruction of a kernel (struct grid_kernel). */
    bool (*place)(const void *kernel, const void *pc, struct finding_place *out);
    const char *(*demangle)(const char *name);
    void (*describe)(const void *address, struct strbuf *out); /* what is at an address */
};
bool kernels_open(const struct kernel_names *names, bool defined, struct diag *d);

/* Stream-ordered memory (lives.c), for checks of accesses while work runs: opens, and answers. */
bool lives_open(struct diag *d);
/* Whether some allocation at the address is alive now in the order of streams; from where to where
 * it goes. */
bool lives_alive(uint64_t address, uint64_t *base, uint64_t *end);
/* Whether one is not alive yet: its allocation is not in order before what runs now. */
bool lives_too_early(uint64_t address);

/* Whether the code that a call returns to looks at what the call returned, as far as its
 * instructions tell (returned.c). `frames`: return addresses, innermost first, up to NULL. Where
 * that cannot be told, true. */
bool returned_is_read(const void *const *frames, int count);

#endif
