/* Small grids one after the other, on one thread, in one block's context: those of a graph, and
 * launches alike that threads of a warp made together. */
#include <stdlib.h>
#include <string.h>

#include "grid/run.h"

/* The same for grids that were timed together: each is thought to have taken its share. */
static void learn_series(struct grid_quick *const *quick, uint32_t count, uint64_t ns)
{
    uint64_t expected = 0;
    for (uint32_t i = 0; i < count; i++)
        expected += quick[i]->total *
                    atomic_load_explicit(&quick[i]->launch.kernel->block_ns, memory_order_relaxed);
    if (expected == 0)
        return;
    for (uint32_t i = 0; i < count; i++) {
        struct grid_kernel *k = quick[i]->launch.kernel;
        if (i > 0 && quick[i - 1]->launch.kernel == k)
            continue;
        uint64_t old = atomic_load_explicit(&k->block_ns, memory_order_relaxed);
        uint64_t one = (uint64_t)((double)old * (double)ns / (double)expected);
        run_learn(k, one);
    }
}

bool grid_quick_make(struct grid_quick *q, const struct grid_launch *launch)
{
    const struct grid_kernel *k = launch->kernel;
    if (launch->cooperative || k->builtin || k->can_suspend || k->recursive ||
        launch->cluster[0] > 0)
        return false;
    struct grid_run run;
    static struct grid_env env; /* its limits count for recursive kernels only */
    grid_run_init(&run, launch, &env, NULL, 1);
    *q = (struct grid_quick){.launch = *launch,
                             .key = layout_key_of(&run),
                             .total = run.total,
                             .local_stride = run.local_stride,
                             .nthreads = run.nthreads,
                             .nwarps = run.nwarps,
                             .shared_bytes = run.shared_bytes};
    return true;
}

/* A series under way. What changes is in memory, for a fault to find it. */
struct series {
    struct grid_run *run;
    struct grid_quick *const *quick;
    uint32_t *at;
    uint32_t end;
    uint64_t left; /* ns */
    struct outcome o;
    bool open; /* quick[*at] has begun and is not counted */
};

/* What of the run is the same for all grids of a series. */
static void series_begin(struct grid_run *run, struct grid_env *env, struct grid_parking *parking,
                         uint32_t workers)
{
    run->env = env;
    run->parking = parking;
    run->cluster_size = 1;
    run->workers = workers > 0 ? workers : 1;
    run->resident_max = (uint64_t)RESIDENT_PER_SM * run->workers;
    if (run->resident_max < 256)
        run->resident_max = 256;
    run->workspace = NULL;
    run->depth = 0;
    run->origin = NULL;
    run->tail_next = NULL;
    atomic_store_explicit(&run->tails, NULL, memory_order_relaxed);
    atomic_store_explicit(&run->handles, NULL, memory_order_relaxed);
    atomic_store_explicit(&run->parked, 0, memory_order_relaxed);
}

/* What is the grid's own. Everything is handed out, to this thread, which counts as inside. */
static void series_prepare(struct grid_run *run, const struct grid_quick *q, struct grid_worker *w)
{
    run->launch = q->launch;
    run->gridid = WEIR_LIKELY(w->gridid != w->gridid_limit) ? ++w->gridid : run_next_gridid();
    run->total = q->total;
    run->local_stride = q->local_stride;
    run->nthreads = q->nthreads;
    run->nwarps = q->nwarps;
    run->shared_bytes = q->shared_bytes;
    atomic_store_explicit(&run->next, q->total, memory_order_relaxed);
    atomic_store_explicit(&run->pending, q->total + 1, memory_order_relaxed);
}

/* Whether the grid, whose blocks have been run, has left nothing to be seen to. */
static bool series_clean(const struct series *s, const struct grid_worker *w)
{
    const struct grid_run *run = s->run;
    return s->o.parked == 0 &&
           atomic_load_explicit(&run->pending, memory_order_relaxed) == run->total + 1 &&
           run->tail_next == NULL &&
           atomic_load_explicit(&run->tails, memory_order_relaxed) == NULL &&
           atomic_load_explicit(&run->handles, memory_order_relaxed) == NULL &&
           w->nesting.height == w->nesting.mark;
}

/* Runs the blocks of the grid that the run is prepared for. The context of the last one stays in
 * w->current. False: there is no memory for it. */
static inline bool series_blocks(struct series *s, struct grid_worker *w)
{
    for (uint64_t i = 0; i < s->run->total;) {
        struct grid_block *b = w->current;
        bool fresh = b == NULL;
        if (fresh)
            b = w->current = block_take(w, s->run);
        if (b == NULL) {
            w->trouble = (struct trouble){.kind = GRID_FAULT_MEMORY};
            return false;
        }
        if (i == 0)
            memset(b->jit.ctaid, 0, sizeof b->jit.ctaid); /* to divide takes its time */
        else if (fresh)
            place(s->run, &b->jit, i);
        else
            place_next(s->run, &b->jit);
        block_begin(s->run, &b->jit);
        i += row_run(s->run, w, s->run->total - i - 1, &s->o);
        run_launched(w);
    }
    return true;
}

static void series_armed(struct series *s, struct grid_worker *w)
{
    const struct grid_quick *before = NULL;
    if (sigsetjmp(*w->escape, 0) != 0) {
        mem_view_again();
        block_fail(w);
        s->o.trouble = true;
        return;
    }
    while (*s->at < s->end && s->quick[*s->at] != NULL) {
        const struct grid_quick *q = s->quick[*s->at];
        uint64_t ns =
            q->total * atomic_load_explicit(&q->launch.kernel->block_ns, memory_order_relaxed);
        if (ns == 0 || ns > s->left)
            break;
        s->left -= ns;
        series_prepare(s->run, q, w);
        s->open = true;
        if (w->current != NULL && layout_key_same(&before->key, &q->key)) {
            w->current->jit.params = q->launch.params;
            w->current->jit.gridid = s->run->gridid;
            w->current->laid_out = s->run->gridid;
        } else if (w->current != NULL) {
            unit_drop(w, w->current);
            w->current = NULL;
        }
        before = q;
        if (!series_blocks(s, w)) {
            block_fail(w);
            s->o.trouble = true;
            return;
        }
        if (!series_clean(s, w))
            break;
        s->open = false;
        ++*s->at;
    }
    if (w->current != NULL)
        unit_drop(w, w->current);
    w->current = NULL;
}

enum grid_progress grid_run_series(struct grid_run *run, struct grid_worker *w,
                                   struct grid_quick *const *quick, uint32_t *at, uint32_t end,
                                   uint64_t budget_ns, struct grid_env *env,
                                   struct grid_parking *parking, uint32_t workers)
{
    enum { TIMED_EACH = 16 };
    struct series s = {.run = run, .quick = quick, .at = at, .end = end, .left = budget_ns};
    sigjmp_buf here, *outer = w->escape;
    uint32_t mark = w->nesting.mark, first = *at;
    uint64_t begin = ++w->alone % TIMED_EACH == 0 ? now_ns() : 0;
    unsigned fp = fp_enter(w);
    w->env = env;
    w->escape = &here;
    w->nesting.mark = w->nesting.height;
    series_begin(run, env, parking, workers);
    struct mem_view before =
        mem_view_enter_as(env->device, atomic_load_explicit(&env->peers, memory_order_relaxed));
    series_armed(&s, w);
    run_launched(w);
    mem_view_leave(before);
    w->nesting.mark = mark;
    w->escape = outer;
    fp_leave(w, fp);
    if (begin != 0 && !s.open && *at > first)
        learn_series(quick + first, *at - first, now_ns() - begin);
    if (!s.open)
        return GRID_MORE;
    if (s.o.parked == 0 &&
        atomic_load_explicit(&run->pending, memory_order_acquire) == run->total + 1)
        return GRID_COMPLETE;
    return run_finish(run, run->total - s.o.parked + 1) ? GRID_COMPLETE : GRID_HANDED;
}
