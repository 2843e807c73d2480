/* launch: launches of executable graphs: what of one comes before what of it or another, by edges,
 * by nodes that record events, wait for them or for the program, and by who has launched it.
 *
 * Graphs that kernels launch are over when the launch is over that the host made, and count as at
 * its place in its stream. Among each other: what a kernel launches comes after what the kernel has
 * done before, and after what that comes after in its graph. Tail launches come after all that the
 * graph and what it has launched below itself do, earlier tail launches included. */
#include <stdlib.h>

#include "races/internal.h"

struct launch {
    uint32_t refs;
    struct graph *graph;
    struct node_event {
        uint32_t node;
        struct observe_id as;  /* of records: known to waits by this name */
        struct vclock *waited; /* of waits: what the node comes after */
        uint32_t part;         /* of a host function: the last that is recorded */
    } *events;
    uint32_t event_count;
    struct node_looks {
        uint32_t node;
        struct looks *looks;
    } *looks; /* of host functions that have not begun */
    uint32_t looks_count;
    /* By a node of another launch, NULL: by the host. */
    struct launch *by;
    uint32_t by_node;
    uint32_t by_part;
    enum observe_launched how;
    uint64_t serial; /* in the order in which they were launched */
};

struct launch *launch_new(uint64_t graph)
{
    static uint64_t serials;
    struct launch *l = xcalloc(1, sizeof *l);
    l->refs = 1;
    l->graph = graph_ref(graph);
    l->serial = ++serials;
    return l;
}

void launch_is_of(struct launch *l, struct launch *by, uint32_t node, enum observe_launched how,
                  uint32_t part)
{
    l->by_part = part;
    l->by = launch_ref(by);
    l->by_node = node;
    l->how = how;
}

struct launch *launch_ref(struct launch *l)
{
    l->refs++;
    return l;
}

void launch_unref(struct launch *l)
{
    while (l != NULL && --l->refs == 0) { /* a graph may launch itself very often */
        struct launch *by = l->by;
        for (uint32_t i = 0; i < l->event_count; i++)
            vclock_unref(l->events[i].waited);
        free(l->events);
        for (uint32_t i = 0; i < l->looks_count; i++)
            free(l->looks[i].looks);
        free(l->looks);
        graph_unref(l->graph);
        free(l);
        l = by;
    }
}

uint64_t launch_graph(const struct launch *l) { return graph_number(l->graph); }

static void add(struct launch *l, struct node_event e)
{
    l->events = xrealloc(l->events, (l->event_count + 1) * sizeof *l->events);
    l->events[l->event_count++] = e;
}

void launch_records(struct launch *l, uint32_t node, const struct observe_id *as, uint32_t part)
{
    add(l, (struct node_event){.node = node, .as = *as, .part = part});
}

void launch_waits(struct launch *l, uint32_t node, struct vclock *waited)
{
    add(l, (struct node_event){.node = node, .waited = waited});
}

static void add_looks(uint32_t node, const void *function, const void *argument, void *self)
{
    struct launch *l = self;
    struct node_looks n = {node, looks_begin(function, argument)};
    if (n.looks == NULL)
        return;
    l->looks = xrealloc(l->looks, (l->looks_count + 1) * sizeof *l->looks);
    l->looks[l->looks_count++] = n;
}

void launch_looks(struct launch *l) { graph_functions(l->graph, add_looks, l); }

struct looks *launch_looks_of(struct launch *l, uint32_t node)
{
    for (uint32_t i = 0; i < l->looks_count; i++)
        if (l->looks[i].node == node) {
            struct looks *found = l->looks[i].looks;
            l->looks[i] = l->looks[--l->looks_count];
            return found;
        }
    return NULL;
}

bool launch_host_before(const struct moment *a, const struct moment *b)
{
    for (uint32_t i = 0; b->launch != NULL && i < b->launch->event_count; i++) {
        const struct node_event *e = &b->launch->events[i];
        if (e->waited != NULL &&
            (b->id.node == e->node || graph_comes_after(b->launch->graph, b->id.node, e->node)) &&
            order_host_did(e->waited, a))
            return true;
    }
    return false;
}

bool launch_before(const struct moment *a, const struct moment *b)
{
    for (uint32_t i = 0; a->launch != NULL && i < a->launch->event_count; i++) {
        const struct node_event *e = &a->launch->events[i];
        if (e->as.count != 0 &&
            vclock_get(b->after, e->as.stream) >= e->as.count << POSITION_SHIFT &&
            (graph_comes_after(a->launch->graph, e->node, a->id.node) ||
             (e->node == a->id.node && a->part <= e->part)))
            return true;
    }
    for (uint32_t i = 0; b->launch != NULL && i < b->launch->event_count; i++) {
        const struct node_event *e = &b->launch->events[i];
        if (e->waited != NULL && graph_comes_after(b->launch->graph, b->id.node, e->node) &&
            vclock_get(e->waited, a->id.stream) >= a->position)
            return true;
    }
    return false;
}

/* Whether the launch is one that must be over before a tail launch of `of` with that serial. */
static bool ends_before_tail(const struct launch *l, const struct launch *of, uint64_t serial)
{
    while (l != NULL && l != of) {
        if (l->how == OBSERVE_TAIL && l->by == of)
            return l->serial < serial;
        /* a sibling belongs to what is around the graph that has launched it */
        const struct launch *around = l->by;
        if (l->how == OBSERVE_SIBLING) {
            while (around != NULL && around->how != OBSERVE_BELOW)
                around = around->by;
            around = around != NULL ? around->by : NULL;
        }
        l = around;
    }
    return l == of;
}

bool launch_orders(const struct moment *a, const struct moment *b)
{
    const struct launch *of = a->launch;
    if (of == b->launch)
        return a->id.node == b->id.node || graph_comes_after(of->graph, b->id.node, a->id.node) ||
               launch_before(a, b);
    for (const struct launch *l = b->launch; l->by != NULL; l = l->by) {
        if (l->by == of && ((l->by_node == a->id.node && a->part <= l->by_part) ||
                            graph_comes_after(of->graph, l->by_node, a->id.node)))
            return true;
        if (l->how == OBSERVE_TAIL && ends_before_tail(of, l->by, l->serial))
            return true;
    }
    return false;
}
