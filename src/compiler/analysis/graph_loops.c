/* graph_loops: the loop nesting forest of a directed graph (graph.h).
 *
 * The forest is found from the outside inwards, as Steensgaard and Bourdoncle do: the strongly
 * connected components of a region are its loops; what is in one, without its head, is a region of
 * its own. That takes a search of the loop for each loop, so its cost is the size of the graph
 * times the depth of the loops. It is done only where somebody chooses heads, to the depth that
 * they ask for.
 *
 * Everywhere else the head is the first entry, and the forest of a component is found from the
 * inside outwards in one pass, whatever the graph (nest_component). It is the same forest:
 *
 * - Number the nodes in reverse postorder. In a strongly connected set of nodes the one with the
 *   lowest number is that to which the walk came first: all others are reached from there, so they
 *   are its descendants and finish before it. The walk came to it from outside of the set, so it is
 *   the first entry. Hence the head of a component is its lowest node, and by induction the loop of
 *   head h is the component of h among the nodes that are not below h.
 * - Of the nodes not below h, those from which h is reached by such nodes are descendants of h: the
 *   last edge leads backwards to h, hence from a descendant; and an edge from a node that is not a
 *   descendant of h, nor below it, to a descendant would come from a node finished before h was
 *   begun, so the walk would have come to that descendant earlier. So h reaches them all, and the
 *   loop of h is what reaches h by nodes not below it.
 *
 * So heads are tried from the highest down. Each loop that is found becomes one node, by
 * union-find. An edge is entered, at the node that its target is part of by then, when the turn
 * comes to its source: before, its source is below all heads tried. It is followed once, when the
 * node where it is entered becomes a part of a loop. */
#include "compiler/analysis/graph.h"

#include <stdlib.h>

/* A node belongs to one region at a time, and only edges within a region count. */
struct walk {
    int32_t node, next;
};

struct search {
    const struct graph *g;
    struct graph_loops *out;
    const struct graph_heads *heads;
    const int32_t *number; /* in reverse postorder, -1: not reached */
    int32_t *region;       /* per node, -1: in none any more */
    int32_t nregions;
    int32_t *seen, *low, nseen; /* Tarjan's: 0 where not seen in this region */
    int32_t *stack, depth;      /* nodes of components that are not complete */
    uint64_t *nodes;            /* scratch: those of a component */
    struct walk *walk;
    int32_t *part_of;             /* nest_component: union-find, of the nodes in loops found */
    int32_t *owner;               /* the head of the loop directly around a node, or around the loop
                                     whose head it is, -1: none */
    int32_t *loop_at;             /* per node: the loop whose head it is, -1: none */
    int32_t *first, *next, *from; /* per node, its edges entered; per edge, the next, its source */
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

static int32_t push_loop(struct graph_loops *out, int32_t head, int32_t parent)
{
    if ((size_t)out->count == out->cap)
        out->loops = vec_grow(out->loops, &out->cap, sizeof *out->loops);
    struct graph_loop *l = &out->loops[out->count], *all = out->loops;
    *l = (struct graph_loop){.head = head, .parent = parent, .depth = 1, .jump = out->count};
    if (parent >= 0) {
        int32_t jump = all[parent].jump, over = all[jump].jump;
        bool even = all[parent].depth - all[jump].depth == all[jump].depth - all[over].depth;
        l->depth = all[parent].depth + 1;
        l->jump = even ? over : parent;
    }
    return out->count++;
}

/* ---- a component whose heads are the first entries ---- */

/* A node and its number, such that they sort by number. */
static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static int32_t *sort_by_number(const struct search *s, const int32_t *members, int32_t count)
{
    uint64_t *keys = xmalloc(sizeof *keys * (size_t)count);
    int32_t *sorted = xmalloc(sizeof *sorted * (size_t)count);
    for (int32_t i = 0; i < count; i++)
        keys[i] = (uint64_t)s->number[members[i]] << 32 | (uint32_t)members[i];
    qsort(keys, (size_t)count, sizeof *keys, by_value);
    for (int32_t i = 0; i < count; i++)
        sorted[i] = (int32_t)(uint32_t)keys[i];
    free(keys);
    return sorted;
}

/* The node that v is part of: itself, or the head of the outermost loop found that has it. */
static int32_t find_part(struct search *s, int32_t v)
{
    for (; s->part_of[v] != v; v = s->part_of[v]) {
        s->part_of[v] = s->part_of[s->part_of[v]];
        s->out->steps++;
    }
    return v;
}

/* Enters the edges of node h within component `id`. */
static void enter_edges(struct search *s, int32_t h, int32_t id)
{
    for (int32_t e = s->g->succ_at[h]; e < s->g->succ_at[h + 1]; e++) {
        s->out->steps++;
        if (s->region[s->g->succ[e]] != id)
            continue;
        int32_t at = find_part(s, s->g->succ[e]);
        s->from[e] = h;
        s->next[e] = s->first[at];
        s->first[at] = e;
    }
}

/* Makes a loop of head h and what leads to it, if anything does. */
static void collect_loop(struct search *s, int32_t h)
{
    int32_t bottom = s->depth;
    if (s->first[h] < 0)
        return;
    s->loop_at[h] = 0; /* which one is known when those around it are */
    s->stack[s->depth++] = h;
    while (s->depth > bottom) {
        int32_t v = s->stack[--s->depth], edge = s->first[v];
        s->first[v] = -1;
        for (; edge >= 0; edge = s->next[edge]) {
            int32_t part = find_part(s, s->from[edge]);
            s->out->steps++;
            if (part == h)
                continue;
            s->part_of[part] = s->owner[part] = h;
            s->stack[s->depth++] = part;
        }
    }
}

static void nest_component(struct search *s, const int32_t *members, int32_t count, int32_t parent)
{
    int32_t id = s->nregions++, *sorted = sort_by_number(s, members, count);
    for (int32_t i = 0; i < count; i++) {
        int32_t v = members[i];
        s->region[v] = id;
        s->part_of[v] = v;
        s->first[v] = s->owner[v] = s->loop_at[v] = -1;
    }
    for (int32_t i = count - 1; i >= 0; i--) {
        enter_edges(s, sorted[i], id);
        collect_loop(s, sorted[i]);
    }
    for (int32_t i = 0; i < count; i++) {
        int32_t v = sorted[i], around = s->owner[v] >= 0 ? s->loop_at[s->owner[v]] : parent;
        if (s->loop_at[v] >= 0)
            around = s->loop_at[v] = push_loop(s->out, v, around);
        s->out->loop_of[v] = around;
    }
    free(sorted);
}

/* ---- a component whose head is chosen ---- */

/* Is the head of this component chosen? Else it and all in it are headed by their first entries. */
static bool is_chosen(const struct search *s, int32_t parent, const int32_t *members, int32_t count)
{
    int32_t depth = parent < 0 ? 1 : s->out->loops[parent].depth + 1;
    if (s->heads == NULL || depth > s->heads->depth)
        return false;
    for (int32_t i = 0; i < count; i++)
        if (bit_get(s->heads->at, members[i]))
            return true;
    return false;
}

/* A component of region r is a loop: names its head and makes the rest a region. */
static void add_loop(struct search *s, const struct region *r, const int32_t *members,
                     int32_t count)
{
    struct graph_loops *out = s->out;
    if (!is_chosen(s, r->loop, members, count)) {
        nest_component(s, members, count, r->loop);
        return;
    }
    for (int32_t i = 0; i < count; i++)
        bit_set(s->nodes, members[i]);
    int32_t nentries, *entries = find_entries(s, members, count, &nentries);
    int32_t head = s->heads->choose(s->heads->self, s->g, s->nodes, entries, nentries);
    free(entries);
    int32_t loop = push_loop(out, head, r->loop);
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
        s->out->steps++;
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
        if (count > 1 || loops_to_itself(s, v))
            add_loop(s, r, &s->stack[first], count);
        s->depth = first;
    }
}

/* Which loops are entered at other nodes than their heads: an edge enters those that have its
 * target but not its source. These are nested, so they are counted up where they begin and down
 * where they end, and summed from the inside outwards. */
static void find_irreducible(const struct graph *g, int32_t entry, const int32_t *number,
                             struct graph_loops *l)
{
    int32_t *entered = xcalloc((size_t)l->count + 1, sizeof *entered);
    for (int32_t v = 0; v < g->n; v++)
        for (int32_t e = number[v] < 0 ? g->succ_at[v + 1] : g->succ_at[v]; e < g->succ_at[v + 1];
             e++) {
            int32_t to = g->succ[e], outer = graph_loop_entered(l, v, to);
            if (outer < 0)
                continue;
            int32_t inner = l->loop_of[to], beyond = l->loops[outer].parent;
            if (l->loops[inner].head == to)
                inner = l->loops[inner].parent;
            if (inner == beyond)
                continue;
            entered[inner]++;
            if (beyond >= 0)
                entered[beyond]--;
        }
    int32_t first = l->loop_of[entry]; /* the entry is entered from outside of all loops */
    if (first >= 0 && l->loops[first].head == entry)
        first = l->loops[first].parent;
    if (first >= 0)
        entered[first]++;
    for (int32_t i = l->count - 1; i >= 0; i--) {
        l->loops[i].irreducible = entered[i] > 0;
        if (l->loops[i].parent >= 0)
            entered[l->loops[i].parent] += entered[i];
    }
    free(entered);
}

void graph_find_loops(const struct graph *g, int32_t entry, const struct graph_heads *heads,
                      struct graph_loops *out)
{
    size_t n = (size_t)g->n + 1, edges = (size_t)g->nedges + 1;
    int32_t *order = xmalloc(sizeof *order * n), *number = xmalloc(sizeof *number * n);
    struct search s = {.g = g,
                       .out = out,
                       .heads = heads,
                       .number = number,
                       .region = xmalloc(sizeof(int32_t) * n),
                       .seen = xcalloc(n, sizeof(int32_t)),
                       .low = xcalloc(n, sizeof(int32_t)),
                       .stack = xmalloc(sizeof(int32_t) * 2 * n),
                       .nodes = xcalloc((size_t)bit_words(g->n) + 1, 8),
                       .walk = xmalloc(sizeof *s.walk * n),
                       .part_of = xmalloc(sizeof(int32_t) * n),
                       .owner = xmalloc(sizeof(int32_t) * n),
                       .loop_at = xmalloc(sizeof(int32_t) * n),
                       .first = xmalloc(sizeof(int32_t) * n),
                       .next = xmalloc(sizeof(int32_t) * edges),
                       .from = xmalloc(sizeof(int32_t) * edges)};
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
    find_irreducible(g, entry, number, out);
    int32_t *all[] = {number,  s.region,  s.seen,  s.low,  s.stack, s.part_of,
                      s.owner, s.loop_at, s.first, s.next, s.from};
    for (size_t i = 0; i < WEIR_COUNT(all); i++)
        free(all[i]);
    free(s.nodes);
    free(s.walk);
    free(s.todo);
}

void graph_loops_free(struct graph_loops *l)
{
    free(l->loops);
    free(l->loop_of);
}

/* ---- where loops are ---- */

int32_t graph_loop_around(const struct graph_loops *l, int32_t loop, int32_t depth)
{
    while (l->loops[loop].depth > depth) {
        int32_t jump = l->loops[loop].jump;
        loop = l->loops[jump].depth >= depth ? jump : l->loops[loop].parent;
    }
    return loop;
}

bool graph_in_loop(const struct graph_loops *l, int32_t loop, int32_t node)
{
    int32_t of = l->loop_of[node], depth = l->loops[loop].depth;
    return of >= 0 && l->loops[of].depth >= depth && graph_loop_around(l, of, depth) == loop;
}

int32_t graph_loop_entered(const struct graph_loops *l, int32_t from, int32_t to)
{
    int32_t a = l->loop_of[to], b = l->loop_of[from];
    if (a < 0 || a == b)
        return -1;
    if (b < 0)
        return graph_loop_around(l, a, 1);
    int32_t depth = l->loops[a].depth, least = l->loops[b].depth;
    least = depth < least ? depth : least;
    int32_t inner = a;
    a = graph_loop_around(l, a, least);
    b = graph_loop_around(l, b, least);
    if (a == b)
        return depth > least ? graph_loop_around(l, inner, least + 1) : -1;
    while (l->loops[a].parent != l->loops[b].parent) {
        bool far = l->loops[a].jump != l->loops[b].jump;
        a = far ? l->loops[a].jump : l->loops[a].parent;
        b = far ? l->loops[b].jump : l->loops[b].parent;
    }
    return a;
}
