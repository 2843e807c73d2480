// RUN workers-1: WEIR_WORKERS=1
// RUN workers-2: WEIR_WORKERS=2
// RUN workers-5: WEIR_WORKERS=5
/* S8: the barrier of a cooperative grid, passed many times by as many blocks as may be: no block
 * passes it before all have arrived; blocks may wait for each other by other means between two
 * barriers, or between arriving at one and waiting at it, pass different numbers of barriers of their own block, and end at different times;
 * blocks that go through memory in steps of the grid, where they may take turns, miss no element
 * and make none twice; other streams and several such grids go on meanwhile; a block that fails
 * ends the grid. */
#include <cstdlib>
#include <utility>

#include <cooperative_groups.h>

#include "check.h"

#define OK(call) CHECK_STR(cudaGetErrorName(call), "cudaSuccess")

enum { MOST_BLOCKS = 1 << 14, STEPS = 200 };

/* Each block counts its steps; after the barrier, neighbours must have counted as many. */
static __global__ void in_step(volatile int *step, int *wrong, int steps)
{
    auto grid = cooperative_groups::this_grid();
    int me = blockIdx.x, left = me == 0 ? gridDim.x - 1 : me - 1, right = (me + 1) % gridDim.x;
    for (int s = 1; s <= steps; s++) {
        if (threadIdx.x == 0)
            step[me] = s;
        for (int n = 0; n < me % 3; n++)
            __syncthreads();
        grid.sync();
        if (threadIdx.x == blockDim.x - 1 && (step[left] < s || step[right] < s))
            atomicAdd(wrong, 1);
        grid.sync();
    }
}

/* Between barriers a token goes from block to block, backwards in every second step. */
static __global__ void ring(volatile int *token, int *sum, int steps)
{
    auto grid = cooperative_groups::this_grid();
    int blocks = gridDim.x;
    for (int s = 0; s < steps; s++) {
        int turn = s % 2 ? blocks - 1 - (int)blockIdx.x : (int)blockIdx.x;
        if (threadIdx.x == 0) {
            while (*token != s * blocks + turn)
                ;
            *sum += turn + 1;
            __threadfence();
            *token = s * blocks + turn + 1;
        }
        grid.sync();
    }
}

/* Each block arrives, and before it waits at the barrier sees that another one has passed it: the one
 * after it passes at once in this step, which needs that all have arrived. */
static __global__ void passed_by_others(volatile int *passed, int *wrong, int steps)
{
    auto grid = cooperative_groups::this_grid();
    int me = blockIdx.x, next = (me + 1) % gridDim.x;
    for (int s = 0; s < steps; s++) {
        auto token = grid.barrier_arrive();
        if (threadIdx.x == 0 && (me + s) % 2 == 0 && (next + s) % 2 != 0)
            while (passed[next] <= s)
                ;
        grid.barrier_wait(std::move(token));
        if (threadIdx.x == 0)
            passed[me] = s + 1;
        grid.sync();
        if (threadIdx.x == 0 && passed[next] != s + 1)
            atomicAdd(wrong, 1);
        grid.sync();
    }
}

/* Steps over a plane that is walked by one index, and a sum of each: threads go through the loop
 * differently often, leave it in the middle, and wait for others in between. */
static __global__ void stepped(unsigned *plane, unsigned *sums, int count)
{
    auto grid = cooperative_groups::this_grid();
    const int width = 257;
    for (int s = 0; s < 4; s++) {
        const unsigned *from = plane + s % 2 * count;
        unsigned *to = plane + (s + 1) % 2 * count, sum = 0;
        for (int i = grid.thread_rank(); i < count; i += grid.size()) {
            int y = i / width, x = i % width;
            to[i] = 3 * from[i] + (x > 0 ? from[y * width + x - 1] : y);
        }
        grid.sync();
        for (int i = grid.thread_rank(); i < count; i += grid.size()) {
            sum += to[i];
            if (i % 5 == 4)
                break;
        }
        atomicAdd(&sums[s], sum);
        if (threadIdx.x < 40 && s == 2)
            sums[8 + blockIdx.x * 40 + threadIdx.x] = sum;
        grid.sync();
    }
}

static void check_stepped(unsigned *memory, int blocks, int threads, int count)
{
    unsigned *plane = memory + 8 + 40 * blocks, sums[4] = {0}, *host[2];
    for (auto &h : host)
        h = (unsigned *)malloc(count * sizeof **host);
    for (int i = 0; i < count; i++)
        host[0][i] = plane[i] = i * 2654435761u >> 7;
    for (int s = 0; s < 4; s++)
        memory[s] = 0;
    void *args[] = {&plane, &memory, &count};
    OK(cudaLaunchCooperativeKernel((const void *)stepped, dim3(blocks), dim3(threads), args, 0,
                                   nullptr));
    OK(cudaDeviceSynchronize());
    int wrong = 0;
    for (int s = 0; s < 4; s++) {
        unsigned *from = host[s % 2], *to = host[(s + 1) % 2];
        for (int i = 0; i < count; i++)
            to[i] = 3 * from[i] + (i % 257 > 0 ? from[i - 1] : i / 257);
        for (int t = 0; t < blocks * threads; t++) {
            unsigned sum = 0;
            for (int i = t; i < count; i += blocks * threads) {
                sum += to[i];
                if (i % 5 == 4)
                    break;
            }
            sums[s] += sum;
            int lane = t % threads;
            if (s == 2 && lane < 40)
                wrong += memory[8 + t / threads * 40 + lane] != sum;
        }
        CHECK_EQ_INT((int)memory[s], (int)sums[s]);
    }
    for (int i = 0; i < count; i++)
        wrong += plane[i] != host[0][i];
    CHECK_EQ_INT(wrong, 0);
    for (auto &h : host)
        free(h);
}

static __global__ void count_all(int *counter, int rounds)
{
    for (int i = 0; i < rounds; i++)
        atomicAdd(counter, 1);
}

static __global__ void one_fails(volatile int *step)
{
    auto grid = cooperative_groups::this_grid();
    for (int s = 0; s < 50; s++) {
        if (s == 20 && blockIdx.x == gridDim.x / 2 && threadIdx.x == 0)
            __trap();
        step[blockIdx.x] = s;
        grid.sync();
    }
}

static int most_blocks(const void *kernel, int threads)
{
    int each = 0, units = 0;
    OK(cudaDeviceGetAttribute(&units, cudaDevAttrMultiProcessorCount, 0));
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, threads, 0));
    int all = each * units;
    return all < MOST_BLOCKS ? all : MOST_BLOCKS;
}

static void launch(const void *kernel, int blocks, int threads, void *a, void *b, int steps,
                   cudaStream_t stream)
{
    void *args[] = {&a, &b, &steps};
    OK(cudaLaunchCooperativeKernel(kernel, dim3(blocks), dim3(threads), args, 0, stream));
}

int main()
{
    int *memory;
    OK(cudaMallocManaged(&memory, (MOST_BLOCKS + 64) * sizeof *memory));
    int *wrong = memory, *counter = memory + 1, *step = memory + 64;
    *wrong = *counter = 0;
    for (int threads : {1, 32, 160, 512}) {
        const void *kernel = (const void *)in_step;
        int most = most_blocks(kernel, threads);
        for (int blocks : {1, 2, most / 2 + 1, most})
            launch(kernel, blocks, threads, step, wrong, blocks > 300 ? 20 : STEPS, 0);
        OK(cudaDeviceSynchronize());
    }
    CHECK_EQ_INT(*wrong, 0);

    /* a ring of many blocks takes its time where threads are few */
    int blocks = most_blocks((const void *)ring, 64);
    blocks = blocks < 40 ? blocks : 40;
    *step = step[1] = 0;
    launch((const void *)ring, blocks, 64, step, step + 1, 30, 0);
    OK(cudaDeviceSynchronize());
    CHECK_EQ_INT(*step, 30 * blocks);
    CHECK_EQ_INT(step[1], 30 * blocks * (blocks + 1) / 2);

    for (int blocks : {2, 5, most_blocks((const void *)passed_by_others, 64)}) {
        for (int b = 0; b < blocks; b++)
            step[b] = 0;
        launch((const void *)passed_by_others, blocks, 64, step, wrong, blocks > 300 ? 5 : 50, 0);
        OK(cudaDeviceSynchronize());
        CHECK_EQ_INT(step[blocks - 1], blocks > 300 ? 5 : 50);
    }
    CHECK_EQ_INT(*wrong, 0);

    unsigned *planes;
    const int largest = 150000;
    OK(cudaMallocManaged(&planes, (2 * largest + 40 * 8 + 8) * sizeof *planes));
    for (int threads : {32, 96, 250})
        for (int count : {1, 900, 40000, largest})
            check_stepped(planes, threads == 96 ? 1 : 5, threads, count);
    OK(cudaFree(planes));

    /* several at once, and other work beside; a GPU may run them one after the other */
    cudaStream_t streams[4];
    for (auto &s : streams)
        OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    for (int round = 0; round < 5; round++) {
        for (int n = 0; n < 3; n++)
            launch((const void *)in_step, 8, 96, step + 100 * n, wrong, 50, streams[n]);
        count_all<<<64, 32, 0, streams[3]>>>(counter, 10);
    }
    OK(cudaDeviceSynchronize());
    CHECK_EQ_INT(*wrong, 0);
    CHECK_EQ_INT(*counter, 5 * 64 * 32 * 10);

    void *args[] = {&step};
    OK(cudaLaunchCooperativeKernel((const void *)one_fails,
                                   dim3(most_blocks((const void *)one_fails, 64)), dim3(64), args,
                                   0, nullptr));
    CHECK_STR(cudaGetErrorName(cudaDeviceSynchronize()), "cudaErrorLaunchFailure");
    return check_done();
}
