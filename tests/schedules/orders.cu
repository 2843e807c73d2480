// Small programs whose output depends on an order that CUDA leaves open, each with a repaired twin
// whose output does not: schedules.sh runs them under WEIR_SCHEDULE. usage: orders NAME [repaired]
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>

static const int N = 1024;
static bool repaired;

static bool ok(cudaError_t e)
{
    if (e != cudaSuccess)
        printf("%s\n", cudaGetErrorName(e));
    return e == cudaSuccess;
}

__global__ void fill(int *out, int value) { out[blockIdx.x * blockDim.x + threadIdx.x] = value; }

__global__ void add(const int *in, int *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i] + 1;
}

static int first(const int *values)
{
    int value = -1;
    ok(cudaMemcpy(&value, values, sizeof value, cudaMemcpyDeviceToHost));
    return value;
}

// One stream uses what another makes, and does not wait for it.
static void event()
{
    int *a, *b;
    cudaStream_t s, t;
    cudaEvent_t made;
    ok(cudaMalloc(&a, N * sizeof *a));
    ok(cudaMalloc(&b, N * sizeof *b));
    ok(cudaMemset(a, 0, N * sizeof *a));
    ok(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    ok(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
    ok(cudaEventCreate(&made));
    ok(cudaDeviceSynchronize());
    fill<<<N / 256, 256, 0, s>>>(a, 41);
    ok(cudaEventRecord(made, s));
    if (repaired)
        ok(cudaStreamWaitEvent(t, made, 0));
    add<<<N / 256, 256, 0, t>>>(a, b);
    ok(cudaDeviceSynchronize());
    printf("%d\n", first(b));
    ok(cudaStreamDestroy(s));
    ok(cudaStreamDestroy(t));
    ok(cudaEventDestroy(made));
    ok(cudaFree(a));
    ok(cudaFree(b));
}

// Warps of a block, which nothing orders, put their numbers into a list.
__global__ void enlist(int *n, int *list)
{
    if (threadIdx.x % 32 == 0)
        list[atomicAdd(n, 1)] = threadIdx.x / 32;
}
__global__ void enlist_each(int *, int *list)
{
    if (threadIdx.x % 32 == 0)
        list[threadIdx.x / 32] = threadIdx.x / 32;
}
static void warps()
{
    int *p, list[9];
    ok(cudaMalloc(&p, sizeof list));
    ok(cudaMemset(p, 0, sizeof list));
    (repaired ? enlist_each : enlist)<<<1, 256>>>(p + 8, p);
    ok(cudaMemcpy(list, p, sizeof list, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 8; i++)
        printf("%d ", list[i]);
    printf("\n");
    ok(cudaFree(p));
}

// The host reads what a copy brings before it has come.
static void copy()
{
    int *device, *host;
    cudaStream_t s;
    ok(cudaMalloc(&device, N * sizeof *device));
    ok(cudaMallocHost(&host, N * sizeof *host));
    memset(host, 0, N * sizeof *host);
    ok(cudaStreamCreate(&s));
    fill<<<N / 256, 256, 0, s>>>(device, 7);
    ok(cudaMemcpyAsync(host, device, N * sizeof *host, cudaMemcpyDeviceToHost, s));
    if (repaired)
        ok(cudaStreamSynchronize(s));
    printf("%d\n", ((volatile int *)host)[0]);
    ok(cudaStreamSynchronize(s));
    ok(cudaStreamDestroy(s));
    ok(cudaFreeHost(host));
    ok(cudaFree(device));
}

// A host function of one stream reads what another stream makes.
static void CUDART_CB tell(void *values) { printf("%d\n", *(volatile int *)values); }

static void callback()
{
    int *values;
    cudaStream_t s, t;
    cudaEvent_t made;
    ok(cudaMallocHost(&values, N * sizeof *values));
    memset(values, 0, N * sizeof *values);
    ok(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    ok(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
    ok(cudaEventCreate(&made));
    fill<<<N / 256, 256, 0, s>>>(values, 9);
    ok(cudaEventRecord(made, s));
    if (repaired)
        ok(cudaStreamWaitEvent(t, made, 0));
    ok(cudaLaunchHostFunc(t, tell, values));
    ok(cudaDeviceSynchronize());
    ok(cudaStreamDestroy(s));
    ok(cudaStreamDestroy(t));
    ok(cudaEventDestroy(made));
    ok(cudaFreeHost(values));
}

// Threads read what other warps put into shared memory, without a barrier between.
__global__ void turn(int *out, bool barrier)
{
    __shared__ int values[128];
    values[threadIdx.x] = threadIdx.x + 1;
    if (barrier)
        __syncthreads();
    int from = (threadIdx.x + 96) % 128; // of the warp before
    out[threadIdx.x] = ((volatile int *)values)[from];
}

__global__ void clear() // so that shared memory holds nothing of use
{
    __shared__ int values[128];
    ((volatile int *)values)[threadIdx.x] = 0;
}

static void shared()
{
    int *out, values[128], sum = 0;
    ok(cudaMalloc(&out, sizeof values));
    clear<<<1, 128>>>();
    turn<<<1, 128>>>(out, repaired);
    ok(cudaMemcpy(values, out, sizeof values, cudaMemcpyDeviceToHost));
    for (int i = 32; i < 128; i++) // warps that follow another
        sum += values[i] == i - 31;
    printf("%d\n", sum);
    ok(cudaFree(out));
}

// Which side of a branch runs first decides.
__global__ void sides(int *out)
{
    __shared__ volatile int value;
    value = 0;
    __syncwarp();
    if (threadIdx.x % 2 == 0) {
        value = value * 2 + 1;
        __threadfence_block(); // so that the sides stay two
    } else {
        value = value * 3 + 2;
    }
    __syncwarp();
    if (threadIdx.x == 0)
        *out = value;
}

__global__ void sides_atomically(int *out)
{
    __shared__ int value;
    value = 0;
    __syncwarp();
    if (threadIdx.x % 2 == 0)
        atomicMax(&value, 1);
    else
        atomicMax(&value, 2);
    __syncwarp();
    if (threadIdx.x == 0)
        *out = value;
}

static void lanes()
{
    int *out;
    ok(cudaMalloc(&out, sizeof *out));
    if (repaired)
        sides_atomically<<<1, 32>>>(out);
    else
        sides<<<1, 32>>>(out);
    printf("%d\n", first(out));
    ok(cudaFree(out));
}

// The last block to write wins; each block counts on those before it.
__global__ void chain(int *values)
{
    if (threadIdx.x == 0)
        values[blockIdx.x] = blockIdx.x == 0 ? 1 : values[blockIdx.x - 1] + 1;
}

static void blocks()
{
    int *values, last;
    ok(cudaMalloc(&values, 64 * sizeof *values));
    ok(cudaMemset(values, 0, 64 * sizeof *values));
    if (!repaired)
        chain<<<64, 32>>>(values);
    for (int i = 0; repaired && i < 64; i++)
        fill<<<1, 1>>>(values + i, i + 1);
    ok(cudaMemcpy(&last, values + 63, sizeof last, cudaMemcpyDeviceToHost));
    printf("%d\n", last);
    ok(cudaFree(values));
}

// Branches of a graph without an edge between them.
static void graph()
{
    int *a, *b;
    cudaStream_t s;
    cudaGraph_t g;
    cudaGraphExec_t exec;
    cudaGraphNode_t one, two;
    ok(cudaMalloc(&a, N * sizeof *a));
    ok(cudaMalloc(&b, N * sizeof *b));
    ok(cudaMemset(a, 0, N * sizeof *a));
    int value = 5;
    void *fill_args[] = {&a, &value}, *add_args[] = {&a, &b};
    cudaKernelNodeParams fills = {}, adds = {};
    fills.func = (void *)fill;
    adds.func = (void *)add;
    fills.gridDim = adds.gridDim = dim3(N / 256);
    fills.blockDim = adds.blockDim = dim3(256);
    fills.kernelParams = fill_args;
    adds.kernelParams = add_args;
    ok(cudaGraphCreate(&g, 0));
    ok(cudaGraphAddKernelNode(&one, g, NULL, 0, &fills));
    ok(cudaGraphAddKernelNode(&two, g, repaired ? &one : NULL, repaired, &adds));
    ok(cudaGraphInstantiate(&exec, g, 0));
    ok(cudaStreamCreate(&s));
    ok(cudaGraphLaunch(exec, s));
    ok(cudaStreamSynchronize(s));
    printf("%d\n", first(b));
    ok(cudaGraphExecDestroy(exec));
    ok(cudaGraphDestroy(g));
    ok(cudaStreamDestroy(s));
    ok(cudaFree(a));
    ok(cudaFree(b));
}

// The sum of floats depends on the order of the additions: `fixed` keeps to one.
__global__ void accumulate(float *sum)
{
    unsigned x = (blockIdx.x * blockDim.x + threadIdx.x) * 2654435761u;
    atomicAdd(sum, (float)(x >> 8) * 1e-3f);
}

static void sum()
{
    float *sum, value;
    uint32_t bits;
    cudaStream_t s[3];
    ok(cudaMalloc(&sum, sizeof *sum));
    ok(cudaMemset(sum, 0, sizeof *sum));
    ok(cudaDeviceSynchronize());
    for (int i = 0; i < 3; i++)
        ok(cudaStreamCreateWithFlags(&s[i], cudaStreamNonBlocking));
    for (int n = 0; n < 8; n++)
        for (int i = 0; i < 3; i++)
            accumulate<<<200, 96, 0, s[i]>>>(sum);
    ok(cudaDeviceSynchronize());
    ok(cudaMemcpy(&value, sum, sizeof value, cudaMemcpyDeviceToHost));
    memcpy(&bits, &value, sizeof bits);
    printf("%08x\n", (unsigned)bits);
    for (int i = 0; i < 3; i++)
        ok(cudaStreamDestroy(s[i]));
    ok(cudaFree(sum));
}

// A program that waits without a call: for a flag in mapped memory, set by a kernel.
__global__ void raise(volatile int *flag) { *flag = 1; }

static void flag()
{
    int *flag;
    ok(cudaMallocHost(&flag, sizeof *flag));
    *(volatile int *)flag = 0;
    raise<<<1, 1>>>(flag);
    while (*(volatile int *)flag == 0)
        ;
    printf("raised\n");
    ok(cudaDeviceSynchronize());
    ok(cudaFreeHost(flag));
}

// A fault of every thread: which one is told of, and at which address, is the order's and the
// system's.
__global__ void wild(int *p) { p[(1L << 36) + blockIdx.x * 4096 + threadIdx.x] = 1; }

static void fault()
{
    int *p;
    cudaMalloc(&p, 4096);
    wild<<<8, 64>>>(p);
    printf("%d\n", (int)cudaDeviceSynchronize());
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)();
    } programs[] = {{"event", event},   {"copy", copy},   {"callback", callback},
                    {"shared", shared}, {"lanes", lanes}, {"blocks", blocks},
                    {"warps", warps},   {"graph", graph}, {"sum", sum},
                    {"flag", flag},     {"fault", fault}};
    repaired = argc > 2 && strcmp(argv[2], "repaired") == 0;
    for (const auto &p : programs)
        if (argc > 1 && strcmp(argv[1], p.name) == 0) {
            p.run();
            return 0;
        }
    printf("usage: orders NAME [repaired]\n");
    return 2;
}
