/* S9: conditional nodes: if and else, while, switch, one inside another; values set by kernels and
 * by default. (nvcc wants -rdc=true -lcudadevrt for cudaGraphSetConditional.) */
#include "check.h"

#define OK(call)         CHECK_STR(cudaGetErrorName(call), "cudaSuccess")
#define FAILS(call, why) CHECK_STR(cudaGetErrorName(call), #why)

__global__ void put(int *p, int value) { *p = value; }
__global__ void add(int *p, int value) { *p += value; }
__global__ void decide(cudaGraphConditionalHandle handle, const int *from)
{
    cudaGraphSetConditional(handle, *from);
}
/* One iteration of a loop of *iterations. */
__global__ void turn(cudaGraphConditionalHandle handle, int *count, const int *iterations)
{
    cudaGraphSetConditional(handle, ++*count < *iterations);
}

static int *d;
static cudaStream_t s;

template <class... T>
static cudaGraphNode_t kernel(cudaGraph_t g, cudaGraphNode_t after, void *func, T... values)
{
    void *args[] = {(void *)&values...};
    cudaKernelNodeParams p;
    cudaGraphNode_t n;
    memset(&p, 0, sizeof p);
    p.func = func;
    p.gridDim = p.blockDim = dim3(1);
    p.kernelParams = args;
    OK(cudaGraphAddKernelNode(&n, g, after ? &after : nullptr, after ? 1 : 0, &p));
    return n;
}

static cudaGraphNode_t conditional(cudaGraph_t g, cudaGraphNode_t after,
                                   cudaGraphConditionalHandle handle,
                                   cudaGraphConditionalNodeType type, unsigned size,
                                   cudaGraph_t *bodies)
{
    cudaGraphNodeParams p = {cudaGraphNodeTypeConditional};
    cudaGraphNode_t n;
    p.conditional.handle = handle;
    p.conditional.type = type;
    p.conditional.size = size;
    OK(cudaGraphAddNode(&n, g, after ? &after : nullptr, nullptr, after ? 1 : 0, &p));
    for (unsigned i = 0; i < size; i++)
        bodies[i] = p.conditional.phGraph_out[i];
    return n;
}

static int result(int at)
{
    int value;
    OK(cudaMemcpy(&value, d + at, sizeof value, cudaMemcpyDefault));
    return value;
}

static void run(cudaGraphExec_t exec, int input)
{
    OK(cudaMemset(d + 1, 0, 15 * sizeof(int)));
    OK(cudaMemcpy(d, &input, sizeof input, cudaMemcpyDefault));
    OK(cudaGraphLaunch(exec, s));
    OK(cudaStreamSynchronize(s));
}

static void if_else()
{
    cudaGraph_t g, bodies[2];
    cudaGraphConditionalHandle handle;
    cudaGraphExec_t exec;

    OK(cudaGraphCreate(&g, 0));
    OK(cudaGraphConditionalHandleCreate(&handle, g, 0, 0));
    auto k = kernel(g, nullptr, (void *)decide, handle, d);
    auto c = conditional(g, k, handle, cudaGraphCondTypeIf, 2, bodies);
    kernel(bodies[0], nullptr, (void *)put, d + 1, 10);
    kernel(bodies[1], nullptr, (void *)put, d + 1, 20);
    kernel(g, c, (void *)add, d + 1, 1);
    OK(cudaGraphInstantiate(&exec, g, 0));
    run(exec, 1);
    CHECK_EQ_INT(result(1), 11);
    run(exec, 0);
    CHECK_EQ_INT(result(1), 21);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(g));
}

static void loop()
{
    cudaGraph_t g, body, inner;
    cudaGraphConditionalHandle handle, inside;
    cudaGraphExec_t exec;

    OK(cudaGraphCreate(&g, 0));
    OK(cudaGraphConditionalHandleCreate(&handle, g, 1, cudaGraphCondAssignDefault));
    OK(cudaGraphConditionalHandleCreate(&inside, g, 1, cudaGraphCondAssignDefault));
    conditional(g, nullptr, handle, cudaGraphCondTypeWhile, 1, &body);
    auto k = kernel(body, nullptr, (void *)turn, handle, d + 1, d);
    auto c = conditional(body, k, inside, cudaGraphCondTypeIf, 1, &inner);
    kernel(inner, nullptr, (void *)add, d + 2, 3);
    kernel(body, c, (void *)add, d + 3, 1); /* two ends of the body */
    kernel(body, k, (void *)add, d + 4, 2);
    OK(cudaGraphInstantiate(&exec, g, 0));
    for (int iterations = 1; iterations <= 100; iterations += 33) {
        run(exec, iterations); /* the default is there again at each launch */
        CHECK_EQ_INT(result(1), iterations);
        CHECK_EQ_INT(result(2), 3 * iterations);
        CHECK_EQ_INT(result(3), iterations);
        CHECK_EQ_INT(result(4), 2 * iterations);
    }
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(g));
}

static void choice()
{
    cudaGraph_t g, bodies[3];
    cudaGraphConditionalHandle handle;
    cudaGraphExec_t exec, second;

    OK(cudaGraphCreate(&g, 0));
    OK(cudaGraphConditionalHandleCreate(&handle, g, 0, 0));
    auto k = kernel(g, nullptr, (void *)decide, handle, d);
    conditional(g, k, handle, cudaGraphCondTypeSwitch, 3, bodies);
    for (int i = 0; i < 3; i++)
        kernel(bodies[i], nullptr, (void *)put, d + 1, 100 + i);
    OK(cudaGraphInstantiate(&exec, g, 0));
    FAILS(cudaGraphInstantiate(&second, g, 0), cudaErrorNotSupported);
    for (int i = 0; i < 5; i++) {
        run(exec, i);
        CHECK_EQ_INT(result(1), i < 3 ? 100 + i : 0);
    }
    OK(cudaGraphExecDestroy(exec));
    FAILS(cudaGraphDestroy(bodies[0]), cudaErrorInvalidValue);
    OK(cudaGraphDestroy(g));
}

/* A graph whose switch takes case `value` where nothing else says so, or what d[0] says. */
static cudaGraph_t switching(unsigned value, bool decides, int base)
{
    cudaGraph_t g, bodies[3];
    cudaGraphConditionalHandle handle;
    cudaGraphNode_t k = nullptr;
    OK(cudaGraphCreate(&g, 0));
    OK(cudaGraphConditionalHandleCreate(&handle, g, value, cudaGraphCondAssignDefault));
    if (decides)
        k = kernel(g, nullptr, (void *)decide, handle, d);
    conditional(g, k, handle, cudaGraphCondTypeSwitch, 3, bodies);
    for (int i = 0; i < 3; i++)
        kernel(bodies[i], nullptr, (void *)put, d + 1, base + i);
    return g;
}

/* An update takes the handle of the other graph, with its default value; kernels set that one. */
static void updated()
{
    cudaGraphExec_t exec, other;
    cudaGraphExecUpdateResultInfo info;
    cudaGraph_t first = switching(0, false, 100);
    OK(cudaGraphInstantiate(&exec, first, 0));
    run(exec, 0);
    CHECK_EQ_INT(result(1), 100);
    for (unsigned i = 0; i < 4; i++) {
        cudaGraph_t next = switching((2 + i) % 3, false, 200 + 10 * i);
        OK(cudaGraphExecUpdate(exec, next, &info));
        CHECK_EQ_INT(info.result, cudaGraphExecUpdateSuccess);
        OK(cudaGraphDestroy(next)); /* the executable graph has what it needs */
        run(exec, 0);
        CHECK_EQ_INT(result(1), 200 + 10 * i + (2 + i) % 3);
    }
    OK(cudaGraphExecUpdate(exec, first, &info));
    run(exec, 0);
    CHECK_EQ_INT(result(1), 100);
    FAILS(cudaGraphInstantiate(&other, first, 0), cudaErrorNotSupported); /* it is, again */
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphInstantiate(&exec, first, 0));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(first));
    first = switching(0, true, 300);
    cudaGraph_t second = switching(1, true, 400);
    OK(cudaGraphInstantiate(&exec, first, 0));
    OK(cudaGraphExecUpdate(exec, second, &info));
    for (int i = 0; i < 3; i++) {
        run(exec, i);
        CHECK_EQ_INT(result(1), 400 + i);
    }
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(first));
    OK(cudaGraphDestroy(second));
}

static void wrong()
{
    cudaGraph_t g, clone;
    cudaGraphConditionalHandle handle;
    cudaGraphNode_t n;
    cudaGraphExec_t exec;
    cudaGraphNodeParams p = {cudaGraphNodeTypeConditional};

    OK(cudaGraphCreate(&g, 0));
    FAILS(cudaGraphConditionalHandleCreate(&handle, g, 1, 2), cudaErrorInvalidValue);
    FAILS(cudaGraphConditionalHandleCreate(nullptr, g, 1, 0), cudaErrorInvalidValue);
    OK(cudaGraphConditionalHandleCreate(&handle, g, 1, 0));
    FAILS(cudaGraphInstantiate(&exec, g, 0), cudaErrorInvalidValue); /* nobody uses the handle */
    p.conditional.handle = handle;
    p.conditional.type = cudaGraphCondTypeWhile;
    p.conditional.size = 2;
    FAILS(cudaGraphAddNode(&n, g, nullptr, nullptr, 0, &p), cudaErrorInvalidValue);
    p.conditional.size = 1;
    OK(cudaGraphAddNode(&n, g, nullptr, nullptr, 0, &p));
    FAILS(cudaGraphAddNode(&n, g, nullptr, nullptr, 0, &p), cudaErrorInvalidValue); /* used */
    FAILS(cudaGraphClone(&clone, g), cudaErrorNotSupported);
    OK(cudaGraphDestroy(g));
    cudaGetLastError();
}

int main()
{
    OK(cudaMalloc(&d, 4096));
    OK(cudaStreamCreate(&s));
    if_else();
    loop();
    choice();
    updated();
    wrong();
    OK(cudaStreamDestroy(s));
    OK(cudaFree(d));
    return check_done();
}
