/* names/graph_versions: calls about graphs as CUDA 10 to 12.2 had them: edges without data, kernel
 * nodes without kernels of libraries, and answers in other places. */
#include <stdio.h>

#include "driver/graph/graph.h"
#include "weir/weir.h"

#undef cuGraphAddNode
#undef cuGraphAddDependencies
#undef cuGraphRemoveDependencies
#undef cuGraphGetEdges
#undef cuGraphNodeGetDependencies
#undef cuGraphNodeGetDependentNodes
#undef cuGraphAddKernelNode
#undef cuGraphKernelNodeGetParams
#undef cuGraphKernelNodeSetParams
#undef cuGraphExecKernelNodeSetParams
#undef cuGraphInstantiate
#undef cuGraphExecUpdate

/* ---- edges ---- */

WEIR_API CUresult cuGraphAddNode(CUgraphNode *out, CUgraph g, const CUgraphNode *deps, size_t count,
                                 CUgraphNodeParams *params);
WEIR_API CUresult cuGraphAddNode(CUgraphNode *out, CUgraph g, const CUgraphNode *deps, size_t count,
                                 CUgraphNodeParams *params)
{
    return cuGraphAddNode_v2(out, g, deps, NULL, count, params);
}

WEIR_API CUresult cuGraphAddDependencies(CUgraph g, const CUgraphNode *from, const CUgraphNode *to,
                                         size_t count);
WEIR_API CUresult cuGraphAddDependencies(CUgraph g, const CUgraphNode *from, const CUgraphNode *to,
                                         size_t count)
{
    return cuGraphAddDependencies_v2(g, from, to, NULL, count);
}

WEIR_API CUresult cuGraphRemoveDependencies(CUgraph g, const CUgraphNode *from,
                                            const CUgraphNode *to, size_t count);
WEIR_API CUresult cuGraphRemoveDependencies(CUgraph g, const CUgraphNode *from,
                                            const CUgraphNode *to, size_t count)
{
    return cuGraphRemoveDependencies_v2(g, from, to, NULL, count);
}

/* The later versions refuse (CUDA_ERROR_LOSSY_QUERY) where edges have data and no place for it is
 * given. */
WEIR_API CUresult cuGraphGetEdges(CUgraph g, CUgraphNode *from, CUgraphNode *to, size_t *count);
WEIR_API CUresult cuGraphGetEdges(CUgraph g, CUgraphNode *from, CUgraphNode *to, size_t *count)
{
    return cuGraphGetEdges_v2(g, from, to, NULL, count);
}

WEIR_API CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode *nodes, size_t *count);
WEIR_API CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode *nodes, size_t *count)
{
    return cuGraphNodeGetDependencies_v2(node, nodes, NULL, count);
}

WEIR_API CUresult cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode *nodes, size_t *count);
WEIR_API CUresult cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode *nodes, size_t *count)
{
    return cuGraphNodeGetDependentNodes_v2(node, nodes, NULL, count);
}

/* ---- kernel nodes ---- */

static CUDA_KERNEL_NODE_PARAMS kernel_of(const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
    return (CUDA_KERNEL_NODE_PARAMS){.func = p->func,
                                     .gridDimX = p->gridDimX,
                                     .gridDimY = p->gridDimY,
                                     .gridDimZ = p->gridDimZ,
                                     .blockDimX = p->blockDimX,
                                     .blockDimY = p->blockDimY,
                                     .blockDimZ = p->blockDimZ,
                                     .sharedMemBytes = p->sharedMemBytes,
                                     .kernelParams = p->kernelParams,
                                     .extra = p->extra};
}

WEIR_API CUresult cuGraphAddKernelNode(CUgraphNode *out, CUgraph g, const CUgraphNode *deps,
                                       size_t count, const CUDA_KERNEL_NODE_PARAMS_v1 *params);
WEIR_API CUresult cuGraphAddKernelNode(CUgraphNode *out, CUgraph g, const CUgraphNode *deps,
                                       size_t count, const CUDA_KERNEL_NODE_PARAMS_v1 *params)
{
    if (params == NULL)
        return cuGraphAddKernelNode_v2(out, g, deps, count, NULL);
    CUDA_KERNEL_NODE_PARAMS later = kernel_of(params);
    return cuGraphAddKernelNode_v2(out, g, deps, count, &later);
}

WEIR_API CUresult cuGraphKernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1 *out);
WEIR_API CUresult cuGraphKernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1 *out)
{
    CUDA_KERNEL_NODE_PARAMS p;
    CU_TRY(cuGraphKernelNodeGetParams_v2(node, out != NULL ? &p : NULL));
    *out = (CUDA_KERNEL_NODE_PARAMS_v1){.func = p.func,
                                        .gridDimX = p.gridDimX,
                                        .gridDimY = p.gridDimY,
                                        .gridDimZ = p.gridDimZ,
                                        .blockDimX = p.blockDimX,
                                        .blockDimY = p.blockDimY,
                                        .blockDimZ = p.blockDimZ,
                                        .sharedMemBytes = p.sharedMemBytes,
                                        .kernelParams = p.kernelParams,
                                        .extra = p.extra};
    return CUDA_SUCCESS;
}

WEIR_API CUresult cuGraphKernelNodeSetParams(CUgraphNode node,
                                             const CUDA_KERNEL_NODE_PARAMS_v1 *params);
WEIR_API CUresult cuGraphKernelNodeSetParams(CUgraphNode node,
                                             const CUDA_KERNEL_NODE_PARAMS_v1 *params)
{
    if (params == NULL)
        return cuGraphKernelNodeSetParams_v2(node, NULL);
    CUDA_KERNEL_NODE_PARAMS later = kernel_of(params);
    return cuGraphKernelNodeSetParams_v2(node, &later);
}

WEIR_API CUresult cuGraphExecKernelNodeSetParams(CUgraphExec e, CUgraphNode node,
                                                 const CUDA_KERNEL_NODE_PARAMS_v1 *params);
WEIR_API CUresult cuGraphExecKernelNodeSetParams(CUgraphExec e, CUgraphNode node,
                                                 const CUDA_KERNEL_NODE_PARAMS_v1 *params)
{
    if (params == NULL)
        return cuGraphExecKernelNodeSetParams_v2(e, node, NULL);
    CUDA_KERNEL_NODE_PARAMS later = kernel_of(params);
    return cuGraphExecKernelNodeSetParams_v2(e, node, &later);
}

/* ---- instantiation ---- */

/* What went wrong is told as a node and as text, which is cut where the buffer ends. */
WEIR_API CUresult cuGraphInstantiate_v2(CUgraphExec *out, CUgraph g, CUgraphNode *culprit,
                                        char *log, size_t bytes);
WEIR_API CUresult cuGraphInstantiate_v2(CUgraphExec *out, CUgraph g, CUgraphNode *culprit,
                                        char *log, size_t bytes)
{
    CUDA_GRAPH_INSTANTIATE_PARAMS params = {0};
    CUresult r = cuGraphInstantiateWithParams(out, g, &params);
    if (culprit != NULL)
        *culprit = params.hErrNode_out;
    if (log != NULL && bytes > 0) {
        const char *name = NULL, *message = r != CUDA_SUCCESS ? weir_last_message() : "";
        if (r != CUDA_SUCCESS && message[0] == '\0' && cuGetErrorString(r, &name) == CUDA_SUCCESS)
            message = name;
        snprintf(log, bytes, "%s", message);
    }
    return r;
}

WEIR_API CUresult cuGraphInstantiate(CUgraphExec *out, CUgraph g, CUgraphNode *culprit, char *log,
                                     size_t bytes);
WEIR_API CUresult cuGraphInstantiate(CUgraphExec *out, CUgraph g, CUgraphNode *culprit, char *log,
                                     size_t bytes)
{
    return cuGraphInstantiate_v2(out, g, culprit, log, bytes);
}

WEIR_API CUresult cuGraphExecUpdate(CUgraphExec e, CUgraph g, CUgraphNode *culprit,
                                    CUgraphExecUpdateResult *result);
WEIR_API CUresult cuGraphExecUpdate(CUgraphExec e, CUgraph g, CUgraphNode *culprit,
                                    CUgraphExecUpdateResult *result)
{
    CUgraphExecUpdateResultInfo info = {.result = CU_GRAPH_EXEC_UPDATE_ERROR};
    CUresult r = cuGraphExecUpdate_v2(e, g, &info);
    if (culprit != NULL)
        *culprit = info.errorNode;
    if (result != NULL)
        *result = info.result;
    return r;
}
