/* internal: what the files of the exec layer share: the context of a block, the worker of a thread,
 * the environment of a context. */
#ifndef WEIR_EXEC_INTERNAL_H
#define WEIR_EXEC_INTERNAL_H

#include <setjmp.h>
#include <signal.h>
#include <string.h>

#include "exec/cdp.h"
#include "exec/grid.h"
#include "exec/lanes.h"
#include "memory/view.h"

/* ---- the context of one block ---- */

/* How a warp stands to its cluster's barrier. */
struct arrival {
    uint32_t arrived; /* lanes that have arrived in this phase */
    uint32_t live;    /* lanes that had not ended when last seen */
    uint32_t phase;   /* of the cluster, when they arrived */
};

enum { JIT_MAX_WARPS = 32 };

/* How threads voted at a barrier. */
struct votes {
    uint16_t yes, no;
};

/* Everything a block needs to go on, on any thread. Its memory is one mapping of two parts: frame,
 * resume points and local windows from the start, shared memory at the very end. Before, between
 * and after them are guards, pages without access, so that what runs past either faults. */
struct grid_block {
    struct jit_block jit; /* first: compiled code passes its address to the helpers */
    struct grid_run *run;
    struct grid_worker *worker; /* who runs it now */
    struct grid_block *next;    /* in a parking or in the free list */
    uint32_t home;              /* resident.c: smid of the thread that kept it last, */
    uint32_t phase;             /* and of the grid's barrier, in which it waits */
    uint64_t laid_out;          /* gridid that the pointers in `jit` were set up for */
    uint8_t *memory;
    /* While reads of what was never written are looked for (found.c): a byte for each of shared
     * memory, 1 where nothing has written, and of which block of which grid. */
    uint8_t *unwritten;
    uint64_t unwritten_bytes, unwritten_grid, unwritten_number;
    uint64_t unwritten_left;          /* how many are 1 */
    struct found_meeting *meeting;    /* at barriers, while these are looked at (found.c) */
    size_t capacity;                  /* bytes from there to the end of shared memory */
    size_t first_bytes, guard;        /* accessible bytes before the guard, and the guard's */
    struct votes votes[JIT_BARRIERS]; /* at barriers by number: of the threads that have arrived */
    uint32_t
        first_count[JIT_BARRIERS]; /* how many threads those are for, as the first to arrive said */
    struct votes met[JIT_MAX_WARPS]; /* of those that a warp met at the last barrier it waited at */
    uint64_t events; /* barrier objects told of something: a sign that the block moves */
    uint64_t windows[JIT_CLUSTER_MAX + 1]; /* what jit.windows points to */
    struct grid_block *leader;             /* of its cluster; NULL: no cluster, or not taken */
    bool ended;                            /* in a cluster of which others still run */
    bool cluster_touched;                  /* the next four are not as a block finds them */
    uint32_t cluster_phase;                /* leaders: of the cluster's barrier */
    struct arrival arrivals[JIT_MAX_WARPS];
    struct grid_block *members[JIT_CLUSTER_MAX]; /* leaders: the cluster's blocks by rank */
    uint32_t nmembers;                           /* 1: itself */
    struct cdp_block *cdp;                       /* what it has launched, NULL: nothing */
    struct fiber *fibers;                        /* calls that are not over (fiber.c) */
    struct fiber *fiber;                         /* the one that runs now, NULL: none */
    struct lane_barriers *lanes;  /* kernels on fibers (warps.c): the state of each thread; the next
                                     are theirs, too */
    bool blocked;                 /* the last question was whether lanes may pass barriers, and they
                                     may not */
    bool spun;                    /* since it was switched to, what runs has polled for another
                                     reason; */
    uint32_t offers;              /* lanes elsewhere in the warp might have gone first so often */
    bool stuck;                   /* no warp can go on unless lanes go first that would wait */
    struct layout_key key;        /* what `jit` was laid out for */
    struct hazard_block *hazards; /* threads.h: NULL until its accesses are compared; */
    uint64_t hazard_grid, hazard_number; /* for which grid and block that is */
};

/* A context whose pointers and constant fields are set for the run; NULL when the machine has no
 * memory. */
struct grid_block *block_take(struct grid_worker *w, struct grid_run *run);
void block_drop(struct grid_worker *w, struct grid_block *b);
struct layout_key layout_key_of(const struct grid_run *run);
/* A key is all words without gaps, and comparing is in the way of every small grid. */
static inline bool layout_key_same(const struct layout_key *a, const struct layout_key *b)
{
    uint64_t x[sizeof *a / 8], y[sizeof *b / 8], differ = 0;
    memcpy(x, a, sizeof x);
    memcpy(y, b, sizeof y);
    for (size_t n = 0; n < WEIR_COUNT(x); n++)
        differ |= x[n] ^ y[n];
    return differ == 0;
}

/* What a call of the kernel needs of the machine's stack, if that is much, else 0. */
static inline size_t kernel_stack(const struct grid_kernel *k)
{
    return atomic_load_explicit(&k->stack_bytes, memory_order_relaxed);
}

/* ---- calls on stacks of their own (fiber.c) ---- */

/* In a function that spins: leaves it until it is called again. `waits`: at barriers, all there is
 * to go on. False: it is not on a stack of its own. */
bool fiber_yield(struct grid_block *b, bool waits);
/* Calls the function for all lanes of the warp in `mask` on a stack of its own, from none. False:
 * no memory. */
bool fiber_start(struct grid_block *b, jit_function fn, uint32_t warp, uint32_t mask);
enum fiber_state {
    FIBER_OVER,
    FIBER_WAITS, /* all of its lanes that can do something are at barriers of the block */
    FIBER_SPINS,
};
/* Goes on with that of a warp, if it may have something to do. */
enum fiber_state fiber_go_on(struct grid_block *b, uint32_t warp);
/* A fault leaves the stack that it happened on. */
void fiber_abandon(struct grid_block *b);
/* The block is over or given up: so are the calls that it is in. */
void fibers_end(struct grid_block *b);
/* Is the address where a full stack of the call that runs now runs into? */
bool fiber_stack_ends_at(const struct grid_block *b, uint64_t address);

/* Something happened that others may wait for. */
static inline void block_event(struct grid_block *b) { b->events++; }
/* Where a block stands, as far as that can be seen from outside. */
uint64_t block_position(const struct grid_block *b);

/* ---- clusters (cluster.c) ---- */

/* Taken, placed, run and dropped like a block; the first block stands for all. */

static inline bool cluster_used(const struct grid_run *run) { return run->cluster_size > 1; }
struct grid_block *cluster_take(struct grid_worker *w, struct grid_run *run); /* NULL: no memory */
void cluster_drop(struct grid_worker *w, struct grid_block *any);
void cluster_set_index(struct grid_run *run, struct grid_block *lead, uint64_t index);
uint32_t cluster_go(struct grid_worker *w, struct grid_block *lead);
/* A block starts: nobody has arrived at a barrier of the cluster. */
void cluster_forget(struct grid_block *b);
static inline void cluster_begin(struct grid_block *b)
{
    if (WEIR_UNLIKELY(b->cluster_touched))
        cluster_forget(b);
}
/* The same address in the shared memory of the cluster's block `rank`; 0: none such. */
uint64_t cluster_map(const struct jit_block *j, uint64_t address, uint32_t rank);

void parking_add(struct grid_parking *p, struct grid_block *b);
struct grid_block *parking_take(struct grid_parking *p);
/* Takes those of its run that the same thread kept, too, up to `most` altogether; a list. */
struct grid_block *parking_take_kept(struct grid_parking *p, struct grid_block *first,
                                     uint64_t most);

/* In place of a phase of a grid's barrier: which one a block waits in is not known; it does not
 * wait, but gave way to others; and all. */
enum { UNKNOWN_PHASE = 4, TURN_PHASE, NO_PHASE };
/* The oldest of this run that waits in another phase than that; NULL: there is none. */
struct grid_block *parking_take_of(struct grid_parking *p, const struct grid_run *run,
                                   uint32_t phase);

/* ---- blocks of a cooperative grid (resident.c) ---- */

/* The grid's workspace, zero, with what its threads need after it; to be freed. */
void *resident_workspace(const struct grid_run *run);

/* Are the grid's blocks kept by the threads that run them? */
bool resident_grid(const struct grid_run *run);
/* Keeps a block that waits. False: the thread keeps none of its grid now. */
bool resident_keep(struct grid_worker *w, struct grid_block *b);
/* Does the thread keep blocks of this grid? */
bool resident_keeps(const struct grid_worker *w, const struct grid_run *run);
/* How many blocks of the grid a thread should keep. */
uint64_t resident_share(const struct grid_run *run);
/* The thread is stuck in a block: what it keeps is parked, so that others run it. */
void resident_hand_over(struct grid_worker *w);
/* Runs these blocks, a list that may be empty, and others of the grid, until all of them have
 * ended, nothing happens any more, or the time is up; the rest is parked. The thread is inside the
 * run. *ended: how many have ended. True: something has happened. */
bool resident_run(struct grid_run *run, struct grid_worker *w, struct grid_block *first,
                  uint64_t until, uint64_t *ended);

/* ---- the worker of a thread ---- */

enum { CDP_CHILD_SIZES = 2 };

/* What a signal handler or a helper found wrong, before it is described. */
struct trouble {
    enum grid_fault_kind kind;
    int signal; /* 0: found by a helper */
    bool has_address;
    uint64_t address;
    uint64_t pc;      /* machine address, 0 when unknown */
    uint64_t caller;  /* where the function that pc is in returns to, if it has a frame pointer */
    uint32_t mask;    /* lanes concerned, 0 when unknown */
    const char *text; /* more about it, or NULL */
};

/* Blocks that a thread has taken to run one after the other. Those that it has not begun wait for
 * the one that it is in; if that waits for one of them and cannot be parked, others must run them.
 * On the thread's stack. */
struct rest {
    struct grid_run *run;
    uint64_t next, end;      /* not begun; who hands over lowers `end` */
    struct outcome *outcome; /* which counts what was handed over as parked */
    struct rest *outer;      /* of a block in the middle of which this thread runs these */
};

enum { WORKER_SPANS = 4, FAULT_SIGNALS = 4 };

/* What signals.c knows of a thread. */
struct thread_signals {
    uint64_t asked_at; /* when the thread last asked, in ticks; 0: never */
    uint32_t asked;    /* how often */
    bool lifted;       /* some were blocked, and are not until the thread returns to the program: */
    sigset_t lifted_set;
    bool is_held[FAULT_SIGNALS]; /* came from elsewhere meanwhile */
    siginfo_t held[FAULT_SIGNALS];
    bool stack_replaced; /* the program's signal stack is too small, and ours is there meanwhile: */
    stack_t replaced_stack;
};

struct grid_worker {
    struct cdp_thread cdp; /* first: see cdp_thread() */
    sigjmp_buf *escape;    /* where trouble leads while armed */
    volatile sig_atomic_t armed;
    struct thread_signals signals;
    struct grid_env *env;       /* of what runs now */
    struct grid_block *current; /* runs now; NULL in protected functions */
    const char *what;           /* name of the protected function, else NULL */
    struct trouble trouble;
    struct grid_block *spare; /* the context used last */
    struct strbuf text;       /* for helpers; kept so that a fault in them leaks nothing */
    const void *called_at;    /* grid_helper_called */
    void *signal_stack;       /* ours, or NULL while the thread has a good one */
    uint32_t smid;
    struct cdp_free_list {
        struct cdp_child *free;
        uint32_t count;
    } cdp_children[CDP_CHILD_SIZES]; /* free ones, by size (cdp_child.c) */
    struct cdp_block *cdp_blocks;    /* likewise */
    uint32_t alone;                  /* grids run on this thread only, to time some of them */
    uint32_t levels;                 /* runs of children that are under way, one in another */
    bool fp_set;                     /* the floating-point environment is that of compiled code */
    uint64_t gridid, gridid_limit;   /* numbers for runs, not given to others */
    struct mem_span checked[WORKER_SPANS]; /* code with checks: where accesses were allowed, */
    uint32_t checked_next;                 /* and which of them is to be forgotten first */
    struct rest *rest;                     /* blocks taken and not begun, the innermost first */
    struct residents *residents;           /* that it keeps (resident.c), or NULL */
    struct float_sums *sums;               /* that a call collects (float_sums.c), or NULL */
    uint64_t summed_ns; /* that calls took at their ends, since it was set to 0 */
};

void signal_stack_set(struct grid_worker *w);
void signal_stack_free(struct grid_worker *w);

/* The thread is stuck in a block: some of the blocks that it was to run after it are parked, so
 * that others run them (park.c). */
void rest_hand_over(struct grid_worker *w);

/* A fault's signal: does not return if it is device code's. */
void fault_on_signal(int signal, siginfo_t *info, void *context);

/* Leaves the device code of this thread. */
_Noreturn void fault_leave(struct grid_worker *w, const struct trouble *t);

/* Turns w->trouble into the environment's fault, if it has none yet. */
void fault_record(struct grid_worker *w);

/* ---- launches (cdp_block.c, cdp_child.c) ---- */

/* NULL: no device layer has registered. */
extern const struct cdp_ops *cdp_device;
bool cdp_idle(const struct grid_block *b);                        /* its children are over */
void cdp_park(struct grid_worker *w, struct grid_block *b);       /* it waits for its children */
void cdp_block_over(struct grid_worker *w, struct grid_block *b); /* b->cdp is not NULL */
void cdp_drain(struct grid_worker *w);                            /* between blocks */
/* In the middle of a block: runs what it has launched as far as that can be done here. */
void cdp_drain_here(struct grid_block *b);
/* The thread is stuck in a block: others do what it has to do. */
void cdp_give(struct grid_worker *w);
void cdp_free_records(struct grid_worker *w);
void cdp_child_free_records(struct grid_worker *w);
/* The child, with space for the parameters of all, is the launches of these lanes of the warp. */
void cdp_child_share(struct cdp_child *c, uint32_t lanes);

/* ---- the environment of a context ---- */

/* Text waiting to be printed: a ring of records {uint32_t length; text}. Full: the oldest go. */
struct fifo {
    pthread_mutex_t lock;
    uint8_t *bytes; /* NULL until first use */
    size_t size, head, used;
};
/* Adds a text, instead of the oldest ones if need be; what is longer than `limit` bytes is
 * dropped. False: there is no memory for the FIFO. */
bool fifo_add(struct fifo *f, size_t limit, const char *text, size_t length);
void fifo_flush(struct fifo *f, int to_stderr);
void fifo_free(struct fifo *f);
/* There is text in a FIFO for the next synchronization or launch to print. */
void env_text_waits(struct grid_env *env);

struct heap;
enum { HEAP_ALIGN = 16 };
struct heap *heap_new(int device, const void *owner, uint64_t bytes); /* NULL: no memory */
void heap_free_all(struct heap *h, bool memory_too);
void *heap_alloc(struct heap *h, uint64_t bytes);
bool heap_free(struct heap *h, void *p);
/* What the allocation that begins there has, a multiple of HEAP_ALIGN; 0: none does. */
uint64_t heap_size(struct heap *h, const void *p);
/* Checked mode: whether the address is in this heap, and how many bytes from there on, of so many,
 * are of what malloc has given out. */
bool heap_checks(const struct heap *h, uint64_t address);
uint64_t heap_given(const struct heap *h, uint64_t address, uint64_t bytes);

struct grid_env {
    int device;
    uint32_t nsm;
    const void *owner;
    _Atomic uint32_t peers; /* other devices whose memory its kernels may touch */
    uint64_t stack_bytes, printf_bytes, heap_bytes; /* limits */
    uint64_t sync_depth, pending_max;               /* likewise */
    struct fifo printed, asserted;
    _Atomic bool waiting;      /* texts in the FIFOs, to make a flush of nothing cheap */
    pthread_mutex_t lock;      /* heap creation, limits, fault */
    struct heap *_Atomic heap; /* NULL until the first malloc */
    _Atomic int faulted;       /* enum grid_fault_kind, set after `fault` is filled */
    struct grid_fault fault;
};

/* ---- helpers of compiled code that have a file of their own ---- */

/* Textures and surfaces: `instr` is a struct texture_instr, handles and coordinates come in arrays
 * of 32 lanes, and so do the results. */
void weir_rt_tex_one(struct jit_block *j, uint32_t instr, uint32_t mask, uint64_t handle,
                     const uint32_t (*coordinates)[JIT_WARP], uint32_t (*out)[JIT_WARP]);
void weir_rt_tex(struct jit_block *j, uint32_t instr, uint32_t mask, const uint64_t *handles,
                 const uint32_t (*coordinates)[JIT_WARP], uint32_t (*out)[JIT_WARP]);
void weir_rt_texture_query(struct jit_block *j, uint32_t instr, uint32_t mask,
                           const uint64_t *handles, uint32_t *out);
void weir_rt_surface(struct jit_block *j, uint32_t instr, uint32_t mask, const uint64_t *handles,
                     const uint32_t (*coordinates)[JIT_WARP], uint64_t (*data)[JIT_WARP]);

/* Numbered barriers (abi/kernel_abi.h). */
uint32_t weir_rt_barrier_arrive(struct jit_block *j, uint32_t id, uint32_t count);
uint32_t weir_rt_barrier_open(struct jit_block *j);
uint32_t weir_rt_barrier_vote(struct jit_block *j, uint32_t id, uint32_t yes, uint32_t no);
uint32_t weir_rt_barrier_votes(struct jit_block *j, uint32_t warp);

/* Calls of functions that may spin (likewise). */
uint64_t weir_rt_call(struct jit_block *j, jit_function fn, uint32_t warp, uint32_t mask,
                      uint64_t at);
uint64_t weir_rt_call_lanes(struct jit_block *j, jit_function fn, uint32_t warp, uint32_t mask,
                            uint64_t at, uint32_t live, uint32_t whole);
void weir_rt_calls_over(struct jit_block *j, uint32_t unfinished);

/* Kernels on fibers: warps.c, lane_barriers.c. */
uint32_t weir_rt_warps(struct jit_block *j, jit_function kernel);
uint32_t weir_rt_yield(struct jit_block *j, uint32_t warp, uint32_t others);
uint32_t weir_rt_take_pending(uint64_t *pending, const uint64_t *may, uint32_t blocks,
                              uint32_t after);
void weir_rt_lanes_arrive(struct jit_block *j, uint32_t warp, uint32_t mask, uint32_t what,
                          const uint64_t id[JIT_WARP], const uint64_t count[JIT_WARP],
                          uint32_t yes);
uint32_t weir_rt_lanes_pass(struct jit_block *j, uint32_t warp, uint32_t mask);
void weir_rt_lanes_votes(struct jit_block *j, uint32_t warp, uint32_t mask, uint64_t out[JIT_WARP]);
void weir_rt_lanes_end(struct jit_block *j, uint32_t warp, uint32_t mask);
uint32_t weir_rt_lanes_live(struct jit_block *j, uint32_t warp);

/* Barrier objects, bulk copies, clusters (abi/kernel_abi.h). */
void weir_rt_mbarrier(struct jit_block *j, uint32_t op, uint32_t mask,
                      const uint64_t address[JIT_WARP], const uint64_t arg[JIT_WARP],
                      uint64_t out[JIT_WARP]);
void weir_rt_bulk(struct jit_block *j, uint32_t op, uint32_t mask, const uint64_t to[JIT_WARP],
                  const uint64_t from[JIT_WARP], const uint64_t bytes[JIT_WARP],
                  const uint64_t *barrier, const uint64_t *ctas);
void weir_rt_bulk_zero(struct jit_block *j, uint32_t mask, const uint64_t to[JIT_WARP],
                       const uint64_t bytes[JIT_WARP]);
uint32_t weir_rt_grid_arrive(struct jit_block *j, uint32_t *word, uint32_t n);
void weir_rt_try_cancel(struct jit_block *j, uint32_t all, uint32_t mask,
                        const uint64_t response[JIT_WARP], const uint64_t barrier[JIT_WARP]);
void weir_rt_sums_admit(struct jit_block *j, struct jit_float_sums *s, uint32_t mask,
                        const uint64_t *address);
void weir_rt_sums_add(struct jit_block *j, struct jit_float_sums *s, uint32_t keep);
/* The thread leaves a call that collects sums; it ends. */
void float_sums_abandon(struct grid_worker *w);
void float_sums_free(struct grid_worker *w);
void weir_rt_tensor_copy(struct jit_block *j, uint32_t op, uint32_t mask,
                         const uint64_t (*rows)[JIT_WARP]);
void weir_rt_tensor_replace(struct jit_block *j, uint32_t op, uint32_t mask,
                            const uint64_t address[JIT_WARP], const uint64_t value[JIT_WARP]);
void weir_rt_wgmma(struct jit_block *j, uint32_t kind, uint32_t columns, uint32_t adds, uint64_t a,
                   uint64_t b, uint8_t *const *registers);
void weir_rt_small_mma(uint32_t kind, uint32_t selectors, uint8_t *const *registers);
uint32_t weir_rt_cluster_arrive(struct jit_block *j, uint32_t mask, uint32_t live);
uint32_t weir_rt_cluster_wait(struct jit_block *j, uint32_t live);
void weir_rt_cluster_map(struct jit_block *j, uint32_t op, uint32_t mask,
                         const uint64_t address[JIT_WARP], const uint64_t rank[JIT_WARP],
                         uint64_t out[JIT_WARP]);

/* Formats like CUDA's printf; returns the number of arguments used. Reads the program's memory. */
int print_format(struct strbuf *out, const char *format, const uint8_t *args);

#endif
