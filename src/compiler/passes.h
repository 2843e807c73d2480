/* The passes of the compiler in their order, from a PTX module to machine code, and what each needs
 * and guarantees.
 *
 * Over PTX (struct jkernel, kernel.h); jkernel_build runs them:
 *
 *   flatten              front/      calls inlined, predicates and argument areas made plain
 *   cfg                  analysis/   blocks, in an order by which lanes reconverge
 *   liveness             analysis/   registers live at blocks' ends
 *   uniformity           analysis/   uniform, affine or divergent registers; frontiers
 *   repeated_segments    analysis/   segments with the same values
 *   lockstep             analysis/   do all warps go from barrier to barrier by the same path?
 *   [short_segments_pay, find_barrier_loop, find_yield_loop: may begin the above anew]
 *   lane_serialization   analysis/   stretches that lanes run one after the other
 *
 * Then codegen/ (emit_kernel, emit_function: codegen.h) makes LLVM IR: one function that runs a
 * block of threads. Over LLVM IR, by compile.c:
 *
 *   optimizing tier   LLVM's scalar passes, a shorter list for large kernels, where the next three
 *                     are left out, too
 *                     llvm/cold_sinking       what only unlikely paths need is computed there
 *                     llvm/software_prefetch  loads of iterations to come
 *                     llvm/shared_reload      kernels in lockstep: values that shared memory has
 *                                             are read again instead of spilled
 *                     llvm/strip_mining       vectors wider than the CPU's in strips
 *   baseline tier     a few of LLVM's passes, around
 *                     llvm/baseline           what the fast instruction selector needs
 *
 * A pass over PTX returns false and says why in k->diag if it refuses the kernel. It may be run on
 * a kernel once; to begin anew, compile.c starts from an empty jkernel. */
#ifndef WEIR_COMPILER_PASSES_H
#define WEIR_COMPILER_PASSES_H

#include "compiler/kernel.h"

/* Needs entry, opt and diag. Makes regs, instrs, and the variables with their offsets: one list of
 * instructions, in which calls are inlined but for those of recursive functions and through
 * pointers, guards are branches but where an instruction has one itself, and parameters' and
 * arguments' areas are registers where they can be. The last instruction is an exit. */
bool pass_flatten(struct jkernel *k);

/* Needs flatten, and barrier_loop and yield_loop. Makes blocks, nblocks: reachable ones only, in a
 * weak topological order (cfg.c says what that guarantees), block 0 first, with predecessors, loops
 * and depths. Polls are in the loops that wait; has_poll and has_partial are known. No later pass
 * adds, removes or moves blocks or instructions. */
bool pass_cfg(struct jkernel *k);

/* Needs cfg. Makes live_in and live_out of the blocks; ndefs, def and read of the registers. */
bool pass_liveness(struct jkernel *k);

/* Needs liveness, and seg_min. Makes, together, because each follows from the others: uniformity of
 * the registers, diverges, frontier and converged of the blocks; spin_yields of the polls; remat of
 * the registers. A register that is not divergent is written for all lanes that still read it. */
bool pass_uniformity(struct jkernel *k);
/* Its part: finds the spin_yields of the polls. */
void jit_find_spin_yields(struct jkernel *k);

/* Needs uniformity. Makes repeats of the registers. */
bool pass_repeated_segments(struct jkernel *k);

/* Needs uniformity. Makes lockstep, and same of the registers if it is so. */
bool pass_lockstep(struct jkernel *k);

/* Needs uniformity. Do the values whose segments are short serve accesses of neighbours, more than
 * anything else? Also when there are none. If not, the passes are run anew with seg_min. */
bool jit_short_segments_pay(const struct jkernel *k);

/* Needs lockstep. The loop through which the warps of a block should go side by side, by barriers
 * (warp_interleaving.c): 1 + the first instruction of its header, 0: there is none. If there is
 * one, the passes are run anew with barrier_loop. */
int32_t jit_find_barrier_loop(struct jkernel *k);
/* Its part: solves lockstep's question for warps instead of threads: afterwards a register is
 * `same` if each lane of it has one value in all warps. Returns the blocks that only some warps may
 * reach. */
const uint64_t *jit_same_by_lane(struct jkernel *k);

/* Needs lockstep. The loop in which warps should yield to each other (grid_stride.c), in the same
 * terms, for yield_loop. */
int32_t jit_find_yield_loop(const struct jkernel *k);

/* Needs all of the above, the last pass before code generation. Makes serial_end, serial_from and
 * serialized of the blocks. */
bool pass_lane_serialization(struct jkernel *k);

#endif
