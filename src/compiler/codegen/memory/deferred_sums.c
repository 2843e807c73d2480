/* deferred_sums.c: sums of integers that many threads add to few places, as counters by key are
 * (and which sums of floats are collected likewise: float_sums.c has the rest of it).
 *
 * A locked instruction takes as long as twenty others, and longer where other cores use the same
 * line. So a call that runs many warps collects what they add to one or two neighbouring pages in a
 * copy of these on its own stack, by plain additions, and adds that to memory when it ends.
 *
 * Nobody can tell. `red` and `atom` without .acquire or .release order nothing but themselves, and
 * when others see what they do is left open; here it is before the call ends. What does order
 * memory (barriers, fences, accesses with such semantics, calls) is in no kernel to which this is
 * done. What remains is that a thread finds at an address what it has put there itself: accesses
 * that may come after such a sum look whether they meet a page that is being collected, and then it
 * is added first. Sums of integers come out alike in any order, so that they may be added to each
 * other before; those of floats do not.
 *
 * Pages are touched when they become part of the copy, so that a wrong address faults where it is
 * used. */
#include "base/base.h"
#include "compiler/codegen/control/control.h"
#include "compiler/codegen/memory/access.h"
#include "compiler/codegen/memory/atomics.h"
#include "compiler/codegen/memory/deferred.h"
#include "compiler/codegen/memory/deferred_state.h"
#include "compiler/codegen/memory/memory.h"
#include "compiler/codegen/module_function.h"
#include "compiler/codegen/values.h"

enum {
    PAGES = 2,
    COPY_BYTES = PAGES * WEIR_PAGE,
    LINE = 64,
    /* Neighbouring lanes add to copies of their own, since a sum at the place of one that has just
     * been stored waits for it. Their places differ in the low 12 bits of the address, too, by
     * which CPUs tell whether a load may depend on a store before it. */
    COPIES = 4,
    COPY_STRIDE = COPY_BYTES + WEIR_PAGE / COPIES,
    FIRST_SUMS = 4,  /* sums of a call that are made at once: short calls gain nothing, */
    MANY_WARPS = 64, /* and it is not short that runs so many warps */
    MOST_TRIES = 8,  /* warps of a call that begin a copy or find that they cannot */
};

/* ---- which kernels, which instructions ---- */

/* May a kernel have it in which sums are deferred? */
static bool harmless(const struct ptx_instr *i)
{
    struct diag ignored = {0};
    switch (i->op) {
    case PTX_OP_ld:
    case PTX_OP_ldu:
    case PTX_OP_st:
        return !mem_orders(i) && !ptx_has(i, PTX_M_volatile) && !ptx_has(i, PTX_M_relaxed) &&
               !ptx_has(i, PTX_M_mmio);
    case PTX_OP_atom:
    case PTX_OP_red: return !mem_orders(i);
    case PTX_OP_mov:
    case PTX_OP_cvta:
    case PTX_OP_call: /* of device math: batch_init has looked */
    case PTX_OP_shfl:
    case PTX_OP_vote:
    case PTX_OP_match:
    case PTX_OP_redux:
    case PTX_OP_activemask:
    case PTX_OP_elect:
    case PTX_OP_tex:
    case PTX_OP_tld4:
    case PTX_OP_txq:
    case PTX_OP_prefetch:
    case PTX_OP_prefetchu: return true;
    default: return alu_supported(i, &ignored);
    }
}

/* Is its old value read by nobody, and is it a sum of floats, or of 32- or 64-bit integers, in
 * global memory, which only threads of the device are to see at once? */
static bool deferrable(const struct jkernel *k, const struct ptx_instr *i, bool floats)
{
    if ((i->op != PTX_OP_red && i->op != PTX_OP_atom) || !ptx_has(i, PTX_M_add) || i->vec > 1 ||
        ptx_has(i, PTX_M_sys) || mem_space(i) != PTX_SPACE_GLOBAL)
        return false;
    const struct ptx_operand *d = &i->operands[0];
    if (i->op == PTX_OP_atom && d->kind == PTX_OPR_REG && k->regs[d->reg].read)
        return false;
    const struct ptx_operand *at = &i->operands[i->op == PTX_OP_atom ? 1 : 0];
    struct uniformity s = address_uniformity(k, at);
    if (s.seg != SEG_NONE && s.stride != 0) /* lanes have addresses of their own */
        return false;
    switch (i->types[i->ntypes - 1]) {
    case PTX_U32:
    case PTX_S32:
    case PTX_U64:
    case PTX_S64: return !floats;
    case PTX_F32: return floats;
    default: return false;
    }
}

static unsigned element_bytes(const struct ptx_instr *i)
{
    return ptx_type_bits((enum ptx_type)i->types[i->ntypes - 1]) / 8;
}

/* Marks the blocks that may run after block b. */
static void mark_after(const struct jkernel *k, int32_t b, uint64_t *after)
{
    for (int32_t n = 0; n < k->blocks[b].nsucc; n++) {
        int32_t next = k->blocks[b].succ[n];
        if (bit_get(after, next))
            continue;
        bit_set(after, next);
        mark_after(k, next, after);
    }
}

/* Finds the sums of one kind that are to be deferred, of as many bytes as the first of them. */
static bool find_sums(const struct jkernel *k, struct deferred_sums *d, bool floats)
{
    d->floats = floats;
    d->bytes = 0;
    for (int32_t b = 0; b < k->nblocks; b++) {
        const struct jblock *blk = &k->blocks[b];
        d->first[b] = INT32_MAX;
        for (int32_t n = blk->first; n < blk->first + blk->count; n++) {
            const struct ptx_instr *i = &k->instrs[n];
            if (!harmless(i))
                return false;
            if (blk->serialized || !deferrable(k, i, floats) ||
                (d->bytes != 0 && element_bytes(i) != d->bytes))
                continue;
            d->bytes = element_bytes(i);
            d->first[b] = n < d->first[b] ? n : d->first[b];
        }
    }
    return d->bytes != 0;
}

void deferred_init(struct codegen *cg)
{
    struct jkernel *k = cg->k;
    if (cg->batch == NULL || k->opt->checked != 0)
        return;
    struct deferred_sums *d = arena_alloc(&k->arena, sizeof *d);
    d->first = arena_alloc(&k->arena, sizeof *d->first * (size_t)k->nblocks);
    d->after = arena_alloc(&k->arena, bit_bytes(k->nblocks));
    if (!find_sums(k, d, false) && !find_sums(k, d, true))
        return;
    for (int32_t b = 0; b < k->nblocks; b++)
        if (d->first[b] != INT32_MAX)
            mark_after(k, b, d->after);
    d->state = new_slot(cg, LLVMArrayType2(cg->i64, d->floats ? 6 : 4), "deferred");
    LLVMSetAlignment(d->state, 8);
    cg->deferred = d;
    if (d->floats)
        return;
    d->copy = new_slot(cg, LLVMArrayType2(cg->i8, COPIES * COPY_STRIDE), "copy");
    LLVMSetAlignment(d->copy, LINE);
}

/* ---- the copy ---- */

static LLVMValueRef state_field(struct codegen *cg, LLVMValueRef state, uint64_t offset)
{
    return byte_offset(cg, state, c64(cg, offset));
}

LLVMValueRef deferred_load(struct codegen *cg, LLVMValueRef state, uint64_t offset)
{
    return LLVMBuildLoad2(cg->alu.b, offset == STATE_TRIES ? cg->i32 : cg->i64,
                          state_field(cg, state, offset), "");
}

void deferred_store(struct codegen *cg, LLVMValueRef state, uint64_t offset, LLVMValueRef v)
{
    LLVMBuildStore(cg->alu.b, v, state_field(cg, state, offset));
}

void deferred_open(struct codegen *cg, LLVMValueRef blocks)
{
    LLVMBuilderRef b = cg->alu.b;
    if (cg->deferred == NULL)
        return;
    if (cg->deferred->floats) {
        float_sums_open(cg, blocks);
        return;
    }
    uint64_t many = (MANY_WARPS + (uint64_t)cg->k->nwarps - 1) / (uint64_t)cg->k->nwarps;
    LLVMValueRef is_long = LLVMBuildICmp(b, LLVMIntUGE, blocks, c32(cg, many), "");
    LLVMValueRef tries =
        LLVMBuildSelect(b, is_long, c32(cg, MOST_TRIES), c32(cg, FIRST_SUMS + MOST_TRIES), "");
    LLVMValueRef state = cg->deferred->state;
    deferred_store(cg, state, STATE_START, c64(cg, 0));
    deferred_store(cg, state, STATE_SIZE, c64(cg, 0));
    deferred_store(cg, state, STATE_CLEARED, c64(cg, 0));
    deferred_store(cg, state, STATE_TRIES, tries);
}

static LLVMTypeRef element(struct codegen *cg, const struct deferred_sums *d)
{
    return d->bytes == 4 ? cg->i32 : cg->i64;
}

/* Where the copy number n (i64) has what the first one has at `offset`. */
static LLVMValueRef copy_at(struct codegen *cg, LLVMValueRef copy, LLVMValueRef n,
                            LLVMValueRef offset)
{
    LLVMValueRef from = LLVMBuildMul(cg->alu.b, n, c64(cg, COPY_STRIDE), "");
    return byte_offset(cg, byte_offset(cg, copy, from), offset);
}

/* A loop over the offsets start, start + step, ... below `end`, of which there is one. */
struct offset_loop {
    LLVMBasicBlockRef head;
    LLVMValueRef at; /* i64 */
};

static struct offset_loop offset_loop_open(struct codegen *cg, LLVMValueRef fn, const char *name,
                                           LLVMValueRef start)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMBasicBlockRef before = LLVMGetInsertBlock(b);
    struct offset_loop l = {.head = append_bb(cg, fn, name)};
    LLVMBuildBr(b, l.head);
    LLVMPositionBuilderAtEnd(b, l.head);
    l.at = LLVMBuildPhi(b, cg->i64, "");
    LLVMAddIncoming(l.at, &start, &before, 1);
    return l;
}

static void offset_loop_close(struct codegen *cg, LLVMValueRef fn, const struct offset_loop *l,
                              uint64_t step, LLVMValueRef end)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMBasicBlockRef here = LLVMGetInsertBlock(b), out = append_bb(cg, fn, "out");
    LLVMValueRef next = LLVMBuildAdd(b, l->at, c64(cg, step), "");
    LLVMAddIncoming(l->at, &next, &here, 1);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntULT, next, end, ""), l->head, out);
    LLVMPositionBuilderAtEnd(b, out);
}

/* void (ptr state, ptr copy): adds what was collected to memory; afterwards there is no copy. */
static void flush_body(struct codegen *cg, LLVMValueRef fn, const void *arg)
{
    const struct deferred_sums *d = arg;
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef state = LLVMGetParam(fn, 0), copy = LLVMGetParam(fn, 1);
    LLVMValueRef start = deferred_load(cg, state, STATE_START),
                 size = deferred_load(cg, state, STATE_SIZE);
    LLVMBasicBlockRef some = append_bb(cg, fn, "some"), none = append_bb(cg, fn, "none");
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntNE, size, c64(cg, 0), ""), some, none);
    LLVMPositionBuilderAtEnd(b, some);
    struct offset_loop lines = offset_loop_open(cg, fn, "line", c64(cg, 0));
    LLVMTypeRef words = LLVMVectorType(cg->i64, LINE / 8);
    LLVMValueRef v = LLVMConstNull(words);
    for (uint64_t n = 0; n < COPIES; n++) {
        LLVMValueRef w = LLVMBuildLoad2(b, words, copy_at(cg, copy, c64(cg, n), lines.at), "");
        LLVMSetAlignment(w, LINE);
        v = LLVMBuildOr(b, v, w, "");
    }
    LLVMValueRef any = intrinsic(cg, "llvm.vector.reduce.or", &words, 1, &v, 1);
    LLVMBasicBlockRef changed = append_bb(cg, fn, "changed"), next = append_bb(cg, fn, "next");
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntNE, any, c64(cg, 0), ""), changed, next);
    LLVMPositionBuilderAtEnd(b, changed);
    struct offset_loop elements = offset_loop_open(cg, fn, "element", c64(cg, 0));
    LLVMValueRef at = LLVMBuildAdd(b, lines.at, elements.at, "");
    LLVMValueRef x = LLVMConstNull(element(cg, d));
    for (uint64_t n = 0; n < COPIES; n++) {
        LLVMValueRef p = copy_at(cg, copy, c64(cg, n), at);
        x = LLVMBuildAdd(b, x, LLVMBuildLoad2(b, element(cg, d), p, ""), "");
        LLVMBuildStore(b, LLVMConstNull(element(cg, d)), p);
    }
    LLVMBasicBlockRef add = append_bb(cg, fn, "add"), added = append_bb(cg, fn, "added");
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntNE, x, LLVMConstNull(element(cg, d)), ""), add,
                    added);
    LLVMPositionBuilderAtEnd(b, add);
    LLVMValueRef p = LLVMBuildIntToPtr(b, LLVMBuildAdd(b, start, at, ""), cg->ptr, "");
    LLVMBuildAtomicRMW(b, LLVMAtomicRMWBinOpAdd, p, x, LLVMAtomicOrderingSequentiallyConsistent,
                       false);
    LLVMBuildBr(b, added);
    LLVMPositionBuilderAtEnd(b, added);
    offset_loop_close(cg, fn, &elements, d->bytes, c64(cg, LINE));
    LLVMBuildBr(b, next);
    LLVMPositionBuilderAtEnd(b, next);
    offset_loop_close(cg, fn, &lines, LINE, size);
    deferred_store(cg, state, STATE_SIZE, c64(cg, 0));
    LLVMBuildBr(b, none);
    LLVMPositionBuilderAtEnd(b, none);
}

static LLVMValueRef flush_function(struct codegen *cg, const struct deferred_sums *d)
{
    LLVMTypeRef params[2] = {cg->ptr, cg->ptr};
    return module_function(cg, d->bytes == 4 ? "weir_add_sums_4" : "weir_add_sums_8", params, 2,
                           flush_body, d);
}

static void call_flush(struct codegen *cg, const struct deferred_sums *d, LLVMValueRef state,
                       LLVMValueRef copy)
{
    LLVMValueRef fn = flush_function(cg, d), args[2] = {state, copy};
    LLVMBuildCall2(cg->alu.b, LLVMGlobalGetValueType(fn), fn, args, 2, "");
}

/* Adds what was collected, if `now` (i1); for the rest of the call, too, if `ends`. */
static void flush_if(struct codegen *cg, LLVMValueRef now, bool ends)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMBasicBlockRef add = new_bb(cg, "add_sums"), done = new_bb(cg, "sums_added");
    branch_likely(cg, LLVMBuildNot(b, now, ""), done, add);
    LLVMPositionBuilderAtEnd(b, add);
    if (cg->deferred->floats)
        float_sums_flush(cg, false);
    else
        call_flush(cg, cg->deferred, cg->deferred->state, cg->deferred->copy);
    if (ends)
        deferred_store(cg, cg->deferred->state, STATE_TRIES, c32(cg, 0));
    LLVMBuildBr(b, done);
    LLVMPositionBuilderAtEnd(b, done);
}

void deferred_close(struct codegen *cg)
{
    if (cg->deferred == NULL)
        return;
    LLVMValueRef size = deferred_load(cg, cg->deferred->state, STATE_SIZE);
    flush_if(cg, LLVMBuildICmp(cg->alu.b, LLVMIntNE, size, c64(cg, 0), ""), false);
}

static LLVMValueRef bound(struct codegen *cg, const char *name, LLVMValueRef a, LLVMValueRef x)
{
    LLVMValueRef args[2] = {a, x};
    return intrinsic(cg, name, &cg->i64, 1, args, 2);
}

/* Touches the lanes' elements, which faults where they cannot be written; the pages of the lowest
 * and of the highest, whose end it is: *low and *high. */
static void touch_lanes(struct codegen *cg, LLVMValueRef fn, LLVMValueRef *low, LLVMValueRef *high)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef lanes = LLVMGetParam(fn, 2), addresses = LLVMGetParam(fn, 3);
    LLVMValueRef least = LLVMBuildAlloca(b, cg->i64, ""), most = LLVMBuildAlloca(b, cg->i64, "");
    LLVMBuildStore(b, c64(cg, UINT64_MAX), least);
    LLVMBuildStore(b, c64(cg, 0), most);
    struct lane_loop l =
        lane_loop_open(cg, lanes, append_bb(cg, fn, "lane"), append_bb(cg, fn, "touched"));
    LLVMValueRef at =
        LLVMBuildLoad2(b, cg->i64, atomic_element(cg, addresses, cg->i64, l.lane), "");
    /* LLVM must not know the zero: it makes no access of an operation that changes nothing. */
    LLVMBuildAtomicRMW(b, LLVMAtomicRMWBinOpOr, LLVMBuildIntToPtr(b, at, cg->ptr, ""),
                       opaque(cg, c32(cg, 0)), LLVMAtomicOrderingSequentiallyConsistent, false);
    LLVMValueRef seen = LLVMBuildLoad2(b, cg->i64, least, "");
    LLVMBuildStore(b, bound(cg, "llvm.umin", seen, at), least);
    seen = LLVMBuildLoad2(b, cg->i64, most, "");
    LLVMBuildStore(b, bound(cg, "llvm.umax", seen, at), most);
    lane_loop_close(cg, &l);
    LLVMValueRef lowest = LLVMBuildLoad2(b, cg->i64, least, ""),
                 highest = LLVMBuildLoad2(b, cg->i64, most, "");
    LLVMValueRef page = c64(cg, ~(uint64_t)(WEIR_PAGE - 1));
    *low = LLVMBuildAnd(b, lowest, page, "");
    *high = LLVMBuildAdd(b, LLVMBuildAnd(b, highest, page, ""), c64(cg, WEIR_PAGE), "");
}

/* Clears the first `size` bytes of the copies, as far as that has not been done. */
static void clear_copies(struct codegen *cg, LLVMValueRef fn, LLVMValueRef state, LLVMValueRef copy,
                         LLVMValueRef size)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef cleared = deferred_load(cg, state, STATE_CLEARED);
    LLVMBasicBlockRef clear = append_bb(cg, fn, "clear"), done = append_bb(cg, fn, "cleared");
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntULT, cleared, size, ""), clear, done);
    LLVMPositionBuilderAtEnd(b, clear);
    struct offset_loop lines = offset_loop_open(cg, fn, "clear_line", cleared);
    LLVMValueRef zero = LLVMConstNull(LLVMVectorType(cg->i64, LINE / 8));
    for (uint64_t n = 0; n < COPIES; n++)
        LLVMSetAlignment(LLVMBuildStore(b, zero, copy_at(cg, copy, c64(cg, n), lines.at)), LINE);
    offset_loop_close(cg, fn, &lines, LINE, size);
    deferred_store(cg, state, STATE_CLEARED, size);
    LLVMBuildBr(b, done);
    LLVMPositionBuilderAtEnd(b, done);
}

/* void (ptr state, ptr copy, i32 lanes, ptr addresses): makes the pages of the lanes' elements part
 * of the copy, if they are no more than two. Where one is beyond what there is a copy of, that is
 * added to memory first. */
static void admit_body(struct codegen *cg, LLVMValueRef fn, const void *arg)
{
    const struct deferred_sums *d = arg;
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef state = LLVMGetParam(fn, 0), copy = LLVMGetParam(fn, 1), low, high;
    touch_lanes(cg, fn, &low, &high);
    LLVMBasicBlockRef fits = append_bb(cg, fn, "fits"), out = append_bb(cg, fn, "done");
    LLVMValueRef start = deferred_load(cg, state, STATE_START),
                 size = deferred_load(cg, state, STATE_SIZE), most = c64(cg, COPY_BYTES);
    LLVMValueRef small = LLVMBuildICmp(b, LLVMIntULE, LLVMBuildSub(b, high, low, ""), most, "");
    LLVMBuildCondBr(b, small, fits, out);

    LLVMPositionBuilderAtEnd(b, fits);
    LLVMBasicBlockRef extend = append_bb(cg, fn, "extend"), move = append_bb(cg, fn, "move");
    LLVMValueRef end = bound(cg, "llvm.umax", LLVMBuildAdd(b, start, size, ""), high);
    LLVMValueRef longer = LLVMBuildSub(b, end, start, "");
    LLVMValueRef within = LLVMBuildAnd(b, LLVMBuildICmp(b, LLVMIntUGE, low, start, ""),
                                       LLVMBuildICmp(b, LLVMIntULE, longer, most, ""), "");
    within = LLVMBuildAnd(b, within, LLVMBuildICmp(b, LLVMIntNE, size, c64(cg, 0), ""), "");
    LLVMBuildCondBr(b, within, extend, move);
    LLVMPositionBuilderAtEnd(b, extend);
    clear_copies(cg, fn, state, copy, longer);
    deferred_store(cg, state, STATE_SIZE, longer);
    LLVMBuildBr(b, out);
    LLVMPositionBuilderAtEnd(b, move);
    call_flush(cg, d, state, copy);
    LLVMValueRef pages = LLVMBuildSub(b, high, low, "");
    clear_copies(cg, fn, state, copy, pages);
    deferred_store(cg, state, STATE_START, low);
    deferred_store(cg, state, STATE_SIZE, pages);
    LLVMBuildBr(b, out);
    LLVMPositionBuilderAtEnd(b, out);
}

/* ---- sums ---- */

static struct sum_places places_of(struct codegen *cg, const struct ptx_instr *i,
                                   const struct ptx_operand *at, LLVMValueRef addr, unsigned bytes)
{
    struct sum_places p = {.addr = addr};
    struct access a = {.i = i, .at = at, .space = PTX_SPACE_GLOBAL, .bytes = bytes, .vec = 1};
    if (!find_lane_index(cg, &a, &p.index) || p.index.scale != bytes)
        p.index = (struct lane_addresses){0};
    return p;
}

/* Bits of the lanes whose elements have a copy, from their 32-bit indices; *offsets: <32 x i16>. */
static LLVMValueRef copied_indices(struct codegen *cg, const struct lane_addresses *w,
                                   LLVMValueRef start, LLVMValueRef size, LLVMValueRef *offsets)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMTypeRef small = LLVMVectorType(cg->i16, JIT_WARP);
    LLVMValueRef shift = c64(cg, (uint64_t)__builtin_ctz(w->scale));
    /* the first index and the one after the last, as far as there are such indices */
    LLVMValueRef first = LLVMBuildAShr(b, LLVMBuildSub(b, start, w->base, ""), shift, ""),
                 end = LLVMBuildAdd(b, first, LLVMBuildLShr(b, size, shift, ""), "");
    LLVMValueRef least = c64(cg, w->is_signed ? (uint64_t)INT32_MIN : 0),
                 most = c64(cg, w->is_signed ? (uint64_t)1 << 31 : (uint64_t)1 << 32);
    LLVMValueRef from = bound(cg, "llvm.smax", first, least);
    LLVMValueRef count = LLVMBuildSub(b, bound(cg, "llvm.smin", end, most), from, "");
    count = bound(cg, "llvm.smax", count, c64(cg, 0));
    from = splat(cg, LLVMBuildTrunc(b, from, cg->i32, ""), JIT_WARP);
    count = splat(cg, LLVMBuildTrunc(b, count, cg->i32, ""), JIT_WARP);
    LLVMValueRef n = LLVMBuildSub(b, w->index, from, "");
    LLVMValueRef inside = bits_of(cg, LLVMBuildICmp(b, LLVMIntULT, n, count, ""));
    first = splat(cg, LLVMBuildTrunc(b, first, cg->i32, ""), JIT_WARP);
    n = LLVMBuildTrunc(b, LLVMBuildSub(b, w->index, first, ""), small, "");
    LLVMValueRef scale = LLVMConstInt(cg->i16, w->scale, false);
    *offsets = LLVMBuildMul(b, n, splat(cg, scale, JIT_WARP), "");
    return inside;
}

LLVMValueRef deferred_lanes(struct codegen *cg, const struct sum_places *p, LLVMValueRef *offsets)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef state = cg->deferred->state;
    LLVMValueRef start = deferred_load(cg, state, STATE_START),
                 size = deferred_load(cg, state, STATE_SIZE);
    if (p->index.index != NULL)
        return copied_indices(cg, &p->index, start, size, offsets);
    LLVMValueRef at = LLVMBuildSub(b, p->addr, splat(cg, start, JIT_WARP), "");
    *offsets = LLVMBuildTrunc(b, at, LLVMVectorType(cg->i16, JIT_WARP), "");
    return bits_of(cg, LLVMBuildICmp(b, LLVMIntULT, at, splat(cg, size, JIT_WARP), ""));
}

/* i1: do all active lanes' elements have a copy? Makes one where there is none and may be. */
static LLVMValueRef admit_lanes(struct codegen *cg, const struct sum_places *p)
{
    LLVMBuilderRef b = cg->alu.b;
    const struct deferred_sums *d = cg->deferred;
    LLVMValueRef idle = LLVMBuildNot(b, mask_bits(cg), ""), every = c32(cg, 0xffffffff), offsets;
    LLVMValueRef inside = deferred_lanes(cg, p, &offsets);
    LLVMValueRef ok = LLVMBuildICmp(b, LLVMIntEQ, LLVMBuildOr(b, inside, idle, ""), every, "");
    LLVMBasicBlockRef before = LLVMGetInsertBlock(b), may = new_bb(cg, "may_admit"),
                      counts = new_bb(cg, "counts"), admit = new_bb(cg, "admit"),
                      done = new_bb(cg, "admitted");
    branch_likely(cg, ok, done, may);
    LLVMPositionBuilderAtEnd(b, may);
    LLVMValueRef tries = deferred_load(cg, d->state, STATE_TRIES);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntNE, tries, c32(cg, 0), ""), counts, done);
    LLVMPositionBuilderAtEnd(b, counts);
    deferred_store(cg, d->state, STATE_TRIES, LLVMBuildSub(b, tries, c32(cg, 1), ""));
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntULE, tries, c32(cg, MOST_TRIES), ""), admit, done);
    LLVMPositionBuilderAtEnd(b, admit);
    LLVMTypeRef params[4] = {cg->ptr, cg->ptr, cg->i32, cg->ptr};
    flush_function(cg, d);
    LLVMValueRef fn = module_function(cg, d->bytes == 4 ? "weir_admit_sums_4" : "weir_admit_sums_8",
                                      params, 4, admit_body, d);
    LLVMValueRef args[4] = {d->state, d->copy, mask_bits(cg), atomic_array(cg, p->addr)};
    LLVMBuildCall2(b, LLVMGlobalGetValueType(fn), fn, args, 4, "");
    inside = deferred_lanes(cg, p, &offsets);
    LLVMValueRef now = LLVMBuildICmp(b, LLVMIntEQ, LLVMBuildOr(b, inside, idle, ""), every, "");
    LLVMBuildBr(b, done);
    LLVMPositionBuilderAtEnd(b, done);
    LLVMValueRef r = LLVMBuildPhi(b, cg->i1, ""), no = LLVMConstInt(cg->i1, 0, false);
    LLVMAddIncoming(r, (LLVMValueRef[]){LLVMConstInt(cg->i1, 1, false), no, no, now},
                    (LLVMBasicBlockRef[]){before, may, counts, admit}, 4);
    return r;
}

static void add_to_copy(struct codegen *cg, const struct deferred_sums *d, LLVMValueRef p,
                        LLVMValueRef x)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef old = LLVMBuildLoad2(b, element(cg, d), p, "");
    LLVMSetAlignment(old, d->bytes);
    LLVMSetAlignment(LLVMBuildStore(b, LLVMBuildAdd(b, old, x, ""), p), d->bytes);
}

/* void (ptr state, ptr copy, i32 lanes, ptr addresses, ptr operands) */
static void collect_body(struct codegen *cg, LLVMValueRef fn, const void *arg)
{
    const struct deferred_sums *d = arg;
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef start = deferred_load(cg, LLVMGetParam(fn, 0), STATE_START);
    struct lane_loop l = lane_loop_open(cg, LLVMGetParam(fn, 2), append_bb(cg, fn, "lane"),
                                        append_bb(cg, fn, "collected"));
    LLVMValueRef at =
        LLVMBuildLoad2(b, cg->i64, atomic_element(cg, LLVMGetParam(fn, 3), cg->i64, l.lane), "");
    LLVMTypeRef t = element(cg, d);
    LLVMValueRef x = LLVMBuildLoad2(b, t, atomic_element(cg, LLVMGetParam(fn, 4), t, l.lane), "");
    LLVMValueRef n = LLVMBuildAnd(b, l.lane, c32(cg, COPIES - 1), "");
    n = LLVMBuildZExt(b, n, cg->i64, "");
    add_to_copy(cg, d, copy_at(cg, LLVMGetParam(fn, 1), n, LLVMBuildSub(b, at, start, "")), x);
    lane_loop_close(cg, &l);
}

/* Lane after lane, of all lanes. Where they have one address, it is one addition. */
static void add_lanes(struct codegen *cg, const struct atomic *a,
                      const struct ptx_operand *at_operand, LLVMValueRef v,
                      const struct sum_places *p)
{
    LLVMBuilderRef b = cg->alu.b;
    const struct deferred_sums *d = cg->deferred;
    struct uniformity s = operand_uniformity(cg->k, at_operand + 1),
                      where = address_uniformity(cg->k, at_operand);
    LLVMTypeRef t = LLVMTypeOf(v);
    LLVMValueRef at, out[JIT_WARP], x[JIT_WARP];
    deferred_lanes(cg, p, &at);
    if (is_uniform(&where)) {
        LLVMValueRef one = LLVMBuildExtractElement(b, at, c32(cg, 0), ""), sum;
        if (is_uniform(&s)) {
            LLVMValueRef first = LLVMBuildExtractElement(b, v, c32(cg, 0), "");
            sum = atomic_of_same(cg, a, first, mask_bits(cg));
        } else {
            if (cg->mask != NULL)
                v = LLVMBuildSelect(b, mask_vector(cg), v, LLVMConstNull(t), "");
            sum = intrinsic(cg, "llvm.vector.reduce.add", &t, 1, &v, 1);
        }
        add_to_copy(cg, d, byte_offset(cg, d->copy, LLVMBuildZExt(b, one, cg->i64, "")), sum);
        return;
    }
    if (cg->mask != NULL) { /* rarer, and not to make the code longer */
        LLVMTypeRef params[5] = {cg->ptr, cg->ptr, cg->i32, cg->ptr, cg->ptr};
        LLVMValueRef fn =
            module_function(cg, d->bytes == 4 ? "weir_collect_sums_4" : "weir_collect_sums_8",
                            params, 5, collect_body, d);
        LLVMValueRef args[5] = {d->state, d->copy, cg->mask, atomic_array(cg, p->addr),
                                atomic_array(cg, v)};
        LLVMBuildCall2(b, LLVMGlobalGetValueType(fn), fn, args, 5, "");
        return;
    }
    atomic_extract(cg, at, true, out);
    if (!is_uniform(&s) && d->bytes < 8)
        atomic_extract(cg, v, false, x);
    for (uint64_t l = 0; l < JIT_WARP; l++) {
        if (is_uniform(&s))
            x[l] = l > 0 ? x[0] : LLVMBuildExtractElement(b, v, c32(cg, 0), "");
        else if (d->bytes == 8)
            x[l] = LLVMBuildExtractElement(b, v, c32(cg, l), "");
        add_to_copy(cg, d, copy_at(cg, d->copy, c64(cg, l % COPIES), out[l]), x[l]);
    }
}

bool deferred_may(const struct codegen *cg, const struct ptx_instr *i)
{
    const struct deferred_sums *d = cg->deferred;
    return d != NULL && deferrable(cg->k, i, d->floats) && d->bytes == element_bytes(i);
}

bool deferred_add(struct codegen *cg, const struct ptx_instr *i, struct atomic *a,
                  const struct ptx_operand *at, LLVMValueRef v, LLVMValueRef addr)
{
    LLVMBuilderRef b = cg->alu.b;
    if (!deferred_may(cg, i))
        return false;
    struct sum_places p = places_of(cg, i, at, addr, a->bytes);
    if (cg->deferred->floats) {
        LLVMBasicBlockRef kept = new_bb(cg, "collected");
        float_sums_collect(cg, &p, &v, 1, kept);
        atomic_grouped(cg, a, at, v, addr, NULL);
        LLVMBuildBr(b, kept);
        LLVMPositionBuilderAtEnd(b, kept);
        return true;
    }
    mask_vector(cg); /* computed here, so that both branches may use it */
    LLVMBasicBlockRef collect = new_bb(cg, "collect"), far = new_bb(cg, "not_collected"),
                      done = new_bb(cg, "collected");
    branch_likely(cg, admit_lanes(cg, &p), collect, far);
    LLVMPositionBuilderAtEnd(b, collect);
    add_lanes(cg, a, at, v, &p);
    LLVMBuildBr(b, done);
    LLVMPositionBuilderAtEnd(b, far);
    if (!atomic_combined(cg, a, at, v, addr, NULL))
        atomic_grouped(cg, a, at, v, addr, NULL);
    LLVMBuildBr(b, done);
    LLVMPositionBuilderAtEnd(b, done);
    return true;
}

/* ---- accesses that come after ---- */

/* May it access memory in which sums are deferred, after one of them? */
static bool may_meet(const struct codegen *cg, const struct ptx_instr *i)
{
    const struct deferred_sums *d = cg->deferred;
    unsigned space = mem_space(i);
    if (space != PTX_SPACE_GLOBAL && space != PTX_SPACE_GENERIC)
        return false;
    if (ptx_has(i, PTX_M_nc) || cg->cur == NULL)
        return cg->cur == NULL;
    int32_t b = (int32_t)(cg->cur - cg->k->blocks), n = (int32_t)(i - cg->k->instrs);
    return bit_get(d->after, b) || n < cg->cur->first || d->first[b] < n;
}

void deferred_before(struct codegen *cg, const struct ptx_instr *i, const struct ptx_operand *at,
                     unsigned bytes)
{
    LLVMBuilderRef b = cg->alu.b;
    if (cg->deferred == NULL || !may_meet(cg, i))
        return;
    LLVMValueRef state = cg->deferred->state;
    LLVMValueRef start = deferred_load(cg, state, STATE_START),
                 size = deferred_load(cg, state, STATE_SIZE), met;
    LLVMBasicBlockRef look = new_bb(cg, "may_meet"), none = new_bb(cg, "meets_none");
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntNE, size, c64(cg, 0), ""), look, none);
    LLVMPositionBuilderAtEnd(b, look);
    struct uniformity s = address_uniformity(cg->k, at);
    bool row = s.seg == SEG_WARP && s.brk == 0 && s.stride >= 0 && s.stride <= WEIR_PAGE;
    if (row || cg->serialized->active) {
        uint64_t span = bytes + (row ? (uint64_t)s.stride * (JIT_WARP - 1) : 0) - 1;
        LLVMValueRef first = mem_base(cg, at, SEG_WARP, 0);
        first = LLVMBuildSub(b, first, LLVMBuildSub(b, start, c64(cg, span), ""), "");
        met = LLVMBuildICmp(b, LLVMIntULT, first, LLVMBuildAdd(b, size, c64(cg, span), ""), "");
    } else {
        LLVMValueRef addr = address_vector(cg, at, mem_space(i)), span = c64(cg, bytes - 1);
        addr = LLVMBuildSub(b, addr, splat(cg, LLVMBuildSub(b, start, span, ""), JIT_WARP), "");
        met = LLVMBuildICmp(b, LLVMIntULT, addr,
                            splat(cg, LLVMBuildAdd(b, size, span, ""), JIT_WARP), "");
        met = LLVMBuildICmp(b, LLVMIntNE, bits_of(cg, met), c32(cg, 0), "");
    }
    flush_if(cg, met, true);
    LLVMBuildBr(b, none);
    LLVMPositionBuilderAtEnd(b, none);
}
