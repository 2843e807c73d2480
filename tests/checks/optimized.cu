/* Launches in optimized code, where what a compiler makes of a launch is inlined. */
// CHECK: calls
// FLAGS: -O2
#include "checks.h"

template <typename T> __global__ void fill(T *p) { p[threadIdx.x] = 1; }
__global__ void plain(int *p) { p[threadIdx.x] = 1; }

CASE(launch)
{
    plain<<<1, 4096>>>(nullptr); // EXPECT kernel plain\(int\*\) never ran: its launch at \S*LINE failed
    DO(cudaDeviceSynchronize());
}

CASE(launch_of_a_template)
{
    fill<<<1, 4096>>>((float *)nullptr); // EXPECT kernel \S*\s?fill<float>\(float\*\) never ran: its launch at \S*LINE failed
    DO(cudaDeviceSynchronize());
}

static inline void helper(int *p)
{
    plain<<<1, 4096>>>(p);
}

CASE(launch_by_a_helper)
{
    helper(nullptr); // EXPECT kernel plain\(int\*\) never ran: its launch at \S*optimized.cu:23 failed
    DO(cudaDeviceSynchronize());
}
