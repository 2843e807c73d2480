/* E1: wrong arguments of the functions that choose, describe and set up devices, and of those that
 * tell errors, versions and entry points. */
#include <cuda.h>

#include "errors.h"

static void choosing()
{
    int n = 0, value, ids[4] = {0, 0, 0, 0};
    unsigned flags;
    cudaDeviceProp prop;

    MUST(cudaGetDeviceCount(&n));
    ROW("no pointer", cudaGetDeviceCount(nullptr), cudaErrorInvalidValue);
    ROW("ordinal -1", cudaSetDevice(-1), cudaErrorInvalidDevice);
    ROW("ordinal past the last", cudaSetDevice(n), cudaErrorInvalidDevice);
    ROW("ordinal 0", cudaSetDevice(0), cudaSuccess);
    ROW("no pointer", cudaGetDevice(nullptr), cudaErrorInvalidValue);
    ROW("no pointer", cudaGetDeviceProperties(nullptr, 0), cudaErrorInvalidValue);
    ROW("ordinal past the last", cudaGetDeviceProperties(&prop, n), cudaErrorInvalidDevice);
    ROW("ordinal -1", cudaGetDeviceProperties(&prop, -1), cudaErrorInvalidDevice);
    memset(&prop, 0, sizeof prop);
    ROW("no device pointer", cudaChooseDevice(nullptr, &prop), cudaErrorInvalidValue);
    ROW("no properties", cudaChooseDevice(&value, nullptr), cudaErrorInvalidValue);
    ROW("no wishes", cudaChooseDevice(&value, &prop), cudaSuccess);
    ROW("no list", cudaSetValidDevices(nullptr, 1), cudaErrorInvalidValue);
    ROW("no list, length 0", cudaSetValidDevices(nullptr, 0), cudaSuccess);
    ROW("length -1", cudaSetValidDevices(ids, -1), cudaErrorInvalidValue);
    ROW("more than there are", cudaSetValidDevices(ids, n + 1), cudaErrorInvalidValue);
    ids[0] = n;
    ROW("ordinal past the last", cudaSetValidDevices(ids, 1), cudaErrorInvalidDevice);
    ids[0] = -1;
    ROW("ordinal -1", cudaSetValidDevices(ids, 1), cudaErrorInvalidDevice);
    ROW("ordinal past the last", cudaInitDevice(n, 0, 0), cudaErrorInvalidDevice);
    ROW("ordinal -1", cudaInitDevice(-1, 0, 0), cudaErrorInvalidDevice);
    ROW("unknown flags", cudaInitDevice(0, 0, 8), cudaSuccess);
    ROW("unknown device flags", cudaInitDevice(0, 0x10000, cudaInitDeviceFlagsAreValid),
        cudaErrorInvalidValue);
    ROW("device flags not said valid", cudaInitDevice(0, 0x10000, 0), cudaSuccess);
    ROW("no flags", cudaInitDevice(0, 0, 0), cudaSuccess);
    ROW("unknown flag", cudaSetDeviceFlags(0x10000), cudaErrorInvalidValue);
    ROW("two ways to wait", cudaSetDeviceFlags(cudaDeviceScheduleSpin | cudaDeviceScheduleYield),
        cudaErrorInvalidValue);
    ROW("all ways to wait", cudaSetDeviceFlags(7), cudaErrorInvalidValue);
    ROW("mapping", cudaSetDeviceFlags(cudaDeviceMapHost), cudaSuccess);
    ROW("no pointer", cudaGetDeviceFlags(nullptr), cudaErrorInvalidValue);
    ROW("fine", cudaGetDeviceFlags(&flags), cudaSuccess);
}

static void attributes()
{
    int n = 0, value;
    size_t bytes;
    char text[32];
    cudaChannelFormatDesc desc = cudaCreateChannelDesc<float>(),
                          odd = {3, 0, 0, 0, cudaChannelFormatKindFloat};

    MUST(cudaGetDeviceCount(&n));
    ROW("no pointer", cudaDeviceGetAttribute(nullptr, cudaDevAttrWarpSize, 0),
        cudaErrorInvalidValue);
    ROW("ordinal past the last", cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, n),
        cudaErrorInvalidDevice);
    ROW("ordinal -1", cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, -1),
        cudaErrorInvalidDevice);
    ROW("unknown attribute", cudaDeviceGetAttribute(&value, (cudaDeviceAttr)100000, 0),
        cudaErrorInvalidValue);
    ROW("attribute 0", cudaDeviceGetAttribute(&value, (cudaDeviceAttr)0, 0), cudaErrorInvalidValue);
    ROW("attribute -1", cudaDeviceGetAttribute(&value, (cudaDeviceAttr)-1, 0),
        cudaErrorInvalidValue);
    ROW("no pointer", cudaDeviceGetPCIBusId(nullptr, 10, 0), cudaErrorInvalidValue);
    ROW("length 0", cudaDeviceGetPCIBusId(text, 0, 0), cudaErrorInvalidValue);
    ROW("length -1", cudaDeviceGetPCIBusId(text, -1, 0), cudaErrorInvalidValue);
    ROW("length 5", cudaDeviceGetPCIBusId(text, 5, 0), cudaErrorInvalidValue);
    ROW("length 12", cudaDeviceGetPCIBusId(text, 12, 0), cudaErrorInvalidValue);
    ROW("length 13", cudaDeviceGetPCIBusId(text, 13, 0), cudaSuccess);
    ROW("ordinal past the last", cudaDeviceGetPCIBusId(text, 32, n), cudaErrorInvalidDevice);
    ROW("no text", cudaDeviceGetByPCIBusId(&value, nullptr), cudaErrorInvalidValue);
    ROW("no pointer", cudaDeviceGetByPCIBusId(nullptr, "0000:00:00.0"), cudaErrorInvalidValue);
    ROW("no address", cudaDeviceGetByPCIBusId(&value, "no such place"), cudaErrorInvalidValue);
    ROW("empty text", cudaDeviceGetByPCIBusId(&value, ""), cudaErrorInvalidValue);
    ROW("no device there", cudaDeviceGetByPCIBusId(&value, "ffff:ff:1f.7"), cudaErrorInvalidDevice);
    ROW("no pointer", cudaDeviceGetP2PAttribute(nullptr, cudaDevP2PAttrPerformanceRank, 0, 0),
        cudaErrorInvalidValue);
    ROW("to itself", cudaDeviceGetP2PAttribute(&value, cudaDevP2PAttrPerformanceRank, 0, 0),
        cudaErrorInvalidDevice);
    ROW("ordinal past the last",
        cudaDeviceGetP2PAttribute(&value, cudaDevP2PAttrPerformanceRank, 0, n),
        cudaErrorInvalidDevice);
    ROW("unknown attribute", cudaDeviceGetP2PAttribute(&value, (cudaDeviceP2PAttr)77, 0, 0),
        cudaErrorInvalidDevice);
    ROW("no pointer", cudaDeviceCanAccessPeer(nullptr, 0, 0), cudaErrorInvalidValue);
    ROW("to itself", cudaDeviceCanAccessPeer(&value, 0, 0), cudaSuccess);
    ROW("ordinal past the last", cudaDeviceCanAccessPeer(&value, 0, n), cudaErrorInvalidDevice);
    ROW("ordinal -1", cudaDeviceCanAccessPeer(&value, -1, 0), cudaErrorInvalidDevice);
    ROW("to itself", cudaDeviceEnablePeerAccess(0, 0), cudaErrorPeerAccessUnsupported);
    ROW("ordinal past the last", cudaDeviceEnablePeerAccess(n, 0), cudaErrorInvalidDevice);
    ROW("a flag", cudaDeviceEnablePeerAccess(0, 1), cudaErrorInvalidValue);
    ROW("never enabled", cudaDeviceDisablePeerAccess(0), cudaErrorPeerAccessNotEnabled);
    ROW("ordinal past the last", cudaDeviceDisablePeerAccess(n), cudaErrorInvalidDevice);
    ROW("no pointer", cudaDeviceGetTexture1DLinearMaxWidth(nullptr, &desc, 0),
        cudaErrorInvalidValue);
    ROW("no format", cudaDeviceGetTexture1DLinearMaxWidth(&bytes, nullptr, 0),
        cudaErrorInvalidValue);
    ROW("no such format", cudaDeviceGetTexture1DLinearMaxWidth(&bytes, &odd, 0),
        cudaErrorInvalidChannelDescriptor);
    ROW("ordinal past the last", cudaDeviceGetTexture1DLinearMaxWidth(&bytes, &desc, n),
        cudaErrorInvalidDevice);
}

static void settings()
{
    int low, high;
    size_t bytes;
    cudaFuncCache cache;
    cudaSharedMemConfig banks;

    ROW("unknown limit", cudaDeviceSetLimit((cudaLimit)100, 1), cudaErrorInvalidValue);
    ROW("limit -1", cudaDeviceSetLimit((cudaLimit)-1, 1), cudaErrorInvalidValue);
    ROW("stack too large", cudaDeviceSetLimit(cudaLimitStackSize, (size_t)1 << 40),
        cudaErrorInvalidValue);
    ROW("stack 0", cudaDeviceSetLimit(cudaLimitStackSize, 0), cudaSuccess);
    ROW("heap too large", cudaDeviceSetLimit(cudaLimitMallocHeapSize, (size_t)1 << 60),
        cudaSuccess);
    ROW("printf too large", cudaDeviceSetLimit(cudaLimitPrintfFifoSize, (size_t)1 << 60),
        cudaSuccess);
    ROW("fetch granularity 1000", cudaDeviceSetLimit(cudaLimitMaxL2FetchGranularity, 1000),
        cudaErrorInvalidValue);
    ROW("fetch granularity 64", cudaDeviceSetLimit(cudaLimitMaxL2FetchGranularity, 64),
        cudaSuccess);
    ROW("persisting 0", cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, 0), cudaSuccess);
    ROW("persisting too much", cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, (size_t)1 << 40),
        cudaErrorInvalidValue);

    ROW("no pointer", cudaDeviceGetLimit(nullptr, cudaLimitStackSize), cudaErrorInvalidValue);
    ROW("unknown limit", cudaDeviceGetLimit(&bytes, (cudaLimit)100), cudaErrorInvalidValue);

    ROW("fetch granularity", cudaDeviceGetLimit(&bytes, cudaLimitMaxL2FetchGranularity),
        cudaSuccess);
    ROW("persisting", cudaDeviceGetLimit(&bytes, cudaLimitPersistingL2CacheSize), cudaSuccess);
    ROW("no pointer", cudaDeviceGetCacheConfig(nullptr), cudaErrorInvalidValue);
    ROW("fine", cudaDeviceGetCacheConfig(&cache), cudaSuccess);
    ROW("unknown", cudaDeviceSetCacheConfig((cudaFuncCache)9), cudaErrorInvalidValue);
    ROW("-1", cudaDeviceSetCacheConfig((cudaFuncCache)-1), cudaErrorInvalidValue);
    ROW("no pointer", cudaDeviceGetSharedMemConfig(nullptr), cudaErrorInvalidValue);
    ROW("fine", cudaDeviceGetSharedMemConfig(&banks), cudaSuccess);
    ROW("unknown", cudaDeviceSetSharedMemConfig((cudaSharedMemConfig)9), cudaErrorInvalidValue);
    ROW("no pointers", cudaDeviceGetStreamPriorityRange(nullptr, nullptr), cudaSuccess);
    ROW("fine", cudaDeviceGetStreamPriorityRange(&low, &high), cudaSuccess);
    ROW("fine", cudaCtxResetPersistingL2Cache(), cudaSuccess);
}

static void versions()
{
    int value;
    void *entry;
    cudaDriverEntryPointQueryResult found;

    ROW("no pointer", cudaRuntimeGetVersion(nullptr), cudaErrorInvalidValue);
    ROW("no pointer", cudaDriverGetVersion(nullptr), cudaErrorInvalidValue);
    ROW("fine", cudaDriverGetVersion(&value), cudaSuccess);
    ROW_CRASH("no name", cudaGetDriverEntryPointByVersion(nullptr, &entry, 12000, 0, &found),
              cudaErrorInvalidValue);
    ROW_CRASH("no pointer",
              cudaGetDriverEntryPointByVersion("cuMemAlloc", nullptr, 12000, 0, &found),
              cudaErrorInvalidValue);
    ROW("empty name", cudaGetDriverEntryPointByVersion("", &entry, 12000, 0, &found), cudaSuccess);
    ROW("no such function", cudaGetDriverEntryPointByVersion("cuNone", &entry, 12000, 0, &found),
        cudaSuccess);
    ROW("no such function, no answer",
        cudaGetDriverEntryPointByVersion("cuNone", &entry, 12000, 0, nullptr), cudaSuccess);
    ROW("unknown flags", cudaGetDriverEntryPointByVersion("cuMemAlloc", &entry, 12000, 64, &found),
        cudaErrorInvalidValue);
    ROW("version 1", cudaGetDriverEntryPointByVersion("cuMemAlloc", &entry, 1, 0, &found),
        cudaSuccess);
    ROW("version of the far future",
        cudaGetDriverEntryPointByVersion("cuMemAlloc", &entry, 99000, 0, &found),
        cudaErrorInvalidValue);
    ROW_CRASH("no pointer", cudaThreadExchangeStreamCaptureMode(nullptr), cudaErrorInvalidValue);
}

static void rows()
{
    choosing();
    attributes();
    settings();
    versions();
}

ERROR_TABLE_MAIN(rows)
