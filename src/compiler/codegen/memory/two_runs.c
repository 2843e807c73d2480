/* two_runs.c: lanes that are likely neighbours and are not, since a row ends within the warp (a
 * tile with what surrounds it, filled by one index; an index that wraps around): two runs of
 * neighbours, accessed as two vectors under masks. A test at run time finds them, where the one for
 * neighbours has failed. */
#include "compiler/codegen/memory/access.h"
#include "compiler/codegen/memory/memory.h"
#include "compiler/codegen/values.h"

/* Kernels of more instructions than these are to become code that is small. */
enum { MOST_INSTRUCTIONS = 1000 };

static bool likely(const struct codegen *cg, const struct access *a,
                   const struct lane_addresses *at)
{
    return (at->index != NULL || at->at != NULL) && a->vec == 1 && !a->windowed &&
           a->uniformity.seg == SEG_NONE && a->uniformity.hint_seg != SEG_NONE &&
           a->uniformity.stride == a->bytes && cg->k->ninstrs < MOST_INSTRUCTIONS;
}

/* The lowest and the highest active lane, as i32. */
static void end_lanes(struct codegen *cg, LLVMValueRef lanes[2])
{
    lanes[0] = c32(cg, 0);
    lanes[1] = c32(cg, JIT_WARP - 1);
    if (cg->mask == NULL)
        return;
    LLVMValueRef args[2] = {cg->mask, LLVMConstInt(cg->i1, 0, false)};
    LLVMValueRef clear = intrinsic(cg, "llvm.ctlz", &cg->i32, 1, args, 2);
    lanes[0] = LLVMBuildAnd(cg->alu.b, lowest_lane(cg, cg->mask), lanes[1], "");
    lanes[1] = LLVMBuildAnd(cg->alu.b, LLVMBuildSub(cg->alu.b, lanes[1], clear, ""), lanes[1], "");
}

/* Where lane 0 would be in the run of the lane whose index is `x`; *fits: none of the run wraps. */
static LLVMValueRef start_by_index(struct codegen *cg, const struct lane_addresses *w,
                                   LLVMValueRef x, LLVMValueRef lane, bool last, LLVMValueRef *fits)
{
    LLVMBuilderRef b = cg->alu.b;
    uint64_t most = (w->is_signed ? 0x7fffffffu : 0xffffffffu) - (JIT_WARP - 1);
    uint64_t least = (w->is_signed ? 0x80000000u : 0) + (JIT_WARP - 1);
    LLVMIntPredicate p =
        last ? (w->is_signed ? LLVMIntSGE : LLVMIntUGE) : (w->is_signed ? LLVMIntSLE : LLVMIntULE);
    LLVMValueRef ok = LLVMBuildICmp(b, p, x, c32(cg, last ? least : most), "");
    *fits = LLVMBuildAnd(b, *fits, ok, "");
    LLVMValueRef wide =
        LLVMBuildSub(b, mem_widened(cg, w, x), LLVMBuildZExt(b, lane, cg->i64, ""), "");
    return LLVMBuildAdd(b, w->base, LLVMBuildMul(b, wide, c64(cg, w->scale), ""), "");
}

/* Finds the runs. i1: all active lanes are in one of them. */
static LLVMValueRef find(struct codegen *cg, const struct access *a,
                         const struct lane_addresses *at, struct two_runs *r)
{
    LLVMBuilderRef b = cg->alu.b;
    bool indexed = at->index != NULL && at->scale == a->bytes;
    LLVMValueRef v = indexed ? at->index : mem_all_addresses(cg, at), ends[2], start[2];
    LLVMTypeRef t = LLVMGetElementType(LLVMTypeOf(v));
    LLVMValueRef from =
        LLVMBuildSub(b, v, lane_constants(cg, t, indexed ? 1 : (int64_t)a->bytes, SEG_WARP), "");
    LLVMValueRef active = mask_bits(cg);
    end_lanes(cg, ends);
    LLVMValueRef fits = LLVMConstInt(cg->i1, 1, false);
    for (int n = 0; n < 2; n++) {
        LLVMValueRef x = LLVMBuildExtractElement(b, from, ends[n], "");
        LLVMValueRef same = LLVMBuildICmp(b, LLVMIntEQ, from, splat(cg, x, JIT_WARP), "");
        r->lanes[n] = LLVMBuildAnd(b, bits_of(cg, same), active, "");
        start[n] = indexed ? start_by_index(cg, at, LLVMBuildExtractElement(b, v, ends[n], ""),
                                            ends[n], n == 1, &fits)
                           : x;
        if (a->space == PTX_SPACE_SHARED)
            r->first[n] = byte_offset(cg, cg->block.shared, LLVMBuildSExt(b, x, cg->i64, ""));
        else
            r->first[n] = LLVMBuildIntToPtr(b, start[n], cg->ptr, "");
    }
    r->lanes[1] = LLVMBuildAnd(b, r->lanes[1], LLVMBuildNot(b, r->lanes[0], ""), "");
    LLVMValueRef both = LLVMBuildOr(b, r->lanes[0], r->lanes[1], "");
    LLVMValueRef low = LLVMBuildAnd(b, r->lanes[1], LLVMBuildNeg(b, r->lanes[1], ""), "");
    LLVMValueRef below = LLVMBuildSub(b, low, c32(cg, 1), "");
    LLVMValueRef bad = LLVMBuildAnd(b, LLVMBuildOr(b, start[0], start[1], ""),
                                    LLVMConstInt(LLVMTypeOf(start[0]), a->bytes - 1, false), "");
    LLVMValueRef more[3] = {
        LLVMBuildICmp(b, LLVMIntEQ, both, active, ""),
        LLVMBuildICmp(b, LLVMIntULE, r->lanes[0], below, ""),
        LLVMBuildICmp(b, LLVMIntEQ, bad, LLVMConstNull(LLVMTypeOf(bad)), ""),
    };
    for (int n = 0; n < 3; n++)
        fits = LLVMBuildAnd(b, fits, more[n], "");
    return fits;
}

bool two_runs_begin(struct codegen *cg, const struct access *a, const struct lane_addresses *at,
                    struct two_runs *r)
{
    if (!likely(cg, a, at))
        return false;
    LLVMValueRef fits = find(cg, a, at, r);
    LLVMBasicBlockRef yes = new_bb(cg, "two_runs");
    r->scattered = new_bb(cg, "scattered");
    r->joined = new_bb(cg, "joined");
    r->mask = cg->mask;
    r->mask_vec = cg->mask_vec;
    LLVMBuildCondBr(cg->alu.b, fits, yes, r->scattered);
    LLVMPositionBuilderAtEnd(cg->alu.b, yes);
    return true;
}

void two_runs_activate(struct codegen *cg, const struct two_runs *r, int n)
{
    cg->mask = r->lanes[n];
    cg->mask_vec = NULL;
}

/* Leaves the block that the builder is in for another, and goes on with code in a third. */
static LLVMBasicBlockRef leave(struct codegen *cg, LLVMBasicBlockRef to, LLVMBasicBlockRef next)
{
    LLVMBasicBlockRef from = LLVMGetInsertBlock(cg->alu.b);
    LLVMBuildBr(cg->alu.b, to);
    LLVMPositionBuilderAtEnd(cg->alu.b, next);
    return from;
}

LLVMBasicBlockRef two_runs_else(struct codegen *cg, const struct two_runs *r)
{
    cg->mask = r->mask;
    cg->mask_vec = r->mask_vec;
    return leave(cg, r->joined, r->scattered);
}

LLVMBasicBlockRef two_runs_end(struct codegen *cg, const struct two_runs *r)
{
    return leave(cg, r->joined, r->joined);
}
