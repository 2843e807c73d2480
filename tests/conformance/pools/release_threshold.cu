// A5, A6, A10: which calls have a pool give memory back to the system; what outlives its pool.
// RUN own-pools: WEIR_POOLS=own
#include <cuda_runtime.h>

#include <unistd.h>

#include "check.h"

#define OK(call) CHECK_STR(cudaGetErrorName(call), "cudaSuccess")
#define FAILS(call, why)                                                                           \
    do {                                                                                           \
        CHECK_STR(cudaGetErrorName(call), #why);                                                   \
        cudaGetLastError();                                                                        \
    } while (0)

static const size_t MIB = 1 << 20;

__global__ void put(int *p, int value) { *p = value; }

static cudaMemPool_t new_pool(size_t max = 0)
{
    cudaMemPoolProps props = {};
    cudaMemPool_t pool = nullptr;
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    props.maxSize = max;
    OK(cudaMemPoolCreate(&pool, &props));
    return pool;
}

static unsigned long long statistic(cudaMemPool_t pool, cudaMemPoolAttr which)
{
    unsigned long long value = ~0ull;
    OK(cudaMemPoolGetAttribute(pool, which, &value));
    return value;
}

static void wait_until_idle(cudaStream_t s)
{
    while (cudaStreamQuery(s) == cudaErrorNotReady)
        usleep(100);
}

enum Call {
    NOTHING,
    STREAM,
    EVENT,
    EVENT_OF_WAITER, // recorded on another stream, which waits for the one that freed
    DEVICE,
    OTHER_STREAM,
    EARLY_EVENT, // recorded before the free
    STREAM_QUERY,
    EVENT_QUERY,
    DESTROY,
    CALLS
};
static const char *const call_names[] = {"nothing",     "stream",
                                         "event",       "event of a waiting stream",
                                         "device",      "other stream",
                                         "early event", "stream query",
                                         "event query", "destroying the stream"};

// Memory whose free has passed is given back by the first call that proves it to the host, down to
// the threshold.
static void calls(Call call, unsigned long long keep)
{
    cudaMemPool_t pool = new_pool();
    cudaStream_t s, other;
    cudaEvent_t e, f;
    void *p, *q;
    OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    OK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    OK(cudaEventCreateWithFlags(&f, cudaEventDisableTiming));
    OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
    OK(cudaMallocFromPoolAsync(&p, 96 * MIB, pool, s));
    OK(cudaMallocFromPoolAsync(&q, 96 * MIB, pool, s));
    put<<<1, 1, 0, s>>>((int *)p, 1);
    if (call == EARLY_EVENT)
        OK(cudaEventRecord(e, s));
    OK(cudaFreeAsync(p, s));
    OK(cudaFreeAsync(q, s));
    if (call != EARLY_EVENT)
        OK(cudaEventRecord(e, s));
    OK(cudaStreamWaitEvent(other, e, 0));
    if (call == OTHER_STREAM) // nothing of it comes after the frees
        OK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    OK(cudaEventRecord(f, other));
    wait_until_idle(s);
    wait_until_idle(other);
    unsigned long long full = statistic(pool, cudaMemPoolAttrReservedMemCurrent);
    CHECK(full >= 192 * MIB);
    CHECK_EQ_INT(statistic(pool, cudaMemPoolAttrUsedMemCurrent), 0);
    switch (call) {
    case STREAM: OK(cudaStreamSynchronize(s)); break;
    case EVENT:
    case EARLY_EVENT: OK(cudaEventSynchronize(e)); break;
    case EVENT_OF_WAITER: OK(cudaEventSynchronize(f)); break;
    case DEVICE: OK(cudaDeviceSynchronize()); break;
    case OTHER_STREAM: OK(cudaStreamSynchronize(other)); break;
    case STREAM_QUERY: OK(cudaStreamQuery(s)); break;
    case EVENT_QUERY: OK(cudaEventQuery(e)); break;
    case DESTROY: OK(cudaStreamDestroy(s)); break;
    default: break;
    }
    unsigned long long left = statistic(pool, cudaMemPoolAttrReservedMemCurrent);
    bool proves = call == STREAM || call == EVENT || call == EVENT_OF_WAITER || call == DEVICE ||
                  call == DESTROY;
    bool fine = proves && keep < 192 * MIB ? left <= keep : left == full;
    if (!fine)
        printf("%s, threshold %llu MiB: %llu of %llu MiB left\n", call_names[call], keep / MIB,
               left / MIB, full / MIB);
    CHECK(fine);
    CHECK(statistic(pool, cudaMemPoolAttrReservedMemHigh) >= full);
    OK(cudaMemPoolDestroy(pool));
}

// Both live on while the memory does; the current pool is the default one again.
static void pool_outlived(cudaStream_t s)
{
    cudaMemPool_t pool = new_pool(), current = nullptr, standard = nullptr;
    int *p, value = 0;
    OK(cudaDeviceSetMemPool(0, pool));
    OK(cudaMallocAsync((void **)&p, MIB, s));
    OK(cudaMemPoolDestroy(pool));
    OK(cudaDeviceGetMemPool(&current, 0));
    OK(cudaDeviceGetDefaultMemPool(&standard, 0));
    CHECK(current == standard);
    put<<<1, 1, 0, s>>>(p, 5);
    OK(cudaMemcpyAsync(&value, p, sizeof value, cudaMemcpyDeviceToHost, s));
    OK(cudaStreamSynchronize(s));
    CHECK_EQ_INT(value, 5);
    cudaPointerAttributes a;
    OK(cudaPointerGetAttributes(&a, p));
    CHECK_EQ_INT(a.type, cudaMemoryTypeDevice);
    OK(cudaFreeAsync(p, s));
    FAILS(cudaFreeAsync(p, s), cudaErrorInvalidValue);
    FAILS(cudaFree(p), cudaErrorInvalidValue);
    OK(cudaStreamSynchronize(s));
}

// Adjacent blocks freed on one stream are one piece for another, which waits for them
// when there is no other memory; what is refused leaves no pointer.
static void full(cudaStream_t s)
{
    cudaMemPool_t pool = new_pool(64 * MIB);
    cudaStream_t other;
    void *p[4], *all, *none = &all;
    OK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    for (void *&one : p)
        OK(cudaMallocFromPoolAsync(&one, 16 * MIB, pool, s));
    for (void *one : p)
        put<<<1, 1, 0, s>>>((int *)one, 1);
    for (void *one : p)
        OK(cudaFreeAsync(one, s));
    OK(cudaMallocFromPoolAsync(&all, 64 * MIB, pool, other));
    OK(cudaMemsetAsync(all, 0, 64 * MIB, other));
    FAILS(cudaMallocFromPoolAsync(&none, 16 * MIB, pool, s), cudaErrorMemoryAllocation);
    CHECK(none == nullptr);
    int value = 7;
    OK(cudaMemcpyAsync(&value, p[3], sizeof value, cudaMemcpyDeviceToHost, other));
    OK(cudaFreeAsync(all, other));
    OK(cudaStreamSynchronize(other));
    CHECK_EQ_INT(value, 0);
    OK(cudaMemPoolDestroy(pool));
    OK(cudaStreamDestroy(other));
}

int main()
{
    cudaStream_t s;
    OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    for (int call = 0; call < CALLS; call++)
        for (unsigned long long keep : {0ull, 64ull * MIB, ~0ull})
            calls((Call)call, keep);
    pool_outlived(s);
    full(s);
    return check_done();
}
