/* error: names and texts of every code, and the last error of each thread. */
#include "runtime/thread.h"

struct error_text {
    cudaError_t code;
    const char *name, *text;
};

static const struct error_text texts[] = {
#define RT_ERROR(name, text) {name, #name, text},
#include "base/errors.def"
};

/* The table is sorted by code. */
static const struct error_text *find(cudaError_t code)
{
    size_t low = 0, high = COUNT(texts);

    while (low < high) {
        size_t middle = (low + high) / 2;
        if (texts[middle].code == code)
            return &texts[middle];
        if (texts[middle].code < code)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

cudaError_t rt_error(CUresult result)
{
    if (result == CUDA_ERROR_CONTEXT_IS_DESTROYED)
        rt_context_ended();
    return find((cudaError_t)result) != NULL ? (cudaError_t)result : cudaErrorUnknown;
}

cudaError_t rt_error_keep(cudaError_t error)
{
    if (error != cudaSuccess && error != cudaErrorNotReady) {
        struct rt_thread *t = rt_thread();
        if (t != NULL)
            t->last_error = error;
    }
    return error;
}

void rt_error_reset(void)
{
    if (rt_thread_own != NULL)
        rt_thread_own->last_error = cudaSuccess;
}

/* Observers want to know that the program knows. */
static cudaError_t seen(cudaError_t error)
{
    if (error != cudaSuccess && rt_telling == RT_TELLS && RT_HAS(weir_error_seen))
        CU(weir_error_seen, (int)error);
    return error;
}

PUBLIC cudaError_t cudaGetLastError(void)
{
    cudaError_t error = rt_thread_seen()->last_error;

    rt_error_reset();
    return seen(error);
}

PUBLIC cudaError_t cudaPeekAtLastError(void) { return seen(rt_thread_seen()->last_error); }

PUBLIC const char *cudaGetErrorName(cudaError_t error)
{
    const struct error_text *t = find(seen(error));

    return t != NULL ? t->name : "unrecognized error code";
}

PUBLIC const char *cudaGetErrorString(cudaError_t error)
{
    const struct error_text *t = find(seen(error));

    return t != NULL ? t->text : "unrecognized error code";
}
