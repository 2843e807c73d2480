/* runtime_functions: the functions that PTX may call without defining them, besides device math.
 * They are in exec/helpers.c, exec/cdp_launch.c and driver/launch/cdp_api.c; this list keeps the
 * compiler from guessing. */
#include <string.h>

#include "compiler/kernel.h"

static const char *const helpers[] = {
    "vprintf",
    "__assertfail",
    "malloc",
    "free",
    "launch",
    "__weir_launch_configure",
    "cudaGraphSetConditional",
};

/* Functions of the device runtime: "cuda<name>" or "__cudaCDP2<name>". */
static const char *const runtime[] = {
    "GetParameterBuffer",
    "GetParameterBufferV2",
    "LaunchDevice",
    "LaunchDeviceV2",
    "DeviceSynchronize",
    "GetLastError",
    "PeekAtLastError",
    "Malloc",
    "Free",
    "MemcpyAsync",
    "Memcpy2DAsync",
    "Memcpy3DAsync",
    "MemsetAsync",
    "Memset2DAsync",
    "Memset3DAsync",
    "StreamCreateWithFlags",
    "StreamDestroy",
    "StreamWaitEvent",
    "EventCreateWithFlags",
    "EventDestroy",
    "EventRecord",
    "EventRecordWithFlags",
    "GraphLaunch",
    "GetDevice",
    "GetDeviceCount",
    "DeviceGetAttribute",
    "DeviceGetLimit",
    "DeviceGetCacheConfig",
    "DeviceGetSharedMemConfig",
    "RuntimeGetVersion",
    "FuncGetAttributes",
    "OccupancyMaxActiveBlocksPerMultiprocessor",
    "OccupancyMaxActiveBlocksPerMultiprocessorWithFlags",
    "GetErrorName",
    "GetErrorString",
};

/* The part of a device runtime function's name that says which, NULL when it is none. */
static const char *runtime_name(const char *name)
{
    if (strcmp(name, "__cudaDeviceSynchronizeDeprecationAvoidance") == 0)
        return "DeviceSynchronize";
    if (strncmp(name, "__cudaCDP2", 10) == 0)
        return name + 10;
    return strncmp(name, "cuda", 4) == 0 ? name + 4 : NULL;
}

bool jit_is_helper(const char *name)
{
    for (size_t n = 0; n < WEIR_COUNT(helpers); n++)
        if (strcmp(helpers[n], name) == 0)
            return true;
    const char *which = runtime_name(name);
    size_t length = which != NULL ? strlen(which) : 0;
    if (length > 5 && strcmp(which + length - 5, "_ptsz") == 0)
        length -= 5;
    for (size_t n = 0; which != NULL && n < WEIR_COUNT(runtime); n++)
        if (strlen(runtime[n]) == length && strncmp(runtime[n], which, length) == 0)
            return true;
    return false;
}

bool jit_is_device_sync(const char *name)
{
    const char *which = runtime_name(name);
    return which != NULL && strcmp(which, "DeviceSynchronize") == 0;
}
