/* lane_barriers: barriers of a block that are counted by lane, in kernels whose warps run on stacks
 * of their own (warps.c). A warp need not arrive as a whole: lanes that have diverged arrive one
 * group after the other, from different calls. */
#ifndef WEIR_EXEC_LANE_BARRIERS_H
#define WEIR_EXEC_LANE_BARRIERS_H

#include "exec/internal.h"

/* A block is about to run: all of its threads live, none waits. `l` may hold anything. */
void lanes_begin(struct lane_barriers *l, const struct jit_block *j);
/* Threads end: barriers that waited for no others open. */
void lanes_end(struct grid_block *b, uint32_t warp, uint32_t mask);

struct lane_barriers {
    uint32_t live[JIT_MAX_WARPS];    /* lanes whose threads have not ended */
    uint32_t waiting[JIT_MAX_WARPS]; /* lanes that wait, at whichever barrier */
    uint32_t nwarps;
    uint64_t opened; /* barriers, so far */
    struct lane_barrier {
        bool used;                       /* some have arrived */
        uint32_t count;                  /* of threads that it is for; 0: all that live */
        uint32_t again;                  /* threads that have arrived once more */
        struct votes votes;              /* of those that have arrived */
        uint32_t arrived[JIT_MAX_WARPS]; /* lanes */
        uint32_t waiting[JIT_MAX_WARPS]; /* those of them that wait */
    } at[16];
    struct votes met[JIT_MAX_WARPS][JIT_WARP]; /* at the last barrier that a lane waited at */
};

#endif
