/* E1, by the driver API: wrong arguments: what each function says to NULL, to handles that are
 * none, to ordinals, flags and sizes out of range; what it says before cuInit and without a
 * context. */
#include "common.h"

/* Expressions and the codes they must give, with everything they need in scope. */
#define CASES(...)                                                                                 \
    do {                                                                                           \
        const struct {                                                                             \
            CUresult got, wanted;                                                                  \
            const char *text;                                                                      \
        } cases[] = {__VA_ARGS__};                                                                 \
        for (size_t arguments_n = 0; arguments_n < sizeof cases / sizeof *cases; arguments_n++)    \
            if (!check_count(cases[arguments_n].got == cases[arguments_n].wanted))                 \
                printf("%s: %s, not %s\n", cases[arguments_n].text,                                \
                       result_name(cases[arguments_n].got),                                        \
                       result_name(cases[arguments_n].wanted));                                    \
    } while (0)
#define CASE(code, call) {call, CUDA_ERROR_##code, #call}

static CUdevice dev;
static CUcontext ctx;
static CUmodule module;
static CUfunction fn;
static CUstream stream;
static CUevent event;
static CUdeviceptr mem, ptr;
static void *host;
static size_t size;
static int i;
static unsigned u;
static float ms;
static char text[100];

/* 64 zero bytes: no object of any kind. */
static char zeros[64] __attribute__((aligned(8)));
#define NONE(type) ((type)(void *)zeros)

static void before_init(void)
{
    CASES(CASE(NOT_INITIALIZED, cuDeviceGet(&dev, 0)), CASE(NOT_INITIALIZED, cuDeviceGetCount(&i)),
          CASE(NOT_INITIALIZED, cuCtxGetCurrent(&ctx)), CASE(NOT_INITIALIZED, cuMemAlloc(&ptr, 1)),
          CASE(NOT_INITIALIZED, cuCtxCreate(&ctx, NULL, 0, 0)),
          CASE(NOT_INITIALIZED, cuDevicePrimaryCtxRetain(&ctx, 0)),
          CASE(NOT_INITIALIZED, cuStreamCreate(&stream, 0)),
          CASE(NOT_INITIALIZED, cuModuleLoadData(&module, kernels)), CASE(INVALID_VALUE, cuInit(1)),
          CASE(INVALID_VALUE, cuDriverGetVersion(NULL)));
    OK(cuDriverGetVersion(&i));
    CHECK_EQ_INT(i, CUDA_VERSION);
    CHECK_STR(result_name(CUDA_ERROR_NOT_FOUND), "CUDA_ERROR_NOT_FOUND");
    const char *s = "";
    CHECK_CU(cuGetErrorString((CUresult)12345, &s), CUDA_ERROR_INVALID_VALUE);
    CHECK(s == NULL);
    CHECK_CU(cuGetErrorName(CUDA_SUCCESS, NULL), CUDA_ERROR_INVALID_VALUE);
}

static void without_context(void)
{
    OK(cuCtxGetCurrent(&ctx));
    CHECK(ctx == NULL);
    CUpointer_attribute which = CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
    unsigned type = 1;
    OK(cuPointerGetAttributes(1, &which, (void *[]){&type}, (uintptr_t)&type));
    CHECK_EQ_INT(type, 0);
    CASES(CASE(INVALID_CONTEXT, cuCtxSynchronize()), CASE(INVALID_CONTEXT, cuMemAlloc(&ptr, 1)),
          CASE(INVALID_CONTEXT, cuStreamCreate(&stream, 0)),
          CASE(INVALID_CONTEXT, cuEventCreate(&event, 0)),
          CASE(INVALID_CONTEXT, cuModuleLoadData(&module, kernels)),
          CASE(INVALID_CONTEXT, cuCtxGetDevice(&dev)), CASE(INVALID_CONTEXT, cuCtxPopCurrent(&ctx)),
          CASE(INVALID_CONTEXT, cuMemcpyDtoD(1, 1, 1)),
          CASE(INVALID_CONTEXT, cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL)),
          CASE(INVALID_CONTEXT, cuDevicePrimaryCtxRelease(0)));
}

static void devices(void)
{
    CUuuid uuid;
    CASES(CASE(INVALID_DEVICE, cuDeviceGet(&dev, -1)), CASE(INVALID_DEVICE, cuDeviceGet(&dev, 99)),
          CASE(INVALID_VALUE, cuDeviceGet(NULL, 0)), CASE(INVALID_VALUE, cuDeviceGetCount(NULL)),
          CASE(INVALID_VALUE, cuDeviceGetName(NULL, 9, 0)),
          CASE(INVALID_VALUE, cuDeviceGetName(text, 0, 0)),
          CASE(INVALID_DEVICE, cuDeviceGetName(text, 9, 7)),
          CASE(INVALID_VALUE, cuDeviceTotalMem(NULL, 0)),
          CASE(INVALID_DEVICE, cuDeviceTotalMem(&size, -1)),
          CASE(INVALID_VALUE, cuDeviceGetAttribute(NULL, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0)),
          CASE(INVALID_VALUE, cuDeviceGetAttribute(&i, (CUdevice_attribute)0, 0)),
          CASE(INVALID_VALUE, cuDeviceGetAttribute(&i, CU_DEVICE_ATTRIBUTE_MAX, 0)),
          CASE(INVALID_DEVICE, cuDeviceGetAttribute(&i, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 3)),
          CASE(INVALID_VALUE, cuDeviceGetUuid(NULL, 0)),
          CASE(INVALID_DEVICE, cuDeviceGetUuid(&uuid, 5)),
          CASE(INVALID_VALUE, cuDeviceGetPCIBusId(NULL, 20, 0)),
          CASE(INVALID_VALUE, cuDeviceGetByPCIBusId(&dev, NULL)),
          CASE(INVALID_VALUE, cuDeviceGetByPCIBusId(&dev, "rubbish")),
          CASE(INVALID_DEVICE, cuDeviceGetByPCIBusId(&dev, "0000:7f:00.0")),
          CASE(INVALID_VALUE, cuDeviceCanAccessPeer(NULL, 0, 0)),
          CASE(INVALID_DEVICE, cuDeviceCanAccessPeer(&i, 0, 9)),
          CASE(INVALID_DEVICE,
               cuDeviceGetP2PAttribute(&i, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 0)));
    OK(cuDeviceGetPCIBusId(text, sizeof text, 0));
    OK(cuDeviceGetByPCIBusId(&dev, text));
    CHECK_EQ_INT(dev, 0);
    OK(cuDeviceGetName(text, 5, 0));
    CHECK_STR(text, "Weir");
}

static void contexts(void)
{
    CASES(CASE(INVALID_VALUE, cuDevicePrimaryCtxRetain(NULL, 0)),
          CASE(INVALID_DEVICE, cuDevicePrimaryCtxRetain(&ctx, 4)),
          CASE(INVALID_VALUE, cuDevicePrimaryCtxSetFlags(0, 3)),
          CASE(INVALID_VALUE, cuDevicePrimaryCtxSetFlags(0, 0x100)),
          CASE(INVALID_VALUE, cuDevicePrimaryCtxGetState(0, NULL, &i)),
          CASE(INVALID_VALUE, cuCtxCreate(NULL, NULL, 0, 0)),
          CASE(INVALID_VALUE, cuCtxCreate(&ctx, NULL, 7, 0)),
          CASE(INVALID_DEVICE, cuCtxCreate(&ctx, NULL, 0, 9)),
          CASE(INVALID_VALUE, cuCtxDestroy(NULL)), CASE(INVALID_CONTEXT, cuCtxDestroy(ctx)),
          CASE(INVALID_VALUE, cuCtxPushCurrent(NULL)),
          CASE(INVALID_CONTEXT, cuCtxSetCurrent(NONE(CUcontext))),
          CASE(INVALID_VALUE, cuCtxGetCurrent(NULL)), CASE(INVALID_VALUE, cuCtxGetDevice(NULL)),
          CASE(INVALID_VALUE, cuCtxGetLimit(NULL, CU_LIMIT_STACK_SIZE)),
          CASE(INVALID_VALUE, cuCtxGetLimit(&size, CU_LIMIT_MAX)),
          CASE(INVALID_VALUE, cuCtxSetLimit(CU_LIMIT_PERSISTING_L2_CACHE_SIZE, 1)),
          CASE(INVALID_VALUE, cuCtxSetCacheConfig((CUfunc_cache)9)),
          CASE(INVALID_VALUE, cuCtxSetFlags(3)), CASE(INVALID_VALUE, cuCtxGetFlags(NULL)),
          CASE(INVALID_CONTEXT, cuCtxEnablePeerAccess(NULL, 0)),
          CASE(PEER_ACCESS_UNSUPPORTED, cuCtxEnablePeerAccess(ctx, 0)),
          CASE(PEER_ACCESS_NOT_ENABLED, cuCtxDisablePeerAccess(ctx)));
}

static void modules(void)
{
    CUjit_option option = CU_JIT_MAX_REGISTERS;
    CUlibrary lib;
    CASES(CASE(INVALID_VALUE, cuModuleLoadData(NULL, kernels)),
          CASE(INVALID_VALUE, cuModuleLoadData(&module, NULL)),
          CASE(INVALID_VALUE, cuModuleLoadDataEx(&module, kernels, 1, NULL, NULL)),
          CASE(INVALID_VALUE, cuModuleLoadDataEx(&module, kernels, 1, &option, NULL)),
          CASE(INVALID_VALUE, cuModuleLoad(&module, NULL)),
          CASE(FILE_NOT_FOUND, cuModuleLoad(&module, "/nowhere/at/all.ptx")),
          CASE(INVALID_HANDLE, cuModuleUnload(NULL)),
          CASE(INVALID_HANDLE, cuModuleUnload(NONE(CUmodule))),
          CASE(INVALID_HANDLE, cuModuleGetFunction(&fn, NULL, "count")),
          CASE(INVALID_VALUE, cuModuleGetFunction(NULL, module, "count")),
          CASE(INVALID_VALUE, cuModuleGetFunction(&fn, module, NULL)),
          CASE(NOT_FOUND, cuModuleGetFunction(&fn, module, "counter")),
          CASE(INVALID_VALUE, cuModuleGetGlobal(NULL, NULL, module, "counter")),
          CASE(INVALID_VALUE, cuModuleGetGlobal(&ptr, &size, module, NULL)),
          CASE(INVALID_HANDLE, cuModuleGetGlobal(&ptr, &size, NONE(CUmodule), "counter")),
          CASE(INVALID_VALUE, cuModuleGetFunctionCount(NULL, module)),
          CASE(INVALID_VALUE, cuLibraryLoadData(NULL, kernels, NULL, NULL, 0, NULL, NULL, 0)),
          CASE(INVALID_VALUE, cuLibraryLoadData(&lib, kernels, NULL, NULL, 1, NULL, NULL, 0)),
          CASE(INVALID_HANDLE, cuLibraryUnload(NULL)),
          CASE(INVALID_HANDLE, cuLibraryGetKernel((CUkernel *)&fn, NONE(CUlibrary), "x")),
          CASE(INVALID_HANDLE, cuKernelGetFunction(&fn, NONE(CUkernel))),
          CASE(INVALID_HANDLE, cuLinkDestroy(NULL)),
          CASE(INVALID_VALUE, cuLinkCreate(0, NULL, NULL, NULL)));
}

static void functions(void)
{
    const char *name;
    CUfunction wild = (CUfunction)(uintptr_t)0x1230;
    CUlaunchConfig config = {.gridDimX = 1,
                             .gridDimY = 1,
                             .gridDimZ = 1,
                             .blockDimX = 1,
                             .blockDimY = 1,
                             .blockDimZ = 1};
    CASES(CASE(INVALID_HANDLE, cuFuncGetAttribute(&i, CU_FUNC_ATTRIBUTE_NUM_REGS, NULL)),
          CASE(INVALID_VALUE, cuFuncGetAttribute(NULL, CU_FUNC_ATTRIBUTE_NUM_REGS, fn)),
          CASE(INVALID_VALUE, cuFuncGetAttribute(&i, CU_FUNC_ATTRIBUTE_MAX, fn)),
          CASE(INVALID_VALUE, cuFuncSetAttribute(fn, CU_FUNC_ATTRIBUTE_NUM_REGS, 3)),
          CASE(INVALID_VALUE,
               cuFuncSetAttribute(fn, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 232449)),
          CASE(INVALID_VALUE,
               cuFuncSetAttribute(fn, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 101)),
          CASE(INVALID_VALUE, cuFuncSetCacheConfig(fn, (CUfunc_cache)4)),
          CASE(INVALID_VALUE, cuFuncGetName(NULL, fn)),
          CASE(INVALID_VALUE, cuFuncGetName(&name, NULL)),
          CASE(INVALID_VALUE, cuKernelGetName(&name, NULL)),
          CASE(INVALID_VALUE, cuFuncGetParamInfo(fn, 1, &size, NULL)),
          CASE(INVALID_VALUE, cuFuncGetParamInfo(fn, 0, NULL, NULL)),
          CASE(INVALID_VALUE, cuOccupancyMaxActiveBlocksPerMultiprocessor(NULL, fn, 32, 0)),
          CASE(INVALID_VALUE, cuOccupancyMaxActiveBlocksPerMultiprocessor(&i, fn, 0, 0)),
          CASE(INVALID_VALUE, cuOccupancyMaxPotentialBlockSize(&i, NULL, fn, NULL, 0, 0)),
          CASE(INVALID_HANDLE, cuOccupancyMaxActiveBlocksPerMultiprocessor(&i, NULL, 32, 0)),
          CASE(INVALID_HANDLE, cuOccupancyMaxActiveClusters(&i, NULL, &config)),
          CASE(INVALID_HANDLE, cuOccupancyMaxActiveClusters(&i, wild, &config)),
          CASE(INVALID_HANDLE, cuOccupancyMaxPotentialClusterSize(&i, wild, &config)));
    /* What wraps around is too much, not little. */
    CHECK_EQ_INT(cuOccupancyMaxActiveBlocksPerMultiprocessor(&i, fn, 32, SIZE_MAX), CUDA_SUCCESS);
    CHECK_EQ_INT(i, 0);
    config.blockDimX = 641;
    config.blockDimY = 6700417; /* times 641: 2^32 + 1 */
    CHECK_EQ_INT(cuOccupancyMaxActiveClusters(&i, fn, &config), CUDA_SUCCESS);
    CHECK_EQ_INT(i, 0);
}

static void streams(void)
{
    CUstreamAttrValue v;
    CASES(CASE(INVALID_VALUE, cuStreamCreate(NULL, 0)),
          CASE(INVALID_VALUE, cuStreamCreate(&stream, 2)),
          CASE(INVALID_HANDLE, cuStreamDestroy(NULL)),
          CASE(INVALID_HANDLE, cuStreamDestroy(CU_STREAM_LEGACY)),
          CASE(INVALID_HANDLE, cuStreamDestroy(NONE(CUstream))),
          CASE(INVALID_HANDLE, cuStreamSynchronize(NONE(CUstream))),
          CASE(INVALID_HANDLE, cuStreamQuery(NONE(CUstream))),
          CASE(INVALID_VALUE, cuStreamGetFlags(stream, NULL)),
          CASE(INVALID_VALUE, cuStreamGetPriority(stream, NULL)),
          CASE(INVALID_VALUE, cuStreamGetId(stream, NULL)),
          CASE(INVALID_VALUE, cuStreamGetCtx(stream, NULL)),
          CASE(INVALID_VALUE, cuStreamIsCapturing(stream, NULL)),
          CASE(INVALID_HANDLE, cuStreamWaitEvent(stream, NULL, 0)),
          CASE(INVALID_VALUE, cuStreamWaitEvent(stream, event, 2)),
          CASE(INVALID_VALUE, cuStreamAddCallback(stream, NULL, NULL, 0)),
          CASE(INVALID_VALUE, cuLaunchHostFunc(stream, NULL, NULL)),
          CASE(INVALID_VALUE, cuStreamWaitValue32(stream, mem + 1, 1, 0)),
          CASE(INVALID_VALUE, cuStreamWaitValue32(stream, mem, 1, 4)),
          CASE(NOT_SUPPORTED, cuStreamWaitValue32(stream, mem, 1, CU_STREAM_WAIT_VALUE_FLUSH)),
          CASE(INVALID_VALUE, cuStreamWriteValue64(stream, mem + 4, 1, 0)),
          CASE(INVALID_VALUE, cuStreamWriteValue32(stream, (CUdeviceptr)(uintptr_t)zeros, 1, 0)),
          CASE(INVALID_VALUE, cuStreamBatchMemOp(stream, 1, NULL, 0)),
          CASE(INVALID_VALUE, cuStreamGetAttribute(stream, CU_STREAM_ATTRIBUTE_PRIORITY, NULL)),
          CASE(INVALID_VALUE, cuStreamGetAttribute(stream, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &v)),
          CASE(INVALID_VALUE, cuEventCreate(NULL, 0)),
          CASE(INVALID_VALUE, cuEventCreate(&event, 8)),
          CASE(INVALID_VALUE, cuEventCreate(&event, CU_EVENT_INTERPROCESS)),
          CASE(INVALID_HANDLE, cuEventDestroy(NULL)), CASE(INVALID_HANDLE, cuEventRecord(NULL, 0)),
          CASE(INVALID_HANDLE, cuEventRecord(event, NONE(CUstream))),
          CASE(INVALID_VALUE, cuEventRecordWithFlags(event, stream, 2)),
          CASE(INVALID_HANDLE, cuEventQuery(NONE(CUevent))),
          CASE(INVALID_HANDLE, cuEventSynchronize(NULL)),
          CASE(INVALID_VALUE, cuEventElapsedTime(NULL, event, event)),
          CASE(INVALID_HANDLE, cuEventElapsedTime(&ms, event, NULL)));
}

static void memory(void)
{
    void *failed;
    CASES(CASE(INVALID_VALUE, cuMemAlloc(NULL, 10)), CASE(INVALID_VALUE, cuMemAlloc(&ptr, 0)),
          CASE(OUT_OF_MEMORY, cuMemAlloc(&ptr, (size_t)1 << 60)),
          CASE(INVALID_VALUE, cuMemAllocPitch(&ptr, &size, 0, 4, 4)),
          CASE(INVALID_VALUE, cuMemAllocPitch(&ptr, &size, 4, 4, 3)),
          CASE(INVALID_VALUE, cuMemFree(mem + 4)), CASE(INVALID_VALUE, cuMemFree(12345)),
          CASE(INVALID_VALUE, cuMemFree((CUdeviceptr)(uintptr_t)host)),
          CASE(INVALID_VALUE, cuMemFreeHost(zeros)),
          CASE(INVALID_VALUE, cuMemFreeHost((char *)host + 1)),
          CASE(INVALID_VALUE, cuMemAllocManaged(&ptr, 0, CU_MEM_ATTACH_GLOBAL)),
          CASE(INVALID_VALUE, cuMemAllocManaged(&ptr, 10, 3)),
          CASE(INVALID_VALUE, cuMemHostAlloc(&failed, 10, 8)), /* which leaves no pointer */
          CASE(INVALID_VALUE, cuMemHostAlloc(NULL, 10, 0)),
          CASE(INVALID_VALUE, cuMemHostRegister(NULL, 10, 0)),
          CASE(INVALID_VALUE, cuMemHostRegister(zeros, 0, 0)),
          CASE(HOST_MEMORY_NOT_REGISTERED, cuMemHostUnregister(zeros)),
          CASE(INVALID_VALUE, cuMemHostGetDevicePointer(&ptr, zeros, 0)),
          CASE(INVALID_VALUE, cuMemHostGetDevicePointer(&ptr, host, 1)),
          CASE(INVALID_VALUE, cuMemHostGetFlags(&u, zeros)),
          {cuMemGetInfo(NULL, &size), CUDA_SUCCESS, "cuMemGetInfo"}, /* no free memory asked for */
          CASE(NOT_FOUND, cuMemGetAddressRange(&ptr, &size, 4)),
          CASE(INVALID_VALUE, cuPointerGetAttribute(NULL, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, mem)),
          CASE(INVALID_VALUE, cuPointerGetAttribute(&u, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, 8)),
          CASE(INVALID_VALUE, cuPointerGetAttributes(0, NULL, NULL, mem)),
          CASE(INVALID_VALUE, cuMemAdvise(mem, 10, CU_MEM_ADVISE_SET_READ_MOSTLY,
                                          (CUmemLocation){CU_MEM_LOCATION_TYPE_DEVICE, 0})),
          CASE(INVALID_VALUE, cuMemPrefetchAsync(mem, 10, (CUmemLocation){1, 0}, 0, NULL)),
          CASE(INVALID_VALUE,
               cuMemRangeGetAttribute(&i, 4, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, 0, 1)));
    OK(cuMemFree(0));
    OK(cuMemFreeHost(NULL));
}

static void copies(void)
{
    CUDA_MEMCPY2D two = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                         .srcHost = zeros,
                         .srcPitch = 4,
                         .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                         .dstDevice = mem,
                         .dstPitch = 8,
                         .WidthInBytes = 8,
                         .Height = 2};
    CUDA_MEMCPY2D type = two, out = two;
    CUDA_MEMCPY3D three = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                           .srcDevice = mem,
                           .dstMemoryType = CU_MEMORYTYPE_HOST,
                           .dstHost = zeros,
                           .WidthInBytes = (size_t)1 << 50,
                           .Height = (size_t)1 << 30,
                           .Depth = 2};
    type.srcMemoryType = (CUmemorytype)9;
    out.srcPitch = 8;
    out.dstPitch = 4096;
    CASES(CASE(INVALID_VALUE, cuMemcpyHtoD(mem, NULL, 4)),
          CASE(INVALID_VALUE, cuMemcpyHtoD(0, zeros, 4)),
          CASE(INVALID_VALUE, cuMemcpyDtoH(NULL, mem, 4)),
          CASE(INVALID_VALUE, cuMemcpyDtoH(zeros, 0, 4)),
          CASE(INVALID_VALUE, cuMemcpyHtoD(mem, zeros, 4097)),
          CASE(INVALID_VALUE, cuMemcpyDtoD(mem + 4090, mem, 8)),
          CASE(INVALID_VALUE, cuMemcpyHtoDAsync(mem, zeros, 5000, stream)),
          CASE(INVALID_HANDLE, cuMemcpyHtoDAsync(mem, zeros, 4, NONE(CUstream))),
          CASE(INVALID_CONTEXT, cuMemcpyPeer(mem, NULL, mem, ctx, 4)),
          CASE(INVALID_VALUE, cuMemcpy2D(NULL)), CASE(INVALID_VALUE, cuMemcpy2D(&two)),
          CASE(INVALID_VALUE, cuMemcpy2D(&type)), CASE(INVALID_VALUE, cuMemcpy2D(&out)),
          CASE(INVALID_VALUE, cuMemcpy3D(&three)), CASE(INVALID_VALUE, cuMemcpy3D(NULL)),
          CASE(INVALID_VALUE, cuMemsetD32(mem + 2, 0, 4)), CASE(INVALID_VALUE, cuMemsetD8(0, 0, 4)),
          CASE(INVALID_VALUE, cuMemsetD8(mem, 0, 4097)),
          CASE(INVALID_VALUE, cuMemsetD2D16(mem, 6, 0, 4, 2)),
          CASE(INVALID_VALUE, cuMemcpyBatchAsync(&ptr, &ptr, &size, 1, NULL, NULL, 0, stream)));
    OK(cuMemcpyHtoD(mem, zeros, 0));
    OK(cuMemcpyDtoD(0, 0, 0));
}

static void arrays(void)
{
    CUarray a;
    CUDA_ARRAY_DESCRIPTOR d = {16, 4, CU_AD_FORMAT_FLOAT, 1}, got;
    CUDA_ARRAY_DESCRIPTOR no_width = {0, 4, CU_AD_FORMAT_FLOAT, 1};
    CUDA_ARRAY_DESCRIPTOR channels = {16, 4, CU_AD_FORMAT_FLOAT, 3};
    CUDA_ARRAY_DESCRIPTOR format = {16, 4, (CUarray_format)0x33, 1};
    CUDA_ARRAY_DESCRIPTOR packed = {16, 4, CU_AD_FORMAT_BC1_UNORM, 1};
    CUDA_ARRAY_DESCRIPTOR wide = {200000, 4, CU_AD_FORMAT_FLOAT, 1};
    CUDA_ARRAY3D_DESCRIPTOR sparse = {16, 16, 16, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_SPARSE};
    CUDA_ARRAY3D_DESCRIPTOR cube = {16, 8, 6, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_CUBEMAP};
    NEED(cuArrayCreate(&a, &d));
    CASES(
        CASE(INVALID_VALUE, cuArrayCreate(NULL, &d)), CASE(INVALID_VALUE, cuArrayCreate(&a, NULL)),
        CASE(INVALID_VALUE, cuArrayCreate(&a, &no_width)),
        CASE(INVALID_VALUE, cuArrayCreate(&a, &channels)),
        CASE(INVALID_VALUE, cuArrayCreate(&a, &format)),
        CASE(NOT_SUPPORTED, cuArrayCreate(&a, &packed)),
        CASE(INVALID_VALUE, cuArrayCreate(&a, &wide)),
        CASE(NOT_SUPPORTED, cuArray3DCreate(&a, &sparse)),
        CASE(INVALID_VALUE, cuArray3DCreate(&a, &cube)), CASE(INVALID_HANDLE, cuArrayDestroy(NULL)),
        CASE(INVALID_VALUE, cuArrayGetDescriptor(NULL, a)),
        CASE(INVALID_HANDLE, cuArrayGetDescriptor(&got, NONE(CUarray))),
        CASE(INVALID_VALUE, cuMemcpyHtoA(a, 0, host, 65)),
        CASE(INVALID_VALUE, cuMemcpyHtoA(a, 62, host, 4)),
        CASE(INVALID_HANDLE, cuMemcpyHtoA(NULL, 0, host, 4)));
    OK(cuArrayDestroy(a));
}

/* Refused by name, whatever the arguments. */
static void unsupported(void)
{
    CHECK_CU(cuMulticastBindMem(0, 0, 0, 0, 0, 0), CUDA_ERROR_NOT_SUPPORTED);
    CHECK(strstr(weir_last_message(), "cuMulticastBindMem") != NULL);
    CHECK_CU(cuMulticastUnbind(0, 0, 0, 0), CUDA_ERROR_NOT_SUPPORTED);
}

int main(void)
{
    before_init();
    NEED(cuInit(0));
    NEED(cuDeviceGet(&dev, 0));
    without_context();
    devices();
    ctx = begin();
    module = load();
    fn = kernel(module, "count");
    NEED(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    NEED(cuEventCreate(&event, 0));
    NEED(cuMemAlloc(&mem, 4096));
    NEED(cuMemHostAlloc(&host, 4096, 0));
    contexts();
    modules();
    functions();
    streams();
    memory();
    copies();
    arrays();
    unsupported();
    OK(cuCtxSynchronize());
    return check_done();
}
