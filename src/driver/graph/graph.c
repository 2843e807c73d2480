/* graph: graphs, their nodes and edges: making, cloning, asking, destroying. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "driver/graph/graph.h"

static _Atomic uint64_t graph_ids;

/* ---- edges ---- */

static struct graph_edge *find_edge(struct graph_edges *edges, CUgraphNode node)
{
    for (size_t n = 0; n < edges->count; n++)
        if (edges->items[n].node == node)
            return &edges->items[n];
    return NULL;
}

static void drop_edge(struct graph_edges *edges, CUgraphNode node)
{
    struct graph_edge *e = find_edge(edges, node);
    if (e == NULL)
        return;
    size_t at = (size_t)(e - edges->items);
    memmove(e, e + 1, (edges->count - at - 1) * sizeof *e);
    edges->count--;
}

void graph_connect(CUgraphNode from, CUgraphNode to, const CUgraphEdgeData *data)
{
    CUgraphEdgeData d = data != NULL ? *data : (CUgraphEdgeData){0};
    if (find_edge(&to->in, from) != NULL)
        return;
    struct graph_edge in = {from, d}, out = {to, d};
    vec_push(&to->in, in);
    vec_push(&from->out, out);
}

/* An edge of another kind than the ordinary one comes from a kernel and goes to a kernel. */
static bool edge_valid(CUgraphNodeType from, CUgraphNodeType to, const CUgraphEdgeData *d)
{
    if (d == NULL)
        return true;
    for (size_t n = 0; n < sizeof d->reserved; n++)
        if (d->reserved[n] != 0)
            return false;
    if (d->type == CU_GRAPH_DEPENDENCY_TYPE_DEFAULT && d->from_port == 0)
        return d->to_port == 0;
    return from == CU_GRAPH_NODE_TYPE_KERNEL && d->to_port == 0 &&
           d->from_port <= CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER &&
           d->type <= CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC &&
           (d->type != CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC || to == CU_GRAPH_NODE_TYPE_KERNEL);
}

/* ---- making and freeing ---- */

CUgraph graph_begin(uint32_t tag)
{
    CUgraph g = handle_begin(tag, sizeof *g);
    pthread_mutex_init(&g->lock, NULL);
    g->id = atomic_fetch_add(&graph_ids, 1) + 1;
    return g;
}

void graph_publish(CUgraph g) { handle_publish(g, TAG_GRAPH); }

/* Its handle is wiped. */
static void node_free(CUgraphNode n)
{
    params_clear(&n->p);
    free(n->in.items);
    free(n->out.items);
    handle_recycle(n);
}

static void free_retired_node(struct retired *end)
{
    node_free((CUgraphNode)(void *)((char *)end - offsetof(struct CUgraphNode_st, end)));
}

void graph_free(CUgraph g)
{
    handle_wipe(g);
    for (size_t n = 0; n < g->nodes.count; n++)
        if (handle_wipe(g->nodes.items[n]))
            node_free(g->nodes.items[n]);
    for (size_t n = 0; n < g->objects.count; n++)
        user_object_drop(g->objects.items[n].object, g->objects.items[n].count);
    for (size_t n = 0; n < g->conditions.count; n++)
        condition_drop(g->conditions.items[n]);
    for (size_t n = 0; n < g->former.count; n++)
        condition_drop(g->former.items[n]);
    free(g->nodes.items);
    free(g->objects.items);
    free(g->conditions.items);
    free(g->former.items);
    for (size_t n = 0; n < g->retired.count; n++)
        memory_drop(g->retired.items[n]);
    free(g->retired.items);
    free(g->addresses.items);
    once_drop(g->once);
    handle_recycle(g);
}

static void free_retired_graph(struct retired *end)
{
    graph_free((CUgraph)(void *)((char *)end - offsetof(struct CUgraph_st, end)));
}

/* The graphs within a node: its child graph, or its bodies. */
static CUgraph const *graphs_within(const struct node_params *p, unsigned *count)
{
    *count = p->type == CU_GRAPH_NODE_TYPE_GRAPH         ? 1
             : p->type == CU_GRAPH_NODE_TYPE_CONDITIONAL ? p->conditional.size
                                                         : 0;
    return p->type == CU_GRAPH_NODE_TYPE_GRAPH ? &p->child : p->conditional.bodies;
}

static bool node_seen_to_go(const struct node_params *p)
{
    unsigned count;
    CUgraph const *within = graphs_within(p, &count);
    for (unsigned n = 0; n < count; n++)
        if (graph_seen_to_go(within[n]))
            return true;
    return false;
}

bool graph_seen_to_go(CUgraph g)
{
    bool seen = g->objects.count > 0 || g->once != NULL;
    for (size_t n = 0; n < g->nodes.count && !seen; n++)
        seen = node_seen_to_go(&g->nodes.items[n]->p);
    return seen;
}

static bool node_capturing(const struct node_params *p)
{
    unsigned count;
    CUgraph const *within = graphs_within(p, &count);
    for (unsigned n = 0; n < count; n++)
        if (graph_capturing(within[n]))
            return true;
    return false;
}

bool graph_capturing(CUgraph g)
{
    bool found = g->capturing;
    for (size_t n = 0; n < g->nodes.count && !found; n++)
        found = node_capturing(&g->nodes.items[n]->p);
    return found;
}

void graph_retire(bool seen, struct retired *end, void (*free)(struct retired *end))
{
    end->free = free;
    if (!seen) {
        retire(end);
        return;
    }
    hold_drain();
    free(end);
}

void graph_discard(CUgraph g)
{
    GRAPH_LOCKS;
    if (graph_lock(g, &locked) == CUDA_SUCCESS)
        handle_wipe(g);
    bool seen = graph_seen_to_go(g);
    graph_unlock(&locked);
    graph_retire(seen, &g->end, free_retired_graph);
}

/* The graph is within the node's now: found by the program's calls no sooner. */
static void node_own(CUgraphNode n, CUgraph g)
{
    atomic_store(&g->owner, n);
    if (observed())
        observe_object_ended(g); /* one that was given away is no object of the program's now */
    if (handle_tag(n) == TAG_NODE)
        graph_publish(g);
}

/* Seen by others only when it is whole: their node_check looks at the graph. */
static CUgraphNode node_new(CUgraph g, uint32_t tag, const struct node_params *p)
{
    CUgraphNode n = handle_begin(tag, sizeof *n);
    n->graph = g;
    n->id = atomic_fetch_add(&graph_ids, 1) + 1;
    n->p = *p;
    handle_publish(n, tag);
    if (p->type == CU_GRAPH_NODE_TYPE_GRAPH)
        node_own(n, p->child);
    if (p->type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
        for (unsigned b = 0; b < p->conditional.size; b++)
            node_own(n, p->conditional.bodies[b]);
    vec_push(&g->nodes, n);
    return n;
}

CUresult graph_check_deps(CUgraph g, const CUgraphNode *deps, const CUgraphEdgeData *data,
                          size_t count, CUgraphNodeType type)
{
    if (count > 0 && deps == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t n = 0; n < count; n++) {
        if (node_check(deps[n]) != CUDA_SUCCESS || deps[n]->graph != g ||
            !edge_valid(deps[n]->p.type, type, data != NULL ? &data[n] : NULL))
            return CUDA_ERROR_INVALID_VALUE;
        for (size_t m = 0; m < n; m++)
            if (deps[m] == deps[n])
                return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

CUresult graph_add(CUgraph g, const CUgraphNode *deps, const CUgraphEdgeData *data, size_t count,
                   struct node_params *params, CUgraphNode *out)
{
    CUresult r = graph_check_deps(g, deps, data, count, params->type);
    if (r == CUDA_SUCCESS && is_memory_node(params->type))
        r = memory_claim(g, deps, count, params);
    if (r != CUDA_SUCCESS) {
        params_clear(params);
        return r;
    }
    CUgraphNode n = node_new(g, TAG_NODE, params);
    for (size_t d = 0; d < count; d++)
        graph_connect(deps[d], n, data != NULL ? &data[d] : NULL);
    if (is_memory_node(params->type))
        memory_added(n);
    *out = n;
    return CUDA_SUCCESS;
}

CUresult graph_insert(CUgraph g, const CUgraphNode *deps, const CUgraphEdgeData *data, size_t count,
                      struct node_params *params, CUgraphNode *out, CUdeviceptr *at)
{
    GRAPH_LOCKS;
    CUresult r = graph_lock(g, &locked);
    if (r != CUDA_SUCCESS) {
        params_clear(params);
        return r;
    }
    CU_TRY(graph_add(g, deps, data, count, params, out));
    if (at != NULL)
        *at = params->memory.params.dptr; /* found when it was added */
    return CUDA_SUCCESS;
}

bool graph_has(CUgraph g, CUgraphNodeType type)
{
    for (size_t n = 0; n < g->nodes.count; n++) {
        const struct node_params *p = &g->nodes.items[n]->p;
        if (p->type == type || (p->type == CU_GRAPH_NODE_TYPE_GRAPH && graph_has(p->child, type)))
            return true;
        if (p->type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
            for (unsigned b = 0; b < p->conditional.size; b++)
                if (graph_has(p->conditional.bodies[b], type))
                    return true;
    }
    return false;
}

CUresult graph_clone(CUgraph g, uint32_t tag, CUgraph *out)
{
    CUgraph c = graph_begin(tag);
    c->body = g->body;
    for (size_t n = 0; n < g->nodes.count; n++) {
        CUgraphNode from = g->nodes.items[n];
        struct node_params p;
        CUresult r = params_clone(&from->p, tag, &p);
        if (r != CUDA_SUCCESS) {
            graph_free(c);
            return r;
        }
        CUgraphNode to = node_new(c, tag == TAG_SHADOW ? TAG_SHADOW_NODE : TAG_NODE, &p);
        to->origin = from->id;
        to->disabled = from->disabled;
        from->index = (uint32_t)n;
    }
    for (size_t n = 0; n < g->nodes.count; n++)
        for (size_t e = 0; e < g->nodes.items[n]->in.count; e++) {
            const struct graph_edge *edge = &g->nodes.items[n]->in.items[e];
            graph_connect(c->nodes.items[edge->node->index], c->nodes.items[n], &edge->data);
        }
    for (size_t n = 0; n < g->objects.count; n++) {
        user_object_hold(g->objects.items[n].object, g->objects.items[n].count);
        vec_push(&c->objects, g->objects.items[n]);
    }
    for (size_t n = 0; n < g->conditions.count; n++) {
        condition_hold(g->conditions.items[n]);
        vec_push(&c->conditions, g->conditions.items[n]);
    }
    once_hold(g->once);
    c->once = g->once;
    *out = c;
    return CUDA_SUCCESS;
}

CUgraphNode *graph_order(CUgraph g)
{
    size_t count = g->nodes.count, done = 0;
    CUgraphNode *order = xcalloc(count + 1, sizeof(CUgraphNode));
    for (size_t n = 0; n < count; n++)
        g->nodes.items[n]->mark = (uint32_t)g->nodes.items[n]->in.count;
    for (size_t n = 0; n < count; n++)
        if (g->nodes.items[n]->mark == 0)
            order[done++] = g->nodes.items[n];
    for (size_t at = 0; at < done; at++)
        for (size_t e = 0; e < order[at]->out.count; e++)
            if (--order[at]->out.items[e].node->mark == 0)
                order[done++] = order[at]->out.items[e].node;
    if (done == count)
        return order;
    free(order);
    return NULL;
}

/* ---- the calls: graphs ---- */

WEIR_API CUresult cuGraphCreate(CUgraph *out, unsigned int flags)
{
    HOLD;
    CU_TRY(driver_ready());
    if (out == NULL || flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    CUgraph g = graph_begin(TAG_GRAPH);
    graph_publish(g);
    *out = g;
    if (observed())
        observe_object_made(OBSERVE_GRAPH_OBJECT, g);
    return CUDA_SUCCESS;
}

WEIR_API CUresult cuGraphDestroy(CUgraph g)
{
    HOLD;
    GRAPH_LOCKS;
    CU_TRY(driver_initialized());
    CU_TRY(graph_lock(g, &locked));
    if (g->owner != NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if (graph_capturing(g))
        return driver_error(CUDA_ERROR_ILLEGAL_STATE, "a capture writes this graph");
    handle_wipe(g);
    bool seen = graph_seen_to_go(g);
    graph_unlock(&locked);
    graph_retire(seen, &g->end, free_retired_graph);
    return CUDA_SUCCESS;
}

WEIR_API CUresult cuGraphClone(CUgraph *out, CUgraph g)
{
    HOLD;
    GRAPH_LOCKS;
    CU_TRY(driver_ready());
    CU_TRY(graph_lock(g, &locked));
    if (out == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if (graph_has(g, CU_GRAPH_NODE_TYPE_MEM_ALLOC) || graph_has(g, CU_GRAPH_NODE_TYPE_MEM_FREE) ||
        graph_has(g, CU_GRAPH_NODE_TYPE_CONDITIONAL))
        return driver_error(CUDA_ERROR_NOT_SUPPORTED,
                            "cuGraphClone: a graph with memory or conditional nodes has no clones");
    CUgraph clone;
    CU_TRY(graph_clone(g, TAG_GRAPH, &clone));
    graph_publish(clone);
    *out = clone;
    if (observed())
        observe_object_made(OBSERVE_GRAPH_OBJECT, clone);
    return CUDA_SUCCESS;
}

static CUgraphNode find_clone(CUgraph g, uint64_t origin)
{
    for (size_t n = 0; n < g->nodes.count; n++) {
        CUgraphNode node = g->nodes.items[n], found = NULL;
        if (node->origin == origin)
            return node;
        if (node->p.type == CU_GRAPH_NODE_TYPE_GRAPH)
            found = find_clone(node->p.child, origin);
        if (found != NULL)
            return found;
    }
    return NULL;
}

WEIR_API CUresult cuGraphNodeFindInClone(CUgraphNode *out, CUgraphNode node, CUgraph clone)
{
    HOLD;
    GRAPH_LOCKS;
    CU_TRY(driver_ready());
    CU_TRY(node_check(node));
    CU_TRY(graph_lock(clone, &locked));
    if (out == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    CUgraphNode found = find_clone(clone, node->id);
    if (found == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *out = found;
    return CUDA_SUCCESS;
}

/* ---- the calls: asking ---- */

/* Gives a list: without an array for it the number alone; what is too many is cut, and an
 * element beyond the end filled with NULL. */
struct list_out {
    CUgraphNode *nodes, *others;
    CUgraphEdgeData *data;
    size_t capacity, count;
};

static void graph_list_add(struct list_out *l, CUgraphNode a, CUgraphNode b,
                           const CUgraphEdgeData *d)
{
    if (l->count < l->capacity) {
        l->nodes[l->count] = a;
        if (l->others != NULL)
            l->others[l->count] = b;
        if (l->data != NULL)
            l->data[l->count] = *d;
    }
    l->count++;
}

static CUresult list_end(struct list_out *l, size_t *count)
{
    if (l->nodes == NULL) {
        *count = l->count;
        return CUDA_SUCCESS;
    }
    for (size_t n = l->count; n < l->capacity; n++) {
        l->nodes[n] = NULL;
        if (l->others != NULL)
            l->others[n] = NULL;
    }
    if (*count > l->count)
        *count = l->count;
    return CUDA_SUCCESS;
}

static CUresult graph_list(CUgraph g, bool roots, CUgraphNode *nodes, size_t *count)
{
    GRAPH_LOCKS;
    CU_TRY(driver_ready());
    CU_TRY(graph_lock(g, &locked));
    if (count == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    struct list_out l = {.nodes = nodes, .capacity = nodes != NULL ? *count : 0};
    for (size_t n = 0; n < g->nodes.count; n++)
        if (!roots || g->nodes.items[n]->in.count == 0)
            graph_list_add(&l, g->nodes.items[n], NULL, NULL);
    return list_end(&l, count);
}

WEIR_API CUresult cuGraphGetNodes(CUgraph g, CUgraphNode *nodes, size_t *count)
{
    HOLD;
    return graph_list(g, false, nodes, count);
}

WEIR_API CUresult cuGraphGetRootNodes(CUgraph g, CUgraphNode *nodes, size_t *count)
{
    HOLD;
    return graph_list(g, true, nodes, count);
}

static bool is_plain(const CUgraphEdgeData *d)
{
    return d->from_port == 0 && d->to_port == 0 && d->type == 0;
}

/* Edges that are not ordinary must not be lost unseen. */
static bool lossy(const struct graph_edges *edges)
{
    for (size_t n = 0; n < edges->count; n++)
        if (!is_plain(&edges->items[n].data))
            return true;
    return false;
}

WEIR_API CUresult cuGraphGetEdges_v2(CUgraph g, CUgraphNode *from, CUgraphNode *to,
                                     CUgraphEdgeData *data, size_t *count)
{
    HOLD;
    GRAPH_LOCKS;
    CU_TRY(driver_ready());
    CU_TRY(graph_lock(g, &locked));
    if (count == NULL || (from == NULL) != (to == NULL))
        return CUDA_ERROR_INVALID_VALUE;
    struct list_out l = {
        .nodes = from, .others = to, .data = data, .capacity = from != NULL ? *count : 0};
    for (size_t n = 0; n < g->nodes.count; n++) {
        CUgraphNode node = g->nodes.items[n];
        if (from != NULL && data == NULL && lossy(&node->in))
            return CUDA_ERROR_LOSSY_QUERY;
        for (size_t e = 0; e < node->in.count; e++)
            graph_list_add(&l, node->in.items[e].node, node, &node->in.items[e].data);
    }
    return list_end(&l, count);
}

static CUresult neighbours(CUgraphNode node, bool out, CUgraphNode *nodes, CUgraphEdgeData *data,
                           size_t *count)
{
    GRAPH_LOCKS;
    CU_TRY(driver_ready());
    CU_TRY(node_lock(node, &locked));
    if (count == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if (nodes == NULL && data != NULL)
        return CUDA_ERROR_INVALID_VALUE;
    const struct graph_edges *edges = out ? &node->out : &node->in;
    if (nodes != NULL && data == NULL && lossy(edges))
        return CUDA_ERROR_LOSSY_QUERY;
    struct list_out l = {.nodes = nodes, .data = data, .capacity = nodes != NULL ? *count : 0};
    for (size_t e = 0; e < edges->count; e++)
        graph_list_add(&l, edges->items[e].node, NULL, &edges->items[e].data);
    return list_end(&l, count);
}

WEIR_API CUresult cuGraphNodeGetDependencies_v2(CUgraphNode node, CUgraphNode *nodes,
                                                CUgraphEdgeData *data, size_t *count)
{
    HOLD;
    return neighbours(node, false, nodes, data, count);
}

WEIR_API CUresult cuGraphNodeGetDependentNodes_v2(CUgraphNode node, CUgraphNode *nodes,
                                                  CUgraphEdgeData *data, size_t *count)
{
    HOLD;
    return neighbours(node, true, nodes, data, count);
}

WEIR_API CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType *type)
{
    HOLD;
    GRAPH_LOCKS;
    CU_TRY(driver_ready());
    CU_TRY(node_lock(node, &locked));
    if (type == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *type = node->p.type;
    return CUDA_SUCCESS;
}

/* ---- the calls: changing ---- */

static CUresult lock_ends(CUgraph g, const CUgraphNode *from, const CUgraphNode *to, size_t count,
                          struct graph_locks *l)
{
    CU_TRY(driver_ready());
    CU_TRY(graph_lock(g, l));
    if (count > 0 && (from == NULL || to == NULL))
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t n = 0; n < count; n++)
        if (node_check(from[n]) != CUDA_SUCCESS || node_check(to[n]) != CUDA_SUCCESS ||
            from[n]->graph != g || to[n]->graph != g || from[n] == to[n])
            return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

WEIR_API CUresult cuGraphAddDependencies_v2(CUgraph g, const CUgraphNode *from,
                                            const CUgraphNode *to, const CUgraphEdgeData *data,
                                            size_t count)
{
    HOLD;
    GRAPH_LOCKS;
    CU_TRY(lock_ends(g, from, to, count, &locked));
    for (size_t n = 0; n < count; n++)
        if (find_edge(&to[n]->in, from[n]) != NULL ||
            !edge_valid(from[n]->p.type, to[n]->p.type, data != NULL ? &data[n] : NULL))
            return CUDA_ERROR_INVALID_VALUE;
    for (size_t n = 0; n < count; n++)
        graph_connect(from[n], to[n], data != NULL ? &data[n] : NULL);
    return CUDA_SUCCESS;
}

WEIR_API CUresult cuGraphRemoveDependencies_v2(CUgraph g, const CUgraphNode *from,
                                               const CUgraphNode *to, const CUgraphEdgeData *data,
                                               size_t count)
{
    HOLD;
    GRAPH_LOCKS;
    CU_TRY(lock_ends(g, from, to, count, &locked));
    if (g->once != NULL)
        return driver_error(CUDA_ERROR_NOT_SUPPORTED,
                            "edges cannot be taken out of a graph with memory nodes");
    for (size_t n = 0; n < count; n++) {
        const struct graph_edge *e = find_edge(&to[n]->in, from[n]);
        CUgraphEdgeData d = data != NULL ? data[n] : (CUgraphEdgeData){0};
        if (e == NULL || memcmp(&e->data, &d, sizeof d) != 0)
            return CUDA_ERROR_INVALID_VALUE;
    }
    for (size_t n = 0; n < count; n++) {
        drop_edge(&to[n]->in, from[n]);
        drop_edge(&from[n]->out, to[n]);
    }
    return CUDA_SUCCESS;
}

WEIR_API CUresult cuGraphDestroyNode(CUgraphNode node)
{
    HOLD;
    GRAPH_LOCKS;
    CU_TRY(driver_initialized());
    CU_TRY(node_lock(node, &locked));
    CUgraph g = node->graph;
    if (g->once != NULL)
        return driver_error(CUDA_ERROR_NOT_SUPPORTED,
                            "nodes cannot be taken out of a graph with memory nodes");
    if (node_capturing(&node->p))
        return driver_error(CUDA_ERROR_ILLEGAL_STATE, "a capture writes this node's graph");
    handle_wipe(node);
    for (size_t e = 0; e < node->in.count; e++)
        drop_edge(&node->in.items[e].node->out, node);
    for (size_t e = 0; e < node->out.count; e++)
        drop_edge(&node->out.items[e].node->in, node);
    for (size_t n = 0; n < g->nodes.count; n++)
        if (g->nodes.items[n] == node) {
            memmove(&g->nodes.items[n], &g->nodes.items[n + 1],
                    (g->nodes.count - n - 1) * sizeof(CUgraphNode));
            g->nodes.count--;
            break;
        }
    bool seen = node_seen_to_go(&node->p);
    graph_unlock(&locked);
    graph_retire(seen, &node->end, free_retired_node);
    return CUDA_SUCCESS;
}
