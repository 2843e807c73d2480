/* baseline_functions: functions that hold one kind of operation on vectors each: see baseline.c.
 *
 * Those that access memory of the program keep a frame pointer, by which src/exec finds who
 * called them, and so the line of a fault (exec/fault.c). */
#include "compiler/llvm/baseline_functions.h"

#include <string.h>

/* The value that all lanes of a constant have; NULL: they differ. */
static LLVMValueRef splat_of(LLVMValueRef c)
{
    LLVMValueRef first = LLVMGetAggregateElement(c, 0);
    unsigned n = LLVMGetVectorSize(LLVMTypeOf(c));
    for (unsigned k = 1; first != NULL && k < n; k++)
        if (LLVMGetAggregateElement(c, k) != first)
            return NULL;
    return first != NULL && !LLVMIsUndef(first) && LLVMIsConstant(first) ? first : NULL;
}

/* Where a constant may be any value without other code: not for divisions. */
static bool takes_splats(LLVMOpcode op)
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

/* Is it memory of this function? */
static bool own_memory(LLVMValueRef p)
{
    while (LLVMIsAGetElementPtrInst(p) != NULL)
        p = LLVMGetOperand(p, 0);
    return LLVMIsAAllocaInst(p) != NULL;
}

/* Is it an access to the block's frames (tag_frame)? */
static bool in_frame(const struct baseline *q, LLVMValueRef i)
{
    LLVMValueRef list = LLVMGetMetadata(i, q->md_scope), scope, parts[2];
    unsigned length;
    if (list == NULL || LLVMGetMDNodeNumOperands(list) != 1)
        return false;
    LLVMGetMDNodeOperands(list, &scope);
    if (LLVMGetMDNodeNumOperands(scope) != 2)
        return false;
    LLVMGetMDNodeOperands(scope, parts);
    const char *name =
        LLVMIsAMDString(parts[0]) != NULL ? LLVMGetMDString(parts[0], &length) : NULL;
    return name != NULL && length == 5 && memcmp(name, "frame", 5) == 0;
}

/* Intrinsics that access memory for some lanes. */
static bool is_masked_access(LLVMValueRef i)
{
    static const char *const names[] = {"llvm.masked.load", "llvm.masked.store",
                                        "llvm.masked.gather", "llvm.masked.scatter"};
    LLVMValueRef to = LLVMIsACallInst(i) != NULL ? LLVMGetCalledValue(i) : NULL;
    unsigned id = to != NULL && LLVMIsAFunction(to) != NULL ? LLVMGetIntrinsicID(to) : 0;
    for (size_t n = 0; id != 0 && n < WEIR_COUNT(names); n++)
        if (id == LLVMLookupIntrinsicID(names[n], strlen(names[n])))
            return true;
    return false;
}

/* Does it access what the program sees? */
static bool accesses_memory(const struct baseline *q, LLVMValueRef i)
{
    if (LLVMIsALoadInst(i) != NULL || LLVMIsAStoreInst(i) != NULL)
        return !own_memory(LLVMGetOperand(i, LLVMIsAStoreInst(i) != NULL)) && !in_frame(q, i);
    return is_masked_access(i);
}

/* Intrinsics that the code generator's fast way does not know, and that touch no memory. */
static bool is_function(LLVMValueRef i)
{
    LLVMValueRef to = LLVMGetCalledValue(i);
    int n = LLVMGetNumOperands(i) - 1;
    if (LLVMIsAFunction(to) == NULL || LLVMGetIntrinsicID(to) == 0 || n >= MAX_OPERANDS)
        return false;
    for (int k = 0; k < n; k++) {
        LLVMTypeRef t = LLVMTypeOf(LLVMGetOperand(i, (unsigned)k));
        LLVMTypeKind kind = LLVMGetTypeKind(baseline_is_vector(t) ? LLVMGetElementType(t) : t);
        if (kind == LLVMPointerTypeKind || kind == LLVMMetadataTypeKind)
            return false;
    }
    return LLVMGetTypeKind(LLVMTypeOf(i)) != LLVMVoidTypeKind;
}

bool baseline_is_slow(LLVMValueRef i)
{
    return LLVMIsAFenceInst(i) != NULL || (LLVMIsACallInst(i) != NULL && is_function(i));
}

static bool can_call(LLVMValueRef i)
{
    switch (LLVMGetInstructionOpcode(i)) {
    case LLVMCall: return is_function(i) || is_masked_access(i);
    case LLVMLoad:
    case LLVMStore:
    case LLVMFence: return true;
    case LLVMGetElementPtr: return LLVMGetNumOperands(i) == 2;
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
static LLVMValueRef shuffled_scalar(LLVMValueRef i)
{
    LLVMValueRef one = LLVMIsAShuffleVectorInst(i) != NULL ? LLVMGetOperand(i, 0) : NULL;
    if (one == NULL || LLVMIsAInsertElementInst(one) == NULL ||
        !LLVMIsNull(LLVMGetOperand(one, 2)) ||
        LLVMGetInstructionParent(one) != LLVMGetInstructionParent(i))
        return NULL;
    for (unsigned k = 0; k < LLVMGetNumMaskElements(i); k++)
        if (LLVMGetMaskValue(i, k) != 0)
            return NULL;
    return LLVMGetOperand(one, 1);
}

/* Is it only there for such shuffles? */
bool baseline_is_splat_part(LLVMValueRef i)
{
    if (LLVMIsAInsertElementInst(i) == NULL)
        return false;
    for (LLVMUseRef u = LLVMGetFirstUse(i); u != NULL; u = LLVMGetNextUse(u)) {
        LLVMValueRef user = LLVMGetUser(u);
        if (shuffled_scalar(user) == NULL || LLVMGetOperand(user, 0) != i ||
            LLVMGetOperand(user, 1) == i || !baseline_in_memory(LLVMTypeOf(user)))
            return false;
    }
    return true;
}

bool baseline_describe(const struct baseline *q, LLVMValueRef i, struct operation *o)
{
    LLVMOpcode op = LLVMGetInstructionOpcode(i);
    bool accesses = accesses_memory(q, i);
    bool pointer = accesses || op == LLVMLoad || op == LLVMStore || op == LLVMGetElementPtr;
    *o = (struct operation){.i = i, .op = op, .type = LLVMTypeOf(i), .accesses = accesses};
    LLVMTypeKind result = LLVMGetTypeKind(o->type);
    if (!can_call(i) || result == LLVMStructTypeKind ||
        (baseline_is_vector(o->type) && baseline_lanes(o->type) == 0 &&
         !baseline_in_memory(o->type)))
        return false;
    LLVMValueRef scalar = shuffled_scalar(i);
    if (scalar != NULL && baseline_in_memory(o->type)) {
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
        struct fact *f = baseline_fact(q, v);
        LLVMValueRef splat =
            LLVMIsConstant(v) && baseline_in_memory(t) && takes_splats(op) ? splat_of(v) : NULL;
        if (kind == LLVMMetadataTypeKind || (kind == LLVMPointerTypeKind && !pointer))
            return false;
        if (splat != NULL) {
            o->how[k] = GIVEN_SPLAT;
            o->v[k] = splat;
        } else if (LLVMIsConstant(v) && !(kind == LLVMPointerTypeKind)) {
            o->how[k] = GIVEN_CONSTANT;
        } else if (!baseline_is_vector(t)) {
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
static void operation_key(const struct operation *o, struct strbuf *key)
{
    LLVMOpcode op = o->op;
    sb_printf(key, "%d %p", (int)op, (void *)o->type);
    if (op == LLVMGetElementPtr)
        sb_printf(key, " %p", (void *)LLVMGetGEPSourceElementType(o->i));
    if (op == LLVMLoad || op == LLVMStore)
        sb_printf(key, " %d %d", o->accesses, LLVMGetVolatile(o->i));
    if (op == LLVMFence)
        sb_printf(key, " %d %d", (int)LLVMGetOrdering(o->i), LLVMIsAtomicSingleThread(o->i));
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

static LLVMValueRef shuffle_mask(const struct baseline *q, LLVMValueRef i)
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
static LLVMValueRef perform(const struct baseline *q, const struct operation *o, LLVMValueRef *v)
{
    LLVMBuilderRef b = q->body;
    switch (o->op) {
    case LLVMICmp: return LLVMBuildICmp(b, LLVMGetICmpPredicate(o->i), v[0], v[1], "");
    case LLVMFCmp: return LLVMBuildFCmp(b, LLVMGetFCmpPredicate(o->i), v[0], v[1], "");
    case LLVMSelect: return LLVMBuildSelect(b, v[0], v[1], v[2], "");
    case LLVMInsertElement: return LLVMBuildInsertElement(b, v[0], v[1], v[2], "");
    case LLVMExtractElement: return LLVMBuildExtractElement(b, v[0], v[1], "");
    case LLVMShuffleVector: return LLVMBuildShuffleVector(b, v[0], v[1], shuffle_mask(q, o->i), "");
    case LLVMGetElementPtr:
        return LLVMBuildGEP2(b, LLVMGetGEPSourceElementType(o->i), v[0], &v[1], 1, "");
    case LLVMFence:
        LLVMBuildFence(b, LLVMGetOrdering(o->i), LLVMIsAtomicSingleThread(o->i), "");
        return NULL;
    case LLVMFNeg: return LLVMBuildFNeg(b, v[0], "");
    case LLVMFreeze: return v[0]; /* of a splat, nothing else */
    case LLVMCall: {
        LLVMValueRef to = LLVMGetCalledValue(o->i);
        LLVMValueRef r =
            LLVMBuildCall2(b, LLVMGetCalledFunctionType(o->i), to, v, (unsigned)o->n, "");
        return LLVMGetTypeKind(o->type) == LLVMVoidTypeKind ? NULL : r;
    }
    case LLVMLoad: {
        LLVMValueRef load = LLVMBuildLoad2(b, o->type, v[0], "");
        LLVMSetAlignment(load, 1);
        LLVMSetVolatile(load, LLVMGetVolatile(o->i));
        return load;
    }
    case LLVMStore: {
        LLVMValueRef store = LLVMBuildStore(b, v[0], v[1]);
        LLVMSetAlignment(store, 1);
        LLVMSetVolatile(store, LLVMGetVolatile(o->i));
        return NULL;
    }
    default:
        return LLVMIsACastInst(o->i) != NULL ? LLVMBuildCast(b, o->op, v[0], o->type, "")
                                             : LLVMBuildBinOp(b, o->op, v[0], v[1], "");
    }
}

static LLVMValueRef splat_value(const struct baseline *q, LLVMValueRef scalar, LLVMTypeRef t)
{
    LLVMTypeRef i32 = LLVMInt32TypeInContext(q->ctx);
    LLVMValueRef one =
        LLVMBuildInsertElement(q->body, LLVMGetPoison(t), scalar, LLVMConstInt(i32, 0, false), "");
    LLVMValueRef mask = LLVMConstNull(LLVMVectorType(i32, LLVMGetVectorSize(t)));
    return LLVMBuildShuffleVector(q->body, one, LLVMGetPoison(t), mask, "");
}

LLVMValueRef baseline_load(LLVMBuilderRef b, LLVMTypeRef t, LLVMValueRef memory)
{
    LLVMValueRef load = LLVMBuildLoad2(b, t, memory, "");
    LLVMSetAlignment(load, 1);
    return load;
}

/* What the function returns. */
static LLVMTypeRef returned(const struct baseline *q, LLVMTypeRef result)
{
    return baseline_in_memory(result) ? LLVMVoidTypeInContext(q->ctx)
           : baseline_lanes(result)   ? baseline_bits_type(q, result)
                                      : result;
}

LLVMTypeRef baseline_function_type(const struct baseline *q, const struct operation *o)
{
    LLVMTypeRef params[MAX_OPERANDS + 1];
    unsigned n = 0;
    if (baseline_in_memory(o->type))
        params[n++] = q->ptr;
    for (int k = 0; k < o->n; k++)
        if (o->how[k] != GIVEN_CONSTANT)
            params[n++] = o->how[k] == GIVEN_MEMORY ? q->ptr : LLVMTypeOf(o->v[k]);
    return LLVMFunctionType(returned(q, o->type), params, n, false);
}

static LLVMValueRef make_function(struct baseline *q, const struct operation *o, LLVMTypeRef type)
{
    LLVMValueRef fn = LLVMAddFunction(q->m, "weir_baseline", type);
    LLVMSetLinkage(fn, LLVMInternalLinkage);
    LLVMAddAttributeAtIndex(
        fn, LLVMAttributeFunctionIndex,
        LLVMCreateEnumAttribute(q->ctx, LLVMGetEnumAttributeKindForName("nounwind", 8), 0));
    if (o->accesses)
        LLVMAddAttributeAtIndex(fn, LLVMAttributeFunctionIndex,
                                LLVMCreateStringAttribute(q->ctx, "frame-pointer", 13, "all", 3));
    LLVMPositionBuilderAtEnd(q->body, LLVMAppendBasicBlockInContext(q->ctx, fn, ""));
    LLVMSetCurrentDebugLocation2(q->body, NULL);
    unsigned at = baseline_in_memory(o->type);
    LLVMValueRef v[MAX_OPERANDS];
    for (int k = 0; k < o->n; k++) {
        v[k] = o->how[k] == GIVEN_CONSTANT ? o->v[k] : LLVMGetParam(fn, at++);
        if (o->how[k] == GIVEN_MEMORY)
            v[k] = baseline_load(q->body, o->t[k], v[k]);
        else if (o->how[k] == GIVEN_BITS)
            v[k] = baseline_mask(q, q->body, v[k], o->t[k]);
        else if (o->how[k] == GIVEN_SPLAT)
            v[k] = splat_value(q, v[k], o->t[k]);
    }
    LLVMValueRef r = perform(q, o, v);
    if (r != NULL && baseline_in_memory(o->type))
        LLVMSetAlignment(LLVMBuildStore(q->body, r, LLVMGetParam(fn, 0)), 1);
    if (r == NULL || baseline_in_memory(o->type))
        LLVMBuildRetVoid(q->body);
    else
        LLVMBuildRet(q->body, baseline_lanes(o->type) ? baseline_bits(q, q->body, r) : r);
    return fn;
}

/* The function for such an operation: the one there is, or a new one. */
LLVMValueRef baseline_function(struct baseline *q, const struct operation *o, LLVMTypeRef type)
{
    struct strbuf key = {0};
    operation_key(o, &key);
    struct hash128 h;
    hash_init(&h);
    hash_add(&h, key.items, key.count);
    sb_free(&key);
    for (size_t n = h.lo % BASELINE_FUNCTIONS;; n = (n + 1) % BASELINE_FUNCTIONS) {
        struct made *m = &q->made[n];
        if (m->fn != NULL && m->key.lo == h.lo && m->key.hi == h.hi)
            return m->fn;
        if (m->fn == NULL) {
            LLVMValueRef fn = make_function(q, o, type);
            if (q->nmade < BASELINE_FUNCTIONS / 2) {
                q->nmade++;
                *m = (struct made){h, fn};
            }
            return fn;
        }
    }
}
