/* observed: tells observers (observe/observe.h) what the device layer does. Called only while there
 * are any. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "device/cdp.h"
#include "device/graph.h"
#include "exec/found.h"
#include "exec/threads.h"
#include "exec/touch.h"
#include "observe/observe.h"

/* Default streams of all contexts have one number, and streams on no list another. */
uint64_t device_stream_observed_id(const struct device_stream *s)
{
    if (s->id == 1)
        return s->ctx->id << 32 | 1;
    if (s->id == STREAM_UNLISTED)
        return (uint64_t)1 << 63 | (uint64_t)(uintptr_t)s >> 4;
    return s->id;
}

void observed_stream_made(const struct device_stream *s, bool per_thread)
{
    observe_stream_made(
        &(struct observe_stream){.id = device_stream_observed_id(s),
                                 .context = s->ctx->id,
                                 .device = s->ctx->dev->ordinal,
                                 .kind = s->id == 1   ? OBSERVE_LEGACY
                                         : per_thread ? OBSERVE_PER_THREAD
                                                      : OBSERVE_CREATED,
                                 .blocking = (s->flags & DEVICE_STREAM_NONBLOCKING) == 0,
                                 .priority = s->priority});
}

/* ---- what work is ---- */

static void set_where(struct observe_work *w, const struct device_stream *s)
{
    w->device = s->ctx->dev->ordinal;
    w->context = s->ctx->id;
}

static void describe_grid(struct observe_work *w, const struct grid_launch *l)
{
    w->kind = OBSERVE_KERNEL;
    w->name = l->kernel->name;
    w->kernel.kernel = l->kernel;
    for (int n = 0; n < 3; n++) {
        w->kernel.grid[n] = l->grid[n];
        w->kernel.block[n] = l->block[n];
        w->kernel.cluster[n] = l->cluster[n];
    }
    w->kernel.static_shared = (uint32_t)l->kernel->static_shared;
    w->kernel.dynamic_shared = l->dynamic_shared;
    w->kernel.param_bytes = l->param_bytes;
    w->kernel.params = l->params;
    w->kernel.cooperative = l->cooperative;
}

static void describe_copy(struct observe_work *w, const struct copy_args *a)
{
    w->kind = OBSERVE_COPY;
    w->name = "memcpy";
    w->copy.src = a->src;
    w->copy.dst = a->dst;
    w->copy.width = a->width;
    w->copy.height = a->height;
    w->copy.depth = a->depth;
    w->copy.src_pitch = a->src_pitch;
    w->copy.src_slice = a->src_slice;
    w->copy.dst_pitch = a->dst_pitch;
    w->copy.dst_slice = a->dst_slice;
    w->copy.staged = a->staged != NULL || a->source_read;
}

static void describe_set(struct observe_work *w, const struct set_args *a)
{
    w->kind = OBSERVE_SET;
    w->name = "memset";
    w->set.dst = a->dst;
    w->set.width = a->width;
    w->set.height = a->height;
    w->set.depth = a->depth;
    w->set.pitch = a->pitch;
    w->set.slice = a->slice;
    w->set.element = a->element;
    w->set.value = a->value;
}

static void describe_host(struct observe_work *w, enum observe_kind kind, void (*fn)(void *),
                          const void *argument)
{
    w->kind = kind;
    w->name = kind == OBSERVE_HOST ? "host function" : "driver";
    w->host.function = (const void *)(uintptr_t)fn;
    w->host.argument = argument;
}

static void describe_value(struct observe_work *w, enum observe_kind kind,
                           const struct value_args *a)
{
    w->kind = kind;
    w->name = kind == OBSERVE_WRITE_VALUE ? "write value" : "wait for value";
    w->value.address = a->address;
    w->value.value = a->value;
    w->value.bytes = a->bytes;
    w->value.test = a->test;
}

static void describe_event(struct observe_work *w, enum observe_kind kind, uint64_t event)
{
    w->kind = kind;
    w->name = kind == OBSERVE_RECORD ? "record event" : "wait";
    w->event.number = event;
}

static void describe(struct observe_work *w, const struct command *c)
{
    switch (c->kind) {
    case COMMAND_NOTHING: describe_event(w, c->nothing.kind, c->nothing.event); break;
    case COMMAND_GRID: describe_grid(w, &c->run.launch); break;
    case COMMAND_COPY: describe_copy(w, &c->copy); break;
    case COMMAND_SET: describe_set(w, &c->set); break;
    case COMMAND_HOST:
        describe_host(w, OBSERVE_HOST, NULL, NULL);
        w->host.function = c->host.of;
        if (c->host.of != NULL && c->host.user != NULL)
            w->host.argument = *(void *const *)c->host.user;
        break;
    case COMMAND_CALL: describe_host(w, OBSERVE_INTERNAL, c->call.fn, c->call.user); break;
    case COMMAND_STAMP:
        describe_event(w, OBSERVE_RECORD, device_event_observed_id(c->stamp.event));
        break;
    case COMMAND_SIGNAL:
        describe_event(w, OBSERVE_RECORD, device_event_observed_id(c->await.event));
        w->event.shared = true;
        break;
    case COMMAND_AWAIT:
        describe_event(w, OBSERVE_FOREIGN, device_event_observed_id(c->await.event));
        break;
    case COMMAND_WRITE: describe_value(w, OBSERVE_WRITE_VALUE, &c->value); break;
    case COMMAND_WAIT_VALUE: describe_value(w, OBSERVE_WAIT_VALUE, &c->value); break;
    case COMMAND_CDP: describe_grid(w, &c->run.launch); break;
    case COMMAND_GRAPH:
        w->kind = OBSERVE_GRAPH;
        w->name = "graph";
        w->graph = c->graph.plan->owner_of_graph->number;
        break;
    }
}

/* The stream's own command of the launch that a runner of a graph works for. */
static const struct command *launch_of(const struct command *c)
{
    for (;;) {
        const struct command *caller = c->graph.plan->caller;
        if (c->graph.lane == NULL || caller->graph.plan == c->graph.plan)
            return c->graph.lane == NULL ? c : caller;
        c = caller; /* at the branch that the plan is a body of */
    }
}

static struct observe_id id_of(const struct command *c)
{
    if (c->kind == COMMAND_CDP)
        return (struct observe_id){.stream = OBSERVE_CHILDREN, .count = c->cdp.number};
    if (c->kind == COMMAND_GRAPH)
        c = launch_of(c);
    return (struct observe_id){.stream = device_stream_observed_id(c->stream), .count = c->count};
}

static struct observe_id node_id(const struct command *c, const struct graph_node *n)
{
    struct observe_id id = id_of(c);
    id.node = n->id + 1;
    return id;
}

/* What the run is of: the command, or the node that the graph's command is at. */
static struct observe_id id_of_run(const struct command *c)
{
    return c->kind == COMMAND_GRAPH ? node_id(c, graph_node_at(c)) : id_of(c);
}

static struct observe_id id_of_dep(const struct dep *d)
{
    return (struct observe_id){.stream = device_stream_observed_id(d->stream), .count = d->count};
}

/* Of a child: the stream of the grid that the host launched. */
static uint64_t root_of(const struct command *c)
{
    while (c->kind == COMMAND_CDP)
        c = command_of_run(c->cdp.child->parent);
    return id_of(c).stream;
}

static void set_sides(struct observe_work *w)
{
    if (w->kind != OBSERVE_COPY)
        return;
    w->copy.from =
        w->copy.staged ? OBSERVE_PAGEABLE : mem_observed_kind(mem_kind_of(w->copy.src, NULL));
    w->copy.to = mem_observed_kind(mem_kind_of(w->copy.dst, NULL));
}

/* ---- streams ---- */

struct observe_id observed_node_of(struct grid_run *run)
{
    struct command *c = command_of_run(run);
    while (c->kind == COMMAND_CDP)
        c = command_of_run(c->cdp.child->parent);
    return id_of_run(c);
}

static _Thread_local struct observe_id launched_by;
static _Thread_local enum observe_launched launched;
static _Thread_local uint32_t launched_in;

void observed_launcher(const struct observe_id *node, enum observe_launched how, uint32_t part)
{
    launched_in = part;
    if (node != NULL)
        launched_by = *node;
    launched = how;
}

void observed_enqueue(const struct command *c)
{
    enum { FEW = 16 };
    struct observe_id few[FEW], *after = few;
    struct observe_work w = {.id = id_of(c), .call = observe_call_now()};
    if (c->kind == COMMAND_GRAPH) /* it has no plan's caller yet */
        w.id =
            (struct observe_id){.stream = device_stream_observed_id(c->stream), .count = c->count};
    if (c->dep_count > FEW)
        after = xmalloc(c->dep_count * sizeof *after);
    for (uint32_t i = 0; i < c->dep_count; i++)
        after[i] = id_of_dep(&c->deps[i]);
    w.after = after;
    w.after_count = c->dep_count;
    w.root = w.id.stream;
    if (launched != OBSERVE_BY_HOST && c->kind == COMMAND_GRAPH) {
        w.launcher = launched_by;
        w.launched = launched;
        w.launched_in = launched_in;
    }
    set_where(&w, c->stream);
    describe(&w, c);
    observe_enqueued(&w);
    if (after != few)
        free(after);
}

void observed_begin(struct command *c)
{
    if (c->told)
        return;
    c->told = true;
    if (c->kind == COMMAND_GRAPH && (c->graph.lane != NULL || c->graph.started))
        return; /* it goes on */
    struct observe_id after[2];
    struct observe_work w = {.id = id_of(c), .after = after};
    for (; w.after_count < c->dep_count && w.after_count < 2; w.after_count++)
        after[w.after_count] = id_of_dep(&c->deps[w.after_count]);
    set_where(&w, c->stream);
    describe(&w, c);
    set_sides(&w);
    w.root = w.id.stream;
    if (c->kind == COMMAND_CDP) {
        w.parent = id_of_run(command_of_run(c->cdp.child->parent));
        w.root = root_of(c);
    }
    observe_begun(&w);
}

static enum observe_kind kind_of(const struct command *c)
{
    struct observe_work w = {.kind = OBSERVE_EMPTY};
    describe(&w, c);
    return w.kind;
}

/* ---- what grids have touched ---- */

struct touched {
    struct {
        struct observe_bytes *items;
        size_t count, cap;
    } ranges;
    struct {
        struct observe_access_site *items;
        size_t count, cap;
    } sites;
    struct {
        struct observe_warps *items;
        size_t count, cap;
    } warps;
};

static enum observe_access access_of(enum touch how)
{
    return how == TOUCH_READ ? OBSERVE_READ : how == TOUCH_WRITE ? OBSERVE_WRITE : OBSERVE_ATOMIC;
}

static void add_range(void *self, enum touch how, uint64_t low, uint64_t high)
{
    struct touched *t = self;
    struct observe_bytes *last = t->ranges.count > 0 ? &t->ranges.items[t->ranges.count - 1] : NULL;
    if (last != NULL && last->high == low && last->how == access_of(how)) {
        last->high = high;
        return;
    }
    vec_push(&t->ranges, (struct observe_bytes){access_of(how), low, high});
}

static void add_site(void *self, const struct touch_site *s)
{
    struct touched *t = self;
    struct observe_access_site to = {s->pc,  access_of(s->how), s->writes, s->system,
                                     s->low, s->high,           {0},       s->warp};
    for (int n = 0; n < 3; n++)
        to.block[n] = s->block[n];
    vec_push(&t->sites, to);
}

static enum observe_access access_of_threads(uint32_t how)
{
    return (how & JIT_ACCESS_STRONG) != 0  ? OBSERVE_ATOMIC
           : (how & JIT_ACCESS_WRITE) != 0 ? OBSERVE_WRITE
                                           : OBSERVE_READ;
}

static void add_warps(void *self, const struct hazard_warps *w)
{
    struct touched *t = self;
    const struct grid_kernel *kernel = w->grid->kernel;
    if (kernel->builtin) /* the line of the call is told by its site, and there are no threads */
        return;
    struct observe_warps to = {.kernel = kernel,
                               .name = kernel->name,
                               .pc = w->pc,
                               .how = access_of_threads(w->how),
                               .low = w->low,
                               .high = w->high,
                               .origin = w->origin,
                               .shift = w->shift,
                               .lane = w->lane,
                               .mask = w->mask,
                               .number = w->number,
                               .number_step = w->number_step,
                               .count = w->count,
                               .step = w->step};
    memcpy(to.grid, w->grid->grid, sizeof to.grid);
    memcpy(to.block, w->grid->block, sizeof to.block);
    vec_push(&t->warps, to);
}

static void tell_part(const struct observe_id *id, struct grid_run *run, uint32_t part,
                      struct touched *told)
{
    struct touched t = *told;
    *told = (struct touched){0};
    if (atomic_load_explicit(&run->touched, memory_order_acquire) != NULL)
        grid_touched(run, part, add_range, add_site, &t);
    if (t.warps.count == 0 && t.ranges.count == 0)
        return;
    observe_accessed(&(struct observe_accesses){.id = *id,
                                                .part = part,
                                                .ranges = t.ranges.items,
                                                .range_count = (uint32_t)t.ranges.count,
                                                .sites = t.sites.items,
                                                .site_count = (uint32_t)t.sites.count,
                                                .warps = t.warps.items,
                                                .warp_count = (uint32_t)t.warps.count});
    free(t.warps.items);
    free(t.ranges.items);
    free(t.sites.items);
}

static void tell_touched(const struct observe_id *id, const struct command *c)
{
    struct grid_run *run = (struct grid_run *)&c->run;
    struct touched t = {0};
    enum { WARPS_MOST = 1 << 12 };
    grid_threads_accesses(run, WARPS_MOST, add_warps, &t);
    uint32_t parts = run->touched != NULL ? run->touched_parts : 0;
    for (uint32_t part = 0; part <= parts; part++)
        tell_part(id, run, part, &t);
}

/* ---- what races within a grid, and with grids that it has launched ---- */

static void set_index(uint32_t out[3], uint64_t number, const uint32_t count[3])
{
    out[0] = (uint32_t)(number % count[0]);
    out[1] = (uint32_t)(number / count[0] % count[1]);
    out[2] = (uint32_t)(number / count[0] / count[1]);
}

/* What a grid is to those who look: copies and sets by kernels are grids of ours. */
static enum observe_kind work_of(const struct grid_kernel *k)
{
    return k == &copy_told_kernel  ? OBSERVE_COPY
           : k == &set_told_kernel ? OBSERVE_SET
                                   : OBSERVE_KERNEL;
}

static struct observe_race_side race_side(const struct hazard_side *s)
{
    const struct hazard_launch *l = s->grid;
    const struct grid_kernel *kernel = l->kernel, *launcher = l->launcher;
    struct observe_race_side to = {.kernel = kernel,
                                   .name = kernel->name,
                                   .launcher = launcher,
                                   .launcher_name = launcher != NULL ? launcher->name : NULL,
                                   .launched_at = l->pc,
                                   .pc = s->pc,
                                   .how = access_of_threads(s->how),
                                   .work = work_of(kernel),
                                   .copies = (s->how & JIT_ACCESS_ASYNC) != 0};
    set_index(to.block, s->block, l->grid);
    set_index(to.thread, (uint64_t)s->warp * JIT_WARP + s->lane, l->block);
    return to;
}

static void tell_race(void *self, const struct hazard_found *f)
{
    static const enum observe_missing missing[] = {[HAZARD_SAME_INSTRUCTION] =
                                                       OBSERVE_SAME_INSTRUCTION,
                                                   [HAZARD_WARP] = OBSERVE_WARP_BARRIER,
                                                   [HAZARD_BLOCK] = OBSERVE_BLOCK_BARRIER,
                                                   [HAZARD_CLUSTER] = OBSERVE_CLUSTER_BARRIER,
                                                   [HAZARD_GRID] = OBSERVE_GRID_ORDER,
                                                   [HAZARD_PARENT] = OBSERVE_PARENT_ORDER,
                                                   [HAZARD_GRIDS] = OBSERVE_CHILDREN_ORDER,
                                                   [HAZARD_SCOPE] = OBSERVE_WIDER_SCOPE,
                                                   [HAZARD_ASYNC] = OBSERVE_COPY_WAIT};
    const struct observe_id *id = self;
    struct observe_race race = {.id = *id,
                                .sides = {race_side(&f->first), race_side(&f->second)},
                                .low = f->low,
                                .high = f->high,
                                .shared = f->shared,
                                .missing = missing[f->advice]};
    set_index(race.shared_block, f->shared_block, f->second.grid->grid);
    observe_raced(&race);
}

/* Of grids that kernels have launched, the host's tells; they have no more of their own. */
static void tell_raced(const struct observe_id *id, const struct command *c)
{
    struct observe_id of = *id;
    hazard_order_unref(grid_threads_told((struct grid_run *)&c->run, tell_race, &of));
}

/* ---- what checks have found in kernels ---- */

struct finder {
    const struct observe_id *id;
    const struct grid_launch *launch;
};

static void tell_found_one(void *self, const struct grid_found *f)
{
    const struct finder *o = self;
    const uint32_t *shape = o->launch->block;
    struct observe_found found = {.id = *o->id,
                                  .kernel = o->launch->kernel,
                                  .name = o->launch->kernel->name,
                                  .pc = f->pc,
                                  .other_pc = f->other_pc,
                                  .kind = (enum observe_finding)f->kind,
                                  .address = f->address,
                                  .bytes = f->bytes,
                                  .shared = f->shared,
                                  .lanes = f->lanes,
                                  .others = f->others,
                                  .barrier = f->barrier,
                                  .count = f->count,
                                  .first = f->first};
    for (int n = 0; n < 3; n++)
        found.block[n] = f->block[n];
    set_index(found.thread, f->thread, shape);
    set_index(found.other_thread, f->other_thread, shape);
    observe_found(&found);
}

static void tell_found(const struct observe_id *id, const struct command *c)
{
    struct finder o = {id, &c->run.launch};
    if (atomic_load_explicit(&c->run.found, memory_order_acquire) != NULL)
        grid_found_told((struct grid_run *)&c->run, tell_found_one, &o);
}

void observed_end(const struct command *c)
{
    struct observe_id id = id_of(c);
    if (c->kind == COMMAND_GRID || c->kind == COMMAND_CDP) {
        tell_touched(&id, c);
        tell_raced(&id, c);
        tell_found(&id, c);
    }
    observe_ended(&id, kind_of(c));
}

/* ---- nodes ---- */

static void describe_node(struct observe_work *w, const struct graph_node *n)
{
    switch (n->kind) {
    case DEVICE_NODE_EMPTY:
        w->kind = OBSERVE_EMPTY;
        w->name = "empty";
        break;
    case DEVICE_NODE_GRID: describe_grid(w, &n->launch); break;
    case DEVICE_NODE_COPY: describe_copy(w, &n->copy); break;
    case DEVICE_NODE_SET: describe_set(w, &n->set); break;
    case DEVICE_NODE_HOST: describe_host(w, OBSERVE_HOST, n->host.fn, n->host.user); break;
    case DEVICE_NODE_CALL: describe_host(w, OBSERVE_INTERNAL, n->call.fn, n->call.user); break;
    case DEVICE_NODE_WRITE_VALUE: describe_value(w, OBSERVE_WRITE_VALUE, &n->word); break;
    case DEVICE_NODE_WAIT_VALUE: describe_value(w, OBSERVE_WAIT_VALUE, &n->word); break;
    case DEVICE_NODE_RECORD:
        describe_event(w, OBSERVE_RECORD, device_event_observed_id(n->event.event));
        break;
    case DEVICE_NODE_WAIT:
        describe_event(w, OBSERVE_WAIT, device_event_observed_id(n->event.event));
        break;
    case DEVICE_NODE_BRANCH:
        w->kind = OBSERVE_BRANCH;
        w->name = "conditional";
        break;
    }
}

void observed_node_begin(const struct command *c, const struct graph_node *n)
{
    struct observe_work w = {.id = node_id(c, n)};
    struct observe_id after;
    const struct graph_slot *slot = NULL;
    set_where(&w, c->stream);
    describe_node(&w, n);
    if (n->kind == DEVICE_NODE_RECORD || n->kind == DEVICE_NODE_WAIT)
        slot = &c->graph.slots[n->slot];
    if (slot != NULL && slot->stream != NULL) {
        after = (struct observe_id){.stream = device_stream_observed_id(slot->stream),
                                    .count = slot->count};
        if (n->kind == DEVICE_NODE_WAIT) {
            w.after = &after;
            w.after_count = 1;
        } else {
            w.event.as = after;
        }
    }
    set_sides(&w);
    w.root = w.id.stream;
    observe_begun(&w);
}

void observed_node_end(const struct command *c, const struct graph_node *n)
{
    struct observe_id id = node_id(c, n);
    struct observe_work w = {.kind = OBSERVE_EMPTY};
    if (n->kind == DEVICE_NODE_GRID) {
        tell_touched(&id, c);
        tell_raced(&id, c);
        tell_found(&id, c);
    }
    describe_node(&w, n);
    observe_ended(&id, w.kind);
}

/* ---- parts ---- */

static struct observed_part part_begin(struct observe_id id, enum observe_kind kind,
                                       const char *name)
{
    observe_part_begun(&id, kind, name);
    return (struct observed_part){.id = id, .told = true};
}

struct observed_part observed_part_begin(const struct command *c)
{
    struct observe_work w = {.kind = OBSERVE_EMPTY};
    describe(&w, c->kind == COMMAND_GRAPH ? launch_of(c) : c);
    return part_begin(id_of(c), w.kind, w.name);
}

struct observed_part observed_run_part_begin(const struct command *c)
{
    struct observe_work w = {.kind = OBSERVE_EMPTY};
    if (c->kind == COMMAND_GRAPH)
        describe_node(&w, graph_node_at(c));
    else
        describe(&w, c);
    return part_begin(id_of_run(c), w.kind, w.name);
}

void observed_part_end(const struct observed_part *p) { observe_part_ended(&p->id); }

/* ---- graphs ---- */

static void describe_spec(struct observe_work *w, const struct device_node *n)
{
    struct graph_node like = {.kind = n->kind};
    switch (n->kind) {
    case DEVICE_NODE_GRID: like.launch = n->launch; break;
    case DEVICE_NODE_COPY: copy_args_make(&like.copy, &n->copy); break;
    case DEVICE_NODE_SET: set_args_make(&like.set, &n->set); break;
    case DEVICE_NODE_HOST:
        like.host.fn = n->host.fn;
        like.host.user = n->host.user;
        break;
    case DEVICE_NODE_CALL:
        like.call.fn = n->call.fn;
        like.call.user = n->call.user;
        break;
    case DEVICE_NODE_WRITE_VALUE:
    case DEVICE_NODE_WAIT_VALUE:
        like.word = (struct value_args){n->word.address, n->word.value, n->word.bytes,
                                        (uint32_t)n->word.test};
        break;
    case DEVICE_NODE_RECORD:
    case DEVICE_NODE_WAIT: like.event.event = n->event; break;
    default: break;
    }
    describe_node(w, &like);
}

static void tell_nodes(uint64_t graph, const struct device_graph_spec *spec, uint32_t branch,
                       uint32_t body)
{
    uint32_t *after = xmalloc((spec->count + 1) * sizeof *after);
    for (uint32_t i = 0; i < spec->count; i++) {
        const struct device_node *n = &spec->nodes[i];
        struct observe_node told = {.graph = graph,
                                    .node = n->id + 1,
                                    .branch = branch,
                                    .body = body,
                                    .after = after,
                                    .after_count = n->dep_count,
                                    .disabled = n->disabled};
        for (uint32_t k = 0; k < n->dep_count; k++)
            after[k] = spec->nodes[n->deps[k]].id + 1;
        describe_spec(&told.work, n);
        observe_graph_node(&told);
        for (uint32_t k = 0; n->kind == DEVICE_NODE_BRANCH && k < n->branch.body_count; k++)
            tell_nodes(graph, &n->branch.bodies[k], n->id + 1, k);
    }
    free(after);
}

void observed_graph(uint64_t graph, const struct device_graph_spec *spec)
{
    tell_nodes(graph, spec, 0, 0);
}

void observed_graph_change(uint64_t graph, const struct device_node *node)
{
    struct observe_node told = {
        .graph = graph, .node = node->id + 1, .changed = true, .disabled = node->disabled};
    describe_spec(&told.work, node);
    observe_graph_node(&told);
}

/* ---- the host ---- */

void observed_host(enum observe_host_wait how, const struct device_stream *s, uint64_t count,
                   uint64_t event, uint64_t begun)
{
    struct observe_id work = {.stream = device_stream_observed_id(s), .count = count};
    observe_host_saw(&(struct observe_seen){.how = how,
                                            .work = &work,
                                            .work_count = 1,
                                            .stream = event == 0 ? work.stream : 0,
                                            .event = event,
                                            .begun = begun});
}

void observed_foreign(uint64_t event, uint64_t begun)
{
    observe_host_saw(
        &(struct observe_seen){.how = OBSERVE_FOREIGN_EVENT, .event = event, .begun = begun});
}

void observed_host_begin(struct observed_host *h, struct device_stream *const *streams,
                         const uint64_t *counts, size_t count)
{
    *h = (struct observed_host){.begun = clock_ns()};
    h->work = xmalloc((count + 1) * sizeof *h->work);
    for (size_t i = 0; i < count; i++)
        h->work[h->count++] = (struct observe_id){.stream = device_stream_observed_id(streams[i]),
                                                  .count = counts[i]};
}

void observed_sync_begin(struct observed_host *h, struct device_stream *s)
{
    uint64_t now = stream_enqueued(s);
    if (s != s->ctx->legacy) {
        observed_host_begin(h, &s, &now, 1);
        return;
    }
    size_t all, count = 0;
    struct device_stream **streams = context_streams(s->ctx, &all);
    uint64_t *counts = xmalloc((all + 1) * sizeof *counts);
    for (size_t i = 0; i < all; i++) {
        if ((streams[i]->flags & DEVICE_STREAM_NONBLOCKING) != 0) {
            stream_unref(streams[i]);
            continue;
        }
        counts[count] = stream_enqueued(streams[i]);
        streams[count++] = streams[i];
    }
    observed_host_begin(h, streams, counts, count);
    for (size_t i = 0; i < count; i++)
        stream_unref(streams[i]);
    free(counts);
    free(streams);
}

void observed_host_end(const struct observed_host *h, enum observe_host_wait how,
                       const struct device_stream *s)
{
    observe_host_saw(&(struct observe_seen){.how = how,
                                            .work = h->work,
                                            .work_count = h->count,
                                            .stream = s != NULL ? device_stream_observed_id(s) : 0,
                                            .begun = how == OBSERVE_STREAM_QUERY ? 0 : h->begun});
}
