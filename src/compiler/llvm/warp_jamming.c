/* warp_jamming: unroll-and-jam of the loops over the warps of a block.
 *
 * Up to a barrier the warps of a block run one after the other, in a loop. A value of a warp is two
 * registers of 512 bits, or four of 256: a sum of products is two or four chains of operations that
 * wait for each other, where a CPU has eight under way. And the rows that all warps read, such as
 * a tile of a matrix, are loaded again by each. So two to eight warps go through such a loop side
 * by side: each instruction of the loop is done for one warp after the other before the next one
 * is, and what is the same for all of them once. That is legal wherever it is for one warp after
 * the other: no order of warps is promised between barriers.
 *
 * The jammed loop has the usual path only. Where a branch leaves it for one of the warps (an index
 * that wrapped around, an access that is going to fault, lanes that diverge), the original loop
 * goes on, with the first of these warps from its start. So nothing may have been written before
 * that changes what is read from there. Inner loops are part of the path if all warps take them
 * alike. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "abi/plugin.h"
#include "compiler/llvm/llvm_passes.h"
#include "compiler/llvm/strip_mining.h"
#include "compiler/llvm/warp_jamming.h"

enum { UNLIKELY = 4 /* a path taken less often than one time in so many is left out */ };

/* ---- the loop ---- */

static size_t slot_of(const struct jam *j, const void *key)
{
    size_t at = (size_t)((uintptr_t)key >> 4) * 0x9e3779b97f4a7c15u >> 20 & (j->slots - 1);
    while (j->keys[at] != NULL && j->keys[at] != key)
        at = (at + 1) & (j->slots - 1);
    return at;
}

int32_t jam_number(const struct jam *j, const void *key)
{
    size_t at = slot_of(j, key);
    return j->keys[at] != NULL ? j->numbers[at] : -1;
}

static void set_number(struct jam *j, void *key, int32_t number)
{
    size_t at = slot_of(j, key);
    j->keys[at] = key;
    j->numbers[at] = number;
}

struct jam_instr *jam_instr_of(const struct jam *j, LLVMValueRef v)
{
    if (LLVMIsAInstruction(v) == NULL)
        return NULL;
    int32_t n = jam_number(j, v);
    return n >= 0 && j->blocks[j->instrs[n].block].hot ? &j->instrs[n] : NULL;
}

/* Calls `see` with each predecessor. */
static void each_predecessor(struct jam *j, LLVMBasicBlockRef bb,
                             void (*see)(struct jam *, LLVMBasicBlockRef))
{
    for (LLVMUseRef u = LLVMGetFirstUse(LLVMBasicBlockAsValue(bb)); u != NULL;
         u = LLVMGetNextUse(u)) {
        LLVMValueRef user = LLVMGetUser(u);
        if (LLVMIsATerminatorInst(user) != NULL)
            see(j, LLVMGetInstructionParent(user));
    }
}

static void add_block(struct jam *j, LLVMBasicBlockRef bb)
{
    if (jam_number(j, bb) >= 0 || j->nblocks > JAM_BLOCKS)
        return;
    set_number(j, bb, j->nblocks);
    j->blocks[j->nblocks++] = (struct jam_block){.bb = bb, .guard = -1, .order = -1};
}

static void see_outside(struct jam *j, LLVMBasicBlockRef bb)
{
    if (jam_number(j, bb) < 0)
        j->preheader = j->preheader == NULL || j->preheader == bb ? bb : j->header;
}

/* Finds the natural loop of the latch, whose branch goes to the header and to the exit. */
static bool find_loop(struct jam *j, LLVMValueRef branch)
{
    if (LLVMIsABranchInst(branch) == NULL || !LLVMIsConditional(branch))
        return false;
    j->latch = LLVMGetInstructionParent(branch);
    for (unsigned s = 0; s < 2; s++) {
        j->header = LLVMGetSuccessor(branch, s);
        j->exit = LLVMGetSuccessor(branch, 1 - s);
        LLVMValueRef first = LLVMGetFirstInstruction(j->header);
        if (LLVMIsAPHINode(first) != NULL && LLVMCountIncoming(first) == 2 &&
            (LLVMGetIncomingBlock(first, 0) == j->latch ||
             LLVMGetIncomingBlock(first, 1) == j->latch))
            break;
        j->header = NULL;
    }
    if (j->header == NULL)
        return false;
    add_block(j, j->header);
    add_block(j, j->latch);
    for (int32_t b = 1; b < j->nblocks && j->nblocks <= JAM_BLOCKS; b++)
        each_predecessor(j, j->blocks[b].bb, add_block);
    if (j->nblocks > JAM_BLOCKS)
        return false;
    each_predecessor(j, j->header, see_outside);
    LLVMValueRef last = j->preheader != NULL && j->preheader != j->header
                            ? LLVMGetBasicBlockTerminator(j->preheader)
                            : NULL;
    return last != NULL && LLVMGetNumSuccessors(last) == 1 && jam_number(j, j->exit) < 0;
}

static bool number_instructions(struct jam *j)
{
    for (int32_t b = 0; b < j->nblocks; b++) {
        struct jam_block *at = &j->blocks[b];
        at->first = j->ninstrs;
        for (LLVMValueRef i = LLVMGetFirstInstruction(at->bb); i != NULL;
             i = LLVMGetNextInstruction(i)) {
            if (j->ninstrs == JAM_INSTRS)
                return false;
            set_number(j, i, j->ninstrs);
            j->instrs[j->ninstrs++] = (struct jam_instr){.v = i, .block = b};
        }
        at->count = j->ninstrs - at->first;
    }
    return true;
}

/* The step of a counter, 0: it is none. */
static uint64_t counter_step(const struct jam_phi *p)
{
    if (LLVMIsAInstruction(p->next) == NULL || LLVMGetInstructionOpcode(p->next) != LLVMAdd ||
        LLVMGetOperand(p->next, 0) != p->phi ||
        LLVMIsAConstantInt(LLVMGetOperand(p->next, 1)) == NULL)
        return 0;
    return LLVMConstIntGetZExtValue(LLVMGetOperand(p->next, 1));
}

/* The number of iterations, if the loop counts from 0 to a constant by this phi; else 0. */
static unsigned counted(const struct jam *j, const struct jam_phi *p)
{
    LLVMValueRef branch = LLVMGetBasicBlockTerminator(j->latch), test = LLVMGetCondition(branch);
    if (p->step != 1 || LLVMIsAConstantInt(p->from) == NULL ||
        LLVMConstIntGetZExtValue(p->from) != 0 || LLVMIsAICmpInst(test) == NULL ||
        LLVMGetOperand(test, 0) != p->next || LLVMIsAConstantInt(LLVMGetOperand(test, 1)) == NULL)
        return 0;
    LLVMIntPredicate is = LLVMGetICmpPredicate(test);
    bool stays = LLVMGetSuccessor(branch, 0) == j->header; /* if it is true */
    if (stays ? is != LLVMIntNE && is != LLVMIntULT : is != LLVMIntEQ)
        return 0;
    return (unsigned)LLVMConstIntGetZExtValue(LLVMGetOperand(test, 1));
}

static bool find_phis(struct jam *j)
{
    for (LLVMValueRef i = LLVMGetFirstInstruction(j->header); LLVMIsAPHINode(i) != NULL;
         i = LLVMGetNextInstruction(i)) {
        if (j->nphis == JAM_PHIS || LLVMCountIncoming(i) != 2)
            return false;
        struct jam_phi *p = &j->phis[j->nphis++];
        unsigned back = LLVMGetIncomingBlock(i, 0) == j->latch ? 0 : 1;
        *p = (struct jam_phi){.phi = i,
                              .from = LLVMGetIncomingValue(i, 1 - back),
                              .next = LLVMGetIncomingValue(i, back)};
        p->step = counter_step(p);
        p->counts = p->step != 0;
        unsigned warps = counted(j, p);
        if (warps != 0) {
            j->turn = i;
            j->warps = warps;
        }
    }
    return j->turn != NULL;
}

/* ---- the usual path ---- */

/* The successor of a branch that is not expected, -1: none is. */
static int cold_successor(const struct jam *j, LLVMValueRef branch)
{
    for (unsigned s = 0; s < 2; s++)
        if (jam_number(j, LLVMGetSuccessor(branch, s)) < 0) /* a fault, as a rule */
            return (int)s;
    LLVMValueRef prof = LLVMGetMetadata(branch, j->prof), of[4];
    if (prof == NULL || LLVMGetMDNodeNumOperands(prof) != 3)
        return -1;
    LLVMGetMDNodeOperands(prof, of);
    if (LLVMIsAConstantInt(of[1]) == NULL || LLVMIsAConstantInt(of[2]) == NULL)
        return -1;
    uint64_t yes = LLVMConstIntGetZExtValue(of[1]), no = LLVMConstIntGetZExtValue(of[2]);
    return yes * UNLIKELY < no ? 0 : no * UNLIKELY < yes ? 1 : -1;
}

bool jam_varies(const struct jam *j, LLVMValueRef v)
{
    const struct jam_instr *i = jam_instr_of(j, v);
    return i != NULL && i->varies;
}

/* Finds the hot blocks from block b on; their postorder is the end of j->path. False: the warps may
 * take different ways. */
static bool walk_path(struct jam *j, int32_t b)
{
    struct jam_block *at = &j->blocks[b];
    LLVMValueRef last = LLVMGetBasicBlockTerminator(at->bb);
    unsigned n = LLVMGetNumSuccessors(last);
    at->hot = true;
    at->guard = -1;
    if (at->bb != j->latch) {
        if (LLVMIsABranchInst(last) == NULL)
            return false;
        if (n == 2) {
            int cold = cold_successor(j, last);
            if (cold < 0 && jam_varies(j, LLVMGetCondition(last)))
                return false;
            at->guard = (int8_t)(cold < 0 ? -1 : 1 - cold);
        }
        for (unsigned s = 0; s < n; s++) {
            int32_t to = jam_number(j, LLVMGetSuccessor(last, s));
            if (at->guard >= 0 && (unsigned)at->guard != s)
                continue;
            if (to <= 0 || (!j->blocks[to].hot && !walk_path(j, to)))
                return false;
        }
    }
    j->path[--j->npath] = b;
    return true;
}

/* Propagates what varies over the hot blocks; true: there is more of it. */
static bool spread(struct jam *j)
{
    bool changed = false;
    for (int32_t n = 0; n < j->ninstrs; n++) {
        struct jam_instr *i = &j->instrs[n];
        if (i->varies || !j->blocks[i->block].hot)
            continue;
        bool phi = LLVMIsAPHINode(i->v) != NULL;
        if (phi && i->block == 0) {
            for (int p = 0; p < j->nphis; p++)
                i->varies |= j->phis[p].phi == i->v && j->phis[p].counts;
        } else {
            unsigned operands = phi ? LLVMCountIncoming(i->v) : (unsigned)LLVMGetNumOperands(i->v);
            for (unsigned o = 0; o < operands && !i->varies; o++)
                i->varies =
                    jam_varies(j, phi ? LLVMGetIncomingValue(i->v, o) : LLVMGetOperand(i->v, o));
        }
        changed |= i->varies;
    }
    return changed;
}

static bool find_path(struct jam *j)
{
    do {
        for (int32_t b = 0; b < j->nblocks; b++)
            j->blocks[b].hot = false;
        j->npath = j->nblocks;
        if (!walk_path(j, 0))
            return false;
    } while (spread(j));
    int32_t from = j->npath;
    j->npath = j->nblocks - from;
    memmove(j->path, j->path + from, sizeof *j->path * (size_t)j->npath);
    for (int32_t n = 0; n < j->npath; n++)
        j->blocks[j->path[n]].order = n;
    return j->blocks[1].hot || j->latch == j->header;
}

/* What the last warp leaves must not be read by the next one. */
static bool carries_nothing(const struct jam *j)
{
    for (int p = 0; p < j->nphis; p++) {
        const struct jam_phi *at = &j->phis[p];
        for (LLVMUseRef u = LLVMGetFirstUse(at->phi); u != NULL && !at->counts;
             u = LLVMGetNextUse(u)) {
            LLVMValueRef user = LLVMGetUser(u);
            if (jam_instr_of(j, user) != NULL && user != at->phi &&
                (user != at->next || LLVMIsAPHINode(user) == NULL))
                return false;
        }
    }
    return true;
}

/* ---- memory ---- */

enum space { FRAME = 1, SHARED = 2, GLOBAL = 4, LOCAL = 8, ANY = 16 };

/* The spaces that an access may reach, a set. */
static unsigned spaces_of(const struct jam *j, LLVMValueRef access)
{
    static const struct {
        const char *name;
        unsigned reached;
    } known[] = {{"frame", FRAME},
                 {"shared", SHARED},
                 {"global", GLOBAL},
                 {"local", LOCAL},
                 {"any", SHARED | GLOBAL | LOCAL | ANY}};
    LLVMValueRef list = LLVMGetMetadata(access, j->scope), scope, of[4];
    if (list != NULL && LLVMGetMDNodeNumOperands(list) == 1) {
        LLVMGetMDNodeOperands(list, &scope);
        unsigned length = 0;
        const char *name = NULL;
        if (scope != NULL && LLVMGetMDNodeNumOperands(scope) == 2) {
            LLVMGetMDNodeOperands(scope, of);
            name = of[0] != NULL ? LLVMGetMDString(of[0], &length) : NULL;
        }
        for (size_t k = 0; name != NULL && k < WEIR_COUNT(known); k++)
            if (strlen(known[k].name) == length && memcmp(known[k].name, name, length) == 0)
                return known[k].reached;
    }
    return FRAME | SHARED | GLOBAL | LOCAL | ANY;
}

bool jam_is_index_store(const struct jam *j, LLVMValueRef v)
{
    if (LLVMIsAStoreInst(v) == NULL || !LLVMGetVolatile(v))
        return false;
    LLVMValueRef p = LLVMGetOperand(v, 1);
    return LLVMIsAGetElementPtrInst(p) != NULL && LLVMGetNumOperands(p) == 2 &&
           LLVMGetOperand(p, 0) == LLVMGetParam(j->fn, 0) &&
           LLVMIsAConstantInt(LLVMGetOperand(p, 1)) != NULL &&
           LLVMConstIntGetZExtValue(LLVMGetOperand(p, 1)) == offsetof(struct jit_block, warp);
}

/* The largest value of an offset that follows from the warp's index and constants, UINT64_MAX: it
 * does not, or is none that counts. */
static uint64_t largest(const struct jam *j, LLVMValueRef v, int depth)
{
    enum { DEPTH = 8, MOST = 1 << 24 };
    uint64_t x, y = 0, most;
    if (LLVMIsAConstantInt(v) != NULL)
        return LLVMConstIntGetZExtValue(v);
    if (v == j->turn)
        return j->warps - 1;
    if (LLVMIsAInstruction(v) == NULL || depth == DEPTH)
        return UINT64_MAX;
    bool two = LLVMIsABinaryOperator(v) != NULL;
    x = largest(j, LLVMGetOperand(v, 0), depth + 1);
    y = two ? largest(j, LLVMGetOperand(v, 1), depth + 1) : 0;
    LLVMOpcode op = LLVMGetInstructionOpcode(v);
    if (op == LLVMAnd)
        return x < y ? x : y;
    if (x >= MOST || y >= MOST)
        return UINT64_MAX;
    switch (op) {
    case LLVMZExt: return x;
    case LLVMAdd:
    case LLVMOr: return x + y;
    case LLVMMul: return x * y;
    case LLVMShl: most = y < 24 ? x << y : UINT64_MAX; break;
    default: most = UINT64_MAX;
    }
    return most;
}

/* Is it within shared memory that each launch has? */
static bool in_shared(const struct jam *j, LLVMValueRef p, LLVMTypeRef type)
{
    LLVMTargetDataRef data = LLVMGetModuleDataLayout(j->m);
    uint64_t end = LLVMABISizeOfType(data, type);
    while (LLVMIsAGetElementPtrInst(p) != NULL) {
        uint64_t most =
            LLVMGetNumOperands(p) == 2 ? largest(j, LLVMGetOperand(p, 1), 0) : UINT64_MAX;
        if (most > j->shared_bytes)
            return false;
        end += most * LLVMABISizeOfType(data, LLVMGetGEPSourceElementType(p));
        p = LLVMGetOperand(p, 0);
    }
    return LLVMIsALoadInst(p) != NULL && end <= j->shared_bytes;
}

/* Is it a call of a function of the CPU that does nothing but compute its result? */
static bool computes(LLVMValueRef call)
{
    LLVMValueRef f = LLVMGetCalledValue(call);
    unsigned memory = LLVMGetEnumAttributeKindForName("memory", 6);
    if (strncmp(strip_callee(call), "llvm.x86.", 9) != 0)
        return false;
    LLVMAttributeRef a = LLVMGetEnumAttributeAtIndex(f, LLVMAttributeFunctionIndex, memory);
    return a != NULL && LLVMGetEnumAttributeValue(a) == 0;
}

/* Is the memory at this address one for all warps, and no program's: a variable of the function, or
 * the block's record? */
static bool is_private(const struct jam *j, LLVMValueRef p)
{
    while (LLVMIsAGetElementPtrInst(p) != NULL)
        p = LLVMGetOperand(p, 0);
    return LLVMIsAAllocaInst(p) != NULL || p == LLVMGetParam(j->fn, 0);
}

/* An instruction of the path: what it reads and writes; false: it cannot be done for several warps
 * at a time. */
static bool look_at(const struct jam *j, struct jam_instr *i, unsigned *reads, unsigned *writes)
{
    LLVMValueRef v = i->v;
    const char *name;
    *reads = *writes = 0;
    switch (LLVMGetInstructionOpcode(v)) {
    case LLVMLoad:
        if (LLVMGetVolatile(v) || LLVMGetOrdering(v) != LLVMAtomicOrderingNotAtomic)
            return false;
        *reads = spaces_of(j, v);
        i->faults = *reads != FRAME && !inside_marked(v) &&
                    !(*reads == SHARED && in_shared(j, LLVMGetOperand(v, 0), LLVMTypeOf(v)));
        return true;
    case LLVMStore:
        if (jam_is_index_store(j, v))
            return true;
        if (LLVMGetVolatile(v) || LLVMGetOrdering(v) != LLVMAtomicOrderingNotAtomic ||
            is_private(j, LLVMGetOperand(v, 1)))
            return false;
        *writes = spaces_of(j, v);
        i->writes = true;
        i->faults = *writes != FRAME && !inside_marked(v) &&
                    !(*writes == SHARED &&
                      in_shared(j, LLVMGetOperand(v, 1), LLVMTypeOf(LLVMGetOperand(v, 0))));
        return true;
    case LLVMCall:
        name = strip_callee(v);
        if (!strncmp(name, "llvm.masked.load.", 17) || !strncmp(name, "llvm.masked.gather.", 19))
            *reads = spaces_of(j, v);
        else if (!strncmp(name, "llvm.masked.store.", 18) ||
                 !strncmp(name, "llvm.masked.scatter.", 20))
            *writes = spaces_of(j, v);
        else
            return strip_is_pure(v) || computes(v) || !strncmp(name, "llvm.prefetch.", 14);
        i->writes = *writes != 0;
        i->faults = !inside_marked(v);
        return true;
    case LLVMFence:
    case LLVMAtomicRMW:
    case LLVMAtomicCmpXchg:
    case LLVMAlloca:
    case LLVMInvoke:
    case LLVMVAArg: return false;
    default: return true;
    }
}

/* Is the value of a store of the warp's index that index? */
static bool stores_index(const struct jam *j, LLVMValueRef store)
{
    LLVMValueRef v = LLVMGetOperand(store, 0);
    while (LLVMIsATruncInst(v) != NULL || LLVMIsAZExtInst(v) != NULL)
        v = LLVMGetOperand(v, 0);
    return v == j->turn;
}

/* May the path be left where it has guards, and begun anew? Not where something has been written
 * that it reads. */
static bool check_memory(struct jam *j)
{
    unsigned read = 0, wrote[JAM_BLOCKS + 1] = {0};
    for (int32_t n = 0; n < j->npath; n++) {
        const struct jam_block *at = &j->blocks[j->path[n]];
        for (int32_t k = at->first; k < at->first + at->count; k++) {
            unsigned reads, writes;
            if (!look_at(j, &j->instrs[k], &reads, &writes))
                return false;
            if (jam_is_index_store(j, j->instrs[k].v)) {
                if (!stores_index(j, j->instrs[k].v))
                    return false;
                j->index_store = j->instrs[k].v;
            }
            read |= reads;
            wrote[j->path[n]] |= writes;
        }
    }
    for (bool changed = true; changed;) { /* what may have been written at the end of each block */
        changed = false;
        for (int32_t n = 0; n < j->npath; n++) {
            LLVMValueRef last = LLVMGetBasicBlockTerminator(j->blocks[j->path[n]].bb);
            for (unsigned s = 0; s < LLVMGetNumSuccessors(last); s++) {
                int32_t to = jam_number(j, LLVMGetSuccessor(last, s));
                if (to <= 0 || (wrote[to] | wrote[j->path[n]]) == wrote[to])
                    continue;
                wrote[to] |= wrote[j->path[n]];
                changed = true;
            }
        }
    }
    for (int32_t n = 0; n < j->npath; n++)
        if (j->blocks[j->path[n]].guard >= 0 && (wrote[j->path[n]] & read) != 0)
            return false;
    return true;
}

/* ---- the pass ---- */

static const char MARK[] = "weir.warps";

void warp_jam_mark(LLVMValueRef branch)
{
    LLVMContextRef ctx = LLVMGetModuleContext(
        LLVMGetGlobalParent(LLVMGetBasicBlockParent(LLVMGetInstructionParent(branch))));
    LLVMValueRef none = LLVMMetadataAsValue(ctx, LLVMMDNodeInContext2(ctx, NULL, 0));
    LLVMSetMetadata(branch, LLVMGetMDKindIDInContext(ctx, MARK, sizeof MARK - 1), none);
}

/* Can the loop of this latch be jammed, and should it be? If so, it is, unless that is only asked.
 */
static bool jam_loop(struct jam *j, LLVMValueRef branch, bool always, bool ask)
{
    enum { SLOTS = 16384 };
    j->slots = SLOTS;
    j->keys = xcalloc(SLOTS, sizeof *j->keys);
    j->numbers = xcalloc(SLOTS, sizeof *j->numbers);
    j->blocks = xcalloc(JAM_BLOCKS + 1, sizeof *j->blocks);
    j->path = xcalloc(JAM_BLOCKS + 1, sizeof *j->path);
    j->instrs = xcalloc(JAM_INSTRS, sizeof *j->instrs);
    bool ok = find_loop(j, branch) && number_instructions(j) && find_phis(j) && find_path(j) &&
              carries_nothing(j) && check_memory(j);
    j->at_a_time = ok ? jam_choose(j, always) : 0;
    if (j->at_a_time != 0 && !ask) {
        jam_place_guards(j);
        jam_make(j);
    }
    free(j->keys);
    free(j->numbers);
    free(j->blocks);
    free(j->path);
    free(j->instrs);
    return j->at_a_time != 0;
}

bool warp_jam(LLVMModuleRef m, unsigned simd_bits, uint64_t shared_bytes, bool always)
{
    LLVMContextRef ctx = LLVMGetModuleContext(m);
    unsigned mark = LLVMGetMDKindIDInContext(ctx, MARK, sizeof MARK - 1);
    bool changed = false, moved = false;
    struct jam start = {.m = m,
                        .ctx = ctx,
                        .b = LLVMCreateBuilderInContext(ctx),
                        .fn = LLVMGetNamedFunction(m, JIT_ENTRY_SYMBOL),
                        .simd_bits = simd_bits,
                        .shared_bytes = shared_bytes,
                        .prof = LLVMGetMDKindIDInContext(ctx, "prof", 4),
                        .scope = LLVMGetMDKindIDInContext(ctx, "alias.scope", 11)};
    for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(start.fn); bb != NULL;
         bb = LLVMGetNextBasicBlock(bb)) {
        LLVMValueRef last = LLVMGetBasicBlockTerminator(bb);
        if (LLVMGetMetadata(last, mark) == NULL)
            continue;
        LLVMSetMetadata(last, mark, NULL);
        struct jam j = start;
        if (!jam_loop(&j, last, always, true))
            continue;
        if (!moved)
            move_alignment_tests(m, start.fn);
        moved = true;
        j = start;
        changed |= jam_loop(&j, last, always, false);
    }
    LLVMDisposeBuilder(start.b);
    return changed;
}
