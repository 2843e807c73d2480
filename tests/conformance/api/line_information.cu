// FLAGS: -lineinfo -rdc=true -lcudadevrt
/* G1: -lineinfo in relocatable code with all that a program's start has to register: managed variables,
 * constants, textures, kernels that launch kernels. The lines are for tools; the results are as ever. */
#include <cuda_runtime.h>

#include "check.h"

#define OK(call) CHECK_STR(cudaGetErrorName(call), "cudaSuccess")

enum { N = 64 };

__managed__ int sum;
__constant__ int factor = 3;
__device__ int results[N];

__global__ void child(cudaTextureObject_t texture, int from)
{
    int i = from + (int)threadIdx.x;
    results[i] = factor * tex1Dfetch<int>(texture, i);
    atomicAdd(&sum, results[i]);
}

__global__ void parent(cudaTextureObject_t texture)
{
    if (threadIdx.x % 32 == 0)
        child<<<1, 32>>>(texture, (int)threadIdx.x);
}

int main()
{
    int *numbers;
    OK(cudaMallocManaged(&numbers, N * sizeof *numbers));
    for (int i = 0; i < N; i++)
        numbers[i] = i;
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = numbers;
    resource.res.linear.desc = cudaCreateChannelDesc<int>();
    resource.res.linear.sizeInBytes = N * sizeof *numbers;
    cudaTextureDesc description = {};
    cudaTextureObject_t texture;
    OK(cudaCreateTextureObject(&texture, &resource, &description, nullptr));
    sum = 100;
    parent<<<1, N>>>(texture);
    OK(cudaDeviceSynchronize());
    CHECK_EQ_INT(sum, 100 + 3 * N * (N - 1) / 2);
    int out[N];
    OK(cudaMemcpyFromSymbol(out, results, sizeof out));
    for (int i = 0; i < N; i++)
        CHECK_EQ_INT(out[i], 3 * i);
    OK(cudaDestroyTextureObject(texture));
    OK(cudaFree(numbers));
    return check_done();
}
