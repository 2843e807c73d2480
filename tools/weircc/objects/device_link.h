/* device_link: linked device code by itself (-dlink with -cubin or -fatbin): the PTX of objects,
 * archives, fat binaries and containers as one module, which a driver loads. */
#ifndef WEIRCC_DEVICE_LINK_H
#define WEIRCC_DEVICE_LINK_H

#include "base/base.h"

/* `files`: the number of the newest architecture that may be chosen, the PTX file that is written,
 * then the inputs; ended by a NULL. Inputs without device code are left out. */
bool device_link_write(const char *const *files, struct diag *d);

#endif
