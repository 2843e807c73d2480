/* packed_store.c: stores of some lanes to elements that follow each other without gaps, as filters,
 * partitions and queues have them: list[start + how many lanes below are in it, too] = x.
 *
 * With AVX-512 the indices of the active lanes are brought together, and if each is one more than
 * the one before it, so are the elements, and stored as vectors. A scatter takes several times as
 * long. */
#include "compiler/codegen/control/control.h"
#include "compiler/codegen/memory/access.h"
#include "compiler/codegen/values.h"

enum { PIECE = 16, PIECES = JIT_WARP / PIECE };

/* The lanes of one piece of the warp. */
struct piece {
    LLVMValueRef active; /* i32: bits of those that are */
    LLVMValueRef count;  /* i32 */
    LLVMValueRef before; /* i32: active lanes of the pieces before it */
};

static LLVMValueRef mask_of(struct codegen *cg, LLVMValueRef bits)
{
    LLVMBuilderRef b = cg->alu.b;
    return LLVMBuildBitCast(b, LLVMBuildTrunc(b, bits, cg->i16, ""), LLVMVectorType(cg->i1, PIECE),
                            "");
}

/* Bits of the first lanes, as many as are active. */
static LLVMValueRef first_lanes(struct codegen *cg, const struct piece *p)
{
    LLVMBuilderRef b = cg->alu.b;
    return LLVMBuildSub(b, LLVMBuildShl(b, c32(cg, 1), p->count, ""), c32(cg, 1), "");
}

static void find_pieces(struct codegen *cg, struct piece *p)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef before = c32(cg, 0);
    for (unsigned n = 0; n < PIECES; n++) {
        LLVMValueRef bits = LLVMBuildLShr(b, mask_bits(cg), c32(cg, n * PIECE), "");
        p[n].active = LLVMBuildAnd(b, bits, c32(cg, (1u << PIECE) - 1), "");
        p[n].count = intrinsic(cg, "llvm.ctpop", &cg->i32, 1, &p[n].active, 1);
        p[n].before = before;
        before = LLVMBuildAdd(b, before, p[n].count, "");
    }
}

/* The active lanes' elements of piece n of v, <32 x i32>, brought together; zeros follow. */
static LLVMValueRef packed(struct codegen *cg, const struct piece *p, unsigned n, LLVMValueRef v)
{
    LLVMTypeRef t = LLVMVectorType(cg->i32, PIECE);
    unsigned idx[PIECE];
    for (unsigned l = 0; l < PIECE; l++)
        idx[l] = n * PIECE + l;
    LLVMValueRef args[3] = {shuffle(cg, v, NULL, idx, PIECE), LLVMConstNull(t),
                            mask_of(cg, p[n].active)};
    return intrinsic(cg, "llvm.x86.avx512.mask.compress", &t, 1, args, 3);
}

/* i1: do the active lanes' indices rise by one from each to the next, and none wraps around? first:
 * the lowest one's. */
static LLVMValueRef rise_by_one(struct codegen *cg, const struct piece *p,
                                const struct lane_addresses *w, LLVMValueRef *first)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef index[PIECES], others = c32(cg, 0), number[PIECE];
    for (unsigned l = 0; l < PIECE; l++)
        number[l] = c32(cg, l);
    for (unsigned n = 0; n < PIECES; n++)
        index[n] = packed(cg, p, n, w->index);
    *first = LLVMBuildExtractElement(b, index[PIECES - 1], c32(cg, 0), "");
    for (unsigned n = PIECES - 1; n-- > 0;)
        *first = LLVMBuildSelect(b, LLVMBuildICmp(b, LLVMIntNE, p[n].active, c32(cg, 0), ""),
                                 LLVMBuildExtractElement(b, index[n], c32(cg, 0), ""), *first, "");
    for (unsigned n = 0; n < PIECES; n++) {
        LLVMValueRef from = LLVMBuildAdd(b, *first, p[n].before, "");
        LLVMValueRef want =
            LLVMBuildAdd(b, splat(cg, from, PIECE), LLVMConstVector(number, PIECE), "");
        LLVMValueRef other = LLVMBuildICmp(b, LLVMIntNE, index[n], want, "");
        other = LLVMBuildZExt(b, LLVMBuildBitCast(b, other, cg->i16, ""), cg->i32, "");
        other = LLVMBuildAnd(b, other, first_lanes(cg, &p[n]), "");
        others = LLVMBuildOr(b, others, other, "");
    }
    uint64_t top = (w->is_signed ? 0x7fffffffu : 0xffffffffu) - (JIT_WARP - 1);
    LLVMValueRef fits =
        LLVMBuildICmp(b, w->is_signed ? LLVMIntSLE : LLVMIntULE, *first, c32(cg, top), "");
    return LLVMBuildAnd(b, fits, LLVMBuildICmp(b, LLVMIntEQ, others, c32(cg, 0), ""), "");
}

bool packed_store(struct codegen *cg, const struct access *a, const struct lane_addresses *w,
                  LLVMValueRef v, LLVMBasicBlockRef done)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMTypeRef t = LLVMVectorType(cg->i32, PIECE);
    if (!cg->alu.has_avx512 || cg->mask == NULL || a->vec != 1 || a->bytes != 4 ||
        w->index == NULL || w->scale != a->bytes || a->windowed)
        return false;
    LLVMBasicBlockRef store = new_bb(cg, "packed"), others = new_bb(cg, "not_packed");
    struct piece p[PIECES];
    LLVMValueRef first;
    find_pieces(cg, p);
    LLVMBuildCondBr(b, rise_by_one(cg, p, w, &first), store, others);
    LLVMPositionBuilderAtEnd(b, store);
    LLVMValueRef at = LLVMBuildMul(b, mem_widened(cg, w, first), c64(cg, w->scale), "");
    at = LLVMBuildIntToPtr(b, LLVMBuildAdd(b, w->base, at, ""), cg->ptr, "");
    v = LLVMBuildBitCast(b, v, cg->v32i32, "");
    for (unsigned n = 0; n < PIECES; n++) {
        LLVMValueRef before = LLVMBuildZExt(b, p[n].before, cg->i64, "");
        before = LLVMBuildMul(b, before, c64(cg, a->bytes), "");
        LLVMValueRef args[4] = {packed(cg, p, n, v), byte_offset(cg, at, before), c32(cg, a->bytes),
                                mask_of(cg, first_lanes(cg, &p[n]))};
        LLVMValueRef st =
            intrinsic(cg, "llvm.masked.store", (LLVMTypeRef[]){t, cg->ptr}, 2, args, 4);
        tag_memory(cg, st, a->space);
    }
    LLVMBuildBr(b, done);
    LLVMPositionBuilderAtEnd(b, others);
    return true;
}
