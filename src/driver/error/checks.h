/* checks: begins the checks that the environment asks for, and tells them the names that only the
 * driver knows. */
#ifndef WEIR_DRIVER_ERROR_CHECKS_H
#define WEIR_DRIVER_ERROR_CHECKS_H

#include "findings/findings.h"

/* Begins what WEIR_CHECK asks for, before the devices are opened; once, whoever calls it first. */
bool checks_begin(struct diag *d);

/* Whether barriers and operations of warps are looked at. */
bool sync_checked(void);
/* After the devices are open. */
bool checks_opened(struct diag *d);

/* In checked mode: what the program frees is no allocation of that kind, or none any more. */
void check_invalid_free(const void *address);

/* The line of an instruction of a kernel (struct grid_kernel). */
bool check_kernel_place(const void *kernel, const void *pc, struct finding_place *out);
/* The line of the program's code that a call returns to. */
bool check_host_place(const void *pc, struct finding_place *out);

#endif
