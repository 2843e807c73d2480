/* S1, S2: streams: what they say of themselves, their order, and that work in them overlaps. */
#include <vector>

#include "check.h"

#define OK(call) CHECK_STR(cudaGetErrorName(call), "cudaSuccess")

__global__ void append(int *log, int *count, int value) { log[(*count)++] = value; }

__global__ void meet(volatile int *mine, volatile int *other)
{
    *mine = 1;
    __threadfence_system();
    while (*other == 0)
        ;
}

static void facts()
{
    int least, greatest, priority, device;
    unsigned long long id, id2;
    cudaStream_t s, t;
    unsigned flags;

    OK(cudaStreamCreate(&s));
    OK(cudaStreamGetFlags(s, &flags));
    CHECK_EQ_INT(flags, cudaStreamDefault);
    OK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
    OK(cudaStreamGetFlags(t, &flags));
    CHECK_EQ_INT(flags, cudaStreamNonBlocking);
    OK(cudaStreamGetId(s, &id));
    OK(cudaStreamGetId(t, &id2));
    CHECK(id != id2);
    OK(cudaStreamGetDevice(s, &device));
    CHECK_EQ_INT(device, 0);
    OK(cudaStreamDestroy(s));
    OK(cudaStreamDestroy(t));
    OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    CHECK(greatest <= least);
    OK(cudaStreamCreateWithPriority(&s, cudaStreamNonBlocking, greatest));
    OK(cudaStreamGetPriority(s, &priority));
    CHECK_EQ_INT(priority, greatest);
    OK(cudaStreamDestroy(s));
    /* A priority out of range is brought into it. */
    OK(cudaStreamCreateWithPriority(&s, cudaStreamDefault, greatest - 100));
    OK(cudaStreamGetPriority(s, &priority));
    CHECK_EQ_INT(priority, greatest);
    OK(cudaStreamDestroy(s));
    OK(cudaStreamSynchronize(0));
    OK(cudaStreamSynchronize(cudaStreamLegacy));
    OK(cudaStreamSynchronize(cudaStreamPerThread));
    OK(cudaStreamQuery(cudaStreamPerThread));
}

static void order_in_a_stream()
{
    const int n = 200;
    std::vector<int> seen(n);
    int *log, *count;
    cudaStream_t s;

    OK(cudaStreamCreate(&s));
    OK(cudaMalloc(&log, (n + 50) * sizeof *log));
    OK(cudaMalloc(&count, sizeof *count));
    OK(cudaMemsetAsync(count, 0, sizeof *count, s));
    for (int i = 0; i < n; i++)
        append<<<1, 1, 0, s>>>(log, count, i);
    OK(cudaMemcpyAsync(seen.data(), log, n * sizeof *log, cudaMemcpyDeviceToHost, s));
    OK(cudaStreamSynchronize(s));
    for (int i = 0; i < n; i++)
        CHECK_EQ_INT(seen[i], i);
    /* A stream destroyed with work pending: the work still runs. */
    for (int i = 0; i < 50; i++)
        append<<<1, 1, 0, s>>>(log, count, i);
    OK(cudaStreamDestroy(s));
    OK(cudaDeviceSynchronize());
    int total;
    OK(cudaMemcpy(&total, count, sizeof total, cudaMemcpyDeviceToHost));
    CHECK_EQ_INT(total, n + 50);
    OK(cudaFree(log));
    OK(cudaFree(count));
}

/* Two kernels that wait for each other can only end when they run at the same time. */
static void overlap()
{
    cudaStream_t s, t;
    int *flags;

    OK(cudaMalloc(&flags, 2 * sizeof *flags));
    OK(cudaMemset(flags, 0, 2 * sizeof *flags));
    OK(cudaStreamCreate(&s));
    OK(cudaStreamCreate(&t));
    meet<<<1, 1, 0, s>>>(flags, flags + 1);
    meet<<<1, 1, 0, t>>>(flags + 1, flags);
    OK(cudaDeviceSynchronize());
    OK(cudaStreamDestroy(s));
    OK(cudaStreamDestroy(t));
    OK(cudaFree(flags));
}

int main()
{
    facts();
    order_in_a_stream();
    overlap();
    return check_done();
}
