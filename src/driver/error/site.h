/* site: which call of the API the calling thread is in, for fault reports.
 *
 * A function that makes or frees memory begins with CALLED(name, stream): until it returns, what
 * the memory layer makes and frees is recorded as done by that call, with the address it returns
 * to. A layer above (the runtime) announces its own call with weir_announce_call; then that one
 * counts. Calls inside calls change nothing. This costs a few thread-local words, no more: names
 * and lines are looked up when a fault is told (symbols.h). */
#ifndef WEIR_DRIVER_ERROR_SITE_H
#define WEIR_DRIVER_ERROR_SITE_H

#include "base/thread_fast.h"
#include "memory/site.h"
#include "weir/fault.h"

struct call_guard {
    bool outermost; /* this call set the thread's site, and clears it */
};
struct call_guard call_enter(enum weir_call call, const void *caller);
void call_leave(struct call_guard *g);

/* What a layer above has announced for the thread's next call: which one, and who called it; or, as
 * the exported functions' stubs do (entries.c), only the latter. */
extern WEIR_THREAD_FAST struct call_announced {
    const void *caller;
    enum weir_call call;
} call_announced;

/* Takes that, if there is any, for functions that hand on themselves who called them. */
static inline void call_take_announced(enum weir_call *call, const void **caller)
{
    if (call_announced.caller != NULL) {
        if (call_announced.call != WEIR_CALL_NONE)
            *call = call_announced.call;
        *caller = call_announced.caller;
        call_announced.caller = NULL;
    }
}

/* Once calls of a program of Python are checked: what a call is recorded with is a mark of the line
 * of Python and of the address that it returns to, instead of that. */
void call_mark_lines(void);
extern bool call_lines_marked;
const void *call_mark(const void *caller);
static inline const void *call_place(const void *caller)
{
    return WEIR_UNLIKELY(call_lines_marked) ? call_mark(caller) : caller;
}

#define CALLED(name)                                                                               \
    struct call_guard call_guard_here __attribute__((cleanup(call_leave), unused)) =               \
        call_enter(WEIR_CALL_##name, __builtin_return_address(0))

/* The function's name, NULL for none. */
const char *call_name(uint32_t call);
/* A call in words: "cudaMallocAsync at main.cu:31 on stream 2". What mem_site_set_words wants. */
void call_words(const struct mem_site *site, struct strbuf *out);
/* The same as public fields; strings that live for ever. */
void call_describe(const struct mem_site *site, struct weir_site *out);

#endif
