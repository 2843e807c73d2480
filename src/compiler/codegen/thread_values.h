/* Values that follow from the thread's index alone, known where kernels are compiled. */
#ifndef WEIR_COMPILER_THREAD_VALUES_H
#define WEIR_COMPILER_THREAD_VALUES_H

#include "compiler/codegen/codegen.h"

/* What thread `thread` of a block has in a register that is written once; false: it depends on more
 * than the thread's index, or is not known. The shape of the block must be. */
bool thread_value(const struct jkernel *k, int32_t reg, uint32_t thread, uint64_t *out);

/* Is an instruction's result such a value, a vector that takes longer to compute than to load? Then
 * it is loaded from a table of all threads' values. */
bool thread_table_fits(const struct codegen *cg, const struct ptx_instr *i);
bool emit_thread_table(struct codegen *cg, const struct ptx_instr *i);

#endif
