/* S3.1: waiting for an event is an action of the legacy stream even when the event is complete: it
 * comes after the blocking streams and before what they do next. */
#include <unistd.h>

#include "check.h"

#define OK(call) CHECK_STR(cudaGetErrorName(call), "cudaSuccess")

__global__ void wait_for(volatile int *flag)
{
    while (*flag == 0)
        ;
}

__global__ void store(volatile int *p) { *p = 1; }

int main()
{
    cudaStream_t a, b, other;
    cudaEvent_t complete;
    volatile int *flag, *reached;

    OK(cudaStreamCreate(&a));
    OK(cudaStreamCreate(&b));
    OK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    OK(cudaEventCreateWithFlags(&complete, cudaEventDisableTiming));
    OK(cudaMallocHost((void **)&flag, sizeof *flag));
    OK(cudaMallocHost((void **)&reached, sizeof *reached));
    store<<<1, 1, 0, other>>>(reached);
    OK(cudaEventRecord(complete, other));
    OK(cudaEventSynchronize(complete));

    *flag = *reached = 0;
    wait_for<<<1, 1, 0, a>>>(flag);
    OK(cudaStreamWaitEvent(nullptr, complete, 0));
    store<<<1, 1, 0, b>>>(reached);
    usleep(50000);
    CHECK_EQ_INT(*reached, 0);
    CHECK_EQ_INT(cudaStreamQuery(b), cudaErrorNotReady);
    *flag = 1;
    OK(cudaDeviceSynchronize());
    CHECK_EQ_INT(*reached, 1);
    return check_done();
}
