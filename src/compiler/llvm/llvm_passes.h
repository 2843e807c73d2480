/* llvm_passes.h: Weir's passes over LLVM IR for the optimizing tier, in the order in which they run
 * (compile.c). Those of the baseline tier are in baseline.h. */
#ifndef WEIR_COMPILER_LLVM_PASSES_H
#define WEIR_COMPILER_LLVM_PASSES_H

#include <stdbool.h>
#include <stdint.h>

#include <llvm-c/Core.h>
#include <llvm-c/Target.h>

#include "compiler/gather_speed.h"

struct codegen;

/* lane_narrowing.c. After the optimizer, in kernels whose blocks have no more threads than `lanes`,
 * 8 or 16. What follows from masks that have no higher lanes; true: something was replaced by
 * constants. */
bool fold_lane_masks(LLVMModuleRef m, LLVMValueRef fn, unsigned lanes);
/* And then: vectors of 32 lanes of which nobody reads the others are made of so many lanes. False:
 * there were none. */
bool narrow_lanes(LLVMModuleRef m, LLVMValueRef fn, unsigned lanes);

/* integer_narrowing.c. After the optimizer: arithmetic on vectors of which only the low 8 or 16
 * bits of each lane are stored is done in elements of that width. */
void narrow_integers(LLVMModuleRef m);

/* wide_vectors.c. After narrow_integers: phis, selections and comparisons of vectors of which only
 * low bits are read, or which are extended, are made in narrower elements. False: there were none.
 */
bool narrow_wide_vectors(LLVMModuleRef m);

/* cold_sinking.c. After the optimizer, with critical edges split: sinks values that only unlikely
 * paths need into these, through variables. False: there were none. */
bool cold_sink(LLVMModuleRef m);

/* software_prefetch.c. During code generation: marks a load or store that a block executes once, or
 * a load that fills a tile, if a prefetch for it may pay. */
void prefetch_mark(struct codegen *cg, LLVMValueRef access, unsigned space);
/* After the optimizer: inserts prefetches for later blocks before the marked accesses; by_panels:
 * the block that runs next need not be the neighbour in x. False: none. */
bool prefetch_insert(LLVMModuleRef m, LLVMTargetDataRef data, bool by_panels);

/* shared_reload.c. During code generation: marks an access of shared memory that cannot fault, and
 * of which inactive lanes' elements are accessible, too. */
void inside_mark(LLVMValueRef access);
bool inside_marked(LLVMValueRef access);
/* After the optimizer, in kernels in lockstep: values that will have left the
 * registers are loaded from shared memory where it holds them; its first `shared_bytes` exist in
 * any launch. Removes stores of the warp's index that nothing reads. False: there were none. */
bool shared_reload(LLVMModuleRef m, LLVMTargetDataRef data, uint64_t shared_bytes,
                   unsigned simd_bits);

/* alignment_tests.c. Part of warp_jam: what tests the low bits of an address that a loop steps
 * along tests those that it begins with. */
void move_alignment_tests(LLVMModuleRef m, LLVMValueRef fn);

/* warp_jamming.c. During code generation: marks the branch at the end of a loop over warps. */
void warp_jam_mark(LLVMValueRef branch);
/* After the optimizer: several warps go through such loops side by side, where that is faster.
 * or wherever they can, if `always`. `shared_bytes` as above. False: no loop was changed. */
bool warp_jam(LLVMModuleRef m, unsigned simd_bits, uint64_t shared_bytes, bool always);

/* selection_tables.c. Before strip_mine, for AVX2 and AVX-512: chains of selections of scalars, by
 * a number that is compared with constants, become permutations. False: there were none. */
bool make_selection_tables(LLVMModuleRef m, bool avx512);

/* byte_comparisons.c. After make_selection_tables, for AVX2 and AVX-512: comparisons of numbers
 * below 256 of which an integer of bits is made are comparisons of bytes. False: there were none.
 */
bool compare_as_bytes(LLVMModuleRef m, bool avx512);

/* strip_mining.c. Arithmetic whose values do not fit into registers, of simd_bits each, is
 * executed for a few lanes at a time; or all of it, if `always`. */
void strip_mine(LLVMModuleRef m, unsigned simd_bits, bool always);

/* gather_scalarization.c. After strip_mine: what slow gathers load is loaded lane by lane. */
void scalarize_gathers(LLVMModuleRef m, struct slow_gathers slow);

/* mask_logic.c. After all but one of the others: masks of lanes that are integers stay that, or
 * become vectors in a way that suits a machine that has registers for masks, or has not. False:
 * nothing was changed.
 */
bool mask_logic(LLVMModuleRef m, bool mask_registers);

/* mask_width.c. After mask_logic, for AVX2 without AVX-512: vectors of masks that are made of
 * integers get elements as wide as what takes them. False: nothing was changed. */
bool mask_width(LLVMModuleRef m);

/* bit_counts.c. After mask_logic, for AVX2 without AVX-512: bits of vectors of words are counted by
 * sums of bytes. False: there are none. */
bool count_bits(LLVMModuleRef m);

/* constant_masks.c. After mask_logic: loads and stores under masks that are constants become those
 * of fewer lanes. */
void narrow_constant_masks(LLVMModuleRef m);

/* half_arithmetic.c. Last, in every tier, on machines that convert halves: what LLVM would do lane
 * by lane is done with floats. On those with AVX-512's FP16, sums, products and fused multiply-adds
 * become its instructions; the latter must, since LLVM rounds them twice. */
void half_arithmetic(LLVMModuleRef m, bool fp16);

/* mask_faults.c. Last, in every tier, for AVX-512: what LLVM would do wrong with masks is not
 * asked of it. Without it, bytes of other lanes may be stored, or generating code may never end. */
void avoid_mask_faults(LLVMModuleRef m);

#endif
