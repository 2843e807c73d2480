/* byte_masks: accesses of eight bytes under a mask as ones of sixteen, with AVX-512.
 *
 * The machine masks bytes in registers of sixteen, so LLVM adds eight lanes to the mask whose bits
 * it clears by `kmovb`. To its register allocator that is a copy (isMoveReg), and where the mask is
 * spilled, what it was copied from is: the upper eight bits are those of other lanes, which then
 * are loaded, beyond the end of an array, or stored (LLVM 19). Here the bits are cleared by an
 * `and` with a value that LLVM does not know, or it would make `kmovb` of that, too. */
#include <string.h>

#include "base/base.h"
#include "compiler/llvm/llvm_passes.h"
#include "compiler/llvm/llvm_values.h"

enum { NARROW = 8, WIDE = 16 };

struct byte_masks {
    LLVMContextRef ctx;
    LLVMBuilderRef b;
    LLVMBasicBlockRef block;     /* that has `first` */
    LLVMValueRef first;          /* <16 x i1>: the first eight lanes */
    LLVMValueRef add, leave_out; /* shuffles that add eight lanes, and leave them out again */
};

static struct byte_masks begin(LLVMContextRef ctx)
{
    LLVMTypeRef i32 = LLVMInt32TypeInContext(ctx);
    LLVMValueRef lane[WIDE];
    for (unsigned l = 0; l < WIDE; l++)
        lane[l] = l < NARROW ? LLVMConstInt(i32, l, false) : LLVMGetPoison(i32);
    return (struct byte_masks){.ctx = ctx,
                               .b = LLVMCreateBuilderInContext(ctx),
                               .add = LLVMConstVector(lane, WIDE),
                               .leave_out = LLVMConstVector(lane, NARROW)};
}

static bool is_of_eight_bytes(LLVMTypeRef t)
{
    return LLVMGetTypeKind(t) == LLVMVectorTypeKind && LLVMGetVectorSize(t) == NARROW &&
           LLVMGetElementType(t) == LLVMInt8TypeInContext(LLVMGetTypeContext(t));
}

static LLVMValueRef shuffled(const struct byte_masks *m, LLVMValueRef v, LLVMValueRef lanes)
{
    return LLVMBuildShuffleVector(m->b, v, LLVMGetPoison(LLVMTypeOf(v)), lanes, "");
}

/* The first eight lanes, as what some instructions have left. */
static LLVMValueRef first_lanes(const struct byte_masks *m)
{
    LLVMTypeRef i16 = LLVMInt16TypeInContext(m->ctx);
    LLVMTypeRef type = LLVMFunctionType(i16, &i16, 1, false);
    LLVMValueRef nothing =
        LLVMGetInlineAsm(type, "", 0, "=r,0", 4, false, false, LLVMInlineAsmDialectATT, false);
    LLVMValueRef bits = LLVMConstInt(i16, (1u << NARROW) - 1, false);
    bits = LLVMBuildCall2(m->b, type, nothing, &bits, 1, "");
    return LLVMBuildBitCast(m->b, bits, LLVMVectorType(LLVMInt1TypeInContext(m->ctx), WIDE), "");
}

static LLVMValueRef wide_mask(struct byte_masks *m, LLVMValueRef mask)
{
    LLVMBasicBlockRef block = LLVMGetInsertBlock(m->b);
    if (m->block != block) {
        m->block = block;
        m->first = first_lanes(m);
    }
    return LLVMBuildAnd(m->b, shuffled(m, mask, m->add), m->first, "");
}

static LLVMValueRef intrinsic(const struct byte_masks *m, LLVMValueRef call, const char *name)
{
    LLVMModuleRef module =
        LLVMGetGlobalParent(LLVMGetBasicBlockParent(LLVMGetInstructionParent(call)));
    LLVMTypeRef types[2] = {LLVMVectorType(LLVMInt8TypeInContext(m->ctx), WIDE),
                            LLVMPointerTypeInContext(m->ctx, 0)};
    return LLVMGetIntrinsicDeclaration(module, LLVMLookupIntrinsicID(name, strlen(name)), types, 2);
}

static LLVMValueRef build_call(const struct byte_masks *m, LLVMValueRef f, LLVMValueRef *arguments,
                               LLVMValueRef like)
{
    LLVMValueRef v = LLVMBuildCall2(m->b, LLVMGlobalGetValueType(f), f, arguments, 4, "");
    size_t n;
    LLVMValueMetadataEntry *known = LLVMInstructionGetAllMetadataOtherThanDebugLoc(like, &n);
    for (unsigned k = 0; k < n; k++)
        LLVMSetMetadata(v, LLVMValueMetadataEntriesGetKind(known, k),
                        LLVMMetadataAsValue(m->ctx, LLVMValueMetadataEntriesGetMetadata(known, k)));
    LLVMDisposeValueMetadataEntries(known);
    return v;
}

/* llvm.masked.load (pointer, alignment, mask, what other lanes are). */
static void widen_load(struct byte_masks *m, LLVMValueRef load)
{
    LLVMValueRef arguments[4] = {LLVMGetOperand(load, 0), LLVMGetOperand(load, 1),
                                 wide_mask(m, LLVMGetOperand(load, 2)),
                                 shuffled(m, LLVMGetOperand(load, 3), m->add)};
    LLVMValueRef v = build_call(m, intrinsic(m, load, "llvm.masked.load"), arguments, load);
    LLVMReplaceAllUsesWith(load, shuffled(m, v, m->leave_out));
    LLVMInstructionEraseFromParent(load);
}

/* llvm.masked.store (value, pointer, alignment, mask). */
static void widen_store(struct byte_masks *m, LLVMValueRef store)
{
    LLVMValueRef arguments[4] = {shuffled(m, LLVMGetOperand(store, 0), m->add),
                                 LLVMGetOperand(store, 1), LLVMGetOperand(store, 2),
                                 wide_mask(m, LLVMGetOperand(store, 3))};
    build_call(m, intrinsic(m, store, "llvm.masked.store"), arguments, store);
    LLVMInstructionEraseFromParent(store);
}

static bool calls(LLVMValueRef i, const char *name)
{
    size_t length;
    LLVMValueRef f = LLVMGetCalledValue(i);
    return LLVMIsAFunction(f) != NULL &&
           strncmp(LLVMGetValueName2(f, &length), name, strlen(name)) == 0;
}

static void visit(struct byte_masks *m, LLVMValueRef i)
{
    bool loads = calls(i, "llvm.masked.load."), stores = calls(i, "llvm.masked.store.");
    if (!loads && !stores)
        return;
    LLVMTypeRef type = LLVMTypeOf(loads ? i : LLVMGetOperand(i, 0));
    LLVMValueRef mask = LLVMGetOperand(i, loads ? 2 : 3);
    if (!is_of_eight_bytes(type) || LLVMIsAConstant(mask) != NULL)
        return;
    LLVMPositionBuilderBefore(m->b, i);
    if (loads)
        widen_load(m, i);
    else
        widen_store(m, i);
}

void widen_byte_masks(LLVMModuleRef module)
{
    struct byte_masks m = begin(LLVMGetModuleContext(module));
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f != NULL; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b != NULL;
             b = LLVMGetNextBasicBlock(b))
            for (LLVMValueRef i = LLVMGetFirstInstruction(b), next; i != NULL; i = next) {
                next = LLVMGetNextInstruction(i);
                if (is_op(i, LLVMCall))
                    visit(&m, i);
            }
    LLVMDisposeBuilder(m.b);
}
