/* threads: what the threads of a block come after, and what brings them there: barriers, fences,
 * releases and acquires, waits for asynchronous copies. */
#include <stdlib.h>
#include <string.h>

#include "hazards/internal.h"

#define EACH(lane, mask)                                                                           \
    for (uint32_t left_ = (mask), lane;                                                            \
         left_ != 0 && ((lane = (uint32_t)__builtin_ctz(left_)), 1); left_ &= left_ - 1)
#define ALL_LANES 0xffffffffu

/* What comes from now on is not released by what was released until now. */
static void tick(struct hazard_block *b) { b->clock++; }

/* ---- knowledge of single lanes ---- */

static struct lane_knowledge *lane_of(struct hazard_block *b, uint32_t warp, uint32_t lane)
{
    b->knows = b->warps[warp].knows = true;
    return &b->warps[warp].lanes[lane];
}

static void lane_forget(struct lane_knowledge *l)
{
    vector_unref(l->after);
    for (int n = 0; n < LEVELS; n++) {
        vector_unref(l->fenced[n]);
        vector_unref(l->awaiting[n]);
    }
    memset(l, 0, sizeof *l);
}

static void warp_forget(struct warp_state *w)
{
    for (uint32_t lane = 0; w->knows && lane < JIT_WARP; lane++)
        lane_forget(&w->lanes[lane]);
    w->knows = false;
    w->waits = false;
    w->awaits = 0;
    w->clock = 0;
}

/* ---- blocks ---- */

struct hazard_block *hazard_block_new(void) { return xcalloc(1, sizeof(struct hazard_block)); }

static void block_forget(struct hazard_block *b)
{
    for (uint32_t w = 0; w < b->nwarps; w++) {
        warp_forget(&b->warps[w]);
        free(b->warps[w].async);
        b->warps[w].async = NULL;
    }
    for (int id = 0; id < BARRIERS; id++) {
        vector_unref(b->arrived[id]);
        b->arrived[id] = NULL;
    }
    for (int n = 0; n < LEVELS; n++) {
        vector_unref(b->fenced[n]);
        vector_unref(b->awaiting[n]);
        b->fenced[n] = b->awaiting[n] = NULL;
        b->acquired[n] = false;
    }
    vector_unref(b->after);
    b->after = NULL;
    if (b->syncs.capacity > 0)
        sync_table_free(&b->syncs);
}

static void lines_free(struct hazard_block *b)
{
    for (uint32_t i = 0; i < b->line_capacity; i++)
        line_clear(&b->lines[i]);
    free(b->lines);
    free(b->quiet);
}

void hazard_block_free(struct hazard_block *b)
{
    if (b == NULL)
        return;
    block_forget(b);
    lines_free(b);
    free(b->warps);
    free(b);
}

void hazard_block_begin(struct hazard_block *b, struct hazard_grid *grid, uint32_t block,
                        uint32_t cluster, uint32_t nthreads, uint64_t shared, uint32_t shared_bytes)
{
    const struct hazard_run *run = grid->run;
    block_forget(b);
    if (b->serial != run->serial) /* another run may be where one was */
        memset(b->recent, 0, sizeof b->recent);
    b->serial = run->serial;
    b->run = grid->run;
    b->grid = grid;
    b->number = grid->first + block;
    b->cluster = grid->first + cluster;
    b->after = vector_ref(grid->after);
    b->nthreads = nthreads;
    b->shared = shared;
    if (b->warps == NULL)
        b->warps = xcalloc(WARPS, sizeof *b->warps);
    b->nwarps = (nthreads + JIT_WARP - 1) / JIT_WARP;
    b->clock = 1;
    b->all = 0;
    b->waits = b->awaits = b->knows = b->async = b->shares = false;
    b->epoch++;
    b->grid_phase = UINT32_MAX;
    b->generation++;
    b->line_count = (shared_bytes + LINE - 1) / LINE;
    if (b->line_count > b->line_capacity) {
        lines_free(b);
        b->lines = xcalloc(b->line_count, sizeof *b->lines);
        b->quiet = xcalloc(b->line_count, sizeof *b->quiet);
        b->line_capacity = b->line_count;
    }
}

/* ---- releases and acquires ---- */

static uint32_t lanes_of(const struct hazard_block *b, uint32_t warp)
{
    uint32_t threads = b->nthreads - warp * JIT_WARP;
    return threads >= JIT_WARP ? ALL_LANES : ((uint32_t)1 << threads) - 1;
}

/* Copies of a warp that are over, as the lanes of `mask` know it, as entries by lane. */
static uint32_t async_entries(const struct hazard_block *b, uint32_t warp, uint32_t mask, bool own,
                              struct vector_entry *out)
{
    const struct async_state *a = b->warps[warp].async;
    uint32_t count = 0;
    for (uint32_t lane = 0; a != NULL && lane < JIT_WARP; lane++) {
        uint32_t clock = a->block[lane];
        if (own)
            clock = a->warp[lane] > clock ? a->warp[lane] : clock;
        if (own && (mask >> lane & 1) != 0)
            clock = a->done[lane] > clock ? a->done[lane] : clock;
        if (clock > 0)
            out[count++] = (struct vector_entry){b->number, (uint16_t)(ASYNC_WARPS + warp),
                                                 (uint32_t)1 << lane, clock};
    }
    return count;
}

/* The entries of asynchronous copies come before that of all warps, and after those of warps. */
static struct hazard_order *own_accesses(const struct hazard_block *b, uint32_t warp, uint32_t mask)
{
    struct vector_entry few[4], *entries = few;
    uint32_t count = 0;
    const struct warp_state *w = &b->warps[warp];
    if (b->async)
        entries = xmalloc(((size_t)b->nwarps * JIT_WARP + 4) * sizeof *entries);
    entries[count++] = (struct vector_entry){b->number, (uint16_t)warp, mask, b->clock + 1};
    if (w->clock > b->all && mask != ALL_LANES)
        entries[count++] = (struct vector_entry){b->number, (uint16_t)warp, ALL_LANES, w->clock};
    for (uint32_t n = 0; b->async && n < b->nwarps; n++)
        count += async_entries(b, n, mask, n == warp, entries + count);
    if (b->all > 0)
        entries[count++] = (struct vector_entry){b->number, ALL_WARPS, ALL_LANES, b->all};
    struct hazard_order *v = vector_of(entries, count);
    if (entries != few)
        free(entries);
    return v;
}

struct hazard_order *threads_release(struct hazard_block *b, uint32_t warp, uint32_t mask)
{
    struct hazard_order *v = vector_join(own_accesses(b, warp, mask), b->after), *last = NULL;
    EACH(lane, b->warps[warp].knows ? mask : 0)
    {
        struct hazard_order *known = b->warps[warp].lanes[lane].after;
        if (known != last) /* lanes mostly share it */
            v = vector_join(v, known);
        last = known;
    }
    tick(b);
    return v;
}

void threads_acquire(struct hazard_block *b, uint32_t warp, uint32_t mask,
                     const struct hazard_order *what)
{
    struct hazard_order *from = NULL, *to = NULL; /* lanes mostly share what they know */
    bool any = false;
    if (what == NULL)
        return;
    b->epoch++;
    EACH(lane, mask)
    {
        struct lane_knowledge *l = lane_of(b, warp, lane);
        if (!any || l->after != from) {
            vector_unref(from);
            vector_unref(to);
            from = vector_ref(l->after);
            to = vector_join(vector_ref(l->after), what);
            any = true;
        }
        vector_unref(l->after);
        l->after = vector_ref(to);
    }
    vector_unref(from);
    vector_unref(to);
}

static uint32_t level_of(enum jit_scope scope)
{
    return scope == JIT_SCOPE_BLOCK ? 0 : scope == JIT_SCOPE_CLUSTER ? 1 : 2;
}

/* Something of another block's may come before what follows. */
static void orders_blocks(struct hazard_block *b)
{
    atomic_store_explicit(&b->run->epoch, run_next_epoch(), memory_order_relaxed);
}

/* Lanes that come to a fence together are taken as one. */
void hazard_fence(struct hazard_block *b, uint32_t warp, uint32_t mask, enum jit_scope scope)
{
    uint32_t level = level_of(scope);
    threads_heard(b, warp);
    b->epoch++;
    orders_blocks(b);
    EACH(lane, mask)
    {
        struct lane_knowledge *l = lane_of(b, warp, lane);
        for (uint32_t n = 0; n <= level; n++) {
            l->after = vector_join(l->after, l->awaiting[n]);
            vector_unref(l->awaiting[n]);
            l->awaiting[n] = NULL;
        }
    }
    for (uint32_t n = 0; n <= level; n++) {
        threads_acquire(b, warp, mask, b->awaiting[n]);
        b->acquired[n] = true;
    }
    struct hazard_order *v = threads_release(b, warp, mask);
    EACH(lane, mask)
    {
        struct lane_knowledge *l = lane_of(b, warp, lane);
        for (uint32_t n = 0; n <= level; n++) {
            vector_unref(l->fenced[n]);
            l->fenced[n] = vector_ref(v);
        }
    }
    vector_unref(v);
}

static struct sync_table *table_of(struct hazard_block *b, struct hazard_block *of)
{
    return of != NULL ? &of->syncs : &b->run->syncs;
}

static void table_lock(struct hazard_block *b, struct hazard_block *of)
{
    if (of == NULL)
        pthread_mutex_lock(&b->run->lock);
}

static void table_unlock(struct hazard_block *b, struct hazard_block *of)
{
    if (of == NULL)
        pthread_mutex_unlock(&b->run->lock);
}

/* A strong write by a lane. */
void threads_write(struct hazard_block *b, struct hazard_block *of, uint32_t warp, uint32_t lane,
                   uint64_t address, uint32_t how)
{
    const struct lane_knowledge *l = &b->warps[warp].lanes[lane];
    bool releases = (how & JIT_ACCESS_RELEASE) != 0;
    uint32_t level = level_of((enum jit_scope)JIT_ACCESS_SCOPE(how));
    if (!releases && l->fenced[0] == NULL && b->fenced[0] == NULL)
        return;
    struct hazard_order *now = NULL;
    if (releases)
        now = threads_release(b, warp, (uint32_t)1 << lane);
    table_lock(b, of);
    struct sync *s = sync_find(table_of(b, of), address, true);
    if (releases)
        sync_release(s, level, b, (struct hazard_order *const[LEVELS]){now, now, now});
    else
        sync_release(s, level, b, l->fenced);
    sync_release(s, level, b, b->fenced);
    table_unlock(b, of);
    vector_unref(now);
}

static void acquire_at(struct hazard_block *b, const struct sync *s, uint32_t warp, uint32_t lane,
                       uint32_t how)
{
    uint32_t level = level_of((enum jit_scope)JIT_ACCESS_SCOPE(how));
    const uint32_t of[LEVELS] = {b->number, b->cluster, 0};
    struct lane_knowledge *l = lane_of(b, warp, lane);
    b->epoch++;
    orders_blocks(b);
    for (uint32_t i = 0; i < s->released_count; i++) {
        const struct released *r = &s->released[i];
        if (r->level > level || r->of != of[r->level])
            continue;
        if ((how & JIT_ACCESS_ACQUIRE) != 0)
            l->after = vector_join(l->after, r->what);
        else
            l->awaiting[r->level] = vector_join(l->awaiting[r->level], r->what);
    }
}

void hazard_acquired(struct hazard_block *b, struct hazard_block *of, uint32_t warp, uint32_t mask,
                     const uint64_t address[JIT_WARP], uint32_t how)
{
    struct sync_table *t = table_of(b, of);
    if (atomic_load_explicit(&t->count, memory_order_acquire) == 0)
        return;
    table_lock(b, of);
    EACH(lane, mask)
    {
        const struct sync *s = sync_find(t, address[lane], false);
        if (s != NULL)
            acquire_at(b, s, warp, lane, how);
    }
    table_unlock(b, of);
}

/* ---- barriers ---- */

/* What asynchronous copies the lanes know to be over, all of the warp know now. */
static void async_spread(struct warp_state *w, bool block)
{
    struct async_state *a = w->async;
    for (uint32_t lane = 0; a != NULL && lane < JIT_WARP; lane++) {
        if (a->warp[lane] < a->done[lane])
            a->warp[lane] = a->done[lane];
        if (block)
            a->block[lane] = a->warp[lane];
    }
}

/* What a thread's fence has made visible stays so for those that come after it: fences that are
 * sequentially consistent, as __threadfence is, have one order. So a thread of which others know
 * that they have passed a fence hands over what these have written, too; and a fence acquires what
 * was read by threads that come before it, as well as what its own thread has read. */
static void fences_spread(struct hazard_block *b)
{
    struct hazard_order *last[LEVELS] = {NULL}, *read[LEVELS] = {NULL};
    for (int n = 0; n < LEVELS; n++) {
        if (!b->acquired[n])
            continue;
        vector_unref(b->awaiting[n]); /* the block comes after it from this barrier on */
        b->awaiting[n] = NULL;
        b->acquired[n] = false;
    }
    for (uint32_t w = 0; w < b->nwarps; w++)
        for (uint32_t lane = 0; b->warps[w].knows && lane < JIT_WARP; lane++)
            for (int n = 0; n < LEVELS; n++) {
                const struct lane_knowledge *l = &b->warps[w].lanes[lane];
                if (l->fenced[n] != last[n])
                    b->fenced[n] = vector_join(b->fenced[n], l->fenced[n]);
                if (l->awaiting[n] != read[n])
                    b->awaiting[n] = vector_join(b->awaiting[n], l->awaiting[n]);
                last[n] = l->fenced[n];
                read[n] = l->awaiting[n];
            }
}

/* All threads of the block that have not ended are here. */
static void all_pass(struct hazard_block *b)
{
    struct hazard_order *last = NULL;
    if (b->knows)
        fences_spread(b);
    tick(b);
    b->epoch++;
    b->all = b->clock;
    for (uint32_t w = 0; w < b->nwarps; w++) {
        struct warp_state *ws = &b->warps[w];
        for (uint32_t lane = 0; ws->knows && lane < JIT_WARP; lane++) {
            struct hazard_order *known = ws->lanes[lane].after;
            if (known != last)
                b->after = vector_join(b->after, known);
            last = known;
        }
        for (uint32_t lane = 0; ws->knows && lane < JIT_WARP; lane++)
            lane_forget(&ws->lanes[lane]);
        ws->knows = false;
        ws->waits = false;
        async_spread(ws, true);
    }
    b->waits = b->knows = false;
}

void threads_pass(struct hazard_block *b, uint32_t warp)
{
    (void)warp;
    all_pass(b);
}

void hazard_block_barrier(struct hazard_block *b, uint32_t warp)
{
    threads_heard(b, warp);
    b->warps[warp].waits = true;
    b->waits = true;
}

/* As fences_spread, for lanes of a warp. */
static void fences_meet(struct warp_state *w, uint32_t mask)
{
    for (int n = 0; n < LEVELS; n++) {
        struct hazard_order *all = NULL, *last = NULL, *reads = NULL, *last_read = NULL;
        EACH(lane, mask)
        {
            const struct lane_knowledge *l = &w->lanes[lane];
            if (l->fenced[n] != last)
                all = vector_join(all, l->fenced[n]);
            if (l->awaiting[n] != last_read)
                reads = vector_join(reads, l->awaiting[n]);
            last = l->fenced[n];
            last_read = l->awaiting[n];
        }
        EACH(lane, mask)
        {
            struct lane_knowledge *l = &w->lanes[lane];
            vector_unref(l->fenced[n]);
            vector_unref(l->awaiting[n]);
            l->fenced[n] = vector_ref(all);
            l->awaiting[n] = vector_ref(reads);
        }
        vector_unref(all);
        vector_unref(reads);
    }
}

/* Lanes of a warp meet. */
static void meet(struct hazard_block *b, uint32_t warp, uint32_t mask)
{
    struct warp_state *w = &b->warps[warp];
    if (w->knows)
        fences_meet(w, mask);
    if (mask == lanes_of(b, warp)) {
        if (w->knows) {
            struct hazard_order *v = threads_release(b, warp, mask);
            threads_acquire(b, warp, mask, v);
            vector_unref(v);
        }
        tick(b);
        w->clock = b->clock;
        async_spread(w, false);
        return;
    }
    struct hazard_order *v = threads_release(b, warp, mask);
    threads_acquire(b, warp, mask, v);
    vector_unref(v);
}

void hazard_warp_barrier(struct hazard_block *b, uint32_t warp, uint32_t mask,
                         const uint64_t members[JIT_WARP])
{
    threads_heard(b, warp);
    for (uint32_t left = mask, same; left != 0; left &= ~same) {
        uint32_t first = (uint32_t)__builtin_ctz(left);
        same = 0;
        EACH(lane, left)
        same |= (uint32_t)(members[lane] == members[first]) << lane;
        meet(b, warp, same);
    }
}

void hazard_barrier_arrive(struct hazard_block *b, uint32_t id, uint32_t warp, uint32_t mask)
{
    threads_heard(b, warp);
    struct hazard_order *v = threads_release(b, warp, mask);
    b->arrived[id] = vector_join(b->arrived[id], v);
    vector_unref(v);
}

void hazard_barrier_open(struct hazard_block *b, uint32_t id, const uint32_t waiting[JIT_WARP],
                         bool all)
{
    struct hazard_order *v = b->arrived[id];
    b->arrived[id] = NULL;
    if (all) {
        all_pass(b);
        vector_unref(v);
        return;
    }
    for (uint32_t w = 0; w < b->nwarps; w++)
        threads_acquire(b, w, waiting[w], v);
    vector_unref(v);
}

/* ---- objects ---- */

void hazard_object_init(struct hazard_block *at, uint64_t object)
{
    struct sync *s = sync_find(&at->syncs, object, true);
    vector_unref(s->now);
    vector_unref(s->passed);
    s->now = s->passed = NULL;
}

static void object_add(struct hazard_block *at, uint64_t object, struct hazard_order *v)
{
    struct sync *s = sync_find(&at->syncs, object, true);
    s->now = vector_join(s->now, v);
    vector_unref(v);
}

void hazard_object_arrive(struct hazard_block *b, struct hazard_block *at, uint64_t object,
                          uint32_t warp, uint32_t mask)
{
    threads_heard(b, warp);
    object_add(at, object, threads_release(b, warp, mask));
}

void hazard_object_phase_ends(struct hazard_block *at, uint64_t object)
{
    struct sync *s = sync_find(&at->syncs, object, true);
    s->passed = vector_join(s->passed, s->now);
    vector_unref(s->now);
    s->now = NULL;
}

void hazard_object_passed(struct hazard_block *b, struct hazard_block *at, uint64_t object,
                          uint32_t warp, uint32_t mask)
{
    const struct sync *s = sync_find(&at->syncs, object, false);
    threads_heard(b, warp);
    if (at != b)
        orders_blocks(b);
    if (s != NULL)
        threads_acquire(b, warp, mask, s->passed);
}

/* ---- launches ---- */

struct hazard_order *hazard_launches(struct hazard_block *b, uint32_t warp, uint32_t mask)
{
    threads_heard(b, warp);
    return threads_release(b, warp, mask);
}

void hazard_awaits(struct hazard_block *b, uint32_t warp, uint32_t mask)
{
    threads_heard(b, warp);
    b->warps[warp].awaits |= mask;
    b->awaits = true;
}

void hazard_waited(struct hazard_block *b, const struct hazard_order *order)
{
    if (!b->awaits)
        return;
    b->awaits = false;
    orders_blocks(b);
    for (uint32_t w = 0; w < b->nwarps; w++) {
        threads_acquire(b, w, b->warps[w].awaits, order);
        b->warps[w].awaits = 0;
    }
}

/* ---- the barrier of a grid ---- */

void hazard_grid_arrive(struct hazard_block *b, uint32_t warp, uint32_t mask, uint64_t blocks)
{
    struct hazard_run *run = b->run;
    threads_heard(b, warp);
    struct hazard_order *v = threads_release(b, warp, mask);
    pthread_mutex_lock(&run->lock);
    b->grid_phase = atomic_load_explicit(&run->grid_phase, memory_order_relaxed);
    run->grid_now = vector_join(run->grid_now, v);
    if (++run->grid_arrived >= blocks) {
        run->grid_passed = vector_join(run->grid_passed, run->grid_now);
        vector_unref(run->grid_now);
        run->grid_now = NULL;
        run->grid_arrived = 0;
        atomic_store_explicit(&run->grid_phase, b->grid_phase + 1, memory_order_release);
    }
    pthread_mutex_unlock(&run->lock);
    vector_unref(v);
}

void hazard_grid_look(struct hazard_block *b, uint32_t warp, uint32_t mask)
{
    struct hazard_run *run = b->run;
    if (atomic_load_explicit(&run->grid_phase, memory_order_acquire) <= b->grid_phase)
        return;
    b->grid_phase = UINT32_MAX;
    orders_blocks(b);
    pthread_mutex_lock(&run->lock);
    struct hazard_order *v = vector_ref(run->grid_passed);
    pthread_mutex_unlock(&run->lock);
    threads_acquire(b, warp, mask, v);
    vector_unref(v);
}

/* ---- asynchronous copies ---- */

static struct async_state *async_of(struct hazard_block *b, uint32_t warp)
{
    struct warp_state *w = &b->warps[warp];
    b->async = true;
    if (w->async == NULL)
        w->async = xcalloc(1, sizeof *w->async);
    return w->async;
}

void hazard_async_commit(struct hazard_block *b, uint32_t warp, uint32_t mask)
{
    struct async_state *a = async_of(b, warp);
    threads_heard(b, warp);
    tick(b);
    EACH(lane, mask)
    a->commit[lane][a->commits[lane]++ % GROUPS] = b->clock;
}

void hazard_async_wait(struct hazard_block *b, uint32_t warp, uint32_t mask, uint32_t but)
{
    struct async_state *a = async_of(b, warp);
    threads_heard(b, warp);
    tick(b);
    EACH(lane, mask)
    {
        uint32_t clock = 0;
        if (but == UINT32_MAX) /* all, committed or not */
            clock = b->clock;
        else if (but < GROUPS && but < a->commits[lane])
            clock = a->commit[lane][(a->commits[lane] - 1 - but) % GROUPS];
        if (a->done[lane] < clock)
            a->done[lane] = clock;
    }
}

void hazard_async_arrive(struct hazard_block *b, struct hazard_block *at, uint64_t object,
                         uint32_t warp, uint32_t mask)
{
    (void)async_of(b, warp);
    struct vector_entry e = {b->number, (uint16_t)(ASYNC_WARPS + warp), mask, b->clock + 1};
    object_add(at, object, vector_of(&e, 1));
    tick(b);
}

/* ---- questions ---- */

static bool async_before(const struct hazard_block *b, uint32_t warp, uint32_t lane,
                         uint32_t old_warp, uint32_t old_lane, uint32_t clock)
{
    const struct async_state *a = b->warps[old_warp].async;
    if (a == NULL)
        return false;
    return clock < a->block[old_lane] || (old_warp == warp && clock < a->warp[old_lane]) ||
           (old_warp == warp && old_lane == lane && clock < a->done[old_lane]);
}

bool threads_before(const struct hazard_block *b, uint32_t warp, uint32_t lane, uint32_t block,
                    uint32_t old_warp, uint32_t old_lane, uint32_t clock)
{
    warp %= ASYNC_WARPS; /* a copy begins after what its thread has done */
    if (block == b->number) {
        if (old_warp >= ASYNC_WARPS &&
            async_before(b, warp, lane, old_warp - ASYNC_WARPS, old_lane, clock))
            return true;
        if (old_warp < ASYNC_WARPS &&
            (clock < b->all ||
             (old_warp == warp && (old_lane == lane || clock < b->warps[warp].clock))))
            return true;
    }
    return vector_has(b->after, block, old_warp, old_lane, clock) ||
           (b->warps[warp].knows &&
            vector_has(b->warps[warp].lanes[lane].after, block, old_warp, old_lane, clock));
}
