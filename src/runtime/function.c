/* function: attributes of kernels, and how many blocks of one fit on a multiprocessor. */
#include "runtime/internal.h"

#include <string.h>

static cudaError_t get_attributes(struct cudaFuncAttributes *out, const void *func)
{
    CUfunction f;
    int shared, constant, local;
    const struct {
        CUfunction_attribute name;
        int *value;
    } table[] = {
        {CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, &shared},
        {CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES, &constant},
        {CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, &local},
        {CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &out->maxThreadsPerBlock},
        {CU_FUNC_ATTRIBUTE_NUM_REGS, &out->numRegs},
        {CU_FUNC_ATTRIBUTE_PTX_VERSION, &out->ptxVersion},
        {CU_FUNC_ATTRIBUTE_BINARY_VERSION, &out->binaryVersion},
        {CU_FUNC_ATTRIBUTE_CACHE_MODE_CA, &out->cacheModeCA},
        {CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, &out->maxDynamicSharedSizeBytes},
        {CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, &out->preferredShmemCarveout},
        {CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET, &out->clusterDimMustBeSet},
        {CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, &out->requiredClusterWidth},
        {CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT, &out->requiredClusterHeight},
        {CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH, &out->requiredClusterDepth},
        {CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, &out->nonPortableClusterSizeAllowed},
        {CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE,
         &out->clusterSchedulingPolicyPreference},
    };

    RT_TRY(rt_function_of(func, &f));
    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < COUNT(table); i++)
        CU_TRY(CU(cuFuncGetAttribute, table[i].value, table[i].name, f));
    out->sharedSizeBytes = (size_t)shared;
    out->constSizeBytes = (size_t)constant;
    out->localSizeBytes = (size_t)local;
    return cudaSuccess;
}

PUBLIC cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attr, const void *func)
{
    return done(attr != NULL ? get_attributes(attr, func) : cudaErrorInvalidValue);
}

static cudaError_t check_attribute(enum cudaFuncAttribute attr)
{
    RT_CHECK(attr >= cudaFuncAttributeMaxDynamicSharedMemorySize && attr < cudaFuncAttributeMax,
             cudaErrorInvalidValue);
    return cudaSuccess;
}

static cudaError_t set_attribute(const void *func, enum cudaFuncAttribute attr, int value)
{
    CUfunction f;

    RT_TRY(check_attribute(attr));
    RT_TRY(rt_function_of(func, &f));
    CU_TRY(CU(cuFuncSetAttribute, f, (CUfunction_attribute)attr, value));
    return cudaSuccess;
}

PUBLIC cudaError_t cudaFuncSetAttribute(const void *func, enum cudaFuncAttribute attr, int value)
{
    return done(set_attribute(func, attr, value));
}

static cudaError_t set_for_device(cudaKernel_t kernel, enum cudaFuncAttribute attr, int value,
                                  int device)
{
    CUcontext previous;
    cudaError_t error;

    RT_TRY(check_attribute(attr));
    RT_CHECK(rt_function_find(kernel), cudaErrorInvalidResourceHandle);
    RT_TRY(rt_context());
    RT_TRY(rt_context_push(device, &previous));
    error = set_attribute(kernel, attr, value);
    rt_context_pop(previous);
    return error;
}

PUBLIC cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel, enum cudaFuncAttribute attr,
                                                   int value, int device)
{
    return done(set_for_device(kernel, attr, value, device));
}

static cudaError_t set_cache_config(const void *func, enum cudaFuncCache config)
{
    CUfunction f;

    RT_CHECK((unsigned)config <= cudaFuncCachePreferEqual, cudaErrorInvalidValue);
    RT_TRY(rt_function_of(func, &f));
    CU_TRY(CU(cuFuncSetCacheConfig, f, (CUfunc_cache)config));
    return cudaSuccess;
}

PUBLIC cudaError_t cudaFuncSetCacheConfig(const void *func, enum cudaFuncCache cacheConfig)
{
    return done(set_cache_config(func, cacheConfig));
}

/* Banks have one width: any valid wish is granted by doing nothing. */
static cudaError_t set_bank_size(const void *func, enum cudaSharedMemConfig config)
{
    CUfunction f;

    RT_CHECK((unsigned)config <= cudaSharedMemBankSizeEightByte, cudaErrorInvalidValue);
    return rt_function_of(func, &f);
}

PUBLIC cudaError_t cudaFuncSetSharedMemConfig(const void *func, enum cudaSharedMemConfig config)
{
    return done(set_bank_size(func, config));
}

static cudaError_t get_name(const char **name, const void *func)
{
    struct rt_function *f = rt_function_find(func);
    CUfunction unused;

    RT_CHECK(name, cudaErrorInvalidValue);
    if (f == NULL)
        return rt_function_of(func, &unused); /* says what is wrong with it */
    RT_TRY(rt_context());
    return rt_function_name(f, name);
}

PUBLIC cudaError_t cudaFuncGetName(const char **name, const void *func)
{
    return done(get_name(name, func));
}

static cudaError_t param_info(const void *func, size_t index, size_t *offset, size_t *size)
{
    CUfunction f;

    RT_CHECK(offset, cudaErrorInvalidValue);
    RT_TRY(rt_function_of(func, &f));
    CU_TRY(CU(cuFuncGetParamInfo, f, index, offset, size));
    return cudaSuccess;
}

PUBLIC cudaError_t cudaFuncGetParamInfo(const void *func, size_t paramIndex, size_t *paramOffset,
                                        size_t *paramSize)
{
    return done(param_info(func, paramIndex, paramOffset, paramSize));
}

static cudaError_t by_symbol(cudaFunction_t *out, const void *symbol)
{
    CUfunction unused;

    RT_CHECK(rt_function_find(symbol), cudaErrorInvalidDeviceFunction);
    RT_TRY(rt_healthy());
    return rt_function_of(symbol,
                          out != NULL ? out : &unused); /* NULL only asks whether there is one */
}

PUBLIC cudaError_t cudaGetFuncBySymbol(cudaFunction_t *functionPtr, const void *symbolPtr)
{
    return done(by_symbol(functionPtr, symbolPtr));
}

/* ---- occupancy ---- */

static cudaError_t active_blocks(int *blocks, const void *func, int size, size_t shared,
                                 unsigned flags)
{
    CUfunction f;

    RT_CHECK(blocks, cudaErrorInvalidValue);
    RT_TRY(rt_function_of(func, &f));
    CU_TRY(
        CU(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, blocks, f, size, shared, flags));
    return cudaSuccess;
}

PUBLIC cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *numBlocks, const void *func,
                                                                 int blockSize,
                                                                 size_t dynamicSMemSize)
{
    return done(active_blocks(numBlocks, func, blockSize, dynamicSMemSize, 0));
}

PUBLIC cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int *numBlocks, const void *func, int blockSize, size_t dynamicSMemSize, unsigned int flags)
{
    return done(active_blocks(numBlocks, func, blockSize, dynamicSMemSize, flags));
}

static cudaError_t available_shared(size_t *bytes, const void *func, int blocks, int size)
{
    CUfunction f;

    RT_CHECK(bytes, cudaErrorInvalidValue);
    RT_TRY(rt_function_of(func, &f));
    CU_TRY(CU(cuOccupancyAvailableDynamicSMemPerBlock, bytes, f, blocks, size));
    return cudaSuccess;
}

PUBLIC cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t *dynamicSmemSize,
                                                             const void *func, int numBlocks,
                                                             int blockSize)
{
    return done(available_shared(dynamicSmemSize, func, numBlocks, blockSize));
}

static cudaError_t cluster_size(int *size, const void *func, const cudaLaunchConfig_t *config)
{
    CUlaunchConfig c;
    CUfunction f;

    RT_CHECK(size, cudaErrorInvalidValue);
    RT_TRY(rt_driver_config(config, &c));
    RT_TRY(rt_function_of(func, &f));
    CU_TRY(CU(cuOccupancyMaxPotentialClusterSize, size, f, &c));
    return cudaSuccess;
}

PUBLIC cudaError_t cudaOccupancyMaxPotentialClusterSize(int *clusterSize, const void *func,
                                                        const cudaLaunchConfig_t *launchConfig)
{
    return done(cluster_size(clusterSize, func, launchConfig));
}

static cudaError_t active_clusters(int *clusters, const void *func,
                                   const cudaLaunchConfig_t *config)
{
    CUlaunchConfig c;
    CUfunction f;

    RT_CHECK(clusters, cudaErrorInvalidValue);
    RT_TRY(rt_driver_config(config, &c));
    RT_TRY(rt_function_of(func, &f));
    CU_TRY(CU(cuOccupancyMaxActiveClusters, clusters, f, &c));
    return cudaSuccess;
}

PUBLIC cudaError_t cudaOccupancyMaxActiveClusters(int *numClusters, const void *func,
                                                  const cudaLaunchConfig_t *launchConfig)
{
    return done(active_clusters(numClusters, func, launchConfig));
}
