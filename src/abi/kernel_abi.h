/* The contract between compiled kernels and whoever runs them (src/exec).
 *
 * A kernel is compiled, for one block shape, into one function that runs one whole block: every
 * warp up to the next barrier, then the next region, until all threads are done (without barriers,
 * several blocks: `more`). It keeps no state on the machine's stack across a suspension: what must
 * live is in the block's frames, so a block that returns JIT_SUSPENDED can go on later, on any
 * thread.
 *
 * Addresses. Global, const and generic addresses are the process's own. A shared address is an
 * offset from `shared`; its generic address is the sum. A local address is an offset into the
 * thread's window: thread t's starts at local + t * local_stride. An address of .shared::cluster is
 * an offset, too, with the rank of the block whose window is meant, plus one, in the bits from
 * JIT_CLUSTER_SHIFT on; zero there is the block's own window, so a plain shared address is one.
 *
 * The compiler knows this struct by the offsets of its fields: append, never reorder, and bump
 * JIT_ABI_VERSION (it is part of the cache key) with every change. */
#ifndef WEIR_ABI_KERNEL_ABI_H
#define WEIR_ABI_KERNEL_ABI_H

#include <stdint.h>

enum { JIT_ABI_VERSION = 20, JIT_WARP = 32 };

/* Bytes on either side of a block's shared memory that are accessible, too: what 32 lanes of 16
 * bytes cover. A row of lanes that begins before the memory or ends past it is accessed under a
 * mask, and CPUs take hundreds of cycles for one of which a masked lane lies where there is no
 * access. */
enum { JIT_SHARED_SIDES = 512 };

/* The most threads along x of a grid that counts as small: indices cannot wrap around there, nor
 * when a program adds a little to them, less than JIT_GRID_MARGIN. */
enum { JIT_GRID_MARGIN = 1 << 18, JIT_GRID_SMALL_MAX = INT32_MAX - JIT_GRID_MARGIN };

struct jit_block {
    const uint8_t *params; /* kernel parameters at their PTX offsets */
    uint8_t *shared;       /* static shared memory first, then the dynamic part; 128-byte aligned
                              or as the kernel's variables ask,
                              JIT_SHARED_SIDES accessible on either side */
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
    uint32_t envreg[4];      /* %envreg0..3; 1 and 2 form the cooperative workspace's address */
    int32_t budget;          /* polls a spinning loop may still make before it must suspend; helpers
                                that find nothing to go on for lower it */
    uint32_t state;          /* owned by compiled code: where the block goes on; 0 at first */
    void *grid;              /* src/exec's own object, for the helpers below */
    uint32_t warp;           /* warp now running: kept up to date before helpers and faults */
    uint64_t scratch[24];    /* owned by compiled code: named barriers and their kin */
    uint32_t waiting;        /* set by helpers: the block waits for the grids it has launched, and
                                suspends; cleared by who resumes it */
    const uint64_t *windows; /* JIT_CLUSTER_MAX + 1 addresses of shared memory: the block's own,
                                then those of its cluster's blocks by rank (0: none such) */
    uint32_t cluster_rank, cluster_size;
    uint32_t explicit_cluster; /* 1: the launch or the kernel named a cluster's size */
    uint32_t more;        /* blocks after this one in x that the call may run as well. Code that
                             does (kernels without barriers) lowers it to 0, and keeps ctaid[0]
                             up to date for helpers and faults meanwhile */
    const void *replaced; /* a 32-bit word: not 0 when there is optimized code for the kernel: that
                             which runs the block, which may then return JIT_OSR_EXIT */
    uint32_t abreast; /* 1: the call is to return when each warp has gone through a loop in steps of
                         the grid for a while, so that other blocks go through theirs */
    uint32_t gave_way; /* set by compiled code: 1: a warp's turn is over, so the block can go on */
    uint32_t lane;     /* whose variables a debugger shows; nothing else reads it */
};

/* Addresses of .shared::cluster. */
enum { JIT_CLUSTER_SHIFT = 24, JIT_CLUSTER_MAX = 16 };

/* What pc[] holds: resume point * 2, plus a bit that says whether the warp waits for the next phase
 * (all of the block's warps meet at every barrier) or, in kernels with numbered barriers, plus
 * JIT_PC_WAITING and the barrier's number while the warp waits. In kernels on fibers, 0. */
enum {
    JIT_PC_WAITING = 1,
    JIT_PC_BARRIER_SHIFT = 24,
    JIT_PC_EXITED = -1, /* all threads of the warp have ended */
};

/* Numbered barriers, 16 of the program's and one for each warp group (wgmma.wait_group), the
 * first one's JIT_GROUP_BARRIERS; scratch[id] counts the threads that have arrived.
 * uint32_t weir_rt_barrier_arrive(struct jit_block *block, uint32_t id, uint32_t count);
 *     32 more threads arrive; at `count` those that wait go on and the barrier starts anew.
 * uint32_t weir_rt_barrier_vote(struct jit_block *block, uint32_t id, uint32_t yes, uint32_t no);
 *     So many threads vote at the barrier at which they arrive next.
 * uint32_t weir_rt_barrier_votes(struct jit_block *block, uint32_t warp);
 *     The votes at the barrier that opened last for the warp: yes below, no in the upper half.
 * uint32_t weir_rt_barrier_open(struct jit_block *block);
 *     No warp can run: opens the barrier at which every warp that has not ended waits; 0 when there
 *     is none, and the block can never go on. */

/* A function that is not inlined: runs for the lanes `mask` of the warp, whose frame is at offset
 * `at` of their local windows. Returns the lanes whose threads it has ended. */
typedef uint32_t (*jit_function)(struct jit_block *block, uint32_t warp, uint32_t mask,
                                 uint64_t at);

/* uint64_t weir_rt_call(struct jit_block *block, jit_function fn, uint32_t warp, uint32_t mask,
 *                       uint64_t at);
 *     Calls a function that may spin on a stack of its own, or goes on in the calls that these
 *     lanes are in. Lower half: lanes whose threads it has ended; upper half: lanes for which it is
 *     not over, since it spins. For those it is to be called again, with the same arguments. */

/* Kernels on fibers: functions that they call, and that are not inlined, wait at barriers. Such a
 * kernel is compiled as a function, too, which every warp calls on a stack of its own, and the
 * block's function only calls
 * uint32_t weir_rt_warps(struct jit_block *block, jit_function kernel);
 *     Runs all warps until they have ended or none can go on: enum jit_status.
 * Barriers count lanes, in the kernel as well as in its functions. `state` is the helper's.
 * void weir_rt_lanes_arrive(struct jit_block *block, uint32_t warp, uint32_t mask, uint32_t what,
 *                           const uint64_t id[32], const uint64_t count[32], uint32_t yes);
 *     Lanes arrive at barriers for `count` threads (0: all that live), and vote; what: enum
 *     jit_arrive.
 * uint32_t weir_rt_lanes_pass(struct jit_block *block, uint32_t warp, uint32_t mask);
 *     Those of the lanes that wait at no barrier, or not any more.
 * void weir_rt_lanes_votes(struct jit_block *block, uint32_t warp, uint32_t mask,
 *                          uint64_t out[32]);
 *     The votes that each lane met at the last barrier it waited at: yes below, no in the upper
 *     half.
 * void weir_rt_lanes_end(struct jit_block *block, uint32_t warp, uint32_t mask);
 *     Threads end.
 * uint32_t weir_rt_lanes_live(struct jit_block *block, uint32_t warp);
 * uint64_t weir_rt_call_lanes(struct jit_block *block, jit_function fn, uint32_t warp,
 *                             uint32_t mask, uint64_t at, uint32_t live, uint32_t whole);
 *     As weir_rt_call, from such a kernel or function, in which lanes `live` have not returned yet:
 *     if that is all that call, the caller's stack will do. `whole`: it is called for lanes that
 *     have come back, too, as long as the function is not over for some, and then
 * void weir_rt_calls_over(struct jit_block *block, uint32_t unfinished);
 *     forgets the calls that are over, if `unfinished` is 0.
 * uint32_t weir_rt_yield(struct jit_block *block, uint32_t warp, uint32_t others);
 *     As weir_rt_spin; lanes `others` of the caller's are pending elsewhere. 0: look again; 1:
 * lanes pending where nobody can tell that the warp diverged may go first; 2: all may.
 * uint32_t weir_rt_take_pending(uint64_t *pending, const uint64_t *may, uint32_t blocks,
 *                               uint32_t after);
 *     Takes the next number out of a set of up to `blocks` numbers that `may` has, too: the first
 *     one after `after`, else the first one before it. UINT32_MAX: there is none. */
enum { JIT_GROUP_BARRIERS = 16, JIT_BARRIERS = 24 };
enum jit_arrive { JIT_ARRIVE_WAITS = 1, JIT_ARRIVE_VOTES = 2 };

/* void weir_rt_spin(struct jit_block *block): a loop that waits for memory has spent the budget, in
 * a function that is called: the call comes back unfinished; or, if it is not on a stack of its
 * own, others run here and there is a new budget. */

/* void weir_rt_wait_here(struct jit_block *block): in such a function, after a device-side
 * synchronization: comes back when the grids that the block has launched are over, if `waiting` is
 * set, and clears that. */

enum jit_status {
    JIT_DONE = 0,      /* every thread has exited */
    JIT_SUSPENDED = 1, /* waiting for memory that others write: call again later */
    JIT_WAITING = 2,   /* waiting for an event src/exec knows of (device-side synchronize) */
    JIT_OSR_EXIT = 3,  /* there is optimized code: call that, now; never when `replaced` says 0 */
};

/* Runs the block until it is done or must wait. */
typedef uint32_t (*jit_block_fn)(struct jit_block *block);

/* ---- what compiled code calls ---- */

/* Functions that PTX calls but does not define (vprintf, malloc, cudaLaunchDevice …) and that are
 * not arithmetic are reached under the name weir_rt_<name> with this one signature:
 *   args  [n][32]: argument k of lane l is args[k * 32 + l], zero-extended to 64 bits; an argument
 *         of more than 8 bytes (an array in .param space) takes ceil(bytes / 8) rows
 *   rets  likewise; only lanes in `mask` are read and written
 * They are supplied by src/exec's table (jit_helper in loader.h). */
typedef void (*jit_extern_fn)(struct jit_block *block, uint32_t mask, const uint64_t *args,
                              uint64_t *rets);

/* Barrier objects in shared memory (mbarrier); `address` are generic ones, results of lanes in
 * `mask` go to out.
 * void weir_rt_mbarrier(struct jit_block *block, uint32_t op, uint32_t mask,
 *                       const uint64_t address[32], const uint64_t arg[32], uint64_t out[32]); */
enum jit_mbarrier {
    JIT_MBARRIER_INIT, /* arg: arrivals expected in each phase */
    JIT_MBARRIER_INVAL,
    JIT_MBARRIER_EXPECT_TX,   /* arg: bytes more to come in this phase */
    JIT_MBARRIER_COMPLETE_TX, /* arg: bytes that have come */
    JIT_MBARRIER_ARRIVE,      /* arg: arrivals; out: the state before */
    JIT_MBARRIER_DROP,        /* likewise, and later phases expect so many fewer */
    JIT_MBARRIER_TEST,        /* arg: a state; out: has its phase ended? */
    JIT_MBARRIER_TEST_PARITY, /* arg: a phase's parity; out: has it ended? */
};

/* cp.async.bulk and cp.reduce.async.bulk; all addresses are generic, `barrier` NULL: none to tell.
 * ctas NULL: only to `to`; else, for each lane, the set of blocks of the cluster that get the copy,
 * and whose barrier is reported, at the same offsets as named.
 * void weir_rt_bulk(struct jit_block *block, uint32_t op, uint32_t mask, const uint64_t to[32],
 *                   const uint64_t from[32], const uint64_t bytes[32], const uint64_t *barrier,
 *                   const uint64_t *ctas);
 * op: 0 copies; else enum jit_reduce + 1, and enum jit_element from bit 8 on. With JIT_BULK_MASKED,
 * `ctas` are sets of bytes: those of each 16 that are copied.
 * void weir_rt_bulk_zero(struct jit_block *block, uint32_t mask, const uint64_t to[32],
 *                        const uint64_t bytes[32]);
 *     Zeros in shared memory.
 *
 * uint32_t weir_rt_grid_arrive(struct jit_block *block, uint32_t *word, uint32_t count);
 *     Adds to a word of the barrier of a cooperative grid, soon; what it was before, or would be.
 *
 * void weir_rt_try_cancel(struct jit_block *block, uint32_t all, uint32_t mask,
 *                         const uint64_t response[32], const uint64_t barrier[32]);
 *     Takes over a cluster of the grid that has not begun, if there is one. The response is the
 *     index of its first block, and a fourth word of 1; or zeros. `all`: every block of the cluster
 *     gets it, and its barrier object is told. */
enum { JIT_BULK_MASKED = 1 << 16 };
enum jit_reduce {
    JIT_REDUCE_ADD,
    JIT_REDUCE_MIN,
    JIT_REDUCE_MAX,
    JIT_REDUCE_INC,
    JIT_REDUCE_DEC,
    JIT_REDUCE_AND,
    JIT_REDUCE_OR,
    JIT_REDUCE_XOR,
};
enum jit_element {
    JIT_U32,
    JIT_S32,
    JIT_U64,
    JIT_S64,
    JIT_F16,
    JIT_BF16,
    JIT_F32,
    JIT_F64,
};

/* cp.async.bulk.tensor and cp.reduce.async.bulk.tensor: one copy for each lane, between shared
 * memory and the tensor of a map (abi/tensor_map.h). void weir_rt_tensor_copy(struct jit_block
 * *block, uint32_t op, uint32_t mask, const uint64_t (*rows)[32]); op: dimensions, and the bits
 * below; enum jit_reduce + 1 from bit JIT_TENSOR_REDUCTION on, 0: a plain copy. */
enum jit_tensor_row {
    JIT_TENSOR_SHARED,      /* generic address */
    JIT_TENSOR_MAP,         /* likewise */
    JIT_TENSOR_BARRIER,     /* likewise; loads tell it of their bytes */
    JIT_TENSOR_CTAS,        /* JIT_TENSOR_MANY: blocks of the cluster that get the copy */
    JIT_TENSOR_COORDINATES, /* three rows of two coordinates each, the first one below */
    JIT_TENSOR_OFFSETS =
        JIT_TENSOR_COORDINATES + 3, /* im2col: three of 16 bits; wide: halo, offset */
    JIT_TENSOR_ROWS,
};
enum { JIT_TENSOR_DIMS = 7, JIT_TENSOR_STORES = 8, JIT_TENSOR_IM2COL = 16, JIT_TENSOR_MANY = 32 };
/* Four rows of a tensor of two dimensions: the first coordinate, then four of the second. Pairs of
 * blocks: of each, the barrier object in the one whose rank is odd or even, as the one named is. */
enum { JIT_TENSOR_FOUR = 64, JIT_TENSOR_PAIRS = 128 };
/* im2col::w and im2col::w::128. */
enum { JIT_TENSOR_WIDE = 256, JIT_TENSOR_WIDE_128 = 512, JIT_TENSOR_REDUCTION = 12 };

/* tensormap.replace: changes a field of the maps at generic addresses; op: the field, and which one
 * of them from bit 8 on. tensormap.cp_fenceproxy: copies a map from `value`.
 * void weir_rt_tensor_replace(struct jit_block *block, uint32_t op, uint32_t mask,
 *                             const uint64_t address[32], const uint64_t value[32]); */
enum jit_tensor_field {
    JIT_TENSOR_ADDRESS,
    JIT_TENSOR_RANK,
    JIT_TENSOR_BOX,
    JIT_TENSOR_SIZE,
    JIT_TENSOR_STRIDE,
    JIT_TENSOR_STEP,
    JIT_TENSOR_TYPE,
    JIT_TENSOR_INTERLEAVE,
    JIT_TENSOR_SWIZZLE,
    JIT_TENSOR_ATOMICITY,
    JIT_TENSOR_FILL,
    JIT_TENSOR_COPY,
};

/* Clusters: the lanes of `mask` arrive at the cluster's barrier, `live` are those of the warp that
 * have not ended; may the warp continue after its wait?
 * uint32_t weir_rt_cluster_arrive(struct jit_block *block, uint32_t mask, uint32_t live);
 * uint32_t weir_rt_cluster_wait(struct jit_block *block, uint32_t live);
 * void weir_rt_cluster_map(struct jit_block *block, uint32_t op, uint32_t mask,
 *                          const uint64_t address[32], const uint64_t rank[32], uint64_t out[32]);
 */
enum jit_cluster_map {
    JIT_MAP_GENERIC, /* the same offset in the block of that rank; both generic */
    JIT_MAP_RANK,    /* rank of the block that a generic address belongs to */
    JIT_MAP_OFFSET,  /* generic to .shared::cluster */
    JIT_MAP_INSIDE,  /* 1: the generic address is in the cluster's shared memory */
};

/* How the helpers below are told where the lanes of an access are. 0: the address of each lane.
 * Else of each segment of 1 << (shape & JIT_SHAPE_SEG) lanes the address of the first one, one
 * after the other: with JIT_SHAPE_NEXT each lane accesses the bytes after those of the lane before,
 * otherwise all of them the same ones. There are as many such accesses as the shape counts, each
 * `step` bytes after the one before. Segments without lanes in the mask may have any address. */
#define JIT_SHAPE_SEG          7u
#define JIT_SHAPE_NEXT         8u
#define JIT_SHAPE_COUNT_SHIFT  4 /* of the number less one */
#define JIT_SHAPE_COUNT_MAX    64
#define JIT_SHAPE_STEP_SHIFT   10
#define JIT_SHAPE_STEP_MAX     ((1u << 22) - 1)
#define JIT_SHAPE_COUNT(shape) (1 + ((shape) >> JIT_SHAPE_COUNT_SHIFT & (JIT_SHAPE_COUNT_MAX - 1u)))
#define JIT_SHAPE_STEP(shape)  ((shape) >> JIT_SHAPE_STEP_SHIFT)

/* Checked mode: lanes of `mask` are about to access memory at global or generic addresses; what:
 * bytes of each lane's access, plus JIT_CHECK_WRITES.
 * void weir_rt_check(struct jit_block *block, uint32_t mask, const uint64_t *address,
 *                    uint32_t what, uint32_t shape);
 * Likewise at addresses outside of the block's shared memory, by instructions for shared memory:
 * void weir_rt_check_shared(struct jit_block *block, uint32_t mask, const uint64_t address[32],
 *                           uint32_t what); */
#define JIT_CHECK_WRITES 0x80000000u
#define JIT_CHECK_WARP   0x40000000u /* the warp's access: addresses are lines of it, not lanes' */
#define JIT_CHECK_ATOMIC                                                                           \
    0x10000000u                       /* an atomic, volatile or relaxed access, or a stronger one  \
                                       */
#define JIT_CHECK_BYTES   0x03ffffffu /* of each lane */
#define JIT_CHECK_SYSTEM  0x04000000u /* atomic, and for the host's threads, too */
#define JIT_CHECK_GENERIC 0x08000000u /* addresses may be of any space */
#define JIT_CHECK_OTHERS  0x20000000u /* asks only whether it is another device's memory */

/* Code whose accesses are recorded: the same arguments, for accesses that are to be remembered.
 * void weir_rt_touch(struct jit_block *block, uint32_t mask, const uint64_t *address,
 *                    uint32_t what, uint32_t shape, uint32_t slot);
 *
 * The call marks the region of the address, if it is in the range of those that have bits. Code
 * that finds its region marked and its slot in use does not call, but sets a bit for each word of
 * four bytes itself, and moves the ends of its slot, which is its instruction's: the lowest and
 * highest byte it has touched. (An access that crosses the end of a region counts as one of the
 * first, and may not reach past the next one's first words.) The thread that runs blocks has all
 * this for itself and each grid. Slots of the two tiers differ, as one grid may be run by both;
 * these are given from `first` on: struct jit_touched *weir_rt_touched(const struct jit_block
 * *block, uint32_t first); */
#define JIT_TOUCH_SLOTS   256        /* half of them each tier's */
#define JIT_TOUCH_NO_SLOT UINT32_MAX /* the access is recorded by the call alone */
enum {
    JIT_TOUCH_KINDS = 3,         /* reads, writes, atomic accesses */
    JIT_TOUCH_REGION_SHIFT = 17, /* bytes of memory */
    JIT_TOUCH_WORD_SHIFT = 2
};
struct jit_touched {
    uint64_t base;          /* of the range; a multiple of a region */
    uint64_t last;          /* number of the region after the range, which is never marked */
    const uint8_t *regions; /* by number: JIT_TOUCH_MARKED */
    uint8_t *bits[JIT_TOUCH_KINDS];
    struct jit_touched_slot {
        uint64_t low, high; /* high is 0: not in use */
    } *slots;
};
enum { JIT_TOUCH_MARKED = 1 };

/* Code whose threads' accesses are compared with each other's: lanes of `mask` are about to access
 * memory, as `how` says; values: what they write, or NULL.
 * void weir_rt_thread_access(struct jit_block *block, uint32_t mask, const uint64_t *address,
 *                            uint32_t how, const uint64_t *values, uint32_t shape);
 * ... and do what may order them:
 * void weir_rt_thread_order(struct jit_block *block, uint32_t op, uint32_t mask, uint32_t arg,
 *                           const uint64_t rows[32]); */
#define JIT_ACCESS_BYTES       0xffffu /* of each lane */
#define JIT_ACCESS_WRITE       (1u << 16)
#define JIT_ACCESS_STRONG      (1u << 17) /* atomic, volatile, relaxed or more */
#define JIT_ACCESS_ACQUIRE     (1u << 18)
#define JIT_ACCESS_RELEASE     (1u << 19)
#define JIT_ACCESS_SHARED      (1u << 20) /* in the shared memory of the block */
#define JIT_ACCESS_GENERIC     (1u << 21) /* addresses may be of any space; else of global memory */
#define JIT_ACCESS_ASYNC       (1u << 22) /* by an asynchronous copy of the lane's */
#define JIT_ACCESS_MATRIX      (1u << 23) /* the warp's: addresses are lines of a matrix */
#define JIT_ACCESS_SCOPE_SHIFT 24
#define JIT_ACCESS_EXCHANGE                                                                        \
    (1u << 26) /* JIT_ORDER_ACQUIRED: an atomic function, whose result is used */
#define JIT_ACCESS_SCOPE(how) ((how) >> JIT_ACCESS_SCOPE_SHIFT & 3u)
enum jit_scope { JIT_SCOPE_BLOCK, JIT_SCOPE_CLUSTER, JIT_SCOPE_GRID };
enum jit_thread_order {
    JIT_ORDER_ACQUIRED, /* rows: addresses; arg: how. After a strong read */
    JIT_ORDER_FENCE,    /* arg: enum jit_scope */
    JIT_ORDER_WARP,     /* rows: members that the lanes name */
    JIT_ORDER_BLOCK,    /* the warp waits at the barrier of all warps of the block */
    JIT_ORDER_COMMIT,   /* asynchronous copies become a group; */
    JIT_ORDER_AWAIT,    /* all but the latest `arg` groups are over; UINT32_MAX: all copies are */
    JIT_ORDER_COPIES_ARRIVE, /* rows: barrier objects that hear of the end of all copies so far */
};

/* Code that follows which bytes were written: lanes of `mask` are about to read or write elements,
 * bytes: of all elements of a lane, and from JIT_DEFINED_ELEMENT_SHIFT on of one of them. Rows: a
 * bit for each byte of a lane's element that was never written; NULL: what is read decides
 * something; all of what is written is known. void weir_rt_defined_read(struct jit_block *block,
 * uint32_t mask, const uint64_t *address, uint32_t bytes, uint8_t row[32], uint32_t shape); void
 * weir_rt_defined_write(struct jit_block *block, uint32_t mask, const uint64_t *address, uint32_t
 * bytes, const uint8_t row[32], uint32_t shape); */
#define JIT_DEFINED_ELEMENT_SHIFT 16

/* Several devices that compiled code distinguishes: numbers that are the same for all blocks of a
 * device. No byte of [a, a + JIT_OTHERS_REACH] is another device's memory if `a` is outside
 * [base, base + bytes) or in [own base, own base + own bytes); else weir_rt_check knows.
 * const uint64_t *weir_rt_others(const struct jit_block *block); */
enum { JIT_OTHERS_BASE, JIT_OTHERS_BYTES, JIT_OTHERS_OWN_BASE, JIT_OTHERS_OWN_BYTES };
enum { JIT_OTHERS_REACH = 1 << 20 };

/* ---- sums of floats that a call collects ---- */

/* The pages to which sums may go that a call collects, and lane by lane what a warp adds: the
 * number and where it goes, in bytes from the first page; JIT_SUM_WINDOW: the lane adds nothing. No
 * number is so small that sums of them may be subnormal (codegen/memory/atomic_groups.c). */
enum { JIT_SUM_PAGES = 8, JIT_SUM_WINDOW = JIT_SUM_PAGES * 4096 };
struct jit_sum_record {
    float value[JIT_WARP];
    uint16_t place[JIT_WARP];
};
/* On the call's stack. */
struct jit_float_sums {
    uint64_t start, size;     /* the pages; size 0: none */
    uint64_t records;         /* where records go: struct jit_sum_record * */
    uint32_t tries;           /* how often pages may still be admitted */
    uint32_t count, capacity; /* records that there are, and that there may be */
};
/* void weir_rt_sums_admit(struct jit_block *block, struct jit_float_sums *sums, uint32_t mask,
 *                         const uint64_t address[32]);
 *     Touches the lanes' elements, and has sums to their pages collected if that can be and pays.
 *     What was collected may be added to memory before.
 * void weir_rt_sums_add(struct jit_block *block, struct jit_float_sums *sums, uint32_t keep);
 *     Adds what is collected to memory; unless `keep`, no pages are collected from then on. */

/* Traps and faults that the code itself detects: never returns to compiled code (src/exec
 * leaves it in its own manner). `kind` is enum jit_fault. */
enum jit_fault {
    JIT_FAULT_TRAP = 1,    /* trap; brkpt outside a debugger */
    JIT_FAULT_ILLEGAL = 2, /* reached what cannot be executed */
    JIT_FAULT_MISALIGNED = 3,
    JIT_FAULT_STACK = 4, /* the call stack (cudaLimitStackSize) is used up */
    JIT_FAULT_PC = 5,    /* a call through what points to no function */
};
/* void weir_rt_fault(struct jit_block *block, uint32_t kind, uint32_t mask, uint64_t address); */

#endif
