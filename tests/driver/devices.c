/* S7, A8, by the driver API: several devices: WEIR_DEVICES makes them, CUDA_VISIBLE_DEVICES picks
 * and orders them; peers, memory and variables of each; what devices say of themselves. Run with
 * WEIR_DEVICES=3 and CUDA_VISIBLE_DEVICES=2,0. */
#include "common.h"

static int attribute(CUdevice_attribute which, CUdevice dev)
{
    int value = -1;
    OK(cuDeviceGetAttribute(&value, which, dev));
    return value;
}

static void facts(void)
{
    CUuuid a, b, again;
    char one[20], two[20];
    int major, minor;
    size_t luid = 0;
    unsigned mask;
    OK(cuDeviceGetUuid(&a, 0));
    OK(cuDeviceGetUuid(&b, 1));
    OK(cuDeviceGetUuid(&again, 0));
    CHECK(memcmp(&a, &b, 16) != 0 && memcmp(&a, &again, 16) == 0);
    OK(cuDeviceGetPCIBusId(one, sizeof one, 0));
    OK(cuDeviceGetPCIBusId(two, sizeof two, 1));
    CHECK_STR(one, "0000:03:00.0");
    CHECK_STR(two, "0000:01:00.0");
    OK(cuDeviceComputeCapability(&major, &minor, 0));
    CHECK(major == 9 && minor == 0);
    CHECK_EQ_INT(attribute(CU_DEVICE_ATTRIBUTE_WARP_SIZE, 1), 32);
    CHECK_EQ_INT(attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 1), 232448);
    CHECK_EQ_INT(attribute(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 0), 1);
    CHECK_EQ_INT(attribute(CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, 0), 1);
    CHECK_EQ_INT(attribute(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, 1), 1);
    CHECK(attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0) >= 1);
    CHECK(attribute(CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 0) > 100000);
    CHECK(attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 0) > 0);
    CHECK(attribute(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 0) % 64 == 0);
    CHECK_CU(cuDeviceGetLuid((char *)&luid, &mask, 0), CUDA_ERROR_NOT_SUPPORTED);
    for (int n = 1; n < CU_DEVICE_ATTRIBUTE_MAX; n++)
        attribute((CUdevice_attribute)n, 0); /* each has an answer */
    CUdevprop p;
    OK(cuDeviceGetProperties(&p, 0));
    CHECK(p.maxThreadsPerBlock == 1024 && p.SIMDWidth == 32);
}

static void peers(CUcontext c0, CUcontext c1)
{
    int can;
    OK(cuDeviceCanAccessPeer(&can, 0, 1));
    CHECK_EQ_INT(can, 1);
    OK(cuDeviceGetP2PAttribute(&can, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 1));
    CHECK_EQ_INT(can, 1);
    OK(cuCtxSetCurrent(c0));
    CHECK_CU(cuCtxEnablePeerAccess(c1, 1), CUDA_ERROR_INVALID_VALUE);
    CHECK_CU(cuCtxDisablePeerAccess(c1), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
    OK(cuCtxEnablePeerAccess(c1, 0));
    CHECK_CU(cuCtxEnablePeerAccess(c1, 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
    CHECK_CU(cuCtxEnablePeerAccess(c0, 0), CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
    OK(cuCtxDisablePeerAccess(c1));
}

static void memory(CUcontext c0, CUcontext c1)
{
    CUdeviceptr a, b;
    int value = 42, back = 0, ordinal;
    CUcontext c;
    OK(cuCtxSetCurrent(c0));
    NEED(cuMemAlloc(&a, 4));
    OK(cuCtxSetCurrent(c1));
    NEED(cuMemAlloc(&b, 4));
    OK(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, a));
    CHECK_EQ_INT(ordinal, 0);
    OK(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, b));
    CHECK_EQ_INT(ordinal, 1);
    OK(cuPointerGetAttribute(&c, CU_POINTER_ATTRIBUTE_CONTEXT, a));
    CHECK(c == c0);
    OK(cuMemcpyHtoD(a, &value, 4));
    OK(cuMemcpyPeer(b, c1, a, c0, 4));
    OK(cuMemcpyDtoH(&back, b, 4));
    CHECK_EQ_INT(back, 42);
    OK(cuMemFree(b));
    OK(cuCtxSetCurrent(c0));
    OK(cuMemFree(a));
}

/* A kernel and its stream must be of one context. */
static void modules(CUcontext c0, CUcontext c1)
{
    CUstream s;
    OK(cuCtxSetCurrent(c0));
    CUmodule m = load();
    CUfunction f = kernel(m, "nothing");
    OK(cuCtxSetCurrent(c1));
    NEED(cuStreamCreate(&s, 0));
    CHECK_CU(launch(f, 1, 1, s, NULL), CUDA_ERROR_INVALID_HANDLE);
    CHECK_CU(launch(f, 1, 1, NULL, NULL), CUDA_ERROR_INVALID_HANDLE);
    OK(cuStreamDestroy(s));
    OK(cuCtxSetCurrent(c0));
    OK(launch(f, 1, 1, NULL, NULL));
    OK(cuCtxSynchronize());
    OK(cuModuleUnload(m));
}

static void primaries(CUcontext c1)
{
    unsigned flags;
    int active;
    unsigned long long before, after;
    OK(cuDevicePrimaryCtxGetState(1, &flags, &active));
    CHECK_EQ_INT(active, 1);
    OK(cuCtxGetId(c1, &before));
    OK(cuDevicePrimaryCtxReset(1));
    OK(cuCtxGetId(c1, &after));
    CHECK(before != after);
    OK(cuDevicePrimaryCtxRelease(1));
    CHECK_CU(cuDevicePrimaryCtxRelease(1), CUDA_ERROR_INVALID_CONTEXT);
    OK(cuDevicePrimaryCtxGetState(1, &flags, &active));
    CHECK_EQ_INT(active, 0);
    OK(cuCtxSetCurrent(c1));
    CHECK_CU(cuCtxSynchronize(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    OK(cuDevicePrimaryCtxRetain(&c1, 1));
    OK(cuCtxSynchronize());
    OK(cuDevicePrimaryCtxRelease(1));
}

int main(void)
{
    CUcontext c1, c0 = begin();
    int count;
    OK(cuDeviceGetCount(&count));
    CHECK_EQ_INT(count, 2);
    NEED(cuDevicePrimaryCtxRetain(&c1, 1));
    facts();
    peers(c0, c1);
    memory(c0, c1);
    modules(c0, c1);
    primaries(c1);
    return check_done();
}
