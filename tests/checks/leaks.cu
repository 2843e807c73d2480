/* What is alive at the end, by the call that made it. */
// CHECK: leaks
#include "checks.h"

#include <cuda.h>
#include <sys/mman.h>

__device__ int variable[100];
__managed__ int managed_variable[100];

__global__ void touch()
{
    variable[threadIdx.x] = managed_variable[threadIdx.x];
}

CASE(nothing)
{
    void *p, *h, *m, *s;
    cudaStream_t stream;
    cudaEvent_t event;
    DO(cudaMalloc(&p, 100));
    DO(cudaMallocHost(&h, 100));
    DO(cudaMallocManaged(&m, 100));
    DO(cudaStreamCreate(&stream));
    DO(cudaEventCreate(&event));
    DO(cudaMallocAsync(&s, 100, stream));
    touch<<<1, 32, 0, stream>>>();
    DO(cudaFreeAsync(s, stream));
    DO(cudaStreamSynchronize(stream));
    DO(cudaEventDestroy(event));
    DO(cudaStreamDestroy(stream));
    DO(cudaFree(m));
    DO(cudaFreeHost(h));
    DO(cudaFree(p));
}

/* The first to ask for the kernel, whose module the runtime loads for the program. */
CASE(kernel_of_a_graph)
{
    cudaGraph_t graph;
    cudaGraphNode_t node;
    cudaKernelNodeParams params = {};
    params.func = (void *)touch;
    params.gridDim = params.blockDim = dim3(1);
    DO(cudaGraphCreate(&graph, 0));
    DO(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &params));
    DO(cudaGraphDestroy(graph));
}

CASE(variables_of_modules)
{
    touch<<<1, 32>>>();
    DO(cudaDeviceSynchronize());
}

CASE(memory)
{
    static char registered[8192];
    void *p;
    DO(cudaMalloc(&p, 4096));        // EXPECT leak: 4096 bytes of device memory, made at \S*LINE \(cudaMalloc\), was never freed
    DO(cudaMallocHost(&p, 100));     // EXPECT 100 bytes of page-locked memory, made at \S*LINE \(cudaMallocHost\)
    DO(cudaMallocManaged(&p, 200));  // EXPECT 200 bytes of managed memory, made at \S*LINE \(cudaMallocManaged\)
    DO(cudaMallocAsync(&p, 300, 0)); // EXPECT 300 bytes of stream-ordered memory, made at \S*LINE \(cudaMallocAsync\)
    DO(cudaHostRegister(registered, sizeof registered, 0)); // EXPECT 8192 bytes of registered memory, made at \S*LINE \(cudaHostRegister\)
}

static void *make(size_t bytes)
{
    void *p;
    DO(cudaMalloc(&p, bytes)); // the loop below: one leak, with the sum
    return p;
}

CASE(memory_of_one_place)
{
    void *last = nullptr;
    for (int i = 0; i < 10; i++)
        last = make(100); // EXPECT 900 bytes of device memory in 9 allocations, made at \S*leaks.cu:\d+ \(cudaMalloc\)
    DO(cudaFree(last));
}

CASE(objects)
{
    cudaStream_t stream;
    cudaEvent_t event;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaMemPool_t pool;
    cudaArray_t array;
    cudaMipmappedArray_t levels;
    cudaMemPoolProps props = {};
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    DO(cudaStreamCreate(&stream));              // EXPECT leak: a stream, made at \S*LINE \(cudaStreamCreate\), was never destroyed
    DO(cudaEventCreate(&event));                // EXPECT leak: an event, made at \S*LINE \(cudaEventCreate\)
    DO(cudaGraphCreate(&graph, 0));             // EXPECT leak: a graph, made at \S*LINE \(cudaGraphCreate\)
    DO(cudaGraphInstantiate(&exec, graph, 0));  // EXPECT leak: an executable graph, made at \S*LINE
    DO(cudaMemPoolCreate(&pool, &props));       // EXPECT leak: a pool, made at \S*LINE \(cudaMemPoolCreate\)
    DO(cudaMallocArray(&array, &format, 8, 8)); // EXPECT leak: an array, made at \S*LINE \(cudaMallocArray\)
    DO(cudaMallocMipmappedArray(&levels, &format, make_cudaExtent(8, 8, 0), 4)); // EXPECT leak: a mipmapped array, made at \S*LINE
}

CASE(captured_graph)
{
    cudaStream_t stream;
    cudaGraph_t graph;
    DO(cudaStreamCreate(&stream));
    DO(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    touch<<<1, 32, 0, stream>>>();
    DO(cudaStreamEndCapture(stream, &graph)); // EXPECT leak: a graph, made at \S*LINE \(cudaStreamEndCapture\)
    DO(cudaStreamDestroy(stream));
}

/* It goes with the graph that it was given to. */
CASE(graph_given_away)
{
    cudaGraph_t graph, child, kept;
    cudaGraphNode_t node;
    DO(cudaGraphCreate(&graph, 0));
    DO(cudaGraphCreate(&child, 0));
    DO(cudaGraphCreate(&kept, 0)); // EXPECT leak: a graph, made at \S*LINE \(cudaGraphCreate\), was never destroyed
    DO(cudaGraphAddEmptyNode(&node, child, nullptr, 0));
    DO(cudaGraphAddEmptyNode(&node, kept, nullptr, 0));
    cudaGraphNodeParams params = {};
    params.type = cudaGraphNodeTypeGraph;
    params.graph.graph = child;
    params.graph.ownership = cudaGraphChildGraphOwnershipMove;
    DO(cudaGraphAddNode(&node, graph, nullptr, nullptr, 0, &params));
    params.graph.graph = kept;
    params.graph.ownership = cudaGraphChildGraphOwnershipClone;
    DO(cudaGraphAddNode(&node, graph, nullptr, nullptr, 0, &params));
    DO(cudaGraphDestroy(graph));
}

CASE(reset)
{
    void *p;
    cudaStream_t stream;
    DO(cudaMalloc(&p, 4096));
    DO(cudaStreamCreate(&stream));
    DO(cudaDeviceReset());
}

CASE(driver)
{
    static const char ptx[] = ".version 7.0\n.target sm_50\n.address_size 64\n";
    CUmodule module;
    CUdeviceptr p;
    CUstream stream;
    DO(cudaFree(0));
    DO(cuModuleLoadData(&module, ptx)); // EXPECT leak: a module, made at \S*LINE
    DO(cuMemAlloc(&p, 64));             // EXPECT leak: 64 bytes of device memory, made at \S*LINE
    DO(cuStreamCreate(&stream, 0));     // EXPECT leak: a stream, made at \S*LINE
}

__global__ void fault(int *p) { *p = 1; }

CASE(not_freed_because_of_a_fault)
{
    int *p;
    void *s, *h;
    cudaStream_t stream;
    DO(cudaStreamCreate(&stream));
    DO(cudaMalloc(&p, 100));
    DO(cudaMallocHost(&h, 100));
    DO(cudaMallocAsync(&s, 100, stream));
    fault<<<1, 1, 0, stream>>>((int *)16);
    if (cudaStreamSynchronize(stream) != cudaErrorIllegalAddress || // EXPECT illegal address in kernel fault
        cudaFreeAsync(s, stream) == cudaSuccess || cudaFree(p) == cudaSuccess)
        DO(cudaErrorUnknown);
    cudaStreamDestroy(stream);
    cudaFreeHost(h);
}

CASE(leaks_after_a_fault_and_a_reset)
{
    void *p;
    fault<<<1, 1>>>((int *)16);
    DO(cudaDeviceSynchronize() != cudaErrorIllegalAddress); // EXPECT illegal address in kernel fault
    DO(cudaDeviceReset());
    DO(cudaMalloc(&p, 100)); // EXPECT 100 bytes of device memory, made at \S*LINE \(cudaMalloc\)
}

#if defined(__x86_64__)
/* A package without symbols that loads a module: no function has this code. */
CASE(module_of_a_place_without_a_name)
{
    static const char ptx[] = ".version 7.0\n.target sm_50\n.address_size 64\n";
    /* sub $8, %rsp; call *%rdx; add $8, %rsp; ret */
    static const unsigned char code[] = {0x48, 0x83, 0xec, 8, 0xff, 0xd2, 0x48, 0x83, 0xc4, 8, 0xc3};
    CUmodule module;
    DO(cudaFree(0));
    void *page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(page, code, sizeof code);
    mprotect(page, 4096, PROT_READ | PROT_EXEC);
    auto call = (CUresult(*)(CUmodule *, const void *, CUresult (*)(CUmodule *, const void *)))page;
    DO(call(&module, ptx, cuModuleLoadData));
}
#endif
