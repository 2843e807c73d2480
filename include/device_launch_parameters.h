/* device_launch_parameters.h: threadIdx, blockIdx, blockDim, gridDim and warpSize.
 *
 * In a CUDA translation unit the compiler has them already. A plain C++ file that includes this
 * header (editors do) gets declarations to name, never definitions. */
#ifndef __DEVICE_LAUNCH_PARAMETERS_H__
#define __DEVICE_LAUNCH_PARAMETERS_H__

#include "vector_types.h"

#if !defined(__CUDACC__)
#if defined(__cplusplus)
extern "C" {
#endif
extern uint3 threadIdx;
extern uint3 blockIdx;
extern dim3 blockDim;
extern dim3 gridDim;
extern const int warpSize;
#if defined(__cplusplus)
}
#endif
#endif

#endif
