/* D4: what graphs may hold that kernels launch: kernels, copies of device and page-locked memory,
 * sets, and child graphs of those. Anything else is found when they are instantiated. */
#include "check.h"

#define OK(call) CHECK_STR(cudaGetErrorName(call), "cudaSuccess")

__global__ void put(int *p, int value) { *p = value; }

static int *device_memory, *pinned, *managed, pageable[4];
static cudaArray_t array;
static cudaEvent_t event;

static cudaGraphNode_t kernel(cudaGraph_t g)
{
    static int value = 1;
    static void *args[] = {&device_memory, &value};
    cudaKernelNodeParams p;
    cudaGraphNode_t n = nullptr;
    memset(&p, 0, sizeof p);
    p.func = (void *)put;
    p.gridDim = p.blockDim = dim3(1);
    p.kernelParams = args;
    OK(cudaGraphAddKernelNode(&n, g, nullptr, 0, &p));
    return n;
}

static cudaGraphNode_t host(cudaGraph_t g)
{
    cudaHostNodeParams p = {[](void *) {}, nullptr};
    cudaGraphNode_t n = nullptr;
    OK(cudaGraphAddHostNode(&n, g, nullptr, 0, &p));
    return n;
}

static cudaGraphNode_t copy(cudaGraph_t g, const void *from)
{
    cudaGraphNode_t n = nullptr;
    OK(cudaGraphAddMemcpyNode1D(&n, g, nullptr, 0, device_memory, from, 4, cudaMemcpyDefault));
    return n;
}

static cudaGraphNode_t set(cudaGraph_t g)
{
    cudaMemsetParams p;
    cudaGraphNode_t n = nullptr;
    memset(&p, 0, sizeof p);
    p.dst = device_memory;
    p.elementSize = 4;
    p.width = p.height = 1;
    OK(cudaGraphAddMemsetNode(&n, g, nullptr, 0, &p));
    return n;
}

static cudaGraphNode_t child(cudaGraph_t g, cudaGraphNode_t (*with)(cudaGraph_t))
{
    cudaGraph_t c;
    cudaGraphNode_t n = nullptr;
    OK(cudaGraphCreate(&c, 0));
    kernel(c);
    if (with != nullptr)
        with(c);
    OK(cudaGraphAddChildGraphNode(&n, g, nullptr, 0, c));
    OK(cudaGraphDestroy(c));
    return n;
}

static cudaGraphNode_t array_copy(cudaGraph_t g)
{
    cudaMemcpy3DParms p;
    cudaGraphNode_t n = nullptr;
    memset(&p, 0, sizeof p);
    p.srcPtr = make_cudaPitchedPtr(device_memory, 16, 4, 1);
    p.dstArray = array;
    p.extent = make_cudaExtent(4, 1, 1);
    p.kind = cudaMemcpyDefault;
    OK(cudaGraphAddMemcpyNode(&n, g, nullptr, 0, &p));
    return n;
}

static cudaGraphNode_t alloc(cudaGraph_t g)
{
    cudaMemAllocNodeParams p;
    cudaGraphNode_t n = nullptr;
    memset(&p, 0, sizeof p);
    p.poolProps.allocType = cudaMemAllocationTypePinned;
    p.poolProps.location.type = cudaMemLocationTypeDevice;
    p.bytesize = 64;
    OK(cudaGraphAddMemAllocNode(&n, g, nullptr, 0, &p));
    return n;
}

static cudaGraphNode_t conditional(cudaGraph_t g)
{
    cudaGraphNodeParams p = {cudaGraphNodeTypeConditional};
    cudaGraphNode_t n = nullptr;
    cudaGraphConditionalHandle handle;
    OK(cudaGraphConditionalHandleCreate(&handle, g, 1, cudaGraphCondAssignDefault));
    p.conditional.handle = handle;
    p.conditional.type = cudaGraphCondTypeIf;
    p.conditional.size = 1;
    OK(cudaGraphAddNode(&n, g, nullptr, nullptr, 0, &p));
    kernel(p.conditional.phGraph_out[0]);
    return n;
}

/* A graph with a kernel and that node: how instantiating it ends, and whose fault it is. */
template <class Add> static void check(Add add, int result)
{
    cudaGraph_t g;
    cudaGraphExec_t e = nullptr;
    cudaGraphInstantiateParams p;
    memset(&p, 0, sizeof p);
    p.flags = cudaGraphInstantiateFlagDeviceLaunch;
    OK(cudaGraphCreate(&g, 0));
    kernel(g);
    add(g);
    cudaError_t r = cudaGraphInstantiateWithParams(&e, g, &p);
    CHECK_EQ_INT(r, result == 0 ? cudaSuccess : cudaErrorInvalidValue);
    CHECK_EQ_INT(p.result_out, result);
    CHECK((p.errNode_out != nullptr) == (result != 0));
    if (r == cudaSuccess)
        OK(cudaGraphExecDestroy(e));
    OK(cudaGraphDestroy(g));
}

int main()
{
    cudaChannelFormatDesc word = cudaCreateChannelDesc<int>();
    OK(cudaMalloc(&device_memory, 64));
    OK(cudaMallocHost(&pinned, 64));
    OK(cudaMallocManaged(&managed, 64));
    OK(cudaMallocArray(&array, &word, 16, 16));
    OK(cudaEventCreate(&event));
    const int kind = cudaGraphInstantiateNodeOperationNotSupported;
    check(kernel, 0);
    check(set, 0);
    check([](cudaGraph_t g) { return copy(g, device_memory + 8); }, 0);
    check([](cudaGraph_t g) { return copy(g, pinned); }, 0);
    check([](cudaGraph_t g) { return copy(g, managed); }, 0);
    check([](cudaGraph_t g) { return child(g, nullptr); }, 0);
    check([](cudaGraph_t g) { return child(g, host); }, kind);
    check([](cudaGraph_t g) { return copy(g, pageable); },
          cudaGraphInstantiateMultipleDevicesNotSupported);
    check(array_copy, kind);
    check(host, kind);
    check(alloc, kind);
    check(conditional, kind);
    check(
        [](cudaGraph_t g) {
            cudaGraphNode_t n = nullptr;
            OK(cudaGraphAddEmptyNode(&n, g, nullptr, 0));
            return n;
        },
        kind);
    check(
        [](cudaGraph_t g) {
            cudaGraphNode_t n = nullptr;
            OK(cudaGraphAddEventRecordNode(&n, g, nullptr, 0, event));
            return n;
        },
        kind);
    check(
        [](cudaGraph_t g) {
            cudaGraphNode_t n = nullptr;
            OK(cudaGraphAddEventWaitNode(&n, g, nullptr, 0, event));
            return n;
        },
        kind);
    cudaGraph_t none;
    cudaGraphExec_t e;
    OK(cudaGraphCreate(&none, 0));
    CHECK_EQ_INT(cudaGraphInstantiate(&e, none, cudaGraphInstantiateFlagDeviceLaunch),
                 cudaErrorInvalidValue);
    OK(cudaGraphDestroy(none));
    OK(cudaFreeArray(array));
    OK(cudaEventDestroy(event));
    OK(cudaFree(managed));
    OK(cudaFreeHost(pinned));
    OK(cudaFree(device_memory));
    return check_done();
}
