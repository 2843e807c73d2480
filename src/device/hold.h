/* hold: while a call of the API runs, nothing that it has found alive is freed.
 *
 * A call begins with HOLD. Who frees what calls of other threads may have found wipes it first, so
 * that no later call finds it, then waits with hold_drain until each call that was under way is
 * over, and then frees it. All the cost is the freeing thread's: a call counts in a word of its own
 * thread, without an atomic instruction or a fence, and the drain sees to it that the words of all
 * threads are as they were when it began (membarrier).
 *
 * A call that waits for work does not hold what it has found: it would keep others from freeing for
 * as long as a kernel runs, perhaps until the one who frees has done what the kernel waits for. So
 * waits (wait.c) give the hold up; before, they take references to what is needed afterwards, and
 * the driver looks again whether the context is the same as before. */
#ifndef WEIR_DEVICE_HOLD_H
#define WEIR_DEVICE_HOLD_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/base.h"
#include "base/thread_fast.h"

/* What a thread has of its own. */
enum { HOLD_UNLISTED = UINT32_MAX };
extern WEIR_THREAD_FAST struct hold_thread {
    _Atomic uint32_t calls; /* that it is in, one inside another; HOLD_UNLISTED: it has made none,
                               and is not in the list */
    struct hold_thread *next, **link;
} hold_thread;

/* The thread's first call: puts it into the list of all. Changes no registers, so that a call need
 * not save any for it. */
__attribute__((preserve_most, cold)) void hold_first(void);

static inline void hold_begin(void)
{
    uint32_t calls = atomic_load_explicit(&hold_thread.calls, memory_order_relaxed) + 1;
    atomic_store_explicit(&hold_thread.calls, calls, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst); /* the rest of the fence is the drain's */
    if (WEIR_UNLIKELY(calls == 0))
        hold_first();
}

static inline void hold_end(const char *unused)
{
    (void)unused;
    uint32_t calls = atomic_load_explicit(&hold_thread.calls, memory_order_relaxed);
    atomic_store_explicit(&hold_thread.calls, calls - 1, memory_order_release);
}

/* Until the function returns, what it finds alive is not freed. */
#define HOLD                                                                                       \
    char hold_here __attribute__((cleanup(hold_end), unused));                                     \
    hold_begin()

/* Gives up what the calls that the thread is in hold, and takes it up again: what was found before
 * may be gone by then, but for what there are references to. */
uint32_t hold_pause(void);
void hold_resume(uint32_t calls);

/* Waits until each call of another thread that was under way is over, or waits for work itself. The
 * calling thread holds nothing meanwhile: it is paused. */
void hold_drain(void);
/* The same without sleeping: false when some call takes longer. */
bool hold_drained(void);

#endif
