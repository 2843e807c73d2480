// SANITIZERS: every form of a launch (src/runtime, src/driver)
/* K1: launches in all their forms: <<<>>> with every kind of argument, the C functions, attributes,
 * kernels by handle and through the driver; what a kernel says of itself. */
#include <cstring>
#include <cuda.h>

#include "check.h"

#define OK(call) CHECK_STR(cudaGetErrorName(call), "cudaSuccess")

struct big {
    char c;
    double d[9];
    short s;
};

__global__ void arguments(int *out, char a, short b, double c, big d, float4 e, const big *f,
                          bool g, unsigned long long h)
{
    out[0] = a;
    out[1] = b;
    out[2] = (int)(c * 2);
    out[3] = d.c + (int)d.d[8] + d.s;
    out[4] = (int)(e.x + e.w);
    out[5] = f == nullptr;
    out[6] = g;
    out[7] = h == 0x123456789abcdefull;
}

template <typename T, int N> __global__ void scale(T *p, T by)
{
    extern __shared__ __align__(16) unsigned char raw[];
    T *shared = (T *)raw;

    shared[threadIdx.x] = p[threadIdx.x] * by + N;
    __syncthreads();
    p[threadIdx.x] = shared[blockDim.x - 1 - threadIdx.x];
}

namespace
{
__global__ void hidden(int *p) { *p = 5; }
} // namespace
static __global__ void file_static(int *p) { *p = 6; }
__global__ void __launch_bounds__(128) bounded(int *p) { *p = blockDim.x; }
__global__ void shape(unsigned *out)
{
    if (threadIdx.x + threadIdx.y + threadIdx.z + blockIdx.x + blockIdx.y + blockIdx.z == 0) {
        unsigned all[] = {gridDim.x, gridDim.y, gridDim.z, blockDim.x, blockDim.y, blockDim.z};
        for (int i = 0; i < 6; i++)
            out[i] = all[i];
    }
}

static int *device; /* 16 ints */
static int host[16];

static void fetch()
{
    OK(cudaGetLastError());
    OK(cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost));
}

static void kinds_of_arguments()
{
    big d = {'x', {0, 0, 0, 0, 0, 0, 0, 0, 7}, 3};

    arguments<<<1, 1>>>(device, -3, -300, 2.5, d, make_float4(1, 2, 3, 4), nullptr, true,
                        0x123456789abcdefull);
    fetch();
    const int expected[] = {-3, -300, 5, 'x' + 10, 5, 1, 1, 1};
    for (int i = 0; i < 8; i++)
        CHECK_EQ_INT(host[i], expected[i]);
}

static void forms()
{
    int by = 3;
    void *args[] = {&device, &by};
    cudaLaunchConfig_t config = {};
    cudaKernel_t kernel;
    cudaFunction_t function;

    auto prepare = [] {
        for (int i = 0; i < 16; i++)
            host[i] = i;
        OK(cudaMemcpy(device, host, sizeof host, cudaMemcpyHostToDevice));
    };
    auto check = [] {
        fetch();
        for (int i = 0; i < 16; i++)
            CHECK_EQ_INT(host[i], (15 - i) * 3 + 8);
    };
    prepare();
    scale<int, 8><<<1, 16, 64>>>(device, by);
    check();
    prepare();
    OK(cudaLaunchKernel(scale<int, 8>, dim3(1), dim3(16), args, 64, 0));
    check();
    prepare();
    config.gridDim = 1;
    config.blockDim = 16;
    config.dynamicSmemBytes = 64;
    OK(cudaLaunchKernelExC(&config, (const void *)scale<int, 8>, args));
    check();
    prepare();
    OK(cudaLaunchKernelEx(&config, scale<int, 8>, device, 3L)); /* converted to int */
    check();
    prepare();
    OK(cudaLaunchCooperativeKernel(scale<int, 8>, dim3(1), dim3(16), args, 64, 0));
    check();
    prepare();
    OK(cudaGetKernel(&kernel, scale<int, 8>));
    OK(cudaLaunchKernel((const void *)kernel, dim3(1), dim3(16), args, 64, 0));
    check();
    prepare();
    OK(cudaGetFuncBySymbol(&function, (const void *)scale<int, 8>));
    CHECK_EQ_INT(cuLaunchKernel(function, 1, 1, 1, 16, 1, 1, 64, 0, args, nullptr), CUDA_SUCCESS);
    check();
    /* Through a pointer. */
    void (*pointer)(int *) = hidden;
    pointer<<<1, 1>>>(device);
    fetch();
    CHECK_EQ_INT(host[0], 5);
    file_static<<<dim3(1, 1, 1), dim3(1)>>>(device);
    fetch();
    CHECK_EQ_INT(host[0], 6);
}

static void shapes()
{
    const dim3 grids[] = {dim3(1), dim3(5, 4, 3), dim3(100000), dim3(1, 65535)};
    const dim3 blocks[] = {dim3(1), dim3(3, 5, 7), dim3(1024), dim3(1, 1024), dim3(2, 2, 64)};

    for (dim3 g : grids)
        for (dim3 b : blocks) {
            if ((size_t)g.x * g.y * g.z * b.x * b.y * b.z > 3000000)
                continue;
            shape<<<g, b>>>((unsigned *)device);
            fetch();
            const unsigned *s = (const unsigned *)host;
            CHECK(s[0] == g.x && s[1] == g.y && s[2] == g.z);
            CHECK(s[3] == b.x && s[4] == b.y && s[5] == b.z);
        }
}

/* More values at once than there are registers for 1024 threads, or for 8 blocks of 128. */
template <int THREADS, int BLOCKS>
__global__ void __launch_bounds__(THREADS, BLOCKS) many_values(double *p, int n)
{
    double v[100];
#pragma unroll
    for (int i = 0; i < 100; i++)
        v[i] = p[i * n + threadIdx.x];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 100; i++)
        p[i * n + threadIdx.x] = v[99 - i] * n;
}

static void occupancies()
{
    int blocks = 0;
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, many_values<1024, 1>, 1024, 0));
    CHECK_EQ_INT(blocks, 1);
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, many_values<512, 1>, 512, 0));
    CHECK(blocks >= 1);
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, many_values<128, 8>, 128, 0));
    CHECK(blocks >= 8);
}

static void facts()
{
    size_t offset, size, shared;
    int blocks, grid, block, optin;
    cudaFuncAttributes a;
    const char *name;

    OK(cudaFuncGetAttributes(&a, scale<double, 1>));
    CHECK_EQ_INT(a.sharedSizeBytes, 0);
    CHECK_EQ_INT(a.maxThreadsPerBlock, 1024);
    CHECK(a.numRegs > 0 && a.numRegs <= 255);
    CHECK(a.ptxVersion >= 50 && a.binaryVersion >= 50);
    CHECK_EQ_INT(a.maxDynamicSharedSizeBytes, 48 * 1024);
    OK(cudaFuncGetAttributes(&a, bounded));
    CHECK_EQ_INT(a.maxThreadsPerBlock, 128);
    OK(cudaDeviceGetAttribute(&optin, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
    OK(cudaFuncSetAttribute(scale<int, 8>, cudaFuncAttributeMaxDynamicSharedMemorySize, optin));
    OK(cudaFuncGetAttributes(&a, scale<int, 8>));
    CHECK_EQ_INT(a.maxDynamicSharedSizeBytes, optin);
    scale<int, 8><<<1, 16, optin>>>(device, 1);
    OK(cudaGetLastError());
    OK(cudaDeviceSynchronize());
    OK(cudaFuncSetCacheConfig(hidden, cudaFuncCachePreferL1));
    OK(cudaFuncGetName(&name, bounded));
    CHECK(strstr(name, "bounded") != nullptr);
    OK(cudaFuncGetParamInfo((const void *)arguments, 4, &offset, &size));
    CHECK_EQ_INT(size, sizeof(big));
    CHECK_EQ_INT(offset % 8, 0);
    CHECK_EQ_INT(cudaFuncGetParamInfo((const void *)arguments, 9, &offset, &size),
                 cudaErrorInvalidValue);
    cudaGetLastError();
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, hidden, 256, 0));
    CHECK(blocks >= 1);
    OK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, bounded, 0, 0));
    CHECK(block == 128 && grid >= 1);
    OK(cudaOccupancyAvailableDynamicSMemPerBlock(&shared, hidden, 1, 256));
    CHECK(shared >= 48 * 1024);
}

int main()
{
    OK(cudaMalloc(&device, sizeof host));
    kinds_of_arguments();
    forms();
    shapes();
    facts();
    occupancies();
    OK(cudaFree(device));
    OK(cudaDeviceSynchronize());
    return check_done();
}
