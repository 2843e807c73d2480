/* S9: work captured from streams: from one, forked to others and joined again, into a graph that
 * exists; events for the world outside; what a capture forbids, and what becomes of it then. */
// RUN own-pools: WEIR_POOLS=own
#include <thread>

#include "check.h"

#define OK(call)         CHECK_STR(cudaGetErrorName(call), "cudaSuccess")
#define FAILS(call, why) CHECK_STR(cudaGetErrorName(call), #why)

__global__ void put(int *p, int value) { *p = value; }
__global__ void add(int *to, const int *a, const int *b) { *to = *a + *b; }

static int *d, *pinned;
static cudaStream_t s, t;
static cudaEvent_t e, f;

static void CUDART_CB count_up(void *p) { ++*(int *)p; }

static cudaStreamCaptureStatus status_of(cudaStream_t stream)
{
    cudaStreamCaptureStatus status;
    OK(cudaStreamIsCapturing(stream, &status));
    return status;
}

static size_t nodes_of(cudaGraph_t g)
{
    size_t count = 0;
    OK(cudaGraphGetNodes(g, nullptr, &count));
    return count;
}

static void launch(cudaGraph_t g)
{
    cudaGraphExec_t exec;
    OK(cudaGraphInstantiate(&exec, g, 0));
    OK(cudaGraphLaunch(exec, s));
    OK(cudaStreamSynchronize(s));
    OK(cudaGraphExecDestroy(exec));
}

static void one_stream()
{
    cudaGraph_t g;
    static int called;

    OK(cudaMemset(d, 0, 64));
    OK(cudaDeviceSynchronize());
    pinned[0] = pinned[1] = -1;
    CHECK_EQ_INT(status_of(s), cudaStreamCaptureStatusNone);
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    CHECK_EQ_INT(status_of(s), cudaStreamCaptureStatusActive);
    FAILS(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal), cudaErrorIllegalState);
    put<<<1, 1, 0, s>>>(d, 3);
    OK(cudaMemsetAsync(d + 1, 1, sizeof(int), s));
    OK(cudaMemcpyAsync(pinned, d, 2 * sizeof(int), cudaMemcpyDefault, s));
    OK(cudaLaunchHostFunc(s, count_up, &called));
    OK(cudaStreamEndCapture(s, &g));
    CHECK_EQ_INT(status_of(s), cudaStreamCaptureStatusNone);
    CHECK_EQ_INT(nodes_of(g), 4);
    CHECK_EQ_INT(pinned[0], -1); /* nothing has run */
    launch(g);
    CHECK_EQ_INT(pinned[0], 3);
    CHECK_EQ_INT(pinned[1], 0x01010101);
    CHECK_EQ_INT(called, 1);
    OK(cudaGraphDestroy(g));
}

/* s: a, then b in t beside c in s, then both. */
static void fork_and_join()
{
    cudaGraph_t g;
    cudaGraphNode_t list[8];
    size_t count = 8;

    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
    put<<<1, 1, 0, s>>>(d, 1);
    OK(cudaEventRecord(e, s));
    OK(cudaStreamWaitEvent(t, e, 0));
    CHECK_EQ_INT(status_of(t), cudaStreamCaptureStatusActive);
    put<<<1, 1, 0, t>>>(d + 1, 20);
    put<<<1, 1, 0, s>>>(d + 2, 300);
    OK(cudaEventRecord(f, t));
    OK(cudaStreamWaitEvent(s, f, 0));
    add<<<1, 1, 0, s>>>(d + 3, d + 1, d + 2);
    OK(cudaMemcpyAsync(pinned, d + 3, sizeof(int), cudaMemcpyDefault, s));
    OK(cudaStreamEndCapture(s, &g));
    CHECK_EQ_INT(status_of(t), cudaStreamCaptureStatusNone);
    CHECK_EQ_INT(nodes_of(g), 5);
    OK(cudaGraphGetRootNodes(g, list, &count));
    CHECK_EQ_INT(count, 1);
    OK(cudaGraphGetEdges(g, nullptr, nullptr, nullptr, &count));
    CHECK_EQ_INT(count, 5);
    launch(g);
    CHECK_EQ_INT(pinned[0], 320);
    OK(cudaGraphDestroy(g));
}

static void info_and_dependencies()
{
    cudaGraph_t g, told = nullptr;
    cudaStreamCaptureStatus status;
    const cudaGraphNode_t *deps = nullptr;
    size_t count = 99;
    unsigned long long id = 0;
    cudaGraphNode_t first, extra;

    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
    put<<<1, 1, 0, s>>>(d, 1);
    OK(cudaStreamGetCaptureInfo(s, &status, &id, &told, &deps, nullptr, &count));
    CHECK_EQ_INT(status, cudaStreamCaptureStatusActive);
    CHECK(id != 0 && told != nullptr);
    CHECK_EQ_INT(count, 1);
    first = deps[0];
    OK(cudaGraphAddEmptyNode(&extra, told, nullptr, 0)); /* by hand, in the midst of it */
    OK(cudaStreamUpdateCaptureDependencies(s, &extra, nullptr, 1,
                                           cudaStreamAddCaptureDependencies));
    put<<<1, 1, 0, s>>>(d, 2);
    OK(cudaStreamGetCaptureInfo(s, &status, &id, &told, &deps, nullptr, &count));
    CHECK_EQ_INT(count, 1);
    OK(cudaGraphNodeGetDependencies(deps[0], nullptr, nullptr, &count));
    CHECK_EQ_INT(count, 2);
    OK(cudaStreamUpdateCaptureDependencies(s, &first, nullptr, 1,
                                           cudaStreamSetCaptureDependencies));
    OK(cudaStreamGetCaptureInfo(s, &status, &id, &told, &deps, nullptr, &count));
    CHECK(count == 1 && deps[0] == first);
    OK(cudaStreamEndCapture(s, &g));
    CHECK(g == told);
    OK(cudaGraphDestroy(g));

    /* into a graph that exists */
    OK(cudaGraphCreate(&g, 0));
    OK(cudaGraphAddEmptyNode(&first, g, nullptr, 0));
    OK(cudaStreamBeginCaptureToGraph(s, g, &first, nullptr, 1, cudaStreamCaptureModeGlobal));
    put<<<1, 1, 0, s>>>(d, 7);
    OK(cudaMemcpyAsync(pinned, d, sizeof(int), cudaMemcpyDefault, s));
    OK(cudaStreamEndCapture(s, nullptr));
    CHECK_EQ_INT(nodes_of(g), 3);
    launch(g);
    CHECK_EQ_INT(pinned[0], 7);
    OK(cudaGraphDestroy(g));
}

/* Begins a capture with one kernel. */
/* Events that are recorded, or waited for, whenever the graph runs. */
static void external_events()
{
    cudaGraph_t g;
    cudaEvent_t recorded, awaited;
    cudaGraphNode_t list[4];
    size_t count = 4;
    cudaGraphNodeType types[2];
    cudaStreamCaptureStatus status;

    OK(cudaEventCreate(&recorded));
    OK(cudaEventCreate(&awaited));
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    OK(cudaEventRecordWithFlags(recorded, s, cudaEventRecordExternal));
    OK(cudaStreamWaitEvent(s, awaited, cudaEventWaitExternal));
    OK(cudaStreamIsCapturing(s, &status));
    CHECK_EQ_INT(status, cudaStreamCaptureStatusActive);
    OK(cudaStreamEndCapture(s, &g));
    OK(cudaGraphGetNodes(g, list, &count));
    CHECK_EQ_INT(count, 2);
    for (size_t n = 0; n < 2; n++)
        OK(cudaGraphNodeGetType(list[n], &types[n]));
    CHECK_EQ_INT(types[0] + types[1], cudaGraphNodeTypeEventRecord + cudaGraphNodeTypeWaitEvent);
    launch(g);
    OK(cudaEventQuery(recorded));
    OK(cudaGraphDestroy(g));
    /* an event that was recorded in a capture before has a recording again once the graph runs */
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    OK(cudaEventRecord(recorded, s));
    OK(cudaStreamEndCapture(s, &g));
    OK(cudaGraphDestroy(g));
    FAILS(cudaEventQuery(recorded), cudaErrorInvalidValue);
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    OK(cudaEventRecordWithFlags(recorded, s, cudaEventRecordExternal));
    OK(cudaStreamEndCapture(s, &g));
    FAILS(cudaEventQuery(recorded), cudaErrorInvalidValue);
    launch(g);
    OK(cudaEventQuery(recorded));
    OK(cudaEventSynchronize(recorded));
    OK(cudaStreamWaitEvent(t, recorded, 0));
    OK(cudaStreamSynchronize(t));
    OK(cudaGraphDestroy(g));
    /* outside of a capture there is no such thing */
    FAILS(cudaEventRecordWithFlags(recorded, s, cudaEventRecordExternal), cudaErrorIllegalState);
    FAILS(cudaStreamWaitEvent(s, awaited, cudaEventWaitExternal), cudaErrorIllegalState);
    cudaGetLastError();
    OK(cudaEventDestroy(recorded));
    OK(cudaEventDestroy(awaited));
}

static void begin(cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal)
{
    OK(cudaStreamBeginCapture(s, mode));
    put<<<1, 1, 0, s>>>(d, 1);
    CHECK_EQ_INT(status_of(s), cudaStreamCaptureStatusActive);
}

static void end_invalid()
{
    cudaGraph_t g = (cudaGraph_t)1;
    CHECK_EQ_INT(status_of(s), cudaStreamCaptureStatusInvalidated);
    put<<<1, 1, 0, s>>>(d, 1);
    FAILS(cudaGetLastError(), cudaErrorStreamCaptureInvalidated);
    FAILS(cudaStreamEndCapture(s, &g), cudaErrorStreamCaptureInvalidated);
    CHECK(g == nullptr);
    CHECK_EQ_INT(status_of(s), cudaStreamCaptureStatusNone);
    cudaGetLastError();
}

static void end_fine()
{
    cudaGraph_t g;
    CHECK_EQ_INT(status_of(s), cudaStreamCaptureStatusActive);
    OK(cudaStreamEndCapture(s, &g));
    OK(cudaGraphDestroy(g));
}

/* Calls that are not safe while a capture runs, and some that are. */
static void unsafe_calls()
{
    void *p;
    cudaStream_t other;

    begin();
    FAILS(cudaMalloc(&p, 256), cudaErrorStreamCaptureUnsupported);
    end_invalid();
    begin();
    FAILS(cudaMallocHost(&p, 256), cudaErrorStreamCaptureUnsupported);
    end_invalid();
    begin();
    FAILS(cudaDeviceSynchronize(), cudaErrorStreamCaptureUnsupported);
    end_invalid();
    begin();
    FAILS(cudaStreamSynchronize(t), cudaErrorStreamCaptureUnsupported);
    end_invalid();
    begin();
    FAILS(cudaStreamQuery(s), cudaErrorStreamCaptureUnsupported);
    end_invalid();
    begin();
    FAILS(cudaFree(nullptr), cudaErrorStreamCaptureUnsupported);
    end_invalid();
    begin();
    OK(cudaStreamCreate(&other));
    OK(cudaStreamDestroy(other));
    put<<<1, 1, 0, t>>>(d + 8, 1); /* another stream, which is not captured */
    OK(cudaGetLastError());
    end_fine();
    OK(cudaDeviceSynchronize());

    cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    begin();
    OK(cudaThreadExchangeStreamCaptureMode(&mode));
    CHECK_EQ_INT(mode, cudaStreamCaptureModeGlobal);
    OK(cudaMalloc(&p, 256));
    OK(cudaFree(p));
    OK(cudaThreadExchangeStreamCaptureMode(&mode));
    CHECK_EQ_INT(mode, cudaStreamCaptureModeRelaxed);
    end_fine();
    begin(cudaStreamCaptureModeRelaxed);
    OK(cudaMalloc(&p, 256));
    OK(cudaFree(p));
    OK(cudaFree(nullptr));
    end_fine();

    begin(cudaStreamCaptureModeThreadLocal);
    std::thread([] {
        void *q;
        OK(cudaMalloc(&q, 256));
        OK(cudaFree(q));
    }).join();
    end_fine();
    begin();
    std::thread([] {
        void *q;
        FAILS(cudaMalloc(&q, 256), cudaErrorStreamCaptureUnsupported);
    }).join();
    end_invalid();
}

static void wrong_ends()
{
    cudaGraph_t g;

    FAILS(cudaStreamEndCapture(s, &g), cudaErrorIllegalState);
    FAILS(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal),
          cudaErrorStreamCaptureUnsupported);
    begin();
    OK(cudaEventRecord(e, s));
    OK(cudaStreamWaitEvent(t, e, 0));
    put<<<1, 1, 0, t>>>(d, 1);
    FAILS(cudaStreamEndCapture(s, &g), cudaErrorStreamCaptureUnjoined);
    CHECK_EQ_INT(status_of(s), cudaStreamCaptureStatusNone);
    CHECK_EQ_INT(status_of(t), cudaStreamCaptureStatusNone);

    begin();
    OK(cudaEventRecord(e, t)); /* not captured */
    FAILS(cudaStreamWaitEvent(s, e, 0), cudaErrorStreamCaptureIsolation);
    end_invalid();
    OK(cudaStreamSynchronize(t));

    begin();
    std::thread([] {
        cudaGraph_t other;
        FAILS(cudaStreamEndCapture(s, &other), cudaErrorStreamCaptureWrongThread);
    }).join();
    cudaStreamEndCapture(s, &g);

    begin(cudaStreamCaptureModeRelaxed);
    OK(cudaStreamBeginCapture(t, cudaStreamCaptureModeRelaxed));
    OK(cudaEventRecord(e, s));
    FAILS(cudaStreamWaitEvent(t, e, 0), cudaErrorStreamCaptureMerge);
    CHECK_EQ_INT(status_of(t), cudaStreamCaptureStatusInvalidated);
    FAILS(cudaStreamEndCapture(t, &g), cudaErrorStreamCaptureInvalidated);
    end_invalid();

    begin();
    OK(cudaEventRecord(e, s));
    FAILS(cudaEventQuery(e), cudaErrorCapturedEvent);
    end_invalid();
    OK(cudaEventRecord(e, t));
    OK(cudaEventSynchronize(e));
}

/* Work in the legacy stream would wait for a blocking stream, and that one is captured. */
static void legacy_stream()
{
    cudaStream_t keep = s;

    OK(cudaStreamCreate(&s));
    begin();
    put<<<1, 1>>>(d, 1);
    FAILS(cudaGetLastError(), cudaErrorStreamCaptureImplicit);
    end_invalid();
    OK(cudaStreamDestroy(s));
    s = keep;
    begin();
    put<<<1, 1>>>(d, 1);
    OK(cudaGetLastError());
    end_fine();
    OK(cudaDeviceSynchronize());
}

int main()
{
    OK(cudaMalloc(&d, 4096));
    OK(cudaMallocHost(&pinned, 4096));
    OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
    OK(cudaEventCreate(&e));
    OK(cudaEventCreateWithFlags(&f, cudaEventDisableTiming));
    put<<<1, 1>>>(d, 0);
    add<<<1, 1>>>(d, d, d);
    OK(cudaDeviceSynchronize());
    one_stream();
    fork_and_join();
    info_and_dependencies();
    external_events();
    unsafe_calls();
    wrong_ends();
    legacy_stream();
    OK(cudaFreeHost(pinned));
    OK(cudaFree(d));
    return check_done();
}
