/* try_cancel: a cluster takes over another one of its grid that has not begun
 * (clusterlaunchcontrol, abi/kernel_abi.h).
 *
 * Clusters, or blocks alone, that have not begun are those that this thread has been handed and has
 * not come to, and those that nobody has been handed. What is taken over counts as ended. */
#include "base/schedule.h"
#include "exec/bulk.h"
#include "exec/check.h"
#include "exec/run.h"
#include "exec/threads.h"

enum { RESPONSE_BYTES = 16 };

/* Takes a cluster; its index among those of the grid. */
static bool take(struct grid_block *b, uint64_t *index)
{
    struct grid_run *run = b->run;
    struct rest *rest = b->worker->rest;
    if (rest != NULL && rest->run == run && rest->next < rest->end) {
        *index = --rest->end; /* the thread counts it with those that it was handed */
        return true;
    }
    if (atomic_load_explicit(&run->next, memory_order_relaxed) >= run->total)
        return false;
    if (run->parts != NULL) {
        uint32_t from = 0;
        if (parts_take(run, b->worker->smid, &from, 1, index) == 0)
            return false;
        if (atomic_fetch_add_explicit(&run->next, 1, memory_order_relaxed) >= run->total)
            return false; /* given up meanwhile */
    } else {
        *index = atomic_fetch_add_explicit(&run->next, 1, memory_order_relaxed);
        if (*index >= run->total)
            return false;
        if (schedule_on())
            *index = schedule_block(run->order, *index, run->total);
    }
    run_finish(run, 1); /* not the last: the block that asks is another */
    return true;
}

static void respond(struct jit_block *j, const uint32_t words[4], uint64_t response,
                    uint64_t barrier, uint32_t lane, const void *pc)
{
    bulk_check_aligned(j, response, RESPONSE_BYTES, lane);
    check_others(j, 1u << lane, response, pc);
    if (threads_will_compare(j->grid))
        threads_copy_side(j->grid, lane, response, RESPONSE_BYTES, true, pc);
    memcpy((void *)response, words, RESPONSE_BYTES);
    grid_wrote(j, (const void *)response, RESPONSE_BYTES);
    bulk_complete(j, barrier, RESPONSE_BYTES, lane);
}

/* The index of the first block of a cluster, as a response. */
static void first_block(const struct grid_run *run, uint64_t index, uint32_t words[4])
{
    const uint32_t *c = run->launch.cluster, *g = run->launch.grid;
    uint32_t size[3];
    for (int d = 0; d < 3; d++)
        size[d] = c[d] > 0 ? c[d] : 1;
    uint32_t nx = g[0] / size[0], ny = g[1] / size[1];
    words[0] = (uint32_t)(index % nx) * size[0];
    words[1] = (uint32_t)(index / nx % ny) * size[1];
    words[2] = (uint32_t)(index / nx / ny) * size[2];
    words[3] = 1;
}

void weir_rt_try_cancel(struct jit_block *j, uint32_t all, uint32_t mask,
                        const uint64_t response[JIT_WARP], const uint64_t barrier[JIT_WARP])
{
    const void *pc = __builtin_return_address(0);
    struct grid_block *b = j->grid;
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(left), words[4] = {0};
        uint64_t index;
        if (take(b, &index))
            first_block(b->run, index, words);
        for (uint32_t r = 0; all != 0 && r < j->cluster_size; r++)
            respond(j, words, cluster_map(j, response[lane], r), cluster_map(j, barrier[lane], r),
                    lane, pc);
        if (all == 0)
            respond(j, words, response[lane], barrier[lane], lane, pc);
    }
}
