/* What is alive at the end, by the call that made it. */
// CHECK: leaks
#include "checks.h"

#include <cuda.h>

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
