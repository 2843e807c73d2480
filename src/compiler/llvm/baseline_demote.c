/* baseline_demote: values that outlive their block become variables, loaded where they are used,
 * and so do phis.
 *
 * LLVM's pass reg2mem does the same, but splits critical edges first, and keeps its dominator tree
 * up to date meanwhile, which takes time with the square of the blocks. Nothing here needs them
 * split: a phi's variable is stored at the end of each predecessor, whichever way that one goes. */
#include "compiler/llvm/baseline.h"

#include <llvm-c/DebugInfo.h>

#include <stdbool.h>
#include <stdlib.h>

#include "base/base.h"

struct demote {
    LLVMBuilderRef b,
        entry; /* at the instruction worked at; for variables, at the function's start */
    struct {
        LLVMValueRef *items;
        size_t count, cap;
    } values, users;
};

static LLVMValueRef new_variable(struct demote *d, LLVMTypeRef t)
{
    return LLVMBuildAlloca(d->entry, t, "");
}

static bool escapes(LLVMValueRef i)
{
    LLVMBasicBlockRef bb = LLVMGetInstructionParent(i);
    for (LLVMUseRef u = LLVMGetFirstUse(i); u != NULL; u = LLVMGetNextUse(u)) {
        LLVMValueRef user = LLVMGetUser(u);
        if (LLVMIsAPHINode(user) != NULL || LLVMGetInstructionParent(user) != bb)
            return true;
    }
    return false;
}

/* The first instruction after i and, if that is a phi, after the other phis. */
static LLVMValueRef following(LLVMValueRef i)
{
    do
        i = LLVMGetNextInstruction(i);
    while (LLVMIsAPHINode(i) != NULL);
    return i;
}

/* A phi takes the value from the variable, at the end of the block that it comes from. Edges from
 * one block, of which a switch may have several, bring one value. */
static void load_for_phi(struct demote *d, LLVMValueRef phi, LLVMValueRef v, LLVMValueRef variable)
{
    unsigned n = LLVMCountIncoming(phi);
    for (unsigned k = 0; k < n; k++) {
        LLVMBasicBlockRef from = LLVMGetIncomingBlock(phi, k);
        if (LLVMGetIncomingValue(phi, k) != v)
            continue;
        LLVMPositionBuilderBefore(d->b, LLVMGetBasicBlockTerminator(from));
        LLVMSetCurrentDebugLocation2(d->b, NULL);
        LLVMValueRef load = LLVMBuildLoad2(d->b, LLVMTypeOf(v), variable, "");
        for (unsigned other = k; other < n; other++)
            if (LLVMGetIncomingBlock(phi, other) == from)
                LLVMSetOperand(phi, other, load);
    }
}

static void load_for_user(struct demote *d, LLVMValueRef user, LLVMValueRef v,
                          LLVMValueRef variable)
{
    LLVMValueRef load = NULL; /* one for all operands: a user is listed once for each of them */
    int n = LLVMGetNumOperands(user);
    for (int k = 0; k < n; k++) {
        if (LLVMGetOperand(user, (unsigned)k) != v)
            continue;
        if (load == NULL) {
            LLVMPositionBuilderBefore(d->b, user);
            LLVMSetCurrentDebugLocation2(d->b, LLVMInstructionGetDebugLoc(user));
            load = LLVMBuildLoad2(d->b, LLVMTypeOf(v), variable, "");
        }
        LLVMSetOperand(user, (unsigned)k, load);
    }
}

static void demote_value(struct demote *d, LLVMValueRef v)
{
    LLVMValueRef variable = new_variable(d, LLVMTypeOf(v));
    d->users.count = 0;
    for (LLVMUseRef u = LLVMGetFirstUse(v); u != NULL; u = LLVMGetNextUse(u))
        vec_push(&d->users, LLVMGetUser(u));
    for (size_t n = 0; n < d->users.count; n++)
        if (LLVMIsAPHINode(d->users.items[n]) != NULL)
            load_for_phi(d, d->users.items[n], v, variable);
        else if (LLVMGetInstructionParent(d->users.items[n]) != LLVMGetInstructionParent(v))
            load_for_user(d, d->users.items[n], v, variable);
    LLVMPositionBuilderBefore(d->b, following(v));
    LLVMSetCurrentDebugLocation2(d->b, NULL);
    LLVMBuildStore(d->b, v, variable);
}

static void demote_phi(struct demote *d, LLVMValueRef phi)
{
    LLVMValueRef variable = new_variable(d, LLVMTypeOf(phi));
    unsigned n = LLVMCountIncoming(phi);
    LLVMSetCurrentDebugLocation2(d->b, NULL);
    for (unsigned k = 0; k < n; k++) {
        LLVMBasicBlockRef from = LLVMGetIncomingBlock(phi, k);
        if (LLVMIsUndef(LLVMGetIncomingValue(phi, k)))
            continue;
        LLVMPositionBuilderBefore(d->b, LLVMGetBasicBlockTerminator(from));
        LLVMBuildStore(d->b, LLVMGetIncomingValue(phi, k), variable);
    }
    LLVMPositionBuilderBefore(d->b, following(phi));
    LLVMReplaceAllUsesWith(phi, LLVMBuildLoad2(d->b, LLVMTypeOf(phi), variable, ""));
    LLVMInstructionEraseFromParent(phi);
}

/* Lists the phis of a function, or the values that outlive their block. */
static void list_values(struct demote *d, LLVMValueRef fn, bool phis)
{
    LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(fn);
    d->values.count = 0;
    for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb != NULL;
         bb = LLVMGetNextBasicBlock(bb))
        for (LLVMValueRef i = LLVMGetFirstInstruction(bb); i != NULL; i = LLVMGetNextInstruction(i))
            if (phis ? LLVMIsAPHINode(i) != NULL
                     : !(LLVMIsAAllocaInst(i) != NULL && bb == entry) && escapes(i))
                vec_push(&d->values, i);
}

void baseline_demote(LLVMModuleRef m)
{
    LLVMContextRef ctx = LLVMGetModuleContext(m);
    struct demote d = {.b = LLVMCreateBuilderInContext(ctx),
                       .entry = LLVMCreateBuilderInContext(ctx)};
    for (LLVMValueRef fn = LLVMGetFirstFunction(m); fn != NULL; fn = LLVMGetNextFunction(fn)) {
        if (LLVMCountBasicBlocks(fn) == 0)
            continue;
        LLVMPositionBuilderBefore(d.entry, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(fn)));
        list_values(&d, fn, false);
        for (size_t n = 0; n < d.values.count; n++)
            demote_value(&d, d.values.items[n]);
        list_values(&d, fn, true);
        for (size_t n = 0; n < d.values.count; n++)
            demote_phi(&d, d.values.items[n]);
    }
    free(d.values.items);
    free(d.users.items);
    LLVMDisposeBuilder(d.b);
    LLVMDisposeBuilder(d.entry);
}
