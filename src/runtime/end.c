/* end: whether the process ends, or only the library that holds the runtime.
 *
 * The static library is part of a program or of a plugin, and what is around it uses it to the end:
 * destructors of static objects free memory, and binaries are unregistered. Compilers have the
 * program do both by handlers of __cxa_atexit. When a plugin is closed they run in the middle of
 * its destructors:
 *
 *   1. destructors of no priority, the later linked the earlier; among them closing() below
 *   2. handlers of __cxa_atexit, the later added the earlier; among them at_exit() below
 *   3. destructors by priority, the highest number first; RT_LAST has the lowest
 *
 * When the process ends all handlers come first. So it ends if 2 is not preceded by 1. */
#include "runtime/internal.h"

#include <stdatomic.h>
#include <stdlib.h>

static atomic_bool exiting, is_closing;

static __attribute__((destructor)) void closing(void) { atomic_store(&is_closing, true); }

static void at_exit(void)
{
    if (!atomic_load(&is_closing))
        atomic_store(&exiting, true);
}

bool rt_exiting(void) { return atomic_load_explicit(&exiting, memory_order_relaxed); }

void rt_tell_exit(void) { atexit(at_exit); }
