/* graph: orders, dominators, reachability and loops of directed graphs (graph.h). */
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

/* ---- loops ---- */

/* The forest is found from the outside inwards, as Steensgaard and Bourdoncle do: the strongly
 * connected components of a region are its loops; what is in one, without its head, is a region of
 * its own. A node belongs to one region at a time, and only edges within a region count. */
struct search {
    const struct graph *g;
    struct graph_loops *out;
    graph_choose_head *choose;
    void *self;
    const int32_t *number; /* in reverse postorder, -1: not reached */
    int32_t *region;       /* per node, -1: in none any more */
    int32_t nregions;
    int32_t *seen, *low, nseen; /* Tarjan's: 0 where not seen in this region */
    int32_t *stack, depth;      /* nodes of components that are not complete */
    uint64_t *nodes;            /* scratch: those of a component */
    struct walk *walk;
    struct region {
        int32_t *nodes, count, loop, id;
    } *todo;
    size_t ntodo, todo_cap;
};

static void push_region(struct search *s, int32_t *nodes, int32_t count, int32_t loop)
{
    if (s->ntodo == s->todo_cap)
        s->todo = vec_grow(s->todo, &s->todo_cap, sizeof *s->todo);
    for (int32_t i = 0; i < count; i++) {
        s->region[nodes[i]] = s->nregions;
        s->seen[nodes[i]] = 0;
    }
    s->todo[s->ntodo++] = (struct region){nodes, count, loop, s->nregions++};
}

static int by_number(const void *a, const void *b)
{
    const int32_t *x = a, *y = b;
    return (x[1] > y[1]) - (x[1] < y[1]);
}

/* The nodes of a component at which it is entered, in reverse postorder; `nodes` is its set. */
static int32_t *find_entries(const struct search *s, const int32_t *members, int32_t count,
                             int32_t *nentries)
{
    const struct graph *g = s->g;
    struct {
        int32_t node, number;
    } *found = xmalloc(sizeof *found * (size_t)count);
    int32_t n = 0;
    for (int32_t i = 0; i < count; i++) {
        int32_t v = members[i];
        bool entered = s->number[v] == 0;
        for (int32_t p = g->pred_at[v]; p < g->pred_at[v + 1] && !entered; p++)
            entered = s->number[g->pred[p]] >= 0 && !bit_get(s->nodes, g->pred[p]);
        if (entered) {
            found[n].node = v;
            found[n++].number = s->number[v];
        }
    }
    qsort(found, (size_t)n, sizeof *found, by_number);
    int32_t *entries = xmalloc(sizeof *entries * (size_t)n);
    for (int32_t i = 0; i < n; i++)
        entries[i] = found[i].node;
    free(found);
    *nentries = n;
    return entries;
}

/* A component of region r is a loop: names its head and makes the rest a region. */
static void add_loop(struct search *s, const struct region *r, const int32_t *members,
                     int32_t count)
{
    struct graph_loops *out = s->out;
    for (int32_t i = 0; i < count; i++)
        bit_set(s->nodes, members[i]);
    int32_t nentries, *entries = find_entries(s, members, count, &nentries);
    int32_t head =
        s->choose != NULL ? s->choose(s->self, s->g, s->nodes, entries, nentries) : entries[0];
    bool entered_elsewhere = nentries > 1 || head != entries[0];
    free(entries);
    if ((size_t)out->count == out->cap)
        out->loops = vec_grow(out->loops, &out->cap, sizeof *out->loops);
    int32_t loop = out->count++;
    out->loops[loop] = (struct graph_loop){.head = head,
                                           .parent = r->loop,
                                           .depth = r->loop < 0 ? 1 : out->loops[r->loop].depth + 1,
                                           .irreducible = entered_elsewhere};
    int32_t *rest = xmalloc(sizeof *rest * (size_t)count), nrest = 0;
    for (int32_t i = 0; i < count; i++) {
        bit_clear(s->nodes, members[i]);
        out->loop_of[members[i]] = loop;
        if (members[i] != head)
            rest[nrest++] = members[i];
    }
    s->region[head] = -1;
    if (nrest > 0)
        push_region(s, rest, nrest, loop);
    else
        free(rest);
}

static bool loops_to_itself(const struct search *s, int32_t v)
{
    for (int32_t e = s->g->succ_at[v]; e < s->g->succ_at[v + 1]; e++)
        if (s->g->succ[e] == v)
            return true;
    return false;
}

static void enter_node(struct search *s, int32_t v, int32_t *depth)
{
    s->seen[v] = s->low[v] = ++s->nseen;
    s->stack[s->depth++] = v;
    s->walk[(*depth)++] = (struct walk){v, s->g->succ_at[v]};
}

/* Tarjan's algorithm from one node of a region. A node of a complete component leaves the region,
 * by which it is known to be on the stack no more. */
static void find_components(struct search *s, const struct region *r, int32_t root)
{
    const struct graph *g = s->g;
    int32_t depth = 0;
    enter_node(s, root, &depth);
    while (depth > 0) {
        struct walk *w = &s->walk[depth - 1];
        int32_t v = w->node;
        if (w->next < g->succ_at[v + 1]) {
            int32_t to = g->succ[w->next++];
            if (s->region[to] != r->id)
                continue;
            if (s->seen[to] == 0)
                enter_node(s, to, &depth);
            else if (s->seen[to] < s->low[v])
                s->low[v] = s->seen[to];
            continue;
        }
        depth--;
        if (depth > 0 && s->low[v] < s->low[s->walk[depth - 1].node])
            s->low[s->walk[depth - 1].node] = s->low[v];
        if (s->low[v] != s->seen[v])
            continue;
        int32_t first = s->depth;
        do
            s->region[s->stack[--first]] = -1;
        while (s->stack[first] != v);
        int32_t count = s->depth - first;
        s->depth = first;
        if (count > 1 || loops_to_itself(s, v))
            add_loop(s, r, &s->stack[first], count);
    }
}

void graph_find_loops(const struct graph *g, int32_t entry, graph_choose_head *choose, void *self,
                      struct graph_loops *out)
{
    size_t n = (size_t)g->n + 1;
    int32_t *order = xmalloc(sizeof *order * n), *number = xmalloc(sizeof *number * n);
    struct search s = {.g = g,
                       .out = out,
                       .choose = choose,
                       .self = self,
                       .number = number,
                       .region = xmalloc(sizeof(int32_t) * n),
                       .seen = xcalloc(n, sizeof(int32_t)),
                       .low = xcalloc(n, sizeof(int32_t)),
                       .stack = xmalloc(sizeof(int32_t) * n),
                       .nodes = xcalloc((size_t)bit_words(g->n) + 1, 8),
                       .walk = xmalloc(sizeof *s.walk * n)};
    int32_t count = graph_reverse_postorder(g, entry, order, number);
    *out = (struct graph_loops){.loop_of = xmalloc(sizeof(int32_t) * n)};
    for (int32_t v = 0; v < g->n; v++)
        s.region[v] = out->loop_of[v] = -1;
    push_region(&s, order, count, -1);
    while (s.ntodo > 0) {
        struct region r = s.todo[--s.ntodo];
        for (int32_t i = 0; i < r.count; i++)
            if (s.region[r.nodes[i]] == r.id)
                find_components(&s, &r, r.nodes[i]);
        free(r.nodes);
    }
    free(number);
    free(s.region);
    free(s.seen);
    free(s.low);
    free(s.stack);
    free(s.nodes);
    free(s.walk);
    free(s.todo);
}

void graph_loops_free(struct graph_loops *l)
{
    free(l->loops);
    free(l->loop_of);
}

int32_t graph_loop_entered(const struct graph_loops *l, int32_t from, int32_t to)
{
    int32_t entered = -1;
    for (int32_t of = l->loop_of[to]; of >= 0 && !graph_in_loop(l, of, from);
         of = l->loops[of].parent)
        entered = of;
    return entered;
}
