/* S7.10: threads share streams, events, pointers, pools and modules, so that one destroys what
 * another uses, frees it twice, unloads what it launches, while the device is reset. Calls may
 * fail; none crashes or hangs, and afterwards the device works. */
#include <cuda.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"

static const int WORKERS = 4, SLOTS = 4;

static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                          ".visible .global .align 4 .u32 counter;\n"
                          ".visible .entry count() { .reg .u64 %a; .reg .u32 %v;\n"
                          "mov.u64 %a, counter; atom.global.add.u32 %v, [%a], 1; ret; }\n";

/* What all threads use, as they find it. */
static struct shared {
    cudaStream_t stream;
    cudaEvent_t event;
    cudaMemPool_t pool;
    void *memory, *ordered; /* of cudaMalloc; of cudaMallocAsync */
    CUmodule module;
    CUfunction function;
} shared[SLOTS];

template <class T> static T get(T *field) { return __atomic_load_n(field, __ATOMIC_ACQUIRE); }
template <class T> static void set(T *field, T to)
{
    __atomic_store_n(field, to, __ATOMIC_RELEASE);
}

__global__ void nothing() {}

__global__ void late()
{
    for (long long end = clock64() + 50000; clock64() < end;) {
    }
}

static void returns(void *) {}

static void use_stream(struct shared *s, unsigned which)
{
    cudaStream_t stream = get(&s->stream);

    switch (which % 8) {
    case 0:
        if (cudaStreamCreateWithFlags(&stream, which / 8 % 2) == cudaSuccess)
            set(&s->stream, stream);
        break;
    case 1:
        if (which / 8 % 2)
            set(&s->stream, (cudaStream_t) nullptr); /* else others use it on */
        if (stream != nullptr)
            cudaStreamDestroy(stream);
        break;
    case 2: nothing<<<4, 64, 0, stream>>>(); break;
    case 3: late<<<1, 32, 0, stream>>>(); break;
    case 4: cudaLaunchHostFunc(stream, returns, nullptr); break;
    case 5: cudaStreamSynchronize(stream); break;
    case 6: cudaStreamQuery(stream); break;
    case 7: cudaDeviceSynchronize(); break;
    }
}

static void use_event(struct shared *s, unsigned which)
{
    cudaEvent_t event = get(&s->event);

    switch (which % 5) {
    case 0:
        if (cudaEventCreate(&event) == cudaSuccess)
            set(&s->event, event);
        break;
    case 1: cudaEventDestroy(event); break;
    case 2: cudaEventRecord(event, get(&s->stream)); break;
    case 3: cudaStreamWaitEvent(get(&s->stream), event, 0); break;
    case 4: cudaEventSynchronize(event); break;
    }
}

/* Memory is freed by several threads, on streams that are destroyed meanwhile. */
static void use_memory(struct shared *s, unsigned which)
{
    static char host[512];
    cudaStream_t stream = get(&s->stream);
    void *p;

    switch (which % 6) {
    case 0:
        if (cudaMalloc(&p, 4096) == cudaSuccess)
            set(&s->memory, p);
        break;
    case 1: cudaFree(get(&s->memory)); break;
    case 2: cudaMemcpyAsync(get(&s->memory), host, 512, cudaMemcpyHostToDevice, stream); break;
    case 3:
        if (cudaMallocAsync(&p, 512 + which % 7777, stream) == cudaSuccess)
            set(&s->ordered, p);
        break;
    case 4: cudaFreeAsync(get(&s->ordered), stream); break;
    case 5:
        if (cudaMallocAsync(&p, 4096, stream) == cudaSuccess) {
            cudaMemsetAsync(p, 0, 4096, stream);
            cudaFreeAsync(p, stream);
        }
        break;
    }
}

static void use_pool(struct shared *s, unsigned which)
{
    cudaMemPool_t pool = get(&s->pool);
    cudaMemPoolProps props = {};
    void *p;

    switch (which % 3) {
    case 0:
        props.allocType = cudaMemAllocationTypePinned;
        props.location.type = cudaMemLocationTypeDevice;
        if (cudaMemPoolCreate(&pool, &props) == cudaSuccess)
            set(&s->pool, pool);
        break;
    case 1:
        if (pool != nullptr)
            cudaMemPoolDestroy(pool);
        break;
    case 2:
        if (pool != nullptr &&
            cudaMallocFromPoolAsync(&p, 10000, pool, get(&s->stream)) == cudaSuccess)
            set(&s->ordered, p);
        break;
    }
}

static void use_module(struct shared *s, unsigned which)
{
    CUmodule module = get(&s->module);
    CUfunction function = get(&s->function);

    switch (which % 4) {
    case 0:
        if (cuModuleLoadData(&module, ptx) != CUDA_SUCCESS)
            break;
        set(&s->module, module);
        if (cuModuleGetFunction(&function, module, "count") == CUDA_SUCCESS)
            set(&s->function, function);
        break;
    case 1:
        if (module != nullptr)
            cuModuleUnload(module);
        break;
    default:
        if (function != nullptr)
            cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, (CUstream)get(&s->stream), nullptr,
                           nullptr);
    }
}

static void (*const uses[])(struct shared *, unsigned) = {use_stream, use_event, use_memory,
                                                          use_pool, use_module};
static volatile bool stop;

static unsigned next(unsigned *state)
{
    *state = *state * 1664525 + 1013904223;
    return *state >> 8;
}

static void *work(void *seed)
{
    unsigned state = (unsigned)(long)seed;

    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        unsigned use = next(&state) % 5;
        /* Modules take long to load; all other uses are many between two resets. */
        if (use == 4 && next(&state) % 4 != 0)
            use = 2;
        uses[use](&shared[next(&state) % SLOTS], next(&state));
    }
    return nullptr;
}

static void check_works()
{
    int *p, got = 0;

    CHECK_STR(cudaGetErrorName(cudaMallocManaged(&p, sizeof *p)), "cudaSuccess");
    nothing<<<1, 32>>>();
    CHECK_STR(cudaGetErrorName(cudaMemset(p, 1, sizeof *p)), "cudaSuccess");
    CHECK_STR(cudaGetErrorName(cudaMemcpy(&got, p, sizeof got, cudaMemcpyDefault)), "cudaSuccess");
    CHECK_EQ_INT(got, 0x01010101);
}

int main(int argc, char **argv)
{
    int resets = argc > 1 ? atoi(argv[1]) : 100;
    unsigned state = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
    pthread_t threads[WORKERS];

    setenv("WEIR_FAULTS", "off", 1); /* memory that is used after it was freed */
    CHECK_STR(cudaGetErrorName(cudaFree(nullptr)), "cudaSuccess");
    for (pthread_t &t : threads)
        pthread_create(&t, nullptr, work, (void *)(long)next(&state));
    for (int i = 0; i < resets; i++) {
        usleep(next(&state) % 20000);
        cudaDeviceReset();
    }
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    for (pthread_t t : threads)
        pthread_join(t, nullptr);
    cudaDeviceReset();
    cudaGetLastError();
    check_works();
    return check_done();
}
