/* warps: kernels on fibers. A function that is not inlined cannot suspend as a kernel does, whose
 * state at a barrier is in its frames. Where such functions wait at barriers, the kernel is
 * compiled as a function itself (compiler/codegen/control/fibers.c), and each warp runs it on a
 * stack of its own (fiber.c). Here the block's warps take turns: each runs until its lanes wait or
 * spin.
 *
 * A divergent warp may have lanes that wait at a barrier and others that are pending elsewhere, at
 * a place where they are to meet the first: a call, a shuffle. As a rule they wait for them. When
 * no warp of the block can go on, they are what the barrier waits for: then they go first
 * (`stuck`). If that does not help, either, the block can never go on. */
#include <stdlib.h>

#include "base/bits.h"
#include "base/schedule.h"
#include "exec/lane_barriers.h"

enum {
    OFFERS = 64,        /* how often other lanes may go first before the next warp runs, ... */
    OFFERS_STUCK = 1000 /* if no warp can go on */
};

static void begin(struct grid_block *b)
{
    if (b->lanes == NULL)
        b->lanes = malloc(sizeof *b->lanes);
    if (b->lanes == NULL)
        fault_leave(b->worker, &(struct trouble){.kind = GRID_FAULT_MEMORY});
    lanes_begin(b->lanes, &b->jit);
    b->blocked = b->spun = b->stuck = false;
}

/* Runs the warp until it waits, spins or has ended. True: it spins. */
static bool run_warp(struct grid_block *b, uint32_t warp, jit_function kernel)
{
    struct jit_block *j = &b->jit;
    uint32_t *pc = &j->pc[warp];
    j->warp = warp;
    if (*pc == 0) {
        if (!fiber_start(b, kernel, warp, b->lanes->live[warp]))
            fault_leave(b->worker, &(struct trouble){.kind = GRID_FAULT_MEMORY});
        *pc = 2; /* it has begun */
    }
    enum fiber_state state = fiber_go_on(b, warp);
    if (state == FIBER_OVER) {
        *pc = (uint32_t)JIT_PC_EXITED;
        lanes_end(b, warp, b->lanes->live[warp]);
    }
    return state == FIBER_SPINS;
}

/* Does the schedule want the last warp first? */
static bool runs_backwards(const char *kernel)
{
    return schedule_which(SCHEDULE_WARPS, schedule_name(kernel), 2) != 0;
}

uint32_t weir_rt_warps(struct jit_block *j, jit_function kernel)
{
    struct grid_block *b = j->grid;
    const int32_t budget = j->budget;
    bool backwards = schedule_on() && runs_backwards(b->run->launch.kernel->name);
    if (j->state == 0) {
        begin(b);
        j->state = 1;
    }
    for (;;) {
        uint64_t events = b->events;
        bool spins = false, lives = false;
        for (uint32_t turn = 0; turn < j->nwarps; turn++) {
            uint32_t w = backwards ? j->nwarps - 1 - turn : turn;
            if (j->pc[w] == (uint32_t)JIT_PC_EXITED)
                continue;
            lives = true;
            j->budget = budget;
            spins |= run_warp(b, w, kernel);
        }
        if (!lives)
            return JIT_DONE;
        bool moved = b->events != events, tried = b->stuck;
        b->stuck = !moved && !spins && !tried;
        if (!moved && spins)
            return JIT_SUSPENDED;
        if (!moved && tried)
            fault_leave(b->worker,
                        &(struct trouble){.kind = GRID_FAULT_ILLEGAL,
                                          .text = "all threads of the block that have not ended "
                                                  "wait at barriers for others to arrive"});
    }
}

uint32_t weir_rt_yield(struct jit_block *j, uint32_t warp, uint32_t others)
{
    struct grid_block *b = j->grid;
    if (grid_faulted(b->run->env) != GRID_FAULT_NONE)
        fault_leave(b->worker, &(struct trouble){.kind = GRID_FAULT_TRAP});
    b->spun |= !b->blocked;
    b->blocked = false;
    bool some = (others & ~b->lanes->waiting[warp]) != 0;
    if (some && b->offers++ < (b->stuck ? OFFERS_STUCK : OFFERS))
        return b->stuck ? 2 : 1;
    fiber_yield(b, !b->spun);
    return 0;
}

/* The first number from `first` to before `end` that is in both sets, -1: none is. */
static int32_t first_of_both(const uint64_t *a, const uint64_t *b, uint32_t first, uint32_t end)
{
    for (uint32_t n = first; n < end; n = (n | 63) + 1) {
        uint64_t both = a[n >> 6] & b[n >> 6] & ~0ull << (n & 63);
        uint32_t found = (n & ~63u) + (both != 0 ? (uint32_t)__builtin_ctzll(both) : 0);
        if (both != 0)
            return found < end ? (int32_t)found : -1;
    }
    return -1;
}

uint32_t weir_rt_take_pending(uint64_t *pending, const uint64_t *may, uint32_t blocks,
                              uint32_t after)
{
    int32_t found = first_of_both(pending, may, after + 1, blocks);
    if (found < 0)
        found = first_of_both(pending, may, 0, after);
    if (found < 0)
        return UINT32_MAX;
    bit_clear(pending, found);
    return (uint32_t)found;
}
