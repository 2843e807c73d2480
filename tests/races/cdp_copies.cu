// CHECK: races
// FLAGS: -rdc=true -lcudadevrt
/* Copies and sets that kernels ask for: they are in the streams of the device as launches are, run
 * beside the kernel, and belong to the host's launch for all others. */
#include "races.h"

static __device__ cudaStream_t own_stream()
{
    cudaStream_t s;
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    return s;
}

/* The parent writes the source after it has asked for the copy; before, that comes first. */
__global__ void writes_source(int *from, int *to, bool before)
{
    if (before)
        *from = 5;
    cudaMemcpyAsync(to, from, sizeof(int), cudaMemcpyDeviceToDevice, 0); // @1 copy read
    if (!before)
        *from = 5; // @2 kernel write
}
CASE(parent_writes_the_source)
{
    writes_source<<<1, 1, 0, a>>>(d, d2, repaired); // SAYS read by a copy of kernel writes_source
}

/* Another thread's writes are there after a barrier alone. */
__global__ void block_fills(int *from, int *to, bool meets)
{
    from[threadIdx.x] = (int)threadIdx.x; // @1 kernel write
    if (meets)
        __syncthreads();
    if (threadIdx.x == 0)
        cudaMemcpyAsync(to, from, 64 * sizeof(int), cudaMemcpyDeviceToDevice, 0); // @2 copy read
}
CASE(another_threads_fill_the_source)
{
    block_fills<<<1, 64, 0, a>>>(d, d2, repaired);
}

/* The parent reads what is set beside it. */
__global__ void reads_set(int *p, int *result, bool before)
{
    int seen = 0;
    if (before)
        seen = p[3];
    cudaMemsetAsync(p, 1, 16 * sizeof(int), 0); // @1 set write
    if (!before)
        seen = p[3]; // @2 kernel read
    *result = seen;
}
CASE(parent_reads_what_is_set)
{
    reads_set<<<1, 1, 0, a>>>(d, out, repaired);
}

/* A set and a child in two streams, or in one. */
__global__ void uses(const int *p, int *result)
{
    atomicAdd(result, p[threadIdx.x]); // @2 kernel read
}
__global__ void sets_and_launches(int *p, int *result, bool one_stream)
{
    cudaStream_t s = own_stream(), t = own_stream();
    cudaMemsetAsync(p, 0, 32 * sizeof(int), s); // @1 set write
    uses<<<1, 32, 0, one_stream ? s : t>>>(p, result);
}
CASE(set_and_child_in_two_streams)
{
    sets_and_launches<<<1, 1, 0, a>>>(d, out, repaired);
}

/* A child and a copy of its results, with an event between their streams. */
__global__ void makes(int *p)
{
    p[threadIdx.x] = 9; // @1 kernel write
}
__global__ void makes_and_copies(int *p, int *to, bool waits)
{
    cudaStream_t s = own_stream(), t = own_stream();
    cudaEvent_t e;
    cudaEventCreateWithFlags(&e, cudaEventDisableTiming);
    makes<<<1, 32, 0, s>>>(p);
    cudaEventRecord(e, s);
    if (waits)
        cudaStreamWaitEvent(t, e, 0);
    cudaMemcpyAsync(to, p, 32 * sizeof(int), cudaMemcpyDeviceToDevice, t); // @2 copy read
}
CASE(child_and_copy_of_its_results)
{
    makes_and_copies<<<1, 1, 0, a>>>(d, d2, repaired);
}

/* Two copies into one place, by two blocks, whose streams are their own. */
__global__ void copies_of_blocks(const int *from, int *to, bool own)
{
    int *at = own ? to + 8 * blockIdx.x : to;
    cudaMemcpyAsync(at, from + 8 * blockIdx.x, 8 * sizeof(int), // @1? copy write
                    cudaMemcpyDeviceToDevice, 0);
}
CASE(copies_of_two_blocks)
{
    copies_of_blocks<<<2, 1, 0, a>>>(d, d2, repaired);
}

/* Rows: what lies between them belongs to others. */
__global__ void beside_rows(int *p, bool between)
{
    cudaMemset2DAsync(p, 8 * sizeof(int), 0, 4 * sizeof(int), 3, own_stream()); // @1 set write
    p[between ? 13 : 11] = 1; // @2 kernel write
}
CASE(rows_of_a_set)
{
    beside_rows<<<1, 1, 0, a>>>(d, repaired);
}

/* Sets of the same value: nobody can see which came last. */
__global__ void same_sets(int *p, int value)
{
    cudaMemsetAsync(p, 0, 32, own_stream());     // @1 set write
    cudaMemsetAsync(p, value, 32, own_stream()); // @2 set write
}
CASE(sets_of_one_value)
{
    same_sets<<<1, 1, 0, a>>>(d, repaired ? 0 : 1);
}

/* Against another stream of the host, for which it is part of the kernel. */
__global__ void copies(const int *from, int *to)
{
    cudaMemcpyAsync(to, from, 64 * sizeof(int), cudaMemcpyDeviceToDevice, 0); // @1 kernel write
}
CASE(copy_and_another_stream)
{
    copies<<<1, 1, 0, a>>>(d, d2);
    if (repaired)
        order(a, b);
    sum<<<1, 32, 0, b>>>(d2, N, out); // @2 kernel read
}

__global__ void sets(int *p)
{
    cudaMemsetAsync(p, 0, 64 * sizeof(int), cudaStreamTailLaunch); // @1 kernel write
}
CASE(set_and_the_host)
{
    sets<<<1, 1, 0, a>>>(m);
    if (repaired)
        DO(cudaStreamSynchronize(a));
    sink = m[7]; // @2 host read
}
