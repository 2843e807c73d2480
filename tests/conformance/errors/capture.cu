/* E1: wrong arguments of the functions that begin, look at, change and end captures. */
#include "errors.h"

static char not_a_handle[4096];

static cudaStream_t new_stream()
{
    cudaStream_t s;
    MUST(cudaStreamCreate(&s));
    return s;
}

/* A row whose call is made while `busy` captures; the capture is over afterwards, since what looks
 * after the device between rows would break it. `a` is a node of it. */
static cudaStream_t busy;
static cudaGraphNode_t a;

static void capture_begins()
{
    cudaStreamCaptureStatus status;
    cudaGraph_t g;
    MUST(cudaStreamBeginCapture(busy, cudaStreamCaptureModeRelaxed));
    MUST(cudaStreamGetCaptureInfo(busy, &status, nullptr, &g));
    MUST(cudaGraphAddEmptyNode(&a, g, nullptr, 0));
}

static void capture_ends()
{
    cudaStreamCaptureStatus status;
    cudaGraph_t g;
    MUST(cudaStreamIsCapturing(busy, &status));
    if (status != cudaStreamCaptureStatusNone)
        cudaStreamEndCapture(busy, &g);
}

#define ROW_CAPTURING(what, call, expected)                                                        \
    do {                                                                                           \
        if (row_begin(#call, what, __LINE__, (int)(expected), ROW_EXACT)) {                        \
            capture_begins();                                                                      \
            cudaError_t row_code = (call);                                                         \
            capture_ends();                                                                        \
            row_end(row_code);                                                                     \
        }                                                                                          \
    } while (0)

static cudaStream_t destroyed_stream()
{
    cudaStream_t s = new_stream();
    MUST(cudaStreamDestroy(s));
    return s;
}

static void beginning()
{
    const cudaStreamCaptureMode relaxed = cudaStreamCaptureModeRelaxed;
    cudaStream_t s = new_stream();
    cudaGraph_t g, out;
    cudaGraphNode_t node, foreign, none = nullptr;

    MUST(cudaGraphCreate(&g, 0));
    MUST(cudaGraphCreate(&out, 0));
    MUST(cudaGraphAddEmptyNode(&node, g, nullptr, 0));
    MUST(cudaGraphAddEmptyNode(&foreign, out, nullptr, 0));
    ROW("legacy stream", cudaStreamBeginCapture(nullptr, relaxed),
        cudaErrorStreamCaptureUnsupported);
    ROW("legacy stream", cudaStreamBeginCapture(cudaStreamLegacy, relaxed),
        cudaErrorStreamCaptureUnsupported);
    ROW("unknown mode", cudaStreamBeginCapture(s, (cudaStreamCaptureMode)9), cudaErrorInvalidValue);
    ROW_CAPTURING("capturing", cudaStreamBeginCapture(busy, relaxed), cudaErrorIllegalState);
    ROW_UNDEFINED("destroyed", cudaStreamBeginCapture(destroyed_stream(), relaxed),
                  cudaErrorInvalidResourceHandle);
    ROW_UNDEFINED("no stream", cudaStreamBeginCapture((cudaStream_t)not_a_handle, relaxed),
                  cudaErrorInvalidResourceHandle);
    ROW("legacy stream", cudaStreamBeginCaptureToGraph(nullptr, g, nullptr, nullptr, 0, relaxed),
        cudaErrorStreamCaptureUnsupported);
    ROW("no graph", cudaStreamBeginCaptureToGraph(s, nullptr, nullptr, nullptr, 0, relaxed),
        cudaErrorInvalidValue);
    ROW("no list", cudaStreamBeginCaptureToGraph(s, g, nullptr, nullptr, 1, relaxed),
        cudaErrorInvalidValue);
    ROW("no node in the list", cudaStreamBeginCaptureToGraph(s, g, &none, nullptr, 1, relaxed),
        cudaErrorInvalidValue);
    ROW("of another graph", cudaStreamBeginCaptureToGraph(s, g, &foreign, nullptr, 1, relaxed),
        cudaErrorInvalidValue);
    ROW("unknown mode",
        cudaStreamBeginCaptureToGraph(s, g, &node, nullptr, 1, (cudaStreamCaptureMode)9),
        cudaErrorInvalidValue);
    ROW_CAPTURING("capturing", cudaStreamBeginCaptureToGraph(busy, g, &node, nullptr, 1, relaxed),
                  cudaErrorIllegalState);
    ROW_CRASH("no pointer", cudaThreadExchangeStreamCaptureMode(nullptr), cudaErrorInvalidValue);
}

static void ending()
{
    cudaStream_t s = new_stream();
    cudaGraph_t g;

    ROW("not capturing", cudaStreamEndCapture(s, &g), cudaErrorIllegalState);
    ROW("legacy stream", cudaStreamEndCapture(nullptr, &g), cudaErrorIllegalState);
    ROW_CAPTURING("no pointer", cudaStreamEndCapture(busy, nullptr), cudaSuccess);
    ROW_CAPTURING("fine", cudaStreamEndCapture(busy, &g), cudaSuccess);
    ROW_UNDEFINED("destroyed", cudaStreamEndCapture(destroyed_stream(), &g),
                  cudaErrorInvalidResourceHandle);
}

static void asking()
{
    cudaStream_t s = new_stream();
    cudaStreamCaptureStatus status;
    cudaGraphNode_t foreign, none = nullptr;
    cudaGraph_t g, other;
    size_t n;
    unsigned long long id;

    MUST(cudaGraphCreate(&other, 0));
    MUST(cudaGraphAddEmptyNode(&foreign, other, nullptr, 0));
    ROW("no pointer", cudaStreamGetCaptureInfo(s, nullptr), cudaErrorInvalidValue);
    ROW("legacy stream", cudaStreamGetCaptureInfo(nullptr, &status), cudaSuccess);
    ROW_CAPTURING("legacy stream", cudaStreamGetCaptureInfo(nullptr, &status),
                  cudaErrorStreamCaptureImplicit);
    ROW_CAPTURING("legacy stream", cudaStreamIsCapturing(nullptr, &status),
                  cudaErrorStreamCaptureImplicit);
    ROW_CAPTURING("the state alone", cudaStreamGetCaptureInfo(busy, &status), cudaSuccess);
    ROW("not capturing", cudaStreamGetCaptureInfo(s, &status, &id, &g, nullptr, nullptr, &n),
        cudaSuccess);
    ROW_UNDEFINED("destroyed", cudaStreamGetCaptureInfo(destroyed_stream(), &status),
                  cudaErrorInvalidResourceHandle);
    ROW("not capturing", cudaStreamUpdateCaptureDependencies(s, &foreign, nullptr, 1, 0),
        cudaErrorIllegalState);
    ROW_CAPTURING("no list", cudaStreamUpdateCaptureDependencies(busy, nullptr, nullptr, 1, 0),
                  cudaErrorInvalidValue);
    ROW_CAPTURING("no node in the list",
                  cudaStreamUpdateCaptureDependencies(busy, &none, nullptr, 1, 0),
                  cudaErrorInvalidValue);
    ROW_CAPTURING("of another graph",
                  cudaStreamUpdateCaptureDependencies(busy, &foreign, nullptr, 1, 0),
                  cudaErrorInvalidValue);
    ROW_CAPTURING("nothing", cudaStreamUpdateCaptureDependencies(busy, nullptr, nullptr, 0, 1),
                  cudaSuccess);
    ROW_CAPTURING("unknown flags", cudaStreamUpdateCaptureDependencies(busy, &a, nullptr, 1, 9),
                  cudaErrorInvalidValue);
    ROW_CAPTURING("fine", cudaStreamUpdateCaptureDependencies(busy, &a, nullptr, 1, 1),
                  cudaSuccess);
}

static void rows()
{
    busy = new_stream();
    beginning();
    ending();
    asking();
}

ERROR_TABLE_MAIN(rows)
