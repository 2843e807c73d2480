/* arch: which architecture device code is compiled for.
 *
 * nvcc compiles for as many architectures as asked; here one PTX serves, since it is compiled for
 * the CPU when it is loaded. It is the PTX of the highest virtual architecture asked for that
 * clang can generate. */
#ifndef WEIRCC_ARCH_H
#define WEIRCC_ARCH_H

#include "weircc/options/options.h"

struct arch {
    int number;       /* 75 for compute_75 */
    bool accelerated; /* compute_90a */
    bool old; /* less than compute_50 was asked for: toolkits that had it let kernels wait for
                 their children without being asked */
};

/* Decides from -arch, -code and -gencode, all checked. Adds to c->warnings when another
 * architecture than the one asked for is taken. */
bool arch_choose(struct cmdline *c, struct arch *chosen, struct diag *d);

/* "sm_75", the name that clang takes; in static storage. */
const char *arch_name(const struct arch *a);

/* Prints --list-gpu-arch and --list-gpu-code to standard output. */
void arch_list(bool virtual_names, bool real_names);

#endif
