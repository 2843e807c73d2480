/* S9: executable graphs changed between launches: one node, nodes switched off, a whole graph; what
 * does not fit; several streams; event nodes; destruction while running. */
#include "check.h"

#define OK(call)         CHECK_STR(cudaGetErrorName(call), "cudaSuccess")
#define FAILS(call, why) CHECK_STR(cudaGetErrorName(call), #why)

__global__ void put(int *p, int value) { *p = value; }
__global__ void put_more(int *p, int value) { *p = value + 1000; }
__global__ void hold(volatile int *flag)
{
    while (*flag == 0) {
    }
}

static int *d, *h;
static volatile int *flag;
static cudaStream_t s, t;

struct Params {
    cudaKernelNodeParams p;
    void *args[2];
    int *at;
    int value;
    Params(void *func, int *where, int what) : at(where), value(what)
    {
        memset(&p, 0, sizeof p);
        args[0] = &at;
        args[1] = &value;
        p.func = func;
        p.gridDim = dim3(1);
        p.blockDim = dim3(1);
        p.kernelParams = args;
    }
};

/* put to d, then a copy of it to h. */
static cudaGraph_t two(cudaGraphNode_t *kernel, cudaGraphNode_t *copy, void *func, int value)
{
    cudaGraph_t g;
    Params p(func, d, value);
    OK(cudaGraphCreate(&g, 0));
    OK(cudaGraphAddKernelNode(kernel, g, nullptr, 0, &p.p));
    OK(cudaGraphAddMemcpyNode1D(copy, g, kernel, 1, h, d, sizeof(int), cudaMemcpyDefault));
    return g;
}

static int launched(cudaGraphExec_t exec)
{
    *h = -1;
    OK(cudaGraphLaunch(exec, s));
    OK(cudaStreamSynchronize(s));
    return *h;
}

static void one_node()
{
    cudaGraphNode_t k, c;
    cudaGraphExec_t exec;
    unsigned enabled = 7;
    cudaGraph_t g = two(&k, &c, (void *)put, 1);

    OK(cudaGraphInstantiate(&exec, g, 0));
    CHECK_EQ_INT(launched(exec), 1);
    Params other((void *)put_more, d, 2);
    OK(cudaGraphExecKernelNodeSetParams(exec, k, &other.p));
    CHECK_EQ_INT(launched(exec), 1002);
    FAILS(cudaGraphExecKernelNodeSetParams(exec, c, &other.p), cudaErrorInvalidValue);
    Params back((void *)put, d, 3);
    OK(cudaGraphKernelNodeSetParams(k, &back.p)); /* the graph; not what is made of it */
    CHECK_EQ_INT(launched(exec), 1002);
    OK(cudaMemset(d, 0, sizeof(int)));
    OK(cudaDeviceSynchronize());
    OK(cudaGraphNodeSetEnabled(exec, k, 0));
    OK(cudaGraphNodeGetEnabled(exec, k, &enabled));
    CHECK_EQ_INT(enabled, 0);
    CHECK_EQ_INT(launched(exec), 0);
    OK(cudaGraphNodeSetEnabled(exec, k, 1));
    CHECK_EQ_INT(launched(exec), 1002);
    OK(cudaGraphExecMemcpyNodeSetParams1D(exec, c, h + 1, d, sizeof(int), cudaMemcpyDefault));
    CHECK_EQ_INT(launched(exec), -1);
    CHECK_EQ_INT(h[1], 1002);
    /* what is switched off stays so when the whole is updated */
    cudaGraphExecUpdateResultInfo info;
    OK(cudaGraphNodeSetEnabled(exec, k, 0));
    OK(cudaGraphExecUpdate(exec, g, &info));
    OK(cudaGraphNodeGetEnabled(exec, k, &enabled));
    CHECK_EQ_INT(enabled, 0);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(g));
}

static void whole_graph()
{
    cudaGraphNode_t k, c, x;
    cudaGraphExec_t exec;
    cudaGraphExecUpdateResultInfo info;
    cudaGraph_t g = two(&k, &c, (void *)put, 1), u;

    OK(cudaGraphInstantiate(&exec, g, 0));
    OK(cudaGraphDestroy(g));
    u = two(&k, &c, (void *)put_more, 5);
    OK(cudaGraphExecUpdate(exec, u, &info));
    CHECK_EQ_INT(info.result, cudaGraphExecUpdateSuccess);
    OK(cudaGraphDestroy(u));
    CHECK_EQ_INT(launched(exec), 1005);

    u = two(&k, &c, (void *)put, 7);
    OK(cudaGraphAddEmptyNode(&x, u, &c, 1));
    FAILS(cudaGraphExecUpdate(exec, u, &info), cudaErrorGraphExecUpdateFailure);
    CHECK_EQ_INT(info.result, cudaGraphExecUpdateErrorTopologyChanged);
    OK(cudaGraphDestroy(u));

    Params p((void *)put, d, 7);
    OK(cudaGraphCreate(&u, 0));
    OK(cudaGraphAddKernelNode(&k, u, nullptr, 0, &p.p));
    OK(cudaGraphAddEmptyNode(&x, u, &k, 1));
    FAILS(cudaGraphExecUpdate(exec, u, &info), cudaErrorGraphExecUpdateFailure);
    CHECK_EQ_INT(info.result, cudaGraphExecUpdateErrorNodeTypeChanged);
    CHECK(info.errorNode == x);
    OK(cudaGraphDestroy(u));
    cudaGetLastError();
    CHECK_EQ_INT(launched(exec), 1005); /* as it was */
    OK(cudaGraphExecDestroy(exec));
}

/* Launches of one executable graph wait for each other, in whichever streams; each has the
 * parameters of its time; the graph may go while they run. */
static void order()
{
    cudaGraph_t g;
    cudaGraphNode_t a, b;
    cudaGraphExec_t exec;
    cudaKernelNodeParams wait;
    void *args[1] = {(void *)&flag};
    int *at = h + 4;

    memset(&wait, 0, sizeof wait);
    wait.func = (void *)hold;
    wait.gridDim = wait.blockDim = dim3(1);
    wait.kernelParams = args;
    Params p((void *)put, at, 1), q((void *)put_more, at, 2);
    OK(cudaGraphCreate(&g, 0));
    OK(cudaGraphAddKernelNode(&a, g, nullptr, 0, &wait));
    OK(cudaGraphAddKernelNode(&b, g, &a, 1, &p.p));
    OK(cudaGraphInstantiate(&exec, g, 0));
    OK(cudaGraphUpload(exec, s));
    OK(cudaStreamSynchronize(s));
    *at = 0;
    *flag = 0;
    OK(cudaGraphLaunch(exec, s));
    OK(cudaGraphExecKernelNodeSetParams(exec, b, &q.p));
    OK(cudaGraphLaunch(exec, t));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(g));
    FAILS(cudaStreamQuery(s), cudaErrorNotReady);
    FAILS(cudaStreamQuery(t), cudaErrorNotReady);
    CHECK_EQ_INT(*(volatile int *)at, 0);
    *flag = 1;
    OK(cudaStreamSynchronize(t));
    CHECK_EQ_INT(*(volatile int *)at, 1002);
    OK(cudaStreamSynchronize(s));
    CHECK_EQ_INT(*(volatile int *)at, 1002);
}

/* An event of a recording node is pending from the launch on. */
static void events()
{
    cudaGraph_t g;
    cudaGraphNode_t a, b;
    cudaGraphExec_t exec;
    cudaEvent_t e;
    cudaKernelNodeParams wait;
    void *args[1] = {(void *)&flag};

    memset(&wait, 0, sizeof wait);
    wait.func = (void *)hold;
    wait.gridDim = wait.blockDim = dim3(1);
    wait.kernelParams = args;
    OK(cudaEventCreate(&e));
    OK(cudaGraphCreate(&g, 0));
    OK(cudaGraphAddKernelNode(&a, g, nullptr, 0, &wait));
    OK(cudaGraphAddEventRecordNode(&b, g, &a, 1, e));
    OK(cudaGraphInstantiate(&exec, g, 0));
    OK(cudaGraphUpload(exec, s));
    OK(cudaStreamSynchronize(s));
    *flag = 0;
    h[8] = 0;
    OK(cudaEventQuery(e));
    OK(cudaGraphLaunch(exec, s));
    FAILS(cudaEventQuery(e), cudaErrorNotReady);
    OK(cudaStreamWaitEvent(t, e, 0));
    put<<<1, 1, 0, t>>>(h + 8, 9);
    FAILS(cudaStreamQuery(t), cudaErrorNotReady);
    *flag = 1;
    OK(cudaStreamSynchronize(t));
    CHECK_EQ_INT(h[8], 9);
    OK(cudaEventSynchronize(e));
    OK(cudaStreamSynchronize(s));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(g));
    OK(cudaEventDestroy(e));
}

int main()
{
    OK(cudaMalloc(&d, 4096));
    OK(cudaHostAlloc(&h, 4096, cudaHostAllocMapped));
    flag = h + 64;
    OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
    *flag = 1;
    put<<<1, 1>>>(d, 0); /* loaded before anything waits */
    put_more<<<1, 1>>>(d, 0);
    hold<<<1, 1>>>(flag);
    OK(cudaDeviceSynchronize());
    one_node();
    whole_graph();
    order();
    events();
    OK(cudaFreeHost(h));
    OK(cudaFree(d));
    return check_done();
}
