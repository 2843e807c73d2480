/* S7.11: graphs that are destroyed. What was one's handle never means what Weir keeps of another;
 * and one thread may destroy what others are about to use: they get a code, and nobody crashes. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

#include "common.h"

enum {
    MANY = 300,    /* more than wait before a slot is used again */
    SLOTS = 4,     /* of what threads share */
    WORKERS = 3,   /* which use that */
    MILLIS = 1500, /* for which they do */
};

static CUfunction nothing;

/* Two nodes, one after the other, and a child graph. */
static CUgraph make(CUgraphNode *first)
{
    CUgraph g, child;
    CUgraphNode second, third;
    CUDA_KERNEL_NODE_PARAMS k = {.func = nothing,
                                 .gridDimX = 1,
                                 .gridDimY = 1,
                                 .gridDimZ = 1,
                                 .blockDimX = 32,
                                 .blockDimY = 1,
                                 .blockDimZ = 1};
    NEED(cuGraphCreate(&g, 0));
    NEED(cuGraphCreate(&child, 0));
    NEED(cuGraphAddEmptyNode(&second, child, NULL, 0));
    NEED(cuGraphAddKernelNode(first, g, NULL, 0, &k));
    NEED(cuGraphAddKernelNode(&second, g, first, 1, &k));
    NEED(cuGraphAddChildGraphNode(&third, g, NULL, 0, child));
    NEED(cuGraphDestroy(child));
    return g;
}

/* What an executable graph keeps is where graphs were that are gone. */
static void stale(void)
{
    static CUgraph gone[MANY];
    static CUgraphNode nodes[MANY];
    CUgraphNode own;
    CUgraphExec exec[MANY];
    size_t count;
    for (int n = 0; n < MANY; n++)
        gone[n] = make(&nodes[n]);
    for (int n = 0; n < MANY; n++) {
        OK(cuGraphDestroy(gone[n]));
        CHECK_CU(cuGraphDestroy(gone[n]), CUDA_ERROR_INVALID_VALUE);
        CHECK_CU(cuGraphDestroyNode(nodes[n]), CUDA_ERROR_INVALID_VALUE);
    }
    CUgraph g = make(&own);
    for (int n = 0; n < MANY; n++)
        NEED(cuGraphInstantiate(&exec[n], g, 0));
    for (int n = 0; n < MANY; n++) {
        CUgraphNodeType type;
        if (gone[n] != g)
            CHECK_CU(cuGraphGetNodes(gone[n], NULL, &count), CUDA_ERROR_INVALID_VALUE);
        if (nodes[n] != own)
            CHECK_CU(cuGraphNodeGetType(nodes[n], &type), CUDA_ERROR_INVALID_VALUE);
    }
    for (int n = 0; n < MANY; n++) {
        OK(cuGraphLaunch(exec[n], NULL));
        OK(cuGraphExecDestroy(exec[n]));
        CHECK_CU(cuGraphExecDestroy(exec[n]), CUDA_ERROR_INVALID_VALUE);
    }
    OK(cuGraphDestroy(g));
    OK(cuCtxSynchronize());
}

/* Which node instantiation fails at, in a graph within the graph. */
static void culprit(void)
{
    CUgraph g, outer, inner;
    CUgraphNode node, child, found;
    CUDA_GRAPH_INSTANTIATE_PARAMS p = {0};
    CUgraphExec exec;
    size_t count = 1;
    CUevent event;
    NEED(cuEventCreate(&event, 0));
    NEED(cuGraphCreate(&inner, 0));
    NEED(cuGraphAddEventRecordNode(&node, inner, NULL, 0, event));
    NEED(cuGraphCreate(&g, 0));
    NEED(cuGraphAddChildGraphNode(&child, g, NULL, 0, inner));
    outer = inner;
    NEED(cuGraphChildGraphNodeGetGraph(child, &inner));
    NEED(cuGraphGetNodes(inner, &found, &count));
    NEED(cuEventDestroy(event));
    CHECK(cuGraphInstantiateWithParams(&exec, g, &p) != CUDA_SUCCESS);
    CHECK(p.hErrNode_out == found);
    OK(cuGraphDestroy(g));
    OK(cuGraphDestroy(outer));
}

/* ---- several threads ---- */

static struct slot {
    _Atomic(CUgraph) graph;
    _Atomic(CUgraphNode) node;
    _Atomic(CUgraphExec) exec;
} slots[SLOTS];
static atomic_bool stop;

static void use(struct slot *s)
{
    CUgraph g = atomic_load(&s->graph), clone;
    CUgraphExec e = atomic_load(&s->exec), own;
    CUgraphNodeType type;
    unsigned enabled;
    size_t count = 0;
    if (cuGraphInstantiate(&own, g, 0) == CUDA_SUCCESS) {
        CUresult r = cuGraphLaunch(own, CU_STREAM_PER_THREAD);
        CHECK(r == CUDA_SUCCESS);
        cuGraphExecUpdate(own, g, &(CUgraphExecUpdateResultInfo){0});
        OK(cuGraphExecDestroy(own));
    }
    if (cuGraphClone(&clone, g) == CUDA_SUCCESS)
        OK(cuGraphDestroy(clone));
    cuGraphGetEdges(g, NULL, NULL, NULL, &count);
    cuGraphNodeGetType(atomic_load(&s->node), &type);
    cuGraphNodeGetEnabled(e, atomic_load(&s->node), &enabled);
    cuGraphLaunch(e, CU_STREAM_PER_THREAD);
}

static void *work(void *context)
{
    NEED(cuCtxSetCurrent(context));
    for (unsigned n = 0; !atomic_load(&stop); n++)
        use(&slots[n % SLOTS]);
    OK(cuStreamSynchronize(CU_STREAM_PER_THREAD));
    return NULL;
}

static void fill(struct slot *s)
{
    CUgraphNode node;
    CUgraphExec exec;
    CUgraph g = make(&node);
    NEED(cuGraphInstantiate(&exec, g, 0));
    atomic_store(&s->graph, g);
    atomic_store(&s->node, node);
    atomic_store(&s->exec, exec);
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void destroyed_while_used(CUcontext c)
{
    pthread_t threads[WORKERS];
    double end = seconds() + MILLIS / 1e3;
    for (int n = 0; n < SLOTS; n++)
        fill(&slots[n]);
    for (int n = 0; n < WORKERS; n++)
        pthread_create(&threads[n], NULL, work, c);
    for (unsigned n = 0; seconds() < end; n++) {
        struct slot *s = &slots[n % SLOTS];
        OK(cuGraphDestroy(s->graph));
        OK(cuGraphExecDestroy(s->exec));
        fill(s);
    }
    atomic_store(&stop, true);
    for (int n = 0; n < WORKERS; n++)
        pthread_join(threads[n], NULL);
    for (int n = 0; n < SLOTS; n++) {
        OK(cuGraphDestroy(slots[n].graph));
        OK(cuGraphExecDestroy(slots[n].exec));
    }
    OK(cuCtxSynchronize());
}

/* A module is unloaded beneath graphs: they are refused, also when its kernel's handle is that of a
 * kernel with more parameters by then. */
static void unloaded(void)
{
    static const char one[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                              ".visible .entry one(.param .u32 a) { ret; }\n";
    static const char many[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                               ".visible .entry many(.param .u64 a, .param .u64 b, .param .u64 c,\n"
                               ".param .align 8 .b8 d[2000]) { .reg .u64 %r; ld.param.u64 %r,"
                               " [a]; ret; }\n";
    CUmodule m;
    CUgraph g, clone;
    CUgraphNode node;
    CUgraphExec exec, none;
    int value = 3;
    NEED(cuModuleLoadData(&m, one));
    CUfunction f = kernel(m, "one");
    CUDA_KERNEL_NODE_PARAMS k = {.func = f,
                                 .gridDimX = 1,
                                 .gridDimY = 1,
                                 .gridDimZ = 1,
                                 .blockDimX = 32,
                                 .blockDimY = 1,
                                 .blockDimZ = 1,
                                 .kernelParams = (void *[]){&value}};
    NEED(cuGraphCreate(&g, 0));
    NEED(cuGraphAddKernelNode(&node, g, NULL, 0, &k));
    NEED(cuGraphInstantiate(&exec, g, 0));
    OK(cuGraphLaunch(exec, NULL));
    OK(cuModuleUnload(m));
    CHECK_CU(cuGraphLaunch(exec, NULL), CUDA_ERROR_INVALID_VALUE);
    bool again = false;
    for (int n = 0; n < 20 * MANY && !again; n++) {
        NEED(cuModuleLoadData(&m, many));
        again = kernel(m, "many") == f;
        if (!again)
            OK(cuModuleUnload(m));
    }
    CHECK(again); /* else this shows nothing */
    CHECK_CU(cuGraphLaunch(exec, NULL), CUDA_ERROR_INVALID_VALUE);
    CHECK_CU(cuGraphInstantiate(&none, g, 0), CUDA_ERROR_INVALID_VALUE);
    CHECK_CU(cuGraphClone(&clone, g), CUDA_ERROR_INVALID_VALUE);
    if (again)
        OK(cuModuleUnload(m));
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(g));
    OK(cuCtxSynchronize());
}

/* What a capture writes cannot go from beneath it: neither the graph that its own is within, nor
 * the node; and a capture whose nodes are destroyed is worth nothing. */
static void captured(void)
{
    CUstream s;
    CUgraph g, inner, got;
    CUgraphNode child;
    CUstreamCaptureStatus status;
    const CUgraphNode *deps;
    size_t count;
    NEED(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    g = make(&child);
    NEED(cuGraphCreate(&inner, 0));
    NEED(cuGraphAddChildGraphNode(&child, g, NULL, 0, inner));
    OK(cuGraphDestroy(inner));
    NEED(cuGraphChildGraphNodeGetGraph(child, &inner));
    NEED(cuStreamBeginCaptureToGraph(s, inner, NULL, NULL, 0, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(launch(nothing, 1, 32, s, NULL));
    CHECK_CU(cuGraphDestroy(g), CUDA_ERROR_ILLEGAL_STATE);
    CHECK_CU(cuGraphDestroyNode(child), CUDA_ERROR_ILLEGAL_STATE);
    OK(launch(nothing, 1, 32, s, NULL));
    OK(cuStreamEndCapture(s, &got));
    CHECK(got == inner);
    OK(cuGraphGetNodes(inner, NULL, &count));
    CHECK_EQ_INT(count, 2);
    OK(cuGraphDestroyNode(child));
    OK(cuGraphDestroy(g));

    for (int more = 0; more < 2; more++) { /* at the end, and where more is captured */
        NEED(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
        OK(launch(nothing, 1, 32, s, NULL));
        OK(cuStreamGetCaptureInfo(s, &status, NULL, &g, &deps, NULL, &count));
        CHECK_EQ_INT(count, 1);
        OK(cuGraphDestroyNode(deps[0]));
        if (more)
            CHECK_CU(launch(nothing, 1, 32, s, NULL), CUDA_ERROR_INVALID_VALUE);
        CHECK_CU(cuStreamEndCapture(s, &got), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
        CHECK(got == NULL);
    }
    OK(cuStreamDestroy(s));
}

static void CUDA_CB end_object(void *count) { ++*(int *)count; }

/* A conditional node is taken out of its graph with its bodies, whose handles mean nothing then;
 * what the bodies keep ends. */
static void conditional(void)
{
    CUgraph g;
    CUgraphNode node, empty;
    CUgraphExec e;
    CUuserObject object;
    CUgraphConditionalHandle handle;
    CUcontext c;
    int ended = 0;
    size_t count;
    NEED(cuGraphCreate(&g, 0));
    NEED(cuCtxGetCurrent(&c));
    NEED(cuGraphConditionalHandleCreate(&handle, g, c, 1, CU_GRAPH_COND_ASSIGN_DEFAULT));
    CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_CONDITIONAL};
    p.conditional.handle = handle;
    p.conditional.type = CU_GRAPH_COND_TYPE_IF;
    p.conditional.size = 1;
    p.conditional.ctx = c;
    NEED(cuGraphAddNode(&node, g, NULL, NULL, 0, &p));
    CUgraph body = p.conditional.phGraph_out[0];
    NEED(cuGraphAddEmptyNode(&empty, body, NULL, 0));
    NEED(cuUserObjectCreate(&object, &ended, end_object, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    NEED(cuGraphRetainUserObject(body, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
    OK(cuGraphInstantiate(&e, g, 0)); /* what was instantiated keeps its own */
    OK(cuGraphDestroyNode(node));
    OK(cuGraphLaunch(e, NULL));
    OK(cuCtxSynchronize());
    CHECK_EQ_INT(ended, 0);
    OK(cuGraphExecDestroy(e));
    CHECK_EQ_INT(ended, 1);
    CHECK_CU(cuGraphGetNodes(body, NULL, &count), CUDA_ERROR_INVALID_VALUE);
    CHECK_CU(cuGraphDestroyNode(empty), CUDA_ERROR_INVALID_VALUE);
    OK(cuGraphGetNodes(g, NULL, &count));
    CHECK_EQ_INT(count, 0);
    OK(cuGraphDestroy(g));
}

/* A graph with one empty node that keeps an object. */
static CUgraph keeping(int *ended)
{
    CUgraph g;
    CUgraphNode node;
    CUuserObject object;
    NEED(cuGraphCreate(&g, 0));
    NEED(cuGraphAddEmptyNode(&node, g, NULL, 0));
    NEED(cuUserObjectCreate(&object, ended, end_object, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    NEED(cuGraphRetainUserObject(g, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
    return g;
}

/* An executable graph that is updated keeps what the new graph keeps, and what it kept before ends.
 */
static void updated(void)
{
    int first = 0, second = 0;
    CUgraph g = keeping(&first), newer = keeping(&second);
    CUgraphExec e;
    CUgraphExecUpdateResultInfo info;
    NEED(cuGraphInstantiate(&e, g, 0));
    OK(cuGraphDestroy(g));
    CHECK_EQ_INT(first, 0);
    OK(cuGraphExecUpdate(e, newer, &info));
    CHECK_EQ_INT(first, 1);
    OK(cuGraphDestroy(newer));
    CHECK_EQ_INT(second, 0);
    OK(cuGraphLaunch(e, NULL));
    OK(cuCtxSynchronize());
    OK(cuGraphExecDestroy(e));
    CHECK_EQ_INT(second, 1);
}

int main(void)
{
    CUcontext c = begin();
    CUmodule m;
    NEED(cuModuleLoadData(&m, ".version 7.0\n.target sm_70\n.address_size 64\n"
                              ".visible .entry nothing() { ret; }\n"));
    nothing = kernel(m, "nothing");
    stale();
    culprit();
    unloaded();
    captured();
    conditional();
    updated();
    destroyed_while_used(c);
    OK(cuModuleUnload(m));
    return check_done();
}
