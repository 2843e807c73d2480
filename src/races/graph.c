/* graph: executable graphs: which node comes after which, as bits. A graph that has ended stays
 * while launches of it run. */
#include <stdlib.h>
#include <string.h>

#include "races/internal.h"

/* A node, and all that it comes after, as bits by number. */
struct graph_node {
    uint32_t branch; /* 0: of the graph itself */
    uint64_t *before;
    uint32_t words;
    struct shadow_range copies[2];   /* what it reads and writes, if it is a copy */
    const void *function, *argument; /* of the host; NULL: it is none */
};

struct graph {
    uint64_t number;
    uint32_t refs;
    struct observe_id last; /* launch by the host; count 0: none */
    struct {
        struct graph_node *items;
        size_t count, cap;
    } nodes; /* by number */
};

static struct {
    struct graph **items;
    size_t count, cap;
} graphs;

static struct graph *graph_of(uint64_t number)
{
    for (size_t i = graphs.count; i > 0; i--)
        if (graphs.items[i - 1]->number == number)
            return graphs.items[i - 1];
    struct graph *g = xcalloc(1, sizeof *g);
    g->number = number;
    g->refs = 1;
    vec_push(&graphs, g);
    return g;
}

struct graph *graph_ref(uint64_t number)
{
    struct graph *g = graph_of(number);
    g->refs++;
    return g;
}

struct observe_id graph_launched(uint64_t number, const struct observe_id *now)
{
    struct graph *g = graph_of(number);
    struct observe_id before = g->last;
    g->last = *now;
    return before;
}

uint64_t graph_number(const struct graph *g) { return g->number; }

void graph_unref(struct graph *g)
{
    if (--g->refs > 0)
        return;
    for (size_t i = 0; i < g->nodes.count; i++)
        free(g->nodes.items[i].before);
    free(g->nodes.items);
    free(g);
}

void graph_copies(uint64_t number, void (*each)(const struct shadow_range *, void *), void *self)
{
    const struct graph *g = graph_of(number);
    for (size_t i = 0; i < g->nodes.count; i++)
        for (int k = 0; k < 2 && g->nodes.items[i].copies[k].high != 0; k++)
            each(&g->nodes.items[i].copies[k], self);
}

void graph_functions(const struct graph *g,
                     void (*each)(uint32_t, const void *, const void *, void *), void *self)
{
    for (uint32_t i = 0; i < g->nodes.count; i++)
        if (g->nodes.items[i].function != NULL)
            each(i, g->nodes.items[i].function, g->nodes.items[i].argument, self);
}

static void node_does(struct graph *g, const struct observe_node *told)
{
    struct graph_node *n = &g->nodes.items[told->node];
    if (told->work.kind == OBSERVE_HOST) {
        n->function = told->work.host.function;
        n->argument = told->work.host.argument;
    }
    if (told->work.kind != OBSERVE_COPY)
        return;
    n->copies[0] = copy_source(&told->work);
    n->copies[1] = copy_target(&told->work);
    for (int k = 0; k < 2; k++)
        scopes_note(&n->copies[k], told->graph);
}

void order_graph_ended(uint64_t number)
{
    scopes_graph_ended(number);
    for (size_t i = 0; i < graphs.count; i++)
        if (graphs.items[i]->number == number) {
            graph_unref(graphs.items[i]);
            graphs.items[i] = graphs.items[--graphs.count];
            return;
        }
}

bool graph_comes_after(const struct graph *g, uint32_t node, uint32_t before)
{
    if (node >= g->nodes.count)
        return false;
    const struct graph_node *n = &g->nodes.items[node];
    return before / 64 < n->words && (n->before[before / 64] >> before % 64 & 1) != 0;
}

static void node_add(struct graph_node *n, uint32_t before)
{
    uint32_t words = before / 64 + 1;
    if (words > n->words) {
        n->before = xrealloc(n->before, words * sizeof *n->before);
        memset(n->before + n->words, 0, (words - n->words) * sizeof *n->before);
        n->words = words;
    }
    n->before[before / 64] |= (uint64_t)1 << before % 64;
}

/* What comes after `other` comes after all that this does, and after the bodies of a branch. */
static void node_follows(struct graph *g, struct graph_node *n, uint32_t other)
{
    node_add(n, other);
    if (other >= g->nodes.count)
        return;
    for (uint32_t b = 1; b < g->nodes.count; b++)
        if (graph_comes_after(g, other, b) || g->nodes.items[b].branch == other)
            node_add(n, b);
}

void order_graph_node(const struct observe_node *told)
{
    struct graph *g = graph_of(told->graph);
    if (told->changed) { /* edges stay */
        if (told->node < g->nodes.count)
            node_does(g, told);
        return;
    }
    while (g->nodes.count <= told->node)
        vec_push(&g->nodes, (struct graph_node){0});
    struct graph_node n = {.branch = told->branch};
    if (told->branch != 0) {
        node_add(&n, told->branch);
        for (uint32_t b = 1; b < g->nodes.count; b++)
            if (graph_comes_after(g, told->branch, b))
                node_add(&n, b);
    }
    for (uint32_t i = 0; i < told->after_count; i++)
        node_follows(g, &n, told->after[i]);
    g->nodes.items[told->node] = n;
    node_does(g, told);
}
