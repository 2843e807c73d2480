// FLAGS: -rdc=true -lcudadevrt
/* D4: device streams and events: in what order child grids run. */
#include <string.h>

#include "check.h"

#define OK(call) CHECK_STR(cudaGetErrorName(call), "cudaSuccess")

/* A journal: each grid writes its number when its last block ends. */
__device__ int journal[4096];
__device__ int length;
__device__ int errors[16];
static int lines[4096], count, error[16];

static void finish()
{
    int zero = 0;
    OK(cudaGetLastError());
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpyFromSymbol(lines, journal, sizeof lines));
    OK(cudaMemcpyFromSymbol(&count, length, sizeof count));
    OK(cudaMemcpyFromSymbol(error, errors, sizeof error));
    OK(cudaMemcpyToSymbol(length, &zero, sizeof zero));
}

__global__ void note(int what) { journal[atomicAdd(&length, 1)] = what; }
__global__ void note_late(int what)
{
    long long end = clock64() + 300000;
    while (clock64() < end)
        continue;
    __syncthreads();
    if (threadIdx.x == 0)
        journal[atomicAdd(&length, 1)] = what;
}

/* Where the journal has it, -1 if nowhere. */
static int place(int what)
{
    for (int k = 0; k < count; k++)
        if (lines[k] == what)
            return k;
    return -1;
}
/* Both are there, the first one first. */
static int in_order(int first, int second)
{
    return place(first) >= 0 && place(second) >= 0 && place(first) < place(second);
}
static int is_sequence(const int *expected, int n)
{
    return count == n && memcmp(lines, expected, (size_t)n * sizeof *expected) == 0;
}

/* ---- the implicit stream ---- */

/* A block's threads share it: what they launch runs one after the other. */
__global__ void one_thread()
{
    for (int k = 0; k < 20; k++)
        if (k % 4 == 0)
            note_late<<<1, 32>>>(k);
        else
            note<<<1, 1>>>(k);
}
__global__ void threads_in_turn()
{
    for (int k = 0; k < 16; k++) {
        if ((int)threadIdx.x == k * 7 % 64) {
            if (k % 2 == 0)
                note_late<<<1, 32>>>(k);
            else
                note<<<1, 1>>>(k);
        }
        __syncthreads();
    }
}

static void test_implicit()
{
    one_thread<<<1, 1>>>();
    finish();
    CHECK_EQ_INT(count, 20);
    for (int k = 1; k < 20; k++)
        CHECK(in_order(k - 1, k));
    threads_in_turn<<<1, 64>>>();
    finish();
    CHECK_EQ_INT(count, 16);
    for (int k = 1; k < 16; k++)
        CHECK(in_order(k - 1, k));
}

/* ---- streams with names, and events ---- */

__global__ void named()
{
    cudaStream_t s;
    errors[0] = cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    for (int k = 0; k < 8; k++)
        if (k % 2 == 0)
            note_late<<<1, 32, 0, s>>>(k);
        else
            note<<<1, 1, 0, s>>>(k);
    errors[1] = cudaStreamDestroy(s); /* what is in it still runs */
    errors[2] = cudaGetLastError();
}
/* Any thread of the block may use it. */
__global__ void shared_stream()
{
    __shared__ cudaStream_t s;
    if (threadIdx.x == 0)
        errors[0] = cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    __syncthreads();
    for (int k = 0; k < 8; k++) {
        if ((int)threadIdx.x == 8 * k)
            note_late<<<1, 32, 0, s>>>(k);
        __syncthreads();
    }
    if (threadIdx.x == 33)
        errors[1] = cudaStreamDestroy(s);
    errors[2] = 0;
}
__global__ void wait_for_event()
{
    cudaStream_t a, b;
    cudaEvent_t e;
    errors[0] = cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
    errors[1] = cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
    errors[2] = cudaEventCreateWithFlags(&e, cudaEventDisableTiming);
    note_late<<<1, 32, 0, a>>>(1);
    errors[3] = cudaEventRecord(e, a);
    errors[4] = cudaStreamWaitEvent(b, e, 0);
    note<<<1, 1, 0, b>>>(2);
    errors[5] = cudaEventRecord(e, b); /* again */
    errors[6] = cudaStreamWaitEvent(a, e, 0);
    note<<<1, 1, 0, a>>>(3);
    errors[7] = cudaEventDestroy(e);
    errors[8] = cudaStreamDestroy(a);
    errors[9] = cudaStreamDestroy(b);
}
__global__ void what_it_refuses()
{
    cudaEvent_t e;
    errors[0] = cudaEventCreateWithFlags(&e, cudaEventDefault);
    errors[1] = cudaGetLastError();
    errors[2] = cudaEventCreateWithFlags(&e, cudaEventDisableTiming);
    errors[3] = cudaEventRecord(e, cudaStreamFireAndForget);
    errors[4] = cudaEventRecord(e, cudaStreamTailLaunch);
    errors[5] = cudaEventDestroy(e);
    cudaGetLastError();
}

static void test_named()
{
    static const int eight[] = {0, 1, 2, 3, 4, 5, 6, 7}, three[] = {1, 2, 3};
    named<<<1, 1>>>();
    finish();
    CHECK(is_sequence(eight, 8));
    for (int k = 0; k < 3; k++)
        CHECK_EQ_INT(error[k], cudaSuccess);
    shared_stream<<<1, 64>>>();
    finish();
    CHECK(is_sequence(eight, 8));
    for (int k = 0; k < 3; k++)
        CHECK_EQ_INT(error[k], cudaSuccess);
    wait_for_event<<<1, 1>>>();
    finish();
    CHECK(is_sequence(three, 3));
    for (int k = 0; k < 10; k++)
        CHECK_EQ_INT(error[k], cudaSuccess);
    what_it_refuses<<<1, 1>>>();
    finish();
    CHECK_EQ_INT(error[0], cudaErrorInvalidValue);
    CHECK_EQ_INT(error[1], cudaErrorInvalidValue);
    CHECK_EQ_INT(error[2], cudaSuccess);
    CHECK_EQ_INT(error[3], cudaErrorInvalidValue);
    CHECK_EQ_INT(error[4], cudaErrorInvalidValue);
    CHECK_EQ_INT(error[5], cudaSuccess);
}

/* ---- tail launches ---- */

/* After all else that the grid launched, in the order in which they were launched; a tail launch's
 * own tail launches come before the next one of its parent. */
__global__ void inner_tails()
{
    note<<<1, 1, 0, cudaStreamTailLaunch>>>(12);
    note_late<<<1, 32>>>(11);
}
__global__ void tails()
{
    cudaStream_t s;
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    note<<<1, 1, 0, cudaStreamTailLaunch>>>(10);
    inner_tails<<<1, 1, 0, cudaStreamTailLaunch>>>();
    note<<<1, 1, 0, cudaStreamTailLaunch>>>(20);
    note_late<<<1, 32, 0, s>>>(1);
    note_late<<<1, 32>>>(2);
    note_late<<<1, 32, 0, cudaStreamFireAndForget>>>(3);
    cudaStreamDestroy(s);
}
/* The stream is one for the whole grid: after the children of every block. */
__global__ void tails_of_blocks()
{
    note_late<<<1, 32>>>((int)blockIdx.x);
    note<<<1, 1, 0, cudaStreamTailLaunch>>>(100 + (int)blockIdx.x);
}
/* A loop in which each step follows the one before: any number of steps. */
__global__ void step(int n, int last)
{
    journal[atomicAdd(&length, 1)] = n;
    if (n < last)
        step<<<1, 1, 0, cudaStreamTailLaunch>>>(n + 1, last);
}

static void test_tails()
{
    tails<<<1, 1>>>();
    note<<<1, 1>>>(30); /* the host's next kernel comes after all of it */
    finish();
    CHECK_EQ_INT(count, 8);
    for (int k = 1; k <= 3; k++)
        CHECK(in_order(k, 10));
    CHECK(in_order(10, 11));
    CHECK(in_order(11, 12));
    CHECK(in_order(12, 20));
    CHECK(in_order(20, 30));
    tails_of_blocks<<<8, 1>>>();
    finish();
    CHECK_EQ_INT(count, 16);
    for (int child = 0; child < 8; child++)
        for (int tail = 0; tail < 8; tail++)
            CHECK(in_order(child, 100 + tail));
    step<<<1, 1>>>(0, 200);
    finish();
    CHECK_EQ_INT(count, 201);
    for (int k = 0; k <= 200; k++)
        if (lines[k] != k)
            CHECK_EQ_INT(lines[k], k);
}

/* ---- fire and forget ---- */

/* Nobody but the parent's end waits for them: they have no order, and all run. */
__device__ int total;
__global__ void add(int n) { atomicAdd(&total, n); }
__global__ void fire() { add<<<1, 1, 0, cudaStreamFireAndForget>>>((int)threadIdx.x + 1); }
__global__ void take_total() { journal[atomicAdd(&length, 1)] = total; }

static void test_fire_and_forget()
{
    fire<<<4, 128>>>();
    take_total<<<1, 1>>>();
    finish();
    CHECK_EQ_INT(count, 1);
    CHECK_EQ_INT(lines[0], 4 * 128 * 129 / 2);
}

/* ---- one child while another runs ---- */

__device__ volatile int flag;
__global__ void wait_for_flag()
{
    while (flag == 0)
        __nanosleep(100);
    note<<<1, 1>>>(2);
}
__global__ void set_flag()
{
    note<<<1, 1>>>(1);
    flag = 1;
}
/* Grids in different streams may run at once. */
__global__ void two_streams()
{
    cudaStream_t a, b;
    cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
    wait_for_flag<<<1, 1, 0, a>>>();
    set_flag<<<1, 1, 0, b>>>();
    cudaStreamDestroy(a);
    cudaStreamDestroy(b);
}

/* A thread that waits in a function that is called does not keep what it has launched from
 * running: neither that nor what the same block launches otherwise. */
__device__ __noinline__ int wait_below(int depth)
{
    if (depth > 0)
        return wait_below(depth - 1) + 1;
    while (flag == 0)
        ;
    return 0;
}
__global__ void wait_in_function(int depth)
{
    if (wait_below(depth) == depth)
        note<<<1, 1>>>(2);
}
__global__ void children_of_waiting()
{
    set_flag<<<1, 1, 0, cudaStreamFireAndForget>>>();
    if (wait_below(5) == 5)
        note<<<1, 1>>>(2);
}
__global__ void siblings_of_waiting()
{
    wait_in_function<<<1, 1, 0, cudaStreamFireAndForget>>>(3);
    set_flag<<<1, 1, 0, cudaStreamFireAndForget>>>();
    wait_in_function<<<1, 1>>>(4);
}

static void test_at_once()
{
    void (*const kernels[])() = {two_streams, children_of_waiting, siblings_of_waiting};
    int zero = 0, expected[] = {2, 2, 3};
    for (int k = 0; k < 3; k++) {
        OK(cudaMemcpyToSymbol(flag, &zero, sizeof zero));
        kernels[k]<<<1, 1>>>();
        finish();
        CHECK_EQ_INT(count, expected[k]);
    }
}

int main()
{
    test_implicit();
    test_named();
    test_tails();
    test_fire_and_forget();
    test_at_once();
    return check_done();
}
