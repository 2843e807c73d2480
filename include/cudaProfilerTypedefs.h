/* cudaProfilerTypedefs.h: types of pointers to the functions of cudaProfiler.h; see cudaTypedefs.h.
 */
#ifndef CUDAPROFILERTYPEDEFS_H
#define CUDAPROFILERTYPEDEFS_H

#include "cudaProfiler.h"

typedef __typeof__(cuProfilerStart) *PFN_cuProfilerStart_v4000;
typedef PFN_cuProfilerStart_v4000 PFN_cuProfilerStart;
typedef __typeof__(cuProfilerStop) *PFN_cuProfilerStop_v4000;
typedef PFN_cuProfilerStop_v4000 PFN_cuProfilerStop;

#endif
