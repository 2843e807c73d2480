/* Memory of the host's own that ends while a copy still reads or writes it: by free and its kin, and
 * with the function that it is local to. Copies of graphs reach pageable memory when they run. */
#include "races.h"

#include <vector>

#include <sys/mman.h>

enum { BYTES = N * sizeof(int) };

static cudaGraphExec_t graph_of_a_copy(void *to, const void *from, size_t bytes = BYTES)
{
    cudaGraph_t graph;
    cudaGraphNode_t node;
    cudaGraphExec_t made;
    DO(cudaGraphCreate(&graph, 0));
    DO(cudaGraphAddMemcpyNode1D(&node, graph, nullptr, 0, to, from, bytes, cudaMemcpyDefault));
    DO(cudaGraphInstantiate(&made, graph, 0));
    return made;
}

static void end_if(bool repaired)
{
    if (repaired)
        DO(cudaStreamSynchronize(a));
}

CASE(free_of_a_target)
{
    int *p = (int *)malloc(BYTES);
    DO(cudaGraphLaunch(graph_of_a_copy(p, d), a)); // @1 copy write
    end_if(repaired);
    free(p); // @2 host free
    // SAYS free by the host at .*released.cu:\d+ \(free\)
    // SAYS wait for stream \d+ .*before the host goes on to .*released.cu
}

CASE(free_of_a_source)
{
    int *p = (int *)calloc(N, sizeof(int));
    DO(cudaGraphLaunch(graph_of_a_copy(d, p), a)); // @1 copy read
    end_if(repaired);
    free(p); // @2 host free
}

CASE(free_of_a_few_bytes)
{
    int *p = (int *)calloc(8, sizeof(int));
    DO(cudaGraphLaunch(graph_of_a_copy(d, p, 32), a)); // @1 copy read
    end_if(repaired);
    free(p); // @2 host free
}

CASE(free_of_many_bytes)
{
    int *p = (int *)calloc(1, 1 << 20);
    DO(cudaGraphLaunch(graph_of_a_copy(d, p), a)); // @1 copy read
    end_if(repaired);
    free(p); // @2 host free
}

CASE(free_of_aligned_memory)
{
    int *p = (int *)aligned_alloc(4096, BYTES);
    DO(cudaGraphLaunch(graph_of_a_copy(p, d), a)); // @1 copy write
    end_if(repaired);
    free(p); // @2 host free
}

CASE(delete_of_an_array)
{
    int *p = new int[N]();
    DO(cudaGraphLaunch(graph_of_a_copy(d, p), a)); // @1 copy read
    end_if(repaired);
    delete[] p; // @2 host free
}

static void copies_a_vector(bool repaired)
{
    std::vector<int> v(N);
    DO(cudaGraphLaunch(graph_of_a_copy(d, v.data()), a)); // @1? copy read
    end_if(repaired);
}
CASE(end_of_a_vector)
{
    // @2? host free
    copies_a_vector(repaired);
}

CASE(realloc_of_a_target)
{
    int *p = (int *)malloc(BYTES);
    DO(cudaGraphLaunch(graph_of_a_copy(p, d), a)); // @1 copy write
    end_if(repaired);
    p = (int *)realloc(p, 64 * BYTES); // @2 host free
    // SAYS \(realloc\)
}

CASE(unmapped_pages)
{
    void *p = mmap(nullptr, 2 * BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    DO(cudaGraphLaunch(graph_of_a_copy(p, d), a)); // @1 copy write
    end_if(repaired);
    munmap(p, 2 * BYTES); // @2 host free
}

/* Other memory than the copy's may be freed. */
CASE(free_of_another_block)
{
    int *p = (int *)calloc(N, sizeof(int)), *q = (int *)calloc(N, sizeof(int));
    DO(cudaGraphLaunch(graph_of_a_copy(d, p), a)); // @1 copy read
    free(repaired ? q : p); // @2 host free
}

/* What has the memory next does not race with the copy that was before. */
CASE(memory_that_is_others_again)
{
    int *p = (int *)malloc(BYTES);
    DO(cudaGraphLaunch(graph_of_a_copy(p, d), a)); // @1 copy write
    end_if(repaired);
    free(p); // @2 host free
    int *q = (int *)malloc(BYTES);
    memset(q, 1, BYTES);
    DO(cudaGraphLaunch(graph_of_a_copy(d2, q), b));
    DO(cudaStreamSynchronize(b));
    free(q);
}

/* The graph has not come to its copy yet. */
CASE(free_before_the_copy_begins)
{
    int *p = (int *)malloc(BYTES);
    DO(cuStreamWaitValue32(a, (CUdeviceptr)h, 1, CU_STREAM_WAIT_VALUE_EQ));
    DO(cudaGraphLaunch(graph_of_a_copy(d, p), a)); // @1 copy read
    if (repaired) {
        *(volatile int *)h = 1;
        DO(cudaStreamSynchronize(a));
    }
    free(p); // @2 host free
    // SAYS free by the host
    *(volatile int *)h = 1;
}

/* Registered memory is page-locked: copies of all kinds, and kernels, use it later. */
CASE(free_of_registered_memory)
{
    void *p = aligned_alloc(4096, BYTES);
    DO(cudaHostRegister(p, BYTES, cudaHostRegisterDefault));
    DO(cudaMemcpyAsync(p, d, BYTES, cudaMemcpyDeviceToHost, a)); // @1 copy write
    end_if(repaired);
    free(p); // @2 host free
    // SAYS allocated at .*cudaHostRegister
}

CASE(free_of_registered_memory_that_is_read)
{
    void *p = calloc(2, BYTES);
    DO(cudaHostRegister(p, 2 * BYTES, cudaHostRegisterDefault));
    DO(cudaMemcpyAsync(d, p, BYTES, cudaMemcpyHostToDevice, a)); // @1 copy read
    end_if(repaired);
    free(p); // @2 host free
}

CASE(free_of_mapped_memory)
{
    int *p = (int *)aligned_alloc(4096, BYTES);
    DO(cudaHostRegister(p, BYTES, cudaHostRegisterMapped));
    fill<<<1, 32, 0, a>>>(p, N); // @1 kernel write
    end_if(repaired);
    free(p); // @2 host free
}

CASE(unmapped_registered_pages)
{
    void *p = mmap(nullptr, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    DO(cudaHostRegister(p, BYTES, cudaHostRegisterDefault));
    DO(cudaMemcpyAsync(p, d, BYTES, cudaMemcpyDeviceToHost, a)); // @1 copy write
    end_if(repaired);
    munmap(p, BYTES); // @2 host free
}

/* Other calls that wait for the copy. */
CASE(free_after_an_event)
{
    int *p = (int *)malloc(BYTES);
    DO(cudaGraphLaunch(graph_of_a_copy(p, d), a)); // @1 copy write
    DO(cudaEventRecord(event, repaired ? a : b));
    DO(cudaEventSynchronize(event));
    free(p); // @2 host free
}

/* The host function is `free` itself. */
CASE(free_as_a_function)
{
    int *p = (int *)malloc(BYTES);
    DO(cudaGraphLaunch(graph_of_a_copy(p, d), a)); // @39 copy write
    DO(cudaLaunchHostFunc(repaired ? a : b, free, p)); // @40 function free
}

/* A host function frees what the copy before it in its stream has used. */
static void CUDART_CB frees(void *p)
{
    free(p); // @30 function free
}
CASE(free_by_a_function)
{
    int *p = (int *)malloc(BYTES);
    DO(cudaGraphLaunch(graph_of_a_copy(p, d), a)); // @31 copy write
    DO(cudaLaunchHostFunc(repaired ? a : b, frees, p));
}

/* ---- local variables ---- */

static void copies_a_local(bool repaired)
{
    int local[N];
    DO(cudaGraphLaunch(graph_of_a_copy(local, d), a)); // @1? copy write
    end_if(repaired);
}
CASE(end_of_a_function)
{
    copies_a_local(repaired); // @2 host free
    DO(cudaStreamSynchronize(a));
    // SAYS end of the function that it is local to, which returned to .*released.cu
    // SAYS before the function returns, or use memory that lives longer
}

static void reads_a_local(bool repaired)
{
    int local[8] = {1};
    DO(cudaGraphLaunch(graph_of_a_copy(d, local, sizeof local), a)); // @1? copy read
    end_if(repaired);
}
static void synchronizes()
{
    volatile int much[2 * N];
    much[0] = 1;
    DO(cudaStreamSynchronize(a));
    much[1] = 1;
}
CASE(end_of_a_function_before_another)
{
    reads_a_local(repaired); // @2 host free
    synchronizes();
}

/* The usual way: a copy is captured, and the graph lives on. */
static cudaGraphExec_t captures_a_local(bool repaired)
{
    static int lasting[8];
    int local[8];
    cudaGraph_t graph;
    cudaGraphExec_t made;
    DO(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
    DO(cudaMemcpyAsync(d, repaired ? lasting : local, sizeof local, cudaMemcpyHostToDevice, a));
    DO(cudaStreamEndCapture(a, &graph));
    DO(cudaGraphInstantiate(&made, graph, 0));
    return made;
}
CASE(graph_of_a_function_that_has_returned)
{
    cudaGraphExec_t graph = captures_a_local(repaired); // @1 host free
    DO(cudaStreamSynchronize(a));
    DO(cudaGraphLaunch(graph, a)); // @2 copy read
    DO(cudaStreamSynchronize(a));
    // SAYS use memory that lives longer than the function
}

static void copies_to_a_registered_local(bool repaired)
{
    alignas(4096) int local[N];
    DO(cudaHostRegister(local, sizeof local, cudaHostRegisterDefault));
    DO(cudaMemcpyAsync(local, d, sizeof local, cudaMemcpyDeviceToHost, a)); // @1? copy write
    end_if(repaired);
}
CASE(end_of_a_function_with_registered_memory)
{
    copies_to_a_registered_local(repaired); // @2 host free
    DO(cudaDeviceSynchronize());
}

/* What a running function has is in scope in all that it calls; functions come again, too. */
static void launches_for(int *local, bool repaired)
{
    static cudaGraphExec_t graph;
    if (graph == nullptr)
        graph = graph_of_a_copy(local, d, sizeof *local);
    DO(cudaGraphLaunch(graph, a)); // @1? copy write
    synchronizes();
}
static void has_the_local(bool repaired)
{
    int local = 0;
    launches_for(&local, repaired);
    if (!repaired)
        DO(cudaGraphLaunch(graph_of_a_copy(&local, d, sizeof local), a)); // @1? copy write
}
CASE(function_that_calls_others)
{
    for (int i = 0; i < 3; i++)
        has_the_local(true);
    has_the_local(repaired); // @2 host free
    DO(cudaStreamSynchronize(a));
}
