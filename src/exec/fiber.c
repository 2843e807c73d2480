/* fiber: calls of device functions that may spin, each on a stack of its own.
 *
 * A function that is not inlined keeps its state on the machine's stack. One that waits for another
 * warp of its block can be left there and be continued later, by whichever thread runs the block
 * then, if that stack is not the thread's. The contexts are those of the C library, which every
 * system has; a switch costs a system call or two, for signal masks, so only calls of functions that
 * may wait are made this way (compiler/front/spinning_calls.c).
 *
 * Lanes that begin a call together are in it together until it is over: the kernel's loop around
 * the call runs for all lanes that are in one. So a call is known by its warp and lanes. Stacks are
 * kept for later calls, a few of them. */
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "base/base.h"
#include "exec/internal.h"

/* ThreadSanitizer keeps a call stack of its own and is told of switches. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WEIR_TSAN 1
#include <sanitizer/tsan_interface.h>
#endif
#endif

enum {
    STACK_MAX = 8 << 20, /* bytes, taken as they are touched */
    STACK_MIN = 256 << 10,
    FREE_MAX = 64 /* stacks kept */
};

struct fiber {
    ucontext_t inside;   /* where the call goes on */
    ucontext_t *outside; /* and where it returns to, on the stack of who runs it */
    struct fiber *next;  /* of the block, or free */
    struct jit_block *block;
    jit_function fn;
    uint64_t at;
    uint32_t warp, mask;
    uint32_t ended; /* lanes whose threads it has ended */
    bool over;
    uint8_t *low; /* the stack with its guard page */
    size_t bytes;
    void *tsan_inside, *tsan_outside; /* ThreadSanitizer's */
};

static struct {
    pthread_mutex_t lock;
    struct fiber *free;
    uint32_t count;
} stacks = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- stacks ---- */

static bool stack_map(struct fiber *f)
{
    for (f->bytes = STACK_MAX; f->bytes >= STACK_MIN; f->bytes /= 2) {
        f->low = mmap(NULL, f->bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
        if (f->low == MAP_FAILED)
            continue;
        if (mprotect(f->low, WEIR_PAGE, PROT_NONE) == 0)
            return true;
        munmap(f->low, f->bytes);
    }
    return false;
}

/* NULL: no memory. */
static struct fiber *fiber_take(void)
{
    pthread_mutex_lock(&stacks.lock);
    struct fiber *f = stacks.free;
    if (f != NULL) {
        stacks.free = f->next;
        stacks.count--;
    }
    pthread_mutex_unlock(&stacks.lock);
    if (f != NULL)
        return f;
    f = calloc(1, sizeof *f);
    if (f == NULL || stack_map(f))
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
    munmap(f->low, f->bytes);
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
    f->inside.uc_stack = (stack_t){.ss_sp = f->low + WEIR_PAGE, .ss_size = f->bytes - WEIR_PAGE};
    f->inside.uc_link = NULL;
    uintptr_t p = (uintptr_t)f;
    makecontext(&f->inside, (void (*)(void))fiber_main, 2, (unsigned)p, (unsigned)(p >> 32));
    return true;
}

/* Runs until the call is over or spins. */
static void fiber_run(struct grid_block *b, struct fiber *f)
{
    ucontext_t here;
    f->outside = &here;
    b->fiber = f;
    /* it goes on with this thread's signals, not with those of the thread that it ran on last */
    pthread_sigmask(SIG_SETMASK, NULL, &f->inside.uc_sigmask);
    tsan_enter(f);
    swapcontext(&here, &f->inside);
    b->fiber = NULL;
}

bool fiber_yield(struct grid_block *b)
{
    struct fiber *f = b->fiber;
    if (f == NULL)
        return false;
    tsan_leave(f);
    swapcontext(&f->inside, f->outside);
    return true;
}

bool fiber_stack_ends_at(const struct grid_block *b, uint64_t address)
{
    return b->fiber != NULL && address - (uint64_t)b->fiber->low < WEIR_PAGE;
}

void fibers_end(struct grid_block *b)
{
    for (struct fiber *f = b->fibers, *next; f != NULL; f = next) {
        next = f->next;
        fiber_drop(f);
    }
    b->fibers = b->fiber = NULL;
}

/* ---- the helper ---- */

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
    struct fiber *f = fiber_take();
    if (f == NULL || !fiber_begin(f)) { /* on this stack: it works unless it waits for its block */
        if (f != NULL)
            fiber_drop(f);
        return outcome | fn(j, warp, left, at);
    }
    f->block = j;
    f->fn = fn;
    f->warp = warp;
    f->mask = left;
    f->at = at;
    f->over = false;
    f->next = b->fibers;
    b->fibers = f;
    return outcome | go_on(b, &b->fibers);
}
