/* cpu: which CPU this is, found without LLVM, so that a start from the cache needs none
 * of it. */
#ifndef WEIR_LOADER_CPU_H
#define WEIR_LOADER_CPU_H

#include "base/base.h"

/* The CPU for people: name, family and the features that matter to compiled code. */
const char *cpu_description(void);

/* Adds to a key everything that decides which code a compiler makes for "the host": maker, family,
 * model and all feature bits, those of the operating system's support included. */
void cpu_hash(struct hash128 *h);

#endif
