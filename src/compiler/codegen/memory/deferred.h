/* deferred.h: sums that a call collects before it adds them to memory (deferred_sums.c). */
#ifndef WEIR_COMPILER_DEFERRED_H
#define WEIR_COMPILER_DEFERRED_H

#include "compiler/codegen/codegen.h"

/* After batch_init: decides whether the kernel's sums are deferred, and makes cg->deferred. */
void deferred_init(struct codegen *cg);
/* Where the call begins, which runs so many blocks (i32), and before it ends. */
void deferred_open(struct codegen *cg, LLVMValueRef blocks);
void deferred_close(struct codegen *cg);
/* Before the active lanes access `bytes` each in another way than by a sum that may be deferred. */
void deferred_before(struct codegen *cg, const struct ptx_instr *i, const struct ptx_operand *at,
                     unsigned bytes);

#endif
