/* cdp: dynamic parallelism (CUDA's "CDP"): kernels that launch kernels.
 *
 * What one block does belongs to this layer: a pointer to a kernel leads to a struct cdp_kernel, a
 * launch becomes a struct cdp_child with its parameters, errors are kept by thread, and a block
 * that waits for its children is suspended. When and where children run is decided by the device
 * layer, which registers its functions in a struct cdp_ops.
 *
 * The path of a launch, in order:
 *   1. compiler/front/cdp_launch.c  the launch in PTX becomes a call of a helper
 *   2. exec/cdp_launch.c     the helper, for all lanes of the warp: reads kernel, shape and stream,
 *                            asks cdp_kernel.find for the code of that shape
 *   3. driver/launch/cdp.c   answers: checks the shape, compiles or finds the struct cdp_variant
 *   4. exec/cdp_child.c      gives the record of the launch, from a free list of the worker's
 *   5. exec/cdp_launch.c     cdp_ops.submit, the one call into the device layer
 *   6. device/cdp_queue.c    queues the children by stream (cdp_streams.c: streams and events of
 *                            device code; cdp_graph.c: graphs), runs them, or gives them away
 *   7. exec/run.c, batch.c   run the blocks of a child: one grid, or the launches of a warp
 *   8. device/cdp_queue.c    counts the child off (cdp_child_over, cdp_block_release); a block that
 *                            waited is made ready (exec/park.c resumes it)
 * The other calls of the device runtime (memory, streams, events, questions) are helpers in
 * driver/launch/cdp_api.c, which call device/cdp_api.h.
 *
 * A child counts twice from its launch to its completion: in its parent's grid_run.pending, so that
 * a grid is complete only when its descendants are; and in the struct cdp_block of the block that
 * launched it, so that the block can wait. Children, and what else is queued after them, wait in
 * queues: that of the block (its NULL stream), or of a stream that the program made.
 *
 * Bookkeeping is the worker's own (struct cdp_thread, free lists): a launch takes no lock that
 * workers share. */
#ifndef WEIR_EXEC_CDP_H
#define WEIR_EXEC_CDP_H

#include "exec/grid.h"
#include "hazards/hazards.h"

enum {
    CDP_MAX_DEPTH = 24,     /* generations of launches that begin with cudaLaunchDevice */
    CDP_SYNC_DEPTH = 2,     /* default of cudaLimitDevRuntimeSyncDepth */
    CDP_PENDING_MAX = 2048, /* default of cudaLimitDevRuntimePendingLaunchCount */
};

/* Streams that are not handles. */
enum { CDP_STREAM_NULL = 0, CDP_STREAM_TAIL = 3, CDP_STREAM_FIRE_AND_FORGET = 4 };

/* ---- kernels by pointer ---- */

/* One compiled variant of a kernel, for one block shape, as launches by device code need it. The
 * driver makes and keeps it beside its own struct variant. */
struct cdp_variant {
    struct grid_kernel *kernel;
    uint32_t block[3];    /* the shape */
    bool small;           /* good only for a grid of JIT_GRID_SMALL_MAX threads along x */
    uint32_t dynamic_max; /* bytes of dynamic shared memory that a launch may ask for */
    uint32_t param_bytes;
    uint32_t cluster[3];       /* blocks of a cluster, which must divide the grid; 0: none */
    uint16_t pointers;         /* parameters of 64 bits, */
    const uint32_t *pointer;   /* and their offsets */
    const uint16_t *argument;  /* and their numbers, from 0 */
    struct cdp_variant *older; /* the driver's */
};

/* What the value of a pointer to a kernel points to: one for each entry of a loaded module. */
struct cdp_kernel {
    uint64_t tag; /* CDP_KERNEL_TAG */
    const char *name;
    _Atomic(struct cdp_variant *) recent; /* the variant found last */
    /* Finds or compiles the variant for a launch; 0 or a code of cudaError_t. May take its time. */
    int (*find)(struct cdp_kernel *entry, const uint32_t grid[3], const uint32_t block[3],
                uint32_t dynamic_shared, struct cdp_variant **out);
    void *owner; /* the driver's */
};
#define CDP_KERNEL_TAG 0x59525445444952ull

/* ---- launches ---- */

enum cdp_work {
    CDP_WORK_GRID,
    CDP_WORK_RECORD, /* an event is reached; params hold a pointer to the device layer's object */
    CDP_WORK_WAIT,   /* for an event; likewise */
};

/* One thing in a device stream: a launch with its parameters, or what else can stand there. Copies
 * and fills are launches of kernels of ours.
 *
 * Threads of a warp that launch the same short kernel in the same way share one: `lanes` says which
 * they are, and their parameters stand one after the other. Most of what a short child costs is its
 * record, the more so where another worker runs it. */
struct cdp_child {
    struct cdp_child *next;    /* in a queue, a free list, or a list of launches */
    struct grid_launch launch; /* params point to the parameters below */
    struct grid_run *parent;   /* the grid that launched it */
    struct cdp_block *cdp;     /* the block that did; NULL for tail launches */
    uint32_t block[3];         /* where: ctaid, */
    uint16_t thread;           /* number of the thread in its block; of several: of lane 0 */
    uint16_t capacity;         /* bytes of parameters */
    uint32_t lanes;            /* launches of several threads; 0: it is one */
    uint8_t work;              /* enum cdp_work */
    _Atomic uint8_t left;      /* of several: those not over, + 1 while in a queue */
    uint16_t tag;              /* CDP_CHILD_TAG once made, CDP_CHILD_SENT once launched */
    const struct cdp_variant *variant; /* of launches of the program's */
    struct cdp_child **before;     /* buffers: what points to it in its block's list, else NULL */
    struct cdp_told *told;         /* NULL unless threads are compared (threads.h) */
    _Alignas(64) uint8_t params[]; /* or a struct copy_args and the like */
};
/* What the launch comes after, and where it is. */
struct cdp_told {
    struct hazard_order *after;
    const struct grid_kernel *launcher;
    const void *pc;
};
enum {
    CDP_CHILD_TAG = 0x4348,
    CDP_CHILD_SENT = 0x5343,
    CDP_CHILD_PARAMS = 128, /* bytes that kept ones have space for, */
    CDP_CHILD_WIDE = 2048   /* and kept ones for several launches with parameters */
};

/* How many launches it is, the thread of each, and the distance of their parameters. */
static inline uint32_t cdp_child_count(const struct cdp_child *c)
{
    return c->lanes == 0 ? 1 : (uint32_t)__builtin_popcount(c->lanes);
}
uint32_t cdp_child_thread(const struct cdp_child *c, uint32_t index);
static inline uint32_t cdp_child_stride(uint32_t param_bytes) { return (param_bytes + 63) & ~63u; }

/* Work done in order. Whoever made it active, or completes its first member, is responsible for it
 * until it is empty; others only add. */
struct cdp_queue {
    pthread_mutex_t lock;
    struct cdp_child *head, *tail; /* under the lock: came while it was active */
    bool active;                   /* under the lock: someone is responsible */
    struct cdp_child *mine;        /* the responsible one's: to be done next, */
    uint32_t at;                   /* and how many of its launches are begun */
    struct cdp_block *cdp;         /* the block whose NULL stream this is, or NULL: then */
    struct grid_run *run;          /* the grid that made the stream, held while it is active */
    struct cdp_queue *next;        /* in a list of queues to be run */
    struct hazard_order *over;     /* what was in it and is over, while threads are compared */
    bool unordered;                /* fire and forget: belongs to one thread, then is gone */
    _Atomic uint32_t refs;         /* streams: handle, being active */
};

/* A block that has launched something, made at the first launch. */
struct cdp_block {
    _Atomic uint64_t state;    /* 2 * (children not over + the block + its queue being active)
                                  + CDP_WAITING */
    struct grid_block *waiter; /* the block, while CDP_WAITING */
    struct cdp_queue queue;    /* the NULL stream */
    uint32_t *errors;          /* last error by thread, NULL: none yet */
    uint32_t launched;         /* since children were last run in between */
    struct cdp_child *buffers; /* parameter buffers that the block got and has not launched */
    struct hazard_order *over; /* what it has launched and is over, under the queue's lock */
    struct cdp_block *next;    /* in a free list */
};

/* What the device layer keeps in each worker, at its start. */
struct cdp_thread {
    uint32_t height;  /* things that this thread has to do */
    uint32_t mark;    /* how many of them are not for those that run now */
    uint32_t between; /* blocks of this thread in the middle of which it runs children */
    void *device;     /* the device layer's */
};
static inline struct cdp_thread *cdp_thread(struct grid_worker *w)
{
    return (struct cdp_thread *)w;
}

struct cdp_ops {
    /* Takes over a list of `n` launches of one block into one stream. False: there is no such
     * stream. */
    bool (*submit)(struct grid_worker *w, struct grid_block *b, struct cdp_child *first,
                   struct cdp_child *last, uint32_t n, uint64_t stream);
    /* Checked mode: whether the block may not use the stream, which another made; says why. */
    bool (*misuses)(struct grid_block *b, uint64_t stream, struct strbuf *why);
    /* Does what there is to do above w's mark. */
    void (*drain)(struct grid_worker *w);
    /* w is stuck in a block: hands over all that it has to do. */
    void (*give)(struct grid_worker *w);
    /* The waiting block can go on: it becomes something to do. */
    void (*ready)(struct grid_worker *w, struct grid_block *b);
    /* The thread ends. */
    void (*gone)(struct grid_worker *w);
};
void cdp_set_ops(const struct cdp_ops *ops); /* once, before anything runs */

/* ---- for the device layer ---- */

/* A child with space for `bytes` of parameters, its fields but launch and params filled in for a
 * launch by `thread` of the block. NULL: no memory. */
struct cdp_child *cdp_child_new(struct grid_worker *w, struct grid_block *b, uint32_t thread,
                                uint32_t bytes);
void cdp_child_free(struct grid_worker *w, struct cdp_child *c);

struct grid_run *grid_run_of_block(struct grid_block *b);
/* The block that the calling thread runs now. */
struct grid_block *grid_current_block(void);
struct cdp_block *cdp_of_block(struct grid_worker *w, struct grid_block *b);

/* Adds `n` references. */
void cdp_block_hold(struct cdp_block *cdp, uint64_t n);
/* `n` references are gone. If that was what the block waited for, it is made ready. */
void cdp_block_release(struct grid_worker *w, struct cdp_block *cdp, uint64_t n);

/* Adds launches, takes them off again. True: the run is complete, and the caller's. */
void grid_run_hold(struct grid_run *run, uint64_t n);
bool grid_run_leave(struct grid_run *run, uint64_t n);

/* Runs all blocks on this thread; nobody else knows the run. GRID_COMPLETE or GRID_HANDED. */
enum grid_progress grid_run_alone(struct grid_run *run, struct grid_worker *w);

/* Runs launch after launch of a child that is several, *at counting those that are begun; others
 * may set it to the end, and so take the rest over. Adds those that are over to *ended. `run`,
 * prepared for the child, is each of them in turn. GRID_MORE: that is all. Otherwise the last one
 * begun is `run`, and not counted: it is complete, but may have launched tails (GRID_COMPLETE), or
 * others go on with it (GRID_HANDED); then *at is not touched any more. */
enum grid_progress grid_run_several(struct grid_run *run, struct grid_worker *w,
                                    const struct cdp_child *child, uint32_t *at, uint32_t *ended);

/* A block that was waiting goes on. The run that is complete now, or NULL. */
struct grid_run *grid_resume_block(struct grid_block *b, struct grid_worker *w);

/* A block that was waiting goes on when a thread looks at what is parked. */
void grid_park_ready(struct grid_block *b);

void cdp_queue_init(struct cdp_queue *q, struct cdp_block *cdp);

/* ---- for helpers of the layers above ---- */

/* Helpers get a struct jit_block; `lane` is a lane of the warp that runs now. */

/* Sets the thread's last error unless the code is 0; returns the code. */
int grid_thread_error(struct jit_block *j, uint32_t lane, int code);
struct grid_env *grid_env_of(struct jit_block *j);
/* Is the address in the block's shared or local memory? */
bool grid_own_memory(struct jit_block *j, const void *address);
/* Puts work into a stream for the thread; `bytes` of params are copied. 0 or a cudaError_t. */
int cdp_submit_work(struct jit_block *j, uint32_t lane, enum cdp_work work,
                    const struct grid_launch *launch, const void *params, uint32_t bytes,
                    uint64_t stream);
/* Until the thread's next such call, what cdp_submit_work puts into streams is asked for there. */
void grid_helper_called(struct jit_block *j, const void *pc);
/* Between these, what the thread does is not the program's: it may hold locks. */
void grid_helper_begin(struct jit_block *j);
void grid_helper_end(struct jit_block *j);
/* A helper has written there by the program's pointer, after that. */
void grid_wrote(struct jit_block *j, const void *p, uint64_t bytes);
/* Text that a fault may be told with, empty. */
struct strbuf *grid_text(struct jit_block *j);
/* The lane's thread uses a handle that it must not, as that text says: its grid ends. No lock is
 * held. */
_Noreturn void grid_fail_handle(struct jit_block *j, uint32_t lane);
/* The heap of device code; NULL and false as malloc and free there. */
void *grid_heap_malloc(struct jit_block *j, uint64_t bytes);
bool grid_heap_free(struct grid_env *env, void *p);

/* ---- helpers ---- */

/* Address of the device runtime's function "cuda<name>", or NULL. */
void *cdp_launch_helper(const char *name);

#endif
