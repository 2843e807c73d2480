/* thread: what the runtime keeps for each thread that calls it.
 *
 * Every copy of the runtime (one in each plugin that is linked with the static library) takes one
 * pointer of static thread-local storage: a library that is opened late finds little space there,
 * and shares it with all others that are. The rest is on the heap, from the first call that has
 * something to keep until the thread ends or the library is closed. */
#ifndef WEIR_RUNTIME_THREAD_H
#define WEIR_RUNTIME_THREAD_H

#include "runtime/internal.h"

struct configuration {
    dim3 grid, block;
    size_t shared;
    cudaStream_t stream;
};

struct rt_thread {
    int device; /* chosen by cudaSetDevice */
    cudaError_t last_error;
    /* What the thread found last, and of which context, told by the driver's number for it. */
    unsigned long long number;
    uint32_t resets;
    struct rt_here here;
    /* Configurations of launches, a stack: the arguments of a launch may launch, too. */
    unsigned configured;
    struct configuration configurations[32];
    struct begun_launch *begun;     /* launches in steps, the innermost first (legacy_launch.c) */
    void *pools;                    /* of the runtime's own pools (gpu/pools.h) */
    struct rt_thread *next, **link; /* of all threads */
};

/* At a fixed distance from the thread's pointer, so that no function is called to find it. */
#define THREAD_FAST _Thread_local __attribute__((tls_model("initial-exec")))
extern THREAD_FAST struct rt_thread *rt_thread_own;

/* To be read only: of a thread that has kept nothing yet, the state that all threads begin with. */
extern const struct rt_thread rt_thread_initial;
static inline const struct rt_thread *rt_thread_seen(void)
{
    return LIKELY(rt_thread_own != NULL) ? rt_thread_own : &rt_thread_initial;
}

/* To be changed; NULL when there is no memory for it. */
struct rt_thread *rt_thread_new(void);
static inline struct rt_thread *rt_thread(void)
{
    return LIKELY(rt_thread_own != NULL) ? rt_thread_own : rt_thread_new();
}

/* Forgets launches that were begun and not made. */
void rt_begun_launches_free(struct begun_launch *innermost);

/* Whether the process is a fork: a lock that another thread had is never given back there. */
bool rt_forked(void);

#endif
