/* perf_map: tells `perf report` the names of kernels, by the file that it looks for
 * (/tmp/perf-PROCESS.map: address, bytes and name of each piece of code made at run time). */
#ifndef WEIR_DRIVER_MODULE_PERF_MAP_H
#define WEIR_DRIVER_MODULE_PERF_MAP_H

#include <stdint.h>

/* A kernel's code is at `text`; written if WEIR_PERF=on. Any thread. */
void perf_map_add(const char *name, const void *text, uint64_t bytes);

#endif
