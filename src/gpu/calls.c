/* calls: which threads are in a call of this layer, so that a record which a call of another thread
 * may have found is freed only after that call.
 *
 * A call counts in a word of its own thread, without an atomic instruction or a fence; who wants to
 * free has the system make all threads execute a fence (membarrier), then looks at the words. Where
 * the system cannot, each call executes one. */
#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "gpu/internal.h"

bool calls_fence = true;

static struct {
    pthread_mutex_t lock; /* of the list */
    struct gpu_thread *threads;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

enum { LOOKS = 64 }; /* at a thread that is in a call, before giving up */

void calls_open(void)
{
    calls_fence = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) != 0;
}

void calls_thread_begins(struct gpu_thread *t)
{
    pthread_mutex_lock(&all.lock);
    t->next = all.threads;
    t->link = &all.threads;
    if (t->next != NULL)
        t->next->link = &t->next;
    all.threads = t;
    pthread_mutex_unlock(&all.lock);
}

void calls_thread_ends(struct gpu_thread *t)
{
    pthread_mutex_lock(&all.lock);
    *t->link = t->next;
    if (t->next != NULL)
        t->next->link = t->link;
    pthread_mutex_unlock(&all.lock);
}

static bool leaves(struct gpu_thread *t)
{
    for (unsigned looks = 0; atomic_load_explicit(&t->calls, memory_order_acquire) != 0; looks++) {
        if (looks == LOOKS)
            return false;
        sched_yield();
    }
    return true;
}

bool calls_are_over(const struct gpu_thread *self)
{
    atomic_thread_fence(memory_order_seq_cst);
    if (!calls_fence && syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) != 0)
        return false;
    pthread_mutex_lock(&all.lock);
    struct gpu_thread *t = all.threads;
    while (t != NULL && (t == self || leaves(t)))
        t = t->next;
    pthread_mutex_unlock(&all.lock);
    return t == NULL;
}
