/* out_of_memory: calls of the compiler under a guard (base/reserve.h). LLVM is not written to go on
 * without memory: it ends the process. Its handlers, and the C++ library's, leave it instead, by a
 * jump over its frames; those of our own allocations do the same.
 *
 * Objects of LLVM's that lie in those frames are not destroyed, and lists that all threads share
 * lead to them (of timers, for one). So the frames stay as they are: the compiler's caller learns
 * by compile_abandoned that it must not use this stack any more, and frames of the way back do not
 * reach down to them (STACK_GAP). Locks that LLVM held stay locked; whoever waits for one of them
 * is found by compiler_library.c. */
#include "compiler/out_of_memory.h"

#include <pthread.h>
#include <stdio.h>

#include "base/base.h"
#include "base/reserve.h"

static _Thread_local char *given_up; /* where the reason goes, within a guard */
enum {
    REASON_BYTES = 512,
    LEAST_BYTES = 8 << 20, /* to begin with */
    STACK_GAP = 64 << 10,  /* what a thread uses at most once it has come back */
};

static _Thread_local bool abandoned; /* a call of this thread, inside LLVM */

bool compile_abandoned(void) { return abandoned; }

/* Returns where the thread is not in a guard. */
static void abandon(void)
{
    if (!memory_is_guarded())
        return;
    abandoned = true;
    memory_escape();
}

/* LLVM's fatal errors. Returning ends the process, as without us. */
static void give_up(const char *why)
{
    if (!memory_is_guarded() || given_up == NULL)
        return;
    snprintf(given_up, REASON_BYTES, "%s", why != NULL ? why : "it does not say why");
    abandon();
}

static void install(void) { compile_catch(abandon, give_up); }

struct call_below {
    void (*call)(void *arg);
    void *arg;
};

static void call_below_gap(void *arg)
{
    const struct call_below *c = arg;
    char gap[STACK_GAP];
    __asm__ volatile("" : : "r"(gap) : "memory"); /* all of it is there, and stays */
    c->call(c->arg);
    __asm__ volatile("" : : "r"(gap) : "memory");
}

bool compile_guarded_below(void (*call)(void *arg), void *arg)
{
    struct call_below c = {call, arg};
    return memory_guarded(call_below_gap, &c);
}

bool compile_guarded(void (*call)(void *arg), void *arg, const char *what, struct diag *d)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    char reason[REASON_BYTES] = "", *outer = given_up;
    /* A thread's first use of thread-local words of LLVM's ends the process when there is no
     * memory. */
    if (!memory_likely(LEAST_BYTES))
        return diag_set_memory(d, what);
    pthread_once(&once, install);
    given_up = reason;
    bool fine = compile_guarded_below(call, arg);
    given_up = outer;
    if (fine)
        return true;
    if (d != NULL)
        d->text[0] = '\0';
    if (reason[0] == '\0')
        return diag_set_memory(d, what);
    return diag_set(d, 0, 0, "%s: LLVM gave up: %s", what, reason);
}
