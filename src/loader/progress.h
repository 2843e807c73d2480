/* progress: who waits for a large kernel to be compiled is told so: before a terminal soon, in logs
 * after some seconds, and then again and again. */
#ifndef WEIR_LOADER_PROGRESS_H
#define WEIR_LOADER_PROGRESS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "ptx/ptx.h"

/* Milliseconds that a compilation may take before something is said to who sits before a terminal,
 * and before it is said in any case, with what takes so long. From then on it is said again
 * whenever twice the time has passed, and at least every minute. Less in tests. */
extern unsigned watch_patience_ms, watch_log_ms;

/* One compilation that is watched. */
struct watch {
    const struct ptx_func *entry; /* lives until watch_end */
    uint32_t tier;                /* enum jit_tier */
    bool watched;                 /* there is a thread, and all below is in use */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t ended;
    bool over; /* under the lock */
};

/* Begins to watch. No error: what cannot be watched is not. */
void watch_begin(struct watch *w, const struct ptx_func *entry, uint32_t tier);
/* The compilation is over. */
void watch_end(struct watch *w);

/* How large the kernel is, in what is said of it: instructions of PTX, with those of the functions
 * that are compiled with it. */
long long watch_size(const struct ptx_func *entry);

#endif
