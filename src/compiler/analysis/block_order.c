/* block_order: the weak topological order of a kernel's blocks (cfg.c says what it promises).
 *
 * The order comes from a depth-first walk: reverse post-order of a graph in which every loop's head
 * leads to the loop's exits first, which puts them after all of the loop, and in which a loop that
 * is entered elsewhere is entered at its head, which leads on to that block. */
#include "compiler/analysis/cfg.h"

#include <stdlib.h>

/* The walk's graph while it is made. */
struct walk_graph {
    const struct cfg *c;
    struct graph g;
    int32_t *unlinked; /* per loop: itself, or where to look on for a loop around it to whose head
                          no edge from the head of its own parent has been added */
};

/* The innermost loop to whose head no edge leads from its parent's, from `loop` outwards, -1: the
 * outermost loop has one. */
static int32_t first_unlinked(struct walk_graph *w, int32_t loop)
{
    while (loop >= 0 && w->unlinked[loop] != loop) {
        int32_t next = w->unlinked[loop];
        if (next >= 0)
            w->unlinked[loop] = w->unlinked[next];
        loop = next;
    }
    return loop;
}

/* Adds the edges by which the walk follows the edge from one block to another: as it is, or by the
 * heads of the loops that it enters, each of which leads on to the next; once is enough. */
static void add_walk(struct walk_graph *w, int32_t from, int32_t to)
{
    const struct graph_loops *l = &w->c->loops;
    int32_t outer = graph_loop_entered(l, from, to), inner = outer >= 0 ? l->loop_of[to] : -1;
    if (outer < 0) {
        graph_edge(&w->g, from, to);
        return;
    }
    graph_edge(&w->g, from, l->loops[outer].head);
    if (l->loops[inner].head != to)
        graph_edge(&w->g, l->loops[inner].head, to);
    for (int32_t of = first_unlinked(w, inner);
         of >= 0 && l->loops[of].depth > l->loops[outer].depth; of = first_unlinked(w, of)) {
        graph_edge(&w->g, l->loops[l->loops[of].parent].head, l->loops[of].head);
        w->unlinked[of] = l->loops[of].parent;
    }
}

/* Where the walk goes first on an edge: that block, or the head of the outermost loop entered. */
static int32_t walk_target(const struct cfg *c, int32_t from, int32_t to)
{
    int32_t outer = graph_loop_entered(&c->loops, from, to);
    return outer >= 0 ? c->loops.loops[outer].head : to;
}

int32_t cfg_find_order(const struct cfg *c, int32_t *order, int32_t *position)
{
    const struct graph_loops *l = &c->loops;
    struct walk_graph walk = {.c = c,
                              .unlinked = xmalloc(sizeof(int32_t) * ((size_t)l->count + 1))};
    for (int32_t i = 0; i < l->count; i++)
        walk.unlinked[i] = i;
    graph_init(&walk.g, c->n);
    /* Of the loops that an edge leaves the outermost leads to its target. The walk enters that loop
     * at its head alone, and goes to the exits first, so when it comes to the heads of the loops
     * inside it has been there. */
    for (int32_t b = 0; b < c->n; b++)
        for (int s = 0; s < c->blocks[b].nsucc; s++) {
            int32_t to = c->blocks[b].succ[s], left = graph_loop_entered(l, to, b);
            if (left >= 0)
                graph_edge(&walk.g, l->loops[left].head, walk_target(c, b, to));
        }
    /* Of the successors, the last one that the walk goes to comes first in the order. */
    bool turned = (c->k->opt->order & JIT_ORDER_LANES) != 0;
    for (int32_t b = 0; b < c->n; b++)
        for (int s = 0, n = c->blocks[b].nsucc; s < n; s++)
            add_walk(&walk, b, c->blocks[b].succ[turned ? n - 1 - s : s]);
    graph_close(&walk.g);
    int32_t count = graph_reverse_postorder(&walk.g, 0, order, position);
    graph_free(&walk.g);
    free(walk.unlinked);
    return count;
}
