/* run: what was found in a grid, once for each pair of instructions, and its beginning and end. */
#include <stdlib.h>

#include "hazards/internal.h"

/* ---- what was found ---- */

bool stamps_conflict(const struct stamp *old, const struct stamp *now, const struct hazard_block *b)
{
    uint32_t both = old->how & now->how, either = old->how | now->how;
    if ((either & STAMP_WRITE) == 0)
        return false;
    if ((both & STAMP_STRONG) == 0)
        return true;
    uint32_t scope = old->how >> STAMP_SCOPE_SHIFT, other = now->how >> STAMP_SCOPE_SHIFT;
    scope = scope < other ? scope : other;
    return old->block != b->number && scope == JIT_SCOPE_BLOCK;
}

bool stamp_seen_through(const struct stamp *old, const struct stamp *through)
{
    uint32_t atomic = STAMP_WRITE | STAMP_STRONG, exchange = atomic | STAMP_EXCHANGE;
    uint32_t scope = old->how >> STAMP_SCOPE_SHIFT, other = through->how >> STAMP_SCOPE_SHIFT;
    return (old->how & atomic) == atomic && (through->how & exchange) == exchange &&
           (old->block == through->block || (scope != JIT_SCOPE_BLOCK && other != JIT_SCOPE_BLOCK));
}

static const void *pc_of(const struct hazard_run *run, uint32_t site)
{
    return (const void *)(uintptr_t)(run->pc +
                                     (uint64_t)(int64_t)(int32_t)(site - (uint32_t)run->pc));
}

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

static uint32_t how_of(const struct stamp *s, uint32_t warp)
{
    return ((s->how & STAMP_WRITE) != 0 ? JIT_ACCESS_WRITE : 0) |
           ((s->how & STAMP_STRONG) != 0 ? JIT_ACCESS_STRONG : 0) |
           (warp >= ASYNC_WARPS ? JIT_ACCESS_ASYNC : 0) |
           (uint32_t)(s->how >> STAMP_SCOPE_SHIFT) << JIT_ACCESS_SCOPE_SHIFT;
}

static struct hazard_side side_of(const struct hazard_run *run, const struct stamp *s,
                                  uint32_t lane)
{
    return (struct hazard_side){.pc = pc_of(run, s->site),
                                .how = how_of(s, s->warp),
                                .block = s->block,
                                .warp = s->warp % ASYNC_WARPS,
                                .lane = lane};
}

static enum hazard_advice advice_of(const struct looking *l, const struct stamp *old,
                                    const struct stamp *now)
{
    const struct hazard_block *b = l->b;
    bool same_block = old->block == b->number;
    if ((old->how & now->how & STAMP_STRONG) != 0)
        return HAZARD_SCOPE;
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
    struct hazard_found f = {.first = side_of(run, old, old_lane),
                             .second = side_of(run, now, lane),
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

struct hazard_run *hazard_run_new(void)
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

void hazard_run_end(struct hazard_run *run,
                    void (*found)(void *self, const struct hazard_found *found), void *self)
{
    for (size_t i = 0; i < run->found.count; i++)
        found(self, &run->found.items[i]);
    pages_give_back(run->pages, (uint32_t)run->serial);
    free(run->found.items);
    sync_table_free(&run->syncs);
    vector_unref(run->grid_now);
    vector_unref(run->grid_passed);
    pthread_mutex_destroy(&run->lock);
    free(run);
}
