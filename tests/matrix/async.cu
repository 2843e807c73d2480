/* K2.10: cp.async: copies of each size with fewer bytes read than written, by some of the threads,
 * from neighbouring and scattered addresses; and the pipeline primitives around it. */
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include "check.h"

enum { THREADS = 96 };

template <int Size>
__global__ void copy(const unsigned char *in, const int *from, const int *read, unsigned char *out,
                     int active)
{
    __shared__ __align__(16) unsigned char s[THREADS * Size];
    unsigned t = threadIdx.x;
    for (unsigned i = t; i < THREADS * Size; i += THREADS)
        s[i] = 0xee;
    __syncthreads();
    if ((int)(t % 5) < active) {
        unsigned to = (unsigned)__cvta_generic_to_shared(s + t * Size);
        unsigned long long at = (unsigned long long)__cvta_generic_to_global(in + from[t] * Size);
        if (Size == 16)
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(at),
                         "r"(read[t])
                         : "memory");
        else if (Size == 8)
            asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(to), "l"(at),
                         "r"(read[t])
                         : "memory");
        else
            asm volatile("cp.async.ca.shared.global.L2::128B [%0], [%1], 4, %2;" ::"r"(to), "l"(at),
                         "r"(read[t])
                         : "memory");
    }
    asm volatile("cp.async.commit_group;\n\tcp.async.wait_group 0;" ::: "memory");
    __syncthreads();
    for (unsigned i = t; i < THREADS * Size; i += THREADS)
        out[i] = s[i];
}

/* Sums of a sliding window, its tiles brought in two stages ahead. */
__global__ void stream(const float *in, float *out, int tiles)
{
    __shared__ float4 stage[3][THREADS];
    unsigned t = threadIdx.x;
    float sum = 0;
    for (int n = 0; n < 2; n++) {
        __pipeline_memcpy_async(&stage[n][t], in + (n * THREADS + t) * 4, 16);
        __pipeline_commit();
    }
    for (int n = 0; n < tiles; n++) {
        if (n + 2 < tiles)
            __pipeline_memcpy_async(&stage[(n + 2) % 3][t], in + ((n + 2) * THREADS + t) * 4, 16);
        __pipeline_commit();
        __pipeline_wait_prior(2);
        __syncthreads();
        float4 v = stage[n % 3][(t + 1) % THREADS];
        sum += v.x + v.y + v.z + v.w;
        __syncthreads();
    }
    out[t] = sum;
}

template <int Size> void check(int active, bool scattered, bool partial)
{
    unsigned char *in, *out;
    int *from, *read;
    CHECK(cudaMallocManaged(&in, THREADS * Size) == cudaSuccess &&
          cudaMallocManaged(&out, THREADS * Size) == cudaSuccess &&
          cudaMallocManaged(&from, THREADS * sizeof(int)) == cudaSuccess &&
          cudaMallocManaged(&read, THREADS * sizeof(int)) == cudaSuccess);
    for (int i = 0; i < THREADS * Size; i++)
        in[i] = (unsigned char)rand();
    for (int i = 0; i < THREADS; i++) {
        from[i] = scattered ? rand() % THREADS : i;
        read[i] = partial ? rand() % (Size + 1) : rand() % 8 ? Size : 0;
        if (read[i] == 0)
            from[i] += 1 << 28; /* nothing is read: the address need not exist */
    }
    copy<Size><<<1, THREADS>>>(in, from, read, out, active);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    int wrong = 0;
    for (int i = 0; i < THREADS; i++)
        for (int b = 0; b < Size; b++) {
            unsigned char want = i % 5 >= active ? 0xee : b < read[i] ? in[from[i] * Size + b] : 0;
            wrong += out[i * Size + b] != want;
        }
    CHECK_EQ_INT(wrong, 0);
    cudaFree(in), cudaFree(out), cudaFree(from), cudaFree(read);
}

int main()
{
    for (int k = 0; k < 8; k++) {
        int active = k & 1 ? 5 : 3;
        check<4>(active, k & 2, k & 4);
        check<8>(active, k & 2, k & 4);
        check<16>(active, k & 2, k & 4);
    }
    enum { TILES = 9 };
    float *in, *out;
    CHECK(cudaMallocManaged(&in, TILES * THREADS * 16) == cudaSuccess &&
          cudaMallocManaged(&out, THREADS * 4) == cudaSuccess);
    for (int i = 0; i < TILES * THREADS * 4; i++)
        in[i] = (float)(rand() % 1000);
    stream<<<1, THREADS>>>(in, out, TILES);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    int wrong = 0;
    for (int t = 0; t < THREADS; t++) {
        float want = 0;
        for (int n = 0; n < TILES; n++)
            for (int k = 0; k < 4; k++)
                want += in[(n * THREADS + (t + 1) % THREADS) * 4 + k];
        wrong += out[t] != want;
    }
    CHECK_EQ_INT(wrong, 0);
    return check_done();
}
