/* profiler: the profiler's switch. */
#include "runtime/internal.h"

static cudaError_t profile(bool on)
{
    RT_TRY(rt_context());
    CU_TRY(on ? CU(cuProfilerStart) : CU(cuProfilerStop));
    return cudaSuccess;
}

PUBLIC cudaError_t cudaProfilerStart(void) { return done(profile(true)); }
PUBLIC cudaError_t cudaProfilerStop(void) { return done(profile(false)); }
