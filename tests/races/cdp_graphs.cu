// FLAGS: -rdc=true -lcudadevrt
/* Graphs that kernels launch: beside the rest of their graph (fire and forget), beside that (sibling),
 * after it (tail); and against other streams and the host. */
#include "races.h"

__global__ void writes(int *p, int value) { p[threadIdx.x] = value; }
__global__ void also_writes(int *p, int value) { p[threadIdx.x] = value; }
__global__ void reads(const int *p, int *result) { atomicAdd(result, p[threadIdx.x]); }

/* What the next launch of `launches` does. */
struct plan {
    cudaGraphExec_t graph;
    int how; /* 0: nothing; 1: tail; 2: fire and forget; 3: sibling */
};
__device__ plan plans[4], inner[4];

static __device__ void follow(const plan *list)
{
    for (int i = 0; i < 4; i++) {
        if (list[i].how == 1)
            cudaGraphLaunch(list[i].graph, cudaStreamGraphTailLaunch);
        if (list[i].how == 2)
            cudaGraphLaunch(list[i].graph, cudaStreamGraphFireAndForget);
        if (list[i].how == 3)
            cudaGraphLaunch(list[i].graph, cudaStreamGraphFireAndForgetAsSibling);
    }
}
__global__ void launches() { follow(plans); }
__global__ void launches_more() { follow(inner); }

static void set(plan (&to)[4], plan first, plan second = {}, plan third = {})
{
    plan all[4] = {first, second, third, {}};
    DO(cudaMemcpyToSymbol(to, all, sizeof all));
}

/* A node that runs the kernel with these parameters, after another, or not. */
static cudaGraphNode_t node(cudaGraph_t graph, void *kernel, void **parameters,
                            cudaGraphNode_t *after = nullptr, int threads = 32)
{
    cudaGraphNode_t made;
    cudaKernelNodeParams p = {};
    p.func = kernel;
    p.gridDim = dim3(1);
    p.blockDim = dim3(threads);
    p.kernelParams = parameters;
    DO(cudaGraphAddKernelNode(&made, graph, after, after != nullptr ? 1 : 0, &p));
    return made;
}

static cudaGraphExec_t executable(cudaGraph_t graph)
{
    cudaGraphExec_t made;
    DO(cudaGraphInstantiate(&made, graph, cudaGraphInstantiateFlagDeviceLaunch));
    DO(cudaGraphUpload(made, a));
    DO(cudaStreamSynchronize(a));
    return made;
}

/* A graph of one kernel that goes through memory. */
static cudaGraphExec_t one(void *kernel, int *p, int *result = nullptr)
{
    cudaGraph_t graph;
    int value = 3;
    void *parameters[] = {&p, result != nullptr ? (void *)&result : (void *)&value};
    DO(cudaGraphCreate(&graph, 0));
    node(graph, kernel, parameters);
    return executable(graph);
}

static cudaGraphExec_t launcher(void *kernel = (void *)launches)
{
    cudaGraph_t graph;
    DO(cudaGraphCreate(&graph, 0));
    node(graph, kernel, nullptr, nullptr, 1);
    return executable(graph);
}

/* The launching kernel's graph goes on beside what it launches. */
CASE(successor_reads)
{
    // @1? kernel write // @2? kernel read
    cudaGraph_t graph;
    void *parameters[] = {&d, &out};
    DO(cudaGraphCreate(&graph, 0));
    cudaGraphNode_t first = node(graph, (void *)launches, nullptr, nullptr, 1);
    node(graph, (void *)reads, parameters, &first);
    set(plans, {one((void *)writes, d), repaired ? 1 : 2});
    DO(cudaGraphLaunch(executable(graph), a));
}

/* What comes before the launching kernel comes before what it launches. */
CASE(predecessor_writes)
{
    // @1? kernel write // @2? kernel read
    cudaGraph_t graph;
    int value = 2;
    void *parameters[] = {&d, &value};
    DO(cudaGraphCreate(&graph, 0));
    cudaGraphNode_t first = node(graph, (void *)writes, parameters);
    node(graph, (void *)launches, nullptr, repaired ? &first : nullptr, 1);
    set(plans, {one((void *)reads, d, out), 2});
    DO(cudaGraphLaunch(executable(graph), a));
}

CASE(two_beside_each_other)
{
    // @1? kernel write // @2? kernel write
    set(plans, {one((void *)writes, d), 2}, {one((void *)also_writes, d), repaired ? 1 : 2});
    DO(cudaGraphLaunch(launcher(), a));
}

/* Tail launches come one after the other; what is launched below comes before them, a sibling does
 * not. */
CASE(sibling_and_tail)
{
    // @1? kernel write // @2? kernel write
    set(plans, {one((void *)writes, d), repaired ? 2 : 3}, {one((void *)also_writes, d), 1});
    DO(cudaGraphLaunch(launcher(), a));
}

CASE(two_tails)
{
    // @1? kernel write // @2? kernel write
    set(plans, {one((void *)writes, d), repaired ? 1 : 3}, {one((void *)also_writes, d), 1});
    DO(cudaGraphLaunch(launcher(), a));
}

/* A tail launch that launches: its own tail comes before the next tail of the first graph, and what
 * it launches as a sibling is beside it. */
CASE(tail_of_a_tail)
{
    // @1? kernel write // @2? kernel write
    set(inner, {one((void *)writes, d), repaired ? 1 : 3});
    set(plans, {launcher((void *)launches_more), 1}, {one((void *)also_writes, d), 1});
    DO(cudaGraphLaunch(launcher(), a));
}

/* Two levels below: all of it comes before the tail of the first. */
CASE(below_what_is_below)
{
    // @1? kernel write // @2? kernel write
    set(inner, {one((void *)writes, d), 2});
    set(plans, {launcher((void *)launches_more), 2}, {one((void *)also_writes, d), repaired ? 1 : 2});
    DO(cudaGraphLaunch(launcher(), a));
}

/* The launching kernel itself: what it does after the launch goes on beside the graph, unless that
 * is a tail launch; what it has done before comes before it. */
__global__ void launches_and_writes(int *p, bool first)
{
    if (first)
        p[threadIdx.x] = 4;
    follow(plans);
    if (!first)
        p[threadIdx.x] = 5;
}
__global__ void launches_and_reads(int *p, int *result)
{
    follow(plans);
    *result = *p;
}
/* One thread launches, others go on after a barrier. */
__global__ void launches_for_all(int *p, bool first)
{
    if (first)
        p[threadIdx.x] = 4;
    __syncthreads();
    if (threadIdx.x == 0)
        follow(plans);
    __syncthreads();
    if (!first)
        p[threadIdx.x] = 5;
}

static cudaGraphExec_t with_parameters(void *kernel, void **parameters, int threads = 1)
{
    cudaGraph_t graph;
    DO(cudaGraphCreate(&graph, 0));
    node(graph, kernel, parameters, nullptr, threads);
    return executable(graph);
}

CASE(launcher_writes_afterwards)
{
    // @1? kernel write // @2? kernel write
    void *parameters[] = {&d, &repaired};
    set(plans, {one((void *)writes, d), 2});
    DO(cudaGraphLaunch(with_parameters((void *)launches_and_writes, parameters), a));
    // SAYS as a tail launch \(cudaStreamGraphTailLaunch\), or do what is at .*cdp_graphs.cu:\d+ before the launch
}

CASE(launcher_writes_afterwards_beside_a_sibling)
{
    // @1? kernel write // @2? kernel write
    void *parameters[] = {&d, &repaired};
    set(plans, {one((void *)writes, d), 3});
    DO(cudaGraphLaunch(with_parameters((void *)launches_and_writes, parameters), a));
}

CASE(launcher_reads_afterwards)
{
    // @1? kernel write // @2? kernel read
    void *parameters[] = {&d, &d2};
    set(plans, {one((void *)writes, d), repaired ? 1 : 2});
    DO(cudaGraphLaunch(with_parameters((void *)launches_and_reads, parameters), a));
}

CASE(block_goes_on_after_the_launch)
{
    // @1? kernel write // @2? kernel write
    void *parameters[] = {&d, &repaired};
    set(plans, {one((void *)writes, d), 2});
    DO(cudaGraphLaunch(with_parameters((void *)launches_for_all, parameters, 64), a));
}

/* Between two launches: before the second, beside the first. */
__global__ void launches_two(int *p, int *q)
{
    cudaGraphLaunch(plans[0].graph, cudaStreamGraphFireAndForget);
    *p = 6;
    cudaGraphLaunch(plans[1].graph, cudaStreamGraphFireAndForget);
    *q = 7;
}
CASE(launcher_writes_between_two_launches)
{
    // @1? kernel write // @2? kernel read
    void *parameters[] = {&d, &out};
    set(plans, {one((void *)reads, repaired ? d2 : d, out + 64), 2}, {one((void *)reads, d, out + 64), 2});
    DO(cudaGraphLaunch(with_parameters((void *)launches_two, parameters), a));
}

/* A kernel that waits for what it has launched, by a flag. */
__global__ void writes_and_tells(int *p, int *flag)
{
    *p = 8;
    __threadfence();
    atomicExch(flag, 1);
}
__global__ void launches_and_waits(int *p, int *flag, bool waits)
{
    cudaGraphLaunch(plans[0].graph, cudaStreamGraphFireAndForget);
    if (waits) {
        while (*(volatile int *)flag == 0)
            ;
        __threadfence();
    }
    *p = 9;
}
CASE(launcher_waits_for_a_flag)
{
    // @1? kernel write // @2? kernel write
    void *parameters[] = {&d, &d2, &repaired};
    set(plans, {one((void *)writes_and_tells, d, d2), 2});
    DO(cudaGraphLaunch(with_parameters((void *)launches_and_waits, parameters), a));
}

/* Copies in launched graphs count, too. */
CASE(copy_node)
{
    // @1? copy write // @2? kernel read
    cudaGraph_t graph;
    cudaGraphNode_t copy;
    DO(cudaGraphCreate(&graph, 0));
    DO(cudaGraphAddMemcpyNode1D(&copy, graph, nullptr, 0, d, d2, N * sizeof(int),
                                cudaMemcpyDeviceToDevice));
    set(plans, {executable(graph), 2}, {one((void *)reads, d, out), repaired ? 1 : 2});
    DO(cudaGraphLaunch(launcher(), a));
}

/* All that is launched belongs to the launch of the host's. */
CASE(another_stream)
{
    // @1? kernel write // @2? set write
    set(plans, {one((void *)writes, d), 2});
    DO(cudaGraphLaunch(launcher(), a));
    if (repaired)
        order(a, b);
    DO(cudaMemsetAsync(d, 0, 64, b));
}

CASE(another_stream_and_a_tail)
{
    // @1? kernel write // @2? set write
    DO(cudaMemsetAsync(d, 0, 64, b));
    set(plans, {one((void *)writes, d), 1});
    if (repaired)
        order(b, a);
    DO(cudaGraphLaunch(launcher(), a));
}

CASE(host_reads)
{
    // @1? kernel write // @2? host read
    set(plans, {one((void *)writes, m), 2});
    DO(cudaGraphLaunch(launcher(), a));
    if (repaired)
        DO(cudaStreamSynchronize(a));
    sink = m[1];
}

CASE(launched_again)
{
    // @1? kernel write // @2? set write
    cudaGraphExec_t graph = launcher();
    set(plans, {one((void *)writes, d), 2});
    DO(cudaGraphLaunch(graph, a));
    DO(cudaGraphLaunch(graph, repaired ? a : b));
    DO(cudaMemsetAsync(d, 0, 64, a));
    DO(cudaStreamSynchronize(a));
}
