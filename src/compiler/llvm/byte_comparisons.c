/* byte_comparisons: small numbers that are compared for votes are compared as bytes.
 *
 * Where a program asks which lanes have a digit, `ballot(digit == d)`, and that for each d, all
 * that is made of a comparison of 32 words is an integer of their bits. Of 32 words that is a
 * comparison a register and what brings them together; of 32 bytes it is one comparison, and one
 * move of its bits. So vectors whose elements are proved to be less than 256 are made bytes once,
 * where that is less than what the comparisons of words take. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/base.h"
#include "compiler/llvm/llvm_passes.h"
#include "compiler/llvm/llvm_values.h"

enum {
    LANES = 32,
    WORD = 32,
    BYTE_VALUES = 256,
    MAX_DEPTH = 6, /* of what a value is made of */
    /* Comparisons for which it pays: without registers for masks, and with them. */
    FEWEST = 2,
    FEWEST_AVX512 = 4
};

struct bytes {
    LLVMBuilderRef b;
    LLVMTypeRef i32, bytes;
    bool avx512, changed;
};

struct comparisons {
    LLVMValueRef *of;
    size_t n;
};

static bool is_words(LLVMValueRef v) { return integer_lanes(v, WORD) == LANES; }

/* Are all elements of a constant less than some number? */
static bool is_small_constant(LLVMValueRef v, uint64_t than)
{
    if (LLVMIsAConstant(v) == NULL)
        return false;
    for (unsigned l = 0; l < LANES; l++) {
        LLVMValueRef e = LLVMGetAggregateElement(v, l);
        if (e == NULL || LLVMIsAConstantInt(e) == NULL || LLVMConstIntGetZExtValue(e) >= than)
            return false;
    }
    return true;
}

/* Are all elements of words less than 256? */
static bool fits(LLVMValueRef v, int depth)
{
    if (is_small_constant(v, BYTE_VALUES))
        return true;
    if (depth == 0)
        return false;
    if (is_op(v, LLVMZExt)) {
        LLVMTypeRef from = LLVMGetElementType(LLVMTypeOf(LLVMGetOperand(v, 0)));
        return LLVMGetIntTypeWidth(from) <= 8;
    }
    if (is_op(v, LLVMAnd))
        return fits(LLVMGetOperand(v, 0), depth - 1) || fits(LLVMGetOperand(v, 1), depth - 1);
    if (is_op(v, LLVMOr) || is_op(v, LLVMXor))
        return fits(LLVMGetOperand(v, 0), depth - 1) && fits(LLVMGetOperand(v, 1), depth - 1);
    if (is_op(v, LLVMSelect))
        return fits(LLVMGetOperand(v, 1), depth - 1) && fits(LLVMGetOperand(v, 2), depth - 1);
    if (is_op(v, LLVMLShr)) {
        LLVMValueRef by = LLVMGetOperand(v, 1);
        bool far = is_small_constant(by, WORD);
        for (unsigned l = 0; far && l < LANES; l++)
            far = LLVMConstIntGetZExtValue(LLVMGetAggregateElement(by, l)) >= WORD - 8;
        return far || fits(LLVMGetOperand(v, 0), depth - 1);
    }
    return false;
}

/* Is it a comparison of v with small constants of which nothing but an integer of bits is made? */
static bool is_for_votes(const struct bytes *p, LLVMValueRef i, LLVMValueRef v)
{
    if (!is_op(i, LLVMICmp) || LLVMGetOperand(i, 0) != v || LLVMGetFirstUse(i) == NULL ||
        !is_small_constant(LLVMGetOperand(i, 1), BYTE_VALUES))
        return false;
    for (LLVMUseRef use = LLVMGetFirstUse(i); use != NULL; use = LLVMGetNextUse(use))
        if (!is_op(LLVMGetUser(use), LLVMBitCast) || LLVMTypeOf(LLVMGetUser(use)) != p->i32)
            return false;
    return true;
}

static struct comparisons comparisons_of(const struct bytes *p, LLVMValueRef v)
{
    struct comparisons c = {.of = NULL};
    for (LLVMUseRef use = LLVMGetFirstUse(v); use != NULL; use = LLVMGetNextUse(use)) {
        if (!is_for_votes(p, LLVMGetUser(use), v))
            continue;
        c.of = xrealloc(c.of, (c.n + 1) * sizeof *c.of);
        c.of[c.n++] = LLVMGetUser(use);
    }
    return c;
}

static void position_after(const struct bytes *p, LLVMValueRef v)
{
    LLVMValueRef next = LLVMGetNextInstruction(v);
    while (is_op(next, LLVMPHI))
        next = LLVMGetNextInstruction(next);
    LLVMPositionBuilderBefore(p->b, next);
}

/* Both sides are less than 256: with or without sign, they compare as bytes without. */
static void compare_bytes(const struct bytes *p, LLVMValueRef i, LLVMValueRef bytes)
{
    LLVMIntPredicate how = LLVMGetICmpPredicate(i);
    how = how >= LLVMIntSGT ? how - LLVMIntSGT + LLVMIntUGT : how;
    LLVMValueRef with = LLVMConstTrunc(LLVMGetOperand(i, 1), p->bytes);
    LLVMPositionBuilderBefore(p->b, i);
    LLVMReplaceAllUsesWith(i, LLVMBuildICmp(p->b, how, bytes, with, ""));
}

static void visit(struct bytes *p, LLVMValueRef v)
{
    if (!is_words(v) || LLVMIsATerminatorInst(v) != NULL || !fits(v, MAX_DEPTH))
        return;
    struct comparisons c = comparisons_of(p, v);
    if (c.n >= (p->avx512 ? FEWEST_AVX512 : FEWEST)) {
        position_after(p, v);
        LLVMValueRef bytes =
            p->avx512 ? LLVMBuildTrunc(p->b, v, p->bytes, "") : packed_words(p->b, v, false);
        for (size_t n = 0; n < c.n; n++)
            compare_bytes(p, c.of[n], bytes);
        p->changed = true;
    }
    free(c.of);
}

bool compare_as_bytes(LLVMModuleRef module, bool avx512)
{
    LLVMContextRef ctx = LLVMGetModuleContext(module);
    struct bytes p = {.b = LLVMCreateBuilderInContext(ctx),
                      .i32 = LLVMInt32TypeInContext(ctx),
                      .bytes = LLVMVectorType(LLVMInt8TypeInContext(ctx), LANES),
                      .avx512 = avx512};
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f != NULL; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b != NULL;
             b = LLVMGetNextBasicBlock(b))
            for (LLVMValueRef i = LLVMGetFirstInstruction(b); i != NULL;
                 i = LLVMGetNextInstruction(i))
                visit(&p, i);
    LLVMDisposeBuilder(p.b);
    return p.changed;
}
