/* window_gather.c: gathers from a few neighbouring elements, as vector loads and permutations.
 *
 * What is made of a quotient of neighbours (`x / 2`, the windows of pooling that a pixel is in) is
 * likely the same in all lanes, as far as is known at compile time. Where it is not, it often
 * differs by little: lanes that follow each other access elements that do. A test at run time
 * tells whether groups of as many lanes as a vector has access elements of one vector each, and
 * whether all of these lie in one page with an element of an active lane, so that they can be read
 * whole. Gathers take some hundred instructions otherwise where a CPU has slow ones, and 64-bit
 * addresses of lanes whose base differs now and then. */
#include "base/base.h"
#include "compiler/codegen/control/control.h"
#include "compiler/codegen/instructions.h"
#include "compiler/codegen/memory/access.h"
#include "compiler/codegen/memory/memory.h"
#include "compiler/codegen/values.h"

enum {
    MOST_INSTRUCTIONS = 1000, /* larger kernels are to become code that is small */
    MOST_GROUPS = JIT_WARP / 8,
    MOST_DISTANCE = 64 /* elements between the first lanes of groups, a power of two */
};

static bool fits(const struct codegen *cg, const struct access *a)
{
    return cg->alu.has_avx2 && a->bytes == 4 && a->vec == 1 && !a->is_volatile && !a->windowed &&
           (a->space == PTX_SPACE_GLOBAL || a->space == PTX_SPACE_GENERIC) &&
           a->uniformity.seg == SEG_NONE && a->uniformity.hint_seg == SEG_WARP &&
           a->uniformity.stride == 0 && !cg->serialized->active && !cg->k->one_lane &&
           cg->k->ninstrs < MOST_INSTRUCTIONS;
}

/* Where lanes access: 32-bit indices of elements or, without `index`, 64-bit addresses. These are
 * compared by their lower halves, in bytes; that the upper ones are equal is tested besides. */
struct lanes {
    LLVMValueRef low, high; /* indices or lower halves, upper halves or NULL */
    LLVMValueRef base;      /* what indices count from; with addresses, what is added to all */
    unsigned shift;         /* the logarithm of a unit of `low` in an element */
    bool is_signed;
};

/* Windows of `lanes` elements; group g's starts at start[g] units from p, and its lanes' are
 * from[g] elements further, <lanes x i32>. */
struct windows {
    LLVMValueRef p, start[MOST_GROUPS], from[MOST_GROUPS];
    unsigned lanes, shift;
};

static LLVMValueRef permuted(struct codegen *cg, unsigned lanes, LLVMValueRef v, LLVMValueRef by)
{
    LLVMValueRef args[2] = {v, by};
    return intrinsic(cg, lanes == 16 ? "llvm.x86.avx512.permvar.si.512" : "llvm.x86.avx2.permd",
                     NULL, 0, args, 2);
}

/* Group g's lanes of v. */
static LLVMValueRef group(struct codegen *cg, LLVMValueRef v, unsigned g, unsigned lanes)
{
    unsigned idx[JIT_WARP];
    for (unsigned l = 0; l < lanes; l++)
        idx[l] = g * lanes + l;
    return shuffle(cg, v, NULL, idx, lanes);
}

/* i32: the active lanes of group g. */
static LLVMValueRef group_mask(struct codegen *cg, unsigned g, unsigned lanes)
{
    LLVMBuilderRef b = cg->alu.b;
    return LLVMBuildAnd(b, LLVMBuildLShr(b, mask_bits(cg), c32(cg, g * lanes), ""),
                        c32(cg, (1u << lanes) - 1), "");
}

/* Of each group of v, in all its lanes, what its first active lane has, or any where none is: an
 * inactive lane's may be older, and far from the others'. In first[g] it is a scalar; what the
 * warp's first active lane has is returned. */
static LLVMValueRef firsts(struct codegen *cg, LLVMValueRef v, unsigned lanes, LLVMValueRef *all,
                           LLVMValueRef *first)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef warp = NULL;
    for (unsigned g = JIT_WARP / lanes; g-- > 0;) {
        LLVMValueRef active = group_mask(cg, g, lanes);
        LLVMValueRef args[2] = {LLVMBuildOr(b, active, c32(cg, 1u << lanes), ""),
                                LLVMConstInt(cg->i1, 1, false)};
        LLVMValueRef lane = intrinsic(cg, "llvm.cttz", &cg->i32, 1, args, 2);
        all[g] = permuted(cg, lanes, group(cg, v, g, lanes), splat(cg, lane, lanes));
        first[g] = LLVMBuildExtractElement(b, all[g], c32(cg, 0), "");
        LLVMValueRef some = LLVMBuildICmp(b, LLVMIntNE, active, c32(cg, 0), "");
        warp = warp == NULL ? first[g] : LLVMBuildSelect(b, some, first[g], warp, "");
    }
    return warp;
}

/* i1: do all active lanes have what the first of them has? */
static LLVMValueRef all_equal(struct codegen *cg, LLVMValueRef v, LLVMValueRef first)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef other =
        bits_of(cg, LLVMBuildICmp(b, LLVMIntNE, v, splat(cg, first, JIT_WARP), ""));
    return LLVMBuildICmp(b, LLVMIntEQ, LLVMBuildAnd(b, other, mask_bits(cg), ""), c32(cg, 0), "");
}

/* The address of the warp's first active lane, whose `low` is `first`; where there are upper
 * halves, `ok` is told whether they are the same. */
static LLVMValueRef first_address(struct codegen *cg, const struct lanes *w, unsigned lanes,
                                  LLVMValueRef first, LLVMValueRef *ok)
{
    LLVMBuilderRef b = cg->alu.b;
    if (w->high == NULL) {
        LLVMValueRef wide = w->is_signed ? LLVMBuildSExt(b, first, cg->i64, "")
                                         : LLVMBuildZExt(b, first, cg->i64, "");
        return LLVMBuildAdd(b, w->base, LLVMBuildShl(b, wide, c64(cg, 2), ""), "");
    }
    LLVMValueRef all[MOST_GROUPS], each[MOST_GROUPS];
    LLVMValueRef top = firsts(cg, w->high, lanes, all, each);
    *ok = LLVMBuildAnd(b, *ok, all_equal(cg, w->high, top), "");
    top = LLVMBuildShl(b, LLVMBuildZExt(b, top, cg->i64, ""), c64(cg, 32), "");
    LLVMValueRef p = LLVMBuildOr(b, top, LLVMBuildZExt(b, first, cg->i64, ""), "");
    return LLVMBuildAdd(b, p, w->base, "");
}

/* Finds the windows. i1: all active lanes' elements are in them, and they can be read whole. */
static LLVMValueRef find(struct codegen *cg, const struct lanes *w, struct windows *s)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef all[MOST_GROUPS], first[MOST_GROUPS], warp;
    unsigned span = MOST_DISTANCE + s->lanes, n = JIT_WARP / s->lanes;
    warp = firsts(cg, w->low, s->lanes, all, first);
    for (unsigned g = 0; g < n; g++) {
        /* bounded, as there may be no active lane */
        s->start[g] = LLVMBuildAnd(b, LLVMBuildSub(b, first[g], warp, ""),
                                   c32(cg, (MOST_DISTANCE << w->shift) - 1), "");
        LLVMValueRef start = LLVMBuildAdd(b, warp, s->start[g], "");
        all[g] = LLVMBuildSub(b, group(cg, w->low, g, s->lanes), splat(cg, start, s->lanes), "");
        s->from[g] = LLVMBuildLShr(b, all[g], splat(cg, c32(cg, w->shift), s->lanes), "");
    }
    /* below the number of lanes, and of whole elements */
    uint64_t wrong = ~((uint64_t)(s->lanes - 1) << w->shift) & UINT32_MAX;
    LLVMValueRef from =
        LLVMBuildAnd(b, join_vectors(cg, all, n), splat(cg, c32(cg, wrong), JIT_WARP), "");
    LLVMValueRef outside =
        bits_of(cg, LLVMBuildICmp(b, LLVMIntNE, from, LLVMConstNull(cg->v32i32), ""));
    LLVMValueRef ok =
        LLVMBuildICmp(b, LLVMIntEQ, LLVMBuildAnd(b, outside, mask_bits(cg), ""), c32(cg, 0), "");
    s->p = first_address(cg, w, s->lanes, warp, &ok);
    LLVMValueRef in_page = LLVMBuildAnd(b, s->p, c64(cg, WEIR_PAGE - 1), "");
    uint64_t top = (w->is_signed ? 0x7fffffffu : 0xffffffffu) - (span << w->shift);
    LLVMValueRef more[] = {
        LLVMBuildICmp(b, LLVMIntNE, mask_bits(cg), c32(cg, 0), ""),
        LLVMBuildICmp(b, LLVMIntULE, in_page, c64(cg, WEIR_PAGE - 4ull * span), ""),
        LLVMBuildICmp(b, LLVMIntEQ, LLVMBuildAnd(b, s->p, c64(cg, 3), ""), c64(cg, 0), ""),
        LLVMBuildICmp(b, w->is_signed ? LLVMIntSLE : LLVMIntULE, warp, c32(cg, top), ""),
    };
    for (size_t k = 0; k < WEIR_COUNT(more); k++)
        ok = LLVMBuildAnd(b, ok, more[k], "");
    return ok;
}

static LLVMValueRef load(struct codegen *cg, const struct access *a, const struct windows *s)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef out[MOST_GROUPS], p = LLVMBuildIntToPtr(b, s->p, cg->ptr, "");
    LLVMTypeRef t = LLVMVectorType(cg->i32, s->lanes);
    unsigned n = JIT_WARP / s->lanes;
    for (unsigned g = 0; g < n; g++) {
        LLVMValueRef start = LLVMBuildZExt(b, s->start[g], cg->i64, "");
        LLVMTypeRef unit = s->shift == 0 ? cg->i32 : cg->i8;
        LLVMValueRef v = LLVMBuildLoad2(b, t, LLVMBuildGEP2(b, unit, p, &start, 1, ""), "");
        LLVMSetAlignment(v, s->shift == 0 ? 4 : 1);
        tag_memory(cg, v, a->space);
        out[g] = permuted(cg, s->lanes, v, s->from[g]);
    }
    return LLVMBuildBitCast(b, join_vectors(cg, out, n), LLVMVectorType(a->elem, JIT_WARP), "");
}

/* Where the lanes of an access are, in a form that windows are found in. False: in none. In *same
 * i1, or NULL: whether all active lanes have the base. */
static bool find_lanes(struct codegen *cg, const struct access *a, const struct lane_addresses *at,
                       struct lanes *w, LLVMValueRef *same)
{
    LLVMBuilderRef b = cg->alu.b;
    struct lane_addresses one = *at;
    *same = at->index != NULL ? NULL : find_likely_base(cg, a, &one);
    if (one.index != NULL) {
        *w = (struct lanes){.low = one.index, .base = one.base, .is_signed = one.is_signed};
        return one.scale == 4;
    }
    if (a->at->reg < 0)
        return false;
    /* without what the access adds, so that the next one shares the tests */
    struct ptx_operand reg = *a->at;
    reg.kind = PTX_OPR_REG;
    reg.offset = 0;
    LLVMValueRef v = operand_vector(cg, &reg, PTX_U64);
    LLVMValueRef up = LLVMBuildLShr(b, v, splat(cg, c64(cg, 32), JIT_WARP), "");
    *w = (struct lanes){.low = LLVMBuildTrunc(b, v, cg->v32i32, ""),
                        .high = LLVMBuildTrunc(b, up, cg->v32i32, ""),
                        .base = c64(cg, (uint64_t)a->at->offset),
                        .shift = 2};
    return true;
}

bool window_gather_begin(struct codegen *cg, const struct access *a,
                         const struct lane_addresses *at, struct window_gather *w)
{
    if (!fits(cg, a))
        return false;
    mask_vector(cg); /* computed here, so that both branches may use it */
    struct lanes lanes;
    LLVMValueRef same;
    if (!find_lanes(cg, a, at, &lanes, &same))
        return false;
    LLVMBasicBlockRef scattered = new_bb(cg, "scattered");
    w->near = new_bb(cg, "windows");
    w->join = new_bb(cg, "windowed");
    if (same != NULL) {
        LLVMBasicBlockRef look = new_bb(cg, "one_base");
        branch_likely(cg, same, look, scattered);
        LLVMPositionBuilderAtEnd(cg->alu.b, look);
    }
    struct windows s = {.lanes = cg->alu.has_avx512 ? 16 : 8, .shift = lanes.shift};
    branch_likely(cg, find(cg, &lanes, &s), w->near, scattered);
    LLVMPositionBuilderAtEnd(cg->alu.b, w->near);
    w->v = load(cg, a, &s);
    LLVMBuildBr(cg->alu.b, w->join);
    LLVMPositionBuilderAtEnd(cg->alu.b, scattered);
    return true;
}

LLVMValueRef window_gather_end(struct codegen *cg, const struct window_gather *w, LLVMValueRef v)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMBasicBlockRef from[2] = {w->near, LLVMGetInsertBlock(b)};
    LLVMBuildBr(b, w->join);
    LLVMPositionBuilderAtEnd(b, w->join);
    LLVMValueRef phi = LLVMBuildPhi(b, LLVMTypeOf(v), "");
    LLVMAddIncoming(phi, (LLVMValueRef[]){w->v, v}, from, 2);
    return phi;
}
