/* quick: kernels made small for the code generator.
 *
 * Selecting instructions for vectors of 32 lanes is where compilation takes its time: one addition
 * of LLVM's is up to sixteen of the machine, each found by long search. Quick code (JIT_QUICK) has
 * each kind of operation once, as a function that takes its operands from memory and leaves its
 * result there, and kernels call it. Masks, vectors of i1, become integers. What remains are calls,
 * branches and scalars, which LLVM translates fast; the code is many times slower.
 *
 * LLVM has brought values that outlive a block into variables (its pass reg2mem), so that every
 * vector here is a variable, or lives in one block. Memory of the program is accessed where it was,
 * so that a fault is found at its line. */
#include <llvm-c/DebugInfo.h>

#include <stdlib.h>
#include <string.h>

#include "jit/emit.h"
#include "jit/quick.h"

enum {
    LEAST = 500 /* instructions of a function that is worth it */,
    ALIGN = 64,
    MADE = 4096 /* places for functions, a half of which are used */
};

/* What is known of a value; found by its address. */
struct fact {
    LLVMValueRef value;
    LLVMValueRef bits;   /* a mask as an integer; NULL: none */
    LLVMValueRef memory; /* a vector's place; NULL: none */
    LLVMValueRef slot; /* instruction: the variable it writes by itself, instead of a later store */
    uint32_t at;       /* an instruction's number in its block, from 1 on */
    uint32_t last;     /* the number of the last instruction that uses it */
    int32_t temp;      /* which of the temporaries `memory` is, or -1 */
    bool variable;     /* an alloca of one vector that is only loaded and stored */
    bool done;         /* a store that an operation makes itself; anything that is to go */
};

struct quick {
    LLVMModuleRef m;
    LLVMContextRef ctx;
    LLVMBuilderRef b, body; /* in the kernel; in functions that are made */
    LLVMTypeRef i8, ptr;
    LLVMValueRef fn;
    struct {
        struct fact *items;
        size_t count, cap; /* cap: a power of two */
    } facts;
    struct made {
        struct hash128 key;
        LLVMValueRef fn;
    } *made; /* functions by key, a table of open addresses */
    size_t nmade;
    struct {
        struct temp {
            LLVMValueRef memory;
            uint64_t bytes;
            bool used;
        } *items;
        size_t count, cap;
    } temps;
    struct {
        LLVMValueRef *items;
        size_t count, cap;
    } block; /* instructions of the block at hand, as they were */
    LLVMTargetDataRef data;
};

/* ---- facts ----------------------------------------------------------------------------------- */

static size_t place_(const struct quick *q, LLVMValueRef v)
{
    size_t at = ((uintptr_t)v >> 4) * 0x9e3779b97f4a7c15u >> 20 & (q->facts.cap - 1);
    while (q->facts.items[at].value != NULL && q->facts.items[at].value != v)
        at = (at + 1) & (q->facts.cap - 1);
    return at;
}

/* NULL: nothing is known of it (constants, arguments, what was made here). */
static struct fact *fact_(const struct quick *q, LLVMValueRef v)
{
    struct fact *f = &q->facts.items[place_(q, v)];
    return f->value != NULL ? f : NULL;
}

static bool is_vector_(LLVMTypeRef t) { return LLVMGetTypeKind(t) == LLVMVectorTypeKind; }

/* Lanes of a mask that is an integer here; 0: no such mask. */
static unsigned mask_lanes_(LLVMTypeRef t)
{
    if (!is_vector_(t) || LLVMGetTypeKind(LLVMGetElementType(t)) != LLVMIntegerTypeKind ||
        LLVMGetIntTypeWidth(LLVMGetElementType(t)) != 1)
        return 0;
    unsigned n = LLVMGetVectorSize(t);
    return n == 8 || n == 16 || n == 32 || n == 64 ? n : 0;
}

/* A vector that is kept in memory. */
static bool in_memory_(LLVMTypeRef t)
{
    if (!is_vector_(t) || (LLVMGetVectorSize(t) & (LLVMGetVectorSize(t) - 1)) != 0)
        return false;
    LLVMTypeRef element = LLVMGetElementType(t);
    switch (LLVMGetTypeKind(element)) {
    case LLVMIntegerTypeKind: {
        unsigned bits = LLVMGetIntTypeWidth(element);
        return bits == 8 || bits == 16 || bits == 32 || bits == 64;
    }
    case LLVMHalfTypeKind:
    case LLVMBFloatTypeKind:
    case LLVMFloatTypeKind:
    case LLVMDoubleTypeKind: return true;
    default: return false;
    }
}

static LLVMTypeRef bits_type_(const struct quick *q, LLVMTypeRef mask)
{
    return LLVMIntTypeInContext(q->ctx, mask_lanes_(mask));
}

/* The variable that a load or store accesses as a whole; NULL: none. */
static struct fact *variable_of_(const struct quick *q, LLVMValueRef i)
{
    LLVMValueRef p = LLVMIsALoadInst(i)    ? LLVMGetOperand(i, 0)
                     : LLVMIsAStoreInst(i) ? LLVMGetOperand(i, 1)
                                           : NULL;
    struct fact *f = p != NULL && LLVMIsAAllocaInst(p) ? fact_(q, p) : NULL;
    return f != NULL && f->variable ? f : NULL;
}

/* Is it an alloca of a vector, which is only loaded and stored as a whole? */
static bool is_variable_(LLVMValueRef alloca)
{
    LLVMTypeRef t = LLVMGetAllocatedType(alloca);
    if (mask_lanes_(t) == 0 && !in_memory_(t))
        return false;
    for (LLVMUseRef u = LLVMGetFirstUse(alloca); u != NULL; u = LLVMGetNextUse(u)) {
        LLVMValueRef user = LLVMGetUser(u);
        bool load = LLVMIsALoadInst(user) != NULL && LLVMTypeOf(user) == t;
        bool store = LLVMIsAStoreInst(user) != NULL && LLVMGetOperand(user, 1) == alloca &&
                     LLVMGetOperand(user, 0) != alloca && LLVMTypeOf(LLVMGetOperand(user, 0)) == t;
        if ((!load && !store) || LLVMGetVolatile(user))
            return false;
    }
    return true;
}

/* Notes all instructions. False: one is of a kind that reg2mem should have removed. */
static bool note_(struct quick *q)
{
    size_t n = 0;
    for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(q->fn); bb; bb = LLVMGetNextBasicBlock(bb))
        for (LLVMValueRef i = LLVMGetFirstInstruction(bb); i; i = LLVMGetNextInstruction(i)) {
            if (LLVMIsAPHINode(i) && is_vector_(LLVMTypeOf(i)))
                return false;
            n++;
        }
    for (q->facts.cap = 64; q->facts.cap < n * 2; q->facts.cap *= 2)
        ;
    q->facts.items = xcalloc(q->facts.cap, sizeof *q->facts.items);
    for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(q->fn); bb; bb = LLVMGetNextBasicBlock(bb)) {
        uint32_t at = 0;
        for (LLVMValueRef i = LLVMGetFirstInstruction(bb); i; i = LLVMGetNextInstruction(i))
            q->facts.items[place_(q, i)] =
                (struct fact){.value = i,
                              .at = ++at,
                              .temp = -1,
                              .variable = LLVMIsAAllocaInst(i) && is_variable_(i)};
    }
    return true;
}

/* The number of the last instruction of its block that uses it; UINT32_MAX: others do, too. */
static uint32_t last_use_(const struct quick *q, LLVMValueRef i)
{
    uint32_t last = 0;
    for (LLVMUseRef u = LLVMGetFirstUse(i); u != NULL; u = LLVMGetNextUse(u)) {
        const struct fact *f = fact_(q, LLVMGetUser(u));
        if (f == NULL || LLVMGetInstructionParent(f->value) != LLVMGetInstructionParent(i))
            return UINT32_MAX;
        last = f->at > last ? f->at : last;
    }
    return last;
}

/* ---- temporaries ----------------------------------------------------------------------------- */

static LLVMValueRef new_memory_(struct quick *q, uint64_t bytes)
{
    LLVMPositionBuilderBefore(q->body, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(q->fn)));
    LLVMSetCurrentDebugLocation2(q->body, NULL);
    LLVMValueRef a = LLVMBuildAlloca(q->body, LLVMArrayType2(q->i8, bytes), "");
    LLVMSetAlignment(a, ALIGN);
    return a;
}

/* A place for what instruction i gives. */
static void give_place_(struct quick *q, struct fact *f)
{
    if (f->slot != NULL) {
        f->memory = f->slot;
        return;
    }
    uint64_t bytes = LLVMABISizeOfType(q->data, LLVMTypeOf(f->value));
    f->last = last_use_(q, f->value);
    if (f->last == UINT32_MAX) {
        f->memory = new_memory_(q, bytes);
        return;
    }
    size_t n = 0;
    while (n < q->temps.count && (q->temps.items[n].used || q->temps.items[n].bytes != bytes))
        n++;
    if (n == q->temps.count)
        vec_push(&q->temps, (struct temp){.memory = new_memory_(q, bytes), .bytes = bytes});
    q->temps.items[n].used = true;
    f->temp = (int32_t)n;
    f->memory = q->temps.items[n].memory;
}

/* Instruction i has read its operands: those that it reads last are free. */
static void release_(struct quick *q, const struct fact *f)
{
    int n = LLVMGetNumOperands(f->value);
    for (int k = 0; k < n; k++) {
        struct fact *o = fact_(q, LLVMGetOperand(f->value, (unsigned)k));
        if (o != NULL && o->temp >= 0 && o->last == f->at) {
            q->temps.items[o->temp].used = false;
            o->temp = -1;
        }
    }
}

/* ---- functions ------------------------------------------------------------------------------- */

/* How an operand is given to a function. */
enum given { GIVEN_CONSTANT, GIVEN_SPLAT, GIVEN_MEMORY, GIVEN_BITS, GIVEN_VALUE };

enum { MOST = 6 };
struct operation {
    LLVMValueRef i;
    LLVMTypeRef type; /* of the result */
    LLVMOpcode op;
    int n;
    enum given how[MOST];
    LLVMValueRef v[MOST];
    LLVMTypeRef t[MOST];
};

/* The value that all lanes of a constant have; NULL: they differ. */
static LLVMValueRef splat_of_(LLVMValueRef c)
{
    LLVMValueRef first = LLVMGetAggregateElement(c, 0);
    unsigned n = LLVMGetVectorSize(LLVMTypeOf(c));
    for (unsigned k = 1; first != NULL && k < n; k++)
        if (LLVMGetAggregateElement(c, k) != first)
            return NULL;
    return first != NULL && !LLVMIsUndef(first) && LLVMIsConstant(first) ? first : NULL;
}

/* Where a constant may be any value without other code: not for divisions. */
static bool takes_splats_(LLVMOpcode op)
{
    switch (op) {
    case LLVMAdd:
    case LLVMSub:
    case LLVMMul:
    case LLVMShl:
    case LLVMLShr:
    case LLVMAShr:
    case LLVMAnd:
    case LLVMOr:
    case LLVMXor:
    case LLVMFAdd:
    case LLVMFSub:
    case LLVMFMul:
    case LLVMFDiv:
    case LLVMICmp:
    case LLVMFCmp:
    case LLVMSelect:
    case LLVMStore: return true;
    default: return false;
    }
}

/* Is it memory of this function? What the program sees is accessed where the program says. */
static bool own_memory_(LLVMValueRef p)
{
    while (LLVMIsAGetElementPtrInst(p))
        p = LLVMGetOperand(p, 0);
    return LLVMIsAAllocaInst(p) != NULL;
}

static bool can_call_(LLVMValueRef i)
{
    switch (LLVMGetInstructionOpcode(i)) {
    case LLVMCall: {
        LLVMValueRef to = LLVMGetCalledValue(i);
        return LLVMIsAFunction(to) && LLVMGetIntrinsicID(to) != 0 && LLVMGetNumOperands(i) <= MOST;
    }
    case LLVMLoad: return own_memory_(LLVMGetOperand(i, 0)) && !LLVMGetVolatile(i);
    case LLVMStore: return own_memory_(LLVMGetOperand(i, 1)) && !LLVMGetVolatile(i);
    case LLVMICmp:
    case LLVMFCmp:
    case LLVMSelect:
    case LLVMInsertElement:
    case LLVMExtractElement:
    case LLVMShuffleVector:
    case LLVMFNeg: return true;
    default: return LLVMIsABinaryOperator(i) != NULL || LLVMIsACastInst(i) != NULL;
    }
}

/* The scalar that all lanes of a shuffle are; NULL: there is none. */
static LLVMValueRef shuffled_scalar_(LLVMValueRef i)
{
    LLVMValueRef one = LLVMIsAShuffleVectorInst(i) ? LLVMGetOperand(i, 0) : NULL;
    if (one == NULL || !LLVMIsAInsertElementInst(one) || !LLVMIsNull(LLVMGetOperand(one, 2)) ||
        LLVMGetInstructionParent(one) != LLVMGetInstructionParent(i))
        return NULL;
    for (unsigned k = 0; k < LLVMGetNumMaskElements(i); k++)
        if (LLVMGetMaskValue(i, k) != 0)
            return NULL;
    return LLVMGetOperand(one, 1);
}

/* Is it only there for such shuffles? */
static bool half_a_splat_(LLVMValueRef i)
{
    if (!LLVMIsAInsertElementInst(i))
        return false;
    for (LLVMUseRef u = LLVMGetFirstUse(i); u != NULL; u = LLVMGetNextUse(u)) {
        LLVMValueRef user = LLVMGetUser(u);
        if (shuffled_scalar_(user) == NULL || LLVMGetOperand(user, 0) != i ||
            LLVMGetOperand(user, 1) == i || !in_memory_(LLVMTypeOf(user)))
            return false;
    }
    return true;
}

static bool describe_(const struct quick *q, LLVMValueRef i, struct operation *o)
{
    LLVMOpcode op = LLVMGetInstructionOpcode(i);
    bool memory = op == LLVMLoad || op == LLVMStore;
    *o = (struct operation){.i = i, .op = op, .type = LLVMTypeOf(i)};
    LLVMTypeKind result = LLVMGetTypeKind(o->type);
    if (!can_call_(i) || result == LLVMStructTypeKind ||
        (is_vector_(o->type) && mask_lanes_(o->type) == 0 && !in_memory_(o->type)))
        return false;
    LLVMValueRef scalar = shuffled_scalar_(i);
    if (scalar != NULL && in_memory_(o->type)) {
        o->op = LLVMFreeze;
        o->n = 1;
        o->how[0] = GIVEN_SPLAT;
        o->v[0] = scalar;
        o->t[0] = o->type;
        return true;
    }
    o->n = LLVMGetNumOperands(i) - (op == LLVMCall); /* the last is what is called */
    for (int k = 0; k < o->n; k++) {
        LLVMValueRef v = o->v[k] = LLVMGetOperand(i, (unsigned)k);
        LLVMTypeRef t = o->t[k] = LLVMTypeOf(v);
        LLVMTypeKind kind = LLVMGetTypeKind(t);
        struct fact *f = fact_(q, v);
        LLVMValueRef splat =
            LLVMIsConstant(v) && in_memory_(t) && takes_splats_(op) ? splat_of_(v) : NULL;
        if (kind == LLVMMetadataTypeKind || (kind == LLVMPointerTypeKind && !memory))
            return false;
        if (splat != NULL) {
            o->how[k] = GIVEN_SPLAT;
            o->v[k] = splat;
        } else if (LLVMIsConstant(v) && !(kind == LLVMPointerTypeKind)) {
            o->how[k] = GIVEN_CONSTANT;
        } else if (!is_vector_(t)) {
            o->how[k] = GIVEN_VALUE;
        } else if (f != NULL && f->bits != NULL) {
            o->how[k] = GIVEN_BITS;
            o->v[k] = f->bits;
        } else if (f != NULL && f->memory != NULL) {
            o->how[k] = GIVEN_MEMORY;
            o->v[k] = f->memory;
        } else {
            return false;
        }
    }
    return true;
}

/* What tells its function from others. */
static void key_(const struct operation *o, struct strbuf *key)
{
    LLVMOpcode op = o->op;
    sb_printf(key, "%d %p", (int)op, (void *)o->type);
    if (op == LLVMICmp)
        sb_printf(key, " %d", (int)LLVMGetICmpPredicate(o->i));
    if (op == LLVMFCmp)
        sb_printf(key, " %d", (int)LLVMGetFCmpPredicate(o->i));
    if (op == LLVMCall)
        sb_printf(key, " %p", (void *)LLVMGetCalledValue(o->i));
    for (unsigned k = 0; op == LLVMShuffleVector && k < LLVMGetNumMaskElements(o->i); k++)
        sb_printf(key, " %d", LLVMGetMaskValue(o->i, k));
    for (int k = 0; k < o->n; k++)
        sb_printf(key, ",%d %p %p", (int)o->how[k], (void *)o->t[k],
                  o->how[k] == GIVEN_CONSTANT ? (void *)o->v[k] : NULL);
}

static LLVMValueRef shuffle_mask_(const struct quick *q, LLVMValueRef i)
{
    LLVMTypeRef i32 = LLVMInt32TypeInContext(q->ctx);
    LLVMValueRef lanes[128];
    unsigned n = LLVMGetNumMaskElements(i);
    for (unsigned k = 0; k < n && k < WEIR_COUNT(lanes); k++) {
        int from = LLVMGetMaskValue(i, k);
        lanes[k] = from < 0 ? LLVMGetPoison(i32) : LLVMConstInt(i32, (uint64_t)from, false);
    }
    return LLVMConstVector(lanes, n);
}

/* The operation on values, in the function being made. */
static LLVMValueRef perform_(const struct quick *q, const struct operation *o, LLVMValueRef *v)
{
    LLVMBuilderRef b = q->body;
    switch (o->op) {
    case LLVMICmp: return LLVMBuildICmp(b, LLVMGetICmpPredicate(o->i), v[0], v[1], "");
    case LLVMFCmp: return LLVMBuildFCmp(b, LLVMGetFCmpPredicate(o->i), v[0], v[1], "");
    case LLVMSelect: return LLVMBuildSelect(b, v[0], v[1], v[2], "");
    case LLVMInsertElement: return LLVMBuildInsertElement(b, v[0], v[1], v[2], "");
    case LLVMExtractElement: return LLVMBuildExtractElement(b, v[0], v[1], "");
    case LLVMShuffleVector:
        return LLVMBuildShuffleVector(b, v[0], v[1], shuffle_mask_(q, o->i), "");
    case LLVMFNeg: return LLVMBuildFNeg(b, v[0], "");
    case LLVMFreeze: return v[0]; /* of a splat, nothing else */
    case LLVMCall: {
        LLVMValueRef to = LLVMGetCalledValue(o->i);
        return LLVMBuildCall2(b, LLVMGetCalledFunctionType(o->i), to, v, (unsigned)o->n, "");
    }
    case LLVMLoad: {
        LLVMValueRef load = LLVMBuildLoad2(b, o->type, v[0], "");
        LLVMSetAlignment(load, 1);
        return load;
    }
    case LLVMStore: LLVMSetAlignment(LLVMBuildStore(b, v[0], v[1]), 1); return NULL;
    default:
        return LLVMIsACastInst(o->i) ? LLVMBuildCast(b, o->op, v[0], o->type, "")
                                     : LLVMBuildBinOp(b, o->op, v[0], v[1], "");
    }
}

static LLVMValueRef splat_value_(const struct quick *q, LLVMValueRef scalar, LLVMTypeRef t)
{
    LLVMTypeRef i32 = LLVMInt32TypeInContext(q->ctx);
    LLVMValueRef one =
        LLVMBuildInsertElement(q->body, LLVMGetPoison(t), scalar, LLVMConstInt(i32, 0, false), "");
    LLVMValueRef mask = LLVMConstNull(LLVMVectorType(i32, LLVMGetVectorSize(t)));
    return LLVMBuildShuffleVector(q->body, one, LLVMGetPoison(t), mask, "");
}

static LLVMValueRef load_from_(LLVMBuilderRef b, LLVMTypeRef t, LLVMValueRef memory)
{
    LLVMValueRef load = LLVMBuildLoad2(b, t, memory, "");
    LLVMSetAlignment(load, 1);
    return load;
}

/* What the function returns. */
static LLVMTypeRef returned_(const struct quick *q, LLVMTypeRef result)
{
    return in_memory_(result)    ? LLVMVoidTypeInContext(q->ctx)
           : mask_lanes_(result) ? bits_type_(q, result)
                                 : result;
}

static LLVMTypeRef function_type_(const struct quick *q, const struct operation *o)
{
    LLVMTypeRef params[MOST + 1];
    unsigned n = 0;
    if (in_memory_(o->type))
        params[n++] = q->ptr;
    for (int k = 0; k < o->n; k++)
        if (o->how[k] != GIVEN_CONSTANT)
            params[n++] = o->how[k] == GIVEN_MEMORY ? q->ptr : LLVMTypeOf(o->v[k]);
    return LLVMFunctionType(returned_(q, o->type), params, n, false);
}

static LLVMValueRef make_(struct quick *q, const struct operation *o, LLVMTypeRef type)
{
    LLVMValueRef fn = LLVMAddFunction(q->m, "weir_quick", type);
    LLVMSetLinkage(fn, LLVMInternalLinkage);
    LLVMAddAttributeAtIndex(
        fn, LLVMAttributeFunctionIndex,
        LLVMCreateEnumAttribute(q->ctx, LLVMGetEnumAttributeKindForName("nounwind", 8), 0));
    LLVMPositionBuilderAtEnd(q->body, LLVMAppendBasicBlockInContext(q->ctx, fn, ""));
    LLVMSetCurrentDebugLocation2(q->body, NULL);
    unsigned at = in_memory_(o->type);
    LLVMValueRef v[MOST];
    for (int k = 0; k < o->n; k++) {
        v[k] = o->how[k] == GIVEN_CONSTANT ? o->v[k] : LLVMGetParam(fn, at++);
        if (o->how[k] == GIVEN_MEMORY)
            v[k] = load_from_(q->body, o->t[k], v[k]);
        else if (o->how[k] == GIVEN_BITS)
            v[k] = LLVMBuildBitCast(q->body, v[k], o->t[k], "");
        else if (o->how[k] == GIVEN_SPLAT)
            v[k] = splat_value_(q, v[k], o->t[k]);
    }
    LLVMValueRef r = perform_(q, o, v);
    if (r != NULL && in_memory_(o->type))
        LLVMSetAlignment(LLVMBuildStore(q->body, r, LLVMGetParam(fn, 0)), 1);
    if (r == NULL || in_memory_(o->type))
        LLVMBuildRetVoid(q->body);
    else
        LLVMBuildRet(q->body, mask_lanes_(o->type)
                                  ? LLVMBuildBitCast(q->body, r, bits_type_(q, o->type), "")
                                  : r);
    return fn;
}

/* The function for such an operation: the one there is, or a new one. */
static LLVMValueRef function_(struct quick *q, const struct operation *o, LLVMTypeRef type)
{
    struct strbuf key = {0};
    key_(o, &key);
    struct hash128 h;
    hash_init(&h);
    hash_add(&h, key.items, key.count);
    sb_free(&key);
    for (size_t n = h.lo % MADE;; n = (n + 1) % MADE) {
        struct made *m = &q->made[n];
        if (m->fn != NULL && m->key.lo == h.lo && m->key.hi == h.hi)
            return m->fn;
        if (m->fn == NULL) {
            LLVMValueRef fn = make_(q, o, type);
            if (q->nmade < MADE / 2) {
                q->nmade++;
                *m = (struct made){h, fn};
            }
            return fn;
        }
    }
}

/* ---- instructions ---------------------------------------------------------------------------- */

static void known_bits_(struct fact *f, LLVMValueRef bits)
{
    f->bits = bits;
    f->done = true;
}

/* A mask as an integer; NULL: it is none that is known. */
static LLVMValueRef bits_(const struct quick *q, LLVMValueRef v)
{
    if (LLVMIsConstant(v))
        return LLVMConstBitCast(v, bits_type_(q, LLVMTypeOf(v)));
    const struct fact *f = fact_(q, v);
    return f != NULL ? f->bits : NULL;
}

/* An operation on masks, done on integers. False: it is something else. */
static bool on_masks_(struct quick *q, struct fact *f)
{
    LLVMValueRef i = f->value, a, c, d;
    LLVMTypeRef t = LLVMTypeOf(i);
    LLVMOpcode op = LLVMGetInstructionOpcode(i);
    if (op == LLVMStore && mask_lanes_(LLVMTypeOf(LLVMGetOperand(i, 0))) != 0 &&
        variable_of_(q, i) != NULL && (a = bits_(q, LLVMGetOperand(i, 0))) != NULL) {
        LLVMBuildStore(q->b, a, LLVMGetOperand(i, 1));
        f->done = true;
        return true;
    }
    if (op == LLVMBitCast && mask_lanes_(LLVMTypeOf(LLVMGetOperand(i, 0))) != 0 &&
        LLVMGetTypeKind(t) == LLVMIntegerTypeKind && (a = bits_(q, LLVMGetOperand(i, 0))) != NULL) {
        LLVMReplaceAllUsesWith(i, a);
        f->done = true;
        return true;
    }
    if (mask_lanes_(t) == 0)
        return false;
    switch (op) {
    case LLVMLoad:
        if (variable_of_(q, i) == NULL)
            return false;
        known_bits_(f, LLVMBuildLoad2(q->b, bits_type_(q, t), LLVMGetOperand(i, 0), ""));
        return true;
    case LLVMBitCast:
        if (LLVMGetTypeKind(LLVMTypeOf(LLVMGetOperand(i, 0))) != LLVMIntegerTypeKind)
            return false;
        known_bits_(f, LLVMGetOperand(i, 0));
        return true;
    case LLVMAnd:
    case LLVMOr:
    case LLVMXor:
        a = bits_(q, LLVMGetOperand(i, 0));
        c = bits_(q, LLVMGetOperand(i, 1));
        if (a == NULL || c == NULL)
            return false;
        known_bits_(f, LLVMBuildBinOp(q->b, op, a, c, ""));
        return true;
    case LLVMSelect:
        c = LLVMGetOperand(i, 0);
        a = bits_(q, LLVMGetOperand(i, 1));
        d = bits_(q, LLVMGetOperand(i, 2));
        if (a == NULL || d == NULL || is_vector_(LLVMTypeOf(c)))
            return false;
        known_bits_(f, LLVMBuildSelect(q->b, c, a, d, ""));
        return true;
    default: return false;
    }
}

/* What stays as it is takes its operands from where they are, and leaves its result there. */
static void in_place_(struct quick *q, struct fact *f)
{
    LLVMValueRef i = f->value;
    LLVMTypeRef t = LLVMTypeOf(i);
    int n = LLVMGetNumOperands(i);
    release_(q, f); /* they are read before anything is written */
    for (int k = 0; k < n; k++) {
        LLVMValueRef v = LLVMGetOperand(i, (unsigned)k);
        const struct fact *o = fact_(q, v);
        if (o != NULL && o->bits != NULL && mask_lanes_(LLVMTypeOf(v)) != 0)
            v = LLVMBuildBitCast(q->b, o->bits, LLVMTypeOf(v), "");
        else if (o != NULL && o->memory != NULL)
            v = load_from_(q->b, LLVMTypeOf(v), o->memory);
        else
            continue;
        LLVMSetOperand(i, (unsigned)k, v);
    }
    LLVMValueRef next = LLVMGetNextInstruction(i);
    if (next == NULL || (mask_lanes_(t) == 0 && !in_memory_(t)))
        return;
    if (in_memory_(t))
        give_place_(q, f);
    LLVMPositionBuilderBefore(q->b, next);
    if (in_memory_(t))
        LLVMSetAlignment(LLVMBuildStore(q->b, i, f->memory), 1);
    else
        f->bits = LLVMBuildBitCast(q->b, i, bits_type_(q, t), "");
}

static void call_(struct quick *q, struct fact *f, const struct operation *o)
{
    LLVMValueRef args[MOST + 1];
    unsigned n = 0;
    release_(q, f);
    if (in_memory_(o->type)) {
        give_place_(q, f);
        args[n++] = f->memory;
    }
    for (int k = 0; k < o->n; k++)
        if (o->how[k] != GIVEN_CONSTANT)
            args[n++] = o->v[k];
    LLVMTypeRef type = function_type_(q, o);
    LLVMValueRef r = LLVMBuildCall2(q->b, type, function_(q, o, type), args, n, "");
    f->done = true;
    if (mask_lanes_(o->type))
        f->bits = r;
    else if (!in_memory_(o->type) && LLVMGetTypeKind(o->type) != LLVMVoidTypeKind)
        LLVMReplaceAllUsesWith(f->value, r);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* Whether the variable is written by instruction i of the block. */
static bool writes_(const struct quick *q, LLVMValueRef i, const struct fact *variable)
{
    const struct fact *f = fact_(q, i);
    return f->slot == variable->value ||
           (LLVMIsAStoreInst(i) && !f->done && variable_of_(q, i) == variable);
}

/* A load of a variable need not be made, if nobody writes it before its last use. */
static bool stays_(const struct quick *q, const struct fact *load, const struct fact *variable)
{
    uint32_t last = last_use_(q, load->value);
    if (last == UINT32_MAX)
        return false;
    for (uint32_t at = load->at + 1; at < last; at++)
        if (writes_(q, q->block.items[at - 1], variable))
            return false;
    return true;
}

/* Values that are only stored into a variable are made there, unless it is accessed in between. */
static void choose_slots_(struct quick *q)
{
    for (size_t n = 0; n < q->block.count; n++) {
        LLVMValueRef store = q->block.items[n], v;
        struct fact *f = fact_(q, store), *variable = variable_of_(q, store), *o;
        if (variable == NULL || !LLVMIsAStoreInst(store))
            continue;
        v = LLVMGetOperand(store, 0);
        o = fact_(q, v);
        if (o == NULL || !in_memory_(LLVMTypeOf(v)) || LLVMIsALoadInst(v) ||
            LLVMGetInstructionParent(v) != LLVMGetInstructionParent(store) ||
            LLVMGetNextUse(LLVMGetFirstUse(v)) != NULL)
            continue;
        bool free = true;
        for (uint32_t at = o->at + 1; free && at < f->at; at++)
            free = variable_of_(q, q->block.items[at - 1]) != variable;
        if (free) {
            o->slot = variable->value;
            f->done = true;
        }
    }
}

static bool concerns_vectors_(LLVMValueRef i)
{
    if (LLVMIsAPHINode(i) || LLVMIsAAllocaInst(i))
        return false;
    int n = LLVMGetNumOperands(i);
    bool yes = is_vector_(LLVMTypeOf(i));
    for (int k = 0; k < n && !yes; k++) {
        LLVMValueRef v = LLVMGetOperand(i, (unsigned)k);
        yes = !LLVMIsAFunction(v) && !LLVMIsABasicBlock(v) && is_vector_(LLVMTypeOf(v));
    }
    return yes;
}

static void instruction_(struct quick *q, LLVMValueRef i)
{
    struct fact *f = fact_(q, i);
    struct operation o;
    if (f->done || !concerns_vectors_(i))
        return;
    if (half_a_splat_(i)) {
        f->done = true;
        return;
    }
    LLVMPositionBuilderBefore(q->b, i);
    LLVMSetCurrentDebugLocation2(q->b, LLVMInstructionGetDebugLoc(i));
    const struct fact *variable = variable_of_(q, i);
    if (on_masks_(q, f)) {
        release_(q, f);
    } else if (LLVMIsALoadInst(i) && variable != NULL && in_memory_(LLVMTypeOf(i)) &&
               stays_(q, f, variable)) {
        f->memory = variable->value;
        f->done = true;
    } else if (describe_(q, i, &o)) {
        call_(q, f, &o);
    } else {
        in_place_(q, f);
    }
}

static void block_(struct quick *q, LLVMBasicBlockRef bb)
{
    q->block.count = 0;
    for (LLVMValueRef i = LLVMGetFirstInstruction(bb); i != NULL; i = LLVMGetNextInstruction(i))
        vec_push(&q->block, i);
    choose_slots_(q);
    for (size_t n = 0; n < q->block.count; n++)
        instruction_(q, q->block.items[n]);
    for (size_t n = 0; n < q->temps.count; n++)
        q->temps.items[n].used = false;
    for (size_t n = q->block.count; n-- > 0;)
        if (fact_(q, q->block.items[n])->done)
            LLVMInstructionEraseFromParent(q->block.items[n]);
}

void quick_calls(LLVMModuleRef m, LLVMTargetDataRef data)
{
    LLVMContextRef ctx = LLVMGetModuleContext(m);
    struct quick q = {.m = m,
                      .ctx = ctx,
                      .data = data,
                      .b = LLVMCreateBuilderInContext(ctx),
                      .body = LLVMCreateBuilderInContext(ctx),
                      .i8 = LLVMInt8TypeInContext(ctx),
                      .ptr = LLVMPointerTypeInContext(ctx, 0),
                      .made = xcalloc(MADE, sizeof *q.made)};
    for (LLVMValueRef fn = LLVMGetFirstFunction(m); fn != NULL; fn = LLVMGetNextFunction(fn)) {
        size_t n = 0;
        for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb))
            for (LLVMValueRef i = LLVMGetFirstInstruction(bb); i; i = LLVMGetNextInstruction(i))
                n++;
        q.fn = fn;
        q.temps.count = 0;
        if (n < LEAST)
            continue;
        /* a stack that is too small is to be noticed */
        LLVMAddAttributeAtIndex(
            fn, LLVMAttributeFunctionIndex,
            LLVMCreateStringAttribute(ctx, "probe-stack", 11, "inline-asm", 10));
        if (note_(&q))
            for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb;
                 bb = LLVMGetNextBasicBlock(bb))
                block_(&q, bb);
        free(q.facts.items);
        q.facts.items = NULL;
    }
    free(q.block.items);
    free(q.temps.items);
    free(q.made);
    LLVMDisposeBuilder(q.b);
    LLVMDisposeBuilder(q.body);
}
