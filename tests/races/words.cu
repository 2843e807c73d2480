/* Stream memory operations: waits for values, and the writes that they wait for. */
#include "races.h"

#define WORD ((CUdeviceptr)(d2 + 100))
#define WAIT(s, value) DO(cuStreamWaitValue32(s, WORD, value, CU_STREAM_WAIT_VALUE_GEQ))
#define WRITE(s, value) DO(cuStreamWriteValue32(s, WORD, value, CU_STREAM_WRITE_VALUE_DEFAULT))

CASE(value_without_a_wait)
{
    fill<<<1, 32, 0, a>>>(d, N); // @1 kernel write
    WRITE(a, 1);
    if (repaired)
        WAIT(b, 1);
    sum<<<1, 32, 0, b>>>(d, N, out); // @2 kernel read
}

CASE(value_written_too_early)
{
    if (!repaired)
        WRITE(a, 1);
    fill<<<1, 32, 0, a>>>(d, N); // @1 kernel write
    if (repaired)
        WRITE(a, 1);
    WAIT(b, 1);
    sum<<<1, 32, 0, b>>>(d, N, out); // @2 kernel read
}

CASE(value_of_an_earlier_round)
{
    fill<<<1, 32, 0, a>>>(d2, 32);
    WRITE(a, 1);
    fill<<<1, 32, 0, a>>>(d, N); // @1 kernel write
    WRITE(a, 2);
    WAIT(b, repaired ? 2 : 1);
    sum<<<1, 32, 0, b>>>(d, N, out); // @2 kernel read
}

/* The waiting stream is first. */
CASE(wait_enqueued_before_the_write)
{
    if (repaired)
        WAIT(b, 1);
    sum<<<1, 32, 0, b>>>(d, N, out); // @2 kernel read
    fill<<<1, 32, 0, a>>>(d, N); // @1 kernel write
    WRITE(a, 1);
}

CASE(copy_enqueued_before_the_write)
{
    if (repaired)
        WAIT(b, 1);
    DO(cudaMemcpyAsync(h, d, N * sizeof(int), cudaMemcpyDeviceToHost, b)); // @2 copy read
    fill<<<1, 32, 0, a>>>(d, N); // @1 kernel write
    WRITE(a, 1);
}

CASE(word_written_by_a_copy)
{
    WRITE(a, 1); // @1 value atomic
    if (repaired)
        order(a, b);
    DO(cudaMemcpyAsync((void *)WORD, h, 4, cudaMemcpyHostToDevice, b)); // @2 copy write
}

/* A host that reads what a stream has written, in memory that both reach, comes after that. */
CASE(host_polls_a_written_value)
{
    volatile int *flag = h2;
    fill<<<1, 32, 0, a>>>(h, N); // @1 kernel write
    DO(cuStreamWriteValue32(repaired ? (CUstream)a : (CUstream)b, (CUdeviceptr)h2, 1, 0));
    while (*flag == 0)
        ;
    sink = h[3]; // @2 host read
}
