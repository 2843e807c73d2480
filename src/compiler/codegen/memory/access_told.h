/* access_told.h: what the helpers of checks are told of accesses: as few calls as say the same. */
#ifndef WEIR_COMPILER_ACCESS_TOLD_H
#define WEIR_COMPILER_ACCESS_TOLD_H

#include "compiler/codegen/codegen.h"

/* What one call tells of: `count` accesses of `bytes` a lane, the first at `at`, each `step` bytes
 * after the one before. */
struct told {
    struct ptx_operand at;
    unsigned space, bytes;
    uint32_t count, step;
};

/* Who is told. */
enum told_to { TOLD_ACCESSES, TOLD_DEFINED, TOLD_KINDS };

/* One access alone. */
struct told told_one(const struct ptx_operand *at, unsigned space, unsigned bytes);
/* A load, and those after it in its basic block that can be told of with it: loads of the same
 * source line from the same register, between which nothing is written and nothing ordered. False:
 * it was told of with one before. */
bool told_loads(struct codegen *cg, const struct ptx_instr *i, struct told *t, enum told_to whom);
/* Puts the addresses in the first row of a helper's arguments: of all lanes, or of the first of
 * each segment, as the shape that it returns says (JIT_SHAPE_ bits; abi/kernel_abi.h). */
LLVMValueRef told_addresses(struct codegen *cg, const struct told *t);
/* The shape alone. */
uint32_t told_shape(struct codegen *cg, const struct told *t);

#endif
