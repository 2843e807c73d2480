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
#include "compiler/analysis/graph.h"
#include "compiler/codegen/codegen.h"
#include "compiler/llvm/llvm_passes.h"

enum {
    MAX_BLOCKS = 600,   /* larger functions are left alone */
    MAX_ENTRANCES = 24, /* at which one value is computed */
    MAX_SINGLE = 8,     /* lanes computed as scalars */
    MAX_COPIES = 4000,  /* of a function */
    UNLIKELY = 4        /* a path taken less often than one time in so many is cold */
};

struct sinking {
    LLVMBuilderRef b;
    LLVMValueRef fn;
    unsigned prof; /* kind of metadata */
    int32_t n;     /* blocks, which are the nodes of the graph */
    struct graph graph;
    int32_t *order, count, *number, *idom; /* reverse postorder and dominators (graph.h) */
    uint64_t *hot;
    struct node {
        LLVMBasicBlockRef bb;
        int8_t loops;   /* of an entrance: is it in a cycle that avoids the current block? -1: not
                           known yet */
        uint64_t *cold; /* of an entrance: the cold blocks reached from it through cold ones */
    } *nodes;
    struct {
        LLVMBasicBlockRef bb;
        int32_t index;
    } *index; /* by address */
    size_t clones;
};

static int by_address(const void *a, const void *b)
{
    uintptr_t x = *(const uintptr_t *)a, y = *(const uintptr_t *)b;
    return (x > y) - (x < y);
}

static int32_t node_index(const struct sinking *g, LLVMBasicBlockRef bb)
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
static bool unlikely(const struct sinking *g, LLVMValueRef term, unsigned s)
{
    if (LLVMGetInstructionOpcode(term) != LLVMBr || LLVMGetNumSuccessors(term) != 2)
        return false;
    LLVMValueRef node = LLVMGetMetadata(term, g->prof), part[3];
    if (node == NULL || LLVMGetMDNodeNumOperands(node) != 3)
        return false;
    LLVMGetMDNodeOperands(node, part);
    if (LLVMIsAConstantInt(part[1]) == NULL || LLVMIsAConstantInt(part[2]) == NULL)
        return false;
    uint64_t w[2] = {LLVMConstIntGetZExtValue(part[1]), LLVMConstIntGetZExtValue(part[2])};
    return w[s] * UNLIKELY < w[1 - s];
}

/* ---- the graph ---- */

static void number_blocks(struct sinking *g)
{
    int32_t n = 0;
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(g->fn); b != NULL;
         b = LLVMGetNextBasicBlock(b)) {
        g->nodes[n] = (struct node){.bb = b};
        g->index[n].bb = b;
        g->index[n].index = n;
        n++;
    }
    qsort(g->index, (size_t)g->n, sizeof *g->index, by_address);
}

/* Makes the graph of all blocks, and finds the hot ones: those that likely edges lead to, and that
 * do not end in `unreachable`. */
static void find_hot(struct sinking *g)
{
    struct graph likely;
    graph_init(&g->graph, g->n);
    graph_init(&likely, g->n);
    for (int32_t from = 0; from < g->n; from++) {
        LLVMValueRef term = LLVMGetBasicBlockTerminator(g->nodes[from].bb);
        for (unsigned s = 0; s < LLVMGetNumSuccessors(term); s++) {
            LLVMBasicBlockRef bb = LLVMGetSuccessor(term, s);
            int32_t to = node_index(g, bb);
            graph_edge(&g->graph, from, to);
            if (!unlikely(g, term, s) &&
                LLVMGetInstructionOpcode(LLVMGetBasicBlockTerminator(bb)) != LLVMUnreachable)
                graph_edge(&likely, from, to);
        }
    }
    graph_close(&g->graph);
    graph_close(&likely);
    bit_set(g->hot, 0);
    graph_reach(&likely, 0, GRAPH_ALL, g->hot);
    graph_free(&likely);
}

/* Finds the cold blocks of each entrance. False: there is nothing cold. */
static bool find_cold(struct sinking *g)
{
    bool any = false;
    uint64_t *cold = xcalloc(bit_bytes(g->n), 1);
    for (int32_t b = 0; b < g->n; b++)
        if (!bit_get(g->hot, b))
            bit_set(cold, b);
    EACH_BIT (from, g->hot, g->n)
        for (int32_t s = g->graph.succ_at[from]; s < g->graph.succ_at[from + 1]; s++) {
            int32_t to = g->graph.succ[s];
            if (!bit_get(cold, to) || g->nodes[to].cold != NULL)
                continue;
            any = true;
            g->nodes[to].cold = xcalloc(bit_bytes(g->n), 1);
            bit_set(g->nodes[to].cold, to);
            graph_reach(&g->graph, to, (struct graph_limits){cold, -1, 0}, g->nodes[to].cold);
        }
    free(cold);
    return any;
}

/* False: there is nothing cold. */
static bool sinking_open(struct sinking *g)
{
    g->n = (int32_t)LLVMCountBasicBlocks(g->fn);
    g->nodes = xcalloc((size_t)g->n, sizeof *g->nodes);
    g->index = xcalloc((size_t)g->n, sizeof *g->index);
    g->order = xcalloc((size_t)g->n, sizeof *g->order);
    g->number = xcalloc((size_t)g->n, sizeof *g->number);
    g->idom = xcalloc((size_t)g->n, sizeof *g->idom);
    g->hot = xcalloc(bit_bytes(g->n), 1);
    number_blocks(g);
    find_hot(g);
    g->count = graph_reverse_postorder(&g->graph, 0, g->order, g->number);
    graph_dominators(&g->graph, g->order, g->number, g->count, g->idom);
    return find_cold(g);
}

static void sinking_close(struct sinking *g)
{
    for (int32_t i = 0; i < g->n; i++)
        free(g->nodes[i].cold);
    graph_free(&g->graph);
    free(g->nodes);
    free(g->index);
    free(g->order);
    free(g->number);
    free(g->idom);
    free(g->hot);
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
static int32_t use_block(const struct sinking *g, LLVMValueRef user, unsigned operand)
{
    return node_index(g, LLVMIsAPHINode(user) != NULL ? LLVMGetIncomingBlock(user, operand)
                                                      : LLVMGetInstructionParent(user));
}

/* The blocks of a value's uses, as a set; false if one of them is hot, or there is none. */
static bool only_cold(const struct sinking *g, LLVMValueRef v, uint64_t *uses)
{
    bit_clear_all(uses, g->n);
    if (LLVMGetFirstUse(v) == NULL)
        return false;
    for (LLVMUseRef u = LLVMGetFirstUse(v); u != NULL; u = LLVMGetNextUse(u)) {
        LLVMValueRef user = LLVMGetUser(u);
        for (unsigned k = 0; k < (unsigned)LLVMGetNumOperands(user); k++) {
            if (LLVMGetOperand(user, k) != v)
                continue;
            int32_t at = use_block(g, user, k);
            if (bit_get(g->hot, at) || g->number[at] < 0)
                return false;
            bit_set(uses, at);
        }
    }
    return true;
}

/* Is there a cycle through `at` that avoids `around`? */
static bool in_inner_loop(const struct sinking *g, int32_t at, int32_t around)
{
    uint64_t *reached = xcalloc(bit_bytes(g->n), 1);
    graph_reach(&g->graph, at, (struct graph_limits){.without = around}, reached);
    bool found_cycle = bit_get(reached, at);
    free(reached);
    return found_cycle;
}

/* The entrances that lead to blocks of `uses`; 0: too many, or in a loop that does not contain the
 * definition. */
static int find_entrances(struct sinking *g, int32_t def_block, const uint64_t *uses,
                          int32_t *found)
{
    int n = 0;
    for (int32_t e = 0; e < g->n; e++) {
        struct node *entrance = &g->nodes[e];
        if (entrance->cold == NULL || !bit_intersects(entrance->cold, uses, g->n) ||
            g->number[e] < 0 || !graph_dominates(g->idom, g->number, def_block, e))
            continue;
        if (entrance->loops < 0)
            entrance->loops = in_inner_loop(g, e, def_block);
        if (n == MAX_ENTRANCES || entrance->loops != 0)
            return 0;
        found[n++] = e;
    }
    return n;
}

/* Replaces operand k of `user`, which is v, by a load of the variable. */
static void load_variable(struct sinking *g, LLVMValueRef user, unsigned k, LLVMValueRef v,
                          LLVMValueRef variable)
{
    LLVMPositionBuilderBefore(g->b, LLVMIsAPHINode(user) != NULL
                                        ? LLVMGetBasicBlockTerminator(LLVMGetIncomingBlock(user, k))
                                        : user);
    LLVMSetOperand(user, k, LLVMBuildLoad2(g->b, LLVMTypeOf(v), variable, ""));
}

static LLVMValueRef first_non_phi(LLVMBasicBlockRef bb)
{
    LLVMValueRef i = LLVMGetFirstInstruction(bb);
    while (LLVMIsAPHINode(i) != NULL)
        i = LLVMGetNextInstruction(i);
    return i;
}

/* Sinks a value into the entrances that lead to its uses, if all of these are cold. */
static void sink(struct sinking *g, int32_t def_block, LLVMValueRef v, uint64_t *uses)
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
static LLVMValueRef single_lane(struct sinking *g, LLVMValueRef v, LLVMValueRef lane)
{
    bool splat = LLVMIsAShuffleVectorInst(v) != NULL &&
                 LLVMIsAInsertElementInst(LLVMGetOperand(v, 0)) != NULL;
    for (unsigned k = 0; splat && k < LLVMGetNumMaskElements(v); k++)
        splat = LLVMGetMaskValue(v, k) == 0;
    LLVMValueRef insert = splat ? LLVMGetOperand(v, 0) : NULL;
    if (insert != NULL && LLVMIsAConstantInt(LLVMGetOperand(insert, 2)) != NULL &&
        LLVMConstIntGetZExtValue(LLVMGetOperand(insert, 2)) == 0)
        return LLVMGetOperand(insert, 1);
    return LLVMBuildExtractElement(g->b, v, lane, "");
}

/* Does the use extract a lane of known number? */
static bool is_lane_extract(LLVMValueRef user)
{
    return LLVMIsAExtractElementInst(user) != NULL &&
           LLVMIsAConstantInt(LLVMGetOperand(user, 1)) != NULL;
}

/* Integer arithmetic of which hot blocks need some lanes only (to test whether lanes are
 * neighbours) is done there for these lanes, as scalars. */
static void compute_single_lanes(struct sinking *g, LLVMValueRef v)
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
            if (LLVMGetOperand(user, k) == v && bit_get(g->hot, use_block(g, user, k)))
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
    struct sinking g = {.fn = LLVMGetNamedFunction(m, JIT_ENTRY_SYMBOL),
                        .prof = LLVMGetMDKindIDInContext(c, "prof", 4)};
    if (LLVMCountBasicBlocks(g.fn) > MAX_BLOCKS)
        return false;
    if (sinking_open(&g)) {
        g.b = LLVMCreateBuilderInContext(c);
        uint64_t *uses = xcalloc(bit_bytes(g.n), 1);
        /* users before what they use */
        for (int32_t k = g.count - 1; k >= 0; k--) {
            int32_t block = g.order[k];
            LLVMValueRef before;
            if (!bit_get(g.hot, block))
                continue;
            for (int32_t e = 0; e < g.n; e++)
                g.nodes[e].loops = -1;
            for (LLVMValueRef i = LLVMGetLastInstruction(g.nodes[block].bb); i != NULL;
                 i = before) {
                before = LLVMGetPreviousInstruction(i);
                if (!is_pure(i) || !concerns_vectors(i))
                    continue;
                compute_single_lanes(&g, i);
                sink(&g, block, i, uses);
            }
        }
        free(uses);
        LLVMDisposeBuilder(g.b);
    }
    sinking_close(&g);
    return g.clones > 0;
}
