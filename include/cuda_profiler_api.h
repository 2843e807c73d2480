/* cuda_profiler_api.h: mark the part of a program that a profiler should look at. */
#ifndef __CUDA_PROFILER_API_H__
#define __CUDA_PROFILER_API_H__

#include "driver_types.h"

#if defined(__cplusplus)
extern "C" {
#endif

/* Starts and stops collection; without a profiler attached both succeed and do nothing, as they do
 * on a GPU. */
cudaError_t cudaProfilerStart(void);
cudaError_t cudaProfilerStop(void);

#if defined(__cplusplus)
}
#endif

#endif
