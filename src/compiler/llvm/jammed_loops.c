/* jammed_loops: makes the loops of warp_jamming.c, which do for several warps at a time what the
 * original loop does on its usual path.
 *
 *   preheader -> jammed loop -> exit
 *                   | a guard
 *                   v
 *                 rest -> original loop -> exit
 *
 * A block of the path becomes one block. An instruction that varies becomes one for each warp, next
 * to each other; the others stay single. The number of warps is a multiple of those at a time. */
#include <stdlib.h>
#include <string.h>

#include "compiler/llvm/strip_mining.h"
#include "compiler/llvm/warp_jamming.h"

static LLVMValueRef mapped(const struct jam *j, LLVMValueRef v, unsigned warp)
{
    const struct jam_instr *i = jam_instr_of(j, v);
    return i != NULL ? i->of[warp] : v;
}

static LLVMBasicBlockRef made_block(const struct jam *j, LLVMBasicBlockRef bb)
{
    int32_t n = jam_number(j, bb);
    return n >= 0 && j->blocks[n].hot ? j->blocks[n].made : bb;
}

/* The counters and what is carried, at the start of an iteration. */
static void make_header(struct jam *j)
{
    for (int p = 0; p < j->nphis; p++) {
        struct jam_phi *at = &j->phis[p];
        at->made = LLVMBuildPhi(j->b, LLVMTypeOf(at->phi), "");
        LLVMAddIncoming(at->made, &at->from, &j->preheader, 1);
    }
    for (int p = 0; p < j->nphis; p++) {
        struct jam_phi *at = &j->phis[p];
        struct jam_instr *i = jam_instr_of(j, at->phi);
        for (unsigned w = 0; w < j->at_a_time; w++)
            i->of[w] =
                w == 0 || !at->counts
                    ? at->made
                    : LLVMBuildAdd(j->b, at->made,
                                   LLVMConstInt(LLVMTypeOf(at->phi), at->step * w, false), "");
    }
}

/* Where a fault is told of the warp that the index names: it is stored before each access that may
 * fault and belongs to another warp than the one before. */
static void tell_warp(struct jam *j, unsigned warp, int *told)
{
    if (j->index_store == NULL || *told == (int)warp)
        return;
    LLVMTypeRef i32 = LLVMInt32TypeInContext(j->ctx);
    LLVMValueRef index = jam_instr_of(j, j->turn)->of[warp];
    LLVMValueRef store = LLVMInstructionClone(j->index_store);
    LLVMSetOperand(store, 0, LLVMBuildIntCast2(j->b, index, i32, false, ""));
    LLVMInsertIntoBuilder(j->b, store);
    *told = (int)warp;
}

static void make_instruction(struct jam *j, struct jam_instr *i, int *told)
{
    if (jam_is_index_store(j, i->v))
        return;
    for (unsigned w = 0; w < (i->varies ? j->at_a_time : 1); w++) {
        if (i->faults)
            tell_warp(j, w, told);
        LLVMValueRef made = LLVMInstructionClone(i->v);
        for (unsigned o = 0; o < (unsigned)LLVMGetNumOperands(made); o++)
            LLVMSetOperand(made, o, mapped(j, LLVMGetOperand(i->v, o), w));
        LLVMInsertIntoBuilder(j->b, made);
        i->of[w] = made;
    }
    for (unsigned w = 1; w < j->at_a_time && !i->varies; w++)
        i->of[w] = i->of[0];
}

static void make_block(struct jam *j, struct jam_block *at)
{
    int told = -1;
    LLVMPositionBuilderAtEnd(j->b, at->made);
    if (at->bb == j->header)
        make_header(j);
    for (int32_t k = at->first; k < at->first + at->count - 1; k++) {
        struct jam_instr *i = &j->instrs[k];
        if (LLVMIsAPHINode(i->v) == NULL) {
            make_instruction(j, i, &told);
            continue;
        }
        for (unsigned w = 0; w < j->at_a_time && at->bb != j->header; w++)
            i->of[w] = w > 0 && !i->varies ? i->of[0] : LLVMBuildPhi(j->b, LLVMTypeOf(i->v), "");
    }
}

/* The incoming values of phis that are not the header's. */
static void fill_phis(struct jam *j, const struct jam_block *at)
{
    for (int32_t k = at->first; k < at->first + at->count; k++) {
        struct jam_instr *i = &j->instrs[k];
        if (LLVMIsAPHINode(i->v) == NULL)
            return;
        for (unsigned n = 0; n < LLVMCountIncoming(i->v); n++) {
            int32_t from = jam_number(j, LLVMGetIncomingBlock(i->v, n));
            if (from < 0 || !j->blocks[from].hot)
                continue;
            for (unsigned w = 0; w < (i->varies ? j->at_a_time : 1); w++) {
                LLVMValueRef v = mapped(j, LLVMGetIncomingValue(i->v, n), w);
                LLVMAddIncoming(i->of[w], &v, &j->blocks[from].made, 1);
            }
        }
    }
}

/* The branch at the end of a block other than the latch. */
static void make_branch(struct jam *j, const struct jam_block *at, LLVMBasicBlockRef rest)
{
    LLVMValueRef last = LLVMGetBasicBlockTerminator(at->bb);
    LLVMPositionBuilderAtEnd(j->b, at->made);
    if (LLVMGetNumSuccessors(last) == 1) {
        LLVMBuildBr(j->b, made_block(j, LLVMGetSuccessor(last, 0)));
        return;
    }
    LLVMValueRef test = LLVMGetCondition(last), all = mapped(j, test, 0);
    const struct jam_instr *i = jam_instr_of(j, test);
    for (unsigned w = 1; w < j->at_a_time && i != NULL && i->varies; w++)
        all = at->guard == 1 ? LLVMBuildOr(j->b, all, i->of[w], "")
                             : LLVMBuildAnd(j->b, all, i->of[w], "");
    LLVMBasicBlockRef to[2];
    for (unsigned s = 0; s < 2; s++)
        to[s] = at->guard >= 0 && (unsigned)at->guard != s
                    ? rest
                    : made_block(j, LLVMGetSuccessor(last, s));
    LLVMValueRef made = LLVMBuildCondBr(j->b, all, to[0], to[1]);
    LLVMValueRef prof = LLVMGetMetadata(last, j->prof);
    if (prof != NULL)
        LLVMSetMetadata(made, j->prof, prof);
}

/* The values of the exit's phis that come from the latch. */
static void fill_exit(struct jam *j, LLVMBasicBlockRef latch)
{
    for (LLVMValueRef i = LLVMGetFirstInstruction(j->exit); LLVMIsAPHINode(i) != NULL;
         i = LLVMGetNextInstruction(i)) {
        unsigned n = 0;
        while (LLVMGetIncomingBlock(i, n) != j->latch)
            n++;
        LLVMValueRef v = mapped(j, LLVMGetIncomingValue(i, n), j->at_a_time - 1);
        LLVMAddIncoming(i, &v, &latch, 1);
    }
}

static void make_latch(struct jam *j)
{
    LLVMBasicBlockRef latch = made_block(j, j->latch), header = made_block(j, j->header);
    LLVMPositionBuilderAtEnd(j->b, latch);
    LLVMValueRef turn = NULL;
    for (int p = 0; p < j->nphis; p++) {
        const struct jam_phi *at = &j->phis[p];
        LLVMTypeRef t = LLVMTypeOf(at->phi);
        LLVMValueRef next =
            at->counts
                ? LLVMBuildAdd(j->b, at->made, LLVMConstInt(t, at->step * j->at_a_time, false), "")
                : mapped(j, at->next, j->at_a_time - 1);
        LLVMAddIncoming(at->made, &next, &latch, 1);
        turn = at->phi == j->turn ? next : turn;
    }
    LLVMValueRef end = LLVMConstInt(LLVMTypeOf(turn), j->warps, false);
    LLVMBuildCondBr(j->b, LLVMBuildICmp(j->b, LLVMIntULT, turn, end, ""), header, j->exit);
    fill_exit(j, latch);
}

/* The original loop begins where the jammed one is left. */
static void enter_rest(struct jam *j, LLVMBasicBlockRef rest)
{
    bool entered = LLVMGetFirstUse(LLVMBasicBlockAsValue(rest)) != NULL;
    for (int p = 0; p < j->nphis; p++) {
        struct jam_phi *at = &j->phis[p];
        LLVMPositionBuilderBefore(j->b, at->phi);
        LLVMValueRef phi = LLVMBuildPhi(j->b, LLVMTypeOf(at->phi), "");
        LLVMValueRef from = entered ? at->made : LLVMGetPoison(LLVMTypeOf(phi));
        LLVMValueRef next = at->next == at->phi ? phi : at->next;
        LLVMAddIncoming(phi, &from, &rest, 1);
        LLVMAddIncoming(phi, &next, &j->latch, 1);
        LLVMReplaceAllUsesWith(at->phi, phi);
        LLVMInstructionEraseFromParent(at->phi);
    }
    LLVMPositionBuilderAtEnd(j->b, rest);
    LLVMBuildBr(j->b, j->header);
}

void jam_make(struct jam *j)
{
    for (int32_t n = 0; n < j->npath; n++)
        j->blocks[j->path[n]].made = LLVMInsertBasicBlockInContext(j->ctx, j->header, "jammed");
    LLVMBasicBlockRef rest = LLVMInsertBasicBlockInContext(j->ctx, j->header, "rest");
    for (int32_t n = 0; n < j->npath; n++)
        make_block(j, &j->blocks[j->path[n]]);
    for (int32_t n = 0; n < j->npath; n++) {
        const struct jam_block *at = &j->blocks[j->path[n]];
        if (at->bb != j->header)
            fill_phis(j, at);
        if (at->bb != j->latch)
            make_branch(j, at, rest);
    }
    make_latch(j);
    LLVMValueRef last = LLVMGetBasicBlockTerminator(j->preheader);
    LLVMSetSuccessor(last, 0, made_block(j, j->header));
    enter_rest(j, rest);
}
