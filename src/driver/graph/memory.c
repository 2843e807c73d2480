/* graph/memory: allocations of graphs: their addresses, and the nodes that make and free them. What
 * backs the addresses while a graph runs is in pages.c.
 *
 * An address is known when its node is made, and stays. A node that comes after the node that frees
 * an earlier allocation of the graph, at least as large, gets that one's addresses again; nodes and
 * edges of such graphs stay, so that order cannot be lost later. */
#include <stdlib.h>
#include <string.h>

#include "driver/error/site.h"
#include "driver/graph/graph.h"

/* ---- objects ---- */

atomic_uint graph_memories;

bool graph_memory_is(const struct mem_info *info)
{
    return (info->kind == MEM_POOL || info->kind == MEM_MANAGED) &&
           handle_live(info->user, TAG_GRAPH_MEMORY);
}

bool graph_memory_hides(const struct mem_info *info)
{
    return graph_memory_is(info) && !atomic_load(&((struct graph_memory *)info->user)->live);
}

bool graph_memory_hides_at(const void *address)
{
    struct mem_info info;
    return mem_find(address, &info) && graph_memory_hides(&info);
}

void memory_hold(struct graph_memory *m) { atomic_fetch_add(&m->refs, 1); }

void memory_drop(void *memory)
{
    struct graph_memory *m = memory;
    if (m == NULL || atomic_fetch_sub(&m->refs, 1) != 1)
        return;
    if (m->last != NULL)
        device_stream_release(m->last);
    mem_free(m->base, MEM_POOL | MEM_MANAGED);
    handle_free(m);
    atomic_fetch_sub(&graph_memories, 1);
}

/* New addresses. */
static CUresult memory_new(CUdevice device, bool managed, uint64_t bytes, struct graph_memory **out)
{
    struct graph_memory *m = handle_new(TAG_GRAPH_MEMORY, sizeof *m);
    struct mem_info like = {.kind = managed ? MEM_MANAGED : MEM_POOL,
                            .device = managed ? MEM_HOST : device_ordinal(driver_device(device)),
                            .user = m};
    atomic_init(&m->refs, 1);
    m->device = device;
    m->managed = managed;
    m->bytes = bytes;
    CUresult r = driver_from_mem(mem_alias_new(bytes, &like, &m->base));
    if (r != CUDA_SUCCESS) {
        handle_free(m);
        return driver_error(r, "there are no addresses for %llu bytes of a graph",
                            (unsigned long long)bytes);
    }
    atomic_fetch_add(&graph_memories, 1);
    *out = m;
    return CUDA_SUCCESS;
}

void once_hold(struct graph_once *once)
{
    if (once != NULL)
        atomic_fetch_add(&once->refs, 1);
}

void once_drop(struct graph_once *once)
{
    if (once != NULL && atomic_fetch_sub(&once->refs, 1) == 1)
        free(once);
}

bool memory_instantiated(CUgraph g)
{
    if (g->once != NULL && atomic_load(&g->once->instantiated))
        return true;
    for (size_t n = 0; n < g->nodes.count; n++)
        if (g->nodes.items[n]->p.type == CU_GRAPH_NODE_TYPE_GRAPH &&
            memory_instantiated(g->nodes.items[n]->p.child))
            return true;
    return false;
}

void memory_follow(CUgraph shadow, CUgraph g)
{
    if (shadow->once == g->once)
        return;
    if (shadow->once != NULL)
        atomic_store(&shadow->once->instantiated, false);
    if (g->once != NULL)
        atomic_store(&g->once->instantiated, true);
    once_drop(shadow->once);
    once_hold(g->once);
    shadow->once = g->once;
}

void memory_set_instantiated(CUgraph g, bool instantiated)
{
    if (g->once != NULL)
        atomic_store(&g->once->instantiated, instantiated);
    for (size_t n = 0; n < g->nodes.count; n++)
        if (g->nodes.items[n]->p.type == CU_GRAPH_NODE_TYPE_GRAPH)
            memory_set_instantiated(g->nodes.items[n]->p.child, instantiated);
}

/* ---- parameters ---- */

/* Who else shall have access: all devices have. */
static CUresult memory_check_access(const CUDA_MEM_ALLOC_NODE_PARAMS *a)
{
    if (a->accessDescCount > 0 && a->accessDescs == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t n = 0; n < a->accessDescCount; n++) {
        const CUmemAccessDesc *d = &a->accessDescs[n];
        if (d->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
            return CUDA_ERROR_INVALID_VALUE;
        if (d->location.id < 0 || d->location.id >= driver_device_count())
            return CUDA_ERROR_INVALID_DEVICE;
        if (d->flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
            return driver_error(CUDA_ERROR_NOT_SUPPORTED,
                                "memory of graphs can be read and written, or not be used at all");
    }
    return CUDA_SUCCESS;
}

CUresult params_alloc(const CUDA_MEM_ALLOC_NODE_PARAMS *alloc, struct node_params *out)
{
    CU_TRY(driver_ready());
    CU_TRY(driver_permitted());
    if (alloc == NULL || alloc->bytesize == 0)
        return CUDA_ERROR_INVALID_VALUE;
    const CUmemPoolProps *p = &alloc->poolProps;
    if (p->location.type >= CU_MEM_LOCATION_TYPE_HOST &&
        p->location.type <= CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT)
        return driver_error(CUDA_ERROR_NOT_SUPPORTED,
                            "allocations of host memory in graphs are not supported");
    if (p->handleTypes != CU_MEM_HANDLE_TYPE_NONE)
        return driver_error(CUDA_ERROR_NOT_SUPPORTED,
                            "memory of graphs cannot be shared with other processes");
    if ((p->allocType != CU_MEM_ALLOCATION_TYPE_PINNED &&
         p->allocType != CU_MEM_ALLOCATION_TYPE_MANAGED) ||
        p->location.type != CU_MEM_LOCATION_TYPE_DEVICE || p->location.id < 0 ||
        p->location.id >= driver_device_count())
        return CUDA_ERROR_INVALID_VALUE;
    CU_TRY(memory_check_access(alloc));
    *out = (struct node_params){.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC};
    out->memory.params = *alloc;
    out->memory.params.dptr = 0;
    memory_clone(&out->memory, &out->memory);
    return CUDA_SUCCESS;
}

/* The graph's allocation that starts there, with a reference, or NULL. Another thread may be
 * dropping the last one. */
static struct graph_memory *memory_find(CUdeviceptr at)
{
    struct mem_info info;
    if (!mem_find((void *)(uintptr_t)at, &info) || info.base != at || !graph_memory_is(&info))
        return NULL;
    struct graph_memory *m = info.user;
    unsigned refs = atomic_load(&m->refs);
    do {
        if (refs == 0)
            return NULL;
    } while (!atomic_compare_exchange_weak(&m->refs, &refs, refs + 1));
    if ((CUdeviceptr)(uintptr_t)m->base == at)
        return m;
    memory_drop(m); /* another one by now */
    return NULL;
}

CUresult params_free(CUdeviceptr at, struct node_params *out)
{
    CU_TRY(driver_ready());
    CU_TRY(driver_permitted());
    struct graph_memory *m = memory_find(at);
    if (m == NULL)
        return driver_error(CUDA_ERROR_INVALID_VALUE,
                            "0x%llx is not the start of an allocation of a graph",
                            (unsigned long long)at);
    *out = (struct node_params){.type = CU_GRAPH_NODE_TYPE_MEM_FREE};
    out->memory.memory = m;
    return CUDA_SUCCESS;
}

void memory_clone(const struct memory_node *from, struct memory_node *to)
{
    const CUmemAccessDesc *access = from->params.accessDescs;
    size_t bytes = from->params.accessDescCount * sizeof *access;
    *to = *from;
    to->params.accessDescs = NULL;
    if (bytes > 0) {
        CUmemAccessDesc *own = xmalloc(bytes);
        memcpy(own, access, bytes);
        to->params.accessDescs = own;
    }
    if (to->memory != NULL)
        memory_hold(to->memory);
}

void memory_clear(struct memory_node *m)
{
    free((void *)(uintptr_t)m->params.accessDescs);
    memory_drop(m->memory);
}

/* ---- nodes of a graph ---- */

static struct graph_address *address_of_memory(CUgraph g, const struct graph_memory *m)
{
    for (size_t n = 0; n < g->addresses.count; n++)
        if (g->addresses.items[n].memory == m)
            return &g->addresses.items[n];
    return NULL;
}

/* Marks the nodes and all that they come after; the marks of others are 0. */
static void mark_before(CUgraph g, const CUgraphNode *nodes, size_t count)
{
    struct {
        CUgraphNode *items;
        size_t count, cap;
    } left = {0};
    for (size_t n = 0; n < g->nodes.count; n++)
        g->nodes.items[n]->mark = 0;
    for (size_t n = 0; n < count; n++)
        vec_push(&left, nodes[n]);
    while (left.count > 0) {
        CUgraphNode n = left.items[--left.count];
        for (size_t e = 0; n->mark == 0 && e < n->in.count; e++)
            vec_push(&left, n->in.items[e].node);
        n->mark = 1;
    }
    free(left.items);
}

/* The smallest addresses that fit and are free when a node after `deps` is reached; or NULL. */
static struct graph_memory *find_free(CUgraph g, const CUgraphNode *deps, size_t count,
                                      CUdevice device, bool managed, uint64_t bytes)
{
    struct graph_memory *best = NULL;
    bool marked = false;
    for (size_t n = 0; n < g->addresses.count; n++) {
        const struct graph_address *p = &g->addresses.items[n];
        if (p->freed == NULL || p->memory->device != device || p->memory->managed != managed ||
            p->memory->bytes < bytes || (best != NULL && best->bytes <= p->memory->bytes))
            continue;
        if (!marked)
            mark_before(g, deps, count);
        marked = true;
        if (p->freed->mark != 0)
            best = p->memory;
    }
    return best;
}

static CUresult claim_alloc(CUgraph g, const CUgraphNode *deps, size_t count, struct memory_node *m)
{
    CUdevice device = m->params.poolProps.location.id;
    bool managed = m->params.poolProps.allocType == CU_MEM_ALLOCATION_TYPE_MANAGED;
    struct graph_memory *found = find_free(g, deps, count, device, managed, m->params.bytesize);
    if (found != NULL) {
        memory_hold(found);
    } else {
        CU_TRY(memory_new(device, managed, m->params.bytesize, &found));
    }
    m->memory = found;
    m->params.dptr = (CUdeviceptr)(uintptr_t)found->base;
    return CUDA_SUCCESS;
}

/* An allocation is freed once: in its own graph, or not there. */
static CUresult claim_free(CUgraph g, const struct graph_memory *m)
{
    const struct graph_address *own = address_of_memory(g, m);
    if (own != NULL ? own->freed != NULL : atomic_load(&m->inside))
        return driver_error(CUDA_ERROR_INVALID_VALUE,
                            "a node of the graph that allocates this memory frees it");
    for (size_t n = 0; own == NULL && n < g->nodes.count; n++)
        if (g->nodes.items[n]->p.type == CU_GRAPH_NODE_TYPE_MEM_FREE &&
            g->nodes.items[n]->p.memory.memory == m)
            return driver_error(CUDA_ERROR_INVALID_VALUE, "the graph frees this memory already");
    return CUDA_SUCCESS;
}

CUresult memory_claim(CUgraph g, const CUgraphNode *deps, size_t count, struct node_params *p)
{
    return p->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC ? claim_alloc(g, deps, count, &p->memory)
                                                   : claim_free(g, p->memory.memory);
}

void memory_added(CUgraphNode n)
{
    CUgraph g = n->graph;
    struct graph_memory *m = n->p.memory.memory;
    struct graph_address *p = address_of_memory(g, m);
    if (g->once == NULL) {
        g->once = xcalloc(1, sizeof *g->once);
        atomic_init(&g->once->refs, 1);
    }
    if (n->p.type == CU_GRAPH_NODE_TYPE_MEM_FREE) {
        if (p != NULL) {
            p->freed = n;
            atomic_store(&m->inside, true);
        }
    } else if (p != NULL) {
        p->freed = NULL;
        atomic_store(&m->inside, false);
    } else {
        struct graph_address address = {.memory = m};
        vec_push(&g->addresses, address);
    }
}

/* ---- the calls ---- */

WEIR_API CUresult cuGraphAddMemAllocNode(CUgraphNode *out, CUgraph g, const CUgraphNode *deps,
                                         size_t count, CUDA_MEM_ALLOC_NODE_PARAMS *alloc)
{
    HOLD;
    CALLED(cuGraphAddMemAllocNode);
    struct node_params p;
    CUresult r = driver_ready();
    if (r == CUDA_SUCCESS)
        r = graph_check(g);
    if (r == CUDA_SUCCESS && out == NULL)
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        r = params_alloc(alloc, &p);
    return r != CUDA_SUCCESS ? r : graph_insert(g, deps, NULL, count, &p, out, &alloc->dptr);
}

WEIR_API CUresult cuGraphAddMemFreeNode(CUgraphNode *out, CUgraph g, const CUgraphNode *deps,
                                        size_t count, CUdeviceptr at)
{
    HOLD;
    struct node_params p;
    CUresult r = driver_ready();
    if (r == CUDA_SUCCESS)
        r = graph_check(g);
    if (r == CUDA_SUCCESS && out == NULL)
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        r = params_free(at, &p);
    return r != CUDA_SUCCESS ? r : graph_insert(g, deps, NULL, count, &p, out, NULL);
}

/* What the parameters point to stays the node's. */
WEIR_API CUresult cuGraphMemAllocNodeGetParams(CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS *out)
{
    HOLD;
    GRAPH_LOCKS;
    CU_TRY(node_lock_type(node, CU_GRAPH_NODE_TYPE_MEM_ALLOC, &locked));
    if (out == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *out = node->p.memory.params;
    return CUDA_SUCCESS;
}

WEIR_API CUresult cuGraphMemFreeNodeGetParams(CUgraphNode node, CUdeviceptr *out)
{
    HOLD;
    GRAPH_LOCKS;
    CU_TRY(node_lock_type(node, CU_GRAPH_NODE_TYPE_MEM_FREE, &locked));
    if (out == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *out = (CUdeviceptr)(uintptr_t)node->p.memory.memory->base;
    return CUDA_SUCCESS;
}
