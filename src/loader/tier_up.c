/* tier_up: the background compiler: see jit_tier_up in loader.h. */
#include "loader/tier_up.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/own_threads.h"
#include "loader/cache.h"
#include "loader/compiler_library.h"
#include "loader/loader.h"

enum {
    STACK_BYTES = 64 << 20, /* as plugin_call's; only touched pages cost */
    TOLD_AFTER_MS = 1000,
    EXIT_PATIENCE_MS = 10000 /* what a process waits at its end for the cache to be filled */
};

struct jit_tier_up {
    struct jit_tier_up *next; /* in the queue */
    const struct ptx_func *entry;
    struct jit_options options;
    const struct jit_resolver *resolver;
    void (*replace)(void *self, struct jit_code *code);
    void *self;
    bool ended; /* by its owner, who knows it no more */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards all below */
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct jit_tier_up *first, **last = &first; /* to be compiled */
static struct jit_tier_up *now;                    /* being compiled */
static struct jit_tier_up *notifying;              /* whose replace is being called */
static pthread_t thread;
static bool started, stopped; /* the thread; the process is about to end */

/* ---- the thread ---- */

/* Nobody knows it any more. */
static void forget(struct jit_tier_up *t)
{
    ptx_free(t->entry->module);
    free(t);
}

/* The object is made without the lock. Names are bound, and the owner is told, only while there is
 * an owner. */
static void work_locked(struct jit_tier_up *t)
{
    struct diag ignored = {0};
    pthread_mutex_unlock(&lock);
    struct compilation *c = compilation_get(t->entry, &t->options, false, &ignored);
    pthread_mutex_lock(&lock);
    if (c == NULL)
        return;
    if (!t->ended && !stopped) {
        notifying = t;
        pthread_mutex_unlock(&lock);
        struct jit_code *code = jit_get(t->entry, &t->options, t->resolver, &ignored);
        if (code != NULL)
            t->replace(t->self, code);
        pthread_mutex_lock(&lock);
        notifying = NULL;
        pthread_cond_broadcast(&changed);
    }
    compilation_release(c);
}

static void *tier_up_main(void *arg)
{
    (void)arg;
    own_thread_begins();
    plugin_stack_is_large();
    pthread_mutex_lock(&lock);
    for (;;) {
        while (first == NULL)
            pthread_cond_wait(&changed, &lock);
        struct jit_tier_up *t = now = first;
        first = t->next;
        if (first == NULL)
            last = &first;
        work_locked(t);
        now = NULL;
        if (t->ended)
            forget(t);
        pthread_cond_broadcast(&changed);
    }
    return NULL;
}

/* ---- its end ---- */

/* Waits on `changed` for at most so long from now on. */
static void deadline_in(struct timespec *t, unsigned ms)
{
    clock_gettime(CLOCK_REALTIME, t);
    t->tv_nsec += (long)ms * 1000000;
    t->tv_sec += t->tv_nsec / 1000000000;
    t->tv_nsec %= 1000000000;
}

/* Whether all is compiled, or what there is has been waited for so long. */
static bool over_locked(unsigned ms)
{
    struct timespec until;
    deadline_in(&until, ms);
    int result = 0;
    while (started && (now != NULL || first != NULL) && result != ETIMEDOUT)
        result = pthread_cond_timedwait(&changed, &lock, &until);
    return !started || (now == NULL && first == NULL);
}

/* Before LLVM's own destructors, which were registered before this. What is compiled now, the next
 * process finds in the cache; the program would have waited for it, had there been no baseline
 * code.
 */
static void at_exit(void)
{
    pthread_mutex_lock(&lock);
    stopped = true;
    if (cache_dir() != NULL && !over_locked(TOLD_AFTER_MS)) {
        if (isatty(STDERR_FILENO))
            notice_say("optimizing kernels for the next run ...");
        over_locked(EXIT_PATIENCE_MS - TOLD_AFTER_MS);
    }
    first = NULL; /* what waits there is its owners' */
    last = &first;
    /* The thread must run to be stopped, which takes a while where CPUs are taken. */
    while (started && now != NULL) {
        pthread_mutex_unlock(&lock);
        if (stop_thread(thread))
            return;
        pthread_mutex_lock(&lock);
    }
    pthread_mutex_unlock(&lock);
}

static void before_fork(void) { pthread_mutex_lock(&lock); }
static void after_fork(void) { pthread_mutex_unlock(&lock); }

/* The child has no such thread and gets none. */
static void in_child(void)
{
    started = false;
    stopped = true;
    now = notifying = NULL;
    first = NULL;
    last = &first;
    pthread_mutex_unlock(&lock);
}

/* ---- public ---- */

static bool start_locked(void)
{
    static bool registered;
    if (started || stopped)
        return started && !stopped;
    pthread_attr_t attr;
    sigset_t blocked, before;
    sigfillset(&blocked);
    sigdelset(&blocked, SIGSEGV); /* for stop_thread: nobody sends it to a process */
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    started = pthread_create(&thread, &attr, tier_up_main, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    if (started && !registered) {
        registered = true;
        pthread_atfork(before_fork, after_fork, in_child);
        atexit(at_exit);
    }
    return started;
}

struct jit_tier_up *jit_tier_up(const struct ptx_func *entry, const struct jit_options *options,
                                const struct jit_resolver *resolver,
                                void (*replace)(void *self, struct jit_code *code), void *self)
{
    struct jit_tier_up *t = xcalloc(1, sizeof *t);
    *t = (struct jit_tier_up){.entry = entry,
                              .options = *options,
                              .resolver = resolver,
                              .replace = replace,
                              .self = self};
    t->options.tier = JIT_TIER_OPTIMIZING;
    pthread_mutex_lock(&lock);
    bool ok = start_locked();
    if (ok) {
        ptx_keep(entry->module);
        *last = t;
        last = &t->next;
        pthread_cond_broadcast(&changed);
    }
    pthread_mutex_unlock(&lock);
    if (!ok) {
        free(t);
        t = NULL;
    }
    return t;
}

void jit_tier_up_end(struct jit_tier_up *t)
{
    if (t == NULL)
        return;
    pthread_mutex_lock(&lock);
    while (notifying == t)
        pthread_cond_wait(&changed, &lock);
    struct jit_tier_up **link = &first;
    while (*link != NULL && *link != t)
        link = &(*link)->next;
    if (*link == t) {
        *link = t->next;
        if (t->next == NULL)
            last = link;
    }
    t->ended = true;
    if (now != t)
        forget(t);
    pthread_mutex_unlock(&lock);
}
