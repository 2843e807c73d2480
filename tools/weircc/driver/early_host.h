/* early_host: the host half of a CUDA file is compiled beside the device half, by another CPU.
 *
 * clang reads the fat binary, which holds what the device half gives, at the end of its front end.
 * Here it is a FIFO, at which clang waits if the device half is not that far. Nothing changes but
 * the time: messages of the host half are shown after those of the device half, and where that has
 * failed, or what it has learnt of the file changes the command of the host half, the one that was
 * begun is ended. */
#ifndef WEIRCC_EARLY_HOST_H
#define WEIRCC_EARLY_HOST_H

#include "weircc/driver/compilation.h"

/* Begins the host half, where there is a CPU for it. */
void early_host_begin(struct compilation *c, const char *object);

/* The host pass, if it was begun and nothing has changed since: hands it the fat binary
 * `early.fatbin` and waits for it. False: it is to be run. */
bool early_host_take(struct compilation *c, const char *phase, struct strbuf *errors, int *status);

/* Ends it, where nobody has taken it. */
void early_host_drop(struct compilation *c);

#endif
