/* shared_reload: reloads values from shared memory that holds them already.
 *
 * In kernels in lockstep LLVM unrolls the loops over warps, and what a warp stores before a barrier
 * and reads after it stays in registers. That makes a tree of sums fast; but where a block has more
 * values than there are registers they are spilled: each is stored into shared memory and once more
 * on the stack, and CPUs store one vector in each cycle. So a value whose last use is so long ago
 * that it will have left the registers is loaded from shared memory instead, if nothing has been
 * written there since.
 *
 * The same walk removes stores of the warp's index (warp_index.c) that the next warp's follows
 * before anything could fault.
 *
 * Both see one basic block at a time: unrolled loops are long ones. */
#include <stddef.h>
#include <string.h>

#include "abi/plugin.h"
#include "compiler/codegen/codegen.h"
#include "compiler/llvm/llvm_passes.h"

enum {
    MAX_COPIES = 256, /* values known at a time; the oldest are forgotten */
    MIN_BYTES = 32,   /* smaller values are not reloaded */
};

/* The space of an address. Spaces do not overlap, but for UNKNOWN, which may be anything. */
enum space { SHARED, PRIVATE /* the block's record, frames, variables, parameters */, UNKNOWN };

struct location {
    enum space space;
    bool known;     /* the offset is */
    int64_t offset; /* from the root */
    uint64_t bytes;
};

/* A value that shared memory holds. */
struct shared_copy {
    LLVMValueRef value;
    int64_t offset;
    uint64_t bytes, touched; /* when it was last in a register, in bytes of vectors computed until
                                then */
    LLVMValueRef pointer;
    unsigned align;
};

struct walk {
    LLVMTargetDataRef data;
    LLVMBuilderRef b;
    LLVMValueRef block; /* the function's argument */
    uint64_t shared_bytes, registers, made;
    struct shared_copy copies[MAX_COPIES];
    int count;
    LLVMValueRef index_store; /* the last one, if nothing has needed it yet; else NULL */
    bool changed;
};

/* ---- addresses ---- */

/* The offset in the block's record from which a pointer was loaded, -1: it was not. */
static int64_t block_field_offset(const struct walk *w, LLVMValueRef v)
{
    if (LLVMIsALoadInst(v) == NULL)
        return -1;
    LLVMValueRef p = LLVMGetOperand(v, 0);
    if (p == w->block)
        return 0;
    if (LLVMIsAGetElementPtrInst(p) == NULL || LLVMGetOperand(p, 0) != w->block ||
        LLVMGetNumOperands(p) != 2 || LLVMIsAConstantInt(LLVMGetOperand(p, 1)) == NULL ||
        LLVMGetTypeKind(LLVMGetGEPSourceElementType(p)) != LLVMIntegerTypeKind ||
        LLVMGetIntTypeWidth(LLVMGetGEPSourceElementType(p)) != 8)
        return -1;
    return LLVMConstIntGetSExtValue(LLVMGetOperand(p, 1));
}

static struct location locate(const struct walk *w, LLVMValueRef p, LLVMTypeRef type)
{
    struct location at = {.space = UNKNOWN, .known = true};
    at.bytes = LLVMABISizeOfType(w->data, type);
    while (LLVMIsAGetElementPtrInst(p) != NULL) {
        LLVMTypeRef unit = LLVMGetGEPSourceElementType(p);
        if (LLVMGetNumOperands(p) == 2 && LLVMIsAConstantInt(LLVMGetOperand(p, 1)) != NULL)
            at.offset += LLVMConstIntGetSExtValue(LLVMGetOperand(p, 1)) *
                         (int64_t)LLVMABISizeOfType(w->data, unit);
        else
            at.known = false;
        p = LLVMGetOperand(p, 0);
    }
    int64_t field = block_field_offset(w, p);
    if (p == w->block || LLVMIsAAllocaInst(p) != NULL ||
        field == offsetof(struct jit_block, frame) || field == offsetof(struct jit_block, params))
        at.space = PRIVATE;
    else if (field == offsetof(struct jit_block, shared))
        at.space = SHARED;
    return at;
}

static bool overlap(const struct shared_copy *h, const struct location *p)
{
    return h->offset < p->offset + (int64_t)p->bytes && p->offset < h->offset + (int64_t)h->bytes;
}

/* ---- copies in shared memory ---- */

static void forget_written(struct walk *w, const struct location *p)
{
    int kept = 0;
    if (p->space == PRIVATE)
        return;
    for (int n = 0; n < w->count; n++)
        if (p->space == SHARED && p->known && !overlap(&w->copies[n], p))
            w->copies[kept++] = w->copies[n];
    w->count = kept;
}

static void add_copy(struct walk *w, LLVMValueRef value, LLVMValueRef pointer, unsigned align)
{
    struct location p = locate(w, pointer, LLVMTypeOf(value));
    if (p.space != SHARED || !p.known || p.bytes < MIN_BYTES || LLVMIsAInstruction(value) == NULL ||
        LLVMGetTypeKind(LLVMTypeOf(value)) != LLVMVectorTypeKind)
        return;
    for (int n = 0; n < w->count; n++)
        if (w->copies[n].value == value)
            return; /* one is enough */
    if (w->count == MAX_COPIES)
        memmove(w->copies, w->copies + 1, sizeof *w->copies * (size_t)--w->count);
    w->copies[w->count++] = (struct shared_copy){value, p.offset, p.bytes, w->made, pointer, align};
}

/* Loads operands that have left the registers before the instruction. */
static void reload_operands(struct walk *w, LLVMValueRef i)
{
    for (int n = 0; n < LLVMGetNumOperands(i); n++) {
        LLVMValueRef v = LLVMGetOperand(i, (unsigned)n);
        for (int h = w->count - 1; h >= 0; h--) {
            struct shared_copy *at = &w->copies[h];
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

static bool is_index_store(const struct walk *w, LLVMValueRef store)
{
    LLVMValueRef p = LLVMGetOperand(store, 1);
    struct location at = locate(w, p, LLVMTypeOf(LLVMGetOperand(store, 0)));
    return LLVMIsAGetElementPtrInst(p) != NULL && LLVMGetOperand(p, 0) == w->block && at.known &&
           at.offset == offsetof(struct jit_block, warp) && at.bytes == 4;
}

/* Can an access there fault? */
static bool may_fault(const struct walk *w, const struct location *p)
{
    if (p->space == SHARED)
        return !p->known || p->offset < 0 || (uint64_t)p->offset + p->bytes > w->shared_bytes;
    return p->space == UNKNOWN;
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
    const char *name = LLVMIsAFunction(f) != NULL ? LLVMGetValueName2(f, &length) : "";
    if (begins(name, harmless, WEIR_COUNT(harmless)))
        return;
    w->index_store = NULL;
    if (!begins(name, reads, WEIR_COUNT(reads)))
        w->count = 0;
}

static void walk_instruction(struct walk *w, LLVMValueRef i)
{
    struct location p;
    if (LLVMIsAPHINode(i) != NULL)
        return;
    reload_operands(w, i);
    switch (LLVMGetInstructionOpcode(i)) {
    case LLVMLoad:
        p = locate(w, LLVMGetOperand(i, 0), LLVMTypeOf(i));
        if (may_fault(w, &p))
            w->index_store = NULL;
        break;
    case LLVMStore:
        p = locate(w, LLVMGetOperand(i, 1), LLVMTypeOf(LLVMGetOperand(i, 0)));
        if (is_index_store(w, i)) {
            if (w->index_store != NULL) {
                LLVMInstructionEraseFromParent(w->index_store);
                w->changed = true;
            }
            w->index_store = i;
            return;
        }
        if (may_fault(w, &p))
            w->index_store = NULL;
        forget_written(w, &p);
        if (!LLVMGetVolatile(i) && LLVMGetOrdering(i) == LLVMAtomicOrderingNotAtomic)
            add_copy(w, LLVMGetOperand(i, 0), LLVMGetOperand(i, 1), LLVMGetAlignment(i));
        break;
    case LLVMCall: forget_by_call(w, i); break;
    case LLVMUDiv:
    case LLVMSDiv:
    case LLVMURem:
    case LLVMSRem: w->index_store = NULL; break;
    case LLVMFence:
    case LLVMAtomicRMW:
    case LLVMAtomicCmpXchg:
        w->index_store = NULL;
        w->count = 0;
        break;
    default: break;
    }
    if (LLVMGetTypeKind(LLVMTypeOf(i)) == LLVMVectorTypeKind)
        w->made += LLVMABISizeOfType(w->data, LLVMTypeOf(i));
}

bool shared_reload(LLVMModuleRef m, LLVMTargetDataRef data, uint64_t shared_bytes,
                   unsigned simd_bits)
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
        w.index_store = NULL;
        for (LLVMValueRef i = LLVMGetFirstInstruction(b), next; i != NULL; i = next) {
            next = LLVMGetNextInstruction(i);
            walk_instruction(&w, i);
        }
    }
    LLVMDisposeBuilder(w.b);
    return w.changed;
}
