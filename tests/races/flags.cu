/* Order by flags that are set without an instruction that could be told from others: std::atomic with
 * release and acquire, and volatile variables, by host functions, threads of the host and kernels. */
// FLAGS: -O2
#include "races.h"

#include <atomic>

#include <unistd.h>

static std::atomic<int> flag;
static volatile int plain_flag;
struct job {
    int *results;
    int count;
    std::atomic<bool> done;
};
static job work_item;

static void CUDART_CB releases(void *) { flag.store(1, std::memory_order_release); }
static void CUDART_CB sets(void *) { plain_flag = 1; }
static void CUDART_CB finishes(void *p) { ((job *)p)->done.store(true, std::memory_order_release); }
static void CUDART_CB sleeps(void *) { usleep(30000); }

static void await_flag()
{
    while (flag.load(std::memory_order_acquire) == 0)
        ;
}

CASE(release_store)
{
    DO(cudaMemcpyAsync(h, d, N * sizeof(int), cudaMemcpyDeviceToHost, a)); // @1 copy write
    DO(cudaLaunchHostFunc(repaired ? a : b, releases, nullptr));
    await_flag();
    sink = h[1]; // @2 host read
}

CASE(volatile_store)
{
    DO(cudaMemcpyAsync(h, d, N * sizeof(int), cudaMemcpyDeviceToHost, a)); // @1 copy write
    DO(cudaLaunchHostFunc(repaired ? a : b, sets, nullptr));
    while (plain_flag == 0)
        ;
    sink = h[1]; // @2 host read
}

CASE(release_in_a_structure)
{
    DO(cudaMemcpyAsync(h, d, N * sizeof(int), cudaMemcpyDeviceToHost, a)); // @1 copy write
    DO(cudaLaunchHostFunc(repaired ? a : b, finishes, &work_item));
    while (!work_item.done.load(std::memory_order_acquire))
        usleep(100);
    sink = h[1]; // @2 host read
}

/* What the host enqueues after it has seen the flag comes after it, too. */
CASE(release_then_kernel)
{
    fill<<<1, 32, 0, a>>>(d, N); // @1 kernel write
    DO(cudaLaunchHostFunc(repaired ? a : c, releases, nullptr));
    await_flag();
    sum<<<1, 32, 0, b>>>(d, N, out); // @2 kernel read
}

/* A function that only writes memory of the device's hands over nothing. */
static void CUDART_CB writes_data(void *p)
{
    ((int *)p)[1] = 5;
}
CASE(data_is_no_flag)
{
    DO(cudaLaunchHostFunc(a, writes_data, m)); // @1 function write
    if (repaired)
        DO(cudaStreamSynchronize(a));
    else
        usleep(50000);
    sink = m[1]; // @2 host read
}

/* What is in the stream after the function. */
CASE(copy_after_the_release)
{
    DO(cudaLaunchHostFunc(a, releases, nullptr));
    if (repaired)
        DO(cudaMemcpyAsync(h, d, N * sizeof(int), cudaMemcpyDeviceToHost, b));
    else
        DO(cudaMemcpyAsync(h, d, N * sizeof(int), cudaMemcpyDeviceToHost, a)); // @1 copy write
    await_flag();
    if (repaired)
        DO(cudaStreamSynchronize(b));
    sink = h[1]; // @2 host read
}

/* The other way round: functions that find the flag set already, or wait for it. */
static void CUDART_CB acquires_and_reads(void *p)
{
    await_flag();
    sink = ((int *)p)[1];
}
static void CUDART_CB looks_and_reads(void *p)
{
    while (plain_flag == 0)
        usleep(10);
    sink = ((int *)p)[1];
}

CASE(function_finds_the_flag)
{
    DO(cudaMemcpyAsync(h, d, N * sizeof(int), cudaMemcpyDeviceToHost, a)); // @30 copy write
    DO(cudaLaunchHostFunc(b, sleeps, nullptr));
    DO(cudaLaunchHostFunc(b, acquires_and_reads, h)); // @31 function read
    DO(cudaStreamSynchronize(repaired ? a : c));
    flag.store(1, std::memory_order_release);
}

CASE(function_finds_the_volatile_flag)
{
    DO(cudaMemcpyAsync(h, d, N * sizeof(int), cudaMemcpyDeviceToHost, a)); // @30 copy write
    DO(cudaLaunchHostFunc(b, sleeps, nullptr));
    DO(cudaLaunchHostFunc(b, looks_and_reads, h)); // @31 function read
    DO(cudaStreamSynchronize(repaired ? a : c));
    plain_flag = 1;
}

/* And what is in the function's stream after it. */
static void CUDART_CB acquires(void *) { await_flag(); }
CASE(kernel_after_a_function_that_finds_the_flag)
{
    fill<<<1, 32, 0, a>>>(d, N); // @1 kernel write
    DO(cudaLaunchHostFunc(b, sleeps, nullptr));
    DO(cudaLaunchHostFunc(b, acquires, nullptr));
    sum<<<1, 32, 0, b>>>(d, N, out); // @2 kernel read
    DO(cudaStreamSynchronize(repaired ? a : c));
    flag.store(1, std::memory_order_release);
}

/* What the host writes before it sets the flag. */
CASE(host_writes_then_sets_the_flag)
{
    DO(cudaLaunchHostFunc(b, sleeps, nullptr));
    DO(cudaLaunchHostFunc(b, acquires, nullptr));
    DO(cudaMemcpyAsync(d, h, N * sizeof(int), cudaMemcpyHostToDevice, repaired ? b : c)); // @1 copy read
    h[1] = 1; // @2 host write
    flag.store(1, std::memory_order_release);
}

/* Functions that look once, and do their work if the flag is set by then. What gates them orders
 * nothing. */
static void CUDART_CB looks_once(void *p)
{
    if (flag.load(std::memory_order_acquire) != 0)
        sink = ((int *)p)[1];
}
static void CUDART_CB looks_once_at_a_volatile(void *p)
{
    if (plain_flag != 0)
        sink = ((int *)p)[1];
}
struct shared_state {
    std::atomic<bool> ready;
    int *data;
};
struct task {
    int count;
    shared_state *state;
    std::atomic<int> ready;
    int *data;
};
static void CUDART_CB looks_once_at_its_argument(void *p)
{
    task *t = (task *)p;
    if (t->ready.load(std::memory_order_acquire) != 0)
        sink = t->data[t->count];
}
static void CUDART_CB looks_once_through_a_pointer(void *p)
{
    task *t = (task *)p;
    if (t->state->ready.load(std::memory_order_acquire))
        sink = t->state->data[t->count];
}
static void CUDART_CB calls_back(cudaStream_t, cudaError_t, void *p) { looks_once_at_its_argument(p); }

static void gate(cudaStream_t s)
{
    DO(cuStreamWaitValue32(s, (CUdeviceptr)h2, 1, CU_STREAM_WAIT_VALUE_EQ));
}
static void open_gate() { *(volatile int *)h2 = 1; }

CASE(function_looks_once)
{
    DO(cudaMemcpyAsync(h, d, N * sizeof(int), cudaMemcpyDeviceToHost, a)); // @30 copy write
    gate(b);
    DO(cudaLaunchHostFunc(b, looks_once, h)); // @31 function read
    DO(cudaStreamSynchronize(repaired ? a : c));
    flag.store(1, std::memory_order_release);
    open_gate();
}

CASE(function_looks_once_at_a_volatile)
{
    DO(cudaMemcpyAsync(h, d, N * sizeof(int), cudaMemcpyDeviceToHost, a)); // @30 copy write
    gate(b);
    DO(cudaLaunchHostFunc(b, looks_once_at_a_volatile, h)); // @31 function read
    DO(cudaStreamSynchronize(repaired ? a : c));
    plain_flag = 1;
    open_gate();
}

CASE(function_looks_once_at_its_argument)
{
    static task t;
    t.data = h;
    DO(cudaMemcpyAsync(h, d, N * sizeof(int), cudaMemcpyDeviceToHost, a)); // @30 copy write
    gate(b);
    DO(cudaLaunchHostFunc(b, looks_once_at_its_argument, &t)); // @31 function read
    DO(cudaStreamSynchronize(repaired ? a : c));
    t.ready.store(1, std::memory_order_release);
    open_gate();
}

CASE(function_looks_once_through_a_pointer)
{
    static shared_state s;
    static task t = {1, &s};
    s.data = h;
    DO(cudaMemcpyAsync(h, d, N * sizeof(int), cudaMemcpyDeviceToHost, a)); // @30 copy write
    gate(b);
    DO(cudaLaunchHostFunc(b, looks_once_through_a_pointer, &t)); // @31 function read
    DO(cudaStreamSynchronize(repaired ? a : c));
    s.ready.store(true, std::memory_order_release);
    open_gate();
}

CASE(callback_looks_once)
{
    static task t;
    t.data = h;
    DO(cudaMemcpyAsync(h, d, N * sizeof(int), cudaMemcpyDeviceToHost, a)); // @30 copy write
    gate(b);
    DO(cudaStreamAddCallback(b, calls_back, &t, 0)); // @31 function read
    DO(cudaStreamSynchronize(repaired ? a : c));
    t.ready.store(1, std::memory_order_release);
    open_gate();
}

CASE(function_of_a_graph_looks_once)
{
    static task t;
    cudaGraph_t graph;
    cudaGraphNode_t node;
    cudaGraphExec_t made;
    cudaHostNodeParams does = {looks_once_at_its_argument, &t};
    t.data = h;
    DO(cudaGraphCreate(&graph, 0));
    DO(cudaGraphAddHostNode(&node, graph, nullptr, 0, &does));
    DO(cudaGraphInstantiate(&made, graph, 0));
    DO(cudaMemcpyAsync(h, d, N * sizeof(int), cudaMemcpyDeviceToHost, a)); // @30 copy write
    gate(b);
    DO(cudaGraphLaunch(made, b)); // @31 function read
    DO(cudaStreamSynchronize(repaired ? a : c));
    t.ready.store(1, std::memory_order_release);
    open_gate();
}

/* What it looks at and was set before it was enqueued tells nothing. */
CASE(function_reads_its_argument)
{
    static task t = {2, nullptr, {1}};
    t.data = h;
    DO(cudaMemcpyAsync(h, d, N * sizeof(int), cudaMemcpyDeviceToHost, a)); // @30 copy write
    if (repaired)
        DO(cudaStreamSynchronize(a));
    gate(b);
    DO(cudaLaunchHostFunc(b, looks_once_at_its_argument, &t)); // @31 function read
    DO(cudaStreamSynchronize(a));
    open_gate();
}

/* Kernels that set flags in memory of the host's. */
__global__ void writes_then_flag(int *data, int n, volatile int *set)
{
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        data[i] = 7;
    __threadfence_system();
    __syncthreads();
    if (threadIdx.x == 0)
        *set = 1;
}
__global__ void only_flag(volatile int *set) { *set = 1; }
__global__ void releases_flag(int *set)
{
    asm volatile("st.release.sys.global.b32 [%0], 1;" ::"l"(set) : "memory");
}

CASE(kernel_sets_a_flag)
{
    writes_then_flag<<<1, 32, 0, a>>>(h, N, (volatile int *)(repaired ? h2 : d2)); // @1 kernel write
    if (!repaired)
        only_flag<<<1, 1, 0, b>>>((volatile int *)h2);
    while (*(volatile int *)h2 == 0)
        ;
    sink = h[1]; // @2 host read
}

CASE(kernel_after_a_copy_sets_a_flag)
{
    DO(cudaMemcpyAsync(h, d, N * sizeof(int), cudaMemcpyDeviceToHost, a)); // @1 copy write
    only_flag<<<1, 1, 0, repaired ? a : b>>>((volatile int *)h2);
    while (*(volatile int *)h2 == 0)
        ;
    sink = h[1]; // @2 host read
}

CASE(kernel_releases_a_flag)
{
    DO(cudaMemcpyAsync(h, d, N * sizeof(int), cudaMemcpyDeviceToHost, a)); // @1 copy write
    releases_flag<<<1, 1, 0, repaired ? a : b>>>(h2);
    while (*(volatile int *)h2 == 0)
        usleep(1000);
    DO(cudaMemcpyAsync(d2, h, N * sizeof(int), cudaMemcpyHostToDevice, c)); // @2 copy read
}

/* And kernels that wait for flags which the host sets. */
__global__ void flag_then_read(volatile int *set, const int *data, int *result)
{
    while (*set == 0)
        ;
    __threadfence_system();
    *result = data[threadIdx.x];
}

CASE(kernel_awaits_a_flag)
{
    flag_then_read<<<1, 1, 0, a>>>((volatile int *)h2, h, d2); // @1 kernel read
    if (repaired)
        h[0] = 4; // @2 host write
    ((std::atomic<int> *)h2)->store(1, std::memory_order_release);
    usleep(50000);
    if (!repaired)
        h[0] = 4; // @2 host write
}

/* A copy that the host orders before a kernel which waits for a flag. */
CASE(kernel_awaits_a_flag_after_a_copy)
{
    flag_then_read<<<1, 1, 0, a>>>((volatile int *)h2, d, d2); // @1 kernel read
    DO(cudaMemcpyAsync(d, h, N * sizeof(int), cudaMemcpyHostToDevice, b)); // @2 copy write
    if (repaired)
        DO(cudaStreamSynchronize(b));
    *(volatile int *)h2 = 1;
}

/* What is enqueued after such a kernel, while it still waits. */
static void waits_for_flag(cudaStream_t s)
{
    flag_then_read<<<1, 1, 0, s>>>((volatile int *)h2, out, out + 64);
}

CASE(copy_after_a_kernel_that_awaits_a_flag)
{
    DO(cudaMemcpyAsync(d, h, N * sizeof(int), cudaMemcpyHostToDevice, b)); // @1 copy write
    waits_for_flag(a);
    DO(cudaMemcpyAsync(d2, d, N * sizeof(int), cudaMemcpyDeviceToDevice, a)); // @2 copy read
    DO(cudaStreamSynchronize(repaired ? b : c));
    *(volatile int *)h2 = 1;
}

CASE(set_in_another_stream_after_a_kernel_that_awaits_a_flag)
{
    DO(cudaMemcpyAsync(h, d, N * sizeof(int), cudaMemcpyDeviceToHost, b)); // @1 copy read
    waits_for_flag(a);
    order(a, c);
    DO(cudaMemsetAsync(d, 0, N * sizeof(int), c)); // @2 set write
    if (repaired)
        DO(cudaStreamSynchronize(b));
    *(volatile int *)h2 = 1;
}

CASE(free_after_a_kernel_that_awaits_a_flag)
{
    int *p;
    DO(cudaMallocAsync(&p, N * sizeof(int), b));
    fill<<<1, 32, 0, b>>>(p, N); // @1 kernel write
    waits_for_flag(a);
    DO(cudaFreeAsync(p, a)); // @2 free free
    if (repaired)
        DO(cudaStreamSynchronize(b));
    *(volatile int *)h2 = 1;
}

CASE(kernel_after_a_kernel_that_awaits_a_flag)
{
    fill<<<1, 32, 0, b>>>(d, N); // @1 kernel write
    waits_for_flag(a);
    sum<<<1, 32, 0, a>>>(d, N, d2); // @2 kernel read
    DO(cudaStreamSynchronize(repaired ? b : c));
    *(volatile int *)h2 = 1;
}

/* Likewise after a graph of which a node waits. */
CASE(copy_after_a_graph_that_awaits_a_flag)
{
    cudaGraph_t graph;
    cudaGraphExec_t made;
    DO(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
    DO(cudaLaunchHostFunc(a, acquires, nullptr));
    DO(cudaStreamEndCapture(a, &graph));
    DO(cudaGraphInstantiate(&made, graph, 0));
    DO(cudaMemcpyAsync(d, h, N * sizeof(int), cudaMemcpyHostToDevice, b)); // @1 copy write
    DO(cudaGraphLaunch(made, a));
    DO(cudaMemcpyAsync(d2, d, N * sizeof(int), cudaMemcpyDeviceToDevice, a)); // @2 copy read
    DO(cudaStreamSynchronize(repaired ? b : c));
    flag.store(1, std::memory_order_release);
}

CASE(copy_after_a_graph_that_has_not_begun)
{
    cudaGraph_t graph;
    cudaGraphNode_t node;
    cudaGraphExec_t made;
    cudaHostNodeParams does = {acquires, nullptr};
    DO(cudaGraphCreate(&graph, 0));
    DO(cudaGraphAddHostNode(&node, graph, nullptr, 0, &does));
    DO(cudaGraphInstantiate(&made, graph, 0));
    DO(cudaMemcpyAsync(d, h, N * sizeof(int), cudaMemcpyHostToDevice, b)); // @1 copy write
    gate(a);
    DO(cudaGraphLaunch(made, a));
    DO(cudaMemcpyAsync(d2, d, N * sizeof(int), cudaMemcpyDeviceToDevice, a)); // @2 copy read
    open_gate();
    DO(cudaStreamSynchronize(repaired ? b : c));
    flag.store(1, std::memory_order_release);
}
