/* tier_up: what the background compiler (jit_tier_up in loader.h) and the loader ask of each other.
 *
 * Compiling cannot be stopped, and must not go on while libraries end. Handlers of exit() that were
 * registered later come before the loader's own and meet a thread that compiles, or that loads the
 * compiler: so LLVM registers none (compiler/exit_handlers.c). The loader's gives the thread ten
 * seconds, in which nearly all compilations end and reach the disk cache. Where they do not, the
 * cache remembers for how long the kernel has been compiled: later processes wait for it only when
 * they have come further. Then the thread is stopped for good where it holds nothing that others
 * wait for: inside LLVM's own code (thread_stop.c), so not before the compiler has been loaded. A
 * child made by fork has no such thread and waits for nothing.
 */
#ifndef WEIR_LOADER_TIER_UP_H
#define WEIR_LOADER_TIER_UP_H

#include <pthread.h>

#include "loader/loader.h"

/* What a process waits at its end for the cache to be filled; less in tests. */
extern unsigned tier_up_patience_ms;

/* ---- loader.c ---- */

/* Code for a kernel and options: see loader.c. */
struct compilation;

/* Finds the compilation or makes it, waiting for another thread that is already at it. The caller
 * owns a reference. NULL and a message when it cannot be made. `waited`: a user waits for it, and
 * may be told so. */
struct compilation *compilation_get(const struct ptx_func *entry, const struct jit_options *options,
                                    bool waited, struct diag *d);
void compilation_release(struct compilation *c);

/* ---- thread_stop.c ---- */

/* Stops a thread for ever if it is found in the compiler's code; else false, after a millisecond.
 * Only one thread, which has SIGSEGV not blocked, and only at exit. */
bool stop_thread(pthread_t thread);

#endif
