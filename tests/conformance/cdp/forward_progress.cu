// FLAGS: -rdc=true -lcudadevrt
// RUN workers-1: WEIR_WORKERS=1
// RUN workers-2: WEIR_WORKERS=2
/* D2, S8: children whose blocks wait for each other, for their siblings or for their parent, and
 * the host's grids, in code that is inlined, in functions that are called and through pointers:
 * nothing stops, however few the cores. */
#include "check.h"

#define OK(call) CHECK_STR(cudaGetErrorName(call), "cudaSuccess")

__device__ int met, gone, flag;

static __device__ __noinline__ void arrive_called(int *counter, int n)
{
    __threadfence();
    atomicAdd(counter, 1);
    while (*(volatile int *)counter < n)
        continue;
}
/* Deeper on the stack, and recursively. */
static __device__ __noinline__ int arrive_deep(int *counter, int n, int depth)
{
    if (depth > 0)
        return arrive_deep(counter, n, depth - 1) + 1;
    arrive_called(counter, n);
    return 0;
}
static __device__ __forceinline__ void arrive_inline(int *counter, int n)
{
    __threadfence();
    atomicAdd(counter, 1);
    while (*(volatile int *)counter < n)
        continue;
}

static __device__ int (*volatile by_pointer)(int *, int, int) = arrive_deep;

enum how { INLINE, CALLED, DEEP, POINTER };

template <how HOW> static __device__ void arrive(int *counter, int n)
{
    if (HOW == INLINE)
        arrive_inline(counter, n);
    else if (HOW == CALLED)
        arrive_called(counter, n);
    else if (HOW == DEEP)
        arrive_deep(counter, n, (n & 1) + 5);
    else
        by_pointer(counter, n, n & 3);
}

/* Blocks that all wait for all. */
template <how HOW> __global__ void blocks_meet(int n)
{
    if (threadIdx.x == 0)
        arrive<HOW>(&met, n);
    __syncthreads();
    if (threadIdx.x == blockDim.x - 1)
        atomicAdd(&gone, 1);
}

/* One child of several blocks, from several parents' blocks or one. */
template <how HOW> __global__ void launch_blocks(int blocks, int threads, cudaStream_t stream)
{
    if (threadIdx.x == 0)
        blocks_meet<HOW><<<blocks, threads, 0, stream>>>(blocks * gridDim.x);
}

/* Children of one block each, which wait for each other. */
template <how HOW> __global__ void launch_siblings(int n)
{
    for (int k = 0; k < n; k++)
        blocks_meet<HOW><<<1, 32, 0, cudaStreamFireAndForget>>>(n);
}

/* A child that waits for what its parent does after the launch, and the parent for it. */
template <how HOW> __global__ void talk()
{
    arrive<HOW>(&met, 2);
    flag = 1;
}
template <how HOW> __global__ void launch_talk()
{
    talk<HOW><<<1, 1, 0, cudaStreamFireAndForget>>>();
    arrive<HOW>(&met, 2);
    atomicAdd(&gone, 1);
}

/* More children than are kept until their parent is over, each of which waits for that. */
template <how HOW> __global__ void wait_for_flag()
{
    arrive<HOW>(&flag, 1);
    atomicAdd(&gone, 1);
}
template <how HOW> __global__ void launch_many(int n, cudaStream_t stream)
{
    flag = -n; /* as many as arrive there */
    for (int k = 0; k < n; k++)
        wait_for_flag<HOW><<<1, 1, 0, stream>>>();
    atomicAdd(&flag, n + 1);
}

static void expect(int blocks)
{
    const int zero = 0;
    int got = 0;
    OK(cudaGetLastError());
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpyFromSymbol(&got, gone, sizeof got));
    CHECK_EQ_INT(got, blocks);
    OK(cudaMemcpyToSymbol(gone, &zero, sizeof gone));
    OK(cudaMemcpyToSymbol(met, &zero, sizeof met));
    OK(cudaMemcpyToSymbol(flag, &zero, sizeof flag));
}

/* The host's grids, in a stream and as nodes of a graph. */
template <how HOW> static void of_the_host()
{
    cudaStream_t s;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    for (int blocks : {2, 50}) {
        blocks_meet<HOW><<<blocks, 32>>>(blocks);
        expect(blocks);
    }
    OK(cudaStreamCreate(&s));
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    blocks_meet<HOW><<<3, 32, 0, s>>>(3);
    blocks_meet<HOW><<<5, 32, 0, s>>>(8);
    OK(cudaStreamEndCapture(s, &graph));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, s));
    expect(8);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaStreamDestroy(s));
}

template <how HOW> static void all()
{
    /* Blocks are known to take no time at all, as long as they do not wait. */
    for (int k = 0; k < 20; k++) {
        blocks_meet<HOW><<<20, 32>>>(0);
        expect(20);
    }
    of_the_host<HOW>();
    for (cudaStream_t stream : {(cudaStream_t)0, cudaStreamFireAndForget, cudaStreamTailLaunch})
        for (int blocks : {2, 5, 16}) {
            launch_blocks<HOW><<<1, 32>>>(blocks, 32, stream);
            expect(blocks);
            launch_blocks<HOW><<<1, 32>>>(blocks, 96, stream);
            expect(blocks);
        }
    /* two grids that wait for each other, of two parents' blocks */
    launch_blocks<HOW><<<2, 32>>>(3, 64, cudaStreamFireAndForget);
    expect(6);
    launch_siblings<HOW><<<1, 1>>>(12);
    expect(12);
    launch_talk<HOW><<<1, 1>>>();
    expect(1);
    for (cudaStream_t stream : {(cudaStream_t)0, cudaStreamFireAndForget}) {
        launch_many<HOW><<<1, 1>>>(700, stream);
        expect(700);
    }
}

int main()
{
    all<INLINE>();
    all<CALLED>();
    all<DEEP>();
    all<POINTER>();
    return check_done();
}
