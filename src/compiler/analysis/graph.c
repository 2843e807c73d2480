/* graph: orders, dominators and reachability of directed graphs (graph.h). */
#include "compiler/analysis/graph.h"

#include <stdlib.h>
#include <string.h>

/* ---- making one ---- */

void graph_init(struct graph *g, int32_t n) { *g = (struct graph){.n = n}; }

void graph_edge(struct graph *g, int32_t from, int32_t to)
{
    if ((size_t)g->nedges == g->edges_cap)
        g->edges = vec_grow(g->edges, &g->edges_cap, sizeof *g->edges);
    g->edges[g->nedges++] = (struct graph_edge){from, to};
}

/* Sorts the edges by one of their ends, keeping the order in which they were added. */
static void sort_edges(const struct graph *g, bool by_target, int32_t **at, int32_t **other)
{
    *at = xcalloc((size_t)g->n + 2, sizeof **at);
    *other = xmalloc(sizeof **other * ((size_t)g->nedges + 1));
    for (int32_t e = 0; e < g->nedges; e++)
        (*at)[(by_target ? g->edges[e].to : g->edges[e].from) + 2]++;
    for (int32_t v = 0; v < g->n; v++)
        (*at)[v + 2] += (*at)[v + 1];
    for (int32_t e = 0; e < g->nedges; e++) {
        struct graph_edge edge = g->edges[e];
        (*other)[(*at)[(by_target ? edge.to : edge.from) + 1]++] = by_target ? edge.from : edge.to;
    }
}

void graph_close(struct graph *g)
{
    sort_edges(g, false, &g->succ_at, &g->succ);
    sort_edges(g, true, &g->pred_at, &g->pred);
    free(g->edges);
    g->edges = NULL;
}

void graph_free(struct graph *g)
{
    free(g->edges);
    free(g->succ_at);
    free(g->succ);
    free(g->pred_at);
    free(g->pred);
}

/* ---- orders and dominators ---- */

struct walk {
    int32_t node, next;
};

int32_t graph_reverse_postorder(const struct graph *g, int32_t entry, int32_t *order,
                                int32_t *number)
{
    enum { UNSEEN = -1, SEEN = -2 };
    struct walk *stack = xmalloc(sizeof *stack * ((size_t)g->n + 1));
    int32_t depth = 0, left = g->n;
    for (int32_t v = 0; v < g->n; v++)
        number[v] = UNSEEN;
    stack[depth++] = (struct walk){entry, g->succ_at[entry]};
    number[entry] = SEEN;
    while (depth > 0) {
        struct walk *w = &stack[depth - 1];
        if (w->next == g->succ_at[w->node + 1]) {
            order[--left] = w->node;
            depth--;
            continue;
        }
        int32_t to = g->succ[w->next++];
        if (number[to] == UNSEEN) {
            number[to] = SEEN;
            stack[depth++] = (struct walk){to, g->succ_at[to]};
        }
    }
    free(stack);
    int32_t count = g->n - left;
    memmove(order, order + left, sizeof *order * (size_t)count);
    for (int32_t i = 0; i < count; i++)
        number[order[i]] = i;
    return count;
}

static int32_t common_dominator(const int32_t *idom, const int32_t *number, int32_t a, int32_t b)
{
    while (a != b)
        if (number[a] > number[b])
            a = idom[a];
        else
            b = idom[b];
    return a;
}

void graph_dominators(const struct graph *g, const int32_t *order, const int32_t *number,
                      int32_t count, int32_t *idom)
{
    for (int32_t v = 0; v < g->n; v++)
        idom[v] = -1;
    idom[order[0]] = order[0];
    for (bool changed = true; changed;) {
        changed = false;
        for (int32_t i = 1; i < count; i++) {
            int32_t v = order[i], dom = -1;
            for (int32_t p = g->pred_at[v]; p < g->pred_at[v + 1]; p++)
                if (idom[g->pred[p]] >= 0)
                    dom = dom < 0 ? g->pred[p] : common_dominator(idom, number, dom, g->pred[p]);
            changed |= dom != idom[v];
            idom[v] = dom;
        }
    }
}

bool graph_reach(const struct graph *g, int32_t from, struct graph_limits limits, uint64_t *set)
{
    int32_t most = limits.most != 0 ? limits.most : g->n, count = 0, depth = 0;
    int32_t *stack = xmalloc(sizeof *stack * ((size_t)most + 1));
    bool ok = true;
    stack[depth++] = from;
    while (ok && depth > 0) {
        int32_t v = stack[--depth];
        for (int32_t s = g->succ_at[v]; ok && s < g->succ_at[v + 1]; s++) {
            int32_t to = g->succ[s];
            if (to == limits.without || bit_get(set, to) ||
                (limits.within != NULL && !bit_get(limits.within, to)))
                continue;
            ok = count++ < most;
            if (ok) {
                bit_set(set, to);
                stack[depth++] = to;
            }
        }
    }
    free(stack);
    return ok;
}
