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

/* Windows of `lanes` elements; group g's starts at start[g] elements from p, and its lanes' are
 * from[g] further, <lanes x i32>. */
struct windows {
    LLVMValueRef p, start[MOST_GROUPS], from[MOST_GROUPS];
    unsigned lanes;
};

/* Finds the windows. i1: all active lanes' elements are in them, and they can be read whole. */
static LLVMValueRef find(struct codegen *cg, const struct lane_addresses *w, struct windows *s)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef first = LLVMBuildExtractElement(b, w->index, c32(cg, 0), ""), all[MOST_GROUPS];
    unsigned span = MOST_DISTANCE + s->lanes, n = JIT_WARP / s->lanes;
    for (unsigned g = 0; g < n; g++) {
        unsigned idx[JIT_WARP];
        for (unsigned l = 0; l < s->lanes; l++)
            idx[l] = g * s->lanes + l;
        /* bounded, as an inactive lane's index may be anything */
        LLVMValueRef x = LLVMBuildExtractElement(b, w->index, c32(cg, g * s->lanes), "");
        s->start[g] =
            LLVMBuildAnd(b, LLVMBuildSub(b, x, first, ""), c32(cg, MOST_DISTANCE - 1), "");
        LLVMValueRef start = LLVMBuildAdd(b, first, s->start[g], "");
        all[g] = s->from[g] = LLVMBuildSub(b, shuffle(cg, w->index, NULL, idx, s->lanes),
                                           splat(cg, start, s->lanes), "");
    }
    LLVMValueRef from = join_vectors(cg, all, n), limit = splat(cg, c32(cg, s->lanes), JIT_WARP);
    LLVMValueRef outside = bits_of(cg, LLVMBuildICmp(b, LLVMIntUGE, from, limit, ""));
    s->p = LLVMBuildAdd(b, w->base, LLVMBuildShl(b, mem_widened(cg, w, first), c64(cg, 2), ""), "");
    LLVMValueRef in_page = LLVMBuildAnd(b, s->p, c64(cg, WEIR_PAGE - 1), "");
    uint64_t top = (w->is_signed ? 0x7fffffffu : 0xffffffffu) - span;
    LLVMValueRef ok[] = {
        LLVMBuildICmp(b, LLVMIntEQ, LLVMBuildAnd(b, outside, mask_bits(cg), ""), c32(cg, 0), ""),
        LLVMBuildICmp(b, LLVMIntNE, mask_bits(cg), c32(cg, 0), ""),
        LLVMBuildICmp(b, LLVMIntULE, in_page, c64(cg, WEIR_PAGE - 4ull * span), ""),
        LLVMBuildICmp(b, LLVMIntEQ, LLVMBuildAnd(b, s->p, c64(cg, 3), ""), c64(cg, 0), ""),
        LLVMBuildICmp(b, w->is_signed ? LLVMIntSLE : LLVMIntULE, first, c32(cg, top), ""),
    };
    LLVMValueRef both = ok[0];
    for (size_t k = 1; k < WEIR_COUNT(ok); k++)
        both = LLVMBuildAnd(b, both, ok[k], "");
    return both;
}

static LLVMValueRef load(struct codegen *cg, const struct access *a, const struct windows *s)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef out[MOST_GROUPS], p = LLVMBuildIntToPtr(b, s->p, cg->ptr, "");
    LLVMTypeRef t = LLVMVectorType(cg->i32, s->lanes);
    unsigned n = JIT_WARP / s->lanes;
    for (unsigned g = 0; g < n; g++) {
        LLVMValueRef start = LLVMBuildZExt(b, s->start[g], cg->i64, "");
        LLVMValueRef v = LLVMBuildLoad2(b, t, LLVMBuildGEP2(b, cg->i32, p, &start, 1, ""), "");
        LLVMSetAlignment(v, 4);
        tag_memory(cg, v, a->space);
        LLVMValueRef args[2] = {v, s->from[g]};
        out[g] =
            intrinsic(cg, s->lanes == 16 ? "llvm.x86.avx512.permvar.si.512" : "llvm.x86.avx2.permd",
                      NULL, 0, args, 2);
    }
    return LLVMBuildBitCast(b, join_vectors(cg, out, n), LLVMVectorType(a->elem, JIT_WARP), "");
}

bool window_gather_begin(struct codegen *cg, const struct access *a,
                         const struct lane_addresses *at, struct window_gather *w)
{
    if (!fits(cg, a))
        return false;
    mask_vector(cg); /* computed here, so that both branches may use it */
    struct lane_addresses one = *at;
    LLVMValueRef same = at->index != NULL ? NULL : find_likely_base(cg, a, &one);
    if (one.index == NULL || one.scale != 4)
        return false;
    LLVMBasicBlockRef scattered = new_bb(cg, "scattered");
    w->near = new_bb(cg, "windows");
    w->join = new_bb(cg, "windowed");
    if (same != NULL) {
        LLVMBasicBlockRef look = new_bb(cg, "one_base");
        branch_likely(cg, same, look, scattered);
        LLVMPositionBuilderAtEnd(cg->alu.b, look);
    }
    struct windows s = {.lanes = cg->alu.has_avx512 ? 16 : 8};
    branch_likely(cg, find(cg, &one, &s), w->near, scattered);
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
