/* cuda_awbarrier_primitives.h: the C form of barriers in shared memory with arrival and waiting
 * as separate calls (CUDA programming guide, "mbarrier Primitives Interface"): the instructions mbarrier, one
 * for one. For sm_80 and newer. */
#ifndef _CUDA_AWBARRIER_PRIMITIVES_H_
#define _CUDA_AWBARRIER_PRIMITIVES_H_

#include <stdint.h>

#include "cuda_runtime.h"

typedef uint64_t __mbarrier_t;       /* the barrier: opaque, in shared memory */
typedef uint64_t __mbarrier_token_t; /* the phase that an arrival belongs to: opaque */

#if defined(__CUDA__) && (!defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800)

#define WEIR_MBARRIER static __inline__ __attribute__((always_inline, nodebug, device))
#define WEIR_BARRIER_ADDRESS    "r"((unsigned)__cvta_generic_to_shared(bar))

/* The largest count that a barrier can expect. */
WEIR_MBARRIER uint32_t __mbarrier_maximum_count() { return (1u << 14) - 1; }

/* A barrier whose phases are complete after expected_count arrivals. By one thread, before any
 * other touches it. */
WEIR_MBARRIER void __mbarrier_init(__mbarrier_t *bar, uint32_t expected_count)
{
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::WEIR_BARRIER_ADDRESS, "r"(expected_count) : "memory");
}

/* Ends the barrier: its memory may be used for other things. */
WEIR_MBARRIER void __mbarrier_inval(__mbarrier_t *bar)
{
    asm volatile("mbarrier.inval.shared.b64 [%0];" ::WEIR_BARRIER_ADDRESS : "memory");
}

/* Arrives; the token is for the waits for the phase that this arrival belongs to. */
WEIR_MBARRIER __mbarrier_token_t __mbarrier_arrive(__mbarrier_t *bar)
{
    __mbarrier_token_t token;
    asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(token) : WEIR_BARRIER_ADDRESS : "memory");
    return token;
}

/* Arrives, and lowers what later phases expect by one. */
WEIR_MBARRIER __mbarrier_token_t __mbarrier_arrive_and_drop(__mbarrier_t *bar)
{
    __mbarrier_token_t token;
    asm volatile("mbarrier.arrive_drop.shared.b64 %0, [%1];" : "=l"(token) : WEIR_BARRIER_ADDRESS : "memory");
    return token;
}

/* How many arrivals the phase still lacked when the token was made. */
WEIR_MBARRIER uint32_t __mbarrier_token_pending_count(__mbarrier_token_t token)
{
    uint32_t count;
    asm("mbarrier.pending_count.b64 %0, %1;" : "=r"(count) : "l"(token));
    return count;
}

/* Whether the token's phase is complete. */
WEIR_MBARRIER bool __mbarrier_test_wait(__mbarrier_t *bar, __mbarrier_token_t token)
{
    unsigned done;
    asm volatile("{ .reg .pred p; mbarrier.test_wait.shared.b64 p, [%1], %2;"
                 " selp.u32 %0, 1, 0, p; }"
                 : "=r"(done)
                 : WEIR_BARRIER_ADDRESS, "l"(token)
                 : "memory");
    return done;
}

/* Whether the phase of this parity (false for the first) is complete. */
WEIR_MBARRIER bool __mbarrier_test_wait_parity(__mbarrier_t *bar, bool phase_parity)
{
    unsigned done;
    asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2;"
                 " selp.u32 %0, 1, 0, p; }"
                 : "=r"(done)
                 : WEIR_BARRIER_ADDRESS, "r"((unsigned)phase_parity)
                 : "memory");
    return done;
}

/* The same, waiting for up to max_sleep_nanosec. Before sm_90 there is no such instruction: the
 * answer comes at once. */
WEIR_MBARRIER bool __mbarrier_try_wait(__mbarrier_t *bar, __mbarrier_token_t token,
                                       uint32_t max_sleep_nanosec)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    unsigned done;
    asm volatile("{ .reg .pred p; mbarrier.try_wait.shared.b64 p, [%1], %2, %3;"
                 " selp.u32 %0, 1, 0, p; }"
                 : "=r"(done)
                 : WEIR_BARRIER_ADDRESS, "l"(token), "r"(max_sleep_nanosec)
                 : "memory");
    return done;
#else
    (void)max_sleep_nanosec;
    return __mbarrier_test_wait(bar, token);
#endif
}

WEIR_MBARRIER bool __mbarrier_try_wait_parity(__mbarrier_t *bar, bool phase_parity,
                                              uint32_t max_sleep_nanosec)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    unsigned done;
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2, %3;"
                 " selp.u32 %0, 1, 0, p; }"
                 : "=r"(done)
                 : WEIR_BARRIER_ADDRESS, "r"((unsigned)phase_parity), "r"(max_sleep_nanosec)
                 : "memory");
    return done;
#else
    (void)max_sleep_nanosec;
    return __mbarrier_test_wait_parity(bar, phase_parity);
#endif
}

#undef WEIR_MBARRIER
#undef WEIR_BARRIER_ADDRESS

#endif
#endif
