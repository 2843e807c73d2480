/* graph_plan: plans of graphs: made from descriptions, copied, changed, launched. See graph.h. */
#include <stdlib.h>
#include <string.h>

#include "base/reserve.h"
#include "device/graph.h"

enum { PARAMS_ALIGN = 64 };

/* ---- nodes ---- */

/* Fills in what a node does. False: no memory for it. Bodies are left out. */
static bool node_fill(struct graph_node *n, const struct device_node *from)
{
    n->kind = from->kind;
    n->disabled = from->disabled;
    int priority = from->priority > DEVICE_PRIORITY_LOWEST    ? DEVICE_PRIORITY_LOWEST
                   : from->priority < DEVICE_PRIORITY_HIGHEST ? DEVICE_PRIORITY_HIGHEST
                                                              : from->priority;
    n->level = from->prioritized ? priority - DEVICE_PRIORITY_HIGHEST : -1;
    switch (from->kind) {
    case DEVICE_NODE_EMPTY: break;
    case DEVICE_NODE_GRID: {
        uint32_t bytes = from->launch.param_bytes;
        void *params =
            aligned_alloc(PARAMS_ALIGN, (bytes + PARAMS_ALIGN) / PARAMS_ALIGN * PARAMS_ALIGN);
        if (params == NULL)
            return false;
        if (bytes > 0)
            memcpy(params, from->launch.params, bytes);
        n->launch = from->launch;
        n->launch.params = params;
        break;
    }
    case DEVICE_NODE_COPY: copy_args_make(&n->copy, &from->copy); break;
    case DEVICE_NODE_SET: set_args_make(&n->set, &from->set); break;
    case DEVICE_NODE_HOST:
        n->host.fn = from->host.fn;
        n->host.user = from->host.user;
        break;
    case DEVICE_NODE_CALL:
        n->call.fn = from->call.fn;
        n->call.user = from->call.user;
        break;
    case DEVICE_NODE_WRITE_VALUE:
    case DEVICE_NODE_WAIT_VALUE:
        n->word = (struct value_args){from->word.address, from->word.value, from->word.bytes,
                                      (uint32_t)from->word.test};
        break;
    case DEVICE_NODE_RECORD:
    case DEVICE_NODE_WAIT:
        event_ref(from->event);
        n->event.event = from->event;
        break;
    case DEVICE_NODE_BRANCH:
        n->branch.value = from->branch.value;
        n->branch.loop = from->branch.loop;
        n->branch.number = from->branch.number;
        break;
    }
    return true;
}

/* Drops what the node holds, but for bodies. */
static void node_clear(struct graph_node *n)
{
    if (n->kind == DEVICE_NODE_GRID)
        free((void *)n->launch.params);
    if (n->kind == DEVICE_NODE_RECORD || n->kind == DEVICE_NODE_WAIT) {
        event_unref(n->event.event);
        if (n->event.clock != NULL)
            stream_unref(n->event.clock);
    }
}

/* Compares the launch at this index with the one before it. */
static void compare_with_previous(struct graph_plan *plan, size_t index)
{
    if (plan->prepared[index] != NULL)
        grid_prepared_follow(plan->prepared[index], index > 0 ? plan->prepared[index - 1] : NULL);
}

/* Prepares the node, which is at its index, for a batch if it can be one of it. */
static void prepare_node(struct graph_plan *plan, struct graph_node *n)
{
    size_t index = (size_t)(n - plan->nodes);
    struct grid_prepared *q = &plan->prepared_of[index];
    bool fits = n->kind == DEVICE_NODE_GRID && !n->disabled && n->level < 0;
    n->plan = plan;
    plan->prepared[index] = fits && grid_prepare(q, &n->launch) ? q : NULL;
    compare_with_previous(plan, index);
    compare_with_previous(plan, index + 1); /* there is a NULL after the last one */
}

static void plan_free(struct graph_plan *plan);

static void bodies_free(struct graph_branch *b)
{
    for (uint32_t i = 0; i < b->body_count; i++)
        if (b->bodies[i] != NULL)
            plan_free(b->bodies[i]);
    free(b->bodies);
}

/* ---- segments ---- */

/* Where each node of a description goes. */
struct layout {
    uint32_t *out, *after; /* of each node: how many follow it, and one that does */
    uint32_t *segment;     /* of each node */
    uint32_t *index;       /* in the plan's nodes, of each node */
};

static void layout_free(struct layout *l)
{
    free(l->out);
    free(l->after);
    free(l->segment);
    free(l->index);
}

/* Whether the node goes on with the chain of the one before it. */
static bool continues(const struct device_graph_spec *spec, const struct layout *l, uint32_t i)
{
    return spec->nodes[i].dep_count == 1 && l->out[spec->nodes[i].deps[0]] == 1;
}

/* Joins nodes to chains: numbers the segments, gives the nodes their indices. */
static void lay_out(struct graph_plan *plan, const struct device_graph_spec *spec, struct layout *l)
{
    uint32_t n = spec->count;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t d = 0; d < spec->nodes[i].dep_count; d++) {
            l->out[spec->nodes[i].deps[d]]++;
            l->after[spec->nodes[i].deps[d]] = i;
        }
    uint32_t index = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (continues(spec, l, i))
            continue;
        struct graph_segment *s = &plan->segments[plan->segment_count];
        s->first = index;
        for (uint32_t at = i;; at = l->after[at]) {
            l->segment[at] = plan->segment_count;
            l->index[at] = index++;
            s->count++;
            if (l->out[at] != 1 || !continues(spec, l, l->after[at]))
                break;
        }
        plan->segment_count++;
    }
}

/* The edges between segments: from the last node of one to the first of another. */
static void connect(struct graph_plan *plan, const struct device_graph_spec *spec,
                    const struct layout *l)
{
    for (int pass = 0; pass < 2; pass++) { /* count, then write */
        for (uint32_t i = 0; i < spec->count; i++) {
            if (continues(spec, l, i))
                continue;
            for (uint32_t d = 0; d < spec->nodes[i].dep_count; d++) {
                struct graph_segment *from = &plan->segments[l->segment[spec->nodes[i].deps[d]]];
                if (pass == 1) {
                    plan->nexts[from->next + from->next_count] = l->segment[i];
                    plan->segments[l->segment[i]].before++;
                }
                from->next_count++;
            }
        }
        if (pass == 1)
            return;
        for (uint32_t s = 0; s < plan->segment_count; s++) {
            plan->segments[s].next = plan->next_count;
            plan->next_count += plan->segments[s].next_count;
            plan->segments[s].next_count = 0;
        }
        plan->nexts = xcalloc(plan->next_count + 1, sizeof *plan->nexts);
    }
}

/* ---- plans ---- */

/* What a run needs, once the segments are known. */
static void prepare_run(struct graph_plan *plan)
{
    atomic_init(&plan->refs, 1);
    plan->before = xcalloc(plan->segment_count + 1, sizeof *plan->before);
    plan->ready = xcalloc(plan->segment_count + 1, sizeof *plan->ready);
    mutex_init(&plan->lock);
}

static void plan_free(struct graph_plan *plan)
{
    for (uint32_t i = 0; i < plan->node_count; i++) {
        if (plan->nodes[i].kind == DEVICE_NODE_BRANCH)
            bodies_free(&plan->nodes[i].branch);
        node_clear(&plan->nodes[i]);
    }
    for (struct graph_lane *lane = plan->free, *next; lane != NULL; lane = next) {
        next = lane->next;
        stream_unref(lane->stream);
        free(lane);
    }
    pthread_mutex_destroy(&plan->lock);
    free(plan->nodes);
    free(plan->prepared);
    free(plan->prepared_of);
    free(plan->segments);
    free(plan->nexts);
    free(plan->before);
    free(plan->ready);
    free(plan->resets);
    free(plan->by_id);
    free(plan);
}

static void owner_unref(struct graph_owner *o)
{
    if (atomic_fetch_sub_explicit(&o->refs, 1, memory_order_acq_rel) != 1)
        return;
    if (o->released != NULL)
        o->released(o->user);
    free(o);
}

void graph_plan_unref(struct graph_plan *plan)
{
    if (atomic_fetch_sub_explicit(&plan->refs, 1, memory_order_acq_rel) != 1)
        return;
    struct graph_owner *o = plan->owner_of_graph;
    plan_free(plan);
    owner_unref(o);
}

/* A plan of one description; its nodes, and those of bodies, are listed in by_id. NULL: no memory.
 */
static struct graph_plan *plan_new(struct device_context *ctx, const struct device_graph_spec *spec,
                                   struct graph_node **by_id)
{
    struct graph_plan *plan = xcalloc(1, sizeof *plan);
    uint32_t n = spec->count;
    plan->ctx = ctx;
    plan->node_count = n;
    plan->nodes = xcalloc(n + 1, sizeof *plan->nodes);
    plan->prepared = xcalloc(n + 1, sizeof(struct grid_prepared *));
    plan->prepared_of = xcalloc(n + 1, sizeof *plan->prepared_of);
    plan->segments = xcalloc(n + 1, sizeof *plan->segments);
    struct layout l = {xcalloc(n + 1, sizeof(uint32_t)), xcalloc(n + 1, sizeof(uint32_t)),
                       xcalloc(n + 1, sizeof(uint32_t)), xcalloc(n + 1, sizeof(uint32_t))};
    lay_out(plan, spec, &l);
    connect(plan, spec, &l);
    prepare_run(plan);
    bool fine = true;
    for (uint32_t i = 0; i < n && fine; i++) {
        const struct device_node *from = &spec->nodes[i];
        struct graph_node *node = &plan->nodes[l.index[i]];
        fine = (from->kind != DEVICE_NODE_HOST || host_open()) && node_fill(node, from);
        if (!fine)
            break;
        node->id = from->id;
        by_id[from->id] = node;
        prepare_node(plan, node);
        if (from->kind == DEVICE_NODE_RECORD)
            node->event.clock = stream_new(ctx, DEVICE_STREAM_NONBLOCKING, 0, STREAM_UNLISTED);
        if (from->kind == DEVICE_NODE_RECORD || from->kind == DEVICE_NODE_WAIT)
            node->slot = plan->slot_count++;
        if (from->kind == DEVICE_NODE_BRANCH) {
            node->branch.bodies = xcalloc(from->branch.body_count + 1, sizeof(struct graph_plan *));
            node->branch.body_count = from->branch.body_count;
            for (uint32_t b = 0; b < from->branch.body_count && fine; b++)
                fine = (node->branch.bodies[b] = plan_new(ctx, &from->branch.bodies[b], by_id)) !=
                       NULL;
        }
    }
    layout_free(&l);
    if (!fine) {
        plan_free(plan);
        return NULL;
    }
    return plan;
}

/* ---- copies ---- */

static void *dup_array(const void *from, size_t count, size_t size)
{
    void *to = xcalloc(count + 1, size);
    if (count > 0)
        memcpy(to, from, count * size);
    return to;
}

static struct graph_plan *copy_args(const struct graph_plan *plan, struct graph_node **by_id);

/* Makes what the node holds the copy's own. */
static bool node_own(struct graph_node *n, struct graph_node **by_id)
{
    by_id[n->id] = n;
    switch (n->kind) {
    case DEVICE_NODE_GRID: {
        struct device_node same = {.kind = DEVICE_NODE_GRID, .launch = n->launch};
        struct graph_node filled;
        if (!node_fill(&filled, &same))
            return false;
        n->launch.params = filled.launch.params;
        return true;
    }
    case DEVICE_NODE_RECORD: stream_ref(n->event.clock); /* fall through */
    case DEVICE_NODE_WAIT: event_ref(n->event.event); return true;
    case DEVICE_NODE_BRANCH: {
        struct graph_plan **from = n->branch.bodies;
        n->branch.bodies = xcalloc(n->branch.body_count + 1, sizeof(struct graph_plan *));
        for (uint32_t b = 0; b < n->branch.body_count; b++)
            if ((n->branch.bodies[b] = copy_args(from[b], by_id)) == NULL)
                return false;
        return true;
    }
    default: return true;
    }
}

static struct graph_plan *copy_args(const struct graph_plan *plan, struct graph_node **by_id)
{
    struct graph_plan *p = xcalloc(1, sizeof *p);
    p->ctx = plan->ctx;
    p->segment_count = plan->segment_count;
    p->next_count = plan->next_count;
    p->slot_count = plan->slot_count;
    p->reset_count = plan->reset_count;
    p->total = plan->total;
    p->segments = dup_array(plan->segments, plan->segment_count, sizeof *plan->segments);
    p->nexts = dup_array(plan->nexts, plan->next_count, sizeof *plan->nexts);
    p->resets = dup_array(plan->resets, plan->reset_count, sizeof *plan->resets);
    p->nodes = xcalloc(plan->node_count + 1, sizeof *plan->nodes);
    p->prepared = xcalloc(plan->node_count + 1, sizeof(struct grid_prepared *));
    p->prepared_of = xcalloc(plan->node_count + 1, sizeof *p->prepared_of);
    prepare_run(p);
    for (; p->node_count < plan->node_count; p->node_count++) {
        p->nodes[p->node_count] = plan->nodes[p->node_count];
        if (!node_own(&p->nodes[p->node_count], by_id)) {
            if (p->nodes[p->node_count].kind == DEVICE_NODE_BRANCH)
                bodies_free(&p->nodes[p->node_count].branch);
            plan_free(p);
            return NULL;
        }
        prepare_node(p, &p->nodes[p->node_count]);
    }
    return p;
}

/* About what the plan of so many nodes takes, with their parameters. */
static size_t plan_bytes(uint32_t nodes)
{
    return (size_t)nodes * (sizeof(struct graph_node) + sizeof(struct graph_segment) + 256);
}

/* A graph's own plan, once more, for nobody yet. NULL: no memory. */
static struct graph_plan *root_copy(const struct graph_plan *plan)
{
    if (!memory_likely(plan_bytes(plan->total)))
        return NULL;
    struct graph_node **by_id = xcalloc(plan->total + 1, sizeof(struct graph_node *));
    struct graph_plan *p = copy_args(plan, by_id);
    if (p == NULL) {
        free(by_id);
        return NULL;
    }
    p->by_id = by_id;
    p->owner_of_graph = plan->owner_of_graph;
    atomic_fetch_add_explicit(&p->owner_of_graph->refs, 1, memory_order_relaxed);
    return p;
}

/* ---- the graph ---- */

/* Of graph_owner.graph, which a launch that ends looks at while the graph may be freed. */
static pthread_mutex_t graphs_lock = PTHREAD_MUTEX_INITIALIZER;

static void graph_appears(struct device_graph *g) { g->plan->owner_of_graph->graph = g; }

enum device_error device_graph_new(struct device_context *ctx, const struct device_graph_spec *spec,
                                   uint32_t total, const struct device_graph_reset *resets,
                                   uint32_t reset_count, void (*released)(void *user), void *user,
                                   struct device_graph **out)
{
    if (!memory_likely(plan_bytes(total)))
        return DEVICE_OUT_OF_MEMORY;
    struct graph_node **by_id = xcalloc((size_t)total + 1, sizeof(struct graph_node *));
    struct graph_plan *plan = plan_new(ctx, spec, by_id);
    if (plan == NULL) {
        free(by_id);
        return DEVICE_OUT_OF_MEMORY;
    }
    plan->by_id = by_id;
    plan->total = total;
    plan->resets = dup_array(resets, reset_count, sizeof *resets);
    plan->reset_count = reset_count;
    plan->owner_of_graph = xcalloc(1, sizeof *plan->owner_of_graph);
    *plan->owner_of_graph = (struct graph_owner){.released = released, .user = user};
    atomic_init(&plan->owner_of_graph->refs, 2); /* the plan and the graph */
    struct device_graph *g = xcalloc(1, sizeof *g);
    g->ctx = ctx;
    atomic_fetch_add_explicit(&ctx->refs, 1, memory_order_relaxed);
    pthread_mutex_init(&g->lock, NULL);
    g->plan = plan;
    graph_appears(g);
    if (observed()) {
        plan->owner_of_graph->number = observe_serial();
        observed_graph(plan->owner_of_graph->number, spec);
    }
    *out = g;
    return DEVICE_OK;
}

bool device_graph_idle(const struct device_graph *g)
{
    /* the owner is held by the graph and by each plan, a plan by the graph and by its launches */
    return atomic_load(&g->plan->owner_of_graph->refs) == 2 && atomic_load(&g->plan->refs) == 1;
}

void device_graph_free(struct device_graph *g)
{
    struct graph_owner *o = g->plan->owner_of_graph;
    pthread_mutex_lock(&graphs_lock);
    o->graph = NULL;
    pthread_mutex_unlock(&graphs_lock);
    if (observed())
        observe_graph_ended(o->number);
    graph_plan_unref(g->plan);
    owner_unref(o);
    if (g->last != NULL)
        stream_unref(g->last);
    context_unref(g->ctx);
    pthread_mutex_destroy(&g->lock);
    free(g);
}

/* The graph's plan, for changing: a copy, if launches may still use the present one. Only its
 * holder adds references, under the graph's lock, so a count of one stays. NULL: no memory. */
static struct graph_plan *plan_to_change(struct device_graph *g)
{
    if (atomic_load_explicit(&g->plan->refs, memory_order_acquire) == 1)
        return g->plan;
    struct graph_plan *copy = root_copy(g->plan);
    if (copy == NULL)
        return NULL;
    graph_plan_unref(g->plan);
    g->plan = copy;
    return copy;
}

enum device_error device_graph_change(struct device_graph *g, const struct device_node *node)
{
    pthread_mutex_lock(&g->lock);
    struct graph_plan *plan = plan_to_change(g);
    enum device_error error = plan == NULL ? DEVICE_OUT_OF_MEMORY : DEVICE_OK;
    struct graph_node *n = plan != NULL && node->id < plan->total ? plan->by_id[node->id] : NULL;
    if (plan != NULL && (n == NULL || n->kind != node->kind)) {
        error = DEVICE_INVALID_VALUE;
    } else if (plan != NULL) {
        struct graph_node now = *n;
        if (!node_fill(&now, node)) {
            error = DEVICE_OUT_OF_MEMORY;
        } else {
            if (n->kind == DEVICE_NODE_RECORD)
                stream_ref(n->event.clock); /* stays the node's */
            node_clear(n);
            *n = now;
            prepare_node(n->plan, n);
            if (observed())
                observed_graph_change(plan->owner_of_graph->number, node);
        }
    }
    pthread_mutex_unlock(&g->lock);
    return error;
}

enum device_error device_graph_set_resets(struct device_graph *g,
                                          const struct device_graph_reset *resets, uint32_t count)
{
    pthread_mutex_lock(&g->lock);
    struct graph_plan *plan = plan_to_change(g);
    if (plan != NULL) {
        free(plan->resets);
        plan->resets = dup_array(resets, count, sizeof *resets);
        plan->reset_count = count;
    }
    pthread_mutex_unlock(&g->lock);
    return plan != NULL ? DEVICE_OK : DEVICE_OUT_OF_MEMORY;
}

/* Marks what a launch records, and keeps what it waits for. */
static struct graph_slot *slots_new(struct graph_plan *plan, struct device_stream *s)
{
    if (plan->slot_count == 0)
        return NULL;
    struct graph_slot *slots = xcalloc(plan->slot_count, sizeof *slots);
    for (uint32_t id = 0; id < plan->total; id++) { /* as described: causes before effects */
        struct graph_node *n = plan->by_id[id];
        if (n->kind == DEVICE_NODE_RECORD && !n->disabled) {
            struct graph_slot *slot = &slots[n->slot];
            event_ref(n->event.event);
            slot->event = n->event.event;
            slot->stream = stream_ref(n->event.clock);
            slot->recording = event_promise(slot->event, s, slot->stream, &slot->count);
        } else if (n->kind == DEVICE_NODE_WAIT && !n->disabled) {
            struct vector_clock *after;
            slots[n->slot].stream = event_recording(n->event.event, &slots[n->slot].count, &after);
            vector_clock_unref(after);
        }
    }
    return slots;
}

enum device_error device_graph_launch(struct device_graph *g, struct device_stream *s)
{
    grid_flush(s->ctx->env);
    enum device_error status = graph_launch_below(g, s, NULL, NULL);
    work_enqueued(s, stream_enqueued(s));
    return status;
}

enum device_error graph_launch_below(struct device_graph *g, struct device_stream *s,
                                     struct graph_env *parent, struct graph_env *tail_of)
{
    enum device_error status = device_context_status(s->ctx);
    if (status != DEVICE_OK)
        return status;
    pthread_mutex_lock(&g->lock);
    struct graph_plan *plan = g->plan;
    atomic_fetch_add_explicit(&plan->refs, 1, memory_order_relaxed);
    struct graph_slot *slots = slots_new(plan, s);
    struct command *c = stream_begin(s, COMMAND_GRAPH);
    c->graph.plan = plan;
    c->graph.slots = slots;
    c->graph.lane = NULL;
    c->graph.started = false;
    c->graph.parent = parent;
    c->graph.tail_of = tail_of;
    if (g->last != NULL && g->last != s)
        command_depend(c, g->last, g->last_count);
    g->last_count = stream_enqueue(s, c);
    struct device_stream *before = g->last;
    if (before != s) {
        g->last = stream_ref(s);
        if (before != NULL)
            stream_unref(before);
    }
    pthread_mutex_unlock(&g->lock);
    return DEVICE_OK;
}

void device_graph_set_handle(struct device_graph *g, void *handle)
{
    g->plan->owner_of_graph->handle = handle;
}

void graph_forget_launch(struct graph_owner *owner, const struct command *c)
{
    struct device_stream *last = NULL;
    pthread_mutex_lock(&graphs_lock);
    struct device_graph *g = owner->graph;
    if (g != NULL) {
        pthread_mutex_lock(&g->lock);
        if (g->last == c->stream && g->last_count == c->count) {
            last = g->last;
            g->last = NULL;
        }
        pthread_mutex_unlock(&g->lock);
    }
    pthread_mutex_unlock(&graphs_lock);
    if (last != NULL)
        stream_unref(last);
}

void graph_release(struct command *c)
{
    struct graph_plan *plan = c->graph.plan;
    for (uint32_t i = 0; c->graph.slots != NULL && i < plan->slot_count; i++) {
        if (c->graph.slots[i].event != NULL)
            event_unref(c->graph.slots[i].event);
        if (c->graph.slots[i].stream != NULL)
            stream_unref(c->graph.slots[i].stream);
    }
    free(c->graph.slots);
    graph_plan_unref(plan);
}
