/* run: how a thread runs the blocks of a grid: the steps that all launch paths are made of
 * (run.c: shared or alone; batch.c: many small ones; park.c: blocks that were parked). In a
 * header because for small grids each of them is a good part of the time. */
#ifndef WEIR_EXEC_RUN_H
#define WEIR_EXEC_RUN_H

#include <time.h>

#include "exec/internal.h"

enum {
    BUDGET = 200,         /* polls of a spinning loop before its block is parked, */
    KEPT_BUDGET = 2,      /* and before it is kept, which others can then take (resident.c) */
    RESIDENT_PER_SM = 32, /* parked blocks per worker that a grid may have, as on a GPU; */
    RESIDENT_MIN = 256    /* altogether at least */
};

/* ---- the floating-point environment ---- */

/* Compiled code expects round to nearest and no traps; a host thread that helps may have set
 * something else. */

enum { FP_NORMAL = 0x1f80 };

#if defined(__x86_64__)
#include <xmmintrin.h>
static inline unsigned fp_read(void) { return _mm_getcsr(); }
static inline void fp_write(unsigned value) { _mm_setcsr(value); }
#else
static inline unsigned fp_read(void) { return FP_NORMAL; }
static inline void fp_write(unsigned value) { (void)value; }
#endif

/* What was set before. Children that run between blocks find it done: reading it takes a while. */
static inline unsigned fp_enter(struct grid_worker *w)
{
    if (w->fp_set)
        return 0;
    unsigned old = fp_read();
    if ((old & ~0x3fu) != FP_NORMAL)
        fp_write(FP_NORMAL);
    w->fp_set = true;
    return old | 1u << 31;
}

static inline void fp_leave(struct grid_worker *w, unsigned old)
{
    if (old == 0)
        return;
    w->fp_set = false;
    old &= ~(1u << 31);
    if ((old & ~0x3fu) != FP_NORMAL)
        fp_write(old);
}

/* ---- counting (run.c) ---- */

/* A number that no other run has. */
uint64_t run_next_gridid(void);
/* Learns how long a block takes: a moving average, cheap to read for everyone. */
void run_learn(struct grid_kernel *k, uint64_t one);
/* Takes all blocks that were not handed out, so that nobody runs them; how many. */
uint64_t run_abandon(struct grid_run *run);

/* Parts of the run's blocks, one for each thread (parts.c). Takes up to `most` blocks that nobody
 * has taken: of the part of thread `home`, and then of others. *from: how many parts that thread
 * has found empty; 0 at first. Returns how many it is; 0: there are none. */
uint64_t parts_take(struct grid_run *run, uint32_t home, uint32_t *from, uint64_t most,
                    uint64_t *first);
void parts_release(struct grid_parts *p);

/* Counts blocks as ended, or a thread as gone. True: that was the last; the run is the caller's
 * alone. Otherwise it may be gone when this returns. */
static inline bool run_finish(struct grid_run *run, uint64_t n)
{
    void *workspace = run->workspace;
    if (atomic_fetch_sub_explicit(&run->pending, n, memory_order_acq_rel) != n)
        return false;
    free(workspace);
    if (run->parts != NULL)
        parts_release(run->parts);
    run->parts = NULL;
    return true;
}

/* Counts the calling thread as gone, with blocks that have ended. True as above. */
static inline bool run_leave(struct grid_run *run, uint64_t n)
{
    if (run->parking->closed != NULL && !grid_run_open(run))
        run->parking->closed(run);
    return run_finish(run, n);
}

/* ---- a run ---- */

/* What of a run is the same for all grids but cooperative ones. */
static inline void run_begin(struct grid_run *run, struct grid_env *env,
                             struct grid_parking *parking, uint32_t workers)
{
    run->env = env;
    run->parking = parking;
    run->workers = workers > 0 ? workers : 1;
    run->resident_max = (uint64_t)RESIDENT_PER_SM * run->workers;
    if (run->resident_max < RESIDENT_MIN)
        run->resident_max = RESIDENT_MIN;
    run->workspace = NULL;
    run->parts = NULL;
    run->depth = 0;
    run->origin = NULL;
    run->origin_index = 0;
    run->tail_next = NULL;
    atomic_store_explicit(&run->tails, NULL, memory_order_relaxed);
    atomic_store_explicit(&run->handles, NULL, memory_order_relaxed);
    atomic_store_explicit(&run->touched, NULL, memory_order_relaxed);
    atomic_store_explicit(&run->freed, NULL, memory_order_relaxed);
    atomic_store_explicit(&run->hazards, NULL, memory_order_relaxed);
    atomic_store_explicit(&run->found, NULL, memory_order_relaxed);
    atomic_store_explicit(&run->parked, 0, memory_order_relaxed);
}

/* ---- one block ---- */

/* A cluster of one block has the block's index. */
static inline void set_ctaid(struct jit_block *j, uint32_t x, uint32_t y, uint32_t z)
{
    j->ctaid[0] = j->clusterid[0] = x;
    j->ctaid[1] = j->clusterid[1] = y;
    j->ctaid[2] = j->clusterid[2] = z;
}

/* Blocks of a column of the grid read the same columns of a matrix, blocks of a row the same rows.
 * Row by row, all columns are read again for each row; by panels, those of a panel stay in the
 * cache meanwhile. */
static inline bool by_panels(const struct grid_run *run)
{
    const uint32_t *g = run->launch.grid, panel = run->launch.kernel->panel;
    return panel != 0 && panel < g[0] && g[1] > 1;
}

static inline void set_block_index(struct grid_run *run, struct jit_block *j, uint64_t index)
{
    const uint32_t *g = run->launch.grid;
    if (by_panels(run)) {
        uint64_t panel = run->launch.kernel->panel, plane = (uint64_t)g[0] * g[1];
        uint64_t at = index % plane, x = at / (panel * g[1]) * panel;
        uint64_t columns = g[0] - x < panel ? g[0] - x : panel;
        at -= x * g[1];
        set_ctaid(j, (uint32_t)(x + at % columns), (uint32_t)(at / columns),
                  (uint32_t)(index / plane));
    } else if (index < g[0]) { /* divisions are a good part of what a small grid costs */
        set_ctaid(j, (uint32_t)index, 0, 0);
    } else {
        set_ctaid(j, (uint32_t)(index % g[0]), (uint32_t)(index / g[0] % g[1]),
                  (uint32_t)(index / g[0] / g[1]));
    }
}

static inline void set_next_block(struct grid_run *run, struct jit_block *j)
{
    const uint32_t *g = run->launch.grid;
    uint32_t x = j->ctaid[0] + 1, y = j->ctaid[1], z = j->ctaid[2];
    bool panels = by_panels(run);
    if (x == g[0] || (panels && x % run->launch.kernel->panel == 0)) {
        uint32_t next = x == g[0] ? 0 : x; /* the panel that follows */
        y++;
        if (panels && y < g[1])
            next = (x - 1) / run->launch.kernel->panel * run->launch.kernel->panel;
        if (y == g[1]) {
            y = 0;
            z += next == 0 ? 1 : 0;
        }
        x = next;
    }
    set_ctaid(j, x, y, z);
}

/* A block in no cluster is about to run. */
static inline void block_begin_alone(const struct grid_run *run, struct jit_block *j)
{
    j->state = 0;
    j->warp = 0;
    j->waiting = 0;
    j->more = 0;
    /* both ends by themselves: then no store goes across a line of the cache, which takes its time
     */
    volatile uint64_t *first = &j->scratch[0], *last = &j->scratch[WEIR_COUNT(j->scratch) - 1];
    *first = 0;
    *last = 0;
    memset(&j->scratch[1], 0, sizeof j->scratch - 2 * sizeof j->scratch[0]);
    if (run->nwarps == 1)
        j->pc[0] = 0;
    else
        memset(j->pc, 0, run->nwarps * sizeof *j->pc);
    cluster_begin((struct grid_block *)j);
}

static inline void block_begin(const struct grid_run *run, struct jit_block *j)
{
    block_begin_alone(run, j);
    for (int d = 0; d < 3 && run->cluster_size > 1; d++) {
        uint32_t c = j->cluster_nctaid[d];
        j->clusterid[d] = c > 1 ? j->ctaid[d] / c : j->ctaid[d];
        j->cluster_ctaid[d] = c > 1 ? j->ctaid[d] % c : 0;
    }
}

/* The blocks of a cluster are about to run. */
static inline void cluster_start(struct grid_run *run, struct grid_block *lead, uint64_t index)
{
    cluster_set_index(run, lead, index);
    for (uint32_t r = 0; r < lead->nmembers; r++)
        block_begin(run, &lead->members[r]->jit);
}

uint64_t unit_position(const struct grid_block *lead); /* of a cluster, or a block alone */
/* Parks w->current; the worker goes on without it. */
void block_park(struct grid_worker *w);
/* The block that w->current is does not go on: its context is free again. */
void block_give_up(struct grid_worker *w);
/* The block that w->current is fails. */
void block_fail(struct grid_worker *w);

/* Runs what w->current is until it ends, waits, or leaves by fault_leave: enum jit_status. */
static inline uint32_t block_go(struct grid_worker *w)
{
    struct grid_block *b = w->current;
    b->jit.budget = WEIR_LIKELY(w->residents == NULL) ? BUDGET : KEPT_BUDGET;
    b->jit.abreast = WEIR_UNLIKELY(w->residents != NULL) && resident_keeps(w, b->run);
    b->jit.gave_way = 0;
    b->jit.smid = w->smid;
    b->worker = w;
    uint32_t status;
    do
        status = atomic_load_explicit(&b->run->launch.kernel->run, memory_order_acquire)(&b->jit);
    while (WEIR_UNLIKELY(status == JIT_OSR_EXIT));
    return status;
}

/* The blocks are over: their launches need them no more. */
static inline void release_cdp_blocks(struct grid_worker *w, struct grid_block *lead)
{
    for (uint32_t r = 0; r < lead->nmembers; r++)
        if (WEIR_UNLIKELY(lead->members[r]->cdp != NULL))
            cdp_block_over(w, lead->members[r]);
}

/* What came of handing out some blocks. */
struct outcome {
    uint64_t parked; /* blocks that go on later; all others have ended, or never will run */
    bool trouble;
    uint64_t before; /* position of a resumed block, to see whether it moved */
    bool moved;
};

/* Runs blocks of the grid one after the other, from number `first` on; which of them have ended is
 * in the outcome. */
void run_chunk(struct grid_run *run, struct grid_worker *w, uint64_t first, uint64_t count,
               struct outcome *o);
/* Lets w->current go on. */
void block_resume(struct grid_worker *w, struct outcome *o);

/* The run ends, since there is no memory for w->current, or for a block where that is NULL. */
void run_no_memory(struct grid_worker *w, struct outcome *o);

/* w->current has come back without having ended. */
static inline void block_waits(struct grid_worker *w, struct outcome *o)
{
    o->parked++;
    o->moved = unit_position(w->current) != o->before || w->current->jit.gave_way != 0;
    block_park(w);
}

/* Runs w->current under protection. It is NULL afterwards if the block was parked. */
static inline void block_run(struct grid_worker *w, struct outcome *o)
{
    w->armed = 1;
    atomic_signal_fence(memory_order_seq_cst);
    struct grid_block *b = w->current;
    uint32_t status = b->nmembers > 1 ? cluster_go(w, b) : block_go(w);
    atomic_signal_fence(memory_order_seq_cst);
    w->armed = 0;
    if (status != JIT_DONE)
        block_waits(w, o);
    else
        release_cdp_blocks(w, w->current);
}

/* The same for a block in no cluster. */
static inline void block_run_alone(struct grid_worker *w, struct outcome *o)
{
    w->armed = 1;
    atomic_signal_fence(memory_order_seq_cst);
    uint32_t status = block_go(w);
    atomic_signal_fence(memory_order_seq_cst);
    w->armed = 0;
    if (WEIR_UNLIKELY(status != JIT_DONE))
        block_waits(w, o);
    else if (WEIR_UNLIKELY(w->current->cdp != NULL))
        cdp_block_over(w, w->current);
}

/* Blocks after the first that one call may run. What streams goes through a row of threads of all
 * of them: the longer, the better for the CPU's prefetching. What collects should end rarely. */
enum { ROW_BLOCKS = 31, STREAM_BLOCKS = 127, COLLECTED_BLOCKS = 511 };

/* How many of `left` blocks more may be run in the call that runs this one: they follow it in x. */
static inline uint32_t row_more(const struct grid_run *run, const struct jit_block *j,
                                uint64_t left)
{
    uint32_t x = run->launch.grid[0] - 1 - j->ctaid[0];
    const struct grid_kernel *k = run->launch.kernel;
    uint32_t most = k->collects ? COLLECTED_BLOCKS : k->streams ? STREAM_BLOCKS : ROW_BLOCKS;
    x = x < most ? x : most;
    return left < x ? (uint32_t)left : x;
}

/* Runs w->current, in no cluster, and up to `left` blocks more in the same call if the code does
 * that. Returns how many it ran; the context is at the last one. */
static inline uint64_t row_run(struct grid_run *run, struct grid_worker *w, uint64_t left,
                               struct outcome *o)
{
    struct jit_block *j = &w->current->jit;
    uint32_t x = j->ctaid[0], more = j->more = row_more(run, j, left);
    block_run_alone(w, o);
    if (more == 0 || w->current == NULL || j->more != 0)
        return 1;
    j->ctaid[0] = j->clusterid[0] = x + more;
    return 1 + (uint64_t)more;
}

static inline void unit_drop(struct grid_worker *w, struct grid_block *b)
{
    if (b->leader != NULL)
        cluster_drop(w, b);
    else
        block_drop(w, b);
}

/* Runs what blocks have launched on this thread. */
static inline void run_launched(struct grid_worker *w)
{
    if (WEIR_UNLIKELY(w->cdp.height > w->cdp.mark))
        cdp_drain(w);
}

/* Ours see all memory, the program's what their device may see. */
static inline struct mem_view see(const struct grid_run *run)
{
    if (run->launch.kernel->builtin)
        return mem_view_enter();
    return mem_view_enter_as(run->env->device,
                             atomic_load_explicit(&run->env->peers, memory_order_relaxed));
}

#endif
