/* sum_runs.c: atomic sums of floats whose lanes are sorted: neighbours have one element in common,
 * and the next element belongs to the next lanes, as in sums over rows of a matrix in coordinates,
 * or over segments.
 *
 * Each element's sum is made in lane order, from what memory has (atomic_groups.c). With AVX-512
 * the sums of up to 16 elements are made side by side, one lane of each at a time. Four
 * neighbouring elements are then exchanged by one locked instruction, which takes about as long as
 * for one of them; the elements beside them that no lane adds to stay as they are. Where any of the
 * four has changed meanwhile, their sums are made anew one by one. */
#include "compiler/codegen/control/control.h"
#include "compiler/codegen/memory/atomics.h"
#include "compiler/codegen/module_function.h"
#include "compiler/codegen/values.h"

enum {
    SLOTS = 16, /* elements at most, from the first one's chunk on */
    CHUNK = 4,  /* of these are exchanged together */
    CHUNK_BYTES = 4 * CHUNK,
};

struct runs {
    LLVMValueRef lanes, starts; /* i32: the active lanes, the first of each element */
    LLVMValueRef base;          /* i64: address of the chunk in which the first element is, */
    LLVMValueRef first, count;  /* i32: at which slot of it; how many elements there are */
    LLVMValueRef chunks;        /* i32: in so many */
    LLVMValueRef old, sum;      /* float [SLOTS]: what memory had, and what it is to have */
};

static LLVMValueRef bit_mask(struct codegen *cg, LLVMValueRef count)
{
    LLVMBuilderRef b = cg->alu.b;
    return LLVMBuildSub(b, LLVMBuildShl(b, c32(cg, 1), count, ""), c32(cg, 1), "");
}

static LLVMValueRef count_bits(struct codegen *cg, LLVMValueRef bits)
{
    return intrinsic(cg, "llvm.ctpop", &cg->i32, 1, &bits, 1);
}

/* i1: are the active lanes neighbours? */
static LLVMValueRef no_gaps(struct codegen *cg)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef lanes = mask_bits(cg);
    LLVMValueRef lowest = LLVMBuildAnd(b, lanes, LLVMBuildNeg(b, lanes, ""), "");
    LLVMValueRef gap = LLVMBuildAnd(b, LLVMBuildAdd(b, lanes, lowest, ""), lanes, "");
    return LLVMBuildICmp(b, LLVMIntEQ, gap, c32(cg, 0), "");
}

/* i1: are the elements of the active lanes, which are neighbours, neighbours as well? */
static LLVMValueRef find_runs(struct codegen *cg, const struct atomic *a, LLVMValueRef addr,
                              struct runs *r)
{
    LLVMBuilderRef b = cg->alu.b;
    unsigned idx[JIT_WARP];
    for (unsigned l = 0; l < JIT_WARP; l++)
        idx[l] = l > 0 ? l - 1 : 0;
    LLVMValueRef step = LLVMBuildSub(b, addr, shuffle(cg, addr, NULL, idx, JIT_WARP), "");
    LLVMValueRef zero = LLVMConstNull(cg->v32i64), one = splat(cg, c64(cg, a->bytes), JIT_WARP);
    LLVMValueRef other = bits_of(cg, LLVMBuildICmp(b, LLVMIntNE, step, zero, "")),
                 next = bits_of(cg, LLVMBuildICmp(b, LLVMIntEQ, step, one, ""));
    LLVMValueRef lanes = mask_bits(cg), lane = lowest_lane(cg, lanes);
    LLVMValueRef lowest = LLVMBuildAnd(b, lanes, LLVMBuildNeg(b, lanes, ""), "");
    LLVMValueRef far = LLVMBuildAnd(b, other, LLVMBuildNot(b, next, ""), "");
    far = LLVMBuildAnd(b, far, LLVMBuildXor(b, lanes, lowest, ""), "");
    LLVMValueRef at = LLVMBuildLoad2(b, cg->i64, atomic_element(cg, a->at, cg->i64, lane), "");
    LLVMValueRef slot = LLVMBuildLShr(b, LLVMBuildTrunc(b, at, cg->i32, ""), c32(cg, 2), "");
    r->lanes = lanes;
    r->starts = LLVMBuildAnd(b, LLVMBuildOr(b, other, lowest, ""), lanes, "");
    r->base = LLVMBuildAnd(b, at, c64(cg, (uint64_t)-CHUNK_BYTES), "");
    r->first = LLVMBuildAnd(b, slot, c32(cg, CHUNK - 1), "");
    r->count = count_bits(cg, r->starts);
    LLVMValueRef end = LLVMBuildAdd(b, r->first, r->count, "");
    r->chunks = LLVMBuildUDiv(b, LLVMBuildAdd(b, end, c32(cg, CHUNK - 1), ""), c32(cg, CHUNK), "");
    LLVMValueRef few = LLVMBuildICmp(b, LLVMIntULE, end, c32(cg, SLOTS), "");
    return LLVMBuildAnd(b, few, LLVMBuildICmp(b, LLVMIntEQ, far, c32(cg, 0), ""), "");
}

/* i1: is no lane's operand so small that a sum might be a subnormal? */
static LLVMValueRef none_small(struct codegen *cg, const struct atomic *a, LLVMValueRef v)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef some = atomic_is_small(cg, v);
    for (unsigned term = 1; term < a->terms; term++)
        some =
            LLVMBuildOr(b, some, atomic_is_small(cg, atomic_terms(cg, a, LLVMTypeOf(v), term)), "");
    some = LLVMBuildAnd(b, bits_of(cg, some), mask_bits(cg), "");
    return LLVMBuildICmp(b, LLVMIntEQ, some, c32(cg, 0), "");
}

static LLVMValueRef address_of(struct codegen *cg, const struct runs *r, LLVMValueRef slot,
                               uint64_t bytes)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef at = LLVMBuildMul(b, LLVMBuildZExt(b, slot, cg->i64, ""), c64(cg, bytes), "");
    return LLVMBuildIntToPtr(b, LLVMBuildAdd(b, r->base, at, ""), cg->ptr, "");
}

/* ---- side by side ---- */

static LLVMValueRef mask16(struct codegen *cg, LLVMValueRef bits)
{
    LLVMBuilderRef b = cg->alu.b;
    return LLVMBuildBitCast(b, LLVMBuildTrunc(b, bits, cg->i16, ""), LLVMVectorType(cg->i1, SLOTS),
                            "");
}

static LLVMValueRef bits16(struct codegen *cg, LLVMValueRef v16i1)
{
    LLVMBuilderRef b = cg->alu.b;
    return LLVMBuildZExt(b, LLVMBuildBitCast(b, v16i1, cg->i16, ""), cg->i32, "");
}

/* The first lane of each slot's element, from slot r->first on; 0 elsewhere. */
static LLVMValueRef first_lanes(struct codegen *cg, const struct runs *r)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMTypeRef t = LLVMVectorType(cg->i32, SLOTS);
    LLVMValueRef at = r->first, v = LLVMConstNull(t);
    for (unsigned half = 0; half < JIT_WARP / SLOTS; half++) {
        LLVMValueRef number[SLOTS];
        for (unsigned l = 0; l < SLOTS; l++)
            number[l] = c32(cg, half * SLOTS + l);
        LLVMValueRef some = LLVMBuildLShr(b, r->starts, c32(cg, half * SLOTS), "");
        LLVMValueRef from = LLVMBuildShl(b, c32(cg, 0xffffffff), at, "");
        LLVMValueRef packed = intrinsic(
            cg, "llvm.x86.avx512.mask.compress", &t, 1,
            (LLVMValueRef[]){LLVMConstVector(number, SLOTS), LLVMConstNull(t), mask16(cg, some)},
            3);
        v = intrinsic(cg, "llvm.x86.avx512.mask.expand", &t, 1,
                      (LLVMValueRef[]){packed, v, mask16(cg, from)}, 3);
        some = LLVMBuildAnd(b, some, c32(cg, 0xffff), "");
        at = LLVMBuildAdd(b, at, count_bits(cg, some), "");
    }
    return v;
}

/* A term's operands, as two vectors. */
static void halves(struct codegen *cg, LLVMValueRef v, LLVMValueRef *half)
{
    LLVMBuilderRef b = cg->alu.b;
    v = LLVMBuildBitCast(b, v, LLVMVectorType(cg->f32, JIT_WARP), "");
    for (unsigned n = 0; n < JIT_WARP / SLOTS; n++) {
        unsigned idx[SLOTS];
        for (unsigned l = 0; l < SLOTS; l++)
            idx[l] = n * SLOTS + l;
        half[n] = shuffle(cg, v, NULL, idx, SLOTS);
    }
}

/* Makes the sums by vectors. i1: none may be a subnormal. */
static LLVMValueRef sum_side_by_side(struct codegen *cg, const struct atomic *a,
                                     const struct runs *r, LLVMValueRef v)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef half[ATOMIC_TERMS][JIT_WARP / SLOTS];
    halves(cg, v, half[0]);
    for (unsigned term = 1; term < a->terms; term++)
        halves(cg, atomic_terms(cg, a, LLVMTypeOf(v), term), half[term]);
    LLVMTypeRef ints = LLVMVectorType(cg->i32, SLOTS), floats = LLVMVectorType(cg->f32, SLOTS);
    LLVMTypeRef types[2] = {ints, cg->ptr};
    LLVMValueRef zero = LLVMConstNull(ints), each = splat(cg, c32(cg, 1), SLOTS);
    LLVMValueRef elements = LLVMBuildMul(b, r->chunks, c32(cg, CHUNK), "");
    LLVMValueRef args[4] = {LLVMBuildIntToPtr(b, r->base, cg->ptr, ""), c32(cg, CHUNK_BYTES),
                            mask16(cg, bit_mask(cg, elements)), zero};
    LLVMValueRef old = intrinsic(cg, "llvm.masked.load", types, 2, args, 4);
    LLVMValueRef slots = LLVMBuildShl(b, bit_mask(cg, r->count), r->first, "");
    LLVMValueRef small = LLVMBuildAnd(b, bits16(cg, atomic_is_small(cg, old)), slots, "");
    LLVMBuildStore(b, old, r->old);
    LLVMValueRef lane = first_lanes(cg, r);
    /* bit n: the lane n + 1 after it has the same element */
    LLVMValueRef same = LLVMBuildAnd(b, r->lanes, LLVMBuildNot(b, r->starts, ""), "");
    same = splat(cg, LLVMBuildLShr(b, same, c32(cg, 1), ""), SLOTS);
    same = LLVMBuildLShr(b, same, lane, "");
    LLVMValueRef start = LLVMBuildBitCast(b, old, floats, ""), some = mask16(cg, slots);
    LLVMBasicBlockRef before = LLVMGetInsertBlock(b), loop = new_bb(cg, "lane_of_each"),
                      done = new_bb(cg, "side_by_side");
    LLVMBuildBr(b, loop);
    LLVMPositionBuilderAtEnd(b, loop);
    LLVMValueRef from = LLVMBuildPhi(b, ints, ""), more = LLVMBuildPhi(b, ints, ""),
                 left = LLVMBuildPhi(b, LLVMTypeOf(some), ""), sum = LLVMBuildPhi(b, floats, "");
    LLVMValueRef next = sum;
    for (unsigned term = 0; term < a->terms; term++) {
        LLVMValueRef x = intrinsic(cg, "llvm.x86.avx512.vpermi2var.ps.512", NULL, 0,
                                   (LLVMValueRef[]){half[term][0], from, half[term][1]}, 3);
        next = LLVMBuildSelect(b, left, LLVMBuildFAdd(b, next, x, ""), next, "");
    }
    LLVMValueRef goes_on = LLVMBuildICmp(b, LLVMIntNE, LLVMBuildAnd(b, more, each, ""), zero, "");
    LLVMValueRef rest = LLVMBuildAnd(b, left, goes_on, "");
    LLVMValueRef from_now = LLVMBuildAdd(b, from, each, ""),
                 more_now = LLVMBuildLShr(b, more, each, "");
    LLVMBasicBlockRef in[2] = {before, LLVMGetInsertBlock(b)};
    LLVMAddIncoming(from, (LLVMValueRef[]){lane, from_now}, in, 2);
    LLVMAddIncoming(more, (LLVMValueRef[]){same, more_now}, in, 2);
    LLVMAddIncoming(left, (LLVMValueRef[]){some, rest}, in, 2);
    LLVMAddIncoming(sum, (LLVMValueRef[]){start, next}, in, 2);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntNE, bits16(cg, rest), c32(cg, 0), ""), loop, done);
    LLVMPositionBuilderAtEnd(b, done);
    LLVMBuildStore(b, next, r->sum);
    return LLVMBuildICmp(b, LLVMIntEQ, small, c32(cg, 0), "");
}

/* ---- one after the other ---- */

/* Copies what memory has to both arrays. */
static void copy_chunks(struct codegen *cg, const struct runs *r)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMTypeRef chunk = LLVMVectorType(cg->i32, CHUNK);
    LLVMBasicBlockRef before = LLVMGetInsertBlock(b), loop = new_bb(cg, "copy_chunk"),
                      done = new_bb(cg, "chunks_copied");
    LLVMBuildBr(b, loop);
    LLVMPositionBuilderAtEnd(b, loop);
    LLVMValueRef n = LLVMBuildPhi(b, cg->i32, "");
    LLVMValueRef x = LLVMBuildLoad2(b, chunk, address_of(cg, r, n, CHUNK_BYTES), "");
    LLVMBuildStore(b, x, atomic_element(cg, r->old, chunk, n));
    LLVMBuildStore(b, x, atomic_element(cg, r->sum, chunk, n));
    LLVMValueRef next = LLVMBuildAdd(b, n, c32(cg, 1), "");
    LLVMAddIncoming(n, (LLVMValueRef[]){c32(cg, 0), next}, (LLVMBasicBlockRef[]){before, loop}, 2);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntULT, next, r->chunks, ""), loop, done);
    LLVMPositionBuilderAtEnd(b, done);
}

/* A loop over the elements, between whose begin and end code for one of them is emitted. */
struct run_loop {
    LLVMBasicBlockRef before, body, done;
    LLVMValueRef left, slot;   /* i32: the lanes of those to come, and the number of this one */
    LLVMValueRef group, small; /* i32: its lanes; i1: one before it may be a subnormal */
};

static struct run_loop run_loop_open(struct codegen *cg, const struct runs *r)
{
    LLVMBuilderRef b = cg->alu.b;
    struct run_loop l = {.before = LLVMGetInsertBlock(b),
                         .body = new_bb(cg, "run"),
                         .done = new_bb(cg, "runs_done")};
    LLVMBuildBr(b, l.body);
    LLVMPositionBuilderAtEnd(b, l.body);
    l.left = LLVMBuildPhi(b, cg->i32, "");
    l.slot = LLVMBuildPhi(b, cg->i32, "");
    l.small = LLVMBuildPhi(b, cg->i1, "");
    l.group = atomic_first_run(cg, r->starts, l.left);
    return l;
}

static void run_loop_close(struct codegen *cg, const struct runs *r, struct run_loop *l,
                           LLVMValueRef small)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef rest = LLVMBuildAnd(b, l->left, LLVMBuildNot(b, l->group, ""), "");
    LLVMValueRef slot = LLVMBuildAdd(b, l->slot, c32(cg, 1), "");
    LLVMBasicBlockRef in[2] = {l->before, LLVMGetInsertBlock(b)};
    LLVMAddIncoming(l->left, (LLVMValueRef[]){r->lanes, rest}, in, 2);
    LLVMAddIncoming(l->slot, (LLVMValueRef[]){r->first, slot}, in, 2);
    LLVMAddIncoming(l->small, (LLVMValueRef[]){LLVMConstNull(cg->i1), small}, in, 2);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntNE, rest, c32(cg, 0), ""), l->body, l->done);
    LLVMPositionBuilderAtEnd(b, l->done);
}

/* Makes the sums one by one. i1: none may be a subnormal. */
static LLVMValueRef sum_one_by_one(struct codegen *cg, const struct atomic *a, const struct runs *r)
{
    LLVMBuilderRef b = cg->alu.b;
    copy_chunks(cg, r);
    struct run_loop l = run_loop_open(cg, r);
    LLVMValueRef p = atomic_element(cg, r->sum, cg->f32, l.slot);
    LLVMValueRef old = LLVMBuildLoad2(b, cg->i32, p, "");
    LLVMValueRef small = LLVMBuildOr(b, l.small, atomic_is_small(cg, old), "");
    LLVMValueRef sum = atomic_sum_of_lanes(cg, a, LLVMBuildBitCast(b, old, cg->f32, ""), l.group);
    LLVMBuildStore(b, sum, p);
    run_loop_close(cg, r, &l, small);
    return LLVMBuildNot(b, small, "");
}

/* ---- to memory ---- */

/* The elements of chunk n, one by one. */
static void update_chunk_anew(struct codegen *cg, const struct atomic *a, const struct runs *r,
                              LLVMValueRef n)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMBasicBlockRef update = new_bb(cg, "update_run"), next = new_bb(cg, "next_run");
    struct run_loop l = run_loop_open(cg, r);
    LLVMValueRef in = LLVMBuildUDiv(b, l.slot, c32(cg, CHUNK), "");
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntEQ, in, n, ""), update, next);
    LLVMPositionBuilderAtEnd(b, update);
    atomic_update_group(cg, a, address_of(cg, r, l.slot, a->bytes), l.group);
    LLVMBuildBr(b, next);
    LLVMPositionBuilderAtEnd(b, next);
    run_loop_close(cg, r, &l, LLVMConstNull(cg->i1));
}

/* Exchanges what memory has for the sums, chunk by chunk. */
static void store_chunks(struct codegen *cg, const struct atomic *a, const struct runs *r)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMTypeRef chunk = LLVMIntTypeInContext(cg->alu.ctx, 8 * CHUNK_BYTES);
    LLVMAtomicOrdering order = LLVMAtomicOrderingSequentiallyConsistent;
    LLVMBasicBlockRef before = LLVMGetInsertBlock(b), loop = new_bb(cg, "swap_chunk"),
                      anew = new_bb(cg, "chunk_anew"), next = new_bb(cg, "chunk_swapped"),
                      done = new_bb(cg, "chunks_swapped");
    LLVMBuildBr(b, loop);
    LLVMPositionBuilderAtEnd(b, loop);
    LLVMValueRef n = LLVMBuildPhi(b, cg->i32, "");
    LLVMValueRef x = LLVMBuildLoad2(b, chunk, atomic_element(cg, r->old, chunk, n), ""),
                 y = LLVMBuildLoad2(b, chunk, atomic_element(cg, r->sum, chunk, n), "");
    LLVMValueRef p = address_of(cg, r, n, CHUNK_BYTES);
    LLVMValueRef swap = LLVMBuildAtomicCmpXchg(b, p, x, y, order, order, false);
    branch_likely(cg, LLVMBuildExtractValue(b, swap, 1, ""), next, anew);
    LLVMPositionBuilderAtEnd(b, anew);
    update_chunk_anew(cg, a, r, n);
    LLVMBuildBr(b, next);
    LLVMPositionBuilderAtEnd(b, next);
    LLVMValueRef n_now = LLVMBuildAdd(b, n, c32(cg, 1), "");
    LLVMAddIncoming(n, (LLVMValueRef[]){c32(cg, 0), n_now}, (LLVMBasicBlockRef[]){before, next}, 2);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntULT, n_now, r->chunks, ""), loop, done);
    LLVMPositionBuilderAtEnd(b, done);
}

void atomic_sum_runs(struct codegen *cg, const struct atomic *a, LLVMValueRef v, LLVMValueRef addr,
                     LLVMBasicBlockRef done)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMTypeRef slots = LLVMArrayType2(cg->f32, SLOTS);
    struct runs r = {.old = new_slot(cg, slots, "old"), .sum = new_slot(cg, slots, "sum")};
    LLVMSetAlignment(r.old, 4 * SLOTS);
    LLVMSetAlignment(r.sum, 4 * SLOTS);
    LLVMBasicBlockRef look = new_bb(cg, "no_gaps"), runs = new_bb(cg, "neighbours"),
                      sum = new_bb(cg, "sum_runs"), store = new_bb(cg, "store_runs"),
                      others = new_bb(cg, "no_neighbours");
    LLVMBuildCondBr(b, no_gaps(cg), look, others);
    LLVMPositionBuilderAtEnd(b, look);
    LLVMBuildCondBr(b, find_runs(cg, a, addr, &r), runs, others);
    LLVMPositionBuilderAtEnd(b, runs);
    branch_likely(cg, none_small(cg, a, v), sum, others);
    LLVMPositionBuilderAtEnd(b, sum);
    LLVMValueRef to_write = c32(cg, 1), near = c32(cg, 3), data = c32(cg, 1);
    LLVMValueRef last = LLVMBuildSub(b, r.chunks, c32(cg, 1), "");
    for (int n = 0; n < 2; n++) {
        LLVMValueRef p = address_of(cg, &r, n == 0 ? c32(cg, 0) : last, CHUNK_BYTES);
        intrinsic(cg, "llvm.prefetch", &cg->ptr, 1, (LLVMValueRef[]){p, to_write, near, data}, 4);
    }
    LLVMValueRef none =
        cg->alu.has_avx512 ? sum_side_by_side(cg, a, &r, v) : sum_one_by_one(cg, a, &r);
    branch_likely(cg, none, store, others);
    LLVMPositionBuilderAtEnd(b, store);
    store_chunks(cg, a, &r);
    LLVMBuildBr(b, done);
    LLVMPositionBuilderAtEnd(b, others);
}
