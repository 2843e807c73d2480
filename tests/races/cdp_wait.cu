// CHECK: races
// FLAGS: -rdc=true -lcudadevrt -arch=sm_80 -DCUDA_FORCE_CDP1_IF_SUPPORTED
/* Kernels that wait for what they have launched: the first generation of dynamic parallelism. */
#include "races.h"

__global__ void writes(int *p)
{
    p[threadIdx.x] = 1; // @1 kernel write
}
__global__ void waits(int *p, int *result, bool synchronizes)
{
    writes<<<1, 32>>>(p);
    if (synchronizes)
        cudaDeviceSynchronize();
    *result = p[3]; // @2 kernel read
}
CASE(parent_waits_for_its_child)
{
    waits<<<1, 1, 0, a>>>(d, out, repaired);
}

/* The others of the block come after by a barrier. */
__global__ void child_writes(int *p)
{
    p[threadIdx.x] = 1; // @1 kernel write
}
__global__ void one_waits(int *p, int *result, bool meets)
{
    if (threadIdx.x == 0) {
        child_writes<<<1, 64>>>(p);
        cudaDeviceSynchronize();
    }
    if (meets)
        __syncthreads();
    result[threadIdx.x] = p[threadIdx.x]; // @2 kernel read
}
CASE(others_meet_the_thread_that_waits)
{
    one_waits<<<1, 64, 0, a>>>(d, out, repaired);
}

/* In a function that is called through a pointer, by some lanes, while the child still runs. */
__global__ void writes_late(int *p)
{
    long long end = clock64() + 3000000;
    while (clock64() < end)
        ;
    p[threadIdx.x] = 1; // @1 kernel write
}
static __device__ __noinline__ int waits_within(int *p, int depth, bool synchronizes)
{
    if (depth > 0)
        return waits_within(p, depth - 1, synchronizes);
    writes_late<<<1, 1>>>(p + threadIdx.x);
    if (synchronizes)
        cudaDeviceSynchronize();
    return p[threadIdx.x]; // @2 kernel read
}
__device__ int (*const volatile waiting)(int *, int, bool) = waits_within;
__global__ void calls_what_waits(int *p, int *result, bool synchronizes)
{
    if (threadIdx.x % 3 == 0)
        result[threadIdx.x] = waiting(p, threadIdx.x % 5, synchronizes);
}
CASE(functions_wait_for_children)
{
    calls_what_waits<<<1, 40, 0, a>>>(d, out, repaired);
}
