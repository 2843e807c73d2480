/* E2: what each function answers after a kernel has faulted, with arguments that were good before:
 * most give the fault's code until the device is reset, those that only look into the host's memory
 * do not, and a few look at the device's state before they say so.
 *
 * With the argument "print" the program prints function|code instead of checking. */
#include <cstdlib>
#include <cuda.h>
#include <cuda_profiler_api.h>
#include <cuda_runtime.h>

#include "check.h"

/* What is expected: the fault's code, or a code of the call's own. */
#define FAULT ((cudaError_t) - 1)

static bool print;
static cudaError_t fault;

static void note(const char *call, int line, cudaError_t code, cudaError_t expected)
{
    size_t name = strcspn(call, "(");

    if (print) {
        printf("%.*s|%s%s\n", (int)name, call, cudaGetErrorName(code),
               code == (expected == FAULT ? fault : expected) ? "" : "|other than expected");
        fflush(stdout);
        return;
    }
    if (!check_count(code == (expected == FAULT ? fault : expected)))
        printf("line %d: %s: %s, not %s\n", line, call, cudaGetErrorName(code),
               cudaGetErrorName(expected == FAULT ? fault : expected));
}
#define AFTER(call, expected) note(#call, __LINE__, (cudaError_t)(call), expected)
#define MUST(call)                                                                                 \
    do {                                                                                           \
        cudaError_t must_code = (cudaError_t)(call);                                               \
        if (must_code != cudaSuccess) {                                                            \
            printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorName(must_code));     \
            exit(3);                                                                               \
        }                                                                                          \
    } while (0)

__global__ void store(int *p) { *p = 1; }
__global__ void stop() { __trap(); }
__device__ int variable;
__managed__ int shared_variable;
static const char ptx[] = ".version 7.0\n.target sm_50\n.address_size 64\n.global .u32 g;\n"
                          ".visible .entry k() { ret; }\n";

static cudaStream_t s, s2;
static cudaEvent_t e, e2, e3;
static int *p, *h, *managed, *pooled, *registered;
static cudaArray_t array;
static cudaTextureObject_t texture;
static cudaSurfaceObject_t surface;
static cudaMemPool_t pool;
static cudaGraph_t graph, empty_graph;
static cudaGraphNode_t node;
static cudaGraphExec_t exec;
static cudaLibrary_t library;
static cudaKernel_t kernel;
static cudaFunction_t function;
static CUmodule module;
static CUfunction driver_function;

static void CUDART_CB host_fn(void *) {}

static void make()
{
    cudaResourceDesc resource = {};
    cudaTextureDesc sampling = {};
    cudaMemPoolProps props = {};
    cudaKernelNodeParams params = {};
    cudaChannelFormatDesc desc = cudaCreateChannelDesc<float>();
    static void *args[] = {&p};

    MUST(cudaStreamCreate(&s));
    MUST(cudaStreamCreate(&s2));
    MUST(cudaEventCreate(&e));
    MUST(cudaEventCreate(&e2));
    MUST(cudaEventCreate(&e3));
    MUST(cudaMalloc(&p, 4096));
    MUST(cudaMallocHost(&h, 4096));
    MUST(cudaMallocManaged(&managed, 4096));
    MUST(cudaMallocAsync(&pooled, 4096, s));
    registered = (int *)aligned_alloc(4096, 4096);
    MUST(cudaHostRegister(registered, 4096, 0));
    MUST(cudaMallocArray(&array, &desc, 16, 16, cudaArraySurfaceLoadStore));
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    MUST(cudaCreateTextureObject(&texture, &resource, &sampling, nullptr));
    MUST(cudaCreateSurfaceObject(&surface, &resource));
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    MUST(cudaMemPoolCreate(&pool, &props));
    MUST(cudaGraphCreate(&graph, 0));
    MUST(cudaGraphCreate(&empty_graph, 0));
    params.func = (void *)store;
    params.gridDim = params.blockDim = dim3(1);
    params.kernelParams = args;
    MUST(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &params));
    MUST(cudaGraphInstantiate(&exec, graph, 0));
    MUST(cudaLibraryLoadData(&library, ptx, nullptr, nullptr, 0, nullptr, nullptr, 0));
    MUST(cudaLibraryGetKernel(&kernel, library, "k"));
    MUST(cudaGetFuncBySymbol(&function, (const void *)store));
    MUST(cuModuleLoadData(&module, ptx));
    MUST(cuModuleGetFunction(&driver_function, module, "k"));
    store<<<1, 1>>>(p);
    MUST(cudaEventRecord(e, s));
    MUST(cudaEventRecord(e2, s));
    MUST(cudaDeviceSynchronize());
}

static void errors_and_devices()
{
    int n, dev;
    unsigned flags;
    size_t a, b;
    char text[32];
    cudaDeviceProp prop;
    cudaFuncCache cache;
    cudaSharedMemConfig banks;
    cudaMemPool_t m;
    CUcontext context;

    AFTER(cudaPeekAtLastError(), FAULT);
    AFTER(cudaGetLastError(), FAULT);
    AFTER(cudaGetLastError(), cudaSuccess);
    AFTER(cudaDeviceSynchronize(), FAULT);
    AFTER(cudaGetDevice(&dev), cudaSuccess);
    AFTER(cudaGetDeviceCount(&n), cudaSuccess);
    AFTER(cudaSetDevice(0), cudaSuccess);
    AFTER(cudaInitDevice(0, 0, 0), cudaSuccess);
    AFTER(cudaSetDeviceFlags(0), cudaSuccess);
    AFTER(cudaGetDeviceFlags(&flags), cudaSuccess);
    AFTER(cudaGetDeviceProperties(&prop, 0), cudaSuccess);
    AFTER(cudaDeviceGetAttribute(&n, cudaDevAttrWarpSize, 0), cudaSuccess);
    AFTER(cudaDeviceGetPCIBusId(text, sizeof text, 0), cudaSuccess);
    AFTER(cudaDeviceGetByPCIBusId(&n, text), cudaSuccess);
    AFTER(cudaChooseDevice(&n, &prop), cudaSuccess);
    AFTER(cudaDeviceCanAccessPeer(&n, 0, 0), cudaSuccess);
    AFTER(cudaDeviceGetLimit(&a, cudaLimitStackSize), FAULT);
    AFTER(cudaDeviceSetLimit(cudaLimitStackSize, 2048), FAULT);
    AFTER(cudaDeviceGetCacheConfig(&cache), FAULT);
    AFTER(cudaDeviceSetCacheConfig(cudaFuncCachePreferNone), FAULT);
    AFTER(cudaDeviceGetSharedMemConfig(&banks), FAULT);
    AFTER(cudaDeviceSetSharedMemConfig(cudaSharedMemBankSizeDefault), FAULT);
    AFTER(cudaDeviceGetStreamPriorityRange(&n, &dev), FAULT);
    AFTER(cudaCtxResetPersistingL2Cache(), FAULT);
    AFTER(cudaMemGetInfo(&a, &b), FAULT);
    AFTER(cudaDeviceGetDefaultMemPool(&m, 0), cudaSuccess);
    AFTER(cudaDeviceGetMemPool(&m, 0), cudaSuccess);
    AFTER(cudaDeviceSetMemPool(0, m), cudaSuccess);
    AFTER(cudaDriverGetVersion(&n), cudaSuccess);
    AFTER(cudaRuntimeGetVersion(&n), cudaSuccess);
    AFTER(cudaProfilerStart(), FAULT);
    AFTER(cudaProfilerStop(), FAULT);
    AFTER(cuCtxGetCurrent(&context), cudaSuccess);
    AFTER(cuCtxSetCurrent(context), cudaSuccess);
    AFTER(cuCtxGetFlags(&flags), cudaSuccess);
    AFTER(cuCtxGetApiVersion(context, &flags), cudaSuccess);
    AFTER(cuCtxGetDevice(&n), cudaSuccess);
    AFTER(cuDevicePrimaryCtxGetState(0, &flags, &n), cudaSuccess);
    AFTER(cuDevicePrimaryCtxRetain(&context, 0), cudaSuccess);
    AFTER(cuDevicePrimaryCtxRelease(0), cudaSuccess);
}

static void streams_and_events()
{
    unsigned flags;
    int n;
    unsigned long long id;
    float ms;
    cudaStream_t t;
    cudaEvent_t f;
    cudaGraph_t g;
    cudaStreamCaptureStatus status;
    cudaLaunchAttributeValue value = {};
    cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;

    AFTER(cudaStreamSynchronize(s), FAULT);
    AFTER(cudaStreamQuery(s), FAULT);
    AFTER(cudaStreamGetFlags(s, &flags), FAULT);
    AFTER(cudaStreamGetPriority(s, &n), FAULT);
    AFTER(cudaStreamGetId(s, &id), FAULT);
    AFTER(cudaStreamGetDevice(s, &n), FAULT);
    AFTER(cudaStreamGetAttribute(s, cudaLaunchAttributeSynchronizationPolicy, &value), FAULT);
    AFTER(cudaStreamSetAttribute(s, cudaLaunchAttributeSynchronizationPolicy, &value), FAULT);
    AFTER(cudaStreamCopyAttributes(s, s2), FAULT);
    AFTER(cudaStreamWaitEvent(s, e, 0), FAULT);
    AFTER(cudaStreamAttachMemAsync(s, managed, 0, cudaMemAttachSingle), FAULT);
    AFTER(cudaLaunchHostFunc(s, host_fn, nullptr), FAULT);
    AFTER(cudaStreamIsCapturing(s, &status), FAULT);
    AFTER(cudaStreamGetCaptureInfo(s, &status), FAULT);
    AFTER(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed), FAULT);
    AFTER(cudaStreamEndCapture(s, &g), FAULT);
    AFTER(cudaThreadExchangeStreamCaptureMode(&mode), cudaSuccess);
    AFTER(cudaThreadExchangeStreamCaptureMode(&mode), cudaSuccess);
    AFTER(cudaStreamCreate(&t), FAULT);
    AFTER(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking), FAULT);
    AFTER(cudaStreamCreateWithPriority(&t, 0, 0), FAULT);
    AFTER(cudaEventCreate(&f), FAULT);
    AFTER(cudaEventCreateWithFlags(&f, cudaEventDisableTiming), FAULT);
    AFTER(cudaEventQuery(e), FAULT);
    AFTER(cudaEventQuery(e3), FAULT);
    AFTER(cudaEventSynchronize(e), FAULT);
    AFTER(cudaEventSynchronize(e3), FAULT);
    AFTER(cudaEventElapsedTime(&ms, e, e2), FAULT);
    AFTER(cudaEventRecord(e, s), FAULT);
    AFTER(cudaEventRecordWithFlags(e, s, 0), FAULT);
}

static void memory()
{
    int *q;
    void *v;
    size_t pitch;
    unsigned flags;
    cudaPitchedPtr box;
    cudaArray_t a;
    cudaChannelFormatDesc desc = cudaCreateChannelDesc<float>();
    cudaExtent extent = {16, 16, 0};
    cudaPointerAttributes attributes;
    cudaMemLocation here = {};
    cudaMemAccessFlags access;
    CUdeviceptr base;
    unsigned long long big = 0;

    here.type = cudaMemLocationTypeDevice;
    AFTER(cudaMalloc(&q, 64), FAULT);
    AFTER(cudaMalloc(&q, 0), cudaSuccess);
    AFTER(cudaMallocPitch(&q, &pitch, 16, 16), FAULT);
    AFTER(cudaMalloc3D(&box, {16, 16, 1}), FAULT);
    AFTER(cudaMallocHost(&q, 64), FAULT);
    AFTER(cudaHostAlloc(&q, 64, 0), FAULT);
    AFTER(cudaMallocManaged(&q, 64), FAULT);
    AFTER(cudaMallocAsync(&q, 64, s), FAULT);
    AFTER(cudaMallocFromPoolAsync(&q, 64, pool, s), FAULT);
    AFTER(cudaMallocArray(&a, &desc, 16, 16), FAULT);
    AFTER(cudaMalloc3DArray(&a, &desc, extent), FAULT);
    AFTER(cudaHostRegister(&flags, 4, 0), FAULT);
    AFTER(cudaHostGetDevicePointer(&v, h, 0), FAULT);
    AFTER(cudaHostGetFlags(&flags, h), FAULT);
    AFTER(cudaPointerGetAttributes(&attributes, p), cudaSuccess);
    AFTER(cudaPointerGetAttributes(&attributes, h), cudaSuccess);
    AFTER(cudaPointerGetAttributes(&attributes, &flags), cudaSuccess);
    AFTER(cudaGetChannelDesc(&desc, array), FAULT);
    AFTER(cudaArrayGetInfo(&desc, &extent, &flags, array), FAULT);
    AFTER(cudaMemAdvise(managed, 4096, cudaMemAdviseSetReadMostly, here), FAULT);
    AFTER(cudaMemPrefetchAsync(managed, 4096, here, 0, s), FAULT);
    AFTER(cudaMemRangeGetAttribute(&flags, 4, cudaMemRangeAttributeReadMostly, managed, 4096),
          FAULT);
    AFTER(cudaMemPoolTrimTo(pool, 0), cudaSuccess);
    AFTER(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &big), cudaSuccess);
    big = 0;
    AFTER(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &big), cudaSuccess);
    AFTER(cudaMemPoolGetAccess(&access, pool, &here), cudaSuccess);
    AFTER(cuMemGetAddressRange(&base, &pitch, (CUdeviceptr)p), FAULT);
    AFTER(cuPointerGetAttribute(&flags, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)p),
          cudaSuccess);
}

static void copies()
{
    int local[16] = {};
    cudaMemcpy3DParms box = {};
    void *v;
    size_t n;

    AFTER(cudaMemcpy(h, p, 4, cudaMemcpyDeviceToHost), FAULT);
    AFTER(cudaMemcpy(local, local + 1, 4, cudaMemcpyHostToHost), FAULT);
    AFTER(cudaMemcpy(h, p, 0, cudaMemcpyDeviceToHost), cudaSuccess);
    AFTER(cudaMemcpyAsync(p, h, 4, cudaMemcpyHostToDevice, s), FAULT);
    AFTER(cudaMemcpy2D(p, 16, h, 16, 16, 2, cudaMemcpyHostToDevice), FAULT);
    AFTER(cudaMemcpy2D(p, 16, h, 16, 16, 0, cudaMemcpyHostToDevice), cudaSuccess);
    AFTER(cudaMemcpy2DAsync(p, 16, h, 16, 16, 2, cudaMemcpyHostToDevice, s), FAULT);
    box.srcPtr = {h, 16, 16, 1};
    box.dstPtr = {p, 16, 16, 1};
    box.extent = {16, 1, 1};
    box.kind = cudaMemcpyDefault;
    AFTER(cudaMemcpy3D(&box), FAULT);
    AFTER(cudaMemcpy3DAsync(&box, s), FAULT);
    AFTER(cudaMemcpyPeer(p, 0, p + 64, 0, 4), FAULT);
    AFTER(cudaMemcpyToSymbol(variable, local, 4), FAULT);
    AFTER(cudaMemcpyFromSymbol(local, variable, 4), FAULT);
    AFTER(cudaMemcpy2DToArray(array, 0, 0, h, 16, 16, 1, cudaMemcpyHostToDevice), FAULT);
    AFTER(cudaMemset(p, 0, 4), FAULT);
    AFTER(cudaMemset(p, 0, 0), cudaSuccess);
    AFTER(cudaMemset2D(p, 16, 0, 4, 4), FAULT);
    AFTER(cudaMemsetAsync(p, 0, 4, s), FAULT);
    AFTER(cudaGetSymbolAddress(&v, variable), FAULT);
    AFTER(cudaGetSymbolSize(&n, variable), FAULT);
}

static void kernels()
{
    void *args[] = {&p};
    int n;
    size_t bytes;
    const char *name;
    cudaFuncAttributes attributes;
    cudaFunction_t f;
    cudaKernel_t k;
    cudaLibrary_t l;
    CUmodule m;
    CUfunction df;
    void *v;
    unsigned count;

    AFTER(cudaLaunchKernel((const void *)store, dim3(1), dim3(1), args, 0, s), FAULT);
    AFTER(cudaLaunchCooperativeKernel((const void *)store, dim3(1), dim3(1), args, 0, s), FAULT);
    AFTER(cudaFuncGetAttributes(&attributes, store), FAULT);
    AFTER(cudaFuncSetAttribute(store, cudaFuncAttributeMaxDynamicSharedMemorySize, 0), FAULT);
    AFTER(cudaFuncSetCacheConfig(store, cudaFuncCachePreferNone), FAULT);
    AFTER(cudaFuncGetName(&name, (const void *)store), cudaSuccess);
    AFTER(cudaFuncGetParamInfo((const void *)store, 0, &bytes, &bytes), FAULT);
    AFTER(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&n, store, 32, 0), FAULT);
    AFTER(cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, store, 1, 32), FAULT);
    AFTER(cudaGetFuncBySymbol(&f, (const void *)store), FAULT);
    AFTER(cudaGetKernel(&k, (const void *)store), cudaSuccess);
    AFTER(cudaLibraryLoadData(&l, ptx, nullptr, nullptr, 0, nullptr, nullptr, 0), cudaSuccess);
    AFTER(cudaLibraryGetKernel(&k, library, "k"), cudaSuccess);
    AFTER(cudaLibraryGetKernelCount(&count, library), cudaSuccess);
    AFTER(cudaLibraryGetGlobal(&v, &bytes, library, "g"), FAULT);
    AFTER(cuModuleLoadData(&m, ptx), FAULT);
    AFTER(cuModuleGetFunction(&df, module, "k"), FAULT);
    AFTER(cuFuncGetAttribute(&n, CU_FUNC_ATTRIBUTE_NUM_REGS, driver_function), FAULT);
    AFTER(cuLaunchKernel(driver_function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr), FAULT);
}

static void graphs()
{
    cudaGraph_t g;
    cudaGraphNode_t n;
    cudaGraphExec_t x;
    cudaGraphNodeType type;
    size_t count = 0;
    unsigned long long flags;
    unsigned on;
    cudaKernelNodeParams params;
    cudaGraphExecUpdateResultInfo result;

    AFTER(cudaGraphCreate(&g, 0), cudaSuccess);
    AFTER(cudaGraphAddEmptyNode(&n, empty_graph, nullptr, 0), cudaSuccess);
    AFTER(cudaGraphAddMemcpyNode1D(&n, empty_graph, nullptr, 0, p, h, 4, cudaMemcpyDefault), FAULT);
    AFTER(cudaGraphKernelNodeGetParams(node, &params), cudaSuccess);
    AFTER(cudaGraphKernelNodeSetParams(node, &params), FAULT);
    AFTER(cudaGraphNodeGetType(node, &type), cudaSuccess);
    AFTER(cudaGraphGetNodes(graph, nullptr, &count), cudaSuccess);
    AFTER(cudaGraphClone(&g, graph), cudaSuccess);
    AFTER(cudaGraphInstantiate(&x, graph, 0), FAULT);
    AFTER(cudaGraphExecGetFlags(exec, &flags), cudaSuccess);
    AFTER(cudaGraphNodeGetEnabled(exec, node, &on), cudaSuccess);
    AFTER(cudaGraphExecKernelNodeSetParams(exec, node, &params), FAULT);
    AFTER(cudaGraphExecUpdate(exec, graph, &result), cudaSuccess);
    AFTER(cudaGraphUpload(exec, s), FAULT);
    AFTER(cudaGraphLaunch(exec, s), FAULT);
    AFTER(cudaGraphExecDestroy(exec), cudaSuccess);
    AFTER(cudaGraphDestroyNode(node), cudaSuccess);
    AFTER(cudaGraphDestroy(graph), cudaSuccess);
}

static void textures()
{
    cudaResourceDesc resource = {};
    cudaTextureDesc sampling = {};
    cudaTextureObject_t t;
    cudaSurfaceObject_t u;

    AFTER(cudaGetTextureObjectResourceDesc(&resource, texture), FAULT);
    AFTER(cudaGetTextureObjectTextureDesc(&sampling, texture), FAULT);
    AFTER(cudaGetSurfaceObjectResourceDesc(&resource, surface), FAULT);
    memset(&resource, 0, sizeof resource);
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    AFTER(cudaCreateTextureObject(&t, &resource, &sampling, nullptr), FAULT);
    AFTER(cudaCreateSurfaceObject(&u, &resource), FAULT);
    AFTER(cudaDestroyTextureObject(texture), FAULT);
    AFTER(cudaDestroySurfaceObject(surface), FAULT);
}

static void freeing()
{
    AFTER(cudaFreeAsync(pooled, s), FAULT);
    AFTER(cudaEventDestroy(e), FAULT);
    AFTER(cudaEventDestroy(e3), FAULT);
    AFTER(cudaStreamDestroy(s), FAULT);
    AFTER(cudaFreeArray(array), FAULT);
    AFTER(cudaFree(p), FAULT);
    AFTER(cudaFree(managed), FAULT);
    AFTER(cudaFree(0), FAULT);
    AFTER(cudaFreeHost(h), FAULT);
    AFTER(cudaFreeHost(0), FAULT);
    AFTER(cudaHostUnregister(registered), FAULT);
    AFTER(cudaMemPoolDestroy(pool), cudaSuccess);
    AFTER(cudaLibraryUnload(library), cudaSuccess);
    AFTER(cuModuleUnload(module), FAULT);
    AFTER(cudaGetLastError(), FAULT);
    AFTER(cudaDeviceReset(), cudaSuccess);
    AFTER(cudaGetLastError(), cudaSuccess);
}

int main(int argc, char **argv)
{
#ifdef PRINT
    print = true;
#endif
    print = print || (argc > 1 && strcmp(argv[1], "print") == 0);
    make();
    store<<<1, 1>>>((int *)16);
    AFTER(cudaGetLastError(), cudaSuccess);
    fault = cudaErrorIllegalAddress;
    AFTER(cudaDeviceSynchronize(), FAULT);
    errors_and_devices();
    streams_and_events();
    memory();
    copies();
    kernels();
    graphs();
    textures();
    freeing();
    return print ? 0 : check_done();
}
