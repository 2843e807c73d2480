/* Failing calls that nobody looked at, and calls that a GPU may refuse. */
// CHECK: calls
#include "checks.h"

#include <cstdlib>

__global__ void fill(int *p) { p[threadIdx.x] = 1; }

CASE(looked_at)
{
    void *p;
    if (cudaMalloc(&p, ~size_t(0) / 2) != cudaSuccess)
        printf("no memory\n");
    cudaError_t code = cudaMemcpy(nullptr, nullptr, 10, cudaMemcpyDefault);
    printf("%s\n", cudaGetErrorString(code));
    fill<<<1, 2048>>>(nullptr);
    printf("%d\n", cudaGetLastError());
    cudaFree((void *)1);
    printf("%d\n", cudaPeekAtLastError());
}

static cudaError_t wrapped(void **p) { return cudaMalloc(p, ~size_t(0) / 2); }

CASE(looked_at_by_the_caller)
{
    void *p;
    if (wrapped(&p) != cudaSuccess)
        printf("no memory\n");
}

CASE(ready)
{
    cudaStream_t stream;
    DO(cudaStreamCreate(&stream));
    cudaStreamQuery(stream);
    DO(cudaStreamDestroy(stream));
}

CASE(unseen)
{
    void *p;
    int value = 1;
    cudaMalloc(&p, ~size_t(0) / 2);                      // EXPECT unchecked error: cudaMalloc at \S*LINE failed with 2 \(cudaErrorMemoryAllocation: out of memory\), and nothing looked at the error
    cudaMemcpy(nullptr, &value, 4, cudaMemcpyHostToDevice); // EXPECT unchecked error: cudaMemcpy at \S*LINE failed with 1 \(cudaErrorInvalidValue: invalid argument\)
}

CASE(unseen_by_the_caller)
{
    void *p;
    wrapped(&p);
    printf("%p\n", (void *)&p); // EXPECT unchecked error: cudaMalloc at \S*calls.cu:\d+ failed with 2
}

CASE(launch_that_never_ran)
{
    int *p;
    DO(cudaMalloc(&p, 4096 * sizeof *p));
    fill<<<1, 4096>>>(p); // EXPECT unchecked error: kernel fill\(int\*\) never ran: its launch at \S*LINE failed with \d+ \(cudaErrorInvalid
    DO(cudaDeviceSynchronize());
    DO(cudaFree(p));
}

CASE(many_times)
{
    for (int i = 0; i < 20; i++)
        cudaFree((void *)16); // EXPECT unchecked error: cudaFree at \S*LINE failed with 1 \(cudaErrorInvalidValue: invalid argument\), 20 times
}

CASE(last_error_tells_of_the_last)
{
    cudaFree((void *)16); // EXPECT unchecked error: cudaFree at \S*LINE failed with 1
    cudaSetDevice(1000);
    printf("%d\n", cudaGetLastError());
}

CASE(fault_that_was_looked_at)
{
    fill<<<1, 32>>>((int *)16);
    if (cudaDeviceSynchronize() != cudaSuccess) // EXPECT fill
        printf("a fault\n");
    cudaDeviceSynchronize(); // the same again
    if (cudaGetLastError() != cudaSuccess)
        printf("a fault\n");
}

CASE(fault_again_after_it_was_looked_at)
{
    int *p;
    DO(cudaMalloc(&p, 64));
    fill<<<1, 32>>>((int *)16);
    if (cudaDeviceSynchronize() != cudaSuccess) // EXPECT illegal address in kernel fill
        printf("a fault\n");
    cudaFree(p); // refused, with the same error
}

/* A copy to what was freed is refused, and the error alone is told. */
CASE(copy_to_freed_memory)
{
    int *p, *large, h[16] = {0};
    DO(cudaMalloc(&p, 64));
    DO(cudaMalloc(&large, 8 << 20));
    DO(cudaFree(p));
    DO(cudaFree(large));
    cudaMemcpy(p, h, 64, cudaMemcpyHostToDevice); // EXPECT unchecked error: cudaMemcpy at \S*LINE failed with 1 .cudaErrorInvalidValue
    cudaMemcpy(large, h, 64, cudaMemcpyHostToDevice); // EXPECT unchecked error: cudaMemcpy at \S*LINE failed with 1 .cudaErrorInvalidValue
}

CASE(wrong_direction)
{
    int *p, *h = (int *)malloc(64);
    DO(cudaMalloc(&p, 64));
    DO(cudaMemcpy(h, p, 64, cudaMemcpyHostToDevice)); // EXPECT not portable: at \S*LINE \(cudaMemcpy\): a copy says that (one side is device memory|its source is host)
    DO(cudaMemcpy(p, h, 64, cudaMemcpyHostToDevice));
    DO(cudaMemcpy(h, p, 64, cudaMemcpyDeviceToHost));
    DO(cudaMemcpy(h, p, 64, cudaMemcpyDefault));
    DO(cudaFree(p));
    free(h);
}
