/* capture: what else the runtime calls that order depends on: launches in the legacy stream, which
 * all blocking streams wait for; captures; events that graphs and launches record. */
#include "gpu/internal.h"

/* ---- launches ---- */

CUresult gpu_cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                            unsigned by, unsigned bz, unsigned shared, CUstream s, void **params,
                            void **extra)
{
    uint64_t at = 0;
    struct context *c = legacy_begins(s, &at);
    return legacy_ends(c, at,
                       driver.cuLaunchKernel(f, gx, gy, gz, bx, by, bz, shared, s, params, extra));
}

CUresult gpu_cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction f, void **params,
                              void **extra)
{
    uint64_t at = 0;
    for (unsigned i = 0; followed() && config->attrs != NULL && i < config->numAttrs; i++) {
        const CUlaunchAttribute *a = &config->attrs[i];
        if (a->id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT)
            event_is_recorded_by_others(a->value.programmaticEvent.event);
        if (a->id == CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT)
            event_is_recorded_by_others(a->value.launchCompletionEvent.event);
    }
    struct context *c = legacy_begins(config->hStream, &at);
    return legacy_ends(c, at, driver.cuLaunchKernelEx(config, f, params, extra));
}

/* ---- captures ---- */

/* What was freed in the stream can no longer be asked about while it is captured. */
static void capture_begins(CUstream h)
{
    IN_CALL;
    struct stream *s = followed() ? stream_find(in_call, h) : NULL;
    if (s != NULL && stream_has_pending_frees(s))
        stream_leave_mark(s);
    pthread_rwlock_wrlock(&capturing);
    atomic_fetch_add(&closer, 1);
}

static CUresult capture_began(CUresult r)
{
    if (r != CUDA_SUCCESS)
        atomic_fetch_sub(&closer, 1);
    pthread_rwlock_unlock(&capturing);
    return r;
}

CUresult gpu_cuStreamBeginCapture_v2(CUstream h, CUstreamCaptureMode mode)
{
    capture_begins(h);
    return capture_began(driver.cuStreamBeginCapture_v2(h, mode));
}

CUresult gpu_cuStreamBeginCaptureToGraph(CUstream h, CUgraph graph, const CUgraphNode *nodes,
                                         const CUgraphEdgeData *edges, size_t count,
                                         CUstreamCaptureMode mode)
{
    capture_begins(h);
    return capture_began(driver.cuStreamBeginCaptureToGraph(h, graph, nodes, edges, count, mode));
}

/* A capture is over whatever the answer, unless the call was not about one: then it never began. */
CUresult gpu_cuStreamEndCapture(CUstream h, CUgraph *graph)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE, after = status;
    driver.cuStreamIsCapturing(h, &status);
    CUresult r = driver.cuStreamEndCapture(h, graph);
    driver.cuStreamIsCapturing(h, &after);
    if (status != CU_STREAM_CAPTURE_STATUS_NONE && after == CU_STREAM_CAPTURE_STATUS_NONE &&
        atomic_load(&closer) > 0)
        atomic_fetch_sub(&closer, 1);
    return r;
}

/* ---- graphs that record events ---- */

CUresult gpu_cuGraphAddEventRecordNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *nodes,
                                       size_t count, CUevent h)
{
    event_is_recorded_by_others(h);
    return driver.cuGraphAddEventRecordNode(out, graph, nodes, count, h);
}

CUresult gpu_cuGraphEventRecordNodeSetEvent(CUgraphNode node, CUevent h)
{
    event_is_recorded_by_others(h);
    return driver.cuGraphEventRecordNodeSetEvent(node, h);
}

CUresult gpu_cuGraphExecEventRecordNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent h)
{
    event_is_recorded_by_others(h);
    return driver.cuGraphExecEventRecordNodeSetEvent(exec, node, h);
}

static void look_at_node(const CUgraphNodeParams *p)
{
    if (p != NULL && p->type == CU_GRAPH_NODE_TYPE_EVENT_RECORD)
        event_is_recorded_by_others(p->eventRecord.event);
}

CUresult gpu_cuGraphAddNode_v2(CUgraphNode *out, CUgraph graph, const CUgraphNode *nodes,
                               const CUgraphEdgeData *edges, size_t count, CUgraphNodeParams *p)
{
    look_at_node(p);
    return driver.cuGraphAddNode_v2(out, graph, nodes, edges, count, p);
}

CUresult gpu_cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams *p)
{
    look_at_node(p);
    return driver.cuGraphNodeSetParams(node, p);
}

CUresult gpu_cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams *p)
{
    look_at_node(p);
    return driver.cuGraphExecNodeSetParams(exec, node, p);
}
