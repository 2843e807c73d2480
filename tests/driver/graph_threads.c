/* S7.3: several host threads change one graph, or one executable graph, at the same time: each call
 * is as if it were alone. First threads build one graph together, whose nodes and edges are counted
 * and run then; then they do all kinds of calls with a few graphs and nodes, each other's too. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

#include "common.h"

enum {
    WORKERS = 4,
    CHAIN = 150, /* nodes that each thread adds to the common graph and leaves there */
    SLOTS = 4,   /* of graphs that threads share */
    MILLIS = 1200,
};

/* Under ThreadSanitizer nothing is freed meanwhile: it does not know membarrier, on which it rests
 * that nobody uses what is freed (device/hold.h). */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define FREEING false
#endif
#endif
#ifndef FREEING
#define FREEING true
#endif

static CUcontext context;
static CUfunction nothing;

static void each(void *(*work)(void *))
{
    pthread_t threads[WORKERS];
    for (size_t n = 0; n < WORKERS; n++)
        pthread_create(&threads[n], NULL, work, (void *)n);
    for (int n = 0; n < WORKERS; n++)
        pthread_join(threads[n], NULL);
}

static CUDA_KERNEL_NODE_PARAMS launch_of(unsigned blocks)
{
    return (CUDA_KERNEL_NODE_PARAMS){.func = nothing,
                                     .gridDimX = blocks,
                                     .gridDimY = 1,
                                     .gridDimZ = 1,
                                     .blockDimX = 32,
                                     .blockDimY = 1,
                                     .blockDimZ = 1};
}

/* ---- one graph, built by all ---- */

static CUgraph common;
static CUgraphNode first; /* which all chains follow */
static unsigned steps[WORKERS];
static bool ordered = true;

/* The n-th node of a thread's chain comes when n - 1 have run. */
struct step {
    unsigned thread, number;
} chain[WORKERS][CHAIN];

static void step(void *user)
{
    const struct step *s = user;
    ordered = ordered && steps[s->thread] == s->number;
    steps[s->thread]++;
}

/* Things that leave the common graph as it is. */
static void look(CUgraphNode last, unsigned n)
{
    CUgraph clone;
    CUgraphExec exec;
    CUgraphNode nodes[20], to[20], child;
    size_t count = 20;
    switch (n % 5) {
    case 0:
        OK(cuGraphClone(&clone, common));
        if (n % 10 == 0) {
            OK(cuGraphAddChildGraphNode(&child, common, NULL, 0, clone));
            OK(cuGraphDestroyNode(child));
        }
        OK(cuGraphDestroy(clone));
        break;
    case 1:
        OK(cuGraphInstantiate(&exec, common, 0));
        OK(cuGraphExecDestroy(exec));
        break;
    case 2: OK(cuGraphGetNodes(common, nodes, &count)); break;
    case 3: OK(cuGraphGetEdges(common, nodes, to, NULL, &count)); break;
    default: /* an edge and a node of its own, and away again */
        OK(cuGraphAddEmptyNode(&nodes[0], common, &last, 1));
        OK(cuGraphAddDependencies(common, &first, &nodes[0], NULL, 1));
        OK(cuGraphRemoveDependencies(common, &last, &nodes[0], NULL, 1));
        OK(cuGraphDestroyNode(nodes[0]));
    }
}

static void *build(void *arg)
{
    unsigned me = (unsigned)(size_t)arg;
    CUgraphNode last = first;
    NEED(cuCtxSetCurrent(context));
    for (unsigned n = 0; n < CHAIN; n++) {
        chain[me][n] = (struct step){me, n};
        CUDA_HOST_NODE_PARAMS host = {step, &chain[me][0]};
        CUgraphNode node;
        NEED(cuGraphAddHostNode(&node, common, n % 2 == 0 ? &last : NULL, n % 2 == 0, &host));
        if (n % 2 != 0)
            OK(cuGraphAddDependencies(common, &last, &node, NULL, 1));
        host.userData = &chain[me][n];
        OK(cuGraphHostNodeSetParams(node, &host));
        last = node;
        if (FREEING)
            look(last, n + me);
    }
    return NULL;
}

static void built_together(void)
{
    CUgraphExec exec;
    size_t count;
    NEED(cuGraphCreate(&common, 0));
    NEED(cuGraphAddEmptyNode(&first, common, NULL, 0));
    each(build);
    OK(cuGraphGetNodes(common, NULL, &count));
    CHECK_EQ_INT(count, WORKERS * CHAIN + 1);
    OK(cuGraphGetEdges(common, NULL, NULL, NULL, &count));
    CHECK_EQ_INT(count, WORKERS * CHAIN);
    NEED(cuGraphInstantiate(&exec, common, 0));
    OK(cuGraphLaunch(exec, CU_STREAM_PER_THREAD));
    OK(cuStreamSynchronize(CU_STREAM_PER_THREAD));
    for (int n = 0; n < WORKERS; n++)
        CHECK_EQ_INT(steps[n], CHAIN);
    CHECK(ordered);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(common));
}

/* ---- all kinds of calls ---- */

static struct slot {
    _Atomic(CUgraph) graph;
    _Atomic(CUgraphNode) node;
    _Atomic(CUgraphExec) exec; /* of the graph that was here then */
} slots[SLOTS];
static atomic_int made, gone; /* objects that graphs keep */
static atomic_bool stop;

static void object_gone(void *unused)
{
    (void)unused;
    atomic_fetch_add(&gone, 1);
}

static unsigned below(unsigned *seed, unsigned n)
{
    *seed = *seed * 1664525 + 1013904223;
    return (*seed >> 8) % n;
}

/* A call that others may have made wrong meanwhile, or not. */
#define TRY(call)                                                                                  \
    do {                                                                                           \
        CUresult try_got = (call);                                                                 \
        CHECK(try_got == CUDA_SUCCESS || try_got == CUDA_ERROR_INVALID_VALUE ||                    \
              try_got == CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);                                    \
    } while (0)

/* Two kernels and an object that goes with the graph. */
static CUgraph new_graph(CUgraphNode *node)
{
    CUgraph g;
    CUgraphNode second;
    CUuserObject object;
    CUDA_KERNEL_NODE_PARAMS k = launch_of(1);
    NEED(cuGraphCreate(&g, 0));
    NEED(cuGraphAddKernelNode(node, g, NULL, 0, &k));
    NEED(cuGraphAddKernelNode(&second, g, node, 1, &k));
    NEED(cuUserObjectCreate(&object, &made, object_gone, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    atomic_fetch_add(&made, 1);
    NEED(cuGraphRetainUserObject(g, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
    return g;
}

static void fill(struct slot *s)
{
    CUgraphNode node;
    CUgraphExec exec;
    CUgraph g = new_graph(&node);
    NEED(cuGraphInstantiate(&exec, g, 0));
    atomic_store(&s->node, node);
    exec = atomic_exchange(&s->exec, exec);
    g = atomic_exchange(&s->graph, g);
    if (g != NULL) {
        TRY(cuGraphDestroy(g)); /* another graph may have taken it */
        OK(cuGraphExecDestroy(exec));
    }
}

/* One graph becomes part of another, for good: perhaps while that becomes part of it. */
static void give(CUgraph to, CUgraph g)
{
    CUgraphNode node;
    CUgraphNodeParams any = {
        .type = CU_GRAPH_NODE_TYPE_GRAPH,
        .graph = {.graph = g, .ownership = CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE}};
    TRY(cuGraphAddNode(&node, to, NULL, NULL, 0, &any));
}

static void change(CUgraph g, CUgraph other, struct slot *s, unsigned kind)
{
    CUgraphNode node = atomic_load(&s->node), to;
    CUDA_KERNEL_NODE_PARAMS k = launch_of(1 + kind % 3), now;
    CUDA_HOST_NODE_PARAMS host = {step, &chain[0][0]};
    size_t count = 0;
    switch (kind) {
    case 0:
        TRY(cuGraphAddKernelNode(&to, g, NULL, 0, &k));
        atomic_store(&s->node, to);
        break;
    case 1: TRY(cuGraphAddKernelNode(&to, g, &node, 1, &k)); break;
    case 2: TRY(cuGraphKernelNodeSetParams(node, &k)); break;
    case 3: TRY(cuGraphKernelNodeGetParams(node, &now)); break;
    case 4: TRY(cuGraphAddChildGraphNode(&to, g, NULL, 0, other)); break;
    case 5: TRY(cuGraphKernelNodeCopyAttributes(node, atomic_load(&slots[0].node))); break;
    case 6: TRY(cuGraphNodeGetDependentNodes(node, NULL, NULL, &count)); break;
    default: TRY(cuGraphHostNodeSetParams(node, &host)); /* of another kind */
    }
}

static void use(CUgraph g, struct slot *s, unsigned kind)
{
    CUgraphExec e = atomic_load(&s->exec), own;
    CUgraphNode node = atomic_load(&s->node);
    CUDA_KERNEL_NODE_PARAMS k = launch_of(1 + kind);
    CUgraphExecUpdateResultInfo info;
    CUgraph clone;
    switch (kind) {
    case 0: TRY(cuGraphLaunch(e, CU_STREAM_PER_THREAD)); break;
    case 1: TRY(cuGraphExecKernelNodeSetParams(e, node, &k)); break;
    case 2: TRY(cuGraphExecUpdate(e, g, &info)); break;
    case 3: TRY(cuGraphNodeSetEnabled(e, node, (unsigned)(size_t)node / 64 % 2)); break;
    case 4:
        if (cuGraphInstantiate(&own, g, 0) == CUDA_SUCCESS)
            OK(cuGraphExecDestroy(own));
        break;
    default:
        if (cuGraphClone(&clone, g) == CUDA_SUCCESS)
            OK(cuGraphDestroy(clone));
    }
}

static void *all_kinds(void *arg)
{
    unsigned seed = (unsigned)(size_t)arg * 7919 + 1;
    NEED(cuCtxSetCurrent(context));
    for (unsigned n = 0; !atomic_load(&stop); n++) {
        struct slot *s = &slots[below(&seed, SLOTS)], *t = &slots[below(&seed, SLOTS)];
        CUgraph g = atomic_load(&s->graph), other = atomic_load(&t->graph);
        unsigned what = below(&seed, 16);
        if (what < 8)
            change(g, other, s, what);
        else if (what < 14)
            use(g, s, what - 8);
        else if (what == 14 && FREEING)
            TRY(cuGraphDestroyNode(atomic_load(&s->node)));
        else if (FREEING && n % 2 == 0)
            give(g, other);
        if (FREEING && n % 16 == 0) /* else they grow without end */
            fill(s);
        if (!FREEING && n > 200)
            break;
    }
    OK(cuStreamSynchronize(CU_STREAM_PER_THREAD));
    return NULL;
}

static void *clock_thread(void *unused)
{
    nanosleep(&(struct timespec){MILLIS / 1000, MILLIS % 1000 * 1000000}, NULL);
    atomic_store(&stop, true);
    return unused;
}

static void used_together(void)
{
    pthread_t timer;
    for (int n = 0; n < SLOTS; n++)
        fill(&slots[n]);
    pthread_create(&timer, NULL, clock_thread, NULL);
    each(all_kinds);
    pthread_join(timer, NULL);
    OK(cuCtxSynchronize());
    for (int n = 0; n < SLOTS; n++) {
        OK(cuGraphExecDestroy(slots[n].exec));
        TRY(cuGraphDestroy(slots[n].graph));
    }
    OK(cuCtxSynchronize());
    CHECK_EQ_INT(gone, made);
}

int main(void)
{
    CUmodule m;
    context = begin();
    NEED(cuModuleLoadData(&m, ".version 7.0\n.target sm_70\n.address_size 64\n"
                              ".visible .entry nothing() { ret; }\n"));
    nothing = kernel(m, "nothing");
    built_together();
    used_together();
    OK(cuModuleUnload(m));
    return check_done();
}
