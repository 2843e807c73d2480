/* stack: calls on a stack of our own; see stack.h. The contexts are those of the C library, which
 * every system has. */
#include "base/stack.h"

#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "base/base.h"
#include "base/thread_fast.h"

/* Sanitizers know one stack a thread unless they are told of each switch. */
static const bool one_stack = WEIR_SANITIZED;

enum {
    STACK_MAX = 8 << 20,
    STACK_MIN = 256 << 10,
    KEPT_MAX = 8,   /* stacks that are kept */
    CONTEXTS = 4096 /* bytes at the high end of a stack, for struct there */
};

static WEIR_THREAD_FAST struct thread_stack {
    uintptr_t low, high; /* of the thread's own stack; 0: not known yet */
    uintptr_t guard;     /* bytes below it without access */
    uintptr_t other;     /* the low end of ours that it is on; 0: it is on none */
    size_t other_bytes;  /* of that */
} thread_stack;

static struct {
    pthread_mutex_t lock; /* never waited for: a child of fork may find it taken */
    struct stack_memory items[KEPT_MAX];
    int count;
} kept = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- memory ---- */

/* Bytes of a stack on which a call that wants so much can be made. */
static size_t mapping_for(size_t wanted)
{
    size_t bytes = wanted + WEIR_PAGE + CONTEXTS;
    return bytes > STACK_MIN ? (bytes + STACK_MIN - 1) / STACK_MIN * STACK_MIN : STACK_MIN;
}

bool stack_suffices(const struct stack_memory *s, size_t wanted)
{
    return wanted == 0 || s->bytes >= mapping_for(wanted);
}

bool stack_map(struct stack_memory *s, size_t wanted)
{
    size_t least = mapping_for(wanted);
    s->bytes = least > STACK_MAX ? least : STACK_MAX;
    for (; s->bytes >= least; s->bytes /= 2) {
        s->low = mmap(NULL, s->bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
        if (s->low == MAP_FAILED)
            continue;
        if (mprotect(s->low, WEIR_PAGE, PROT_NONE) == 0)
            return true;
        munmap(s->low, s->bytes);
    }
    return false;
}

void stack_unmap(struct stack_memory *s) { munmap(s->low, s->bytes); }

static bool take(struct stack_memory *s, size_t wanted)
{
    bool found = false;
    if (pthread_mutex_trylock(&kept.lock) == 0) {
        for (int n = kept.count - 1; n >= 0 && !found; n--) {
            found = stack_suffices(&kept.items[n], wanted);
            if (found) {
                *s = kept.items[n];
                kept.items[n] = kept.items[--kept.count];
            }
        }
        pthread_mutex_unlock(&kept.lock);
    }
    return found || stack_map(s, wanted);
}

static void give(struct stack_memory *s)
{
    bool keep = false;
    if (pthread_mutex_trylock(&kept.lock) == 0) {
        keep = kept.count < KEPT_MAX;
        if (keep)
            kept.items[kept.count++] = *s;
        pthread_mutex_unlock(&kept.lock);
    }
    if (!keep)
        stack_unmap(s);
}

/* ---- the thread's own ---- */

void stack_look(void)
{
    struct thread_stack *t = &thread_stack;
    pthread_attr_t attr;
    void *low;
    size_t size, guard;
    if (t->high != 0)
        return;
    *t = (struct thread_stack){.high = UINTPTR_MAX}; /* what is not told is taken for enough */
    if (pthread_getattr_np(pthread_self(), &attr) != 0)
        return;
    if (pthread_attr_getstack(&attr, &low, &size) == 0 &&
        pthread_attr_getguardsize(&attr, &guard) == 0)
        *t = (struct thread_stack){.low = (uintptr_t)low,
                                   .high = (uintptr_t)low + size,
                                   .guard = guard < WEIR_PAGE ? WEIR_PAGE : guard};
    pthread_attr_destroy(&attr);
}

bool stack_ends_at(uintptr_t address)
{
    const struct thread_stack *t = &thread_stack;
    if (t->other != 0 && address - t->other < WEIR_PAGE)
        return true;
    /* systems differ in whether the guard is part of the stack */
    return t->guard != 0 && address - (t->low - t->guard) < 2 * t->guard;
}

/* Whether enough is left here. What is none of the thread's stack is one of the program's own
 * making, of a size that nobody tells. */
static bool enough(size_t wanted)
{
    const struct thread_stack *t = &thread_stack;
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    stack_look();
    if (t->other != 0) /* what wants no more than the others are content with ours */
        return wanted <= STACK_WANTED ||
               (here - t->other < t->other_bytes && here - t->other >= wanted);
    return here >= t->low && here < t->high && here - t->low >= wanted;
}

/* ---- calls ---- */

struct there {
    void (*call)(void *arg);
    void *arg;
    ucontext_t inside, outside;
};

_Static_assert(sizeof(struct there) <= CONTEXTS, "they fit there");

static void begin(unsigned low, unsigned high)
{
    struct there *t = (struct there *)(((uintptr_t)high << 32) | low); /* makecontext takes ints */
    t->call(t->arg);
}

/* On that stack, at whose high end the contexts lie. */
static void call_there(const struct stack_memory *s, void (*call)(void *arg), void *arg)
{
    struct there *t = (struct there *)(void *)(s->low + s->bytes - CONTEXTS);
    if (getcontext(&t->inside) != 0) {
        call(arg);
        return;
    }
    t->call = call;
    t->arg = arg;
    t->inside.uc_stack.ss_sp = s->low + WEIR_PAGE;
    t->inside.uc_stack.ss_size = s->bytes - WEIR_PAGE - CONTEXTS;
    t->inside.uc_link = &t->outside;
    uint64_t at = (uint64_t)(uintptr_t)t;
    makecontext(&t->inside, (void (*)(void))begin, 2, (unsigned)at, (unsigned)(at >> 32));
    uintptr_t other = thread_stack.other;
    size_t other_bytes = thread_stack.other_bytes;
    thread_stack.other_bytes = s->bytes;
    thread_stack.other = (uintptr_t)s->low;
    swapcontext(&t->outside, &t->inside);
    thread_stack.other = other;
    thread_stack.other_bytes = other_bytes;
}

/* On this stack where so much is left, else on one that has `least`. */
static bool call_of(size_t wanted, size_t least, void (*call)(void *arg), void *arg)
{
    struct stack_memory s;
    int cancel;
    bool called = true;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    if (one_stack || enough(wanted)) {
        call(arg);
    } else if (take(&s, least)) {
        call_there(&s, call, arg);
        give(&s);
    } else {
        called = false;
    }
    pthread_setcancelstate(cancel, NULL);
    return called;
}

void stack_call(void (*call)(void *arg), void *arg)
{
    if (!call_of(STACK_WANTED, 0, call, arg))
        call(arg);
}

bool stack_call_of(size_t wanted, void (*call)(void *arg), void *arg)
{
    return call_of(wanted, wanted, call, arg);
}
