// FLAGS: -rdc=true -lcudadevrt
/* D6, D9: limits of dynamic parallelism and what a child grid inherits; errors of launches. */
#include <string.h>

#include "check.h"

#define OK(call) CHECK_STR(cudaGetErrorName(call), "cudaSuccess")

__device__ int results[256];
__device__ unsigned long long total;
static int got[256];

static void finish()
{
    static const int zeros[256] = {};
    OK(cudaGetLastError());
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpyFromSymbol(got, results, sizeof results));
    OK(cudaMemcpyToSymbol(results, zeros, sizeof results));
}

/* ---- limits ---- */

__global__ void read_limits(int at)
{
    static const enum cudaLimit limits[] = {cudaLimitStackSize, cudaLimitPrintfFifoSize,
                                            cudaLimitMallocHeapSize,
                                            cudaLimitDevRuntimePendingLaunchCount};
    for (int k = 0; k < 4; k++) {
        size_t value = 0;
        results[at + 8 + k] = cudaDeviceGetLimit(&value, limits[k]);
        results[at + k] = (int)value;
    }
}
__global__ void read_limits_in_child() { read_limits<<<1, 1>>>(16); }

static void test_limits()
{
    size_t stack, fifo, heap, pending;
    OK(cudaDeviceGetLimit(&pending, cudaLimitDevRuntimePendingLaunchCount));
    CHECK_EQ_INT(pending, 2048);
    OK(cudaDeviceSetLimit(cudaLimitDevRuntimePendingLaunchCount, 32768));
    OK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 32 << 20));
    OK(cudaDeviceSetLimit(cudaLimitStackSize, 2048));
    OK(cudaDeviceGetLimit(&pending, cudaLimitDevRuntimePendingLaunchCount));
    OK(cudaDeviceGetLimit(&stack, cudaLimitStackSize));
    OK(cudaDeviceGetLimit(&fifo, cudaLimitPrintfFifoSize));
    OK(cudaDeviceGetLimit(&heap, cudaLimitMallocHeapSize));
    CHECK_EQ_INT(pending, 32768);
    CHECK(heap >= 32 << 20);
    CHECK(stack >= 2048);
    read_limits<<<1, 1>>>(0);
    finish();
    CHECK_EQ_INT(got[0], stack);
    CHECK_EQ_INT(got[1], fifo);
    CHECK_EQ_INT(got[2], heap);
    CHECK_EQ_INT(got[3], pending);
    for (int k = 8; k < 12; k++)
        CHECK_EQ_INT(got[k], cudaSuccess);
    read_limits_in_child<<<1, 1>>>();
    finish();
    CHECK_EQ_INT(got[16], stack);
    CHECK_EQ_INT(got[18], heap);
    CHECK_EQ_INT(got[19], pending);
}

/* ---- many children ---- */

__global__ void add(int n) { atomicAdd(&total, (unsigned long long)n); }
__global__ void launch_many(int each, bool fire_and_forget)
{
    for (int k = 0; k < each; k++) {
        if (fire_and_forget)
            add<<<1, 1, 0, cudaStreamFireAndForget>>>(k);
        else
            add<<<1, 1>>>(k);
        cudaError_t e = cudaGetLastError();
        if (e != cudaSuccess)
            results[0] = e;
    }
}

/* As many as the limit lets wait, launched by many threads: none is lost. */
static void test_many()
{
    for (int fire_and_forget = 0; fire_and_forget < 2; fire_and_forget++) {
        unsigned long long sum = 0;
        OK(cudaMemcpyToSymbol(total, &sum, sizeof sum));
        launch_many<<<2, 128>>>(100, fire_and_forget);
        finish();
        OK(cudaMemcpyFromSymbol(&sum, total, sizeof sum));
        CHECK_EQ_INT(got[0], cudaSuccess);
        CHECK_EQ_INT(sum, 256ull * 100 * 99 / 2);
    }
}

/* ---- errors ---- */

__global__ void empty() {}
__global__ void uses_shared()
{
    volatile __shared__ int values[1024];
    values[threadIdx.x] = 1;
    results[128 + threadIdx.x] = values[threadIdx.x];
}

/* What cannot be launched is reported at once, to the thread that launched it, and nothing happens.
 */
__global__ void wrong_launches()
{
    if (threadIdx.x != 3) {
        results[32 + threadIdx.x] = cudaGetLastError();
        return;
    }
    empty<<<1, 2048>>>();
    results[0] = cudaPeekAtLastError();
    results[1] = cudaGetLastError();
    results[2] = cudaGetLastError();
    empty<<<0, 32>>>();
    results[3] = cudaGetLastError();
    empty<<<1, 0>>>();
    results[4] = cudaGetLastError();
    empty<<<dim3(1, 70000), 32>>>();
    results[5] = cudaGetLastError();
    empty<<<1, dim3(1, 1, 65)>>>();
    results[6] = cudaGetLastError();
    empty<<<1, 32, 1 << 20>>>();
    results[7] = cudaGetLastError();
    uses_shared<<<1, 32, 48 * 1024>>>(); /* with its own 4 KB it is too much */
    results[8] = cudaGetLastError();
    empty<<<1, 1>>>();
    results[9] = cudaGetLastError();
    /* it stays until it is taken, over launches that succeed */
    empty<<<1, 2048>>>();
    empty<<<1, 1>>>();
    results[10] = cudaGetLastError();
}

static void test_errors()
{
    static const int expected[] = {
        cudaErrorInvalidConfiguration, cudaErrorInvalidConfiguration, cudaSuccess,
        cudaErrorInvalidConfiguration, cudaErrorInvalidConfiguration, cudaErrorInvalidConfiguration,
        cudaErrorInvalidConfiguration, cudaErrorInvalidConfiguration};
    wrong_launches<<<1, 32>>>();
    finish();
    for (int k = 0; k < 8; k++)
        CHECK_EQ_INT(got[k], expected[k]);
    CHECK(got[8] != cudaSuccess);
    CHECK_EQ_INT(got[9], cudaSuccess);
    CHECK_EQ_INT(got[10], cudaErrorInvalidConfiguration);
    for (int k = 0; k < 32; k++)
        CHECK_EQ_INT(got[32 + k], cudaSuccess);
}

/* ---- faults ---- */

__global__ void wild(int *p) { *p = 1; }
__global__ void launches_wild() { wild<<<1, 1>>>((int *)16); }

/* A child's fault is the program's. Last: the context is lost. */
static void test_fault()
{
    launches_wild<<<1, 1>>>();
    OK(cudaGetLastError());
    CHECK_STR(cudaGetErrorName(cudaDeviceSynchronize()), "cudaErrorIllegalAddress");
    CHECK_STR(cudaGetErrorName(cudaGetLastError()), "cudaErrorIllegalAddress");
}

int main()
{
    test_limits(); /* before other kernels: limits are set for the program */
    test_many();
    test_errors();
    test_fault();
    return check_done();
}
