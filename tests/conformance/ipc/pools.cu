// RUN two-devices: WEIR_DEVICES=2
// A9: pools between processes: a descriptor for the pool, 64 bytes for each allocation, order by
// interprocess events. The program starts itself anew as the other process.
#include <cuda.h>
#include <cuda_runtime.h>

#include <vector>

#include "check.h"
#include "processes.h"

#define OK(call) CHECK_EQ_INT(call, cudaSuccess)
#define FAILS(call)                                                                                \
    do {                                                                                           \
        CHECK((call) != cudaSuccess);                                                              \
        cudaGetLastError();                                                                        \
    } while (0)

static const int COUNT = 4;
static const int SIZES[COUNT] = {1, 1000, 500000, 3000000}; // numbers in each allocation

struct shared {
    int turn, fd;
    cudaMemPoolPtrExportData data[COUNT], early;
    cudaIpcEventHandle_t ready, done;
};

__global__ void fill_late(int *p, int n, int first, long long cycles)
{
    long long from = clock64();
    while (clock64() - from < cycles)
        ;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        p[i] = first + i;
}

// Counts what is not as it should be, and adds to what is there.
__global__ void check_and_add(int *p, int n, int first, int add, int *wrong)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        if (p[i] != first + i)
            atomicAdd(wrong, 1);
        p[i] += add;
    }
}

static cudaMemPool_t new_pool(cudaMemAllocationHandleType type)
{
    cudaMemPool_t pool = nullptr;
    cudaMemPoolProps props = {};
    props.allocType = cudaMemAllocationTypePinned;
    props.handleTypes = type;
    props.location.type = cudaMemLocationTypeDevice;
    OK(cudaMemPoolCreate(&pool, &props));
    return pool;
}

static cudaError_t import_pool(cudaMemPool_t *pool, int fd)
{
    return cudaMemPoolImportFromShareableHandle(pool, (void *)(size_t)fd,
                                                cudaMemHandleTypePosixFileDescriptor, 0);
}

// What an imported pool does not do.
static void refusals(cudaMemPool_t pool, struct shared *s)
{
    void *p;
    int fd;
    FAILS(cudaMallocFromPoolAsync(&p, 64, pool, 0));
    FAILS(cudaDeviceSetMemPool(0, pool));
    FAILS(cudaMemPoolExportToShareableHandle(&fd, pool, cudaMemHandleTypePosixFileDescriptor, 0));
    FAILS(cudaMemPoolTrimTo(pool, 0));
    unsigned long long value = 0;
    CHECK_EQ_INT(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &value),
                 cudaErrorInvalidValue);
    CHECK_EQ_INT(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &value),
                 cudaErrorInvalidValue);
    cudaGetLastError();
    cudaMemPoolPtrExportData bad;
    memset(&bad, 0x33, sizeof bad);
    FAILS(cudaMemPoolImportPointer(&p, pool, &bad));
    (void)s;
}

static int other(int number)
{
    struct shared *s = (struct shared *)shared_open(sizeof *s, number);
    cudaMemPool_t pool;
    cudaStream_t stream;
    cudaEvent_t ready, done;
    int *p[COUNT], *early, *wrong, count = -1;
    OK(cudaFree(0));
    OK(import_pool(&pool, s->fd));
    close(s->fd);
    OK(cudaIpcOpenEventHandle(&ready, s->ready));
    OK(cudaIpcOpenEventHandle(&done, s->done));
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaMalloc(&wrong, sizeof(int)));
    OK(cudaMemset(wrong, 0, sizeof(int)));
    OK(cudaDeviceSynchronize());
    refusals(pool, s);

    // Imported before it is ready; used when it is.
    OK(cudaMemPoolImportPointer((void **)&early, pool, &s->early));
    OK(cudaStreamWaitEvent(stream, ready, 0));
    check_and_add<<<4, 128, 0, stream>>>(early, 1000, 70, 1, wrong);
    for (int i = 0; i < COUNT; i++) {
        OK(cudaMemPoolImportPointer((void **)&p[i], pool, &s->data[i]));
        check_and_add<<<4, 128, 0, stream>>>(p[i], SIZES[i], i, 100, wrong);
    }
    OK(cudaMemcpyAsync(&count, wrong, sizeof count, cudaMemcpyDeviceToHost, stream));
    OK(cudaStreamSynchronize(stream));
    CHECK_EQ_INT(count, 0);
    cudaPointerAttributes at;
    OK(cudaPointerGetAttributes(&at, p[1]));
    CHECK_EQ_INT(at.type, cudaMemoryTypeDevice);
    CHECK_EQ_INT(at.device, 0);

    // The importer frees first, in the order of its stream or at once.
    for (int i = 0; i < COUNT; i++)
        OK(cudaFreeAsync(p[i], stream));
    OK(cudaEventRecord(done, stream));
    OK(cudaStreamSynchronize(stream));
    OK(cudaFree(early));
    OK(cudaMemPoolDestroy(pool));
    OK(cudaGetLastError());
    return check_done();
}

static void exporting_refusals(cudaMemPool_t pool, int *in_pool)
{
    int fd;
    cudaMemPoolPtrExportData data;
    cudaMemPool_t plain = new_pool(cudaMemHandleTypeNone), standard;
    void *p;
    FAILS(cudaMemPoolExportToShareableHandle(&fd, plain, cudaMemHandleTypePosixFileDescriptor, 0));
    FAILS(cudaMemPoolExportToShareableHandle(&fd, pool, cudaMemHandleTypePosixFileDescriptor, 1));
    OK(cudaDeviceGetDefaultMemPool(&standard, 0));
    CHECK_EQ_INT(
        cudaMemPoolExportToShareableHandle(&fd, standard, cudaMemHandleTypePosixFileDescriptor, 0),
        cudaErrorInvalidValue);
    OK(cudaMalloc(&p, 64));
    FAILS(cudaMemPoolExportPointer(&data, p));
    OK(cudaFree(p));
    FAILS(cudaMemPoolExportPointer(&data, in_pool + 1));
    OK(cudaMallocFromPoolAsync(&p, 64, plain, 0));
    FAILS(cudaMemPoolExportPointer(&data, p));
    OK(cudaFreeAsync(p, 0));
    OK(cudaMemPoolDestroy(plain));
    cudaGetLastError();
}

int main(int argc, char **argv)
{
    if (argc > 2)
        return other(atoi(argv[2]));
    int pools = 0, types = 0, number, fd = -1;
    OK(cudaDeviceGetAttribute(&pools, cudaDevAttrMemoryPoolsSupported, 0));
    OK(cudaDeviceGetAttribute(&types, cudaDevAttrMemoryPoolSupportedHandleTypes, 0));
    if (!pools || (types & cudaMemHandleTypePosixFileDescriptor) == 0) {
        printf("the device has no pools for other processes\n");
        return check_done();
    }
    struct shared *s = (struct shared *)shared_new(sizeof *s, &number);
    cudaMemPool_t pool = new_pool(cudaMemHandleTypePosixFileDescriptor);
    cudaStream_t stream;
    cudaEvent_t ready, done;
    int *p[COUNT], *early;
    unsigned flags = cudaEventInterprocess | cudaEventDisableTiming;
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaEventCreateWithFlags(&ready, flags));
    OK(cudaEventCreateWithFlags(&done, flags));
    OK(cudaIpcGetEventHandle(&s->ready, ready));
    OK(cudaIpcGetEventHandle(&s->done, done));
    OK(cudaMemPoolExportToShareableHandle(&fd, pool, cudaMemHandleTypePosixFileDescriptor, 0));
    s->fd = dup(fd); // one that the other process inherits
    close(fd);
    for (int i = 0; i < COUNT; i++) {
        OK(cudaMallocFromPoolAsync((void **)&p[i], SIZES[i] * sizeof(int), pool, stream));
        fill_late<<<4, 128, 0, stream>>>(p[i], SIZES[i], i, 0);
        OK(cudaMemPoolExportPointer(&s->data[i], p[i]));
    }
    exporting_refusals(pool, p[1]);
    fill_late<<<1, 32, 0, stream>>>(p[0], 1, 0, 30000000);
    OK(cudaMallocFromPoolAsync((void **)&early, 1000 * sizeof(int), pool, stream));
    OK(cudaMemPoolExportPointer(&s->early, early));
    fill_late<<<1, 128, 0, stream>>>(early, 1000, 70, 10000000);
    OK(cudaEventRecord(ready, stream));
    pid_t child = start_process("/proc/self/exe", "other", number);
    close(s->fd);
    CHECK_EQ_INT(end_of(child), 0);
    OK(cudaStreamWaitEvent(stream, done, 0));
    for (int i = 0; i < COUNT; i++) {
        std::vector<int> host(SIZES[i]);
        OK(cudaMemcpyAsync(host.data(), p[i], SIZES[i] * sizeof(int), cudaMemcpyDeviceToHost,
                           stream));
        OK(cudaStreamSynchronize(stream));
        int wrong = 0;
        for (int k = 0; k < SIZES[i]; k++)
            wrong += host[k] != i + k + 100;
        CHECK_EQ_INT(wrong, 0);
        OK(cudaFreeAsync(p[i], stream));
    }
    OK(cudaFreeAsync(early, stream));
    OK(cudaStreamSynchronize(stream));
    OK(cudaMemPoolDestroy(pool));
    OK(cudaEventDestroy(ready));
    OK(cudaEventDestroy(done));
    OK(cudaStreamDestroy(stream));
    OK(cudaGetLastError());
    return check_done();
}
