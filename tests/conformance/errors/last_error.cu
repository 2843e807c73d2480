/* E1.2: the last error of each thread, and the code of each wrong argument. */
#include <thread>

#include "check.h"

#define ERROR(call, code)                                                                          \
    do {                                                                                           \
        CHECK_STR(cudaGetErrorName(call), #code);                                                  \
        CHECK_STR(cudaGetErrorName(cudaGetLastError()), #code);                                    \
    } while (0)
#define OK(call) CHECK_STR(cudaGetErrorName(call), "cudaSuccess")

__global__ void nothing(int *p) {}
__global__ void __launch_bounds__(64) small(int *p) {}
__global__ void wait_for(volatile int *flag)
{
    while (*flag == 0)
        ;
}
__device__ int variable[16];
static int not_a_variable;

static void last_error()
{
    int *p;

    OK(cudaGetLastError());
    CHECK_EQ_INT(cudaSetDevice(-1), cudaErrorInvalidDevice);
    OK(cudaMalloc(&p, 4));
    /* A success leaves it, looking leaves it, taking clears it. */
    CHECK_EQ_INT(cudaPeekAtLastError(), cudaErrorInvalidDevice);
    CHECK_EQ_INT(cudaPeekAtLastError(), cudaErrorInvalidDevice);
    /* A later error replaces it. */
    CHECK_EQ_INT(cudaMalloc(&p, ~(size_t)0 >> 1), cudaErrorMemoryAllocation);
    std::thread([] {
        OK(cudaPeekAtLastError());
        CHECK_EQ_INT(cudaSetDevice(1000), cudaErrorInvalidDevice);
    }).join();
    CHECK_EQ_INT(cudaGetLastError(), cudaErrorMemoryAllocation);
    OK(cudaGetLastError());
    /* A launch reports through it. */
    nothing<<<1, 0>>>(p);
    CHECK_EQ_INT(cudaPeekAtLastError(), cudaErrorInvalidValue);
    CHECK_EQ_INT(cudaGetLastError(), cudaErrorInvalidValue);
    OK(cudaDeviceSynchronize());
}

static void not_ready_is_not_kept()
{
    volatile int *flag;
    cudaEvent_t event;
    cudaStream_t stream;

    OK(cudaMallocHost((void **)&flag, sizeof *flag));
    *flag = 0;
    OK(cudaStreamCreate(&stream));
    OK(cudaEventCreate(&event));
    wait_for<<<1, 1, 0, stream>>>(flag);
    OK(cudaEventRecord(event, stream));
    CHECK_EQ_INT(cudaStreamQuery(stream), cudaErrorNotReady);
    CHECK_EQ_INT(cudaEventQuery(event), cudaErrorNotReady);
    OK(cudaGetLastError());
    *flag = 1;
    OK(cudaStreamSynchronize(stream));
    OK(cudaStreamQuery(stream));
    OK(cudaEventQuery(event));
    OK(cudaEventDestroy(event));
    OK(cudaStreamDestroy(stream));
    OK(cudaFreeHost((void *)flag));
}

static void devices()
{
    int n, value;
    cudaDeviceProp prop;

    OK(cudaGetDeviceCount(&n));
    ERROR(cudaGetDeviceCount(nullptr), cudaErrorInvalidValue);
    ERROR(cudaSetDevice(n), cudaErrorInvalidDevice);
    ERROR(cudaGetDevice(nullptr), cudaErrorInvalidValue);
    ERROR(cudaGetDeviceProperties(&prop, n), cudaErrorInvalidDevice);
    ERROR(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, n), cudaErrorInvalidDevice);
    ERROR(cudaDeviceGetAttribute(nullptr, cudaDevAttrWarpSize, 0), cudaErrorInvalidValue);
    ERROR(cudaDeviceGetAttribute(&value, (cudaDeviceAttr)100000, 0), cudaErrorInvalidValue);
    ERROR(cudaSetDeviceFlags(0x10000), cudaErrorInvalidValue);
    ERROR(cudaDeviceGetPCIBusId(nullptr, 10, 0), cudaErrorInvalidValue);
    ERROR(cudaDeviceGetByPCIBusId(&value, "no such place"), cudaErrorInvalidValue);
    ERROR(cudaRuntimeGetVersion(nullptr), cudaErrorInvalidValue);
    ERROR(cudaDriverGetVersion(nullptr), cudaErrorInvalidValue);
}

static void memory()
{
    void *p, *q;
    size_t pitch;
    char host[64];

    ERROR(cudaMalloc((void **)nullptr, 4), cudaErrorInvalidValue);
    OK(cudaMalloc(&p, 0));
    CHECK(p == nullptr);
    OK(cudaFree(nullptr));
    OK(cudaFreeHost(nullptr));
    ERROR(cudaFree(host), cudaErrorInvalidValue);
    ERROR(cudaFreeHost(host), cudaErrorInvalidValue);
    OK(cudaMalloc(&p, 256));
    ERROR(cudaFree((char *)p + 1), cudaErrorInvalidValue);
    OK(cudaFree(p));
    ERROR(cudaFree(p), cudaErrorInvalidValue);
    OK(cudaMallocManaged(&p, 0));
    ERROR(cudaMallocManaged(&p, 4, 8), cudaErrorInvalidValue);
    ERROR(cudaHostAlloc(&p, 4, 0x100), cudaErrorInvalidValue);
    ERROR(cudaMallocPitch(&p, (size_t *)nullptr, 4, 4), cudaErrorInvalidValue);
    OK(cudaMallocPitch(&p, &pitch, 100, 3));
    CHECK(pitch >= 100);
    OK(cudaFree(p));
    ERROR(cudaHostRegister(nullptr, 4, 0), cudaErrorInvalidValue);
    ERROR(cudaHostRegister(host, 0, 0), cudaErrorInvalidValue);
    ERROR(cudaHostUnregister(host), cudaErrorHostMemoryNotRegistered);
    ERROR(cudaHostGetDevicePointer(&q, nullptr, 0), cudaErrorInvalidValue);
    OK(cudaMemGetInfo(nullptr, nullptr));
    ERROR(cudaPointerGetAttributes(nullptr, host), cudaErrorInvalidValue);
}

static void copies()
{
    char *p, host[64] = {0};

    OK(cudaMalloc(&p, 64));
    ERROR(cudaMemcpy(p, host, 4, (cudaMemcpyKind)5), cudaErrorInvalidMemcpyDirection);
    ERROR(cudaMemcpy(p, host, 4, (cudaMemcpyKind)-1), cudaErrorInvalidMemcpyDirection);
    ERROR(cudaMemcpy(p, nullptr, 4, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    ERROR(cudaMemcpy(nullptr, host, 4, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    OK(cudaMemcpy(nullptr, host, 0, cudaMemcpyHostToDevice));
    ERROR(cudaMemcpy(p, host, 65, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    ERROR(cudaMemcpy2D(p, 4, host, 8, 8, 2, cudaMemcpyHostToDevice), cudaErrorInvalidPitchValue);
    ERROR(cudaMemcpy2D(p, 8, host, 4, 8, 2, cudaMemcpyHostToDevice), cudaErrorInvalidPitchValue);
    ERROR(cudaMemset(nullptr, 0, 4), cudaErrorInvalidValue);
    OK(cudaMemset(nullptr, 0, 0));
    ERROR(cudaMemset(p, 0, 65), cudaErrorInvalidValue);
    ERROR(cudaMemcpyToSymbol(variable, host, 65), cudaErrorInvalidValue);
    ERROR(cudaMemcpyToSymbol(variable, host, 1, 64), cudaErrorInvalidValue);
    ERROR(cudaMemcpyToSymbol(variable, host, 4, 0, cudaMemcpyDeviceToHost),
          cudaErrorInvalidMemcpyDirection);
    ERROR(cudaMemcpyFromSymbol(host, variable, 4, 0, cudaMemcpyHostToDevice),
          cudaErrorInvalidMemcpyDirection);
    ERROR(cudaMemcpyToSymbol(&not_a_variable, host, 4), cudaErrorInvalidSymbol);
    ERROR(cudaGetSymbolAddress((void **)&p, &not_a_variable), cudaErrorInvalidSymbol);
    OK(cudaFree(p));
}

static void streams_and_events()
{
    cudaStream_t stream;
    cudaEvent_t event, other;
    float ms;
    unsigned flags;

    ERROR(cudaStreamCreate(nullptr), cudaErrorInvalidValue);
    ERROR(cudaStreamCreateWithFlags(&stream, 2), cudaErrorInvalidValue);
    ERROR(cudaStreamDestroy(nullptr), cudaErrorInvalidResourceHandle);
    ERROR(cudaStreamGetFlags(nullptr, (unsigned *)nullptr), cudaErrorInvalidValue);
    OK(cudaStreamGetFlags(nullptr, &flags));
    ERROR(cudaEventCreate(nullptr), cudaErrorInvalidValue);
    ERROR(cudaEventCreateWithFlags(&event, 0x100), cudaErrorInvalidValue);
    ERROR(cudaEventCreateWithFlags(&event, cudaEventInterprocess), cudaErrorInvalidValue);
    ERROR(cudaEventDestroy(nullptr), cudaErrorInvalidResourceHandle);
    ERROR(cudaEventRecord(nullptr), cudaErrorInvalidResourceHandle);
    ERROR(cudaEventQuery(nullptr), cudaErrorInvalidResourceHandle);
    ERROR(cudaEventSynchronize(nullptr), cudaErrorInvalidResourceHandle);
    ERROR(cudaStreamWaitEvent(nullptr, nullptr, 0), cudaErrorInvalidResourceHandle);
    ERROR(cudaLaunchHostFunc(nullptr, nullptr, nullptr), cudaErrorInvalidValue);
    OK(cudaEventCreate(&event));
    OK(cudaEventCreateWithFlags(&other, cudaEventDisableTiming));
    ERROR(cudaEventElapsedTime(&ms, event, event), cudaErrorInvalidResourceHandle);
    OK(cudaEventRecord(event));
    OK(cudaEventRecord(other));
    ERROR(cudaEventElapsedTime(&ms, event, other), cudaErrorInvalidResourceHandle);
    ERROR(cudaEventElapsedTime(nullptr, event, event), cudaErrorInvalidValue);
    OK(cudaDeviceSynchronize());
    OK(cudaEventElapsedTime(&ms, event, event));
    OK(cudaEventDestroy(event));
    OK(cudaEventDestroy(other));
}

static void launches()
{
    int *p = nullptr, blocks;
    void *args[] = {&p};
    cudaFuncAttributes attributes;

#define LAUNCH(grid, block, shared, code)                                                          \
    do {                                                                                           \
        nothing<<<grid, block, shared>>>(p);                                                       \
        CHECK_STR(cudaGetErrorName(cudaGetLastError()), #code);                                    \
    } while (0)
    LAUNCH(1, 1024, 0, cudaSuccess);
    LAUNCH(0, 1, 0, cudaErrorInvalidValue);
    LAUNCH(1, 0, 0, cudaErrorInvalidValue);
    LAUNCH(1, 1025, 0, cudaErrorInvalidValue);
    LAUNCH(1, dim3(32, 33), 0, cudaErrorInvalidValue);
    LAUNCH(1, dim3(1, 1, 65), 0, cudaErrorInvalidValue);
    LAUNCH(dim3(1, 65536), 1, 0, cudaErrorInvalidValue);
    LAUNCH(dim3(1, 1, 65536), 1, 0, cudaErrorInvalidValue);
    LAUNCH(1, 1, 48 * 1024, cudaSuccess);
    LAUNCH(1, 1, 48 * 1024 + 1, cudaErrorInvalidValue);
    OK(cudaFuncGetAttributes(&attributes, small));
    CHECK_EQ_INT(attributes.maxThreadsPerBlock, 64);
    ERROR(cudaLaunchKernel((const void *)&not_a_variable, dim3(1), dim3(1), args, 0, 0),
          cudaErrorInvalidResourceHandle);
    ERROR(cudaLaunchKernel((const void *)nullptr, dim3(1), dim3(1), args, 0, 0),
          cudaErrorInvalidDeviceFunction);
    ERROR(cudaFuncGetAttributes(&attributes, (const void *)&not_a_variable),
          cudaErrorInvalidResourceHandle);
    ERROR(cudaFuncSetAttribute(nothing, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 30),
          cudaErrorInvalidValue);
    ERROR(cudaFuncSetAttribute(nothing, (cudaFuncAttribute)99, 1), cudaErrorInvalidValue);
    ERROR(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &not_a_variable, 32, 0),
          cudaErrorInvalidResourceHandle);
    OK(cudaDeviceSynchronize());
}

int main()
{
    last_error();
    not_ready_is_not_kept();
    devices();
    memory();
    copies();
    streams_and_events();
    launches();
    return check_done();
}
