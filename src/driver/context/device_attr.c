/* device_attr: cuDeviceGetAttribute and its kin, and what can be asked of two devices.
 *
 * Three kinds of answers: constants of the programming model, some of which depend on the compute
 * capability; facts of this machine; and features, 1 only where this version has them. Attributes
 * that are in none of the tables are features that do not exist here: 0. */
#include "driver/objects.h"
#include "memory/view.h"

enum {
    CLOCK_FALLBACK_KHZ = 2000000, /* when the system does not tell */
    MEMORY_CLOCK_KHZ = 1600000,   /* nor ever tells: DDR at 3200 million transfers a second */
    CHANNEL_BITS = 64,            /* of one memory channel, */
    NODE_CHANNELS = 2,            /* two for each NUMA node */
    CACHE_FALLBACK = 1 << 20,
};

/* What is the same on every machine, by attribute. */
static const int constants[CU_DEVICE_ATTRIBUTE_MAX] = {
    [CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK] = 1024,
    [CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X] = 1024,
    [CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y] = 1024,
    [CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z] = 64,
    [CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X] = 2147483647,
    [CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y] = 65535,
    [CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z] = 65535,
    [CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK] = SHARED_DEFAULT_MAX,
    [CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK] = SHARED_RESERVED,
    [CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY] = CONST_BANK_BYTES,
    [CU_DEVICE_ATTRIBUTE_WARP_SIZE] = JIT_WARP,
    [CU_DEVICE_ATTRIBUTE_MAX_PITCH] = 2147483647,
    [CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK] = REGS_PER_SM,
    [CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR] = REGS_PER_SM,
    [CU_DEVICE_ATTRIBUTE_COMPUTE_MODE] = CU_COMPUTEMODE_DEFAULT,
    [CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE] = MEMORY_CLOCK_KHZ,
    [CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO] = 2,
    [CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT] = 2,
    [CU_DEVICE_ATTRIBUTE_NUMA_CONFIG] = CU_DEVICE_NUMA_CONFIG_NONE,
    [CU_DEVICE_ATTRIBUTE_NUMA_ID] = -1,
    [CU_DEVICE_ATTRIBUTE_MEM_SYNC_DOMAIN_COUNT] = 1,

    /* features */
    [CU_DEVICE_ATTRIBUTE_GPU_OVERLAP] = 1,
    [CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY] = 1,
    [CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS] = 1,
    [CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING] = 1,
    [CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED] = 1,
    [CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED] = 1,
    [CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED] = 1,
    [CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY] = 1,
    [CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED] = 1,
    [CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES] = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
    [CU_DEVICE_ATTRIBUTE_HOST_MEMORY_POOLS_SUPPORTED] = 1,
    [CU_DEVICE_ATTRIBUTE_HOST_NUMA_MEMORY_POOLS_SUPPORTED] = 1,
    [CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS] = 1,
    [CU_DEVICE_ATTRIBUTE_DIRECT_MANAGED_MEM_ACCESS_FROM_HOST] = 1,
    [CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED] = 1,
    [CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED] = 1,
    [CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM] = 1,
    [CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED] = 1,
    [CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED] = 1,
    [CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH] = 1,
    [CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS] = 1,
    [CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR] = 1,
    [CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED] = 1,
    [CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED] = 1,
    [CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED] = 1,

    /* sizes of arrays, and of the textures and surfaces over them */
    [CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT] = MEM_ALIGNMENT,
    [CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT] = 32,
    [CU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT] = MEM_ALIGNMENT,
    [CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_WIDTH] = 131072,
    [CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH] = 268435456,
    [CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH] = 32768,
    [CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_WIDTH] = 32768,
    [CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_LAYERS] = 2048,
    [CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_WIDTH] = 131072,
    [CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_HEIGHT] = 65536,
    [CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_WIDTH] = 131072,
    [CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_HEIGHT] = 65000,
    [CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_PITCH] = 2097120,
    [CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH] = 32768,
    [CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT] = 32768,
    [CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_WIDTH] = 32768,
    [CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_HEIGHT] = 32768,
    [CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_LAYERS] = 2048,
    [CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_GATHER_WIDTH] = 32768,
    [CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_GATHER_HEIGHT] = 32768,
    [CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH] = 16384,
    [CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT] = 16384,
    [CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH] = 16384,
    [CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE] = 8192,
    [CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE] = 8192,
    [CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE] = 32768,
    [CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_WIDTH] = 32768,
    [CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH] = 32768,
    [CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS] = 2046,
    [CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_WIDTH] = 32768,
    [CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_LAYERED_WIDTH] = 32768,
    [CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_LAYERED_LAYERS] = 2048,
    [CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_WIDTH] = 131072,
    [CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_HEIGHT] = 65536,
    [CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_WIDTH] = 32768,
    [CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_HEIGHT] = 32768,
    [CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_LAYERS] = 2048,
    [CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_WIDTH] = 16384,
    [CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_HEIGHT] = 16384,
    [CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_DEPTH] = 16384,
    [CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_WIDTH] = 32768,
    [CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH] = 32768,
    [CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS] = 2046,
};

/* What depends on the compute capability; false: the attribute does not. */
static bool of_capability(CUdevice_attribute which, int *out)
{
    const struct device_limits *l = device_limits();
    switch (which) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *out = l->sm / 10; return true;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: *out = l->sm % 10; return true;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
        *out = (int)l->threads_per_sm;
        return true;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR:
        *out = (int)l->blocks_per_sm;
        return true;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
        *out = (int)l->shared_optin_max;
        return true;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
        *out = (int)l->shared_per_sm;
        return true;
    case CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH:
    case CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED: *out = l->clusters; return true;
    default: return false;
    }
}

/* The cache that all multiprocessors share. */
static int shared_cache(const struct device_facts *f)
{
    uint64_t bytes = f->l3_bytes != 0 ? f->l3_bytes : (uint64_t)f->l2_bytes * f->cores;
    if (bytes == 0)
        return CACHE_FALLBACK;
    return bytes > INT32_MAX ? INT32_MAX : (int)bytes;
}

static int device_attr_clock(const struct device_facts *f)
{
    return f->clock_khz != 0 ? (int)f->clock_khz : CLOCK_FALLBACK_KHZ;
}

static int bus_bits(const struct device_facts *f)
{
    return CHANNEL_BITS * NODE_CHANNELS * (f->numa_nodes > 0 ? (int)f->numa_nodes : 1);
}

void device_attr_memory(const struct device_facts *f, unsigned *clock_khz, unsigned *bits)
{
    *clock_khz = MEMORY_CLOCK_KHZ;
    *bits = (unsigned)bus_bits(f);
}

WEIR_API CUresult cuDeviceGetAttribute(int *out, CUdevice_attribute which, CUdevice dev)
{
    HOLD;
    CU_TRY(device_check(dev));
    if (out == NULL || which < 1 || which >= CU_DEVICE_ATTRIBUTE_MAX)
        return CUDA_ERROR_INVALID_VALUE;
    struct device_facts f;
    device_facts(driver_device(dev), &f);
    switch (which) {
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: *out = (int)f.workers; break;
    case CU_DEVICE_ATTRIBUTE_CLOCK_RATE: *out = device_attr_clock(&f); break;
    case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE: *out = shared_cache(&f); break;
    case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH: *out = bus_bits(&f); break;
    case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID: *out = device_bus(dev); break;
    case CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD_GROUP_ID: *out = dev; break;
    case CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS:
    case CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES:
        *out = !mem_checked();
        break;
    default:
        if (!of_capability(which, out))
            *out = constants[which];
        break;
    }
    return CUDA_SUCCESS;
}

WEIR_API CUresult cuDeviceGetProperties(CUdevprop *p, CUdevice dev)
{
    HOLD;
    CU_TRY(device_check(dev));
    if (p == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    struct device_facts f;
    device_facts(driver_device(dev), &f);
    *p = (CUdevprop){
        .maxThreadsPerBlock = constants[CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK],
        .maxThreadsDim = {constants[CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X],
                          constants[CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y],
                          constants[CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z]},
        .maxGridSize = {constants[CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X],
                        constants[CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y],
                        constants[CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z]},
        .sharedMemPerBlock = SHARED_DEFAULT_MAX,
        .totalConstantMemory = CONST_BANK_BYTES,
        .SIMDWidth = JIT_WARP,
        .memPitch = constants[CU_DEVICE_ATTRIBUTE_MAX_PITCH],
        .regsPerBlock = REGS_PER_SM,
        .clockRate = device_attr_clock(&f),
        .textureAlign = MEM_ALIGNMENT,
    };
    return CUDA_SUCCESS;
}

WEIR_API CUresult cuDeviceGetTexture1DLinearMaxWidth(size_t *width, CUarray_format format,
                                                     unsigned channels, CUdevice dev)
{
    HOLD;
    CU_TRY(device_check(dev));
    uint32_t element = format_bytes(format) * channels;
    if (width == NULL || element == 0 || (channels != 1 && channels != 2 && channels != 4))
        return CUDA_ERROR_INVALID_VALUE;
    *width = (size_t)constants[CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH];
    return CUDA_SUCCESS;
}

WEIR_API CUresult cuDeviceGetExecAffinitySupport(int *out, CUexecAffinityType type, CUdevice dev)
{
    HOLD;
    CU_TRY(device_check(dev));
    if (out == NULL || (unsigned)type >= CU_EXEC_AFFINITY_TYPE_MAX)
        return CUDA_ERROR_INVALID_VALUE;
    *out = 0;
    return CUDA_SUCCESS;
}
