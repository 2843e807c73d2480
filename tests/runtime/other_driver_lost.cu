// For other_driver.sh: a device that is lost after the first launch. Every call that needs it says so, with
// the driver's code, which is the argument; nothing waits for ever, and the process ends as it should.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

static __global__ void first() {}

static int wanted, failures;
static void expect(cudaError_t error, int code, const char *call)
{
    if (error == code)
        return;
    printf("%s: %s, not %d\n", call, cudaGetErrorName(error), code);
    failures++;
}
#define OK(call)   expect(call, 0, #call)
#define LOST(call) expect(call, wanted, #call)

int main(int argc, char **argv)
{
    wanted = argc > 1 ? atoi(argv[1]) : 0;
    cudaStream_t s, other;
    cudaEvent_t e;
    char *p, *pooled, *again, host[64];
    OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    OK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    for (int i = 0; i < 3; i++) { // from now on there is memory that is kept for the next call
        OK(cudaMalloc(&p, 1 << 20));
        OK(cudaFree(p));
        OK(cudaMallocAsync(&pooled, 1 << 20, s));
        OK(cudaFreeAsync(pooled, s));
    }
    OK(cudaMalloc(&p, 1 << 20));
    OK(cudaMallocAsync(&pooled, 1 << 20, s));
    first<<<1, 1, 0, s>>>();
    OK(cudaGetLastError());

    LOST(cudaMallocAsync(&again, 1 << 28, s)); // for which the pool would need new memory
    LOST(cudaStreamSynchronize(s));
    LOST(cudaGetLastError());
    LOST(cudaDeviceSynchronize());
    LOST(cudaStreamQuery(s));
    LOST(cudaEventRecord(e, s));
    LOST(cudaEventSynchronize(e));
    LOST(cudaStreamWaitEvent(s, e, 0));
    LOST(cudaFree(p));
    LOST(cudaMalloc(&again, 1 << 20));
    LOST(cudaMallocAsync(&again, 1 << 20, s));
    LOST(cudaFreeAsync(pooled, s));
    LOST(cudaMemcpy(host, p, sizeof host, cudaMemcpyDeviceToHost));
    LOST(cudaMemcpyAsync(p, host, sizeof host, cudaMemcpyHostToDevice, s));
    LOST(cudaMemset(p, 0, sizeof host));
    LOST(cudaStreamCreate(&other));
    first<<<1, 1, 0, s>>>();
    LOST(cudaGetLastError());
    LOST(cudaStreamDestroy(s));
    LOST(cudaEventDestroy(e));
    LOST(cudaDeviceReset());
    printf(failures == 0 ? "right\n" : "wrong\n");
    return failures != 0;
}
