/* found: what the checks of initialisation and of synchronization find in kernels, and the helpers
 * that compiled code calls for them (abi/kernel_abi.h). What is found stays with the run until it
 * is told, once for each instruction and kind. */
#ifndef WEIR_EXEC_FOUND_H
#define WEIR_EXEC_FOUND_H

#include "abi/kernel_abi.h"
#include "exec/grid.h"

enum grid_finding {
    FOUND_UNWRITTEN,        /* a read of bytes that nothing has written */
    FOUND_DIVERGED_BARRIER, /* a barrier that not all threads of a warp have come to */
    FOUND_NOT_MEMBER,       /* a thread that its own mask does not name */
    FOUND_MISSING_MEMBERS,  /* a mask names threads that are elsewhere */
    FOUND_NO_MEMBERS,       /* a mask names threads that have ended or never were */
    FOUND_OTHER_COUNT,  /* a barrier for another number of threads than the first to come said */
    FOUND_OTHER_BARRIER /* warps of a block that wait for each other at two barriers of the source
                         */
};

struct grid_found {
    enum grid_finding kind;
    const void *pc, *other_pc; /* the latter of FOUND_OTHER_BARRIER: where other warps wait */
    uint32_t block[3], thread; /* thread: its number in the block */
    uint64_t address; /* FOUND_UNWRITTEN: the first such byte; in shared memory its offset */
    uint32_t bytes;   /* of the access */
    bool shared;
    uint32_t lanes,
        others; /* of the warp: that came; that did not, or should not have been named */
    uint32_t barrier, count, first; /* number, and how many threads it is for, was for at first */
    uint32_t other_barrier, other_thread; /* FOUND_OTHER_BARRIER: the second, and a thread there */
};

/* The lanes of `mask` are about to read elements of so many bytes. out: where the bits of bytes
 * that were never written go, one byte a lane; NULL: they decide something, so that is told. */
void weir_rt_defined_read(struct jit_block *j, uint32_t mask, const uint64_t *address,
                          uint32_t bytes, uint8_t *out, uint32_t shape);
/* ... to write; in: such bits of what is written, NULL: all of it is known. */
void weir_rt_defined_write(struct jit_block *j, uint32_t mask, const uint64_t *address,
                           uint32_t bytes, const uint8_t *in, uint32_t shape);
/* Lanes of `mask` come to a barrier of the block. site: which one it is in the kernel, if all
 * threads must come to the same; else 0. */
void weir_rt_sync_barrier(struct jit_block *j, uint32_t mask, uint32_t site);
/* ... to an operation of the warp, of its `live` ones; members: whom each of them names. */
void weir_rt_sync_warp(struct jit_block *j, uint32_t mask, uint32_t live, const uint64_t *members);

/* Barriers by number (barrier.c), while barriers are looked at: an arrival for another number of
 * threads than the first one said. */
extern bool found_looked_for;
void found_arrival(struct jit_block *j, uint32_t id, uint32_t count, const void *pc);

/* Calls found(self, ...) for each, and forgets them. Only of complete runs. */
void grid_found_told(struct grid_run *run,
                     void (*found)(void *self, const struct grid_found *found), void *self);

#endif
