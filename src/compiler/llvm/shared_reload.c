/* shared_reload: reloads values from shared memory that holds them already.
 *
 * In kernels in lockstep LLVM unrolls the loops over warps, and what a warp stores before a barrier
 * and reads after it stays in registers. That makes a tree of sums fast; but where a block has more
 * values than there are registers they are spilled: each is stored into shared memory and once more
 * on the stack, and CPUs store one vector in each cycle. So a value whose last use is so long ago
 * that it will have left the registers is loaded from shared memory instead, if nothing has been
 * written there since.
 *
 * That sees one basic block at a time: unrolled loops are long ones.
 *
 * Stores of the warp's index (warp_index.c) are removed here, too, that another one follows on
 * each path before anything could fault or call. Until now they have kept LLVM from loading rows
 * that all warps share in front of the loop over warps, where there are more of them than
 * registers. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "abi/plugin.h"
#include "base/alloc.h"
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

/* What the intrinsics are that a call is of, as far as it matters here. */
enum called { CALLS_NOTHING, CALLS_LOADS, CALLS_ANY };

static enum called called_by(LLVMValueRef call)
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
        return CALLS_NOTHING;
    return begins(name, reads, WEIR_COUNT(reads)) ? CALLS_LOADS : CALLS_ANY;
}

static void walk_instruction(struct walk *w, LLVMValueRef i)
{
    struct location p;
    if (LLVMIsAPHINode(i) != NULL)
        return;
    reload_operands(w, i);
    switch (LLVMGetInstructionOpcode(i)) {
    case LLVMStore:
        if (is_index_store(w, i))
            return;
        p = locate(w, LLVMGetOperand(i, 1), LLVMTypeOf(LLVMGetOperand(i, 0)));
        forget_written(w, &p);
        if (!LLVMGetVolatile(i) && LLVMGetOrdering(i) == LLVMAtomicOrderingNotAtomic)
            add_copy(w, LLVMGetOperand(i, 0), LLVMGetOperand(i, 1), LLVMGetAlignment(i));
        break;
    case LLVMCall: w->count = called_by(i) == CALLS_ANY ? 0 : w->count; break;
    case LLVMFence:
    case LLVMAtomicRMW:
    case LLVMAtomicCmpXchg: w->count = 0; break;
    default: break;
    }
    if (LLVMGetTypeKind(LLVMTypeOf(i)) == LLVMVectorTypeKind)
        w->made += LLVMABISizeOfType(w->data, LLVMTypeOf(i));
}

/* ---- the warp's index ---- */

static const char INSIDE[] = "weir.inside";

static unsigned inside_kind(LLVMValueRef access)
{
    LLVMContextRef ctx = LLVMGetTypeContext(LLVMTypeOf(access));
    return LLVMGetMDKindIDInContext(ctx, INSIDE, sizeof INSIDE - 1);
}

void inside_mark(LLVMValueRef access)
{
    LLVMContextRef ctx = LLVMGetTypeContext(LLVMTypeOf(access));
    LLVMMetadataRef empty = LLVMMDNodeInContext2(ctx, NULL, 0);
    LLVMSetMetadata(access, inside_kind(access), LLVMMetadataAsValue(ctx, empty));
}

bool inside_marked(LLVMValueRef access)
{
    return LLVMGetMetadata(access, inside_kind(access)) != NULL;
}

/* Is the index read when the instruction faults, calls or returns? */
static bool needs_index(const struct walk *w, LLVMValueRef i)
{
    struct location p;
    switch (LLVMGetInstructionOpcode(i)) {
    case LLVMLoad:
        p = locate(w, LLVMGetOperand(i, 0), LLVMTypeOf(i));
        return may_fault(w, &p) && !inside_marked(i);
    case LLVMStore:
        p = locate(w, LLVMGetOperand(i, 1), LLVMTypeOf(LLVMGetOperand(i, 0)));
        return may_fault(w, &p) && !inside_marked(i);
    case LLVMCall: {
        enum called c = called_by(i);
        return c == CALLS_ANY || (c == CALLS_LOADS && !inside_marked(i));
    }
    case LLVMUDiv:
    case LLVMSDiv:
    case LLVMURem:
    case LLVMSRem:
    case LLVMFence:
    case LLVMAtomicRMW:
    case LLVMAtomicCmpXchg: return true;
    default: return false;
    }
}

/* A basic block, by its place in the function. */
struct index_block {
    LLVMBasicBlockRef bb;
    bool needed; /* at its start the index is read before it is stored */
};

struct index_blocks {
    struct index_block *of; /* by address */
    size_t n;
};

static int by_address(const void *a, const void *b)
{
    const struct index_block *x = a, *y = b;
    return x->bb < y->bb ? -1 : x->bb > y->bb;
}

static bool needed_after(const struct index_blocks *all, LLVMBasicBlockRef bb)
{
    LLVMValueRef end = LLVMGetBasicBlockTerminator(bb);
    unsigned n = LLVMGetNumSuccessors(end);
    bool needed = n == 0;
    for (unsigned s = 0; s < n && !needed; s++) {
        struct index_block key = {.bb = LLVMGetSuccessor(end, s)};
        const struct index_block *to = bsearch(&key, all->of, all->n, sizeof key, by_address);
        needed = to->needed;
    }
    return needed;
}

/* Whether the index is needed at the start of the block; where `removes`, stores of it that nothing
 * needs are removed. */
static bool needed_before(struct walk *w, const struct index_blocks *all, LLVMBasicBlockRef bb,
                          bool removes)
{
    bool needed = needed_after(all, bb);
    for (LLVMValueRef i = LLVMGetLastInstruction(bb), before; i != NULL; i = before) {
        before = LLVMGetPreviousInstruction(i);
        if (LLVMIsAStoreInst(i) == NULL || !is_index_store(w, i)) {
            needed |= needs_index(w, i);
            continue;
        }
        if (removes && !needed) {
            LLVMInstructionEraseFromParent(i);
            w->changed = true;
        }
        needed = false;
    }
    return needed;
}

static void remove_index_stores(struct walk *w, LLVMValueRef fn)
{
    struct index_blocks all = {.n = LLVMCountBasicBlocks(fn)};
    all.of = xcalloc(all.n, sizeof *all.of);
    size_t n = 0;
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(fn); b != NULL; b = LLVMGetNextBasicBlock(b))
        all.of[n++].bb = b;
    qsort(all.of, all.n, sizeof *all.of, by_address);
    for (bool changed = true; changed;) {
        changed = false;
        for (LLVMBasicBlockRef b = LLVMGetLastBasicBlock(fn); b != NULL;
             b = LLVMGetPreviousBasicBlock(b)) {
            struct index_block key = {.bb = b};
            struct index_block *at = bsearch(&key, all.of, all.n, sizeof key, by_address);
            if (at->needed || !needed_before(w, &all, b, false))
                continue;
            at->needed = changed = true;
        }
    }
    for (n = 0; n < all.n; n++)
        needed_before(w, &all, all.of[n].bb, true);
    free(all.of);
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
        for (LLVMValueRef i = LLVMGetFirstInstruction(b), next; i != NULL; i = next) {
            next = LLVMGetNextInstruction(i);
            walk_instruction(&w, i);
        }
    }
    remove_index_stores(&w, fn);
    LLVMDisposeBuilder(w.b);
    return w.changed;
}
