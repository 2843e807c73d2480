/* steps: launches as they were before CUDA 4. The shape of the blocks, the shared memory and the
 * parameters of a launch are set one by one and stay with the function; a launch names the rest. */
#include <stdlib.h>
#include <string.h>

#include "driver/objects.h"

enum { STEPS_PARAM_BYTES = 4096 }; /* of all parameters together, at most */

/* What a function was told so far. */
struct launch_steps {
    unsigned int block[3]; /* 0: not told yet */
    unsigned int shared, bytes;
    uint8_t params[STEPS_PARAM_BYTES];
};

/* The function's, with its lock held. */
static CUresult steps_lock(CUfunction f, struct launch_steps **out)
{
    CU_TRY(function_check(f));
    pthread_mutex_lock(&f->lock);
    if (f->steps == NULL)
        f->steps = xcalloc(1, sizeof *f->steps);
    *out = f->steps;
    return CUDA_SUCCESS;
}

WEIR_API CUresult cuFuncSetBlockShape(CUfunction f, int x, int y, int z)
{
    HOLD;
    struct launch_steps *s;
    CU_TRY(steps_lock(f, &s));
    bool valid = x > 0 && y > 0 && z > 0;
    if (valid)
        memcpy(s->block, (unsigned int[]){(unsigned)x, (unsigned)y, (unsigned)z}, sizeof s->block);
    pthread_mutex_unlock(&f->lock);
    return valid ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

WEIR_API CUresult cuFuncSetSharedSize(CUfunction f, unsigned int bytes)
{
    HOLD;
    struct launch_steps *s;
    CU_TRY(steps_lock(f, &s));
    s->shared = bytes;
    pthread_mutex_unlock(&f->lock);
    return CUDA_SUCCESS;
}

WEIR_API CUresult cuParamSetSize(CUfunction f, unsigned int bytes)
{
    HOLD;
    struct launch_steps *s;
    CU_TRY(steps_lock(f, &s));
    bool valid = bytes <= STEPS_PARAM_BYTES;
    if (valid)
        s->bytes = bytes;
    pthread_mutex_unlock(&f->lock);
    return valid ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

WEIR_API CUresult cuParamSetv(CUfunction f, int offset, void *from, unsigned int bytes)
{
    HOLD;
    struct launch_steps *s;
    CU_TRY(steps_lock(f, &s));
    bool valid = from != NULL && offset >= 0 && offset <= STEPS_PARAM_BYTES &&
                 bytes <= STEPS_PARAM_BYTES - (unsigned)offset;
    if (valid)
        memcpy(s->params + offset, from, bytes);
    pthread_mutex_unlock(&f->lock);
    return valid ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

WEIR_API CUresult cuParamSeti(CUfunction f, int offset, unsigned int value)
{
    HOLD;
    return cuParamSetv(f, offset, &value, sizeof value);
}

WEIR_API CUresult cuParamSetf(CUfunction f, int offset, float value)
{
    HOLD;
    return cuParamSetv(f, offset, &value, sizeof value);
}

WEIR_API CUresult cuLaunchGridAsync(CUfunction f, int width, int height, CUstream stream)
{
    HOLD;
    struct launch_steps *s, now;
    CU_TRY(steps_lock(f, &s));
    now = *s;
    pthread_mutex_unlock(&f->lock);
    if (width <= 0 || height <= 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (now.block[0] == 0)
        return driver_error(CUDA_ERROR_INVALID_VALUE,
                            "%s: cuFuncSetBlockShape has not said yet what a block is",
                            f->func->name);
    size_t bytes = now.bytes;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, now.params, CU_LAUNCH_PARAM_BUFFER_SIZE,
                     &bytes, CU_LAUNCH_PARAM_END};
    return cuLaunchKernel(f, (unsigned)width, (unsigned)height, 1, now.block[0], now.block[1],
                          now.block[2], now.shared, stream, NULL, extra);
}

WEIR_API CUresult cuLaunchGrid(CUfunction f, int width, int height)
{
    HOLD;
    return cuLaunchGridAsync(f, width, height, NULL);
}

WEIR_API CUresult cuLaunch(CUfunction f) { return cuLaunchGrid(f, 1, 1); }
