// FLAGS: -rdc=true -lcudadevrt
/* D7: the runtime API that kernels call: memory, copies, facts about the device and kernels,
 * errors.
 */
#include <string.h>

#include "check.h"

#define OK(call) CHECK_STR(cudaGetErrorName(call), "cudaSuccess")

__device__ int results[256];
__device__ char text[256];
__device__ int *kept;
static int got[256];

static void finish()
{
    static const int zeros[256] = {};
    OK(cudaGetLastError());
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpyFromSymbol(got, results, sizeof results));
    OK(cudaMemcpyToSymbol(results, zeros, sizeof results));
}

/* ---- memory ---- */

__global__ void fill(int *p, int n, int value)
{
    for (int k = threadIdx.x; k < n; k += blockDim.x)
        p[k] = value + k;
}
__global__ void sum(const int *p, int n, int at)
{
    for (int k = threadIdx.x; k < n; k += blockDim.x)
        atomicAdd(&results[at], p[k]);
}
__global__ void release(int *p) { results[20 + threadIdx.x] = cudaFree(threadIdx.x == 0 ? p : 0); }

__global__ void allocate()
{
    int *p = NULL, *none = NULL;
    results[0] = cudaMalloc(&p, 1000 * sizeof *p);
    results[1] = p != NULL && (size_t)p % 16 == 0 && __isGlobal(p);
    fill<<<1, 64>>>(p, 1000, 5);
    sum<<<1, 64>>>(p, 1000, 2);
    release<<<1, 2>>>(p);
    results[3] = cudaMalloc(&none, (size_t)1 << 40);
    results[4] = cudaGetLastError();
    results[5] = cudaMalloc((void **)&kept, sizeof *kept); /* lives on after the kernel */
    *kept = 17;
}
__global__ void use_kept()
{
    results[0] = *kept;
    results[1] = cudaFree(kept);
}
/* Each thread its own. */
__global__ void allocate_each()
{
    int *p;
    if (cudaMalloc(&p, 64) != cudaSuccess)
        return;
    for (int k = 0; k < 16; k++)
        p[k] = (int)threadIdx.x;
    int mine = 0;
    for (int k = 0; k < 16; k++)
        mine += p[k] == (int)threadIdx.x;
    atomicAdd(&results[0], mine);
    cudaFree(p);
}

static void test_memory()
{
    allocate<<<1, 1>>>();
    finish();
    CHECK_EQ_INT(got[0], cudaSuccess);
    CHECK_EQ_INT(got[1], 1);
    CHECK_EQ_INT(got[2], 1000 * 5 + 1000 * 999 / 2);
    CHECK_EQ_INT(got[20], cudaSuccess);
    CHECK_EQ_INT(got[21], cudaSuccess);
    CHECK_EQ_INT(got[3], cudaErrorMemoryAllocation);
    CHECK_EQ_INT(got[4], cudaErrorMemoryAllocation);
    CHECK_EQ_INT(got[5], cudaSuccess);
    use_kept<<<1, 1>>>();
    finish();
    CHECK_EQ_INT(got[0], 17);
    CHECK_EQ_INT(got[1], cudaSuccess);
    allocate_each<<<2, 96>>>();
    finish();
    CHECK_EQ_INT(got[0], 2 * 96 * 16);
}

/* ---- copies ---- */

__global__ void copies(int *a, int *b)
{
    fill<<<1, 32>>>(a, 64, 7);
    results[0] = cudaMemsetAsync(a, 0, 16 * sizeof *a);
    results[1] = cudaMemcpyAsync(b, a, 32 * sizeof *a, cudaMemcpyDeviceToDevice);
    sum<<<1, 32>>>(b, 32, 2);
    cudaStream_t s;
    results[3] = cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    results[4] = cudaMemsetAsync(a + 64, 0, 64 * sizeof *a, s);
    fill<<<1, 32, 0, s>>>(a + 64, 64, 0);
    /* four rows of eight from a matrix of sixteen columns */
    results[5] = cudaMemcpy2DAsync(b + 64, 8 * sizeof *b, a + 64, 16 * sizeof *a, 8 * sizeof *a, 4,
                                   cudaMemcpyDeviceToDevice, s);
    results[6] = cudaMemset2DAsync(a + 64, 16 * sizeof *a, 0, 8 * sizeof *a, 4, s);
    results[7] = cudaStreamDestroy(s);
    results[8] = cudaGetLastError();
}

/* From device to device only, and not to arrays. */
__global__ void wrong_copies(int *a, int *b, cudaArray_t array)
{
    results[0] = cudaMemcpyAsync(a, b, 64, cudaMemcpyHostToDevice, 0);
    results[1] = cudaMemcpyAsync(a, b, 64, cudaMemcpyDeviceToHost, 0);
    results[2] = cudaMemcpyAsync(a, b, 64, (cudaMemcpyKind)9, 0);
    cudaGetLastError();
    cudaMemcpy3DParms p = {};
    p.dstArray = array;
    p.srcPtr.ptr = a;
    p.srcPtr.pitch = 64;
    p.srcPtr.xsize = 16;
    p.srcPtr.ysize = 1;
    p.extent.width = 16;
    p.extent.height = 1;
    p.extent.depth = 1;
    p.kind = cudaMemcpyDeviceToDevice;
    results[3] = cudaMemcpy3DAsync(&p, 0);
    results[4] = cudaGetLastError();
}

static void test_wrong_copies(int *a, int *b)
{
    static const int expected[] = {cudaErrorInvalidMemcpyDirection, cudaErrorInvalidMemcpyDirection,
                                   cudaErrorInvalidMemcpyDirection, cudaErrorInvalidValue,
                                   cudaErrorInvalidValue};
    cudaChannelFormatDesc format = cudaCreateChannelDesc<int>();
    cudaArray_t array;
    OK(cudaMallocArray(&array, &format, 16, 4));
    wrong_copies<<<1, 1>>>(a, b, array);
    finish();
    for (int k = 0; k < 5; k++)
        CHECK_EQ_INT(got[k], expected[k]);
    OK(cudaFreeArray(array));
}

static void test_copies()
{
    int *a, *b, host[128];
    OK(cudaMalloc(&a, 128 * sizeof *a));
    OK(cudaMalloc(&b, 128 * sizeof *b));
    copies<<<1, 1>>>(a, b);
    finish();
    CHECK_EQ_INT(got[2], 16 * (16 + 7) + 16 * 15 / 2);
    for (int k = 0; k < 9; k++)
        if (k != 2)
            CHECK_EQ_INT(got[k], cudaSuccess);
    OK(cudaMemcpy(host, b, sizeof host, cudaMemcpyDeviceToHost));
    for (int row = 0; row < 4; row++)
        for (int column = 0; column < 8; column++)
            CHECK_EQ_INT(host[64 + row * 8 + column], row * 16 + column);
    OK(cudaMemcpy(host, a, sizeof host, cudaMemcpyDeviceToHost));
    CHECK_EQ_INT(host[64 + 16 + 7], 0);
    CHECK_EQ_INT(host[64 + 16 + 8], 24);
    test_wrong_copies(a, b);
    OK(cudaFree(a));
    OK(cudaFree(b));
}

/* ---- facts ---- */

__global__ void __launch_bounds__(256) bounded(int *p)
{
    __shared__ int tile[100];
    tile[threadIdx.x % 100] = p[threadIdx.x];
    __syncthreads();
    p[threadIdx.x] = tile[(threadIdx.x + 1) % 100];
}
__device__ cudaFuncAttributes attributes;

__global__ void ask()
{
    int value = -1;
    size_t limit;
    results[0] = cudaGetDevice(&value);
    results[1] = value;
    results[2] = cudaGetDeviceCount(&value);
    results[3] = value;
    results[4] = cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0);
    results[5] = value;
    results[6] = cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 0);
    results[7] = value;
    results[8] = cudaDeviceGetLimit(&limit, cudaLimitMallocHeapSize);
    results[9] = (int)limit;
    results[10] = cudaFuncGetAttributes(&attributes, bounded);
    results[11] = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&value, bounded, 128, 0);
    results[12] = value;
    results[13] = cudaRuntimeGetVersion(&value);
    results[14] = value > 0;
    results[15] = cudaGetLastError();
}

static void test_facts()
{
    int value;
    size_t limit;
    cudaFuncAttributes host, device;
    ask<<<1, 1>>>();
    finish();
    for (int k = 0; k < 16; k++)
        if (k < 11 ? k % 2 == 0 : k == 11 || k == 13 || k == 15)
            CHECK_EQ_INT(got[k], cudaSuccess);
    OK(cudaGetDevice(&value));
    CHECK_EQ_INT(got[1], value);
    OK(cudaGetDeviceCount(&value));
    CHECK_EQ_INT(got[3], value);
    OK(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0));
    CHECK_EQ_INT(got[5], value);
    CHECK_EQ_INT(got[7], 32);
    OK(cudaDeviceGetLimit(&limit, cudaLimitMallocHeapSize));
    CHECK_EQ_INT(got[9], limit);
    OK(cudaFuncGetAttributes(&host, bounded));
    OK(cudaMemcpyFromSymbol(&device, attributes, sizeof device));
    CHECK_EQ_INT(device.maxThreadsPerBlock, host.maxThreadsPerBlock);
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&value, bounded, 128, 0));
    CHECK_EQ_INT(got[12], value);
    CHECK_EQ_INT(got[14], 1);
}

/* ---- errors ---- */

__device__ void put_text(const char *from, int at)
{
    for (int k = 0; k < 100; k++) {
        text[at + k] = from[k];
        if (from[k] == '\0')
            break;
    }
}
/* Each thread has its own last error. */
__global__ void own_errors()
{
    void *p;
    if (threadIdx.x % 2 == 1)
        cudaMalloc(&p, (size_t)1 << 40);
    __syncthreads();
    results[threadIdx.x] = cudaPeekAtLastError();
    results[64 + threadIdx.x] = cudaGetLastError();
    results[128 + threadIdx.x] = cudaGetLastError();
    if (threadIdx.x == 0) {
        put_text(cudaGetErrorName(cudaErrorInvalidValue), 0);
        put_text(cudaGetErrorString(cudaErrorInvalidValue), 128);
    }
}

static void test_errors()
{
    char names[256];
    own_errors<<<1, 64>>>();
    finish();
    int wrong = 0;
    for (int k = 0; k < 64; k++) {
        int expected = k % 2 == 1 ? cudaErrorMemoryAllocation : cudaSuccess;
        wrong += got[k] != expected || got[64 + k] != expected || got[128 + k] != cudaSuccess;
    }
    CHECK_EQ_INT(wrong, 0);
    OK(cudaMemcpyFromSymbol(names, text, sizeof names));
    CHECK_STR(names, cudaGetErrorName(cudaErrorInvalidValue));
    CHECK_STR(names + 128, cudaGetErrorString(cudaErrorInvalidValue));
    /* a thread's errors end with it and are not the host's */
    OK(cudaGetLastError());
}

int main()
{
    test_memory();
    test_copies();
    test_facts();
    test_errors();
    return check_done();
}
