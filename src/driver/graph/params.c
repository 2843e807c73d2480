/* graph/params: the calls that add nodes of one kind, and show and change their parameters. All of
 * them make a struct node_params (node.c) and hand it on. */
#include <stdlib.h>
#include <string.h>

#include "driver/error/site.h"
#include "driver/graph/graph.h"

#define DEPS CUgraphNode *out, CUgraph g, const CUgraphNode *deps, size_t count

/* Checks what all additions have in common. The lock of the graph is taken only when parameters are
 * made: those of a kernel may need a module to be loaded. */
static CUresult params_begin(CUgraphNode *out, CUgraph g)
{
    CUresult r = driver_ready();
    if (r == CUDA_SUCCESS)
        r = graph_check(g);
    if (r == CUDA_SUCCESS && out == NULL)
        r = CUDA_ERROR_INVALID_VALUE;
    return r;
}

/* The context of a node of that kind. */
static CUresult params_context(CUgraphNode node, CUgraphNodeType type, CUcontext *ctx)
{
    GRAPH_LOCKS;
    CU_TRY(node_lock_type(node, type, &locked));
    *ctx = node->p.ctx;
    return CUDA_SUCCESS;
}

/* Replaces the old parameters by new ones, which are taken. Attributes of kernels are set by other
 * calls. */
static CUresult params_replace(CUgraphNode node, struct node_params *p)
{
    GRAPH_LOCKS;
    CUresult r = node_lock_type(node, p->type, &locked);
    if (r != CUDA_SUCCESS) {
        params_clear(p);
        return r;
    }
    if (p->type == CU_GRAPH_NODE_TYPE_KERNEL) {
        p->kernel.hints = node->p.kernel.hints;
        p->kernel.hinted = node->p.kernel.hinted;
        p->kernel.cooperative = node->p.kernel.cooperative;
        memcpy(p->kernel.cluster, node->p.kernel.cluster, sizeof p->kernel.cluster);
        p->kernel.prioritized = node->p.kernel.prioritized;
        p->kernel.priority = node->p.kernel.priority;
        node->p.kernel.hints = NULL;
    }
    params_clear(&node->p);
    node->p = *p;
    return CUDA_SUCCESS;
}

/* Bodies of public functions, whose parameters they use. `make` is a call that makes the struct
 * node_params p of the caller's parameters, and is not made before all else is right. */
// NOLINTBEGIN(bugprone-macro-parentheses)
#define ADD_NODE(make)                                                                             \
    struct node_params p;                                                                          \
    CUresult r = params_begin(out, g);                                                             \
    if (r == CUDA_SUCCESS)                                                                         \
        r = make;                                                                                  \
    return r != CUDA_SUCCESS ? r : graph_insert(g, deps, NULL, count, &p, out, NULL)
#define CHANGE_NODE(type, make)                                                                    \
    struct node_params p;                                                                          \
    CUcontext ctx;                                                                                 \
    CUresult r = params_context(node, type, &ctx);                                                 \
    (void)ctx; /* which `make` may use */                                                          \
    if (r == CUDA_SUCCESS)                                                                         \
        r = make;                                                                                  \
    return r != CUDA_SUCCESS ? r : params_replace(node, &p)
/* `value`: of *out, when there is one to write to. */
#define SHOW_NODE(type, ...)                                                                       \
    GRAPH_LOCKS;                                                                                   \
    CUresult r = node_lock_type(node, type, &locked);                                              \
    if (r == CUDA_SUCCESS && out == NULL)                                                          \
        r = CUDA_ERROR_INVALID_VALUE;                                                              \
    if (r == CUDA_SUCCESS)                                                                         \
        *out = __VA_ARGS__;                                                                        \
    return r
// NOLINTEND(bugprone-macro-parentheses)

/* ---- kernels ---- */

CUresult params_kernel_node(const CUDA_KERNEL_NODE_PARAMS *k, struct node_params *out)
{
    if (k == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    struct launch_request q = {.f = k->func != NULL ? k->func : (CUfunction)k->kern,
                               .grid = {k->gridDimX, k->gridDimY, k->gridDimZ},
                               .block = {k->blockDimX, k->blockDimY, k->blockDimZ},
                               .shared = k->sharedMemBytes,
                               .params = k->kernelParams,
                               .extra = k->extra};
    return params_kernel(&q, out);
}

WEIR_API CUresult cuGraphAddKernelNode_v2(DEPS, const CUDA_KERNEL_NODE_PARAMS *params)
{
    HOLD;
    ADD_NODE(params_kernel_node(params, &p));
}

WEIR_API CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *out)
{
    HOLD;
    GRAPH_LOCKS;
    CU_TRY(node_lock_type(node, CU_GRAPH_NODE_TYPE_KERNEL, &locked));
    if (out == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    const struct kernel_node *k = &node->p.kernel;
    *out = (CUDA_KERNEL_NODE_PARAMS){.func = k->f,
                                     .gridDimX = k->grid[0],
                                     .gridDimY = k->grid[1],
                                     .gridDimZ = k->grid[2],
                                     .blockDimX = k->block[0],
                                     .blockDimY = k->block[1],
                                     .blockDimZ = k->block[2],
                                     .sharedMemBytes = k->shared,
                                     .kernelParams = k->pointers};
    return CUDA_SUCCESS;
}

WEIR_API CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode node,
                                                const CUDA_KERNEL_NODE_PARAMS *params)
{
    HOLD;
    CHANGE_NODE(CU_GRAPH_NODE_TYPE_KERNEL, params_kernel_node(params, &p));
}

/* Sets an attribute of a kernel node: one that means something here, or a hint that is kept. */
static CUresult set_attribute(struct kernel_node *k, CUkernelNodeAttrID which,
                              const CUkernelNodeAttrValue *value)
{
    struct launch_request q;
    CUlaunchAttribute a = {.id = which, .value = *value};
    if (which <= CU_LAUNCH_ATTRIBUTE_IGNORE ||
        which > CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING)
        return CUDA_ERROR_INVALID_VALUE;
    kernel_request(k, &q);
    CUresult r = launch_attribute(&q, &a);
    if (r == CUDA_SUCCESS)
        r = launch_check(&q);
    if (r == CUDA_SUCCESS && which == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
        uint32_t resolved[3];
        memcpy(resolved, q.cluster, sizeof resolved);
        r = cluster_resolve(q.f, q.grid, resolved);
    }
    if (r != CUDA_SUCCESS)
        return r;
    k->cooperative = q.cooperative;
    memcpy(k->cluster, q.cluster, sizeof k->cluster);
    if (which == CU_LAUNCH_ATTRIBUTE_PRIORITY) {
        k->prioritized = true;
        k->priority = value->priority;
    }
    if (k->hints == NULL)
        k->hints = xcalloc(32, sizeof *k->hints);
    k->hints[which] = *value;
    k->hinted |= 1u << which;
    return CUDA_SUCCESS;
}

WEIR_API CUresult cuGraphKernelNodeSetAttribute(CUgraphNode node, CUkernelNodeAttrID which,
                                                const CUkernelNodeAttrValue *value)
{
    HOLD;
    GRAPH_LOCKS;
    CU_TRY(node_lock_type(node, CU_GRAPH_NODE_TYPE_KERNEL, &locked));
    return value == NULL ? CUDA_ERROR_INVALID_VALUE : set_attribute(&node->p.kernel, which, value);
}

WEIR_API CUresult cuGraphKernelNodeGetAttribute(CUgraphNode node, CUkernelNodeAttrID which,
                                                CUkernelNodeAttrValue *out)
{
    HOLD;
    GRAPH_LOCKS;
    CU_TRY(node_lock_type(node, CU_GRAPH_NODE_TYPE_KERNEL, &locked));
    if (out == NULL || which <= CU_LAUNCH_ATTRIBUTE_IGNORE ||
        which > CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING)
        return CUDA_ERROR_INVALID_VALUE;
    const struct kernel_node *k = &node->p.kernel;
    CUkernelNodeAttrValue v = {0};
    if (k->hinted & 1u << which)
        v = k->hints[which];
    else if (which == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
        v.cooperative = k->cooperative;
    else if (which == CU_LAUNCH_ATTRIBUTE_PRIORITY)
        v.priority = k->prioritized ? k->priority : 0;
    *out = v;
    return CUDA_SUCCESS;
}

WEIR_API CUresult cuGraphKernelNodeCopyAttributes(CUgraphNode to, CUgraphNode from)
{
    HOLD;
    GRAPH_LOCKS;
    CU_TRY(driver_ready());
    CU_TRY(node_check(to));
    CU_TRY(node_check(from));
    CU_TRY(graph_lock_two(to->graph, from->graph, &locked));
    CU_TRY(node_check(to));
    CU_TRY(node_check(from));
    if (to->p.type != CU_GRAPH_NODE_TYPE_KERNEL || from->p.type != CU_GRAPH_NODE_TYPE_KERNEL)
        return CUDA_ERROR_INVALID_VALUE;
    if (to == from)
        return CUDA_SUCCESS;
    const struct kernel_node *k = &from->p.kernel;
    struct kernel_node *t = &to->p.kernel;
    t->cooperative = k->cooperative;
    memcpy(t->cluster, k->cluster, sizeof t->cluster);
    t->prioritized = k->prioritized;
    t->priority = k->priority;
    t->hinted = k->hinted;
    free(t->hints);
    t->hints = NULL;
    if (k->hints != NULL) {
        t->hints = xmalloc(32 * sizeof *t->hints);
        memcpy(t->hints, k->hints, 32 * sizeof *t->hints);
    }
    return CUDA_SUCCESS;
}

/* ---- copies ---- */

WEIR_API CUresult cuGraphAddMemcpyNode(DEPS, const CUDA_MEMCPY3D *copy, CUcontext ctx)
{
    HOLD;
    ADD_NODE(params_copy(copy, ctx, &p));
}

WEIR_API CUresult cuGraphMemcpyNodeGetParams(CUgraphNode node, CUDA_MEMCPY3D *out)
{
    HOLD;
    SHOW_NODE(CU_GRAPH_NODE_TYPE_MEMCPY, node->p.copy);
}

WEIR_API CUresult cuGraphMemcpyNodeSetParams(CUgraphNode node, const CUDA_MEMCPY3D *copy)
{
    HOLD;
    CHANGE_NODE(CU_GRAPH_NODE_TYPE_MEMCPY, params_copy(copy, ctx, &p));
}

/* ---- sets ---- */

/* Captured sets of pageable memory pass; nodes made by hand do not. */
CUresult params_set_node(const CUDA_MEMSET_NODE_PARAMS *set, CUcontext ctx, struct node_params *out)
{
    if (set != NULL && mem_kind_of((void *)(uintptr_t)set->dst, NULL) == MEM_PAGEABLE)
        return CUDA_ERROR_INVALID_VALUE;
    return params_set(set, ctx, out);
}

WEIR_API CUresult cuGraphAddMemsetNode(DEPS, const CUDA_MEMSET_NODE_PARAMS *set, CUcontext ctx)
{
    HOLD;
    ADD_NODE(params_set_node(set, ctx, &p));
}

WEIR_API CUresult cuGraphMemsetNodeGetParams(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS *out)
{
    HOLD;
    SHOW_NODE(CU_GRAPH_NODE_TYPE_MEMSET, node->p.set);
}

WEIR_API CUresult cuGraphMemsetNodeSetParams(CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *set)
{
    HOLD;
    CHANGE_NODE(CU_GRAPH_NODE_TYPE_MEMSET, params_set_node(set, ctx, &p));
}

/* ---- functions of the host ---- */

CUresult params_host_node(const CUDA_HOST_NODE_PARAMS *host, struct node_params *out)
{
    return host == NULL ? CUDA_ERROR_INVALID_VALUE : params_host(host->fn, host->userData, out);
}

WEIR_API CUresult cuGraphAddHostNode(DEPS, const CUDA_HOST_NODE_PARAMS *host)
{
    HOLD;
    ADD_NODE(params_host_node(host, &p));
}

WEIR_API CUresult cuGraphHostNodeGetParams(CUgraphNode node, CUDA_HOST_NODE_PARAMS *out)
{
    HOLD;
    SHOW_NODE(CU_GRAPH_NODE_TYPE_HOST, node->p.host);
}

WEIR_API CUresult cuGraphHostNodeSetParams(CUgraphNode node, const CUDA_HOST_NODE_PARAMS *host)
{
    HOLD;
    CHANGE_NODE(CU_GRAPH_NODE_TYPE_HOST, params_host_node(host, &p));
}

/* ---- graphs within, nothing ---- */

WEIR_API CUresult cuGraphAddChildGraphNode(DEPS, CUgraph child)
{
    HOLD;
    GRAPH_LOCKS;
    struct node_params p;
    CUgraphNodeParams any = {.type = CU_GRAPH_NODE_TYPE_GRAPH, .graph = {.graph = child}};
    CU_TRY(params_begin(out, g));
    CU_TRY(graph_lock_two(g, child, &locked));
    CU_TRY(params_any(g, &any, &p));
    return graph_add(g, deps, NULL, count, &p, out);
}

WEIR_API CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph *out)
{
    HOLD;
    SHOW_NODE(CU_GRAPH_NODE_TYPE_GRAPH, node->p.child);
}

WEIR_API CUresult cuGraphAddEmptyNode(DEPS)
{
    HOLD;
    struct node_params p = {.type = CU_GRAPH_NODE_TYPE_EMPTY};
    CUresult r = params_begin(out, g);
    return r != CUDA_SUCCESS ? r : graph_insert(g, deps, NULL, count, &p, out, NULL);
}

/* ---- events ---- */

static CUresult add_event(DEPS, CUgraphNodeType type, CUevent e)
{
    ADD_NODE(params_event(type, e, &p));
}

static CUresult get_event(CUgraphNode node, CUgraphNodeType type, CUevent *out)
{
    SHOW_NODE(type, node->p.event);
}

static CUresult set_event(CUgraphNode node, CUgraphNodeType type, CUevent e)
{
    CHANGE_NODE(type, params_event(type, e, &p));
}

WEIR_API CUresult cuGraphAddEventRecordNode(DEPS, CUevent e)
{
    HOLD;
    return add_event(out, g, deps, count, CU_GRAPH_NODE_TYPE_EVENT_RECORD, e);
}

WEIR_API CUresult cuGraphEventRecordNodeGetEvent(CUgraphNode node, CUevent *out)
{
    HOLD;
    return get_event(node, CU_GRAPH_NODE_TYPE_EVENT_RECORD, out);
}

WEIR_API CUresult cuGraphEventRecordNodeSetEvent(CUgraphNode node, CUevent e)
{
    HOLD;
    return set_event(node, CU_GRAPH_NODE_TYPE_EVENT_RECORD, e);
}

WEIR_API CUresult cuGraphAddEventWaitNode(DEPS, CUevent e)
{
    HOLD;
    return add_event(out, g, deps, count, CU_GRAPH_NODE_TYPE_WAIT_EVENT, e);
}

WEIR_API CUresult cuGraphEventWaitNodeGetEvent(CUgraphNode node, CUevent *out)
{
    HOLD;
    return get_event(node, CU_GRAPH_NODE_TYPE_WAIT_EVENT, out);
}

WEIR_API CUresult cuGraphEventWaitNodeSetEvent(CUgraphNode node, CUevent e)
{
    HOLD;
    return set_event(node, CU_GRAPH_NODE_TYPE_WAIT_EVENT, e);
}

/* ---- operations on words ---- */

CUresult params_batch_node(const CUDA_BATCH_MEM_OP_NODE_PARAMS *b, struct node_params *out)
{
    return b == NULL ? CUDA_ERROR_INVALID_VALUE
                     : params_batch(b->ctx, b->count, b->paramArray, b->flags, out);
}

WEIR_API CUresult cuGraphAddBatchMemOpNode(DEPS, const CUDA_BATCH_MEM_OP_NODE_PARAMS *b)
{
    HOLD;
    ADD_NODE(params_batch_node(b, &p));
}

WEIR_API CUresult cuGraphBatchMemOpNodeGetParams(CUgraphNode node,
                                                 CUDA_BATCH_MEM_OP_NODE_PARAMS *out)
{
    HOLD;
    SHOW_NODE(CU_GRAPH_NODE_TYPE_BATCH_MEM_OP,
              (CUDA_BATCH_MEM_OP_NODE_PARAMS){node->p.ctx, node->p.batch.count, node->p.batch.ops,
                                              node->p.batch.flags});
}

WEIR_API CUresult cuGraphBatchMemOpNodeSetParams(CUgraphNode node,
                                                 const CUDA_BATCH_MEM_OP_NODE_PARAMS *b)
{
    HOLD;
    CHANGE_NODE(CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, params_batch_node(b, &p));
}

/* ---- any kind ---- */

/* A node that may take a graph or a handle over: after all else is right. */
static CUresult add_taking(CUgraphNode *out, CUgraph g, const CUgraphNode *deps,
                           const CUgraphEdgeData *data, size_t count, CUgraphNodeParams *any)
{
    GRAPH_LOCKS;
    struct node_params p;
    bool child = any->type == CU_GRAPH_NODE_TYPE_GRAPH;
    CU_TRY(graph_lock_two(g, child ? any->graph.graph : g, &locked));
    CU_TRY(graph_check_deps(g, deps, data, count, any->type));
    CU_TRY(params_any(g, any, &p));
    return graph_add(g, deps, data, count, &p, out);
}

WEIR_API CUresult cuGraphAddNode_v2(CUgraphNode *out, CUgraph g, const CUgraphNode *deps,
                                    const CUgraphEdgeData *data, size_t count,
                                    CUgraphNodeParams *any)
{
    HOLD;
    CALLED(cuGraphAddNode);
    struct node_params p;
    CU_TRY(params_begin(out, g));
    if (any == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if (any->type == CU_GRAPH_NODE_TYPE_GRAPH || any->type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
        return add_taking(out, g, deps, data, count, any);
    CUresult r = params_any(g, any, &p);
    CUdeviceptr *at = any->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC ? &any->alloc.dptr : NULL;
    return r != CUDA_SUCCESS ? r : graph_insert(g, deps, data, count, &p, out, at);
}

WEIR_API CUresult cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams *any)
{
    HOLD;
    struct node_params p;
    CUcontext ctx;
    CU_TRY(driver_ready());
    CU_TRY(node_check(node));
    if (any == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    CU_TRY(params_context(node, any->type, &ctx));
    if (any->type == CU_GRAPH_NODE_TYPE_CONDITIONAL || any->type == CU_GRAPH_NODE_TYPE_GRAPH ||
        any->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC || any->type == CU_GRAPH_NODE_TYPE_MEM_FREE)
        return driver_error(CUDA_ERROR_NOT_SUPPORTED,
                            "cuGraphNodeSetParams: nodes of this kind cannot be changed");
    CUresult r = params_any(node->graph, any, &p);
    return r != CUDA_SUCCESS ? r : params_replace(node, &p);
}
