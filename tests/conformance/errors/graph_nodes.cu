/* E1: wrong parameters of nodes of graphs: kernels, copies, sets, host functions, events. Each is
 * asked when a node is added and again when it is set anew. */
#include "errors.h"

__global__ void store(int *p, int v) { *p = v; }
static void CUDART_CB host_fn(void *) {}
__device__ int variable[4];
static int not_a_variable;
static int *d, *h, v = 5, pageable[16];
static void *args[] = {&d, &v};
static char not_a_handle[4096];

static cudaKernelNodeParams kernel(void *f, void **arguments, unsigned grid, unsigned block)
{
    cudaKernelNodeParams p;
    memset(&p, 0, sizeof p);
    p.func = f;
    p.gridDim = dim3(grid);
    p.blockDim = dim3(block);
    p.kernelParams = arguments;
    return p;
}

static cudaGraph_t new_graph()
{
    cudaGraph_t g;
    MUST(cudaGraphCreate(&g, 0));
    return g;
}

static void kernels()
{
    cudaGraph_t g = new_graph();
    cudaGraphNode_t n, node, node2, empty;
    cudaKernelNodeParams good = kernel((void *)store, args, 1, 1), p, out;
    cudaLaunchAttributeValue value;

    MUST(cudaGraphAddKernelNode(&node, g, nullptr, 0, &good));
    MUST(cudaGraphAddKernelNode(&node2, g, nullptr, 0, &good));
    MUST(cudaGraphAddEmptyNode(&empty, g, nullptr, 0));
    ROW("no parameters", cudaGraphAddKernelNode(&n, g, nullptr, 0, nullptr), cudaErrorInvalidValue);
    ROW("no parameters", cudaGraphKernelNodeSetParams(node, nullptr), cudaErrorInvalidValue);
    ROW("no node", cudaGraphKernelNodeSetParams(nullptr, &good), cudaErrorInvalidValue);
    ROW("another kind of node", cudaGraphKernelNodeSetParams(empty, &good), cudaErrorInvalidValue);
    ROW("no node", cudaGraphKernelNodeGetParams(nullptr, &out), cudaErrorInvalidValue);
    ROW("no pointer", cudaGraphKernelNodeGetParams(node, nullptr), cudaErrorInvalidValue);
    ROW("another kind of node", cudaGraphKernelNodeGetParams(empty, &out), cudaErrorInvalidValue);
#define KERNEL(what, code)                                                                         \
    ROW(what, cudaGraphAddKernelNode(&n, g, nullptr, 0, &p), code);                                \
    ROW(what, cudaGraphKernelNodeSetParams(node, &p), code)
    p = kernel(nullptr, args, 1, 1);
    KERNEL("no function", cudaErrorInvalidDeviceFunction);
    p = kernel(&not_a_variable, args, 1, 1);
    KERNEL("not a function", cudaErrorInvalidResourceHandle);
    p = kernel((void *)store, nullptr, 1, 1);
    KERNEL("no arguments", cudaErrorInvalidValue);
    p = kernel((void *)store, args, 0, 1);
    KERNEL("no blocks", cudaErrorInvalidValue);
    p = kernel((void *)store, args, 1, 0);
    KERNEL("no threads", cudaErrorInvalidValue);
    p = kernel((void *)store, args, 1, 2000);
    KERNEL("2000 threads", cudaErrorInvalidValue);
    p = good;
    p.gridDim.y = 65536;
    KERNEL("65536 blocks in y", cudaErrorInvalidValue);
    p = good;
    p.sharedMemBytes = 1 << 20;
    KERNEL("1 MiB of shared memory", cudaErrorInvalidValue);
    p.sharedMemBytes = 48 * 1024 + 1;
    KERNEL("more shared memory than without asking", cudaErrorInvalidValue);

    memset(&value, 0, sizeof value);
    ROW("no node", cudaGraphKernelNodeGetAttribute(nullptr, cudaLaunchAttributePriority, &value),
        cudaErrorInvalidValue);
    ROW_CRASH("no pointer",
              cudaGraphKernelNodeGetAttribute(node, cudaLaunchAttributePriority, nullptr),
              cudaErrorInvalidValue);
    ROW("unknown attribute",
        cudaGraphKernelNodeGetAttribute(node, (cudaLaunchAttributeID)99, &value),
        cudaErrorInvalidValue);
    ROW("attribute 0", cudaGraphKernelNodeGetAttribute(node, cudaLaunchAttributeIgnore, &value),
        cudaErrorInvalidValue);
    ROW("another kind of node",
        cudaGraphKernelNodeGetAttribute(empty, cudaLaunchAttributePriority, &value),
        cudaErrorInvalidValue);
    ROW("no node", cudaGraphKernelNodeSetAttribute(nullptr, cudaLaunchAttributePriority, &value),
        cudaErrorInvalidValue);
    ROW_CRASH("no value",
              cudaGraphKernelNodeSetAttribute(node, cudaLaunchAttributePriority, nullptr),
              cudaErrorInvalidValue);
    ROW("unknown attribute",
        cudaGraphKernelNodeSetAttribute(node, (cudaLaunchAttributeID)99, &value),
        cudaErrorInvalidValue);
    ROW("another kind of node",
        cudaGraphKernelNodeSetAttribute(empty, cudaLaunchAttributePriority, &value),
        cudaErrorInvalidValue);
    value.priority = 1000;
    ROW("priority out of range",
        cudaGraphKernelNodeSetAttribute(node, cudaLaunchAttributePriority, &value), cudaSuccess);
    memset(&value, 0, sizeof value);
    value.clusterDim.x = 3;
    value.clusterDim.y = value.clusterDim.z = 1;
    ROW("cluster of 3, grid of 1",
        cudaGraphKernelNodeSetAttribute(node, cudaLaunchAttributeClusterDimension, &value),
        cudaErrorInvalidClusterSize);
    ROW("no target", cudaGraphKernelNodeCopyAttributes(nullptr, node), cudaErrorInvalidValue);
    ROW("no source", cudaGraphKernelNodeCopyAttributes(node, nullptr), cudaErrorInvalidValue);
    ROW("another kind of node", cudaGraphKernelNodeCopyAttributes(node, empty),
        cudaErrorInvalidValue);
    ROW("fine", cudaGraphKernelNodeCopyAttributes(node, node2), cudaSuccess);
}

static cudaMemcpy3DParms box(void *to, void *from, size_t width, cudaMemcpyKind kind)
{
    cudaMemcpy3DParms p;
    memset(&p, 0, sizeof p);
    p.srcPtr = make_cudaPitchedPtr(from, width, width, 1);
    p.dstPtr = make_cudaPitchedPtr(to, width, width, 1);
    p.extent = make_cudaExtent(width, 1, 1);
    p.kind = kind;
    return p;
}

static void copies()
{
    const cudaMemcpyKind any = cudaMemcpyDefault;
    cudaGraph_t g = new_graph();
    cudaGraphNode_t n, node, empty;
    cudaMemcpy3DParms good = box(d, h, 16, any), p, out;

    MUST(cudaGraphAddMemcpyNode(&node, g, nullptr, 0, &good));
    MUST(cudaGraphAddEmptyNode(&empty, g, nullptr, 0));
    ROW("no parameters", cudaGraphAddMemcpyNode(&n, g, nullptr, 0, nullptr), cudaErrorInvalidValue);
    ROW("no parameters", cudaGraphMemcpyNodeSetParams(node, nullptr), cudaErrorInvalidValue);
    ROW("no node", cudaGraphMemcpyNodeSetParams(nullptr, &good), cudaErrorInvalidValue);
    ROW("another kind of node", cudaGraphMemcpyNodeSetParams(empty, &good), cudaErrorInvalidValue);
    ROW("no node", cudaGraphMemcpyNodeGetParams(nullptr, &out), cudaErrorInvalidValue);
    ROW("no pointer", cudaGraphMemcpyNodeGetParams(node, nullptr), cudaErrorInvalidValue);
    ROW("another kind of node", cudaGraphMemcpyNodeGetParams(empty, &out), cudaErrorInvalidValue);
#define COPY(what, code)                                                                           \
    ROW(what, cudaGraphAddMemcpyNode(&n, g, nullptr, 0, &p), code);                                \
    ROW(what, cudaGraphMemcpyNodeSetParams(node, &p), code)
    p = box(nullptr, h, 16, any);
    COPY("no target", cudaErrorInvalidValue);
    p = box(d, nullptr, 16, any);
    COPY("no source", cudaErrorInvalidValue);
    p = box(d, h, 16, (cudaMemcpyKind)9);
    COPY("unknown direction", cudaErrorInvalidMemcpyDirection);
    p = box(d, h, 0, any);
    COPY("nothing", cudaErrorInvalidValue);
    p = box(d, h, 1 << 20, any);
    COPY("past the end", cudaErrorInvalidValue);
    p = box(d, pageable, 16, cudaMemcpyDeviceToDevice);
    COPY("pageable said to be the device's", cudaErrorInvalidValue);
    p = good;
    p.dstPtr.pitch = 8;
    COPY("pitch smaller than a row", cudaErrorInvalidValue);
#define COPY_1D(what, code, to, from, count, kind)                                                 \
    ROW(what, cudaGraphAddMemcpyNode1D(&n, g, nullptr, 0, to, from, count, kind), code);           \
    ROW(what, cudaGraphMemcpyNodeSetParams1D(node, to, from, count, kind), code)
    COPY_1D("no target", cudaErrorInvalidValue, nullptr, h, 4, any);
    COPY_1D("no source", cudaErrorInvalidValue, d, nullptr, 4, any);
    COPY_1D("nothing", cudaErrorInvalidValue, d, h, 0, any);
    COPY_1D("past the end", cudaErrorInvalidValue, d, h, 1 << 20, any);
    COPY_1D("unknown direction", cudaErrorInvalidMemcpyDirection, d, h, 4, (cudaMemcpyKind)9);
    COPY_1D("pageable said to be the device's", cudaErrorInvalidValue, d, pageable, 4,
            cudaMemcpyDeviceToDevice);
    ROW("no node", cudaGraphMemcpyNodeSetParams1D(nullptr, d, h, 4, any), cudaErrorInvalidValue);
    ROW("another kind of node", cudaGraphMemcpyNodeSetParams1D(empty, d, h, 4, any),
        cudaErrorInvalidValue);
#define TO(what, code, symbol, from, count, offset, kind)                                          \
    ROW(what,                                                                                      \
        cudaGraphAddMemcpyNodeToSymbol(&n, g, nullptr, 0, symbol, from, count, offset, kind),      \
        code);                                                                                     \
    ROW(what, cudaGraphMemcpyNodeSetParamsToSymbol(node, symbol, from, count, offset, kind), code)
    TO("no symbol", cudaErrorInvalidSymbol, nullptr, h, 4, 0, any);
    TO("not a symbol", cudaErrorInvalidSymbol, &not_a_variable, h, 4, 0, any);
    TO("no source", cudaErrorInvalidValue, variable, nullptr, 4, 0, any);
    TO("past the end", cudaErrorInvalidValue, variable, h, 17, 0, any);
    TO("offset past the end", cudaErrorInvalidValue, variable, h, 4, 16, any);
    TO("nothing", cudaErrorInvalidValue, variable, h, 0, 0, any);
    TO("wrong direction", cudaErrorInvalidMemcpyDirection, variable, h, 4, 0,
       cudaMemcpyDeviceToHost);
    ROW("no node", cudaGraphMemcpyNodeSetParamsToSymbol(nullptr, variable, h, 4, 0, any),
        cudaErrorInvalidValue);
    ROW("another kind of node", cudaGraphMemcpyNodeSetParamsToSymbol(empty, variable, h, 4, 0, any),
        cudaErrorInvalidValue);
    ROW("no pointer",
        cudaGraphAddMemcpyNodeToSymbol(nullptr, g, nullptr, 0, variable, h, 4, 0, any),
        cudaErrorInvalidValue);
    ROW("no graph", cudaGraphAddMemcpyNodeToSymbol(&n, nullptr, nullptr, 0, variable, h, 4, 0, any),
        cudaErrorInvalidValue);
#define FROM(what, code, to, symbol, count, offset, kind)                                          \
    ROW(what,                                                                                      \
        cudaGraphAddMemcpyNodeFromSymbol(&n, g, nullptr, 0, to, symbol, count, offset, kind),      \
        code);                                                                                     \
    ROW(what, cudaGraphMemcpyNodeSetParamsFromSymbol(node, to, symbol, count, offset, kind), code)
    FROM("no symbol", cudaErrorInvalidSymbol, h, nullptr, 4, 0, any);
    FROM("not a symbol", cudaErrorInvalidSymbol, h, &not_a_variable, 4, 0, any);
    FROM("no target", cudaErrorInvalidValue, nullptr, variable, 4, 0, any);
    FROM("past the end", cudaErrorInvalidValue, h, variable, 17, 0, any);
    FROM("offset past the end", cudaErrorInvalidValue, h, variable, 4, 16, any);
    FROM("nothing", cudaErrorInvalidValue, h, variable, 0, 0, any);
    FROM("wrong direction", cudaErrorInvalidMemcpyDirection, h, variable, 4, 0,
         cudaMemcpyHostToDevice);
    ROW("no node", cudaGraphMemcpyNodeSetParamsFromSymbol(nullptr, h, variable, 4, 0, any),
        cudaErrorInvalidValue);
    ROW("another kind of node",
        cudaGraphMemcpyNodeSetParamsFromSymbol(empty, h, variable, 4, 0, any),
        cudaErrorInvalidValue);
    ROW("no pointer",
        cudaGraphAddMemcpyNodeFromSymbol(nullptr, g, nullptr, 0, h, variable, 4, 0, any),
        cudaErrorInvalidValue);
    ROW("no graph",
        cudaGraphAddMemcpyNodeFromSymbol(&n, nullptr, nullptr, 0, h, variable, 4, 0, any),
        cudaErrorInvalidValue);
}

static void sets()
{
    cudaGraph_t g = new_graph();
    cudaGraphNode_t n, node, empty;
    cudaMemsetParams good, p, out;

    memset(&good, 0, sizeof good);
    good.dst = d;
    good.elementSize = 4;
    good.width = 4;
    good.height = 1;
    MUST(cudaGraphAddMemsetNode(&node, g, nullptr, 0, &good));
    MUST(cudaGraphAddEmptyNode(&empty, g, nullptr, 0));
    ROW("no parameters", cudaGraphAddMemsetNode(&n, g, nullptr, 0, nullptr), cudaErrorInvalidValue);
    ROW("no parameters", cudaGraphMemsetNodeSetParams(node, nullptr), cudaErrorInvalidValue);
    ROW("no node", cudaGraphMemsetNodeSetParams(nullptr, &good), cudaErrorInvalidValue);
    ROW("another kind of node", cudaGraphMemsetNodeSetParams(empty, &good), cudaErrorInvalidValue);
    ROW("no node", cudaGraphMemsetNodeGetParams(nullptr, &out), cudaErrorInvalidValue);
    ROW("no pointer", cudaGraphMemsetNodeGetParams(node, nullptr), cudaErrorInvalidValue);
    ROW("another kind of node", cudaGraphMemsetNodeGetParams(empty, &out), cudaErrorInvalidValue);
#define SET(what, code)                                                                            \
    ROW(what, cudaGraphAddMemsetNode(&n, g, nullptr, 0, &p), code);                                \
    ROW(what, cudaGraphMemsetNodeSetParams(node, &p), code)
    p = good;
    p.dst = nullptr;
    SET("no memory", cudaErrorInvalidValue);
    p.dst = pageable;
    SET("pageable memory", cudaErrorInvalidValue);
    p.dst = (char *)d + 1;
    SET("not aligned", cudaErrorInvalidValue);
    p = good;
    p.elementSize = 3;
    SET("elements of 3 bytes", cudaErrorInvalidValue);
    p.elementSize = 8;
    SET("elements of 8 bytes", cudaErrorInvalidValue);
    p = good;
    p.width = 0;
    SET("width 0", cudaErrorInvalidValue);
    p.width = 1 << 20;
    SET("past the end", cudaErrorInvalidValue);
    p = good;
    p.height = 0;
    SET("height 0", cudaErrorInvalidValue);
    p.height = 2;
    p.pitch = 8;
    SET("pitch smaller than a row", cudaErrorInvalidValue);
}

static void host_functions()
{
    cudaGraph_t g = new_graph();
    cudaGraphNode_t n, node, empty;
    cudaHostNodeParams good = {host_fn, nullptr}, none = {nullptr, nullptr}, out;

    MUST(cudaGraphAddHostNode(&node, g, nullptr, 0, &good));
    MUST(cudaGraphAddEmptyNode(&empty, g, nullptr, 0));
    ROW("no parameters", cudaGraphAddHostNode(&n, g, nullptr, 0, nullptr), cudaErrorInvalidValue);
    ROW("no function", cudaGraphAddHostNode(&n, g, nullptr, 0, &none), cudaErrorInvalidValue);
    ROW("no parameters", cudaGraphHostNodeSetParams(node, nullptr), cudaErrorInvalidValue);
    ROW("no function", cudaGraphHostNodeSetParams(node, &none), cudaErrorInvalidValue);
    ROW("no node", cudaGraphHostNodeSetParams(nullptr, &good), cudaErrorInvalidValue);
    ROW("another kind of node", cudaGraphHostNodeSetParams(empty, &good), cudaErrorInvalidValue);
    ROW("no node", cudaGraphHostNodeGetParams(nullptr, &out), cudaErrorInvalidValue);
    ROW("no pointer", cudaGraphHostNodeGetParams(node, nullptr), cudaErrorInvalidValue);
    ROW("another kind of node", cudaGraphHostNodeGetParams(empty, &out), cudaErrorInvalidValue);
}

static void events()
{
    cudaGraph_t g = new_graph();
    cudaGraphNode_t n, record, wait, empty;
    cudaEvent_t e, out;

    MUST(cudaEventCreate(&e));
    MUST(cudaGraphAddEventRecordNode(&record, g, nullptr, 0, e));
    MUST(cudaGraphAddEventWaitNode(&wait, g, nullptr, 0, e));
    MUST(cudaGraphAddEmptyNode(&empty, g, nullptr, 0));
    ROW("no event", cudaGraphAddEventRecordNode(&n, g, nullptr, 0, nullptr), cudaErrorInvalidValue);
    ROW("no event", cudaGraphAddEventWaitNode(&n, g, nullptr, 0, nullptr), cudaErrorInvalidValue);
    ROW_UNDEFINED("not an event",
                  cudaGraphAddEventRecordNode(&n, g, nullptr, 0, (cudaEvent_t)not_a_handle),
                  cudaErrorInvalidResourceHandle);
    ROW("no node", cudaGraphEventRecordNodeGetEvent(nullptr, &out), cudaErrorInvalidValue);
    ROW("no pointer", cudaGraphEventRecordNodeGetEvent(record, nullptr), cudaErrorInvalidValue);
    ROW("another kind of node", cudaGraphEventRecordNodeGetEvent(wait, &out),
        cudaErrorInvalidValue);
    ROW("no node", cudaGraphEventRecordNodeSetEvent(nullptr, e), cudaErrorInvalidValue);
    ROW("no event", cudaGraphEventRecordNodeSetEvent(record, nullptr), cudaErrorInvalidValue);
    ROW("another kind of node", cudaGraphEventRecordNodeSetEvent(wait, e), cudaErrorInvalidValue);
    ROW("no node", cudaGraphEventWaitNodeGetEvent(nullptr, &out), cudaErrorInvalidValue);
    ROW("no pointer", cudaGraphEventWaitNodeGetEvent(wait, nullptr), cudaErrorInvalidValue);
    ROW("another kind of node", cudaGraphEventWaitNodeGetEvent(record, &out),
        cudaErrorInvalidValue);
    ROW("no node", cudaGraphEventWaitNodeSetEvent(nullptr, e), cudaErrorInvalidValue);
    ROW("no event", cudaGraphEventWaitNodeSetEvent(wait, nullptr), cudaErrorInvalidValue);
    ROW("another kind of node", cudaGraphEventWaitNodeSetEvent(record, e), cudaErrorInvalidValue);
}

/* The same parameters in the form that serves all kinds. */
static void of_any_kind()
{
    cudaGraph_t g = new_graph();
    cudaGraphNode_t n, node, empty;
    cudaKernelNodeParams good = kernel((void *)store, args, 1, 1);
    cudaGraphNodeParams p = {}, fine = {};

    MUST(cudaGraphAddKernelNode(&node, g, nullptr, 0, &good));
    MUST(cudaGraphAddEmptyNode(&empty, g, nullptr, 0));
    fine.type = cudaGraphNodeTypeKernel;
    fine.kernel.func = (void *)store;
    fine.kernel.gridDim = fine.kernel.blockDim = dim3(1);
    fine.kernel.kernelParams = args;
    ROW("no node", cudaGraphNodeSetParams(nullptr, &fine), cudaErrorInvalidValue);
    ROW("no parameters", cudaGraphNodeSetParams(node, nullptr), cudaErrorInvalidValue);
    ROW("another kind of node", cudaGraphNodeSetParams(empty, &fine), cudaErrorInvalidValue);
    ROW("fine", cudaGraphNodeSetParams(node, &fine), cudaSuccess);
    p = fine;
    p.kernel.func = nullptr;
    ROW("no function", cudaGraphNodeSetParams(node, &p), cudaErrorInvalidDeviceFunction);
    ROW("no function", cudaGraphAddNode(&n, g, nullptr, nullptr, 0, &p),
        cudaErrorInvalidDeviceFunction);
    p = fine;
    p.kernel.blockDim = dim3(2000);
    ROW("2000 threads", cudaGraphNodeSetParams(node, &p), cudaErrorInvalidValue);
    ROW("2000 threads", cudaGraphAddNode(&n, g, nullptr, nullptr, 0, &p), cudaErrorInvalidValue);
    p = fine;
    p.type = (cudaGraphNodeType)99;
    ROW("unknown kind", cudaGraphNodeSetParams(node, &p), cudaErrorInvalidValue);
}

static void memory()
{
    cudaGraph_t g = new_graph(), other = new_graph();
    cudaGraphNode_t n, node, freeing, empty, foreign;
    cudaMemAllocNodeParams p;
    void *at;
    unsigned long long figure = 0;
    const cudaGraphMemAttributeType high = cudaGraphMemAttrUsedMemHigh;

    memset(&p, 0, sizeof p);
    p.poolProps.allocType = cudaMemAllocationTypePinned;
    p.poolProps.location.type = cudaMemLocationTypeDevice;
    p.bytesize = 64;
    MUST(cudaGraphAddMemAllocNode(&node, g, nullptr, 0, &p));
    MUST(cudaGraphAddMemFreeNode(&freeing, g, &node, 1, p.dptr));
    MUST(cudaGraphAddEmptyNode(&empty, g, nullptr, 0));
    MUST(cudaGraphAddEmptyNode(&foreign, other, nullptr, 0));
    ROW("no node", cudaGraphAddMemAllocNode(nullptr, g, nullptr, 0, &p), cudaErrorInvalidValue);
    ROW("no graph", cudaGraphAddMemAllocNode(&n, nullptr, nullptr, 0, &p), cudaErrorInvalidValue);
    ROW("no parameters", cudaGraphAddMemAllocNode(&n, g, nullptr, 0, nullptr),
        cudaErrorInvalidValue);
    ROW("dependencies missing", cudaGraphAddMemAllocNode(&n, g, nullptr, 1, &p),
        cudaErrorInvalidValue);
    ROW("another graph's node", cudaGraphAddMemAllocNode(&n, g, &foreign, 1, &p),
        cudaErrorInvalidValue);
    ROW("no node", cudaGraphAddMemFreeNode(nullptr, g, nullptr, 0, p.dptr), cudaErrorInvalidValue);
    ROW("no graph", cudaGraphAddMemFreeNode(&n, nullptr, nullptr, 0, p.dptr),
        cudaErrorInvalidValue);
    ROW("no memory", cudaGraphAddMemFreeNode(&n, g, nullptr, 0, nullptr), cudaErrorInvalidValue);
    ROW("no graph's memory", cudaGraphAddMemFreeNode(&n, g, nullptr, 0, d), cudaErrorInvalidValue);
    ROW("freed already", cudaGraphAddMemFreeNode(&n, g, &node, 1, p.dptr), cudaErrorInvalidValue);
    ROW("dependencies missing", cudaGraphAddMemFreeNode(&n, g, nullptr, 1, p.dptr),
        cudaErrorInvalidValue);
    ROW("no node", cudaGraphMemAllocNodeGetParams(nullptr, &p), cudaErrorInvalidValue);
    ROW("no pointer", cudaGraphMemAllocNodeGetParams(node, nullptr), cudaErrorInvalidValue);
    ROW("another kind of node", cudaGraphMemAllocNodeGetParams(empty, &p), cudaErrorInvalidValue);
    ROW("no node", cudaGraphMemFreeNodeGetParams(nullptr, &at), cudaErrorInvalidValue);
    ROW("no pointer", cudaGraphMemFreeNodeGetParams(freeing, nullptr), cudaErrorInvalidValue);
    ROW("another kind of node", cudaGraphMemFreeNodeGetParams(empty, &at), cudaErrorInvalidValue);
    ROW("device -1", cudaDeviceGetGraphMemAttribute(-1, high, &figure), cudaErrorInvalidDevice);
    ROW("no figure", cudaDeviceGetGraphMemAttribute(0, (cudaGraphMemAttributeType)99, &figure),
        cudaErrorInvalidValue);
    ROW("no pointer", cudaDeviceGetGraphMemAttribute(0, high, nullptr), cudaErrorInvalidValue);
    ROW("device -1", cudaDeviceSetGraphMemAttribute(-1, high, &figure), cudaErrorInvalidDevice);
    ROW("no figure", cudaDeviceSetGraphMemAttribute(0, (cudaGraphMemAttributeType)99, &figure),
        cudaErrorInvalidValue);
    ROW("no pointer", cudaDeviceSetGraphMemAttribute(0, high, nullptr), cudaErrorInvalidValue);
    ROW("device -1", cudaDeviceGraphMemTrim(-1), cudaErrorInvalidDevice);
    ROW("device 77", cudaDeviceGraphMemTrim(77), cudaErrorInvalidDevice);
    MUST(cudaGraphDestroy(g));
    MUST(cudaGraphDestroy(other));
}

static void rows()
{
    MUST(cudaMalloc(&d, 4096));
    MUST(cudaMallocHost(&h, 4096));
    kernels();
    copies();
    sets();
    host_functions();
    events();
    of_any_kind();
    memory();
}

ERROR_TABLE_MAIN(rows)
