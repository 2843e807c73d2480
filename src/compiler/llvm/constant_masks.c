/* constant_masks: accesses under masks that are constants become those of fewer lanes.
 *
 * In a tree of sums, `if (t < width) part[t] += part[t + width]`, the last steps are for parts of a
 * warp, and where the loop over steps is unrolled the masks are known. LLVM keeps them as masks. A
 * CPU does not hand on to a load what has been stored under a mask, nor anything to a load that is
 * longer than what was stored, whatever its mask says: it waits until all stores before have gone
 * to the cache. So each such step of a block took as long as some forty instructions. */
#include "compiler/llvm/llvm_passes.h"
#include "compiler/llvm/llvm_values.h"

enum { MAX_LANES = 128, MIN_BYTES = 4 };

/* The lanes of a mask that are set: one after the other. */
struct run {
    unsigned first, count, lanes;
};

/* Is the mask a constant, and are as many lanes set as a load or store of a vector may have? */
static bool is_run(LLVMValueRef mask, unsigned bytes, struct run *r)
{
    *r = (struct run){.lanes = LLVMGetVectorSize(LLVMTypeOf(mask))};
    if (LLVMIsAConstant(mask) == NULL || r->lanes > MAX_LANES)
        return false;
    for (unsigned l = 0; l < r->lanes; l++) {
        LLVMValueRef lane = LLVMGetAggregateElement(mask, l);
        if (lane == NULL || LLVMIsAConstantInt(lane) == NULL)
            return false;
        if (LLVMConstIntGetZExtValue(lane) == 0)
            continue;
        if (r->count == 0)
            r->first = l;
        if (r->first + r->count != l)
            return false;
        r->count++;
    }
    unsigned all = r->count * bytes;
    return r->count < r->lanes && all >= MIN_BYTES && (all & (all - 1)) == 0;
}

/* The bytes of an element; 0: it is none that lies in whole bytes. */
static unsigned element_bytes(LLVMTypeRef vector)
{
    LLVMTypeRef t = LLVMGetElementType(vector);
    switch (LLVMGetTypeKind(t)) {
    case LLVMHalfTypeKind:
    case LLVMBFloatTypeKind: return 2;
    case LLVMFloatTypeKind: return 4;
    case LLVMDoubleTypeKind: return 8;
    case LLVMIntegerTypeKind:
        return LLVMGetIntTypeWidth(t) % 8 == 0 ? LLVMGetIntTypeWidth(t) / 8 : 0;
    default: return 0;
    }
}

/* Lane l of the result is lane from[l] of x and y, one after the other; no lane at all where that
 * is negative. */
static LLVMValueRef pick(LLVMBuilderRef b, LLVMValueRef x, LLVMValueRef y, const int *from,
                         unsigned lanes)
{
    LLVMTypeRef i32 = LLVMInt32TypeInContext(LLVMGetTypeContext(LLVMTypeOf(x)));
    LLVMValueRef index[MAX_LANES];
    for (unsigned l = 0; l < lanes; l++)
        index[l] = from[l] < 0 ? LLVMGetPoison(i32) : LLVMConstInt(i32, (unsigned)from[l], false);
    return LLVMBuildShuffleVector(b, x, y, LLVMConstVector(index, lanes), "");
}

static LLVMValueRef address_of(LLVMBuilderRef b, LLVMValueRef p, uint64_t bytes)
{
    LLVMContextRef ctx = LLVMGetTypeContext(LLVMTypeOf(p));
    LLVMValueRef by = LLVMConstInt(LLVMInt64TypeInContext(ctx), bytes, false);
    return bytes == 0 ? p : LLVMBuildGEP2(b, LLVMInt8TypeInContext(ctx), p, &by, 1, "");
}

static void narrow_load(LLVMBuilderRef b, LLVMValueRef i)
{
    struct run r;
    LLVMTypeRef type = LLVMTypeOf(i);
    unsigned bytes = element_bytes(type);
    if (bytes == 0 || !is_run(LLVMGetOperand(i, 2), bytes, &r))
        return;
    LLVMPositionBuilderBefore(b, i);
    LLVMTypeRef few = LLVMVectorType(LLVMGetElementType(type), r.count);
    LLVMValueRef at = address_of(b, LLVMGetOperand(i, 0), (uint64_t)r.first * bytes);
    LLVMValueRef v = LLVMBuildLoad2(b, few, at, "");
    LLVMSetAlignment(v, bytes);
    copy_all_metadata(i, v);
    LLVMValueRef others = LLVMGetOperand(i, 3);
    int wide[MAX_LANES], both[MAX_LANES];
    for (unsigned l = 0; l < r.lanes; l++) {
        bool in = l - r.first < r.count;
        wide[l] = in ? (int)(l - r.first) : -1;
        both[l] = (int)(in ? l : r.lanes + l);
    }
    v = pick(b, v, LLVMGetPoison(few), wide, r.lanes);
    if (!LLVMIsUndef(others))
        v = pick(b, v, others, both, r.lanes);
    LLVMReplaceAllUsesWith(i, v);
    LLVMInstructionEraseFromParent(i);
}

static void narrow_store(LLVMBuilderRef b, LLVMValueRef i)
{
    struct run r;
    LLVMValueRef v = LLVMGetOperand(i, 0);
    unsigned bytes = element_bytes(LLVMTypeOf(v));
    if (bytes == 0 || !is_run(LLVMGetOperand(i, 3), bytes, &r))
        return;
    LLVMPositionBuilderBefore(b, i);
    int from[MAX_LANES];
    for (unsigned l = 0; l < r.count; l++)
        from[l] = (int)(r.first + l);
    v = pick(b, v, LLVMGetPoison(LLVMTypeOf(v)), from, r.count);
    LLVMValueRef at = address_of(b, LLVMGetOperand(i, 1), (uint64_t)r.first * bytes);
    LLVMValueRef st = LLVMBuildStore(b, v, at);
    LLVMSetAlignment(st, bytes);
    copy_all_metadata(i, st);
    LLVMInstructionEraseFromParent(i);
}

void narrow_constant_masks(LLVMModuleRef m)
{
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(LLVMGetModuleContext(m));
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f != NULL; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b != NULL;
             b = LLVMGetNextBasicBlock(b))
            for (LLVMValueRef i = LLVMGetFirstInstruction(b), next; i != NULL; i = next) {
                next = LLVMGetNextInstruction(i);
                if (calls_intrinsic(i, "llvm.masked.load"))
                    narrow_load(builder, i);
                else if (calls_intrinsic(i, "llvm.masked.store"))
                    narrow_store(builder, i);
            }
    LLVMDisposeBuilder(builder);
}
