/* capture: streams whose work becomes nodes of a graph instead of running. The nodes themselves are
 * made in capture_nodes.c.
 *
 * A capture begins in one stream, its origin. Other streams join by waiting for an event that was
 * recorded in the capture, and must be joined to the origin before it ends. Each captured stream
 * remembers what its next node depends on. What a capture cannot hold makes it invalid: every later
 * call about it fails until it is ended in the origin.
 *
 * One lock guards all of this; the graph's own is taken within it (graph/graph.h). A program may
 * change the graph meanwhile, and destroy nodes that a stream's next one depends on: such a capture
 * is invalid. While no capture runs nothing of it is touched: callers ask
 * capture_running() first. */
#include <stdlib.h>
#include <string.h>

#include "driver/stream/capture.h"

/* An event that was last recorded in a capture. */
struct event_capture {
    uint64_t id;
    uint64_t recording; /* the event's other one by then: with a newer one this is over */
    struct points points;
};

pthread_mutex_t capture_lock = PTHREAD_MUTEX_INITIALIZER;
static struct capture *captures;
static struct captured *capture_streams;
static uint64_t capture_ids;
static _Thread_local CUstreamCaptureMode own_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

/* ---- finding; the lock is held ---- */

static struct captured *capture_find(const struct device_stream *s)
{
    for (struct captured *c = capture_streams; c != NULL; c = c->next)
        if (c->stream == s)
            return c;
    return NULL;
}

static struct capture *find_capture(uint64_t id)
{
    for (struct capture *c = captures; c != NULL; c = c->next)
        if (c->id == id)
            return c;
    return NULL;
}

/* Nothing good can come of the capture any more. */
static CUresult invalidate(struct capture *c, CUresult code, const char *why)
{
    c->invalid = true;
    return driver_error(code, "%s", why);
}

/* The capture that work in the legacy stream would have to wait for, if there is one. */
static struct capture *capture_implied(const struct device_stream *s, CUcontext ctx)
{
    if (s != device_stream_legacy(ctx->device))
        return NULL;
    for (struct captured *c = capture_streams; c != NULL; c = c->next)
        if (c->ctx == ctx && (device_stream_flags(c->stream) & DEVICE_STREAM_NONBLOCKING) == 0)
            return c->capture;
    return NULL;
}

CUresult capture_enter(struct device_stream *s, CUcontext ctx, struct captured **out)
{
    struct captured *c = capture_find(s);
    *out = NULL;
    if (c == NULL) {
        struct capture *implied = capture_implied(s, ctx);
        return implied == NULL
                   ? CUDA_SUCCESS
                   : invalidate(implied, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
                                "work in the legacy default stream would have to wait for a "
                                "blocking stream that is captured");
    }
    if (c->capture->invalid)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    *out = c;
    return CUDA_SUCCESS;
}

/* ---- points ---- */

static void add_point(struct points *p, const struct graph_edge *edge)
{
    for (size_t n = 0; n < p->count; n++)
        if (p->items[n].node == edge->node)
            return;
    vec_push(p, *edge);
}

static void set_points(struct points *p, const struct points *from)
{
    p->count = 0;
    for (size_t n = 0; n < from->count; n++)
        add_point(p, &from->items[n]);
}

/* ---- what captures forbid ---- */

CUresult capture_forbid(struct device_stream *s, CUcontext ctx)
{
    struct captured *c;
    pthread_mutex_lock(&capture_lock);
    CUresult r = capture_enter(s, ctx, &c);
    if (r == CUDA_SUCCESS && c != NULL)
        r = invalidate(c->capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                       "this call cannot be made on a stream that is captured");
    pthread_mutex_unlock(&capture_lock);
    return r;
}

CUresult capture_forbid_all(CUcontext ctx)
{
    CUresult r = CUDA_SUCCESS;
    pthread_mutex_lock(&capture_lock);
    for (struct captured *c = capture_streams; c != NULL; c = c->next)
        if (c->ctx == ctx)
            r = invalidate(c->capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                           "this call would wait for a stream that is captured");
    pthread_mutex_unlock(&capture_lock);
    return r;
}

CUresult capture_unsafe(void)
{
    CUresult r = CUDA_SUCCESS;
    if (!capture_running() || own_mode == CU_STREAM_CAPTURE_MODE_RELAXED)
        return r;
    pthread_mutex_lock(&capture_lock);
    for (struct capture *c = captures; c != NULL; c = c->next) {
        bool own = pthread_equal(c->thread, pthread_self());
        bool hinders = own ? c->mode != CU_STREAM_CAPTURE_MODE_RELAXED
                           : own_mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
                                 c->mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
        if (hinders)
            r = invalidate(c, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                           "this call is not safe while a stream is captured (see "
                           "cudaThreadExchangeStreamCaptureMode)");
    }
    pthread_mutex_unlock(&capture_lock);
    return r;
}

CUresult capture_wait(struct device_stream *s, CUcontext c)
{
    pthread_mutex_lock(&capture_lock);
    struct capture *implied = capture_find(s) == NULL ? capture_implied(s, c) : NULL;
    pthread_mutex_unlock(&capture_lock);
    CUresult r = implied == NULL ? capture_unsafe() : CUDA_SUCCESS;
    return r != CUDA_SUCCESS ? r : capture_forbid(s, c);
}

WEIR_API CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    HOLD;
    CU_TRY(driver_ready());
    if (mode == NULL || (unsigned)*mode > CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_ERROR_INVALID_VALUE;
    CUstreamCaptureMode before = own_mode;
    own_mode = *mode;
    *mode = before;
    return CUDA_SUCCESS;
}

/* ---- events ---- */

static void forget_event(CUevent e)
{
    if (e->captured == NULL)
        return;
    free(e->captured->points.items);
    free(e->captured);
    e->captured = NULL;
}

/* A graph may have recorded the event since. The lock is held. */
static void settle_event(CUevent e)
{
    if (e->captured != NULL && device_event_recording(e->device) != e->captured->recording)
        forget_event(e);
}

void capture_forget_event(CUevent e)
{
    pthread_mutex_lock(&capture_lock);
    forget_event(e);
    pthread_mutex_unlock(&capture_lock);
}

CUresult capture_elapsed(CUevent e)
{
    CUresult r = CUDA_SUCCESS;
    pthread_mutex_lock(&capture_lock);
    settle_event(e);
    if (e->captured != NULL)
        r = find_capture(e->captured->id) != NULL ? CUDA_ERROR_CAPTURED_EVENT
                                                  : CUDA_ERROR_NOT_READY;
    pthread_mutex_unlock(&capture_lock);
    return r;
}

CUresult capture_forbid_event(CUevent e)
{
    CUresult r = CUDA_SUCCESS;
    pthread_mutex_lock(&capture_lock);
    settle_event(e);
    if (e->captured != NULL) {
        struct capture *c = find_capture(e->captured->id);
        r = c != NULL ? invalidate(c, CUDA_ERROR_CAPTURED_EVENT,
                                   "the event was last recorded in a capture")
                      : driver_error(CUDA_ERROR_INVALID_VALUE,
                                     "the event was last recorded in a capture that has ended");
    }
    pthread_mutex_unlock(&capture_lock);
    return r != CUDA_SUCCESS ? r : capture_unsafe();
}

/* A node that records the event, or waits for it, whenever the graph runs. */
static CUresult add_event(struct captured *c, CUgraphNodeType type, CUevent e)
{
    struct node_params p;
    CUresult r = params_event(type, e, &p);
    return r != CUDA_SUCCESS ? r : capture_add(c, &p, NULL);
}

CUresult capture_event_record(struct device_stream *s, CUcontext ctx, CUevent e, bool external,
                              bool *captured)
{
    struct captured *c;
    *captured = false;
    pthread_mutex_lock(&capture_lock);
    CUresult r = capture_enter(s, ctx, &c);
    if (r == CUDA_SUCCESS && c == NULL) {
        if (!external) /* which is refused: the event stays what it is */
            forget_event(e);
    } else if (r == CUDA_SUCCESS && external) {
        r = add_event(c, CU_GRAPH_NODE_TYPE_EVENT_RECORD, e);
    } else if (r == CUDA_SUCCESS) {
        if (e->captured == NULL)
            e->captured = xcalloc(1, sizeof *e->captured);
        e->captured->id = c->capture->id;
        e->captured->recording = device_event_recording(e->device);
        set_points(&e->captured->points, &c->points);
    }
    *captured = c != NULL;
    pthread_mutex_unlock(&capture_lock);
    return r;
}

static struct captured *join(struct device_stream *s, CUcontext ctx, struct capture *capture)
{
    struct captured *c = xcalloc(1, sizeof *c);
    c->stream = s;
    c->ctx = ctx;
    c->capture = capture;
    c->next = capture_streams;
    capture_streams = c;
    return c;
}

/* The stream waits for an event of a capture: it joins, or depends on more. */
static CUresult wait_captured(struct device_stream *s, CUcontext ctx, struct captured *c,
                              struct event_capture *e)
{
    struct capture *capture = find_capture(e->id);
    if (capture == NULL) {
        if (c != NULL)
            c->capture->invalid = true;
        return driver_error(CUDA_ERROR_INVALID_VALUE,
                            "the event was recorded in a capture that has ended");
    }
    if (capture->invalid)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (c == NULL && s == device_stream_legacy(ctx->device))
        return invalidate(capture, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
                          "the legacy default stream cannot be captured");
    if (c != NULL && c->capture != capture) {
        c->capture->invalid = true;
        return invalidate(capture, CUDA_ERROR_STREAM_CAPTURE_MERGE,
                          "the wait would make one of two captures");
    }
    if (c == NULL)
        c = join(s, ctx, capture);
    for (size_t n = 0; n < e->points.count; n++)
        add_point(&c->points, &e->points.items[n]);
    return CUDA_SUCCESS;
}

CUresult capture_event_wait(struct device_stream *s, CUcontext ctx, CUevent e, bool external,
                            bool *captured)
{
    struct captured *c;
    pthread_mutex_lock(&capture_lock);
    CUresult r = capture_enter(s, ctx, &c);
    settle_event(e);
    *captured = c != NULL || e->captured != NULL;
    if (r != CUDA_SUCCESS) {
        /* said already */
    } else if (c != NULL && external) {
        r = add_event(c, CU_GRAPH_NODE_TYPE_WAIT_EVENT, e);
    } else if (e->captured != NULL && external) {
        r = driver_error(CUDA_ERROR_ILLEGAL_STATE,
                         "a wait from outside of a capture for an event that was recorded in one");
    } else if (e->captured != NULL) {
        r = wait_captured(s, ctx, c, e->captured);
    } else if (c != NULL && device_event_recorded(e->device)) {
        r = invalidate(c->capture, CUDA_ERROR_STREAM_CAPTURE_ISOLATION,
                       "a captured stream cannot wait for work that is not captured");
    }
    pthread_mutex_unlock(&capture_lock);
    return r;
}

/* ---- beginning ---- */

/* The graph is one that a capture writes, from now on. */
static CUresult capture_take(CUgraph g)
{
    GRAPH_LOCKS;
    CU_TRY(graph_lock(g, &locked));
    if (g->capturing) /* another thread's */
        return CUDA_ERROR_INVALID_VALUE;
    g->capturing = true;
    return CUDA_SUCCESS;
}

/* No longer. */
static void capture_leave(CUgraph g)
{
    GRAPH_LOCKS;
    graph_lock(g, &locked);
    g->capturing = false;
}

static CUresult capture_begin(CUstream h, bool pt, CUgraph g, const struct points *points,
                              CUstreamCaptureMode mode)
{
    CUcontext ctx;
    struct device_stream *s;
    CU_TRY(driver_find_stream(h, pt, &s, &ctx));
    if ((unsigned)mode > CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_ERROR_INVALID_VALUE;
    if (s == device_stream_legacy(ctx->device))
        return driver_error(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                            "the legacy default stream cannot be captured");
    pthread_mutex_lock(&capture_lock);
    CUresult r = capture_find(s) == NULL
                     ? CUDA_SUCCESS
                     : driver_error(CUDA_ERROR_ILLEGAL_STATE, "the stream is captured already");
    if (r == CUDA_SUCCESS && g != NULL)
        r = capture_take(g);
    if (r != CUDA_SUCCESS) {
        pthread_mutex_unlock(&capture_lock);
        return r;
    }
    struct capture *c = xcalloc(1, sizeof *c);
    *c = (struct capture){.id = ++capture_ids,
                          .mode = mode,
                          .thread = pthread_self(),
                          .graph = g,
                          .foreign = g != NULL,
                          .origin = s,
                          .next = captures};
    if (g == NULL) {
        c->graph = graph_begin(TAG_GRAPH);
        c->graph->capturing = true;
        graph_publish(c->graph);
    }
    captures = c;
    struct captured *stream = join(s, ctx, c);
    if (points != NULL)
        set_points(&stream->points, points);
    atomic_fetch_add(&slow_path_word.bits, SLOW_PATH_CAPTURE);
    pthread_mutex_unlock(&capture_lock);
    return CUDA_SUCCESS;
}

static CUresult cuStreamBeginCapture_v2_impl(bool pt, CUstream h, CUstreamCaptureMode mode)
{
    HOLD;
    return capture_begin(h, pt, NULL, NULL, mode);
}
BOTH(cuStreamBeginCapture_v2, (CUstream h, CUstreamCaptureMode mode), h, mode)

/* Dependencies that a program names: nodes of the graph. */
static CUresult read_points(CUgraph g, const CUgraphNode *nodes, const CUgraphEdgeData *data,
                            size_t count, struct points *out)
{
    if (count > 0 && nodes == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t n = 0; n < count; n++) {
        struct graph_edge edge = {.node = nodes[n]};
        if (node_check(nodes[n]) != CUDA_SUCCESS || nodes[n]->graph != g)
            return CUDA_ERROR_INVALID_VALUE;
        if (data != NULL)
            edge.data = data[n];
        add_point(out, &edge);
    }
    return CUDA_SUCCESS;
}

static CUresult cuStreamBeginCaptureToGraph_impl(bool pt, CUstream h, CUgraph g,
                                                 const CUgraphNode *nodes,
                                                 const CUgraphEdgeData *data, size_t count,
                                                 CUstreamCaptureMode mode)
{
    HOLD;
    struct points points = {0};
    CUresult r = driver_ready();
    if (r == CUDA_SUCCESS)
        r = graph_check(g);
    if (r == CUDA_SUCCESS)
        r = read_points(g, nodes, data, count, &points);
    if (r == CUDA_SUCCESS)
        r = capture_begin(h, pt, g, &points, mode);
    free(points.items);
    return r;
}
BOTH(cuStreamBeginCaptureToGraph,
     (CUstream h, CUgraph g, const CUgraphNode *nodes, const CUgraphEdgeData *data, size_t count,
      CUstreamCaptureMode mode),
     h, g, nodes, data, count, mode)

/* ---- ending ---- */

static void free_captured(struct captured *c)
{
    free(c->points.items);
    free(c->told_nodes);
    free(c->told_edges);
    free(c);
}

/* Takes all streams of the capture out of it, and the capture away. */
static void capture_remove(struct capture *capture)
{
    for (struct captured **at = &capture_streams, *c; (c = *at) != NULL;) {
        if (c->capture != capture) {
            at = &c->next;
            continue;
        }
        *at = c->next;
        free_captured(c);
    }
    for (struct capture **at = &captures; *at != NULL; at = &(*at)->next)
        if (*at == capture) {
            *at = capture->next;
            break;
        }
    free(capture->left.items);
    free(capture);
    atomic_fetch_sub(&slow_path_word.bits, SLOW_PATH_CAPTURE);
}

/* Marks the node and all that it comes after. */
static void mark_before(CUgraphNode node)
{
    struct {
        CUgraphNode *items;
        size_t count, cap;
    } left = {0};
    vec_push(&left, node);
    while (left.count > 0) {
        CUgraphNode n = left.items[--left.count];
        if (n->mark != 0)
            continue;
        n->mark = 1;
        for (size_t e = 0; e < n->in.count; e++)
            vec_push(&left, n->in.items[e].node);
    }
    free(left.items);
}

static bool all_marked(const struct points *p)
{
    for (size_t n = 0; n < p->count; n++)
        if (p->items[n].node->mark == 0)
            return false;
    return true;
}

/* Whether the program has destroyed none of these nodes. */
static bool all_live(const struct points *p, CUgraph g)
{
    for (size_t n = 0; n < p->count; n++)
        if (node_check(p->items[n].node) != CUDA_SUCCESS || p->items[n].node->graph != g)
            return false;
    return true;
}

/* Whether the origin comes after all that the other streams have captured, those that were
 * destroyed meanwhile included. */
static CUresult joined(const struct capture *capture, const struct captured *origin)
{
    GRAPH_LOCKS;
    CUgraph g = capture->graph;
    CU_TRY(graph_lock(g, &locked));
    bool live = all_live(&capture->left, g);
    for (const struct captured *c = capture_streams; c != NULL; c = c->next)
        live = live && (c->capture != capture || all_live(&c->points, g));
    if (!live)
        return driver_error(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
                            "nodes of the capture were destroyed that its streams depend on");
    for (size_t n = 0; n < g->nodes.count; n++)
        g->nodes.items[n]->mark = 0;
    for (size_t n = 0; n < origin->points.count; n++)
        mark_before(origin->points.items[n].node);
    bool all = all_marked(&capture->left);
    for (const struct captured *c = capture_streams; c != NULL; c = c->next)
        all = all && (c->capture != capture || all_marked(&c->points));
    return all ? CUDA_SUCCESS
               : driver_error(CUDA_ERROR_STREAM_CAPTURE_UNJOINED,
                              "a stream was captured that the first one does not wait for");
}

/* The lock is held. *gone: a graph to be discarded without it. */
static CUresult capture_end(struct captured *c, CUgraph *out, CUgraph *gone)
{
    struct capture *capture = c->capture;
    if (capture->origin != c->stream)
        return invalidate(capture, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED,
                          "a capture is ended in the stream that it began in");
    CUresult r = CUDA_SUCCESS;
    if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED &&
        !pthread_equal(capture->thread, pthread_self()))
        r = driver_error(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD,
                         "a capture is ended by the thread that began it, unless its mode is "
                         "relaxed");
    else if (capture->invalid)
        r = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    else
        r = joined(capture, c);
    if (capture->foreign || (r == CUDA_SUCCESS && out != NULL))
        capture_leave(capture->graph);
    else
        *gone = capture->graph;
    if (out != NULL)
        *out = r == CUDA_SUCCESS ? capture->graph : NULL;
    if (out != NULL && r == CUDA_SUCCESS && !capture->foreign && observed())
        observe_object_made(OBSERVE_GRAPH_OBJECT, capture->graph);
    capture_remove(capture);
    return r;
}

static CUresult cuStreamEndCapture_impl(bool pt, CUstream h, CUgraph *out)
{
    HOLD;
    CUcontext ctx;
    struct device_stream *s;
    CU_TRY(driver_find_stream(h, pt, &s, &ctx));
    if (out != NULL)
        *out = NULL;
    CUgraph gone = NULL;
    pthread_mutex_lock(&capture_lock);
    struct captured *c = capture_find(s);
    CUresult r = c == NULL ? driver_error(CUDA_ERROR_ILLEGAL_STATE, "the stream is not captured")
                           : capture_end(c, out, &gone);
    pthread_mutex_unlock(&capture_lock);
    if (gone != NULL)
        graph_discard(gone);
    return r;
}
BOTH(cuStreamEndCapture, (CUstream h, CUgraph *out), h, out)

/* ---- asking ---- */

static CUresult cuStreamIsCapturing_impl(bool pt, CUstream h, CUstreamCaptureStatus *status)
{
    HOLD;
    CUcontext ctx;
    struct device_stream *s;
    CUresult r = driver_find_stream(h, pt, &s, &ctx);
    if (r != CUDA_SUCCESS)
        return r;
    if (status == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *status = CU_STREAM_CAPTURE_STATUS_NONE;
    if (!capture_running())
        return CUDA_SUCCESS;
    pthread_mutex_lock(&capture_lock);
    const struct captured *c = capture_find(s);
    if (c != NULL)
        *status = c->capture->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                      : CU_STREAM_CAPTURE_STATUS_ACTIVE;
    else if (capture_implied(s, ctx) != NULL)
        r = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    pthread_mutex_unlock(&capture_lock);
    return r;
}
BOTH(cuStreamIsCapturing, (CUstream h, CUstreamCaptureStatus *status), h, status)

/* Records what the stream's next node depends on where the program may look at it. */
static void tell(struct captured *c)
{
    free(c->told_nodes);
    free(c->told_edges);
    c->told_nodes = xcalloc(c->points.count + 1, sizeof(CUgraphNode));
    c->told_edges = xcalloc(c->points.count + 1, sizeof *c->told_edges);
    for (size_t n = 0; n < c->points.count; n++) {
        c->told_nodes[n] = c->points.items[n].node;
        c->told_edges[n] = c->points.items[n].data;
    }
}

static CUresult cuStreamGetCaptureInfo_v3_impl(bool pt, CUstream h, CUstreamCaptureStatus *status,
                                               cuuint64_t *id, CUgraph *graph,
                                               const CUgraphNode **nodes,
                                               const CUgraphEdgeData **edges, size_t *count)
{
    HOLD;
    CUcontext ctx;
    struct device_stream *s;
    CUresult r = driver_find_stream(h, pt, &s, &ctx);
    if (r == CUDA_SUCCESS)
        r = cuStreamIsCapturing_impl(pt, h, status);
    if (r != CUDA_SUCCESS || *status != CU_STREAM_CAPTURE_STATUS_ACTIVE)
        return r; /* of a stream that is not captured only the state is told */
    pthread_mutex_lock(&capture_lock);
    struct captured *c = capture_find(s);
    if (c != NULL) {
        tell(c);
        if (id != NULL)
            *id = c->capture->id;
        if (graph != NULL)
            *graph = c->capture->graph;
        if (nodes != NULL)
            *nodes = c->told_nodes;
        if (edges != NULL)
            *edges = c->told_edges;
        if (count != NULL)
            *count = c->points.count;
        for (size_t n = 0; nodes != NULL && edges == NULL && n < c->points.count; n++)
            if (c->points.items[n].data.type != 0 || c->points.items[n].data.from_port != 0)
                r = CUDA_ERROR_LOSSY_QUERY;
    }
    pthread_mutex_unlock(&capture_lock);
    return r;
}
BOTH(cuStreamGetCaptureInfo_v3,
     (CUstream h, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
      const CUgraphNode **nodes, const CUgraphEdgeData **edges, size_t *count),
     h, status, id, graph, nodes, edges, count)

static CUresult cuStreamUpdateCaptureDependencies_v2_impl(bool pt, CUstream h, CUgraphNode *nodes,
                                                          const CUgraphEdgeData *data, size_t count,
                                                          unsigned flags)
{
    HOLD;
    CUcontext ctx;
    struct device_stream *s;
    struct points points = {0};
    CUresult r = driver_find_stream(h, pt, &s, &ctx);
    if (r != CUDA_SUCCESS)
        return r;
    if (flags > CU_STREAM_SET_CAPTURE_DEPENDENCIES)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&capture_lock);
    struct captured *c = capture_find(s);
    if (c == NULL)
        r = driver_error(CUDA_ERROR_ILLEGAL_STATE, "the stream is not captured");
    else if (c->capture->invalid)
        r = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    else
        r = read_points(c->capture->graph, nodes, data, count, &points);
    if (r == CUDA_SUCCESS && flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES)
        c->points.count = 0;
    for (size_t n = 0; r == CUDA_SUCCESS && n < points.count; n++)
        add_point(&c->points, &points.items[n]);
    pthread_mutex_unlock(&capture_lock);
    free(points.items);
    return r;
}
BOTH(cuStreamUpdateCaptureDependencies_v2,
     (CUstream h, CUgraphNode *nodes, const CUgraphEdgeData *data, size_t count, unsigned flags), h,
     nodes, data, count, flags)

void capture_forget_stream(struct device_stream *s)
{
    CUgraph gone = NULL;
    pthread_mutex_lock(&capture_lock);
    for (struct captured **at = &capture_streams, *c; (c = *at) != NULL; at = &c->next) {
        if (c->stream != s)
            continue;
        struct capture *capture = c->capture;
        if (capture->origin == s) { /* nobody can end it any more */
            if (capture->foreign)
                capture_leave(capture->graph);
            else
                gone = capture->graph;
            capture_remove(capture);
        } else { /* what it captured must be joined all the same */
            for (size_t n = 0; n < c->points.count; n++)
                add_point(&capture->left, &c->points.items[n]);
            *at = c->next;
            free_captured(c);
        }
        break;
    }
    pthread_mutex_unlock(&capture_lock);
    if (gone != NULL)
        graph_discard(gone);
}
