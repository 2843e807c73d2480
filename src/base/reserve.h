/* reserve: memory set aside for when the system gives none, and ways back out of code that cannot
 * go on without.
 *
 * Most code asks for little memory at a time, in places where nothing could be undone any more: it
 * calls xmalloc and its kin (base.h), which do not fail. When the system refuses, they take a block
 * of the reserve and set SLOW_PATH_MEMORY; the driver then refuses new work with
 * CUDA_ERROR_OUT_OF_MEMORY until the reserve can be filled again. What a program may ask for in any
 * size (arrays, graphs, modules) is asked for by calls that can fail instead, or within
 * memory_guarded. */
#ifndef WEIR_BASE_RESERVE_H
#define WEIR_BASE_RESERVE_H

#include "base/base.h"

/* Fills the reserve as far as the system lets us. False: less than half of it is there. Any thread.
 */
bool reserve_fill(void);

/* Whether the system would give so many bytes now; what is little, the reserve would. To be asked
 * before many small allocations of which none can fail. */
bool memory_likely(size_t bytes);

/* Calls `call`. False: memory ran out in it, and what it was at was left there and then, wherever
 * it was: its arenas are freed, all else that it had allocated is lost. So it must hold no lock and
 * change nothing that others see. */
bool memory_guarded(void (*call)(void *arg), void *arg);

/* Whether the thread is within memory_guarded. */
bool memory_is_guarded(void);

/* Leaves memory_guarded; returns where the thread is not in it. */
void memory_escape(void);

#endif
