/* threads: what compiled code and the helpers of barriers tell, in the terms of the hazards layer;
 * see threads.h. */
#include "exec/threads.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "exec/cdp.h"
#include "exec/lanes.h"
#include "exec/touch.h"

enum { PIECE = 1 << 15 /* bytes of a copy that are told at once */ };

static bool on;
static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;

void threads_compare(void) { on = true; }
bool threads_are_compared(void) { return on; }

bool threads_will_compare(const struct grid_block *b)
{
    return on && !b->run->launch.kernel->builtin;
}

static struct hazard_grid *grid_new(struct grid_run *run, struct hazard_grid *parent)
{
    const struct grid_launch *l = &run->launch;
    const struct cdp_told *told = run->origin != NULL ? run->origin->told : NULL;
    struct hazard_launch launch = {.kernel = l->kernel};
    memcpy(launch.grid, l->grid, sizeof launch.grid);
    memcpy(launch.block, l->block, sizeof launch.block);
    if (told != NULL) {
        launch.launcher = told->launcher;
        launch.pc = told->pc;
    }
    return hazard_grid_begin(parent, &launch, run->total * run->cluster_size, NULL,
                             told != NULL ? told->after : NULL);
}

static struct hazard_grid *grid_of(struct grid_run *run)
{
    struct hazard_grid *g = atomic_load_explicit(&run->hazards, memory_order_acquire);
    if (g != NULL)
        return g;
    struct hazard_grid *parent = run->origin != NULL ? grid_of(run->origin->parent) : NULL;
    pthread_mutex_lock(&making);
    g = atomic_load_explicit(&run->hazards, memory_order_relaxed);
    if (g == NULL) {
        g = grid_new(run, parent);
        atomic_store_explicit(&run->hazards, g, memory_order_release);
    }
    pthread_mutex_unlock(&making);
    return g;
}

static uint64_t number_of(const uint32_t at[3], const uint32_t count[3])
{
    return at[0] + (uint64_t)count[0] * (at[1] + (uint64_t)count[1] * at[2]);
}

static __attribute__((noinline)) void begin(struct grid_block *b, uint64_t number)
{
    const struct jit_block *j = &b->jit;
    uint64_t cluster = j->cluster_size > 1 ? number_of(j->clusterid, j->nclusterid) : number;
    if (b->hazards == NULL)
        b->hazards = hazard_block_new();
    hazard_block_begin(b->hazards, grid_of(b->run), (uint32_t)number, (uint32_t)cluster,
                       j->nthreads, (uint64_t)j->shared, j->total_shared);
    b->hazard_grid = b->run->gridid;
    b->hazard_number = number;
}

struct hazard_block *threads_of(struct grid_block *b)
{
    uint64_t number = number_of(b->jit.ctaid, b->jit.nctaid);
    if (WEIR_UNLIKELY(b->hazard_grid != b->run->gridid || b->hazard_number != number))
        begin(b, number);
    return b->hazards;
}

/* ---- addresses ---- */

/* The block of the cluster whose shared memory the address is in; NULL: none's. */
static struct grid_block *shared_of(struct grid_block *b, uint64_t address)
{
    const struct jit_block *j = &b->jit;
    if (address - (uint64_t)j->shared < j->total_shared)
        return b;
    for (uint32_t r = 0; b->leader != NULL && r < b->leader->nmembers; r++) {
        struct grid_block *other = b->leader->members[r];
        if (address - (uint64_t)other->jit.shared < other->jit.total_shared)
            return other;
    }
    return NULL;
}

/* Memory that no other thread has. */
static bool is_private(const struct grid_block *b, uint64_t address)
{
    return address - (uint64_t)b->memory < b->capacity ||
           address - (uint64_t)b->jit.params < b->run->launch.param_bytes;
}

/* The barrier of a cooperative grid is the word of its own that the launch gives it. */
static bool is_grid_barrier(const struct grid_block *b, uint64_t address)
{
    return b->run->workspace != NULL &&
           address - (uint64_t)b->run->workspace < (uint64_t)GRID_WORKSPACE_BYTES;
}

/* Takes the lanes that access the grid's barrier. */
static uint32_t take_grid_barrier(struct grid_block *b, uint32_t mask, const uint64_t *address)
{
    uint32_t there = 0;
    EACH_LANE(lane, b->run->workspace != NULL ? mask : 0)
    there |= (uint32_t)is_grid_barrier(b, address[lane]) << lane;
    return there;
}

/* Lanes whose addresses are in one memory. */
struct share {
    struct grid_block *of; /* NULL: global memory */
    uint32_t mask;
};

/* Takes some lanes of *left; false: they access private memory. */
static bool take_share(struct grid_block *b, uint32_t *left, const uint64_t *address,
                       struct share *s)
{
    uint32_t first = (uint32_t)__builtin_ctz(*left);
    s->of = shared_of(b, address[first]);
    s->mask = 0;
    if (s->of == NULL && is_private(b, address[first])) {
        *left &= *left - 1;
        return false;
    }
    EACH_LANE(lane, *left)
    {
        if (shared_of(b, address[lane]) == s->of &&
            (s->of != NULL || !is_private(b, address[lane])))
            s->mask |= (uint32_t)1 << lane;
    }
    *left &= ~s->mask;
    return true;
}

/* ---- what compiled code calls ---- */

/* Whose memory all bytes of a run are in. False: several have some, or it is the grid's barrier. */
static bool whose(struct grid_block *b, uint64_t low, uint64_t high, struct share *s, bool *is_own)
{
    s->of = shared_of(b, low);
    *is_own = s->of == NULL && is_private(b, low);
    return shared_of(b, high - 1) == s->of && is_private(b, high - 1) == is_private(b, low) &&
           !is_grid_barrier(b, low) && !is_grid_barrier(b, high - 1);
}

static void access_lanes(struct grid_block *b, uint32_t mask, const uint64_t *address, uint32_t how,
                         const uint64_t *values, const void *pc);

/* Neighbours, or lanes at one address. */
static void access_runs(struct grid_block *b, uint32_t mask, const uint64_t *first, uint32_t how,
                        const uint64_t *values, uint32_t shape, const void *pc)
{
    struct hazard_block *h = threads_of(b);
    struct lane_run runs[LANE_RUNS];
    uint32_t bytes = how & JIT_ACCESS_BYTES, pieces = JIT_SHAPE_COUNT(shape);
    uint64_t step = JIT_SHAPE_STEP(shape), each[JIT_WARP];
    bool generic = (how & JIT_ACCESS_GENERIC) != 0, next = (shape & JIT_SHAPE_NEXT) != 0;
    struct hazard_block *of = (how & JIT_ACCESS_SHARED) != 0 ? h : NULL;
    int count = lane_runs(shape, mask, first, bytes, runs);
    for (int n = 0; n < count; n++) {
        struct share s;
        uint64_t low, high;
        bool own = false;
        (void)lane_run_range(&runs[n], shape, bytes, &low, &high);
        if (!generic) {
            hazard_access_run(h, of, b->jit.warp, runs[n].mask, runs[n].origin, next, pieces, step,
                              how, values, pc);
        } else if (!whose(b, low, high + (pieces - 1) * step, &s, &own)) {
            for (uint32_t k = 0; k < pieces; k++) {
                lane_addresses(shape, runs[n].mask, first, bytes, k, each);
                access_lanes(b, runs[n].mask, each, how, values, pc);
            }
        } else if (!own) {
            hazard_access_run(h, s.of != NULL ? threads_of(s.of) : NULL, b->jit.warp, runs[n].mask,
                              runs[n].origin, next, pieces, step, how, values, pc);
        }
    }
}

void weir_rt_thread_access(struct jit_block *j, uint32_t mask, const uint64_t *address,
                           uint32_t how, const uint64_t *values, uint32_t shape)
{
    const void *pc = __builtin_return_address(0);
    uint64_t each[JIT_WARP];
    if (shape != 0 && (how & JIT_ACCESS_STRONG) == 0) {
        access_runs(j->grid, mask, address, how, values, shape, pc);
        return;
    }
    if (shape != 0) {
        lane_addresses(shape, mask, address, how & JIT_ACCESS_BYTES, 0, each);
        address = each;
    }
    access_lanes(j->grid, mask, address, how, values, pc);
}

static void access_lanes(struct grid_block *b, uint32_t mask, const uint64_t *address, uint32_t how,
                         const uint64_t *values, const void *pc)
{
    struct jit_block *j = &b->jit;
    struct hazard_block *h = threads_of(b);
    if (mask == 0)
        return;
    if ((how & JIT_ACCESS_GENERIC) == 0) {
        hazard_access(h, (how & JIT_ACCESS_SHARED) != 0 ? h : NULL, j->warp, mask, address, how,
                      values, pc);
        return;
    }
    struct share s;
    uint32_t meets = take_grid_barrier(b, mask, address);
    if (meets != 0 && (how & JIT_ACCESS_WRITE) != 0)
        hazard_grid_arrive(h, j->warp, meets, b->run->total * b->run->cluster_size);
    mask &= ~meets;
    while (mask != 0)
        if (take_share(b, &mask, address, &s))
            hazard_access(h, s.of != NULL ? threads_of(s.of) : NULL, j->warp, s.mask, address, how,
                          values, pc);
}

static void acquired_at(struct grid_block *b, struct hazard_block *of, uint32_t mask,
                        const uint64_t *address, uint32_t how, const void *pc)
{
    struct hazard_block *h = threads_of(b);
    hazard_acquired(h, of, b->jit.warp, mask, address, how);
    if ((how & JIT_ACCESS_EXCHANGE) != 0)
        hazard_exchanged(h, of, b->jit.warp, mask, address, how, pc);
}

static void acquired(struct grid_block *b, uint32_t mask, const uint64_t *address, uint32_t how,
                     const void *pc)
{
    struct hazard_block *h = threads_of(b);
    struct share s;
    if ((how & JIT_ACCESS_GENERIC) == 0) {
        acquired_at(b, (how & JIT_ACCESS_SHARED) != 0 ? h : NULL, mask, address, how, pc);
        return;
    }
    uint32_t meets = take_grid_barrier(b, mask, address);
    if (meets != 0)
        hazard_grid_look(h, b->jit.warp, meets);
    mask &= ~meets;
    while (mask != 0)
        if (take_share(b, &mask, address, &s))
            acquired_at(b, s.of != NULL ? threads_of(s.of) : NULL, s.mask, address, how, pc);
}

void weir_rt_thread_order(struct jit_block *j, uint32_t op, uint32_t mask, uint32_t arg,
                          const uint64_t *rows)
{
    struct grid_block *b = j->grid;
    struct hazard_block *h = threads_of(b);
    if (mask == 0)
        return;
    switch (op) {
    case JIT_ORDER_ACQUIRED: acquired(b, mask, rows, arg, __builtin_return_address(0)); break;
    case JIT_ORDER_FENCE: hazard_fence(h, j->warp, mask, (enum jit_scope)arg); break;
    case JIT_ORDER_WARP: hazard_warp_barrier(h, j->warp, mask, rows); break;
    case JIT_ORDER_BLOCK: hazard_block_barrier(h, j->warp); break;
    case JIT_ORDER_COMMIT: hazard_async_commit(h, j->warp, mask); break;
    case JIT_ORDER_AWAIT: hazard_async_wait(h, j->warp, mask, arg); break;
    default: EACH_LANE(lane, mask) threads_object(b, rows[lane], lane, OBJECT_COPIES);
    }
}

/* ---- barriers, objects, copies ---- */

void threads_arrive(struct grid_block *b, uint32_t id, uint32_t warp, uint32_t mask)
{
    if (id < JIT_GROUP_BARRIERS) /* those of groups of warps are ours, not the program's */
        hazard_barrier_arrive(threads_of(b), id, warp, mask);
}

void threads_go_on(struct grid_block *b, uint32_t id, const uint32_t waiting[JIT_MAX_WARPS],
                   bool all)
{
    if (id < JIT_GROUP_BARRIERS)
        hazard_barrier_open(threads_of(b), id, waiting, all);
}

void threads_object(struct grid_block *b, uint64_t address, uint32_t lane, enum threads_object what)
{
    struct grid_block *of = shared_of(b, address);
    struct hazard_block *h = threads_of(b), *at = of != NULL ? threads_of(of) : h;
    uint32_t warp = b->jit.warp, mask = (uint32_t)1 << lane;
    switch (what) {
    case OBJECT_INIT: hazard_object_init(at, address); break;
    case OBJECT_ARRIVE: hazard_object_arrive(h, at, address, warp, mask); break;
    case OBJECT_PHASE_ENDS: hazard_object_phase_ends(at, address); break;
    case OBJECT_PASSED: hazard_object_passed(h, at, address, warp, mask); break;
    case OBJECT_COPIES: hazard_async_arrive(h, at, address, warp, mask); break;
    }
}

/* Bytes that the lane accesses at once. */
static void access_bytes(struct grid_block *b, uint32_t lane, uint64_t at, uint64_t bytes,
                         uint32_t how, const uint64_t *values, const void *pc)
{
    uint64_t address[JIT_WARP] = {0};
    struct hazard_block *h = threads_of(b);
    struct grid_block *of = shared_of(b, at);
    for (uint64_t done = 0; done < bytes; done += PIECE) {
        uint64_t n = bytes - done < PIECE ? bytes - done : PIECE;
        address[lane] = at + done;
        hazard_access(h, of != NULL ? threads_of(of) : NULL, b->jit.warp, (uint32_t)1 << lane,
                      address, how | (uint32_t)n, values, pc);
    }
}

void threads_copy_side(struct grid_block *b, uint32_t lane, uint64_t at, uint64_t bytes,
                       bool writes, const void *pc)
{
    access_bytes(b, lane, at, bytes, JIT_ACCESS_ASYNC | (writes ? JIT_ACCESS_WRITE : 0), NULL, pc);
}

void threads_copy(struct grid_block *b, uint32_t lane, uint64_t to, uint64_t from, uint64_t bytes,
                  const void *pc)
{
    threads_copy_side(b, lane, from, bytes, false, pc);
    threads_copy_side(b, lane, to, bytes, true, pc);
}

/* ---- the heap ---- */

void threads_allocated(struct grid_block *b, uint64_t at, uint64_t bytes)
{
    hazard_allocated(threads_of(b), at, at + bytes);
}

void threads_freed(struct grid_block *b, uint32_t lane, uint64_t at, uint64_t bytes, const void *pc)
{
    access_bytes(b, lane, at, bytes, JIT_ACCESS_WRITE, NULL, pc);
}

void threads_block(struct grid_block *b, uint64_t at, uint64_t bytes, bool writes,
                   const uint32_t *value, const void *pc)
{
    uint64_t values[JIT_WARP] = {value != NULL ? *value : 0};
    access_bytes(b, 0, at, bytes, writes ? JIT_ACCESS_WRITE : 0, value != NULL ? values : NULL, pc);
}

/* ---- launches ---- */

void threads_launch(struct grid_block *b, struct cdp_child *c, const void *pc)
{
    bool ours = touch_is_told() && c->work == CDP_WORK_GRID && c->launch.kernel->builtin;
    if (!on && !ours)
        return;
    c->told = xcalloc(1, sizeof *c->told);
    if (on)
        c->told->after = hazard_launches(threads_of(b), c->thread / JIT_WARP,
                                         (uint32_t)1 << c->thread % JIT_WARP);
    c->told->launcher = b->run->launch.kernel;
    c->told->pc = pc;
}

void threads_launch_follows(struct cdp_child *c, const struct hazard_order *order)
{
    if (c->told != NULL)
        c->told->after = hazard_order_join(c->told->after, order);
}

void threads_launch_over(struct cdp_child *c)
{
    if (c->told == NULL)
        return;
    hazard_order_unref(c->told->after);
    free(c->told);
    c->told = NULL;
}

void threads_await(struct grid_block *b, uint32_t mask)
{
    if (on)
        hazard_awaits(threads_of(b), b->jit.warp, mask);
}

void threads_waited(struct grid_block *b)
{
    if (on && b->cdp != NULL && cdp_idle(b))
        hazard_waited(threads_of(b), b->cdp->over);
}

/* ---- at the end ---- */

struct hazard_order *grid_threads_ended(const struct grid_run *run)
{
    const struct hazard_grid *g = atomic_load_explicit(&run->hazards, memory_order_acquire);
    return g != NULL ? hazard_grid_ended(g) : NULL;
}

void grid_threads_accesses(const struct grid_run *run, uint64_t most,
                           void (*each)(void *self, const struct hazard_warps *w), void *self)
{
    const struct hazard_grid *g = atomic_load_explicit(&run->hazards, memory_order_acquire);
    if (g != NULL && run->origin == NULL)
        hazard_grid_accesses(g, most, each, self);
}

struct hazard_order *grid_threads_told(struct grid_run *run,
                                       void (*found)(void *self, const struct hazard_found *found),
                                       void *self)
{
    struct hazard_grid *g = atomic_exchange(&run->hazards, NULL);
    return g != NULL ? hazard_grid_end(g, found, self) : NULL;
}
