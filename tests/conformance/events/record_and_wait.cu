/* S4, S5: events: records, waits, time, and destruction while they are used. */
#include "check.h"

#define OK(call) CHECK_STR(cudaGetErrorName(call), "cudaSuccess")

__global__ void wait_for(volatile int *flag)
{
    while (*flag == 0)
        ;
}
__global__ void set(int *p, int value) { *p = value; }
__global__ void copy(int *to, const int *from) { *to = *from; }

static volatile int *flag;

static void unrecorded()
{
    cudaEvent_t e;

    OK(cudaEventCreate(&e));
    OK(cudaEventQuery(e));
    OK(cudaEventSynchronize(e));
    OK(cudaStreamWaitEvent(0, e, 0)); /* holds nobody */
    OK(cudaStreamSynchronize(0));
    OK(cudaEventDestroy(e));
}

static void across_streams()
{
    cudaStream_t a, b;
    cudaEvent_t e;
    int *data, seen;

    OK(cudaMalloc(&data, 2 * sizeof *data));
    OK(cudaMemset(data, 0, 2 * sizeof *data));
    OK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
    OK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    OK(cudaDeviceSynchronize());
    *flag = 0;
    wait_for<<<1, 1, 0, a>>>(flag);
    set<<<1, 1, 0, a>>>(data, 7);
    OK(cudaEventRecord(e, a));
    OK(cudaStreamWaitEvent(b, e, 0));
    copy<<<1, 1, 0, b>>>(data + 1, data);
    /* The wait saw that recording; a new one, and the event's end, change nothing. */
    OK(cudaEventRecord(e, 0));
    OK(cudaEventDestroy(e));
    CHECK_EQ_INT(cudaStreamQuery(b), cudaErrorNotReady);
    *flag = 1;
    OK(cudaStreamSynchronize(b));
    OK(cudaMemcpy(&seen, data + 1, sizeof seen, cudaMemcpyDeviceToHost));
    CHECK_EQ_INT(seen, 7);
    OK(cudaStreamDestroy(a));
    OK(cudaStreamDestroy(b));
    OK(cudaFree(data));
}

static void elapsed()
{
    cudaEvent_t a, b;
    float ms = -1;

    OK(cudaEventCreate(&a));
    OK(cudaEventCreateWithFlags(&b, cudaEventBlockingSync));
    OK(cudaEventRecord(a));
    *flag = 0;
    wait_for<<<1, 1>>>(flag);
    OK(cudaEventRecord(b));
    CHECK_EQ_INT(cudaEventElapsedTime(&ms, a, b), cudaErrorNotReady);
    *flag = 1;
    OK(cudaEventSynchronize(b));
    OK(cudaEventElapsedTime(&ms, a, b));
    CHECK(ms >= 0 && ms < 60000);
    OK(cudaEventElapsedTime(&ms, b, a));
    CHECK(ms <= 0);
    OK(cudaEventDestroy(a));
    OK(cudaEventDestroy(b));
}

int main()
{
    OK(cudaMallocHost((void **)&flag, sizeof *flag));
    unrecorded();
    across_streams();
    elapsed();
    OK(cudaGetLastError());
    return check_done();
}
