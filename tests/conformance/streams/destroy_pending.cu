/* S5: streams and events destroyed with work pending: the destroying call does not wait, the work
 * still runs to its end, and everything that waits for it is served. */
#include <cstdlib>
#include <vector>

#include "check.h"

#define OK(call) CHECK_STR(cudaGetErrorName(call), "cudaSuccess")

__global__ void hold(volatile int *flag)
{
    while (*flag == 0)
        ;
}
__global__ void add(int *p, int value) { atomicAdd(p, value); }

static volatile int *flag;
static int *sum;

static int total()
{
    int value = -1;
    OK(cudaMemcpy(&value, sum, sizeof value, cudaMemcpyDeviceToHost));
    OK(cudaMemset(sum, 0, sizeof *sum));
    OK(cudaDeviceSynchronize());
    return value;
}

static void CUDART_CB count_call(void *count) { ++*(int *)count; }

/* Held, destroyed, and only then released: had the call waited, this would never end. */
static void streams()
{
    const int n = 16;
    static int calls[n];
    *flag = 0;
    for (int i = 0; i < n; i++) {
        cudaStream_t s;
        OK(cudaStreamCreateWithFlags(&s, i % 2 ? cudaStreamNonBlocking : cudaStreamDefault));
        hold<<<1, 1, 0, s>>>(flag);
        add<<<4, 32, 0, s>>>(sum, 1);
        OK(cudaLaunchHostFunc(s, count_call, &calls[i]));
        add<<<1, 1, 0, s>>>(sum, 1000);
        OK(cudaStreamDestroy(s));
    }
    *flag = 1;
    OK(cudaDeviceSynchronize());
    CHECK_EQ_INT(total(), n * (4 * 32 + 1000));
    for (int i = 0; i < n; i++)
        CHECK_EQ_INT(calls[i], 1);
}

/* The default stream still waits for a blocking stream whose handle is gone. */
static void default_stream_after()
{
    cudaStream_t s, other;
    OK(cudaStreamCreate(&s));
    OK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    *flag = 0;
    hold<<<1, 1, 0, s>>>(flag);
    add<<<1, 1, 0, s>>>(sum, 5);
    OK(cudaStreamDestroy(s));
    add<<<1, 1>>>(sum, 2);
    CHECK_EQ_INT(cudaStreamQuery(0), cudaErrorNotReady);
    OK(cudaStreamQuery(other));
    *flag = 1;
    OK(cudaStreamSynchronize(0));
    CHECK_EQ_INT(total(), 7);
    OK(cudaStreamDestroy(other));
}

/* Waits for an event outlive the event and the stream it was recorded in. */
static void events()
{
    cudaStream_t a, b;
    cudaEvent_t e;
    for (unsigned flags : {(unsigned)cudaEventDefault, (unsigned)cudaEventDisableTiming,
                           (unsigned)cudaEventBlockingSync}) {
        OK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
        OK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
        OK(cudaEventCreateWithFlags(&e, flags));
        *flag = 0;
        hold<<<1, 1, 0, a>>>(flag);
        OK(cudaEventRecord(e, a));
        OK(cudaStreamWaitEvent(b, e, 0));
        add<<<1, 1, 0, b>>>(sum, 3);
        OK(cudaEventDestroy(e));
        OK(cudaStreamDestroy(a));
        CHECK_EQ_INT(cudaStreamQuery(b), cudaErrorNotReady);
        *flag = 1;
        OK(cudaStreamSynchronize(b));
        OK(cudaStreamDestroy(b));
    }
    CHECK_EQ_INT(total(), 9);
}

/* An event recorded in a stream that is gone says when its work is done. */
static void event_of_a_gone_stream()
{
    cudaStream_t s;
    cudaEvent_t e, before;
    float ms = -1;
    OK(cudaStreamCreate(&s));
    OK(cudaEventCreate(&e));
    OK(cudaEventCreate(&before));
    OK(cudaEventRecord(before, s));
    *flag = 0;
    hold<<<1, 1, 0, s>>>(flag);
    OK(cudaEventRecord(e, s));
    OK(cudaStreamDestroy(s));
    CHECK_EQ_INT(cudaEventQuery(e), cudaErrorNotReady);
    *flag = 1;
    OK(cudaEventSynchronize(e));
    OK(cudaEventElapsedTime(&ms, before, e));
    CHECK(ms >= 0);
    OK(cudaEventDestroy(e));
    OK(cudaEventDestroy(before));
}

/* Many, quickly: nothing may be lost. */
static void many()
{
    for (int i = 0; i < 500; i++) {
        cudaStream_t s;
        cudaEvent_t e;
        OK(cudaStreamCreate(&s));
        OK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
        add<<<1, 1, 0, s>>>(sum, 1);
        OK(cudaEventRecord(e, s));
        OK(cudaStreamDestroy(s));
        OK(cudaStreamWaitEvent(0, e, 0));
        OK(cudaEventDestroy(e));
    }
    CHECK_EQ_INT(total(), 500);
}

int main()
{
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0); /* GPUs put streams into few queues */
    OK(cudaMallocHost((void **)&flag, sizeof *flag));
    OK(cudaMalloc(&sum, sizeof *sum));
    OK(cudaMemset(sum, 0, sizeof *sum));
    *flag = 1;
    hold<<<1, 1>>>(flag);
    add<<<1, 1>>>(sum, 0);
    OK(cudaDeviceSynchronize());
    streams();
    default_stream_after();
    events();
    event_of_a_gone_stream();
    many();
    OK(cudaFree(sum));
    OK(cudaFreeHost((void *)flag));
    OK(cudaGetLastError());
    return check_done();
}
