/* cdp_api: the functions of the CUDA runtime that device code may call, beyond launching (which
 * is the exec layer's): memory, streams, events, copies, and questions. They are helpers
 * (abi/kernel_abi.h): arguments and results come as arrays of 32 lanes. Where they follow the
 * program's pointers they may fault, so they hold no locks there; the rest stands between
 * grid_helper_begin and _end.
 *
 * Source: CUDA C++ Programming Guide, dynamic parallelism, "API reference". */
#include <driver_types.h>
#include <string.h>

#include "device/cdp_api.h"
#include "driver/graph/graph.h"
#include "driver/launch/cdp.h"
#include "driver/objects.h"
#include "exec/lanes.h"

/* cuda.h's and the runtime's version are one. */
enum { RUNTIME_VERSION = CUDA_VERSION };

/* cudaStreamGraphTailLaunch and its kin. */
static const uint64_t GRAPH_TAIL = 0x0100000000000000, GRAPH_FORGET = 0x0200000000000000,
                      GRAPH_SIBLING = 0x0300000000000000;

/* Most functions: one lane after the other, the result is a code. */
typedef int (*lane_fn)(struct jit_block *j, uint32_t lane, const uint64_t *args);

static void each(struct jit_block *j, uint32_t mask, const uint64_t *args, uint64_t *rets,
                 lane_fn fn, const void *pc)
{
    grid_helper_called(j, pc);
    EACH_LANE(lane, mask)
    rets[lane] = (uint64_t)grid_thread_error(j, lane, fn(j, lane, args));
}

#define HELPER(name)                                                                               \
    static int name##_lane(struct jit_block *j, uint32_t lane, const uint64_t *args);              \
    static void name(struct jit_block *j, uint32_t mask, const uint64_t *args, uint64_t *rets)     \
    {                                                                                              \
        each(j, mask, args, rets, name##_lane, __builtin_return_address(0));                       \
    }                                                                                              \
    static int name##_lane(struct jit_block *j, uint32_t lane, const uint64_t *args)

/* Results that the program's pointer leads to. */
#define GIVE(j, out, value) (*(out) = (value), grid_wrote(j, out, sizeof *(out)))

/* ---- memory ---- */

/* cudaMalloc(void **p, size_t bytes): from the heap of device code */
HELPER(cdp_api_malloc)
{
    void **out = (void **)lane_arg(args, 0, lane);
    uint64_t bytes = lane_arg(args, 1, lane);
    if (out == NULL)
        return cudaErrorInvalidValue;
    grid_helper_begin(j);
    void *p = bytes > 0 ? grid_heap_malloc(j, bytes) : NULL;
    grid_helper_end(j);
    if (p == NULL && bytes > 0)
        return cudaErrorMemoryAllocation;
    GIVE(j, out, p);
    return cudaSuccess;
}

/* cudaFree(void *p) */
HELPER(cdp_api_free)
{
    void *p = (void *)lane_arg(args, 0, lane);
    if (p == NULL)
        return cudaSuccess;
    grid_helper_begin(j);
    bool fine = grid_heap_free(grid_env_of(j), p);
    grid_helper_end(j);
    return fine ? cudaSuccess : cudaErrorInvalidDevicePointer;
}

static int cdp_api_copy(struct jit_block *j, uint32_t lane, const struct device_copy *copy,
                        uint64_t stream)
{
    if ((copy->height > 1 || copy->depth > 1) &&
        (copy->dst_pitch < copy->width || copy->src_pitch < copy->width))
        return cudaErrorInvalidPitchValue;
    grid_helper_begin(j);
    int code = cdp_copy(j, lane, copy, stream);
    grid_helper_end(j);
    return code;
}

static int cdp_api_set(struct jit_block *j, uint32_t lane, const struct device_set *set,
                       uint64_t stream)
{
    if ((set->height > 1 || set->depth > 1) && set->pitch < set->width)
        return cudaErrorInvalidPitchValue;
    grid_helper_begin(j);
    int code = cdp_set(j, lane, set, stream);
    grid_helper_end(j);
    return code;
}

/* From device to device alone, as the guide has it and an H100 answers. */
static bool is_copy_kind(uint64_t kind)
{
    return (uint32_t)kind == cudaMemcpyDeviceToDevice || (uint32_t)kind == cudaMemcpyDefault;
}

/* cudaMemcpyAsync(void *dst, const void *src, size_t bytes, kind, stream) */
HELPER(cdp_api_memcpy)
{
    if (!is_copy_kind(lane_arg(args, 3, lane)))
        return cudaErrorInvalidMemcpyDirection;
    struct device_copy c = {.dst = (void *)lane_arg(args, 0, lane),
                            .src = (void *)lane_arg(args, 1, lane),
                            .width = lane_arg(args, 2, lane)};
    return cdp_api_copy(j, lane, &c, lane_arg(args, 4, lane));
}

/* cudaMemcpy2DAsync(dst, dpitch, src, spitch, width, height, kind, stream) */
HELPER(memcpy_2d)
{
    if (!is_copy_kind(lane_arg(args, 6, lane)))
        return cudaErrorInvalidMemcpyDirection;
    struct device_copy c = {.dst = (void *)lane_arg(args, 0, lane),
                            .dst_pitch = lane_arg(args, 1, lane),
                            .src = (void *)lane_arg(args, 2, lane),
                            .src_pitch = lane_arg(args, 3, lane),
                            .width = lane_arg(args, 4, lane),
                            .height = lane_arg(args, 5, lane)};
    return c.height == 0 ? cudaSuccess : cdp_api_copy(j, lane, &c, lane_arg(args, 7, lane));
}

/* Where a box of pitched memory starts. */
static char *corner(const struct cudaPitchedPtr *p, const struct cudaPos *at)
{
    return (char *)p->ptr + (at->z * p->ysize + at->y) * p->pitch + at->x;
}

/* cudaMemcpy3DAsync(const cudaMemcpy3DParms *p, stream) */
HELPER(memcpy_3d)
{
    const struct cudaMemcpy3DParms *given = (void *)lane_arg(args, 0, lane);
    if (given == NULL)
        return cudaErrorInvalidValue;
    struct cudaMemcpy3DParms p;
    memcpy(&p, given, sizeof p);
    if (p.srcArray != NULL || p.dstArray != NULL)
        return cudaErrorInvalidValue; /* arrays are the host's, on an H100, too */
    if (!is_copy_kind((uint64_t)p.kind))
        return cudaErrorInvalidMemcpyDirection;
    if (p.extent.width == 0 || p.extent.height == 0 || p.extent.depth == 0)
        return cudaSuccess;
    struct device_copy c = {.dst = corner(&p.dstPtr, &p.dstPos),
                            .src = corner(&p.srcPtr, &p.srcPos),
                            .dst_pitch = p.dstPtr.pitch,
                            .src_pitch = p.srcPtr.pitch,
                            .dst_slice = p.dstPtr.pitch * p.dstPtr.ysize,
                            .src_slice = p.srcPtr.pitch * p.srcPtr.ysize,
                            .width = p.extent.width,
                            .height = p.extent.height,
                            .depth = p.extent.depth};
    return cdp_api_copy(j, lane, &c, lane_arg(args, 1, lane));
}

/* cudaMemsetAsync(void *p, int value, size_t bytes, stream) */
HELPER(cdp_api_memset)
{
    struct device_set s = {.dst = (void *)lane_arg(args, 0, lane),
                           .value = (uint8_t)lane_arg(args, 1, lane),
                           .width = lane_arg(args, 2, lane),
                           .element = 1};
    return cdp_api_set(j, lane, &s, lane_arg(args, 3, lane));
}

/* cudaMemset2DAsync(p, pitch, value, width, height, stream) */
HELPER(memset_2d)
{
    struct device_set s = {.dst = (void *)lane_arg(args, 0, lane),
                           .pitch = lane_arg(args, 1, lane),
                           .value = (uint8_t)lane_arg(args, 2, lane),
                           .width = lane_arg(args, 3, lane),
                           .height = lane_arg(args, 4, lane),
                           .element = 1};
    return s.height == 0 ? cudaSuccess : cdp_api_set(j, lane, &s, lane_arg(args, 5, lane));
}

/* cudaMemset3DAsync(cudaPitchedPtr p, int value, cudaExtent extent, stream): structs by value, in
 * rows of 8 bytes */
HELPER(memset_3d)
{
    struct device_set s = {.dst = (void *)lane_arg(args, 0, lane),
                           .pitch = lane_arg(args, 1, lane),
                           .slice = lane_arg(args, 1, lane) * lane_arg(args, 3, lane),
                           .value = (uint8_t)lane_arg(args, 4, lane),
                           .width = lane_arg(args, 5, lane),
                           .height = lane_arg(args, 6, lane),
                           .depth = lane_arg(args, 7, lane),
                           .element = 1};
    if (s.height == 0 || s.depth == 0)
        return cudaSuccess;
    return cdp_api_set(j, lane, &s, lane_arg(args, 8, lane));
}

/* ---- streams and events ---- */

static int cdp_api_stream_create(struct jit_block *j, uint32_t lane, const uint64_t *args,
                                 bool of_block)
{
    uint64_t *out = (uint64_t *)lane_arg(args, 0, lane);
    if (out == NULL || (uint32_t)lane_arg(args, 1, lane) > cudaStreamNonBlocking)
        return cudaErrorInvalidValue;
    grid_helper_begin(j);
    uint64_t handle = cdp_stream_create(j, of_block);
    grid_helper_end(j);
    GIVE(j, out, handle);
    return cudaSuccess;
}

/* cudaStreamCreateWithFlags(cudaStream_t *s, unsigned flags): of either generation */
HELPER(stream_create) { return cdp_api_stream_create(j, lane, args, true); }
HELPER(stream_create_2) { return cdp_api_stream_create(j, lane, args, false); }

/* cudaStreamDestroy(cudaStream_t) */
HELPER(destroy_stream) { return cdp_stream_destroy(j, lane, lane_arg(args, 0, lane)); }

/* cudaStreamWaitEvent(stream, event, unsigned flags): an H100 takes any flags */
HELPER(stream_wait_event)
{
    return cdp_stream_wait_event(j, lane, lane_arg(args, 0, lane), lane_arg(args, 1, lane));
}

static int cdp_api_event_create(struct jit_block *j, uint32_t lane, const uint64_t *args,
                                bool of_block)
{
    uint64_t *out = (uint64_t *)lane_arg(args, 0, lane);
    uint32_t flags = (uint32_t)lane_arg(args, 1, lane); /* how the host would wait has no meaning */
    if (out == NULL || (flags & ~(uint32_t)cudaEventBlockingSync) != cudaEventDisableTiming)
        return cudaErrorInvalidValue;
    grid_helper_begin(j);
    uint64_t handle = cdp_event_create(j, of_block);
    grid_helper_end(j);
    GIVE(j, out, handle);
    return cudaSuccess;
}

/* cudaEventCreateWithFlags(cudaEvent_t *e, unsigned flags), only without timing: likewise */
HELPER(event_create) { return cdp_api_event_create(j, lane, args, true); }
HELPER(event_create_2) { return cdp_api_event_create(j, lane, args, false); }

HELPER(destroy_event) { return cdp_event_destroy(j, lane, lane_arg(args, 0, lane)); }

/* cudaEventRecord(event, stream) */
HELPER(event_record)
{
    return cdp_event_record(j, lane, lane_arg(args, 0, lane), lane_arg(args, 1, lane));
}

/* cudaEventRecordWithFlags(event, stream, unsigned flags) */
HELPER(event_record_flags)
{
    return (uint32_t)lane_arg(args, 2, lane) != 0
               ? (int)cudaErrorInvalidValue
               : cdp_event_record(j, lane, lane_arg(args, 0, lane), lane_arg(args, 1, lane));
}

/* cudaGraphLaunch(cudaGraphExec_t, cudaStream_t): one of three streams that say how */
HELPER(graph_launch)
{
    CUgraphExec e = (CUgraphExec)lane_arg(args, 0, lane);
    uint64_t stream = lane_arg(args, 1, lane);
    enum cdp_graph how = stream == GRAPH_TAIL     ? CDP_GRAPH_TAIL
                         : stream == GRAPH_FORGET ? CDP_GRAPH_BELOW
                                                  : CDP_GRAPH_SIBLING;
    grid_helper_begin(j);
    int code = cudaErrorInvalidValue;
    if (exec_check(e) == CUDA_SUCCESS && (e->flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) &&
        (stream == GRAPH_TAIL || stream == GRAPH_FORGET || stream == GRAPH_SIBLING))
        code = cdp_graph_launch(j, e->device, how);
    grid_helper_end(j);
    return code;
}

/* %current_graph_exec */
static uint64_t current_graph_exec(void)
{
    return (uint64_t)cdp_graph_current(grid_run_of_block(grid_current_block()));
}

/* ---- questions ---- */

/* The program's number of the device that the block runs on. */
static int ordinal_of(struct jit_block *j)
{
    return (int)driver_device_number(grid_env_device(grid_env_of(j)));
}

/* cudaGetDevice(int *) */
HELPER(get_device)
{
    int *out = (int *)lane_arg(args, 0, lane);
    if (out == NULL)
        return cudaErrorInvalidValue;
    GIVE(j, out, ordinal_of(j));
    return cudaSuccess;
}

/* cudaGetDeviceCount(int *) */
HELPER(get_device_count)
{
    int *out = (int *)lane_arg(args, 0, lane);
    if (out == NULL)
        return cudaErrorInvalidValue;
    GIVE(j, out, driver_device_count());
    return cudaSuccess;
}

/* cudaDeviceGetAttribute(int *value, cudaDeviceAttr, int device) */
HELPER(device_attribute)
{
    int *out = (int *)lane_arg(args, 0, lane), value = 0;
    if (out == NULL)
        return cudaErrorInvalidValue;
    grid_helper_begin(j);
    CUresult r = cuDeviceGetAttribute(&value, (CUdevice_attribute)lane_arg(args, 1, lane),
                                      (CUdevice)(int)lane_arg(args, 2, lane));
    grid_helper_end(j);
    if (r == CUDA_SUCCESS)
        GIVE(j, out, value);
    return (int)r;
}

/* cudaDeviceGetLimit(size_t *value, cudaLimit) */
HELPER(device_limit)
{
    static const struct {
        enum cudaLimit name;
        enum grid_limit limit;
    } limits[] = {{cudaLimitStackSize, GRID_LIMIT_STACK},
                  {cudaLimitPrintfFifoSize, GRID_LIMIT_PRINTF},
                  {cudaLimitMallocHeapSize, GRID_LIMIT_HEAP},
                  {cudaLimitDevRuntimeSyncDepth, GRID_LIMIT_SYNC_DEPTH},
                  {cudaLimitDevRuntimePendingLaunchCount, GRID_LIMIT_PENDING}};
    size_t *out = (size_t *)lane_arg(args, 0, lane);
    if (out == NULL)
        return cudaErrorInvalidValue;
    for (size_t n = 0; n < WEIR_COUNT(limits); n++)
        if (limits[n].name == (enum cudaLimit)lane_arg(args, 1, lane)) {
            grid_helper_begin(j);
            uint64_t value = grid_limit_get(grid_env_of(j), limits[n].limit);
            grid_helper_end(j);
            GIVE(j, out, value);
            return cudaSuccess;
        }
    return cudaErrorUnsupportedLimit;
}

/* cudaDeviceGetCacheConfig(cudaFuncCache *): what the host has told the context */
HELPER(device_config)
{
    int *out = (int *)lane_arg(args, 0, lane);
    if (out == NULL)
        return cudaErrorInvalidValue;
    grid_helper_begin(j);
    CUcontext c = driver_context_of(grid_env_owner(grid_env_of(j)));
    int config = c != NULL ? (int)c->cache_config : 0;
    grid_helper_end(j);
    GIVE(j, out, config);
    return cudaSuccess;
}

/* cudaDeviceGetSharedMemConfig(cudaSharedMemConfig *): there are no banks to be configured */
HELPER(device_bank_config)
{
    int *out = (int *)lane_arg(args, 0, lane);
    if (out == NULL)
        return cudaErrorInvalidValue;
    GIVE(j, out, cudaSharedMemBankSizeFourByte);
    return cudaSuccess;
}

/* cudaRuntimeGetVersion(int *) */
HELPER(runtime_version)
{
    int *out = (int *)lane_arg(args, 0, lane);
    if (out == NULL)
        return cudaErrorInvalidValue;
    GIVE(j, out, RUNTIME_VERSION);
    return cudaSuccess;
}

/* The function of a pointer to a kernel. */
static int function_of(struct jit_block *j, uint64_t pointer, CUfunction *f)
{
    struct cdp_kernel *entry = (struct cdp_kernel *)pointer;
    if (entry == NULL || entry->tag != CDP_KERNEL_TAG)
        return cudaErrorInvalidDeviceFunction;
    grid_helper_begin(j);
    CUresult r = module_function(entry->owner, entry->name, f);
    grid_helper_end(j);
    return (int)r;
}

/* cudaFuncGetAttributes(cudaFuncAttributes *, const void *kernel) */
HELPER(function_attributes)
{
    struct cudaFuncAttributes *out = (void *)lane_arg(args, 0, lane), a = {0};
    CUfunction f;
    if (out == NULL)
        return cudaErrorInvalidValue;
    int code = function_of(j, lane_arg(args, 1, lane), &f);
    if (code != 0)
        return code;
    a.sharedSizeBytes = f->info.static_shared;
    a.constSizeBytes = f->info.const_bytes;
    a.localSizeBytes = f->info.local_bytes;
    a.maxThreadsPerBlock = (int)f->info.max_threads;
    a.numRegs = (int)f->info.num_regs;
    a.ptxVersion = (int)f->info.ptx_version;
    a.binaryVersion = (int)f->info.binary_version;
    a.maxDynamicSharedSizeBytes = f->max_dynamic_shared
                                      ? (int)f->max_dynamic_shared
                                      : SHARED_DEFAULT_MAX - (int)f->info.static_shared;
    a.preferredShmemCarveout = f->carveout;
    GIVE(j, out, a);
    return cudaSuccess;
}

/* cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, kernel, int threads, size_t shared),
 * and with flags after it */
HELPER(occupancy)
{
    int *out = (int *)lane_arg(args, 0, lane);
    int threads = (int)lane_arg(args, 2, lane);
    CUfunction f;
    if (out == NULL || threads <= 0)
        return cudaErrorInvalidValue;
    int code = function_of(j, lane_arg(args, 1, lane), &f);
    if (code == 0)
        GIVE(j, out, (int)function_blocks_per_sm(f, (uint32_t)threads, lane_arg(args, 3, lane)));
    return code;
}

/* ---- errors in words ---- */

static const struct {
    enum cudaError code;
    const char *name, *text;
} words[] = {
#define RT_ERROR(name, text) {name, #name, text},
#include "base/errors.def"
};

static void error_words(uint32_t mask, const uint64_t *args, uint64_t *rets, bool name)
{
    EACH_LANE(lane, mask)
    {
        const char *text = "unrecognized error code";
        for (size_t n = 0; n < WEIR_COUNT(words); n++)
            if (words[n].code == (enum cudaError)lane_arg(args, 0, lane))
                text = name ? words[n].name : words[n].text;
        rets[lane] = (uint64_t)text;
    }
}

static void error_name(struct jit_block *j, uint32_t mask, const uint64_t *args, uint64_t *rets)
{
    (void)j;
    error_words(mask, args, rets, true);
}

static void error_string(struct jit_block *j, uint32_t mask, const uint64_t *args, uint64_t *rets)
{
    (void)j;
    error_words(mask, args, rets, false);
}

/* ---- by name ---- */

static const struct {
    const char *name;
    jit_extern_fn function;
} table[] = {
    {"Malloc", cdp_api_malloc},
    {"Free", cdp_api_free},
    {"MemcpyAsync", cdp_api_memcpy},
    {"Memcpy2DAsync", memcpy_2d},
    {"Memcpy3DAsync", memcpy_3d},
    {"MemsetAsync", cdp_api_memset},
    {"Memset2DAsync", memset_2d},
    {"Memset3DAsync", memset_3d},
    {"StreamCreateWithFlags", stream_create},
    {"StreamDestroy", destroy_stream},
    {"StreamWaitEvent", stream_wait_event},
    {"EventCreateWithFlags", event_create},
    {"EventDestroy", destroy_event},
    {"EventRecord", event_record},
    {"EventRecordWithFlags", event_record_flags},
    {"GraphLaunch", graph_launch},
    {"GetDevice", get_device},
    {"GetDeviceCount", get_device_count},
    {"DeviceGetAttribute", device_attribute},
    {"DeviceGetLimit", device_limit},
    {"DeviceGetCacheConfig", device_config},
    {"DeviceGetSharedMemConfig", device_bank_config},
    {"RuntimeGetVersion", runtime_version},
    {"FuncGetAttributes", function_attributes},
    {"OccupancyMaxActiveBlocksPerMultiprocessor", occupancy},
    {"OccupancyMaxActiveBlocksPerMultiprocessorWithFlags", occupancy},
    {"GetErrorName", error_name},
    {"GetErrorString", error_string},
};

/* What the newer generation means otherwise; these come first. */
static const struct {
    const char *name;
    jit_extern_fn function;
} newer[] = {
    {"__cudaCDP2StreamCreateWithFlags", stream_create_2},
    {"__cudaCDP2EventCreateWithFlags", event_create_2},
};

void *cdp_api_helper(const char *name)
{
    size_t length = strlen(name);
    if (strcmp(name, "current_graph_exec") == 0)
        return (void *)current_graph_exec;
    for (size_t n = 0; n < WEIR_COUNT(newer); n++)
        if (strcmp(newer[n].name, name) == 0)
            return (void *)newer[n].function;
    if (strncmp(name, "__cudaCDP2", 10) == 0)
        name += 10, length -= 10;
    else if (strncmp(name, "cuda", 4) == 0)
        name += 4, length -= 4;
    else
        return NULL;
    if (length > 5 && strcmp(name + length - 5, "_ptsz") == 0)
        length -= 5; /* a device stream 0 is the block's, however the host means it */
    for (size_t n = 0; n < WEIR_COUNT(table); n++)
        if (strlen(table[n].name) == length && strncmp(table[n].name, name, length) == 0)
            return (void *)table[n].function;
    return NULL;
}
