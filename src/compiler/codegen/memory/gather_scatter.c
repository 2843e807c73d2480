/* gather_scatter.c: accesses whose lanes are not known to be neighbours: gathers, scatters, and the
 * run-time test that avoids them. */
#include <llvm-c/DebugInfo.h>

#include <stdio.h>
#include <string.h>

#include "compiler/codegen/instructions.h"
#include "compiler/codegen/memory/access.h"
#include "compiler/codegen/memory/memory.h"
#include "compiler/codegen/module_function.h"
#include "compiler/codegen/values.h"

/* ---- base and index ---- */

/* Does the register have the same value at instruction `to` as at `from`? */
static bool unchanged(const struct codegen *cg, int32_t from, int32_t to, int32_t reg)
{
    return last_write(cg->k, cg->cur, to, reg) < from;
}

static bool constant(const struct ptx_operand *o, uint64_t *v)
{
    *v = o->imm;
    return o->kind == PTX_OPR_IMM;
}

/* Is it a conversion to 64 bits, which may be of a 32-bit index? */
static bool is_widening(const struct ptx_instr *i)
{
    return i->op == PTX_OP_cvt && i->ntypes == 2 && !ptx_has(i, PTX_M_sat) &&
           ptx_type_bits((enum ptx_type)i->types[0]) == 64;
}

/* Does the instruction at `at` widen a 32-bit index and scale it? The index's operand, and in *read
 * the instruction that reads it. */
static const struct ptx_operand *scaled_index(const struct codegen *cg, int32_t at,
                                              struct lane_addresses *w, int32_t *read)
{
    const struct ptx_instr *i = &cg->k->instrs[at];
    uint64_t v = 1;
    unsigned t = i->ntypes > 0 ? i->types[i->ntypes - 1] : PTX_NONE;
    bool mad = i->op == PTX_OP_mad, wide = ptx_has(i, PTX_M_wide);
    *read = at;
    if ((i->op == PTX_OP_mul || mad) && wide && (t == PTX_S32 || t == PTX_U32)) {
        if (!constant(&i->operands[2], &v))
            return NULL;
    } else if (i->op == PTX_OP_shl && t == PTX_B64 && constant(&i->operands[2], &v) && v < 4 &&
               i->operands[1].kind == PTX_OPR_REG) {
        int32_t from = last_write(cg->k, cg->cur, at, i->operands[1].reg);
        const struct ptx_instr *c = from < 0 ? NULL : &cg->k->instrs[from];
        if (c == NULL || !is_widening(c))
            return NULL;
        t = c->types[1];
        v = 1ull << v;
        i = c;
        *read = from;
    } else if (!is_widening(i)) { /* of bytes, that is all */
        return NULL;
    }
    if ((t != PTX_S32 && t != PTX_U32) || (v != 1 && v != 2 && v != 4 && v != 8))
        return NULL;
    w->scale = (unsigned)v;
    w->is_signed = t == PTX_S32;
    return i->operands[1].kind == PTX_OPR_REG ? &i->operands[1] : NULL;
}

/* Has the operand of the instruction at `from` one value in all lanes, and still that at `to`? */
static bool is_base(const struct codegen *cg, int32_t from, int32_t to, const struct ptx_operand *o)
{
    struct uniformity s = operand_uniformity(cg->k, o);
    return is_uniform(&s) && (o->kind != PTX_OPR_REG || unchanged(cg, from, to, o->reg));
}

/* An address that is a sum: its operands, of which `added` may be NULL, and the instructions that
 * read them. */
struct address_sum {
    const struct ptx_operand *base, *index, *added;
    int32_t sum, read;
};

/* Is the address a base plus a widened 32-bit index? The sum is searched for in the current block
 * only, where it is plain that the operands have not changed since. It may be of three: what is
 * added to a product that mad has added to another. */
static bool find_sum(const struct codegen *cg, const struct access *a, struct lane_addresses *w,
                     struct address_sum *s)
{
    const struct jkernel *k = cg->k;
    int32_t here = (int32_t)(a->i - k->instrs);
    *s = (struct address_sum){0};
    if (a->at->reg < 0 || a->space == PTX_SPACE_LOCAL || cg->cur == NULL || here < cg->cur->first ||
        here >= cg->cur->first + cg->cur->count)
        return false;
    s->read = s->sum = last_write(k, cg->cur, here, a->at->reg);
    if (s->sum < 0)
        return false;
    const struct ptx_instr *i = &k->instrs[s->sum];
    if (i->op == PTX_OP_mad) {
        s->index = scaled_index(cg, s->sum, w, &s->read);
        s->base = &i->operands[3];
    } else if (i->op == PTX_OP_add && i->ntypes == 1 &&
               ptx_type_bits((enum ptx_type)i->types[0]) == 64 && !ptx_has(i, PTX_M_cc)) {
        for (int n = 1; n < 3 && s->index == NULL; n++) {
            int32_t from = i->operands[n].kind == PTX_OPR_REG
                               ? last_write(k, cg->cur, s->sum, i->operands[n].reg)
                               : -1;
            s->index = from < 0 ? NULL : scaled_index(cg, from, w, &s->read);
            s->base = &i->operands[3 - n];
            s->added = s->index != NULL && k->instrs[from].op == PTX_OP_mad
                           ? &k->instrs[from].operands[3]
                           : NULL;
        }
    }
    return s->index != NULL && unchanged(cg, s->read, here, s->index->reg);
}

/* With a uniform base x86 needs no 64-bit addresses for 32 lanes, which fill many registers. */
bool find_lane_index(struct codegen *cg, const struct access *a, struct lane_addresses *w)
{
    struct address_sum s;
    int32_t here = (int32_t)(a->i - cg->k->instrs);
    if (!find_sum(cg, a, w, &s) || !is_base(cg, s.sum, here, s.base) ||
        (s.added != NULL && !is_base(cg, s.read, here, s.added)))
        return false;
    w->base = operand_scalar(cg, s.base, PTX_U64, SEG_WARP, 0);
    if (s.added != NULL)
        w->base =
            LLVMBuildAdd(cg->alu.b, w->base, operand_scalar(cg, s.added, PTX_U64, SEG_WARP, 0), "");
    if (a->at->offset != 0)
        w->base = LLVMBuildAdd(cg->alu.b, w->base, c64(cg, (uint64_t)a->at->offset), "");
    w->index = operand_vector(cg, s.index, PTX_U32);
    w->of = s.index;
    w->read = s.read;
    return true;
}

LLVMValueRef find_likely_base(struct codegen *cg, const struct access *a, struct lane_addresses *w)
{
    LLVMBuilderRef b = cg->alu.b;
    struct address_sum s;
    int32_t here = (int32_t)(a->i - cg->k->instrs);
    if (!find_sum(cg, a, w, &s) || s.added != NULL || s.base->kind != PTX_OPR_REG ||
        !unchanged(cg, s.sum, here, s.base->reg))
        return NULL;
    struct uniformity u = operand_uniformity(cg->k, s.base);
    if (u.seg != SEG_NONE || u.hint_seg != SEG_WARP || u.stride != 0)
        return NULL;
    LLVMValueRef bases = operand_vector(cg, s.base, PTX_U64);
    w->base = LLVMBuildExtractElement(b, bases, c32(cg, 0), "");
    LLVMValueRef same =
        bits_of(cg, LLVMBuildICmp(b, LLVMIntEQ, bases, splat(cg, w->base, JIT_WARP), ""));
    LLVMValueRef others = LLVMBuildAnd(b, LLVMBuildNot(b, same, ""), mask_bits(cg), "");
    if (a->at->offset != 0)
        w->base = LLVMBuildAdd(b, w->base, c64(cg, (uint64_t)a->at->offset), "");
    w->index = operand_vector(cg, s.index, PTX_U32);
    return LLVMBuildICmp(b, LLVMIntEQ, others, c32(cg, 0), "");
}

/* One offset into the windows of all lanes, which follow each other. */
static void window_addresses(struct codegen *cg, const struct access *a, struct lane_addresses *w)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef step = LLVMBuildTrunc(b, cg->block.local_stride, cg->i32, "");
    w->base = LLVMBuildPtrToInt(b, mem_pointer(cg, a, SEG_WARP, 0), cg->i64, "");
    w->index =
        LLVMBuildMul(b, splat(cg, step, JIT_WARP), lane_constants(cg, cg->i32, 1, SEG_WARP), "");
    w->scale = 1;
    w->is_signed = true;
}

/* ---- where ---- */

static bool is_empty(const struct lane_addresses *w) { return w->index == NULL && w->at == NULL; }

LLVMValueRef mem_widened(struct codegen *cg, const struct lane_addresses *w, LLVMValueRef index)
{
    LLVMTypeRef t = LLVMTypeOf(index);
    t = LLVMGetTypeKind(t) == LLVMVectorTypeKind ? LLVMVectorType(cg->i64, LLVMGetVectorSize(t))
                                                 : cg->i64;
    return w->is_signed ? LLVMBuildSExt(cg->alu.b, index, t, "")
                        : LLVMBuildZExt(cg->alu.b, index, t, "");
}

static void find_addresses(struct codegen *cg, const struct access *a, struct lane_addresses *w)
{
    LLVMBuilderRef b = cg->alu.b;
    *w = (struct lane_addresses){0};
    if (a->windowed) {
        window_addresses(cg, a, w);
        return;
    }
    if (a->space != PTX_SPACE_SHARED) {
        if (!find_lane_index(cg, a, w))
            w->at = address_vector(cg, a->at, a->space);
        return;
    }
    struct ptx_operand p = *a->at;
    if (p.reg < 0) {
        w->at = splat(cg, coerce(cg, mem_base(cg, a->at, SEG_WARP, 0), PTX_U32, false), JIT_WARP);
        return;
    }
    p.kind = PTX_OPR_REG;
    w->at = operand_vector(cg, &p, PTX_U32);
    if (p.offset)
        w->at = LLVMBuildAdd(b, w->at, splat(cg, c32(cg, (uint64_t)p.offset), JIT_WARP), "");
}

LLVMValueRef mem_all_addresses(struct codegen *cg, const struct lane_addresses *w)
{
    LLVMBuilderRef b = cg->alu.b;
    if (w->at != NULL)
        return w->at;
    LLVMValueRef v =
        LLVMBuildMul(b, mem_widened(cg, w, w->index), splat(cg, c64(cg, w->scale), JIT_WARP), "");
    return LLVMBuildAdd(b, v, splat(cg, w->base, JIT_WARP), "");
}

/* Pointers to the bytes `plus` further. */
static LLVMValueRef lane_pointers(struct codegen *cg, const struct access *a,
                                  const struct lane_addresses *w, uint64_t plus)
{
    LLVMBuilderRef b = cg->alu.b;
    bool offsets = a->space == PTX_SPACE_SHARED;
    if (w->index != NULL) {
        LLVMValueRef base = plus ? LLVMBuildAdd(b, w->base, c64(cg, plus), "") : w->base;
        LLVMValueRef index = mem_widened(cg, w, w->index);
        return LLVMBuildGEP2(b, LLVMIntTypeInContext(cg->alu.ctx, w->scale * 8),
                             LLVMBuildIntToPtr(b, base, cg->ptr, ""), &index, 1, "");
    }
    LLVMValueRef at = w->at;
    unsigned lanes = LLVMGetVectorSize(LLVMTypeOf(at));
    if (plus != 0)
        at = LLVMBuildAdd(b, at, splat(cg, offsets ? c32(cg, plus) : c64(cg, plus), lanes), "");
    if (offsets)
        return LLVMBuildGEP2(b, cg->i8, cg->block.shared, &at, 1, "");
    return LLVMBuildIntToPtr(b, at, LLVMVectorType(cg->ptr, lanes), "");
}

/* The function (due - 1, address, ...) that returns the first of n addresses which has one of those
 * bits. A function, since it stands beside thousands of accesses in unrolled kernels. */
static LLVMValueRef first_misaligned_function(struct codegen *cg, unsigned n)
{
    static const char *const flags[] = {"noinline", "nounwind", "cold"};
    LLVMBuilderRef b = cg->alu.b;
    LLVMTypeRef params[MAX_SEGS + 1];
    char name[40];
    snprintf(name, sizeof name, "weir_first_misaligned_%u", n);
    LLVMValueRef fn = LLVMGetNamedFunction(cg->alu.module, name);
    if (fn != NULL)
        return fn;
    for (unsigned k = 0; k <= n; k++)
        params[k] = cg->i64;
    fn = LLVMAddFunction(cg->alu.module, name, LLVMFunctionType(cg->i64, params, n + 1, false));
    LLVMSetLinkage(fn, LLVMInternalLinkage);
    for (size_t k = 0; k < WEIR_COUNT(flags); k++)
        LLVMAddAttributeAtIndex(
            fn, LLVMAttributeFunctionIndex,
            LLVMCreateEnumAttribute(
                cg->alu.ctx, LLVMGetEnumAttributeKindForName(flags[k], strlen(flags[k])), 0));
    LLVMBasicBlockRef back = LLVMGetInsertBlock(b);
    LLVMMetadataRef line = LLVMGetCurrentDebugLocation2(b);
    LLVMSetCurrentDebugLocation2(b, NULL);
    LLVMPositionBuilderAtEnd(b, append_bb(cg, fn, "entry"));
    LLVMValueRef first = LLVMGetParam(fn, n);
    for (unsigned k = n - 1; k >= 1; k--) {
        LLVMValueRef low = LLVMBuildAnd(b, LLVMGetParam(fn, k), LLVMGetParam(fn, 0), "");
        LLVMValueRef bad = LLVMBuildICmp(b, LLVMIntNE, low, c64(cg, 0), "");
        first = LLVMBuildSelect(b, bad, LLVMGetParam(fn, k), first, "");
    }
    LLVMBuildRet(b, first);
    LLVMPositionBuilderAtEnd(b, back);
    LLVMSetCurrentDebugLocation2(b, line);
    return fn;
}

/* Checks lanes whose stride keeps them aligned alike, by the first lane of each segment; for
 * segments without active lanes, an aligned address stands. */
static void check_segment_alignment(struct codegen *cg, const struct access *a)
{
    LLVMBuilderRef b = cg->alu.b;
    unsigned due = mem_alignment(a), seg = a->uniformity.seg, n = (unsigned)nsegs(seg);
    if ((1ull << (a->uniformity.align & 63)) >= due)
        return;
    LLVMValueRef any = NULL, args[MAX_SEGS + 1] = {c64(cg, due - 1)};
    for (unsigned s = 0; s < n; s++) {
        LLVMValueRef at = mem_base(cg, a->at, seg, (int)s);
        if (seg != SEG_WARP && cg->mask != NULL)
            at = LLVMBuildSelect(b, mem_segment_active(cg, seg, (int)s), at, c64(cg, 0), "");
        args[1 + s] = at;
        any = any != NULL ? LLVMBuildOr(b, any, at, "") : at;
    }
    any = LLVMBuildICmp(b, LLVMIntNE, LLVMBuildAnd(b, any, args[0], ""), c64(cg, 0), "");
    LLVMBasicBlockRef yes = new_bb(cg, "misaligned"), no = new_bb(cg, "aligned");
    LLVMBuildCondBr(b, any, yes, no);
    LLVMPositionBuilderAtEnd(b, yes);
    LLVMValueRef first = args[1];
    if (n > 1) {
        LLVMValueRef fn = first_misaligned_function(cg, n);
        first = LLVMBuildCall2(b, LLVMGlobalGetValueType(fn), fn, args, n + 1, "");
    }
    if (a->space == PTX_SPACE_SHARED)
        first = LLVMBuildAdd(b, first, LLVMBuildPtrToInt(b, cg->block.shared, cg->i64, ""), "");
    emit_fault(cg, JIT_FAULT_MISALIGNED, mask_bits(cg), first);
    LLVMBuildUnreachable(b);
    LLVMPositionBuilderAtEnd(b, no);
}

/* All active lanes fault if the base they share is `bad`. The address that is reported is
 * computed after the branch: the widened index is part of a gather only in the block where it
 * is computed. */
static void fault_if_base(struct codegen *cg, const struct lane_addresses *w, LLVMValueRef bad)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMBasicBlockRef yes = new_bb(cg, "misaligned"), no = new_bb(cg, "aligned");
    LLVMBuildCondBr(b, bad, yes, no);
    LLVMPositionBuilderAtEnd(b, yes);
    LLVMValueRef at = mem_widened(cg, w, first_active(cg, w->index));
    at = LLVMBuildAdd(b, w->base, LLVMBuildMul(b, at, c64(cg, w->scale), ""), "");
    emit_fault(cg, JIT_FAULT_MISALIGNED, mask_bits(cg), at);
    LLVMBuildUnreachable(b);
    LLVMPositionBuilderAtEnd(b, no);
}

/* Checks each lane's alignment, or that of all lanes where base and scale decide it. */
static void check_alignment(struct codegen *cg, const struct access *a,
                            const struct lane_addresses *w)
{
    LLVMBuilderRef b = cg->alu.b;
    unsigned due = mem_alignment(a);
    if (due == 1 || (a->windowed && (1ull << (a->uniformity.align & 63)) >= due))
        return;
    if (a->uniformity.seg != SEG_NONE && a->uniformity.stride % due == 0) {
        check_segment_alignment(cg, a);
        return;
    }
    if (w->index != NULL && w->scale % due == 0) {
        LLVMValueRef low = LLVMBuildAnd(b, w->base, c64(cg, due - 1), "");
        fault_if_base(cg, w, LLVMBuildICmp(b, LLVMIntNE, low, c64(cg, 0), ""));
        return;
    }
    /* first all lanes at once, active or not */
    LLVMValueRef at = mem_all_addresses(cg, w);
    LLVMTypeRef v = LLVMTypeOf(at), t = LLVMGetElementType(v);
    LLVMValueRef any = intrinsic(cg, "llvm.vector.reduce.or", &v, 1, &at, 1);
    any = LLVMBuildAnd(b, any, LLVMConstInt(t, due - 1, false), "");
    LLVMBasicBlockRef some = new_bb(cg, "misaligned"), none = new_bb(cg, "aligned");
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntEQ, any, LLVMConstNull(t), ""), none, some);
    LLVMPositionBuilderAtEnd(b, some);
    LLVMValueRef low = splat(cg, LLVMConstInt(t, due - 1, false), JIT_WARP);
    LLVMValueRef misaligned =
        LLVMBuildICmp(b, LLVMIntNE, LLVMBuildAnd(b, at, low, ""), LLVMConstNull(v), "");
    fault_misaligned_lanes(cg, LLVMBuildAnd(b, bits_of(cg, misaligned), mask_bits(cg), ""), at);
    LLVMBuildBr(b, none);
    LLVMPositionBuilderAtEnd(b, none);
}

/* The alignment of an element of a vector. */
static unsigned element_alignment(const struct access *a)
{
    return mem_alignment(a) < a->bytes ? mem_alignment(a) : a->bytes;
}

/* ---- gather and scatter ---- */

/* x86 gathers words of 4 and 8 bytes only: smaller elements come out of the aligned word they lie
 * in, which is on the same page. */
static LLVMValueRef gather_small(struct codegen *cg, const struct access *a, LLVMValueRef at)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMTypeRef pv = LLVMVectorType(cg->ptr, JIT_WARP);
    bool offsets = a->space == PTX_SPACE_SHARED;
    LLVMValueRef low = offsets ? c32(cg, ~3ull) : c64(cg, ~3ull);
    LLVMValueRef word = LLVMBuildAnd(b, at, splat(cg, low, JIT_WARP), "");
    LLVMValueRef m = mask_vector(cg);
    struct lane_addresses words = {.at = word};
    LLVMValueRef args[4] = {lane_pointers(cg, a, &words, 0), c32(cg, 4),
                            m != NULL ? m : LLVMConstAllOnes(cg->v32i1), LLVMConstNull(cg->v32i32)};
    LLVMValueRef v =
        intrinsic(cg, "llvm.masked.gather", (LLVMTypeRef[]){cg->v32i32, pv}, 2, args, 4);
    tag_memory(cg, v, a->space);
    LLVMValueRef sh = offsets ? at : LLVMBuildTrunc(b, at, cg->v32i32, "");
    sh = LLVMBuildAnd(b, sh, splat(cg, c32(cg, 3), JIT_WARP), "");
    sh = LLVMBuildShl(b, sh, splat(cg, c32(cg, 3), JIT_WARP), "");
    v = LLVMBuildLShr(b, v, sh, "");
    LLVMTypeRef n = LLVMVectorType(LLVMIntTypeInContext(cg->alu.ctx, a->bytes * 8), JIT_WARP);
    return LLVMBuildBitCast(b, LLVMBuildTrunc(b, v, n, ""), LLVMVectorType(a->elem, JIT_WARP), "");
}

/* Kernels of more instructions than these are to become code that is small. */
enum { MOST_STRIPPED = 1000 };
enum { STRIP = 8, STRIPS = JIT_WARP / STRIP };

/* Lanes of strip s. */
static LLVMValueRef strip(struct codegen *cg, LLVMValueRef v, int s)
{
    LLVMValueRef idx[STRIP];
    for (int l = 0; l < STRIP; l++)
        idx[l] = c32(cg, (uint64_t)(s * STRIP + l));
    return LLVMBuildShuffleVector(cg->alu.b, v, LLVMGetPoison(LLVMTypeOf(v)),
                                  LLVMConstVector(idx, STRIP), "");
}

/* <8 x i1> of a strip's active lanes, from their bits, which is shorter than a part of the whole
 * mask. */
static LLVMValueRef strip_mask(struct codegen *cg, int s)
{
    return some_lanes_of(cg, cg->mask, (unsigned)(s * STRIP), STRIP);
}

/* Strips pay where lanes are mostly not neighbours: no hint says otherwise. */
static bool pays_in_strips(const struct codegen *cg, const struct access *a)
{
    return cg->mask != NULL && !cg->alu.has_avx512 && a->uniformity.seg == SEG_NONE &&
           a->uniformity.hint_seg == SEG_NONE && cg->k->ninstrs < MOST_STRIPPED;
}

/* A gather costs the same for one lane as for all: strips without an active lane are skipped. */
static LLVMValueRef gather_strips(struct codegen *cg, const struct access *a,
                                  const struct lane_addresses *w, uint64_t plus)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef out[STRIPS];
    LLVMTypeRef t = LLVMVectorType(a->elem, STRIP), pv = LLVMVectorType(cg->ptr, STRIP);
    for (int s = 0; s < STRIPS; s++) {
        LLVMBasicBlockRef from = LLVMGetInsertBlock(b), some = new_bb(cg, "strip"),
                          join = new_bb(cg, "stripped");
        LLVMValueRef lanes = LLVMBuildAnd(b, cg->mask, c32(cg, 0xffull << s * STRIP), "");
        LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntNE, lanes, c32(cg, 0), ""), some, join);
        LLVMPositionBuilderAtEnd(b, some);
        struct lane_addresses part = *w;
        if (w->index != NULL)
            part.index = strip(cg, w->index, s);
        else
            part.at = strip(cg, w->at, s);
        LLVMValueRef args[4] = {lane_pointers(cg, a, &part, plus), c32(cg, element_alignment(a)),
                                strip_mask(cg, s), LLVMConstNull(t)};
        LLVMValueRef v = intrinsic(cg, "llvm.masked.gather", (LLVMTypeRef[]){t, pv}, 2, args, 4);
        tag_memory(cg, v, a->space);
        LLVMBuildBr(b, join);
        LLVMPositionBuilderAtEnd(b, join);
        out[s] = LLVMBuildPhi(b, t, "");
        LLVMAddIncoming(out[s], (LLVMValueRef[]){LLVMConstNull(t), v},
                        (LLVMBasicBlockRef[]){from, some}, 2);
    }
    return join_vectors(cg, out, STRIPS);
}

/* Lane 0's pointer for vector_gather and vector_scatter; NULL: lanes have no stride. */
static LLVMValueRef strided_pointer(struct codegen *cg, const struct access *a)
{
    return vector_gather_strided(a) ? mem_pointer(cg, a, SEG_WARP, 0) : NULL;
}

/* After how many lanes a gather's addresses repeat; JIT_WARP: they do not, or it is not known. */
static unsigned distinct_lanes(const struct codegen *cg, const struct access *a)
{
    unsigned n = a->at->reg >= 0 ? cg->k->regs[a->at->reg].repeats_after : 0;
    return cg->mask != NULL || a->is_volatile || a->space == PTX_SPACE_LOCAL || n == 0 ? JIT_WARP
                                                                                       : n;
}

/* The first n lanes gathered, and repeated for the others. */
static LLVMValueRef gather_repeated(struct codegen *cg, const struct access *a,
                                    const struct lane_addresses *w, uint64_t plus, unsigned n)
{
    unsigned idx[JIT_WARP];
    for (unsigned l = 0; l < JIT_WARP; l++)
        idx[l] = l % n;
    struct lane_addresses part = *w;
    if (w->index != NULL)
        part.index = shuffle(cg, w->index, NULL, idx, n);
    else
        part.at = shuffle(cg, w->at, NULL, idx, n);
    LLVMTypeRef t = LLVMVectorType(a->elem, n), pv = LLVMVectorType(cg->ptr, n);
    LLVMValueRef args[4] = {lane_pointers(cg, a, &part, plus), c32(cg, element_alignment(a)),
                            LLVMConstAllOnes(LLVMVectorType(cg->i1, n)), LLVMConstNull(t)};
    LLVMValueRef v = intrinsic(cg, "llvm.masked.gather", (LLVMTypeRef[]){t, pv}, 2, args, 4);
    tag_memory(cg, v, a->space);
    return shuffle(cg, v, NULL, idx, JIT_WARP);
}

static void gather_each(struct codegen *cg, const struct access *a, struct lane_addresses *at,
                        LLVMValueRef *out)
{
    LLVMTypeRef t = LLVMVectorType(a->elem, JIT_WARP), pv = LLVMVectorType(cg->ptr, JIT_WARP);
    LLVMValueRef m = mask_vector(cg);
    check_alignment(cg, a, at);
    if (vector_gather_fits(cg, a, true)) {
        vector_gather(cg, a, at, strided_pointer(cg, a), out);
        return;
    }
    for (int k = 0; k < a->vec; k++) {
        uint64_t plus = (uint64_t)k * a->bytes;
        if (a->bytes < 4) {
            bool offsets = a->space == PTX_SPACE_SHARED;
            LLVMValueRef by = splat(cg, offsets ? c32(cg, plus) : c64(cg, plus), JIT_WARP);
            out[k] =
                gather_small(cg, a, LLVMBuildAdd(cg->alu.b, mem_all_addresses(cg, at), by, ""));
            continue;
        }
        if (pays_in_strips(cg, a)) {
            out[k] = gather_strips(cg, a, at, plus);
            continue;
        }
        if (distinct_lanes(cg, a) < JIT_WARP) {
            out[k] = gather_repeated(cg, a, at, plus, distinct_lanes(cg, a));
            continue;
        }
        LLVMValueRef args[4] = {lane_pointers(cg, a, at, plus), c32(cg, element_alignment(a)),
                                m != NULL ? m : LLVMConstAllOnes(cg->v32i1), LLVMConstNull(t)};
        out[k] = intrinsic(cg, "llvm.masked.gather", (LLVMTypeRef[]){t, pv}, 2, args, 4);
        tag_memory(cg, out[k], a->space);
    }
}

void gather_lanes(struct codegen *cg, const struct access *a, struct lane_addresses *at,
                  LLVMValueRef *out)
{
    struct window_gather w;
    if (is_empty(at))
        find_addresses(cg, a, at);
    if (!window_gather_begin(cg, a, at, &w)) {
        gather_each(cg, a, at, out);
        return;
    }
    gather_each(cg, a, at, out);
    out[0] = window_gather_end(cg, &w, out[0]);
}

void scatter_lanes(struct codegen *cg, const struct access *a, struct lane_addresses *at,
                   LLVMValueRef *v)
{
    if (is_empty(at))
        find_addresses(cg, a, at);
    LLVMTypeRef pv = LLVMVectorType(cg->ptr, JIT_WARP);
    LLVMValueRef m = mask_vector(cg);
    check_alignment(cg, a, at);
    if (vector_gather_fits(cg, a, false)) {
        vector_scatter(cg, a, at, strided_pointer(cg, a), v);
        return;
    }
    LLVMBasicBlockRef done = new_bb(cg, "scattered");
    packed_store(cg, a, at, v[0], done);
    for (int k = 0; k < a->vec; k++) {
        LLVMValueRef args[4] = {v[k], lane_pointers(cg, a, at, (uint64_t)k * a->bytes),
                                c32(cg, element_alignment(a)),
                                m != NULL ? m : LLVMConstAllOnes(cg->v32i1)};
        LLVMValueRef st =
            intrinsic(cg, "llvm.masked.scatter", (LLVMTypeRef[]){LLVMTypeOf(v[k]), pv}, 2, args, 4);
        tag_memory(cg, st, a->space);
    }
    LLVMBuildBr(cg->alu.b, done);
    LLVMPositionBuilderAtEnd(cg->alu.b, done);
}

/* ---- likely neighbours ---- */

/* The segments for which a run-time test pays of whether their lanes are neighbours: as the hint
 * says, else the whole warp (a test costs little beside a gather); SEG_NONE when lanes are known
 * not to be. */
static unsigned probe_segment(const struct access *a)
{
    if (a->space == PTX_SPACE_LOCAL || a->uniformity.seg != SEG_NONE)
        return SEG_NONE;
    if (a->uniformity.hint_seg == SEG_NONE)
        return SEG_WARP;
    return a->uniformity.stride == (int64_t)a->bytes * a->vec ? a->uniformity.hint_seg : SEG_NONE;
}

/* i1: is each active lane's index one more than its left neighbour's, counted from the segment's
 * first lane, whose index goes to first[]? By 32 bits: it may wrap around. */
static LLVMValueRef indices_rise(struct codegen *cg, const struct access *a,
                                 const struct lane_addresses *w, unsigned seg, LLVMValueRef *first)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef by_ends = monotone_adjacent(cg, a, w, seg, first);
    if (by_ends != NULL)
        return by_ends;
    for (int s = 0; s < nsegs(seg); s++)
        first[s] = LLVMBuildExtractElement(b, w->index, c32(cg, (uint64_t)(s << seg)), "");
    LLVMValueRef want = from_segments(cg, first, seg, 1);
    LLVMValueRef same = bits_of(cg, LLVMBuildICmp(b, LLVMIntEQ, w->index, want, ""));
    if (cg->mask != NULL)
        same = LLVMBuildOr(b, same, LLVMBuildNot(b, cg->mask, ""), "");
    return LLVMBuildICmp(b, LLVMIntEQ, same, c32(cg, 0xffffffff), "");
}

/* The same, and none wraps; first[] are pointers. */
static LLVMValueRef adjacent_indices(struct codegen *cg, const struct access *a,
                                     const struct lane_addresses *w, unsigned seg,
                                     LLVMValueRef *first)
{
    LLVMBuilderRef b = cg->alu.b;
    uint64_t top = (w->is_signed ? 0x7fffffffu : 0xffffffffu) - ((1u << seg) - 1);
    LLVMValueRef rise = indices_rise(cg, a, w, seg, first), fits = LLVMConstInt(cg->i1, 1, false);
    for (int s = 0; s < nsegs(seg); s++) {
        fits = LLVMBuildAnd(
            b, fits,
            LLVMBuildICmp(b, w->is_signed ? LLVMIntSLE : LLVMIntULE, first[s], c32(cg, top), ""),
            "");
        LLVMValueRef v = LLVMBuildMul(b, mem_widened(cg, w, first[s]), c64(cg, w->scale), "");
        first[s] = LLVMBuildIntToPtr(b, LLVMBuildAdd(b, w->base, v, ""), cg->ptr, "");
    }
    return LLVMBuildAnd(b, fits, rise, "");
}

/* i1: are all active lanes of every segment neighbours, counted from the segment's first lane,
 * whose pointer goes to first[]? */
static LLVMValueRef adjacent_addresses(struct codegen *cg, const struct access *a,
                                       const struct lane_addresses *w, unsigned seg,
                                       LLVMValueRef *first)
{
    LLVMBuilderRef b = cg->alu.b;
    if (w->index != NULL && w->scale == a->bytes * (unsigned)a->vec)
        return adjacent_indices(cg, a, w, seg, first);
    LLVMValueRef at = mem_all_addresses(cg, w);
    for (int s = 0; s < nsegs(seg); s++)
        first[s] = LLVMBuildExtractElement(b, at, c32(cg, (uint64_t)(s << seg)), "");
    LLVMValueRef want = from_segments(cg, first, seg, (int64_t)a->bytes * a->vec);
    LLVMValueRef same = bits_of(cg, LLVMBuildICmp(b, LLVMIntEQ, at, want, ""));
    if (cg->mask != NULL)
        same = LLVMBuildOr(b, same, LLVMBuildNot(b, cg->mask, ""), "");
    for (int s = 0; s < nsegs(seg); s++)
        first[s] = a->space == PTX_SPACE_SHARED
                       ? byte_offset(cg, cg->block.shared, LLVMBuildSExt(b, first[s], cg->i64, ""))
                       : LLVMBuildIntToPtr(b, first[s], cg->ptr, "");
    return LLVMBuildICmp(b, LLVMIntEQ, same, c32(cg, 0xffffffff), "");
}

/* The same where some segment has a break: the active lanes lie on one side of it. A guard like
 * `t >= 1 ? x[t - 1] : 0` is the usual reason for a break, and rules out the lanes before it. */
static LLVMValueRef on_one_side(struct codegen *cg, const struct access *a,
                                const LLVMValueRef *whole, LLVMValueRef *first)
{
    LLVMBuilderRef b = cg->alu.b;
    struct ptx_operand p = {.kind = PTX_OPR_REG, .reg = a->at->reg};
    LLVMValueRef all = NULL, none = c32(cg, 0), back = c64(cg, -(uint64_t)a->uniformity.brk << 32);
    for (int s = 0; s < nsegs(a->uniformity.seg); s++) {
        uint64_t segment = ((1ull << (1u << a->uniformity.seg)) - 1) << (s << a->uniformity.seg);
        LLVMValueRef n = operand_break(cg, &p, a->uniformity.seg, s);
        LLVMValueRef before = LLVMBuildShl(b, c64(cg, 1), LLVMBuildZExt(b, n, cg->i64, ""), "");
        before = LLVMBuildTrunc(b, LLVMBuildSub(b, before, c64(cg, 1), ""), cg->i32, "");
        before = LLVMBuildShl(b, before, c32(cg, (uint64_t)s << a->uniformity.seg), "");
        LLVMValueRef active = LLVMBuildAnd(b, mask_bits(cg), c32(cg, segment), "");
        LLVMValueRef left = LLVMBuildAnd(b, active, before, "");
        LLVMValueRef right = LLVMBuildAnd(b, active, LLVMBuildNot(b, before, ""), "");
        LLVMValueRef no_left = LLVMBuildICmp(b, LLVMIntEQ, left, none, "");
        LLVMValueRef no_right = LLVMBuildICmp(b, LLVMIntEQ, right, none, "");
        LLVMValueRef ok = LLVMBuildOr(b, no_left, no_right, "");
        all = all != NULL ? LLVMBuildAnd(b, all, ok, "") : ok;
        LLVMValueRef drop = LLVMBuildSelect(b, no_right, c64(cg, 0), back, "");
        first[s] = byte_offset(cg, whole[s], drop);
    }
    return all;
}

/* i1: are the active lanes of each segment of an affine address with breaks neighbours? first[] are
 * the segments' pointers then. Few warps have a break at all, which a comparison tells. Outside of
 * loops LLVM finds the sides once for all accesses by an index, which it could not in blocks aside.
 */
static LLVMValueRef unbroken_or_one_side(struct codegen *cg, const struct access *a,
                                         LLVMValueRef *first)
{
    LLVMBuilderRef b = cg->alu.b;
    struct ptx_operand p = {.kind = PTX_OPR_REG, .reg = a->at->reg};
    unsigned seg = a->uniformity.seg;
    LLVMValueRef whole[MAX_SEGS], sides[MAX_SEGS], unbroken = LLVMConstInt(cg->i1, 1, false);
    for (int s = 0; s < nsegs(seg); s++)
        whole[s] = mem_pointer(cg, a, seg, s);
    if (cg->cur == NULL || cg->cur->depth == 0)
        return on_one_side(cg, a, whole, first);
    for (int s = 0; s < nsegs(seg); s++) {
        LLVMValueRef n = operand_break(cg, &p, seg, s);
        unbroken =
            LLVMBuildAnd(b, unbroken, LLVMBuildICmp(b, LLVMIntUGE, n, c32(cg, 1u << seg), ""), "");
    }
    LLVMBasicBlockRef from[2] = {LLVMGetInsertBlock(b), new_bb(cg, "broken")},
                      join = new_bb(cg, "sides");
    branch_likely(cg, unbroken, join, from[1]);
    LLVMPositionBuilderAtEnd(b, from[1]);
    LLVMValueRef near[2] = {LLVMConstInt(cg->i1, 1, false), on_one_side(cg, a, whole, sides)};
    LLVMBuildBr(b, join);
    LLVMPositionBuilderAtEnd(b, join);
    LLVMValueRef is = LLVMBuildPhi(b, cg->i1, "");
    LLVMAddIncoming(is, near, from, 2);
    for (int s = 0; s < nsegs(seg); s++) {
        first[s] = LLVMBuildPhi(b, cg->ptr, "");
        LLVMAddIncoming(first[s], (LLVMValueRef[]){whole[s], sides[s]}, from, 2);
    }
    return is;
}

bool probe_adjacent(struct codegen *cg, const struct access *a, struct likely *l)
{
    mask_vector(cg); /* computed here, so that both branches may use it */
    if (a->uniformity.brk != 0 &&
        (a->backwards || a->uniformity.stride == (int64_t)a->bytes * a->vec)) {
        l->seg = a->uniformity.seg;
        l->at = (struct lane_addresses){0};
        l->near = unbroken_or_one_side(cg, a, l->first);
        return true;
    }
    find_addresses(cg, a, &l->at);
    l->seg = probe_segment(a);
    if (l->seg == SEG_NONE)
        return false;
    if (a->uniformity.hint_seg != SEG_NONE) {
        l->near = adjacent_addresses(cg, a, &l->at, l->seg, l->first);
        return true;
    }
    /* without a hint, two lanes are tested first */
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef v = l->at.index != NULL ? l->at.index : l->at.at;
    LLVMValueRef step =
        LLVMConstInt(LLVMGetElementType(LLVMTypeOf(v)),
                     mem_natural(a) / (l->at.index != NULL ? l->at.scale : 1), false);
    LLVMValueRef next = LLVMBuildAdd(b, LLVMBuildExtractElement(b, v, c32(cg, 0), ""), step, "");
    LLVMValueRef near =
        LLVMBuildICmp(b, LLVMIntEQ, LLVMBuildExtractElement(b, v, c32(cg, 1), ""), next, "");
    LLVMBasicBlockRef from = LLVMGetInsertBlock(b), look = new_bb(cg, "probe"),
                      join = new_bb(cg, "probed");
    for (int s = 0; s < nsegs(l->seg); s++)
        l->first[s] = LLVMGetPoison(cg->ptr);
    LLVMBuildCondBr(b, near, look, join);
    LLVMPositionBuilderAtEnd(b, look);
    LLVMValueRef first[MAX_SEGS], all = adjacent_addresses(cg, a, &l->at, l->seg, first);
    look = LLVMGetInsertBlock(b);
    LLVMBuildBr(b, join);
    LLVMPositionBuilderAtEnd(b, join);
    LLVMBasicBlockRef in[2] = {from, look};
    l->near = LLVMBuildPhi(b, cg->i1, "");
    LLVMAddIncoming(l->near, (LLVMValueRef[]){LLVMConstInt(cg->i1, 0, false), all}, in, 2);
    for (int s = 0; s < nsegs(l->seg); s++) {
        LLVMValueRef none = l->first[s];
        l->first[s] = LLVMBuildPhi(b, cg->ptr, "");
        LLVMAddIncoming(l->first[s], (LLVMValueRef[]){none, first[s]}, in, 2);
    }
    return true;
}
