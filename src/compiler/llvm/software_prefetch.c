/* software_prefetch: prefetches what the next block will read or write while this one runs.
 *
 * A block of a reduction, or of one row of a matrix, is short: it reads, and is then busy with
 * barriers and sums while memory is idle. The CPU's own prefetchers follow a pattern only, which
 * ends with the block or at the end of a page. But a thread runs the blocks of a grid in order, and
 * the stride between their addresses is known: the derivative of an address by ctaid.x, which is
 * computed here on LLVM IR, after the optimizer.
 *
 * This is for kernels with barriers. Accesses that a block executes once are prefetched for the
 * next block. Loads in a loop, with which a block fills a tile before a barrier, go down many rows,
 * a short piece of each; neighbouring blocks read neighbouring pieces. What such a load reads is
 * prefetched where blocks some lines further will read it; for these alone, addresses are followed
 * through vectors and bounds. A prefetch never faults, so the last blocks may prefetch beyond the
 * end.
 *
 * In kernels without barriers, whose blocks follow each other in a call, the CPU's prefetchers
 * follow what is read, but begin anew with each page, and a locked instruction holds up the loads
 * that they follow. So where few loads go through memory, what they will read some warps later is
 * asked for; many of them, as a stencil has, read lines that others have read before. And a CPU
 * keeps no more than some tens of stores that wait for lines, and they leave it in order: those of
 * the warp's index, one between two others, take a third of it. So where a kernel only streams, the
 * lines that the next warps will store to are asked for. */
#include <stddef.h>
#include <string.h>

#include "abi/plugin.h"
#include "base/base.h"
#include "compiler/codegen/codegen.h"
#include "compiler/codegen/control/control.h"
#include "compiler/llvm/llvm_passes.h"

enum {
    LINE = 64,          /* bytes of a cache line */
    MIN_STRIDE = 512,   /* closer ones read parts of the same rows */
    PIECES_AHEAD = 96,  /* bytes, from a piece of a row to the one that is prefetched: more
                            drives others out of the cache, where rows are a power of two of bytes */
    READ_AHEAD = 1024,  /* bytes, from what a warp reads to what is prefetched, */
    STORED_AHEAD = 512, /* and from what it stores */
    MIN_STREAMED = 32,  /* bytes of these, else it is not a vector of lanes */
    RAISED_DEPTH = 8,   /* of an address that is computed where its block begins */
    MAX_DEPTH = 24,     /* of an address's expression */
    MAX_PHIS = 16,
    MAX_STEPS = 400,    /* through one address's expression, whose parts may be shared */
    MAX_PREFETCHES = 64 /* of a kernel */
};

/* Executed once; a loop's loads that fill a tile; loads of a kernel that has few of them, and
 * stores of one that only streams. */
enum mark { ONCE, FILLING, STREAMED, MARKS };

static unsigned metadata_kind(LLVMModuleRef m, enum mark mark)
{
    static const char *const names[MARKS] = {"weir.once", "weir.filling", "weir.streamed"};
    return LLVMGetMDKindIDInContext(LLVMGetModuleContext(m), names[mark],
                                    (unsigned)strlen(names[mark]));
}

/* The operand of an access that is its pointer; -1: it is none. */
static int pointer_operand(LLVMValueRef access)
{
    if (LLVMIsALoadInst(access) != NULL)
        return 0;
    if (LLVMIsAStoreInst(access) != NULL)
        return 1;
    if (LLVMIsACallInst(access) == NULL)
        return -1;
    LLVMValueRef f = LLVMGetCalledValue(access);
    unsigned id = LLVMIsAFunction(f) != NULL ? LLVMGetIntrinsicID(f) : 0;
    return id != 0 && id == LLVMLookupIntrinsicID("llvm.masked.load", 16) ? 0 : -1;
}

void prefetch_mark(struct codegen *cg, LLVMValueRef access, unsigned space)
{
    const struct jkernel *k = cg->k;
    bool loads = LLVMIsALoadInst(access) != NULL, stores = LLVMIsAStoreInst(access) != NULL;
    bool streams = (stores && batch_only_streams(cg)) ||
                   (loads && batch_reads_few(cg) && cg->cur != NULL && cg->cur->depth == 0);
    if (space == PTX_SPACE_GLOBAL && streams && cg->mask == NULL && !k->opt->checked) {
        LLVMSetMetadata(access, metadata_kind(cg->alu.module, STREAMED), cg->md.empty);
        return;
    }
    if (space != PTX_SPACE_GLOBAL || !k->lockstep || k->barrier_loop != 0 || k->opt->checked ||
        cg->cur == NULL)
        return;
    if (cg->cur->depth == 0 && (loads || stores))
        LLVMSetMetadata(access, metadata_kind(cg->alu.module, ONCE), cg->md.empty);
    else if (cg->cur->depth > 0 && k->nresume > 1 && !stores && pointer_operand(access) == 0 &&
             LLVMGetTypeKind(LLVMTypeOf(access)) == LLVMVectorTypeKind)
        LLVMSetMetadata(access, metadata_kind(cg->alu.module, FILLING), cg->md.empty);
}

/* ---- derivatives ---- */

struct derivation {
    LLVMBuilderRef b;
    LLVMValueRef block; /* the function's argument, struct jit_block * */
    bool scalars;       /* vectors, bounds and what a loop carries are not looked through */
    int steps;          /* that are left */
    LLVMValueRef phis[MAX_PHIS]; /* that have been met: they are looked through once */
    int nphis;
    int inside; /* of so many it follows what comes around the loop */
};

static bool is_ctaid(const struct derivation *t, LLVMValueRef load)
{
    LLVMValueRef p = LLVMGetOperand(load, 0);
    if (LLVMIsAGetElementPtrInst(p) == NULL || LLVMGetOperand(p, 0) != t->block ||
        LLVMGetNumOperands(p) != 2 || LLVMIsAConstantInt(LLVMGetOperand(p, 1)) == NULL)
        return false;
    return LLVMConstIntGetZExtValue(LLVMGetOperand(p, 1)) == offsetof(struct jit_block, ctaid);
}

static bool is_vector(LLVMValueRef v)
{
    return LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMVectorTypeKind;
}

static LLVMTypeRef scalar_type(LLVMValueRef v)
{
    return is_vector(v) ? LLVMGetElementType(LLVMTypeOf(v)) : LLVMTypeOf(v);
}

/* Element `lane` of a vector; a scalar itself. */
static LLVMValueRef element(const struct derivation *t, LLVMValueRef v, unsigned lane)
{
    if (!is_vector(v))
        return v;
    LLVMTypeRef i32 = LLVMInt32TypeInContext(LLVMGetTypeContext(LLVMTypeOf(v)));
    return LLVMBuildExtractElement(t->b, v, LLVMConstInt(i32, lane, false), "");
}

static LLVMValueRef derive(struct derivation *t, LLVMValueRef v, unsigned lane, int depth);

/* Of a sum or difference; NULL is zero. */
static LLVMValueRef derive_sum(struct derivation *t, LLVMValueRef v, bool minus, unsigned lane,
                               int depth)
{
    LLVMValueRef x = derive(t, LLVMGetOperand(v, 0), lane, depth);
    LLVMValueRef y = derive(t, LLVMGetOperand(v, 1), lane, depth);
    if (y == NULL)
        return x;
    if (x == NULL)
        return minus ? LLVMBuildNeg(t->b, y, "") : y;
    return minus ? LLVMBuildSub(t->b, x, y, "") : LLVMBuildAdd(t->b, x, y, "");
}

/* Whether a factor can be named where the prefetch will stand: what comes around a loop may be set
 * after it. */
static bool usable(const struct derivation *t, LLVMValueRef factor)
{
    return t->inside == 0 || LLVMIsConstant(factor);
}

/* Of a product of which one factor is the same for all blocks. */
static LLVMValueRef derive_product(struct derivation *t, LLVMValueRef v, unsigned lane, int depth)
{
    LLVMValueRef x = LLVMGetOperand(v, 0), y = LLVMGetOperand(v, 1);
    LLVMValueRef dx = derive(t, x, lane, depth), dy = derive(t, y, lane, depth);
    if ((dx != NULL && dy != NULL) || (dx != NULL && !usable(t, y)) ||
        (dy != NULL && !usable(t, x)))
        return NULL;
    return dx != NULL   ? LLVMBuildMul(t->b, dx, element(t, y, lane), "")
           : dy != NULL ? LLVMBuildMul(t->b, element(t, x, lane), dy, "")
                        : NULL;
}

/* Of what is made of another value's elements. */
static LLVMValueRef derive_element(struct derivation *t, LLVMValueRef v, unsigned lane, int depth)
{
    LLVMOpcode op = LLVMGetInstructionOpcode(v);
    LLVMValueRef first = LLVMGetOperand(v, 0);
    if (op == LLVMShuffleVector) {
        int from = LLVMGetMaskValue(v, lane), n = (int)LLVMGetVectorSize(LLVMTypeOf(first));
        if (from < 0)
            return NULL;
        return from < n ? derive(t, first, (unsigned)from, depth)
                        : derive(t, LLVMGetOperand(v, 1), (unsigned)(from - n), depth);
    }
    LLVMValueRef at = LLVMGetOperand(v, op == LLVMExtractElement ? 1 : 2);
    if (LLVMIsAConstantInt(at) == NULL)
        return NULL;
    unsigned n = (unsigned)LLVMConstIntGetZExtValue(at);
    if (op == LLVMExtractElement)
        return derive(t, first, n, depth);
    return n == lane ? derive(t, LLVMGetOperand(v, 1), 0, depth) : derive(t, first, lane, depth);
}

/* Of a value that is bounded by one that is the same for all blocks: most blocks lie within. */
static LLVMValueRef derive_bounded(struct derivation *t, LLVMValueRef v, unsigned lane, int depth)
{
    static const char *const bounds[] = {"llvm.smin", "llvm.smax", "llvm.umin", "llvm.umax"};
    LLVMValueRef f = LLVMGetCalledValue(v);
    unsigned id = LLVMIsAFunction(f) != NULL ? LLVMGetIntrinsicID(f) : 0;
    for (unsigned n = 0; id != 0 && n < WEIR_COUNT(bounds); n++)
        if (id == LLVMLookupIntrinsicID(bounds[n], strlen(bounds[n]))) {
            LLVMValueRef x = derive(t, LLVMGetOperand(v, 0), lane, depth);
            return x != NULL ? x : derive(t, LLVMGetOperand(v, 1), lane, depth);
        }
    return NULL;
}

/* Of a value that is carried around a loop: as where it enters, if that is known anywhere. */
static LLVMValueRef derive_phi(struct derivation *t, LLVMValueRef v, unsigned lane, int depth)
{
    for (int n = 0; n < t->nphis; n++)
        if (t->phis[n] == v)
            return NULL;
    if (t->nphis == MAX_PHIS)
        return NULL;
    t->phis[t->nphis++] = v;
    LLVMValueRef found = NULL;
    t->inside++;
    for (unsigned n = 0; n < LLVMCountIncoming(v) && found == NULL; n++) {
        LLVMValueRef x = derive(t, LLVMGetIncomingValue(v, n), lane, depth);
        if (x != NULL && LLVMIsConstant(x))
            found = x;
    }
    t->inside--;
    return found;
}

/* How much v, or a vector's element `lane`, grows from a block to the next in x, as far as that is
 * plain to see; NULL: not at all. An answer that is wrong, where a sum wraps around, costs nothing
 * but time. */
static LLVMValueRef derive(struct derivation *t, LLVMValueRef v, unsigned lane, int depth)
{
    if (depth == 0 || t->steps-- <= 0 || LLVMIsAInstruction(v) == NULL)
        return NULL;
    LLVMTypeRef type = scalar_type(v);
    if (t->scalars && is_vector(v))
        return NULL;
    switch (LLVMGetInstructionOpcode(v)) {
    case LLVMLoad: return !is_vector(v) && is_ctaid(t, v) ? LLVMConstInt(type, 1, false) : NULL;
    case LLVMAdd:
    case LLVMOr: return derive_sum(t, v, false, lane, depth - 1);
    case LLVMSub: return derive_sum(t, v, true, lane, depth - 1);
    case LLVMMul: return derive_product(t, v, lane, depth - 1);
    case LLVMShl: {
        LLVMValueRef x = derive(t, LLVMGetOperand(v, 0), lane, depth - 1);
        LLVMValueRef by = LLVMGetOperand(v, 1);
        return x == NULL || !usable(t, by) ? NULL : LLVMBuildShl(t->b, x, element(t, by, lane), "");
    }
    case LLVMZExt:
    case LLVMSExt:
    case LLVMTrunc: {
        LLVMValueRef x = derive(t, LLVMGetOperand(v, 0), lane, depth - 1);
        return x == NULL ? NULL : LLVMBuildIntCast2(t->b, x, type, true, "");
    }
    case LLVMAnd: /* a wider index cut to its bits */
        return LLVMIsAConstantInt(LLVMGetOperand(v, 1)) != NULL
                   ? derive(t, LLVMGetOperand(v, 0), lane, depth - 1)
                   : NULL;
    case LLVMIntToPtr: return derive(t, LLVMGetOperand(v, 0), lane, depth - 1);
    case LLVMGetElementPtr: /* of bytes */
        if (LLVMGetNumOperands(v) != 2 ||
            LLVMGetGEPSourceElementType(v) != LLVMInt8TypeInContext(LLVMGetTypeContext(type)))
            return NULL;
        return derive_sum(t, v, false, lane, depth - 1);
    case LLVMExtractElement:
    case LLVMInsertElement:
    case LLVMShuffleVector: return derive_element(t, v, lane, depth - 1);
    case LLVMPHI: return t->scalars ? NULL : derive_phi(t, v, lane, depth - 1);
    case LLVMCall: return t->scalars ? NULL : derive_bounded(t, v, lane, depth - 1);
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

/* The distance from a piece of a row to the one that is prefetched: that of some blocks; NULL:
 * there are no rows that blocks share. */
static LLVMValueRef pieces_stride(const struct derivation *t, LLVMValueRef d)
{
    int64_t n = LLVMIsAConstantInt(d) != NULL ? LLVMConstIntGetSExtValue(d) : 0;
    int64_t size = n < 0 ? -n : n;
    if (size == 0 || size >= MIN_STRIDE)
        return NULL;
    return LLVMBuildMul(
        t->b, d, LLVMConstInt(LLVMTypeOf(d), (uint64_t)((PIECES_AHEAD + size - 1) / size), false),
        "");
}

/* Prefetches `bytes` at p, for writing or reading, into the first or second cache. Gives the number
 * of lines. */
static unsigned prefetch_lines(LLVMBuilderRef b, LLVMModuleRef m, LLVMValueRef p, uint64_t bytes,
                               bool writes, unsigned cache)
{
    LLVMContextRef c = LLVMGetModuleContext(m);
    LLVMTypeRef i32 = LLVMInt32TypeInContext(c), ptr = LLVMTypeOf(p);
    unsigned id = LLVMLookupIntrinsicID("llvm.prefetch", 13), count = 0;
    LLVMValueRef f = LLVMGetIntrinsicDeclaration(m, id, &ptr, 1);
    LLVMTypeRef type = LLVMIntrinsicGetType(c, id, &ptr, 1);
    for (uint64_t at = 0; at < bytes; at += LINE, count++) {
        LLVMValueRef offset = LLVMConstInt(LLVMInt64TypeInContext(c), at, false);
        LLVMValueRef args[4] = {LLVMBuildGEP2(b, LLVMInt8TypeInContext(c), p, &offset, 1, ""),
                                LLVMConstInt(i32, writes, false),
                                LLVMConstInt(i32, 4 - cache, false),
                                LLVMConstInt(i32, 1, false) /* data */};
        LLVMBuildCall2(b, type, f, args, 4, "");
    }
    return count;
}

/* Prefetches what the access, of that many bytes, will touch in a later block. Returns the number
 * of prefetches. */
static unsigned prefetch(struct derivation *t, LLVMModuleRef m, LLVMValueRef access, uint64_t bytes,
                         enum mark mark)
{
    bool writes = LLVMIsAStoreInst(access) != NULL;
    LLVMContextRef c = LLVMGetModuleContext(m);
    LLVMTypeRef i64 = LLVMInt64TypeInContext(c);
    LLVMPositionBuilderBefore(t->b, access);
    t->scalars = mark == ONCE;
    t->steps = MAX_STEPS;
    t->nphis = 0;
    LLVMValueRef p = LLVMGetOperand(access, (unsigned)pointer_operand(access));
    LLVMValueRef d = derive(t, p, 0, MAX_DEPTH);
    if (d != NULL) {
        d = LLVMBuildIntCast2(t->b, d, i64, true, "");
        d = mark == ONCE ? block_stride(t, d) : pieces_stride(t, d);
    }
    if (d == NULL)
        return 0;
    p = LLVMBuildGEP2(t->b, LLVMInt8TypeInContext(c), p, &d, 1, "");
    return prefetch_lines(t->b, m, p, bytes, writes, mark == ONCE ? 2 : 1);
}

/* Is v of a block made of scalars alone that are there where the block begins? */
static bool can_rise(LLVMValueRef v, LLVMBasicBlockRef block, int depth)
{
    if (LLVMIsAInstruction(v) == NULL || LLVMGetInstructionParent(v) != block ||
        LLVMIsAPHINode(v) != NULL)
        return true;
    switch (LLVMGetInstructionOpcode(v)) {
    case LLVMGetElementPtr:
    case LLVMAdd:
    case LLVMSub:
    case LLVMMul:
    case LLVMShl:
    case LLVMOr:
    case LLVMSExt:
    case LLVMZExt:
    case LLVMTrunc:
    case LLVMIntToPtr: break;
    default: return false;
    }
    for (unsigned n = 0; n < (unsigned)LLVMGetNumOperands(v); n++)
        if (depth == 0 || !can_rise(LLVMGetOperand(v, n), block, depth - 1))
            return false;
    return !is_vector(v);
}

/* Moves it there: before the builder's position, which is *first. */
static void rise(LLVMBuilderRef b, LLVMValueRef v, LLVMBasicBlockRef block, LLVMValueRef *first)
{
    if (LLVMIsAInstruction(v) == NULL || LLVMGetInstructionParent(v) != block ||
        LLVMIsAPHINode(v) != NULL)
        return;
    for (unsigned n = 0; n < (unsigned)LLVMGetNumOperands(v); n++)
        rise(b, LLVMGetOperand(v, n), block, first);
    if (v == *first) {
        *first = LLVMGetNextInstruction(v);
    } else {
        LLVMInstructionRemoveFromParent(v);
        LLVMInsertIntoBuilder(b, v);
    }
    LLVMPositionBuilderBefore(b, *first);
}

/* For an access that goes through memory. Where the block begins, if it can be there: LLVM orders
 * what is between a store and other accesses of memory worse. */
static unsigned prefetch_streamed(LLVMBuilderRef b, LLVMModuleRef m, LLVMValueRef access,
                                  uint64_t bytes)
{
    LLVMValueRef p = LLVMGetOperand(access, (unsigned)pointer_operand(access));
    bool writes = LLVMIsAStoreInst(access) != NULL;
    LLVMBasicBlockRef block = LLVMGetInstructionParent(access);
    LLVMValueRef first = LLVMGetFirstInstruction(block);
    while (LLVMIsAPHINode(first) != NULL)
        first = LLVMGetNextInstruction(first);
    LLVMPositionBuilderBefore(b, access);
    if (can_rise(p, block, RAISED_DEPTH)) {
        LLVMPositionBuilderBefore(b, first);
        rise(b, p, block, &first);
    }
    LLVMContextRef c = LLVMGetModuleContext(m);
    LLVMValueRef ahead =
        LLVMConstInt(LLVMInt64TypeInContext(c), writes ? STORED_AHEAD : READ_AHEAD, false);
    p = LLVMBuildGEP2(b, LLVMInt8TypeInContext(c), p, &ahead, 1, "");
    return prefetch_lines(b, m, p, bytes, writes, 1);
}

bool prefetch_insert(LLVMModuleRef m, LLVMTargetDataRef data, bool by_panels)
{
    LLVMValueRef fn = LLVMGetNamedFunction(m, JIT_ENTRY_SYMBOL);
    unsigned kind[MARKS], count = 0;
    for (int n = 0; n < MARKS; n++)
        kind[n] = metadata_kind(m, (enum mark)n);
    struct derivation t = {.b = LLVMCreateBuilderInContext(LLVMGetModuleContext(m)),
                           .block = LLVMGetParam(fn, 0)};
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(fn); b != NULL; b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i != NULL && count < MAX_PREFETCHES;
             i = LLVMGetNextInstruction(i)) {
            if (pointer_operand(i) < 0)
                continue;
            bool writes = LLVMIsAStoreInst(i) != NULL;
            uint64_t bytes = LLVMABISizeOfType(data, LLVMTypeOf(writes ? LLVMGetOperand(i, 0) : i));
            if (bytes >= MIN_STREAMED && LLVMGetMetadata(i, kind[STREAMED]) != NULL)
                count += prefetch_streamed(t.b, m, i, bytes);
            else if (bytes >= LINE && LLVMGetMetadata(i, kind[ONCE]) != NULL)
                count += prefetch(&t, m, i, bytes, ONCE);
            else if (!by_panels && LLVMGetMetadata(i, kind[FILLING]) != NULL)
                count += prefetch(&t, m, i, bytes, FILLING);
        }
    LLVMDisposeBuilder(t.b);
    return count > 0;
}
