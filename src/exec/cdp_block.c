/* cdp_block: what is kept of a block that launches: how many of its children are not over, and
 * whether it waits for them; and when a thread runs children in between. exec/cdp.h has the path
 * of a launch. */
#include <stdlib.h>

#include "exec/internal.h"

enum {
    CDP_WAITING = 1,
    DRAIN_DEPTH = 3, /* how deep runs of children in the middle of a block nest on one stack */
    LEVELS_MAX = 40  /* runs of children in runs of children; deeper ones wait for these to end */
};

const struct cdp_ops *cdp_device;

void cdp_set_ops(const struct cdp_ops *o) { cdp_device = o; }

void cdp_free_records(struct grid_worker *w)
{
    cdp_child_free_records(w);
    for (struct cdp_block *n = w->cdp_blocks, *next; n != NULL; n = next) {
        next = n->next;
        pthread_mutex_destroy(&n->queue.lock);
        free(n);
    }
    if (cdp_device != NULL && w->cdp.device != NULL)
        cdp_device->gone(w);
}

/* ---- blocks that launch ---- */

void cdp_queue_init(struct cdp_queue *q, struct cdp_block *cdp)
{
    *q = (struct cdp_queue){.cdp = cdp};
    pthread_mutex_init(&q->lock, NULL);
    atomic_init(&q->refs, 1);
}

struct cdp_block *cdp_of_block(struct grid_worker *w, struct grid_block *b)
{
    if (b->cdp != NULL)
        return b->cdp;
    struct cdp_block *n = w->cdp_blocks;
    if (n != NULL) {
        w->cdp_blocks = n->next;
    } else {
        n = xcalloc(1, sizeof *n);
        cdp_queue_init(&n->queue, n);
    }
    n->launched = 0;
    atomic_store_explicit(&n->state, 2, memory_order_relaxed);
    b->cdp = n;
    return n;
}

static void cdp_free(struct grid_worker *w, struct cdp_block *n)
{
    free(n->errors);
    n->errors = NULL;
    hazard_order_unref(n->over);
    hazard_order_unref(n->queue.over);
    n->over = n->queue.over = NULL;
    n->next = w->cdp_blocks;
    w->cdp_blocks = n;
}

struct grid_block *grid_current_block(void) { return worker_of_thread()->current; }

struct grid_run *grid_run_of_block(struct grid_block *b) { return b->run; }

void cdp_block_hold(struct cdp_block *cdp, uint64_t n)
{
    atomic_fetch_add_explicit(&cdp->state, 2 * n, memory_order_relaxed);
}

void cdp_block_release(struct grid_worker *w, struct cdp_block *cdp, uint64_t n)
{
    uint64_t left = atomic_fetch_sub_explicit(&cdp->state, 2 * n, memory_order_acq_rel) - 2 * n;
    if (left == 0) {
        cdp_free(w, cdp);
    } else if (left == 2 + CDP_WAITING) {
        /* only the block is left, and it waits: nobody else can see that */
        struct grid_block *b = cdp->waiter;
        atomic_store_explicit(&cdp->state, 2, memory_order_relaxed);
        cdp_device->ready(w, b);
    }
}

bool cdp_idle(const struct grid_block *b)
{
    return b->cdp == NULL || atomic_load_explicit(&b->cdp->state, memory_order_acquire) == 2;
}

void cdp_park(struct grid_worker *w, struct grid_block *b)
{
    struct cdp_block *cdp = b->cdp;
    cdp->waiter = b;
    uint64_t old = atomic_fetch_or_explicit(&cdp->state, CDP_WAITING, memory_order_acq_rel);
    if (old == 2) { /* its children have ended in the meantime */
        atomic_store_explicit(&cdp->state, 2, memory_order_relaxed);
        cdp_device->ready(w, b);
    }
}

void cdp_block_over(struct grid_worker *w, struct grid_block *b)
{
    struct cdp_block *cdp = b->cdp;
    while (cdp->buffers != NULL) {
        struct cdp_child *c = cdp->buffers;
        cdp->buffers = c->next;
        cdp_child_free(w, c);
    }
    b->cdp = NULL;
    cdp_block_release(w, cdp, 1);
}

/* ---- running children ---- */

/* Calls a function of the device layer that may run other blocks, between blocks or in the middle
 * of one. */
static void call_device_layer(struct grid_worker *w, void (*upcall)(struct grid_worker *w))
{
    struct grid_block *mine = w->current;
    struct grid_env *env = w->env;
    const char *what = w->what;
    w->current = NULL;
    w->what = NULL;
    upcall(w);
    w->current = mine;
    w->env = env;
    w->what = what;
}

void cdp_drain(struct grid_worker *w)
{
    if (w->levels >= LEVELS_MAX)
        return;
    w->levels++;
    call_device_layer(w, cdp_device->drain);
    w->levels--;
}

/* So memory stays bounded. */
void cdp_drain_here(struct grid_block *b)
{
    struct grid_worker *w = b->worker;
    if (w->cdp.between >= DRAIN_DEPTH)
        return; /* the list grows instead */
    w->cdp.between++;
    w->armed = 0;
    atomic_signal_fence(memory_order_seq_cst);
    cdp_drain(w);
    atomic_signal_fence(memory_order_seq_cst);
    w->armed = 1;
    w->cdp.between--;
}

void cdp_give(struct grid_worker *w)
{
    if (cdp_device == NULL || w->cdp.device == NULL)
        return;
    w->armed = 0;
    atomic_signal_fence(memory_order_seq_cst);
    call_device_layer(w, cdp_device->give);
    atomic_signal_fence(memory_order_seq_cst);
    w->armed = 1;
}
