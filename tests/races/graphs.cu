/* Graphs: edges that are missing, launches that nothing orders, captured streams. */
#include "races.h"

#include <unistd.h>

static cudaGraph_t graph;
static cudaGraphExec_t executable;

static void add_kernel(cudaGraphNode_t *node, void *kernel, void **args, cudaGraphNode_t *after)
{
    cudaKernelNodeParams p = {};
    p.func = kernel;
    p.gridDim = dim3(1);
    p.blockDim = dim3(32);
    p.kernelParams = args;
    DO(cudaGraphAddKernelNode(node, graph, after, after != nullptr, &p));
}
static void add_fill(cudaGraphNode_t *node, int *p, cudaGraphNode_t *after)
{
    int n = N, value = 1;
    void *args[] = {&p, &n, &value};
    add_kernel(node, (void *)fill, args, after);
}
static void add_sum(cudaGraphNode_t *node, int *p, cudaGraphNode_t *after)
{
    int n = N;
    void *args[] = {&p, &n, &out};
    add_kernel(node, (void *)sum, args, after);
}
static void instantiate() { DO(cudaGraphInstantiate(&executable, graph, 0)); }
static void launch(cudaStream_t s) { DO(cudaGraphLaunch(executable, s)); }

CASE(kernels_without_an_edge)
{
    cudaGraphNode_t first, then;
    DO(cudaGraphCreate(&graph, 0));
    add_fill(&first, d, nullptr);
    add_sum(&then, d, repaired ? &first : nullptr);
    instantiate();
    DO(cudaGraphLaunch(executable, a)); // @1 kernel write // @2 kernel read
}

CASE(copy_without_an_edge)
{
    cudaGraphNode_t first, then;
    DO(cudaGraphCreate(&graph, 0));
    add_fill(&first, d, nullptr);
    DO(cudaGraphAddMemcpyNode1D(&then, graph, repaired ? &first : nullptr, repaired, h, d, 256,
                                cudaMemcpyDeviceToHost));
    instantiate();
    DO(cudaGraphLaunch(executable, a)); // @1 kernel write // @2 copy read
}

CASE(set_without_an_edge)
{
    cudaGraphNode_t first, then;
    cudaMemsetParams p = {};
    p.dst = d;
    p.elementSize = 4;
    p.width = N;
    p.height = 1;
    DO(cudaGraphCreate(&graph, 0));
    DO(cudaGraphAddMemsetNode(&first, graph, nullptr, 0, &p));
    add_fill(&then, d, repaired ? &first : nullptr);
    instantiate();
    DO(cudaGraphLaunch(executable, a)); // @1 set write // @2 kernel write
}

CASE(diamond_without_a_side)
{
    cudaGraphNode_t top, left, right, bottom;
    DO(cudaGraphCreate(&graph, 0));
    DO(cudaGraphAddEmptyNode(&top, graph, nullptr, 0));
    add_fill(&left, d, &top);
    add_fill(&right, d2, &top);
    add_sum(&bottom, d2, repaired ? &right : &left);
    instantiate();
    DO(cudaGraphLaunch(executable, a)); // @1 kernel write // @2 kernel read
}

CASE(order_through_an_empty_node)
{
    cudaGraphNode_t first, empty, then;
    DO(cudaGraphCreate(&graph, 0));
    add_fill(&first, d, nullptr);
    DO(cudaGraphAddEmptyNode(&empty, graph, repaired ? &first : nullptr, repaired));
    add_sum(&then, d, &empty);
    instantiate();
    DO(cudaGraphLaunch(executable, a)); // @1 kernel write // @2 kernel read
}

static void CUDART_CB node_writes(void *p) { *(int *)p = 1; }

CASE(host_node_without_an_edge)
{
    cudaGraphNode_t first, then;
    cudaHostNodeParams p = {node_writes, m};
    DO(cudaGraphCreate(&graph, 0));
    DO(cudaGraphAddHostNode(&first, graph, nullptr, 0, &p));
    add_sum(&then, m, repaired ? &first : nullptr);
    instantiate();
    DO(cudaGraphLaunch(executable, a)); // @1 function write // @2 kernel read
}

/* The two run at the same time where that can be: each for a while. */
static void CUDART_CB node_writes_later(void *p)
{
    usleep(10000);
    *(int *)p = 1;
}
__global__ void sum_for_long(const int *p, int n, int *result)
{
    long long begun = clock64();
    while (clock64() - begun < 50000000)
        ;
    atomicAdd(result, p[threadIdx.x % n]);
}

CASE(host_node_beside_a_long_kernel)
{
    cudaGraphNode_t first, then;
    int n = N;
    void *args[] = {&m, &n, &out};
    cudaHostNodeParams p = {node_writes_later, m};
    DO(cudaGraphCreate(&graph, 0));
    DO(cudaGraphAddHostNode(&first, graph, nullptr, 0, &p));
    add_kernel(&then, (void *)sum_for_long, args, repaired ? &first : nullptr);
    instantiate();
    DO(cudaGraphLaunch(executable, a)); // @1 function write // @2 kernel read
}

CASE(child_graph_without_an_edge)
{
    cudaGraph_t child;
    cudaGraphNode_t first, inner, then;
    DO(cudaGraphCreate(&child, 0));
    graph = child;
    add_fill(&inner, d, nullptr);
    DO(cudaGraphCreate(&graph, 0));
    DO(cudaGraphAddChildGraphNode(&first, graph, nullptr, 0, child));
    add_sum(&then, d, repaired ? &first : nullptr);
    instantiate();
    DO(cudaGraphLaunch(executable, a)); // @1 kernel write // @2 kernel read
}

CASE(launch_and_another_stream)
{
    cudaGraphNode_t first;
    DO(cudaGraphCreate(&graph, 0));
    add_fill(&first, d, nullptr);
    instantiate();
    DO(cudaGraphLaunch(executable, a)); // @1 kernel write
    if (repaired)
        order(a, b);
    sum<<<1, 32, 0, b>>>(d, N, out); // @2 kernel read
}

CASE(work_before_the_launch)
{
    cudaGraphNode_t first;
    DO(cudaGraphCreate(&graph, 0));
    add_sum(&first, d, nullptr);
    instantiate();
    fill<<<1, 32, 0, a>>>(d, N); // @1 kernel write
    DO(cudaGraphLaunch(executable, repaired ? a : b)); // @2 kernel read
}

CASE(two_graphs_in_two_streams)
{
    cudaGraphNode_t first;
    cudaGraphExec_t one;
    DO(cudaGraphCreate(&graph, 0));
    add_fill(&first, d, nullptr);
    instantiate();
    one = executable;
    DO(cudaGraphCreate(&graph, 0));
    add_sum(&first, d, nullptr);
    instantiate();
    DO(cudaGraphLaunch(one, a)); // @1 kernel write
    if (repaired)
        order(a, b);
    DO(cudaGraphLaunch(executable, b)); // @2 kernel read
}

CASE(host_reads_after_the_launch)
{
    cudaGraphNode_t first;
    DO(cudaGraphCreate(&graph, 0));
    DO(cudaGraphAddMemcpyNode1D(&first, graph, nullptr, 0, h, d, 256, cudaMemcpyDeviceToHost));
    instantiate();
    DO(cudaGraphLaunch(executable, a)); // @1 copy write
    if (repaired)
        DO(cudaStreamSynchronize(a));
    sink = h[0]; // @2 host read
}

/* A copy of a graph stages nothing, pageable memory included. */
CASE(host_writes_under_a_copy)
{
    cudaGraphNode_t first;
    DO(cudaGraphCreate(&graph, 0));
    DO(cudaGraphAddMemcpyNode1D(&first, graph, nullptr, 0, d, h, 256, cudaMemcpyHostToDevice));
    instantiate();
    DO(cudaGraphLaunch(executable, a)); // @1 copy read
    if (repaired)
        DO(cudaStreamSynchronize(a));
    h[0] = 1; // @2 host write
}

CASE(event_recorded_by_a_node)
{
    cudaGraphNode_t first, record;
    DO(cudaGraphCreate(&graph, 0));
    add_fill(&first, d, nullptr);
    DO(cudaGraphAddEventRecordNode(&record, graph, repaired ? &first : nullptr, repaired, event));
    instantiate();
    DO(cudaGraphLaunch(executable, a)); // @1 kernel write
    DO(cudaStreamWaitEvent(b, event, 0));
    sum<<<1, 32, 0, b>>>(d, N, out); // @2 kernel read
}

CASE(event_waited_for_by_a_node)
{
    cudaGraphNode_t wait, then;
    DO(cudaGraphCreate(&graph, 0));
    DO(cudaGraphAddEventWaitNode(&wait, graph, nullptr, 0, event));
    add_sum(&then, d, repaired ? &wait : nullptr);
    instantiate();
    fill<<<1, 32, 0, a>>>(d, N); // @1 kernel write
    DO(cudaEventRecord(event, a));
    DO(cudaGraphLaunch(executable, b)); // @2 kernel read
}

CASE(captured_fork_without_the_second_wait)
{
    DO(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
    order(a, b);
    fill<<<1, 32, 0, b>>>(d, N);
    if (repaired)
        order(b, a);
    sum<<<1, 32, 0, a>>>(d, N, out);
    order(b, a);
    DO(cudaStreamEndCapture(a, &graph));
    instantiate();
    DO(cudaGraphLaunch(executable, a)); // @1 kernel write // @2 kernel read
}

CASE(captured_branches_write_one_place)
{
    DO(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
    order(a, b);
    fill<<<1, 32, 0, a>>>(d, N / 2);
    fill<<<1, 32, 0, b>>>(d + N / 2 - (repaired ? 0 : 4), N / 2);
    order(b, a);
    DO(cudaStreamEndCapture(a, &graph));
    instantiate();
    DO(cudaGraphLaunch(executable, a)); // @1 kernel write // @2 kernel write
}

CASE(captured_copy_before_its_event)
{
    DO(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
    order(a, b);
    if (!repaired)
        DO(cudaEventRecord(second, b));
    DO(cudaMemcpyAsync(d, h, 256, cudaMemcpyHostToDevice, b));
    if (repaired)
        DO(cudaEventRecord(second, b));
    DO(cudaStreamWaitEvent(a, second, 0));
    sum<<<1, 32, 0, a>>>(d, N, out);
    order(b, a);
    DO(cudaStreamEndCapture(a, &graph));
    instantiate();
    DO(cudaGraphLaunch(executable, a)); // @1 copy write // @2 kernel read
}

/* Launches of one executable graph come one after the other, in whichever streams. */
CASE(launches_of_one_graph_and_of_its_copy)
{
    cudaGraphNode_t first;
    cudaGraphExec_t copy;
    DO(cudaGraphCreate(&graph, 0));
    add_fill(&first, d, nullptr);
    instantiate();
    DO(cudaGraphInstantiate(&copy, graph, 0));
    DO(cudaGraphLaunch(executable, a)); // @1 kernel write
    DO(cudaGraphLaunch(repaired ? executable : copy, b)); // @2 kernel write
}
