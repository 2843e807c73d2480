/* software_prefetch: prefetches what the next block will read or write while this one runs.
 *
 * A block of a reduction, or of one row of a matrix, is short: it reads, and is then busy with
 * barriers and sums while memory is idle. The CPU's own prefetchers follow a pattern only, which
 * ends with the block or at the end of a page. But a thread runs the blocks of a grid in order, and
 * the stride between their addresses is known: the derivative of an address by ctaid.x, which is
 * computed here on LLVM IR, after the optimizer.
 *
 * Only for accesses that a block executes once (those in loops are many, and are streams that the
 * CPU recognizes), in kernels with barriers. A prefetch never faults, so the last blocks may
 * prefetch beyond the end. */
#include <stddef.h>

#include "abi/plugin.h"
#include "base/base.h"
#include "compiler/codegen/codegen.h"
#include "compiler/llvm/llvm_passes.h"

enum {
    LINE = 64,          /* bytes of a cache line */
    MIN_STRIDE = 512,   /* closer ones read parts of the same rows */
    MAX_DEPTH = 24,     /* of an address's expression */
    MAX_PREFETCHES = 64 /* of a kernel */
};

static unsigned metadata_kind(LLVMModuleRef m)
{
    static const char name[] = "weir.once";
    return LLVMGetMDKindIDInContext(LLVMGetModuleContext(m), name, sizeof name - 1);
}

void prefetch_mark(struct codegen *cg, LLVMValueRef access, unsigned space)
{
    const struct jkernel *k = cg->k;
    if (space == PTX_SPACE_GLOBAL && k->lockstep && k->barrier_loop == 0 && !k->opt->checked &&
        cg->cur != NULL && cg->cur->depth == 0 &&
        (LLVMIsALoadInst(access) != NULL || LLVMIsAStoreInst(access) != NULL))
        LLVMSetMetadata(access, metadata_kind(cg->alu.module), cg->md.empty);
}

/* ---- derivatives ---- */

struct derivation {
    LLVMBuilderRef b;
    LLVMValueRef block; /* the function's argument, struct jit_block * */
};

static bool is_ctaid(const struct derivation *t, LLVMValueRef load)
{
    LLVMValueRef p = LLVMGetOperand(load, 0);
    if (LLVMIsAGetElementPtrInst(p) == NULL || LLVMGetOperand(p, 0) != t->block ||
        LLVMGetNumOperands(p) != 2 || LLVMIsAConstantInt(LLVMGetOperand(p, 1)) == NULL)
        return false;
    return LLVMConstIntGetZExtValue(LLVMGetOperand(p, 1)) == offsetof(struct jit_block, ctaid);
}

static LLVMValueRef derive(const struct derivation *t, LLVMValueRef v, int depth);

/* Of a sum or difference; NULL is zero. */
static LLVMValueRef derive_sum(const struct derivation *t, LLVMValueRef v, bool minus, int depth)
{
    LLVMValueRef x = derive(t, LLVMGetOperand(v, 0), depth);
    LLVMValueRef y = derive(t, LLVMGetOperand(v, 1), depth);
    if (y == NULL)
        return x;
    if (x == NULL)
        return minus ? LLVMBuildNeg(t->b, y, "") : y;
    return minus ? LLVMBuildSub(t->b, x, y, "") : LLVMBuildAdd(t->b, x, y, "");
}

/* Of a product of which one factor is the same for all blocks. */
static LLVMValueRef derive_product(const struct derivation *t, LLVMValueRef v, int depth)
{
    LLVMValueRef x = LLVMGetOperand(v, 0), y = LLVMGetOperand(v, 1);
    LLVMValueRef dx = derive(t, x, depth), dy = derive(t, y, depth);
    if (dx != NULL && dy != NULL)
        return NULL;
    return dx != NULL   ? LLVMBuildMul(t->b, dx, y, "")
           : dy != NULL ? LLVMBuildMul(t->b, x, dy, "")
                        : NULL;
}

/* How much v grows from a block to the next in x, as far as that is plain to see; NULL: not at all.
 * An answer that is wrong, where a sum wraps around, costs nothing but time. */
static LLVMValueRef derive(const struct derivation *t, LLVMValueRef v, int depth)
{
    LLVMTypeRef type = LLVMTypeOf(v);
    if (depth == 0 || LLVMIsAInstruction(v) == NULL)
        return NULL;
    switch (LLVMGetInstructionOpcode(v)) {
    case LLVMLoad: return is_ctaid(t, v) ? LLVMConstInt(type, 1, false) : NULL;
    case LLVMAdd:
    case LLVMOr: return derive_sum(t, v, false, depth - 1);
    case LLVMSub: return derive_sum(t, v, true, depth - 1);
    case LLVMMul: return derive_product(t, v, depth - 1);
    case LLVMShl: {
        LLVMValueRef x = derive(t, LLVMGetOperand(v, 0), depth - 1);
        return x == NULL ? NULL : LLVMBuildShl(t->b, x, LLVMGetOperand(v, 1), "");
    }
    case LLVMZExt:
    case LLVMSExt:
    case LLVMTrunc: {
        LLVMValueRef x = derive(t, LLVMGetOperand(v, 0), depth - 1);
        return x == NULL ? NULL : LLVMBuildIntCast2(t->b, x, type, true, "");
    }
    case LLVMAnd: /* a wider index cut to its bits */
        return LLVMIsAConstantInt(LLVMGetOperand(v, 1)) != NULL
                   ? derive(t, LLVMGetOperand(v, 0), depth - 1)
                   : NULL;
    case LLVMIntToPtr: return derive(t, LLVMGetOperand(v, 0), depth - 1);
    case LLVMGetElementPtr: /* of bytes */
        if (LLVMGetNumOperands(v) != 2 ||
            LLVMGetGEPSourceElementType(v) != LLVMInt8TypeInContext(LLVMGetTypeContext(type)))
            return NULL;
        return derive_sum(t, v, false, depth - 1);
    default: return NULL;
    }
}

/* ---- prefetches ---- */

/* The distance of the prefetch: of close blocks, that of the block about a page away. */
static LLVMValueRef block_stride(const struct derivation *t, LLVMValueRef d)
{
    if (LLVMIsAConstantInt(d) == NULL)
        return d;
    int64_t n = LLVMConstIntGetSExtValue(d), size = n < 0 ? -n : n;
    /* Blocks closer than a page: more than one block of distance. */
    if (size < MIN_STRIDE || size >= WEIR_PAGE)
        return d;
    return LLVMBuildMul(t->b, d, LLVMConstInt(LLVMTypeOf(d), (uint64_t)(WEIR_PAGE / size), false),
                        "");
}

/* Prefetches what the access, of that many bytes, will touch in a later block. Returns the number
 * of prefetches. */
static unsigned prefetch(const struct derivation *t, LLVMModuleRef m, LLVMValueRef access,
                         uint64_t bytes)
{
    bool writes = LLVMIsAStoreInst(access) != NULL;
    LLVMContextRef c = LLVMGetModuleContext(m);
    LLVMTypeRef i32 = LLVMInt32TypeInContext(c), i64 = LLVMInt64TypeInContext(c);
    LLVMPositionBuilderBefore(t->b, access);
    LLVMValueRef p = LLVMGetOperand(access, writes), d = derive(t, p, MAX_DEPTH);
    if (d == NULL)
        return 0;
    LLVMTypeRef ptr = LLVMTypeOf(p);
    unsigned id = LLVMLookupIntrinsicID("llvm.prefetch", 13), count = 0;
    LLVMValueRef f = LLVMGetIntrinsicDeclaration(m, id, &ptr, 1);
    LLVMTypeRef type = LLVMIntrinsicGetType(c, id, &ptr, 1);
    d = block_stride(t, LLVMBuildIntCast2(t->b, d, i64, true, ""));
    p = LLVMBuildGEP2(t->b, LLVMInt8TypeInContext(c), p, &d, 1, "");
    for (uint64_t at = 0; at < bytes; at += LINE, count++) {
        LLVMValueRef offset = LLVMConstInt(i64, at, false);
        LLVMValueRef args[4] = {LLVMBuildGEP2(t->b, LLVMInt8TypeInContext(c), p, &offset, 1, ""),
                                LLVMConstInt(i32, writes, false) /* to be read or written */,
                                LLVMConstInt(i32, 2, false) /* into the second cache */,
                                LLVMConstInt(i32, 1, false) /* data */};
        LLVMBuildCall2(t->b, type, f, args, 4, "");
    }
    return count;
}

bool prefetch_insert(LLVMModuleRef m, LLVMTargetDataRef data)
{
    LLVMValueRef fn = LLVMGetNamedFunction(m, JIT_ENTRY_SYMBOL);
    unsigned kind = metadata_kind(m), count = 0;
    struct derivation t = {LLVMCreateBuilderInContext(LLVMGetModuleContext(m)),
                           LLVMGetParam(fn, 0)};
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(fn); b != NULL; b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i != NULL && count < MAX_PREFETCHES;
             i = LLVMGetNextInstruction(i)) {
            bool writes = LLVMIsAStoreInst(i) != NULL;
            if ((LLVMIsALoadInst(i) == NULL && !writes) || LLVMGetMetadata(i, kind) == NULL)
                continue;
            uint64_t bytes = LLVMABISizeOfType(data, LLVMTypeOf(writes ? LLVMGetOperand(i, 0) : i));
            if (bytes >= LINE)
                count += prefetch(&t, m, i, bytes);
        }
    LLVMDisposeBuilder(t.b);
    return count > 0;
}
