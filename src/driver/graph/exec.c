/* graph/exec: graphs made executable. A graph is cloned, flattened into nodes of the device layer
 * (child graphs are inlined, between two empty nodes that keep their edges together), and
 * launched as one command. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "driver/graph/graph.h"

/* ---- one node ---- */

static CUresult fill_kernel(const struct kernel_node *k, struct device_node *d)
{
    struct launch_request q;
    struct variant *v;
    CU_TRY(kernel_live(k));
    kernel_request(k, &q);
    CU_TRY(launch_check(&q));
    CU_TRY(cluster_resolve(k->f, k->grid, q.cluster));
    bool plain = !k->cooperative && q.cluster[0] == 0;
    uint32_t joined = plain ? blocks_joined(k->f, k->grid, k->block) : 1;
    CU_TRY(function_variant(k->f, k->block, k->grid, joined, &v));
    d->kind = DEVICE_NODE_GRID;
    d->prioritized = k->prioritized;
    d->priority = k->priority;
    d->launch = (struct grid_launch){.kernel = &v->kernel,
                                     .dynamic_shared = k->shared,
                                     .param_bytes = (uint32_t)k->f->info.param_bytes,
                                     .cooperative = k->cooperative,
                                     .params = k->buffer};
    memcpy(d->launch.grid, k->grid, sizeof k->grid);
    memcpy(d->launch.block, k->block, sizeof k->block);
    memcpy(d->launch.cluster, q.cluster, sizeof q.cluster);
    return CUDA_SUCCESS;
}

static void fill_word(const CUstreamBatchMemOpParams *op, struct device_node *d)
{
    static const enum device_value_test tests[] = {DEVICE_VALUE_GEQ, DEVICE_VALUE_EQ,
                                                   DEVICE_VALUE_AND, DEVICE_VALUE_NOR};
    switch (op->operation) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
    case CU_STREAM_MEM_OP_WAIT_VALUE_64:
        d->kind = DEVICE_NODE_WAIT_VALUE;
        d->word.address = (void *)(uintptr_t)op->waitValue.address;
        d->word.bytes = op->operation == CU_STREAM_MEM_OP_WAIT_VALUE_32 ? 4 : 8;
        d->word.value = d->word.bytes == 4 ? op->waitValue.value : op->waitValue.value64;
        d->word.test = tests[op->waitValue.flags];
        break;
    case CU_STREAM_MEM_OP_WRITE_VALUE_32:
    case CU_STREAM_MEM_OP_WRITE_VALUE_64:
        d->kind = DEVICE_NODE_WRITE_VALUE;
        d->word.address = (void *)(uintptr_t)op->writeValue.address;
        d->word.bytes = op->operation == CU_STREAM_MEM_OP_WRITE_VALUE_32 ? 4 : 8;
        d->word.value = d->word.bytes == 4 ? op->writeValue.value : op->writeValue.value64;
        break;
    default: d->kind = DEVICE_NODE_EMPTY; break; /* a barrier: every node is one */
    }
}

CUresult node_fill(CUgraphNode n, unsigned part, struct device_node *d)
{
    const struct node_params *p = &n->p;
    d->disabled = n->disabled;
    switch (p->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: return fill_kernel(&p->kernel, d);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        d->kind = DEVICE_NODE_COPY;
        return copy_resolve(&p->copy, &d->copy);
    case CU_GRAPH_NODE_TYPE_MEMSET: d->kind = DEVICE_NODE_SET; return set_resolve(&p->set, &d->set);
    case CU_GRAPH_NODE_TYPE_HOST:
        d->kind = DEVICE_NODE_HOST;
        d->host.fn = p->host.fn;
        d->host.user = p->host.userData;
        return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        d->kind = p->type == CU_GRAPH_NODE_TYPE_WAIT_EVENT ? DEVICE_NODE_WAIT : DEVICE_NODE_RECORD;
        return driver_event(p->event, &d->event);
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
        d->kind = DEVICE_NODE_EMPTY;
        if (part < p->batch.count)
            fill_word(&p->batch.ops[part], d);
        return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
        d->kind = DEVICE_NODE_BRANCH;
        d->branch.value = &p->conditional.condition->value;
        d->branch.loop = p->conditional.type == CU_GRAPH_COND_TYPE_WHILE;
        d->branch.number = p->conditional.type == CU_GRAPH_COND_TYPE_SWITCH;
        return CUDA_SUCCESS;
    default: d->kind = DEVICE_NODE_EMPTY; return CUDA_SUCCESS;
    }
}

/* ---- flattening ---- */

/* What is being built. */
struct build {
    struct arena arena; /* of descriptions, until the device layer has made its own of them */
    uint32_t total;     /* device nodes so far: the next id */
    struct {
        struct device_graph_reset *items;
        size_t count, cap;
    } resets;
    CUgraphNode culprit; /* the node that something is wrong with */
    CUgraphInstantiateResult result;
};

/* The device nodes of one graph, with the child graphs inlined. */
struct flat {
    struct device_node *items;
    size_t count, cap;
};

static CUresult flatten(struct build *b, CUgraph g, struct flat *f, const uint32_t *entry);

/* Adds a device node that follows `deps`; returns its index. */
static uint32_t push(struct build *b, struct flat *f, struct device_node *d, const uint32_t *deps,
                     size_t count)
{
    uint32_t *own = arena_alloc(&b->arena, (count + 1) * sizeof *own);
    if (count > 0)
        memcpy(own, deps, count * sizeof *own);
    d->deps = own;
    d->dep_count = (uint32_t)count;
    d->id = b->total++;
    vec_push(f, *d);
    return (uint32_t)f->count - 1;
}

/* Of a node that does nothing and follows nothing: it has no device node. */
static const uint32_t NOWHERE = UINT32_MAX;

/* Adds an index to a list that has space, once. */
static void add_index(uint32_t *indices, size_t *count, uint32_t index)
{
    for (size_t n = 0; n < *count; n++)
        if (indices[n] == index)
            return;
    if (index != NOWHERE)
        indices[(*count)++] = index;
}

/* The indices of what a node depends on: where each of those ends. */
static uint32_t *indices_before(struct build *b, CUgraphNode n, const uint32_t *entry,
                                size_t *count)
{
    *count = 0;
    uint32_t *deps = arena_alloc(&b->arena, (n->in.count + 1) * sizeof *deps);
    for (size_t e = 0; e < n->in.count; e++)
        add_index(deps, count, n->in.items[e].node->index);
    if (n->in.count == 0 && entry != NULL) {
        deps[0] = *entry;
        *count = 1;
    }
    return deps;
}

/* A child graph: an empty node, its nodes, and an empty node after all of them that are last. */
static CUresult push_child(struct build *b, CUgraphNode n, struct flat *f, const uint32_t *deps,
                           size_t count)
{
    struct device_node empty = {.kind = DEVICE_NODE_EMPTY};
    CUgraph child = n->p.child;
    uint32_t entry = push(b, f, &empty, deps, count);
    n->first_id = f->items[entry].id;
    CU_TRY(flatten(b, child, f, &entry));
    uint32_t *last = arena_alloc(&b->arena, (child->nodes.count + 1) * sizeof *last);
    size_t ends = 0;
    for (size_t k = 0; k < child->nodes.count; k++)
        if (child->nodes.items[k]->out.count == 0)
            add_index(last, &ends, child->nodes.items[k]->index);
    if (ends == 0)
        last[ends++] = entry;
    n->index = push(b, f, &empty, last, ends);
    return CUDA_SUCCESS;
}

/* What a conditional node's bodies may hold (programming guide, conditional node body graphs). */
static bool allowed_in_body(const struct node_params *p)
{
    switch (p->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
    case CU_GRAPH_NODE_TYPE_MEMCPY:
    case CU_GRAPH_NODE_TYPE_MEMSET:
    case CU_GRAPH_NODE_TYPE_EMPTY:
    case CU_GRAPH_NODE_TYPE_CONDITIONAL: return true;
    case CU_GRAPH_NODE_TYPE_GRAPH:
        for (size_t n = 0; n < p->child->nodes.count; n++)
            if (!allowed_in_body(&p->child->nodes.items[n]->p))
                return false;
        return true;
    default: return false;
    }
}

static CUresult check_body(struct build *b, CUgraph body)
{
    for (size_t n = 0; n < body->nodes.count; n++)
        if (!allowed_in_body(&body->nodes.items[n]->p)) {
            b->culprit = body->nodes.items[n];
            return driver_error(CUDA_ERROR_INVALID_VALUE,
                                "the body of a conditional node cannot hold a node of this kind");
        }
    return CUDA_SUCCESS;
}

static CUresult fill_bodies(struct build *b, const struct conditional_node *c,
                            struct device_node *d)
{
    struct device_graph_spec *specs = arena_alloc(&b->arena, c->size * sizeof *specs);
    for (unsigned k = 0; k < c->size; k++) {
        struct flat body = {0};
        CUresult r = check_body(b, c->bodies[k]);
        if (r == CUDA_SUCCESS)
            r = flatten(b, c->bodies[k], &body, NULL);
        struct device_node *nodes = arena_alloc(&b->arena, (body.count + 1) * sizeof *nodes);
        if (body.count > 0)
            memcpy(nodes, body.items, body.count * sizeof *nodes);
        specs[k] = (struct device_graph_spec){nodes, (uint32_t)body.count};
        free(body.items);
        CU_TRY(r);
    }
    d->branch.bodies = specs;
    d->branch.body_count = c->size;
    return CUDA_SUCCESS;
}

/* The device nodes of one node. */
static CUresult push_node(struct build *b, CUgraphNode n, struct flat *f, const uint32_t *deps,
                          size_t count)
{
    if (n->p.type == CU_GRAPH_NODE_TYPE_GRAPH)
        return push_child(b, n, f, deps, count);
    /* What does nothing when it is reached, and joins nothing, is left out: so chains stay whole.
     */
    if ((n->p.type == CU_GRAPH_NODE_TYPE_EMPTY || is_memory_node(n->p.type)) && count <= 1) {
        n->index = count == 1 ? deps[0] : NOWHERE;
        return CUDA_SUCCESS;
    }
    unsigned parts =
        n->p.type == CU_GRAPH_NODE_TYPE_BATCH_MEM_OP && n->p.batch.count > 0 ? n->p.batch.count : 1;
    for (unsigned part = 0; part < parts; part++) {
        struct device_node d = {0};
        CU_TRY(node_fill(n, part, &d));
        if (n->p.type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
            CU_TRY(fill_bodies(b, &n->p.conditional, &d));
        n->index = push(b, f, &d, part == 0 ? deps : &n->index, part == 0 ? count : 1);
        if (part == 0)
            n->first_id = f->items[n->index].id;
    }
    return CUDA_SUCCESS;
}

/* `entry`: the index of the node that the graph's first nodes follow, or NULL. */
static CUresult flatten(struct build *b, CUgraph g, struct flat *f, const uint32_t *entry)
{
    CUgraphNode *order = graph_order(g);
    if (order == NULL) {
        b->result = CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE;
        return CUDA_ERROR_INVALID_VALUE;
    }
    CUresult r = CUDA_SUCCESS;
    for (size_t k = 0; k < g->nodes.count && r == CUDA_SUCCESS; k++) {
        size_t count;
        uint32_t *deps = indices_before(b, order[k], entry, &count);
        r = push_node(b, order[k], f, deps, count);
        if (r != CUDA_SUCCESS && b->culprit == NULL)
            b->culprit = order[k];
    }
    free(order);
    for (size_t k = 0; k < g->conditions.count && r == CUDA_SUCCESS; k++) {
        struct graph_condition *c = g->conditions.items[k];
        struct device_graph_reset reset = {&c->value, c->default_value};
        if (!c->used) {
            b->result = CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED;
            return CUDA_ERROR_INVALID_VALUE;
        }
        if (c->flags & CU_GRAPH_COND_ASSIGN_DEFAULT)
            vec_push(&b->resets, reset);
    }
    return r;
}

/* ---- instantiating ---- */

/* The context that kernels run in: one for all of them. */
static CUresult find_context(CUgraph g, CUcontext *ctx, struct build *b)
{
    for (size_t n = 0; n < g->nodes.count; n++) {
        CUgraphNode node = g->nodes.items[n];
        CUresult r = CUDA_SUCCESS;
        if (node->p.type == CU_GRAPH_NODE_TYPE_GRAPH)
            r = find_context(node->p.child, ctx, b);
        if (node->p.type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
            for (unsigned k = 0; k < node->p.conditional.size && r == CUDA_SUCCESS; k++)
                r = find_context(node->p.conditional.bodies[k], ctx, b);
        if (node->p.type == CU_GRAPH_NODE_TYPE_KERNEL) {
            if (*ctx != NULL && *ctx != node->p.ctx) {
                b->culprit = node;
                b->result = CUDA_GRAPH_INSTANTIATE_MULTIPLE_CTXS_NOT_SUPPORTED;
                r = driver_error(CUDA_ERROR_NOT_SUPPORTED,
                                 "a graph with kernels of several contexts is not supported");
            }
            *ctx = node->p.ctx;
        }
        if (r != CUDA_SUCCESS)
            return r;
    }
    return CUDA_SUCCESS;
}

/* What a copy of a graph for the device may name: device memory, or page-locked memory. */
static bool copy_allowed(struct build *b, const CUDA_MEMCPY3D *m)
{
    b->result = CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED;
    if (m->srcMemoryType == CU_MEMORYTYPE_ARRAY || m->dstMemoryType == CU_MEMORYTYPE_ARRAY)
        return false;
    const void *src =
        m->srcMemoryType == CU_MEMORYTYPE_HOST ? m->srcHost : (void *)(uintptr_t)m->srcDevice;
    const void *dst =
        m->dstMemoryType == CU_MEMORYTYPE_HOST ? m->dstHost : (void *)(uintptr_t)m->dstDevice;
    b->result = CUDA_GRAPH_INSTANTIATE_MULTIPLE_CTXS_NOT_SUPPORTED; /* as a GPU calls it */
    return mem_kind_of(src, NULL) != MEM_PAGEABLE && mem_kind_of(dst, NULL) != MEM_PAGEABLE;
}

/* What graphs that kernels launch may hold (programming guide, device graph creation): kernels,
 * copies, sets, and child graphs of those; at least one. */
static CUresult check_for_device(struct build *b, CUgraph g)
{
    if (g->nodes.count == 0)
        return driver_error(CUDA_ERROR_INVALID_VALUE,
                            "a graph that kernels launch has at least one node");
    for (size_t n = 0; n < g->nodes.count; n++) {
        CUgraphNode node = g->nodes.items[n];
        CUresult r = CUDA_SUCCESS;
        switch (node->p.type) {
        case CU_GRAPH_NODE_TYPE_KERNEL:
        case CU_GRAPH_NODE_TYPE_MEMSET: continue;
        case CU_GRAPH_NODE_TYPE_GRAPH: r = check_for_device(b, node->p.child); break;
        case CU_GRAPH_NODE_TYPE_MEMCPY:
            r = copy_allowed(b, &node->p.copy) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
            break;
        default:
            b->result = CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED;
            r = CUDA_ERROR_INVALID_VALUE;
        }
        if (r == CUDA_SUCCESS)
            continue;
        if (b->culprit == NULL)
            b->culprit = node;
        return driver_error(r, "a graph that kernels launch cannot have such a node");
    }
    b->result = CUDA_GRAPH_INSTANTIATE_SUCCESS;
    return CUDA_SUCCESS;
}

static size_t count_nodes(CUgraph g)
{
    size_t count = g->nodes.count;
    for (size_t n = 0; n < g->nodes.count; n++) {
        const struct node_params *p = &g->nodes.items[n]->p;
        if (p->type == CU_GRAPH_NODE_TYPE_GRAPH)
            count += count_nodes(p->child);
        if (p->type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
            for (unsigned b = 0; b < p->conditional.size; b++)
                count += count_nodes(p->conditional.bodies[b]);
    }
    return count;
}

static void list_nodes(CUgraph g, struct shadow_entry *out, size_t *count)
{
    for (size_t n = 0; n < g->nodes.count; n++) {
        CUgraphNode node = g->nodes.items[n];
        out[(*count)++] = (struct shadow_entry){node->origin, node};
        if (node->p.type == CU_GRAPH_NODE_TYPE_GRAPH)
            list_nodes(node->p.child, out, count);
        if (node->p.type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
            for (unsigned b = 0; b < node->p.conditional.size; b++)
                list_nodes(node->p.conditional.bodies[b], out, count);
    }
}

static int by_origin(const void *a, const void *b)
{
    uint64_t x = ((const struct shadow_entry *)a)->origin;
    uint64_t y = ((const struct shadow_entry *)b)->origin;
    return (x > y) - (x < y);
}

CUgraphNode exec_node(CUgraphExec e, CUgraphNode node)
{
    struct shadow_entry key = {node->id, NULL}, *found;
    found = bsearch(&key, e->entries, e->entry_count, sizeof key, by_origin);
    return found != NULL ? found->node : NULL;
}

static void mark_instantiated(CUgraph shadow, bool instantiated)
{
    for (size_t n = 0; n < shadow->conditions.count; n++)
        if (instantiated)
            atomic_fetch_add(&shadow->conditions.items[n]->instances, 1);
        else
            atomic_fetch_sub(&shadow->conditions.items[n]->instances, 1);
    memory_set_instantiated(shadow, instantiated);
}

static void release_shadow(void *shadow) { graph_free(shadow); }

/* Makes the executable graph of a clone that becomes its shadow, which counts as instantiated. */
static CUresult exec_build(struct build *b, CUgraph shadow, CUcontext ctx, uint64_t flags,
                           CUgraphExec *out)
{
    struct flat f = {0};
    struct exec_memory *memory = NULL;
    uint64_t ended = atomic_load(&modules_ended); /* before the kernels are looked at */
    CUresult r = flatten(b, shadow, &f, NULL);
    struct device_graph *device = NULL;
    if (r == CUDA_SUCCESS)
        r = exec_memory_new(shadow, &memory);
    if (r == CUDA_SUCCESS) {
        struct device_graph_spec spec = {f.items, (uint32_t)f.count};
        r = driver_from_device(ctx, device_graph_new(ctx->device, &spec, b->total, b->resets.items,
                                                     (uint32_t)b->resets.count, release_shadow,
                                                     shadow, &device));
    }
    free(f.items);
    if (r != CUDA_SUCCESS) {
        exec_memory_free(memory);
        return r;
    }
    CUgraphExec e = handle_begin(TAG_GRAPH_EXEC, sizeof *e);
    pthread_mutex_init(&e->lock, NULL);
    e->ctx = ctx;
    e->ctx_id = ctx->id;
    atomic_init(&e->kernels_as_of, ended);
    e->shadow = shadow;
    e->device = device;
    device_graph_set_handle(device, e);
    e->flags = flags;
    e->memory = memory;
    e->entries = xcalloc(count_nodes(shadow) + 1, sizeof *e->entries);
    list_nodes(shadow, e->entries, &e->entry_count);
    qsort(e->entries, e->entry_count, sizeof *e->entries, by_origin);
    handle_publish(e, TAG_GRAPH_EXEC);
    *out = e;
    return CUDA_SUCCESS;
}

static const uint64_t all_flags =
    CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD |
    CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;

/* The node of that number, in the graph or in one that is within; NULL: none. */
static CUgraphNode find_origin(CUgraph g, uint64_t id)
{
    for (size_t n = 0; n < g->nodes.count; n++) {
        CUgraphNode node = g->nodes.items[n], found = node->id == id ? node : NULL;
        if (node->p.type == CU_GRAPH_NODE_TYPE_GRAPH && found == NULL)
            found = find_origin(node->p.child, id);
        if (node->p.type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
            for (unsigned b = 0; b < node->p.conditional.size && found == NULL; b++)
                found = find_origin(node->p.conditional.bodies[b], id);
        if (found != NULL)
            return found;
    }
    return NULL;
}

/* A clone of the graph, as it is now, that may be instantiated and counts as it already; and the
 * context of its kernels, or NULL. */
static CUresult make_shadow(CUgraph g, uint64_t flags, struct build *b, CUgraph *shadow,
                            CUcontext *ctx)
{
    GRAPH_LOCKS;
    CU_TRY(graph_lock(g, &locked));
    for (size_t n = 0; n < g->conditions.count; n++)
        if (g->conditions.items[n]->instances > 0)
            return driver_error(CUDA_ERROR_NOT_SUPPORTED,
                                "a graph with conditional nodes is instantiated once at a time");
    if (memory_instantiated(g))
        return driver_error(CUDA_ERROR_NOT_SUPPORTED,
                            "a graph with memory nodes is instantiated once at a time");
    if ((flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) != 0)
        CU_TRY(check_for_device(b, g));
    CU_TRY(find_context(g, ctx, b));
    CU_TRY(graph_clone(g, TAG_SHADOW, shadow));
    mark_instantiated(*shadow, true);
    return CUDA_SUCCESS;
}

/* The node at which building failed as the program knows it: NULL if it is gone. */
static void name_culprit(struct build *b, CUgraph g)
{
    GRAPH_LOCKS;
    if (b->culprit == NULL)
        return;
    uint64_t origin = b->culprit->origin;
    b->culprit = graph_lock(g, &locked) == CUDA_SUCCESS ? find_origin(g, origin) : NULL;
}

/* In that context, if the graph has no kernels. */
static CUresult instantiate(CUgraphExec *out, CUgraph g, CUcontext otherwise, uint64_t flags,
                            struct build *b)
{
    CUcontext ctx = NULL;
    CUgraph shadow;
    CU_TRY(graph_check(g));
    CU_TRY(capture_unsafe());
    if (out == NULL || (flags & ~all_flags) != 0 ||
        ((flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH) != 0 &&
         (flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) != 0))
        return CUDA_ERROR_INVALID_VALUE;
    CU_TRY(make_shadow(g, flags, b, &shadow, &ctx));
    CUresult r = exec_build(b, shadow, ctx != NULL ? ctx : otherwise, flags, out);
    if (r == CUDA_SUCCESS && observed())
        observe_object_made(OBSERVE_GRAPH_EXEC, *out);
    if (r != CUDA_SUCCESS) {
        name_culprit(b, g);
        mark_instantiated(shadow, false);
        graph_free(shadow);
    }
    return r;
}

static void build_end(struct build *b)
{
    arena_free(&b->arena);
    free(b->resets.items);
}

WEIR_API CUresult cuGraphInstantiateWithFlags(CUgraphExec *out, CUgraph g, unsigned long long flags)
{
    HOLD;
    struct build b = {0};
    CUcontext c;
    if ((flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD) != 0)
        return CUDA_ERROR_INVALID_VALUE; /* there is no stream to upload in */
    CU_TRY(driver_current(&c));
    CUresult r = instantiate(out, g, c, flags, &b);
    build_end(&b);
    return r;
}

static CUresult cuGraphInstantiateWithParams_impl(bool pt, CUgraphExec *out, CUgraph g,
                                                  CUDA_GRAPH_INSTANTIATE_PARAMS *params)
{
    HOLD;
    struct build b = {0};
    CUcontext ctx;
    CUgraphExec made = NULL;
    struct device_stream *s;
    if (params == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult r = (params->flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD) != 0
                     ? driver_find_stream(params->hUploadStream, pt, &s, &ctx)
                     : driver_current(&ctx);
    if (r == CUDA_SUCCESS)
        r = instantiate(out != NULL ? &made : NULL, g, ctx, params->flags, &b);
    if (r == CUDA_SUCCESS)
        *out = made;
    params->hErrNode_out = r == CUDA_SUCCESS ? NULL : b.culprit;
    params->result_out = r == CUDA_SUCCESS ? CUDA_GRAPH_INSTANTIATE_SUCCESS
                         : b.result != CUDA_GRAPH_INSTANTIATE_SUCCESS
                             ? b.result
                             : CUDA_GRAPH_INSTANTIATE_ERROR;
    build_end(&b);
    return r;
}
BOTH(cuGraphInstantiateWithParams,
     (CUgraphExec * out, CUgraph g, CUDA_GRAPH_INSTANTIATE_PARAMS *params), out, g, params)

/* ---- the rest of its life ---- */

static void free_exec(struct retired *end)
{
    CUgraphExec e = (CUgraphExec)(void *)((char *)end - offsetof(struct CUgraphExec_st, end));
    device_graph_free(e->device);
    exec_memory_free(e->memory);
    free(e->entries);
    handle_recycle(e);
}

WEIR_API CUresult cuGraphExecDestroy(CUgraphExec e)
{
    HOLD;
    CU_TRY(driver_initialized());
    CU_TRY(capture_unsafe());
    if (!handle_live(e, TAG_GRAPH_EXEC) || !handle_wipe(e))
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&e->lock); /* calls that had it before are over then */
    mark_instantiated(e->shadow, false);
    bool seen = graph_seen_to_go(e->shadow);
    pthread_mutex_unlock(&e->lock);
    graph_retire(seen, &e->end, free_exec);
    return CUDA_SUCCESS;
}

WEIR_API CUresult cuGraphExecGetFlags(CUgraphExec e, cuuint64_t *flags)
{
    HOLD;
    CU_TRY(driver_ready());
    CU_TRY(exec_check(e));
    if (flags == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *flags = e->flags;
    return CUDA_SUCCESS;
}

/* Stream and context of a call about an executable graph. */
static CUresult exec_find(CUgraphExec e, CUstream h, bool pt, struct device_stream **s,
                          CUcontext *c)
{
    CUresult r = stream_find(h, pt, s, c);
    return r == CUDA_SUCCESS ? exec_check(e) : r;
}

static CUresult cuGraphUpload_impl(bool pt, CUgraphExec e, CUstream h)
{
    HOLD;
    CUcontext c;
    struct device_stream *s;
    CUresult r = exec_find(e, h, pt, &s, &c);
    if (r == CUDA_SUCCESS && WEIR_UNLIKELY(capture_running()))
        r = capture_forbid(s, c);
    return r; /* everything is where it is needed since the graph was instantiated */
}
BOTH(cuGraphUpload, (CUgraphExec e, CUstream h), e, h)

/* A module was unloaded since the last time: whether it had kernels of the graph. */
static __attribute__((noinline)) CUresult kernels_look(CUgraphExec e, uint64_t ended)
{
    EXEC_LOCK;
    CU_TRY(exec_lock(e, &locked_exec));
    for (size_t n = 0; n < e->entry_count; n++)
        if (e->entries[n].node->p.type == CU_GRAPH_NODE_TYPE_KERNEL)
            CU_TRY(kernel_live(&e->entries[n].node->p.kernel));
    atomic_store_explicit(&e->kernels_as_of, ended, memory_order_relaxed);
    return CUDA_SUCCESS;
}

static inline CUresult kernels_check(CUgraphExec e)
{
    uint64_t ended = atomic_load(&modules_ended);
    bool same = ended == atomic_load_explicit(&e->kernels_as_of, memory_order_relaxed);
    return WEIR_LIKELY(same) ? CUDA_SUCCESS : kernels_look(e, ended);
}

static CUresult cuGraphLaunch_impl(bool pt, CUgraphExec e, CUstream h)
{
    HOLD;
    CUcontext c;
    struct device_stream *s;
    CU_TRY(exec_find(e, h, pt, &s, &c));
    if (WEIR_UNLIKELY(capture_running()))
        CU_TRY(capture_forbid(s, c));
    if (c != e->ctx)
        return driver_error(CUDA_ERROR_INVALID_CONTEXT,
                            "cuGraphLaunch: the graph's kernels and the stream belong to different "
                            "contexts");
    CU_TRY(kernels_check(e));
    if (e->memory != NULL)
        return exec_memory_launch(e, s);
    return driver_from_device(c, device_graph_launch(e->device, s));
}
BOTH(cuGraphLaunch, (CUgraphExec e, CUstream h), e, h)
