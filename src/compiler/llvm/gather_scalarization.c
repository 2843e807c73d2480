/* gather_scalarization: loads lane by lane what a gather would load, where the CPU's gathers take
 * longer than that (compiler/gather_speed.h).
 *
 * The lanes' addresses are most often a base plus an index of 32 bits, or differ by constants: the
 * scalar loads then need no vector of addresses. Inactive lanes must not load from where they
 * point, so they load from a constant of zeros instead, and all addresses are a vector from which
 * is chosen: gathers under masks stay more often.
 *
 * A gather is one instruction of LLVM and becomes a hundred: kernels with very many keep theirs,
 * which compile in reasonable time. */
#include <string.h>

#include "abi/plugin.h"
#include "base/base.h"
#include "compiler/llvm/llvm_passes.h"
#include "compiler/llvm/llvm_values.h"
#include "compiler/llvm/strip_mining.h"

enum {
    MOST_LANES = 64 * JIT_WARP, /* of all gathers of a module */
    MAX_DEPTH = 3,              /* of the arithmetic that is repeated for a lane */
    MOST_SOUGHT = 200           /* instructions among which a gather is sought */
};

struct scalarization {
    LLVMContextRef ctx;
    LLVMModuleRef module;
    LLVMBuilderRef b;
    LLVMTypeRef i32;
    LLVMTypeRef i64;
    struct slow_gathers slow;
    LLVMValueRef zeros;       /* what inactive lanes load; NULL: not made yet */
    LLVMValueRef pairs, pair; /* of the vector `pairs`, the last two lanes that were taken out */
    unsigned pair_number;
};

static bool is_gather(LLVMValueRef v)
{
    return LLVMIsACallInst(v) != NULL && !strncmp(strip_callee(v), "llvm.masked.gather.", 19);
}

static LLVMValueRef lane_constant(const struct scalarization *s, unsigned lane)
{
    return LLVMConstInt(s->i32, lane, false);
}

static bool is_binary(LLVMValueRef v)
{
    switch (LLVMGetInstructionOpcode(v)) {
    case LLVMAdd:
    case LLVMSub:
    case LLVMMul:
    case LLVMShl: return true;
    default: return false;
    }
}

/* Is a lane of the vector known, or one scalar's, so that it need not be taken out of a register?
 */
static bool is_scalar(LLVMValueRef v, int depth)
{
    if (LLVMIsAConstant(v) != NULL)
        return LLVMGetAggregateElement(v, 0) != NULL;
    if (LLVMIsAInstruction(v) == NULL)
        return false;
    if (LLVMIsAShuffleVectorInst(v) != NULL)
        return strip_splat(v) != NULL;
    return depth > 0 && is_binary(v) && is_scalar(LLVMGetOperand(v, 0), depth - 1) &&
           is_scalar(LLVMGetOperand(v, 1), depth - 1);
}

/* Lane `lane` of a vector. Words leave it by two: that takes half as many moves between registers
 * of vectors and of integers, of which CPUs begin one a cycle (2.7 ns in place of 4.2 for eight
 * lanes on a Zen 3). */
static LLVMValueRef take_out(struct scalarization *s, LLVMValueRef v, unsigned lane)
{
    LLVMTypeRef t = LLVMTypeOf(v);
    unsigned lanes = LLVMGetVectorSize(t);
    if (LLVMGetElementType(t) != s->i32 || lanes % 2 != 0)
        return LLVMBuildExtractElement(s->b, v, lane_constant(s, lane), "");
    if (s->pairs != v || s->pair_number != lane / 2) {
        LLVMValueRef by_two = LLVMBuildBitCast(s->b, v, LLVMVectorType(s->i64, lanes / 2), "");
        s->pair = LLVMBuildExtractElement(s->b, by_two, lane_constant(s, lane / 2), "");
        s->pairs = v;
        s->pair_number = lane / 2;
    }
    LLVMValueRef word = s->pair;
    if (lane % 2 != 0)
        word = LLVMBuildLShr(s->b, word, LLVMConstInt(s->i64, 32, false), "");
    return LLVMBuildTrunc(s->b, word, s->i32, "");
}

/* The value of a lane. */
static LLVMValueRef lane_of(struct scalarization *s, LLVMValueRef v, unsigned lane, int depth)
{
    LLVMBuilderRef b = s->b;
    if (LLVMIsAConstant(v) != NULL && LLVMGetAggregateElement(v, lane) != NULL)
        return LLVMGetAggregateElement(v, lane);
    if (LLVMIsAShuffleVectorInst(v) != NULL && strip_splat(v) != NULL)
        return strip_splat(v);
    if (LLVMIsASExtInst(v) != NULL || LLVMIsAZExtInst(v) != NULL) {
        LLVMValueRef x = lane_of(s, LLVMGetOperand(v, 0), lane, depth);
        return LLVMBuildCast(b, LLVMGetInstructionOpcode(v), x, LLVMGetElementType(LLVMTypeOf(v)),
                             "");
    }
    if (depth > 0 && LLVMIsAInstruction(v) != NULL && is_scalar(v, depth))
        return LLVMBuildBinOp(b, LLVMGetInstructionOpcode(v),
                              lane_of(s, LLVMGetOperand(v, 0), lane, depth - 1),
                              lane_of(s, LLVMGetOperand(v, 1), lane, depth - 1), "");
    return take_out(s, v, lane);
}

/* The pointer of a lane. */
static LLVMValueRef lane_pointer(struct scalarization *s, LLVMValueRef at, unsigned lane)
{
    if (LLVMIsAIntToPtrInst(at) != NULL)
        return LLVMBuildIntToPtr(s->b, lane_of(s, LLVMGetOperand(at, 0), lane, MAX_DEPTH),
                                 LLVMGetElementType(LLVMTypeOf(at)), "");
    if (LLVMIsAGetElementPtrInst(at) == NULL || LLVMGetNumOperands(at) != 2)
        return LLVMBuildExtractElement(s->b, at, lane_constant(s, lane), "");
    LLVMValueRef base = LLVMGetOperand(at, 0), index = LLVMGetOperand(at, 1);
    if (strip_is_vector(LLVMTypeOf(base)))
        base = lane_pointer(s, base, lane);
    if (strip_is_vector(LLVMTypeOf(index)))
        index = lane_of(s, index, lane, MAX_DEPTH);
    return LLVMBuildGEP2(s->b, LLVMGetGEPSourceElementType(at), base, &index, 1, "");
}

static LLVMValueRef zeros(struct scalarization *s)
{
    if (s->zeros == NULL) {
        LLVMTypeRef t = LLVMArrayType2(LLVMInt64TypeInContext(s->ctx), 2);
        s->zeros = LLVMAddGlobal(s->module, t, "weir_inactive_lanes_load");
        LLVMSetInitializer(s->zeros, LLVMConstNull(t));
        LLVMSetGlobalConstant(s->zeros, true);
        LLVMSetLinkage(s->zeros, LLVMInternalLinkage);
        LLVMSetAlignment(s->zeros, 16);
    }
    return s->zeros;
}

static LLVMValueRef splat(const struct scalarization *s, LLVMValueRef v, unsigned lanes)
{
    LLVMTypeRef t = LLVMVectorType(LLVMTypeOf(v), lanes);
    v = LLVMBuildInsertElement(s->b, LLVMGetPoison(t), v, lane_constant(s, 0), "");
    return LLVMBuildShuffleVector(s->b, v, LLVMGetPoison(t),
                                  LLVMConstNull(LLVMVectorType(s->i32, lanes)), "");
}

/* Is the constant mask true in all lanes? */
static bool all_active(LLVMValueRef mask)
{
    LLVMTypeRef t = LLVMTypeOf(mask);
    return mask == LLVMConstAllOnes(t);
}

/* A gather that stays, of unsigned indices of 32 bits: x86 has signed ones only, and LLVM widens
 * these to 64 bits, of which half as many fit into a register. With its highest bit turned round an
 * index is what it was less 2^31 as a signed number, and the base can have these. */
static void make_index_signed(struct scalarization *s, LLVMValueRef gather)
{
    LLVMBuilderRef b = s->b;
    LLVMValueRef at = LLVMGetOperand(gather, 0);
    if (LLVMIsAGetElementPtrInst(at) == NULL || LLVMGetNumOperands(at) != 2 ||
        strip_is_vector(LLVMTypeOf(LLVMGetOperand(at, 0))))
        return;
    LLVMValueRef base = LLVMGetOperand(at, 0), wide = LLVMGetOperand(at, 1);
    LLVMTypeRef element = LLVMGetGEPSourceElementType(at);
    if (LLVMIsAZExtInst(wide) == NULL)
        return;
    LLVMValueRef index = LLVMGetOperand(wide, 0);
    LLVMTypeRef t = LLVMTypeOf(index);
    if (LLVMGetElementType(t) != s->i32)
        return;
    LLVMPositionBuilderBefore(b, gather);
    if (!LLVMGetNNeg(wide)) {
        LLVMValueRef top = LLVMConstInt(s->i32, 1u << 31, false);
        LLVMValueRef more = LLVMConstInt(s->i64, 1ull << 31, false);
        index = LLVMBuildXor(b, index, splat(s, top, LLVMGetVectorSize(t)), "");
        base = LLVMBuildGEP2(b, element, base, &more, 1, "");
    }
    index = LLVMBuildSExt(b, index, LLVMTypeOf(wide), "");
    LLVMSetOperand(gather, 0, LLVMBuildGEP2(b, element, base, &index, 1, ""));
}

/* Does the address follow from what the gather has read a turn before, as in searches? */
static bool follows_itself(LLVMValueRef gather)
{
    LLVMValueRef sought[MOST_SOUGHT] = {LLVMGetOperand(gather, 0)};
    int count = 1;
    for (int n = 0; n < count; n++) {
        LLVMValueRef v = sought[n];
        if (v == gather)
            return true;
        int operands = LLVMIsAInstruction(v) != NULL ? LLVMGetNumOperands(v) : 0;
        for (int k = 0; k < operands && count < MOST_SOUGHT; k++) {
            LLVMValueRef o = LLVMGetOperand(v, (unsigned)k);
            int m = 0;
            while (m < count && sought[m] != o)
                m++;
            if (m == count && LLVMIsAInstruction(o) != NULL)
                sought[count++] = o;
        }
    }
    return false;
}

/* Under a mask, what is measured holds where gathers are many and wait for nothing. Where each
 * waits for the one before, the CPU has nothing else to do meanwhile, and they take as much longer
 * than loads as without a mask (searches in lists by parts of warps: 1.2 to 1.5 times, on a Zen 3).
 */
static bool is_slow(const struct scalarization *s, LLVMValueRef gather)
{
    if (all_active(LLVMGetOperand(gather, 2)))
        return s->slow.full;
    return s->slow.masked || (s->slow.full && follows_itself(gather));
}

static void scalarize(struct scalarization *s, LLVMValueRef gather)
{
    LLVMBuilderRef b = s->b;
    LLVMTypeRef t = LLVMTypeOf(gather);
    LLVMValueRef at = LLVMGetOperand(gather, 0), mask = LLVMGetOperand(gather, 2),
                 absent = LLVMGetOperand(gather, 3);
    unsigned lanes = LLVMGetVectorSize(t);
    bool all = all_active(mask);
    if (!is_slow(s, gather)) {
        make_index_signed(s, gather);
        return;
    }
    LLVMPositionBuilderBefore(b, gather);
    s->pairs = NULL;
    if (!all)
        at = LLVMBuildSelect(b, mask, at, splat(s, zeros(s), lanes), "");
    LLVMValueRef v = LLVMGetPoison(t);
    for (unsigned l = 0; l < lanes; l++) {
        LLVMValueRef x = LLVMBuildLoad2(b, LLVMGetElementType(t), lane_pointer(s, at, l), "");
        LLVMSetAlignment(x, (unsigned)LLVMConstIntGetZExtValue(LLVMGetOperand(gather, 1)));
        copy_all_metadata(gather, x);
        v = LLVMBuildInsertElement(b, v, x, lane_constant(s, l), "");
    }
    if (!all && !LLVMIsUndef(absent) && absent != LLVMConstNull(t))
        v = LLVMBuildSelect(b, mask, v, absent, "");
    LLVMReplaceAllUsesWith(gather, v);
    LLVMInstructionEraseFromParent(gather);
}

static unsigned count_lanes(LLVMModuleRef m)
{
    unsigned n = 0;
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f != NULL; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(f); bb; bb = LLVMGetNextBasicBlock(bb))
            for (LLVMValueRef i = LLVMGetFirstInstruction(bb); i; i = LLVMGetNextInstruction(i))
                n += is_gather(i) ? LLVMGetVectorSize(LLVMTypeOf(i)) : 0;
    return n;
}

void scalarize_gathers(LLVMModuleRef m, struct slow_gathers slow)
{
    if (count_lanes(m) > MOST_LANES)
        slow = (struct slow_gathers){false, false};
    LLVMContextRef ctx = LLVMGetModuleContext(m);
    struct scalarization s = {.ctx = ctx,
                              .module = m,
                              .b = LLVMCreateBuilderInContext(ctx),
                              .i32 = LLVMInt32TypeInContext(ctx),
                              .i64 = LLVMInt64TypeInContext(ctx),
                              .slow = slow};
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f != NULL; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(f); bb; bb = LLVMGetNextBasicBlock(bb))
            for (LLVMValueRef i = LLVMGetFirstInstruction(bb), next; i != NULL; i = next) {
                next = LLVMGetNextInstruction(i);
                if (is_gather(i))
                    scalarize(&s, i);
            }
    LLVMDisposeBuilder(s.b);
}
