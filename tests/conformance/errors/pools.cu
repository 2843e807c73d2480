/* E1: wrong arguments of the stream-ordered allocator: pools, what is allocated from them, and what
 * is shared of them with other processes. */
// RUN own-pools: WEIR_POOLS=own
#include <unistd.h>

#include "errors.h"

static char not_a_handle[4096];

static cudaMemPool_t foreign_pool() { return (cudaMemPool_t)not_a_handle; }

static cudaMemPoolProps pool_props()
{
    cudaMemPoolProps p;
    memset(&p, 0, sizeof p);
    p.allocType = cudaMemAllocationTypePinned;
    p.location.type = cudaMemLocationTypeDevice;
    return p;
}

static cudaMemPool_t new_pool()
{
    cudaMemPoolProps p = pool_props();
    cudaMemPool_t m;
    MUST(cudaMemPoolCreate(&m, &p));
    return m;
}

static cudaMemPool_t destroyed_pool()
{
    cudaMemPool_t m = new_pool();
    MUST(cudaMemPoolDestroy(m));
    return m;
}

static cudaStream_t destroyed_stream()
{
    cudaStream_t s;
    MUST(cudaStreamCreate(&s));
    MUST(cudaStreamDestroy(s));
    return s;
}

static void allocating()
{
    cudaMemPool_t m = new_pool();
    cudaStream_t s;
    void *p, *q;
    char host[64];

    MUST(cudaStreamCreate(&s));
    ROW("size 0", cudaMallocAsync(&p, 0, s), cudaSuccess);
    ROW("no pointer", cudaMallocAsync((void **)nullptr, 16, s), cudaErrorInvalidValue);
    ROW("no pointer, size 0", cudaMallocAsync((void **)nullptr, 0, s), cudaErrorInvalidValue);
    ROW("too large", cudaMallocAsync(&p, (size_t)1 << 50, s), cudaErrorMemoryAllocation);
    ROW("as large as can be", cudaMallocAsync(&p, ~(size_t)0, s), cudaErrorMemoryAllocation);
    ROW_UNDEFINED("destroyed stream", cudaMallocAsync(&p, 16, destroyed_stream()),
                  cudaErrorInvalidResourceHandle);
    ROW("size 0", cudaMallocFromPoolAsync(&p, 0, m, s), cudaSuccess);
    ROW("no pointer", cudaMallocFromPoolAsync((void **)nullptr, 16, m, s), cudaErrorInvalidValue);
    ROW("no pool", cudaMallocFromPoolAsync(&p, 16, (cudaMemPool_t) nullptr, s),
        cudaErrorInvalidValue);
    ROW_UNDEFINED("destroyed pool", cudaMallocFromPoolAsync(&p, 16, destroyed_pool(), s),
                  cudaErrorInvalidValue);
    ROW_UNDEFINED("a pool that is none", cudaMallocFromPoolAsync(&p, 16, foreign_pool(), s),
                  cudaErrorInvalidValue);
    ROW("too large", cudaMallocFromPoolAsync(&p, (size_t)1 << 50, m, s), cudaErrorMemoryAllocation);

    ROW("nothing", cudaFreeAsync(nullptr, s), cudaSuccess);
    MUST(cudaMallocAsync(&p, 4096, s));
    ROW("inside", cudaFreeAsync((char *)p + 512, s), cudaErrorInvalidValue);
    ROW("one byte off", cudaFreeAsync((char *)p + 1, s), cudaErrorInvalidValue);
    ROW("stack", cudaFreeAsync(host, s), cudaErrorInvalidValue);
    ROW("low address", cudaFreeAsync((void *)16, s), cudaErrorInvalidValue);
    ROW_UNDEFINED("destroyed stream", cudaFreeAsync(p, destroyed_stream()),
                  cudaErrorInvalidResourceHandle);
    MUST(cudaMallocAsync(&q, 4096, s));
    MUST(cudaFreeAsync(q, s));
    ROW("freed twice", cudaFreeAsync(q, s), cudaErrorInvalidValue);
    ROW("freed before", cudaFree(q), cudaErrorInvalidValue);
    MUST(cudaMallocAsync(&q, 4096, s));
    MUST(cudaFree(q));
    ROW("freed by cudaFree", cudaFreeAsync(q, s), cudaErrorInvalidValue);
    MUST(cudaMalloc(&q, 4096));
    ROW("inside memory of cudaMalloc", cudaFreeAsync((char *)q + 256, s), cudaErrorInvalidValue);
    MUST(cudaMallocManaged(&q, 4096));
    ROW("managed memory", cudaFreeAsync(q, s), cudaErrorNotSupported);
    ROW("inside managed memory", cudaFreeAsync((char *)q + 256, s), cudaErrorInvalidValue);
    MUST(cudaMallocHost(&q, 4096));
    ROW("page-locked memory", cudaFreeAsync(q, s), cudaErrorInvalidValue);
}

static void making()
{
    cudaMemPoolProps p = pool_props(), r;
    cudaMemPool_t m, standard;

    MUST(cudaDeviceGetDefaultMemPool(&standard, 0));
    ROW("no pointer", cudaMemPoolCreate(nullptr, &p), cudaErrorInvalidValue);
    ROW("no properties", cudaMemPoolCreate(&m, nullptr), cudaErrorInvalidValue);
    memset(&r, 0, sizeof r);
    ROW("properties 0", cudaMemPoolCreate(&m, &r), cudaErrorInvalidValue);
    r = p;
    r.allocType = (cudaMemAllocationType)0;
    ROW("type 0", cudaMemPoolCreate(&m, &r), cudaErrorInvalidValue);
    r.allocType = (cudaMemAllocationType)99;
    ROW("unknown type", cudaMemPoolCreate(&m, &r), cudaErrorInvalidValue);
    r = p;
    r.location.type = (cudaMemLocationType)0;
    ROW("no place", cudaMemPoolCreate(&m, &r), cudaErrorInvalidValue);
    r.location.type = (cudaMemLocationType)99;
    ROW("unknown place", cudaMemPoolCreate(&m, &r), cudaErrorInvalidValue);
    r = p;
    r.location.id = 99;
    ROW("device 99", cudaMemPoolCreate(&m, &r), cudaErrorInvalidValue);
    r.location.id = -1;
    ROW("device -1", cudaMemPoolCreate(&m, &r), cudaErrorInvalidValue);
    r = p;
    r.handleTypes = cudaMemHandleTypeWin32;
    ROW("handles of Windows", cudaMemPoolCreate(&m, &r), cudaErrorInvalidValue);
    r.handleTypes = (cudaMemAllocationHandleType)64;
    ROW("unknown handles", cudaMemPoolCreate(&m, &r), cudaErrorInvalidValue);
    r = p;
    r.maxSize = (size_t)1 << 50;
    ROW("larger than the device", cudaMemPoolCreate(&m, &r), cudaErrorMemoryAllocation);
    r = p;
    r.handleTypes = cudaMemHandleTypePosixFileDescriptor;
    ROW("descriptors", cudaMemPoolCreate(&m, &r), cudaSuccess);
    r = p;
    r.usage = cudaMemPoolCreateUsageHwDecompress;
    ROW("for decompression", cudaMemPoolCreate(&m, &r), cudaSuccess);

    ROW("no pool", cudaMemPoolDestroy(nullptr), cudaErrorInvalidValue);
    ROW("default pool", cudaMemPoolDestroy(standard), cudaErrorInvalidValue);
    ROW_UNDEFINED("destroyed", cudaMemPoolDestroy(destroyed_pool()), cudaErrorInvalidValue);
    ROW_UNDEFINED("no pool", cudaMemPoolDestroy(foreign_pool()), cudaErrorInvalidValue);
}

static void of_devices()
{
    cudaMemPool_t m, mine = new_pool(), standard;
    cudaMemLocation l;
    int n;

    memset(&l, 0, sizeof l);
    l.type = cudaMemLocationTypeDevice;
    MUST(cudaGetDeviceCount(&n));
    MUST(cudaDeviceGetDefaultMemPool(&standard, 0));
    ROW("no pointer", cudaDeviceGetDefaultMemPool(nullptr, 0), cudaErrorInvalidValue);
    ROW("ordinal past the last", cudaDeviceGetDefaultMemPool(&m, n), cudaErrorInvalidDevice);
    ROW("ordinal -1", cudaDeviceGetDefaultMemPool(&m, -1), cudaErrorInvalidDevice);
    ROW("no pointer", cudaDeviceGetMemPool(nullptr, 0), cudaErrorInvalidValue);
    ROW("ordinal past the last", cudaDeviceGetMemPool(&m, n), cudaErrorInvalidValue);
    ROW("ordinal -1", cudaDeviceGetMemPool(&m, -1), cudaErrorInvalidValue);
    ROW("no pool", cudaDeviceSetMemPool(0, nullptr), cudaErrorInvalidValue);
    ROW("ordinal past the last", cudaDeviceSetMemPool(n, standard), cudaErrorInvalidValue);
    ROW("ordinal -1", cudaDeviceSetMemPool(-1, standard), cudaErrorInvalidValue);
    ROW_UNDEFINED("destroyed", cudaDeviceSetMemPool(0, destroyed_pool()), cudaErrorInvalidValue);
    ROW("fine", cudaDeviceSetMemPool(0, standard), cudaSuccess);

    ROW("no pointer", cudaMemGetDefaultMemPool(nullptr, &l, cudaMemAllocationTypePinned),
        cudaErrorInvalidValue);
    ROW("no place", cudaMemGetDefaultMemPool(&m, nullptr, cudaMemAllocationTypePinned),
        cudaErrorInvalidValue);
    ROW("type 0", cudaMemGetDefaultMemPool(&m, &l, (cudaMemAllocationType)0),
        cudaErrorInvalidValue);
    ROW("unknown type", cudaMemGetDefaultMemPool(&m, &l, (cudaMemAllocationType)99),
        cudaErrorInvalidValue);
    l.id = n;
    ROW("device past the last", cudaMemGetDefaultMemPool(&m, &l, cudaMemAllocationTypePinned),
        cudaErrorInvalidValue);
    ROW("device past the last", cudaMemGetMemPool(&m, &l, cudaMemAllocationTypePinned),
        cudaErrorInvalidValue);
    ROW("device past the last", cudaMemSetMemPool(&l, cudaMemAllocationTypePinned, mine),
        cudaErrorInvalidValue);
    l.id = 0;
    l.type = (cudaMemLocationType)99;
    ROW("unknown place", cudaMemGetDefaultMemPool(&m, &l, cudaMemAllocationTypePinned),
        cudaErrorNotSupported);
    ROW("unknown place", cudaMemGetMemPool(&m, &l, cudaMemAllocationTypePinned),
        cudaErrorNotSupported);
    ROW("unknown place", cudaMemSetMemPool(&l, cudaMemAllocationTypePinned, mine),
        cudaErrorNotSupported);
    l.type = cudaMemLocationTypeDevice;
    ROW("no pointer", cudaMemGetMemPool(nullptr, &l, cudaMemAllocationTypePinned),
        cudaErrorInvalidValue);
    ROW("no place", cudaMemGetMemPool(&m, nullptr, cudaMemAllocationTypePinned),
        cudaErrorInvalidValue);
    ROW("unknown type", cudaMemGetMemPool(&m, &l, (cudaMemAllocationType)99),
        cudaErrorInvalidValue);
    ROW("no pool", cudaMemSetMemPool(&l, cudaMemAllocationTypePinned, nullptr),
        cudaErrorInvalidValue);
    ROW("no place", cudaMemSetMemPool(nullptr, cudaMemAllocationTypePinned, mine),
        cudaErrorInvalidValue);
    ROW("unknown type", cudaMemSetMemPool(&l, (cudaMemAllocationType)99, mine),
        cudaErrorInvalidValue);
    ROW("a pool of another type", cudaMemSetMemPool(&l, cudaMemAllocationTypeManaged, mine),
        cudaErrorInvalidValue);
    ROW("fine", cudaMemSetMemPool(&l, cudaMemAllocationTypePinned, standard), cudaSuccess);
}

static void figures()
{
    cudaMemPool_t m = new_pool();
    unsigned long long value = 7;
    int flag = 5;

    ROW("no pool", cudaMemPoolGetAttribute(nullptr, cudaMemPoolAttrUsedMemHigh, &value),
        cudaErrorInvalidValue);
    ROW("no pointer", cudaMemPoolGetAttribute(m, cudaMemPoolAttrUsedMemHigh, nullptr),
        cudaErrorInvalidValue);
    ROW("attribute 0", cudaMemPoolGetAttribute(m, (cudaMemPoolAttr)0, &value),
        cudaErrorInvalidValue);
    ROW("attribute 99", cudaMemPoolGetAttribute(m, (cudaMemPoolAttr)99, &value),
        cudaErrorInvalidValue);
    ROW_UNDEFINED("destroyed",
                  cudaMemPoolGetAttribute(destroyed_pool(), cudaMemPoolAttrUsedMemHigh, &value),
                  cudaErrorInvalidValue);
    ROW("no pool", cudaMemPoolSetAttribute(nullptr, cudaMemPoolAttrReleaseThreshold, &value),
        cudaErrorInvalidValue);
    ROW_CRASH("no pointer", cudaMemPoolSetAttribute(m, cudaMemPoolAttrReleaseThreshold, nullptr),
              cudaErrorInvalidValue);
    ROW("attribute 0", cudaMemPoolSetAttribute(m, (cudaMemPoolAttr)0, &value),
        cudaErrorInvalidValue);
    ROW("attribute 99", cudaMemPoolSetAttribute(m, (cudaMemPoolAttr)99, &value),
        cudaErrorInvalidValue);
    ROW("a figure", cudaMemPoolSetAttribute(m, cudaMemPoolAttrUsedMemCurrent, &value),
        cudaErrorInvalidValue);
    ROW("a figure", cudaMemPoolSetAttribute(m, cudaMemPoolAttrReservedMemCurrent, &value),
        cudaErrorInvalidValue);
    ROW("high-water mark, not 0", cudaMemPoolSetAttribute(m, cudaMemPoolAttrUsedMemHigh, &value),
        cudaErrorInvalidValue);
    ROW("high-water mark, not 0",
        cudaMemPoolSetAttribute(m, cudaMemPoolAttrReservedMemHigh, &value), cudaErrorInvalidValue);
    ROW("a switch, 5", cudaMemPoolSetAttribute(m, cudaMemPoolReuseAllowOpportunistic, &flag),
        cudaSuccess);
    ROW("no pool", cudaMemPoolTrimTo(nullptr, 0), cudaErrorInvalidValue);
    ROW("more than there is", cudaMemPoolTrimTo(m, ~(size_t)0), cudaSuccess);
    ROW_UNDEFINED("destroyed", cudaMemPoolTrimTo(destroyed_pool(), 0), cudaErrorInvalidValue);
}

static void rights()
{
    cudaMemPool_t m = new_pool();
    cudaMemAccessDesc a;
    cudaMemAccessFlags f;
    cudaMemLocation l;

    memset(&a, 0, sizeof a);
    memset(&l, 0, sizeof l);
    a.location.type = l.type = cudaMemLocationTypeDevice;
    a.flags = cudaMemAccessFlagsProtNone;
    ROW("the owner's taken", cudaMemPoolSetAccess(m, &a, 1), cudaErrorInvalidDevice);
    a.flags = cudaMemAccessFlagsProtRead;
    ROW("reading alone", cudaMemPoolSetAccess(m, &a, 1), cudaErrorNotSupported);
    a.flags = (cudaMemAccessFlags)2;
    ROW("unknown rights", cudaMemPoolSetAccess(m, &a, 1), cudaErrorInvalidValue);
    a.flags = cudaMemAccessFlagsProtReadWrite;
    ROW("the owner's", cudaMemPoolSetAccess(m, &a, 1), cudaSuccess);
    ROW("count 0", cudaMemPoolSetAccess(m, &a, 0), cudaSuccess);
    ROW("count 0 and no list", cudaMemPoolSetAccess(m, nullptr, 0), cudaSuccess);
    ROW_CRASH("no list", cudaMemPoolSetAccess(m, nullptr, 1), cudaErrorInvalidValue);
    ROW("no pool", cudaMemPoolSetAccess(nullptr, &a, 1), cudaErrorInvalidValue);
    ROW_UNDEFINED("destroyed", cudaMemPoolSetAccess(destroyed_pool(), &a, 1),
                  cudaErrorInvalidValue);
    a.location.id = 99;
    ROW("device 99", cudaMemPoolSetAccess(m, &a, 1), cudaErrorInvalidDevice);
    a.location.id = 0;
    a.location.type = cudaMemLocationTypeHost;
    ROW("the host's", cudaMemPoolSetAccess(m, &a, 1), cudaErrorNotSupported);
    a.location.type = (cudaMemLocationType)99;
    ROW("unknown place", cudaMemPoolSetAccess(m, &a, 1), cudaErrorNotSupported);
    ROW_CRASH("no pointer", cudaMemPoolGetAccess(nullptr, m, &l), cudaErrorInvalidValue);
    ROW("no pool", cudaMemPoolGetAccess(&f, nullptr, &l), cudaErrorInvalidValue);
    ROW_CRASH("no place", cudaMemPoolGetAccess(&f, m, nullptr), cudaErrorInvalidValue);
    l.id = 99;
    ROW("device 99", cudaMemPoolGetAccess(&f, m, &l), cudaErrorInvalidValue);
    l.id = 0;
    l.type = (cudaMemLocationType)99;
    ROW("unknown place", cudaMemPoolGetAccess(&f, m, &l), cudaErrorInvalidValue);
    l.type = cudaMemLocationTypeHost;
    ROW("the host", cudaMemPoolGetAccess(&f, m, &l), cudaSuccess);
}

static void sharing()
{
    const cudaMemAllocationHandleType fds = cudaMemHandleTypePosixFileDescriptor;
    cudaMemPoolProps props = pool_props();
    cudaMemPool_t m = new_pool(), shared, m2;
    cudaMemPoolPtrExportData data;
    int fd = -1, no_file = -1, other_file = dup(0);
    void *p, *q, *of_shared;

    props.handleTypes = fds;
    memset(&data, 0, sizeof data);
    MUST(cudaMemPoolCreate(&shared, &props));
    MUST(cudaMallocFromPoolAsync(&p, 64, m, 0));
    MUST(cudaMallocFromPoolAsync(&of_shared, 64, shared, 0));
    ROW("no pointer", cudaMemPoolExportToShareableHandle(nullptr, shared, fds, 0),
        cudaErrorInvalidValue);
    ROW("no pool", cudaMemPoolExportToShareableHandle(&fd, nullptr, fds, 0), cudaErrorInvalidValue);
    ROW("a pool that is not shared", cudaMemPoolExportToShareableHandle(&fd, m, fds, 0),
        cudaErrorInvalidValue);
    ROW("no type", cudaMemPoolExportToShareableHandle(&fd, shared, cudaMemHandleTypeNone, 0),
        cudaErrorInvalidValue);
    ROW("another type", cudaMemPoolExportToShareableHandle(&fd, shared, cudaMemHandleTypeWin32, 0),
        cudaErrorInvalidValue);
    ROW("flags 1", cudaMemPoolExportToShareableHandle(&fd, shared, fds, 1), cudaErrorInvalidValue);
    MUST(cudaMemPoolExportToShareableHandle(&fd, shared, fds, 0));
    ROW("no pointer", cudaMemPoolImportFromShareableHandle(nullptr, (void *)(size_t)fd, fds, 0),
        cudaErrorInvalidValue);
    ROW("no file", cudaMemPoolImportFromShareableHandle(&m2, (void *)(size_t)no_file, fds, 0),
        cudaErrorUnknown);
    ROW("another file",
        cudaMemPoolImportFromShareableHandle(&m2, (void *)(size_t)other_file, fds, 0),
        cudaErrorUnknown);
    ROW("no type",
        cudaMemPoolImportFromShareableHandle(&m2, (void *)(size_t)fd, cudaMemHandleTypeNone, 0),
        cudaErrorInvalidValue);
    ROW("flags 1", cudaMemPoolImportFromShareableHandle(&m2, (void *)(size_t)fd, fds, 1),
        cudaErrorInvalidValue);
    ROW("no data", cudaMemPoolExportPointer(nullptr, of_shared), cudaErrorInvalidValue);
    ROW("nothing", cudaMemPoolExportPointer(&data, nullptr), cudaErrorInvalidValue);
    ROW("stack", cudaMemPoolExportPointer(&data, &fd), cudaErrorInvalidValue);
    ROW("of a pool that is not shared", cudaMemPoolExportPointer(&data, p), cudaErrorInvalidValue);
    MUST(cudaMalloc(&q, 64));
    ROW("memory of cudaMalloc", cudaMemPoolExportPointer(&data, q), cudaErrorInvalidValue);
    ROW("no pointer", cudaMemPoolImportPointer(nullptr, shared, &data), cudaErrorInvalidValue);
    ROW("no pool", cudaMemPoolImportPointer(&q, nullptr, &data), cudaErrorInvalidValue);
    ROW("no data", cudaMemPoolImportPointer(&q, shared, nullptr), cudaErrorInvalidValue);
    ROW("a pool that is not imported", cudaMemPoolImportPointer(&q, m, &data),
        cudaErrorInvalidValue);
}

static void rows()
{
    allocating();
    making();
    of_devices();
    figures();
    rights();
    sharing();
}

ERROR_TABLE_MAIN(rows)
