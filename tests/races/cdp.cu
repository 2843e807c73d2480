// FLAGS: -rdc=true -lcudadevrt
/* Launches by kernels: parent and child, children among themselves. A launch of the host's is one
 * command with all that its kernels launch. */
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

/* The parent reads what its child writes, which nothing orders before the parent's end. MISSED: a
 * launch of the host's is one piece of work with all that it leads to. */
__global__ void parent_reads(int *p, int *result, bool before)
{
    int seen = 0;
    if (before)
        seen = p[threadIdx.x];
    if (threadIdx.x == 0)
        child_fills<<<1, 1>>>(p, 1); // @1? kernel write
    if (!before)
        seen = *(volatile int *)p; // @2? kernel read
    result[threadIdx.x] = seen;
}

CASE(parent_reads_while_its_child_writes)
{
    parent_reads<<<1, 1, 0, a>>>(d, out, repaired);
}

/* Two children in streams of the device. MISSED: likewise. */
__global__ void two_children(int *p, bool disjoint)
{
    cudaStream_t s, t;
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking);
    child_fills<<<1, 32, 0, s>>>(p, 1);              // @3? kernel write
    child_fills<<<1, 32, 0, t>>>(p + (disjoint ? 32 : 0), 2); // @4? kernel write
    cudaStreamDestroy(s);
    cudaStreamDestroy(t);
}

CASE(children_of_two_streams)
{
    two_children<<<1, 1, 0, a>>>(d, repaired);
}
