/* llvm_values: what several passes ask of LLVM's values and make of them: what is not short enough
 * for the header. */
#include "compiler/llvm/llvm_values.h"

#include <llvm-c/DebugInfo.h>

#include "base/base.h"

LLVMValueRef joined_parts(LLVMBuilderRef b, LLVMValueRef *v, unsigned n)
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

LLVMValueRef packed_words(LLVMBuilderRef b, LLVMValueRef words, bool negative)
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

void copy_all_metadata(LLVMValueRef from, LLVMValueRef to)
{
    size_t n = 0;
    LLVMValueMetadataEntry *all = LLVMInstructionGetAllMetadataOtherThanDebugLoc(from, &n);
    LLVMContextRef ctx = LLVMGetTypeContext(LLVMTypeOf(from));
    for (unsigned e = 0; e < n; e++)
        LLVMSetMetadata(to, LLVMValueMetadataEntriesGetKind(all, e),
                        LLVMMetadataAsValue(ctx, LLVMValueMetadataEntriesGetMetadata(all, e)));
    LLVMDisposeValueMetadataEntries(all);
}

void copy_access_metadata(LLVMValueRef from, LLVMValueRef to)
{
    static const char *const kinds[] = {"alias.scope", "noalias", "invariant.load"};
    if (LLVMIsAInstruction(to) == NULL)
        return;
    LLVMContextRef ctx = LLVMGetTypeContext(LLVMTypeOf(from));
    for (size_t k = 0; k < WEIR_COUNT(kinds); k++) {
        unsigned kind = LLVMGetMDKindIDInContext(ctx, kinds[k], (unsigned)strlen(kinds[k]));
        LLVMValueRef node = LLVMGetMetadata(from, kind);
        if (node != NULL)
            LLVMSetMetadata(to, kind, node);
    }
    LLVMMetadataRef line = LLVMInstructionGetDebugLoc(from);
    if (line != NULL)
        LLVMInstructionSetDebugLoc(to, line);
}

LLVMValueRef lanewise_again(LLVMBuilderRef b, LLVMValueRef v, LLVMValueRef o[3], LLVMTypeRef type)
{
    LLVMOpcode op = LLVMGetInstructionOpcode(v);
    if (LLVMIsACastInst(v) != NULL)
        return LLVMBuildCast(b, op, o[0], type, "");
    switch (op) {
    case LLVMSelect: return LLVMBuildSelect(b, o[0], o[1], o[2], "");
    case LLVMICmp: return LLVMBuildICmp(b, LLVMGetICmpPredicate(v), o[0], o[1], "");
    case LLVMFCmp: return LLVMBuildFCmp(b, LLVMGetFCmpPredicate(v), o[0], o[1], "");
    case LLVMFNeg: return LLVMBuildFNeg(b, o[0], "");
    case LLVMFreeze: return LLVMBuildFreeze(b, o[0], "");
    case LLVMGetElementPtr:
        return LLVMBuildGEP2(b, LLVMGetGEPSourceElementType(v), o[0], o + 1,
                             (unsigned)LLVMGetNumOperands(v) - 1, "");
    default: return LLVMBuildBinOp(b, op, o[0], o[1], "");
    }
}
