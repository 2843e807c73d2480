/* M1: a managed variable outlives a reset of the device: it keeps what the program has put there,
 * before and after the reset. */
#include <cuda_runtime.h>

#include "check.h"

#define OK(call) CHECK_EQ_INT(call, cudaSuccess)

__managed__ int counter = 5;
__device__ int step = 7;

__global__ void count(int *seen)
{
    *seen = counter;
    counter += step;
    step = 100;
}

static void counts(int from)
{
    int *seen, value = 0;
    OK(cudaMalloc(&seen, sizeof *seen));
    count<<<1, 1>>>(seen);
    OK(cudaGetLastError());
    OK(cudaMemcpy(&value, seen, sizeof value, cudaMemcpyDeviceToHost));
    OK(cudaDeviceSynchronize());
    CHECK_EQ_INT(value, from);
    CHECK_EQ_INT(counter, from + 7);
}

int main()
{
    counts(5);
    OK(cudaDeviceReset());
    CHECK_EQ_INT(counter, 12);
    counts(12);
    counter = 1;
    OK(cudaDeviceReset());
    counts(1);
    OK(cudaDeviceReset());
    counter = 2;
    counts(2);
    return check_done();
}
