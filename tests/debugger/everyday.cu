/* What most programs do, to be run under valgrind: streams, events, pools, managed and page-locked
 * memory, host functions, a captured graph, threads, printf. */
#include <cuda_runtime.h>

#include <cstdio>
#include <thread>

enum { N = 64 };

static void CUDART_CB counts(void *p) { ++*(int *)p; }

__global__ void add(int *p) { p[threadIdx.x] += threadIdx.x; }

__global__ void total(const int *p, int *sum)
{
    __shared__ int part[N];
    part[threadIdx.x] = p[threadIdx.x];
    __syncthreads();
    for (int k = N / 2; k > 0; k /= 2) {
        if (threadIdx.x < k)
            part[threadIdx.x] += part[threadIdx.x + k];
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        *sum = part[0];
        printf("device %d\n", part[0]);
    }
}

int main()
{
    cudaStream_t stream;
    cudaEvent_t event;
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    int *device, *managed, *locked, *ordered, calls = 0, sum = 0;
    size_t bytes = N * sizeof(int);
    cudaStreamCreate(&stream);
    cudaEventCreate(&event);
    cudaMalloc(&device, bytes);
    cudaMallocManaged(&managed, bytes);
    cudaMallocHost(&locked, bytes);
    cudaMallocAsync(&ordered, bytes, stream);
    cudaMemsetAsync(ordered, 0, bytes, stream);
    for (int i = 0; i < N; i++)
        managed[i] = i;
    add<<<1, N, 0, stream>>>(managed);
    add<<<1, N, 0, stream>>>(ordered);
    total<<<1, N, 0, stream>>>(managed, device);
    cudaLaunchHostFunc(stream, counts, &calls);
    cudaMemcpyAsync(locked, ordered, bytes, cudaMemcpyDeviceToHost, stream);
    cudaFreeAsync(ordered, stream);
    cudaEventRecord(event, stream);
    cudaEventSynchronize(event);
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    add<<<1, N, 0, stream>>>(managed);
    cudaLaunchHostFunc(stream, counts, &calls);
    cudaStreamEndCapture(stream, &graph);
    cudaGraphInstantiate(&executable, graph, 0);
    cudaGraphLaunch(executable, stream);
    cudaGraphLaunch(executable, stream);
    std::thread([&] { cudaStreamSynchronize(stream); }).join();
    cudaMemcpy(&sum, device, sizeof sum, cudaMemcpyDeviceToHost);
    printf("%d %d %d %d %s\n", sum, locked[3], managed[5], calls, cudaGetErrorString(cudaGetLastError()));
    cudaGraphExecDestroy(executable);
    cudaGraphDestroy(graph);
    cudaEventDestroy(event);
    cudaStreamDestroy(stream);
    cudaFree(device);
    cudaFree(managed);
    cudaFreeHost(locked);
}
