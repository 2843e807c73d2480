/* bulk: what copies of ranges and copies of boxes share (mbarrier.c). */
#ifndef WEIR_EXEC_BULK_H
#define WEIR_EXEC_BULK_H

#include "exec/internal.h"

/* Combines elements in memory with those of shared memory, one after the other, each atomically.
 * op: enum jit_reduce; type: enum jit_element. */
void bulk_reduce(uint32_t op, uint32_t type, uint64_t to, uint64_t from, uint64_t bytes);
/* The same for sums of floats in which subnormal numbers, what is added and what comes out, are
 * zeros. */
void bulk_add_flushing(uint64_t to, uint64_t from, uint64_t bytes);
/* A barrier object is told of bytes that have come. */
void bulk_complete(struct jit_block *j, uint64_t barrier, uint64_t bytes, uint32_t lane);
/* Faults when the address is not a multiple of `bytes`. */
void bulk_check_aligned(struct jit_block *j, uint64_t address, uint64_t bytes, uint32_t lane);

#endif
