/* control.h: control flow between the basic blocks of a kernel, and the order in which warps and
 * lanes run. */
#ifndef WEIR_COMPILER_CONTROL_H
#define WEIR_COMPILER_CONTROL_H

#include "compiler/codegen/codegen.h"

/* How warps go from region to region (function.c). */
struct regions {
    int32_t current;            /* the region being emitted */
    uint64_t **blocks;          /* per region: the blocks that its warps may run */
    uint64_t *last_first;       /* set over regions: those that the block's last warp runs first */
    LLVMBasicBlockRef dispatch; /* NULL: there is no dispatcher */
    LLVMBasicBlockRef suspend;  /* where a warp that suspends goes */
    LLVMValueRef next_slot;     /* in lockstep: the resume point that follows, 0: done */
    uint64_t *next_set;         /* ... those that may follow the current region */
    LLVMValueRef phase_slot;    /* barrier phase */
    LLVMValueRef spun_slot;     /* how often polls ran out in this call */
};

/* ---- function.c ---- */

/* Start of a warp's work in region r: masks, registers, and the first block. */
void enter_region(struct codegen *cg, int32_t r);
/* Ends a block that suspends. */
void emit_suspend(struct codegen *cg, const struct jblock *blk);
/* One poll of a spinning loop: branches to `out` when the budget is spent, else to `on`. Returns
 * what is left of it. */
LLVMValueRef spend_poll(struct codegen *cg, LLVMBasicBlockRef out, LLVMBasicBlockRef on);
/* A poll in a function: the thread yields and comes back. */
void emit_spin(struct codegen *cg);
/* Stores where the current warp goes on: its entry of the block's pc[]. */
void store_pc(struct codegen *cg, LLVMValueRef v);
/* The warp suspends: its state goes to the frame. */
void suspend_warp(struct codegen *cg, const struct jblock *blk, bool next_phase);

/* ---- control_flow.c ---- */

/* The blocks of the region being emitted. */
struct control_flow {
    LLVMBasicBlockRef *divergent_bb; /* block -> its divergent copy */
    LLVMBasicBlockRef *converged_bb; /* block -> its converged copy */
    LLVMBasicBlockRef *split;    /* instruction -> where divergent copies go on at it, or NULL */
    int32_t *work, nwork;        /* blocks to be emitted; + nblocks: the converged copy */
    bool has_converged;          /* are there converged copies? */
    LLVMBasicBlockRef next_warp; /* where a warp goes that has ended */
    LLVMValueRef *pending_slot;  /* per block: i32 lanes waiting there; NULL where converged */
    struct pending_set *pending_set; /* pending_set.c; NULL: pending_slot has the masks */
    uint64_t *idle;        /* blocks that may run without lanes (idle_blocks.c); NULL: none */
    uint64_t **waiting_of; /* per block: registers that lanes pending elsewhere still need */
};

/* A new region: no block has been emitted in it. */
void flow_open(struct codegen *cg);
/* Emits all blocks that were asked for, and those that they lead to. */
bool flow_emit(struct codegen *cg);
/* All of a warp's lanes begin at one block. */
void flow_start(struct codegen *cg, int32_t block, LLVMValueRef lanes);
/* All active lanes go on at block `to`. */
void flow_goto(struct codegen *cg, int32_t to);
/* Runs the first of the candidate blocks that has lanes waiting; `last` is where to go when none
 * before it has: a candidate that then must have some, or -1 for "the warp is done". */
void flow_chain(struct codegen *cg, const uint64_t *cand, int32_t last);
/* The same after the polls of a loop have run out: others may go first (spin_yield.c). */
void flow_resume(struct codegen *cg, const struct jblock *poll, const uint64_t *cand);
/* A poll has run out: lanes that may go first do; the builder goes on where there are none. */
void flow_yield(struct codegen *cg, const struct jblock *poll);
/* The same on fibers, if weir_rt_yield has said that they may (abi/kernel_abi.h). */
void flow_offer(struct codegen *cg, const struct jblock *poll, LLVMValueRef may);
/* The active lanes of a block that suspends are recorded as waiting at its successor. */
void flow_wait(struct codegen *cg, const struct jblock *blk);
/* Goes to the converged copy of block b if `lanes` (NULL: known to be) are all 32 and no value that
 * b reads is broken; the builder is left where all other cases continue. False: there are none. */
bool flow_enter_converged(struct codegen *cg, int32_t b, LLVMValueRef lanes);
/* In a converged copy, before instruction i writes: if not `unbroken` (i1) the divergent copies go
 * on. */
void flow_stay_converged(struct codegen *cg, const struct ptx_instr *i, LLVMValueRef unbroken);

/* Block b's divergent copy, which is emitted if it has not been. */
LLVMBasicBlockRef flow_block(struct codegen *cg, int32_t b);

/* ---- fibers.c ---- */

/* The function that runs a block of a kernel on fibers, cg->fn; the kernel itself is one of the
 * callees. */
bool emit_fiber_kernel(struct codegen *cg);
/* On fibers: what a barrier of the block has become. */
void emit_lane_barrier(struct codegen *cg, const struct ptx_instr *i);
/* On fibers: the threads of the active lanes end. */
void emit_lanes_end(struct codegen *cg);
/* On fibers: the poll that block `blk` ends with; the builder goes on where the loop does. */
void emit_lane_poll(struct codegen *cg, const struct jblock *blk);

/* ---- pending_set.c ---- */

/* Decides whether the kernel has such a set; in the prologue. */
void pending_set_plan(struct codegen *cg);
/* Where it lies, once the resume points are known: `at` bytes into the frame of a kernel that has
 * some. Returns where the frame goes on. */
uint32_t pending_set_allocate(struct codegen *cg, uint32_t at);
/* Where the mask of the lanes that wait at block b is, with or without a set. */
LLVMValueRef pending_pointer(struct codegen *cg, int32_t b);
/* A new region; at its start for a warp: no lane waits. Without a set, these, the next one and
 * pending_set_leave do nothing. */
void pending_set_open(struct codegen *cg);
void pending_set_clear(struct codegen *cg);
/* At the start of a region that resumes: lanes may be pending at these blocks. */
void pending_set_resume(struct codegen *cg, const uint64_t *blocks);
/* Block b comes into the set if there are lanes; their mask is the caller's to write. With mark it
 * may be a block of another region, with add it is one that this region's search finds. */
void pending_set_mark(struct codegen *cg, int32_t b, LLVMValueRef lanes);
void pending_set_add(struct codegen *cg, int32_t b, LLVMValueRef lanes);
void pending_set_remove(struct codegen *cg, int32_t b);
/* The current block ends: its lanes wait there no more. */
void pending_set_leave(struct codegen *cg);
/* Goes to the first block in the set, which is not before `first`, or to the next warp. */
void pending_set_search(struct codegen *cg, int32_t first);
/* A poll of a loop on fibers, whose lanes have been added at the loop: lanes that weir_rt_yield's
 * answer allows to go first do, else the first block in the set goes on. */
void pending_set_offer(struct codegen *cg, const struct jblock *poll, LLVMValueRef may);
/* The region is over: emits what these branch to. */
void pending_set_emit_search(struct codegen *cg);

/* ---- gates.c ---- */

/* Where a gate begins: lanes that wait at it join those that have come. */
void gate_collect(struct codegen *cg, const struct jblock *gate);
/* i32: the active lanes that need none that is not active. */
LLVMValueRef gate_ready_lanes(struct codegen *cg, const struct jblock *gate);

/* ---- branch_conditions.c ---- */

/* In converged copies: i1 of whether the branch that ends blk is taken by all lanes, and by none,
 * found from the first lane and the last. Both false: they diverge, or it cannot be said. Returns
 * false, and writes nothing, where it takes all lanes to know. */
bool branch_from_bounds(struct codegen *cg, const struct jblock *blk, LLVMValueRef *all,
                        LLVMValueRef *none);
/* i32: the lanes, active or not, for which the condition of the branch that ends blk holds. */
LLVMValueRef branch_condition_bits(struct codegen *cg, const struct jblock *blk);

/* ---- if_conversion.c ---- */

/* Instead of the branch that ends blk: executes what some lanes skip under a mask, and all go on.
 * False: that cannot be done. *ok becomes whether it could be emitted. */
bool if_convert(struct codegen *cg, const struct jblock *blk, bool *ok);
/* Is one side of the branch a further trip through a loop over the threads' own indices? */
bool if_trip(const struct jkernel *k, const struct jblock *blk);

/* ---- idle_blocks.c ---- */

/* Chooses the blocks that run whether lanes have come to them or not: divergent copies, after the
 * only block that leads there. Needs the resume points. */
void idle_blocks_choose(struct codegen *cg);
/* Is block b one of them? */
bool is_idle_block(const struct codegen *cg, int32_t b);
/* Is the code for one of them, so that there may be no active lane? */
bool may_be_idle(const struct codegen *cg);
/* Is block b one of them, and the current block leads to it? */
bool follows_idly(const struct codegen *cg, int32_t b);

/* ---- serialized_lanes.c ---- */

struct serialized_lanes {
    bool active;           /* lanes run one after the other: cg->mask is the one that runs */
    LLVMValueRef lane;     /* which that is, i64; NULL: in a function for one lane */
    LLVMValueRef executes; /* i1: are the effects of speculated code wanted? NULL: yes */
    struct {
        LLVMValueRef items[24];
        int count, used; /* the first `used` belong to the section being emitted */
    } arrays;            /* of 32 values, which sections share */
};

/* The active lanes run from block `first` (or where it forks) to where it says, one after the
 * other. */
bool serialize_lanes(struct codegen *cg, const struct jblock *first);
/* Does the machine gain where strips of eight lanes run the loop that is block `blk` one after the
 * other? And that, by the active lanes. */
bool strips_pay(const struct codegen *cg, const struct jblock *blk);
bool serialize_strips(struct codegen *cg, const struct jblock *blk);
/* For speculated code: `yes` if its effects are wanted, else `no`. */
LLVMValueRef speculative_select(struct codegen *cg, LLVMValueRef yes, LLVMValueRef no);

/* ---- block_batch.c ---- */

/* Decides whether, and in what order, a call runs several blocks; after frame_resume_points. */
void batch_init(struct codegen *cg);
/* Does a call go through one row of threads of all its blocks before the next row begins? */
bool batch_streams(const struct codegen *cg);
/* Does the kernel go through memory in the order of lanes alone, and a call through its blocks? */
bool batch_only_streams(const struct codegen *cg);
/* Does it without barriers, and do few loads go through memory in the order of lanes? */
bool batch_reads_few(const struct codegen *cg);
/* Do the warps of several blocks of a call go through the kernel side by side? */
bool batch_abreast(const struct codegen *cg);
/* The regions of such a kernel: one, or two where warps interleave. */
bool emit_batch(struct codegen *cg, LLVMBasicBlockRef *regions);

/* ---- grid_stride_loops.c ---- */

/* Adds to the frame what follows; before frame_allocate. */
void interleave_init(struct codegen *cg);
/* Is resume point r one where warps yield to each other? */
bool interleave_point(const struct codegen *cg, int32_t r);
/* Does a register outlive such a point? */
bool interleave_needs(const struct codegen *cg, int32_t reg);
/* i1: does the warp wait at such a point? */
LLVMValueRef interleave_waits(struct codegen *cg, int32_t r);
/* A warp begins to run. */
void interleave_begin(struct codegen *cg);
/* Ends a block that branches back to such a loop's header: the warp may yield. */
void interleave_yield(struct codegen *cg, const struct jblock *blk);
/* The warp waits at such a point. */
void interleave_wait(struct codegen *cg, const struct jblock *blk);
/* All warps have run: those that have yielded go on; the builder is left where there are none. */
void interleave_resume(struct codegen *cg, LLVMBasicBlockRef *regions);
/* In front of a load of `bytes` at each of the n pointers: prefetches what the iterations after the
 * next yield will load. */
void interleave_prefetch(struct codegen *cg, const struct ptx_operand *at, unsigned space,
                         const LLVMValueRef *p, int n, uint64_t bytes);

/* ---- shared_counters.c ---- */

struct atomic;
/* Adds to the frame what follows; before frame_allocate. */
void counter_init(struct codegen *cg);
/* Ends a block that waits for the other warps at the counter. */
void counter_wait(struct codegen *cg, const struct jblock *blk);
/* All warps have run. */
void counter_turn(struct codegen *cg);
/* Is this the atomic at which they have waited? */
bool counter_shared(const struct codegen *cg, const struct ptx_instr *i);
/* There: where the warp's places begin, in the counter at p. */
LLVMValueRef counter_place(struct codegen *cg, const struct atomic *a, LLVMValueRef p);

/* ---- warp_index.c ---- */

/* Stores the index of the warp that runs. */
void store_warp_index(struct codegen *cg);
/* A warp begins region r: the index is stored now, or by the blocks for which warp_index_missing
 * will hold. */
void warp_index_region(struct codegen *cg, int32_t r);
/* Does block b have to store the index? */
bool warp_index_missing(const struct codegen *cg, int32_t b);
/* Before which instruction of a block it does: what is before it can neither fault nor call, so
 * that LLVM may move it out of the loop over warps. */
int32_t warp_index_position(const struct jkernel *k, const struct jblock *b);

#endif
