/* races: finds accesses of the same bytes that nothing orders: by copies, sets, kernels, host
 * functions, the host itself, and by allocation and free in stream order. An observer
 * (observe/observe.h); what a race is, is decided by happens-before, never by what ran when.
 *
 * How it is divided: clock.c, graph.c and order.c know what comes after what, sync.c what
 * the host's locks add to it; shadow.c keeps who last read
 * and wrote each byte; host.c sees the host's own accesses, released.c and scopes.c the end of
 * memory of its own; report.c writes what was found; races.c is the observer, which brings them
 * together. */
#ifndef WEIR_RACES_RACES_H
#define WEIR_RACES_RACES_H

#include <signal.h>

#include "findings/findings.h"
#include "races/host_sync.h"

/* What the layers above know. */
struct races_names {
    /* The line of an instruction of a kernel (struct grid_kernel). */
    bool (*kernel)(const void *kernel, const void *pc, struct finding_place *out);
    /* The line of the program's code that a call returns to. */
    bool (*host)(const void *pc, struct finding_place *out);
    const char *(*demangle)(const char *name);
    /* For the calling thread's code at pc, in a signal handler: where the program called it, if it
     * is a library's (memcpy). */
    const void *(*program_pc)(const void *pc);
};

/* Begins to observe. Before the first device is opened, once, when findings are open. */
bool races_open(const struct races_names *names, struct diag *d);

/* A fault's signal has come to the calling thread: true when it was an access that is watched, and
 * the thread may go on. `device_work`: it was in a kernel, a copy or the like. */
bool races_signal(int signal, siginfo_t *info, void *context, bool device_work);

/* The calling thread has synchronized with others by the object. From any thread, also in handlers
 * of signals. `own`: by a call that returns to the library that the check is in. */
void races_host_sync(enum host_sync how, const void *object, bool own);

/* A call of the program is about to give memory back: `free` and the like. From any thread. It need
 * not be told while races_watching is false. `own`: it returns to the library that the check is in.
 */
void races_host_releases(const void *at, uint64_t bytes, const char *call, const void *caller,
                         bool own);
extern bool races_watching;

#endif
