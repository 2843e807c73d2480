/* park: blocks that do not end at once: parking, resuming, failing; and protected functions. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/stack.h"
#include "exec/run.h"
#include "exec/threads.h"

static const uint64_t ANY_HOME = UINT64_MAX;
enum { PROGRESS_NS = 20000 /* a resumed block that took longer did more than to look again */ };

/* ---- parking ---- */

void grid_parking_init(struct grid_parking *p)
{
    *p = (struct grid_parking){0};
    pthread_mutex_init(&p->lock, NULL);
}

void parking_add(struct grid_parking *p, struct grid_block *b)
{
    pthread_mutex_lock(&p->lock);
    b->next = NULL;
    if (p->tail != NULL)
        p->tail->next = b;
    else
        p->head = b;
    p->tail = b;
    atomic_fetch_add_explicit(&p->count, 1, memory_order_release);
    pthread_mutex_unlock(&p->lock);
}

struct grid_block *parking_take(struct grid_parking *p)
{
    pthread_mutex_lock(&p->lock);
    struct grid_block *b = p->head;
    if (b != NULL) {
        p->head = b->next;
        if (p->head == NULL)
            p->tail = NULL;
        atomic_fetch_sub_explicit(&p->count, 1, memory_order_relaxed);
    }
    pthread_mutex_unlock(&p->lock);
    return b;
}

void block_park(struct grid_worker *w)
{
    struct grid_block *b = w->current;
    w->current = NULL;
    b->worker = NULL;
    if (b->nmembers == 1 && resident_keep(w, b))
        return;
    atomic_fetch_add_explicit(&b->run->parked, 1, memory_order_relaxed);
    if (b->jit.waiting != 0 && b->nmembers == 1)
        cdp_park(w, b);
    else
        parking_add(b->run->parking, b);
}

/* Takes the oldest block of the run, that thread `home` has kept unless that is ANY_HOME, and that
 * waits in another phase. The lock is held. */
static struct grid_block *take_first_of(struct grid_parking *p, const struct grid_run *run,
                                        uint64_t home, uint32_t phase)
{
    struct grid_block *before = NULL, *b = p->head;
    while (b != NULL &&
           (b->run != run || (home != ANY_HOME && b->home != home) || b->phase == phase)) {
        before = b;
        b = b->next;
    }
    if (b == NULL)
        return NULL;
    if (before != NULL)
        before->next = b->next;
    else
        p->head = b->next;
    if (p->tail == b)
        p->tail = before;
    atomic_fetch_sub_explicit(&p->count, 1, memory_order_relaxed);
    b->next = NULL;
    return b;
}

struct grid_block *parking_take_of(struct grid_parking *p, const struct grid_run *run,
                                   uint32_t phase)
{
    if (atomic_load_explicit(&p->count, memory_order_relaxed) == 0)
        return NULL;
    pthread_mutex_lock(&p->lock);
    struct grid_block *b = take_first_of(p, run, ANY_HOME, phase);
    pthread_mutex_unlock(&p->lock);
    return b;
}

struct grid_block *parking_take_kept(struct grid_parking *p, struct grid_block *first,
                                     uint64_t most)
{
    struct grid_block *last = first;
    first->next = NULL;
    pthread_mutex_lock(&p->lock);
    for (; most > 1 && (last->next = take_first_of(p, first->run, first->home, NO_PHASE)) != NULL;
         most--)
        last = last->next;
    pthread_mutex_unlock(&p->lock);
    return first;
}

uint64_t block_position(const struct grid_block *b)
{
    const struct jit_block *j = &b->jit;
    uint64_t h = ((uint64_t)j->state << 32) + b->events;
    for (uint32_t i = 0; i < j->nwarps; i++)
        h = h * 0x9e3779b97f4a7c15u + j->pc[i];
    return h;
}

/* The same for a cluster, or a block alone. */
uint64_t unit_position(const struct grid_block *lead)
{
    uint64_t h = 0;
    for (uint32_t r = 0; r < lead->nmembers; r++)
        h = h * 31 + block_position(lead->members[r]);
    return h;
}

void block_give_up(struct grid_worker *w)
{
    if (w->current == NULL)
        return;
    release_cdp_blocks(w, w->current);
    unit_drop(w, w->current);
    w->current = NULL;
}

void block_fail(struct grid_worker *w)
{
    fault_record(w);
    block_give_up(w);
}

/* ---- blocks not begun ---- */

/* Parks a block at its beginning. False: no memory for it. */
static bool park_unbegun(struct grid_worker *w, struct grid_run *run, uint64_t index)
{
    bool cluster = cluster_used(run);
    struct grid_block *b = cluster ? cluster_take(w, run) : block_take(w, run);
    if (b == NULL)
        return false;
    if (cluster) {
        cluster_start(run, b, index);
    } else {
        set_block_index(run, &b->jit, index);
        block_begin_alone(run, &b->jit);
    }
    b->worker = NULL;
    atomic_fetch_add_explicit(&run->parked, 1, memory_order_relaxed);
    parking_add(run->parking, b);
    return true;
}

/* A few at a time, the last ones first: contexts take memory, and mostly this thread goes on soon.
 */
void rest_hand_over(struct grid_worker *w)
{
    enum { AT_ONCE = 16 };
    uint32_t n = 0;
    w->armed = 0; /* what follows holds locks */
    atomic_signal_fence(memory_order_seq_cst);
    for (struct rest *r = w->rest; r != NULL; r = r->outer)
        for (; r->end > r->next && n < AT_ONCE && park_unbegun(w, r->run, r->end - 1); n++) {
            r->end--;
            r->outcome->parked++;
        }
    if (w->residents != NULL)
        resident_hand_over(w);
    atomic_signal_fence(memory_order_seq_cst);
    w->armed = 1;
}

/* ---- going on ---- */

/* Lets w->current go on. */
static void resume_armed(struct grid_worker *w, struct outcome *o)
{
    if (sigsetjmp(*w->escape, 0) != 0) {
        mem_view_again();
        block_fail(w);
        o->trouble = true;
        return;
    }
    if (w->current->nmembers == 1)
        w->current->jit.waiting = 0;
    for (uint32_t r = 0; threads_compared(w->current) && r < w->current->nmembers; r++)
        threads_waited(w->current->members[r]);
    block_run(w, o);
    if (w->current != NULL)
        unit_drop(w, w->current);
    w->current = NULL;
}

struct resumed {
    struct grid_worker *w;
    struct outcome *o;
};

static void resume_there(void *arg)
{
    struct resumed *r = arg;
    resume_armed(r->w, r->o);
}

void block_resume(struct grid_worker *w, struct outcome *o)
{
    sigjmp_buf here, *outer = w->escape;
    uint32_t mark = w->cdp.mark;
    w->escape = &here;
    w->cdp.mark = w->cdp.height;
    size_t stack = kernel_stack(w->current->run->launch.kernel);
    if (WEIR_LIKELY(stack == 0))
        resume_armed(w, o);
    else if (!stack_call_of(stack, resume_there, &(struct resumed){w, o}))
        run_no_memory(w, o);
    run_launched(w);
    w->cdp.mark = mark;
    w->escape = outer;
}

/* Lets the block go on, whose run is held. True: the run is complete. */
static bool resume(struct grid_block *b, struct grid_worker *w, bool *progress)
{
    struct grid_run *run = b->run;
    atomic_fetch_add_explicit(&run->pending, 1, memory_order_relaxed); /* this thread is inside */
    atomic_fetch_sub_explicit(&run->parked, 1, memory_order_relaxed);
    struct outcome o = {0};
    w->env = run->env;
    w->current = b;
    *progress = false;
    if (grid_faulted(run->env) != GRID_FAULT_NONE) {
        block_give_up(w);
    } else {
        unsigned fp = fp_enter(w);
        struct mem_view before = see(run);
        uint64_t begin = clock_ns();
        o.before = unit_position(b);
        block_resume(w, &o);
        *progress = o.moved || clock_ns() - begin > PROGRESS_NS;
        mem_view_leave(before);
        fp_leave(w, fp);
    }
    bool ended = o.parked == 0;
    *progress = *progress || ended;
    uint64_t lost = o.trouble || grid_faulted(run->env) != GRID_FAULT_NONE ? run_abandon(run) : 0;
    return run_leave(run, 1 + (ended ? 1 : 0) + lost);
}

/* The same, and those that were kept with it, where threads keep blocks. */
static bool resume_kept(struct grid_block *b, struct grid_worker *w, uint64_t until, bool *progress)
{
    struct grid_run *run = b->run;
    uint64_t ended = 0, taken = 0;
    atomic_fetch_add_explicit(&run->pending, 1, memory_order_relaxed); /* this thread is inside */
    b = parking_take_kept(run->parking, b, resident_share(run));
    for (struct grid_block *next = b; next != NULL; next = next->next)
        taken++;
    atomic_fetch_sub_explicit(&run->parked, taken, memory_order_relaxed);
    w->env = run->env;
    unsigned fp = fp_enter(w);
    struct mem_view before = see(run);
    *progress = resident_run(run, w, b, until, &ended);
    mem_view_leave(before);
    fp_leave(w, fp);
    return run_leave(run, 1 + ended);
}

bool grid_resume(struct grid_parking *parking, struct grid_worker *w, uint64_t until,
                 bool *progress, struct grid_run **complete)
{
    *complete = NULL;
    struct grid_block *b = parking_take(parking);
    if (b == NULL)
        return false;
    struct grid_run *run = b->run;
    bool kept = resident_grid(run) && b->jit.waiting == 0;
    if (kept ? resume_kept(b, w, until, progress) : resume(b, w, progress))
        *complete = run;
    return true;
}

struct grid_run *grid_resume_block(struct grid_block *b, struct grid_worker *w)
{
    struct grid_run *run = b->run;
    bool progress;
    return resume(b, w, &progress) ? run : NULL;
}

void grid_park_ready(struct grid_block *b) { parking_add(b->run->parking, b); }

bool grid_protected(struct grid_env *env, struct grid_worker *w, const char *what,
                    void (*fn)(void *), void *arg)
{
    sigjmp_buf here, *outer = w->escape;
    w->env = env;
    w->what = what;
    w->escape = &here;
    struct mem_view before = mem_view_enter();
    bool fine = sigsetjmp(here, 0) == 0;
    if (fine) {
        w->armed = 1;
        atomic_signal_fence(memory_order_seq_cst);
        fn(arg);
        atomic_signal_fence(memory_order_seq_cst);
        w->armed = 0;
    } else {
        mem_view_again();
        fault_record(w);
    }
    mem_view_leave(before);
    w->what = NULL;
    w->escape = outer;
    return fine;
}

void grid_raise(struct grid_env *env, enum grid_fault_kind kind, const char *what)
{
    struct grid_worker *w = grid_worker_self(0);
    w->env = env;
    w->what = what;
    w->trouble = (struct trouble){.kind = kind};
    fault_record(w);
    w->what = NULL;
}
