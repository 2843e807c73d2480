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
