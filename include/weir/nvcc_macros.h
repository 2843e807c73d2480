/* The macros by which a CUDA source file sees which compiler it has: nvcc, of the toolkit that we
 * stand for. For both preludes. */
#ifndef WEIR_NVCC_MACROS_H
#define WEIR_NVCC_MACROS_H

#include "weir/version.h"

#define __CUDACC__                   1
#define __NVCC__                     1
#define __CUDACC_VER_MAJOR__         WEIR_CUDA_MAJOR
#define __CUDACC_VER_MINOR__         WEIR_CUDA_MINOR
#define __CUDACC_VER_BUILD__         0
#define __CUDA_API_VER_MAJOR__       WEIR_CUDA_MAJOR
#define __CUDA_API_VER_MINOR__       WEIR_CUDA_MINOR
#define __NVCC_DIAG_PRAGMA_SUPPORT__ 1
#define __CUDACC_DEVICE_ATOMIC_BUILTINS__ 1 /* __nv_atomic_load and its kin */

#endif
