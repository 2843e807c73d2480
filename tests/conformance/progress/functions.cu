// RUN workers-1: WEIR_WORKERS=1
// RUN baseline: WEIR_JIT=baseline
/* S8.4: a thread may wait for another thread of its warp, of its block or of a block before it in a
 * function that is recursive or called through a pointer. */
#include "check.h"

// Each wait is for another thread's write.

__device__ __noinline__ int await(volatile int *flag, int value, int depth)
{
    if (depth > 0)
        return await(flag, value, depth - 1) + 1;
    while (*flag != value)
        ;
    __threadfence();
    return 0;
}

// ---- warps of a block hand on a token, the last warp first ----

__global__ void hand_on_recursive(int *out, int warps)
{
    __shared__ volatile int token;
    if (threadIdx.x == 0)
        token = warps - 1;
    __syncthreads();
    int warp = threadIdx.x / 32;
    int depth = await(&token, warp, threadIdx.x % 7);
    out[blockIdx.x * blockDim.x + threadIdx.x] = depth * 1000 + warp;
    __syncwarp();
    if (threadIdx.x % 32 == 0)
        token = warp - 1;
}

struct waits {
    __device__ virtual int turn(volatile int *flag, int value) = 0;
    __device__ virtual ~waits() {}
};

struct waits_plainly : waits {
    __device__ int turn(volatile int *flag, int value) override
    {
        while (*flag < value)
            ;
        return value;
    }
};

struct waits_by_atomics : waits {
    __device__ int turn(volatile int *flag, int value) override
    {
        while (atomicAdd((int *)flag, 0) < value)
            ;
        return value + 100;
    }
};

// Lanes of a warp go to different functions, each of which waits for a later warp.
__global__ void hand_on_virtual(int *out, int warps)
{
    __shared__ int count;
    waits_plainly a;
    waits_by_atomics b;
    if (threadIdx.x == 0)
        count = 0;
    __syncthreads();
    int warp = threadIdx.x / 32;
    waits *w = threadIdx.x % 3 == 0 ? (waits *)&a : (waits *)&b;
    int got = w->turn(&count, (warps - 1 - warp) * 32);
    atomicAdd(&count, 1);
    out[blockIdx.x * blockDim.x + threadIdx.x] = got;
}

// ---- a loop of the kernel that polls by calls ----

typedef bool (*ready_fn)(volatile int *);

__device__ bool is_one(volatile int *p) { return *p == 1; }
__device__ bool is_two(volatile int *p) { return *p == 2; }
__device__ ready_fn tests[2] = {is_one, is_two};

__global__ void polls_by_pointer(int *out)
{
    __shared__ int flag;
    if (threadIdx.x == 0)
        flag = 0;
    __syncthreads();
    if (threadIdx.x / 32 < 2) {
        ready_fn ready = tests[threadIdx.x / 32 ^ 1];
        while (!ready(&flag))
            ;
        if (threadIdx.x == 32)
            atomicExch(&flag, 2);
    } else if (threadIdx.x == 64) {
        atomicExch(&flag, 1);
    }
    out[threadIdx.x] = (int)threadIdx.x + 1;
}

// ---- lanes of one warp ----

__device__ __noinline__ int gives(volatile int *flag, int value, int depth)
{
    if (depth > 0)
        return gives(flag, value, depth - 1);
    *flag = value;
    return value;
}

__global__ void lanes_of_a_warp(int *out, volatile int *flags)
{
    int lane = threadIdx.x % 32;
    volatile int *flag = flags + blockIdx.x;
    int got;
    if (lane < 16)
        got = await(flag, 7, 2);
    else
        got = gives(flag, 7, lane % 3);
    out[blockIdx.x * blockDim.x + threadIdx.x] = got;
}

// ---- blocks: a chain from the last to the first; each waits in a function ----

__global__ void blocks_wait(int *out, volatile int *chain)
{
    int got = await(chain + blockIdx.x + 1, 1, 3);
    __syncthreads();
    if (threadIdx.x == 0)
        chain[blockIdx.x] = 1;
    out[blockIdx.x * blockDim.x + threadIdx.x] = got;
}

// ---- a lock in a recursive function, values in registers and locals across it ----

__device__ int lock;

__device__ __noinline__ int locked_sum(int *sum, int n, int *local)
{
    if (n == 0)
        return local[threadIdx.x % 4];
    int before = local[n % 4];
    for (bool done = false; !done;)
        if (atomicCAS(&lock, 0, 1) == 0) {
            __threadfence();
            *(volatile int *)sum = *(volatile int *)sum + n;
            __threadfence();
            atomicExch(&lock, 0);
            done = true;
        }
    local[n % 4] = before + 1;
    return locked_sum(sum, n - 1, local) + before;
}

__global__ void locks(int *out, int *sum)
{
    int local[4] = {(int)threadIdx.x, 1, 2, 3};
    out[blockIdx.x * blockDim.x + threadIdx.x] = locked_sum(sum, 5, local);
}

static int locked_sum_host(int thread, int *sum)
{
    int local[4] = {thread, 1, 2, 3}, result = 0;
    for (int n = 5; n > 0; n--) {
        *sum += n;
        result += local[n % 4]++;
    }
    return result + local[thread % 4];
}

int main()
{
    const int threads = 512, blocks = 40;
    int *out, *flags;
    CHECK_EQ_INT(cudaSuccess, cudaMallocManaged(&out, blocks * threads * sizeof *out));
    CHECK_EQ_INT(cudaSuccess, cudaMallocManaged(&flags, 1024 * sizeof *flags));

    hand_on_recursive<<<blocks, threads>>>(out, threads / 32);
    CHECK_EQ_INT(cudaSuccess, cudaDeviceSynchronize());
    for (int i = 0; i < blocks * threads; i++)
        CHECK_EQ_INT(out[i], i % threads % 7 * 1000 + i % threads / 32);

    hand_on_virtual<<<blocks, threads>>>(out, threads / 32);
    CHECK_EQ_INT(cudaSuccess, cudaDeviceSynchronize());
    for (int i = 0; i < blocks * threads; i++) {
        int t = i % threads, turn = (threads / 32 - 1 - t / 32) * 32;
        CHECK_EQ_INT(out[i], t % 3 == 0 ? turn : turn + 100);
    }

    polls_by_pointer<<<1, 96>>>(out);
    CHECK_EQ_INT(cudaSuccess, cudaDeviceSynchronize());
    for (int i = 0; i < 96; i++)
        CHECK_EQ_INT(out[i], i + 1);

    for (int i = 0; i < 1024; i++)
        flags[i] = 0;
    lanes_of_a_warp<<<8, 32>>>(out, flags);
    CHECK_EQ_INT(cudaSuccess, cudaDeviceSynchronize());
    for (int i = 0; i < 8 * 32; i++)
        CHECK_EQ_INT(out[i], i % 32 < 16 ? 2 : 7);

    for (int i = 0; i < 1024; i++)
        flags[i] = i == blocks;
    blocks_wait<<<blocks, 64>>>(out, flags);
    CHECK_EQ_INT(cudaSuccess, cudaDeviceSynchronize());
    for (int i = 0; i < blocks * 64; i++)
        CHECK_EQ_INT(out[i], 3);

    flags[0] = 0;
    locks<<<4, 96>>>(out, flags);
    CHECK_EQ_INT(cudaSuccess, cudaDeviceSynchronize());
    int sum = 0;
    for (int i = 0; i < 4 * 96; i++)
        CHECK_EQ_INT(out[i], locked_sum_host(i % 96, &sum));
    CHECK_EQ_INT(flags[0], sum);

    CHECK_EQ_INT(cudaSuccess, cudaFree(out));
    CHECK_EQ_INT(cudaSuccess, cudaFree(flags));
    return check_done();
}
