/* deferred_state.h: what sums of integers and of floats that a call collects have in common
 * (deferred_sums.c, float_sums.c). */
#ifndef WEIR_COMPILER_DEFERRED_STATE_H
#define WEIR_COMPILER_DEFERRED_STATE_H

#include "compiler/codegen/codegen.h"
#include "compiler/codegen/memory/access.h"
#include "compiler/codegen/memory/atomics.h"

/* What a call collects, on its stack: of floats a struct jit_float_sums, which begins alike. */
enum {
    STATE_START = 0,    /* i64: the first page of which there is a copy; 0: there never was any */
    STATE_SIZE = 8,     /* i64: bytes that are copied, 0: none */
    STATE_CLEARED = 16, /* i64: bytes of each copy that have been cleared */
    STATE_TRIES = 24 /* i32: sums that may still be made at once before there is no copy any more */
};

struct deferred_sums {
    bool floats;
    unsigned bytes;     /* of an element */
    uint64_t *after;    /* blocks that may run after such a sum */
    int32_t *first;     /* by block: its first such sum, INT32_MAX: none */
    LLVMValueRef state; /* its address */
    LLVMValueRef copy;  /* of integers, COPIES of COPY_BYTES: what is cleared is zero but where
                           something was added */
};

LLVMValueRef deferred_load(struct codegen *cg, LLVMValueRef state, uint64_t offset);
void deferred_store(struct codegen *cg, LLVMValueRef state, uint64_t offset, LLVMValueRef v);

/* Where the lanes' elements are. */
struct sum_places {
    LLVMValueRef addr;           /* <32 x i64> */
    struct lane_addresses index; /* the same as a base and 32-bit indices of elements, or empty */
};
/* Bits of the lanes whose elements have a copy; *offsets: where it is, <32 x i16>. */
LLVMValueRef deferred_lanes(struct codegen *cg, const struct sum_places *p, LLVMValueRef *offsets);

/* ---- float_sums.c ---- */

/* Where the call begins, which runs so many blocks (i32). */
void float_sums_open(struct codegen *cg, LLVMValueRef blocks);
/* Adds what was collected to memory. */
void float_sums_flush(struct codegen *cg, bool keep);
/* Collects `count` sums of each active lane, values[n] at places[n], and goes on at `done`; the
 * builder is left where they are not collected. */
void float_sums_collect(struct codegen *cg, const struct sum_places *places, LLVMValueRef *values,
                        unsigned count, LLVMBasicBlockRef done);

#endif
