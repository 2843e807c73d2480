/* Streams, events, waits, queries, host functions and gates. */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "sequences.h"

/* ---- streams ---- */

static void make_stream(struct thread *t)
{
    int s = PER_THREAD + 1, least, greatest;

    while (s < STREAMS && t->stream[s].state != STREAM_NONE)
        s++;
    if (s == STREAMS)
        return;
    struct stream *n = &t->stream[s];
    n->flags = below(t, 2);
    n->priority = 0;
    OK_RT(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    MUST(greatest <= least && least == 0);
    int wanted = (int)below(t, 9) - 6;
    NOTE(s, n->flags, wanted, 0);
    switch (below(t, 4)) {
    case 0:
        n->flags = 0;
        OK_RT(cudaStreamCreate(&n->h));
        break;
    case 1: OK_RT(cudaStreamCreateWithFlags(&n->h, n->flags)); break;
    case 2: OK_CU(cuStreamCreate((CUstream *)&n->h, n->flags)); break;
    default:
        OK_RT(cudaStreamCreateWithPriority(&n->h, n->flags, wanted));
        n->priority = wanted > least ? least : wanted < greatest ? greatest : wanted;
    }
    MUST(n->h != NULL);
    n->state = STREAM_LIVE;
    n->blocking = n->flags == cudaStreamDefault;
    n->id = 0;
    n->held = n->capturing = n->invalid = false;
    memset(&n->seen, 0, sizeof n->seen);
    n->seen.t[s] = n->tick;
}

static void destroy_stream(struct thread *t)
{
    int s = own_stream(t);

    if (s < 0 || one_in(t, 2))
        return;
    NOTE(s, 0, 0, 0);
    if (one_in(t, 3))
        OK_CU(cuStreamDestroy((CUstream)t->stream[s].h));
    else
        OK_RT(cudaStreamDestroy(t->stream[s].h));
    /* Its work still runs; the slot is free when that is known to be done. */
    t->stream[s].state = idle(t, s) ? STREAM_NONE : STREAM_DESTROYED;
}

static void ask_stream(struct thread *t)
{
    int s = any_stream(t), number = -99;
    struct stream *k = &t->stream[s];
    unsigned flags = 99;
    unsigned long long id = 0;
    CUcontext context = NULL;
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusInvalidated;

    NOTE(s, k->flags, k->priority, 0);
    switch (below(t, 7)) {
    case 0:
        OK_RT(cudaStreamGetFlags(k->h, &flags));
        MUST_EQ(flags, k->flags);
        break;
    case 1:
        OK_RT(cudaStreamGetPriority(k->h, &number));
        MUST_EQ(number, k->priority);
        break;
    case 2:
        OK_RT(cudaStreamGetId(k->h, &id));
        MUST(id != 0 && (k->id == 0 || k->id == id));
        for (int r = 0; r < STREAMS; r++)
            MUST(r == s || t->stream[r].state != STREAM_LIVE || t->stream[r].id != id);
        k->id = id;
        break;
    case 3:
        OK_RT(cudaStreamGetDevice(k->h, &number));
        MUST_EQ(number, t->device);
        break;
    case 4:
        OK_CU(cuStreamGetCtx((CUstream)k->h, &context));
        MUST(context == t->primary);
        break;
    case 5: /* asked of the legacy stream, other captures are in the way */
        if (s == LEGACY)
            break;
        OK_RT(cudaStreamIsCapturing(k->h, &status));
        MUST_EQ(status, cudaStreamCaptureStatusNone);
        break;
    default: {
        cudaLaunchAttributeValue value;
        memset(&value, 0, sizeof value);
        value.syncPolicy = (enum cudaSynchronizationPolicy)(1 + below(t, 4));
        if (s <= PER_THREAD)
            break;
        enum cudaSynchronizationPolicy wanted = value.syncPolicy;
        OK_RT(cudaStreamSetAttribute(k->h, cudaLaunchAttributeSynchronizationPolicy, &value));
        memset(&value, 0, sizeof value);
        OK_RT(cudaStreamGetAttribute(k->h, cudaLaunchAttributeSynchronizationPolicy, &value));
        MUST_EQ(value.syncPolicy, wanted);
    }
    }
}

static int readiness(struct thread *t, int s)
{
    if (s == LEGACY)
        return READY_OR_NOT;
    if (t->stream[s].held)
        return cudaErrorNotReady;
    return idle(t, s) ? cudaSuccess : READY_OR_NOT;
}

static void query_stream(struct thread *t)
{
    int s = any_stream(t), wanted = readiness(t, s), code;

    NOTE(s, wanted, 0, 0);
    if (one_in(t, 3))
        code = CU(wanted, cuStreamQuery((CUstream)t->stream[s].h));
    else
        code = RT(wanted, cudaStreamQuery(t->stream[s].h));
    if (code == 0)
        stream_done(t, s);
}

static void sync_stream(struct thread *t)
{
    int s = any_stream(t);

    NOTE(s, 0, 0, 0);
    if (one_in(t, 3))
        OK_CU(cuStreamSynchronize((CUstream)t->stream[s].h));
    else
        OK_RT(cudaStreamSynchronize(t->stream[s].h));
    stream_done(t, s);
}

static void sync_device(struct thread *t) { wait_for_all(t); }

/* ---- events ---- */

static void make_event(struct thread *t)
{
    int e = LINK + 1;

    while (e < EVENTS && t->event[e].live)
        e++;
    if (e == EVENTS)
        return;
    struct event *n = &t->event[e];
    n->flags = below(t, 4); /* blocking sync, without timing */
    if (one_in(t, 8))
        n->flags = cudaEventDisableTiming | cudaEventInterprocess;
    NOTE(e, n->flags, 0, 0);
    switch (below(t, 3)) {
    case 0:
        n->flags = 0;
        OK_RT(cudaEventCreate(&n->h));
        break;
    case 1: OK_CU(cuEventCreate((CUevent *)&n->h, n->flags)); break;
    default: OK_RT(cudaEventCreateWithFlags(&n->h, n->flags)); break;
    }
    MUST(n->h != NULL);
    n->live = true;
    n->recorded = n->held = false;
    memset(&n->at, 0, sizeof n->at);
}

static void destroy_event(struct thread *t)
{
    int e = any_event(t);

    if (e < 0 || one_in(t, 2))
        return;
    NOTE(e, 0, 0, 0);
    if (one_in(t, 3))
        OK_CU(cuEventDestroy((CUevent)t->event[e].h));
    else
        OK_RT(cudaEventDestroy(t->event[e].h));
    t->event[e].live = false;
}

static void record_event(struct thread *t)
{
    int e = any_event(t), s = any_stream(t);

    if (e < 0)
        return;
    NOTE(e, s, 0, 0);
    switch (below(t, 4)) {
    case 0: OK_CU(cuEventRecord((CUevent)t->event[e].h, (CUstream)t->stream[s].h)); break;
    case 1:
        OK_RT(cudaEventRecordWithFlags(t->event[e].h, t->stream[s].h, cudaEventRecordDefault));
        break;
    default: OK_RT(cudaEventRecord(t->event[e].h, t->stream[s].h)); break;
    }
    enqueued(t, s);
    t->event[e].recorded = true;
    t->event[e].at = t->stream[s].seen;
    t->event[e].held = t->stream[s].held;
}

static void wait_event(struct thread *t)
{
    int e = any_event(t), s = any_stream(t);

    if (e < 0)
        return;
    NOTE(e, s, 0, 0);
    if (one_in(t, 3))
        OK_CU(cuStreamWaitEvent((CUstream)t->stream[s].h, (CUevent)t->event[e].h, 0));
    else
        OK_RT(cudaStreamWaitEvent(t->stream[s].h, t->event[e].h, cudaEventWaitDefault));
    if (!t->event[e].recorded)
        return;
    /* A wait for what is done already may be nothing that holds the stream. */
    bool held = t->stream[s].held || t->event[e].held;
    joins(t, s, &t->event[e].at);
    waited(t, s);
    t->stream[s].held = held;
}

static bool event_done(const struct thread *t, const struct event *e)
{
    for (int s = 0; s < STREAMS; s++)
        if (e->at.t[s] > t->done.t[s])
            return false;
    return true;
}

static void query_event(struct thread *t)
{
    int e = any_event(t), code;

    if (e < 0)
        return;
    struct event *k = &t->event[e];
    int wanted = k->held                            ? (int)cudaErrorNotReady
                 : !k->recorded || event_done(t, k) ? (int)cudaSuccess
                                                    : (int)READY_OR_NOT;
    NOTE(e, wanted, 0, 0);
    if (one_in(t, 3))
        code = CU(wanted, cuEventQuery((CUevent)k->h));
    else
        code = RT(wanted, cudaEventQuery(k->h));
    if (code == 0 && k->recorded)
        host_joins(t, &k->at);
}

static void sync_event(struct thread *t)
{
    int e = any_event(t);

    if (e < 0)
        return;
    NOTE(e, 0, 0, 0);
    if (one_in(t, 3))
        OK_CU(cuEventSynchronize((CUevent)t->event[e].h));
    else
        OK_RT(cudaEventSynchronize(t->event[e].h));
    if (t->event[e].recorded)
        host_joins(t, &t->event[e].at);
}

static void elapsed(struct thread *t)
{
    int e = any_event(t), f = any_event(t), code;
    float ms = -1;

    if (e < 0)
        return;
    struct event *a = &t->event[e], *b = &t->event[f];
    bool timed = !((a->flags | b->flags) & cudaEventDisableTiming);
    int wanted = READY_OR_NOT;
    if (!timed || !a->recorded || !b->recorded)
        wanted = cudaErrorInvalidResourceHandle;
    else if (a->held || b->held)
        wanted = cudaErrorNotReady;
    else if (event_done(t, a) && event_done(t, b))
        wanted = cudaSuccess;
    NOTE(e, f, wanted, 0);
    if (one_in(t, 3))
        code = CU(wanted, cuEventElapsedTime(&ms, (CUevent)a->h, (CUevent)b->h));
    else
        code = RT(wanted, cudaEventElapsedTime(&ms, a->h, b->h));
    if (code == 0 && e == f)
        MUST(ms == 0);
}

/* ---- host functions ---- */

/* What one is called with. */
struct served {
    struct thread *t;
    int stream;
    long number; /* of the stream's host functions, from 1 */
    int generation;
};

static void served(struct served *r, int status)
{
    struct thread *t = r->t;
    long before = __atomic_fetch_add(&t->stream[r->stream].called, 1, __ATOMIC_SEQ_CST);

    if (before != r->number - 1 || status != 0)
        fail(t, "host function %ld of stream %d is called after %ld others, status %d", r->number,
             r->stream, before, status);
    free(r);
}

static void CUDART_CB host_function(void *data) { served((struct served *)data, 0); }

static void CUDART_CB callback(cudaStream_t h, cudaError_t status, void *data)
{
    (void)h;
    served((struct served *)data, (int)status);
}

static void call_host(struct thread *t)
{
    int s = any_stream(t);
    struct served *r = malloc(sizeof *r);

    r->t = t;
    r->stream = s;
    r->number = ++t->stream[s].served;
    NOTE(s, r->number, 0, 0);
    switch (below(t, 3)) {
    case 0: OK_RT(cudaStreamAddCallback(t->stream[s].h, callback, r, 0)); break;
    case 1: OK_CU(cuLaunchHostFunc((CUstream)t->stream[s].h, host_function, r)); break;
    default: OK_RT(cudaLaunchHostFunc(t->stream[s].h, host_function, r)); break;
    }
    enqueued(t, s);
}

/* Those of streams that are known to be done have been called. */
static void check_host_functions(struct thread *t)
{
    for (int s = 0; s < STREAMS; s++)
        if (idle(t, s))
            MUST_EQ(__atomic_load_n(&t->stream[s].called, __ATOMIC_SEQ_CST), t->stream[s].served);
}

/* ---- gates ---- */

struct gate {
    struct thread *t;
    unsigned wanted;
};

/* Flags only grow: a gate may come to its turn when the next one has long been opened. */
static void CUDART_CB wait_for_flag(void *data)
{
    struct gate *g = data;

    while (__atomic_load_n(g->t->flag, __ATOMIC_SEQ_CST) < g->wanted)
        sched_yield();
    free(g);
}

/* From here until it opens, what comes after it is not ready, and the thread makes only calls that
 * do not wait. */
static void close_gate(struct thread *t)
{
    int s = own_stream(t);

    if (s < 0 || t->gate == CLOSED)
        return;
    unsigned wanted = ++t->flag_wanted;
    const volatile unsigned *flag = t->flag;
    void *args[] = {&flag, &wanted};
    t->gate_kind = (int)below(t, 3);
    NOTE(s, t->gate_kind, wanted, 0);
    switch (t->gate_kind) {
    case 0:
        OK_RT(cudaLaunchKernel(kernel_handle(KERNEL_GATE), (dim3){1, 1, 1}, (dim3){1, 1, 1}, args,
                               0, t->stream[s].h));
        break;
    case 1: {
        struct gate *g = malloc(sizeof *g);
        *g = (struct gate){t, wanted};
        OK_RT(cudaLaunchHostFunc(t->stream[s].h, wait_for_flag, g));
        break;
    }
    default:
        OK_CU(cuStreamWaitValue32((CUstream)t->stream[s].h, (CUdeviceptr)t->flag, wanted,
                                  CU_STREAM_WAIT_VALUE_GEQ));
        break;
    }
    t->gate = CLOSED;
    __atomic_fetch_add(&closed_gates, 1, __ATOMIC_SEQ_CST);
    t->gate_stream = s;
    t->gate_tick = t->stream[s].tick + 1;
    t->gate_left = 5 + (int)below(t, 25);
    enqueued(t, s);
}

const struct op ops_streams[] = {
    {"streams", "make stream", make_stream, 6, true},
    {"streams", "destroy stream", destroy_stream, 5, false},
    {"streams", "ask stream", ask_stream, 15, false},
    {"streams", "query stream", query_stream, 15, false},
    {"streams", "synchronize stream", sync_stream, 8, true},
    {"streams", "synchronize device", sync_device, 2, true},
    {"events", "make event", make_event, 6, false},
    {"events", "destroy event", destroy_event, 5, false},
    {"events", "record event", record_event, 20, false},
    {"events", "wait for event", wait_event, 15, false},
    {"events", "query event", query_event, 15, false},
    {"events", "synchronize event", sync_event, 6, true},
    {"events", "elapsed time", elapsed, 8, false},
    {"host", "host function", call_host, 8, false},
    {"host", "count host functions", check_host_functions, 3, false},
    {"streams", "close gate", close_gate, 2, true},
    {NULL, NULL, NULL, 0, false},
};
