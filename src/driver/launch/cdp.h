/* launch/cdp: what the compiled code of kernels needs of the driver for dynamic parallelism, beside
 * launching: the helpers in cdp_api.c. */
#ifndef WEIR_DRIVER_LAUNCH_CDP_H
#define WEIR_DRIVER_LAUNCH_CDP_H

/* Address of the helper that implements "cuda<name>" or "__cudaCDP2<name>" called by device code,
 * NULL: it is none of the driver's. */
void *cdp_api_helper(const char *name);

#endif
