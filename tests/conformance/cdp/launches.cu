// FLAGS: -rdc=true -lcudadevrt
/* D1, D2: kernels launch kernels: every form of a launch, from any thread and function; and a
 * kernel is complete when all it launched is. */
#include <string.h>

#include "check.h"

#define OK(call) CHECK_STR(cudaGetErrorName(call), "cudaSuccess")

/* Runs to its end and takes the results out of `results`. */
__device__ int results[1024];
static int got[1024];
static void finish()
{
    static const int zeros[1024] = {};
    OK(cudaGetLastError());
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpyFromSymbol(got, results, sizeof results));
    OK(cudaMemcpyToSymbol(results, zeros, sizeof results));
}

/* ---- what is launched ---- */

struct mixed {
    char c;
    double d;
    short s[3];
};
struct large {
    int values[60];
};

__global__ void put(int at, int value) { atomicAdd(&results[at], value); }
static __global__ void put_static(int at) { atomicAdd(&results[at], 1); }
namespace
{
__global__ void put_hidden(int at) { atomicAdd(&results[at], 2); }
} // namespace
template <class T> __global__ void put_type(int at, T value)
{
    atomicAdd(&results[at], (int)(sizeof(T) * 100 + value));
}
template <int N> __global__ void put_number(int at) { atomicAdd(&results[at], N); }
__global__ void overloaded(int at, int) { results[at] = 1; }
__global__ void overloaded(int at, float) { results[at] = 2; }
template <class F> __global__ void run(F f) { f(); }
/* Each argument at its natural alignment. */
__global__ void take_all(char a, double b, short c, mixed m, unsigned char e, int3 i, float4 f,
                         bool g, long long h)
{
    results[20] = a == 'a' && b == 2.5 && c == -3 && m.c == 'm' && m.d == 4.5 && m.s[2] == 7 &&
                  e == 200 && i.z == 12 && f.w == 0.25f && g && h == -(1ll << 40);
}
__global__ void take_large(large l, int last)
{
    int sum = 0;
    for (int k = 0; k < 60; k++)
        sum += l.values[k];
    results[21] = sum == 60 * 59 / 2 && last == 5;
}

__device__ void (*pointer)(int, int) = put;
__device__ void helper(int at) { put<<<1, 2>>>(at, 4); }
__host__ __device__ void both(int at) { put<<<1, 3>>>(at, 5); }
struct object {
    int at;
    __device__ void launch() const
    {
        int where = at;
        run<<<1, 1>>>([where] { atomicAdd(&results[where], 9); });
    }
};

__global__ void forms()
{
    put<<<1, 1>>>(0, 1);
    put<<<2, 3>>>(1, 1);
    put<<<dim3(2, 2), dim3(2, 2, 2)>>>(2, 1);
    put<<<{2, 2, 2}, {2}>>>(3, 1);
    put<<<1, 1, 1024>>>(4, 1);
    put<<<1, 1, 0, 0>>>(5, 1);
    put_static<<<1, 1>>>(6);
    put_hidden<<<1, 1>>>(7);
    put_type<<<1, 1>>>(8, 1.0f);
    put_type<short><<<1, 1>>>(9, 3);
    put_number<17><<<1, (1 << 3) >> 1>>>(10);
    overloaded<<<1, 1>>>(11, 1);
    overloaded<<<1, 1>>>(12, 1.0f);
    pointer<<<1, 1>>>(13, 6);
    void (*chosen)(int) = threadIdx.x == 0 ? put_static : put_hidden;
    chosen<<<1, 1>>>(14);
    helper(15);
    both(16);
    object{17}.launch();
    auto local = [=](int value) { put<<<1, 1>>>(18, value); };
    local(3);
    local(4);
    put<<<1, 1>>>(19, 8);
    take_all<<<1, 1>>>('a', 2.5, -3, mixed{'m', 4.5, {5, 6, 7}}, 200, make_int3(10, 11, 12),
                       make_float4(0, 0, 0, 0.25f), true, -(1ll << 40));
    large l;
    for (int k = 0; k < 60; k++)
        l.values[k] = k;
    take_large<<<1, 1>>>(l, 5);
    if (threadIdx.x == 0)
        put<<<1, 1>>>(22, 1);
    else
        put<<<1, 1>>>(23, 1);
    results[24] = cudaGetLastError();
}

static void test_forms()
{
    static const int expected[] = {1, 6, 32, 16, 1, 1, 1, 2, 401, 203, 68, 1, 2,
                                   6, 1, 8,  15, 9, 7, 8, 1, 1,   1,   0,  0};
    forms<<<1, 1>>>();
    finish();
    for (int k = 0; k < (int)(sizeof expected / sizeof *expected); k++)
        if (got[k] != expected[k]) {
            printf("result %d: ", k);
            CHECK_EQ_INT(got[k], expected[k]);
        }
    CHECK_EQ_INT(got[0], expected[0]);
    both(16);
    finish();
    CHECK_EQ_INT(got[16], 15);
}

/* ---- by whom ---- */

/* Every thread with its own configuration and arguments; some in a branch of their own. */
__global__ void from_threads()
{
    int id = blockIdx.x * blockDim.x + threadIdx.x;
    if (id % 3 == 0)
        put<<<1, id % 7 + 1>>>(id, 10);
    else if (id % 3 == 1)
        put<<<id % 5 + 1, 1>>>(id, 20);
}

static void test_from_threads()
{
    from_threads<<<8, 96>>>();
    finish();
    int wrong = 0;
    for (int id = 0; id < 768; id++)
        wrong += got[id] != (id % 3 == 0 ? 10 * (id % 7 + 1) : id % 3 == 1 ? 20 * (id % 5 + 1) : 0);
    CHECK_EQ_INT(wrong, 0);
}

/* Arguments up to the 4 KB that fit, each thread's own. */
template <int N> struct words {
    int items[N];
};
template <int N> __global__ void take_words(words<N> given, int at)
{
    int sum = 0;
    for (int k = 0; k < N; k++)
        sum += given.items[k];
    results[at] = sum;
}
template <int N> __global__ void give_words()
{
    words<N> mine;
    for (int k = 0; k < N; k++)
        mine.items[k] = k * ((int)threadIdx.x + 1);
    if (threadIdx.x % 4 != 3)
        take_words<N><<<1, 1>>>(mine, (int)threadIdx.x);
}
template <int N> static void test_words()
{
    for (int again = 0; again < 2; again++) { /* how long it takes is known then */
        give_words<N><<<1, 40>>>();
        finish();
        for (int t = 0; t < 40; t++) {
            int sum = 0;
            for (int k = 0; k < N; k++)
                sum += k * (t + 1);
            if (got[t] != (t % 4 != 3 ? sum : 0))
                CHECK_EQ_INT(got[t], sum);
        }
    }
}

/* What the child sees of its launch. */
__global__ void look(int at)
{
    extern __shared__ int shared[];
    unsigned size;
    asm volatile("mov.u32 %0, %%dynamic_smem_size;" : "=r"(size));
    shared[threadIdx.x] = 1;
    __syncthreads();
    int last = blockIdx.x == gridDim.x - 1 && threadIdx.x == blockDim.x - 1 &&
               threadIdx.y == blockDim.y - 1;
    if (last) {
        results[at] = (int)(gridDim.x * 1000000 + gridDim.y * 100000 + blockDim.x * 1000 +
                            blockDim.y * 100 + blockDim.z);
        results[at + 1] = (int)size;
        results[at + 2] = shared[0];
    }
}
__global__ void look_down() { look<<<dim3(3, 2), dim3(8, 4), 256>>>(0); }

/* Launches in the arguments of launches do not change the configuration. */
__global__ void note_shape(int at, int add)
{
    if (threadIdx.x == 0 && blockIdx.x == 0)
        results[at] = (int)(gridDim.x * 10 + blockDim.x) + add;
}
__device__ int launches_too(int at, int add)
{
    note_shape<<<1, 1>>>(at, add);
    return add + 100;
}
__global__ void arguments_launch(int n)
{
    note_shape<<<2, 3>>>(10, launches_too(11, 0));
    for (int k = 0; k < n; k++) {
        int at = 12 + 3 * k, width = n == 5 ? 2 : 4;
        note_shape<<<k + 1, width>>>(at,
                                     launches_too(at + 1, k % 2 ? launches_too(at + 2, k) : 1000));
    }
    note_shape<<<4, 5>>>(9, 0);
}

static void test_configuration()
{
    static const int shapes[] = {45, 123, 11, 1114, 1011, 0, 225, 112, 12, 1134, 1011, 0};
    arguments_launch<<<1, 1>>>(3);
    finish();
    for (int k = 0; k < 12; k++)
        CHECK_EQ_INT(got[9 + k], shapes[k]);

    look_down<<<1, 1>>>();
    finish();
    CHECK_EQ_INT(got[0], 3208401);
    CHECK_EQ_INT(got[1], 256);
    CHECK_EQ_INT(got[2], 1);
}

/* ---- how deep, and when it is complete ---- */

__global__ void tree(int depth, int node)
{
    atomicAdd(&results[depth], 1);
    results[100 + node] = 1;
    if (depth < 7 && threadIdx.x < 2)
        tree<<<1, 2>>>(depth + 1, node * 2 + (int)threadIdx.x);
}
__global__ void chain(int depth, int last)
{
    results[depth] = depth;
    if (depth < last)
        chain<<<1, 1>>>(depth + 1, last);
}
__global__ void copy_if_done(int at, int from, int wanted)
{
    results[at] = results[from] == wanted;
}
__global__ void slow_child(int at)
{
    long long end = clock64() + 2000000;
    while (clock64() < end)
        continue;
    results[at] = 7;
}
__global__ void parent_of_slow(int at) { slow_child<<<1, 1>>>(at); }

static void test_nesting()
{
    tree<<<1, 2>>>(0, 1);
    finish();
    for (int depth = 0; depth < 8; depth++)
        CHECK_EQ_INT(got[depth], 2 << depth);
    for (int node = 1; node < 256; node++)
        if (got[100 + node] != 1)
            CHECK_EQ_INT(got[100 + node], 1);
    chain<<<1, 1>>>(0, 23);
    finish();
    for (int depth = 0; depth < 24; depth++)
        CHECK_EQ_INT(got[depth], depth);

    /* What follows in the stream, and what waits for an event, begins after the children. */
    cudaStream_t other;
    cudaEvent_t event;
    OK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    OK(cudaEventCreate(&event));
    parent_of_slow<<<1, 1>>>(0);
    OK(cudaEventRecord(event));
    copy_if_done<<<1, 1>>>(1, 0, 7);
    OK(cudaStreamWaitEvent(other, event, 0));
    copy_if_done<<<1, 1, 0, other>>>(2, 0, 7);
    finish();
    CHECK_EQ_INT(got[0], 7);
    CHECK_EQ_INT(got[1], 1);
    CHECK_EQ_INT(got[2], 1);
    OK(cudaEventDestroy(event));
    OK(cudaStreamDestroy(other));
}

int main()
{
    test_forms();
    test_from_threads();
    test_words<25>();
    test_words<500>();
    test_words<525>();
    test_words<1023>();
    test_configuration();
    test_nesting();
    return check_done();
}
