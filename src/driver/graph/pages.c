/* graph/pages: what backs the addresses of graphs' allocations while executable graphs run.
 *
 * Each device has a pool (pool/pool.h) for its graphs, whose memory is a file. A launch allocates
 * from it in the order of its stream, has the addresses of the graph show what it got, and frees it
 * in the order of the stream at once, since nothing later in the stream can use it: so the next
 * launch in the stream, of whatever graph, gets the same pages, launches that may run at the same
 * time get others, and a graph that is launched again and again finds everything where it was. What
 * a graph leaves allocated is freed by who frees it: a call, a node of another graph, or the next
 * launch, if the graph was instantiated so.
 *
 * Whether memory is allocated is known in the order of calls, not of work; so wrong launches and
 * frees are refused when they are made. One lock guards that. */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/round.h"
#include "driver/graph/graph.h"

static pthread_mutex_t pages_lock = PTHREAD_MUTEX_INITIALIZER;
static struct graph_memory *pages_live; /* all that is allocated */
/* The highest that memory of graphs was since the mark was reset: the pool has but one such mark of
 * its own. It falls only in calls here, which look at it before. */
static uint64_t pages_used_high[MEM_MAX_DEVICES];

enum {
    UNIT = MEM_CHUNK, /* what launches ask the pool for is a multiple of this, and begins at one */
};

/* ---- what an executable graph needs ---- */

/* Memory that a launch takes from the pool as one block. */
struct memory_block {
    CUdevice device;
    struct pool *pool;
    uint64_t bytes;
    bool kept; /* stays allocated after the launch: one allocation alone */
    struct memory_part {
        struct graph_memory *memory;
        uint64_t offset; /* in the block */
    } *items;
    size_t count, cap;
    void *at; /* while a launch is made */
};

struct exec_memory {
    struct {
        struct memory_block *items;
        size_t count, cap;
    } blocks;
    struct {
        struct graph_memory **items;
        size_t count, cap;
    } freed; /* what other graphs have allocated and nodes of this one free */
};

/* An allocation of the graph while its nodes are looked at. */
struct use {
    struct graph_memory *memory;
    unsigned allocations, frees; /* nodes */
};

struct uses {
    struct use *items;
    size_t count, cap;
};

static struct use *use_of(struct uses *u, struct graph_memory *m)
{
    for (size_t n = 0; n < u->count; n++)
        if (u->items[n].memory == m)
            return &u->items[n];
    struct use use = {.memory = m};
    vec_push(u, use);
    return &u->items[u->count - 1];
}

static void collect(CUgraph g, struct uses *u)
{
    for (size_t n = 0; n < g->nodes.count; n++) {
        const struct node_params *p = &g->nodes.items[n]->p;
        if (p->type == CU_GRAPH_NODE_TYPE_GRAPH)
            collect(p->child, u);
        if (p->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
            use_of(u, p->memory.memory)->allocations++;
        if (p->type == CU_GRAPH_NODE_TYPE_MEM_FREE)
            use_of(u, p->memory.memory)->frees++;
    }
}

/* A block for an allocation: its own if it is kept, else that of the device's others. */
static struct memory_block *block_for(struct exec_memory *e, CUdevice device, bool kept)
{
    for (size_t n = 0; n < e->blocks.count && !kept; n++)
        if (!e->blocks.items[n].kept && e->blocks.items[n].device == device)
            return &e->blocks.items[n];
    struct memory_block block = {.device = device, .kept = kept};
    vec_push(&e->blocks, block);
    return &e->blocks.items[e->blocks.count - 1];
}

static void pages_assign(struct exec_memory *e, const struct use *u)
{
    struct graph_memory *m = u->memory;
    struct memory_block *b = block_for(e, m->device, u->frees < u->allocations);
    struct memory_part part = {m, round_up(b->bytes, m->bytes < UNIT ? WEIR_PAGE : UNIT)};
    b->bytes = part.offset + round_up(m->bytes, WEIR_PAGE);
    vec_push(b, part);
}

CUresult exec_memory_new(CUgraph shadow, struct exec_memory **out)
{
    struct uses uses = {0};
    CUresult r = CUDA_SUCCESS;
    *out = NULL;
    collect(shadow, &uses);
    if (uses.count == 0)
        return CUDA_SUCCESS;
    struct exec_memory *e = xcalloc(1, sizeof *e);
    for (size_t n = 0; n < uses.count; n++)
        if (uses.items[n].allocations > 0)
            pages_assign(e, &uses.items[n]);
        else
            vec_push(&e->freed, uses.items[n].memory);
    free(uses.items);
    for (size_t n = 0; n < e->blocks.count && r == CUDA_SUCCESS; n++) {
        e->blocks.items[n].bytes = round_up(e->blocks.items[n].bytes, UNIT);
        r = pool_of_graphs(e->blocks.items[n].device, &e->blocks.items[n].pool);
    }
    if (r != CUDA_SUCCESS)
        exec_memory_free(e);
    else
        *out = e;
    return r;
}

void exec_memory_free(struct exec_memory *m)
{
    if (m == NULL)
        return;
    for (size_t n = 0; n < m->blocks.count; n++)
        free(m->blocks.items[n].items);
    free(m->blocks.items);
    free(m->freed.items);
    free(m);
}

CUresult exec_memory_renew(CUgraphExec e)
{
    struct exec_memory *m;
    CUresult r = exec_memory_new(e->shadow, &m);
    if (r == CUDA_SUCCESS) {
        pthread_mutex_lock(&pages_lock); /* a launch may be at it */
        struct exec_memory *before = e->memory;
        e->memory = m;
        pthread_mutex_unlock(&pages_lock);
        exec_memory_free(before);
    }
    return r;
}

/* Whether all that may use the memory is over. The lock is held. */
static bool is_over(struct graph_memory *m)
{
    return m->last == NULL || device_stream_completed(m->last) >= m->last_count;
}

void exec_memory_retire(CUgraph shadow, struct graph_memory *m)
{
    size_t left = 0;
    pthread_mutex_lock(&pages_lock);
    for (size_t n = 0; n < shadow->retired.count; n++)
        if (is_over(shadow->retired.items[n]))
            memory_drop(shadow->retired.items[n]);
        else
            shadow->retired.items[left++] = shadow->retired.items[n];
    shadow->retired.count = left;
    if (!is_over(m)) {
        memory_hold(m);
        vec_push(&shadow->retired, m);
    }
    pthread_mutex_unlock(&pages_lock);
}

/* ---- life; the lock is held ---- */

/* Records that what is in the stream so far may use the memory. */
static void pages_used(struct graph_memory *m, struct device_stream *s, uint64_t count)
{
    if (m->last != s) {
        if (m->last != NULL)
            device_stream_release(m->last);
        m->last = s != NULL ? device_stream_keep(s) : NULL;
    }
    m->last_count = count;
}

/* The stream's later work comes after all that may use the memory. */
static void order_after(struct graph_memory *m, struct device_stream *s)
{
    if (m->last != NULL && m->last != s)
        device_stream_wait_count(s, m->last, m->last_count);
}

static void begin_life(struct graph_memory *m, void *block)
{
    memory_hold(m);
    m->live = true;
    m->block = block;
    m->next_live = pages_live;
    m->at_live = &pages_live;
    if (pages_live != NULL)
        pages_live->at_live = &m->next_live;
    pages_live = m;
}

static void leave_list(struct graph_memory *m)
{
    *m->at_live = m->next_live;
    if (m->next_live != NULL)
        m->next_live->at_live = m->at_live;
    m->live = false;
    m->block = NULL;
}

/* Frees in the order of the stream, or, without one, at once. */
static CUresult end_life(struct graph_memory *m, struct device_stream *s)
{
    void *block = m->block;
    leave_list(m);
    if (s == NULL) {
        pool_free_now(block, (struct pool_by){0});
        pages_used(m, NULL, 0);
        memory_drop(m);
        return CUDA_SUCCESS;
    }
    struct pool_point now = stream_point(s);
    pool_free(block, s, now, (struct pool_by){0});
    pages_used(m, s, now.count);
    enum device_error error = device_call(s, memory_drop, m); /* addresses stay until then */
    if (error != DEVICE_OK)
        memory_drop(m);
    return error == DEVICE_OK ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

bool graph_memory_free(CUdeviceptr at, struct device_stream *s, CUresult *r)
{
    struct mem_info info;
    if (!mem_find((void *)(uintptr_t)at, &info) || info.base != at || !graph_memory_is(&info))
        return false;
    struct graph_memory *m = info.user;
    pthread_mutex_lock(&pages_lock);
    *r = m->live && (CUdeviceptr)(uintptr_t)m->base == at
             ? end_life(m, s)
             : driver_error(CUDA_ERROR_INVALID_VALUE,
                            "0x%llx is memory of a graph, and not allocated now",
                            (unsigned long long)at);
    pthread_mutex_unlock(&pages_lock);
    return true;
}

void graph_memory_reset(CUdevice device)
{
    pthread_mutex_lock(&pages_lock);
    for (struct graph_memory *m = pages_live, *next; m != NULL; m = next) {
        next = m->next_live;
        if (m->device != device)
            continue;
        leave_list(m);
        pages_used(m, NULL, 0);
        memory_drop(m);
    }
    pages_used_high[device] = 0;
    pthread_mutex_unlock(&pages_lock);
}

/* ---- showing ---- */

/* Addresses that are to show other pages, in the order of a stream. */
struct show {
    size_t count, cap;
    struct shown {
        struct graph_memory *memory; /* with a reference */
        const struct mem_file *file;
        uint64_t offset;
    } *items;
};

/* Where it fails the addresses show nothing, and who uses them meets a fault. */
static void pages_show(void *user)
{
    struct show *s = user;
    for (size_t n = 0; n < s->count; n++) {
        mem_alias_show(s->items[n].memory->base, s->items[n].file, s->items[n].offset);
        memory_drop(s->items[n].memory);
    }
    free(s->items);
    free(s);
}

/* Adds what of the block is not shown where it will be needed. */
static void add_shown(struct show *list, const struct memory_block *b, struct device_stream *s)
{
    const struct mem_file *file = pool_file(b->pool);
    uint64_t base, bytes;
    mem_range(device_ordinal(driver_device(b->device)), &base, &bytes);
    for (size_t n = 0; n < b->count; n++) {
        struct graph_memory *m = b->items[n].memory;
        const char *at = (const char *)b->at + b->items[n].offset;
        if (WEIR_LIKELY(m->shown == at))
            continue;
        struct shown shown = {m, file, (uintptr_t)at - base};
        vec_push(list, shown);
        order_after(m, s);
        memory_hold(m);
        m->shown = at;
    }
}

static CUresult show_blocks(const struct exec_memory *e, struct device_stream *s)
{
    struct show list = {0};
    for (size_t n = 0; n < e->blocks.count; n++)
        add_shown(&list, &e->blocks.items[n], s);
    if (WEIR_LIKELY(list.count == 0))
        return CUDA_SUCCESS;
    struct show *own = xmalloc(sizeof *own);
    *own = list;
    if (device_call(s, pages_show, own) == DEVICE_OK)
        return CUDA_SUCCESS;
    pages_show(own);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

/* ---- launching; the lock is held ---- */

/* Whether everything is as the graph's nodes expect it, after frees if it was instantiated so. */
static CUresult check_life(CUgraphExec e, struct device_stream *s)
{
    const struct exec_memory *m = e->memory;
    for (size_t n = 0; n < m->freed.count; n++)
        if (!m->freed.items[n]->live)
            return driver_error(CUDA_ERROR_INVALID_VALUE,
                                "cuGraphLaunch: the graph frees memory of another one, which is "
                                "not allocated now");
    for (size_t n = 0; n < m->blocks.count; n++) {
        const struct memory_block *b = &m->blocks.items[n];
        if (!b->kept || !b->items[0].memory->live)
            continue;
        if ((e->flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH) == 0)
            return driver_error(CUDA_ERROR_INVALID_VALUE,
                                "cuGraphLaunch: memory that the graph has allocated in an earlier "
                                "launch is not freed");
        order_after(b->items[0].memory, s);
        CU_TRY(end_life(b->items[0].memory, s));
    }
    return CUDA_SUCCESS;
}

static void give_back(struct exec_memory *m, size_t blocks, struct device_stream *s)
{
    for (size_t n = 0; n < blocks; n++)
        pool_free(m->blocks.items[n].at, s, stream_point(s), (struct pool_by){0});
}

static CUresult take_blocks(struct exec_memory *m, struct device_stream *s)
{
    for (size_t n = 0; n < m->blocks.count; n++) {
        struct memory_block *b = &m->blocks.items[n];
        b->at = pool_alloc(b->pool, s, b->bytes, (struct pool_by){0});
        if (b->at != NULL)
            continue;
        give_back(m, n, s);
        return driver_error(CUDA_ERROR_OUT_OF_MEMORY,
                            "cuGraphLaunch: the device has no %llu bytes left for the graph",
                            (unsigned long long)b->bytes);
    }
    return CUDA_SUCCESS;
}

/* The launch is in the stream. */
static void pages_launched(struct exec_memory *m, struct device_stream *s)
{
    struct pool_point now = stream_point(s);
    for (size_t n = 0; n < m->blocks.count; n++) {
        struct memory_block *b = &m->blocks.items[n];
        for (size_t k = 0; k < b->count; k++)
            pages_used(b->items[k].memory, s, now.count);
        if (b->kept)
            begin_life(b->items[0].memory, b->at);
        else
            pool_free(b->at, s, now, (struct pool_by){0});
    }
    for (size_t n = 0; n < m->freed.count; n++)
        end_life(m->freed.items[n], s);
}

CUresult exec_memory_launch(CUgraphExec e, struct device_stream *s)
{
    pthread_mutex_lock(&pages_lock);
    CUresult r = driver_from_device(e->ctx, device_context_status(e->ctx->device));
    if (r == CUDA_SUCCESS)
        r = check_life(e, s);
    if (r == CUDA_SUCCESS)
        r = take_blocks(e->memory, s);
    if (r == CUDA_SUCCESS) {
        r = show_blocks(e->memory, s);
        if (r == CUDA_SUCCESS)
            r = driver_from_device(e->ctx, device_graph_launch(e->device, s));
        if (r == CUDA_SUCCESS)
            pages_launched(e->memory, s);
        else
            give_back(e->memory, e->memory->blocks.count, s);
    }
    pthread_mutex_unlock(&pages_lock);
    return r;
}

/* ---- statistics ---- */

static void statistics(CUdevice device, struct pool_statistics *out)
{
    struct pool *p = pool_of_graphs_if_made(device);
    memset(out, 0, sizeof *out);
    if (p != NULL)
        pool_get_usage(p, out);
    if (pages_used_high[device] < out->reserved)
        pages_used_high[device] = out->reserved;
}

/* What belongs to graphs counts as used, allocated at the moment or not, as on a GPU. */
WEIR_API CUresult cuDeviceGetGraphMemAttribute(CUdevice device, CUgraphMem_attribute which,
                                               void *value)
{
    HOLD;
    struct pool_statistics f;
    CU_TRY(device_check(device));
    if (value == NULL || which > CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&pages_lock);
    statistics(device, &f);
    *(cuuint64_t *)value = which == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH ? f.reserved_high
                           : which == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH   ? pages_used_high[device]
                                                                        : f.reserved;
    pthread_mutex_unlock(&pages_lock);
    return CUDA_SUCCESS;
}

/* The high-water marks can be reset to the present values, by the value 0. */
WEIR_API CUresult cuDeviceSetGraphMemAttribute(CUdevice device, CUgraphMem_attribute which,
                                               void *value)
{
    HOLD;
    struct pool_statistics f;
    CUresult r = device_check(device);
    if (r == CUDA_SUCCESS && (value == NULL ||
                              (which != CU_GRAPH_MEM_ATTR_USED_MEM_HIGH &&
                               which != CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH) ||
                              *(const cuuint64_t *)value != 0))
        r = CUDA_ERROR_INVALID_VALUE;
    if (r != CUDA_SUCCESS)
        return r;
    pthread_mutex_lock(&pages_lock);
    struct pool *p = pool_of_graphs_if_made(device);
    statistics(device, &f);
    if (which == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH)
        pages_used_high[device] = f.reserved;
    else if (p != NULL)
        pool_reset_reserved_high(p);
    pthread_mutex_unlock(&pages_lock);
    return CUDA_SUCCESS;
}

WEIR_API CUresult cuDeviceGraphMemTrim(CUdevice device)
{
    HOLD;
    struct pool_statistics f;
    CU_TRY(device_check(device));
    pthread_mutex_lock(&pages_lock);
    struct pool *p = pool_of_graphs_if_made(device);
    statistics(device, &f);
    if (p != NULL)
        pool_trim(p, 0);
    pthread_mutex_unlock(&pages_lock);
    return CUDA_SUCCESS;
}
