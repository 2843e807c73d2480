// Adds two vectors on the device and checks every element on the host.
#include <cmath>
#include <vector>

#include "check.h"

__global__ void add(const float *a, const float *b, float *sum, int n, int *blocks_on)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        sum[i] = a[i] + b[i];
    if (threadIdx.x == 0) {
        unsigned multiprocessor;
        asm volatile("mov.u32 %0, %%smid;" : "=r"(multiprocessor));
        atomicAdd(&blocks_on[multiprocessor], 1);
    }
}

// How the blocks were shared out among the device's multiprocessors.
static void print_shares(const std::vector<int> &shares, int blocks)
{
    for (size_t m = 0; m < shares.size() && m < 16; m++) {
        printf("  multiprocessor %2zu  %6d blocks  ", m, shares[m]);
        for (int k = 0; k < 40 * shares[m] / blocks; k++)
            putchar('#');
        putchar('\n');
    }
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 1 << 23;
    if (n <= 0) {
        fprintf(stderr, "usage: %s [number of elements]\n", argv[0]);
        return EXIT_FAILURE;
    }
    size_t bytes = n * sizeof(float);
    std::vector<float> a(n), b(n), sum(n);
    for (int i = 0; i < n; i++) {
        a[i] = 0.5f * i;
        b[i] = sinf(i);
    }

    cudaDeviceProp device;
    CHECK(cudaGetDeviceProperties(&device, 0));
    printf("device 0: %s, compute capability %d.%d, %d multiprocessors, %.1f GiB\n", device.name,
           device.major, device.minor, device.multiProcessorCount,
           device.totalGlobalMem / 1073741824.0);

    float *device_a, *device_b, *device_sum;
    int *blocks_on;
    std::vector<int> shares(device.multiProcessorCount);
    CHECK(cudaMalloc(&blocks_on, shares.size() * sizeof(int)));
    CHECK(cudaMemset(blocks_on, 0, shares.size() * sizeof(int)));
    CHECK(cudaMalloc(&device_a, bytes));
    CHECK(cudaMalloc(&device_b, bytes));
    CHECK(cudaMalloc(&device_sum, bytes));
    CHECK(cudaMemcpy(device_a, a.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(device_b, b.data(), bytes, cudaMemcpyHostToDevice));

    int threads = 256, blocks = (n + threads - 1) / threads;
    add<<<blocks, threads>>>(device_a, device_b, device_sum, n, blocks_on);
    CHECK_LAUNCH();
    CHECK(cudaMemcpy(sum.data(), device_sum, bytes, cudaMemcpyDeviceToHost));

    CHECK(cudaMemcpy(shares.data(), blocks_on, shares.size() * sizeof(int),
                     cudaMemcpyDeviceToHost));

    int wrong = 0;
    for (int i = 0; i < n; i++)
        wrong += sum[i] != a[i] + b[i];
    printf("add<<<%d, %d>>>: %d elements, %d wrong\n", blocks, threads, n, wrong);
    print_shares(shares, blocks);

    CHECK(cudaFree(blocks_on));
    CHECK(cudaFree(device_a));
    CHECK(cudaFree(device_b));
    CHECK(cudaFree(device_sum));
    return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
