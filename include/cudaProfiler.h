/* cudaProfiler.h: starting and stopping a profiler's collection from the driver API. */
#ifndef CUDAPROFILER_H
#define CUDAPROFILER_H

#include "cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum CUoutput_mode_enum {
    CU_OUT_KEY_VALUE_PAIR = 0x00,
    CU_OUT_CSV = 0x01,
} CUoutput_mode;

/* Refused (CUDA_ERROR_NOT_SUPPORTED): there is no profiler to configure. */
CUresult CUDAAPI cuProfilerInitialize(const char *configFile, const char *outputFile,
                                      CUoutput_mode outputMode);
CUresult CUDAAPI cuProfilerStart(void);
CUresult CUDAAPI cuProfilerStop(void);

#ifdef __cplusplus
}
#endif

#endif
