/* What device code needs of the driver (nested.c, nested_api.c). */
#ifndef WEIR_DRIVER_NESTED_H
#define WEIR_DRIVER_NESTED_H

/* Address of the helper behind "cuda<name>" or "__cudaCDP2<name>" called by device code, NULL: it
 * is none of the driver's. */
void *nested_helper(const char *name);

#endif
