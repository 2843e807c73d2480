/* function: attributes of kernels, and occupancy. */
#include <string.h>

#include "driver/objects.h"

CUresult function_get_attribute(CUfunction f, CUfunction_attribute which, int *value)
{
    if (value == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    switch (which) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = (int)f->info.max_threads; break;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: *value = (int)f->info.static_shared; break;
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES: *value = (int)f->info.const_bytes; break;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: *value = (int)f->info.local_bytes; break;
    case CU_FUNC_ATTRIBUTE_NUM_REGS: *value = (int)f->info.num_regs; break;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION: *value = (int)f->info.ptx_version; break;
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION: *value = (int)f->info.binary_version; break;
    case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA: *value = 0; break;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        *value = f->max_dynamic_shared ? (int)f->max_dynamic_shared
                                       : SHARED_DEFAULT_MAX - (int)f->info.static_shared;
        break;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: *value = f->carveout; break;
    default: return cluster_get_attribute(f, which, value);
    }
    return CUDA_SUCCESS;
}

WEIR_API CUresult cuFuncGetAttribute(int *value, CUfunction_attribute which, CUfunction f)
{
    HOLD;
    CU_TRY(function_check(f));
    return function_get_attribute(f, which, value);
}

CUresult function_set_attribute(CUfunction f, CUfunction_attribute which, int value)
{
    switch (which) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        if (value < 0 ||
            (uint64_t)value + f->info.static_shared > device_limits()->shared_optin_max)
            return CUDA_ERROR_INVALID_VALUE;
        f->max_dynamic_shared = (uint32_t)value;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        if (value < -1 || value > 100)
            return CUDA_ERROR_INVALID_VALUE;
        f->carveout = value;
        return CUDA_SUCCESS;
    default: return cluster_set_attribute(f, which, value);
    }
}

WEIR_API CUresult cuFuncSetAttribute(CUfunction f, CUfunction_attribute which, int value)
{
    HOLD;
    CU_TRY(function_check(f));
    return function_set_attribute(f, which, value);
}

CUresult function_set_cache_config(CUfunction f, CUfunc_cache config)
{
    if ((unsigned)config > CU_FUNC_CACHE_PREFER_EQUAL)
        return CUDA_ERROR_INVALID_VALUE;
    f->cache_config = config; /* a preference; there is one cache here */
    return CUDA_SUCCESS;
}

WEIR_API CUresult cuFuncSetCacheConfig(CUfunction f, CUfunc_cache config)
{
    HOLD;
    CU_TRY(function_check(f));
    return function_set_cache_config(f, config);
}

WEIR_API CUresult cuFuncGetModule(CUmodule *out, CUfunction f)
{
    HOLD;
    CU_TRY(function_check(f));
    if (out == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *out = f->module;
    return CUDA_SUCCESS;
}

WEIR_API CUresult cuFuncGetName(const char **name, CUfunction f)
{
    HOLD;
    CU_TRY(driver_initialized());
    if (f == NULL)
        return CUDA_ERROR_INVALID_VALUE; /* a stale handle is an invalid one */
    CU_TRY(function_check(f));
    if (name == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *name = f->func->name;
    return CUDA_SUCCESS;
}

WEIR_API CUresult cuFuncGetParamInfo(CUfunction f, size_t index, size_t *offset, size_t *size)
{
    HOLD;
    CU_TRY(function_check(f));
    if (offset == NULL || index >= (size_t)f->func->nparams)
        return CUDA_ERROR_INVALID_VALUE;
    *offset = f->param_offsets[index];
    if (size != NULL)
        *size = f->param_sizes[index];
    return CUDA_SUCCESS;
}

/* ---- occupancy ---- */

/* Whose blocks are counted: a function, or a kernel, which is one in the current context. */
static CUresult occupancy_of(CUfunction *f)
{
    CUcontext c;
    CU_TRY(driver_current(&c));
    return launch_function(*f, c, f);
}

static uint32_t function_min(uint32_t a, uint64_t b) { return b < a ? (uint32_t)b : a; }

uint32_t function_blocks_per_sm(CUfunction f, uint32_t threads, uint64_t shared)
{
    if (threads == 0 || threads > f->info.max_threads)
        return 0;
    uint32_t warps = (threads + JIT_WARP - 1) / JIT_WARP;
    const struct device_limits *l = device_limits();
    uint32_t blocks = function_min(l->blocks_per_sm, l->threads_per_sm / JIT_WARP / warps);
    if (shared > l->shared_optin_max || f->info.static_shared + shared > l->shared_optin_max)
        return 0;
    uint64_t bytes = f->info.static_shared + shared;
    blocks = function_min(blocks, l->shared_per_sm / (bytes + SHARED_RESERVED));
    uint64_t regs = (uint64_t)((f->info.num_regs + 7) / 8 * 8) * JIT_WARP * warps;
    return function_min(blocks, regs ? REGS_PER_SM / regs : blocks);
}

WEIR_API CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, CUfunction f,
                                                                       int threads, size_t shared,
                                                                       unsigned int flags)
{
    HOLD;
    CU_TRY(occupancy_of(&f));
    if (blocks == NULL || threads <= 0 || (flags & ~1u) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    *blocks = (int)function_blocks_per_sm(f, (uint32_t)threads, shared);
    return CUDA_SUCCESS;
}

WEIR_API CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction f,
                                                              int threads, size_t shared)
{
    HOLD;
    return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, f, threads, shared, 0);
}

WEIR_API CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int *min_grid, int *block, CUfunction f,
                                                            CUoccupancyB2DSize shared_of,
                                                            size_t shared, int limit,
                                                            unsigned int flags)
{
    HOLD;
    CU_TRY(occupancy_of(&f));
    if (min_grid == NULL || block == NULL || limit < 0 || (flags & ~1u) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    int top = (int)f->info.max_threads, best = 0;
    uint32_t best_threads = 0, best_blocks = 0;
    if (limit > 0 && limit < top)
        top = limit;
    /* the largest block among those that keep most threads busy */
    for (int n = (top + 31) / 32 * 32; n > 0; n -= 32) {
        int threads = n < top ? n : top;
        size_t bytes = shared_of != NULL ? shared_of(threads) : shared;
        uint32_t blocks = function_blocks_per_sm(f, (uint32_t)threads, bytes);
        if (blocks * (uint32_t)threads > best_threads) {
            best_threads = blocks * (uint32_t)threads;
            best = threads;
            best_blocks = blocks;
        }
    }
    struct device_facts facts;
    device_facts(driver_device(f->module->ctx->ordinal), &facts);
    *block = best;
    *min_grid = (int)(best_blocks * facts.workers);
    return CUDA_SUCCESS;
}

WEIR_API CUresult cuOccupancyMaxPotentialBlockSize(int *min_grid, int *block, CUfunction f,
                                                   CUoccupancyB2DSize shared_of, size_t shared,
                                                   int limit)
{
    HOLD;
    return cuOccupancyMaxPotentialBlockSizeWithFlags(min_grid, block, f, shared_of, shared, limit,
                                                     0);
}

WEIR_API CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, CUfunction f, int blocks,
                                                          int threads)
{
    HOLD;
    CU_TRY(occupancy_of(&f));
    if (bytes == NULL || blocks <= 0 || threads <= 0 ||
        blocks > (int)function_blocks_per_sm(f, (uint32_t)threads, 0))
        return CUDA_ERROR_INVALID_VALUE;
    uint64_t each = device_limits()->shared_per_sm / (uint64_t)blocks;
    each = each > SHARED_RESERVED + f->info.static_shared
               ? each - SHARED_RESERVED - f->info.static_shared
               : 0;
    int top = 0; /* what the function may be launched with */
    CU_TRY(function_get_attribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, &top));
    *bytes = each < (uint64_t)top ? each : (uint64_t)top;
    return CUDA_SUCCESS;
}

/* ---- loading, banks ---- */

/* A kernel is compiled when it is first launched with a shape of blocks, which nobody knows before:
 * having its function is all the loading there is. */
WEIR_API CUresult cuFuncIsLoaded(CUfunctionLoadingState *state, CUfunction f)
{
    HOLD;
    CU_TRY(function_check(f));
    if (state == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *state = CU_FUNCTION_LOADING_STATE_LOADED;
    return CUDA_SUCCESS;
}

WEIR_API CUresult cuFuncLoad(CUfunction f)
{
    HOLD;
    return function_check(f);
}

/* See cuCtxSetSharedMemConfig. */
WEIR_API CUresult cuFuncSetSharedMemConfig(CUfunction f, CUsharedconfig config)
{
    HOLD;
    CU_TRY(function_check(f));
    return (unsigned)config <= CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE ? CUDA_SUCCESS
                                                                         : CUDA_ERROR_INVALID_VALUE;
}
