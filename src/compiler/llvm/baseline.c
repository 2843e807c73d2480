/* baseline: makes kernels small for the code generator.
 *
 * Most of the compile time is instruction selection for vectors of 32 lanes: one LLVM addition is
 * up to sixteen machine instructions, each found by a long search. Baseline code
 * (JIT_TIER_BASELINE) has each kind of operation once, as a function that takes its operands from
 * memory and leaves its result there, and kernels call it: one call for many operations, where they
 * follow each other (baseline_runs.c). Masks, vectors of i1, become integers.
 * What remains are calls, branches and scalars, which LLVM translates fast; the code is many times
 * slower.
 *
 * Values that outlive a block have been brought into variables (baseline_demote.c), so every vector
 * here is a variable, or lives in one block. */
#include <llvm-c/DebugInfo.h>

#include <stdlib.h>
#include <string.h>

#include "compiler/llvm/baseline_functions.h"

enum { MIN_INSTRUCTIONS = 500 /* instructions of a function that is worth it */, ALIGN = 64 };

/* ---- facts ---- */

static size_t fact_index(const struct baseline *q, LLVMValueRef v)
{
    size_t at = ((uintptr_t)v >> 4) * 0x9e3779b97f4a7c15u >> 20 & (q->facts.cap - 1);
    while (q->facts.items[at].value != NULL && q->facts.items[at].value != v)
        at = (at + 1) & (q->facts.cap - 1);
    return at;
}

/* NULL: nothing is known of it (constants, arguments, what was made here). */
struct fact *baseline_fact(const struct baseline *q, LLVMValueRef v)
{
    struct fact *f = &q->facts.items[fact_index(q, v)];
    return f->value != NULL ? f : NULL;
}

/* Lanes of a mask that is an integer here; 0: no such mask. */
unsigned baseline_lanes(LLVMTypeRef t)
{
    if (!baseline_is_vector(t) || LLVMGetTypeKind(LLVMGetElementType(t)) != LLVMIntegerTypeKind ||
        LLVMGetIntTypeWidth(LLVMGetElementType(t)) != 1)
        return 0;
    unsigned n = LLVMGetVectorSize(t);
    return n == 2 || n == 4 || n == 8 || n == 16 || n == 32 || n == 64 ? n : 0;
}

/* A vector that is kept in memory. */
bool baseline_in_memory(LLVMTypeRef t)
{
    if (!baseline_is_vector(t) || (LLVMGetVectorSize(t) & (LLVMGetVectorSize(t) - 1)) != 0)
        return false;
    LLVMTypeRef element = LLVMGetElementType(t);
    switch (LLVMGetTypeKind(element)) {
    case LLVMIntegerTypeKind: {
        unsigned bits = LLVMGetIntTypeWidth(element);
        return bits == 8 || bits == 16 || bits == 32 || bits == 64;
    }
    case LLVMPointerTypeKind:
    case LLVMHalfTypeKind:
    case LLVMBFloatTypeKind:
    case LLVMFloatTypeKind:
    case LLVMDoubleTypeKind: return true;
    default: return false;
    }
}

LLVMTypeRef baseline_bits_type(const struct baseline *q, LLVMTypeRef mask)
{
    unsigned n = baseline_lanes(mask);
    return LLVMIntTypeInContext(q->ctx, n < 8 ? 8 : n);
}

/* An integer of as many bits as the mask has lanes. */
static LLVMTypeRef exact_type(const struct baseline *q, LLVMTypeRef mask)
{
    return LLVMIntTypeInContext(q->ctx, baseline_lanes(mask));
}

static LLVMValueRef widened(const struct baseline *q, LLVMBuilderRef b, LLVMValueRef exact)
{
    return LLVMGetIntTypeWidth(LLVMTypeOf(exact)) < 8
               ? LLVMBuildZExt(b, exact, LLVMIntTypeInContext(q->ctx, 8), "")
               : exact;
}

LLVMValueRef baseline_bits(const struct baseline *q, LLVMBuilderRef b, LLVMValueRef mask)
{
    return widened(q, b, LLVMBuildBitCast(b, mask, exact_type(q, LLVMTypeOf(mask)), ""));
}

LLVMValueRef baseline_mask(const struct baseline *q, LLVMBuilderRef b, LLVMValueRef bits,
                           LLVMTypeRef t)
{
    LLVMTypeRef exact = exact_type(q, t);
    if (LLVMTypeOf(bits) != exact)
        bits = LLVMBuildTrunc(b, bits, exact, "");
    return LLVMBuildBitCast(b, bits, t, "");
}

/* The variable that a load or store accesses as a whole; NULL: none. */
static struct fact *variable_of(const struct baseline *q, LLVMValueRef i)
{
    LLVMValueRef p = LLVMIsALoadInst(i) != NULL    ? LLVMGetOperand(i, 0)
                     : LLVMIsAStoreInst(i) != NULL ? LLVMGetOperand(i, 1)
                                                   : NULL;
    struct fact *f = p != NULL && LLVMIsAAllocaInst(p) != NULL ? baseline_fact(q, p) : NULL;
    return f != NULL && f->variable ? f : NULL;
}

/* Is it an alloca of a vector, which is only loaded and stored as a whole? */
static bool is_variable(LLVMValueRef alloca)
{
    LLVMTypeRef t = LLVMGetAllocatedType(alloca);
    if (baseline_lanes(t) == 0 && !baseline_in_memory(t))
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

/* Records all instructions. False: one is of a kind that baseline_demote should have removed. */
static bool collect_facts(struct baseline *q)
{
    size_t n = 0;
    for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(q->fn); bb != NULL;
         bb = LLVMGetNextBasicBlock(bb))
        for (LLVMValueRef i = LLVMGetFirstInstruction(bb); i != NULL;
             i = LLVMGetNextInstruction(i)) {
            if (LLVMIsAPHINode(i) != NULL && baseline_is_vector(LLVMTypeOf(i)))
                return false;
            n++;
        }
    for (q->facts.cap = 64; q->facts.cap < n * 2; q->facts.cap *= 2)
        ;
    q->facts.items = xcalloc(q->facts.cap, sizeof *q->facts.items);
    for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(q->fn); bb != NULL;
         bb = LLVMGetNextBasicBlock(bb)) {
        uint32_t at = 0;
        for (LLVMValueRef i = LLVMGetFirstInstruction(bb); i != NULL; i = LLVMGetNextInstruction(i))
            q->facts.items[fact_index(q, i)] =
                (struct fact){.value = i,
                              .at = ++at,
                              .temp = -1,
                              .variable = LLVMIsAAllocaInst(i) != NULL && is_variable(i)};
    }
    return true;
}

/* The number of the last instruction of its block that uses it; UINT32_MAX: others do, too. */
static uint32_t last_use(const struct baseline *q, LLVMValueRef i)
{
    uint32_t last = 0;
    for (LLVMUseRef u = LLVMGetFirstUse(i); u != NULL; u = LLVMGetNextUse(u)) {
        const struct fact *f = baseline_fact(q, LLVMGetUser(u));
        if (f == NULL || LLVMGetInstructionParent(f->value) != LLVMGetInstructionParent(i))
            return UINT32_MAX;
        last = f->at > last ? f->at : last;
    }
    return last;
}

/* ---- temporaries ---- */

static LLVMValueRef new_memory(struct baseline *q, uint64_t bytes)
{
    LLVMPositionBuilderBefore(q->body, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(q->fn)));
    LLVMSetCurrentDebugLocation2(q->body, NULL);
    LLVMValueRef a = LLVMBuildAlloca(q->body, LLVMArrayType2(q->i8, bytes), "");
    LLVMSetAlignment(a, ALIGN);
    return a;
}

/* Allocates memory for the result of an instruction. */
static void assign_memory(struct baseline *q, struct fact *f)
{
    if (f->slot != NULL) {
        f->memory = f->slot;
        return;
    }
    uint64_t bytes = LLVMABISizeOfType(q->data, LLVMTypeOf(f->value));
    f->last = last_use(q, f->value);
    if (f->last == UINT32_MAX) {
        f->memory = new_memory(q, bytes);
        return;
    }
    size_t n = 0;
    while (n < q->temps.count && (q->temps.items[n].used || q->temps.items[n].bytes != bytes))
        n++;
    if (n == q->temps.count)
        vec_push(&q->temps, (struct temp){.memory = new_memory(q, bytes), .bytes = bytes});
    q->temps.items[n].used = true;
    f->temp = (int32_t)n;
    f->memory = q->temps.items[n].memory;
}

/* Releases the temporaries that the instruction is the last to read. */
static void release_operands(struct baseline *q, const struct fact *f)
{
    int n = LLVMGetNumOperands(f->value);
    for (int k = 0; k < n; k++) {
        struct fact *o = baseline_fact(q, LLVMGetOperand(f->value, (unsigned)k));
        if (o != NULL && o->temp >= 0 && o->last == f->at) {
            q->temps.items[o->temp].used = false;
            o->temp = -1;
        }
    }
}

/* ---- instructions ---- */

static void known_bits(struct fact *f, LLVMValueRef bits)
{
    f->bits = bits;
    f->done = true;
}

/* A constant mask as an integer; LLVM would leave the cast to run time. NULL: it is not known. */
static LLVMValueRef constant_bits(const struct baseline *q, LLVMValueRef mask)
{
    unsigned n = baseline_lanes(LLVMTypeOf(mask));
    LLVMTypeRef t = baseline_bits_type(q, LLVMTypeOf(mask));
    uint64_t bits = 0;
    for (unsigned k = 0; k < n; k++) {
        LLVMValueRef lane = LLVMGetAggregateElement(mask, k);
        if (lane == NULL || !(LLVMIsAConstantInt(lane) != NULL || LLVMIsUndef(lane)))
            return n < 8 ? NULL : LLVMConstBitCast(mask, t);
        if (LLVMIsAConstantInt(lane) != NULL)
            bits |= (uint64_t)LLVMConstIntGetZExtValue(lane) << k;
    }
    return LLVMConstInt(t, bits, false);
}

LLVMValueRef baseline_known_bits(struct baseline *q, struct fact *f)
{
    if (f->bits == NULL && f->result != 0)
        f->bits = runs_result(q, f);
    return f->bits;
}

/* A mask as an integer; NULL: it is none that is known. */
static LLVMValueRef mask_as_integer(struct baseline *q, LLVMValueRef v)
{
    if (LLVMIsConstant(v))
        return constant_bits(q, v);
    struct fact *f = baseline_fact(q, v);
    return f != NULL ? baseline_known_bits(q, f) : NULL;
}

/* Is it a mask that a run computes, which goes on with an operation on it? */
static bool is_in_run(const struct baseline *q, LLVMValueRef v)
{
    const struct fact *f = baseline_fact(q, v);
    return q->runs.first != NULL && f != NULL && f->result != 0 && f->bits == NULL;
}

/* Translates an operation on masks to one on integers. False: it is something else. */
static bool transform_mask(struct baseline *q, struct fact *f)
{
    LLVMValueRef i = f->value, a, c, d;
    LLVMTypeRef t = LLVMTypeOf(i);
    LLVMOpcode op = LLVMGetInstructionOpcode(i);
    if (op == LLVMStore && baseline_lanes(LLVMTypeOf(LLVMGetOperand(i, 0))) != 0 &&
        variable_of(q, i) != NULL && (a = mask_as_integer(q, LLVMGetOperand(i, 0))) != NULL) {
        LLVMBuildStore(q->b, a, LLVMGetOperand(i, 1));
        f->done = true;
        return true;
    }
    if (op == LLVMBitCast && baseline_lanes(LLVMTypeOf(LLVMGetOperand(i, 0))) != 0 &&
        LLVMGetTypeKind(t) == LLVMIntegerTypeKind &&
        (a = mask_as_integer(q, LLVMGetOperand(i, 0))) != NULL) {
        LLVMReplaceAllUsesWith(i, LLVMTypeOf(a) == t ? a : LLVMBuildTrunc(q->b, a, t, ""));
        f->done = true;
        return true;
    }
    if (baseline_lanes(t) == 0)
        return false;
    switch (op) {
    case LLVMLoad:
        if (variable_of(q, i) == NULL)
            return false;
        known_bits(f, LLVMBuildLoad2(q->b, baseline_bits_type(q, t), LLVMGetOperand(i, 0), ""));
        return true;
    case LLVMBitCast:
        if (LLVMGetTypeKind(LLVMTypeOf(LLVMGetOperand(i, 0))) != LLVMIntegerTypeKind)
            return false;
        known_bits(f, widened(q, q->b, LLVMGetOperand(i, 0)));
        return true;
    case LLVMAnd:
    case LLVMOr:
    case LLVMXor:
        if (is_in_run(q, LLVMGetOperand(i, 0)) || is_in_run(q, LLVMGetOperand(i, 1)))
            return false;
        a = mask_as_integer(q, LLVMGetOperand(i, 0));
        c = mask_as_integer(q, LLVMGetOperand(i, 1));
        if (a == NULL || c == NULL)
            return false;
        known_bits(f, LLVMBuildBinOp(q->b, op, a, c, ""));
        return true;
    case LLVMSelect:
        c = LLVMGetOperand(i, 0);
        a = mask_as_integer(q, LLVMGetOperand(i, 1));
        d = mask_as_integer(q, LLVMGetOperand(i, 2));
        if (a == NULL || d == NULL || baseline_is_vector(LLVMTypeOf(c)))
            return false;
        known_bits(f, LLVMBuildSelect(q->b, c, a, d, ""));
        return true;
    default: return false;
    }
}

/* Keeps the instruction: loads its operands from memory, and stores its result there. */
static void keep_instruction(struct baseline *q, struct fact *f)
{
    LLVMValueRef i = f->value;
    LLVMTypeRef t = LLVMTypeOf(i);
    int n = LLVMGetNumOperands(i);
    f->shuffled = baseline_shuffled(q, i);
    runs_flush(q);
    release_operands(q, f); /* they are read before anything is written */
    for (int k = 0; k < n; k++) {
        LLVMValueRef v = LLVMGetOperand(i, (unsigned)k);
        struct fact *o = baseline_fact(q, v);
        LLVMValueRef bits = o != NULL ? baseline_known_bits(q, o) : NULL;
        if (bits != NULL && baseline_lanes(LLVMTypeOf(v)) != 0)
            v = baseline_mask(q, q->b, bits, LLVMTypeOf(v));
        else if (o != NULL && o->memory != NULL)
            v = baseline_load(q->b, LLVMTypeOf(v), o->memory);
        else
            continue;
        LLVMSetOperand(i, (unsigned)k, v);
    }
    LLVMValueRef next = LLVMGetNextInstruction(i);
    if (next == NULL || (baseline_lanes(t) == 0 && !baseline_in_memory(t)))
        return;
    if (baseline_in_memory(t))
        assign_memory(q, f);
    LLVMPositionBuilderBefore(q->b, next);
    if (baseline_in_memory(t))
        LLVMSetAlignment(LLVMBuildStore(q->b, i, f->memory), 1);
    else
        f->bits = baseline_bits(q, q->b, i);
}

/* Does it neither read nor write memory that runs do? */
static bool is_independent(const struct operation *o)
{
    bool independent = o->op == LLVMFence || (o->op == LLVMCall && !o->accesses);
    for (int k = 0; k < o->n; k++)
        independent = independent && o->how[k] != GIVEN_MEMORY;
    return independent && !baseline_in_memory(o->type) && !runs_register_call(o->i);
}

static void call_operation(struct baseline *q, struct fact *f, struct operation *o)
{
    LLVMValueRef args[MAX_OPERANDS + 1];
    unsigned n = 0;
    release_operands(q, f);
    if (baseline_in_memory(o->type)) {
        assign_memory(q, f);
        args[n++] = f->memory;
    }
    f->done = true;
    if (runs_add(q, f, o))
        return;
    if (!is_independent(o))
        runs_flush(q);
    for (int k = 0; k < o->n; k++)
        if (o->how[k] != GIVEN_CONSTANT)
            args[n++] = o->how[k] == GIVEN_BITS || o->how[k] == GIVEN_SHUFFLED_BITS
                            ? baseline_known_bits(q, baseline_fact(q, o->v[k]))
                            : o->v[k];
    LLVMTypeRef type = baseline_function_type(q, o);
    LLVMValueRef r = LLVMBuildCall2(q->b, type, baseline_function(q, o, type), args, n, "");
    if (baseline_lanes(o->type))
        f->bits = r;
    else if (!baseline_in_memory(o->type) && LLVMGetTypeKind(o->type) != LLVMVoidTypeKind)
        LLVMReplaceAllUsesWith(f->value, r);
}

/* ---- blocks ---- */

/* Whether the variable is written by instruction i of the block. */
static bool writes_variable(const struct baseline *q, LLVMValueRef i, const struct fact *variable)
{
    const struct fact *f = baseline_fact(q, i);
    return f->slot == variable->value ||
           (LLVMIsAStoreInst(i) != NULL && !f->done && variable_of(q, i) == variable);
}

/* Can the variable itself be used instead of a load of it? Nothing writes it before the load's last
 * use. */
static bool can_use_variable(const struct baseline *q, const struct fact *load,
                             const struct fact *variable)
{
    uint32_t last = last_use(q, load->value);
    if (last == UINT32_MAX)
        return false;
    for (uint32_t at = load->at + 1; at < last; at++)
        if (writes_variable(q, q->block.items[at - 1], variable))
            return false;
    return true;
}

/* The memory of this function that the store writes from its beginning on: a variable, or what is
 * also passed to functions; NULL: something else. */
static LLVMValueRef stored_into(const struct baseline *q, LLVMValueRef store)
{
    LLVMValueRef p = LLVMIsAStoreInst(store) != NULL ? LLVMGetOperand(store, 1) : NULL;
    if (p == NULL || LLVMIsAAllocaInst(p) == NULL || baseline_fact(q, p) == NULL ||
        LLVMGetVolatile(store))
        return NULL;
    LLVMTypeRef held = LLVMGetAllocatedType(p), value = LLVMTypeOf(LLVMGetOperand(store, 0));
    bool fits = baseline_in_memory(value) &&
                LLVMABISizeOfType(q->data, held) >= LLVMABISizeOfType(q->data, value);
    return fits ? p : NULL;
}

/* May the instruction access that memory, an alloca? */
static bool may_access(const struct baseline *q, LLVMValueRef i, LLVMValueRef memory)
{
    if (baseline_fact(q, i)->slot == memory)
        return true;
    if (LLVMIsAAllocaInst(memory) != NULL && baseline_fact(q, memory)->variable)
        return variable_of(q, i) == baseline_fact(q, memory);
    if (LLVMIsACallInst(i) != NULL)
        return LLVMIsAFunction(LLVMGetCalledValue(i)) == NULL ||
               LLVMGetIntrinsicID(LLVMGetCalledValue(i)) == 0;
    return LLVMIsALoadInst(i) != NULL || LLVMIsAStoreInst(i) != NULL;
}

/* Whether nothing between two instructions of the block may access that memory. */
static bool untouched(const struct baseline *q, const struct fact *from, const struct fact *to,
                      LLVMValueRef memory)
{
    for (uint32_t at = from->at + 1; at < to->at; at++)
        if (may_access(q, q->block.items[at - 1], memory))
            return false;
    return true;
}

/* Values whose only use is a store into memory of this function are computed there, unless it is
 * accessed in between. */
static void assign_slots(struct baseline *q)
{
    for (size_t n = 0; n < q->block.count; n++) {
        LLVMValueRef store = q->block.items[n], memory = stored_into(q, store), v;
        struct fact *f = baseline_fact(q, store), *o;
        if (memory == NULL)
            continue;
        v = LLVMGetOperand(store, 0);
        o = baseline_fact(q, v);
        if (o == NULL || !baseline_in_memory(LLVMTypeOf(v)) || LLVMIsALoadInst(v) != NULL ||
            LLVMGetInstructionParent(v) != LLVMGetInstructionParent(store) ||
            LLVMGetNextUse(LLVMGetFirstUse(v)) != NULL)
            continue;
        if (untouched(q, o, f, memory)) {
            o->slot = memory;
            f->done = true;
        }
    }
}

/* A cast that changes no bits: memory that holds the one holds the other, too. */
static bool is_same_memory(LLVMValueRef i)
{
    return LLVMIsABitCastInst(i) != NULL && baseline_in_memory(LLVMTypeOf(i)) &&
           baseline_in_memory(LLVMTypeOf(LLVMGetOperand(i, 0)));
}

/* What is only cast before it is stored is computed there, too. */
static void pass_slots(struct baseline *q)
{
    for (size_t n = q->block.count; n-- > 0;) {
        LLVMValueRef cast = q->block.items[n], v;
        struct fact *f = baseline_fact(q, cast), *o;
        if (f->slot == NULL || !is_same_memory(cast))
            continue;
        v = LLVMGetOperand(cast, 0);
        o = baseline_fact(q, v);
        if (o == NULL || (LLVMIsALoadInst(v) != NULL && variable_of(q, v) != NULL) ||
            LLVMGetInstructionParent(v) != LLVMGetInstructionParent(cast) ||
            LLVMGetNextUse(LLVMGetFirstUse(v)) != NULL)
            continue;
        if (untouched(q, o, f, f->slot))
            o->slot = f->slot;
    }
}

/* Has a cast that changes no bits share its operand's memory, as long as nothing else is written
 * there. */
static bool share_memory(struct baseline *q, struct fact *f)
{
    struct fact *o =
        is_same_memory(f->value) ? baseline_fact(q, LLVMGetOperand(f->value, 0)) : NULL;
    if (o == NULL || o->memory == NULL || (f->slot != NULL && f->slot != o->memory))
        return false;
    const struct fact *variable = baseline_fact(q, o->memory);
    uint32_t last = last_use(q, f->value);
    if (f->slot == NULL && (last == UINT32_MAX || (o->temp >= 0 && o->last != f->at)))
        return false;
    for (uint32_t at = f->at + 1; f->slot == NULL && variable != NULL && at < last; at++)
        if (writes_variable(q, q->block.items[at - 1], variable))
            return false;
    f->memory = o->memory;
    f->temp = o->temp;
    f->last = last;
    o->temp = -1;
    f->done = true;
    return true;
}

static bool concerns_vectors(LLVMValueRef i)
{
    if (LLVMIsAPHINode(i) != NULL || LLVMIsAAllocaInst(i) != NULL)
        return false;
    int n = LLVMGetNumOperands(i);
    bool yes = baseline_is_vector(LLVMTypeOf(i));
    for (int k = 0; k < n && !yes; k++) {
        LLVMValueRef v = LLVMGetOperand(i, (unsigned)k);
        yes = LLVMIsAFunction(v) == NULL && LLVMIsABasicBlock(v) == NULL &&
              baseline_is_vector(LLVMTypeOf(v));
    }
    return yes;
}

static void transform_instruction(struct baseline *q, LLVMValueRef i)
{
    struct fact *f = baseline_fact(q, i);
    struct operation o;
    if (f->done)
        return;
    if (!concerns_vectors(i) && !baseline_is_slow(i) && !runs_register_call(i)) {
        if (runs_end_at(q, i)) {
            LLVMPositionBuilderBefore(q->b, i);
            runs_flush(q);
        }
        return;
    }
    if (baseline_is_splat_part(i)) {
        f->done = true;
        return;
    }
    LLVMPositionBuilderBefore(q->b, i);
    LLVMSetCurrentDebugLocation2(q->b, LLVMInstructionGetDebugLoc(i));
    const struct fact *variable = variable_of(q, i);
    if (transform_mask(q, f)) {
        release_operands(q, f);
    } else if (LLVMIsALoadInst(i) != NULL && variable != NULL &&
               baseline_in_memory(LLVMTypeOf(i)) && can_use_variable(q, f, variable)) {
        f->memory = variable->value;
        f->done = true;
    } else if (share_memory(q, f)) {
        return;
    } else if (baseline_describe(q, i, &o)) {
        call_operation(q, f, &o);
    } else {
        keep_instruction(q, f);
    }
}

static void transform_block(struct baseline *q, LLVMBasicBlockRef bb)
{
    q->block.count = 0;
    for (LLVMValueRef i = LLVMGetFirstInstruction(bb); i != NULL; i = LLVMGetNextInstruction(i))
        vec_push(&q->block, i);
    assign_slots(q);
    pass_slots(q);
    for (size_t n = 0; n < q->block.count; n++)
        transform_instruction(q, q->block.items[n]);
    runs_end_block(q);
    for (size_t n = 0; n < q->temps.count; n++)
        q->temps.items[n].used = false;
    for (size_t n = q->block.count; n-- > 0;)
        if (baseline_fact(q, q->block.items[n])->done)
            LLVMInstructionEraseFromParent(q->block.items[n]);
}

void baseline_calls(LLVMModuleRef m, LLVMTargetDataRef data)
{
    LLVMContextRef ctx = LLVMGetModuleContext(m);
    struct baseline q = {.m = m,
                         .ctx = ctx,
                         .data = data,
                         .b = LLVMCreateBuilderInContext(ctx),
                         .body = LLVMCreateBuilderInContext(ctx),
                         .i8 = LLVMInt8TypeInContext(ctx),
                         .ptr = LLVMPointerTypeInContext(ctx, 0),
                         .md_scope = LLVMGetMDKindIDInContext(ctx, "alias.scope", 11),
                         .made = xcalloc(BASELINE_FUNCTIONS, sizeof *q.made)};
    for (LLVMValueRef fn = LLVMGetFirstFunction(m); fn != NULL; fn = LLVMGetNextFunction(fn)) {
        size_t n = 0;
        for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb != NULL;
             bb = LLVMGetNextBasicBlock(bb))
            for (LLVMValueRef i = LLVMGetFirstInstruction(bb); i != NULL;
                 i = LLVMGetNextInstruction(i))
                n++;
        q.fn = fn;
        q.temps.count = 0;
        if (n < MIN_INSTRUCTIONS)
            continue;
        /* a stack that is too small is to be noticed */
        LLVMAddAttributeAtIndex(
            fn, LLVMAttributeFunctionIndex,
            LLVMCreateStringAttribute(ctx, "probe-stack", 11, "inline-asm", 10));
        runs_open(&q);
        if (collect_facts(&q))
            for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb != NULL;
                 bb = LLVMGetNextBasicBlock(bb))
                transform_block(&q, bb);
        runs_close(&q);
        free(q.facts.items);
        q.facts.items = NULL;
    }
    runs_close_module(&q);
    free(q.block.items);
    free(q.temps.items);
    free(q.made);
    LLVMDisposeBuilder(q.b);
    LLVMDisposeBuilder(q.body);
}
