/* parts: a grid's blocks, divided among the threads that may run them.
 *
 * Where all threads take the next blocks from one counter, whoever comes first gets them, and a
 * thread that runs the same grid again finds the memory of its blocks in another core's cache. So
 * each thread has a part of a grid's blocks of its own, the same one each time, and begins at its
 * front; when it is empty, it takes from the ends of others' parts, so that all end together.
 *
 * Blocks are then not begun in the order of their indices. That is for blocks that do not wait for
 * others alone: what waits is parked, and of parked blocks there may be so many only; if all of
 * them waited for one that has not begun, nothing would go on. */
#include <pthread.h>
#include <stdlib.h>

#include "exec/run.h"

/* Blocks that nobody has taken: the first, and, in the upper half, the end. Only ever fewer. */
struct part {
    _Alignas(64) _Atomic uint64_t left;
};

struct grid_parts {
    struct grid_parts *next; /* in the list of free ones */
    uint32_t count;
    struct part part[];
};

static struct {
    pthread_mutex_t lock;
    struct grid_parts *free; /* all of one count: a process has one number of workers */
} parts = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct grid_parts *parts_get(uint32_t count)
{
    pthread_mutex_lock(&parts.lock);
    struct grid_parts *p = parts.free;
    if (p != NULL)
        parts.free = p->next;
    pthread_mutex_unlock(&parts.lock);
    if (p != NULL && p->count == count)
        return p;
    free(p);
    p = aligned_alloc(_Alignof(struct part), sizeof *p + count * sizeof *p->part);
    if (p != NULL)
        p->count = count;
    return p; /* NULL: blocks come from the counter then */
}

void parts_release(struct grid_parts *p)
{
    pthread_mutex_lock(&parts.lock);
    p->next = parts.free;
    parts.free = p;
    pthread_mutex_unlock(&parts.lock);
}

void grid_run_divide(struct grid_run *run)
{
    enum { EACH_LEAST = 2 }; /* blocks for each thread: fewer are no part to keep to */
    const struct grid_kernel *k = run->launch.kernel;
    uint64_t total = run->total;
    if (run->workers < 2 || total < (uint64_t)EACH_LEAST * run->workers || total > UINT32_MAX ||
        k->can_suspend || k->recursive || run->launch.cooperative || cluster_used(run))
        return;
    struct grid_parts *p = parts_get(run->workers);
    for (uint32_t i = 0; p != NULL && i < p->count; i++)
        atomic_store_explicit(&p->part[i].left,
                              total * i / p->count | (total * (i + 1) / p->count) << 32,
                              memory_order_relaxed);
    run->parts = p;
}

/* Takes up to `most` of the part: from its front, or from its end. */
static uint64_t take(struct part *part, uint64_t most, bool front, uint64_t *first)
{
    uint64_t left = atomic_load_explicit(&part->left, memory_order_relaxed);
    for (;;) {
        uint64_t begin = (uint32_t)left, end = left >> 32, n = end - begin;
        if (n == 0)
            return 0;
        n = n < most ? n : most;
        *first = front ? begin : end - n;
        uint64_t rest = front ? (begin + n) | end << 32 : begin | (end - n) << 32;
        if (atomic_compare_exchange_weak_explicit(&part->left, &left, rest, memory_order_relaxed,
                                                  memory_order_relaxed))
            return n;
    }
}

uint64_t parts_take(struct grid_run *run, uint32_t home, uint32_t *from, uint64_t most,
                    uint64_t *first)
{
    struct grid_parts *p = run->parts;
    for (; *from < p->count; ++*from) {
        uint64_t n = take(&p->part[(home + *from) % p->count], most, *from == 0, first);
        if (n > 0)
            return n;
    }
    return 0;
}
