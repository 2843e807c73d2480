/* graph: the structure and life of graphs, executable ones, what they own. Kinds of nodes are in
 * graph_node.c. Handles, edges and results are those of the driver. */
#include "runtime/internal.h"

_Static_assert(sizeof(cudaGraphEdgeData) == sizeof(CUgraphEdgeData), "same layout");
_Static_assert(sizeof(cudaGraphExecUpdateResultInfo) == sizeof(CUgraphExecUpdateResultInfo),
               "same layout");
_Static_assert(sizeof(cudaGraphInstantiateParams) == sizeof(CUDA_GRAPH_INSTANTIATE_PARAMS),
               "same layout");

/* A function that is one of the driver's in all but name. */
#define GRAPH_API(name, parameters, ...)                                                           \
    PUBLIC cudaError_t name parameters                                                             \
    {                                                                                              \
        cudaError_t error = rt_context();                                                          \
        return done(error != cudaSuccess ? error : rt_error(CU(__VA_ARGS__)));                     \
    }

/* ---- structure ---- */

GRAPH_API(cudaGraphCreate, (cudaGraph_t * pGraph, unsigned flags), cuGraphCreate, pGraph, flags)
GRAPH_API(cudaGraphDestroy, (cudaGraph_t graph), cuGraphDestroy, graph)
GRAPH_API(cudaGraphClone, (cudaGraph_t * pGraphClone, cudaGraph_t originalGraph), cuGraphClone,
          pGraphClone, originalGraph)
GRAPH_API(cudaGraphNodeFindInClone,
          (cudaGraphNode_t * pNode, cudaGraphNode_t originalNode, cudaGraph_t clonedGraph),
          cuGraphNodeFindInClone, pNode, originalNode, clonedGraph)
GRAPH_API(cudaGraphGetNodes, (cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *numNodes),
          cuGraphGetNodes, graph, nodes, numNodes)
GRAPH_API(cudaGraphGetRootNodes,
          (cudaGraph_t graph, cudaGraphNode_t *pRootNodes, size_t *pNumRootNodes),
          cuGraphGetRootNodes, graph, pRootNodes, pNumRootNodes)
GRAPH_API(cudaGraphGetEdges,
          (cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to,
           cudaGraphEdgeData *edgeData, size_t *numEdges),
          cuGraphGetEdges_v2, graph, from, to, (CUgraphEdgeData *)edgeData, numEdges)
GRAPH_API(cudaGraphNodeGetDependencies,
          (cudaGraphNode_t node, cudaGraphNode_t *pDependencies, cudaGraphEdgeData *edgeData,
           size_t *pNumDependencies),
          cuGraphNodeGetDependencies_v2, node, pDependencies, (CUgraphEdgeData *)edgeData,
          pNumDependencies)
GRAPH_API(cudaGraphNodeGetDependentNodes,
          (cudaGraphNode_t node, cudaGraphNode_t *pDependentNodes, cudaGraphEdgeData *edgeData,
           size_t *pNumDependentNodes),
          cuGraphNodeGetDependentNodes_v2, node, pDependentNodes, (CUgraphEdgeData *)edgeData,
          pNumDependentNodes)
GRAPH_API(cudaGraphAddDependencies,
          (cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
           const cudaGraphEdgeData *edgeData, size_t numDependencies),
          cuGraphAddDependencies_v2, graph, from, to, (const CUgraphEdgeData *)edgeData,
          numDependencies)
GRAPH_API(cudaGraphRemoveDependencies,
          (cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
           const cudaGraphEdgeData *edgeData, size_t numDependencies),
          cuGraphRemoveDependencies_v2, graph, from, to, (const CUgraphEdgeData *)edgeData,
          numDependencies)
GRAPH_API(cudaGraphDestroyNode, (cudaGraphNode_t node), cuGraphDestroyNode, node)
GRAPH_API(cudaGraphDebugDotPrint, (cudaGraph_t graph, const char *path, unsigned flags),
          cuGraphDebugDotPrint, graph, path, flags)

static cudaError_t node_type(cudaGraphNode_t node, enum cudaGraphNodeType *type)
{
    CUgraphNodeType value;

    RT_CHECK(type, cudaErrorInvalidValue);
    RT_TRY(rt_context());
    CU_TRY(CU(cuGraphNodeGetType, node, &value));
    *type = (enum cudaGraphNodeType)value;
    return cudaSuccess;
}

PUBLIC cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, enum cudaGraphNodeType *pType)
{
    return done(node_type(node, pType));
}

/* The handle belongs to a context: the thread's, as the node that will use it (graph_node.c). */
static cudaError_t conditional_handle(cudaGraphConditionalHandle *handle, cudaGraph_t graph,
                                      unsigned value, unsigned flags)
{
    CUcontext context;

    RT_TRY(rt_context());
    CU_TRY(CU(cuCtxGetCurrent, &context));
    CU_TRY(CU(cuGraphConditionalHandleCreate, (CUgraphConditionalHandle *)handle, graph, context,
              value, flags));
    return cudaSuccess;
}

PUBLIC cudaError_t cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle *pHandle_out,
                                                    cudaGraph_t graph, unsigned defaultLaunchValue,
                                                    unsigned flags)
{
    return done(conditional_handle(pHandle_out, graph, defaultLaunchValue, flags));
}

/* ---- objects of the program ---- */

GRAPH_API(cudaUserObjectCreate,
          (cudaUserObject_t * object_out, void *ptr, cudaHostFn_t destroy, unsigned initialRefcount,
           unsigned flags),
          cuUserObjectCreate, object_out, ptr, destroy, initialRefcount, flags)
GRAPH_API(cudaUserObjectRetain, (cudaUserObject_t object, unsigned count), cuUserObjectRetain,
          object, count)
GRAPH_API(cudaUserObjectRelease, (cudaUserObject_t object, unsigned count), cuUserObjectRelease,
          object, count)
GRAPH_API(cudaGraphRetainUserObject,
          (cudaGraph_t graph, cudaUserObject_t object, unsigned count, unsigned flags),
          cuGraphRetainUserObject, graph, object, count, flags)
GRAPH_API(cudaGraphReleaseUserObject, (cudaGraph_t graph, cudaUserObject_t object, unsigned count),
          cuGraphReleaseUserObject, graph, object, count)

/* ---- executable graphs ---- */

GRAPH_API(cudaGraphInstantiate,
          (cudaGraphExec_t * pGraphExec, cudaGraph_t graph, unsigned long long flags),
          cuGraphInstantiateWithFlags, pGraphExec, graph, flags)
GRAPH_API(cudaGraphInstantiateWithFlags,
          (cudaGraphExec_t * pGraphExec, cudaGraph_t graph, unsigned long long flags),
          cuGraphInstantiateWithFlags, pGraphExec, graph, flags)
GRAPH_API(cudaGraphExecDestroy, (cudaGraphExec_t graphExec), cuGraphExecDestroy, graphExec)
GRAPH_API(cudaGraphExecGetFlags, (cudaGraphExec_t graphExec, unsigned long long *flags),
          cuGraphExecGetFlags, graphExec, (cuuint64_t *)flags)
GRAPH_API(cudaGraphExecUpdate,
          (cudaGraphExec_t hGraphExec, cudaGraph_t hGraph,
           cudaGraphExecUpdateResultInfo *resultInfo),
          cuGraphExecUpdate_v2, hGraphExec, hGraph, (CUgraphExecUpdateResultInfo *)resultInfo)
GRAPH_API(cudaGraphNodeSetEnabled,
          (cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode, unsigned isEnabled),
          cuGraphNodeSetEnabled, hGraphExec, hNode, isEnabled)
GRAPH_API(cudaGraphNodeGetEnabled,
          (cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode, unsigned *isEnabled),
          cuGraphNodeGetEnabled, hGraphExec, hNode, isEnabled)

static cudaError_t instantiate(cudaGraphExec_t *exec, cudaGraph_t graph,
                               cudaGraphInstantiateParams *params, bool own_stream)
{
    RT_CHECK(params, cudaErrorInvalidValue);
    RT_TRY(rt_context());
    cudaGraphInstantiateParams p = *params; /* what goes in stays as the program wrote it */
    if (own_stream && p.uploadStream == NULL)
        p.uploadStream = cudaStreamPerThread;
    CUresult r = CU(cuGraphInstantiateWithParams, exec, graph, (CUDA_GRAPH_INSTANTIATE_PARAMS *)&p);
    params->errNode_out = p.errNode_out;
    params->result_out = p.result_out;
    CU_TRY(r);
    return cudaSuccess;
}

PUBLIC cudaError_t cudaGraphInstantiateWithParams(cudaGraphExec_t *pGraphExec, cudaGraph_t graph,
                                                  cudaGraphInstantiateParams *instantiateParams)
{
    return done(instantiate(pGraphExec, graph, instantiateParams, false));
}

PUBLIC cudaError_t cudaGraphInstantiateWithParams_ptsz(cudaGraphExec_t *pGraphExec,
                                                       cudaGraph_t graph,
                                                       cudaGraphInstantiateParams *params)
{
    return done(instantiate(pGraphExec, graph, params, true));
}

static cudaError_t launch(cudaGraphExec_t exec, cudaStream_t stream)
{
    WITH_CONTEXT(CU(cuGraphLaunch, exec, stream));
}

static cudaError_t upload(cudaGraphExec_t exec, cudaStream_t stream)
{
    RT_TRY(rt_context());
    CU_TRY(CU(cuGraphUpload, exec, stream));
    return cudaSuccess;
}

STREAM_API(cudaGraphLaunch, (cudaGraphExec_t graphExec, cudaStream_t stream),
           launch(graphExec, stream))
STREAM_API(cudaGraphUpload, (cudaGraphExec_t graphExec, cudaStream_t stream),
           upload(graphExec, stream))

/* ---- capture ---- */

static cudaError_t begin(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
    RT_TRY(rt_context());
    CU_TRY(CU(cuStreamBeginCapture_v2, stream, (CUstreamCaptureMode)mode));
    return cudaSuccess;
}

static cudaError_t begin_to(cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t *nodes,
                            const cudaGraphEdgeData *edges, size_t count,
                            enum cudaStreamCaptureMode mode)
{
    RT_TRY(rt_context());
    CU_TRY(CU(cuStreamBeginCaptureToGraph, stream, graph, nodes, (const CUgraphEdgeData *)edges,
              count, (CUstreamCaptureMode)mode));
    return cudaSuccess;
}

static cudaError_t end(cudaStream_t stream, cudaGraph_t *graph)
{
    RT_TRY(rt_context());
    CU_TRY(CU(cuStreamEndCapture, stream, graph));
    return cudaSuccess;
}

static cudaError_t update(cudaStream_t stream, cudaGraphNode_t *nodes,
                          const cudaGraphEdgeData *edges, size_t count, unsigned flags)
{
    RT_TRY(rt_context());
    CU_TRY(CU(cuStreamUpdateCaptureDependencies_v2, stream, nodes, (const CUgraphEdgeData *)edges,
              count, flags));
    return cudaSuccess;
}

STREAM_API(cudaStreamBeginCapture, (cudaStream_t stream, enum cudaStreamCaptureMode mode),
           begin(stream, mode))
STREAM_API(cudaStreamBeginCaptureToGraph,
           (cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
            const cudaGraphEdgeData *dependencyData, size_t numDependencies,
            enum cudaStreamCaptureMode mode),
           begin_to(stream, graph, dependencies, dependencyData, numDependencies, mode))
STREAM_API(cudaStreamEndCapture, (cudaStream_t stream, cudaGraph_t *pGraph), end(stream, pGraph))
STREAM_API(cudaStreamUpdateCaptureDependencies,
           (cudaStream_t stream, cudaGraphNode_t *dependencies,
            const cudaGraphEdgeData *dependencyData, size_t numDependencies, unsigned flags),
           update(stream, dependencies, dependencyData, numDependencies, flags))
