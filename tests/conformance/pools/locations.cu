// A4, E1: pools of host memory and of managed memory: what can be made, which pool each place uses,
// who may reach them, what their pointers are. (cudaMemGetMemPool and its kin came with CUDA 13.)
// RUN own-pools: WEIR_POOLS=own
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdlib>

#include "check.h"

#define OK(call) CHECK_STR(cudaGetErrorName(call), "cudaSuccess")
#define ERROR(call, code)                                                                          \
    do {                                                                                           \
        CHECK_STR(cudaGetErrorName(call), #code);                                                  \
        cudaGetLastError();                                                                        \
    } while (0)

static const size_t MIB = 1 << 20;

__global__ void put(int *p, int value) { *p = value; }

static cudaMemPoolProps props(cudaMemAllocationType type, cudaMemLocationType where, int id = 0)
{
    cudaMemPoolProps p = {};
    p.allocType = type;
    p.location.type = where;
    p.location.id = id;
    return p;
}

static cudaMemPool_t make(cudaMemAllocationType type, cudaMemLocationType where)
{
    cudaMemPoolProps p = props(type, where);
    cudaMemPool_t pool = nullptr;
    OK(cudaMemPoolCreate(&pool, &p));
    return pool;
}

static cudaMemLocation place(cudaMemLocationType where, int id = 0)
{
    cudaMemLocation l = {};
    l.type = where;
    l.id = id;
    return l;
}

static unsigned long long statistic(cudaMemPool_t pool, cudaMemPoolAttr which)
{
    unsigned long long value = ~0ull;
    OK(cudaMemPoolGetAttribute(pool, which, &value));
    return value;
}

#define CREATE(type, where, id, handles, code)                                                     \
    do {                                                                                           \
        cudaMemPoolProps properties =                                                              \
            props((cudaMemAllocationType)(type), (cudaMemLocationType)(where), id);                \
        properties.handleTypes = (cudaMemAllocationHandleType)(handles);                           \
        cudaMemPool_t created = nullptr;                                                           \
        ERROR(cudaMemPoolCreate(&created, &properties), code);                                     \
        if (created)                                                                               \
            OK(cudaMemPoolDestroy(created));                                                       \
    } while (0)

static void what_can_be_made()
{
    const int PINNED = cudaMemAllocationTypePinned, MANAGED = 2;
    const int NONE = 0, DEVICE = 1, HOST = 2, NUMA = 3, CURRENT = 4;
    int devices = 0;
    OK(cudaGetDeviceCount(&devices));
    CREATE(PINNED, HOST, 0, 0, cudaSuccess);
    CREATE(PINNED, HOST, 99, 0, cudaSuccess); // it has no number
    CREATE(PINNED, HOST, 0, 1, cudaErrorInvalidValue);
    CREATE(PINNED, NUMA, 0, 0, cudaSuccess);
    CREATE(PINNED, NUMA, 0, 1, cudaSuccess);
    CREATE(PINNED, NUMA, 4000, 0, cudaErrorInvalidValue);
    CREATE(PINNED, NUMA, -1, 0, cudaErrorInvalidValue);
    CREATE(PINNED, CURRENT, 0, 0, cudaErrorInvalidValue);
    CREATE(PINNED, NONE, 0, 0, cudaErrorInvalidValue);
    CREATE(PINNED, DEVICE, devices, 0, cudaErrorInvalidValue);
    CREATE(MANAGED, NONE, 0, 0, cudaSuccess);
    CREATE(MANAGED, DEVICE, 0, 0, cudaSuccess);
    CREATE(MANAGED, DEVICE, devices, 0, cudaErrorInvalidValue);
    CREATE(MANAGED, HOST, 0, 0, cudaSuccess);
    CREATE(MANAGED, NUMA, 0, 0, cudaSuccess);
    CREATE(MANAGED, CURRENT, 0, 0, cudaSuccess);
    CREATE(MANAGED, NONE, 0, 1, cudaErrorInvalidValue);
    CREATE(0, HOST, 0, 0, cudaErrorInvalidValue);
    CREATE(3, HOST, 0, 0, cudaErrorInvalidValue);
    cudaMemPoolProps p = props((cudaMemAllocationType)MANAGED, (cudaMemLocationType)NONE);
    cudaMemPool_t pool;
    p.maxSize = 64 * MIB;
    ERROR(cudaMemPoolCreate(&pool, &p), cudaErrorInvalidValue);
}

static void sizes()
{
    cudaMemPoolProps p = props(cudaMemAllocationTypePinned, cudaMemLocationTypeHost);
    cudaMemPool_t pool;
    void *at[65];
    int n = 0;
    p.maxSize = 40 * MIB; // rounded up
    OK(cudaMemPoolCreate(&pool, &p));
    while (n < 65 && cudaMallocFromPoolAsync(&at[n], MIB, pool, 0) == cudaSuccess)
        n++;
    ERROR(cudaGetLastError(), cudaErrorMemoryAllocation);
    CHECK_EQ_INT(n, 64);
    while (n > 0)
        OK(cudaFreeAsync(at[--n], 0));
    OK(cudaMemPoolDestroy(pool));
}

#if CUDART_VERSION >= 13000
static void defaults()
{
    const cudaMemAllocationType PINNED = cudaMemAllocationTypePinned,
                                MANAGED = cudaMemAllocationTypeManaged;
    cudaMemLocation none = place(cudaMemLocationTypeNone),
                    device = place(cudaMemLocationTypeDevice),
                    host = place(cudaMemLocationTypeHost),
                    numa = place(cudaMemLocationTypeHostNuma),
                    current = place(cudaMemLocationTypeHostNumaCurrent),
                    nobody = place(cudaMemLocationTypeDevice, 4000);
    cudaMemPool_t of_device, a, b;
    OK(cudaDeviceGetDefaultMemPool(&of_device, 0));
    struct {
        cudaMemLocation *where;
        cudaMemAllocationType type;
    } places[] = {{&device, PINNED},  {&host, PINNED},  {&numa, PINNED}, {&none, MANAGED},
                  {&device, MANAGED}, {&host, MANAGED}, {&numa, MANAGED}};
    for (auto &p : places) {
        OK(cudaMemGetDefaultMemPool(&a, p.where, p.type));
        OK(cudaMemGetMemPool(&b, p.where, p.type));
        CHECK(a == b);
        CHECK_EQ_INT(a == of_device, p.where == &device && p.type == PINNED);
        OK(cudaMemSetMemPool(p.where, p.type, a));
        ERROR(cudaMemPoolDestroy(a), cudaErrorInvalidValue);
    }
    ERROR(cudaMemGetDefaultMemPool(&a, &none, PINNED), cudaErrorInvalidValue);
    ERROR(cudaMemGetDefaultMemPool(&a, &nobody, PINNED), cudaErrorInvalidValue);
    ERROR(cudaMemGetDefaultMemPool(&a, &nobody, MANAGED), cudaErrorInvalidValue);
    ERROR(cudaMemGetDefaultMemPool(&a, &current, MANAGED), cudaErrorNotSupported);
    ERROR(cudaMemGetMemPool(&a, &current, PINNED), cudaErrorNotSupported);
    ERROR(cudaMemGetMemPool(&a, &host, (cudaMemAllocationType)3), cudaErrorInvalidValue);
    ERROR(cudaMemGetMemPool(&a, &host, (cudaMemAllocationType)0), cudaErrorInvalidValue);
    ERROR(cudaMemGetDefaultMemPool(&a, nullptr, PINNED), cudaErrorInvalidValue);
    ERROR(cudaMemGetDefaultMemPool(nullptr, &host, PINNED), cudaErrorInvalidValue);
    ERROR(cudaMemGetMemPool(nullptr, &host, PINNED), cudaErrorInvalidValue);
    // A place takes pools of its own kind only.
    cudaMemPool_t mine = make(PINNED, cudaMemLocationTypeHost);
    OK(cudaMemSetMemPool(&host, PINNED, mine));
    OK(cudaMemGetMemPool(&a, &host, PINNED));
    CHECK(a == mine);
    ERROR(cudaMemSetMemPool(&host, MANAGED, mine), cudaErrorInvalidValue);
    ERROR(cudaMemSetMemPool(&device, PINNED, mine), cudaErrorInvalidValue);
    ERROR(cudaMemSetMemPool(&host, PINNED, of_device), cudaErrorInvalidValue);
    ERROR(cudaMemSetMemPool(&host, PINNED, nullptr), cudaErrorInvalidValue);
    ERROR(cudaDeviceSetMemPool(0, mine), cudaErrorInvalidValue);
    OK(cudaMemGetDefaultMemPool(&b, &host, PINNED));
    OK(cudaMemSetMemPool(&host, PINNED, b));
    OK(cudaMemPoolDestroy(mine));
    // What a device uses for managed memory is not what it uses for its own.
    mine = make(MANAGED, cudaMemLocationTypeDevice);
    OK(cudaDeviceSetMemPool(0, mine));
    OK(cudaMemGetMemPool(&a, &device, MANAGED));
    CHECK(a == mine);
    OK(cudaDeviceGetMemPool(&a, 0));
    CHECK(a == of_device);
    OK(cudaMemGetDefaultMemPool(&b, &device, MANAGED));
    OK(cudaMemSetMemPool(&device, MANAGED, b));
    OK(cudaMemPoolDestroy(mine));
}
#endif

static cudaError_t set(cudaMemPool_t pool, int where, int flags)
{
    cudaMemAccessDesc a = {};
    a.location = place((cudaMemLocationType)where);
    a.flags = (cudaMemAccessFlags)flags;
    return cudaMemPoolSetAccess(pool, &a, 1);
}

static int get(cudaMemPool_t pool, int where)
{
    cudaMemLocation l = place((cudaMemLocationType)where);
    cudaMemAccessFlags flags = cudaMemAccessFlagsProtRead;
    OK(cudaMemPoolGetAccess(&flags, pool, &l));
    return flags;
}

static void access_of_host(cudaMemLocationType where)
{
    cudaMemPool_t pool = make(cudaMemAllocationTypePinned, where);
    cudaMemLocation none = place((cudaMemLocationType)0);
    cudaMemAccessFlags flags;
    CHECK_EQ_INT(get(pool, 1), 0);
    CHECK_EQ_INT(get(pool, 2), 3);
    CHECK_EQ_INT(get(pool, 3), 3);
    ERROR(cudaMemPoolGetAccess(&flags, pool, &none), cudaErrorInvalidValue);
    for (int place = 0; place < 5; place++)
        ERROR(set(pool, place, 1), cudaErrorNotSupported); // reading only
    ERROR(set(pool, 0, 3), cudaErrorInvalidValue);
    ERROR(set(pool, 4, 3), cudaErrorInvalidValue);
    OK(set(pool, 2, 3));
    OK(set(pool, 3, 3));
    ERROR(set(pool, 2, 0), cudaErrorNotSupported); // its own
    ERROR(set(pool, 3, 0), cudaErrorNotSupported);
    OK(set(pool, 1, 3));
    CHECK_EQ_INT(get(pool, 1), 3);
    OK(set(pool, 1, 0));
    CHECK_EQ_INT(get(pool, 1), 0);
    OK(cudaMemPoolDestroy(pool));
}

static void access_of_managed()
{
    cudaMemPool_t pool = make((cudaMemAllocationType)2, (cudaMemLocationType)0);
    for (int place = 1; place < 4; place++) {
        CHECK_EQ_INT(get(pool, place), 0);
        OK(set(pool, place, 3));
        CHECK_EQ_INT(get(pool, place), 3);
        OK(set(pool, place, 0));
        CHECK_EQ_INT(get(pool, place), 0);
        ERROR(set(pool, place, 1), cudaErrorNotSupported);
    }
    ERROR(set(pool, 0, 3), cudaErrorInvalidValue);
    ERROR(set(pool, 4, 0), cudaErrorInvalidValue);
    OK(cudaMemPoolDestroy(pool));
}

static void access_of_device()
{
    cudaMemPool_t pool = make(cudaMemAllocationTypePinned, cudaMemLocationTypeDevice);
    for (int place = 2; place < 5; place++)
        for (int flags = 0; flags < 4; flags += flags == 0 ? 1 : 2)
            ERROR(set(pool, place, flags), cudaErrorNotSupported);
    CHECK_EQ_INT(get(pool, 1), 3);
    CHECK_EQ_INT(get(pool, 2), 0);
    CHECK_EQ_INT(get(pool, 3), 0);
    OK(cudaMemPoolDestroy(pool));
}

static void host_memory(cudaMemLocationType where)
{
    cudaMemPool_t pool = make(cudaMemAllocationTypePinned, where), of;
    cudaStream_t s;
    cudaPointerAttributes a;
    int *p, *q, *d;
    OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    OK(cudaMallocFromPoolAsync(&p, MIB, pool, s));
    OK(cudaStreamSynchronize(s));
    CHECK_EQ_INT(statistic(pool, cudaMemPoolAttrUsedMemCurrent), MIB);
    p[0] = 1; // it is the host's
    p[1] = 2;
    OK(cudaPointerGetAttributes(&a, p));
    CHECK_EQ_INT(a.type, cudaMemoryTypeHost);
    CHECK(a.hostPointer == p && a.devicePointer == nullptr);
    CUdeviceptr at = (CUdeviceptr)p;
    CUcontext c = (CUcontext)p;
    unsigned kind = 0, managed = 9;
    size_t size = 0;
    CHECK_EQ_INT(cuPointerGetAttribute(&kind, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at), 0);
    CHECK_EQ_INT(cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, at), 0);
    CHECK_EQ_INT(cuPointerGetAttribute(&c, CU_POINTER_ATTRIBUTE_CONTEXT, at), 0);
    CHECK_EQ_INT(cuPointerGetAttribute(&of, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, at), 0);
    CHECK_EQ_INT(cuPointerGetAttribute(&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, at + 8), 0);
    CHECK_EQ_INT(cuPointerGetAttribute(&at, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, at),
                 CUDA_ERROR_INVALID_VALUE);
    CHECK(kind == CU_MEMORYTYPE_HOST && managed == 0 && c == nullptr && of == pool && size == MIB);
    // Sets are the device's, and need access; copies are whoever's, but for those that name a
    // device's side.
    OK(cudaMalloc(&d, MIB));
    for (int flags : {0, 3, 0}) {
        OK(set(pool, 1, flags));
        cudaError_t error = cudaMemsetAsync(p, 7, 64, s);
        CHECK_EQ_INT(error, flags == 0 ? cudaErrorInvalidValue : cudaSuccess);
        OK(cudaStreamSynchronize(s));
        CHECK_EQ_INT(cudaMemset2D(p, 64, 1, 16, 4),
                     flags == 0 ? cudaErrorInvalidValue : cudaSuccess);
        OK(cudaStreamSynchronize(s));
        int there[16];
        ERROR(cudaMemcpy(there, p, sizeof there, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
        ERROR(cudaMemcpy(p, there, sizeof there, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
        ERROR(cudaMemcpyAsync(p, d, 64, cudaMemcpyDeviceToDevice, s), cudaErrorInvalidValue);
        p[0] = 1;
        p[1] = 2;
        OK(cudaMemcpyAsync(d, p, 64, cudaMemcpyHostToDevice, s));
        OK(cudaMemcpyAsync(p, d, 64, cudaMemcpyDeviceToHost, s));
        OK(cudaMemcpyAsync(p, d, 64, cudaMemcpyDefault, s));
        OK(cudaStreamSynchronize(s));
    }
    OK(cudaFree(d));
    cudaGetLastError();
    // Kernels reach it when the device has access.
    OK(set(pool, 1, 3));
    put<<<1, 1, 0, s>>>(p, 42);
    OK(cudaStreamSynchronize(s));
    CHECK(p[0] == 42 && p[1] == 2);
    OK(cudaMalloc(&d, MIB));
    OK(cudaMemcpyAsync(d, p, MIB, cudaMemcpyDefault, s));
    OK(cudaMemsetAsync(p, 0, MIB, s));
    OK(cudaMemcpyAsync(p, d, 8, cudaMemcpyDefault, s));
    OK(cudaStreamSynchronize(s));
    CHECK(p[0] == 42 && p[1] == 2 && p[2] == 0);
    OK(cudaFree(d));
    // Freed and used again in the order of streams.
    OK(cudaFreeAsync(p, s));
    CHECK_EQ_INT(statistic(pool, cudaMemPoolAttrUsedMemCurrent), 0);
    OK(cudaMallocFromPoolAsync(&q, MIB, pool, s));
    CHECK(p == q);
    ERROR(cudaFreeHost(q), cudaErrorInvalidValue);
    OK(cudaFree(q));
    ERROR(cudaFree(q), cudaErrorInvalidValue);
    ERROR(cudaFreeAsync(q, s), cudaErrorInvalidValue);
    ERROR(cudaMallocFromPoolAsync(&q, (size_t)1 << 50, pool, s), cudaErrorMemoryAllocation);
    OK(cudaStreamSynchronize(s));
    CHECK_EQ_INT(statistic(pool, cudaMemPoolAttrReservedMemCurrent), 0);
    OK(cudaMemPoolDestroy(pool));
    OK(cudaStreamDestroy(s));
}

static void managed_memory(cudaMemLocationType where)
{
    cudaMemPool_t pool = make((cudaMemAllocationType)2, where), of;
    cudaStream_t s;
    cudaPointerAttributes a;
    int *p, *q, handle;
    void *other;
    OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    OK(cudaMallocFromPoolAsync(&p, MIB, pool, s));
    OK(cudaStreamSynchronize(s));
    OK(cudaPointerGetAttributes(&a, p));
    CHECK_EQ_INT(a.type, cudaMemoryTypeManaged);
    CHECK(a.hostPointer == p && a.devicePointer == p);
    CUdeviceptr at = (CUdeviceptr)p;
    CUcontext c = (CUcontext)p;
    unsigned kind = 0, managed = 0;
    CHECK_EQ_INT(cuPointerGetAttribute(&kind, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at), 0);
    CHECK_EQ_INT(cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, at), 0);
    CHECK_EQ_INT(cuPointerGetAttribute(&c, CU_POINTER_ATTRIBUTE_CONTEXT, at), 0);
    CHECK_EQ_INT(cuPointerGetAttribute(&of, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, at), 0);
    CHECK(kind == CU_MEMORYTYPE_DEVICE && managed == 1 && c == nullptr && of == pool);
    p[1] = 5;
    put<<<1, 1, 0, s>>>(p, 42);
    OK(cudaStreamSynchronize(s));
    CHECK(p[0] == 42 && p[1] == 5);
    OK(cudaFreeAsync(p, s));
    OK(cudaMallocFromPoolAsync(&q, MIB, pool, s));
    CHECK(p == q);
#if CUDART_VERSION >= 13000
    OK(cudaMemPrefetchAsync(q, MIB, place(cudaMemLocationTypeDevice), 0, s));
    ERROR(cudaMemAdvise(q, MIB, cudaMemAdviseSetReadMostly, place(cudaMemLocationTypeDevice)),
          cudaErrorNotSupported);
#endif
    ERROR(cudaStreamAttachMemAsync(s, q), cudaErrorInvalidValue);
    ERROR(cudaHostGetDevicePointer(&other, q, 0), cudaErrorInvalidValue);
    ERROR(cudaFreeHost(q), cudaErrorInvalidValue);
    ERROR(
        cudaMemPoolExportToShareableHandle(&handle, pool, cudaMemHandleTypePosixFileDescriptor, 0),
        cudaErrorInvalidValue);
    OK(cudaFree(q));
    ERROR(cudaFree(q), cudaErrorInvalidValue);
    OK(cudaStreamSynchronize(s));
    CHECK_EQ_INT(statistic(pool, cudaMemPoolAttrReservedMemCurrent), 0);
    OK(cudaMemPoolDestroy(pool));
    OK(cudaStreamDestroy(s));
}

int main()
{
    int pools = 0, managed = 0;
    OK(cudaDeviceGetAttribute(&pools, cudaDevAttrMemoryPoolsSupported, 0));
    OK(cudaDeviceGetAttribute(&managed, cudaDevAttrConcurrentManagedAccess, 0));
    if (!pools || CUDART_VERSION < 13000)
        return check_done();
    sizes();
    host_memory(cudaMemLocationTypeHost);
    host_memory(cudaMemLocationTypeHostNuma);
    access_of_host(cudaMemLocationTypeHost);
    access_of_host(cudaMemLocationTypeHostNuma);
    access_of_device();
    if (managed) { // as on every GPU of Linux since 2016
        what_can_be_made();
        access_of_managed();
        managed_memory((cudaMemLocationType)0);
        managed_memory(cudaMemLocationTypeDevice);
        managed_memory(cudaMemLocationTypeHost);
    }
#if CUDART_VERSION >= 13000
    defaults();
#endif
    CHECK_EQ_INT(cudaGetLastError(), cudaSuccess);
    return check_done();
}
