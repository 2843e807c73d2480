/* nvtx3/nvToolsExtCudaRt.h: names for what the CUDA runtime has. */
#ifndef NVTX_TOOLS_EXT_CUDART_H
#define NVTX_TOOLS_EXT_CUDART_H

#include "cuda_runtime_api.h"
#include "nvToolsExt.h"

#ifdef __cplusplus
extern "C" {
#endif

/* clang-format off */
WEIR_NVTX_ACTION(nvtxNameCudaDeviceA, WEIR_NVTX_CUDART, 1, (int device, const char *name), (device, name))
WEIR_NVTX_ACTION(nvtxNameCudaDeviceW, WEIR_NVTX_CUDART, 2, (int device, const wchar_t *name), (device, name))
WEIR_NVTX_ACTION(nvtxNameCudaStreamA, WEIR_NVTX_CUDART, 3, (cudaStream_t stream, const char *name), (stream, name))
WEIR_NVTX_ACTION(nvtxNameCudaStreamW, WEIR_NVTX_CUDART, 4, (cudaStream_t stream, const wchar_t *name), (stream, name))
WEIR_NVTX_ACTION(nvtxNameCudaEventA, WEIR_NVTX_CUDART, 5, (cudaEvent_t event, const char *name), (event, name))
WEIR_NVTX_ACTION(nvtxNameCudaEventW, WEIR_NVTX_CUDART, 6, (cudaEvent_t event, const wchar_t *name), (event, name))
/* clang-format on */

#ifdef __cplusplus
}
#endif

#ifdef UNICODE
#define nvtxNameCudaDevice nvtxNameCudaDeviceW
#define nvtxNameCudaStream nvtxNameCudaStreamW
#define nvtxNameCudaEvent  nvtxNameCudaEventW
#else
#define nvtxNameCudaDevice nvtxNameCudaDeviceA
#define nvtxNameCudaStream nvtxNameCudaStreamA
#define nvtxNameCudaEvent  nvtxNameCudaEventA
#endif

#endif
