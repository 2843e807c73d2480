/* The passes of the compiler in their order, from a PTX module to machine code, and what each needs
 * and guarantees.
 *
 * Over PTX (struct jkernel, kernel.h); jkernel_build runs them:
 *
 *   flatten              front/      calls inlined, predicates and argument areas made plain:
 *     lower                          of each instruction pushed: simpler ones that it stands for
 *     cdp_launch                     of each launch: a call of a helper, its configuration in
 *                                    registers
 *     arguments                      once all is inlined: areas are registers, or local memory
 *     cdp_launch                     launches in each other's arguments have configurations of
 *                                    their own; refuses too many in each other
 *     (flatten.c)                    the carry flag is a register, an operand of its own
 *     spinning_calls                 calls that may wait are loops; cfg then finds them as waiting
 *     struct_copies                  runs of word copies are one instruction, `cp`, no PTX
 *     copied_constants               copies of registers that hold a constant are moves of it
 *     kept_indices                   indices in registers that loops count with later have others
 *     arguments                      offsets of .shared and .local variables in their windows
 *     joined_blocks                  of several blocks side by side: the program's indices
 *     whole_blocks                   where asked for: whole blocks pass by guards
 *     unswitching                    what follows a test that blocks decide alike is there for
 *                                    either outcome
 *     thread_loops                   short loops that follow from threads' indices are their trips
 *   cfg                  analysis/   blocks, in an order by which lanes reconverge
 *     shared_heads                   inner loops with their outer loop's head have one of their own
 *     loop_heads                     at which block a round through a loop begins; changes nothing
 *     gates                          in front of instructions that were found to need them
 *   carry_tests          analysis/   comparisons of a sum with its operand have a constant
 *   liveness             analysis/   registers live at blocks' ends
 *   uniformity           analysis/   uniform, affine or divergent registers; frontiers
 *     ranges                         jit_range: bounds of an index, or false; changes nothing
 *     likely_strides                 where a divergent value is likely to be affine; a hint
 *     spin_yield                     last, with frontiers known: who goes first after a poll
 *     trip_bounds                    jit_trip_bound: the most turns of a short loop; changes
 * nothing [row_versions: after which division there are copies for warps in rows; begins the above
 * anew] [exit_tests: branches past a
 * test; begins the above anew]
 *   [live_range_splitting: which registers have another name in a loop; begins the above anew]
 *   [search_loops: loops to be unrolled; begins the above anew]
 *   [table_rows: addresses that step along rows of a small table; begins the above anew]
 *   [early_values: what is better done before a barrier; begins the above anew]
 *   [gates: which instructions need lanes that may be elsewhere; begins the above anew]
 *   repeated_segments    analysis/   segments with the same values
 *   lockstep             analysis/   do all warps go from barrier to barrier by the same path?
 *   [short_segments, then warp_interleaving and grid_stride: may begin the above anew]
 *   lane_serialization   analysis/   stretches that lanes run one after the other
 *     lane_groups                    ... or in groups that branch alike; changes nothing
 *   [warp_order: regions that the last warp runs first; asked by code generation]
 *
 * Then codegen/ (emit_kernel, emit_function: codegen.h) makes LLVM IR: one function that runs a
 * block of threads, and those that are called; of some of these another version for one lane, for
 * which the above runs with one_lane set (codegen/scalar_functions.c). Over LLVM IR, by compile.c:
 *
 *   optimizing tier   LLVM's scalar passes, a shorter list for large kernels, where the next four
 *                     are left out, too (contracts: llvm/llvm_passes.h)
 *                     llvm/integer_narrowing  sums of bytes that are stored as bytes, in 16 bits
 *                     llvm/cold_sinking       what only unlikely paths need is computed there
 *                     llvm/software_prefetch  what the next block will access
 *                     llvm/shared_reload      kernels in lockstep: values that shared memory has
 *                                             are read again instead of spilled
 *                     llvm/warp_jamming       several warps go through a loop side by side
 *                     llvm/strip_mining       vectors wider than the CPU's in strips
 *                     llvm/constant_masks     steps of trees for parts of warps: fewer lanes
 *                     llvm/half_arithmetic    last, in all tiers: halves as the CPU computes them
 *   baseline tier     what the fast instruction selector needs (contracts: llvm/baseline.h)
 *                     a few of LLVM's passes
 *                     llvm/baseline_prepare    masks made from an integer's bits are casts of it
 *                     LLVM's passes again, not in large kernels
 *                     llvm/baseline_demote     what outlives its block is a variable; no phis
 *                     llvm/baseline            needs that: vector operations are calls
 *                     llvm/baseline_runs       calls in a row are one call and a table
 *                     llvm/baseline_functions  the functions called, one for each kind, on memory
 *
 * A pass over PTX returns false and says why in k->diag if it refuses the kernel. It may be run on
 * a kernel once; to begin anew, kernel.c starts from an empty jkernel. */
#ifndef WEIR_COMPILER_PASSES_H
#define WEIR_COMPILER_PASSES_H

#include "compiler/kernel.h"

/* Needs entry, opt and diag. Makes regs, instrs, and the variables with their offsets: one list of
 * instructions, in which calls are inlined but for those of recursive functions and through
 * pointers, guards are branches but where an instruction has one itself, and parameters' and
 * arguments' areas are registers where they can be. The last instruction is an exit. Makes `fibers`
 * (and then is_function) of an entry whose functions wait at barriers. */
bool pass_flatten(struct jkernel *k);

/* Needs flatten. Refuses a kernel or function whose variables need more memory than a
 * multiprocessor has for it. */
bool pass_limits(const struct jkernel *k);

/* Needs flatten, and gates, barrier_loop and yield_loop. Makes blocks, nblocks: reachable ones
 * only, in a weak topological order (cfg.c says what that guarantees), block 0 first, with
 * predecessors, loops and depths. Polls are in the loops that wait; has_poll and has_partial are
 * known. No later pass adds, removes or moves blocks or instructions. */
bool pass_cfg(struct jkernel *k);

/* Needs cfg. Comparisons of a sum with one of its operands, the other a constant, become those of
 * the sum with the constant. */
void pass_carry_tests(struct jkernel *k);

/* Needs cfg. Makes live_in and live_out of the blocks; ndefs, def and read of the registers. */
bool pass_liveness(struct jkernel *k);

/* Needs cfg. May the threads of several blocks be lanes of one warp (front/joined_blocks.c), and
 * where does that pay: enum jit_joins. */
uint32_t jit_joining(const struct jkernel *flat);

/* What is known of an entry without compiling it. */
struct jit_kernel_info;
bool kernel_facts(const struct ptx_func *entry, struct jit_kernel_info *info, struct diag *d);

/* Needs liveness, and seg_min. Makes, together, because each follows from the others: uniformity of
 * the registers, diverges, frontier and converged of the blocks; spin_yields of the polls; remat of
 * the registers. A register that is not divergent is written for all lanes that still read it. */
bool pass_uniformity(struct jkernel *k);
/* Its part: finds the spin_yields of the polls. */
void jit_find_spin_yields(struct jkernel *k);

/* Needs uniformity, before any other pass has it run anew. Finds a division of neighbours after
 * which the instructions are to be written again for warps that lie in rows: makes `rows`; true:
 * there is one, and the passes are to be run anew. */
bool jit_find_row_plan(struct jkernel *k);
/* Needs flatten: changes the instructions as `rows` says. */
void jit_apply_row_plan(struct jkernel *k);
void jit_free_row_plan(struct jrow_plan *p);

/* Needs liveness. Finds branches out of loops after which the outcome of a test is known: makes
 * `exit_tests`; true: there are some, and the passes are to be run anew. */
bool jit_find_exit_tests(struct jkernel *k);
/* Needs flatten, and rows applied: changes these branches. */
void jit_apply_exit_tests(struct jkernel *k);

/* Needs uniformity. Finds registers that lanes read after a loop and that would be uniform or
 * affine inside, were they another one there: adds to `edits` how; true: there were some, and the
 * passes are to be run anew. */
bool jit_find_splits(struct jkernel *k);
/* Needs flatten: changes the instructions as `edits` say. */
void jit_apply_splits(struct jkernel *k);

/* Needs uniformity, and no more splits to be found. Finds loops that lanes leave one by one, as
 * what they read decides: makes `search_loops`; true: there are some, and the passes are to be run
 * anew. */
bool jit_find_search_loops(struct jkernel *k);
/* Needs flatten, and splits applied: unrolls the loops that `search_loops` has. */
void jit_apply_search_loops(struct jkernel *k);
void jit_free_search_loops(struct jsearch_loops *s);

/* Needs uniformity, and no more of these to be found. Finds addresses that step along rows of a small
 * table: adds to `table_rows`; true: there are some, and the passes are to be run anew. */
bool jit_find_table_rows(struct jkernel *k);
/* Needs flatten, and search_loops applied: changes the instructions as `table_rows` say. */
void jit_apply_table_rows(struct jkernel *k);

/* Needs uniformity, and no more of these to be found. Finds instructions that are better done
 * before a barrier than after it: adds to `moves`; true: there are some, and the passes are to be
 * run anew. */
bool jit_find_early_values(struct jkernel *k);
/* Needs flatten, and table_rows applied: changes the instructions as `moves` say. */
void jit_apply_moves(struct jkernel *k);

/* Needs uniformity. Adds to `gates` the instructions that may run without lanes that they need;
 * true: there were some, and the passes are to be run anew. */
bool jit_find_gates(struct jkernel *k);

/* Needs uniformity. Makes repeats of the registers. */
bool pass_repeated_segments(struct jkernel *k);

/* Needs uniformity and repeated_segments. Makes lockstep, and same and alike of the registers if it
 * is so. */
bool pass_lockstep(struct jkernel *k);

/* Needs lockstep. Should the block's last warp run a region first (warp_order.c)? The region begins
 * at these blocks, of the first n, and `region` has the edges that do not lead from barriers. */
bool jit_last_warp_first(struct jkernel *k, const struct graph *region, const uint64_t *starts,
                         int32_t n);

/* Needs uniformity. Do the values whose segments are short serve accesses of neighbours, more than
 * anything else? Also when there are none. If not, the passes are run anew with seg_min. */
bool jit_short_segments_pay(struct jkernel *k);

/* Needs lockstep. The loop through which the warps of a block should go side by side, by barriers
 * (warp_interleaving.c): 1 + the first instruction of its header, 0: there is none. If there is
 * one, the passes are run anew with barrier_loop. Makes barrier_iterations. */
int32_t jit_find_barrier_loop(struct jkernel *k);
/* Its part: solves lockstep's question for warps instead of threads: afterwards a register is
 * `same` if each lane of it has one value in all warps, or in all of a column: those that have one
 * part of each of the block's rows. Returns the blocks that only some warps may reach. */
const uint64_t *jit_same_by_lane(struct jkernel *k, bool columns);

/* Do these blocks access memory by loads and stores alone? Atomics, counters of barriers and the
 * like are for one warp at a time. */
bool jit_only_loads_and_stores(const struct jkernel *k, const uint64_t *blocks);

/* Needs uniformity (data_branches.c). What an instruction costs under a mask that may be empty: one
 * for an operation, a load as several; JIT_NEVER_MASKED: it must not be executed so. And a block,
 * whose scalar operations cost nothing. */
enum { JIT_NEVER_MASKED = 1000 };
int jit_masked_cost(const struct jkernel *k, const struct ptx_instr *i);
int jit_masked_block_cost(const struct jkernel *k, const struct jblock *blk);
/* Does the block end with a branch that diverges, and no index tells how? */
bool jit_data_decides(const struct jkernel *k, const struct jblock *blk);

/* Does the instruction take as long as several others: divisions, roots, functions? */
bool jit_is_long(const struct ptx_instr *i);

/* Needs lockstep. The loop in which warps should yield to each other (grid_stride.c), in the same
 * terms, for yield_loop. quotients: what they access may be addressed by quotients of the counter.
 */
int32_t jit_find_yield_loop(const struct jkernel *k, bool quotients);
/* Does yield_loop access nothing but rows of memory that move with the grid? */
bool jit_yield_loop_streams(const struct jkernel *k);
/* The atomic by which each warp takes places from one counter, in its terms, for `counter`; 0:
 * there is none that warps may share. And, with its resume point and lane_serialization made, does
 * that pay? */
int32_t jit_find_counter(const struct jkernel *k);
bool jit_counter_pays(const struct jkernel *k);
/* May the warps of several blocks run such a loop side by side, one block having no memory by
 * itself? */
bool jit_blocks_interleave(const struct jkernel *k);

/* Needs uniformity. How many lanes go together through a stretch that they would run one after the
 * other, the logarithm; 0: each goes by itself (lane_groups.c). */
unsigned jit_lane_group(const struct jkernel *k, const uint64_t *inside, int32_t first,
                        int32_t until);
/* Needs lockstep. Marks the blocks that lanes would run in such groups. */
void jit_find_grouped_blocks(struct jkernel *k, uint64_t *blocks);

/* Needs all of the above, the last pass before code generation. Makes serial_end, serial_group,
 * serial_from, serialized and strips_end of the blocks. */
bool pass_lane_serialization(struct jkernel *k);

#endif
