/* cdp_queue: runs what kernels have launched.
 *
 * Each thread has a stack of things to do: queues of children, and blocks whose wait is over.
 * Blocks push while they run; between blocks, and in the middle of blocks that launch very much,
 * the thread works it off from the top, so that the newest and deepest work goes first and little
 * is pending at any time. Where others have nothing to do it gives queues away, to a list of the
 * scheduler's.
 *
 * A child runs in a command of its own, taken from the thread's free list. Most are small, run to
 * their end at once, and their command is used again; one that is shared, has children or waits
 * stays, and whoever ends it goes on with the queue. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/schedule.h"
#include "device/cdp.h"
#include "device/internal.h"
#include "exec/threads.h"

enum {
    FREE_MAX = 256, /* free commands that a thread keeps */
    GIVE_AT = 64    /* so often a fire-and-forget queue looks whether others have nothing to do */
};

static const uint64_t LOOK_NS = 10000; /* between two gifts */
static const uint64_t GIVE_NS = 8000;  /* what the half that is given must take at least */
static const uint64_t HAND_NS = 200;   /* what it costs to hand over a record */
static const uint32_t SLOW_NS = 5000;  /* a block's time */

/* A queue, or a block that can go on; neither: it was handed over. */
struct item {
    struct cdp_queue *queue;
    struct grid_block *block;
};

/* Children that are over and not yet counted off, all of one grid and block. */
struct owed {
    struct grid_run *run;
    struct cdp_block *cdp;
    uint64_t runs, cdps;
};

/* What a thread keeps for dynamic parallelism (cdp_thread.device). */
struct thread_work {
    struct item *items; /* cdp_thread.height of them are things to do */
    size_t cap;
    struct command *free_commands;
    uint32_t nfree;
    struct owed owed;
    struct cdp_queue *unordered; /* fire-and-forget queues that it is in the middle of */
};

static struct thread_work *of(struct grid_worker *w)
{
    struct cdp_thread *n = cdp_thread(w);
    if (n->device == NULL)
        n->device = xcalloc(1, sizeof(struct thread_work));
    return n->device;
}

static void push(struct grid_worker *w, struct item item)
{
    struct thread_work *t = of(w);
    struct cdp_thread *n = cdp_thread(w);
    if (n->height == t->cap) {
        t->cap = t->cap > 0 ? 2 * t->cap : 64;
        t->items = xrealloc(t->items, t->cap * sizeof *t->items);
    }
    t->items[n->height++] = item;
}

/* ---- counting off ---- */

static void run_over(struct command *c, struct grid_worker *w);

/* A grid that is over may be the last child of another, and so on: each is owed when the one before
 * has been settled, so that it takes no more machine stack the deeper they are. */
static void settle_owed(struct grid_worker *w)
{
    struct thread_work *t = of(w);
    while (t->owed.cdps > 0 || t->owed.runs > 0) {
        struct owed o = t->owed;
        t->owed = (struct owed){0};
        if (o.cdps > 0)
            cdp_block_release(w, o.cdp, o.cdps);
        if (o.runs > 0 && grid_run_leave(o.run, o.runs))
            run_over(command_of_run(o.run), w);
    }
}

/* `n` launches of a child are over, or a queue of the block is no longer active (run NULL). */
static void defer_release(struct grid_worker *w, struct grid_run *run, struct cdp_block *cdp,
                          uint32_t n)
{
    struct thread_work *t = of(w);
    if ((run != NULL && t->owed.runs > 0 && t->owed.run != run) ||
        (cdp != NULL && t->owed.cdps > 0 && t->owed.cdp != cdp))
        settle_owed(w);
    if (run != NULL) {
        t->owed.run = run;
        t->owed.runs += n;
    }
    if (cdp != NULL) {
        t->owed.cdp = cdp;
        t->owed.cdps += n;
    }
}

/* ---- commands of children ---- */

static struct command *take_command(struct grid_worker *w)
{
    struct thread_work *t = of(w);
    struct command *c = t->free_commands;
    if (c != NULL) {
        t->free_commands = atomic_load_explicit(&c->next, memory_order_relaxed);
        t->nfree--;
        return c;
    }
    c = xaligned_alloc(_Alignof(struct command), sizeof *c);
    c->deps = c->few;
    c->kind = COMMAND_CDP;
    c->dep_count = c->dep_next = 0;
    c->params = NULL;
    return c;
}

static void free_command(struct grid_worker *w, struct command *c)
{
    struct thread_work *t = of(w);
    if (t->nfree == FREE_MAX) {
        free(c);
        return;
    }
    atomic_store_explicit(&c->next, t->free_commands, memory_order_relaxed);
    t->free_commands = c;
    t->nfree++;
}

/* The order that ends with the child: what follows it in its queue, and what waits for it, comes
 * after. A child whose threads have done nothing makes none but that which it comes after. */
static void order_over(struct command *c)
{
    struct cdp_child *child = c->cdp.child;
    struct hazard_order *over = grid_threads_told(&c->run, NULL, NULL);
    if (over == NULL)
        over = hazard_order_ref(child->told->after);
    if (c->cdp.queue != NULL)
        c->cdp.queue->over = hazard_order_join(c->cdp.queue->over, over);
    if (child->cdp != NULL) {
        pthread_mutex_lock(&child->cdp->queue.lock);
        child->cdp->over = hazard_order_join(child->cdp->over, over);
        pthread_mutex_unlock(&child->cdp->queue.lock);
    }
    hazard_order_unref(over);
}

/* The same for a child that is over. */
static void command_over(struct grid_worker *w, struct command *c)
{
    if (c->cdp.child->told != NULL)
        order_over(c);
    if (observed())
        observed_end(c);
    free_command(w, c);
}

/* ---- running ---- */

/* A command prepared for the child of the queue (NULL: of none). */
static struct command *prepare(struct grid_worker *w, struct cdp_child *child, struct cdp_queue *q)
{
    struct command *parent = command_of_run(child->parent), *c = take_command(w);
    c->stream = parent->stream;
    c->listed = c->published = c->told = false;
    c->cdp.child = child;
    c->cdp.queue = q;
    if (q != NULL)
        threads_launch_follows(child, q->over);
    c->run.launch = child->launch;
    grid_run_init(&c->run, &c->run.launch, parent->stream->ctx->env, &sched.parking, sched.sharers);
    /* a tail launch takes the place of its parent */
    c->run.depth = child->parent->depth + (child->cdp != NULL ? 1 : 0);
    c->run.origin = child;
    if (schedule_on())
        c->run.order =
            schedule_mix(child->parent->order, schedule_name(child->launch.kernel->name));
    if (observed()) {
        c->cdp.number = observe_serial();
        observed_begin(c);
    }
    return c;
}

static bool is_faulted(const struct cdp_child *child)
{
    return grid_faulted(command_of_run(child->parent)->stream->ctx->env) != GRID_FAULT_NONE;
}

/* Starts a child of the queue (NULL: of none). True: it is over, and its command free. False:
 * whoever ends it goes on. */
static bool start(struct grid_worker *w, struct cdp_child *child, struct cdp_queue *q)
{
    if (is_faulted(child))
        return true;
    struct command *c = prepare(w, child, q);
    struct observed_part part = {.told = false};
    if (observed())
        part = observed_run_part_begin(c);
    bool over = command_run_cdp(c, w);
    if (part.told)
        observed_part_end(&part);
    if (over)
        command_over(w, c);
    return over;
}

/* `n` launches of a child are over, their commands gone. */
static void child_over(struct grid_worker *w, struct cdp_child *child, uint32_t n)
{
    if (n == 0)
        return;
    defer_release(w, child->parent, child->cdp, n);
    if (child->lanes == 0 ||
        atomic_fetch_sub_explicit(&child->left, (uint8_t)n, memory_order_acq_rel) == n)
        cdp_child_free(w, child);
}

/* A child of several launches is no longer in a queue. */
static void child_leaves_queue(struct grid_worker *w, struct cdp_child *child)
{
    if (child->lanes != 0 && atomic_fetch_sub_explicit(&child->left, 1, memory_order_acq_rel) == 1)
        cdp_child_free(w, child);
}

/* Starts those launches of a child of several that are not begun (*at), and counts off those that
 * are over. `q`: each must be over before the next one; false: one stays, and whoever ends it goes
 * on with the queue. */
static bool start_several(struct grid_worker *w, struct cdp_child *child, uint32_t *at,
                          struct cdp_queue *q)
{
    uint32_t count = cdp_child_count(child), ended = 0;
    bool stays = false;
    while (!stays && *at < count) {
        if (is_faulted(child)) {
            ended += count - *at;
            *at = count;
            break;
        }
        struct command *c = prepare(w, child, q);
        enum grid_progress progress = grid_run_several(&c->run, w, child, at, &ended);
        bool over = progress == GRID_COMPLETE && cdp_tails(c, w);
        ended += over ? 1 : 0;
        if (over || progress == GRID_MORE)
            command_over(w, c);
        else
            stays = q != NULL;
    }
    child_over(w, child, ended);
    return !stays;
}

/* Tail launches in order, at the head of the run's list. */
static void take_tails(struct grid_run *from, struct grid_run *to)
{
    struct cdp_child *list = atomic_exchange_explicit(&from->tails, NULL, memory_order_acquire);
    for (struct cdp_child *next; list != NULL; list = next) { /* the latest comes first */
        next = list->next;
        list->parent = to;
        list->next = to->tail_next;
        to->tail_next = list;
    }
}

/* A tail launch comes after all that the run has done and launched. */
static void follow_run(struct cdp_child *tail, const struct grid_run *run)
{
    if (tail->told == NULL)
        return;
    struct hazard_order *ended = grid_threads_ended(run);
    threads_launch_follows(tail, ended);
    hazard_order_unref(ended);
}

static bool run_tails(struct command *c, struct grid_worker *w)
{
    struct grid_run *run = &c->run;
    if (c->kind == COMMAND_CDP && c->cdp.child->cdp == NULL) {
        /* Its own tail launches come before its parent's next, and nobody waits for it but those:
         * they become its parent's, so that a chain of them, however long, needs no more. */
        take_tails(run, c->cdp.child->parent);
        return true;
    }
    take_tails(run, run);
    run->workspace = NULL; /* freed when the blocks had ended */
    while (run->tail_next != NULL) {
        struct cdp_child *child = run->tail_next;
        run->tail_next = child->next;
        follow_run(child, run);
        atomic_store_explicit(&run->pending, 1, memory_order_relaxed);
        if (!start(w, child, NULL))
            return false;
        cdp_child_free(w, child);
    }
    return true;
}

bool cdp_tails(struct command *c, struct grid_worker *w)
{
    struct grid_run *run = &c->run;
    if (WEIR_UNLIKELY(run->tail_next != NULL ||
                      atomic_load_explicit(&run->tails, memory_order_acquire) != NULL) &&
        !run_tails(c, w))
        return false;
    if (WEIR_UNLIKELY(atomic_load_explicit(&run->handles, memory_order_acquire) != NULL))
        cdp_handles_free(run);
    return true;
}

/* The run is complete but for its tail launches; the caller is in the middle of other work. */
static void run_over(struct command *c, struct grid_worker *w)
{
    if (c->published)
        sched_unlist(c);
    if (!cdp_tails(c, w))
        return;
    if (c->kind == COMMAND_CDP)
        cdp_child_over(c, w);
    else if (command_end(c))
        sched_push(c->stream);
}

void cdp_child_over(struct command *c, struct grid_worker *w)
{
    struct cdp_child *child = c->cdp.child;
    struct cdp_queue *q = c->cdp.queue;
    command_over(w, c);
    child_over(w, child, 1);
    if (q != NULL)
        push(w, (struct item){.queue = q});
}

/* A record of an event, or a wait for one. False: the queue waits. */
static bool pass_event(struct grid_worker *w, struct cdp_child *child, struct cdp_queue *q)
{
    if (child->told != NULL)
        q->over = hazard_order_join(q->over, child->told->after);
    if (child->work == CDP_WORK_WAIT)
        return cdp_wait(child, q);
    for (struct cdp_queue *met = cdp_record(child, q), *next; met != NULL; met = next) {
        next = met->next;
        push(w, (struct item){.queue = met});
    }
    return true;
}

/* Runs the child that is first in the queue. False: it waits, or stays. */
static bool run_first(struct grid_worker *w, struct cdp_child *child, struct cdp_queue *q)
{
    if (child->lanes != 0) {
        if (!start_several(w, child, &q->at, q))
            return false;
        q->mine = child->next;
        q->at = 0;
        child_leaves_queue(w, child);
        return true;
    }
    if (child->work != CDP_WORK_GRID && !pass_event(w, child, q))
        return false;
    q->mine = child->next;
    if (child->work == CDP_WORK_GRID && !start(w, child, q))
        return false;
    child_over(w, child, 1);
    return true;
}

/* Gives the queue to whoever has nothing to do. */
static void give(struct cdp_queue *q)
{
    q->next = NULL;
    sched_give(q);
}

/* Whether the child must not be run on this thread now, which is in the middle of a block: it may
 * wait for that block in a function that is called, and so keep the thread. */
static bool may_keep_thread(struct grid_worker *w, const struct cdp_child *c)
{
    return WEIR_UNLIKELY(cdp_thread(w)->between > 0) && c->work == CDP_WORK_GRID &&
           c->launch.kernel->recursive;
}

/* Runs the queue that is the caller's until it is empty or a child in it stays. */
static void run_queue(struct grid_worker *w, struct cdp_queue *q)
{
    for (;;) {
        struct cdp_child *child = q->mine;
        if (child == NULL) {
            pthread_mutex_lock(&q->lock);
            child = q->head;
            q->head = q->tail = NULL;
            q->active = child != NULL;
            q->mine = child; /* not later: an empty queue is the next one's to push */
            pthread_mutex_unlock(&q->lock);
        }
        if (child == NULL)
            break;
        if (may_keep_thread(w, child)) {
            give(q);
            return;
        }
        if (!run_first(w, child, q))
            return;
    }
    defer_release(w, q->run, q->cdp, 1); /* one of them */
}

/* Whether others have nothing to do. What was given and waits is theirs already: a machine that is
 * busy with other things may let them come late, and gifts must not pile up meanwhile. */
static bool others_idle(void)
{
    return atomic_load_explicit(&sched.running, memory_order_relaxed) +
               atomic_load_explicit(&sched.waiting_gifts, memory_order_relaxed) <
           sched.sharers;
}

/* A block's time, as far as it is known. */
static uint64_t block_ns(const struct cdp_child *c)
{
    return c->work == CDP_WORK_GRID
               ? atomic_load_explicit(&c->launch.kernel->block_ns, memory_order_relaxed)
               : 0;
}

/* About how long the child will take; what is not known is thought to be worth a gift. */
static uint64_t child_ns(const struct cdp_child *c)
{
    enum { AT_LEAST = 20 };
    const uint32_t *g = c->launch.grid;
    uint64_t blocks = (uint64_t)g[0] * g[1] * g[2], one = block_ns(c);
    if (one == 0 || blocks >= GIVE_NS)
        return GIVE_NS;
    return blocks * cdp_child_count(c) * (one < AT_LEAST ? AT_LEAST : one);
}

/* Is the child expected to take so long that another thread is worth its while? */
static bool is_slow(const struct cdp_child *c) { return block_ns(c) > SLOW_NS; }

/* Are the children, linked, worth another thread? It has to fetch each record from this one's
 * cache, and this one will get them back like that. */
static bool is_worth_sharing(const struct cdp_child *first)
{
    enum { LOOK_AT = 16 }; /* the first ones tell what the others are like */
    uint64_t count = 0, ns = 0;
    if (first->next == NULL || is_slow(first)) /* single ones may take much longer than most */
        return first->next != NULL;
    for (const struct cdp_child *c = first; c != NULL; c = c->next) {
        ns += child_ns(c);
        if (++count >= LOOK_AT && ns < count * HAND_NS)
            return false;
        if (count >= LOOK_AT && ns >= 2 * GIVE_NS)
            return true;
    }
    return ns >= 2 * GIVE_NS && ns >= count * HAND_NS;
}

/* Half of the queue goes to another thread. */
static void share_half(struct cdp_queue *q)
{
    struct cdp_child *half = q->mine;
    uint32_t count = 0;
    for (struct cdp_child *c = q->mine; c != NULL; c = c->next)
        if (++count % 2 == 0 && count > 2)
            half = half->next;
    struct cdp_queue *other = xcalloc(1, sizeof *other);
    other->unordered = true;
    other->mine = half->next;
    half->next = NULL;
    give(other);
}

/* What is left of a fire-and-forget queue goes to another thread. */
static void give_all_of(struct cdp_queue *q)
{
    struct cdp_queue *other = xcalloc(1, sizeof *other);
    other->unordered = true;
    other->mine = q->mine;
    other->at = q->at;
    q->mine = NULL;
    give(other);
}

static void run_unordered(struct grid_worker *w, struct cdp_queue *q)
{
    struct thread_work *t = of(w);
    uint64_t looked = 0;
    uint32_t until_look = 0;
    q->next = t->unordered;
    t->unordered = q;
    while (q->mine != NULL) {
        struct cdp_child *child = q->mine;
        uint32_t count = cdp_child_count(child);
        if (may_keep_thread(w, child)) {
            give_all_of(q);
            break;
        }
        if (until_look < count || is_slow(child)) {
            uint64_t now = others_idle() ? clock_ns() : 0;
            if (now > looked + LOOK_NS) {
                if (is_worth_sharing(child))
                    share_half(q);
                looked = now;
            }
            until_look = GIVE_AT + count;
        }
        until_look -= count;
        if (child->lanes == 0) {
            q->mine = child->next;
            if (start(w, child, NULL))
                child_over(w, child, 1);
            continue;
        }
        start_several(w, child, &q->at, NULL);
        q->at = 0;
        if (q->mine == child) { /* else it was handed over */
            q->mine = child->next;
            child_leaves_queue(w, child);
        }
    }
    t->unordered = q->next;
    free(q);
}

void cdp_run_queue(struct cdp_queue *q, struct grid_worker *w)
{
    if (q->unordered)
        run_unordered(w, q);
    else
        run_queue(w, q);
    settle_owed(w);
}

/* Gives away the older half of what there is to do above the mark. */
static void share(struct grid_worker *w)
{
    struct thread_work *t = of(w);
    struct cdp_thread *n = cdp_thread(w);
    uint32_t half = (n->height - n->mark) / 2, kept = n->mark;
    for (uint32_t i = n->mark; i < n->height; i++) {
        if (i - n->mark < half && t->items[i].queue != NULL)
            give(t->items[i].queue);
        else
            t->items[kept++] = t->items[i];
    }
    n->height = kept;
}

/* Those below the mark, too: they belong to blocks further down on the machine's stack, which this
 * thread will not come back to before others have run them, perhaps. */
static void give_all(struct grid_worker *w)
{
    struct thread_work *t = of(w);
    settle_owed(w);
    for (uint32_t i = 0; i < cdp_thread(w)->height; i++) {
        struct item item = t->items[i];
        t->items[i] = (struct item){0};
        if (item.queue != NULL)
            give(item.queue);
        else if (item.block != NULL)
            grid_park_ready(item.block);
    }
    for (struct cdp_queue *q = t->unordered; q != NULL; q = q->next) {
        if (q->mine == NULL)
            continue;
        give_all_of(q);
        q->at = JIT_WARP; /* it is in the middle of the first, perhaps, and leaves the rest */
    }
}

static void drain(struct grid_worker *w)
{
    struct thread_work *t = of(w);
    struct cdp_thread *n = cdp_thread(w);
    for (settle_owed(w); n->height > n->mark; settle_owed(w)) {
        if (n->height - n->mark > 1 && others_idle())
            share(w);
        struct item i = t->items[--n->height];
        if (i.queue != NULL) {
            cdp_run_queue(i.queue, w);
            continue;
        }
        if (i.block == NULL)
            continue;
        struct grid_run *complete = grid_resume_block(i.block, w);
        if (complete != NULL)
            run_over(command_of_run(complete), w);
    }
}

void cdp_settle(struct grid_worker *w)
{
    struct thread_work *t = cdp_thread(w)->device;
    if (WEIR_UNLIKELY(t != NULL && (cdp_thread(w)->height > 0 || t->owed.cdps + t->owed.runs > 0)))
        drain(w);
}

/* ---- launches ---- */

static void append(struct grid_worker *w, struct cdp_queue *q, struct cdp_child *first,
                   struct cdp_child *last)
{
    last->next = NULL;
    pthread_mutex_lock(&q->lock);
    if (q->tail != NULL)
        q->tail->next = first;
    else
        q->head = first;
    q->tail = last;
    bool activate = !q->active;
    q->active = true;
    pthread_mutex_unlock(&q->lock);
    if (!activate)
        return;
    if (q->cdp != NULL)
        cdp_block_hold(q->cdp, 1);
    else
        grid_run_hold(q->run, 1);
    push(w, (struct item){.queue = q});
}

static void append_unordered(struct grid_worker *w, struct cdp_child *first, struct cdp_child *last)
{
    struct thread_work *t = of(w);
    struct cdp_thread *n = cdp_thread(w);
    struct cdp_queue *q = n->height > n->mark ? t->items[n->height - 1].queue : NULL;
    if (q == NULL || !q->unordered) {
        q = xcalloc(1, sizeof *q);
        q->unordered = true;
        push(w, (struct item){.queue = q});
    }
    last->next = q->mine;
    q->mine = first;
}

/* Tail launches wait, the latest first, until everything else of their grid is done. */
static void append_tails(struct grid_run *run, struct cdp_child *first, struct cdp_child *last)
{
    struct cdp_child *list = NULL, *old;
    last->next = NULL;
    for (struct cdp_child *c = first, *next; c != NULL; c = next) {
        next = c->next;
        c->cdp = NULL;
        c->next = list;
        list = c;
    }
    old = atomic_load_explicit(&run->tails, memory_order_relaxed);
    do
        first->next = old;
    while (!atomic_compare_exchange_weak_explicit(&run->tails, &old, list, memory_order_release,
                                                  memory_order_relaxed));
}

static bool submit(struct grid_worker *w, struct grid_block *b, struct cdp_child *first,
                   struct cdp_child *last, uint32_t n, uint64_t stream)
{
    struct grid_run *run = grid_run_of_block(b);
    struct cdp_block *cdp = cdp_of_block(w, b);
    if (stream == CDP_STREAM_TAIL) {
        append_tails(run, first, last);
        return true;
    }
    struct cdp_queue *q = &cdp->queue; /* 1 and 2 are the host's default streams */
    if (stream > 2 && stream != CDP_STREAM_FIRE_AND_FORGET &&
        (q = cdp_stream_queue(run, stream)) == NULL)
        return false;
    grid_run_hold(run, n);
    cdp_block_hold(cdp, n);
    if (stream == CDP_STREAM_FIRE_AND_FORGET)
        append_unordered(w, first, last);
    else
        append(w, q, first, last);
    return true;
}

static void ready(struct grid_worker *w, struct grid_block *b)
{
    push(w, (struct item){.block = b});
}

static void gone(struct grid_worker *w)
{
    struct thread_work *t = of(w);
    for (struct command *c = t->free_commands, *next; c != NULL; c = next) {
        next = atomic_load_explicit(&c->next, memory_order_relaxed);
        free(c);
    }
    free(t->items);
    free(t);
    cdp_thread(w)->device = NULL;
}

void cdp_open(void)
{
    static const struct cdp_ops ops = {submit, cdp_misuses, drain, give_all, ready, gone};
    cdp_set_ops(&ops);
}
