/* E1: wrong arguments of the functions on streams, events and host functions. */
#include "errors.h"

static void CUDART_CB host_fn(void *) {}
static void CUDART_CB callback(cudaStream_t, cudaError_t, void *) {}
static char not_a_handle[4096];

static cudaStream_t foreign_stream() { return (cudaStream_t)not_a_handle; }
static cudaEvent_t foreign_event() { return (cudaEvent_t)not_a_handle; }

static cudaStream_t destroyed_stream()
{
    cudaStream_t s;
    MUST(cudaStreamCreate(&s));
    MUST(cudaStreamDestroy(s));
    return s;
}

static cudaEvent_t destroyed_event()
{
    cudaEvent_t e;
    MUST(cudaEventCreate(&e));
    MUST(cudaEventDestroy(e));
    return e;
}

static void making()
{
    cudaStream_t s;

    ROW("no pointer", cudaStreamCreate(nullptr), cudaErrorInvalidValue);
    ROW("no pointer", cudaStreamCreateWithFlags(nullptr, 0), cudaErrorInvalidValue);
    ROW("flags 2", cudaStreamCreateWithFlags(&s, 2), cudaErrorInvalidValue);
    ROW("flags 3", cudaStreamCreateWithFlags(&s, 3), cudaErrorInvalidValue);
    ROW("no pointer", cudaStreamCreateWithPriority(nullptr, 0, 0), cudaErrorInvalidValue);
    ROW("flags 2", cudaStreamCreateWithPriority(&s, 2, 0), cudaErrorInvalidValue);
    ROW("priority out of range", cudaStreamCreateWithPriority(&s, 0, 1000), cudaSuccess);
    ROW("priority out of range", cudaStreamCreateWithPriority(&s, 0, -1000), cudaSuccess);
    ROW("default stream", cudaStreamDestroy(nullptr), cudaErrorInvalidResourceHandle);
    ROW("legacy stream", cudaStreamDestroy(cudaStreamLegacy), cudaErrorInvalidResourceHandle);
    ROW("per-thread stream", cudaStreamDestroy(cudaStreamPerThread),
        cudaErrorInvalidResourceHandle);
    ROW_UNDEFINED("no stream", cudaStreamDestroy(foreign_stream()), cudaErrorInvalidResourceHandle);
    ROW_UNDEFINED("destroyed", cudaStreamDestroy(destroyed_stream()),
                  cudaErrorInvalidResourceHandle);
}

static void asking()
{
    cudaStream_t s;
    unsigned flags;
    int number;
    unsigned long long id;
    cudaStreamCaptureStatus status;
    cudaLaunchAttributeValue value;

    MUST(cudaStreamCreate(&s));
    memset(&value, 0, sizeof value);
    ROW("no pointer", cudaStreamGetFlags(s, nullptr), cudaErrorInvalidValue);
    ROW("default stream", cudaStreamGetFlags(nullptr, &flags), cudaSuccess);
    ROW("no pointer", cudaStreamGetPriority(s, nullptr), cudaErrorInvalidValue);
    ROW("default stream", cudaStreamGetPriority(nullptr, &number), cudaSuccess);
    ROW("no pointer", cudaStreamGetId(s, nullptr), cudaErrorInvalidValue);
    ROW("default stream", cudaStreamGetId(nullptr, &id), cudaSuccess);
    ROW_CRASH("no pointer", cudaStreamGetDevice(s, nullptr), cudaErrorInvalidValue);
    ROW("default stream", cudaStreamGetDevice(nullptr, &number), cudaSuccess);
    ROW("no pointer", cudaStreamIsCapturing(s, nullptr), cudaErrorInvalidValue);
    ROW("default stream", cudaStreamIsCapturing(nullptr, &status), cudaSuccess);
    ROW_CRASH("no pointer",
              cudaStreamGetAttribute(s, cudaLaunchAttributeSynchronizationPolicy, nullptr),
              cudaErrorInvalidValue);
    ROW("unknown attribute", cudaStreamGetAttribute(s, (cudaLaunchAttributeID)99, &value),
        cudaErrorInvalidValue);
    ROW("an attribute of launches",
        cudaStreamGetAttribute(s, cudaLaunchAttributeCooperative, &value), cudaErrorInvalidValue);
    ROW("attribute 0", cudaStreamGetAttribute(s, cudaLaunchAttributeIgnore, &value),
        cudaErrorInvalidValue);
    ROW_CRASH("no value",
              cudaStreamSetAttribute(s, cudaLaunchAttributeSynchronizationPolicy, nullptr),
              cudaErrorInvalidValue);
    ROW("unknown attribute", cudaStreamSetAttribute(s, (cudaLaunchAttributeID)99, &value),
        cudaErrorInvalidValue);
    ROW("an attribute of launches",
        cudaStreamSetAttribute(s, cudaLaunchAttributeCooperative, &value), cudaErrorInvalidValue);
    value.syncPolicy = (cudaSynchronizationPolicy)77;
    ROW("unknown policy",
        cudaStreamSetAttribute(s, cudaLaunchAttributeSynchronizationPolicy, &value),
        cudaErrorInvalidValue);
    value.syncPolicy = (cudaSynchronizationPolicy)0;
    ROW("policy 0", cudaStreamSetAttribute(s, cudaLaunchAttributeSynchronizationPolicy, &value),
        cudaErrorInvalidValue);
    memset(&value, 0, sizeof value);
    value.accessPolicyWindow.hitRatio = 2;
    ROW("hit ratio 2", cudaStreamSetAttribute(s, cudaLaunchAttributeAccessPolicyWindow, &value),
        cudaErrorInvalidValue);
    memset(&value, 0, sizeof value);
    value.accessPolicyWindow.num_bytes = (size_t)1 << 60;
    ROW("window too large",
        cudaStreamSetAttribute(s, cudaLaunchAttributeAccessPolicyWindow, &value),
        cudaErrorInvalidValue);
    ROW("to itself", cudaStreamCopyAttributes(s, s), cudaSuccess);
    ROW("from the default stream", cudaStreamCopyAttributes(s, nullptr), cudaSuccess);
    ROW("to the default stream", cudaStreamCopyAttributes(nullptr, s), cudaSuccess);
    ROW_UNDEFINED("no stream", cudaStreamGetFlags(foreign_stream(), &flags),
                  cudaErrorInvalidResourceHandle);
    ROW_UNDEFINED("destroyed", cudaStreamGetFlags(destroyed_stream(), &flags),
                  cudaErrorInvalidResourceHandle);
    ROW_UNDEFINED("destroyed", cudaStreamGetPriority(destroyed_stream(), &number),
                  cudaErrorInvalidResourceHandle);
    ROW_UNDEFINED("destroyed", cudaStreamGetId(destroyed_stream(), &id),
                  cudaErrorInvalidResourceHandle);
    ROW_UNDEFINED("destroyed", cudaStreamGetDevice(destroyed_stream(), &number),
                  cudaErrorInvalidResourceHandle);
    ROW_UNDEFINED("destroyed", cudaStreamIsCapturing(destroyed_stream(), &status),
                  cudaErrorInvalidResourceHandle);
}

static void using_streams()
{
    cudaStream_t s;
    cudaEvent_t e;
    void *p;

    MUST(cudaStreamCreate(&s));
    MUST(cudaEventCreate(&e));
    MUST(cudaMallocManaged(&p, 4096));
    ROW_UNDEFINED("no stream", cudaStreamSynchronize(foreign_stream()),
                  cudaErrorInvalidResourceHandle);
    ROW_UNDEFINED("destroyed", cudaStreamSynchronize(destroyed_stream()),
                  cudaErrorInvalidResourceHandle);
    ROW_UNDEFINED("no stream", cudaStreamQuery(foreign_stream()), cudaErrorInvalidResourceHandle);
    ROW_UNDEFINED("destroyed", cudaStreamQuery(destroyed_stream()), cudaErrorInvalidResourceHandle);
    ROW("no event", cudaStreamWaitEvent(s, nullptr, 0), cudaErrorInvalidResourceHandle);
    ROW("unknown flags", cudaStreamWaitEvent(s, e, 8), cudaErrorInvalidValue);
    ROW("external, not captured", cudaStreamWaitEvent(s, e, cudaEventWaitExternal),
        cudaErrorIllegalState);
    ROW("never recorded", cudaStreamWaitEvent(s, e, 0), cudaSuccess);
    ROW_UNDEFINED("destroyed event", cudaStreamWaitEvent(s, destroyed_event(), 0),
                  cudaErrorInvalidResourceHandle);
    ROW_UNDEFINED("destroyed stream", cudaStreamWaitEvent(destroyed_stream(), e, 0),
                  cudaErrorInvalidResourceHandle);
    ROW("no function", cudaLaunchHostFunc(s, nullptr, nullptr), cudaErrorInvalidValue);
    ROW_UNDEFINED("destroyed stream", cudaLaunchHostFunc(destroyed_stream(), host_fn, nullptr),
                  cudaErrorInvalidResourceHandle);
    ROW("no function", cudaStreamAddCallback(s, nullptr, nullptr, 0), cudaErrorInvalidValue);
    ROW("flags 1", cudaStreamAddCallback(s, callback, nullptr, 1), cudaErrorInvalidValue);
    ROW("no memory", cudaStreamAttachMemAsync(s, nullptr, 0, cudaMemAttachSingle),
        cudaErrorInvalidValue);
    ROW_CRASH("flags 0", cudaStreamAttachMemAsync(s, p, 0, 0), cudaErrorInvalidValue);
    ROW("unknown flags", cudaStreamAttachMemAsync(s, p, 0, 64), cudaErrorInvalidValue);
    ROW("two flags", cudaStreamAttachMemAsync(s, p, 0, 3), cudaErrorInvalidValue);
    ROW("part of it", cudaStreamAttachMemAsync(s, p, 16, cudaMemAttachSingle),
        cudaErrorInvalidValue);
    ROW("inside it", cudaStreamAttachMemAsync(s, (char *)p + 16, 0, cudaMemAttachSingle),
        cudaErrorInvalidValue);
    ROW("single, default stream", cudaStreamAttachMemAsync(nullptr, p, 0, cudaMemAttachSingle),
        cudaErrorInvalidValue);
    ROW("stack", cudaStreamAttachMemAsync(s, &p, 0, cudaMemAttachSingle), cudaErrorInvalidValue);
    ROW("whole", cudaStreamAttachMemAsync(s, p, 4096, cudaMemAttachSingle), cudaSuccess);
}

static void events()
{
    cudaStream_t s;
    cudaEvent_t e, never, untimed, out;
    float ms;

    MUST(cudaStreamCreate(&s));
    MUST(cudaEventCreate(&e));
    MUST(cudaEventCreate(&never));
    MUST(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming));
    MUST(cudaEventRecord(e, s));
    MUST(cudaEventRecord(untimed, s));
    MUST(cudaDeviceSynchronize());
    ROW("no pointer", cudaEventCreate(nullptr), cudaErrorInvalidValue);
    ROW("no pointer", cudaEventCreateWithFlags(nullptr, 0), cudaErrorInvalidValue);
    ROW("unknown flags", cudaEventCreateWithFlags(&out, 0x100), cudaErrorInvalidValue);
    ROW("flag 8", cudaEventCreateWithFlags(&out, 8), cudaErrorInvalidValue);
    ROW("interprocess with timing", cudaEventCreateWithFlags(&out, cudaEventInterprocess),
        cudaErrorInvalidValue);
    ROW("no event", cudaEventDestroy(nullptr), cudaErrorInvalidResourceHandle);
    ROW_UNDEFINED("no event", cudaEventDestroy(foreign_event()), cudaErrorInvalidResourceHandle);
    ROW_UNDEFINED("destroyed", cudaEventDestroy(destroyed_event()), cudaErrorInvalidResourceHandle);
    ROW("no event", cudaEventRecord(nullptr, s), cudaErrorInvalidResourceHandle);
    ROW_UNDEFINED("destroyed", cudaEventRecord(destroyed_event(), s),
                  cudaErrorInvalidResourceHandle);
    ROW_UNDEFINED("destroyed stream", cudaEventRecord(e, destroyed_stream()),
                  cudaErrorInvalidResourceHandle);
    ROW("no event", cudaEventRecordWithFlags(nullptr, s, 0), cudaErrorInvalidResourceHandle);
    ROW("unknown flags", cudaEventRecordWithFlags(e, s, 8), cudaErrorInvalidValue);
    ROW("external, not captured", cudaEventRecordWithFlags(e, s, cudaEventRecordExternal),
        cudaErrorIllegalState);
    ROW("no event", cudaEventQuery(nullptr), cudaErrorInvalidResourceHandle);
    ROW("never recorded", cudaEventQuery(never), cudaSuccess);
    ROW_UNDEFINED("destroyed", cudaEventQuery(destroyed_event()), cudaErrorInvalidResourceHandle);
    ROW("no event", cudaEventSynchronize(nullptr), cudaErrorInvalidResourceHandle);
    ROW("never recorded", cudaEventSynchronize(never), cudaSuccess);
    ROW_UNDEFINED("destroyed", cudaEventSynchronize(destroyed_event()),
                  cudaErrorInvalidResourceHandle);
    ROW("no pointer", cudaEventElapsedTime(nullptr, e, e), cudaErrorInvalidValue);
    ROW("no start", cudaEventElapsedTime(&ms, nullptr, e), cudaErrorInvalidResourceHandle);
    ROW("no end", cudaEventElapsedTime(&ms, e, nullptr), cudaErrorInvalidResourceHandle);
    ROW("never recorded", cudaEventElapsedTime(&ms, e, never), cudaErrorInvalidResourceHandle);
    ROW("without timing", cudaEventElapsedTime(&ms, e, untimed), cudaErrorInvalidResourceHandle);
    ROW("itself", cudaEventElapsedTime(&ms, e, e), cudaSuccess);
}

static void rows()
{
    making();
    asking();
    using_streams();
    events();
}

ERROR_TABLE_MAIN(rows)
