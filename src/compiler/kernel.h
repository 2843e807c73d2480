/* How the compiler represents one kernel: its data structures, which the passes (passes.h) fill in,
 * and questions about instructions and values that several of them ask.
 *
 * A warp is one SIMD thread of 32 lanes. Control flow needs no structure: blocks have a fixed order
 * (analysis/cfg.c), every divergent branch leaves masks of lanes pending at its targets, and the
 * pending block that comes first in the order runs next. Where no lane can be pending elsewhere (an
 * empty frontier) branches are plain branches. */
#ifndef WEIR_COMPILER_KERNEL_H
#define WEIR_COMPILER_KERNEL_H

#include "abi/compile.h"
#include "base/bits.h"
#include "compiler/analysis/graph.h"

/* ---- uniformity ---- */

/* How a value differs between the lanes of a warp. Lanes fall into segments of 2^seg neighbours;
 * within a segment lane i's value is the first lane's plus i * stride (modulo the width). Uniform
 * is seg 5, stride 0. A segment's first-lane value is kept as a scalar, so affine values are
 * 1, 2 or 4 scalars; divergent ones are vectors of 32. Segments of 2 or 4 lanes (8 or 16
 * scalars) pay where they are addresses of neighbours, and are kept in kernels in which that is so
 * more often than not (short_segments.c). */
enum {
    SEG_NONE = 0,
    SEG_MIN = 1,
    SEG_KEPT = 3,
    SEG_WARP = 5,
    MAX_SEGS = 1 << (SEG_WARP - SEG_MIN)
};

struct uniformity {
    uint8_t seg;      /* SEG_MIN..SEG_WARP, SEG_NONE: divergent */
    uint8_t known;    /* 0: no definition seen yet (the lattice's bottom) */
    uint8_t align;    /* first-lane values are multiples of 2^align */
    uint8_t hint_seg; /* divergent, but affine except where a narrower index wrapped around: */
    int64_t stride;   /* (also the hint's stride) */
    int64_t brk;      /* not 0: a narrower index may have wrapped, once in a segment. Lanes from a
                         number on that is known at run time are brk * 2^32 below the affine value */
    int64_t lo, hi;   /* all lanes' values lie in lo..hi (signed), when `ranged` */
    bool ranged;
};

static inline bool is_uniform(const struct uniformity *s)
{
    return s->seg == SEG_WARP && s->stride == 0;
}

/* ---- the flattened kernel ---- */

struct jreg {
    const char *name;
    uint8_t type;          /* enum ptx_type as declared */
    uint8_t remat;         /* cheap to compute again after a suspension, from what never changes */
    bool same;             /* one scalar for the whole block, in kernels in lockstep */
    bool alike;            /* the same in every warp of the block, lane by lane, in such kernels */
    bool repeats;          /* all of its segments have the same values (repeated_segments.c) */
    uint8_t repeats_after; /* lanes after which its values repeat while all are active: 8, 16;
                              0: they do not, or it is not known */
    bool read;             /* some instruction or branch reads it */
    int32_t ndefs;
    int32_t def; /* the only defining instruction when ndefs == 1 */
    struct uniformity uniformity;
};

/* Storage for a .shared, .local or argument variable of this kernel. */
struct jvar {
    const struct ptx_var *var;
    uint64_t offset; /* in its window */
};

enum jterm {
    TERM_JUMP,    /* succ[0] */
    TERM_BRANCH,  /* cond ? succ[0] : succ[1] */
    TERM_SWITCH,  /* brx.idx: succ[index], last one also for an index out of range */
    TERM_GATE,    /* lanes go on at succ[0] if all that they wait for have come with them, else they
                     wait at succ[1] (analysis/gates.c) */
    TERM_EXIT,    /* the active threads end */
    TERM_SUSPEND, /* barrier, poll of a spinning loop, wait for launches, yield point of warps that
                     interleave, counter that warps share: goes on at succ[0] */
};

enum jsuspend {
    SUSPEND_BARRIER = 1,
    SUSPEND_POLL = 2,
    SUSPEND_SYNC = 3,
    SUSPEND_YIELD = 4,
    SUSPEND_COUNT = 5
};

struct jblock {
    int32_t first, count; /* instructions; the terminator's is not among them */
    uint8_t term,
        suspend; /* of a jump: a poll or a wait for launches in a function, which cannot suspend */
    bool cond_neg;
    bool waits;   /* the wait block of gate succ[1], whose lanes run succ[0] when it is reached */
    int32_t cond; /* register of the condition, index or member mask */
    const struct ptx_operand *members; /* of a gate: the lanes that are needed, NULL: all */
    int32_t *succ, nsucc;
    const int32_t *pred;
    int32_t npred;
    const struct ptx_instr *term_instr; /* the branch or barrier itself, NULL if fallen through */
    int32_t order;                      /* position in the order = its own index after cfg_order */
    int32_t loop;                       /* innermost loop header's block index, -1 when in none */
    int32_t depth;                      /* loop nesting */
    bool irreducible;                   /* that innermost loop is entered at other blocks, too */
    bool diverges;                      /* the branch's condition differs between lanes */
    uint64_t *live_in, *live_out;       /* bit sets over registers */
    uint64_t *written;                  /* ... those that it writes */
    uint64_t *frontier;    /* bit set over blocks: lanes may be pending there while this runs */
    bool converged;        /* empty frontier: every live lane is here */
    uint64_t *spin_yields; /* of a poll: blocks whose lanes may go first when it has run out
                              (spin_yield.c); on fibers: those where they may if need be, */
    uint64_t *spin_early;  /* and those of them where they always may */
    int32_t resume;        /* resume point that starts at this block, 0 when none */
    int32_t serial_end;    /* lanes are serialized from here to that block (lane_serialization.c),
                              0: they are not */
    uint8_t serial_group;  /* then 2^serial_group lanes go together through it where all of them
                              are active (lane_groups.c); 0: each by itself */
    bool serialized;       /* one of the blocks between: run by one lane at a time */
    int32_t strips_end;    /* a loop of one block that strips of eight lanes may run one after the
                              other; then the block that it leads to. 0: it is not */
    int32_t serial_from;   /* not 0: serialization begins at instruction serial_from - 1 of the
                              block, and only if lanes are found not to be neighbours there */
};

/* A change of an instruction by which a register is split (live_range_splitting.c). */
struct jedit {
    int32_t instr; /* as pass_flatten leaves them */
    uint8_t kind;
    int32_t reg, to; /* the register, and its name inside the loop: a new one */
};

/* All of them, in the order of instructions; not of the arena. */
struct jedits {
    struct jedit *items;
    size_t count, cap;
    int32_t nregs; /* how many registers they add */
    bool searched; /* no more are looked for */
};

/* An instruction that is to be before or after another one (early_values.c). */
struct jmove {
    int32_t instr, at; /* as jit_apply_table_rows leaves them */
    bool after;
};

/* All of them, those at one place in the order of instructions; not of the arena. */
struct jmoves {
    struct jmove *items;
    size_t count, cap;
    bool searched; /* no more are looked for */
};

/* Branches out of loops whose lanes go past a test (exit_tests.c). Instructions are as
 * jit_apply_row_plan leaves them. */
enum { JEXIT_TESTS = 8 };
struct jexit_tests {
    struct {
        int32_t branch, to; /* the branch, and the instruction that it goes to */
    } items[JEXIT_TESTS];
    int count;
    bool searched; /* no more are looked for */
};

/* A turn of a loop that is to be unrolled (search_loops.c): a chain of blocks. Instructions are as
 * jit_apply_splits leaves them. */
enum { JSEARCH_PARTS = 8 };
struct jsearch_turn {
    int32_t head, back; /* the first instruction, and the branch back to it */
    int nparts;
    struct jsearch_part {
        int32_t first, count; /* instructions */
        int32_t out, cond;    /* where lanes go then for which cond holds, -1: none do */
        bool neg;             /* or for which it does not hold */
    } parts[JSEARCH_PARTS];
    uint64_t *left; /* registers that are read after the turn; not of the arena */
};

/* All of them; not of the arena. */
struct jsearch_loops {
    struct jsearch_turn *items;
    size_t count, cap;
    bool searched; /* no more are looked for */
};

/* An address that steps from row to row of a small table (table_rows.c). Instructions are as
 * jit_apply_search_loops leaves them. */
enum { JTABLE_TERMS = 6 };
struct jtable_row {
    int32_t reg, init, step; /* the address, its first sum, and the step */
    int32_t chain[2];        /* how the lane's index becomes an offset */
    int nchain, nterms;
    struct jtable_term {
        int32_t instr;
        uint8_t operand;
    } terms[JTABLE_TERMS]; /* of the sum, what all lanes have in common */
};

/* All of them; not of the arena. */
struct jtable_rows {
    struct jtable_row *items;
    size_t count, cap;
    bool searched; /* no more are looked for */
};

struct jkernel {
    struct arena arena;
    const struct ptx_func *entry;
    const struct jit_options *opt;
    struct diag *diag;

    struct jreg *regs;
    size_t nregs, regs_cap;
    struct ptx_instr *instrs; /* own copies, registers renumbered */
    size_t ninstrs, instrs_cap;

    struct jvar *shared, *locals;
    size_t nshared, shared_cap, nlocals, locals_cap;
    const struct ptx_func **shared_owners; /* it and inlined functions that declare .shared ones */
    size_t nshared_owners, shared_owners_cap;
    uint64_t shared_bytes, local_bytes, dynamic_align;
    uint64_t shared_align, local_align; /* of the windows, and of each frame in the local one */
    const struct jkernel *layout; /* of a function: the kernel that it is compiled for, which says
                                     where .shared variables are */

    struct jblock *blocks; /* in order */
    int32_t nblocks;
    struct graph graph;    /* of the blocks */
    int32_t *resume_block; /* resume point (1..) -> block */
    int32_t nresume;       /* count including 0, the start */
    bool has_poll;
    bool lockstep;           /* all warps take the same path from barrier to barrier */
    bool has_partial;        /* barriers for part of the block, or arrivals: kept by id and count */
    bool is_function;        /* `entry` is a function that could not be inlined */
    bool one_lane;           /* ... compiled for one lane: every value is a scalar */
    bool has_calls;          /* it calls such functions: the threads need a call stack */
    uint64_t kept_bytes;     /* ... so much of it beyond what the program sets, for functions that
                                could have been inlined */
    bool fibers;             /* each warp runs on a stack of its own, and barriers count lanes: the
                                kernel is compiled as a function, and so are its functions */
    bool waits_in_calls;     /* functions that it calls wait at barriers: it is to run on fibers */
    bool polls_by_calls;     /* results of its calls may be of memory that others write */
    struct ptx_var outgoing; /* where a call's arguments and results go: after the own locals,
                                which is where the callee's frame starts */
    int32_t nwarps;          /* of the block shape, 0 when unknown */
    bool full_warps;         /* every warp has 32 threads */
    uint32_t lanes;          /* those that have threads, where the block is one warp; else all */
    unsigned seg_min;        /* segments shorter than this are not kept; 0: all are */
    int32_t barrier_loop;    /* 1 + first instruction of the loop that is given barriers so that the
                                block's warps interleave (warp_interleaving.c), 0: none */
    bool whole_blocks;       /* blocks that guards let pass whole are to have code of their own */
    bool has_whole;          /* ... and have it (front/whole_blocks.c) */
    int32_t barrier_iterations; /* from one of those barriers to the next, a power of two */
    uint64_t *gates;            /* instructions that have gates, as a set over so many; not of the
                                   arena */
    int32_t ngates, gate_rounds;
    struct jedits edits;
    struct jmoves moves;
    struct jexit_tests exit_tests;
    struct jsearch_loops search_loops;
    struct jtable_rows table_rows;
    struct jrow_plan *rows; /* what is written again for warps in rows (row_versions.c); NULL:
                               nothing. Not of the arena */
    bool rows_searched;     /* no such plan is looked for any more */
    int32_t yield_loop;     /* 1 + first instruction of the loop in which warps yield to each other
                               (grid_stride.c), 0: none */
    int32_t counter; /* 1 + the atomic at which warps wait so that one addition serves all of them
                        (shared_counters.c), 0: none */
};

/* Lanes that a vector needs: 8 or 16 in blocks of no more threads. */
static inline unsigned jit_lanes_used(const struct jkernel *k)
{
    return k->lanes >> 16 != 0 ? JIT_WARP : k->lanes >> 8 != 0 ? 16 : 8;
}

/* ---- operands' roles ---- */

/* Registers an instruction writes and reads, the same for every pass. */
struct jroles {
    int32_t def[132], ndef; /* registers written */
    int32_t use[144], nuse; /* registers read (addresses included) */
};
bool jit_roles(const struct ptx_instr *i, struct jroles *r);
/* The untyped register type of 8, 16, 32 or 64 bits. */
static inline uint8_t jit_bits_type(uint64_t bits)
{
    return bits == 8 ? PTX_B8 : bits == 16 ? PTX_B16 : bits == 32 ? PTX_B32 : PTX_B64;
}
/* How many leading operands are destinations. */
int jit_ndst(const struct ptx_instr *i);

/* What an operation is cheap enough for, a set of these. */
enum jit_cheap {
    CHEAP_SCALAR = 1, /* rematerialized as a scalar, if it is integer (uniformity_solver.c) */
    CHEAP_STEP = 2,   /* rematerialized as a vector from another (frame_remat.c) */
    CHEAP_SELECT = 4  /* done by lanes for which it is not meant, too, with its result selected
                         (flatten.c) */
};
unsigned jit_cheap(const struct ptx_instr *i);
/* Does the instruction write the register? Read it? */
bool jit_writes(const struct ptx_instr *i, int32_t reg);
bool jit_reads(const struct ptx_instr *i, int32_t reg);
/* The last instruction of a block before number `before` that writes a register, -1: none. */
int32_t last_write(const struct jkernel *k, const struct jblock *blk, int32_t before, int32_t reg);

/* ---- questions ---- */

/* The last block of a loop without inner ones, whose header is h: its blocks follow each other in
 * the order. -1: the loop has others inside, or it is irreducible. */
int32_t jit_innermost_end(const struct jkernel *k, int32_t h);
/* The last block of any loop, inner ones included: loops are contiguous. */
int32_t jit_loop_end(const struct jkernel *k, int32_t h);

/* Marks in `same` the registers of the blocks `inside` that are the same in each group of 2^seg
 * lanes, if these go together through them, from block `first` on (lane_groups.c). */
void jit_find_same_in_groups(const struct jkernel *k, const uint64_t *inside, int32_t first,
                             unsigned seg, uint64_t *same);

/* Marks in `set` the blocks on the paths from block `from` to `until`, without the latter. False:
 * there are too many. */
bool jit_between(const struct jkernel *k, int32_t from, int32_t until, uint64_t *set);
/* Bytes of a function's arguments and results at the start of its frame; offsets[n] of argument n,
 * then of result n - nparams. */
uint64_t jit_frame_layout(const struct ptx_func *f, uint64_t *offsets);
/* Bytes of an entry's parameters. */
uint64_t jit_param_bytes(const struct ptx_func *f);
/* Functions whose address the module takes: what a pointer may point to. */
bool jit_address_taken(const struct ptx_module *m, const struct ptx_func *f);
/* Could a call with this prototype reach this function? */
bool jit_same_prototype(const struct ptx_func *a, const struct ptx_func *b);

/* May one lane alone run the instruction? Operations among lanes and what orders memory it may not.
 */
bool jit_lane_may_run(const struct jkernel *k, const struct ptx_instr *i);

/* What a register of a loop grows by in each iteration: `times` the values of registers `step`,
 * which a counter is increased by, and `factor`, which it is multiplied by. The loop writes
 * neither; -1: there is none. */
struct jgrowth {
    int32_t step, factor;
    int64_t times;
};
/* Does the register grow, in each iteration of the innermost loop of header h, by the same amount
 * in all lanes? */
bool jit_loop_growth(const struct jkernel *k, int32_t h, int32_t reg, struct jgrowth *g);
/* Does the register grow, in each iteration of the innermost loop of header h, by an amount that
 * follows from the size of the grid? */
bool jit_grid_growth(const struct jkernel *k, int32_t h, int32_t reg, struct jgrowth *g);
/* Is it made of a register that does? */
bool jit_moves_with_grid(const struct jkernel *k, int32_t h, int32_t reg);

/* Between which numbers, from 0 to INT32_MAX, a register lies, as its instructions tell (ranges.c).
 * False: they do not. */
bool jit_range(const struct jkernel *k, int32_t reg, int64_t *lo, int64_t *hi);
/* How often a lane runs a loop of one block at most, as its counter tells (trip_bounds.c); for
 * estimates. 0: it is no such loop, or it does not tell. */
int64_t jit_trip_bound(const struct jkernel *k, int32_t b);

/* Runs all passes over PTX (passes.h) on an entry or function: k is zeroed by the caller, who frees
 * it with jkernel_free. */
bool jkernel_build(struct jkernel *k, const struct ptx_func *entry, const struct jit_options *opt,
                   struct diag *d);
void jkernel_free(struct jkernel *k);
void jkernel_print_uniformity(const struct jkernel *k, struct strbuf *out);

/* Helpers that programs may call (front/runtime_functions.c): those of the table in
 * exec/helpers.c. */
bool jit_is_helper(const char *name);
/* Does this helper wait for the grids that the block has launched? */
bool jit_is_device_sync(const char *name);

/* Do the lanes of a warp do this together? Then all must have come. */
bool jit_is_warp_operation(const struct ptx_instr *i);
/* Do lanes act together in the block, by a barrier or a warp operation? (A poll only looks.) */
bool jit_is_joint(const struct jkernel *k, const struct jblock *b);
/* Larger kernels have no `spin_yields`: they make every such block a resume point; on fibers, a
 * place to go. */
enum { JIT_SPIN_YIELD_BLOCKS = 48, JIT_FIBER_YIELD_BLOCKS = 1000 };

/* True when the polls of a loop matter; used by pass_cfg. */
bool jit_is_polling_load(const struct ptx_instr *i);
/* Does it wait for other threads of the block or the cluster to arrive, at any kind of barrier? */
bool jit_awaits_arrivals(const struct ptx_instr *i);
/* On fibers: does the result depend on when each lane has come to the instruction? */
bool jit_depends_on_arrival(const struct ptx_instr *i);

/* The uniformity that instruction i gives to its result (operand `which` among the destinations).
 */
struct uniformity uniformity_of(const struct jkernel *k, const struct ptx_instr *i, int which);
struct uniformity uniformity_join(struct uniformity a, struct uniformity b);
/* A divergent one, with the stride that the result of instruction i is likely to have if its n
 * sources are like that, or without a hint (likely_strides.c). */
struct uniformity uniformity_likely(const struct jkernel *k, const struct ptx_instr *i,
                                    const struct uniformity *s, int n);
/* The uniformity of an operand's value, for its register, immediate or symbol. */
struct uniformity operand_uniformity(const struct jkernel *k, const struct ptx_operand *o);
/* Address of a memory operand: the base's uniformity moved by its offset. */
struct uniformity address_uniformity(const struct jkernel *k, const struct ptx_operand *o);

/* Offset of a .shared or .local variable in its window, -1 when it is not one of the kernel's. */
int64_t jkernel_shared_offset(const struct jkernel *k, const struct ptx_var *v);
int64_t jkernel_local_offset(const struct jkernel *k, const struct ptx_var *v);

#endif
