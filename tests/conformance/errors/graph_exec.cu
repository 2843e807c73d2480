/* E1: wrong arguments of the functions on executable graphs: instantiation, launches, updates of
 * single nodes and of the whole. */
#include "errors.h"

__global__ void store(int *p, int v) { *p = v; }
__global__ void store2(int *p, int v) { *p = v + 1; }
static void CUDART_CB host_fn(void *) {}
__device__ int variable[4];
static int not_a_variable;
static int *d, *h, v = 5, pageable[16];
static void *args[] = {&d, &v};
static char not_a_handle[4096];

/* A graph with a node of every kind, and what it became. */
static cudaGraph_t graph, child, child2;
static cudaGraphNode_t kernel, copy, to_symbol, set, host, sub, record, wait_node, empty, foreign;
static cudaGraphExec_t exec;
static cudaKernelNodeParams kernel_params;
static cudaMemcpy3DParms copy_params;
static cudaMemsetParams set_params;
static cudaHostNodeParams host_params;
static cudaEvent_t event;

static void make()
{
    cudaGraph_t other;

    MUST(cudaMalloc(&d, 4096));
    MUST(cudaMallocHost(&h, 4096));
    MUST(cudaEventCreate(&event));
    kernel_params.func = (void *)store;
    kernel_params.gridDim = kernel_params.blockDim = dim3(1);
    kernel_params.kernelParams = args;
    copy_params.srcPtr = make_cudaPitchedPtr(h, 16, 16, 1);
    copy_params.dstPtr = make_cudaPitchedPtr(d, 16, 16, 1);
    copy_params.extent = make_cudaExtent(16, 1, 1);
    copy_params.kind = cudaMemcpyDefault;
    set_params.dst = d;
    set_params.elementSize = 4;
    set_params.width = 4;
    set_params.height = 1;
    host_params.fn = host_fn;
    MUST(cudaGraphCreate(&graph, 0));
    MUST(cudaGraphCreate(&child, 0));
    MUST(cudaGraphCreate(&child2, 0));
    MUST(cudaGraphCreate(&other, 0));
    MUST(cudaGraphAddKernelNode(&foreign, child, nullptr, 0, &kernel_params));
    MUST(cudaGraphAddEmptyNode(&foreign, child2, nullptr, 0));
    MUST(cudaGraphAddKernelNode(&foreign, other, nullptr, 0, &kernel_params));
    MUST(cudaGraphAddKernelNode(&kernel, graph, nullptr, 0, &kernel_params));
    MUST(cudaGraphAddMemcpyNode(&copy, graph, nullptr, 0, &copy_params));
    MUST(cudaGraphAddMemcpyNodeToSymbol(&to_symbol, graph, nullptr, 0, variable, h, 4, 0,
                                        cudaMemcpyDefault));
    MUST(cudaGraphAddMemsetNode(&set, graph, nullptr, 0, &set_params));
    MUST(cudaGraphAddHostNode(&host, graph, nullptr, 0, &host_params));
    MUST(cudaGraphAddChildGraphNode(&sub, graph, nullptr, 0, child));
    MUST(cudaGraphAddEventRecordNode(&record, graph, nullptr, 0, event));
    MUST(cudaGraphAddEventWaitNode(&wait_node, graph, nullptr, 0, event));
    MUST(cudaGraphAddEmptyNode(&empty, graph, nullptr, 0));
    MUST(cudaGraphInstantiate(&exec, graph, 0));
}

static cudaGraphExec_t destroyed_exec()
{
    cudaGraphExec_t e;
    MUST(cudaGraphInstantiate(&e, graph, 0));
    MUST(cudaGraphExecDestroy(e));
    return e;
}

static void instantiating()
{
    cudaGraph_t circle;
    cudaGraphNode_t a, b;
    cudaGraphExec_t e;
    cudaGraphInstantiateParams params;
    unsigned long long flags;

    MUST(cudaGraphCreate(&circle, 0));
    MUST(cudaGraphAddEmptyNode(&a, circle, nullptr, 0));
    MUST(cudaGraphAddEmptyNode(&b, circle, &a, 1));
    MUST(cudaGraphAddDependencies(circle, &b, &a, nullptr, 1));
    ROW("no pointer", cudaGraphInstantiate(nullptr, graph, 0), cudaErrorInvalidValue);
    ROW("no graph", cudaGraphInstantiate(&e, nullptr, 0), cudaErrorInvalidValue);
    ROW("flags 16", cudaGraphInstantiate(&e, graph, 16), cudaErrorInvalidValue);
    ROW("upload without a stream", cudaGraphInstantiate(&e, graph, cudaGraphInstantiateFlagUpload),
        cudaErrorInvalidValue);
    ROW("a circle", cudaGraphInstantiate(&e, circle, 0), cudaErrorInvalidValue);
    ROW("no pointer", cudaGraphInstantiateWithFlags(nullptr, graph, 0), cudaErrorInvalidValue);
    ROW("no graph", cudaGraphInstantiateWithFlags(&e, nullptr, 0), cudaErrorInvalidValue);
    ROW("flags 16", cudaGraphInstantiateWithFlags(&e, graph, 16), cudaErrorInvalidValue);
    memset(&params, 0, sizeof params);
    ROW("no pointer", cudaGraphInstantiateWithParams(nullptr, graph, &params),
        cudaErrorInvalidValue);
    ROW("no graph", cudaGraphInstantiateWithParams(&e, nullptr, &params), cudaErrorInvalidValue);
    ROW_CRASH("no parameters", cudaGraphInstantiateWithParams(&e, graph, nullptr),
              cudaErrorInvalidValue);
    ROW("a circle", cudaGraphInstantiateWithParams(&e, circle, &params), cudaErrorInvalidValue);
    params.flags = 16;
    ROW("flags 16", cudaGraphInstantiateWithParams(&e, graph, &params), cudaErrorInvalidValue);
    ROW("for the device, host node",
        cudaGraphInstantiate(&e, graph, cudaGraphInstantiateFlagDeviceLaunch),
        cudaErrorInvalidValue);
    ROW("no graph", cudaGraphExecGetFlags(nullptr, &flags), cudaErrorInvalidValue);
    ROW("no pointer", cudaGraphExecGetFlags(exec, nullptr), cudaErrorInvalidValue);
    ROW("no graph", cudaGraphExecDestroy(nullptr), cudaErrorInvalidValue);
    ROW_UNDEFINED("destroyed", cudaGraphExecDestroy(destroyed_exec()), cudaErrorInvalidValue);
}

static void launching()
{
    ROW("no graph", cudaGraphLaunch(nullptr, 0), cudaErrorInvalidValue);
    ROW_UNDEFINED("destroyed", cudaGraphLaunch(destroyed_exec(), 0), cudaErrorInvalidValue);
    ROW_UNDEFINED("no stream", cudaGraphLaunch(exec, (cudaStream_t)not_a_handle),
                  cudaErrorInvalidResourceHandle);
    ROW("fine", cudaGraphLaunch(exec, 0), cudaSuccess);
    ROW("no graph", cudaGraphUpload(nullptr, 0), cudaErrorInvalidValue);
    ROW_UNDEFINED("destroyed", cudaGraphUpload(destroyed_exec(), 0), cudaErrorInvalidValue);
    ROW("fine", cudaGraphUpload(exec, 0), cudaSuccess);
}

/* A node's new parameters: what is the same for all kinds. */
static void nodes()
{
    const cudaMemcpyKind any = cudaMemcpyDefault;

#define OF_NODE(name, node, ...)                                                                   \
    ROW("no graph", name(nullptr, node, __VA_ARGS__), cudaErrorInvalidValue);                      \
    ROW("no node", name(exec, nullptr, __VA_ARGS__), cudaErrorInvalidValue);                       \
    ROW("another kind of node", name(exec, empty, __VA_ARGS__), cudaErrorInvalidValue);            \
    ROW("fine", name(exec, node, __VA_ARGS__), cudaSuccess)
    OF_NODE(cudaGraphExecKernelNodeSetParams, kernel, &kernel_params);
    OF_NODE(cudaGraphExecMemcpyNodeSetParams, copy, &copy_params);
    OF_NODE(cudaGraphExecMemcpyNodeSetParams1D, copy, d, h, 16, any);
    OF_NODE(cudaGraphExecMemcpyNodeSetParamsToSymbol, to_symbol, variable, h, 4, 0, any);
    OF_NODE(cudaGraphExecMemcpyNodeSetParamsFromSymbol, to_symbol, d, variable, 4, 0, any);
    OF_NODE(cudaGraphExecMemsetNodeSetParams, set, &set_params);
    OF_NODE(cudaGraphExecHostNodeSetParams, host, &host_params);
    OF_NODE(cudaGraphExecChildGraphNodeSetParams, sub, child);
    OF_NODE(cudaGraphExecEventRecordNodeSetEvent, record, event);
    OF_NODE(cudaGraphExecEventWaitNodeSetEvent, wait_node, event);
    ROW("of another graph", cudaGraphExecKernelNodeSetParams(exec, foreign, &kernel_params),
        cudaErrorInvalidValue);
    ROW_CRASH("no parameters", cudaGraphExecKernelNodeSetParams(exec, kernel, nullptr),
              cudaErrorInvalidValue);
    ROW("no parameters", cudaGraphExecMemcpyNodeSetParams(exec, copy, nullptr),
        cudaErrorInvalidValue);
    ROW("no parameters", cudaGraphExecMemsetNodeSetParams(exec, set, nullptr),
        cudaErrorInvalidValue);
    ROW("no parameters", cudaGraphExecHostNodeSetParams(exec, host, nullptr),
        cudaErrorInvalidValue);
    ROW("no graph", cudaGraphExecChildGraphNodeSetParams(exec, sub, nullptr),
        cudaErrorInvalidValue);
    ROW("a graph of another shape", cudaGraphExecChildGraphNodeSetParams(exec, sub, child2),
        cudaErrorGraphExecUpdateFailure);
    ROW("no event", cudaGraphExecEventRecordNodeSetEvent(exec, record, nullptr),
        cudaErrorInvalidValue);
    ROW("no event", cudaGraphExecEventWaitNodeSetEvent(exec, wait_node, nullptr),
        cudaErrorInvalidValue);
}

static void parameters()
{
    const cudaMemcpyKind any = cudaMemcpyDefault;
    cudaKernelNodeParams k = kernel_params;
    cudaMemcpy3DParms c = copy_params;
    cudaMemsetParams s = set_params;
    cudaHostNodeParams none = {nullptr, nullptr};
    cudaGraphNodeParams p = {};

    k.func = (void *)store2;
    ROW("another function", cudaGraphExecKernelNodeSetParams(exec, kernel, &k), cudaSuccess);
    k.func = nullptr;
    ROW("no function", cudaGraphExecKernelNodeSetParams(exec, kernel, &k),
        cudaErrorInvalidDeviceFunction);
    k = kernel_params;
    k.kernelParams = nullptr;
    ROW("no arguments", cudaGraphExecKernelNodeSetParams(exec, kernel, &k), cudaErrorInvalidValue);
    k = kernel_params;
    k.blockDim = dim3(2000);
    ROW("2000 threads", cudaGraphExecKernelNodeSetParams(exec, kernel, &k), cudaErrorInvalidValue);
    c.dstPtr.ptr = nullptr;
    ROW("no target", cudaGraphExecMemcpyNodeSetParams(exec, copy, &c), cudaErrorInvalidValue);
    c = copy_params;
    c.kind = (cudaMemcpyKind)9;
    ROW("unknown direction", cudaGraphExecMemcpyNodeSetParams(exec, copy, &c),
        cudaErrorInvalidMemcpyDirection);
    ROW("no source", cudaGraphExecMemcpyNodeSetParams1D(exec, copy, d, nullptr, 16, any),
        cudaErrorInvalidValue);
    ROW("nothing", cudaGraphExecMemcpyNodeSetParams1D(exec, copy, d, h, 0, any),
        cudaErrorInvalidValue);
    ROW("past the end", cudaGraphExecMemcpyNodeSetParams1D(exec, copy, d, h, 1 << 20, any),
        cudaErrorInvalidValue);
    ROW("the other direction", cudaGraphExecMemcpyNodeSetParams1D(exec, copy, h, d, 16, any),
        cudaSuccess);
    ROW("from pageable memory",
        cudaGraphExecMemcpyNodeSetParams1D(exec, copy, d, pageable, 16, any), cudaSuccess);
    ROW("no symbol",
        cudaGraphExecMemcpyNodeSetParamsToSymbol(exec, to_symbol, nullptr, h, 4, 0, any),
        cudaErrorInvalidSymbol);
    ROW("not a symbol",
        cudaGraphExecMemcpyNodeSetParamsToSymbol(exec, to_symbol, &not_a_variable, h, 4, 0, any),
        cudaErrorInvalidSymbol);
    ROW("past the end",
        cudaGraphExecMemcpyNodeSetParamsToSymbol(exec, to_symbol, variable, h, 17, 0, any),
        cudaErrorInvalidValue);
    ROW("not a symbol",
        cudaGraphExecMemcpyNodeSetParamsFromSymbol(exec, copy, d, &not_a_variable, 4, 0, any),
        cudaErrorInvalidSymbol);
    ROW("past the end",
        cudaGraphExecMemcpyNodeSetParamsFromSymbol(exec, copy, d, variable, 17, 0, any),
        cudaErrorInvalidValue);
    s.dst = nullptr;
    ROW("no memory", cudaGraphExecMemsetNodeSetParams(exec, set, &s), cudaErrorInvalidValue);
    s = set_params;
    s.elementSize = 3;
    ROW("elements of 3 bytes", cudaGraphExecMemsetNodeSetParams(exec, set, &s),
        cudaErrorInvalidValue);
    s = set_params;
    s.height = 4;
    s.pitch = 64;
    ROW("another shape", cudaGraphExecMemsetNodeSetParams(exec, set, &s), cudaErrorInvalidValue);
    ROW("no function", cudaGraphExecHostNodeSetParams(exec, host, &none), cudaErrorInvalidValue);
    p.type = cudaGraphNodeTypeKernel;
    p.kernel.func = (void *)store;
    p.kernel.gridDim = p.kernel.blockDim = dim3(1);
    p.kernel.kernelParams = args;
    ROW("no graph", cudaGraphExecNodeSetParams(nullptr, kernel, &p), cudaErrorInvalidValue);
    ROW("no node", cudaGraphExecNodeSetParams(exec, nullptr, &p), cudaErrorInvalidValue);
    ROW("no parameters", cudaGraphExecNodeSetParams(exec, kernel, nullptr), cudaErrorInvalidValue);
    ROW("another kind of node", cudaGraphExecNodeSetParams(exec, empty, &p), cudaErrorInvalidValue);
    ROW("of another graph", cudaGraphExecNodeSetParams(exec, foreign, &p), cudaErrorInvalidValue);
    ROW("fine", cudaGraphExecNodeSetParams(exec, kernel, &p), cudaSuccess);
    p.type = (cudaGraphNodeType)99;
    ROW("unknown kind", cudaGraphExecNodeSetParams(exec, kernel, &p), cudaErrorInvalidValue);
}

static void switches_and_updates()
{
    unsigned on;
    cudaGraphExecUpdateResultInfo info;

    ROW("no graph", cudaGraphNodeSetEnabled(nullptr, kernel, 0), cudaErrorInvalidValue);
    ROW("no node", cudaGraphNodeSetEnabled(exec, nullptr, 0), cudaErrorInvalidValue);
    ROW("a host function", cudaGraphNodeSetEnabled(exec, host, 0), cudaErrorInvalidValue);
    ROW("an empty node", cudaGraphNodeSetEnabled(exec, empty, 0), cudaErrorInvalidValue);
    ROW("of another graph", cudaGraphNodeSetEnabled(exec, foreign, 0), cudaErrorInvalidValue);
    ROW("7", cudaGraphNodeSetEnabled(exec, kernel, 7), cudaSuccess);
    ROW("no graph", cudaGraphNodeGetEnabled(nullptr, kernel, &on), cudaErrorInvalidValue);
    ROW("no node", cudaGraphNodeGetEnabled(exec, nullptr, &on), cudaErrorInvalidValue);
    ROW("no pointer", cudaGraphNodeGetEnabled(exec, kernel, nullptr), cudaErrorInvalidValue);
    ROW("a host function", cudaGraphNodeGetEnabled(exec, host, &on), cudaErrorInvalidValue);
    ROW("of another graph", cudaGraphNodeGetEnabled(exec, foreign, &on), cudaErrorInvalidValue);
    ROW("no executable graph", cudaGraphExecUpdate(nullptr, graph, &info), cudaErrorInvalidValue);
    ROW("no graph", cudaGraphExecUpdate(exec, nullptr, &info), cudaErrorInvalidValue);
    ROW("no result", cudaGraphExecUpdate(exec, graph, nullptr), cudaSuccess);
    ROW("another shape", cudaGraphExecUpdate(exec, child, &info), cudaErrorGraphExecUpdateFailure);
    ROW("another shape, no result", cudaGraphExecUpdate(exec, child, nullptr),
        cudaErrorGraphExecUpdateFailure);
}

static void rows()
{
    make();
    instantiating();
    launching();
    nodes();
    parameters();
    switches_and_updates();
}

ERROR_TABLE_MAIN(rows)
