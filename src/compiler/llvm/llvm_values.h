/* llvm_values.h: what several passes ask of LLVM's values and make of them. */
#ifndef WEIR_COMPILER_LLVM_VALUES_H
#define WEIR_COMPILER_LLVM_VALUES_H

#include <stdbool.h>
#include <string.h>

#include <llvm-c/Core.h>

static inline bool is_op(LLVMValueRef v, LLVMOpcode op)
{
    return LLVMIsAInstruction(v) != NULL && LLVMGetInstructionOpcode(v) == op;
}

/* Is it a call of that intrinsic ("llvm.masked.load"), of whatever types? */
static inline bool calls_intrinsic(LLVMValueRef v, const char *name)
{
    if (LLVMIsACallInst(v) == NULL)
        return false;
    LLVMValueRef f = LLVMGetCalledValue(v);
    unsigned id = LLVMIsAFunction(f) != NULL ? LLVMGetIntrinsicID(f) : 0;
    return id != 0 && id == LLVMLookupIntrinsicID(name, strlen(name));
}

/* The scalar that all lanes of a vector are; NULL: they are not one. */
static inline LLVMValueRef splatted(LLVMValueRef v)
{
    if (!is_op(v, LLVMShuffleVector))
        return NULL;
    LLVMValueRef one = LLVMGetOperand(v, 0);
    for (unsigned l = 0; l < LLVMGetNumMaskElements(v); l++)
        if (LLVMGetMaskValue(v, l) != 0)
            return NULL;
    bool first = is_op(one, LLVMInsertElement) &&
                 LLVMIsAConstantInt(LLVMGetOperand(one, 2)) != NULL &&
                 LLVMConstIntGetZExtValue(LLVMGetOperand(one, 2)) == 0;
    return first ? LLVMGetOperand(one, 1) : NULL;
}

/* A vector all of whose lanes are a scalar, where the builder is. */
static inline LLVMValueRef splat_to(LLVMBuilderRef b, LLVMValueRef scalar, LLVMTypeRef type)
{
    LLVMTypeRef i32 = LLVMInt32TypeInContext(LLVMGetTypeContext(type));
    LLVMValueRef v =
        LLVMBuildInsertElement(b, LLVMGetPoison(type), scalar, LLVMConstInt(i32, 0, false), "");
    LLVMTypeRef indices = LLVMVectorType(i32, LLVMGetVectorSize(type));
    return LLVMBuildShuffleVector(b, v, LLVMGetPoison(type), LLVMConstNull(indices), "");
}

#endif
