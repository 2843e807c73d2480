/* graph/dot: a graph as text in Graphviz's language: a cluster for the graph and for each graph
 * within, a box for each node. */
#include <stdio.h>

#include "driver/graph/graph.h"

static const char *type_name(CUgraphNodeType type)
{
    switch (type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: return "KERNEL";
    case CU_GRAPH_NODE_TYPE_MEMCPY: return "MEMCPY";
    case CU_GRAPH_NODE_TYPE_MEMSET: return "MEMSET";
    case CU_GRAPH_NODE_TYPE_HOST: return "HOST";
    case CU_GRAPH_NODE_TYPE_GRAPH: return "GRAPH";
    case CU_GRAPH_NODE_TYPE_EMPTY: return "EMPTY";
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT: return "WAIT_EVENT";
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD: return "EVENT_RECORD";
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL: return "EXT_SEMAS_SIGNAL";
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT: return "EXT_SEMAS_WAIT";
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC: return "MEM_ALLOC";
    case CU_GRAPH_NODE_TYPE_MEM_FREE: return "MEM_FREE";
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP: return "BATCH_MEM_OP";
    case CU_GRAPH_NODE_TYPE_CONDITIONAL: return "CONDITIONAL";
    }
    return "?";
}

static bool dot_wants(unsigned flags, unsigned one)
{
    return (flags & (CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE | one)) != 0;
}

/* What a node's box says besides its kind. */
static void print_params(FILE *f, CUgraphNode n, unsigned flags)
{
    const struct node_params *p = &n->p;
    switch (p->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        fprintf(f, "\\n%s",
                kernel_live(&p->kernel) == CUDA_SUCCESS ? p->kernel.f->func->name : "(unloaded)");
        if (dot_wants(flags, CU_GRAPH_DEBUG_DOT_FLAGS_KERNEL_NODE_PARAMS))
            fprintf(f, "\\n\\<\\<\\<%u,%u,%u, %u,%u,%u, %u\\>\\>\\>", p->kernel.grid[0],
                    p->kernel.grid[1], p->kernel.grid[2], p->kernel.block[0], p->kernel.block[1],
                    p->kernel.block[2], p->kernel.shared);
        if (dot_wants(flags, CU_GRAPH_DEBUG_DOT_FLAGS_KERNEL_NODE_ATTRIBUTES))
            fprintf(f, "\\ncooperative %d priority %d", p->kernel.cooperative,
                    p->kernel.prioritized ? p->kernel.priority : 0);
        break;
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        if (dot_wants(flags, CU_GRAPH_DEBUG_DOT_FLAGS_MEMCPY_NODE_PARAMS))
            fprintf(f, "\\n%zu x %zu x %zu bytes", p->copy.WidthInBytes, p->copy.Height,
                    p->copy.Depth);
        break;
    case CU_GRAPH_NODE_TYPE_MEMSET:
        if (dot_wants(flags, CU_GRAPH_DEBUG_DOT_FLAGS_MEMSET_NODE_PARAMS))
            fprintf(f, "\\n0x%llx = %u, %zu x %zu of %u bytes", (unsigned long long)p->set.dst,
                    p->set.value, p->set.width, p->set.height, p->set.elementSize);
        break;
    case CU_GRAPH_NODE_TYPE_HOST:
        if (dot_wants(flags, CU_GRAPH_DEBUG_DOT_FLAGS_HOST_NODE_PARAMS))
            fprintf(f, "\\n%p(%p)", (void *)(uintptr_t)p->host.fn, p->host.userData);
        break;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        if (dot_wants(flags, CU_GRAPH_DEBUG_DOT_FLAGS_EVENT_NODE_PARAMS))
            fprintf(f, "\\nevent %p", (void *)p->event);
        break;
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
        if (dot_wants(flags, CU_GRAPH_DEBUG_DOT_FLAGS_CONDITIONAL_NODE_PARAMS))
            fprintf(f, "\\n%s of %u",
                    p->conditional.type == CU_GRAPH_COND_TYPE_IF      ? "IF"
                    : p->conditional.type == CU_GRAPH_COND_TYPE_WHILE ? "WHILE"
                                                                      : "SWITCH",
                    p->conditional.size);
        break;
    default: break;
    }
}

static void print_graph(FILE *f, CUgraph g, unsigned flags)
{
    fprintf(f, "subgraph \"cluster_%llu\" {\nlabel=\"graph_%llu\" graph[style=\"dashed\"];\n",
            (unsigned long long)g->id, (unsigned long long)g->id);
    for (size_t n = 0; n < g->nodes.count; n++) {
        CUgraphNode node = g->nodes.items[n];
        fprintf(f, "\"node_%llu\" [style=\"solid\" shape=\"rectangle\" label=\"%zu\\n%s",
                (unsigned long long)node->id, n, type_name(node->p.type));
        print_params(f, node, flags);
        if (dot_wants(flags, CU_GRAPH_DEBUG_DOT_FLAGS_HANDLES))
            fprintf(f, "\\nnode %p", (void *)node);
        fprintf(f, "\"];\n");
    }
    for (size_t n = 0; n < g->nodes.count; n++)
        for (size_t e = 0; e < g->nodes.items[n]->out.count; e++)
            fprintf(f, "\"node_%llu\" -> \"node_%llu\";\n",
                    (unsigned long long)g->nodes.items[n]->id,
                    (unsigned long long)g->nodes.items[n]->out.items[e].node->id);
    fprintf(f, "}\n");
    for (size_t n = 0; n < g->nodes.count; n++) {
        const struct node_params *p = &g->nodes.items[n]->p;
        if (p->type == CU_GRAPH_NODE_TYPE_GRAPH)
            print_graph(f, p->child, flags);
        if (p->type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
            for (unsigned b = 0; b < p->conditional.size; b++)
                print_graph(f, p->conditional.bodies[b], flags);
    }
}

WEIR_API CUresult cuGraphDebugDotPrint(CUgraph g, const char *path, unsigned int flags)
{
    HOLD;
    GRAPH_LOCKS;
    CU_TRY(driver_ready());
    CU_TRY(graph_lock(g, &locked));
    if (path == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    FILE *f = fopen(path, "w");
    if (f == NULL)
        return driver_error(CUDA_ERROR_OPERATING_SYSTEM, "%s: cannot be written", path);
    fprintf(f, "digraph dot {\n");
    print_graph(f, g, flags);
    fprintf(f, "}\n");
    bool fine = ferror(f) == 0;
    return fclose(f) == 0 && fine ? CUDA_SUCCESS : CUDA_ERROR_OPERATING_SYSTEM;
}
