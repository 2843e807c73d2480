/* selection_tables: lanes that choose among scalars by a small number, as permutations.
 *
 * `if (digit == 0) x = a; else if (digit == 1) x = b; ...` is a chain of selections, each of them
 * by a comparison with a constant, as is `for (d = 0; d < 16; d++) { mask = ballot(digit == d); if
 * (digit == d) same = mask; }`. Every step costs a broadcast and a selection a register, of three
 * operations each on CPUs without AVX-512. Where what lanes choose from are scalars, these are a
 * table: they are stored side by side, and each lane takes its own by a permutation of the one or
 * two registers that the table is. */
#include "base/base.h"
#include "compiler/llvm/llvm_passes.h"
#include "compiler/llvm/llvm_values.h"

enum {
    LANES = 32,
    WORD = 32,
    FEWEST = 6, /* scalars for which it pays */
    MOST = 32
};

struct tables {
    LLVMContextRef ctx;
    LLVMBuilderRef b;
    LLVMTypeRef i32;
    unsigned register_lanes, most; /* words of a register, elements of two */
    bool changed;
};

/* A chain of selections: lanes of `of` that are lowest + n get value[n], others `rest`. */
struct chain {
    LLVMValueRef of, rest, value[MOST];
    uint64_t lowest, highest;
    LLVMValueRef step[MOST]; /* from the last one back */
    uint64_t constant[MOST];
    LLVMValueRef scalar[MOST];
    unsigned n;
};

static bool is_words(LLVMValueRef v) { return integer_lanes(v, WORD) == LANES; }

/* The scalar that all lanes are, a constant too; NULL: they are not one. */
static LLVMValueRef same_in_all(LLVMValueRef v)
{
    if (LLVMIsAConstant(v) == NULL)
        return splatted(v);
    LLVMValueRef first = LLVMGetAggregateElement(v, 0);
    for (unsigned l = 1; l < LANES; l++)
        if (LLVMGetAggregateElement(v, l) != first)
            return NULL;
    return first != NULL && LLVMIsAConstantInt(first) != NULL ? first : NULL;
}

static bool is_used_once(LLVMValueRef v)
{
    LLVMUseRef use = LLVMGetFirstUse(v);
    return use != NULL && LLVMGetNextUse(use) == NULL;
}

/* Is a value a selection of a scalar for lanes that are a constant? */
static bool is_step(LLVMValueRef v, LLVMValueRef *of, uint64_t *constant, LLVMValueRef *scalar)
{
    if (!is_op(v, LLVMSelect) || !is_words(v))
        return false;
    LLVMValueRef by = LLVMGetOperand(v, 0), what;
    if (!is_op(by, LLVMICmp) || LLVMGetICmpPredicate(by) != LLVMIntEQ ||
        !is_words(LLVMGetOperand(by, 0)) || LLVMIsAConstant(LLVMGetOperand(by, 1)) == NULL)
        return false;
    what = same_in_all(LLVMGetOperand(by, 1));
    *scalar = same_in_all(LLVMGetOperand(v, 1));
    if (what == NULL || *scalar == NULL || LLVMIsAConstantInt(what) == NULL)
        return false;
    *of = LLVMGetOperand(by, 0);
    *constant = LLVMConstIntGetZExtValue(what);
    return true;
}

/* Is a selection a step of a longer chain? */
static bool is_continued(LLVMValueRef v, LLVMValueRef of)
{
    if (!is_used_once(v))
        return false;
    LLVMValueRef user = LLVMGetUser(LLVMGetFirstUse(v)), next, scalar;
    uint64_t constant;
    return is_step(user, &next, &constant, &scalar) && next == of && LLVMGetOperand(user, 2) == v;
}

/* The steps that end with one. */
static bool collect(struct chain *c, LLVMValueRef last)
{
    *c = (struct chain){.lowest = UINT64_MAX};
    LLVMValueRef v = last, of, scalar;
    uint64_t constant;
    while (c->n < MOST && (v == last || is_used_once(v)) && is_step(v, &of, &constant, &scalar) &&
           (c->n == 0 || of == c->of)) {
        c->of = of;
        c->step[c->n] = v;
        c->constant[c->n] = constant;
        c->scalar[c->n++] = scalar;
        c->lowest = constant < c->lowest ? constant : c->lowest;
        c->highest = constant > c->highest ? constant : c->highest;
        v = LLVMGetOperand(v, 2);
    }
    c->rest = v;
    return c->n >= FEWEST && !is_continued(last, c->of);
}

/* Fills the table; false: an element of it is neither chosen nor the same in all lanes. */
static bool fill(const struct tables *t, struct chain *c)
{
    if (c->highest - c->lowest >= t->most)
        return false;
    for (unsigned n = c->n; n-- > 0;) /* the last step that has a constant counts */
        c->value[c->constant[n] - c->lowest] = c->scalar[n];
    LLVMValueRef rest = same_in_all(c->rest);
    for (unsigned n = 0; n <= c->highest - c->lowest; n++) {
        if (c->value[n] == NULL)
            c->value[n] = rest;
        if (c->value[n] == NULL)
            return false;
    }
    return true;
}

/* Words on the stack for a table. */
static LLVMValueRef reserve_words(const struct tables *t, unsigned words)
{
    LLVMBasicBlockRef here = LLVMGetInsertBlock(t->b);
    LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(LLVMGetBasicBlockParent(here));
    LLVMBuilderRef b = LLVMCreateBuilderInContext(t->ctx);
    LLVMPositionBuilderBefore(b, LLVMGetFirstInstruction(entry));
    LLVMValueRef p = LLVMBuildAlloca(b, LLVMArrayType2(t->i32, words), "");
    LLVMSetAlignment(p, t->register_lanes * WORD / 8);
    LLVMDisposeBuilder(b);
    return p;
}

static LLVMValueRef element_at(const struct tables *t, LLVMValueRef p, unsigned n)
{
    LLVMValueRef at = LLVMConstInt(t->i32, n, false);
    return LLVMBuildInBoundsGEP2(t->b, t->i32, p, &at, 1, "");
}

/* The elements of one or two registers that a register's indices choose. */
static LLVMValueRef permuted(const struct tables *t, const LLVMValueRef *part, unsigned parts,
                             LLVMValueRef by)
{
    if (t->register_lanes == 16) {
        LLVMValueRef one[2] = {part[0], by}, two[3] = {part[0], by, part[1]};
        return parts == 1 ? machine_call(t->b, "llvm.x86.avx512.permvar.si.512", one, 2)
                          : machine_call(t->b, "llvm.x86.avx512.vpermi2var.d.512", two, 3);
    }
    LLVMValueRef v[2] = {NULL, NULL};
    for (unsigned n = 0; n < parts; n++)
        v[n] = machine_call(t->b, "llvm.x86.avx2.permd", (LLVMValueRef[]){part[n], by}, 2);
    if (parts == 1)
        return v[0];
    LLVMTypeRef type = LLVMTypeOf(by);
    LLVMValueRef up = splat_to(t->b, LLVMConstInt(t->i32, 28, false), type);
    LLVMValueRef second =
        LLVMBuildICmp(t->b, LLVMIntSLT, LLVMBuildShl(t->b, by, up, ""), LLVMConstNull(type), "");
    return LLVMBuildSelect(t->b, second, v[1], v[0], "");
}

/* What lanes choose, in front of a chain's last selection. */
static LLVMValueRef look_up(const struct tables *t, const struct chain *c)
{
    LLVMTypeRef type = LLVMTypeOf(c->of);
    unsigned words = (unsigned)(c->highest - c->lowest) + 1, each = t->register_lanes;
    unsigned parts = (words + each - 1) / each, groups = LANES / each;
    LLVMValueRef memory = reserve_words(t, parts * each), part[2], out[LANES / 8];
    for (unsigned n = 0; n < parts * each; n++)
        LLVMBuildStore(t->b, n < words ? c->value[n] : LLVMConstNull(t->i32),
                       element_at(t, memory, n));
    for (unsigned n = 0; n < parts; n++)
        part[n] =
            LLVMBuildLoad2(t->b, LLVMVectorType(t->i32, each), element_at(t, memory, n * each), "");
    LLVMValueRef lowest = splat_to(t->b, LLVMConstInt(t->i32, c->lowest, false), type);
    LLVMValueRef index = c->lowest == 0 ? c->of : LLVMBuildSub(t->b, c->of, lowest, "");
    for (unsigned n = 0; n < groups; n++)
        out[n] = permuted(t, part, parts, part_of(t->b, index, n * each, each));
    LLVMValueRef v = joined_parts(t->b, out, groups);
    LLVMValueRef count = splat_to(t->b, LLVMConstInt(t->i32, words, false), type);
    LLVMValueRef inside = LLVMBuildICmp(t->b, LLVMIntULT, index, count, "");
    return LLVMBuildSelect(t->b, inside, v, c->rest, "");
}

static bool replace(struct tables *t, LLVMValueRef i)
{
    struct chain c;
    if (!is_op(i, LLVMSelect) || !collect(&c, i) || !fill(t, &c))
        return false;
    LLVMPositionBuilderBefore(t->b, i);
    LLVMReplaceAllUsesWith(i, look_up(t, &c));
    for (unsigned n = 0; n < c.n; n++)
        LLVMInstructionEraseFromParent(c.step[n]);
    t->changed = true;
    return true;
}

bool make_selection_tables(LLVMModuleRef module, bool avx512)
{
    LLVMContextRef ctx = LLVMGetModuleContext(module);
    struct tables t = {.ctx = ctx,
                       .b = LLVMCreateBuilderInContext(ctx),
                       .i32 = LLVMInt32TypeInContext(ctx),
                       .register_lanes = avx512 ? 16 : 8,
                       .most = avx512 ? 32 : 16};
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f != NULL; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b != NULL;
             b = LLVMGetNextBasicBlock(b)) {
            LLVMValueRef i = LLVMGetLastInstruction(b); /* from a chain's last step back */
            while (i != NULL)
                i = replace(&t, i) ? LLVMGetLastInstruction(b) : LLVMGetPreviousInstruction(i);
        }
    LLVMDisposeBuilder(t.b);
    return t.changed;
}
