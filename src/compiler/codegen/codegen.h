/* codegen.h: the state of code generation, from an analysed kernel to LLVM IR.
 *
 * The generated function runs one block:
 *
 *   dispatch   picks the resume point to continue at (the start, a barrier passed, a poll)
 *   region r   for each warp that waits at r: restores its frame, runs to the next suspension or to
 *              the end, saves its frame
 *
 * Kernels in lockstep (kernel.h) have no dispatcher: a region continues at the next one.
 *
 * Every region has its own copy of the blocks that it can reach, so that LLVM sees straight code
 * from one barrier to the next. Registers are stack slots here, which LLVM promotes.
 *
 * This header has what all files share. Each family of files has a header of its own:
 *
 *   values.h            operands, registers, masks and small IR idioms
 *   module_function.h   functions of the module that many accesses share; loops over lanes
 *   instructions.h      one instruction; calls, textures, source positions
 *   frame.h             what a suspended warp keeps; registers in memory; on-stack replacement
 *   control/control.h   control flow between blocks and the order in which warps and lanes run
 *   memory/memory.h     loads, stores, atomics, copies
 *   warp/warp.h         barriers, operations among lanes, clusters
 *   matrix/matrix.h     matrix instructions */
#ifndef WEIR_COMPILER_CODEGEN_H
#define WEIR_COMPILER_CODEGEN_H

#include <stddef.h>

#include <llvm-c/Core.h>
#include <llvm-c/Target.h>

#include "compiler/arithmetic/arithmetic.h"
#include "compiler/kernel.h"

/* Offset of a field of the block that a kernel runs (abi/kernel_abi.h). */
#define BLOCK_FIELD(name) offsetof(struct jit_block, name)

/* Where a register lives. */
struct storage {
    LLVMValueRef slot[MAX_SEGS]; /* one scalar a segment, or slot[0]: a vector of 32 */
    LLVMValueRef brk[MAX_SEGS];  /* values with a break: i32, the segment's lanes before it */
    uint32_t frame_offset;       /* of its copy in a warp's frame, UINT32_MAX: it has none */
    uint8_t ignored_bits;        /* bits of the lane's number on which a vector does not depend: of
                                    lanes that differ in these alone, the frame has one */
    uint8_t strip;               /* slot[0] is a vector of the 8 lanes of strip - 1; 0: of all */
    uint8_t segment;             /* while a strip runs: all slots are that of segment - 1, which
                                    alone is written; 0: each segment has its own */
    bool framed;                 /* the frame has its only copy: slot[0] points there */
    bool no_function;            /* ... and no function is given a pointer to it */
    uint32_t osr_slot;           /* while a block changes code: its slot, from 1 on; 0: none */
    LLVMValueRef in, out;        /* one value for the block: at the region's start and end */
};

/* Memory that LLVM is told to be distinct: frames, and that of state spaces. */
enum { SCOPE_FRAME, SCOPE_SHARED, SCOPE_GLOBAL, SCOPE_LOCAL, SCOPE_ANY, SCOPES };
/* Of memory that inactive lanes may access. */
enum { SAFE_BYTES = 128 };

struct metadata {
    unsigned invariant, unpredictable, scope, noalias; /* kinds */
    LLVMValueRef empty;
    LLVMValueRef scope_of[SCOPES], scope_not[SCOPES], scope_all; /* for alias.scope and noalias */
};

/* The block that runs, as the prologue reads it. */
struct block_values {
    LLVMValueRef ptr; /* the function's argument, a struct jit_block */
    LLVMValueRef params, shared, local, frames, pc, local_stride;
    LLVMValueRef ctaid[3], nctaid[3], nwarps, nthreads;
};

/* Stack memory that all uses of a feature share (shared_slot). */
enum shared_slot {
    SLOT_MATRIX,      /* registers and scratch memory of matrix products */
    SLOT_WGMMA,       /* the same of those of warp groups */
    SLOT_GATHER,      /* of vector gathers */
    SLOT_MASKED,      /* of masked accesses by functions */
    SLOT_HELPER_ROWS, /* arguments and results of helpers */
    SHARED_SLOTS
};

struct codegen {
    struct jkernel *k;
    struct alu alu;                   /* context, module and builder too */
    struct debug_lines *lines;        /* source positions, NULL when not wanted */
    struct callees *callees;          /* functions that must be compiled along */
    struct scalar_functions *scalars; /* those of them that one lane may run */
    LLVMTypeRef i1, i8, i16, i32, i64, f32, f64, ptr, v32i1, v32i32, v32i64;
    struct metadata md;
    bool failed;

    /* the function */
    LLVMValueRef fn;
    LLVMBasicBlockRef entry;
    struct block_values block;
    LLVMValueRef sp;    /* of a called function: where its frame starts in the local window (i64) */
    LLVMValueRef ended; /* of a called function: i32, lanes whose threads have ended in it */
    struct storage *regs;
    LLVMValueRef leaving;              /* (memory/defined.c) i32, NULL: not made yet */
    struct defined_registers *defined; /* (memory/defined.c), NULL: not looked at yet */
    struct told_instrs *told;          /* (memory/access_told.c), NULL: none yet */
    LLVMValueRef safe; /* SAFE_BYTES of zeros for inactive lanes to read. What was on the stack
                          before may be subnormal as a float, and arithmetic on those takes a CPU
                          some 150 cycles, whether anybody wants the result or not */
    LLVMValueRef sink; /* 8 bytes for what nobody wants to be stored */
    LLVMValueRef safe_opaque; /* the same, unknown to LLVM, which would rather branch than load from
                                 a variable that nobody writes */
    LLVMValueRef slots[SHARED_SLOTS]; /* NULL: not made yet */

    /* the warp that runs */
    LLVMValueRef w, frame_w; /* its index, its frame */
    LLVMValueRef live_slot;  /* i32: its threads that have not ended */
    bool always_full;        /* all 32 lanes live for ever, which is known statically */

    /* the basic block being emitted */
    const struct jblock *cur;
    bool in_converged_copy;  /* all lanes are active, no value is broken */
    const uint64_t *waiting; /* registers that lanes pending elsewhere still need */
    LLVMValueRef mask;       /* i32, NULL: all 32 lanes */
    LLVMValueRef mask_vec;   /* the same as <32 x i1>, made when first asked for */

    /* features, each in its own file; those without a definition in a header are private */
    struct frame_layout *frame;          /* frame.h */
    struct osr *osr;                     /* osr.c; NULL: blocks do not change code */
    struct regions *regions;             /* control/control.h */
    struct control_flow *flow;           /* control/control.h */
    struct serialized_lanes *serialized; /* control/control.h */
    struct block_batch *batch;           /* control/block_batch.c; NULL: one block a call */
    struct deferred_sums *deferred;      /* memory/deferred_sums.c; NULL: sums are made at once */
    struct sum_chain *sums;              /* memory/sum_chains.c; NULL: none was met */
    struct warp_interleave *interleave;  /* control/grid_stride_loops.c; NULL: warps do not yield */
    struct shared_counter *counter;      /* control/shared_counters.c; NULL: warps share none */
    struct warp_index *warp_index;       /* control/warp_index.c */
    struct vector_gather *gather;        /* memory/vector_gather.c */
    struct scalar_function *scalar;      /* scalar_functions.c; NULL: a function for all lanes */
    struct access_check *check;          /* memory/access_check.c; NULL: no checks for devices */
};

/* Emits "weir_block" for an analysed kernel into cg->alu.module. */
bool emit_kernel(struct codegen *cg);
/* Emits a function called by it; callee_function declares it. */
bool emit_function(struct codegen *cg);

#endif
