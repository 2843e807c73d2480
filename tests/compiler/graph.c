/* Sets of bits (base/bits.h) and the graph module (compiler/analysis/graph.h), on random graphs
 * against definitions: a node is reached if a walk gets there, it is dominated by those without
 * which no walk gets there, and two nodes of a loop reach each other. */
#include "compiler/analysis/graph.h"
#include "check.h"

#include <stdio.h>
#include <stdlib.h>

enum { NODES = 70, GRAPHS = 300 }; /* more nodes than a word has bits */

/* Is there a path of at least one edge, by the definition? */
static bool reaches(const struct graph *g, int32_t from, int32_t to, const uint64_t *within,
                    int32_t without)
{
    bool seen[NODES] = {false};
    for (bool changed = true; changed;) {
        changed = false;
        for (int32_t v = 0; v < g->n; v++)
            for (int32_t s = g->succ_at[v]; s < g->succ_at[v + 1]; s++) {
                int32_t w = g->succ[s];
                if ((v != from && !seen[v]) || seen[w] || w == without ||
                    (within != NULL && !bit_get(within, w)))
                    continue;
                seen[w] = changed = true;
            }
    }
    return seen[to];
}

static void check_reach(const struct graph *g)
{
    uint64_t all[2] = {0}, some[2] = {0}, limited[2] = {0}, few[2] = {0};
    int32_t from = rand() % g->n, without = rand() % g->n, bad = 0;
    for (int32_t v = 0; v < g->n; v++)
        if (rand() % 3 != 0)
            bit_set(some, v);
    CHECK(graph_reach(g, from, GRAPH_ALL, all));
    CHECK(graph_reach(g, from, (struct graph_limits){some, without, 0}, limited));
    for (int32_t v = 0; v < g->n; v++) {
        bad += bit_get(all, v) != reaches(g, from, v, NULL, -1);
        bad += bit_get(limited, v) != reaches(g, from, v, some, without);
    }
    CHECK_EQ_INT(bad, 0);
    int32_t count = bit_count(all, g->n);
    CHECK(count == 0 || graph_reach(g, from, (struct graph_limits){NULL, -1, count}, few));
    bit_clear_all(few, g->n);
    CHECK(count < 2 || !graph_reach(g, from, (struct graph_limits){NULL, -1, count - 1}, few));
}

static void check_dominators(const struct graph *g)
{
    int32_t order[NODES + 1], number[NODES + 1], idom[NODES + 1], bad = 0;
    int32_t count = graph_reverse_postorder(g, 0, order, number);
    graph_dominators(g, order, number, count, idom);
    for (int32_t b = 0; b < g->n; b++) {
        bad += (number[b] >= 0) != (b == 0 || reaches(g, 0, b, NULL, -1));
        for (int32_t a = 0; a < g->n && number[b] >= 0; a++)
            if (number[a] >= 0)
                bad += graph_dominates(idom, number, a, b) !=
                       (a == b || a == 0 || (b != 0 && !reaches(g, 0, b, NULL, a)));
    }
    CHECK_EQ_INT(bad, 0);
}

static void check_loops(const struct graph *g)
{
    struct graph_loops l;
    int32_t bad = 0;
    graph_find_loops(g, 0, NULL, &l);
    for (int32_t v = 0; v < g->n; v++) {
        bool reached = v == 0 || reaches(g, 0, v, NULL, -1);
        bad += reached && (l.loop_of[v] >= 0) != reaches(g, v, v, NULL, -1);
        int32_t head = l.loop_of[v] >= 0 ? l.loops[l.loop_of[v]].head : v;
        bad += head != v && (!reaches(g, v, head, NULL, -1) || !reaches(g, head, v, NULL, -1));
    }
    CHECK_EQ_INT(bad, 0);
    graph_loops_free(&l);
}

/* The forest by its definition: the loop of head h is the component of h among the nodes that are
 * not below it in reverse postorder; it is irreducible if it is entered at another node. */
static void check_forest(const struct graph *g)
{
    struct graph_loops l;
    int32_t order[NODES + 1], number[NODES + 1], bad = 0;
    int32_t count = graph_reverse_postorder(g, 0, order, number);
    graph_find_loops(g, 0, NULL, &l);
    for (int32_t n = 0; n < count; n++) {
        int32_t h = order[n], own = l.loop_of[h] >= 0 ? l.loop_of[h] : 0;
        uint64_t above[2] = {0}, body[2] = {0};
        for (int32_t i = n; i < count; i++)
            bit_set(above, order[i]);
        bool is_head = reaches(g, h, h, above, -1);
        bad += is_head != (l.loop_of[h] >= 0 && l.loops[own].head == h);
        if (!is_head)
            continue;
        for (int32_t v = 0; v < g->n; v++)
            if (bit_get(above, v) && reaches(g, h, v, above, -1) && reaches(g, v, h, above, -1))
                bit_set(body, v);
        bool irreducible = false;
        for (int32_t v = 0; v < g->n; v++) {
            bad += bit_get(body, v) != graph_in_loop(&l, own, v);
            for (int32_t s = g->succ_at[v]; s < g->succ_at[v + 1] && number[v] >= 0; s++)
                irreducible |= !bit_get(body, v) && bit_get(body, g->succ[s]) && g->succ[s] != h;
        }
        bad += irreducible != l.loops[own].irreducible;
    }
    CHECK_EQ_INT(bad, 0);
    graph_loops_free(&l);
}

/* The outermost loop entered, by going through all loops around the target. */
static void check_entered(const struct graph *g)
{
    struct graph_loops l;
    int32_t bad = 0;
    graph_find_loops(g, 0, NULL, &l);
    for (int32_t from = 0; from < g->n; from++)
        for (int32_t to = 0; to < g->n; to++) {
            int32_t entered = -1;
            for (int32_t of = l.loop_of[to]; of >= 0; of = l.loops[of].parent) {
                int32_t has = l.loop_of[from];
                while (has >= 0 && has != of)
                    has = l.loops[has].parent;
                if (has < 0)
                    entered = of;
            }
            bad += graph_loop_entered(&l, from, to) != entered;
        }
    CHECK_EQ_INT(bad, 0);
    graph_loops_free(&l);
}

/* ---- steps ---- */

/* Graphs of n nodes each of which leads to the next one and to another: any, one nearby, or node 0
 * by turns with an earlier one, and the last to all. */
enum shape { ANYWHERE, NEARBY, NESTED };

static void make_tangle(struct graph *g, int32_t n, enum shape shape)
{
    graph_init(g, n);
    for (int32_t v = 0; v < n; v++) {
        int32_t to = shape == ANYWHERE ? rand() % n
                     : shape == NEARBY ? v + rand() % 20 - 10
                                       : n - 1 - v;
        graph_edge(g, v, v + 1 < n ? v + 1 : v);
        graph_edge(g, v, to < 0 ? 0 : to >= n ? n - 1 : to);
    }
    graph_close(g);
}

/* Loops are found in steps that grow with the size of the graph, though there are as many of them,
 * in each other, as nodes. Counted, so that it does not depend on the machine. */
static void test_steps(void)
{
    for (enum shape shape = ANYWHERE; shape <= NESTED; shape++) {
        int64_t steps[2];
        int32_t deepest = 0;
        for (int twice = 0; twice < 2; twice++) {
            struct graph g;
            struct graph_loops l;
            make_tangle(&g, twice ? 80000 : 40000, shape);
            graph_find_loops(&g, 0, NULL, &l);
            steps[twice] = l.steps;
            for (int32_t i = 0; i < l.count; i++)
                deepest = l.loops[i].depth > deepest ? l.loops[i].depth : deepest;
            graph_loops_free(&l);
            graph_free(&g);
        }
        printf("shape %d: depth %d, %lld and %lld steps\n", shape, deepest, (long long)steps[0],
               (long long)steps[1]);
        CHECK(steps[0] > 40000 && steps[1] < steps[0] * 5 / 2);
        CHECK(steps[1] < 80000 * 40);
        CHECK(shape == NEARBY || deepest > 1000);
    }
}

static void test_graphs(void)
{
    for (int round = 0; round < GRAPHS; round++) {
        struct graph g;
        graph_init(&g, 1 + rand() % NODES);
        for (int e = rand() % (3 * g.n); e > 0; e--)
            graph_edge(&g, rand() % g.n, rand() % g.n);
        graph_close(&g);
        check_reach(&g);
        check_dominators(&g);
        check_loops(&g);
        check_forest(&g);
        check_entered(&g);
        graph_free(&g);
    }
}

/* The operations on sets, element by element. */
static void test_bits(void)
{
    for (int round = 0; round < 2000; round++) {
        int32_t n = 1 + rand() % 150, first = rand() % (n + 1), bad = 0;
        uint64_t a[3] = {0}, b[3] = {0}, c[3] = {0}, r[5][3];
        for (int32_t i = 0; i < n; i++) {
            uint64_t *set[] = {a, b, c};
            for (int s = 0; s < 3; s++)
                if (rand() % 2)
                    bit_set(set[s], i);
        }
        for (int k = 0; k < 5; k++)
            bit_copy(r[k], a, n);
        bool changed[5] = {bit_union(r[0], b, n), bit_union_except(r[1], b, c, n),
                           bit_union_above(r[2], b, n, first), bit_intersect(r[3], b, n)};
        bit_subtract(r[4], b, n);
        changed[4] = bit_intersects(a, b, n);
        bool want_changed[5] = {false};
        for (int32_t i = 0; i < n; i++) {
            bool x = bit_get(a, i), y = bit_get(b, i), z = bit_get(c, i);
            bool want[5] = {x || y, x || (y && !z), x || (y && i >= first), x && y, x && !y};
            for (int k = 0; k < 5; k++) {
                bad += bit_get(r[k], i) != want[k];
                want_changed[k] |= want[k] != x;
            }
        }
        for (int k = 0; k < 5; k++)
            bad += changed[k] != want_changed[k];
        CHECK_EQ_INT(bad, 0);
    }
}

int main(void)
{
    test_bits();
    test_graphs();
    test_steps();
    return check_done();
}
