// RUN workers-1: WEIR_WORKERS=1
// RUN workers-2: WEIR_WORKERS=2
/* S8: forward progress: a kernel that spins on a flag, on another stream, on the host or on another
 * block never stops other streams, in whatever kind of code it spins and however few the
 * CPUs are (this runs with WEIR_WORKERS 1 and 2, too).
 *
 * A GPU runs only so many kernels at once and puts streams into few queues, so the number of
 * streams is small there; on Weir it is 256. */
#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <vector>

#include <cooperative_groups.h>

#include "check.h"

#define OK(call) CHECK_STR(cudaGetErrorName(call), "cudaSuccess")

static int streams = 8;
static std::mt19937 chance(12345);

/* Pointers to page-locked memory, which the host and all kernels see. */
static volatile int *flags, *done;
enum { FLAGS = 4096 };

static void clear()
{
    for (int i = 0; i < FLAGS; i++)
        flags[i] = done[i] = 0;
}

static std::vector<int> shuffled(int n)
{
    std::vector<int> order(n);
    for (int i = 0; i < n; i++)
        order[i] = i;
    std::shuffle(order.begin(), order.end(), chance);
    return order;
}

static std::vector<cudaStream_t> make_streams(int n)
{
    std::vector<cudaStream_t> all(n);
    for (auto &s : all)
        OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    return all;
}

static void drop_streams(std::vector<cudaStream_t> &all)
{
    for (auto s : all)
        OK(cudaStreamDestroy(s));
}

/* ---- many streams ---- */

__global__ void hold(volatile int *flag, volatile int *done)
{
    while (*flag == 0)
        ;
    *done = 1;
}

/* Waits for its own flag, then sets the next one's. */
__global__ void pass_on(volatile int *flag, volatile int *next)
{
    while (*flag == 0)
        ;
    __threadfence_system();
    *next = 1;
}

/* The host releases the streams one by one, in any order, and waits for each of them. */
static void released_by_the_host()
{
    auto all = make_streams(streams);
    clear();
    for (int i = 0; i < streams; i++)
        hold<<<1, 32, 0, all[i]>>>(flags + i, done + i);
    for (int i : shuffled(streams)) {
        CHECK_EQ_INT(cudaStreamQuery(all[i]), cudaErrorNotReady);
        flags[i] = 1;
        OK(cudaStreamSynchronize(all[i]));
        CHECK_EQ_INT(done[i], 1);
    }
    drop_streams(all);
}

/* Each kernel releases the next in an order of its own; the host only the first. */
static void released_by_kernels()
{
    auto all = make_streams(streams);
    clear();
    auto order = shuffled(streams);
    for (int k : shuffled(streams)) {
        int i = order[k], next = k + 1 < streams ? order[k + 1] : streams;
        pass_on<<<1, 1, 0, all[i]>>>(flags + i, flags + next);
    }
    flags[order[0]] = 1;
    OK(cudaDeviceSynchronize());
    CHECK_EQ_INT(flags[streams], 1);
    drop_streams(all);
}

/* Copies, sets and host functions of other streams release, too. */
static void CUDART_CB set_flag(void *flag) { *(volatile int *)flag = 1; }

static void released_by_other_work()
{
    auto all = make_streams(6);
    int *device, one = 1;
    OK(cudaMalloc(&device, 3 * sizeof *device));
    OK(cudaMemset(device, 0, 3 * sizeof *device));
    OK(cudaDeviceSynchronize());
    clear();
    for (int i = 0; i < 3; i++)
        hold<<<1, 1, 0, all[i]>>>(i < 2 ? (volatile int *)device + i : flags, done + i);
    OK(cudaMemcpyAsync(device, &one, sizeof one, cudaMemcpyHostToDevice, all[3]));
    OK(cudaMemsetAsync(device + 1, 1, sizeof one, all[4]));
    OK(cudaLaunchHostFunc(all[5], set_flag, (void *)flags));
    for (int i = 0; i < 3; i++)
        OK(cudaStreamSynchronize(all[i]));
    drop_streams(all);
    OK(cudaFree(device));
}

/* ---- kinds of code ---- */

/* Atomics are made on this: on memory of the host they may undo what the host writes. */
__device__ int rounds;

/* Each lane waits for a flag of its own, which lanes do in any order. */
__global__ void lanes(volatile int *flag, volatile int *done)
{
    if (threadIdx.x % 3 != 0)
        while (flag[threadIdx.x] == 0)
            ;
    else
        do
            atomicAdd(&rounds, 1);
        while (flag[threadIdx.x] == 0);
    done[threadIdx.x] = 1;
}

/* A warp waits for the one after it, without a barrier: the last one goes first. */
__global__ void chain_of_warps(volatile int *flag)
{
    int warp = threadIdx.x / 32;
    if (threadIdx.x + 32 < blockDim.x)
        while (flag[warp + 1] == 0)
            ;
    __threadfence();
    flag[warp] = 1;
}

__device__ __noinline__ int wait_in_function(volatile int *flag)
{
    int rounds = 0;
    while (*flag == 0)
        rounds++;
    return rounds;
}
__device__ __noinline__ int wait_deep(volatile int *flag, int depth)
{
    if (depth == 0)
        return wait_in_function(flag);
    return wait_deep(flag, depth - 1) + 1;
}
__device__ int (*through_pointer)(volatile int *) = wait_in_function;

__global__ void in_function(volatile int *flag, volatile int *done)
{
    wait_in_function(flag);
    done[threadIdx.x] = 1;
}
__global__ void in_recursion(volatile int *flag, volatile int *done)
{
    wait_deep(flag, 3 + (int)threadIdx.x % 2);
    done[threadIdx.x] = 1;
}
__global__ void by_pointer(volatile int *flag, volatile int *done)
{
    through_pointer(flag);
    done[threadIdx.x] = 1;
}
/* A block waits, in a function called through a pointer, for the block after it. */
__global__ void chain_by_pointer(volatile int *flag)
{
    if (threadIdx.x == 0 && blockIdx.x + 1 < gridDim.x)
        through_pointer(flag + blockIdx.x + 1);
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        flag[blockIdx.x] = 1;
    }
}
__global__ void in_switch(volatile int *flag, volatile int *done)
{
    for (int i = 0; i < 3; i++) {
        switch ((threadIdx.x + i) % 3) {
        case 0:
            while (*flag == 0)
                __nanosleep(100);
            break;
        case 1: do { __threadfence();
            } while (atomicCAS(&rounds, 0, 1) < 0 || *flag == 0);
            break;
        default: break;
        }
        __syncthreads();
    }
    done[threadIdx.x] = 1;
}
__global__ void by_ptx(int *flag, volatile int *done)
{
    int seen;
    do {
        asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
    } while (seen == 0);
    do {
        asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
    } while (seen == 0);
    done[threadIdx.x] = 1;
}

/* Starts a kernel in several streams, sees that another stream goes on, releases the first ones,
 * and sees that they end. */
template <typename Launch> static void kind(const char *name, int threads, int held, Launch launch)
{
    const int n = 5;
    auto all = make_streams(n + 1);
    /* Once without waiting: a kernel's first launch may take more stack for all, which on a GPU
     * waits for whatever runs. */
    for (int i = 0; i < FLAGS; i++)
        flags[i] = 1;
    launch(all[0]);
    OK(cudaDeviceSynchronize());
    clear();
    for (int i = 0; i < n; i++)
        launch(all[i]);
    OK(cudaGetLastError());
    flags[FLAGS - 1] = 1;
    hold<<<1, 1, 0, all[n]>>>(flags + FLAGS - 1, done + FLAGS - 1);
    OK(cudaStreamSynchronize(all[n]));
    for (int i = 0; i < n; i++)
        CHECK_EQ_INT(cudaStreamQuery(all[i]), cudaErrorNotReady);
    for (int i : shuffled(held))
        flags[i] = 1;
    OK(cudaDeviceSynchronize());
    int count = 0;
    for (int i = 0; i < threads; i++)
        count += done[i];
    if (!check_count(count == threads))
        printf("%s: %d of %d threads ended\n", name, count, threads);
    drop_streams(all);
}

/* The host waits for what is held only: the stream that releases it must go on without its help. */
static void by_pointer_released_by_a_kernel()
{
    auto all = make_streams(5);
    clear();
    for (int i = 0; i < 4; i++)
        by_pointer<<<1, 32, 0, all[i]>>>(flags + i, done);
    for (int i = 0; i < 4; i++)
        pass_on<<<1, 1, 0, all[4]>>>(flags + 4, flags + i);
    flags[4] = 1;
    for (int i = 0; i < 4; i++)
        OK(cudaStreamSynchronize(all[i]));
    drop_streams(all);
    clear();
    void *arguments[] = {(void *)&flags};
    OK(cudaLaunchCooperativeKernel((const void *)chain_by_pointer, 8, 32, arguments));
    OK(cudaDeviceSynchronize());
    CHECK_EQ_INT(flags[0], 1);
}

static void kinds_of_code()
{
    int *f = (int *)flags;
    kind("lanes", 96, 96, [](cudaStream_t s) { lanes<<<1, 96, 0, s>>>(flags, done); });
    kind("in_function", 64, 1, [](cudaStream_t s) { in_function<<<1, 64, 0, s>>>(flags, done); });
    kind("in_recursion", 64, 1, [](cudaStream_t s) { in_recursion<<<1, 64, 0, s>>>(flags, done); });
    kind("by_pointer", 64, 1, [](cudaStream_t s) { by_pointer<<<1, 64, 0, s>>>(flags, done); });
    kind("in_switch", 96, 1, [](cudaStream_t s) { in_switch<<<1, 96, 0, s>>>(flags, done); });
    kind("by_ptx", 32, 1, [=](cudaStream_t s) { by_ptx<<<1, 32, 0, s>>>(f, done); });
    /* A GPU holds only so many blocks. */
    int blocks = streams == 256 ? 1000 : 200;
    kind("many blocks", 1, 1, [=](cudaStream_t s) { hold<<<blocks, 64, 0, s>>>(flags, done); });
    clear();
    chain_of_warps<<<1, 1024>>>(flags);
    OK(cudaDeviceSynchronize());
    CHECK_EQ_INT(flags[0], 1);
}

/* ---- blocks of one grid ---- */

/* A block waits for the one after it. */
__global__ void chain_of_blocks(volatile int *flag)
{
    if (threadIdx.x == 0 && blockIdx.x + 1 < gridDim.x)
        while (flag[blockIdx.x + 1] == 0)
            ;
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        flag[blockIdx.x] = 1;
    }
}

/* Neighbours exchange values, round by round; a barrier of the grid is between writing and reading,
 * and between reading and the next writing. */
template <typename Barrier>
__device__ void exchange(int *values, int *wrong, int rounds, Barrier wait)
{
    for (int round = 1; round <= rounds; round++) {
        if (threadIdx.x == 0)
            ((volatile int *)values)[blockIdx.x] = round * 1000 + (int)blockIdx.x;
        wait();
        unsigned other = (blockIdx.x + 1) % gridDim.x;
        if (((volatile int *)values)[other] != round * 1000 + (int)other)
            atomicAdd(wrong, 1);
        wait();
    }
}

__global__ void by_group(int *values, int *wrong, int rounds)
{
    auto grid = cooperative_groups::this_grid();
    exchange(values, wrong, rounds, [&] { grid.sync(); });
}

/* The barrier as compilers inline it: a word in the workspace that the environment registers point
 * to. Block 0 adds what makes the top bit flip when all have arrived. */
__device__ void inlined_barrier()
{
    asm volatile("barrier.sync 0;" ::: "memory");
    if (threadIdx.x == 0 && threadIdx.y == 0 && threadIdx.z == 0) {
        unsigned high, low, old, now;
        asm("mov.u32 %0, %%envreg1;" : "=r"(high));
        asm("mov.u32 %0, %%envreg2;" : "=r"(low));
        unsigned long long word = ((unsigned long long)high << 32 | low) + 4;
        unsigned blocks = gridDim.x * gridDim.y * gridDim.z;
        unsigned add = blockIdx.x + blockIdx.y + blockIdx.z == 0 ? 0x80000000u - (blocks - 1) : 1;
        __threadfence();
        asm volatile("atom.add.release.gpu.u32 %0, [%1], %2;"
                     : "=r"(old)
                     : "l"(word), "r"(add)
                     : "memory");
        do {
            asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(now) : "l"(word) : "memory");
        } while (((old ^ now) & 0x80000000u) == 0);
    }
    asm volatile("barrier.sync 0;" ::: "memory");
}

__global__ void by_hand(int *values, int *wrong, int rounds)
{
    exchange(values, wrong, rounds, [] { inlined_barrier(); });
}

/* As many blocks as may be resident together, of the size that is asked for. */
static int resident(const void *kernel, int threads)
{
    int per_sm = 0, sms = 0;
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, kernel, threads, 0));
    OK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
    CHECK(per_sm > 0);
    return std::min(per_sm * sms, 500);
}

static void cooperative(const void *kernel, int threads, int rounds)
{
    int *values, *wrong, seen = -1, blocks = resident(kernel, threads);
    OK(cudaMalloc(&values, 1024 * sizeof *values));
    OK(cudaMalloc(&wrong, sizeof *wrong));
    OK(cudaMemset(wrong, 0, sizeof *wrong));
    void *arguments[] = {&values, &wrong, &rounds};
    OK(cudaLaunchCooperativeKernel(kernel, blocks, threads, arguments));
    OK(cudaMemcpy(&seen, wrong, sizeof seen, cudaMemcpyDeviceToHost));
    CHECK_EQ_INT(seen, 0);
    OK(cudaFree(values));
    OK(cudaFree(wrong));
}

static void blocks_of_a_grid()
{
    int blocks = resident((const void *)chain_of_blocks, 64);
    clear();
    void *arguments[] = {(void *)&flags};
    OK(cudaLaunchCooperativeKernel((const void *)chain_of_blocks, blocks, 64, arguments));
    OK(cudaDeviceSynchronize());
    CHECK_EQ_INT(flags[0], 1);
    for (int threads : {1, 32, 96, 256}) {
        cooperative((const void *)by_group, threads, 20);
        cooperative((const void *)by_hand, threads, 20);
    }
    /* More blocks than can be resident are refused. */
    int wrong = 100000;
    OK(cudaGetLastError());
    CHECK_STR(cudaGetErrorName(cudaLaunchCooperativeKernel((const void *)chain_of_blocks, wrong,
                                                           1024, arguments)),
              "cudaErrorCooperativeLaunchTooLarge");
    cudaGetLastError();
}

/* Two grids with barriers of their own at the same time, while a third kernel spins. */
static void grids_at_once()
{
    auto all = make_streams(3);
    int *values[2], *wrong, seen[2], rounds = 10, threads = 64;
    int blocks = std::max(1, resident((const void *)by_group, threads) / 4);
    OK(cudaMalloc(&wrong, 2 * sizeof *wrong));
    OK(cudaMemset(wrong, 0, 2 * sizeof *wrong));
    for (int i = 0; i < 2; i++)
        OK(cudaMalloc(&values[i], 1024 * sizeof(int)));
    OK(cudaDeviceSynchronize());
    clear();
    hold<<<1, 1, 0, all[2]>>>(flags, done);
    for (int i = 0; i < 2; i++) {
        int *mine = wrong + i;
        void *arguments[] = {&values[i], &mine, &rounds};
        OK(cudaLaunchCooperativeKernel(i == 0 ? (const void *)by_group : (const void *)by_hand,
                                       blocks, threads, arguments, 0, all[i]));
    }
    OK(cudaStreamSynchronize(all[0]));
    OK(cudaStreamSynchronize(all[1]));
    CHECK_EQ_INT(cudaStreamQuery(all[2]), cudaErrorNotReady);
    flags[0] = 1;
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy(seen, wrong, sizeof seen, cudaMemcpyDeviceToHost));
    CHECK_EQ_INT(seen[0] + seen[1], 0);
    OK(cudaFree(values[0]));
    OK(cudaFree(values[1]));
    OK(cudaFree(wrong));
    drop_streams(all);
}

int main()
{
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0); /* GPUs put streams into few queues */
    setenv("CUDA_MODULE_LOADING", "EAGER", 0); /* what loads a kernel may wait for all streams */
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY);
    if (driver != nullptr && dlsym(driver, "weir_last_message") != nullptr)
        streams = 256;
    OK(cudaMallocHost((void **)&flags, FLAGS * sizeof *flags));
    OK(cudaMallocHost((void **)&done, FLAGS * sizeof *done));
    /* Everything is loaded before anything is held. */
    clear();
    flags[0] = 1;
    hold<<<1, 32>>>(flags, done);
    pass_on<<<1, 1>>>(flags, flags + 1);
    OK(cudaDeviceSynchronize());
    released_by_the_host();
    released_by_kernels();
    released_by_other_work();
    kinds_of_code();
    by_pointer_released_by_a_kernel();
    blocks_of_a_grid();
    grids_at_once();
    OK(cudaFreeHost((void *)flags));
    OK(cudaFreeHost((void *)done));
    return check_done();
}
