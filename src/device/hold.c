/* hold: the list of threads that make calls, and waiting for the calls that they are in; see
 * hold.h.
 */
#include "device/hold.h"

#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/slow_path.h"

WEIR_THREAD_FAST struct hold_thread hold_thread = {.calls = HOLD_UNLISTED};

static struct {
    pthread_mutex_t lock; /* of the list */
    struct hold_thread *first;
    pthread_once_t once;
    pthread_key_t key; /* its destructor takes threads that end off the list */
    bool has_key;
    pthread_once_t barrier_once;
    bool has_barrier;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER,
         .once = PTHREAD_ONCE_INIT,
         .barrier_once = PTHREAD_ONCE_INIT};

/* Drains take turns in the order in which they came: a mutex alone would let threads that free all
 * the time keep a reset from its turn. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t turns;
    uint64_t next, now;
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER, .turns = PTHREAD_COND_INITIALIZER};

enum {
    YIELDS = 64,              /* looks at a thread that is in a call before sleeping between them */
    NAP_US = 100,             /* then */
    BARRIER_INSTEAD_US = 2000 /* far longer than a store takes to be seen */
};

static void thread_ends(void *thread)
{
    struct hold_thread *t = thread;
    if (slow_path(SLOW_PATH_FORKED) != 0)
        return; /* the lock may be another thread's, which is not in this process */
    pthread_mutex_lock(&all.lock);
    *t->link = t->next;
    if (t->next != NULL)
        t->next->link = t->link;
    atomic_store(&t->calls, HOLD_UNLISTED);
    pthread_mutex_unlock(&all.lock);
}

static void make_key(void) { all.has_key = pthread_key_create(&all.key, thread_ends) == 0; }

void hold_first(void)
{
    struct hold_thread *t = &hold_thread;
    pthread_once(&all.once, make_key);
    /* In a fork no call finds anything. Without memory the thread could not be taken off the list
     * when it ends: it is not put there, and tries again at its next call. */
    if (slow_path(SLOW_PATH_FORKED) != 0 || !all.has_key || pthread_setspecific(all.key, t) != 0)
        return;
    pthread_mutex_lock(&all.lock);
    t->next = all.first;
    t->link = &all.first;
    if (t->next != NULL)
        t->next->link = &t->next;
    all.first = t;
    atomic_store(&t->calls, 1);
    pthread_mutex_unlock(&all.lock);
}

uint32_t hold_pause(void)
{
    uint32_t calls = atomic_load_explicit(&hold_thread.calls, memory_order_relaxed);
    if (calls != HOLD_UNLISTED)
        atomic_store_explicit(&hold_thread.calls, 0, memory_order_release);
    return calls;
}

void hold_resume(uint32_t calls)
{
    atomic_store_explicit(&hold_thread.calls, calls, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
}

static void find_barrier(void)
{
    all.has_barrier = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
}

/* All threads have executed a fence. Where the system cannot have them do so, what they have
 * written before is seen by the time this returns, which is as good. */
static void barrier_of_all(void)
{
    pthread_once(&all.barrier_once, find_barrier);
    atomic_thread_fence(memory_order_seq_cst);
    if (!all.has_barrier || syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) != 0)
        usleep(BARRIER_INSTEAD_US);
}

static bool in_call(struct hold_thread *t)
{
    return atomic_load_explicit(&t->calls, memory_order_acquire) != 0;
}

/* Waits until the thread is in no call; false: not without sleeping. */
static bool leaves(struct hold_thread *t, bool sleep)
{
    for (unsigned looks = 0; in_call(t); looks++)
        if (looks < YIELDS)
            sched_yield();
        else if (sleep)
            usleep(NAP_US);
        else
            return false;
    return true;
}

static void await_turn(void)
{
    pthread_mutex_lock(&queue.lock);
    uint64_t mine = queue.next++;
    while (queue.now != mine)
        pthread_cond_wait(&queue.turns, &queue.lock);
    pthread_mutex_unlock(&queue.lock);
}

static void end_turn(void)
{
    pthread_mutex_lock(&queue.lock);
    if (queue.next != ++queue.now)
        pthread_cond_broadcast(&queue.turns);
    pthread_mutex_unlock(&queue.lock);
}

static bool drain(bool sleep)
{
    int cancel;
    if (slow_path(SLOW_PATH_FORKED) != 0)
        return true; /* there is no other thread, but locks may be held by some that were */
    uint32_t calls = hold_pause();
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel); /* a lock is held while it sleeps */
    await_turn();
    barrier_of_all();
    pthread_mutex_lock(&all.lock);
    struct hold_thread *t = all.first;
    while (t != NULL && leaves(t, sleep))
        t = t->next;
    pthread_mutex_unlock(&all.lock);
    end_turn();
    pthread_setcancelstate(cancel, NULL);
    hold_resume(calls);
    return t == NULL;
}

void hold_drain(void) { drain(true); }
bool hold_drained(void) { return drain(false); }
