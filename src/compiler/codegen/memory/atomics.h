/* atomics.h: what the files about atom and red share. */
#ifndef WEIR_COMPILER_ATOMICS_H
#define WEIR_COMPILER_ATOMICS_H

#include "compiler/codegen/codegen.h"

enum { ATOMIC_TERMS = 4 };

/* One atomic instruction. */
struct atomic {
    unsigned op;        /* enum ptx_mod: the operation */
    unsigned type;      /* enum ptx_type */
    LLVMTypeRef elem;   /* integer of its width, or float or double for their arithmetic */
    LLVMTypeRef packed; /* <2 x half> and the like, NULL otherwise */
    unsigned bytes;     /* of an element */
    bool shared, is_signed;
    bool flushes;               /* sums of f32: subnormals become zeros, but in shared memory */
    bool generic;               /* which of them it is, is not known */
    bool may_skip;              /* what changes nothing need not be written */
    bool arrives;               /* counts at the barrier of a cooperative grid */
    unsigned terms;             /* operands of a lane, added one after the other; mostly 1 */
    LLVMValueRef flush;         /* i1, in atomic_apply: they do become zeros */
    LLVMValueRef at, b, c, out; /* arrays of 32: addresses, operands (terms of them), old values
                                   (or NULL) */
    LLVMValueRef base;          /* NULL, or what `at` are offsets (i32) from; for atomic_lane */
};

/* ---- atomics.c ---- */

/* The new value of an element, from the old one and the operand (c: the second one of a
 * compare-and-swap, else NULL). But for packed types, of vectors of elements, too. */
LLVMValueRef atomic_apply(struct codegen *cg, const struct atomic *a, LLVMValueRef old,
                          LLVMValueRef x, LLVMValueRef c);
/* i1: does a sum of floats at p flush subnormals? Yes, but for shared memory. */
LLVMValueRef atomic_flushes_at(struct codegen *cg, const struct atomic *a, LLVMValueRef p);
/* Updates the element at p and gives its old value. */
LLVMValueRef atomic_update(struct codegen *cg, const struct atomic *a, LLVMValueRef p,
                           LLVMValueRef x, LLVMValueRef c);
/* The same where the old value is not read: it is not written where that changes nothing. */
void atomic_update_unread(struct codegen *cg, const struct atomic *a, LLVMValueRef p,
                          LLVMValueRef x);
/* A body for for_active_lanes: updates the lane's element as the arrays say; arg: the atomic. */
void atomic_lane(struct codegen *cg, LLVMValueRef lane, void *arg);
/* The operand `term` of a lane (i32), and of all lanes, from the array. */
LLVMValueRef atomic_term(struct codegen *cg, const struct atomic *a, LLVMValueRef lane,
                         unsigned term);
LLVMValueRef atomic_terms(struct codegen *cg, const struct atomic *a, LLVMTypeRef row,
                          unsigned term);
/* A vector as an array in memory, and the pointer to a lane's element there. */
LLVMValueRef atomic_array(struct codegen *cg, LLVMValueRef v);
LLVMValueRef atomic_element(struct codegen *cg, LLVMValueRef array, LLVMTypeRef t,
                            LLVMValueRef lane);
/* The elements of a vector of integers of 8 to 32 bits, each extracted from the 64 bits that it
 * shares with others. out[] is as wide as the elements, or 64 bits with those of 32 bits
 * sign-extended where `wide`. */
void atomic_extract(struct codegen *cg, LLVMValueRef v, bool wide, LLVMValueRef *out);

/* ---- atomic_groups.c: lanes at the same address ---- */

/* What the lanes `lanes` (i32) do together whose operands are all x, as an operand; of operations
 * that lanes can be combined by. */
LLVMValueRef atomic_of_same(struct codegen *cg, const struct atomic *a, LLVMValueRef x,
                            LLVMValueRef lanes);
/* Lanes that are known to have one address: one memory operation. old: where the old values of all
 * lanes go, NULL: nobody reads them. False: not such an instruction. */
bool atomic_combined(struct codegen *cg, const struct atomic *a, const struct ptx_operand *at,
                     LLVMValueRef v, LLVMValueRef addr, LLVMValueRef *old);
/* With a counter that warps share (control/shared_counters.c): the old value of each lane; before
 * that, how many places the active lanes want of instruction i (i64), or by operands v. */
LLVMValueRef atomic_at_counter(struct codegen *cg, const struct atomic *a,
                               const struct ptx_operand *at, LLVMValueRef v, LLVMValueRef addr);
LLVMValueRef atomic_wanted(struct codegen *cg, const struct ptx_instr *i);
LLVMValueRef atomic_wanted_of(struct codegen *cg, const struct atomic *a, LLVMValueRef v, bool one);
/* Lanes that may well have addresses in common; the same otherwise. */
bool atomic_grouped(struct codegen *cg, struct atomic *a, const struct ptx_operand *at,
                    LLVMValueRef v, LLVMValueRef addr, LLVMValueRef *old);

/* The lanes `lanes` (i32) as the arrays say; row: a vector of the elements. one: the operands are
 * the same. Not of generic addresses where the sums flush subnormals. */
void atomic_update_lanes(struct codegen *cg, const struct atomic *a, LLVMValueRef lanes,
                         LLVMTypeRef row, bool one);

/* Of the bits of floats, i1: is one so small that a sum could be a subnormal? The others are zero
 * or at least 2^-102, hence multiples of 2^-126, and so is any sum of them. */
LLVMValueRef atomic_is_small(struct codegen *cg, LLVMValueRef bits);

/* The operation of several lanes, bit set `group`, on the element at p, in lane order, as one
 * exchange. */
void atomic_update_group(struct codegen *cg, const struct atomic *what, LLVMValueRef p,
                         LLVMValueRef group);
/* The operands of the lanes `group` added to the float `start`, in lane order, as if there were no
 * subnormals. */
LLVMValueRef atomic_sum_of_lanes(struct codegen *cg, const struct atomic *a, LLVMValueRef start,
                                 LLVMValueRef group);
/* Those of the lanes `left` that come before the second of the heads among them. */
LLVMValueRef atomic_first_run(struct codegen *cg, LLVMValueRef heads, LLVMValueRef left);

/* What the active lanes' elements are now, as a vector. */
LLVMValueRef atomic_gather(struct codegen *cg, const struct atomic *a, LLVMValueRef addr);

/* ---- sum_runs.c ---- */

/* Adds the operands v of sorted lanes, which go to neighbouring elements, and goes on at `done`;
 * the builder is left where lanes are not, or where a sum may be a subnormal. */
void atomic_sum_runs(struct codegen *cg, const struct atomic *a, LLVMValueRef v, LLVMValueRef addr,
                     LLVMBasicBlockRef done);

/* ---- compare_swap.c ---- */

/* Lanes of a compare-and-swap that orders nothing; compared: the operand of which v is. False: not
 * one. old: as above. */
bool atomic_swapped(struct codegen *cg, struct atomic *a, const struct ptx_operand *compared,
                    LLVMValueRef v, LLVMValueRef c, LLVMValueRef addr, LLVMValueRef *old);
/* One of them, of a lane alone. */
LLVMValueRef atomic_swap(struct codegen *cg, const struct atomic *a, LLVMValueRef p, LLVMValueRef x,
                         LLVMValueRef c);

/* ---- sum_chains.c ---- */

/* A sum of floats that others follow, or the last of these. False: it is to be made by itself. */
bool sum_chain_add(struct codegen *cg, const struct ptx_instr *i, const struct atomic *a,
                   LLVMValueRef v, LLVMValueRef addr);

/* ---- deferred_sums.c ---- */

/* May the instruction be deferred? Then it commutes with all that are. */
bool deferred_may(const struct codegen *cg, const struct ptx_instr *i);
/* Makes such an instruction: at once for lanes that are far from where sums are collected. False:
 * it is another one. */
bool deferred_add(struct codegen *cg, const struct ptx_instr *i, struct atomic *a,
                  const struct ptx_operand *at, LLVMValueRef v, LLVMValueRef addr);

#endif
