// RUN workers-1: WEIR_WORKERS=1
// RUN baseline: WEIR_JIT=baseline
// GPU: does not end on an H100, built by nvcc neither: threads that diverge before a barrier in a function
/* S8.5: barriers of the block, in functions that are recursive, virtual or called through a
 * pointer. Every kernel exchanges values in shared memory, so that a barrier which somebody passes
 * too early shows in the results. */
#include <cooperative_groups.h>
#include <cuda/barrier>
#include <dlfcn.h>

#include "check.h"

namespace cg = cooperative_groups;

enum { MOST = 1024 };

// ---- recursion ----

// Each level hands values on to a neighbour, by one barrier before and one after.
__device__ __noinline__ int pass_on(int *s, int depth)
{
    int n = blockDim.x, t = threadIdx.x;
    __syncthreads();
    int got = s[(t + depth + 1) % n];
    __syncthreads();
    s[t] = got + depth;
    int below = depth > 0 ? pass_on(s, depth - 1) : 0;
    __syncthreads();
    return below * 3 + s[(t + 1) % n];
}

__global__ void recursion(int *out)
{
    __shared__ int s[MOST];
    s[threadIdx.x] = threadIdx.x * 7 + blockIdx.x;
    out[blockIdx.x * blockDim.x + threadIdx.x] = pass_on(s, 6);
}

static void recursion_host(int *out, int n, int block)
{
    static int s[MOST], next[MOST];
    for (int t = 0; t < n; t++)
        s[t] = t * 7 + block;
    for (int depth = 6; depth >= 0; depth--) {
        for (int t = 0; t < n; t++)
            next[t] = s[(t + depth + 1) % n] + depth;
        for (int t = 0; t < n; t++)
            s[t] = next[t];
    }
    for (int t = 0; t < n; t++) {
        unsigned r = 0;
        for (int depth = 0; depth <= 6; depth++)
            r = r * 3 + (unsigned)s[(t + 1) % n];
        out[t] = (int)r;
    }
}

// ---- virtual functions ----

struct step {
    __device__ virtual int run(int *s, int value) = 0;
    __device__ virtual ~step() {}
};

struct sync_step : step {
    __device__ int run(int *s, int value) override
    {
        s[threadIdx.x] = value;
        __syncthreads();
        int got = s[(threadIdx.x + 1) % blockDim.x];
        __syncthreads();
        return got;
    }
};

struct group_step : step {
    __device__ int run(int *s, int value) override
    {
        cg::thread_block block = cg::this_thread_block();
        s[block.thread_rank()] = value * 2;
        block.sync();
        int got = s[block.num_threads() - 1 - block.thread_rank()];
        block.sync();
        return got;
    }
};

// Reductions among all threads, and shuffles and __syncwarp within a warp.
struct vote_step : step {
    __device__ int run(int *s, int value) override
    {
        int count = __syncthreads_count(value % 3 == 0);
        int any = __syncthreads_or(value == (int)blockDim.x);
        int all = __syncthreads_and(value >= 0);
        s[threadIdx.x] = value;
        __syncwarp();
        unsigned active = __activemask();
        int neighbour = __shfl_xor_sync(active, value, 1);
        int same = s[threadIdx.x ^ 1] == neighbour || (threadIdx.x ^ 1) >= blockDim.x;
        __syncthreads();
        return count * 8 + (any != 0) * 4 + (all != 0) * 2 + same;
    }
};

// All threads of the block call the same one.
__global__ void virtual_functions(int *out, int rounds)
{
    __shared__ int s[MOST];
    sync_step a;
    group_step b;
    vote_step c;
    step *steps[3] = {&a, &b, &c};
    int value = threadIdx.x;
    for (int n = 0; n < rounds; n++)
        value = steps[(n + blockIdx.x) % 3]->run(s, value);
    __syncthreads(); // of the kernel's own body, beside those of functions
    s[threadIdx.x] = value;
    __syncthreads();
    out[blockIdx.x * blockDim.x + threadIdx.x] = s[(threadIdx.x + 5) % blockDim.x];
}

static void virtual_host(int *out, int n, int block, int rounds)
{
    static int v[MOST], next[MOST];
    for (int t = 0; t < n; t++)
        v[t] = t;
    for (int r = 0; r < rounds; r++) {
        int count = 0, any = 0, all = 1;
        for (int t = 0; t < n; t++) {
            count += v[t] % 3 == 0;
            any |= v[t] == n;
            all &= v[t] >= 0;
        }
        for (int t = 0; t < n; t++)
            switch ((r + block) % 3) {
            case 0: next[t] = v[(t + 1) % n]; break;
            case 1: next[t] = v[n - 1 - t] * 2; break;
            default: next[t] = count * 8 + any * 4 + all * 2 + 1;
            }
        for (int t = 0; t < n; t++)
            v[t] = next[t];
    }
    for (int t = 0; t < n; t++)
        out[t] = v[(t + 5) % n];
}

// ---- shared variables of such functions ----

// A variable of its own, beside those of the kernel and of another function.
struct reverse_step : step {
    __device__ int run(int *s, int value) override
    {
        __shared__ int mine[MOST];
        mine[threadIdx.x] = value;
        __syncthreads();
        int got = mine[blockDim.x - 1 - threadIdx.x];
        __syncthreads();
        mine[threadIdx.x] = -1;
        return got + s[threadIdx.x];
    }
};

__device__ __noinline__ int rotate(int value, int depth)
{
    __shared__ short mine[MOST];
    extern __shared__ int dynamic[];
    mine[threadIdx.x] = (short)value;
    __syncthreads();
    value = mine[(threadIdx.x + 1) % blockDim.x] + dynamic[threadIdx.x];
    __syncthreads();
    return depth > 0 ? rotate(value, depth - 1) * 2 + 1 : value;
}

__device__ step *reversing[2];

__global__ void shared_variables(int *out)
{
    __shared__ int s[MOST];
    extern __shared__ int dynamic[];
    s[threadIdx.x] = 5;
    dynamic[threadIdx.x] = 100;
    int value = reversing[blockIdx.x % 2]->run(s, threadIdx.x);
    value = rotate(value, 1);
    out[blockIdx.x * blockDim.x + threadIdx.x] = value + s[threadIdx.x];
}

// ---- lanes of a warp in different calls ----

// The same barrier, reached by some lanes in one function and by others in another.
__global__ void different_functions(int *out)
{
    __shared__ int s[MOST];
    sync_step a;
    group_step b;
    step *mine = threadIdx.x % 3 == 0 ? (step *)&a : (step *)&b;
    int value = mine->run(s, threadIdx.x + blockIdx.x);
    out[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

// (What they do with the result keeps compilers from making a loop of the recursion.)
__device__ __noinline__ int sync_once(int *s, int value, int depth)
{
    if (depth > 0)
        return sync_once(s, value, depth - 1) * 2 + 1;
    s[threadIdx.x] = value;
    __syncthreads();
    return s[(threadIdx.x + 1) % blockDim.x];
}

__device__ __noinline__ int sync_otherwise(int *s, int value, int depth)
{
    if (depth > 0)
        return sync_otherwise(s, value, depth - 1) * 3 + 1;
    s[threadIdx.x] = value + 1000;
    __syncthreads();
    return s[(threadIdx.x + 1) % blockDim.x];
}

// In the two branches of an if, from calls that nest to different depths.
__global__ void different_branches(int *out)
{
    __shared__ int s[MOST];
    int t = threadIdx.x, got;
    if (t % 5 < 2)
        got = sync_once(s, t, 1 + t % 5);
    else
        got = sync_otherwise(s, t, 3);
    out[blockIdx.x * blockDim.x + t] = got;
}

// The divergence is in a function, and one side waits in the function itself.
__device__ __noinline__ int branches_inside(int *s, int value, int depth)
{
    if (depth > 0)
        return branches_inside(s, value, depth - 1) * 2 + 1;
    if (value % 2 == 0)
        return sync_once(s, value, 2);
    s[threadIdx.x] = value + 500;
    __syncthreads();
    return s[(threadIdx.x + 1) % blockDim.x];
}

__global__ void divergence_in_functions(int *out)
{
    __shared__ int s[MOST];
    out[blockIdx.x * blockDim.x + threadIdx.x] = branches_inside(s, threadIdx.x, 2);
}

// ---- named barriers ----

__device__ void barrier_for(int id, int threads)
{
    asm volatile("barrier.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

typedef int (*half_fn)(volatile int *, int, int);

// Each half of the warps hands values round by a barrier of its own.
__device__ int lower_half(volatile int *s, int t, int n)
{
    int value = t;
    for (int round = 0; round < 5; round++) {
        s[t] = value;
        barrier_for(1, n);
        value = s[(t + 33) % n] + 1;
        barrier_for(1, n);
    }
    return value;
}

__device__ int upper_half(volatile int *s, int t, int n)
{
    int value = t * 2;
    for (int round = 0; round < 9; round++) {
        s[t] = value;
        barrier_for(2, n);
        value = s[(t + 1) % n] + 3;
        barrier_for(2, n);
    }
    return value;
}

__device__ half_fn halves[2] = {lower_half, upper_half};

__global__ void named_barriers(int *out)
{
    __shared__ volatile int s[2][MOST];
    int n = blockDim.x / 2, half = threadIdx.x >= n, t = threadIdx.x % n;
    int value = halves[half](s[half], t, n);
    __syncthreads();
    out[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

// A warp produces, the others consume: arrivals without waiting.
__device__ int produce(volatile int *s, int t, int n)
{
    for (int round = 0; round < 4; round++) {
        s[t] = round * 100 + t;
        __threadfence_block();
        asm volatile("barrier.arrive 3, %0;" ::"r"(n) : "memory");
        barrier_for(4, n);
    }
    return -1;
}

__device__ int consume(volatile int *s, int t, int n)
{
    int sum = 0;
    for (int round = 0; round < 4; round++) {
        barrier_for(3, n);
        sum += s[(t + round) % 32];
        barrier_for(4, n);
    }
    return sum;
}

__device__ half_fn roles[2] = {produce, consume};

__global__ void producer(int *out)
{
    __shared__ volatile int s[32];
    out[threadIdx.x] = roles[threadIdx.x >= 32](s, threadIdx.x % 32, blockDim.x);
}

// ---- threads that end ----

__device__ __noinline__ int leave_and_sync(int *s, int value, int depth)
{
    if (depth > 0)
        return leave_and_sync(s, value, depth - 1) * 2 + 1;
    if (value % 4 == 3)
        asm volatile("exit;");
    s[threadIdx.x] = value;
    __syncthreads();
    return s[threadIdx.x % 4 < 2 ? threadIdx.x + 1 : threadIdx.x - 2];
}

__global__ void early_exit(int *out, int n)
{
    __shared__ int s[MOST];
    if (threadIdx.x >= n) // whole warps and a part of one
        return;
    int got = leave_and_sync(s, threadIdx.x, 2);
    out[blockIdx.x * blockDim.x + threadIdx.x] = got;
    int count = __syncthreads_count(1);
    out[blockIdx.x * blockDim.x + threadIdx.x] += count * 10000;
}

// ---- barrier objects ----

typedef cuda::barrier<cuda::thread_scope_block> block_barrier;

struct object_step {
    __device__ virtual int run(block_barrier *b, unsigned object, int *s, int value) = 0;
    __device__ virtual ~object_step() {}
};

struct waits_at_object : object_step {
    __device__ int run(block_barrier *b, unsigned object, int *s, int value) override
    {
        s[threadIdx.x] = value;
        b->arrive_and_wait();
        int got = s[(threadIdx.x + 32) % blockDim.x];
        b->wait(b->arrive());
        return got;
    }
};

// The instructions themselves.
struct waits_by_instruction : object_step {
    __device__ int run(block_barrier *b, unsigned object, int *s, int value) override
    {
        s[threadIdx.x] = value;
        for (int n = 0; n < 2; n++) {
            unsigned long long state;
            asm volatile("mbarrier.arrive.shared.b64 %0, [%1];"
                         : "=l"(state)
                         : "r"(object)
                         : "memory");
            for (int done = 0; !done;)
                asm volatile("{ .reg .pred p; mbarrier.test_wait.shared.b64 p, [%1], %2;"
                             " selp.b32 %0, 1, 0, p; }"
                             : "=r"(done)
                             : "r"(object), "l"(state)
                             : "memory");
            value = n == 0 ? s[(threadIdx.x + 32) % blockDim.x] : value;
        }
        return value;
    }
};

__device__ object_step *object_steps[2];

// Every second thread waits in the one way, the others in the other, each half at objects of its own: nothing
// else keeps one from running ahead of the other.
__global__ void barrier_objects(int *out)
{
    __shared__ int s[MOST];
    __shared__ block_barrier b[2];
    __shared__ unsigned long long memory[2];
    unsigned half = threadIdx.x % 2, object = (unsigned)__cvta_generic_to_shared(&memory[half]);
    if (threadIdx.x < 2) {
        init(&b[half], blockDim.x / 2);
        asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(object), "r"(blockDim.x / 2)
                     : "memory");
    }
    __syncthreads();
    int value = threadIdx.x;
    for (int n = 0; n < 4; n++)
        value = object_steps[(n + blockIdx.x + threadIdx.x) % 2]->run(&b[half], object, s, value);
    out[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

// ---- all blocks of a grid ----

struct grid_step {
    __device__ virtual int run(int *memory, int value) = 0;
    __device__ virtual ~grid_step() {}
};

struct grid_sync : grid_step {
    __device__ int run(int *memory, int value) override
    {
        cg::grid_group grid = cg::this_grid();
        memory[grid.thread_rank()] = value;
        grid.sync();
        int got = memory[(grid.thread_rank() + blockDim.x) % grid.num_threads()];
        grid.sync();
        return got + 1;
    }
};

struct no_sync : grid_step {
    __device__ int run(int *memory, int value) override { return value; }
};

__device__ grid_step *grid_steps[2];

__global__ void grid_barriers(int *out, int *memory)
{
    int value = cg::this_grid().thread_rank();
    for (int n = 0; n < 6; n++)
        value = grid_steps[n % 2]->run(memory, value);
    out[cg::this_grid().thread_rank()] = value;
}

// Objects that no compiler sees through.
__global__ void make_objects()
{
    object_steps[0] = new waits_at_object;
    object_steps[1] = new waits_by_instruction;
    reversing[0] = new reverse_step;
    reversing[1] = new sync_step;
    grid_steps[0] = new grid_sync;
    grid_steps[1] = new no_sync;
}

// ---- tests ----

static int *out;

static void finish() { CHECK_EQ_INT(cudaSuccess, cudaDeviceSynchronize()); }

static void check_recursion()
{
    static int expected[MOST];
    for (int n : {1024, 992, 100, 33, 7}) {
        recursion<<<3, n>>>(out);
        finish();
        for (int block = 0; block < 3; block++) {
            recursion_host(expected, n, block);
            for (int t = 0; t < n; t++)
                CHECK_EQ_INT(out[block * n + t], expected[t]);
        }
    }
}

static void check_virtual()
{
    static int expected[MOST];
    for (int n : {1024, 514, 64}) {
        virtual_functions<<<5, n>>>(out, 4);
        finish();
        for (int block = 0; block < 5; block++) {
            virtual_host(expected, n, block, 4);
            for (int t = 0; t < n; t++)
                CHECK_EQ_INT(out[block * n + t], expected[t]);
        }
    }
}

static void check_shared()
{
    const int n = 130;
    shared_variables<<<2, n, n * sizeof(int)>>>(out);
    finish();
    for (int i = 0; i < 2 * n; i++) {
        int from = (i % n + 2) % n;
        int value = i < n ? n - 1 - from + 5 : (from + 1) % n;
        CHECK_EQ_INT(out[i], (value + 200) * 2 + 1 + (i < n ? 5 : i % n));
    }
}

// x * factor + 1, so many times.
static int deepened(int x, int factor, int depth)
{
    for (; depth > 0; depth--)
        x = x * factor + 1;
    return x;
}

/* On a GPU a barrier in divergent code waits for ever (asked of an H200): Weir takes each thread's
 * arrival by itself. */
static bool on_gpu()
{
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    return driver == nullptr || dlsym(driver, "weir_last_fault") == nullptr;
}

static void check_divergence()
{
    const int n = 200;
    if (on_gpu())
        return;
    different_functions<<<4, n>>>(out);
    finish();
    for (int i = 0; i < 4 * n; i++) {
        int t = i % n, from = t % 3 == 0 ? (t + 1) % n : n - 1 - t;
        CHECK_EQ_INT(out[i], (from + i / n) * (from % 3 == 0 ? 1 : 2));
    }
    different_branches<<<4, n>>>(out);
    finish();
    for (int i = 0; i < 4 * n; i++) {
        int t = i % n, next = (t + 1) % n;
        int got = next + (next % 5 < 2 ? 0 : 1000);
        CHECK_EQ_INT(out[i], t % 5 < 2 ? deepened(got, 2, 1 + t % 5) : deepened(got, 3, 3));
    }
    divergence_in_functions<<<4, n>>>(out);
    finish();
    for (int i = 0; i < 4 * n; i++) {
        int t = i % n, next = (t + 1) % n;
        int got = next + (next % 2 == 0 ? 0 : 500);
        CHECK_EQ_INT(out[i], deepened(got, 2, t % 2 == 0 ? 4 : 2));
    }
}

static void check_named()
{
    const int n = 256;
    named_barriers<<<6, 2 * n>>>(out);
    finish();
    for (int i = 0; i < 6 * 2 * n; i++) {
        int t = i % n;
        CHECK_EQ_INT(out[i], i % (2 * n) < n ? (t + 5 * 33) % n + 5 : (t + 9) % n * 2 + 27);
    }
    producer<<<1, 160>>>(out);
    finish();
    for (int i = 0; i < 160; i++) {
        int sum = 0;
        for (int round = 0; round < 4; round++)
            sum += round * 100 + (i % 32 + round) % 32;
        CHECK_EQ_INT(out[i], i < 32 ? -1 : sum);
    }
}

static void check_exit()
{
    const int threads = 256, n = 170, blocks = 3;
    for (int i = 0; i < blocks * threads; i++)
        out[i] = -1;
    early_exit<<<blocks, threads>>>(out, n);
    finish();
    int stay = 0;
    for (int t = 0; t < n; t++)
        stay += t % 4 != 3;
    for (int i = 0; i < blocks * threads; i++) {
        int t = i % threads;
        int from = t % 4 < 2 ? t + 1 : t - 2;
        if (t < n && t % 4 != 3 && from < n)
            CHECK_EQ_INT(out[i], deepened(from, 2, 2) + stay * 10000);
        else if (t >= n || t % 4 == 3)
            CHECK_EQ_INT(out[i], -1);
    }
}

static void check_objects()
{
    const int n = 288;
    barrier_objects<<<3, n>>>(out);
    finish();
    for (int i = 0; i < 3 * n; i++)
        CHECK_EQ_INT(out[i], (i % n + 4 * 32) % n);
}

static void check_grid(int *memory)
{
    const int n = 96, blocks = 4;
    void *args[] = {&out, &memory};
    CHECK_EQ_INT(cudaSuccess, cudaLaunchCooperativeKernel(grid_barriers, blocks, n, args));
    finish();
    for (int i = 0; i < blocks * n; i++)
        CHECK_EQ_INT(out[i], (i + 3 * n) % (blocks * n) + 3);
}

int main()
{
    int *memory;
    CHECK_EQ_INT(cudaSuccess, cudaMallocManaged(&out, 8 * MOST * sizeof *out));
    CHECK_EQ_INT(cudaSuccess, cudaMallocManaged(&memory, MOST * sizeof *memory));
    make_objects<<<1, 1>>>();
    finish();
    check_recursion();
    check_virtual();
    check_shared();
    check_divergence();
    check_named();
    check_exit();
    check_objects();
    check_grid(memory);
    CHECK_EQ_INT(cudaSuccess, cudaFree(memory));
    CHECK_EQ_INT(cudaSuccess, cudaFree(out));
    return check_done();
}
