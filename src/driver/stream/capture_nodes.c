/* capture_nodes: calls on captured streams become nodes: the capture_params* functions that
 * calls which put work into streams ask first. Who is captured and what that forbids is in
 * capture.c. */
#include <stdlib.h>
#include <string.h>

#include "driver/stream/capture.h"

CUresult capture_add(struct captured *c, struct node_params *p, CUdeviceptr *at)
{
    size_t count = c->points.count;
    bool memory = is_memory_node(p->type);
    CUgraphNode *deps = xcalloc(count + 1, sizeof(CUgraphNode)), node;
    CUgraphEdgeData *data = xcalloc(count + 1, sizeof *data);
    for (size_t n = 0; n < count; n++) {
        deps[n] = c->points.items[n].node;
        data[n] = c->points.items[n].data;
    }
    CUresult r = graph_insert(c->capture->graph, deps, data, count, p, &node, at);
    free(deps);
    free(data);
    if (r != CUDA_SUCCESS) {
        c->capture->invalid |= !memory; /* memory that cannot be had ends nothing */
        return r;
    }
    struct graph_edge edge = {.node = node};
    c->points.count = 0;
    vec_push(&c->points, edge);
    return CUDA_SUCCESS;
}

/* The end of all capture_params* calls with parameters of a node: r says whether those are
 * fine. */
static CUresult put(struct device_stream *s, CUcontext ctx, CUresult r, struct node_params *p,
                    CUdeviceptr *at, bool *captured)
{
    struct captured *c;
    bool invalidates = p->type == CU_GRAPH_NODE_TYPE_KERNEL;
    *captured = false;
    pthread_mutex_lock(&capture_lock);
    CUresult entered = capture_enter(s, ctx, &c);
    if (entered == CUDA_SUCCESS && c != NULL) {
        *captured = true;
        if (r == CUDA_SUCCESS)
            r = capture_add(c, p, at);
        else if (invalidates)
            c->capture->invalid = true;
        pthread_mutex_unlock(&capture_lock);
        return r;
    }
    pthread_mutex_unlock(&capture_lock);
    if (r == CUDA_SUCCESS)
        params_clear(p);
    return entered;
}

static CUresult capture_params(struct device_stream *s, CUcontext ctx, CUresult r,
                               struct node_params *p, bool *captured)
{
    return put(s, ctx, r, p, NULL, captured);
}

/* Whether the stream is captured, or the legacy stream may not be used: cheap, before making
 * parameters. */
static CUresult look(struct device_stream *s, CUcontext ctx, bool *captured)
{
    struct captured *c;
    pthread_mutex_lock(&capture_lock);
    CUresult r = capture_enter(s, ctx, &c);
    pthread_mutex_unlock(&capture_lock);
    *captured = c != NULL;
    return r;
}

CUresult capture_kernel(struct device_stream *s, CUcontext c, struct launch_request *q,
                        bool *captured)
{
    struct node_params p = {.type = CU_GRAPH_NODE_TYPE_KERNEL};
    CUresult r = look(s, c, captured);
    return r != CUDA_SUCCESS || !*captured
               ? r
               : capture_params(s, c, params_kernel(q, &p), &p, captured);
}

CUresult capture_copy(struct device_stream *s, CUcontext c, const CUDA_MEMCPY3D *m, bool sync,
                      bool *captured)
{
    struct node_params p = {.type = CU_GRAPH_NODE_TYPE_EMPTY};
    CUresult r = look(s, c, captured);
    if (r != CUDA_SUCCESS || !*captured)
        return r;
    if (sync)
        return capture_forbid(s, c);
    if (m->WidthInBytes == 0 || m->Height == 0 || m->Depth == 0)
        return CUDA_SUCCESS;
    return capture_params(s, c, params_copy(m, c, &p), &p, captured);
}

CUresult capture_set(struct device_stream *s, CUcontext c, const CUDA_MEMSET_NODE_PARAMS *set,
                     bool sync, bool *captured)
{
    struct node_params p = {.type = CU_GRAPH_NODE_TYPE_EMPTY};
    CUresult r = look(s, c, captured);
    if (r != CUDA_SUCCESS || !*captured)
        return r;
    if (sync)
        return capture_forbid(s, c);
    if (set->width == 0 || set->height == 0)
        return CUDA_SUCCESS;
    return capture_params(s, c, params_set(set, c, &p), &p, captured);
}

CUresult capture_host(struct device_stream *s, CUcontext c, CUhostFn fn, void *user, bool *captured)
{
    struct node_params p = {.type = CU_GRAPH_NODE_TYPE_EMPTY};
    CUresult r = look(s, c, captured);
    return r != CUDA_SUCCESS || !*captured
               ? r
               : capture_params(s, c, params_host(fn, user, &p), &p, captured);
}

CUresult capture_batch(struct device_stream *s, CUcontext c, unsigned count,
                       CUstreamBatchMemOpParams *ops, unsigned flags, bool *captured)
{
    struct node_params p = {.type = CU_GRAPH_NODE_TYPE_EMPTY};
    CUresult r = look(s, c, captured);
    return r != CUDA_SUCCESS || !*captured
               ? r
               : capture_params(s, c, params_batch(c, count, ops, flags, &p), &p, captured);
}

/* ---- memory in stream order ---- */

CUresult capture_alloc(struct device_stream *s, CUcontext c, const CUmemPoolProps *props,
                       size_t bytes, CUdeviceptr *out, bool *captured)
{
    struct node_params p = {.type = CU_GRAPH_NODE_TYPE_EMPTY};
    CUDA_MEM_ALLOC_NODE_PARAMS alloc = {.bytesize = bytes};
    CU_TRY(look(s, c, captured));
    if (!*captured)
        return capture_wait(s, c);
    if (props == NULL)
        return driver_error(CUDA_ERROR_NOT_SUPPORTED,
                            "allocations of host memory, and of pools that other processes can "
                            "import, are not supported in graphs");
    alloc.poolProps = *props;
    if (bytes == 0) { /* no bytes are no memory, here as elsewhere */
        *out = 0;
        return CUDA_SUCCESS;
    }
    return put(s, c, params_alloc(&alloc, &p), &p, out, captured);
}

CUresult capture_free(struct device_stream *s, CUcontext c, CUdeviceptr at, bool *captured)
{
    struct node_params p = {.type = CU_GRAPH_NODE_TYPE_EMPTY};
    CU_TRY(look(s, c, captured));
    if (!*captured)
        return capture_wait(s, c);
    return at == 0 ? CUDA_SUCCESS : capture_params(s, c, params_free(at, &p), &p, captured);
}
