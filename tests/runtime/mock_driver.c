/* A driver that only writes down how it was called: libcuda.so.1 for the runtime's unit tests.
 *
 * Two devices, each with one primary context; memory is malloc's; a module is the image it was
 * loaded from. Tests read the log with mock_take_log and make the next call fail with mock_fail. */
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../include/cuda.h"
#include "mock_driver.h"
#include "runtime/program/offload.h"

#define EXPORT __attribute__((visibility("default")))

static char text[1 << 16];
static size_t length;
static CUresult next_result;
static char next_function[64];

EXPORT void mock_log(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    length += (size_t)vsnprintf(text + length, sizeof text - length, fmt, args);
    va_end(args);
    if (length >= sizeof text)
        abort();
}

EXPORT const char *mock_take_log(void)
{
    static char taken[sizeof text];

    memcpy(taken, text, length + 1);
    text[length = 0] = '\0';
    return taken;
}

EXPORT void mock_fail(const char *function, CUresult result)
{
    snprintf(next_function, sizeof next_function, "%s", function);
    next_result = result;
}

/* By this the runtime knows Weir's driver. */
EXPORT const char *weir_last_message(void) { return ""; }

/* The result of a call: a failure that was asked for, once. */
static CUresult result_of(const char *function)
{
    CUresult result = CUDA_SUCCESS;

    if (strcmp(function, next_function) == 0) {
        result = next_result;
        next_function[0] = '\0';
    }
    return result;
}

/* A call that succeeds, or fails as asked, and leaves "name(…) " in the log. */
#define MOCK(name, parameters, ...)                                                                \
    EXPORT CUresult name parameters                                                                \
    {                                                                                              \
        mock_log(#name "(" __VA_ARGS__);                                                           \
        mock_log(") ");                                                                            \
        return result_of(#name);                                                                   \
    }

/* ---- devices and contexts: not in the log, they come with every call ---- */

static struct CUctx_st {
    int device;
} contexts[2] = {{0}, {1}};
static _Thread_local CUcontext current;

EXPORT CUresult cuInit(unsigned flags)
{
    (void)flags;
    return result_of("cuInit");
}

EXPORT CUresult cuDriverGetVersion(int *version)
{
    *version = 13000;
    return CUDA_SUCCESS;
}

/* What the runtime asks whether the context has a fault. */
EXPORT CUresult cuCtxGetCacheConfig(CUfunc_cache *config)
{
    *config = CU_FUNC_CACHE_PREFER_NONE;
    return result_of("cuCtxGetCacheConfig");
}

EXPORT CUresult cuDeviceGetCount(int *count)
{
    *count = 2;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
    *device = ordinal;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
    (void)device;
    switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X: *value = 2147483647; break;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y:
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z: *value = 65535; break;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z: *value = 64; break;
    default: *value = 1024; break;
    }
    return CUDA_SUCCESS;
}

EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    *context = &contexts[device];
    return CUDA_SUCCESS;
}

MOCK(cuDevicePrimaryCtxReset_v2, (CUdevice device), "%d", device)

EXPORT CUresult cuCtxGetCurrent(CUcontext *context)
{
    *context = current;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxSetCurrent(CUcontext context)
{
    current = context;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxGetDevice(CUdevice *device)
{
    *device = current->device;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxGetId(CUcontext context, unsigned long long *id)
{
    *id = (unsigned long long)context->device + 10;
    return CUDA_SUCCESS;
}

MOCK(cuCtxSynchronize, (void), "")

/* ---- modules ---- */

EXPORT CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned n,
                                   CUjit_option *options, void **values)
{
    const struct fat_wrapper *w = image;
    static char linked[1024];

    /* Pieces are fat binaries whose payload, here, is text. */
    if (w->magic == FAT_WRAPPER_MAGIC) {
        linked[0] = '\0';
        for (const void *const *piece = w->aux; *piece != NULL; piece++)
            strncat(linked, (const char *)*piece + sizeof(struct fat_header),
                    sizeof linked - strlen(linked) - 1);
        image = linked;
    }
    mock_log("load(%s", (const char *)image);
    for (unsigned i = 0; i < n; i++)
        if (options[i] == CU_JIT_GLOBAL_SYMBOL_NAMES)
            mock_log(" bind %s", ((char **)values[i])[0]);
    mock_log(") ");
    *module = (CUmodule)image;
    return result_of("cuModuleLoadDataEx");
}

EXPORT CUresult cuModuleUnload(CUmodule module)
{
    mock_log("unload(%s) ", (const char *)module);
    return CUDA_SUCCESS;
}

/* Functions and variables exist when the image's text has their name. */
EXPORT CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
    *function = (CUfunction)strstr((const char *)module, name);
    return *function != NULL ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

EXPORT CUresult cuModuleGetGlobal_v2(CUdeviceptr *address, size_t *size, CUmodule module,
                                     const char *name)
{
    if (strstr((const char *)module, name) == NULL)
        return CUDA_ERROR_NOT_FOUND;
    *address = 0x5000;
    *size = 64;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                               unsigned by, unsigned bz, unsigned shared, CUstream stream,
                               void **params, void **extra)
{
    (void)extra;
    mock_log("launch(%.4s %u,%u,%u %u,%u,%u %u %p", (const char *)f, gx, gy, gz, bx, by, bz, shared,
             (void *)stream);
    if (params != NULL)
        mock_log(" %d", *(int *)params[0]);
    mock_log(") ");
    return result_of("cuLaunchKernel");
}

/* ---- memory ---- */

EXPORT CUresult cuMemAlloc_v2(CUdeviceptr *ptr, size_t size)
{
    mock_log("alloc(%zu) ", size);
    *ptr = 0x1000;
    return result_of("cuMemAlloc_v2");
}

MOCK(cuMemFree_v2, (CUdeviceptr ptr), "%llx", ptr)
MOCK(cuMemcpy, (CUdeviceptr dst, CUdeviceptr src, size_t n), "%llx, %llx, %zu", dst, src, n)
MOCK(cuMemcpyAsync, (CUdeviceptr dst, CUdeviceptr src, size_t n, CUstream s), "%llx, %llx, %zu, %p",
     dst, src, n, (void *)s)
MOCK(cuMemcpyHtoD_v2, (CUdeviceptr dst, const void *src, size_t n), "%llx, %p, %zu", dst, src, n)
MOCK(cuMemcpyDtoH_v2, (void *dst, CUdeviceptr src, size_t n), "%p, %llx, %zu", dst, src, n)
MOCK(cuMemcpyDtoD_v2, (CUdeviceptr dst, CUdeviceptr src, size_t n), "%llx, %llx, %zu", dst, src, n)
MOCK(cuMemcpyHtoDAsync_v2, (CUdeviceptr dst, const void *src, size_t n, CUstream s),
     "%llx, %p, %zu, %p", dst, src, n, (void *)s)
MOCK(cuMemcpyDtoHAsync_v2, (void *dst, CUdeviceptr src, size_t n, CUstream s), "%p, %llx, %zu, %p",
     dst, src, n, (void *)s)
MOCK(cuMemcpyDtoDAsync_v2, (CUdeviceptr dst, CUdeviceptr src, size_t n, CUstream s),
     "%llx, %llx, %zu, %p", dst, src, n, (void *)s)
MOCK(cuMemsetD8_v2, (CUdeviceptr dst, unsigned char value, size_t n), "%llx, %u, %zu", dst, value,
     n)
MOCK(cuMemsetD2D8_v2,
     (CUdeviceptr dst, size_t pitch, unsigned char value, size_t width, size_t height),
     "%llx, %zu, %u, %zu, %zu", dst, pitch, value, width, height)

EXPORT CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D *c)
{
    mock_log("box(%zu x %zu x %zu, %d+%zu,%zu,%zu/%zu -> %d+%zu,%zu,%zu/%zu) ", c->WidthInBytes,
             c->Height, c->Depth, c->srcMemoryType, c->srcXInBytes, c->srcY, c->srcZ, c->srcPitch,
             c->dstMemoryType, c->dstXInBytes, c->dstY, c->dstZ, c->dstPitch);
    return result_of("cuMemcpy3D_v2");
}

/* Handles of arrays are not looked at: every array is 8 floats wide and 4 rows high. */
EXPORT CUresult cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR *d, CUarray array)
{
    (void)array;
    *d = (CUDA_ARRAY3D_DESCRIPTOR){
        .Width = 8, .Height = 4, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1};
    return CUDA_SUCCESS;
}

/* ---- streams and events ---- */

EXPORT CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int priority)
{
    mock_log("stream(%u, %d) ", flags, priority);
    *stream = (CUstream)0x100;
    return result_of("cuStreamCreateWithPriority");
}

MOCK(cuStreamSynchronize, (CUstream s), "%p", (void *)s)
MOCK(cuStreamQuery, (CUstream s), "%p", (void *)s)
MOCK(cuStreamDestroy_v2, (CUstream s), "%p", (void *)s)
MOCK(cuEventRecord, (CUevent e, CUstream s), "%p, %p", (void *)e, (void *)s)
MOCK(cuEventQuery, (CUevent e), "%p", (void *)e)
MOCK(cuLaunchHostFunc, (CUstream s, CUhostFn fn, void *user), "%p, %d, %p", (void *)s, fn != NULL,
     user)
