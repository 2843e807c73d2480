/* run: the blocks of a grid: preparing, handing out, completing. */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/clock.h"
#include "base/schedule.h"
#include "base/stack.h"
#include "exec/run.h"

enum {
    CHUNK_NS = 20000,      /* how long one handed-out run of blocks should take */
    COLLECTED_NS = 100000, /* the same where each run has work at its end: waits for other cores */
    COLLECTED_LEAST = 16, /* blocks of such runs at the end, if they take no longer than CHUNK_NS */
    ABREAST_BLOCKS = 32,  /* in one run, where its blocks go through memory side by side, */
    ABREAST_NS = 1000000, /* unless that takes longer */
    DEBUG_FRAMES = 3 /* clang's frames of code for debuggers take up to twice the bytes of nvcc's,
                        and programs set the limit by nvcc's */
};

static _Atomic uint64_t gridids;

/* Numbers are handed to threads in lots, so that they do not meet at the counter. */
uint64_t run_next_gridid(void)
{
    enum { LOT = 256 };
    struct grid_worker *w = schedule_on() ? NULL : worker_of_thread();
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
    if (k->joined > 1) { /* never where it was there already: device code launches others */
        run->launch.grid[0] /= k->joined;
        run->launch.block[0] *= k->joined;
    }
    launch = &run->launch;
    run_begin(run, env, parking, workers);
    run->gridid = run_next_gridid();
    run->total = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
    run->cluster_size = 1;
    for (int d = 0; d < 3; d++)
        run->cluster_size *= launch->cluster[d] > 0 ? launch->cluster[d] : 1;
    if (run->cluster_size > 1)
        run->total /= run->cluster_size;
    run->nthreads = launch->block[0] * launch->block[1] * launch->block[2];
    run->nwarps = (run->nthreads + JIT_WARP - 1) / JIT_WARP;
    run->shared_bytes = (uint32_t)k->static_shared + launch->dynamic_shared;
    uint64_t align = k->local_align > 16 ? k->local_align : 16;
    uint64_t stack = k->debug_frames ? DEBUG_FRAMES * env->stack_bytes : env->stack_bytes;
    run->local_stride = (k->local_bytes + (k->recursive ? stack : 0) + align - 1) & ~(align - 1);
    /* Windows at distances of a page would fight for the same cache sets. */
    if (run->local_stride > 0 && run->local_stride % WEIR_PAGE == 0 && align < WEIR_PAGE)
        run->local_stride += align > 64 ? align : 64;
    atomic_store_explicit(&run->next, 0, memory_order_relaxed);
    atomic_store_explicit(&run->pending, run->total, memory_order_relaxed);
    if (WEIR_UNLIKELY(launch->cooperative)) {
        run->resident_max = run->total;
        run->workspace = resident_workspace(run);
        return run->workspace != NULL;
    }
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

void grid_run_hold(struct grid_run *run, uint64_t n)
{
    atomic_fetch_add_explicit(&run->pending, n, memory_order_relaxed);
}

bool grid_run_leave(struct grid_run *run, uint64_t n) { return run_finish(run, n); }
/* Takes all blocks that were not handed out, so that nobody runs them. */
uint64_t run_abandon(struct grid_run *run)
{
    uint64_t next = atomic_exchange(&run->next, run->total);
    return next < run->total ? run->total - next : 0;
}

/* Whole rows of the grid, where that is about as many and code goes through the blocks of a row in
 * one call: it reads memory in one piece then. */
static uint64_t whole_rows(const struct grid_run *run, uint64_t n, uint64_t most)
{
    uint64_t row = run->launch.grid[0];
    bool serves = run->launch.kernel->streams && row < run->total && !cluster_used(run);
    if (!serves || n <= row / 2 || row > most)
        return n;
    return n < row ? row : n / row * row;
}

static uint64_t least_of(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* The same where each run has work at its end, for which cores wait for each other: what is learnt
 * of a block has a part of that, and must not make runs shorter and that part larger. */
static uint64_t collected_chunk(uint64_t block_ns, uint64_t fair, uint64_t left)
{
    uint64_t n = least_of(COLLECTED_NS / block_ns + 1, fair);
    uint64_t least = least_of(CHUNK_NS / block_ns + 1, COLLECTED_LEAST);
    return least_of(n > least ? n : least, left);
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
    uint64_t fair = left / (2 * (uint64_t)run->workers) + 1;
    if (run->launch.kernel->collects)
        return collected_chunk(block_ns, fair, left);
    uint64_t n = CHUNK_NS / block_ns + 1;
    if (run->launch.kernel->abreast && n < ABREAST_BLOCKS)
        n = least_of(ABREAST_NS / block_ns + 1, ABREAST_BLOCKS);
    return n < fair ? whole_rows(run, n, fair) : fair;
}

/* Learns how long a block takes: a moving average, cheap to read for everyone. What is much longer
 * counts as eight times as long, since a thread may have been interrupted for longer than a
 * thousand blocks take; what is shorter counts half, since the first blocks of a process find no
 * page. */
void run_learn(struct grid_kernel *k, uint64_t one)
{
    uint64_t old = atomic_load_explicit(&k->block_ns, memory_order_relaxed);
    uint64_t most = 8 * old, mean = one;
    if (old != 0)
        mean = one < old ? (old + one) / 2 : (old * 7 + (one < most ? one : most)) / 8;
    mean = mean == 0 ? 1 : mean > UINT32_MAX ? UINT32_MAX : mean;
    if (mean > old + old / 16 || mean < old - old / 16)
        atomic_store_explicit(&k->block_ns, (uint32_t)mean, memory_order_relaxed);
}

static void learn(struct grid_run *run, uint64_t ns, uint64_t blocks)
{
    run_learn(run->launch.kernel, blocks > 0 ? ns / blocks : ns);
}

void run_no_memory(struct grid_worker *w, struct outcome *o)
{
    w->trouble = (struct trouble){.kind = GRID_FAULT_MEMORY};
    block_fail(w);
    o->trouble = true;
}

/* Runs the blocks of the rest. */
static void run_chunk_armed(struct grid_run *run, struct grid_worker *w, struct rest *rest,
                            struct outcome *o)
{
    if (sigsetjmp(*w->escape, 0) != 0) {
        mem_view_again();
        block_fail(w);
        o->trouble = true;
        return;
    }
    while (rest->next < rest->end) {
        uint64_t at = rest->next++;
        bool fresh = w->current == NULL;
        if (fresh)
            w->current = cluster_used(run) ? cluster_take(w, run) : block_take(w, run);
        if (w->current == NULL) {
            run_no_memory(w, o);
            return;
        }
        struct grid_block *b = w->current;
        if (WEIR_UNLIKELY(cluster_used(run))) {
            cluster_start(run, b, at);
            block_run(w, o);
        } else {
            if (fresh)
                set_block_index(run, &b->jit, at);
            else
                set_next_block(run, &b->jit);
            block_begin_alone(run, &b->jit);
            rest->next += row_run(run, w, rest->end - rest->next, o) - 1;
        }
        run_launched(w);
    }
    if (w->current != NULL)
        unit_drop(w, w->current);
    w->current = NULL;
}

/* A chunk, for a stack that holds the frames of large code, which take tens of megabytes where it
 * is not optimized. */
struct chunk {
    struct grid_run *run;
    struct grid_worker *w;
    struct rest *rest;
    struct outcome *o;
};

static void run_chunk_there(void *arg)
{
    struct chunk *c = arg;
    run_chunk_armed(c->run, c->w, c->rest, c->o);
}

void run_chunk(struct grid_run *run, struct grid_worker *w, uint64_t first, uint64_t count,
               struct outcome *o)
{
    sigjmp_buf here, *outer = w->escape;
    uint32_t mark = w->cdp.mark;
    struct rest rest = {
        .run = run, .next = first, .end = first + count, .outcome = o, .outer = w->rest};
    w->escape = &here;
    w->cdp.mark = w->cdp.height;
    w->rest = &rest;
    size_t stack = kernel_stack(run->launch.kernel);
    if (WEIR_LIKELY(stack == 0))
        run_chunk_armed(run, w, &rest, o);
    else if (!stack_call_of(stack, run_chunk_there, &(struct chunk){run, w, &rest, o}))
        run_no_memory(w, o);
    w->rest = rest.outer;
    run_launched(w); /* after trouble, too: what was launched is counted */
    w->cdp.mark = mark;
    w->escape = outer;
}

enum grid_progress grid_run_alone(struct grid_run *run, struct grid_worker *w)
{
    enum { TIMED_EACH = 16 }; /* looking at the clock costs as much as a small grid */
    struct outcome o = {0};
    uint64_t total = run->total, begin = 0;
    if (atomic_load_explicit(&run->launch.kernel->block_ns, memory_order_relaxed) == 0 ||
        ++w->alone % TIMED_EACH == 0)
        begin = clock_ns();
    unsigned fp = fp_enter(w);
    w->env = run->env;
    atomic_store_explicit(&run->pending, total + 1, memory_order_relaxed);
    atomic_store_explicit(&run->next, total, memory_order_relaxed);
    struct mem_view before = see(run);
    run_chunk(run, w, 0, total, &o);
    mem_view_leave(before);
    fp_leave(w, fp);
    if (begin != 0 && !o.trouble && o.parked == 0)
        learn(run, clock_ns() - begin, total);
    if (o.parked == 0 && atomic_load_explicit(&run->pending, memory_order_acquire) == total + 1) {
        free(run->workspace); /* nobody else knows of the run */
        return GRID_COMPLETE;
    }
    return run_finish(run, total - o.parked + 1) ? GRID_COMPLETE : GRID_HANDED;
}

/* Takes the next blocks for the thread. Returns how many it is; 0: none is left. */
static uint64_t hand_out(struct grid_run *run, const struct grid_worker *w, uint32_t *from,
                         uint64_t *first)
{
    uint64_t count = chunk_size(run), taken;
    if (run->parts != NULL) {
        count = parts_take(run, w->smid, from, count, first);
        /* Given up meanwhile: they were counted with those that nobody had taken. */
        taken = atomic_fetch_add_explicit(&run->next, count, memory_order_relaxed);
        return taken < run->total ? count : 0;
    }
    *first = taken = atomic_fetch_add_explicit(&run->next, count, memory_order_relaxed);
    if (taken >= run->total)
        return 0;
    return run->total - taken < count ? run->total - taken : count;
}

enum grid_progress grid_run_blocks(struct grid_run *run, struct grid_worker *w, uint64_t until)
{
    unsigned fp = fp_enter(w);
    struct mem_view before = see(run);
    uint64_t begin = clock_ns(), ended = 0;
    w->env = run->env;
    uint32_t from = 0;
    bool kept = resident_grid(run);
    if (WEIR_UNLIKELY(kept))
        resident_run(run, w, NULL, until, &ended);
    while (!kept && grid_run_open(run)) {
        if (grid_faulted(run->env) != GRID_FAULT_NONE) {
            ended += run_abandon(run);
            break;
        }
        uint64_t first, count = hand_out(run, w, &from, &first);
        if (count == 0)
            break;
        struct outcome o = {0};
        w->summed_ns = 0;
        run_chunk(run, w, first, count, &o);
        ended += count - o.parked + (o.trouble ? run_abandon(run) : 0);
        uint64_t end = clock_ns();
        if (!o.trouble &&
            o.parked == 0) /* short calls would make blocks long, and these short calls */
            learn(run, end - begin - w->summed_ns, count);
        begin = end;
        if (end >= until)
            break;
    }
    mem_view_leave(before);
    fp_leave(w, fp);
    bool more = !grid_run_exhausted(run);
    return run_leave(run, ended + 1) ? GRID_COMPLETE : more ? GRID_MORE : GRID_HANDED;
}

enum grid_progress grid_run_ordered(struct grid_run *run, struct grid_worker *w, uint64_t blocks)
{
    unsigned fp = fp_enter(w);
    struct mem_view before = see(run);
    uint64_t ended = 0;
    w->env = run->env;
    for (; blocks > 0 && grid_run_open(run); blocks--) {
        if (grid_faulted(run->env) != GRID_FAULT_NONE) {
            ended += run_abandon(run);
            break;
        }
        uint64_t n = atomic_fetch_add_explicit(&run->next, 1, memory_order_relaxed);
        struct outcome o = {0};
        run_chunk(run, w, schedule_block(run->order, n, run->total), 1, &o);
        ended += 1 - o.parked + (o.trouble ? run_abandon(run) : 0);
    }
    mem_view_leave(before);
    fp_leave(w, fp);
    bool more = !grid_run_exhausted(run);
    return run_leave(run, ended + 1) ? GRID_COMPLETE : more ? GRID_MORE : GRID_HANDED;
}
