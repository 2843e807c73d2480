/* E1: a call that is refused takes nothing over: graphs and handles that it was given are still the
 * caller's. */
#include <cuda_runtime.h>

#include "check.h"

#define OK(call)         CHECK_STR(cudaGetErrorName(call), "cudaSuccess")
#define FAILS(call, why) CHECK_STR(cudaGetErrorName(call), #why)

static cudaGraphNode_t foreign; /* of a graph that nothing here is added to */

static size_t nodes_of(cudaGraph_t g)
{
    size_t count = 0;
    OK(cudaGraphGetNodes(g, nullptr, &count));
    return count;
}

#if CUDART_VERSION >= 13000
/* A node, which depends on another graph's and is refused, or on nothing. */
static cudaError_t add(cudaGraph_t g, bool wrong, cudaGraphNodeParams *p)
{
    cudaGraphNode_t node;
    return cudaGraphAddNode(&node, g, wrong ? &foreign : nullptr, nullptr, wrong, p);
}

static void moved_graph()
{
    cudaGraph_t g, child;
    cudaGraphNode_t node;
    cudaGraphNodeParams p = {};

    OK(cudaGraphCreate(&g, 0));
    OK(cudaGraphCreate(&child, 0));
    OK(cudaGraphAddEmptyNode(&node, child, nullptr, 0));
    p.type = cudaGraphNodeTypeGraph;
    p.graph.graph = child;
    p.graph.ownership = cudaGraphChildGraphOwnershipMove;
    FAILS(add(g, true, &p), cudaErrorInvalidValue);
    CHECK_EQ_INT(nodes_of(child), 1);
    OK(add(g, false, &p));
    CHECK_EQ_INT(nodes_of(g), 1);
    OK(cudaGraphDestroy(g)); /* and the child with it */
}

static void conditional_handle()
{
    cudaGraph_t g;
    cudaGraphConditionalHandle handle;
    cudaGraphNodeParams p = {};

    OK(cudaGraphCreate(&g, 0));
    OK(cudaGraphConditionalHandleCreate(&handle, g, 0, 0));
    p.type = cudaGraphNodeTypeConditional;
    p.conditional.handle = handle;
    p.conditional.type = cudaGraphCondTypeIf;
    p.conditional.size = 1;
    FAILS(add(g, true, &p), cudaErrorInvalidValue);
    OK(add(g, false, &p));
    CHECK_EQ_INT(nodes_of(g), 1);
    OK(cudaGraphDestroy(g));
}
#endif

int main()
{
    cudaGraph_t other;

    OK(cudaGraphCreate(&other, 0));
    OK(cudaGraphAddEmptyNode(&foreign, other, nullptr, 0));
#if CUDART_VERSION >= 13000
    moved_graph();
    conditional_handle();
#endif
    OK(cudaGraphDestroy(other));
    return check_done();
}
