// RUN two-devices: WEIR_DEVICES=2
// A9: plain device memory between processes (cudaIpcGetMemHandle, OpenMemHandle, CloseMemHandle).
// The program starts itself anew as the other process.
#include <cuda.h>
#include <cuda_runtime.h>

#include <vector>

#include "check.h"
#include "processes.h"

static const int COUNT = 8;
static const size_t SIZES[COUNT] = {4, 512, 1000, 5000, 300000, 2 << 20, (2 << 20) + 4, 12345676};

struct shared {
    int turn;
    cudaIpcMemHandle_t handle[COUNT], freed, small[3];
    cudaIpcEventHandle_t event;
};

__global__ void fill(int *p, size_t n, int first)
{
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        p[i] = first + (int)i;
}

static void check_filled(const int *p, size_t n, int first)
{
    std::vector<int> host(n);
    CHECK_EQ_INT(cudaMemcpy(host.data(), p, n * sizeof(int), cudaMemcpyDeviceToHost), cudaSuccess);
    size_t wrong = 0;
    for (size_t i = 0; i < n; i++)
        wrong += host[i] != first + (int)i;
    CHECK_EQ_INT(wrong, 0);
}

static cudaError_t open_handle(void **p, cudaIpcMemHandle_t h)
{
    return cudaIpcOpenMemHandle(p, h, cudaIpcMemLazyEnablePeerAccess);
}

// Handles that are none, and flags that are none.
static void refusals(struct shared *s)
{
    void *p = nullptr;
    cudaIpcMemHandle_t bad;
    memset(&bad, 0, sizeof bad);
    CHECK(open_handle(&p, bad) != cudaSuccess);
    memcpy(&bad, &s->event, sizeof bad);
    CHECK(open_handle(&p, bad) != cudaSuccess);
    CHECK_EQ_INT(cudaIpcOpenMemHandle(&p, s->handle[0], 0), cudaErrorInvalidValue);
    void *own;
    CHECK_EQ_INT(cudaMalloc(&own, 64), cudaSuccess);
    CHECK(cudaIpcCloseMemHandle(own) != cudaSuccess);
    CHECK_EQ_INT(cudaFree(own), cudaSuccess);
    cudaGetLastError();
}

static int other(int fd)
{
    struct shared *s = (struct shared *)shared_open(sizeof *s, fd);
    int *p[COUNT], *again;
    CHECK_EQ_INT(cudaFree(0), cudaSuccess);
    for (int i = 0; i < COUNT; i++) {
        CHECK_EQ_INT(open_handle((void **)&p[i], s->handle[i]), cudaSuccess);
        check_filled(p[i], SIZES[i] / 4, i);
    }
    cudaPointerAttributes a;
    CHECK_EQ_INT(cudaPointerGetAttributes(&a, p[2]), cudaSuccess);
    CHECK_EQ_INT(a.type, cudaMemoryTypeDevice);
    CHECK_EQ_INT(a.device, 0);
    // The same pointer again, which counts.
    CHECK_EQ_INT(open_handle((void **)&again, s->handle[3]), cudaSuccess);
    CHECK(again == p[3]);
    CHECK_EQ_INT(cudaIpcCloseMemHandle(again), cudaSuccess);
    check_filled(p[3], SIZES[3] / 4, 3);
    refusals(s);
    for (int i = 0; i < COUNT; i++) {
        fill<<<4, 64>>>(p[i], SIZES[i] / 4, 100 + i);
        CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    }
    set_turn(&s->turn, 1);
    CHECK(await_turn(&s->turn, 2));
    for (int i = 0; i < COUNT; i++) {
        check_filled(p[i], SIZES[i] / 4, 200 + i);
        CHECK_EQ_INT(cudaIpcCloseMemHandle(p[i]), cudaSuccess);
    }
    // Neighbours of one page each give their own bytes.
    for (int i = 0; i < 3; i++) {
        void *q;
        int value = 0;
        CHECK_EQ_INT(open_handle(&q, s->small[i]), cudaSuccess);
        CHECK_EQ_INT(cudaMemcpy(&value, q, sizeof value, cudaMemcpyDeviceToHost), cudaSuccess);
        CHECK_EQ_INT(value, 70 + i);
    }
    return check_done();
}

int main(int argc, char **argv)
{
    if (argc > 2)
        return other(atoi(argv[2]));
    int fd;
    struct shared *s = (struct shared *)shared_new(sizeof *s, &fd);
    int *p[COUNT];
    for (int i = 0; i < COUNT; i++) {
        CHECK_EQ_INT(cudaMalloc(&p[i], SIZES[i]), cudaSuccess);
        fill<<<4, 64>>>(p[i], SIZES[i] / 4, i);
        // No synchronization: what is under way reaches the memory, exported or not.
        CHECK_EQ_INT(cudaIpcGetMemHandle(&s->handle[i], p[i]), cudaSuccess);
    }
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    for (int i = 0; i < COUNT; i++)
        check_filled(p[i], SIZES[i] / 4, i);
    int *small[3];
    for (int i = 0; i < 3; i++) {
        int value = 70 + i;
        CHECK_EQ_INT(cudaMalloc(&small[i], 16), cudaSuccess);
        CHECK_EQ_INT(cudaIpcGetMemHandle(&s->small[i], small[i]), cudaSuccess);
        CHECK_EQ_INT(cudaMemcpy(small[i], &value, 4, cudaMemcpyHostToDevice), cudaSuccess);
    }

    // What has no handle.
    cudaIpcMemHandle_t h;
    int local;
    void *pinned, *freed;
    CHECK_EQ_INT(cudaMallocHost(&pinned, 64), cudaSuccess);
    CHECK_EQ_INT(cudaIpcGetMemHandle(&h, pinned), cudaErrorInvalidValue);
    CHECK_EQ_INT(cudaIpcGetMemHandle(&h, &local), cudaErrorInvalidValue);
    CHECK_EQ_INT(cudaIpcGetMemHandle(&h, nullptr), cudaErrorInvalidValue);
    CHECK_EQ_INT(cudaMalloc(&freed, 64 << 20), cudaSuccess);
    CHECK_EQ_INT(cudaFree(freed), cudaSuccess);
    CHECK_EQ_INT(cudaIpcGetMemHandle(&h, freed), cudaErrorInvalidValue);
    // One's own handle cannot be opened.
    void *own = nullptr;
    CHECK(open_handle(&own, s->handle[0]) != cudaSuccess);
    cudaGetLastError();

    pid_t child = start_process("/proc/self/exe", "other", fd);
    CHECK(await_turn(&s->turn, 1));
    for (int i = 0; i < COUNT; i++) {
        check_filled(p[i], SIZES[i] / 4, 100 + i);
        fill<<<4, 64>>>(p[i], SIZES[i] / 4, 200 + i);
    }
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    set_turn(&s->turn, 2);
    CHECK_EQ_INT(end_of(child), 0);
    for (int i = 0; i < COUNT; i++)
        CHECK_EQ_INT(cudaFree(p[i]), cudaSuccess);
    CHECK_EQ_INT(cudaGetLastError(), cudaSuccess);
    return check_done();
}
