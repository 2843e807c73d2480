// RUN two-devices: WEIR_DEVICES=2
// A9: events between processes (cudaIpcGetEventHandle, OpenEventHandle): recorded on one side, waited
// for by streams and hosts on the other. The program starts itself anew as the other process.
#include <cuda_runtime.h>

#include <vector>

#include "check.h"
#include "processes.h"

static const int ROUNDS = 20, N = 1 << 16;

struct shared {
    int turn;
    cudaIpcMemHandle_t memory;
    cudaIpcEventHandle_t mine, yours, never;
};

// Takes its time, then writes.
__global__ void fill_late(int *p, int n, int value, long long cycles)
{
    long long from = clock64();
    while (clock64() - from < cycles)
        ;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        p[i] = value;
}

// Adds to what is there.
__global__ void add(int *p, int n, int value)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        p[i] += value;
}

static void check_all(const int *p, int value)
{
    std::vector<int> host(N);
    CHECK_EQ_INT(cudaMemcpy(host.data(), p, N * sizeof(int), cudaMemcpyDeviceToHost), cudaSuccess);
    int wrong = 0;
    for (int i = 0; i < N; i++)
        wrong += host[i] != value;
    CHECK_EQ_INT(wrong, 0);
}

static int other(int fd)
{
    struct shared *s = (struct shared *)shared_open(sizeof *s, fd);
    int *p;
    cudaEvent_t theirs, ours, never;
    cudaStream_t stream;
    CHECK_EQ_INT(cudaIpcOpenMemHandle((void **)&p, s->memory, cudaIpcMemLazyEnablePeerAccess),
                 cudaSuccess);
    CHECK_EQ_INT(cudaIpcOpenEventHandle(&theirs, s->mine), cudaSuccess);
    CHECK_EQ_INT(cudaIpcOpenEventHandle(&ours, s->yours), cudaSuccess);
    CHECK_EQ_INT(cudaIpcOpenEventHandle(&never, s->never), cudaSuccess);
    CHECK_EQ_INT(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    cudaIpcEventHandle_t h;
    CHECK_EQ_INT(cudaIpcGetEventHandle(&h, ours), cudaErrorInvalidResourceHandle); // not from here
    cudaGetLastError();
    CHECK_EQ_INT(cudaEventQuery(never), cudaSuccess);
    CHECK_EQ_INT(cudaEventSynchronize(never), cudaSuccess);
    CHECK_EQ_INT(cudaStreamWaitEvent(stream, never, 0), cudaSuccess);
    CHECK_EQ_INT(cudaStreamSynchronize(stream), cudaSuccess);
    for (int i = 0; i < ROUNDS; i++) {
        set_turn(&s->turn, 2 * i + 1);
        CHECK(await_turn(&s->turn, 2 * i + 2)); // the fill is under way and the event recorded
        CHECK_EQ_INT(cudaStreamWaitEvent(stream, theirs, 0), cudaSuccess);
        add<<<8, 128, 0, stream>>>(p, N, 1000);
        CHECK_EQ_INT(cudaEventRecord(ours, stream), cudaSuccess);
    }
    set_turn(&s->turn, 2 * ROUNDS + 1);
    CHECK_EQ_INT(cudaStreamSynchronize(stream), cudaSuccess);
    CHECK(await_turn(&s->turn, 2 * ROUNDS + 2));
    // A wait by the host.
    CHECK_EQ_INT(cudaEventSynchronize(theirs), cudaSuccess);
    CHECK_EQ_INT(cudaEventQuery(theirs), cudaSuccess);
    check_all(p, 77);
    CHECK_EQ_INT(cudaEventDestroy(theirs), cudaSuccess);
    CHECK_EQ_INT(cudaEventDestroy(ours), cudaSuccess);
    CHECK_EQ_INT(cudaEventDestroy(never), cudaSuccess);
    CHECK_EQ_INT(cudaIpcCloseMemHandle(p), cudaSuccess);
    return check_done();
}

int main(int argc, char **argv)
{
    if (argc > 2)
        return other(atoi(argv[2]));
    int fd, supported = 0;
    struct shared *s = (struct shared *)shared_new(sizeof *s, &fd);
    CHECK_EQ_INT(cudaDeviceGetAttribute(&supported, cudaDevAttrIpcEventSupport, 0), cudaSuccess);
    if (!supported) {
        printf("the device does not support events between processes\n");
        return check_done();
    }
    int *p;
    cudaEvent_t mine, yours, never, plain;
    cudaStream_t stream;
    cudaIpcEventHandle_t h;
    CHECK_EQ_INT(cudaEventCreateWithFlags(&mine, cudaEventInterprocess), cudaErrorInvalidValue);
    cudaGetLastError();
    unsigned flags = cudaEventInterprocess | cudaEventDisableTiming;
    CHECK_EQ_INT(cudaEventCreateWithFlags(&mine, flags), cudaSuccess);
    CHECK_EQ_INT(cudaEventCreateWithFlags(&yours, flags | cudaEventBlockingSync), cudaSuccess);
    CHECK_EQ_INT(cudaEventCreateWithFlags(&never, flags), cudaSuccess);
    CHECK_EQ_INT(cudaEventCreateWithFlags(&plain, cudaEventDisableTiming), cudaSuccess);
    CHECK_EQ_INT(cudaIpcGetEventHandle(&h, plain), cudaErrorInvalidResourceHandle);
    CHECK_EQ_INT(cudaIpcGetEventHandle(&s->mine, mine), cudaSuccess);
    CHECK_EQ_INT(cudaIpcGetEventHandle(&s->yours, yours), cudaSuccess);
    CHECK_EQ_INT(cudaIpcGetEventHandle(&s->never, never), cudaSuccess);
    CHECK_EQ_INT(cudaMalloc(&p, N * sizeof(int)), cudaSuccess);
    CHECK_EQ_INT(cudaIpcGetMemHandle(&s->memory, p), cudaSuccess);
    CHECK_EQ_INT(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    float ms;
    CHECK_EQ_INT(cudaEventRecord(mine, stream), cudaSuccess);
    CHECK_EQ_INT(cudaEventSynchronize(mine), cudaSuccess);
    CHECK(cudaEventElapsedTime(&ms, mine, mine) != cudaSuccess);
    cudaGetLastError();

    pid_t child = start_process("/proc/self/exe", "other", fd);
    for (int i = 0; i < ROUNDS; i++) {
        CHECK(await_turn(&s->turn, 2 * i + 1)); // the add of the round before is under way
        CHECK_EQ_INT(cudaStreamWaitEvent(stream, yours, 0), cudaSuccess);
        if (i > 0)
            add<<<8, 128, 0, stream>>>(p, N, i);
        else
            fill_late<<<8, 128, 0, stream>>>(p, N, 0, 30000000);
        CHECK_EQ_INT(cudaEventRecord(mine, stream), cudaSuccess);
        set_turn(&s->turn, 2 * i + 2);
    }
    CHECK(await_turn(&s->turn, 2 * ROUNDS + 1));
    CHECK_EQ_INT(cudaEventSynchronize(yours), cudaSuccess);
    check_all(p, 1000 * ROUNDS + ROUNDS * (ROUNDS - 1) / 2);
    fill_late<<<1, 128, 0, stream>>>(p, N, 77, 30000000);
    CHECK_EQ_INT(cudaEventRecord(mine, stream), cudaSuccess);
    set_turn(&s->turn, 2 * ROUNDS + 2);
    CHECK_EQ_INT(end_of(child), 0);
    CHECK_EQ_INT(cudaStreamSynchronize(stream), cudaSuccess);
    CHECK_EQ_INT(cudaGetLastError(), cudaSuccess);
    return check_done();
}
