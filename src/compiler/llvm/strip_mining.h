/* What the two halves of doing arithmetic a few lanes at a time share: strip_mining.c finds
 * stretches for which it pays, strip_loop_make.c makes loops of them. */
#ifndef WEIR_COMPILER_STRIP_MINING_H
#define WEIR_COMPILER_STRIP_MINING_H

#include "compiler/codegen/codegen.h"

/* Where an instruction of a block goes. */
enum place { PLACE_OPEN, PLACE_BEFORE, PLACE_STRIP, PLACE_AFTER };

/* The function that is worked on. */
struct strips {
    LLVMModuleRef m;
    LLVMContextRef ctx;
    LLVMBuilderRef b;
    LLVMValueRef fn;
    unsigned simd_bits; /* of a vector register */
    unsigned registers; /* how many there are */
    bool always;        /* ... whether it pays or not */
    LLVMValueRef area;  /* memory through which values pass, an alloca; NULL: none needed yet */
    uint64_t area_bytes;
};

/* One basic block, and the stretch that is being looked at: instructions from <= i < to. */
struct body {
    LLVMBasicBlockRef bb;
    LLVMValueRef *instr;
    int32_t n;
    uint8_t *place;      /* of an instruction of the stretch, enum place */
    bool *row;           /* of an instruction: is it done lane by lane? */
    LLVMValueRef *piece; /* what it became in the loop */
    LLVMValueRef *keys;  /* instruction -> number, by address; NULL: free */
    int32_t *numbers;
    size_t slots; /* of that table, a power of two */
    int32_t from, to;
    unsigned lanes; /* of a strip */
    uint64_t used;  /* bytes of the area in this stretch */
};

static inline bool strips_is_vector(LLVMTypeRef t)
{
    return LLVMGetTypeKind(t) == LLVMVectorTypeKind;
}

/* Bytes of an element in memory; 0: a predicate; -1: nothing that is known here. */
int strips_bytes(LLVMTypeRef t);
/* The scalar that a shuffle spreads over all lanes; NULL: it does something else. */
LLVMValueRef strips_spread(LLVMValueRef v);
/* The name of the function that is called; "" where it has none. */
const char *strips_callee(LLVMValueRef call);
/* The number of an instruction of the stretch, or of what follows it in the block; else -1. What
 * was erased has a lower number, and may have left its address to another. */
int32_t strips_number(const struct body *y, LLVMValueRef v);
/* Is instruction k of the stretch needed by anything that is not in the loop? */
bool strips_leaves(const struct body *y, int32_t k);

/* Makes the stretch a loop over strips of y->lanes. */
void strip_loop_make(struct strips *s, struct body *y);

#endif
