/* compile_ahead: what the cache remembers of compilations besides their code: how long one has been
 * tried in vain, and which variants of a kernel have been launched. Both are hints: where the cache
 * cannot be read or written, nothing is known. */
#ifndef WEIR_LOADER_COMPILE_AHEAD_H
#define WEIR_LOADER_COMPILE_AHEAD_H

#include "loader/loader.h"

/* The longest time, in milliseconds, for which a process has compiled a kernel with these options
 * and then ended; 0: none has. */
uint32_t attempt_load(const struct ptx_func *entry, const struct jit_options *options);
void attempt_store(const struct ptx_func *entry, const struct jit_options *options, uint32_t ms);

/* A kernel has been compiled for a launch: jit_launched will list these options. */
void launch_note(const struct ptx_func *entry, const struct jit_options *options);

#endif
