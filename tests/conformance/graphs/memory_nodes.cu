/* S9: allocations of graphs: addresses known when the node is made, memory that lives from the node
 * that allocates to the one that frees, memory that outlives the graph, what graphs with such nodes
 * cannot do, and the figures about it. */
// RUN own-pools: WEIR_POOLS=own
#include <cstdlib>
#include <vector>

#include <cuda.h>

#include "check.h"
#include "on_weir.h"

#define OK(call)         CHECK_STR(cudaGetErrorName(call), "cudaSuccess")
#define FAILS(call, why) CHECK_STR(cudaGetErrorName(call), #why)
#define DRIVER(call)     CHECK_EQ_INT(call, CUDA_SUCCESS)

static const size_t MIB = 1 << 20;

__global__ void put(int *p, int value) { *p = value; }
__global__ void fill(int *p, int n, int value)
{
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        p[i] = value + i;
}
/* Takes its time, so that whoever shares the memory is found out. */
__global__ void count_wrong(const int *p, int n, int value, int *wrong)
{
    for (int pass = 0; pass < 4; pass++)
        for (int i = threadIdx.x; i < n; i += blockDim.x)
            if (p[i] != value + i)
                atomicAdd(wrong, 1);
}

template <class... T> struct Args {
    void *pointers[sizeof...(T)];
    explicit Args(T &...values) : pointers{(void *)&values...} {}
};

static cudaGraphNode_t kernel(cudaGraph_t g, cudaGraphNode_t after, void *func, void **args,
                              unsigned block = 1)
{
    cudaKernelNodeParams p;
    cudaGraphNode_t n = nullptr;
    memset(&p, 0, sizeof p);
    p.func = func;
    p.gridDim = dim3(1);
    p.blockDim = dim3(block);
    p.kernelParams = args;
    OK(cudaGraphAddKernelNode(&n, g, after != nullptr ? &after : nullptr, after != nullptr, &p));
    return n;
}

static cudaMemAllocNodeParams wish(size_t bytes)
{
    cudaMemAllocNodeParams p;
    memset(&p, 0, sizeof p);
    p.poolProps.allocType = cudaMemAllocationTypePinned;
    p.poolProps.location.type = cudaMemLocationTypeDevice;
    p.bytesize = bytes;
    return p;
}

static cudaGraphNode_t alloc(cudaGraph_t g, cudaGraphNode_t after, size_t bytes, int **out)
{
    cudaMemAllocNodeParams p = wish(bytes);
    cudaGraphNode_t n = nullptr;
    OK(cudaGraphAddMemAllocNode(&n, g, after != nullptr ? &after : nullptr, after != nullptr, &p));
    CHECK(p.dptr != nullptr);
    *out = (int *)p.dptr;
    return n;
}

static cudaGraphNode_t release(cudaGraph_t g, cudaGraphNode_t after, int *p)
{
    cudaGraphNode_t n = nullptr;
    OK(cudaGraphAddMemFreeNode(&n, g, after != nullptr ? &after : nullptr, after != nullptr, p));
    return n;
}

static cudaGraph_t graph()
{
    cudaGraph_t g = nullptr;
    OK(cudaGraphCreate(&g, 0));
    return g;
}

static cudaGraphExec_t exec(cudaGraph_t g, unsigned flags = 0)
{
    cudaGraphExec_t e = nullptr;
    OK(cudaGraphInstantiate(&e, g, flags));
    return e;
}

static unsigned long long figure(cudaGraphMemAttributeType which)
{
    unsigned long long value = 0;
    OK(cudaDeviceGetGraphMemAttribute(0, which, &value));
    return value;
}

/* Allocated, written, read and freed, and the same again. */
static void inside(cudaStream_t s)
{
    cudaGraph_t g = graph();
    int *p, value = 77, *pinned;
    OK(cudaMallocHost(&pinned, sizeof *pinned));
    CHECK_EQ_INT(figure(cudaGraphMemAttrUsedMemCurrent), 0);
    cudaGraphNode_t a = alloc(g, nullptr, MIB, &p), c;
    Args<int *, int> args(p, value);
    cudaGraphNode_t k = kernel(g, a, (void *)put, args.pointers);
    OK(cudaGraphAddMemcpyNode1D(&c, g, &k, 1, pinned, p, sizeof *p, cudaMemcpyDeviceToHost));
    release(g, c, p);
    cudaGraphExec_t e = exec(g);
    CHECK_EQ_INT(figure(cudaGraphMemAttrReservedMemCurrent), 0); /* nothing before a launch */
    for (int i = 0; i < 3; i++) {
        *pinned = 0;
        OK(cudaGraphLaunch(e, s));
        OK(cudaStreamSynchronize(s));
        CHECK_EQ_INT(*pinned, 77);
        CHECK(figure(cudaGraphMemAttrReservedMemCurrent) >= MIB);
    }
    unsigned long long reserved = figure(cudaGraphMemAttrReservedMemCurrent);
    CHECK_EQ_INT(figure(cudaGraphMemAttrUsedMemCurrent), reserved);
    FAILS(cudaFree(p), cudaErrorInvalidValue); /* its graph frees it */
    FAILS(cudaFreeAsync(p, s), cudaErrorInvalidValue);
    cudaMemAllocNodeParams told;
    void *freed = nullptr;
    cudaGraphNode_t nodes[4];
    size_t count = 4;
    OK(cudaGraphMemAllocNodeGetParams(a, &told));
    CHECK(told.dptr == p && told.bytesize == MIB);
    OK(cudaGraphGetNodes(g, nodes, &count));
    OK(cudaGraphMemFreeNodeGetParams(nodes[3], &freed));
    CHECK(freed == p);
    OK(cudaGraphExecDestroy(e));
    OK(cudaGraphDestroy(g));
    OK(cudaDeviceGraphMemTrim(0));
    CHECK_EQ_INT(figure(cudaGraphMemAttrUsedMemCurrent), 0);
    CHECK_EQ_INT(figure(cudaGraphMemAttrReservedMemCurrent), 0);
    CHECK(figure(cudaGraphMemAttrUsedMemHigh) >= reserved);
    CHECK(figure(cudaGraphMemAttrReservedMemHigh) >= reserved);
    unsigned long long zero = 0, one = 1;
    OK(cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, &zero));
    OK(cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrReservedMemHigh, &zero));
    CHECK_EQ_INT(figure(cudaGraphMemAttrUsedMemHigh), 0);
    CHECK_EQ_INT(figure(cudaGraphMemAttrReservedMemHigh), 0);
    FAILS(cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, &one),
          cudaErrorInvalidValue);
    FAILS(cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrUsedMemCurrent, &zero),
          cudaErrorInvalidValue);
    FAILS(cudaDeviceGetGraphMemAttribute(0, (cudaGraphMemAttributeType)9, &zero),
          cudaErrorInvalidValue);
    FAILS(cudaDeviceGetGraphMemAttribute(99, cudaGraphMemAttrUsedMemHigh, &zero),
          cudaErrorInvalidDevice);
    OK(cudaFreeHost(pinned));
}

/* Addresses are used again after the node that frees, and are each graph's own otherwise. */
static void addresses()
{
    cudaGraph_t g = graph(), other = graph();
    int *a, *b, *c, *d;
    cudaGraphNode_t n = alloc(g, nullptr, 64 * MIB, &a);
    n = release(g, n, a);
    alloc(g, n, 64 * MIB, &b);
    CHECK(a == b);
    alloc(g, nullptr, 64 * MIB, &c); /* nothing says that b is free by then */
    CHECK(c != b);
    alloc(other, nullptr, 64 * MIB, &d);
    CHECK(d != b && d != c);
    OK(cudaGraphDestroy(g));
    OK(cudaGraphDestroy(other));
}

/* What a graph leaves allocated lives until someone frees it. */
static void outliving(cudaStream_t s)
{
    cudaGraph_t g = graph(), f = graph();
    int *p, value = 5, got = 0;
    cudaGraphNode_t a = alloc(g, nullptr, 4096, &p);
    Args<int *, int> args(p, value);
    kernel(g, a, (void *)put, args.pointers);
    cudaGraphExec_t e = exec(g);
    OK(cudaGraphLaunch(e, s));
    OK(cudaMemcpyAsync(&got, p, sizeof got, cudaMemcpyDefault, s));
    OK(cudaStreamSynchronize(s));
    CHECK_EQ_INT(got, 5);
    cudaPointerAttributes is;
    OK(cudaPointerGetAttributes(&is, p));
    CHECK(is.type == cudaMemoryTypeDevice && is.device == 0);
    FAILS(cudaGraphLaunch(e, s), cudaErrorInvalidValue); /* not freed */
    OK(cudaMemset(p, 1, 64));
    OK(cudaDeviceSynchronize());
    OK(cudaFreeAsync(p, s));
    OK(cudaStreamSynchronize(s));
    /* Its addresses are no memory now, but for nodes of graphs. */
    FAILS(cudaFreeAsync(p, s), cudaErrorInvalidValue);
    FAILS(cudaMemset(p, 1, 64), cudaErrorInvalidValue);
    OK(cudaPointerGetAttributes(&is, p));
    CHECK_EQ_INT(is.type, cudaMemoryTypeUnregistered);
    CHECK_EQ_INT(cuPointerGetAttribute(&got, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, (CUdeviceptr)p),
                 CUDA_ERROR_INVALID_VALUE);
    CUdeviceptr base;
    size_t bytes;
    CHECK_EQ_INT(cuMemGetAddressRange(&base, &bytes, (CUdeviceptr)p), CUDA_ERROR_NOT_FOUND);
    OK(cudaGraphLaunch(e, s));
    OK(cudaStreamSynchronize(s));
    OK(cudaFree(p));
    /* Freed by a node of another graph, again and again. */
    release(f, nullptr, p);
    cudaGraphExec_t frees = exec(f);
    for (int i = 0; i < 3; i++) {
        OK(cudaGraphLaunch(e, s));
        OK(cudaGraphLaunch(frees, s));
    }
    OK(cudaStreamSynchronize(s));
    /* The memory stays when all of the graph is gone. */
    OK(cudaGraphLaunch(e, s));
    OK(cudaGraphExecDestroy(frees));
    OK(cudaGraphDestroy(f));
    OK(cudaGraphExecDestroy(e));
    OK(cudaGraphDestroy(g));
    got = 0;
    OK(cudaMemcpyAsync(&got, p, sizeof got, cudaMemcpyDefault, s));
    OK(cudaStreamSynchronize(s));
    CHECK_EQ_INT(got, 5);
    OK(cudaFree(p));
}

static void freed_by_launch(cudaStream_t s)
{
    cudaGraph_t g = graph();
    int *p, value = 6, got = 0;
    cudaGraphNode_t a = alloc(g, nullptr, 4096, &p);
    Args<int *, int> args(p, value);
    kernel(g, a, (void *)put, args.pointers);
    cudaGraphExec_t e = exec(g, cudaGraphInstantiateFlagAutoFreeOnLaunch), second;
    for (int i = 0; i < 3; i++)
        OK(cudaGraphLaunch(e, s));
    OK(cudaMemcpyAsync(&got, p, sizeof got, cudaMemcpyDefault, s));
    OK(cudaStreamSynchronize(s));
    CHECK_EQ_INT(got, 6);
    FAILS(cudaGraphInstantiate(&second, g, 0), cudaErrorNotSupported);
    OK(cudaFreeAsync(p, s));
    OK(cudaGraphLaunch(e, s));
    OK(cudaStreamSynchronize(s));
    OK(cudaGraphExecDestroy(e));
    OK(cudaFree(p)); /* the end of the graph does not free it */
    FAILS(cudaGraphInstantiate(&second, g,
                               cudaGraphInstantiateFlagAutoFreeOnLaunch |
                                   cudaGraphInstantiateFlagDeviceLaunch),
          cudaErrorInvalidValue);
    OK(cudaGraphDestroy(g));
}

static void captured(cudaStream_t s)
{
    cudaGraph_t g;
    cudaGraphNodeType types[] = {cudaGraphNodeTypeMemAlloc, cudaGraphNodeTypeMemset,
                                 cudaGraphNodeTypeKernel, cudaGraphNodeTypeMemcpy,
                                 cudaGraphNodeTypeMemFree};
    int *p, *pinned;
    OK(cudaMallocHost(&pinned, 2 * sizeof *pinned));
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    OK(cudaMallocAsync((void **)&p, 1024, s));
    OK(cudaMemsetAsync(p, 0, 1024, s));
    put<<<1, 1, 0, s>>>(p, 3);
    OK(cudaMemcpyAsync(pinned, p, 2 * sizeof *p, cudaMemcpyDeviceToHost, s));
    OK(cudaFreeAsync(p, s));
    OK(cudaStreamEndCapture(s, &g));
    cudaGraphNode_t nodes[8];
    size_t count = 8;
    OK(cudaGraphGetNodes(g, nodes, &count));
    CHECK_EQ_INT(count, 5);
    for (size_t i = 0; i < count && i < 5; i++) {
        cudaGraphNodeType type;
        OK(cudaGraphNodeGetType(nodes[i], &type));
        CHECK_EQ_INT(type, types[i]);
    }
    cudaGraphExec_t e = exec(g);
    for (int i = 0; i < 3; i++) {
        pinned[0] = pinned[1] = 9;
        OK(cudaGraphLaunch(e, s));
        OK(cudaStreamSynchronize(s));
        CHECK(pinned[0] == 3 && pinned[1] == 0);
    }
    OK(cudaGraphExecDestroy(e));
    OK(cudaGraphDestroy(g));
    /* From a pool, and left allocated. */
    cudaMemPool_t pool;
    OK(cudaDeviceGetDefaultMemPool(&pool, 0));
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    OK(cudaMallocFromPoolAsync((void **)&p, 1024, pool, s));
    put<<<1, 1, 0, s>>>(p, 4);
    OK(cudaStreamEndCapture(s, &g));
    e = exec(g);
    OK(cudaGraphLaunch(e, s));
    OK(cudaMemcpyAsync(pinned, p, sizeof *p, cudaMemcpyDeviceToHost, s));
    OK(cudaFreeAsync(p, s));
    OK(cudaStreamSynchronize(s));
    CHECK_EQ_INT(pinned[0], 4);
    OK(cudaGraphExecDestroy(e));
    OK(cudaGraphDestroy(g));
    /* What was allocated outside cannot be freed in a capture, which goes on. */
    OK(cudaMallocAsync((void **)&p, 1024, s));
    OK(cudaStreamSynchronize(s));
    void *q;
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
    FAILS(cudaFreeAsync(p, s), cudaErrorInvalidValue);
    OK(cudaFreeAsync(nullptr, s));
    OK(cudaMallocAsync(&q, 0, s));
    CHECK(q == nullptr);
    FAILS(cudaMallocAsync(&q, (size_t)1 << 50, s), cudaErrorMemoryAllocation);
    OK(cudaMallocAsync(&q, 64, s));
    OK(cudaFreeAsync(q, s));
    FAILS(cudaFreeAsync(q, s), cudaErrorInvalidValue);
    OK(cudaStreamEndCapture(s, &g));
    OK(cudaGraphGetNodes(g, nullptr, &count));
    CHECK_EQ_INT(count, 2);
    OK(cudaGraphDestroy(g));
    OK(cudaFreeAsync(p, s));
    OK(cudaStreamSynchronize(s));
    OK(cudaFreeHost(pinned));
}

static void restrictions()
{
    cudaGraph_t g = graph(), parent = graph(), clone;
    cudaGraphNode_t n, last, empty;
    int *p, *d, value = 1;
    OK(cudaMalloc(&d, 64));
    cudaMemAllocNodeParams none = wish(0);
    FAILS(cudaGraphAddMemAllocNode(&n, g, nullptr, 0, &none), cudaErrorInvalidValue);
    cudaGraphNode_t a = alloc(g, nullptr, 4096, &p);
    Args<int *, int> args(p, value);
    last = kernel(g, a, (void *)put, args.pointers);
    FAILS(cudaGraphAddMemFreeNode(&n, g, &last, 1, d), cudaErrorInvalidValue);
    release(g, last, p);
    FAILS(cudaGraphAddMemFreeNode(&n, g, &last, 1, p), cudaErrorInvalidValue); /* twice */
    FAILS(cudaGraphDestroyNode(a), cudaErrorNotSupported);
    OK(cudaGraphAddEmptyNode(&empty, g, nullptr, 0));
    FAILS(cudaGraphDestroyNode(empty), cudaErrorNotSupported);
    FAILS(cudaGraphClone(&clone, g), cudaErrorNotSupported);
    FAILS(cudaGraphAddChildGraphNode(&n, parent, nullptr, 0, g), cudaErrorNotSupported);
    cudaGraphExec_t e = exec(g), second;
    FAILS(cudaGraphInstantiate(&second, g, 0), cudaErrorNotSupported);
    OK(cudaGraphExecDestroy(e));
    e = exec(g); /* one after the other is fine */
    OK(cudaGraphExecDestroy(e));
    OK(cudaGraphDestroy(g));
    OK(cudaGraphDestroy(parent));
    OK(cudaFree(d));
}

/* An executable graph takes the memory of a graph it is updated from. */
static void updated(cudaStream_t s)
{
    cudaGraph_t g[2];
    int *p[2], values[] = {1, 2}, got = 0;
    for (int i = 0; i < 2; i++) {
        g[i] = graph();
        cudaGraphNode_t a = alloc(g[i], nullptr, 4096, &p[i]);
        Args<int *, int> args(p[i], values[i]);
        kernel(g[i], a, (void *)put, args.pointers);
    }
    cudaGraphExec_t e = exec(g[0]);
    for (int i : {0, 1, 0}) {
        cudaGraphExecUpdateResultInfo info;
        OK(cudaGraphExecUpdate(e, g[i], &info));
        CHECK_EQ_INT(info.result, cudaGraphExecUpdateSuccess);
        OK(cudaGraphLaunch(e, s));
        OK(cudaMemcpyAsync(&got, p[i], sizeof got, cudaMemcpyDefault, s));
        OK(cudaFreeAsync(p[i], s));
        OK(cudaStreamSynchronize(s));
        CHECK_EQ_INT(got, values[i]);
    }
    /* It is the graph it was updated from last that counts as instantiated. */
    cudaGraphExec_t second;
    FAILS(cudaGraphInstantiate(&second, g[0], 0), cudaErrorNotSupported);
    OK(cudaGraphInstantiate(&second, g[1], 0));
    OK(cudaGraphExecDestroy(second));
    OK(cudaGraphExecDestroy(e));
    OK(cudaGraphDestroy(g[0]));
    OK(cudaGraphDestroy(g[1]));
}

/* A set of stream-ordered memory that a capture has not made can be captured. */
static void captured_set(cudaStream_t s)
{
    cudaGraph_t g;
    int *p, host[2] = {0, 0};
    OK(cudaMallocAsync((void **)&p, 4096, s));
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    OK(cudaMemsetAsync(p, 9, 4096, s));
    OK(cudaStreamEndCapture(s, &g));
    cudaGraphExec_t e = exec(g);
    for (int i = 0; i < 2; i++) {
        OK(cudaMemsetAsync(p, i, 4096, s));
        OK(cudaGraphLaunch(e, s));
        OK(cudaMemcpyAsync(host, p + 1022, sizeof host, cudaMemcpyDeviceToHost, s));
        OK(cudaStreamSynchronize(s));
        CHECK(host[0] == 0x09090909 && host[1] == 0x09090909);
    }
    OK(cudaFreeAsync(p, s));
    OK(cudaGraphExecDestroy(e));
    OK(cudaGraphDestroy(g));
    OK(cudaStreamSynchronize(s));
}

/* Memory that other processes can import is none of a graph's. */
static void captured_of_shared_pool(cudaStream_t s)
{
    cudaMemPoolProps props = wish(1).poolProps;
    cudaMemPool_t pool;
    cudaGraph_t g;
    void *p = &p;
    props.handleTypes = cudaMemHandleTypePosixFileDescriptor;
    OK(cudaMemPoolCreate(&pool, &props));
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
    FAILS(cudaMallocFromPoolAsync(&p, 64, pool, s), cudaErrorNotSupported);
    CHECK(p == nullptr);
    OK(cudaStreamEndCapture(s, &g));
    OK(cudaGraphDestroy(g));
    OK(cudaMemPoolDestroy(pool));
    cudaGetLastError();
}

#if CUDART_VERSION >= 13000
/* Managed memory, which the host uses between launches. `p`: what the graph put into it is 7. */
static void use_managed(cudaGraphExec_t e, int *p, cudaStream_t s)
{
    cudaPointerAttributes is;
    OK(cudaGraphLaunch(e, s));
    OK(cudaStreamSynchronize(s));
    OK(cudaPointerGetAttributes(&is, p));
    /* an H100 takes the wish for managed memory, and gives the device's own */
    CHECK_EQ_INT(is.type, on_weir() ? cudaMemoryTypeManaged : cudaMemoryTypeDevice);
    if (on_weir()) {
        CHECK_EQ_INT(*p, 7);
        *p = 8;
        OK(cudaMemcpyAsync(p + 1, p, sizeof *p, cudaMemcpyDefault, s));
        OK(cudaStreamSynchronize(s));
        CHECK_EQ_INT(p[1], 8);
    }
    OK(cudaFreeAsync(p, s));
    OK(cudaStreamSynchronize(s));
    OK(cudaPointerGetAttributes(&is, p));
    CHECK_EQ_INT(is.type, cudaMemoryTypeUnregistered);
}

static void managed(cudaStream_t s)
{
    cudaGraph_t g = graph();
    cudaGraphNode_t n, last;
    cudaMemAllocNodeParams w = wish(4096);
    int *p, *q, value = 7;
    w.poolProps.allocType = cudaMemAllocationTypeManaged;
    OK(cudaGraphAddMemAllocNode(&n, g, nullptr, 0, &w));
    p = (int *)w.dptr;
    Args<int *, int> args(p, value);
    last = kernel(g, n, (void *)put, args.pointers);
    /* what was managed memory is no device's own later in the graph */
    cudaMemAllocNodeParams inner = w, device = wish(64);
    OK(cudaGraphAddMemAllocNode(&n, g, &last, 1, &inner));
    release(g, n, (int *)inner.dptr);
    OK(cudaGraphAddMemAllocNode(&last, g, nullptr, 0, &device));
    CHECK(device.dptr != inner.dptr);
    release(g, last, (int *)device.dptr);
    cudaGraphExec_t e = exec(g);
    for (int i = 0; i < 2; i++)
        use_managed(e, p, s);
    OK(cudaGraphExecDestroy(e));
    OK(cudaGraphDestroy(g));

    cudaMemPool_t pool;
    cudaMemPoolProps props = w.poolProps;
    OK(cudaMemPoolCreate(&pool, &props));
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
    OK(cudaMallocFromPoolAsync((void **)&q, 64, pool, s));
    put<<<1, 1, 0, s>>>(q, value);
    OK(cudaStreamEndCapture(s, &g));
    e = exec(g);
    use_managed(e, q, s);
    OK(cudaGraphExecDestroy(e));
    OK(cudaGraphDestroy(g));
    OK(cudaMemPoolDestroy(pool));
}
#endif

/* A graph with memory nodes can be given away to be a part of another one. */
static void given_away(cudaStream_t s)
{
    cudaGraph_t parent = graph(), part = graph();
    int *p, value = 8, *pinned;
    OK(cudaMallocHost(&pinned, sizeof *pinned));
    cudaGraphNode_t a = alloc(part, nullptr, 4096, &p), c, n;
    Args<int *, int> args(p, value);
    kernel(part, a, (void *)put, args.pointers);
    cudaGraphNodeParams child = {cudaGraphNodeTypeGraph};
    child.graph.graph = part;
    child.graph.ownership = cudaGraphChildGraphOwnershipMove;
    OK(cudaGraphAddNode(&n, parent, nullptr, nullptr, 0, &child));
    OK(cudaGraphAddMemcpyNode1D(&c, parent, &n, 1, pinned, p, sizeof *p, cudaMemcpyDefault));
    release(parent, c, p);
    cudaGraphExec_t e = exec(parent);
    for (int i = 0; i < 2; i++) {
        *pinned = 0;
        OK(cudaGraphLaunch(e, s));
        OK(cudaStreamSynchronize(s));
        CHECK_EQ_INT(*pinned, 8);
    }
    OK(cudaGraphExecDestroy(e));
    OK(cudaGraphDestroy(parent));
    OK(cudaFreeHost(pinned));
}

/* The driver's forms, and those for nodes of any kind. */
static void other_forms(cudaStream_t s)
{
    CUgraph g;
    CUgraphNode a, f;
    CUgraphExec e;
    CUDA_MEM_ALLOC_NODE_PARAMS p;
    CUdeviceptr told = 0;
    unsigned long long reserved = 0;
    memset(&p, 0, sizeof p);
    p.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    p.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    p.bytesize = 1000;
    DRIVER(cuGraphCreate(&g, 0));
    DRIVER(cuGraphAddMemAllocNode(&a, g, nullptr, 0, &p));
    DRIVER(cuGraphAddMemFreeNode(&f, g, &a, 1, p.dptr));
    DRIVER(cuGraphMemFreeNodeGetParams(f, &told));
    CHECK(told == p.dptr);
    DRIVER(cuGraphMemAllocNodeGetParams(a, &p));
    CHECK_EQ_INT(p.bytesize, 1000);
    DRIVER(cuGraphInstantiateWithFlags(&e, g, 0));
    DRIVER(cuGraphLaunch(e, s));
    DRIVER(cuStreamSynchronize(s));
    DRIVER(cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, &reserved));
    CHECK(reserved >= 1000);
    DRIVER(cuGraphExecDestroy(e));
    DRIVER(cuGraphDestroy(g));
    DRIVER(cuDeviceGraphMemTrim(0));
    DRIVER(cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, &reserved));
    CHECK_EQ_INT(reserved, 0);

    cudaGraph_t h = graph();
    cudaGraphNode_t n, m;
    cudaGraphNodeParams any = {cudaGraphNodeTypeMemAlloc}, end = {cudaGraphNodeTypeMemFree};
    any.alloc.poolProps = wish(1).poolProps;
    any.alloc.bytesize = 4096;
    OK(cudaGraphAddNode(&n, h, nullptr, nullptr, 0, &any));
    void *at = any.alloc.dptr;
    CHECK(at != nullptr);
    end.free.dptr = at;
    OK(cudaGraphAddNode(&m, h, &n, nullptr, 1, &end));
    cudaGraphExec_t x = exec(h);
    OK(cudaGraphLaunch(x, s));
    OK(cudaStreamSynchronize(s));
    OK(cudaGraphExecDestroy(x));
    OK(cudaGraphDestroy(h));
}

/* Many graphs in several streams, which have memory of their own while they run: each finds what it
 * wrote. Some leave an allocation to the stream. */
static void many()
{
    enum { GRAPHS = 12, STREAMS = 3, LAUNCHES = 240 };
    cudaStream_t streams[STREAMS];
    cudaGraphExec_t execs[GRAPHS];
    int *left[GRAPHS] = {}, *wrong, got = -1;
    OK(cudaMalloc(&wrong, sizeof *wrong));
    OK(cudaMemset(wrong, 0, sizeof *wrong));
    for (cudaStream_t &s : streams)
        OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    for (int i = 0; i < GRAPHS; i++) {
        cudaGraph_t g = graph();
        cudaGraphNode_t last = nullptr;
        for (int k = 0; k < 3; k++) {
            int *p, n = 1 << (8 + (i * 5 + k * 3) % 10), value = i * 1000 + k;
            last = alloc(g, last, n * sizeof *p, &p);
            Args<int *, int, int> in(p, n, value);
            last = kernel(g, last, (void *)fill, in.pointers, 64);
            Args<int *, int, int, int *> check(p, n, value, wrong);
            last = kernel(g, last, (void *)count_wrong, check.pointers, 64);
            if (k == 2 && i % 4 == 0)
                left[i] = p;
            else
                last = release(g, last, p);
        }
        execs[i] = exec(g);
        OK(cudaGraphDestroy(g));
    }
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < LAUNCHES; i++) {
        int which = rand() % GRAPHS;
        cudaStream_t s = streams[rand() % STREAMS];
        OK(cudaGraphLaunch(execs[which], s));
        if (left[which] != nullptr)
            OK(cudaFreeAsync(left[which], s));
        if (i % 60 == 59) {
            OK(cudaDeviceSynchronize());
            OK(cudaDeviceGraphMemTrim(0));
        }
    }
    for (cudaGraphExec_t e : execs) /* while the last ones run */
        OK(cudaGraphExecDestroy(e));
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy(&got, wrong, sizeof got, cudaMemcpyDefault));
    CHECK_EQ_INT(got, 0);
    for (cudaStream_t s : streams)
        OK(cudaStreamDestroy(s));
    OK(cudaFree(wrong));
    OK(cudaDeviceGraphMemTrim(0));
    CHECK_EQ_INT(figure(cudaGraphMemAttrReservedMemCurrent), 0);
}

int main()
{
    cudaStream_t s;
    OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    inside(s);
    addresses();
    outliving(s);
    freed_by_launch(s);
    captured(s);
    captured_set(s);
    captured_of_shared_pool(s);
#if CUDART_VERSION >= 13000
    managed(s);
#endif
    restrictions();
    updated(s);
    given_away(s);
    other_forms(s);
    many();
    OK(cudaStreamDestroy(s));
    return check_done();
}
