/* check: the helper that checked kernels call before each access to global memory. */
#ifndef WEIR_GRID_CHECK_H
#define WEIR_GRID_CHECK_H

#include "abi/kernel_abi.h"

/* The lanes of `mask` are about to touch bytes at address[lane]; what: how many, plus
 * JIT_CHECK_WRITES. Faults for the first lane that must not. */
void weir_rt_check(struct jit_block *j, uint32_t mask, const uint64_t *address, uint32_t what);

#endif
