/* baseline_prepare: what is done for baseline code (baseline.c) before values that outlive a block
 * are brought into variables: patterns of several instructions are only seen while they are in one
 * piece. */
#include "compiler/llvm/baseline.h"

#include <stdbool.h>
#include <stddef.h>

/* The integer of which a mask's lanes are the bits, as emitters write that: lane k is whether
 * x & 1 << k is not 0. NULL: it is something else. *inverse: whether it is 0. */
static LLVMValueRef mask_source(LLVMValueRef i, bool *inverse)
{
    LLVMIntPredicate p = LLVMGetICmpPredicate(i);
    LLVMValueRef x = LLVMGetOperand(i, 0), zero = LLVMGetOperand(i, 1), bit, splat, one;
    unsigned n = LLVMGetVectorSize(LLVMTypeOf(i));
    if ((p != LLVMIntEQ && p != LLVMIntNE) || !LLVMIsNull(zero) || !LLVMIsAInstruction(x) ||
        LLVMGetInstructionOpcode(x) != LLVMAnd)
        return NULL;
    *inverse = p == LLVMIntEQ;
    splat = LLVMGetOperand(x, 0);
    bit = LLVMGetOperand(x, 1);
    if (!LLVMIsConstant(bit) || !LLVMIsAShuffleVectorInst(splat))
        return NULL;
    one = LLVMGetOperand(splat, 0);
    if (!LLVMIsAInsertElementInst(one) || !LLVMIsNull(LLVMGetOperand(one, 2)))
        return NULL;
    for (unsigned k = 0; k < n; k++) {
        LLVMValueRef c = LLVMGetAggregateElement(bit, k);
        if (LLVMGetMaskValue(splat, k) != 0 || c == NULL || !LLVMIsAConstantInt(c) ||
            LLVMConstIntGetZExtValue(c) != 1ull << k)
            return NULL;
    }
    LLVMValueRef scalar = LLVMGetOperand(one, 1);
    return LLVMGetIntTypeWidth(LLVMTypeOf(scalar)) == n ? scalar : NULL;
}

/* Such an integer is the mask. What it was made of goes with it. */
static void mask_from_bits(LLVMBuilderRef b, LLVMValueRef i)
{
    bool inverse;
    if (!LLVMIsAICmpInst(i) || LLVMGetTypeKind(LLVMTypeOf(i)) != LLVMVectorTypeKind)
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

/* A pointer into memory of the function is computed where it is used, so that it is seen there. */
static void bring_pointer(LLVMBuilderRef b, LLVMValueRef i, unsigned operand)
{
    LLVMValueRef p = LLVMGetOperand(i, operand);
    if (!LLVMIsAGetElementPtrInst(p) || !LLVMIsAAllocaInst(LLVMGetOperand(p, 0)) ||
        LLVMGetNumOperands(p) != 2 || !LLVMIsConstant(LLVMGetOperand(p, 1)) ||
        LLVMGetInstructionParent(p) == LLVMGetInstructionParent(i))
        return;
    LLVMPositionBuilderBefore(b, i);
    LLVMValueRef copy = LLVMInstructionClone(p);
    LLVMInsertIntoBuilder(b, copy);
    LLVMSetOperand(i, operand, copy);
}

/* "Or else" of two conditions is "or": no pass comes any more that could take the second one for
 * defined only where the first one does not decide. */
static void plain_logic(LLVMBuilderRef b, LLVMValueRef i)
{
    LLVMTypeRef t = LLVMTypeOf(i);
    if (LLVMGetTypeKind(t) != LLVMIntegerTypeKind || LLVMGetIntTypeWidth(t) != 1)
        return;
    LLVMValueRef c = LLVMGetOperand(i, 0), yes = LLVMGetOperand(i, 1), no = LLVMGetOperand(i, 2);
    bool or = LLVMIsAConstantInt(yes) && LLVMConstIntGetZExtValue(yes) == 1;
    bool and = LLVMIsAConstantInt(no) && LLVMConstIntGetZExtValue(no) == 0;
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
        for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb))
            for (LLVMValueRef i = LLVMGetFirstInstruction(bb), next; i != NULL; i = next) {
                next = LLVMGetNextInstruction(i);
                if (LLVMIsALoadInst(i))
                    bring_pointer(b, i, 0);
                else if (LLVMIsAStoreInst(i))
                    bring_pointer(b, i, 1);
                else if (LLVMIsASelectInst(i))
                    plain_logic(b, i);
                else
                    mask_from_bits(b, i);
            }
    LLVMDisposeBuilder(b);
}
