/* thread_stop: stops a thread for good where it holds nothing that anyone waits for.
 *
 * A signal makes the thread look where it is. In code of the compiler it holds neither a lock of
 * ours nor one of the C library, such as that of malloc or of a file, so it can stay there while
 * the process ends; anywhere else it goes on, and is asked again. The signal is SIGSEGV, since a
 * thread may leave it unblocked without taking a signal that was sent to the program. */
#include <signal.h>
#include <stdatomic.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "loader/compiler_library.h"
#include "loader/tier_up.h"

/* ThreadSanitizer calls handlers late, inside its own malloc, with the state where the signal came:
 * there the thread is left to end by itself. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HANDLERS_ARE_LATE 1
#endif
#endif
#ifndef HANDLERS_ARE_LATE
#define HANDLERS_ARE_LATE 0
#endif

static _Atomic(pthread_t) wanted; /* written last, after `before` */
static atomic_bool there;
static struct sigaction before;

static uintptr_t pc_of(const ucontext_t *u)
{
#if defined(__x86_64__)
    return (uintptr_t)u->uc_mcontext.gregs[REG_RIP];
#else
    return (uintptr_t)u->uc_mcontext.pc;
#endif
}

static void on_signal(int signal, siginfo_t *info, void *context)
{
    if (info->si_code == SI_TKILL && pthread_equal(pthread_self(), atomic_load(&wanted))) {
        if (!plugin_has_code(pc_of(context)))
            return;
        atomic_store(&there, true);
        for (;;)
            pause();
    }
    /* another thread's own fault: what was done about it before */
    if ((before.sa_flags & SA_SIGINFO) != 0)
        before.sa_sigaction(signal, info, context);
    else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
        before.sa_handler(signal);
    else
        sigaction(SIGSEGV, &before, NULL); /* it happens again */
}

static void prepare(pthread_t thread)
{
    struct sigaction mine = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigfillset(&mine.sa_mask);
    sigaction(SIGSEGV, NULL, &before);
    atomic_store(&wanted, thread);
    sigaction(SIGSEGV, &mine, NULL); /* stays: a signal may arrive late */
}

bool stop_thread(pthread_t thread)
{
    static const struct timespec pause = {.tv_nsec = 1000000};
    static bool prepared;
    if (!prepared && !HANDLERS_ARE_LATE)
        prepare(thread);
    prepared = true;
    if (!HANDLERS_ARE_LATE)
        pthread_kill(thread, SIGSEGV);
    nanosleep(&pause, NULL);
    return atomic_load(&there);
}
