/* mask_faults: what LLVM 19 does wrong with masks in AVX-512's registers is not asked of it.
 *
 * Eight bytes under a mask. The machine masks bytes in registers of sixteen, so LLVM adds eight
 * lanes to the mask whose bits it clears by `kmovb`. To its register allocator that is a copy
 * (isMoveReg), and where the mask is spilled, what it was copied from is: the upper eight bits are
 * those of other lanes, which then are loaded, beyond the end of an array, or stored. Here such
 * accesses are of sixteen bytes, and the bits are cleared by an `and` with a value that LLVM does
 * not know, or it would make `kmovb` of that, too.
 *
 * `a or b` where a and b are integers whose bits are masks, too. Of selections by these, LLVM makes
 * `a and not b`, makes that the difference of `a or b` and b, and that the first again, and never
 * ends. Here it does not see what such a mask is made of.
 */
#include <string.h>

#include "base/base.h"
#include "compiler/llvm/llvm_passes.h"
#include "compiler/llvm/llvm_values.h"

enum { NARROW = 8, WIDE = 16 };

struct mask_faults {
    LLVMContextRef ctx;
    LLVMBuilderRef b;
    LLVMBasicBlockRef block;     /* that has `first` */
    LLVMValueRef first;          /* <16 x i1>: the first eight lanes */
    LLVMValueRef add, leave_out; /* shuffles that add eight lanes, and leave them out again */
};

static struct mask_faults begin(LLVMContextRef ctx)
{
    LLVMTypeRef i32 = LLVMInt32TypeInContext(ctx);
    LLVMValueRef lane[WIDE];
    for (unsigned l = 0; l < WIDE; l++)
        lane[l] = l < NARROW ? LLVMConstInt(i32, l, false) : LLVMGetPoison(i32);
    return (struct mask_faults){.ctx = ctx,
                                .b = LLVMCreateBuilderInContext(ctx),
                                .add = LLVMConstVector(lane, WIDE),
                                .leave_out = LLVMConstVector(lane, NARROW)};
}

/* An integer, as what some instructions have left of which LLVM knows nothing. */
static LLVMValueRef unknown(const struct mask_faults *m, LLVMValueRef bits)
{
    LLVMTypeRef t = LLVMTypeOf(bits), type = LLVMFunctionType(t, &t, 1, false);
    LLVMValueRef nothing =
        LLVMGetInlineAsm(type, "", 0, "=r,0", 4, false, false, LLVMInlineAsmDialectATT, false);
    return LLVMBuildCall2(m->b, type, nothing, &bits, 1, "");
}

/* ---- eight bytes ---- */

static bool is_of_eight_bytes(LLVMTypeRef t)
{
    return LLVMGetTypeKind(t) == LLVMVectorTypeKind && LLVMGetVectorSize(t) == NARROW &&
           LLVMGetElementType(t) == LLVMInt8TypeInContext(LLVMGetTypeContext(t));
}

static LLVMValueRef shuffled(const struct mask_faults *m, LLVMValueRef v, LLVMValueRef lanes)
{
    return LLVMBuildShuffleVector(m->b, v, LLVMGetPoison(LLVMTypeOf(v)), lanes, "");
}

static LLVMValueRef wide_mask(struct mask_faults *m, LLVMValueRef mask)
{
    LLVMBasicBlockRef block = LLVMGetInsertBlock(m->b);
    if (m->block != block) {
        m->block = block;
        LLVMValueRef first =
            unknown(m, LLVMConstInt(LLVMInt16TypeInContext(m->ctx), (1u << NARROW) - 1, false));
        m->first =
            LLVMBuildBitCast(m->b, first, LLVMVectorType(LLVMInt1TypeInContext(m->ctx), WIDE), "");
    }
    return LLVMBuildAnd(m->b, shuffled(m, mask, m->add), m->first, "");
}

static LLVMValueRef intrinsic(const struct mask_faults *m, LLVMValueRef call, const char *name)
{
    LLVMModuleRef module =
        LLVMGetGlobalParent(LLVMGetBasicBlockParent(LLVMGetInstructionParent(call)));
    LLVMTypeRef types[2] = {LLVMVectorType(LLVMInt8TypeInContext(m->ctx), WIDE),
                            LLVMPointerTypeInContext(m->ctx, 0)};
    return LLVMGetIntrinsicDeclaration(module, LLVMLookupIntrinsicID(name, strlen(name)), types, 2);
}

static LLVMValueRef build_call(const struct mask_faults *m, LLVMValueRef f, LLVMValueRef *arguments,
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
static void widen_load(struct mask_faults *m, LLVMValueRef load)
{
    LLVMValueRef arguments[4] = {LLVMGetOperand(load, 0), LLVMGetOperand(load, 1),
                                 wide_mask(m, LLVMGetOperand(load, 2)),
                                 shuffled(m, LLVMGetOperand(load, 3), m->add)};
    LLVMValueRef v = build_call(m, intrinsic(m, load, "llvm.masked.load"), arguments, load);
    LLVMReplaceAllUsesWith(load, shuffled(m, v, m->leave_out));
    LLVMInstructionEraseFromParent(load);
}

/* llvm.masked.store (value, pointer, alignment, mask). */
static void widen_store(struct mask_faults *m, LLVMValueRef store)
{
    LLVMValueRef arguments[4] = {shuffled(m, LLVMGetOperand(store, 0), m->add),
                                 LLVMGetOperand(store, 1), LLVMGetOperand(store, 2),
                                 wide_mask(m, LLVMGetOperand(store, 3))};
    build_call(m, intrinsic(m, store, "llvm.masked.store"), arguments, store);
    LLVMInstructionEraseFromParent(store);
}

static void visit_call(struct mask_faults *m, LLVMValueRef i)
{
    bool loads = calls_intrinsic(i, "llvm.masked.load");
    bool stores = calls_intrinsic(i, "llvm.masked.store");
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

/* ---- either of two masks ---- */

static bool is_mask(LLVMTypeRef t)
{
    return LLVMGetTypeKind(t) == LLVMVectorTypeKind && LLVMGetVectorSize(t) % NARROW == 0 &&
           LLVMGetElementType(t) == LLVMInt1TypeInContext(LLVMGetTypeContext(t));
}

/* The integer whose bits a mask is, in the block of what takes it; NULL: it is none. */
static LLVMValueRef integer_of(LLVMValueRef user, LLVMValueRef mask)
{
    if (!is_op(mask, LLVMBitCast) || !is_mask(LLVMTypeOf(mask)) ||
        LLVMGetInstructionParent(mask) != LLVMGetInstructionParent(user))
        return NULL;
    LLVMValueRef bits = LLVMGetOperand(mask, 0);
    return LLVMGetTypeKind(LLVMTypeOf(bits)) == LLVMIntegerTypeKind ? bits : NULL;
}

/* Is the integer a mask in a block, too? */
static bool is_mask_in(LLVMValueRef bits, LLVMBasicBlockRef block)
{
    for (LLVMUseRef u = LLVMGetFirstUse(bits); u != NULL; u = LLVMGetNextUse(u)) {
        LLVMValueRef user = LLVMGetUser(u);
        if (is_op(user, LLVMBitCast) && is_mask(LLVMTypeOf(user)) &&
            LLVMGetInstructionParent(user) == block)
            return true;
    }
    return false;
}

/* A mask whose bits LLVM does not know to be those of this integer. */
static LLVMValueRef mask_of(const struct mask_faults *m, LLVMValueRef bits, LLVMTypeRef mask)
{
    return LLVMBuildBitCast(m->b, unknown(m, bits), mask, "");
}

static void replace(LLVMValueRef i, LLVMValueRef by)
{
    LLVMReplaceAllUsesWith(i, by);
    LLVMInstructionEraseFromParent(i);
}

static void visit_or(const struct mask_faults *m, LLVMValueRef i)
{
    LLVMValueRef a = integer_of(i, LLVMGetOperand(i, 0)), b = integer_of(i, LLVMGetOperand(i, 1));
    if (a == NULL || b == NULL)
        return;
    LLVMPositionBuilderBefore(m->b, i);
    replace(i, mask_of(m, LLVMBuildOr(m->b, a, b, ""), LLVMTypeOf(i)));
}

static void visit_cast(const struct mask_faults *m, LLVMValueRef i)
{
    LLVMValueRef bits = integer_of(i, i);
    LLVMBasicBlockRef block = LLVMGetInstructionParent(i);
    if (bits == NULL || !is_op(bits, LLVMOr) || LLVMGetInstructionParent(bits) != block ||
        (!is_mask_in(LLVMGetOperand(bits, 0), block) &&
         !is_mask_in(LLVMGetOperand(bits, 1), block)))
        return;
    LLVMPositionBuilderBefore(m->b, i);
    replace(i, mask_of(m, bits, LLVMTypeOf(i)));
}

/* ---- all of them ---- */

static void visit(struct mask_faults *m, LLVMValueRef i)
{
    if (is_op(i, LLVMCall))
        visit_call(m, i);
    else if (is_op(i, LLVMOr) && is_mask(LLVMTypeOf(i)))
        visit_or(m, i);
    else if (is_op(i, LLVMBitCast))
        visit_cast(m, i);
}

void avoid_mask_faults(LLVMModuleRef module)
{
    struct mask_faults m = begin(LLVMGetModuleContext(module));
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f != NULL; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b != NULL;
             b = LLVMGetNextBasicBlock(b))
            for (LLVMValueRef i = LLVMGetFirstInstruction(b), next; i != NULL; i = next) {
                next = LLVMGetNextInstruction(i);
                visit(&m, i);
            }
    LLVMDisposeBuilder(m.b);
}
