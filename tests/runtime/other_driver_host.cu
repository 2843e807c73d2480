// For other_driver.sh: a host function of a stream may not allocate or free, whoever serves the
// pools.
#include <cuda_runtime.h>

#include <atomic>
#include <cstdio>
#include <unistd.h>

static void *before;
static int allocated, freed;
static std::atomic<bool> called;

static void CUDART_CB host(void *stream)
{
    void *p;
    allocated = cudaMallocAsync(&p, 1 << 20, (cudaStream_t)stream);
    freed = cudaFreeAsync(before, (cudaStream_t)stream);
    called = true;
}

int main()
{
    cudaStream_t s;
    cudaStreamCreate(&s);
    cudaMallocAsync(&before, 1 << 20, s);
    cudaLaunchHostFunc(s, host, s);
    for (int i = 0; i < 2000 && !called; i++) // who waits for the stream might call it himself
        usleep(5000);
    bool refused = allocated == cudaErrorNotPermitted && freed == cudaErrorNotPermitted;
    if (!refused)
        printf("called: %d; allocation %d, free %d\n", (int)called, allocated, freed);
    bool good = cudaFreeAsync(before, s) == cudaSuccess && cudaStreamSynchronize(s) == cudaSuccess;
    puts(refused && good ? "right" : "wrong");
}
