/* sync: stands between a program and the functions by which its threads synchronize. `weir run`
 * loads it before all others when it checks for races.
 *
 * Each function below calls the one of the same name in the next library, and tells the check, once
 * that has begun (races/host_sync.h): of a release before it, of an acquire after it. Until then,
 * and in processes that never use Weir, a call costs two loads more. C++'s threads, locks,
 * condition variables and semaphores of the system come through here; what is done by atomic
 * instructions alone does not. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "internal.h"

const struct host_sync_listener *sync_listener;

EXPORT host_sync_listen_fn weir_host_sync_listen;
EXPORT void weir_host_sync_listen(const struct host_sync_listener *l)
{
    __atomic_store_n(&sync_listener, l, __ATOMIC_RELEASE);
}

/* A child of fork has one thread: what the others had locked of the check stays so. */
static void in_child(void) { __atomic_store_n(&sync_listener, NULL, __ATOMIC_RELAXED); }

__attribute__((constructor)) static void begin(void) { pthread_atfork(NULL, NULL, in_child); }

static void tell(enum host_sync how, const void *object, const void *caller)
{
    const struct host_sync_listener *l = __atomic_load_n(&sync_listener, __ATOMIC_ACQUIRE);
    if (l == NULL)
        return;
    bool own = (uintptr_t)caller - (uintptr_t)l->low < (uintptr_t)l->high - (uintptr_t)l->low;
    int before = errno;
    l->synchronizes(how, object, own);
    errno = before;
}

/* ---- the functions themselves ---- */

/* glibc has two kinds of condition variables for x86-64, by version of the symbol, and dlsym may
 * give the one of long ago. Elsewhere there is no such version. */
static sync_function find(const char *name)
{
    void *found = strncmp(name, "pthread_cond_", strlen("pthread_cond_")) == 0
                      ? dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2")
                      : NULL;
    if (found == NULL)
        found = dlsym(RTLD_NEXT, name);
    if (found == NULL) {
        fprintf(stderr, "weir: the program calls %s, which no library of the process has\n", name);
        abort();
    }
    sync_function f;
    memcpy(&f, &found, sizeof f);
    return f;
}

sync_function sync_need(sync_function *cache, const char *name)
{
    sync_function f = __atomic_load_n(cache, __ATOMIC_RELAXED);
    if (f == NULL) {
        f = find(name);
        __atomic_store_n(cache, f, __ATOMIC_RELAXED);
    }
    return f;
}

/* An object is acquired when the function succeeds; a lock of a thread that died with it is, too.
 */
#define ACQUIRES(name, parameters, arguments, object)                                              \
    EXPORT int name parameters                                                                     \
    {                                                                                              \
        NEXT(name);                                                                                \
        int result = next arguments;                                                               \
        if (result == 0 || result == EOWNERDEAD)                                                   \
            tell(HOST_ACQUIRE, (const void *)(object), CALLER);                                    \
        return result;                                                                             \
    }

#define RELEASES(name, parameters, arguments, object)                                              \
    EXPORT int name parameters                                                                     \
    {                                                                                              \
        NEXT(name);                                                                                \
        tell(HOST_RELEASE, (const void *)(object), CALLER);                                        \
        return next arguments;                                                                     \
    }

/* A wait gives the mutex up and has it again whatever it returns. */
#define WAITS(name, parameters, arguments)                                                         \
    EXPORT int name parameters                                                                     \
    {                                                                                              \
        NEXT(name);                                                                                \
        tell(HOST_RELEASE, m, CALLER);                                                             \
        int result = next arguments;                                                               \
        tell(HOST_ACQUIRE, m, CALLER);                                                             \
        if (result == 0)                                                                           \
            tell(HOST_ACQUIRE, c, CALLER);                                                         \
        return result;                                                                             \
    }

#define JOINS(name, parameters, arguments)                                                         \
    EXPORT int name parameters                                                                     \
    {                                                                                              \
        NEXT(name);                                                                                \
        int result = next arguments;                                                               \
        if (result == 0)                                                                           \
            tell(HOST_JOIN, NULL, CALLER);                                                         \
        return result;                                                                             \
    }

typedef const struct timespec *when;

ACQUIRES(pthread_mutex_lock, (pthread_mutex_t * m), (m), m)
ACQUIRES(pthread_mutex_trylock, (pthread_mutex_t * m), (m), m)
ACQUIRES(pthread_mutex_timedlock, (pthread_mutex_t * m, when t), (m, t), m)
ACQUIRES(pthread_mutex_clocklock, (pthread_mutex_t * m, clockid_t k, when t), (m, k, t), m)
RELEASES(pthread_mutex_unlock, (pthread_mutex_t * m), (m), m)

ACQUIRES(pthread_rwlock_rdlock, (pthread_rwlock_t * l), (l), l)
ACQUIRES(pthread_rwlock_tryrdlock, (pthread_rwlock_t * l), (l), l)
ACQUIRES(pthread_rwlock_timedrdlock, (pthread_rwlock_t * l, when t), (l, t), l)
ACQUIRES(pthread_rwlock_clockrdlock, (pthread_rwlock_t * l, clockid_t k, when t), (l, k, t), l)
ACQUIRES(pthread_rwlock_wrlock, (pthread_rwlock_t * l), (l), l)
ACQUIRES(pthread_rwlock_trywrlock, (pthread_rwlock_t * l), (l), l)
ACQUIRES(pthread_rwlock_timedwrlock, (pthread_rwlock_t * l, when t), (l, t), l)
ACQUIRES(pthread_rwlock_clockwrlock, (pthread_rwlock_t * l, clockid_t k, when t), (l, k, t), l)
RELEASES(pthread_rwlock_unlock, (pthread_rwlock_t * l), (l), l)

ACQUIRES(pthread_spin_lock, (pthread_spinlock_t * l), (l), l)
ACQUIRES(pthread_spin_trylock, (pthread_spinlock_t * l), (l), l)
RELEASES(pthread_spin_unlock, (pthread_spinlock_t * l), (l), l)

WAITS(pthread_cond_wait, (pthread_cond_t * c, pthread_mutex_t *m), (c, m))
WAITS(pthread_cond_timedwait, (pthread_cond_t * c, pthread_mutex_t *m, when t), (c, m, t))
WAITS(pthread_cond_clockwait, (pthread_cond_t * c, pthread_mutex_t *m, clockid_t k, when t),
      (c, m, k, t))
RELEASES(pthread_cond_signal, (pthread_cond_t * c), (c), c)
RELEASES(pthread_cond_broadcast, (pthread_cond_t * c), (c), c)

ACQUIRES(sem_wait, (sem_t * s), (s), s)
ACQUIRES(sem_trywait, (sem_t * s), (s), s)
ACQUIRES(sem_timedwait, (sem_t * s, when t), (s, t), s)
ACQUIRES(sem_clockwait, (sem_t * s, clockid_t k, when t), (s, k, t), s)
RELEASES(sem_post, (sem_t * s), (s), s)

JOINS(pthread_join, (pthread_t t, void **value), (t, value))
JOINS(pthread_tryjoin_np, (pthread_t t, void **value), (t, value))
JOINS(pthread_timedjoin_np, (pthread_t t, void **value, when end), (t, value, end))
JOINS(pthread_clockjoin_np, (pthread_t t, void **value, clockid_t k, when end), (t, value, k, end))

EXPORT int pthread_barrier_wait(pthread_barrier_t *b)
{
    NEXT(pthread_barrier_wait);
    tell(HOST_RELEASE, b, CALLER);
    int result = next(b);
    if (result == 0 || result == PTHREAD_BARRIER_SERIAL_THREAD)
        tell(HOST_ACQUIRE, b, CALLER);
    return result;
}

/* A promise of C++ is set so; who asks for its value reads a word, and calls nothing when it is
 * there. What was done before counts for nothing. */
EXPORT int pthread_once(pthread_once_t *control, void (*routine)(void))
{
    enum { DONE = 2 }; /* glibc's */
    NEXT(pthread_once);
    bool done = __atomic_load_n(control, __ATOMIC_ACQUIRE) == DONE;
    int result = next(control, routine);
    if (result == 0 && !done)
        tell(HOST_PUBLISH, control, CALLER);
    return result;
}
