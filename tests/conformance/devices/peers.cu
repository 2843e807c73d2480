// RUN two-devices: WEIR_DEVICES=2
// A8: several devices: memory of their own, peers, copies between them, who may reach a pool. What
// needs two devices is left out where there is one (a software device has as many as WEIR_DEVICES
// says).
#include <cuda_runtime.h>

#include <vector>

#include "check.h"

#define OK(call) CHECK_EQ_INT(call, cudaSuccess)
#define ERROR(call, code)                                                                          \
    do {                                                                                           \
        CHECK_EQ_INT(call, code);                                                                  \
        cudaGetLastError();                                                                        \
    } while (0)

static const int N = 100000;

__global__ void fill(int *p, int n, int first)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        p[i] = first + i;
}

__global__ void copy(int *to, const int *from, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        to[i] = from[i];
}

static void check_filled(const int *p, int first)
{
    std::vector<int> host(N);
    OK(cudaMemcpy(host.data(), p, N * sizeof(int), cudaMemcpyDefault));
    int wrong = 0;
    for (int i = 0; i < N; i++)
        wrong += host[i] != first + i;
    CHECK_EQ_INT(wrong, 0);
}

// What can be asked of one device.
static void alone()
{
    int can = 9, value;
    int count = 0;
    OK(cudaGetDeviceCount(&count));
    OK(cudaDeviceCanAccessPeer(&can, 0, 0));
    CHECK_EQ_INT(can, 0);
    ERROR(cudaDeviceCanAccessPeer(&can, 0, count), cudaErrorInvalidDevice);
    ERROR(cudaDeviceEnablePeerAccess(0, 0), cudaErrorPeerAccessUnsupported);
    ERROR(cudaDeviceEnablePeerAccess(count, 0), cudaErrorInvalidDevice);
    ERROR(cudaDeviceEnablePeerAccess(0, 1), cudaErrorInvalidValue);
    ERROR(cudaDeviceDisablePeerAccess(0), cudaErrorPeerAccessNotEnabled);
    ERROR(cudaDeviceDisablePeerAccess(count), cudaErrorInvalidDevice);
    ERROR(cudaDeviceGetP2PAttribute(&value, cudaDevP2PAttrAccessSupported, 0, 0),
          cudaErrorInvalidDevice);
    ERROR(cudaDeviceGetP2PAttribute(&value, cudaDevP2PAttrAccessSupported, 0, count),
          cudaErrorInvalidDevice);
    int *a, *b;
    OK(cudaMalloc(&a, N * sizeof(int)));
    OK(cudaMalloc(&b, N * sizeof(int)));
    fill<<<4, 64>>>(a, N, 5);
    OK(cudaMemcpyPeer(b, 0, a, 0, N * sizeof(int)));
    check_filled(b, 5);
    ERROR(cudaMemcpyPeer(b, 0, a, count, 4), cudaErrorInvalidDevice);
    ERROR(cudaMemcpyPeer(b, -1, a, 0, 4), cudaErrorInvalidDevice);
    OK(cudaFree(a));
    OK(cudaFree(b));
}

static void memory_of_each()
{
    size_t free0[2], free1[2], total;
    int *p[2];
    for (int d = 0; d < 2; d++) {
        OK(cudaSetDevice(d));
        OK(cudaFree(0));
        OK(cudaMemGetInfo(&free0[d], &total));
    }
    OK(cudaMalloc(&p[1], 64 << 20));
    for (int d = 0; d < 2; d++) {
        OK(cudaSetDevice(d));
        OK(cudaMemGetInfo(&free1[d], &total));
    }
    CHECK(free0[0] - free1[0] < 64 << 20);
    CHECK(free0[1] - free1[1] >= 64 << 20);
    cudaPointerAttributes at;
    OK(cudaPointerGetAttributes(&at, p[1]));
    CHECK_EQ_INT(at.device, 1);
    CHECK_EQ_INT(at.type, cudaMemoryTypeDevice);
    OK(cudaFree(p[1])); // whichever device is current
    OK(cudaSetDevice(0));
}

static void copies_between()
{
    int *p[2];
    cudaStream_t s[2];
    cudaEvent_t e[2];
    for (int d = 0; d < 2; d++) {
        OK(cudaSetDevice(d));
        OK(cudaMalloc(&p[d], N * sizeof(int)));
        OK(cudaStreamCreateWithFlags(&s[d], cudaStreamNonBlocking));
        OK(cudaEventCreateWithFlags(&e[d], cudaEventDisableTiming));
    }
    OK(cudaSetDevice(0));
    fill<<<8, 64, 0, s[0]>>>(p[0], N, 7);
    OK(cudaMemcpyPeerAsync(p[1], 1, p[0], 0, N * sizeof(int), s[0]));
    OK(cudaEventRecord(e[0], s[0]));
    // Events join streams of different devices, but are recorded on their own device only.
    OK(cudaStreamWaitEvent(s[1], e[0], 0));
    ERROR(cudaEventRecord(e[0], s[1]), cudaErrorInvalidResourceHandle);
    OK(cudaSetDevice(1));
    OK(cudaMemcpyAsync(p[0], p[1], N / 2 * sizeof(int), cudaMemcpyDefault, s[1]));
    OK(cudaStreamSynchronize(s[1]));
    check_filled(p[1], 7);
    check_filled(p[0], 7);
    cudaEvent_t timed[2];
    float ms;
    for (int d = 0; d < 2; d++) {
        OK(cudaSetDevice(d));
        OK(cudaEventCreate(&timed[d]));
        OK(cudaEventRecord(timed[d], s[d]));
        OK(cudaStreamSynchronize(s[d]));
        OK(cudaEventElapsedTime(&ms, timed[d], timed[d]));
    }
    ERROR(cudaEventElapsedTime(&ms, timed[0], timed[1]), cudaErrorInvalidResourceHandle);
    for (int d = 0; d < 2; d++)
        OK(cudaEventDestroy(timed[d]));
    // A kernel is launched into streams of the current device, says the guide; newer GPUs' runtimes
    // take the stream's device.
    OK(cudaSetDevice(0));
    fill<<<1, 32, 0, s[1]>>>(p[1], 32, 0);
    cudaError_t other = cudaGetLastError();
    CHECK(other == cudaErrorInvalidResourceHandle || other == cudaSuccess);
    OK(cudaStreamSynchronize(s[1]));
    for (int d = 0; d < 2; d++) {
        OK(cudaFree(p[d]));
        OK(cudaStreamDestroy(s[d]));
        OK(cudaEventDestroy(e[d]));
    }
}

static void peers()
{
    int can = 0, value = -1, *p[2];
    OK(cudaDeviceCanAccessPeer(&can, 0, 1));
    if (!can)
        return;
    OK(cudaDeviceGetP2PAttribute(&value, cudaDevP2PAttrAccessSupported, 0, 1));
    CHECK_EQ_INT(value, 1);
    OK(cudaDeviceGetP2PAttribute(&value, cudaDevP2PAttrPerformanceRank, 0, 1));
    for (int d = 0; d < 2; d++) {
        OK(cudaSetDevice(d));
        OK(cudaMalloc(&p[d], N * sizeof(int)));
        fill<<<8, 64>>>(p[d], N, 1000 * d);
        OK(cudaDeviceSynchronize());
    }
    OK(cudaSetDevice(0));
    ERROR(cudaDeviceDisablePeerAccess(1), cudaErrorPeerAccessNotEnabled);
    OK(cudaDeviceEnablePeerAccess(1, 0));
    ERROR(cudaDeviceEnablePeerAccess(1, 0), cudaErrorPeerAccessAlreadyEnabled);
    copy<<<8, 64>>>(p[0], p[1], N); // reads the other device's memory
    OK(cudaDeviceSynchronize());
    check_filled(p[0], 1000);
    fill<<<8, 64>>>(p[1], N, 9); // and writes it
    OK(cudaDeviceSynchronize());
    check_filled(p[1], 9);
    OK(cudaDeviceDisablePeerAccess(1));
    ERROR(cudaDeviceDisablePeerAccess(1), cudaErrorPeerAccessNotEnabled);
    for (int d = 0; d < 2; d++)
        OK(cudaFree(p[d]));
}

static cudaMemAccessDesc access_of(int device, cudaMemAccessFlags flags)
{
    cudaMemAccessDesc a = {};
    a.location.type = cudaMemLocationTypeDevice;
    a.location.id = device;
    a.flags = flags;
    return a;
}

static cudaMemAccessFlags access_to(cudaMemPool_t pool, int device)
{
    cudaMemLocation where = access_of(device, cudaMemAccessFlagsProtNone).location;
    cudaMemAccessFlags flags = cudaMemAccessFlagsProtRead;
    OK(cudaMemPoolGetAccess(&flags, pool, &where));
    return flags;
}

// The owner's access to its pool stays what it is.
static void own_pool()
{
    cudaMemPool_t pool;
    OK(cudaDeviceGetDefaultMemPool(&pool, 0));
    CHECK_EQ_INT(access_to(pool, 0), cudaMemAccessFlagsProtReadWrite);
    cudaMemAccessDesc none = access_of(0, cudaMemAccessFlagsProtNone),
                      all = access_of(0, cudaMemAccessFlagsProtReadWrite);
    CHECK(cudaMemPoolSetAccess(pool, &none, 1) != cudaSuccess);
    cudaGetLastError();
    OK(cudaMemPoolSetAccess(pool, &all, 1));
    CHECK_EQ_INT(access_to(pool, 0), cudaMemAccessFlagsProtReadWrite);
    cudaMemAccessDesc nobody = access_of(9999, cudaMemAccessFlagsProtReadWrite);
    ERROR(cudaMemPoolSetAccess(pool, &nobody, 1), cudaErrorInvalidDevice);
}

// A pool opened to a peer, for what it holds and what it will hold; peer access plays no part.
static void pools()
{
    int can = 0, *now, *later, *mine;
    OK(cudaDeviceCanAccessPeer(&can, 0, 1));
    if (!can)
        return;
    cudaMemPool_t pool;
    cudaMemPoolProps props = {};
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    props.location.id = 1;
    OK(cudaSetDevice(1));
    OK(cudaMemPoolCreate(&pool, &props));
    CHECK_EQ_INT(access_to(pool, 1), cudaMemAccessFlagsProtReadWrite);
    CHECK_EQ_INT(access_to(pool, 0), cudaMemAccessFlagsProtNone);
    cudaStream_t s;
    OK(cudaStreamCreate(&s));
    OK(cudaMallocFromPoolAsync(&now, N * sizeof(int), pool, s));
    fill<<<8, 64, 0, s>>>(now, N, 3);
    cudaMemAccessDesc all = access_of(0, cudaMemAccessFlagsProtReadWrite),
                      none = access_of(0, cudaMemAccessFlagsProtNone);
    OK(cudaMemPoolSetAccess(pool, &all, 1));
    CHECK_EQ_INT(access_to(pool, 0), cudaMemAccessFlagsProtReadWrite);
    OK(cudaMallocFromPoolAsync(&later, N * sizeof(int), pool, s));
    fill<<<8, 64, 0, s>>>(later, N, 4);
    OK(cudaStreamSynchronize(s));
    OK(cudaSetDevice(0));
    OK(cudaMalloc(&mine, N * sizeof(int)));
    copy<<<8, 64>>>(mine, now, N);
    check_filled(mine, 3);
    copy<<<8, 64>>>(mine, later, N);
    check_filled(mine, 4);
    OK(cudaDeviceSynchronize());
    OK(cudaFreeAsync(now, s)); // the device of the stream's, not the current one
    OK(cudaFreeAsync(later, s));
    OK(cudaStreamSynchronize(s));
    OK(cudaMemPoolSetAccess(pool, &none, 1));
    CHECK_EQ_INT(access_to(pool, 0), cudaMemAccessFlagsProtNone);
    OK(cudaMemPoolDestroy(pool));
    OK(cudaStreamDestroy(s));
    OK(cudaFree(mine));
}

int main()
{
    int count = 0, supported = 0;
    OK(cudaGetDeviceCount(&count));
    OK(cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, 0));
    alone();
    if (supported)
        own_pool();
    if (count > 1) {
        memory_of_each();
        copies_between();
        peers();
        if (supported)
            pools();
    } else {
        printf("one device: what needs two is left out\n");
    }
    CHECK_EQ_INT(cudaGetLastError(), cudaSuccess);
    return check_done();
}
