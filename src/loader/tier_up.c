/* load_later: the background compiler: see jit_tier_up in jit.h. */
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
    void (*better)(void *self, struct jit_code *code);
    void *self;
    bool ended; /* by its owner, who knows it no more */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards all below */
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct jit_tier_up *first, **last = &first; /* to be compiled */
static struct jit_tier_up *now;                    /* being compiled */
static struct jit_tier_up *telling;                /* whose better is being called */
static pthread_t thread;
static bool started, stopped; /* the thread; the process is about to end */

/* ---- the thread ---- */

/* Nobody knows it any more. */
static void forget(struct jit_tier_up *l)
{
    ptx_free(l->entry->module);
    free(l);
}

/* The object is made without the lock. Names are bound, and the owner is told, only while there is
 * an owner. */
static void work_locked(struct jit_tier_up *l)
{
    struct diag ignored = {0};
    pthread_mutex_unlock(&lock);
    struct unit *u = unit_get(l->entry, &l->options, false, &ignored);
    pthread_mutex_lock(&lock);
    if (u == NULL)
        return;
    if (!l->ended && !stopped) {
        telling = l;
        pthread_mutex_unlock(&lock);
        struct jit_code *code = jit_get(l->entry, &l->options, l->resolver, &ignored);
        if (code != NULL)
            l->better(l->self, code);
        pthread_mutex_lock(&lock);
        telling = NULL;
        pthread_cond_broadcast(&changed);
    }
    unit_release(u);
}

static void *later_main(void *arg)
{
    (void)arg;
    own_thread_begins();
    plugin_stack_is_large();
    pthread_mutex_lock(&lock);
    for (;;) {
        while (first == NULL)
            pthread_cond_wait(&changed, &lock);
        struct jit_tier_up *l = now = first;
        first = l->next;
        if (first == NULL)
            last = &first;
        work_locked(l);
        now = NULL;
        if (l->ended)
            forget(l);
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
 * process finds in the cache; the program would have waited for it, had there been no quick code.
 */
static void at_exit(void)
{
    pthread_mutex_lock(&lock);
    stopped = true;
    if (cache_dir() != NULL && !over_locked(TOLD_AFTER_MS)) {
        if (isatty(STDERR_FILENO))
            notice_say("optimising kernels for the next run ...");
        over_locked(EXIT_PATIENCE_MS - TOLD_AFTER_MS);
    }
    first = NULL; /* what waits there is its owners' */
    last = &first;
    /* The thread must run to be stopped, which takes a while where processors are taken. */
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
    now = telling = NULL;
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
    started = pthread_create(&thread, &attr, later_main, NULL) == 0;
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
                                void (*better)(void *self, struct jit_code *code), void *self)
{
    struct jit_tier_up *l = xcalloc(1, sizeof *l);
    *l = (struct jit_tier_up){
        .entry = entry, .options = *options, .resolver = resolver, .better = better, .self = self};
    l->options.tier = JIT_TIER_OPTIMIZING;
    pthread_mutex_lock(&lock);
    bool ok = start_locked();
    if (ok) {
        ptx_keep(entry->module);
        *last = l;
        last = &l->next;
        pthread_cond_broadcast(&changed);
    }
    pthread_mutex_unlock(&lock);
    if (!ok) {
        free(l);
        l = NULL;
    }
    return l;
}

void jit_tier_up_end(struct jit_tier_up *l)
{
    if (l == NULL)
        return;
    pthread_mutex_lock(&lock);
    while (telling == l)
        pthread_cond_wait(&changed, &lock);
    struct jit_tier_up **link = &first;
    while (*link != NULL && *link != l)
        link = &(*link)->next;
    if (*link == l) {
        *link = l->next;
        if (l->next == NULL)
            last = link;
    }
    l->ended = true;
    if (now != l)
        forget(l);
    pthread_mutex_unlock(&lock);
}
