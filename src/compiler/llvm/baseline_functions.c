/* baseline_functions: functions that hold one kind of operation on vectors each: see baseline.c;
 * those of runs (baseline_runs.c) find their operands by words.
 *
 * Those that access memory of the program keep a frame pointer, by which src/exec finds who
 * called them, and so the line of a fault (exec/fault.c). */
#include "compiler/llvm/baseline_functions.h"

#include <string.h>

enum { MAX_ARGUMENTS = 5 /* of intrinsics that are called by a function */ };

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
    if (LLVMIsAFunction(to) == NULL || LLVMGetIntrinsicID(to) == 0 || n > MAX_ARGUMENTS)
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

LLVMValueRef baseline_shuffled(const struct baseline *q, LLVMValueRef i)
{
    if (LLVMIsAShuffleVectorInst(i) == NULL || !LLVMIsUndef(LLVMGetOperand(i, 1)))
        return NULL;
    LLVMValueRef of = LLVMGetOperand(i, 0);
    const struct fact *f = baseline_fact(q, of);
    bool known = f != NULL && (f->bits != NULL || f->result != 0);
    return known && baseline_lanes(LLVMTypeOf(of)) != 0 ? of : NULL;
}

bool baseline_describe(const struct baseline *q, LLVMValueRef i, struct operation *o)
{
    LLVMOpcode op = LLVMGetInstructionOpcode(i);
    bool accesses = accesses_memory(q, i);
    bool pointer = accesses || op == LLVMLoad || op == LLVMStore || op == LLVMGetElementPtr ||
                   runs_register_call(i);
    *o = (struct operation){.i = i, .op = op, .type = LLVMTypeOf(i), .accesses = accesses};
    LLVMTypeKind result = LLVMGetTypeKind(o->type);
    if ((!can_call(i) && !runs_register_call(i)) || result == LLVMStructTypeKind ||
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
        } else if (f != NULL && (f->bits != NULL || f->result != 0)) {
            o->how[k] = GIVEN_BITS; /* of `v`: they may have to be loaded first */
        } else if (f != NULL && f->memory != NULL) {
            o->how[k] = GIVEN_MEMORY;
            o->v[k] = f->memory;
        } else if (f != NULL && f->shuffled != NULL) {
            o->how[k] = GIVEN_SHUFFLED_BITS;
            o->shuffle[k] = v;
            o->v[k] = f->shuffled;
        } else {
            return false;
        }
    }
    return true;
}

/* ---- functions ---- */

struct key {
    uint64_t items[1024];
    size_t count;
};

static void add(struct key *key, uint64_t v)
{
    if (key->count < WEIR_COUNT(key->items))
        key->items[key->count++] = v;
}

static void add_shuffle(struct key *key, LLVMValueRef i)
{
    unsigned n = LLVMGetNumMaskElements(i);
    add(key, n);
    for (unsigned k = 0; k < n; k++)
        add(key, (uint64_t)(int64_t)LLVMGetMaskValue(i, k));
}

/* What tells its function from others. */
static struct hash128 operation_key(const struct operation *o, bool step)
{
    struct key key;
    struct hash128 h;
    LLVMOpcode op = o->op;
    key.count = 0;
    add(&key, (uint64_t)op << 32 | (uint64_t)o->n << 1 | step);
    add(&key, (uintptr_t)o->type);
    if (op == LLVMGetElementPtr)
        add(&key, (uintptr_t)LLVMGetGEPSourceElementType(o->i));
    if (op == LLVMLoad || op == LLVMStore)
        add(&key, (uint64_t)o->accesses << 1 | (unsigned)LLVMGetVolatile(o->i));
    if (op == LLVMFence)
        add(&key, (uint64_t)LLVMGetOrdering(o->i) << 1 | (unsigned)LLVMIsAtomicSingleThread(o->i));
    if (op == LLVMICmp)
        add(&key, LLVMGetICmpPredicate(o->i));
    if (op == LLVMFCmp)
        add(&key, LLVMGetFCmpPredicate(o->i));
    if (op == LLVMCall)
        add(&key, (uintptr_t)LLVMGetCalledValue(o->i));
    if (op == LLVMShuffleVector)
        add_shuffle(&key, o->i);
    for (int k = 0; k < o->n; k++) {
        add(&key, (uint64_t)o->how[k] << 32 | (step ? o->where[k] : 0));
        add(&key, (uintptr_t)o->t[k]);
        if (o->how[k] == GIVEN_CONSTANT)
            add(&key, (uintptr_t)o->v[k]);
        if (o->how[k] == GIVEN_SHUFFLED_BITS)
            add_shuffle(&key, o->shuffle[k]);
    }
    hash_init(&h);
    hash_add(&h, key.items, key.count * sizeof *key.items);
    return h;
}

static LLVMValueRef shuffle_mask(const struct baseline *q, LLVMValueRef i)
{
    LLVMTypeRef i32 = LLVMInt32TypeInContext(q->ctx);
    LLVMValueRef lanes[512];
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

static bool is_bits(enum given how) { return how == GIVEN_BITS || how == GIVEN_SHUFFLED_BITS; }

/* The mask whose bits are given. */
static LLVMTypeRef bits_operand(const struct operation *o, int k)
{
    return o->how[k] == GIVEN_BITS ? o->t[k] : LLVMTypeOf(LLVMGetOperand(o->shuffle[k], 0));
}

LLVMTypeRef baseline_function_type(const struct baseline *q, const struct operation *o)
{
    LLVMTypeRef params[MAX_OPERANDS + 1];
    unsigned n = 0;
    if (baseline_in_memory(o->type))
        params[n++] = q->ptr;
    for (int k = 0; k < o->n; k++)
        if (o->how[k] != GIVEN_CONSTANT)
            params[n++] = o->how[k] == GIVEN_MEMORY ? q->ptr
                          : is_bits(o->how[k])      ? baseline_bits_type(q, bits_operand(o, k))
                                                    : LLVMTypeOf(o->v[k]);
    return LLVMFunctionType(returned(q, o->type), params, n, false);
}

/* An internal function that is being written by q->body. */
static LLVMValueRef new_function(struct baseline *q, LLVMTypeRef type, const char *name)
{
    LLVMValueRef fn = LLVMAddFunction(q->m, name, type);
    LLVMSetLinkage(fn, LLVMInternalLinkage);
    LLVMAddAttributeAtIndex(
        fn, LLVMAttributeFunctionIndex,
        LLVMCreateEnumAttribute(q->ctx, LLVMGetEnumAttributeKindForName("nounwind", 8), 0));
    LLVMPositionBuilderAtEnd(q->body, LLVMAppendBasicBlockInContext(q->ctx, fn, ""));
    LLVMSetCurrentDebugLocation2(q->body, NULL);
    return fn;
}

/* The value of an operand, from what the function is given for it. */
static LLVMValueRef operand_value(const struct baseline *q, const struct operation *o, int k,
                                  LLVMValueRef given)
{
    switch (o->how[k]) {
    case GIVEN_MEMORY: return baseline_load(q->body, o->t[k], given);
    case GIVEN_BITS: return baseline_mask(q, q->body, given, o->t[k]);
    case GIVEN_SHUFFLED_BITS:
        given = baseline_mask(q, q->body, given, bits_operand(o, k));
        return LLVMBuildShuffleVector(q->body, given, LLVMGetPoison(LLVMTypeOf(given)),
                                      shuffle_mask(q, o->shuffle[k]), "");
    case GIVEN_SPLAT: return splat_value(q, given, o->t[k]);
    default: return given;
    }
}

static LLVMValueRef make_function(struct baseline *q, const struct operation *o, LLVMTypeRef type)
{
    LLVMValueRef fn = new_function(q, type, "weir_baseline");
    if (o->accesses)
        LLVMAddAttributeAtIndex(fn, LLVMAttributeFunctionIndex,
                                LLVMCreateStringAttribute(q->ctx, "frame-pointer", 13, "all", 3));
    unsigned at = baseline_in_memory(o->type);
    LLVMValueRef v[MAX_OPERANDS];
    for (int k = 0; k < o->n; k++)
        v[k] =
            operand_value(q, o, k, o->how[k] == GIVEN_CONSTANT ? o->v[k] : LLVMGetParam(fn, at++));
    LLVMValueRef r = perform(q, o, v);
    if (r != NULL && baseline_in_memory(o->type))
        LLVMSetAlignment(LLVMBuildStore(q->body, r, LLVMGetParam(fn, 0)), 1);
    if (r == NULL || baseline_in_memory(o->type))
        LLVMBuildRetVoid(q->body);
    else
        LLVMBuildRet(q->body, baseline_lanes(o->type) ? baseline_bits(q, q->body, r) : r);
    return fn;
}

/* The entry of the table for a key: what was made for it, or an empty one, which the caller fills;
 * NULL: it is full. */
static struct made *find_made(struct baseline *q, struct hash128 key)
{
    size_t n = key.lo % BASELINE_FUNCTIONS;
    while (q->made[n].fn != NULL && (q->made[n].key.lo != key.lo || q->made[n].key.hi != key.hi))
        n = (n + 1) % BASELINE_FUNCTIONS;
    if (q->made[n].fn == NULL) {
        if (q->nmade >= BASELINE_FUNCTIONS / 2)
            return NULL;
        q->nmade++;
        q->made[n].key = key;
    }
    return &q->made[n];
}

LLVMValueRef baseline_function(struct baseline *q, const struct operation *o, LLVMTypeRef type)
{
    struct made *m = find_made(q, operation_key(o, false));
    if (m == NULL)
        return make_function(q, o, type);
    if (m->fn == NULL)
        m->fn = make_function(q, o, type);
    return m->fn;
}

/* ---- steps ---- */

/* The address of word n. */
static LLVMValueRef word_at(const struct baseline *q, LLVMValueRef words, unsigned n)
{
    LLVMValueRef offset = LLVMConstInt(LLVMInt64TypeInContext(q->ctx), n * 4ull, false);
    return LLVMBuildGEP2(q->body, q->i8, words, &offset, 1, "");
}

static LLVMValueRef load_word(const struct baseline *q, LLVMValueRef words, unsigned n,
                              LLVMTypeRef t)
{
    LLVMValueRef load = LLVMBuildLoad2(q->body, t, word_at(q, words, n), "");
    LLVMSetAlignment(load, 4);
    return load;
}

/* The memory whose offset is word n. */
static LLVMValueRef memory_of_word(const struct baseline *q, LLVMValueRef fn, unsigned n)
{
    LLVMValueRef offset = load_word(q, LLVMGetParam(fn, 1), n, LLVMInt32TypeInContext(q->ctx));
    offset = LLVMBuildZExt(q->body, offset, LLVMInt64TypeInContext(q->ctx), "");
    return LLVMBuildGEP2(q->body, q->i8, LLVMGetParam(fn, 0), &offset, 1, "");
}

/* A scalar of that type from words, which hold its bits. */
static LLVMValueRef value_of_words(const struct baseline *q, LLVMValueRef fn, unsigned n,
                                   LLVMTypeRef t)
{
    unsigned bits = (unsigned)LLVMSizeOfTypeInBits(q->data, t);
    LLVMTypeRef exact = LLVMIntTypeInContext(q->ctx, bits);
    LLVMValueRef v =
        load_word(q, LLVMGetParam(fn, 1), n, LLVMIntTypeInContext(q->ctx, bits > 32 ? 64 : 32));
    if (bits != 32 && bits != 64)
        v = LLVMBuildTrunc(q->body, v, exact, "");
    return t == exact ? v : LLVMBuildBitCast(q->body, v, t, "");
}

/* What a step is given for operand k, by the words from *n on. */
static LLVMValueRef given_by_words(const struct baseline *q, const struct operation *o, int k,
                                   LLVMValueRef fn, unsigned *n)
{
    LLVMTypeRef t = is_bits(o->how[k])         ? baseline_bits_type(q, bits_operand(o, k))
                    : o->how[k] == GIVEN_SPLAT ? LLVMGetElementType(o->t[k])
                                               : o->t[k];
    unsigned at = *n;
    if (o->how[k] == GIVEN_CONSTANT)
        return o->v[k];
    *n += o->where[k] == WHERE_TWO_WORDS ? 2 : 1;
    switch (o->where[k]) {
    case WHERE_MEMORY: return memory_of_word(q, fn, at);
    case WHERE_STORED: return baseline_load(q->body, t, memory_of_word(q, fn, at));
    default: return value_of_words(q, fn, at, t);
    }
}

/* Calls the step whose number, times the size of an address, is word n, and returns. */
static void call_next(struct baseline *q, LLVMValueRef fn, LLVMTypeRef type, unsigned n)
{
    LLVMTypeRef i64 = LLVMInt64TypeInContext(q->ctx);
    LLVMValueRef words = LLVMGetParam(fn, 1), next = word_at(q, words, n), args[2];
    LLVMValueRef number = load_word(q, words, n, LLVMInt32TypeInContext(q->ctx));
    number = LLVMBuildZExt(q->body, number, i64, "");
    LLVMValueRef at = LLVMBuildGEP2(q->body, q->i8, q->step_addresses, &number, 1, "");
    LLVMValueRef to = LLVMBuildLoad2(q->body, q->ptr, at, "");
    args[0] = LLVMGetParam(fn, 0);
    args[1] = next;
    LLVMValueRef call = LLVMBuildCall2(q->body, type, to, args, 2, "");
    LLVMSetTailCallKind(call, LLVMTailCallKindMustTail);
    LLVMBuildRetVoid(q->body);
}

static LLVMTypeRef step_type(const struct baseline *q)
{
    LLVMTypeRef params[2] = {q->ptr, q->ptr};
    return LLVMFunctionType(LLVMVoidTypeInContext(q->ctx), params, 2, false);
}

static uint32_t add_step(struct baseline *q, LLVMValueRef fn)
{
    vec_push(&q->steps, fn);
    return (uint32_t)(q->steps.count - 1);
}

uint32_t baseline_last_step(struct baseline *q)
{
    if (q->steps.count == 0) {
        q->step_addresses = LLVMAddGlobal(q->m, q->ptr, "");
        add_step(q, new_function(q, step_type(q), "weir_baseline_last"));
        LLVMBuildRetVoid(q->body);
    }
    return 0;
}

static LLVMValueRef make_step(struct baseline *q, const struct operation *o)
{
    LLVMTypeRef type = step_type(q);
    LLVMValueRef fn = new_function(q, type, "weir_baseline_step");
    LLVMValueRef v[MAX_OPERANDS] = {NULL}, to = NULL;
    unsigned n = 1; /* word 0 is the step itself */
    if (LLVMGetTypeKind(o->type) != LLVMVoidTypeKind)
        to = memory_of_word(q, fn, n++);
    for (int k = 0; k < o->n; k++)
        v[k] = operand_value(q, o, k, given_by_words(q, o, k, fn, &n));
    LLVMValueRef r = perform(q, o, v);
    if (r != NULL && to != NULL)
        LLVMSetAlignment(
            LLVMBuildStore(q->body, baseline_lanes(o->type) ? baseline_bits(q, q->body, r) : r, to),
            1);
    call_next(q, fn, type, n);
    return fn;
}

struct made *baseline_step(struct baseline *q, const struct operation *o)
{
    baseline_last_step(q);
    struct made *m = find_made(q, operation_key(o, true));
    if (m != NULL && m->fn == NULL) {
        m->fn = make_step(q, o);
        m->step = add_step(q, m->fn);
    }
    return m;
}
