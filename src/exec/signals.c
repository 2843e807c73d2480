/* The signals of faults, in a process whose signals belong to the program.
 *
 * A fault in device code must reach our handler whatever the program has done. Two things can keep
 * it from that: the thread blocks the signal (the system then ends the process), or the program has
 * installed a handler of its own after ours. Neither is told to a library, and to ask takes a
 * system call each, longer than a small kernel. So a thread asks when it begins to run device work
 * and has not asked for ASK_TICKS: what it finds blocked is unblocked until it returns to the
 * program, what it finds replaced is installed again, and what came instead gets the faults that
 * are not ours. A thread of our own asks for what the process has, unless another one has just done
 * so.
 *
 * A program may put a handler back that it has saved, ours included. So each time ours is installed
 * again it is another function, which knows what was there before it: handlers are the chain that
 * the program believes in, and one that it has put back stands for what there was then. */
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/own_threads.h"
#include "exec/internal.h"

enum {
    ASK_TICKS = 1 << 16, /* some 20 µs */
    OTHERS_EACH = 8,     /* times that SIGSEGV was asked about, the rarer ones are, too */
    LEVELS = 8,          /* more replaced handlers than that are told no more from the last one */
    SIGNAL_STACK = 256 * 1024,
    SIGNAL_STACK_LEAST = 64 * 1024 /* AVX-512 and AMX state alone can take 11 KiB of it */
};

static const int signals[FAULT_SIGNALS] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE};

/* What each level's handler replaced, and so passes on to. */
static struct sigaction before[LEVELS][NSIG];

/* ---- passing on ---- */

/* Not ours: whoever was there before gets it. */
static void pass_on(struct sigaction *old, int signal, siginfo_t *info, void *context)
{
    if ((old->sa_flags & SA_SIGINFO) == 0 && old->sa_handler == SIG_IGN && info->si_code <= 0)
        return;
    if ((old->sa_flags & SA_SIGINFO) == 0 &&
        (old->sa_handler == SIG_DFL || old->sa_handler == SIG_IGN)) {
        /* Back to the default; the instruction faults again at the return. */
        struct sigaction action = {.sa_handler = SIG_DFL};
        sigaction(signal, &action, NULL);
        if (info->si_code <= 0)
            raise(signal); /* sent by someone: it does not come again by itself */
        return;
    }
    sigset_t mask, now; /* what the system would have blocked for it */
    sigorset(&mask, &((ucontext_t *)context)->uc_sigmask, &old->sa_mask);
    if ((old->sa_flags & SA_NODEFER) == 0)
        sigaddset(&mask, signal);
    pthread_sigmask(SIG_SETMASK, &mask, &now);
    struct sigaction action = *old;
    if ((action.sa_flags & SA_RESETHAND) != 0)
        *old = (struct sigaction){.sa_handler = SIG_DFL};
    if ((action.sa_flags & SA_SIGINFO) != 0)
        action.sa_sigaction(signal, info, context);
    else
        action.sa_handler(signal);
    pthread_sigmask(SIG_SETMASK, &now, NULL);
}

/* Someone sent it while the thread had it unblocked for us: it gets it when it is blocked again. */
static bool hold(int signal, const siginfo_t *info)
{
    struct grid_worker *w = worker_of_thread();
    if (w == NULL || info->si_code > 0 || !w->signals.lifted ||
        !sigismember(&w->signals.lifted_set, signal))
        return false;
    for (int i = 0; i < FAULT_SIGNALS; i++)
        if (signals[i] == signal) {
            w->signals.held[i] = *info;
            w->signals.is_held[i] = true;
        }
    return true;
}

/* Sends it again, to the process or to one thread; as it was, where the system lets us. */
static void send_again(int signal, siginfo_t *info, pid_t thread)
{
    pid_t self = getpid();
    if (thread == 0) {
        if (syscall(SYS_rt_sigqueueinfo, self, signal, info) != 0)
            kill(self, signal);
    } else if (syscall(SYS_rt_tgsigqueueinfo, self, thread, signal, info) != 0) {
        syscall(SYS_tgkill, self, thread, signal);
    }
}

/* Sent to the process, and taken by a thread of ours, which cannot block it: the main thread gets
 * it, as it would have without us. */
static bool forward(int signal, siginfo_t *info)
{
    if (!own_thread() || (info->si_code != SI_USER && info->si_code != SI_QUEUE))
        return false;
    send_again(signal, info, getpid());
    return true;
}

static grid_host_trap_fn host_trap;

void grid_set_host_trap(grid_host_trap_fn fn) { host_trap = fn; }

static void at_level(int level, int signal, siginfo_t *info, void *context)
{
    const struct grid_worker *w = worker_of_thread();
    if (WEIR_UNLIKELY(host_trap != NULL) && host_trap(signal, info, context, w != NULL && w->armed))
        return;
    fault_on_signal(signal, info, context);
    if (!hold(signal, info) && !forward(signal, info))
        pass_on(&before[level][signal], signal, info, context);
}

#define LEVEL(n)                                                                                   \
    static void on_signal_##n(int signal, siginfo_t *info, void *context)                          \
    {                                                                                              \
        at_level(n, signal, info, context);                                                        \
    }
LEVEL(0)
LEVEL(1)
LEVEL(2)
LEVEL(3)
LEVEL(4)
LEVEL(5) LEVEL(6) LEVEL(7)

    static void (*const handlers[LEVELS])(int, siginfo_t *, void *) = {
        on_signal_0, on_signal_1, on_signal_2, on_signal_3,
        on_signal_4, on_signal_5, on_signal_6, on_signal_7};

/* ---- installing ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int levels; /* that were installed once; signals that have fewer skip some */

static bool is_ours(const struct sigaction *a)
{
    for (int n = 0; n < LEVELS; n++)
        if ((a->sa_flags & SA_SIGINFO) != 0 && a->sa_sigaction == handlers[n])
            return true;
    return false;
}

static bool is_same(const struct sigaction *a, const struct sigaction *b)
{
    return a->sa_flags == b->sa_flags && a->sa_sigaction == b->sa_sigaction;
}

/* The level whose handler came after this one, or a new one. */
static int level_after(const struct sigaction *found, int signal)
{
    for (int n = 0; n < levels; n++)
        if (is_same(&before[n][signal], found))
            return n;
    if (levels < LEVELS)
        levels++;
    return levels - 1;
}

static void install(int signal)
{
    struct sigaction found, ours = {.sa_flags = SA_SIGINFO | SA_ONSTACK};
    if (sigaction(signal, NULL, &found) != 0 || is_ours(&found))
        return;
    pthread_mutex_lock(&lock);
    if (sigaction(signal, NULL, &found) == 0 && !is_ours(&found)) {
        int level = level_after(&found, signal);
        before[level][signal] = found;
        ours.sa_sigaction = handlers[level];
        sigaction(signal, &ours, NULL);
    }
    pthread_mutex_unlock(&lock);
}

static void before_fork(void) { pthread_mutex_lock(&lock); }
static void after_fork(void) { pthread_mutex_unlock(&lock); }

static void install_all(void)
{
    for (int i = 0; i < FAULT_SIGNALS; i++)
        install(signals[i]);
    pthread_atfork(before_fork, after_fork, after_fork);
}

void grid_install_handlers(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, install_all);
}

/* ---- the stack of signal handlers ---- */

/* Sees to it that the handlers have a stack, since a kernel may have used up the normal one, and
 * that it is large enough: the program may have set a small one, at any time. That one is put back
 * when the thread returns to the program. */
void signal_stack_set(struct grid_worker *w)
{
    struct thread_signals *t = &w->signals;
    stack_t now;
    if (sigaltstack(NULL, &now) != 0 || (now.ss_flags & SS_ONSTACK) != 0)
        return; /* in a handler: nothing can be changed */
    bool programs = (now.ss_flags & SS_DISABLE) == 0;
    if (programs && now.ss_size >= SIGNAL_STACK_LEAST)
        return;
    if (w->signal_stack == NULL) {
        void *p =
            mmap(NULL, SIGNAL_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED)
            return; /* faults still work unless the stack itself is used up */
        w->signal_stack = p;
    }
    if (sigaltstack(&(stack_t){.ss_sp = w->signal_stack, .ss_size = SIGNAL_STACK}, NULL) != 0 ||
        !programs)
        return;
    t->replaced_stack = now;
    t->stack_replaced = true;
}

static void signal_stack_restore(struct thread_signals *t)
{
    t->stack_replaced = false;
    sigaltstack(&t->replaced_stack, NULL);
}

void signal_stack_free(struct grid_worker *w)
{
    stack_t now;
    if (w->signal_stack == NULL)
        return;
    if (sigaltstack(NULL, &now) == 0 && now.ss_sp == w->signal_stack)
        sigaltstack(&(stack_t){.ss_flags = SS_DISABLE}, NULL);
    munmap(w->signal_stack, SIGNAL_STACK);
}

/* ---- before and after device work ---- */

static uint64_t ticks(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t t;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(t));
    return t << 6; /* it counts slowly */
#endif
}

/* What came meanwhile takes its course. */
static void release_held(struct thread_signals *t)
{
    for (int i = 0; i < FAULT_SIGNALS; i++) {
        if (!t->is_held[i])
            continue;
        t->is_held[i] = false;
        bool to_thread = t->held[i].si_code == SI_TKILL;
        send_again(signals[i], &t->held[i], to_thread ? (pid_t)syscall(SYS_gettid) : 0);
    }
}

/* Installs our handlers again where they have been replaced. */
static void ask_for_handlers(struct thread_signals *t)
{
    install(SIGSEGV);
    for (int i = 0; t->asked % OTHERS_EACH == 0 && i < FAULT_SIGNALS; i++)
        install(signals[i]);
    t->asked++;
}

static void ask(struct thread_signals *t)
{
    sigset_t faults, old, lifted;
    sigemptyset(&lifted);
    sigemptyset(&faults);
    for (int i = 0; i < FAULT_SIGNALS; i++) {
        sigaddset(&faults, signals[i]);
        if (t->lifted && sigismember(&t->lifted_set, signals[i]))
            sigaddset(&lifted, signals[i]); /* by an earlier call */
    }
    t->lifted_set = faults; /* until it is known: one that was sent may come at once */
    t->lifted = true;
    atomic_signal_fence(memory_order_seq_cst);
    pthread_sigmask(SIG_UNBLOCK, &faults, &old);
    for (int i = 0; i < FAULT_SIGNALS; i++)
        if (sigismember(&old, signals[i]))
            sigaddset(&lifted, signals[i]);
    t->lifted_set = lifted;
    t->lifted = !sigisemptyset(&lifted);
    atomic_signal_fence(memory_order_seq_cst);
    if (!t->lifted)
        release_held(t);
    ask_for_handlers(t);
}

/* A thread of ours, on which no code of the program runs: only the handlers may be others, and they
 * are the process's. Many threads that begin at once would wait for each other in the system. */
static void ask_for_all(struct thread_signals *t, uint64_t now)
{
    static _Atomic uint64_t asked_at;
    uint64_t last = atomic_load_explicit(&asked_at, memory_order_relaxed);
    if (now - last >= ASK_TICKS &&
        atomic_compare_exchange_strong_explicit(&asked_at, &last, now, memory_order_relaxed,
                                                memory_order_relaxed))
        ask_for_handlers(t);
}

void grid_signals_enter(struct grid_worker *w)
{
    uint64_t now = ticks();
    if (WEIR_LIKELY(now - w->signals.asked_at < ASK_TICKS))
        return;
    w->signals.asked_at = now;
    if (own_thread() && w->signals.asked > 0) {
        ask_for_all(&w->signals, now);
        return;
    }
    signal_stack_set(w);
    ask(&w->signals);
}

static void restore(struct thread_signals *t)
{
    t->asked_at = 0; /* and asks again the next time */
    if (t->stack_replaced)
        signal_stack_restore(t);
    if (!t->lifted)
        return;
    pthread_sigmask(SIG_BLOCK, &t->lifted_set, NULL);
    t->lifted = false;
    atomic_signal_fence(memory_order_seq_cst);
    release_held(t);
}

void grid_signals_leave(struct grid_worker *w)
{
    if (WEIR_UNLIKELY(w->signals.lifted || w->signals.stack_replaced))
        restore(&w->signals);
}
