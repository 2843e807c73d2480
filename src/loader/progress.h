/* progress: who sits before a terminal and waits for a large kernel to be compiled is told so. */
#ifndef WEIR_LOADER_PROGRESS_H
#define WEIR_LOADER_PROGRESS_H

#include <pthread.h>
#include <stdbool.h>

/* Milliseconds that a compilation may take before something is said; less in tests. */
extern unsigned watch_patience_ms;

/* One compilation that is watched. */
struct watch {
    const char *kernel; /* its name, which lives until watch_end */
    bool watched;       /* there is a thread, and all below is in use */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t ended;
    bool over; /* under the lock */
};

/* Begins to watch if stderr is a terminal, else does nothing. No error: what cannot be watched is
 * not. */
void watch_begin(struct watch *w, const char *kernel);
/* The compilation is over. */
void watch_end(struct watch *w);

#endif
