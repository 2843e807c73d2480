/* out_of_memory: calls of the compiler under a guard (base/reserve.h). LLVM is not written to go on
 * without memory: it ends the process. Its handlers, and the C++ library's, leave it instead, by a
 * jump over its frames; those of our own allocations do the same. */
#include "compiler/out_of_memory.h"

#include <pthread.h>
#include <stdio.h>

#include "base/base.h"
#include "base/reserve.h"

static _Thread_local char *given_up; /* where the reason goes, within a guard */
enum {
    REASON_BYTES = 512,
    LEAST_BYTES = 8 << 20, /* to begin with */
};

/* LLVM's fatal errors. Returning ends the process, as without us. */
static void give_up(const char *why)
{
    if (!memory_is_guarded() || given_up == NULL)
        return;
    snprintf(given_up, REASON_BYTES, "%s", why != NULL ? why : "it does not say why");
    memory_escape();
}

static void install(void) { compile_catch(give_up); }

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
    bool fine = memory_guarded(call, arg);
    given_up = outer;
    if (fine)
        return true;
    if (d != NULL)
        d->text[0] = '\0';
    if (reason[0] == '\0')
        return diag_set_memory(d, what);
    return diag_set(d, 0, 0, "%s: LLVM gave up: %s", what, reason);
}
