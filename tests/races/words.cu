/* Stream memory operations: waits for values, and the writes that they wait for. */
#include "races.h"

static CUdeviceptr word() { return (CUdeviceptr)(d2 + 100); }
static void wait(cudaStream_t s, unsigned value)
{
    DO(cuStreamWaitValue32(s, word(), value, CU_STREAM_WAIT_VALUE_GEQ));
}
static void write(cudaStream_t s, unsigned value)
{
    DO(cuStreamWriteValue32(s, word(), value, CU_STREAM_WRITE_VALUE_DEFAULT));
}

CASE(value_without_a_wait)
{
    fill<<<1, 32, 0, a>>>(d, N); // @1 kernel write
    write(a, 1);
    if (repaired)
        wait(b, 1);
    sum<<<1, 32, 0, b>>>(d, N, out); // @2 kernel read
}

CASE(value_written_too_early)
{
    if (!repaired)
        write(a, 1);
    fill<<<1, 32, 0, a>>>(d, N); // @1 kernel write
    if (repaired)
        write(a, 1);
    wait(b, 1);
    sum<<<1, 32, 0, b>>>(d, N, out); // @2 kernel read
}

CASE(value_of_an_earlier_round)
{
    fill<<<1, 32, 0, a>>>(d2, 32);
    write(a, 1);
    fill<<<1, 32, 0, a>>>(d, N); // @1 kernel write
    write(a, 2);
    wait(b, repaired ? 2 : 1);
    sum<<<1, 32, 0, b>>>(d, N, out); // @2 kernel read
}

/* The waiting stream is first. */
CASE(wait_enqueued_before_the_write)
{
    if (repaired)
        wait(b, 1);
    sum<<<1, 32, 0, b>>>(d, N, out); // @2 kernel read
    fill<<<1, 32, 0, a>>>(d, N); // @1 kernel write
    write(a, 1);
}

CASE(word_written_by_a_copy)
{
    write(a, 1); // @1 value write
    if (repaired)
        order(a, b);
    DO(cudaMemcpyAsync((void *)word(), h, 4, cudaMemcpyHostToDevice, b)); // @2 copy write
}
