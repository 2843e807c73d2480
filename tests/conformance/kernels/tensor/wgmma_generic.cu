// FLAGS: -arch=sm_90a
/* K2: the descriptors of wgmma hold 18 bits of a shared address, and of its generic form they are
 * the same: kernels make descriptors of plain pointers. Blocks of several sizes of shared memory,
 * so that theirs begins at several places. */
#include <cstdint>
#include <cstdio>
#include <cuda_fp16.h>

#include "check.h"

enum { M = 64, N = 8, K = 16, LEAD = 128, STEP = 256 };

/* Bytes: eight rows of 16 bytes, then the next 16 bytes of them, then the next eight rows. */
__device__ int place(int row, int k)
{
    return row % 8 * 16 + row / 8 * STEP + k / 8 * LEAD + k % 8 * 2;
}

__device__ uint64_t descriptor(const void *p)
{
    return ((uint64_t)p & 0x3ffff) >> 4 | (uint64_t)(LEAD >> 4) << 16 | (uint64_t)(STEP >> 4) << 32;
}

/* Not inlined, so that the kernel calls it. */
__device__ __noinline__ void multiply(float (&d)[4], const void *a, const void *b)
{
    asm volatile(
        "wgmma.fence.sync.aligned;\n"
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, 1, 1, "
        "1, 0, 0;\n"
        "wgmma.commit_group.sync.aligned;\n"
        "wgmma.wait_group.sync.aligned 0;\n"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "l"(descriptor(a)), "l"(descriptor(b))
        : "memory");
}

__global__ void product(float *out)
{
    extern __shared__ __align__(128) unsigned char memory[];
    __shared__ __half a[M * K];
    __half *b = (__half *)memory;
    for (int i = threadIdx.x; i < M * K; i += blockDim.x)
        a[place(i / K, i % K) / 2] = __float2half((float)((i / K * 3 + i % K) % 7 - 3));
    for (int i = threadIdx.x; i < N * K; i += blockDim.x)
        b[place(i / K, i % K) / 2] = __float2half((float)((i / K + i % K * 2) % 5 - 2));
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    float d[4] = {};
    multiply(d, a, b);
    int row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4, column = threadIdx.x % 4 * 2;
    for (int i = 0; i < 4; i++)
        out[(blockIdx.x * M + row + i / 2 * 8) * N + column + i % 2] = d[i];
}

static int wrong_in(const float *out)
{
    int wrong = 0;
    for (int row = 0; row < M; row++)
        for (int column = 0; column < N; column++) {
            int sum = 0;
            for (int k = 0; k < K; k++)
                sum += ((row * 3 + k) % 7 - 3) * ((column + k * 2) % 5 - 2);
            wrong += out[row * N + column] != (float)sum;
        }
    return wrong;
}

int main()
{
    enum { BLOCKS = 8 };
    float *out;
    CHECK_EQ_INT(cudaMallocManaged(&out, BLOCKS * M * N * 4), cudaSuccess);
    CHECK_EQ_INT(
        cudaFuncSetAttribute(product, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 << 10),
        cudaSuccess);
    static const int sizes[] = {512, 9000, 100000, 200 << 10};
    for (int size : sizes) {
        product<<<BLOCKS, 128, size>>>(out);
        CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
        for (int block = 0; block < BLOCKS; block++)
            CHECK_EQ_INT(wrong_in(out + block * M * N), 0);
    }
    cudaFree(out);
    return check_done();
}
