/* memory.h: instructions that access memory. */
#ifndef WEIR_COMPILER_MEMORY_H
#define WEIR_COMPILER_MEMORY_H

#include "compiler/codegen/codegen.h"

/* ---- addresses.c ---- */

/* The state space that an instruction accesses. */
unsigned mem_space(const struct ptx_instr *i);
/* Does it order other accesses: .acquire, .release and the like? */
bool mem_orders(const struct ptx_instr *i);
/* Every active lane's generic address, or its address within a window, as <32 x i64>. */
LLVMValueRef address_vector(struct codegen *cg, const struct ptx_operand *o, unsigned space);
/* Faults as misaligned where `lanes` (active ones) is not 0, with the first one's element of `at`:
 * <32 x i64> addresses, or <32 x i32> offsets into shared memory; the builder is left where no lane
 * faults. */
void fault_misaligned_lanes(struct codegen *cg, LLVMValueRef lanes, LLVMValueRef at);

/* ---- load_store.c ---- */

/* ld, ldu and st. */
bool emit_load(struct codegen *cg, const struct ptx_instr *i);
bool emit_store(struct codegen *cg, const struct ptx_instr *i);
/* What a load or store like `i` does at another address, with the lanes' elements as vectors: type,
 * state space and vector size are i's, the active lanes the current ones. */
void load_lanes(struct codegen *cg, const struct ptx_instr *i, const struct ptx_operand *at,
                LLVMValueRef *out);
void store_lanes(struct codegen *cg, const struct ptx_instr *i, const struct ptx_operand *at,
                 LLVMValueRef *v);
/* Does this load or store reach shared memory in a pattern that is known at compile time
 * (shared_permutation.c)? */
bool mem_permutes(struct codegen *cg, const struct ptx_instr *i);
/* In front of a load, i1: are its active lanes likely to be neighbours? */
LLVMValueRef likely_adjacent(struct codegen *cg, const struct ptx_instr *load);

/* ---- atomics.c ---- */

/* atom and red. */
bool emit_atomic(struct codegen *cg, const struct ptx_instr *i);

/* ---- async_copy.c, struct_copy.c ---- */

/* cp.async and its groups: copies are made at once, so that there is never one to wait for. */
bool emit_async_copy(struct codegen *cg, const struct ptx_instr *i);
bool async_copy_supported(const struct ptx_instr *i, struct diag *d);
/* What cp.reduce does to each element: enum jit_reduce + 1; 0: a plain copy. */
uint32_t bulk_reduction(const struct ptx_instr *i);
/* A structure copied into local memory (front/struct_copies.c). */
bool emit_struct_copy(struct codegen *cg, const struct ptx_instr *i);

/* ---- tensor_copy.c ---- */

/* Copies by a tensor map, and tensormap. */
bool emit_tensor_copy(struct codegen *cg, const struct ptx_instr *i);
bool tensor_copy_supported(const struct ptx_instr *i, struct diag *d);
bool emit_tensormap(struct codegen *cg, const struct ptx_instr *i);
bool tensormap_supported(const struct ptx_instr *i, struct diag *d);

/* ---- access_check.c ---- */

/* Checks as jit_options.checked says. Begins those of a function. */
void check_begin(struct codegen *cg);
/* Before the instruction's active lanes access `bytes` each. stored: what they write, as a vector,
 * where that is one element; else NULL. */
void check_access(struct codegen *cg, const struct ptx_instr *i, const struct ptx_operand *at,
                  unsigned space, unsigned bytes, bool writes, LLVMValueRef stored);
/* The scope that the instruction names, else the widest. */
enum jit_scope check_scope(const struct ptx_instr *i);
/* Where the accesses of threads are compared: what may order them. arg: i32; row: <32 x i64>, or
 * NULL. */
void check_order(struct codegen *cg, enum jit_thread_order op, LLVMValueRef mask, LLVMValueRef arg,
                 LLVMValueRef row);
/* Accesses from now on are an asynchronous copy's, or are not any more. */
void check_async(struct codegen *cg, bool async);
/* The addresses of a strong access, where check_acquired is to be told after it; else NULL.
 * exchanged: bytes that each lane has read and written at once; 0: the old value is not wanted. */
LLVMValueRef check_strong_address(struct codegen *cg, const struct ptx_instr *i,
                                  const struct ptx_operand *at, unsigned space);
void check_acquired(struct codegen *cg, const struct ptx_instr *i, LLVMValueRef address,
                    unsigned space, unsigned exchanged);
/* The same for a matrix of the whole warp: lines of `bytes`, one every `pitch` bytes (i64), from
 * `start`. */
void check_lines(struct codegen *cg, unsigned space, LLVMValueRef start, LLVMValueRef pitch,
                 unsigned lines, unsigned bytes, bool writes);

#endif
