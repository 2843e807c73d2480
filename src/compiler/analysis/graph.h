/* Directed graphs, for control flow of PTX and of LLVM IR: orders, dominators, reachability and the
 * loop nesting forest. Nodes are numbers from 0; what they stand for is the caller's.
 *
 * A graph is made by graph_init, an edge at a time by graph_edge, and graph_close; afterwards the
 * successors of node v are succ[succ_at[v]] .. succ[succ_at[v + 1] - 1], in the order in which the
 * edges were added, and the predecessors likewise. Post-dominators are the dominators of the
 * reversed graph. */
#ifndef WEIR_COMPILER_GRAPH_H
#define WEIR_COMPILER_GRAPH_H

#include "base/base.h"
#include "base/bits.h"

struct graph {
    int32_t n, nedges;
    int32_t *succ_at, *succ, *pred_at, *pred;
    struct graph_edge {
        int32_t from, to;
    } *edges;
    size_t edges_cap;
};

void graph_init(struct graph *g, int32_t n);
void graph_edge(struct graph *g, int32_t from, int32_t to);
void graph_close(struct graph *g);
void graph_free(struct graph *g);

/* Reverse post-order of a depth-first walk from `entry` that visits successors in their order:
 * order[] gets the nodes, number[] each node's position, -1 where none leads to it. Returns how
 * many are reached. */
int32_t graph_reverse_postorder(const struct graph *g, int32_t entry, int32_t *order,
                                int32_t *number);

/* Immediate dominators, for nodes in the reverse postorder given: the entry's is itself, -1 for
 * what is not reached (Cooper, Harvey and Kennedy). */
void graph_dominators(const struct graph *g, const int32_t *order, const int32_t *number,
                      int32_t count, int32_t *idom);

/* Does a dominate b? Both are reached. */
static inline bool graph_dominates(const int32_t *idom, const int32_t *number, int32_t a, int32_t b)
{
    while (number[b] > number[a])
        b = idom[b];
    return a == b;
}

/* Where a search of a graph may go. */
struct graph_limits {
    const uint64_t *within; /* the nodes of this set only; NULL: all */
    int32_t without;        /* not this node; -1: any */
    int32_t most;           /* so many nodes; 0: any number */
};

#define GRAPH_ALL ((struct graph_limits){.without = -1})

/* Adds to `set` what can be reached from node `from` by paths of at least one edge within the
 * limits. Paths do not go on from nodes that are in `set` already. False: there are too many. */
bool graph_reach(const struct graph *g, int32_t from, struct graph_limits limits, uint64_t *set);

/* ---- loops ---- */

/* The loop nesting forest. A loop is a strongly connected component: of the graph, or of what is
 * left of the loop around it without the edges to that one's head. An irreducible loop is entered
 * at other nodes than its head, too. In a reducible graph these are the natural loops, those of one
 * header as one. */
struct graph_loops {
    int32_t count;
    struct graph_loop {
        int32_t head, parent, depth; /* the loop around it, -1: none; 1 for the outermost */
        int32_t jump; /* one further around it, for searches; the outermost: itself */
        bool irreducible;
    } *loops; /* parents come before their children */
    size_t cap;
    int32_t *loop_of; /* per node: the innermost loop, -1: none */
    int64_t steps;    /* nodes and edges that were looked at to find them */
};

/* Chooses the head of a loop: `nodes` are all of its nodes, `entries` those at which it is entered,
 * in ascending order of the reverse postorder. */
typedef int32_t graph_choose_head(void *self, const struct graph *g, const uint64_t *nodes,
                                  const int32_t *entries, int32_t nentries);

/* Which loops have their heads chosen: those that have nodes of the set `at`, down to a depth. All
 * others, and loops in them, have their first entry. */
struct graph_heads {
    graph_choose_head *choose;
    void *self;
    const uint64_t *at;
    int32_t depth;
};

/* `heads` NULL: first entries. It takes steps in the order of the edges, times the depth to which
 * heads are chosen. */
void graph_find_loops(const struct graph *g, int32_t entry, const struct graph_heads *heads,
                      struct graph_loops *out);
void graph_loops_free(struct graph_loops *l);

/* The sources of those edges back to a loop's head that belong to an inner loop with the same head,
 * as a set that the caller frees; NULL: there are none. `joints` are the nodes at which control is
 * joined (shared_heads.c). */
uint64_t *graph_inner_sources(const struct graph *g, const uint64_t *body, int32_t head,
                              const uint64_t *joints);

/* The loop around a loop, or that itself, at a depth that is not larger than its own. Like the next
 * two, logarithmic in the depth. */
int32_t graph_loop_around(const struct graph_loops *l, int32_t loop, int32_t depth);

/* Is the node in the loop? */
bool graph_in_loop(const struct graph_loops *l, int32_t loop, int32_t node);

/* The outermost loop that has node `to` but not node `from`, -1: there is none. */
int32_t graph_loop_entered(const struct graph_loops *l, int32_t from, int32_t to);

#endif
