/* What kernels write by calls of the device runtime: handles, answers, copies and fills. */
// CHECK: init
// FLAGS: -rdc=true -lcudadevrt
#include "checks.h"

enum { N = 64 };

__global__ void sum(const int *a, int *out)
{
    int s = 0;
    for (int i = 0; i < N; i++)
        s += a[i];
    *out = s;
}

__global__ void parent(const int *from, int *to, int *zero, int *out, bool all)
{
    __shared__ cudaStream_t stream;
    __shared__ int device;
    if (threadIdx.x == 0) {
        cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
        cudaGetDevice(&device);
    }
    __syncthreads();
    if (threadIdx.x == 1) {
        cudaMemcpyAsync(to, from, (all ? N : N - 1) * sizeof *to, cudaMemcpyDeviceToDevice, stream);
        sum<<<1, 1, 0, stream>>>(to, out + device);
        cudaMemset2DAsync(zero, 8, 0, 8, N / 2, stream);
        sum<<<1, 1, 0, stream>>>(zero, out + 1);
        cudaStreamDestroy(stream);
    }
}

static void run(bool all)
{
    int *memory, h[N] = {0};
    DO(cudaMalloc(&memory, (3 * N + 2) * sizeof *memory));
    DO(cudaMemcpy(memory, h, sizeof h, cudaMemcpyHostToDevice));
    parent<<<1, 2>>>(memory, memory + N, memory + 2 * N, memory + 3 * N, all);
    DO(cudaDeviceSynchronize());
    DO(cudaMemcpy(h, memory + 3 * N, 2 * sizeof *h, cudaMemcpyDeviceToHost));
    DO(cudaFree(memory));
}

CASE(written_by_the_device_runtime) { run(true); }

CASE(not_all_copied)
{
    run(false); // EXPECT uninitialised read: in kernel sum\(int const\*, int\*\), .* read of 4 bytes that nothing has written: .* is byte 508 of the 776-byte allocation
}
