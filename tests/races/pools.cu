/* Memory in stream order: what is used before the allocation or after the free, in another stream's
 * eyes. */
#include "races.h"

CASE(used_before_the_allocation_is_ordered)
{
    int *p;
    DO(cudaMallocAsync(&p, N * sizeof(int), a)); // @1 allocation allocate
    if (repaired)
        order(a, b);
    fill<<<1, 32, 0, b>>>(p, N); // @2 kernel write
    order(b, a);
    DO(cudaFreeAsync(p, a));
}

CASE(copied_to_before_the_allocation_is_ordered)
{
    int *p;
    DO(cudaMallocAsync(&p, N * sizeof(int), a)); // @1 allocation allocate
    if (repaired)
        DO(cudaStreamSynchronize(a));
    DO(cudaMemcpyAsync(p, h, 64, cudaMemcpyHostToDevice, b)); // @2 copy write
    DO(cudaStreamSynchronize(b));
    DO(cudaFreeAsync(p, a));
}

CASE(freed_in_another_stream)
{
    int *p;
    DO(cudaMallocAsync(&p, N * sizeof(int), a));
    fill<<<1, 32, 0, a>>>(p, N); // @1 kernel write
    if (repaired)
        order(a, b);
    else {
        /* The allocation is ordered before the free, the kernel is not. */
    }
    DO(cudaFreeAsync(p, b)); // @2 free free
}

CASE(read_after_the_free)
{
    int *p;
    DO(cudaMallocAsync(&p, N * sizeof(int), a));
    order(a, b);
    if (repaired) {
        sum<<<1, 32, 0, b>>>(p, N, out);
        order(b, a);
    }
    DO(cudaFreeAsync(p, a)); // @1 free free
    // SAYS record an event in stream 17 after \S+ and let stream 16 wait
    if (!repaired)
        sum<<<1, 32, 0, b>>>(p, N, out); // @2 kernel read
}

CASE(used_after_the_free_in_its_stream)
{
    int *p;
    DO(cudaMallocAsync(&p, N * sizeof(int), a));
    if (!repaired)
        DO(cudaFreeAsync(p, a)); // @1 free free
    fill<<<1, 32, 0, a>>>(p, N); // @2 kernel write
    if (repaired)
        DO(cudaFreeAsync(p, a));
}

CASE(set_after_the_free_by_the_legacy_stream)
{
    int *p;
    DO(cudaMallocAsync(&p, N * sizeof(int), a));
    DO(cudaStreamSynchronize(a));
    DO(cudaMemsetAsync(p, 0, 64, a)); // @1 set write
    if (repaired)
        order(a, cudaStreamLegacy);
    DO(cudaFreeAsync(p, cudaStreamLegacy)); // @2 free free
}

/* cudaFree waits for the device before it frees what cudaMalloc gave, but not for stream-ordered
 * memory. */
CASE(plain_free_of_stream_ordered_memory)
{
    int *p;
    DO(cudaMallocAsync(&p, N * sizeof(int), a));
    fill<<<1, 32, 0, a>>>(p, N); // @1 kernel write
    if (repaired)
        DO(cudaStreamSynchronize(a));
    DO(cudaFree(p)); // @2 free free
}

CASE(two_readers_one_of_them_joined)
{
    int *p;
    DO(cudaMallocAsync(&p, N * sizeof(int), a));
    fill<<<1, 32, 0, a>>>(p, N);
    DO(cudaEventRecord(event, a));
    DO(cudaStreamWaitEvent(b, event, 0));
    DO(cudaStreamWaitEvent(c, event, 0));
    sum<<<1, 32, 0, b>>>(p, N, out);
    sum<<<1, 32, 0, c>>>(p, N, out); // @1 kernel read
    order(b, a);
    if (repaired)
        order(c, a);
    DO(cudaFreeAsync(p, a)); // @2 free free
}

CASE(memory_of_a_pool)
{
    cudaMemPool_t pool;
    cudaMemPoolProps props = {};
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    DO(cudaMemPoolCreate(&pool, &props));
    int *p;
    DO(cudaMallocFromPoolAsync(&p, N * sizeof(int), pool, a));
    sum<<<1, 32, 0, a>>>(p, N, out); // @1 kernel read
    if (repaired)
        order(a, b);
    DO(cudaFreeAsync(p, b)); // @2 free free
    DO(cudaStreamSynchronize(b));
    DO(cudaStreamSynchronize(a));
    DO(cudaMemPoolDestroy(pool));
}

/* The same memory again in the same stream is ordered; what another stream still does with the
 * first block is not. */
CASE(block_used_again)
{
    int *p, *q;
    DO(cudaMallocAsync(&p, N * sizeof(int), a));
    order(a, b);
    sum<<<1, 32, 0, b>>>(p, N, out); // @1 kernel read
    if (repaired)
        order(b, a);
    DO(cudaFreeAsync(p, a)); // @2 free free
    DO(cudaMallocAsync(&q, N * sizeof(int), a));
    nothing<<<1, 32, 0, a>>>();
    DO(cudaFreeAsync(q, a));
}
