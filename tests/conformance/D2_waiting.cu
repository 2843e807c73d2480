// FLAGS: -rdc=true -lcudadevrt
/* D2, S8: children whose blocks wait for each other, for their siblings or for their parent, in
 * code that is inlined and in functions that are called: nothing stops, however few the cores. */
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

enum how { INLINE, CALLED, DEEP };

/* Blocks that all wait for all. */
template <how HOW> __global__ void blocks_meet(int n)
{
    if (threadIdx.x == 0) {
        if (HOW == INLINE)
            arrive_inline(&met, n);
        else if (HOW == CALLED)
            arrive_called(&met, n);
        else if (arrive_deep(&met, n, (n & 1) + 5) == 0)
            return;
    }
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
    if (HOW == INLINE)
        arrive_inline(&met, 2);
    else
        arrive_called(&met, 2);
    flag = 1;
}
template <how HOW> __global__ void launch_talk()
{
    talk<HOW><<<1, 1, 0, cudaStreamFireAndForget>>>();
    if (HOW == INLINE)
        arrive_inline(&met, 2);
    else
        arrive_called(&met, 2);
    atomicAdd(&gone, 1);
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
}

template <how HOW> static void all()
{
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
}

int main()
{
    all<INLINE>();
    all<CALLED>();
    all<DEEP>();
    return check_done();
}
