// M3.1: large copies between the device and pageable memory: all bytes and no others, after the work that
// the default stream waits for, by several threads at a time; and what is refused.
// RUN own-pools: WEIR_POOLS=own
// FLAGS: -O2
#include <cuda_runtime.h>

#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "check.h"

#define OK(call) CHECK_EQ_INT(call, cudaSuccess)

static const size_t MIB = 1 << 20;

static __global__ void add(unsigned char *p, size_t n, unsigned char value)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
        p[i] += value;
}

static unsigned char expected(size_t i, unsigned seed) { return (unsigned char)(i * 7 + (i >> 12) + seed); }

static bool holds(const std::vector<unsigned char> &v, size_t begin, size_t n, unsigned seed, unsigned char more)
{
    for (size_t i = 0; i < n; i++)
        if (v[begin + i] != (unsigned char)(expected(i, seed) + more))
            return false;
    return true;
}

// There, something is done to it, and back, to other bytes of the host.
static void round_trip(size_t n, size_t from_offset, size_t device_offset, unsigned seed, cudaMemcpyKind in,
                       cudaMemcpyKind out)
{
    const size_t around = 64;
    unsigned char *device;
    cudaStream_t s;
    std::vector<unsigned char> from(n + from_offset), to(n + 2 * around, 0xee);
    for (size_t i = 0; i < n; i++)
        from[from_offset + i] = expected(i, seed);
    OK(cudaStreamCreate(&s)); // blocking: copies in the default stream wait for it, and it for them
    OK(cudaMalloc(&device, n + device_offset));
    OK(cudaMemcpy(device + device_offset, from.data() + from_offset, n, in));
    memset(from.data(), 0, from.size()); // what was copied is copied
    for (int i = 0; i < 3; i++)
        add<<<16, 128, 0, s>>>(device + device_offset, n, 1);
    OK(cudaMemcpy(to.data() + around, device + device_offset, n, out));
    CHECK(holds(to, around, n, seed, 3));
    CHECK(to[around - 1] == 0xee && to[around + n] == 0xee);
    OK(cudaFree(device));
    OK(cudaStreamDestroy(s));
}

static void refused()
{
    const size_t n = 32 * MIB;
    char *device, *host = (char *)malloc(n + MIB);
    OK(cudaMalloc(&device, n));
    memset(host, 1, n + MIB);
    CHECK_EQ_INT(cudaMemcpy(device, host, n + 1, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    CHECK_EQ_INT(cudaMemcpy(device + MIB, host, n, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    CHECK_EQ_INT(cudaMemcpy(host, device + 1, n, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
    cudaGetLastError();
    OK(cudaFree(device));
    free(host);
}

int main()
{
    for (size_t n : {16 * MIB, 19 * MIB + 4095})
        round_trip(n, 0, 0, 1, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost);
    round_trip(20 * MIB + 17, 3, 5, 9, cudaMemcpyDefault, cudaMemcpyDefault);
    refused();
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 2; t++)
        threads.emplace_back([t] {
            round_trip(17 * MIB + t, t, 2 * t, 10 * t, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost);
        });
    for (std::thread &t : threads)
        t.join();
    OK(cudaDeviceReset());
    round_trip(18 * MIB, 0, 0, 4, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost);
    return check_done();
}
