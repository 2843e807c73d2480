// CHECK: races
// FLAGS: -rdc=true -lcudadevrt
/* Launches by kernels: parent and child, and children among themselves. What a thread has done comes
 * before what it launches; streams and events of the device, tail launches and the ends of grids
 * with all that they have launched are the only other order. */
#include "races.h"

__global__ void writes(int *p, int value) { p[threadIdx.x] = value; } // @1? kernel write
__global__ void reads(const int *p, int *result) { atomicAdd(result, p[threadIdx.x]); }

static __device__ cudaStream_t own_stream()
{
    cudaStream_t s;
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    return s;
}

/* The parent reads what its child writes, which nothing orders before the parent's end. */
__global__ void parent_reads(int *p, int *result, bool before)
{
    int seen = 0;
    if (before)
        seen = p[threadIdx.x];
    writes<<<1, 1>>>(p, 1);
    if (!before)
        seen = p[0]; // @2 kernel read
    result[threadIdx.x] = seen;
}
CASE(parent_reads_while_its_child_writes)
{
    parent_reads<<<1, 1, 0, a>>>(d, out, repaired);
}

/* The child reads what its parent writes after the launch; before, it comes first. */
__global__ void reads_one(const int *p, int *result)
{
    *result = *p; // @1 kernel read
}
__global__ void parent_writes(int *p, int *result, bool before)
{
    if (before)
        *p = 5;
    reads_one<<<1, 1>>>(p, result);
    if (!before)
        *p = 5; // @2 kernel write
}
CASE(parent_writes_after_the_launch)
{
    parent_writes<<<1, 1, 0, a>>>(d, out, repaired);
}

/* What another thread of the parent has written is there only after a barrier. */
__global__ void reads_all(const int *p, int *result)
{
    atomicAdd(result, p[threadIdx.x]); // @1 kernel read
}
__global__ void block_writes(int *p, int *result, bool meets)
{
    p[threadIdx.x] = (int)threadIdx.x; // @2 kernel write
    if (meets)
        __syncthreads();
    if (threadIdx.x == 0)
        reads_all<<<1, 64>>>(p, result);
}
CASE(another_threads_write_before_the_launch)
{
    block_writes<<<1, 64, 0, a>>>(d, out, repaired);
}

/* Blocks of the parent are ordered with no launch of each other. */
__global__ void reads_other(const int *p, int *result)
{
    *result = p[1]; // @1 kernel read
}
__global__ void blocks_write(int *p, int *result, bool own)
{
    p[blockIdx.x] = 7; // @2 kernel write
    if (blockIdx.x == 0)
        reads_other<<<1, 1>>>(own ? p - 1 : p, result);
}
CASE(another_blocks_write)
{
    blocks_write<<<2, 1, 0, a>>>(d + 1, out, repaired);
}

/* Two children in streams of the device, or in one. */
__global__ void writes_first(int *p, int value)
{
    p[threadIdx.x] = value; // @1 kernel write
}
__global__ void writes_second(int *p, int value)
{
    p[threadIdx.x] = value; // @2 kernel write
}
__global__ void two_children(int *p, bool one_stream)
{
    cudaStream_t s = own_stream(), t = own_stream();
    writes_first<<<1, 32, 0, s>>>(p, 1);
    writes_second<<<1, 32, 0, one_stream ? s : t>>>(p, 2);
    cudaStreamDestroy(s);
    cudaStreamDestroy(t);
}
CASE(children_of_two_streams)
{
    two_children<<<1, 1, 0, a>>>(d, repaired);
}

/* The same with an event between the streams. */
__global__ void writes_here(int *p, int value)
{
    p[threadIdx.x] = value; // @1 kernel write
}
__global__ void reads_there(const int *p, int *result)
{
    atomicAdd(result, p[threadIdx.x]); // @2 kernel read
}
__global__ void children_and_event(int *p, int *result, bool waits)
{
    cudaStream_t s = own_stream(), t = own_stream();
    cudaEvent_t e;
    cudaEventCreateWithFlags(&e, cudaEventDisableTiming);
    writes_here<<<1, 32, 0, s>>>(p, 1);
    cudaEventRecord(e, s);
    if (waits)
        cudaStreamWaitEvent(t, e, 0);
    reads_there<<<1, 32, 0, t>>>(p, result);
}
CASE(children_and_an_event)
{
    children_and_event<<<1, 1, 0, a>>>(d, out, repaired);
}

/* Fire and forget is in no order; the block's own stream is. */
__global__ void forgotten(int *p)
{
    p[threadIdx.x] = 1; // @1 kernel write
}
__global__ void remembered(int *p)
{
    p[threadIdx.x] = 2; // @2 kernel write
}
__global__ void forgets(int *p, bool in_order)
{
    forgotten<<<1, 32, 0, in_order ? (cudaStream_t)0 : cudaStreamFireAndForget>>>(p);
    remembered<<<1, 32>>>(p);
}
CASE(fire_and_forget)
{
    forgets<<<1, 1, 0, a>>>(d, repaired);
}

/* The implicit stream is the block's: launches of its threads are in order, those of two blocks are
 * not. */
__global__ void adds(int *p)
{
    p[threadIdx.x] += 1; // @1? kernel write
}
__global__ void launchers(int *p)
{
    adds<<<1, 32>>>(p);
}
CASE(implicit_streams_of_two_blocks)
{
    if (repaired)
        launchers<<<1, 2, 0, a>>>(d);
    else
        launchers<<<2, 1, 0, a>>>(d);
}

/* A tail launch comes after its parent, and after all that the parent has launched. */
__global__ void looks(const int *p, int *result)
{
    *result = *p; // @1 kernel read
}
__global__ void writes_late(int *p, int *result, bool tail)
{
    if (tail)
        looks<<<1, 1, 0, cudaStreamTailLaunch>>>(p, result);
    else
        looks<<<1, 1>>>(p, result);
    *p = 3; // @2 kernel write
}
CASE(tail_launch_after_its_parent)
{
    writes_late<<<1, 1, 0, a>>>(d, out, repaired);
}

__global__ void produces(int *p)
{
    p[threadIdx.x] = 4; // @1 kernel write
}
__global__ void consumes(const int *p, int *result)
{
    atomicAdd(result, p[threadIdx.x]); // @2 kernel read
}
__global__ void produce_and_consume(int *p, int *result, bool tail)
{
    produces<<<1, 32, 0, own_stream()>>>(p);
    if (tail)
        consumes<<<1, 32, 0, cudaStreamTailLaunch>>>(p, result);
    else
        consumes<<<1, 32, 0, own_stream()>>>(p, result);
}
CASE(tail_launch_after_children)
{
    produce_and_consume<<<1, 1, 0, a>>>(d, out, repaired);
}

/* A grid is over when all that it has launched is: what follows it in its stream comes after its
 * grandchildren. */
__global__ void grandchild(int *p)
{
    p[threadIdx.x] = 6; // @1 kernel write
}
__global__ void child(int *p)
{
    grandchild<<<1, 32, 0, cudaStreamFireAndForget>>>(p);
}
__global__ void next_child(const int *p, int *result)
{
    atomicAdd(result, p[threadIdx.x]); // @2 kernel read
}
__global__ void generations(int *p, int *result, bool in_order)
{
    child<<<1, 1>>>(p);
    next_child<<<1, 32, 0, in_order ? (cudaStream_t)0 : own_stream()>>>(p, result);
}
CASE(grandchild_and_next_child)
{
    generations<<<1, 1, 0, a>>>(d, out, repaired);
}

/* A chain of tail launches is in order. */
__global__ void step(int *p, int *result, int left, bool tail)
{
    *p += left; // @1 kernel write
    if (left == 0)
        return;
    if (tail)
        step<<<1, 1, 0, cudaStreamTailLaunch>>>(p, result, left - 1, tail);
    else
        step<<<1, 1, 0, cudaStreamFireAndForget>>>(p, result, left - 1, tail);
    if (!tail)
        atomicAdd(result, *p); // @2 kernel read
}
CASE(chain_of_launches)
{
    step<<<1, 1, 0, a>>>(d, out, 5, repaired);
}

/* Memory of two children that overlaps by one word. */
__global__ void part(int *p)
{
    p[threadIdx.x] = (int)threadIdx.x; // @1 kernel write
}
__global__ void halves(int *p, int distance)
{
    part<<<1, 32, 0, own_stream()>>>(p);
    part<<<1, 32, 0, own_stream()>>>(p + distance);
}
CASE(children_overlap)
{
    halves<<<1, 1, 0, a>>>(d, repaired ? 32 : 31); // SAYS 124 to 127 .*between grids that kernels launch
}
