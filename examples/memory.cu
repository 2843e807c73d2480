// The three kinds of memory a program meets: pageable (new, malloc), page-locked (cudaMallocHost)
// and device memory (cudaMalloc). Each is filled, sent to the device, worked on there and brought
// back, and every call goes through the checked macro. At the end a call is made to fail on
// purpose, to show what the macro would have printed.
#include <vector>

#include "check.h"

enum { N = 1 << 20 };

__global__ void scale(float *values, int n, float factor)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        values[i] *= factor;
}

// What CUDA says of a pointer.
static const char *kind_of(const void *pointer)
{
    cudaPointerAttributes attributes;
    CHECK(cudaPointerGetAttributes(&attributes, pointer));
    switch (attributes.type) {
    case cudaMemoryTypeUnregistered: return "pageable memory";
    case cudaMemoryTypeHost: return "page-locked memory";
    case cudaMemoryTypeDevice: return "device memory";
    case cudaMemoryTypeManaged: return "managed memory";
    }
    return "memory";
}

// Sends host memory through the device in a stream; false if what comes back is wrong.
static bool send(float *host, float *device, cudaStream_t stream)
{
    cudaEvent_t begin, end;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    for (int i = 0; i < N; i++)
        host[i] = (float)i;

    CHECK(cudaEventRecord(begin, stream));
    // Page-locked memory is copied while the program goes on; pageable memory is copied aside
    // first.
    CHECK(cudaMemcpyAsync(device, host, N * sizeof(float), cudaMemcpyHostToDevice, stream));
    scale<<<N / 256, 256, 0, stream>>>(device, N, 2.0f);
    CHECK_LAUNCH();
    CHECK(cudaMemcpyAsync(host, device, N * sizeof(float), cudaMemcpyDeviceToHost, stream));
    CHECK(cudaEventRecord(end, stream));
    CHECK(cudaStreamSynchronize(stream));

    float ms;
    bool good = true;
    for (int i = 0; i < N; i++)
        good = good && host[i] == 2.0f * (float)i;
    CHECK(cudaEventElapsedTime(&ms, begin, end));
    printf("  %-18s -> %s and back: %6.2f ms, %s\n", kind_of(host), kind_of(device), ms,
           good ? "as expected" : "WRONG");
    CHECK(cudaEventDestroy(begin));
    CHECK(cudaEventDestroy(end));
    return good;
}

int main()
{
    std::vector<float> pageable(N);
    float *page_locked, *device;
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMallocHost(&page_locked, N * sizeof(float)));
    CHECK(cudaMalloc(&device, N * sizeof(float)));
    CHECK(cudaMemset(device, 0, N * sizeof(float)));

    bool good = send(pageable.data(), device, stream); // the first one also compiles the kernel
    good = send(pageable.data(), device, stream) && good;
    good = send(page_locked, device, stream) && good;

    // Not through CHECK, which would end the program here.
    cudaError_t error = cudaMemcpy(device, pageable.data(), 4, (cudaMemcpyKind)99);
    printf("  a copy in no known direction: %s (%s), code %d\n", cudaGetErrorName(error),
           cudaGetErrorString(error), (int)error);
    good = good && error == cudaErrorInvalidMemcpyDirection && cudaGetLastError() == error;

    CHECK(cudaFree(device));
    CHECK(cudaFreeHost(page_locked));
    CHECK(cudaStreamDestroy(stream));
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
