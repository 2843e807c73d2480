// K2.17: kernels that read tables in unrolled loops, a hundred times and more, read what is there:
// words of four and of eight bytes, tables in global and in shared memory, indices from anywhere,
// neighbours and one for all, whole warps and parts of them; and a place that is not aligned is
// told. RUN optimizing: WEIR_JIT=optimizing RUN loads: WEIR_JIT=optimizing WEIR_VECTORS=loads RUN
// baseline: WEIR_JIT=baseline
#include "check.h"

#include <cuda_runtime.h>

#include <cstdint>
#include <vector>

#define OK(call) CHECK_STR(cudaGetErrorName(call), "cudaSuccess")

enum { THREADS = 64, COUNT = 256, READS = 128 };
enum { ANYWHERE, NEIGHBOURS, ONE, PATTERNS };

// Where the thread reads next, given what it has read.
__host__ __device__ static inline unsigned next(unsigned x, int pattern, unsigned thread, int k)
{
    return (pattern == ANYWHERE     ? (x >> 8) ^ x
            : pattern == NEIGHBOURS ? thread + k * 3
                                    : k * 7) %
           COUNT;
}

template <class T, bool SHARED>
__global__ void read_many(T *to, const T *from, int pattern, int active)
{
    __shared__ T own[COUNT];
    for (int i = threadIdx.x; i < COUNT && SHARED; i += blockDim.x)
        own[i] = from[i];
    __syncthreads();
    const T *table = SHARED ? own : from;
    unsigned x = threadIdx.x * 2654435761u;
    T sum = 0;
    if ((int)(threadIdx.x * 5 % 32) < active) {
#pragma unroll
        for (int k = 0; k < READS; k++) {
            T v = table[next(x, pattern, threadIdx.x, k)];
            sum += v * (k + 1);
            x = x * 1664525u + (unsigned)v;
        }
    }
    to[threadIdx.x] = sum;
}

template <class T>
static T expected(const std::vector<T> &from, int pattern, int active, unsigned t)
{
    unsigned x = t * 2654435761u;
    T sum = 0;
    for (int k = 0; k < READS && (int)(t * 5 % 32) < active; k++) {
        T v = from[next(x, pattern, t, k)];
        sum += v * (k + 1);
        x = x * 1664525u + (unsigned)v;
    }
    return sum;
}

template <class T, bool SHARED> static void check()
{
    std::vector<T> from(COUNT), to(THREADS);
    for (int i = 0; i < COUNT; i++)
        from[i] = (T)((i + 3) * 0x9e3779b97f4a7c15ull >> 7);
    T *in, *out;
    OK(cudaMalloc(&in, COUNT * sizeof(T)));
    OK(cudaMalloc(&out, THREADS * sizeof(T)));
    OK(cudaMemcpy(in, from.data(), COUNT * sizeof(T), cudaMemcpyHostToDevice));
    for (int pattern = 0; pattern < PATTERNS; pattern++)
        for (int active : {0, 1, 17, 32}) {
            read_many<T, SHARED><<<1, THREADS>>>(out, in, pattern, active);
            OK(cudaMemcpy(to.data(), out, THREADS * sizeof(T), cudaMemcpyDeviceToHost));
            for (unsigned t = 0; t < THREADS; t++)
                CHECK(to[t] == expected(from, pattern, active, t));
        }
    OK(cudaFree(in));
    OK(cudaFree(out));
}

int main()
{
    check<uint32_t, false>();
    check<uint32_t, true>();
    check<uint64_t, false>();
    check<uint64_t, true>();
    uint32_t *in;
    OK(cudaMalloc(&in, 4096));
    read_many<uint32_t, false>
        <<<1, THREADS>>>(in + 512, (uint32_t *)((char *)in + 2), ANYWHERE, 32);
    CHECK_STR(cudaGetErrorName(cudaDeviceSynchronize()), "cudaErrorMisalignedAddress");
    return 0;
}
