/* What files of the driver room ask of each other's objects, beyond driver.h. */
#ifndef WEIR_DRIVER_OBJECTS_H
#define WEIR_DRIVER_OBJECTS_H

#include "driver/driver.h"

void stream_destroy(CUstream s); /* takes it off its context's list; work still runs */
void event_destroy(CUevent e);

/* The function behind a library's kernel in the current context. */
CUresult kernel_to_function(CUkernel k, CUfunction *out);

/* Blocks of `threads` threads and `shared` dynamic bytes that an SM can hold at once. */
uint32_t function_blocks_per_sm(CUfunction f, uint32_t threads, uint64_t shared);

/* Variables of a module by name: address and size. */
CUresult module_global(CUmodule m, const char *name, CUdeviceptr *at, size_t *bytes);

#endif
