/* M1: managed memory: what was advised and prefetched can be asked for again, whole and in parts;
 * how much memory a device has, and that it ends. */
#include <vector>

#include "check.h"

#define OK(call)          CHECK_STR(cudaGetErrorName(call), "cudaSuccess")
#define ERROR(call, code) CHECK_STR(cudaGetErrorName(call), #code)

__global__ void add(int *p, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        p[i] += i;
}

static const size_t bytes = 1 << 22;

static cudaMemLocation at_device(int n)
{
    cudaMemLocation l = {cudaMemLocationTypeDevice, n};
    return l;
}

static cudaMemLocation at_host()
{
    cudaMemLocation l = {cudaMemLocationTypeHost, 0};
    return l;
}

static int asked(const char *p, size_t count, cudaMemRangeAttribute which)
{
    int value = 1234;
    OK(cudaMemRangeGetAttribute(&value, sizeof value, which, p, count));
    return value;
}

/* The first four that access the range. */
static void accessors(const char *p, size_t count, int first, int second)
{
    int list[4] = {99, 99, 99, 99};
    OK(cudaMemRangeGetAttribute(list, sizeof list, cudaMemRangeAttributeAccessedBy, p, count));
    CHECK_EQ_INT(list[0], first);
    CHECK_EQ_INT(list[1], second);
    CHECK_EQ_INT(list[2], cudaInvalidDeviceId);
    CHECK_EQ_INT(list[3], cudaInvalidDeviceId);
}

static void advice()
{
    const size_t half = bytes / 2;
    const cudaMemRangeAttribute mostly = cudaMemRangeAttributeReadMostly,
                                preferred = cudaMemRangeAttributePreferredLocation;
    char *p;

    OK(cudaMallocManaged((void **)&p, bytes));
    CHECK_EQ_INT(asked(p, bytes, mostly), 0);
    CHECK_EQ_INT(asked(p, bytes, preferred), cudaInvalidDeviceId);
    CHECK_EQ_INT(asked(p, bytes, cudaMemRangeAttributeLastPrefetchLocation), cudaInvalidDeviceId);
    accessors(p, bytes, cudaInvalidDeviceId, cudaInvalidDeviceId);

    OK(cudaMemAdvise(p, bytes, cudaMemAdviseSetReadMostly, at_device(0)));
    CHECK_EQ_INT(asked(p, bytes, mostly), 1);
    OK(cudaMemAdvise(p, half, cudaMemAdviseUnsetReadMostly, at_device(0)));
    CHECK_EQ_INT(asked(p, bytes, mostly), 0); /* not all of it */
    CHECK_EQ_INT(asked(p, half, mostly), 0);
    CHECK_EQ_INT(asked(p + half, half, mostly), 1);
    OK(cudaMemAdvise(p, bytes, cudaMemAdviseUnsetReadMostly, at_device(0)));

    OK(cudaMemAdvise(p, bytes, cudaMemAdviseSetPreferredLocation, at_device(0)));
    CHECK_EQ_INT(asked(p, bytes, preferred), 0);
    OK(cudaMemAdvise(p, half, cudaMemAdviseSetPreferredLocation, at_host()));
    CHECK_EQ_INT(asked(p, half, preferred), cudaCpuDeviceId);
    CHECK_EQ_INT(asked(p + half, half, preferred), 0);
    CHECK_EQ_INT(asked(p, bytes, preferred), cudaInvalidDeviceId); /* two answers */
    OK(cudaMemAdvise(p, bytes, cudaMemAdviseUnsetPreferredLocation, at_device(0)));
    CHECK_EQ_INT(asked(p, bytes, preferred), cudaInvalidDeviceId);

    OK(cudaMemAdvise(p, bytes, cudaMemAdviseSetAccessedBy, at_device(0)));
    accessors(p, bytes, 0, cudaInvalidDeviceId);
    OK(cudaMemAdvise(p, bytes, cudaMemAdviseUnsetAccessedBy, at_device(0)));
    accessors(p, bytes, cudaInvalidDeviceId, cudaInvalidDeviceId);
    OK(cudaFree(p));
}

static void prefetches()
{
    const cudaMemRangeAttribute last = cudaMemRangeAttributeLastPrefetchLocation;
    const size_t half = bytes / 2;
    const int n = bytes / sizeof(int);
    int *p, wrong = 0;
    cudaStream_t s;
    int mostly = 9, place = 9;
    void *datas[2] = {&mostly, &place};
    size_t sizes[2] = {sizeof mostly, sizeof place};
    cudaMemRangeAttribute names[2] = {cudaMemRangeAttributeReadMostly, last};

    OK(cudaStreamCreate(&s));
    OK(cudaMallocManaged(&p, bytes));
    for (int i = 0; i < n; i++)
        p[i] = 1;
    OK(cudaMemPrefetchAsync(p, bytes, at_device(0), 0, s));
    add<<<n / 256, 256, 0, s>>>(p, n);
    OK(cudaStreamSynchronize(s));
    CHECK_EQ_INT(asked((char *)p, bytes, last), 0);
    OK(cudaMemPrefetchAsync(p, half, at_host(), 0, s));
    OK(cudaStreamSynchronize(s));
    CHECK_EQ_INT(asked((char *)p, half, last), cudaCpuDeviceId);
    CHECK_EQ_INT(asked((char *)p + half, half, last), 0);
    CHECK_EQ_INT(asked((char *)p, bytes, last), cudaInvalidDeviceId);
    OK(cudaMemRangeGetAttributes(datas, sizes, names, 2, p, half));
    CHECK_EQ_INT(mostly, 0);
    CHECK_EQ_INT(place, cudaCpuDeviceId);
    for (int i = 0; i < n; i++)
        wrong += p[i] != 1 + i;
    CHECK_EQ_INT(wrong, 0);
    OK(cudaFree(p));
    /* what takes its place has heard nothing */
    OK(cudaMallocManaged(&p, bytes));
    CHECK_EQ_INT(asked((char *)p, bytes, last), cudaInvalidDeviceId);
    OK(cudaFree(p));
    OK(cudaStreamDestroy(s));
}

__global__ void wait_for(volatile int *go, int *done)
{
    while (*go == 0)
        ;
    *done = 1;
}

/* A prefetch has a place in its stream's order: it comes after the default stream's work, and so
 * does who waits for it. */
static void prefetches_in_order()
{
    volatile int *go;
    int *memory, *done;
    cudaStream_t s;

    OK(cudaStreamCreate(&s));
    OK(cudaHostAlloc((void **)&go, sizeof *go, cudaHostAllocMapped));
    OK(cudaHostAlloc(&done, sizeof *done, cudaHostAllocMapped));
    OK(cudaMallocManaged(&memory, bytes));
    for (int place = 0; place < 2; place++) {
        *go = *done = 0;
        wait_for<<<1, 1>>>(go, done);
        OK(cudaMemPrefetchAsync(memory, bytes, place == 0 ? at_device(0) : at_host(), 0, s));
        ERROR(cudaStreamQuery(s), cudaErrorNotReady);
        *go = 1;
        OK(cudaStreamSynchronize(s));
        CHECK_EQ_INT(*done, 1);
    }
    OK(cudaFree(memory));
    OK(cudaFreeHost((void *)go));
    OK(cudaFreeHost(done));
    OK(cudaStreamDestroy(s));
}

static size_t free_bytes()
{
    size_t free, total;
    OK(cudaMemGetInfo(&free, &total));
    CHECK(free <= total);
    return free;
}

static void the_end_of_memory()
{
    const size_t piece = (size_t)64 << 20;
    std::vector<void *> held;
    void *p = nullptr, *none = nullptr; /* a call that fails may write its pointer */
    size_t free, total, before = free_bytes();

    OK(cudaMemGetInfo(&free, &total));
    ERROR(cudaMalloc(&none, total + piece), cudaErrorMemoryAllocation);
    ERROR(cudaGetLastError(), cudaErrorMemoryAllocation);
    OK(cudaMalloc(&p, before / 2));
    CHECK(free_bytes() <= before - before / 2 + piece);
    ERROR(cudaMalloc(&none, before - before / 4), cudaErrorMemoryAllocation);
    cudaGetLastError();
    OK(cudaFree(p));
    OK(cudaDeviceSynchronize());
    CHECK(free_bytes() >= before - before / 8); /* a GPU has other users */
    /* all of it, in pieces of a sixteenth, until there is no more */
    for (int i = 0; i < 64 && cudaMalloc(&p, before / 16) == cudaSuccess; i++)
        held.push_back(p);
    ERROR(cudaGetLastError(), cudaErrorMemoryAllocation);
    CHECK(held.size() >= 8 && held.size() <= 17);
    CHECK(free_bytes() < before / 8);
    for (void *q : held)
        OK(cudaFree(q));
    CHECK(free_bytes() >= before - before / 8);
    /* and as much again */
    OK(cudaMalloc(&p, before / 2));
    OK(cudaMemset(p, 1, 4096));
    OK(cudaFree(p));
}

int main()
{
    advice();
    prefetches();
    prefetches_in_order();
    the_end_of_memory();
    return check_done();
}
