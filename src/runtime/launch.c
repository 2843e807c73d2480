/* launch: launches by each call that there is. The shape of grid and block is checked here against
 * the device's limits. A shape that no device has is cudaErrorInvalidValue (asked of an H200 with
 * CUDA 13; earlier runtimes said cudaErrorInvalidConfiguration). */
#include "runtime/internal.h"

#include <limits.h>

/* Whether 1 <= n <= most. */
static bool within(unsigned n, unsigned most) { return n - 1 < most; }

static inline cudaError_t check_shape(int device, const dim3 *grid, const dim3 *block)
{
    const struct rt_limits *l = rt_device_limits(device);

    RT_CHECK(within(grid->x, l->grid[0]) && within(grid->y, l->grid[1]) &&
                 within(grid->z, l->grid[2]) && within(block->x, l->block[0]) &&
                 within(block->y, l->block[1]) && within(block->z, l->block[2]) &&
                 (uint64_t)block->x * block->y * block->z <= l->threads,
             cudaErrorInvalidValue);
    return cudaSuccess;
}

/* What every launch begins with. */
static inline __attribute__((always_inline)) cudaError_t prepare(const void *func, const dim3 *grid,
                                                                 const dim3 *block, size_t shared,
                                                                 CUfunction *function)
{
    const struct rt_here *here;

    RT_TRY(rt_find_here(&here));
    RT_TRY(rt_function_in(here, func, function));
    RT_TRY(check_shape(here->device, grid, block));
    RT_CHECK(shared <= UINT_MAX, cudaErrorInvalidValue);
    return cudaSuccess;
}

cudaError_t rt_prepare_launch(const void *func, const dim3 *grid, const dim3 *block, size_t shared,
                              CUfunction *function)
{
    return prepare(func, grid, block, shared, function);
}

static cudaError_t launch(const void *func, dim3 grid, dim3 block, void **args, size_t shared,
                          cudaStream_t stream)
{
    CUfunction function;

    RT_TRY(prepare(func, &grid, &block, shared, &function));
    CU_TRY(CU(cuLaunchKernel, function, grid.x, grid.y, grid.z, block.x, block.y, block.z,
              (unsigned)shared, stream, args, NULL));
    return cudaSuccess;
}

/* Once more where the context has turned out to be one that the program has ended: nothing was
 * launched, and the device's primary one is made again. */
static __attribute__((noinline, cold)) cudaError_t launch_again(const void *func, const dim3 *grid,
                                                                const dim3 *block, void **args,
                                                                size_t shared, cudaStream_t stream)
{
    if (!rt_was_reset())
        return cudaErrorContextIsDestroyed;
    return launch(func, *grid, *block, args, shared, stream);
}

static inline cudaError_t launch_kernel(const void *func, dim3 grid, dim3 block, void **args,
                                        size_t shared, cudaStream_t stream)
{
    cudaError_t error = launch(func, grid, block, args, shared, stream);

    return LIKELY(error != cudaErrorContextIsDestroyed)
               ? error
               : launch_again(func, &grid, &block, args, shared, stream);
}

STREAM_API(cudaLaunchKernel,
           (const void *func, dim3 gridDim, dim3 blockDim, void **args, size_t sharedMem,
            cudaStream_t stream),
           launch_kernel(func, gridDim, blockDim, args, sharedMem, stream))

static cudaError_t launch_cooperative(const void *func, dim3 grid, dim3 block, void **args,
                                      size_t shared, cudaStream_t stream)
{
    CUfunction function;

    RT_TRY(prepare(func, &grid, &block, shared, &function));
    CU_TRY(CU(cuLaunchCooperativeKernel, function, grid.x, grid.y, grid.z, block.x, block.y,
              block.z, (unsigned)shared, stream, args));
    return cudaSuccess;
}

STREAM_API(cudaLaunchCooperativeKernel,
           (const void *func, dim3 gridDim, dim3 blockDim, void **args, size_t sharedMem,
            cudaStream_t stream),
           launch_cooperative(func, gridDim, blockDim, args, sharedMem, stream))

/* Attributes have one layout in both APIs. */
_Static_assert(sizeof(cudaLaunchAttribute) == sizeof(CUlaunchAttribute), "same layout");
_Static_assert(offsetof(cudaLaunchAttribute, val) == offsetof(CUlaunchAttribute, value),
               "same layout");

cudaError_t rt_driver_config(const cudaLaunchConfig_t *config, CUlaunchConfig *out)
{
    RT_CHECK(config != NULL && (config->attrs != NULL || !config->numAttrs), cudaErrorInvalidValue);
    *out = (CUlaunchConfig){
        .gridDimX = config->gridDim.x,
        .gridDimY = config->gridDim.y,
        .gridDimZ = config->gridDim.z,
        .blockDimX = config->blockDim.x,
        .blockDimY = config->blockDim.y,
        .blockDimZ = config->blockDim.z,
        .sharedMemBytes = (unsigned)config->dynamicSmemBytes,
        .hStream = config->stream,
        .attrs = (CUlaunchAttribute *)config->attrs,
        .numAttrs = config->numAttrs,
    };
    return cudaSuccess;
}

static cudaError_t launch_ex(const cudaLaunchConfig_t *config, const void *func, void **args,
                             bool own_stream)
{
    CUfunction function;
    CUlaunchConfig c;

    RT_TRY(rt_driver_config(config, &c));
    RT_TRY(prepare(func, &config->gridDim, &config->blockDim, config->dynamicSmemBytes, &function));
    if (config->stream == NULL && own_stream)
        c.hStream = cudaStreamPerThread;
    CU_TRY(CU(cuLaunchKernelEx, &c, function, args, NULL));
    return cudaSuccess;
}

PUBLIC cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *func,
                                       void **args)
{
    return done(launch_ex(config, func, args, false));
}

PUBLIC cudaError_t cudaLaunchKernelExC_ptsz(const cudaLaunchConfig_t *config, const void *func,
                                            void **args)
{
    return done(launch_ex(config, func, args, true));
}

/* ---- what nvcc's stubs call ---- */

static cudaError_t get_kernel(cudaKernel_t *kernel, const void *func)
{
    struct rt_function *f = rt_function_find(func);

    RT_CHECK(kernel != NULL, cudaErrorInvalidValue);
    RT_CHECK(f != NULL, cudaErrorInvalidDeviceFunction);
    *kernel = (cudaKernel_t)f;
    return cudaSuccess;
}

/* A stub keeps the answer and asks once only. */
PUBLIC cudaError_t __cudaGetKernel(cudaKernel_t *kernelPtr, const void *entryFuncAddr)
{
    return done(get_kernel(kernelPtr, entryFuncAddr));
}

PUBLIC cudaError_t cudaGetKernel(cudaKernel_t *kernelPtr, const void *entryFuncAddr)
{
    return done(get_kernel(kernelPtr, entryFuncAddr));
}

STREAM_API(__cudaLaunchKernel,
           (cudaKernel_t kernel, dim3 gridDim, dim3 blockDim, void **args, size_t sharedMem,
            cudaStream_t stream),
           launch(kernel, gridDim, blockDim, args, sharedMem, stream))
