/* emit: from the analysed kernel to LLVM IR. Private to the emit_*.c files.
 *
 * The function that comes out runs one block:
 *
 *   dispatch   picks the resume point to go on at (the start, a barrier passed, a poll)
 *   region r   for each warp that waits at r: restore its frame, run to the next suspension or to
 *              the end, save its frame
 *
 * In kernels in lockstep (kernel.h) there is no dispatcher: a region goes on at the next one.
 *
 * Every region has its own copy of the blocks it can reach, so that LLVM sees straight code from
 * one barrier to the next. Registers are stack slots here; LLVM promotes them. */
#ifndef WEIR_JIT_EMIT_H
#define WEIR_JIT_EMIT_H

#include <llvm-c/Core.h>
#include <llvm-c/Target.h>

#include "compiler/arithmetic/arithmetic.h"
#include "compiler/kernel.h"

/* Where a register lives. */
struct storage {
    LLVMValueRef slot[MAX_SEGS]; /* one scalar a segment, or slot[0]: a vector of 32 */
    LLVMValueRef brk[MAX_SEGS];  /* shapes with a break: i32, the segment's lanes before it */
    uint32_t frame_offset;       /* of its place in a warp's frame, UINT32_MAX: none */
    uint8_t alike;        /* bits of the lane's number that make no difference to a vector: of
                             lanes that differ in these alone, the frame has one */
    bool framed;          /* that place is its only one: slot[0] points there */
    bool crowd;           /* ... though no function is told of it (emit_place.c) */
    LLVMValueRef pooled;  /* while places are given out: the one it has */
    uint32_t kept;        /* its number among what is kept while a block changes code, from 1
                             on; 0: it is not (emit_move.c) */
    LLVMValueRef in, out; /* one value for the block: at the region's start and end */
};

/* Memory of which LLVM is told that none of it is the other's: frames, and that of state spaces. */
enum { SCOPE_FRAME, SCOPE_SHARED, SCOPE_GLOBAL, SCOPE_LOCAL, SCOPE_ANY, SCOPES };

struct codegen {
    struct jkernel *k;
    struct alu alu; /* context, module and builder too */
    LLVMTypeRef i1, i8, i16, i32, i64, f32, f64, ptr, v32i1, v32i32, v32i64;
    LLVMValueRef fn, blk; /* the function and its argument */
    LLVMValueRef params, shared, local, frame, pc, local_stride;
    LLVMValueRef ctaid[3], nctaid[3];
    LLVMValueRef nwarps, nthreads;
    LLVMBasicBlockRef entry, dispatch, suspend;
    LLVMValueRef next_slot; /* kernels in lockstep: the resume point that follows, 0: done */
    uint64_t *next_set;     /* ... those that may follow the region being emitted */
    LLVMValueRef w_slot, phase_slot, spun_slot; /* current warp, barrier phase, how often polls ran
                                                   out in this call */
    LLVMValueRef mma_file;                      /* registers of a matrix product, NULL: none yet */
    LLVMValueRef pieces;                        /* what emit_piece.c shares with its functions */
    LLVMValueRef masked;                        /* what emit_masked.c shares with its functions */
    uint32_t apart;         /* accesses whose lanes are not known to be neighbours, once counted */
    bool apart_counted;     /* (emit_piece.c) */
    LLVMValueRef rows;      /* what helpers are given and give, NULL: none yet */
    LLVMValueRef safe;      /* 16 readable bytes for lanes not active */
    LLVMValueRef others;    /* what weir_rt_others gives; only in code that asks for it */
    uint32_t looks;         /* at all lanes' addresses, in line (access_check.c) */
    LLVMValueRef elsewhere; /* the same, unknown to LLVM, which would rather branch than load from a
                               variable that nobody writes */
    struct {
        LLVMValueRef items[24];
        int count, used; /* the first `used` are what a stretch being emitted has */
    } arrays;            /* of emit_turns.c */
    LLVMValueRef sp;     /* functions: where this frame starts in the local window (i64) */
    LLVMValueRef ended;  /* functions: i32, lanes whose threads have ended in it */
    struct storage *regs;
    LLVMValueRef live_slot;     /* i32: threads of the warp that have not ended */
    LLVMValueRef *pending_slot; /* per block: i32 lanes waiting there; NULL where `alone` */
    bool always_full;           /* all 32 lanes live for ever, statically */
    uint32_t frame_bytes;
    uint32_t live_offset, *pending_offset;
    uint64_t **resume_live;  /* per resume point: registers to restore */
    uint64_t **resume_again; /* ... and to make again of those (emit_again.c) */
    uint64_t **block_reads;  /* per block: registers read in it; made when asked for */
    uint64_t **resume_cand;  /* per resume point: blocks that may run next */
    uint32_t relay_offset;   /* in a frame: the resume point where the warp has handed over, or 0 */
    LLVMValueRef relay_left; /* i32: turns left before it does; NULL: nobody ever does */
    LLVMValueRef relay_next; /* i32: where one of the warps has, 0: none */
    bool can_move; /* blocks come, in each loop over barriers, to where they may leave for other
                      code (emit_move.c) */
    uint32_t kept_offset; /* in the first frame: what scratch[] has no room for */
    uint64_t *moves;      /* in lockstep: the resume points where they may; NULL: none */
    /* the region being emitted */
    int32_t region;
    const uint64_t *reads; /* registers that it reads; NULL: not known */
    int32_t
        row_warps; /* warps after which the next block goes on (emit_row.c), 0: one block a call */
    LLVMBasicBlockRef *bb;       /* block -> its general copy in this region */
    LLVMBasicBlockRef *whole_bb; /* block -> its copy for whole warps (emit_flow.c) */
    LLVMBasicBlockRef *split;    /* instruction -> where general copies go on at it, or NULL */
    int32_t *work, nwork;        /* blocks to be emitted; + nblocks: the whole copy */
    bool wholes;                 /* are there whole copies? */
    LLVMBasicBlockRef next_warp;
    LLVMValueRef w, frame_w; /* warp index, its frame */
    uint8_t *remat_done;
    uint8_t *notes; /* per block: it says which warp runs */
    /* the block being emitted */
    const struct jblock *cur;
    bool in_whole;           /* its whole copy: all lanes are active, and no value is broken */
    const uint64_t *waiting; /* registers that lanes pending elsewhere still need */
    uint64_t **waiting_of;   /* per block */
    LLVMValueRef mask;       /* i32, NULL: all 32 lanes */
    LLVMValueRef mask_vec;   /* the same as <32 x i1>, made when first asked for */
    bool one_lane;           /* lanes take turns: `mask` is the one whose turn it is */
    LLVMValueRef guess;      /* in a turn, i1: does what is emitted really happen? NULL: yes */
    /* metadata */
    unsigned md_invariant, md_unpredictable, md_scope, md_noalias;
    LLVMValueRef md_empty;
    LLVMValueRef scope_of[SCOPES], scope_not[SCOPES], scope_all; /* for alias.scope and noalias */
    struct debug_lines *lines; /* source positions, NULL when not wanted */
    struct callees *callees;   /* functions that must be compiled along */
    bool failed;
};

/* ---- emit_value.c ---- */

static inline int nsegs(unsigned seg) { return 1 << (SEG_WARP - seg); }

LLVMValueRef c32(struct codegen *cg, uint64_t v);
LLVMValueRef c64(struct codegen *cg, uint64_t v);
/* Scalar LLVM type of a PTX type; its 32-lane vector. */
LLVMTypeRef scalar_type(struct codegen *cg, unsigned ptx_type);
LLVMTypeRef vector_type(struct codegen *cg, unsigned ptx_type);
/* Value as PTX type `want`: bits reinterpreted, wider integers cut, narrower ones extended. */
LLVMValueRef coerce(struct codegen *cg, LLVMValueRef v, unsigned want, bool is_signed);
LLVMValueRef splat(struct codegen *cg, LLVMValueRef scalar, unsigned lanes);
/* <32 x T> from per-segment scalars plus a stride within segments. */
LLVMValueRef from_segments(struct codegen *cg, const LLVMValueRef *v, unsigned seg, int64_t stride);
/* An operand for segment `s` of 2^seg lanes: its first lane's value, as PTX type `want`. */
LLVMValueRef operand_scalar(struct codegen *cg, const struct ptx_operand *o, unsigned want,
                            unsigned seg, int s);
LLVMValueRef operand_vector(struct codegen *cg, const struct ptx_operand *o, unsigned want);
/* Writes a register: with one value a segment of shape `s`, or a whole vector. Values are of PTX
 * type `type` and extended to the register's width by its signedness. */
void write_segments(struct codegen *cg, int32_t reg, struct uniformity s, const LLVMValueRef *v,
                    unsigned type);
void write_vector(struct codegen *cg, int32_t reg, LLVMValueRef v, unsigned type);
/* write_segments for a shape with a break; before[s] is the number of lanes of segment s before it.
 */
void write_broken(struct codegen *cg, int32_t reg, struct uniformity s, const LLVMValueRef *v,
                  const LLVMValueRef *before, unsigned type);
/* Lanes before the break of a register operand's segment, i32: 2^seg when there is none in it. */
LLVMValueRef operand_break(struct codegen *cg, const struct ptx_operand *o, unsigned seg, int s);
/* The same for a 32-bit index about to be widened: how many lanes do not wrap. */
LLVMValueRef lanes_before_wrap(struct codegen *cg, LLVMValueRef first, int64_t stride, unsigned seg,
                               bool is_signed);
void write_uniform(struct codegen *cg, int32_t reg, LLVMValueRef v, unsigned type);
LLVMValueRef read_slot(struct codegen *cg, int32_t reg, int s);
/* <32 x i1> of active lanes, or NULL for all. */
LLVMValueRef mask_vector(struct codegen *cg);
/* i32 of active lanes, a constant when all. */
LLVMValueRef mask_bits(struct codegen *cg);
/* A vector's value in the first active lane. */
LLVMValueRef first_active(struct codegen *cg, LLVMValueRef v);
LLVMValueRef bits_of(struct codegen *cg, LLVMValueRef v32i1);
LLVMValueRef lanes_of(struct codegen *cg, LLVMValueRef bits);
/* <count x i1> of the bits from `first` on. */
LLVMValueRef some_lanes_of(struct codegen *cg, LLVMValueRef bits, unsigned first, unsigned count);
LLVMValueRef block_field(struct codegen *cg, size_t offset, LLVMTypeRef type, bool invariant);
LLVMValueRef intrinsic(struct codegen *cg, const char *name, LLVMTypeRef *types, int ntypes,
                       LLVMValueRef *args, int nargs);
LLVMValueRef new_slot(struct codegen *cg, LLVMTypeRef type, const char *name);
LLVMValueRef lane_constants(struct codegen *cg, LLVMTypeRef elem, int64_t stride,
                            unsigned period_log2);
LLVMValueRef byte_offset(struct codegen *cg, LLVMValueRef base, LLVMValueRef offset);
LLVMBasicBlockRef new_bb(struct codegen *cg, const char *name);
/* A branch that is expected to be taken to `yes`; cold.c relies on it. */
void branch_likely(struct codegen *cg, LLVMValueRef cond, LLVMBasicBlockRef yes,
                   LLVMBasicBlockRef no);
/* The same integer or pointer, of which LLVM knows nothing. Costs no instruction. */
LLVMValueRef opaque(struct codegen *cg, LLVMValueRef v);
void tag_frame(struct codegen *cg, LLVMValueRef access);
void tag_memory(struct codegen *cg, LLVMValueRef access, unsigned space);

/* ---- emit_op.c, emit_call.c, emit_mem.c, emit_warp.c ---- */

bool emit_instr(struct codegen *cg, const struct ptx_instr *i);
bool emit_load(struct codegen *cg, const struct ptx_instr *i);
bool emit_store(struct codegen *cg, const struct ptx_instr *i);
bool emit_atomic(struct codegen *cg, const struct ptx_instr *i);
bool emit_warp_op(struct codegen *cg, const struct ptx_instr *i);
bool emit_call(struct codegen *cg, const struct ptx_instr *i);
/* Writes result `which` of an elementwise operation to `d`: where `sh` has segments, dst[s][which]
 * to segment s, else the vector dst[0][which]. Nothing where `d` is no register. */
void write_results(struct codegen *cg, const struct ptx_operand *d, int which, struct uniformity sh,
                   LLVMValueRef dst[MAX_SEGS][ALU_MAX_DST], unsigned type);
/* The active lanes of `mask` fault; what follows is not reached. */
void emit_fault(struct codegen *cg, unsigned kind, LLVMValueRef mask, LLVMValueRef address);
/* Faults as misaligned where `lanes` (active ones) is not 0, with the first one's element of `at`:
 * <32 x i64> addresses, or <32 x i32> offsets into shared memory; code goes on behind. */
void fault_odd_lanes(struct codegen *cg, LLVMValueRef lanes, LLVMValueRef at);
LLVMValueRef sreg_scalar(struct codegen *cg, const struct ptx_operand *o, unsigned seg, int s);
LLVMValueRef sreg_vector(struct codegen *cg, const struct ptx_operand *o);
/* Every active lane's generic or window address as <32 x i64>. */
LLVMValueRef address_vector(struct codegen *cg, const struct ptx_operand *o, unsigned space);
unsigned mem_space(const struct ptx_instr *i);
/* What a load or store like `i` does at another address, with the lanes' elements as vectors: type,
 * state space and vector size are i's, the active lanes the emitter's. */
void load_lanes(struct codegen *cg, const struct ptx_instr *i, const struct ptx_operand *at,
                LLVMValueRef *out);
void store_lanes(struct codegen *cg, const struct ptx_instr *i, const struct ptx_operand *at,
                 LLVMValueRef *v);
/* Iterates over active lanes: body(e, lane, arg) is emitted once, inside a loop. */
void for_active_lanes(struct codegen *cg, LLVMValueRef bits,
                      void (*body)(struct codegen *cg, LLVMValueRef lane, void *arg), void *arg);

/* What the emitter (not alu) can do; the reason when it cannot. */
bool emit_supported(const struct ptx_instr *i, struct diag *d);

/* ---- emit_tex.c ---- */

/* tex, tld4, txq, suld, sust, sured, suq. */
bool emit_texture(struct codegen *cg, const struct ptx_instr *i);
bool texture_supported(const struct ptx_instr *i, struct diag *d);

/* For what only may happen (cg->guess, i1): `yes` if it does, else `no`. */
LLVMValueRef guess_select(struct codegen *cg, LLVMValueRef yes, LLVMValueRef no);
/* Does this load or store reach shared memory in a pattern that is known now (emit_window.c)? */
bool mem_in_window(struct codegen *cg, const struct ptx_instr *i);
/* In front of a load, i1: are its active lanes likely to be neighbours? */
LLVMValueRef likely_near(struct codegen *cg, const struct ptx_instr *load);

/* ---- emit_mma.c, emit_mma_move.c, emit_async.c ---- */

/* mma, wmma. */
bool emit_mma(struct codegen *cg, const struct ptx_instr *i);
bool mma_supported(const struct ptx_instr *i, struct diag *d);
/* ldmatrix, stmatrix, movmatrix. */
bool emit_matrix_move(struct codegen *cg, const struct ptx_instr *i);
/* cp.async and its groups: copies are made at once, so that there is never one to wait for. */
bool emit_async(struct codegen *cg, const struct ptx_instr *i);
bool async_supported(const struct ptx_instr *i, struct diag *d);
/* A structure copied into local memory (flatten_copies.c). */
bool emit_copy(struct codegen *cg, const struct ptx_instr *i);

/* ---- emit_barrier.c, emit_cluster.c ---- */

/* As jit_options.checked says (access_check.c). At a function's start. */
void check_begin(struct codegen *cg);
/* Asks whether the active lanes may access `bytes` each. */
void check_access(struct codegen *cg, const struct ptx_operand *at, unsigned space, unsigned bytes,
                  bool writes);
/* The same for a matrix of the whole warp: lines of `bytes`, `pitch` (i64) apart, from `start`. */
void check_lines(struct codegen *cg, unsigned space, LLVMValueRef start, LLVMValueRef pitch,
                 unsigned lines, unsigned bytes, bool writes);

/* Rows of 32 numbers of 64 bits that helpers of the grid room are given and give back. */
enum { HELPER_ROWS = 6 };
LLVMValueRef emit_rows(struct codegen *cg, unsigned first);
void emit_row_store(struct codegen *cg, unsigned row, LLVMValueRef v32i64);
LLVMValueRef emit_row_load(struct codegen *cg, unsigned row);
/* Writes a register from a row; a predicate is what is not zero. */
void emit_row_result(struct codegen *cg, const struct ptx_operand *d, unsigned row, unsigned type);
/* Calls a helper by its whole name. */
LLVMValueRef emit_helper(struct codegen *cg, const char *name, LLVMTypeRef result,
                         LLVMValueRef *args, unsigned n);

bool emit_mbarrier(struct codegen *cg, const struct ptx_instr *i);
/* barrier.cluster.arrive, and the question that .wait has become: may the warp go on? */
void emit_cluster_barrier(struct codegen *cg, const struct ptx_instr *i);
/* cvta and isspacep of .shared::cluster; mapa, getctarank. */
bool emit_cluster_cvta(struct codegen *cg, const struct ptx_instr *i);
bool emit_cluster_isspacep(struct codegen *cg, const struct ptx_instr *i);
bool emit_cluster_address(struct codegen *cg, const struct ptx_instr *i);

/* ---- emit.c ---- */

/* Functions that are called and not inlined, each to be emitted once. */
struct callees {
    const struct ptx_func **items;
    size_t count, cap;
};
/* The LLVM function of one: i32 (block, i32 warp, i32 mask, i64 frame start): the lanes
 * whose threads it has ended. */
LLVMValueRef callee_function(struct codegen *cg, const struct ptx_func *f);

/* The warp arrives at barrier `id`, which opens when `count` threads have. */
void emit_arrive(struct codegen *cg, const struct ptx_instr *i);

/* Ends a block that suspends. */
void emit_suspend(struct codegen *cg, const struct jblock *blk);
void emit_spin(struct codegen *cg);

/* Emits "weir_block" for an analysed kernel into cg->alu.module, or a function called by it. */
bool emit_kernel(struct codegen *cg);
bool emit_function(struct codegen *cg);

/* Start of a warp's work in region r: masks, registers, and the first block. */
void enter_region(struct codegen *cg, int32_t r);

/* ---- emit_row.c ---- */

/* Whether, and in what order, a call runs several blocks; after frame_resume_points. */
void row_plan(struct codegen *cg);
/* Does a call go through one row of threads of all its blocks before the next row begins? */
bool row_streams(const struct codegen *cg);
/* The only region of such a kernel, which begins at `at`. */
bool emit_row(struct codegen *cg, LLVMBasicBlockRef at);

/* ---- emit_relay.c ---- */

/* Makes room for what follows; before frame_plan. */
void relay_plan(struct codegen *cg);
/* Is resume point r one where warps hand over? */
bool relay_point(const struct codegen *cg, int32_t r);
/* Does a register outlive such a point? */
bool relay_needs(const struct codegen *cg, int32_t reg);
/* i1: does the warp wait at such a point? */
LLVMValueRef relay_waits(struct codegen *cg, int32_t r);
/* A warp begins to run. */
void relay_begin(struct codegen *cg);
/* Ends a block on the way back to such a loop's header. */
void relay_hand_over(struct codegen *cg, const struct jblock *blk);
/* All warps have run: those that have handed over go on; code goes on behind when there are none.
 */
void relay_go_on(struct codegen *cg, LLVMBasicBlockRef *regions);
/* In front of a load of `bytes` at each of the n pointers: asks for what the turns that follow the
 * next hand-over will load. */
void relay_ahead(struct codegen *cg, const struct ptx_operand *at, unsigned space,
                 const LLVMValueRef *p, int n, uint64_t bytes);

/* ---- emit_flow.c ---- */

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
/* The same after the polls of a loop have run out: others may go first (yield.c). */
void flow_resume(struct codegen *cg, const struct jblock *poll, const uint64_t *cand);
/* A poll has run out: lanes that may go first do; the builder goes on where there are none. */
void flow_yield(struct codegen *cg, const struct jblock *poll);
/* The active lanes of a block that suspends are noted as waiting at its successor. */
void flow_wait(struct codegen *cg, const struct jblock *blk);
/* Goes to the whole copy of block b if `lanes` (NULL: known to be) are all 32 and no value that b
 * reads is broken; code goes on behind for all other cases. False: there are none. */
bool flow_whole(struct codegen *cg, int32_t b, LLVMValueRef lanes);
/* In a whole copy, before instruction i writes: if not `unbroken` (i1) the general copies go on. */
void flow_keep_whole(struct codegen *cg, const struct ptx_instr *i, LLVMValueRef unbroken);

/* ---- emit_note.c ---- */

/* Says which warp runs. */
void emit_note_warp(struct codegen *cg);
/* A warp begins region r: it is said now, or cg->notes will tell which blocks do. */
void emit_note_region(struct codegen *cg, int32_t r);
/* Before which instruction of a block that says it: what is before it can neither fault nor call,
 * so that LLVM may move it out of the loop over warps. */
int32_t note_at(const struct jkernel *k, const struct jblock *b);

/* ---- emit_ends.c ---- */

/* Whole warps: i1 of whether the branch that ends blk is taken by all lanes, and by none, found
 * from the first and the last. Both false: they part, or it cannot be said. False, and nothing is
 * written: it takes all lanes to know. */
bool emit_ends(struct codegen *cg, const struct jblock *blk, LLVMValueRef *all, LLVMValueRef *none);

/* i32: the lanes, active or not, for which the condition of the branch that ends blk holds. */
LLVMValueRef emit_condition(struct codegen *cg, const struct jblock *blk);

/* ---- emit_turns.c ---- */

/* The active lanes run from block `first` (or where it forks) to where it says, one after the
 * other.
 */
bool emit_turns(struct codegen *cg, const struct jblock *first);

/* ---- ahead.c ---- */

/* Notes that a block makes this load or store once, if it may be worth to look ahead for it. */
void ahead_mark(struct codegen *cg, LLVMValueRef access, unsigned space);
/* After the optimiser: puts prefetches for later blocks before the loads noted. False: none. */
bool ahead_insert(LLVMModuleRef m, LLVMTargetDataRef data);

/* ---- cold.c ---- */

/* After the optimiser, with critical edges split: moves values that only unlikely ways need there,
 * by way of variables. False: there were none. */
bool cold_move(LLVMModuleRef m);

/* ---- homes.c ---- */

/* After the optimiser, in kernels in lockstep: values that will have left the registers are loaded
 * from shared memory where they are there, of which the first `shared_bytes` exist in any launch;
 * notes of warps that nobody reads go. False: there were none. */
bool homes_use(LLVMModuleRef m, LLVMTargetDataRef data, uint64_t shared_bytes, unsigned simd_bits);

/* ---- strips.c ---- */

/* At last: arithmetic whose values do not fit into registers, of simd_bits each, is done for a few
 * lanes at a time; or `always`. */
void strips_split(LLVMModuleRef m, unsigned simd_bits, bool always);

/* ---- emit_frame.c ---- */

/* Numbers the resume points and finds what outlives each. */
void frame_resume_points(struct codegen *cg);
/* Gives every register that outlives one a place in the frame. */
void frame_plan(struct codegen *cg);
/* Is a register that outlives a resume point kept once for the whole block? */
bool frame_once(const struct codegen *cg, int32_t reg);
/* Registers that are read between resume point r and the next barrier, as a bit set. */
const uint64_t *frame_reads(struct codegen *cg, int32_t r);
/* Saves or restores all that resume point r needs. */
void frame_move(struct codegen *cg, int32_t r, bool save);
/* Behind that: computes again what is not saved and is read. */
void frame_recompute(struct codegen *cg, int32_t r);

/* ---- emit_again.c ---- */

/* Decides what need not be kept at resume points, as it follows from what is; before frame_plan. */
void again_plan(struct codegen *cg);

/* ---- emit_move.c ---- */

/* Conditions that code asks for and that the tier decides: whether it is quick code that blocks
 * leave for better code, and whether it is entered by such blocks. */
#define MOVE_LEAVES "weir_move_leaves"
#define MOVE_ENTERS "weir_move_enters"

/* Where blocks may leave for better code; after frame_plan. */
void move_plan(struct codegen *cg);
/* With a dispatcher: warps have run, it is asked next, and the block may leave before. */
void move_dispatch(struct codegen *cg);
/* In lockstep: all warps have passed the barrier of resume point r, and the block may leave. */
void move_passed(struct codegen *cg, int32_t r);
/* In lockstep: at `at` a block begins, or goes on that has begun in other code. */
void move_begin(struct codegen *cg, LLVMBasicBlockRef at, LLVMBasicBlockRef *regions);
/* Answers one of the questions above, everywhere in the module. */
void move_decide(LLVMModuleRef m, const char *name, bool yes);

/* ---- emit_place.c ---- */

/* Gives fragments of matrices their places, and decides which registers stay in the frame; after
 * frame_plan. */
void place_plan(struct codegen *cg);
/* A region begins: places in the frame are those of its warp, cg->frame_w. */
void place_region(struct codegen *cg);
/* Where a register that is a vector lies. */
LLVMValueRef place_of(struct codegen *cg, int32_t reg);

/* ---- emit_debug.c ---- */

struct debug_lines *debug_open(struct codegen *cg);
void debug_function(struct codegen *cg); /* cg->fn gets a scope of its own */
void debug_at(struct codegen *cg, const struct ptx_instr *i);
void debug_close(struct debug_lines *lines);

#endif
