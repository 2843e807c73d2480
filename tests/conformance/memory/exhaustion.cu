/* M1: a device's memory ends: what is free is told, what does not fit is refused with the code for
 * it, nothing else is harmed, and what is freed can be had again. */
#include <cstdint>
#include <cuda.h>
#include <vector>

#include "check.h"

#define OK(call) CHECK_STR(cudaGetErrorName(call), "cudaSuccess")
#define FULL(call)                                                                                 \
    do {                                                                                           \
        CHECK_STR(cudaGetErrorName(call), "cudaErrorMemoryAllocation");                            \
        CHECK_STR(cudaGetErrorName(cudaGetLastError()), "cudaErrorMemoryAllocation");              \
    } while (0)

#define WRONG(call)                                                                                \
    do {                                                                                           \
        CHECK_STR(cudaGetErrorName(call), "cudaErrorInvalidValue");                                \
        CHECK_STR(cudaGetErrorName(cudaGetLastError()), "cudaErrorInvalidValue");                  \
    } while (0)

__global__ void fill(int *p, int n, int value)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        p[i] = value;
}

static size_t free_bytes()
{
    size_t free, total;
    OK(cudaMemGetInfo(&free, &total));
    return free;
}

/* Takes parts of the size until no more fits. */
static std::vector<void *> take_all(size_t part)
{
    std::vector<void *> all;
    void *p;
    while (cudaMalloc(&p, part) == cudaSuccess)
        all.push_back(p);
    CHECK_STR(cudaGetErrorName(cudaGetLastError()), "cudaErrorMemoryAllocation");
    return all;
}

/* A pointer to memory that there is not is NULL, whatever it was before: programs ask it instead of
 * the code. */
static void no_pointers(size_t part)
{
    const size_t huge = (size_t)1 << 45;
    int before;
    void *p = &before;
    FULL(cudaMalloc(&p, part));
    CHECK(p == nullptr);
    p = &before;
    FULL(cudaMalloc(&p, huge));
    CHECK(p == nullptr);
    p = &before;
    FULL(cudaMallocAsync(&p, part, 0));
    CHECK(p == nullptr);
    p = &before;
    FULL(cudaMallocManaged(&p, (size_t)1 << 62));
    CHECK(p == nullptr);

    size_t pitch = 1;
    p = &before;
    FULL(cudaMallocPitch(&p, &pitch, part / 4, 4));
    CHECK(p == nullptr);
    CHECK(pitch >= part / 4);
    cudaPitchedPtr box = {&before, 1, 2, 3};
    FULL(cudaMalloc3D(&box, make_cudaExtent(part / 16, 4, 4)));
    CHECK(box.ptr == nullptr);

    box.ptr = &before;
    FULL(cudaMalloc3D(&box, make_cudaExtent(1000, SIZE_MAX, 3)));
    CHECK(box.ptr == nullptr);
    p = &before;
    FULL(cudaMallocPitch(&p, &pitch, huge, 2));
    CHECK(p == nullptr);
    CHECK_EQ_INT(pitch >= huge, 1);
    p = &before;
    FULL(cudaMallocPitch(&p, &pitch, 1000, SIZE_MAX / 4));
    CHECK(p == nullptr);

    /* Nor is there a pointer where the arguments are wrong. */
    p = &before;
    WRONG(cudaMallocPitch(&p, &pitch, SIZE_MAX, 1));
    CHECK(p == nullptr);
    CHECK_EQ_INT(pitch, 0);
    p = &before;
    WRONG(cudaMallocManaged(&p, 16, 9));
    CHECK(p == nullptr);
    p = &before;
    WRONG(cudaMallocFromPoolAsync(&p, 16, nullptr, 0));
    CHECK(p == nullptr);
    cudaArray_t array = (cudaArray_t)&before;
    cudaChannelFormatDesc desc = cudaCreateChannelDesc<float4>();
    WRONG(cudaMallocArray(&array, &desc, 1 << 20, 1 << 20));
    CHECK(array == nullptr);

    CUdeviceptr d = 1;
    CHECK_EQ_INT(cuMemAlloc(&d, 0), CUDA_ERROR_INVALID_VALUE);
    CHECK(d == 0);
    d = 1;
    CHECK_EQ_INT(cuMemAlloc(&d, part), CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(d == 0);
    d = 1;
    CHECK_EQ_INT(cuMemAllocAsync(&d, part, 0), CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(d == 0);
    d = 1;
    CHECK_EQ_INT(cuMemAllocPitch(&d, &pitch, part / 4, 4, 4), CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(d == 0);
}

int main()
{
    size_t free, total, pitch;
    OK(cudaMemGetInfo(&free, &total));
    size_t part = total / 32;
    std::vector<void *> all = take_all(part);
    void *p;
    cudaArray_t array;
    cudaPitchedPtr box;
    cudaChannelFormatDesc desc = cudaCreateChannelDesc<float4>();

    CHECK(all.size() >= 1 && all.size() <= 32);
    CHECK(free_bytes() < 2 * part);
    FULL(cudaMalloc(&p, part));
    FULL(cudaMallocAsync(&p, part, 0));
    FULL(cudaMallocPitch(&p, &pitch, part / 4, 4));
    FULL(cudaMalloc3D(&box, make_cudaExtent(part / 16, 4, 4)));
    OK(cudaGetLastError());
    no_pointers(part);

    /* What there is goes on working, the rest of the system does, too. */
    int *first = (int *)all[0], value = 0, *host;
    fill<<<4, 256>>>(first, 1000, 42);
    OK(cudaMemcpy(&value, first + 999, sizeof value, cudaMemcpyDeviceToHost));
    CHECK_EQ_INT(value, 42);
    OK(cudaMallocHost(&host, 1 << 20));
    OK(cudaFreeHost(host));

    /* One part back, one to be had. */
    OK(cudaFree(all.back()));
    all.pop_back();
    OK(cudaMalloc(&p, part));
    void *none; /* a call that fails may write its pointer */
    FULL(cudaMalloc(&none, part * 2));
    for (void *q : all)
        OK(cudaFree(q));
    OK(cudaFree(p));
    OK(cudaDeviceSynchronize());
    CHECK(free_bytes() + part >= free); /* the first kernel may have taken some for good */

    /* Once more, by the pool: what it gives back can be allocated by other means. */
    OK(cudaMallocAsync(&p, free / 2, 0));
    FULL(cudaMalloc((void **)&first, free));
    OK(cudaFreeAsync(p, 0));
    OK(cudaStreamSynchronize(0));
    OK(cudaMalloc(&p, free / 4 * 3));
    OK(cudaFree(p));
    OK(cudaMallocArray(&array, &desc, 256, 256));
    OK(cudaFreeArray(array));
    return check_done();
}
