/* weir/cu/calls_device.h: starting the driver, devices, primary contexts. Part of cuda.h. */
#ifndef WEIR_CU_CALLS_DEVICE_H
#define WEIR_CU_CALLS_DEVICE_H

#include "array_types.h"
#include "base.h"
#include "device_attr.h"
#include "device_types.h"
#include "limits.h"
#include "result.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Names and describes an error code: CUDA_ERROR_INVALID_VALUE, and NULL, for a code that is none.
 */
CUresult CUDAAPI cuGetErrorName(CUresult error, const char **pStr);
CUresult CUDAAPI cuGetErrorString(CUresult error, const char **pStr);

/* Must come before every other call; flags are 0. */
CUresult CUDAAPI cuInit(unsigned int flags);

/* 1000 * major + 10 * minor of the newest API the driver knows. */
CUresult CUDAAPI cuDriverGetVersion(int *driverVersion);

/* ---- devices ------------------------------------------------------------------------------- */

CUresult CUDAAPI cuDeviceGet(CUdevice *device, int ordinal);
CUresult CUDAAPI cuDeviceGetCount(int *count);

/* Writes at most len bytes of the device's name, with the final NUL. */
CUresult CUDAAPI cuDeviceGetName(char *name, int len, CUdevice dev);
CUresult CUDAAPI cuDeviceGetUuid(CUuuid *uuid, CUdevice dev);
CUresult CUDAAPI cuDeviceGetLuid(char *luid, unsigned int *deviceNodeMask, CUdevice dev);

/* Bytes of the device's memory. */
CUresult CUDAAPI cuDeviceTotalMem(size_t *bytes, CUdevice dev);
CUresult CUDAAPI cuDeviceGetAttribute(int *pi, CUdevice_attribute attrib, CUdevice dev);

/* Superseded by cuDeviceGetAttribute. */
CUresult CUDAAPI cuDeviceGetProperties(CUdevprop *prop, CUdevice dev);
CUresult CUDAAPI cuDeviceComputeCapability(int *major, int *minor, CUdevice dev);

/* Elements of the widest 1D linear texture of a format. */
CUresult CUDAAPI cuDeviceGetTexture1DLinearMaxWidth(size_t *maxWidthInElements,
                                                    CUarray_format format, unsigned numChannels,
                                                    CUdevice dev);

/* The pool cuMemAllocAsync draws from. */
CUresult CUDAAPI cuDeviceSetMemPool(CUdevice dev, CUmemoryPool pool);
CUresult CUDAAPI cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice dev);
CUresult CUDAAPI cuDeviceGetDefaultMemPool(CUmemoryPool *pool_out, CUdevice dev);

/* domain:bus:device.function in hexadecimal. */
CUresult CUDAAPI cuDeviceGetByPCIBusId(CUdevice *dev, const char *pciBusId);
CUresult CUDAAPI cuDeviceGetPCIBusId(char *pciBusId, int len, CUdevice dev);

CUresult CUDAAPI cuDeviceGetExecAffinitySupport(int *pi, CUexecAffinityType type, CUdevice dev);

/* Which of the host's atomic operations the device's memory takes as such. */
CUresult CUDAAPI cuDeviceGetHostAtomicCapabilities(unsigned int *capabilities,
                                                   const CUatomicOperation *operations,
                                                   unsigned int count, CUdevice dev);

/* ---- primary contexts ---------------------------------------------------------------------- */

/* One context a device, counted: made by the first Retain, destroyed by the last Release or by
 * Reset. */
CUresult CUDAAPI cuDevicePrimaryCtxRetain(CUcontext *pctx, CUdevice dev);
CUresult CUDAAPI cuDevicePrimaryCtxRelease(CUdevice dev);
CUresult CUDAAPI cuDevicePrimaryCtxSetFlags(CUdevice dev, unsigned int flags);
CUresult CUDAAPI cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int *flags, int *active);
CUresult CUDAAPI cuDevicePrimaryCtxReset(CUdevice dev);

#ifdef __cplusplus
}
#endif

#endif
