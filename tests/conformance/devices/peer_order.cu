// RUN two-devices: WEIR_DEVICES=2
// RUN two-devices.fixed: WEIR_DEVICES=2 WEIR_SCHEDULE=fixed
// A copy between the memories of two devices in the legacy default stream begins after all that was
// issued to either device, and ends before what is issued to either afterwards begins: whichever
// device is current, by each call that makes such a copy, with work in blocking streams too.
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstring>

#include "check.h"

#define OK(call) CHECK_EQ_INT(call, cudaSuccess)

static const int N = 1 << 12, BYTES = N * sizeof(int), WIDTH = 256, ROWS = BYTES / WIDTH;
static int *data[2], *seen[2], host[N];

__global__ void fill_late(int *p, int value)
{
    long long begun = clock64();
    while (clock64() - begun < 5000000)
        ;
    for (int i = threadIdx.x; i < N; i += blockDim.x)
        p[i] = value;
}

__global__ void copy(const int *from, int *to)
{
    for (int i = threadIdx.x; i < N; i += blockDim.x)
        to[i] = from[i];
}

static void synchronize()
{
    for (int d = 0; d < 2; d++) {
        OK(cudaSetDevice(d));
        OK(cudaDeviceSynchronize());
    }
}

static void clear()
{
    synchronize();
    for (int d = 0; d < 2; d++) {
        OK(cudaSetDevice(d));
        OK(cudaMemset(data[d], 0, BYTES));
        OK(cudaMemset(seen[d], 0, BYTES));
    }
    synchronize();
    memset(host, 0, sizeof host);
}

static void check_host(const char *what, int current, int from, int value)
{
    int wrong = 0;
    for (int i = 0; i < N; i++)
        wrong += host[i] != value;
    if (!check_count(wrong == 0))
        printf("%s from device %d, current device %d: %d of %d wrong\n", what, from, current, wrong,
               N);
}

/* ---- the calls ---- */

static void peer(int to, int from) { OK(cudaMemcpyPeer(data[to], to, data[from], from, BYTES)); }

static void peer_async(int to, int from)
{
    OK(cudaMemcpyPeerAsync(data[to], to, data[from], from, BYTES, 0));
}

static void linear(int to, int from)
{
    OK(cudaMemcpy(data[to], data[from], BYTES, cudaMemcpyDeviceToDevice));
}

static void unified(int to, int from)
{
    OK(cudaMemcpy(data[to], data[from], BYTES, cudaMemcpyDefault));
}

static void linear_async(int to, int from)
{
    OK(cudaMemcpyAsync(data[to], data[from], BYTES, cudaMemcpyDefault, 0));
}

static void legacy_handle(int to, int from)
{
    OK(cudaMemcpyAsync(data[to], data[from], BYTES, cudaMemcpyDefault, cudaStreamLegacy));
}

static void rows(int to, int from)
{
    OK(cudaMemcpy2D(data[to], WIDTH, data[from], WIDTH, WIDTH, ROWS, cudaMemcpyDefault));
}

static void rows_async(int to, int from)
{
    OK(cudaMemcpy2DAsync(data[to], WIDTH, data[from], WIDTH, WIDTH, ROWS, cudaMemcpyDefault, 0));
}

static void box_of_peers(int to, int from)
{
    cudaMemcpy3DPeerParms p = {};
    p.srcPtr = make_cudaPitchedPtr(data[from], WIDTH, WIDTH, ROWS);
    p.dstPtr = make_cudaPitchedPtr(data[to], WIDTH, WIDTH, ROWS);
    p.srcDevice = from;
    p.dstDevice = to;
    p.extent = make_cudaExtent(WIDTH, ROWS, 1);
    OK(cudaMemcpy3DPeer(&p));
}

static void drivers(int to, int from)
{
    OK((cudaError_t)cuMemcpyDtoD((CUdeviceptr)data[to], (CUdeviceptr)data[from], BYTES));
}

static void drivers_peer(int to, int from)
{
    CUcontext contexts[2];
    int current;
    OK(cudaGetDevice(&current));
    for (int d = 0; d < 2; d++) {
        OK(cudaSetDevice(d));
        OK((cudaError_t)cuCtxGetCurrent(&contexts[d]));
    }
    OK(cudaSetDevice(current));
    OK((cudaError_t)cuMemcpyPeer((CUdeviceptr)data[to], contexts[to], (CUdeviceptr)data[from],
                                 contexts[from], BYTES));
}

static const struct {
    const char *name;
    void (*copy)(int to, int from);
} calls[] = {
    {"cudaMemcpyPeer", peer},
    {"cudaMemcpyPeerAsync", peer_async},
    {"cudaMemcpy, device to device", linear},
    {"cudaMemcpy", unified},
    {"cudaMemcpyAsync", linear_async},
    {"cudaMemcpyAsync in cudaStreamLegacy", legacy_handle},
    {"cudaMemcpy2D", rows},
    {"cudaMemcpy2DAsync", rows_async},
    {"cudaMemcpy3DPeer", box_of_peers},
    {"cuMemcpyDtoD", drivers},
    {"cuMemcpyPeer", drivers_peer},
};

/* ---- what comes before, and after ---- */

// A kernel on one device, the copy, a kernel on the other.
static void kernels(int call, int current, int from)
{
    clear();
    OK(cudaSetDevice(from));
    fill_late<<<1, 64>>>(data[from], 7);
    OK(cudaSetDevice(current));
    calls[call].copy(1 - from, from);
    OK(cudaSetDevice(1 - from));
    copy<<<1, 64>>>(data[1 - from], seen[1 - from]);
    OK(cudaMemcpy(host, seen[1 - from], BYTES, cudaMemcpyDefault));
    check_host(calls[call].name, current, from, 7);
}

// What reads the target, and what writes the source, on the devices that they are of.
static void overwrites(int current, int from)
{
    clear();
    int to = 1 - from;
    OK(cudaSetDevice(from));
    OK(cudaMemset(data[from], 7, BYTES));
    OK(cudaSetDevice(to));
    fill_late<<<1, 64>>>(data[to], 5);
    copy<<<1, 64>>>(data[to], seen[to]);
    OK(cudaSetDevice(current));
    OK(cudaMemcpyPeer(data[to], to, data[from], from, BYTES));
    OK(cudaSetDevice(from));
    OK(cudaMemset(data[from], 1, BYTES));
    OK(cudaSetDevice(to));
    OK(cudaMemcpy(host, seen[to], BYTES, cudaMemcpyDefault));
    check_host("a kernel before the copy", current, from, 5);
    OK(cudaMemcpy(host, data[to], BYTES, cudaMemcpyDefault));
    check_host("the copy of what is overwritten later", current, from, 0x07070707);
}

// The default stream's rule: blocking streams of either device are part of it.
static void blocking_streams(int current, int from)
{
    cudaStream_t s[2];
    clear();
    for (int d = 0; d < 2; d++) {
        OK(cudaSetDevice(d));
        OK(cudaStreamCreate(&s[d]));
    }
    OK(cudaSetDevice(from));
    fill_late<<<1, 64, 0, s[from]>>>(data[from], 7);
    OK(cudaSetDevice(current));
    OK(cudaMemcpyPeer(data[1 - from], 1 - from, data[from], from, BYTES));
    OK(cudaSetDevice(1 - from));
    copy<<<1, 64, 0, s[1 - from]>>>(data[1 - from], seen[1 - from]);
    OK(cudaStreamSynchronize(s[1 - from]));
    OK(cudaMemcpy(host, seen[1 - from], BYTES, cudaMemcpyDefault));
    check_host("blocking streams", current, from, 7);
    for (int d = 0; d < 2; d++)
        OK(cudaStreamDestroy(s[d]));
}

int main()
{
    int count = 0;
    OK(cudaGetDeviceCount(&count));
    if (count < 2) {
        printf("one device: this needs two, and is left out\n");
        return check_done();
    }
    for (int d = 0; d < 2; d++) {
        OK(cudaSetDevice(d));
        OK(cudaMalloc(&data[d], BYTES));
        OK(cudaMalloc(&seen[d], BYTES));
    }
    for (int current = 0; current < 2; current++)
        for (int from = 0; from < 2; from++) {
            for (int call = 0; call < (int)(sizeof calls / sizeof *calls); call++)
                kernels(call, current, from);
            overwrites(current, from);
            blocking_streams(current, from);
        }
    synchronize();
    for (int d = 0; d < 2; d++) {
        OK(cudaFree(data[d]));
        OK(cudaFree(seen[d]));
    }
    return check_done();
}
