/* Captures: begun, filled, forked to a second stream and joined again, invalidated by what they
 * forbid, ended. A capture is one step, in which no other thread makes a call: what it forbids it
 * forbids to all. */
#include <string.h>

#include "sequences.h"

struct capture {
    int stream, other; /* other: joined to it; -1 */
    struct graph *g;
};

static enum cudaStreamCaptureStatus status_of(struct thread *t, int s)
{
    enum cudaStreamCaptureStatus status = (enum cudaStreamCaptureStatus)9;

    OK_RT(cudaStreamIsCapturing(t->stream[s].h, &status));
    return status;
}

/* One thing more, in that stream. */
static void captured_action(struct thread *t, struct capture *c, int s)
{
    struct node *n = &c->g->node[c->g->nodes];
    cudaStream_t h = t->stream[s].h;

    if (c->g->nodes == NODES)
        return;
    memset(n, 0, sizeof *n);
    n->enabled = true;
    if (!any_action(t, &n->what, false) || n->what.rows > 1)
        return;
    char *to = t->buffer[n->what.dst].p + n->what.to;
    NOTE(n->what.dst, n->what.src, n->what.n, s);
    if (n->what.kind == SET) {
        OK_RT(cudaMemsetAsync(to, (int)n->what.value, n->what.n, h));
    } else if (n->what.kind == COPY) {
        OK_RT(cudaMemcpyAsync(to, t->buffer[n->what.src].p + n->what.from, n->what.n,
                              cudaMemcpyDefault, h));
    } else {
        unsigned size = (unsigned)n->what.n;
        void *args[] = {&to, &size, &n->what.value};
        OK_RT(cudaLaunchKernel(kernel_handle(KERNEL_MIX), (dim3){1, 1, 1}, (dim3){64, 1, 1}, args,
                               0, h));
    }
    c->g->nodes++;
}

/* What comes next in the second stream comes after the first, and the other way round. */
static void link_captured(struct thread *t, int from, int to)
{
    OK_RT(cudaEventRecord(t->event[LINK].h, t->stream[from].h));
    OK_RT(cudaStreamWaitEvent(t->stream[to].h, t->event[LINK].h, 0));
}

static void CUDART_CB never_called(void *data) { (void)data; }

/* A call that a capture forbids, which ends it. */
static void forbidden(struct thread *t, struct capture *c)
{
    cudaStream_t h = t->stream[c->stream].h;
    cudaGraph_t g = (cudaGraph_t)1;

    switch (below(t, 5)) {
    case 0: RT(cudaErrorStreamCaptureUnsupported, cudaStreamSynchronize(h)); break;
    case 1: RT(cudaErrorStreamCaptureUnsupported, cudaStreamQuery(h)); break;
    case 2: RT(cudaErrorStreamCaptureUnsupported, cudaDeviceSynchronize()); break;
    case 3:
        OK_RT(cudaEventRecord(t->event[LINK].h, h));
        RT(cudaErrorCapturedEvent, cudaEventQuery(t->event[LINK].h));
        break;
    default:
        if (!t->stream[c->stream].blocking) {
            RT(cudaErrorStreamCaptureUnsupported, cudaStreamSynchronize(h));
            break;
        }
        RT(cudaErrorStreamCaptureImplicit, cudaEventRecord(t->event[LINK].h, cudaStreamLegacy));
        break;
    }
    MUST_EQ(status_of(t, c->stream), cudaStreamCaptureStatusInvalidated);
    RT(cudaErrorStreamCaptureInvalidated, cudaLaunchHostFunc(h, never_called, NULL));
    RT(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(h, &g));
    MUST(g == NULL);
}

static void end_well(struct thread *t, struct capture *c)
{
    size_t count = 0;

    if (c->other >= 0)
        link_captured(t, c->other, c->stream);
    MUST_EQ(status_of(t, c->stream), cudaStreamCaptureStatusActive);
    if (one_in(t, 3))
        OK_CU(cuStreamEndCapture((CUstream)t->stream[c->stream].h, (CUgraph *)&c->g->h));
    else
        OK_RT(cudaStreamEndCapture(t->stream[c->stream].h, &c->g->h));
    MUST(c->g->h != NULL);
    OK_RT(cudaGraphGetNodes(c->g->h, NULL, &count));
    MUST_EQ(count, c->g->nodes);
    c->g->live = true;
}

static void captures(struct thread *t)
{
    struct capture c = {.stream = own_stream(t), .other = -1};
    enum cudaStreamCaptureMode mode = (enum cudaStreamCaptureMode)below(t, 3);
    int i = 0;

    while (i < GRAPHS && t->graph[i].live)
        i++;
    if (i == GRAPHS || c.stream < 0)
        return;
    c.g = &t->graph[i];
    memset(c.g, 0, sizeof *c.g);
    c.g->captured = true;
    pthread_rwlock_unlock(&handles);
    pthread_rwlock_wrlock(&handles);
    cudaStream_t h = t->stream[c.stream].h;
    NOTE(c.stream, mode, i, 0);
    OK_RT(cudaStreamBeginCapture(h, mode));
    RT(cudaErrorIllegalState, cudaStreamBeginCapture(h, mode));
    int second = own_stream(t);
    unsigned left = below(t, NODES);
    bool unjoined = false;
    for (; left > 0; left--) {
        if (c.other < 0 && second >= 0 && second != c.stream && one_in(t, 4)) {
            c.other = second;
            link_captured(t, c.stream, c.other);
            MUST_EQ(status_of(t, c.other), cudaStreamCaptureStatusActive);
            captured_action(t, &c, c.other);
            link_captured(t, c.other, c.stream);
        } else if (c.other >= 0 && one_in(t, 2)) {
            link_captured(t, c.stream, c.other);
            int before = c.g->nodes;
            captured_action(t, &c, c.other);
            unjoined = left == 1 && one_in(t, 2) && c.g->nodes > before;
            if (!unjoined)
                link_captured(t, c.other, c.stream);
        } else {
            captured_action(t, &c, c.stream);
        }
    }
    if (unjoined) {
        cudaGraph_t none = NULL;
        RT(cudaErrorStreamCaptureUnjoined, cudaStreamEndCapture(h, &none));
    } else if (one_in(t, 4)) {
        forbidden(t, &c);
    } else {
        end_well(t, &c);
    }
    MUST_EQ(status_of(t, c.stream), cudaStreamCaptureStatusNone);
    if (c.other >= 0)
        MUST_EQ(status_of(t, c.other), cudaStreamCaptureStatusNone);
    pthread_rwlock_unlock(&handles);
    pthread_rwlock_rdlock(&handles);
}

static void wrong_captures(struct thread *t)
{
    int s = own_stream(t);
    cudaGraph_t g;

    if (s < 0)
        return;
    cudaStream_t h = t->stream[s].h;
    switch (below(t, 5)) {
    case 0: RT(cudaErrorIllegalState, cudaStreamEndCapture(h, &g)); break;
    case 1:
        RT(cudaErrorInvalidValue, cudaStreamBeginCapture(h, (enum cudaStreamCaptureMode)9));
        break;
    case 2:
        RT(cudaErrorStreamCaptureUnsupported,
           cudaStreamBeginCapture(NULL, cudaStreamCaptureModeRelaxed));
        break;
    case 3: RT(cudaErrorInvalidValue, cudaStreamIsCapturing(h, NULL)); break;
    default: {
        enum cudaStreamCaptureMode mode = (enum cudaStreamCaptureMode)below(t, 3), wanted = mode;
        OK_RT(cudaThreadExchangeStreamCaptureMode(&mode));
        OK_RT(cudaThreadExchangeStreamCaptureMode(&mode));
        MUST_EQ(mode, wanted);
    }
    }
}

const struct op ops_capture[] = {
    {"capture", "capture", captures, 6, true},
    {"capture", "wrong captures", wrong_captures, 6, false},
    {NULL, NULL, NULL, 0, false},
};
