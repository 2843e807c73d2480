/* races: the check for races (races/races.h), as the environment asks for it. */
#ifndef WEIR_DRIVER_ERROR_RACES_H
#define WEIR_DRIVER_ERROR_RACES_H

#include "base/base.h"

/* Begins it if WEIR_CHECK asks for it, before the devices are opened. */
bool races_begin(struct diag *d);
/* Whether kernels tell what they access. */
bool races_checked(void);
/* Whether the accesses of a grid's threads are compared, too. */
bool races_threads_checked(void);

#endif
