/* nvtx3/nvToolsExtCudaRt.h: names for what the CUDA runtime has, which nobody hears. */
#ifndef NVTX_TOOLS_EXT_CUDART_H
#define NVTX_TOOLS_EXT_CUDART_H

#include "cuda_runtime_api.h"
#include "nvToolsExt.h"

/* clang-format off */
NVTX_INLINE_STATIC void nvtxNameCudaDeviceA(int device, const char *name) { (void)device; (void)name; }
NVTX_INLINE_STATIC void nvtxNameCudaDeviceW(int device, const wchar_t *name) { (void)device; (void)name; }
NVTX_INLINE_STATIC void nvtxNameCudaStreamA(cudaStream_t stream, const char *name) { (void)stream; (void)name; }
NVTX_INLINE_STATIC void nvtxNameCudaStreamW(cudaStream_t stream, const wchar_t *name) { (void)stream; (void)name; }
NVTX_INLINE_STATIC void nvtxNameCudaEventA(cudaEvent_t event, const char *name) { (void)event; (void)name; }
NVTX_INLINE_STATIC void nvtxNameCudaEventW(cudaEvent_t event, const wchar_t *name) { (void)event; (void)name; }
/* clang-format on */

#endif
