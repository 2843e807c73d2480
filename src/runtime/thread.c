/* What the runtime keeps for each thread: made late, freed when the thread ends or the library is
 * closed, whichever is first. */
#include "runtime/thread.h"

#include "gpu/pools.h"

#include <pthread.h>
#include <stdlib.h>

THREAD_FAST struct rt_thread *rt_thread_own;
const struct rt_thread rt_thread_initial;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct rt_thread *all;
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool has_key; /* without one, the states of threads that end stay until the library goes */
static bool forked;  /* the process is a fork of one that has used CUDA */

static void unlink_locked(struct rt_thread *t)
{
    *t->link = t->next;
    if (t->next != NULL)
        t->next->link = t->link;
}

static void thread_free(struct rt_thread *t)
{
    if (t->pools != NULL)
        gpu_thread_ends(t->pools);
    rt_begun_launches_free(t->begun);
    free(t);
}

/* The thread ends. Should another of its destructors call the runtime, it gets a new state. */
static void at_thread_end(void *state)
{
    pthread_mutex_lock(&lock);
    unlink_locked(state);
    pthread_mutex_unlock(&lock);
    rt_thread_own = NULL;
    thread_free(state);
}

bool rt_forked(void) { return forked; }

static void before_fork(void) { pthread_mutex_lock(&lock); }
static void after_fork(void) { pthread_mutex_unlock(&lock); }
static void in_child(void)
{
    forked = true;
    after_fork();
}

static void prepare(void)
{
    has_key = pthread_key_create(&key, at_thread_end) == 0;
    pthread_atfork(before_fork, after_fork, in_child);
    rt_tell_exit();
}

/* The library is closed: threads that go on must not call a destructor that is no longer there. At
 * the end of the process they may still be calling the runtime, and keep what they have. Should
 * something of the same library call the runtime after this, it gets a new state. */
static RT_LAST void at_close(void)
{
    if (rt_exiting())
        return;
    rt_thread_own = NULL;
    if (has_key)
        pthread_key_delete(key);
    has_key = false;
    while (all != NULL) {
        struct rt_thread *t = all;
        all = t->next;
        thread_free(t);
    }
}

struct rt_thread *rt_thread_new(void)
{
    struct rt_thread *t = calloc(1, sizeof *t);

    if (t == NULL)
        return NULL;
    pthread_once(&once, prepare);
    pthread_mutex_lock(&lock);
    t->next = all;
    t->link = &all;
    if (all != NULL)
        all->link = &t->next;
    all = t;
    pthread_mutex_unlock(&lock);
    if (has_key)
        pthread_setspecific(key, t);
    rt_thread_own = t;
    return t;
}
