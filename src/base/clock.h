/* clock: the time that durations are measured with, and how a thread lets a moment pass. */
#ifndef WEIR_BASE_CLOCK_H
#define WEIR_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* CLOCK_MONOTONIC in ns. */
static inline uint64_t clock_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Between looks at what another thread is about to write. */
static inline void pause_cpu(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

#endif
