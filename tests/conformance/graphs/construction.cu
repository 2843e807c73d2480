/* S9: graphs made by hand: nodes of each kind, their order, questions about the structure, clones,
 * and random graphs checked against the same work done one by one. */
#include <cstdlib>
#include <vector>

#include "check.h"

#define OK(call)         CHECK_STR(cudaGetErrorName(call), "cudaSuccess")
#define FAILS(call, why) CHECK_STR(cudaGetErrorName(call), #why)

__global__ void put(int *p, int value) { *p = value; }
__global__ void scale(int *p, int by) { p[threadIdx.x] *= by; }
__global__ void copy_add(int *to, const int *from, int add) { *to = *from + add; }
__device__ int variable[4];

template <class... T> struct Args {
    void *pointers[sizeof...(T)];
    explicit Args(T &...values) : pointers{(void *)&values...} {}
};

static cudaKernelNodeParams kernel(void *func, void **args, unsigned grid = 1, unsigned block = 1)
{
    cudaKernelNodeParams p;
    memset(&p, 0, sizeof p);
    p.func = func;
    p.gridDim = dim3(grid);
    p.blockDim = dim3(block);
    p.kernelParams = args;
    return p;
}

static void CUDART_CB count_up(void *p) { ++*(int *)p; }

static void run(cudaGraph_t g, int times = 1)
{
    cudaGraphExec_t exec;
    cudaStream_t s;

    OK(cudaStreamCreate(&s));
    OK(cudaGraphInstantiate(&exec, g, 0));
    for (int i = 0; i < times; i++)
        OK(cudaGraphLaunch(exec, s));
    OK(cudaStreamSynchronize(s));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaStreamDestroy(s));
}

/* Every kind of node once, in a chain. */
static void kinds(int *d, int *pinned)
{
    cudaGraph_t g, child;
    cudaGraphNode_t n[12], in;
    cudaEvent_t before, after;
    int one = 1, five = 5, three = 3, called = 0, symbol[4] = {9, 8, 7, 6}, back[4] = {};

    OK(cudaEventCreate(&before));
    OK(cudaEventCreate(&after));
    OK(cudaGraphCreate(&g, 0));
    OK(cudaGraphAddEmptyNode(&n[0], g, nullptr, 0));
    OK(cudaGraphAddEventRecordNode(&n[1], g, &n[0], 1, before));
    cudaMemsetParams set = {};
    set.dst = d;
    set.value = 2;
    set.elementSize = 4;
    set.width = 8;
    set.height = 1;
    OK(cudaGraphAddMemsetNode(&n[2], g, &n[1], 1, &set));
    Args<int *, int> scale_args(d, five);
    auto k = kernel((void *)scale, scale_args.pointers, 1, 8);
    OK(cudaGraphAddKernelNode(&n[3], g, &n[2], 1, &k));
    OK(cudaGraphCreate(&child, 0));
    Args<int *, int> child_args(d, three);
    auto c = kernel((void *)scale, child_args.pointers, 1, 4);
    OK(cudaGraphAddKernelNode(&in, child, nullptr, 0, &c));
    OK(cudaGraphAddChildGraphNode(&n[4], g, &n[3], 1, child));
    OK(cudaGraphDestroy(child)); /* it was copied */
    cudaHostNodeParams host = {count_up, &called};
    OK(cudaGraphAddHostNode(&n[5], g, &n[4], 1, &host));
    OK(cudaGraphAddMemcpyNode1D(&n[6], g, &n[5], 1, pinned, d, 8 * sizeof(int), cudaMemcpyDefault));
    OK(cudaGraphAddMemcpyNodeToSymbol(&n[7], g, &n[6], 1, variable, symbol, sizeof symbol, 0,
                                      cudaMemcpyHostToDevice));
    OK(cudaGraphAddMemcpyNodeFromSymbol(&n[8], g, &n[7], 1, back, variable, sizeof back, 0,
                                        cudaMemcpyDeviceToHost));
    cudaMemcpy3DParms box = {};
    box.srcPtr = make_cudaPitchedPtr(d, 4 * sizeof(int), 4, 2);
    box.dstPtr = make_cudaPitchedPtr(pinned + 16, 8 * sizeof(int), 8, 2);
    box.extent = make_cudaExtent(2 * sizeof(int), 2, 1);
    box.kind = cudaMemcpyDefault;
    OK(cudaGraphAddMemcpyNode(&n[9], g, &n[8], 1, &box));
    OK(cudaGraphAddEventRecordNode(&n[10], g, &n[9], 1, after));
    OK(cudaGraphAddEventWaitNode(&n[11], g, &n[10], 1, after));
    memset(pinned, 0, 64 * sizeof(int));
    five = 50; /* arguments were copied when the node was made */
    run(g, 2);
    CHECK_EQ_INT(called, 2);
    for (int i = 0; i < 8; i++)
        CHECK_EQ_INT(pinned[i], i < 4 ? 30 : 10);
    CHECK(memcmp(symbol, back, sizeof back) == 0);
    CHECK_EQ_INT(pinned[16], 30);
    CHECK_EQ_INT(pinned[17], 30);
    CHECK_EQ_INT(pinned[18], 0);
    CHECK_EQ_INT(pinned[24], 10);
    float ms = -1;
    OK(cudaEventElapsedTime(&ms, before, after));
    CHECK(ms >= 0);

    static const cudaGraphNodeType types[12] = {
        cudaGraphNodeTypeEmpty,  cudaGraphNodeTypeEventRecord, cudaGraphNodeTypeMemset,
        cudaGraphNodeTypeKernel, cudaGraphNodeTypeGraph,       cudaGraphNodeTypeHost,
        cudaGraphNodeTypeMemcpy, cudaGraphNodeTypeMemcpy,      cudaGraphNodeTypeMemcpy,
        cudaGraphNodeTypeMemcpy, cudaGraphNodeTypeEventRecord, cudaGraphNodeTypeWaitEvent};
    for (int i = 0; i < 12; i++) {
        cudaGraphNodeType type;
        OK(cudaGraphNodeGetType(n[i], &type));
        CHECK_EQ_INT(type, types[i]);
    }
    cudaKernelNodeParams kernel_back;
    OK(cudaGraphKernelNodeGetParams(n[3], &kernel_back));
    CHECK(kernel_back.func == (void *)scale);
    CHECK_EQ_INT(kernel_back.blockDim.x, 8);
    CHECK_EQ_INT(*(int *)kernel_back.kernelParams[1], 5);
    cudaMemsetParams set_back;
    OK(cudaGraphMemsetNodeGetParams(n[2], &set_back));
    CHECK(set_back.dst == d && set_back.value == 2 && set_back.width == 8);
    cudaMemcpy3DParms box_back;
    OK(cudaGraphMemcpyNodeGetParams(n[9], &box_back));
    CHECK_EQ_INT(box_back.extent.width, 2 * sizeof(int));
    CHECK_EQ_INT(box_back.extent.height, 2);
    CHECK(box_back.srcPtr.ptr == d && box_back.dstPtr.ptr == pinned + 16);
    cudaHostNodeParams host_back;
    OK(cudaGraphHostNodeGetParams(n[5], &host_back));
    CHECK(host_back.fn == count_up && host_back.userData == &called);
    cudaEvent_t event_back;
    OK(cudaGraphEventRecordNodeGetEvent(n[1], &event_back));
    CHECK(event_back == before);
    FAILS(cudaGraphKernelNodeGetParams(n[0], &kernel_back), cudaErrorInvalidValue);
    OK(cudaGraphDestroy(g));
    OK(cudaEventDestroy(before));
    OK(cudaEventDestroy(after));
}

static void structure(int *d)
{
    cudaGraph_t g, clone;
    cudaGraphNode_t a, b, c, list[8], from[8], to[8], found;
    size_t count;
    int zero = 0;
    Args<int *, int> args(d, zero);
    auto k = kernel((void *)put, args.pointers);

    FAILS(cudaGraphCreate(nullptr, 0), cudaErrorInvalidValue);
    FAILS(cudaGraphCreate(&g, 1), cudaErrorInvalidValue);
    OK(cudaGraphCreate(&g, 0));
    OK(cudaGraphAddKernelNode(&a, g, nullptr, 0, &k));
    OK(cudaGraphAddKernelNode(&b, g, &a, 1, &k));
    cudaGraphNode_t both[2] = {a, b};
    OK(cudaGraphAddEmptyNode(&c, g, both, 2));
    count = 0;
    OK(cudaGraphGetNodes(g, nullptr, &count));
    CHECK_EQ_INT(count, 3);
    count = 8;
    list[7] = a;
    OK(cudaGraphGetNodes(g, list, &count));
    CHECK_EQ_INT(count, 3);
    CHECK(list[0] == a && list[1] == b && list[2] == c);
    CHECK(list[7] == nullptr);
    count = 8;
    OK(cudaGraphGetRootNodes(g, list, &count));
    CHECK_EQ_INT(count, 1);
    CHECK(list[0] == a);
    count = 8;
    OK(cudaGraphGetEdges(g, from, to, nullptr, &count));
    CHECK_EQ_INT(count, 3);
    count = 8;
    OK(cudaGraphNodeGetDependencies(c, list, nullptr, &count));
    CHECK_EQ_INT(count, 2);
    count = 8;
    OK(cudaGraphNodeGetDependentNodes(a, list, nullptr, &count));
    CHECK_EQ_INT(count, 2);
    OK(cudaGraphRemoveDependencies(g, &a, &c, nullptr, 1));
    FAILS(cudaGraphRemoveDependencies(g, &a, &c, nullptr, 1), cudaErrorInvalidValue);
    OK(cudaGraphAddDependencies(g, &a, &c, nullptr, 1));
    FAILS(cudaGraphAddDependencies(g, &a, &c, nullptr, 1), cudaErrorInvalidValue);
    FAILS(cudaGraphAddDependencies(g, &a, &a, nullptr, 1), cudaErrorInvalidValue);
    OK(cudaGraphClone(&clone, g));
    OK(cudaGraphNodeFindInClone(&found, b, clone));
    CHECK(found != b);
    FAILS(cudaGraphNodeFindInClone(&found, b, g), cudaErrorInvalidValue);
    OK(cudaGraphDestroyNode(b));
    count = 8;
    OK(cudaGraphNodeGetDependencies(c, list, nullptr, &count));
    CHECK_EQ_INT(count, 1);
    OK(cudaGraphGetNodes(clone, nullptr, &count));
    CHECK_EQ_INT(count, 3);
    cudaGraphExec_t exec;
    FAILS(cudaGraphInstantiate(&exec, clone, 16), cudaErrorInvalidValue);
    FAILS(cudaGraphLaunch(nullptr, nullptr), cudaErrorInvalidValue);
    auto wrong = k;
    wrong.func = nullptr;
    FAILS(cudaGraphAddKernelNode(&b, g, nullptr, 0, &wrong), cudaErrorInvalidDeviceFunction);
    FAILS(cudaGraphAddKernelNode(&b, g, nullptr, 1, &k), cudaErrorInvalidValue);
    FAILS(cudaGraphAddKernelNode(&b, g, nullptr, 0, nullptr), cudaErrorInvalidValue);
    OK(cudaGraphDestroy(clone));
    OK(cudaGraphDestroy(g));
    cudaGetLastError();
}

/* Nodes that each add to what an earlier one wrote, with more edges between than are needed. */
static void random_graph(unsigned seed, int nodes, int *d)
{
    cudaGraph_t g;
    std::vector<cudaGraphNode_t> node(nodes);
    std::vector<int> expected(nodes), got(nodes);
    cudaGraphExec_t exec;
    cudaStream_t s;

    srand(seed);
    OK(cudaGraphCreate(&g, 0));
    for (int i = 0; i < nodes; i++) {
        std::vector<cudaGraphNode_t> deps;
        int source = i > 0 ? rand() % i : 0, add = rand() % 100;
        int *to = d + i, *from = d + source;
        Args<int *, int *, int> args(to, from, add);
        Args<int *, int> first(to, add);
        auto k =
            i == 0 ? kernel((void *)put, first.pointers) : kernel((void *)copy_add, args.pointers);
        if (i > 0)
            deps.push_back(node[source]);
        for (int j = 0; j < i && deps.size() < 5; j++)
            if (j != source && rand() % 8 == 0)
                deps.push_back(node[j]);
        OK(cudaGraphAddKernelNode(&node[i], g, deps.data(), deps.size(), &k));
        expected[i] = (i > 0 ? expected[source] : 0) + add;
    }
    OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    OK(cudaGraphInstantiate(&exec, g, 0));
    OK(cudaGraphDestroy(g));
    for (int launch = 0; launch < 5; launch++) {
        OK(cudaMemsetAsync(d, 0xff, nodes * sizeof(int), s));
        OK(cudaGraphLaunch(exec, s));
        OK(cudaMemcpyAsync(got.data(), d, nodes * sizeof(int), cudaMemcpyDefault, s));
        OK(cudaStreamSynchronize(s));
        CHECK(got == expected);
    }
    OK(cudaGraphExecDestroy(exec));
    OK(cudaStreamDestroy(s));
}

static void objects(int *d)
{
    static int destroyed;
    cudaGraph_t g;
    cudaGraphNode_t n;
    cudaUserObject_t o;
    cudaGraphExec_t exec;
    int zero = 0;
    Args<int *, int> args(d, zero);
    auto k = kernel((void *)put, args.pointers);

    FAILS(cudaUserObjectCreate(&o, &destroyed, count_up, 0, cudaUserObjectNoDestructorSync),
          cudaErrorInvalidValue);
    OK(cudaUserObjectCreate(&o, &destroyed, count_up, 1, cudaUserObjectNoDestructorSync));
    OK(cudaGraphCreate(&g, 0));
    OK(cudaGraphAddKernelNode(&n, g, nullptr, 0, &k));
    OK(cudaGraphRetainUserObject(g, o, 1, cudaGraphUserObjectMove));
    OK(cudaGraphInstantiate(&exec, g, 0));
    OK(cudaGraphDestroy(g));
    OK(cudaGraphLaunch(exec, nullptr));
    OK(cudaDeviceSynchronize());
    CHECK_EQ_INT(destroyed, 0);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < 1000000000 && *(volatile int *)&destroyed == 0; i++) {
    }
    CHECK_EQ_INT(destroyed, 1);
}

/* Sets and copies of memory that was allocated in stream order. */
static void memory_in_order()
{
    cudaStream_t s;
    cudaGraph_t g;
    cudaGraphNode_t set, copy;
    cudaGraphExec_t exec;
    int *d, got[2] = {0, 0};

    OK(cudaStreamCreate(&s));
    OK(cudaMallocAsync(&d, 64, s));
    OK(cudaStreamSynchronize(s));
    OK(cudaGraphCreate(&g, 0));
    cudaMemsetParams p = {d, 0, 5, 4, 2, 1};
    OK(cudaGraphAddMemsetNode(&set, g, nullptr, 0, &p));
    OK(cudaGraphAddMemcpyNode1D(&copy, g, &set, 1, d + 4, d, 8, cudaMemcpyDefault));
    OK(cudaGraphInstantiate(&exec, g, 0));
    p.value = 7;
    OK(cudaGraphExecMemsetNodeSetParams(exec, set, &p));
    OK(cudaGraphLaunch(exec, s));
    OK(cudaMemcpyAsync(got, d + 4, 8, cudaMemcpyDefault, s));
    OK(cudaStreamSynchronize(s));
    CHECK(got[0] == 7 && got[1] == 7);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(g));
    OK(cudaFreeAsync(d, s));
    OK(cudaStreamDestroy(s));
}

int main()
{
    int *d, *pinned;

    OK(cudaMalloc(&d, 4096));
    OK(cudaMallocHost(&pinned, 4096));
    kinds(d, pinned);
    structure(d);
    for (unsigned seed = 1; seed <= 12; seed++)
        random_graph(seed, seed * 10, d);
    objects(d);
    memory_in_order();
    OK(cudaFreeHost(pinned));
    OK(cudaFree(d));
    return check_done();
}
