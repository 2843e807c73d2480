// RUN two-devices: WEIR_DEVICES=2
// A9: addresses without memory, and memory without addresses (cuMemAddressReserve, cuMemCreate,
// cuMemMap …), and memory given to another process as a file descriptor. The program starts itself
// anew as the other process, and for kernels that touch what they must not.
#include <cuda.h>
#include <cuda_runtime.h>

#include "check.h"
#include "processes.h"

#define OK(call) CHECK_EQ_INT(call, CUDA_SUCCESS)

static size_t granule;
static CUmemAccessDesc access_of(int device, int flags)
{
    CUmemAccessDesc a = {};
    a.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    a.location.id = device;
    a.flags = (CUmemAccess_flags)flags;
    return a;
}

static CUmemAllocationProp prop_of(int device, bool shared)
{
    CUmemAllocationProp p = {};
    p.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    p.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    p.location.id = device;
    p.requestedHandleTypes =
        shared ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR : CU_MEM_HANDLE_TYPE_NONE;
    return p;
}

static CUmemGenericAllocationHandle create(size_t size, bool shared)
{
    CUmemGenericAllocationHandle h = 0;
    CUmemAllocationProp p = prop_of(0, shared);
    OK(cuMemCreate(&h, size, &p, 0));
    return h;
}

__global__ void fill(int *p, size_t n, int first)
{
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        p[i] = first + (int)i;
}

static int at(CUdeviceptr p, size_t i)
{
    int v = -1;
    OK(cuMemcpyDtoH(&v, p + i * sizeof v, sizeof v));
    return v;
}

static void begin()
{
    OK(cuInit(0));
    CHECK_EQ_INT(cudaFree(0), cudaSuccess);
    CUmemAllocationProp p = prop_of(0, false);
    OK(cuMemGetAllocationGranularity(&granule, &p, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
}

// A range that grows: pieces of memory one after the other at addresses that follow each other.
static void grows()
{
    const int pieces = 5;
    CUdeviceptr base;
    CUmemGenericAllocationHandle h[pieces], again;
    CUmemAccessDesc both = access_of(0, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    size_t n = granule / sizeof(int);
    OK(cuMemAddressReserve(&base, pieces * granule, 0, 0, 0));
    CHECK_EQ_INT(base % granule, 0);
    for (int i = 0; i < pieces; i++) {
        h[i] = create(granule, false);
        OK(cuMemMap(base + i * granule, granule, 0, h[i], 0));
        OK(cuMemSetAccess(base + i * granule, granule, &both, 1));
        fill<<<4, 64>>>((int *)base, (i + 1) * n, i);
        CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
        CHECK_EQ_INT(at(base, 0), i);
        CHECK_EQ_INT(at(base, (i + 1) * n - 1), i + (int)((i + 1) * n - 1));
    }
    // A copy over all of them.
    OK(cuMemcpyDtoD(base, base + 3 * granule, 2 * granule));
    CHECK_EQ_INT(at(base, 2 * n - 1), pieces - 1 + (int)(5 * n - 1));
    OK(cuMemsetD32(base, 5, 5 * n));
    CHECK_EQ_INT(at(base, 5 * n - 1), 5);
    unsigned long long flags = 0;
    OK(cuMemGetAccess(&flags, &both.location, base + granule));
    CHECK_EQ_INT(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    OK(cuMemRetainAllocationHandle(&again, (void *)(base + 2 * granule)));
    CHECK(again == h[2]);
    OK(cuMemRelease(again));
    // Handles may go before mappings.
    for (int i = 0; i < pieces; i++)
        OK(cuMemRelease(h[i]));
    CHECK_EQ_INT(at(base, 7), 5);
    OK(cuMemUnmap(base, 2 * granule));
    OK(cuMemUnmap(base + 2 * granule, 3 * granule));
    OK(cuMemAddressFree(base, pieces * granule));
}

// One piece of memory at two addresses.
static void aliases()
{
    CUdeviceptr a, b;
    CUmemAccessDesc both = access_of(0, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    CUmemGenericAllocationHandle h = create(granule, false);
    OK(cuMemAddressReserve(&a, granule, 0, 0, 0));
    OK(cuMemAddressReserve(&b, granule, 0, 0, 0));
    OK(cuMemMap(a, granule, 0, h, 0));
    OK(cuMemMap(b, granule, 0, h, 0));
    OK(cuMemSetAccess(a, granule, &both, 1));
    OK(cuMemSetAccess(b, granule, &both, 1));
    fill<<<1, 64>>>((int *)a, 1000, 3);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    CHECK_EQ_INT(at(b, 999), 1002);
    OK(cuMemUnmap(a, granule));
    CHECK_EQ_INT(at(b, 999), 1002);
    OK(cuMemUnmap(b, granule));
    OK(cuMemAddressFree(a, granule));
    OK(cuMemAddressFree(b, granule));
    OK(cuMemRelease(h));
}

static void refusals()
{
    CUdeviceptr p;
    CUmemGenericAllocationHandle h;
    CUmemAllocationProp prop = prop_of(0, false);
    size_t g;
    CHECK_EQ_INT(cuMemGetAllocationGranularity(nullptr, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
                 CUDA_ERROR_INVALID_VALUE);
    CHECK_EQ_INT(cuMemGetAllocationGranularity(&g, nullptr, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
                 CUDA_ERROR_INVALID_VALUE);
    CHECK_EQ_INT(cuMemCreate(&h, granule + 1, &prop, 0), CUDA_ERROR_INVALID_VALUE);
    CHECK_EQ_INT(cuMemCreate(&h, 0, &prop, 0), CUDA_ERROR_INVALID_VALUE);
    CHECK_EQ_INT(cuMemCreate(&h, granule, &prop, 1), CUDA_ERROR_INVALID_VALUE);
    prop.type = CU_MEM_ALLOCATION_TYPE_INVALID;
    CHECK_EQ_INT(cuMemCreate(&h, granule, &prop, 0), CUDA_ERROR_INVALID_VALUE);
    CHECK_EQ_INT(cuMemAddressReserve(&p, 0, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
    CHECK_EQ_INT(cuMemAddressReserve(&p, granule, 3, 0, 0), CUDA_ERROR_INVALID_VALUE);

    OK(cuMemAddressReserve(&p, 4 * granule, 0, 0, 0));
    h = create(granule, false);
    CHECK_EQ_INT(cuMemMap(p, granule, 0, h, 1), CUDA_ERROR_INVALID_VALUE);
    CHECK_EQ_INT(cuMemMap(p, granule / 2, 0, h, 0), CUDA_ERROR_NOT_SUPPORTED); // not all of it
    CHECK_EQ_INT(cuMemMap(p, 2 * granule, 0, h, 0), CUDA_ERROR_NOT_SUPPORTED);
    CHECK_EQ_INT(cuMemMap(p + 4096, granule, 0, h, 0), CUDA_ERROR_INVALID_VALUE);
    CUmemAccessDesc both = access_of(0, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    CHECK_EQ_INT(cuMemSetAccess(p, granule, &both, 1), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemMap(p, granule, 0, h, 0));
    CHECK(cuMemMap(p, granule, 0, h, 0) != CUDA_SUCCESS); // taken
    CHECK_EQ_INT(cuMemSetAccess(p, granule, nullptr, 1), CUDA_ERROR_INVALID_VALUE);
    CHECK_EQ_INT(cuMemSetAccess(p, granule, &both, 0), CUDA_ERROR_INVALID_VALUE);
    int fd;
    CHECK(cuMemExportToShareableHandle(&fd, h, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0) !=
          CUDA_SUCCESS); // it was not asked for
    // Copies know the rights.
    int v = 0;
    CHECK_EQ_INT(cuMemcpyHtoD(p, &v, sizeof v), CUDA_ERROR_INVALID_VALUE);
    CHECK_EQ_INT(cuMemsetD8(p, 0, 4), CUDA_ERROR_INVALID_VALUE);
    CUmemAccessDesc reading = access_of(0, CU_MEM_ACCESS_FLAGS_PROT_READ);
    OK(cuMemSetAccess(p, granule, &reading, 1));
    OK(cuMemcpyDtoH(&v, p, sizeof v));
    CHECK_EQ_INT(cuMemcpyHtoD(p, &v, sizeof v), CUDA_ERROR_INVALID_VALUE);
    CHECK_EQ_INT(cuMemFree(p), CUDA_ERROR_INVALID_VALUE);
    CHECK_EQ_INT(cuMemAddressFree(p, 4 * granule), CUDA_ERROR_INVALID_VALUE); // something is mapped
    CHECK_EQ_INT(cuMemUnmap(p + 4096, granule), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemUnmap(p, granule));
    OK(cuMemUnmap(p, granule)); // nothing is there, which is no error
    CHECK_EQ_INT(cuMemAddressFree(p, granule), CUDA_ERROR_INVALID_VALUE); // not all of it
    OK(cuMemAddressFree(p, 4 * granule));
    OK(cuMemRelease(h));
}

struct shared {
    int turn, fd;
};

static int other(int number)
{
    struct shared *s = (struct shared *)shared_open(sizeof *s, number);
    begin();
    CUmemGenericAllocationHandle h;
    CUdeviceptr p;
    CUmemAccessDesc both = access_of(0, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    OK(cuMemImportFromShareableHandle(&h, (void *)(size_t)s->fd,
                                      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    close(s->fd);
    OK(cuMemAddressReserve(&p, 2 * granule, 0, 0, 0));
    OK(cuMemMap(p, 2 * granule, 0, h, 0));
    OK(cuMemRelease(h));
    OK(cuMemSetAccess(p, 2 * granule, &both, 1));
    CHECK_EQ_INT(at(p, granule / sizeof(int) + 5), 11 + (int)(granule / sizeof(int)) + 5);
    fill<<<4, 64>>>((int *)p, 1000, 500);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    OK(cuMemUnmap(p, 2 * granule));
    OK(cuMemAddressFree(p, 2 * granule));
    return check_done();
}

static void shares()
{
    int number, fd = -1;
    struct shared *s = (struct shared *)shared_new(sizeof *s, &number);
    CUdeviceptr p;
    CUmemAccessDesc both = access_of(0, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    CUmemGenericAllocationHandle h = create(2 * granule, true);
    OK(cuMemAddressReserve(&p, 2 * granule, 0, 0, 0));
    OK(cuMemMap(p, 2 * granule, 0, h, 0));
    OK(cuMemSetAccess(p, 2 * granule, &both, 1));
    fill<<<4, 64>>>((int *)p, 2 * granule / sizeof(int), 11);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    OK(cuMemExportToShareableHandle(&fd, h, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    s->fd = dup(fd); // one that the other process inherits
    close(fd);
    CHECK_EQ_INT(end_of(start_process("/proc/self/exe", "other", number)), 0);
    close(s->fd);
    CHECK_EQ_INT(at(p, 999), 1499);
    OK(cuMemUnmap(p, 2 * granule));
    OK(cuMemAddressFree(p, 2 * granule));
    OK(cuMemRelease(h));
}

// A kernel touches memory without access: 0 nothing is mapped, 1 no access was given, 2 only to read,
// 3 it was taken away, 4 it was unmapped.
static int touch(int how)
{
    begin();
    CUdeviceptr p;
    OK(cuMemAddressReserve(&p, granule, 0, 0, 0));
    CUmemAccessDesc reading = access_of(0, CU_MEM_ACCESS_FLAGS_PROT_READ),
                    both = access_of(0, CU_MEM_ACCESS_FLAGS_PROT_READWRITE),
                    none = access_of(0, CU_MEM_ACCESS_FLAGS_PROT_NONE);
    if (how > 0)
        OK(cuMemMap(p, granule, 0, create(granule, false), 0));
    if (how == 2)
        OK(cuMemSetAccess(p, granule, &reading, 1));
    if (how > 2) {
        OK(cuMemSetAccess(p, granule, &both, 1));
        fill<<<1, 32>>>((int *)p, 32, 0);
        CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
        if (how == 3)
            OK(cuMemSetAccess(p, granule, &none, 1));
        else
            OK(cuMemUnmap(p, granule));
    }
    fill<<<1, 32>>>((int *)p, 32, 0);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    return check_done();
}

// Memory of one device in the hands of another.
static void devices()
{
    int count = 0, can = 0;
    CHECK_EQ_INT(cudaGetDeviceCount(&count), cudaSuccess);
    if (count < 2 || cudaDeviceCanAccessPeer(&can, 0, 1) != cudaSuccess || !can)
        return;
    CUdeviceptr p;
    CUmemGenericAllocationHandle h;
    CUmemAllocationProp prop = prop_of(1, false);
    CUmemAccessDesc both[2] = {access_of(0, CU_MEM_ACCESS_FLAGS_PROT_READWRITE),
                               access_of(1, CU_MEM_ACCESS_FLAGS_PROT_READWRITE)};
    unsigned long long flags = 9;
    OK(cuMemCreate(&h, granule, &prop, 0));
    OK(cuMemAddressReserve(&p, granule, 0, 0, 0));
    OK(cuMemMap(p, granule, 0, h, 0));
    OK(cuMemSetAccess(p, granule, &both[1], 1));
    OK(cuMemGetAccess(&flags, &both[0].location, p));
    CHECK_EQ_INT(flags, CU_MEM_ACCESS_FLAGS_PROT_NONE);
    OK(cuMemSetAccess(p, granule, both, 2));
    OK(cuMemGetAccess(&flags, &both[0].location, p));
    CHECK_EQ_INT(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    for (int d = 0; d < 2; d++) {
        CHECK_EQ_INT(cudaSetDevice(d), cudaSuccess);
        fill<<<1, 32>>>((int *)p, 100, d);
        CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
        CHECK_EQ_INT(at(p, 99), 99 + d);
    }
    CHECK_EQ_INT(cudaSetDevice(0), cudaSuccess);
    int owner = -1;
    OK(cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, p));
    CHECK_EQ_INT(owner, 1);
    OK(cuMemUnmap(p, granule));
    OK(cuMemAddressFree(p, granule));
    OK(cuMemRelease(h));
}

int main(int argc, char **argv)
{
    if (argc > 2 && strcmp(argv[1], "touch") == 0)
        return touch(atoi(argv[2]));
    if (argc > 2)
        return other(atoi(argv[2]));
    begin();
    int supported = 0, descriptors = 0;
    OK(cuDeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 0));
    OK(cuDeviceGetAttribute(&descriptors,
                            CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, 0));
    if (!supported) {
        printf("the device does not support it\n");
        return check_done();
    }
    grows();
    aliases();
    refusals();
    devices();
    if (descriptors)
        shares();
    for (int how = 0; how < 5; how++)
        CHECK_EQ_INT(end_of(start_process("/proc/self/exe", "touch", how)), 0);
    CHECK_EQ_INT(cudaGetLastError(), cudaSuccess);
    return check_done();
}
