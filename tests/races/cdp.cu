// FLAGS: -rdc=true -lcudadevrt
/* Launches by kernels against streams, the host and copies: for those, a launch of the host's is one
 * command with all that its kernels launch. cdp_order.cu has parents and children. */
#include "races.h"

__global__ void child_fills(int *p, int value) { p[threadIdx.x] = value; }
__global__ void parent(int *p, bool tail)
{
    if (threadIdx.x != 0)
        return;
    if (tail)
        child_fills<<<1, 32, 0, cudaStreamTailLaunch>>>(p, 1);
    else
        child_fills<<<1, 32>>>(p, 1);
}

/* A stream that comes after the parent comes after its children. */
CASE(child_and_another_stream)
{
    parent<<<1, 32, 0, a>>>(d, false); // @1 kernel write
    if (repaired)
        order(a, b);
    sum<<<1, 32, 0, b>>>(d, N, out); // @2 kernel read
}

CASE(tail_launch_and_another_stream)
{
    parent<<<1, 32, 0, a>>>(d, true); // @1 kernel write
    if (repaired)
        order(a, b);
    sum<<<1, 32, 0, b>>>(d, N, out); // @2 kernel read
}

CASE(child_and_the_host)
{
    parent<<<1, 32, 0, a>>>(m, false); // @1 kernel write
    if (repaired)
        DO(cudaStreamSynchronize(a));
    sink = m[4]; // @2 host read
}

__global__ void grandparent(int *p)
{
    if (threadIdx.x == 0)
        parent<<<1, 32>>>(p, false);
}

CASE(grandchild_and_a_copy)
{
    grandparent<<<1, 32, 0, a>>>(d); // @1 kernel write
    if (repaired)
        order(a, b);
    DO(cudaMemcpyAsync(h, d, 64, cudaMemcpyDeviceToHost, b)); // @2 copy read
}
