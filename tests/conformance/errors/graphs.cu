/* E1: wrong arguments of the functions that build graphs: adding nodes, edges, clones, what is
 * asked of graphs and nodes, user objects. Parameters of nodes are in graph_nodes, executable
 * graphs in graph_exec. */
#include "errors.h"

__global__ void store(int *p, int v) { *p = v; }
static void CUDART_CB host_fn(void *) {}
static void CUDART_CB destroyed(void *) {}
static int *d, *h, v = 5;
static void *args[] = {&d, &v};

static cudaKernelNodeParams kernel()
{
    cudaKernelNodeParams p;
    memset(&p, 0, sizeof p);
    p.func = (void *)store;
    p.gridDim = p.blockDim = dim3(1);
    p.kernelParams = args;
    return p;
}

static cudaGraph_t new_graph()
{
    cudaGraph_t g;
    MUST(cudaGraphCreate(&g, 0));
    return g;
}

static cudaGraphNode_t new_node(cudaGraph_t g)
{
    cudaGraphNode_t n;
    MUST(cudaGraphAddEmptyNode(&n, g, nullptr, 0));
    return n;
}

static cudaGraph_t destroyed_graph()
{
    cudaGraph_t g = new_graph();
    MUST(cudaGraphDestroy(g));
    return g;
}

static void making()
{
    cudaGraph_t g, c;

    ROW("no pointer", cudaGraphCreate(nullptr, 0), cudaErrorInvalidValue);
    ROW("flags 1", cudaGraphCreate(&g, 1), cudaErrorInvalidValue);
    g = new_graph();
    ROW("no pointer", cudaGraphClone(nullptr, g), cudaErrorInvalidValue);
    ROW("no graph", cudaGraphClone(&c, nullptr), cudaErrorInvalidValue);
    ROW_UNDEFINED("destroyed", cudaGraphClone(&c, destroyed_graph()), cudaErrorInvalidValue);
    ROW("no graph", cudaGraphDestroy(nullptr), cudaErrorInvalidValue);
    ROW_UNDEFINED("destroyed", cudaGraphDestroy(destroyed_graph()), cudaErrorInvalidValue);
    ROW("no graph", cudaGraphDebugDotPrint(nullptr, "/dev/null", 0), cudaErrorInvalidValue);
    ROW("no path", cudaGraphDebugDotPrint(g, nullptr, 0), cudaErrorInvalidValue);
    ROW("no such directory", cudaGraphDebugDotPrint(g, "/nonexistent/x", 0),
        cudaErrorOperatingSystem);
}

/* What is the same for all functions that add a node: its place, the graph, what it depends on. */
static void adding()
{
    cudaGraph_t g = new_graph(), other = new_graph(), child = new_graph();
    cudaGraphNode_t n, a = new_node(g), twice[2] = {a, a}, foreign = new_node(other),
                       none = nullptr;
    cudaKernelNodeParams k = kernel();
    cudaMemcpy3DParms copy;
    cudaMemsetParams set;
    cudaHostNodeParams host = {host_fn, nullptr};
    cudaGraphNodeParams any = {};
    cudaEvent_t e;

    MUST(cudaEventCreate(&e));
    memset(&copy, 0, sizeof copy);
    copy.srcPtr = make_cudaPitchedPtr(h, 16, 16, 1);
    copy.dstPtr = make_cudaPitchedPtr(d, 16, 16, 1);
    copy.extent = make_cudaExtent(16, 1, 1);
    copy.kind = cudaMemcpyDefault;
    memset(&set, 0, sizeof set);
    set.dst = d;
    set.elementSize = 4;
    set.width = set.height = 1;
    any.type = cudaGraphNodeTypeEmpty;
#define ADDING(name, ...)                                                                          \
    ROW("no pointer", name(nullptr, g, nullptr, 0, __VA_ARGS__), cudaErrorInvalidValue);           \
    ROW("no graph", name(&n, nullptr, nullptr, 0, __VA_ARGS__), cudaErrorInvalidValue);            \
    ROW("no list", name(&n, g, nullptr, 1, __VA_ARGS__), cudaErrorInvalidValue);                   \
    ROW("twice the same", name(&n, g, twice, 2, __VA_ARGS__), cudaErrorInvalidValue);              \
    ROW("of another graph", name(&n, g, &foreign, 1, __VA_ARGS__), cudaErrorInvalidValue);         \
    ROW("no node in the list", name(&n, g, &none, 1, __VA_ARGS__), cudaErrorInvalidValue)
    ADDING(cudaGraphAddKernelNode, &k);
    ADDING(cudaGraphAddMemcpyNode, &copy);
    ADDING(cudaGraphAddMemcpyNode1D, d, h, 4, cudaMemcpyDefault);
    ADDING(cudaGraphAddMemsetNode, &set);
    ADDING(cudaGraphAddHostNode, &host);
    ADDING(cudaGraphAddChildGraphNode, child);
    ADDING(cudaGraphAddEventRecordNode, e);
    ADDING(cudaGraphAddEventWaitNode, e);
    ROW("no pointer", cudaGraphAddEmptyNode(nullptr, g, nullptr, 0), cudaErrorInvalidValue);
    ROW("no graph", cudaGraphAddEmptyNode(&n, nullptr, nullptr, 0), cudaErrorInvalidValue);
    ROW("no list", cudaGraphAddEmptyNode(&n, g, nullptr, 1), cudaErrorInvalidValue);
    ROW("twice the same", cudaGraphAddEmptyNode(&n, g, twice, 2), cudaErrorInvalidValue);
    ROW("of another graph", cudaGraphAddEmptyNode(&n, g, &foreign, 1), cudaErrorInvalidValue);
    ROW("no pointer", cudaGraphAddNode(nullptr, g, nullptr, nullptr, 0, &any),
        cudaErrorInvalidValue);
    ROW("no graph", cudaGraphAddNode(&n, nullptr, nullptr, nullptr, 0, &any),
        cudaErrorInvalidValue);
    ROW("no list", cudaGraphAddNode(&n, g, nullptr, nullptr, 1, &any), cudaErrorInvalidValue);
    ROW("twice the same", cudaGraphAddNode(&n, g, twice, nullptr, 2, &any), cudaErrorInvalidValue);
    ROW("no parameters", cudaGraphAddNode(&n, g, nullptr, nullptr, 0, nullptr),
        cudaErrorInvalidValue);
    any.type = (cudaGraphNodeType)99;
    ROW("unknown type", cudaGraphAddNode(&n, g, nullptr, nullptr, 0, &any), cudaErrorInvalidValue);
    any.type = cudaGraphNodeTypeEmpty;
    any.reserved0[0] = 1;
    ROW("reserved", cudaGraphAddNode(&n, g, nullptr, nullptr, 0, &any), cudaErrorInvalidValue);
}

static void edges()
{
    cudaGraph_t g = new_graph(), other = new_graph();
    cudaGraphNode_t a = new_node(g), b = new_node(g), c = new_node(g), foreign = new_node(other),
                    list[8], to[8];
    size_t n = 8;
    cudaGraphEdgeData data[8];

    memset(data, 0, sizeof data);
    MUST(cudaGraphAddDependencies(g, &a, &b, nullptr, 1));
    ROW("no graph", cudaGraphAddDependencies(nullptr, &a, &c, nullptr, 1), cudaErrorInvalidValue);
    ROW("no list", cudaGraphAddDependencies(g, nullptr, &c, nullptr, 1), cudaErrorInvalidValue);
    ROW("no list", cudaGraphAddDependencies(g, &a, nullptr, nullptr, 1), cudaErrorInvalidValue);
    ROW("none", cudaGraphAddDependencies(g, nullptr, nullptr, nullptr, 0), cudaSuccess);
    ROW("there already", cudaGraphAddDependencies(g, &a, &b, nullptr, 1), cudaErrorInvalidValue);
    ROW("to itself", cudaGraphAddDependencies(g, &a, &a, nullptr, 1), cudaErrorInvalidValue);
    ROW("of another graph", cudaGraphAddDependencies(g, &a, &foreign, nullptr, 1),
        cudaErrorInvalidValue);
    data[0].type = 99;
    ROW("unknown kind of edge", cudaGraphAddDependencies(g, &a, &c, data, 1),
        cudaErrorInvalidValue);
    data[0].type = 0;
    data[0].reserved[0] = 1;
    ROW("reserved", cudaGraphAddDependencies(g, &a, &c, data, 1), cudaErrorInvalidValue);
    data[0].reserved[0] = 0;
    data[0].from_port = 1;
    ROW("port of a node without", cudaGraphAddDependencies(g, &a, &c, data, 1),
        cudaErrorInvalidValue);
    memset(data, 0, sizeof data);
    ROW("no graph", cudaGraphRemoveDependencies(nullptr, &a, &b, nullptr, 1),
        cudaErrorInvalidValue);
    ROW("no list", cudaGraphRemoveDependencies(g, nullptr, &b, nullptr, 1), cudaErrorInvalidValue);
    ROW("none", cudaGraphRemoveDependencies(g, nullptr, nullptr, nullptr, 0), cudaSuccess);
    ROW("not there", cudaGraphRemoveDependencies(g, &a, &c, nullptr, 1), cudaErrorInvalidValue);
    ROW("the other way", cudaGraphRemoveDependencies(g, &b, &a, nullptr, 1), cudaErrorInvalidValue);
    ROW("no graph", cudaGraphGetEdges(nullptr, list, to, data, &n), cudaErrorInvalidValue);
    ROW("no count", cudaGraphGetEdges(g, list, to, data, nullptr), cudaErrorInvalidValue);
    n = 8;
    ROW("one list", cudaGraphGetEdges(g, list, nullptr, data, &n), cudaErrorInvalidValue);
    n = 8;
    ROW("no place for kinds, all plain", cudaGraphGetEdges(g, list, to, nullptr, &n), cudaSuccess);
    ROW("no node", cudaGraphNodeGetDependencies(nullptr, list, data, &n), cudaErrorInvalidValue);
    ROW("no count", cudaGraphNodeGetDependencies(b, list, data, nullptr), cudaErrorInvalidValue);
    n = 8;
    ROW("kinds, no list", cudaGraphNodeGetDependencies(b, nullptr, data, &n),
        cudaErrorInvalidValue);
    ROW("no node", cudaGraphNodeGetDependentNodes(nullptr, list, data, &n), cudaErrorInvalidValue);
    ROW("no count", cudaGraphNodeGetDependentNodes(a, list, data, nullptr), cudaErrorInvalidValue);
    n = 8;
    ROW("kinds, no list", cudaGraphNodeGetDependentNodes(a, nullptr, data, &n),
        cudaErrorInvalidValue);
}

static void asking()
{
    cudaGraph_t g = new_graph(), other = new_graph(), clone, child;
    cudaGraphNode_t a = new_node(g), foreign = new_node(other), list[8], n;
    cudaGraphNodeType type;
    size_t count = 8;

    MUST(cudaGraphClone(&clone, g));
    ROW("no graph", cudaGraphGetNodes(nullptr, list, &count), cudaErrorInvalidValue);
    ROW("no count", cudaGraphGetNodes(g, list, nullptr), cudaErrorInvalidValue);
    ROW("no graph", cudaGraphGetRootNodes(nullptr, list, &count), cudaErrorInvalidValue);
    ROW("no count", cudaGraphGetRootNodes(g, list, nullptr), cudaErrorInvalidValue);
    ROW("no node", cudaGraphNodeGetType(nullptr, &type), cudaErrorInvalidValue);
    ROW("no pointer", cudaGraphNodeGetType(a, nullptr), cudaErrorInvalidValue);
    ROW("no pointer", cudaGraphNodeFindInClone(nullptr, a, clone), cudaErrorInvalidValue);
    ROW("no node", cudaGraphNodeFindInClone(&n, nullptr, clone), cudaErrorInvalidValue);
    ROW("no graph", cudaGraphNodeFindInClone(&n, a, nullptr), cudaErrorInvalidValue);
    ROW("not a clone", cudaGraphNodeFindInClone(&n, a, g), cudaErrorInvalidValue);
    ROW("of another graph", cudaGraphNodeFindInClone(&n, foreign, clone), cudaErrorInvalidValue);
    ROW("no node", cudaGraphDestroyNode(nullptr), cudaErrorInvalidValue);
    MUST(cudaGraphAddChildGraphNode(&n, other, nullptr, 0, g));
    ROW("no node", cudaGraphChildGraphNodeGetGraph(nullptr, &child), cudaErrorInvalidValue);
    ROW("no pointer", cudaGraphChildGraphNodeGetGraph(n, nullptr), cudaErrorInvalidValue);
    ROW("another kind of node", cudaGraphChildGraphNodeGetGraph(a, &child), cudaErrorInvalidValue);
    MUST(cudaGraphChildGraphNodeGetGraph(n, &child));
    ROW("a node's graph", cudaGraphDestroy(child), cudaErrorInvalidValue);
    ROW("no graph", cudaGraphAddChildGraphNode(&n, g, nullptr, 0, nullptr), cudaErrorInvalidValue);
    ROW_CRASH("itself", cudaGraphAddChildGraphNode(&n, g, nullptr, 0, g), cudaSuccess);
}

static void user_objects()
{
    const unsigned unsynced = cudaUserObjectNoDestructorSync;
    cudaGraph_t g = new_graph();
    cudaUserObject_t o, p;
    int id = 1;

    MUST(cudaUserObjectCreate(&o, &id, destroyed, 4, unsynced));
    ROW("no pointer", cudaUserObjectCreate(nullptr, &id, destroyed, 1, unsynced),
        cudaErrorInvalidValue);
    ROW("no destructor", cudaUserObjectCreate(&p, &id, nullptr, 1, unsynced),
        cudaErrorInvalidValue);
    ROW("count 0", cudaUserObjectCreate(&p, &id, destroyed, 0, unsynced), cudaErrorInvalidValue);
    ROW("count too large", cudaUserObjectCreate(&p, &id, destroyed, 0x80000000u, unsynced),
        cudaSuccess);
    ROW("flags 0", cudaUserObjectCreate(&p, &id, destroyed, 1, 0), cudaErrorInvalidValue);
    ROW("flags 3", cudaUserObjectCreate(&p, &id, destroyed, 1, 3), cudaErrorInvalidValue);
    ROW("no object of the program's", cudaUserObjectCreate(&p, nullptr, destroyed, 1, unsynced),
        cudaSuccess);
    ROW("no object", cudaUserObjectRetain(nullptr, 1), cudaErrorInvalidValue);
    ROW("count 0", cudaUserObjectRetain(o, 0), cudaErrorInvalidValue);
    ROW("count too large", cudaUserObjectRetain(o, 0x80000000u), cudaErrorInvalidValue);
    ROW("no object", cudaUserObjectRelease(nullptr, 1), cudaErrorInvalidValue);
    ROW("count 0", cudaUserObjectRelease(o, 0), cudaErrorInvalidValue);
    ROW("count too large", cudaUserObjectRelease(o, 0x80000000u), cudaErrorInvalidValue);
    ROW("no graph", cudaGraphRetainUserObject(nullptr, o, 1, 0), cudaErrorInvalidValue);
    ROW("no object", cudaGraphRetainUserObject(g, nullptr, 1, 0), cudaErrorInvalidValue);
    ROW("count 0", cudaGraphRetainUserObject(g, o, 0, 0), cudaErrorInvalidValue);
    ROW("unknown flags", cudaGraphRetainUserObject(g, o, 1, 5), cudaErrorInvalidValue);
    MUST(cudaGraphRetainUserObject(g, o, 2, cudaGraphUserObjectMove));
    ROW("no graph", cudaGraphReleaseUserObject(nullptr, o, 1), cudaErrorInvalidValue);
    ROW("no object", cudaGraphReleaseUserObject(g, nullptr, 1), cudaErrorInvalidValue);
    ROW("count 0", cudaGraphReleaseUserObject(g, o, 0), cudaErrorInvalidValue);
}

static void conditionals()
{
    cudaGraph_t g = new_graph();
    cudaGraphConditionalHandle handle;

    ROW("no pointer", cudaGraphConditionalHandleCreate(nullptr, g, 1, 0), cudaErrorInvalidValue);
    ROW("no graph", cudaGraphConditionalHandleCreate(&handle, nullptr, 1, 0),
        cudaErrorInvalidValue);
    ROW("flags 2", cudaGraphConditionalHandleCreate(&handle, g, 1, 2), cudaErrorInvalidValue);
}

static void rows()
{
    MUST(cudaMalloc(&d, 4096));
    MUST(cudaMallocHost(&h, 4096));
    making();
    adding();
    edges();
    asking();
    user_objects();
    conditionals();
}

ERROR_TABLE_MAIN(rows)
