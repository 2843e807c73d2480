/* cuda_pipeline.h: the C form of asynchronous copies into shared memory ("Pipeline Primitives").
 *
 * Copies of 4, 8 and 16 bytes are the instruction cp.async; commit and wait are its groups. */
#ifndef _CUDA_PIPELINE_H_
#define _CUDA_PIPELINE_H_

#include "cuda_awbarrier_primitives.h"
#include "cuda_runtime.h"

#if defined(__CUDA__)

/* Copies size_and_align bytes from global to shared memory, the last zfill of them as zeros. */
static __inline__ __attribute__((always_inline, nodebug, device)) void
__pipeline_memcpy_async(void *__restrict__ to, const void *__restrict__ from, size_t size_and_align,
                        size_t zfill = 0)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
    unsigned shared = (unsigned)__cvta_generic_to_shared(to);
    unsigned taken = (unsigned)(size_and_align - zfill);
    switch (size_and_align) {
    case 4:
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(shared),
                     "l"(__cvta_generic_to_global(from)), "r"(taken)
                     : "memory");
        return;
    case 8:
        asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(shared),
                     "l"(__cvta_generic_to_global(from)), "r"(taken)
                     : "memory");
        return;
    case 16:
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared),
                     "l"(__cvta_generic_to_global(from)), "r"(taken)
                     : "memory");
        return;
    default: __trap(); /* not a size that cp.async has */
    }
#else
    for (size_t i = 0; i < size_and_align; i++)
        ((char *)to)[i] = i < size_and_align - zfill ? ((const char *)from)[i] : 0;
#endif
}

/* Ends a group of copies. */
static __inline__ __attribute__((always_inline, nodebug, device)) void __pipeline_commit()
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

/* Waits until at most the `groups` (0 to 8) youngest groups are still on their way. */
static __inline__ __attribute__((always_inline, nodebug, device)) void __pipeline_wait_prior(size_t groups)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
#define WEIR_WAIT(n)                                                                               \
    case n: asm volatile("cp.async.wait_group " #n ";" ::: "memory"); break;
    switch (groups) {
        WEIR_WAIT(0)
        WEIR_WAIT(1)
        WEIR_WAIT(2)
        WEIR_WAIT(3)
        WEIR_WAIT(4)
        WEIR_WAIT(5)
        WEIR_WAIT(6)
        WEIR_WAIT(7)
    default: asm volatile("cp.async.wait_group 8;" ::: "memory"); break;
    }
#undef WEIR_WAIT
#endif
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
/* Has the barrier count this thread's arrival when the copies that it began so far are complete.
 * The barrier expects one arrival more by that. */
static __inline__ __attribute__((always_inline, nodebug, device)) void
__pipeline_arrive_on(__mbarrier_t *bar)
{
    asm volatile(
        "cp.async.mbarrier.arrive.shared.b64 [%0];" ::"r"((unsigned)__cvta_generic_to_shared(bar))
        : "memory");
}
#endif

#endif
#endif
