/* shared_reload: values that are in shared memory already are taken from there again.
 *
 * In kernels in lockstep LLVM unrolls the loops over warps, and what a warp stored before a barrier
 * and reads behind it stays in registers. That is what makes a tree of sums fast, but where a block
 * has more values than there are registers they are spilled: each is stored once into shared memory
 * and once more on the stack, and CPUs store one vector in each cycle. So a value that was
 * used so long ago that it will have left the registers is loaded from its place in shared memory
 * instead, if nothing has been written there since.
 *
 * The same walk drops notes of which warp runs (warp_index.c) that are followed by the next warp's
 * before anything could fault.
 *
 * Both look at one basic block at a time: unrolled loops are long ones. */
#include <stddef.h>
#include <string.h>

#include "abi/plugin.h"
#include "compiler/codegen/codegen.h"

enum {
    MAX_HOMES = 256,  /* values looked after at a time; the oldest are forgotten */
    LEAST_BYTES = 32, /* of a value that is worth it */
};

/* What memory belongs to. Its kinds do not overlap, but for ELSEWHERE, which may be anything. */
enum root { SHARED, OWN /* the block's record, frames, variables, parameters */, ELSEWHERE };

struct place {
    enum root root;
    bool known;     /* the offset is */
    int64_t offset; /* from the root */
    uint64_t bytes;
};

/* A value that is in shared memory. */
struct home {
    LLVMValueRef value;
    int64_t offset;
    uint64_t bytes, touched; /* when it was last in a register, in bytes that were made by then */
    LLVMValueRef pointer;
    unsigned align;
};

struct walk {
    LLVMTargetDataRef data;
    LLVMBuilderRef b;
    LLVMValueRef block; /* the function's argument */
    uint64_t shared_bytes, registers, made;
    struct home homes[MAX_HOMES];
    int count;
    LLVMValueRef note; /* that nobody has needed so far, NULL: none */
    bool changed;
};

/* ---- where memory is ---- */

/* The offset in the block's record from which a pointer was loaded, -1: it was not. */
static int64_t block_field_offset(const struct walk *w, LLVMValueRef v)
{
    if (!LLVMIsALoadInst(v))
        return -1;
    LLVMValueRef p = LLVMGetOperand(v, 0);
    if (p == w->block)
        return 0;
    if (!LLVMIsAGetElementPtrInst(p) || LLVMGetOperand(p, 0) != w->block ||
        LLVMGetNumOperands(p) != 2 || !LLVMIsAConstantInt(LLVMGetOperand(p, 1)) ||
        LLVMGetTypeKind(LLVMGetGEPSourceElementType(p)) != LLVMIntegerTypeKind ||
        LLVMGetIntTypeWidth(LLVMGetGEPSourceElementType(p)) != 8)
        return -1;
    return LLVMConstIntGetSExtValue(LLVMGetOperand(p, 1));
}

static struct place memory_place(const struct walk *w, LLVMValueRef p, LLVMTypeRef type)
{
    struct place at = {.root = ELSEWHERE, .known = true};
    at.bytes = LLVMABISizeOfType(w->data, type);
    while (LLVMIsAGetElementPtrInst(p)) {
        LLVMTypeRef unit = LLVMGetGEPSourceElementType(p);
        if (LLVMGetNumOperands(p) == 2 && LLVMIsAConstantInt(LLVMGetOperand(p, 1)))
            at.offset += LLVMConstIntGetSExtValue(LLVMGetOperand(p, 1)) *
                         (int64_t)LLVMABISizeOfType(w->data, unit);
        else
            at.known = false;
        p = LLVMGetOperand(p, 0);
    }
    int64_t field = block_field_offset(w, p);
    if (p == w->block || LLVMIsAAllocaInst(p) || field == offsetof(struct jit_block, frame) ||
        field == offsetof(struct jit_block, params))
        at.root = OWN;
    else if (field == offsetof(struct jit_block, shared))
        at.root = SHARED;
    return at;
}

static bool overlap(const struct home *h, const struct place *p)
{
    return h->offset < p->offset + (int64_t)p->bytes && p->offset < h->offset + (int64_t)h->bytes;
}

/* ---- homes ---- */

static void forget_written(struct walk *w, const struct place *p)
{
    int kept = 0;
    if (p->root == OWN)
        return;
    for (int n = 0; n < w->count; n++)
        if (p->root == SHARED && p->known && !overlap(&w->homes[n], p))
            w->homes[kept++] = w->homes[n];
    w->count = kept;
}

static void settle(struct walk *w, LLVMValueRef value, LLVMValueRef pointer, unsigned align)
{
    struct place p = memory_place(w, pointer, LLVMTypeOf(value));
    if (p.root != SHARED || !p.known || p.bytes < LEAST_BYTES || !LLVMIsAInstruction(value) ||
        LLVMGetTypeKind(LLVMTypeOf(value)) != LLVMVectorTypeKind)
        return;
    for (int n = 0; n < w->count; n++)
        if (w->homes[n].value == value)
            return; /* one is enough */
    if (w->count == MAX_HOMES)
        memmove(w->homes, w->homes + 1, sizeof *w->homes * (size_t)--w->count);
    w->homes[w->count++] = (struct home){value, p.offset, p.bytes, w->made, pointer, align};
}

/* Operands of an instruction that have left the registers are loaded in front of it. */
static void take(struct walk *w, LLVMValueRef i)
{
    for (int n = 0; n < LLVMGetNumOperands(i); n++) {
        LLVMValueRef v = LLVMGetOperand(i, (unsigned)n);
        for (int h = w->count - 1; h >= 0; h--) {
            struct home *at = &w->homes[h];
            if (at->value != v)
                continue;
            if (w->made - at->touched > w->registers) {
                LLVMPositionBuilderBefore(w->b, i);
                LLVMValueRef load = LLVMBuildLoad2(w->b, LLVMTypeOf(v), at->pointer, "");
                LLVMSetAlignment(load, at->align);
                LLVMSetOperand(i, (unsigned)n, load);
                w->changed = true;
            }
            at->touched = w->made;
            break;
        }
    }
}

/* ---- the walk ---- */

static bool is_note(const struct walk *w, LLVMValueRef store)
{
    LLVMValueRef p = LLVMGetOperand(store, 1);
    struct place at = memory_place(w, p, LLVMTypeOf(LLVMGetOperand(store, 0)));
    return LLVMIsAGetElementPtrInst(p) && LLVMGetOperand(p, 0) == w->block && at.known &&
           at.offset == offsetof(struct jit_block, warp) && at.bytes == 4;
}

/* Can an access there fault? */
static bool may_fault(const struct walk *w, const struct place *p)
{
    if (p->root == SHARED)
        return !p->known || p->offset < 0 || (uint64_t)p->offset + p->bytes > w->shared_bytes;
    return p->root == ELSEWHERE;
}

static bool begins(const char *name, const char *const *with, size_t n)
{
    for (size_t k = 0; k < n; k++)
        if (strncmp(name, with[k], strlen(with[k])) == 0)
            return true;
    return false;
}

static void forget_by_call(struct walk *w, LLVMValueRef call)
{
    static const char *const reads[] = {"llvm.masked.load", "llvm.masked.gather"};
    static const char *const harmless[] = {
        "llvm.prefetch",     "llvm.ctpop", "llvm.cttz",   "llvm.ctlz", "llvm.fma",
        "llvm.fmuladd",      "llvm.umin",  "llvm.umax",   "llvm.smin", "llvm.smax",
        "llvm.abs",          "llvm.fabs",  "llvm.sqrt",   "llvm.fshl", "llvm.fshr",
        "llvm.minnum",       "llvm.dbg",   "llvm.maxnum", "llvm.usub", "llvm.uadd",
        "llvm.vector.reduce"};
    LLVMValueRef f = LLVMGetCalledValue(call);
    size_t length = 0;
    const char *name = LLVMIsAFunction(f) ? LLVMGetValueName2(f, &length) : "";
    if (begins(name, harmless, WEIR_COUNT(harmless)))
        return;
    w->note = NULL;
    if (!begins(name, reads, WEIR_COUNT(reads)))
        w->count = 0;
}

static void walk_instruction(struct walk *w, LLVMValueRef i)
{
    struct place p;
    if (LLVMIsAPHINode(i))
        return;
    take(w, i);
    switch (LLVMGetInstructionOpcode(i)) {
    case LLVMLoad:
        p = memory_place(w, LLVMGetOperand(i, 0), LLVMTypeOf(i));
        if (may_fault(w, &p))
            w->note = NULL;
        break;
    case LLVMStore:
        p = memory_place(w, LLVMGetOperand(i, 1), LLVMTypeOf(LLVMGetOperand(i, 0)));
        if (is_note(w, i)) {
            if (w->note != NULL) {
                LLVMInstructionEraseFromParent(w->note);
                w->changed = true;
            }
            w->note = i;
            return;
        }
        if (may_fault(w, &p))
            w->note = NULL;
        forget_written(w, &p);
        if (!LLVMGetVolatile(i) && LLVMGetOrdering(i) == LLVMAtomicOrderingNotAtomic)
            settle(w, LLVMGetOperand(i, 0), LLVMGetOperand(i, 1), LLVMGetAlignment(i));
        break;
    case LLVMCall: forget_by_call(w, i); break;
    case LLVMUDiv:
    case LLVMSDiv:
    case LLVMURem:
    case LLVMSRem: w->note = NULL; break;
    case LLVMFence:
    case LLVMAtomicRMW:
    case LLVMAtomicCmpXchg:
        w->note = NULL;
        w->count = 0;
        break;
    default: break;
    }
    if (LLVMGetTypeKind(LLVMTypeOf(i)) == LLVMVectorTypeKind)
        w->made += LLVMABISizeOfType(w->data, LLVMTypeOf(i));
}

bool homes_use(LLVMModuleRef m, LLVMTargetDataRef data, uint64_t shared_bytes, unsigned simd_bits)
{
    LLVMValueRef fn = LLVMGetNamedFunction(m, JIT_ENTRY_SYMBOL);
    struct walk w = {.data = data,
                     .b = LLVMCreateBuilderInContext(LLVMGetModuleContext(m)),
                     .block = LLVMGetParam(fn, 0),
                     .shared_bytes = shared_bytes,
                     .registers = (uint64_t)simd_bits / 8 * (simd_bits >= 512 ? 32 : 16)};
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(fn); b != NULL;
         b = LLVMGetNextBasicBlock(b)) {
        w.count = 0;
        w.note = NULL;
        for (LLVMValueRef i = LLVMGetFirstInstruction(b), next; i != NULL; i = next) {
            next = LLVMGetNextInstruction(i);
            walk_instruction(&w, i);
        }
    }
    LLVMDisposeBuilder(w.b);
    return w.changed;
}
