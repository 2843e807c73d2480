// Two streams, an event and three kernels: the first two run at the same time, each in a stream of
// its own, and the third starts in the second stream when the event recorded after the first one
// has come.
//
//   stream A   fill(a) ── event
//                              \
//   stream B   fill(b) ────────── add(a, b)
#include "check.h"

enum { N = 1 << 20 };

__global__ void fill(int *values, int n, int factor)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        values[i] = i % 1000 * factor;
}

__global__ void add(const int *a, const int *b, int *sum, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        sum[i] = a[i] + b[i];
}

int main()
{
    cudaStream_t first, second;
    cudaEvent_t filled;
    int *a, *b, *sum, *result;
    CHECK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&filled, cudaEventDisableTiming));
    CHECK(cudaMalloc(&a, N * sizeof(int)));
    CHECK(cudaMalloc(&b, N * sizeof(int)));
    CHECK(cudaMalloc(&sum, N * sizeof(int)));
    CHECK(cudaMallocHost(&result, N * sizeof(int)));

    fill<<<N / 256, 256, 0, first>>>(a, N, 2);
    CHECK_LAUNCH();
    CHECK(cudaEventRecord(filled, first));
    fill<<<N / 256, 256, 0, second>>>(b, N, 3);
    CHECK_LAUNCH();
    CHECK(cudaStreamWaitEvent(second, filled, 0)); // stream B waits, the program does not
    add<<<N / 256, 256, 0, second>>>(a, b, sum, N);
    CHECK_LAUNCH();
    CHECK(cudaMemcpyAsync(result, sum, N * sizeof(int), cudaMemcpyDeviceToHost, second));
    CHECK(cudaStreamSynchronize(second));

    int wrong = 0;
    for (int i = 0; i < N; i++)
        wrong += result[i] != i % 1000 * 5;
    printf("  %d sums, %d wrong\n", N, wrong);

    CHECK(cudaFree(a));
    CHECK(cudaFree(b));
    CHECK(cudaFree(sum));
    CHECK(cudaFreeHost(result));
    CHECK(cudaEventDestroy(filled));
    CHECK(cudaStreamDestroy(first));
    CHECK(cudaStreamDestroy(second));
    return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
