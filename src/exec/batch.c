/* batch: small grids one after the other, on one thread, in one block's context: those of a graph,
 * and launches alike that threads of a warp made together. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/schedule.h"
#include "exec/run.h"

/* The same for grids that were timed together: each is thought to have taken its share. */
static void learn_batch(struct grid_prepared *const *prepared, uint32_t count, uint64_t ns)
{
    uint64_t expected = 0;
    for (uint32_t i = 0; i < count; i++)
        expected += prepared[i]->total * atomic_load_explicit(&prepared[i]->launch.kernel->block_ns,
                                                              memory_order_relaxed);
    if (expected == 0)
        return;
    for (uint32_t i = 0; i < count; i++) {
        struct grid_kernel *k = prepared[i]->launch.kernel;
        if (i > 0 && prepared[i - 1]->launch.kernel == k)
            continue;
        uint64_t old = atomic_load_explicit(&k->block_ns, memory_order_relaxed);
        uint64_t one = (uint64_t)((double)old * (double)ns / (double)expected);
        run_learn(k, one);
    }
}

bool grid_launch_can_batch(const struct grid_launch *launch)
{
    const struct grid_kernel *k = launch->kernel;
    return !launch->cooperative && !k->builtin && !k->can_suspend && !k->recursive &&
           kernel_stack(k) == 0 && launch->cluster[0] == 0;
}

bool grid_prepare(struct grid_prepared *q, const struct grid_launch *launch)
{
    if (!grid_launch_can_batch(launch))
        return false;
    struct grid_run run;
    static struct grid_env env; /* its limits count for recursive kernels only */
    grid_run_init(&run, launch, &env, NULL, 1);
    *q = (struct grid_prepared){.launch = run.launch,
                                .key = layout_key_of(&run),
                                .total = run.total,
                                .local_stride = run.local_stride,
                                .nthreads = run.nthreads,
                                .nwarps = run.nwarps,
                                .shared_bytes = run.shared_bytes};
    return true;
}

void grid_prepared_follow(struct grid_prepared *q, const struct grid_prepared *before)
{
    q->follows = before != NULL && layout_key_same(&before->key, &q->key);
}

/* A batch under way. What changes is in memory, for a fault to find it. */
struct batch {
    struct grid_run *run;
    struct grid_prepared *const *prepared;
    uint32_t *at;
    uint32_t end;
    uint64_t left; /* ns */
    struct outcome o;
    bool open; /* prepared[*at] has begun and is not counted */
};

static inline uint64_t next_gridid(struct grid_worker *w)
{
    return WEIR_LIKELY(w->gridid != w->gridid_limit) ? ++w->gridid : run_next_gridid();
}

/* The context of w->current, which ran a grid of the same layout, is the run's now. */
static inline void take_context(struct grid_run *run, struct grid_worker *w)
{
    struct grid_block *b = w->current;
    b->jit.params = run->launch.params;
    b->jit.gridid = run->gridid;
    b->laid_out = run->gridid;
}

/* What is the grid's own. Everything is handed out, to this thread, which counts as inside. */
static void batch_prepare(struct grid_run *run, const struct grid_prepared *q,
                          struct grid_worker *w)
{
    run->launch = q->launch;
    run->gridid = next_gridid(w);
    run->total = q->total;
    run->local_stride = q->local_stride;
    run->nthreads = q->nthreads;
    run->nwarps = q->nwarps;
    run->shared_bytes = q->shared_bytes;
    atomic_store_explicit(&run->next, q->total, memory_order_relaxed);
    atomic_store_explicit(&run->pending, q->total + 1, memory_order_relaxed);
}

/* The same where the run was the grid before, which was laid out alike and has left nothing; its
 * context is the run's now. */
static inline void batch_go_on(struct grid_run *run, const struct grid_prepared *q,
                               struct grid_worker *w)
{
    run->launch.kernel = q->launch.kernel;
    run->launch.param_bytes = q->launch.param_bytes;
    run->launch.params = q->launch.params;
    run->gridid = next_gridid(w);
    take_context(run, w);
}

/* Whether the grid, whose blocks have been run, has left nothing to be seen to. */
static inline bool is_clean(const struct grid_run *run, const struct outcome *o,
                            const struct grid_worker *w)
{
    uintptr_t left = (uintptr_t)run->tail_next |
                     (uintptr_t)atomic_load_explicit(&run->tails, memory_order_relaxed) |
                     (uintptr_t)atomic_load_explicit(&run->handles, memory_order_relaxed) |
                     (w->cdp.height ^ w->cdp.mark) | o->parked;
    return left == 0 && atomic_load_explicit(&run->pending, memory_order_relaxed) == run->total + 1;
}

/* Runs the blocks of the grid that the run is prepared for. The context of the last one stays in
 * w->current. False: there is no memory for it. `single`: each by a call of its own. */
static inline __attribute__((always_inline)) bool
run_blocks(struct grid_run *run, struct grid_worker *w, struct outcome *o, bool single)
{
    struct rest *rest = w->rest;
    rest->next = 0;
    rest->end = run->total;
    while (rest->next < rest->end) {
        uint64_t i = rest->next++;
        struct grid_block *b = w->current;
        bool fresh = b == NULL;
        if (fresh)
            b = w->current = block_take(w, run);
        if (b == NULL) {
            w->trouble = (struct trouble){.kind = GRID_FAULT_MEMORY};
            return false;
        }
        if (i == 0)
            set_ctaid(&b->jit, 0, 0, 0); /* to divide takes its time */
        else if (fresh)
            set_block_index(run, &b->jit, i);
        else
            set_next_block(run, &b->jit);
        block_begin_alone(run, &b->jit);
        rest->next += row_run(run, w, single ? 0 : rest->end - rest->next, o) - 1;
        run_launched(w);
    }
    return true;
}

static void batch_armed(struct batch *s, struct grid_worker *w)
{
    if (sigsetjmp(*w->escape, 0) != 0) {
        mem_view_again();
        block_fail(w);
        s->o.trouble = true;
        return;
    }
    while (*s->at < s->end && s->prepared[*s->at] != NULL) {
        const struct grid_prepared *q = s->prepared[*s->at];
        uint64_t ns =
            q->total * atomic_load_explicit(&q->launch.kernel->block_ns, memory_order_relaxed);
        if (ns == 0 || ns > s->left)
            break;
        s->left -= ns;
        s->open = true;
        if (w->current != NULL && q->follows) {
            batch_go_on(s->run, q, w);
        } else {
            if (w->current != NULL)
                unit_drop(w, w->current);
            w->current = NULL;
            batch_prepare(s->run, q, w);
        }
        if (!run_blocks(s->run, w, &s->o, false)) {
            block_fail(w);
            s->o.trouble = true;
            return;
        }
        if (!is_clean(s->run, &s->o, w))
            break;
        s->open = false;
        ++*s->at;
    }
    if (w->current != NULL)
        unit_drop(w, w->current);
    w->current = NULL;
}

/* What is put back after a protected stretch. */
struct stretch {
    sigjmp_buf here, *outer;
    uint32_t mark;
    uint64_t begin; /* of some: when it began; 0 */
    unsigned fp;
    struct mem_view view;
    struct rest rest; /* blocks of the grid that is run */
};

static inline void stretch_begin(struct stretch *t, struct grid_worker *w, struct grid_run *run,
                                 struct grid_env *env, struct outcome *o)
{
    enum { TIMED_EACH = 16 }; /* to look at the clock takes as long as a small grid */
    t->outer = w->escape;
    t->mark = w->cdp.mark;
    t->begin = ++w->alone % TIMED_EACH == 0 ? clock_ns() : 0;
    t->fp = fp_enter(w);
    t->rest = (struct rest){.run = run, .outcome = o, .outer = w->rest};
    w->env = env;
    w->escape = &t->here;
    w->cdp.mark = w->cdp.height;
    w->rest = &t->rest;
    t->view =
        mem_view_enter_as(env->device, atomic_load_explicit(&env->peers, memory_order_relaxed));
}

/* The time that it took, if it was looked at, else 0. */
static inline uint64_t stretch_end(struct stretch *t, struct grid_worker *w)
{
    w->rest = t->rest.outer;
    run_launched(w); /* after trouble, too: what was launched is counted */
    mem_view_leave(t->view);
    w->cdp.mark = t->mark;
    w->escape = t->outer;
    fp_leave(w, t->fp);
    return t->begin != 0 ? clock_ns() - t->begin : 0;
}

/* This thread is done with the run, whose blocks were all its own. */
static enum grid_progress leave(struct grid_run *run, const struct outcome *o)
{
    if (o->parked == 0 &&
        atomic_load_explicit(&run->pending, memory_order_acquire) == run->total + 1)
        return GRID_COMPLETE;
    return run_finish(run, run->total - o->parked + 1) ? GRID_COMPLETE : GRID_HANDED;
}

enum grid_progress grid_run_batch(struct grid_run *run, struct grid_worker *w,
                                  struct grid_prepared *const *prepared, uint32_t *at, uint32_t end,
                                  uint64_t budget_ns, struct grid_env *env,
                                  struct grid_parking *parking, uint32_t workers)
{
    struct batch s = {.run = run, .prepared = prepared, .at = at, .end = end, .left = budget_ns};
    struct stretch stretch;
    uint32_t first = *at;
    stretch_begin(&stretch, w, run, env, &s.o);
    run_begin(run, env, parking, workers);
    run->cluster_size = 1;
    batch_armed(&s, w);
    uint64_t ns = stretch_end(&stretch, w);
    if (ns != 0 && !s.open && *at > first)
        learn_batch(prepared + first, *at - first, ns);
    return s.open ? leave(run, &s.o) : GRID_MORE;
}

/* ---- launches of one child ---- */

/* The launches of a child under way. What changes is in memory, for a fault to find it. */
struct several {
    struct grid_run *run;
    const struct cdp_child *child;
    uint32_t *at;           /* begun; others may set it to the end */
    uint32_t count, stride; /* of the child's launches, of their parameters */
    uint32_t ended;         /* over, and nothing left of them */
    struct outcome o;
    bool open; /* the last one begun has not ended */
};

static void several_armed(struct several *s, struct grid_worker *w)
{
    struct grid_run *run = s->run;
    if (sigsetjmp(*w->escape, 0) != 0) {
        mem_view_again();
        block_fail(w);
        s->o.trouble = true;
        return;
    }
    while (*s->at < s->count) {
        run->origin_index = (*s->at)++;
        run->launch.params = s->child->params + (size_t)run->origin_index * s->stride;
        run->gridid = next_gridid(w);
        atomic_store_explicit(&run->next, run->total, memory_order_relaxed);
        atomic_store_explicit(&run->pending, run->total + 1, memory_order_relaxed);
        s->open = true;
        if (w->current != NULL)
            take_context(run, w);
        if (!run_blocks(run, w, &s->o, schedule_on())) {
            block_fail(w);
            s->o.trouble = true;
            return;
        }
        if (!is_clean(run, &s->o, w))
            break;
        s->open = false;
        s->ended++;
    }
    if (w->current != NULL)
        unit_drop(w, w->current);
    w->current = NULL;
}

enum grid_progress grid_run_several(struct grid_run *run, struct grid_worker *w,
                                    const struct cdp_child *child, uint32_t *at, uint32_t *ended)
{
    struct several s = {.run = run,
                        .child = child,
                        .at = at,
                        .count = cdp_child_count(child),
                        .stride = cdp_child_stride(child->launch.param_bytes)};
    struct stretch stretch;
    struct grid_kernel *kernel = run->launch.kernel;
    uint64_t total = run->total;
    stretch_begin(&stretch, w, run, run->env, &s.o);
    several_armed(&s, w);
    uint64_t ns = stretch_end(&stretch, w);
    *ended += s.ended;
    if (ns != 0 && !s.open && s.ended > 0)
        run_learn(kernel, ns / (s.ended * total));
    return s.open ? leave(run, &s.o) : GRID_MORE;
}
