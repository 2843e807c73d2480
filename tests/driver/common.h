/* What the tests of the driver share: checks of result codes by name, and a module of small kernels
 * in PTX. Each test is a program on libcuda.so.1 alone. */
#ifndef WEIR_TEST_DRIVER_H
#define WEIR_TEST_DRIVER_H

#include <cuda.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "weir/weir.h"

static inline const char *result_name(CUresult r)
{
    const char *name = NULL;
    cuGetErrorName(r, &name);
    return name != NULL ? name : "no code of the API";
}

/* The call returns the code. */
#define CHECK_CU(call, code)                                                                       \
    do {                                                                                           \
        CUresult result_got = (call);                                                              \
        if (!check_count(result_got == (code)))                                                    \
            printf("%s:%d: %s is %s, not %s (%s)\n", __FILE__, __LINE__, #call,                    \
                   result_name(result_got), #code, weir_last_message());                           \
    } while (0)
#define OK(call) CHECK_CU(call, CUDA_SUCCESS)

/* The call must succeed, or the test makes no sense. */
#define NEED(call)                                                                                 \
    do {                                                                                           \
        CUresult result_got = (call);                                                              \
        if (result_got != CUDA_SUCCESS) {                                                          \
            printf("%s:%d: %s: %s (%s)\n", __FILE__, __LINE__, #call, result_name(result_got),     \
                   weir_last_message());                                                           \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

/* Device 0's primary context, current. */
static inline CUcontext begin(void)
{
    CUcontext c;
    NEED(cuInit(0));
    NEED(cuDevicePrimaryCtxRetain(&c, 0));
    NEED(cuCtxSetCurrent(c));
    return c;
}

extern const char kernels[]; /* kernels.c */

static inline CUmodule load(void)
{
    CUmodule m;
    NEED(cuModuleLoadData(&m, kernels));
    return m;
}

static inline CUfunction kernel(CUmodule m, const char *name)
{
    CUfunction f;
    NEED(cuModuleGetFunction(&f, m, name));
    return f;
}

/* One-dimensional launch without shared memory. */
static inline CUresult launch(CUfunction f, unsigned blocks, unsigned threads, CUstream s,
                              void **params)
{
    return cuLaunchKernel(f, blocks, 1, 1, threads, 1, 1, 0, s, params, NULL);
}

#endif
