/* Graphs: built node by node and captured from streams, described, cloned, nested, instantiated,
 * changed, updated, launched, destroyed while they run.
 *
 * A graph's nodes act on the thread's buffers. Nodes that would conflict depend on each other in
 * the order in which they were added, so a launch does to memory what the nodes do one after the
 * other. */
#include <stdlib.h>
#include <string.h>

#include "sequences.h"

static void CUDART_CB count_host_node(void *data)
{
    __atomic_fetch_add((long *)data, 1, __ATOMIC_SEQ_CST);
}

static bool conflict(const struct action *a, const struct action *b)
{
    if (a->kind == NOTHING || b->kind == NOTHING)
        return false;
    return a->dst == b->dst || (a->kind == COPY && a->src == b->dst) ||
           (b->kind == COPY && b->src == a->dst);
}

static int free_graph(struct thread *t)
{
    for (int i = 0; i < GRAPHS; i++)
        if (!t->graph[i].live)
            return i;
    return -1;
}

static struct graph *any_graph(struct thread *t)
{
    struct graph *g = &t->graph[below(t, GRAPHS)];

    return g->live ? g : NULL;
}

static struct exec *any_exec(struct thread *t)
{
    struct exec *e = &t->exec[below(t, GRAPHS)];

    return e->live ? e : NULL;
}

static bool valid(const struct thread *t, const struct graph *g)
{
    for (int i = 0; i < g->nodes; i++)
        if (!action_valid(t, &g->node[i].what))
            return false;
    return true;
}

/* ---- nodes ---- */

/* Arguments of the kernel that an action is; they are copied by each call that takes them. */
struct arguments {
    char *to, *from;
    unsigned n, value;
    void *list[4];
};

static struct cudaKernelNodeParams *kernel_of(struct thread *t, const struct action *a,
                                              struct arguments *x, struct cudaKernelNodeParams *p)
{
    static const unsigned blocks[] = {32, 64, 128};

    x->to = t->buffer[a->dst].p + a->to;
    x->from = a->kind == COPY ? t->buffer[a->src].p + a->from : NULL;
    x->n = (unsigned)a->n;
    x->value = a->kind == COPY ? 0 : a->value;
    x->list[0] = &x->to;
    x->list[1] = a->kind == COPY ? (void *)&x->from : (void *)&x->n;
    x->list[2] = a->kind == COPY ? (void *)&x->n : (void *)&x->value;
    x->list[3] = &x->value;
    memset(p, 0, sizeof *p);
    p->func = (void *)kernel_handle(a->kind == COPY ? KERNEL_COPY : KERNEL_MIX);
    p->gridDim = (dim3){1 + below(t, 2), 1, 1};
    p->blockDim = (dim3){blocks[below(t, 3)], 1, 1};
    p->kernelParams = x->list;
    return p;
}

static struct cudaMemsetParams set_of(struct thread *t, const struct action *a)
{
    struct cudaMemsetParams p;

    memset(&p, 0, sizeof p);
    p.dst = t->buffer[a->dst].p + a->to;
    p.value = a->value;
    p.elementSize = 1;
    p.width = a->n;
    p.height = 1;
    return p;
}

static void add_node(struct thread *t, struct graph *g)
{
    struct node *n = &g->node[g->nodes];
    cudaGraphNode_t deps[NODES];
    size_t count = 0;
    struct arguments x;
    struct cudaKernelNodeParams kernel;

    memset(n, 0, sizeof *n);
    if (!any_action(t, &n->what, false) || n->what.rows > 1 || one_in(t, 6))
        n->what.kind = NOTHING;
    n->enabled = true;
    for (int i = 0; i < g->nodes; i++)
        if (conflict(&g->node[i].what, &n->what) || one_in(t, 4)) {
            n->after |= 1u << i;
            deps[count++] = g->node[i].h;
        }
    NOTE(g - t->graph, g->nodes, n->what.kind, count);
    if (n->what.kind == SET) {
        struct cudaMemsetParams p = set_of(t, &n->what);
        OK_RT(cudaGraphAddMemsetNode(&n->h, g->h, deps, count, &p));
        n->type = cudaGraphNodeTypeMemset;
    } else if (n->what.kind == COPY && one_in(t, 2)) {
        OK_RT(cudaGraphAddMemcpyNode1D(
            &n->h, g->h, deps, count, t->buffer[n->what.dst].p + n->what.to,
            t->buffer[n->what.src].p + n->what.from, n->what.n, cudaMemcpyDefault));
        n->type = cudaGraphNodeTypeMemcpy;
    } else if (n->what.kind != NOTHING) {
        OK_RT(
            cudaGraphAddKernelNode(&n->h, g->h, deps, count, kernel_of(t, &n->what, &x, &kernel)));
        n->type = cudaGraphNodeTypeKernel;
    } else if (one_in(t, 2)) {
        struct cudaHostNodeParams p = {.fn = count_host_node, .userData = &t->host_nodes_called};
        OK_RT(cudaGraphAddHostNode(&n->h, g->h, deps, count, &p));
        n->type = cudaGraphNodeTypeHost;
    } else {
        OK_RT(cudaGraphAddEmptyNode(&n->h, g->h, deps, count));
        n->type = cudaGraphNodeTypeEmpty;
    }
    g->nodes++;
}

static void make_graph(struct thread *t)
{
    int i = free_graph(t);

    if (i < 0)
        return;
    struct graph *g = &t->graph[i];
    memset(g, 0, sizeof *g);
    if (one_in(t, 3))
        OK_CU(cuGraphCreate((CUgraph *)&g->h, 0));
    else
        OK_RT(cudaGraphCreate(&g->h, 0));
    g->live = true;
    for (unsigned n = below(t, NODES / 2); n > 0; n--)
        add_node(t, g);
}

static void grow_graph(struct thread *t)
{
    struct graph *g = any_graph(t);

    if (g == NULL || g->nodes == NODES || g->captured)
        return;
    add_node(t, g);
}

static unsigned edges_of(const struct graph *g)
{
    unsigned n = 0;

    for (int i = 0; i < g->nodes; i++)
        n += (unsigned)__builtin_popcount(g->node[i].after);
    return n;
}

static void ask_graph(struct thread *t)
{
    struct graph *g = any_graph(t);
    size_t count = 99;
    enum cudaGraphNodeType type;
    unsigned roots = 0;

    if (g == NULL)
        return;
    NOTE(g - t->graph, g->nodes, g->captured, 0);
    OK_RT(cudaGraphGetNodes(g->h, NULL, &count));
    MUST_EQ(count, g->nodes);
    if (g->captured || g->nodes == 0)
        return;
    OK_RT(cudaGraphGetEdges(g->h, NULL, NULL, NULL, &count));
    MUST_EQ(count, edges_of(g));
    for (int i = 0; i < g->nodes; i++)
        roots += g->node[i].after == 0;
    OK_RT(cudaGraphGetRootNodes(g->h, NULL, &count));
    MUST_EQ(count, roots);
    const struct node *n = &g->node[below(t, (unsigned)g->nodes)];
    OK_RT(cudaGraphNodeGetType(n->h, &type));
    MUST_EQ(type, n->type);
    OK_RT(cudaGraphNodeGetDependencies(n->h, NULL, NULL, &count));
    MUST_EQ(count, __builtin_popcount(n->after));
    if (n->type == cudaGraphNodeTypeMemset) {
        struct cudaMemsetParams p;
        OK_RT(cudaGraphMemsetNodeGetParams(n->h, &p));
        MUST_EQ(p.value & 255, n->what.value & 255);
        MUST_EQ(p.width, n->what.n);
    }
}

static void change_node(struct thread *t)
{
    struct graph *g = any_graph(t);
    struct arguments x;
    struct cudaKernelNodeParams kernel;

    if (g == NULL || g->captured || g->nodes == 0 || !valid(t, g))
        return;
    struct node *n = &g->node[below(t, (unsigned)g->nodes)];
    NOTE(g - t->graph, n - g->node, n->type, 0);
    unsigned value = below(t, 256);
    if (n->type == cudaGraphNodeTypeMemset) {
        n->what.value = value;
        struct cudaMemsetParams p = set_of(t, &n->what);
        OK_RT(cudaGraphMemsetNodeSetParams(n->h, &p));
    } else if (n->type == cudaGraphNodeTypeKernel) {
        n->what.value = value;
        OK_RT(cudaGraphKernelNodeSetParams(n->h, kernel_of(t, &n->what, &x, &kernel)));
    } else if (n->type == cudaGraphNodeTypeEmpty) {
        struct cudaMemsetParams p = {0};
        RT(cudaErrorInvalidValue, cudaGraphMemsetNodeSetParams(n->h, &p));
    }
}

static void destroy_graph(struct thread *t)
{
    struct graph *g = any_graph(t);

    if (g == NULL || (valid(t, g) && !one_in(t, 4)))
        return;
    NOTE(g - t->graph, g->nodes, 0, 0);
    if (one_in(t, 3))
        OK_CU(cuGraphDestroy((CUgraph)g->h));
    else
        OK_RT(cudaGraphDestroy(g->h));
    g->live = false;
    for (int i = 0; i < GRAPHS; i++) /* its nodes' handles name nothing any more */
        if (t->exec[i].of == g - t->graph)
            t->exec[i].of = -1;
}

/* ---- executable graphs ---- */

/* Of the graph, a clone of it, or a graph that has it for a child. */
static void instantiate(struct thread *t)
{
    int i = 0, form = (int)below(t, 6);
    struct graph *g = any_graph(t);
    cudaGraph_t h;
    cudaGraphNode_t node;
    size_t count = 0;

    while (i < GRAPHS && t->exec[i].live)
        i++;
    if (i == GRAPHS || g == NULL || !valid(t, g))
        return;
    struct exec *e = &t->exec[i];
    NOTE(g - t->graph, i, form, g->nodes);
    h = g->h;
    if (form == 0) {
        OK_RT(cudaGraphClone(&h, g->h));
        OK_RT(cudaGraphGetNodes(h, NULL, &count));
        MUST_EQ(count, g->nodes);
        if (g->nodes > 0 && !g->captured) {
            OK_RT(cudaGraphNodeFindInClone(&node, g->node[0].h, h));
            MUST(node != NULL && node != g->node[0].h);
            RT(cudaErrorInvalidValue, cudaGraphNodeFindInClone(&node, node, h));
        }
    } else if (form == 1) {
        OK_RT(cudaGraphCreate(&h, 0));
        OK_RT(cudaGraphAddChildGraphNode(&node, h, NULL, 0, g->h));
    }
    if (one_in(t, 3))
        OK_CU(cuGraphInstantiate((CUgraphExec *)&e->h, (CUgraph)h, 0));
    else
        OK_RT(cudaGraphInstantiate(&e->h, h, 0));
    if (form <= 1)
        OK_RT(cudaGraphDestroy(h));
    e->live = true;
    e->of = form <= 1 || g->captured ? -1 : (int)(g - t->graph);
    e->as = *g;
    e->made = g->nodes;
}

static void change_exec(struct thread *t)
{
    struct exec *e = any_exec(t);
    struct arguments x;
    struct cudaKernelNodeParams kernel;
    unsigned on = 9;

    if (e == NULL || e->of < 0 || e->as.nodes == 0 || !valid(t, &e->as))
        return;
    struct node *n = &e->as.node[below(t, (unsigned)e->as.nodes)];
    unsigned value = below(t, 256);
    NOTE(e - t->exec, n - e->as.node, n->type, value);
    switch (below(t, 3)) {
    case 0:
        if (n->type == cudaGraphNodeTypeMemset) {
            n->what.value = value;
            struct cudaMemsetParams p = set_of(t, &n->what);
            OK_RT(cudaGraphExecMemsetNodeSetParams(e->h, n->h, &p));
        } else if (n->type == cudaGraphNodeTypeKernel) {
            n->what.value = value;
            OK_RT(
                cudaGraphExecKernelNodeSetParams(e->h, n->h, kernel_of(t, &n->what, &x, &kernel)));
        } else {
            struct cudaMemsetParams p = {0};
            RT(cudaErrorInvalidValue, cudaGraphExecMemsetNodeSetParams(e->h, n->h, &p));
        }
        break;
    case 1:
        if (n->type == cudaGraphNodeTypeHost || n->type == cudaGraphNodeTypeEmpty) {
            RT(cudaErrorInvalidValue, cudaGraphNodeSetEnabled(e->h, n->h, 0));
            break;
        }
        n->enabled = value % 2;
        OK_RT(cudaGraphNodeSetEnabled(e->h, n->h, value % 2));
        break;
    default:
        if (n->type == cudaGraphNodeTypeHost || n->type == cudaGraphNodeTypeEmpty)
            break;
        OK_RT(cudaGraphNodeGetEnabled(e->h, n->h, &on));
        MUST_EQ(on, n->enabled);
    }
}

/* From the graph that it was made of, as that is now; from one of another shape. */
static void update_exec(struct thread *t)
{
    struct exec *e = any_exec(t);
    cudaGraphExecUpdateResultInfo info;

    if (e == NULL || e->of < 0 || !valid(t, &e->as))
        return;
    struct graph *g = &t->graph[e->of];
    if (!valid(t, g))
        return;
    memset(&info, 0, sizeof info);
    NOTE(e - t->exec, e->of, e->made, g->nodes);
    if (g->nodes != e->made) {
        RT(cudaErrorGraphExecUpdateFailure, cudaGraphExecUpdate(e->h, g->h, &info));
        MUST(info.result != cudaGraphExecUpdateSuccess);
        return;
    }
    OK_RT(cudaGraphExecUpdate(e->h, g->h, &info));
    MUST_EQ(info.result, cudaGraphExecUpdateSuccess);
    for (int i = 0; i < g->nodes; i++) { /* what is switched off stays so */
        bool enabled = e->as.node[i].enabled;
        e->as.node[i] = g->node[i];
        e->as.node[i].enabled = enabled;
    }
}

static void launch_graph(struct thread *t)
{
    struct exec *e = any_exec(t);
    int s = any_stream(t);

    if (e == NULL || !valid(t, &e->as))
        return;
    struct graph *g = &e->as;
    /* More than once: what makes one access legal may be what another waits for. */
    for (int i = 0; i < g->nodes; i++)
        if (g->node[i].enabled && !action_may(t, s, &g->node[i].what))
            return;
    NOTE(e - t->exec, s, g->nodes, e->launches);
    if (one_in(t, 3))
        OK_CU(cuGraphLaunch((CUgraphExec)e->h, (CUstream)t->stream[s].h));
    else
        OK_RT(cudaGraphLaunch(e->h, t->stream[s].h));
    e->launches++;
    enqueued(t, s);
    for (int i = 0; i < g->nodes; i++) {
        const struct node *n = &g->node[i];
        if (n->type == cudaGraphNodeTypeHost)
            t->host_nodes++;
        if (!n->enabled)
            continue;
        action_done(t, s, &n->what);
        act(t, &n->what);
    }
}

static void upload_graph(struct thread *t)
{
    struct exec *e = any_exec(t);
    int s = any_stream(t);

    if (e == NULL || !valid(t, &e->as))
        return;
    OK_RT(cudaGraphUpload(e->h, t->stream[s].h));
    enqueued_alone(t, s);
}

/* It may be running. */
static void destroy_exec(struct thread *t)
{
    struct exec *e = any_exec(t);

    if (e == NULL || (valid(t, &e->as) && !one_in(t, 4)))
        return;
    NOTE(e - t->exec, 0, 0, 0);
    if (one_in(t, 3))
        OK_CU(cuGraphExecDestroy((CUgraphExec)e->h));
    else
        OK_RT(cudaGraphExecDestroy(e->h));
    e->live = false;
}

static void wrong_graphs(struct thread *t)
{
    struct graph *g = any_graph(t);
    cudaStream_t h = t->stream[any_stream(t)].h;
    cudaGraph_t out;
    cudaGraphExec_t exec;
    cudaGraphNode_t n;
    size_t count = 0;
    enum cudaGraphNodeType type;
    const int wrong = cudaErrorInvalidValue;

    switch (below(t, 16)) {
    case 0: RT(wrong, cudaGraphCreate(NULL, 0)); break;
    case 1: RT(wrong, cudaGraphCreate(&out, 1)); break;
    case 2: RT(wrong, cudaGraphDestroy(NULL)); break;
    case 3: RT(wrong, cudaGraphClone(&out, NULL)); break;
    case 4: RT(wrong, cudaGraphInstantiate(&exec, NULL, 0)); break;
    case 5: RT(wrong, cudaGraphLaunch(NULL, h)); break;
    case 6: RT(wrong, cudaGraphExecDestroy(NULL)); break;
    case 7: RT(wrong, cudaGraphNodeGetType(NULL, &type)); break;
    case 8: RT(wrong, cudaGraphGetNodes(NULL, NULL, &count)); break;
    case 9: RT(wrong, cudaGraphDestroyNode(NULL)); break;
    case 10: CU(CUDA_ERROR_INVALID_VALUE, cuGraphLaunch(NULL, (CUstream)h)); break;
    default:
        if (g == NULL)
            break;
        switch (below(t, 6)) {
        case 0: RT(wrong, cudaGraphInstantiate(&exec, g->h, 16)); break;
        case 1: RT(wrong, cudaGraphAddEmptyNode(&n, g->h, NULL, 1)); break;
        case 2: RT(wrong, cudaGraphAddEmptyNode(NULL, g->h, NULL, 0)); break;
        case 3: RT(wrong, cudaGraphAddKernelNode(&n, g->h, NULL, 0, NULL)); break;
        case 4: RT(wrong, cudaGraphGetNodes(g->h, NULL, NULL)); break;
        default:
            if (g->nodes > 0 && !g->captured) {
                cudaGraphNode_t *one = &g->node[0].h;
                RT(wrong, cudaGraphAddDependencies(g->h, one, one, NULL, 1));
            }
        }
    }
}

void graphs_end(struct thread *t)
{
    for (int i = 0; i < GRAPHS; i++) {
        if (t->exec[i].live)
            OK_RT(cudaGraphExecDestroy(t->exec[i].h));
        if (t->graph[i].live)
            OK_RT(cudaGraphDestroy(t->graph[i].h));
        t->exec[i].live = t->graph[i].live = false;
    }
}

const struct op ops_graphs[] = {
    {"graphs", "make graph", make_graph, 6, false},
    {"graphs", "add a node", grow_graph, 4, false},
    {"graphs", "ask graph", ask_graph, 8, false},
    {"graphs", "change a node", change_node, 6, false},
    {"graphs", "destroy graph", destroy_graph, 6, false},
    {"graphs", "instantiate", instantiate, 8, true},
    {"graphs", "change what runs", change_exec, 12, false},
    {"graphs", "update", update_exec, 6, false},
    {"graphs", "launch graph", launch_graph, 25, false},
    {"graphs", "upload", upload_graph, 2, false},
    {"graphs", "destroy what runs", destroy_exec, 6, false},
    {"graphs", "wrong graphs", wrong_graphs, 12, false},
    {NULL, NULL, NULL, 0, false},
};
