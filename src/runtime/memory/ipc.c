/* ipc: memory and events shared with other processes: passed on to the driver. */
#include "runtime/internal.h"

#include <string.h>

_Static_assert(sizeof(cudaIpcMemHandle_t) == sizeof(CUipcMemHandle), "same layout");
_Static_assert(sizeof(cudaIpcEventHandle_t) == sizeof(CUipcEventHandle), "same layout");

static cudaError_t get_event_handle(cudaIpcEventHandle_t *handle, cudaEvent_t event)
{
    RT_CHECK(handle != NULL && event != NULL, cudaErrorInvalidValue);
    RT_TRY(rt_context());
    CU_TRY(CU(cuIpcGetEventHandle, (CUipcEventHandle *)handle, event));
    return cudaSuccess;
}

PUBLIC cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t *handle, cudaEvent_t event)
{
    return done(get_event_handle(handle, event));
}

static cudaError_t open_event_handle(cudaEvent_t *event, cudaIpcEventHandle_t handle)
{
    CUipcEventHandle h;

    RT_CHECK(event, cudaErrorInvalidValue);
    RT_TRY(rt_context());
    memcpy(&h, &handle, sizeof h);
    CU_TRY(CU(cuIpcOpenEventHandle, event, h));
    return cudaSuccess;
}

PUBLIC cudaError_t cudaIpcOpenEventHandle(cudaEvent_t *event, cudaIpcEventHandle_t handle)
{
    return done(open_event_handle(event, handle));
}

static cudaError_t get_mem_handle(cudaIpcMemHandle_t *handle, void *ptr)
{
    RT_CHECK(handle != NULL && ptr != NULL, cudaErrorInvalidValue);
    RT_TRY(rt_context());
    CU_TRY(CU(cuIpcGetMemHandle, (CUipcMemHandle *)handle, (CUdeviceptr)ptr));
    return cudaSuccess;
}

PUBLIC cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t *handle, void *devPtr)
{
    return done(get_mem_handle(handle, devPtr));
}

static cudaError_t open_mem_handle(void **ptr, cudaIpcMemHandle_t handle, unsigned flags)
{
    CUipcMemHandle h;

    RT_CHECK(ptr != NULL && flags == cudaIpcMemLazyEnablePeerAccess, cudaErrorInvalidValue);
    RT_TRY(rt_context());
    memcpy(&h, &handle, sizeof h);
    CU_TRY(CU(cuIpcOpenMemHandle_v2, (CUdeviceptr *)ptr, h, flags));
    return cudaSuccess;
}

PUBLIC cudaError_t cudaIpcOpenMemHandle(void **devPtr, cudaIpcMemHandle_t handle,
                                        unsigned int flags)
{
    RT_CALLED(cudaIpcOpenMemHandle);
    return done(open_mem_handle(devPtr, handle, flags));
}

static cudaError_t close_mem_handle(void *ptr)
{
    RT_CHECK(ptr, cudaErrorInvalidValue);
    RT_TRY(rt_context());
    CU_TRY(CU(cuIpcCloseMemHandle, (CUdeviceptr)ptr));
    return cudaSuccess;
}

PUBLIC cudaError_t cudaIpcCloseMemHandle(void *devPtr)
{
    RT_CALLED(cudaIpcCloseMemHandle);
    return done(close_mem_handle(devPtr));
}
