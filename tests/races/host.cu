/* The host's own reads and writes of managed, mapped and page-locked memory. */
#include "races.h"

CASE(managed_read)
{
    fill<<<1, 32, 0, a>>>(m, N); // @1 kernel write
    if (repaired)
        DO(cudaStreamSynchronize(a));
    sink = m[7]; // @2 host read
}

CASE(managed_read_after_legacy)
{
    fill<<<1, 32>>>(m, N); // @1 kernel write
    if (repaired)
        DO(cudaDeviceSynchronize());
    sink = m[N - 1]; // @2 host read
}

CASE(managed_write)
{
    sum<<<1, 32, 0, a>>>(m, N, out); // @1 kernel read
    if (repaired)
        DO(cudaStreamSynchronize(a));
    m[7] = 3; // @2 host write
}

CASE(managed_halves)
{
    fill<<<1, 32, 0, a>>>(m, N / 2); // @1 kernel write
    sink = m[N / 2 - (repaired ? 0 : 1)]; // @2 host read
}

/* The first access of the page is none that matters. */
CASE(managed_second_access)
{
    fill<<<1, 32, 0, a>>>(m, N / 2); // @1 kernel write
    m[N - 1] = 1;
    m[N - 2] = m[N - 1];
    sink = m[repaired ? N - 2 : 2]; // @2 host read
}

CASE(managed_by_memcpy)
{
    fill<<<1, 32, 0, a>>>(m, N); // @1 kernel write
    if (repaired)
        DO(cudaStreamSynchronize(a));
    page[0] = 1;
    memcpy(page, m, 256); // @2 host read
}

CASE(mapped_read)
{
    fill<<<1, 32, 0, a>>>(h, N); // @1 kernel write
    if (repaired)
        DO(cudaStreamSynchronize(a));
    sink = h[0]; // @2 host read
}

CASE(mapped_write)
{
    sum<<<1, 32, 0, a>>>(h, N, out); // @1 kernel read
    if (repaired)
        DO(cudaStreamSynchronize(a));
    h[9] = 1; // @2 host write
}

/* Reads on both sides are fine. */
CASE(mapped_reads)
{
    if (repaired)
        sum<<<1, 32, 0, a>>>(h, N, out);
    else
        bump<<<1, 32, 0, a>>>(h, N); // @1 kernel write
    sink = h[9]; // @2 host read
}

CASE(page_locked_read_under_copy)
{
    DO(cudaMemcpyAsync(h, d, N * sizeof(int), cudaMemcpyDeviceToHost, a)); // @1 copy write
    if (repaired)
        DO(cudaStreamSynchronize(a));
    sink = h[N - 1]; // @2 host read
}

CASE(page_locked_write_under_copy)
{
    DO(cudaMemcpyAsync(d, h, N * sizeof(int), cudaMemcpyHostToDevice, a)); // @1 copy read
    if (repaired)
        DO(cudaStreamSynchronize(a));
    h[4] = 1; // @2 host write
}

/* The staging buffer is filled again while the copy may still read it. */
CASE(staging_buffer_filled_again)
{
    for (int round = 0; round < 2; round++) {
        if (round == 1 && repaired)
            DO(cudaEventSynchronize(event));
        h[round] = round; // @2 host write
        DO(cudaMemcpyAsync(d + round * 16, h, 64, cudaMemcpyHostToDevice, a)); // @1 copy read
        DO(cudaEventRecord(event, a));
    }
}

CASE(another_stream_synchronized)
{
    DO(cudaMemcpyAsync(h, d, N * sizeof(int), cudaMemcpyDeviceToHost, a)); // @1 copy write
    DO(cudaStreamSynchronize(repaired ? a : b));
    sink = h[1]; // @2 host read
}

CASE(synchronized_too_early)
{
    if (!repaired)
        DO(cudaStreamSynchronize(a));
    DO(cudaMemcpyAsync(h, d, N * sizeof(int), cudaMemcpyDeviceToHost, a)); // @1 copy write
    if (repaired)
        DO(cudaStreamSynchronize(a));
    sink = h[1]; // @2 host read
}

CASE(stream_queried)
{
    DO(cudaMemcpyAsync(h, d, N * sizeof(int), cudaMemcpyDeviceToHost, a)); // @1 copy write
    while (repaired && cudaStreamQuery(a) == cudaErrorNotReady)
        ;
    sink = h[1]; // @2 host read
}

CASE(another_stream_queried)
{
    DO(cudaMemcpyAsync(h, d, N * sizeof(int), cudaMemcpyDeviceToHost, a)); // @1 copy write
    while (cudaStreamQuery(repaired ? a : b) == cudaErrorNotReady)
        ;
    sink = h[1]; // @2 host read
}

/* To pageable memory a copy is synchronous, to page-locked memory it is not. */
CASE(copy_to_pageable_memory_waits)
{
    int *to = repaired ? page : h;
    DO(cudaMemcpyAsync(to, d, N * sizeof(int), cudaMemcpyDeviceToHost, a)); // @1 copy write
    sink = to[1]; // @2 host read
}

/* From pageable memory the source is free at the return. */
CASE(copy_from_pageable_memory_stages)
{
    int *from = repaired ? page : h;
    DO(cudaMemcpyAsync(d, from, N * sizeof(int), cudaMemcpyHostToDevice, a)); // @1 copy read
    from[1] = 3; // @2 host write
}

CASE(copy_without_async_waits)
{
    if (repaired)
        DO(cudaMemcpy(h, d, N * sizeof(int), cudaMemcpyDeviceToHost));
    else
        DO(cudaMemcpyAsync(h, d, N * sizeof(int), cudaMemcpyDeviceToHost, 0)); // @1 copy write
    sink = h[1]; // @2 host read
}

CASE(set_of_page_locked_memory)
{
    if (repaired)
        DO(cudaMemset(h, 1, N * sizeof(int)));
    else
        DO(cudaMemsetAsync(h, 1, N * sizeof(int), 0)); // @1 set write
    sink = h[1]; // @2 host read
}

CASE(registered_memory)
{
    alignas(4096) static int own[N];
    DO(cudaHostRegister(own, sizeof own, cudaHostRegisterDefault));
    DO(cudaMemcpyAsync(d, own, sizeof own, cudaMemcpyHostToDevice, a)); // @1 copy read
    if (repaired)
        DO(cudaStreamSynchronize(a));
    own[3] = 1; // @2 host write
    DO(cudaStreamSynchronize(a));
    DO(cudaHostUnregister(own));
}

/* A prefetch moves pages and orders nothing for the host. */
CASE(prefetch_is_no_wait)
{
    fill<<<1, 32, 0, a>>>(m, N); // @1 kernel write
    cudaMemLocation host = {};
    host.type = cudaMemLocationTypeHost;
    DO(cudaMemPrefetchAsync(m, N * sizeof(int), host, 0, a));
    if (repaired)
        DO(cudaStreamSynchronize(a));
    sink = m[0]; // @2 host read
}

/* cudaFree waits for the device; so what comes after it is ordered. */
CASE(freeing_waits)
{
    int *p;
    DO(cudaMalloc(&p, 4096));
    DO(cudaMemcpyAsync(h, d, N * sizeof(int), cudaMemcpyDeviceToHost, a)); // @1 copy write
    if (repaired)
        DO(cudaFree(p));
    sink = h[1]; // @2 host read
}

/* Allocating does not. */
CASE(allocating_does_not_wait)
{
    int *p;
    DO(cudaMemcpyAsync(h, d, N * sizeof(int), cudaMemcpyDeviceToHost, a)); // @1 copy write
    DO(cudaMalloc(&p, 4096));
    if (repaired)
        DO(cudaStreamSynchronize(a));
    sink = h[1]; // @2 host read
}

alignas(4096) __managed__ int variable[N];

CASE(managed_variable)
{
    int *p;
    DO(cudaGetSymbolAddress((void **)&p, variable)); // SAYS of variable variable
    fill<<<1, 32, 0, a>>>(p, N); // @1 kernel write
    if (repaired)
        DO(cudaStreamSynchronize(a));
    sink = variable[3]; // @2 host read
}

/* The host has written before the launch, and does again before a launch in another stream: the
 * first kernel may still read. */
CASE(argument_block_reused)
{
    m[0] = 1;
    sum<<<1, 32, 0, a>>>(m, 1, out); // @1 kernel read
    if (repaired)
        DO(cudaStreamSynchronize(a));
    m[0] = 2; // @2 host write
    sum<<<1, 32, 0, b>>>(m, 1, out);
}

/* Copies of graphs reach pageable memory when they run. */
alignas(4096) static int pages[4 * N];
static cudaGraphExec_t graph_of_a_copy(void *to, const void *from, cudaMemcpyKind kind)
{
    cudaGraph_t graph;
    cudaGraphNode_t node;
    cudaGraphExec_t made;
    DO(cudaGraphCreate(&graph, 0));
    DO(cudaGraphAddMemcpyNode1D(&node, graph, nullptr, 0, to, from, N * sizeof(int), kind));
    DO(cudaGraphInstantiate(&made, graph, 0));
    return made;
}

CASE(pageable_memory_under_a_graphs_copy_from_it)
{
    DO(cudaGraphLaunch(graph_of_a_copy(d, pages, cudaMemcpyHostToDevice), a)); // @1 copy read
    if (repaired)
        DO(cudaStreamSynchronize(a));
    pages[3] = 1; // @2 host write
}

CASE(pageable_memory_under_a_graphs_copy_to_it)
{
    DO(cudaGraphLaunch(graph_of_a_copy(pages, d, cudaMemcpyDeviceToHost), a)); // @1 copy write
    if (repaired)
        DO(cudaStreamSynchronize(a));
    sink = pages[3]; // @2 host read
}

CASE(pageable_memory_of_two_graphs)
{
    DO(cudaGraphLaunch(graph_of_a_copy(pages, d, cudaMemcpyDeviceToHost), a)); // @1 copy write
    if (repaired)
        order(a, b);
    DO(cudaGraphLaunch(graph_of_a_copy(d2, pages, cudaMemcpyHostToDevice), b)); // @2 copy read
}

/* Freed and unregistered page-locked memory: the calls wait for what is under way. */
CASE(freeing_page_locked_memory_waits)
{
    int *p;
    DO(cudaMallocHost(&p, N * sizeof(int)));
    DO(cudaMemcpyAsync(p, d, N * sizeof(int), cudaMemcpyDeviceToHost, a));
    DO(cudaMemcpyAsync(h, d, N * sizeof(int), cudaMemcpyDeviceToHost, b)); // @1 copy write
    if (repaired)
        DO(cudaFreeHost(p));
    sink = h[1]; // @2 host read
}
