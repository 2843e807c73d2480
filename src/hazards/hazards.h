/* hazards: accesses by threads of one grid, and of grids that its kernels launch, that nothing
 * orders. Decided by happens-before, as PTX's memory model has it, and never by what ran when.
 *
 * **What orders** two accesses of different threads:
 *   - a barrier of the block that both threads pass between them (with a number and a count: those
 *     that take part), __syncwarp for the lanes that it names, the barrier of a cluster, a barrier
 *     object (mbarrier) that one arrives at and the other has waited for;
 *   - a release that the other thread's acquire has seen: st.release, ld.acquire, atomics with
 *     these, or relaxed ones (volatile ones too) with a fence before and a fence after; at scopes
 *     that include both threads. So atomics and fences of the block order no other block's threads;
 *   - for asynchronous copies, besides, the wait of the thread that made the copy;
 *   - a launch by a thread, before all that the launched grid does; what was before in the stream
 *     of the launch; and the end of a grid with all that it has launched, before what follows it in
 *     its stream, before tail launches of the grid that launched it, and before what waits for it.
 * Shuffles, votes and the like order nothing, and lanes of a warp are threads like others.
 *
 * Two accesses of a byte race when at least one writes and neither is ordered before the other,
 * unless both are strong (atomic, volatile, relaxed or more) at scopes that include both threads.
 * Writes of the same value are not told: nobody can see which came last.
 *
 * **How.** Each block has a clock, which every release in it raises. An access is stamped with its
 * thread and the clock. What a thread comes after is known by level: the whole block up to a clock
 * (barriers), its warp up to a clock (__syncwarp), and for what is rare an explicit vector
 * (clock.c). For each line of 128 bytes of memory the accesses are kept that may still race
 * (shadow.c): as patterns of whole warps where these go through the line lane by lane, by word or
 * byte elsewhere. Of readers that nothing orders, two are kept, in different blocks or warps if
 * there are any.
 *
 * A block runs on one thread of the machine at a time, and so does a cluster. The memory of a grid
 * has a lock for each line. */
#ifndef WEIR_HAZARDS_HAZARDS_H
#define WEIR_HAZARDS_HAZARDS_H

#include "abi/kernel_abi.h"
#include "base/base.h"

struct hazard_grid;  /* while it and what it has launched run */
struct hazard_block; /* of a block while it runs */
struct hazard_order; /* what something comes after; immutable and counted. NULL: nothing */

/* A launch, as those know it who are told of what is found. */
struct hazard_launch {
    const void *kernel;
    uint32_t grid[3], block[3];
    const void *launcher; /* the kernel that launched it, NULL: the host; */
    const void *pc;       /* and where in it */
};

struct hazard_side {
    const struct hazard_launch *grid;
    const void *pc;
    uint32_t how; /* JIT_ACCESS_ bits but the number of bytes */
    uint32_t block, warp, lane;
};

/* What would have ordered the two. */
enum hazard_advice {
    HAZARD_SAME_INSTRUCTION, /* lanes of one warp write the same byte at once */
    HAZARD_WARP,             /* threads of a warp: __syncwarp */
    HAZARD_BLOCK,            /* of a block: __syncthreads */
    HAZARD_CLUSTER,
    HAZARD_GRID,
    HAZARD_PARENT, /* of a grid and one that it has launched, or that led to that */
    HAZARD_GRIDS,  /* of two grids that kernels have launched */
    HAZARD_SCOPE,  /* both are atomic, but at too small a scope */
    HAZARD_ASYNC,  /* an asynchronous copy that is not waited for */
};

struct hazard_found {
    struct hazard_side first, second;
    uint64_t low, high; /* bytes: addresses, or offsets into shared memory */
    bool shared;
    uint32_t shared_block; /* whose shared memory */
    enum hazard_advice advice;
};

/* A grid begins, of so many blocks: the host's (NULL), which comes after nothing that is kept here,
 * or one that a thread of `parent` has launched, after what `launcher` and `stream` have. */
struct hazard_grid *hazard_grid_begin(struct hazard_grid *parent,
                                      const struct hazard_launch *launch, uint64_t blocks,
                                      const struct hazard_order *launcher,
                                      const struct hazard_order *stream);
/* It, and all that it has launched until now and that is over, as an order. */
struct hazard_order *hazard_grid_ended(const struct hazard_grid *g);
/* Warps that have accessed bytes of global memory by one instruction, `count` of them: the first
 * accessed [low, high), each next one what is `step` bytes after that. */
struct hazard_warps {
    const struct hazard_launch *grid;
    const void *pc;
    uint32_t how; /* as in struct hazard_side */
    uint64_t low, high;
    /* The lane that accesses a byte: its distance from the origin, shifted; or `lane`, where that
     * is more than there are lanes. */
    uint64_t origin;
    uint32_t shift, lane, mask;
    uint64_t number, number_step; /* the warp, counted through all blocks of its grid */
    uint64_t count, step;
};
/* The host's grid, and all that it has launched, is over: calls each(self, ...) for what is kept of
 * their accesses, at most so often. */
void hazard_grid_accesses(const struct hazard_grid *g, uint64_t most,
                          void (*each)(void *self, const struct hazard_warps *w), void *self);

/* It and all that it has launched is over; g is gone. Of the host's, calls found(self, ...) once
 * for each pair of instructions, and forgets all of it. Of others, returns what comes before what
 * follows. */
struct hazard_order *hazard_grid_end(struct hazard_grid *g,
                                     void (*found)(void *self, const struct hazard_found *found),
                                     void *self);

/* Uses up the reference to `v` and returns one. */
struct hazard_order *hazard_order_join(struct hazard_order *v, const struct hazard_order *other);
struct hazard_order *hazard_order_ref(struct hazard_order *v);
void hazard_order_unref(struct hazard_order *v);

struct hazard_block *hazard_block_new(void);
void hazard_block_free(struct hazard_block *b);
/* The block begins. `block` and `cluster` are numbers in the grid; its shared memory is at
 * `shared`. */
void hazard_block_begin(struct hazard_block *b, struct hazard_grid *grid, uint32_t block,
                        uint32_t cluster, uint32_t nthreads, uint64_t shared,
                        uint32_t shared_bytes);

/* Lanes of `mask` are about to access memory; how: JIT_ACCESS_ bits. `of`: the block in whose
 * shared memory the addresses are; NULL: in global memory. values: what they write, a
 * number for each lane, or NULL. */
void hazard_access(struct hazard_block *b, struct hazard_block *of, uint32_t warp, uint32_t mask,
                   const uint64_t address[JIT_WARP], uint32_t how, const uint64_t *values,
                   const void *pc);
/* The same for lanes one after the other (`next`), lane n from origin + n * bytes on, or all at
 * `origin`; then for the same `step` bytes further on, `count` times in all. */
void hazard_access_run(struct hazard_block *b, struct hazard_block *of, uint32_t warp,
                       uint32_t mask, uint64_t origin, bool next, uint32_t count, uint64_t step,
                       uint32_t how, const uint64_t *values, const void *pc);
/* A thread gets bytes [low, high) of global memory, whole words, to itself: what was accessed there
 * belongs to others that have given it back. */
void hazard_allocated(struct hazard_block *b, uint64_t low, uint64_t high);
/* ... and have read it, strongly: they come after what was released there. */
void hazard_acquired(struct hazard_block *b, struct hazard_block *of, uint32_t warp, uint32_t mask,
                     const uint64_t address[JIT_WARP], uint32_t how);

/* Atomic functions of the lanes are done and gave them what was there before: what they have told
 * of as accesses before that comes after all atomic writes told of until now. */
void hazard_exchanged(struct hazard_block *b, struct hazard_block *of, uint32_t warp, uint32_t mask,
                      const uint64_t address[JIT_WARP], uint32_t how, const void *pc);

void hazard_fence(struct hazard_block *b, uint32_t warp, uint32_t mask, enum jit_scope scope);
/* __syncwarp of the lanes, each with those that it names. */
void hazard_warp_barrier(struct hazard_block *b, uint32_t warp, uint32_t mask,
                         const uint64_t members[JIT_WARP]);
/* The warp waits at the barrier of all warps of the block; when it is heard of again, all of them
 * have come. */
void hazard_block_barrier(struct hazard_block *b, uint32_t warp);
/* Barriers by number. Lanes that wait are not heard of until it opens. */
void hazard_barrier_arrive(struct hazard_block *b, uint32_t id, uint32_t warp, uint32_t mask);
/* It opens for the lanes that wait, by warp. `all`: they are all threads that have not ended. */
void hazard_barrier_open(struct hazard_block *b, uint32_t id, const uint32_t waiting[JIT_WARP],
                         bool all);

/* Objects with phases, by address: arrivals come before what follows a wait for their phase. `at`:
 * the block whose shared memory the object is in. */
void hazard_object_init(struct hazard_block *at, uint64_t object);
void hazard_object_arrive(struct hazard_block *b, struct hazard_block *at, uint64_t object,
                          uint32_t warp, uint32_t mask);
void hazard_object_phase_ends(struct hazard_block *at, uint64_t object);
void hazard_object_passed(struct hazard_block *b, struct hazard_block *at, uint64_t object,
                          uint32_t warp, uint32_t mask);

/* Lanes launch something: what comes before it. */
struct hazard_order *hazard_launches(struct hazard_block *b, uint32_t warp, uint32_t mask);
/* Lanes wait for what their block has launched; ... which has that order, and they go on. */
void hazard_awaits(struct hazard_block *b, uint32_t warp, uint32_t mask);
void hazard_waited(struct hazard_block *b, const struct hazard_order *order);

/* The barrier of a cooperative grid of so many blocks, at which one thread of each arrives and then
 * looks again and again: whoever looks comes after all of them as soon as they have arrived. What
 * the barrier is made of need not be told, and would not do: a block that runs ahead arrives for
 * the next time before a late one looks. */
void hazard_grid_arrive(struct hazard_block *b, uint32_t warp, uint32_t mask, uint64_t blocks);
void hazard_grid_look(struct hazard_block *b, uint32_t warp, uint32_t mask);

/* Asynchronous copies (accesses with JIT_ACCESS_ASYNC): commits of groups, waits until at most
 * `but` groups are under way, and arrivals at an object when the copies so far have ended. */
void hazard_async_commit(struct hazard_block *b, uint32_t warp, uint32_t mask);
void hazard_async_wait(struct hazard_block *b, uint32_t warp, uint32_t mask, uint32_t but);
void hazard_async_arrive(struct hazard_block *b, struct hazard_block *at, uint64_t object,
                         uint32_t warp, uint32_t mask);

#endif
