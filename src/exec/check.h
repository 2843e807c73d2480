/* check: the helpers that kernels with checks call before accesses to global memory. */
#ifndef WEIR_EXEC_CHECK_H
#define WEIR_EXEC_CHECK_H

#include "abi/kernel_abi.h"

/* The lanes of `mask` are about to touch bytes at the addresses; what: how many, plus
 * JIT_CHECK_WRITES. Faults for the first lane that must not. */
void weir_rt_check(struct jit_block *j, uint32_t mask, const uint64_t *address, uint32_t what,
                   uint32_t shape);

/* Likewise of shared memory: of the block, or of one of its cluster. */
void weir_rt_check_shared(struct jit_block *j, uint32_t mask, const uint64_t *address,
                          uint32_t what);

/* See abi/kernel_abi.h. */
const uint64_t *weir_rt_others(const struct jit_block *j);

/* For helpers that access global memory for the lanes of `mask`, called by code at `pc`: faults if
 * that is another device's memory and no protection keys keep devices from each other's memory. */
void check_others(struct jit_block *j, uint32_t mask, uint64_t address, const void *pc);

#endif
