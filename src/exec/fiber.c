/* fiber: calls of device functions that may wait, each on a stack of its own.
 *
 * A function that is not inlined keeps its state on the machine's stack. One that waits for another
 * warp of its block can be left there and be continued later, by whichever thread runs the block
 * then, if that stack is not the thread's. The contexts are those of the C library, which every
 * system has; a switch costs a system call or two, for signal masks, so only calls of functions
 * that may wait are made this way (compiler/front/spinning_calls.c).
 *
 * Lanes that begin a call together are in it together until it is over: the caller's loop around
 * the call runs for all lanes that are in one. So a call is known by its warp and lanes, and by the
 * fiber that it was made in: in kernels on fibers (warps.c) a warp runs on one itself, and lanes
 * that diverge in it may make calls that others do not wait for. Stacks are kept for later calls, a
 * few of them. */
#include <pthread.h>
#include <stdlib.h>
#include <ucontext.h>

#include "base/base.h"
#include "base/stack.h"
#include "exec/lane_barriers.h"

/* ThreadSanitizer keeps a call stack of its own and is told of switches. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WEIR_TSAN 1
#include <sanitizer/tsan_interface.h>
#endif
#endif

enum { FREE_MAX = 128 /* stacks kept */ };

struct fiber {
    ucontext_t inside;   /* where the call goes on */
    ucontext_t *outside; /* and where it returns to, on the stack of who runs it */
    struct fiber *next;  /* of the block or the fiber that it was made in, or free */
    struct fiber *outer; /* the fiber that it was made in, NULL: none */
    struct fiber *inner; /* those made in it */
    struct jit_block *block;
    jit_function fn;
    uint64_t at;
    uint32_t warp, mask;
    uint32_t ended; /* lanes whose threads it has ended */
    bool over;
    bool waits;      /* it came back because it waits at barriers, ... */
    uint64_t opened; /* when so many had been opened */
    struct stack_memory stack;
    void *tsan_inside, *tsan_outside; /* ThreadSanitizer's */
};

static struct {
    pthread_mutex_t lock;
    struct fiber *free;
    uint32_t count;
} stacks = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- stacks ---- */

/* One whose stack has so many bytes, if that is not 0. NULL: no memory. */
static struct fiber *fiber_take(size_t wanted)
{
    pthread_mutex_lock(&stacks.lock);
    struct fiber **link = &stacks.free;
    while (*link != NULL && !stack_suffices(&(*link)->stack, wanted))
        link = &(*link)->next;
    struct fiber *f = *link;
    if (f != NULL) {
        *link = f->next;
        stacks.count--;
    }
    pthread_mutex_unlock(&stacks.lock);
    if (f != NULL)
        return f;
    f = calloc(1, sizeof *f);
    if (f == NULL || stack_map(&f->stack, wanted))
        return f;
    free(f);
    return NULL;
}

static void fiber_drop(struct fiber *f)
{
    pthread_mutex_lock(&stacks.lock);
    bool keep = stacks.count < FREE_MAX;
    if (keep) {
        f->next = stacks.free;
        stacks.free = f;
        stacks.count++;
    }
    pthread_mutex_unlock(&stacks.lock);
    if (keep)
        return;
#ifdef WEIR_TSAN
    if (f->tsan_inside != NULL)
        __tsan_destroy_fiber(f->tsan_inside);
#endif
    stack_unmap(&f->stack);
    free(f);
}

/* ---- running ---- */

/* Before a switch to the call, with a context for it if it has none yet. */
static void tsan_enter(struct fiber *f)
{
#ifdef WEIR_TSAN
    if (f->tsan_inside == NULL)
        f->tsan_inside = __tsan_create_fiber(0);
    f->tsan_outside = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(f->tsan_inside, 0);
#else
    (void)f;
#endif
}

/* Before a switch back. */
static void tsan_leave(struct fiber *f)
{
#ifdef WEIR_TSAN
    __tsan_switch_to_fiber(f->tsan_outside, 0);
#else
    (void)f;
#endif
}

/* makecontext passes integers: the address in halves. */
static void fiber_main(unsigned low, unsigned high)
{
    struct fiber *f = (struct fiber *)((uintptr_t)high << 32 | low);
    f->ended = f->fn(f->block, f->warp, f->mask, f->at);
    f->over = true;
    tsan_leave(f);
    setcontext(f->outside);
}

static bool fiber_begin(struct fiber *f)
{
    if (getcontext(&f->inside) != 0)
        return false;
    f->inside.uc_stack =
        (stack_t){.ss_sp = f->stack.low + WEIR_PAGE, .ss_size = f->stack.bytes - WEIR_PAGE};
    f->inside.uc_link = NULL;
    uintptr_t p = (uintptr_t)f;
    makecontext(&f->inside, (void (*)(void))fiber_main, 2, (unsigned)p, (unsigned)(p >> 32));
    return true;
}

/* Runs until the call is over or waits. */
static void fiber_run(struct grid_block *b, struct fiber *f)
{
    ucontext_t here;
    bool spun = b->spun;
    uint32_t offers = b->offers;
    f->outside = &here;
    b->fiber = f;
    b->blocked = b->spun = false;
    b->offers = 0;
    /* it goes on with this thread's signals, not with those of the thread that it ran on last */
    pthread_sigmask(SIG_SETMASK, NULL, &f->inside.uc_sigmask);
    tsan_enter(f);
    swapcontext(&here, &f->inside);
    b->fiber = f->outer;
    b->spun = spun;
    b->offers = offers;
}

bool fiber_yield(struct grid_block *b, bool waits)
{
    struct fiber *f = b->fiber;
    if (f == NULL)
        return false;
    f->waits = waits;
    f->opened = b->lanes != NULL ? b->lanes->opened : 0;
    tsan_leave(f);
    swapcontext(&f->inside, f->outside);
    return true;
}

void fiber_abandon(struct grid_block *b)
{
    struct fiber *f = b->fiber;
    if (f == NULL)
        return;
    while (f->outer != NULL)
        f = f->outer;
    tsan_leave(f);
    b->fiber = NULL;
}

bool fiber_stack_ends_at(const struct grid_block *b, uint64_t address)
{
    return b->fiber != NULL && address - (uint64_t)b->fiber->stack.low < WEIR_PAGE;
}

/* All of a list, and what was made in them. */
static void drop_all(struct fiber *f)
{
    for (struct fiber *next; f != NULL; f = next) {
        next = f->next;
        drop_all(f->inner);
        fiber_drop(f);
    }
}

void fibers_end(struct grid_block *b)
{
    drop_all(b->fibers);
    b->fibers = b->fiber = NULL;
}

/* ---- calls ---- */

/* Where the calls are listed that are made now. */
static struct fiber **list_of(struct grid_block *b)
{
    return b->fiber != NULL ? &b->fiber->inner : &b->fibers;
}

/* Adds a call to the list of those made now. NULL: no memory. */
static struct fiber *call_begin(struct grid_block *b, jit_function fn, uint32_t warp, uint32_t mask,
                                uint64_t at)
{
    struct fiber *f = fiber_take(kernel_stack(b->run->launch.kernel)), **list = list_of(b);
    if (f == NULL || !fiber_begin(f)) {
        if (f != NULL)
            fiber_drop(f);
        return NULL;
    }
    f->block = &b->jit;
    f->fn = fn;
    f->warp = warp;
    f->mask = mask;
    f->at = at;
    f->over = f->waits = false;
    f->inner = NULL;
    f->outer = b->fiber;
    f->next = *list;
    *list = f;
    return f;
}

/* Runs the call at *link once; it leaves the list when it is over. */
static uint64_t go_on(struct grid_block *b, struct fiber **link)
{
    struct fiber *f = *link;
    b->jit.warp = f->warp;
    fiber_run(b, f);
    if (!f->over)
        return (uint64_t)f->mask << JIT_WARP;
    uint64_t ended = f->ended;
    *link = f->next;
    fiber_drop(f);
    block_event(b);
    return ended;
}

/* Does it wait at barriers, of which none has been opened since? */
static bool still_waits(const struct grid_block *b, const struct fiber *f)
{
    return f->waits && f->opened == b->lanes->opened && !b->stuck;
}

uint64_t weir_rt_call(struct jit_block *j, jit_function fn, uint32_t warp, uint32_t mask,
                      uint64_t at)
{
    struct grid_block *b = j->grid;
    uint64_t outcome = 0;
    uint32_t left = mask;
    for (struct fiber **link = &b->fibers; *link != NULL;) {
        struct fiber *f = *link;
        if (f->warp == warp && (f->mask & mask) != 0) {
            left &= ~f->mask;
            outcome |= go_on(b, link);
        }
        if (*link == f)
            link = &f->next;
    }
    if (left == 0)
        return outcome;
    if (call_begin(b, fn, warp, left, at) == NULL)
        return outcome | fn(j, warp, left, at); /* works unless it waits for its block */
    return outcome | go_on(b, &b->fibers);
}

/* Goes on with a call if that is of use. With `keep` it stays in the list when it is over. */
static uint64_t lanes_go_on(struct grid_block *b, struct fiber **link, bool keep)
{
    struct fiber *f = *link;
    if (f->over)
        return f->ended;
    if (still_waits(b, f))
        return (uint64_t)f->mask << JIT_WARP;
    if (!keep)
        return go_on(b, link);
    b->jit.warp = f->warp;
    fiber_run(b, f);
    if (f->over)
        block_event(b);
    return f->over ? f->ended : (uint64_t)f->mask << JIT_WARP;
}

uint64_t weir_rt_call_lanes(struct jit_block *j, jit_function fn, uint32_t warp, uint32_t mask,
                            uint64_t at, uint32_t live, uint32_t whole)
{
    struct grid_block *b = j->grid;
    struct fiber **list = list_of(b);
    uint64_t outcome = 0;
    uint32_t left = mask;
    bool waits = true;
    for (struct fiber **link = list; *link != NULL;) {
        struct fiber *f = *link;
        if ((f->mask & mask) != 0) {
            left &= ~f->mask;
            outcome |= lanes_go_on(b, link, whole != 0);
        }
        if (*link == f) {
            waits = waits && ((f->mask & mask) == 0 || f->waits || f->over);
            link = &f->next;
        }
    }
    if (left == live)
        return fn(j, warp, left, at);
    if (left != 0) {
        struct fiber *f = call_begin(b, fn, warp, left, at);
        if (f == NULL)
            fault_leave(b->worker, &(struct trouble){.kind = GRID_FAULT_MEMORY});
        outcome |= lanes_go_on(b, list, whole != 0);
        waits = waits && (*list != f || f->waits || f->over);
    }
    bool unfinished = outcome >> JIT_WARP != 0;
    b->blocked = unfinished && waits;
    if (unfinished && j->budget > 1)
        j->budget = 1;
    return outcome;
}

void weir_rt_calls_over(struct jit_block *j, uint32_t unfinished)
{
    struct grid_block *b = j->grid;
    for (struct fiber **link = list_of(b); unfinished == 0 && *link != NULL;) {
        struct fiber *f = *link;
        if (f->over) {
            *link = f->next;
            fiber_drop(f);
        } else {
            link = &f->next;
        }
    }
}

bool fiber_start(struct grid_block *b, jit_function fn, uint32_t warp, uint32_t mask)
{
    return call_begin(b, fn, warp, mask, 0) != NULL;
}

enum fiber_state fiber_go_on(struct grid_block *b, uint32_t warp)
{
    struct fiber **link = &b->fibers;
    while ((*link)->warp != warp)
        link = &(*link)->next;
    struct fiber *f = *link;
    if (still_waits(b, f))
        return FIBER_WAITS;
    if (go_on(b, link) >> JIT_WARP == 0)
        return FIBER_OVER;
    return f->waits ? FIBER_WAITS : FIBER_SPINS;
}
