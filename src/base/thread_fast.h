/* thread_fast: how thread-local variables that every call reads are declared. docs/upcalls.md lists
 * them all. */
#ifndef WEIR_BASE_THREAD_FAST_H
#define WEIR_BASE_THREAD_FAST_H

/* At a fixed distance from the thread's pointer, so that no function is called to find it. For a
 * few bytes only: a library that is opened late has little such space (glibc keeps 512 bytes). */
#define WEIR_THREAD_FAST _Thread_local __attribute__((tls_model("initial-exec")))

#endif
