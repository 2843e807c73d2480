/* thread: starting threads of ours, their locks, and sleeping. */
#include <linux/futex.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/own_threads.h"
#include "device/internal.h"

void mutex_init(pthread_mutex_t *lock)
{
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ADAPTIVE_NP);
    pthread_mutex_init(lock, &attr);
    pthread_mutexattr_destroy(&attr);
}

/* Code of large kernels that is not optimised takes a megabyte, whatever limit the user has set. */
enum { STACK_LEAST = 8 << 20 };

struct start {
    void *(*main)(void *);
    void *arg;
};

static void *begin(void *arg)
{
    struct start s = *(struct start *)arg;
    free(arg);
    own_thread_begins();
    return s.main(s.arg);
}

bool thread_start(void *(*main)(void *), void *arg, const char *name)
{
    struct start *s = malloc(sizeof *s);
    if (s == NULL)
        return false;
    *s = (struct start){main, arg};
    /* The program's signals are for the program's threads. Those of faults must not be blocked: the
     * system ends a process that has a blocked one. */
    sigset_t mask, old;
    sigfillset(&mask);
    const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP};
    for (size_t i = 0; i < WEIR_COUNT(faults); i++)
        sigdelset(&mask, faults[i]);
    pthread_t thread;
    pthread_attr_t attr;
    size_t stack;
    pthread_attr_init(&attr);
    if (pthread_attr_getstacksize(&attr, &stack) == 0 && stack < STACK_LEAST)
        pthread_attr_setstacksize(&attr, STACK_LEAST);
    pthread_sigmask(SIG_SETMASK, &mask, &old);
    bool fine = pthread_create(&thread, &attr, begin, s) == 0;
    pthread_attr_destroy(&attr);
    if (fine) {
        pthread_setname_np(thread, name);
        pthread_detach(thread);
    } else {
        free(s);
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return fine;
}

bool thread_start_once(atomic_bool *started, void *(*main)(void *), const char *name)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    if (WEIR_LIKELY(atomic_load(started)))
        return true;
    pthread_mutex_lock(&lock);
    if (!atomic_load(started) && thread_start(main, NULL, name))
        atomic_store(started, true);
    pthread_mutex_unlock(&lock);
    return atomic_load(started);
}

void futex_wait(_Atomic uint32_t *word, uint32_t expected, uint64_t timeout_ns)
{
    struct timespec t = {(time_t)(timeout_ns / 1000000000u), (long)(timeout_ns % 1000000000u)};
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, timeout_ns != 0 ? &t : NULL, NULL, 0);
}

void futex_wake(_Atomic uint32_t *word, int count)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}
