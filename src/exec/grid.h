/* grid: runs one grid of blocks on the threads that offer themselves (the device layer's workers
 * and host threads that wait).
 *
 * Blocks are handed out in runs, by an atomic counter or from a part for each thread (parts.c). A
 * block that must wait for memory that others write comes back suspended: its context (frame,
 * shared and local memory) leaves the worker and goes to the end of a queue of parked blocks, from
 * which any worker resumes it; the worker goes on with a fresh context. So a kernel that spins
 * never holds a worker.
 *
 * What goes wrong in a kernel (wild pointers, traps, failed assertions) leaves the compiled code
 * through a signal handler or a helper, by siglongjmp to the worker, becomes a struct grid_fault in
 * the environment and ends the grid; the process lives on. Signals that do not come from device
 * code go to the handlers that were there before.
 *
 * Helpers that compiled code calls (printf, assert, malloc, free, faults) live here, too. */
#ifndef WEIR_EXEC_GRID_H
#define WEIR_EXEC_GRID_H

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "abi/kernel_abi.h"
#include "base/base.h"
#include "memory/memory.h"

/* ---- what is launched ---- */

/* A kernel as the exec layer sees it. The driver fills it from jit_code and jit_kernel_info and
 * keeps it alive until every launch of it is complete. */
struct grid_kernel {
    _Atomic(jit_block_fn)
        run; /* may be replaced at any time by one that keeps to the same frames */
    _Atomic(const uint8_t *) optimized_text; /* of what has replaced it; NULL: nothing has */
    size_t optimized_bytes;                  /* written before optimized_text */
    _Atomic uint64_t
        stack_bytes;           /* of the machine's stack, if it is much that a call needs, else 0 */
    _Atomic uint32_t replaced; /* 1: it has been, and blocks that run the one before may leave it */
    const char *name;          /* for messages */
    uint32_t frame_bytes;      /* per warp */
    uint32_t pc_count;         /* resume points, informative */
    uint64_t static_shared;    /* bytes */
    uint64_t local_bytes;      /* per thread, fixed part */
    uint32_t shared_align;     /* of the windows: powers of two; 0: what every kernel gets */
    uint32_t local_align;
    bool can_suspend;    /* has polling loops */
    bool abreast;        /* the blocks of a call go through loops side by side */
    bool streams;        /* goes through the blocks of a call row by row of their threads */
    bool collects;       /* a call has work at its end, for which all cores want the same memory */
    uint32_t panel;      /* blocks are handed out by panels of so many columns of the grid, from top
                            to bottom of each; 0: row by row */
    uint32_t joined;     /* it is compiled for that many neighbouring blocks in x side by side, as
                            one; the grid has a multiple of them. 0, 1: for each by itself */
    bool builtin;        /* ours, not the program's: copies and the like */
    bool recursive;      /* its threads need the context's stack limit after local_bytes */
    bool debug_frames;   /* compiled for a debugger: all that functions have is in their frames */
    const uint8_t *text; /* compiled code as at first, for fault addresses; may be NULL */
    size_t text_bytes;
    void *user; /* the driver's own: struct jit_code, function handle … */
    _Atomic uint32_t
        block_ns; /* owned by the exec layer: how long a block took lately; 0 at first */
};

/* One launch. Copied by whoever takes it, parameters included. One cache line. */
struct grid_launch {
    struct grid_kernel *kernel;
    uint32_t grid[3];        /* blocks */
    uint32_t block[3];       /* threads */
    uint32_t cluster[3];     /* blocks of a cluster, which divide the grid; 0,0,0 means 1,1,1 */
    uint32_t dynamic_shared; /* bytes */
    uint32_t param_bytes;
    bool cooperative;   /* all blocks are resident together; grid barriers allowed */
    const void *params; /* at PTX offsets */
};

/* ---- where it runs: one per context ---- */

enum grid_fault_kind {
    GRID_FAULT_NONE = 0,
    GRID_FAULT_ADDRESS,    /* SIGSEGV, SIGBUS: cudaErrorIllegalAddress */
    GRID_FAULT_MISALIGNED, /* cudaErrorMisalignedAddress */
    GRID_FAULT_ILLEGAL,    /* cudaErrorIllegalInstruction */
    GRID_FAULT_PC,         /* a call through what points to no function: cudaErrorInvalidPc */
    GRID_FAULT_TRAP,       /* trap, brkpt, SIGFPE: cudaErrorLaunchFailure */
    GRID_FAULT_ASSERT,     /* cudaErrorAssert */
    GRID_FAULT_STACK,      /* cudaErrorHardwareStackError */
    GRID_FAULT_HANDLE,     /* checked mode: a stream or an event of another block or grid */
    GRID_FAULT_MEMORY,     /* no memory for a block's frame, shared and local memory */
};

enum { GRID_FAULT_LAUNCHES = 6 }; /* that are told of a chain */

/* A launch by device code. */
struct grid_fault_launch {
    char kernel[256]; /* the launching one's name, cut if longer */
    uint64_t gridid;
    uint32_t block[3], thread[3]; /* that launched */
};

/* The first fault of a context. */
struct grid_fault {
    enum grid_fault_kind kind;
    char kernel[256];               /* name, cut if longer; "memcpy"/"memset" for copies */
    struct grid_kernel *kernel_ref; /* NULL for copies; valid while the driver keeps the kernel */
    uint64_t gridid;
    uint32_t block[3];  /* ctaid */
    uint32_t warp;      /* in the block */
    int lane;           /* -1 when it cannot be told */
    uint32_t thread[3]; /* tid of the lane, or of lane 0 of the warp */
    bool has_address;
    uint64_t address;       /* what was touched */
    struct mem_place place; /* where that is; MEM_NOWHERE also when it is shared memory */
    uint64_t pc;            /* code offset from the kernel's text; UINT64_MAX outside it */
    const void *pc_address; /* machine address, for jit_find_line */
    const void *caller;     /* likewise, where pc_address is in a function of the kernel's, which
                               has no lines; else anything */
    char text[2048];        /* the fault report, one line */
    uint32_t place_end;     /* in text: where the source line belongs, after the thread */
    uint32_t printed,
        printed_end;       /* in text: what the kernel has printed already, equal: nothing */
    uint32_t launch_count; /* launches that led to the grid, the latest first */
    struct grid_fault_launch launches[GRID_FAULT_LAUNCHES];
};

enum {
    GRID_PRINTF_BYTES = 1 << 20, /* default of cudaLimitPrintfFifoSize */
    GRID_HEAP_BYTES = 8 << 20,   /* default of cudaLimitMallocHeapSize */
    GRID_STACK_BYTES = 1024,     /* default of cudaLimitStackSize */
    GRID_WORKSPACE_BYTES = 256,  /* of a cooperative launch */
};

struct grid_env; /* printf FIFO, device heap, fault of one context */

/* `device` is the ordinal whose memory the heap is taken from; `nsm` what %nsmid says; `owner` the
 * owner of the memory allocated. Never NULL. */
struct grid_env *grid_env_new(int device, uint32_t nsm, const void *owner);
void grid_env_free(struct grid_env *env); /* nothing may run in it any more */

/* Back to the state after grid_env_new, limits included. Nothing may run; the heap's memory goes
 * with mem_free_owned. */
void grid_env_reset(struct grid_env *env);

int grid_env_device(const struct grid_env *env); /* the ordinal it was made for */
const void *grid_env_owner(const struct grid_env *env);
/* Whose plain memory kernels may touch besides their own device's, a bit by ordinal; none at first.
 * Kernels that run already keep what they have. */
void grid_env_set_peers(struct grid_env *env, uint32_t devices);
uint32_t grid_env_peers(const struct grid_env *env);

enum grid_limit {
    GRID_LIMIT_STACK,
    GRID_LIMIT_PRINTF,
    GRID_LIMIT_HEAP,
    GRID_LIMIT_SYNC_DEPTH, /* cudaLimitDevRuntimeSyncDepth */
    GRID_LIMIT_PENDING     /* cudaLimitDevRuntimePendingLaunchCount */
};
uint64_t grid_limit_get(struct grid_env *env, enum grid_limit limit);
/* False when it is too late (printf and heap are fixed by first use) or cannot be had. */
bool grid_limit_set(struct grid_env *env, enum grid_limit limit, uint64_t value);

/* Writes what kernels have printed to stdout and failed assertions to stderr. Called at
 * synchronization points. */
void grid_flush(struct grid_env *env);

/* GRID_FAULT_NONE or the kind of the first fault; cheap. */
enum grid_fault_kind grid_faulted(struct grid_env *env);
/* The first fault; valid until reset. NULL when there is none. */
const struct grid_fault *grid_fault(struct grid_env *env);

/* Address of weir_rt_<name> for jit_resolver.helper; `name` without the prefix. NULL: none such. */
void *grid_helper(const char *name);

/* ---- running ---- */

struct grid_block;  /* the context of one block */
struct cdp_child;   /* a launch by device code (cdp.h) */
struct grid_worker; /* what a thread needs to run blocks: contexts, signal stack */

struct grid_run;

/* Blocks that wait for memory to change, oldest first. One for all workers. */
struct grid_parking {
    pthread_mutex_t lock;
    struct grid_block *head, *tail;
    _Atomic uint32_t count;
    /* Lets others run while a block of the run waits for memory at a point where it cannot be
     * parked: inside a function that is called. Comes back after a moment. Set by the owner. */
    void (*give_way)(struct grid_run *run);
    /* No block of the run is to be handed out, at present at least, and the calling thread, which
     * is inside, is about to leave. May be NULL. */
    void (*closed)(struct grid_run *run);
    /* Does other work wait for a thread? Asked by one that keeps blocks of the run. May be NULL. */
    bool (*wanted)(struct grid_run *run);
};
void grid_parking_init(struct grid_parking *p);

/* A grid in flight. The owner embeds it and keeps it until GRID_COMPLETE has been said.
 *
 * A thread that works on it must have entered it; blocks that have not ended and threads inside
 * keep it alive. The owner lists it for others to find for as long as blocks are left to hand out,
 * and unlists it when it is complete. */
// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): counters have cache lines of their own
struct grid_run {
    struct grid_launch launch; /* params point to memory that lives as long as the run */
    struct grid_env *env;
    struct grid_parking *parking;
    uint64_t gridid;
    uint64_t total;                   /* blocks, or clusters of them */
    uint32_t cluster_size;            /* blocks of a cluster: what is counted, parked, handed out */
    uint64_t local_stride;            /* bytes per thread */
    uint64_t resident_max;            /* parked blocks it may have before it takes no new ones */
    uint32_t nthreads, nwarps;        /* per block */
    uint32_t shared_bytes;            /* static + dynamic */
    uint32_t workers;                 /* threads that may share it */
    void *workspace;                  /* cooperative launches: what envreg 1 and 2 point to */
    uint32_t depth;                   /* launches by device code that led to it */
    const struct cdp_child *origin;   /* who launched it, NULL: the host; */
    uint32_t origin_index;            /* which of the launches that it is */
    struct cdp_child *tail_next;      /* tail launches in order, once all else is done */
    struct cdp_child *_Atomic tails;  /* tail launches so far, the latest first */
    void *_Atomic handles;            /* the device layer's: streams and events made by it */
    struct found_list *_Atomic found; /* what checks have found (found.h) */
    /* Bytes that it has given back to the heap and not got again (touch.h). */
    struct touch_freed *_Atomic freed;
    struct touch_set *_Atomic touched; /* which bytes it reads and writes (touch.h) */
    uint32_t _Atomic touched_parts;    /* launches that divide it, if not NULL */
    uint64_t order; /* grid_run_ordered: what stands for the run (base/schedule.h) */
    struct hazard_grid *_Atomic hazards;   /* accesses that nothing orders (threads.h) */
    struct grid_parts *parts;              /* blocks are handed out from these (parts.c), or NULL */
    _Alignas(64) _Atomic uint64_t next;    /* first block not handed out; may pass total */
    _Alignas(64) _Atomic uint64_t pending; /* blocks that have not ended + threads inside */
    _Atomic uint64_t parked;               /* blocks suspended now */
};

/* What the layout of a block's context and the constant fields of its struct jit_block depend on.
 */
struct layout_key {
    uint32_t shape[10]; /* grid, block, cluster, dynamic shared memory, as in struct grid_launch */
    uint32_t frame_bytes, shared_bytes;
    uint32_t shared_align, local_align;
    uint64_t local_stride;
};

/* A launch prepared for batches: it is made again and again, so what a run needs of it is worked
 * out once. */
struct grid_prepared {
    struct grid_launch launch; /* params as in struct grid_run */
    struct layout_key key;
    uint64_t total, local_stride; /* as in struct grid_run */
    uint32_t nthreads, nwarps, shared_bytes;
    bool follows; /* one that is laid out alike, in the array that they are run from */
};
/* Whether the launch can be one of a batch: it does not wait for others, has no clusters, and
 * depends on no limits that may change. */
bool grid_launch_can_batch(const struct grid_launch *launch);
/* Prepares it; false when it cannot be part of a batch. */
bool grid_prepare(struct grid_prepared *q, const struct grid_launch *launch);
/* Compares it with the one before it in the array, NULL: none. To be asked again after either was
 * made anew. */
void grid_prepared_follow(struct grid_prepared *q, const struct grid_prepared *before);

/* Runs grids one after the other on this thread, from prepared[*at] on and below `end`, until there
 * is none (NULL), the next one is not known to be short, or they have taken about `budget_ns`
 * altogether; *at counts those that are complete. `run` is prepared here, for each.
 * GRID_MORE: that is all. Otherwise prepared[*at] was begun, is `run` now, and not counted: it is
 * complete (GRID_COMPLETE), but may have launched tails, or others go on with it (GRID_HANDED). */
enum grid_progress grid_run_batch(struct grid_run *run, struct grid_worker *w,
                                  struct grid_prepared *const *prepared, uint32_t *at, uint32_t end,
                                  uint64_t budget_ns, struct grid_env *env,
                                  struct grid_parking *parking, uint32_t workers);

/* Prepares a run; false when the machine has no memory for it. `params` must outlive the run. */
bool grid_run_init(struct grid_run *run, const struct grid_launch *launch, struct grid_env *env,
                   struct grid_parking *parking, uint32_t workers);

/* Divides its blocks among the threads that may run them, so that each gets the same ones each
 * time, where that serves. Before anybody else knows of the run. */
void grid_run_divide(struct grid_run *run);

/* Whether all blocks are handed out: it need not be listed any more. */
bool grid_run_exhausted(struct grid_run *run);
/* Whether a block can be handed out now (not while as many are parked as may be). */
bool grid_run_open(struct grid_run *run);
/* About how long the blocks that are left will take, in ns; 0 when nothing is known. */
uint64_t grid_run_estimate(struct grid_run *run);

/* Enters the run: false when it is complete already. The run must still be listed. */
bool grid_run_enter(struct grid_run *run);

enum grid_progress {
    GRID_MORE,     /* blocks are left to hand out: the time was up, or too many are parked */
    GRID_HANDED,   /* every block is handed out; those not ended are parked or on other threads */
    GRID_COMPLETE, /* everything has ended: exactly one caller hears that */
};

/* Runs blocks until none can be handed out or CLOCK_MONOTONIC passes `until` (ns), and leaves the
 * run: unless it is complete, it may be gone afterwards. */
enum grid_progress grid_run_blocks(struct grid_run *run, struct grid_worker *w, uint64_t until);

/* The same for `blocks` of them at most, one at a time, in the order of the schedule. */
enum grid_progress grid_run_ordered(struct grid_run *run, struct grid_worker *w, uint64_t blocks);

/* Resumes the oldest parked block, in a cooperative grid those that were kept with it, too, until
 * CLOCK_MONOTONIC passes `until` (ns). False when there is none. *progress: whether it got anywhere
 * (it ended, or waits at another point, or took its time); *complete: the run that is complete now,
 * or NULL. */
bool grid_resume(struct grid_parking *parking, struct grid_worker *w, uint64_t until,
                 bool *progress, struct grid_run **complete);

/* The calling thread's worker, made at first use and freed when the thread ends. `smid` counts only
 * at the first call. */
struct grid_worker *grid_worker_self(uint32_t smid);
/* The worker of the calling thread, NULL when it has none. May be called from signal handlers. */
struct grid_worker *worker_of_thread(void);

/* Runs fn(arg) with the same protection as a block: a fault in it becomes the environment's fault,
 * named `what`. False when it faulted. fn must hold no locks and own nothing. */
bool grid_protected(struct grid_env *env, struct grid_worker *w, const char *what,
                    void (*fn)(void *), void *arg);

/* Makes a fault that no code ran into, named `what`, the environment's. */
void grid_raise(struct grid_env *env, enum grid_fault_kind kind, const char *what);

/* Who is asked first about each signal of a fault; true: it was theirs, and the thread goes on.
 * device_work: the thread was in device work. Set once, before the first device work. */
typedef bool (*grid_host_trap_fn)(int signal, siginfo_t *info, void *context, bool device_work);
void grid_set_host_trap(grid_host_trap_fn fn);

/* Checked mode: who is told that a thread of the host touched memory of a device, in a signal
 * handler of that thread, before the signal takes its course. `pc`: of the instruction. */
typedef void (*grid_host_touch_fn)(uint64_t address, uint64_t pc, bool write);
void grid_set_host_touch(grid_host_touch_fn fn);

/* Installs the signal handlers (once per process; further calls do nothing). */
void grid_install_handlers(void);
/* Around device work that a thread of the program runs, and before what one of ours runs: the
 * signals of faults are not blocked in the thread, and are handled here, whatever the program has
 * done with them since. Leaving gives them back to the program. */
void grid_signals_enter(struct grid_worker *w);
void grid_signals_leave(struct grid_worker *w);

#endif
