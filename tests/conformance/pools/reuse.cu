// A7: which memory an allocation gets: the table of three switches, ways of order, frees pending
// and passed, with space in the pool and without; and what a synchronization proves.
// RUN own-pools: WEIR_POOLS=own
#include <cuda_runtime.h>

#include <cstring>
#include <unistd.h>

#include "check.h"

#define OK(call) CHECK_STR(cudaGetErrorName(call), "cudaSuccess")

static const size_t BLOCK = 48 << 20;
static volatile int *flag; // of the host; kernels spin until it is set
static int *device_flag;

static __global__ void spin(volatile int *flag)
{
    while (*flag == 0) {
    }
}

enum Way { NONE, EVENT, EVENT_BEFORE, THROUGH_THIRD, WAYS };
static const char *const way_names[] = {"none", "event", "event before the free",
                                        "through a third stream"};

static cudaMemPool_t new_pool(size_t max, int switches)
{
    cudaMemPoolProps props;
    memset(&props, 0, sizeof props);
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    props.maxSize = max;
    cudaMemPool_t pool;
    unsigned long long all = ~0ull;
    OK(cudaMemPoolCreate(&pool, &props));
    OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all));
    const cudaMemPoolAttr names[] = {cudaMemPoolReuseFollowEventDependencies,
                                     cudaMemPoolReuseAllowOpportunistic,
                                     cudaMemPoolReuseAllowInternalDependencies};
    for (int i = 0; i < 3; i++) {
        int on = switches >> i & 1;
        OK(cudaMemPoolSetAttribute(pool, names[i], &on));
    }
    return pool;
}

// What was freed on a stream is taken to have passed when the stream has nothing to do.
static void wait_until_idle(cudaStream_t s)
{
    while (cudaStreamQuery(s) == cudaErrorNotReady)
        usleep(100);
}

static void one(const cudaStream_t s[3], int switches, Way way, bool pending, bool full)
{
    cudaMemPool_t pool = new_pool(full ? 64 << 20 : 0, switches);
    cudaEvent_t e, f;
    OK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    OK(cudaEventCreateWithFlags(&f, cudaEventDisableTiming));
    void *first = nullptr, *second = nullptr;
    *flag = 0;
    OK(cudaMallocFromPoolAsync(&first, BLOCK, pool, s[0]));
    spin<<<1, 1, 0, s[0]>>>(device_flag);
    if (way == EVENT_BEFORE)
        OK(cudaEventRecord(e, s[0]));
    OK(cudaFreeAsync(first, s[0]));
    if (way == EVENT || way == THROUGH_THIRD)
        OK(cudaEventRecord(e, s[0]));
    if (way == EVENT || way == EVENT_BEFORE)
        OK(cudaStreamWaitEvent(s[1], e, 0));
    if (way == THROUGH_THIRD) {
        OK(cudaStreamWaitEvent(s[2], e, 0));
        OK(cudaEventRecord(f, s[2]));
        OK(cudaStreamWaitEvent(s[1], f, 0));
    }
    if (!pending) {
        *flag = 1;
        wait_until_idle(s[0]);
    }
    cudaError_t error = cudaMallocFromPoolAsync(&second, BLOCK, pool, s[1]);
    bool ordered = way == EVENT || way == THROUGH_THIRD;
    bool want =
        ((switches & 1) && ordered) || ((switches & 2) && !pending) || ((switches & 4) && full);
    const char *expected = want ? "same" : full ? "refused" : "other";
    const char *got = error == cudaErrorMemoryAllocation ? "refused"
                      : error != cudaSuccess             ? cudaGetErrorName(error)
                      : first == second                  ? "same"
                                                         : "other";
    if (strcmp(expected, got) != 0)
        printf("switches %d, order: %s, %s, %s:\n", switches, way_names[way],
               pending ? "pending" : "passed", full ? "pool full" : "space in the pool");
    CHECK_STR(got, expected);
    if (error == cudaSuccess) { // an inserted dependency is kept
        OK(cudaMemsetAsync(second, 1, BLOCK, s[1]));
        if (pending && want)
            CHECK_STR(cudaGetErrorName(cudaStreamQuery(s[1])), "cudaErrorNotReady");
    }
    cudaGetLastError();
    *flag = 1;
    if (error == cudaSuccess)
        OK(cudaFreeAsync(second, s[1]));
    OK(cudaDeviceSynchronize());
    OK(cudaEventDestroy(e));
    OK(cudaEventDestroy(f));
    OK(cudaMemPoolDestroy(pool));
}

enum Proof {
    STREAM,
    EVENT_SYNC,
    DEVICE,
    OTHER_THAT_WAITED,
    DESTROYED,
    FREE,
    STREAM_QUERY,
    EVENT_QUERY,
    OTHER,
    PROOFS
};

// With all switches off: what makes memory, whose free has passed, anyone's.
static void proof(Proof how)
{
    cudaMemPool_t pool = new_pool(0, 0);
    cudaStream_t s[3];
    cudaEvent_t e;
    void *p, *q;
    for (cudaStream_t &stream : s)
        OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    OK(cudaMallocFromPoolAsync(&p, BLOCK, pool, s[0]));
    OK(cudaMemsetAsync(p, 0, BLOCK, s[0]));
    if (how == FREE) {
        OK(cudaStreamSynchronize(s[0]));
        OK(cudaFree(p));
    } else {
        OK(cudaFreeAsync(p, s[0]));
    }
    OK(cudaEventRecord(e, s[0]));
    wait_until_idle(s[0]);
    switch (how) {
    case STREAM: OK(cudaStreamSynchronize(s[0])); break;
    case EVENT_SYNC: OK(cudaEventSynchronize(e)); break;
    case DEVICE: OK(cudaDeviceSynchronize()); break;
    case OTHER_THAT_WAITED:
        OK(cudaStreamWaitEvent(s[2], e, 0));
        OK(cudaStreamSynchronize(s[2]));
        break;
    case DESTROYED: OK(cudaStreamDestroy(s[0])); break;
    case STREAM_QUERY: OK(cudaStreamQuery(s[0])); break;
    case EVENT_QUERY: OK(cudaEventQuery(e)); break;
    case OTHER: OK(cudaStreamSynchronize(s[2])); break;
    default: break;
    }
    OK(cudaMallocFromPoolAsync(&q, BLOCK, pool, s[1]));
    if ((p == q) != (how < STREAM_QUERY))
        printf("proof %d:\n", how);
    CHECK_EQ_INT(p == q, how < STREAM_QUERY);
    OK(cudaFreeAsync(q, s[1]));
    OK(cudaDeviceSynchronize());
    for (int i = how == DESTROYED; i < 3; i++)
        OK(cudaStreamDestroy(s[i]));
    OK(cudaEventDestroy(e));
    OK(cudaMemPoolDestroy(pool));
}

// The default stream's rule is an order like any other.
static void default_stream(int how, bool want)
{
    cudaMemPool_t pool = new_pool(0, 1);
    cudaStream_t a, b;
    void *p, *q;
    OK(cudaStreamCreate(&a));
    OK(cudaStreamCreate(&b));
    *flag = 0;
    cudaStream_t from = how == 1 ? 0 : a, to = how == 0 ? 0 : b;
    OK(cudaMallocFromPoolAsync(&p, BLOCK, pool, from));
    spin<<<1, 1, 0, from>>>(device_flag);
    OK(cudaFreeAsync(p, from));
    if (how == 2)
        OK(cudaMemsetAsync(device_flag + 16, 0, 4, 0));
    OK(cudaMallocFromPoolAsync(&q, BLOCK, pool, to));
    CHECK_EQ_INT(p == q, want);
    *flag = 1;
    OK(cudaFreeAsync(q, to));
    OK(cudaDeviceSynchronize());
    OK(cudaStreamDestroy(a));
    OK(cudaStreamDestroy(b));
    OK(cudaMemPoolDestroy(pool));
}

int main()
{
    OK(cudaHostAlloc((void **)&flag, 4096, cudaHostAllocMapped));
    OK(cudaHostGetDevicePointer((void **)&device_flag, (void *)flag, 0));
    *flag = 1;
    spin<<<1, 1>>>(device_flag);
    OK(cudaDeviceSynchronize());
    cudaStream_t s[3];
    for (cudaStream_t &stream : s)
        OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (int switches = 0; switches < 8; switches++)
        for (int way = 0; way < WAYS; way++)
            for (int pending = 0; pending < 2; pending++)
                for (int full = 0; full < 2; full++)
                    one(s, switches, (Way)way, pending, full);
    for (int how = 0; how < PROOFS; how++)
        proof((Proof)how);
    default_stream(0, true);  // freed in a blocking stream, allocated in the legacy one
    default_stream(1, true);  // the other way round
    default_stream(2, true);  // from one blocking stream to another, work of the legacy between
    default_stream(3, false); // without that
    return check_done();
}
