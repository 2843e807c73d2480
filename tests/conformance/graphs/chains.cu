/* S9: long chains of small kernels in a graph, of all shapes mixed: launched again and again,
 * changed, partly switched off, with kernels among them that wait, and with one that fails. */
#include <vector>

#include "check.h"

#define OK(call) CHECK_STR(cudaGetErrorName(call), "cudaSuccess")

/* Each kernel appends what it is to a log: so order and arguments show. */
__global__ void note(unsigned *log, unsigned what)
{
    if (blockIdx.x == 0 && threadIdx.x == 0)
        log[1 + log[0]++] = what;
}

__global__ void note_blocks(unsigned *log, unsigned what, unsigned *blocks)
{
    if (threadIdx.x == 0 && atomicAdd(blocks, 1) == gridDim.x * gridDim.y - 1) {
        *blocks = 0;
        log[1 + log[0]++] = what + blockDim.x;
    }
}

__global__ void note_shared(unsigned *log, unsigned what)
{
    extern __shared__ unsigned shared[];
    shared[threadIdx.x] = threadIdx.x + what;
    __syncthreads();
    unsigned other = shared[blockDim.x - 1 - threadIdx.x];
    if (threadIdx.x == 0)
        log[1 + log[0]++] = other;
}

/* Its threads wait for each other: it may be set aside in the middle. */
__global__ void note_waiting(unsigned *log, unsigned what, volatile unsigned *flag)
{
    if (blockIdx.x == 0) {
        while (*flag == 0) {
        }
        *flag = 0;
        log[1 + log[0]++] = what;
    } else {
        *flag = 1;
    }
}

__global__ void fail() { asm volatile("trap;"); }

struct chain {
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    std::vector<cudaGraphNode_t> nodes;
    std::vector<unsigned> expected;
};

static unsigned *device_log, *device_blocks, *device_flag;

static cudaKernelNodeParams params(void *func, unsigned grid, unsigned block, unsigned shared,
                                   void **args)
{
    cudaKernelNodeParams p;
    memset(&p, 0, sizeof p);
    p.func = func;
    p.gridDim = dim3(grid, func == (void *)note_blocks ? 3 : 1);
    p.blockDim = dim3(block);
    p.sharedMemBytes = shared;
    p.kernelParams = args;
    return p;
}

static void add(chain &c, cudaKernelNodeParams p, unsigned expected)
{
    cudaGraphNode_t n = nullptr;
    const cudaGraphNode_t *before = c.nodes.empty() ? nullptr : &c.nodes.back();
    OK(cudaGraphAddKernelNode(&n, c.graph, before, before != nullptr, &p));
    c.nodes.push_back(n);
    c.expected.push_back(expected);
}

static void build(chain &c, unsigned length)
{
    OK(cudaGraphCreate(&c.graph, 0));
    for (unsigned i = 0; i < length; i++) {
        unsigned what = 1000 * i, block = 1 + i % 4 * 31;
        void *args[] = {&device_log, &what, &device_blocks},
             *waiting[] = {&device_log, &what, &device_flag};
        switch (i % 11) {
        case 3: add(c, params((void *)note_blocks, 1 + i % 5, block, 0, args), what + block); break;
        case 5:
            add(c, params((void *)note_shared, 1, block, block * sizeof(unsigned), args),
                what + block - 1);
            break;
        case 8: add(c, params((void *)note_waiting, 2, 1, 0, waiting), what); break;
        default: add(c, params((void *)note, 1 + i % 3, block, 0, args), what); break;
        }
    }
    OK(cudaGraphInstantiate(&c.exec, c.graph, 0));
}

static void run(const chain &c, cudaStream_t s, const std::vector<unsigned> &expected)
{
    std::vector<unsigned> got(c.nodes.size() + 1);
    OK(cudaMemsetAsync(device_log, 0, sizeof *device_log, s));
    OK(cudaGraphLaunch(c.exec, s));
    OK(cudaMemcpyAsync(got.data(), device_log, got.size() * sizeof got[0], cudaMemcpyDefault, s));
    OK(cudaStreamSynchronize(s));
    CHECK_EQ_INT(got[0], expected.size());
    unsigned wrong = 0;
    for (size_t i = 0; i < expected.size(); i++)
        wrong += got[1 + i] != expected[i];
    CHECK_EQ_INT(wrong, 0);
}

__global__ void multiply(unsigned *p, unsigned by) { *p *= by; }
__global__ void sum(unsigned *to, const unsigned *a, const unsigned *b) { *to = *a + *b; }

static cudaGraphNode_t empty(cudaGraph_t g, std::vector<cudaGraphNode_t> after)
{
    cudaGraphNode_t n = nullptr;
    OK(cudaGraphAddEmptyNode(&n, g, after.data(), after.size()));
    return n;
}

static cudaGraphNode_t kernel(cudaGraph_t g, std::vector<cudaGraphNode_t> after, void *func,
                              void **args)
{
    cudaGraphNode_t n = nullptr;
    cudaKernelNodeParams p = params(func, 1, 1, 0, args);
    OK(cudaGraphAddKernelNode(&n, g, after.data(), after.size(), &p));
    return n;
}

/* Nodes that do nothing carry order on: first ones, in a row, where ways part and join, and in a
 * graph within another. */
static void empty_nodes(cudaStream_t s)
{
    cudaGraph_t g, child;
    cudaGraphExec_t e;
    cudaGraphNode_t inner;
    unsigned *p, two = 2, three = 3, five = 5, got[3];
    OK(cudaMalloc(&p, 3 * sizeof *p));
    unsigned *q = p + 1, *r = p + 2;
    void *p2[] = {&p, &two}, *p3[] = {&p, &three}, *q5[] = {&q, &five}, *add[] = {&r, &p, &q};
    OK(cudaGraphCreate(&child, 0));
    cudaGraphNode_t c = empty(child, {empty(child, {})});
    c = kernel(child, {c}, (void *)multiply, p3);
    empty(child, {empty(child, {c}), c});
    OK(cudaGraphCreate(&g, 0));
    cudaGraphNode_t first = empty(g, {}), other = empty(g, {first});
    cudaGraphNode_t a = kernel(g, {first, other}, (void *)multiply, p2);
    OK(cudaGraphAddChildGraphNode(&inner, g, &a, 1, child));
    cudaGraphNode_t b = kernel(g, {other}, (void *)multiply, q5);
    cudaGraphNode_t way = empty(g, {inner}), join = empty(g, {way, b, inner});
    kernel(g, {empty(g, {join}), way}, (void *)sum, add);
    OK(cudaGraphInstantiate(&e, g, 0));
    for (unsigned i = 1, x = 1, y = 1; i < 8; i++) {
        unsigned ones[] = {x, y, 0};
        OK(cudaMemcpyAsync(p, ones, sizeof ones, cudaMemcpyDefault, s));
        OK(cudaGraphLaunch(e, s));
        OK(cudaMemcpyAsync(got, p, sizeof got, cudaMemcpyDefault, s));
        OK(cudaStreamSynchronize(s));
        x *= 6, y *= 5;
        CHECK(got[0] == x && got[1] == y && got[2] == x + y);
    }
    OK(cudaGraphExecDestroy(e));
    OK(cudaGraphDestroy(g));
    OK(cudaGraphDestroy(child));
    /* Nothing but such nodes. */
    OK(cudaGraphCreate(&g, 0));
    empty(g, {empty(g, {})});
    OK(cudaGraphInstantiate(&e, g, 0));
    OK(cudaGraphLaunch(e, s));
    OK(cudaStreamSynchronize(s));
    OK(cudaGraphExecDestroy(e));
    OK(cudaGraphDestroy(g));
    OK(cudaFree(p));
}

int main()
{
    enum { LENGTH = 300 };
    chain c;
    cudaStream_t s;
    OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    OK(cudaMalloc(&device_log, (LENGTH + 2) * sizeof *device_log));
    OK(cudaMalloc(&device_blocks, sizeof *device_blocks));
    OK(cudaMalloc(&device_flag, sizeof *device_flag));
    OK(cudaMemset(device_blocks, 0, sizeof *device_blocks));
    OK(cudaMemset(device_flag, 0, sizeof *device_flag));
    OK(cudaDeviceSynchronize());
    empty_nodes(s);
    build(c, LENGTH);
    for (int i = 0; i < 50; i++)
        run(c, s, c.expected);

    /* Other arguments, and nodes switched off, between launches. */
    std::vector<unsigned> expected;
    for (unsigned i = 0; i < LENGTH; i++) {
        unsigned what = 7 * i;
        void *args[] = {&device_log, &what};
        if (i % 11 == 4) {
            cudaKernelNodeParams p = params((void *)note, 1, 32, 0, args);
            OK(cudaGraphExecKernelNodeSetParams(c.exec, c.nodes[i], &p));
        }
        if (i % 13 == 2)
            OK(cudaGraphNodeSetEnabled(c.exec, c.nodes[i], 0));
        else
            expected.push_back(i % 11 == 4 ? what : c.expected[i]);
    }
    for (int i = 0; i < 20; i++)
        run(c, s, expected);
    OK(cudaGraphExecDestroy(c.exec));

    /* What comes after a failure is not run. */
    cudaKernelNodeParams broken = params((void *)fail, 1, 1, 0, nullptr);
    OK(cudaGraphKernelNodeSetParams(c.nodes[LENGTH / 2], &broken));
    OK(cudaGraphInstantiate(&c.exec, c.graph, 0));
    OK(cudaMemsetAsync(device_log, 0, sizeof *device_log, s));
    OK(cudaGraphLaunch(c.exec, s));
    CHECK(cudaStreamSynchronize(s) != cudaSuccess);
    CHECK(cudaGetLastError() != cudaSuccess);
    return check_done();
}
