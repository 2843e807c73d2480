/* Running the blocks of a grid: handing out, parking, resuming, completing. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "grid/internal.h"

enum {
    CHUNK_NS = 20000,    /* how long one handed-out run of blocks should take */
    BUDGET = 200,        /* polls of a spinning loop before its block is parked */
    PROGRESS_NS = 20000, /* a resumed block that took longer did more than to look again */
    RESIDENT_PER_SM = 32 /* parked blocks per worker that a grid may have, as on a GPU */
};

static _Atomic uint64_t gridids;

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- the floating-point environment -----------------------------------------------------------
 * Compiled code expects round to nearest and no traps; a host thread that helps may have set
 * something else. */

enum { FP_NORMAL = 0x1f80 };

#if defined(__x86_64__)
#include <xmmintrin.h>
static unsigned fp_read(void) { return _mm_getcsr(); }
static void fp_write(unsigned value) { _mm_setcsr(value); }
#else
static unsigned fp_read(void) { return FP_NORMAL; }
static void fp_write(unsigned value) { (void)value; }
#endif

/* What was set before. Children that run between blocks find it done: reading it takes a while. */
static unsigned fp_enter(struct grid_worker *w)
{
    if (w->fp_set)
        return 0;
    unsigned old = fp_read();
    if ((old & ~0x3fu) != FP_NORMAL)
        fp_write(FP_NORMAL);
    w->fp_set = true;
    return old | 1u << 31;
}
static void fp_leave(struct grid_worker *w, unsigned old)
{
    if (old == 0)
        return;
    w->fp_set = false;
    old &= ~(1u << 31);
    if ((old & ~0x3fu) != FP_NORMAL)
        fp_write(old);
}

/* ---- parking ----------------------------------------------------------------------------------
 */

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

/* ---- a run ------------------------------------------------------------------------------------
 */

/* Numbers are handed to threads in lots, so that they do not meet at the counter. */
static uint64_t next_gridid(void)
{
    enum { LOT = 256 };
    struct grid_worker *w = worker_of_thread();
    if (w == NULL)
        return atomic_fetch_add_explicit(&gridids, 1, memory_order_relaxed) + 1;
    if (w->gridid == w->gridid_limit) {
        w->gridid = atomic_fetch_add_explicit(&gridids, LOT, memory_order_relaxed);
        w->gridid_limit = w->gridid + LOT;
    }
    return ++w->gridid;
}

bool grid_run_init(struct grid_run *run, const struct grid_launch *launch, struct grid_env *env,
                   struct grid_parking *parking, uint32_t workers)
{
    const struct grid_kernel *k = launch->kernel;
    if (launch != &run->launch)
        run->launch = *launch;
    run->env = env;
    run->parking = parking;
    run->gridid = next_gridid();
    run->total = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
    run->cluster_size = 1;
    for (int d = 0; d < 3; d++)
        run->cluster_size *= launch->cluster[d] > 0 ? launch->cluster[d] : 1;
    if (run->cluster_size > 1)
        run->total /= run->cluster_size;
    run->nthreads = launch->block[0] * launch->block[1] * launch->block[2];
    run->nwarps = (run->nthreads + JIT_WARP - 1) / JIT_WARP;
    run->shared_bytes = (uint32_t)k->static_shared + launch->dynamic_shared;
    run->local_stride =
        (k->local_bytes + (k->recursive ? env->stack_bytes : 0) + 15) & ~(uint64_t)15;
    /* Windows a page apart would fight for the same cache sets. */
    if (run->local_stride > 0 && run->local_stride % 4096 == 0)
        run->local_stride += 64;
    run->workers = workers > 0 ? workers : 1;
    run->resident_max = launch->cooperative ? run->total : (uint64_t)RESIDENT_PER_SM * run->workers;
    if (!launch->cooperative && run->resident_max < 256)
        run->resident_max = 256;
    run->depth = 0;
    run->origin = NULL;
    run->tail_next = NULL;
    atomic_store_explicit(&run->tails, NULL, memory_order_relaxed);
    atomic_store_explicit(&run->handles, NULL, memory_order_relaxed);
    run->workspace = NULL;
    if (launch->cooperative && (run->workspace = calloc(1, GRID_WORKSPACE_BYTES)) == NULL)
        return false;
    atomic_store_explicit(&run->next, 0, memory_order_relaxed);
    atomic_store_explicit(&run->pending, run->total, memory_order_relaxed);
    atomic_store_explicit(&run->parked, 0, memory_order_relaxed);
    return true;
}

bool grid_run_exhausted(struct grid_run *run)
{
    return atomic_load_explicit(&run->next, memory_order_relaxed) >= run->total;
}

bool grid_run_open(struct grid_run *run)
{
    return !grid_run_exhausted(run) &&
           atomic_load_explicit(&run->parked, memory_order_relaxed) < run->resident_max;
}

uint64_t grid_run_estimate(struct grid_run *run)
{
    uint64_t next = atomic_load_explicit(&run->next, memory_order_relaxed);
    uint64_t block_ns = atomic_load_explicit(&run->launch.kernel->block_ns, memory_order_relaxed);
    return next < run->total ? (run->total - next) * block_ns : 0;
}

bool grid_run_enter(struct grid_run *run)
{
    uint64_t n = atomic_load_explicit(&run->pending, memory_order_relaxed);
    while (n != 0)
        if (atomic_compare_exchange_weak_explicit(&run->pending, &n, n + 1, memory_order_acquire,
                                                  memory_order_relaxed))
            return true;
    return false;
}

/* Counts blocks as ended, or a thread as gone. True: that was the last; the run is the caller's
 * alone. Otherwise it may be gone when this returns. */
static bool finish(struct grid_run *run, uint64_t n)
{
    void *workspace = run->workspace;
    if (atomic_fetch_sub_explicit(&run->pending, n, memory_order_acq_rel) != n)
        return false;
    free(workspace);
    return true;
}

void grid_run_hold(struct grid_run *run, uint64_t n)
{
    atomic_fetch_add_explicit(&run->pending, n, memory_order_relaxed);
}

bool grid_run_leave(struct grid_run *run, uint64_t n) { return finish(run, n); }

/* Takes all blocks that were not handed out, so that nobody runs them. */
static uint64_t abandon(struct grid_run *run)
{
    uint64_t next = atomic_exchange(&run->next, run->total);
    return next < run->total ? run->total - next : 0;
}

/* How many blocks to hand out at once: as many as take CHUNK_NS, fewer towards the end so that all
 * workers finish together. */
static uint64_t chunk_size(struct grid_run *run)
{
    uint64_t block_ns = atomic_load_explicit(&run->launch.kernel->block_ns, memory_order_relaxed);
    uint64_t next = atomic_load_explicit(&run->next, memory_order_relaxed);
    uint64_t left = next < run->total ? run->total - next : 0;
    if (block_ns == 0 || left == 0)
        return 1;
    uint64_t n = CHUNK_NS / block_ns + 1, fair = left / (2 * (uint64_t)run->workers) + 1;
    return n < fair ? n : fair;
}

/* Learns how long a block takes: a moving average, cheap to read for everyone. */
static void learn_block(struct grid_kernel *k, uint64_t one)
{
    uint64_t old = atomic_load_explicit(&k->block_ns, memory_order_relaxed);
    uint64_t mean = old == 0 ? one : (old * 7 + one) / 8;
    mean = mean == 0 ? 1 : mean > UINT32_MAX ? UINT32_MAX : mean;
    if (mean > old + old / 16 || mean < old - old / 16)
        atomic_store_explicit(&k->block_ns, (uint32_t)mean, memory_order_relaxed);
}

static void learn(struct grid_run *run, uint64_t ns, uint64_t blocks)
{
    learn_block(run->launch.kernel, blocks > 0 ? ns / blocks : ns);
}

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
        learn_block(k, one);
    }
}

/* A cluster of one block has the block's place. */
static void set_place(struct jit_block *j, uint32_t x, uint32_t y, uint32_t z)
{
    j->ctaid[0] = j->clusterid[0] = x;
    j->ctaid[1] = j->clusterid[1] = y;
    j->ctaid[2] = j->clusterid[2] = z;
}

static void place(struct grid_run *run, struct jit_block *j, uint64_t index)
{
    const uint32_t *g = run->launch.grid;
    if (index < g[0]) /* divisions are a good part of what a small grid costs */
        set_place(j, (uint32_t)index, 0, 0);
    else
        set_place(j, (uint32_t)(index % g[0]), (uint32_t)(index / g[0] % g[1]),
                  (uint32_t)(index / g[0] / g[1]));
}

static void place_next(struct grid_run *run, struct jit_block *j)
{
    const uint32_t *g = run->launch.grid;
    uint32_t x = j->ctaid[0] + 1, y = j->ctaid[1], z = j->ctaid[2];
    if (x == g[0]) {
        x = 0;
        y++;
    }
    if (y == g[1]) {
        y = 0;
        z++;
    }
    set_place(j, x, y, z);
}

static void block_begin(struct grid_run *run, struct jit_block *j)
{
    j->state = 0;
    j->warp = 0;
    j->barrier_count = 0;
    j->waiting = 0;
    /* the ends apart: then no store goes across a line of the cache, which takes its time */
    volatile uint64_t *first = &j->scratch[0], *last = &j->scratch[WEIR_COUNT(j->scratch) - 1];
    *first = 0;
    *last = 0;
    memset(&j->scratch[1], 0, sizeof j->scratch - 2 * sizeof j->scratch[0]);
    if (run->nwarps == 1)
        j->pc[0] = 0;
    else
        memset(j->pc, 0, run->nwarps * sizeof *j->pc);
    cluster_begin(j->grid);
    if (run->cluster_size == 1) {
        memset(j->cluster_ctaid, 0, sizeof j->cluster_ctaid);
        return;
    }
    for (int d = 0; d < 3; d++) {
        uint32_t c = j->cluster_nctaid[d];
        j->clusterid[d] = c > 1 ? j->ctaid[d] / c : j->ctaid[d];
        j->cluster_ctaid[d] = c > 1 ? j->ctaid[d] % c : 0;
    }
}

uint32_t block_go(struct grid_worker *w)
{
    struct grid_block *b = w->current;
    b->jit.budget = BUDGET;
    b->jit.smid = w->smid;
    b->worker = w;
    return b->run->launch.kernel->run(&b->jit);
}

/* Parks w->current; the worker goes on without it. */
static void block_park(struct grid_worker *w)
{
    struct grid_block *b = w->current;
    w->current = NULL;
    b->worker = NULL;
    atomic_fetch_add_explicit(&b->run->parked, 1, memory_order_relaxed);
    if (b->jit.waiting != 0 && b->nmembers == 1)
        nest_park(w, b);
    else
        parking_add(b->run->parking, b);
}

uint64_t block_position(const struct grid_block *b)
{
    const struct jit_block *j = &b->jit;
    uint64_t h = (((uint64_t)j->state << 32) ^ j->barrier_count) + b->events;
    for (uint32_t i = 0; i < j->nwarps; i++)
        h = h * 0x9e3779b97f4a7c15u + j->pc[i];
    return h;
}

/* The same for a cluster, or a block alone. */
static uint64_t position(const struct grid_block *lead)
{
    uint64_t h = 0;
    for (uint32_t r = 0; r < lead->nmembers; r++)
        h = h * 31 + block_position(lead->members[r]);
    return h;
}

/* The blocks are over: their launches need them no more. */
static inline void release_nests(struct grid_worker *w, struct grid_block *lead)
{
    for (uint32_t r = 0; r < lead->nmembers; r++)
        if (WEIR_UNLIKELY(lead->members[r]->nest != NULL))
            nest_block_over(w, lead->members[r]);
}

/* What came of handing out some blocks. */
struct outcome {
    uint64_t parked; /* blocks that go on later; all others have ended, or never will run */
    bool trouble;
    uint64_t before; /* position of a resumed block, to see whether it moved */
    bool moved;
};

/* Runs w->current under protection. It is NULL afterwards if the block was parked. */
static inline void block_run(struct grid_worker *w, struct outcome *o)
{
    w->armed = 1;
    atomic_signal_fence(memory_order_seq_cst);
    struct grid_block *b = w->current;
    uint32_t status = b->nmembers > 1 ? cluster_go(w, b) : block_go(w);
    atomic_signal_fence(memory_order_seq_cst);
    w->armed = 0;
    if (status != JIT_DONE) {
        o->parked++;
        o->moved = position(w->current) != o->before;
        block_park(w);
    } else {
        release_nests(w, w->current);
    }
}

static void unit_drop(struct grid_worker *w, struct grid_block *b)
{
    if (b->leader != NULL)
        cluster_drop(w, b);
    else
        block_drop(w, b);
}

/* Runs what blocks have launched on this thread. */
static inline void run_launched(struct grid_worker *w)
{
    if (WEIR_UNLIKELY(w->nesting.height > w->nesting.mark))
        nest_drain(w);
}

/* The block that w->current is does not go on: its context is free again. */
static void block_give_up(struct grid_worker *w)
{
    if (w->current == NULL)
        return;
    release_nests(w, w->current);
    unit_drop(w, w->current);
    w->current = NULL;
}

/* The block that w->current is fails. */
static void block_fail(struct grid_worker *w)
{
    fault_record(w);
    block_give_up(w);
}

/* Runs `count` blocks from `first` on. */
static void run_chunk_armed(struct grid_run *run, struct grid_worker *w, uint64_t first,
                            uint64_t count, struct outcome *o)
{
    if (sigsetjmp(*w->escape, 0) != 0) {
        mem_view_again();
        block_fail(w);
        o->trouble = true;
        return;
    }
    for (uint64_t i = 0; i < count; i++) {
        bool fresh = w->current == NULL;
        if (fresh)
            w->current = cluster_used(run) ? cluster_take(w, run) : block_take(w, run);
        if (w->current == NULL) {
            w->trouble = (struct trouble){.kind = GRID_FAULT_MEMORY};
            block_fail(w);
            o->trouble = true;
            return;
        }
        struct grid_block *b = w->current;
        if (cluster_used(run))
            cluster_place(run, b, first + i);
        else if (fresh)
            place(run, &b->jit, first + i);
        else
            place_next(run, &b->jit);
        for (uint32_t r = 0; r < b->nmembers; r++)
            block_begin(run, &b->members[r]->jit);
        block_run(w, o);
        run_launched(w);
    }
    if (w->current != NULL)
        unit_drop(w, w->current);
    w->current = NULL;
}

static void run_chunk(struct grid_run *run, struct grid_worker *w, uint64_t first, uint64_t count,
                      struct outcome *o)
{
    sigjmp_buf here, *outer = w->escape;
    uint32_t mark = w->nesting.mark;
    w->escape = &here;
    w->nesting.mark = w->nesting.height;
    run_chunk_armed(run, w, first, count, o);
    run_launched(w); /* after trouble, too: what was launched is counted */
    w->nesting.mark = mark;
    w->escape = outer;
}

/* Ours see all memory, the program's what their device may see. */
static struct mem_view see(const struct grid_run *run)
{
    if (run->launch.kernel->builtin)
        return mem_view_enter();
    return mem_view_enter_as(run->env->device,
                             atomic_load_explicit(&run->env->peers, memory_order_relaxed));
}

enum grid_progress grid_run_alone(struct grid_run *run, struct grid_worker *w)
{
    enum { TIMED_EACH = 16 }; /* looking at the clock costs as much as a small grid */
    struct outcome o = {0};
    uint64_t total = run->total, begin = 0;
    if (atomic_load_explicit(&run->launch.kernel->block_ns, memory_order_relaxed) == 0 ||
        ++w->alone % TIMED_EACH == 0)
        begin = now_ns();
    unsigned fp = fp_enter(w);
    w->env = run->env;
    atomic_store_explicit(&run->pending, total + 1, memory_order_relaxed);
    atomic_store_explicit(&run->next, total, memory_order_relaxed);
    struct mem_view before = see(run);
    run_chunk(run, w, 0, total, &o);
    mem_view_leave(before);
    fp_leave(w, fp);
    if (begin != 0 && !o.trouble && o.parked == 0)
        learn(run, now_ns() - begin, total);
    if (o.parked == 0 && atomic_load_explicit(&run->pending, memory_order_acquire) == total + 1) {
        free(run->workspace); /* nobody else knows of the run */
        return GRID_COMPLETE;
    }
    return finish(run, total - o.parked + 1) ? GRID_COMPLETE : GRID_HANDED;
}

/* ---- grids one after the other ------------------------------------------------------------------
 */

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
    run->gridid = WEIR_LIKELY(w->gridid != w->gridid_limit) ? ++w->gridid : next_gridid();
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
    for (uint64_t i = 0; i < s->run->total; i++) {
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
        block_run(w, &s->o);
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
    return finish(run, run->total - s.o.parked + 1) ? GRID_COMPLETE : GRID_HANDED;
}

enum grid_progress grid_run_blocks(struct grid_run *run, struct grid_worker *w, uint64_t until)
{
    unsigned fp = fp_enter(w);
    struct mem_view before = see(run);
    uint64_t begin = now_ns(), ended = 0;
    w->env = run->env;
    while (grid_run_open(run)) {
        if (grid_faulted(run->env) != GRID_FAULT_NONE) {
            ended += abandon(run);
            break;
        }
        uint64_t count = chunk_size(run);
        uint64_t first = atomic_fetch_add_explicit(&run->next, count, memory_order_relaxed);
        if (first >= run->total)
            break;
        count = run->total - first < count ? run->total - first : count;
        struct outcome o = {0};
        run_chunk(run, w, first, count, &o);
        ended += count - o.parked + (o.trouble ? abandon(run) : 0);
        uint64_t end = now_ns();
        if (!o.trouble && o.parked == 0)
            learn(run, end - begin, count);
        begin = end;
        if (end >= until)
            break;
    }
    mem_view_leave(before);
    fp_leave(w, fp);
    bool more = !grid_run_exhausted(run);
    return finish(run, ended + 1) ? GRID_COMPLETE : more ? GRID_MORE : GRID_HANDED;
}

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
    block_run(w, o);
    if (w->current != NULL)
        unit_drop(w, w->current);
    w->current = NULL;
}

static void resume_one(struct grid_worker *w, struct outcome *o)
{
    sigjmp_buf here, *outer = w->escape;
    uint32_t mark = w->nesting.mark;
    w->escape = &here;
    w->nesting.mark = w->nesting.height;
    resume_armed(w, o);
    run_launched(w);
    w->nesting.mark = mark;
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
        uint64_t begin = now_ns();
        o.before = position(b);
        resume_one(w, &o);
        *progress = o.moved || now_ns() - begin > PROGRESS_NS;
        mem_view_leave(before);
        fp_leave(w, fp);
    }
    bool ended = o.parked == 0;
    *progress = *progress || ended;
    uint64_t lost = o.trouble || grid_faulted(run->env) != GRID_FAULT_NONE ? abandon(run) : 0;
    return finish(run, 1 + (ended ? 1 : 0) + lost);
}

bool grid_resume(struct grid_parking *parking, struct grid_worker *w, bool *progress,
                 struct grid_run **complete)
{
    *complete = NULL;
    struct grid_block *b = parking_take(parking);
    if (b == NULL)
        return false;
    struct grid_run *run = b->run;
    if (resume(b, w, progress))
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
