/* frame.h: what a warp keeps while it is suspended, and where registers lie in memory. */
#ifndef WEIR_COMPILER_FRAME_H
#define WEIR_COMPILER_FRAME_H

#include "compiler/codegen/codegen.h"

/* A warp's frame, and what of it each resume point needs. */
struct frame_layout {
    uint32_t bytes;
    uint32_t scalars; /* without what is added for alignment, where there are no vectors; else 0 */
    uint32_t live_offset, *pending_offset; /* masks: of live lanes, of lanes pending at a block */
    uint64_t **resume_live;                /* per resume point: registers to restore */
    uint64_t **resume_remat;               /* ... and to rematerialize of those (frame_remat.c) */
    uint64_t **resume_blocks;              /* per resume point: blocks that may run next */
    uint64_t **block_reads; /* per block: registers read in it; made when asked for */
    const uint64_t *reads;  /* registers that the current region reads; NULL: not known */
    uint8_t *remat_done;    /* per register: done in the current region */
};

/* ---- frame.c ---- */

/* Numbers the resume points and finds what outlives each. */
void frame_resume_points(struct codegen *cg);
/* Decides which registers the frame has: those that outlive one. */
void frame_choose(struct codegen *cg);
/* Assigns each of them a place in the frame, which it may share with others; after
 * memory_registers_choose. */
void frame_allocate(struct codegen *cg);
/* Is a register that outlives a resume point kept once for the whole block? */
bool frame_once(const struct codegen *cg, int32_t reg);
/* Registers that are read between resume point r and the next barrier, as a bit set. */
const uint64_t *frame_reads(struct codegen *cg, int32_t r);
/* Saves or restores all that resume point r needs. */
void frame_transfer(struct codegen *cg, int32_t r, bool save);
/* After that: rematerializes what is not saved and is read. */
void frame_rematerialize(struct codegen *cg, int32_t r);

/* ---- frame_remat.c ---- */

/* Decides what need not be kept at resume points, as it follows from what is; before
 * frame_choose. */
void remat_choose(struct codegen *cg);

/* ---- memory_registers.c ---- */

/* Assigns memory to the fragments of matrices, and decides which registers stay in the frame; after
 * frame_choose. */
void memory_registers_choose(struct codegen *cg);
/* A region begins: registers in the frame are those of its warp, cg->frame_w. */
void memory_registers_region(struct codegen *cg);
/* The value of a register of which the frame has the only copy. */
LLVMValueRef read_framed(struct codegen *cg, int32_t reg);
void write_framed(struct codegen *cg, int32_t reg, LLVMValueRef v);
/* Where a register that is a vector lies. */
LLVMValueRef register_pointer(struct codegen *cg, int32_t reg);

/* ---- osr.c ---- */

/* Conditions in the code that are decided when the tier is: whether it is baseline code, which
 * blocks leave for optimized code, and whether such blocks enter it. */
#define OSR_LEAVES "weir_osr_leaves"
#define OSR_ENTERS "weir_osr_enters"

/* Chooses where blocks may leave for optimized code; after frame_allocate. */
void osr_init(struct codegen *cg);
/* Do blocks reach, in each loop over barriers, a point where they may leave? */
bool osr_possible(const struct codegen *cg);
/* With a dispatcher: warps have run, it is entered next, and the block may leave before. */
void osr_dispatch(struct codegen *cg);
/* i1, decided with the tier, too: is this baseline code? */
LLVMValueRef osr_is_baseline(struct codegen *cg);
/* In lockstep: all warps have passed the barrier of resume point r, and the block may leave. */
void osr_barrier(struct codegen *cg, int32_t r);
/* In lockstep: at `at` a block begins, or continues that has begun in other code. */
void osr_entry(struct codegen *cg, LLVMBasicBlockRef at, LLVMBasicBlockRef *regions);
/* Decides one of the conditions above, everywhere in the module. */
void osr_decide(LLVMModuleRef m, const char *name, bool yes);

#endif
