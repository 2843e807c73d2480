// FLAGS: -rdc=true -lcudadevrt -arch=sm_80 -DCUDA_FORCE_CDP1_IF_SUPPORTED
// GPU: GPUs lost cudaDeviceSynchronize in device code with sm_90
/* D5: kernels that wait for their children: the first generation of dynamic parallelism, which GPUs
 * lost with sm_90 (there, and with toolkits that have it no more, this program has no meaning). The
 * rules are those of the programming guide's chapter on it. */
#include <string.h>

#include "check.h"

#define OK(call) CHECK_STR(cudaGetErrorName(call), "cudaSuccess")

__device__ int results[1024];
static int got[1024];

static void finish()
{
    static const int zeros[sizeof got / sizeof got[0]] = {};
    OK(cudaGetLastError());
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpyFromSymbol(got, results, sizeof results));
    OK(cudaMemcpyToSymbol(results, zeros, sizeof results));
}

/* ---- the guide: 256 values, a child adds one to each, the parent sees it after waiting ---- */

__global__ void add_one(int *data) { data[threadIdx.x] += 1; }
__global__ void write_launch_wait(int *data)
{
    data[threadIdx.x] = (int)threadIdx.x;
    __syncthreads();
    if (threadIdx.x == 0) {
        add_one<<<1, 256>>>(data);
        results[2] = cudaDeviceSynchronize();
    }
    __syncthreads();
    atomicAdd(&results[0], data[threadIdx.x]);
    results[1] = cudaGetLastError();
}

static void test_coherence()
{
    int *data;
    OK(cudaMalloc(&data, 256 * sizeof *data));
    write_launch_wait<<<1, 256>>>(data);
    finish();
    CHECK_EQ_INT(got[0], 256 * 255 / 2 + 256);
    CHECK_EQ_INT(got[1], cudaSuccess);
    CHECK_EQ_INT(got[2], cudaSuccess);
    OK(cudaFree(data));
}

/* ---- for whom it waits ---- */

__global__ void slow_put(int at, int value)
{
    long long end = clock64() + 300000;
    while (clock64() < end)
        continue;
    results[at] = value;
}
/* For all that the block has launched, by whatever thread and into whatever stream. */
__global__ void wait_for_block()
{
    cudaStream_t s;
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    slow_put<<<1, 1, 0, s>>>((int)threadIdx.x, (int)threadIdx.x + 1);
    slow_put<<<1, 1>>>(64 + (int)threadIdx.x, (int)threadIdx.x + 1);
    cudaStreamDestroy(s);
    __syncthreads();
    if (threadIdx.x == 5) {
        int sum = 0;
        cudaDeviceSynchronize();
        for (int k = 0; k < 128; k++)
            sum += ((volatile int *)results)[k];
        results[128] = sum;
    }
}
/* Every thread for itself, in branches and loops. */
__global__ void wait_in_loops()
{
    int mine = 0;
    for (int k = 0; k < (int)threadIdx.x % 4 + 1; k++) {
        slow_put<<<1, 1>>>(200 + (int)threadIdx.x, k + 1);
        if (k % 2 == 0)
            cudaDeviceSynchronize();
        mine += k;
    }
    cudaDeviceSynchronize();
    results[(int)threadIdx.x] = ((volatile int *)results)[200 + threadIdx.x] * 10 + mine;
}
/* Shared memory, local memory and registers live on over it. */
__global__ void keep_state()
{
    __shared__ int shared[64];
    int local[8];
    for (int k = 0; k < 8; k++)
        local[k] = (int)threadIdx.x * k;
    shared[threadIdx.x] = 3 * (int)threadIdx.x;
    __syncthreads();
    slow_put<<<1, 1>>>(250, 1);
    cudaDeviceSynchronize();
    results[threadIdx.x] = shared[63 - threadIdx.x] + local[threadIdx.x % 8];
}

/* Each block for what it has launched itself. */
__global__ void wait_in_blocks()
{
    if (threadIdx.x == 0)
        slow_put<<<1, 1>>>((int)blockIdx.x, (int)blockIdx.x);
    cudaDeviceSynchronize();
    __syncthreads();
    if (threadIdx.x == 31 && ((volatile int *)results)[blockIdx.x] != (int)blockIdx.x)
        results[0] = -1;
}

/* In functions that call themselves and through pointers: a tree that is summed from the leaves,
 * the launching thread waiting in between. */
__device__ __noinline__ int sum_below(int from, int n, int depth)
{
    if (depth > 0)
        return sum_below(from, n, depth - 1);
    for (int k = 0; k < n; k++)
        slow_put<<<1, 1>>>(from + k, from + k);
    cudaDeviceSynchronize();
    int sum = 0;
    for (int k = 0; k < n; k++)
        sum += ((volatile int *)results)[from + k];
    return sum;
}
__device__ int (*const volatile summing)(int, int, int) = sum_below;
__global__ void wait_in_functions()
{
    int t = (int)threadIdx.x, sum = sum_below(8 * t, 4, t % 5);
    if (t % 3 == 0)
        sum += summing(8 * t + 4, 4, 0);
    results[512 + t] = sum;
}

static void test_waits()
{
    wait_for_block<<<1, 64>>>();
    finish();
    CHECK_EQ_INT(got[128], 2 * 64 * 65 / 2);
    wait_in_loops<<<1, 32>>>();
    finish();
    for (int t = 0; t < 32; t++) {
        int n = t % 4 + 1;
        CHECK_EQ_INT(got[t], n * 10 + n * (n - 1) / 2);
    }
    keep_state<<<1, 64>>>();
    finish();
    for (int t = 0; t < 64; t++)
        if (got[t] != 3 * (63 - t) + t * (t % 8))
            CHECK_EQ_INT(got[t], 3 * (63 - t) + t * (t % 8));
    wait_in_functions<<<1, 40>>>();
    finish();
    for (int t = 0; t < 40; t++) {
        int n = t % 3 == 0 ? 8 : 4;
        CHECK_EQ_INT(got[512 + t], 8 * t * n + n * (n - 1) / 2);
    }
    /* more blocks than run at once, all waiting */
    wait_in_blocks<<<256, 32>>>();
    finish();
    for (int b = 0; b < 256; b++)
        if (got[b] != b)
            CHECK_EQ_INT(got[b], b);
}

/* ---- the guide: hello world ---- */

__global__ void hello() { printf("Hello "); }
__global__ void hello_world()
{
    hello<<<1, 1>>>();
    if (cudaGetLastError() != cudaSuccess)
        return;
    if (cudaDeviceSynchronize() != cudaSuccess)
        return;
    printf("World!\n");
    results[0] = 1;
}

/* ---- how deep ---- */

__global__ void wait_deep(int depth, int last)
{
    if (depth < last)
        wait_deep<<<1, 1>>>(depth + 1, last);
    results[depth] = cudaDeviceSynchronize();
    cudaGetLastError();
}

/* Launches are 24 levels deep at most. */
__global__ void launch_deep(int depth)
{
    results[0] = depth;
    launch_deep<<<1, 1>>>(depth + 1);
    if (cudaPeekAtLastError() != cudaSuccess)
        results[1] = cudaGetLastError();
}

static void test_depth()
{
    size_t value;
    launch_deep<<<1, 1>>>(0);
    finish();
    CHECK_EQ_INT(got[0], 24);
    CHECK_EQ_INT(got[1], cudaErrorLaunchMaxDepthExceeded);
    OK(cudaDeviceGetLimit(&value, cudaLimitDevRuntimeSyncDepth));
    CHECK_EQ_INT(value, 2);
    wait_deep<<<1, 1>>>(0, 4);
    finish();
    CHECK_EQ_INT(got[0], cudaSuccess);
    CHECK_EQ_INT(got[1], cudaSuccess);
    CHECK_EQ_INT(got[3], cudaErrorSyncDepthExceeded);
    CHECK_EQ_INT(got[4], cudaErrorSyncDepthExceeded);
    OK(cudaDeviceSetLimit(cudaLimitDevRuntimeSyncDepth, 6));
    OK(cudaDeviceGetLimit(&value, cudaLimitDevRuntimeSyncDepth));
    CHECK_EQ_INT(value, 6);
    wait_deep<<<1, 1>>>(0, 5);
    finish();
    for (int depth = 0; depth < 6; depth++)
        CHECK_EQ_INT(got[depth], cudaSuccess);
}

int main()
{
    test_depth(); /* before other kernels: limits are set for the program */
    test_coherence();
    test_waits();
    hello_world<<<1, 1>>>();
    finish();
    CHECK_EQ_INT(got[0], 1);
    return check_done();
}
