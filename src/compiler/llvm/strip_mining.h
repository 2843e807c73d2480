/* strip_mining.h: strip mining in two files. strip_mining.c finds stretches of instructions for
 * which it pays, strip_loops.c makes loops of them. */
#ifndef WEIR_COMPILER_STRIP_MINING_H
#define WEIR_COMPILER_STRIP_MINING_H

#include "compiler/codegen/codegen.h"

/* Where an instruction of a block goes: not decided, before the loop, into it, or after it. */
enum role { ROLE_OPEN, ROLE_BEFORE, ROLE_STRIP, ROLE_AFTER };

/* The function that is transformed. */
struct strips {
    LLVMModuleRef m;
    LLVMContextRef ctx;
    LLVMBuilderRef b;
    LLVMValueRef fn;
    unsigned simd_bits;      /* of a vector register */
    unsigned registers;      /* how many there are */
    bool always;             /* ... whether it pays or not */
    unsigned program_memory; /* the kind of metadata that accesses to the program's memory have */
    LLVMValueRef area;       /* memory for live-in and live-out values, an alloca; NULL: none needed
                                yet */
    uint64_t area_bytes;
};

/* One basic block, and the stretch that is analysed: instructions from <= i < to. */
struct body {
    LLVMBasicBlockRef bb;
    LLVMValueRef *instr;
    int32_t n;
    uint8_t *role;       /* of an instruction of the stretch, enum role */
    bool *lanewise;      /* of an instruction: is it lanewise? */
    LLVMValueRef *strip; /* what it is in the loop */
    LLVMValueRef *keys;  /* instruction -> number, by address; NULL: free */
    int32_t *numbers;
    size_t slots; /* of that table, a power of two */
    int32_t from, to;
    unsigned lanes; /* of a strip */
    uint64_t used;  /* bytes of the area in this stretch */
};

static inline bool strip_is_vector(LLVMTypeRef t)
{
    return LLVMGetTypeKind(t) == LLVMVectorTypeKind;
}

/* Bytes of an element in memory; 0: a predicate; -1: nothing that is known here. */
int strip_element_bytes(LLVMTypeRef t);
/* The scalar that a shuffle splats over all lanes; NULL: it is another shuffle. */
LLVMValueRef strip_splat(LLVMValueRef v);
/* The name of the function that is called; "" where it has none. */
const char *strip_callee(LLVMValueRef call);
/* Has a call no effects, and does not read memory either? */
bool strip_is_pure(LLVMValueRef call);
/* The number of an instruction of the stretch, or of what follows it in the block; else -1. What
 * was erased has a lower number, and may have left its address to another. */
int32_t strip_number(const struct body *y, LLVMValueRef v);
/* Is instruction k of the stretch used outside of the loop? */
bool strip_is_live_out(const struct body *y, int32_t k);

/* Makes the stretch a loop over strips of y->lanes. */
void strip_loop_make(struct strips *s, struct body *y);

#endif
