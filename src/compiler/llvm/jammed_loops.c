/* jammed_loops: makes the loops of warp_jamming.c, which do for several warps at a time what the
 * original loop does on its usual path.
 *
 *   preheader -> jammed loop -> exit
 *                   | a guard
 *                   v
 *                 rest -> original loop -> exit
 *
 * A stretch of blocks of the path becomes one block, after the tests of its guards (jam_guards.c).
 * An instruction that varies becomes one for each warp, next to each other, or where accesses would
 * have to tell each time which warp it is, one warp's after the other's; the others stay single.
 * The number of warps is a multiple of those at a time. */
#include <stdlib.h>
#include <string.h>

#include "compiler/llvm/strip_mining.h"
#include "compiler/llvm/warp_jamming.h"

static LLVMValueRef mapped(const struct jam *j, LLVMValueRef v, unsigned warp)
{
    const struct jam_instr *i = jam_instr_of(j, v);
    return i != NULL ? i->of[warp] : v;
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

static void make_instruction(struct jam *j, struct jam_instr *i, unsigned warp, int *told)
{
    if (LLVMIsAPHINode(i->v) != NULL) { /* of a block that one other goes to */
        for (unsigned n = 0; n < LLVMCountIncoming(i->v); n++) {
            int32_t from = jam_number(j, LLVMGetIncomingBlock(i->v, n));
            if (from >= 0 && j->blocks[from].hot)
                i->of[warp] = mapped(j, LLVMGetIncomingValue(i->v, n), warp);
        }
        return;
    }
    if (i->faults)
        tell_warp(j, warp, told);
    LLVMValueRef made = LLVMInstructionClone(i->v);
    for (unsigned o = 0; o < (unsigned)LLVMGetNumOperands(made); o++)
        LLVMSetOperand(made, o, mapped(j, LLVMGetOperand(i->v, o), warp));
    LLVMInsertIntoBuilder(j->b, made);
    i->of[warp] = made;
}

/* The instruction for one of the warps; once, if it does not vary. */
static void make_for(struct jam *j, struct jam_instr *i, unsigned warp, int *told)
{
    if (i->varies || warp == 0)
        make_instruction(j, i, warp, told);
    for (unsigned w = 1; w < j->at_a_time && !i->varies; w++)
        i->of[w] = i->of[0];
}

static void make_for_all(struct jam *j, struct jam_instr *i, int *told)
{
    for (unsigned w = 0; w < (i->varies ? j->at_a_time : 1); w++)
        make_for(j, i, w, told);
}

/* ---- guards ---- */

/* What several guards test: whether all of one kind hold, whether one of the other kind does. */
struct tests {
    LLVMValueRef stay, leave; /* NULL: there are none of that kind */
};

static void add_test(struct jam *j, struct tests *t, const struct jam_block *at)
{
    LLVMValueRef test = LLVMGetCondition(LLVMGetBasicBlockTerminator(at->bb));
    for (unsigned w = 0; w < (jam_varies(j, test) ? j->at_a_time : 1); w++) {
        LLVMValueRef v = mapped(j, test, w);
        if (at->guard == 1)
            t->leave = t->leave == NULL ? v : LLVMBuildOr(j->b, t->leave, v, "");
        else
            t->stay = t->stay == NULL ? v : LLVMBuildAnd(j->b, t->stay, v, "");
    }
}

/* Goes on at `to` if they hold, and in the original loop if not. */
static void make_test(struct jam *j, const struct tests *t, LLVMBasicBlockRef to,
                      LLVMBasicBlockRef rest)
{
    enum { USUAL = 1 << 20 };
    LLVMValueRef stay = t->stay, branch;
    if (t->stay == NULL && t->leave == NULL) {
        LLVMBuildBr(j->b, to);
        return;
    }
    if (stay != NULL && t->leave != NULL)
        stay = LLVMBuildAnd(j->b, stay, LLVMBuildNot(j->b, t->leave, ""), "");
    branch = stay != NULL ? LLVMBuildCondBr(j->b, stay, to, rest)
                          : LLVMBuildCondBr(j->b, t->leave, rest, to);
    LLVMTypeRef i32 = LLVMInt32TypeInContext(j->ctx);
    LLVMMetadataRef of[3] = {LLVMMDStringInContext2(j->ctx, "branch_weights", 14)};
    for (unsigned s = 0; s < 2; s++) {
        bool usual = (s == 0) == (stay != NULL);
        of[s + 1] = LLVMValueAsMetadata(LLVMConstInt(i32, usual ? USUAL : 1, false));
    }
    LLVMSetMetadata(branch, j->prof,
                    LLVMMetadataAsValue(j->ctx, LLVMMDNodeInContext2(j->ctx, of, 3)));
}

/* ---- stretches of blocks ---- */

/* Instructions of a stretch up to a guard that has to be tested where it stands. */
struct segment {
    int32_t *at;    /* their numbers */
    uint8_t *first; /* of an instruction of the loop: is it made before the tests? */
    int32_t count, *guards, nguards;
};

/* Can it be done before the guards that stand before it? */
static bool may_come_first(const struct jam *j, int32_t k)
{
    LLVMValueRef v = j->instrs[k].v;
    switch (LLVMGetInstructionOpcode(v)) {
    case LLVMLoad:
    case LLVMStore:
    case LLVMUDiv:
    case LLVMSDiv:
    case LLVMURem:
    case LLVMSRem: return false;
    case LLVMCall: return strip_is_pure(v);
    default: return true;
    }
}

/* Marks what a condition is made of within the segment; false: not all of it can come first. */
static bool mark_first(const struct jam *j, const struct segment *s, LLVMValueRef v, uint8_t *mark)
{
    const struct jam_instr *i = jam_instr_of(j, v);
    if (i == NULL || i->of[0] != NULL)
        return true;
    int32_t k = (int32_t)(i - j->instrs);
    if (mark[k] != 0 || s->first[k] != 0)
        return true;
    if (!may_come_first(j, k))
        return false;
    mark[k] = 1;
    bool phi = LLVMIsAPHINode(v) != NULL, ok = true;
    unsigned n = phi ? LLVMCountIncoming(v) : (unsigned)LLVMGetNumOperands(v);
    for (unsigned o = 0; o < n && ok; o++)
        ok = mark_first(j, s, phi ? LLVMGetIncomingValue(v, o) : LLVMGetOperand(v, o), mark);
    return ok;
}

/* Can the guard of this block be tested where the segment begins? */
static bool test_first(const struct jam *j, struct segment *s, int32_t b)
{
    uint8_t *mark = xcalloc((size_t)j->ninstrs, 1);
    LLVMValueRef last = LLVMGetBasicBlockTerminator(j->blocks[b].bb);
    bool ok = mark_first(j, s, LLVMGetCondition(last), mark);
    for (int32_t n = 0; n < s->count && ok; n++)
        s->first[s->at[n]] |= mark[s->at[n]];
    free(mark);
    if (ok)
        s->guards[s->nguards++] = b;
    return ok;
}

/* Are the accesses of each warp to stand together? Then its index is stored once for all of them,
 * after what all share is loaded. */
static bool by_warps(const struct jam *j, const struct segment *s)
{
    enum { MOST_EACH = 64, MOST_SHARED = 8 };
    int told = 0, each = 0, shared = 0;
    for (int32_t n = 0; n < s->count; n++) {
        const struct jam_instr *i = &j->instrs[s->at[n]];
        if (i->writes)
            return false;
        told += i->faults && i->varies;
        each += i->varies;
        shared += !i->varies && strip_is_vector(LLVMTypeOf(i->v));
    }
    return j->index_store != NULL && told > 0 && each <= MOST_EACH && shared <= MOST_SHARED;
}

/* Is a value of the segment used by what comes after it alone? */
static bool is_left(const struct jam *j, const struct segment *s, LLVMValueRef v)
{
    for (LLVMUseRef u = LLVMGetFirstUse(v); u != NULL; u = LLVMGetNextUse(u)) {
        const struct jam_instr *user = jam_instr_of(j, LLVMGetUser(u));
        for (int32_t n = 0; n < s->count && user != NULL; n++)
            if (&j->instrs[s->at[n]] == user && LLVMIsAPHINode(user->v) == NULL)
                return false;
    }
    return true;
}

/* Registers that a warp leaves in a segment. */
struct left {
    LLVMValueRef of[8];
    LLVMTypeRef types[8];
    unsigned count;
};

/* Adds the registers of a vector; false: they are too many, or it is none of whole registers. */
static bool add_left(const struct jam *j, struct left *l, LLVMValueRef v)
{
    enum { MOST_LANES = 64 };
    LLVMTypeRef t = LLVMTypeOf(v), i32 = LLVMInt32TypeInContext(j->ctx);
    int64_t bytes = strip_element_bytes(LLVMGetElementType(t));
    unsigned lanes = LLVMGetVectorSize(t),
             each = bytes > 0 ? j->simd_bits / 8 / (unsigned)bytes : 0;
    if (each == 0 || each > MOST_LANES || lanes % each != 0 ||
        l->count + lanes / each > WEIR_COUNT(l->of))
        return false;
    for (unsigned first = 0; first < lanes; first += each) {
        LLVMValueRef picked[MOST_LANES], part = v;
        for (unsigned n = 0; n < each; n++)
            picked[n] = LLVMConstInt(i32, first + n, false);
        if (lanes > each)
            part = LLVMBuildShuffleVector(j->b, v, LLVMGetPoison(t), LLVMConstVector(picked, each),
                                          "");
        l->of[l->count] = part;
        l->types[l->count++] = LLVMTypeOf(part);
    }
    return true;
}

/* Would what all warps load fill the registers? */
static bool loads_many(const struct jam *j, const struct segment *s)
{
    unsigned loads = 0, registers = j->simd_bits == 512 ? 32 : 16;
    for (int32_t n = 0; n < s->count; n++)
        loads += j->instrs[s->at[n]].varies && LLVMIsALoadInst(j->instrs[s->at[n]].v) != NULL;
    return loads * j->at_a_time >= registers;
}

/* Has the vectors that a warp leaves computed before the accesses of the next one, by assembly of
 * no instructions that takes them. The stores of the warps' indices keep the loads of one warp
 * after those of another, and not the arithmetic: LLVM's scheduler puts that of all warps after
 * the last load, with all that was loaded spilled. */
static void end_warp(const struct jam *j, const struct segment *s, unsigned warp)
{
    struct left l = {.count = 0};
    for (int32_t n = 0; n < s->count; n++) {
        const struct jam_instr *i = &j->instrs[s->at[n]];
        if (i->varies && s->first[s->at[n]] == 0 && strip_is_vector(LLVMTypeOf(i->v)) &&
            LLVMIsAPHINode(i->v) == NULL && is_left(j, s, i->v) && !add_left(j, &l, i->of[warp]))
            return;
    }
    if (l.count == 0)
        return;
#ifdef __x86_64__
    char registers[] = "v,v,v,v,v,v,v,v";
#else
    char registers[] = "w,w,w,w,w,w,w,w";
#endif
    size_t length = (size_t)l.count * 2 - 1;
    LLVMTypeRef f = LLVMFunctionType(LLVMVoidTypeInContext(j->ctx), l.types, l.count, false);
    char nothing[] = "";
    LLVMValueRef code = LLVMGetInlineAsm(f, nothing, 0, registers, length, true, false,
                                         LLVMInlineAsmDialectATT, false);
    LLVMBuildCall2(j->b, f, code, l.of, l.count, "");
}

/* Makes what the segment does, after the tests that come first. */
static void make_segment(struct jam *j, struct segment *s, LLVMBasicBlockRef rest)
{
    int told = -1;
    for (int32_t n = 0; n < s->count; n++)
        if (s->first[s->at[n]] != 0)
            make_for_all(j, &j->instrs[s->at[n]], &told);
    if (s->nguards > 0) {
        struct tests t = {0};
        for (int32_t g = 0; g < s->nguards; g++)
            add_test(j, &t, &j->blocks[s->guards[g]]);
        LLVMBasicBlockRef on = LLVMInsertBasicBlockInContext(j->ctx, j->header, "jammed");
        make_test(j, &t, on, rest);
        LLVMPositionBuilderAtEnd(j->b, on);
    }
    bool grouped = by_warps(j, s), many = grouped && loads_many(j, s);
    for (unsigned w = 0; w < (grouped ? j->at_a_time + 1 : 1); w++) {
        for (int32_t n = 0; n < s->count; n++) {
            struct jam_instr *i = &j->instrs[s->at[n]];
            if (s->first[s->at[n]] != 0 || (grouped && i->varies != (w > 0)))
                continue;
            if (grouped)
                make_for(j, i, w > 0 ? w - 1 : 0, &told);
            else
                make_for_all(j, i, &told);
        }
        if (many && w > 0)
            end_warp(j, s, w - 1);
    }
    s->count = s->nguards = 0;
}

/* The branch at the end of a stretch, other than the latch's. `t`: what is yet to be tested. */
static void make_branch(struct jam *j, int32_t b, const struct tests *t, LLVMBasicBlockRef rest)
{
    int32_t to[2];
    LLVMValueRef last = LLVMGetBasicBlockTerminator(j->blocks[b].bb);
    if (jam_successors(j, b, to) == 1) {
        make_test(j, t, j->blocks[to[0]].made, rest);
        return;
    }
    LLVMValueRef made = LLVMBuildCondBr(j->b, mapped(j, LLVMGetCondition(last), 0),
                                        j->blocks[to[0]].made, j->blocks[to[1]].made);
    LLVMValueRef prof = LLVMGetMetadata(last, j->prof);
    if (prof != NULL)
        LLVMSetMetadata(made, j->prof, prof);
}

static void add_instructions(struct jam *j, struct segment *s, int32_t b, bool first)
{
    const struct jam_block *at = &j->blocks[b];
    for (int32_t k = at->first; k < at->first + at->count - 1; k++) {
        struct jam_instr *i = &j->instrs[k];
        if (LLVMIsAPHINode(i->v) == NULL || !first) {
            if (!jam_is_index_store(j, i->v))
                s->at[s->count++] = k;
            continue;
        }
        for (unsigned w = 0; w < j->at_a_time && at->bb != j->header; w++)
            i->of[w] = w > 0 && !i->varies ? i->of[0] : LLVMBuildPhi(j->b, LLVMTypeOf(i->v), "");
    }
}

/* Makes a stretch: block b and those that follow it. */
static void make_stretch(struct jam *j, int32_t b, struct segment *s, LLVMBasicBlockRef rest)
{
    LLVMPositionBuilderAtEnd(j->b, j->blocks[b].made);
    if (j->blocks[b].bb == j->header)
        make_header(j);
    for (bool first = true; b >= 0; first = false) {
        const struct jam_block *at = &j->blocks[b];
        struct tests t = {0};
        add_instructions(j, s, b, first);
        bool here = at->guard >= 0 && at->tested == b && !test_first(j, s, b);
        if (here || at->next < 0)
            make_segment(j, s, rest);
        if (here)
            add_test(j, &t, at);
        if (here && at->next >= 0) {
            LLVMBasicBlockRef on = LLVMInsertBasicBlockInContext(j->ctx, j->header, "jammed");
            make_test(j, &t, on, rest);
            LLVMPositionBuilderAtEnd(j->b, on);
        }
        if (at->next < 0) {
            for (int32_t n = 0; n < j->npath; n++)
                if (j->path[n] != b && j->blocks[j->path[n]].tested == b)
                    add_test(j, &t, &j->blocks[j->path[n]]);
            j->blocks[b].end = LLVMGetInsertBlock(j->b);
            if (at->bb != j->latch)
                make_branch(j, b, &t, rest);
        }
        b = at->next;
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
                LLVMAddIncoming(i->of[w], &v, &j->blocks[from].end, 1);
            }
        }
    }
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
    LLVMBasicBlockRef latch = j->blocks[jam_number(j, j->latch)].end, header = j->blocks[0].made;
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
    struct segment s = {.at = xcalloc((size_t)j->ninstrs, sizeof *s.at),
                        .first = xcalloc((size_t)j->ninstrs, 1),
                        .guards = xcalloc((size_t)j->npath, sizeof *s.guards)};
    for (int32_t n = 0; n < j->npath; n++)
        if (!j->blocks[j->path[n]].follows)
            j->blocks[j->path[n]].made = LLVMInsertBasicBlockInContext(j->ctx, j->header, "jammed");
    LLVMBasicBlockRef rest = LLVMInsertBasicBlockInContext(j->ctx, j->header, "rest");
    for (int32_t n = 0; n < j->npath; n++)
        if (!j->blocks[j->path[n]].follows)
            make_stretch(j, j->path[n], &s, rest);
    for (int32_t n = 0; n < j->npath; n++) {
        const struct jam_block *at = &j->blocks[j->path[n]];
        if (at->bb != j->header && !at->follows)
            fill_phis(j, at);
    }
    make_latch(j);
    LLVMValueRef last = LLVMGetBasicBlockTerminator(j->preheader);
    LLVMSetSuccessor(last, 0, j->blocks[0].made);
    enter_rest(j, rest);
    free(s.at);
    free(s.first);
    free(s.guards);
}
