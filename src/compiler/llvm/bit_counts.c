/* bit_counts: bits of words counted by fewer instructions, without AVX-512.
 *
 * A CPU with AVX2 counts the bits of four at a time by a table of 16 bytes. LLVM adds up the bytes
 * of a word by sums of quadwords, for which it spreads the words over two registers and packs them
 * again; sums of products with 1 add neighbours at once. And whether the lowest bit that is set is
 * one that is known, as where a lane asks whether it is the first of a mask, is asked of the bits
 * up to that, with no count. */
#include "base/base.h"
#include "compiler/llvm/llvm_passes.h"
#include "compiler/llvm/llvm_values.h"

enum {
    MAX_LANES = 32,
    WORD = 32,
    REGISTER = 8 /* words */
};

struct bit_counts {
    LLVMBuilderRef b;
    LLVMTypeRef i8, i16, i32;
    bool changed;
};

/* Lanes of a vector of words, if it is one of whole registers; else 0. */
static unsigned word_lanes(LLVMValueRef v)
{
    unsigned n = integer_lanes(v, WORD);
    return n == 8 || n == 16 || n == MAX_LANES ? n : 0;
}

static LLVMValueRef ones(LLVMTypeRef element, unsigned n)
{
    LLVMValueRef each[MAX_LANES];
    for (unsigned l = 0; l < n; l++)
        each[l] = LLVMConstInt(element, 1, false);
    return LLVMConstVector(each, n);
}

/* The counts of a register's words. */
static LLVMValueRef count_register(const struct bit_counts *c, LLVMValueRef v)
{
    static const char name[] = "llvm.ctpop";
    LLVMTypeRef bytes = LLVMVectorType(c->i8, REGISTER * 4);
    LLVMModuleRef module = LLVMGetGlobalParent(LLVMGetBasicBlockParent(LLVMGetInsertBlock(c->b)));
    LLVMValueRef f = LLVMGetIntrinsicDeclaration(
        module, LLVMLookupIntrinsicID(name, sizeof name - 1), &bytes, 1);
    v = LLVMBuildBitCast(c->b, v, bytes, "");
    v = LLVMBuildCall2(c->b, LLVMGlobalGetValueType(f), f, &v, 1, "");
    LLVMValueRef halves[2] = {v, ones(c->i8, REGISTER * 4)}, words[2];
    words[0] = machine_call(c->b, "llvm.x86.avx2.pmadd.ub.sw", halves, 2);
    words[1] = ones(c->i16, REGISTER * 2);
    return machine_call(c->b, "llvm.x86.avx2.pmadd.wd", words, 2);
}

static void count(struct bit_counts *c, LLVMValueRef i)
{
    unsigned lanes = word_lanes(i);
    if (lanes == 0)
        return;
    LLVMPositionBuilderBefore(c->b, i);
    LLVMValueRef part[MAX_LANES / REGISTER];
    for (unsigned n = 0; n < lanes / REGISTER; n++)
        part[n] = count_register(c, part_of(c->b, LLVMGetOperand(i, 0), n * REGISTER, REGISTER));
    LLVMReplaceAllUsesWith(i, joined_parts(c->b, part, lanes / REGISTER));
    c->changed = true;
}

/* Is a constant's every element a word's bit? */
static bool are_bits(LLVMValueRef v, unsigned lanes)
{
    for (unsigned l = 0; l < lanes; l++) {
        LLVMValueRef e = LLVMIsAConstant(v) != NULL ? LLVMGetAggregateElement(v, l) : NULL;
        if (e == NULL || LLVMIsAConstantInt(e) == NULL || LLVMConstIntGetZExtValue(e) >= WORD)
            return false;
    }
    return true;
}

/* Whether the lowest bit is one that is known, or not. */
static void compare_lowest(struct bit_counts *c, LLVMValueRef i)
{
    LLVMValueRef lowest = LLVMGetOperand(i, 0), which = LLVMGetOperand(i, 1);
    LLVMIntPredicate p = LLVMGetICmpPredicate(i);
    unsigned lanes = calls_intrinsic(lowest, "llvm.cttz") ? word_lanes(lowest) : 0;
    if (lanes == 0 || (p != LLVMIntEQ && p != LLVMIntNE) || !are_bits(which, lanes))
        return;
    LLVMValueRef upto[MAX_LANES], bit[MAX_LANES];
    for (unsigned l = 0; l < lanes; l++) {
        uint64_t one = 1ull << LLVMConstIntGetZExtValue(LLVMGetAggregateElement(which, l));
        bit[l] = LLVMConstInt(c->i32, one, false);
        upto[l] = LLVMConstInt(c->i32, 2 * one - 1, false);
    }
    LLVMPositionBuilderBefore(c->b, i);
    LLVMValueRef v =
        LLVMBuildAnd(c->b, LLVMGetOperand(lowest, 0), LLVMConstVector(upto, lanes), "");
    LLVMReplaceAllUsesWith(i, LLVMBuildICmp(c->b, p, v, LLVMConstVector(bit, lanes), ""));
    c->changed = true;
}

bool count_bits(LLVMModuleRef module)
{
    LLVMContextRef ctx = LLVMGetModuleContext(module);
    struct bit_counts c = {.b = LLVMCreateBuilderInContext(ctx),
                           .i8 = LLVMInt8TypeInContext(ctx),
                           .i16 = LLVMInt16TypeInContext(ctx),
                           .i32 = LLVMInt32TypeInContext(ctx)};
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f != NULL; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b != NULL;
             b = LLVMGetNextBasicBlock(b))
            for (LLVMValueRef i = LLVMGetFirstInstruction(b); i != NULL;
                 i = LLVMGetNextInstruction(i)) {
                if (is_op(i, LLVMICmp))
                    compare_lowest(&c, i);
                else if (calls_intrinsic(i, "llvm.ctpop"))
                    count(&c, i);
            }
    LLVMDisposeBuilder(c.b);
    return c.changed;
}
