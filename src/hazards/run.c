/* run: what was found in a grid, once for each pair of instructions, and its beginning and end. */
#include <stdlib.h>

#include "hazards/internal.h"

/* ---- what was found ---- */

/* Whether the pair of instructions is found for the first time. */
static bool is_new(struct hazard_run *run, uint64_t pair)
{
    uint32_t at = (uint32_t)(pair * 0x9e3779b97f4a7c15u >> 54);
    for (uint32_t tries = 0; tries < WEIR_COUNT(run->seen); tries++, at++) {
        _Atomic uint64_t *slot = &run->seen[at % WEIR_COUNT(run->seen)];
        uint64_t there = atomic_load_explicit(slot, memory_order_relaxed);
        if (there == 0 && atomic_compare_exchange_strong(slot, &there, pair))
            return true;
        if (there == pair)
            return false;
    }
    return false;
}

static enum hazard_advice advice_of(const struct looking *l, const struct stamp *old,
                                    const struct stamp *now)
{
    const struct hazard_block *b = l->b;
    bool same_block = old->block == b->number;
    if ((old->how & now->how & STAMP_STRONG) != 0)
        return HAZARD_SCOPE;
    if (old->block - b->grid->first >= b->grid->blocks)
        return HAZARD_GRIDS;
    if (same_block && (old->warp >= ASYNC_WARPS || now->warp >= ASYNC_WARPS))
        return HAZARD_ASYNC;
    if (same_block && old->warp == now->warp)
        return old->site == now->site && old->clock == now->clock ? HAZARD_SAME_INSTRUCTION
                                                                  : HAZARD_WARP;
    if (same_block)
        return HAZARD_BLOCK;
    return l->of != NULL ? HAZARD_CLUSTER : HAZARD_GRID;
}

void run_found(const struct looking *l, const struct stamp *old, uint32_t old_lane,
               const struct stamp *now, uint32_t lane, uint32_t low, uint32_t high)
{
    struct hazard_run *run = l->b->run;
    uint32_t a = old->site, b = now->site;
    if (!is_new(run, (uint64_t)(a < b ? a : b) << 32 | (a < b ? b : a)))
        return;
    struct pair_found f = {.sides = {*old, *now},
                           .lanes = {old_lane, lane},
                           .low = l->line + low,
                           .high = l->line + high,
                           .shared = l->of != NULL,
                           .shared_block = l->of != NULL ? l->of->number : 0,
                           .advice = advice_of(l, old, now)};
    pthread_mutex_lock(&run->lock);
    vec_push(&run->found, f);
    pthread_mutex_unlock(&run->lock);
}

/* ---- runs ---- */

uint32_t run_next_epoch(void)
{
    static _Atomic uint32_t last;
    uint32_t epoch;
    do
        epoch = atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
    while (epoch == 0);
    return epoch;
}

static struct hazard_run *run_new(void)
{
    static _Atomic uint64_t last;
    struct hazard_run *run = xcalloc(1, sizeof *run);
    run->serial = atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
    run->pages = pages_take();
    atomic_init(&run->epoch, run_next_epoch());
    pthread_mutex_init(&run->lock, NULL);
    atomic_init(&run->grid_phase, 1);
    return run;
}

static void run_free(struct hazard_run *run)
{
    pages_give_back(run->pages, (uint32_t)run->serial);
    free(run->found.items);
    free(run->grids.items);
    sync_table_free(&run->syncs);
    vector_unref(run->grid_now);
    vector_unref(run->grid_passed);
    pthread_mutex_destroy(&run->lock);
    free(run);
}

/* ---- what is told ---- */

static const void *pc_of(const struct hazard_run *run, uint32_t site)
{
    return (const void *)(uintptr_t)(run->pc +
                                     (uint64_t)(int64_t)(int32_t)(site - (uint32_t)run->pc));
}

static uint32_t how_of(const struct stamp *s, uint32_t warp)
{
    return ((s->how & STAMP_WRITE) != 0 ? JIT_ACCESS_WRITE : 0) |
           ((s->how & STAMP_STRONG) != 0 ? JIT_ACCESS_STRONG : 0) |
           (warp >= ASYNC_WARPS ? JIT_ACCESS_ASYNC : 0) |
           (uint32_t)(s->how >> STAMP_SCOPE_SHIFT) << JIT_ACCESS_SCOPE_SHIFT;
}

/* The grid that a block is of: the last that begins at or before it. */
static const struct grid_record *record_of(const struct hazard_run *run, uint32_t block)
{
    size_t low = 0, high = run->grids.count;
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        if (run->grids.items[middle].first <= block)
            low = middle;
        else
            high = middle;
    }
    return &run->grids.items[low];
}

struct hazard_side run_side(const struct hazard_run *run, const struct stamp *s, uint32_t lane)
{
    const struct grid_record *grid = record_of(run, s->block);
    return (struct hazard_side){.grid = &grid->launch,
                                .pc = pc_of(run, s->site),
                                .how = how_of(s, s->warp),
                                .block = s->block - grid->first,
                                .warp = s->warp % ASYNC_WARPS,
                                .lane = lane};
}

/* Whether the grid of one side has launched the other's, or one that did. */
static bool is_descendant(const struct hazard_run *run, const struct grid_record *g,
                          const struct grid_record *of)
{
    while (g != of && g->parent != NO_PARENT)
        g = &run->grids.items[g->parent];
    return g == of;
}

static enum hazard_advice advice_between(const struct hazard_run *run, const struct pair_found *p)
{
    const struct grid_record *a = record_of(run, p->sides[0].block);
    const struct grid_record *b = record_of(run, p->sides[1].block);
    return is_descendant(run, a, b) || is_descendant(run, b, a) ? HAZARD_PARENT : HAZARD_GRIDS;
}

static void tell(const struct hazard_run *run, const struct pair_found *p,
                 void (*found)(void *self, const struct hazard_found *found), void *self)
{
    struct hazard_found f = {.first = run_side(run, &p->sides[0], p->lanes[0]),
                             .second = run_side(run, &p->sides[1], p->lanes[1]),
                             .low = p->low,
                             .high = p->high,
                             .shared = p->shared,
                             .advice = p->advice};
    if (p->shared)
        f.shared_block = p->shared_block - record_of(run, p->shared_block)->first;
    if (p->advice == HAZARD_GRIDS)
        f.advice = advice_between(run, p);
    found(self, &f);
}

/* ---- grids ---- */

struct hazard_grid *hazard_grid_begin(struct hazard_grid *parent,
                                      const struct hazard_launch *launch, uint64_t blocks,
                                      const struct hazard_order *launcher,
                                      const struct hazard_order *stream)
{
    struct hazard_grid *g = xcalloc(1, sizeof *g);
    struct hazard_run *run = parent != NULL ? parent->run : run_new();
    struct grid_record record = {.parent = NO_PARENT, .launch = *launch};
    g->run = run;
    g->parent = parent;
    g->blocks = (uint32_t)blocks;
    g->after = vector_join(vector_ref((struct hazard_order *)launcher), stream);
    pthread_mutex_lock(&run->lock);
    record.first = g->first = (uint32_t)run->blocks;
    run->blocks += blocks;
    if (parent != NULL)
        record.parent = (uint32_t)(record_of(run, parent->first) - run->grids.items);
    vec_push(&run->grids, record);
    pthread_mutex_unlock(&run->lock);
    if (parent != NULL) /* what was before may come before this one, whatever is kept of it */
        atomic_store_explicit(&run->epoch, run_next_epoch(), memory_order_relaxed);
    return g;
}

struct hazard_order *hazard_grid_ended(const struct hazard_grid *g)
{
    pthread_mutex_lock(&g->run->lock);
    struct hazard_order *v = vector_ref(g->ended);
    pthread_mutex_unlock(&g->run->lock);
    struct hazard_order *own = vector_of_blocks(g->first, g->first + g->blocks);
    v = vector_join(vector_join(v, own), g->after);
    vector_unref(own);
    return v;
}

struct hazard_order *hazard_grid_end(struct hazard_grid *g,
                                     void (*found)(void *self, const struct hazard_found *found),
                                     void *self)
{
    struct hazard_order *over = NULL;
    if (g->parent == NULL) {
        for (size_t i = 0; i < g->run->found.count; i++)
            tell(g->run, &g->run->found.items[i], found, self);
        run_free(g->run);
    } else {
        over = hazard_grid_ended(g);
        pthread_mutex_lock(&g->run->lock);
        g->parent->ended = vector_join(g->parent->ended, over);
        pthread_mutex_unlock(&g->run->lock);
    }
    vector_unref(g->after);
    vector_unref(g->ended);
    free(g);
    return over;
}

struct hazard_order *hazard_order_join(struct hazard_order *v, const struct hazard_order *other)
{
    return vector_join(v, other);
}

struct hazard_order *hazard_order_ref(struct hazard_order *v) { return vector_ref(v); }

void hazard_order_unref(struct hazard_order *v) { vector_unref(v); }
