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

/* Lanes of a vector of integers of so many bits; 0: it is none. */
static inline unsigned integer_lanes(LLVMValueRef v, unsigned bits)
{
    LLVMTypeRef t = LLVMTypeOf(v);
    if (LLVMGetTypeKind(t) != LLVMVectorTypeKind)
        return 0;
    LLVMTypeRef e = LLVMGetElementType(t);
    bool wanted = LLVMGetTypeKind(e) == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(e) == bits;
    return wanted ? LLVMGetVectorSize(t) : 0;
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

/* An instruction of the machine ("llvm.x86.avx2.permd"), where the builder is. */
static inline LLVMValueRef machine_call(LLVMBuilderRef b, const char *name, LLVMValueRef *args,
                                        unsigned n)
{
    LLVMModuleRef module = LLVMGetGlobalParent(LLVMGetBasicBlockParent(LLVMGetInsertBlock(b)));
    unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    LLVMValueRef f = LLVMGetIntrinsicDeclaration(module, id, NULL, 0);
    return LLVMBuildCall2(b, LLVMGlobalGetValueType(f), f, args, n, "");
}

/* n elements of a vector, at most 32, from one on. */
static inline LLVMValueRef part_of(LLVMBuilderRef b, LLVMValueRef v, unsigned from, unsigned n)
{
    LLVMTypeRef i32 = LLVMInt32TypeInContext(LLVMGetTypeContext(LLVMTypeOf(v)));
    LLVMValueRef lane[32];
    for (unsigned l = 0; l < n; l++)
        lane[l] = LLVMConstInt(i32, from + l, false);
    LLVMValueRef by = LLVMConstVector(lane, n);
    return LLVMBuildShuffleVector(b, v, LLVMGetPoison(LLVMTypeOf(v)), by, "");
}

/* n vectors side by side, a power of two, of at most 32 elements together. */
LLVMValueRef joined_parts(LLVMBuilderRef b, LLVMValueRef *v, unsigned n);

/* 32 words as bytes, with AVX2, in order: as a register of bytes, of which each has the low bits of
 * a word that is less than 256, or not less than -128. */
LLVMValueRef packed_words(LLVMBuilderRef b, LLVMValueRef words, bool negative);

/* What is known of an access, what it may alias above all, is so of the one in its place. */
void copy_all_metadata(LLVMValueRef from, LLVMValueRef to);

/* Only what an access may alias, whether its memory changes, and the source line. */
void copy_access_metadata(LLVMValueRef from, LLVMValueRef to);

/* The same instruction with other operands, perhaps of fewer lanes, where the builder is. It makes
 * each lane of the same lane of its operands (no call, no access); type: of its result. */
LLVMValueRef lanewise_again(LLVMBuilderRef b, LLVMValueRef v, LLVMValueRef o[3], LLVMTypeRef type);

#endif
