/* S7.1, S7.2, S7.4: devices: one current per host thread, flags, limits, properties that agree with
 * attributes, and a reset after which everything works again. */
#include <chrono>
#include <cstring>
#include <ctime>
#include <thread>
#include <vector>

#include "check.h"

#define OK(call) CHECK_STR(cudaGetErrorName(call), "cudaSuccess")

__device__ int variable = 3;
__global__ void bump(int *out) { *out = ++variable; }

static int attribute(cudaDeviceAttr a)
{
    int value = -1;

    OK(cudaDeviceGetAttribute(&value, a, 0));
    return value;
}

static void properties()
{
    cudaDeviceProp p;
    char id[32], again[32];
    int device = -1, version;

    OK(cudaGetDeviceProperties(&p, 0));
    CHECK(strlen(p.name) > 0);
    CHECK_EQ_INT(p.warpSize, 32);
    CHECK_EQ_INT(p.major, attribute(cudaDevAttrComputeCapabilityMajor));
    CHECK_EQ_INT(p.minor, attribute(cudaDevAttrComputeCapabilityMinor));
    CHECK_EQ_INT(p.multiProcessorCount, attribute(cudaDevAttrMultiProcessorCount));
    CHECK_EQ_INT(p.maxThreadsPerBlock, attribute(cudaDevAttrMaxThreadsPerBlock));
    CHECK_EQ_INT(p.maxGridSize[1], attribute(cudaDevAttrMaxGridDimY));
    CHECK_EQ_INT(p.sharedMemPerBlock, attribute(cudaDevAttrMaxSharedMemoryPerBlock));
    CHECK_EQ_INT(p.sharedMemPerBlockOptin, attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin));
    CHECK_EQ_INT(p.unifiedAddressing, 1);
    CHECK_EQ_INT(p.canMapHostMemory, attribute(cudaDevAttrCanMapHostMemory));
    CHECK_EQ_INT(p.pageableMemoryAccess, attribute(cudaDevAttrPageableMemoryAccess));
    CHECK(p.totalGlobalMem > 0 && p.totalConstMem == 65536);
    CHECK(p.maxThreadsPerMultiProcessor >= p.maxThreadsPerBlock);
    OK(cudaDeviceGetPCIBusId(id, sizeof id, 0));
    OK(cudaDeviceGetByPCIBusId(&device, id));
    CHECK_EQ_INT(device, 0);
    OK(cudaDeviceGetPCIBusId(again, sizeof again, device));
    CHECK_STR(id, again);
    OK(cudaChooseDevice(&device, &p));
    CHECK_EQ_INT(device, 0);
    OK(cudaRuntimeGetVersion(&version));
    CHECK_EQ_INT(version / 1000, 13);
    OK(cudaDriverGetVersion(&version));
    CHECK(version >= 13000);
}

static void flags_and_limits()
{
    unsigned flags;
    size_t value;

    OK(cudaGetDeviceFlags(&flags));
    OK(cudaSetDeviceFlags(cudaDeviceScheduleYield));
    OK(cudaGetDeviceFlags(&flags));
    CHECK_EQ_INT(flags & cudaDeviceScheduleMask, cudaDeviceScheduleYield);
    OK(cudaSetDeviceFlags(cudaDeviceScheduleAuto));
    OK(cudaDeviceGetLimit(&value, cudaLimitStackSize));
    CHECK(value >= 1024);
    OK(cudaDeviceGetLimit(&value, cudaLimitPrintfFifoSize));
    CHECK(value >= 1 << 20);
    OK(cudaDeviceGetLimit(&value, cudaLimitMallocHeapSize));
    CHECK_EQ_INT(value, 8 << 20);
    OK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 32 << 20));
    OK(cudaDeviceGetLimit(&value, cudaLimitMallocHeapSize));
    CHECK(value >= 32 << 20);
    /* What is too much, or too little, is cut. */
    OK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, (size_t)1 << 60));
    OK(cudaDeviceGetLimit(&value, cudaLimitMallocHeapSize));
    CHECK(value >= 32 << 20 && value < (size_t)1 << 60);
    OK(cudaDeviceSetLimit(cudaLimitPrintfFifoSize, (size_t)1 << 60));
    OK(cudaDeviceGetLimit(&value, cudaLimitPrintfFifoSize));
    CHECK(value >= 1 << 20 && value <= (size_t)1 << 31);
    OK(cudaDeviceSetLimit(cudaLimitPrintfFifoSize, 0));
    OK(cudaDeviceGetLimit(&value, cudaLimitPrintfFifoSize));
    CHECK(value > 0);
}

static void sleep_a_while(void *) { std::this_thread::sleep_for(std::chrono::milliseconds(200)); }

/* Seconds of the CPU that this thread takes to wait for 0.2 s, with that flag set. */
static double cost_of_waiting(unsigned flag)
{
    timespec before, after;
    unsigned flags;

    OK(cudaSetDeviceFlags(flag));
    OK(cudaGetDeviceFlags(&flags));
    CHECK_EQ_INT(flags & cudaDeviceScheduleMask, flag);
    OK(cudaLaunchHostFunc(0, sleep_a_while, nullptr));
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
    OK(cudaDeviceSynchronize());
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
    return (double)(after.tv_sec - before.tv_sec) + 1e-9 * (double)(after.tv_nsec - before.tv_nsec);
}

/* A thread polls, or polls and yields, or sleeps. */
static void waiting()
{
    double spin = cost_of_waiting(cudaDeviceScheduleSpin);
    cost_of_waiting(cudaDeviceScheduleYield);
    double block = cost_of_waiting(cudaDeviceScheduleBlockingSync);

    CHECK(block < 0.05);
    CHECK(spin > block);
    OK(cudaSetDeviceFlags(cudaDeviceScheduleAuto));
}

static void threads()
{
    std::vector<std::thread> all;

    OK(cudaSetDevice(0));
    for (int i = 0; i < 8; i++)
        all.emplace_back([] {
            int device = -1, value = 0, *out;

            OK(cudaGetDevice(&device));
            CHECK_EQ_INT(device, 0);
            for (int k = 0; k < 20; k++) {
                OK(cudaMalloc(&out, sizeof *out));
                OK(cudaMemset(out, 1, sizeof *out));
                OK(cudaMemcpy(&value, out, sizeof value, cudaMemcpyDeviceToHost));
                CHECK_EQ_INT(value, 0x01010101);
                OK(cudaFree(out));
            }
        });
    for (auto &t : all)
        t.join();
}

static void reset()
{
    int *out, value;

    for (int i = 0; i < 3; i++) {
        OK(cudaMalloc(&out, sizeof *out));
        bump<<<1, 1>>>(out);
        OK(cudaMemcpy(&value, out, sizeof value, cudaMemcpyDeviceToHost));
        CHECK_EQ_INT(value, 4); /* variables have their initial values again */
        OK(cudaDeviceReset());
    }
    OK(cudaDeviceSynchronize());
}

int main()
{
    properties();
    flags_and_limits();
    waiting();
    threads();
    reset();
    OK(cudaGetLastError());
    return check_done();
}
