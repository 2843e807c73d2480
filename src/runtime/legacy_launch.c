/* legacy_launch: launches in steps, as compilers made them before CUDA 9.2, for --legacy-api: a
 * configuration is pushed, arguments are put at their offsets, and a launch takes both. The
 * functions have names of their own, by which weir/legacy/api.h declares CUDA's. */
#include "runtime/thread.h"

#include <stdlib.h>
#include <string.h>

enum { ARGUMENT_BYTES = 4096 }; /* all that a kernel of that time could have */

/* A launch that has begun; the arguments of one may launch, too. */
struct begun_launch {
    struct begun_launch *outer;
    struct configuration configuration;
    size_t bytes; /* of arguments */
    unsigned char arguments[ARGUMENT_BYTES];
};

void rt_begun_launches_free(struct begun_launch *innermost)
{
    while (innermost != NULL) {
        struct begun_launch *outer = innermost->outer;
        free(innermost);
        innermost = outer;
    }
}

static cudaError_t configure(dim3 grid, dim3 block, size_t shared, cudaStream_t stream)
{
    struct rt_thread *t = rt_thread();
    struct begun_launch *l = t != NULL ? malloc(sizeof *l) : NULL;

    RT_CHECK(l != NULL, cudaErrorMemoryAllocation);
    memset(l, 0, sizeof *l);
    l->configuration = (struct configuration){grid, block, shared, stream};
    l->outer = t->begun;
    t->begun = l;
    return cudaSuccess;
}

PUBLIC cudaError_t __cudaWeirConfigureCall(dim3 gridDim, dim3 blockDim, size_t sharedMem,
                                           cudaStream_t stream)
{
    return done(configure(gridDim, blockDim, sharedMem, stream));
}

static cudaError_t set_argument(const void *argument, size_t size, size_t offset)
{
    struct begun_launch *l = rt_thread_own != NULL ? rt_thread_own->begun : NULL;

    RT_CHECK(l != NULL, cudaErrorMissingConfiguration);
    RT_CHECK(argument != NULL && offset <= ARGUMENT_BYTES && size <= ARGUMENT_BYTES - offset,
             cudaErrorInvalidValue);
    memcpy(l->arguments + offset, argument, size);
    if (l->bytes < offset + size)
        l->bytes = offset + size;
    return cudaSuccess;
}

PUBLIC cudaError_t __cudaWeirSetupArgument(const void *arg, size_t size, size_t offset)
{
    return done(set_argument(arg, size, offset));
}

static cudaError_t launch_begun(const void *func, struct begun_launch *l, bool own_stream)
{
    struct configuration *c = &l->configuration;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, l->arguments, CU_LAUNCH_PARAM_BUFFER_SIZE,
                     &l->bytes, CU_LAUNCH_PARAM_END};
    cudaStream_t stream = c->stream == NULL && own_stream ? cudaStreamPerThread : c->stream;
    CUfunction function;

    RT_TRY(rt_prepare_launch(func, &c->grid, &c->block, c->shared, &function));
    CU_TRY(CU(cuLaunchKernel, function, c->grid.x, c->grid.y, c->grid.z, c->block.x, c->block.y,
              c->block.z, (unsigned)c->shared, stream, NULL, extra));
    return cudaSuccess;
}

/* The configuration is used up, whatever becomes of the launch. */
static cudaError_t launch_last(const void *func, bool own_stream)
{
    struct begun_launch *l = rt_thread_own != NULL ? rt_thread_own->begun : NULL;
    cudaError_t error;

    RT_CHECK(l != NULL, cudaErrorMissingConfiguration);
    rt_thread_own->begun = l->outer;
    error = launch_begun(func, l, own_stream);
    free(l);
    return error;
}

PUBLIC cudaError_t __cudaWeirLaunch(const void *func) { return done(launch_last(func, false)); }

PUBLIC cudaError_t __cudaWeirLaunch_ptsz(const void *func) { return done(launch_last(func, true)); }
