/* Stream-ordered memory in checked mode: overruns, uses outside of its life in the order of streams,
 * second frees. */
// CHECK: memory
#include "checks.h"

__global__ void fill(char *p, int n)
{
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        p[i] = 1;
}

__global__ void wait_for(volatile int *flag)
{
    while (*flag == 0)
        ;
}

struct Streams {
    cudaStream_t a, b;
    cudaEvent_t event;
    Streams()
    {
        DO(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
        DO(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
        DO(cudaEventCreate(&event));
    }
};

CASE(right)
{
    Streams s;
    char *p;
    for (int i = 0; i < 4; i++) { /* the same memory again and again, while the first kernels wait */
        DO(cudaMallocAsync((void **)&p, 1000 + i, s.a));
        fill<<<1, 32, 0, s.a>>>(p, 1000 + i);
        DO(cudaMemsetAsync(p, 1, 1000 + i, s.a));
        DO(cudaEventRecord(s.event, s.a));
        DO(cudaStreamWaitEvent(s.b, s.event));
        fill<<<1, 32, 0, s.b>>>(p, 1000 + i);
        DO(cudaFreeAsync(p, s.b));
    }
    DO(cudaDeviceSynchronize());
    DO(cudaMallocAsync((void **)&p, 5 << 20, s.a));
    fill<<<4, 256, 0, s.a>>>(p, 5 << 20);
    DO(cudaStreamSynchronize(s.a));
    fill<<<4, 256, 0, s.b>>>(p, 5 << 20);
    DO(cudaDeviceSynchronize());
    DO(cudaFree(p));
}

CASE(free_while_the_kernel_waits)
{
    Streams s;
    char *p, *q;
    int *flag;
    DO(cudaMallocHost(&flag, sizeof *flag));
    *(volatile int *)flag = 0;
    DO(cudaMallocAsync((void **)&p, 1000, s.a));
    wait_for<<<1, 1, 0, s.a>>>(flag);
    fill<<<1, 32, 0, s.a>>>(p, 1000);
    DO(cudaFreeAsync(p, s.a));
    DO(cudaMallocAsync((void **)&q, 500, s.a)); /* has the place of p */
    fill<<<1, 32, 0, s.a>>>(q, 500);
    *(volatile int *)flag = 1;
    DO(cudaStreamSynchronize(s.a));
    DO(cudaFreeAsync(q, s.a));
}

CASE(overrun)
{
    char *p;
    DO(cudaMallocAsync((void **)&p, 1000, 0)); // EXPECT write of 1 byte: .* is just past the 1,000-byte allocation .* made by cudaMallocAsync at \S*LINE
    fill<<<1, 32>>>(p, 1001);
    cudaDeviceSynchronize();
}

CASE(just_before_the_first)
{
    char *p;
    DO(cudaMallocAsync((void **)&p, 100, 0)); // EXPECT write of 1 byte: .* is 1 byte before the 100-byte allocation .* made by cudaMallocAsync at \S*LINE
    fill<<<1, 32>>>(p - 1, 1);
    cudaDeviceSynchronize();
}

CASE(overrun_into_what_is_free)
{
    char *p;
    DO(cudaMallocAsync((void **)&p, 1000, 0)); // EXPECT write of 1 byte: .* is 4,000 bytes past the 1,000-byte allocation .* made by cudaMallocAsync at \S*LINE
    fill<<<1, 32>>>(p + 5000, 1);
    cudaDeviceSynchronize();
}

CASE(overrun_of_whole_granules)
{
    char *p, *q;
    DO(cudaMallocAsync((void **)&p, 4096, 0)); // EXPECT write of 1 byte: .* 4,096-byte allocation
    DO(cudaMallocAsync((void **)&q, 4096, 0));
    fill<<<1, 32>>>(p, 4097);
    cudaDeviceSynchronize();
}

CASE(use_after_free)
{
    Streams s;
    char *p;
    DO(cudaMallocAsync((void **)&p, 1000, s.a)); // EXPECT kernel fill.*freed by cudaFreeAsync
    DO(cudaFreeAsync(p, s.a));
    fill<<<1, 32, 0, s.a>>>(p, 1000);
    cudaDeviceSynchronize();
}

CASE(use_before_allocation)
{
    Streams s;
    char *p;
    int *flag;
    DO(cudaMallocHost(&flag, sizeof *flag));
    *(volatile int *)flag = 0;
    wait_for<<<1, 1, 0, s.a>>>(flag);
    DO(cudaMallocAsync((void **)&p, 1000, s.a)); // EXPECT kernel fill.*before its allocation in the order of streams
    fill<<<1, 32, 0, s.b>>>(p, 1000);
    cudaStreamSynchronize(s.b);
    *(volatile int *)flag = 1;
    cudaDeviceSynchronize();
}

CASE(second_free)
{
    char *p;
    DO(cudaMallocAsync((void **)&p, 1000, 0));
    DO(cudaFreeAsync(p, 0));
    cudaFreeAsync(p, 0); // EXPECT invalid free: cudaFreeAsync at \S*LINE.*byte 0 of freed memory.*freed by cudaFreeAsync
}

CASE(second_free_of_plain_memory)
{
    char *p;
    DO(cudaMalloc((void **)&p, 1000));
    DO(cudaFree(p));
    cudaFree(p); // EXPECT invalid free: cudaFree at \S*LINE
}

CASE(copy_before_allocation)
{
    Streams s;
    char *p, h[100];
    int *flag;
    DO(cudaMallocHost(&flag, sizeof *flag));
    *(volatile int *)flag = 0;
    wait_for<<<1, 1, 0, s.a>>>(flag);
    DO(cudaMallocAsync((void **)&p, 1000, s.a));
    for (int n = 0; n < 3; n++) // one finding
        DO(cudaMemcpyAsync(h, p + n, 100, cudaMemcpyDeviceToHost, s.b)); // EXPECT use before allocation: a copy, enqueued at \S*LINE \(cudaMemcpyAsync\), reads .* byte 0 of 1000 bytes, allocated at \S*pools.cu:\d+ \(cudaMallocAsync\)
    DO(cudaStreamSynchronize(s.b));
    *(volatile int *)flag = 1;
    DO(cudaDeviceSynchronize());
}

/* What a pool gave back is anyone's. */
CASE(plain_memory_where_a_pool_had_been)
{
    enum { COUNT = 4, BYTES = 3000000 };
    static char h[16384];
    char *p[COUNT], *q;
    cudaStream_t s[COUNT];
    for (int n = 0; n < COUNT; n++) {
        DO(cudaStreamCreate(&s[n]));
        DO(cudaMallocAsync((void **)&p[n], BYTES, s[n]));
        DO(cudaMemsetAsync(p[n], 0, BYTES, s[n]));
    }
    for (int n = 0; n < COUNT; n++)
        DO(cudaFreeAsync(p[n], s[n]));
    for (int n = 0; n < COUNT; n++) {
        DO(cudaStreamSynchronize(s[n]));
        DO(cudaStreamDestroy(s[n]));
    }
    DO(cudaDeviceSynchronize());
    for (int n = 0; n < 50; n++) {
        DO(cudaMalloc((void **)&q, sizeof h));
        DO(cudaMemcpy(q, h, sizeof h, cudaMemcpyHostToDevice));
    }
}

CASE(memory_for_other_processes)
{
    char *p;
    cudaIpcMemHandle_t handle;
    DO(cudaMalloc((void **)&p, 1 << 20));
    DO(cudaIpcGetMemHandle(&handle, p));
    DO(cudaMemset(p, 1, 1 << 20));
    DO(cudaFree(p));
}

CASE(set_past_the_end)
{
    char *p;
    DO(cudaMallocAsync((void **)&p, 1000, 0));
    if (cudaMemsetAsync(p, 0, 1001, 0) != cudaSuccess) // refused, and looked at: nothing to find
        printf("refused\n");
    DO(cudaFreeAsync(p, 0));
}
