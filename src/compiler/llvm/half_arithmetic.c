/* half_arithmetic: operations on vectors of halves as code generation does them well.
 *
 * LLVM's optimizer brings comparisons, conversions to integers and roundings to integers of halves
 * that are computed as floats (half.c) to the halves themselves. Where the CPU converts halves
 * only, code generation then does such a vector lane by lane: thousands of instructions for
 * a maximum. Here they become operations of floats again, of which the result is the same.
 *
 * AVX-512's instructions for halves (FP16) LLVM is not let use: LLVM 19 makes wrong comparisons of
 * halves with them (host.c), and so it is told that the CPU has none. It computes sums and products
 * of halves as floats then, in a dozen instructions for 32 of them, and a fused multiply-add not at
 * all: by way of floats it would be rounded twice. Here, when nothing looks at the operations any
 * more, each becomes the one instruction, as assembly text. All of them round once, as floats do
 * that are rounded again. */
#include <string.h>

#include "base/base.h"
#include "compiler/llvm/llvm_passes.h"
#include "compiler/llvm/llvm_values.h"

enum {
    FEWEST = 16, /* lanes of sums and products; fewer are as fast by floats */
    MAX_LANES = 64
};

struct halves {
    LLVMContextRef ctx;
    LLVMBuilderRef b;
    bool fp16;
};

/* Instructions with operands as AT&T writes them, the last first. */
static const struct operation {
    LLVMOpcode op;
    unsigned nargs;
    const char *text, *registers;
} OPERATIONS[] = {
    {LLVMFAdd, 2, "vaddph $2, $1, $0", "=v,v,v"},
    {LLVMFSub, 2, "vsubph $2, $1, $0", "=v,v,v"},
    {LLVMFMul, 2, "vmulph $2, $1, $0", "=v,v,v"},
    {LLVMCall, 3, "vfmadd213ph $3, $2, $0", "=v,0,v,v"},
};

static unsigned lanes_of(LLVMTypeRef t)
{
    return LLVMGetTypeKind(t) == LLVMVectorTypeKind ? LLVMGetVectorSize(t) : 1;
}

static bool is_half(LLVMTypeRef t)
{
    if (LLVMGetTypeKind(t) == LLVMVectorTypeKind)
        t = LLVMGetElementType(t);
    return LLVMGetTypeKind(t) == LLVMHalfTypeKind;
}

/* ---- instructions of AVX-512's FP16 ---- */

static const struct operation *operation_of(LLVMValueRef v)
{
    if (!is_half(LLVMTypeOf(v)))
        return NULL;
    LLVMOpcode op = LLVMGetInstructionOpcode(v);
    unsigned n = lanes_of(LLVMTypeOf(v)); /* a warp's pairs at most */
    if (op == LLVMCall ? !calls_intrinsic(v, "llvm.fma") : n < FEWEST || n > MAX_LANES)
        return NULL;
    for (size_t k = 0; k < WEIR_COUNT(OPERATIONS); k++)
        if (OPERATIONS[k].op == op)
            return &OPERATIONS[k];
    return NULL;
}

/* `count` lanes of v from `first` on; those beyond its last are undefined. */
static LLVMValueRef lanes(struct halves *h, LLVMValueRef v, unsigned first, unsigned count)
{
    unsigned n = lanes_of(LLVMTypeOf(v));
    if (n == count)
        return v;
    LLVMTypeRef i32 = LLVMInt32TypeInContext(h->ctx);
    LLVMValueRef of[MAX_LANES];
    for (unsigned l = 0; l < count; l++)
        of[l] = first + l < n ? LLVMConstInt(i32, first + l, false) : LLVMGetUndef(i32);
    return LLVMBuildShuffleVector(h->b, v, LLVMGetUndef(LLVMTypeOf(v)), LLVMConstVector(of, count),
                                  "");
}

static LLVMValueRef concatenated(struct halves *h, LLVMValueRef lo, LLVMValueRef hi)
{
    unsigned n = 2 * lanes_of(LLVMTypeOf(lo));
    LLVMTypeRef i32 = LLVMInt32TypeInContext(h->ctx);
    LLVMValueRef of[MAX_LANES];
    for (unsigned l = 0; l < n; l++)
        of[l] = LLVMConstInt(i32, l, false);
    return LLVMBuildShuffleVector(h->b, lo, hi, LLVMConstVector(of, n), "");
}

/* The instruction for one register's lanes. Operands are integers, as the half is no type of the
 * machine that LLVM generates code for. */
static LLVMValueRef instruction(struct halves *h, const struct operation *o, LLVMValueRef *s)
{
    LLVMTypeRef halves = LLVMTypeOf(s[0]);
    LLVMTypeRef t = LLVMVectorType(LLVMInt16TypeInContext(h->ctx), lanes_of(halves));
    LLVMTypeRef types[3] = {t, t, t};
    LLVMTypeRef fn = LLVMFunctionType(t, types, o->nargs, false);
    LLVMValueRef code =
        LLVMGetInlineAsm(fn, o->text, strlen(o->text), o->registers, strlen(o->registers), false,
                         false, LLVMInlineAsmDialectATT, false);
    for (unsigned k = 0; k < o->nargs; k++)
        s[k] = LLVMBuildBitCast(h->b, s[k], t, "");
    return LLVMBuildBitCast(h->b, LLVMBuildCall2(h->b, fn, code, s, o->nargs, ""), halves, "");
}

/* The same as v, before it. */
static LLVMValueRef instructions(struct halves *h, LLVMValueRef v, const struct operation *o)
{
    LLVMPositionBuilderBefore(h->b, v);
    LLVMTypeRef type = LLVMTypeOf(v), i32 = LLVMInt32TypeInContext(h->ctx);
    unsigned n = lanes_of(type), width = n > 16 ? 32 : n > 8 ? 16 : 8;
    LLVMValueRef part[2] = {NULL, NULL};
    for (unsigned first = 0; first < n; first += width) {
        LLVMValueRef s[3];
        for (unsigned k = 0; k < o->nargs; k++) {
            s[k] = LLVMGetOperand(v, k);
            if (n == 1)
                s[k] = LLVMBuildInsertElement(h->b, LLVMGetUndef(LLVMVectorType(type, width)), s[k],
                                              LLVMConstInt(i32, 0, false), "");
            else
                s[k] = lanes(h, s[k], first, width);
        }
        part[first / width] = instruction(h, o, s);
    }
    LLVMValueRef r = part[1] != NULL ? concatenated(h, part[0], part[1]) : part[0];
    return n == 1 ? LLVMBuildExtractElement(h->b, r, LLVMConstInt(i32, 0, false), "")
                  : lanes(h, r, 0, n);
}

/* ---- by way of floats ---- */

static LLVMValueRef as_float(struct halves *h, LLVMValueRef v)
{
    LLVMTypeRef f = LLVMFloatTypeInContext(h->ctx);
    return LLVMBuildFPExt(h->b, v, LLVMVectorType(f, lanes_of(LLVMTypeOf(v))), "");
}

/* The intrinsic that rounds floats to integers as a call does halves, or 0. */
static unsigned rounding(LLVMValueRef v)
{
    static const char *const known[] = {"llvm.ceil", "llvm.floor", "llvm.nearbyint",
                                        "llvm.rint", "llvm.round", "llvm.roundeven",
                                        "llvm.trunc"};
    for (size_t k = 0; k < WEIR_COUNT(known); k++)
        if (calls_intrinsic(v, known[k]))
            return LLVMLookupIntrinsicID(known[k], strlen(known[k]));
    return 0;
}

/* The same of floats, before v; NULL: an operation that is well as it is. */
static LLVMValueRef widened(struct halves *h, LLVMValueRef v)
{
    LLVMValueRef first = LLVMGetNumOperands(v) > 0 ? LLVMGetOperand(v, 0) : v;
    if (!is_half(LLVMTypeOf(first)) || lanes_of(LLVMTypeOf(first)) == 1)
        return NULL;
    LLVMOpcode op = LLVMGetInstructionOpcode(v);
    unsigned id = op == LLVMCall ? rounding(v) : 0;
    if (op != LLVMFCmp && op != LLVMFPToSI && op != LLVMFPToUI && id == 0)
        return NULL;
    LLVMPositionBuilderBefore(h->b, v);
    LLVMValueRef x = as_float(h, first);
    LLVMTypeRef type = LLVMTypeOf(x);
    if (op == LLVMFCmp)
        return LLVMBuildFCmp(h->b, LLVMGetFCmpPredicate(v), x, as_float(h, LLVMGetOperand(v, 1)),
                             "");
    if (id == 0)
        return LLVMBuildCast(h->b, op, x, LLVMTypeOf(v), "");
    LLVMValueRef f = LLVMGetIntrinsicDeclaration(
        LLVMGetGlobalParent(LLVMGetBasicBlockParent(LLVMGetInstructionParent(v))), id, &type, 1);
    LLVMTypeRef fn = LLVMIntrinsicGetType(h->ctx, id, &type, 1);
    return LLVMBuildFPTrunc(h->b, LLVMBuildCall2(h->b, fn, f, &x, 1, ""), LLVMTypeOf(v), "");
}

static void visit(struct halves *h, LLVMValueRef v)
{
    const struct operation *o = h->fp16 ? operation_of(v) : NULL;
    LLVMValueRef r = o != NULL ? instructions(h, v, o) : widened(h, v);
    if (r == NULL)
        return;
    LLVMReplaceAllUsesWith(v, r);
    LLVMInstructionEraseFromParent(v);
}

void half_arithmetic(LLVMModuleRef m, bool fp16)
{
    LLVMContextRef ctx = LLVMGetModuleContext(m);
    struct halves h = {.ctx = ctx, .b = LLVMCreateBuilderInContext(ctx), .fp16 = fp16};
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f != NULL; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(f); bb != NULL;
             bb = LLVMGetNextBasicBlock(bb))
            for (LLVMValueRef v = LLVMGetFirstInstruction(bb), next; v != NULL; v = next) {
                next = LLVMGetNextInstruction(v);
                visit(&h, v);
            }
    LLVMDisposeBuilder(h.b);
}
