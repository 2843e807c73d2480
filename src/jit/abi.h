/* The contract between compiled kernels and whoever runs them (the grid room).
 *
 * A kernel is compiled, for one block shape, into one function that runs one whole block: every
 * warp up to the next barrier, then the next region, until all threads are done. It keeps no state
 * on the machine's stack across a suspension: what must live is in the block's frame, so a block
 * that returns JIT_SUSPENDED can go on later, on any thread.
 *
 * Addresses. Global, const and generic addresses are the process's own. A shared address is an
 * offset from `shared`; its generic form is the sum. A local address is an offset into the
 * thread's window: thread t's starts at local + t * local_stride.
 *
 * The compiler knows this struct by the offsets of its fields: append, never reorder, and bump
 * JIT_ABI_VERSION (it is part of the cache key) with every change. */
#ifndef WEIR_JIT_ABI_H
#define WEIR_JIT_ABI_H

#include <stdint.h>

enum { JIT_ABI_VERSION = 2, JIT_WARP = 32 };

struct jit_block {
    const uint8_t *params; /* kernel parameters at their PTX offsets */
    uint8_t *shared;       /* static shared memory first, then the dynamic part; 128-byte aligned,
                              at least 16 bytes readable past its end */
    uint8_t *local;        /* local windows of all threads, or NULL if the kernel has none */
    uint8_t *frame;        /* nwarps * kernel.frame_bytes, 64-byte aligned; zeroed never needed */
    uint32_t *pc;          /* nwarps resume points; all 0 before the first call */
    uint32_t ctaid[3];
    uint32_t nctaid[3];
    uint32_t ntid[3];
    uint32_t nthreads, nwarps;
    uint32_t dynamic_shared; /* bytes */
    uint32_t total_shared;   /* bytes, static + dynamic */
    uint64_t local_stride;   /* bytes of one thread's local window */
    uint64_t gridid;
    uint32_t smid, nsmid; /* the worker's number, how many there are */
    uint32_t clusterid[3], nclusterid[3], cluster_ctaid[3], cluster_nctaid[3];
    uint32_t envreg[4];     /* %envreg0..3; 1 and 2 form the cooperative workspace's address */
    int32_t budget;         /* polls a spinning loop may still make before it must suspend */
    uint32_t state;         /* owned by compiled code: where the block goes on; 0 at first */
    void *grid;             /* the grid room's own object, for the helpers below */
    uint32_t warp;          /* warp now running: kept up to date before helpers and faults */
    uint32_t barrier_count; /* owned by compiled code */
    uint64_t scratch[16];   /* owned by compiled code: named barriers and their kin */
    uint32_t fault_line;    /* unused by compiled code */
    uint32_t reserved;
};

/* What pc[] holds: resume point * 2, plus a bit that says whether the warp waits for the next phase
 * (all of the block's warps meet at every barrier) or, in kernels with numbered barriers, plus
 * JIT_PC_WAITING and the barrier's number while the warp waits. */
enum {
    JIT_PC_WAITING = 1,
    JIT_PC_BARRIER_SHIFT = 24,
    JIT_PC_EXITED = -1, /* all threads of the warp have ended */
};

/* Numbered barriers; scratch[id] counts the threads that have arrived.
 * uint32_t weir_rt_barrier_arrive(struct jit_block *block, uint32_t id, uint32_t count);
 *     32 more threads arrive; at `count` those that wait go on and the barrier starts anew.
 * uint32_t weir_rt_barrier_open(struct jit_block *block);
 *     No warp can run: opens the barrier at which every warp that has not ended waits; 0 when there
 *     is none, and the block can never go on. */

enum jit_status {
    JIT_DONE = 0,      /* every thread has exited */
    JIT_SUSPENDED = 1, /* waiting for memory that others write: call again later */
    JIT_WAITING = 2,   /* waiting for an event the grid room knows of (device-side synchronize) */
};

/* Runs the block until it is done or must wait. */
typedef uint32_t (*jit_block_fn)(struct jit_block *block);

/* ---- what compiled code calls ---------------------------------------------------------------
 * Functions that PTX calls but does not define (vprintf, malloc, cudaLaunchDevice …) and that are
 * not arithmetic are reached under the name weir_rt_<name> with this one signature:
 *   args  [n][32]: argument k of lane l is args[k * 32 + l], zero-extended to 64 bits; an argument
 *         of more than 8 bytes (an array in .param space) takes ceil(bytes / 8) rows
 *   rets  likewise; only lanes in `mask` are read and written
 * They are supplied by the grid room's table (jit_helper in jit.h). */
typedef void (*jit_extern_fn)(struct jit_block *block, uint32_t mask, const uint64_t *args,
                              uint64_t *rets);

/* Traps and faults that the code itself detects: never returns to compiled code (the grid room
 * leaves by its own way). `kind` is enum jit_fault. */
enum jit_fault {
    JIT_FAULT_TRAP = 1,    /* trap; brkpt outside a debugger */
    JIT_FAULT_ILLEGAL = 2, /* reached what cannot be executed: a call through a wrong pointer */
    JIT_FAULT_MISALIGNED = 3,
    JIT_FAULT_STACK = 4, /* the call stack (cudaLimitStackSize) is used up */
};
/* void weir_rt_fault(struct jit_block *block, uint32_t kind, uint32_t mask, uint64_t address); */

#endif
