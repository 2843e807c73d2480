/* graph/update: changes of executable graphs: one node's parameters, switching nodes off, and
 * everything at once from another graph of the same shape. */
#include <stdlib.h>
#include <string.h>

#include "driver/graph/graph.h"

/* ---- one node ---- */

/* Locks the executable graph and finds the shadow of a node, whatever the state of the context. */
static CUresult look(CUgraphExec e, CUgraphNode node, CUgraphNode *shadow, CUgraphExec *locked)
{
    CU_TRY(driver_permitted());
    CU_TRY(exec_lock(e, locked));
    CU_TRY(node_check(node));
    *shadow = exec_node(e, node);
    return *shadow != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* The same for a node of that kind, to change it. */
static CUresult update_find(CUgraphExec e, CUgraphNode node, CUgraphNodeType type,
                            CUgraphNode *shadow, CUgraphExec *locked)
{
    CU_TRY(driver_ready());
    CU_TRY(look(e, node, shadow, locked));
    return (*shadow)->p.type == type ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* Whether a node of that kind can be changed. */
static CUresult update_check(CUgraphExec e, CUgraphNode node, CUgraphNodeType type)
{
    EXEC_LOCK;
    CUgraphNode shadow;
    return update_find(e, node, type, &shadow, &locked_exec);
}

/* Tells the device layer what the shadow does now. */
static CUresult forward_change(CUgraphExec e, CUgraphNode shadow)
{
    unsigned parts = shadow->p.type == CU_GRAPH_NODE_TYPE_BATCH_MEM_OP && shadow->p.batch.count > 0
                         ? shadow->p.batch.count
                         : 1;
    for (unsigned part = 0; part < parts; part++) {
        struct device_node d = {.id = shadow->first_id + part};
        CU_TRY(node_fill(shadow, part, &d));
        CU_TRY(driver_from_device(e->ctx, device_graph_change(e->device, &d)));
    }
    return CUDA_SUCCESS;
}

/* An array stays an array on both sides of a copy; other memory may be of any kind. */
static bool same_sides(const CUDA_MEMCPY3D *a, const CUDA_MEMCPY3D *b)
{
    return (a->srcMemoryType == CU_MEMORYTYPE_ARRAY) == (b->srcMemoryType == CU_MEMORYTYPE_ARRAY) &&
           (a->dstMemoryType == CU_MEMORYTYPE_ARRAY) == (b->dstMemoryType == CU_MEMORYTYPE_ARRAY);
}

static bool is_row(const CUDA_MEMCPY3D *m) { return m->Height <= 1 && m->Depth <= 1; }

/* What an executable graph's node may become (CUDA's rules of graph updates). */
static CUgraphExecUpdateResult update_allowed(const struct node_params *now,
                                              const struct node_params *to)
{
    if (now->type != to->type)
        return CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
    switch (now->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        if (now->ctx != to->ctx)
            return CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE;
        return CU_GRAPH_EXEC_UPDATE_SUCCESS;
    case CU_GRAPH_NODE_TYPE_MEMCPY: {
        const CUDA_MEMCPY3D *a = &now->copy, *b = &to->copy;
        bool boxes = a->WidthInBytes == b->WidthInBytes && a->Height == b->Height &&
                     a->Depth == b->Depth && a->srcPitch == b->srcPitch &&
                     a->dstPitch == b->dstPitch && a->srcHeight == b->srcHeight &&
                     a->dstHeight == b->dstHeight;
        bool fine = now->ctx == to->ctx && same_sides(a, b) && (boxes || (is_row(a) && is_row(b)));
        return fine ? CU_GRAPH_EXEC_UPDATE_SUCCESS : CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
    }
    case CU_GRAPH_NODE_TYPE_MEMSET: {
        const CUDA_MEMSET_NODE_PARAMS *a = &now->set, *b = &to->set;
        bool row = a->height == 1 && b->height == 1;
        bool fine = now->ctx == to->ctx &&
                    (row || (a->width == b->width && a->height == b->height &&
                             a->elementSize == b->elementSize && a->pitch == b->pitch));
        return fine ? CU_GRAPH_EXEC_UPDATE_SUCCESS : CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
    }
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
        if (now->batch.count != to->batch.count)
            return CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
        for (unsigned n = 0; n < now->batch.count; n++)
            if (now->batch.ops[n].operation != to->batch.ops[n].operation)
                return CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
        return CU_GRAPH_EXEC_UPDATE_SUCCESS;
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
        return now->conditional.type == to->conditional.type &&
                       now->conditional.size == to->conditional.size
                   ? CU_GRAPH_EXEC_UPDATE_SUCCESS
                   : CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
    default: return CU_GRAPH_EXEC_UPDATE_SUCCESS;
    }
}

/* Replaces the shadow's parameters by these, which are taken. Attributes of a kernel stay, unless
 * `attributes`: then they are the new ones. */
static void take(CUgraphNode shadow, struct node_params *p, bool attributes)
{
    if (p->type == CU_GRAPH_NODE_TYPE_KERNEL && !attributes) {
        p->kernel.hints = shadow->p.kernel.hints;
        p->kernel.hinted = shadow->p.kernel.hinted;
        p->kernel.cooperative = shadow->p.kernel.cooperative;
        memcpy(p->kernel.cluster, shadow->p.kernel.cluster, sizeof p->kernel.cluster);
        p->kernel.prioritized = shadow->p.kernel.prioritized;
        p->kernel.priority = shadow->p.kernel.priority;
        shadow->p.kernel.hints = NULL;
    }
    if (is_memory_node(p->type))
        exec_memory_retire(shadow->graph, shadow->p.memory.memory);
    params_clear(&shadow->p);
    shadow->p = *p;
}

/* Gives a node these parameters, which are taken. They are made without the lock: those of a kernel
 * may need a module to be loaded. */
static CUresult change(CUgraphExec e, CUgraphNode node, struct node_params *p)
{
    EXEC_LOCK;
    CUgraphNode shadow;
    CUresult r = update_find(e, node, p->type, &shadow, &locked_exec);
    if (r == CUDA_SUCCESS && update_allowed(&shadow->p, p) != CU_GRAPH_EXEC_UPDATE_SUCCESS)
        r = CUDA_ERROR_INVALID_VALUE;
    if (r != CUDA_SUCCESS) {
        params_clear(p);
        return r;
    }
    take(shadow, p, false);
    return forward_change(e, shadow);
}

#define EXEC CUgraphExec e, CUgraphNode node

/* The changes of one kind: how its parameters are made is the last argument. */
#define CHANGE(name, kind, params, make)                                                           \
    WEIR_API CUresult name params                                                                  \
    {                                                                                              \
        HOLD;                                                                                      \
        struct node_params p;                                                                      \
        CUresult r = update_check(e, node, kind);                                                  \
        if (r == CUDA_SUCCESS)                                                                     \
            r = (make);                                                                            \
        return r != CUDA_SUCCESS ? r : change(e, node, &p);                                        \
    }

CHANGE(cuGraphExecKernelNodeSetParams_v2, CU_GRAPH_NODE_TYPE_KERNEL,
       (EXEC, const CUDA_KERNEL_NODE_PARAMS *params), params_kernel_node(params, &p))
CHANGE(cuGraphExecMemcpyNodeSetParams, CU_GRAPH_NODE_TYPE_MEMCPY,
       (EXEC, const CUDA_MEMCPY3D *copy, CUcontext ctx), params_copy(copy, ctx, &p))
CHANGE(cuGraphExecMemsetNodeSetParams, CU_GRAPH_NODE_TYPE_MEMSET,
       (EXEC, const CUDA_MEMSET_NODE_PARAMS *set, CUcontext ctx), params_set_node(set, ctx, &p))
CHANGE(cuGraphExecHostNodeSetParams, CU_GRAPH_NODE_TYPE_HOST,
       (EXEC, const CUDA_HOST_NODE_PARAMS *host), params_host_node(host, &p))
CHANGE(cuGraphExecEventRecordNodeSetEvent, CU_GRAPH_NODE_TYPE_EVENT_RECORD, (EXEC, CUevent event),
       params_event(CU_GRAPH_NODE_TYPE_EVENT_RECORD, event, &p))
CHANGE(cuGraphExecEventWaitNodeSetEvent, CU_GRAPH_NODE_TYPE_WAIT_EVENT, (EXEC, CUevent event),
       params_event(CU_GRAPH_NODE_TYPE_WAIT_EVENT, event, &p))
CHANGE(cuGraphExecBatchMemOpNodeSetParams, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP,
       (EXEC, const CUDA_BATCH_MEM_OP_NODE_PARAMS *b), params_batch_node(b, &p))

/* ---- switching nodes off ---- */

static CUresult find_switch(CUgraphExec e, CUgraphNode node, CUgraphNode *shadow,
                            CUgraphExec *locked)
{
    CU_TRY(look(e, node, shadow, locked));
    CUgraphNodeType type = (*shadow)->p.type;
    return type == CU_GRAPH_NODE_TYPE_KERNEL || type == CU_GRAPH_NODE_TYPE_MEMCPY ||
                   type == CU_GRAPH_NODE_TYPE_MEMSET
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_VALUE;
}

WEIR_API CUresult cuGraphNodeSetEnabled(EXEC, unsigned int enabled)
{
    HOLD;
    EXEC_LOCK;
    CUgraphNode shadow;
    CU_TRY(driver_ready());
    CU_TRY(find_switch(e, node, &shadow, &locked_exec));
    shadow->disabled = enabled == 0;
    return forward_change(e, shadow);
}

WEIR_API CUresult cuGraphNodeGetEnabled(EXEC, unsigned int *enabled)
{
    HOLD;
    EXEC_LOCK;
    CUgraphNode shadow;
    CU_TRY(find_switch(e, node, &shadow, &locked_exec));
    if (enabled == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *enabled = !shadow->disabled;
    return CUDA_SUCCESS;
}

/* ---- everything at once ---- */

/* Pairs of nodes, shadow and new, and where they do not fit. */
struct pairing {
    struct pair {
        CUgraphNode shadow, node;
    } *items;
    size_t count, cap;
    CUgraphExecUpdateResultInfo info;
};

static bool update_differ(struct pairing *p, CUgraphExecUpdateResult result, CUgraphNode node,
                          CUgraphNode from)
{
    p->info = (CUgraphExecUpdateResultInfo){result, node, from};
    return false;
}

static bool pair_graphs(struct pairing *p, CUgraph a, CUgraph b);

/* Pairs two nodes and, in order, what they depend on. Marks hold 1 + the index of the pair. */
static bool pair_nodes(struct pairing *p, CUgraphNode a, CUgraphNode b, CUgraphNode from)
{
    if (a->mark != 0 || b->mark != 0) {
        if (a->mark == b->mark)
            return true;
        return update_differ(p, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, b, from);
    }
    struct pair pair = {a, b};
    vec_push(p, pair);
    a->mark = b->mark = (uint32_t)p->count;
    CUgraphExecUpdateResult fits = update_allowed(&a->p, &b->p);
    if (fits != CU_GRAPH_EXEC_UPDATE_SUCCESS)
        return update_differ(p, fits, b, NULL);
    if (a->in.count != b->in.count)
        return update_differ(p, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, b, NULL);
    for (size_t e = 0; e < a->in.count; e++)
        if (!pair_nodes(p, a->in.items[e].node, b->in.items[e].node, b))
            return false;
    if (a->p.type == CU_GRAPH_NODE_TYPE_GRAPH)
        return pair_graphs(p, a->p.child, b->p.child);
    if (a->p.type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
        for (unsigned k = 0; k < a->p.conditional.size; k++)
            if (!pair_graphs(p, a->p.conditional.bodies[k], b->p.conditional.bodies[k]))
                return false;
    return true;
}

/* From the last nodes, in order, back to the first. */
static bool pair_graphs(struct pairing *p, CUgraph a, CUgraph b)
{
    if (a->nodes.count != b->nodes.count)
        return update_differ(p, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, NULL, NULL);
    for (size_t n = 0; n < a->nodes.count; n++)
        a->nodes.items[n]->mark = b->nodes.items[n]->mark = 0;
    size_t i = 0, j = 0;
    for (;; i++, j++) {
        while (i < a->nodes.count && a->nodes.items[i]->out.count > 0)
            i++;
        while (j < b->nodes.count && b->nodes.items[j]->out.count > 0)
            j++;
        if (i == a->nodes.count || j == b->nodes.count)
            break;
        if (!pair_nodes(p, a->nodes.items[i], b->nodes.items[j], NULL))
            return false;
    }
    if (i < a->nodes.count || j < b->nodes.count)
        return update_differ(p, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED,
                             j < b->nodes.count ? b->nodes.items[j] : NULL, NULL);
    return true;
}

/* A conditional node is decided by the new handle's value from the next launch on. */
static CUresult take_condition(CUgraphExec e, CUgraphNode shadow, CUgraphNode node)
{
    struct graph_condition *former = shadow->p.conditional.condition;
    condition_hold(node->p.conditional.condition);
    shadow->p.conditional.condition = node->p.conditional.condition;
    vec_push(&e->shadow->former, former);
    return forward_change(e, shadow);
}

static CUresult update_apply(CUgraphExec e, const struct pairing *p)
{
    for (size_t n = 0; n < p->count; n++) {
        CUgraphNode shadow = p->items[n].shadow, node = p->items[n].node;
        struct node_params params;
        if (node->p.type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
            CU_TRY(take_condition(e, shadow, node));
        if (node->p.type == CU_GRAPH_NODE_TYPE_GRAPH ||
            node->p.type == CU_GRAPH_NODE_TYPE_CONDITIONAL ||
            node->p.type == CU_GRAPH_NODE_TYPE_EMPTY)
            continue;
        CUresult r = params_clone(&node->p, TAG_SHADOW, &params);
        if (r != CUDA_SUCCESS)
            return r;
        take(shadow, &params, true);       /* what is switched off stays so */
        if (!is_memory_node(node->p.type)) /* those have nothing to do on the device */
            r = forward_change(e, shadow);
        if (r != CUDA_SUCCESS)
            return r;
    }
    for (size_t n = 0; n < p->count; n++)
        if (p->items[n].node->p.type == CU_GRAPH_NODE_TYPE_GRAPH)
            memory_follow(p->items[n].shadow->p.child, p->items[n].node->p.child);
    return e->memory != NULL ? exec_memory_renew(e) : CUDA_SUCCESS;
}

/* ---- conditional handles ---- */

/* The shadow knows the handles of the graph instead of its own. */
static void adopt_handles(CUgraphExec e, CUgraph shadow, CUgraph g)
{
    for (size_t n = 0; n < shadow->conditions.count; n++) {
        atomic_fetch_sub(&shadow->conditions.items[n]->instances, 1);
        vec_push(&e->shadow->former, shadow->conditions.items[n]);
    }
    shadow->conditions.count = 0;
    for (size_t n = 0; n < g->conditions.count; n++) {
        condition_hold(g->conditions.items[n]);
        atomic_fetch_add(&g->conditions.items[n]->instances, 1);
        vec_push(&shadow->conditions, g->conditions.items[n]);
    }
}

struct resets {
    struct device_graph_reset *items;
    size_t count, cap;
};

static void list_resets(CUgraph shadow, struct resets *out)
{
    for (size_t n = 0; n < shadow->conditions.count; n++) {
        struct graph_condition *c = shadow->conditions.items[n];
        struct device_graph_reset reset = {&c->value, c->default_value};
        if (c->flags & CU_GRAPH_COND_ASSIGN_DEFAULT)
            vec_push(out, reset);
    }
    for (size_t n = 0; n < shadow->nodes.count; n++) {
        const struct node_params *p = &shadow->nodes.items[n]->p;
        if (p->type == CU_GRAPH_NODE_TYPE_GRAPH)
            list_resets(p->child, out);
        for (unsigned b = 0; p->type == CU_GRAPH_NODE_TYPE_CONDITIONAL && b < p->conditional.size;
             b++)
            list_resets(p->conditional.bodies[b], out);
    }
}

/* Handles and their default values are those of the graph that the shadow was updated from. What
 * launches that are under way may read stays, as with the program's objects. */
static CUresult adopt_all_handles(CUgraphExec e, CUgraph shadow, CUgraph g, const struct pairing *p)
{
    struct conditions *former = &e->shadow->former;
    adopt_handles(e, shadow, g);
    for (size_t n = 0; n < p->count; n++) {
        const struct node_params *to = &p->items[n].shadow->p, *from = &p->items[n].node->p;
        if (to->type == CU_GRAPH_NODE_TYPE_GRAPH)
            adopt_handles(e, to->child, from->child);
        for (unsigned b = 0; to->type == CU_GRAPH_NODE_TYPE_CONDITIONAL && b < to->conditional.size;
             b++)
            adopt_handles(e, to->conditional.bodies[b], from->conditional.bodies[b]);
    }
    if (former->count == 0 && e->shadow->conditions.count == 0)
        return CUDA_SUCCESS;
    struct resets resets = {0};
    list_resets(e->shadow, &resets);
    CUresult r = driver_from_device(
        e->ctx, device_graph_set_resets(e->device, resets.items, (uint32_t)resets.count));
    free(resets.items);
    if (!device_graph_idle(e->device))
        return r;
    for (size_t n = 0; n < former->count; n++)
        condition_drop(former->items[n]);
    former->count = 0;
    return r;
}

/* ---- objects of the program's ---- */

/* What an executable graph held until it was updated. */
struct held {
    struct user_hold *items;
    size_t count, cap;
};

/* The shadow holds what the graph holds, and no more what it held. */
static void adopt_objects(CUgraph shadow, CUgraph g, struct held *before)
{
    for (size_t n = 0; n < shadow->objects.count; n++)
        vec_push(before, shadow->objects.items[n]);
    shadow->objects.count = 0;
    for (size_t n = 0; n < g->objects.count; n++) {
        user_object_hold(g->objects.items[n].object, g->objects.items[n].count);
        vec_push(&shadow->objects, g->objects.items[n]);
    }
}

/* The same for the graphs within. What launches that are under way may use stays until a later
 * update or the end of the executable graph. */
static void adopt_all(CUgraphExec e, CUgraph shadow, CUgraph g, const struct pairing *p,
                      struct held *before)
{
    adopt_objects(shadow, g, before);
    for (size_t n = 0; n < p->count; n++) {
        const struct node_params *to = &p->items[n].shadow->p, *from = &p->items[n].node->p;
        if (to->type == CU_GRAPH_NODE_TYPE_GRAPH)
            adopt_objects(to->child, from->child, before);
        if (to->type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
            for (unsigned b = 0; b < to->conditional.size; b++)
                adopt_objects(to->conditional.bodies[b], from->conditional.bodies[b], before);
    }
    if (device_graph_idle(e->device))
        return;
    for (size_t n = 0; n < before->count; n++)
        vec_push(&e->shadow->objects, before->items[n]);
    before->count = 0;
}

/* With no lock held: an object's end is the program's code. */
static void drop_held(struct held *before)
{
    for (size_t n = 0; n < before->count; n++)
        user_object_drop(before->items[n].object, before->items[n].count);
    free(before->items);
}

/* The executable graph is locked. */
static CUresult update(CUgraphExec e, CUgraph shadow, CUgraph g, CUgraphExecUpdateResultInfo *info,
                       struct held *before)
{
    GRAPH_LOCKS;
    CU_TRY(graph_lock(g, &locked));
    struct pairing p = {.info = {CU_GRAPH_EXEC_UPDATE_SUCCESS, NULL, NULL}};
    CUresult r = CUDA_SUCCESS;
    if (!pair_graphs(&p, shadow, g)) {
        r = CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    } else if (g->once != shadow->once && memory_instantiated(g)) {
        p.info.result = CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED; /* another one has its memory */
        r = CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    } else if ((r = update_apply(e, &p)) != CUDA_SUCCESS) {
        p.info.result = CU_GRAPH_EXEC_UPDATE_ERROR;
    } else {
        memory_follow(shadow, g);
        adopt_all(e, shadow, g, &p, before);
        r = adopt_all_handles(e, shadow, g, &p);
    }
    if (info != NULL)
        *info = p.info;
    free(p.items);
    return r;
}

WEIR_API CUresult cuGraphExecUpdate_v2(CUgraphExec e, CUgraph g, CUgraphExecUpdateResultInfo *info)
{
    HOLD;
    EXEC_LOCK;
    CU_TRY(driver_permitted());
    CU_TRY(exec_lock(e, &locked_exec));
    struct held before = {0};
    CUresult r = update(e, e->shadow, g, info, &before);
    exec_unlock(&locked_exec);
    drop_held(&before);
    return r;
}

WEIR_API CUresult cuGraphExecChildGraphNodeSetParams(EXEC, CUgraph child)
{
    HOLD;
    EXEC_LOCK;
    CUgraphNode shadow;
    CU_TRY(update_find(e, node, CU_GRAPH_NODE_TYPE_GRAPH, &shadow, &locked_exec));
    struct held before = {0};
    CUresult r = update(e, shadow->p.child, child, NULL, &before);
    exec_unlock(&locked_exec);
    drop_held(&before);
    return r;
}

WEIR_API CUresult cuGraphExecNodeSetParams(EXEC, CUgraphNodeParams *any)
{
    HOLD;
    struct node_params p;
    if (any == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    CU_TRY(update_check(e, node, any->type));
    if (any->type == CU_GRAPH_NODE_TYPE_GRAPH)
        return cuGraphExecChildGraphNodeSetParams(e, node, any->graph.graph);
    if (any->type == CU_GRAPH_NODE_TYPE_CONDITIONAL || any->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC ||
        any->type == CU_GRAPH_NODE_TYPE_MEM_FREE)
        return driver_error(CUDA_ERROR_NOT_SUPPORTED,
                            "cuGraphExecNodeSetParams: nodes of this kind cannot be changed");
    CUresult r = params_any(node->graph, any, &p);
    return r != CUDA_SUCCESS ? r : change(e, node, &p);
}
