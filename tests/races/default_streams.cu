/* The default streams: whom the legacy one waits for, and who waits for it. */
#include "races.h"

#include <thread>

CASE(legacy_then_non_blocking)
{
    fill<<<1, 32>>>(d, N); // @1 kernel write
    sum<<<1, 32, 0, repaired ? blocking : a>>>(d, N, out); // @2 kernel read
}

CASE(non_blocking_then_legacy)
{
    fill<<<1, 32, 0, repaired ? blocking : a>>>(d, N); // @1 kernel write
    sum<<<1, 32>>>(d, N, out); // @2 kernel read
}

CASE(two_blocking_streams)
{
    fill<<<1, 32, 0, blocking>>>(d, N); // @1 kernel write
    if (repaired)
        nothing<<<1, 1>>>();
    sum<<<1, 32, 0, other>>>(d, N, out); // @2 kernel read
}

/* Work of the legacy stream between them orders two blocking streams, not non-blocking ones. */
CASE(legacy_between_non_blocking_streams)
{
    fill<<<1, 32, 0, repaired ? blocking : a>>>(d, N); // @1 kernel write
    nothing<<<1, 1>>>();
    sum<<<1, 32, 0, repaired ? other : b>>>(d, N, out); // @2 kernel read
}

CASE(memset_without_async_does_not_wait)
{
    DO(cudaMemset(d, 1, N * sizeof(int))); // @1 set write
    if (repaired)
        DO(cudaStreamSynchronize(cudaStreamLegacy));
    sum<<<1, 32, 0, a>>>(d, N, out); // @2 kernel read
}

CASE(copy_within_the_device_does_not_wait)
{
    DO(cudaMemcpy(d, d2, N * sizeof(int), cudaMemcpyDeviceToDevice)); // @1 copy write
    if (repaired)
        DO(cudaDeviceSynchronize());
    sum<<<1, 32, 0, a>>>(d, N, out); // @2 kernel read
}

/* A synchronous copy waits for its own stream, not for a non-blocking one. */
CASE(copy_out_does_not_wait_for_others)
{
    fill<<<1, 32, 0, repaired ? blocking : a>>>(d, N); // @1 kernel write
    DO(cudaMemcpy(page, d, N * sizeof(int), cudaMemcpyDeviceToHost)); // @2 copy read
}

CASE(copy_in_does_not_wait_for_others)
{
    sum<<<1, 32, 0, a>>>(d, N, out); // @1 kernel read
    if (repaired)
        DO(cudaStreamSynchronize(a));
    DO(cudaMemcpy(d, page, N * sizeof(int), cudaMemcpyHostToDevice)); // @2 copy write
}

CASE(synchronizing_the_legacy_stream)
{
    DO(cudaMemcpyAsync(h, d, N * sizeof(int), cudaMemcpyDeviceToHost, // @1 copy write
                       repaired ? blocking : a));
    DO(cudaStreamSynchronize(cudaStreamLegacy));
    sink = h[3]; // @2 host read
}

CASE(event_of_the_legacy_stream)
{
    fill<<<1, 32, 0, repaired ? blocking : a>>>(d, N); // @1 kernel write
    order(cudaStreamLegacy, b);
    sum<<<1, 32, 0, b>>>(d, N, out); // @2 kernel read
}

CASE(event_waited_for_in_the_legacy_stream)
{
    fill<<<1, 32, 0, a>>>(d, N); // @1 kernel write
    order(a, cudaStreamLegacy);
    sum<<<1, 32, 0, repaired ? blocking : b>>>(d, N, out); // @2 kernel read
}

CASE(per_thread_and_blocking)
{
    fill<<<1, 32, 0, cudaStreamPerThread>>>(d, N); // @1 kernel write
    sum<<<1, 32, 0, repaired ? cudaStreamLegacy : blocking>>>(d, N, out); // @2 kernel read
}

CASE(per_thread_and_non_blocking)
{
    fill<<<1, 32, 0, cudaStreamPerThread>>>(d, N); // @1 kernel write
    if (repaired)
        order(cudaStreamPerThread, a);
    sum<<<1, 32, 0, a>>>(d, N, out); // @2 kernel read
}

static void thread_fills(bool waits)
{
    fill<<<1, 32, 0, cudaStreamPerThread>>>(d, N); // @1 kernel write
    if (waits)
        DO(cudaStreamSynchronize(cudaStreamPerThread));
}

/* Joining a host thread does not wait for its default stream. */
CASE(per_thread_streams_of_two_threads)
{
    std::thread t(thread_fills, repaired);
    t.join();
    sum<<<1, 32, 0, cudaStreamPerThread>>>(d, N, out); // @2 kernel read
}
