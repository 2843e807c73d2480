/* graph/node: what nodes do: checking, keeping and showing parameters. Everything that a program
 * hands over is copied: it may go when the call is back. */
#include <stdlib.h>
#include <string.h>

#include "driver/graph/graph.h"

/* ---- kernels ---- */

static void point(struct kernel_node *k)
{
    for (int n = 0; n < k->f->func->nparams; n++)
        k->pointers[n] = k->buffer + k->f->param_offsets[n];
}

/* Of a launch whose function is one. */
static CUresult keep_kernel(const struct launch_request *q, struct node_params *out)
{
    CU_TRY(launch_check(q));
    CUfunction f = q->f;
    *out = (struct node_params){.type = CU_GRAPH_NODE_TYPE_KERNEL, .ctx = f->module->ctx};
    struct kernel_node *k = &out->kernel;
    k->f = f;
    k->number = f->number;
    memcpy(k->grid, q->grid, sizeof k->grid);
    memcpy(k->block, q->block, sizeof k->block);
    memcpy(k->cluster, q->cluster, sizeof k->cluster);
    k->shared = q->shared;
    k->cooperative = q->cooperative;
    k->prioritized = q->prioritized;
    k->priority = q->priority;
    k->buffer = xcalloc(f->info.param_bytes + 1, 1);
    k->pointers = xcalloc((size_t)f->func->nparams + 1, sizeof *k->pointers);
    uint32_t bytes;
    CUresult r = launch_gather(q, k->buffer, &bytes);
    if (r != CUDA_SUCCESS) {
        params_clear(out);
        return r;
    }
    point(k);
    return CUDA_SUCCESS;
}

CUresult params_kernel(const struct launch_request *q, struct node_params *out)
{
    struct launch_request own = *q;
    CUcontext current;
    if (!handle_live(q->f, TAG_FUNCTION)) { /* perhaps a kernel: of the current context */
        CU_TRY(driver_current(&current));
        CU_TRY(launch_function(q->f, current, &own.f));
    }
    CU_TRY(function_check(own.f));
    return keep_kernel(&own, out);
}

CUresult kernel_live(const struct kernel_node *k)
{
    return handle_live(k->f, TAG_FUNCTION) && k->f->number == k->number
               ? CUDA_SUCCESS
               : driver_error(CUDA_ERROR_INVALID_VALUE, "a kernel of the graph has been unloaded");
}

void kernel_request(const struct kernel_node *k, struct launch_request *q)
{
    *q = (struct launch_request){.f = k->f,
                                 .shared = k->shared,
                                 .cooperative = k->cooperative,
                                 .prioritized = k->prioritized,
                                 .priority = k->priority,
                                 .params = k->pointers};
    memcpy(q->grid, k->grid, sizeof q->grid);
    memcpy(q->block, k->block, sizeof q->block);
    memcpy(q->cluster, k->cluster, sizeof q->cluster);
}

static CUresult clone_kernel(const struct kernel_node *from, struct node_params *out)
{
    struct launch_request q;
    CU_TRY(kernel_live(from));
    kernel_request(from, &q);
    CU_TRY(keep_kernel(&q, out));
    out->kernel.hinted = from->hinted;
    if (from->hints != NULL) {
        size_t bytes = 32 * sizeof *from->hints;
        out->kernel.hints = xmalloc(bytes);
        memcpy(out->kernel.hints, from->hints, bytes);
    }
    return CUDA_SUCCESS;
}

/* ---- copies, sets ---- */

/* What a node is told of its context, or else the current one. A node that none is known for is of
 * whichever context its graph is instantiated in. */
static CUresult node_context(CUcontext *ctx)
{
    CU_TRY(driver_ready());
    CU_TRY(driver_permitted());
    if (*ctx != NULL)
        return handle_live(*ctx, TAG_CONTEXT) ? driver_context(*ctx) : CUDA_ERROR_INVALID_CONTEXT;
    if (driver_thread.current != NULL && context_live(driver_thread.current))
        *ctx = driver_thread.current;
    return CUDA_SUCCESS;
}

/* What is said to be device memory must not be pageable. */
static bool wrong_side(CUmemorytype type, CUdeviceptr at)
{
    return type == CU_MEMORYTYPE_DEVICE && mem_kind_of((void *)(uintptr_t)at, NULL) == MEM_PAGEABLE;
}

CUresult params_copy(const CUDA_MEMCPY3D *copy, CUcontext ctx, struct node_params *out)
{
    struct device_copy box;
    CUresult r = node_context(&ctx);
    if (r == CUDA_SUCCESS && copy == NULL)
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS && (wrong_side(copy->srcMemoryType, copy->srcDevice) ||
                              wrong_side(copy->dstMemoryType, copy->dstDevice)))
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        r = copy_resolve(copy, &box);
    if (r == CUDA_SUCCESS)
        *out = (struct node_params){.type = CU_GRAPH_NODE_TYPE_MEMCPY, .ctx = ctx, .copy = *copy};
    return r;
}

CUresult params_set(const CUDA_MEMSET_NODE_PARAMS *set, CUcontext ctx, struct node_params *out)
{
    struct device_set box;
    CUresult r = node_context(&ctx);
    if (r == CUDA_SUCCESS && (set == NULL || set->width == 0 || set->height == 0))
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        r = set_resolve(set, &box);
    if (r == CUDA_SUCCESS)
        *out = (struct node_params){.type = CU_GRAPH_NODE_TYPE_MEMSET, .ctx = ctx, .set = *set};
    return r;
}

/* ---- the host, events, words ---- */

CUresult params_host(CUhostFn fn, void *user, struct node_params *out)
{
    CUcontext ctx = NULL;
    CUresult r = node_context(&ctx);
    if (r == CUDA_SUCCESS && fn == NULL)
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        *out =
            (struct node_params){.type = CU_GRAPH_NODE_TYPE_HOST, .ctx = ctx, .host = {fn, user}};
    return r;
}

CUresult params_event(CUgraphNodeType type, CUevent e, struct node_params *out)
{
    struct device_event *event;
    CUcontext ctx = NULL;
    CUresult r = node_context(&ctx);
    if (r == CUDA_SUCCESS)
        r = e == NULL ? CUDA_ERROR_INVALID_VALUE : driver_event(e, &event);
    if (r == CUDA_SUCCESS && (e->flags & CU_EVENT_INTERPROCESS) != 0)
        r = driver_error(CUDA_ERROR_NOT_SUPPORTED,
                         "interprocess events in graphs are not supported");
    if (r == CUDA_SUCCESS)
        *out = (struct node_params){.type = type, .ctx = e->ctx, .event = e};
    return r;
}

CUresult params_batch(CUcontext ctx, unsigned count, const CUstreamBatchMemOpParams *ops,
                      unsigned flags, struct node_params *out)
{
    enum { MOST = 256 };
    CUresult r = node_context(&ctx);
    if (r == CUDA_SUCCESS && (flags != 0 || count > MOST || (count > 0 && ops == NULL)))
        r = CUDA_ERROR_INVALID_VALUE;
    for (unsigned n = 0; n < count && r == CUDA_SUCCESS; n++)
        r = batch_check(&ops[n]);
    if (r != CUDA_SUCCESS)
        return r;
    *out = (struct node_params){.type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, .ctx = ctx};
    out->batch.count = count;
    out->batch.flags = flags;
    out->batch.ops = xcalloc((size_t)count + 1, sizeof *ops);
    if (count > 0)
        memcpy(out->batch.ops, ops, count * sizeof *ops);
    return CUDA_SUCCESS;
}

/* ---- graphs within ---- */

static CUresult params_child(CUgraph g, const CUDA_CHILD_GRAPH_NODE_PARAMS *c,
                             struct node_params *out)
{
    CUgraph child;
    CUresult r = graph_check(c->graph);
    if (r != CUDA_SUCCESS)
        return r;
    CUgraphNode owner = NULL;
    for (CUgraph up = g; up != NULL; owner = up->owner, up = owner != NULL ? owner->graph : NULL)
        if (up == c->graph && c->ownership == CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE)
            return CUDA_ERROR_INVALID_VALUE;
    if (c->ownership == CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE) {
        if (c->graph->owner != NULL || c->graph->capturing)
            return CUDA_ERROR_INVALID_VALUE;
        if (memory_instantiated(c->graph))
            return driver_error(CUDA_ERROR_NOT_SUPPORTED,
                                "a graph with memory nodes that is instantiated cannot be given "
                                "away");
        child = c->graph;
    } else if (c->ownership != CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE) {
        return CUDA_ERROR_INVALID_VALUE;
    } else if (graph_has(c->graph, CU_GRAPH_NODE_TYPE_MEM_ALLOC) ||
               graph_has(c->graph, CU_GRAPH_NODE_TYPE_MEM_FREE) ||
               graph_has(c->graph, CU_GRAPH_NODE_TYPE_CONDITIONAL)) {
        return driver_error(CUDA_ERROR_NOT_SUPPORTED,
                            "a graph with memory or conditional nodes cannot be cloned into "
                            "another: give it away (ownership MOVE)");
    } else if ((r = graph_clone(c->graph, TAG_GRAPH, &child)) != CUDA_SUCCESS) {
        return r;
    }
    *out = (struct node_params){.type = CU_GRAPH_NODE_TYPE_GRAPH, .child = child};
    return CUDA_SUCCESS;
}

static CUresult params_conditional(CUgraph g, CUDA_CONDITIONAL_NODE_PARAMS *c,
                                   struct node_params *out)
{
    CUcontext ctx = c->ctx;
    CU_TRY(node_context(&ctx));
    unsigned most = c->type == CU_GRAPH_COND_TYPE_IF      ? 2
                    : c->type == CU_GRAPH_COND_TYPE_WHILE ? 1
                                                          : UINT16_MAX;
    struct graph_condition *condition = condition_find(g, c->handle);
    if (condition == NULL || condition->used || (unsigned)c->type > CU_GRAPH_COND_TYPE_SWITCH ||
        c->size == 0 || c->size > most)
        return CUDA_ERROR_INVALID_VALUE;
    condition->used = true;
    condition_hold(condition);
    *out = (struct node_params){.type = CU_GRAPH_NODE_TYPE_CONDITIONAL, .ctx = ctx};
    struct conditional_node *n = &out->conditional;
    n->condition = condition;
    n->type = c->type;
    n->size = c->size;
    n->bodies = xcalloc(c->size, sizeof(CUgraph));
    for (unsigned b = 0; b < c->size; b++) {
        n->bodies[b] = graph_begin(TAG_GRAPH);
        n->bodies[b]->body = true;
    }
    c->phGraph_out = n->bodies;
    return CUDA_SUCCESS;
}

static CUresult clone_conditional(const struct conditional_node *from, uint32_t tag,
                                  struct node_params *out)
{
    out->conditional = *from;
    out->conditional.bodies = xcalloc(from->size, sizeof(CUgraph));
    condition_hold(from->condition);
    for (unsigned b = 0; b < from->size; b++) {
        CUresult r = graph_clone(from->bodies[b], tag, &out->conditional.bodies[b]);
        if (r != CUDA_SUCCESS) {
            out->conditional.size = b;
            params_clear(out);
            return r;
        }
    }
    return CUDA_SUCCESS;
}

/* ---- any kind ---- */

CUresult params_any(CUgraph g, CUgraphNodeParams *any, struct node_params *out)
{
    for (int n = 0; n < 3; n++)
        if (any->reserved0[n] != 0)
            return CUDA_ERROR_INVALID_VALUE;
    switch (any->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: {
        const CUDA_KERNEL_NODE_PARAMS_v3 *k = &any->kernel;
        struct launch_request q = {.f = k->func != NULL ? k->func : (CUfunction)k->kern,
                                   .grid = {k->gridDimX, k->gridDimY, k->gridDimZ},
                                   .block = {k->blockDimX, k->blockDimY, k->blockDimZ},
                                   .shared = k->sharedMemBytes,
                                   .params = k->kernelParams,
                                   .extra = k->extra};
        return params_kernel(&q, out);
    }
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        return any->memcpy.flags != 0
                   ? CUDA_ERROR_INVALID_VALUE
                   : params_copy(&any->memcpy.copyParams, any->memcpy.copyCtx, out);
    case CU_GRAPH_NODE_TYPE_MEMSET: {
        const CUDA_MEMSET_NODE_PARAMS_v2 *m = &any->memset;
        CUDA_MEMSET_NODE_PARAMS set = {m->dst,         m->pitch, m->value,
                                       m->elementSize, m->width, m->height};
        return params_set(&set, m->ctx, out);
    }
    case CU_GRAPH_NODE_TYPE_HOST: return params_host(any->host.fn, any->host.userData, out);
    case CU_GRAPH_NODE_TYPE_GRAPH: return params_child(g, &any->graph, out);
    case CU_GRAPH_NODE_TYPE_EMPTY:
        *out = (struct node_params){.type = CU_GRAPH_NODE_TYPE_EMPTY};
        return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        return params_event(any->type,
                            any->type == CU_GRAPH_NODE_TYPE_WAIT_EVENT ? any->eventWait.event
                                                                       : any->eventRecord.event,
                            out);
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
        return params_batch(any->memOp.ctx, any->memOp.count, any->memOp.paramArray,
                            any->memOp.flags, out);
    case CU_GRAPH_NODE_TYPE_CONDITIONAL: return params_conditional(g, &any->conditional, out);
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
        return driver_error(CUDA_ERROR_NOT_SUPPORTED, "external semaphores are not supported");
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC: {
        const CUDA_MEM_ALLOC_NODE_PARAMS_v2 *a = &any->alloc;
        CUDA_MEM_ALLOC_NODE_PARAMS alloc = {a->poolProps, a->accessDescs, a->accessDescCount,
                                            a->bytesize, 0};
        return params_alloc(&alloc, out);
    }
    case CU_GRAPH_NODE_TYPE_MEM_FREE: return params_free(any->free.dptr, out);
    }
    return CUDA_ERROR_INVALID_VALUE;
}

void params_clear(struct node_params *p)
{
    switch (p->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        free(p->kernel.buffer);
        free(p->kernel.pointers);
        free(p->kernel.hints);
        break;
    case CU_GRAPH_NODE_TYPE_GRAPH:
        p->child->owner = NULL;
        graph_free(p->child);
        break;
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP: free(p->batch.ops); break;
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
        for (unsigned b = 0; b < p->conditional.size; b++)
            graph_free(p->conditional.bodies[b]);
        free(p->conditional.bodies);
        condition_drop(p->conditional.condition);
        break;
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
    case CU_GRAPH_NODE_TYPE_MEM_FREE: memory_clear(&p->memory); break;
    default: break;
    }
    p->type = CU_GRAPH_NODE_TYPE_EMPTY;
}

CUresult params_clone(const struct node_params *p, uint32_t tag, struct node_params *out)
{
    *out = *p;
    switch (p->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: return clone_kernel(&p->kernel, out);
    case CU_GRAPH_NODE_TYPE_GRAPH: return graph_clone(p->child, tag, &out->child);
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
        return params_batch(p->ctx, p->batch.count, p->batch.ops, p->batch.flags, out);
    case CU_GRAPH_NODE_TYPE_CONDITIONAL: return clone_conditional(&p->conditional, tag, out);
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
    case CU_GRAPH_NODE_TYPE_MEM_FREE: memory_clone(&p->memory, &out->memory); return CUDA_SUCCESS;
    default: return CUDA_SUCCESS;
    }
}
