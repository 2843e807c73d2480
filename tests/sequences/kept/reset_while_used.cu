/* S7.10: a device is reset, and a context destroyed, while other threads make, use and destroy
 * objects of every kind in it. Their calls may fail; none crashes or hangs, and afterwards the
 * device works. */
#include <cuda.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"

#define OK(call) CHECK_STR(cudaGetErrorName(call), "cudaSuccess")

static const int WORKERS = 3;

__global__ void add(int *p, int n)
{
    for (int i = 0; i < n; i++)
        atomicAdd(p + threadIdx.x % 32, 1);
}

__global__ void nothing() {}

static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                          ".visible .global .align 4 .u32 counter;\n"
                          ".visible .entry count() { .reg .u64 %a; .reg .u32 %v;\n"
                          "mov.u64 %a, counter; atom.global.add.u32 %v, [%a], 1; ret; }\n";

static void use_memory()
{
    int *p = nullptr;

    if (cudaMalloc(&p, 4096) != cudaSuccess)
        return;
    add<<<4, 64>>>(p, 100);
    cudaDeviceSynchronize();
    cudaFree(p);
}

static void use_stream()
{
    cudaStream_t s;

    if (cudaStreamCreate(&s) != cudaSuccess)
        return;
    nothing<<<1, 32, 0, s>>>();
    cudaStreamQuery(s);
    cudaStreamSynchronize(s);
    cudaStreamDestroy(s);
}

static void use_event()
{
    cudaEvent_t e, other;
    float ms;

    if (cudaEventCreate(&e) != cudaSuccess)
        return;
    if (cudaEventCreate(&other) != cudaSuccess)
        return;
    cudaEventRecord(e, nullptr);
    nothing<<<1, 32>>>();
    cudaEventRecord(other, nullptr);
    cudaStreamWaitEvent(cudaStreamPerThread, other, 0);
    cudaEventSynchronize(other);
    cudaEventElapsedTime(&ms, e, other);
    cudaEventDestroy(e);
    cudaEventDestroy(other);
}

static void use_pool()
{
    void *p, *q;
    cudaMemPool_t pool;
    cudaMemPoolProps props = {};

    if (cudaMallocAsync(&p, 5000, nullptr) == cudaSuccess) {
        cudaMemsetAsync(p, 0, 5000, nullptr);
        cudaFreeAsync(p, nullptr);
    }
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    if (cudaMemPoolCreate(&pool, &props) == cudaSuccess) {
        unsigned long long bytes = 0;
        if (cudaMallocFromPoolAsync(&q, 100, pool, nullptr) == cudaSuccess)
            cudaFreeAsync(q, nullptr);
        cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &bytes);
        cudaMemPoolDestroy(pool);
    }
    cudaStreamSynchronize(nullptr);
}

static void use_managed()
{
    int *p;
    char host[512];

    if (cudaMallocManaged(&p, 4096) != cudaSuccess)
        return;
    cudaMemset(p, 1, 4096);
    cudaMemcpy(host, p, sizeof host, cudaMemcpyDefault);
    cudaFree(p);
}

static void use_module()
{
    CUmodule m;
    CUfunction f;
    CUdeviceptr at;
    size_t bytes;

    if (cuModuleLoadData(&m, ptx) != CUDA_SUCCESS)
        return;
    if (cuModuleGetFunction(&f, m, "count") == CUDA_SUCCESS)
        cuLaunchKernel(f, 2, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr);
    cuModuleGetGlobal(&at, &bytes, m, "counter");
    cuModuleUnload(m);
}

/* The module is unloaded while its kernels wait in a stream: a reset that comes in between must not
 * keep the unloading from waiting for them. */
static void use_module_late()
{
    cudaStream_t s;
    CUmodule m;
    CUfunction f;

    if (cudaStreamCreate(&s) != cudaSuccess)
        return;
    if (cuModuleLoadData(&m, ptx) == CUDA_SUCCESS) {
        if (cuModuleGetFunction(&f, m, "count") == CUDA_SUCCESS)
            for (int n = 0; n < 16; n++)
                cuLaunchKernel(f, 8, 1, 1, 128, 1, 1, 0, s, nullptr, nullptr);
        cuModuleUnload(m);
    }
    cudaStreamDestroy(s);
}

static void use_library()
{
    CUlibrary l;
    CUkernel k;

    if (cuLibraryLoadData(&l, ptx, nullptr, nullptr, 0, nullptr, nullptr, 0) != CUDA_SUCCESS)
        return;
    if (cuLibraryGetKernel(&k, l, "count") == CUDA_SUCCESS)
        cuLaunchKernel((CUfunction)k, 2, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr);
    cuLibraryUnload(l);
}

static void use_array()
{
    cudaArray_t a;
    cudaTextureObject_t t = 0;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaResourceDesc resource = {};
    cudaTextureDesc sampling = {};
    float host[64] = {0};

    if (cudaMallocArray(&a, &format, 8, 8) != cudaSuccess)
        return;
    cudaMemcpy2DToArray(a, 0, 0, host, 32, 32, 8, cudaMemcpyHostToDevice);
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = a;
    if (cudaCreateTextureObject(&t, &resource, &sampling, nullptr) == cudaSuccess)
        cudaDestroyTextureObject(t);
    cudaFreeArray(a);
}

static void use_graph()
{
    cudaGraph_t g;
    cudaGraphExec_t e;
    cudaGraphNode_t n;
    cudaKernelNodeParams params = {};

    if (cudaGraphCreate(&g, 0) != cudaSuccess)
        return;
    params.func = (void *)nothing;
    params.gridDim = params.blockDim = dim3(1, 1, 1);
    if (cudaGraphAddKernelNode(&n, g, nullptr, 0, &params) == cudaSuccess &&
        cudaGraphInstantiate(&e, g, 0) == cudaSuccess) {
        cudaGraphLaunch(e, nullptr);
        cudaGraphLaunch(e, cudaStreamPerThread);
        cudaStreamSynchronize(nullptr);
        cudaGraphExecDestroy(e);
    }
    cudaGraphDestroy(g);
}

static void use_device()
{
    size_t unused, total;

    cudaDeviceSynchronize();
    cudaMemGetInfo(&unused, &total);
    cudaDeviceSetLimit(cudaLimitStackSize, 2048);
}

static void (*const uses[])() = {use_memory,  use_stream, use_event,      use_pool,
                                 use_managed, use_module, use_library,    use_array,
                                 use_graph,   use_device, use_module_late};
enum { USES = sizeof uses / sizeof uses[0] };

static volatile bool stop;
static CUcontext shared; /* changed by one thread, used by all */

/* Makes calls of one kind, -1: of all in turn. */
static void *work(void *kind)
{
    long which = (long)kind;

    for (unsigned n = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED); n++) {
        uses[which < 0 ? n % USES : (unsigned)which]();
        cudaGetLastError();
    }
    return nullptr;
}

static void *work_in_context(void *)
{
    for (unsigned n = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED); n++) {
        if (cuCtxSetCurrent(__atomic_load_n(&shared, __ATOMIC_ACQUIRE)) == CUDA_SUCCESS)
            uses[n % USES]();
        cudaGetLastError();
    }
    return nullptr;
}

static void during(void *(*thread)(void *), void *arg, void (*step)(), int steps)
{
    pthread_t threads[WORKERS];

    __atomic_store_n(&stop, false, __ATOMIC_RELAXED);
    for (pthread_t &t : threads)
        pthread_create(&t, nullptr, thread, arg);
    for (int i = 0; i < steps; i++) {
        step();
        usleep(300);
    }
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    for (pthread_t t : threads)
        pthread_join(t, nullptr);
}

static void reset() { cudaDeviceReset(); }

static void make_context()
{
    CUcontext made = nullptr, none;

    CHECK_EQ_INT(cuCtxCreate(&made, nullptr, 0, 0), CUDA_SUCCESS);
    CHECK_EQ_INT(cuCtxPopCurrent(&none), CUDA_SUCCESS);
    __atomic_store_n(&shared, made, __ATOMIC_RELEASE);
}

static void change_context()
{
    CUcontext old = shared;

    make_context();
    CHECK_EQ_INT(cuCtxDestroy(old), CUDA_SUCCESS);
}

static void check_works()
{
    int *p, got[32];

    OK(cudaMalloc(&p, sizeof got));
    OK(cudaMemset(p, 0, sizeof got));
    add<<<2, 32>>>(p, 5);
    OK(cudaMemcpy(got, p, sizeof got, cudaMemcpyDeviceToHost));
    for (int i : got)
        CHECK_EQ_INT(i, 10);
    OK(cudaFree(p));
}

int main(int argc, char **argv)
{
    int steps = argc > 1 ? atoi(argv[1]) : 15;

    setenv("WEIR_FAULTS", "off", 1); /* memory that is used after a reset */
    OK(cudaFree(nullptr));
    for (long kind = -1; kind < USES; kind++) {
        during(work, (void *)kind, reset, kind < 0 ? 3 * steps : steps);
        OK(cudaDeviceReset());
        check_works();
    }
    make_context();
    during(work_in_context, nullptr, change_context, 3 * steps);
    CHECK_EQ_INT(cuCtxDestroy(shared), CUDA_SUCCESS);
    check_works();
    return check_done();
}
