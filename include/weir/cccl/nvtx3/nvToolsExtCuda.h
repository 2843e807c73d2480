/* nvtx3/nvToolsExtCuda.h: names for what the CUDA driver has. */
#ifndef NVTX_TOOLS_EXT_CUDA_H
#define NVTX_TOOLS_EXT_CUDA_H

#include "cuda.h"
#include "nvToolsExt.h"

#ifdef __cplusplus
extern "C" {
#endif

/* clang-format off */
WEIR_NVTX_ACTION(nvtxNameCuDeviceA, WEIR_NVTX_CUDA, 1, (CUdevice device, const char *name), (device, name))
WEIR_NVTX_ACTION(nvtxNameCuDeviceW, WEIR_NVTX_CUDA, 2, (CUdevice device, const wchar_t *name), (device, name))
WEIR_NVTX_ACTION(nvtxNameCuContextA, WEIR_NVTX_CUDA, 3, (CUcontext context, const char *name), (context, name))
WEIR_NVTX_ACTION(nvtxNameCuContextW, WEIR_NVTX_CUDA, 4, (CUcontext context, const wchar_t *name), (context, name))
WEIR_NVTX_ACTION(nvtxNameCuStreamA, WEIR_NVTX_CUDA, 5, (CUstream stream, const char *name), (stream, name))
WEIR_NVTX_ACTION(nvtxNameCuStreamW, WEIR_NVTX_CUDA, 6, (CUstream stream, const wchar_t *name), (stream, name))
WEIR_NVTX_ACTION(nvtxNameCuEventA, WEIR_NVTX_CUDA, 7, (CUevent event, const char *name), (event, name))
WEIR_NVTX_ACTION(nvtxNameCuEventW, WEIR_NVTX_CUDA, 8, (CUevent event, const wchar_t *name), (event, name))
/* clang-format on */

#ifdef __cplusplus
}
#endif

#ifdef UNICODE
#define nvtxNameCuDevice  nvtxNameCuDeviceW
#define nvtxNameCuContext nvtxNameCuContextW
#define nvtxNameCuStream  nvtxNameCuStreamW
#define nvtxNameCuEvent   nvtxNameCuEventW
#else
#define nvtxNameCuDevice  nvtxNameCuDeviceA
#define nvtxNameCuContext nvtxNameCuContextA
#define nvtxNameCuStream  nvtxNameCuStreamA
#define nvtxNameCuEvent   nvtxNameCuEventA
#endif

#endif
