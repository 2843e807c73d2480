/* M1.1, M2.1: every kind of memory: that it is what it says, and that kernels and the host reach
 * it. */
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "check.h"
#include "on_weir.h"
#include <cuda.h>

#define OK(call) CHECK_STR(cudaGetErrorName(call), "cudaSuccess")

__global__ void add(int *p, int n, int value)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        p[i] += value;
}
__managed__ int managed_variable = 7;
__managed__ int managed_array[100];
__global__ void bump_managed()
{
    managed_variable++;
    managed_array[threadIdx.x] = threadIdx.x;
}

enum { N = 1000 };

static cudaPointerAttributes attributes_of(const void *p)
{
    cudaPointerAttributes a;

    OK(cudaPointerGetAttributes(&a, p));
    return a;
}

static void device_memory()
{
    size_t free_before, free_after, total;
    std::vector<int> host(N, 5);
    char *big;
    int *p;

    OK(cudaMemGetInfo(&free_before, &total));
    CHECK(free_before > 0 && free_before <= total);
    OK(cudaMalloc(&big, 64 << 20));
    OK(cudaMemGetInfo(&free_after, &total));
    CHECK(free_before - free_after >= 64 << 20);
    OK(cudaFree(big));
    OK(cudaMalloc(&p, N * sizeof *p));
    CHECK_EQ_INT((uintptr_t)p % 256, 0);
    cudaPointerAttributes a = attributes_of(p + 10);
    CHECK_EQ_INT(a.type, cudaMemoryTypeDevice);
    CHECK_EQ_INT(a.device, 0);
    CHECK(a.devicePointer == p + 10 && a.hostPointer == nullptr);
    bool decompressed = false; // asked of memory, not of the device
    CHECK_EQ_INT(cuPointerGetAttribute(&decompressed, CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE,
                                       (CUdeviceptr)p),
                 CUDA_SUCCESS);
    CHECK(decompressed);
    OK(cudaMemcpy(p, host.data(), N * sizeof *p, cudaMemcpyHostToDevice));
    add<<<(N + 255) / 256, 256>>>(p, N, 3);
    OK(cudaMemcpy(host.data(), p, N * sizeof *p, cudaMemcpyDeviceToHost));
    for (int i = 0; i < N; i++)
        CHECK_EQ_INT(host[i], 8);
    OK(cudaFree(p));
}

static void pinned_memory(unsigned flags)
{
    unsigned seen;
    int *p, *mapped;

    OK(cudaHostAlloc(&p, N * sizeof *p, flags));
    OK(cudaHostGetFlags(&seen, p));
    CHECK_EQ_INT(seen & flags, flags);
    cudaPointerAttributes a = attributes_of(p + 1);
    CHECK_EQ_INT(a.type, cudaMemoryTypeHost);
    CHECK(a.hostPointer == p + 1);
    OK(cudaHostGetDevicePointer(&mapped, p, 0));
    for (int i = 0; i < N; i++)
        p[i] = i;
    add<<<(N + 255) / 256, 256>>>(mapped, N, 1);
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < N; i++)
        CHECK_EQ_INT(p[i], i + 1);
    OK(cudaFreeHost(p));
}

static void registered_memory()
{
    size_t bytes = 1 << 16;
    int *p = (int *)aligned_alloc(4096, bytes), *mapped;

    memset(p, 0, bytes);
    OK(cudaHostRegister(p, bytes, cudaHostRegisterMapped));
    CHECK_EQ_INT(cudaHostRegister(p, bytes, 0), cudaErrorHostMemoryAlreadyRegistered);
    CHECK_EQ_INT(attributes_of(p).type, cudaMemoryTypeHost);
    OK(cudaHostGetDevicePointer(&mapped, p, 0));
    add<<<4, 256>>>(mapped, N, 9);
    OK(cudaDeviceSynchronize());
    CHECK_EQ_INT(p[N - 1], 9);
    CHECK_EQ_INT(p[N], 0);
    OK(cudaHostUnregister(p));
    CHECK_EQ_INT(attributes_of(p).type, cudaMemoryTypeUnregistered);
    cudaGetLastError();
    free(p);
}

static void managed_memory()
{
    int *p;

    OK(cudaMallocManaged(&p, N * sizeof *p));
    cudaPointerAttributes a = attributes_of(p);
    CHECK_EQ_INT(a.type, cudaMemoryTypeManaged);
    CHECK(a.devicePointer == p && a.hostPointer == p);
    for (int i = 0; i < N; i++)
        p[i] = i;
    add<<<4, 256>>>(p, N, 1);
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < N; i++)
        CHECK_EQ_INT(p[i], i + 1);
    OK(cudaFree(p));
    /* Variables: the host reads the initial value before anything ran, both write. */
    CHECK_EQ_INT(managed_variable, 7);
    managed_variable = 20;
    bump_managed<<<1, 100>>>();
    OK(cudaDeviceSynchronize());
    CHECK(managed_variable > 20);
    for (int i = 0; i < 100; i++)
        CHECK_EQ_INT(managed_array[i], i);
    CHECK_EQ_INT(attributes_of(&managed_variable).type, cudaMemoryTypeManaged);
}

static void unknown_memory()
{
    int local = 0;
    cudaPointerAttributes a = attributes_of(&local);

    CHECK_EQ_INT(a.type, cudaMemoryTypeUnregistered);
    CHECK_EQ_INT(a.device, cudaInvalidDeviceId);
}

/* Adds to each of width x height x depth bytes, in rows of `pitch`. */
__global__ void add_pitched(char *p, size_t pitch, int width, int height, int value)
{
    int x = threadIdx.x, y = blockIdx.x, z = blockIdx.y;

    if (x < width && y < height)
        p[((size_t)z * height + y) * pitch + x] += value;
}

/* Memory of malloc's, where the device says that it has access to it. */
static void pageable_memory()
{
    int access = -1;
    std::vector<int> values(N, 4);

    OK(cudaDeviceGetAttribute(&access, cudaDevAttrPageableMemoryAccess, 0));
    if (on_weir()) {
        const char *checked = getenv("WEIR_CHECK");
        CHECK_EQ_INT(access, checked == nullptr || strcmp(checked, "memory") != 0);
    }
    /* It is nobody's, and the address is the device's where that may use it. */
    cudaPointerAttributes a = attributes_of(values.data());
    CHECK_EQ_INT(a.type, cudaMemoryTypeUnregistered);
    CHECK(a.hostPointer == values.data());
    if (on_weir()) // of a GPU, its driver's version decides
        CHECK(a.devicePointer == (access ? values.data() : nullptr));
    CHECK(attributes_of(nullptr).devicePointer == nullptr);
    if (!access)
        return;
    add<<<4, 256>>>(values.data(), N, 5);
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < N; i++)
        CHECK_EQ_INT(values[i], 9);
}

/* An array keeps its elements for copies in both directions, and tells what it is. */
static void array_memory()
{
    cudaChannelFormatDesc format = cudaCreateChannelDesc<int>(), seen;
    std::vector<int> in(30 * 20), out(30 * 20);
    cudaExtent extent;
    cudaArray_t array;
    unsigned flags;

    OK(cudaMallocArray(&array, &format, 30, 20));
    OK(cudaArrayGetInfo(&seen, &extent, &flags, array));
    CHECK_EQ_INT(seen.x, 32);
    CHECK_EQ_INT(extent.width, 30);
    CHECK_EQ_INT(extent.height, 20);
    for (size_t i = 0; i < in.size(); i++)
        in[i] = (int)i * 7;
    OK(cudaMemcpy2DToArray(array, 0, 0, in.data(), 120, 120, 20, cudaMemcpyHostToDevice));
    OK(cudaMemcpy2DFromArray(out.data(), 120, array, 0, 0, 120, 20, cudaMemcpyDeviceToHost));
    CHECK(in == out);
    OK(cudaFreeArray(array));
}

static void pitched_memory()
{
    cudaPitchedPtr box;
    size_t pitch;
    char *p;
    std::vector<char> host(100 * 10 * 5);

    OK(cudaMallocPitch(&p, &pitch, 100, 10));
    CHECK(pitch >= 100 && pitch % 32 == 0);
    OK(cudaMemset2D(p, pitch, 1, 100, 10));
    add_pitched<<<10, 128>>>(p, pitch, 100, 10, 4);
    OK(cudaMemcpy2D(host.data(), 100, p, pitch, 100, 10, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 1000; i++)
        CHECK_EQ_INT(host[i], 5);
    OK(cudaFree(p));
    OK(cudaMalloc3D(&box, make_cudaExtent(100, 10, 5)));
    CHECK(box.pitch >= 100);
    CHECK_EQ_INT(box.xsize, 100);
    CHECK_EQ_INT(box.ysize, 10);
    OK(cudaMemset3D(box, 1, make_cudaExtent(100, 10, 5)));
    add_pitched<<<dim3(10, 5), 128>>>((char *)box.ptr, box.pitch, 100, 10, 6);
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = box;
    copy.dstPtr = make_cudaPitchedPtr(host.data(), 100, 100, 10);
    copy.extent = make_cudaExtent(100, 10, 5);
    copy.kind = cudaMemcpyDeviceToHost;
    OK(cudaMemcpy3D(&copy));
    for (char value : host)
        CHECK_EQ_INT(value, 7);
    OK(cudaFree(box.ptr));
}

int main()
{
    managed_memory();
    device_memory();
    pinned_memory(cudaHostAllocDefault);
    pinned_memory(cudaHostAllocPortable | cudaHostAllocMapped);
    pinned_memory(cudaHostAllocMapped | cudaHostAllocWriteCombined);
    registered_memory();
    unknown_memory();
    pageable_memory();
    pitched_memory();
    array_memory();
    OK(cudaDeviceSynchronize());
    return check_done();
}
