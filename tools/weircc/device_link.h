/* device_link: linked device code by itself (-dlink with -cubin or -fatbin): the PTX of objects,
 * archives, fat binaries and containers as one module, which a driver loads. */
#ifndef WEIRCC_DEVICE_LINK_H
#define WEIRCC_DEVICE_LINK_H

#include "driver.h"

/* `files`: the number of the newest architecture that may be chosen, the PTX file that is written,
 * then the inputs; ended by a NULL. Inputs without device code are left out. */
bool device_link_write(const char *const *files, struct diag *d);

/* What the linker of host code would be given, as files of which device code may come: libraries
 * are looked for as archives in the directories of -L and Weir's own, and left out where there are
 * none. */
void device_link_inputs(const struct driver *dr, struct strlist *files);

#endif
