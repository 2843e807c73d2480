/* alignment_tests: tests of addresses that a loop steps along are made once, before the loop.
 *
 * Each access tests that its address is a multiple of its size. In a loop the address is a phi that
 * grows by a constant, as a rule one that has no part in that: LLVM does not see that the low bits
 * of what the loop begins with are the low bits of all that follow. Here `phi & 3` becomes `start &
 * 3`, and its comparison with 0 goes to where the start is known. The branch stays. warp_jamming.c
 * moves it out of the loop. */
#include <stdint.h>
#include <string.h>

#include <llvm-c/Core.h>

#include "compiler/llvm/llvm_passes.h"

enum { MAX_PHIS = 32 };

/* One test. Phis of each other and of one other value, to which constants are added, are that value
 * plus a constant, modulo a power of two. */
struct search {
    uint64_t mask; /* of the low bits that count */
    struct {
        LLVMValueRef phi;
        uint64_t plus; /* it is what is looked for, plus so much */
    } seen[MAX_PHIS];
    int nseen;
    LLVMValueRef start; /* the other value; NULL: none has been found */
    uint64_t plus;
};

/* Are the low bits of a constant, or of a value times a constant, zero? */
static bool is_multiple(const struct search *s, LLVMValueRef v)
{
    LLVMOpcode op = LLVMIsAInstruction(v) != NULL ? LLVMGetInstructionOpcode(v) : LLVMRet;
    if (LLVMIsAConstantInt(v) != NULL)
        return (LLVMConstIntGetZExtValue(v) & s->mask) == 0;
    if ((op != LLVMShl && op != LLVMMul) || LLVMIsAConstantInt(LLVMGetOperand(v, 1)) == NULL)
        return false;
    uint64_t n = LLVMConstIntGetZExtValue(LLVMGetOperand(v, 1));
    return op == LLVMShl ? n < 64 && (s->mask >> n) == 0 : (n & s->mask) == 0;
}

/* Follows v, which is what is looked for plus so much; false: there is no one other value. */
static bool follow(struct search *s, LLVMValueRef v, uint64_t plus)
{
    while (LLVMIsAInstruction(v) != NULL && LLVMGetInstructionOpcode(v) == LLVMAdd) {
        LLVMValueRef by = LLVMGetOperand(v, 1);
        if (LLVMIsAConstantInt(by) != NULL)
            plus -= LLVMConstIntGetZExtValue(by);
        else if (!is_multiple(s, by))
            break;
        v = LLVMGetOperand(v, 0);
    }
    plus &= s->mask;
    if (LLVMIsAPHINode(v) == NULL) {
        bool first = s->start == NULL;
        s->start = first ? v : s->start;
        s->plus = first ? plus : s->plus;
        return s->start == v && s->plus == plus;
    }
    for (int n = 0; n < s->nseen; n++)
        if (s->seen[n].phi == v)
            return s->seen[n].plus == plus;
    if (s->nseen == MAX_PHIS)
        return false;
    s->seen[s->nseen].phi = v;
    s->seen[s->nseen++].plus = plus;
    for (unsigned n = 0; n < LLVMCountIncoming(v); n++)
        if (!follow(s, LLVMGetIncomingValue(v, n), plus))
            return false;
    return true;
}

/* Puts the builder after the definition of a value. */
static void position_after(LLVMBuilderRef b, LLVMValueRef fn, LLVMValueRef v)
{
    LLVMValueRef at = LLVMIsAInstruction(v) != NULL
                          ? LLVMGetNextInstruction(v)
                          : LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(fn));
    while (LLVMIsAPHINode(at) != NULL)
        at = LLVMGetNextInstruction(at);
    LLVMPositionBuilderBefore(b, at);
}

static bool is_zero(LLVMValueRef v)
{
    return LLVMIsAConstantInt(v) != NULL && LLVMConstIntGetZExtValue(v) == 0;
}

/* Moves the comparison with 0 of `masked`, which is v & mask. */
static void move_test(LLVMBuilderRef b, LLVMValueRef fn, LLVMValueRef masked, LLVMValueRef test)
{
    LLVMValueRef v = LLVMGetOperand(masked, 0), mask = LLVMGetOperand(masked, 1);
    struct search s = {.mask = LLVMConstIntGetZExtValue(mask)};
    if (!follow(&s, v, 0) || s.nseen == 0 || LLVMIsAConstant(s.start) != NULL)
        return;
    position_after(b, fn, s.start);
    LLVMValueRef low = LLVMConstInt(LLVMTypeOf(v), -s.plus & s.mask, false);
    low = LLVMBuildAnd(b, LLVMBuildAdd(b, s.start, low, ""), mask, "");
    LLVMValueRef made =
        LLVMBuildICmp(b, LLVMGetICmpPredicate(test), low, LLVMConstNull(LLVMTypeOf(v)), "");
    LLVMReplaceAllUsesWith(test, made);
    LLVMInstructionEraseFromParent(test);
}

/* Is it a comparison of the low bits of an integer with 0? */
static bool is_test(LLVMValueRef i)
{
    if (LLVMIsAICmpInst(i) == NULL || !is_zero(LLVMGetOperand(i, 1)) ||
        (LLVMGetICmpPredicate(i) != LLVMIntEQ && LLVMGetICmpPredicate(i) != LLVMIntNE))
        return false;
    LLVMValueRef masked = LLVMGetOperand(i, 0), mask;
    if (LLVMIsAInstruction(masked) == NULL || LLVMGetInstructionOpcode(masked) != LLVMAnd)
        return false;
    mask = LLVMGetOperand(masked, 1);
    if (LLVMIsAConstantInt(mask) == NULL || LLVMGetIntTypeWidth(LLVMTypeOf(mask)) > 64)
        return false;
    uint64_t m = LLVMConstIntGetZExtValue(mask);
    return m != 0 && (m & (m + 1)) == 0;
}

void move_alignment_tests(LLVMModuleRef m, LLVMValueRef fn)
{
    LLVMBuilderRef b = LLVMCreateBuilderInContext(LLVMGetModuleContext(m));
    for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb != NULL;
         bb = LLVMGetNextBasicBlock(bb))
        for (LLVMValueRef i = LLVMGetFirstInstruction(bb), next; i != NULL; i = next) {
            next = LLVMGetNextInstruction(i);
            if (is_test(i))
                move_test(b, fn, LLVMGetOperand(i, 0), i);
        }
    LLVMDisposeBuilder(b);
}
