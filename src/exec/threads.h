/* threads: tells the hazards layer what the threads of a grid do, for those who look for races
 * within a grid. Kernels compiled with JIT_CHECKS_THREADS call the two helpers; the helpers that
 * keep barriers tell of those. */
#ifndef WEIR_EXEC_THREADS_H
#define WEIR_EXEC_THREADS_H

#include "exec/internal.h"
#include "hazards/hazards.h"

/* See abi/kernel_abi.h. */
void weir_rt_thread_access(struct jit_block *j, uint32_t mask, const uint64_t *address,
                           uint32_t how, const uint64_t *values, uint32_t shape);
void weir_rt_thread_order(struct jit_block *j, uint32_t op, uint32_t mask, uint32_t arg,
                          const uint64_t *rows);

/* From now on kernels are compiled so that accesses of their threads are compared; once, before the
 * first. */
void threads_compare(void);
bool threads_are_compared(void);

/* The same for copies and barrier objects, which may be the first that the grid's threads do. */
bool threads_will_compare(const struct grid_block *b);

/* Whether accesses of the grid's threads are compared, and some have been. */
static inline bool threads_compared(const struct grid_block *b)
{
    return WEIR_UNLIKELY(atomic_load_explicit(&b->run->hazards, memory_order_relaxed) != NULL);
}

/* The rest only if they are. */

/* What the block's threads have done and come after. */
struct hazard_block *threads_of(struct grid_block *b);
/* Threads of a block that arrive at a barrier, and go on there: by number. */
void threads_arrive(struct grid_block *b, uint32_t id, uint32_t warp, uint32_t mask);
void threads_go_on(struct grid_block *b, uint32_t id, const uint32_t waiting[JIT_MAX_WARPS],
                   bool all);
/* An object in the shared memory of the block or of its cluster, at a generic address. */
enum threads_object { OBJECT_INIT, OBJECT_ARRIVE, OBJECT_PHASE_ENDS, OBJECT_PASSED, OBJECT_COPIES };
void threads_object(struct grid_block *b, uint64_t address, uint32_t lane,
                    enum threads_object what);
/* An asynchronous copy of the lane's reads or writes bytes; ... and all of a copy. */
void threads_copy_side(struct grid_block *b, uint32_t lane, uint64_t at, uint64_t bytes,
                       bool writes, const void *pc);
void threads_copy(struct grid_block *b, uint32_t lane, uint64_t to, uint64_t from, uint64_t bytes,
                  const void *pc);

/* The lane gets memory of the grid's heap, ... and gives it back: which counts as a write. */
void threads_allocated(struct grid_block *b, uint64_t at, uint64_t bytes);
void threads_freed(struct grid_block *b, uint32_t lane, uint64_t at, uint64_t bytes,
                   const void *pc);

/* A kernel of ours reads or writes bytes; value: see touch_block. */
void threads_block(struct grid_block *b, uint64_t at, uint64_t bytes, bool writes,
                   const uint32_t *value, const void *pc);

/* Launches by kernels, if any grid's threads are compared (or it is of a kernel of ours, and what
 * grids touch is told): a launch by its thread; what else comes before it; it is gone. */
void threads_launch(struct grid_block *b, struct cdp_child *c, const void *pc);
void threads_launch_follows(struct cdp_child *c, const struct hazard_order *order);
void threads_launch_over(struct cdp_child *c);
/* Lanes wait for what their block has launched; ... and go on. */
void threads_await(struct grid_block *b, uint32_t mask);
void threads_waited(struct grid_block *b);

/* The run's blocks and all that it has launched until now and that is over. NULL: nothing. */
struct hazard_order *grid_threads_ended(const struct grid_run *run);
/* What is kept of a complete run's accesses (hazard_grid_accesses), unless a kernel has launched
 * it. */
void grid_threads_accesses(const struct grid_run *run, uint64_t most,
                           void (*each)(void *self, const struct hazard_warps *w), void *self);
/* What of a complete run, and of all that it has launched, nothing orders: calls found(self, ...)
 * for each pair of instructions, and forgets it. Of runs that kernels have launched, returns what
 * comes before what follows them; the others tell. */
struct hazard_order *grid_threads_told(struct grid_run *run,
                                       void (*found)(void *self, const struct hazard_found *found),
                                       void *self);

#endif
