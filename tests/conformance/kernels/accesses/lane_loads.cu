// K2.17: what a lane reads from a place of its own is what is there, and a lane that is not active
// reads nothing, wherever it points: elements of all sizes, indices that are computed in all ways,
// whole warps, parts of them and conditions that no compiler knows, global, shared and constant
// memory.
// RUN gathers: WEIR_VECTORS=gathers
// RUN loads: WEIR_VECTORS=loads
// RUN loads-256: WEIR_VECTORS=256,loads
#include "check.h"

#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>
#include <vector>

#define OK(call) CHECK_STR(cudaGetErrorName(call), "cudaSuccess")

static const int THREADS = 96, COUNT = 1024;
static const int64_t NOWHERE = INT64_C(1) << 45; // elements: far from all memory

__constant__ int table[64];

// The places of a thread, each computed in another way. Those of inactive lanes are nowhere.
enum { BY_WORD, BY_LONG, BY_SHIFT, BY_PRODUCT, BY_POINTER, BY_SUM, WAYS };

__host__ __device__ static inline int64_t place(int way, int x)
{
    switch (way) {
    case BY_WORD: return x & (COUNT - 1);
    case BY_LONG: return (int64_t)x * 3 & (COUNT - 1);
    case BY_SHIFT: return (uint32_t)x << 27 >> 25;
    case BY_PRODUCT: return (uint32_t)x * 2654435761u >> 22;
    case BY_POINTER: return (x ^ 37) & (COUNT - 1);
    default: return ((x & 255) + 5) * 3;
    }
}

template <class T>
__global__ void read_places(T *to, const T *from, const int *keys, int way, int active,
                            int64_t nowhere)
{
    int x = keys[threadIdx.x];
    bool on = (x * 7 & 31) < active;
    const T *at = from + place(way, x);
    if (!on)
        at += nowhere;
    T v = from[0];
    if (on)
        v = *at;
    to[threadIdx.x] = v;
}

// The same with the place inside of the condition, and neighbours of it.
template <class T>
__global__ void read_rows(T *to, const T *from, const int *keys, int way, int active)
{
    int x = keys[threadIdx.x];
    if ((x * 7 & 31) < active) {
        const T *at = from + place(way, x);
        for (int k = 0; k < 3; k++)
            to[k * THREADS + threadIdx.x] = at[k * (COUNT + 1)];
    }
}

// Unsigned indices beyond 2^31, of a base that lies as much lower.
template <class T>
__global__ void read_above(T *to, const T *low, const int *keys, int way, int active)
{
    int x = keys[threadIdx.x];
    if ((x * 7 & 31) < active) {
        uint32_t at = (uint32_t)place(way, x) + 0x80000000u;
        to[threadIdx.x] = low[at];
        to[THREADS + threadIdx.x] = low[at - 0x80000000u + 0x7fffffffu];
    }
}

template <class T> __global__ void read_shared(T *to, const T *from, const int *keys, int active)
{
    __shared__ T tile[THREADS];
    int x = keys[threadIdx.x];
    tile[threadIdx.x] = from[threadIdx.x];
    __syncthreads();
    uint32_t at = (x * 7 & 31) < active ? (uint32_t)x * 5 % THREADS : 0xfffff0u;
    T v = from[1];
    if (at < THREADS)
        v = tile[at];
    to[threadIdx.x] = v;
}

__global__ void read_table(int *to, const int *keys, int active)
{
    int x = keys[threadIdx.x], sum = -1;
    if ((x * 7 & 31) < active)
        for (int k = 0; k < 4; k++)
            sum += table[(x >> (2 * k)) & 63] * (k + 1);
    to[threadIdx.x] = sum;
}

template <class T> static T element(int n)
{
    T t;
    unsigned char *bytes = (unsigned char *)&t;
    for (size_t i = 0; i < sizeof t; i++)
        bytes[i] = (unsigned char)(n * 13 + n / 256 * 5 + (int)i * 29 + 1);
    return t;
}

template <class T> static bool same(const T &x, const T &y)
{
    return memcmp(&x, &y, sizeof x) == 0;
}

static std::vector<int> some_keys()
{
    std::vector<int> keys(THREADS);
    uint32_t x = 12345;
    for (int &k : keys) {
        x = x * 1664525u + 1013904223u;
        k = (int)(x >> 8);
    }
    return keys;
}

template <class T> static void check_reads(const int *device_keys, const std::vector<int> &keys)
{
    std::vector<T> from(3 * (COUNT + 1)), to(3 * THREADS);
    for (size_t i = 0; i < from.size(); i++)
        from[i] = element<T>((int)i);
    T *in, *out;
    OK(cudaMalloc(&in, from.size() * sizeof(T)));
    OK(cudaMalloc(&out, to.size() * sizeof(T)));
    OK(cudaMemcpy(in, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice));
    auto result = [&] {
        OK(cudaMemcpy(to.data(), out, to.size() * sizeof(T), cudaMemcpyDeviceToHost));
    };
    static const int active[] = {0, 1, 9, 20, 31, 32};
    for (int n : active) {
        auto on = [&](int t) { return (keys[t] * 7u & 31) < (unsigned)n; };
        for (int way = 0; way < WAYS; way++) {
            read_places<<<1, THREADS>>>(out, in, device_keys, way, n, NOWHERE);
            result();
            for (int t = 0; t < THREADS; t++)
                CHECK(same(to[t], from[on(t) ? place(way, keys[t]) : 0]));
            OK(cudaMemset(out, 0xa5, to.size() * sizeof(T)));
            read_rows<<<1, THREADS>>>(out, in, device_keys, way, n);
            result();
            T untouched;
            memset(&untouched, 0xa5, sizeof untouched);
            for (int t = 0; t < THREADS; t++)
                for (int k = 0; k < 3; k++)
                    CHECK(same(to[k * THREADS + t],
                               on(t) ? from[place(way, keys[t]) + k * (COUNT + 1)] : untouched));
        }
        for (int way = 0; way < WAYS; way++) {
            const T *low = (const T *)((uintptr_t)in - ((uintptr_t)sizeof(T) << 31));
            read_above<<<1, THREADS>>>(out, low + 1, device_keys, way, n);
            result();
            for (int t = 0; t < THREADS; t++)
                for (int k = 0; k < 2 && on(t); k++)
                    CHECK(same(to[k * THREADS + t], from[place(way, keys[t]) + 1 - k]));
        }
        read_shared<<<1, THREADS>>>(out, in, device_keys, n);
        result();
        for (int t = 0; t < THREADS; t++)
            CHECK(same(to[t], from[on(t) ? (uint32_t)keys[t] * 5 % THREADS : 1]));
    }
    OK(cudaFree(in));
    OK(cudaFree(out));
}

static void check_table(const int *device_keys, const std::vector<int> &keys)
{
    int words[64], *out;
    std::vector<int> to(THREADS);
    for (int i = 0; i < 64; i++)
        words[i] = i * i - 300;
    OK(cudaMemcpyToSymbol(table, words, sizeof words));
    OK(cudaMalloc(&out, THREADS * sizeof(int)));
    for (int n : {0, 3, 32}) {
        read_table<<<1, THREADS>>>(out, device_keys, n);
        OK(cudaMemcpy(to.data(), out, THREADS * sizeof(int), cudaMemcpyDeviceToHost));
        for (int t = 0; t < THREADS; t++) {
            int sum = -1;
            for (int k = 0; k < 4 && (keys[t] * 7u & 31) < (unsigned)n; k++)
                sum += words[(keys[t] >> (2 * k)) & 63] * (k + 1);
            CHECK(to[t] == sum);
        }
    }
    OK(cudaFree(out));
}

int main()
{
    std::vector<int> keys = some_keys();
    int *device_keys;
    OK(cudaMalloc(&device_keys, THREADS * sizeof(int)));
    OK(cudaMemcpy(device_keys, keys.data(), THREADS * sizeof(int), cudaMemcpyHostToDevice));
    check_reads<uint8_t>(device_keys, keys);
    check_reads<int16_t>(device_keys, keys);
    check_reads<uint32_t>(device_keys, keys);
    check_reads<float>(device_keys, keys);
    check_reads<double>(device_keys, keys);
    check_reads<uint64_t>(device_keys, keys);
    check_reads<int2>(device_keys, keys);
    check_reads<float4>(device_keys, keys);
    check_table(device_keys, keys);
    OK(cudaFree(device_keys));
    return 0;
}
