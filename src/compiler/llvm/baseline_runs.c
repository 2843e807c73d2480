/* baseline_runs: operations that follow each other become words of a table, which functions
 * interpret.
 *
 * A call takes LLVM ten microseconds or more to translate, and in large kernels most instructions
 * become calls of functions on memory (baseline.c). A run is one call for many of them. The words
 * of the table say for each operation which function computes it, its step, and where its operands
 * and its result lie in the memory of the kernel's function. Each step ends by calling the next
 * one. Words cost nothing: they are data. In turn all memory that runs refer to must lie in one
 * alloca, at known offsets.
 *
 * A run takes what can neither fault nor be seen outside of the function. It is called where an
 * instruction follows that could depend on it. Scalars that it reads are stored where the operation
 * was, and masks that it leaves are loaded where they are needed. */
#include "compiler/llvm/baseline_functions.h"

#include <llvm-c/DebugInfo.h>

#include <stdlib.h>
#include <string.h>

enum { ADDRESS_BYTES = 8, SCALAR_BYTES = 8, MEMORY_ALIGN = 64 };
/* The memory begins with scalars that runs read, and then masks that they leave. */
enum { OWN_OBJECT = 0, MAX_ARGUMENTS = 256, MAX_RESULTS = 768 };
#define NO_OBJECT UINT32_MAX

/* ---- objects ---- */

static struct object_slot *object_slot(const struct runs *r, LLVMValueRef alloca)
{
    size_t at = ((uintptr_t)alloca >> 4) * 0x9e3779b97f4a7c15u >> 20 & (r->slots - 1);
    while (r->by_alloca[at].alloca != NULL && r->by_alloca[at].alloca != alloca)
        at = (at + 1) & (r->slots - 1);
    return &r->by_alloca[at];
}

static void grow_slots(struct runs *r)
{
    struct object_slot *old = r->by_alloca;
    size_t n = r->slots;
    r->slots = n != 0 ? n * 2 : 1024;
    r->by_alloca = xcalloc(r->slots, sizeof *r->by_alloca);
    for (size_t k = 0; k < n; k++)
        if (old[k].alloca != NULL)
            *object_slot(r, old[k].alloca) = old[k];
    free(old);
}

/* Can it be replaced by a part of another one? */
static bool can_be_object(const struct baseline *q, LLVMValueRef alloca)
{
    if (LLVMGetInstructionParent(alloca) != LLVMGetEntryBasicBlock(q->fn) ||
        !LLVMIsConstant(LLVMGetOperand(alloca, 0)) ||
        LLVMConstIntGetZExtValue(LLVMGetOperand(alloca, 0)) != 1)
        return false;
    for (LLVMUseRef u = LLVMGetFirstUse(alloca); u != NULL; u = LLVMGetNextUse(u))
        if (LLVMIsAPHINode(LLVMGetUser(u)) != NULL)
            return false;
    return true;
}

static uint32_t object_of(struct baseline *q, LLVMValueRef alloca)
{
    struct runs *r = &q->runs;
    if (r->slots_used * 2 >= r->slots)
        grow_slots(r);
    struct object_slot *s = object_slot(r, alloca);
    if (s->alloca != NULL)
        return s->object;
    s->alloca = alloca;
    s->object = NO_OBJECT;
    r->slots_used++;
    if (can_be_object(q, alloca)) {
        s->object = (uint32_t)r->objects.count;
        vec_push(&r->objects,
                 (struct object){.alloca = alloca,
                                 .bytes = LLVMABISizeOfType(q->data, LLVMGetAllocatedType(alloca)),
                                 .align = LLVMGetAlignment(alloca)});
    }
    return s->object;
}

/* Is it memory of the function at a known place? */
static bool is_place(struct baseline *q, LLVMValueRef p, uint32_t *object, uint32_t *offset)
{
    *offset = 0;
    if (LLVMIsAGetElementPtrInst(p) != NULL && LLVMGetNumOperands(p) == 2 &&
        LLVMGetGEPSourceElementType(p) == q->i8 &&
        LLVMIsAConstantInt(LLVMGetOperand(p, 1)) != NULL) {
        int64_t at = LLVMConstIntGetSExtValue(LLVMGetOperand(p, 1));
        if (at < 0 || at > INT32_MAX)
            return false;
        *offset = (uint32_t)at;
        p = LLVMGetOperand(p, 0);
    }
    *object = LLVMIsAAllocaInst(p) != NULL ? object_of(q, p) : NO_OBJECT;
    return *object != NO_OBJECT;
}

/* The address of a byte of the runs' own memory. */
static LLVMValueRef own_address(const struct baseline *q, uint32_t offset)
{
    LLVMValueRef at = LLVMConstInt(LLVMInt64TypeInContext(q->ctx), offset, false);
    return LLVMBuildGEP2(q->b, q->i8, q->runs.memory, &at, 1, "");
}

/* Is it a scalar variable? No run accesses those, but for settled ones. */
static bool is_scalar_variable(LLVMValueRef p)
{
    if (LLVMIsAAllocaInst(p) == NULL)
        return false;
    switch (LLVMGetTypeKind(LLVMGetAllocatedType(p))) {
    case LLVMIntegerTypeKind:
    case LLVMPointerTypeKind:
    case LLVMFloatTypeKind:
    case LLVMDoubleTypeKind: return true;
    default: return false;
    }
}

/* The block of the only store to a scalar variable that is otherwise only loaded; NULL: it is no
 * such variable. */
static LLVMBasicBlockRef only_store(LLVMValueRef alloca)
{
    LLVMBasicBlockRef block = NULL;
    for (LLVMUseRef u = LLVMGetFirstUse(alloca); u != NULL; u = LLVMGetNextUse(u)) {
        LLVMValueRef user = LLVMGetUser(u);
        if (LLVMIsALoadInst(user) != NULL)
            continue;
        if (LLVMIsAStoreInst(user) == NULL || LLVMGetOperand(user, 0) == alloca || block != NULL)
            return NULL;
        block = LLVMGetInstructionParent(user);
    }
    return block;
}

/* Is the value a variable's that does not change in this block? Runs read it there. */
static bool is_settled(struct baseline *q, LLVMValueRef v, uint32_t *object)
{
    LLVMValueRef alloca = LLVMIsALoadInst(v) != NULL ? LLVMGetOperand(v, 0) : NULL;
    struct fact *f = alloca != NULL && is_scalar_variable(alloca) ? baseline_fact(q, alloca) : NULL;
    if (f == NULL || LLVMTypeOf(v) != LLVMGetAllocatedType(alloca))
        return false;
    if (!f->stores_known) {
        f->stored_in = only_store(alloca);
        f->stores_known = true;
    }
    if (f->stored_in == NULL || f->stored_in == LLVMGetInstructionParent(v))
        return false;
    *object = object_of(q, alloca);
    return *object != NO_OBJECT;
}

/* ---- words ---- */

static void add_word(struct runs *r, uint32_t word) { vec_push(&r->words, word); }

static void add_offset(struct runs *r, uint32_t object, uint32_t offset)
{
    vec_push(&r->fixups, (struct fixup){(uint32_t)r->words.count, object});
    add_word(r, offset);
}

/* The bits of a scalar constant. */
static bool constant_bits(const struct baseline *q, LLVMValueRef v, uint64_t *bits)
{
    LLVMTypeKind kind = LLVMGetTypeKind(LLVMTypeOf(v));
    *bits = 0;
    if (kind == LLVMPointerTypeKind || !LLVMIsConstant(v))
        return false;
    if (LLVMIsUndef(v))
        return true;
    if (kind != LLVMIntegerTypeKind)
        v = LLVMConstBitCast(v, LLVMIntTypeInContext(q->ctx, (unsigned)LLVMSizeOfTypeInBits(
                                                                 q->data, LLVMTypeOf(v))));
    if (LLVMIsAConstantInt(v) == NULL)
        return false;
    *bits = LLVMConstIntGetZExtValue(v);
    return true;
}

/* What an operand is, once it is clear that all operands can be words. */
struct operand {
    uint32_t object, offset;
    uint64_t bits;
};

/* Decides how a step is given operand k. False: it cannot be. */
static bool place_operand(struct baseline *q, struct operation *o, int k, struct operand *to)
{
    LLVMValueRef v = o->v[k];
    uint64_t bytes = 0;
    switch (o->how[k]) {
    case GIVEN_CONSTANT: return true;
    case GIVEN_MEMORY: o->where[k] = WHERE_MEMORY; return is_place(q, v, &to->object, &to->offset);
    case GIVEN_BITS:
    case GIVEN_SHUFFLED_BITS:
        o->where[k] = WHERE_STORED;
        to->object = NO_OBJECT;
        if (baseline_fact(q, v)->result != 0) {
            to->object = OWN_OBJECT;
            to->offset = baseline_fact(q, v)->result;
        }
        return true;
    default: break;
    }
    bytes = LLVMABISizeOfType(q->data, LLVMTypeOf(v));
    to->object = NO_OBJECT;
    if (bytes > SCALAR_BYTES)
        return false;
    if (constant_bits(q, v, &to->bits)) {
        o->where[k] =
            LLVMSizeOfTypeInBits(q->data, LLVMTypeOf(v)) > 32 ? WHERE_TWO_WORDS : WHERE_WORD;
        return true;
    }
    o->where[k] = WHERE_STORED;
    if (LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMPointerTypeKind &&
        is_place(q, v, &to->object, &to->offset))
        o->where[k] = WHERE_MEMORY;
    else if (is_settled(q, v, &to->object))
        to->offset = 0;
    else
        to->object = NO_OBJECT;
    return true;
}

/* Stores a scalar for the run. */
static void store_argument(struct baseline *q, LLVMValueRef v, struct operand *to)
{
    to->object = OWN_OBJECT;
    to->offset = q->runs.arguments++ * SCALAR_BYTES;
    LLVMBuildStore(q->b, v, own_address(q, to->offset));
}

static void add_operand(struct baseline *q, const struct operation *o, int k, struct operand *to)
{
    struct runs *r = &q->runs;
    switch (o->where[k]) {
    case WHERE_STORED:
        if (to->object == NO_OBJECT)
            store_argument(q,
                           o->how[k] == GIVEN_BITS || o->how[k] == GIVEN_SHUFFLED_BITS
                               ? baseline_known_bits(q, baseline_fact(q, o->v[k]))
                               : o->v[k],
                           to);
        add_offset(r, to->object, to->offset);
        break;
    case WHERE_MEMORY: add_offset(r, to->object, to->offset); break;
    case WHERE_TWO_WORDS:
        add_word(r, (uint32_t)to->bits);
        add_word(r, (uint32_t)(to->bits >> 32));
        break;
    case WHERE_WORD: add_word(r, (uint32_t)to->bits); break;
    }
}

/* ---- runs ---- */

bool runs_register_call(LLVMValueRef i)
{
    LLVMValueRef to = LLVMIsACallInst(i) != NULL ? LLVMGetCalledValue(i) : NULL;
    return to != NULL && LLVMIsAFunction(to) != NULL && LLVMGetNumArgOperands(i) <= MAX_OPERANDS &&
           LLVMGetStringAttributeAtIndex(to, LLVMAttributeFunctionIndex, REGISTERS_ONLY,
                                         strlen(REGISTERS_ONLY)) != NULL;
}

/* May it be computed later, and elsewhere? */
static bool can_run(const struct operation *o)
{
    bool result = baseline_in_memory(o->type) || baseline_lanes(o->type) != 0 ||
                  LLVMGetTypeKind(o->type) == LLVMVoidTypeKind;
    bool moves = o->op == LLVMLoad || o->op == LLVMStore;
    return result && !o->accesses && o->op != LLVMFence && !(moves && LLVMGetVolatile(o->i));
}

bool runs_add(struct baseline *q, struct fact *f, struct operation *o)
{
    struct runs *r = &q->runs;
    struct operand operands[MAX_OPERANDS], to = {0};
    if (!can_run(o) ||
        (baseline_in_memory(o->type) && !is_place(q, f->memory, &to.object, &to.offset)))
        return false;
    for (int k = 0; k < o->n; k++)
        if (!place_operand(q, o, k, &operands[k]))
            return false;
    if (baseline_lanes(o->type) != 0 && r->results == MAX_RESULTS)
        return false;
    if (r->arguments + (unsigned)o->n > MAX_ARGUMENTS)
        runs_flush(q);
    const struct made *step = baseline_step(q, o);
    if (step == NULL)
        return false;
    if (r->first == NULL) {
        r->first = step->fn;
        r->start = r->words.count;
    }
    add_word(r, step->step * ADDRESS_BYTES);
    if (baseline_lanes(o->type) != 0) {
        to.object = OWN_OBJECT;
        to.offset = (MAX_ARGUMENTS + r->results++) * SCALAR_BYTES;
        f->result = to.offset;
    }
    if (LLVMGetTypeKind(o->type) != LLVMVoidTypeKind)
        add_offset(r, to.object, to.offset);
    for (int k = 0; k < o->n; k++)
        if (o->how[k] != GIVEN_CONSTANT)
            add_operand(q, o, k, &operands[k]);
    return true;
}

void runs_flush(struct baseline *q)
{
    struct runs *r = &q->runs;
    if (r->first == NULL)
        return;
    LLVMTypeRef i64 = LLVMInt64TypeInContext(q->ctx);
    LLVMValueRef at = LLVMConstInt(i64, r->start * sizeof *r->words.items, false);
    LLVMValueRef args[2] = {r->memory, LLVMConstInBoundsGEP2(q->i8, r->table, &at, 1)};
    add_word(r, baseline_last_step(q) * ADDRESS_BYTES);
    LLVMBuildCall2(q->b, LLVMGlobalGetValueType(r->first), r->first, args, 2, "");
    r->first = NULL;
    r->arguments = 0;
}

bool runs_end_at(const struct baseline *q, LLVMValueRef i)
{
    if (q->runs.first == NULL)
        return false;
    switch (LLVMGetInstructionOpcode(i)) {
    case LLVMLoad: return !is_scalar_variable(LLVMGetOperand(i, 0));
    case LLVMStore: return !is_scalar_variable(LLVMGetOperand(i, 1));
    case LLVMCall:
    case LLVMFence:
    case LLVMAtomicRMW:
    case LLVMAtomicCmpXchg: return true;
    default: return LLVMIsATerminatorInst(i) != NULL;
    }
}

LLVMValueRef runs_result(struct baseline *q, const struct fact *f)
{
    LLVMTypeRef t = baseline_bits_type(q, LLVMTypeOf(f->value));
    runs_flush(q);
    return LLVMBuildLoad2(q->b, t, own_address(q, f->result), "");
}

void runs_end_block(struct baseline *q) { q->runs.results = 0; }

/* ---- a function ---- */

/* An alloca at the function's start. */
static LLVMValueRef new_alloca(struct baseline *q, uint64_t bytes, unsigned align)
{
    LLVMPositionBuilderBefore(q->body, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(q->fn)));
    LLVMSetCurrentDebugLocation2(q->body, NULL);
    LLVMValueRef a = LLVMBuildAlloca(q->body, LLVMArrayType2(q->i8, bytes), "");
    LLVMSetAlignment(a, align);
    return a;
}

void runs_open(struct baseline *q)
{
    q->runs = (struct runs){0};
    q->runs.memory = new_alloca(q, SCALAR_BYTES, SCALAR_BYTES);
    q->runs.table = LLVMAddGlobal(q->m, q->i8, "");
    vec_push(&q->runs.objects,
             (struct object){.bytes = (MAX_ARGUMENTS + MAX_RESULTS) * SCALAR_BYTES,
                             .align = MEMORY_ALIGN});
}

/* Gives each object its place. Returns how many bytes they are. */
static uint64_t place_objects(struct runs *r)
{
    uint64_t at = 0;
    for (size_t n = 0; n < r->objects.count; n++) {
        struct object *o = &r->objects.items[n];
        o->offset = (at + o->align - 1) / o->align * o->align;
        at = o->offset + o->bytes;
    }
    return at;
}

/* Replaces the alloca by its place in the memory, at each instruction that uses it. */
static void replace_alloca(struct baseline *q, const struct object *o)
{
    LLVMValueRef at = LLVMConstInt(LLVMInt64TypeInContext(q->ctx), o->offset, false);
    for (LLVMUseRef u; (u = LLVMGetFirstUse(o->alloca)) != NULL;) {
        LLVMValueRef user = LLVMGetUser(u);
        LLVMPositionBuilderBefore(q->b, user);
        LLVMSetCurrentDebugLocation2(q->b, LLVMInstructionGetDebugLoc(user));
        LLVMValueRef p = LLVMBuildGEP2(q->b, q->i8, q->runs.memory, &at, 1, "");
        int n = LLVMGetNumOperands(user);
        for (int k = 0; k < n; k++)
            if (LLVMGetOperand(user, (unsigned)k) == o->alloca)
                LLVMSetOperand(user, (unsigned)k, p);
    }
    LLVMInstructionEraseFromParent(o->alloca);
}

/* The table as a constant of the module. */
static void define_table(struct baseline *q)
{
    struct runs *r = &q->runs;
    for (size_t n = 0; n < r->fixups.count; n++)
        r->words.items[r->fixups.items[n].word] +=
            (uint32_t)r->objects.items[r->fixups.items[n].object].offset;
    size_t bytes = r->words.count * sizeof *r->words.items;
    LLVMValueRef words =
        LLVMConstStringInContext2(q->ctx, (const char *)r->words.items, bytes, true);
    LLVMValueRef table = LLVMAddGlobal(q->m, LLVMTypeOf(words), "weir_baseline_words");
    LLVMSetInitializer(table, words);
    LLVMSetLinkage(table, LLVMInternalLinkage);
    LLVMSetGlobalConstant(table, true);
    LLVMSetAlignment(table, MEMORY_ALIGN);
    LLVMReplaceAllUsesWith(r->table, table);
}

void runs_close(struct baseline *q)
{
    struct runs *r = &q->runs;
    uint64_t bytes = place_objects(r);
    unsigned align = MEMORY_ALIGN;
    for (size_t n = 0; n < r->objects.count; n++)
        align = r->objects.items[n].align > align ? r->objects.items[n].align : align;
    if (r->words.count > 0) {
        LLVMValueRef memory = new_alloca(q, bytes, align);
        LLVMReplaceAllUsesWith(r->memory, memory);
        LLVMInstructionEraseFromParent(r->memory);
        r->memory = memory;
        for (size_t n = OWN_OBJECT + 1; n < r->objects.count; n++)
            replace_alloca(q, &r->objects.items[n]);
        define_table(q);
    }
    LLVMDeleteGlobal(r->table);
    free(r->objects.items);
    free(r->by_alloca);
    free(r->words.items);
    free(r->fixups.items);
    q->runs = (struct runs){0};
}

void runs_close_module(struct baseline *q)
{
    if (q->step_addresses == NULL)
        return;
    LLVMValueRef list = LLVMConstArray2(q->ptr, q->steps.items, q->steps.count);
    LLVMValueRef global = LLVMAddGlobal(q->m, LLVMTypeOf(list), "weir_baseline_steps");
    LLVMSetInitializer(global, list);
    LLVMSetLinkage(global, LLVMInternalLinkage);
    LLVMSetGlobalConstant(global, true);
    LLVMReplaceAllUsesWith(q->step_addresses, global);
    LLVMDeleteGlobal(q->step_addresses);
    free(q->steps.items);
}
