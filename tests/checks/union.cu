// CHECK: all
/* Mistakes of each kind in one program, which all of the checks together find, each once. */
#include <cuda.h>

#include "checks.h"

enum { N = 64 };

__global__ void fill(int *p, int n)
{
    int i = threadIdx.x;
    if (i < n)
        p[i] = i;
}
__global__ void total(const int *p, int *sum) { atomicAdd(sum, p[threadIdx.x]); }

/* No barrier between the warps' writes and the reads of the other's. */
__global__ void neighbour(int *p)
{
    __shared__ int all[N];
    all[threadIdx.x] = threadIdx.x;
    p[threadIdx.x] = all[(threadIdx.x + 32) % N];
}

__global__ void half(int *p)
{
    if (threadIdx.x < 16)
        p[threadIdx.x] = __shfl_sync(0xffffffff, p[threadIdx.x], 0);
    p[threadIdx.x]++;
}

static int *cleared(int count)
{
    int *p;
    DO(cudaMalloc(&p, count * sizeof *p));
    DO(cudaMemset(p, 0, count * sizeof *p));
    return p;
}

static void streams_race()
{
    cudaStream_t a, b;
    int *p = cleared(N), *sum = cleared(1);
    DO(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
    DO(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
    DO(cudaDeviceSynchronize());
    fill<<<1, N, 0, a>>>(p, N);
    total<<<1, N, 0, b>>>(p, sum);
    DO(cudaDeviceSynchronize());
    DO(cudaStreamDestroy(a));
    DO(cudaStreamDestroy(b));
    DO(cudaFree(p));
    DO(cudaFree(sum));
}

static void threads_race()
{
    int *p = cleared(N);
    neighbour<<<1, N>>>(p);
    DO(cudaDeviceSynchronize());
    DO(cudaFree(p));
}

static void reads_what_is_not_written()
{
    int *p, *sum = cleared(1);
    DO(cudaMalloc(&p, N * sizeof *p));
    total<<<1, N>>>(p, sum);
    DO(cudaDeviceSynchronize());
    DO(cudaFree(p));
    DO(cudaFree(sum));
}

static void synchronizes_half()
{
    int *p = cleared(N);
    half<<<1, 32>>>(p);
    DO(cudaDeviceSynchronize());
    DO(cudaFree(p));
}

static void fails_unseen()
{
    void *p;
    cudaMalloc(&p, ~size_t(0) / 2);
}

static void frees_twice()
{
    void *p;
    DO(cudaMallocAsync(&p, 256, 0));
    DO(cudaFreeAsync(p, 0));
    if (cudaFreeAsync(p, 0) == cudaSuccess)
        printf("freed twice\n");
    DO(cudaDeviceSynchronize());
}

static void writes_too_far()
{
    int *p;
    DO(cudaMalloc(&p, N * sizeof *p));
    fill<<<1, 2 * N>>>(p, N + 1);
    if (cudaDeviceSynchronize() != cudaErrorIllegalAddress)
        printf("no fault\n");
}

/* What a fault of a kernel leaves is no leak. */
CASE(each_once)
{
    streams_race();
    threads_race();
    reads_what_is_not_written();
    synchronizes_half();
    fails_unseen();
    writes_too_far();
    // EXPECT race: bytes 0 to 255 of the 256 bytes
    // EXPECT race: bytes .* of the shared memory of block
    // EXPECT uninitialised read: in kernel total
    // EXPECT synchronization: in kernel half
    // EXPECT unchecked error: cudaMalloc
    // EXPECT illegal address in kernel fill
}

CASE(each_once_without_a_fault)
{
    void *lost;
    streams_race();
    threads_race();
    reads_what_is_not_written();
    synchronizes_half();
    fails_unseen();
    frees_twice();
    DO(cudaMalloc(&lost, 100));
    // EXPECT race: bytes 0 to 255 of the 256 bytes
    // EXPECT race: bytes .* of the shared memory of block
    // EXPECT uninitialised read: in kernel total
    // EXPECT synchronization: in kernel half
    // EXPECT unchecked error: cudaMalloc
    // EXPECT invalid free: cudaFreeAsync
    // EXPECT leak: 100 bytes of device memory
}

CASE(right)
{
    cudaStream_t s;
    int *p = cleared(N), *sum = cleared(1), result;
    DO(cudaStreamCreate(&s));
    fill<<<1, N, 0, s>>>(p, N);
    total<<<1, N, 0, s>>>(p, sum);
    DO(cudaMemcpyAsync(&result, sum, sizeof result, cudaMemcpyDeviceToHost, s));
    DO(cudaStreamSynchronize(s));
    if (result != N * (N - 1) / 2)
        printf("%d\n", result);
    DO(cudaStreamDestroy(s));
    DO(cudaFree(p));
    DO(cudaFree(sum));
}
