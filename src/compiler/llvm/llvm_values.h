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
static inline LLVMValueRef joined_parts(LLVMBuilderRef b, LLVMValueRef *v, unsigned n)
{
    LLVMTypeRef i32 = LLVMInt32TypeInContext(LLVMGetTypeContext(LLVMTypeOf(v[0])));
    for (; n > 1; n /= 2)
        for (unsigned k = 0; k < n / 2; k++) {
            unsigned lanes = 2 * LLVMGetVectorSize(LLVMTypeOf(v[2 * k]));
            LLVMValueRef lane[32];
            for (unsigned l = 0; l < lanes; l++)
                lane[l] = LLVMConstInt(i32, l, false);
            v[k] =
                LLVMBuildShuffleVector(b, v[2 * k], v[2 * k + 1], LLVMConstVector(lane, lanes), "");
        }
    return v[0];
}

/* 32 words as bytes, with AVX2, in order: as a register of bytes, of which each has the low bits of
 * a word that is less than 256, or not less than -128. */
static inline LLVMValueRef packed_words(LLVMBuilderRef b, LLVMValueRef words, bool negative)
{
    enum { REGISTER = 8, PARTS = 4 };
    static const unsigned in_order[REGISTER] = {0, 4, 1, 5, 2, 6, 3, 7};
    LLVMContextRef ctx = LLVMGetTypeContext(LLVMTypeOf(words));
    LLVMTypeRef i32 = LLVMInt32TypeInContext(ctx);
    LLVMValueRef lane[REGISTER], half[PARTS / 2];
    for (unsigned n = 0; n < PARTS / 2; n++) {
        LLVMValueRef two[2] = {part_of(b, words, 2 * n * REGISTER, REGISTER),
                               part_of(b, words, (2 * n + 1) * REGISTER, REGISTER)};
        half[n] = machine_call(b, "llvm.x86.avx2.packssdw", two, 2);
    }
    /* These mix both halves of registers; what they make is put in order once. The machine reads
     * the low bits of indices only; others keep LLVM from making the indices of bytes, each time.
     */
    LLVMValueRef v[2] = {
        machine_call(b, negative ? "llvm.x86.avx2.packsswb" : "llvm.x86.avx2.packuswb", half, 2)};
    v[0] = LLVMBuildBitCast(b, v[0], LLVMVectorType(i32, REGISTER), "");
    for (unsigned l = 0; l < REGISTER; l++)
        lane[l] = LLVMConstInt(i32, in_order[l] + (l + 1) * 0x01010100u, false);
    v[1] = LLVMConstVector(lane, REGISTER);
    v[0] = machine_call(b, "llvm.x86.avx2.permd", v, 2);
    return LLVMBuildBitCast(b, v[0], LLVMVectorType(LLVMInt8TypeInContext(ctx), REGISTER * PARTS),
                            "");
}

/* What is known of an access, what it may alias above all, is so of the one in its place. */
static inline void copy_all_metadata(LLVMValueRef from, LLVMValueRef to)
{
    size_t n = 0;
    LLVMValueMetadataEntry *all = LLVMInstructionGetAllMetadataOtherThanDebugLoc(from, &n);
    LLVMContextRef ctx = LLVMGetTypeContext(LLVMTypeOf(from));
    for (unsigned e = 0; e < n; e++)
        LLVMSetMetadata(to, LLVMValueMetadataEntriesGetKind(all, e),
                        LLVMMetadataAsValue(ctx, LLVMValueMetadataEntriesGetMetadata(all, e)));
    LLVMDisposeValueMetadataEntries(all);
}

#endif
