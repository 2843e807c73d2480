/* barrier: barriers of a block that are kept by number, for kernels in which not every warp takes
 * part in every barrier (bar.sync with a thread count, bar.arrive). abi/kernel_abi.h has the
 * protocol; a block runs on one thread at a time, so nothing here is atomic. */
#include "exec/found.h"
#include "exec/threads.h"

static bool waits_at(uint32_t pc, uint32_t id)
{
    return pc != (uint32_t)JIT_PC_EXITED && (pc & JIT_PC_WAITING) != 0 &&
           pc >> JIT_PC_BARRIER_SHIFT == id;
}

/* Tells of the barrier that opens. */
static void tell_open(struct jit_block *j, uint32_t id)
{
    uint32_t waiting[JIT_MAX_WARPS] = {0};
    bool all = true;
    for (uint32_t w = 0; w < j->nwarps; w++) {
        bool waits = waits_at(j->pc[w], id);
        waiting[w] = waits ? 0xffffffffu : 0;
        all = all && (waits || j->pc[w] == (uint32_t)JIT_PC_EXITED);
    }
    threads_go_on(j->grid, id, waiting, all);
}

static void open_barrier(struct jit_block *j, uint32_t id)
{
    const uint32_t point = (1u << JIT_PC_BARRIER_SHIFT) - 1;
    struct grid_block *b = j->grid;
    if (threads_compared(b))
        tell_open(j, id);
    j->scratch[id] = 0;
    for (uint32_t w = 0; w < j->nwarps; w++)
        if (waits_at(j->pc[w], id)) {
            j->pc[w] &= point & ~(uint32_t)JIT_PC_WAITING;
            b->met[w] = b->votes[id];
        }
}

uint32_t weir_rt_barrier_vote(struct jit_block *j, uint32_t id, uint32_t yes, uint32_t no)
{
    struct grid_block *b = j->grid;
    if (j->scratch[id] == 0) /* the first to arrive */
        b->votes[id].yes = b->votes[id].no = 0;
    b->votes[id].yes = (uint16_t)(b->votes[id].yes + yes);
    b->votes[id].no = (uint16_t)(b->votes[id].no + no);
    return 0;
}

uint32_t weir_rt_barrier_votes(struct jit_block *j, uint32_t warp)
{
    const struct grid_block *b = j->grid;
    return b->met[warp].yes | (uint32_t)b->met[warp].no << 16;
}

uint32_t weir_rt_barrier_arrive(struct jit_block *j, uint32_t id, uint32_t count)
{
    if (threads_compared(j->grid))
        threads_arrive(j->grid, id, j->warp, 0xffffffffu);
    if (found_looked_for)
        found_arrival(j, id, count, __builtin_return_address(0));
    j->scratch[id] += JIT_WARP;
    if (j->scratch[id] >= count)
        open_barrier(j, id);
    return 0;
}

uint32_t weir_rt_barrier_open(struct jit_block *j)
{
    for (uint32_t id = 0; id < JIT_BARRIERS; id++) {
        uint32_t waiting = 0, live = 0;
        for (uint32_t w = 0; w < j->nwarps; w++) {
            waiting += waits_at(j->pc[w], id);
            live += j->pc[w] != (uint32_t)JIT_PC_EXITED;
        }
        if (waiting != 0 && waiting == live) {
            open_barrier(j, id);
            return 1;
        }
    }
    return 0;
}
