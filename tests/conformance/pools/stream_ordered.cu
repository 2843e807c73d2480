// A2: memory in stream order: what it holds, how it is freed, what a pool's statistics say, which
// pool it comes from.
// RUN own-pools: WEIR_POOLS=own
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstring>
#include <vector>

#include "check.h"
#include "driver_knows.h"

#define OK(call)          CHECK_STR(cudaGetErrorName(call), "cudaSuccess")
#define FAILS(code, call) CHECK_STR(cudaGetErrorName(call), #code)

static const size_t MIB = 1 << 20;

static __global__ void fill(int *p, int n, int from)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        p[i] = from + i;
}

static cudaMemPool_t new_pool(size_t max = 0)
{
    cudaMemPoolProps props;
    memset(&props, 0, sizeof props);
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    props.maxSize = max;
    cudaMemPool_t pool;
    OK(cudaMemPoolCreate(&pool, &props));
    return pool;
}

static unsigned long long statistic(cudaMemPool_t pool, cudaMemPoolAttr which)
{
    unsigned long long value = 0;
    OK(cudaMemPoolGetAttribute(pool, which, &value));
    return value;
}

static void contents(cudaStream_t s)
{
    const int n = 1 << 16;
    int *p, *q;
    std::vector<int> host(n);
    OK(cudaMallocAsync(&p, n * sizeof *p, s)); // the C++ overload
    OK(cudaMallocAsync(&q, n * sizeof *q, s));
    CHECK(p != q);
    fill<<<n / 256, 256, 0, s>>>(p, n, 7);
    OK(cudaMemcpyAsync(q, p, n * sizeof *p, cudaMemcpyDeviceToDevice, s));
    OK(cudaFreeAsync(p, s));
    OK(cudaMemcpyAsync(host.data(), q, n * sizeof *q, cudaMemcpyDeviceToHost, s));
    OK(cudaFreeAsync(q, s));
    OK(cudaStreamSynchronize(s));
    int wrong = 0;
    for (int i = 0; i < n; i++)
        wrong += host[i] != 7 + i;
    CHECK_EQ_INT(wrong, 0);
}

static void same_stream(cudaStream_t s)
{
    void *p, *q;
    for (size_t bytes : {(size_t)512, MIB, 64 * MIB}) {
        OK(cudaMallocAsync(&p, bytes, s));
        OK(cudaFreeAsync(p, s));
        OK(cudaMallocAsync(&q, bytes, s));
        CHECK(p == q);
        CHECK_EQ_INT((unsigned long long)p % 256, 0);
        OK(cudaFreeAsync(q, s));
    }
}

// A3: both kinds of memory, both kinds of free.
static void kinds(cudaStream_t s)
{
    void *p;
    OK(cudaMalloc(&p, 4096));
    OK(cudaMemsetAsync(p, 1, 4096, s));
    OK(cudaFreeAsync(p, s));
    OK(cudaMallocAsync(&p, 4096, s));
    OK(cudaStreamSynchronize(s));
    OK(cudaFree(p));
    FAILS(cudaErrorInvalidValue, cudaFree(p));
    FAILS(cudaErrorInvalidValue, cudaFreeAsync(p, s));
    OK(cudaMallocAsync(&p, 4096, s));
    FAILS(cudaErrorInvalidValue, cudaFreeAsync((char *)p + 512, s));
    OK(cudaFreeAsync(p, s));
    FAILS(cudaErrorInvalidValue, cudaFreeAsync(p, s));
    OK(cudaMallocManaged(&p, 4096));
    FAILS(cudaErrorNotSupported, cudaFreeAsync(p, s));
    OK(cudaFree(p));
    OK(cudaFreeAsync(nullptr, s));
    OK(cudaMallocAsync(&p, 0, s));
    CHECK(p == nullptr);
    cudaGetLastError();
}

// A4: default, current, explicit.
static void pools(cudaStream_t s)
{
    cudaMemPool_t standard, current, mine = new_pool();
    OK(cudaDeviceGetDefaultMemPool(&standard, 0));
    OK(cudaDeviceGetMemPool(&current, 0));
    CHECK(current == standard);
    OK(cudaDeviceSetMemPool(0, mine));
    OK(cudaDeviceGetMemPool(&current, 0));
    CHECK(current == mine);
    void *p;
    OK(cudaMallocAsync(&p, 1000, s));
    CHECK(statistic(mine, cudaMemPoolAttrUsedMemCurrent) >= 1000);
    OK(cudaFreeAsync(p, s));
    OK(cudaDeviceSetMemPool(0, standard));
    OK(cudaMallocAsync(&p, 1000, mine, s)); // the C++ overload that names a pool
    OK(cudaMemPoolDestroy(mine));           // lives on until it is freed
    OK(cudaMemsetAsync(p, 1, 1000, s));
    OK(cudaFreeAsync(p, s));
    OK(cudaStreamSynchronize(s));
}

// A5, A6: used statistics follow the calls, reserved ones the synchronizations.
static void statistics(cudaStream_t s)
{
    cudaMemPool_t pool = new_pool();
    void *p, *q;
    unsigned long long zero = 0, one = 1, keep = 64 * MIB;
    OK(cudaMallocFromPoolAsync(&p, 32 * MIB, pool, s));
    OK(cudaMallocFromPoolAsync(&q, 96 * MIB, pool, s));
    CHECK_EQ_INT(statistic(pool, cudaMemPoolAttrUsedMemCurrent), 128 * MIB);
    CHECK(statistic(pool, cudaMemPoolAttrReservedMemCurrent) >= 128 * MIB);
    OK(cudaFreeAsync(q, s));
    CHECK_EQ_INT(statistic(pool, cudaMemPoolAttrUsedMemCurrent), 32 * MIB);
    CHECK_EQ_INT(statistic(pool, cudaMemPoolAttrUsedMemHigh), 128 * MIB);
    FAILS(cudaErrorInvalidValue, cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &one));
    OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &zero));
    CHECK_EQ_INT(statistic(pool, cudaMemPoolAttrUsedMemHigh), 32 * MIB);
    OK(cudaStreamSynchronize(s));
    CHECK(statistic(pool, cudaMemPoolAttrReservedMemCurrent) <= 64 * MIB);
    OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
    OK(cudaMallocFromPoolAsync(&q, 96 * MIB, pool, s));
    OK(cudaFreeAsync(q, s));
    OK(cudaFreeAsync(p, s));
    OK(cudaDeviceSynchronize());
    CHECK(statistic(pool, cudaMemPoolAttrReservedMemCurrent) >= 32 * MIB);
    CHECK(statistic(pool, cudaMemPoolAttrReservedMemCurrent) <= 64 * MIB);
    CHECK(statistic(pool, cudaMemPoolAttrReservedMemHigh) >= 128 * MIB);
    OK(cudaMemPoolTrimTo(pool, 0));
    CHECK_EQ_INT(statistic(pool, cudaMemPoolAttrReservedMemCurrent), 0);
    CHECK_EQ_INT(statistic(pool, cudaMemPoolAttrUsedMemCurrent), 0);
    OK(cudaMallocFromPoolAsync(&p, 1, pool, s)); // bytes as asked for
    OK(cudaMallocFromPoolAsync(&q, 513, pool, s));
    CHECK_EQ_INT(statistic(pool, cudaMemPoolAttrUsedMemCurrent), 514);
    OK(cudaFreeAsync(p, s));
    OK(cudaFreeAsync(q, s));
    OK(cudaMemPoolTrimTo(pool, 0)); // nobody has synchronized with the frees
    CHECK(statistic(pool, cudaMemPoolAttrReservedMemCurrent) > 0);
    OK(cudaMemPoolDestroy(pool));
    cudaGetLastError();
}

static void exhausted(cudaStream_t s)
{
    cudaMemPool_t pool = new_pool(64 * MIB);
    void *p, *q;
    OK(cudaMallocFromPoolAsync(&p, 48 * MIB, pool, s));
    FAILS(cudaErrorMemoryAllocation, cudaMallocFromPoolAsync(&q, 48 * MIB, pool, s));
    OK(cudaFreeAsync(p, s));
    OK(cudaMallocFromPoolAsync(&q, 48 * MIB, pool, s));
    OK(cudaFreeAsync(q, s));
    FAILS(cudaErrorMemoryAllocation, cudaMallocAsync(&q, (size_t)1 << 50, s));
    OK(cudaMemPoolDestroy(pool));
    cudaGetLastError();
}

// A11: the memory belongs to no context.
static void attributes(cudaStream_t s)
{
    cudaMemPool_t pool = new_pool();
    void *p;
    OK(cudaMallocFromPoolAsync(&p, 4096, pool, s));
    CUcontext context = (CUcontext)1;
    CUmemoryPool of = nullptr;
    int ordinal = -1;
    CUdeviceptr at = (CUdeviceptr)p + 100;
    CHECK_EQ_INT(cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, at), CUDA_SUCCESS);
    CHECK(context == nullptr);
    CHECK_EQ_INT(cuPointerGetAttribute(&of, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, at), CUDA_SUCCESS);
    CHECK((void *)of == (void *)pool || !driver_knows());
    CHECK_EQ_INT(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, at),
                 CUDA_SUCCESS);
    CHECK_EQ_INT(ordinal, 0);
    cudaPointerAttributes a;
    OK(cudaPointerGetAttributes(&a, p));
    CHECK_EQ_INT(a.type, cudaMemoryTypeDevice);
    OK(cudaFreeAsync(p, s));
    OK(cudaStreamSynchronize(s));
    OK(cudaMemPoolDestroy(pool));
}

// A stream goes while memory that was freed on it, and memory made on it, is still there.
static void stream_ends(cudaStream_t s)
{
    cudaStream_t other;
    int *p, *q, host[2] = {0, 0};
    OK(cudaStreamCreate(&other));
    OK(cudaMallocAsync(&p, MIB, other));
    OK(cudaMallocAsync(&q, MIB, other));
    fill<<<1, 2, 0, other>>>(q, 2, 5);
    OK(cudaFreeAsync(p, other));
    OK(cudaStreamDestroy(other));
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpyAsync(host, q, sizeof host, cudaMemcpyDeviceToHost, s));
    OK(cudaFreeAsync(q, s));
    OK(cudaStreamSynchronize(s));
    CHECK_EQ_INT(host[0] + host[1], 11);
}

int main()
{
    int supported = 0;
    OK(cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, 0));
    CHECK_EQ_INT(supported, 1);
    cudaStream_t s;
    OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    for (cudaStream_t stream : {s, (cudaStream_t)0, cudaStreamPerThread}) {
        contents(stream);
        same_stream(stream);
        kinds(stream);
    }
    pools(s);
    statistics(s);
    exhausted(s);
    attributes(s);
    stream_ends(s);
    OK(cudaStreamDestroy(s));
    return check_done();
}
