/* perf_map: tells `perf report` the names of kernels, by the file that it looks for
 * (/tmp/perf-PROCESS.map: address, bytes and name of each piece of code made at run time). */
#ifndef WEIR_DRIVER_MODULE_PERF_MAP_H
#define WEIR_DRIVER_MODULE_PERF_MAP_H

#include "loader/loader.h"

/* Writes the kernel's code if WEIR_PERF=on; if WEIR_PERF=lines, the stretches of it that have a
 * source line, each with that line, or the whole where none has. Any thread. */
void perf_map_add(const char *name, const struct jit_code *code);

#endif
