/* baseline_prepare: prepares kernels for baseline code (baseline.c) before values that outlive a
 * block become variables: patterns of several instructions can be matched only until then. */
#include "compiler/llvm/baseline.h"

#include <stdbool.h>
#include <stddef.h>

/* The integer whose bits are the lanes of a mask, as code generation writes that: lane k is whether
 * x & 1 << k is not 0. NULL: it is something else. *inverse: whether it is 0. */
static LLVMValueRef mask_source(LLVMValueRef i, bool *inverse)
{
    LLVMIntPredicate p = LLVMGetICmpPredicate(i);
    LLVMValueRef x = LLVMGetOperand(i, 0), zero = LLVMGetOperand(i, 1), bit, splat, one;
    unsigned n = LLVMGetVectorSize(LLVMTypeOf(i));
    if ((p != LLVMIntEQ && p != LLVMIntNE) || !LLVMIsNull(zero) || LLVMIsAInstruction(x) == NULL ||
        LLVMGetInstructionOpcode(x) != LLVMAnd)
        return NULL;
    *inverse = p == LLVMIntEQ;
    splat = LLVMGetOperand(x, 0);
    bit = LLVMGetOperand(x, 1);
    if (!LLVMIsConstant(bit) || LLVMIsAShuffleVectorInst(splat) == NULL)
        return NULL;
    one = LLVMGetOperand(splat, 0);
    if (LLVMIsAInsertElementInst(one) == NULL || !LLVMIsNull(LLVMGetOperand(one, 2)))
        return NULL;
    for (unsigned k = 0; k < n; k++) {
        LLVMValueRef c = LLVMGetAggregateElement(bit, k);
        if (LLVMGetMaskValue(splat, k) != 0 || c == NULL || LLVMIsAConstantInt(c) == NULL ||
            LLVMConstIntGetZExtValue(c) != 1ull << k)
            return NULL;
    }
    LLVMValueRef scalar = LLVMGetOperand(one, 1);
    return LLVMGetIntTypeWidth(LLVMTypeOf(scalar)) == n ? scalar : NULL;
}

/* Replaces such a mask by a cast of the integer, and erases what it was computed from. */
static void mask_from_bits(LLVMBuilderRef b, LLVMValueRef i)
{
    bool inverse;
    if (LLVMIsAICmpInst(i) == NULL || LLVMGetTypeKind(LLVMTypeOf(i)) != LLVMVectorTypeKind)
        return;
    LLVMValueRef bits = mask_source(i, &inverse), and = LLVMGetOperand(i, 0);
    if (bits == NULL)
        return;
    LLVMPositionBuilderBefore(b, i);
    if (inverse)
        bits = LLVMBuildNot(b, bits, "");
    LLVMReplaceAllUsesWith(i, LLVMBuildBitCast(b, bits, LLVMTypeOf(i), ""));
    LLVMInstructionEraseFromParent(i);
    if (LLVMGetFirstUse(and) == NULL)
        LLVMInstructionEraseFromParent(and); /* the rest is shared, or splats without a use */
}

/* Computes an operand anew before its use in another block. */
static void sink(LLVMBuilderRef b, LLVMValueRef i, unsigned operand)
{
    LLVMValueRef v = LLVMGetOperand(i, operand);
    if (LLVMGetInstructionParent(v) == LLVMGetInstructionParent(i))
        return;
    LLVMPositionBuilderBefore(b, i);
    LLVMValueRef copy = LLVMInstructionClone(v);
    LLVMInsertIntoBuilder(b, copy);
    LLVMSetOperand(i, operand, copy);
}

/* Sinks a pointer into the function's memory to its use, where it can be matched. */
static void sink_pointer(LLVMBuilderRef b, LLVMValueRef i, unsigned operand)
{
    LLVMValueRef p = LLVMGetOperand(i, operand);
    if (LLVMIsAGetElementPtrInst(p) != NULL && LLVMIsAAllocaInst(LLVMGetOperand(p, 0)) != NULL &&
        LLVMGetNumOperands(p) == 2 && LLVMIsConstant(LLVMGetOperand(p, 1)))
        sink(b, i, operand);
}

/* Sinks masks of more lanes than an integer has bits, which are others' lanes several times each:
 * those outlive the block instead. */
static void sink_masks(LLVMBuilderRef b, LLVMValueRef i)
{
    unsigned n = LLVMIsASelectInst(i) != NULL ? 1 : LLVMGetNumArgOperands(i);
    for (unsigned k = 0; k < n; k++) {
        LLVMValueRef v = LLVMGetOperand(i, k);
        LLVMTypeRef t = LLVMTypeOf(v);
        if (LLVMIsAShuffleVectorInst(v) != NULL && LLVMGetVectorSize(t) > 64 &&
            LLVMGetElementType(t) == LLVMInt1TypeInContext(LLVMGetTypeContext(t)))
            sink(b, i, k);
    }
}

/* Replaces "select" of two conditions by "or" or "and": no later pass relies on the second one
 * being defined only where the first one does not decide. */
static void simplify_logic(LLVMBuilderRef b, LLVMValueRef i)
{
    LLVMTypeRef t = LLVMTypeOf(i);
    if (LLVMGetTypeKind(t) != LLVMIntegerTypeKind || LLVMGetIntTypeWidth(t) != 1)
        return;
    LLVMValueRef c = LLVMGetOperand(i, 0), yes = LLVMGetOperand(i, 1), no = LLVMGetOperand(i, 2);
    bool or = LLVMIsAConstantInt(yes) != NULL && LLVMConstIntGetZExtValue(yes) == 1;
    bool and = LLVMIsAConstantInt(no) != NULL && LLVMConstIntGetZExtValue(no) == 0;
    if (!or &&!and)
        return;
    LLVMPositionBuilderBefore(b, i);
    LLVMReplaceAllUsesWith(i, or ? LLVMBuildOr(b, c, no, "") : LLVMBuildAnd(b, c, yes, ""));
    LLVMInstructionEraseFromParent(i);
}

void baseline_prepare(LLVMModuleRef m)
{
    LLVMBuilderRef b = LLVMCreateBuilderInContext(LLVMGetModuleContext(m));
    for (LLVMValueRef fn = LLVMGetFirstFunction(m); fn != NULL; fn = LLVMGetNextFunction(fn))
        for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb != NULL;
             bb = LLVMGetNextBasicBlock(bb))
            for (LLVMValueRef i = LLVMGetFirstInstruction(bb), next; i != NULL; i = next) {
                next = LLVMGetNextInstruction(i);
                if (LLVMIsASelectInst(i) != NULL || LLVMIsACallInst(i) != NULL)
                    sink_masks(b, i);
                if (LLVMIsALoadInst(i) != NULL)
                    sink_pointer(b, i, 0);
                else if (LLVMIsAStoreInst(i) != NULL)
                    sink_pointer(b, i, 1);
                else if (LLVMIsASelectInst(i) != NULL)
                    simplify_logic(b, i);
                else
                    mask_from_bits(b, i);
            }
    LLVMDisposeBuilder(b);
}
