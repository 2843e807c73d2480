/* graph_node: nodes of graphs: parameters in the runtime's words and the driver's, both ways. */
#include "runtime/internal.h"

#include <limits.h>
#include <string.h>

#define DEPS cudaGraphNode_t *pGraphNode, cudaGraph_t graph, const cudaGraphNode_t *deps, size_t n
#define EXEC cudaGraphExec_t exec, cudaGraphNode_t node

/* Leaves with what was wrong with the parameters, or calls the driver. */
#define WITH(prepare, ...)                                                                         \
    do {                                                                                           \
        cudaError_t error;                                                                         \
        return done((error = rt_context()) != cudaSuccess || (error = (prepare)) != cudaSuccess    \
                        ? error                                                                    \
                        : rt_error(CU(__VA_ARGS__)));                                              \
    } while (0)

/* ---- kernels ---- */

static cudaError_t kernel_in(const struct cudaKernelNodeParams *p, CUDA_KERNEL_NODE_PARAMS *out)
{
    CUfunction f;

    RT_CHECK(p, cudaErrorInvalidValue);
    RT_TRY(rt_healthy());
    RT_TRY(rt_function_of(p->func, &f));
    *out = (CUDA_KERNEL_NODE_PARAMS){.func = f,
                                     .gridDimX = p->gridDim.x,
                                     .gridDimY = p->gridDim.y,
                                     .gridDimZ = p->gridDim.z,
                                     .blockDimX = p->blockDim.x,
                                     .blockDimY = p->blockDim.y,
                                     .blockDimZ = p->blockDim.z,
                                     .sharedMemBytes = p->sharedMemBytes,
                                     .kernelParams = p->kernelParams,
                                     .extra = p->extra};
    return cudaSuccess;
}

static cudaError_t kernel_out(cudaGraphNode_t node, struct cudaKernelNodeParams *out)
{
    CUDA_KERNEL_NODE_PARAMS p;

    RT_CHECK(out, cudaErrorInvalidValue);
    RT_TRY(rt_context());
    CU_TRY(CU(cuGraphKernelNodeGetParams_v2, node, &p));
    *out = (struct cudaKernelNodeParams){.func = (void *)rt_function_host(p.func),
                                         .gridDim = {p.gridDimX, p.gridDimY, p.gridDimZ},
                                         .blockDim = {p.blockDimX, p.blockDimY, p.blockDimZ},
                                         .sharedMemBytes = p.sharedMemBytes,
                                         .kernelParams = p.kernelParams,
                                         .extra = p.extra};
    return cudaSuccess;
}

PUBLIC cudaError_t cudaGraphAddKernelNode(DEPS, const struct cudaKernelNodeParams *params)
{
    CUDA_KERNEL_NODE_PARAMS p;
    WITH(kernel_in(params, &p), cuGraphAddKernelNode_v2, pGraphNode, graph, deps, n, &p);
}

PUBLIC cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node,
                                                struct cudaKernelNodeParams *params)
{
    return done(kernel_out(node, params));
}

PUBLIC cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node,
                                                const struct cudaKernelNodeParams *params)
{
    CUDA_KERNEL_NODE_PARAMS p;
    WITH(kernel_in(params, &p), cuGraphKernelNodeSetParams_v2, node, &p);
}

PUBLIC cudaError_t cudaGraphExecKernelNodeSetParams(EXEC, const struct cudaKernelNodeParams *params)
{
    CUDA_KERNEL_NODE_PARAMS p;
    WITH(kernel_in(params, &p), cuGraphExecKernelNodeSetParams_v2, exec, node, &p);
}

PUBLIC cudaError_t cudaGraphKernelNodeCopyAttributes(cudaGraphNode_t hDst, cudaGraphNode_t hSrc)
{
    WITH(cudaSuccess, cuGraphKernelNodeCopyAttributes, hDst, hSrc);
}

PUBLIC cudaError_t cudaGraphKernelNodeGetAttribute(cudaGraphNode_t hNode,
                                                   cudaLaunchAttributeID attr,
                                                   cudaLaunchAttributeValue *value)
{
    WITH(cudaSuccess, cuGraphKernelNodeGetAttribute, hNode, (CUkernelNodeAttrID)attr,
         (CUkernelNodeAttrValue *)value);
}

PUBLIC cudaError_t cudaGraphKernelNodeSetAttribute(cudaGraphNode_t hNode,
                                                   cudaLaunchAttributeID attr,
                                                   const cudaLaunchAttributeValue *value)
{
    WITH(cudaSuccess, cuGraphKernelNodeSetAttribute, hNode, (CUkernelNodeAttrID)attr,
         (const CUkernelNodeAttrValue *)value);
}

/* ---- copies ---- */

static cudaError_t copy_row(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind,
                            CUDA_MEMCPY3D *out)
{
    RT_CHECK(rt_kind_valid(kind), cudaErrorInvalidMemcpyDirection);
    RT_CHECK(dst != NULL && src != NULL && count, cudaErrorInvalidValue);
    RT_TRY(rt_healthy());
    *out = (CUDA_MEMCPY3D){.WidthInBytes = count, .Height = 1, .Depth = 1};
    rt_copy_source(out, src, count, 1, kind);
    rt_copy_target(out, dst, count, 1, kind);
    return cudaSuccess;
}

static cudaError_t copy_to_symbol(const void *symbol, const void *src, size_t count, size_t offset,
                                  enum cudaMemcpyKind kind, CUDA_MEMCPY3D *out)
{
    char *part;

    RT_CHECK(kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice ||
                 kind == cudaMemcpyDefault,
             cudaErrorInvalidMemcpyDirection);
    RT_TRY(rt_symbol_part(symbol, offset, count, &part));
    return copy_row(part, src, count, kind, out);
}

static cudaError_t copy_from_symbol(void *dst, const void *symbol, size_t count, size_t offset,
                                    enum cudaMemcpyKind kind, CUDA_MEMCPY3D *out)
{
    char *part;

    RT_CHECK(kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice ||
                 kind == cudaMemcpyDefault,
             cudaErrorInvalidMemcpyDirection);
    RT_TRY(rt_symbol_part(symbol, offset, count, &part));
    return copy_row(dst, part, count, kind, out);
}

/* The three calls that take a copy described in one way: `parameters`, made by `make`. */
#define COPY_CALLS(suffix, parameters, make)                                                       \
    PUBLIC cudaError_t cudaGraphAddMemcpyNode##suffix(DEPS, COPY_##suffix)                         \
    {                                                                                              \
        CUDA_MEMCPY3D c;                                                                           \
        WITH(make, cuGraphAddMemcpyNode, pGraphNode, graph, deps, n, &c, NULL);                    \
    }                                                                                              \
    PUBLIC cudaError_t cudaGraphMemcpyNodeSetParams##suffix(cudaGraphNode_t node, COPY_##suffix)   \
    {                                                                                              \
        CUDA_MEMCPY3D c;                                                                           \
        WITH(make, cuGraphMemcpyNodeSetParams, node, &c);                                          \
    }                                                                                              \
    PUBLIC cudaError_t cudaGraphExecMemcpyNodeSetParams##suffix(EXEC, COPY_##suffix)               \
    {                                                                                              \
        CUDA_MEMCPY3D c;                                                                           \
        WITH(make, cuGraphExecMemcpyNodeSetParams, exec, node, &c, NULL);                          \
    }
#define COPY_   const struct cudaMemcpy3DParms *params
#define COPY_1D void *dst, const void *src, size_t count, enum cudaMemcpyKind kind
#define COPY_ToSymbol                                                                              \
    const void *symbol, const void *src, size_t count, size_t offset, enum cudaMemcpyKind kind
#define COPY_FromSymbol                                                                            \
    void *dst, const void *symbol, size_t count, size_t offset, enum cudaMemcpyKind kind

/* A box with something in it: a copy may have nothing to do, a node may not. */
static cudaError_t copy_box(const struct cudaMemcpy3DParms *p, CUDA_MEMCPY3D *out)
{
    RT_CHECK(p != NULL && p->extent.width && p->extent.height && p->extent.depth,
             cudaErrorInvalidValue);
    return rt_box(p, out);
}

COPY_CALLS(, COPY_, copy_box(params, &c))
COPY_CALLS(1D, COPY_1D, copy_row(dst, src, count, kind, &c))
COPY_CALLS(ToSymbol, COPY_ToSymbol, copy_to_symbol(symbol, src, count, offset, kind, &c))
COPY_CALLS(FromSymbol, COPY_FromSymbol, copy_from_symbol(dst, symbol, count, offset, kind, &c))

static cudaError_t copy_out(cudaGraphNode_t node, struct cudaMemcpy3DParms *out)
{
    CUDA_MEMCPY3D c;

    RT_CHECK(out, cudaErrorInvalidValue);
    RT_TRY(rt_context());
    CU_TRY(CU(cuGraphMemcpyNodeGetParams, node, &c));
    return rt_unbox(&c, out);
}

PUBLIC cudaError_t cudaGraphMemcpyNodeGetParams(cudaGraphNode_t node,
                                                struct cudaMemcpy3DParms *params)
{
    return done(copy_out(node, params));
}

/* ---- sets ---- */

_Static_assert(sizeof(struct cudaMemsetParams) == sizeof(CUDA_MEMSET_NODE_PARAMS), "same layout");

/* A GPU's driver takes the context of the memory where none is named, and memory in stream order
 * has none: so it is named. */
PUBLIC cudaError_t cudaGraphAddMemsetNode(DEPS, const struct cudaMemsetParams *params)
{
    CUcontext c;
    WITH(rt_error(CU(cuCtxGetCurrent, &c)), cuGraphAddMemsetNode, pGraphNode, graph, deps, n,
         (const CUDA_MEMSET_NODE_PARAMS *)params, c);
}

PUBLIC cudaError_t cudaGraphMemsetNodeGetParams(cudaGraphNode_t node,
                                                struct cudaMemsetParams *params)
{
    WITH(cudaSuccess, cuGraphMemsetNodeGetParams, node, (CUDA_MEMSET_NODE_PARAMS *)params);
}

PUBLIC cudaError_t cudaGraphMemsetNodeSetParams(cudaGraphNode_t node,
                                                const struct cudaMemsetParams *params)
{
    WITH(cudaSuccess, cuGraphMemsetNodeSetParams, node, (const CUDA_MEMSET_NODE_PARAMS *)params);
}

PUBLIC cudaError_t cudaGraphExecMemsetNodeSetParams(EXEC, const struct cudaMemsetParams *params)
{
    CUcontext c;
    WITH(rt_error(CU(cuCtxGetCurrent, &c)), cuGraphExecMemsetNodeSetParams, exec, node,
         (const CUDA_MEMSET_NODE_PARAMS *)params, c);
}

/* ---- functions of the host, graphs, nothing, events ---- */

_Static_assert(sizeof(struct cudaHostNodeParams) == sizeof(CUDA_HOST_NODE_PARAMS), "same layout");

PUBLIC cudaError_t cudaGraphAddHostNode(DEPS, const struct cudaHostNodeParams *params)
{
    WITH(cudaSuccess, cuGraphAddHostNode, pGraphNode, graph, deps, n,
         (const CUDA_HOST_NODE_PARAMS *)params);
}

PUBLIC cudaError_t cudaGraphHostNodeGetParams(cudaGraphNode_t node,
                                              struct cudaHostNodeParams *params)
{
    WITH(cudaSuccess, cuGraphHostNodeGetParams, node, (CUDA_HOST_NODE_PARAMS *)params);
}

PUBLIC cudaError_t cudaGraphHostNodeSetParams(cudaGraphNode_t node,
                                              const struct cudaHostNodeParams *params)
{
    WITH(cudaSuccess, cuGraphHostNodeSetParams, node, (const CUDA_HOST_NODE_PARAMS *)params);
}

PUBLIC cudaError_t cudaGraphExecHostNodeSetParams(EXEC, const struct cudaHostNodeParams *params)
{
    WITH(cudaSuccess, cuGraphExecHostNodeSetParams, exec, node,
         (const CUDA_HOST_NODE_PARAMS *)params);
}

PUBLIC cudaError_t cudaGraphAddChildGraphNode(DEPS, cudaGraph_t childGraph)
{
    WITH(cudaSuccess, cuGraphAddChildGraphNode, pGraphNode, graph, deps, n, childGraph);
}

PUBLIC cudaError_t cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t node, cudaGraph_t *pGraph)
{
    WITH(cudaSuccess, cuGraphChildGraphNodeGetGraph, node, pGraph);
}

PUBLIC cudaError_t cudaGraphExecChildGraphNodeSetParams(EXEC, cudaGraph_t childGraph)
{
    WITH(cudaSuccess, cuGraphExecChildGraphNodeSetParams, exec, node, childGraph);
}

PUBLIC cudaError_t cudaGraphAddEmptyNode(DEPS)
{
    WITH(cudaSuccess, cuGraphAddEmptyNode, pGraphNode, graph, deps, n);
}

#define EVENT_CALLS(kind)                                                                          \
    PUBLIC cudaError_t cudaGraphAddEvent##kind##Node(DEPS, cudaEvent_t event)                      \
    {                                                                                              \
        WITH(cudaSuccess, cuGraphAddEvent##kind##Node, pGraphNode, graph, deps, n, event);         \
    }                                                                                              \
    PUBLIC cudaError_t cudaGraphEvent##kind##NodeGetEvent(cudaGraphNode_t node,                    \
                                                          cudaEvent_t *event_out)                  \
    {                                                                                              \
        WITH(cudaSuccess, cuGraphEvent##kind##NodeGetEvent, node, event_out);                      \
    }                                                                                              \
    PUBLIC cudaError_t cudaGraphEvent##kind##NodeSetEvent(cudaGraphNode_t node, cudaEvent_t event) \
    {                                                                                              \
        WITH(cudaSuccess, cuGraphEvent##kind##NodeSetEvent, node, event);                          \
    }                                                                                              \
    PUBLIC cudaError_t cudaGraphExecEvent##kind##NodeSetEvent(EXEC, cudaEvent_t event)             \
    {                                                                                              \
        WITH(cudaSuccess, cuGraphExecEvent##kind##NodeSetEvent, exec, node, event);                \
    }
EVENT_CALLS(Record)
EVENT_CALLS(Wait)

/* ---- memory ---- */

_Static_assert(sizeof(struct cudaMemAllocNodeParams) == sizeof(CUDA_MEM_ALLOC_NODE_PARAMS) &&
                   sizeof(struct cudaMemAllocNodeParamsV2) == sizeof(CUDA_MEM_ALLOC_NODE_PARAMS_v2),
               "same layout");

PUBLIC cudaError_t cudaGraphAddMemAllocNode(DEPS, struct cudaMemAllocNodeParams *nodeParams)
{
    RT_CALLED(cudaGraphAddMemAllocNode);
    WITH(cudaSuccess, cuGraphAddMemAllocNode, pGraphNode, graph, deps, n,
         (CUDA_MEM_ALLOC_NODE_PARAMS *)nodeParams);
}

PUBLIC cudaError_t cudaGraphMemAllocNodeGetParams(cudaGraphNode_t node,
                                                  struct cudaMemAllocNodeParams *params_out)
{
    WITH(cudaSuccess, cuGraphMemAllocNodeGetParams, node, (CUDA_MEM_ALLOC_NODE_PARAMS *)params_out);
}

PUBLIC cudaError_t cudaGraphAddMemFreeNode(DEPS, void *dptr)
{
    WITH(cudaSuccess, cuGraphAddMemFreeNode, pGraphNode, graph, deps, n, (CUdeviceptr)dptr);
}

PUBLIC cudaError_t cudaGraphMemFreeNodeGetParams(cudaGraphNode_t node, void *dptr_out)
{
    WITH(cudaSuccess, cuGraphMemFreeNodeGetParams, node, (CUdeviceptr *)dptr_out);
}

PUBLIC cudaError_t cudaDeviceGetGraphMemAttribute(int device, enum cudaGraphMemAttributeType attr,
                                                  void *value)
{
    WITH(cudaSuccess, cuDeviceGetGraphMemAttribute, device, (CUgraphMem_attribute)attr, value);
}

PUBLIC cudaError_t cudaDeviceSetGraphMemAttribute(int device, enum cudaGraphMemAttributeType attr,
                                                  void *value)
{
    WITH(cudaSuccess, cuDeviceSetGraphMemAttribute, device, (CUgraphMem_attribute)attr, value);
}

PUBLIC cudaError_t cudaDeviceGraphMemTrim(int device)
{
    WITH(cudaSuccess, cuDeviceGraphMemTrim, device);
}

/* ---- any kind ---- */

static cudaError_t any_in(const struct cudaGraphNodeParams *p, CUgraphNodeParams *out)
{
    RT_CHECK(p, cudaErrorInvalidValue);
    *out = (CUgraphNodeParams){.type = (CUgraphNodeType)p->type};
    memcpy(out->reserved0, p->reserved0, sizeof out->reserved0); /* the driver looks at these */
    switch (p->type) {
    case cudaGraphNodeTypeKernel: {
        const struct cudaKernelNodeParams k = {p->kernel.func,         p->kernel.gridDim,
                                               p->kernel.blockDim,     p->kernel.sharedMemBytes,
                                               p->kernel.kernelParams, p->kernel.extra};
        CUDA_KERNEL_NODE_PARAMS c;
        RT_TRY(kernel_in(&k, &c));
        out->kernel = (CUDA_KERNEL_NODE_PARAMS_v3){
            c.func,      c.gridDimX,       c.gridDimY,     c.gridDimZ, c.blockDimX, c.blockDimY,
            c.blockDimZ, c.sharedMemBytes, c.kernelParams, c.extra,    NULL,        NULL};
        return cudaSuccess;
    }
    case cudaGraphNodeTypeMemcpy:
        out->memcpy.flags = p->memcpy.flags;
        return copy_box(&p->memcpy.copyParams, &out->memcpy.copyParams);
    case cudaGraphNodeTypeMemset: {
        CUcontext context;
        CU_TRY(CU(cuCtxGetCurrent, &context));
        out->memset = (CUDA_MEMSET_NODE_PARAMS_v2){(CUdeviceptr)p->memset.dst,
                                                   p->memset.pitch,
                                                   p->memset.value,
                                                   p->memset.elementSize,
                                                   p->memset.width,
                                                   p->memset.height,
                                                   context};
        return cudaSuccess;
    }
    case cudaGraphNodeTypeHost:
        out->host.fn = p->host.fn;
        out->host.userData = p->host.userData;
        return cudaSuccess;
    case cudaGraphNodeTypeGraph:
        out->graph.graph = p->graph.graph;
        out->graph.ownership = (CUgraphChildGraphNodeOwnership)p->graph.ownership;
        return cudaSuccess;
    case cudaGraphNodeTypeWaitEvent: out->eventWait.event = p->eventWait.event; return cudaSuccess;
    case cudaGraphNodeTypeEventRecord:
        out->eventRecord.event = p->eventRecord.event;
        return cudaSuccess;
    case cudaGraphNodeTypeMemAlloc:
        memcpy(&out->alloc, &p->alloc, sizeof out->alloc);
        return cudaSuccess;
    case cudaGraphNodeTypeMemFree: out->free.dptr = (CUdeviceptr)p->free.dptr; return cudaSuccess;
    case cudaGraphNodeTypeConditional:
        out->conditional.handle = p->conditional.handle;
        out->conditional.type = (CUgraphConditionalNodeType)p->conditional.type;
        out->conditional.size = p->conditional.size;
        CU_TRY(CU(cuCtxGetCurrent, &out->conditional.ctx));
        return cudaSuccess;
    default: return cudaSuccess; /* the driver knows */
    }
}

static cudaError_t add_any(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *deps,
                           const cudaGraphEdgeData *edges, size_t count,
                           struct cudaGraphNodeParams *params)
{
    CUgraphNodeParams p;

    RT_TRY(rt_context());
    RT_TRY(any_in(params, &p));
    CU_TRY(CU(cuGraphAddNode_v2, node, graph, deps, (const CUgraphEdgeData *)edges, count, &p));
    if (params->type == cudaGraphNodeTypeConditional)
        params->conditional.phGraph_out = p.conditional.phGraph_out;
    if (params->type == cudaGraphNodeTypeMemAlloc)
        params->alloc.dptr = (void *)p.alloc.dptr;
    return cudaSuccess;
}

PUBLIC cudaError_t cudaGraphAddNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                    const cudaGraphNode_t *pDependencies,
                                    const cudaGraphEdgeData *dependencyData, size_t numDependencies,
                                    struct cudaGraphNodeParams *nodeParams)
{
    RT_CALLED(cudaGraphAddNode);
    return done(
        add_any(pGraphNode, graph, pDependencies, dependencyData, numDependencies, nodeParams));
}

PUBLIC cudaError_t cudaGraphNodeSetParams(cudaGraphNode_t node,
                                          struct cudaGraphNodeParams *nodeParams)
{
    CUgraphNodeParams p;
    WITH(any_in(nodeParams, &p), cuGraphNodeSetParams, node, &p);
}

PUBLIC cudaError_t cudaGraphExecNodeSetParams(EXEC, struct cudaGraphNodeParams *nodeParams)
{
    CUgraphNodeParams p;
    WITH(any_in(nodeParams, &p), cuGraphExecNodeSetParams, exec, node, &p);
}
