/* tier_up: the background compiler: see jit_tier_up in loader.h. */
#include "loader/tier_up.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/own_threads.h"
#include "loader/cache.h"
#include "loader/compile_ahead.h"
#include "loader/compiler_library.h"
#include "loader/loader.h"
#include "loader/progress.h"

enum {
    STACK_BYTES = 64 << 20, /* as plugin_call's; only touched pages cost */
    TOLD_AFTER_MS = 1000,
    LOG_AFTER_MS = 5000,
    STOP_TRIES = 1000
};

unsigned tier_up_patience_ms = 10000;

struct jit_tier_up {
    struct jit_tier_up *next; /* in the queue */
    const struct ptx_func *entry;
    struct jit_options options;
    const struct jit_resolver *resolver;
    void (*replace)(void *self, struct jit_code *code);
    void *self;
    uint64_t began; /* to be compiled: clock_ns */
    bool ended;     /* by its owner, who knows it no more */
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

/* Nothing is compiled any more: what waits is its owners', and the thread's stack stays. */
static void rest_locked(void)
{
    stopped = true;
    first = NULL;
    last = &first;
    for (;;)
        pthread_cond_wait(&changed, &lock);
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
        if (plugin_abandoned_once())
            rest_locked();
        struct jit_tier_up *t = now = first;
        t->began = clock_ns();
        pthread_cond_broadcast(&changed);
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

static unsigned elapsed_ms(uint64_t since) { return (unsigned)((clock_ns() - since) / 1000000); }

/* Waits for at most so long until all is compiled, or something else is compiled than `t`. */
static void wait_for_locked(const struct jit_tier_up *t, unsigned ms)
{
    struct timespec until;
    deadline_in(&until, ms);
    int result = 0;
    while (started && now == t && result != ETIMEDOUT)
        result = pthread_cond_timedwait(&changed, &lock, &until);
}

/* What an earlier process has tried for longer, and then given up, is not worth waiting for. */
static bool is_hopeless(const struct jit_tier_up *t)
{
    return elapsed_ms(t->began) < attempt_load(t->entry, &t->options);
}

/* Waits until all is compiled; not for what would take longer than a process waits, which is found
 * out once and kept in the cache. */
static void finish_locked(void)
{
    const uint64_t start = clock_ns();
    const struct jit_tier_up *judged = NULL;
    bool told = false, logged = false;
    while (started && (now != NULL || first != NULL)) {
        unsigned so_far = elapsed_ms(start);
        if (now != NULL && now != judged && is_hopeless(now))
            return;
        judged = now;
        if (so_far >= tier_up_patience_ms)
            break;
        if (!told && so_far >= TOLD_AFTER_MS && isatty(STDERR_FILENO))
            notice_say("optimizing kernels for the next run ...");
        told |= so_far >= TOLD_AFTER_MS;
        if (!logged && so_far >= LOG_AFTER_MS && now != NULL)
            notice_say("optimizing kernel %s (%lld instructions) for the next run since %u s",
                       notice_name(now->entry->name), watch_size(now->entry),
                       elapsed_ms(now->began) / 1000);
        logged |= so_far >= LOG_AFTER_MS;
        unsigned next = !told ? TOLD_AFTER_MS : !logged ? LOG_AFTER_MS : tier_up_patience_ms;
        next = next < tier_up_patience_ms ? next : tier_up_patience_ms;
        wait_for_locked(now, next - so_far);
    }
    if (!started || now == NULL)
        return;
    attempt_store(now->entry, &now->options, elapsed_ms(now->began));
    notice_say(
        "kernel %s (%lld instructions) takes longer than %.1f s to optimize: `weir cache --fill "
        "PROGRAM` does that ahead of a program that carries it",
        notice_name(now->entry->name), watch_size(now->entry), elapsed_ms(now->began) / 1000.0);
}

/* What is compiled now, the next process finds in the cache; the program would have waited for it,
 * had there been no baseline code. Nothing that the thread uses has been destroyed: LLVM's objects
 * are not, at all, and what libraries do at their end comes after all handlers. So the thread may
 * be loading the compiler when this is called, and is stopped when that is over. */
static void at_exit(void)
{
    pthread_mutex_lock(&lock);
    stopped = true;
    if (cache_stores())
        finish_locked();
    first = NULL; /* what waits there is its owners' */
    last = &first;
    /* The thread must run to be stopped, which takes a while where CPUs are taken. Where memory ran
     * out in LLVM it may wait for a lock that nobody gives back. */
    for (int tries = 0; started && now != NULL; tries++) {
        if (plugin_abandoned_once() && tries > STOP_TRIES)
            break;
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
