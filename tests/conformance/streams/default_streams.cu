/* S3: the legacy default stream and blocking streams wait for each other, non-blocking streams take
 * no part; each thread's own default stream is a blocking stream. */
#include <thread>

#include "check.h"

#define OK(call) CHECK_STR(cudaGetErrorName(call), "cudaSuccess")

__global__ void wait_for(volatile int *flag)
{
    while (*flag == 0)
        ;
}
__global__ void slow_set(int *p, int value)
{
    long long start = clock64();

    while (clock64() - start < 20000000)
        ;
    *p = value;
}
__global__ void copy(int *to, const int *from) { *to = *from; }

static volatile int *flag;
static int *data; /* two ints on the device */

static int second()
{
    int value;

    OK(cudaMemcpy(&value, data + 1, sizeof value, cudaMemcpyDeviceToHost));
    return value;
}

static void legacy_waits_for_blocking()
{
    cudaStream_t s;

    OK(cudaStreamCreate(&s));
    OK(cudaMemset(data, 0, 2 * sizeof *data));
    slow_set<<<1, 1, 0, s>>>(data, 1);
    copy<<<1, 1>>>(data + 1, data);
    CHECK_EQ_INT(second(), 1);
    slow_set<<<1, 1>>>(data, 2);
    copy<<<1, 1, 0, s>>>(data + 1, data);
    OK(cudaStreamSynchronize(s));
    CHECK_EQ_INT(second(), 2);
    slow_set<<<1, 1, 0, cudaStreamPerThread>>>(data, 3);
    copy<<<1, 1, 0, cudaStreamLegacy>>>(data + 1, data);
    CHECK_EQ_INT(second(), 3);
    OK(cudaStreamDestroy(s));
}

/* The legacy stream gets its work done while a non-blocking stream is stuck. */
static void nonblocking_takes_no_part()
{
    cudaStream_t s;
    cudaEvent_t e;

    OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    OK(cudaEventCreate(&e));
    *flag = 0;
    wait_for<<<1, 1, 0, s>>>(flag);
    slow_set<<<1, 1>>>(data, 4);
    OK(cudaEventRecord(e, 0));
    OK(cudaEventSynchronize(e));
    CHECK_EQ_INT(cudaStreamQuery(s), cudaErrorNotReady);
    OK(cudaStreamQuery(0));
    *flag = 1;
    OK(cudaStreamSynchronize(s));
    OK(cudaEventDestroy(e));
    OK(cudaStreamDestroy(s));
}

/* Two threads' own streams do not wait for each other. */
static void threads_are_independent()
{
    *flag = 0;
    wait_for<<<1, 1, 0, cudaStreamPerThread>>>(flag);
    std::thread([] {
        copy<<<1, 1, 0, cudaStreamPerThread>>>(data + 1, data);
        OK(cudaGetLastError());
        OK(cudaStreamSynchronize(cudaStreamPerThread));
    }).join();
    CHECK_EQ_INT(cudaStreamQuery(cudaStreamPerThread), cudaErrorNotReady);
    *flag = 1;
    OK(cudaStreamSynchronize(cudaStreamPerThread));
}

int main()
{
    OK(cudaMallocHost((void **)&flag, sizeof *flag));
    OK(cudaMalloc(&data, 2 * sizeof *data));
    legacy_waits_for_blocking();
    nonblocking_takes_no_part();
    threads_are_independent();
    return check_done();
}
