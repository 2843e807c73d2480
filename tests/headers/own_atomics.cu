/* K2.7, headers: a program's own atomics for types that CUDA has none for: long, as overloads, and
 * any other type, as templates, beside CUDA's. */
#include <cstdint>

#include "check.h"

__device__ uint64_t atomicAdd(uint64_t *p, uint64_t v)
{
    return atomicAdd(reinterpret_cast<unsigned long long *>(p), (unsigned long long)v);
}
__device__ uint64_t atomicExch(uint64_t *p, uint64_t v)
{
    return atomicExch(reinterpret_cast<unsigned long long *>(p), (unsigned long long)v);
}
__device__ uint64_t atomicMin(uint64_t *p, uint64_t v)
{
    return atomicMin(reinterpret_cast<unsigned long long *>(p), (unsigned long long)v);
}
__device__ int64_t atomicMax(int64_t *p, int64_t v)
{
    return atomicMax(reinterpret_cast<long long *>(p), (long long)v);
}
__device__ uint64_t atomicOr(uint64_t *p, uint64_t v)
{
    return atomicOr(reinterpret_cast<unsigned long long *>(p), (unsigned long long)v);
}
__device__ uint64_t atomicCAS(uint64_t *p, uint64_t compare, uint64_t v)
{
    return atomicCAS(reinterpret_cast<unsigned long long *>(p), (unsigned long long)compare,
                     (unsigned long long)v);
}

/* The type of an unsigned integer of that size. */
template <int size> struct word;
template <> struct word<4> {
    typedef unsigned type;
};
template <> struct word<8> {
    typedef unsigned long long type;
};

template <typename T> __device__ T atomicCAS(T *p, T compare, T v)
{
    typedef typename word<sizeof(T)>::type bits;
    bits old = atomicCAS((bits *)p, *(bits *)&compare, *(bits *)&v);
    return *(T *)&old;
}
template <typename T> __device__ T atomicExch(T *p, T v)
{
    typedef typename word<sizeof(T)>::type bits;
    bits old = atomicExch((bits *)p, *(bits *)&v);
    return *(T *)&old;
}

struct words {
    uint64_t sum, least, bits, last, swapped;
    int64_t most;
    double real;
    float2 pair;
};

__global__ void many(words *w)
{
    uint64_t id = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&w->sum, id << 32);
    atomicMin(&w->least, id + 5);
    atomicMax(&w->most, (int64_t)id - 3);
    atomicOr(&w->bits, (uint64_t)1 << (id & 63));
    atomicExch(&w->last, (uint64_t)9);
    atomicCAS(&w->swapped, (uint64_t)0, (uint64_t)7);
    for (double old = w->real, seen;; old = seen) {
        seen = atomicCAS(&w->real, old, old + 0.5);
        if (seen == old)
            break;
    }
    atomicExch(&w->pair, make_float2(1.0f, 2.0f));
}

int main()
{
    words *w;
    CHECK(cudaMallocManaged(&w, sizeof *w) == cudaSuccess);
    *w = words();
    w->least = 1000;
    w->most = -100;
    many<<<4, 64>>>(w);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    CHECK(w->sum == (uint64_t)255 * 128 << 32);
    CHECK(w->least == 5);
    CHECK(w->most == 252);
    CHECK(w->bits == ~(uint64_t)0);
    CHECK(w->last == 9);
    CHECK(w->swapped == 7);
    CHECK(w->real == 128.0);
    CHECK(w->pair.x == 1.0f && w->pair.y == 2.0f);
    return check_done();
}
