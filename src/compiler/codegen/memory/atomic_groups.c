/* atomic_groups.c: lanes of an atomic that have addresses in common are one memory operation.
 *
 * Integers are reduced in registers first, and where old values are read, each lane's is what
 * memory had before and the operands of the lanes below. Floats are added in lane order, to what
 * memory has, since no other grouping of them is a sequence of additions; but the sums of all
 * groups are made before the first is stored, so that a CPU makes them side by side: after a
 * locked instruction it would begin nothing. */
#include <stdio.h>

#include "compiler/codegen/control/control.h"
#include "compiler/codegen/memory/access.h"
#include "compiler/codegen/memory/atomics.h"
#include "compiler/codegen/module_function.h"
#include "compiler/codegen/values.h"

/* The identity of a reduction, or NULL when lanes cannot be combined before the memory operation.
 */
static LLVMValueRef identity(struct codegen *cg, const struct atomic *a)
{
    if (LLVMGetTypeKind(a->elem) != LLVMIntegerTypeKind || a->packed != NULL || a->flushes)
        return NULL;
    unsigned bits = LLVMGetIntTypeWidth(a->elem);
    switch (a->op) {
    case PTX_M_add:
    case PTX_M_or:
    case PTX_M_xor: return LLVMConstNull(a->elem);
    case PTX_M_and: return LLVMConstAllOnes(a->elem);
    case PTX_M_min:
        return a->is_signed ? LLVMConstInt(a->elem, (1ull << (bits - 1)) - 1, false)
                            : LLVMConstAllOnes(a->elem);
    case PTX_M_max:
        return a->is_signed ? LLVMConstInt(a->elem, 1ull << (bits - 1), false)
                            : LLVMConstNull(a->elem);
    default: return NULL;
    }
}

static LLVMValueRef reduce_lanes(struct codegen *cg, const struct atomic *a, LLVMValueRef v)
{
    const char *name = a->op == PTX_M_add   ? "llvm.vector.reduce.add"
                       : a->op == PTX_M_or  ? "llvm.vector.reduce.or"
                       : a->op == PTX_M_xor ? "llvm.vector.reduce.xor"
                       : a->op == PTX_M_and ? "llvm.vector.reduce.and"
                       : a->op == PTX_M_min
                           ? (a->is_signed ? "llvm.vector.reduce.smin" : "llvm.vector.reduce.umin")
                           : (a->is_signed ? "llvm.vector.reduce.smax" : "llvm.vector.reduce.umax");
    LLVMTypeRef t = LLVMTypeOf(v);
    return intrinsic(cg, name, &t, 1, &v, 1);
}

/* Inclusive sums over the lanes up to each. */
static LLVMValueRef sums_of_lanes(struct codegen *cg, LLVMValueRef v)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef zero = LLVMConstNull(LLVMTypeOf(v));
    for (unsigned step = 1; step < JIT_WARP; step *= 2) {
        unsigned idx[JIT_WARP];
        for (unsigned l = 0; l < JIT_WARP; l++)
            idx[l] = l < step ? JIT_WARP : l - step;
        v = LLVMBuildAdd(b, v, shuffle(cg, v, zero, idx, JIT_WARP), "");
    }
    return v;
}

/* How many of the lanes `lanes` (i32) are below each. */
static LLVMValueRef lanes_below(struct codegen *cg, LLVMValueRef lanes)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef below[JIT_WARP];
    for (unsigned l = 0; l < JIT_WARP; l++)
        below[l] = c32(cg, (1u << l) - 1);
    LLVMValueRef v =
        LLVMBuildAnd(b, splat(cg, lanes, JIT_WARP), LLVMConstVector(below, JIT_WARP), "");
    return intrinsic(cg, "llvm.ctpop", &cg->v32i32, 1, &v, 1);
}

/* The sum of the operands of the lanes below each, of the lanes `lanes` (i32), and of all of them;
 * `one`: they are the same in all. */
static LLVMValueRef before_lanes(struct codegen *cg, const struct atomic *a, LLVMValueRef v,
                                 LLVMValueRef lanes, bool one, LLVMValueRef *total)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMTypeRef t = LLVMTypeOf(v);
    LLVMValueRef before;
    if (one) {
        LLVMValueRef x = LLVMBuildExtractElement(b, v, c32(cg, 0), ""),
                     n = intrinsic(cg, "llvm.ctpop", &cg->i32, 1, &lanes, 1);
        *total = LLVMBuildMul(b, x, LLVMBuildIntCast2(b, n, a->elem, false, ""), "");
        before = LLVMBuildIntCast2(b, lanes_below(cg, lanes), t, false, "");
        return LLVMBuildMul(b, before, splat(cg, x, JIT_WARP), "");
    }
    v = LLVMBuildSelect(b, lanes_of(cg, lanes), v, LLVMConstNull(t), "");
    LLVMValueRef sums = sums_of_lanes(cg, v);
    *total = LLVMBuildExtractElement(b, sums, c32(cg, JIT_WARP - 1), "");
    before = LLVMBuildSub(b, sums, v, "");
    return before;
}

/* Adds the operands of the lanes `lanes` (i32) to the element at p; `one`: they are the same in
 * all. Gives each lane's old value. */
static LLVMValueRef add_returning(struct codegen *cg, const struct atomic *a, LLVMValueRef p,
                                  LLVMValueRef v, LLVMValueRef lanes, bool one)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef total, before = before_lanes(cg, a, v, lanes, one, &total);
    LLVMValueRef old = atomic_update(cg, a, p, total, NULL);
    return LLVMBuildAdd(b, splat(cg, old, JIT_WARP), before, "");
}

/* The same, which most often is for one lane: a warp's leader takes places for all. */
static LLVMValueRef add_of_some(struct codegen *cg, const struct atomic *a, LLVMValueRef p,
                                LLVMValueRef v, LLVMValueRef lanes, bool one)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef others = LLVMBuildAnd(b, lanes, LLVMBuildSub(b, lanes, c32(cg, 1), ""), "");
    LLVMBasicBlockRef leader = new_bb(cg, "leader"), many = new_bb(cg, "many"),
                      done = new_bb(cg, "added");
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntEQ, others, c32(cg, 0), ""), leader, many);
    LLVMPositionBuilderAtEnd(b, leader);
    LLVMValueRef x = LLVMBuildExtractElement(b, v, lowest_lane(cg, lanes), "");
    LLVMValueRef old = splat(cg, atomic_update(cg, a, p, x, NULL), JIT_WARP);
    leader = LLVMGetInsertBlock(b);
    LLVMBuildBr(b, done);
    LLVMPositionBuilderAtEnd(b, many);
    LLVMValueRef olds = add_returning(cg, a, p, v, lanes, one);
    many = LLVMGetInsertBlock(b);
    LLVMBuildBr(b, done);
    LLVMPositionBuilderAtEnd(b, done);
    LLVMValueRef r = LLVMBuildPhi(b, LLVMTypeOf(v), "");
    LLVMAddIncoming(r, (LLVMValueRef[]){old, olds}, (LLVMBasicBlockRef[]){leader, many}, 2);
    return r;
}

/* What before_lanes gives, or nothing where one lane is active, as most often is: a warp's leader
 * takes places for all. */
static LLVMValueRef before_some(struct codegen *cg, const struct atomic *a, LLVMValueRef v,
                                LLVMValueRef lanes, bool one)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef others = LLVMBuildAnd(b, lanes, LLVMBuildSub(b, lanes, c32(cg, 1), ""), ""), total;
    LLVMBasicBlockRef from[2] = {LLVMGetInsertBlock(b), new_bb(cg, "many")},
                      done = new_bb(cg, "counted");
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntEQ, others, c32(cg, 0), ""), done, from[1]);
    LLVMPositionBuilderAtEnd(b, from[1]);
    LLVMValueRef before[2] = {LLVMConstNull(LLVMTypeOf(v)),
                              before_lanes(cg, a, v, lanes, one, &total)};
    from[1] = LLVMGetInsertBlock(b);
    LLVMBuildBr(b, done);
    LLVMPositionBuilderAtEnd(b, done);
    LLVMValueRef r = LLVMBuildPhi(b, LLVMTypeOf(v), "");
    LLVMAddIncoming(r, before, from, 2);
    return r;
}

/* With a counter that warps share: the old value of each lane. */
static LLVMValueRef old_of_place(struct codegen *cg, const struct atomic *a, LLVMValueRef p,
                                 LLVMValueRef v, LLVMValueRef lanes, bool one)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef place = splat(cg, counter_place(cg, a, p), JIT_WARP), total;
    LLVMValueRef before = cg->mask != NULL ? before_some(cg, a, v, lanes, one)
                                           : before_lanes(cg, a, v, lanes, one, &total);
    return LLVMBuildAdd(b, place, before, "");
}

LLVMValueRef atomic_wanted_of(struct codegen *cg, const struct atomic *a, LLVMValueRef v, bool one)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef x;
    if (one) {
        x = LLVMBuildExtractElement(b, v, c32(cg, 0), "");
        x = atomic_of_same(cg, a, x, mask_bits(cg));
    } else {
        if (cg->mask != NULL)
            v = LLVMBuildSelect(b, mask_vector(cg), v, LLVMConstNull(LLVMTypeOf(v)), "");
        x = reduce_lanes(cg, a, v);
    }
    return LLVMBuildIntCast2(b, x, cg->i64, false, "");
}

static bool adds_integers(const struct atomic *a)
{
    return a->op == PTX_M_add && a->packed == NULL && !a->flushes && a->bytes <= 8 &&
           LLVMGetTypeKind(a->elem) == LLVMIntegerTypeKind;
}

/* Bits of the lanes `lanes` whose operand changes what memory has: `old`, a vector. */
static LLVMValueRef lanes_that_change(struct codegen *cg, const struct atomic *a, LLVMValueRef old,
                                      LLVMValueRef v, LLVMValueRef lanes)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef r = atomic_apply(cg, a, old, v, NULL);
    return LLVMBuildAnd(b, bits_of(cg, LLVMBuildICmp(b, LLVMIntNE, r, old, "")), lanes, "");
}

/* The operation of all lanes on one element whose old value nobody reads. Bounds and flags are
 * compared with what is there first, which takes fewer instructions than to reduce them. */
static void update_one(struct codegen *cg, const struct atomic *a, LLVMValueRef p, LLVMValueRef v)
{
    LLVMBuilderRef b = cg->alu.b;
    if (!a->may_skip) {
        atomic_update_unread(cg, a, p, reduce_lanes(cg, a, v));
        return;
    }
    LLVMValueRef old = LLVMBuildLoad2(b, a->elem, p, "");
    LLVMSetAlignment(old, a->bytes);
    LLVMSetOrdering(old, LLVMAtomicOrderingMonotonic);
    LLVMValueRef some = lanes_that_change(cg, a, splat(cg, old, JIT_WARP), v, c32(cg, 0xffffffff));
    LLVMBasicBlockRef yes = new_bb(cg, "some_change"), done = new_bb(cg, "none_changes");
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntNE, some, c32(cg, 0), ""), yes, done);
    LLVMPositionBuilderAtEnd(b, yes);
    atomic_update(cg, a, p, reduce_lanes(cg, a, v), NULL);
    LLVMBuildBr(b, done);
    LLVMPositionBuilderAtEnd(b, done);
}

LLVMValueRef atomic_of_same(struct codegen *cg, const struct atomic *a, LLVMValueRef x,
                            LLVMValueRef lanes)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef n = intrinsic(cg, "llvm.ctpop", &cg->i32, 1, &lanes, 1), some;
    switch (a->op) {
    case PTX_M_add: return LLVMBuildMul(b, x, LLVMBuildIntCast2(b, n, a->elem, false, ""), "");
    case PTX_M_xor: some = LLVMBuildTrunc(b, n, cg->i1, ""); break; /* is their number odd? */
    default: some = LLVMBuildICmp(b, LLVMIntNE, lanes, c32(cg, 0), ""); break;
    }
    return LLVMBuildSelect(b, some, x, identity(cg, a), "");
}

LLVMValueRef atomic_at_counter(struct codegen *cg, const struct atomic *a,
                               const struct ptx_operand *at, LLVMValueRef v, LLVMValueRef addr)
{
    LLVMBuilderRef b = cg->alu.b;
    struct uniformity data = operand_uniformity(cg->k, at + 1);
    LLVMValueRef p =
        LLVMBuildIntToPtr(b, LLVMBuildExtractElement(b, addr, c32(cg, 0), ""), cg->ptr, "");
    return old_of_place(cg, a, p, v, mask_bits(cg), is_uniform(&data));
}

bool atomic_combined(struct codegen *cg, const struct atomic *a, const struct ptx_operand *at,
                     LLVMValueRef v, LLVMValueRef addr, LLVMValueRef *old)
{
    struct uniformity sh = address_uniformity(cg->k, at);
    LLVMValueRef id = identity(cg, a);
    if (id == NULL || !is_uniform(&sh) || (old != NULL && !adds_integers(a)))
        return false;
    struct uniformity data = operand_uniformity(cg->k, at + 1);
    LLVMValueRef p = LLVMBuildIntToPtr(
        cg->alu.b, LLVMBuildExtractElement(cg->alu.b, addr, c32(cg, 0), ""), cg->ptr, "");
    if (old != NULL) {
        *old = cg->mask != NULL ? add_of_some(cg, a, p, v, mask_bits(cg), is_uniform(&data))
                                : add_returning(cg, a, p, v, mask_bits(cg), is_uniform(&data));
        return true;
    }
    if (is_uniform(&data)) {
        LLVMValueRef x = LLVMBuildExtractElement(cg->alu.b, v, c32(cg, 0), "");
        atomic_update_unread(cg, a, p, atomic_of_same(cg, a, x, mask_bits(cg)));
        return true;
    }
    if (cg->mask != NULL)
        v = LLVMBuildSelect(cg->alu.b, mask_vector(cg), v, splat(cg, id, JIT_WARP), "");
    update_one(cg, a, p, v);
    return true;
}

/* ---- lanes at the same address ---- */

/* Asks for the lines of the elements of the lanes `lanes` (i32) so that they may be written: a CPU
 * begins no load after a locked instruction before that is done, and without this waits for one
 * line after the other, from memory or from another core that has written it. */
static void prefetch_lanes(struct codegen *cg, const struct atomic *a, LLVMValueRef lanes)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMBasicBlockRef each = new_bb(cg, "prefetch"), some = new_bb(cg, "prefetch_some"),
                      done = new_bb(cg, "prefetched");
    LLVMValueRef others = LLVMBuildAnd(b, lanes, LLVMBuildSub(b, lanes, c32(cg, 1), ""), "");
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntNE, others, c32(cg, 0), ""), some, done);
    LLVMPositionBuilderAtEnd(b, some);
    struct lane_loop l = lane_loop_open(cg, lanes, each, done);
    LLVMValueRef at = LLVMBuildLoad2(b, cg->i64, atomic_element(cg, a->at, cg->i64, l.lane), "");
    LLVMValueRef to_write = c32(cg, 1), near = c32(cg, 3), data = c32(cg, 1);
    LLVMValueRef args[4] = {LLVMBuildIntToPtr(b, at, cg->ptr, ""), to_write, near, data};
    intrinsic(cg, "llvm.prefetch", &cg->ptr, 1, args, 4);
    lane_loop_close(cg, &l);
}

void atomic_update_group(struct codegen *cg, const struct atomic *what, LLVMValueRef p,
                         LLVMValueRef group)
{
    LLVMBuilderRef b = cg->alu.b;
    struct atomic here = *what, *a = &here;
    LLVMTypeRef bits = LLVMIntTypeInContext(cg->alu.ctx, a->bytes * 8);
    if (a->flushes)
        a->flush = atomic_flushes_at(cg, a, p);
    LLVMValueRef first = LLVMBuildLoad2(b, bits, p, "");
    LLVMSetAlignment(first, a->bytes);
    LLVMBasicBlockRef before = LLVMGetInsertBlock(b), again = new_bb(cg, "group_again"),
                      lane_bb = new_bb(cg, "group_lane"), swap = new_bb(cg, "group_swap"),
                      done = new_bb(cg, "group_done");
    LLVMBuildBr(b, again);
    LLVMPositionBuilderAtEnd(b, again);
    LLVMValueRef old = LLVMBuildPhi(b, bits, "");
    LLVMValueRef start = LLVMBuildBitCast(b, old, a->elem, "");
    LLVMBuildBr(b, lane_bb);
    LLVMPositionBuilderAtEnd(b, lane_bb);
    LLVMValueRef left = LLVMBuildPhi(b, cg->i32, ""), value = LLVMBuildPhi(b, a->elem, "");
    LLVMValueRef lane = lowest_lane(cg, left);
    LLVMValueRef next = value;
    for (unsigned term = 0; term < a->terms; term++)
        next = atomic_apply(cg, a, next, atomic_term(cg, a, lane, term), NULL);
    LLVMValueRef rest = LLVMBuildAnd(b, left, LLVMBuildSub(b, left, c32(cg, 1), ""), "");
    LLVMBasicBlockRef applied = LLVMGetInsertBlock(b);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntNE, rest, c32(cg, 0), ""), lane_bb, swap);
    LLVMAddIncoming(left, (LLVMValueRef[]){group, rest}, (LLVMBasicBlockRef[]){again, applied}, 2);
    LLVMAddIncoming(value, (LLVMValueRef[]){start, next}, (LLVMBasicBlockRef[]){again, applied}, 2);
    LLVMPositionBuilderAtEnd(b, swap);
    LLVMValueRef r = LLVMBuildAtomicCmpXchg(b, p, old, LLVMBuildBitCast(b, next, bits, ""),
                                            LLVMAtomicOrderingSequentiallyConsistent,
                                            LLVMAtomicOrderingSequentiallyConsistent, false);
    LLVMAddIncoming(old, (LLVMValueRef[]){first, LLVMBuildExtractValue(b, r, 0, "")},
                    (LLVMBasicBlockRef[]){before, swap}, 2);
    LLVMBuildCondBr(b, LLVMBuildExtractValue(b, r, 1, ""), done, again);
    LLVMPositionBuilderAtEnd(b, done);
}

/* Which of the lanes `left` have the address of the first of them, which goes to *at. (It is loaded
 * from the array: LLVM would store the vector anew to extract an element whose number varies.) */
static LLVMValueRef lanes_at_first(struct codegen *cg, const struct atomic *a, LLVMValueRef addr,
                                   LLVMValueRef left, LLVMValueRef *at)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef p = atomic_element(cg, a->at, cg->i64, lowest_lane(cg, left));
    *at = LLVMBuildLoad2(b, cg->i64, p, "");
    LLVMValueRef same = LLVMBuildICmp(b, LLVMIntEQ, addr, splat(cg, *at, JIT_WARP), "");
    return LLVMBuildAnd(b, bits_of(cg, same), left, "");
}

/* Group after group of lanes at one address: of integers, or without anything made ahead. wants:
 * old values are read, and `one`: operands are the same. */
static LLVMValueRef update_groups(struct codegen *cg, const struct atomic *a, LLVMValueRef addr,
                                  LLVMValueRef v, bool wants, bool one)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMTypeRef t = LLVMTypeOf(v);
    LLVMValueRef id = identity(cg, a), at, all = mask_bits(cg), old = NULL, olds = NULL;
    LLVMBasicBlockRef before = LLVMGetInsertBlock(b), next = new_bb(cg, "group"),
                      done = new_bb(cg, "groups_done");
    LLVMBuildBr(b, next);
    LLVMPositionBuilderAtEnd(b, next);
    LLVMValueRef left = LLVMBuildPhi(b, cg->i32, "");
    if (wants)
        old = LLVMBuildPhi(b, t, "");
    LLVMValueRef group = lanes_at_first(cg, a, addr, left, &at);
    LLVMValueRef p = LLVMBuildIntToPtr(b, at, cg->ptr, "");
    if (wants) {
        LLVMValueRef made = add_of_some(cg, a, p, v, group, one);
        olds = LLVMBuildSelect(b, lanes_of(cg, group), made, old, "");
    } else if (id != NULL) {
        LLVMValueRef some = LLVMBuildSelect(b, lanes_of(cg, group), v, splat(cg, id, JIT_WARP), "");
        atomic_update_unread(cg, a, p, reduce_lanes(cg, a, some));
    } else {
        atomic_update_group(cg, a, p, group);
    }
    LLVMValueRef rest = LLVMBuildAnd(b, left, LLVMBuildNot(b, group, ""), "");
    LLVMBasicBlockRef here = LLVMGetInsertBlock(b);
    LLVMAddIncoming(left, (LLVMValueRef[]){all, rest}, (LLVMBasicBlockRef[]){before, here}, 2);
    if (wants)
        LLVMAddIncoming(old, (LLVMValueRef[]){LLVMConstNull(t), olds},
                        (LLVMBasicBlockRef[]){before, here}, 2);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntNE, rest, c32(cg, 0), ""), next, done);
    LLVMPositionBuilderAtEnd(b, done);
    return olds;
}

/* ---- sums of floats, made ahead ---- */

/* What is made of a warp's groups before anything is stored, in memory. */
struct ahead {
    LLVMValueRef groups, old, sum; /* [32]: lanes, and i32 bits: by a group's first lane */
};

LLVMValueRef atomic_is_small(struct codegen *cg, LLVMValueRef bits)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef c[3] = {c32(cg, 0x7fffffff), c32(cg, 1), c32(cg, ((127 - 102) << 23) - 1)};
    for (int n = 0; n < 3 && LLVMTypeOf(bits) != cg->i32; n++)
        c[n] = splat(cg, c[n], LLVMGetVectorSize(LLVMTypeOf(bits)));
    LLVMValueRef less = LLVMBuildSub(b, LLVMBuildAnd(b, bits, c[0], ""), c[1], "");
    return LLVMBuildICmp(b, LLVMIntULT, less, c[2], "");
}

LLVMValueRef atomic_sum_of_lanes(struct codegen *cg, const struct atomic *a, LLVMValueRef start,
                                 LLVMValueRef group)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMBasicBlockRef before = LLVMGetInsertBlock(b), loop = new_bb(cg, "sum_lane"),
                      done = new_bb(cg, "summed");
    LLVMBuildBr(b, loop);
    LLVMPositionBuilderAtEnd(b, loop);
    LLVMValueRef left = LLVMBuildPhi(b, cg->i32, ""), sum = LLVMBuildPhi(b, cg->f32, "");
    LLVMValueRef from = lowest_lane(cg, left), next = sum;
    for (unsigned term = 0; term < a->terms; term++) {
        LLVMValueRef x = LLVMBuildBitCast(b, atomic_term(cg, a, from, term), cg->f32, "");
        next = LLVMBuildFAdd(b, next, x, "");
    }
    LLVMValueRef rest = LLVMBuildAnd(b, left, LLVMBuildSub(b, left, c32(cg, 1), ""), "");
    LLVMAddIncoming(left, (LLVMValueRef[]){group, rest}, (LLVMBasicBlockRef[]){before, loop}, 2);
    LLVMAddIncoming(sum, (LLVMValueRef[]){start, next}, (LLVMBasicBlockRef[]){before, loop}, 2);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntNE, rest, c32(cg, 0), ""), loop, done);
    LLVMPositionBuilderAtEnd(b, done);
    return next;
}

/* Adds the operands of the lanes `group` to the old value at p, in lane order, as if there were no
 * subnormals. i1: there may be one, and the sum is not to be used. */
static LLVMValueRef sum_ahead(struct codegen *cg, const struct atomic *a, const struct ahead *h,
                              LLVMValueRef p, LLVMValueRef lane, LLVMValueRef group)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef old = LLVMBuildLoad2(b, cg->i32, p, "");
    LLVMSetAlignment(old, 4);
    LLVMSetOrdering(old, LLVMAtomicOrderingMonotonic);
    LLVMValueRef sum = atomic_sum_of_lanes(cg, a, LLVMBuildBitCast(b, old, cg->f32, ""), group);
    LLVMBuildStore(b, group, atomic_element(cg, h->groups, cg->i32, lane));
    LLVMBuildStore(b, old, atomic_element(cg, h->old, cg->i32, lane));
    LLVMBuildStore(b, sum, atomic_element(cg, h->sum, cg->i32, lane));
    return atomic_is_small(cg, old);
}

/* Stores a group's sum, unless memory has changed meanwhile: then it is made anew. */
static void store_ahead(struct codegen *cg, const struct atomic *a, const struct ahead *h,
                        LLVMValueRef lane, LLVMValueRef ruled_out)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef at = LLVMBuildLoad2(b, cg->i64, atomic_element(cg, a->at, cg->i64, lane), "");
    LLVMValueRef p = LLVMBuildIntToPtr(b, at, cg->ptr, "");
    LLVMValueRef old = LLVMBuildLoad2(b, cg->i32, atomic_element(cg, h->old, cg->i32, lane), "");
    LLVMValueRef sum = LLVMBuildLoad2(b, cg->i32, atomic_element(cg, h->sum, cg->i32, lane), "");
    LLVMBasicBlockRef swap = new_bb(cg, "swap_ahead"), anew = new_bb(cg, "sum_anew"),
                      done = new_bb(cg, "stored_ahead");
    LLVMValueRef bit = LLVMBuildShl(b, c32(cg, 1), lane, "");
    LLVMValueRef out = LLVMBuildAnd(b, ruled_out, bit, "");
    branch_likely(cg, LLVMBuildICmp(b, LLVMIntEQ, out, c32(cg, 0), ""), swap, anew);
    LLVMPositionBuilderAtEnd(b, swap);
    LLVMValueRef r =
        LLVMBuildAtomicCmpXchg(b, p, old, sum, LLVMAtomicOrderingSequentiallyConsistent,
                               LLVMAtomicOrderingSequentiallyConsistent, false);
    branch_likely(cg, LLVMBuildExtractValue(b, r, 1, ""), done, anew);
    LLVMPositionBuilderAtEnd(b, anew);
    LLVMValueRef group =
        LLVMBuildLoad2(b, cg->i32, atomic_element(cg, h->groups, cg->i32, lane), "");
    atomic_update_group(cg, a, p, group);
    LLVMBuildBr(b, done);
    LLVMPositionBuilderAtEnd(b, done);
}

/* Bits of the active lanes whose left neighbour is not active or has another address. */
static LLVMValueRef run_heads(struct codegen *cg, LLVMValueRef addr)
{
    LLVMBuilderRef b = cg->alu.b;
    unsigned idx[JIT_WARP];
    for (unsigned l = 0; l < JIT_WARP; l++)
        idx[l] = l > 0 ? l - 1 : 0;
    LLVMValueRef left = shuffle(cg, addr, NULL, idx, JIT_WARP), lanes = mask_bits(cg);
    LLVMValueRef other = bits_of(cg, LLVMBuildICmp(b, LLVMIntNE, addr, left, ""));
    LLVMValueRef no_left = LLVMBuildNot(b, LLVMBuildShl(b, lanes, c32(cg, 1), ""), "");
    return LLVMBuildAnd(b, LLVMBuildOr(b, other, no_left, ""), lanes, "");
}

LLVMValueRef atomic_first_run(struct codegen *cg, LLVMValueRef heads, LLVMValueRef left)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef h = LLVMBuildAnd(b, heads, left, "");
    h = LLVMBuildAnd(b, h, LLVMBuildSub(b, h, c32(cg, 1), ""), "");
    LLVMValueRef next = LLVMBuildAnd(b, h, LLVMBuildNeg(b, h, ""), "");
    return LLVMBuildAnd(b, left, LLVMBuildSub(b, next, c32(cg, 1), ""), "");
}

/* As update_groups: in one loop all sums are made, in another they are stored. heads: neighbours
 * that have one address are a group, which is found sooner; NULL: all lanes that have are. (Where
 * two runs have the same address after all, the second's sum is made anew.) */
static void update_groups_ahead(struct codegen *cg, const struct atomic *a, LLVMValueRef addr,
                                LLVMValueRef heads)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMTypeRef row = LLVMArrayType2(cg->i32, JIT_WARP);
    struct ahead h = {new_slot(cg, row, "groups"), new_slot(cg, row, "old"),
                      new_slot(cg, row, "sum")};
    LLVMValueRef all = mask_bits(cg), at, none = c32(cg, 0);
    prefetch_lanes(cg, a, heads != NULL ? heads : all);
    LLVMBasicBlockRef before = LLVMGetInsertBlock(b), next = new_bb(cg, "group"),
                      store = new_bb(cg, "store_group"), done = new_bb(cg, "groups_done");
    LLVMBuildBr(b, next);
    LLVMPositionBuilderAtEnd(b, next);
    LLVMValueRef left = LLVMBuildPhi(b, cg->i32, ""), made = LLVMBuildPhi(b, cg->i32, ""),
                 out = LLVMBuildPhi(b, cg->i32, "");
    LLVMValueRef lane = lowest_lane(cg, left), group;
    if (heads != NULL) {
        at = LLVMBuildLoad2(b, cg->i64, atomic_element(cg, a->at, cg->i64, lane), "");
        group = atomic_first_run(cg, heads, left);
    } else {
        group = lanes_at_first(cg, a, addr, left, &at);
    }
    LLVMValueRef p = LLVMBuildIntToPtr(b, at, cg->ptr, "");
    LLVMValueRef bad = sum_ahead(cg, a, &h, p, lane, group);
    LLVMValueRef bit = LLVMBuildShl(b, c32(cg, 1), lane, "");
    LLVMValueRef made_now = LLVMBuildOr(b, made, bit, "");
    LLVMValueRef out_now = LLVMBuildOr(b, out, LLVMBuildSelect(b, bad, bit, none, ""), "");
    LLVMValueRef rest = LLVMBuildAnd(b, left, LLVMBuildNot(b, group, ""), "");
    LLVMBasicBlockRef in[2] = {before, LLVMGetInsertBlock(b)};
    LLVMAddIncoming(left, (LLVMValueRef[]){all, rest}, in, 2);
    LLVMAddIncoming(made, (LLVMValueRef[]){none, made_now}, in, 2);
    LLVMAddIncoming(out, (LLVMValueRef[]){none, out_now}, in, 2);
    LLVMBasicBlockRef summed = new_bb(cg, "all_summed");
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntNE, rest, none, ""), next, summed);
    LLVMPositionBuilderAtEnd(b, summed);
    struct lane_loop l = lane_loop_open(cg, made_now, store, done);
    store_ahead(cg, a, &h, l.lane, out_now);
    lane_loop_close(cg, &l);
}

/* A body for for_active_lanes: stores the sum that was made for a lane alone. */
struct single {
    const struct atomic *a;
    LLVMValueRef old, sum;
};
static void store_single(struct codegen *cg, LLVMValueRef lane, void *arg)
{
    const struct single *s = arg;
    struct atomic here = *s->a;
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef at = LLVMBuildLoad2(b, cg->i64, atomic_element(cg, here.at, cg->i64, lane), "");
    LLVMValueRef p = LLVMBuildIntToPtr(b, at, cg->ptr, "");
    LLVMValueRef old = LLVMBuildLoad2(b, cg->i32, atomic_element(cg, s->old, cg->i32, lane), "");
    LLVMValueRef sum = LLVMBuildLoad2(b, cg->i32, atomic_element(cg, s->sum, cg->i32, lane), "");
    LLVMValueRef r =
        LLVMBuildAtomicCmpXchg(b, p, old, sum, LLVMAtomicOrderingSequentiallyConsistent,
                               LLVMAtomicOrderingSequentiallyConsistent, false);
    LLVMBasicBlockRef anew = new_bb(cg, "sum_anew"), done = new_bb(cg, "stored_ahead");
    branch_likely(cg, LLVMBuildExtractValue(b, r, 1, ""), done, anew);
    LLVMPositionBuilderAtEnd(b, anew);
    atomic_lane(cg, lane, &here);
    LLVMBuildBr(b, done);
    LLVMPositionBuilderAtEnd(b, done);
}

LLVMValueRef atomic_gather(struct codegen *cg, const struct atomic *a, LLVMValueRef addr)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMTypeRef t = LLVMVectorType(a->elem, JIT_WARP), pv = LLVMVectorType(cg->ptr, JIT_WARP);
    LLVMValueRef m = mask_vector(cg);
    LLVMValueRef args[4] = {LLVMBuildIntToPtr(b, addr, pv, ""), c32(cg, a->bytes),
                            m != NULL ? m : LLVMConstAllOnes(cg->v32i1), LLVMConstNull(t)};
    return intrinsic(cg, "llvm.masked.gather", (LLVMTypeRef[]){t, pv}, 2, args, 4);
}

/* Lane after lane, at addresses of which few are the same. */
static void update_lanes(struct codegen *cg, struct atomic *a, LLVMValueRef addr, LLVMValueRef v)
{
    LLVMValueRef lanes = mask_bits(cg);
    if (!a->may_skip)
        prefetch_lanes(cg, a, lanes);
    if (a->flushes && !a->generic) {
        LLVMValueRef old = atomic_gather(cg, a, addr);
        struct atomic sums = *a;
        sums.flush = LLVMConstInt(cg->i1, 1, false);
        LLVMValueRef sum = atomic_apply(cg, &sums, old, v, NULL);
        for (unsigned term = 1; term < a->terms; term++)
            sum = atomic_apply(cg, &sums, sum, atomic_terms(cg, a, LLVMTypeOf(v), term), NULL);
        struct single s = {a, atomic_array(cg, old), atomic_array(cg, sum)};
        for_active_lanes(cg, lanes, store_single, &s);
        return;
    }
    for_active_lanes(cg, lanes, atomic_lane, a);
}

/* Bounds and flags that would change nothing take no part: the active lanes are the others from
 * here on, and code goes on at `none` where there are none. */
static void drop_unchanging(struct codegen *cg, const struct atomic *a, LLVMValueRef addr,
                            LLVMValueRef v, LLVMBasicBlockRef none)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef old = atomic_gather(cg, a, addr);
    LLVMValueRef lanes = lanes_that_change(cg, a, old, v, mask_bits(cg));
    LLVMBasicBlockRef some = new_bb(cg, "some_change");
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntNE, lanes, c32(cg, 0), ""), some, none);
    LLVMPositionBuilderAtEnd(b, some);
    cg->mask = lanes;
    cg->mask_vec = NULL;
}

/* Where the first lane shares its address with another one, each address is updated once, by all of
 * its lanes: counters, sums by key, sorted rows. Otherwise lane after lane is, as it costs less
 * than to compare all addresses. one: the operands are the same. */
static void update_shared(struct codegen *cg, struct atomic *a, LLVMValueRef v, LLVMValueRef addr,
                          bool one)
{
    LLVMBuilderRef b = cg->alu.b;
    bool wants = a->out != NULL;
    LLVMBasicBlockRef done = new_bb(cg, "updated");
    if (a->may_skip && !wants && (a->bytes == 4 || a->bytes == 8))
        drop_unchanging(cg, a, addr, v, done);
    mask_vector(cg); /* computed here, so that both branches may use it */
    if (a->flushes && !a->generic)
        atomic_sum_runs(cg, a, v, addr, done);
    LLVMValueRef first, group = lanes_at_first(cg, a, addr, mask_bits(cg), &first);
    LLVMValueRef others = LLVMBuildAnd(b, group, LLVMBuildSub(b, group, c32(cg, 1), ""), "");
    LLVMBasicBlockRef many = new_bb(cg, "groups"), single = new_bb(cg, "distinct");
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntNE, others, c32(cg, 0), ""), many, single);
    LLVMPositionBuilderAtEnd(b, many);
    if (a->flushes && !a->generic) {
        LLVMValueRef some = atomic_is_small(cg, v), small;
        for (unsigned term = 1; term < a->terms; term++)
            some = LLVMBuildOr(b, some,
                               atomic_is_small(cg, atomic_terms(cg, a, LLVMTypeOf(v), term)), "");
        small = LLVMBuildAnd(b, bits_of(cg, some), mask_bits(cg), "");
        LLVMBasicBlockRef ahead = new_bb(cg, "ahead"), slow = new_bb(cg, "not_ahead");
        branch_likely(cg, LLVMBuildICmp(b, LLVMIntEQ, small, c32(cg, 0), ""), ahead, slow);
        LLVMPositionBuilderAtEnd(b, ahead);
        LLVMValueRef heads = run_heads(cg, addr), run = atomic_first_run(cg, heads, mask_bits(cg));
        LLVMBasicBlockRef runs = new_bb(cg, "runs"), distant = new_bb(cg, "distant");
        LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntEQ, run, group, ""), runs, distant);
        LLVMPositionBuilderAtEnd(b, runs);
        update_groups_ahead(cg, a, addr, heads);
        LLVMBuildBr(b, done);
        LLVMPositionBuilderAtEnd(b, distant);
        update_groups_ahead(cg, a, addr, NULL);
        LLVMBuildBr(b, done);
        LLVMPositionBuilderAtEnd(b, slow);
    }
    LLVMValueRef olds = update_groups(cg, a, addr, v, wants, one);
    if (wants)
        LLVMBuildStore(b, olds, a->out);
    LLVMBuildBr(b, done);
    LLVMPositionBuilderAtEnd(b, single);
    if (wants) {
        prefetch_lanes(cg, a, mask_bits(cg));
        for_active_lanes(cg, mask_bits(cg), atomic_lane, a);
    } else {
        update_lanes(cg, a, addr, v);
    }
    LLVMBuildBr(b, done);
    LLVMPositionBuilderAtEnd(b, done);
}

/* What a function of the module does, which is where this is: an atomic is a few words of a kernel
 * and hundreds of instructions. */
struct shared_update {
    const struct atomic *a;
    LLVMTypeRef elements; /* a vector of them */
    bool one;
};

/* void (i32 lanes, ptr addresses, ptr operands, ptr old values) */
static void shared_update_body(struct codegen *cg, LLVMValueRef fn, const void *arg)
{
    const struct shared_update *u = arg;
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef caller = cg->fn, mask = cg->mask, mask_vec = cg->mask_vec;
    LLVMBasicBlockRef entry = cg->entry;
    struct atomic a = *u->a;
    cg->fn = fn;
    cg->entry = LLVMGetInsertBlock(b);
    cg->mask = LLVMGetParam(fn, 0);
    cg->mask_vec = NULL;
    a.at = LLVMGetParam(fn, 1);
    a.b = LLVMGetParam(fn, 2);
    a.out = u->a->out != NULL ? LLVMGetParam(fn, 3) : NULL;
    a.arrives = false; /* it does not know the block */
    LLVMValueRef addr = LLVMBuildLoad2(b, cg->v32i64, a.at, "");
    update_shared(cg, &a, LLVMBuildLoad2(b, u->elements, a.b, ""), addr, u->one);
    cg->fn = caller;
    cg->entry = entry;
    cg->mask = mask;
    cg->mask_vec = mask_vec;
}

void atomic_update_lanes(struct codegen *cg, const struct atomic *a, LLVMValueRef lanes,
                         LLVMTypeRef row, bool one)
{
    struct shared_update u = {a, row, one};
    bool old = a->out != NULL;
    char name[64];
    snprintf(name, sizeof name, "weir_atomic_%s_%s_%u%s%s%s", ptx_mod_name((enum ptx_mod)a->op),
             ptx_type_name((enum ptx_type)a->type), a->terms, a->may_skip ? "_skip" : "",
             old ? "_old" : "", one ? "_one" : "");
    LLVMTypeRef params[4] = {cg->i32, cg->ptr, cg->ptr, cg->ptr};
    LLVMValueRef fn = module_function(cg, name, params, 4, shared_update_body, &u);
    LLVMValueRef args[4] = {lanes, a->at, a->b, old ? a->out : LLVMConstNull(cg->ptr)};
    LLVMBuildCall2(cg->alu.b, LLVMGlobalGetValueType(fn), fn, args, 4, "");
}

bool atomic_grouped(struct codegen *cg, struct atomic *a, const struct ptx_operand *at,
                    LLVMValueRef v, LLVMValueRef addr, LLVMValueRef *old)
{
    LLVMBuilderRef b = cg->alu.b;
    struct uniformity s = address_uniformity(cg->k, at), data = operand_uniformity(cg->k, at + 1);
    if (a->shared || a->op == PTX_M_cas || a->op == PTX_M_exch || a->bytes > 8 ||
        (s.seg != SEG_NONE && s.stride != 0) || (old != NULL && !adds_integers(a)))
        return false;
    a->at = atomic_array(cg, addr);
    a->b = atomic_array(cg, v);
    a->out = old != NULL ? new_slot(cg, LLVMTypeOf(v), "old") : NULL;
    bool one = old != NULL && is_uniform(&data);
    if (a->flushes && a->generic) /* which needs to know the block's shared memory */
        update_shared(cg, a, v, addr, one);
    else
        atomic_update_lanes(cg, a, mask_bits(cg), LLVMTypeOf(v), one);
    if (old != NULL)
        *old = LLVMBuildLoad2(b, LLVMTypeOf(v), a->out, "");
    return true;
}
