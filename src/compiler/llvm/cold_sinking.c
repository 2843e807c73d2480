/* cold_sinking: computes what only unlikely paths need on these paths.
 *
 * Code for warps that have not diverged, and for accesses of neighbours, has exits for all others
 * (branch_likely). Masks and vectors of addresses that only such exits need are computed before it
 * is known whether these are taken, and LLVM leaves them there: it sinks an instruction into one
 * block, but not into two. Here it is cloned into each entrance from expected blocks (hot) to
 * others (cold) through which its uses are reached. That saves instructions and, which is worth
 * more on CPUs with few registers, registers.
 *
 * The clones store into a variable and the uses load it; LLVM promotes these variables. Critical
 * edges must be split. */
#include <stdlib.h>
#include <string.h>

#include "abi/plugin.h"
#include "compiler/codegen/codegen.h"
#include "compiler/llvm/llvm_passes.h"

enum {
    MAX_BLOCKS = 600,   /* larger functions are left alone */
    MAX_ENTRANCES = 24, /* at which one value is computed */
    MAX_SINGLE = 8,     /* lanes computed as scalars */
    MAX_COPIES = 4000,  /* of a function */
    UNLIKELY = 4        /* a path taken less often than one time in so many is cold */
};

struct graph {
    LLVMBuilderRef b;
    LLVMValueRef fn;
    unsigned prof; /* kind of metadata */
    int32_t n;
    struct node {
        LLVMBasicBlockRef bb;
        int32_t *succ, nsucc;
        int32_t entered_by;   /* of an entrance: the hot block before it; -1: it is none */
        int32_t idom, number; /* in reverse postorder; -1: not reached */
        bool hot;
        int8_t loops;   /* of an entrance: is it in a cycle that avoids the current block? -1: not
                           known yet */
        uint64_t *cold; /* of an entrance: the cold blocks reached from it through cold ones */
    } *nodes;
    struct {
        LLVMBasicBlockRef bb;
        int32_t index;
    } *index;       /* by address */
    int32_t *order; /* reverse postorder */
    int32_t norder;
    size_t clones;
};

static int by_address(const void *a, const void *b)
{
    uintptr_t x = *(const uintptr_t *)a, y = *(const uintptr_t *)b;
    return (x > y) - (x < y);
}

static int32_t node_index(const struct graph *g, LLVMBasicBlockRef bb)
{
    int32_t lo = 0, hi = g->n - 1;
    while (lo < hi) {
        int32_t mid = (lo + hi) / 2;
        if ((uintptr_t)g->index[mid].bb < (uintptr_t)bb)
            lo = mid + 1;
        else
            hi = mid;
    }
    return g->index[lo].index;
}

/* Is the edge from a block to its successor s unlikely to be taken? */
static bool unlikely(const struct graph *g, LLVMValueRef term, unsigned s)
{
    if (LLVMGetInstructionOpcode(term) != LLVMBr || LLVMGetNumSuccessors(term) != 2)
        return false;
    LLVMValueRef node = LLVMGetMetadata(term, g->prof), part[3];
    if (node == NULL || LLVMGetMDNodeNumOperands(node) != 3)
        return false;
    LLVMGetMDNodeOperands(node, part);
    if (!LLVMIsAConstantInt(part[1]) || !LLVMIsAConstantInt(part[2]))
        return false;
    uint64_t w[2] = {LLVMConstIntGetZExtValue(part[1]), LLVMConstIntGetZExtValue(part[2])};
    return w[s] * UNLIKELY < w[1 - s];
}

/* ---- the graph ---- */

static void visit_node(struct graph *g, int32_t at, uint8_t *seen)
{
    seen[at] = 1;
    for (int32_t s = 0; s < g->nodes[at].nsucc; s++)
        if (!seen[g->nodes[at].succ[s]])
            visit_node(g, g->nodes[at].succ[s], seen);
    g->order[--g->norder] = at;
}

static void mark_hot(struct graph *g, int32_t at)
{
    struct node *n = &g->nodes[at];
    LLVMValueRef term = LLVMGetBasicBlockTerminator(n->bb);
    if (n->hot || LLVMGetInstructionOpcode(term) == LLVMUnreachable)
        return;
    n->hot = true;
    for (int32_t s = 0; s < n->nsucc; s++)
        if (!unlikely(g, term, (unsigned)s))
            mark_hot(g, n->succ[s]);
}

static void reach_cold(const struct graph *g, int32_t at, uint64_t *set)
{
    if (g->nodes[at].hot || bit_get(set, at))
        return;
    bit_set(set, at);
    for (int32_t s = 0; s < g->nodes[at].nsucc; s++)
        reach_cold(g, g->nodes[at].succ[s], set);
}

static int32_t common_dominator(const struct graph *g, int32_t a, int32_t b)
{
    while (a != b)
        if (g->nodes[a].number > g->nodes[b].number)
            a = g->nodes[a].idom;
        else
            b = g->nodes[b].idom;
    return a;
}

/* Immediate dominators (Cooper, Harvey, Kennedy). */
static void dominate(struct graph *g)
{
    g->nodes[0].idom = 0;
    for (bool changed = true; changed;) {
        changed = false;
        for (int32_t k = g->norder; k < g->n; k++) {
            int32_t from = g->order[k];
            if (g->nodes[from].idom < 0)
                continue;
            for (int32_t s = 0; s < g->nodes[from].nsucc; s++) {
                struct node *to = &g->nodes[g->nodes[from].succ[s]];
                if (to == &g->nodes[0])
                    continue;
                int32_t dom = to->idom < 0 ? from : common_dominator(g, to->idom, from);
                changed |= dom != to->idom;
                to->idom = dom;
            }
        }
    }
}

static bool dominates(const struct graph *g, int32_t a, int32_t b)
{
    while (g->nodes[b].number > g->nodes[a].number)
        b = g->nodes[b].idom;
    return a == b;
}

/* False: there is nothing cold. */
static bool graph_open(struct graph *g)
{
    g->n = (int32_t)LLVMCountBasicBlocks(g->fn);
    g->nodes = xcalloc((size_t)g->n, sizeof *g->nodes);
    g->index = xcalloc((size_t)g->n, sizeof *g->index);
    g->order = xcalloc((size_t)g->n, sizeof *g->order);
    uint8_t *seen = xcalloc((size_t)g->n, 1);
    int32_t i = 0;
    bool any = false;
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(g->fn); b;
         b = LLVMGetNextBasicBlock(b), i++) {
        g->nodes[i] = (struct node){.bb = b, .idom = -1, .number = -1, .entered_by = -1};
        g->index[i].bb = b;
        g->index[i].index = i;
    }
    qsort(g->index, (size_t)g->n, sizeof *g->index, by_address);
    for (i = 0; i < g->n; i++) {
        LLVMValueRef term = LLVMGetBasicBlockTerminator(g->nodes[i].bb);
        g->nodes[i].nsucc = (int32_t)LLVMGetNumSuccessors(term);
        g->nodes[i].succ = xcalloc((size_t)g->nodes[i].nsucc + 1, sizeof(int32_t));
        for (int32_t s = 0; s < g->nodes[i].nsucc; s++)
            g->nodes[i].succ[s] = node_index(g, LLVMGetSuccessor(term, (unsigned)s));
    }
    g->norder = g->n;
    visit_node(g, 0, seen);
    free(seen);
    for (i = g->norder; i < g->n; i++)
        g->nodes[g->order[i]].number = i;
    dominate(g);
    mark_hot(g, 0);
    for (i = 0; i < g->n; i++)
        for (int32_t s = 0; g->nodes[i].hot && s < g->nodes[i].nsucc; s++) {
            struct node *to = &g->nodes[g->nodes[i].succ[s]];
            if (to->hot)
                continue;
            any = true;
            to->entered_by = i;
            if (to->cold == NULL)
                to->cold = xcalloc((size_t)bit_words(g->n), 8);
            reach_cold(g, g->nodes[i].succ[s], to->cold);
        }
    return any;
}

static void graph_close(struct graph *g)
{
    for (int32_t i = 0; i < g->n; i++) {
        free(g->nodes[i].succ);
        free(g->nodes[i].cold);
    }
    free(g->nodes);
    free(g->index);
    free(g->order);
}

/* ---- sinking ---- */

/* May it be computed elsewhere, or more than once? */
static bool is_pure(LLVMValueRef v)
{
    switch (LLVMGetInstructionOpcode(v)) {
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
    case LLVMFNeg:
    case LLVMTrunc:
    case LLVMZExt:
    case LLVMSExt:
    case LLVMBitCast:
    case LLVMIntToPtr:
    case LLVMPtrToInt:
    case LLVMICmp:
    case LLVMFCmp:
    case LLVMSelect:
    case LLVMGetElementPtr:
    case LLVMInsertElement:
    case LLVMExtractElement:
    case LLVMShuffleVector: return true;
    default: return false;
    }
}

/* The block in which a use of a value takes place: for a phi, the one it comes from. */
static int32_t use_block(const struct graph *g, LLVMValueRef user, unsigned operand)
{
    return node_index(g, LLVMIsAPHINode(user) ? LLVMGetIncomingBlock(user, operand)
                                              : LLVMGetInstructionParent(user));
}

/* The blocks of a value's uses, as a set; false if one of them is hot, or there is none. */
static bool only_cold(const struct graph *g, LLVMValueRef v, uint64_t *uses)
{
    memset(uses, 0, (size_t)bit_words(g->n) * 8);
    if (LLVMGetFirstUse(v) == NULL)
        return false;
    for (LLVMUseRef u = LLVMGetFirstUse(v); u != NULL; u = LLVMGetNextUse(u)) {
        LLVMValueRef user = LLVMGetUser(u);
        for (unsigned k = 0; k < (unsigned)LLVMGetNumOperands(user); k++) {
            if (LLVMGetOperand(user, k) != v)
                continue;
            int32_t at = use_block(g, user, k);
            if (g->nodes[at].hot || g->nodes[at].number < 0)
                return false;
            bit_set(uses, at);
        }
    }
    return true;
}

/* Is there a cycle through `at` that avoids `around`? */
static bool in_inner_loop(const struct graph *g, int32_t at, int32_t around)
{
    uint8_t *seen = xcalloc((size_t)g->n, 1);
    int32_t *stack = xcalloc((size_t)g->n + 1, sizeof *stack), count = 0;
    bool found_cycle = false;
    stack[count++] = at;
    while (count > 0 && !found_cycle) {
        const struct node *n = &g->nodes[stack[--count]];
        for (int32_t s = 0; s < n->nsucc; s++) {
            found_cycle |= n->succ[s] == at;
            if (!seen[n->succ[s]] && n->succ[s] != around && n->succ[s] != at) {
                seen[n->succ[s]] = 1;
                stack[count++] = n->succ[s];
            }
        }
    }
    free(seen);
    free(stack);
    return found_cycle;
}

/* The entrances that lead to blocks of `uses`; 0: too many, or in a loop that does not contain the
 * definition. */
static int find_entrances(struct graph *g, int32_t def_block, const uint64_t *uses, int32_t *found)
{
    int n = 0;
    for (int32_t e = 0; e < g->n; e++) {
        bool needed = false;
        for (int32_t w = 0; g->nodes[e].cold != NULL && w < bit_words(g->n); w++)
            needed |= (g->nodes[e].cold[w] & uses[w]) != 0;
        if (!needed || g->nodes[e].number < 0 || !dominates(g, def_block, e))
            continue;
        if (g->nodes[e].loops < 0)
            g->nodes[e].loops = in_inner_loop(g, e, def_block);
        if (n == MAX_ENTRANCES || g->nodes[e].loops != 0)
            return 0;
        found[n++] = e;
    }
    return n;
}

/* Replaces operand k of `user`, which is v, by a load of the variable. */
static void load_variable(struct graph *g, LLVMValueRef user, unsigned k, LLVMValueRef v,
                          LLVMValueRef variable)
{
    LLVMPositionBuilderBefore(g->b, LLVMIsAPHINode(user)
                                        ? LLVMGetBasicBlockTerminator(LLVMGetIncomingBlock(user, k))
                                        : user);
    LLVMSetOperand(user, k, LLVMBuildLoad2(g->b, LLVMTypeOf(v), variable, ""));
}

static LLVMValueRef first_non_phi(LLVMBasicBlockRef bb)
{
    LLVMValueRef i = LLVMGetFirstInstruction(bb);
    while (LLVMIsAPHINode(i))
        i = LLVMGetNextInstruction(i);
    return i;
}

/* Sinks a value into the entrances that lead to its uses, if all of these are cold. */
static void sink(struct graph *g, int32_t def_block, LLVMValueRef v, uint64_t *uses)
{
    int32_t at[MAX_ENTRANCES];
    if (!only_cold(g, v, uses))
        return;
    int n = find_entrances(g, def_block, uses, at);
    if (n == 0 || g->clones + (size_t)n > MAX_COPIES)
        return;
    g->clones += (size_t)n;
    LLVMPositionBuilderBefore(g->b, LLVMGetFirstInstruction(g->nodes[0].bb));
    LLVMValueRef variable = LLVMBuildAlloca(g->b, LLVMTypeOf(v), "");
    for (LLVMUseRef u = LLVMGetFirstUse(v); u != NULL; u = LLVMGetFirstUse(v)) {
        LLVMValueRef user = LLVMGetUser(u);
        for (unsigned k = 0; k < (unsigned)LLVMGetNumOperands(user); k++)
            if (LLVMGetOperand(user, k) == v)
                load_variable(g, user, k, v, variable);
    }
    for (int e = 0; e < n; e++) {
        LLVMValueRef first = first_non_phi(g->nodes[at[e]].bb), copy = LLVMInstructionClone(v);
        LLVMPositionBuilderBefore(g->b, first);
        LLVMInsertIntoBuilder(g->b, copy);
        LLVMBuildStore(g->b, copy, variable);
    }
    LLVMInstructionEraseFromParent(v);
}

/* ---- single lanes ---- */

/* Lane `lane` (a constant) of a vector. */
static LLVMValueRef single_lane(struct graph *g, LLVMValueRef v, LLVMValueRef lane)
{
    bool splat = LLVMIsAShuffleVectorInst(v) && LLVMIsAInsertElementInst(LLVMGetOperand(v, 0));
    for (unsigned k = 0; splat && k < LLVMGetNumMaskElements(v); k++)
        splat = LLVMGetMaskValue(v, k) == 0;
    LLVMValueRef insert = splat ? LLVMGetOperand(v, 0) : NULL;
    if (insert != NULL && LLVMIsAConstantInt(LLVMGetOperand(insert, 2)) &&
        LLVMConstIntGetZExtValue(LLVMGetOperand(insert, 2)) == 0)
        return LLVMGetOperand(insert, 1);
    return LLVMBuildExtractElement(g->b, v, lane, "");
}

/* Does the use extract a lane of known number? */
static bool is_lane_extract(LLVMValueRef user)
{
    return LLVMIsAExtractElementInst(user) && LLVMIsAConstantInt(LLVMGetOperand(user, 1));
}

/* Integer arithmetic of which hot blocks need some lanes only (to test whether lanes are
 * neighbours) is done there for these lanes, as scalars. */
static void compute_single_lanes(struct graph *g, LLVMValueRef v)
{
    LLVMOpcode op = LLVMGetInstructionOpcode(v);
    bool cast = op == LLVMZExt || op == LLVMSExt || op == LLVMTrunc;
    bool sum = op == LLVMAdd || op == LLVMSub || op == LLVMShl || op == LLVMAnd || op == LLVMOr;
    LLVMValueRef users[MAX_SINGLE];
    int n = 0;
    if ((!cast && !sum) || LLVMGetTypeKind(LLVMTypeOf(v)) != LLVMVectorTypeKind)
        return;
    for (LLVMUseRef u = LLVMGetFirstUse(v); u != NULL; u = LLVMGetNextUse(u)) {
        LLVMValueRef user = LLVMGetUser(u);
        if (is_lane_extract(user)) {
            if (n == MAX_SINGLE)
                return;
            users[n++] = user;
            continue;
        }
        for (unsigned k = 0; k < (unsigned)LLVMGetNumOperands(user); k++)
            if (LLVMGetOperand(user, k) == v && g->nodes[use_block(g, user, k)].hot)
                return;
    }
    for (int k = 0; k < n; k++) {
        LLVMValueRef lane = LLVMGetOperand(users[k], 1), x, y;
        LLVMPositionBuilderBefore(g->b, users[k]);
        x = single_lane(g, LLVMGetOperand(v, 0), lane);
        if (cast) {
            x = LLVMBuildCast(g->b, op, x, LLVMTypeOf(users[k]), "");
        } else {
            y = single_lane(g, LLVMGetOperand(v, 1), lane);
            x = LLVMBuildBinOp(g->b, op, x, y, "");
        }
        LLVMReplaceAllUsesWith(users[k], x);
        LLVMInstructionEraseFromParent(users[k]);
    }
}

static bool concerns_vectors(LLVMValueRef v)
{
    if (LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMVectorTypeKind)
        return true;
    for (unsigned k = 0; k < (unsigned)LLVMGetNumOperands(v); k++)
        if (LLVMGetTypeKind(LLVMTypeOf(LLVMGetOperand(v, k))) == LLVMVectorTypeKind)
            return true;
    return false;
}

bool cold_sink(LLVMModuleRef m)
{
    LLVMContextRef c = LLVMGetModuleContext(m);
    struct graph g = {.fn = LLVMGetNamedFunction(m, JIT_ENTRY_SYMBOL),
                      .prof = LLVMGetMDKindIDInContext(c, "prof", 4)};
    if (LLVMCountBasicBlocks(g.fn) > MAX_BLOCKS)
        return false;
    if (graph_open(&g)) {
        g.b = LLVMCreateBuilderInContext(c);
        uint64_t *uses = xcalloc((size_t)bit_words(g.n), 8);
        /* users before what they use */
        for (int32_t k = g.n - 1; k >= g.norder; k--) {
            const struct node *n = &g.nodes[g.order[k]];
            LLVMValueRef before;
            for (int32_t e = 0; e < g.n; e++)
                g.nodes[e].loops = -1;
            for (LLVMValueRef i = LLVMGetLastInstruction(n->bb); n->hot && i; i = before) {
                before = LLVMGetPreviousInstruction(i);
                if (!is_pure(i) || !concerns_vectors(i))
                    continue;
                compute_single_lanes(&g, i);
                sink(&g, g.order[k], i, uses);
            }
        }
        free(uses);
        LLVMDisposeBuilder(g.b);
    }
    graph_close(&g);
    return g.clones > 0;
}
