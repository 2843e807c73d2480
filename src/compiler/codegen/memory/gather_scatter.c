/* emit_apart: loads and stores whose lanes lie apart, or are not known to be neighbours: gathers,
 * scatters, and the look at run time that saves them. */
#include <string.h>

#include "compiler/codegen/memory/memory.h"

/* ---- base and index ---- */

/* The last instruction of the current block before `before` that writes a register, -1: none. */
static int32_t gather_scatter_written(const struct emit *e, int32_t before, int32_t reg)
{
    for (int32_t n = before - 1; n >= e->cur->first; n--) {
        struct jroles r;
        jit_roles(&e->k->instrs[n], &r);
        for (int d = 0; d < r.ndef; d++)
            if (r.def[d] == reg)
                return n;
    }
    return -1;
}

/* Has the register still the value at instruction `to` that it had at `from`? */
static bool still(const struct emit *e, int32_t from, int32_t to, int32_t reg)
{
    return gather_scatter_written(e, to, reg) < from;
}

static bool constant(const struct ptx_operand *o, uint64_t *v)
{
    *v = o->imm;
    return o->kind == PTX_OPR_IMM;
}

/* Does the instruction at `at` widen a 32-bit index and scale it? The index's operand, and in *read
 * the instruction that reads it. */
static const struct ptx_operand *gather_scatter_scaled(const struct emit *e, int32_t at,
                                                       struct apart *w, int32_t *read)
{
    const struct ptx_instr *i = &e->k->instrs[at];
    uint64_t v = 1;
    unsigned t = i->ntypes > 0 ? i->types[i->ntypes - 1] : PTX_NONE;
    bool mad = i->op == PTX_OP_mad, wide = ptx_has(i, PTX_M_wide);
    *read = at;
    if ((i->op == PTX_OP_mul || mad) && wide && (t == PTX_S32 || t == PTX_U32)) {
        if (!constant(&i->operands[2], &v))
            return NULL;
    } else if (i->op == PTX_OP_shl && t == PTX_B64 && constant(&i->operands[2], &v) && v < 4 &&
               i->operands[1].kind == PTX_OPR_REG) {
        int32_t from = gather_scatter_written(e, at, i->operands[1].reg);
        const struct ptx_instr *c = from < 0 ? NULL : &e->k->instrs[from];
        if (c == NULL || c->op != PTX_OP_cvt || c->ntypes != 2 || ptx_has(c, PTX_M_sat) ||
            ptx_type_bits((enum ptx_type)c->types[0]) != 64)
            return NULL;
        t = c->types[1];
        v = 1ull << v;
        i = c;
        *read = from;
    } else {
        return NULL;
    }
    if ((t != PTX_S32 && t != PTX_U32) || (v != 1 && v != 2 && v != 4 && v != 8))
        return NULL;
    w->scale = (unsigned)v;
    w->is_signed = t == PTX_S32;
    return i->operands[1].kind == PTX_OPR_REG ? &i->operands[1] : NULL;
}

/* Is the address a uniform base plus a widened 32-bit index? Then x86 needs no 64-bit addresses for
 * 32 lanes, which fill many registers. The sum is looked for in the current block only, where it is
 * plain that the operands have not changed since. */
static bool indexed(struct emit *e, const struct access *a, struct apart *w)
{
    const struct jkernel *k = e->k;
    const struct ptx_operand *base = NULL, *index = NULL;
    int32_t here = (int32_t)(a->i - k->instrs);
    if (a->at->reg < 0 || a->space == PTX_SPACE_LOCAL || e->cur == NULL || here < e->cur->first ||
        here >= e->cur->first + e->cur->count)
        return false;
    int32_t sum = gather_scatter_written(e, here, a->at->reg), read = sum;
    if (sum < 0)
        return false;
    const struct ptx_instr *i = &k->instrs[sum];
    if (i->op == PTX_OP_mad) {
        index = gather_scatter_scaled(e, sum, w, &read);
        base = &i->operands[3];
    } else if (i->op == PTX_OP_add && i->ntypes == 1 &&
               ptx_type_bits((enum ptx_type)i->types[0]) == 64 && !ptx_has(i, PTX_M_cc)) {
        for (int n = 1; n < 3 && index == NULL; n++) {
            int32_t from = i->operands[n].kind == PTX_OPR_REG
                               ? gather_scatter_written(e, sum, i->operands[n].reg)
                               : -1;
            index = from < 0 ? NULL : gather_scatter_scaled(e, from, w, &read);
            base = &i->operands[3 - n];
        }
    }
    if (index == NULL || !still(e, read, here, index->reg))
        return false;
    struct shape s = shape_operand(k, base);
    if (!shape_uniform(&s) || (base->kind == PTX_OPR_REG && !still(e, sum, here, base->reg)))
        return false;
    w->base = operand_scalar(e, base, PTX_U64, SEG_WARP, 0);
    if (a->at->offset != 0)
        w->base = LLVMBuildAdd(e->alu.b, w->base, c64(e, (uint64_t)a->at->offset), "");
    w->index = operand_vector(e, index, PTX_U32);
    return true;
}

/* One offset into the windows of all lanes, which lie one behind the other. */
static void gather_scatter_windows(struct emit *e, const struct access *a, struct apart *w)
{
    LLVMBuilderRef b = e->alu.b;
    LLVMValueRef step = LLVMBuildTrunc(b, e->local_stride, e->i32, "");
    w->base = LLVMBuildPtrToInt(b, mem_pointer(e, a, SEG_WARP, 0), e->i64, "");
    w->index =
        LLVMBuildMul(b, splat(e, step, JIT_WARP), lane_constants(e, e->i32, 1, SEG_WARP), "");
    w->scale = 1;
    w->is_signed = true;
}

/* ---- where ---- */

static bool gather_scatter_empty(const struct apart *w)
{
    return w->index == NULL && w->at == NULL;
}

static LLVMValueRef widened(struct emit *e, const struct apart *w, LLVMValueRef index)
{
    LLVMTypeRef t = LLVMTypeOf(index);
    t = LLVMGetTypeKind(t) == LLVMVectorTypeKind ? LLVMVectorType(e->i64, LLVMGetVectorSize(t))
                                                 : e->i64;
    return w->is_signed ? LLVMBuildSExt(e->alu.b, index, t, "")
                        : LLVMBuildZExt(e->alu.b, index, t, "");
}

static void gather_scatter_find(struct emit *e, const struct access *a, struct apart *w)
{
    LLVMBuilderRef b = e->alu.b;
    *w = (struct apart){0};
    if (a->windowed) {
        gather_scatter_windows(e, a, w);
        return;
    }
    if (a->space != PTX_SPACE_SHARED) {
        if (!indexed(e, a, w))
            w->at = address_vector(e, a->at, a->space);
        return;
    }
    struct ptx_operand p = *a->at;
    if (p.reg < 0) {
        w->at = splat(e, coerce(e, mem_base(e, a->at, SEG_WARP, 0), PTX_U32, false), JIT_WARP);
        return;
    }
    p.kind = PTX_OPR_REG;
    w->at = operand_vector(e, &p, PTX_U32);
    if (p.offset)
        w->at = LLVMBuildAdd(b, w->at, splat(e, c32(e, (uint64_t)p.offset), JIT_WARP), "");
}

/* Offsets or addresses, whatever form `w` has. */
static LLVMValueRef gather_scatter_all(struct emit *e, const struct apart *w)
{
    LLVMBuilderRef b = e->alu.b;
    if (w->at != NULL)
        return w->at;
    LLVMValueRef v =
        LLVMBuildMul(b, widened(e, w, w->index), splat(e, c64(e, w->scale), JIT_WARP), "");
    return LLVMBuildAdd(b, v, splat(e, w->base, JIT_WARP), "");
}

/* Pointers to bytes `plus` behind. */
static LLVMValueRef gather_scatter_pointers(struct emit *e, const struct access *a,
                                            const struct apart *w, uint64_t plus)
{
    LLVMBuilderRef b = e->alu.b;
    bool offsets = a->space == PTX_SPACE_SHARED;
    if (w->index != NULL) {
        LLVMValueRef base = plus ? LLVMBuildAdd(b, w->base, c64(e, plus), "") : w->base;
        LLVMValueRef index = widened(e, w, w->index);
        return LLVMBuildGEP2(b, LLVMIntTypeInContext(e->alu.ctx, w->scale * 8),
                             LLVMBuildIntToPtr(b, base, e->ptr, ""), &index, 1, "");
    }
    LLVMValueRef at = w->at;
    unsigned lanes = LLVMGetVectorSize(LLVMTypeOf(at));
    if (plus != 0)
        at = LLVMBuildAdd(b, at, splat(e, offsets ? c32(e, plus) : c64(e, plus), lanes), "");
    if (offsets)
        return LLVMBuildGEP2(b, e->i8, e->shared, &at, 1, "");
    return LLVMBuildIntToPtr(b, at, LLVMVectorType(e->ptr, lanes), "");
}

/* Lanes a known way apart that keeps them aligned alike: the first lane of each segment tells. */
static void check_segments(struct emit *e, const struct access *a)
{
    LLVMBuilderRef b = e->alu.b;
    unsigned due = mem_due(a), seg = a->shape.seg;
    if ((1ull << (a->shape.align & 63)) >= due)
        return;
    LLVMValueRef any = NULL, at[MAX_SEGS], bad[MAX_SEGS];
    for (int s = 0; s < nsegs(seg); s++) {
        at[s] = mem_base(e, a->at, seg, s);
        LLVMValueRef low = LLVMBuildAnd(b, at[s], c64(e, due - 1), "");
        bad[s] = LLVMBuildICmp(b, LLVMIntNE, low, c64(e, 0), "");
        if (seg != SEG_WARP && e->mask != NULL)
            bad[s] = LLVMBuildAnd(b, bad[s], mem_segment_active(e, seg, s), "");
        any = any != NULL ? LLVMBuildOr(b, any, bad[s], "") : bad[s];
    }
    LLVMBasicBlockRef yes = new_bb(e, "misaligned"), no = new_bb(e, "aligned");
    LLVMBuildCondBr(b, any, yes, no);
    LLVMPositionBuilderAtEnd(b, yes);
    LLVMValueRef first = at[nsegs(seg) - 1];
    for (int s = nsegs(seg) - 2; s >= 0; s--)
        first = LLVMBuildSelect(b, bad[s], at[s], first, "");
    if (a->space == PTX_SPACE_SHARED)
        first = LLVMBuildAdd(b, first, LLVMBuildPtrToInt(b, e->shared, e->i64, ""), "");
    emit_fault(e, JIT_FAULT_MISALIGNED, mask_bits(e), first);
    LLVMBuildUnreachable(b);
    LLVMPositionBuilderAtEnd(b, no);
}

/* All active lanes fault if the base they share is `bad`. What is told of it is found out behind
 * the branch: the widened index is part of a gather only in the block where it is made. */
static void fault_base(struct emit *e, const struct apart *w, LLVMValueRef bad)
{
    LLVMBuilderRef b = e->alu.b;
    LLVMBasicBlockRef yes = new_bb(e, "misaligned"), no = new_bb(e, "aligned");
    LLVMBuildCondBr(b, bad, yes, no);
    LLVMPositionBuilderAtEnd(b, yes);
    LLVMValueRef at = widened(e, w, first_active(e, w->index));
    at = LLVMBuildAdd(b, w->base, LLVMBuildMul(b, at, c64(e, w->scale), ""), "");
    emit_fault(e, JIT_FAULT_MISALIGNED, mask_bits(e), at);
    LLVMBuildUnreachable(b);
    LLVMPositionBuilderAtEnd(b, no);
}

/* Lanes apart are aligned each, or together where base and scale say so. */
static void gather_scatter_check(struct emit *e, const struct access *a, const struct apart *w)
{
    LLVMBuilderRef b = e->alu.b;
    unsigned due = mem_due(a);
    if (due == 1 || (a->windowed && (1ull << (a->shape.align & 63)) >= due))
        return;
    if (a->shape.seg != SEG_NONE && a->shape.stride % due == 0) {
        check_segments(e, a);
        return;
    }
    if (w->index != NULL && w->scale % due == 0) {
        LLVMValueRef low = LLVMBuildAnd(b, w->base, c64(e, due - 1), "");
        fault_base(e, w, LLVMBuildICmp(b, LLVMIntNE, low, c64(e, 0), ""));
        return;
    }
    /* first all lanes at once, active or not */
    LLVMValueRef at = gather_scatter_all(e, w);
    LLVMTypeRef v = LLVMTypeOf(at), t = LLVMGetElementType(v);
    LLVMValueRef any = intrinsic(e, "llvm.vector.reduce.or", &v, 1, &at, 1);
    any = LLVMBuildAnd(b, any, LLVMConstInt(t, due - 1, false), "");
    LLVMBasicBlockRef some = new_bb(e, "odd"), none = new_bb(e, "even");
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntEQ, any, LLVMConstNull(t), ""), none, some);
    LLVMPositionBuilderAtEnd(b, some);
    LLVMValueRef low = splat(e, LLVMConstInt(t, due - 1, false), JIT_WARP);
    LLVMValueRef odd =
        LLVMBuildICmp(b, LLVMIntNE, LLVMBuildAnd(b, at, low, ""), LLVMConstNull(v), "");
    fault_odd_lanes(e, LLVMBuildAnd(b, bits_of(e, odd), mask_bits(e), ""), at);
    LLVMBuildBr(b, none);
    LLVMPositionBuilderAtEnd(b, none);
}

/* What an element of a vector lies at a multiple of. */
static unsigned element_due(const struct access *a)
{
    return mem_due(a) < a->bytes ? mem_due(a) : a->bytes;
}

/* ---- gather and scatter ---- */

/* x86 gathers words of 4 and 8 bytes only: smaller elements come out of the aligned word they lie
 * in, which is on the same page. */
static LLVMValueRef gather_small(struct emit *e, const struct access *a, LLVMValueRef at)
{
    LLVMBuilderRef b = e->alu.b;
    LLVMTypeRef pv = LLVMVectorType(e->ptr, JIT_WARP);
    bool offsets = a->space == PTX_SPACE_SHARED;
    LLVMValueRef low = offsets ? c32(e, ~3ull) : c64(e, ~3ull);
    LLVMValueRef word = LLVMBuildAnd(b, at, splat(e, low, JIT_WARP), "");
    LLVMValueRef m = mask_vector(e);
    struct apart words = {.at = word};
    LLVMValueRef args[4] = {gather_scatter_pointers(e, a, &words, 0), c32(e, 4),
                            m ? m : LLVMConstAllOnes(e->v32i1), LLVMConstNull(e->v32i32)};
    LLVMValueRef v = intrinsic(e, "llvm.masked.gather", (LLVMTypeRef[]){e->v32i32, pv}, 2, args, 4);
    tag_memory(e, v, a->space);
    LLVMValueRef sh = offsets ? at : LLVMBuildTrunc(b, at, e->v32i32, "");
    sh = LLVMBuildAnd(b, sh, splat(e, c32(e, 3), JIT_WARP), "");
    sh = LLVMBuildShl(b, sh, splat(e, c32(e, 3), JIT_WARP), "");
    v = LLVMBuildLShr(b, v, sh, "");
    LLVMTypeRef n = LLVMVectorType(LLVMIntTypeInContext(e->alu.ctx, a->bytes * 8), JIT_WARP);
    return LLVMBuildBitCast(b, LLVMBuildTrunc(b, v, n, ""), LLVMVectorType(a->elem, JIT_WARP), "");
}

/* Kernels of more instructions than these are to become code that is small. */
enum { MOST_STRIPPED = 1000 };
enum { STRIP = 8, STRIPS = JIT_WARP / STRIP };

/* Lanes of strip s. */
static LLVMValueRef strip(struct emit *e, LLVMValueRef v, int s)
{
    LLVMValueRef idx[STRIP];
    for (int l = 0; l < STRIP; l++)
        idx[l] = c32(e, (uint64_t)(s * STRIP + l));
    return LLVMBuildShuffleVector(e->alu.b, v, LLVMGetPoison(LLVMTypeOf(v)),
                                  LLVMConstVector(idx, STRIP), "");
}

/* <8 x i1> of those that are active, from their bits, which is shorter than a part of all. */
static LLVMValueRef strip_mask(struct emit *e, int s)
{
    return some_lanes_of(e, e->mask, (unsigned)(s * STRIP), STRIP);
}

static LLVMValueRef gather_scatter_join(struct emit *e, LLVMValueRef *v, unsigned count,
                                        unsigned len)
{
    LLVMValueRef idx[JIT_WARP];
    for (; count > 1; count /= 2, len *= 2)
        for (unsigned k = 0; k < count / 2; k++) {
            for (unsigned l = 0; l < 2 * len; l++)
                idx[l] = c32(e, l);
            v[k] = LLVMBuildShuffleVector(e->alu.b, v[2 * k], v[2 * k + 1],
                                          LLVMConstVector(idx, 2 * len), "");
        }
    return v[0];
}

/* Worth it where lanes are mostly apart: no hint says otherwise. */
static bool gather_scatter_strips(const struct emit *e, const struct access *a)
{
    return e->mask != NULL && !e->alu.has_avx512 && a->shape.seg == SEG_NONE &&
           a->shape.hint_seg == SEG_NONE && e->k->ninstrs < MOST_STRIPPED;
}

/* A gather costs the same for one lane as for all: strips of lanes none of which is active go
 * without. */
static LLVMValueRef gather_strips(struct emit *e, const struct access *a, const struct apart *w,
                                  uint64_t plus)
{
    LLVMBuilderRef b = e->alu.b;
    LLVMValueRef out[STRIPS];
    LLVMTypeRef t = LLVMVectorType(a->elem, STRIP), pv = LLVMVectorType(e->ptr, STRIP);
    for (int s = 0; s < STRIPS; s++) {
        LLVMBasicBlockRef from = LLVMGetInsertBlock(b), some = new_bb(e, "strip"),
                          join = new_bb(e, "stripped");
        LLVMValueRef lanes = LLVMBuildAnd(b, e->mask, c32(e, 0xffull << s * STRIP), "");
        LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntNE, lanes, c32(e, 0), ""), some, join);
        LLVMPositionBuilderAtEnd(b, some);
        struct apart part = *w;
        if (w->index != NULL)
            part.index = strip(e, w->index, s);
        else
            part.at = strip(e, w->at, s);
        LLVMValueRef args[4] = {gather_scatter_pointers(e, a, &part, plus), c32(e, element_due(a)),
                                strip_mask(e, s), LLVMConstNull(t)};
        LLVMValueRef v = intrinsic(e, "llvm.masked.gather", (LLVMTypeRef[]){t, pv}, 2, args, 4);
        tag_memory(e, v, a->space);
        LLVMBuildBr(b, join);
        LLVMPositionBuilderAtEnd(b, join);
        out[s] = LLVMBuildPhi(b, t, "");
        LLVMAddIncoming(out[s], (LLVMValueRef[]){LLVMConstNull(t), v},
                        (LLVMBasicBlockRef[]){from, some}, 2);
    }
    return gather_scatter_join(e, out, STRIPS, STRIP);
}

/* What piece_load and piece_store are told. */
static LLVMValueRef gather_scatter_where(struct emit *e, const struct access *a, struct apart *at)
{
    return piece_stepped(a) ? mem_pointer(e, a, SEG_WARP, 0) : gather_scatter_pointers(e, a, at, 0);
}

void apart_gather(struct emit *e, const struct access *a, struct apart *at, LLVMValueRef *out)
{
    if (gather_scatter_empty(at))
        gather_scatter_find(e, a, at);
    LLVMTypeRef t = LLVMVectorType(a->elem, JIT_WARP), pv = LLVMVectorType(e->ptr, JIT_WARP);
    LLVMValueRef m = mask_vector(e);
    gather_scatter_check(e, a, at);
    if (piece_fits(e, a, true)) {
        piece_load(e, a, gather_scatter_where(e, a, at), out);
        return;
    }
    for (int k = 0; k < a->vec; k++) {
        uint64_t plus = (uint64_t)k * a->bytes;
        if (a->bytes < 4) {
            bool offsets = a->space == PTX_SPACE_SHARED;
            LLVMValueRef by = splat(e, offsets ? c32(e, plus) : c64(e, plus), JIT_WARP);
            out[k] = gather_small(e, a, LLVMBuildAdd(e->alu.b, gather_scatter_all(e, at), by, ""));
            continue;
        }
        if (gather_scatter_strips(e, a)) {
            out[k] = gather_strips(e, a, at, plus);
            continue;
        }
        LLVMValueRef args[4] = {gather_scatter_pointers(e, a, at, plus), c32(e, element_due(a)),
                                m ? m : LLVMConstAllOnes(e->v32i1), LLVMConstNull(t)};
        out[k] = intrinsic(e, "llvm.masked.gather", (LLVMTypeRef[]){t, pv}, 2, args, 4);
        tag_memory(e, out[k], a->space);
    }
}

void apart_scatter(struct emit *e, const struct access *a, struct apart *at, LLVMValueRef *v)
{
    if (gather_scatter_empty(at))
        gather_scatter_find(e, a, at);
    LLVMTypeRef pv = LLVMVectorType(e->ptr, JIT_WARP);
    LLVMValueRef m = mask_vector(e);
    gather_scatter_check(e, a, at);
    if (piece_fits(e, a, false)) {
        piece_store(e, a, gather_scatter_where(e, a, at), v);
        return;
    }
    for (int k = 0; k < a->vec; k++) {
        LLVMValueRef args[4] = {v[k], gather_scatter_pointers(e, a, at, (uint64_t)k * a->bytes),
                                c32(e, element_due(a)), m ? m : LLVMConstAllOnes(e->v32i1)};
        LLVMValueRef st =
            intrinsic(e, "llvm.masked.scatter", (LLVMTypeRef[]){LLVMTypeOf(v[k]), pv}, 2, args, 4);
        tag_memory(e, st, a->space);
    }
}

/* ---- likely neighbours ---- */

/* The segments worth a look at run time whether their lanes are neighbours: as the hint says, else
 * the whole warp (a look costs little beside a gather); SEG_NONE when lanes are known to be apart.
 */
static unsigned likely_segment(const struct access *a)
{
    if (a->space == PTX_SPACE_LOCAL || a->shape.seg != SEG_NONE)
        return SEG_NONE;
    if (a->shape.hint_seg == SEG_NONE)
        return SEG_WARP;
    return a->shape.stride == (int64_t)a->bytes * a->vec ? a->shape.hint_seg : SEG_NONE;
}

/* The same by their indices: each is one more than its left neighbour's, and none wraps. */
static LLVMValueRef counting(struct emit *e, const struct apart *w, unsigned seg,
                             LLVMValueRef *first)
{
    LLVMBuilderRef b = e->alu.b;
    uint64_t top = (w->is_signed ? 0x7fffffffu : 0xffffffffu) - ((1u << seg) - 1);
    LLVMValueRef fits = LLVMConstInt(e->i1, 1, false);
    for (int s = 0; s < nsegs(seg); s++) {
        first[s] = LLVMBuildExtractElement(b, w->index, c32(e, (uint64_t)(s << seg)), "");
        fits = LLVMBuildAnd(
            b, fits,
            LLVMBuildICmp(b, w->is_signed ? LLVMIntSLE : LLVMIntULE, first[s], c32(e, top), ""),
            "");
    }
    LLVMValueRef want = from_segments(e, first, seg, 1);
    LLVMValueRef same = bits_of(e, LLVMBuildICmp(b, LLVMIntEQ, w->index, want, ""));
    if (e->mask != NULL)
        same = LLVMBuildOr(b, same, LLVMBuildNot(b, e->mask, ""), "");
    for (int s = 0; s < nsegs(seg); s++) {
        LLVMValueRef v = LLVMBuildMul(b, widened(e, w, first[s]), c64(e, w->scale), "");
        first[s] = LLVMBuildIntToPtr(b, LLVMBuildAdd(b, w->base, v, ""), e->ptr, "");
    }
    return LLVMBuildAnd(b, fits, LLVMBuildICmp(b, LLVMIntEQ, same, c32(e, 0xffffffff), ""), "");
}

/* i1: are all active lanes of every segment neighbours, counted from the segment's first lane,
 * whose pointer goes to first[]? */
static LLVMValueRef neighbours(struct emit *e, const struct access *a, const struct apart *w,
                               unsigned seg, LLVMValueRef *first)
{
    LLVMBuilderRef b = e->alu.b;
    if (w->index != NULL && w->scale == a->bytes * (unsigned)a->vec)
        return counting(e, w, seg, first);
    LLVMValueRef at = gather_scatter_all(e, w);
    for (int s = 0; s < nsegs(seg); s++)
        first[s] = LLVMBuildExtractElement(b, at, c32(e, (uint64_t)(s << seg)), "");
    LLVMValueRef want = from_segments(e, first, seg, (int64_t)a->bytes * a->vec);
    LLVMValueRef same = bits_of(e, LLVMBuildICmp(b, LLVMIntEQ, at, want, ""));
    if (e->mask != NULL)
        same = LLVMBuildOr(b, same, LLVMBuildNot(b, e->mask, ""), "");
    for (int s = 0; s < nsegs(seg); s++)
        first[s] = a->space == PTX_SPACE_SHARED
                       ? byte_offset(e, e->shared, LLVMBuildSExt(b, first[s], e->i64, ""))
                       : LLVMBuildIntToPtr(b, first[s], e->ptr, "");
    return LLVMBuildICmp(b, LLVMIntEQ, same, c32(e, 0xffffffff), "");
}

/* i1: in each segment of an affine address the active lanes lie on one side of the break, and so
 * are neighbours; first[] are the segments' pointers then. A guard like `t >= 1 ? x[t - 1] : 0` is
 * the usual reason for a break, and rules out the lanes before it. */
static LLVMValueRef one_side(struct emit *e, const struct access *a, LLVMValueRef *first)
{
    LLVMBuilderRef b = e->alu.b;
    struct ptx_operand p = {.kind = PTX_OPR_REG, .reg = a->at->reg};
    LLVMValueRef all = NULL, none = c32(e, 0), back = c64(e, -(uint64_t)a->shape.brk << 32);
    for (int s = 0; s < nsegs(a->shape.seg); s++) {
        uint64_t segment = ((1ull << (1u << a->shape.seg)) - 1) << (s << a->shape.seg);
        LLVMValueRef n = operand_break(e, &p, a->shape.seg, s);
        LLVMValueRef before = LLVMBuildShl(b, c64(e, 1), LLVMBuildZExt(b, n, e->i64, ""), "");
        before = LLVMBuildTrunc(b, LLVMBuildSub(b, before, c64(e, 1), ""), e->i32, "");
        before = LLVMBuildShl(b, before, c32(e, (uint64_t)s << a->shape.seg), "");
        LLVMValueRef active = LLVMBuildAnd(b, mask_bits(e), c32(e, segment), "");
        LLVMValueRef left = LLVMBuildAnd(b, active, before, "");
        LLVMValueRef right = LLVMBuildAnd(b, active, LLVMBuildNot(b, before, ""), "");
        LLVMValueRef no_left = LLVMBuildICmp(b, LLVMIntEQ, left, none, "");
        LLVMValueRef no_right = LLVMBuildICmp(b, LLVMIntEQ, right, none, "");
        LLVMValueRef ok = LLVMBuildOr(b, no_left, no_right, "");
        all = all ? LLVMBuildAnd(b, all, ok, "") : ok;
        LLVMValueRef drop = LLVMBuildSelect(b, no_right, c64(e, 0), back, "");
        first[s] = byte_offset(e, mem_pointer(e, a, a->shape.seg, s), drop);
    }
    return all;
}

bool apart_likely(struct emit *e, const struct access *a, struct likely *l)
{
    mask_vector(e); /* made here, so that both sides may use it */
    if (a->shape.brk != 0 && a->shape.stride == (int64_t)a->bytes * a->vec) {
        l->seg = a->shape.seg;
        l->at = (struct apart){0};
        l->near = one_side(e, a, l->first);
        return true;
    }
    gather_scatter_find(e, a, &l->at);
    l->seg = likely_segment(a);
    if (l->seg == SEG_NONE)
        return false;
    if (a->shape.hint_seg != SEG_NONE) {
        l->near = neighbours(e, a, &l->at, l->seg, l->first);
        return true;
    }
    /* nothing speaks for it: a look at two lanes comes first */
    LLVMBuilderRef b = e->alu.b;
    LLVMValueRef v = l->at.index ? l->at.index : l->at.at;
    LLVMValueRef step = LLVMConstInt(LLVMGetElementType(LLVMTypeOf(v)),
                                     mem_natural(a) / (l->at.index ? l->at.scale : 1), false);
    LLVMValueRef next = LLVMBuildAdd(b, LLVMBuildExtractElement(b, v, c32(e, 0), ""), step, "");
    LLVMValueRef near =
        LLVMBuildICmp(b, LLVMIntEQ, LLVMBuildExtractElement(b, v, c32(e, 1), ""), next, "");
    LLVMBasicBlockRef from = LLVMGetInsertBlock(b), look = new_bb(e, "look"),
                      join = new_bb(e, "looked");
    for (int s = 0; s < nsegs(l->seg); s++)
        l->first[s] = LLVMGetPoison(e->ptr);
    LLVMBuildCondBr(b, near, look, join);
    LLVMPositionBuilderAtEnd(b, look);
    LLVMValueRef first[MAX_SEGS], all = neighbours(e, a, &l->at, l->seg, first);
    look = LLVMGetInsertBlock(b);
    LLVMBuildBr(b, join);
    LLVMPositionBuilderAtEnd(b, join);
    LLVMBasicBlockRef in[2] = {from, look};
    l->near = LLVMBuildPhi(b, e->i1, "");
    LLVMAddIncoming(l->near, (LLVMValueRef[]){LLVMConstInt(e->i1, 0, false), all}, in, 2);
    for (int s = 0; s < nsegs(l->seg); s++) {
        LLVMValueRef none = l->first[s];
        l->first[s] = LLVMBuildPhi(b, e->ptr, "");
        LLVMAddIncoming(l->first[s], (LLVMValueRef[]){none, first[s]}, in, 2);
    }
    return true;
}
