/* defined.h: calls that follow which bytes were written, and who comes to operations of a warp
 * (JIT_CHECKS_DEFINED, JIT_CHECKS_SYNC). Nothing is emitted where they are not asked for. */
#ifndef WEIR_COMPILER_DEFINED_H
#define WEIR_COMPILER_DEFINED_H

#include "compiler/codegen/codegen.h"

/* Before a load of `vec` elements of `bytes` into registers, or one whose value decides something
 * at once (d NULL). i: where it is one of the kernel's loads; else NULL. */
void defined_load(struct codegen *cg, const struct ptx_instr *i, const struct ptx_operand *at,
                  unsigned space, unsigned bytes, int vec, const struct ptx_operand *d);
/* Whether such a load's registers are only copied, or some are not wanted. */
bool defined_is_copied(struct codegen *cg, const struct ptx_instr *load);
/* Before a store of registers, or of what is known (data NULL). */
void defined_store(struct codegen *cg, const struct ptx_operand *at, unsigned space, unsigned bytes,
                   int vec, const struct ptx_operand *data);
/* The active lanes come to a barrier of the block; to an operation of a warp that names members. */
void sync_barrier(struct codegen *cg, const struct ptx_instr *i);
void sync_warp(struct codegen *cg, const struct ptx_operand *members);
/* Lanes wait at a block: if that only ends their threads, they count as ended. A region begins. */
void sync_leave(struct codegen *cg, int32_t block, LLVMValueRef lanes);
void sync_enter_region(struct codegen *cg);
/* The lanes whose threads have not ended. (warp/cluster.c) */
LLVMValueRef live_lanes(struct codegen *cg);

#endif
