// M1.4: memory of one size, allocated and freed again and again: each time it is memory like the first
// time, and after it was freed it is none, whoever keeps it until the next call.
// RUN own-pools: WEIR_POOLS=own
#include <cuda.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "check.h"

#define OK(call)            CHECK_EQ_INT(call, cudaSuccess)
#define REFUSED(call, code) CHECK_EQ_INT(call, code)

static __global__ void fill(unsigned *p, size_t n, unsigned value)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
        p[i] = value;
}

static void is_memory(char *p, size_t bytes)
{
    cudaPointerAttributes a;
    CUdeviceptr base = 0;
    size_t size = 0;
    OK(cudaPointerGetAttributes(&a, p));
    CHECK_EQ_INT(a.type, cudaMemoryTypeDevice);
    CHECK_EQ_INT(cuMemGetAddressRange(&base, &size, (CUdeviceptr)p + bytes - 1), CUDA_SUCCESS);
    CHECK(base == (CUdeviceptr)p && size == bytes);
}

static void is_none(char *p)
{
    char host[16] = {};
    cudaPointerAttributes a;
    cudaIpcMemHandle_t handle;
    OK(cudaPointerGetAttributes(&a, p));
    CHECK_EQ_INT(a.type, cudaMemoryTypeUnregistered);
    REFUSED(cudaMemcpy(p, host, 16, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    REFUSED(cudaMemcpy(host, p, 16, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
    REFUSED(cudaMemset(p, 0, 16), cudaErrorInvalidValue);
    REFUSED(cudaMemset2D(p, 4, 0, 4, 4), cudaErrorInvalidValue);
    REFUSED(cudaIpcGetMemHandle(&handle, p), cudaErrorInvalidValue);
    REFUSED(cudaFree(p), cudaErrorInvalidValue);
    cudaGetLastError();
}

static void rounds(size_t bytes)
{
    size_t n = bytes / sizeof(unsigned);
    for (unsigned round = 1; round <= 4; round++) {
        unsigned *p, first = 0, last = 0;
        OK(cudaMalloc(&p, bytes));
        is_memory((char *)p, bytes);
        fill<<<8, 128>>>(p, n, round);
        OK(cudaMemcpy(&first, p, sizeof first, cudaMemcpyDeviceToHost));
        OK(cudaMemcpy(&last, p + n - 1, sizeof last, cudaMemcpyDeviceToHost));
        CHECK_EQ_INT(first, round);
        CHECK_EQ_INT(last, round);
        OK(cudaFree(p));
        is_none((char *)p);
    }
}

// Several at a time are several.
static void live_together()
{
    const size_t bytes = 3 << 20;
    std::vector<char *> all(6);
    for (int round = 0; round < 3; round++) {
        for (char *&p : all)
            OK(cudaMalloc(&p, bytes));
        std::sort(all.begin(), all.end());
        for (size_t i = 1; i < all.size(); i++)
            CHECK(all[i - 1] + bytes <= all[i]);
        for (char *p : all)
            OK(cudaFree(p));
    }
}

static void is_counted_as_free()
{
    size_t before, between, after, total;
    char *p;
    const size_t bytes = 16 << 20;
    OK(cudaMalloc(&p, bytes));
    OK(cudaFree(p));
    OK(cudaMemGetInfo(&before, &total));
    for (int round = 0; round < 3; round++) {
        OK(cudaMalloc(&p, bytes));
        OK(cudaMemGetInfo(&between, &total));
        OK(cudaFree(p));
        OK(cudaMemGetInfo(&after, &total));
        CHECK_EQ_INT(before, after);
        CHECK_EQ_INT(before - between, bytes);
    }
}

// What the driver API frees is not handed out again.
static void freed_by_the_driver_api()
{
    const size_t bytes = 5 << 20;
    char *p, *others[4];
    for (int round = 0; round < 3; round++) {
        OK(cudaMalloc(&p, bytes));
        if (round == 2) // p has come back before, if anything does
            CHECK_EQ_INT(cuMemFree((CUdeviceptr)p), CUDA_SUCCESS);
        else
            OK(cudaFree(p));
    }
    for (char *&q : others) {
        OK(cudaMalloc(&q, bytes));
        is_memory(q, bytes);
    }
    for (char *q : others)
        OK(cudaFree(q));
}

// A free waits for what uses the memory, in any stream.
static void waits()
{
    const size_t n = 1 << 20;
    cudaStream_t s;
    unsigned *p, *q, value = 0;
    OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    for (unsigned round = 1; round <= 8; round++) {
        OK(cudaMalloc(&p, n * sizeof *p));
        for (int i = 0; i < 4; i++)
            fill<<<4, 64, 0, s>>>(p, n, 100);
        OK(cudaFree(p));
        OK(cudaMalloc(&q, n * sizeof *q)); // the same memory, as a rule
        OK(cudaMemset(q, 0, n * sizeof *q));
        OK(cudaDeviceSynchronize());
        OK(cudaMemcpy(&value, q + n - 1, sizeof value, cudaMemcpyDeviceToHost));
        CHECK_EQ_INT(value, 0);
        OK(cudaFree(q));
    }
    OK(cudaStreamDestroy(s));
}

static void threads()
{
    std::vector<std::thread> all;
    for (unsigned t = 1; t <= 4; t++)
        all.emplace_back([t] {
            cudaStream_t s;
            unsigned *p, value;
            OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
            for (int i = 0; i < 50; i++) {
                const size_t n = 1000 + i % 3;
                value = 0;
                OK(cudaMalloc(&p, n * sizeof *p));
                fill<<<1, 64, 0, s>>>(p, n, t);
                OK(cudaMemcpyAsync(&value, p + n - 1, sizeof value, cudaMemcpyDeviceToHost, s));
                OK(cudaStreamSynchronize(s));
                CHECK_EQ_INT(value, t);
                OK(cudaFree(p));
            }
            OK(cudaStreamDestroy(s));
        });
    for (std::thread &t : all)
        t.join();
}

static void reset()
{
    char *p;
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 3; i++) {
            OK(cudaMalloc(&p, 7 << 20));
            OK(cudaMemset(p, 1, 7 << 20));
            OK(cudaFree(p));
        }
        OK(cudaDeviceReset());
    }
}

int main()
{
    for (size_t bytes : {(size_t)4096, (size_t)1 << 20, (size_t)9 << 20})
        rounds(bytes);
    live_together();
    is_counted_as_free();
    freed_by_the_driver_api();
    waits();
    threads();
    reset();
    return check_done();
}
