/* Events: waits that are missing, and events that say something else than was meant. */
#include "races.h"

CASE(recorded_and_not_waited_for)
{
    fill<<<1, 32, 0, a>>>(d, N); // @1 kernel write
    DO(cudaEventRecord(event, a));
    if (repaired)
        DO(cudaStreamWaitEvent(b, event, 0));
    sum<<<1, 32, 0, b>>>(d, N, out); // @2 kernel read
}

CASE(recorded_too_early)
{
    if (!repaired)
        DO(cudaEventRecord(event, a));
    fill<<<1, 32, 0, a>>>(d, N); // @1 kernel write
    if (repaired)
        DO(cudaEventRecord(event, a));
    DO(cudaStreamWaitEvent(b, event, 0));
    sum<<<1, 32, 0, b>>>(d, N, out); // @2 kernel read
}

/* The event was recorded again, in another stream, before it was waited for. */
CASE(recorded_again_elsewhere)
{
    fill<<<1, 32, 0, a>>>(d, N); // @1 kernel write
    DO(cudaEventRecord(event, a));
    if (repaired)
        DO(cudaStreamWaitEvent(b, event, 0));
    fill<<<1, 32, 0, c>>>(d2, N);
    DO(cudaEventRecord(event, c));
    DO(cudaStreamWaitEvent(b, event, 0));
    sum<<<1, 32, 0, b>>>(d, N, out); // @2 kernel read
}

/* A wait holds for the recording that it saw, not for later ones. */
CASE(recorded_again_after_the_wait)
{
    DO(cudaEventRecord(event, a));
    if (!repaired)
        DO(cudaStreamWaitEvent(b, event, 0));
    fill<<<1, 32, 0, a>>>(d, N); // @1 kernel write
    DO(cudaEventRecord(event, a));
    if (repaired)
        DO(cudaStreamWaitEvent(b, event, 0));
    sum<<<1, 32, 0, b>>>(d, N, out); // @2 kernel read
}

CASE(waited_for_before_recorded)
{
    if (!repaired)
        DO(cudaStreamWaitEvent(b, event, 0));
    fill<<<1, 32, 0, a>>>(d, N); // @1 kernel write
    DO(cudaEventRecord(event, a));
    if (repaired)
        DO(cudaStreamWaitEvent(b, event, 0));
    sum<<<1, 32, 0, b>>>(d, N, out); // @2 kernel read
}

CASE(waited_for_in_another_stream)
{
    fill<<<1, 32, 0, a>>>(d, N); // @1 kernel write
    DO(cudaEventRecord(event, a));
    DO(cudaStreamWaitEvent(repaired ? b : c, event, 0));
    sum<<<1, 32, 0, b>>>(d, N, out); // @2 kernel read
}

CASE(recorded_in_another_stream)
{
    fill<<<1, 32, 0, a>>>(d, N); // @1 kernel write
    order(repaired ? a : c, b);
    sum<<<1, 32, 0, b>>>(d, N, out); // @2 kernel read
}

CASE(waited_for_after_the_use)
{
    fill<<<1, 32, 0, a>>>(d, N); // @1 kernel write
    DO(cudaEventRecord(event, a));
    if (repaired)
        DO(cudaStreamWaitEvent(b, event, 0));
    sum<<<1, 32, 0, b>>>(d, N, out); // @2 kernel read
    DO(cudaStreamWaitEvent(b, event, 0));
}

CASE(the_other_of_two_events)
{
    fill<<<1, 32, 0, a>>>(d, N);
    DO(cudaEventRecord(event, a));
    fill<<<1, 32, 0, a>>>(d2, N); // @1 kernel write
    DO(cudaEventRecord(second, a));
    DO(cudaStreamWaitEvent(b, repaired ? second : event, 0));
    sum<<<1, 32, 0, b>>>(d2, N, out); // @2 kernel read
}

/* Order goes through a third stream, if that has waited before it recorded. */
CASE(order_through_a_third_stream)
{
    fill<<<1, 32, 0, a>>>(d, N); // @1 kernel write
    DO(cudaEventRecord(event, a));
    if (repaired)
        DO(cudaStreamWaitEvent(c, event, 0));
    nothing<<<1, 1, 0, c>>>();
    DO(cudaEventRecord(second, c));
    if (!repaired)
        DO(cudaStreamWaitEvent(c, event, 0));
    DO(cudaStreamWaitEvent(b, second, 0));
    sum<<<1, 32, 0, b>>>(d, N, out); // @2 kernel read
}

CASE(synchronized_with_an_earlier_event)
{
    DO(cudaMemcpyAsync(h, d, N * sizeof(int), cudaMemcpyDeviceToHost, a));
    DO(cudaEventRecord(event, a));
    DO(cudaMemcpyAsync(h2, d, N * sizeof(int), cudaMemcpyDeviceToHost, a)); // @1 copy write
    DO(cudaEventRecord(second, a));
    DO(cudaEventSynchronize(repaired ? second : event));
    sink = h2[5]; // @2 host read
}

/* A query that says "done" orders as a synchronization does. */
CASE(event_queried)
{
    DO(cudaMemcpyAsync(h, d, N * sizeof(int), cudaMemcpyDeviceToHost, a)); // @1 copy write
    DO(cudaEventRecord(event, a));
    while (repaired && cudaEventQuery(event) == cudaErrorNotReady)
        ;
    sink = h[5]; // @2 host read
}

CASE(another_event_queried)
{
    DO(cudaEventRecord(second, a));
    DO(cudaMemcpyAsync(h, d, N * sizeof(int), cudaMemcpyDeviceToHost, a)); // @1 copy write
    DO(cudaEventRecord(event, a));
    while (cudaEventQuery(repaired ? event : second) == cudaErrorNotReady)
        ;
    sink = h[5]; // @2 host read
}

CASE(new_event_under_an_old_name)
{
    cudaEvent_t e;
    DO(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    fill<<<1, 32, 0, a>>>(d, N); // @1 kernel write
    DO(cudaEventRecord(e, a));
    if (!repaired) {
        DO(cudaEventDestroy(e));
        DO(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    }
    DO(cudaStreamWaitEvent(b, e, 0));
    DO(cudaEventDestroy(e));
    sum<<<1, 32, 0, b>>>(d, N, out); // @2 kernel read
}

/* An event with timing is one, too; the time between two says nothing of a third stream. */
CASE(timing_is_no_order)
{
    cudaEvent_t from, to;
    float ms;
    DO(cudaEventCreate(&from));
    DO(cudaEventCreate(&to));
    DO(cudaEventRecord(from, b));
    DO(cudaEventRecord(to, b));
    fill<<<1, 32, 0, a>>>(d, N); // @1 kernel write
    if (repaired)
        DO(cudaEventRecord(to, a));
    DO(cudaEventSynchronize(to));
    DO(cudaEventSynchronize(from));
    DO(cudaEventElapsedTime(&ms, from, to));
    sum<<<1, 32, 0, b>>>(d, N, out); // @2 kernel read
}

/* A time between two events is told when both are over, as a query tells it. */
CASE(elapsed_time_says_done)
{
    cudaEvent_t from, to;
    float ms;
    DO(cudaEventCreate(&from));
    DO(cudaEventCreate(&to));
    DO(cudaEventRecord(from, a));
    DO(cudaMemcpyAsync(h, d, N * sizeof(int), cudaMemcpyDeviceToHost, a)); // @1 copy write
    DO(cudaEventRecord(to, a));
    while (repaired && cudaEventElapsedTime(&ms, from, to) == cudaErrorNotReady)
        ;
    sink = h[1]; // @2 host read
    DO(cudaEventDestroy(from));
    DO(cudaEventDestroy(to));
}
