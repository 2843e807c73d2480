// A buffer on host and device that is copied only when it must be: the same steps as in memory.cu
// without a single cudaMalloc or cudaMemcpy. Link with -lsyncedmem.
#include "check.h"
#include "syncedmem.hpp"

enum { N = 1 << 20 };

__global__ void scale(float *values, int n, float factor)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        values[i] *= factor;
}

static void say(const char *step, const SyncedMemory &buffer)
{
    static const char *const heads[] = {"UNINITIALIZED", "HEAD_AT_CPU", "HEAD_AT_GPU", "SYNCED"};
    printf("  %-34s %s\n", step, heads[buffer.head()]);
}

int main()
{
    SyncedMemory buffer(N * sizeof(float));
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    say("made: nothing is allocated", buffer);

    float *host = static_cast<float *>(buffer.mutable_cpu_data());
    for (int i = 0; i < N; i++)
        host[i] = (float)i;
    say("written on the host", buffer);

    buffer.async_gpu_push(stream);
    say("pushed: on its way to the device", buffer);

    scale<<<N / 256, 256, 0, stream>>>(static_cast<float *>(buffer.mutable_gpu_data()), N, 2.0f);
    CHECK_LAUNCH();
    say("written on the device", buffer);

    int wrong = 0;
    const float *seen = static_cast<const float *>(buffer.cpu_data()); // waits: a blocking stream
    for (int i = 0; i < N; i++)
        wrong += seen[i] != 2.0f * (float)i;
    say("read on the host: copied back", buffer);
    printf("  %d values, %d wrong\n", N, wrong);
    CHECK(cudaStreamDestroy(stream));
    return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
