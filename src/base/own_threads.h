/* own_threads: which threads of the process are ours, and what becomes of it when no other is left.
 */
#ifndef WEIR_OWN_THREADS_H
#define WEIR_OWN_THREADS_H

#include "base/base.h"
#include "base/thread_fast.h"

/* Every thread that we start begins with this. */
void own_thread_begins(void);
/* This one of them is about to end. */
void own_thread_ends(void);

extern WEIR_THREAD_FAST bool own_thread_here; /* of this thread: whether it is ours */
static inline bool own_thread(void) { return own_thread_here; }

/* A thread of the program that has used the device ends, and not by ending the process. When the
 * main thread has ended like that and the last other one of the program does, the process ends as
 * POSIX wants it to: as by exit(0). Our threads, which take no signals, would keep it for ever. */
void own_threads_program_thread_ends(void);

#endif
